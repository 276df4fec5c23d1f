"""`incarnate job forget`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.cli.job import rows
from osprofile.cli.job.session import Failures, Session, run
from osprofile.errors import JobNotFoundError, OSProfileError, StoreError, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.session import Given
    from osprofile.target.store import Record


def forget(given: Given, words: Sequence[str], *, json: bool) -> int:
    """Remove jobs that have ended, and submissions that were cut off; print them only as JSON."""
    return run(_forget(given, words, json=json))


async def _forget(given: Given, words: Sequence[str], *, json: bool) -> int:
    failures = Failures()
    forgotten = []
    async with Session(given) as session:
        for word in words:
            try:
                record = _record(session, word)
                session.store.forget(record.number)
                row = rows.Row(record.target, record.status, record)
                forgotten.append(row if record.is_submitted else session.cut(record))
            except OSProfileError as error:
                failures.add(error, "")
    if json:
        rows.put(forgotten, json=True)
    return failures.exit_code


def _record(session: Session, word: str) -> Record:
    """Give what a word of the command line names, if it may be forgotten."""
    found = [
        record
        for record in session.store.all()
        if session.is_meant(record.target) and word in {record.status.job_id, record.directory}
    ]
    if not found:
        message = f"{told(word)} is no job and no working directory in {session.store.path}"
        raise JobNotFoundError(message, hint="incarnate job list --all shows what is there")
    if len(found) > 1:
        names = ", ".join(record.target for record in found)
        message = f"{told(word)} is recorded on several target systems: {names}"
        raise JobNotFoundError(message, hint="--profile and --host say which")
    (record,) = found
    if record.is_submitted and not record.status.state.is_terminal:
        message = f"job {told(word)} has not ended, as far as is known"
        raise StoreError(message, hint="abort it first; status asks what became of it")
    if not record.is_submitted and record.is_at_work:
        raise StoreError(f"the job in {told(word)} is being submitted just now")
    return record
