"""The files of a target system, as its own user has them there: copied, listed, read in parts, deleted.

The scripts go through the profile's SHELL, so files can go wherever jobs can: over ssh, or as another user. Each script
uploads one chunk, as base64, so that memory does not grow with the file's size. The file appears under its name only
when it is complete.
"""

from __future__ import annotations

import io
import itertools
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OutputError, ScriptFailedError
from osprofile.jobs.files.directory import JobFile, locate, write_new_files
from osprofile.jobs.shell.loop import gather, to_thread
from osprofile.jobs.shell.output import ENTRY_GROUPS, build_output_error, get_output_pattern, parse_entries
from osprofile.jobs.shell.scripts import SHELL_TEMPLATE, generate_mark
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from osprofile.jobs.files.directory import NewFile
    from osprofile.jobs.files.trees import FetchedFile
    from osprofile.jobs.record.store import JobFiles
    from osprofile.jobs.shell.output import FileEntry
    from osprofile.jobs.shell.target import TargetShell


log: Final = logging.getLogger("osprofile.jobs")
_FILE_PROGRAM_TIME_LIMIT: Final = 600.0
"""Seconds for a program that copies a directory, or reads a large file."""
TRANSFER_CHUNK_SIZE: Final = 6 * 1024 * 1024
"""Bytes that one script uploads."""
OUTPUT_PART_SIZE: Final = 16 * 1024 * 1024
"""Bytes of a growing file that one script prints at most."""
_PART_HEADER: Final = compile_late(rb"([0-9]+) ([0-9]+)")
_CREATE_TEMPORARY: Final = """\
case $f in */*) mkdir -p -- "${f%/*}" || exit ;; esac
if [ -d "$f" ]; then printf '%s: this is a directory\\n' "$f" >&2; exit 1; fi
: > "$t"\
"""
_REQUIRE_REGULAR_FILE: Final = """\
if [ -e "$f" ] && [ ! -f "$f" ]; then printf '%s: this is not a regular file\\n' "$f" >&2; exit 1; fi\
"""
_REMOVE_TEMPORARY: Final = 'rm -f -- "$t"\nexit 1'
_FIND_PART: Final = f"""\
[ -e "$f" ] || {{ ls -d -- "$d/" > /dev/null && echo missing; exit; }}
[ ! -c "$f" ] || {{ echo 0 0; exit; }}
{_REQUIRE_REGULAR_FILE}
exec < "$f" || exit
set -f
set -- $(LC_ALL=C ls -dLin -- "$f")
[ "$#" -ge 6 ] || exit
s=$6
if [ "$i" != "$1" ] || [ "$n" -gt "$s" ]; then n=0; fi
if [ -n "$l" ]; then
  b=65536
  while :; do
    [ "$b" -lt "$s" ] || b=$s
    n=$((s - b))
    t=$(tail -c +$((n + 1)) < "$f" | head -c "$b" | tail -n "$l" | wc -c)
    [ "$((t))" -eq "$b" ] && [ "$b" -lt "$s" ] || break
    b=$((b * 16))
  done
  n=$((s - t))
fi
printf '%s %s\\n' "$1" "$n"
"""
"""Sets n to the offset of the part of $f that begins behind offset $n of inode $i, or with its last $l lines.

These are looked for in blocks that grow, up to the size that the file has now: other lines may come.
"""


