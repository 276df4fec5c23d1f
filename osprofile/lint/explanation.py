"""The explanation of a rule: what is wrong, why, a wrong example and a right one."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from osprofile.errors import NotFoundError
from osprofile.lint.rules import RULES, UNLOADABLE
from osprofile.text import escape_unprintable, quote_value, suggest_names

if TYPE_CHECKING:
    from osprofile.lint.rules import Rule

TEXT_WIDTH: Final = 80


def find_rule(word: str) -> Rule:
    """Return the rule of a code, in upper or lower case, with or without `OSP`.

    Raises `NotFoundError`.
    """
    code = word.upper()
    rule = RULES.get(code) or RULES.get(f"OSP{code}")
    if rule is not None:
        return rule
    if code.startswith("SC") and code[2:].isdecimal():
        hint = "it belongs to shellcheck: see https://www.shellcheck.net/wiki/" + code
        raise NotFoundError(f"{code} is not a code of this linter", hint=hint)
    hint = suggest_names(code, RULES) if code.startswith("OSP") else "incarnate lint --explain lists them"
    raise NotFoundError(f"there is no code {quote_value(word)}", hint=hint)


def format_explanation(rule: Rule) -> str:
    """Return the explanation of a rule, ending with a line end.

    Control characters in the examples are escaped, since a terminal would act on them.
    """
    why = textwrap.fill(rule.why, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)
    return (
        f"{rule.code} {rule.severity}: {rule.summary}\n\n{why}\n\n"
        f"Wrong:\n\n{_format_example(rule.wrong)}\n\nRight:\n\n{_format_example(rule.right)}\n\n{_format_waiver(rule)}\n"
    )


def _format_example(text: str) -> str:
    visible = escape_unprintable(text, keep="\n")
    return textwrap.indent(textwrap.dedent(visible).strip("\n"), "    ")


def _format_waiver(rule: Rule) -> str:
    if rule.code in UNLOADABLE:
        return "It cannot be waived: no command loads such a profile."
    if not rule.is_waivable:
        return "It cannot be waived."
    return f"To accept it, write  <!-- lint-waive {rule.code}: REASON -->  before the element."


def format_rule_list() -> str:
    """Return one line per rule."""
    return "".join(f"{r.code}  {r.severity:7}  {r.summary}\n" for r in RULES.values())
