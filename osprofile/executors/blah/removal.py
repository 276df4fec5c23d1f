"""What is left of jobs whose end the client knows: their proxies, directories and records."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptFailedError
from osprofile.executors.blah.staging import JOB_DIRECTORY_SUFFIX, PROXY_FILE_NAME

if TYPE_CHECKING:
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.blah")
_BATCH_SIZE: Final = 25


@final
class JobRemover:
    """Removes the client's jobs of one batch system: their proxies at once, the rest after `retention` seconds.

    A job is marked in the record when the client learns its end. Jobs whose time has come are removed when the
    next one is marked, and when a daemon begins. A shorter `retention` is also for jobs
    that are marked. A job that was lost may still run: nothing of it is removed.
    """

    def __init__(self, target: TargetSystem, retention: float) -> None:
        self._target, self._retention = target, retention
        self._removal: asyncio.Task[None] | None = None
        self._ended_jobs: list[JobRecord] = []

    def start(self) -> None:
        """Remove the jobs whose time has come, in the background."""
        if self._removal is None or self._removal.done():
            self._removal = asyncio.ensure_future(self._remove_files())

    def schedule_removal(self, native_id: str) -> None:
        """Mark a job whose end the client is told now. Any other job of the record is left alone."""
        store = self._target.store
        record = store.find_job(self._target.name, native_id)
        if record is None or not record.directory.endswith(JOB_DIRECTORY_SUFFIX):
            return
        if store.schedule_removal(self._target.name, native_id, time.time() + self._retention):
            self._ended_jobs.append(record)
            self.start()

    async def close(self) -> None:
        """Stop removing: the next daemon goes on."""
        if self._removal is not None:
            self._removal.cancel()
            await asyncio.gather(self._removal, return_exceptions=True)

    async def _remove_files(self) -> None:
        try:
            while self._ended_jobs:
                await self._remove_proxy(self._ended_jobs.pop())
            self._target.store.limit_removals(self._target.name, time.time() + self._retention)
            while records := self._target.store.list_due_removals(
                self._target.name, time.time(), _BATCH_SIZE
            ):
                for record in records:
                    await self._remove_path(record.directory)
                    self._target.store.delete_record(record.number)
        except OSProfileError as error:
            log.warning("files of ended jobs are not removed now: %s", error)

    async def _remove_proxy(self, record: JobRecord) -> None:
        path = f"{record.directory}/{PROXY_FILE_NAME}"
        request = self._target.store.read_details(record.number).request or {}
        if path in request.get("ENVIRONMENT", ""):
            await self._remove_path(path)

    async def _remove_path(self, path: str) -> None:
        """Remove a file or directory; what cannot be removed is logged. Raises the error of a host that does not answer."""
        try:
            await self._target.files.delete_path(path)
        except ScriptFailedError as error:
            log.warning("%s is left behind: %s", path, error)
