"""The small languages inside of attributes: arguments, environments, lists of files, remaps.

Sources: HTCondor's old and new syntax as the page tells them ("Submit attributes" and its wire
examples). All raise ValueError with what is wrong and where; nothing is expanded.
"""

from __future__ import annotations

import re
from typing import Final

from osprofile.errors import quote_value

_BLANKS: Final = " \t\r\n"
_UNQUOTED_RUN: Final = re.compile(r"[^ \t\r\n']+")
_QUOTED_RUN: Final = re.compile(r"[^']*")


def split_v2_arguments(text: str) -> list[str]:
    """Split the new syntax: blanks separate, `'` opens and closes anywhere, `''` inside is one `'`.

    A double quote, a backslash and a dollar are nothing special. An empty word is `''`.
    """
    found: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(text):
        if text[at] in _BLANKS:
            if word is not None:
                found.append("".join(word))
            word, at = None, at + 1
            continue
        word = [] if word is None else word
        if text[at] == "'":
            piece, at = _read_quoted(text, at)
        else:
            plain = _UNQUOTED_RUN.match(text, at)
            piece, at = (plain[0], plain.end()) if plain else (text[at], at + 1)
        word.append(piece)
    return found if word is None else [*found, "".join(word)]


def _read_quoted(text: str, start: int) -> tuple[str, int]:
    """Read from an opening quote; give what it holds and where the text goes on."""
    pieces: list[str] = []
    at = start + 1
    while True:
        inner = _QUOTED_RUN.match(text, at)
        end = inner.end() if inner else at
        pieces.append(text[at:end])
        if end == len(text):
            message = (
                f"the quote at character {start + 1} has no end: {quote_value(text[start:], 40)}"
            )
            raise ValueError(message)
        if not text.startswith("''", end):
            return "".join(pieces), end + 1
        pieces.append("'")
        at = end + 2


def split_v1_arguments(text: str) -> list[str]:
    """Split the old syntax: blanks separate, and nothing quotes."""
    return [word for word in re.split(f"[{_BLANKS}]+", text) if word]


def parse_v2_environment(text: str) -> dict[str, str]:
    """Read the new syntax: words `NAME=value`, split as arguments are; the last of a name wins."""
    return dict(map(_split_assignment, split_v2_arguments(text)))


def parse_v1_environment(text: str) -> dict[str, str]:
    """Read the old syntax: `NAME=value;NAME=value`, with blanks around the `=` or without."""
    entries = [entry.strip(_BLANKS) for entry in text.split(";")]
    pairs = [_split_assignment(entry) for entry in entries if entry]
    return {
        name.rstrip(_BLANKS): value.lstrip(_BLANKS) if name[-1] in _BLANKS else value
        for name, value in pairs
    }


def _split_assignment(entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name.strip(_BLANKS):
        message = f"{quote_value(entry, 40)} is no NAME=value"
        raise ValueError(message)
    return name, value


def split_file_list(text: str) -> list[str]:
    """Split names at commas; blanks around them and empty ones go, and the second of two equals."""
    names = [name.strip(_BLANKS) for name in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def parse_output_remaps(text: str) -> dict[str, str]:
    r"""Read `name = new name; ...`; a backslash takes the next character literally."""
    found = {}
    for entry in _split_unescaped(text, ";"):
        if entry.strip(_BLANKS):
            name, *rest = _split_unescaped(entry, "=", max_splits=1)
            old, new = _strip_and_unescape(name), _strip_and_unescape(rest[0]) if rest else ""
            if not old or not new:
                message = f"{quote_value(entry.strip(_BLANKS), 40)} is no NAME = NEW NAME"
                raise ValueError(message)
            found[old] = new
    return found


def _split_unescaped(text: str, separator: str, max_splits: int = 0) -> list[str]:
    """Split at separators without a backslash before them, `max_splits` times (0: at all of them)."""
    found, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == separator:
            found.append(text[start:at])
            start = at + 1
            if len(found) == max_splits:
                break
        at += 1
    return [*found, text[start:]]


def _strip_and_unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.strip(_BLANKS), flags=re.DOTALL)
