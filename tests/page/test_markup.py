"""The writer: no text becomes markup, whatever it holds."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.page.markup import make_node, mark_invisible, render_node


class Reader(HTMLParser):
    """Notes what a parser takes a text for."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


HOSTILE = [
    "<script>alert(1)</script>",
    "</p><img src=x onerror=alert(1)>",
    "a & b &amp; &#60;script&#62;",
    "\"' onmouseover='alert(1)' x=\"",
    "<!-- --><![CDATA[x]]><?php ?>",
    "</title></style></textarea></script>",
    "\u2028\u2029\u202eabc\u2066",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_a_text_and_an_attribute_an_attribute(text: str) -> None:
    written = render_node(make_node("span", text, title=text))
    found = read(written)
    [(name, attributes)] = found.tags
    unfit = {c for c in text if (ord(c) < 32 and c not in "\t\n\r") or 0xD800 <= ord(c) < 0xE000}
    plain = "".join("\ufffd" if c in unfit else c for c in text)
    assert (name, found.text) == ("span", plain)
    assert (attributes["title"] or "") == plain if text else "title" in attributes
    written.encode()


@given(st.text())
def test_any_text(text: str) -> None:
    test_a_text_is_a_text_and_an_attribute_an_attribute(text)


def test_attributes() -> None:
    node = make_node("input", for_="a", aria_label="b", hidden=True, checked=False, list=None, rows=3)
    assert render_node(node) == '<input for="a" aria-label="b" hidden rows="3">\n'


def test_shapes_end_themselves_and_scripts_are_left_alone() -> None:
    assert render_node(make_node("svg", make_node("rect", x=1))) == '<svg><rect x="1"/>\n</svg>\n'
    assert render_node(make_node("script", "a < b && c")) == "<script>a < b && c</script>\n"


def test_the_first_line_end_of_a_pre_is_kept() -> None:
    assert render_node(make_node("pre", "\na")) == "<pre>\n\na</pre>\n"


def test_what_turns_a_text_around_is_shown_by_its_number() -> None:
    parts = mark_invisible("rm \u202eabc\x1b[31m\u2028x")
    assert render_node(make_node("code", *parts)) == (
        '<code>rm <span class="odd">U+202E</span>abc<span class="odd">U+001B</span>[31m'
        '<span class="odd">U+2028</span>x</code>'
    )
    assert mark_invisible("plain \u05d0\u200d text\n\t") == ("plain \u05d0\u200d text\n\t",)
    assert mark_invisible("") == ()
