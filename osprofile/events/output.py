"""Where the generator writes its lines: standard output, or a file for each day.

Lines are never queued: they are written before more of the log is read, so memory does not grow when
the reader is slow. The end of standard input is noticed even while a write waits for the reader.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, final

from osprofile.events.tail import APPEND_FLAGS, open_regular_file

if TYPE_CHECKING:
    from types import FrameType

_SAFE_WRITE_SIZE: Final = select.PIPE_BUF
"""Bytes that can be written without blocking to a pipe that is ready (POSIX)."""
_PIPE_CAPACITY: Final = 256 * 1024
"""The pipe is enlarged to hold three blocks, so that neither side waits for the other at each block."""
_LAST_LINE_GRACE: Final = 1.0
"""Seconds to complete a partly written line when standard input ends."""
_BROKEN_PIPE_EVENTS: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


class EventOutput(Protocol):
    """Where lines are written. Each method returns False when the generator should end."""

    def write_lines(self, data: bytes) -> bool:
        """Write whole lines."""

    def wait(self, seconds: float) -> bool:
        """Wait this long, or until the generator should end."""


@final
class StandardOutput:
    """Standard output. The generator ends when standard input is closed or standard output has no reader.

    Data on standard input is read and ignored.
    """

    def __init__(self, input_fd: int = 0, output_fd: int = 1) -> None:
        self._input_fd = input_fd
        self._output_fd = output_fd
        self._nonblocking_fd = _reopen_pipe(output_fd)
        self._poller = select.poll()
        self._poller.register(input_fd, select.POLLIN)
        self._poller.register(output_fd, 0)

    def write_lines(self, data: bytes) -> bool:
        """Write whole lines, as fast as they are read; return False if the generator should end."""
        unsent = memoryview(data)
        while unsent:
            self._poller.modify(self._output_fd, select.POLLOUT)
            ready = self._wait_until_ready(None)
            if ready is None:
                self._finish_line(data, len(data) - len(unsent))
                return False
            if ready:
                sent = self._write_available(unsent)
                if sent is None:
                    return False
                unsent = unsent[sent:]
        return True

    def wait(self, seconds: float) -> bool:
        """Wait; return False as soon as the generator should end."""
        self._poller.modify(self._output_fd, 0)
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            if self._wait_until_ready(remaining) is None:
                return False
        return self._wait_until_ready(0) is not None

    def _wait_until_ready(self, seconds: float | None) -> bool | None:
        """Wait; return whether the output is ready, or None if the generator should end."""
        ready = False
        events = self._poller.poll(None if seconds is None else int(seconds * 1000) + (seconds > 0))
        for fd, event in events:
            if fd == self._input_fd and not self._input_is_open():
                return None
            if fd == self._output_fd:
                if event & _BROKEN_PIPE_EVENTS and not event & select.POLLOUT:
                    return None
                ready = True
        return ready

    def _input_is_open(self) -> bool:
        try:
            return bool(os.read(self._input_fd, 65_536))
        except OSError:
            return False

    def _write_available(self, unsent: memoryview) -> int | None:
        """Write what fits now; return the number of bytes, or None if the output cannot be written."""
        try:
            if self._nonblocking_fd is None:
                return os.write(self._output_fd, unsent[:_SAFE_WRITE_SIZE])
            return os.write(self._nonblocking_fd, unsent)
        except BlockingIOError:
            return 0
        except OSError:
            return None

    def _finish_line(self, data: bytes, written: int) -> None:
        """Complete a partly written line, if the reader takes it within `_LAST_LINE_GRACE`."""
        if not written or data[written - 1 : written] == b"\n":
            return
        unsent = memoryview(data)[written : data.index(b"\n", written) + 1]
        poll = select.poll()
        poll.register(self._output_fd, select.POLLOUT)
        deadline = time.monotonic() + _LAST_LINE_GRACE
        while unsent and (remaining := deadline - time.monotonic()) > 0:
            if poll.poll(remaining * 1000):
                sent = self._write_available(unsent)
                if sent is None:
                    return
                unsent = unsent[sent:]


def _reopen_pipe(fd: int) -> int | None:
    """Return a non-blocking descriptor of the pipe at `fd`, or None if it is not a pipe.

    The pipe is opened again: O_NONBLOCK on `fd` would affect all processes that share it.
    """
    with suppress(OSError):
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
            pipe_fd = os.open(f"/proc/self/fd/{fd}", flags)
            with suppress(OSError):
                fcntl.fcntl(pipe_fd, fcntl.F_SETPIPE_SZ, _PIPE_CAPACITY)
            return pipe_fd
    return None


@final
class DailyFileOutput:
    """Files DIR/YYYYMMDD, by the day of the event in UTC. The generator ends at SIGINT.

    `write_lines` raises `OSError` if a file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._directory = path
        self._current_day = -1
        self._fd = -1
        self._end_requested = False
        signal.signal(signal.SIGINT, self._request_end)

    def write_lines(self, data: bytes) -> bool:
        """Append whole lines to the files of their days."""
        unwritten_start = line_start = 0
        for line in data[:-1].split(b"\n"):
            day = _parse_day(line)
            if day != self._current_day:
                write_all(self._fd, data[unwritten_start:line_start])
                unwritten_start = line_start
                self._open_day_file(day)
            line_start += len(line) + 1
        write_all(self._fd, data[unwritten_start:])
        return not self._end_requested

    def wait(self, seconds: float) -> bool:
        """Wait; return False if the generator should end."""
        if not self._end_requested:
            time.sleep(seconds)
        return not self._end_requested

    def _open_day_file(self, day: int) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        name = time.strftime("%Y%m%d", time.gmtime(day * 86_400))
        self._fd = open_regular_file(os.path.join(self._directory, name), APPEND_FLAGS)
        self._current_day = day

    def _request_end(self, _signal: int, _frame: FrameType | None) -> None:
        self._end_requested = True


def write_all(fd: int, data: bytes) -> None:
    """Write all of the data to a blocking descriptor."""
    unsent = memoryview(data)
    while unsent:
        unsent = unsent[os.write(fd, unsent) :]


def _parse_day(line: bytes) -> int:
    """Return the day of an event's line, in days since 1970; today for any other message."""
    parts = line.split(b";", 2)
    has_time = len(parts) > 1 and parts[1].isdigit()
    return (int(parts[1]) if has_time else int(time.time())) // 86_400
