"""`osprofile.Executor`, as the tests of concurrent.futures see an executor, and what is a job's."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import operator
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import osprofile
from osprofile import EndCause, Executor, JobState
from osprofile.functions import results, runner
from osprofile.functions.calls import COMMAND, DIRECTORY, VARIABLE, build_program, pack_calls, read_result
from tests.functions.conftest import get_failure, open_executor
from tests.hunting import rounds
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.job.conftest import Machine

# Functions of a module are imported on the other side, and with this one all of pytest: these here are not found by name.


def wait_for(path: Path) -> Callable[[], str]:
    """Return a function that waits for a file, and returns its text."""
    name = str(path)

    def wait() -> str:
        import pathlib
        import time

        while not (pathlib.Path(name).exists() and pathlib.Path(name).read_text()):
            time.sleep(0.02)
        return pathlib.Path(name).read_text()

    return wait


# As any executor


def test_results(executor: Executor) -> None:
    def add(*numbers: int, more: int = 0) -> int:
        sys.stdout.write(f"adding {numbers}\n")
        return sum(numbers) + more

    future = executor.submit(add, 1, 2, more=4)
    large = executor.submit(len, "x" * 100_000)  # more than the environment takes
    assert future.result() == 7
    assert not future.running()
    assert (future.done(), future.runs, future.exception()) == (True, 1, None)
    assert future.job.stdout() == "adding (1, 2)\n"
    assert future.job.name.endswith("add")
    assert future.job.status().state is JobState.DONE
    assert large.result() == 100_000
    others = [executor.submit(functools.partial(add, 1), 2), executor.submit(operator.itemgetter(1), "ab")]
    assert [other.result() for other in others] == [3, "b"]
    assert [other.job.name.rpartition(".")[2] for other in others] == ["add", "itemgetter"]


def test_exceptions_are_themselves(executor: Executor) -> None:
    class OwnError(Exception):
        def __init__(self, first: str, second: str) -> None:
            super().__init__(f"{first} {second}")

    class OtherError(Exception):
        def __reduce__(self) -> tuple[type, tuple[int]]:
            return int, (3,)

    def fail() -> None:
        raise OwnError("it", "failed")  # what is raised can not be unpickled

    def fail_otherwise() -> None:
        raise OtherError

    missing = executor.submit(lambda name: {}[name], "key")
    quitting = executor.submit(sys.exit, 3)
    silent = executor.submit(lambda: sys.stdout.close() or 5)
    other = executor.submit(fail_otherwise)
    own, thing = executor.submit(fail), executor.submit(lambda: (x for x in ""))
    with pytest.raises(KeyError, match="key") as raised:
        missing.result()
    assert "Traceback (most recent call last)" in str(raised.value.__cause__)
    assert "KeyError: 'key'" in missing.job.stderr()
    assert missing.job.status().exit_code == 1
    assert isinstance(quitting.exception(), SystemExit)
    assert "is a value of type int" in str(other.exception())
    assert silent.result() == 5
    error = get_failure(own)
    assert "cannot be pickled" in str(error)
    assert "it failed" in str(error.__cause__)
    with pytest.raises(TypeError, match="cannot pickle 'generator' object") as refused:
        thing.result()
    assert refused.value.__notes__ == ["pickling the result, a generator"]
    with pytest.raises(TypeError, match="lock") as lock:
        executor.submit(threading.Lock().acquire)
    assert "pickling the function" in lock.value.__notes__[0]


def test_wait_as_completed_and_callbacks(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    slow, quick = executor.submit(wait_for(gate)), executor.submit(abs, -1)
    called: list[object] = []
    quick.add_done_callback(lambda future: called.append(future.result()))
    done, others = concurrent.futures.wait([slow, quick], return_when="FIRST_COMPLETED")
    assert (done, others) == ({quick}, {slow})
    gate.write_text("open")
    assert [future.result() for future in concurrent.futures.as_completed([slow])] == ["open"]
    assert called == [1]


def test_cancel(executor: Executor, tmp_path: Path) -> None:
    never = wait_for(tmp_path / "never")
    future = executor.submit(never)
    assert future.job.id
    while not future.running():
        future.job.status()
    tasks = executor.submit_many(lambda wait: wait(), [never, lambda: 1, never])
    assert tasks[1].result() == 1
    for cancelled in (future, *tasks[::2]):
        assert (cancelled.cancel(), cancelled.cancel(), cancelled.cancelled()) == (True, True, True)
        with pytest.raises(CancelledError):
            cancelled.result()
    assert not tasks[1].cancel()
    executor.shutdown()
    assert future.job.wait().state is JobState.REMOVED
    states = [
        task.state
        for task in executor.session.get_job(tasks[0].job.id.partition("_")[0]).task_statuses().values()
    ]
    assert states == [JobState.REMOVED, JobState.DONE, JobState.REMOVED]


def test_shutdown(machine: Machine, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    before = threading.active_count()
    with Executor("here", max_workers=1) as executor:
        first, *others = [executor.submit(wait_for(gate)) for _ in range(4)]
        while not first.running():
            first.job.status()
        others[0].cancel()
        executor.shutdown(wait=False, cancel_futures=True)
        with pytest.raises(RuntimeError, match="after shutdown"):
            executor.submit(abs, 1)
        gate.write_text("open")
    assert first.result(0) == "open"
    assert all(other.cancelled() for other in others)
    assert len(machine.directories) == 1
    with pytest.raises(CancelledError):
        others[1].job  # noqa: B018
    executor.session.close()
    # a thread of this process is that of the loop
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize("workers", [None, 1])
def test_an_interruption_waits_for_nothing(machine: Machine, tmp_path: Path, workers: int | None) -> None:
    executor = Executor("here", workers=workers)
    future = executor.submit(wait_for(tmp_path / "never"))
    with pytest.raises(KeyboardInterrupt), executor:
        raise KeyboardInterrupt
    assert not future.done()
    future.job.cancel()
    assert get_failure(future)
    with pytest.raises(RuntimeError):
        executor.submit(abs, 1)
    executor.session.close()
    assert len(machine.directories) == 1


def test_an_executor_that_nobody_has(machine: Machine) -> None:
    executor = Executor("here")
    future = executor.submit(abs, -3)
    session = executor.session
    del executor
    gc.collect()
    assert future.result() == 3
    while any(thread.name.startswith("osprofile-submit") for thread in threading.enumerate()):
        time.sleep(0.01)
    session.close()
    assert len(machine.directories) == 1


@pytest.mark.parametrize("workers", [None, 1])
def test_a_session_that_is_closed(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int | None
) -> None:
    monkeypatch.setattr(runner, "CHECK_INTERVAL", 0.1)
    with osprofile.JobSession("here") as session:
        executor = Executor(session, workers=workers)
        future = executor.submit(wait_for(tmp_path / "never"))
        job = future.job
    for ended in (future, executor.submit(abs, -1)):
        with pytest.raises(RuntimeError, match="the session is closed"):
            ended.result(PATIENCE)
    executor.shutdown()
    with pytest.raises(ValueError, match="a session has its own"):
        Executor(session, host="far")
    with osprofile.JobSession("here") as session:
        session.get_job(job.id).cancel()
    assert len(machine.directories) == 1


def test_max_workers(machine: Machine, tmp_path: Path) -> None:
    place = str(tmp_path)

    def count_others() -> int:
        import os
        import time

        name = f"{place}/{os.getpid()}.running"
        open(name, "w").close()
        time.sleep(0.05)
        count = sum(name.endswith(".running") for name in os.listdir(place))
        os.remove(name)
        return count

    with open_executor(max_workers=2) as executor:
        counts = [executor.submit(count_others) for _ in range(3)]
        counts += executor.submit_many(lambda _: count_others(), range(3))
    assert {future.result() for future in counts} <= {1, 2}
    assert len(machine.directories) == 4


def test_asyncio(executor: Executor) -> None:
    async def add() -> int:
        return await asyncio.get_running_loop().run_in_executor(executor, operator.add, 1, 2)

    assert asyncio.run(add()) == 3


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"initializer": print}, TypeError, "initializer: each function runs in a process of its own"),
        ({"waltime": 1}, TypeError, "no argument 'waltime'.*did you mean walltime"),
        ({"array": "1-3"}, TypeError, "no argument 'array'"),
        ({"walltime": "soon"}, osprofile.ValueRefusedError, "WALLTIME"),
        ({"queue": "short"}, osprofile.UnknownFieldError, "QUEUE"),
        ({"max_workers": 0}, ValueError, "max_workers"),
        ({"retries": {"TYME": 1}}, ValueError, "'TYME' is no cause"),
        ({"retries": -1}, ValueError, "-1 is not a number of retries"),
        ({"retries": {"MEMORY": "memry*2"}}, ValueError, "'memry' cannot be multiplied"),
        ({"retries": {"MEMORY": "memory*2"}}, osprofile.ValueRefusedError, "the job has no memory"),
        ({"retries": "TIME: walltime*2", "walltime": 9, "workers": 2}, ValueError, "functions in workers"),
        ({"retry": "NODE"}, TypeError, "did you mean .*retries"),
    ],
)
@pytest.mark.usefixtures("machine")
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Executor("here", **arguments)


def test_without_cloudpickle(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ImportError, match=r"pip install 'osprofile-hpc\[functions\]'"):
        Executor("here")
    assert not machine.directories


# map


def test_map(executor: Executor, machine: Machine) -> None:
    assert list(executor.map(pow, range(5), [2] * 9)) == [0, 1, 4, 9, 16]
    assert len(machine.directories) == 1
    assert list(executor.map(pow, [], [])) == []
    numbers = executor.map(lambda n: 12 // n, [3, 2, 0, 1], chunksize=2)
    assert [next(numbers), next(numbers)] == [4, 6]
    with pytest.raises(ZeroDivisionError):
        next(numbers)
    with pytest.raises(StopIteration):
        next(numbers)
    with pytest.raises(ValueError, match="chunksize"):
        executor.submit_many(abs, [1], chunksize=0)


def test_map_with_a_timeout(executor: Executor, tmp_path: Path) -> None:
    results = executor.map(lambda wait: wait(), [lambda: 1, wait_for(tmp_path / "never")], timeout=1.0)
    with pytest.raises(TimeoutError):
        list(results)
    executor.shutdown()


def test_one_in_a_hundred_fails(executor: Executor, machine: Machine) -> None:
    count, chunk = rounds(10_000, 100), rounds(250, 10)

    def work(n: int) -> int:
        if n % 100 == 42:
            raise ValueError(n)
        return n

    futures = executor.submit_many(work, range(count), chunksize=chunk)
    failed = {n: future.exception() for n, future in enumerate(futures) if future.exception()}
    assert list(failed) == list(range(42, count, 100))
    assert {(type(error), *error.args) for error in failed.values() if error} == {
        (ValueError, n) for n in failed
    }
    assert sum(future.result() for n, future in enumerate(futures) if n not in failed) == sum(
        set(range(count)) - set(failed)
    )
    assert len(machine.directories) == 1


# Values of one function


def test_resources_of_one_function(machine: Machine) -> None:
    with open_executor(cpus=2, walltime=60) as executor:
        other = executor.with_resources(cpus=3)
        cpus = [each.submit(lambda: os.environ["GPE_CPUS"]) for each in (executor, other)]
        cpus += other.submit_many(lambda name: os.environ[name], ["GPE_CPUS"])
        assert [future.result() for future in cpus] == ["2", "3", "3"]
        with pytest.raises(osprofile.OSProfileError, match="field CPUS"):
            executor.with_resources(cpus=0)
        with pytest.raises(TypeError, match="did you mean memory"):
            executor.with_resources(memroy="1G")
        del executor
        gc.collect()
        assert other.submit(abs, -1).result() == 1
        other.shutdown()
        with pytest.raises(RuntimeError, match="after shutdown"):
            other.submit(abs, -1)
    with open_executor(workers=1) as executor, pytest.raises(ValueError, match="in workers"):
        executor.with_resources(cpus=1)
    assert len(machine.directories) == 4


# Futures as arguments


@pytest.mark.parametrize("options", [{}, {"workers": 1}, {"key": "study", "max_workers": 1}])
def test_a_future_as_an_argument(machine: Machine, options: dict[str, Any]) -> None:
    def fail() -> int:
        message = "no number"
        raise ValueError(message)

    go = machine.root / "go"
    with open_executor(**options) as executor:
        failed = executor.submit(fail)
        first = executor.submit(lambda wait: int(wait()), wait_for(go))
        total = executor.submit(lambda numbers, more: sum(numbers) + more, [first, 2, first], more=first)
        chain = executor.submit(abs, executor.submit(operator.neg, total))
        after = executor.submit(operator.add, failed, first)
        cancelled = executor.submit(abs, first)
        assert cancelled.cancel()
        unreadable = executor.submit(operator.add, 1, executor.submit(threading.Lock))
        assert not total.done()
        go.write_text("5")
        assert (total.result(), chain.result()) == (17, 17)
        with pytest.raises(ValueError, match="no number"):
            after.result()
        assert cancelled.cancelled()
        assert isinstance(unreadable.exception(), TypeError)
        outer: concurrent.futures.Future[int] = concurrent.futures.Future()
        late = executor.submit(abs, outer)
        outer.cancel()
        outer.set_running_or_notify_cancel()
        with pytest.raises(CancelledError):
            late.result()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, first)
    assert machine.directories


# Jobs that end without a result


@pytest.mark.parametrize("count", [1, 2])
def test_an_exit_without_a_result_is_told_at_once(machine: Machine, count: int) -> None:
    def leave(number: int) -> None:
        if not os.fork():
            os._exit(0)  # of a child: nothing ends
        os.wait()
        os.write(2, b"the last words\n")
        os._exit(number)

    with open_executor() as executor:
        left = executor.submit_many(leave, [0] * count)
        error = get_failure(left[0])
        assert "has no result: it ended with exit code 0; the end of its stderr:\nthe last words" in str(
            error
        )
        assert get_failure(executor.submit(os._exit, 0)).cause is None
    assert machine.directories


def test_a_result_that_comes_late_keeps_no_other(machine: Machine) -> None:
    def replace_process() -> None:
        os.execvp("true", ["true"])  # noqa: S606  # as if the result were not shown yet

    with open_executor() as executor:
        late = executor.submit(replace_process)
        assert late.job.wait().exit_code == 0
        assert executor.submit(abs, -1).result() == 1
        assert not late.done()
        (result,) = machine.root.glob("**/.functions/result.1")
        shutil.copy(result, Path(late.job.directory()) / DIRECTORY / "result.1")
        assert late.result() == 1


def test_no_result(machine: Machine) -> None:
    def leave() -> None:
        import os

        os.write(2, b"the last words\n")
        os._exit(4)

    with open_executor(walltime=1) as executor:
        left = executor.submit(leave)
        late = executor.submit(time.sleep, 60)
        tasks = executor.submit_many(lambda n: n or leave(), range(2))
        error = get_failure(left)
        assert (error.job_id, error.cause, error.output) == (left.job.id, None, "the last words")
        assert "has no result: it ended with exit code 4; the end of its stderr:\nthe last words" in str(
            error
        )
        error = get_failure(tasks[0])
        assert (error.job_id, error.output) == (tasks[0].job.id, "the last words")
        assert tasks[1].result() == 1
        error = get_failure(late)
        assert error.cause == EndCause.TIME
        assert "it exceeded its time limit" in error.message
        assert "walltime" in error.hint
    assert machine.directories


def test_retries(machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = str(tmp_path)

    def live_twice(name: str) -> str:
        import os
        import signal

        path = os.path.join(place, name)
        if os.path.exists(path + "2"):
            return name
        os.rename(path, path + "2") if os.path.exists(path) else open(path, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    with open_executor(retries={"SIGNAL": 2}, key="run") as executor:
        futures = [executor.submit(live_twice, "one"), *executor.submit_many(live_twice, ["two", "three"])]
        assert [future.result() for future in futures] == ["one", "two", "three"]
        assert [future.runs for future in futures] == [3, 3, 3]
    assert sum("is submitted again (retry" in record.message for record in caplog.records) == 6
    assert len(machine.directories) == 8
    with open_executor(key="run") as executor:
        error = get_failure(executor.submit(live_twice, "one"))
        assert (error.cause, "signal 9" in error.message) == (EndCause.SIGNAL, True)
    assert len(machine.directories) == 8


def test_a_retry_has_its_turn_and_its_error(machine: Machine, tmp_path: Path) -> None:
    """It is no job of those that run already, and is waited for only as long as it can be submitted."""
    name = str(tmp_path / "begun")

    def live_once(others: str) -> str:
        import os
        import pathlib
        import shutil
        import signal

        if pathlib.Path(name + others).exists():
            return others
        pathlib.Path(name + others).touch()
        if not others:
            shutil.rmtree(pathlib.Path.home() / ".gpe/submitting")
            (pathlib.Path.home() / ".gpe/submitting").touch()  # nothing can be submitted
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    with open_executor(retries={"SIGNAL": 1}, max_workers=1) as executor:
        futures = [executor.submit(live_once, "a"), executor.submit(live_once, "b")]
        assert [future.result(PATIENCE) for future in futures] == ["a", "b"]
        futures = [executor.submit(live_once, ""), executor.submit(live_once, "c")]
        for future in futures:
            with pytest.raises(osprofile.ScriptFailedError, match="jobs cannot work in"):
                future.result(PATIENCE)
            with pytest.raises(osprofile.ScriptFailedError, match="jobs cannot work in"):
                future.job.status()
    assert len(machine.directories) >= 5


def test_an_end_that_is_told_late_is_no_second_end(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that ended before it was followed has its end told by that, and then by its event."""
    name = str(tmp_path / "begun")
    is_read, is_told = threading.Event(), threading.Event()
    add_listener, explain_end = osprofile.JobSession.add_listener, runner.explain_end

    def live_once() -> int:
        import os
        import signal

        with open(name, "a") as file:
            file.write("x")
        if os.path.getsize(name) > 1:
            return os.path.getsize(name)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def add(session: osprofile.JobSession, listener: Callable[[osprofile.JobEvent], object]) -> None:
        def listen(event: osprofile.JobEvent) -> None:
            listener(event)
            if event.status.state.is_terminal and not is_told.is_set():
                is_read.wait(PATIENCE)
                listener(event)
                is_told.set()

        add_listener(session, listen)

    def explain(*args: Any, **named: Any) -> osprofile.NoResultError:  # noqa: ANN401  # those of the function
        is_read.set()
        is_told.wait(PATIENCE)
        return explain_end(*args, **named)

    monkeypatch.setattr(osprofile.JobSession, "add_listener", add)
    monkeypatch.setattr(runner, "explain_end", explain)
    with open_executor(retries={"SIGNAL": 2}) as executor:
        assert executor.submit(live_once).result(PATIENCE) == 2
    assert len(machine.directories) == 2


