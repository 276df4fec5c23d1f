"""The durations and amounts of memory that people write, in seconds and MiB."""

from __future__ import annotations

import re
from typing import Final

DURATION_HINT: Final = "use seconds, or 90m, 1h30m, 2d, 01:30:00 (hours, minutes, seconds), 2-12:00:00"
MEMORY_HINT: Final = "as in 4G, 512M, or 4096, which is MiB; the units are K, M, G and T"
# The numbers of digits are limited: int() raises ValueError for more than 4300.
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}\Z")
_UNIT_DURATION: Final = re.compile(
    r"(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,12})s)?\Z"
)
_CLOCK_DURATION: Final = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])\Z")
_MEMORY: Final = re.compile(r"([0-9]{1,12})(?:([kmgt])(?:i?b)?)?\Z", re.IGNORECASE | re.ASCII)
_KIBIBYTES: Final = {"k": 1, "m": 1 << 10, "g": 1 << 20, "t": 1 << 30}
_UNIT_SECONDS: Final = (86400, 3600, 60, 1)


def parse_memory(text: str) -> int | None:
    """Return an amount of memory in MiB, rounded up; None for a text that is none.

    `4096`, `4G`, `4GiB`, `512K`; a number alone is MiB.
    """
    match = _MEMORY.match(text)
    return -(-int(match[1]) * _KIBIBYTES[(match[2] or "m").lower()] // 1024) if match else None


def parse_duration(text: str) -> int | None:
    """Return a duration in seconds; None for a text that is none.

    `600`, `1h30m`, `2d`, `01:30:00`, `2-12:00:00`. `10:00` is none: batch systems differ on whether it means
    hours or minutes.
    """
    if _WHOLE_NUMBER.match(text):
        return int(text)
    match = _UNIT_DURATION.match(text) or _CLOCK_DURATION.match(text)
    if match is None:
        return None
    parts = zip(match.groups(default="0"), _UNIT_SECONDS, strict=True)
    return sum(int(number) * seconds for number, seconds in parts)
