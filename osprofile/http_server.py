"""A server on the loopback interface for a subset of HTTP/1.1 (RFC 9112), as the page and the metrics need it.

Each connection has one request, and a deadline. Unusual requests (transfer codings, folded lines, two lengths)
are refused, and so is a request for another name than this machine's loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log: Final = logging.getLogger("osprofile.http")

MAX_HEAD_SIZE: Final = 16 * 1024
"""Bytes of the request line and header fields; browsers send about one KiB."""
MAX_BODY_SIZE: Final = 1024 * 1024
"""Bytes of a request's body; a form with every field filled in has some KiB."""

REQUEST_TIMEOUT: Final = 60.0
"""Seconds that a client has to send its request, and again to read the response."""
MAX_CONNECTIONS: Final = 64
"""Concurrent connections; further ones get status 503."""

_REQUEST_LINE: Final = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_HEADER_FIELD: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
_CONTENT_LENGTH: Final = re.compile(r"[0-9]{1,9}")
_REASON_PHRASES: Final = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}


@final
class Request(NamedTuple):
    """The head of a request: header names are in lower case; `length` bytes of body follow."""

    method: str
    target: str
    headers: Mapping[str, str]
    length: int


@final
class HttpRefusal(Exception):  # noqa: N818  # it becomes a response
    """A request that is refused with this status and message."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


def parse_request(head: bytes) -> Request:
    """Parse the head of a request, including its empty line; raise `HttpRefusal`."""
    lines = head.decode("latin-1").split("\r\n")[:-2]
    request_line = _REQUEST_LINE.fullmatch(lines[0]) if lines else None
    if request_line is None:
        raise HttpRefusal(400, "this is not an HTTP request")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        found = _HEADER_FIELD.fullmatch(line)
        if found is None:
            raise HttpRefusal(400, "a header line has no name, or a character that is not allowed")
        name = found[1].lower()
        # Two of these would leave it open which one counts; others may be repeated.
        if name in headers and name in {"host", "origin", "content-length", "content-type"}:
            raise HttpRefusal(400, f"two header lines {name}")
        headers[name] = found[2]
    return Request(request_line[1], request_line[2], headers, _parse_length(headers))


def _parse_length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise HttpRefusal(501, "transfer codings are not supported: send Content-Length")
    length = headers.get("content-length", "0")
    if not _CONTENT_LENGTH.fullmatch(length):
        raise HttpRefusal(400, "Content-Length is not a number")
    if int(length) > MAX_BODY_SIZE:
        raise HttpRefusal(413, f"the body has more than {MAX_BODY_SIZE} bytes")
    return int(length)


def check_host(request: Request, *names: str) -> None:
    """Raise `HttpRefusal` unless the request's Host is one of these.

    A site that makes its own name resolve to 127.0.0.1 (DNS rebinding) sends that name.
    """
    if request.headers.get("host", "") not in names:
        raise HttpRefusal(403, f"this server has no other name than {names[0]}")


def check_method(request: Request, methods: Mapping[str, str]) -> None:
    """Raise `HttpRefusal` unless the path is one of these, and the method the one that it accepts."""
    path = request.target.partition("?")[0]
    if path not in methods:
        raise HttpRefusal(404, f"there are only {' and '.join(methods)}")
    if request.method != methods[path]:
        raise HttpRefusal(405, f"{path} accepts only {methods[path]}", Allow=methods[path])


def encode_response(status: int, content_type: str, body: bytes, **headers: str) -> bytes:
    """Return a complete response, after which the connection ends; it must not be cached or framed."""
    lines = {
        "Content-Type": f"{content_type}; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Content-Security-Policy": "frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        **headers,
    }
    head = f"HTTP/1.1 {status} {_REASON_PHRASES[status]}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{head}\r\n".encode("latin-1") + body


def encode_json_response(value: object, status: int = 200, **headers: str) -> bytes:
    """Return a response with JSON in ASCII."""
    return encode_response(status, "application/json", json.dumps(value).encode(), **headers)


def encode_refusal(refusal: HttpRefusal) -> bytes:
    """Return the response to a refused request."""
    return encode_json_response({"error": refusal.message}, refusal.status, **refusal.headers)


@final
class LoopbackServer:
    """Serves requests at a port of the loopback interface, 0 for any free one.

    - `check` raises `HttpRefusal` for the head of a request that is not accepted; its body is not read
    - `answer` returns the response; it is called in another thread, for one request at a time

    Connections are served concurrently. Raises OSError for a port that cannot be had.
    """

    def __init__(
        self,
        host: str,
        port: int,
        check: Callable[[Request], None],
        answer: Callable[[Request, bytes], bytes],
    ) -> None:
        self._check = check
        self._answer = answer
        self._socket = _bind_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._executor = ThreadPoolExecutor(1, "http")

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; call `ready` when the server accepts connections."""
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._accept_client, sock=self._socket, limit=MAX_HEAD_SIZE)
        try:
            ready()
            await self._stopping.wait()
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            self._executor.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Make `run` return; any thread may call it, once the server is ready."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)

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
            return encode_refusal(HttpRefusal(503, "too many connections at once: try again"))
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                request = await _read_head(reader)
                self._check(request)
                body = await reader.readexactly(request.length)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, self._answer, request, body)
        except Exception as error:  # noqa: BLE001  # whatever happens, the client gets a response
            return encode_refusal(_refusal_from_exception(error))


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


async def _read_head(reader: asyncio.StreamReader) -> Request:
    try:
        return parse_request(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.LimitOverrunError:  # by the limit of `start_server`
        raise HttpRefusal(431, f"the head has more than {MAX_HEAD_SIZE} bytes") from None


async def _drain_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait until the client has closed: a reset while it still sends would discard the response."""
    writer.write_eof()
    while await reader.read(65536):
        pass


def _bind_socket(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found