@final
class TargetFiles:
    """The files of a target system, reached by scripts, so that they get everywhere that a job can get.

    A file is given by its path; one of a job as a `JobFile`, whose directory must be its user's own.
    The methods raise `TargetError`s: `ScriptFailedError` with what the target system says of a file.
    """

    def __init__(self, shell: TargetShell) -> None:
        self._shell = shell

    async def upload_file(self, source: IO[bytes], file: str | JobFile, mode: int = 0o600) -> None:
        """Write the rest of an open file to a file of the target system.

        Missing directories are created, for their owner only. The file appears, in place of an existing
        one, when it is complete.
        """
        for script in build_upload_scripts(source, file, mode):
            await self._shell.run_transfer(f"writing {_get_path(file)}", script, len(script))

    async def write_new_files(self, directory: str, files: Sequence[NewFile]) -> None:
        """Write files to a job's directory, as `upload_file` does; those of this machine without a shell."""
        if self._shell.is_here:
            try:
                return await to_thread(write_new_files, directory, files)
            except OSError as error:
                log.debug("%s: %s", directory, error)  # the script says what is wrong
        uploads = [self.upload_file(io.BytesIO(f.content), JobFile(directory, f.name), f.mode) for f in files]
        await gather(uploads)
        return None

    async def download_file(
        self, file: str | JobFile, descriptor: int, offset: int = 0, count: int | None = None
    ) -> None:
        """Write a file of the target system to a file descriptor of this process.

        With `count`, write at most so many bytes, from `offset` on.
        """
        path = _get_path(file)
        size = (await self.stat_file(path)).size if count is None else count
        script = build_download_script(file, offset, count)
        await self._shell.run_transfer(f"reading {path}", script, size, stdout=descriptor)

    async def download_output(self, file: JobFile, descriptor: int) -> None:
        """Write a job's output file to a file descriptor of this process; nothing if the job has not begun."""
        script = build_output_script(file)
        await self._shell.run_transfer(f"reading {file.path}", script, 0, stdout=descriptor)

    async def read_file_part(
        self, file: str | JobFile, position: FilePosition | None = None, *, last_lines: int | None = None
    ) -> FilePart | None:
        """Return what a file that may grow has behind a position; None if there is no such file.

        Without a position, the part begins with the file or, if given, with its last lines. It has at
        most `OUTPUT_PART_SIZE` bytes: the next part begins at the position in the result.
        """
        script = build_part_script(file, position, last_lines)
        label = f"reading {_get_path(file)}"
        output = await self._shell.run_transfer(label, script, OUTPUT_PART_SIZE)
        try:
            return parse_part(output, position)
        except ValueError as error:
            raise OutputError(f"{label}: {error}") from None

    async def stage_inputs(self, directory: str, files: JobFiles) -> None:
        """Copy the inputs of a job into its directory.

        Those that are there are not copied again, nor any for a job that may have been submitted.
        """
        from osprofile.jobs.files import trees  # late: it imports tarfile

        label = f"copying the inputs to {directory}"
        script = trees.build_state_script(directory)
        present = trees.parse_state(await self._shell.run_transfer(label, script, 0))
        if present is None:
            return
        sizes = {name: trees.measure(path) for name, path in files.inputs.items()}
        missing = {
            name: path for name, path in files.inputs.items() if sizes[name].fingerprint not in present
        }
        for group in trees.group_inputs(missing, sizes):
            fingerprints = {name: sizes[name].fingerprint for name in group}
            build = partial(
                trees.build_staging_script,
                directory,
                fingerprints=fingerprints,
                output_directories=files.output_directories,
            )
            if (source := trees.read_from_script(group, sizes)) is not None:
                await self._shell.run_transfer(label, build(source), len(source))
                continue
            mark = generate_mark()
            send = partial(trees.send_archive, mark=mark, items=group)
            await self._shell.exchange(label, build(trees.read_from_input(mark)), send)

    async def upload(self, local: str, path: str) -> None:
        """Copy a file or directory of this machine to a path of the target system.

        It has its name when it is complete; missing directories are created, for their owner only. A file that exists is
        replaced. Links in a directory are copied as links. Raises `ScriptFailedError`, also for a directory that exists,
        and `TargetError` for what cannot be read here.
        """
        from osprofile.jobs.files import trees  # late: it imports tarfile

        mark, name = generate_mark(), os.path.basename(path.rstrip("/"))
        send = partial(trees.send_archive, mark=mark, items={name: local})
        await self._shell.exchange(f"writing {path}", trees.build_upload_script(path, mark), send)

    async def download(self, path: str, local: str) -> None:
        """Copy a file or directory of the target system to a path of this machine.

        A file has its name when it is complete. Nothing is written through a link of this machine. Raises
        `ScriptFailedError`, also if there is no such file, and `TargetError` for what cannot be written here.
        """
        directory, name = os.path.split(path.rstrip("/"))
        _, missing = await self.fetch(directory or ".", [name], local, is_single=True)
        if missing:
            message = f"reading {path}: there is no such file"
            raise ScriptFailedError(
                message, template="SHELL", exit_status=1, output="No such file or directory"
            )

    async def fetch(
        self, directory: str, patterns: Sequence[str], destination: str, *, is_single: bool = False
    ) -> tuple[list[FetchedFile], list[str]]:
        """Copy files of a job's directory into one of this machine.

        Return them, and the patterns without a file. With `is_single`, the only pattern is a name in any directory, and
        `destination` is the path of its copy.
        """
        from osprofile.jobs.files import trees  # late: it imports tarfile

        mark = generate_mark()
        script = trees.build_sending_script(directory, patterns, mark, is_literal=is_single)
        receive = partial(trees.receive_archives, mark=mark, destination=destination, is_single=is_single)
        result, files = await self._shell.exchange(f"reading {directory}", script, receive)
        unmatched, warnings = trees.find_unmatched(result, mark, patterns)
        if warnings:
            log.warning("reading %s: %s", directory, warnings)
        return files, unmatched

    async def has_program(self, path: str) -> bool:
        """Return whether the target system has a file of that path; for a name without a slash, such a program on its PATH."""
        script = (
            f"f={quote_shell_word(path)}\n"
            'case $f in */*) [ -e "$f" ] ;; *) command -v -- "$f" > /dev/null ;; esac && echo y\nexit 0'
        )
        return (await self._shell.run_transfer(f"looking for {path}", script, 0)).strip() == b"y"

    async def read_script(self, path: str, size: int) -> tuple[bytes, bool] | None:
        """Return the first bytes of a script, and whether it is executable; None for another file.

        A script begins with `#!`, or its name ends in `.sh`.
        """
        script = (
            f'f={quote_shell_word(path)}\n[ -f "$f" ] && [ -r "$f" ] || exit 0\n'
            "case $(head -c 2 -- \"$f\" | tr -d '\\0'):$f in '#!':* | *.sh) ;; *) exit 0 ;; esac\n"
            f'if [ -x "$f" ]; then echo x; else echo r; fi\nhead -c {size} -- "$f"'
        )
        head, _, content = (await self._shell.run_transfer(f"reading {path}", script, size)).partition(b"\n")
        return (content, head == b"x") if head and b"\0" not in content else None

    async def run_file_program(self, words: Sequence[str]) -> bytes:
        """Run a program that changes files of the target system, and return its output: `["mkdir", "--", path]`.

        Each word reaches the program as it is. Raises `ScriptFailedError` if it fails.
        """
        label, script = f"{words[0]} {words[-1]}", " ".join(map(quote_shell_word, words))
        result = await self._shell.run_to_end(
            SHELL_TEMPLATE, script, label=label, limit=_FILE_PROGRAM_TIME_LIMIT
        )
        return result.stdout

    async def delete_path(self, path: str) -> None:
        """Delete a file, or a directory with its content, on the target system."""
        await self._shell.find_user()
        await self._shell.run_script("DELETE", self._shell.render_script("DELETE", PATH=path))

    async def list_directory(self, path: str) -> list[FileEntry]:
        """Return the files in a directory of the target system."""
        return await self._query_entries(path, "DIR")

    async def stat_file(self, path: str) -> FileEntry:
        """Return the properties of a file of the target system."""
        entries = await self._query_entries(path, "FILE")
        if len(entries) != 1:
            raise build_output_error("LIST", "ENTRY_PATTERN", "")
        return entries[0]

    async def _query_entries(self, path: str, variation: str) -> list[FileEntry]:
        text = await self._shell.run_script(
            "LIST", self._shell.render_script("LIST", variation=variation, PATH=path)
        )
        pattern = get_output_pattern(self._shell.profile, "LIST", "ENTRY_PATTERN", ENTRY_GROUPS)
        return parse_entries(pattern, text)


