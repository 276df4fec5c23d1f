r"""Patterns and replacements that are plain text, recognized without an engine.

Most replacements in bodies are of this kind (`<ARG/'/'\\''>`): they become `str.replace`.
This module imports nothing, so that it costs nothing at start-up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_METACHARACTERS = frozenset("\\^$.|?*+()[{")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


def parse_literal_pattern(pattern: str) -> str | None:
    r"""Return the only text that a pattern matches, or None if it is not a literal.

    `\/`, `\.`, `\>` and the like are unescaped, and so are `\t \n \r \f \a \e`. The empty pattern
    is not a literal: it matches everywhere. Nor is an invalid one: the parser finds the error.
    """
    if not pattern or not _is_encodable(pattern):
        return None
    if _METACHARACTERS.isdisjoint(pattern):
        return pattern
    out: list[str] = []
    chars = iter(pattern)
    for char in chars:
        if char == "\\":
            escaped = next(chars, None)
            if escaped is None:
                return None
            if escaped in _ESCAPES:
                out.append(_ESCAPES[escaped])
                continue
            if escaped.isascii() and escaped.isalnum():
                return None
            out.append(escaped)
        elif char in _METACHARACTERS:
            return None
        else:
            out.append(char)
    return "".join(out)


def parse_literal_replacement(replacement: str) -> str | None:
    r"""Return the text that a replacement stands for; None if it refers to groups, or is invalid.

    A backslash makes any next character literal: `\n` is the letter n.
    """
    if "$" not in replacement and "\\" not in replacement:
        return replacement
    out: list[str] = []
    chars = iter(replacement)
    for char in chars:
        if char == "$":
            return None
        literal = next(chars, None) if char == "\\" else char
        if literal is None:
            return None
        out.append(literal)
    return "".join(out)


def parse_literal_pair(pattern: str, replacement: str) -> tuple[str, str] | None:
    """Return the arguments of `str.replace` that do the same, or None if there are none."""
    old, new = parse_literal_pattern(pattern), parse_literal_replacement(replacement)
    return None if old is None or new is None else (old, new)


def make_replacer(old: str, new: str) -> Callable[[str], str]:
    """Return a function that replaces a text in a value."""

    def replace(value: str) -> str:
        return value.replace(old, new) if old in value else value

    return replace


def _is_encodable(text: str) -> bool:
    """Return whether a text has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
