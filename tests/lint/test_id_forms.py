"""The form of an id: what is accepted, grep reads as Java does."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile import javaregex
from osprofile.lint.id_forms import find_difference
from osprofile.lint.rules.rule import (
    complete_example,
    format_field,
    format_fixed_field,
    format_global_fields,
    format_template,
)

if TYPE_CHECKING:
    from osprofile.errors import Problem
    from tests.lint.conftest import Lint

GOOD = [
    "[1-9][0-9]*(_[0-9]+)?", "f[1-9A-HJ-NP-Za-km-z]+", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"[0-9]+(\[[0-9]*\])?(\.[A-Za-z0-9.-]+)?", "[a-z]+;[0-9]+", "a|b", "(a|bc)+", "a{2,}b{1,2}", "[^ /]+", "[a^*?(|]+",
    r"\(\)\{\}\.\*\+\?\^\$\|\\", "x.y", "-?[0-9]", "a-b", "[-a]b", "[a-]b", "<a>", "a,b=c:~#@%",
]  # fmt: skip
WORDS = [
    "1", "17_3", "0", "f4jG2v", "4d2a1c3e-0b1c-4c55-9a11-0123456789ab", "1234[].server", "1234[7]", "cluster;12", "a", "b",
    "ab", "bc", "abc", "aab", "aabb", "aabbb", "^*", "?(|", r"(){}.*+?^$|\\"[:-1], "xyy", "x.y", "-4", "a-b", "-b", "<a>",
    "a,b=c:~#@%", "1 2", "x", "",
]  # fmt: skip


@pytest.mark.parametrize("form", GOOD)
def test_grep_reads_it_alike(form: str) -> None:
    assert find_difference(form) is None
    command = ["grep", "-Ex", "-e", form]
    found = subprocess.run(
        command, input="\n".join(WORDS) + "\n", capture_output=True, text=True, check=False
    )
    pattern = javaregex.compile(form)
    assert found.stdout.splitlines() == [word for word in WORDS if pattern.accepts(word)]
    assert found.stderr == ""
    assert found.stdout


# A form, and where it begins to differ.
BAD = [
    (r"\d+", 0), (r"[0-9]\w", 5), ("(?:a)", 0), ("a(?<id>b)", 1), ("a*+", 1), ("a+?", 1), ("a{2}+", 1), ("a**", 1),
    (r"[\d]", 0), ("[a[b]]", 0), ("[a&&b]", 0), ("[]a]", 0), ("[[:alpha:]]", 0), ("^a", 0), ("a$", 1), (r"a\b", 1),
    (r"(a)\1", 3), (r"\Qa\E", 0), ("a]", 1), ("a}", 1), ("a{,2}", 1), ("\\", 0), (r"a\-b", 1),
]  # fmt: skip


@pytest.mark.parametrize(("form", "offset"), BAD)
def test_what_differs(form: str, offset: int) -> None:
    assert find_difference(form) == offset


ID = format_field("J", "", ' ext:patternField="JOB_ID_PATTERN"')
USE = format_template("hold <J>", ID)


def lint_form(lint: Lint, form: str, more: str = "") -> list[Problem]:
    content = format_global_fields(format_fixed_field("JOB_ID_PATTERN", form)) + more
    return [p for p in lint(complete_example(content)) if p.code == "OSP407"]


@pytest.mark.parametrize("form", ["[^/]+", "a b", "[0-9]*", "(a|)", ".+"])
def test_an_id_is_one_word(lint: Lint, form: str) -> None:
    (problem,) = lint_form(lint, form)
    assert problem.message == "JOB_ID_PATTERN allows an id that is empty, or has a blank or a line end"


def test_the_difference_is_located(lint: Lint) -> None:
    (problem,) = lint_form(lint, r"[0-9]+\.\w+")
    assert problem.message == r"JOB_ID_PATTERN has '\\w+', which grep -E reads differently"
    assert problem.location is not None
    line, marker = problem.location.format_excerpt().splitlines()
    assert line[marker.index("^") :].startswith(r"\w+")


def test_a_pattern_with_the_group_id_is_no_form(lint: Lint) -> None:
    assert lint_form(lint, r"job (?<id>\d+)") == []
    assert len(lint_form(lint, r"job (?<id>\d+)", USE)) == 1  # unless a field takes it for its own pattern
