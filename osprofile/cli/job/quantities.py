"""Parsing of the numbers and durations of a command line."""

from __future__ import annotations

import re
from typing import Final

from osprofile import text as texts
from osprofile.cli.common import UsageError
from osprofile.jobs.fields import Kind
from osprofile.text import quote_value

# The numbers of digits are limited: int() raises ValueError for more than 4300.
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}\Z")
_INTEGER: Final = re.compile(r"-?[0-9]{1,12}\Z")
_DECIMAL_NUMBER: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}\Z")


def parse_count(option: str, text: str | None, hint: str = "as in 4") -> int | None:
    """Return a whole number that is not negative; raise `UsageError` for anything else."""
    if text is None:
        return None
    if not _WHOLE_NUMBER.match(text):
        raise UsageError(f"{option} {quote_value(text)} is not a whole number", hint=hint)
    return int(text)


def parse_memory(option: str, text: str | None) -> int | None:
    """Return an amount of memory in MiB, rounded up: `4096`, `4G`, `4GiB`, `512K`; a number alone is MiB."""
    if text is None:
        return None
    amount = texts.parse_memory(text)
    if amount is None:
        raise UsageError(f"{option} {quote_value(text)} is not an amount of memory", hint=texts.MEMORY_HINT)
    return amount


def parse_duration(option: str, text: str | None) -> int | None:
    """Return a duration in seconds: `600`, `1h30m`, `2d`, `01:30:00`, `2-12:00:00`.

    `10:00` is refused: batch systems differ on whether it means hours or minutes.
    """
    if text is None:
        return None
    seconds = texts.parse_duration(text)
    if seconds is None:
        raise UsageError(f"{option} {quote_value(text)} is not a time", hint=texts.DURATION_HINT)
    return seconds


def parse_integer(option: str, text: str) -> int:
    """Return a whole number, which may be negative."""
    if not _INTEGER.match(text):
        raise UsageError(f"{option} {quote_value(text)} is not a whole number", hint="as in -4")
    return int(text)


def parse_amount(kind: Kind, option: str, text: str) -> int | str | None:
    """Return the value of an attribute of a job: an amount as a number; a text of any other kind is unchanged."""
    match kind:
        case Kind.COUNT:
            return parse_count(option, text)
        case Kind.INTEGER:
            return parse_integer(option, text)
        case Kind.MEMORY:
            return parse_memory(option, text)
        case Kind.DURATION:
            return parse_duration(option, text)
        case _:
            return text


def parse_timeout(option: str, text: str | None) -> float | None:
    """Return a timeout in seconds, more than 0; besides durations, decimals are allowed."""
    if text is not None and _DECIMAL_NUMBER.match(text):
        timeout: float | None = float(text)
    else:
        timeout = parse_duration(option, text)
    if timeout == 0:
        raise UsageError(f"{option} {text} is not greater than 0")
    return timeout
