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
_SECONDS: Final = {f":{second:02}": second for second in range(61)}
_NEVER: Final = -(1 << 62)

Wall = tuple[int, ...]
"""Year, month, day, hour, minute."""


class OddError(Exception):
    """A time or a message that the fast way cannot take; the slow one decides what it means."""


def timestamp_as_utc(wall: Wall) -> int:
    """Give the seconds since 1970 of a wall clock in Greenwich; a day too large runs over."""
    year, month, day, hour, minute = wall
    year -= month < 3
    days = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return days * _DAY + hour * 3600 + minute * 60


def is_wall(wall: Wall) -> bool:
    """Say whether a clock can show that."""
    year, month, day, hour, minute = wall
    return (
        1900 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31 and hour <= 23 and minute <= 59
    )


@final
class Clock:
    """Reads a wall clock in this process's time zone (`TZ`).

    `latest` is the last second of an hour that comes twice; it decides about the next.
    """

    def __init__(self, *, utc: bool = False) -> None:
        self.latest = 0
        self.decisions = 0
        """How many times were decided by what came before them."""
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
        self.decisions += 1
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

    The words end with `:SS`; `parse` reads what stands before it: the numbers of a minute, or None.
    Only what is certain is in the dictionary: any other key raises `OddError`, and `slow` then
    gives the line's beginning, or the empty string where there is no event: the words are no
    time, or it lies before `since`.
    """

    def __init__(
        self, parse: Callable[[str], Wall | None], since: int, *, utc: bool = False
    ) -> None:
        super().__init__()
        self.clock = Clock(utc=utc)
        self._parse = parse
        self._since = since
        self._minutes: dict[str, int] = {}
        self._dropped: set[str] = set()

    def __missing__(self, words: str) -> str:
        try:
            moment = self._minutes[words[:-3]] + _SECONDS[words[-3:]]
        except KeyError:
            stamp = "" if words[:-3] in self._dropped else self.slow(words)
            if not stamp or words[:-3] not in self._minutes:
                raise OddError from None
        else:
            stamp = f"001;{moment};"
        if len(self) >= KEPT:
            self.clear()
        self[words] = stamp
        return stamp

    def slow(self, words: str) -> str:
        """Give the line's beginning for a time, or the empty string."""
        minute, second = words[:-3], _SECONDS.get(words[-3:])
        if second is None or minute in self._dropped:
            return ""
        begin = self._minutes.get(minute)
        if begin is None:
            begin = self._read(minute)
        moment = begin + second
        return f"001;{moment};" if moment >= self._since else ""

    def _read(self, minute: str) -> int:
        """Give the second with which a minute begins; one before all events for what is none."""
        wall = self._parse(minute)
        known = wall is not None and is_wall(wall)
        begin, doubtful = self.clock.read(wall) if wall and known else (_NEVER, False)
        if len(self._minutes) + len(self._dropped) >= KEPT:
            self._minutes.clear()
            self._dropped.clear()
        if begin + 60 < self._since and not doubtful:
            self._dropped.add(minute)
        elif begin >= self._since and not doubtful:
            self._minutes[minute] = begin
        return begin

    def forget(self) -> None:
        """Forget what was read: the words may come to mean something else."""
        self.clear()
        self._minutes.clear()
        self._dropped.clear()

    def heard(self, now: float) -> None:
        """Take note that the log was read to its end."""
        self.clock.heard(now)

    def decided(self) -> tuple[int, int]:
        """Give what changes when a time is decided by what came before it."""
        return self.clock.decisions, self.clock.latest

    def undecide(self, before: tuple[int, int]) -> None:
        """Take back what was decided since `decided` gave this."""
        self.clock.decisions, self.clock.latest = before


@final
class Seconds(dict[str, str]):
    """The same for logs that tell seconds since 1970."""

    def __init__(self, since: int) -> None:
        super().__init__()
        self._since = since

    def __missing__(self, words: str) -> str:
        stamp = self.slow(words)
        if not stamp:
            raise OddError
        if len(self) >= KEPT:
            self.clear()
        self[words] = stamp
        return stamp

    def slow(self, words: str) -> str:
        """Give the line's beginning for a time, or the empty string."""
        moment = int(words) if words.isascii() and words.isdigit() and len(words) < 19 else -1
        return f"001;{moment};" if moment >= self._since else ""

    def heard(self, now: float) -> None:
        """Pass over it: these times have one meaning."""

    def decided(self) -> tuple[int, int]:
        """Give what never changes."""
        return 0, 0

    def undecide(self, before: tuple[int, int]) -> None:
        """Pass over it."""


def numbers(words: str, *places: tuple[int, int]) -> tuple[int, ...] | None:
    """Give the numbers that stand in these places, or None where one is no plain number."""
    parts = [words[begin:end] for begin, end in places]
    if all(part.isascii() and part.isdigit() for part in parts):
        return tuple(map(int, parts))
    return None
