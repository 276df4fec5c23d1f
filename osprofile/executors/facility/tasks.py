"""The tasks of one user: operations that are answered at once, and done later (docs/protocols/iri.md, 5).

They are in memory: the end of the daemon ends them, and their results are gone, as they are after an hour.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import OSProfileError
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.failures import format_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

log: Final = logging.getLogger("osprofile.facility")
MAX_RUNNING_TASKS: Final = 100
MAX_ENDED_TASKS: Final = 1000
MAX_RESULTS_SIZE: Final = 64 << 20
"""Characters of all results; the oldest are dropped."""
RESULT_TIME: Final = 3600.0
"""Seconds for which a result is kept: there is no end of users who have some."""
_RETRY_SECONDS: Final = 5


@final
class Task:
    """An operation; `status` is pending, active, completed, failed or canceled."""

    def __init__(self, command: Mapping[str, Any]) -> None:
        self.task_id = str(uuid.uuid4())
        self.status = "pending"
        self.result: dict[str, Any] | None = None
        self.size = 0
        self._command = command
        self.runner: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it has a result, or was canceled."""
        return self.status not in {"pending", "active"}

    def format(self) -> dict[str, Any]:
        """Return the task as JSON."""
        task = {"id": self.task_id, "status": self.status, "command": self._command}
        return task if self.result is None else {**task, "result": self.result}


@final
class TaskList:
    """The tasks of one user, oldest first."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def start(self, command: str, args: Mapping[str, Any], operation: Awaitable[Any]) -> Task:
        """Begin an operation. Raises `ProblemError` if too many run."""
        if sum(not task.has_ended for task in self._tasks.values()) >= MAX_RUNNING_TASKS:
            if asyncio.iscoroutine(operation):
                operation.close()
            message = f"{MAX_RUNNING_TASKS} tasks are under way"
            raise ProblemError("service-unavailable", message, retry_after=_RETRY_SECONDS)
        task = Task({"router": "filesystem", "command": command, "args": dict(args)})
        self._tasks[task.task_id] = task
        task.runner = asyncio.ensure_future(self._run(task, operation))
        if asyncio.iscoroutine(operation):  # of a task that is stopped before it begins
            task.runner.add_done_callback(lambda _runner: operation.close())
        return task

    async def _run(self, task: Task, operation: Awaitable[Any]) -> None:
        task.status = "active"
        try:
            output = await operation
            task.result, task.status = {"output": output}, "completed"
        except asyncio.CancelledError:
            task.status = "canceled"
        except OSProfileError as error:
            task.result, task.status = {"output": f"Error: {format_error(error)}"}, "failed"
        except Exception:
            log.exception("a task failed because of a fault of osprofile")
            message = "Error: a fault of the server: see its log"
            task.result, task.status = {"output": message}, "failed"
        task.size = len(json.dumps(task.result))
        asyncio.get_running_loop().call_later(RESULT_TIME, self._tasks.pop, task.task_id, None)
        self._drop_old()

    def _drop_old(self) -> None:
        ended = [task for task in self._tasks.values() if task.has_ended]
        size = sum(task.size for task in ended)
        for position, task in enumerate(ended[:-1]):
            if len(ended) - position <= MAX_ENDED_TASKS and size <= MAX_RESULTS_SIZE:
                return
            size -= task.size
            del self._tasks[task.task_id]

    def list(self) -> list[Task]:
        """Return all tasks."""
        return list(self._tasks.values())

    def get(self, task_id: str) -> Task:
        """Return a task. Raises `ProblemError` if there is none."""
        if task_id not in self._tasks:
            message = "there is no such task"
            hint = "tasks are gone after an hour, and when the daemon is started again"
            raise ProblemError("not-found", message, hint=hint)
        return self._tasks[task_id]

    def delete(self, task_id: str) -> None:
        """Forget a task, and stop it if it runs: what its script has begun may go on. Raises `ProblemError`."""
        task = self.get(task_id)
        if task.runner is not None:
            task.runner.cancel()
        del self._tasks[task_id]

    async def close(self) -> None:
        """Stop all tasks."""
        runners = [task.runner for task in self._tasks.values() if task.runner is not None]
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
