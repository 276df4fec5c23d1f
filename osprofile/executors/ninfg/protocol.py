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

from osprofile.errors import JobNotFoundError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_LINE: Final = 256 * 1024
"""Bytes of a line; Linux passes no longer argument on to a program than half of that."""
MOST_ATTRIBUTES: Final = 8 * 1024 * 1024
"""Bytes of all attributes of a job; Linux takes 2 MiB of arguments and environment by default."""
MOST_TEXT: Final = 800
"""Bytes of an error's text: with its line it stays below the 1023 bytes that the client keeps."""
_REQUEST_ID: Final = re.compile(r"[0-9]{1,18}")
_INVISIBLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ENDS: Final = frozenset({b"JOB_CREATE_END", b"JOB_CREATE_DONE"})
"""The second is the seed's name for the first."""


@final
class Status(StrEnum):
    """A job's state in the protocol's words."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DONE = "DONE"
    FAILED = "FAILED"


_FORWARD: Final[Mapping[Status | None, frozenset[Status]]] = {
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
_PLAIN: Final[Mapping[bytes, Request]] = {b"QUERY_FEATURES": QueryFeatures(), b"EXIT": Exit()}
_ABOUT_A_JOB: Final[Mapping[bytes, type[JobStatus | JobDestroy]]] = {
    b"JOB_STATUS": JobStatus,
    b"JOB_DESTROY": JobDestroy,
}
_KNOWN: Final = "QUERY_FEATURES, JOB_CREATE, JOB_STATUS, JOB_DESTROY or EXIT"


@final
class _Creating:
    """A JOB_CREATE whose attributes arrive."""

    def __init__(self, argument: bytes) -> None:
        self._id = _text(argument)
        self._attributes: list[tuple[str, str]] = []
        self._size = 0
        self._error = ""
        if not _REQUEST_ID.fullmatch(self._id):
            self.refuse(f"JOB_CREATE needs a request id, a decimal number, not {shown(self._id)}")

    def refuse(self, error: str) -> None:
        """Have the request answered by F; of several errors the first counts."""
        self._error = self._error or error
        self._attributes.clear()

    def add(self, line: bytes) -> None:
        """Take the line of one attribute."""
        self._size += len(line)
        if self._size > MOST_ATTRIBUTES:
            self.refuse(f"the attributes of a job are longer than {MOST_ATTRIBUTES} bytes")
        if not self._error:
            key, _, value = line.partition(b" ")
            self._attributes.append((_text(key), _text(value)))

    def request(self) -> Request:
        """Give the request, which is complete."""
        return BadRequest(self._error) if self._error else JobCreate(self._id, (*self._attributes,))


@final
class RequestReader:
    """Turns what arrives on stdin into requests."""

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False
        self._creating: _Creating | None = None

    def receive(self, data: bytes) -> Iterator[Request]:
        """Take bytes as they come, and give the requests that are complete with them."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole, self._rest = self._rest + line, b""
            request = self._overlong() if self._is_too_long(whole) else self._line(whole)
            self._too_long = False
            if request is not None:
                yield request
        self._rest += rest
        if self._is_too_long(self._rest):
            self._rest, self._too_long = b"", True

    def _is_too_long(self, line: bytes) -> bool:
        return self._too_long or len(line) > MOST_LINE

    def _overlong(self) -> Request | None:
        error = f"a line is longer than {MOST_LINE} bytes"
        if self._creating is None:
            return BadRequest(error)
        self._creating.refuse(error)
        return None

    def _line(self, line: bytes) -> Request | None:
        line = line.removesuffix(b"\r")
        if self._creating is None:
            return self._request(line)
        if line.rstrip() not in _ENDS:
            self._creating.add(line)
            return None
        created, self._creating = self._creating, None
        return created.request()

    def _request(self, line: bytes) -> Request | None:
        word, _, argument = line.strip().partition(b" ")
        argument = argument.strip()
        if word == b"JOB_CREATE":
            self._creating = _Creating(argument)
            return None
        if word in _ABOUT_A_JOB:
            if argument:
                return _ABOUT_A_JOB[word](_text(argument))
            return BadRequest(f"{_text(word)} needs a job id")
        if word in _PLAIN and not argument:
            return _PLAIN[word]
        return BadRequest(f"unknown request {shown(_text(line))}: it must be {_KNOWN}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# Replies


def succeeded() -> bytes:
    """Give the reply to what was accepted."""
    return b"S\r\n"


def failed(text: str) -> bytes:
    """Give the reply to what was not; the text is cut to a line of MOST_TEXT bytes."""
    return b"F %s\r\n" % _line_of(text)


def in_state(status: Status) -> bytes:
    """Give the reply to JOB_STATUS."""
    return b"S %s\r\n" % status.encode()


def features() -> bytes:
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


def _line_of(text: str) -> bytes:
    """Give text that is safe in a line: no control characters, not too long."""
    data = _INVISIBLE.sub(" ", text).strip().encode("utf-8", "replace")
    if len(data) > MOST_TEXT:
        data = data[: MOST_TEXT - 3].decode("utf-8", "ignore").encode() + b"..."
    return data


@final
class Conversation:
    """What the client has been told; each method gives the bytes of a notify for stderr.

    They are empty where the client must not be told, or knows already.
    """

    def __init__(self) -> None:
        self._told: dict[str, Status | None] = {}
        self._over = False

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._told

    @property
    def is_over(self) -> bool:
        """Whether EXIT was received, or the client is gone."""
        return self._over

    def exit(self) -> None:
        """Tell nothing any more."""
        self._over = True

    def created(self, request_id: str, job_id: str) -> bytes:
        """Tell the id of a job; its states can be told from now on."""
        self._told[job_id] = None
        return b"" if self._over else f"CREATE_NOTIFY {request_id} S {job_id}\r\n".encode()

    def changed(self, job_id: str, status: Status, text: str = "") -> bytes:
        """Tell a job's state; raises `JobNotFoundError` for one that was not created."""
        if status not in _FORWARD[self._last(job_id)]:
            return b""
        self._told[job_id] = status
        if self._over:
            return b""
        return b"STATUS_NOTIFY %s %s %s\r\n" % (job_id.encode(), status.encode(), _line_of(text))

    def status(self, job_id: str) -> Status:
        """Give the state that was told last; raises `JobNotFoundError`."""
        return self._last(job_id) or Status.PENDING

    def _last(self, job_id: str) -> Status | None:
        try:
            return self._told[job_id]
        except KeyError:
            raise JobNotFoundError(f"there is no job {shown(job_id)}") from None
