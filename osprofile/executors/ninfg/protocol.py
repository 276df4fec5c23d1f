r"""The Invoke Server's side of the protocol, as bytes; no pipe, no clock, no process.

    stdin    request  = "QUERY_FEATURES" RET
                      | "JOB_CREATE" ReqID RET { key [value] RET } "JOB_CREATE_END" RET
                      | "JOB_STATUS" JobID RET  |  "JOB_DESTROY" JobID RET  |  "EXIT" RET
    stdout   reply    = "S" RET  |  "S" Status RET  |  "F" text RET
                      | "SM" RET { feature RET } "REPLY_END" RET
    stderr   notify   = "CREATE_NOTIFY" ReqID ( "S" JobID | "F" text ) RET
                      | "STATUS_NOTIFY" JobID Status [text] RET
    Status            = "PENDING" | "ACTIVE" | "DONE" | "FAILED"

RET is CR LF; from the client LF alone will do. Each request has one reply, in order. What the real
client enforces by hanging stands in `Conversation` (protocol page, "What a server must do"): a
job's states go forward only, its end is told once, and never after EXIT.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobNotFoundError, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_LINE_SIZE: Final = 256 * 1024
"""Bytes of a line; Linux passes no longer argument on to a program than half of that."""
MAX_ATTRIBUTES_SIZE: Final = 8 * 1024 * 1024
"""Bytes of all attributes of a job; Linux takes 2 MiB of arguments and environment by default."""
MAX_TEXT_SIZE: Final = 800
"""Bytes of an error's text: with its line it stays below the 1023 bytes that the client keeps."""
_REQUEST_ID_PATTERN: Final = re.compile(r"[0-9]{1,18}")
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CREATE_END_LINES: Final = frozenset({b"JOB_CREATE_END", b"JOB_CREATE_DONE"})
"""The second is the seed's name for the first."""


@final
class Status(StrEnum):
    """A job's state in the protocol's words."""

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
"""By the last state that was told, the states that may be told next."""


@final
class QueryFeatures(NamedTuple):
    """Tell what the server can do. Clients of version 5 ask, before anything else."""


@final
class JobCreate(NamedTuple):
    """Start a job; `attributes` are key and value as sent, in order.

    Bytes that are no UTF-8 are surrogates.
    """

    request_id: str
    attributes: tuple[tuple[str, str], ...]


@final
class JobStatus(NamedTuple):
    """Tell in what state a job is."""

    job_id: str


@final
class JobDestroy(NamedTuple):
    """End a job."""

    job_id: str


@final
class Exit(NamedTuple):
    """End all jobs and yourself."""


@final
class BadRequest(NamedTuple):
    """What is no request; to be answered by F with this text."""

    error: str


Request = QueryFeatures | JobCreate | JobStatus | JobDestroy | Exit | BadRequest
_SIMPLE_REQUESTS: Final[Mapping[bytes, Request]] = {
    b"QUERY_FEATURES": QueryFeatures(),
    b"EXIT": Exit(),
}
_JOB_REQUESTS: Final[Mapping[bytes, type[JobStatus | JobDestroy]]] = {
    b"JOB_STATUS": JobStatus,
    b"JOB_DESTROY": JobDestroy,
}
_REQUEST_NAMES: Final = "QUERY_FEATURES, JOB_CREATE, JOB_STATUS, JOB_DESTROY or EXIT"


