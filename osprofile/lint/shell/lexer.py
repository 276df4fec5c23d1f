"""Commands of a shell script: lists, compound commands, redirections, here-documents (POSIX 2.9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, final

from osprofile.lint.shell.position import (
    BLANKS,
    METACHARACTERS,
    PLACEHOLDER_MARK,
    Command,
    HereDocument,
    Position,
    Word,
)
from osprofile.lint.shell.word_lexer import PlaceholderT, TooDeepError, WordLexer, is_assignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.lint.dataflow import FlowStep

_RESERVED_WORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "esac"}
)
"""Words behind which a command may begin."""
POSITIONAL_NAMES: Final = frozenset("@*") | {str(number) for number in range(1, 100)}
"""The names of the parameters that each function has for itself."""
Variable = tuple[str, str]
"""The function of a positional parameter, empty for what all of the script shares; the name."""
_OPENING_WORDS: Final = frozenset({"if", "while", "until", "for", "case", "{"})
_CLOSING_WORDS: Final = frozenset({"fi", "done", "}"})


@final
@dataclass(frozen=True, slots=True)
class LexedScript(Generic[PlaceholderT]):
    """What the lexer found: holes with their positions, in the order of the script.

    `comments` are the offsets at which comments begin, `unclosed` (offset, what) what has no end,
    `functions` the names of functions that the script defines, `shifting_functions` those that use `shift`, `variable_uses`
    the uses of each variable, `read_commands` the simple commands. `flow_steps` is what `osprofile.lint.dataflow` keeps of variables.
    """

    placeholders: list[tuple[PlaceholderT, Position]]
    comments: frozenset[int]
    unclosed: list[tuple[int, str]]
    functions: frozenset[str]
    shifting_functions: frozenset[str]
    variable_uses: dict[Variable, list[Position]]
    commands: list[Command]
    flow_steps: dict[tuple[Variable, bool], FlowStep] = field(default_factory=dict)


def lex_script(items: Sequence[str | PlaceholderT]) -> LexedScript[PlaceholderT]:
    """Read a script; of one that nests too deeply, what was read so far."""
    lexer = ShellLexer(items, range(len(items)))
    try:
        lexer.read_commands("")
    except TooDeepError:
        lexer.add_unclosed(lexer.index, "nesting")
    uses = dict[Variable, list[Position]]()
    for name, position in lexer.variables:
        scope = position.scope if name in POSITIONAL_NAMES else ""
        uses.setdefault((scope, name), []).append(position)
    return LexedScript(
        lexer.placeholders, frozenset(lexer.comments), lexer.unclosed, frozenset(lexer.functions),
        frozenset(lexer.shifting_functions),
        uses, lexer.simple_commands,
    )  # fmt: skip


@final
class ShellLexer(WordLexer[PlaceholderT]):
    """Reads commands."""

    def __init__(
        self,
        items: Sequence[str | PlaceholderT],
        indices: Sequence[int],
        outer: WordLexer[PlaceholderT] | None = None,
    ) -> None:
        super().__init__(items, indices, outer)
        self.pending_function = ""  # the function whose body comes next
        self.open_compounds: list[
            tuple[int, str]
        ] = []  # where the open ones begin in `simple_commands`; the scope
        self.simple_commands: list[Command] = (
            outer.simple_commands if isinstance(outer, ShellLexer) else []
        )
        self.closed_start = 0  # where the compound command that has just ended begins
        self.after_pipe = False

    def read_commands(self, stop: str) -> str:
        """Read commands up to an unquoted `)` (stop `)`), or `;;` or `esac` too (stop `read_case`).

        Gives what ended them; only `esac` is stepped over. With no `stop`, all that there is.
        """
        outside, closed = self.command, self.closed_start
        self.begin_command()
        ended = self.read_command_list(stop)
        self.command, self.closed_start = outside, closed
        return ended

    def begin_command(self, *, piped: bool = False) -> None:
        """Begin a simple command; the output of the one before goes into it if it is `after_pipe`."""
        before, self.command = self.simple_commands[self.closed_start :], Command()
        for command in before if piped else ():
            command.output_command = command.output_command or self.command
        self.closed_start, self.after_pipe = len(self.simple_commands), piped
        self.simple_commands.append(self.command)

    def open_compound(self) -> None:
        """Begin a compound command, which may be the body of a function."""
        self.open_compounds.append((len(self.simple_commands) - 1, self.scope))
        self.scope, self.pending_function = self.pending_function or self.scope, ""

    def close_compound(self) -> None:
        """End a compound command."""
        if self.open_compounds:
            self.closed_start, self.scope = self.open_compounds.pop()

    def read_command_list(self, stop: str) -> str:
        """Read commands; see `read_commands`."""
        while (item := self.peek()) != "":
            if item == ")" and stop:
                return ")"
            if item == ";" and stop == "case" and self.peek(1) in (";", "&"):
                return ";;"
            words = self.command.words
            if item in METACHARACTERS:
                self.read_operator(item, words)
            elif item == "#":
                self.read_comment()
            elif item == "\\" and self.peek(1) == "\n":
                self.index += 2
            elif self.read_command_word(words) == "esac" and stop == "case":
                return "esac"
        return ""

    def read_operator(self, item: str | PlaceholderT, words: list[str]) -> None:
        """Read an operator, a blank or a line end."""
        if item in ("<", ">"):
            self.read_redirection()
        elif item == "(":
            self.read_parenthesis(words)
        else:
            self.index += 1
            if item not in BLANKS and not (item == "\n" and self.after_pipe and not words):
                pair = {item} & {self.peek(), self.items[self.index - 2] if self.index > 1 else ""}
                self.begin_command(piped=item == "|" and not pair)
            if item == "\n":
                self.read_here_documents()

    def read_comment(self) -> None:
        """Read a comment up to its line's end."""
        self.comments.append(self.indices[self.index])
        word = Word("text")
        while (item := self.peek()) not in ("", "\n"):
            if isinstance(item, str):
                self.index += 1
            else:
                self.add_placeholder(item, "comment", word)

    def read_parenthesis(self, words: list[str]) -> None:
        """Read a subshell, or the `()` of a function's definition."""
        start = self.index
        self.index += 1
        if len(words) == 1:
            self.skip_items(BLANKS)
            if self.peek() == ")":
                self.functions.add(words[0])
                self.pending_function = words[0]
                self.index += 1
                words.clear()
                return
        self.open_compound()
        self.read_nested_commands(start, "a (")
        self.close_compound()
        words.clear()

    def skip_items(self, items: frozenset[str]) -> None:
        """Step over blanks, or whatever `items` has; over comments and here-documents too."""
        while self.peek() in items or (self.peek() == "\\" and self.peek(1) == "\n"):
            self.index += 2 if self.peek() == "\\" else 1
            if self.items[self.index - 1] == "\n":
                self.read_here_documents()
        if self.peek() == "#" and "\n" in items:
            self.read_comment()
            self.skip_items(items)

    def read_command_word(self, words: list[str]) -> str:
        """Read a word of a simple command; give it if it is a reserved one."""
        word = self.read_word("argument" if words else "command", words)
        if not word.quoted and word.text.isdecimal() and self.peek() in ("<", ">"):
            return ""  # the number of a redirection
        if not (words or word.quoted) and word.text in _OPENING_WORDS:
            self.open_compound()
        if word.text == "shift" and not words:
            self.shifting_functions.add(self.scope)
        if words or (word.quoted and not is_assignment(word.text)):
            words.append(word.text)
        elif word.text == "case":
            self.read_case()
            self.close_compound()
        elif word.text == "for":
            self.read_for_list()
        elif word.text in _RESERVED_WORDS:
            if word.text in _CLOSING_WORDS:
                self.close_compound()
            return word.text
        elif not is_assignment(word.text):
            words.append(word.text)
        return ""

    def read_case(self) -> None:
        """Read a `read_case` behind that word, up to its `esac`."""
        start = self.index
        newlines = BLANKS | {"\n"}
        self.enter_nesting()
        self.skip_items(BLANKS)
        self.read_word("subject")
        self.skip_items(newlines)
        self.read_word("pattern")  # in
        ended = ";;"
        while ended == ";;":
            self.skip_items(newlines)
            if self.peek() == "(":
                self.index += 1
                self.skip_items(BLANKS)
            ended = self.read_case_item()
        if ended == "":
            self.add_unclosed(start, "a case")
        self.depth -= 1

    def read_case_item(self) -> str:
        """Read patterns and their commands; give what ended them: `;;`, `esac`, `)` or the end."""
        while (item := self.peek()) != ")":
            if item == "":
                return ""
            if item in BLANKS or item == "|":
                self.index += 1
                continue
            word = self.read_word("pattern")
            if word.text == "esac" and not word.quoted:
                return "esac"
        self.index += 1
        ended = self.read_commands("case")
        self.index += 2 if ended == ";;" else 0
        return ended

    def read_for_list(self) -> None:
        """Read `NAME in WORD...` behind `for`."""
        self.skip_items(BLANKS)
        name = self.read_word("list").text
        self.skip_items(BLANKS | {"\n"})
        if self.peek() == ";" or self.read_word("list").text != "in":
            self.add_variable("@", "double", Word("list", [name]))
            return  # for NAME; do, or for NAME do
        self.skip_items(BLANKS)
        while self.peek() not in ("", ";", "\n", "&", ")"):
            self.read_word("list", [name])
            self.skip_items(BLANKS)

    # Redirections

    def read_redirection(self) -> None:
        """Read an operator of redirection and its word."""
        first = self.peek()
        self.index += 1
        second = self.peek()
        here = first == "<" and second == "<" and self.peek(1) != "<"
        while self.peek() in (("<",) if first == "<" and second == "<" else ("&", ">", "|")):
            self.index += 1
        strip = here and self.peek() == "-"
        self.index += strip
        self.skip_items(BLANKS)
        if here:
            word = self.read_word("delimiter")
            readers = tuple(self.simple_commands[self.closed_start :])
            self.pending_documents.append(HereDocument(word.text, strip, word.quoted, readers))
        elif self.peek() not in METACHARACTERS:
            self.read_word("redirection")

    def read_here_documents(self) -> None:
        """Read the here-documents that the line just ended has announced."""
        pending, self.pending_documents = self.pending_documents, []
        for here in pending:
            self.read_here_document(here)

    def read_here_document(self, document: HereDocument) -> None:
        """Read a here-document's lines, its delimiter's included, and what stands in them."""
        start, lines = self.index, dict[int, str]()
        while self.index < len(self.items):
            begin = self.index
            while self.peek() not in ("", "\n"):
                self.index += 1
            line = self.items[begin : self.index]
            text = "".join(i if isinstance(i, str) else PLACEHOLDER_MARK for i in line)
            text = text.lstrip("\t") if document.strip_tabs else text
            self.index += 1
            if text == document.delimiter and PLACEHOLDER_MARK not in text:
                self.read_here_text(start, begin, document, lines)
                return
            lines.update((id(i), text) for i in line if not isinstance(i, str))
        self.add_unclosed(start, f"the here-document {document.delimiter}")
        self.read_here_text(start, len(self.items), document, lines)

    def read_here_text(
        self, start: int, end: int, document: HereDocument, lines: dict[int, str]
    ) -> None:
        """Read the text of a here-document: expansions, unless its delimiter is quoted."""
        inner: ShellLexer[PlaceholderT] = ShellLexer(
            self.items[start:end], self.indices[start:end], self
        )
        inner.open_document, inner.placeholder_lines = document, lines
        word = Word("text")
        while (item := inner.peek()) != "":
            if not document.is_literal:
                inner.read_quoted_piece(item, word, "here")
            elif isinstance(item, str):
                inner.index += 1
            else:
                inner.add_placeholder(item, "here-quoted", word)
        self.merge_lexer(inner)
