"""What is told on a terminal: cut to its width, coloured if it is one, and never obeyed by it."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from osprofile.source import Place

WIDTH: Final = 80
"""How wide a report is where it goes to no terminal: the same on every machine."""

_STYLES: Final = {
    "title": "1",
    "name": "1",
    "word": "36",
    "place": "2",
    "added": "32",
    "removed": "31",
    "changed": "33",
}


def colours(stream: Any) -> bool:
    """Say whether a stream is a terminal that may get colours."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in {"dumb", "unknown"}
    return wanted and bool(stream.isatty())


def width_of(stream: Any) -> int:
    """Give the columns of a terminal; 80 for what is none."""
    if not stream.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return max(get_terminal_size((WIDTH, 24)).columns, 40)


def harmless(text: str) -> str:
    """Give a text on one line, with what a terminal would act on written as an escape."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def cut(text: str, width: int) -> str:
    """Give a text, harmless, and cut to so many characters where it has more."""
    text = harmless(text)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def counted(number: int, word: str) -> str:
    """Give a number of things: `1 line`, `2 lines`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def around(line: str, at: int, width: int) -> str:
    """Give a line, harmless, and of a long one so many characters that hold the one at `at`.

    Nothing where there is no room for a word.
    """
    if width < 8:
        return ""
    if len(harmless(line)) <= width:
        return harmless(line)
    start = max(min(at - width // 4, len(line) - width + 3), 0)
    return cut(line, width) if start == 0 else "..." + cut(line[start:], width - 3)


def quoted(value: str, width: int) -> str:
    """Give a value in quotes, escaped as in Python; of a long one, the beginning and its length."""
    whole = repr(value)
    if len(whole) <= width:
        return whole
    tail = f"... ({len(value)} characters)"
    kept = value[: max(width - len(tail) - 2, 8)]
    while len(repr(kept)) > max(width - len(tail), 10):
        kept = kept[:-1]
    return repr(kept) + tail


def place_text(place: Place | None) -> str:
    """Give `file:line:column`; a file below the working directory by its path from there."""
    if place is None:
        return ""
    name = os.path.normpath(place.file).removeprefix(os.getcwd() + os.sep)
    return harmless(f"{name}:{place.line}:{place.column}")


@final
class Report:
    """Lines for people: a label, a text, and at the right, or below, the place that they speak of."""

    def __init__(self, stream: Any = None, *, indent: int = 2, label: int = 9) -> None:
        stream = sys.stdout if stream is None else stream
        self.lines: list[str] = []
        self.width = width_of(stream)
        self._coloured = colours(stream)
        self._indent = indent
        self._label = label

    def styled(self, style: str, text: str) -> str:
        """Give a text in a style where there are colours."""
        if not self._coloured or not text:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    @property
    def room(self) -> int:
        """How many characters a row's text may have."""
        return self.width - self._indent - self._label - 1

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line as it is."""
        self.lines.append(self.styled(style, text) if style else text)

    def heading(self, name: str, text: str, place: str, style: str = "name") -> None:
        """Add the first line of a block: a name, a text behind it, and a place."""
        shown = f"{self.styled(style, name)}{text}"
        self._placed(shown, len(name) + len(text), place, "    ")

    def row(self, label: str, text: str, place: str = "", style: str = "word") -> None:
        """Add a row below a heading."""
        start = (
            " " * self._indent + self.styled(style, label) + " " * (self._label - len(label) + 1)
        )
        length = self._indent + max(self._label, len(label)) + 1 + len(text)
        self._placed((start + text).rstrip(), length, place, " " * (self._indent + self._label + 1))

    def _placed(self, shown: str, length: int, place: str, below: str) -> None:
        if not place:
            self.lines.append(shown)
        elif length + 2 + len(place) <= self.width:
            gap = " " * (self.width - length - len(place))
            self.lines.append(f"{shown}{gap}{self.styled('place', place)}")
        else:
            at = " " * max(len(below), self.width - len(place))
            self.lines += [shown, f"{at}{self.styled('place', place)}"]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def printable(line: str) -> str:
    """Give a line of a script, harmless; a tab stays a tab."""
    return re.sub("[^\t]+", lambda m: harmless(m[0]), line)
