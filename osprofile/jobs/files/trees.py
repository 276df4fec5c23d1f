"""Copy files and directories to a target and back, through a shell of the profile's SHELL.

They travel as a tar archive, which follows the script on the shell's standard input, or is its output: one connection
for any number of files, and no more memory for large ones. A copy gets its name when it is complete. What comes
from a target is not trusted: nothing is written outside of the destination, nor through a link.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import logging
import os
import shutil
import stat
import tarfile
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, final

from osprofile.errors import OutputError, TargetError, ValueRefusedError
from osprofile.jobs.files.directory import build_entering_commands
from osprofile.jobs.record.store import JobFiles
from osprofile.jobs.request import OWN_FILES
from osprofile.late import NamedTuple
from osprofile.text import quote_path, quote_shell_word, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.shell.process import Channel, ProcessResult

T = TypeVar("T")
log: Final = logging.getLogger("osprofile.jobs")
_BLOCK_SIZE: Final = 1 << 20
_GROUP_SIZE: Final = 64 << 20
"""Bytes of small inputs that are copied together: what is complete is not copied again after an interruption."""
_INLINE_SIZE: Final = 256 << 10
"""Bytes of an archive that is a part of its script, for a shell that is open: some shells read 3 MiB a second."""
_FILES: Final = "files"
_END: Final = "end"
"""The last member of an archive for a target: tar takes one that was cut between two members for complete."""


@final
class TreeSize(NamedTuple):
    """What a file or directory of this machine consists of."""

    files: int
    """The number of its files."""
    size: int
    """The bytes of these."""
    fingerprint: str
    """A hash of the names, sizes and times of all files."""


@final
class FetchedFile(NamedTuple):
    """A file that was copied from a target."""

    path: str
    """Its path on this machine."""
    size: int
    """Bytes."""


# What is asked for


def read_job_files(description: JobDescription) -> JobFiles:
    """Return what is to be copied for a job, with absolute paths.

    Raises `ValueRefusedError` for an input that is not on this machine, or has no name of its own, and for a pattern
    that leads out of the working directory.
    """
    inputs: dict[str, str] = {}
    for path in _require_texts("inputs", description.inputs):
        absolute = os.path.abspath(path)
        name = os.path.basename(absolute)
        try:
            mode = os.stat(absolute).st_mode
        except OSError as error:
            hint = "give a file or directory of this machine; a relative path begins in the current directory"
            raise _refuse("inputs", f"the input {quote_path(path)}: {error.strerror}", hint) from None
        except ValueError as error:
            raise _refuse("inputs", f"the input {quote_path(path)}: {error}", "give a path") from None
        if not name or name in OWN_FILES:
            message = f"the input {quote_path(path)} would have the name of osprofile's own files, or none"
            raise _refuse("inputs", message, "rename it")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            message = f"the input {quote_path(path)} is neither a file nor a directory"
            raise _refuse("inputs", message, "copy its content into a file")
        if inputs.setdefault(name, absolute) != absolute:
            message = f"the inputs {quote_path(inputs[name])} and {quote_path(path)} have the same name"
            raise _refuse("inputs", message, "the job's directory has one file of a name: rename one")
    patterns = check_patterns(description.fetch)
    if description.fetch_to is not None:
        _require_texts("fetch_to", [description.fetch_to])
    place = os.path.abspath(description.fetch_to or "") if patterns else ""
    return JobFiles(inputs, patterns, place, _list_output_directories(description) if inputs else ())


def _list_output_directories(description: JobDescription) -> list[str]:
    """Return the directories of a job's output files that are relative to its own, which is new."""
    names = [description.stdout, description.stderr]
    names += [description.fields.get(field) for field in ("STDOUT_NAME", "STDERR_NAME")]
    directories = {os.path.dirname(name) for name in names if name and not name.startswith("/")}
    return sorted(d for d in directories if d and "%" not in d and ".." not in d.split("/"))


def check_patterns(patterns: object) -> list[str]:
    """Return the patterns of files of a job; raise `ValueRefusedError` for one that leads out of its directory."""
    checked = _require_texts("fetch", patterns)
    for pattern in checked:
        if not pattern.strip("/") or pattern.startswith("/") or ".." in pattern.split("/"):
            message = f"the pattern {quote_value(pattern)} does not name files in the job's working directory"
            hint = (
                "give names relative to it, as in 'out*' or results/log; without / in front, and without .."
            )
            raise _refuse("fetch", message, hint)
    return checked


