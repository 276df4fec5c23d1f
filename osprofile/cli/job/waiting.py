"""`incarnate job wait`: the end of jobs, and the exit code that says how they ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job import progress, rows
from osprofile.cli.job.rows import Row
from osprofile.cli.job.session import Failures, Job, Session, Stopped, find, run
from osprofile.errors import OSProfileError, tell, told
from osprofile.events.event import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.session import Given
    from osprofile.events.event import JobStatus

NOT_ENDED: Final = 124
"""The exit code where `--timeout` is over, as of timeout(1)."""
NO_CODE: Final = common.OUR_ERROR_BESIDE_A_SCRIPT
_WORDS: Final = {
    JobState.DONE: "it ended, but its exit code is not known",
    JobState.FAILED: "the system ended it",
    JobState.REMOVED: "it was removed",
    JobState.LOST: "it was lost",
}


def wait(given: Given, job_ids: Sequence[str], *, patience: float | None, json: bool) -> int:
    """Wait, for so many seconds at the most, for the end of jobs and give the exit code of the first that has another one than 0."""
    try:
        return run(_wait(given, job_ids, patience=patience, json=json))
    except Stopped as stop:
        return stop.exit_code


async def _wait(given: Given, job_ids: Sequence[str], *, patience: float | None, json: bool) -> int:
    failures = Failures()
    async with Session(given, record_needed=False) as session:
        jobs = find(session, job_ids, failures)
        codes = await wait_for(session, jobs, failures, patience=patience, json=json)
    return overall([codes.get(job_id, NO_CODE) for job_id in job_ids])


def overall(codes: Sequence[int]) -> int:
    """Give the exit code for several: NOT_ENDED if one is, else the first that is not 0."""
    return NOT_ENDED if NOT_ENDED in codes else next(filter(None, codes), 0)


async def wait_for(
    session: Session,
    jobs: Sequence[Job],
    failures: Failures,
    *,
    patience: float | None,
    json: bool,
) -> dict[str, int]:
    """Wait for the end of jobs; tell what is no exit code, and give the codes by job id."""
    ended: dict[Job, JobStatus] = {}
    tasks = [asyncio.ensure_future(_end_of(job, ended, failures)) for job in jobs]
    try:
        async with progress.shown(jobs, ended):
            if tasks:
                await asyncio.wait(tasks, timeout=patience)
    except asyncio.CancelledError:
        common.tell("incarnate: interrupted: the jobs go on")
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
        found = ((job, ended.get(job) or job.target.known(job.job_id)) for job in jobs)
        rows.put([_row(session, job, status) for job, status in found if status], json=True)
    return {job.job_id: _code(job, ended.get(job), late=job in late) for job in jobs}


async def _end_of(job: Job, ended: dict[Job, JobStatus], failures: Failures) -> None:
    try:
        ended[job] = await job.target.wait(job.job_id)
    except OSProfileError as error:
        failures.of(job, error)


def _row(session: Session, job: Job, status: JobStatus) -> Row:
    name = job.target.name
    return Row(name, status, session.store.find(name, status.job_id))


def _code(job: Job, status: JobStatus | None, *, late: bool) -> int:
    if late:
        common.tell(f"incarnate: job {told(job.job_id)} has not ended yet; it goes on")
        return NOT_ENDED
    if status is None:  # its error has been told
        return NO_CODE
    code, words = exit_code_of(status)
    if words:
        words = f"{words}: {status.reason}" if status.reason else words
        common.tell(tell(f"incarnate: job {told(job.job_id)} has no exit code: {words}"))
    return code


def exit_code_of(status: JobStatus) -> tuple[int, str]:
    """Give the exit code that stands for a job's end, and why it is none of its own, if so."""
    if status.limit:
        return NO_CODE, "a limit ended it"
    if status.exit_code is not None:
        return status.exit_code, ""
    if status.state is JobState.FAILED and status.signal is not None and 0 < status.signal < 128:
        return 128 + status.signal, ""
    return NO_CODE, _WORDS[status.state]
