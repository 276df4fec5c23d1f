r"""Java's replacements: `$1`, `${name}`, `\$` (java.util.regex.Matcher.appendReplacement)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from osprofile.errors import JavaRegexError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = "0123456789"
Part = str | int


def parse_replacement(text: str, groups: int, names: Mapping[str, int]) -> tuple[Part, ...]:
    """Give the parts of a replacement: literal text, and the numbers of groups.

    JavaRegexError where Java would throw at the first match: a group that does not exist, a `$`
    without a group, a backslash at the end.
    """
    return _Replacement(text, groups, names).parts()


class _Replacement:
    def __init__(self, text: str, groups: int, names: Mapping[str, int]) -> None:
        self._text = text
        self._groups = groups
        self._names = names
        self._place = 0

    def parts(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        literal = ""
        while self._place < len(self._text):
            char = self._char()
            self._place += 1
            if char == "$":
                if literal:
                    parts.append(literal)
                    literal = ""
                parts.append(self._group())
                continue
            if char == "\\":
                char = self._char()
                if not char:
                    self._fail("character to be escaped is missing", "write \\\\ for a backslash")
                self._place += 1
            literal += char
        return (*parts, literal) if literal else tuple(parts)

    def _char(self) -> str:
        return self._text[self._place : self._place + 1]

    def _fail(self, message: str, hint: str = "") -> NoReturn:
        index = min(self._place, len(self._text))
        raise JavaRegexError(message, text=self._text, index=index, hint=hint)

    def _group(self) -> int:
        if self._char() == "{":
            return self._named()
        if not self._char() or self._char() not in _DIGITS:
            self._fail("Illegal group reference", "write \\$ for a dollar sign")
        number = int(self._char())
        self._place += 1
        while self._char() and self._char() in _DIGITS:
            longer = number * 10 + int(self._char())
            if longer > self._groups:
                break
            number = longer
            self._place += 1
        if number > self._groups:
            self._place -= 1
            self._fail(f"No group {number}", f"the pattern has {self._groups} groups")
        return number

    def _named(self) -> int:
        self._place += 1
        start = self._place
        while self._char().isascii() and self._char().isalnum():
            self._place += 1
        name = self._text[start : self._place]
        if not name or self._char() != "}":
            self._fail("named capturing group is missing trailing '}'")
        if name not in self._names:
            self._place = start
            self._fail(f"No group with name {{{name}}}", nearest(name, self._names))
        self._place += 1
        return self._names[name]
