"""The delay until the next poll: short after changes, longer and longer without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

_SLOWDOWN_FACTOR: Final = 1.5
"""By this the delay grows with each poll that finds no change."""
_MAX_QUERY_SHARE: Final = 0.1
"""Share of the time that queries may take, while nothing is submitted."""
_MAX_PAUSE_FACTOR: Final = 1 / _MAX_QUERY_SHARE - 1
"""Longest pause after a poll, in multiples of its duration. After a submission it begins with 1."""
_OVERDUE_WINDOW: Final = 60.0
"""Seconds after the end of its wall time for which a job is expected to end any moment."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times in seconds that a site may set.

    The time between two polls is `min_poll_interval` to `max_poll_interval`, up to
    `max_retry_interval` while polls fail, and at least `log_poll_interval` while a log reports the
    jobs. A job that nobody knows is LOST after `grace_period`. `script_timeout` is the time limit of a
    script whose template has no TIME_LIMIT.
    """

    min_poll_interval: float = 1.0
    max_poll_interval: float = 60.0
    max_retry_interval: float = 300.0
    grace_period: float = 60.0
    log_poll_interval: float = 300.0
    script_timeout: float = 120.0


@final
class PollBackoff:
    """Computes the delay until the next poll."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._poll_duration = 0.0
        self._delay = timing.min_poll_interval
        self._failure_count = 0
        self._pause_factor = _MAX_PAUSE_FACTOR

    @property
    def failure_count(self) -> int:
        """The number of polls that have failed since the last one that succeeded."""
        return self._failure_count

    def reset_delay(self) -> None:
        """Poll soon: something was submitted or is about to change."""
        self._delay = self._timing.min_poll_interval
        if self._pause_factor == _MAX_PAUSE_FACTOR:  # else jobs that come one by one would have no pause grow
            self._pause_factor = 1.0

    def record_success(self, *, changed: bool, duration: float) -> None:
        """Note that a poll has succeeded, and its duration in seconds."""
        self._poll_duration = duration
        self._pause_factor = min(self._pause_factor * 2, _MAX_PAUSE_FACTOR)
        self._failure_count = 0
        self._delay = self._timing.min_poll_interval if changed else self._delay * _SLOWDOWN_FACTOR

    def record_failure(self) -> None:
        """Note that a poll has failed."""
        self._failure_count += 1

    def next_delay(self, now: float, expected_end: float | None) -> float:
        """Return the seconds until the next poll.

        `expected_end` is when the next job should end; it is monotonic, as `now` is.
        """
        timing = self._timing
        if self._failure_count:
            return float(
                min(timing.min_poll_interval * 2.0 ** min(self._failure_count, 20), timing.max_retry_interval)
            )
        least = max(timing.min_poll_interval, self._poll_duration * self._pause_factor)
        delay = self._delay = min(max(self._delay, least), max(timing.max_poll_interval, least))
        if expected_end is not None and expected_end - now < delay and now - expected_end < _OVERDUE_WINDOW:
            return max(least, expected_end - now)
        return delay
