"""The times that a site may set, and the two clocks of a target system: for timestamps, and for intervals."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times in seconds that a site may set."""

    min_poll_interval: float | None = None
    """The minimum between two polls; None: POLL_INTERVAL of the profile's GET_JOB_STATUS, else 1."""
    max_poll_interval: float | None = None
    """The maximum between two polls; None: MAX_POLL_INTERVAL of the profile's GET_JOB_STATUS, else 60."""
    max_retry_interval: float = 300.0
    """The maximum while polls fail."""
    grace_period: float = 60.0
    """After it, a job that nobody knows is LOST."""
    log_poll_interval: float = 300.0
    """The minimum while a log reports the jobs."""
    busy_timeout: float = 120.0
    """How long a submission with a key waits while another process submits that job; `script_timeout` if that is less."""
    queue_timeout: float | None = None
    """How long a submission waits while SUBMIT_RATE, MAX_QUEUED or the batch system allows no more jobs; None: always."""
    script_timeout: float = 120.0
    """The limit of a script whose template has no TIME_LIMIT."""


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
