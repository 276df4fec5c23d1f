"""The working directory of a job: it is used only while it is its user's own.

While a job waits, or after it has ended, its directory may be cleaned, as those below /var/tmp are, and made again by
somebody else. So it is entered first, and looked at from within; then nobody can put another one in its place.
`gpe_job_dir` of profiles/linux is the same for the programs on the target system.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import IO, TYPE_CHECKING, Final, final

from osprofile.late import NamedTuple
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_LINKS: Final = 40
"""As the system: then a path leads nowhere."""
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@final
class JobFile(NamedTuple):
    """A file of a job. It is used only while the job's directory is its user's alone."""

    directory: str
    """The job's working directory, an absolute path."""
    name: str
    """The path of the file there; an absolute path is that of a file elsewhere."""

    @property
    def path(self) -> str:
        """Its path."""
        return os.path.join(self.directory, self.name)

    def open(self) -> IO[bytes]:
        """Open it on this machine, to read. Raises `OSError`, also if others could have put files into the directory."""
        directory = _open_directory(self.directory)
        try:
            return os.fdopen(os.open(self.name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory), "rb")
        finally:
            os.close(directory)

    def is_here(self) -> bool:
        """Return whether its directory is on this machine, and nobody else can have put files into it."""
        try:
            os.close(_open_directory(self.directory))
        except OSError:
            return False
        return True


def _open_directory(path: str) -> int:
    """Return the descriptor of a directory that is this process's user's alone. Raises `OSError`."""
    directory = os.open(path.rstrip("/") or "/", _OPEN_FLAGS)
    status = os.fstat(directory)
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        os.close(directory)
        raise PermissionError(None, "it is not its user's alone", path)
    return directory


def is_safe_path(directory: str) -> bool:
    """Return whether nobody else can replace a directory, or anything that its path leads through: as `check_paths` of profiles/linux.

    False, too, where a link leads upwards: rare, and START looks at it itself.
    """
    user, links = os.geteuid(), 0
    path, waiting = "/", [name for name in directory.split("/") if name][::-1]
    entry = os.lstat(path)
    while True:
        is_link = stat.S_ISLNK(entry.st_mode)
        is_closed = is_link or not entry.st_mode & _OTHERS_WRITE or entry.st_mode & stat.S_ISVTX
        if entry.st_uid not in {0, user} or not is_closed:
            return False
        if is_link:
            if not waiting:
                return False
            links += 1
            target = os.readlink(path)
            path = "/" if target[0] == "/" else os.path.dirname(path)
            waiting += [name for name in target.split("/") if name not in {"", "."}][::-1]
            if links > _MAX_LINKS or ".." in waiting:
                return False
            entry = os.lstat(path)
            continue
        if not waiting:
            break
        path = os.path.join(path, waiting.pop())
        entry = os.lstat(path)
    return stat.S_ISDIR(entry.st_mode) and entry.st_uid == user and not entry.st_mode & _OTHERS_WRITE


@final
class NewFile(NamedTuple):
    """A file to write to the working directory of a job before it is submitted."""

    name: str
    content: bytes
    mode: int = 0o600


def write_new_files(directory: str, files: Sequence[NewFile]) -> None:
    """Write files to a job's directory on this machine; each appears when it is complete. Raises `OSError`.

    Missing directories are created, for their owner only.
    """
    make_directory(directory.rstrip("/"))
    descriptor = _open_directory(directory)
    try:
        for name, content, mode in files:
            new_name = f"{name}.{os.urandom(6).hex()}.new"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(new_name, flags, 0o600, dir_fd=descriptor), "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)
            os.replace(new_name, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: str) -> None:
    """Make a directory, and those above it, for the owner alone. Raises `OSError`."""
    if path and not os.path.isdir(path):
        make_directory(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def build_entering_commands(directory: str) -> str:
    """Return the commands that enter a job's directory, or end with what is wrong with it (`ScriptFailedError.is_unsafe_directory`)."""
    return f"d={quote_shell_word(directory.rstrip('/') or '/')}\n{_ENTER}"


def locate(file: str | JobFile) -> tuple[str, str]:
    """Return the commands to be run before a file is used, and its path then."""
    if isinstance(file, str):
        return "", file
    if file.name.startswith("/"):
        return "", file.name
    return build_entering_commands(file.directory), f"./{file.name}"


_ENTER = """\
w=
if cd -- "$d" 2> /dev/null; then
  case $(LC_ALL=C ls -ldn .) in d????-??-?*) ;; *) w='can be changed by others' ;; esac
  [ -O . ] || w='belongs to another user'
  [ ! -L "$d" ] || w='is a link'
elif [ -d "$d" ]; then
  w='cannot be entered'
else
  LC_ALL=C ls -d -- "$d/" > /dev/null || exit
fi
[ -z "$w" ] || { printf '%s is not used: this directory %s\\n' "$d" "$w" >&2; exit 73; }
"""
"""Enters $d."""
