"""Where the generator's lines go: to its standard output, or into a file a day.

Nothing is queued: a line is written before more of the log is read. Whoever reads the standard
output may be slow, or not read at all; the end of the standard input is seen all the same.
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

from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from types import FrameType

_SAFE_WRITE_SIZE: Final = 4096
"""So much can be written at once without waiting to a pipe that is ready (PIPE_BUF)."""
_PIPE_CAPACITY: Final = 256 * 1024
"""Bytes that the pipe is to hold, so that neither side waits for the other at each block."""
_LAST_LINE_GRACE: Final = 1.0
"""Seconds for the rest of a line that is partly written when the standard input ends."""
_BROKEN_PIPE_EVENTS: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


class EventOutput(Protocol):
    """Takes the lines of events; each call says whether to go on."""

    def write_lines(self, data: bytes) -> bool:
        """Write whole lines."""

    def wait(self, seconds: float) -> bool:
        """Wait for more to come."""


@final
class StandardOutput:
    """The standard output; ends when the standard input is closed, or nobody reads the output.

    What comes on the standard input is read, and means nothing.
    """

    def __init__(self, input_fd: int = 0, output_fd: int = 1) -> None:
        self._input_fd = input_fd
        self._output_fd = output_fd
        self._nonblocking_fd = _reopen_pipe(output_fd)
        self._poller = select.poll()
        self._poller.register(input_fd, select.POLLIN)
        self._poller.register(output_fd, 0)

    def write_lines(self, data: bytes) -> bool:
        """Write whole lines, as fast as they are read; False when it is time to end."""
        rest = memoryview(data)
        while rest:
            self._poller.modify(self._output_fd, select.POLLOUT)
            ready = self._wait_until_ready(None)
            if ready is None:
                self._finish_line(data, len(data) - len(rest))
                return False
            if ready:
                sent = self._write_available(rest)
                if sent is None:
                    return False
                rest = rest[sent:]
        return True

    def wait(self, seconds: float) -> bool:
        """Wait; False, at once, when it is time to end."""
        self._poller.modify(self._output_fd, 0)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._wait_until_ready(left) is None:
                return False
        return self._wait_until_ready(0) is not None

    def _wait_until_ready(self, seconds: float | None) -> bool | None:
        """Wait; say whether the output is ready, or None when it is time to end."""
        ready = False
        events = self._poller.poll(None if seconds is None else int(seconds * 1000) + (seconds > 0))
        for fd, what in events:
            if fd == self._input_fd and not self._input_is_open():
                return None
            if fd == self._output_fd:
                if what & _BROKEN_PIPE_EVENTS and not what & select.POLLOUT:
                    return None
                ready = True
        return ready

    def _input_is_open(self) -> bool:
        try:
            return bool(os.read(self._input_fd, 65_536))
        except OSError:
            return False

    def _write_available(self, rest: memoryview) -> int | None:
        """Write what can be written; None if nobody reads any more."""
        try:
            if self._nonblocking_fd is None:
                return os.write(self._output_fd, rest[:_SAFE_WRITE_SIZE])
            return os.write(self._nonblocking_fd, rest)
        except BlockingIOError:
            return 0
        except OSError:
            return None

    def _finish_line(self, data: bytes, written: int) -> None:
        """Write the rest of a line that is partly written, if the reader takes it soon."""
        if not written or data[written - 1 : written] == b"\n":
            return
        rest = memoryview(data)[written : data.index(b"\n", written) + 1]
        poll = select.poll()
        poll.register(self._output_fd, select.POLLOUT)
        until = time.monotonic() + _LAST_LINE_GRACE
        while rest and (left := until - time.monotonic()) > 0:
            if poll.poll(left * 1000):
                sent = self._write_available(rest)
                if sent is None:
                    return
                rest = rest[sent:]


def _reopen_pipe(fd: int) -> int | None:
    """Open a pipe anew, so that writing never waits, without a change for others who have it."""
    with suppress(OSError):
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
            opened = os.open(f"/proc/self/fd/{fd}", flags)
            with suppress(OSError):
                fcntl.fcntl(opened, fcntl.F_SETPIPE_SZ, _PIPE_CAPACITY)
            return opened
    return None


@final
class DailyFileOutput:
    """Files DIR/YYYYMMDD, by the day in Greenwich on which an event happened; ends at SIGINT.

    Raises `OSError` where they cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._directory = path
        self._current_day = -1
        self._fd = -1
        self._end_requested = False
        signal.signal(signal.SIGINT, self._request_end)

    def write_lines(self, data: bytes) -> bool:
        """Append whole lines to their days' files."""
        begin = here = 0
        for line in data[:-1].split(b"\n"):
            day = _parse_day(line)
            if day != self._current_day:
                self._append_lines(data[begin:here])
                begin = here
                self._open_day_file(day)
            here += len(line) + 1
        self._append_lines(data[begin:])
        return not self._end_requested

    def wait(self, seconds: float) -> bool:
        """Wait; False when it is time to end."""
        if not self._end_requested:
            time.sleep(seconds)
        return not self._end_requested

    def _append_lines(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _open_day_file(self, day: int) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        name = time.strftime("%Y%m%d", time.gmtime(day * 86_400))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._fd = open_regular(os.path.join(self._directory, name), flags)
        self._current_day = day

    def _request_end(self, _signal: int, _frame: FrameType | None) -> None:
        self._end_requested = True


def _parse_day(line: bytes) -> int:
    """Give the day since 1970 of an event's line; of any other message, today's."""
    parts = line.split(b";", 2)
    known = len(parts) > 1 and parts[1].isdigit()
    return (int(parts[1]) if known else int(time.time())) // 86_400
