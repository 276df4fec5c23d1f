"""Parse XML to a tree with the location of each element, attribute and character.

expat parses it, because lxml reports lines but not columns. The parser is hardened: a document type is not
read, and so only the five entities of XML exist, no network access, and limits on size, depth,
attributes and elements. It reads UTF-8; a document in another encoding is one in UTF-8 from the beginning.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, final
from xml.parsers import expat

from osprofile.errors import InvalidProfileError, Problem
from osprofile.late import compile_late
from osprofile.source import Location, OffsetAnchors, Source, SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

MAX_BYTES = 8 * 1024 * 1024
"""The largest document; the bundled profiles have about 30 KB."""

MAX_DEPTH = 32
"""The deepest nesting of elements; a profile needs five levels."""

MAX_ATTRIBUTES = 64
"""The most attributes of an element; a profile needs four."""

MAX_ELEMENTS = 20_000
"""The most elements of a document; the bundled profiles have some hundred. The time that libxml2
takes to locate many errors grows with the square of their number."""

_DECLARED_ENCODING: Final = compile_late(r"""(<\?xml[^>]*?\bencoding\s*=\s*)(["'])([A-Za-z0-9._-]+)\2""")
_PROLOG_PART: Final = compile_late(rb"\s+|<\?.*?\?>|<!--.*?-->", re.DOTALL)
_DOCTYPE: Final = compile_late(rb"""<!DOCTYPE\s(?:[^\[\]<>"']|"[^"]*"|'[^']*')*>""")
"""A document type without declarations in the document itself."""
_OTHER_ENCODINGS: Final = compile_late(r"(?i)utf-16|iso-8859-[0-9]+|windows-125[0-9]")
"""The encodings that are read beside UTF-8: XML requires UTF-16, with its mark; the others were usual in 2007."""
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""It is no part of a text."""
_ATTRIBUTE_PATTERN: Final = rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')"""
_ENTITY_PATTERN: Final = rb"&(#x?[0-9A-Fa-f]+|\w+);|\r\n"
_LINE_END_PATTERN: Final = rb"\r\n?|\n"

_REMEDY_BY_ERROR: Final = {
    expat.errors.XML_ERROR_UNBOUND_PREFIX: 'declare the prefix in the root element, as in xmlns:idb="http://gpe.intel.com/idb"',
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "only &lt; &gt; &amp; &quot; &apos; and &#...; exist here",
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION: "close the section with ]]>",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "give it once",
    expat.errors.XML_ERROR_BAD_CHAR_REF: "XML has no such character: remove the reference",
}


@final
class Element:
    """An element: namespace, local name, attributes, children, text, and its location.

    Attributes of no namespace are keyed by their name, others by `namespace}name`. `text_files` are the
    files that `text` is from, if the reader has read them (`ext:src`), each with its offset in `text`.
    """

    __slots__ = ("attributes", "children", "name", "namespace", "offset", "source", "text", "text_files")

    def __init__(self, source: Source, offset: int, tag: str, attributes: dict[str, str]) -> None:
        self.source = source
        self.offset = offset
        self.namespace, _, self.name = tag.rpartition("}")
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""  # all character data directly inside the element
        self.text_files: list[tuple[int, Source]] = []

    def __repr__(self) -> str:
        return f"<{self.name} at {self.location}>"

    @property
    def location(self) -> Location:
        """The location of the start tag."""
        return Location(self.source, self.offset)

    @property
    def source_text(self) -> SourceText:
        """The element's text with the location of each character."""
        if self.text_files:
            ends = [*(offset for offset, _ in self.text_files[1:]), len(self.text)]
            return SourceText.join(
                [
                    SourceText(
                        self.text[begin:end],
                        source,
                        partial(_compute_anchors, source.data, 0, _LINE_END_PATTERN),
                    )
                    for (begin, source), end in zip(self.text_files, ends, strict=True)
                ]
            )
        return SourceText(self.text, self.source, self._get_text_anchors)

    def _get_text_anchors(self) -> OffsetAnchors:
        return _locate_texts(self.source).get(self.offset) or ((0, self._find_content_offset()),)

    def find_child(self, name: str) -> Element | None:
        """Return the first child with that local name, or None."""
        return next((c for c in self.children if c.name == name), None)

    def iter_elements(self) -> Iterator[Element]:
        """Yield this element and all elements in it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.iter_elements()

    def _match_attributes(self) -> Iterator[re.Match[bytes]]:
        """Yield the attributes in the source of the start tag: name and quoted value."""
        search, offset = re.compile(_ATTRIBUTE_PATTERN).search, self.offset
        while match := search(self.source.data, offset):
            if b">" in self.source.data[offset : match.start()]:
                return
            yield match
            offset = match.end()

    def _find_content_offset(self) -> int:
        """Return the byte offset just after the start tag."""
        attributes_end = max((match.end() for match in self._match_attributes()), default=self.offset)
        return self.source.data.find(b">", attributes_end) + 1

    def get_attribute_text(self, key: str) -> SourceText:
        """Return an attribute's value with the location of each character.

        For a missing attribute: the empty text at the element's location.
        """
        value = self.attributes.get(key)
        namespace, _, name = key.rpartition("}")
        candidates = []
        for match in self._match_attributes() if value is not None else ():
            prefix, _, local = match[1].decode().rpartition(":")
            if local == name and bool(prefix) == bool(namespace) and prefix != "xmlns":
                candidates.append(match)
        if value is None or not candidates:
            return SourceText(value or "", self.source, ((0, self.offset),))
        # Two attributes may have one local name (xsi:type and ext:type): compare the values.
        raw = value.encode()
        match = next((m for m in candidates if m[2][1:-1] == raw), candidates[0])
        return SourceText(value, self.source, _compute_anchors(match[2][1:-1], match.start(2) + 1))

    def locate_attribute(self, key: str) -> Location:
        """Return the location of an attribute's value; without it, the element's location."""
        return self.get_attribute_text(key).get_location()


def _compute_anchors(raw: bytes, offset: int, pattern: bytes = _ENTITY_PATTERN) -> OffsetAnchors:
    """Return the anchors of a text in which each match of the pattern is one character."""
    anchors, characters, entity_end = [(0, offset)], 0, 0
    for match in re.finditer(pattern, raw):
        characters += len(raw[entity_end : match.start()].decode())
        anchors += [(characters, offset + match.start()), (characters + 1, offset + match.end())]
        characters, entity_end = characters + 1, match.end()
    return tuple(anchors)


def parse_xml(source: Source) -> Element:
    """Return the root of a document. Raises `InvalidProfileError` if it is not well-formed."""
    return _TreeBuilder(source).build_tree()


def raise_problem(source: Source, offset: int, code: str, message: str, hint: str = "") -> NoReturn:
    """Raise `InvalidProfileError` for one problem at a byte offset."""
    raise InvalidProfileError([Problem(code, message, Location(source, offset), hint)])


def decode_source(name: str, data: bytes) -> Source:
    """Return the source of a document's bytes, as UTF-8 without a byte order mark.

    Raises `InvalidProfileError` if they are too many, or in an encoding that is not read.
    """
    if len(data) > MAX_BYTES:
        message = f"{name}: the document has more than {MAX_BYTES} bytes; a profile has some ten thousand"
        raise InvalidProfileError([Problem("OSP101", message, hint="is this the right file?")])
    source = Source(name, _blank_doctype(_convert_to_utf8(data).removeprefix(BYTE_ORDER_MARK)))
    decode_text(source, "OSP101")  # expat would read a NUL byte as UTF-16
    return source


def _convert_to_utf8(data: bytes) -> bytes:
    """Return a document of another encoding as UTF-8, and say so in its first line; any other one as it is."""
    encoding = "utf-16"
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        declared = _DECLARED_ENCODING.match(data[:200].decode("latin-1"))
        encoding = declared[3] if declared is not None else "utf-8"
        if encoding.lower() == "utf-16":
            return data
    if not _OTHER_ENCODINGS.fullmatch(encoding):
        return data
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        return data  # which is refused for what it is not
    # blanks keep the columns
    return _DECLARED_ENCODING.sub(
        lambda found: f"{found[1]}{found[2]}UTF-8{found[2]}".ljust(len(found[0])), text, count=1
    ).encode()


def _blank_doctype(data: bytes) -> bytes:
    """Return a document with blanks in the place of its `<!DOCTYPE ...>`: no parser then looks for its file."""
    offset = 0
    while found := _PROLOG_PART.match(data, offset):
        offset = found.end()
    found = _DOCTYPE.match(data, offset)
    if found is None:
        return data
    return data[:offset] + re.sub(rb"[^\r\n]", b" ", found[0]) + data[found.end() :]


def decode_text(source: Source, code: str) -> str:
    """Return the text of a source. Raises `InvalidProfileError` if it is not UTF-8, or has a NUL byte."""
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise_problem(source, error.start, code, "a profile is UTF-8, and this byte is not", hint)
    if (nul_offset := source.data.find(0)) >= 0:
        hint = "is it UTF-16? save the file as UTF-8"
        raise_problem(source, nul_offset, code, "a profile is UTF-8 text, and this is a NUL byte", hint)
    return text


def _locate_texts(source: Source) -> dict[int, OffsetAnchors]:
    """Return the anchors of each element's text by the element's offset.

    The document is parsed a second time for this, and only when a location is needed: reporting
    each line and entity takes expat several times as long as parsing.
    """
    anchors_by_element: dict[int, list[tuple[int, int]]] = {}
    stack: list[tuple[list[tuple[int, int]], list[int]]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = False  # each piece has its own location

    def start(_tag: str, _attributes: object) -> None:
        anchors = anchors_by_element[parser.CurrentByteIndex] = []
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
        source.text_anchors = {offset: tuple(anchors) for offset, anchors in anchors_by_element.items()}
    return source.text_anchors


class _TreeBuilder:
    """The handlers of one expat parser."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.element_count = 0
        self.parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_size = max(len(source.data), 1)  # one call of the handler for each text
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
                self.source, offset, "OSP102", f"not well-formed XML: {message}", self.suggest_remedy(error)
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
            raise_problem(self.source, element.offset, "OSP101", message, "a profile needs some hundred")
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        if len(self.stack) > MAX_DEPTH:
            message = f"elements nest more than {MAX_DEPTH} deep"
            raise_problem(self.source, element.offset, "OSP101", message, "a profile needs five levels")

    def handle_end(self, _tag: str) -> None:
        self.stack.pop()

    def handle_characters(self, data: str) -> None:
        self.stack[-1].text += data

    def handle_doctype(self, *_: object) -> None:
        """Refuse what `_blank_doctype` has left: one with declarations in the document itself."""
        hint = "remove the part in [ ]: entities are not expanded, write the text itself"
        message = "declarations in <!DOCTYPE ... [ ]> are not allowed in a profile"
        start = self.source.data.rfind(b"<!DOCTYPE", 0, self.parser.CurrentByteIndex)
        raise_problem(self.source, max(start, 0), "OSP103", message, hint)

    def handle_declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in {"utf-8", "us-ascii"}:
            message = f"a profile is UTF-8, not {encoding!r}"
            raise_problem(
                self.source, 0, "OSP101", message, "save the file as UTF-8 and say so in its first line"
            )

    def suggest_remedy(self, error: expat.ExpatError) -> str:
        """Return a hint with the usual cause of an error of expat."""
        reason = expat.ErrorString(error.code) or ""
        if reason == expat.errors.XML_ERROR_INVALID_TOKEN:
            return self.explain_invalid_token(max(self.parser.ErrorByteIndex, 0))
        if reason in _REMEDY_BY_ERROR or not self.stack:
            return _REMEDY_BY_ERROR.get(reason, "")
        unclosed = self.stack[-1]
        return f"<{unclosed.name}> was opened at {unclosed.location}; is it closed, and is a '<' of a script inside CDATA?"

    def explain_invalid_token(self, offset: int) -> str:
        character = self.source.data[offset : offset + 4].decode("utf-8", "ignore")[:1]
        if character < " " or character in "\ufffe\uffff":
            return f"XML cannot contain the character U+{ord(character or chr(0)):04X}: remove it"
        if self.source.data[:offset].endswith(b"--"):
            return "a comment cannot contain --"
        return "a bare '<' or '&' in text? put script text into <![CDATA[ ... ]]>, or write &lt; and &amp;"
