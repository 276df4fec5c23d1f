"""What `incarnate job status`, `list`, `hold`, `resume` and `cancel` do."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job import rows
from osprofile.cli.job.rows import JobRow
from osprofile.cli.job.session import (
    CommandSession,
    ErrorReporter,
    JobReference,
    find_jobs,
    gather_results,
    run_cancellable,
)
from osprofile.errors import (
    IncarnationError,
    JobNotFoundError,
    NotFoundError,
    OSProfileError,
    ScriptFailedError,
)
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.text import pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord, Store

_ACTIONS: Final = {"hold": TargetSystem.hold, "resume": TargetSystem.resume, "cancel": TargetSystem.abort}
RECENT_PERIOD: Final = 86400.0
"""Seconds for which `incarnate job list` shows jobs after their end."""
_OUTPUT_HINT: Final = "incarnate job output ID prints what a job has written"
_FAILURE_HINT: Final = f"{_OUTPUT_HINT}, incarnate job show ID everything about it"
_FEW_JOBS: Final = 3
"""So many jobs are listed for somebody who may not know yet how to see their output."""

StatusResults = dict[JobReference, "JobStatus | OSProfileError"]


def show_status(selection: TargetSelection, job_ids: Sequence[str], *, tasks: bool, json: bool) -> int:
    """Query and print the states of jobs; with `tasks`, also those of the tasks of arrays."""
    return run_cancellable(_show_status(selection, job_ids, unfolds=tasks, json=json))


def list_jobs(
    selection: TargetSelection, job_ids: Sequence[str], *, include_old: bool, tasks: bool, json: bool
) -> int:
    """Print the recorded jobs, with their states as queried now.

    `job_ids` selects jobs; with `tasks`, or for those that are named, the tasks of arrays are printed.
    """
    return run_cancellable(
        _list_jobs(selection, job_ids, include_old=include_old, unfolds=tasks or bool(job_ids), json=json)
    )


def control_jobs(verb: str, selection: TargetSelection, job_ids: Sequence[str], *, json: bool) -> int:
    """Hold, resume or cancel jobs; with `json`, print their states afterwards."""
    return run_cancellable(_control_jobs(_ACTIONS[verb], selection, job_ids, json=json))


async def _show_status(
    selection: TargetSelection, job_ids: Sequence[str], *, unfolds: bool, json: bool
) -> int:
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=False) as session:
        jobs = find_jobs(session, job_ids, failures)
        job_rows = await _query_rows(session, jobs, failures)
        if unfolds:
            job_rows = await _add_unrecorded_tasks(job_rows, {job.target.name: job.target for job in jobs})
        if job_rows or json:
            _print_rows(job_rows, unfolds=unfolds, json=json)
    return failures.exit_code


async def _add_unrecorded_tasks(
    job_rows: Iterable[JobRow], targets: Mapping[str, TargetSystem]
) -> list[JobRow]:
    """Return the rows with those of the tasks of arrays that were not submitted here behind them."""
    unfolded = []
    for row in job_rows:
        unfolded.append(row)
        if row.record is None:
            with contextlib.suppress(OSProfileError):  # it is no array
                tasks = await targets[row.target].task_statuses(row.status.job_id)
                unfolded += [JobRow(row.target, status) for status in tasks.values()]
    return unfolded


async def _control_jobs(
    action: Callable[[TargetSystem, str], Awaitable[None]],
    selection: TargetSelection,
    job_ids: Sequence[str],
    *,
    json: bool,
) -> int:
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=False) as session:
        jobs = find_jobs(session, job_ids, failures)
        results = await gather_results(jobs, lambda job: action(job.target, job.job_id))
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, OSProfileError):
                _add_hint(session, job, result)
                _keep_own_words(job, result)
                failures.report_job_error(job, result)
        if json:
            rows.print_rows(await _query_rows(session, jobs, failures), json=True)
    return failures.exit_code


async def _query_rows(
    session: CommandSession, jobs: Sequence[JobReference], failures: ErrorReporter
) -> list[JobRow]:
    """Query the states of jobs and return their rows; report errors."""
    results = await _query_states(session, jobs)
    job_rows = []
    for job in jobs:
        result, name = results[job], job.target.name
        if isinstance(result, OSProfileError):
            _add_hint(session, job, result)
            failures.report_job_error(job, result)
        else:
            job_rows.append(session.build_row(name, result))
    return job_rows


def _print_rows(job_rows: Sequence[JobRow], *, unfolds: bool, json: bool) -> None:
    """Print rows, with `unfolds` those of tasks, too; in JSON, an array always contains its tasks."""
    unfolded = [row for job_row in job_rows for row in job_row.unfold()]
    rows.print_rows(unfolded if unfolds and not json else job_rows, json=json)


def _keep_own_words(job: JobReference, error: OSProfileError) -> None:
    """Make a script's own refusal, as in `ABORT: job 7 has already ended`, the whole message about a job."""
    if isinstance(error, ScriptFailedError) and error.output.startswith(f"{error.template}: "):
        words = error.output.removeprefix(f"{error.template}: ").removeprefix(f"job {job.job_id}")
        error.message = words.lstrip(": ")


