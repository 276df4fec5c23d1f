"""What a client asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar, final

from osprofile.executors.blah.results import (
    AdsResult,
    AnyResult,
    Result,
    SignalResult,
    StatusResult,
    SubmitResult,
)

# In the background

_ResultT_co = TypeVar("_ResultT_co", bound=AnyResult, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Request(Generic[_ResultT_co]):
    """A command that works in the background. Hand its result to `Connection.finish`, once.

    `request_id` is the client's; two requests are the same one only if they are one object.
    """

    result_class: ClassVar[type[AnyResult]]
    request_id: str

    def make_failure(self, text: str, code: int = 1) -> _ResultT_co:
        """Give the result that this request gets if it failed, whatever its kind is."""
        return self.result_class.failure(text, code)  # type: ignore[return-value]  # each class says which


@final
@dataclass(frozen=True, slots=True, eq=False)
class Submit(Request[SubmitResult]):
    """BLAH_JOB_SUBMIT: `ad` is the text of the submit ad."""

    result_class = SubmitResult
    ad: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Status(Request[StatusResult]):
    """BLAH_JOB_STATUS of one job."""

    result_class = StatusResult
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cancel(Request[Result]):
    """BLAH_JOB_CANCEL of one job. That of an ended or unknown job should succeed (page)."""

    result_class = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hold(Request[Result]):
    """BLAH_JOB_HOLD of one job."""

    result_class = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Resume(Request[Result]):
    """BLAH_JOB_RESUME of one job: to what it was before it was held."""

    result_class = Result
    job_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Signal(Request[SignalResult]):
    """BLAH_JOB_SIGNAL: `signal` is a signal's number, for a job that runs."""

    result_class = SignalResult
    job_id: str
    signal: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class RefreshProxy(Request[Result]):
    """BLAH_JOB_REFRESH_PROXY: for jobs that are idle, running or held. `Proxy renewed`."""

    result_class = Result
    job_id: str
    path: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class SendProxy(Request[Result]):
    """BLAH_JOB_SEND_PROXY_TO_WORKER_NODE."""

    result_class = Result
    job_id: str
    path: str
    node: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ping(Request[Result]):
    """BLAH_PING: succeeds if the batch system `lrms` answers."""

    result_class = Result
    lrms: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class HostPort(Request[Result]):
    """BLAH_GET_HOSTPORT: the text is `lrms/host:port` of the daemons that watch logs."""

    result_class = Result


@final
@dataclass(frozen=True, slots=True, eq=False)
class StatusAll(Request[AdsResult]):
    """BLAH_JOB_STATUS_ALL."""

    result_class = AdsResult


@final
@dataclass(frozen=True, slots=True, eq=False)
class StatusSelect(Request[AdsResult]):
    """BLAH_JOB_STATUS_SELECT: of the jobs whose status ads make `expression` true."""

    result_class = AdsResult
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


ImmediateRequest: TypeAlias = (
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
