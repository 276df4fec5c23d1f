"""The channel to the client: an outgoing TCP connection, or this process's stdin and stdout.

There are no threads and no blocking calls, and descriptors that other processes may share are not
made non-blocking. `send` buffers without a limit: a caller that sends much waits with `flush`.
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
"""Seconds to wait for a connection."""
LINGER_TIMEOUT: Final = 2.0
"""Seconds that a closing connection waits for the client to read the rest."""
_BLOCK_SIZE: Final = 64 * 1024


class NoClientError(TargetError):
    """The client cannot be reached."""


async def connect_to_client(host: str, port: int) -> socket.socket:
    """Return a connection to a listening client. Raises `NoClientError`."""
    loop = asyncio.get_running_loop()
    reason: Exception | str = "it has no address"
    try:
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        addresses, reason = [], error
    for family, kind, protocol, _, address in addresses:
        try:
            connection = socket.socket(family, kind, protocol)
        except OSError as error:  # IPv6 where there is none
            reason = error
            continue
        connection.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await loop.sock_connect(connection, address)
        except OSError as error:  # TimeoutError is one
            connection.close()
            reason = error if str(error) else "it does not answer"
            continue
        except BaseException:
            connection.close()
            raise
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    message = f"cannot connect to {host} port {port}: {reason}"
    hint = "the client must listen there before it starts the agent: --host, --port"
    raise NoClientError(message, hint=hint) from None


class Channel(Protocol):
    """Sends bytes to the client and receives bytes from it."""

    @property
    def unsent(self) -> int:
        """How many bytes have not been sent yet."""

    @property
    def is_broken(self) -> bool:
        """Whether the client is gone and bytes could not be sent."""

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end of the input."""

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client reads; do nothing if it is gone."""

    async def flush(self) -> None:
        """Wait until all is sent or the client is gone."""

    async def close(self) -> None:
        """Close the channel; what is not sent is lost."""


@final
class PipeChannel:
    """A channel over two file descriptors of any kind."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._handles = (stdin, stdout)
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._input = PipeReader(stdin, self._queue_received)
        self._output = PipeWriter(stdout, self._mark_broken)
        self.is_broken = False

    @property
    def unsent(self) -> int:
        """How many bytes have not been sent yet."""
        return self._output.unsent_bytes

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end of the input."""
        if self.is_broken:
            return b""
        if self._received.empty():
            self._input.resume_reading()
        return await self._received.get()

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client reads; do nothing if it is gone."""
        self._output.send(data)

    async def flush(self) -> None:
        """Wait until all is sent or the client is gone."""
        await self._output.flush()

    async def close(self) -> None:
        """Close the channel; what is not sent is lost."""
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
    """A channel over a connected socket, which is made non-blocking."""

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
        """How many bytes have not been sent yet."""
        return len(self._unsent)

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end of the input."""
        try:
            return await self._loop.sock_recv(self._socket, _BLOCK_SIZE)
        except OSError:
            self._mark_broken()
            return b""

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client reads; do nothing if it is gone."""
        if data and not self.is_broken:
            self._unsent += data
            self._all_sent.clear()
            if not self._is_waiting:
                self._write_unsent()

    async def flush(self) -> None:
        """Wait until all is sent or the client is gone."""
        await self._all_sent.wait()

    async def close(self) -> None:
        """Close the channel; what is not sent is lost.

        First it waits until the client closes its side: closing a socket with unread bytes resets
        the connection, and the client would lose what it has not read yet.
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
        """Call `_write_unsent` when the socket is writable, or no longer."""
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
