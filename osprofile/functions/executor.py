"""Python functions on any batch system that has a profile. See docs/functions.md.

    with osprofile.Executor("slurm", walltime="10m", cpus=4) as executor:
        future = executor.submit(fit, data)
        print(future.result(), future.job.stdout())

It is a `concurrent.futures.Executor` over a `JobSession`. A function runs in a job, or in a task of an array.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import hashlib
import pickle
import sys
import threading
import time
import weakref
from collections import Counter
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import osprofile
from osprofile import JobSession, RetryRule
from osprofile.functions.future import FunctionFuture, Task
from osprofile.functions.results import LOST
from osprofile.functions.runner import Batch, FunctionRunner
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

T = TypeVar("T")
MAX_ARRAY_SIZE: Final = 1000
"""Tasks of an array: Slurm allows 1001 by default."""
_OWN_ATTRIBUTES: Final = {
    "executable", "arguments", "stdin", "array", "application", "working_directory", "retry",
}  # fmt: skip
_RESOURCES: Final = frozenset(f.name for f in fields(osprofile.JobDescription)) - _OWN_ATTRIBUTES
_OTHER_EXECUTORS: Final = frozenset({"initializer", "initargs", "mp_context", "max_tasks_per_child"})
"""Arguments of the executors of the standard library, whose processes run many functions."""
_RETRIED: Final = (osprofile.EndCause.NODE, osprofile.EndCause.PREEMPTED, LOST)
"""Ends that are no fault of the function."""


@final
class Executor(concurrent.futures.Executor):
    """A `concurrent.futures.Executor` whose functions are jobs of the batch system that a profile describes.

    - `profile`: a session, a profile, or the name of one on the standard search path
    - `host`, `context`, `store`: as for `JobSession`
    - `python`: the interpreter on the target, of the version that runs here, with cloudpickle (default: this
      interpreter; on another host, `python3`)
    - `key`: a name for the whole; a program that runs again with the same one finds the jobs of its functions,
      by the names and arguments of these
    - `max_workers`: how many functions are submitted or run at the same time (default: any number)
    - `workers`: run all functions in one job, which has so many processes that each run one after another; it is submitted
      with the first function, again when it has ended with functions left, and ends with `shutdown`
    - `retries`: how often a function is submitted again whose job ended without a result: a number, for NODE, PREEMPTED
      and LOST; or rules, as `{"TIME": 1, "MEMORY": "memory*2, at most 3"}` (see `EndCause` and `JobDescription.retry`)
    - all others: what each job asks for, such as `walltime`, `cpus`, `memory`, `queue`; see `JobDescription`

    Functions and results are pickled by cloudpickle (`pip install osprofile-hpc[functions]`). Raises `ImportError`
    without it, `TypeError` or `ValueError` for other arguments, and the errors of `JobSession`, also for what the profile
    refuses. At the end of `with`, all functions are waited for.
    """

    _whole: Executor | None = None
    """The executor whose other values this one has; see `with_resources`."""

    def __init__(
        self,
        profile: JobSession | osprofile.Profile | str,
        context: Mapping[str, str] | None = None,
        *,
        host: str | None = None,
        store: str | None = None,
        python: str | None = None,
        key: str | None = None,
        max_workers: int | None = None,
        workers: int | None = None,
        retries: int | str | Sequence[str] | Mapping[str, int | str] = 0,
        **resources: Any,  # noqa: ANN401  # the attributes of JobDescription, which has their types
    ) -> None:
        self._dumps = _import_dumps()
        _check_resources(resources)
        for name, number in (("max_workers", max_workers), ("workers", workers)):
            if number is not None and number < 1:
                message = f"{name}: {number} is less than 1"
                raise ValueError(message)
        if workers is not None and (key, max_workers) != (None, None):
            message = "workers: functions in workers have no jobs of their own: leave out key and max_workers"
            raise ValueError(message)
        rules = _read_retries(retries)
        if workers is not None and any(rule.factors for rule in rules.values()):
            message = "retries: functions in workers have no resources of their own: leave the factors out"
            raise ValueError(message)
        if isinstance(profile, JobSession):
            if (context, host, store) != (None, None, None):
                message = "a session has its own context, host and store: leave them out"
                raise ValueError(message)
            session = profile
        else:
            session = JobSession(profile, context, host=host, store=store)
        self.session: JobSession = session
        """The session of the jobs. It stays open, for their output, until the program ends."""
        self._max_workers = max_workers or workers  # dask reads it
        self._workers, self._rules = workers, rules.values()
        is_local = "@" not in session.name
        self._template = osprofile.JobDescription(
            executable=python or (is_local and sys.executable) or "python3",
            arguments=["-c", ""],
            **resources,
        )
        try:
            self._check_template()
        except BaseException:
            if session is not profile:
                session.close()
            raise
        self._can_have_arrays = "ARRAY" in session.profile.global_fields
        self._key = key
        self._digests: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._runner = FunctionRunner(
            session,
            self._template,
            is_local=is_local,
            max_workers=max_workers,
            workers=workers or 0,
            retries=rules,
        )
        _runners.add(self._runner)
        weakref.finalize(self, self._runner.close).atexit = False

    def __repr__(self) -> str:
        return f"<Executor on {self.session.name}>"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for all functions, but not after an interruption: the jobs go on."""
        self.shutdown(wait=kind is None or issubclass(kind, Exception))

    def with_resources(self, **resources: Any) -> Executor:  # noqa: ANN401  # as in __init__
        """Return this executor with other values of what each job asks for, as in `with_resources(memory="8G").submit(f, x)`.

        Both are one: they share the session, `max_workers` and the key, and `shutdown` of either ends both. Raises what
        `Executor` does for the values, and `ValueError` with `workers`, whose functions have no jobs of their own.
        """
        _check_resources(resources)
        if self._workers is not None:
            message = "with_resources: functions in workers have no jobs of their own; give the resources to Executor"
            raise ValueError(message)
        other = copy(self)
        other._whole = self  # noqa: SLF001  # the runner ends with the first executor
        other._template = replace(self._template, **resources)  # noqa: SLF001
        other._check_template()  # noqa: SLF001
        return other

    def _check_template(self) -> None:
        """Raise the error that each submission would raise for the values of its job."""

        async def render(target: osprofile.TargetSystem) -> None:
            await target.render_start_script(self._template)
            for rule in self._rules:
                await target.scale(self._template, rule.factors)

        self.session.run(render)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> FunctionFuture[T]:  # noqa: ANN401
        """Run a function in a job of its own. Raises what pickling does.

        A future as an argument, or in a list or tuple that is one, stands for its result: the function is submitted when
        that is there, and has the same exception where the future has one.
        """
        name = _get_name(fn)
        task = self._make_task(name, self._pickle(fn, name), b"", 1)

        def prepare() -> Batch:
            call = args, kwargs
            if futures:
                call = tuple(map(_resolve, args)), {key: _resolve(value) for key, value in kwargs.items()}
            task.calls = self._pickle([call], name)
            task.key = self._make_key(name, call)
            return Batch([task], osprofile.build_job_name(name, "f."), task.key)

        futures = [*_list_futures((*args, *kwargs.values()))]
        if futures:
            self._runner.submit_after(task, futures, prepare)
        else:
            self._runner.submit(prepare())
        return task.futures[0]

    def submit_many(
        self, fn: Callable[..., T], /, *iterables: Iterable[Any], chunksize: int | None = None
    ) -> list[FunctionFuture[T]]:
        """Run a function for each item as one array, and return the futures in the order of the items.

        A task of the array runs `chunksize` calls, one after another (default: as many as make at most MAX_ARRAY_SIZE
        tasks; with `workers`, 16 for each of them). If there are more tasks than MAX_ARRAY_SIZE, there are several
        arrays. If a call ends its task, as one that uses too much memory, the other calls of the task have no result.
        """
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            (arguments, {}) for arguments in zip(*iterables, strict=False)
        ]
        if chunksize is None:
            chunksize = max(1, -(-len(calls) // (16 * self._workers if self._workers else MAX_ARRAY_SIZE)))
        if chunksize < 1:
            message = f"chunksize: {chunksize} is less than 1"
            raise ValueError(message)
        name = _get_name(fn)
        function = self._pickle(fn, name)
        chunks = [calls[i : i + chunksize] for i in range(0, len(calls), chunksize)]
        size = MAX_ARRAY_SIZE if self._workers or self._can_have_arrays else 1
        futures: list[FunctionFuture[T]] = []
        for i in range(0, len(chunks), size):
            tasks = [
                self._make_task(name, function, self._pickle(chunk, name), len(chunk))
                for chunk in chunks[i : i + size]
            ]
            key = self._make_key(name, (chunksize, chunks[i : i + size]))
            for index, task in enumerate(tasks, 1):
                task.key = key and f"{key}-{index}"
                futures.extend(task.futures)
            self._runner.submit(Batch(tasks, osprofile.build_job_name(name, "f."), key))
        return futures

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int | None = None,
    ) -> Iterator[T]:
        """Yield the results of a function for each item, in order; the items are an array, see `submit_many`.

        Raises the exception of the first call that failed, and `TimeoutError` if a result is not there `timeout`
        seconds after this call. What is not yielded then, or when the iterator is closed, is cancelled.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        futures = self.submit_many(fn, *iterables, chunksize=chunksize)
        futures.reverse()

        def yield_results() -> Iterator[T]:
            try:
                while futures:
                    left = None if deadline is None else max(0.0, deadline - time.monotonic())
                    # a function: the frame keeps no result that was yielded
                    yield _get_result(futures.pop(), left)
            finally:
                for future in futures:
                    future.cancel()

        return yield_results()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more functions; with `wait`, until all have ended. `cancel_futures` cancels those that do not run yet."""
        self._runner.close()
        if cancel_futures:
            for task in self._runner.list_live_tasks():
                for future in () if task.is_running else task.futures:
                    future.cancel()
        if wait:
            self._runner.wait()

    def _pickle(self, value: object, name: str) -> bytes:
        try:
            return self._dumps(value)
        except Exception as error:
            error.add_note(
                f"pickling the function {name} or its arguments; they are copied to another process"
            )
            raise

    def _make_task(self, name: str, function: bytes, calls: bytes, count: int) -> Task:
        return Task(name, function, calls, count, template=self._template, on_cancelled=self._runner.remove)

    def _make_key(self, name: str, arguments: object) -> str | None:
        """Return the key of the job of a function, by its name and arguments; equal ones are counted."""
        if self._key is None:
            return None
        try:
            data = pickle.dumps(arguments, 4)  # cloudpickle's may differ in each run
        except Exception:  # noqa: BLE001  # a pickle may raise anything
            data = self._dumps(arguments)
        digest = hashlib.sha256(name.encode() + b"\0" + data).hexdigest()[:24]
        with self._lock:
            self._digests[digest] += 1
            count = self._digests[digest]
        return f"{self._key}-{digest}" + (f"-{count}" if count > 1 else "")


_runners: Final[weakref.WeakSet[FunctionRunner]] = weakref.WeakSet()


@atexit.register  # after that of JobSession, which is imported above: so it is called before it
def _flush_at_exit() -> None:
    for runner in list(_runners):
        runner.flush()


def _get_result(future: FunctionFuture[T], timeout: float | None) -> T:
    try:
        return future.result(timeout)
    finally:
        future.cancel()  # after the time is over


def _list_futures(arguments: Iterable[Any]) -> Iterator[concurrent.futures.Future[Any]]:
    """Yield the futures among arguments, and in those that are lists or tuples."""
    for argument in arguments:
        for value in argument if type(argument) in {list, tuple} else (argument,):
            if isinstance(value, concurrent.futures.Future):
                yield value


def _resolve(argument: Any) -> Any:  # noqa: ANN401  # any argument of a function
    """Return an argument with results in place of its futures."""
    if isinstance(argument, concurrent.futures.Future):
        return argument.result()
    if any(_list_futures([argument])):
        return type(argument)([_resolve(value) for value in argument])
    return argument


def _import_dumps() -> Callable[[object], bytes]:
    try:
        from cloudpickle import dumps
    except ImportError as error:
        message = "osprofile.Executor needs the package cloudpickle: pip install 'osprofile-hpc[functions]'"
        raise ImportError(message, name="cloudpickle") from error
    found: Callable[[object], bytes] = dumps
    return found


def _check_resources(resources: Mapping[str, object]) -> None:
    for name in resources:
        if name in _OTHER_EXECUTORS:
            message = (
                f"{name}: each function runs in a process of its own; call what prepares it in the function"
            )
            raise TypeError(message)
        if name not in _RESOURCES:
            message = f"Executor has no argument {name!r}, and a function's job no such attribute"
            raise TypeError(f"{message}; {suggest_names(name, _RESOURCES | {'retries'})}")


def _read_retries(retries: object) -> dict[str, RetryRule]:
    """Return the rules for retries by cause."""
    if isinstance(retries, int):
        if retries < 0:
            message = f"retries: {retries} is not a number of retries"
            raise ValueError(message)
        return {str(cause): RetryRule(str(cause), {}, retries) for cause in _RETRIED}
    try:
        return {rule.cause: rule for rule in osprofile.parse_retries(retries)}
    except osprofile.ValueRefusedError as error:
        raise ValueError(str(error)) from None


def _get_name(fn: object) -> str:
    """Return the name of a function; that of a `functools.partial` is what it calls."""
    while hasattr(fn, "func") and not hasattr(fn, "__qualname__"):
        fn = fn.func
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))
