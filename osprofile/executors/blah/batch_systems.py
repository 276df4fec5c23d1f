"""The batch systems that a client can name, each opened when it is first named."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import (
    AttributeRefusedError,
    InvalidProfileError,
    OSProfileError,
    ProfileNotFoundError,
    ScriptCutError,
    SubmissionBusyError,
    quote_name,
    quote_value,
    suggest_names,
)
from osprofile.executors.blah.job_id import PROFILE_NAME, JobId
from osprofile.executors.blah.results import join_lines
from osprofile.jobs.profiles import list_profile_names, list_settable_fields, load_profile
from osprofile.jobs.store import Store, default_store_path
from osprofile.jobs.target_names import parse_target_name
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing

if TYPE_CHECKING:
    from osprofile.executors.blah.settings import Settings
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord

log: Final = logging.getLogger("osprofile.blah")


@final
class BatchSystem:
    """One batch system: `name` is its GridType, `settable_fields` the fields that a job may set."""

    def __init__(self, name: str, target: TargetSystem) -> None:
        self.name, self.target = name, target
        self.settable_fields = list_settable_fields(target.profile)
        self._running_submissions: dict[str, asyncio.Task[str]] = {}

    def format_job_id(self, record: JobRecord) -> str:
        """Give the id of a job for the client; it names the day on which it was submitted."""
        when = record.status.submitted
        day = dt.date.fromtimestamp(when) if when is not None else dt.date.today()  # noqa: DTZ011, DTZ012
        return str(JobId.create(self.name, day, record.status.job_id))

    async def submit_once(self, key: str | None, submission: PendingSubmission) -> str:
        """Submit a job, or give the one that a client calls by this key already.

        The same key is the same job until the client was told its end, or that it is removed: then
        it is given up (`release_key`), and means a new job. One that is being submitted is waited for,
        here or in the daemon before this one.
        """
        if key is None:
            return await self._submit_new(submission, None)
        if key in self._running_submissions:
            return await asyncio.shield(self._running_submissions[key])
        task = self._running_submissions[key] = asyncio.ensure_future(
            self._submit_with_retry(key, submission)
        )
        task.add_done_callback(lambda _: self._running_submissions.pop(key))
        return await task

    async def _submit_with_retry(self, key: str, submission: PendingSubmission) -> str:
        until = time.monotonic() + _BUSY_TIMEOUT
        while True:
            try:
                return await self._submit_or_reuse(key, submission)
            except SubmissionBusyError:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_BUSY_RETRY_INTERVAL)

    async def _submit_or_reuse(self, key: str, submission: PendingSubmission) -> str:
        store, target = self.target.store, self.target.name
        removing = store.find_by_key(target, _REMOVING_PREFIX + key)
        if removing is not None:
            # Its client was not told whether it is removed: the daemon was killed, or ABORT cut off.
            await self.cancel_job(removing.status.job_id)
        record = store.find_by_key(target, key)
        if record is not None and record.is_submitted:
            log.info("the job %s is known: %s", key, record.status.job_id)
            return self.format_job_id(record)
        return await self._submit_new(submission, key)

    async def _submit_new(self, submission: PendingSubmission, key: str | None) -> str:
        job_id = await submission.submit(key)
        record = self.target.store.find_job(self.target.name, job_id)
        if record is not None:
            return self.format_job_id(record)
        return str(JobId.create(self.name, dt.date.today(), job_id))  # noqa: DTZ011

    async def get_job_status(self, native: str, max_age: float) -> JobStatus | None:
        """Give a job's state; None if nobody knows it.

        Where the batch system cannot be asked, what was known last stands.
        """
        try:
            found = (await self.target.statuses([native], max_age=max_age)).get(native)
        except OSProfileError as error:
            if native not in self.target.monitor:
                raise
            log.warning("the last known state of job %s stands: %s", native, error)
            return self.target.monitor.get_status(native)
        if found is not None and not found.state.is_terminal and native not in self.target.monitor:
            self.target.adopt_job(found)  # from now on it is asked for together with the others
        return found

    async def cancel_job(self, native: str) -> None:
        """Remove a job, and let its key mean a new one.

        One that is not there any more is as removed as it can be.
        """
        store, target = self.target.store, self.target.name
        record = store.find_job(target, native)
        key = (record.key if record is not None else None) or ""
        in_doubt = key.startswith(_REMOVING_PREFIX)
        if key and not in_doubt:
            store.set_key(target, native, _REMOVING_PREFIX + key)
        if not in_doubt or not await self._has_job_ended(native):
            try:
                await self._abort_job(native)
            except ScriptCutError:
                raise
            except OSProfileError:
                store.set_key(target, native, key.removeprefix(_REMOVING_PREFIX) or None)
                raise
        self.release_key(native)

    async def _abort_job(self, native: str) -> None:
        try:
            await self.target.abort(native)
        except ScriptCutError:
            raise
        except OSProfileError as error:
            try:
                is_over = await self._has_job_ended(native)
            except OSProfileError:  # who cannot be asked does not say that there is no such job
                raise error from None
            if not is_over:
                raise
            log.info("cancel of %s: %s", native, error)

    async def _has_job_ended(self, native: str) -> bool:
        found = await self.get_job_status(native, 0.0)
        return found is None or found.state.is_terminal

    def release_key(self, native: str) -> None:
        """Let the key of a job mean a new one: its client is about to be told how it ended.

        Before the client is told, lest a daemon that is killed in between give back the old job. One
        that has asked for the job by its id, as it then does again, had noted the id.
        """
        self.target.store.set_key(self.target.name, native, None)


_REMOVING_PREFIX: Final = "being removed: "
"""Stands before the key of a job whose removal was asked for, until the client is told of it."""
_BUSY_TIMEOUT: Final = 60.0
_BUSY_RETRY_INTERVAL: Final = 0.2


class PendingSubmission:
    """What is to be done to submit one job."""

    async def submit(self, key: str | None) -> str:
        """Submit it under a key and give the batch system's id."""
        raise NotImplementedError


