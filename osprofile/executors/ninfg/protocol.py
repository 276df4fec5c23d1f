r"""The Invoke Server's side of the protocol, without input and output.

    stdin    request  = "QUERY_FEATURES" RET
                      | "JOB_CREATE" ReqID RET { key [value] RET } "JOB_CREATE_END" RET
                      | "JOB_STATUS" JobID RET  |  "JOB_DESTROY" JobID RET  |  "EXIT" RET
    stdout   reply    = "S" RET  |  "S" Status RET  |  "F" text RET
                      | "SM" RET { feature RET } "REPLY_END" RET
    stderr   notify   = "CREATE_NOTIFY" ReqID ( "S" JobID | "F" text ) RET
                      | "STATUS_NOTIFY" JobID Status [text] RET
    Status            = "PENDING" | "ACTIVE" | "DONE" | "FAILED"

RET is CR LF; the client may send LF alone. Each request has one reply, in order. `Conversation` has
the rules that make the real client hang if they are broken (docs/protocols/ninfg.md, 4): a job's
status only moves forward, its end is reported once, and nothing is reported after EXIT.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobNotFoundError
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_LINE_SIZE: Final = 256 * 1024
"""Bytes of a line; Linux limits an argument of a program to half of that."""
MAX_ATTRIBUTES_SIZE: Final = 8 * 1024 * 1024
"""Bytes of all attributes of a job; Linux limits arguments and environment to 2 MiB by default."""
MAX_TEXT_SIZE: Final = 800
"""Bytes of an error's text: its line stays below the 1023 bytes that the client keeps."""
_REQUEST_ID_PATTERN: Final = re.compile(r"[0-9]{1,18}")
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CREATE_END_LINES: Final = frozenset({b"JOB_CREATE_END", b"JOB_CREATE_DONE"})
"""The manual has the second in one place (docs/protocols/ninfg.md, 2)."""


@final
class Status(StrEnum):
    """The status of a job in the protocol."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DONE = "DONE"
    FAILED = "FAILED"


_NEXT_STATUSES: Final[Mapping[Status | None, frozenset[Status]]] = {
    None: frozenset(Status),
    Status.PENDING: frozenset({Status.ACTIVE, Status.DONE, Status.FAILED}),
    Status.ACTIVE: frozenset({Status.DONE, Status.FAILED}),
    Status.DONE: frozenset(),
    Status.FAILED: frozenset(),
}
"""By the last reported status, those that may be reported next."""


@final
class QueryFeatures(NamedTuple):
    """A request for the server's features. Clients of version 5 send it first."""


@final
class JobCreate(NamedTuple):
    """A request for a new job; `attributes` are keys and values as sent, in order.

    Bytes that are not valid UTF-8 are surrogates.
    """

    request_id: str
    attributes: tuple[tuple[str, str], ...]


@final
class JobStatus(NamedTuple):
    """A request for the status of a job."""

    job_id: str


@final
class JobDestroy(NamedTuple):
    """A request to end a job."""

    job_id: str


@final
class Exit(NamedTuple):
    """A request to end all jobs and the server."""


@final
class BadRequest(NamedTuple):
    """A malformed request, to be answered by F with this text."""

    error: str


Request = QueryFeatures | JobCreate | JobStatus | JobDestroy | Exit | BadRequest
_SIMPLE_REQUESTS: Final[Mapping[bytes, Request]] = {b"QUERY_FEATURES": QueryFeatures(), b"EXIT": Exit()}
_JOB_REQUESTS: Final[Mapping[bytes, type[JobStatus | JobDestroy]]] = {
    b"JOB_STATUS": JobStatus,
    b"JOB_DESTROY": JobDestroy,
}
_REQUEST_NAMES: Final = "QUERY_FEATURES, JOB_CREATE, JOB_STATUS, JOB_DESTROY or EXIT"


@final
class _PartialJobCreate:
    """A JOB_CREATE of which more attributes will arrive."""

    def __init__(self, argument: bytes) -> None:
        self._id = _decode_text(argument)
        self._attributes: list[tuple[str, str]] = []
        self._size = 0
        self._error = ""
        if not _REQUEST_ID_PATTERN.fullmatch(self._id):
            self.set_error(f"JOB_CREATE needs a request id, a decimal number, not {quote_value(self._id)}")

    def set_error(self, error: str) -> None:
        """Note an error, which the request will be answered with; the first one counts."""
        self._error = self._error or error
        self._attributes.clear()

    def add_attribute(self, line: bytes) -> None:
        """Add the line of an attribute."""
        self._size += len(line)
        if self._size > MAX_ATTRIBUTES_SIZE:
            self.set_error(f"the attributes of a job are longer than {MAX_ATTRIBUTES_SIZE} bytes")
        if not self._error:
            key, _, value = line.partition(b" ")
            self._attributes.append((_decode_text(key), _decode_text(value)))

    def build_request(self) -> Request:
        """Return the complete request."""
        return BadRequest(self._error) if self._error else JobCreate(self._id, (*self._attributes,))


