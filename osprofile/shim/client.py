"""The jobs of a stand-in: their numbers, their submission, and their states.

Programs expect numbers for ids. A file beside the record counts them; the number of a job is in its key in the record,
`shim:NUMBER`. So an interrupted submission keeps its number, and no number has two jobs.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

from osprofile.errors import JobNotFoundError, OutcomeUnknownError, StoreError
from osprofile.javaregex.kept import keep_patterns, use_kept_patterns
from osprofile.jobs.record.names import parse_target_name
from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.state import JobState
from osprofile.late import NamedTuple, compile_late

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from types import TracebackType

    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem
    from osprofile.profile.model import Profile

T = TypeVar("T")
_KEY_PREFIX: Final = "shim:"
_KEY: Final = compile_late(r"shim:([0-9]{1,18})")
_MAX_COUNTER_SIZE: Final = 20
"""The file has the last number, padded with blanks to so many characters."""
_COUNTER_SUFFIX: Final = ".shim-number"
SCRIPT_NAME: Final = "job-script"
WRAPPER_NAME: Final = "job-wrapper"
"""Names of the two files in a job's own directory."""


def has_started(status: JobStatus) -> bool:
    """Return whether a job's program has begun, as far as is known."""
    has_run = status.state in {JobState.RUNNING, JobState.DONE, JobState.FAILED}
    return status.started is not None or status.is_suspended or has_run


