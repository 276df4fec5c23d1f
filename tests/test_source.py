"""Places: bytes in, `file:line:column` and a caret out."""

from __future__ import annotations

import pytest

from osprofile.source import Location, Source, SourceText

# bytes, offset, line, column, the line's text. Columns count characters, not bytes.
LOCATED = [
    (b"", 0, 1, 1, ""),
    (b"abc", 0, 1, 1, "abc"),
    (b"abc", 3, 1, 4, "abc"),
    (b"a\nb", 1, 1, 2, "a"),
    (b"a\nb", 2, 2, 1, "b"),
    (b"a\n", 2, 2, 1, ""),
    (b"\n\n\n", 2, 3, 1, ""),
    (b"a\r\nb", 3, 2, 1, "b"),
    (b"a\r\nb", 2, 1, 3, "a"),
    (b"a\rb", 2, 2, 1, "b"),
    (b"a\n\rb", 3, 3, 1, "b"),
    (b"a\r\r\nb", 4, 3, 1, "b"),
    ("ééx".encode(), 4, 1, 3, "ééx"),
    ("\U0001f40dx".encode(), 4, 1, 2, "\U0001f40dx"),
    # What ends a line for some programs ends none for XML (XML 1.0, 2.11).
    ("a\x85b\u2028c\x0bd\x0ce".encode(), 11, 1, 9, "a\x85b\u2028c\x0bd\x0ce"),
]


@pytest.mark.parametrize(("data", "offset", "line", "column", "text"), LOCATED)
def test_locate(data: bytes, offset: int, line: int, column: int, text: str) -> None:
    source = Source("f", data)
    assert source.get_line_and_column(offset) == (line, column)
    assert source.get_line_text(line) == text
    place = Location(source, offset)
    assert (place.file, place.line, place.column) == ("f", line, column)
    assert str(place) == f"f:{line}:{column}"


def test_every_offset_has_the_place_that_counting_gives() -> None:
    text = "a\r\nbé\n\r\U0001f40dc\n\nd\r"
    source = Source("f", text.encode())
    line, column, offset = 1, 1, 0
    for at, char in enumerate(text):
        assert source.get_line_and_column(offset) == (line, column)
        offset += len(char.encode())
        column += 1
        if char == "\n" or (char == "\r" and text[at + 1 : at + 2] != "\n"):
            line, column = line + 1, 1


EXCERPTS = {
    "begin": ("ab\ncd", 3, "    cd\n    ^"),
    "middle": ("ab\ncd", 4, "    cd\n     ^"),
    "end": ("ab", 2, "    ab\n      ^"),
    "empty line": ("\n\nx", 1, "    \n    ^"),
    "tab": ("\tx", 1, "            x\n            ^"),
    "tab inside": ("ab\tx", 3, "    ab      x\n            ^"),
    "multi-byte": ("éé<", 4, "    éé<\n      ^"),
    "carriage return": ("a\r\nb", 1, "    a\n     ^"),
}


@pytest.mark.parametrize(("text", "offset", "excerpt"), EXCERPTS.values(), ids=EXCERPTS)
def test_excerpt(text: str, offset: int, excerpt: str) -> None:
    assert Location(Source("f", text.encode()), offset).format_excerpt() == excerpt


@pytest.mark.parametrize("at", [0, 1, 5, 49, 50, 51, 100, 101, 500, 900, 949, 950, 998, 999])
@pytest.mark.parametrize("lead", ["", "\t", "é\t\té"])
def test_the_caret_of_a_long_line_is_under_its_character(at: int, lead: str) -> None:
    before = lead + "-" * at
    line = before + "X" + "-" * (999 - at)
    place = Location(Source("f", line.encode()), len(before.encode()))
    shown, caret = place.format_excerpt().split("\n")
    assert shown[caret.index("^")] == "X"
    assert len(shown) <= 4 + 3 + 100 + 3
    assert shown.endswith("...") == (at < 950)


@pytest.mark.parametrize("length", [99, 100, 101])
def test_a_line_is_cut_only_when_it_is_too_long(length: int) -> None:
    for at in (0, length // 2, length - 1):
        shown = Location(Source("f", b"-" * length), at).format_excerpt().split("\n")[0]
        assert ("..." in shown) is (length > 100)


def test_a_line_of_megabytes_costs_little() -> None:
    source = Source("f", b"x" * 4_000_000 + b"!" + b"y" * 4_000_000)
    for _ in range(20):
        shown, caret = Location(source, 4_000_000).format_excerpt().split("\n")
        assert shown[caret.index("^")] == "!"


def test_a_text_knows_the_place_of_each_character() -> None:
    # `é` has two bytes; `&lt;` has four and is one character; CDATA begins further on.
    source = Source("f", "<b>é&lt;x<![CDATA[<A>]]></b>".encode())
    text = SourceText("é<x<A>", source, ((0, 3), (1, 5), (2, 9), (3, 19)))
    assert [text.get_location(i).offset for i in range(7)] == [3, 5, 9, 19, 20, 21, 22]
    assert str(text) == "é<x<A>"


def test_a_text_without_anchors_stands_somewhere() -> None:
    assert SourceText("", Source("f", b"<b/>"), ((0, 4),)).get_location().offset == 4
    assert SourceText("", Source("f", b"<b/>"), ()).get_location().offset == 0


def test_a_source_tells_its_size_not_its_text() -> None:
    assert repr(Source("f", b"secret")) == "Source('f', 6 bytes)"
