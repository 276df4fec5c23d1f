"""The stream of job events that `TargetSystem.events` returns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.jobs.state import JobEvent


@final
class EventStream:
    """A stream of job events: `async for event in target.events()`. `close` ends it.

    Events that are not read are kept without a limit.
    """

    def __init__(self, on_close: Callable[[EventStream], object]) -> None:
        self._on_close = on_close
        self._queue: asyncio.Queue[JobEvent | None] = asyncio.Queue()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> JobEvent:
        event = await self._queue.get()
        if event is None:
            raise StopAsyncIteration
        return event

    def push_event(self, event: JobEvent) -> None:
        """Add an event to the stream."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """End the stream after the events that it has."""
        self._on_close(self)
        self._queue.put_nowait(None)
