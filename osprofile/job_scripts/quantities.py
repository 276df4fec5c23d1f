"""The numbers, times and sizes of Slurm and PBS, in seconds and MiB.

Sources: sbatch(1), --time and --mem; pbs_resources(7), "time" and "size".
"""

from __future__ import annotations

import contextlib
import math
import re
from datetime import datetime, timedelta
from typing import Final

from osprofile.job_scripts.command_line import OptionValue, UsageError
from osprofile.text import format_clock, quote_value

# The numbers of digits are limited: int() raises ValueError for more than 4300.
NO_TIME_LIMIT: Final = 999_999_999
"""Seconds, over 31 years, that stand for no limit: the most that the bundled profiles allow."""
_COUNT: Final = r"[0-9]{1,9}"
_SLURM_TIME: Final = r"([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?"
_SLURM_DAYS: Final = r"([0-9]{1,6})-([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?"
_PBS_TIME: Final = r"(?:(?:([0-9]{1,9}):)?([0-9]{1,9}):)?([0-9]{1,9})(?:\.[0-9]{1,9})?"
_SIZE: Final = r"([0-9]{1,15})([a-z]*)"
_SLURM_UNITS: Final = {"": 2**20, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_PBS_UNITS: Final = {
    f"{prefix}{unit}": factor * width
    for prefix, factor in (("", 1), ("k", 2**10), ("m", 2**20), ("g", 2**30), ("t", 2**40), ("p", 2**50))
    for unit, width in (("b", 1), ("w", 8))
} | {"": 1}
_PBS_DATE: Final = r"((?:[0-9]{2}){0,4})([0-9]{4})(?:\.([0-9]{2}))?"
_DIGITS_WITH_YEAR: Final = 6
_DAYS_TO_LEAP_DAY: Final = 366 * 8
_ISO_TIME: Final = r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T([0-9]{2}:[0-9]{2}(?::[0-9]{2})?))?"


def parse_count(option: OptionValue, *, minimum: int = 1) -> int:
    """Return a whole number of at least `minimum`."""
    if not re.fullmatch(_COUNT, option.text) or int(option.text) < minimum:
        raise _refuse(option, "a number", f"a whole number from {minimum} on")
    return int(option.text)


def parse_slurm_time(option: OptionValue) -> int:
    """Return a time of Slurm in seconds: `MIN`, `MIN:SEC`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`; 0 is no limit."""
    if option.text.upper() in {"INFINITE", "UNLIMITED", "-1"}:
        return NO_TIME_LIMIT
    if match := re.fullmatch(_SLURM_DAYS, option.text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    elif match := re.fullmatch(_SLURM_TIME, option.text):
        first, second, third = match.groups()
        parts = (0, first, second or 0) if third is None else (first, second, third)
        total = sum(int(part) * seconds for part, seconds in zip(parts, (3600, 60, 1), strict=True))
    else:
        raise _refuse(option, "a time", "minutes, or as in 90:00, 01:30:00, 1-12, 1-12:30:00")
    return total or NO_TIME_LIMIT


def parse_pbs_time(option: OptionValue) -> int:
    """Return a time of PBS in seconds: `SEC`, `M:S` or `H:M:S`; fractions of a second are cut off."""
    match = re.fullmatch(_PBS_TIME, option.text)
    parts = [int(part or 0) for part in match.groups()] if match else [0, 0, 0]
    total = parts[0] * 3600 + parts[1] * 60 + parts[2]
    if total == 0:
        raise _refuse(option, "a time above 0", "seconds, or as in 01:30:00")
    return total


def parse_slurm_size(option: OptionValue) -> int:
    """Return a size of Slurm in MiB, rounded up: `100`, `100M` (both MiB), `100K`, `2G`, `1T`, also `2GB`.

    0 is all the memory of a node.
    """
    text, hint = option.text.lower().removesuffix("b"), "as in 4000, 4000M or 4G"
    return _parse_size(option, _SLURM_UNITS, text, hint, minimum=0)


def parse_pbs_size(option: OptionValue) -> int:
    """Return a size of PBS in MiB, rounded up: `4gb`, `4096mb`, `100kb`, `1048576b`, `2gw` (words of 8 bytes)."""
    text = option.text.lower()
    # PBS knows no "4g"; programs that write it mean bytes.
    text = f"{text}b" if text[-1:] in set("kmgtp") else text
    return _parse_size(option, _PBS_UNITS, text, "as in 4gb or 4096mb", minimum=1)


def _parse_size(option: OptionValue, units: dict[str, int], text: str, hint: str, *, minimum: int) -> int:
    match = re.fullmatch(_SIZE, text)
    if match is None or match[2] not in units or int(match[1]) < minimum:
        raise _refuse(option, "a size" if minimum == 0 else "a size above 0", hint)
    return math.ceil(int(match[1]) * units[match[2]] / 2**20)


def parse_iso_time(option: OptionValue) -> str:
    """Return a date with a time, `YYYY-MM-DDTHH:MM[:SS]`; a date alone is its midnight."""
    match = re.fullmatch(_ISO_TIME, option.text)
    if match is None:
        raise _refuse(option, "a time that is supported", "as in 2030-12-31T23:59:30")
    return f"{match[1]}T{match[2] or '00:00'}"


def parse_pbs_date(option: OptionValue) -> str:
    """Return `[[[[CC]YY]MM]DD]hhmm[.SS]` as `YYYY-MM-DDTHH:MM:SS`: the next such time, if it names no year."""
    now = datetime.now().replace(microsecond=0)  # noqa: DTZ005  # local, as that of the option
    if match := re.fullmatch(_PBS_DATE, option.text):
        date, clock = match[1], f"{match[2]}{match[3] or '00'}"
        days = [f"{now:%Y%m%d}"[: 8 - len(date)] + date]
        if len(date) < _DIGITS_WITH_YEAR:
            days = [f"{now + timedelta(n):%Y%m%d}" for n in range(_DAYS_TO_LEAP_DAY)]
        for day in days:
            with contextlib.suppress(ValueError):
                moment = datetime.strptime(f"{day}{clock}", "%Y%m%d%H%M%S")  # noqa: DTZ007
                if day.endswith(date) and (moment >= now or len(days) == 1):
                    return moment.isoformat()
    raise _refuse(option, "a time", "as in 203012312359 or 1830")


def format_elapsed(seconds: float) -> str:
    """Return a time as squeue prints it: `0:05`, `1:02:03`, `1-00:00:00`."""
    return format_days(seconds).removeprefix("00:").removeprefix("0")


def format_days(seconds: float) -> str:
    """Return a time as sacct prints it: `00:00:05`, `01:02:03`, `1-00:00:00`."""
    days, rest = divmod(max(0, int(seconds)), 86400)
    return f"{days}-{format_clock(rest)}" if days else format_clock(rest)


def _refuse(option: OptionValue, what: str, hint: str) -> UsageError:
    return UsageError(f"{option}: {quote_value(option.text)} is not {what}", hint=hint)
