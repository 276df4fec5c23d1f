"""The executors of PSI/J over `osprofile.JobSession`."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final, List, final  # noqa: UP035  # `list` is a method

from psij import (
    InvalidJobException,
    Job,
    JobAttributes,
    JobExecutor,
    JobExecutorConfig,
    JobSpec,
    JobState,
    JobStatus,
    Launcher,
    ResourceSpecV1,
    SubmitException,
)

import osprofile
from osprofile.plugins.messages import format_error
from osprofile.plugins.psij_description import build_description, find_property

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

log: Final = logging.getLogger("osprofile.plugins.psij")
_NAME_PREFIX: Final = "osprofile-"


class OSProfileJobExecutor(JobExecutor):
    """Runs PSI/J's jobs through one profile.

    All executors of a process for the same profile share a session. Jobs go on when the program ends;
    `attach` finds them again. The methods raise `psij.InvalidJobException` for a job that the profile
    cannot run, and `psij.SubmitException` if the batch system refuses or fails.
    """

    profile_name: ClassVar[str]

    def __init__(self, url: str | None = None, config: JobExecutorConfig | None = None) -> None:
        if url is not None:
            message = f"executor {self.name} takes no URL, not {url!r}: the profile names the batch system"
            raise ValueError(message)
        super().__init__(url=None, config=config or JobExecutorConfig())

    def submit(self, job: Job) -> None:
        """Submit a job; see `psij.JobExecutor.submit`.

        Nothing is submitted twice: after a `SubmitException` that is `transient`, call it again.
        """
        begin = time.time()
        spec = self._check_job(job)
        try:
            with _translated_errors():
                connection = _connect(self.profile_name)
                session = connection.session
                launcher = self._find_launcher(spec)
                description = build_description(job, launcher, self.name, session.profile.global_fields)
                job_id = session.submit(description, key=job.id).id
        except BaseException:
            job.executor = None  # so that it can be submitted again
            raise
        connection.follow(job, job_id, begin)

    def _find_launcher(self, spec: JobSpec) -> Launcher:
        name = spec.launcher or Launcher.DEFAULT_LAUNCHER_NAME
        try:
            return self._get_launcher(name)
        except ValueError as error:
            names = ", ".join(sorted(Launcher.get_launcher_names()))
            raise InvalidJobException(f"launcher: {error} (known: {names})", exception=error) from error

    def cancel(self, job: Job) -> None:
        """Cancel a job; do nothing if it has ended. See `psij.JobExecutor.cancel`."""
        if job.status.final:
            return
        job_id = _get_native_id(job)
        with _translated_errors():
            session = _connect(self.profile_name).session
            session.run(lambda target: target.abort_unless_ended(job_id))

    def hold(self, job: Job) -> None:
        """Keep a job from starting, or suspend it, as far as the profile can."""
        with _translated_errors():
            _connect(self.profile_name).session.get_job(_get_native_id(job)).hold()

    def release(self, job: Job) -> None:
        """Let a job continue after `hold`."""
        with _translated_errors():
            _connect(self.profile_name).session.get_job(_get_native_id(job)).resume()

    def list(self) -> List[str]:  # noqa: UP006  # `list` is this method
        """Return the ids of the user's jobs that have not ended, submitted by any program."""
        with _translated_errors():
            return [status.job_id for status in self._query_all_jobs() if not status.state.is_terminal]

    def _query_all_jobs(self) -> Collection[osprofile.JobStatus]:
        """Return the jobs that have not ended, and those that have just ended."""
        session = _connect(self.profile_name).session
        return {**session.run(lambda target: target.poll()), **session.statuses(max_age=1.0)}.values()

    def attach(self, job: Job, native_id: str) -> None:
        """Let a new job follow the states of a job of the batch system, which any program may have submitted.

        Raises `psij.SubmitException` for a job that nobody knows.
        """
        if job.status.state != JobState.NEW:
            message = f"the job is {job.status.state}: attach needs a new job: psij.Job()"
            raise InvalidJobException(message)
        with _translated_errors():
            connection = _connect(self.profile_name)
            status = connection.session.watch(native_id)
        job.executor = self
        connection.follow(job, status.job_id, status.submitted)

    def info(self, jobs: Sequence[Job] | None = None, owner: str | None = None) -> List[Job]:  # noqa: UP006
        """Return new jobs with the states of some jobs, or of all of the user, for Open OnDemand.

        Each has `current_info`, a `JobInfo`, and a `spec` with what is recorded: name, queue, walltime
        (0 if it is not known). Jobs that nobody knows are left out. `owner` is a list of users,
        separated by commas; other users have no jobs here.
        """
        with _translated_errors():
            session = _connect(self.profile_name).session
            if owner is not None and session.user_name not in owner.split(","):
                return []
            known = {} if jobs is None else session.statuses(map(_get_native_id, jobs))
            statuses = self._query_all_jobs() if jobs is None else known.values()
            records = _find_records(session, [s.job_id for s in statuses])
            return [self._build_info(session, s, records[s.job_id]) for s in statuses]

    def _build_info(
        self, session: osprofile.JobSession, status: osprofile.JobStatus, record: osprofile.JobRecord | None
    ) -> Job:
        attributes = JobAttributes(queue_name=status.queue or None)
        attributes.duration = timedelta(seconds=record.walltime or 0 if record else 0)
        name = record.name if record else None
        job = Job(JobSpec(name=name, attributes=attributes, resources=ResourceSpecV1()))
        job.executor, job._native_id = self, status.job_id  # noqa: SLF001  # it has no setter
        job._status = convert_status(status) or JobStatus(JobState.QUEUED)  # noqa: SLF001  # without callbacks
        job.current_info = JobInfo.of(status, session.user_name)  # type: ignore[attr-defined]
        return job


