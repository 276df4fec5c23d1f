"""Replay a backlog with two processes, which parse its blocks in turn.

This process reads the log and writes the events, in order. Its child parses every second block.
The events are the same as with one process: a block whose events depend on the lines before it is
parsed here, after all blocks before it. The child has only two pipes to this process, and ends when
they are closed.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.events.output import write_all
from osprofile.events.sources.base import LogSource, ParallelParser, decode_lines

if TYPE_CHECKING:
    from osprofile.events.sources.base import ParsedBlock, Source
    from osprofile.events.tail import Log

MIN_PARALLEL_BACKLOG: Final = 8 * 1024 * 1024
"""Unread bytes from which a second process is started by default."""
_LENGTH_SIZE: Final = 8
"""Bytes of the length before each message in the pipes."""
_MAX_READ_SIZE: Final = 1024 * 1024
"""Bytes that are requested from `os.read` at most: it allocates them before it reads."""


def parallelize_source(source: Source, processes: int | None) -> Source:
    """Return a source that two processes parse, or `source` itself where one process must or should.

    `processes` is 1, 2 or None: 2 if there are two processors and a large backlog. Only a source
    with one log and a `ParallelParser` can be shared.
    """
    if not isinstance(source, LogSource) or processes == 1 or len(source.logs) != 1:
        return source
    log, parser = source.logs[0]
    if not isinstance(parser, ParallelParser):
        return source
    if processes is None and (_count_processors() < 2 or log.count_unread_bytes() < MIN_PARALLEL_BACKLOG):
        return source
    return ParallelSource(source, log, parser)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0))


@final
class ParallelSource:
    """A source whose backlog is parsed by this process and a child, and what follows by this process."""

    def __init__(self, source: LogSource, log: Log, parser: ParallelParser) -> None:
        self._source, self._log, self._parser = source, log, parser
        self._ready_events: deque[str] = deque()
        self._child: ParserProcess | None = ParserProcess(parser)
        self._has_started = False

    def read_events(self) -> str | None:
        """Return the events of the next block."""
        if self._ready_events:
            return self._ready_events.popleft()
        if self._child is None:
            return self._source.read_events()
        if not self._has_started:
            self._has_started = True
            self._child.send_block(self._log.read_lines())
        own_data = self._log.read_lines()
        own_block = self._parser.parse_isolated_block(decode_lines(own_data)) if own_data else None
        child_data, child_block = self._child.receive_parsed()
        if own_data:  # the child works on the next block while these are written
            self._child.send_block(self._log.read_lines())
        self._queue_block_events(child_data, child_block)
        self._queue_block_events(own_data, own_block)
        if not own_data or not self._child.has_block:
            self._child.close()
            self._child = None
        return self._ready_events.popleft() if self._ready_events else ""

    def count_unread_bytes(self) -> int:
        """Return the number of unread bytes."""
        return self._source.count_unread_bytes()

    def _queue_block_events(self, data: bytes, block: ParsedBlock | None) -> None:
        """Queue the events of a block, after those of all blocks before it."""
        if data and block is not None and self._parser.accept_block(block):
            self._ready_events.append(block[0])
        elif data:
            self._ready_events.append(self._parser.parse_lines(decode_lines(data)))


@final
class ParserProcess:
    """The child, which parses one block at a time. If it dies, its parent parses all blocks."""

    def __init__(self, parser: ParallelParser) -> None:
        own_input, child_output = os.pipe()
        child_input, own_output = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(own_input)
            os.close(own_output)
            _run_child(parser, child_input, child_output)
        os.close(child_input)
        os.close(child_output)
        self._input_fd, self._output_fd = own_input, own_output
        self._block = b""

    @property
    def has_block(self) -> bool:
        """Whether the child has a block whose events were not received yet."""
        return bool(self._block)

    def send_block(self, data: bytes) -> None:
        """Send the child a block; an empty one is not sent."""
        self._block = data
        if data:
            with suppress(OSError):
                _write_message(self._output_fd, data)

    def receive_parsed(self) -> tuple[bytes, ParsedBlock | None]:
        """Return the block that was sent, and its events; None instead if the child could not parse it."""
        data, self._block = self._block, b""
        reply = _read_message(self._input_fd) if data else b""
        return data, marshal.loads(reply) if reply else None  # noqa: S302 - our own child's

    def close(self) -> None:
        """End the child; has no effect the second time."""
        if self._pid:
            os.close(self._input_fd)
            os.close(self._output_fd)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0

    def __del__(self) -> None:
        self.close()


def _run_child(parser: ParallelParser, input_fd: int, output_fd: int) -> NoReturn:
    exit_code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child ends when its parent does
        gc.disable()  # as in generate_events
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (
            0,
            1,
        ):  # a process that waits for the end of the parent's pipes must not wait for the child
            os.dup2(null, fd)
        while data := _read_message(input_fd):
            _write_message(output_fd, marshal.dumps(parser.parse_isolated_block(decode_lines(data))))
        exit_code = 0
    finally:
        os._exit(exit_code)


def _write_message(fd: int, data: bytes) -> None:
    write_all(fd, len(data).to_bytes(_LENGTH_SIZE, "big") + data)


def _read_message(fd: int) -> bytes:
    """Read what `_write_message` wrote; return b"" when the other end is closed."""
    length = int.from_bytes(_read_exactly(fd, _LENGTH_SIZE), "big")
    return _read_exactly(fd, length)


def _read_exactly(fd: int, length: int) -> bytes:
    parts, remaining = [], length
    while remaining:
        data = os.read(fd, min(remaining, _MAX_READ_SIZE))
        if not data:
            return b""
        parts.append(data)
        remaining -= len(data)
    return b"".join(parts)
