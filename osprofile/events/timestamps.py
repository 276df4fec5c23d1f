"""Convert the times of a log's lines to seconds since 1970, daylight saving included.

Some logs are written in local time. When daylight saving ends, an hour occurs twice, and a local time
in it is ambiguous: earlier lines of the log decide which moment it means. In the hour that is skipped
in spring, a time is converted as if the clock had not been changed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER_TOLERANCE: Final = 300
"""Seconds by which the time of a line may be before that of an earlier line of the same log."""
TIMESTAMP_CACHE_SIZE: Final = 20_000
"""Times of a log that are kept with their results (about 4 MB)."""
_SECONDS_PER_DAY: Final = 86_400
_SECOND_BY_SUFFIX: Final = {f":{second:02}": second for second in range(61)}
_BEFORE_ALL_EVENTS: Final = -(1 << 62)

WallTime = tuple[int, ...]
"""Year, month, day, hour, minute."""


class FastPathError(Exception):
    """A block that cannot be converted at once; its lines are then converted one by one."""


def is_number(text: str) -> bool:
    """Return whether a text is an unsigned decimal number of at most 18 digits, so that it fits in 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def parse_numbers_at(text: str, *spans: tuple[int, int]) -> tuple[int, ...] | None:
    """Return the numbers at these spans, or None if one of them is not a number."""
    parts = [text[begin:end] for begin, end in spans]
    return tuple(map(int, parts)) if all(map(is_number, parts)) else None


def parse_iso_minute(text: str) -> WallTime | None:
    """Parse YYYY-MM-DD HH:MM, with any character between date and time."""
    return parse_numbers_at(text, (0, 4), (5, 7), (8, 10), (11, 13), (14, 16))


def timestamp_from_utc(wall: WallTime) -> int:
    """Return the seconds since 1970 of a time in UTC; a day after a month's end is one of the next month.

    `calendar.timegm` would do, but imports datetime, which delays the start of the generator.
    """
    year, month, day, hour, minute = wall
    year -= month < 3
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return days * _SECONDS_PER_DAY + hour * 3600 + minute * 60


def is_valid_wall_time(wall: WallTime) -> bool:
    """Return whether each number is in its range."""
    year, month, day, hour, minute = wall
    return 1900 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31 and hour <= 23 and minute <= 59


@final
class WallClock:
    """Converts local times of this process's time zone (`TZ`), in the order of a log.

    `latest_ambiguous` is the latest time so far in an hour that occurs twice; it decides about the next.
    """

    def __init__(self) -> None:
        self.latest_ambiguous = 0
        self.ambiguity_count = 0
        """The number of ambiguous times so far."""

    def resolve_wall_time(self, wall: WallTime) -> tuple[int, bool]:
        """Return the seconds since 1970, and whether the time was ambiguous."""
        utc = timestamp_from_utc(wall)
        # Zones are less than a day from UTC, and change at most once in these two days.
        old_offset = time.localtime(utc - _SECONDS_PER_DAY).tm_gmtoff
        new_offset = time.localtime(utc + _SECONDS_PER_DAY).tm_gmtoff
        if old_offset == new_offset:
            return utc - old_offset, False
        candidates = sorted((utc - old_offset, utc - new_offset))
        matches = [moment for moment in candidates if _matches_local_time(moment, utc)]
        if len(matches) < 2:
            return (matches[0] if matches else utc - old_offset), False
        first, second = matches
        moment = second if self.latest_ambiguous > first + ORDER_TOLERANCE else first
        self.ambiguity_count += 1
        self.latest_ambiguous = max(self.latest_ambiguous, moment)
        return moment, True

    def note_end_of_log(self, now: float) -> None:
        """Note that the log was read to its end: later lines are written after `now`.

        This matters only in the second of two ambiguous hours, which is recognized by the change of
        the clock within the two hours before `now`.
        """
        if time.localtime(now - 7200).tm_gmtoff != time.localtime(now).tm_gmtoff:
            self.latest_ambiguous = max(self.latest_ambiguous, int(now))


def _matches_local_time(moment: int, utc: int) -> bool:
    """Return whether the local time of a moment is the UTC time of `utc`."""
    return moment + time.localtime(moment).tm_gmtoff == utc


