"""Laws that hold for every pattern and value."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile import javaregex
from osprofile.errors import JavaRegexError
from osprofile.javaregex.charset import ANY, EMPTY, CharSet
from tests.javaregex.generator import CaseGenerator

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SETS = st.lists(
    st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 300)).map(lambda t: (t[0], min(sum(t), 0x10FFFF))),
    max_size=6,
).map(lambda ranges: CharSet.from_ranges(*ranges))
CASES = st.randoms(use_true_random=False).map(
    lambda chance: CaseGenerator(Random(chance.random())).make_case()
)


def _quoted(text: str) -> str:
    return "\\Q" + text.replace("\\E", "\\E\\\\E\\Q") + "\\E"


@given(TEXTS)
def test_quoted_text_matches_itself_and_nothing_else(text: str) -> None:
    pattern = javaregex.compile(_quoted(text))
    assert pattern.matches(text)
    assert not pattern.matches(f"{text}x")


@given(TEXTS, TEXTS, TEXTS)
def test_a_literal_pattern_replaces_as_str_does(before: str, text: str, after: str) -> None:
    value = before + text + after
    if (found := javaregex.parse_literal_pattern(text)) is not None:
        assert javaregex.replace_all(value, text, "-") == value.replace(found, "-")
        assert javaregex.replace_all(value, f"(?:{text})", "-") == value.replace(found, "-")


@given(TEXTS)
def test_a_literal_replacement_is_inserted_as_it_is(text: str) -> None:
    if (found := javaregex.parse_literal_replacement(text)) is not None:
        assert javaregex.replace_all("<x>", "x", text) == f"<{found}>"


@settings(deadline=None)
@given(CASES)
def test_laws_of_matches(case: tuple[str, str, str]) -> None:
    text, value, _ = case
    try:
        pattern = javaregex.compile(text)
        found = list(pattern.find_iter(value))
        whole = pattern.matches(value)
        again = pattern.replace_all(value, "$0")
        first = pattern.find(value)
    except JavaRegexError:
        return
    assert again == value
    assert (first and first.spans) == (found[0].spans if found else None)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(m.end - m.start >= pattern.min_length for m in found)
    assert all(m.group() == value[m.start : m.end] for m in found)
    assert whole is None or whole.span == (0, len(value))


@given(SETS, SETS, st.integers(0, 0x10FFFF).map(chr))
def test_sets_are_sets(a: CharSet, b: CharSet, char: str) -> None:
    assert (char in a | b) == (char in a or char in b)
    assert (char in a & b) == (char in a and char in b)
    assert (char in ~a) == (char not in a)
    assert ~~a == a
    assert a.intersects(b) == bool((a & b).ranges)
    assert (a | ~a, a & ~a) == (ANY, EMPTY)
