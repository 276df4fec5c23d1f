"""Lines and words: every way to cut them, and what arrives at the other end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.messages import LineSplitter, encode_field, encode_line, split_line
from tests.executors.blah.client import command, escaped, fields

# docs/protocols/blah.md, 1.1 and 1.2: CR, LF and NUL each end a line; any `\c` is c.
LINES: dict[str, tuple[bytes, list[bytes]]] = {
    "CR LF": (b"a b\r\nc\r\n", [b"a b", b"c"]),
    "LF": (b"a\nb\n", [b"a", b"b"]),
    "CR": (b"a\rb\r", [b"a", b"b"]),
    "NUL": (b"a\0b\0", [b"a", b"b"]),
    "empty lines are none": (b"\r\n\n\0\ra\n\r\n", [b"a"]),
    "a line of blanks is one": (b"   \r\n", [b"   "]),
    "no end yet": (b"a\nb", [b"a"]),
    "an escaped LF": (b"a\\\nb\n", [b"a\\\nb"]),
    "an escaped CR": (b"a\\\r\nb\n", [b"a\\\r", b"b"]),
    "escaped CR and LF": (b"a\\\r\\\nb\n", [b"a\\\r\\\nb"]),
    "an escaped backslash at the end": (b"a\\\\\nb\n", [b"a\\\\", b"b"]),
    "three": (b"a\\\\\\\nb\n", [b"a\\\\\\\nb"]),
    "an escaped LF in a row": (b"\\\n\n\\\n\\\n\n", [b"\\\n", b"\\\n\\\n"]),
    "NUL ends all the same": (b"a\\\0b\n", [b"a\\", b"b"]),
    "an escaped CR before NUL": (b"a\\\r\0b\n", [b"a\\\r", b"b"]),
    "bytes that are no text": (b"\xff\xfe\n", [b"\xff\xfe"]),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_cut_at_every_byte(name: str) -> None:
    data, expected = LINES[name]
    assert LineSplitter().feed_data(data) == expected
    one_by_one = LineSplitter()
    assert [found for at in range(len(data)) for found in one_by_one.feed_data(data[at : at + 1])] == expected
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            lines = LineSplitter()
            pieces = (data[:first], data[first:second], data[second:])
            assert [found for piece in pieces for found in lines.feed_data(piece)] == expected


def reference(data: bytes) -> list[bytes]:
    """Say it again, byte by byte."""
    found, line, at = list[bytes](), b"", 0
    while at < len(data):
        if data[at : at + 1] == b"\\" and at + 1 < len(data) and data[at + 1]:
            line += data[at : at + 2]
            at += 2
            continue
        if data[at] in b"\r\n\0":
            found += [line] if line else []
            line = b""
        else:
            line += data[at : at + 1]
        at += 1
    return found


@given(
    st.lists(st.sampled_from([b"a", b" ", b"\\", b"\r", b"\n", b"\0", b"\\\\", b"\\\n"])),
    st.lists(st.integers(0, 40)),
)
def test_any_data_in_any_pieces(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    lines = LineSplitter()
    edges = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    found: list[bytes | None] = []
    for start, end in pairwise(edges):
        found += lines.feed_data(data[start:end])
    expected = reference(data)
    # a backslash that is last may yet escape what comes
    assert found == expected


LONG: dict[str, tuple[bytes, list[bytes | None]]] = {
    "just not": (b"12345678\n", [b"12345678"]),
    "one too many": (b"123456789\nab\n", [None, b"ab"]),
    "much too many": (b"1234567890" * 9 + b"\r\nab\n", [None, b"ab"]),
    "with an escaped end in it": (b"123456\\\n89\nab\n", [None, b"ab"]),
    "that ends in a backslash": (b"123456789\\\n1\nab\n", [None, b"ab"]),
    "two": (b"123456789\n123456789\n", [None, None]),
}


@pytest.mark.parametrize("name", LONG)
def test_a_line_that_is_too_long_is_thrown_away(name: str) -> None:
    data, expected = LONG[name]
    for size in range(1, len(data) + 1):
        lines = LineSplitter(8)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert [found for piece in pieces for found in lines.feed_data(piece)] == expected


# docs/protocols/blah.md, 1.2: the client escapes blank, backslash, CR and LF; a tab it leaves.
WORDS = {
    "blanks separate": (b"a  b ", ["a", "b"]),
    "an escaped blank does not": (b"a\\ b c", ["a b", "c"]),
    "a tab is text": (b"a\tb", ["a\tb"]),
    "any escape": (b"\\a\\\\b\\\\\\ c\\\\ d\\\r\\\n", ["a\\b\\ c\\", "d\r\n"]),
    "an escaped blank alone": (b"a \\  b", ["a", " ", "b"]),
    "only blanks": (b"   ", []),
    "a last backslash": (b"a\\", ["a"]),
    "bytes that are no text": (b"\xff", ["\udcff"]),
    "text": ("é".encode(), ["é"]),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name: str) -> None:
    data, expected = WORDS[name]
    assert split_line(data) == expected


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
HARD = st.text(" \\\t\r\nab'\"$*", min_size=1)


@given(st.lists(HARD | TEXT, min_size=1))
def test_what_the_client_writes_is_read(arguments: list[str]) -> None:
    (found,) = LineSplitter().feed_data(command(*arguments))
    assert isinstance(found, bytes)
    assert split_line(found) == arguments


@given(st.lists(HARD | TEXT | st.text(), min_size=1))
def test_what_is_written_arrives_with_as_many_fields(arguments: list[str]) -> None:
    """A backslash arrives as one: it is doubled, because clients undo any escape."""
    data = encode_line(*arguments)
    assert data.endswith(b"\r\n")
    assert not set(b"\r\n\0") & set(data[:-2])
    found = fields(data[:-2])
    assert len(found) == len(arguments)
    table = str.maketrans({"\t": " ", "\n": "-", "\r": "", "\0": ""})
    for text, arrived in zip(arguments, found, strict=True):
        clean = text.translate(table) or "N/A"
        if clean.isprintable() or max(clean) < "\udc80":
            assert arrived == clean


FIELDS = [
    ("a b", b"a\\ b"),
    ("a\tb", b"a\\ b"),
    ("a\nb\r\n", b"a-b-"),
    ("a\\b", b"a\\\\b"),
    ("a\0b", b"ab"),
    ("", b"N/A"),
    ("\r\0", b"N/A"),
    ("\ud800", b"?"),
    ("\udcff", b"\xff"),
]


@pytest.mark.parametrize(("text", "expected"), FIELDS)
def test_fields_to_the_byte(text: str, expected: bytes) -> None:
    # docs/protocols/blah.md, 1.2: the server escapes blank and tab as `\ `, turns LF into `-`, drops CR.
    assert encode_field(text) == expected


def test_the_clients_own_escaping_is_what_the_page_shows() -> None:
    assert escaped('[ Cmd = "a\\nb" ]') == b'[\\ Cmd\\ =\\ "a\\\\nb"\\ ]'
