"""The page's server, on the loopback interface only; it renders scripts for the form.

Connections are served concurrently, each with a deadline. One other thread renders pages and scripts,
so that a slow pattern (up to a second) does not block connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, OSProfileError, RequestError, SettingError
from osprofile.page import http
from osprofile.page.collector import collect_page
from osprofile.page.document import render_page, render_problem
from osprofile.page.http import HttpRefusal
from osprofile.page.labels import build_labels, strip_directories
from osprofile.page.rendering import (
    build_page_context,
    decode_script_request,
    encode_script_response,
    render_script,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.page")
LOOPBACK: Final = "127.0.0.1"
REQUEST_TIMEOUT: Final = 60.0
"""Seconds that a client has to send its request, and again to read the response."""
MAX_CONNECTIONS: Final = 64
"""Concurrent connections; further ones get status 503."""

FileStamps = tuple[tuple[str, int, int, int], ...]


@final
class LivePage:
    """A profile and its page; both are loaded again when the profile's files have changed.

    `load` returns the resolved profile; `directories` are removed from messages. It is not
    thread-safe.
    """

    def __init__(
        self,
        load: Callable[[], Profile],
        context: Mapping[str, str],
        directories: Callable[[], Iterable[str]],
    ) -> None:
        self._load = load
        self._context = context
        self._directories = tuple(directories())
        self._profile = load()
        self._file_stamps = self._read_stamps()
        self._html = self._render_page()
        self._load_error: OSProfileError | None = None

    @property
    def version(self) -> str:
        """A hash of the profile's files."""
        digest = hashlib.sha256()
        for document in self._profile.documents:
            for source in document.sources:
                digest.update(source.data)
        return digest.hexdigest()[:16]

    def get_page(self) -> tuple[int, str]:
        """Return status and page; for a profile that does not load, a page with its problems."""
        self._reload_if_changed()
        if self._load_error is not None:
            return 500, render_problem("This profile does not load", self._format_error(self._load_error))
        return 200, self._html

    def answer_request(self, body: bytes) -> object:
        """Return the response to a request, for JSON; raise `RequestError` for a malformed request."""
        request = decode_script_request(body)
        self._reload_if_changed()
        if self._load_error is not None:
            first = self._format_error(self._load_error).partition("\n")[0]
            return {"error": f"the profile does not load: {first}"}
        context = build_page_context(self._profile, self._context)
        response = render_script(self._profile, build_labels(self._profile), context, request)
        return encode_script_response(response, self.version)

    def _reload_if_changed(self) -> None:
        # A profile that does not load may need a file that is not known here: each request tries again.
        if self._load_error is None and self._read_stamps() == self._file_stamps:
            return
        try:
            self._profile = self._load()
            self._file_stamps = self._read_stamps()
            self._html = self._render_page()
            self._load_error = None
        except OSProfileError as error:
            if str(error) != str(self._load_error):
                log.warning("the profile does not load:\n%s", error)
            self._load_error = error

    def _render_page(self) -> str:
        return render_page(collect_page(self._profile, self._context), version=self.version)

    def _read_stamps(self) -> FileStamps:
        stamps = []
        for file in [source.name for d in self._profile.documents for source in d.sources]:
            try:
                now = os.stat(file)
                stamps.append((file, now.st_ino, now.st_size, now.st_mtime_ns))
            except OSError:
                stamps.append((file, 0, 0, 0))
        return tuple(stamps)

    def _format_error(self, error: OSProfileError) -> str:
        problems = error.problems if isinstance(error, InvalidProfileError) else ()
        message = "\n".join(map(str, problems)) if problems else str(error)
        files = [os.path.dirname(os.path.dirname(d.element.source.name)) for d in self._profile.documents]
        return strip_directories(
            build_labels(self._profile).replace_paths(message), [*files, *self._directories]
        )


@final
class PageServer:
    """Serves a page on a port of the loopback interface, 0 for any free port."""

    def __init__(self, live_page: LivePage, port: int = 0) -> None:
        self._live_page = live_page
        self._socket = _bind_socket(port)
        self.port: int = self._socket.getsockname()[1]
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._executor = ThreadPoolExecutor(1, "page")

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGINT or SIGTERM; call `ready` when the server accepts connections."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        server = await asyncio.start_server(self._accept_client, sock=self._socket, limit=http.MAX_HEAD_SIZE)
        try:
            ready()
            await self._stopping.wait()
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            self._executor.shutdown(wait=False, cancel_futures=True)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping.set()

    def _accept_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve_client(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError):
                writer.write(await self._handle_request(reader))
                async with asyncio.timeout(REQUEST_TIMEOUT):
                    await writer.drain()
                    await _drain_client(reader, writer)
        finally:
            writer.transport.abort()  # does not wait for a client that reads nothing

    async def _handle_request(self, reader: asyncio.StreamReader) -> bytes:
        """Read a request and return its response, or the response for any error."""
        if len(self._connections) > MAX_CONNECTIONS:
            return http.encode_refusal(HttpRefusal(503, "too many connections at once: try again"))
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                request = await _read_head(reader)
                http.authorize_request(request, self.port)
                body = await reader.readexactly(request.length)
            return await self._route_request(request.method, body)
        except Exception as error:  # noqa: BLE001  # whatever happens, the client gets a response
            return http.encode_refusal(_refusal_from_exception(error))

    async def _route_request(self, method: str, body: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        if method == "GET":
            status, page = await loop.run_in_executor(self._executor, self._live_page.get_page)
            return http.encode_response(status, "text/html", page.encode())
        return http.encode_json_response(
            await loop.run_in_executor(self._executor, self._live_page.answer_request, body)
        )


def _refusal_from_exception(error: Exception) -> HttpRefusal:
    """Return the refusal for an exception."""
    match error:
        case HttpRefusal():
            return error
        case RequestError():
            return HttpRefusal(400, ": ".join(filter(None, (error.message, error.hint))))
        case TimeoutError():
            return HttpRefusal(408, f"the request did not come within {REQUEST_TIMEOUT:.0f} s")
        case asyncio.IncompleteReadError():
            return HttpRefusal(400, "the request is incomplete")
    log.error("an internal error", exc_info=error)
    return HttpRefusal(500, "internal error: see the server's output")


async def _read_head(reader: asyncio.StreamReader) -> http.Request:
    try:
        return http.parse_request(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.LimitOverrunError:  # by the limit of `start_server`
        raise HttpRefusal(431, f"the head has more than {http.MAX_HEAD_SIZE} bytes") from None


async def _drain_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait until the client has closed: a reset while it still sends would discard the response."""
    writer.write_eof()
    while await reader.read(65536):
        pass


def _bind_socket(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((LOOPBACK, port))
    except OSError as error:
        found.close()
        hint = "choose another --port, or leave it out for a free one"
        raise SettingError(f"port {port} of {LOOPBACK}: {error.strerror}", hint=hint) from None
    return found
