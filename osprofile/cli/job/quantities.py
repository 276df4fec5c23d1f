"""Numbers and times as they are written on the command line."""

from __future__ import annotations

import re
from typing import Final

from osprofile.cli.common import UsageError
from osprofile.errors import quote_value

_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}\Z")
_UNIT_DURATION: Final = re.compile(
    r"(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,12})s)?\Z"
)
_CLOCK_DURATION: Final = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])\Z")
_DECIMAL_NUMBER: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}\Z")
_UNIT_SECONDS: Final = (86400, 3600, 60, 1)


def parse_count(option: str, text: str | None, hint: str = "as in 4") -> int | None:
    """Give a whole number that is not negative; raise `UsageError` for anything else."""
    if text is None:
        return None
    if not _WHOLE_NUMBER.match(text):
        raise UsageError(f"{option} {quote_value(text)}: a whole number is needed", hint=hint)
    return int(text)


def parse_duration(option: str, text: str | None) -> int | None:
    """Give a time in seconds: `600`, `1h30m`, `2d`, `01:30:00`, `2-12:00:00`.

    Two parts (`10:00`) are refused: batch systems differ on whether these are hours or minutes.
    """
    if text is None:
        return None
    if _WHOLE_NUMBER.match(text):
        return int(text)
    found = _UNIT_DURATION.match(text) or _CLOCK_DURATION.match(text)
    if found is None:
        hint = "seconds, or as in 90m, 1h30m, 2d, 01:30:00 (hours, minutes, seconds), 2-12:00:00"
        raise UsageError(f"{option} {quote_value(text)}: a time is needed", hint=hint)
    parts = zip(found.groups(default="0"), _UNIT_SECONDS, strict=True)
    return sum(int(number) * length for number, length in parts)


def parse_timeout(option: str, text: str | None) -> float | None:
    """Give how long to wait, in seconds: as `parse_duration`, or with decimals; more than 0."""
    if text is not None and _DECIMAL_NUMBER.match(text):
        found: float | None = float(text)
    else:
        found = parse_duration(option, text)
    if found == 0:
        raise UsageError(f"{option} {text}: a time above 0 is needed")
    return found
