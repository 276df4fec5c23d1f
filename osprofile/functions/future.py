"""The future of a function, and the task of a job that runs it."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import osprofile

T = TypeVar("T")


@final
class FunctionFuture(concurrent.futures.Future[T]):
    """The future of a function that runs in a job. `Executor` makes it."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task
        self._lock = threading.Lock()
        self._is_claimed = False

    @property
    def job(self) -> osprofile.Job:
        """The job, or the task of an array, that runs the function; it is waited for until it is submitted.

        `job.stdout()` has what the function printed, with that of the other calls of its task. After a retry, it is the last
        job. Raises the error of a submission that failed, and `CancelledError` if there is no job.
        """
        self._task.submitted.wait()
        if self._task.job is None:
            self.result(0)  # raises the error
            message = "the function has no job"
            raise RuntimeError(message)
        return self._task.job

    @property
    def runs(self) -> int:
        """How often the function has begun, as far as is known: more than once after a requeue or a retry."""
        return self._task.runs

    def running(self) -> bool:
        """Return whether the job was seen running, and the result is not there yet."""
        return self._task.is_running and not self.done()

    def cancel(self) -> bool:
        """Cancel the function, also one that runs: its job is removed. Return False if it has ended.

        A task with several calls is removed when all of them are cancelled.
        """
        if not super().cancel():
            return False
        if self.claim(is_cancelled=True):
            self._task.note_cancellation()
        return True

    def claim(self, *, is_cancelled: bool = False) -> bool:
        """Return whether the caller is the first who ends this future, and may set its result."""
        with self._lock:
            if self._is_claimed:
                return False
            self._is_claimed = True
        return self.set_running_or_notify_cancel() != is_cancelled


@final
class Task:
    """A job, or a task of an array, that runs one or more calls of a function."""

    def __init__(
        self,
        name: str,
        function: bytes,
        calls: bytes,
        count: int,
        *,
        template: osprofile.JobDescription,
        on_cancelled: Callable[[Task], object],
    ) -> None:
        self.name = name
        """The name of the function."""
        self.template = template
        """What its job asks for."""
        self.function, self.calls = function, calls
        """They are pickled."""
        self.futures: Sequence[FunctionFuture[Any]] = [FunctionFuture(self) for _ in range(count)]
        self.key: str | None = None
        """What the keys of its retries begin with."""
        self.job: osprofile.Job | None = None
        self.array: osprofile.Job | None = None
        self.index = 1
        """Of the task in its array."""
        self.submitted = threading.Event()
        """Set when the job has an id, or will never have one."""
        self.is_running = False
        self.runs = 0
        """How often the calls have begun: those of earlier jobs, then those of this one, too."""
        self.retries: Counter[str] = Counter()
        """The number of retries by cause."""
        self._on_cancelled = on_cancelled

    @property
    def is_open(self) -> bool:
        """Whether anybody waits for it."""
        return any(not future.done() for future in self.futures)

    def note_cancellation(self) -> None:
        """Have the job removed if nobody waits for it any more."""
        if not self.is_open:
            self._on_cancelled(self)

    def fail(self, error: BaseException) -> None:
        """End all futures by an error."""
        for future in self.futures:
            if future.claim():
                future.set_exception(error)
        self.submitted.set()