@final
class RequestReader:
    """Parses requests from the bytes on stdin."""

    def __init__(self) -> None:
        self._partial_line = b""
        self._skips_line = False
        self._partial_create: _PartialJobCreate | None = None

    def receive_data(self, data: bytes) -> Iterator[Request]:
        """Yield the requests that the next piece of data completes."""
        *pieces, rest = data.split(b"\n")
        for piece in pieces:
            line, self._partial_line = self._partial_line + piece, b""
            request = self._reject_long_line() if self._is_too_long(line) else self._handle_line(line)
            self._skips_line = False
            if request is not None:
                yield request
        self._partial_line += rest
        if self._is_too_long(self._partial_line):
            self._partial_line, self._skips_line = b"", True

    def _is_too_long(self, line: bytes) -> bool:
        return self._skips_line or len(line) > MAX_LINE_SIZE

    def _reject_long_line(self) -> Request | None:
        error = f"a line is longer than {MAX_LINE_SIZE} bytes"
        if self._partial_create is None:
            return BadRequest(error)
        self._partial_create.set_error(error)
        return None

    def _handle_line(self, line: bytes) -> Request | None:
        line = line.removesuffix(b"\r")
        if self._partial_create is None:
            return self._parse_request(line)
        if line.rstrip() not in _CREATE_END_LINES:
            self._partial_create.add_attribute(line)
            return None
        created, self._partial_create = self._partial_create, None
        return created.build_request()

    def _parse_request(self, line: bytes) -> Request | None:
        word, _, argument = line.strip().partition(b" ")
        argument = argument.strip()
        if word == b"JOB_CREATE":
            self._partial_create = _PartialJobCreate(argument)
            return None
        if word in _JOB_REQUESTS:
            if argument:
                return _JOB_REQUESTS[word](_decode_text(argument))
            return BadRequest(f"{_decode_text(word)} needs a job id")
        if word in _SIMPLE_REQUESTS and not argument:
            return _SIMPLE_REQUESTS[word]
        return BadRequest(f"unknown request {quote_value(_decode_text(line))}: it must be {_REQUEST_NAMES}")


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Replies


def format_success() -> bytes:
    """Return the reply to an accepted request."""
    return b"S\r\n"


def format_failure(text: str) -> bytes:
    """Return the reply to a refused request; the text is cut to MAX_TEXT_SIZE bytes."""
    return b"F %s\r\n" % _sanitize_text(text)


def format_status(status: Status) -> bytes:
    """Return the reply to JOB_STATUS."""
    return b"S %s\r\n" % status.encode()


def format_features() -> bytes:
    """Return the reply to QUERY_FEATURES."""
    words = ("QUERY_FEATURES", "JOB_CREATE", "JOB_STATUS", "JOB_DESTROY", "EXIT")
    lines = (
        "SM",
        "protocol_version 2.0",
        "feature STAGING_AUTH_NUMBER",  # a number in a file, not in the command line
        *(f"request {word}" for word in words),
        "REPLY_END",
    )
    return b"".join(b"%s\r\n" % line.encode() for line in lines)


def _sanitize_text(text: str) -> bytes:
    """Return a text that fits into a line: without control characters, and not too long."""
    data = _CONTROL_CHARACTERS.sub(" ", text).strip().encode("utf-8", "replace")
    if len(data) > MAX_TEXT_SIZE:
        data = data[: MAX_TEXT_SIZE - 3].decode("utf-8", "ignore").encode() + b"..."
    return data


@final
class Conversation:
    """What the client has been told; each method returns the bytes of a notification for stderr.

    They are empty if the client must not be told, or knows it already.
    """

    def __init__(self) -> None:
        self._last_statuses: dict[str, Status | None] = {}
        self._is_over = False

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._last_statuses

    @property
    def is_over(self) -> bool:
        """Whether EXIT was received, or the client is gone."""
        return self._is_over

    def end_notifications(self) -> None:
        """Suppress all further notifications."""
        self._is_over = True

    def notify_created(self, request_id: str, job_id: str) -> bytes:
        """Notify the client of a job's id; its status can be reported from now on."""
        self._last_statuses[job_id] = None
        return b"" if self._is_over else f"CREATE_NOTIFY {request_id} S {job_id}\r\n".encode()

    def notify_status(self, job_id: str, status: Status, text: str = "") -> bytes:
        """Notify the client of a job's status. Raises `JobNotFoundError`."""
        if status not in _NEXT_STATUSES[self._get_last_status(job_id)]:
            return b""
        self._last_statuses[job_id] = status
        if self._is_over:
            return b""
        return b"STATUS_NOTIFY %s %s %s\r\n" % (job_id.encode(), status.encode(), _sanitize_text(text))

    def get_status(self, job_id: str) -> Status:
        """Return the last reported status. Raises `JobNotFoundError`."""
        return self._get_last_status(job_id) or Status.PENDING

    def _get_last_status(self, job_id: str) -> Status | None:
        try:
            return self._last_statuses[job_id]
        except KeyError:
            raise JobNotFoundError(f"there is no job {quote_value(job_id)}") from None
