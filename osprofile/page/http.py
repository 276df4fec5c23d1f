"""The subset of HTTP/1.1 (RFC 9112) that the page's server needs: parse requests, encode responses.

It does no input or output. Each connection has one request. Unusual requests (transfer codings,
folded lines, two lengths) are refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_HEAD_SIZE: Final = 16 * 1024
"""Bytes of the request line and header fields; browsers send about one KiB."""
MAX_BODY_SIZE: Final = 1024 * 1024
"""Bytes of a request's body; a form with every field filled in has some KiB."""

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


def authorize_request(request: Request, port: int) -> None:
    """Check that a request comes from the page itself; raise `HttpRefusal` if not.

    A site that makes its own name resolve to 127.0.0.1 (DNS rebinding) sends that name as Host. A page
    of another origin sends its Origin, and can send JSON only after a preflight request, which is
    refused, too.
    """
    # Host comes first: with DNS rebinding, a browser takes the other site's page for the same origin.
    host = request.headers.get("host", "")
    if host not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
        raise HttpRefusal(403, f"this server has no other name than 127.0.0.1:{port}")
    origin = request.headers.get("origin", f"http://{host}")
    site = request.headers.get("sec-fetch-site", "same-origin")
    methods = {"/": "GET", "/render": "POST"}
    path = request.target.partition("?")[0]
    if path not in methods:
        raise HttpRefusal(404, "there are only / and /render")
    if request.method != methods[path]:
        raise HttpRefusal(405, f"{path} accepts only {methods[path]}", Allow=methods[path])
    if path == "/":
        if request.length:
            raise HttpRefusal(400, "a GET request cannot have a body")
        return
    if origin != f"http://{host}" or site != "same-origin":
        raise HttpRefusal(403, "only the page itself may send requests")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpRefusal(415, "the request must be JSON: Content-Type: application/json")
    if "content-length" not in request.headers:
        raise HttpRefusal(411, "Content-Length is missing")


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
