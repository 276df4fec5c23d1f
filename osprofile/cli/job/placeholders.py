"""Placeholders `{column}` in the arguments of `incarnate job submit --from FILE`.

A line's value takes the place of `{column}`, within its argument: it is neither split nor read by a shell. `{{` and
`}}` stand for braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.cli.common import UsageError
from osprofile.text import quote_name, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
BRACES_HINT: Final = "{{ and }} are braces, {NAME} is the value of a column"


def list_placeholders(arguments: Sequence[str]) -> dict[str, str]:
    """Return the columns that arguments name, each with the first argument that names it.

    Raises `UsageError` for a brace that is neither that of a placeholder nor doubled.
    """
    found: dict[str, str] = {}
    for argument in arguments:
        for token in _TOKEN.finditer(argument):
            if token[1] is not None:
                found.setdefault(token[1], argument)
            elif len(token[0]) == 1:
                message = f"the argument {quote_value(argument)} has a single {token[0]}"
                raise UsageError(message, hint=BRACES_HINT)
    return found


def fill_arguments(arguments: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Return arguments with values, by column, in place of the placeholders that `list_placeholders` returns."""
    return [
        _TOKEN.sub(lambda token: token[0][0] if token[1] is None else values[token[1]], argument)
        for argument in arguments
    ]


def check_columns(placeholders: Mapping[str, str], columns: Iterable[str], what: str = "column") -> None:
    """Raise `UsageError` if a placeholder is none of the columns."""
    names = set(columns)
    for name, argument in placeholders.items():
        if name not in names:
            message = (
                f"there is no {what} {quote_name(name)}, which the argument {quote_value(argument)} names"
            )
            similar = suggest_names(name, names)
            separator = " " if similar.endswith("?") else "; "
            raise UsageError(message, hint=f"{similar}{separator}{BRACES_HINT}")


def check_values(placeholders: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Raise `UsageError` if a line has no value for a placeholder."""
    for name, argument in placeholders.items():
        if name not in values:
            message = f"{quote_name(name)} has no value, and the argument {quote_value(argument)} needs one"
            raise UsageError(message, hint="give a value, or delete the line")
