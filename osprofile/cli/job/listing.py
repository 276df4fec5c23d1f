"""The list of `incarnate job list`: which jobs, in which order; and all of it where no target system is asked."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job import rows
from osprofile.cli.job.rows import JobRow
from osprofile.jobs.record.file import SCHEMA_VERSION
from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.record.store import JobRecord

RECENT_PERIOD: Final = 86400.0
"""Seconds for which `incarnate job list` shows jobs after their end."""
_OUTPUT_HINT: Final = "incarnate job output ID prints what a job has written"
_FAILURE_HINT: Final = (
    f"{_OUTPUT_HINT}, incarnate job show ID why it failed; incarnate job rerun ID runs it again"
)
_FEW_JOBS: Final = 3
"""So many jobs are listed for somebody who may not know yet how to see their output."""


def list_quiet_jobs(
    selection: TargetSelection,
    *,
    include_old: bool,
    tasks: bool,
    selects: Callable[[rows.JobRow], bool],
    json: bool,
) -> int | None:
    """Print the recorded jobs if none of them lives, so that no target system is asked; return None otherwise."""
    path = selection.store or default_store_path()
    if selection.profile or selection.context or not _is_current(path):
        return None
    store = Store(path)
    try:
        targets = store.list_targets()
        if store.list_live_jobs() or any(map(store.list_interrupted_submissions, targets)):
            return None
        since = get_begin(include_old=include_old)
        job_rows = [
            _build_row(store, record, with_tasks=tasks or json)
            for record in list_records(store, targets, (), since)
        ]
    finally:
        store.close()
    print_listed(job_rows, since, tasks=tasks, selects=selects, json=json, is_empty_shown=True)
    return 0


def _is_current(path: str) -> bool:
    """Return whether a file is a record of this version, which is opened without a warning."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError:
        return False
    # The user version (sqlite.org/fileformat2.html); it is 0 as long as it is only in the write-ahead log.
    return int.from_bytes(header[60:64], "big") == SCHEMA_VERSION


def _build_row(store: Store, record: JobRecord, *, with_tasks: bool) -> JobRow:
    if not record.is_submitted:
        return JobRow(record.target, record.status, record, rows.SUBMITTING)
    status = record.status
    return rows.build_row(store, record.target, status, record, with_tasks=with_tasks or not status.reason)


def get_begin(*, include_old: bool) -> float:
    """Return the time (s since 1970) before whose end jobs are not listed."""
    return 0.0 if include_old else time.time() - RECENT_PERIOD


def print_listed(
    job_rows: Iterable[JobRow],
    since: float,
    *,
    tasks: bool,
    selects: Callable[[JobRow], bool],
    json: bool,
    is_empty_shown: bool,
) -> None:
    """Print the selected ones of jobs, and at a terminal what to do next."""
    recent = [row for row in job_rows if _is_recent(row, since)]
    if tasks and not json:  # in JSON, an array contains its tasks anyway
        recent = [row for job_row in recent for row in job_row.unfold()]
    listed = list(filter(selects, recent))
    if listed or json or is_empty_shown:
        rows.print_rows(listed, json=json)
    if sys.stdout.isatty() and sys.stderr.isatty() and not json and (hint := _choose_hint(listed)):
        common.print_message(hint)


def _choose_hint(listed: Sequence[JobRow]) -> str:
    """Return a line that tells what to do next: where a job has failed, or where there are few jobs."""
    if any(row.status.has_failed for row in listed):
        return _FAILURE_HINT
    has_ended = any(row.status.state is JobState.DONE for row in listed)
    return _OUTPUT_HINT if has_ended and len(listed) <= _FEW_JOBS else ""


def list_records(
    store: Store, targets: Sequence[str], job_ids: Sequence[str], since: float
) -> list[JobRecord]:
    """Return the records of the jobs with these ids; without ids, of those that have not ended before `since`."""
    records: list[JobRecord] = []
    for target in targets:
        if job_ids:
            records += find_records(store, target, job_ids)
        else:
            records += store.list_recent_jobs(target, since) if since else store.list_all_jobs(target)
    return sorted(records, key=lambda record: record.number)


def find_records(store: Store, target: str, job_ids: Sequence[str]) -> list[JobRecord]:
    """Return the records of the jobs of a target that have these ids, without tasks of arrays."""
    found = [store.find_job(target, job_id) for job_id in dict.fromkeys(job_ids)]
    return [record for record in found if record is not None and record.array_id is None]


def _is_recent(row: JobRow, since: float) -> bool:
    status = row.status
    if row.submission_state or not status.state.is_terminal:
        return True
    return (status.ended or status.submitted or 0.0) >= since
