"""The jobs of the functions of one executor: submitted by one thread, and their results read by another one.

With `workers`, one thread does both: it sends the functions to a job of workers, and reads its log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import osprofile
from osprofile.functions.calls import (
    COMMAND,
    DIRECTORY,
    MAX_INLINE_SIZE,
    VARIABLE,
    Outcome,
    TaskResult,
    build_program,
    pack_calls,
)
from osprofile.functions.future import Task
from osprofile.functions.results import end_futures, explain_end, read_results
from osprofile.functions.workers import WorkerJob
from osprofile.text import pluralize, quote_name

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_T = TypeVar("_T")
log: Final = logging.getLogger("osprofile.functions")
CHECK_INTERVAL: Final = 5.0
"""Seconds after which a closed session is noticed."""
_MIN_PAUSE: Final = 0.02
_MAX_PAUSES: Final = {True: 1.0, False: 5.0}
"""Seconds between two readings of the log of workers, which double while nothing happens: on this machine, and on another one."""
_LATE_PAUSE: Final = 0.2
"""Seconds between two looks for results that may come late."""
_LATE_RESULT_TIME: Final = 75.0
"""Seconds to wait for the result of a job that ended well: a network file system may show it a minute late."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One submission: a job with one task, or an array."""

    tasks: Sequence[Task]
    name: str
    """Of the job."""
    key: str | None


@final
@dataclass(frozen=True, slots=True)
class _End:
    """The end of a task, or of an array, which has none of its own."""

    task: Task | None
    status: osprofile.JobStatus