class Interruption(BaseException):  # no error: as KeyboardInterrupt, but of any signal
    """A signal that ends this process; `number` is the signal's, `message` says what has happened."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(number, message)
        self.number, self.message = number, message


@final
class Settings(NamedTuple):
    """The settings in a stand-in.

    `profile`: a name, or the absolute path of a file; `profiles`: directories to search first; `target`: the name of the
    target system in the record; `store`: the path of the record, None for the user's own; `ignore`: `harmless` for
    options that change only where and when a job runs; a profile without queues ignores them always.
    """

    profile: str
    profiles: Sequence[str]
    context: Mapping[str, str]
    target: str
    store: str | None
    ignore: str = ""

    def load_profile(self) -> Profile:
        """Return the profile."""
        from osprofile.jobs.profiles import load_profile, load_profile_file

        load = load_profile_file if "/" in self.profile else load_profile
        return load(self.profile, self.profiles)

    def get_store_path(self) -> str:
        """Return the path of the record: as for `incarnate job` if there is none in the settings."""
        return self.store or default_store_path()


@final
class Entry:
    """A job, a task of an array, or an array, with its number and its status.

    `index` is that of a task; `tasks` are those of an array, which only PBS lists as a job of its own.
    """

    __slots__ = ("index", "number", "record", "status", "tasks")

    def __init__(
        self,
        number: int,
        index: int | None,
        status: JobStatus,
        record: JobRecord,
        tasks: Sequence[Entry] = (),
    ) -> None:
        self.number, self.index, self.status, self.record, self.tasks = number, index, status, record, tasks


@final
class Submission(NamedTuple):
    """A job to submit: its description, and the content of the two files in its own directory."""

    description: JobDescription
    script: bytes
    wrapper: bytes


@final
class Client:
    """The jobs of one target system that have numbers.

    `system` is the batch system to look like.
    """

    def __init__(self, settings: Settings, system: str = "slurm") -> None:
        self.settings, self.system = settings, system
        self._requests: dict[int, Mapping[str, str]] = {}

    @property
    def ignores_harmless(self) -> bool:
        """Whether options are ignored that change only where and when a job runs: without queues, they mean nothing."""
        from osprofile.jobs.profiles import list_settable_fields

        return self.settings.ignore == "harmless" or "QUEUE" not in list_settable_fields(self.profile)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "store" in self.__dict__:
            self.store.close()
        keep_patterns()

    @cached_property
    def store(self) -> Store:
        """The record."""
        return Store(self.settings.get_store_path())

    @cached_property
    def profile(self) -> Profile:
        """The profile; no file stays open, as standard input may be closed, and have its number."""
        from osprofile.jobs.profiles import load_for_jobs

        use_kept_patterns()
        name, record = parse_target_name(self.settings.target)[0], self.settings.get_store_path()
        return load_for_jobs(self.settings.load_profile, name, record)

    def run(self, operation: Callable[[TargetSystem], Coroutine[Any, Any, T]]) -> T:
        """Return the result of an operation on the target system; raises the errors of the profile."""
        import asyncio

        from osprofile.jobs.shell.loop import run_cancellable
        from osprofile.jobs.target_system import TargetSystem
        from osprofile.shim.job_wrapper import leave_path

        leave_path()

        async def work() -> T:
            async with TargetSystem(self.profile, self.settings.context, store=self.store) as target:
                if target.name != self.settings.target:
                    message = f"the profile {self.settings.profile} is called {self.profile.name} now, and its jobs are not found"
                    raise StoreError(message, hint="write the stand-ins again with incarnate shim")
                return await operation(target)

        received: list[int] = []
        try:
            return run_cancellable(work(), received, needs_loop=False)
        except asyncio.CancelledError:
            raise Interruption(received[0]) from None

    @property
    def user_name(self) -> str:
        """The name of the jobs' user on the target system."""
        from osprofile.incarnation.context import get_user_name

        context = self.settings.context
        return context.get("USER_NAME") or context.get("SSH:HOST", "").rpartition("@")[0] or get_user_name()

    @property
    def default_queue(self) -> str:
        """The name of the queue where the batch system has none, or tells none: that of the profile."""
        return parse_target_name(self.settings.target)[0]

    def get_requested(self, record: JobRecord, field: str) -> str:
        """Return the value of a field that a job was submitted with; empty if it was not given, or is not recorded."""
        if record.number not in self._requests:
            self._requests[record.number] = self.store.read_details(record.number).request or {}
        return self._requests[record.number].get(field, "")

    def choose_queue(self, name: str | None) -> str | None:
        """Return the queue to request: none for `default_queue`, where the target has no queues."""
        if name != self.default_queue:
            return name
        from osprofile.jobs.profiles import list_settable_fields

        return name if "QUEUE" in list_settable_fields(self.profile) else None

    def may_be_in_queue(self, entry: Entry, queues: Sequence[str]) -> bool:
        """Return whether a job is in one of these queues, or its queue is not known: it may be meant."""
        queue = entry.status.queue or self.get_requested(entry.record, "QUEUE")
        return not queue or queue in queues

    # Submitting

    def submit(self, make_submission: Callable[[int, str], Submission]) -> int:
        """Submit the job that `make_submission(number, directory)` describes, and return its number.

        What the profile refuses is raised before anything is written to the target system.
        """
        from osprofile.jobs.files.directory import NewFile

        _ = self.profile  # its errors come first
        number = self._allocate_number()
        key = f"{_KEY_PREFIX}{number}"

        async def submit(target: TargetSystem) -> None:
            job = make_submission(number, await target.new_job_directory())
            files = [NewFile(SCRIPT_NAME, job.script, 0o700), NewFile(WRAPPER_NAME, job.wrapper, 0o700)]
            await target.submit_with_files(job.description, lambda: files, key=key)

        try:
            self.run(submit)
        except Interruption as interruption:
            record = self.store.find_by_key(self.settings.target, key)
            message = "nothing was submitted"
            if record is not None:
                message = (
                    f"job {number} was submitted" if record.is_submitted else _format_unknown_outcome(number)
                )
            raise Interruption(interruption.number, message) from None
        except OutcomeUnknownError as error:
            error.hint = _format_unknown_outcome(number)
            raise
        return number

    def _allocate_number(self) -> int:
        """Return a number that no job has or had, while other processes do the same."""
        path = f"{self.settings.get_store_path()}{_COUNTER_SUFFIX}"
        _ = self.store  # makes the directory
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                last = int(text) if text.isdecimal() and len(text) <= _MAX_COUNTER_SIZE else 0
                if last == 0 or self.store.find_by_key(self.settings.target, f"{_KEY_PREFIX}{last + 1}"):
                    # The file is new, or older than the record: a copy that was put back, for instance.
                    keys = (_KEY.fullmatch(record.key or "") for record in self.store.list_all_jobs())
                    last = max([last, *(int(key[1]) for key in keys if key)])
                os.pwrite(descriptor, f"{last + 1:>{_MAX_COUNTER_SIZE}}\n".encode(), 0)
            finally:
                os.close(descriptor)
        except OSError as error:
            message = f"the number of the job cannot be written to {path}: {error.strerror}"
            raise StoreError(message, hint="free space on its disk, or give another --store") from error
        return last + 1

    # Queries

    def find_job(self, number: int) -> JobRecord | None:
        """Return the record of the job with a number; None if there is none."""
        record = self.store.find_by_key(self.settings.target, f"{_KEY_PREFIX}{number}")
        if record is not None and not record.is_submitted and not record.has_live_owner:
            # None is submitted again: nobody knows its number.
            for recovered in self.run(lambda target: target.recover_submissions(resubmit=False)):
                if recovered.record.number == record.number and recovered.error is not None:
                    raise recovered.error  # whether there is a job is not known
            record = self.store.find_by_key(self.settings.target, f"{_KEY_PREFIX}{number}")
        return record if record is not None and record.is_submitted else None

    def list_recent(self, period: float) -> list[Entry]:
        """Return the jobs that have not ended, or ended in the last `period` seconds, as queried now; oldest first."""
        if self.store.list_interrupted_submissions(self.settings.target):
            self.run(lambda target: target.recover_submissions(resubmit=False))
        if period == math.inf:  # those of unknown times, too
            listed = self.store.list_all_jobs(self.settings.target)
        else:
            listed = self.store.list_recent_jobs(self.settings.target, time.time() - period)
        return self._query([r for r in listed if r.is_submitted and _KEY.fullmatch(r.key or "")])

    def query_jobs(self, numbers: Iterable[int]) -> list[Entry]:
        """Return the jobs with these numbers, as queried now, without those that nobody knows."""
        records = (self.find_job(number) for number in dict.fromkeys(numbers))
        return self._query([record for record in records if record is not None])

    def _query(self, records: Sequence[JobRecord]) -> list[Entry]:
        """Return the jobs, and each task of the arrays, with one query for those that have not ended."""
        live = [record.status.job_id for record in records if not record.status.state.is_terminal]
        statuses: dict[str, JobStatus] = {}
        if live:

            async def query(target: TargetSystem) -> None:
                statuses.update(await target.statuses(live))
                for record in records:
                    if record.array and record.status.job_id in statuses:
                        for task in target.store.list_tasks(target.name, record.status.job_id):
                            task_id = task.status.job_id
                            statuses[task_id] = target.get_cached_status(task_id) or task.status

            self.run(query)
        return [entry for record in records for entry in self._list_entries(record, statuses)]

    def _list_entries(self, record: JobRecord, statuses: Mapping[str, JobStatus]) -> Sequence[Entry]:
        number = int((record.key or "").removeprefix(_KEY_PREFIX))

        def make_entry(found: JobRecord, tasks: Sequence[Entry] = ()) -> Entry:
            status = statuses.get(found.status.job_id, found.status)
            return Entry(number, found.array_index, status, record, tasks)

        if not record.array:
            return [make_entry(record)]
        found = self.store.list_tasks(self.settings.target, record.status.job_id)
        tasks = [make_entry(task) for task in found]
        return tasks if self.system == "slurm" else [make_entry(record, tasks)]

    # Actions

    def wait_for_job(self, number: int) -> JobStatus:
        """Wait until a job ends, and return its last status. Raises `JobNotFoundError`."""
        from osprofile.jobs.shell.loop import need_loop

        job_id = self.find_id(number)

        async def wait(target: TargetSystem) -> JobStatus:
            await need_loop()
            return await target.wait(job_id)

        return self.run(wait)

    def find_id(self, number: int, index: int | None = None) -> str:
        """Return the id of a job, or of a task of an array. Raises `JobNotFoundError`."""
        record = self.find_job(number)
        if record is None:
            message = f"there is no job {number} in the record {self.settings.get_store_path()}"
            raise JobNotFoundError(message, hint="give the number of a job that was submitted with it")
        if index is None:
            return record.status.job_id
        for task in self.store.list_tasks(self.settings.target, record.status.job_id):
            if task.array_index == index:
                return task.status.job_id
        raise JobNotFoundError(f"job {number} has no task {index}", hint="give the index of one of its tasks")

    def remove_job(self, number: int, index: int | None = None) -> bool:
        """Remove a job, or a task of an array; return False if it has ended already.

        Raises `JobNotFoundError`, and the error of the batch system if the job has not ended.
        """
        job_id = self.find_id(number, index)
        record = self.store.find_job(self.settings.target, job_id)
        if record is not None and record.status.state.is_terminal:
            return False
        return self.run(lambda target: target.abort_unless_ended(job_id))

    def hold_job(self, number: int, index: int | None = None) -> bool:
        """Keep a waiting job from starting; return False if it has begun or ended: it is not suspended.

        Raises `JobNotFoundError`, and the error of the batch system.
        """
        job_id = self.find_id(number, index)

        async def hold(target: TargetSystem) -> bool:
            status = await target.status(job_id)
            if status.state is JobState.QUEUED:
                await target.hold(job_id)
            return status.state in {JobState.QUEUED, JobState.HELD} and not has_started(status)

        return self.run(hold)

    def release_job(self, number: int, index: int | None = None) -> bool:
        """Release a job that was held before it began; return False if it has ended.

        Raises `JobNotFoundError`, and the error of the batch system.
        """
        job_id = self.find_id(number, index)

        async def resume(target: TargetSystem) -> bool:
            status = await target.status(job_id)
            if status.state is JobState.HELD and not has_started(status):
                await target.resume(job_id)
            return not status.state.is_terminal

        return self.run(resume)


def _format_unknown_outcome(number: int) -> str:
    return f"the list of the jobs has job {number} if it was submitted"