@final
@dataclass(frozen=True)
class JobInfo:
    """What Open OnDemand's adapter for PSI/J reads of a job; it takes `__dict__`.

    - `wall_time`: in seconds, so far
    - `submission_time`: the begin, or the time of the query, if it is not known
    """

    owner: str
    submit_host: str
    wall_time: float
    cpu_time: None
    submission_time: datetime
    dispatch_time: datetime | None
    resourcelist: list[dict[str, str]]

    @classmethod
    def of(cls, status: osprofile.JobStatus, owner: str) -> JobInfo:
        """Return the information in a status."""
        now = datetime.now().timestamp()  # noqa: DTZ005  # seconds since 1970
        elapsed = status.elapsed
        if elapsed is None:
            elapsed = 0.0 if status.started is None else (status.ended or now) - status.started
        return cls(
            owner=owner,
            submit_host=socket.gethostname(),
            wall_time=max(elapsed, 0.0),
            cpu_time=None,
            submission_time=_to_datetime(min(status.submitted or now, status.started or now)),
            dispatch_time=None if status.started is None else _to_datetime(status.started),
            resourcelist=[{"name": host} for host in status.hosts],
        )


def _to_datetime(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp)  # noqa: DTZ006  # it is printed as local time


def _find_records(
    session: osprofile.JobSession, job_ids: Iterable[str]
) -> dict[str, osprofile.JobRecord | None]:
    async def find_records(target: osprofile.TargetSystem) -> dict[str, osprofile.JobRecord | None]:
        return {job_id: target.find_record(job_id) for job_id in job_ids}

    return session.run(find_records)


def _get_native_id(job: Job) -> str:
    if job.native_id is None:
        message = "the job has no native id: submit or attach it first"
        raise SubmitException(message)
    return job.native_id


# The states of jobs


@final
class _Connection:
    """A session, and the jobs of PSI/J that get the states of its jobs.

    One thread sets all states after the first: so each is told once and in order, and no lock is held
    while a callback runs, which may submit the next job.
    """

    def __init__(self, profile_name: str) -> None:
        self.session: Final = osprofile.JobSession(profile_name)
        self._jobs: defaultdict[str, list[Job]] = defaultdict(list)
        self._changes: queue.SimpleQueue[tuple[str, Job | osprofile.JobStatus]] = queue.SimpleQueue()
        self.session.add_listener(lambda event: self._changes.put((event.job_id, event.status)))
        threading.Thread(target=self._set_states, name="osprofile-psij", daemon=True).start()

    def follow(self, job: Job, job_id: str, submitted: float | None) -> None:
        """Set the id and the state of a job, and all later states; `submitted` is in seconds since 1970."""
        job._native_id = job_id  # noqa: SLF001  # it has no setter
        _set_status(job, JobStatus(JobState.QUEUED, time=submitted, metadata={"nativeId": job_id}))
        self._changes.put((job_id, job))
        # What was told before the job was in the queue: it may have ended already.
        with contextlib.suppress(osprofile.OSProfileError):  # the job is watched: a later query tells it
            status = self.session.get_cached_status(job_id) or self.session.get_job(job_id).status()
            self._changes.put((job_id, status))

    def _set_states(self) -> None:
        while True:
            job_id, change = self._changes.get()
            try:
                if isinstance(change, Job):
                    self._jobs[job_id].append(change)
                elif job_id in self._jobs:
                    self._set_state(job_id, change)
            except Exception:
                log.exception("job %s: its state %s could not be reported", job_id, change)

    def _set_state(self, job_id: str, status: osprofile.JobStatus) -> None:
        jobs = self._jobs.pop(job_id) if status.state.is_terminal else self._jobs[job_id]
        converted = convert_status(status)
        if converted is None:
            return
        if converted.state.final and _has_run(status):  # a poll may have missed it
            for job in jobs:
                _set_status(job, JobStatus(JobState.ACTIVE, time=status.started))
        for job in jobs:
            if converted.state == JobState.FAILED and not converted.message:
                converted.message = self._find_launcher_message(job, job_id)
            _set_status(job, converted)

    def _find_launcher_message(self, job: Job, job_id: str) -> str | None:
        """Return what the launcher's script printed, if it was the launcher that failed."""
        if job.spec is None or not isinstance(job.executor, OSProfileJobExecutor):
            return None
        try:
            output = self.session.get_job(job_id).stdout()
            launcher = job.executor._find_launcher(job.spec)  # noqa: SLF001  # of this module
            if output and launcher.is_launcher_failure(f"\n{output}"):
                return launcher.get_launcher_failure_message(output)
        except Exception:  # the end itself must be told
            log.exception("job %s: the output of its launcher cannot be read", job_id)
        return None