def _add_hint(session: CommandSession, job: JobReference, error: OSProfileError) -> None:
    if not error.hint:
        error.hint = session.suggest_other_targets(job)


async def _query_states(session: CommandSession, jobs: Sequence[JobReference]) -> StatusResults:
    """Query states: for each target, one query for its recorded jobs and one for the others."""
    groups: defaultdict[tuple[TargetSystem, bool], list[JobReference]] = defaultdict(list)
    for job in jobs:
        is_recorded = session.store.find_job(job.target.name, job.job_id) is not None
        groups[job.target, is_recorded].append(job)
    results: StatusResults = {}
    queries = (_query_target(target, group) for (target, _), group in groups.items())
    for group_results in await asyncio.gather(*queries):
        results.update(group_results)
    return results


async def _query_target(target: TargetSystem, jobs: Sequence[JobReference]) -> StatusResults:
    by_id: Mapping[str, JobStatus | OSProfileError] = {}
    if len(jobs) > 1:
        try:
            by_id = await target.statuses_or_errors([job.job_id for job in jobs])
        except IncarnationError:
            pass  # one of the job ids is malformed: query each by itself
        except OSProfileError as error:
            return dict.fromkeys(jobs, error)
    results: StatusResults = {job: by_id[job.job_id] for job in jobs if job.job_id in by_id}
    rest = [job for job in jobs if job not in results]
    rest_results = await gather_results(rest, lambda job: target.status(job.job_id))
    return {**results, **dict(zip(rest, rest_results, strict=True))}


async def _list_jobs(
    selection: TargetSelection, job_ids: Sequence[str], *, include_old: bool, unfolds: bool, json: bool
) -> int:
    failures = ErrorReporter()
    async with CommandSession(selection) as session:
        job_ids = list(map(session.resolve_key, job_ids))
        selected = [name for name in session.store.list_targets() if session.is_selected(name)]
        answers = await asyncio.gather(*(_refresh_target(session, name, job_ids) for name in selected))
        refreshed = dict(zip(selected, answers, strict=True))
        since = 0.0 if include_old or job_ids else time.time() - RECENT_PERIOD
        job_rows = [
            _build_row(session, record, refreshed[record.target])
            for record in _list_records(session.store, selected, job_ids, since)
        ]
        found = {row.status.job_id for row in job_rows}
        unlisted = [_build_unlisted_error(session, i) for i in dict.fromkeys(job_ids) if i not in found]
    folds = not (include_old or job_ids or json)
    for name, answer in refreshed.items():
        if answer.error is not None:
            stale = [row for row in job_rows if row.target == name and row.is_stale]
            _report_silent_target(name, answer.error, stale, failures, folds=folds)
    if folds:
        job_rows = [row for row in job_rows if not _is_folded(row)]
    for error in unlisted:
        failures.report_error(error, "")
    listed = [row for row in job_rows if _is_recent(row, since)]
    _print_rows(listed, unfolds=unfolds, json=json)
    if sys.stdout.isatty() and sys.stderr.isatty() and not json and (hint := _choose_hint(listed)):
        common.print_message(hint)
    return 1 if failures.exit_code else 0


def _build_unlisted_error(session: CommandSession, job_id: str) -> JobNotFoundError:
    """Return the error for a word that names no job of the selected target systems in the list."""
    records = session.store.find_on_all_targets(job_id)
    if any(record.array_id for record in records):
        message = f"{quote_name(job_id)} is a task: the list has its array {records[0].array_id}"
        return JobNotFoundError(message, hint="incarnate job status shows one task")
    hint = (
        "incarnate job list --all shows the jobs; incarnate job status --profile NAME asks for any other job"
    )
    if records:
        hint = (
            f"this id is recorded for {' and '.join(rows.format_target_options(r.target) for r in records)}"
        )
    message = f"job {quote_name(job_id)} is not in the record {session.store.path}, by its id or key"
    return JobNotFoundError(f"{message}{', for these options' if records else ''}", hint=hint)


def _choose_hint(listed: Sequence[JobRow]) -> str:
    """Return a line that tells what to do next: where a job has failed, or where there are few jobs."""
    if any(map(_has_failed, listed)):
        return _FAILURE_HINT
    has_ended = any(row.status.state is JobState.DONE for row in listed)
    return _OUTPUT_HINT if has_ended and len(listed) <= _FEW_JOBS else ""


