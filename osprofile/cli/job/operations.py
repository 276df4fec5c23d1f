"""What `incarnate job list`, `hold`, `resume`, `cancel` and `forget` do."""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from osprofile.cli import common
from osprofile.cli.job import listing, rows
from osprofile.cli.job.rows import JobRow
from osprofile.cli.job.session import (
    CommandSession,
    ErrorReporter,
    brief,
    cancellable,
    find_jobs,
    look_up_jobs,
    require_one,
)
from osprofile.errors import (
    JobNotFoundError,
    NotFoundError,
    OSProfileError,
    ScriptFailedError,
    StoreError,
)
from osprofile.incarnation.context import is_generated_name
from osprofile.jobs.client import JobReference, gather_results, query_jobs
from osprofile.jobs.shell.loop import end_at_once_on_signal, gather
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.text import escape_unprintable, pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus

_ACTIONS: Final = {"hold": TargetSystem.hold, "resume": TargetSystem.resume, "cancel": TargetSystem.abort}


async def _add_unrecorded_tasks(
    job_rows: Iterable[JobRow], targets: Mapping[str, TargetSystem]
) -> list[JobRow]:
    """Return the rows with those of the tasks of arrays that were not submitted here behind them."""
    unrecorded: dict[str, list[str]] = {name: [] for name in targets}
    for row in job_rows:
        if row.record is None:
            unrecorded[row.target].append(row.status.job_id)
    answers = [targets[name].query_unrecorded_tasks(ids) for name, ids in unrecorded.items()]
    tasks = dict(zip(unrecorded, await gather(answers), strict=True))
    unfolded = []
    for row in job_rows:
        found = {} if row.record is not None else tasks[row.target].get(row.status.job_id, {})
        unfolded += [row, *(JobRow(row.target, status) for status in found.values())]
    return unfolded


@cancellable
async def control_jobs(verb: str, selection: TargetSelection, job_ids: Sequence[str], *, json: bool) -> int:
    """Hold, resume or cancel jobs; with `json`, print their states afterwards."""
    action = _ACTIONS[verb]
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=False) as session:
        jobs = find_jobs(session, job_ids, failures)
        results = await gather_results(jobs, lambda job: action(job.target, job.job_id))
        errors = [(job, r) for job, r in zip(jobs, results, strict=True) if isinstance(r, OSProfileError)]
        for job, error in errors:
            _add_hint(session, job, error)
            _keep_own_words(job, error)
        failures.report_job_errors((job.job_id, error) for job, error in errors)
        if json:
            job_rows = await _query_rows(session, jobs, failures)
            rows.print_rows(list(job_rows.values()), json=True)
    return failures.exit_code


async def _query_rows(
    session: CommandSession, jobs: Sequence[JobReference], failures: ErrorReporter
) -> dict[JobReference, JobRow]:
    """Query the states of jobs and return their rows, whose ids are the full ones; report errors."""
    results = await query_jobs(jobs)
    job_rows, errors = {}, []
    for job in jobs:
        result, name = results[job], job.target.name
        if isinstance(result, OSProfileError):
            _add_hint(session, job, result)
            errors.append((job.job_id, result))
        else:
            job_rows[job] = session.build_row(name, result)
    failures.report_job_errors(errors)
    return job_rows


def _keep_own_words(job: JobReference, error: OSProfileError) -> None:
    """Make a script's own refusal, as in `ABORT: job 7 has already ended`, the whole message about a job."""
    if isinstance(error, ScriptFailedError) and error.output.startswith(f"{error.template}: "):
        words = error.output.removeprefix(f"{error.template}: ")
        error.message = re.sub(rf"\Ajob {re.escape(job.job_id)}[: ]+", "", words)


def _add_hint(session: CommandSession, job: JobReference, error: OSProfileError) -> None:
    if not error.hint:
        error.hint = session.suggest_other_targets(job)
    from osprofile.jobs.submit.attempts import list_all_runs  # late: only errors need it

    record = job.record
    last = list_all_runs(session.store, record)[-1:] if record is not None else []
    if record is not None and last and last[0].number != record.number and last[0].is_submitted:
        error.hint = f"its last run is job {quote_name(last[0].status.job_id)}"


