"""What the fork starter writes: the log of its jobs' states, and the record of what it watches."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import uuid
from contextlib import suppress
from typing import Final, NamedTuple, final

from osprofile.events.tail import File, open_regular

APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT
"""How a file is opened that may be there, and that others write to."""


class Watched(NamedTuple):
    """A process on record: the job's id, and when the process began, as the system counts."""

    job: str
    began: str

    @property
    def pid(self) -> int:
        """The process."""
        return int(_pid_of(self.job))

    def lives(self) -> bool:
        """Say whether it is still that process, and runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return not self.began or _stat(self.pid) == (True, self.began)


def beginning(pid: int) -> str:
    """Say when a process began: the boot and the ticks since; empty where the system does not tell."""
    return _stat(pid)[1]


def session_id(pid: int, began: str) -> str:
    """Give a process the id that the profile `linux` gives its jobs, PID-START-BOOT."""
    boot, _, ticks = began.partition("/")
    return f"{pid}-{ticks or 0}-{boot[:8] or '00000000'}"


def _pid_of(job: str) -> str:
    """Give the process's number in an id UUID:PID or PID-START-BOOT."""
    return job.rpartition(":")[2].partition("-")[0]


def _stat(pid: int) -> tuple[bool, str]:
    """Say whether a process runs, and when it began; one that waits for its parent runs no more."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b") ")[2].split()
    except OSError:
        return False, ""
    return fields[0] not in (b"Z", b"X"), f"{boot}/{int(fields[19])}"


@final
class Log:
    """The log, to which others write too: it is locked for each line. What cannot be written waits."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._waiting = b""

    def tell(self, job: str, state: int, code: int = 0) -> None:
        """Write a line, or keep it until `flush` can."""
        self._waiting += f"001;{int(time.time())};{job};{state};{code}\n".encode()
        self.flush()

    def flush(self) -> bool:
        """Write what waits; say whether nothing waits any more."""
        if self._waiting:
            with suppress(OSError):
                self._write()
        return not self._waiting

    def _write(self) -> None:
        fd = open_regular(self.path, APPEND)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            try:
                whole = os.write(fd, self._waiting) == len(self._waiting)
            except OSError:
                whole = False
            if whole:
                self._waiting = b""
            else:
                os.ftruncate(fd, size)  # half a line might say something else
        finally:
            os.close(fd)

    def ended(self, jobs: set[str]) -> set[str]:
        """Give those of the jobs whose end is in the log."""
        found: set[str] = set()
        with suppress(OSError):
            file = File(self.path)
            try:
                while data := file.lines():
                    for line in data.decode("utf-8", "surrogateescape").split("\n"):
                        fields = line.split(";")
                        if len(fields) == 5 and fields[3] in ("4", "8") and fields[2] in jobs:
                            found.add(fields[2])
            finally:
                file.close()
        return found


@final
class Record:
    """What one starter watches, in a file of its own that is locked as long as the starter lives."""

    def __init__(self, directory: str) -> None:
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        self._directory = directory
        name = uuid.uuid4().hex
        self._path = os.path.join(directory, name)
        # It has its name only when it is locked: until then another starter would inherit it.
        hidden = os.path.join(directory, f".{name}")
        self._fd = os.open(hidden, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        os.rename(hidden, self._path)

    def size(self) -> int:
        """Return how many bytes are written; raise `OSError` where the record is no longer in its place."""
        return os.stat(self._path).st_size

    def truncate(self, size: int) -> None:
        """Drop what was written since the record had this size, of processes that have ended."""
        with suppress(OSError):  # then the next starter tells that they ended
            os.ftruncate(self._fd, size)

    def add(self, *watched: Watched) -> None:
        """Put processes on record, all of them; raise `OSError` where that cannot be."""
        self._write("".join(f"+{one.job} {one.began}\n" for one in watched))

    def remove(self, watched: Watched) -> None:
        """Take note that its end is in the log; raise `OSError` where that cannot be."""
        self._write(f"-{watched.job} {watched.began}\n")

    def _write(self, lines: str) -> None:
        size, data = os.fstat(self._fd).st_size, lines.encode()
        if os.write(self._fd, data) != len(data):
            os.ftruncate(self._fd, size)  # the next line would go on with half a line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Forget the record: nothing is watched any more."""
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._fd)

    def inherit(self) -> list[Watched]:
        """Take over what starters that were killed had watched."""
        found: list[Watched] = []
        for name in sorted(os.listdir(self._directory)):
            path = os.path.join(self._directory, name)
            if path == self._path or name.startswith("."):
                continue
            with suppress(OSError):
                found += self._take(path)
        return found

    def _take(self, path: str) -> list[Watched]:
        fd = open_regular(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(path):
                return []
            watched = _read(os.read(fd, os.fstat(fd).st_size))
            self.add(*watched)
            os.unlink(path)
            return watched
        finally:
            os.close(fd)


def _read(data: bytes) -> list[Watched]:
    """Give what a record says is watched."""
    known: dict[Watched, None] = {}
    for line in data.decode("ascii", "replace").split("\n")[:-1]:
        job, _, began = line[1:].partition(" ")
        if line[:1] == "+" and _pid_of(job).isdecimal():
            known[Watched(job, began)] = None
        else:
            known.pop(Watched(job, began), None)
    return list(known)
