"""Where the lexer of shell scripts is, and what it has recorded there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

from osprofile.lint.shell.position import (
    MAX_COMMAND_WORDS,
    MAX_NESTING_DEPTH,
    MAX_PREFIX_LENGTH,
    PLACEHOLDER_MARK,
    Command,
    HereDocument,
    Position,
    QuoteContext,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PlaceholderT = TypeVar("PlaceholderT")

NAME_CHARS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")


class NestingTooDeepError(Exception):
    """The script nests deeper than `MAX_NESTING_DEPTH`."""


@final
class ScriptCursor(Generic[PlaceholderT]):
    """A place in a script, or in a part of it, and what was recorded of the words before it.

    `script_offsets` are the items' offsets in the whole script. A part has the state of the place where it is: the text
    of a here-document, or of a command between backquotes, which is unescaped first.
    """

    def __init__(
        self,
        items: Sequence[str | PlaceholderT],
        script_offsets: Sequence[int],
        outer: ScriptCursor[PlaceholderT] | None = None,
    ) -> None:
        self.items = items
        self.script_offsets = script_offsets
        self.index = 0
        self.nesting_depth: int = outer.nesting_depth if outer else 0
        self.shell_dependent_depth: int = outer.shell_dependent_depth if outer else 0
        self.arithmetic_depth: int = outer.arithmetic_depth if outer else 0
        self.is_backquoted: bool = outer.is_backquoted if outer else False
        self.enclosing_document: HereDocument | None = outer.enclosing_document if outer else None
        self.here_line_texts: dict[int, str] = outer.here_line_texts if outer else {}
        self.function_name: str = outer.function_name if outer else ""
        self.enclosing_substitution: Position | None = None
        self.current_command = Command()
        self.placeholders: list[tuple[PlaceholderT, Position]] = []
        self.variable_positions: list[tuple[str, Position]] = []
        self.unclosed: list[tuple[int, str]] = []
        self.comment_offsets: list[int] = []

    def peek(self, ahead: int = 0) -> str | PlaceholderT:
        """Return the item `ahead` of the current one, the empty string after the end."""
        index = self.index + ahead
        return self.items[index] if index < len(self.items) else ""

    def current_position(self, quote: QuoteContext, word: Word, line: str = "") -> Position:
        """Return the position of the next item of a word; `line` is its line in a here-document."""
        role, prefix = word.role, word.text[:MAX_PREFIX_LENGTH]
        if role == "command" and is_assignment(prefix):
            role = "assignment"
        document = self.enclosing_document
        return Position(
            "shell-dependent" if self.shell_dependent_depth and quote == "single" else quote,
            role, tuple(word.preceding_words[:MAX_COMMAND_WORDS]), prefix,
            document.delimiter if document else None, line, self.is_backquoted,
            bool(self.arithmetic_depth) and quote != "arithmetic",
            self.function_name, self.current_command, self.enclosing_substitution,
            document.readers if document else (),
            self.script_offsets[min(self.index, len(self.script_offsets) - 1)],
        )  # fmt: skip

    def add_placeholder(self, placeholder: PlaceholderT, quote: QuoteContext, word: Word) -> None:
        """Record a placeholder as part of a word, and step over it."""
        self.index += 1
        line = self.here_line_texts.get(id(placeholder), "")
        self.placeholders.append((placeholder, self.current_position(quote, word, line)))
        word.text += PLACEHOLDER_MARK

    def add_variable(self, name: str, quote: QuoteContext, word: Word) -> None:
        """Record the use of a variable, whose name was just read."""
        self.index -= len(name)  # where it begins
        self.variable_positions.append((name, self.current_position(quote, word)))
        self.index += len(name)

    def read_literal(self, item: str, word: Word) -> None:
        """Step over a character that stands for itself."""
        word.text += item
        self.index += 1

    def add_unclosed(self, start: int, label: str) -> None:
        """Record that what begins at `start` is not closed."""
        index = min(start, len(self.script_offsets) - 1)
        self.unclosed.append((self.script_offsets[index] if self.script_offsets else 0, label))

    def read_name(self) -> str:
        """Read a name; return it, empty if there is none."""
        name = ""
        while isinstance(item := self.peek(), str) and item in NAME_CHARS:
            name += item
            self.index += 1
        return name

    def enter_nesting(self) -> None:
        """Enter one level of nesting; raise `NestingTooDeepError` if there are too many."""
        self.nesting_depth += 1
        if self.nesting_depth > MAX_NESTING_DEPTH:
            raise NestingTooDeepError

    def add_results(self, part: ScriptCursor[PlaceholderT]) -> None:
        """Add what was recorded of a part of the script."""
        self.placeholders += part.placeholders
        self.variable_positions += part.variable_positions
        self.unclosed += part.unclosed


def is_assignment(text: str) -> bool:
    """Return whether a word, as far as it was read, begins with `NAME=`."""
    name, equals, _ = text.partition("=")
    return bool(equals) and bool(name) and not name[0].isdigit() and NAME_CHARS.issuperset(name)
