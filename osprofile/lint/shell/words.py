"""Words of a shell script: quotes and expansions (POSIX 2.2, 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, final

from osprofile.lint.shell.cursor import NAME_CHARS, PlaceholderT
from osprofile.lint.shell.position import (
    BLANKS,
    EXPANSION_MARK,
    MAX_COMMAND_WORDS,
    METACHARACTERS,
    Position,
    QuoteContext,
    Role,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.lint.shell.cursor import ScriptCursor

_TRIM_OPERATORS: Final = frozenset("#%")
_PARAMETER_OPERATORS: Final = frozenset("-=?+") | _TRIM_OPERATORS
_SPECIAL_PARAMETERS: Final = frozenset("@*#?-$!")


@final
class WordReader(Generic[PlaceholderT]):
    """Reads words at a cursor, with their quotes and expansions.

    `read_nested_commands(start, label)` reads those of a `$(`, and `read_backquoted_commands(items, offsets, position)`
    those between backquotes.
    """

    def __init__(
        self,
        cursor: ScriptCursor[PlaceholderT],
        read_nested_commands: Callable[[int, str], None],
        read_backquoted_commands: Callable[[list[str | PlaceholderT], list[int], Position], None],
    ) -> None:
        self._cursor = cursor
        self._read_nested_commands = read_nested_commands
        self._read_backquoted_commands = read_backquoted_commands
        self._not_arithmetic_starts: set[int] = set()

    def read_word(self, role: Role, words: Sequence[str] = ()) -> Word:
        """Read one word up to an unquoted blank or operator, at least one item."""
        cursor = self._cursor
        word, start = Word(role, words), cursor.index
        while (item := cursor.peek()) != "" and item not in METACHARACTERS:
            self.read_word_piece(item, word)
        if cursor.index == start:
            cursor.index += 1
        return word

    def read_word_piece(self, item: str | PlaceholderT, word: Word) -> None:
        """Read one piece of an unquoted word."""
        cursor = self._cursor
        if not isinstance(item, str):
            cursor.add_placeholder(item, "unquoted", word)
        elif item == "'":
            self.read_single_quotes(word, "single")
        elif item == '"':
            self.read_double_quotes(word)
        elif item == "\\":
            self.read_escape(word)
        elif item == "$":
            self.read_dollar(word, "unquoted")
        elif item == "`":
            self.read_backquotes(word, "unquoted")
        else:
            cursor.read_literal(item, word)

    def read_escape(self, word: Word) -> None:
        """Read a backslash and the character that it quotes; before a line end, both are ignored."""
        cursor = self._cursor
        following = cursor.peek(1)
        cursor.index += 1
        if isinstance(following, str):  # before a placeholder it quotes the value's first character
            cursor.index += 1
            if following != "\n":
                word.text += following
                word.is_quoted = True

    def read_single_quotes(self, word: Word, quote: QuoteContext) -> None:
        """Read `'...'`."""
        cursor = self._cursor
        start = cursor.index
        cursor.index += 1
        word.is_quoted = True
        while (item := cursor.peek()) != "'":
            if item == "":
                cursor.add_unclosed(start, "a single quote")
                return
            if isinstance(item, str):
                cursor.read_literal(item, word)
            else:
                cursor.add_placeholder(item, quote, word)
        cursor.index += 1

    def read_double_quotes(self, word: Word) -> None:
        """Read `"..."`."""
        cursor = self._cursor
        start = cursor.index
        cursor.index += 1
        word.is_quoted = True
        while (item := cursor.peek()) != '"':
            if item == "":
                cursor.add_unclosed(start, "a double quote")
                return
            self.read_quoted_piece(item, word, "double")
        cursor.index += 1

    def read_quoted_piece(self, item: str | PlaceholderT, word: Word, quote: QuoteContext) -> None:
        """Read one piece of text in double quotes or in a here-document."""
        cursor = self._cursor
        if not isinstance(item, str):
            cursor.add_placeholder(item, quote, word)
        elif item == "\\":
            following = cursor.peek(1)
            step = 2 if isinstance(following, str) else 1
            word.text += following if step == 2 and following in set('$`"\\') else item
            cursor.index += step
        elif item == "$":
            self.read_dollar(word, quote)
        elif item == "`":
            self.read_backquotes(word, quote)
        else:
            cursor.read_literal(item, word)

    def read_dollar(self, word: Word, quote: QuoteContext) -> None:
        """Read an expansion, which begins with `$`; `quote` is the quoting around it."""
        cursor = self._cursor
        following = cursor.peek(1)
        if following == "(":
            has_two = cursor.peek(2) == "("
            if has_two and self.read_arithmetic(word):
                return
            # dash and bash read `$((` without a matching `))` differently.
            cursor.shell_dependent_depth += has_two
            self.read_substitution(word, quote)
            cursor.shell_dependent_depth -= has_two
        elif following == "{":
            self.read_parameter(word, quote)
        elif following == "'" and quote == "unquoted":
            cursor.index += 1
            self.read_single_quotes(word, "dollar-single")
        elif following == '"' and quote == "unquoted":
            cursor.index += 1
        elif not isinstance(following, str):
            cursor.index += 1
            cursor.add_placeholder(following, "after-dollar", word)
        else:
            self.read_bare_parameter(following, quote, word)

    def read_bare_parameter(self, following: str, quote: QuoteContext, word: Word) -> None:
        """Read `$x`, `$1`, `$?`, or a literal `$`."""
        cursor = self._cursor
        cursor.index += 1
        if following in _SPECIAL_PARAMETERS or (following and following in "0123456789"):
            cursor.add_variable(following, quote, word)
            cursor.index += 1
            word.text += EXPANSION_MARK
        elif following in NAME_CHARS:
            cursor.add_variable(cursor.read_name(), quote, word)
            word.text += EXPANSION_MARK
        else:
            word.text += "$"

    def read_substitution(self, word: Word, quote: QuoteContext) -> None:
        """Read `$(...)`, inside which quoting starts afresh."""
        cursor = self._cursor
        start, output = cursor.index, cursor.enclosing_substitution
        cursor.enclosing_substitution = cursor.current_position(quote, word)
        cursor.index += 2
        self._read_nested_commands(start, "a $(")
        cursor.enclosing_substitution = output
        word.text += EXPANSION_MARK

    def read_arithmetic(self, word: Word) -> bool:
        """Read `$((...))` and return True; if it is not arithmetic, read nothing and return False."""
        cursor = self._cursor
        if cursor.index in self._not_arithmetic_starts:  # trying nested ones again takes exponential time
            return False
        results: list[list[Any]] = [
            cursor.placeholders,
            cursor.unclosed,
            cursor.comment_offsets,
            cursor.variable_positions,
        ]
        start, lengths = cursor.index, [len(result) for result in results]
        cursor.index += 3
        cursor.arithmetic_depth += 1
        cursor.enter_nesting()
        complete = self.read_arithmetic_body()
        cursor.nesting_depth -= 1
        cursor.arithmetic_depth -= 1
        if complete:
            word.text += EXPANSION_MARK
            return True
        cursor.index = start
        self._not_arithmetic_starts.add(start)
        for result, length in zip(results, lengths, strict=True):  # undo what the attempt recorded
            del result[length:]
        return False

    def read_arithmetic_body(self) -> bool:
        """Read up to the `))`; return False if something before it cannot be arithmetic."""
        cursor = self._cursor
        depth = 0
        while (item := cursor.peek()) not in ("", "'", '"', "#"):
            if item == "(":
                depth += 1
            elif item == ")" and depth:
                depth -= 1
            elif item == ")":
                cursor.index += 2
                return cursor.items[cursor.index - 1 : cursor.index] == [")"]
            self.read_arithmetic_piece(item)
        return False

    def read_arithmetic_piece(self, item: str | PlaceholderT) -> None:
        """Read one piece of an arithmetic expression."""
        cursor = self._cursor
        inner = Word("non-word")
        if not isinstance(item, str):
            cursor.add_placeholder(item, "arithmetic", inner)
        elif item == "$":
            self.read_dollar(inner, "arithmetic")
        elif item == "`":
            self.read_backquotes(inner, "arithmetic")
        elif item in NAME_CHARS:
            name = cursor.read_name()
            if not name[0].isdigit():
                cursor.add_variable(name, "arithmetic", inner)
        else:
            cursor.index += 1

    def read_parameter(self, word: Word, quote: QuoteContext) -> None:
        """Read `${...}`; inside double quotes, single quotes in it are plain text."""
        cursor = self._cursor
        start = cursor.index
        cursor.index += 2
        cursor.enter_nesting()
        words = list(word.preceding_words[:MAX_COMMAND_WORDS])
        inner = Word(word.role, words, word.text)
        trims = self.read_parameter_name(quote, inner)
        while (item := cursor.peek()) != "}":
            if item == "":
                cursor.add_unclosed(start, "a ${")
                break
            if quote == "unquoted" and (item in BLANKS or item == "\n"):
                words.append(inner.text)
                inner.text = ""
                inner.role = "argument" if inner.role == "command" else inner.role
                cursor.index += 1
            elif quote == "unquoted":
                self.read_word_piece(item, inner)
            elif item == '"' and quote == "double":
                self.read_double_quotes(inner)
            elif item == "'" and trims:
                self.read_single_quotes(inner, "shell-dependent")
            else:
                self.read_quoted_piece(item, inner, quote)
        cursor.index += 1
        cursor.nesting_depth -= 1
        word.text += EXPANSION_MARK

    def read_parameter_name(self, quote: QuoteContext, word: Word) -> bool:
        """Read name and operator of `${name...}`; return whether the operator trims (`#` or `%`)."""
        cursor = self._cursor
        first = cursor.peek()
        is_length = first == "#" and cursor.peek(1) != "}"
        if is_length:
            cursor.index += 1  # ${#name}
        elif isinstance(first, str) and first in _SPECIAL_PARAMETERS:
            cursor.add_variable(first, quote, word)
            cursor.index += 1
        name, end = cursor.read_name(), cursor.index
        cursor.index += cursor.peek() == ":"
        operator = cursor.peek()
        if (
            name and not is_length and operator != "+"
        ):  # `${x+word}` tests the variable and does not use its value
            cursor.index = end
            cursor.add_variable(name, quote, word)
            cursor.index += cursor.peek() == ":"
        cursor.index += operator in _PARAMETER_OPERATORS
        cursor.index += operator == cursor.peek() and operator in _TRIM_OPERATORS
        return operator in _TRIM_OPERATORS

    def read_backquotes(self, word: Word, quote: QuoteContext) -> None:
        """Read a backquoted command: its text is unescaped once, then read by a lexer of its own."""
        cursor = self._cursor
        start = cursor.index
        cursor.index += 1
        items: list[str | PlaceholderT] = []
        indices: list[int] = []
        escaped = {"$", "`", "\\", *('"' if quote == "double" else "")}
        while (item := cursor.peek()) != "`":
            if item == "":
                cursor.add_unclosed(start, "a backquote")
                break
            if item == "\\" and cursor.peek(1) in escaped:
                cursor.index += 1
            items.append(cursor.items[cursor.index])
            indices.append(cursor.script_offsets[cursor.index])
            cursor.index += 1
        cursor.index += 1
        self._read_backquoted_commands(items, indices, cursor.current_position(quote, word))
        word.text += EXPANSION_MARK