def _require_texts(name: str, value: object) -> list[str]:
    from collections.abc import Sequence

    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _refuse(name, f"{name}: {value!r} is not a sequence of texts", 'as in ["data.csv"]')
    for text in value:
        if not isinstance(text, str) or "\0" in text:
            raise _refuse(name, f"{name}: {text!r} is not the name of a file", 'as in ["data.csv"]')
    return list(value)


def _refuse(field: str, message: str, hint: str) -> ValueRefusedError:
    return ValueRefusedError(message, field=field, hint=hint)


def measure(path: str) -> TreeSize:
    """Return what a file or directory consists of. Raises `TargetError` if it cannot be read."""
    count = size = 0
    digest = hashlib.sha256()
    properties: tuple[object, ...]
    for name, status, link in _walk(os.path.realpath(path), os.path.basename(os.path.abspath(path))):
        if stat.S_ISREG(status.st_mode):
            count += 1
            size += status.st_size
            properties = (name, status.st_mode, status.st_size, status.st_mtime_ns)
        else:
            properties = (name, status.st_mode, 0, link)
        digest.update(repr(properties).encode("utf-8", "surrogateescape"))
    return TreeSize(count, size, digest.hexdigest()[:32])


def _walk(path: str, name: str) -> Iterator[tuple[str, os.stat_result, str]]:
    """Yield the names, properties and link targets of a file, or of a directory and all in it."""
    with _explain_local_error():
        status = os.lstat(path)
        yield name, status, os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
        entries = sorted(os.listdir(path)) if stat.S_ISDIR(status.st_mode) else []
    for entry in entries:
        yield from _walk(os.path.join(path, entry), f"{name}/{entry}")


def group_inputs(inputs: Mapping[str, str], sizes: Mapping[str, TreeSize]) -> Iterator[dict[str, str]]:
    """Yield inputs by their names in groups, each of which is one archive."""
    group: dict[str, str] = {}
    total = 0
    for name, path in inputs.items():
        if group and total + sizes[name].size > _GROUP_SIZE:
            yield group
            group, total = {}, 0
        group[name] = path
        total += sizes[name].size
    if group:
        yield group


# Scripts


def build_state_script(directory: str) -> str:
    """Return the script that prints the fingerprints of the inputs that a job's directory has; see `parse_state`."""
    return (
        f"[ -d {quote_shell_word(directory)} ] || exit 0\n"
        f"{build_entering_commands(directory)}"
        "if [ -e .gpe/submitting ] || [ -s .gpe/id ]; then echo submitted; exit 0; fi\n"
        "[ ! -d .gpe/inputs ] || ls .gpe/inputs"
    )


def parse_state(output: bytes) -> frozenset[str] | None:
    """Return the fingerprints; None if the job may have been submitted: then it has its inputs."""
    words = frozenset(output.decode("ascii", "replace").split())
    return None if "submitted" in words else words


def build_staging_script(
    directory: str, source: str, fingerprints: Mapping[str, str], output_directories: Sequence[str]
) -> str:
    """Return the script that reads an archive of inputs, given with their fingerprints by name, into a job's directory.

    `source`: see `read_from_input` and `read_from_script`.
    """
    temporary = f".gpe/inputs.{os.urandom(6).hex()}.new"
    moves = "".join(
        f"f=./{quote_shell_word(name)}\n"
        f'rm -rf -- "$f" && mv -- "$t/{_FILES}/$f" "$f" && : > .gpe/inputs/{fingerprint} || quit\n'
        for name, fingerprint in fingerprints.items()
    )
    made = " ".join(["mkdir -p -- .gpe/inputs", *map(quote_shell_word, output_directories)])
    enter = build_entering_commands(directory)
    prepare = f"{enter}{made} && rm -rf .gpe/inputs.*.new || exit\n"
    return _build_receiving_script(directory, temporary, source, prepare, moves)


def read_from_input(mark: str) -> str:
    """Return the commands that read an archive from the script's standard input, when `mark` was printed."""
    return f'echo; echo {mark}\ntar -xpof - -C "$t" || quit'


