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

SLACK: Final = 300
"""Seconds by which a line may be older than the one before it, and yet follow it."""
KEPT: Final = 20_000
"""So many of a log's seconds are remembered (some 4 MB)."""
_DAY: Final = 86_400

Wall = tuple[int, int, int, int, int, int]
"""Year, month, day, hour, minute, second."""


class OddError(Exception):
    """A time or a message that the fast way cannot take; the slow one decides what it means."""


def timestamp_as_utc(wall: Wall) -> int:
    """Give the seconds since 1970 of a wall clock in Greenwich; a day too large runs over."""
    year, month, day, hour, minute, second = wall
    year -= month < 3
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return days * _DAY + hour * 3600 + minute * 60 + second


def is_wall(wall: Wall) -> bool:
    """Say whether a clock can show that."""
    year, month, day, hour, minute, second = wall
    return (
        1900 <= year <= 9999
        and 1 <= month <= 12
        and 1 <= day <= 31
        and hour <= 23
        and minute <= 59
        and second <= 60
    )


@final
class Clock:
    """Reads a wall clock in this process's time zone (`TZ`).

    `latest` is the last second of an hour that comes twice; it decides about the next.
    """

    def __init__(self, *, utc: bool = False) -> None:
        self.latest = 0
        self._utc = utc

    def read(self, wall: Wall) -> tuple[int, bool]:
        """Give the seconds since 1970, and whether the time was decided by what came before it."""
        utc = timestamp_as_utc(wall)
        if self._utc:
            return utc, False
        before = time.localtime(utc - _DAY).tm_gmtoff
        after = time.localtime(utc + _DAY).tm_gmtoff
        if before == after:
            return utc - before, False
        fitting = [t for t in sorted((utc - before, utc - after)) if _shows(t, utc)]
        if len(fitting) < 2:
            return (fitting[0] if fitting else utc - before), False
        first, second = fitting
        found = second if self.latest > first + SLACK else first
        self.latest = max(self.latest, found)
        return found, True

    def heard(self, now: float) -> None:
        """Take note that the log was read to its end: what is written from now on is later.

        A log that is replayed has older times; they are not judged by this clock.
        """
        if not self._utc and time.localtime(now - 7200).tm_gmtoff != time.localtime(now).tm_gmtoff:
            self.latest = max(self.latest, int(now))


def _shows(moment: int, utc: int) -> bool:
    """Say whether the wall clock shows at that moment what Greenwich's shows at `utc`."""
    return moment + time.localtime(moment).tm_gmtoff == utc


@final
class Stamps(dict[str, str]):
    """From a log's words for a second to the beginning of an event's line, `001;TIMESTAMP;`.

    Only what is certain is in the dictionary: any other key raises `OddError`, and `slow` then
    gives the line's beginning, or the empty string where there is no event: the words are no
    time, or it lies before `since`. `parse` gives a wall clock's numbers, or the seconds
    themselves, or None.
    """

    def __init__(
        self, parse: Callable[[str], Wall | int | None], since: int, *, utc: bool = False
    ) -> None:
        super().__init__()
        self.clock = Clock(utc=utc)
        self._parse = parse
        self._since = since
        self._dropped: set[str] = set()

    def __missing__(self, words: str) -> str:
        if words in self._dropped or not (known := self.slow(words)) or words not in self:
            raise OddError
        return known

    def slow(self, words: str) -> str:
        """Give the line's beginning for a time, or the empty string."""
        known = self.get(words)
        if known is not None:
            return known
        if words in self._dropped:
            return ""
        moment, certain = self.moment(words)
        if moment is None or moment < self._since:
            if certain:
                self._remember(self._dropped.add, words)
            return ""
        stamp = f"001;{moment};"
        if certain:
            self._remember(lambda key: self.__setitem__(key, stamp), words)
        return stamp

    def moment(self, words: str) -> tuple[int | None, bool]:
        """Give the seconds since 1970, and whether these words can have no other meaning."""
        parsed = self._parse(words)
        if parsed is None or isinstance(parsed, int):
            return parsed, True
        if not is_wall(parsed):
            return None, True
        moment, doubtful = self.clock.read(parsed)
        return moment, not doubtful

    def _remember(self, keep: Callable[[str], None], words: str) -> None:
        if len(self) + len(self._dropped) >= KEPT:
            self.clear()
            self._dropped.clear()
        keep(words)


def numbers(words: str, *places: tuple[int, int]) -> tuple[int, ...] | None:
    """Give the numbers that stand in these places, or None where one is no plain number."""
    parts = [words[begin:end] for begin, end in places]
    if all(part.isascii() and part.isdigit() for part in parts):
        return tuple(map(int, parts))
    return None
