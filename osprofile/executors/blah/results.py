"""The results of requests, and the texts in them.

The number of fields of a result line is fixed for each command: HTCondor's gridmanager aborts at
any other number (docs/protocols/blah.md, 1.4). The table of commands in `protocol` has the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.executors import failures
from osprofile.text import replace_unprintable

if TYPE_CHECKING:
    from osprofile.errors import OSProfileError

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

    A failure may leave out the extra fields of its command: `Connection.finish_request` adds them.
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
