"""Which values a pattern lets through: the linter's sets are never too small."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.incarnation.body import Replacement
from osprofile.javaregex import compile as java
from osprofile.javaregex.charset import ANY, CharSet
from osprofile.lint.value_sets import (
    ANY_VALUES,
    apply_replacement,
    escapes_quotes,
    get_pattern_values,
    matches_every_value,
)
from tests.hunting import rounds

PROBE = "abz0-.'\"\\\n\r \té\u2028"


def among(chars: CharSet) -> str:
    return "".join(c for c in PROBE if c in chars)


@pytest.mark.parametrize(
    ("pattern", "chars", "first"),
    [
        ("a", "a", "a"),
        ("[a-z]*", "abz", "abz"),
        ("[a-z][a-z-]*", "abz-", "abz"),
        ("[a-z]?-b", "abz-", "abz-"),
        ("a|-b", "ab-", "a-"),
        ("(?:a|b)+", "ab", "ab"),
        ("(?<x>a)\\k<x>", PROBE, "a"),
        ("a{0}b", "b", "b"),
        ("a{2,3}", "a", "a"),
        (".*", PROBE.replace("\n", "").replace("\r", "").replace("\u2028", ""), "abz0-.'\"\\ \té"),
        ("(?s).*", PROBE, PROBE),
        ("(?s)[^-].*", PROBE, PROBE.replace("-", "")),
        ("(?!-)[a-z-]+", "abz-", "abz"),
        ("(?![-a])(?:[a-z-]+)", "abz-", "bz"),
        ("(?!-)*[a-z-]+", "abz-", "abz-"),
        ("(?!-a)[a-z-]+", "abz-", "abz-"),
        ("(?=a)-", "-", "-"),
        ("(?!-)a*-", "a-", "a"),
        ("a*(?!-)[b-]", "ab-", "ab"),
        ("(?:(?!-)|a)-", "a-", "a"),
        ("(?:(?!-)|(?!a))[a-]", "a-", "a-"),
        ("^[a-z]+$", "abz", "abz"),
        ("\\w+\\z", "abz0", "abz0"),
        ("\\Qa-\\E", "a-", "a"),
        ("\\R", "\n\r\u2028", "\n\r\u2028"),
        ("[a-z&&[^b]]", "az", "az"),
        ("(?i)[AB]", "ab", "ab"),
        ("(", "", ""),
        ("", "", ""),
    ],
)
def test_pattern(pattern: str, chars: str, first: str) -> None:
    found = get_pattern_values(pattern)
    assert among(found.chars) == "".join(c for c in PROBE if c in chars)
    assert among(found.first_chars) == "".join(c for c in PROBE if c in first)


ATOMS = st.sampled_from(
    ["a", "-", "[ab]", "[^a]", ".", "\\w", "\\s", "(?!-)", "(?![ab])", "(?=a)", "^", "$", "\\n"]
)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        if depth and draw(st.booleans()):
            left, right = draw(patterns(depth - 1)), draw(patterns(depth - 1))
            atom = draw(st.sampled_from([f"(?:{left})", f"({left}|{right})", f"(?>{left})"]))
        else:
            atom = draw(ATOMS)
        parts.append(atom + draw(st.sampled_from(["", "", "*", "+", "?", "{0}", "{1,2}"])))
    return draw(st.sampled_from(["", "(?s)"])) + "".join(parts)


@settings(max_examples=rounds(300, 60), deadline=None)
@given(pattern=patterns(), value=st.text("ab-0 \n'", min_size=1, max_size=4))
def test_what_a_pattern_matches_is_in_its_sets(pattern: str, value: str) -> None:
    if java(pattern).matches(value) is not None:
        found = get_pattern_values(pattern)
        assert all(c in found.chars for c in value)
        assert value[0] in found.first_chars


def replacement(text: str) -> Replacement:
    _, pattern, to = text.split("/", 2)
    return Replacement("X", pattern, to, 0, 0)


@pytest.mark.parametrize(
    ("text", "chars", "first"),
    [
        ("X/'/", "ab-", "ab-"),
        ("X/a/", "b'-", "b'-"),
        ("X/[ab]/_", "'-", "'-"),
        ("X/[ab]+/'", "'-", "'-"),
        ("X/-/b", "ab'", "ab'"),
        ("X/[ab]*/'", "ab'-", "ab'-"),
        ("X/ab/'", "ab'-", "ab'-"),
        ("X/(?s)^(.+)$/-q $1", "ab'-", "ab'-"),
        ("X/(/", "ab'-", "ab'-"),
    ],
)
def test_what_from_and_to_leave(text: str, chars: str, first: str) -> None:
    values = get_pattern_values("[ab'-]*")
    found = apply_replacement(values, replacement(text))
    assert "".join(c for c in "ab'-" if c in found.chars) == chars
    assert "".join(c for c in "ab'-" if c in found.first_chars) == first


@pytest.mark.parametrize("text", ["X/^a//", "X/^(a)(-)/$2", "X/ab/-", "X/(?:ab)*/"])
def test_what_begins_a_value_may_be_taken_away(text: str) -> None:
    assert "-" in apply_replacement(get_pattern_values("ab?[b-]*"), replacement(text)).first_chars


@settings(max_examples=rounds(200, 40), deadline=None)
@given(
    value=st.text("ab'-", min_size=1, max_size=5),
    pattern=st.sampled_from(["a", "[ab]", "[ab]+", "[^a]", "(a)", "[a-b]+?", "-"]),
    to=st.sampled_from(["", "x", "'", "-", "xy"]),
)
def test_a_replaced_value_is_in_its_sets(value: str, pattern: str, to: str) -> None:
    found = apply_replacement(get_pattern_values("[ab'-]*"), Replacement("X", pattern, to, 0, 0))
    result = java(pattern).compile_replacement(to)(value)
    assert all(c in found.chars for c in result)
    assert not result or result[0] in found.first_chars


@pytest.mark.parametrize(
    ("text", "escapes"),
    [
        ("X/'/'\\\\''", True),
        ("X/\\'/'\\\\''", True),
        ("X/'/'\"'\"'", True),
        ("X/'/'\\''", False),
        ("X/'/\\\\'", False),
        ("X/\"/'\\\\''", False),
    ],
)
def test_quote_escapes(text: str, *, escapes: bool) -> None:
    assert escapes_quotes(replacement(text)) is escapes


@pytest.mark.parametrize(
    ("pattern", "takes"),
    [
        ("(?s)^(.+)\\z", True),
        ("^(.+)$", False),
        ("(?s).+", True),
        ("(?s)^.*$", True),
        ("^([a-z]+)$", False),
        ("(?s)a.*", False),
        ("", False),
        ("(", False),
    ],
)
def test_takes_all(pattern: str, *, takes: bool) -> None:
    assert matches_every_value(pattern, ANY) is takes
    assert matches_every_value("^(.+)$", get_pattern_values("[a-z]*").chars)


def test_anything() -> None:
    assert ANY_VALUES.chars == ANY
