"""Following logs that others write: whole lines, each once, through everything a log goes through.

A log is asked with `read`, which gives the next whole lines that are there now, and never waits.
No inotify: it is blind on NFS. A name is watched by the file behind it (device and inode): a log
that is renamed is read to its end before the next of its name is begun; one that became shorter
is read from its start. What was written of a line whose end never came is dropped when the next
file is begun: half a line says nothing that could be relied on. What is no regular file is no log: opening
a pipe would wait for its writer, and a device may have no end.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BLOCK: Final = 80 * 1024
"""Bytes that are read at once: less than what malloc gives back to the system after each block."""
LONGEST: Final = 4 * 1024 * 1024
"""A line longer than this is cut to its first MiB: memory must not grow with what is in a log."""
_CUT: Final = 1024 * 1024
_AGAIN: Final = 2.0
"""Seconds between two looks for a log's next file, and between two openings of an idle one."""
_MARK: Final = 64


class Log(Protocol):
    """A log, however many files it has."""

    fresh: bool
    """Whether the lines last read are the first ones of a file."""

    @property
    def problem(self) -> str:
        """Why the file that is to be read next cannot be; empty where nothing is known to be wrong."""

    def read(self) -> bytes:
        """Give the next whole lines, with their line ends; b"" if there are none now."""

    def left(self) -> int:
        """Give how many bytes are known to be unread."""

    def close(self) -> None:
        """Let go of the open files; the log can be read no more."""


class _Identity(NamedTuple):
    device: int
    inode: int


