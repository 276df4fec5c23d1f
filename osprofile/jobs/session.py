"""Jobs for programs that are not asynchronous: scripts, notebooks, threads. See docs/python.md.

    with osprofile.JobSession("slurm") as session:
        job = session.submit(osprofile.JobDescription(executable="/bin/date"))
        print(job.wait().exit_code, job.stdout())

Each method calls that of `TargetSystem`, in one event loop that all sessions of the process share.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import logging
import os
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, final

from osprofile.errors import JobNotFoundError, OSProfileError, SubmissionsFailedError
from osprofile.jobs.client import require_id
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.profiles import list_settable_fields, load_for_jobs
from osprofile.jobs.record.names import parse_host_context
from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.model import Profile
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from osprofile.jobs.files.trees import FetchedFile
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobEvent, JobStatus
    from osprofile.jobs.timing import Timing


T = TypeVar("T")
P = ParamSpec("P")
log: Final = logging.getLogger("osprofile.jobs")
_CLOSED: Final = "the session is closed"
_STATUS_COLUMNS: Final = (
    "native_state", "exit_code", "signal", "reason", "queue", "submitted", "started", "ended",
    "elapsed", "cpu_time", "max_memory", "energy", "allocated_cpus", "allocated_memory",
)  # fmt: skip
_CALLBACK_TIMEOUT: Final = 60.0
"""Seconds that `close` waits for listeners to handle events already delivered."""
_is_exiting: Final = threading.Event()
_parents_targets: Final[list[TargetSystem]] = []
"""In a child process, the target systems of its parent: they are kept, so that nothing closes them."""
_CANCEL_TIMEOUT: Final = 10.0
"""Seconds to wait for an operation that was cancelled; it ends the scripts that it runs."""
_lock = threading.Lock()
_forking: Final = threading.local()


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A job of a session. Jobs of one session with the same id are equal.

    The methods are those of `TargetSystem` with the job's id, and raise the same errors.
    """

    session: JobSession
    """The session that submitted or found the job."""
    id: str
    """The batch system's id of the job; that of an array stands for all its tasks."""

    def __repr__(self) -> str:
        return f"<Job {self.id} on {self.session.name}>"

    @property
    def key(self) -> str | None:
        """The key that it was submitted with, by the record; None if it has none, or is not in the record."""
        record = self.session._find_record(self.id)  # noqa: SLF001
        return record.key if record is not None else None

    @property
    def name(self) -> str:
        """The name of the job, by the record; empty if it has none, or is not in the record."""
        record = self.session._find_record(self.id)  # noqa: SLF001
        return record.name if record is not None else ""

    def status(self) -> JobStatus:
        """Return the status of the job, which is queried now unless its end is recorded.

        Raises `JobNotFoundError` for a job that neither the batch system nor the record knows.
        """
        return self._call(TargetSystem.status)

    def usage(self) -> JobStatus:
        """Return the status of the job with the resources it has used so far; see `TargetSystem.query_usage`."""
        return self._call(TargetSystem.query_usage)

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait until the job ends, and return its last status; `TimeoutError` after `timeout` seconds.

        Of a job with rules for retries, that of its last attempt, which has an id of its own: see `TargetSystem.wait`.
        """
        return self.session.run(lambda target: target.wait(self.id), timeout)

    def task_statuses(self) -> dict[int, JobStatus]:
        """Return the statuses of an array's tasks by index, queried now unless its end is recorded."""
        return self._call(TargetSystem.task_statuses)

    def hold(self) -> None:
        """Keep the job from starting, or suspend it, as far as the profile can."""
        self._call(TargetSystem.hold)

    def resume(self) -> None:
        """Let the job continue after `hold`."""
        self._call(TargetSystem.resume)

    def cancel(self) -> None:
        """Cancel the job; its state becomes REMOVED. Raises `ScriptFailedError` if it has ended already."""
        self._call(TargetSystem.abort)

    def signal(self, number: int) -> None:
        """Send a signal to the running job. Raises `TemplateNotFoundError` without SIGNAL."""
        self._call(TargetSystem.signal, number)

    def stdout(self) -> str:
        """Return what the job has written to its standard output so far, as UTF-8; see `TargetSystem.read_stdout`."""
        return self._call(TargetSystem.read_stdout).decode("utf-8", "replace")

    def stderr(self) -> str:
        """Return what the job has written to its standard error so far, as UTF-8."""
        return self._call(TargetSystem.read_stderr).decode("utf-8", "replace")

    def directory(self) -> str:
        """Return the job's working directory on the target system. Raises `JobNotFoundError`."""
        return self._call(TargetSystem.find_job_directory)

    def fetch(self, patterns: Sequence[str] | None = None, to: str | None = None) -> list[FetchedFile]:
        """Copy files of the job's working directory to a directory of this machine; see `TargetSystem.fetch`."""
        return self._call(TargetSystem.fetch, patterns, to)

    def _call(
        self,
        method: Callable[Concatenate[TargetSystem, str, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        return self.session.run(lambda target: method(target, self.id, *args, **named))


@final
class JobSession:
    """Blocking interface to one user's jobs on the system that a profile describes.

    - `profile`: a profile, or the name of one on the standard search path
    - `context`: as for `TargetSystem`, such as CLUSTER for one of several clusters
    - `host`: another machine, reached by ssh, as in `me@login.example.org` or `login:2222`
    - `store`: the path of the record (default: that of `incarnate job`; `:memory:` for none)
    - `timing`, `max_parallel_scripts`: as for `TargetSystem`

    Any thread may call any method. The methods raise the errors of `TargetSystem`: `IncarnationError`s for a
    request, `TargetError`s for failures of the target system; `RuntimeError` after `close`; `TypeError` or
    `ValueError` for what is neither the id of a job nor a `Job` of this target system. Jobs go on
    when the session is closed or the program ends: a later session with the same record knows them. After
    a fork, the child opens the record anew when it calls a method.
    """

    def __init__(
        self,
        profile: Profile | str,
        context: Mapping[str, str] | None = None,
        *,
        host: str | None = None,
        store: str | None = None,
        timing: Timing | None = None,
        max_parallel_scripts: int = 8,
    ) -> None:
        self.store_path: str = os.path.expanduser(store) if store else default_store_path()
        """The path of the record."""
        self.profile: Profile = _load_profile(profile, self.store_path)
        """The profile of the machine."""
        self._context = {**(context or {}), **({} if host is None else parse_host_context(host))}
        self._timing = timing
        self._max_parallel_scripts = max_parallel_scripts
        self._lock = threading.RLock()
        self._is_closed = False
        self._thread = get_loop_thread()
        self._dispatcher: _EventDispatcher | None = None
        self._target = self._thread.run(self._open_target())
        self.name: str = self._target.name
        """The name of the target system in the record."""
        self.user_name: str = self._target.user_name
        """The name of the jobs' user on the target system."""
        _open_sessions.add(self)

    async def _open_target(self) -> TargetSystem:
        """Open the record and the target system: SQLite's connection belongs to the loop's thread."""
        store = Store(self.store_path)
        try:
            target = TargetSystem(
                self.profile,
                self._context,
                store=store,
                timing=self._timing,
                max_parallel_scripts=self._max_parallel_scripts,
            )
        except BaseException:
            store.close()
            raise
        target.unwatch_ended_jobs()
        return target

    def __repr__(self) -> str:
        return f"<JobSession {self.name}{' (closed)' if self._is_closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching and close the record; the jobs go on. It is done at the end of the program, too.

        Listeners are still called for the events that have been told, for at most 5 s.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            _open_sessions.discard(self)
            target, dispatcher, thread = self._target, self._dispatcher, self._thread
        if thread is not get_loop_thread():
            return  # of the process that forked this one
        if dispatcher is not None:
            dispatcher.stop(thread)
        thread.run(_close_target(target))

    def run(
        self, operation: Callable[[TargetSystem], Coroutine[Any, Any, T]], timeout: float | None = None
    ) -> T:
        """Call an asynchronous function with the `TargetSystem` of this session; return its result.

        For what this class has no method for: `session.run(lambda target: target.list_nodes())`.
        Raises `TimeoutError` after `timeout` seconds; the function is cancelled then.
        """
        thread, target = self._get_open_target()
        with self._convert_cancellation():
            return thread.run(operation(target), timeout)

    @contextlib.contextmanager
    def _convert_cancellation(self) -> Iterator[None]:
        """Raise an error of this class for a call that `close` has ended in another thread."""
        try:
            yield
        except concurrent.futures.CancelledError:
            if _is_exiting.is_set():  # a daemon thread, which ends with the program: without a traceback
                threading.Event().wait()
            if self._is_closed:
                raise RuntimeError(_CLOSED) from None
            raise

    def _get_open_target(self) -> tuple[LoopThread, TargetSystem]:
        with self._lock:
            if self._is_closed:
                raise RuntimeError(_CLOSED)
            thread = get_loop_thread()
            if thread is not self._thread:  # after a fork
                # The parent's connection to the record must not be closed here: that would drop its locks.
                _parents_targets.append(self._target)
                self._thread, self._dispatcher = thread, None
                self._target = thread.run(self._open_target())
            return self._thread, self._target

    # Submitting

    def submit(
        self,
        job: JobDescription | str,
        *arguments: str,
        key: str | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> Job:
        """Submit a job, watch it from then on, and return it.

        `job` is its description, or the program; then `arguments` and `fields` are those of a `JobDescription`, as in
        `submit("./fit", "3", walltime="10m")`. Such a job on this machine runs in the current directory, unless
        `directory` is given.

        `key` is the caller's name for the submission: with the same key, no job is submitted twice. A
        `OutcomeUnknownError` means that it is not known whether the job was submitted: another call with
        the same key, or `run(lambda target: target.recover_submissions())`, finds out.
        """
        description = self._describe_job(job, arguments, fields)

        async def submit(target: TargetSystem) -> str:
            job_id = await target.submit(description, key=key)
            await _watch_jobs(target, [job_id])
            return job_id

        return Job(self, self.run(submit))

    def _describe_job(
        self, job: JobDescription | str, arguments: Sequence[str], fields: Mapping[str, Any]
    ) -> JobDescription:
        if not isinstance(job, str):
            if arguments or fields:
                message = "a JobDescription has the arguments and the fields of its job: leave others out"
                raise TypeError(message)
            return job
        is_here = "SSH:HOST" not in self._context and "DIRECTORY" in list_settable_fields(self.profile)
        place = {"directory": os.getcwd()} if is_here else {}
        return JobDescription(executable=job, arguments=arguments, **{**place, **fields})

    def submit_many(
        self, descriptions: Iterable[JobDescription], *, keys: Sequence[str | None] | None = None
    ) -> list[Job]:
        """Submit jobs side by side, and return them in the same order; `keys` has one for each.

        All jobs are checked first: if one is refused, none is submitted. A job may depend on earlier ones by
        their keys. Raises `SubmissionsFailedError`, with the ids of the jobs that were submitted, if any was not.
        """

        async def submit(target: TargetSystem) -> list[str]:
            try:
                job_ids = await target.submit_many(descriptions, keys=keys)
            except SubmissionsFailedError as error:
                await _watch_jobs(target, [job_id for job_id in error.job_ids if job_id is not None])
                raise
            await _watch_jobs(target, job_ids)
            return job_ids

        return [Job(self, job_id) for job_id in self.run(submit)]

    def get_job(self, job_id: str | Job | None = None, *, key: str | None = None) -> Job:
        """Return the job with an id, or that of the record with a key, without a query.

        Raises `JobNotFoundError` if no job of the record has the key, or it has no id yet; `ValueError`
        unless one of the two is given.
        """
        if (job_id is None) == (key is None):
            message = "get_job needs either an id or a key"
            raise ValueError(message)
        if key is None:
            return Job(self, self._get_id(job_id))

        async def find(target: TargetSystem) -> JobRecord | None:
            return target.find_by_key(key)

        if (record := self.run(find)) is None:
            message = f"no job of {self.name} in the record {self.store_path} has the key {quote_name(key)}"
            raise JobNotFoundError(message, hint="list_jobs(include_ended=True) has the jobs of the record")
        hint = "submit it again with this key, which completes the submission"
        return Job(self, require_id(record, hint))

    def _find_record(self, job_id: str) -> JobRecord | None:
        async def find(target: TargetSystem) -> JobRecord | None:
            return target.find_record(job_id)

        return self.run(find)

    def list_jobs(self, *, include_ended: bool = False) -> list[Job]:
        """Return the jobs of the record on this target system, oldest first, without a query."""

        async def list_ids(target: TargetSystem) -> list[str]:
            list_records = target.store.list_all_jobs if include_ended else target.store.list_live_jobs
            records = list_records(target.name)
            return [record.status.job_id for record in records if record.is_submitted]

        return [Job(self, job_id) for job_id in self.run(list_ids)]

    def history(self) -> list[dict[str, Any]]:
        """Return what is recorded of all jobs on this target system, oldest first, without a query.

        A row has `id`, `key`, `name`, `directory`, and what a `JobStatus` has: `state`, `exit_code`, `cause`, `submitted`
        and the others, as texts, numbers and None: `pandas.DataFrame(session.history())` is a table. An array is one row.
        """

        async def list_records(target: TargetSystem) -> list[JobRecord]:
            return target.store.list_all_jobs(target.name)

        return [_format_record(record) for record in self.run(list_records) if record.is_submitted]

    def _get_id(self, job: object) -> str:
        """Return the id of a job on this target system, which is given by itself or by its id."""
        if isinstance(job, str):
            return job
        if not isinstance(job, Job):
            message = f"{job!r} is neither a Job nor the id of one, which is a string"
            raise TypeError(message)
        if job.session.name != self.name:
            message = (
                f"job {quote_name(job.id)} is on {job.session.name}, and this session is for {self.name}"
            )
            raise ValueError(message)
        return job.id

    def _get_ids(self, jobs: Iterable[str | Job]) -> list[str]:
        """Return the ids of jobs; raise `TypeError` for a single id, whose characters would be taken for ids."""
        if isinstance(jobs, str):
            message = f"{jobs!r} is not a list of jobs: give [{jobs!r}]"
            raise TypeError(message)
        return list(map(self._get_id, jobs))

    # Queries

    def statuses(
        self, job_ids: Iterable[str | Job] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus]:
        """Return the statuses of jobs by one query; by default, of all live jobs of the record.

        An answer that is at most `max_age` seconds old is used again. Jobs that nobody knows are left out.
        """
        ids = None if job_ids is None else self._get_ids(job_ids)
        return self.run(lambda target: target.statuses(ids, max_age=max_age))

    def get_cached_status(self, job_id: str | Job) -> JobStatus | None:
        """Return the last known status of a watched job, or the recorded end of a job, without a query; else None."""
        own_id = self._get_id(job_id)

        async def get(target: TargetSystem) -> JobStatus | None:
            return target.get_cached_status(own_id)

        return self.run(get)

    # Waiting

    def wait_all(self, job_ids: Iterable[str | Job], timeout: float | None = None) -> dict[str, JobStatus]:
        """Wait until all of the jobs have ended; return their last statuses by id.

        Raises `TimeoutError` after `timeout` seconds.
        """
        ids = self._get_ids(job_ids)

        async def wait(target: TargetSystem) -> dict[str, JobStatus]:
            return dict(zip(ids, await _gather([target.wait(job_id) for job_id in ids]), strict=True))

        return self.run(wait, timeout)

    def wait_any(self, job_ids: Iterable[str | Job], timeout: float | None = None) -> JobStatus:
        """Wait until one of the jobs has ended, and return its last status.

        Raises `TimeoutError` after `timeout` seconds, and `ValueError` if there is no job.
        """
        for status in self.as_completed(job_ids, timeout):
            return status
        message = "wait_any needs a job to wait for"
        raise ValueError(message)

    def as_completed(self, job_ids: Iterable[str | Job], timeout: float | None = None) -> Iterator[JobStatus]:
        """Yield the last status of each job, when its end is known.

        Raises `TimeoutError` if a job has not ended `timeout` seconds after the first status was asked for.
        """
        ids = self._get_ids(job_ids)
        ended: queue.SimpleQueue[JobStatus | None] = queue.SimpleQueue()

        async def collect(target: TargetSystem) -> None:
            try:
                async with asyncio.timeout(timeout):
                    waits = [asyncio.ensure_future(target.wait(job_id)) for job_id in ids]
                    try:
                        for wait in asyncio.as_completed(waits):
                            ended.put(await wait)
                    finally:
                        for task in waits:
                            task.cancel()
            except TimeoutError:
                raise TimeoutError(format_timeout(timeout or 0.0)) from None
            finally:
                ended.put(None)

        thread, target = self._get_open_target()
        future = asyncio.run_coroutine_threadsafe(collect(target), thread.loop)
        try:
            while True:
                if thread is not get_loop_thread():
                    message = "the jobs are awaited by the process that this one was forked from"
                    raise RuntimeError(message)
                if (status := ended.get()) is None:
                    break
                yield status
            with self._convert_cancellation():
                future.result()
        finally:
            future.cancel()

    # Events

    def watch(self, job_id: str | Job) -> JobStatus:
        """Send listeners a job's events from now on, and return its current status.

        Jobs that were submitted by this session are watched already.
        """
        own_id = self._get_id(job_id)
        return self.run(lambda target: target.watch(own_id))

    def add_listener(self, listener: Callable[[JobEvent], object]) -> None:
        """Call a function for each event of each watched job from now on, in the order of the events.

        It is called in a thread of its own, one event after the other, and may call any method of the
        session. An exception is logged, and the next event is told. Between two polls, states may be
        skipped: the first event of a short job may be its end. Ends are never skipped.
        """
        with self._lock:
            thread, target = self._get_open_target()
            if self._dispatcher is None:
                self._dispatcher = _EventDispatcher(thread, target)
            self._dispatcher.listeners = [*self._dispatcher.listeners, listener]

    def remove_listener(self, listener: Callable[[JobEvent], object]) -> None:
        """Call a function no more. Raises `ValueError` if it is no listener."""
        with self._lock:
            listeners = [] if self._dispatcher is None else list(self._dispatcher.listeners)
            listeners.remove(listener)
            if self._dispatcher is not None:
                self._dispatcher.listeners = listeners

    # Files

    def upload(self, local: str, path: str) -> None:
        """Copy a file or directory of this machine to a path of the target system; see `TargetSystem.upload`."""
        self.run(lambda target: target.files.upload(local, path))

    def download(self, path: str, local: str) -> None:
        """Copy a file or directory of the target system to a path of this machine; see `TargetSystem.download`."""
        self.run(lambda target: target.files.download(path, local))


def _format_record(record: JobRecord) -> dict[str, Any]:
    status = record.status
    return {
        "id": status.job_id,
        "key": record.key,
        "name": record.name,
        "directory": record.directory,
        "state": status.state.value,
        "cause": status.cause.value if status.cause else None,
        "hosts": ",".join(status.hosts),
        **{name: getattr(status, name) for name in _STATUS_COLUMNS},
    }


def _load_profile(profile: object, record: str) -> Profile:
    """Return a profile, which is given by itself or by its name."""
    if isinstance(profile, str):
        from osprofile.profile.repository import Repository

        return load_for_jobs(lambda: Repository().load(profile), profile, record)
    if not isinstance(profile, Profile):
        message = f"{profile!r} is neither a Profile nor the name of one, which is a string"
        raise TypeError(message)
    return profile


async def _gather(waits: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await coroutines at once, and return their results; if one fails, cancel the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(wait) for wait in waits]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def _watch_jobs(target: TargetSystem, job_ids: Iterable[str]) -> None:
    """Begin to query jobs that were submitted; that they were is true even if this fails."""
    for own_id in job_ids:
        with contextlib.suppress(OSProfileError):
            await target.watch(own_id)


async def _close_target(target: TargetSystem) -> None:
    try:
        await target.close()
    finally:
        target.store.close()


@final
class _EventDispatcher:
    """Calls the listeners of one session in a thread of its own, so that they may block and call the session."""

    def __init__(self, thread: LoopThread, target: TargetSystem) -> None:
        self.listeners: list[Callable[[JobEvent], object]] = []
        self._events: queue.SimpleQueue[JobEvent | None] = queue.SimpleQueue()
        self._collector = thread.run(self._start(target))
        self._caller = threading.Thread(target=self._call_listeners, name="osprofile-events", daemon=True)
        self._caller.start()

    async def _start(self, target: TargetSystem) -> asyncio.Task[None]:
        stream = target.events()

        async def collect() -> None:
            async for event in stream:
                self._events.put(event)

        return asyncio.create_task(collect())

    def _call_listeners(self) -> None:
        while (event := self._events.get()) is not None:
            for listener in self.listeners:
                try:
                    listener(event)
                except BaseException:  # SystemExit, too, would end the thread, without a word
                    log.exception("a listener failed for the event %s of job %s", event.state, event.job_id)

    def stop(self, thread: LoopThread) -> None:
        """End the thread after the events that have been told."""
        thread.run(self._stop_collector())
        self._events.put(None)
        if threading.current_thread() is not self._caller:
            self._caller.join(_CALLBACK_TIMEOUT)

    async def _stop_collector(self) -> None:
        await asyncio.sleep(0)  # events that are in the stream
        self._collector.cancel()
        await asyncio.wait([self._collector])


_open_sessions: Final[set[JobSession]] = set()
"""The sessions to close when the program ends."""


def _renew_locks() -> None:
    """Renew the sessions' locks in a child process: other threads of its parent may have held them."""
    for session in _open_sessions:
        session._lock = threading.RLock()  # noqa: SLF001


os.register_at_fork(after_in_child=_renew_locks)


@atexit.register
def _close_sessions() -> None:
    _is_exiting.set()
    for session in list(_open_sessions):
        session.close()


@final
class LoopThread:
    """An event loop that runs in a daemon thread until the process ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="osprofile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, operation: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine in the loop and return its result, from any other thread.

        Raises `TimeoutError` after `timeout` seconds. Then, and when the caller is interrupted, the
        coroutine is cancelled first.
        """
        if threading.current_thread() is self._thread:
            operation.close()
            message = "a blocking call inside osprofile's event loop would wait for itself"
            raise RuntimeError(message)
        if timeout is not None:
            operation = _run_with_limit(operation, timeout)
        future = asyncio.run_coroutine_threadsafe(operation, self.loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                self._cancel(future)
            raise

    def pause(self) -> threading.Event:
        """Let the loop do nothing until the event that is returned is set; wait until it begins to."""
        paused, resume = threading.Event(), threading.Event()

        def wait() -> None:
            paused.set()
            resume.wait()

        if threading.current_thread() is not self._thread:
            self.loop.call_soon_threadsafe(wait)
            paused.wait()
        return resume

    def _cancel(self, future: concurrent.futures.Future[Any]) -> None:
        """Cancel a coroutine, and wait until it has ended its scripts."""
        future.cancel()  # done at once; the task itself ends later
        ended = asyncio.run_coroutine_threadsafe(_wait_for_cancelled_tasks(), self.loop)
        try:
            ended.result(_CANCEL_TIMEOUT)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            return


async def _run_with_limit(operation: Coroutine[Any, Any, T], limit: float) -> T:
    try:
        return await asyncio.wait_for(operation, limit)
    except TimeoutError as error:
        if str(error):  # of the operation itself
            raise
        raise TimeoutError(format_timeout(limit)) from None


def format_timeout(timeout: float) -> str:
    """Return the text of the `TimeoutError` after `timeout` seconds."""
    return f"not done after {timeout:g} s; the jobs go on"


async def _wait_for_cancelled_tasks() -> None:
    """Wait until all tasks that were cancelled have ended."""
    await asyncio.sleep(0)  # the cancellation itself is a callback of the loop
    own = asyncio.current_task()
    cancelled = [task for task in asyncio.all_tasks() if task is not own and task.cancelling()]
    if cancelled:
        await asyncio.wait(cancelled)


_current: LoopThread | None = None


def get_loop_thread() -> LoopThread:
    """Return this process's loop thread, which is started at the first call."""
    global _current  # noqa: PLW0603  # one for each process
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def _pause_loop() -> None:
    """Pause the loop during a fork: a lock that it holds then, such as SQLite's, stays locked in the child."""
    _forking.resume = _current.pause() if _current is not None else threading.Event()


def _resume_loop() -> None:
    _forking.resume.set()


def _forget_loop_thread() -> None:
    """Forget the loop in a child process: it has no other thread than the one that forked."""
    global _current, _lock
    _current, _lock = None, threading.Lock()


os.register_at_fork(before=_pause_loop, after_in_parent=_resume_loop, after_in_child=_forget_loop_thread)
