"""The answers to requests that fail: problem details by RFC 9457 (docs/protocols/iri.md, 2).

kind                  status
invalid-parameter        400  a member of the request, with the limit in `invalid_params`
unauthorized             401
not-found                404
conflict                 409  the job has ended; the same request is under way
too-large                413
unprocessable            422  the batch system refuses the job; an Idempotency-Key of another request
too-many-requests        429  of one user, or too many jobs
internal-error           500
not-implemented          501  the profile, or osprofile, has nothing that does this
service-unavailable      503  the batch system or its host does not answer: try again
gateway-timeout          504  whether it was done is not known
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    ApplicationNotFoundError,
    IncarnationError,
    JobNotFoundError,
    OSProfileError,
    OutcomeUnknownError,
    RequestError,
    ScriptFailedError,
    SubmissionBusyError,
    TargetError,
    TemplateNotFoundError,
)
from osprofile.executors.failures import format_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

log: Final = logging.getLogger("osprofile.facility")
STATUS_BY_KIND: Final = {
    "invalid-parameter": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "request-timeout": 408,
    "conflict": 409,
    "too-large": 413,
    "unprocessable": 422,
    "too-many-requests": 429,
    "internal-error": 500,
    "not-implemented": 501,
    "service-unavailable": 503,
    "gateway-timeout": 504,
}
KIND_BY_STATUS: Final = {status: kind for kind, status in STATUS_BY_KIND.items()}
RETRY_SECONDS: Final = 30
"""Seconds after which a client tries again when the batch system is away."""
BUSY_RETRY_SECONDS: Final = 2
"""Seconds after which a client tries again when the same request is under way."""
_FAULT: Final = "the request failed because of a fault of the server: see its log"


@final
class InvalidParameter(NamedTuple):
    """A member of a request that is refused: `resources.node_count`, and why."""

    name: str
    reason: str


@final
class ProblemError(RequestError):
    """A request that fails; `kind` is a key of STATUS_BY_KIND, `retry_after` is in seconds."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        hint: str = "",
        invalid_params: Sequence[InvalidParameter] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail, hint=hint)
        self.kind, self.status = kind, STATUS_BY_KIND[kind]
        self.invalid_params = tuple(invalid_params)
        self.retry_after = retry_after

    def format_body(self, root: str, instance: str) -> dict[str, object]:
        """Return the problem as JSON; `root` is the public address, `instance` that of the request."""
        body: dict[str, object] = {
            "type": f"{root}/problems/{self.kind}",
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": format_error(self),
            "instance": instance,
        }
        if self.invalid_params:
            body["invalid_params"] = [param._asdict() for param in self.invalid_params]
        return body


def refuse_members(refusals: Sequence[InvalidParameter]) -> ProblemError:
    """Return the problem of members that are refused."""
    detail = "; ".join(f"{name}: {reason}" for name, reason in refusals)
    return ProblemError("invalid-parameter", detail, invalid_params=refusals)


def refuse(name: str, reason: str) -> ProblemError:
    """Return the problem of one member, or parameter, that is refused."""
    return refuse_members([InvalidParameter(name, reason)])


def check_key(key: object, name: str) -> str | None:
    """Return an Idempotency-Key in its usual form; `name` is how it was given. Raises `ProblemError` if it is no UUID."""
    if key is None:
        return None
    try:
        return str(uuid.UUID(str(key)))
    except ValueError:
        raise refuse(name, "it must be a UUID") from None


def build_problem(error: OSProfileError, member_by_field: Mapping[str, str] | None = None) -> ProblemError:
    """Return the problem of an error of a target system.

    `member_by_field` has the members of the request by the fields of the profile that they set.
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, IncarnationError):
        return refuse((member_by_field or {}).get(error.field, error.field), format_error(error))
    if isinstance(error, ApplicationNotFoundError):
        return refuse("launcher", format_error(error))
    for kind_of_error, kind, retry_after in _KINDS:
        if isinstance(error, kind_of_error):
            return ProblemError(kind, error.message, hint=error.hint, retry_after=retry_after)
    return ProblemError("internal-error", _FAULT)


def find_problem(error: Exception, request: str) -> ProblemError:
    """Return the problem of whatever ended a request; what is not the client's fault is logged, with what the `request` was."""
    if not isinstance(error, OSProfileError):
        log.error("%s: a fault of osprofile", request, exc_info=error)
        return ProblemError("internal-error", _FAULT)
    problem = build_problem(error)
    if problem.kind == "internal-error":
        log.error("%s: %s", request, error)
    return problem


_KINDS: Final[tuple[tuple[type[OSProfileError], str, int | None], ...]] = (
    (JobNotFoundError, "not-found", None),
    (TemplateNotFoundError, "not-implemented", None),
    (SubmissionBusyError, "conflict", BUSY_RETRY_SECONDS),
    (OutcomeUnknownError, "gateway-timeout", None),
    (ScriptFailedError, "unprocessable", None),
    (TargetError, "service-unavailable", RETRY_SECONDS),
)
"""The kinds of the problems of errors, and after how many seconds a client tries again; the first that fits."""


def build_away_problem(error: OSProfileError) -> ProblemError:
    """Return the problem of a batch system, a host or a record that cannot be used now."""
    return ProblemError("service-unavailable", error.message, hint=error.hint, retry_after=RETRY_SECONDS)
