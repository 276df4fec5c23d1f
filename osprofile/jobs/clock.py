"""The two clocks: when something was, and how much time has passed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Clock:
    """The time as one process sees it.

    `monotonic` (s) measures: nobody can set it, and it counts from the boot of the machine, so that
    it is the same for all processes of one boot. `next_timestamp` is for timestamps only.
    """

    def __init__(
        self,
        *,
        wall_clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.monotonic = monotonic
        self._wall_clock = wall_clock
        self._last_timestamp = 0.0

    def next_timestamp(self) -> float:
        """Return the time in s since 1970, always later than what was returned before.

        Where the clock was set back, events would else look older than those that came before them.
        """
        self._last_timestamp = max(
            self._wall_clock(), math.nextafter(self._last_timestamp, math.inf)
        )
        return self._last_timestamp
