"""XML as a tree whose elements, attributes and characters know their places.

expat reads, because lxml knows lines but no columns. The reading is hardened: UTF-8 only, no
document type, so no entity but the five of XML, nothing from a network, bounded size, depth and
attributes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final
from xml.parsers import expat

from osprofile.errors import InvalidProfileError, Problem
from osprofile.source import Location, OffsetAnchors, Source, SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

MAX_BYTES = 8 * 1024 * 1024
"""A document larger than this is refused unread; the bundled profiles have about 30 KB."""

MAX_DEPTH = 32
"""Elements nest at most this deep; a profile needs five."""

MAX_ATTRIBUTES = 64
"""An element has at most so many; a profile needs four."""

MAX_ELEMENTS = 20_000
"""A document has at most so many; the bundled profiles have some hundred. libxml2 takes a time that
grows with the square of their number to tell where many errors stand."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ATTRIBUTE_PATTERN: Final = rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')"""
_ENTITY_PATTERN: Final = rb"&(#x?[0-9A-Fa-f]+|\w+);|\r\n"


_REMEDY_BY_ERROR: Final = {
    expat.errors.XML_ERROR_UNBOUND_PREFIX: 'declare the prefix in the root element, as in xmlns:idb="http://gpe.intel.com/idb"',
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "only &lt; &gt; &amp; &quot; &apos; and &#...; exist here",
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION: "close the section with ]]>",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "give it once",
    expat.errors.XML_ERROR_BAD_CHAR_REF: "XML has no such character: remove the reference",
}


@final
class Element:
    """An element: namespace, local name, attributes, children, text, and its place.

    Attributes of no namespace are keyed by their name, others by `namespace}name`.
    """

    __slots__ = ("attributes", "children", "name", "namespace", "offset", "source", "text")

    def __init__(self, source: Source, offset: int, tag: str, attributes: dict[str, str]) -> None:
        self.source = source
        self.offset = offset
        self.namespace, _, self.name = tag.rpartition("}")
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""  # all character data directly inside the element

    def __repr__(self) -> str:
        return f"<{self.name} at {self.location}>"

    @property
    def location(self) -> Location:
        """Where the start tag begins."""
        return Location(self.source, self.offset)

    @property
    def source_text(self) -> SourceText:
        """The element's text with the place of each character."""
        return SourceText(self.text, self.source, self._get_text_anchors)

    def _get_text_anchors(self) -> OffsetAnchors:
        return _locate_texts(self.source).get(self.offset) or ((0, self._find_content_offset()),)

    def find_child(self, name: str) -> Element | None:
        """Give the first child of that local name."""
        return next((c for c in self.children if c.name == name), None)

    def iter_elements(self) -> Iterator[Element]:
        """Give this element and all below it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.iter_elements()

    def _match_attributes(self) -> Iterator[re.Match[bytes]]:
        """Give the attributes of the start tag as they stand in the source: name and quoted value."""
        search, at = re.compile(_ATTRIBUTE_PATTERN).search, self.offset
        while match := search(self.source.data, at):
            if b">" in self.source.data[at : match.start()]:
                return
            yield match
            at = match.end()

    def _find_content_offset(self) -> int:
        """Give the byte offset just behind the start tag, or of the tag where it is empty."""
        at = max((match.end() for match in self._match_attributes()), default=self.offset)
        return self.source.data.find(b">", at) + 1

    def get_attribute_text(self, key: str) -> SourceText:
        """Give an attribute's value with the place of each character.

        Of an attribute that the element lacks: the empty text at the element's place.
        """
        value = self.attributes.get(key)
        namespace, _, name = key.rpartition("}")
        found = []
        for match in self._match_attributes() if value is not None else ():
            prefix, _, local = match[1].decode().rpartition(":")
            if local == name and bool(prefix) == bool(namespace) and prefix != "xmlns":
                found.append(match)
        if value is None or not found:
            return SourceText(value or "", self.source, ((0, self.offset),))
        # Two of one local name, as in xsi:type and ext:type, differ in what they say.
        raw = value.encode()
        match = next((m for m in found if m[2][1:-1] == raw), found[0])
        return SourceText(value, self.source, _compute_anchors(match[2][1:-1], match.start(2) + 1))

    def locate_attribute(self, key: str) -> Location:
        """Give the place where an attribute's value begins; without it, the element's place."""
        return self.get_attribute_text(key).get_location()


def _compute_anchors(raw: bytes, offset: int) -> OffsetAnchors:
    """Map offsets in an attribute's value to offsets in the source: entities are one character."""
    anchors, characters, at = [(0, offset)], 0, 0
    for match in re.finditer(_ENTITY_PATTERN, raw):
        characters += len(raw[at : match.start()].decode())
        anchors += [(characters, offset + match.start()), (characters + 1, offset + match.end())]
        characters, at = characters + 1, match.end()
    return tuple(anchors)


def parse_xml(source: Source) -> Element:
    """Parse a document; raise `InvalidProfileError` with one problem where it cannot be read."""
    return _TreeBuilder(source).build_tree()


def raise_problem(source: Source, offset: int, code: str, message: str, hint: str = "") -> NoReturn:
    """Raise `InvalidProfileError` for one problem at a byte offset."""
    raise InvalidProfileError([Problem(code, message, Location(source, offset), hint)])


