"""How often a user may ask: a bucket of requests, which fills evenly. And how many ask another service at a time."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.facility.problems import BUSY_RETRY_SECONDS, RETRY_SECONDS, ProblemError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MAX_AT_ONCE: Final = 100
"""Requests of one of many users that run at a time: each has a connection, and all users together have few of them."""
_TURN_TIMEOUT: Final = 10.0
"""Seconds that a request waits for its turn."""


@final
class Rate:
    """At most so many requests a minute, in a row or spread, and so many at a time; 0 for any number."""

    def __init__(self, per_minute: int, at_once: int = 0) -> None:
        self._most, self._left, self._seen = per_minute, float(per_minute), time.monotonic()
        self._at_once, self._running = at_once, 0

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Count a request while it runs. Raises `ProblemError` if there are too many, with the time of the next one."""
        if self._at_once and self._running >= self._at_once:
            message = f"a user may have {self._at_once} requests under way"
            raise ProblemError("too-many-requests", message, retry_after=BUSY_RETRY_SECONDS)
        self._take()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def _take(self) -> None:
        if not self._most:
            return
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._seen) * self._most / 60)
        self._seen = now
        if self._left < 1:
            wait = math.ceil((1 - self._left) * 60 / self._most)
            message = f"a user may send {self._most} requests a minute"
            raise ProblemError("too-many-requests", message, retry_after=wait)
        self._left -= 1


@final
class QueryLimit:
    """At most so many queries at a time, as to an issuer that does not answer: requests do not wait behind all others."""

    def __init__(self, most: int, problem: str) -> None:
        self._free, self._problem = asyncio.Semaphore(most), problem

    @contextlib.asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a turn, and keep it. Raises `ProblemError`, as `refuse` returns it, if there is none in time."""
        try:
            async with asyncio.timeout(_TURN_TIMEOUT):
                await self._free.acquire()
        except TimeoutError:
            raise self.refuse() from None
        try:
            yield
        finally:
            self._free.release()

    def refuse(self) -> ProblemError:
        """Return the problem of a query that has no answer now."""
        return ProblemError("service-unavailable", self._problem, retry_after=RETRY_SECONDS)
