"""The syntax of attributes' values: arguments, environments, lists of files, remaps.

Source: docs/protocols/blah.md, 4.3 and 4.4. All functions raise ValueError with what is wrong and
where. Nothing is expanded.
"""

from __future__ import annotations

import re
from typing import Final

from osprofile.errors import quote_value

_BLANKS: Final = " \t\r\n"
_UNQUOTED_RUN: Final = re.compile(r"[^ \t\r\n']+")
_QUOTED_RUN: Final = re.compile(r"[^']*")


def split_v2_arguments(text: str) -> list[str]:
    """Return the words of the new syntax.

    Blanks separate words; `'` begins and ends a quoted part anywhere in a word, and `''` inside of
    it is one `'`. Double quotes, backslashes and dollar signs have no special meaning. `''` alone
    is an empty word.
    """
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(text):
        if text[at] in _BLANKS:
            if word is not None:
                words.append("".join(word))
            word, at = None, at + 1
            continue
        word = [] if word is None else word
        if text[at] == "'":
            piece, at = _read_quoted(text, at)
        else:
            run = _UNQUOTED_RUN.match(text, at)
            piece, at = (run[0], run.end()) if run else (text[at], at + 1)
        word.append(piece)
    return words if word is None else [*words, "".join(word)]


def _read_quoted(text: str, start: int) -> tuple[str, int]:
    """Return the text of a quoted part that begins at `start`, and the index after it."""
    pieces: list[str] = []
    at = start + 1
    while True:
        inner = _QUOTED_RUN.match(text, at)
        end = inner.end() if inner else at
        pieces.append(text[at:end])
        if end == len(text):
            message = f"the quote at character {start + 1} is not closed: {quote_value(text[start:], 40)}"
            raise ValueError(message)
        if not text.startswith("''", end):
            return "".join(pieces), end + 1
        pieces.append("'")
        at = end + 2


def split_v1_arguments(text: str) -> list[str]:
    """Return the words of the old syntax: blanks separate them, and there is no quoting."""
    return [word for word in re.split(f"[{_BLANKS}]+", text) if word]


def parse_v2_environment(text: str) -> dict[str, str]:
    """Return the variables of the new syntax: words `NAME=value`. The last one of a name wins."""
    return dict(map(_split_assignment, split_v2_arguments(text)))


def parse_v1_environment(text: str) -> dict[str, str]:
    """Return the variables of the old syntax: `NAME=value;NAME=value`, blanks around `=` allowed."""
    entries = [entry.strip(_BLANKS) for entry in text.split(";")]
    pairs = [_split_assignment(entry) for entry in entries if entry]
    return {
        name.rstrip(_BLANKS): value.lstrip(_BLANKS) if name[-1] in _BLANKS else value for name, value in pairs
    }


def _split_assignment(entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name.strip(_BLANKS):
        message = f"{quote_value(entry, 40)} is not NAME=value"
        raise ValueError(message)
    return name, value


def split_file_list(text: str) -> list[str]:
    """Return the names in a text with commas, stripped, without empty ones and repetitions."""
    names = [name.strip(_BLANKS) for name in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def parse_output_remaps(text: str) -> dict[str, str]:
    r"""Return the new names in `name = new name; ...`; `\c` is the character `c`, whatever it is."""
    remaps = {}
    for entry in _split_unescaped(text, ";"):
        if entry.strip(_BLANKS):
            name, *rest = _split_unescaped(entry, "=", max_splits=1)
            old, new = _strip_and_unescape(name), _strip_and_unescape(rest[0]) if rest else ""
            if not old or not new:
                message = f"{quote_value(entry.strip(_BLANKS), 40)} is not NAME = NEW NAME"
                raise ValueError(message)
            remaps[old] = new
    return remaps


def _split_unescaped(text: str, separator: str, max_splits: int = 0) -> list[str]:
    """Split at separators without a backslash before them, `max_splits` times (0: at all of them)."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == separator:
            parts.append(text[start:at])
            start = at + 1
            if len(parts) == max_splits:
                break
        at += 1
    return [*parts, text[start:]]


def _strip_and_unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.strip(_BLANKS), flags=re.DOTALL)