@cache
def _open_connection(profile_name: str, process_id: int) -> _Connection:
    del process_id  # a child process that was forked has none of its parent's threads
    return _Connection(profile_name)


_connecting: Final = threading.Lock()


def _connect(profile_name: str) -> _Connection:
    """Return the connection of this process for a profile."""
    with _connecting:
        return _open_connection(profile_name, os.getpid())


def _has_run(status: osprofile.JobStatus) -> bool:
    facts = status.started, status.exit_code, status.signal
    return any(fact is not None for fact in facts) or status.state is osprofile.JobState.DONE


def _set_status(job: Job, status: JobStatus) -> None:
    if not job.status.final:  # PSI/J would replace one end by another
        job.status = status


def convert_status(status: osprofile.JobStatus) -> JobStatus | None:
    """Return PSI/J's status for one of osprofile; None for a state that PSI/J does not have.

    COMPLETED is a job that ended with exit code 0, and nothing else. PSI/J has no held jobs: they are
    QUEUED or ACTIVE.
    """
    states = {
        osprofile.JobState.QUEUED: (JobState.QUEUED, status.submitted),
        osprofile.JobState.RUNNING: (JobState.ACTIVE, status.started),
        osprofile.JobState.HELD: (JobState.ACTIVE if status.is_suspended else JobState.QUEUED, None),
        osprofile.JobState.REMOVED: (JobState.CANCELED, status.ended),
    }
    if status.state.is_terminal and status.state not in states:
        has_succeeded = status.state is osprofile.JobState.DONE and status.exit_code == 0
        state, timestamp = (JobState.COMPLETED if has_succeeded else JobState.FAILED), status.ended
    elif status.state in states:
        state, timestamp = states[status.state]
    else:
        return None
    return JobStatus(
        state,
        time=timestamp,
        message=status.reason or ("" if status.has_exited else status.describe_end()) or None,
        exit_code=_get_exit_code(status),
        metadata={"nativeId": status.job_id, "nativeState": status.native_state},
    )


def _get_exit_code(status: osprofile.JobStatus) -> int | None:
    """Return the exit code, of a job that ended by itself or by a signal: any other 0 looks like success."""
    if status.signal is not None:
        return 128 + status.signal
    return status.exit_code if status.state is osprofile.JobState.DONE else None


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise PSI/J's exceptions for those of osprofile."""
    try:
        yield
    except osprofile.IncarnationError as error:
        name = find_property(error.field)
        message = f"{name}: {format_error(error)}" if name else format_error(error)
        raise InvalidJobException(message, exception=error) from error
    except osprofile.OSProfileError as error:
        is_transient = isinstance(error, (osprofile.ScriptError, osprofile.StoreError))
        raise SubmitException(format_error(error), exception=error, transient=is_transient) from error
    except OSError as error:
        message = f"the launcher's files cannot be written: {error}"
        raise SubmitException(message, exception=error) from error


# The executors of all profiles


def list_executors() -> list[tuple[str, str, str]]:
    """Return the executors of all profiles: their names, the names of their classes, and the profiles.

    PSI/J does not distinguish upper and lower case: profiles whose names differ in nothing else have none.
    """
    profiles = osprofile.Repository().list_names()
    counts = Counter(profile.lower() for profile in profiles)
    return [
        (f"{_NAME_PREFIX}{profile}", profile.replace(".", ":"), profile)
        for profile in profiles
        if counts[profile.lower()] == 1
    ]


@cache
def get_executor_class(class_name: str) -> type[OSProfileJobExecutor]:
    """Return the class of an executor: PSI/J needs one for each name.

    `class_name` is the profile's name, with a colon for each dot, which PSI/J would split. Raises
    `AttributeError` for any other name, as the attribute of a module.
    """
    if class_name.startswith("__"):
        message = f"there is no profile {class_name!r}"
        raise AttributeError(message)
    attributes = {"profile_name": class_name.replace(":", "."), "__module__": __name__}
    return type("OSProfileJobExecutor", (OSProfileJobExecutor,), attributes)
