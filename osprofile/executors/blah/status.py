"""A job's status as BLAH tells it: a number and an ad (seed, BLAH_JOB_STATUS; page).

QUEUED    1
RUNNING   2   with WorkerNode
REMOVED   3
DONE      4   with ExitCode
FAILED    4   with ExitBySignal and ExitSignal, 9 where none is known: what a limit or the system
ended was killed, and without them HTCondor takes it for a success
HELD      5   with HoldReason; 1 where a site wants it so, because HTCondor cancels what is held
LOST      an error
UNKNOWN   1, or 2 once it was seen to run: the job is there, whatever the system's word means
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.events.event import JobState
from osprofile.executors.blah.classad import Evaluator, parse_ad, parse_expression, write_ad
from osprofile.executors.blah.results import (
    COMPLETED,
    HELD,
    IDLE,
    REMOVED,
    RUNNING,
    StatusResult,
    one_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.events.event import JobStatus
    from osprofile.executors.blah.classad.nodes import Constant

_NUMBER: Final = {
    JobState.QUEUED: IDLE,
    JobState.RUNNING: RUNNING,
    JobState.REMOVED: REMOVED,
    JobState.DONE: COMPLETED,
    JobState.FAILED: COMPLETED,
    JobState.HELD: HELD,
}
_KILLED: Final = 9


def number_of(status: JobStatus, *, held_as_idle: bool = False) -> int:
    """Give the number of a state, 0 for LOST."""
    if status.state is JobState.LOST:
        return 0
    if status.state is JobState.UNKNOWN:
        return IDLE if status.started is None else RUNNING
    number = _NUMBER[status.state]
    return IDLE if number == HELD and held_as_idle else number


def ad_of(status: JobStatus, *, held_as_idle: bool = False) -> str:
    """Give a job's status ad, with all that is known of it."""
    number = number_of(status, held_as_idle=held_as_idle)
    found: dict[str, Constant] = _end_of(status)
    found["JobStatus"] = number
    found["BatchJobId"] = status.job_id
    if status.hosts:
        found["WorkerNode"] = ",".join(status.hosts)
    if number == HELD:
        reason = one_line(status.reason) or "held in the batch system"
        found["HoldReason"] = reason
    if status.started is not None and status.ended is not None:
        found["RemoteWallClockTime"] = max(round(status.ended - status.started), 0)
    return write_ad(found)


def result_of(status: JobStatus, *, held_as_idle: bool = False) -> StatusResult:
    """Give the result of BLAH_JOB_STATUS for what the target system says of a job."""
    if status.state is JobState.LOST:
        reason = one_line(status.reason)
        why = f": {reason}" if reason else ""
        return StatusResult.failed(f"Job {status.job_id} vanished without a trace{why}")
    number = number_of(status, held_as_idle=held_as_idle)
    return StatusResult.told(number, ad_of(status, held_as_idle=held_as_idle))


def selected(ads: Iterable[str], expression: str) -> list[str]:
    """Give those ads of which an expression is true.

    `ClassAdError` for what is no expression: then nothing is selected, not everything.
    """
    node = parse_expression(expression)
    return [ad for ad in ads if Evaluator(parse_ad(ad)).evaluate(node) is True]


def _end_of(status: JobStatus) -> dict[str, Constant]:
    """Give the attributes that say how a job ended."""
    if status.state is JobState.FAILED:
        return {"ExitBySignal": True, "ExitSignal": status.signal or _KILLED}
    if status.state is JobState.DONE and status.exit_code is not None:
        return {"ExitCode": status.exit_code}
    return {}
