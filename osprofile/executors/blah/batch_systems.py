"""The batch systems of a site, and their jobs as the client knows them."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import functools
import io
import itertools
import logging
import os
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    InvalidProfileError,
    JobNotFoundError,
    OSProfileError,
    OutcomeUnknownError,
    ProfileNotFoundError,
    ScriptFailedError,
    TargetError,
)
from osprofile.executors.blah.messages import JobId, join_lines
from osprofile.executors.blah.staging import JOB_DIRECTORY_SUFFIX, PROXY_FILE_NAME
from osprofile.executors.settings import PROFILE_NAME
from osprofile.jobs.client import JobClient
from osprofile.jobs.files.directory import JobFile
from osprofile.jobs.profiles import (
    list_job_functions,
    list_profile_names,
    list_settable_fields,
    load_for_jobs,
    load_profile,
)
from osprofile.jobs.record.names import parse_target_name
from osprofile.jobs.record.store import default_store_path
from osprofile.jobs.state import JobState
from osprofile.jobs.timing import Timing
from osprofile.text import quote_name, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.executors.blah.settings import Settings
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.files.directory import NewFile
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.blah")
_REMOVING_PREFIX: Final = "being removed: "
"""Marks the key of a job from the request to remove it until `cancel_job` has released the key."""
_HOLD_MARK: Final = ".gpe/blah_hold"
"""A file in the working directory of a job that a client has held while it ran."""
_BUSY_TIMEOUT: Final = 60.0
"""In seconds: how long to wait for another daemon that is submitting a job with the same key."""
_QUEUE_TIMEOUT: Final = 240.0
"""In seconds: how long to wait while the batch system takes no more jobs. HTCondor waits for 300 s (GRIDMANAGER_GAHP_CALL_TIMEOUT)."""
_RETRY_PAUSES: Final = (2.0, 5.0, 10.0, 20.0)
"""In seconds: when a removal is tried again; the last one stays."""
_ABORT_LATER_STATUS: Final = 2
"""ABORT's exit status if the batch system does not answer."""
_REMOVAL_BATCH_SIZE: Final = 25
_NOT_BEGUN: Final = ("/files", "/no-directory", "/setup")
"""The ends of native states of jobs that could not begin: the profiles' record.sh and explain.sh print them."""


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
                self._target.name, time.time(), _REMOVAL_BATCH_SIZE
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


@final
class _KeptRemoval(NamedTuple):
    """A removal that goes on; `first_answer`: the batch system says first that the job is removed, or refuses it."""

    task: asyncio.Task[None]
    first_answer: asyncio.Future[None]


