"""What `incarnate job forget` does."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from osprofile.cli.job import rows
from osprofile.cli.job.session import CommandSession, ErrorReporter, require_one
from osprofile.errors import JobNotFoundError, OSProfileError, StoreError
from osprofile.incarnation.context import is_generated_name
from osprofile.jobs.state import JobState
from osprofile.text import escape_unprintable, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.record.store import JobRecord


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
                await forget_all(records or [_find_record(session, word)])
            except OSProfileError as error:
                failures.report_error(error, "")
    if json:
        rows.print_rows(forgotten, json=True)
    return failures.exit_code


async def _delete_files(session: CommandSession, record: JobRecord) -> None:
    """Delete a job's working directory, if it was made for this job. That of a job that may still run is refused."""
    if record.status.state is JobState.LOST or not record.status.state.is_terminal:
        message = f"the files of job {quote_name(record.status.job_id)} are kept: it may still run"
        raise StoreError(message, hint="leave --files out to forget the job alone")
    if is_generated_name(os.path.basename(record.directory)):
        await session.open_recorded_target(record.target).files.delete_path(record.directory)


def _find_record(session: CommandSession, word: str) -> JobRecord:
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
