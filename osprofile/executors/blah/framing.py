r"""Bytes to lines and words, and words to bytes (seed 2.3; page "Framing and escaping").

CR, LF and NUL each end a line; empty lines are none. A blank ends a word. A backslash takes the
character behind it literally, whichever it is; a NUL ends the line all the same. Text is UTF-8;
bytes that are none come and go unchanged.
"""

from __future__ import annotations

import re
from typing import Final, final

MAX_LINE_LENGTH: Final = 16 * 1024 * 1024
"""Bytes of a request line. The protocol knows no limit; memory does."""

_LINE_END: Final = re.compile(rb"[\r\n\0]+")
_FIELD_ESCAPES: Final = str.maketrans(
    {" ": "\\ ", "\t": "\\ ", "\\": "\\\\", "\n": "-", "\r": "", "\0": ""}
)
_EMPTY_FIELD: Final = "N/A"


@final
class OversizedLine:
    """Stands for a line that was longer than the limit, and was thrown away."""


OVERSIZED_LINE: Final = OversizedLine()


@final
class LineSplitter:
    """Makes lines of data that comes in pieces."""

    def __init__(self, max_length: int = MAX_LINE_LENGTH) -> None:
        self._max_length = max_length
        self._partial_line = bytearray()
        self._too_long = self._open_escape = False

    def feed_data(self, data: bytes) -> list[bytes | OversizedLine]:
        """Take the next piece; give the lines that end in it, without their ends."""
        found: list[bytes | OversizedLine] = []
        start = after = 0
        for end in _LINE_END.finditer(data):
            at = end.start()
            if data[at] and self._ends_in_escape(data[after:at], continues_previous=after == 0):
                at += 1  # the first of them is literal
            after = end.end()
            if at < after:
                self._append_piece(data[start:at])
                found += self._finish_line()
                start = after
        if data:
            self._open_escape = self._ends_in_escape(data[after:], continues_previous=after == 0)
        self._append_piece(data[start:])
        return found

    def _ends_in_escape(self, piece: bytes, *, continues_previous: bool) -> bool:
        """Say whether an odd number of backslashes ends here; `continues_previous`: what came before counts."""
        count = len(piece) - len(piece.rstrip(b"\\"))
        return (count + (continues_previous and self._open_escape and count == len(piece))) % 2 == 1

    def _append_piece(self, piece: bytes) -> None:
        if len(self._partial_line) + len(piece) > self._max_length:
            self._too_long = True
            self._partial_line.clear()
        if not self._too_long:
            self._partial_line += piece

    def _finish_line(self) -> list[bytes | OversizedLine]:
        line, too_long = bytes(self._partial_line), self._too_long
        self._partial_line.clear()
        self._too_long = self._open_escape = False
        if too_long:
            return [OVERSIZED_LINE]
        return [line] if line else []


def split_line(line: bytes) -> list[str]:
    """Give the words of a line, with the escapes undone."""
    if b"\\" not in line:
        return [word.decode("utf-8", "surrogateescape") for word in line.split(b" ") if word]
    # A line holds no NUL, so NUL can stand for what is escaped: this runs at memory's speed.
    marked = line.replace(b"\\\\", b"\0b").replace(b"\\ ", b"\0s")
    return [_decode_word(word) for word in marked.split(b" ") if word]


def _decode_word(word: bytes) -> str:
    plain = word.replace(b"\\", b"").replace(b"\0s", b" ").replace(b"\0b", b"\\")
    return plain.decode("utf-8", "surrogateescape")


def encode_field(text: str) -> bytes:
    r"""Give a text as one word of a reply: it is one for every client, whatever the text is.

    Blank and tab become `\ `, a backslash two, a line feed `-`; CR and NUL go. An empty text, which
    would be no word, is `N/A`.
    """
    escaped = text.translate(_FIELD_ESCAPES) or _EMPTY_FIELD
    try:
        return escaped.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair
        return escaped.encode("utf-8", "replace")


def encode_line(*fields: str) -> bytes:
    """Give a line of a reply that has exactly these fields."""
    return b" ".join(map(encode_field, fields)) + b"\r\n"