@final
class BatchSystem:
    """A batch system: `name` is its GridType, `settable_fields` the fields that a job may set."""

    def __init__(self, name: str, target: TargetSystem, remover: JobRemover) -> None:
        self.name, self.target, self._remover = name, target, remover
        self.settable_fields = list_settable_fields(target.profile)
        self.job_functions = list_job_functions(target.profile)
        """What a staged job needs in the file that `staging` names; empty if START leaves it there."""
        self._kept_removals: dict[str, _KeptRemoval] = {}
        """Those of jobs whose first ABORT the batch system has not answered."""
        self._usage_lock = asyncio.Lock()
        self._measured: dict[str, JobStatus] = {}
        """Jobs whose usage was asked for, until the client is told their ends."""
        self._is_clients_hold: dict[str, bool] = {}
        """Of the suspended jobs."""

    def format_job_id(self, native_id: str, record: JobRecord | None) -> str:
        """Return a job's id for the client; its date is the local day of the submission."""
        submitted = record.status.submitted if record is not None else None
        day = dt.date.fromtimestamp(time.time() if submitted is None else submitted)  # noqa: DTZ012
        return str(JobId.create(self.name, day, native_id))

    async def submit_once(
        self, key: str | None, description: JobDescription, read_files: Callable[[], Sequence[NewFile]] | None
    ) -> str:
        """Return the id of the job with this key; submit it, with its files if it has some, if there is none.

        A key stands for one job until `finish_job`, which is called before the client is told that
        the job has ended or is removed. A submission with the same key that is in progress, here or
        in an earlier daemon, is waited for.
        """
        target = self.target
        if key is not None and (removing := target.find_by_key(_REMOVING_PREFIX + key)) is not None:
            # The client was not told that it is removed: the daemon was killed, or ABORT was cut off.
            await self.cancel_job(removing.status.job_id)
        record = target.find_by_key(key) if key is not None else None
        if record is not None and record.is_submitted:
            native_id = record.status.job_id
            log.info("the job %s is known: %s", key, native_id)
        else:
            if read_files is None:
                native_id = await target.submit(description, key=key)
            else:
                native_id = await target.submit_with_files(description, read_files, key=key)
            record = target.find_record(native_id)
        return self.format_job_id(native_id, record)

    async def get_job_status(self, native_id: str, max_age: float) -> JobStatus | None:
        """Return a job's status, at most `max_age` seconds old; None if the job is not known.

        If the batch system cannot be queried, the last known status is returned.
        """
        try:
            status = (await self.target.statuses([native_id], max_age=max_age)).get(native_id)
        except OSProfileError as error:
            if (known := self.target.get_known_status(native_id)) is None:
                raise
            log.warning("the last known status of job %s is used: %s", native_id, error)
            return known
        is_live = status is not None and not status.state.is_terminal
        if status is not None and is_live and native_id not in self.target.jobs.by_id:
            self.target.adopt_job(status)  # from now on it is polled together with the others
        if status is not None and status.state.is_terminal and status.cpu_time is None:
            return await self._add_usage(status)
        return status

    async def _add_usage(self, status: JobStatus) -> JobStatus:
        """Return the status of an ended job with what it took; one query is for all jobs that have ended by then."""
        async with self._usage_lock:
            if status.job_id not in self._measured:
                ended = [s for s in self.target.jobs.list_ended() if s.cpu_time is None]
                asked = {s.job_id: s for s in (status, *ended) if s.job_id not in self._measured}
                self._measured |= asked  # also if nobody knows
                try:
                    self._measured |= {s.job_id: s for s in await self.target.add_usages([*asked.values()])}
                except OSProfileError as error:
                    log.warning("what ended jobs took is not known: %s", error)
            return self._measured.get(status.job_id, status)

    async def cancel_job(self, native_id: str) -> None:
        """Remove a job and release its key; does nothing for a job that does not exist any more.

        The key is marked before ABORT runs and released after it. If the daemon is killed in
        between, the next one goes on, or a submission with the same key. HTCondor forgets a job whose
        cancel has failed: while the batch system is away this waits, and goes on after an error, too.
        """
        if native_id not in self._kept_removals:
            try:
                await self._remove_job(native_id)
            except OSProfileError as error:
                if not _is_away(error):
                    raise
                log.warning("job %s is removed when that is possible: %s", native_id, error)
                self.keep_removing(native_id)
            else:
                return
        try:
            async with asyncio.timeout(_QUEUE_TIMEOUT):
                await asyncio.shield(self._kept_removals[native_id].first_answer)
        except TimeoutError:
            message = f"job {native_id} is not removed yet: the batch system does not answer"
            raise TargetError(message, hint="it is removed as soon as that answers") from None

    def keep_removing(self, native_id: str) -> None:
        """Go on removing a job, until it has ended."""
        if native_id not in self._kept_removals:
            answer = asyncio.get_running_loop().create_future()
            task = asyncio.ensure_future(self._remove_when_back(native_id, answer))
            self._kept_removals[native_id] = _KeptRemoval(task, answer)
            task.add_done_callback(lambda _: self._kept_removals.pop(native_id))

    async def _remove_when_back(self, native_id: str, answer: asyncio.Future[None]) -> None:
        """Remove a job. A refusal, which may come just after a restart, gives nothing up: HTCondor forgets the job."""
        try:
            for pause in itertools.chain(_RETRY_PAUSES, itertools.repeat(_RETRY_PAUSES[-1])):
                try:
                    await self._remove_job(native_id)
                except OSProfileError as error:
                    if not _is_away(error) and not answer.done():
                        log.warning(
                            "job %s is not removed, which is tried until it has ended: %s", native_id, error
                        )
                        answer.set_exception(error)
                        answer.exception()  # nobody may be waiting for it
                else:
                    if not answer.done():
                        answer.set_result(None)
                    break
                await asyncio.sleep(pause)
        finally:
            answer.cancel()

    async def wait_for_removals(self) -> None:
        """Wait until no removal is left that has to be tried again."""
        while self._kept_removals:
            await asyncio.wait([removal.task for removal in self._kept_removals.values()])

    async def _remove_job(self, native_id: str) -> None:
        store, target_name = self.target.store, self.target.name
        record = self.target.find_record(native_id)
        key = (record.key if record is not None else None) or ""
        is_marked = key.startswith(_REMOVING_PREFIX)
        if key and not is_marked:
            store.set_key(target_name, native_id, _REMOVING_PREFIX + key)
        if not is_marked or not await self._has_job_ended(native_id):
            try:
                with contextlib.suppress(JobNotFoundError):  # it does not exist any more
                    await self.target.abort_unless_ended(native_id)
            except OutcomeUnknownError:
                raise
            except OSProfileError as error:
                if _is_away(error) or native_id in self._kept_removals:
                    raise
                record = self.target.find_record(native_id)
                # Without a key, the client was told meanwhile that the job has ended.
                if record is not None and record.key:
                    store.set_key(target_name, native_id, key.removeprefix(_REMOVING_PREFIX))
                raise
        self.finish_job(native_id)

    async def hold_job(self, status: JobStatus) -> None:
        """Hold a job. If it runs, a mark in its directory shows later daemons that the client holds it."""
        await self.target.hold(status.job_id)
        if status.state is not JobState.QUEUED:
            self._is_clients_hold[status.job_id] = True
            await self._mark_hold(status.job_id, is_held=True)

    async def resume_job(self, status: JobStatus) -> None:
        """Resume a job; a later hold is not the client's."""
        if await self.is_held_by_client(status):
            await self._mark_hold(status.job_id, is_held=False)
        await self.target.resume(status.job_id)
        self._is_clients_hold.pop(status.job_id, None)

    async def is_held_by_client(self, status: JobStatus) -> bool:
        """Return whether a job that has begun is suspended by `hold_job`, and not by the batch system."""
        job_id = status.job_id
        if not status.is_suspended:
            self._is_clients_hold.pop(job_id, None)
        elif job_id not in self._is_clients_hold:
            self._is_clients_hold[job_id] = False
            with contextlib.suppress(OSProfileError):  # it has no directory of ours
                mark = await self._locate_hold_mark(job_id)
                self._is_clients_hold[job_id] = await self.target.files.has_program(mark.path)
        return self._is_clients_hold.get(job_id, False)

    async def _mark_hold(self, native_id: str, *, is_held: bool) -> None:
        try:
            mark = await self._locate_hold_mark(native_id)
            if is_held:
                await self.target.files.upload_file(io.BytesIO(), mark)
            else:
                await self.target.files.delete_path(mark.path)
        except OSProfileError as error:
            log.warning("whose hold of job %s it is cannot be noted: %s", native_id, error)

    async def _locate_hold_mark(self, native_id: str) -> JobFile:
        return JobFile(await self.target.find_job_directory(native_id), _HOLD_MARK)

    async def _has_job_ended(self, native_id: str) -> bool:
        status = await self.get_job_status(native_id, 0.0)
        return status is None or status.state.is_terminal

    def explain_failed_start(self, status: JobStatus, reason: str) -> None:
        """Write why a job could not begin to its standard error, which it has not opened, if that is on this machine."""
        record = self.target.find_record(status.job_id)
        is_here = record is not None and "SSH:HOST" not in parse_target_name(record.target)[1]
        if record is not None and record.stderr and is_here and status.native_state.endswith(_NOT_BEGUN):
            # never over what the job itself has written
            with (
                contextlib.suppress(OSError),
                open(JobFile(record.directory, record.stderr).path, "x") as file,
            ):
                file.write(f"the job could not begin: {reason}\n")

    def finish_job(self, native_id: str) -> None:
        """Let the key of a job stand for a new job, and its files be removed.

        Call this before the client is told that the job has ended: if the daemon were killed in
        between, the key would still stand for the old job. The client uses the id to ask for that.
        """
        self.target.store.set_key(self.target.name, native_id, None)
        self._is_clients_hold.pop(native_id, None)
        self._measured.pop(native_id, None)
        self._remover.schedule_removal(native_id)

    async def close(self) -> None:
        """Stop removing jobs, and what ended jobs have left."""
        tasks = [removal.task for removal in self._kept_removals.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._remover.close()


def _is_away(error: OSProfileError) -> bool:
    """Return whether ABORT failed because the batch system does not answer."""
    return isinstance(error, ScriptFailedError) and error.exit_status == _ABORT_LATER_STATUS


@final
class BatchSystems:
    """The batch systems of a site by GridType; each is opened at its first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        timing = Timing(
            min_poll_interval=settings.fastest,
            max_poll_interval=max(settings.slowest, settings.fastest),
            grace_period=settings.grace,
            busy_timeout=_BUSY_TIMEOUT,
            queue_timeout=_QUEUE_TIMEOUT,
        )
        self._client = JobClient(settings.store, timing=timing, max_parallel_scripts=settings.at_once)
        self._batch_systems: dict[str, BatchSystem] = {}
        self._replaced: list[BatchSystem] = []
        """Those whose profile had errors, and has none any more: requests may be using them."""

    def __getitem__(self, name: str) -> BatchSystem:
        """Return a batch system. Raises `ProfileNotFoundError` if its profile is missing or wrong, and was not kept."""
        if name not in self._batch_systems:
            if not PROFILE_NAME.match(name):
                raise ProfileNotFoundError(f"{quote_value(name)} is not a name of a batch system")
            self._batch_systems[name] = self._start_batch_system(name, self._open_target(name))
        return self._batch_systems[name]

    def get_for_submission(self, name: str) -> BatchSystem:
        """Return a batch system for a new job. Raises `ProfileNotFoundError` if its profile is still missing or wrong."""
        system = self[name]
        if system.target.profile.refusal is not None:
            target = self._open_target(name)  # somebody may have corrected the profile
            if target.profile.refusal is not None:
                raise self._hide_error(name, target.profile.refusal)
            self._replaced.append(system)
            self._batch_systems[name] = self._start_batch_system(name, target)
        return self._batch_systems[name]

    def _open_target(self, name: str) -> TargetSystem:
        settings = self._settings
        profile_name = settings.map.get(name, name)
        load = functools.partial(load_profile, profile_name, settings.profiles)
        try:
            profile = load_for_jobs(load, profile_name, self._client.store.path)
        except (ProfileNotFoundError, InvalidProfileError) as error:
            raise self._hide_error(name, error) from None
        return self._client.open_target(profile, settings.context)

    def _start_batch_system(self, name: str, target: TargetSystem) -> BatchSystem:
        remover = JobRemover(target, self._settings.retention)
        remover.start()
        target.listen()
        self._client.recover_submissions(target)
        return BatchSystem(name, target, remover)

    def _hide_error(self, name: str, error: OSProfileError) -> ProfileNotFoundError:
        """Log the error of a profile, and return one for the client: a site's files are for its administrator only."""
        log.error("%s: %s", name, join_lines(str(error)))
        message, hint = f"the profile {quote_name(name)} has errors", "they are in the daemon's log"
        if isinstance(error, ProfileNotFoundError):
            message = f"there is no profile {quote_value(name)}"
            hint = suggest_names(name, [*self._settings.map, *list_profile_names(self._settings.profiles)])
        return ProfileNotFoundError(message, hint=hint)

    def open_recorded_systems(self) -> dict[str, BatchSystem]:
        """Return the batch systems that have jobs in the record, by GridType."""
        for target in self._client.store.list_targets():
            self._open_recorded_system(target)
        return dict(self._batch_systems)

    def _open_recorded_system(self, target: str) -> BatchSystem | None:
        """Return the batch system of a target of the record; None if it cannot be opened here."""
        grid_types = {profile: grid_type for grid_type, profile in self._settings.map.items()}
        profile, _ = parse_target_name(target)
        name = grid_types.get(profile, profile)
        try:
            return self[name]
        except OSProfileError as error:
            log.warning("the jobs of %s are left out: %s", target, error)
            return None

    def take_over_removals(self) -> None:
        """Go on with the removals that an earlier daemon has not finished; makes no record."""
        if not os.path.exists(self._settings.store or default_store_path()):
            return
        for record in self._client.store.find_keys_on_all_targets(f"{_REMOVING_PREFIX}*"):
            system = self._open_recorded_system(record.target)
            if system is not None and system.target.name == record.target:
                system.keep_removing(record.status.job_id)

    async def wait_for_removals(self) -> None:
        """Wait until no removal is left that a batch system has not answered."""
        for system in (*self._batch_systems.values(), *self._replaced):
            await system.wait_for_removals()

    async def close(self) -> None:
        """Stop watching the jobs, which continue to run."""
        for system in (*self._batch_systems.values(), *self._replaced):
            await system.close()
        await self._client.close()
