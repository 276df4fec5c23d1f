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

_PIECE: Final = 4096
"""So much can be written at once without waiting to a pipe that is ready (PIPE_BUF)."""
_PIPE: Final = 256 * 1024
"""Bytes that the pipe is to hold, so that neither side waits for the other at each block."""
_LAST: Final = 1.0
"""Seconds for the rest of a line that is partly written when the standard input ends."""
_BROKEN: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Output(Protocol):
    """Takes the lines of events; each call says whether to go on."""

    def write(self, data: bytes) -> bool:
        """Write whole lines."""

    def wait(self, seconds: float) -> bool:
        """Wait for more to come."""


@final
class Standard:
    """The standard output; ends when the standard input is closed, or nobody reads the output.

    What comes on the standard input is read, and means nothing.
    """

    def __init__(self, source: int = 0, target: int = 1) -> None:
        self._in = source
        self._out = target
        self._fast = _own_pipe(target)
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)
        self._poll.register(target, 0)

    def write(self, data: bytes) -> bool:
        """Write whole lines, as fast as they are read; False when it is time to end."""
        rest = memoryview(data)
        while rest:
            self._poll.modify(self._out, select.POLLOUT)
            ready = self._go_on(None)
            if ready is None:
                self._finish_line(data, len(data) - len(rest))
                return False
            if ready:
                sent = self._send(rest)
                if sent is None:
                    return False
                rest = rest[sent:]
        return True

    def wait(self, seconds: float) -> bool:
        """Wait; False, at once, when it is time to end."""
        self._poll.modify(self._out, 0)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._go_on(left) is None:
                return False
        return self._go_on(0) is not None

    def _go_on(self, seconds: float | None) -> bool | None:
        """Wait; say whether the output is ready, or None when it is time to end."""
        ready = False
        events = self._poll.poll(None if seconds is None else int(seconds * 1000) + (seconds > 0))
        for fd, what in events:
            if fd == self._in and not self._listens():
                return None
            if fd == self._out:
                if what & _BROKEN and not what & select.POLLOUT:
                    return None
                ready = True
        return ready

    def _listens(self) -> bool:
        try:
            return bool(os.read(self._in, 65_536))
        except OSError:
            return False

    def _send(self, rest: memoryview) -> int | None:
        """Write what can be written; None if nobody reads any more."""
        try:
            if self._fast is None:
                return os.write(self._out, rest[:_PIECE])
            return os.write(self._fast, rest)
        except BlockingIOError:
            return 0
        except OSError:
            return None

    def _finish_line(self, data: bytes, done: int) -> None:
        """Write the rest of a line that is partly written, if the reader takes it soon."""
        if not done or data[done - 1 : done] == b"\n":
            return
        rest = memoryview(data)[done : data.index(b"\n", done) + 1]
        poll = select.poll()
        poll.register(self._out, select.POLLOUT)
        until = time.monotonic() + _LAST
        while rest and (left := until - time.monotonic()) > 0:
            if poll.poll(left * 1000):
                sent = self._send(rest)
                if sent is None:
                    return
                rest = rest[sent:]


def _own_pipe(target: int) -> int | None:
    """Open a pipe anew, so that writing never waits, without a change for others who have it."""
    with suppress(OSError):
        if stat.S_ISFIFO(os.fstat(target).st_mode):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
            opened = os.open(f"/proc/self/fd/{target}", flags)
            with suppress(OSError):
                fcntl.fcntl(opened, fcntl.F_SETPIPE_SZ, _PIPE)
            return opened
    return None


@final
class Directory:
    """Files DIR/YYYYMMDD, by the day in Greenwich on which an event happened; ends at SIGINT.

    Raises `OSError` where they cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._day = -1
        self._fd = -1
        self._ended = False
        signal.signal(signal.SIGINT, self._end)

    def write(self, data: bytes) -> bool:
        """Append whole lines to their days' files."""
        begin = here = 0
        for line in data[:-1].split(b"\n"):
            day = _day(line)
            if day != self._day:
                self._append(data[begin:here])
                begin = here
                self._open(day)
            here += len(line) + 1
        self._append(data[begin:])
        return not self._ended

    def wait(self, seconds: float) -> bool:
        """Wait; False when it is time to end."""
        if not self._ended:
            time.sleep(seconds)
        return not self._ended

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _open(self, day: int) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        name = time.strftime("%Y%m%d", time.gmtime(day * 86_400))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._fd = open_regular(os.path.join(self._path, name), flags)
        self._day = day

    def _end(self, _signal: int, _frame: FrameType | None) -> None:
        self._ended = True


def _day(line: bytes) -> int:
    """Give the day since 1970 of an event's line; of any other message, today's."""
    parts = line.split(b";", 2)
    known = len(parts) > 1 and parts[1].isdigit()
    return (int(parts[1]) if known else int(time.time())) // 86_400
