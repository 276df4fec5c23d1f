"""How many requests of a kind are worked on at a time; the others wait, first come, first served.

A request that waits is some hundred bytes, one that is worked on some thousands, and the answer to
BLAH_JOB_STATUS_ALL may be a megabyte. So what a client can make of the daemon's memory is bounded, and
many submissions hold up no question.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.blah import requests as r

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_DEFAULT_CONCURRENCY: Final = 500
_CONCURRENCY_LIMITS: Final[dict[type[object], int]] = {
    r.Submit: 64,
    r.StatusAll: 2,
    r.StatusSelect: 2,
}


@final
class RequestQueue:
    """Works on requests by `handle_request`, so many of a kind at a time; `may_start` can hold up all new ones."""

    def __init__(
        self,
        handle_request: Callable[[r.AnyRequest], Awaitable[None]],
        may_start: Callable[[], bool],
    ) -> None:
        self._handle_request, self._may_start = handle_request, may_start
        self._waiting: dict[type[object], deque[r.AnyRequest]] = {}
        self._running: dict[type[object], set[asyncio.Task[None]]] = {}
        self._is_open = True

    def add_request(self, request: r.AnyRequest) -> None:
        """Work on a request, now or when its turn comes."""
        kind = type(request)
        self._waiting.setdefault(kind, deque()).append(request)
        self._start_requests(kind)

    def start_waiting(self) -> None:
        """Start what may be started now: something was in the way."""
        for kind in self._waiting:
            self._start_requests(kind)

    def _start_requests(self, kind: type[object]) -> None:
        waiting, running = self._waiting[kind], self._running.setdefault(kind, set())
        most = _CONCURRENCY_LIMITS.get(kind, _DEFAULT_CONCURRENCY)
        while self._is_open and waiting and len(running) < most and self._may_start():
            task = asyncio.ensure_future(self._handle_request(waiting.popleft()))
            running.add(task)
            task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        for running in self._running.values():
            running.discard(task)
        self.start_waiting()

    # The end

    def cancel_all_except(self, kind: type[object]) -> None:
        """Break off, and forget, the requests of all other kinds."""
        for other, waiting in self._waiting.items():
            if other is not kind:
                waiting.clear()
                for task in self._running[other]:
                    task.cancel()

    async def wait_until_idle(self) -> None:
        """Wait until there is nothing more to do."""
        while tasks := [task for running in self._running.values() for task in running]:
            await asyncio.wait(tasks)

    def cancel_all(self) -> int:
        """Break off all that is left, begin nothing more; give how many requests that were."""
        self._is_open = False
        tasks = [task for running in self._running.values() for task in running]
        for task in tasks:
            task.cancel()
        return len(tasks) + sum(map(len, self._waiting.values()))
