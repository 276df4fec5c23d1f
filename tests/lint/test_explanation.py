"""The long texts of the codes."""

from __future__ import annotations

import pytest

from osprofile.errors import NotFoundError
from osprofile.lint import RULES
from osprofile.lint.explanation import TEXT_WIDTH, find_rule, format_explanation, format_rule_list
from osprofile.lint.rules import UNLOADABLE

WHOLE = """\
OSP607 error: a settable value in a comment

A line end in the value ends the comment, and the text after it is executed.

Wrong:

    <idb:Template name="HOLD">
      <idb:Invocation><idb:Body><![CDATA[# <WHY>
    hold]]></idb:Body></idb:Invocation>
      <idb:Field name="WHY"><idb:Description>What it is.</idb:Description></idb:Field>
    </idb:Template>

Right:

    <idb:Template name="HOLD">
      <idb:Invocation><idb:Body><![CDATA[hold -w'<WHY/'/'\\\\''>']]></idb:Body></idb:Invocation>
      <idb:Field name="WHY"><idb:Description>What it is.</idb:Description></idb:Field>
    </idb:Template>

To accept it, write  <!-- lint-waive OSP607: REASON -->  before the element.
"""


def test_a_whole_text() -> None:
    assert format_explanation(RULES["OSP607"]) == WHOLE


def test_every_rule() -> None:
    for code, rule in RULES.items():
        text = format_explanation(rule)
        assert text.startswith(f"{code} {rule.severity}: {rule.summary}\n\n")
        assert all(c == "\n" or c.isprintable() for c in text)
        head, wrong = text.split("\n\nWrong:\n\n")
        wrong, right = wrong.split("\n\nRight:\n\n")
        assert max(map(len, head.splitlines())) <= max(TEXT_WIDTH, len(head.splitlines()[0]))
        assert wrong != right.rpartition("\n\n")[0]
        assert ("cannot be waived" in right) == (code in UNLOADABLE or code.startswith("OSP7"))


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    assert "<osp:Profile xmlns:osp" in format_explanation(RULES["OSP109"])
    assert "\\r\n" in format_explanation(RULES["OSP109"])


@pytest.mark.parametrize("word", ["OSP605", "osp605", "605", "Osp605"])
def test_ways_to_write_a_code(word: str) -> None:
    assert find_rule(word) is RULES["OSP605"]


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("OSP699", "there is no code 'OSP699'", "did you mean OSP6"),
        ("99", "there is no code '99'", "incarnate lint --explain lists them"),
        ("", "there is no code ''", "incarnate lint --explain lists them"),
        ("\x1b[31m", r"there is no code '\x1b[31m'", "incarnate lint --explain lists them"),
        ("SC2086", "SC2086 is not a code of this linter", "it belongs to shellcheck: see https://www.shellcheck.net/wiki/SC2086"),
    ],
)  # fmt: skip
def test_unknown_code(word: str, message: str, hint: str) -> None:
    with pytest.raises(NotFoundError) as error:
        find_rule(word)
    assert error.value.message == message
    assert error.value.hint.startswith(hint)


def test_the_list_has_all_of_them() -> None:
    assert [line.split()[0] for line in format_rule_list().splitlines()] == list(RULES)
