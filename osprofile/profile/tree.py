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
from osprofile.source import Anchors, Place, Source, SourceText

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

_BOM = b"\xef\xbb\xbf"
_ATTRIBUTE: Final = rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')"""
_ENTITY: Final = rb"&(#x?[0-9A-Fa-f]+|\w+);|\r\n"


_REMEDIES: Final = {
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
        return f"<{self.name} at {self.place}>"

    @property
    def place(self) -> Place:
        """Where the start tag begins."""
        return Place(self.source, self.offset)

    @property
    def source_text(self) -> SourceText:
        """The element's text with the place of each character."""
        return SourceText(self.text, self.source, self._text_anchors)

    def _text_anchors(self) -> Anchors:
        return _text_places(self.source).get(self.offset) or ((0, self._content_offset()),)

    def child(self, name: str) -> Element | None:
        """Give the first child of that local name."""
        return next((c for c in self.children if c.name == name), None)

    def walk(self) -> Iterator[Element]:
        """Give this element and all below it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()

    def _attribute_matches(self) -> Iterator[re.Match[bytes]]:
        """Give the attributes of the start tag as they stand in the source: name and quoted value."""
        search, at = re.compile(_ATTRIBUTE).search, self.offset
        while match := search(self.source.data, at):
            if b">" in self.source.data[at : match.start()]:
                return
            yield match
            at = match.end()

    def _content_offset(self) -> int:
        """Give the byte offset just behind the start tag, or of the tag where it is empty."""
        at = max((match.end() for match in self._attribute_matches()), default=self.offset)
        return self.source.data.find(b">", at) + 1

    def attribute_text(self, key: str) -> SourceText:
        """Give an attribute's value with the place of each character.

        Of an attribute that the element lacks: the empty text at the element's place.
        """
        value = self.attributes.get(key)
        namespace, _, name = key.rpartition("}")
        found = []
        for match in self._attribute_matches() if value is not None else ():
            prefix, _, local = match[1].decode().rpartition(":")
            if local == name and bool(prefix) == bool(namespace) and prefix != "xmlns":
                found.append(match)
        if value is None or not found:
            return SourceText(value or "", self.source, ((0, self.offset),))
        # Two of one local name, as in xsi:type and ext:type, differ in what they say.
        raw = value.encode()
        match = next((m for m in found if m[2][1:-1] == raw), found[0])
        return SourceText(value, self.source, _anchors(match[2][1:-1], match.start(2) + 1))

    def attribute_place(self, key: str) -> Place:
        """Give the place where an attribute's value begins; without it, the element's place."""
        return self.attribute_text(key).place()


def _anchors(raw: bytes, offset: int) -> Anchors:
    """Map offsets in an attribute's value to offsets in the source: entities are one character."""
    anchors, characters, at = [(0, offset)], 0, 0
    for match in re.finditer(_ENTITY, raw):
        characters += len(raw[at : match.start()].decode())
        anchors += [(characters, offset + match.start()), (characters + 1, offset + match.end())]
        characters, at = characters + 1, match.end()
    return tuple(anchors)


def parse(source: Source) -> Element:
    """Parse a document; raise `InvalidProfileError` with one problem where it cannot be read."""
    return _Builder(source).build()


def refuse(source: Source, offset: int, code: str, message: str, hint: str = "") -> NoReturn:
    """Raise `InvalidProfileError` for one problem at a byte offset."""
    raise InvalidProfileError([Problem(code, message, Place(source, offset), hint)])


def source_of(name: str, data: bytes) -> Source:
    """Make a source of a document's bytes: bounded, without a byte order mark, UTF-8.

    Raises `InvalidProfileError`.
    """
    if len(data) > MAX_BYTES:
        message = (
            f"{name}: the document has more than {MAX_BYTES} bytes; a profile has some ten thousand"
        )
        raise InvalidProfileError([Problem("OSP101", message, hint="is this the right file?")])
    source = Source(name, data.removeprefix(_BOM))
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        refuse(source, error.start, "OSP101", "a profile is UTF-8, and this byte is not", hint)
    if (at := source.data.find(0)) >= 0:  # expat would take it for UTF-16
        hint = "is it UTF-16? save the file as UTF-8"
        refuse(source, at, "OSP101", "a profile is UTF-8 text, and this is a NUL byte", hint)
    return source


def _text_places(source: Source) -> dict[int, Anchors]:
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

    if source.text_places is None:
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = characters
        parser.Parse(source.data, True)
        source.text_places = {offset: tuple(anchors) for offset, anchors in found.items()}
    return source.text_places


class _Builder:
    """The handlers of one expat parser."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.elements = 0
        self.parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_size = max(len(source.data), 1)
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.XmlDeclHandler = self.declaration

    def build(self) -> Element:
        try:
            self.parser.Parse(self.source.data, True)
        except expat.ExpatError as error:
            offset = max(self.parser.ErrorByteIndex, 0)
            message = expat.ErrorString(error.code) or "not well-formed"
            refuse(
                self.source, offset, "OSP102", f"not well-formed XML: {message}", self.remedy(error)
            )
        if self.root is None:
            refuse(self.source, 0, "OSP102", "not well-formed XML: no element found")
        return self.root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(self.source, self.parser.CurrentByteIndex, tag, attributes)
        if len(attributes) > MAX_ATTRIBUTES:
            message = f"an element has more than {MAX_ATTRIBUTES} attributes"
            refuse(self.source, element.offset, "OSP101", message, "a profile needs four")
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            message = f"the document has more than {MAX_ELEMENTS} elements"
            refuse(self.source, element.offset, "OSP101", message, "a profile needs some hundred")
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        if len(self.stack) > MAX_DEPTH:
            message = f"elements nest more than {MAX_DEPTH} deep"
            refuse(self.source, element.offset, "OSP101", message, "a profile needs five levels")

    def end(self, _tag: str) -> None:
        self.stack.pop()

    def characters(self, data: str) -> None:
        self.stack[-1].text += data

    def doctype(self, *_: object) -> None:
        hint = "remove the <!DOCTYPE ...>: entities are not expanded, write the text itself"
        message = "a document type declaration is not allowed in a profile"
        start = self.source.data.rfind(b"<!DOCTYPE", 0, self.parser.CurrentByteIndex)
        refuse(self.source, max(start, 0), "OSP103", message, hint)

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in {"utf-8", "us-ascii"}:
            message = f"a profile is UTF-8, not {encoding!r}"
            refuse(
                self.source,
                0,
                "OSP101",
                message,
                "save the file as UTF-8 and say so in its first line",
            )

    def remedy(self, error: expat.ExpatError) -> str:
        """Say what usually lies behind an error of expat's."""
        text = expat.ErrorString(error.code) or ""
        if text == expat.errors.XML_ERROR_INVALID_TOKEN:
            return self.invalid_token(max(self.parser.ErrorByteIndex, 0))
        if text in _REMEDIES or not self.stack:
            return _REMEDIES.get(text, "")
        opened = self.stack[-1]
        return f"<{opened.name}> was opened at {opened.place}; is it closed, and is a '<' of a script inside CDATA?"

    def invalid_token(self, at: int) -> str:
        char = self.source.data[at : at + 4].decode("utf-8", "ignore")[:1]
        if char < " " or char in "\ufffe\uffff":
            return f"XML cannot hold the character U+{ord(char or chr(0)):04X}: remove it"
        if self.source.data[:at].endswith(b"--"):
            return "a comment cannot hold --"
        return "a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;"