@dataclass(slots=True)
class _Answer:
    """What a target system has answered; `interrupted` has the numbers of submissions that are cut."""

    states: dict[str, JobStatus] = field(default_factory=dict)
    interrupted: set[int] = field(default_factory=set)
    error: OSProfileError | None = None


def _list_records(
    store: Store, targets: Sequence[str], job_ids: Sequence[str], since: float
) -> list[JobRecord]:
    """Return the records of the jobs with these ids; without ids, of those that have not ended before `since`."""
    records: list[JobRecord] = []
    for target in targets:
        if job_ids:
            records += _find_records(store, target, job_ids)
        else:
            records += store.list_recent_jobs(target, since) if since else store.list_all_jobs(target)
    return sorted(records, key=lambda record: record.number)


def _find_records(store: Store, target: str, job_ids: Sequence[str]) -> list[JobRecord]:
    """Return the records of the jobs of a target that have these ids, without tasks of arrays."""
    found = [store.find_job(target, job_id) for job_id in dict.fromkeys(job_ids)]
    return [record for record in found if record is not None and record.array_id is None]


async def _refresh_target(session: CommandSession, name: str, job_ids: Sequence[str]) -> _Answer:
    """Query the states of a target's live jobs, and of those whose interrupted submission succeeded.

    With `job_ids`, of the live jobs only these.
    """
    answer = _Answer()
    if job_ids:
        found = _find_records(session.store, name, job_ids)
        records = [record for record in found if not record.status.state.is_terminal]
    else:
        records = session.store.list_live_jobs(name)
    live = [record.status.job_id for record in records]
    try:
        if live:
            answer.states |= await session.open_recorded_target(name).statuses(live)
        if not job_ids and session.store.list_interrupted_submissions(name):  # they have no ids yet
            recovered = await session.open_recorded_target(name).recover_submissions(resubmit=False)
            ids = [r.job_id for r in recovered if r.job_id is not None]
            if ids:
                answer.states |= await session.open_recorded_target(name).statuses(ids)
            answer.error = next((r.error for r in recovered if r.error is not None), None)
    except OSProfileError as error:
        answer.error = error
    answer.interrupted = {record.number for record in session.store.list_interrupted_submissions(name)}
    return answer


def _build_row(session: CommandSession, record: JobRecord, answer: _Answer) -> JobRow:
    has_failed = answer.error is not None
    if not record.is_submitted:
        if record.number in answer.interrupted:
            return replace(session.row_from_cut_record(record), is_stale=has_failed)
        return JobRow(record.target, record.status, record, rows.SUBMITTING)
    status = answer.states.get(record.status.job_id)
    row = session.build_row(record.target, status or record.status, record)
    is_stale = has_failed and status is None and not record.status.state.is_terminal
    return replace(row, is_stale=is_stale)


def _report_silent_target(
    name: str, error: OSProfileError, stale: Sequence[JobRow], failures: ErrorReporter, *, folds: bool
) -> None:
    """Print one line for a target system that does not answer, with the number of its jobs.

    Its interrupted submissions, about which nothing can be done now, are only counted if `folds`.
    """
    failures.exit_code = failures.exit_code or error.exit_code
    folded = [row for row in stale if folds and _is_folded(row)]
    parts = []
    if len(stale) > len(folded):
        parts.append(f"{pluralize(len(stale) - len(folded), 'job')} as last known")
    if folded:
        parts.append(f"{pluralize(len(folded), 'interrupted submission')}, which --all lists")
    lines = [line.strip() for line in error.message.splitlines() if any(map(str.isalnum, line))]
    reason = " ... ".join([lines[0], lines[-1]] if len(lines) > 1 else lines).rstrip(".")
    text = f"incarnate: {name} does not answer ({'; '.join(parts) or 'no job'}): {reason}"
    if stale and (isinstance(error, NotFoundError) or "@" in name):
        condition = "to forget them" if isinstance(error, NotFoundError) else "if it is gone for good"
        text += f"; {condition}: incarnate job forget --force {shlex.quote(name)}"
    common.print_message(rows.replace_controls(text))


def _is_folded(row: JobRow) -> bool:
    """Return whether a row is that of an interrupted submission to a target that does not answer."""
    return row.is_stale and row.submission_state == rows.INTERRUPTED


def _has_failed(row: JobRow) -> bool:
    status = row.status
    return status.state in {JobState.FAILED, JobState.LOST} or bool(status.exit_code)


def _is_recent(row: JobRow, since: float) -> bool:
    status = row.status
    if row.submission_state or not status.state.is_terminal:
        return True
    return (status.ended or status.submitted or 0.0) >= since