def test_a_retry_gets_more_time(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    def wait_long(number: int) -> int:
        import time

        time.sleep(2 * (number % 2))
        return number

    with open_executor(walltime=1, retries={"TIME": "walltime*30, at most 2"}) as executor:
        futures = [executor.submit(wait_long, 1), *executor.submit_many(wait_long, [2, 3])]
        assert [future.result() for future in futures] == [1, 2, 3]
        asked = [future.job.session.history() for future in futures[:1]]
    assert len(asked[0]) == len(machine.directories) == 4
    assert sum("it is submitted again with walltime 30s (retry 1)" in r.message for r in caplog.records) == 2


def end_in_a_second_run() -> None:
    with Path(os.environ["GPE_WORKING_DIRECTORY"], DIRECTORY, "runs.1").open("a") as file:
        file.write("\n")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_requeued_job(machine: Machine, tmp_path: Path) -> None:
    calls = pack_calls(pickle.dumps(abs), [pickle.dumps([((-1,), {})])])
    environment = {
        **os.environ,
        VARIABLE: build_program(calls, is_local=True),
        "GPE_WORKING_DIRECTORY": str(tmp_path),
    }
    for run in (1, 2):
        subprocess.run([sys.executable, "-c", COMMAND], env=environment, check=True)
        result = read_result(osprofile.JobFile(str(tmp_path), f"{DIRECTORY}/result.1"))
        assert result
        assert (result.run, [outcome.kind for outcome in result.outcomes]) == (run, ["result"])
    with open_executor() as executor:
        error = get_failure(executor.submit(end_in_a_second_run))
    assert "this was its run 2, after a requeue" in error.message
    assert len(machine.directories) == 1


# The interpreter


def list_other_interpreters() -> list[tuple[str, str]]:
    """Return the oldest and the newest other Python of this machine, by their tags and paths."""
    found = set()
    paths = {shutil.which(f"python3.{minor}") for minor in range(6, 20)}
    paths |= {str(path) for path in Path(sys.base_prefix).parent.glob("*/bin/python3")}
    for path in paths - {None}:
        code = "import sys; print('%08x' % sys.hexversion, sys.implementation.cache_tag)"
        done = subprocess.run([str(path), "-c", code], capture_output=True, text=True, check=False)
        version, _, tag = done.stdout.strip().partition(" ")
        if done.returncode == 0 and tag != sys.implementation.cache_tag:
            found.add((version, tag, str(path)))
    others = sorted(found)
    return [other[1:] for other in {others[0], others[-1]}] if others else []


def test_another_interpreter(machine: Machine, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    plain.chmod(0o755)
    texts = {str(plain): "has no package cloudpickle", "no-python": "python= names the interpreter"}
    for tag, path in list_other_interpreters():
        texts[path] = f" is {tag}, not {sys.implementation.cache_tag}"
    for python, text in texts.items():
        with open_executor(python=python) as executor:
            error = get_failure(executor.submit(lambda: 1))
            assert text in str(error)
    assert len(machine.directories) == len(texts)


@pytest.mark.parametrize("workers", [None, 1])
def test_another_cloudpickle(machine: Machine, tmp_path: Path, workers: int | None) -> None:
    (tmp_path / "cloudpickle").mkdir()
    (tmp_path / "cloudpickle/__init__.py").write_text("__version__ = '0.1'")
    (tmp_path / "cloudpickle/cloudpickle.py").write_text("")
    with open_executor(environment={"PYTHONPATH": str(tmp_path)}, workers=workers) as executor:
        error = get_failure(executor.submit(lambda: 1))
        assert "has cloudpickle 0.1, not " in error.message
    assert machine.directories


# Another machine


def test_another_machine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "read_result", lambda file: read_result(check_is_copy(machine, file)))
    with open_executor(host="far", python=sys.executable) as executor:
        futures = [executor.submit(len, "x" * size) for size in (1, 100_000)]
        tasks = executor.submit_many(lambda n: sys.stdout.write("here\n") // n, range(4))
        assert [future.result() for future in futures] == [1, 100_000]
        assert [type(task.exception()) for task in tasks] == [ZeroDivisionError, *[type(None)] * 3]
        assert tasks[3].job.stdout() == "here\n"
        assert isinstance(executor.submit(os._exit, 0).cancel(), bool)
    assert set((machine.root / "connections").read_text().split()) == {"far"}


def check_is_copy(machine: Machine, file: osprofile.JobFile) -> osprofile.JobFile:
    """Raise an error if a result is read in the directory of its job."""
    assert not file.directory.startswith(str(machine.root))
    return file


# Somebody else


class Touch:
    """What makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, int]]:
        return os.open, (str(self.path), os.O_CREAT)


def remake(directory: Path, *names: str, made: object) -> None:
    """Let somebody else make a directory again, with pickles."""
    directory.rename(directory.with_name("cleaned"))
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(pickle.dumps(made))
    for place in (directory, *directory.rglob("*")):
        os.chown(place, 12345, -1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("host", [None, "far"])
def test_no_result_of_somebody_else_is_read(machine: Machine, tmp_path: Path, host: str | None) -> None:
    options: dict[str, Any] = {"key": "k", "host": host, "python": sys.executable}
    with open_executor(**options) as executor:
        assert executor.submit(abs, -1).result() == 1
    (directory,) = machine.directories
    remake(directory, ".functions/result.1", made=Touch(tmp_path / "ran"))
    with open_executor(**options) as executor:
        message = str(get_failure(executor.submit(abs, -1)))
    assert not (tmp_path / "ran").exists()
    assert f"{directory} is not used: this directory belongs to another user" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("workers", [0, 1])
def test_no_functions_of_somebody_else_are_run(tmp_path: Path, workers: int) -> None:
    directory = tmp_path / "job"
    directory.mkdir()
    environment = {
        **os.environ,
        VARIABLE: build_program(None, is_local=True, workers=workers),
        "GPE_WORKING_DIRECTORY": str(directory),
    }
    if workers:  # they run while it is replaced
        process = subprocess.Popen([sys.executable, "-c", COMMAND], env=environment)
        wait_until((directory / DIRECTORY / "inbox").exists)
    remake(directory, f"{DIRECTORY}/inbox/1", f"{DIRECTORY}/calls", made=Touch(tmp_path / "ran"))
    if workers:
        (tmp_path / "cleaned" / DIRECTORY / "stop").touch()
        with process:
            wait_until(lambda: process.poll() is not None or (tmp_path / "ran").exists())
            process.kill()
    else:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == f"{directory} is not used: others can change this directory\n"
    assert not (tmp_path / "ran").exists()


# A program that ends, and runs again

PROGRAM = """\
import os, signal, sys, osprofile

def work(n):
    with open(sys_argv[1], "a") as file:
        file.write(f"{n}\\n")
    return n + 1

sys_argv = sys.argv
executor = osprofile.Executor("here", key="run-1")
futures = [executor.submit(work, n) for n in (1, 1)] + executor.submit_many(work, [5, 6])
if sys.argv[2] == "killed":
    [future.job for future in futures]
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "wait":
    print(*[future.result() for future in futures])
"""


@pytest.mark.race
@pytest.mark.parametrize("end", ["killed", "left"])
def test_a_program_that_runs_again(machine: Machine, tmp_path: Path, end: str) -> None:
    program, calls = tmp_path / "program.py", tmp_path / "calls"
    program.write_text(PROGRAM)
    for how, code, output in (
        (end, -signal.SIGKILL if end == "killed" else 0, ""),
        ("wait", 0, "2 2 6 7\n"),
        ("wait", 0, "2 2 6 7\n"),
    ):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(program), str(calls), how],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, output, "")
    assert sorted(calls.read_text().split()) == ["1", "1", "5", "6"]
    assert len(machine.directories) == 3