def _identity(path: str) -> _Identity | None:
    """Give what file a name stands for now; None where it cannot be told."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return _Identity(found.st_dev, found.st_ino)


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, and never wait; return its descriptor.

    Raises `OSError` where it cannot be opened, and for anything else that has this name.
    """
    with suppress(FileNotFoundError):
        _must_be_regular(os.stat(path), path)
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # it may be another file by now
    fd = os.open(path, flags, 0o666)
    try:
        _must_be_regular(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def _must_be_regular(found: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)


def is_regular(path: str) -> bool:
    """Say whether there is a regular file of this name."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def problem_of(error: OSError, path: str) -> str:
    """Say why a log cannot be read now."""
    if isinstance(error, FileNotFoundError):
        return f"{path} is not there yet; waiting for it"
    return f"{path} cannot be read: {error.strerror}"


@final
class File:
    """An open file, and the place up to which its lines were given.

    Raises `OSError` where it cannot be opened, or is no regular file.
    """

    def __init__(self, path: str, block: int = BLOCK) -> None:
        self._fd = -1
        self._path = path
        self._block = block
        self._fd = open_regular(path)
        found = os.fstat(self._fd)
        self.identity = _Identity(found.st_dev, found.st_ino)
        self.offset = 0
        self._seen = found.st_size
        self._mark = b""
        self.fresh = True
        self._begun = False
        self._idle = False
        self._skipping = False
        self._opened = time.monotonic()

    def close(self) -> None:
        """Close it; a second time means nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def head(self) -> bytes:
        """Give the beginning of the file, wherever its lines were read up to."""
        return os.pread(self._fd, 65_536, 0)

    def left(self) -> int:
        """Give how many bytes are unread."""
        return max(os.fstat(self._fd).st_size - self.offset, 0)

    def lines(self) -> bytes:
        """Give the next whole lines; b"" if there are none now."""
        if self._idle and self._was_rewritten():
            self._from_start()
        size = self._block
        while True:
            data = os.pread(self._fd, size, self.offset)
            end = data.rfind(b"\n") + 1
            if end:
                data = self._advanced(data[:end] if end < len(data) else data)
                if self._skipping:
                    self._skipping = False
                    data = data[data.index(b"\n") + 1 :]
                if data:
                    return data
            elif len(data) < size:
                self._seen = max(self._seen, self.offset + len(data))
                self._idle = True
                return b""
            elif size < LONGEST:
                size = min(size * 4, LONGEST)
            else:
                self._advanced(data)
                if not self._skipping:
                    self._skipping = True
                    return data[:_CUT] + b"\n"

    def unfinished(self) -> bool:
        """Say whether there is a line without its end that somebody may still be writing."""
        found = os.fstat(self._fd)
        return found.st_size > self.offset and time.time() - found.st_mtime < _AGAIN

    def refresh(self) -> None:
        """Open the file anew under its name, if it is still that file: NFS then asks the server."""
        if time.monotonic() - self._opened < _AGAIN:
            return
        self._opened = time.monotonic()
        with suppress(OSError):
            other = File(self._path)
            if other.identity != self.identity:
                other.close()
                return
            self._fd, other._fd = other._fd, self._fd
            other.close()

    def _advanced(self, data: bytes) -> bytes:
        self.offset += len(data)
        self._mark = data[-_MARK:]
        self.fresh, self._begun = not self._begun, True
        self._idle = False
        return data

    def _was_rewritten(self) -> bool:
        """Say whether the file was cut, or holds something else before the place it was read to."""
        if os.fstat(self._fd).st_size < self._seen:
            return True
        before = self.offset - len(self._mark)
        return os.pread(self._fd, len(self._mark), before) != self._mark

    def _from_start(self) -> None:
        self.offset = self._seen = 0
        self._mark = b""
        self._begun = self._idle = self._skipping = False


class Starts(NamedTuple):
    """What a source knows of its log's files, of which it sees the beginnings.

    `older_wanted(this, older)`: whether, with events wanted from some time on, the older file of
    two neighbours in a chain is needed. `offset(head)`: where reading a file that is the newest
    begins.
    """

    older_wanted: Callable[[bytes, bytes], bool] = lambda _this, _older: False
    offset: Callable[[bytes], int] = lambda _head: 0


@final
class Chain:
    """A log under one name, whose older files are called `NAME.N`, the newest with the least N.

    `least` is that N. Where reading begins is said by `starts`; from there on, file by file,
    nothing is left out, however often the log is rotated between two looks. Where `path` is a
    directory, the log is its file `inside`.
    """

    def __init__(
        self,
        path: str,
        least: int = 1,
        starts: Starts | None = None,
        block: int = BLOCK,
        *,
        inside: str = "",
    ) -> None:
        self.fresh = False
        self.problem = ""
        self._path = path
        self._least = least
        self._starts = starts or Starts()
        self._block = block
        self._inside = inside
        self._file: File | None = None
        self._next: str | None = None

    def read(self) -> bytes:
        """Give the next whole lines, of one file."""
        while True:
            if self._file is None and not self._open_first():
                return b""
            file = self._file
            if file is None:
                return b""
            try:
                data = file.lines()
            except OSError:  # NFS: the file is gone from the server
                self._leave()
                return b""
            if data:
                self.fresh = file.fresh
                return data
            # What was written before the next file came is still read: only then it is left.
            if self._next is None:
                self._next = self._newer(file)
                if self._next is None:
                    file.refresh()
                    return b""
            elif file.unfinished() or not self._go_on(file):
                return b""

    def left(self) -> int:
        """Give how many bytes of the file that is being read, and of newer ones, are unread."""
        if self._file is None and not self._open_first():
            return 0
        file = self._file
        if file is None:
            return 0
        total = unread = file.left()
        for name in self._names():
            if _identity(name) == file.identity:
                return total
            with suppress(OSError):
                total += os.stat(name).st_size
        return unread

    def unfinished(self) -> bool:
        """Say whether somebody may still be writing the last line."""
        return self._file is not None and self._file.unfinished()

    def close(self) -> None:
        """Close the file that is being read."""
        self._leave()

    def _leave(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._next = None

    def _names(self) -> list[str]:
        """Give the names of the chain's files, the newest first."""
        names = [self._path]
        number = self._least
        while is_regular(f"{self._path}.{number}"):
            names.append(f"{self._path}.{number}")
            number += 1
        return names

    def _newer(self, file: File) -> str | None:
        """Give the name of the file that follows, if there is one."""
        newest = _identity(self._path)
        if newest == file.identity:
            return None
        names = self._names()
        for newer, older in itertools.pairwise(names):
            if _identity(older) == file.identity:
                return newer if os.path.exists(newer) else None
        return self._path if newest else None

    def _go_on(self, file: File) -> bool:
        """Open the file that follows; it is looked for again, as a rotation may have come between."""
        name, self._next = self._newer(file), None
        if name is None:
            return True
        opened = self._opened(name)
        if opened is None:
            return False
        if self._newer(file) != name:
            opened.close()
            return True
        file.close()
        self._file = opened
        return True

    def _opened(self, name: str) -> File | None:
        """Open a file at the place where reading it begins; None if that cannot be told yet."""
        try:
            file = File(name, self._block)
            head = file.head()
        except OSError as error:
            self.problem = problem_of(error, name)
            return None
        self.problem = ""
        if name == self._path:
            offset = self._starts.offset(head)
            file.offset = offset if 0 < offset <= file.left() else 0
        return file

    def _open_first(self) -> bool:
        if self._inside and os.path.isdir(self._path):
            self._path, self._inside = os.path.join(self._path, self._inside), ""
        names = self._names()
        heads = [_head(name) for name in names]
        number = 0
        while number + 1 < len(names):
            if not self._starts.older_wanted(heads[number], heads[number + 1]):
                break
            number += 1
        problem = ""
        while number >= 0 and self._file is None:
            self._file = self._opened(names[number])
            problem = problem or self.problem
            number -= 1
        self.problem = problem  # also that of an older file, which is passed over
        return self._file is not None


def _head(name: str) -> bytes:
    try:
        file = File(name)
    except OSError:
        return b""
    try:
        return file.head()
    except OSError:
        return b""
    finally:
        file.close()


def total_left(logs: Sequence[Log]) -> int:
    """Give how many bytes of all of these logs are known to be unread."""
    return sum(log.left() for log in logs)