@final
class _PartialJobCreate:
    """A JOB_CREATE whose attributes arrive."""

    def __init__(self, argument: bytes) -> None:
        self._id = _decode_text(argument)
        self._attributes: list[tuple[str, str]] = []
        self._size = 0
        self._error = ""
        if not _REQUEST_ID_PATTERN.fullmatch(self._id):
            self.set_error(
                f"JOB_CREATE needs a request id, a decimal number, not {quote_value(self._id)}"
            )

    def set_error(self, error: str) -> None:
        """Have the request answered by F; of several errors the first counts."""
        self._error = self._error or error
        self._attributes.clear()

    def add_attribute(self, line: bytes) -> None:
        """Take the line of one attribute."""
        self._size += len(line)
        if self._size > MAX_ATTRIBUTES_SIZE:
            self.set_error(f"the attributes of a job are longer than {MAX_ATTRIBUTES_SIZE} bytes")
        if not self._error:
            key, _, value = line.partition(b" ")
            self._attributes.append((_decode_text(key), _decode_text(value)))

    def build_request(self) -> Request:
        """Give the request, which is complete."""
        return BadRequest(self._error) if self._error else JobCreate(self._id, (*self._attributes,))


@final
class RequestReader:
    """Turns what arrives on stdin into requests."""

    def __init__(self) -> None:
        self._partial_line = b""
        self._skips_line = False
        self._partial_create: _PartialJobCreate | None = None

    def receive_data(self, data: bytes) -> Iterator[Request]:
        """Take bytes as they come, and give the requests that are complete with them."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole, self._partial_line = self._partial_line + line, b""
            request = (
                self._reject_long_line() if self._is_too_long(whole) else self._handle_line(whole)
            )
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
        return BadRequest(
            f"unknown request {quote_value(_decode_text(line))}: it must be {_REQUEST_NAMES}"
        )


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Replies


def format_success() -> bytes:
    """Give the reply to what was accepted."""
    return b"S\r\n"


def format_failure(text: str) -> bytes:
    """Give the reply to what was not; the text is cut to a line of MOST_TEXT bytes."""
    return b"F %s\r\n" % _sanitize_text(text)


def format_status(status: Status) -> bytes:
    """Give the reply to JOB_STATUS."""
    return b"S %s\r\n" % status.encode()


def format_features() -> bytes:
    """Give the reply to QUERY_FEATURES."""
    words = ("QUERY_FEATURES", "JOB_CREATE", "JOB_STATUS", "JOB_DESTROY", "EXIT")
    lines = (
        "SM",
        "protocol_version 2.0",
        "feature STAGING_AUTH_NUMBER",  # it need not stand in the executable's command line
        *(f"request {word}" for word in words),
        "REPLY_END",
    )
    return b"".join(b"%s\r\n" % line.encode() for line in lines)


def _sanitize_text(text: str) -> bytes:
    """Give text that is safe in a line: no control characters, not too long."""
    data = _CONTROL_CHARACTERS.sub(" ", text).strip().encode("utf-8", "replace")
    if len(data) > MAX_TEXT_SIZE:
        data = data[: MAX_TEXT_SIZE - 3].decode("utf-8", "ignore").encode() + b"..."
    return data


@final
class Conversation:
    """What the client has been told; each method gives the bytes of a notify for stderr.

    They are empty where the client must not be told, or knows already.
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
        """Tell nothing any more."""
        self._is_over = True

    def notify_created(self, request_id: str, job_id: str) -> bytes:
        """Tell the id of a job; its states can be told from now on."""
        self._last_statuses[job_id] = None
        return b"" if self._is_over else f"CREATE_NOTIFY {request_id} S {job_id}\r\n".encode()

    def notify_status(self, job_id: str, status: Status, text: str = "") -> bytes:
        """Tell a job's state; raises `JobNotFoundError` for one that was not created."""
        if status not in _NEXT_STATUSES[self._get_last_status(job_id)]:
            return b""
        self._last_statuses[job_id] = status
        if self._is_over:
            return b""
        return b"STATUS_NOTIFY %s %s %s\r\n" % (
            job_id.encode(),
            status.encode(),
            _sanitize_text(text),
        )

    def get_status(self, job_id: str) -> Status:
        """Give the state that was told last; raises `JobNotFoundError`."""
        return self._get_last_status(job_id) or Status.PENDING

    def _get_last_status(self, job_id: str) -> Status | None:
        try:
            return self._last_statuses[job_id]
        except KeyError:
            raise JobNotFoundError(f"there is no job {quote_value(job_id)}") from None
