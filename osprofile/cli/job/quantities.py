"""Parsing of the numbers and durations of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile import text as texts
from osprofile.cli.common import UsageError
from osprofile.jobs.fields import Kind
from osprofile.late import compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The numbers of digits are limited: int() raises ValueError for more than 4300.
_WHOLE_NUMBER: Final = compile_late(r"[0-9]{1,12}\Z")
_FACTOR: Final = compile_late(r"x([0-9]{1,4}(?:\.[0-9]{1,4})?)\Z")
_INTEGER: Final = compile_late(r"-?[0-9]{1,12}\Z")
_DECIMAL_NUMBER: Final = compile_late(r"[0-9]{1,12}\.[0-9]{1,9}\Z")


def parse_count(option: str, text: str | None, hint: str = "as in 4") -> int | None:
    """Return a whole number that is not negative; raise `UsageError` for anything else."""
    return _parse(
        option, text, lambda text: int(text) if _WHOLE_NUMBER.match(text) else None, "a whole number", hint
    )


def parse_factor(text: str | None) -> str | None:
    """Return the factor that an option has in place of an amount, greater than 1: 1.5 of `x1.5`; None for anything else."""
    match = _FACTOR.match(text or "")
    return match[1] if match and float(match[1]) > 1 else None


def parse_integer(option: str, text: str | None) -> int | None:
    """Return a whole number, which may be negative."""
    return _parse(
        option, text, lambda text: int(text) if _INTEGER.match(text) else None, "a whole number", "as in -4"
    )


def parse_memory(option: str, text: str | None) -> int | None:
    """Return an amount of memory in MiB, rounded up: `4096`, `4G`, `4GiB`, `512K`; a number alone is MiB."""
    return _parse(option, text, texts.parse_memory, "an amount of memory", texts.MEMORY_HINT)


def parse_duration(option: str, text: str | None) -> int | None:
    """Return a duration in seconds: `600`, `1h30m`, `2d`, `01:30:00`, `2-12:00:00`.

    `10:00` is refused: batch systems differ on whether it means hours or minutes.
    """
    return _parse(option, text, texts.parse_duration, "a time", texts.DURATION_HINT)


def _parse(
    option: str, text: str | None, parse: Callable[[str], int | None], described: str, hint: str
) -> int | None:
    """Return the value of an option, None if it is not given; raise `UsageError` where `parse` finds none."""
    value = None if text is None else parse(text)
    if text is not None and value is None:
        raise UsageError(f"{option} {quote_value(text)} is not {described}", hint=hint)
    return value


def parse_amount(kind: Kind, option: str, text: str) -> int | str | None:
    """Return the value of an attribute of a job: an amount as a number; a text of any other kind is unchanged."""
    parse = _PARSERS.get(kind)
    return text if parse is None else parse(option, text)


_PARSERS: Final[Mapping[Kind, Callable[[str, str], int | None]]] = {
    Kind.COUNT: parse_count,
    Kind.INTEGER: parse_integer,
    Kind.MEMORY: parse_memory,
    Kind.DURATION: parse_duration,
}


def parse_timeout(option: str, text: str | None) -> float | None:
    """Return a timeout in seconds, more than 0; besides durations, decimals are allowed."""
    if text is not None and _DECIMAL_NUMBER.match(text):
        timeout: float | None = float(text)
    else:
        timeout = parse_duration(option, text)
    if timeout == 0:
        raise UsageError(f"{option} {text} is not greater than 0")
    return timeout
