"""From a log's words for a second to the seconds since 1970: time zones, and the two odd hours.

Logs are written in local time. In the hour that comes twice, when daylight saving ends, a wall
clock's time means two seconds; which one is meant is told by what the log said before. In the hour
that is left out in spring, a time is what it would be had nobody turned the clock.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER_TOLERANCE: Final = 300
"""Seconds by which a line may be older than the one before it, and yet follow it."""
TIMESTAMP_CACHE_SIZE: Final = 20_000
"""So many of a log's seconds are remembered (some 4 MB)."""
_SECONDS_PER_DAY: Final = 86_400
_SECOND_BY_SUFFIX: Final = {f":{second:02}": second for second in range(61)}
_BEFORE_ALL_EVENTS: Final = -(1 << 62)

WallTime = tuple[int, ...]
"""Year, month, day, hour, minute."""


class FastPathError(Exception):
    """A time or a message that the fast way cannot take; the slow one decides what it means."""


def timestamp_from_utc(wall: WallTime) -> int:
    """Give the seconds since 1970 of a wall clock in Greenwich; a day too large runs over."""
    year, month, day, hour, minute = wall
    year -= month < 3
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return days * _SECONDS_PER_DAY + hour * 3600 + minute * 60


def is_valid_wall_time(wall: WallTime) -> bool:
    """Say whether a clock can show that."""
    year, month, day, hour, minute = wall
    return (
        1900 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31 and hour <= 23 and minute <= 59
    )


@final
class WallClock:
    """Reads a wall clock in this process's time zone (`TZ`).

    `latest_ambiguous` is the last second of an hour that comes twice; it decides about the next.
    """

    def __init__(self, *, utc: bool = False) -> None:
        self.latest_ambiguous = 0
        self.ambiguity_count = 0
        """How many times were decided by what came before them."""
        self._utc = utc

    def resolve_wall_time(self, wall: WallTime) -> tuple[int, bool]:
        """Give the seconds since 1970, and whether the time was decided by what came before it."""
        utc = timestamp_from_utc(wall)
        if self._utc:
            return utc, False
        before = time.localtime(utc - _SECONDS_PER_DAY).tm_gmtoff
        after = time.localtime(utc + _SECONDS_PER_DAY).tm_gmtoff
        if before == after:
            return utc - before, False
        fitting = [t for t in sorted((utc - before, utc - after)) if _matches_local_time(t, utc)]
        if len(fitting) < 2:
            return (fitting[0] if fitting else utc - before), False
        first, second = fitting
        found = second if self.latest_ambiguous > first + ORDER_TOLERANCE else first
        self.ambiguity_count += 1
        self.latest_ambiguous = max(self.latest_ambiguous, found)
        return found, True

    def note_end_of_log(self, now: float) -> None:
        """Take note that the log was read to its end: what is written from now on is later.

        A log that is replayed has older times; they are not judged by this clock.
        """
        if not self._utc and time.localtime(now - 7200).tm_gmtoff != time.localtime(now).tm_gmtoff:
            self.latest_ambiguous = max(self.latest_ambiguous, int(now))


def _matches_local_time(moment: int, utc: int) -> bool:
    """Say whether the wall clock shows at that moment what Greenwich's shows at `utc`."""
    return moment + time.localtime(moment).tm_gmtoff == utc


