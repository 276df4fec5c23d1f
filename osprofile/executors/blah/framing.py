r"""The lines and words of the protocol, and their escapes (docs/protocols/blah.md, 1.1 and 1.2).

CR, LF and NUL each end a line. Empty lines are ignored. Blanks separate words. A backslash takes
the next character literally, except for a NUL, which always ends the line. Text is UTF-8; bytes
that are not valid UTF-8 are kept unchanged.
"""

from __future__ import annotations

import re
from typing import Final, final

MAX_LINE_LENGTH: Final = 16 * 1024 * 1024
"""In bytes, of a request line. The protocol has no limit; this one bounds the memory."""

_LINE_END: Final = re.compile(rb"[\r\n\0]+")
_FIELD_ESCAPES: Final = str.maketrans({" ": "\\ ", "\t": "\\ ", "\\": "\\\\", "\n": "-", "\r": "", "\0": ""})
_EMPTY_FIELD: Final = "N/A"


@final
class LineSplitter:
    """Splits data that arrives in pieces into lines; an escape may be cut between two pieces."""

    def __init__(self, max_length: int = MAX_LINE_LENGTH) -> None:
        self._max_length = max_length
        self._partial_line = bytearray()
        self._too_long = self._open_escape = False

    def feed_data(self, data: bytes) -> list[bytes | None]:
        """Return the lines that end in this piece of data; None stands for a line that is too long."""
        lines: list[bytes | None] = []
        line_start = run_start = 0
        for line_end in _LINE_END.finditer(data):
            line_stop = line_end.start()
            if data[line_stop] and self._ends_in_escape(
                data[run_start:line_stop], continues_previous=run_start == 0
            ):
                line_stop += 1  # the first CR or LF is escaped: it belongs to the line
            run_start = line_end.end()
            if line_stop < run_start:
                self._append_piece(data[line_start:line_stop])
                lines += self._finish_line()
                line_start = run_start
        if data:
            self._open_escape = self._ends_in_escape(data[run_start:], continues_previous=run_start == 0)
        self._append_piece(data[line_start:])
        return lines

    def _ends_in_escape(self, piece: bytes, *, continues_previous: bool) -> bool:
        """Return whether a piece ends in an odd number of backslashes, the last of which escapes.

        `continues_previous`: nothing separates it from the previous piece, whose last escape counts.
        """
        count = len(piece) - len(piece.rstrip(b"\\"))
        return (count + (continues_previous and self._open_escape and count == len(piece))) % 2 == 1

    def _append_piece(self, piece: bytes) -> None:
        if len(self._partial_line) + len(piece) > self._max_length:
            self._too_long = True
            self._partial_line.clear()
        if not self._too_long:
            self._partial_line += piece

    def _finish_line(self) -> list[bytes | None]:
        line, too_long = bytes(self._partial_line), self._too_long
        self._partial_line.clear()
        self._too_long = self._open_escape = False
        if too_long:
            return [None]
        return [line] if line else []


def split_line(line: bytes) -> list[str]:
    """Return the words of a line, unescaped."""
    if b"\\" not in line:
        return [word.decode("utf-8", "surrogateescape") for word in line.split(b" ") if word]
    # A line has no NUL, so NUL can mark escapes; `replace` and `split` are much faster than a loop.
    marked = line.replace(b"\\\\", b"\0b").replace(b"\\ ", b"\0s")
    return [_decode_word(word) for word in marked.split(b" ") if word]


def _decode_word(word: bytes) -> str:
    unescaped = word.replace(b"\\", b"").replace(b"\0s", b" ").replace(b"\0b", b"\\")
    return unescaped.decode("utf-8", "surrogateescape")


def encode_field(text: str) -> bytes:
    r"""Return any text as exactly one word of a reply.

    Blank and tab become `\ `, a backslash is doubled, a line feed becomes `-`; CR and NUL are
    dropped. An empty text would be no word, and becomes `N/A`.
    """
    escaped = text.translate(_FIELD_ESCAPES) or _EMPTY_FIELD
    try:
        return escaped.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair
        return escaped.encode("utf-8", "replace")


def encode_line(*fields: str) -> bytes:
    """Return a reply line that has exactly these fields."""
    return b" ".join(map(encode_field, fields)) + b"\r\n"
