"""A queue of requests with a limit for each command; requests over the limit wait their turn.

A waiting request takes some hundred bytes, a running one some thousands, and the answer to
BLAH_JOB_STATUS_ALL may take a megabyte. The limits bound the daemon's memory, and many submissions
do not delay status requests.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from osprofile.executors.blah.messages import Request

_DEFAULT_CONCURRENCY: Final = 500
_CONCURRENCY_LIMITS: Final = {"BLAH_JOB_SUBMIT": 64, "BLAH_JOB_STATUS_ALL": 2, "BLAH_JOB_STATUS_SELECT": 2}


@final
class RequestQueue:
    """Runs `handle_request` for each request as soon as its command's limit and `may_start()` allow."""

    def __init__(
        self, handle_request: Callable[[Request], Awaitable[None]], may_start: Callable[[], bool]
    ) -> None:
        self._handle_request, self._may_start = handle_request, may_start
        self._waiting: dict[str, deque[Request]] = {}
        self._running: dict[str, set[asyncio.Task[None]]] = {}
        self._is_open = True

    def add_request(self, request: Request) -> None:
        """Start a request, now or when its turn comes."""
        self._waiting.setdefault(request.command, deque()).append(request)
        self._start_requests(request.command)

    def start_waiting_requests(self) -> None:
        """Start waiting requests within the limits; call this when `may_start()` has become true again."""
        for command in self._waiting:
            self._start_requests(command)

    def _start_requests(self, command: str) -> None:
        waiting, running = self._waiting[command], self._running.setdefault(command, set())
        limit = _CONCURRENCY_LIMITS.get(command, _DEFAULT_CONCURRENCY)
        while self._is_open and waiting and len(running) < limit and self._may_start():
            task = asyncio.ensure_future(self._handle_request(waiting.popleft()))
            running.add(task)
            task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        for running in self._running.values():
            running.discard(task)
        self.start_waiting_requests()

    # Shutdown

    def cancel_all_except(self, command: str) -> None:
        """Cancel the running requests of all other commands, and drop the waiting ones."""
        for other, waiting in self._waiting.items():
            if other != command:
                waiting.clear()
                for task in self._running[other]:
                    task.cancel()

    async def wait_until_idle(self) -> None:
        """Wait until no request is running."""
        while tasks := [task for running in self._running.values() for task in running]:
            await asyncio.wait(tasks)

    def cancel_all(self) -> int:
        """Cancel the running requests, start no more, and return how many were running or waiting."""
        self._is_open = False
        tasks = [task for running in self._running.values() for task in running]
        for task in tasks:
            task.cancel()
        return len(tasks) + sum(map(len, self._waiting.values()))