@final
class BatchSystems:
    """All batch systems, by GridType."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store: Store | None = None
        self._batch_systems: dict[str, BatchSystem] = {}
        self._recovery_tasks: set[asyncio.Task[None]] = set()

    def __getitem__(self, name: str) -> BatchSystem:
        """Open a batch system. `OSProfileError` where its profile is missing or wrong."""
        if name not in self._batch_systems:
            if not PROFILE_NAME.match(name):
                message = f"{quote_value(name)} is no name of a batch system"
                raise AttributeRefusedError(message, attribute="GridType")
            site = self._batch_systems[name] = self._open_batch_system(name)
            site.target.listen()
            task = asyncio.ensure_future(_recover_submissions(site))
            self._recovery_tasks.add(task)
            task.add_done_callback(self._recovery_tasks.discard)
        return self._batch_systems[name]

    def _open_batch_system(self, name: str) -> BatchSystem:
        settings = self._settings
        try:
            profile = load_profile(settings.map.get(name, name), settings.profiles)
        except (ProfileNotFoundError, InvalidProfileError) as error:
            # Which files were read, and what is wrong in them, is not for the job's owner.
            log.error("%s: %s", name, join_lines(str(error)))  # noqa: TRY400
            message, hint = (
                f"the profile {quote_name(name)} has errors",
                "they are in the daemon's log",
            )
            if isinstance(error, ProfileNotFoundError):
                known = [*settings.map, *list_profile_names(settings.profiles)]
                message, hint = (
                    f"there is no profile {quote_value(name)}",
                    suggest_names(name, known),
                )
            raise ProfileNotFoundError(message, hint=hint) from None
        timing = Timing(
            min_poll_interval=settings.fastest,
            max_poll_interval=max(settings.slowest, settings.fastest),
            grace_period=settings.grace,
        )
        target = TargetSystem(
            profile,
            settings.context,
            store=self._open_store(),
            timing=timing,
            max_parallel_scripts=settings.at_once,
        )
        return BatchSystem(name, target)

    def _open_store(self) -> Store:
        """Give the jobs' record, opened when it is first needed."""
        if self._store is None:
            self._store = Store(self._settings.store or default_store_path())
        return self._store

    def open_recorded_systems(self) -> dict[str, BatchSystem]:
        """Give the batch systems on which there are jobs in the record, by GridType."""
        names = {profile: name for name, profile in self._settings.map.items()}
        for target in {record.target for record in self._open_store().list_all_jobs()}:
            profile, _ = parse_target_name(target)
            name = names.get(profile, profile)
            if PROFILE_NAME.match(name) and name not in self._batch_systems:
                try:
                    self[name]
                except OSProfileError as error:
                    log.warning("the jobs of %s are left out: %s", target, error)
        return dict(self._batch_systems)

    async def close(self) -> None:
        """Stop watching. The jobs go on."""
        for task in list(self._recovery_tasks):
            task.cancel()
        await asyncio.gather(*self._recovery_tasks, return_exceptions=True)
        for site in self._batch_systems.values():
            await site.target.close()
        if self._store is not None:
            self._store.close()


async def _recover_submissions(batch_system: BatchSystem) -> None:
    """Find the jobs whose submission was cut off when an earlier daemon ended."""
    try:
        for found in await batch_system.target.recover_submissions(resubmit=False):
            log.info("cut off in %s: %s", found.record.directory, found.job_id or found.error)
    except OSProfileError as error:
        log.warning("submissions that were cut off are not looked for: %s", error)
