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
    nearest,
    shown,
    told,
)
from osprofile.executors.blah.jobids import NAME, JobId
from osprofile.executors.blah.results import one_line
from osprofile.incarnation.plan import plan_of
from osprofile.profile.repository import Repository
from osprofile.target.names import context_of_target
from osprofile.target.pace import Timing
from osprofile.target.store import Store, default_path
from osprofile.target.system import TargetSystem

if TYPE_CHECKING:
    from osprofile.events.event import JobStatus
    from osprofile.executors.blah.settings import Settings
    from osprofile.target.store import Record

log: Final = logging.getLogger("osprofile.blah")


@final
class Site:
    """One batch system: `name` is its GridType, `settable` the fields that a job may set."""

    def __init__(self, name: str, target: TargetSystem) -> None:
        self.name, self.target = name, target
        self.settable = plan_of(target.profile, "START", "", None).settable
        self._going: dict[str, asyncio.Task[str]] = {}

    def id_of(self, record: Record) -> str:
        """Give the id of a job for the client; it names the day on which it was submitted."""
        when = record.status.submitted
        day = dt.date.fromtimestamp(when) if when is not None else dt.date.today()  # noqa: DTZ011, DTZ012
        return str(JobId.make(self.name, day, record.status.job_id))

    async def submit_once(self, key: str | None, work: Submitting) -> str:
        """Submit a job, or give the one that a client calls by this key already.

        The same key is the same job until the client was told its end, or that it is removed: then
        it is given up (`release`), and means a new job. One that is being submitted is waited for,
        here or in the daemon before this one.
        """
        if key is None:
            return await self._run(work, None)
        if key in self._going:
            return await asyncio.shield(self._going[key])
        task = self._going[key] = asyncio.ensure_future(self._submit_once(key, work))
        task.add_done_callback(lambda _: self._going.pop(key))
        return await task

    async def _submit_once(self, key: str, work: Submitting) -> str:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return await self._submit_or_find(key, work)
            except SubmissionBusyError:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_MOMENT)

    async def _submit_or_find(self, key: str, work: Submitting) -> str:
        store, target = self.target.store, self.target.name
        removing = store.find_key(target, _REMOVING + key)
        if removing is not None:
            # Its client was not told whether it is removed: the daemon was killed, or ABORT cut off.
            await self.cancel(removing.status.job_id)
        record = store.find_key(target, key)
        if record is not None and record.is_submitted:
            log.info("the job %s is known: %s", key, record.status.job_id)
            return self.id_of(record)
        return await self._run(work, key)

    async def _run(self, work: Submitting, key: str | None) -> str:
        job_id = await work.submit(key)
        record = self.target.store.find(self.target.name, job_id)
        if record is not None:
            return self.id_of(record)
        return str(JobId.make(self.name, dt.date.today(), job_id))  # noqa: DTZ011

    async def status(self, native: str, max_age: float) -> JobStatus | None:
        """Give a job's state; None if nobody knows it.

        Where the batch system cannot be asked, what was known last stands.
        """
        try:
            found = (await self.target.statuses([native], max_age=max_age)).get(native)
        except OSProfileError as error:
            if native not in self.target.monitor:
                raise
            log.warning("the last known state of job %s stands: %s", native, error)
            return self.target.monitor.status(native)
        if found is not None and not found.state.is_terminal and native not in self.target.monitor:
            self.target.adopt(found)  # from now on it is asked for together with the others
        return found

    async def cancel(self, native: str) -> None:
        """Remove a job, and let its key mean a new one.

        One that is not there any more is as removed as it can be.
        """
        store, target = self.target.store, self.target.name
        record = store.find(target, native)
        key = (record.key if record is not None else None) or ""
        in_doubt = key.startswith(_REMOVING)
        if key and not in_doubt:
            store.set_key(target, native, _REMOVING + key)
        if not in_doubt or not await self._is_over(native):
            try:
                await self._abort(native)
            except ScriptCutError:
                raise
            except OSProfileError:
                store.set_key(target, native, key.removeprefix(_REMOVING) or None)
                raise
        self.release(native)

    async def _abort(self, native: str) -> None:
        try:
            await self.target.abort(native)
        except ScriptCutError:
            raise
        except OSProfileError as error:
            try:
                is_over = await self._is_over(native)
            except OSProfileError:  # who cannot be asked does not say that there is no such job
                raise error from None
            if not is_over:
                raise
            log.info("cancel of %s: %s", native, error)

    async def _is_over(self, native: str) -> bool:
        found = await self.status(native, 0.0)
        return found is None or found.state.is_terminal

    def release(self, native: str) -> None:
        """Let the key of a job mean a new one: its client is about to be told how it ended.

        Before the client is told, lest a daemon that is killed in between give back the old job. One
        that has asked for the job by its id, as it then does again, had noted the id.
        """
        self.target.store.set_key(self.target.name, native, None)


