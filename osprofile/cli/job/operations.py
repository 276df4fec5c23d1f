"""`incarnate job status|list|hold|resume|abort`."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from osprofile.cli.job import rows
from osprofile.cli.job.rows import JobRow
from osprofile.cli.job.session import (
    ErrorReporter,
    JobReference,
    JobSession,
    SignalReceived,
    find_jobs,
    gather_results,
    run_cancellable,
)
from osprofile.errors import IncarnationError, OSProfileError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord
    from osprofile.jobs.target_system import TargetSystem

RECENT_PERIOD: Final = 86400.0
"""Seconds for which `list_directory` shows jobs that have ended."""

Answers = dict[JobReference, "JobStatus | OSProfileError"]


def show_status(selection: TargetSelection, job_ids: Sequence[str], *, json: bool) -> int:
    """Print the states of jobs, asked for now."""
    return _run_interruptible(_show_status(selection, job_ids, json=json))


def list_jobs(selection: TargetSelection, *, include_old: bool, json: bool) -> int:
    """Print the jobs of the record, their states asked for now."""
    return _run_interruptible(_list_jobs(selection, include_old=include_old, json=json))


def control_jobs(
    verb: str, selection: TargetSelection, job_ids: Sequence[str], *, json: bool
) -> int:
    """Hold, resume or abort jobs; print their states then only as JSON."""
    return _run_interruptible(_control_jobs(verb, selection, job_ids, json=json))


def _run_interruptible(work: Coroutine[Any, Any, int]) -> int:
    try:
        return run_cancellable(work)
    except SignalReceived as stop:
        return stop.exit_code


async def _show_status(selection: TargetSelection, job_ids: Sequence[str], *, json: bool) -> int:
    failures = ErrorReporter()
    async with JobSession(selection, record_needed=False) as session:
        found = await _query_rows(session, find_jobs(session, job_ids, failures), failures)
        if found or json:
            rows.print_rows(found, json=json)
    return failures.exit_code


async def _control_jobs(
    verb: str, selection: TargetSelection, job_ids: Sequence[str], *, json: bool
) -> int:
    failures = ErrorReporter()
    async with JobSession(selection, record_needed=False) as session:
        jobs = find_jobs(session, job_ids, failures)
        done = await gather_results(jobs, lambda job: getattr(job.target, verb)(job.job_id))
        for job, result in zip(jobs, done, strict=True):
            if isinstance(result, OSProfileError):
                _add_hint(session, job, result)
                failures.report_job_error(job, result)
        if json:
            rows.print_rows(await _query_rows(session, jobs, failures), json=True)
    return failures.exit_code


async def _query_rows(
    session: JobSession, jobs: Sequence[JobReference], failures: ErrorReporter
) -> list[JobRow]:
    """Ask for the states of jobs; tell what goes wrong."""
    answers = await _query_states(session, jobs)
    found = []
    for job in jobs:
        answer, name = answers[job], job.target.name
        if isinstance(answer, OSProfileError):
            _add_hint(session, job, answer)
            failures.report_job_error(job, answer)
        else:
            found.append(JobRow(name, answer, session.store.find_job(name, answer.job_id)))
    return found


def _add_hint(session: JobSession, job: JobReference, error: OSProfileError) -> None:
    if not error.hint:
        error.hint = session.suggest_other_targets(job)


async def _query_states(session: JobSession, jobs: Sequence[JobReference]) -> Answers:
    """Ask for states: one query for the recorded jobs of a target, and one for the others."""
    parts: defaultdict[tuple[TargetSystem, bool], list[JobReference]] = defaultdict(list)
    for job in jobs:
        recorded = session.store.find_job(job.target.name, job.job_id) is not None
        parts[job.target, recorded].append(job)
    found: Answers = {}
    asked = (_query_target(target, some) for (target, _), some in parts.items())
    for answers in await asyncio.gather(*asked):
        found.update(answers)
    return found


async def _query_target(target: TargetSystem, jobs: Sequence[JobReference]) -> Answers:
    together: Mapping[str, JobStatus | OSProfileError] = {}
    if len(jobs) > 1:
        try:
            together = await target.statuses_or_errors([job.job_id for job in jobs])
        except IncarnationError:
            pass  # a word that is no id: each by itself
        except OSProfileError as error:
            return dict.fromkeys(jobs, error)
    found: Answers = {job: together[job.job_id] for job in jobs if job.job_id in together}
    rest = [job for job in jobs if job not in found]
    alone = await gather_results(rest, lambda job: target.status(job.job_id))
    return {**found, **dict(zip(rest, alone, strict=True))}


async def _list_jobs(selection: TargetSelection, *, include_old: bool, json: bool) -> int:
    failures = ErrorReporter()
    async with JobSession(selection) as session:
        names = dict.fromkeys(record.target for record in session.store.list_all_jobs())
        meant = [name for name in names if session.is_selected(name)]
        fresh: dict[tuple[str, str], JobStatus] = {}
        for name, states in zip(
            meant,
            await asyncio.gather(*(_refresh_target(session, name, failures) for name in meant)),
            strict=True,
        ):
            fresh.update({(name, job_id): state for job_id, state in states.items()})
        cut = {record.number for name in meant for record in session.store.find_interrupted(name)}
        found = [
            _build_row(session, record, fresh, cut)
            for record in session.store.list_all_jobs()
            if record.target in meant
        ]
    since = 0.0 if include_old else time.time() - RECENT_PERIOD
    rows.print_rows([row for row in found if _is_recent(row, since)], json=json)
    return 1 if failures.exit_code else 0


async def _refresh_target(
    session: JobSession, name: str, failures: ErrorReporter
) -> dict[str, JobStatus]:
    """Ask for the states of a target's live jobs; look for those whose submission was cut off."""
    found: dict[str, JobStatus] = {}
    live = [record.status.job_id for record in session.store.list_live_jobs(name)]
    try:
        if live:
            found = await session.open_recorded_target(name).statuses(live)
        if session.store.find_interrupted(name):
            recovered = await session.open_recorded_target(name).recover_submissions(resubmit=False)
            ids = [r.job_id for r in recovered if r.job_id is not None]
            if ids:
                found |= await session.open_recorded_target(name).statuses(ids)
            for error in filter(None, (r.error for r in recovered)):
                raise error
    except OSProfileError as error:
        failures.report_error(error, f"{name}: these are the last known states")
    return found


def _build_row(
    session: JobSession,
    record: JobRecord,
    fresh: Mapping[tuple[str, str], JobStatus],
    cut: set[int],
) -> JobRow:
    if not record.is_submitted:
        if record.number in cut:
            return session.row_from_cut_record(record)
        return JobRow(record.target, record.status, record, rows.SUBMITTING)
    now = fresh.get((record.target, record.status.job_id), record.status)
    return JobRow(record.target, now, record)


def _is_recent(row: JobRow, since: float) -> bool:
    status = row.status
    if row.submission_state or not status.state.is_terminal:
        return True
    return (status.ended or status.submitted or 0.0) >= since
