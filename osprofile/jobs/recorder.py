"""Writing states down as they come, for one target: what cannot be written is logged, and told on."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord, Missing, Store

log: Final = logging.getLogger("osprofile.jobs")


@final
class StatusRecorder:
    """Keeps the record of one target's jobs up to date. To be used within one event loop."""

    def __init__(self, target: str, store: Store) -> None:
        self._target, self._store = target, store
        self._unwritten: dict[str, JobStatus] = {}
        self._flush_handle: asyncio.Handle | None = None

    def record_status(self, status: JobStatus) -> None:
        """Have a state recorded, together with the others that come at the same time."""
        if self._flush_handle is None:
            self._flush_handle = asyncio.get_running_loop().call_soon(self.flush)
        self._unwritten[status.job_id] = status

    def flush(self) -> None:
        """Record what was to be recorded. Ends that cannot be written are kept for the next time."""
        unwritten, self._unwritten, self._flush_handle = self._unwritten, {}, None
        try:
            if unwritten:
                self._store.update_statuses(self._target, unwritten.values())
        except StoreError as error:
            log.error("the states of %d jobs are not recorded: %s", len(unwritten), error)  # noqa: TRY400
            self._unwritten = {j: s for j, s in unwritten.items() if s.state.is_terminal}

    def discard_status(self, job_id: str) -> None:
        """Do not record what is not recorded yet: the id has come round again."""
        self._unwritten.pop(job_id, None)

    def find_record(self, job_id: str) -> JobRecord | None:
        """Return a job's record; None where it cannot be read."""
        try:
            return self._store.find_job(self._target, job_id)
        except StoreError as error:
            log.error("%s", error)  # noqa: TRY400
            return None

    def record_missing(self, jobs: Mapping[str, Missing | None]) -> None:
        """Record since when nobody knows jobs; None: they are known again."""
        try:
            self._store.record_missing(self._target, jobs)
        except StoreError as error:
            log.error("%s", error)  # noqa: TRY400

    def aborting(self, job_id: str, *, begins: bool) -> None:
        """Record that this process runs ABORT for a job, or that it has ended."""
        try:
            self._store.aborting(self._target, job_id, begins=begins)
        except StoreError as error:
            log.error("%s", error)  # noqa: TRY400

    def record_removal(self, job_id: str, removed_at: float) -> None:
        """Record when the batch system took a job's removal."""
        try:
            self._store.record_removal(self._target, job_id, removed_at)
        except StoreError as error:
            log.error("the removal of job %s is not recorded: %s", job_id, error)  # noqa: TRY400
