r"""Which patterns and replacements are plain text: known without any engine.

A body's replacement is most often of this kind (`<ARG/'/'\\''>`): it then becomes `str.replace`.
This module imports nothing, so that asking costs nothing at start-up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_METACHARACTERS = frozenset("\\^$.|?*+()[{")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


def parse_literal_pattern(pattern: str) -> str | None:
    r"""Give the text that a pattern matches and nothing else, or None if it says more than that.

    `\/`, `\.`, `\>` and the like are unescaped, and so are `\t \n \r \f \a \e`. The empty
    pattern is None: it matches everywhere. None is never an error: the parser tells those.
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
    r"""Give the text that a replacement always puts, or None if it refers to groups, or is wrong.

    A backslash makes the next character plain, whatever it is: `\n` is the letter n.
    """
    if "$" not in replacement and "\\" not in replacement:
        return replacement
    out: list[str] = []
    chars = iter(replacement)
    for char in chars:
        if char == "$":
            return None
        plain = next(chars, None) if char == "\\" else char
        if plain is None:
            return None
        out.append(plain)
    return "".join(out)


def parse_literal_pair(pattern: str, replacement: str) -> tuple[str, str] | None:
    """Give old and new text where the two together are no more than `value.replace(old, new)`."""
    old, new = parse_literal_pattern(pattern), parse_literal_replacement(replacement)
    return None if old is None or new is None else (old, new)


def make_replacer(old: str, new: str) -> Callable[[str], str]:
    """Give the function that does it."""

    def replace(value: str) -> str:
        return value.replace(old, new) if old in value else value

    return replace


def _is_encodable(text: str) -> bool:
    """Tell whether a text has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
