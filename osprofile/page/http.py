"""The little of HTTP/1.1 that the page's server speaks: bytes in, a request or a refusal out.

No socket, no clock. One request a connection; what is unusual in a request (another body coding,
folded lines, two lengths) is refused, not interpreted. RFC 9112.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_HEAD_SIZE: Final = 16 * 1024
"""Bytes of request line and header fields; browsers send about one KiB."""
MAX_BODY_SIZE: Final = 1024 * 1024
"""Bytes of a question: a form with every field filled in has some KiB."""

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
    """A request whose head was read: header names in lower case; `length` bytes of body follow."""

    method: str
    target: str
    headers: Mapping[str, str]
    length: int


@final
class HttpRefusal(Exception):  # noqa: N818  # it is an answer
    """A request that gets this status and sentence instead of an answer."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


def parse_request(head: bytes) -> Request:
    """Read a request's head, up to and with its empty line; raise `HttpRefusal`."""
    lines = head.decode("latin-1").split("\r\n")[:-2]
    first = _REQUEST_LINE.fullmatch(lines[0]) if lines else None
    if first is None:
        raise HttpRefusal(400, "this is no HTTP request")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        found = _HEADER_FIELD.fullmatch(line)
        if found is None:
            raise HttpRefusal(400, "a header line has no name, or a character that none may have")
        name = found[1].lower()
        if name in headers and name in {"host", "origin", "content-length", "content-type"}:
            raise HttpRefusal(400, f"two header lines {name}")
        headers[name] = found[2]
    return Request(first[1], first[2], headers, _parse_length(headers))


def _parse_length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise HttpRefusal(501, "a body in another coding is not read: send Content-Length")
    length = headers.get("content-length", "0")
    if not _CONTENT_LENGTH.fullmatch(length):
        raise HttpRefusal(400, "Content-Length is no number")
    if int(length) > MAX_BODY_SIZE:
        raise HttpRefusal(413, f"a body has at most {MAX_BODY_SIZE} bytes")
    return int(length)


def authorize_request(request: Request, port: int) -> None:
    """Refuse what does not come from the page itself; raise `HttpRefusal`.

    Another site that resolves its name to 127.0.0.1 says its own name in Host; a page of another
    origin says so in Origin, and cannot send JSON without asking first, which gets no leave.
    """
    host = request.headers.get("host", "")
    if host not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
        raise HttpRefusal(403, f"this server is 127.0.0.1:{port} and answers to no other name")
    origin = request.headers.get("origin", f"http://{host}")
    site = request.headers.get("sec-fetch-site", "same-origin")
    known = {"/": "GET", "/render": "POST"}
    path = request.target.partition("?")[0]
    if path not in known:
        raise HttpRefusal(404, "there is only / and /render")
    if request.method != known[path]:
        raise HttpRefusal(405, f"{path} takes {known[path]} alone", Allow=known[path])
    if path == "/":
        if request.length:
            raise HttpRefusal(400, "a GET has no body")
        return
    if origin != f"http://{host}" or site != "same-origin":
        raise HttpRefusal(403, "only the page itself may ask here")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpRefusal(415, "the request is JSON: Content-Type: application/json")
    if "content-length" not in request.headers:
        raise HttpRefusal(411, "Content-Length is missing")


def encode_response(status: int, content_type: str, body: bytes, **headers: str) -> bytes:
    """Give a whole response; the connection ends behind it, and nothing keeps it."""
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
    """Give a response that holds JSON, in ASCII."""
    return encode_response(status, "application/json", json.dumps(value).encode(), **headers)


def encode_refusal(refusal: HttpRefusal) -> bytes:
    """Give the response for a refused request."""
    return encode_json_response({"error": refusal.message}, refusal.status, **refusal.headers)
