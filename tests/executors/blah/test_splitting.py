"""Arguments, environments, lists and remaps, character by character."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.splitting import (
    file_list,
    new_environment,
    new_words,
    old_environment,
    old_words,
    remaps,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SPLIT: list[tuple[Callable[[str], Any], str, Any]] = [
    # Page, "Submit attributes": new style, blanks separate, single quotes group, '' is a quote
    (new_words, "", []),
    (new_words, "  \t\n ", []),
    (new_words, "a b", ["a", "b"]),
    (new_words, " a\t\nb\r ", ["a", "b"]),
    (new_words, "''", [""]),
    (new_words, "a '' b", ["a", "", "b"]),
    (new_words, "'a b'", ["a b"]),
    (new_words, "a' 'b", ["a b"]),
    (new_words, "it''''s", ["it's"]),
    (new_words, "''''", ["'"]),
    (new_words, "'''a'", ["'a"]),
    (new_words, "'a''b'", ["a'b"]),
    (new_words, "'a'''", ["a'"]),
    (new_words, "'a'b'c'", ["abc"]),
    (new_words, '"a b"', ['"a', 'b"']),
    (new_words, r"a\ b", ["a\\", "b"]),
    (new_words, "$HOME * `id` $(id) ;&|", ["$HOME", "*", "`id`", "$(id)", ";&|"]),
    (new_words, "a\u00a0b \u2003", ["a\u00a0b", "\u2003"]),
    (new_words, "a\x0bb", ["a\x0bb"]),
    # Page: Args, old style
    (old_words, "a b  c", ["a", "b", "c"]),
    (old_words, "'X=3:Y=2'", ["'X=3:Y=2'"]),
    (old_words, "'a b' \"c", ["'a", "b'", '"c']),
    (old_words, " \t\n", []),
    # Page: Environment, new style
    (new_environment, "X=1", {"X": "1"}),
    (new_environment, "E1=sp' 'ace E2=q''''uote", {"E1": "sp ace", "E2": "q'uote"}),
    (new_environment, "A= B=a=b", {"A": "", "B": "a=b"}),
    (new_environment, "A=1 A=2", {"A": "2"}),
    (new_environment, "", {}),
    # Seed, BLAH_JOB_SUBMIT: Env, of the form <parameter> = <value>
    (old_environment, "VAR1=56568", {"VAR1": "56568"}),
    (old_environment, "a=1;b=2", {"a": "1", "b": "2"}),
    (old_environment, " a = 1 ; b = 2 ;; ", {"a": "1", "b": "2"}),
    (old_environment, "a= 1;b=x y", {"a": " 1", "b": "x y"}),
    (old_environment, "a='1 2'", {"a": "'1 2'"}),
    (old_environment, "", {}),
    (file_list, "out1.txt,out2.txt", ["out1.txt", "out2.txt"]),
    (file_list, " a b , c,, a b", ["a b", "c"]),
    (file_list, "", []),
    (remaps, "a=b", {"a": "b"}),
    (remaps, " a = /x/y z ;b=c;", {"a": "/x/y z", "b": "c"}),
    (remaps, r"a\=b=c\;d", {"a=b": "c;d"}),
    (remaps, r"a=b=c", {"a": "b=c"}),
    (remaps, r"a\\=b", {"a\\": "b"}),
    (remaps, "", {}),
]  # fmt: skip


@pytest.mark.parametrize(("split", "text", "expected"), SPLIT)
def test_split(split: Callable[[str], Any], text: str, expected: object) -> None:
    assert split(text) == expected


WRONG: list[tuple[Callable[[str], Any], str, str]] = [
    (new_words, "a 'b", 'the quote at character 3 has no end: "\'b"'),
    (new_words, "'", 'the quote at character 1 has no end: "\'"'),
    (new_words, "'''", "the quote at character 1 has no end: \"'''\""),
    (new_environment, "A", "'A' is no NAME=value"),
    (new_environment, "=1", "'=1' is no NAME=value"),
    (old_environment, "a=1;b", "'b' is no NAME=value"),
    (old_environment, " =1", "'=1' is no NAME=value"),
    (remaps, "a", "'a' is no NAME = NEW NAME"),
    (remaps, "a=", "'a=' is no NAME = NEW NAME"),
    (remaps, r"a\=b", r"'a\\=b' is no NAME = NEW NAME"),
]


@pytest.mark.parametrize(("split", "text", "said"), WRONG)
def test_wrong(split: Callable[[str], Any], text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        split(text)


def quoted(word: str) -> str:
    """Write a word as HTCondor does: it quotes what needs it only, in mid-word too."""
    runs = re.sub(r"[ \t\r\n']+", lambda run: "'" + run[0].replace("'", "''") + "'", word)
    return runs or "''"


WORDS = st.lists(st.text(" \t\n'\"\\$*`ab=;") | st.text())


@given(WORDS)
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    assert new_words(" ".join(map(quoted, words))) == words
    everything = [f"'{w.replace(chr(39), chr(39) * 2)}'" for w in words]
    assert new_words("\t".join(everything)) == words


@given(st.text(" '\"=;ab\\"))
def test_any_text_is_split_or_refused(text: str) -> None:
    for split in (new_words, old_words, new_environment, old_environment, remaps, file_list):
        try:
            split(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017  # some are refused


def test_a_long_text_takes_its_time_only() -> None:
    assert new_words("a " * 200_000) == ["a"] * 200_000
    assert new_words("'" + "''" * 200_000 + "'") == ["'" * 200_000]
