"""The pages of the linter's rules and of the exceptions."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from manual.markdown import block, code, table, text
from osprofile import errors
from osprofile.lint.rules import RULES, UNLOADABLE, document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.lint.rules import Rule

GROUPS = {
    "1": "The document",
    "2": "Inheritance, and what a profile must have",
    "3": "Fields and replacements",
    "4": "What the engine reads",
    "5": "Static scripts, SHELL and EVENTS",
    "6": "Values in scripts",
    "7": "Waivers",
}
RULES_HEAD = """\
# The rules of `incarnate lint`

What each code means, with an example of it and how it is right; `incarnate explain CODE` prints the same. An example that is
no whole document stands in a profile that extends a complete one. See [`incarnate lint`](commands/lint.md).

"""
ERRORS_HEAD = """\
# Errors

Every exception that osprofile raises by itself is an `osprofile.OSProfileError` with `message`, `place` (file, line and column
of the rule in the profile, or none), `hint` and `exit_code`; `str()` is the whole block that a command prints. A command
that passes on the exit code of a script or job ends with 125 for all of them. See [From Python](python.md).

"""


def rules_page() -> str:
    """Give the page of all rules."""
    return RULES_HEAD + _index() + "".join(_sections())


def _index() -> str:
    rows = [(f"[{r.code}](#{r.code.lower()})", r.severity, text(r.summary)) for r in RULES.values()]
    return table(["code", "", "what is wrong"], rows) + "\n"


def _sections() -> Iterator[str]:
    group = ""
    for rule in RULES.values():
        if rule.code[3] != group:
            group = rule.code[3]
            yield f"## {GROUPS[group]}\n\n"
        yield _section(rule)


def _section(rule: Rule) -> str:
    return (
        f"### {rule.code} {{ #{rule.code.lower()} }}\n\n"
        f"**{text(rule.summary)}** ({rule.severity})\n\n{text(rule.why)}\n\n"
        f"Wrong:\n\n{_example(rule.wrong)}\nRight:\n\n{_example(rule.right)}\n{_waiver(rule)}\n\n"
    )


def _example(example: str) -> str:
    whole = document(example) == example
    shown = example if whole else textwrap.dedent(example)
    visible = "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in shown
    )
    return block(visible.strip("\n"), "xml")


def _waiver(rule: Rule) -> str:
    if rule.code in UNLOADABLE or rule.code.startswith("OSP7"):
        return "It cannot be waived."
    return f"Where it is meant so: {code(f'<!-- lint-waive {rule.code}: REASON -->')}."


def errors_page() -> str:
    """Give the page of all exceptions, as the tree that they are."""
    rows = [
        (
            f"{'&#160;' * 4 * depth}{code(error.__name__)}",
            str(error.exit_code),
            text((error.__doc__ or "").split("\n\n")[0].replace("`", "")),
        )
        for depth, error in _tree(errors.OSProfileError, 0)
    ]
    return ERRORS_HEAD + table(["exception", "exit code", "when"], rows)


def _tree(
    error: type[errors.OSProfileError], depth: int
) -> Iterator[tuple[int, type[errors.OSProfileError]]]:
    yield depth, error
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, depth + 1)
