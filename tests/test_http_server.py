"""What the server takes for a request, and whose requests it answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import http_server as http
from osprofile.page.server import authorize_request

PORT = 4711
HOST = f"Host: 127.0.0.1:{PORT}"
ORIGIN = f"Origin: http://127.0.0.1:{PORT}"
JSON = "Content-Type: application/json"


def request_status(*lines: str) -> int:
    """Return the status for the head of a request, 200 if it is accepted."""
    try:
        authorize_request(http.parse_request("\r\n".join([*lines, "", ""]).encode("latin-1")), PORT)
    except http.HttpRefusal as refused:
        return refused.status
    return 200


HEADS = {
    "the page": (("GET / HTTP/1.1", HOST), 200),
    "the page by its other name": (("GET / HTTP/1.1", f"Host: localhost:{PORT}"), 200),
    "the page with words behind it": (("GET /?a=b HTTP/1.1", HOST), 200),
    "the page for HTTP/1.0": (("GET / HTTP/1.0", HOST), 200),
    "a question": (("POST /render HTTP/1.1", HOST, ORIGIN, JSON, "Content-Length: 2"), 200),
    "a question without an origin, as of curl": (("POST /render HTTP/1.1", HOST, f"{JSON}; charset=utf-8", "Content-Length: 2"), 200),
    "names in capitals": (("POST /render HTTP/1.1", HOST.upper().replace("HOST", "hOsT"), JSON.upper(), "CONTENT-LENGTH: 2"), 200),
    "no host": (("GET / HTTP/1.1",), 403),
    "a name that was bound to this address": (("GET / HTTP/1.1", f"Host: evil.example:{PORT}"), 403),
    "a host with a dot more": (("GET / HTTP/1.1", f"Host: localhost.:{PORT}"), 403),
    "another port": (("GET / HTTP/1.1", "Host: 127.0.0.1:80"), 403),
    "no port": (("GET / HTTP/1.1", "Host: 127.0.0.1"), 403),
    "a question from another site": (("POST /render HTTP/1.1", HOST, "Origin: http://evil.example", JSON, "Content-Length: 2"), 403),
    "a question from a file or a frame": (("POST /render HTTP/1.1", HOST, "Origin: null", JSON, "Content-Length: 2"), 403),
    "a question from the other name": (
        ("POST /render HTTP/1.1", HOST, f"Origin: http://localhost:{PORT}", JSON, "Content-Length: 2"), 403,
    ),
    "a question by https": (("POST /render HTTP/1.1", HOST, f"Origin: https://127.0.0.1:{PORT}", JSON, "Content-Length: 2"), 403),
    "a question that a browser calls cross-site": (
        ("POST /render HTTP/1.1", HOST, JSON, "Sec-Fetch-Site: cross-site", "Content-Length: 2"), 403,
    ),
    "a form's body": (("POST /render HTTP/1.1", HOST, "Content-Type: text/plain", "Content-Length: 2"), 415),
    "no type": (("POST /render HTTP/1.1", HOST, "Content-Length: 2"), 415),
    "no length": (("POST /render HTTP/1.1", HOST, JSON), 411),
    "too long": (("POST /render HTTP/1.1", HOST, JSON, f"Content-Length: {http.MAX_BODY_SIZE + 1}"), 413),
    "a negative length": (("POST /render HTTP/1.1", HOST, JSON, "Content-Length: -1"), 400),
    "two lengths": (("POST /render HTTP/1.1", HOST, JSON, "Content-Length: 2", "Content-Length: 3"), 400),
    "two hosts": (("GET / HTTP/1.1", HOST, "host: evil.example"), 400),
    "chunks": (("POST /render HTTP/1.1", HOST, JSON, "Transfer-Encoding: chunked"), 501),
    "a leave to ask": (("OPTIONS /render HTTP/1.1", HOST, "Origin: http://evil.example"), 405),
    "another method": (("DELETE / HTTP/1.1", HOST), 405),
    "head": (("HEAD / HTTP/1.1", HOST), 405),
    "a question by GET": (("GET /render HTTP/1.1", HOST), 405),
    "a page by POST": (("POST / HTTP/1.1", HOST, JSON, "Content-Length: 0"), 405),
    "a body for the page": (("GET / HTTP/1.1", HOST, "Content-Length: 3"), 400),
    "a file": (("GET /etc/passwd HTTP/1.1", HOST), 404),
    "a way up": (("GET /../../etc/passwd HTTP/1.1", HOST), 404),
    "a hidden way up": (("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1", HOST), 404),
    "a second slash": (("GET //render HTTP/1.1", HOST), 404),
    "a whole address": ((f"GET http://127.0.0.1:{PORT}/ HTTP/1.1", HOST), 400),
    "another protocol": (("GET / HTTP/2.0", HOST), 400),
    "no protocol": (("GET /", HOST), 400),
    "nothing": (("",), 400),
    "a folded line": (("GET / HTTP/1.1", HOST, " more"), 400),
    "a blank before the colon": (("GET / HTTP/1.1", "Host : 127.0.0.1:4711"), 400),
    "a control": (("GET / HTTP/1.1", HOST, "X: a\x00b"), 400),
    "a lone line end": (("GET / HTTP/1.1", f"{HOST}\nX: y"), 400),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADS)
def test_heads(case: str) -> None:
    lines, status = HEADS[case]
    assert request_status(*lines) == status


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    assert request_status(*data.decode("latin-1").split("\r\n")) >= 400


WORDS = ["GET", "POST", "/", "/render", "HTTP/1.1", f"\r\n{HOST}", "\r\nContent-Length: 1", "\r\n", ":"]


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_only_a_whole_request_of_the_page_is_answered(words: list[str]) -> None:
    text = " ".join(words)
    if request_status(text) == 200:
        assert text.startswith("GET / HTTP/1.1 \r\n") or text == f"GET / HTTP/1.1 \r\n{HOST}"


def test_a_response_forbids_what_a_page_does_not_need() -> None:
    head = http.encode_response(200, "text/html", b"x").decode()
    for line in (
        "Content-Type: text/html; charset=utf-8",
        "Content-Length: 1",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Cross-Origin-Resource-Policy: same-origin",
        "Connection: close",
    ):
        assert f"\r\n{line}\r\n" in head
    assert "Access-Control" not in head
    refused = http.encode_refusal(http.HttpRefusal(405, "why", Allow="GET")).decode()
    assert json.loads(refused.partition("\r\n\r\n")[2]) == {"error": "why"}
    assert "\r\nAllow: GET\r\n" in refused
