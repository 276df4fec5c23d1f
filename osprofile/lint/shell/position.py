"""Where a placeholder is in a script: the quoting in effect, the word's role, and the enclosing command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Sequence

QuoteContext = Literal[
    "unquoted",
    "single",
    "double",
    "here-document",
    "literal-here-document",  # its delimiter is quoted: nothing in it is expanded
    "comment",
    "arithmetic",
    "after-dollar",  # after a bare `$`: the value would be a variable's name
    "dollar-single",  # `$'...'`, which only some shells know
    "shell-dependent",  # `'...'` in `"${x#...}"`, or in a `$((...` that is not arithmetic: shells differ
]
"""The quoting in effect."""

Role = Literal[
    "command",
    "argument",
    "assignment",
    "redirection",
    "here-delimiter",
    "case-pattern",
    "case-subject",
    "for-item",
    "non-word",  # in a comment, a here-document, or arithmetic
]
"""The role of a word."""

PLACEHOLDER_MARK: Final = "\uffff"
"""Stands for a placeholder in the text of a word; XML does not allow this character."""

EXPANSION_MARK: Final = "\ufffe"
"""Stands for `$x`, `$(...)` and other expansions in the text of a word; not allowed in XML either."""

Variable = tuple[str, str]
"""The function whose positional parameter it is (empty for all other variables), and its name."""
BLANKS: Final = frozenset(" \t")
METACHARACTERS: Final = frozenset(" \t\n;&|<>()")
MAX_NESTING_DEPTH: Final = 60
"""Each level uses several Python frames, and Python's default recursion limit is 1000."""
MAX_COMMAND_WORDS: Final = 200
"""Words of a command that a position copies: copying all of them would take quadratic time."""
MAX_PREFIX_LENGTH: Final = 1000
"""Characters of its word that a position copies, for the same reason."""


@final
@dataclass(slots=True, eq=False)  # compared by identity: two commands may have the same words
class Command:
    """A simple command: its words so far, and the command that its output is piped into."""

    words: list[str] = field(default_factory=list)
    piped_into: Command | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """The position of a placeholder, or of the use of a variable.

    Texts are without quotes, with `PLACEHOLDER_MARK` and `EXPANSION_MARK` for unknown text.

    - `preceding_words`: the words of its command before its own word
    - `prefix`: the text of its own word before it
    - `here_delimiter`, `here_line_text`: in a here-document, its delimiter and the text of its line
    - `is_backquoted`: inside backquotes, where quotes do not protect
    - `feeds_arithmetic`: in a command whose output is used in arithmetic
    - `function_name`: the enclosing function, empty outside of functions
    - `enclosing_substitution`: the position of the enclosing command substitution
    - `here_document_readers`: the commands that read the enclosing here-document
    - `script_offset`: the index of its item in the script
    """

    quote: QuoteContext
    role: Role
    preceding_words: tuple[str, ...] = ()
    prefix: str = ""
    here_delimiter: str | None = None
    here_line_text: str = ""
    is_backquoted: bool = False
    feeds_arithmetic: bool = False
    function_name: str = ""
    command: Command | None = None
    enclosing_substitution: Position | None = None
    here_document_readers: tuple[Command, ...] = ()
    script_offset: int = 0


@final
@dataclass(slots=True)
class Word:
    """A word being read: `text` is without quotes; `is_quoted` is True if any part of it was quoted.

    `preceding_words` is the list of its command, to which the complete word is appended.
    """

    role: Role
    preceding_words: Sequence[str] = ()
    text: str = ""
    is_quoted: bool = False


@final
@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here-document; its `readers` are the simple commands that have it as their standard input.

    `strips_tabs`: it begins with `<<-`. `is_literal`: its delimiter is quoted, so nothing is expanded.
    """

    delimiter: str
    strips_tabs: bool
    is_literal: bool
    readers: tuple[Command, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class QuotingFault:
    """Why a value is unsafe: a code, the position as the end of "is used ...", and a remedy."""

    code: str
    position_text: str
    remedy: str = ""


@final
class ReachedPosition(NamedTuple):
    """A position that a value reaches; `may_begin` says whether a word there may begin with the value.

    `source` is the variable (`$x`) or output (`$(...)`) that contains it; empty where it is put in.
    """

    source: str
    position: Position
    may_begin: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlowStep:
    """The positions that a value reaches in one step, and the variables that are set to it there.

    Each variable has whether its value may begin with it. `cached_faults` has one entry when the step was
    examined: many values reach the same variables.
    """

    positions: list[ReachedPosition]
    variables: list[tuple[Variable, bool]]
    cached_faults: list[tuple[QuotingFault | None, QuotingFault | None]] = field(default_factory=list)