class TimePrefixes(dict[str, str]):
    """A cache that maps times of a log, as written, to the beginning of an event's line, `001;TIMESTAMP;`.

    A lookup raises `FastPathError` for a malformed time, a time before `since`, and an ambiguous
    time: for these `format_prefix` must be called, in the log's order.
    """

    def __init__(self, since: int) -> None:
        super().__init__()
        self._since = since

    def __missing__(self, time_text: str) -> str:
        prefix = self.format_prefix(time_text)
        if not prefix or not self._is_unambiguous(time_text):
            raise FastPathError
        if len(self) >= TIMESTAMP_CACHE_SIZE:
            self.clear()
        self[time_text] = prefix
        return prefix

    def format_prefix(self, time_text: str) -> str:
        """Return the beginning of an event's line; "" if the time is malformed or before `since`."""
        raise NotImplementedError

    def _is_unambiguous(self, _time_text: str) -> bool:
        return True

    def note_end_of_log(self, now: float) -> None:
        """Note that the log was read to its end."""

    def get_clock_state(self) -> tuple[int, int]:
        """Return a value that changes with each ambiguous time, for `restore_clock_state`."""
        return 0, 0

    def restore_clock_state(self, state: tuple[int, int]) -> None:
        """Forget the ambiguous times since `get_clock_state` returned this value."""


@final
class EpochPrefixes(TimePrefixes):
    """The cache for logs whose times are seconds since 1970."""

    def format_prefix(self, time_text: str) -> str:
        """Return the beginning of an event's line; "" if the time is malformed or before `since`."""
        moment = int(time_text) if is_number(time_text) else -1
        return f"001;{moment};" if moment >= self._since else ""


@final
class LocalTimePrefixes(TimePrefixes):
    """The cache for logs whose times are local times that end with `:SS`.

    `parse_wall_time` parses the text before the seconds; it returns None if that is malformed.
    """

    def __init__(self, parse_wall_time: Callable[[str], WallTime | None], since: int) -> None:
        super().__init__(since)
        self.clock = WallClock()
        self._parse_wall_time = parse_wall_time
        self._minute_starts: dict[str, int] = {}
        self._skipped_minutes: set[str] = set()

    def format_prefix(self, time_text: str) -> str:
        """Return the beginning of an event's line; "" if the time is malformed or before `since`."""
        minute, second = time_text[:-3], _SECOND_BY_SUFFIX.get(time_text[-3:])
        if second is None or minute in self._skipped_minutes:
            return ""
        begin = self._minute_starts.get(minute)
        if begin is None:
            begin = self._resolve_minute(minute)
        moment = begin + second
        return f"001;{moment};" if moment >= self._since else ""

    def _is_unambiguous(self, time_text: str) -> bool:
        return time_text[:-3] in self._minute_starts

    def _resolve_minute(self, minute: str) -> int:
        """Return the second at which a minute begins; `_BEFORE_ALL_EVENTS` if it is malformed."""
        wall = self._parse_wall_time(minute)
        begin, is_ambiguous = _BEFORE_ALL_EVENTS, False
        if wall and is_valid_wall_time(wall):
            begin, is_ambiguous = self.clock.resolve_wall_time(wall)
        if len(self._minute_starts) + len(self._skipped_minutes) >= TIMESTAMP_CACHE_SIZE:
            self._minute_starts.clear()
            self._skipped_minutes.clear()
        if begin + 60 < self._since and not is_ambiguous:
            self._skipped_minutes.add(minute)
        elif begin >= self._since and not is_ambiguous:
            self._minute_starts[minute] = begin
        return begin

    def reset_cache(self) -> None:
        """Forget all times, because the same text may mean another moment from now on."""
        self.clear()
        self._minute_starts.clear()
        self._skipped_minutes.clear()

    def note_end_of_log(self, now: float) -> None:
        """Note that the log was read to its end."""
        self.clock.note_end_of_log(now)

    def get_clock_state(self) -> tuple[int, int]:
        """Return a value that changes with each ambiguous time, for `restore_clock_state`."""
        return self.clock.ambiguity_count, self.clock.latest_ambiguous

    def restore_clock_state(self, state: tuple[int, int]) -> None:
        """Forget the ambiguous times since `get_clock_state` returned this value."""
        self.clock.ambiguity_count, self.clock.latest_ambiguous = state
