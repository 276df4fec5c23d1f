"""Arguments, environments, lists and remaps, character by character."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.executors.blah.attribute_syntax import (
    parse_output_remaps,
    parse_v1_environment,
    parse_v2_environment,
    split_file_list,
    split_v1_arguments,
    split_v2_arguments,
)
from tests.hunting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable

SPLIT: list[tuple[Callable[[str], Any], str, Any]] = [
    # docs/protocols/blah.md, 4.3: new style, blanks separate, single quotes group, '' is a quote
    (split_v2_arguments, "", []),
    (split_v2_arguments, "  \t\n ", []),
    (split_v2_arguments, "a b", ["a", "b"]),
    (split_v2_arguments, " a\t\nb\r ", ["a", "b"]),
    (split_v2_arguments, "''", [""]),
    (split_v2_arguments, "a '' b", ["a", "", "b"]),
    (split_v2_arguments, "'a b'", ["a b"]),
    (split_v2_arguments, "a' 'b", ["a b"]),
    (split_v2_arguments, "it''''s", ["it's"]),
    (split_v2_arguments, "''''", ["'"]),
    (split_v2_arguments, "'''a'", ["'a"]),
    (split_v2_arguments, "'a''b'", ["a'b"]),
    (split_v2_arguments, "'a'''", ["a'"]),
    (split_v2_arguments, "'a'b'c'", ["abc"]),
    (split_v2_arguments, '"a b"', ['"a', 'b"']),
    (split_v2_arguments, r"a\ b", ["a\\", "b"]),
    (split_v2_arguments, "$HOME * `id` $(id) ;&|", ["$HOME", "*", "`id`", "$(id)", ";&|"]),
    (split_v2_arguments, "a\u00a0b \u2003", ["a\u00a0b", "\u2003"]),
    (split_v2_arguments, "a\x0bb", ["a\x0bb"]),
    # docs/protocols/blah.md, 4.3: Args, old style
    (split_v1_arguments, "a b  c", ["a", "b", "c"]),
    (split_v1_arguments, "'X=3:Y=2'", ["X=3:Y=2"]),
    (split_v1_arguments, "'a b' c", ["a", "b", "c"]),
    (split_v1_arguments, '"a b" \\\\ "it\\"s"', ["a b", "\\", 'it"s']),
    (split_v1_arguments, r'C:\\a "\a\$" $HOME * ;', ["C:\\a", "\\a$", "$HOME", "*", ";"]),
    (split_v1_arguments, "it's a", ["it's", "a"]),
    (split_v1_arguments, "'a b' \"c", ["'a", "b'", '"c']),
    (split_v1_arguments, "a\\", ["a\\"]),
    (split_v1_arguments, " \t\n", []),
    # docs/protocols/blah.md, 4.3: Environment, new style
    (parse_v2_environment, "X=1", {"X": "1"}),
    (parse_v2_environment, "E1=sp' 'ace E2=q''''uote", {"E1": "sp ace", "E2": "q'uote"}),
    (parse_v2_environment, "A= B=a=b", {"A": "", "B": "a=b"}),
    (parse_v2_environment, "A=1 A=2", {"A": "2"}),
    (parse_v2_environment, "", {}),
    # docs/protocols/blah.md, 4.3: Env, of the form <parameter> = <value>
    (parse_v1_environment, "VAR1=56568", {"VAR1": "56568"}),
    (parse_v1_environment, "a=1;b=2", {"a": "1", "b": "2"}),
    (parse_v1_environment, " a = 1 ; b = 2 ;; ", {"a": "1", "b": "2"}),
    (parse_v1_environment, "a= 1;b=x y", {"a": " 1", "b": "x y"}),
    (parse_v1_environment, "a='1 2'", {"a": "'1 2'"}),
    (parse_v1_environment, "", {}),
    (split_file_list, "out1.txt,out2.txt", ["out1.txt", "out2.txt"]),
    (split_file_list, " a b , c,, a b", ["a b", "c"]),
    (split_file_list, "", []),
    (parse_output_remaps, "a=b", {"a": "b"}),
    (parse_output_remaps, " a = /x/y z ;b=c;", {"a": "/x/y z", "b": "c"}),
    (parse_output_remaps, r"a\=b=c\;d", {"a=b": "c;d"}),
    (parse_output_remaps, r"a=b=c", {"a": "b=c"}),
    (parse_output_remaps, r"a\\=b", {"a\\": "b"}),
    (parse_output_remaps, r" \ a\  = \ b\ ;c\\ = d", {" a ": " b ", "c\\": "d"}),
    (parse_output_remaps, "a\\\t = b\\\n\n", {"a\t": "b\n"}),
    (parse_output_remaps, "", {}),
]  # fmt: skip


@pytest.mark.parametrize(("split", "text", "expected"), SPLIT)
def test_split(split: Callable[[str], Any], text: str, expected: object) -> None:
    assert split(text) == expected


WRONG: list[tuple[Callable[[str], Any], str, str]] = [
    (split_v2_arguments, "a 'b", 'the quote at character 3 is not closed: "\'b"'),
    (split_v2_arguments, "'", 'the quote at character 1 is not closed: "\'"'),
    (split_v2_arguments, "'''", "the quote at character 1 is not closed: \"'''\""),
    (parse_v2_environment, "A", "'A' is not NAME=value"),
    (parse_v2_environment, "=1", "'=1' is not NAME=value"),
    (parse_v1_environment, "a=1;b", "'b' is not NAME=value"),
    (parse_v1_environment, " =1", "'=1' is not NAME=value"),
    (parse_output_remaps, "a", "'a' is not NAME = NEW NAME"),
    (parse_output_remaps, "a=", "'a=' is not NAME = NEW NAME"),
    (parse_output_remaps, r"a\=b", r"'a\\=b' is not NAME = NEW NAME"),
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
def test_quoted_words_are_read_back(words: list[str]) -> None:
    assert split_v2_arguments(" ".join(map(quoted, words))) == words
    everything = [f"'{w.replace(chr(39), chr(39) * 2)}'" for w in words]
    assert split_v2_arguments("\t".join(everything)) == words


@given(st.text(" '\"=;ab\\"))
def test_any_text_is_split_or_refused(text: str) -> None:
    for split in (
        split_v2_arguments,
        split_v1_arguments,
        parse_v2_environment,
        parse_v1_environment,
        parse_output_remaps,
        split_file_list,
    ):
        try:
            split(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017  # some are refused


def test_a_long_text_takes_its_time_only() -> None:
    assert split_v2_arguments("a " * 200_000) == ["a"] * 200_000
    assert split_v2_arguments("'" + "''" * 200_000 + "'") == ["'" * 200_000]


@settings(max_examples=rounds(300, 60), deadline=None)
@given(st.text("ab= '\"\\"))
def test_args_are_read_as_two_shells_read_them(text: str) -> None:
    """As blahpd has them: a word of its own command line, and of the job's. What no shell can read is literal."""
    script = """eval "set -- '$1'" && eval "set -- $*" && for word; do printf '%s\\n' "$word"; done"""
    done = subprocess.run(["sh", "-c", script, "sh", text], capture_output=True, text=True, check=False)
    known = done.returncode == 0
    expected = done.stdout.split("\n")[:-1] if known else None
    found = split_v1_arguments(text)
    assert found == (expected if known else found)
    assert known or all(found)
