"""Tasks: their states, and that they do not fill the memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from osprofile.errors import RequestError
from osprofile.executors.facility import tasks
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.tasks import TaskList


async def give(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, BaseException):
        raise value
    return value


async def settle(found: TaskList) -> None:
    await asyncio.gather(*(task.runner for task in found.list() if task.runner is not None))


async def test_ends() -> None:
    found = TaskList()
    cases = [("x", "completed", "x"), (RequestError("bad", hint="do"), "failed", "Error: bad (do)")]
    cases += [(ValueError("secret"), "failed", "Error: a fault of the server: see its log")]
    for value, status, output in cases:
        task = found.start("ls", {"path": "/"}, give(value))
        assert task.format() == {
            "id": task.task_id,
            "status": "pending",
            "command": {"router": "filesystem", "command": "ls", "args": {"path": "/"}},
        }
        await settle(found)
        assert (task.format()["status"], task.format()["result"]) == (status, {"output": output})
        assert found.get(task.task_id) is task
        found.delete(task.task_id)
        with pytest.raises(ProblemError):
            found.get(task.task_id)
        with pytest.raises(ProblemError):
            found.delete(task.task_id)


async def test_a_task_that_runs_is_stopped() -> None:
    found = TaskList()
    task = found.start("ls", {}, asyncio.sleep(100))
    await asyncio.sleep(0)
    assert task.status == "active"
    found.delete(task.task_id)
    await asyncio.gather(task.runner or give(None), return_exceptions=True)
    assert task.status == "canceled"
    found.start("ls", {}, asyncio.sleep(100))
    await found.close()


async def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_RUNNING_TASKS", 2)
    monkeypatch.setattr(tasks, "MAX_ENDED_TASKS", 3)
    monkeypatch.setattr(tasks, "MAX_RESULTS_SIZE", 100)
    found = TaskList()
    for _ in range(2):
        found.start("ls", {}, give("x"))
    with pytest.raises(ProblemError) as error:
        found.start("ls", {}, give("x"))
    assert (error.value.status, error.value.retry_after) == (503, 5)
    await settle(found)
    for size in (1, 1, 1):
        found.start("ls", {}, give("x" * size))
        await settle(found)
    assert len(found.list()) == 3
    found.start("ls", {}, give("x" * 1000))  # the last one stays, however large
    await settle(found)
    assert [task.size for task in found.list()] == [len('{"output": ""}') + 1000]


async def test_a_result_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "RESULT_TIME", 0.01)
    found = TaskList()
    running = found.start("ls", {}, asyncio.sleep(100))
    task = found.start("ls", {}, give("x"))
    assert task.runner is not None
    await task.runner
    assert found.get(task.task_id) is task
    await asyncio.sleep(0.1)
    assert found.list() == [running]
    await found.close()
