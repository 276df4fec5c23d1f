"""The table of codes: what each one means, how grave it is, and an example of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import Problem
from osprofile.lint.rules import documents, fields, scripts, waivers
from osprofile.lint.rules.rule import Rule, complete_example

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.source import Location

__all__ = ["RULES", "UNLOADABLE", "Rule", "complete_example", "is_rule_code", "make_problem"]

RULES: Final[Mapping[str, Rule]] = {
    rule.code: rule for rule in (*documents.RULES, *fields.RULES, *scripts.RULES, *waivers.RULES)
}
"""Every rule by its code; a code never changes its meaning."""

UNLOADABLE: Final = frozenset(
    f"OSP{number}" for number in (101, 102, 103, 104, 105, 106, 107, 108, 201, 202, 203)
)
"""The codes of what keeps a profile from loading: they can be neither waived nor ignored."""


def is_rule_code(word: str) -> bool:
    """Say whether a word is a code of this table, or has the form of one of shellcheck's."""
    return word in RULES or re.fullmatch("SC[0-9]{4}", word) is not None


def make_problem(code: str, message: str, location: Location, hint: str = "") -> Problem:
    """Make a problem of a code's severity."""
    return Problem(code, message, location, hint, RULES[code].severity)
