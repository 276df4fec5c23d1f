"""The two clocks of a target system: one for timestamps, one for intervals."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable


class Moment(NamedTuple):
    """The same moment by both clocks."""

    timestamp: float
    """Seconds since 1970."""
    monotonic: float
    """Seconds, for intervals."""


@final
class Clock:
    """The time in one process.

    `monotonic` (s) is for intervals. It cannot be set, and counts from the boot of the machine, so all
    processes have the same one until the next boot. `next_timestamp` is only for timestamps.
    """

    def __init__(
        self, *, wall_clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.monotonic = monotonic
        self._wall_clock = wall_clock
        self._last_timestamp = 0.0

    def next_timestamp(self) -> float:
        """Return the time in s since 1970, always later than the last one returned.

        Without this, new events would look older than earlier ones after the clock was set back.
        """
        self._last_timestamp = max(self._wall_clock(), math.nextafter(self._last_timestamp, math.inf))
        return self._last_timestamp

    def now(self) -> Moment:
        """Return the time by both clocks; the timestamp is always later than the last one returned."""
        return Moment(self.next_timestamp(), self.monotonic())
