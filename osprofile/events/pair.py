"""Replaying a backlog by two processes, which take its blocks in turn.

This process reads the log and writes the events, in order; the other, its child, turns every second
block into events. Which of a log's files is read, and what is told of it, is the same as with one
process: a block whose meaning depends on what stands before it is taken when its turn has come.
The child holds nothing but the two pipes to this process, and ends when they are closed.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.events.sources.base import LogSource, SharedParser, text_of

if TYPE_CHECKING:
    from osprofile.events.sources.base import Apart, Source
    from osprofile.events.tail import Log

WORTHWHILE: Final = 8 * 1024 * 1024
"""So many bytes must be unread for a second process."""
_LENGTH: Final = 8


def paired(source: Source, processes: int | None) -> Source:
    """Give the source again, one that is read by two processes where that is possible and of use.

    `processes`: 1 or 2; None: as many as there are processors, if there is a backlog.
    """
    if not isinstance(source, LogSource) or processes == 1 or len(source.logs) != 1:
        return source
    log, parser = source.logs[0]
    if not isinstance(parser, SharedParser):
        return source
    if processes is None and (_processors() < 2 or log.left() < WORTHWHILE):
        return source
    return Pair(source, log, parser)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


@final
class Pair:
    """A source whose backlog is turned into events by this process and a child."""

    def __init__(self, source: LogSource, log: Log, parser: SharedParser) -> None:
        self._source, self._log, self._parser = source, log, parser
        self._ready: deque[str] = deque()
        self._helper: Helper | None = Helper(parser)
        self._begun = False

    def read(self) -> str | None:
        """Give the events of the next block."""
        if self._ready:
            return self._ready.popleft()
        if self._helper is None:
            return self._source.read()
        if not self._begun:
            self._begun = True
            self._helper.send(self._log.read())
        mine = self._log.read()
        mine_apart = self._parser.apart(text_of(mine)) if mine else None
        theirs, theirs_apart = self._helper.receive()
        if mine:
            self._helper.send(self._log.read())  # it works on while this is written
        self._settle(theirs, theirs_apart)
        self._settle(mine, mine_apart)
        if not mine or not self._helper.is_busy:
            self._helper.close()
            self._helper = None
        return self._ready.popleft() if self._ready else ""

    def left(self) -> int:
        """Give how many bytes are unread."""
        return self._source.left()

    def _settle(self, data: bytes, apart: Apart | None) -> None:
        """Take the events of a block when those of all before it are known."""
        if not data:
            return
        told = apart is not None and self._parser.accepts(apart)
        self._ready.append(apart[0] if told and apart else self._parser.feed(text_of(data)))


@final
class Helper:
    """The child, which has one block at a time; one that died is no harm."""

    def __init__(self, parser: SharedParser) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(ours_in)
            os.close(ours_out)
            _serve(parser, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._data = b""

    @property
    def is_busy(self) -> bool:
        """Whether it has a block."""
        return bool(self._data)

    def send(self, data: bytes) -> None:
        """Give it a block; the empty one is none."""
        self._data = data
        if data:
            with suppress(OSError):
                _send(self._out, data)

    def receive(self) -> tuple[bytes, Apart | None]:
        """Give back the block, and what the child made of it, if it could."""
        data, self._data = self._data, b""
        answer = _receive(self._in) if data else b""
        return data, marshal.loads(answer) if answer else None  # noqa: S302 - our own child's

    def close(self) -> None:
        """Let it end; a second time means nothing."""
        if self._pid:
            os.close(self._in)
            os.close(self._out)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0

    def __del__(self) -> None:
        self.close()


def _serve(parser: SharedParser, source: int, target: int) -> NoReturn:
    """Be the child."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's end is the child's
        gc.disable()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1):
            os.dup2(null, fd)
        while data := _receive(source):
            _send(target, marshal.dumps(parser.apart(text_of(data))))
        code = 0
    finally:
        os._exit(code)


def _send(fd: int, data: bytes) -> None:
    rest = memoryview(len(data).to_bytes(_LENGTH, "big") + data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _receive(fd: int) -> bytes:
    """Read what `_send` wrote; empty when the other end is closed."""
    length = int.from_bytes(_exactly(fd, _LENGTH), "big")
    return _exactly(fd, length)


def _exactly(fd: int, length: int) -> bytes:
    parts, left = [], length
    while left:
        data = os.read(fd, min(left, 1 << 20))
        if not data:
            return b""
        parts.append(data)
        left -= len(data)
    return b"".join(parts)