def _get_path(file: str | JobFile) -> str:
    return file if isinstance(file, str) else file.path


@final
class FilePosition(NamedTuple):
    """A place in a file that may be truncated, or replaced by another one of the same name."""

    inode: str
    """The number of the file in its file system."""
    offset: int
    """The bytes before the place."""


@final
class FilePart(NamedTuple):
    """A part of a file that may grow."""

    data: bytes
    position: FilePosition
    """The place behind the part."""
    is_restarted: bool = False
    """Whether the file was truncated or replaced: the part is the beginning of the new content."""


def build_upload_scripts(source: IO[bytes], file: str | JobFile, mode: int) -> Iterator[str]:
    """Yield the scripts that write a file; they are to be run in this order.

    They create missing directories, for the owner only, and replace an existing file.
    """
    before, path = locate(file)
    made = "umask 077\n"
    if not isinstance(file, str):
        made += f"mkdir -p -- {quote_shell_word(file.directory)} || exit\n"
    variables = f"f={quote_shell_word(path)} t={quote_shell_word(f'{path}.{os.urandom(6).hex()}.new')}\n"
    yield f"{made}{before}{variables}{_CREATE_TEMPORARY}"
    from base64 import encodebytes  # late: only those who copy need it

    for chunk in itertools.takewhile(len, iter(lambda: source.read(TRANSFER_CHUNK_SIZE), b"")):
        text = encodebytes(chunk).decode("ascii")
        yield f"{before}{variables}base64 -d >> \"$t\" << 'END' && exit\n{text}END\n{_REMOVE_TEMPORARY}"
    yield (f'{before}{variables}chmod {mode:04o} -- "$t" && mv -f -- "$t" "$f" && exit\n{_REMOVE_TEMPORARY}')


