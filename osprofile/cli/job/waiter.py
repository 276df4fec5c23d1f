"""`incarnate job wait`: the end of jobs, and the exit code that says how they ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job import progress, rows
from osprofile.cli.job.rows import JobRow
from osprofile.cli.job.session import (
    ErrorReporter,
    JobReference,
    JobSession,
    SignalReceived,
    find_jobs,
    run_cancellable,
)
from osprofile.errors import OSProfileError, format_message, quote_name
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.state import JobStatus

NOT_ENDED: Final = 124
"""The exit code where `--timeout` is over, as of timeout(1)."""
NO_EXIT_CODE: Final = common.PASS_THROUGH_ERROR
_NO_CODE_REASONS: Final = {
    JobState.DONE: "it ended, but its exit code is not known",
    JobState.FAILED: "the system ended it",
    JobState.REMOVED: "it was removed",
    JobState.LOST: "it was lost",
}


def wait_for_jobs(
    selection: TargetSelection, job_ids: Sequence[str], *, timeout: float | None, json: bool
) -> int:
    """Wait, for so many seconds at the most, for the end of jobs and give the exit code of the first that has another one than 0."""
    try:
        return run_cancellable(_wait_for_jobs(selection, job_ids, time_limit=timeout, json=json))
    except SignalReceived as stop:
        return stop.exit_code


async def _wait_for_jobs(
    selection: TargetSelection, job_ids: Sequence[str], *, time_limit: float | None, json: bool
) -> int:
    failures = ErrorReporter()
    async with JobSession(selection, record_needed=False) as session:
        jobs = find_jobs(session, job_ids, failures)
        codes = await await_jobs(session, jobs, failures, time_limit=time_limit, json=json)
    return combine_exit_codes([codes.get(job_id, NO_EXIT_CODE) for job_id in job_ids])


def combine_exit_codes(codes: Sequence[int]) -> int:
    """Give the exit code for several: NOT_ENDED if one is, else the first that is not 0."""
    return NOT_ENDED if NOT_ENDED in codes else next(filter(None, codes), 0)


async def await_jobs(
    session: JobSession,
    jobs: Sequence[JobReference],
    failures: ErrorReporter,
    *,
    time_limit: float | None,
    json: bool,
) -> dict[str, int]:
    """Wait for the end of jobs; tell what is no exit code, and give the codes by job id."""
    ended: dict[JobReference, JobStatus] = {}
    tasks = [asyncio.ensure_future(_await_end(job, ended, failures)) for job in jobs]
    try:
        async with progress.show_progress(jobs, ended):
            if tasks:
                await asyncio.wait(tasks, timeout=time_limit)
    except asyncio.CancelledError:
        common.print_message("incarnate: interrupted: the jobs go on")
        raise
    finally:
        late = {job for job, task in zip(jobs, tasks, strict=True) if not task.done()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()  # a fault of ours is told as one
    if json:
        found = ((job, ended.get(job) or job.target.get_cached_status(job.job_id)) for job in jobs)
        rows.print_rows(
            [_build_row(session, job, status) for job, status in found if status], json=True
        )
    return {
        job.job_id: _report_exit_code(job, ended.get(job), timed_out=job in late) for job in jobs
    }


async def _await_end(
    job: JobReference, ended: dict[JobReference, JobStatus], failures: ErrorReporter
) -> None:
    try:
        ended[job] = await job.target.wait(job.job_id)
    except OSProfileError as error:
        failures.report_job_error(job, error)


def _build_row(session: JobSession, job: JobReference, status: JobStatus) -> JobRow:
    name = job.target.name
    return JobRow(name, status, session.store.find_job(name, status.job_id))


def _report_exit_code(job: JobReference, status: JobStatus | None, *, timed_out: bool) -> int:
    if timed_out:
        common.print_message(
            f"incarnate: job {quote_name(job.job_id)} has not ended yet; it goes on"
        )
        return NOT_ENDED
    if status is None:  # its error has been told
        return NO_EXIT_CODE
    code, words = exit_code_from_status(status)
    if words:
        words = f"{words}: {status.reason}" if status.reason else words
        common.print_message(
            format_message(f"incarnate: job {quote_name(job.job_id)} has no exit code: {words}")
        )
    return code


def exit_code_from_status(status: JobStatus) -> tuple[int, str]:
    """Give the exit code that stands for a job's end, and why it is none of its own, if so."""
    if status.limit_exceeded:
        return NO_EXIT_CODE, "a limit ended it"
    if status.exit_code is not None:
        return status.exit_code, ""
    if status.state is JobState.FAILED and status.signal is not None and 0 < status.signal < 128:
        return 128 + status.signal, ""
    return NO_EXIT_CODE, _NO_CODE_REASONS[status.state]
