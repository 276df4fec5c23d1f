"""The options of batch systems, and ours that say the same.

They are found in directives of another batch system than the profile's, and in a command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.job_scripts.command_line import Directive, OptionValue, UsageError, split_words
from osprofile.job_scripts.quantities import NO_TIME_LIMIT
from osprofile.job_scripts.reader import FAMILIES, Family
from osprofile.jobs.fields import FIELDS
from osprofile.text import format_duration_option, parse_duration, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.job_scripts.command_line import Option

_TIMES: Final = frozenset({"walltime", "cputime"})


def _find_ours(row: Option) -> str:
    """Return our option for that of a row; empty without one."""
    attribute = {"dependency": "after_ok", "requeue.no": ""}.get(row.name, row.name.partition(".")[0])
    return FIELDS[attribute].flags[0] if attribute in FIELDS else ""


def _translate(family: Family, row: Option, value: str) -> str:
    """Return our option for one of a batch system, with the value where ours is written in another way."""
    ours = _find_ours(row)
    if row.name not in _TIMES:
        return ours
    try:
        seconds = family.parse_time(OptionValue(row.flags[0], value))
    except UsageError:
        return ours
    is_same = seconds in {NO_TIME_LIMIT, parse_duration(value)}
    return ours if is_same else f"{ours} {format_duration_option(seconds)}"


def suggest_option(flag: str, value: str) -> str:
    """Return a hint for an option of a batch system that `incarnate job submit` does not have; "" for any other."""
    found: dict[str, dict[str, list[str]]] = {}
    for family in FAMILIES.values():
        for row in family.table:
            for theirs in row.flags if _find_ours(row) else ():
                if theirs == flag or theirs.startswith(f"{flag} "):
                    ours = _translate(family, row, value if theirs == flag else "")
                    names = found.setdefault(theirs, {}).setdefault(ours, [])
                    names += [family.name] if family.name not in names else []
    texts = []
    for theirs, by_option in found.items():
        for option, names in by_option.items():
            whose = f" of {' and '.join(names)}" if len(by_option) > 1 else ""
            texts.append(f"{option} for {theirs}{whose}")
    return f"give {', '.join(texts)}" if texts else ""


def describe_directives(script: str) -> tuple[str, str] | None:
    """Return the message and the hint about the directives of a script, up to its first command; None without any."""
    found: list[tuple[int, str, str]] = []
    for number, line in enumerate(script.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            break
        for prefix in FAMILIES:
            rest = line.removeprefix(prefix)
            if rest != line and rest[:1].isspace() and rest.lstrip().startswith("-"):
                found.append((number, line, prefix))
    if not found:
        return None
    number, line, prefix = found[0]
    family = FAMILIES[prefix]
    message = f"line {number}: {quote_value(line.strip())} is a directive of {family.name}, which is not read"
    pairs = {
        flag: option
        for _, text, of_prefix in found
        if of_prefix == prefix
        for flag, option in _find_options(text.removeprefix(prefix), family)
    }
    hints = ["give " + ", ".join(f"{option} for {flag}" for flag, option in pairs.items())] if pairs else []
    if family.stand_in:
        hints.append(f"incarnate shim DIR --as {family.stand_in} writes a command that reads such lines")
    return message, "; ".join(hints) or "incarnate job submit --help lists the options"


def _find_options(line: str, family: Family) -> Iterator[tuple[str, str]]:
    """Yield the options in a directive that have one of ours, each with that one."""
    rows = {flag: row for row in reversed(family.table) for flag in row.flags if _find_ours(row)}
    for flag, value in _list_values(line, family):
        if flag in rows:
            yield flag, _translate(family, rows[flag], value)


def _list_values(line: str, family: Family) -> Iterator[tuple[str, str]]:
    """Yield the options of a directive with their values; each resource and attribute is one, too."""
    try:
        options = family.parse([Directive("", split_words(line))]).options
    except UsageError:
        yield from ((word.partition("=")[0], "") for word in line.split())
        return
    for option in (value for values in options.values() for value in values):
        yield option.flag, option.text
        for part in option.text.split(","):
            name, _, value = part.partition("=")
            yield f"{option.flag} {name}", value
