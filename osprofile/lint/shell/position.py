"""The words in which the lexer speaks of a script: quotes, roles, positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, final

if TYPE_CHECKING:
    from collections.abc import Sequence

Quote = Literal[
    "unquoted", "single", "double", "here", "here-quoted", "comment", "arithmetic",
    "name", "dollar-single", "doubtful",
]  # fmt: skip
"""How a hole is quoted: `name` is behind a bare `$`; `dollar-single` is `$'...'`, which only some
shells know; `doubtful` is in single quotes where shells differ: in `"${x#...}"`, or in `$((...` that is no
arithmetic."""

Role = Literal[
    "command", "argument", "assignment", "redirection", "delimiter", "pattern", "subject", "list",
    "text",
]  # fmt: skip
"""What the word of a hole is: `delimiter` of a here-document, `pattern` or `subject` of a `case`,
one of the `list` of a `for`; `text` is in no word: in a comment, a here-document, arithmetic."""

PLACEHOLDER_MARK: Final = "\uffff"
"""Stands for a hole in the text of a word; XML has no such character."""

EXPANSION_MARK: Final = "\ufffe"
"""Stands for `$x`, `$(...)`, ... in the text of a word."""

BLANKS: Final = frozenset(" \t")
METACHARACTERS: Final = frozenset(" \t\n;&|<>()")
MAX_DEPTH: Final = 60
MAX_COMMAND_WORDS: Final = 200
"""A command's words that are remembered: more would make a long one slow."""


@final
@dataclass(slots=True, eq=False)
class Command:
    """A simple command while it is read: its words so far, and the command that its output goes into."""

    words: list[str] = field(default_factory=list)
    output_command: Command | None = None


@final
@dataclass(frozen=True, slots=True)
class Position:
    """Where a hole stands.

    `words` are the words of its command before its own, `prefix` what its own word has before it;
    both without quotes, `PLACEHOLDER_MARK` and `EXPANSION_MARK` for what is not known. In a here-document `delimiter`
    ends it and `line` is the hole's line. `backquoted`: inside `...`, where quotes do not protect.
    `feeds_arithmetic`: in a command whose output is computed with. `scope` is the function that it is in,
    `command` its simple command, `output_position` where the output of that goes by `$(...)`, `reading_commands` the
    commands whose standard input the here-document is, `offset` the offset of the item.
    """

    quote: Quote
    role: Role
    words: tuple[str, ...] = ()
    prefix: str = ""
    delimiter: str | None = None
    line: str = ""
    backquoted: bool = False
    feeds_arithmetic: bool = False
    scope: str = field(default="", compare=False)
    command: Command | None = field(default=None, compare=False)
    output_position: Position | None = field(default=None, compare=False)
    reading_commands: tuple[Command, ...] = field(default=(), compare=False)
    offset: int = field(default=0, compare=False)


@final
@dataclass(slots=True)
class Word:
    """A word while it is read: `text` without quotes; `quoted` if any part of it was.

    `words` are those before it, in a list that grows when the word is done.
    """

    role: Role
    words: Sequence[str] = ()
    text: str = ""
    quoted: bool = False


@final
@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here-document: what ends it, whether tabs are stripped, whether its text is literal.

    `reading_commands` are the simple commands whose standard input it is.
    """

    delimiter: str
    strip_tabs: bool
    is_literal: bool
    reading_commands: tuple[Command, ...] = ()