@final
class FunctionRunner:
    """Submits tasks, and ends their futures. Its methods return at once; any thread may call them.

    `max_workers`: how many tasks are submitted at a time (None: all). `workers`: the processes of the one job that runs all
    tasks (0: each has a job, or is a task of an array).
    """

    def __init__(
        self,
        session: osprofile.JobSession,
        template: osprofile.JobDescription,
        *,
        is_local: bool,
        max_workers: int | None,
        workers: int,
        retries: Mapping[str, osprofile.RetryRule],
    ) -> None:
        self.session = session
        self._template, self._is_local, self._retries = template, is_local, retries
        self._max_workers, self._workers = max_workers, workers
        self._is_closed = False
        self._threads: list[threading.Thread] = []
        self._requests: queue.SimpleQueue[Batch | Task | None] = queue.SimpleQueue()
        """Batches to submit, tasks to remove, and None: look again."""
        self._ends: queue.SimpleQueue[_End | None] = queue.SimpleQueue()
        self._changed = threading.Condition(threading.RLock())
        """What follows is used under its lock."""
        self._live: set[Task] = set()
        """The tasks that have not ended."""
        self._unsubmitted = 0
        """The number of batches that are not submitted yet."""
        self._dependents = 0
        """The number of tasks that wait for futures, to be submitted then."""
        self._tasks: dict[str, Task] = {}
        """Live tasks by the ids of their jobs."""
        self._arrays: dict[str, list[Task]] = {}
        self._early_ends: dict[str, osprofile.JobStatus] = {}
        """During a submission: ends of jobs whose ids are not known yet."""
        self._worker_job: WorkerJob | None = None
        self._late: dict[Task, tuple[osprofile.JobStatus, float]] = {}
        """Tasks whose result may come late, and until when it is looked for. Only the thread that reads results uses it."""

    # Called by the executor and by futures

    def submit(self, batch: Batch) -> None:
        """Submit tasks soon. Raises `RuntimeError` after `close`."""
        with self._changed:
            self._open()
            self._add(batch)

    def submit_after(
        self, task: Task, futures: Sequence[concurrent.futures.Future[Any]], prepare: Callable[[], Batch]
    ) -> None:
        """Submit a task when all futures have results: `prepare` gives its batch. Otherwise it has the first one's error.

        Raises `RuntimeError` after `close`.
        """
        left = set(futures)

        def note_end(future: concurrent.futures.Future[Any]) -> None:
            with self._changed:
                left.discard(future)
                if left or task not in self._live:
                    return
                self._dependents -= 1
            try:
                for each in futures:
                    each.result()
                self._add(prepare())
            except BaseException as error:  # noqa: BLE001  # that of a function, or of a pickle
                self._fail([task], error)

        with self._changed:
            self._open()
            self._live.add(task)
            self._dependents += 1
        for future in dict.fromkeys(futures):
            future.add_done_callback(note_end)

    def _open(self) -> None:
        if self._is_closed:
            message = "cannot schedule new functions after shutdown"
            raise RuntimeError(message)
        if not self._threads:
            self._start_threads()

    def _add(self, batch: Batch) -> None:
        with self._changed:
            self._unsubmitted += 1
            self._live.update(batch.tasks)
            self._requests.put(batch)

    def remove(self, task: Task) -> None:
        """Remove the job of a task that nobody waits for any more; a worker may run it all the same."""
        self._requests.put(task)

    def close(self) -> None:
        """Accept no more functions; the threads end when all have ended."""
        with self._changed:
            self._is_closed = True
            self._check_end()

    def list_live_tasks(self) -> list[Task]:
        """Return the tasks that have not ended."""
        with self._changed:
            return list(self._live)

    def wait(self) -> None:
        """Wait until all tasks have ended, and workers know that nothing comes any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._live)
        for thread in self._threads if self._workers and self._is_closed else ():
            thread.join()

    def flush(self) -> None:
        """Wait until all tasks are submitted, but for those that wait for the end of others."""
        with self._changed:
            if self._max_workers is None:
                self._changed.wait_for(lambda: not self._unsubmitted)
            if count := self._unsubmitted + self._dependents:
                log.warning(
                    "%s of functions were not submitted: the program ended before", pluralize(count, "job")
                )

    def _start_threads(self) -> None:
        self.session.add_listener(self._note_event)
        self._threads = [
            threading.Thread(target=work, name=f"osprofile-{work.__name__.strip('_')}", daemon=True)
            for work in ((self._run_workers,) if self._workers else (self._submit_all, self._collect_all))
        ]
        for thread in self._threads:
            thread.start()

    def _check_end(self) -> None:
        """With all tasks ended, wake who waits for that; after `close`, end the threads, too."""
        if not self._live:
            self._changed.notify_all()
        if self._is_done:
            self._requests.put(None)
            self._ends.put(None)
            with contextlib.suppress(ValueError):
                self.session.remove_listener(self._note_event)

    @property
    def _is_done(self) -> bool:
        with self._changed:
            return self._is_closed and not self._live

    # The thread that submits and removes

    def _submit_all(self) -> None:
        waiting: deque[Batch] = deque()
        while not self._is_done:
            removed: list[Task] = []
            for request in _drain(self._requests):
                if isinstance(request, Batch):
                    waiting.append(request)
                elif request is not None:
                    removed.append(request)
            if removed:
                self._remove_jobs(removed)
            if ready := self._take_ready(waiting):
                self._submit_batches(ready)

    def _take_ready(self, waiting: deque[Batch]) -> list[Batch]:
        """Return the first batches that may be submitted now."""
        if self._max_workers is None:
            ready = list(waiting)
            waiting.clear()
            return ready
        with self._changed:
            count = sum(task.submitted.is_set() for task in self._live)
        ready = []
        while waiting and count + min(len(waiting[0].tasks), self._max_workers) <= self._max_workers:
            ready.append(waiting.popleft())
            count += len(ready[-1].tasks)
        return ready

    def _submit_batches(self, batches: Sequence[Batch]) -> None:
        rest: list[Batch] = []
        for batch in batches:
            if any(task.is_open for task in batch.tasks):
                rest.append(batch)
            else:
                for task in batch.tasks:
                    self._finish(task)
        try:
            while rest:
                rest = self.session.run(partial(self._submit, batches=rest))
        except BaseException as error:  # noqa: BLE001  # such as a session that was closed: nobody waits in vain
            for batch in rest:
                self._fail_batch(batch, error)
        with self._changed:
            self._early_ends.clear()
            self._unsubmitted -= len(batches)
            self._changed.notify_all()
        self._remove_jobs(
            [task for batch in batches for task in batch.tasks if task.job is not None and not task.is_open]
        )

    def _fail_batch(self, batch: Batch, error: BaseException) -> None:
        self._fail([task for task in batch.tasks if task.job is None], error)

    async def _submit(self, target: osprofile.TargetSystem, batches: Sequence[Batch]) -> list[Batch]:
        """Submit batches, or find their jobs by their keys; return those that another one kept from being submitted."""
        new: list[Batch] = []
        jobs: list[tuple[Batch, str]] = []
        for batch in batches:
            if (job_id := _find_job(target, batch.key)) is None:
                new.append(batch)
            else:
                jobs.append((batch, job_id))
        rest = await self._submit_new(target, new, jobs)
        for batch, job_id in jobs:
            try:
                await self._follow(target, batch, job_id)
            except osprofile.OSProfileError as error:
                self._fail_batch(batch, error)
        return rest

    async def _submit_new(
        self, target: osprofile.TargetSystem, batches: Sequence[Batch], jobs: list[tuple[Batch, str]]
    ) -> list[Batch]:
        """Submit batches and add their jobs; return those that another one kept from being submitted."""
        described: list[tuple[Batch, osprofile.JobDescription]] = []
        descriptions = (self._describe(target, batch) for batch in batches)
        for batch, result in zip(
            batches, await asyncio.gather(*descriptions, return_exceptions=True), strict=True
        ):
            if isinstance(result, BaseException):
                self._fail_batch(batch, result)
            else:
                described.append((batch, result))
        ids: Sequence[str | None]
        errors: Mapping[int, osprofile.OSProfileError] = {}
        try:
            ids = await target.submit_many(
                (description for _, description in described), keys=[batch.key for batch, _ in described]
            )
        except osprofile.SubmissionsFailedError as error:
            ids, errors = error.job_ids, error.errors
        rest: list[Batch] = []
        for position, ((batch, _), job_id) in enumerate(zip(described, ids, strict=True)):
            if job_id is not None:
                jobs.append((batch, job_id))
            elif position in errors:
                self._fail_batch(batch, errors[position])
            else:
                rest.append(batch)
        return rest

    async def _describe(self, target: osprofile.TargetSystem, batch: Batch) -> osprofile.JobDescription:
        """Return the job of a batch; calls that are too large for its environment are in its directory then."""
        calls = pack_calls(batch.tasks[0].function, [task.calls for task in batch.tasks])
        template = batch.tasks[0].template
        directory = template.working_directory
        if len(calls) > MAX_INLINE_SIZE:
            directory = await target.new_job_directory()
            file = osprofile.JobFile(directory, f"{DIRECTORY}/calls")
            await target.files.upload_file(BytesIO(calls), file)
        program = build_program(None if len(calls) > MAX_INLINE_SIZE else calls, is_local=self._is_local)
        count = len(batch.tasks)
        at_once = "" if self._max_workers is None else f"%{self._max_workers}"
        array = None if count == 1 else f"1-{count}{at_once}"
        job = _build_job(template, batch.name, program)
        return replace(job, array=array, working_directory=directory)

    async def _follow(self, target: osprofile.TargetSystem, batch: Batch, job_id: str) -> None:
        """Have the ends of a job noted, or of an array and its tasks."""
        status = await target.watch(job_id)
        if len(batch.tasks) == 1:
            self._attach(batch.tasks[0], job_id, status)
            return
        array = osprofile.Job(self.session, job_id)
        for index, task in enumerate(batch.tasks, 1):
            task.array, task.index = array, index
        with self._changed:  # from here on, its end is noted
            self._arrays[job_id] = list(batch.tasks)
        statuses = await target.task_statuses(job_id)
        for task in batch.tasks:
            if (task_status := statuses.get(task.index)) is not None:
                self._attach(task, task_status.job_id, task_status)
        if status.state.is_terminal or job_id in self._early_ends:
            self._ends.put(_End(None, status))

    def _attach(self, task: Task, job_id: str, status: osprofile.JobStatus) -> None:
        with self._changed:
            task.job = osprofile.Job(self.session, job_id)
            task.is_running = status.state is osprofile.JobState.RUNNING
            self._tasks[job_id] = task
            status = self._early_ends.pop(job_id, status)
        task.submitted.set()
        if status.state.is_terminal:
            self._ends.put(_End(task, status))

    def _remove_jobs(self, tasks: Iterable[Task]) -> None:
        """Remove the jobs of tasks; an array whose other tasks have ended is removed as a whole."""
        ids: set[str] = set()
        with self._changed:
            for task in tasks:
                if task not in self._live or task.job is None:
                    continue
                siblings = self._arrays.get(task.array.id, []) if task.array is not None else []
                is_whole = not any(other.is_open for other in siblings)
                ids.add(task.array.id if task.array is not None and is_whole else task.job.id)
        if not ids:
            return
        names = sorted(ids)

        async def abort_all(target: osprofile.TargetSystem) -> list[BaseException | None]:
            return await asyncio.gather(*map(target.abort, names), return_exceptions=True)

        with contextlib.suppress(RuntimeError):  # the session was closed
            for name, error in zip(names, self.session.run(abort_all), strict=True):
                if error is not None and name in self._tasks:
                    log.info("job %s was not removed: %s", name, error)

    # Events, in the session's thread

    def _note_event(self, event: osprofile.JobEvent) -> None:
        status = event.status
        with self._changed:
            if self._workers:
                if self._worker_job is not None and self._worker_job.job.id == status.job_id:
                    self._worker_job.status = status if status.state.is_terminal else None
                    self._requests.put(None)
                return
            task = self._tasks.get(status.job_id)
            if status.state.is_terminal and self._unsubmitted:
                self._early_ends[status.job_id] = status
            if task is not None:
                if task.is_running and status.state is osprofile.JobState.QUEUED:
                    log.warning(
                        "function %s: the batch system runs job %s again",
                        task.name,
                        quote_name(status.job_id),
                    )
                task.is_running = status.state is osprofile.JobState.RUNNING
            if status.state.is_terminal and (task is not None or status.job_id in self._arrays):
                self._ends.put(_End(task, status))

    # The thread that reads results

    def _collect_all(self) -> None:
        while not self._is_done:
            timeout = _LATE_PAUSE if self._late else CHECK_INTERVAL
            ends = [end for end in _drain(self._ends, timeout) if end is not None]
            if not ends and not self._late:
                self._check_session()
                continue
            with self._changed:  # an end that is told twice is not that of the next job
                tasks = {
                    end.task: end.status
                    for end in ends
                    if end.task is not None and self._tasks.get(end.status.job_id) is end.task
                }
            try:
                for end in ends:
                    if end.task is None:
                        tasks.update(self._find_other_tasks(end.status))
                with self._changed:
                    tasks = {task: status for task, status in tasks.items() if task in self._live}
                self._collect(tasks)
            except BaseException as error:  # noqa: BLE001  # such as a session that was closed: nobody waits in vain
                self._fail([*tasks, *self._late], error)
                self._late = {}

    def _check_session(self) -> None:
        """End all tasks if the session was closed: it reports no ends any more."""
        try:
            self.session.run(_do_nothing)
        except RuntimeError as error:
            self._fail(self.list_live_tasks(), error)

    def _find_other_tasks(self, end: osprofile.JobStatus) -> Mapping[Task, osprofile.JobStatus]:
        """Return the ends of the tasks of an array that has ended which were not reported."""
        with self._changed:
            tasks = [
                task
                for task in self._arrays.pop(end.job_id, [])
                if task in self._live and task.array is not None and task.array.id == end.job_id
            ]
        if not tasks:
            return {}
        statuses = self.session.get_job(end.job_id).task_statuses()
        for task in tasks:
            if task.job is None and task.index in statuses:
                self._attach(task, statuses[task.index].job_id, statuses[task.index])
        return {task: statuses.get(task.index, end) for task in tasks}

    def _collect(self, ends: Mapping[Task, osprofile.JobStatus]) -> None:
        """End the tasks that have ended, but for those whose results may come late: they are looked at by the next call."""
        now = time.monotonic()
        waiting = {task: (status, now + _LATE_RESULT_TIME) for task, status in ends.items()} | self._late
        results = read_results(
            self.session, [task for task in waiting if task.is_open], is_local=self._is_local
        )
        late = {}
        for task, (status, deadline) in waiting.items():
            result = results.get(task)
            if isinstance(result, TaskResult) and result.outcomes:
                task.runs += result.run
                first = result.outcomes[0]
                message = f"function {task.name}: {first.text}"
                if first.kind != "ended" or not self._retry(task, first.data.decode(), message):
                    end_futures(task, result.outcomes, status.job_id)
                    self._finish(task)
            elif result is None and task.is_open and status.exit_code == 0 and now < deadline:
                late[task] = status, deadline
            else:
                self._end_without_result(task, status, result if isinstance(result, Exception) else None)
        self._late = late

    def _end_without_result(
        self, task: Task, status: osprofile.JobStatus, problem: Exception | None = None
    ) -> None:
        if not task.is_open:
            self._finish(task)
            return
        error = explain_end(self.session, task, status, problem, python=task.template.executable)
        if not self._retry(task, error.cause or "", error.message):
            self._fail([task], error)

    def _fail(self, tasks: Iterable[Task], error: BaseException) -> None:
        for task in tasks:
            task.fail(error)
            self._finish(task)

    def _finish(self, task: Task) -> None:
        with self._changed:
            task.submitted.set()
            task.is_running = False
            self._live.discard(task)
            if task.job is not None:
                self._tasks.pop(task.job.id, None)
            if self._max_workers is not None:
                self._requests.put(None)
            self._check_end()

    def _retry(self, task: Task, cause: str, message: str) -> bool:
        """Submit a task again if its end allows it, with as much more as the rule says and the site allows."""
        rule = self._retries.get(cause)
        if rule is None or task.retries[cause] >= rule.limit:
            return False
        more = ""
        if rule.factors:
            try:
                scaled = self.session.run(lambda target: target.scale(task.template, rule.factors))
            except osprofile.OSProfileError as error:
                log.warning("function %s: %s", task.name, error)
                return False
            if not scaled.amounts:
                return False
            task.template, more = scaled.description, f" with {scaled}"
        task.retries[cause] += 1
        log.warning("%s; it is submitted again%s (retry %d)", message, more, sum(task.retries.values()))
        self._repeat(task)
        return True

    def _repeat(self, task: Task) -> None:
        """Submit a task again, as a job of its own, or to workers."""
        with self._changed:
            if task.job is not None:
                self._tasks.pop(task.job.id, None)
            key = task.key and f"{task.key}-retry-{sum(task.retries.values())}"
            # as a new task: it waits for its turn, and fails if it cannot be submitted
            task.submitted.clear()
            task.job, task.array, task.index, task.is_running = None, None, 1, False
            self._add(Batch([task], osprofile.build_job_name(task.name, "f."), key))

    # The thread of workers

    def _run_workers(self) -> None:
        """Send tasks to a job of workers, and read what it has done with them."""
        pause = _MIN_PAUSE
        while not self._is_done:
            is_idle = (self._worker_job is None or not self._worker_job.tasks) and not self._late
            requests = list(_drain(self._requests, None if is_idle else pause))
            try:
                for task in requests:
                    if isinstance(task, Task):
                        self._finish(task)
                self._send([batch for batch in requests if isinstance(batch, Batch)])
                has_news = self._read_log() or bool(requests)
            except BaseException as error:  # noqa: BLE001  # such as a session that was closed: nobody waits in vain
                self._worker_job, has_news, self._late = None, False, {}
                self._fail(self.list_live_tasks(), error)
            pause = _MIN_PAUSE if has_news else min(pause * 2, _MAX_PAUSES[self._is_local])
        if self._worker_job is not None and self._worker_job.status is None:
            self._worker_job.stop()

    def _send(self, batches: Sequence[Batch]) -> None:
        tasks = [task for batch in batches for task in batch.tasks]
        waiting = [task for task in tasks if task.is_open]
        try:
            if waiting:
                (self._worker_job or self._start_workers()).send(waiting)
        except osprofile.OSProfileError as error:
            self._fail(waiting, error)
        finally:
            with self._changed:
                for task in tasks:
                    task.submitted.set()
                self._unsubmitted -= len(batches)
                self._changed.notify_all()
        for task in tasks:
            if not task.is_open:
                self._finish(task)

    def _start_workers(self) -> WorkerJob:
        program = build_program(None, is_local=self._is_local, workers=self._workers)
        description = _build_job(self._template, "workers", program)
        description = replace(description, cpus=self._template.cpus or self._workers)
        worker_job = WorkerJob(self.session.submit(description))
        with self._changed:
            self._worker_job = worker_job
        status = self.session.watch(worker_job.job)
        if status.state.is_terminal:
            worker_job.status = status
        return worker_job

    def _read_log(self) -> bool:
        """End the tasks that have a result, and those of a job that has ended; return whether anything has happened."""
        worker_job = self._worker_job
        if worker_job is None:
            self._collect({})
            return False
        status = worker_job.status  # read before the log, which is whole then
        done = worker_job.read_log()
        if done is not None or self._late:
            written = osprofile.JobStatus(
                worker_job.job.id, osprofile.JobState.RUNNING, exit_code=0, reason="it is not there"
            )
            self._collect(dict.fromkeys(done or (), written))
        elif status is not None:
            self._end_workers(worker_job, status)
        return done is not None

    def _end_workers(self, worker_job: WorkerJob, status: osprofile.JobStatus) -> None:
        """Let another job have the tasks that have not begun, if this one took any; all others have no result."""
        with self._changed:
            self._worker_job = None
        for index, task in worker_job.tasks.items():
            if task.is_open and worker_job.may_run_elsewhere(index):
                self._repeat(task)
            elif worker_job.refusal:
                end_futures(task, [Outcome("refused", b"", worker_job.refusal)], status.job_id)
                self._finish(task)
            else:
                self._end_without_result(task, status)


def _build_job(template: osprofile.JobDescription, name: str, program: str) -> osprofile.JobDescription:
    return replace(
        template,
        name=template.name or name,
        environment={**template.environment, VARIABLE: program},
        arguments=["-c", COMMAND],
    )


async def _do_nothing(_target: osprofile.TargetSystem) -> None:
    pass


def _drain(requests: queue.SimpleQueue[_T], timeout: float | None = None) -> Iterator[_T]:
    """Wait for one item of a queue, and yield it and all others that are there."""
    with contextlib.suppress(queue.Empty):
        yield requests.get(timeout=timeout)
        while True:
            yield requests.get_nowait()


def _find_job(target: osprofile.TargetSystem, key: str | None) -> str | None:
    """Return the id of the job that was submitted with a key; None if there is none."""
    record = target.find_by_key(key) if key is not None else None
    return record.status.job_id if record is not None and record.is_submitted else None