@final
class LocalTimePrefixes(dict[str, str]):
    """From a log's words for a second to the beginning of an event's line, `001;TIMESTAMP;`.

    The words end with `:SS`; `parse_wall_time` reads what stands before it: the numbers of a minute, or None.
    Only what is certain is in the dictionary: any other key raises `FastPathError`, and `format_prefix` then
    gives the line's beginning, or the empty string where there is no event: the words are no
    time, or it lies before `since`.
    """

    def __init__(
        self, parse_wall_time: Callable[[str], WallTime | None], since: int, *, utc: bool = False
    ) -> None:
        super().__init__()
        self.clock = WallClock(utc=utc)
        self._parse_wall_time = parse_wall_time
        self._since = since
        self._minute_starts: dict[str, int] = {}
        self._skipped_minutes: set[str] = set()

    def __missing__(self, time_text: str) -> str:
        try:
            moment = self._minute_starts[time_text[:-3]] + _SECOND_BY_SUFFIX[time_text[-3:]]
        except KeyError:
            stamp = "" if time_text[:-3] in self._skipped_minutes else self.format_prefix(time_text)
            if not stamp or time_text[:-3] not in self._minute_starts:
                raise FastPathError from None
        else:
            stamp = f"001;{moment};"
        if len(self) >= TIMESTAMP_CACHE_SIZE:
            self.clear()
        self[time_text] = stamp
        return stamp

    def format_prefix(self, time_text: str) -> str:
        """Give the line's beginning for a time, or the empty string."""
        minute, second = time_text[:-3], _SECOND_BY_SUFFIX.get(time_text[-3:])
        if second is None or minute in self._skipped_minutes:
            return ""
        begin = self._minute_starts.get(minute)
        if begin is None:
            begin = self._resolve_minute(minute)
        moment = begin + second
        return f"001;{moment};" if moment >= self._since else ""

    def _resolve_minute(self, minute: str) -> int:
        """Give the second with which a minute begins; one before all events for what is none."""
        wall = self._parse_wall_time(minute)
        known = wall is not None and is_valid_wall_time(wall)
        begin, doubtful = (
            self.clock.resolve_wall_time(wall) if wall and known else (_BEFORE_ALL_EVENTS, False)
        )
        if len(self._minute_starts) + len(self._skipped_minutes) >= TIMESTAMP_CACHE_SIZE:
            self._minute_starts.clear()
            self._skipped_minutes.clear()
        if begin + 60 < self._since and not doubtful:
            self._skipped_minutes.add(minute)
        elif begin >= self._since and not doubtful:
            self._minute_starts[minute] = begin
        return begin

    def reset_cache(self) -> None:
        """Forget what was read: the words may come to mean something else."""
        self.clear()
        self._minute_starts.clear()
        self._skipped_minutes.clear()

    def note_end_of_log(self, now: float) -> None:
        """Take note that the log was read to its end."""
        self.clock.note_end_of_log(now)

    def get_clock_state(self) -> tuple[int, int]:
        """Give what changes when a time is decided by what came before it."""
        return self.clock.ambiguity_count, self.clock.latest_ambiguous

    def restore_clock_state(self, state: tuple[int, int]) -> None:
        """Take back what was decided since `get_clock_state` gave this."""
        self.clock.ambiguity_count, self.clock.latest_ambiguous = state


@final
class EpochPrefixes(dict[str, str]):
    """The same for logs that tell seconds since 1970."""

    def __init__(self, since: int) -> None:
        super().__init__()
        self._since = since

    def __missing__(self, time_text: str) -> str:
        stamp = self.format_prefix(time_text)
        if not stamp:
            raise FastPathError
        if len(self) >= TIMESTAMP_CACHE_SIZE:
            self.clear()
        self[time_text] = stamp
        return stamp

    def format_prefix(self, time_text: str) -> str:
        """Give the line's beginning for a time, or the empty string."""
        moment = (
            int(time_text)
            if time_text.isascii() and time_text.isdigit() and len(time_text) < 19
            else -1
        )
        return f"001;{moment};" if moment >= self._since else ""

    def note_end_of_log(self, now: float) -> None:
        """Pass over it: these times have one meaning."""

    def get_clock_state(self) -> tuple[int, int]:
        """Give what never changes."""
        return 0, 0

    def restore_clock_state(self, state: tuple[int, int]) -> None:
        """Pass over it."""


def parse_numbers_at(text: str, *spans: tuple[int, int]) -> tuple[int, ...] | None:
    """Give the numbers that stand in these places, or None where one is no plain number."""
    parts = [text[begin:end] for begin, end in spans]
    if all(part.isascii() and part.isdigit() for part in parts):
        return tuple(map(int, parts))
    return None
