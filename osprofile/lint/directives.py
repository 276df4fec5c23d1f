r"""Lines that a batch system reads: `#PBS -q <QUEUE>` (design: "Quoting").

A directive stands at the beginning of a line, before the first command; there is no quoting in it.
A replacement that makes one (`<QUEUE/(?s)^(.+)\z/#PBS -q $1>`) counts as such a line.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, final

from osprofile.language.javaregex.charset import CharSet
from osprofile.lint import values as possible
from osprofile.lint.quoting import trust, values_of
from osprofile.lint.rules import problem
from osprofile.lint.shell.position import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.script import Hole, Script, View
    from osprofile.lint.shell.lexer import Reading

_CONTROLS: Final = CharSet.of((0, 0x1F), (0x7F, 0x7F))
_HARMFUL: Final = _CONTROLS | CharSet.chars(" \"'\\")
_HARMFUL_QUOTED: Final = _CONTROLS | CharSet.chars("\"'\\")
_SHOWN: Final = {"\n": "a line end", "\r": "a carriage return", " ": "a blank", "\t": "a tab"}
_REMEDY: Final = (
    "batch systems know no quoting there: list what may stand, as in "
    'ext:pattern="[A-Za-z0-9_.@:+-]*"'
)


@final
class Directives:
    """The directives of a job script; without a prefix there are none."""

    def __init__(self, script: Script, prefix: str) -> None:
        self._script = script
        self._prefix = prefix
        self._holes: dict[Hole, str] = {}
        self._made_by: list[Hole] = []
        self._late: list[int] = []
        self._indented: list[int] = []
        if prefix:
            self._find()

    def _find(self) -> None:
        start, commands = 0, False
        items = self._script.items
        while start < len(items):
            end = next((i for i in range(start, len(items)) if items[i] == "\n"), len(items))
            if end > start:
                commands = self._line(start, end, commands=commands)
            start = end + 1

    def _line(self, start: int, end: int, *, commands: bool) -> bool:
        """Judge one line; say whether commands have begun."""
        line = self._script.items[start:end]
        text = "".join(i if isinstance(i, str) else self._made(i) for i in line)
        if text.startswith(self._prefix):
            if commands:
                self._late.append(start)
            self._directive(line)
            return commands
        if text.lstrip().startswith(self._prefix):
            self._indented.append(start + len(text) - len(text.lstrip()))
        return commands or not (text.isspace() or text.lstrip().startswith("#"))

    def _directive(self, line: Sequence[str | Hole]) -> None:
        """Note the holes of a directive, with what stands before the value of each."""
        before = ""
        for item in line:
            before += item if isinstance(item, str) else self._made(item)
            if not isinstance(item, str):
                self._holes[item] = before
        first = line[0]
        if not isinstance(first, str):
            self._made_by.append(first)

    def _made(self, hole: Hole) -> str:
        """Give what a replacement puts before the value: TO up to its first reference."""
        return (hole.replacement.replacement or GAP).split("$", 1)[0]

    def has(self, hole: Hole) -> bool:
        """Say whether a hole is in a directive."""
        return hole in self._holes

    def problems(self, view: View, reading: Reading[Hole]) -> Iterator[Problem]:
        """Judge all directives; `reading` says what the shell takes for comments and commands."""
        for hole, before in self._holes.items():
            if trust(view, hole) != "safe":
                yield from _judge(view, hole, before)
        for hole in self._made_by:
            if trust(view, hole) != "safe":
                yield from self._may_be_command(view, hole)
        yield from self._misplaced(reading)

    def _may_be_command(self, view: View, hole: Hole) -> Iterator[Problem]:
        """Find a replacement that makes a directive of some values, and leaves others as they are."""
        if possible.takes_all(hole.replacement.pattern or "", values_of(view, hole).chars):
            return
        name = hole.replacement.name
        message = f"what FROM does not match of field {name} would stand here as a command"
        hint = f"write <{name}/(?s)^(.+)\\z/{self._made(hole)}$1>"
        yield problem("OSP626", message, hole.place, hint)

    def _misplaced(self, reading: Reading[Hole]) -> Iterator[Problem]:
        """Find directives that no batch system sees."""
        for start in filter(partial(self._is_seen, reading), self._late):
            message = f"a directive ({self._prefix}) behind the first command is ignored"
            hint = "move it up into JOB_PROLOGUE, before all commands"
            yield problem("OSP623", message, self._script.place(start), hint)
        for start in filter(partial(self._is_seen, reading), self._indented):
            message = f"a directive ({self._prefix}) that is not at its line's beginning"
            hint = "batch systems ignore it: remove what stands before it"
            yield problem("OSP624", message, self._script.place(start), hint)

    def _is_seen(self, reading: Reading[Hole], start: int) -> bool:
        """Say whether the shell takes what begins there for a comment, or a replacement makes it."""
        item = self._script.items[start]
        made = (hole for hole, position in reading.holes if position.role == "command")
        return start in reading.comments or any(item is hole for hole in made)


def _judge(view: View, hole: Hole, before: str) -> Iterator[Problem]:
    """Give the problem of a value in a directive; `before` is what precedes it in its line."""
    name, found = hole.replacement.name, values_of(view, hole)
    quoted = before.count('"') % 2 or before.count("'") % 2
    harmful = found.chars & (_HARMFUL_QUOTED if quoted else _HARMFUL)
    if not harmful.ranges:
        return
    declared = view.field(hole.text, name)
    hint = f"{_REMEDY}; the field is declared at {declared.place if declared else hole.place}"
    if trust(view, hole) != "request" or declared is None:
        message = f"the value of {name}, which the context gives, stands in a directive"
        remedy = f'declare field {name} with isSettable="false" and an ext:pattern'
        yield problem("OSP609", message, hole.place, remedy)
    elif possible.values_of(declared).chars == possible.ANYTHING.chars:
        message = f"settable field {name} stands in a directive and has no pattern"
        yield problem("OSP621", message, hole.place, hint)
    else:
        message = f"the pattern of settable field {name}, which stands in a directive, lets "
        message += f"{_character(harmful)} through"
        yield problem("OSP622", message, hole.place, hint)


def _character(chars: CharSet) -> str:
    """Name the most telling character of a set."""
    for char, name in _SHOWN.items():
        if char in chars:
            return name
    return repr(chr(chars.ranges[0][0]))
