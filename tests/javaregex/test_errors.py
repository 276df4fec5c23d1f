"""Refused patterns, replacements and values: the place and the message."""

from __future__ import annotations

import pytest

from osprofile import javaregex
from osprofile.javaregex import JavaRegexError

PATTERNS = [
    ("(", 1, "Unclosed group"),
    ("a)", 1, "Unmatched closing ')'"),
    ("*a", 0, "Dangling meta character '*'"),
    ("a**", 2, "Dangling meta character '*'"),
    ("a{", 2, "Illegal repetition"),
    ("a{,2}", 2, "Illegal repetition"),
    ("a{1", 3, "Unclosed counted closure"),
    ("a{2,1}", 5, "Illegal repetition range"),
    ("a{99999999999}", 11, "Illegal repetition range"),
    ("[a", 1, "Unclosed character class"),
    ("[b-a]", 3, "Illegal character range"),
    ("[&&]", 2, "Bad class syntax"),
    (r"\y", 1, "Illegal/unsupported escape sequence"),
    (r"ab\y", 3, "Illegal/unsupported escape sequence"),
    (r"\xg", 2, "Illegal hexadecimal escape sequence"),
    (r"\x{110000}", 8, "Hexadecimal codepoint is too big"),
    (r"\u12", 4, "Illegal Unicode escape sequence"),
    (r"\08", 2, "Illegal octal escape sequence"),
    (r"\p{Foo}", 6, "Unknown character property name {Foo}"),
    (r"\p{L", 4, "Unclosed character family"),
    (r"\p{}", 3, "Empty character family"),
    (r"\k<n>", 4, "named capturing group <n> does not exist"),
    (r"\kn", 2, "\\k is not followed by '<' for named capturing group"),
    ("(?<n>a)(?<n>b)", 11, "Named capturing group <n> is already defined"),
    ("(?<1>a)", 3, "capturing group name does not start with a Latin letter"),
    ("(?<n_>a)", 4, "named capturing group is missing trailing '>'"),
    ("(?z)", 2, "Unknown inline modifier"),
    ("(?$a)", 2, "Unknown group type"),
    ("(?<=(a)+b)x(?<=(?:ab)*)", 21, "Look-behind group does not have an obvious maximum length"),
    ("\\", 1, "a lone backslash ends the pattern"),
    ("(?c)a", 2, "canonical equivalence is not supported"),
    ("[[a]b&&]", 6, "nothing on the right of && in a character class"),
    ("a\ud800", 1, "a pattern cannot hold half of a surrogate pair"),
    (r"\ud800", 5, "a pattern cannot match half of a surrogate pair"),
    (r"\N{NO SUCH}", 10, "Unknown character name [NO SUCH]"),
    (r"\N{LINE FEED (LF)}", 17, "Unknown character name [LINE FEED (LF)]"),
]
REPLACEMENTS = [
    ("a$", 2, "Illegal group reference"),
    ("$x", 1, "Illegal group reference"),
    ("$3", 1, "No group 3"),
    ("${n", 3, "named capturing group is missing trailing '}'"),
    ("${}", 2, "named capturing group is missing trailing '}'"),
    ("${naem}", 2, "No group with name {naem}"),
    ("a\\", 2, "character to be escaped is missing"),
]


@pytest.mark.parametrize(("pattern", "index", "message"), PATTERNS)
def test_patterns_that_are_refused(pattern: str, index: int, message: str) -> None:
    with pytest.raises(JavaRegexError) as caught:
        javaregex.compile(pattern)
    assert (caught.value.message, caught.value.index) == (message, index)
    assert caught.value.text == pattern


@pytest.mark.parametrize(("replacement", "index", "message"), REPLACEMENTS)
def test_replacements_that_are_refused(replacement: str, index: int, message: str) -> None:
    pattern = javaregex.compile("(?<name>a)(b)?")
    with pytest.raises(JavaRegexError) as caught:
        pattern.compile_replacement(replacement)
    assert (caught.value.message, caught.value.index) == (message, index)
    assert caught.value.text == replacement


def test_an_error_shows_the_place() -> None:
    with pytest.raises(JavaRegexError) as caught:
        javaregex.compile("(?<name>a)").compile_replacement("<${naem}>")
    assert str(caught.value) == (
        "No group with name {naem}\n"
        "    <${naem}>\n"
        "       ^\n"
        "    hint: did you mean name?"
    )  # fmt: skip


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_values_with_lone_surrogates_are_refused(value: str) -> None:
    for call in (javaregex.compile("a").matches, javaregex.compile("a.").compile_replacement("b")):
        with pytest.raises(JavaRegexError, match="surrogate"):
            call(f"aa{value}")
