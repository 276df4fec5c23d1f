"""Results: what the client gets for what it asked in the background.

A result's class says how many fields its line has, and none can have another number: three for
`Result`, four for `SubmitResult`, `AdsResult` and `SignalResult`, five for `StatusResult` (page,
"Replies"). HTCondor's gridmanager aborts at any other number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, final

from osprofile.errors import ClassAdError, replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.errors import OSProfileError

NO_ERROR: Final = "No error"
NOT_AVAILABLE: Final = "N/A"
MALFORMED_ID_CODE: Final = 255
"""The code of a result about a job id that is none."""

IDLE, RUNNING, REMOVED, COMPLETED, HELD = 1, 2, 3, 4, 5
STATUS_NAMES: Final = {
    IDLE: "Idle",
    RUNNING: "Running",
    REMOVED: "Removed",
    COMPLETED: "Completed",
    HELD: "Held",
}
"""The numbers of BLAH's states, with their names in messages."""


def format_error(error: OSProfileError) -> str:
    """Give an error on one line, for a result's text: HTCondor shows it to the user.

    Where in the site's profile the rule stands is for the log (`format_log_entry`).
    """
    hint = f" ({error.hint})" if error.hint else ""
    return join_lines(f"{error.message}{hint}")


def format_log_entry(error: OSProfileError) -> str:
    """Return an error on one line, with its place, for the log."""
    place = join_lines(str(error.location)) + ": " if error.location else ""
    return place + format_error(error)


def join_lines(text: str) -> str:
    """Give a text of several lines as one, for people; what a terminal acts on is U+FFFD."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    joined = "; ".join(line for line in lines if line)
    return replace_unprintable(joined)


# Results


@final
@dataclass(frozen=True, slots=True)
class Result:
    """`id code text`: the result of what only succeeds (code 0) or fails."""

    code: int = 0
    text: str = NO_ERROR

    @property
    def fields(self) -> tuple[str, str]:
        """What follows the request id."""
        return str(self.code), self.text

    @classmethod
    def failure(cls, text: str, code: int = 1) -> Result:
        """Give the result of a failure."""
        return cls(code, text)


@final
@dataclass(frozen=True, slots=True)
class SubmitResult:
    """`id code text jobid`: the job's id, or `N/A`."""

    code: int
    text: str
    job_id: str = NOT_AVAILABLE

    @property
    def fields(self) -> tuple[str, str, str]:
        """What follows the request id."""
        return str(self.code), self.text, self.job_id

    @classmethod
    def success(cls, job_id: str) -> SubmitResult:
        """Give the result of a submission."""
        return cls(0, NO_ERROR, job_id)

    @classmethod
    def failure(cls, text: str, code: int = 1) -> SubmitResult:
        """Give the result of a failure; HTCondor makes the text the reason for holding the job."""
        return cls(code, text)

    @classmethod
    def from_error(cls, error: OSProfileError) -> SubmitResult:
        """Give the result of a submission that an error ended."""
        text = format_error(error)
        is_syntax = isinstance(error, ClassAdError)
        return cls(1, f"Error parsing classad: {text}" if is_syntax else text)


@final
@dataclass(frozen=True, slots=True)
class StatusResult:
    """`id code text status ad`: status is 1 to 5, or 0 with the ad `N/A` where it is not known."""

    code: int
    text: str
    status: int = 0
    ad: str = NOT_AVAILABLE

    @property
    def fields(self) -> tuple[str, str, str, str]:
        """What follows the request id."""
        return str(self.code), self.text, str(self.status), self.ad

    @classmethod
    def success(cls, status: int, ad: str) -> StatusResult:
        """Give the result for a job whose status is known."""
        return cls(0, "No Error", status, ad)

    @classmethod
    def failure(cls, text: str, code: int = 1) -> StatusResult:
        """Give the result for a job of which nothing is known."""
        return cls(code, text)


@final
@dataclass(frozen=True, slots=True)
class AdsResult:
    """`id code text [ad;ad;...]`: the status ads of jobs, or `N/A`."""

    code: int
    text: str
    ads: str = NOT_AVAILABLE

    @property
    def fields(self) -> tuple[str, str, str]:
        """What follows the request id."""
        return str(self.code), self.text, self.ads

    @classmethod
    def success(cls, ads: Iterable[str]) -> AdsResult:
        """Give the result with these ads, of which there may be none."""
        return cls(0, NO_ERROR, f"[{';'.join(ads)}]")

    @classmethod
    def failure(cls, text: str, code: int = 1) -> AdsResult:
        """Give the result of a failure."""
        return cls(code, text)


@final
@dataclass(frozen=True, slots=True)
class SignalResult:
    """`id code text status`: the status of the job that got the signal (seed, BLAH_JOB_SIGNAL)."""

    code: int
    text: str
    status: int = 0

    @property
    def fields(self) -> tuple[str, str, str]:
        """What follows the request id."""
        return str(self.code), self.text, str(self.status)

    @classmethod
    def success(cls, status: int) -> SignalResult:
        """Give the result of a signal that was sent."""
        return cls(0, NO_ERROR, status)

    @classmethod
    def failure(cls, text: str, code: int = 1) -> SignalResult:
        """Give the result of a failure."""
        return cls(code, text)


def make_state_result(status: int, job_id: str, *, code: int = 1) -> Result:
    """Give the result for a job whose state does not allow what was asked for.

    As in `Job Removed jobId pbs/20250101/7`. HOLD of a held job is no failure: its code is 0.
    """
    return Result(code, f"Job {STATUS_NAMES[status]} jobId {job_id}")


AnyResult: TypeAlias = Result | SubmitResult | StatusResult | AdsResult | SignalResult
"""A result of any request."""