def read_from_script(items: Mapping[str, str], sizes: Mapping[str, TreeSize]) -> str | None:
    """Return the commands that read an archive which is a part of them; None for one that is too large for that."""
    size = sum(sizes[name].size + 1024 * sizes[name].files for name in items)
    if size > _INLINE_SIZE or not all(map(str.isascii, items)):  # a script is UTF-8
        return None
    archive = io.BytesIO()
    write_archive(archive, items)
    text = base64.encodebytes(archive.getvalue()).decode("ascii")
    return f"base64 -d << 'END' | tar -xpof - -C \"$t\" || quit\n{text}END"


def build_upload_script(path: str, mark: str) -> str:
    """Return the script that reads the archive of a file or directory, and gives it its path."""
    directory, name = os.path.split(path.rstrip("/"))
    quoted = f"./{quote_shell_word(name)}"
    refuse = "printf '%s: this is a directory\\n' " + quote_shell_word(path) + " >&2; exit 1"
    return _build_receiving_script(
        directory or ".",
        f"./.{os.urandom(6).hex()}.new",
        read_from_input(mark),
        f'cd -- "$d" || exit\nif [ -d {quoted} ]; then {refuse}; fi\n',
        f'mv -f -- "$t/{_FILES}"/{quoted} {quoted} || quit\n',
    )


def _build_receiving_script(directory: str, temporary: str, source: str, prepare: str, moves: str) -> str:
    # It must not end before `exit`: the shell would read the rest of the archive.
    return (
        f"umask 077\nd={quote_shell_word(directory)} t={temporary}\n"
        'mkdir -p -- "$d" || exit\n'
        f"{prepare}"
        'quit() { rm -rf -- "$t"; exit 1; }\n'
        'mkdir -- "$t" || exit\n'
        f"{source}\n"
        f"[ -e \"$t/{_END}\" ] || {{ printf '%s\\n' 'the archive is cut' >&2; quit; }}\n"
        f"{moves}"
        'rm -rf -- "$t"\nexit'
    )


def build_sending_script(
    directory: str, patterns: Sequence[str], mark: str, *, is_literal: bool = False
) -> str:
    """Return the script that prints files of a directory as archives, and on standard error the patterns without a file.

    The directory is that of a job; with `is_literal` it is any, and the patterns are names. A link to a file that a pattern
    names is sent as this file.
    """
    words = " ".join(map(quote_shell_word, patterns))
    names = '"./$p"' if is_literal else "./$p"
    enter = f"cd -- {quote_shell_word(directory)} || exit\n"
    return (
        f"{enter if is_literal else build_entering_commands(directory)}"
        "IFS='' rc=0 n=0\n"
        'pack() { tar "$o" - "$@"; s=$?; [ "$s" -le "$rc" ] || rc=$s; }\n'
        # Of standard error, only what comes behind the line is no greeting of the host.
        f"echo; echo {mark}; echo {mark} >&2\n"
        f"set --\nfor p in {words}; do\n"
        "  m=\n"
        # No shell splits or reads the names that it finds.
        f"  for f in {names}; do\n"
        '    [ -e "$f" ] || [ -h "$f" ] || continue\n'
        "    m=y\n"
        '    if [ -h "$f" ] && [ -f "$f" ]; then o=-chf pack "$f"; continue; fi\n'
        '    set -- "$@" "$f"\n'
        '    [ "$#" -lt 500 ] || { o=-cf pack "$@"; set --; }\n'
        "  done\n"
        f'  [ -n "$m" ] || printf "\\n%s %s\\n" {mark} "$n" >&2\n'
        "  n=$((n + 1))\n"
        "done\n"
        '[ "$#" -eq 0 ] || o=-cf pack "$@"\n'
        # 1: a file has changed while it was read
        '[ "$rc" -ne 1 ] || rc=0\n'
        # a block of its own behind the archives, which readers of archives skip
        f"[ \"$rc\" -ne 0 ] || printf '%-512s' {mark}\n"
        'exit "$rc"'
    )


# The other end of the connection


def send_archive(channel: Channel, mark: str, items: Mapping[str, str]) -> None:
    """Send files and directories, given by their names there, when a script is ready. Raises `TargetError`."""
    if channel.wait_for(mark):
        with contextlib.suppress(BrokenPipeError):  # the end of the script tells why
            write_archive(channel, items)
            channel.close_input()


