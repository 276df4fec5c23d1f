"""The recorded request of a job as lines: the fields as submitted, and the variables.

Control characters are written as in bash's `$'...'`.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from osprofile.jobs.record.store import JobDetails


def format_request(details: JobDetails) -> Iterator[str]:
    """Yield the fields as submitted, and the variables of ENVIRONMENT."""
    yield "fields as submitted"
    if details.request is None:
        yield "  (not recorded)"
        return
    variables = _split_exports(details.request.get("ENVIRONMENT", ""))
    shown = {n: v for n, v in details.request.items() if n != "ENVIRONMENT" or variables is None}
    yield from _format_assignments(shown)
    if variables:
        yield "environment"
        yield from _format_assignments(variables)


def _format_assignments(values: Mapping[str, str]) -> Iterable[str]:
    return (f"  {escape_unprintable(name)}={_quote_assigned(value)}" for name, value in values.items())


def _split_exports(text: str) -> dict[str, str] | None:
    """Return the variables that a value of ENVIRONMENT sets; None if it does anything else."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if words[::2] != ["export"] * len(words[1::2]):
        return None
    pairs = [word.partition("=") for word in words[1::2]]
    return {name: value for name, _, value in pairs} if all(equals for _, equals, _ in pairs) else None


def _quote_assigned(value: str) -> str:
    """Return a value on one line: as it is, or as bash's $'...' if it has control characters or blanks at an end."""
    if value.isprintable() and value == value.strip() and not value.startswith("$'"):
        return value
    return f"$'{''.join(map(_escape_character, value))}'"


def _escape_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return named or (f"\\x{ord(character):02x}" if character.isascii() else f"\\U{ord(character):08x}")
