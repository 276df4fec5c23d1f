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

from osprofile.events.sources.base import LogSource, ParallelParser, decode_lines

if TYPE_CHECKING:
    from osprofile.events.sources.base import ParsedBlock, Source
    from osprofile.events.tail import Log

MIN_PARALLEL_BACKLOG: Final = 8 * 1024 * 1024
"""So many bytes must be unread for a second process."""
_LENGTH_SIZE: Final = 8


def parallelize_source(source: Source, processes: int | None) -> Source:
    """Give the source again, one that is read by two processes where that is possible and of use.

    `processes`: 1 or 2; None: as many as there are processors, if there is a backlog.
    """
    if not isinstance(source, LogSource) or processes == 1 or len(source.logs) != 1:
        return source
    log, parser = source.logs[0]
    if not isinstance(parser, ParallelParser):
        return source
    if processes is None and (
        _count_processors() < 2 or log.count_unread_bytes() < MIN_PARALLEL_BACKLOG
    ):
        return source
    return ParallelSource(source, log, parser)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0))


@final
class ParallelSource:
    """A source whose backlog is turned into events by this process and a child."""

    def __init__(self, source: LogSource, log: Log, parser: ParallelParser) -> None:
        self._source, self._log, self._parser = source, log, parser
        self._ready_events: deque[str] = deque()
        self._child: ParserProcess | None = ParserProcess(parser)
        self._has_started = False

    def read_events(self) -> str | None:
        """Give the events of the next block."""
        if self._ready_events:
            return self._ready_events.popleft()
        if self._child is None:
            return self._source.read_events()
        if not self._has_started:
            self._has_started = True
            self._child.send_block(self._log.read_lines())
        mine = self._log.read_lines()
        mine_apart = self._parser.parse_isolated_block(decode_lines(mine)) if mine else None
        theirs, theirs_apart = self._child.receive_parsed()
        if mine:
            self._child.send_block(self._log.read_lines())  # it works on while this is written
        self._queue_block_events(theirs, theirs_apart)
        self._queue_block_events(mine, mine_apart)
        if not mine or not self._child.has_block:
            self._child.close()
            self._child = None
        return self._ready_events.popleft() if self._ready_events else ""

    def count_unread_bytes(self) -> int:
        """Give how many bytes are unread."""
        return self._source.count_unread_bytes()

    def _queue_block_events(self, data: bytes, parsed_block: ParsedBlock | None) -> None:
        """Take the events of a block when those of all before it are known."""
        if not data:
            return
        told = parsed_block is not None and self._parser.accept_block(parsed_block)
        self._ready_events.append(
            parsed_block[0]
            if told and parsed_block
            else self._parser.parse_lines(decode_lines(data))
        )


@final
class ParserProcess:
    """The child, which has one block at a time; one that died is no harm."""

    def __init__(self, parser: ParallelParser) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(ours_in)
            os.close(ours_out)
            _run_child(parser, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        self._input_fd, self._output_fd = ours_in, ours_out
        self._block = b""

    @property
    def has_block(self) -> bool:
        """Whether it has a block."""
        return bool(self._block)

    def send_block(self, data: bytes) -> None:
        """Give it a block; the empty one is none."""
        self._block = data
        if data:
            with suppress(OSError):
                _write_message(self._output_fd, data)

    def receive_parsed(self) -> tuple[bytes, ParsedBlock | None]:
        """Give back the block, and what the child made of it, if it could."""
        data, self._block = self._block, b""
        answer = _read_message(self._input_fd) if data else b""
        return data, marshal.loads(answer) if answer else None  # noqa: S302 - our own child's

    def close(self) -> None:
        """Let it end; a second time means nothing."""
        if self._pid:
            os.close(self._input_fd)
            os.close(self._output_fd)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0

    def __del__(self) -> None:
        self.close()


def _run_child(parser: ParallelParser, input_fd: int, output_fd: int) -> NoReturn:
    """Be the child."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's end is the child's
        gc.disable()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1):
            os.dup2(null, fd)
        while data := _read_message(input_fd):
            _write_message(
                output_fd, marshal.dumps(parser.parse_isolated_block(decode_lines(data)))
            )
        code = 0
    finally:
        os._exit(code)


def _write_message(fd: int, data: bytes) -> None:
    rest = memoryview(len(data).to_bytes(_LENGTH_SIZE, "big") + data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _read_message(fd: int) -> bytes:
    """Read what `_write_message` wrote; empty when the other end is closed."""
    length = int.from_bytes(_read_exactly(fd, _LENGTH_SIZE), "big")
    return _read_exactly(fd, length)


def _read_exactly(fd: int, length: int) -> bytes:
    parts, left = [], length
    while left:
        data = os.read(fd, min(left, 1 << 20))
        if not data:
            return b""
        parts.append(data)
        left -= len(data)
    return b"".join(parts)
