r"""Java's replacements: `$1`, `${name}`, `\$` (java.util.regex.Matcher.appendReplacement)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from osprofile.errors import JavaRegexError
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = "0123456789"
ReplacementPart = str | int


def parse_replacement(
    text: str, group_count: int, group_names: Mapping[str, int]
) -> tuple[ReplacementPart, ...]:
    """Return the parts of a replacement: literal text, and the numbers of groups.

    JavaRegexError where Java would throw at the first match: a group that does not exist, a `$`
    without a group, a backslash at the end.
    """
    return _ReplacementParser(text, group_count, group_names).parse_parts()


class _ReplacementParser:
    def __init__(self, text: str, group_count: int, group_names: Mapping[str, int]) -> None:
        self._text = text
        self._group_count = group_count
        self._group_names = group_names
        self._position = 0

    def parse_parts(self) -> tuple[ReplacementPart, ...]:
        parts: list[ReplacementPart] = []
        literal = ""
        while self._position < len(self._text):
            char = self._peek_char()
            self._position += 1
            if char == "$":
                if literal:
                    parts.append(literal)
                    literal = ""
                parts.append(self._parse_group())
                continue
            if char == "\\":
                char = self._peek_char()
                if not char:
                    self._raise_error("character to be escaped is missing", "write \\\\ for a backslash")
                self._position += 1
            literal += char
        return (*parts, literal) if literal else tuple(parts)

    def _peek_char(self) -> str:
        return self._text[self._position : self._position + 1]

    def _raise_error(self, message: str, hint: str = "") -> NoReturn:
        index = min(self._position, len(self._text))
        raise JavaRegexError(message, text=self._text, index=index, hint=hint)

    def _parse_group(self) -> int:
        if self._peek_char() == "{":
            return self._parse_named_group()
        if not self._peek_char() or self._peek_char() not in _DIGITS:
            self._raise_error("Illegal group reference", "write \\$ for a dollar sign")
        number = int(self._peek_char())
        self._position += 1
        while self._peek_char() and self._peek_char() in _DIGITS:
            longer = number * 10 + int(self._peek_char())
            if longer > self._group_count:
                break
            number = longer
            self._position += 1
        if number > self._group_count:
            self._position -= 1
            self._raise_error(f"No group {number}", f"the pattern has {self._group_count} groups")
        return number

    def _parse_named_group(self) -> int:
        self._position += 1
        start = self._position
        while self._peek_char().isascii() and self._peek_char().isalnum():
            self._position += 1
        name = self._text[start : self._position]
        if not name or self._peek_char() != "}":
            self._raise_error("named capturing group is missing trailing '}'")
        if name not in self._group_names:
            self._position = start
            self._raise_error(f"No group with name {{{name}}}", suggest_names(name, self._group_names))
        self._position += 1
        return self._group_names[name]
