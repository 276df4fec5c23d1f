"""The fork starter's files: the log of its jobs' states, and the record of its processes."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import uuid
from contextlib import closing, suppress
from typing import Final, NamedTuple, final

from osprofile.events.emit import DONE, FAILED, format_event
from osprofile.events.tail import APPEND_FLAGS, FollowedFile, open_regular_file

_END_STATES: Final = (str(FAILED), str(DONE))


class WatchedProcess(NamedTuple):
    """A recorded process: its job id, and its start time as `read_start_time` returns it."""

    job_id: str
    start_time: str

    @property
    def pid(self) -> int:
        """The process id."""
        return int(_parse_pid(self.job_id))

    def is_running(self) -> bool:
        """Return whether this process still runs; a later process with the same id does not count."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return not self.start_time or _read_process_stat(self.pid) == (True, self.start_time)


def read_start_time(pid: int) -> str:
    """Return the boot id and the start time in clock ticks, BOOT/TICKS; "" if /proc does not show them."""
    return _read_process_stat(pid)[1]


def format_session_id(pid: int, start_time: str) -> str:
    """Return a process's job id in the profile `linux`, PID-START-BOOT."""
    boot, _, ticks = start_time.partition("/")
    return f"{pid}-{ticks or 0}-{boot[:8] or '00000000'}"


def _parse_pid(job_id: str) -> str:
    """Return the process id in a job id UUID:PID or PID-START-BOOT."""
    return job_id.rpartition(":")[2].partition("-")[0]


def _read_process_stat(pid: int) -> tuple[bool, str]:
    """Return whether a process runs (a zombie does not), and its start time, BOOT/TICKS."""
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
    """The log of job states. It is locked for each write, because several starters may share it.

    Lines that cannot be written are kept, and tried again.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._unwritten = b""

    @property
    def has_unwritten(self) -> bool:
        """Whether lines were kept that `flush` should try again."""
        return bool(self._unwritten)

    def append_event(self, job_id: str, state: int, code: int = 0) -> None:
        """Write the line of an event, or keep it for `flush`."""
        self._unwritten += format_event(int(time.time()), job_id, state, code).encode()
        self.flush()

    def flush(self) -> None:
        """Write the lines that were kept, if that is possible now."""
        if self._unwritten:
            with suppress(OSError):
                self._append_locked()

    def _append_locked(self) -> None:
        fd = open_regular_file(self.path, APPEND_FLAGS)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            try:
                is_complete = os.write(fd, self._unwritten) == len(self._unwritten)
            except OSError:
                is_complete = False
            if is_complete:
                self._unwritten = b""
            else:
                os.ftruncate(fd, size)  # part of a line may look like another event
        finally:
            os.close(fd)

    def find_ended_jobs(self, jobs: set[str]) -> set[str]:
        """Return the jobs among `jobs` whose end is in the log."""
        ended: set[str] = set()
        with suppress(OSError), closing(FollowedFile(self.path)) as file:
            while data := file.read_lines():
                for line in data.decode("utf-8", "surrogateescape").split("\n"):
                    fields = line.split(";")
                    if len(fields) == 5 and fields[3] in _END_STATES and fields[2] in jobs:
                        ended.add(fields[2])
        return ended


@final
class WatchRecord:
    """The file of the processes that one starter watches, locked while the starter lives."""

    def __init__(self, directory: str) -> None:
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        self._directory = directory
        name = uuid.uuid4().hex
        self._path = os.path.join(directory, name)
        # Renamed only when it is locked: another starter takes over any unlocked record.
        hidden_path = os.path.join(directory, f".{name}")
        self._fd = os.open(hidden_path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        os.rename(hidden_path, self._path)

    def get_size(self) -> int:
        """Return the file's size in bytes; raise `OSError` if it was moved or deleted."""
        return os.stat(self._path).st_size

    def truncate(self, size: int) -> None:
        """Drop the entries beyond this size; their processes have ended."""
        with suppress(OSError):  # if they stay, the next starter reports that their processes ended
            os.ftruncate(self._fd, size)

    def add_processes(self, *processes: WatchedProcess) -> None:
        """Record processes, all or none; raise `OSError` if they cannot be written."""
        self._append_lines("".join(f"+{process.job_id} {process.start_time}\n" for process in processes))

    def remove_process(self, process: WatchedProcess) -> None:
        """Record that a process's end is in the log; raise `OSError` if it cannot be written."""
        self._append_lines(f"-{process.job_id} {process.start_time}\n")

    def _append_lines(self, lines: str) -> None:
        size, data = os.fstat(self._fd).st_size, lines.encode()
        if os.write(self._fd, data) != len(data):
            os.ftruncate(self._fd, size)  # otherwise the next line would be appended to part of this one
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close_and_delete(self) -> None:
        """Delete the record; call it when no process is watched any more."""
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._fd)

    def inherit_processes(self) -> list[WatchedProcess]:
        """Move the processes of starters that were killed into this record, and return them."""
        processes: list[WatchedProcess] = []
        for name in sorted(os.listdir(self._directory)):
            path = os.path.join(self._directory, name)
            if path == self._path or name.startswith("."):
                continue
            with suppress(OSError):
                processes += self._take_over_file(path)
        return processes

    def _take_over_file(self, path: str) -> list[WatchedProcess]:
        fd = open_regular_file(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(path):  # another starter took it over before this one locked it
                return []
            processes = _parse_record(os.read(fd, os.fstat(fd).st_size))
            self.add_processes(
                *processes
            )  # before unlink: if this starter is killed here, no process is lost
            os.unlink(path)
            return processes
        finally:
            os.close(fd)


def _parse_record(data: bytes) -> list[WatchedProcess]:
    """Return the processes that were added and not removed, in order."""
    processes: dict[WatchedProcess, None] = {}
    for line in data.decode("ascii", "replace").split("\n")[:-1]:
        job_id, _, start_time = line[1:].partition(" ")
        if line[:1] == "+" and _parse_pid(job_id).isdecimal():
            processes[WatchedProcess(job_id, start_time)] = None
        else:
            processes.pop(WatchedProcess(job_id, start_time), None)
    return list(processes)
