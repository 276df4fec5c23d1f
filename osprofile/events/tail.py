"""Follow logs that other programs write: return each whole line once, also after a rotation.

`read_lines` returns the next whole lines that are available, and never waits. inotify is not used:
it does not work on NFS. A file is recognized by device and inode. If it is renamed, it is read to its
end before the next file of that name is opened; if it became shorter, it is read from its start. An
unfinished line at its end is dropped when the next file is opened. Only regular files are opened:
opening a pipe would wait for its writer, and a device may have no end.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_SIZE: Final = 80 * 1024
"""Bytes read at once; few enough that malloc keeps the memory (glibc returns it from 128 KiB on)."""
MAX_LINE_SIZE: Final = 4 * 1024 * 1024
"""A longer line is cut to `_CUT_LINE_SIZE`, so that a log without line ends does not fill the memory."""
_CUT_LINE_SIZE: Final = 1024 * 1024
RECHECK_INTERVAL: Final = 2.0
"""Seconds between two scans for a next file, and before an idle file is opened again."""
_REWRITE_CHECK_SIZE: Final = 64
"""Bytes before the offset that are compared to detect that a file was rewritten."""
APPEND_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT
"""Flags to append to a file, which is created if it does not exist."""


class Log(Protocol):
    """A log, in one or several files."""

    starts_new_file: bool
    """Whether the lines last read are the first ones of a file."""

    @property
    def problem(self) -> str:
        """Why the file that is to be read next cannot be read; empty if it can."""

    def read_lines(self) -> bytes:
        """Return the next whole lines, with their line ends; b"" if there are none now."""

    def count_unread_bytes(self) -> int:
        """Return the number of bytes that are known to be unread."""


def _identify_file(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _get_version(file: str | int) -> tuple[int, ...]:
    """Return what identifies a file that is no longer written: an inode alone may be used again; () if it is gone."""
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def open_regular_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file without waiting; return its descriptor.

    Raises `OSError` if it cannot be opened or is not a regular file.
    """
    with suppress(FileNotFoundError):
        _require_regular(os.stat(path), path)
    # The path may name a pipe or a terminal since then: opening that must not wait either.
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags, 0o666)
    try:
        _require_regular(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def _require_regular(stat_result: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(stat_result.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(stat_result.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)


def is_regular_file(path: str) -> bool:
    """Return whether a path names a regular file."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def describe_read_error(error: OSError, path: str) -> str:
    """Return why a log cannot be read now, in a sentence."""
    if isinstance(error, FileNotFoundError):
        return f"{path} is not there yet; waiting for it"
    return f"{path} cannot be read: {error.strerror}"


@final
class FollowedFile:
    """An open file; `offset` is the end of the lines that were returned.

    Raises `OSError` if it cannot be opened or is not a regular file.
    """

    def __init__(self, path: str, block_size: int = BLOCK_SIZE) -> None:
        self._fd = -1
        self._path = path
        self._block_size = block_size
        self._fd = open_regular_file(path)
        status = os.fstat(self._fd)
        self.identity = status.st_dev, status.st_ino
        self.offset = 0
        self._known_size = status.st_size  # a smaller size shows that the file was rewritten
        self._last_bytes = b""
        self.starts_new_file = True
        self._has_started = False
        self._at_end = False
        self._skips_cut_line = False
        self._open_time = time.monotonic()

    def close(self) -> None:
        """Close the file; has no effect the second time."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def fileno(self) -> int:
        """Return the file's descriptor."""
        return self._fd

    def __del__(self) -> None:
        self.close()

    def read_head(self) -> bytes:
        """Return the first bytes of the file."""
        return os.pread(self._fd, 65_536, 0)

    def count_unread_bytes(self) -> int:
        """Return the number of unread bytes."""
        return max(os.fstat(self._fd).st_size - self.offset, 0)

    def read_lines(self) -> bytes:
        """Return the next whole lines; b"" if there are none now."""
        if self._at_end and self._was_rewritten():
            self._reset_to_start()
        size = self._block_size
        while True:
            data = os.pread(self._fd, size, self.offset)
            end = data.rfind(b"\n") + 1
            if end:
                data = self._advance_past(data[:end] if end < len(data) else data)
                if self._skips_cut_line:
                    self._skips_cut_line = False
                    data = data[data.index(b"\n") + 1 :]
                if data:
                    return data
            elif len(data) < size:
                self._known_size = max(self._known_size, self.offset + len(data))
                self._at_end = True
                return b""
            elif size < MAX_LINE_SIZE:
                size = min(size * 4, MAX_LINE_SIZE)
            else:
                self._advance_past(data)
                if not self._skips_cut_line:
                    self._skips_cut_line = True
                    return data[:_CUT_LINE_SIZE] + b"\n"

    def has_unfinished_line(self) -> bool:
        """Return whether the last line has no end yet and was written in the last `RECHECK_INTERVAL`."""
        status = os.fstat(self._fd)
        return status.st_size > self.offset and time.time() - status.st_mtime < RECHECK_INTERVAL

    def reopen_file(self) -> None:
        """Open the file again, if its path still names it: this makes an NFS client ask the server."""
        if time.monotonic() - self._open_time < RECHECK_INTERVAL:
            return
        self._open_time = time.monotonic()
        with suppress(OSError):
            reopened = FollowedFile(self._path)
            if reopened.identity == self.identity:
                self._fd, reopened._fd = reopened._fd, self._fd
            reopened.close()

    def _advance_past(self, data: bytes) -> bytes:
        self.offset += len(data)
        self._last_bytes = data[-_REWRITE_CHECK_SIZE:]
        self.starts_new_file, self._has_started = not self._has_started, True
        self._at_end = False
        return data

    def _was_rewritten(self) -> bool:
        """Return whether the file became shorter, or its bytes before the offset changed."""
        if os.fstat(self._fd).st_size < self._known_size:
            return True
        start = self.offset - len(self._last_bytes)
        return os.pread(self._fd, len(self._last_bytes), start) != self._last_bytes

    def _reset_to_start(self) -> None:
        self.offset = self._known_size = 0
        self._last_bytes = b""
        self._has_started = self._at_end = self._skips_cut_line = False


class StartPolicy(NamedTuple):
    """Where reading a rotated log begins, decided by the first bytes of its files (heads).

    `needs_older_file(head, older_head)`: whether the next older file must be read before this one.
    `find_offset(head)`: the offset at which reading the newest file begins.
    """

    needs_older_file: Callable[[bytes, bytes], bool] = lambda _head, _older_head: False
    find_offset: Callable[[bytes], int] = lambda _head: 0


REPLAY_ALL: Final = StartPolicy(needs_older_file=lambda _head, _older_head: True)
"""Reading begins with the oldest file."""


@final
class RotatedLog:
    """A log whose older files are called `NAME.N`; a greater N is older.

    `first_number` is the least N. `start_policy` decides where reading begins; after that no line is
    missed, however often the log is rotated between two reads. If `path` is a directory, the log is
    the file `file_in_directory` in it.
    """

    def __init__(
        self,
        path: str,
        first_number: int = 1,
        start_policy: StartPolicy | None = None,
        block_size: int = BLOCK_SIZE,
        *,
        file_in_directory: str = "",
    ) -> None:
        self.starts_new_file = False
        self.problem = ""
        self._path = path
        self._first_number = first_number
        self._start_policy = start_policy or StartPolicy()
        self._block_size = block_size
        self._file_in_directory = file_in_directory
        self._file: FollowedFile | None = None
        self._newer_name: str | None = None
        self._read_files: set[tuple[int, ...]] = set()

    def read_lines(self) -> bytes:
        """Return the next whole lines, all of one file; b"" if there are none now."""
        while True:
            if self._file is None and not self._open_first_file():
                return b""
            file = self._file
            if file is None:
                return b""
            try:
                data = file.read_lines()
            except OSError:  # NFS: the file is gone from the server
                self.close()
                return b""
            if data:
                self.starts_new_file = file.starts_new_file
                return data
            # This file is read once more after the next one appeared: lines may have been written to
            # it in between.
            if self._newer_name is None:
                self._newer_name = self._find_newer_name(file)
                if self._newer_name is None:
                    file.reopen_file()
                    return b""
            elif file.has_unfinished_line() or not self._open_next(file):
                return b""

    def count_unread_bytes(self) -> int:
        """Return the number of unread bytes in the current file and newer ones."""
        if self._file is None and not self._open_first_file():
            return 0
        file = self._file
        if file is None:
            return 0
        total = unread = file.count_unread_bytes()
        for name in self._list_names():
            if _identify_file(name) == file.identity:
                return total
            with suppress(OSError):
                total += os.stat(name).st_size
        return unread

    def has_unfinished_line(self) -> bool:
        """Return whether the last line has no end yet and was written in the last `RECHECK_INTERVAL`."""
        return self._file is not None and self._file.has_unfinished_line()

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            self._file.close()
        self._file = self._newer_name = None

    def _list_names(self) -> list[str]:
        """Return the names of the log's files, newest first."""
        names = [self._path]
        number = self._first_number
        while is_regular_file(f"{self._path}.{number}"):
            names.append(f"{self._path}.{number}")
            number += 1
        return names

    def _find_newer_name(self, file: FollowedFile) -> str | None:
        """Return the name of the next newer file, or None if there is none."""
        newest = _identify_file(self._path)
        if newest == file.identity:
            return None
        names = self._list_names()
        for position, name in enumerate(names):
            if _identify_file(name) == file.identity:
                # Some programs rotate upwards: a file before this one may have been read already.
                unread = (n for n in names[position - 1 : 0 : -1] if _get_version(n) not in self._read_files)
                newer = next(unread, self._path)
                return newer if os.path.exists(newer) else None
        return self._path if newest else None

    def _open_next(self, file: FollowedFile) -> bool:
        """Open the next newer file; return False if it cannot be opened yet.

        Its name is determined again before and after, because a rotation may happen in between.
        """
        name, self._newer_name = self._find_newer_name(file), None
        if name is None:
            return True
        newer_file = self._open_at_start(name)
        if newer_file is None:
            return False
        if self._find_newer_name(file) != name:
            newer_file.close()
            return True
        self._read_files.add(_get_version(file.fileno()))
        file.close()
        self._file = newer_file
        return True

    def _open_at_start(self, name: str) -> FollowedFile | None:
        """Open a file and go to the offset where reading begins; return None if it cannot be opened."""
        try:
            file = FollowedFile(name, self._block_size)
            head = file.read_head()
        except OSError as error:
            self.problem = describe_read_error(error, name)
            return None
        self.problem = ""
        if name == self._path:
            offset = self._start_policy.find_offset(head)
            file.offset = offset if 0 < offset <= file.count_unread_bytes() else 0
        return file

    def _open_first_file(self) -> bool:
        if self._file_in_directory and os.path.isdir(self._path):
            self._path = os.path.join(self._path, self._file_in_directory)
            self._file_in_directory = ""
        names = self._list_names()
        heads = [_read_head(name) for name in names]
        number = 0
        while number + 1 < len(names):
            if not self._start_policy.needs_older_file(heads[number], heads[number + 1]):
                break
            number += 1
        self._read_files.update(map(_get_version, names[number + 1 :]))
        problem = ""
        while number >= 0 and self._file is None:
            self._file = self._open_at_start(names[number])
            problem = problem or self.problem
            number -= 1
        self.problem = problem  # that of the oldest file that is skipped, if any
        return self._file is not None


def _read_head(name: str) -> bytes:
    with suppress(OSError), closing(FollowedFile(name)) as file:
        return file.read_head()
    return b""
