r"""Bytes to lines and words, and words to bytes (seed 2.3; page "Framing and escaping").

CR, LF and NUL each end a line; empty lines are none. A blank ends a word. A backslash takes the
character behind it literally, whichever it is; a NUL ends the line all the same. Text is UTF-8;
bytes that are none come and go unchanged.
"""

from __future__ import annotations

import re
from typing import Final, final

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes of a request line. The protocol knows no limit; memory does."""

_END: Final = re.compile(rb"[\r\n\0]+")
_ESCAPES: Final = str.maketrans(
    {" ": "\\ ", "\t": "\\ ", "\\": "\\\\", "\n": "-", "\r": "", "\0": ""}
)
_NOTHING: Final = "N/A"


@final
class TooLong:
    """Stands for a line that was longer than the limit, and was thrown away."""


TOO_LONG: Final = TooLong()


@final
class Lines:
    """Makes lines of data that comes in pieces."""

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._too_long = self._odd = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Take the next piece; give the lines that end in it, without their ends."""
        found: list[bytes | TooLong] = []
        start = after = 0
        for end in _END.finditer(data):
            at = end.start()
            if data[at] and self._is_odd(data[after:at], begins=after == 0):
                at += 1  # the first of them is literal
            after = end.end()
            if at < after:
                self._keep(data[start:at])
                found += self._ended()
                start = after
        if data:
            self._odd = self._is_odd(data[after:], begins=after == 0)
        self._keep(data[start:])
        return found

    def _is_odd(self, piece: bytes, *, begins: bool) -> bool:
        """Say whether an odd number of backslashes ends here; `begins`: what came before counts."""
        count = len(piece) - len(piece.rstrip(b"\\"))
        return (count + (begins and self._odd and count == len(piece))) % 2 == 1

    def _keep(self, piece: bytes) -> None:
        if len(self._begun) + len(piece) > self._limit:
            self._too_long = True
            self._begun.clear()
        if not self._too_long:
            self._begun += piece

    def _ended(self) -> list[bytes | TooLong]:
        line, too_long = bytes(self._begun), self._too_long
        self._begun.clear()
        self._too_long = self._odd = False
        if too_long:
            return [TOO_LONG]
        return [line] if line else []


def words(line: bytes) -> list[str]:
    """Give the words of a line, with the escapes undone."""
    if b"\\" not in line:
        return [word.decode("utf-8", "surrogateescape") for word in line.split(b" ") if word]
    # A line holds no NUL, so NUL can stand for what is escaped: this runs at memory's speed.
    marked = line.replace(b"\\\\", b"\0b").replace(b"\\ ", b"\0s")
    return [_unmarked(word) for word in marked.split(b" ") if word]


def _unmarked(word: bytes) -> str:
    plain = word.replace(b"\\", b"").replace(b"\0s", b" ").replace(b"\0b", b"\\")
    return plain.decode("utf-8", "surrogateescape")


def field(text: str) -> bytes:
    r"""Give a text as one word of a reply: it is one for every client, whatever the text is.

    Blank and tab become `\ `, a backslash two, a line feed `-`; CR and NUL go. An empty text, which
    would be no word, is `N/A`.
    """
    escaped = text.translate(_ESCAPES) or _NOTHING
    try:
        return escaped.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair
        return escaped.encode("utf-8", "replace")


def line(*fields: str) -> bytes:
    """Give a line of a reply that has exactly these fields."""
    return b" ".join(map(field, fields)) + b"\r\n"
