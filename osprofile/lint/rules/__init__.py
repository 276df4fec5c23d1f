"""The table of codes: what each one means, how grave it is, and an example of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.errors import Problem
from osprofile.lint.rules import documents, fields, scripts
from osprofile.lint.rules.rule import Rule, document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.source import Place

__all__ = ["RULES", "Rule", "document", "problem"]

RULES: Final[Mapping[str, Rule]] = {
    rule.code: rule for rule in (*documents.RULES, *fields.RULES, *scripts.RULES)
}
"""Every rule by its code; a code never changes its meaning."""


def problem(code: str, message: str, place: Place, hint: str = "") -> Problem:
    """Make a problem of a code's severity."""
    return Problem(code, message, place, hint, RULES[code].severity)
