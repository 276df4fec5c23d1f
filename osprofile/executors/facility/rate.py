"""How often a user may ask: a bucket of requests, which fills evenly."""

from __future__ import annotations

import math
import time
from typing import final

from osprofile.executors.facility.problems import ProblemError


@final
class Rate:
    """At most so many requests a minute, in a row or spread; 0 for any number."""

    def __init__(self, per_minute: int) -> None:
        self._most, self._left, self._seen = per_minute, float(per_minute), time.monotonic()

    def take(self) -> None:
        """Count a request. Raises `ProblemError` if there were too many, with the time of the next one."""
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
