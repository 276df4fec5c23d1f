"""`incarnate job forget`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.cli.job import rows
from osprofile.cli.job.session import ErrorReporter, JobSession, run_cancellable
from osprofile.errors import JobNotFoundError, OSProfileError, StoreError, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.store import JobRecord


def forget_jobs(selection: TargetSelection, words: Sequence[str], *, json: bool) -> int:
    """Remove jobs that have ended, and submissions that were cut off; print them only as JSON."""
    return run_cancellable(_forget_jobs(selection, words, json=json))


async def _forget_jobs(selection: TargetSelection, words: Sequence[str], *, json: bool) -> int:
    failures = ErrorReporter()
    forgotten = []
    async with JobSession(selection) as session:
        for word in words:
            try:
                record = _find_record(session, word)
                session.store.delete_record(record.number)
                row = rows.JobRow(record.target, record.status, record)
                forgotten.append(
                    row if record.is_submitted else session.row_from_cut_record(record)
                )
            except OSProfileError as error:
                failures.report_error(error, "")
    if json:
        rows.print_rows(forgotten, json=True)
    return failures.exit_code


def _find_record(session: JobSession, word: str) -> JobRecord:
    """Give what a word of the command line names, if it may be forgotten."""
    found = [
        record
        for record in session.store.list_all_jobs()
        if session.is_selected(record.target) and word in {record.status.job_id, record.directory}
    ]
    if not found:
        message = f"{quote_name(word)} is no job and no working directory in {session.store.path}"
        raise JobNotFoundError(message, hint="incarnate job list --all shows what is there")
    if len(found) > 1:
        names = ", ".join(record.target for record in found)
        message = f"{quote_name(word)} is recorded on several target systems: {names}"
        raise JobNotFoundError(message, hint="--profile and --host say which")
    (record,) = found
    if record.is_submitted and not record.status.state.is_terminal:
        message = f"job {quote_name(word)} has not ended, as far as is known"
        raise StoreError(message, hint="abort it first; status asks what became of it")
    if not record.is_submitted and record.is_being_submitted:
        raise StoreError(f"the job in {quote_name(word)} is being submitted just now")
    return record
