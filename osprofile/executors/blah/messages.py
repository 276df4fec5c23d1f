r"""What goes over the pipe: lines and words, requests, replies and results, and job ids.

CR, LF and NUL each end a line. Empty lines are ignored. Blanks separate words. A backslash takes
the next character literally, except for a NUL, which always ends the line. Text is UTF-8; bytes
that are not valid UTF-8 are kept unchanged (docs/protocols/blah.md, 1.1 and 1.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, final

from osprofile.executors import failures
from osprofile.executors.errors import JobIdError
from osprofile.text import quote_value, replace_unprintable

if TYPE_CHECKING:
    import datetime as dt

    from osprofile.errors import OSProfileError

# Lines and words

MAX_LINE_LENGTH: Final = 16 * 1024 * 1024
"""In bytes, of a request line. The protocol has no limit; this one bounds the memory."""

_LINE_END: Final = re.compile(rb"[\r\n\0]+")
_FIELD_ESCAPES: Final = str.maketrans({" ": "\\ ", "\t": "\\ ", "\\": "\\\\", "\n": "-", "\r": "", "\0": ""})
_EMPTY_FIELD: Final = "N/A"


@final
class LineSplitter:
    """Splits data that arrives in pieces into lines; an escape may be cut between two pieces."""

    def __init__(self, max_length: int = MAX_LINE_LENGTH) -> None:
        self._max_length = max_length
        self._partial_line = bytearray()
        self._too_long = self._open_escape = False

    def feed_data(self, data: bytes) -> list[bytes | None]:
        """Return the lines that end in this piece of data; None stands for a line that is too long."""
        return self._feed_escaped(data) if self._open_escape or b"\\" in data else self._feed_plain(data)

    def _feed_plain(self, data: bytes) -> list[bytes | None]:
        first, *others = _LINE_END.split(data)
        self._append_piece(first)
        if not others:
            return []
        lines = self._finish_line()
        lines += [line if len(line) <= self._max_length else None for line in others[:-1]]
        self._append_piece(others[-1])
        return lines

    def _feed_escaped(self, data: bytes) -> list[bytes | None]:
        lines: list[bytes | None] = []
        line_start = run_start = 0
        for line_end in _LINE_END.finditer(data):
            line_stop = line_end.start()
            if data[line_stop] and self._ends_in_escape(
                data[run_start:line_stop], continues_previous=run_start == 0
            ):
                line_stop += 1  # the first CR or LF is escaped: it belongs to the line
            run_start = line_end.end()
            if line_stop < run_start:
                self._append_piece(data[line_start:line_stop])
                lines += self._finish_line()
                line_start = run_start
        if data:
            self._open_escape = self._ends_in_escape(data[run_start:], continues_previous=run_start == 0)
        self._append_piece(data[line_start:])
        return lines

    def _ends_in_escape(self, piece: bytes, *, continues_previous: bool) -> bool:
        """Return whether a piece ends in an odd number of backslashes, the last of which escapes.

        `continues_previous`: nothing separates it from the previous piece, whose last escape counts.
        """
        count = len(piece) - len(piece.rstrip(b"\\"))
        return (count + (continues_previous and self._open_escape and count == len(piece))) % 2 == 1

    def _append_piece(self, piece: bytes) -> None:
        if len(self._partial_line) + len(piece) > self._max_length:
            self._too_long = True
            self._partial_line.clear()
        if not self._too_long:
            self._partial_line += piece

    def _finish_line(self) -> list[bytes | None]:
        line, too_long = bytes(self._partial_line), self._too_long
        self._partial_line.clear()
        self._too_long = self._open_escape = False
        if too_long:
            return [None]
        return [line] if line else []


def split_line(line: bytes) -> list[str]:
    """Return the words of a line, unescaped."""
    if b"\\" not in line:
        return [word.decode("utf-8", "surrogateescape") for word in line.split(b" ") if word]
    # A line has no NUL, so NUL can mark escapes; `replace` and `split` are much faster than a loop.
    marked = line.replace(b"\\\\", b"\0b").replace(b"\\ ", b"\0s")
    return [_decode_word(word) for word in marked.split(b" ") if word]


def _decode_word(word: bytes) -> str:
    unescaped = word.replace(b"\\", b"").replace(b"\0s", b" ").replace(b"\0b", b"\\")
    return unescaped.decode("utf-8", "surrogateescape")


def encode_field(text: str) -> bytes:
    r"""Return any text as exactly one word of a reply.

    Blank and tab become `\ `, a backslash is doubled, a line feed becomes `-`; CR and NUL are
    dropped. An empty text would be no word, and becomes `N/A`.
    """
    escaped = text.translate(_FIELD_ESCAPES) or _EMPTY_FIELD
    try:
        return escaped.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair
        return escaped.encode("utf-8", "replace")


def encode_line(*fields: str) -> bytes:
    """Return a reply line that has exactly these fields."""
    return b" ".join(map(encode_field, fields)) + b"\r\n"


# Requests


@final
@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A command, its name in upper case, that works in the background; `arguments` follow the request id on the line.

    Two requests are equal only if they are the same object: a client may use a `request_id` twice.
    """

    command: str
    request_id: str
    arguments: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class ImmediateRequest:
    """A command without a request id; `Connection.answer_request` answers it before the next one."""

    command: str
    arguments: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """The one line that answers a command at once: success, failure or error, and a text."""

    letter: Literal["S", "F", "E"]
    text: str


