"""What `incarnate job wait` does: waits for jobs to end, and passes on their exit code."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.common import PASS_THROUGH_ERROR, TIMED_OUT
from osprofile.cli.job import progress, rows
from osprofile.cli.job.session import CommandSession, ErrorReporter, JobReference, find_jobs, run_cancellable
from osprofile.errors import OSProfileError, format_message
from osprofile.jobs.state import EndCause, JobState
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.state import JobStatus

_NO_CODE_REASONS: Final = {
    JobState.DONE: "it ended, but its exit code is not known",
    JobState.FAILED: "the system ended it",
    JobState.REMOVED: "it was removed",
    JobState.LOST: "it was lost",
}


def wait_for_jobs(
    selection: TargetSelection, job_ids: Sequence[str], *, timeout: float | None, json: bool
) -> int:
    """Wait for the end of jobs, at most `timeout` seconds, and return the combined exit code."""
    return run_cancellable(_wait_for_jobs(selection, job_ids, time_limit=timeout, json=json))


async def _wait_for_jobs(
    selection: TargetSelection, words: Sequence[str], *, time_limit: float | None, json: bool
) -> int:
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=False) as session:
        found = {word: find_jobs(session, [word], failures) for word in words}
        jobs = [job for listed in found.values() for job in listed]
        codes = await await_jobs(session, jobs, failures, time_limit=time_limit, json=json)
    in_order = (codes[listed[0].job_id] if listed else PASS_THROUGH_ERROR for listed in found.values())
    return combine_exit_codes(list(in_order))


def combine_exit_codes(codes: Sequence[int]) -> int:
    """Return the exit code for several jobs: TIMED_OUT if one has it, else the first that is not 0."""
    return TIMED_OUT if TIMED_OUT in codes else next(filter(None, codes), 0)


async def await_jobs(
    session: CommandSession,
    jobs: Sequence[JobReference],
    failures: ErrorReporter,
    *,
    time_limit: float | None,
    json: bool,
) -> dict[str, int]:
    """Wait for the end of jobs and return their exit codes by id; explain those that are not their own."""
    ended: dict[JobReference, JobStatus] = {}
    tasks = [asyncio.ensure_future(_await_end(job, ended, failures)) for job in jobs]
    try:
        async with progress.show_progress(jobs, ended):
            if tasks:
                await asyncio.wait(tasks, timeout=time_limit)
    except asyncio.CancelledError:
        common.print_message("incarnate: interrupted; the jobs continue")
        raise
    finally:
        late = {job for job, task in zip(jobs, tasks, strict=True) if not task.done()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()  # raises the exception of a bug
    if json:
        pairs = ((job, ended.get(job) or job.target.get_cached_status(job.job_id)) for job in jobs)
        rows.print_rows([session.build_row(job.target.name, s) for job, s in pairs if s], json=True)
    return {job.job_id: _report_exit_code(job, ended.get(job), timed_out=job in late) for job in jobs}


async def _await_end(
    job: JobReference, ended: dict[JobReference, JobStatus], failures: ErrorReporter
) -> None:
    try:
        ended[job] = await job.target.wait(job.job_id)
    except OSProfileError as error:
        failures.report_job_error(job, error)


def _report_exit_code(job: JobReference, status: JobStatus | None, *, timed_out: bool) -> int:
    if timed_out:
        common.print_message(f"incarnate: job {quote_name(job.job_id)} has not ended yet; it continues")
        return TIMED_OUT
    if status is None:  # _await_end has printed the error
        return PASS_THROUGH_ERROR
    code, cause = exit_code_from_status(status)
    if cause:
        record = job.target.store.find_job(job.target.name, status.job_id)
        if record is not None and record.array and status.state is JobState.FAILED and status.reason:
            cause = status.reason
        elif status.reason and status.reason != status.cause:
            cause = f"{cause}: {status.reason}"
        message = f"incarnate: job {quote_name(job.job_id)} has no exit code: {cause}"
        is_orphan = status.cause is EndCause.DEPENDENCY
        hint = (
            f"incarnate job show {quote_name(job.job_id)} tells for which job it waited" if is_orphan else ""
        )
        common.print_message(format_message(message, hint=hint))
    return code


def exit_code_from_status(status: JobStatus) -> tuple[int, str]:
    """Return the exit code of an ended job, and the reason if it is not the job's own."""
    told = f" ({status.cause})" if status.cause is not None else ""
    if status.cause is not None and status.limit_exceeded:
        return PASS_THROUGH_ERROR, rows.CAUSE_TEXTS[status.cause] + told
    if status.exit_code is not None:
        return status.exit_code, ""
    if status.state is JobState.FAILED and status.signal is not None and 0 < status.signal < 128:
        return 128 + status.signal, ""
    return PASS_THROUGH_ERROR, _NO_CODE_REASONS[status.state] + told
