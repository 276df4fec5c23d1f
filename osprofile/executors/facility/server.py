"""The server: uvicorn on a port of the loopback interface, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final, final
from urllib.parse import urlsplit

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from osprofile.errors import SettingError
from osprofile.executors.facility.app import build_app
from osprofile.executors.facility.facility import Facility
from osprofile.executors.facility.gate import PREFIX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

    from osprofile.executors.facility.settings import Settings
    from osprofile.executors.facility.tokens import Client

log: Final = logging.getLogger("osprofile.facility")
LOOPBACK: Final = "127.0.0.1"
MAX_CONNECTIONS: Final = 500
"""Connections at once; further ones are closed. Each is an open file, of which a process has often 1,024."""
MAX_FILES: Final = 1 << 16
"""Open files of a daemon for many users, if its hard limit allows so many."""
BACKLOG: Final = 100
"""Connections that wait to be accepted; so many are accepted together, before those above MAX_CONNECTIONS are closed."""
SILENCE_TIMEOUT: Final = 10.0
"""Seconds after which a connection without a whole head of a request is closed, or twice as many."""
SHUTDOWN_TIMEOUT: Final = 5
"""Seconds that requests may continue when the server ends: submissions that are cut off are found again."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@final
class _Protocol(H11Protocol):
    """HTTP/1.1 that closes connections: too many ones, silent ones, and those on which nothing can be answered any more."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self.loop.call_later(SILENCE_TIMEOUT, self._close_if_silent, None)

    def _close_if_silent(self, last_cycle: RequestResponseCycle | None) -> None:
        """Close the connection if no request has come since the last call, and none is being answered."""
        if self.transport.is_closing():
            return
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is last_cycle:
            self.transport.abort()
            return
        self.loop.call_later(SILENCE_TIMEOUT, self._close_if_silent, self.cycle)

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # the rest of a request that was answered early is malformed
            self.transport.abort()
        if self.cycle is not None:  # the application has begun to answer that request, or is about to
            self.cycle.disconnected = True
            self.cycle.message_event.set()


@final
class _Server(uvicorn.Server):
    """A server that a signal ends with exit code 0, as all daemons here."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        sys.stdout.write(f"{self._address}\n")  # its port accepts connections
        sys.stdout.flush()
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)


async def serve(
    settings: Settings, find_client: Callable[[str], Awaitable[Client | None]], user_name: str
) -> None:
    """Serve until a signal. The address is printed when the server accepts connections.

    `find_client` takes a header Authorization; `user_name` is that of this process.

    Raises `OSProfileError` for a profile, a record or a port that cannot be used.
    """
    if settings.is_shared:
        _allow_files()
    listener = _bind(settings.port)
    port: int = listener.getsockname()[1]
    address = f"http://{LOOPBACK}:{port}"
    public = settings.public_url or address
    facility = Facility(settings, user_name, f"{public}{PREFIX}")
    facility.start()
    host = urlsplit(public).hostname or LOOPBACK
    config = uvicorn.Config(
        build_app(facility, find_client, [host]),
        http=_Protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
    )
    log.info("%s, port %d", public, port)
    await _Server(config, f"{public}{PREFIX}").serve(sockets=[listener])


def _allow_files() -> None:
    """Let this process open more files than the usual 1,024: the record of each user is three of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _bind(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        hint = "set another port, or 0 for a free one"
        raise SettingError(f"port {port} of {LOOPBACK}: {error.strerror}", hint=hint) from None
    return listener
