"""Commands of a shell script: lists, compound commands, redirections, here-documents (POSIX 2.9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, final

from osprofile.lint.shell.position import BLANKS, GAP, META, Command, HereDocument, Position, Word
from osprofile.lint.shell.words import Hole, TooDeepError, Words, is_assignment

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "esac"}
)
"""Words behind which a command may begin."""
POSITIONAL: Final = frozenset("@*") | {str(number) for number in range(1, 100)}
"""The names of the parameters that each function has for itself."""
Variable = tuple[str, str]
"""The function of a positional parameter, empty for what all of the script shares; the name."""
_OPENING: Final = frozenset({"if", "while", "until", "for", "case", "{"})
_CLOSING: Final = frozenset({"fi", "done", "}"})


@final
@dataclass(frozen=True, slots=True)
class Reading(Generic[Hole]):
    """What the lexer found: holes with their positions, in the order of the script.

    `comments` are the offsets at which comments begin, `unclosed` (offset, what) what has no end,
    `functions` the names of functions that the script defines, `shifting` those that use `shift`, `uses` the uses of each variable,
    `commands` the simple commands. `steps` is what `osprofile.lint.flow` keeps of variables.
    """

    holes: list[tuple[Hole, Position]]
    comments: frozenset[int]
    unclosed: list[tuple[int, str]]
    functions: frozenset[str]
    shifting: frozenset[str]
    uses: dict[Variable, list[Position]]
    commands: list[Command]
    steps: dict[tuple[Variable, bool], Any] = field(default_factory=dict)


def read(items: Sequence[str | Hole]) -> Reading[Hole]:
    """Read a script; of one that nests too deeply, what was read so far."""
    lexer = Lexer(items, range(len(items)))
    try:
        lexer.commands("")
    except TooDeepError:
        lexer.open_end(lexer.at, "nesting")
    uses = dict[Variable, list[Position]]()
    for name, position in lexer.variables:
        scope = position.scope if name in POSITIONAL else ""
        uses.setdefault((scope, name), []).append(position)
    return Reading(
        lexer.found, frozenset(lexer.comments), lexer.unclosed, frozenset(lexer.functions),
        frozenset(lexer.shifting),
        uses, lexer.simple,
    )  # fmt: skip


@final
class Lexer(Words[Hole]):
    """Reads commands."""

    def __init__(
        self, items: Sequence[str | Hole], indices: Sequence[int], outer: Words[Hole] | None = None
    ) -> None:
        super().__init__(items, indices, outer)
        self.defined = ""  # the function whose body comes next
        self.compound: list[
            tuple[int, str]
        ] = []  # where the open ones begin in `simple`; the scope
        self.simple: list[Command] = outer.simple if isinstance(outer, Lexer) else []
        self.closed = 0  # where the compound command that has just ended begins
        self.piped = False

    def commands(self, stop: str) -> str:
        """Read commands up to an unquoted `)` (stop `)`), or `;;` or `esac` too (stop `case`).

        Gives what ended them; only `esac` is stepped over. With no `stop`, all that there is.
        """
        outside, closed = self.command, self.closed
        self.begin()
        ended = self.several(stop)
        self.command, self.closed = outside, closed
        return ended

    def begin(self, *, piped: bool = False) -> None:
        """Begin a simple command; the output of the one before goes into it if it is `piped`."""
        before, self.command = self.simple[self.closed :], Command()
        for command in before if piped else ():
            command.into = command.into or self.command
        self.closed, self.piped = len(self.simple), piped
        self.simple.append(self.command)

    def open(self) -> None:
        """Begin a compound command, which may be the body of a function."""
        self.compound.append((len(self.simple) - 1, self.scope))
        self.scope, self.defined = self.defined or self.scope, ""

    def close(self) -> None:
        """End a compound command."""
        if self.compound:
            self.closed, self.scope = self.compound.pop()

    def several(self, stop: str) -> str:
        """Read commands; see `commands`."""
        while (item := self.peek()) != "":
            if item == ")" and stop:
                return ")"
            if item == ";" and stop == "case" and self.peek(1) in (";", "&"):
                return ";;"
            words = self.command.words
            if item in META:
                self.operator(item, words)
            elif item == "#":
                self.comment()
            elif item == "\\" and self.peek(1) == "\n":
                self.at += 2
            elif self.command_word(words) == "esac" and stop == "case":
                return "esac"
        return ""

    def operator(self, item: str | Hole, words: list[str]) -> None:
        """Read an operator, a blank or a line end."""
        if item in ("<", ">"):
            self.redirection()
        elif item == "(":
            self.parenthesis(words)
        else:
            self.at += 1
            if item not in BLANKS and not (item == "\n" and self.piped and not words):
                pair = {item} & {self.peek(), self.items[self.at - 2] if self.at > 1 else ""}
                self.begin(piped=item == "|" and not pair)
            if item == "\n":
                self.here_documents()

    def comment(self) -> None:
        """Read a comment up to its line's end."""
        self.comments.append(self.indices[self.at])
        word = Word("text")
        while (item := self.peek()) not in ("", "\n"):
            if isinstance(item, str):
                self.at += 1
            else:
                self.hole(item, "comment", word)

    def parenthesis(self, words: list[str]) -> None:
        """Read a subshell, or the `()` of a function's definition."""
        start = self.at
        self.at += 1
        if len(words) == 1:
            self.skip(BLANKS)
            if self.peek() == ")":
                self.functions.add(words[0])
                self.defined = words[0]
                self.at += 1
                words.clear()
                return
        self.open()
        self.nested_commands(start, "a (")
        self.close()
        words.clear()

    def skip(self, items: frozenset[str]) -> None:
        """Step over blanks, or whatever `items` has; over comments and here-documents too."""
        while self.peek() in items or (self.peek() == "\\" and self.peek(1) == "\n"):
            self.at += 2 if self.peek() == "\\" else 1
            if self.items[self.at - 1] == "\n":
                self.here_documents()
        if self.peek() == "#" and "\n" in items:
            self.comment()
            self.skip(items)

    def command_word(self, words: list[str]) -> str:
        """Read a word of a simple command; give it if it is a reserved one."""
        word = self.word("argument" if words else "command", words)
        if not word.quoted and word.text.isdecimal() and self.peek() in ("<", ">"):
            return ""  # the number of a redirection
        if not (words or word.quoted) and word.text in _OPENING:
            self.open()
        if word.text == "shift" and not words:
            self.shifting.add(self.scope)
        if words or (word.quoted and not is_assignment(word.text)):
            words.append(word.text)
        elif word.text == "case":
            self.case()
            self.close()
        elif word.text == "for":
            self.for_list()
        elif word.text in _RESERVED:
            if word.text in _CLOSING:
                self.close()
            return word.text
        elif not is_assignment(word.text):
            words.append(word.text)
        return ""

    def case(self) -> None:
        """Read a `case` behind that word, up to its `esac`."""
        start = self.at
        newlines = BLANKS | {"\n"}
        self.deeper()
        self.skip(BLANKS)
        self.word("subject")
        self.skip(newlines)
        self.word("pattern")  # in
        ended = ";;"
        while ended == ";;":
            self.skip(newlines)
            if self.peek() == "(":
                self.at += 1
                self.skip(BLANKS)
            ended = self.case_item()
        if ended == "":
            self.open_end(start, "a case")
        self.depth -= 1

    def case_item(self) -> str:
        """Read patterns and their commands; give what ended them: `;;`, `esac`, `)` or the end."""
        while (item := self.peek()) != ")":
            if item == "":
                return ""
            if item in BLANKS or item == "|":
                self.at += 1
                continue
            word = self.word("pattern")
            if word.text == "esac" and not word.quoted:
                return "esac"
        self.at += 1
        ended = self.commands("case")
        self.at += 2 if ended == ";;" else 0
        return ended

    def for_list(self) -> None:
        """Read `NAME in WORD...` behind `for`."""
        self.skip(BLANKS)
        name = self.word("list").text
        self.skip(BLANKS | {"\n"})
        if self.peek() == ";" or self.word("list").text != "in":
            self.variable("@", "double", Word("list", [name]))
            return  # for NAME; do, or for NAME do
        self.skip(BLANKS)
        while self.peek() not in ("", ";", "\n", "&", ")"):
            self.word("list", [name])
            self.skip(BLANKS)

    # Redirections

    def redirection(self) -> None:
        """Read an operator of redirection and its word."""
        first = self.peek()
        self.at += 1
        second = self.peek()
        here = first == "<" and second == "<" and self.peek(1) != "<"
        while self.peek() in (("<",) if first == "<" and second == "<" else ("&", ">", "|")):
            self.at += 1
        strip = here and self.peek() == "-"
        self.at += strip
        self.skip(BLANKS)
        if here:
            word = self.word("delimiter")
            readers = tuple(self.simple[self.closed :])
            self.pending.append(HereDocument(word.text, strip, word.quoted, readers))
        elif self.peek() not in META:
            self.word("redirection")

    def here_documents(self) -> None:
        """Read the here-documents that the line just ended has announced."""
        pending, self.pending = self.pending, []
        for here in pending:
            self.here_document(here)

    def here_document(self, here: HereDocument) -> None:
        """Read a here-document's lines, its delimiter's included, and what stands in them."""
        start, lines = self.at, dict[int, str]()
        while self.at < len(self.items):
            begin = self.at
            while self.peek() not in ("", "\n"):
                self.at += 1
            line = self.items[begin : self.at]
            text = "".join(i if isinstance(i, str) else GAP for i in line)
            text = text.lstrip("\t") if here.strip else text
            self.at += 1
            if text == here.delimiter and GAP not in text:
                self.here_text(start, begin, here, lines)
                return
            lines.update((id(i), text) for i in line if not isinstance(i, str))
        self.open_end(start, f"the here-document {here.delimiter}")
        self.here_text(start, len(self.items), here, lines)

    def here_text(self, start: int, end: int, here: HereDocument, lines: dict[int, str]) -> None:
        """Read the text of a here-document: expansions, unless its delimiter is quoted."""
        inner: Lexer[Hole] = Lexer(self.items[start:end], self.indices[start:end], self)
        inner.here, inner.lines = here, lines
        word = Word("text")
        while (item := inner.peek()) != "":
            if not here.literal:
                inner.inside_double(item, word, "here")
            elif isinstance(item, str):
                inner.at += 1
            else:
                inner.hole(item, "here-quoted", word)
        self.take(inner)
