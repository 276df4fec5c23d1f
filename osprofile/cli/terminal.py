"""What is told on a terminal: cut to its width, coloured if it is one, and never obeyed by it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import escape_unprintable

if TYPE_CHECKING:
    from osprofile.source import Location

DEFAULT_WIDTH: Final = 80
"""How wide a report is where it goes to no terminal: the same on every machine."""

_STYLE_CODES: Final = {
    "title": "1",
    "name": "1",
    "word": "36",
    "place": "2",
    "added": "32",
    "removed": "31",
    "changed": "33",
}


def supports_colours(stream: Any) -> bool:
    """Say whether a stream is a terminal that may get colours."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in {"dumb", "unknown"}
    return wanted and bool(stream.isatty())


def terminal_width(stream: Any) -> int:
    """Give the columns of a terminal; 80 for what is none."""
    if not stream.isatty():
        return DEFAULT_WIDTH
    from shutil import get_terminal_size

    return max(get_terminal_size((DEFAULT_WIDTH, 24)).columns, 40)


def truncate_text(text: str, width: int) -> str:
    """Give a text, harmless, and cut to so many characters where it has more."""
    text = escape_unprintable(text)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def pluralize(number: int, word: str) -> str:
    """Give a number of things: `1 line`, `2 lines`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def excerpt_line(line: str, offset: int, width: int) -> str:
    """Give a line, harmless, and of a long one so many characters that hold the one at `offset`.

    Nothing where there is no room for a word.
    """
    if width < 8:
        return ""
    if len(escape_unprintable(line)) <= width:
        return escape_unprintable(line)
    start = max(min(offset - width // 4, len(line) - width + 3), 0)
    return (
        truncate_text(line, width) if start == 0 else "..." + truncate_text(line[start:], width - 3)
    )


def quote_value(value: str, width: int) -> str:
    """Give a value in quotes, escaped as in Python; of a long one, the beginning and its length."""
    whole = repr(value)
    if len(whole) <= width:
        return whole
    tail = f"... ({len(value)} characters)"
    kept = value[: max(width - len(tail) - 2, 8)]
    while len(repr(kept)) > max(width - len(tail), 10):
        kept = kept[:-1]
    return repr(kept) + tail


def format_location(location: Location | None) -> str:
    """Give `file:line:column`; a file below the working directory by its path from there."""
    if location is None:
        return ""
    name = os.path.normpath(location.file).removeprefix(os.getcwd() + os.sep)
    return escape_unprintable(f"{name}:{location.line}:{location.column}")


@final
class Report:
    """Lines for people: a label, a text, and at the right, or below, the place that they speak of."""

    def __init__(self, stream: Any = None, *, indent: int = 2, label_width: int = 9) -> None:
        stream = sys.stdout if stream is None else stream
        self.lines: list[str] = []
        self.width = terminal_width(stream)
        self._coloured = supports_colours(stream)
        self._indent = indent
        self._label_width = label_width

    def apply_style(self, style: str, text: str) -> str:
        """Give a text in a style where there are colours."""
        if not self._coloured or not text:
            return text
        return f"\x1b[{_STYLE_CODES[style]}m{text}\x1b[0m"

    @property
    def text_width(self) -> int:
        """How many characters a row's text may have."""
        return self.width - self._indent - self._label_width - 1

    def add_line(self, text: str = "", style: str = "") -> None:
        """Add a line as it is."""
        self.lines.append(self.apply_style(style, text) if style else text)

    def add_heading(self, name: str, text: str, location: str, style: str = "name") -> None:
        """Add the first line of a block: a name, a text behind it, and a place."""
        shown = f"{self.apply_style(style, name)}{text}"
        self._add_located(shown, len(name) + len(text), location, "    ")

    def add_row(self, label: str, text: str, location: str = "", style: str = "word") -> None:
        """Add a row below a heading."""
        start = (
            " " * self._indent
            + self.apply_style(style, label)
            + " " * (self._label_width - len(label) + 1)
        )
        length = self._indent + max(self._label_width, len(label)) + 1 + len(text)
        self._add_located(
            (start + text).rstrip(), length, location, " " * (self._indent + self._label_width + 1)
        )

    def _add_located(self, shown: str, length: int, location: str, below: str) -> None:
        if not location:
            self.lines.append(shown)
        elif length + 2 + len(location) <= self.width:
            gap = " " * (self.width - length - len(location))
            self.lines.append(f"{shown}{gap}{self.apply_style('place', location)}")
        else:
            at = " " * max(len(below), self.width - len(location))
            self.lines += [shown, f"{at}{self.apply_style('place', location)}"]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def escape_script_line(line: str) -> str:
    """Give a line of a script, harmless; a tab stays a tab."""
    return escape_unprintable(line, keep="\t")
