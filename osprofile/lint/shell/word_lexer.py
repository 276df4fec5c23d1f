"""Words of a shell script: quotes, expansions, and where in them a value stands (POSIX 2.2, 2.6).

A script is a sequence of items: single characters, and holes, where a value will stand. A hole
counts as text of unknown content: the lexer says how the text around it would be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from osprofile.lint.shell.position import (
    BLANKS,
    EXPANSION_MARK,
    MAX_COMMAND_WORDS,
    MAX_DEPTH,
    METACHARACTERS,
    PLACEHOLDER_MARK,
    Command,
    HereDocument,
    Position,
    Quote,
    Role,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PlaceholderT = TypeVar("PlaceholderT")
_NAME_CHARS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
_TRIM_OPERATORS: Final = frozenset("#%")
_PARAMETER_OPERATORS: Final = frozenset("-=?+") | _TRIM_OPERATORS
_SPECIAL_PARAMETERS: Final = frozenset("@*#?-$!")


class TooDeepError(Exception):
    """The script nests deeper than the lexer follows."""


class WordLexer(Generic[PlaceholderT]):
    """Reads words from `index` on; notes what it finds.

    `indices` are the items' offsets in the whole script. Of another lexer's part of it, as the text
    between backquotes is, `output_position` is that one.
    """

    def __init__(
        self,
        items: Sequence[str | PlaceholderT],
        indices: Sequence[int],
        outer: WordLexer[PlaceholderT] | None = None,
    ) -> None:
        self.items = items
        self.indices = indices
        self.depth: int = outer.depth if outer else 0
        self.doubt_depth: int = outer.doubt_depth if outer else 0
        self.arithmetic_depth: int = outer.arithmetic_depth if outer else 0
        self.backquoted: bool = outer.backquoted if outer else False
        self.open_document: HereDocument | None = outer.open_document if outer else None
        self.placeholder_lines: dict[int, str] = outer.placeholder_lines if outer else {}
        self.index = 0
        self.placeholders: list[tuple[PlaceholderT, Position]] = []
        self.variables: list[tuple[str, Position]] = []
        self.unclosed: list[tuple[int, str]] = []
        self.comments: list[int] = []
        self.functions: set[str] = set()
        self.shifting_functions: set[str] = set()
        self.pending_documents: list[HereDocument] = []
        self.not_arithmetic: set[int] = set()
        self.scope: str = outer.scope if outer else ""
        self.command = Command()
        self.output_position: Position | None = None

    def read_commands(self, stop: str) -> str:
        """Read commands; the lexer of commands says how."""
        raise NotImplementedError

    def peek(self, ahead: int = 0) -> str | PlaceholderT:
        """Give an item; the empty string behind the end."""
        at = self.index + ahead
        return self.items[at] if at < len(self.items) else ""

    def current_position(self, quote: Quote, word: Word, line: str = "") -> Position:
        """Give the position of what stands next in a word."""
        role = word.role
        if role == "command" and is_assignment(word.text):
            role = "assignment"
        return Position(
            "doubtful" if self.doubt_depth and quote == "single" else quote,
            role, tuple(word.words[:MAX_COMMAND_WORDS]), word.text, self.open_document.delimiter if self.open_document else None, line,
            self.backquoted, bool(self.arithmetic_depth) and quote != "arithmetic",
            self.scope, self.command, self.output_position, self.open_document.reading_commands if self.open_document else (),
            self.indices[min(self.index, len(self.indices) - 1)],
        )  # fmt: skip

    def add_placeholder(self, placeholder: PlaceholderT, quote: Quote, word: Word) -> None:
        """Note a hole as part of a word, and step over it."""
        self.index += 1
        self.placeholders.append(
            (
                placeholder,
                self.current_position(quote, word, self.placeholder_lines.get(id(placeholder), "")),
            )
        )
        word.text += PLACEHOLDER_MARK

    def add_variable(self, name: str, quote: Quote, word: Word) -> None:
        """Note the use of a variable."""
        self.index -= len(name)  # where it begins
        self.variables.append((name, self.current_position(quote, word)))
        self.index += len(name)

    def read_literal(self, item: str, word: Word) -> None:
        """Step over a character that stands for itself."""
        word.text += item
        self.index += 1

    def add_unclosed(self, start: int, label: str) -> None:
        """Note that what begins at `start` does not end."""
        at = min(start, len(self.indices) - 1)
        self.unclosed.append((self.indices[at] if self.indices else 0, label))

    def read_word(self, role: Role, words: Sequence[str] = ()) -> Word:
        """Read one word, up to an unquoted blank or operator; one item at least."""
        word, start = Word(role, words), self.index
        while (item := self.peek()) != "" and item not in METACHARACTERS:
            self.read_piece(item, word)
        if self.index == start:
            self.index += 1
        return word

    def read_piece(self, item: str | PlaceholderT, word: Word) -> None:
        """Read one piece of an unquoted word."""
        if not isinstance(item, str):
            self.add_placeholder(item, "unquoted", word)
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
            self.read_literal(item, word)

    def read_escape(self, word: Word) -> None:
        """Read a backslash and what it makes literal; with a line end it is nothing."""
        following = self.peek(1)
        self.index += 1
        if isinstance(following, str):  # in front of a hole it is the value's first character's
            self.index += 1
            if following != "\n":
                word.text += following
                word.quoted = True

    def read_single_quotes(self, word: Word, quote: Quote) -> None:
        """Read `'...'`."""
        start = self.index
        self.index += 1
        word.quoted = True
        while (item := self.peek()) != "'":
            if item == "":
                self.add_unclosed(start, "a single quote")
                return
            if isinstance(item, str):
                self.read_literal(item, word)
            else:
                self.add_placeholder(item, quote, word)
        self.index += 1

    def read_double_quotes(self, word: Word) -> None:
        """Read `"..."`."""
        start = self.index
        self.index += 1
        word.quoted = True
        while (item := self.peek()) != '"':
            if item == "":
                self.add_unclosed(start, "a double quote")
                return
            self.read_quoted_piece(item, word, "double")
        self.index += 1

    def read_quoted_piece(self, item: str | PlaceholderT, word: Word, quote: Quote) -> None:
        """Read one piece of what is in double quotes, or in a here-document."""
        if not isinstance(item, str):
            self.add_placeholder(item, quote, word)
        elif item == "\\":
            following = self.peek(1)
            step = 2 if isinstance(following, str) else 1
            word.text += following if step == 2 and following in set('$`"\\') else item
            self.index += step
        elif item == "$":
            self.read_dollar(word, quote)
        elif item == "`":
            self.read_backquotes(word, quote)
        else:
            self.read_literal(item, word)

    # Expansions

    def read_dollar(self, word: Word, quote: Quote) -> None:
        """Read what begins with `$`; `quote` is what it stands in."""
        following = self.peek(1)
        if following == "(":
            doubtful = self.peek(2) == "("
            if doubtful and self.read_arithmetic(word):
                return
            self.doubt_depth += doubtful  # dash and bash do not agree on what else it could be
            self.read_substitution(word, quote)
            self.doubt_depth -= doubtful
        elif following == "{":
            self.read_parameter(word, quote)
        elif following == "'" and quote == "unquoted":
            self.index += 1
            self.read_single_quotes(word, "dollar-single")
        elif following == '"' and quote == "unquoted":
            self.index += 1
        elif not isinstance(following, str):
            self.index += 1
            self.add_placeholder(following, "name", word)
        else:
            self.read_bare_parameter(following, quote, word)

    def read_bare_parameter(self, following: str, quote: Quote, word: Word) -> None:
        """Read `$x`, `$1`, `$?`, or a `$` that stands for itself."""
        self.index += 1
        if following in _SPECIAL_PARAMETERS or (following and following in "0123456789"):
            self.add_variable(following, quote, word)
            self.index += 1
            word.text += EXPANSION_MARK
        elif following in _NAME_CHARS:
            self.add_variable(self.read_name(), quote, word)
            word.text += EXPANSION_MARK
        else:
            word.text += "$"

    def read_name(self) -> str:
        """Read a name."""
        name = ""
        while isinstance(item := self.peek(), str) and item in _NAME_CHARS:
            name += item
            self.index += 1
        return name

    def enter_nesting(self) -> None:
        """Count one level of nesting; raise where there are too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeepError

    def read_substitution(self, word: Word, quote: Quote) -> None:
        """Read `$(...)`, in which quoting begins anew."""
        start, output = self.index, self.output_position
        self.output_position = self.current_position(quote, word)
        self.index += 2
        self.read_nested_commands(start, "a $(")
        self.output_position = output
        word.text += EXPANSION_MARK

    def read_nested_commands(self, start: int, label: str) -> None:
        """Read commands up to the closing parenthesis."""
        self.enter_nesting()
        self.read_commands(")")
        self.depth -= 1
        if self.peek() == ")":
            self.index += 1
        else:
            self.add_unclosed(start, label)

    def read_arithmetic(self, word: Word) -> bool:
        """Read `$((...))`; if it is none after all, read nothing and give False."""
        if self.index in self.not_arithmetic:  # so nested ones are not tried again and again
            return False
        noted: tuple[list[Any], ...] = (
            self.placeholders,
            self.unclosed,
            self.comments,
            self.variables,
        )
        start, marks = self.index, [len(each) for each in noted]
        self.index += 3
        self.arithmetic_depth += 1
        self.enter_nesting()
        ended = self.read_arithmetic_body()
        self.depth -= 1
        self.arithmetic_depth -= 1
        if ended:
            word.text += EXPANSION_MARK
            return True
        self.index = start
        self.not_arithmetic.add(start)
        for each, mark in zip(noted, marks, strict=True):
            del each[mark:]
        return False

    def read_arithmetic_body(self) -> bool:
        """Read up to the `))`; false if something comes before that is no arithmetic."""
        depth = 0
        while (item := self.peek()) not in ("", "'", '"', "#"):
            if item == "(":
                depth += 1
            elif item == ")" and depth:
                depth -= 1
            elif item == ")":
                self.index += 2
                return self.items[self.index - 1 : self.index] == [")"]
            self.read_arithmetic_piece(item)
        return False

    def read_arithmetic_piece(self, item: str | PlaceholderT) -> None:
        """Read one piece of an arithmetic expression."""
        inner = Word("text")
        if not isinstance(item, str):
            self.add_placeholder(item, "arithmetic", inner)
        elif item == "$":
            self.read_dollar(inner, "arithmetic")
        elif item == "`":
            self.read_backquotes(inner, "arithmetic")
        elif item in _NAME_CHARS:
            name = self.read_name()
            if not name[0].isdigit():
                self.add_variable(name, "arithmetic", inner)
        else:
            self.index += 1

    def read_parameter(self, word: Word, quote: Quote) -> None:
        """Read `${...}`: in double quotes, single quotes inside it are text."""
        start = self.index
        self.index += 2
        self.enter_nesting()
        words = list(word.words[:MAX_COMMAND_WORDS])
        inner = Word(word.role, words, word.text)
        trims = self.read_parameter_name(quote, inner)
        while (item := self.peek()) != "}":
            if item == "":
                self.add_unclosed(start, "a ${")
                break
            if quote == "unquoted" and (item in BLANKS or item == "\n"):
                words.append(inner.text)
                inner.text = ""
                inner.role = "argument" if inner.role == "command" else inner.role
                self.index += 1
            elif quote == "unquoted":
                self.read_piece(item, inner)
            elif item == '"' and quote == "double":
                self.read_double_quotes(inner)
            elif item == "'" and trims:
                self.read_single_quotes(inner, "doubtful")
            else:
                self.read_quoted_piece(item, inner, quote)
        self.index += 1
        self.depth -= 1
        word.text += EXPANSION_MARK

    def read_parameter_name(self, quote: Quote, word: Word) -> bool:
        """Step over name and operator of `${name...}`; say whether `#` or `%` follows, which trim."""
        first = self.peek()
        counts = first == "#" and self.peek(1) != "}"
        if counts:
            self.index += 1  # ${#name}
        elif isinstance(first, str) and first in _SPECIAL_PARAMETERS:
            self.add_variable(first, quote, word)
            self.index += 1
        name, end = self.read_name(), self.index
        self.index += self.peek() == ":"
        operator = self.peek()
        if name and not counts and operator != "+":  # else it is asked for and not used
            self.index = end
            self.add_variable(name, quote, word)
            self.index += self.peek() == ":"
        self.index += operator in _PARAMETER_OPERATORS
        self.index += operator == self.peek() and operator in _TRIM_OPERATORS
        return operator in _TRIM_OPERATORS

    def read_backquotes(self, word: Word, quote: Quote) -> None:
        """Read `...`: its text is unescaped once and then read as commands."""
        start = self.index
        self.index += 1
        items: list[str | PlaceholderT] = []
        indices: list[int] = []
        escaped = {"$", "`", "\\", *('"' if quote == "double" else "")}
        while (item := self.peek()) != "`":
            if item == "":
                self.add_unclosed(start, "a backquote")
                break
            if item == "\\" and self.peek(1) in escaped:
                self.index += 1
            items.append(self.items[self.index])
            indices.append(self.indices[self.index])
            self.index += 1
        self.index += 1
        inner = type(self)(items, indices, self)
        inner.backquoted = True
        inner.output_position = self.current_position(quote, word)
        inner.enter_nesting()
        inner.read_commands("")
        self.merge_lexer(inner)
        word.text += EXPANSION_MARK

    def merge_lexer(self, inner: WordLexer[PlaceholderT]) -> None:
        """Take over what another lexer of a part of the script found."""
        self.placeholders += inner.placeholders
        self.variables += inner.variables
        self.unclosed += inner.unclosed
        self.functions |= inner.functions
        self.shifting_functions |= inner.shifting_functions


def is_assignment(text: str) -> bool:
    """Say whether a word, as far as it is read, begins with `NAME=`."""
    name, equals, _ = text.partition("=")
    return bool(equals) and bool(name) and not name[0].isdigit() and _NAME_CHARS.issuperset(name)
