"""Record the states of one target system's jobs. Errors of the store are logged, not raised."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from osprofile.jobs.state import JobStatus, MissingPeriod
    from osprofile.jobs.store import JobRecord, Store

log: Final = logging.getLogger("osprofile.jobs")


@final
class StatusRecorder:
    """Keeps the record of one target's jobs up to date. To be used within one event loop."""

    def __init__(self, target: str, store: Store) -> None:
        self._target, self._store = target, store
        self._unwritten: dict[str, JobStatus] = {}
        self._flush_handle: asyncio.Handle | None = None

    def record_status(self, status: JobStatus) -> None:
        """Record a state soon, in one transaction with the others of this turn of the event loop."""
        if self._flush_handle is None:
            self._flush_handle = asyncio.get_running_loop().call_soon(self.flush)
        self._unwritten[status.job_id] = status

    def flush(self) -> None:
        """Record what is waiting. If that fails, the ends of jobs are kept for the next time."""
        unwritten, self._unwritten, self._flush_handle = self._unwritten, {}, None
        try:
            if unwritten:
                self._store.update_statuses(self._target, unwritten.values())
        except StoreError as error:
            log.error("the states of %d jobs are not recorded: %s", len(unwritten), error)  # noqa: TRY400
            self._unwritten = {j: s for j, s in unwritten.items() if s.state.is_terminal}

    def discard_status(self, job_id: str) -> None:
        """Drop the waiting state of a job whose id now belongs to another job."""
        self._unwritten.pop(job_id, None)

    def find_record(self, job_id: str) -> JobRecord | None:
        """Return a job's record; None if there is none or it cannot be read."""
        record = None
        with _log_store_errors(f"the record of job {job_id} cannot be read"):
            record = self._store.find_job(self._target, job_id)
        return record  # noqa: RET504  # None after an error

    def record_missing(self, jobs: Mapping[str, MissingPeriod | None]) -> None:
        """Record since when jobs are missing; None for those that are known again."""
        with _log_store_errors(f"which of {len(jobs)} jobs are missing is not recorded"):
            self._store.record_missing(self._target, jobs)

    def mark_aborting(self, job_id: str, *, is_running: bool) -> None:
        """Record that this process runs ABORT for a job, or that its ABORT has ended."""
        with _log_store_errors(f"the removal of job {job_id} is not recorded"):
            self._store.mark_aborting(self._target, job_id, is_running=is_running)

    def record_removal(self, job_id: str, removed_at: float) -> None:
        """Record when the batch system accepted a job's removal."""
        with _log_store_errors(f"the removal of job {job_id} is not recorded"):
            self._store.record_removal(self._target, job_id, removed_at)


@contextlib.contextmanager
def _log_store_errors(consequence: str) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        log.error("%s: %s", consequence, error)  # noqa: TRY400
