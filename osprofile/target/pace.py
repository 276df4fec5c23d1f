"""How long to wait until the next poll: short when something moves, long when nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

_SLOWER: Final = 1.5
_SHARE: Final = 0.1
"""Of its time, the batch system is asked this part at most, as long as nothing is submitted."""
_LONGEST: Final = 1 / _SHARE - 1
"""So many times a poll's own time pass until the next one; after a submission it begins with 1."""
_OVERDUE: Final = 60.0
"""Seconds for which a job that should have ended is expected to end any moment."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times in seconds, all of them a site's choice.

    Between two polls `fastest` to `slowest` pass, and up to `failing` as long as polls fail. A job
    that nobody knows any more is LOST after `grace`. Where a log tells of the jobs, a poll each
    `listening` is enough. A script whose template has no TIME_LIMIT may
    take `script`.
    """

    fastest: float = 1.0
    slowest: float = 60.0
    failing: float = 300.0
    grace: float = 60.0
    listening: float = 300.0
    script: float = 120.0


@final
class Pace:
    """The delay until the next poll."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._took = 0.0
        self._delay = timing.fastest
        self._failures = 0
        self._times = _LONGEST

    @property
    def failures(self) -> int:
        """How many polls have failed since the last one that did not."""
        return self._failures

    def moved(self) -> None:
        """Note that something was submitted, or is about to change: the next poll is soon."""
        self._delay = self._timing.fastest
        if self._times == _LONGEST:  # else jobs that come one by one would have no pause grow
            self._times = 1.0

    def polled(self, *, changed: bool, took: float) -> None:
        """Note that a poll has worked; it took so many seconds."""
        self._took = took
        self._times = min(self._times * 2, _LONGEST)
        self._failures = 0
        self._delay = self._timing.fastest if changed else self._delay * _SLOWER

    def failed(self) -> None:
        """Note that a poll has failed."""
        self._failures += 1

    def delay(self, now: float, ending: float | None) -> float:
        """Give the seconds until the next poll; `ending` is when a job's wall time will be over."""
        timing = self._timing
        if self._failures:
            return float(min(timing.fastest * 2.0 ** min(self._failures, 20), timing.failing))
        least = max(timing.fastest, self._took * self._times)
        delay = self._delay = min(max(self._delay, least), max(timing.slowest, least))
        if ending is not None and ending - now < delay and now - ending < _OVERDUE:
            return max(least, ending - now)
        return delay
