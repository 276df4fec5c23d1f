"""Locations in a document: `Source`, `Location`, `SourceText`.

Each part of a profile keeps its byte offset in the document, or in the file with its text (`ext:src`).
Line, column and the text of the line are computed on demand: only messages need them.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, final

from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_TAB_STOP = 8


@final
class Source:
    """A document's bytes (UTF-8, without a byte order mark) and its name in messages.

    For a file with a text of a document, `included_at` is the location of its name in that document.
    """

    __slots__ = ("_is_ascii", "_line_starts", "data", "included_at", "name", "text_anchors")

    def __init__(self, name: str, data: bytes, included_at: Location | None = None) -> None:
        self.name = name
        self.data = data
        self.included_at = included_at
        self._line_starts: list[int] | None = None
        self._is_ascii = data.isascii()
        self.text_anchors: dict[int, OffsetAnchors] | None = None  # filled by `profile.tree`

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.data)} bytes)"

    def _get_line_starts(self) -> list[int]:
        if self._line_starts is None:
            # CR LF and a lone CR end a line for XML too (XML 1.0, 2.11).
            normalized = self.data.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
            starts, line_end = [0], normalized.find(b"\n")
            while line_end >= 0:
                starts.append(line_end + 1)
                line_end = normalized.find(b"\n", line_end + 1)
            self._line_starts = starts
        return self._line_starts

    def get_line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column (both from 1, the column in characters) of a byte offset."""
        starts = self._get_line_starts()
        line = bisect_right(starts, offset)
        start = starts[line - 1]
        if self._is_ascii:  # a line of megabytes with many locations is not decoded for each
            return line, min(offset, len(self.data)) - start + 1
        return line, len(self.data[start:offset].decode("utf-8", "replace")) + 1

    def get_line_offset(self, line: int) -> int:
        """Return the byte offset of a line's start; after the last line, the document's end."""
        starts = self._get_line_starts()
        return starts[line - 1] if 0 < line <= len(starts) else len(self.data)

    def get_line_text(self, line: int) -> str:
        """Return the text of a line (from 1) without its line end."""
        starts = self._get_line_starts()
        end = starts[line] if line < len(starts) else len(self.data)
        return self.data[starts[line - 1] : end].decode("utf-8", "replace").rstrip("\r\n")


@final
class Location(NamedTuple):
    """A point in a document: a source and a byte offset; `str()` is `file:line:column`."""

    source: Source
    offset: int

    @property
    def file(self) -> str:
        """The document's name, as it was passed to the reader."""
        return self.source.name

    @property
    def in_document(self) -> Location:
        """The location in the XML document: for one in a file of `ext:src`, that of the attribute's value."""
        return self.source.included_at or self

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.source.get_line_and_column(self.offset)[0]

    @property
    def column(self) -> int:
        """The column, from 1, in characters."""
        return self.source.get_line_and_column(self.offset)[1]

    def format_excerpt(self, width: int = 100) -> str:
        """Return two lines: the source line, and a caret under this location.

        A long line is reduced to about `width` characters around the location. Control characters
        stay: `errors.format_message` replaces them in the whole message.
        """
        line, column = self.source.get_line_and_column(self.offset)
        line_text = self.source.get_line_text(line)
        # A document may be one line of megabytes: process only the part that may be shown.
        window_start, window_end = max(0, column - 1 - width), column + width
        text = line_text[window_start:window_end]
        caret = len(text[: column - 1 - window_start].expandtabs(_TAB_STOP))
        text = text.expandtabs(_TAB_STOP)
        if len(text) > width:
            shown_start = max(0, min(caret - width // 2, len(text) - width))
            left_mark = "..." if window_start + shown_start else ""
            right_mark = "..." if shown_start + width < len(text) or window_end < len(line_text) else ""
            text = left_mark + text[shown_start : shown_start + width] + right_mark
            caret += len(left_mark) - shown_start
        return f"    {text}\n    {' ' * caret}^"

    def __str__(self) -> str:
        line, column = self.source.get_line_and_column(self.offset)
        return f"{self.source.name}:{line}:{column}"


OffsetAnchors = tuple[tuple[int, int], ...]


@final
class SourceText:
    """A text of a document with the location of each character.

    `anchors` has (offset in `text`, byte offset in the source) at the start of each run of
    characters that are contiguous in the source: after each line end, entity and CDATA marker. It may
    be a function, which is called when a location is first needed: that takes a second parse.
    """

    __slots__ = ("_anchors", "_parts", "source", "text")

    def __init__(
        self, text: str, source: Source, anchors: OffsetAnchors | Callable[[], OffsetAnchors]
    ) -> None:
        self.text = text
        self.source = source
        self._anchors = anchors
        self._parts: Sequence[tuple[int, SourceText, int]] = ()  # offset here, text, offset there

    def __repr__(self) -> str:
        return f"SourceText({self.text!r}, {self.source!r})"

    @property
    def anchors(self) -> OffsetAnchors:
        """Pairs of an offset in the text and the byte offset in the source."""
        if not isinstance(self._anchors, tuple):
            self._anchors = self._anchors()
        return self._anchors

    def get_location(self, offset: int = 0) -> Location:
        """Return the location of the character at `offset`; the text's length is allowed and means its end."""
        if self._parts:
            start, part, part_offset = self._parts[bisect_right(self._parts, offset, key=itemgetter(0)) - 1]
            return part.get_location(part_offset + offset - start)
        index = bisect_right(self.anchors, (offset, sys.maxsize)) - 1  # the last anchor at or before `offset`
        if index < 0:
            return Location(self.source, self.anchors[0][1] if self.anchors else 0)
        anchor, byte_offset = self.anchors[index]
        return Location(self.source, byte_offset + len(self.text[anchor:offset].encode("utf-8")))

    @staticmethod
    def join(texts: Sequence[SourceText]) -> SourceText:
        """Return the texts, at least one, behind each other; each character keeps its location."""
        if len(texts) == 1:
            return texts[0]
        starts = accumulate((len(text.text) for text in texts), initial=0)
        result = SourceText("".join(text.text for text in texts), texts[0].source, ())
        result._parts = [(start, text, 0) for start, text in zip(starts, texts, strict=False)]
        return result

    def remove(self, begin: int, end: int) -> SourceText:
        """Return the text without the characters from `begin` to `end`; each other character keeps its location."""
        result = SourceText(self.text[:begin] + self.text[end:], self.source, ())
        result._parts = [(0, self, 0), (begin, self, end)] if begin else [(0, self, end)]
        return result

    def insert_texts(self, offset: int, texts: Iterable[SourceText]) -> SourceText:
        """Return the text with other texts in it at `offset`; each character keeps its location."""
        parts, text = [(0, self, 0)], self.text[:offset]
        for inserted in texts:
            parts.append((len(text), inserted, 0))
            text += inserted.text
        parts.append((len(text), self, offset))
        result = SourceText(text + self.text[offset:], self.source, ())
        result._parts = parts
        return result

    def __str__(self) -> str:
        return self.text
