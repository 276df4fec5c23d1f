"""What a client asks for, and the result that each of it must get.

A result's class says how many fields its line has, and none can have another number: three for
`Result`, four for `SubmitResult`, `AdsResult` and `SignalResult`, five for `StatusResult` (page,
"Replies"). HTCondor's gridmanager aborts at any other number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, final

from osprofile.errors import ClassAdError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.errors import OSProfileError

NO_ERROR: Final = "No error"
NOT_AVAILABLE: Final = "N/A"
MALFORMED_ID: Final = 255
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


def told_error(error: OSProfileError) -> str:
    """Give an error on one line, for a result's text: HTCondor shows it to the user."""
    place = f"{error.place}: " if error.place else ""
    hint = f" ({error.hint})" if error.hint else ""
    return one_line(f"{place}{error.message}{hint}")


def one_line(text: str) -> str:
    """Give a text of several lines as one, for people; what a terminal acts on is U+FFFD."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    joined = "; ".join(line for line in lines if line)
    return "".join(c if c.isprintable() else "\ufffd" for c in joined)


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
    def failed(cls, text: str, code: int = 1) -> Result:
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
    def submitted(cls, job_id: str) -> SubmitResult:
        """Give the result of a submission."""
        return cls(0, NO_ERROR, job_id)

    @classmethod
    def failed(cls, text: str, code: int = 1) -> SubmitResult:
        """Give the result of a failure; HTCondor makes the text the reason for holding the job."""
        return cls(code, text)

    @classmethod
    def refused(cls, error: OSProfileError) -> SubmitResult:
        """Give the result of a submission that an error ended."""
        text = told_error(error)
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
    def told(cls, status: int, ad: str) -> StatusResult:
        """Give the result for a job whose status is known."""
        return cls(0, "No Error", status, ad)

    @classmethod
    def failed(cls, text: str, code: int = 1) -> StatusResult:
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
    def told(cls, ads: Iterable[str]) -> AdsResult:
        """Give the result with these ads, of which there may be none."""
        return cls(0, NO_ERROR, f"[{';'.join(ads)}]")

    @classmethod
    def failed(cls, text: str, code: int = 1) -> AdsResult:
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
    def sent(cls, status: int) -> SignalResult:
        """Give the result of a signal that was sent."""
        return cls(0, NO_ERROR, status)

    @classmethod
    def failed(cls, text: str, code: int = 1) -> SignalResult:
        """Give the result of a failure."""
        return cls(code, text)


def in_state(status: int, job_id: str, *, code: int = 1) -> Result:
    """Give the result for a job whose state does not allow what was asked for.

    As in `Job Removed jobId pbs/20250101/7`. HOLD of a held job is no failure: its code is 0.
    """
    return Result(code, f"Job {STATUS_NAMES[status]} jobId {job_id}")


# Requests

AnyResult: TypeAlias = Result | SubmitResult | StatusResult | AdsResult | SignalResult
_R_co = TypeVar("_R_co", bound=AnyResult, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Request(Generic[_R_co]):
    """A command that works in the background. Hand its result to `Connection.finish`, once.

    `reqid` is the client's; two requests are the same one only if they are one object.
    """

    result: ClassVar[type[AnyResult]]
    reqid: str

    def failed(self, text: str, code: int = 1) -> _R_co:
        """Give the result that this request gets if it failed, whatever its kind is."""
        return self.result.failed(text, code)  # type: ignore[return-value]  # each class says which


@final
@dataclass(frozen=True, slots=True, eq=False)
class Submit(Request[SubmitResult]):
    """BLAH_JOB_SUBMIT: `ad` is the text of the submit ad."""

    result = SubmitResult
    ad: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Status(Request[StatusResult]):
    """BLAH_JOB_STATUS of one job."""

    result = StatusResult
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cancel(Request[Result]):
    """BLAH_JOB_CANCEL of one job. That of an ended or unknown job should succeed (page)."""

    result = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hold(Request[Result]):
    """BLAH_JOB_HOLD of one job."""

    result = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Resume(Request[Result]):
    """BLAH_JOB_RESUME of one job: to what it was before it was held."""

    result = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Signal(Request[SignalResult]):
    """BLAH_JOB_SIGNAL: `signal` is a signal's number, for a job that runs."""

    result = SignalResult
    job_id: str
    signal: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class RefreshProxy(Request[Result]):
    """BLAH_JOB_REFRESH_PROXY: for jobs that are idle, running or held. `Proxy renewed`."""

    result = Result
    job_id: str
    path: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class SendProxy(Request[Result]):
    """BLAH_JOB_SEND_PROXY_TO_WORKER_NODE."""

    result = Result
    job_id: str
    path: str
    node: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ping(Request[Result]):
    """BLAH_PING: succeeds if the batch system `lrms` answers."""

    result = Result
    lrms: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class HostPort(Request[Result]):
    """BLAH_GET_HOSTPORT: the text is `lrms/host:port` of the daemons that watch logs."""

    result = Result


@final
@dataclass(frozen=True, slots=True, eq=False)
class StatusAll(Request[AdsResult]):
    """BLAH_JOB_STATUS_ALL."""

    result = AdsResult


@final
@dataclass(frozen=True, slots=True, eq=False)
class StatusSelect(Request[AdsResult]):
    """BLAH_JOB_STATUS_SELECT: of the jobs whose status ads make `expression` true."""

    result = AdsResult
    expression: str


# Commands that are answered at once


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """The one line that answers a command at once: `S`uccess, `F`ailure or `E`rror, and a text."""

    letter: Literal["S", "F", "E"]
    text: str


@final
@dataclass(frozen=True, slots=True)
class SetSudoId:
    """BLAH_SET_SUDO_ID."""

    user: str


@final
@dataclass(frozen=True, slots=True)
class SetSudoOff:
    """BLAH_SET_SUDO_OFF."""


@final
@dataclass(frozen=True, slots=True)
class SetGlexecDn:
    """BLAH_SET_GLEXEC_DN."""

    proxy: str
    certificate: str
    number: str


@final
@dataclass(frozen=True, slots=True)
class SetGlexecOff:
    """BLAH_SET_GLEXEC_OFF."""


@final
@dataclass(frozen=True, slots=True)
class CacheProxy:
    """CACHE_PROXY_FROM_FILE."""

    proxy_id: str
    path: str


@final
@dataclass(frozen=True, slots=True)
class UseCachedProxy:
    """USE_CACHED_PROXY."""

    proxy_id: str


@final
@dataclass(frozen=True, slots=True)
class UncacheProxy:
    """UNCACHE_PROXY."""

    proxy_id: str


@final
@dataclass(frozen=True, slots=True)
class Quit:
    """QUIT. It is answered already; nothing that came behind it is read."""


Immediate: TypeAlias = (
    SetSudoId | SetSudoOff | SetGlexecDn | SetGlexecOff | CacheProxy | UseCachedProxy | UncacheProxy
)
"""Must be answered by `Connection.answer` before the next request is taken."""

AnyRequest: TypeAlias = (
    Submit
    | Status
    | Cancel
    | Hold
    | Resume
    | Signal
    | RefreshProxy
    | SendProxy
    | Ping
    | HostPort
    | StatusAll
    | StatusSelect
)
