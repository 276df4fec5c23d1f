"""The long text of a code: what is wrong, why, a wrong example and a right one."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from osprofile.errors import NotFoundError, escape_unprintable, quote_value, suggest_names
from osprofile.lint.rules import RULES, UNLOADABLE

if TYPE_CHECKING:
    from osprofile.lint.rules import Rule

TEXT_WIDTH: Final = 80


def find_rule(word: str) -> Rule:
    """Give the rule of a code, however its letters are written, `OSP` left out or not.

    Raises `NotFoundError`.
    """
    code = word.upper()
    rule = RULES.get(code) or RULES.get(f"OSP{code}")
    if rule is not None:
        return rule
    if code.startswith("SC") and code[2:].isdecimal():
        hint = "it is shellcheck's: see https://www.shellcheck.net/wiki/" + code
        raise NotFoundError(f"{code} is no code of this linter", hint=hint)
    hint = suggest_names(code, RULES) if code.startswith("OSP") else "incarnate explain lists them"
    raise NotFoundError(f"there is no code {quote_value(word)}", hint=hint)


def format_explanation(rule: Rule) -> str:
    """Give the text about a rule, which ends with a line end.

    Characters of the examples that a terminal would act on are escaped.
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
    if rule.code.startswith("OSP7"):
        return "It cannot be waived."
    return f"Where it is meant to be:  <!-- lint-waive {rule.code}: REASON -->  before the element."


def format_rule_list() -> str:
    """Give a line a code, all of them."""
    return "".join(f"{r.code}  {r.severity:7}  {r.summary}\n" for r in RULES.values())
