"""What the fork starter writes: the log of its jobs' states, and the record of what it watches."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import uuid
from contextlib import suppress
from typing import Final, NamedTuple, final

from osprofile.events.tail import FollowedFile, open_regular

APPEND_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT
"""How a file is opened that may be there, and that others write to."""


class WatchedProcess(NamedTuple):
    """A process on record: the job's id, and when the process began, as the system counts."""

    job_id: str
    start_time: str

    @property
    def pid(self) -> int:
        """The process."""
        return int(_parse_pid(self.job_id))

    def is_running(self) -> bool:
        """Say whether it is still that process, and runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return not self.start_time or _read_process_stat(self.pid) == (True, self.start_time)


def read_start_time(pid: int) -> str:
    """Say when a process began: the boot and the ticks since; empty where the system does not tell."""
    return _read_process_stat(pid)[1]


def format_session_id(pid: int, start_time: str) -> str:
    """Give a process the id that the profile `linux` gives its jobs, PID-START-BOOT."""
    boot, _, ticks = start_time.partition("/")
    return f"{pid}-{ticks or 0}-{boot[:8] or '00000000'}"


def _parse_pid(job_id: str) -> str:
    """Give the process's number in an id UUID:PID or PID-START-BOOT."""
    return job_id.rpartition(":")[2].partition("-")[0]


def _read_process_stat(pid: int) -> tuple[bool, str]:
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
class ForkLog:
    """The log, to which others write too: it is locked for each line. What cannot be written waits."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._unwritten = b""

    def append_event(self, job_id: str, state: int, code: int = 0) -> None:
        """Write a line, or keep it until `flush` can."""
        self._unwritten += f"001;{int(time.time())};{job_id};{state};{code}\n".encode()
        self.flush()

    def flush(self) -> bool:
        """Write what waits; say whether nothing waits any more."""
        if self._unwritten:
            with suppress(OSError):
                self._append_locked()
        return not self._unwritten

    def _append_locked(self) -> None:
        fd = open_regular(self.path, APPEND_FLAGS)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            try:
                whole = os.write(fd, self._unwritten) == len(self._unwritten)
            except OSError:
                whole = False
            if whole:
                self._unwritten = b""
            else:
                os.ftruncate(fd, size)  # half a line might say something else
        finally:
            os.close(fd)

    def find_ended_jobs(self, jobs: set[str]) -> set[str]:
        """Give those of the jobs whose end is in the log."""
        found: set[str] = set()
        with suppress(OSError):
            file = FollowedFile(self.path)
            try:
                while data := file.read_lines():
                    for line in data.decode("utf-8", "surrogateescape").split("\n"):
                        fields = line.split(";")
                        if len(fields) == 5 and fields[3] in ("4", "8") and fields[2] in jobs:
                            found.add(fields[2])
            finally:
                file.close()
        return found


@final
class WatchRecord:
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

    def add_process(self, *watched: WatchedProcess) -> None:
        """Put processes on record, all of them; raise `OSError` where that cannot be."""
        self._write("".join(f"+{one.job_id} {one.start_time}\n" for one in watched))

    def remove_process(self, watched: WatchedProcess) -> None:
        """Take note that its end is in the log; raise `OSError` where that cannot be."""
        self._write(f"-{watched.job_id} {watched.start_time}\n")

    def _write(self, lines: str) -> None:
        size, data = os.fstat(self._fd).st_size, lines.encode()
        if os.write(self._fd, data) != len(data):
            os.ftruncate(self._fd, size)  # the next line would go on with half a line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close_and_delete(self) -> None:
        """Forget the record: nothing is watched any more."""
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._fd)

    def inherit_processes(self) -> list[WatchedProcess]:
        """Take over what starters that were killed had watched."""
        found: list[WatchedProcess] = []
        for name in sorted(os.listdir(self._directory)):
            path = os.path.join(self._directory, name)
            if path == self._path or name.startswith("."):
                continue
            with suppress(OSError):
                found += self._take_over_file(path)
        return found

    def _take_over_file(self, path: str) -> list[WatchedProcess]:
        fd = open_regular(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(path):
                return []
            watched = _parse_record(os.read(fd, os.fstat(fd).st_size))
            self.add_process(*watched)
            os.unlink(path)
            return watched
        finally:
            os.close(fd)


def _parse_record(data: bytes) -> list[WatchedProcess]:
    """Give what a record says is watched."""
    known: dict[WatchedProcess, None] = {}
    for line in data.decode("ascii", "replace").split("\n")[:-1]:
        job, _, began = line[1:].partition(" ")
        if line[:1] == "+" and _parse_pid(job).isdecimal():
            known[WatchedProcess(job, began)] = None
        else:
            known.pop(WatchedProcess(job, began), None)
    return list(known)