def write_archive(output: Channel | IO[bytes], items: Mapping[str, str]) -> None:
    """Write an archive of files and directories, given by their names in it. Raises `TargetError`, and `BrokenPipeError`."""
    archive = _open_archive(output, "w|")

    def select(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        archive.members.clear()  # it would keep all of them in memory
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            name = member.name.partition("/")[2]
            log.warning("%s is not copied: it is neither a file, a directory nor a link", quote_path(name))
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = member.mode & 0o777 | (0o700 if member.isdir() else 0)
        return member

    try:
        with _explain_local_error():
            for name, path in items.items():
                archive.add(os.path.realpath(path), f"{_FILES}/{name}", filter=select)
            archive.addfile(tarfile.TarInfo(_END))
    finally:  # else it would be closed when it is collected
        with contextlib.suppress(BrokenPipeError):
            archive.close()


def _open_archive(file: Channel | IO[bytes], mode: str) -> Any:  # noqa: ANN401  # `members` is not public
    return tarfile.open(
        fileobj=file,  # type: ignore[call-overload]  # it needs no more of a file
        mode=mode,
        format=tarfile.GNU_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
        bufsize=_BLOCK_SIZE,
        copybufsize=_BLOCK_SIZE,
        ignore_zeros=True,  # several archives follow one another
    )


@contextlib.contextmanager
def _explain_local_error(path: str = "") -> Iterator[None]:
    """Raise `TargetError` for a file of this machine that cannot be read or written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = path or os.fsdecode(error.filename or "")
        reason = error.strerror or "it became shorter while it was copied"
        message = f"{quote_path(name)}: {reason}" if name else reason
        raise TargetError(message, hint="this is about a file of this machine") from None


def receive_archives(
    channel: Channel, mark: str, destination: str, *, is_single: bool = False
) -> list[FetchedFile]:
    """Write the files of a script's archives below a directory, and return them.

    With `is_single`, the archive has one file or directory, and `destination` is its path. Raises `TargetError` for a
    file that cannot be written here, and for a name that leads out of the directory; `OutputError` for what is no archive.
    """
    channel.close_input()
    if not channel.wait_for(mark):
        raise OutputError("nothing has arrived")
    directory, name = os.path.abspath(destination), ""
    if is_single:
        directory, name = os.path.split(directory)
    with _explain_local_error():
        os.makedirs(directory, exist_ok=True)
        tree = _Tree(directory, name)
    try:
        archive = _open_archive(channel, "r|")
        while (member := archive.next()) is not None:
            archive.members.clear()
            tree.add(member, archive)
        tree.make_links()
    except tarfile.ReadError as error:
        raise OutputError(f"what has arrived is no whole archive: {error}") from None
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise OutputError(f"what has arrived is no archive: {error}") from None
    finally:
        tree.close()
    if not channel.has_end(mark):
        raise OutputError("what has arrived is no whole archive: its end is missing")
    return list(tree.files.values())


@final
class _Tree:
    """A directory of this machine into which files are written, without following any link in it."""

    def __init__(self, path: str, name: str) -> None:
        """`name`: that of the only entry; empty: each has the name that it has in the archive."""
        self._path, self._name = path, name
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._links: dict[tuple[str, ...], str] = {}
        self.files: dict[str, FetchedFile] = {}
        """By their names in the archive."""

    def close(self) -> None:
        os.close(self._root)

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        """Write a member of an archive; skip what is no file, directory or link."""
        parts = self._split(member.name)
        if not parts:
            return  # the directory itself
        shown = os.path.join(self._path, *parts)
        with _explain_local_error(shown), self._open_directory(parts[:-1]) as directory:
            if member.isdir():
                self._make_directory(parts[-1], directory, member.mode)
            elif member.issym():
                self._links[tuple(parts)] = member.linkname
            elif member.isreg():
                if (source := archive.extractfile(member)) is not None:
                    self._write(parts, source, directory, member)
                self.files[member.name] = FetchedFile(shown, member.size)
            elif member.islnk() and member.linkname in self.files:
                original = self._split(member.linkname)
                with (
                    self._open_directory(original[:-1]) as other,
                    self._open_file(original[-1], other) as source,
                ):
                    self._write(parts, source, directory, member)
                self.files[member.name] = FetchedFile(shown, self.files[member.linkname].size)
            else:
                shown = quote_path("/".join(parts))
                log.warning("%s is not copied: it is neither a file, a directory nor a link", shown)

    def _split(self, name: str) -> list[str]:
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if name.startswith("/") or ".." in parts or "\0" in name:
            message = f"the target has sent a file with the name {quote_value(name)}, which leads out of {quote_path(self._path)}"
            raise TargetError(message, hint="do not trust what this target sends; nothing more was written")
        return [self._name, *parts[1:]] if self._name and parts else parts

    @contextlib.contextmanager
    def _open_directory(self, parts: Sequence[str]) -> Iterator[int]:
        """Open a directory below the root, which is made if it is missing; raise `TargetError` for a link."""
        current = os.dup(self._root)
        try:
            for number, part in enumerate(parts, 1):
                self._make_directory(part, current, 0o700)
                try:
                    following = os.open(
                        part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current
                    )
                except NotADirectoryError:
                    shown = os.path.join(self._path, *parts[:number])
                    message = f"{quote_path(shown)} is a link, or no directory: nothing is written through it"
                    raise TargetError(message, hint="remove it, or select another destination") from None
                os.close(current)
                current = following
            yield current
        finally:
            os.close(current)

    def _make_directory(self, name: str, directory: int, mode: int) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, (mode & 0o777 | 0o700), dir_fd=directory)

    def make_links(self) -> None:
        """Make the links that stay within the tree, when all else is there."""
        for parts, target in self._links.items():
            if not self._stays_within(parts, target):
                shown = quote_path("/".join(parts))
                log.warning(
                    "%s is not copied: it is a link to %s, which is not copied", shown, quote_path(target)
                )
                continue
            shown = os.path.join(self._path, *parts)
            with _explain_local_error(shown), self._open_directory(parts[:-1]) as directory:
                temporary = self._choose_temporary_name()
                os.symlink(target, temporary, dir_fd=directory)
                self._replace(temporary, parts[-1], directory)

    def _stays_within(self, parts: Sequence[str], target: str) -> bool:
        """Return whether a link leads to a place of the tree, now and when other links are made.

        Behind a link, `..` is not where it stands: it may only follow directories.
        """
        place, root = list(parts[:-1]), [self._name] if self._name else []
        for part in target.split("/"):
            if part == "..":
                if len(place) <= len(root) or not self._has_directory(place):
                    return False
                place.pop()
            elif part not in {"", "."}:
                place.append(part)
        return not target.startswith("/") and place[: len(root)] == root

    def _has_directory(self, parts: Sequence[str]) -> bool:
        current = os.dup(self._root)
        try:
            for part in parts:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                following = os.open(part, flags, dir_fd=current)
                os.close(current)
                current = following
        except OSError:
            return False
        finally:
            os.close(current)
        return True

    @staticmethod
    def _choose_temporary_name() -> str:
        return f".{os.urandom(8).hex()}.new"

    @staticmethod
    def _open_file(name: str, directory: int) -> IO[bytes]:
        return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory), "rb")

    def _write(
        self, parts: Sequence[str], source: IO[bytes], directory: int, member: tarfile.TarInfo
    ) -> None:
        """Write a file under another name, and rename it when it is complete."""
        temporary = self._choose_temporary_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, member.mode & 0o777, dir_fd=directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file, _BLOCK_SIZE)
                file.flush()
                with contextlib.suppress(OverflowError, ValueError):
                    os.utime(descriptor, (member.mtime, member.mtime))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
        self._replace(temporary, parts[-1], directory)

    def _replace(self, temporary: str, name: str, directory: int) -> None:
        try:
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:
            os.unlink(temporary, dir_fd=directory)
            raise


def find_unmatched(result: ProcessResult, mark: str, patterns: Sequence[str]) -> tuple[list[str], str]:
    """Return the patterns that have no file, and the rest of what a sending script has printed to standard error."""
    unmatched, rest = [], []
    text = result.stderr.decode("utf-8", "replace").partition(f"{mark}\n")[2]
    for line in text.splitlines():
        word, _, number = line.partition(" ")
        if word == mark:
            unmatched.append(patterns[int(number)])
        elif line.strip():
            rest.append(line)
    return unmatched, "\n".join(rest)
