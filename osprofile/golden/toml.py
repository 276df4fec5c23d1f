"""What tomllib lacks: writing strings and keys, and locating keys (TOML 1.0)."""

from __future__ import annotations

import re
import tomllib
from typing import Final

KeyPath = tuple[str, ...]
"""The names of nested tables, and of a key in the innermost one."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}  # fmt: skip
_TOKEN: Final = re.compile(
    r"""
      (?P<skipped> [\ \t]+ | \#[^\n]* )
    | (?P<end> \n )
    | (?P<name> \"{3} (?: \\. | [^\\] )*? \"{3,5} | '{3} .*? '{3,5}
              | "(?: \\. | [^"\\\n] )*" | '[^'\n]*'
              | [^\s\[\]{}=,."'\#]+ )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def format_string(value: str) -> str:
    """Return a TOML string on one line, with control characters escaped.

    Raises `ValueError` for a lone surrogate, which TOML cannot represent.
    """
    return f'"{"".join(map(_escape_char, value))}"'


def _escape_char(char: str) -> str:
    escape = _ESCAPES.get(char)
    if escape is not None or char.isprintable():
        return escape or char
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"U+{code:04X} is not a character")
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def format_key(*names: str) -> str:
    """Return a key, with dots between several names."""
    return ".".join(name if _BARE_KEY.fullmatch(name) else format_string(name) for name in names)


def locate_keys(text: str) -> dict[KeyPath, int]:
    """Return the offset of the first mention of each table and key in a valid TOML text.

    Keys of inline tables are ignored.
    """
    offsets: dict[KeyPath, int] = {}
    table, path = KeyPath(), KeyPath()
    bracket_depth = -1  # of brackets in a value; -1 in a key or a table header
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        if bracket_depth >= 0:
            bracket_depth += (word in {"[", "{"}) - (word in {"]", "}"})
            if kind == "end" and not bracket_depth:
                path, bracket_depth = table, -1
        elif kind == "name":
            path += (_unquote_name(word),)
            offsets.setdefault(path, token.start())
        elif word == "[":
            path = ()
        elif word == "]" and path:
            table = path
        elif word == "=":
            bracket_depth = 0
    return offsets


def _unquote_name(word: str) -> str:
    if word[0] not in "\"'":
        return word
    value: str = tomllib.loads(f"x = {word}")["x"]
    return value


def find_nearest_offset(offsets: dict[KeyPath, int], path: KeyPath) -> int:
    """Return the offset of a path, or of the innermost enclosing table that has one."""
    prefixes = (path[:length] for length in range(len(path), 0, -1))
    return next((offsets[prefix] for prefix in prefixes if prefix in offsets), 0)
