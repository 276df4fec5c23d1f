"""The table of codes: complete, and each rule's examples are what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.lint import RULES, Rule
from osprofile.lint.rules import complete_example

if TYPE_CHECKING:
    from tests.lint.conftest import Lint

PACKAGE = Path(osprofile.__file__).parent
CODE = re.compile(r"""["'](OSP[0-9]{3})["']""")

ALSO = {"OSP501": {"OSP204", "OSP207"}}
"""A profile without BIN lacks a required template, too."""


def emitted() -> set[str]:
    files = [p for p in PACKAGE.rglob("*.py") if PACKAGE / "lint/rules" not in p.parents]
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def test_every_code_that_the_source_emits_is_in_the_table_and_no_other() -> None:
    assert emitted() == set(RULES)


def test_codes_are_unique_and_in_order() -> None:
    tables = [p.read_text(encoding="utf-8") for p in (PACKAGE / "lint/rules").glob("*.py")]
    defined = [code for table in tables for code in re.findall(r'^        "(OSP\d{3})"', table, re.MULTILINE)]
    assert sorted(defined) == sorted(RULES) == list(RULES)


def test_words() -> None:
    for code, rule in RULES.items():
        assert 0 < len(rule.summary) <= 80, code
        assert not rule.summary.endswith("."), code
        assert rule.why.endswith("."), code


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_wrong_example_has_the_problem_and_the_right_one_none(lint: Lint, rule: Rule) -> None:
    found = lint(complete_example(rule.wrong))
    assert {p.code for p in found} == {rule.code} | ALSO.get(rule.code, set())
    assert [p.severity for p in found if p.code == rule.code] == [rule.severity]
    assert all(p.message and str(p) for p in found)
    assert lint(complete_example(rule.right)) == []