@final
@dataclass(frozen=True, slots=True)
class Quit:
    """QUIT. The connection has answered it, and ignores what the client sent after it."""


# Results

NO_ERROR: Final = "No error"
MALFORMED_ID_CODE: Final = 255
"""The result code for a malformed job id."""

IDLE, RUNNING, REMOVED, COMPLETED, HELD = 1, 2, 3, 4, 5
STATUS_NAMES: Final = {
    IDLE: "Idle",
    RUNNING: "Running",
    REMOVED: "Removed",
    COMPLETED: "Completed",
    HELD: "Held",
}
"""The names of BLAH's status numbers in messages."""


@final
@dataclass(frozen=True, slots=True)
class Result:
    """A result line without its request id: `code text extra...`. Code 0 is success.

    The number of fields is fixed for each command: HTCondor's gridmanager aborts at any other number
    (docs/protocols/blah.md, 1.4). A failure may leave out the extra fields of its command:
    `Connection.finish_request` adds them, by its table of commands.
    """

    code: int = 0
    text: str = NO_ERROR
    extras: tuple[str, ...] = ()


def make_state_result(status: int, job_id: str, *, code: int = 1) -> Result:
    """Return the result for a job whose state the command does not change.

    Its text is as in `Job Removed jobId pbs/20250101/7`. HOLD of a held job succeeds, with code 0.
    """
    return Result(code, f"Job {STATUS_NAMES[status]} jobId {job_id}")


def format_error(error: OSProfileError) -> str:
    """Return an error on one line for a result, which HTCondor shows to the user.

    The location in the site's profile is only for the log (`format_log_entry`).
    """
    return join_lines(failures.format_error(error))


def format_log_entry(error: OSProfileError) -> str:
    """Return an error on one line, with its location, for the log."""
    location = join_lines(str(error.location)) + ": " if error.location else ""
    return location + format_error(error)


def join_lines(text: str) -> str:
    """Return a text of several lines as one, without control characters."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    joined = "; ".join(line for line in lines if line)
    return replace_unprintable(joined)


# Job ids

_JOB_ID: Final = re.compile(
    r"(?P<grid_type>[A-Za-z0-9][A-Za-z0-9_.-]*)/(?P<date>[0-9]{8})/"
    r"(?P<native_id>[A-Za-z0-9][A-Za-z0-9\[\]_.:;+=,~#-]*)"
    r"(?:@(?P<cluster>[A-Za-z0-9][A-Za-z0-9_.-]*))?\Z"
)

_MAX_ID_LENGTH: Final = 1024


@final
class JobId(NamedTuple):
    """A job's id: `<batch system>/<YYYYMMDD>/<native id>[@cluster]` (docs/protocols/blah.md, 3).

    It holds all that is needed to find the job, so that a later daemon understands it. `grid_type` is never
    a path, `native_id` the batch system's id, and `date` that of the submission.
    """

    grid_type: str
    date: str
    native_id: str
    cluster: str | None = None

    def __str__(self) -> str:
        cluster = f"@{self.cluster}" if self.cluster else ""
        return f"{self.grid_type}/{self.date}/{self.native_id}{cluster}"

    @classmethod
    def parse(cls, text: str) -> JobId:
        """Parse a job id. Raises `JobIdError` for a malformed one."""
        match = _JOB_ID.match(text) if len(text) <= _MAX_ID_LENGTH else None
        if match is None:
            hint = "<lrms>/<YYYYMMDD>/<native id>, as in slurm/20261121/1406"
            message = f"Malformed job id {quote_value(text)}"
            raise JobIdError(message, hint=hint)
        return cls(**match.groupdict())

    @classmethod
    def create(cls, grid_type: str, date: dt.date, native_id: str, cluster: str | None = None) -> JobId:
        """Return the id of a job submitted on `date`. Raises `JobIdError` for one that `parse` refuses."""
        return cls.parse(str(cls(grid_type, f"{date:%Y%m%d}", native_id, cluster)))
