"""The channel to the client: an outgoing TCP connection, or this process's stdin and stdout.

There are no threads and no blocking calls, and descriptors that other processes may share are not
made non-blocking. `send` buffers without a limit: a caller that sends much waits with `flush`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import Final, final

from osprofile.errors import TargetError
from osprofile.executors.pipes import PipeReader, PipeWriter

CONNECT_TIMEOUT: Final = 30.0
"""Seconds to wait for a connection."""
LINGER_TIMEOUT: Final = 2.0
"""Seconds that a closing connection waits for the client to read the rest."""


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


@final
class Channel:
    """Sends bytes to the client and receives bytes from it, by a socket or by two descriptors of any kind."""

    def __init__(self, connection: socket.socket | tuple[int, int]) -> None:
        self._socket = connection if isinstance(connection, socket.socket) else None
        self._handles = (connection.fileno(),) * 2 if isinstance(connection, socket.socket) else connection
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._input = PipeReader(self._handles[0], self._queue_received)
        self._output = PipeWriter(self._handles[1], self._mark_broken)
        self._is_broken = False

    @property
    def is_broken(self) -> bool:
        """Whether the client is gone and bytes could not be sent."""
        return self._is_broken or self._input.has_failed

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
        """Close the channel; what is not sent is lost.

        A socket first waits until the client closes its side: closing one with unread bytes resets
        the connection, and the client would lose what it has not read yet.
        """
        loop = asyncio.get_running_loop()
        loop.remove_writer(self._handles[1])
        if self._socket is not None and not self.is_broken:
            with contextlib.suppress(OSError, TimeoutError):
                self._socket.shutdown(socket.SHUT_WR)
                async with asyncio.timeout(LINGER_TIMEOUT):
                    while await self.receive():
                        pass
        self._input.pause_reading()
        if self._socket is not None:
            self._socket.close()
            return
        for handle in self._handles:
            with contextlib.suppress(OSError):
                os.close(handle)

    def _queue_received(self, data: bytes) -> None:
        self._input.pause_reading()
        self._received.put_nowait(data)

    def _mark_broken(self) -> None:
        self._is_broken = True
        self._input.pause_reading()
        self._received.put_nowait(b"")
