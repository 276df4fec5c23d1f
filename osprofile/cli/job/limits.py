"""What `incarnate job submit --help -p PROFILE` says of a profile: the limits that depend on the queue, as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.incarnation.field_rules import format_number
from osprofile.jobs.fields import FIELDS
from osprofile.profile.model import USER_GROUPS, get_selection
from osprofile.text import escape_unprintable, format_amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.profile.model import Field, Profile

_JOB_FIELDS: Final = {field.name: field for field in FIELDS.values() if field.option}


def format_limits(profile: Profile) -> str:
    """Return a line for each value that other fields have cases for (`ext:for`), as of the queue; empty without any."""
    cases: dict[str, list[str]] = {}
    for case in profile.cases:
        selection = get_selection(case)
        name = "group" if selection.field == USER_GROUPS else _name_option(selection.field)
        cases.setdefault(f"{name} {selection.value}", []).append(" ".join(_iter_words(case)))
    lines = [f"  {name}: {'; '.join(words)}" for name, words in cases.items()]
    return (
        escape_unprintable("\n".join([f"Limits of profile {profile.name}:", *lines]), "\n") if lines else ""
    )


def _iter_words(case: Field) -> Iterator[str]:
    """Yield what a case allows: `--walltime`, `at most 30m`, `(10m if not given)`."""
    if case.name == USER_GROUPS:
        yield f"for the groups {case.pattern_text}"
        return
    yield _name_option(case.name)
    low, high = (
        "" if n is None else format_amount(case.name, format_number(n)) for n in (case.minimum, case.maximum)
    )
    if high == "0":
        yield "none"
    elif high:
        yield f"{low} to {high}" if low else f"at most {high}"
    elif low:
        yield f"at least {low}"
    if case.pattern_text is not None:
        yield case.pattern_text
    if case.default:
        yield f"({format_amount(case.name, case.default)} if not given)"


def _name_option(name: str) -> str:
    field = _JOB_FIELDS.get(name)
    return field.flags[0] if field is not None else name
