"""Output for people: fitted to the terminal's width, coloured, and free of control characters."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.source import Location

DEFAULT_WIDTH: Final = 80
"""Columns of a report that does not go to a terminal: the same on every machine."""

_DIFF_STYLES: Final = {"+": "added", "-": "removed", "@": "word"}
_STYLE_CODES: Final = {
    "title": "1",
    "name": "1",
    "word": "36",
    "place": "2",
    "added": "32",
    "removed": "31",
    "changed": "33",
    "red": "31", "bold red": "1;31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36",
    "bright_black": "90",
}  # fmt: skip


def supports_colours(stream: Any) -> bool:
    """Return whether a stream is a terminal with colours; the user may turn them off (NO_COLOR)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in {"dumb", "unknown"}:
        return False
    return bool(stream.isatty())


def apply_style(style: str, text: str) -> str:
    """Return a text with the codes for a style."""
    return f"\x1b[{_STYLE_CODES[style]}m{text}\x1b[0m"


def terminal_width(stream: Any) -> int:
    """Return the number of columns of a terminal, at least 40; 80 for another stream."""
    if not stream.isatty():
        return DEFAULT_WIDTH
    from shutil import get_terminal_size

    return max(get_terminal_size((DEFAULT_WIDTH, 24)).columns, 40)


def truncate_text(text: str, width: int) -> str:
    """Return a text with controls escaped, cut to `width` characters if it is longer."""
    text = escape_unprintable(text)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def excerpt_line(line: str, offset: int, width: int) -> str:
    """Return a line with controls escaped; of a long one, `width` characters around `offset`.

    The result is empty if `width` has no room for a word.
    """
    if width < 8:
        return ""
    if len(escape_unprintable(line)) <= width:
        return escape_unprintable(line)
    start = max(min(offset - width // 4, len(line) - width + 3), 0)
    return truncate_text(line, width) if start == 0 else "..." + truncate_text(line[start:], width - 3)


def quote_value(value: str, width: int) -> str:
    """Return a value in quotes, escaped as in Python; of a long one, the beginning and its length."""
    whole = repr(value)
    if len(whole) <= width:
        return whole
    tail = f"... ({len(value)} characters)"
    kept = value[: max(width - len(tail) - 2, 8)]
    while len(repr(kept)) > max(width - len(tail), 10):
        kept = kept[:-1]
    return repr(kept) + tail


def format_path(file: str) -> str:
    """Return a path, relative if the file is below the working directory."""
    return escape_unprintable(os.path.normpath(file).removeprefix(os.getcwd() + os.sep))


def format_location(location: Location | None) -> str:
    """Return `file:line:column`, or nothing if there is no location."""
    if location is None:
        return ""
    return f"{format_path(location.file)}:{location.line}:{location.column}"


@final
class Report:
    """Lines for standard output: a label, a text, and a location at the right, or below if it does not fit."""

    def __init__(self, *, indent: int = 2, label_width: int = 9) -> None:
        self.lines: list[str] = []
        self.width = terminal_width(sys.stdout)
        self._coloured = supports_colours(sys.stdout)
        self._indent = indent
        self._label_width = label_width

    def apply_style(self, style: str, text: str) -> str:
        """Return a text in a style, if the terminal has colours."""
        if not self._coloured or not text:
            return text
        return apply_style(style, text)

    @property
    def text_width(self) -> int:
        """The number of characters that fit in a row behind its label."""
        return self.width - self._indent - self._label_width - 1

    def add_line(self, text: str = "", style: str = "") -> None:
        """Add a line, whose control characters are escaped already."""
        self.lines.append(self.apply_style(style, text) if style else text)

    def add_heading(self, name: str, text: str, location: str, style: str = "name") -> None:
        """Add the first line of a block: a name, a text behind it, and a location."""
        shown = f"{self.apply_style(style, name)}{text}"
        self._add_located(shown, len(name) + len(text), location, "    ")

    def add_row(self, label: str, text: str, location: str = "", style: str = "word") -> None:
        """Add a line below a heading: a label, a text and a location."""
        start = (
            " " * self._indent + self.apply_style(style, label) + " " * (self._label_width - len(label) + 1)
        )
        length = self._indent + max(self._label_width, len(label)) + 1 + len(text)
        self._add_located(
            (start + text).rstrip(), length, location, " " * (self._indent + self._label_width + 1)
        )

    def add_diff(self, lines: Iterable[str], indent: str = "") -> None:
        """Add the lines of a unified diff in their colours."""
        for line in lines:
            self.add_line(indent + line, _DIFF_STYLES.get(line[:1], ""))

    def _add_located(self, shown: str, length: int, location: str, below: str) -> None:
        if not location:
            self.lines.append(shown)
        elif length + 2 + len(location) <= self.width:
            gap = " " * (self.width - length - len(location))
            self.lines.append(f"{shown}{gap}{self.apply_style('place', location)}")
        else:
            margin = " " * max(len(below), self.width - len(location))
            self.lines += [shown, f"{margin}{self.apply_style('place', location)}"]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def escape_script_line(line: str) -> str:
    """Return a line of a script with control characters escaped, but tabs kept."""
    return escape_unprintable(line, keep="\t")


def format_diff(old: str, new: str, names: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a unified diff, controls escaped, with a mark where the last line has no end."""
    from difflib import unified_diff

    sides = [text.split("\n") for text in (old, new)]
    for side in sides:
        if side[-1]:
            side[-1] += "\n\\ no line end"
        else:
            side.pop()
    first, second = map(escape_script_line, names)
    for line in unified_diff(sides[0], sides[1], first, second, lineterm=""):
        yield from map(escape_script_line, line.split("\n"))
