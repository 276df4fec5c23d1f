"""What `incarnate job wait` does: waits for jobs to end, and passes on their exit code."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from osprofile.cli import common
from osprofile.cli.common import PASS_THROUGH_ERROR, TIMED_OUT
from osprofile.cli.job import progress, rows
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable, find_jobs
from osprofile.errors import OSProfileError, format_message
from osprofile.jobs.client import JobReference
from osprofile.jobs.diagnosis import diagnose
from osprofile.jobs.state import EndCause, JobState
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.state import JobStatus


@cancellable
async def wait_for_jobs(
    selection: TargetSelection,
    job_ids: Sequence[str],
    *,
    timeout: float | None,  # noqa: ASYNC109  # the end of jobs, of which some may be known
    json: bool,
) -> int:
    """Wait for the end of jobs, at most `timeout` seconds, and return the combined exit code."""
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=False) as session:
        found = {word: find_jobs(session, [word], failures) for word in session.expand_patterns(job_ids)}
        jobs = [job for listed in found.values() for job in listed]
        codes = await await_jobs(session, jobs, failures, time_limit=timeout, json=json)
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
    codes = await _report_exit_codes(jobs, ended, late)
    last = {job.job_id: JobReference(status.job_id, job.target) for job, status in ended.items()}
    with_files = {job_id: job for job_id, job in last.items() if _has_files(job)}
    if not with_files:
        return codes
    from osprofile.cli.job.files import fetch_ended

    earlier = {
        with_files[job.job_id]: job.target.list_attempts(job.job_id)[:-1]
        for job in jobs
        if job.job_id in with_files and _is_array(with_files[job.job_id])
    }
    return await fetch_ended(with_files, codes, earlier)


def _is_array(job: JobReference) -> bool:
    return job.record is not None and bool(job.record.array)


def _has_files(job: JobReference) -> bool:
    """Return whether a job was submitted with patterns of files to fetch; a task is fetched with its array."""
    record = job.record
    if record is None or record.array_id is not None:
        return False
    return bool(job.target.store.read_details(record.number).files.fetch)


async def _await_end(
    job: JobReference, ended: dict[JobReference, JobStatus], failures: ErrorReporter
) -> None:
    try:
        ended[job] = await job.target.wait(job.job_id)
    except OSProfileError as error:
        failures.report_job_error(job, error)


async def _report_exit_codes(
    jobs: Sequence[JobReference], ended: Mapping[JobReference, JobStatus], late: Collection[JobReference]
) -> dict[str, int]:
    """Return the exit codes of jobs by id; explain those that are not their own, each cause once."""
    codes: dict[str, int] = {}
    by_cause: defaultdict[tuple[str, str], list[JobReference]] = defaultdict(list)
    by_code: defaultdict[int, list[str]] = defaultdict(list)
    for job in jobs:
        if job in late or job not in ended:  # of an error, _await_end has printed it
            codes[job.job_id] = TIMED_OUT if job in late else PASS_THROUGH_ERROR
            continue
        status = ended[job]
        codes[job.job_id] = code = get_exit_code(status)
        if status.exit_code != code or status.limit_exceeded:
            by_cause[status.describe_end(), status.reason].append(job)
        elif code:
            by_code[code].append(job.job_id)
    for alike in by_cause.values():
        await _print_cause(alike, ended[alike[0]])
    for code, job_ids in by_code.items() if len(jobs) > 1 else ():
        common.print_message(f"incarnate: {rows.name_jobs(job_ids)} ended with exit code {code}")
    if late_ids := [job.target.list_attempts(job.job_id)[-1] for job in jobs if job in late]:
        words = (
            "has not ended yet; it continues" if len(late_ids) == 1 else "have not ended yet; they continue"
        )
        common.print_message(f"incarnate: {rows.name_jobs(late_ids)} {words}")
    return codes


async def _print_cause(jobs: Sequence[JobReference], status: JobStatus) -> None:
    """Print why jobs have no exit code of their own; the first of them, which has this status, is looked at."""
    job, verb = jobs[0], "has" if len(jobs) == 1 else "have"
    cause = status.describe_end()
    record = job.target.find_record(status.job_id)
    is_array = record is not None and record.array
    if status.state is JobState.FAILED and not is_array:
        looked_at = status._replace(hosts=status.hosts if len(jobs) == 1 else ())
        cause = (await diagnose(job.target, looked_at)).cause or cause
    if is_array and status.state is JobState.FAILED and status.reason:
        cause = status.reason
    elif status.reason and status.reason != status.cause:
        cause = f"{cause} ({' '.join(status.reason.split())})"
    message = f"incarnate: {rows.name_jobs([j.job_id for j in jobs])} {verb} no exit code: {cause}"
    is_orphan = status.cause is EndCause.DEPENDENCY
    hint = f"incarnate job show {quote_name(job.job_id)} shows for which job it waited" if is_orphan else ""
    common.print_message(format_message(message, hint=hint))


def get_exit_code(status: JobStatus) -> int:
    """Return the exit code of `job wait` for an ended job: its own, 128+n after signal n, else 125."""
    if status.exit_code is not None and not status.limit_exceeded:
        return status.exit_code
    is_signal = status.state is JobState.FAILED and status.cause in {None, EndCause.SIGNAL}
    if is_signal and status.signal is not None and 0 < status.signal < 128:
        return 128 + status.signal
    return PASS_THROUGH_ERROR