def decode_source(name: str, data: bytes) -> Source:
    """Make a source of a document's bytes: bounded, without a byte order mark, UTF-8.

    Raises `InvalidProfileError`.
    """
    if len(data) > MAX_BYTES:
        message = (
            f"{name}: the document has more than {MAX_BYTES} bytes; a profile has some ten thousand"
        )
        raise InvalidProfileError([Problem("OSP101", message, hint="is this the right file?")])
    source = Source(name, data.removeprefix(_BYTE_ORDER_MARK))
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise_problem(
            source, error.start, "OSP101", "a profile is UTF-8, and this byte is not", hint
        )
    if (at := source.data.find(0)) >= 0:  # expat would take it for UTF-16
        hint = "is it UTF-16? save the file as UTF-8"
        raise_problem(source, at, "OSP101", "a profile is UTF-8 text, and this is a NUL byte", hint)
    return source


def _locate_texts(source: Source) -> dict[int, OffsetAnchors]:
    """Give, by the offset of each element, where the pieces of its text stand.

    The document is read once more for it, and only where a place is asked for: to be told of each
    line and entity takes expat several times as long as to read.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    stack: list[tuple[list[tuple[int, int]], list[int]]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = False  # each piece has one place

    def start(_tag: str, _attributes: object) -> None:
        anchors = found[parser.CurrentByteIndex] = []
        stack.append((anchors, [0]))

    def end(_tag: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        anchors, length = stack[-1]
        anchors.append((length[0], parser.CurrentByteIndex))
        length[0] += len(data)

    if source.text_anchors is None:
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = characters
        parser.Parse(source.data, True)
        source.text_anchors = {offset: tuple(anchors) for offset, anchors in found.items()}
    return source.text_anchors


class _TreeBuilder:
    """The handlers of one expat parser."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.element_count = 0
        self.parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_size = max(len(source.data), 1)
        parser.buffer_text = True
        parser.StartElementHandler = self.handle_start
        parser.EndElementHandler = self.handle_end
        parser.CharacterDataHandler = self.handle_characters
        parser.StartDoctypeDeclHandler = self.handle_doctype
        parser.XmlDeclHandler = self.handle_declaration

    def build_tree(self) -> Element:
        try:
            self.parser.Parse(self.source.data, True)
        except expat.ExpatError as error:
            offset = max(self.parser.ErrorByteIndex, 0)
            message = expat.ErrorString(error.code) or "not well-formed"
            raise_problem(
                self.source,
                offset,
                "OSP102",
                f"not well-formed XML: {message}",
                self.suggest_remedy(error),
            )
        if self.root is None:
            raise_problem(self.source, 0, "OSP102", "not well-formed XML: no element found")
        return self.root

    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(self.source, self.parser.CurrentByteIndex, tag, attributes)
        if len(attributes) > MAX_ATTRIBUTES:
            message = f"an element has more than {MAX_ATTRIBUTES} attributes"
            raise_problem(self.source, element.offset, "OSP101", message, "a profile needs four")
        self.element_count += 1
        if self.element_count > MAX_ELEMENTS:
            message = f"the document has more than {MAX_ELEMENTS} elements"
            raise_problem(
                self.source, element.offset, "OSP101", message, "a profile needs some hundred"
            )
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        if len(self.stack) > MAX_DEPTH:
            message = f"elements nest more than {MAX_DEPTH} deep"
            raise_problem(
                self.source, element.offset, "OSP101", message, "a profile needs five levels"
            )

    def handle_end(self, _tag: str) -> None:
        self.stack.pop()

    def handle_characters(self, data: str) -> None:
        self.stack[-1].text += data

    def handle_doctype(self, *_: object) -> None:
        hint = "remove the <!DOCTYPE ...>: entities are not expanded, write the text itself"
        message = "a document type declaration is not allowed in a profile"
        start = self.source.data.rfind(b"<!DOCTYPE", 0, self.parser.CurrentByteIndex)
        raise_problem(self.source, max(start, 0), "OSP103", message, hint)

    def handle_declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in {"utf-8", "us-ascii"}:
            message = f"a profile is UTF-8, not {encoding!r}"
            raise_problem(
                self.source,
                0,
                "OSP101",
                message,
                "save the file as UTF-8 and say so in its first line",
            )

    def suggest_remedy(self, error: expat.ExpatError) -> str:
        """Say what usually lies behind an error of expat's."""
        text = expat.ErrorString(error.code) or ""
        if text == expat.errors.XML_ERROR_INVALID_TOKEN:
            return self.explain_invalid_token(max(self.parser.ErrorByteIndex, 0))
        if text in _REMEDY_BY_ERROR or not self.stack:
            return _REMEDY_BY_ERROR.get(text, "")
        opened = self.stack[-1]
        return f"<{opened.name}> was opened at {opened.location}; is it closed, and is a '<' of a script inside CDATA?"

    def explain_invalid_token(self, at: int) -> str:
        char = self.source.data[at : at + 4].decode("utf-8", "ignore")[:1]
        if char < " " or char in "\ufffe\uffff":
            return f"XML cannot hold the character U+{ord(char or chr(0)):04X}: remove it"
        if self.source.data[:at].endswith(b"--"):
            return "a comment cannot hold --"
        return "a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;"