@brief
async def list_jobs(
    selection: TargetSelection,
    job_ids: Sequence[str],
    *,
    include_old: bool,
    tasks: bool,
    selects: Callable[[rows.JobRow], bool],
    json: bool,
) -> int:
    """Print the recorded jobs, or those with the ids or keys `job_ids`, with their states as queried now.

    With `tasks`, those of arrays are printed, too. Only those are printed that `selects` selects.
    """
    end_at_once_on_signal()
    failures = ErrorReporter()
    async with CommandSession(selection, record_needed=not job_ids) as session:
        if job_ids:
            session.require_recorded_jobs(job_ids)
        are_named = bool(job_ids)
        job_ids = list(dict.fromkeys(look_up_jobs(session, job_ids, session.resolve_key, failures)))
        selected = [name for name in session.store.list_targets() if session.is_selected(name)]
        if are_named and not job_ids:
            selected = []  # no job is known
        answers = await gather([_refresh_target(session, name, job_ids) for name in selected])
        refreshed = dict(zip(selected, answers, strict=True))
        since = listing.get_begin(include_old=include_old or are_named)
        job_rows = [
            _build_row(session, record, refreshed[record.target], with_tasks=tasks or json)
            for record in listing.list_records(session.store, selected, job_ids, since)
        ]
        found = {row.status.job_id for row in job_rows}
        others = find_jobs(session, [i for i in job_ids if i not in found], failures)
        if are_named:
            queried = await _query_rows(session, others, failures)
            pairs = [(row.status.job_id, row) for row in job_rows]
            pairs += [(job.job_id, row) for job, row in queried.items()]
            positions = {job_id: position for position, job_id in enumerate(job_ids)}
            job_rows = [row for _, row in sorted(pairs, key=lambda pair: positions[pair[0]])]
        if tasks:
            job_rows = await _add_unrecorded_tasks(job_rows, {job.target.name: job.target for job in others})
    folds = not (include_old or are_named or json)
    for name, answer in refreshed.items():
        if answer.error is not None:
            stale = [row for row in job_rows if row.target == name and row.is_stale]
            _report_silent_target(name, answer.error, stale, failures, folds=folds)
    if folds:
        job_rows = [row for row in job_rows if not _is_folded(row)]
    listing.print_listed(
        job_rows, since, tasks=tasks, selects=selects, json=json, is_empty_shown=not are_named
    )
    return failures.exit_code if are_named else min(failures.exit_code, 1)


@dataclass(slots=True)
class _Answer:
    """What a target system has answered; `interrupted` has the numbers of interrupted submissions."""

    states: dict[str, JobStatus] = field(default_factory=dict)
    interrupted: set[int] = field(default_factory=set)
    error: OSProfileError | None = None


async def _refresh_target(session: CommandSession, name: str, job_ids: Sequence[str]) -> _Answer:
    """Query the states of a target's live jobs, and of those whose interrupted submission succeeded.

    With `job_ids`, of the live jobs only these.
    """
    answer = _Answer()
    if job_ids:
        found = listing.find_records(session.store, name, job_ids)
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


def _build_row(session: CommandSession, record: JobRecord, answer: _Answer, *, with_tasks: bool) -> JobRow:
    has_failed = answer.error is not None
    if not record.is_submitted:
        if record.number in answer.interrupted:
            return session.build_interrupted_row(record)._replace(is_stale=has_failed)
        return JobRow(record.target, record.status, record, rows.SUBMITTING)
    status = answer.states.get(record.status.job_id)
    known = status or record.status
    has_reason = bool(known.reason) and (status is not None or known.state.is_terminal)
    row = session.build_row(record.target, known, record, with_tasks=with_tasks or not has_reason)
    is_stale = has_failed and status is None and not record.status.state.is_terminal
    return row._replace(is_stale=True) if is_stale else row


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


# The record


