"""`osprofile.Executor(workers=N)`: one job has processes that take functions until it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from osprofile import EndCause, Executor, JobState
from tests.functions.conftest import get_failure, open_executor
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine


@pytest.mark.parametrize("host", [None, "far"])
def test_many_functions_in_one_job(machine: Machine, host: str | None) -> None:
    def work(n: int) -> int:
        return 100 // n

    with Executor("here", host=host, python=sys.executable, workers=2) as executor:
        futures = [executor.submit(work, n) for n in (1, 2, 0)]
        pids = {executor.submit(os.getpid).result() for _ in range(3)}
        assert list(executor.map(work, range(1, 101))) == [100 // n for n in range(1, 101)]
        assert executor.submit(len, "x" * 100_000).result() == 100_000
        assert [future.exception() and type(future.exception()) for future in futures] == [
            None,
            None,
            ZeroDivisionError,
        ]
        assert {future.job for future in futures} == {futures[0].job}
    assert len(pids) <= 2
    status = futures[0].job.wait()
    assert (status.state, status.exit_code) == (JobState.DONE, 0)
    assert "ZeroDivisionError" in futures[0].job.stderr()
    executor.session.close()
    assert len(machine.directories) == 1
    assert (machine.root / "connections").exists() == (host is not None)


def test_a_function_that_ends_its_worker(machine: Machine) -> None:
    def kill(number: int = signal.SIGKILL) -> None:
        os.kill(os.getpid(), number)

    with open_executor(workers=1, retries={"SIGNAL": 1}) as executor:
        left, killed, last = executor.submit(os._exit, 4), executor.submit(kill), executor.submit(abs, -1)
        assert get_failure(executor.submit(kill, signal.SIGXCPU)).cause == EndCause.TIME
        error = get_failure(left)
        assert (error.cause, "the worker ended with exit code 4" in error.message) == (None, True)
        error = get_failure(killed)
        assert (error.cause, "signal 9 ended the worker" in error.message) == (EndCause.SIGNAL, True)
        assert killed.runs == 2
        assert last.result() == 1
    assert len(machine.directories) == 1


def test_a_result_that_is_written_is_no_more_lost(machine: Machine) -> None:  # noqa: ARG001
    def kill_in(name: str) -> str:
        # the worker uses them between the result and the next task: it is killed around the line in the log
        setattr(os, name, lambda *_arguments: os.kill(os.getpid(), signal.SIGKILL))
        return name

    def close_stderr() -> None:
        sys.stderr.close()

    with open_executor(workers=1) as executor:
        for name in ("write", "close", "unlink"):
            assert executor.submit(kill_in, name).result() == name
        assert executor.submit(setattr, sys, "stdout", None).result() is None
        assert executor.submit(close_stderr).result() is None
        assert isinstance(executor.submit(abs, "x").exception(), TypeError)


def test_a_result_that_the_file_system_shows_late(machine: Machine) -> None:  # noqa: ARG001
    def rename_late() -> str:
        rename = os.rename

        def rename_soon(old: str, new: str) -> None:
            os.rename = rename
            if os.fork() == 0:
                time.sleep(2)
                rename(old, new)
                os._exit(0)

        os.rename = rename_soon  # type: ignore[assignment]
        return "late"

    with open_executor(workers=1) as executor:
        assert executor.submit(rename_late).result() == "late"


def test_a_job_that_ends_before_its_functions(machine: Machine) -> None:
    with open_executor(workers=1, walltime=1) as executor:
        late, *others = [executor.submit(time.sleep, 60), *executor.submit_many(abs, [-1, -2], chunksize=1)]
        assert get_failure(late).cause == EndCause.TIME
        assert [other.result() for other in others] == [1, 2]
        assert others[0].job != late.job
    assert len(machine.directories) == 2


def test_workers_that_cannot_begin(machine: Machine) -> None:
    for python, text in ((sys.executable + "3000", "python= names the interpreter"), ("true", "exit code 0")):
        with open_executor(workers=1, python=python) as executor:
            error = get_failure(executor.submit(abs, 1))
            assert text in str(error)
    assert len(machine.directories) == 2


def test_cancel_and_shutdown(machine: Machine) -> None:
    with Executor("here", workers=1) as executor:
        slow, waiting = executor.submit(time.sleep, 60), executor.submit(abs, 1)
        wait_until(slow.running)
        assert slow.cancel()
        executor.shutdown(wait=False, cancel_futures=True)
        assert waiting.cancelled()
        with pytest.raises(RuntimeError, match="after shutdown"):
            executor.submit(abs, 1)
    assert slow.job.wait().state is JobState.DONE
    executor.session.close()
    with pytest.raises(ValueError, match="leave out key"):
        Executor("here", workers=1, key="run")
    assert len(machine.directories) == 1
