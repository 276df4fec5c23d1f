"""The way to the client: a TCP connection that goes out, or this process's own stdin and stdout.

No thread, no blocking, and no descriptor of others made non-blocking. Nothing is buffered beyond
what `send` was given; whoever sends much waits with `flush`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import Final, Protocol, final

from osprofile.errors import TargetError
from osprofile.executors.pipes import PipeReader, PipeWriter

CONNECT_TIMEOUT: Final = 30.0
"""Seconds that a connection may take."""
LINGER_TIMEOUT: Final = 2.0
"""Seconds for which a closing connection waits for the client to take the last of it."""
_BLOCK_SIZE: Final = 64 * 1024


class NoClientError(TargetError):
    """The client cannot be reached."""


async def connect_to_client(host: str, port: int) -> socket.socket:
    """Connect to a client that listens; raises `NoClientError`."""
    loop = asyncio.get_running_loop()
    reason: Exception | str = "it has no address"
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        found, reason = [], error
    for family, kind, protocol, _, address in found:
        try:
            opened = socket.socket(family, kind, protocol)
        except OSError as error:  # IPv6 where there is none
            reason = error
            continue
        opened.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await loop.sock_connect(opened, address)
        except OSError as error:  # TimeoutError is one
            opened.close()
            reason = error if str(error) else "it does not answer"
            continue
        except BaseException:
            opened.close()
            raise
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened
    message = f"cannot connect to {host} port {port}: {reason}"
    hint = "the client must listen there before it starts the agent: --host, --port"
    raise NoClientError(message, hint=hint) from None


class Channel(Protocol):
    """Bytes to the client and from it."""

    @property
    def unsent(self) -> int:
        """How many bytes the client has not taken yet."""

    @property
    def is_broken(self) -> bool:
        """Whether the client has gone without taking all."""

    async def receive(self) -> bytes:
        """Wait for bytes; none at all mean that no more come."""

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client takes them; nothing where it is gone."""

    async def flush(self) -> None:
        """Wait until all is sent, or the client gone."""

    async def close(self) -> None:
        """End it; what is not sent is lost."""


@final
class PipeChannel:
    """A channel over two descriptors, which may be anything that a process can be started with."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._handles = (stdin, stdout)
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._input = PipeReader(stdin, self._queue_received)
        self._output = PipeWriter(stdout, self._mark_broken)
        self.is_broken = False

    @property
    def unsent(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._output.unsent_bytes

    async def receive(self) -> bytes:
        """Wait for bytes; none at all mean that no more come."""
        if self.is_broken:
            return b""
        if self._received.empty():
            self._input.resume_reading()
        return await self._received.get()

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client takes them; nothing where it is gone."""
        self._output.send(data)

    async def flush(self) -> None:
        """Wait until all is sent, or the client gone."""
        await self._output.flush()

    async def close(self) -> None:
        """End it; what is not sent is lost."""
        self._input.pause_reading()
        loop = asyncio.get_running_loop()
        loop.remove_writer(self._handles[1])
        for handle in self._handles:
            with contextlib.suppress(OSError):
                os.close(handle)

    def _queue_received(self, data: bytes) -> None:
        self._input.pause_reading()
        self._received.put_nowait(data)

    def _mark_broken(self) -> None:
        self.is_broken = True
        self._input.pause_reading()
        self._received.put_nowait(b"")


@final
class SocketChannel:
    """A channel over a connected socket, which is made non-blocking: it is ours alone."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._is_waiting = False
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        self.is_broken = False

    @property
    def unsent(self) -> int:
        """How many bytes the client has not taken yet."""
        return len(self._unsent)

    async def receive(self) -> bytes:
        """Wait for bytes; none at all mean that no more come."""
        try:
            return await self._loop.sock_recv(self._socket, _BLOCK_SIZE)
        except OSError:
            self._mark_broken()
            return b""

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client takes them; nothing where it is gone."""
        if data and not self.is_broken:
            self._unsent += data
            self._all_sent.clear()
            if not self._is_waiting:
                self._write_unsent()

    async def flush(self) -> None:
        """Wait until all is sent, or the client gone."""
        await self._all_sent.wait()

    async def close(self) -> None:
        """End it; what is not sent is lost.

        The client reads to the end first: a socket that is closed with something unread in it takes
        back what the client has not read yet.
        """
        self._watch_writable(enabled=False)
        with contextlib.suppress(OSError, TimeoutError):
            if not self.is_broken:
                self._socket.shutdown(socket.SHUT_WR)
                async with asyncio.timeout(LINGER_TIMEOUT):
                    while await self._loop.sock_recv(self._socket, _BLOCK_SIZE):
                        pass
        self._socket.close()

    def _write_unsent(self) -> None:
        try:
            while self._unsent:
                with memoryview(self._unsent) as view:
                    sent = self._socket.send(view[:_BLOCK_SIZE])
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._mark_broken()
        self._watch_writable(enabled=bool(self._unsent))
        if not self._unsent:
            self._all_sent.set()

    def _watch_writable(self, *, enabled: bool) -> None:
        """Have `_write_unsent` called when the socket takes more, or no longer."""
        if enabled != self._is_waiting:
            self._is_waiting = enabled
            if enabled:
                self._loop.add_writer(self._socket, self._write_unsent)
            else:
                self._loop.remove_writer(self._socket)

    def _mark_broken(self) -> None:
        self.is_broken = True
        self._unsent.clear()
        self._watch_writable(enabled=False)
        self._all_sent.set()
