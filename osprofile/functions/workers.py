"""Functions in workers: one job has several processes that take tasks until it ends.

The tasks go to the job in files, and its log says which of them have begun and ended; see `remote`.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Final, final

import osprofile
from osprofile.functions.calls import COMMAND, DIRECTORY, VARIABLE, TaskResult, build_program, pack_calls
from osprofile.functions.results import REFUSAL_HINT, end_futures, explain_end, read_results
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from osprofile.functions.future import Task
    from osprofile.functions.runner import Batch

log: Final = logging.getLogger("osprofile.functions")
_MIN_PAUSE: Final = 0.02
_MAX_PAUSES: Final = {True: 1.0, False: 5.0}
"""Seconds between two readings of the log, which double while nothing happens: on this machine, and on another one."""


@final
class _WorkerJob:
    """A job with workers, and what is known of it."""

    def __init__(self, job: osprofile.Job) -> None:
        self.job = job
        self._directory = job.directory()
        self.status: osprofile.JobStatus | None = None
        """Its end."""
        self.position: Any = None
        self.rest = b""
        """The begin of a line of the log."""
        self.tasks: dict[int, Task] = {}
        """Those without a result, by index."""
        self.taken: set[int] = set()
        """The indices of those that have begun."""
        self.has_begun = False
        self.refusal = ""
        self.inbox_count = 0

    def get_file(self, name: str) -> osprofile.JobFile:
        """Return a file of the directory DIRECTORY of the job."""
        return osprofile.JobFile(self._directory, f"{DIRECTORY}/{name}")


@final
class WorkerPool:
    """Has tasks run by the workers of a job, and ends their futures. The methods are those of `FunctionRunner`."""

    def __init__(
        self,
        session: osprofile.JobSession,
        template: osprofile.JobDescription,
        *,
        is_local: bool,
        workers: int,
        retries: Mapping[str, int],
    ) -> None:
        self.session = session
        self._template, self._is_local, self._workers = template, is_local, workers
        self._retries = retries
        self._changed = threading.Condition(threading.RLock())
        self._waiting: list[Task] = []
        """The tasks that no job has."""
        self._live: set[Task] = set()
        self._is_closed = False
        self._is_woken = False
        self._thread: threading.Thread | None = None
        self._worker_job: _WorkerJob | None = None
        self._task_count = 0

    def submit(self, batch: Batch) -> None:
        """Have tasks run soon. Raises `RuntimeError` after `close`."""
        with self._changed:
            if self._is_closed:
                message = "cannot schedule new functions after shutdown"
                raise RuntimeError(message)
            self._live.update(batch.tasks)
            self._waiting.extend(batch.tasks)
            self._wake()
            if self._thread is None:
                self.session.add_listener(self._note_event)
                self._thread = threading.Thread(target=self._run, name="osprofile-workers", daemon=True)
                self._thread.start()

    def remove(self, task: Task) -> None:
        """Forget a task that nobody waits for; a worker may run it all the same."""
        with self._changed:
            if task in self._waiting:
                self._waiting.remove(task)
            task.submitted.set()
            self._live.discard(task)
            self._changed.notify_all()
            self._wake()

    def close(self) -> None:
        """Accept no more functions; the job ends when all have ended."""
        with self._changed:
            self._is_closed = True
            self._wake()

    def list_live_tasks(self) -> list[Task]:
        """Return the tasks that have not ended."""
        with self._changed:
            return list(self._live)

    def wait(self) -> None:
        """Wait until all tasks have ended, and the workers know that nothing comes any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._live)
        if self._thread is not None and self._is_closed:
            self._thread.join()

    def flush(self) -> None:
        """Wait until a job has all tasks."""
        with self._changed:
            self._changed.wait_for(lambda: all(task.submitted.is_set() for task in self._live))

    def _wake(self) -> None:
        self._is_woken = True
        self._changed.notify_all()

    def _note_event(self, event: osprofile.JobEvent) -> None:
        with self._changed:
            worker_job = self._worker_job
            if worker_job is None or event.job_id != worker_job.job.id:
                return
            if event.state.is_terminal:
                worker_job.status = event.status
            self._wake()

    # What follows is called by the thread

    def _run(self) -> None:
        pause = _MIN_PAUSE
        try:
            while True:
                with self._changed:
                    is_idle = self._worker_job is None or not self._worker_job.tasks
                    self._changed.wait_for(lambda: self._is_woken, None if is_idle else pause)
                    if self._is_woken:
                        pause = _MIN_PAUSE
                    self._is_woken = False
                    if self._is_closed and not self._live:
                        break
                pause = _MIN_PAUSE if self._work() else min(pause * 2, _MAX_PAUSES[self._is_local])
            self._stop()
        except BaseException as error:  # noqa: BLE001  # such as a session that was closed: nobody waits in vain
            for task in self.list_live_tasks():
                self._fail(task, error)
        finally:
            with contextlib.suppress(ValueError):
                self.session.remove_listener(self._note_event)

    def _work(self) -> bool:
        """Send tasks, and read results; return whether there were any."""
        with self._changed:
            waiting = [task for task in self._waiting if task.is_open]
            self._waiting.clear()
        if waiting:
            try:
                self._send(waiting)
            except osprofile.OSProfileError as error:
                for task in waiting:
                    self._fail(task, error)
        if self._worker_job is None:
            return bool(waiting)
        status = self._worker_job.status  # read before the log, which is whole then
        is_changed = self._read_log(self._worker_job)
        if status is not None and not is_changed:
            self._end_job(self._worker_job, status)
        return is_changed or bool(waiting)

    def _send(self, tasks: Sequence[Task]) -> None:
        if self._worker_job is None:
            self._worker_job = self._start_job()
        worker_job = self._worker_job
        arriving = []
        for task in tasks:
            self._task_count += 1
            task.index, task.job = self._task_count, worker_job.job
            worker_job.tasks[task.index] = task
            arriving.append((task.index, pack_calls(task.function, [task.calls])))
        worker_job.inbox_count += 1
        file = worker_job.get_file(f"inbox/{worker_job.inbox_count}")
        content = BytesIO(pickle.dumps(arriving))
        self.session.run(lambda target: target.files.upload_file(content, file))
        with self._changed:
            for task in tasks:
                task.submitted.set()
            self._changed.notify_all()

    def _start_job(self) -> _WorkerJob:
        program = build_program(None, is_local=self._is_local, workers=self._workers)
        description = replace(
            self._template,
            name=self._template.name or "workers",
            cpus=self._template.cpus or self._workers,
            environment={**self._template.environment, VARIABLE: program},
            arguments=["-c", COMMAND],
        )
        worker_job = _WorkerJob(self.session.submit(description))
        with self._changed:
            self._worker_job = worker_job
        status = self.session.watch(worker_job.job)
        if status.state.is_terminal:
            worker_job.status = status
        return worker_job

    def _read_log(self, worker_job: _WorkerJob) -> bool:
        """Read what has happened since the last time; return whether something has."""
        file, position = worker_job.get_file("log"), worker_job.position
        try:
            part = self.session.run(lambda target: target.files.read_file_part(file, position))
        except osprofile.ScriptFailedError:  # the directory is missing until the job begins
            part = None
        except osprofile.OSProfileError as error:
            log.warning("results of job %s cannot be read now: %s", worker_job.job.id, error.message)
            return False
        if part is None or not part.data:
            return False
        worker_job.position = part.position
        *lines, worker_job.rest = (worker_job.rest + part.data).split(b"\n")
        done: dict[Task, None] = {}  # a task is noted twice if its worker was killed in between
        for line in lines:
            word, _, text = line.decode("utf-8", "replace").partition(" ")
            task = worker_job.tasks.get(int(text)) if text.isdecimal() else None
            if word == "begun":
                worker_job.has_begun = True
            elif word == "refused":
                worker_job.refusal = text
            elif word == "taken" and task is not None:
                worker_job.taken.add(task.index)
                task.is_running = True
            elif word == "done" and task is not None:
                done[task] = None
        self._collect(worker_job, list(done))
        return True

    def _collect(self, worker_job: _WorkerJob, tasks: Sequence[Task]) -> None:
        results = read_results(self.session, [t for t in tasks if t.is_open], is_local=self._is_local)
        for task in tasks:
            del worker_job.tasks[task.index]
            result = results.get(task)
            if isinstance(result, TaskResult):
                task.runs += result.run
                first = result.outcomes[0]
                if first.kind == "ended" and self._retry(task, first.data.decode(), first.text):
                    continue
                end_futures(task, result.outcomes, worker_job.job.id)
                self._finish(task)
            else:
                message = f"function {task.name}: job {quote_name(worker_job.job.id)} has a result that cannot be read"
                details = f": {result}" if result is not None else ""
                self._fail(task, osprofile.NoResultError(message + details, job_id=worker_job.job.id))

    def _end_job(self, worker_job: _WorkerJob, status: osprofile.JobStatus) -> None:
        """Let another job have the tasks that have not begun, if this one took any; all others have no result."""
        with self._changed:
            self._worker_job = None
        goes_on = worker_job.has_begun and (bool(worker_job.taken) or status.exit_code == 0)
        for index, task in worker_job.tasks.items():
            task.is_running = False
            if not task.is_open:
                self._finish(task)
            elif goes_on and index not in worker_job.taken:
                self._repeat(task)
            elif worker_job.refusal:
                message = (
                    f"function {task.name}: job {quote_name(status.job_id)} did not run: {worker_job.refusal}"
                )
                self._fail(task, osprofile.NoResultError(message, job_id=status.job_id, hint=REFUSAL_HINT))
            else:
                python = self._template.executable
                error = explain_end(self.session, task, status, None, python=python)
                if not self._retry(task, error.cause or "", error.message):
                    self._fail(task, error)

    def _retry(self, task: Task, cause: str, message: str) -> bool:
        if task.retries[cause] >= self._retries.get(cause, 0):
            return False
        task.retries[cause] += 1
        log.warning("function %s: %s; it is run again", task.name, message)
        self._repeat(task)
        return True

    def _repeat(self, task: Task) -> None:
        with self._changed:
            task.is_running = False
            self._waiting.append(task)
            self._wake()

    def _fail(self, task: Task, error: BaseException) -> None:
        task.fail(error)
        self._finish(task)

    def _finish(self, task: Task) -> None:
        task.submitted.set()
        with self._changed:
            task.is_running = False
            self._live.discard(task)
            self._changed.notify_all()
            if not self._live:
                self._wake()

    def _stop(self) -> None:
        """Let the job end."""
        worker_job = self._worker_job
        if worker_job is None or worker_job.status is not None:
            return
        try:
            self.session.run(lambda target: target.files.upload_file(BytesIO(), worker_job.get_file("stop")))
        except osprofile.OSProfileError as error:
            log.warning("the workers of job %s end later: %s", worker_job.job.id, error.message)
