"""When to poll: soon after a change, then less and less often."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.jobs.timing import Timing

DEFAULT_POLL_INTERVAL: Final = 1.0  # s; a profile with a shorter one asks no server
DEFAULT_MAX_POLL_INTERVAL: Final = 60.0  # s
_SLOWDOWN_FACTOR: Final = 1.5
"""Factor by which each poll that finds no change lengthens the delay."""
_MAX_QUERY_SHARE: Final = 0.1
"""Largest share of the time that queries take while nothing is submitted."""
_MAX_PAUSE_FACTOR: Final = 1 / _MAX_QUERY_SHARE - 1
"""Longest pause after a poll, in multiples of the poll's duration. After a submission, it is 1 at first."""
_MAX_LOCAL_PAUSE_FACTOR: Final = 2.0
"""The same for a profile that allows several polls per second: its queries are no load for any server."""
_AWAITED_SHARE: Final = 0.01
"""While a caller waits, the delay is at most this share of the time since the last change: a short job's end is known at once."""
_OVERDUE_WINDOW: Final = 60.0
"""Seconds after its wall time in which a job is still expected to end at any moment."""


@final
class PollSchedule:
    """Computes when to poll next. Times are monotonic (s)."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._poll_duration = 0.0
        self._min_interval = timing.min_poll_interval or DEFAULT_POLL_INTERVAL
        self.max_interval = timing.max_poll_interval or DEFAULT_MAX_POLL_INTERVAL
        """The maximum between two polls (s)."""
        self._delay = self._min_interval
        self._has_changed, self._last_change = True, 0.0
        self.failure_count = 0
        """The number of polls that have failed since the last one that succeeded."""
        is_local = self._min_interval < DEFAULT_POLL_INTERVAL
        self._max_pause_factor = _MAX_LOCAL_PAUSE_FACTOR if is_local else _MAX_PAUSE_FACTOR
        self._pause_factor = self._max_pause_factor
        self._is_due_now = self._end_noticed = False
        self._last_poll_end = -math.inf

    # What happens

    def poll_immediately(self) -> None:
        """Poll now: something has changed."""
        self.reset_delay()
        self._is_due_now = True

    def notice_end(self) -> None:
        """Poll soon: a job has ended."""
        self.reset_delay()
        self._end_noticed = True

    def begin_poll(self) -> None:
        """Note that a poll begins, which finds all that was noticed before."""
        self._is_due_now = self._end_noticed = False

    def end_poll(self, now: float) -> None:
        """Note that a poll has ended: the pause begins."""
        self._last_poll_end = now

    def reset_delay(self) -> None:
        """Poll soon: something was submitted or is about to change."""
        self._delay, self._has_changed = self._min_interval, True
        # Otherwise the pause would never grow while jobs are submitted one by one.
        if self._pause_factor == self._max_pause_factor:
            self._pause_factor = 1.0

    def record_success(self, *, changed: bool, duration: float) -> None:
        """Note that a poll has succeeded, and its duration in seconds."""
        self._poll_duration = duration
        self._pause_factor = min(self._pause_factor * 2, self._max_pause_factor)
        self.failure_count = 0
        self._delay = self._min_interval if changed else self._delay * _SLOWDOWN_FACTOR
        self._has_changed = self._has_changed or changed

    def record_failure(self) -> None:
        """Note that a poll has failed."""
        self.failure_count += 1

    # When to poll

    def seconds_until_poll(
        self, now: float, find_expected_end: Callable[[], float | None], *, is_awaited: bool, min_delay: float
    ) -> float:
        """Return the seconds until the next poll; `min_delay` is the fewest unless something has changed.

        `find_expected_end()` is called only if it matters: it may look at all jobs.
        """
        if self._is_due_now:
            return 0.0
        shortest, passed = self.min_delay(), now - self._last_poll_end
        if self._end_noticed:
            # As long as the last poll took: while many jobs end, queries take half of the time.
            return min(shortest, self._poll_duration) - passed
        # Each job that is submitted wakes the poller: it must not look at all other jobs each time.
        if shortest > passed:
            return shortest - passed
        delay = self.next_delay(now, find_expected_end(), is_awaited=is_awaited)
        return max(delay, min_delay) - passed

    def min_delay(self) -> float:
        """Return the fewest seconds that `next_delay` returns now, whenever jobs should end."""
        if self.failure_count:
            factor = 2.0 ** min(self.failure_count, 20)  # a float overflows at 2**1024
            return float(min(self._min_interval * factor, self._timing.max_retry_interval))
        return max(self._min_interval, self._poll_duration * self._pause_factor)

    def next_delay(self, now: float, expected_end: float | None, *, is_awaited: bool = False) -> float:
        """Return the seconds until the next poll.

        `expected_end` is when the next job should end. Both times are monotonic (s). If a caller waits for
        a job (`is_awaited`), polls without a change lengthen the delay less.
        """
        if self._has_changed:
            self._has_changed, self._last_change = False, now
        min_delay = self.min_delay()
        if self.failure_count:
            return min_delay
        longest = max(self.max_interval, min_delay)
        if is_awaited:
            longest = max(min_delay, min(longest, _AWAITED_SHARE * (now - self._last_change)))
        delay = self._delay = min(max(self._delay, min_delay), longest)
        if expected_end is not None and expected_end - now < delay and now - expected_end < _OVERDUE_WINDOW:
            return max(min_delay, expected_end - now)
        return delay
