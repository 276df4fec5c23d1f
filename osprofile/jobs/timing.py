"""How long to wait until the next poll: short when something moves, long when nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

_SLOWDOWN_FACTOR: Final = 1.5
_MAX_QUERY_SHARE: Final = 0.1
"""Of its time, the batch system is asked this part at most, as long as nothing is submitted."""
_MAX_PAUSE_FACTOR: Final = 1 / _MAX_QUERY_SHARE - 1
"""So many times a poll's own time pass until the next one; after a submission it begins with 1."""
_OVERDUE_WINDOW: Final = 60.0
"""Seconds for which a job that should have ended is expected to end any moment."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times in seconds, all of them a site's choice.

    Between two polls `min_poll_interval` to `max_poll_interval` pass, and up to `max_retry_interval` as long as polls fail. A job
    that nobody knows any more is LOST after `grace_period`. Where a log tells of the jobs, a poll each
    `log_poll_interval` is enough. A script whose template has no TIME_LIMIT may
    take `script_timeout`.
    """

    min_poll_interval: float = 1.0
    max_poll_interval: float = 60.0
    max_retry_interval: float = 300.0
    grace_period: float = 60.0
    log_poll_interval: float = 300.0
    script_timeout: float = 120.0


@final
class PollBackoff:
    """The delay until the next poll."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._poll_duration = 0.0
        self._delay = timing.min_poll_interval
        self._failure_count = 0
        self._pause_factor = _MAX_PAUSE_FACTOR

    @property
    def failure_count(self) -> int:
        """How many polls have failed since the last one that did not."""
        return self._failure_count

    def reset_delay(self) -> None:
        """Note that something was submitted, or is about to change: the next poll is soon."""
        self._delay = self._timing.min_poll_interval
        if (
            self._pause_factor == _MAX_PAUSE_FACTOR
        ):  # else jobs that come one by one would have no pause grow
            self._pause_factor = 1.0

    def record_success(self, *, changed: bool, duration: float) -> None:
        """Note that a poll has worked; it took so many seconds."""
        self._poll_duration = duration
        self._pause_factor = min(self._pause_factor * 2, _MAX_PAUSE_FACTOR)
        self._failure_count = 0
        self._delay = self._timing.min_poll_interval if changed else self._delay * _SLOWDOWN_FACTOR

    def record_failure(self) -> None:
        """Note that a poll has failed."""
        self._failure_count += 1

    def next_delay(self, now: float, expected_end: float | None) -> float:
        """Give the seconds until the next poll; `expected_end` is when a job's wall time will be over."""
        timing = self._timing
        if self._failure_count:
            return float(
                min(
                    timing.min_poll_interval * 2.0 ** min(self._failure_count, 20),
                    timing.max_retry_interval,
                )
            )
        least = max(timing.min_poll_interval, self._poll_duration * self._pause_factor)
        delay = self._delay = min(max(self._delay, least), max(timing.max_poll_interval, least))
        if (
            expected_end is not None
            and expected_end - now < delay
            and now - expected_end < _OVERDUE_WINDOW
        ):
            return max(least, expected_end - now)
        return delay