def build_download_script(file: str | JobFile, begin: int = 0, count: int | None = None) -> str:
    """Return the script that prints a file, or `count` bytes of it from offset `begin` on."""
    before, path = locate(file)
    if count is None:
        return f'{before}f={quote_shell_word(path)}\nexec cat < "$f"'
    # To open a named pipe would block until a writer opens it.
    return (
        f'{before}f={quote_shell_word(path)}\n{_REQUIRE_REGULAR_FILE}\nexec < "$f" || exit\n'
        f"tail -c +{begin + 1} | head -c {count}"
    )


def build_output_script(file: str | JobFile) -> str:
    """Return the script that prints a file, or nothing if it is missing in a directory that exists."""
    before, path = locate(file)
    return (
        f"{before}f={quote_shell_word(path)} d={quote_shell_word(os.path.dirname(path))}\n"
        '[ -e "$f" ] || { ls -d -- "$d/" > /dev/null; exit; }\n'
        # A named pipe would block until somebody writes to it; /dev/null is a device.
        f'[ -c "$f" ] || {{ {_REQUIRE_REGULAR_FILE}; }}\n'
        'exec cat < "$f"'
    )


def build_part_script(
    file: str | JobFile, position: FilePosition | None = None, last_lines: int | None = None
) -> str:
    """Return the script that prints the content of a file after an offset, for `parse_part`.

    Without a position, the part begins with the file or, if given, with its last lines. It has at most
    OUTPUT_PART_SIZE bytes.
    """
    inode, offset = position or ("", 0)
    before, path = locate(file)
    return (
        f"{before}f={quote_shell_word(path)} d={quote_shell_word(os.path.dirname(path))}\n"
        f"i={quote_shell_word(inode)} n={offset} l={'' if position or last_lines is None else last_lines}\n"
        f"{_FIND_PART}tail -c +$((n + 1)) | head -c {OUTPUT_PART_SIZE}"
    )


def parse_part(output: bytes, position: FilePosition | None) -> FilePart | None:
    """Return what the script of `build_part_script` has printed; None if there is no such file.

    Raises `ValueError` for any other output.
    """
    header, _, data = output.partition(b"\n")
    if header == b"missing":
        return None
    match = _PART_HEADER.fullmatch(header)
    if match is None:
        message = f"{header[:80]!r} is not the inode and the offset of a file"
        raise ValueError(message)
    inode, offset = match[1].decode(), int(match[2])
    is_restarted = position is not None and (inode, offset) != position
    return FilePart(data, FilePosition(inode, offset + len(data)), is_restarted)