_REMOVING: Final = "being removed: "
"""Stands before the key of a job whose removal was asked for, until the client is told of it."""
_PATIENCE: Final = 60.0
_MOMENT: Final = 0.2


class Submitting:
    """What is to be done to submit one job."""

    async def submit(self, key: str | None) -> str:
        """Submit it under a key and give the batch system's id."""
        raise NotImplementedError


@final
class Sites:
    """All batch systems, by GridType."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._repository = Repository(list(settings.profiles))
        self._store: Store | None = None
        self._sites: dict[str, Site] = {}
        self._recovering: set[asyncio.Task[None]] = set()

    def __getitem__(self, name: str) -> Site:
        """Open a batch system. `OSProfileError` where its profile is missing or wrong."""
        if name not in self._sites:
            if not NAME.match(name):
                message = f"{shown(name)} is no name of a batch system"
                raise AttributeRefusedError(message, attribute="GridType")
            site = self._sites[name] = self._open(name)
            site.target.listen()
            task = asyncio.ensure_future(_recover(site))
            self._recovering.add(task)
            task.add_done_callback(self._recovering.discard)
        return self._sites[name]

    def _open(self, name: str) -> Site:
        settings = self._settings
        try:
            profile = self._repository.load(settings.map.get(name, name))
        except (ProfileNotFoundError, InvalidProfileError) as error:
            # Which files were read, and what is wrong in them, is not for the job's owner.
            log.error("%s: %s", name, one_line(str(error)))  # noqa: TRY400
            message, hint = f"the profile {told(name)} has errors", "they are in the daemon's log"
            if isinstance(error, ProfileNotFoundError):
                known = [*settings.map, *self._repository.names()]
                message, hint = f"there is no profile {shown(name)}", nearest(name, known)
            raise ProfileNotFoundError(message, hint=hint) from None
        timing = Timing(
            fastest=settings.fastest,
            slowest=max(settings.slowest, settings.fastest),
            grace=settings.grace,
        )
        target = TargetSystem(
            profile, settings.context, store=self._record(), timing=timing, at_once=settings.at_once
        )
        return Site(name, target)

    def _record(self) -> Store:
        """Give the jobs' record, opened when it is first needed."""
        if self._store is None:
            self._store = Store(self._settings.store or default_path())
        return self._store

    def recorded(self) -> dict[str, Site]:
        """Give the batch systems on which there are jobs in the record, by GridType."""
        names = {profile: name for name, profile in self._settings.map.items()}
        for target in {record.target for record in self._record().all()}:
            profile, _ = context_of_target(target)
            name = names.get(profile, profile)
            if NAME.match(name) and name not in self._sites:
                try:
                    self[name]
                except OSProfileError as error:
                    log.warning("the jobs of %s are left out: %s", target, error)
        return dict(self._sites)

    async def close(self) -> None:
        """Stop watching. The jobs go on."""
        for task in list(self._recovering):
            task.cancel()
        await asyncio.gather(*self._recovering, return_exceptions=True)
        for site in self._sites.values():
            await site.target.close()
        if self._store is not None:
            self._store.close()


async def _recover(site: Site) -> None:
    """Find the jobs whose submission was cut off when an earlier daemon ended."""
    try:
        for found in await site.target.recover(resubmit=False):
            log.info("cut off in %s: %s", found.record.directory, found.job_id or found.error)
    except OSProfileError as error:
        log.warning("submissions that were cut off are not looked for: %s", error)
