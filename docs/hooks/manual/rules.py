"""The pages of the linter's rules and the exceptions."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import osprofile
from manual.markdown import escape_text, format_block, format_code, format_table
from osprofile import errors
from osprofile.lint.rules import RULES, UNLOADABLE, complete_example
from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.lint.rules import Rule

GROUP_TITLES = {
    "1": "The document",
    "2": "Inheritance and required items",
    "3": "Fields and replacements",
    "4": "What the engine reads",
    "5": "Static scripts, SHELL and EVENTS",
    "6": "Values in scripts",
    "7": "Waivers",
}
RULES_HEAD = """\
# The rules of `incarnate lint`

Each rule has a code, an explanation, and a wrong and a right example; `incarnate lint --explain CODE` prints the same. An example
that is not a whole document is part of a profile that extends a complete one. See [`incarnate lint`](commands/lint.md).

"""
ERRORS_HEAD = """\
# Errors

All exceptions of osprofile are subclasses of `osprofile.OSProfileError` and have the attributes `message`, `location` (file, line
and column of the rule in the profile, or `None`), `hint` and `exit_code`; `str()` returns the text that a command prints.
Commands that pass on the exit code of a script or job exit with 125 for all of them. See [From Python](python.md).

"""


def format_rules_page() -> str:
    """Return the page of all rules."""
    return RULES_HEAD + _format_index() + "".join(_format_sections())


def _format_index() -> str:
    rows = [(f"[{r.code}](#{r.code.lower()})", r.severity, escape_text(r.summary)) for r in RULES.values()]
    return format_table(["code", "", "what is wrong"], rows) + "\n"


def _format_sections() -> Iterator[str]:
    group = ""
    for rule in RULES.values():
        if rule.code[3] != group:
            group = rule.code[3]
            yield f"## {GROUP_TITLES[group]}\n\n"
        yield _format_section(rule)


def _format_section(rule: Rule) -> str:
    return (
        f"### {rule.code} {{ #{rule.code.lower()} }}\n\n"
        f"**{escape_text(rule.summary)}** ({rule.severity})\n\n{escape_text(rule.why)}\n\n"
        f"Wrong:\n\n{_format_example(rule.wrong)}\nRight:\n\n{_format_example(rule.right)}\n{_format_waiver(rule)}\n\n"
    )


def _format_example(example: str) -> str:
    is_document = complete_example(example) == example
    shown = example if is_document else textwrap.dedent(example)
    visible = escape_unprintable(shown, keep="\n").strip("\n")
    return format_block(visible, "xml")


def _format_waiver(rule: Rule) -> str:
    if rule.code in UNLOADABLE or rule.code.startswith("OSP7"):
        return "It cannot be waived."
    return f"To waive it: {format_code(f'<!-- lint-waive {rule.code}: REASON -->')}."


def format_errors_page() -> str:
    """Return the page of all exceptions, indented by inheritance."""
    rows = [
        (
            f"{'&#160;' * 4 * depth}{format_code(error.__name__)}",
            str(error.exit_code),
            escape_text((error.__doc__ or "").split("\n\n")[0].replace("`", "")),
        )
        for depth, error in _walk_errors(errors.OSProfileError, 0)
    ]
    return ERRORS_HEAD + format_table(["exception", "exit code", "when"], rows)


def _walk_errors(
    error: type[errors.OSProfileError], depth: int
) -> Iterator[tuple[int, type[errors.OSProfileError]]]:
    yield depth, error
    for subclass in error.__subclasses__():
        if subclass.__name__ in dir(osprofile):
            yield from _walk_errors(subclass, depth + 1)
