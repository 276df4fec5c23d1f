"""What the lexer knows about a position in a script: its quotes, its role, its command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, final

if TYPE_CHECKING:
    from collections.abc import Sequence

Quote = Literal[
    "unquoted", "single", "double", "here", "here-quoted", "comment", "arithmetic",
    "name", "dollar-single", "doubtful",
]  # fmt: skip
"""How a placeholder is quoted. `name`: after a bare `$`. `dollar-single`: in `$'...'`, which only some
shells know. `doubtful`: in single quotes that not all shells treat as quotes, in `"${x#...}"` or in a
`$((...` that is not arithmetic."""

Role = Literal[
    "command", "argument", "assignment", "redirection", "delimiter", "pattern", "subject", "list",
    "text",
]  # fmt: skip
"""What the word of a placeholder is: the `delimiter` of a here-document, `pattern` or `subject` of a
`case`, an item of the `list` of a `for`; `text` is outside words: a comment, a here-document, arithmetic."""

PLACEHOLDER_MARK: Final = "\uffff"
"""Stands for a placeholder in the text of a word; XML does not allow this character."""

EXPANSION_MARK: Final = "\ufffe"
"""Stands for `$x`, `$(...)` and other expansions in the text of a word; not allowed in XML either."""

BLANKS: Final = frozenset(" \t")
METACHARACTERS: Final = frozenset(" \t\n;&|<>()")
MAX_DEPTH: Final = 60
"""Levels of nesting that are read: each takes several Python frames, of which there are 1000."""
MAX_COMMAND_WORDS: Final = 200
"""Words of a command that a position keeps: each position copies them, which is quadratic in time."""


@final
@dataclass(slots=True, eq=False)
class Command:
    """A simple command: its words so far, and the command that its output is piped into."""

    words: list[str] = field(default_factory=list)
    output_command: Command | None = None


@final
@dataclass(frozen=True, slots=True)
class Position:
    """The position of a placeholder, or of the use of a variable.

    `words` are the preceding words of its command, `prefix` the preceding text of its own word; both
    without quotes, with `PLACEHOLDER_MARK` and `EXPANSION_MARK` for unknown text. In a here-document,
    `delimiter` ends it and `line` is the line of the placeholder. `backquoted`: inside backquotes, where
    quotes do not protect. `feeds_arithmetic`: in a command whose output is used in arithmetic. `scope`
    is the enclosing function, `command` the simple command, `output_position` where its output is put
    by `$(...)`, `reading_commands` the commands that read the here-document, `offset` the offset of
    the item.
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
    """A word being read: `text` is without quotes; `quoted` is True if any part of it was quoted.

    `words` are the words before it, in a list that grows when the word is complete.
    """

    role: Role
    words: Sequence[str] = ()
    text: str = ""
    quoted: bool = False


@final
@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here-document: its delimiter, whether tabs are stripped, whether its text is literal.

    `reading_commands` are the simple commands that read it as their standard input.
    """

    delimiter: str
    strip_tabs: bool
    is_literal: bool
    reading_commands: tuple[Command, ...] = ()
