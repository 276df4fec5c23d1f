"""Rules about waivers (7xx)."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import Rule, format_field, format_fixed_field, format_template

_UNUSED_FIELD: Final = format_template("true", format_field("WHY"))
_EXAMPLE_REASON: Final = "our sites read WHY from the profile itself"

RULES: Final = (
    Rule(
        "OSP701", "warning", "a waiver without a problem",
        "A comment <!-- lint-waive CODE: REASON --> covers the element that follows it, or the line "
        "that it ends. A waiver that covers no problem would hide the problem if it came back.",
        f"  <!-- lint-waive OSP302: {_EXAMPLE_REASON} -->\n" + format_template("hold -n <N>", format_fixed_field("N", "1")),
        f"  <!-- lint-waive OSP302: {_EXAMPLE_REASON} -->\n" + _UNUSED_FIELD,
    ),
    Rule(
        "OSP702", "error", "a malformed waiver",
        "A waiver names codes, each of a rule of this table or of shellcheck (SC2086), and gives a "
        "reason for later readers. Problems that keep a profile from loading cannot be waived.",
        "  <!-- lint-waive OSP302 -->\n" + format_template("true"),
        f"  <!-- lint-waive OSP302: {_EXAMPLE_REASON} -->\n" + _UNUSED_FIELD,
    ),
)  # fmt: skip