@cancellable
async def forget_jobs(
    selection: TargetSelection,
    words: Sequence[str],
    *,
    age: float | None,
    force: bool,
    files: bool,
    json: bool,
) -> int:
    """Delete ended jobs and interrupted submissions from the record; with `json`, print them.

    With `age`, all jobs that ended so many seconds ago. With `force`, also jobs that have not ended, and all of a
    target system by its name. With `files`, also their working directories.
    """
    failures = ErrorReporter()
    forgotten = []
    async with CommandSession(selection) as session:

        async def forget_job(record: JobRecord) -> None:
            _check_deletable(record, force=force)
            if files:
                await _delete_files(session, record)
            session.store.delete_record(record.number)
            row = rows.JobRow(record.target, record.status, record)
            forgotten.append(row if record.is_submitted else session.build_interrupted_row(record))

        async def forget_all(records: Iterable[JobRecord]) -> None:
            for record in records:
                try:
                    await forget_job(record)
                except OSProfileError as error:
                    failures.report_error(error, "")

        if age is not None:
            old = session.store.list_old_jobs(time.time() - age)
            # Nobody named a lost job: it may still run.
            await forget_all(
                record
                for record in old
                if session.is_selected(record.target) and not (files and record.status.state is JobState.LOST)
            )
        for word in words:
            try:
                records = session.store.list_all_jobs(word) if force else []
                await forget_all(records or [_find_deletable(session, word)])
            except OSProfileError as error:
                failures.report_error(error, "")
    if json:
        rows.print_rows(forgotten, json=True)
    return failures.exit_code


async def _delete_files(session: CommandSession, record: JobRecord) -> None:
    """Delete a job's working directory, if it was made for this job. That of a job that may still run is refused."""
    if _may_run(record):
        _refuse_to_delete(record, "it may still run")
    # late: few jobs are deleted
    from osprofile.jobs.submit.attempts import find_continued_directory, list_all_runs

    for run in list_all_runs(session.store, record):
        if _may_run(run) and find_continued_directory(session.store, run) == record.directory:
            _refuse_to_delete(record, f"a later attempt, job {quote_name(run.status.job_id)}, may run there")
    if is_generated_name(os.path.basename(record.directory)):
        await session.open_recorded_target(record.target).files.delete_path(record.directory)


def _may_run(record: JobRecord) -> bool:
    return record.status.state is JobState.LOST or not record.status.state.is_terminal


def _refuse_to_delete(record: JobRecord, reason: str) -> NoReturn:
    message = f"the files of job {quote_name(record.status.job_id)} are kept: {reason}"
    raise StoreError(message, hint="leave --files out to forget the job alone")


def _find_deletable(session: CommandSession, word: str) -> JobRecord:
    """Return the record that a job id, a key or a working directory names."""
    found = {
        record.number: record
        for record in (
            *session.find_records(word),
            *session.store.find_directory_on_all_targets(word),
        )
    }
    records = [
        found[number]
        for number in sorted(found)
        if session.is_selected(found[number].target) and found[number].array_id is None
    ]
    if not records:
        message = f"there is no job or working directory {quote_name(word)} in {session.store.path}"
        hint = "incarnate job list --all shows what is recorded"
        array_ids = [task.array_id for task in session.store.find_on_all_targets(word) if task.array_id]
        if array_ids:
            hint = f"it is a task, which is deleted together with its array {array_ids[0]}"
        raise JobNotFoundError(message, hint=hint)
    return require_one(word, records)


def _check_deletable(record: JobRecord, *, force: bool) -> None:
    """Raise `StoreError` for a job that has not ended, unless `force`, and for one that is being submitted."""
    if record.is_submitted and not record.status.state.is_terminal and not force:
        message = f"job {quote_name(record.status.job_id)} has not ended, according to the record"
        hint = "incarnate job list updates the record; incarnate job cancel ends the job; --force forgets it"
        raise StoreError(message, hint=hint)
    if not record.is_submitted and record.has_live_owner:
        raise StoreError(f"the job in {escape_unprintable(record.directory)} is being submitted")
