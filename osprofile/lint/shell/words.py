"""Words of a shell script: quotes, expansions, and where in them a value stands (POSIX 2.2, 2.6).

A script is a sequence of items: single characters, and holes, where a value will stand. A hole
counts as text of unknown content: the lexer says how the text around it would be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from osprofile.lint.shell.position import (
    BLANKS,
    EXPANSION,
    GAP,
    MAX_DEPTH,
    MAX_WORDS,
    META,
    Command,
    HereDocument,
    Position,
    Quote,
    Role,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Hole = TypeVar("Hole")
_NAME: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
_TRIMS: Final = frozenset("#%")
_OPERATORS: Final = frozenset("-=?+") | _TRIMS
_SPECIAL: Final = frozenset("@*#?-$!")


class TooDeepError(Exception):
    """The script nests deeper than the lexer follows."""


class Words(Generic[Hole]):
    """Reads words from `at` on; notes what it finds.

    `indices` are the items' offsets in the whole script. Of another lexer's part of it, as the text
    between backquotes is, `outer` is that one.
    """

    def __init__(
        self, items: Sequence[str | Hole], indices: Sequence[int], outer: Words[Hole] | None = None
    ) -> None:
        self.items = items
        self.indices = indices
        self.depth: int = outer.depth if outer else 0
        self.doubts: int = outer.doubts if outer else 0
        self.computing: int = outer.computing if outer else 0
        self.backquoted: bool = outer.backquoted if outer else False
        self.here: HereDocument | None = outer.here if outer else None
        self.lines: dict[int, str] = outer.lines if outer else {}
        self.at = 0
        self.found: list[tuple[Hole, Position]] = []
        self.variables: list[tuple[str, Position]] = []
        self.unclosed: list[tuple[int, str]] = []
        self.comments: list[int] = []
        self.functions: set[str] = set()
        self.shifting: set[str] = set()
        self.pending: list[HereDocument] = []
        self.no_arithmetic: set[int] = set()
        self.scope: str = outer.scope if outer else ""
        self.command = Command()
        self.output: Position | None = None

    def commands(self, stop: str) -> str:
        """Read commands; the lexer of commands says how."""
        raise NotImplementedError

    def peek(self, ahead: int = 0) -> str | Hole:
        """Give an item; the empty string behind the end."""
        at = self.at + ahead
        return self.items[at] if at < len(self.items) else ""

    def position(self, quote: Quote, word: Word, line: str = "") -> Position:
        """Give the position of what stands next in a word."""
        role = word.role
        if role == "command" and is_assignment(word.text):
            role = "assignment"
        return Position(
            "doubtful" if self.doubts and quote == "single" else quote,
            role, tuple(word.words[:MAX_WORDS]), word.text, self.here.delimiter if self.here else None, line,
            self.backquoted, bool(self.computing) and quote != "arithmetic",
            self.scope, self.command, self.output, self.here.readers if self.here else (),
            self.indices[min(self.at, len(self.indices) - 1)],
        )  # fmt: skip

    def hole(self, hole: Hole, quote: Quote, word: Word) -> None:
        """Note a hole as part of a word, and step over it."""
        self.at += 1
        self.found.append((hole, self.position(quote, word, self.lines.get(id(hole), ""))))
        word.text += GAP

    def variable(self, name: str, quote: Quote, word: Word) -> None:
        """Note the use of a variable."""
        self.at -= len(name)  # where it begins
        self.variables.append((name, self.position(quote, word)))
        self.at += len(name)

    def literal(self, item: str, word: Word) -> None:
        """Step over a character that stands for itself."""
        word.text += item
        self.at += 1

    def open_end(self, start: int, what: str) -> None:
        """Note that what begins at `start` does not end."""
        at = min(start, len(self.indices) - 1)
        self.unclosed.append((self.indices[at] if self.indices else 0, what))

    def word(self, role: Role, words: Sequence[str] = ()) -> Word:
        """Read one word, up to an unquoted blank or operator; one item at least."""
        word, start = Word(role, words), self.at
        while (item := self.peek()) != "" and item not in META:
            self.piece(item, word)
        if self.at == start:
            self.at += 1
        return word

    def piece(self, item: str | Hole, word: Word) -> None:
        """Read one piece of an unquoted word."""
        if not isinstance(item, str):
            self.hole(item, "unquoted", word)
        elif item == "'":
            self.single(word, "single")
        elif item == '"':
            self.double(word)
        elif item == "\\":
            self.escape(word)
        elif item == "$":
            self.dollar(word, "unquoted")
        elif item == "`":
            self.backquote(word, "unquoted")
        else:
            self.literal(item, word)

    def escape(self, word: Word) -> None:
        """Read a backslash and what it makes literal; with a line end it is nothing."""
        following = self.peek(1)
        self.at += 1
        if isinstance(following, str):  # in front of a hole it is the value's first character's
            self.at += 1
            if following != "\n":
                word.text += following
                word.quoted = True

    def single(self, word: Word, quote: Quote) -> None:
        """Read `'...'`."""
        start = self.at
        self.at += 1
        word.quoted = True
        while (item := self.peek()) != "'":
            if item == "":
                self.open_end(start, "a single quote")
                return
            if isinstance(item, str):
                self.literal(item, word)
            else:
                self.hole(item, quote, word)
        self.at += 1

    def double(self, word: Word) -> None:
        """Read `"..."`."""
        start = self.at
        self.at += 1
        word.quoted = True
        while (item := self.peek()) != '"':
            if item == "":
                self.open_end(start, "a double quote")
                return
            self.inside_double(item, word, "double")
        self.at += 1

    def inside_double(self, item: str | Hole, word: Word, quote: Quote) -> None:
        """Read one piece of what is in double quotes, or in a here-document."""
        if not isinstance(item, str):
            self.hole(item, quote, word)
        elif item == "\\":
            following = self.peek(1)
            step = 2 if isinstance(following, str) else 1
            word.text += following if step == 2 and following in set('$`"\\') else item
            self.at += step
        elif item == "$":
            self.dollar(word, quote)
        elif item == "`":
            self.backquote(word, quote)
        else:
            self.literal(item, word)

    # Expansions

    def dollar(self, word: Word, quote: Quote) -> None:
        """Read what begins with `$`; `quote` is what it stands in."""
        following = self.peek(1)
        if following == "(":
            doubtful = self.peek(2) == "("
            if doubtful and self.arithmetic(word):
                return
            self.doubts += doubtful  # dash and bash do not agree on what else it could be
            self.substitution(word, quote)
            self.doubts -= doubtful
        elif following == "{":
            self.parameter(word, quote)
        elif following == "'" and quote == "unquoted":
            self.at += 1
            self.single(word, "dollar-single")
        elif following == '"' and quote == "unquoted":
            self.at += 1
        elif not isinstance(following, str):
            self.at += 1
            self.hole(following, "name", word)
        else:
            self.plain_parameter(following, quote, word)

    def plain_parameter(self, following: str, quote: Quote, word: Word) -> None:
        """Read `$x`, `$1`, `$?`, or a `$` that stands for itself."""
        self.at += 1
        if following in _SPECIAL or (following and following in "0123456789"):
            self.variable(following, quote, word)
            self.at += 1
            word.text += EXPANSION
        elif following in _NAME:
            self.variable(self.name(), quote, word)
            word.text += EXPANSION
        else:
            word.text += "$"

    def name(self) -> str:
        """Read a name."""
        name = ""
        while isinstance(item := self.peek(), str) and item in _NAME:
            name += item
            self.at += 1
        return name

    def deeper(self) -> None:
        """Count one level of nesting; raise where there are too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeepError

    def substitution(self, word: Word, quote: Quote) -> None:
        """Read `$(...)`, in which quoting begins anew."""
        start, output = self.at, self.output
        self.output = self.position(quote, word)
        self.at += 2
        self.nested_commands(start, "a $(")
        self.output = output
        word.text += EXPANSION

    def nested_commands(self, start: int, what: str) -> None:
        """Read commands up to the closing parenthesis."""
        self.deeper()
        self.commands(")")
        self.depth -= 1
        if self.peek() == ")":
            self.at += 1
        else:
            self.open_end(start, what)

    def arithmetic(self, word: Word) -> bool:
        """Read `$((...))`; if it is none after all, read nothing and give False."""
        if self.at in self.no_arithmetic:  # so nested ones are not tried again and again
            return False
        noted: tuple[list[Any], ...] = (self.found, self.unclosed, self.comments, self.variables)
        start, marks = self.at, [len(each) for each in noted]
        self.at += 3
        self.computing += 1
        self.deeper()
        ended = self.arithmetic_end()
        self.depth -= 1
        self.computing -= 1
        if ended:
            word.text += EXPANSION
            return True
        self.at = start
        self.no_arithmetic.add(start)
        for each, mark in zip(noted, marks, strict=True):
            del each[mark:]
        return False

    def arithmetic_end(self) -> bool:
        """Read up to the `))`; false if something comes before that is no arithmetic."""
        depth = 0
        while (item := self.peek()) not in ("", "'", '"', "#"):
            if item == "(":
                depth += 1
            elif item == ")" and depth:
                depth -= 1
            elif item == ")":
                self.at += 2
                return self.items[self.at - 1 : self.at] == [")"]
            self.arithmetic_piece(item)
        return False

    def arithmetic_piece(self, item: str | Hole) -> None:
        """Read one piece of an arithmetic expression."""
        inner = Word("text")
        if not isinstance(item, str):
            self.hole(item, "arithmetic", inner)
        elif item == "$":
            self.dollar(inner, "arithmetic")
        elif item == "`":
            self.backquote(inner, "arithmetic")
        elif item in _NAME:
            name = self.name()
            if not name[0].isdigit():
                self.variable(name, "arithmetic", inner)
        else:
            self.at += 1

    def parameter(self, word: Word, quote: Quote) -> None:
        """Read `${...}`: in double quotes, single quotes inside it are text."""
        start = self.at
        self.at += 2
        self.deeper()
        words = list(word.words[:MAX_WORDS])
        inner = Word(word.role, words, word.text)
        trims = self.parameter_name(quote, inner)
        while (item := self.peek()) != "}":
            if item == "":
                self.open_end(start, "a ${")
                break
            if quote == "unquoted" and (item in BLANKS or item == "\n"):
                words.append(inner.text)
                inner.text = ""
                inner.role = "argument" if inner.role == "command" else inner.role
                self.at += 1
            elif quote == "unquoted":
                self.piece(item, inner)
            elif item == '"' and quote == "double":
                self.double(inner)
            elif item == "'" and trims:
                self.single(inner, "doubtful")
            else:
                self.inside_double(item, inner, quote)
        self.at += 1
        self.depth -= 1
        word.text += EXPANSION

    def parameter_name(self, quote: Quote, word: Word) -> bool:
        """Step over name and operator of `${name...}`; say whether `#` or `%` follows, which trim."""
        first = self.peek()
        counts = first == "#" and self.peek(1) != "}"
        if counts:
            self.at += 1  # ${#name}
        elif isinstance(first, str) and first in _SPECIAL:
            self.variable(first, quote, word)
            self.at += 1
        name, end = self.name(), self.at
        self.at += self.peek() == ":"
        operator = self.peek()
        if name and not counts and operator != "+":  # else it is asked for and not used
            self.at = end
            self.variable(name, quote, word)
            self.at += self.peek() == ":"
        self.at += operator in _OPERATORS
        self.at += operator == self.peek() and operator in _TRIMS
        return operator in _TRIMS

    def backquote(self, word: Word, quote: Quote) -> None:
        """Read `...`: its text is unescaped once and then read as commands."""
        start = self.at
        self.at += 1
        items: list[str | Hole] = []
        indices: list[int] = []
        escaped = {"$", "`", "\\", *('"' if quote == "double" else "")}
        while (item := self.peek()) != "`":
            if item == "":
                self.open_end(start, "a backquote")
                break
            if item == "\\" and self.peek(1) in escaped:
                self.at += 1
            items.append(self.items[self.at])
            indices.append(self.indices[self.at])
            self.at += 1
        self.at += 1
        inner = type(self)(items, indices, self)
        inner.backquoted = True
        inner.output = self.position(quote, word)
        inner.deeper()
        inner.commands("")
        self.take(inner)
        word.text += EXPANSION

    def take(self, inner: Words[Hole]) -> None:
        """Take over what another lexer of a part of the script found."""
        self.found += inner.found
        self.variables += inner.variables
        self.unclosed += inner.unclosed
        self.functions |= inner.functions
        self.shifting |= inner.shifting


def is_assignment(text: str) -> bool:
    """Say whether a word, as far as it is read, begins with `NAME=`."""
    name, equals, _ = text.partition("=")
    return bool(equals) and bool(name) and not name[0].isdigit() and _NAME.issuperset(name)
