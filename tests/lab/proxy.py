"""A TCP proxy on loopback that makes a connection slow, or cuts it."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Self


class Proxy:
    """Passes connections on to a port, each byte `delay` seconds late in each direction.

    After `max_sent` or `max_received` bytes (of the client) in all, it cuts all connections, and refuses new ones.
    """

    def __init__(
        self, port: int, *, delay: float = 0.0, max_sent: float = math.inf, max_received: float = math.inf
    ) -> None:
        self._target_port = port
        self._delay = delay
        self._left = {True: max_sent, False: max_received}
        self.sizes = {True: 0, False: 0}
        """The bytes that were passed on from clients (True), and to them (False)."""
        self.connection_count = 0
        """The number of connections so far."""
        self.port = 0
        """Where it listens."""
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Cut all connections, and refuse new ones."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._writers += [writer, far_writer]
        for is_sent, source, sink in [(True, reader, far_writer), (False, far_reader, writer)]:
            blocks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
            for work in (self._read(source, blocks), self._write(blocks, sink, is_sent)):
                task = asyncio.ensure_future(work)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _read(self, source: asyncio.StreamReader, blocks: asyncio.Queue[tuple[float, bytes]]) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while block := await source.read(65536):
                blocks.put_nowait((loop.time() + self._delay, block))
        blocks.put_nowait((loop.time() + self._delay, b""))

    async def _write(
        self, blocks: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter, is_sent: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, block = await blocks.get()
            await asyncio.sleep(due - loop.time())
            if not block:
                with contextlib.suppress(OSError):
                    sink.write_eof()
                return
            part = block[: int(min(len(block), self._left[is_sent]))]
            sink.write(part)
            self.sizes[is_sent] += len(part)
            self._left[is_sent] -= len(block)
            if self._left[is_sent] <= 0:
                with contextlib.suppress(ConnectionError):
                    await sink.drain()
                self.cut()
                return
