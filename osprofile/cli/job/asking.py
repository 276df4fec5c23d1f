"""`incarnate job status|list|hold|resume|abort`."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from osprofile.cli.job import rows
from osprofile.cli.job.rows import Row
from osprofile.cli.job.session import Failures, Job, Session, Stopped, each, find, run
from osprofile.errors import IncarnationError, OSProfileError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from osprofile.cli.job.session import Given
    from osprofile.events.event import JobStatus
    from osprofile.target.store import Record
    from osprofile.target.system import TargetSystem

RECENT: Final = 86400.0
"""Seconds for which `list` shows jobs that have ended."""

Answers = dict[Job, "JobStatus | OSProfileError"]


def status(given: Given, job_ids: Sequence[str], *, json: bool) -> int:
    """Print the states of jobs, asked for now."""
    return _run(_status(given, job_ids, json=json))


def list_jobs(given: Given, *, everything: bool, json: bool) -> int:
    """Print the jobs of the record, their states asked for now."""
    return _run(_list(given, everything=everything, json=json))


def act(verb: str, given: Given, job_ids: Sequence[str], *, json: bool) -> int:
    """Hold, resume or abort jobs; print their states then only as JSON."""
    return _run(_act(verb, given, job_ids, json=json))


def _run(work: Coroutine[Any, Any, int]) -> int:
    try:
        return run(work)
    except Stopped as stop:
        return stop.exit_code


async def _status(given: Given, job_ids: Sequence[str], *, json: bool) -> int:
    failures = Failures()
    async with Session(given, record_needed=False) as session:
        found = await _rows(session, find(session, job_ids, failures), failures)
        if found or json:
            rows.put(found, json=json)
    return failures.exit_code


async def _act(verb: str, given: Given, job_ids: Sequence[str], *, json: bool) -> int:
    failures = Failures()
    async with Session(given, record_needed=False) as session:
        jobs = find(session, job_ids, failures)
        done = await each(jobs, lambda job: getattr(job.target, verb)(job.job_id))
        for job, result in zip(jobs, done, strict=True):
            if isinstance(result, OSProfileError):
                _hint(session, job, result)
                failures.of(job, result)
        if json:
            rows.put(await _rows(session, jobs, failures), json=True)
    return failures.exit_code


async def _rows(session: Session, jobs: Sequence[Job], failures: Failures) -> list[Row]:
    """Ask for the states of jobs; tell what goes wrong."""
    answers = await _ask(session, jobs)
    found = []
    for job in jobs:
        answer, name = answers[job], job.target.name
        if isinstance(answer, OSProfileError):
            _hint(session, job, answer)
            failures.of(job, answer)
        else:
            found.append(Row(name, answer, session.store.find(name, answer.job_id)))
    return found


def _hint(session: Session, job: Job, error: OSProfileError) -> None:
    if not error.hint:
        error.hint = session.elsewhere(job)


async def _ask(session: Session, jobs: Sequence[Job]) -> Answers:
    """Ask for states: one query for the recorded jobs of a target, and one for the others."""
    parts: defaultdict[tuple[TargetSystem, bool], list[Job]] = defaultdict(list)
    for job in jobs:
        recorded = session.store.find(job.target.name, job.job_id) is not None
        parts[job.target, recorded].append(job)
    found: Answers = {}
    asked = (_ask_target(target, some) for (target, _), some in parts.items())
    for answers in await asyncio.gather(*asked):
        found.update(answers)
    return found


async def _ask_target(target: TargetSystem, jobs: Sequence[Job]) -> Answers:
    together: Mapping[str, JobStatus | OSProfileError] = {}
    if len(jobs) > 1:
        try:
            together = await target.answers([job.job_id for job in jobs])
        except IncarnationError:
            pass  # a word that is no id: each by itself
        except OSProfileError as error:
            return dict.fromkeys(jobs, error)
    found: Answers = {job: together[job.job_id] for job in jobs if job.job_id in together}
    rest = [job for job in jobs if job not in found]
    alone = await each(rest, lambda job: target.status(job.job_id))
    return {**found, **dict(zip(rest, alone, strict=True))}


async def _list(given: Given, *, everything: bool, json: bool) -> int:
    failures = Failures()
    async with Session(given) as session:
        names = dict.fromkeys(record.target for record in session.store.all())
        meant = [name for name in names if session.is_meant(name)]
        fresh: dict[tuple[str, str], JobStatus] = {}
        for name, states in zip(
            meant,
            await asyncio.gather(*(_refresh(session, name, failures) for name in meant)),
            strict=True,
        ):
            fresh.update({(name, job_id): state for job_id, state in states.items()})
        cut = {record.number for name in meant for record in session.store.cut(name)}
        found = [
            _row(session, record, fresh, cut)
            for record in session.store.all()
            if record.target in meant
        ]
    since = 0.0 if everything else time.time() - RECENT
    rows.put([row for row in found if _is_recent(row, since)], json=json)
    return 1 if failures.exit_code else 0


async def _refresh(session: Session, name: str, failures: Failures) -> dict[str, JobStatus]:
    """Ask for the states of a target's live jobs; look for those whose submission was cut off."""
    found: dict[str, JobStatus] = {}
    live = [record.status.job_id for record in session.store.live(name)]
    try:
        if live:
            found = await session.target(name).statuses(live)
        if session.store.cut(name):
            recovered = await session.target(name).recover(resubmit=False)
            ids = [r.job_id for r in recovered if r.job_id is not None]
            if ids:
                found |= await session.target(name).statuses(ids)
            for error in filter(None, (r.error for r in recovered)):
                raise error
    except OSProfileError as error:
        failures.add(error, f"{name}: these are the last known states")
    return found


def _row(
    session: Session,
    record: Record,
    fresh: Mapping[tuple[str, str], JobStatus],
    cut: set[int],
) -> Row:
    if not record.is_submitted:
        if record.number in cut:
            return session.cut(record)
        return Row(record.target, record.status, record, rows.SUBMITTING)
    now = fresh.get((record.target, record.status.job_id), record.status)
    return Row(record.target, now, record)


def _is_recent(row: Row, since: float) -> bool:
    status = row.status
    if row.unsubmitted or not status.state.is_terminal:
        return True
    return (status.ended or status.submitted or 0.0) >= since
