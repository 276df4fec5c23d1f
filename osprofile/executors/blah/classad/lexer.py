r"""The tokens of the ClassAd language.

White space and comments (`// ...`, `/* ... */`) separate tokens. The escapes in strings are
`\" \' \\ \b \f \n \r \t` and octal `\o \oo \ooo`, which are bytes of UTF-8; before any other character
a backslash is ignored. Adjacent strings are joined. Integers are decimal, hexadecimal (0x) or
octal (leading 0); numbers may end in B, K, M, G or T (powers of 1024).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from osprofile.executors.errors import ClassAdError
from osprofile.text import quote_value

_SPACE_OR_COMMENT: Final = re.compile(r"[ \t\r\n\f\v]*(//[^\n]*|/\*)?")
_NUMBER: Final = re.compile(
    r"(?:0[xX](?P<hex>[0-9A-Fa-f]+)"
    r"|(?P<real>[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<whole>[0-9]+))(?P<suffix>[BKMGTbkmgt]?)(?![A-Za-z0-9_])"
)
_NUMBER_START: Final = re.compile(r"\.?[0-9]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PUNCTUATION: Final = re.compile(r"=\?=|=!=|>>>|<<|>>|<=|>=|==|!=|&&|\|\||\?:|[-+*/%<>=!~&|^?:.,;()\[\]{}]")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
LETTER_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SUFFIX_FACTORS: Final = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MAX_MAGNITUDE: Final = 2**63
"""The largest integer of a token; it fits 64 bits only with a minus sign before it."""


@final
class Token(NamedTuple):
    """A token; `kind` is name, quoted (a quoted name), string, integer, real, end, or the sign itself."""

    kind: str
    value: str | int | float
    offset: int

    @property
    def description(self) -> str:
        """A message that says prefix stands at the token."""
        if self.kind == "end":
            return "the text ends"
        prefix = "the string " if self.kind == "string" else ""
        return f"there is {prefix}{quote_value(str(self.value), 40)}"


@final
class Lexer:
    """Splits a text into tokens."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text, self.position = text, position

    def next_token(self) -> Token:
        """Return the next token; at the end, one of the kind `end`."""
        self._skip_space()
        text, start = self.text, self.position
        first = text[start : start + 1]
        if first == '"':
            return Token("string", self._read_string(), start)
        if first == "'":
            return Token("quoted", self._read_quoted("'"), start)
        if match := _NAME.match(text, start):
            self.position = match.end()
            return Token("name", match[0], start)
        if _NUMBER_START.match(text, start):
            return self._read_number()
        if match := _PUNCTUATION.match(text, start):
            self.position = match.end()
            return Token(match[0], match[0], start)
        if not first:
            return Token("end", "", start)
        raise ClassAdError(f"{quote_value(first)} has no meaning here", text, start)

    def _skip_space(self) -> None:
        """Skip white space and comments."""
        while match := _SPACE_OR_COMMENT.match(self.text, self.position):
            self.position = match.end()
            if not match[1]:
                return
            if match[1] == "/*":
                end = self.text.find("*/", self.position)
                if end < 0:
                    raise ClassAdError("the comment has no end", self.text, match.start(1), expected="*/")
                self.position = end + 2

    def _read_string(self) -> str:
        pieces = [self._read_quoted('"')]
        while True:
            self._skip_space()
            if not self.text.startswith('"', self.position):
                return "".join(pieces)
            pieces.append(self._read_quoted('"'))

    def _read_quoted(self, quote: str) -> str:
        """Read up to the first unescaped quote: an even number of backslashes stands before it."""
        start = search_start = self.position + 1
        while True:
            end = self.text.find(quote, search_start)
            if end < 0:
                construct = "string" if quote == '"' else "quoted name"
                raise ClassAdError(f"the {construct} has no end", self.text, start - 1, expected=quote)
            piece = self.text[search_start:end]
            search_start = end + 1
            if (len(piece) - len(piece.rstrip("\\"))) % 2 == 0:
                break
        self.position = search_start
        return self._unescape_body(start, end)

    def _unescape_body(self, start: int, end: int) -> str:
        body = self.text[start:end]
        if "\0" in body:
            raise ClassAdError("a string must not contain NUL", self.text, start + body.index("\0"))
        if "\\" not in body:
            return body
        has_bytes = False

        def unescape(match: re.Match[str]) -> str:
            nonlocal has_bytes
            if match[1][0] not in "01234567":
                return LETTER_ESCAPES.get(match[1], match[1])
            code = int(match[1], 8)
            if code == 0:
                raise ClassAdError("a string must not contain NUL", self.text, start + match.start())
            has_bytes = has_bytes or code > 127
            return chr(code) if code < 128 else chr(0xDC00 + code)

        value = _ESCAPE.sub(unescape, body)
        if not has_bytes:
            return value
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")

    def _read_number(self) -> Token:
        start, match = self.position, _NUMBER.match(self.text, self.position)
        if match is None:
            expected = "12, 0x1F, 1.5 or 10M"
            raise ClassAdError("this is not a number", self.text, start, expected=expected)
        self.position = match.end()
        factor = _SUFFIX_FACTORS[match["suffix"].upper()]
        if match["real"] is not None:
            return Token("real", float(match["real"]) * factor, start)
        digits = (match["hex"] or match["whole"]).lstrip("0") or "0"
        octal = match["whole"] is not None and len(match["whole"]) > 1 and match["whole"][0] == "0"
        if octal and not set(digits) <= set("01234567"):
            message = "a number with a leading 0 is octal: digits below 8"
            raise ClassAdError(message, self.text, start)
        # 30 digits exceed 64 bits in any base, and a megabyte of digits would take long to convert.
        number = int(digits[:30], 16 if match["hex"] else 8 if octal else 10) * factor
        if len(digits) > 30 or number > MAX_MAGNITUDE:
            raise ClassAdError("this integer does not fit 64 bits", self.text, start)
        return Token("integer", number, start)
