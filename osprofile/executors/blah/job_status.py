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

from osprofile.executors.blah.classad import Evaluator, parse_ad, parse_expression, write_ad
from osprofile.executors.blah.results import (
    COMPLETED,
    HELD,
    IDLE,
    REMOVED,
    RUNNING,
    StatusResult,
    join_lines,
)
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.executors.blah.classad.nodes import Constant
    from osprofile.jobs.state import JobStatus

_STATUS_NUMBERS: Final = {
    JobState.QUEUED: IDLE,
    JobState.RUNNING: RUNNING,
    JobState.REMOVED: REMOVED,
    JobState.DONE: COMPLETED,
    JobState.FAILED: COMPLETED,
    JobState.HELD: HELD,
}
_DEFAULT_EXIT_SIGNAL: Final = 9


def get_status_number(status: JobStatus, *, held_as_idle: bool = False) -> int:
    """Give the number of a state, 0 for LOST."""
    if status.state is JobState.LOST:
        return 0
    if status.state is JobState.UNKNOWN:
        return IDLE if status.started is None else RUNNING
    number = _STATUS_NUMBERS[status.state]
    return IDLE if number == HELD and held_as_idle else number


def format_status_ad(status: JobStatus, *, held_as_idle: bool = False) -> str:
    """Give a job's status ad, with all that is known of it."""
    number = get_status_number(status, held_as_idle=held_as_idle)
    found: dict[str, Constant] = _describe_exit(status)
    found["JobStatus"] = number
    found["BatchJobId"] = status.job_id
    if status.hosts:
        found["WorkerNode"] = ",".join(status.hosts)
    if number == HELD:
        reason = join_lines(status.reason) or "held in the batch system"
        found["HoldReason"] = reason
    if status.started is not None and status.ended is not None:
        found["RemoteWallClockTime"] = max(round(status.ended - status.started), 0)
    return write_ad(found)


def make_status_result(status: JobStatus, *, held_as_idle: bool = False) -> StatusResult:
    """Give the result of BLAH_JOB_STATUS for what the target system says of a job."""
    if status.state is JobState.LOST:
        reason = join_lines(status.reason)
        why = f": {reason}" if reason else ""
        return StatusResult.failure(f"Job {status.job_id} vanished without a trace{why}")
    number = get_status_number(status, held_as_idle=held_as_idle)
    return StatusResult.success(number, format_status_ad(status, held_as_idle=held_as_idle))


def select_status_ads(ads: Iterable[str], expression: str) -> list[str]:
    """Give those ads of which an expression is true.

    `ClassAdError` for what is no expression: then nothing is selected, not everything.
    """
    node = parse_expression(expression)
    return [ad for ad in ads if Evaluator(parse_ad(ad)).evaluate(node) is True]


def _describe_exit(status: JobStatus) -> dict[str, Constant]:
    """Give the attributes that say how a job ended."""
    if status.state is JobState.FAILED:
        return {"ExitBySignal": True, "ExitSignal": status.signal or _DEFAULT_EXIT_SIGNAL}
    if status.state is JobState.DONE and status.exit_code is not None:
        return {"ExitCode": status.exit_code}
    return {}
