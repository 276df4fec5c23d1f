"""A job's status in BLAH, a number and a status ad (docs/protocols/blah.md, 2.4 and 5), by state.

QUEUED    1
RUNNING   2   with WorkerNode
REMOVED   3
DONE      4   with ExitCode; without one as FAILED
FAILED    4   with ExitBySignal and ExitSignal, 9 if the signal is not known: without them HTCondor
              would count a job that a limit or the system ended as a success
HELD      2   if it has begun and the batch system has suspended it: HTCondor would cancel it
          5   else, as after BLAH_JOB_HOLD of a running job, with HoldReason;
              1 where a site has set `held_as_idle`, as HTCondor cancels held jobs
LOST      an error as the result
UNKNOWN   1, or 2 once it has run: the job exists in a state that the profile does not define
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad import Evaluator, parse_ad, parse_expression, write_ad
from osprofile.executors.blah.messages import COMPLETED, HELD, IDLE, REMOVED, RUNNING, Result, join_lines
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.executors.blah.classad import Constant
    from osprofile.jobs.state import JobStatus

_STATUS_NUMBERS: Final = {
    JobState.QUEUED: IDLE,
    JobState.RUNNING: RUNNING,
    JobState.REMOVED: REMOVED,
    JobState.DONE: COMPLETED,
    JobState.FAILED: COMPLETED,
    JobState.HELD: HELD,
}
_DEFAULT_EXIT_SIGNAL: Final = 9  # SIGKILL
_MAX_USAGE: Final = 2**62
"""Processors, seconds, or bytes; an integer of a ClassAd has 64 bits."""


def get_status_number(status: JobStatus, *, is_clients_hold: bool = False, held_as_idle: bool = False) -> int:
    """Return the status number of a job; 0 for LOST. `is_clients_hold`: it is suspended by BLAH_JOB_HOLD."""
    if status.state is JobState.LOST:
        return 0
    if status.state is JobState.UNKNOWN:
        return IDLE if status.started is None else RUNNING
    if status.is_suspended:
        return HELD if is_clients_hold else RUNNING
    number = _STATUS_NUMBERS[status.state]
    return IDLE if number == HELD and held_as_idle else number


def format_status_ad(status: JobStatus, number: int) -> str:
    """Return a job's status ad; attributes whose values are not known are left out."""
    ad: dict[str, Constant] = _describe_exit(status)
    ad["JobStatus"] = number
    ad["BatchJobId"] = status.job_id
    if status.hosts:
        ad["WorkerNode"] = ",".join(status.hosts)
    _add_amount(ad, "CpusProvisioned", status.allocated_cpus)
    _add_amount(ad, "MemoryProvisioned", status.allocated_memory, 1 << 20)
    if number == HELD:
        ad["HoldReason"] = join_lines(status.reason) or "held in the batch system"
    if status.state.is_terminal:
        # Not RemoteWallClockTime: HTCondor would add it to the time that it has counted itself.
        _add_amount(ad, "RemoteUserCpu", status.cpu_time)
        _add_amount(ad, "ImageSize", status.max_memory, 1 << 10)
        if reason := explain_end(status):
            ad["ExitReason"] = reason
    return write_ad(ad)


def _add_amount(ad: dict[str, Constant], name: str, value: float | None, unit: int = 1) -> None:
    """Add an amount in units, rounded up, if it is known."""
    if value is not None and 0 <= value < _MAX_USAGE:
        ad[name] = math.ceil(value / unit)


def make_status_result(status: JobStatus, number: int) -> Result:
    """Return the result of BLAH_JOB_STATUS; `number` is that of `get_status_number`."""
    if status.state is JobState.LOST:
        reason = join_lines(status.reason)
        suffix = f": {reason}" if reason else ""
        return Result(1, f"Job {status.job_id} vanished without a trace{suffix}")
    return Result(
        0, "No Error", (str(number), format_status_ad(status, number))
    )  # not NO_ERROR: docs/protocols/blah.md, 2.4


def select_status_ads(ads: Iterable[str], expression: str) -> list[str]:
    """Return the ads for which an expression is true.

    Raises `ClassAdError` for a malformed expression, which thus selects nothing.
    """
    node = parse_expression(expression)
    return [ad for ad in ads if Evaluator(parse_ad(ad)).evaluate(node) is True]


def explain_end(status: JobStatus) -> str:
    """Return why a job ended; empty if its program ended by itself, and nobody said why."""
    reason = join_lines(status.reason)
    return reason or ("" if status.has_exited else status.describe_end())


def _describe_exit(status: JobStatus) -> dict[str, Constant]:
    """Return the attributes that say how a job ended."""
    if status.state not in {JobState.DONE, JobState.FAILED}:
        return {}
    if status.has_exited and status.exit_code is not None:
        return {"ExitCode": status.exit_code}
    return {"ExitBySignal": True, "ExitSignal": status.signal or _DEFAULT_EXIT_SIGNAL}
