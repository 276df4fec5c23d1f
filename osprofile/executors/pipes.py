"""Reading and writing the pipes, or the socket, to the client without threads or blocking calls.

The descriptors are not set to non-blocking mode, because other processes, such as a terminal's
shell, may share them. A pipe that is ready for writing accepts PIPE_BUF bytes without blocking.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import stat
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_SIZE: Final = 64 * 1024
MAX_UNREAD_BYTES: Final = 1024 * 1024
"""If the client leaves more bytes unread, no further requests are read."""


def detach_stdio() -> tuple[int, int]:
    """Move stdin and stdout to descriptors that children do not inherit, and return these.

    The null device replaces stdin, and stderr replaces stdout, so that anything printed by mistake
    goes to the log. Raises OSError if stdin or stdout is closed.
    """
    descriptors = os.dup(0), os.dup(1)
    null_device = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_device, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr either
        os.dup2(null_device, 1)
    if null_device > 2:  # else stderr was closed, and the null device has taken its number
        os.close(null_device)
    return descriptors


@final
class PipeWriter:
    """A pipe to the client; `on_disconnect` is called when the client has closed its end."""

    def __init__(self, descriptor: int, on_disconnect: Callable[[], None]) -> None:
        self._descriptor, self._on_disconnect = descriptor, on_disconnect
        self._loop = asyncio.get_running_loop()
        self._poller = select.poll()
        self._poller.register(descriptor, select.POLLOUT)
        self._unsent = bytearray()
        self._is_connected, self._is_descriptor_closed, self._awaits_writable = True, False, False
        self._drained = asyncio.Event()
        self._drained.set()

    def watch_client(self) -> None:
        """Call `on_disconnect` as soon as the client closes a pipe, even if nothing is sent."""
        mode = fcntl.fcntl(self._descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        if mode == os.O_WRONLY and stat.S_ISFIFO(os.fstat(self._descriptor).st_mode):
            # the end for writing is never readable: this is called when the other end is closed
            self._loop.add_reader(self._descriptor, self._disconnect)

    @property
    def unsent_bytes(self) -> int:
        """How many bytes are waiting for the client to read."""
        return len(self._unsent)

    def send(self, data: bytes) -> None:
        """Send bytes, now or as soon as the client reads; do nothing if it is gone."""
        if self._is_connected and data:
            self._unsent += data
            self._drained.clear()
            if not self._awaits_writable:
                self._write_pending()

    async def flush(self) -> None:
        """Wait until all is sent or the client is gone."""
        await self._drained.wait()

    async def close(self) -> None:
        """Close the pipe when all is sent; later bytes are dropped."""
        await self.flush()
        if not self._is_descriptor_closed:
            self._is_connected, self._is_descriptor_closed = False, True
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)

    def _write_pending(self) -> None:
        try:
            while self._unsent and self._poller.poll(0):
                sent_count = os.write(self._descriptor, self._unsent[: select.PIPE_BUF])
                del self._unsent[:sent_count]
        except BlockingIOError:  # of a socket
            pass
        except OSError:
            self._disconnect()
        self._await_writable()

    def _disconnect(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._is_connected = False
        self._unsent.clear()
        self._await_writable()
        self._on_disconnect()

    def _await_writable(self) -> None:
        """Go on to write when the client has read, if something is unsent."""
        has_unsent = bool(self._unsent)
        if has_unsent != self._awaits_writable:
            self._awaits_writable = has_unsent
            if has_unsent:
                self._loop.add_writer(self._descriptor, self._write_pending)
            else:
                self._loop.remove_writer(self._descriptor)
        if not has_unsent:
            self._drained.set()


@final
class PipeReader:
    """The pipe from the client; `on_data` gets its bytes, and `b""` at its end or at a read error."""

    def __init__(self, descriptor: int, on_data: Callable[[bytes], None]) -> None:
        self._descriptor, self._on_data = descriptor, on_data
        self._loop = asyncio.get_running_loop()
        self._is_reading = False
        self.has_failed = False
        """Whether the pipe cannot be read any more, for an error and not for its end."""

    def resume_reading(self) -> None:
        """Start or resume reading."""
        if self._is_reading:
            return
        self._is_reading = True
        try:
            self._loop.add_reader(self._descriptor, self._read_available)
        except PermissionError:  # epoll refuses a regular file, which is always ready
            self._loop.call_soon(self._read_regular_file)

    def pause_reading(self) -> None:
        """Stop reading for now."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._descriptor)

    def _read_available(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_SIZE)
        except BlockingIOError:  # of a socket
            return
        except OSError:
            self.has_failed, data = True, b""
        if not data:
            self.pause_reading()
        self._on_data(data)

    def _read_regular_file(self) -> None:
        if self._is_reading:
            self._read_available()
            self._loop.call_soon(self._read_regular_file)
