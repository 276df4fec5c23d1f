"""The table of rules: code, severity, explanation, and an example of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import Problem
from osprofile.lint.rules import documents, fields, scripts, waivers
from osprofile.lint.rules.rule import UNLOADABLE, Rule, complete_example

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.source import Location

__all__ = ["RULES", "UNLOADABLE", "Rule", "complete_example", "is_rule_code", "make_problem"]

RULES: Final[Mapping[str, Rule]] = {
    rule.code: rule for rule in (*documents.RULES, *fields.RULES, *scripts.RULES, *waivers.RULES)
}
"""Every rule by its code; a code never changes its meaning."""


def is_rule_code(word: str) -> bool:
    """Return whether a word is a code of this table, or has the form of a code of shellcheck."""
    return word in RULES or re.fullmatch("SC[0-9]{4}", word) is not None


def make_problem(code: str, message: str, location: Location, hint: str = "") -> Problem:
    """Return a problem with the severity of its rule."""
    return Problem(code, message, location, hint, RULES[code].severity)
