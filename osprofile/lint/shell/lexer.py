"""A lexer of shell scripts: quotes, expansions, commands, here-documents (POSIX 2.2 to 2.10).

A script is a sequence of items: single characters, and placeholders where values will be put. The
lexer treats a placeholder as text of unknown content, and records its `Position`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, cast, final

from osprofile.lint.shell.cursor import NestingTooDeepError, PlaceholderT, ScriptCursor, is_assignment
from osprofile.lint.shell.position import (
    BLANKS,
    METACHARACTERS,
    PLACEHOLDER_MARK,
    Command,
    FlowStep,
    HereDocument,
    Position,
    Variable,
    Word,
)
from osprofile.lint.shell.words import WordReader

if TYPE_CHECKING:
    from collections.abc import Sequence


_RESERVED_WORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "esac"}
)
"""Words after which a command may begin."""
POSITIONAL_NAMES: Final = frozenset("@*") | {str(number) for number in range(1, 100)}
"""The names of the positional parameters, which are local to each function."""
_OPENING_WORDS: Final = frozenset({"if", "while", "until", "for", "case", "{"})
_CLOSING_WORDS: Final = frozenset({"fi", "done", "}"})


@final
@dataclass(frozen=True, slots=True)
class LexedScript(Generic[PlaceholderT]):
    """The result of the lexer: placeholders with their positions, in the order of the script.

    - `comment_offsets`: where comments begin
    - `unclosed`: the offset and name of each quote, parenthesis and the like without an end
    - `unfinished`: the offset and first word of each compound command without an end
    - `functions`: the functions that the script defines
    - `shifting_functions`: those that use `shift`; the empty name is the script itself
    - `variable_uses`: the positions at which each variable is used
    - `commands`: the simple commands, including empty ones
    - `flow_steps`: the cache of `osprofile.lint.dataflow`
    """

    placeholders: list[tuple[PlaceholderT, Position]]
    comment_offsets: frozenset[int]
    unclosed: list[tuple[int, str]]
    unfinished: list[tuple[int, str]]
    functions: frozenset[str]
    shifting_functions: frozenset[str]
    variable_uses: dict[Variable, list[Position]]
    commands: list[Command]
    flow_steps: dict[tuple[Variable, bool], FlowStep] = field(default_factory=dict)


def lex_script(items: Sequence[str | PlaceholderT]) -> LexedScript[PlaceholderT]:
    """Read a script; of a script that nests too deeply, return what was read so far.

    Scripts that are equal but for their placeholders share all of the result but these: do not change it.
    """
    offsets = tuple([offset for offset, item in enumerate(items) if type(item) is not str])
    chars = cast("list[str]", list(items))
    for offset in offsets:
        chars[offset] = "?"
    lexed = _lex_text("".join(chars), offsets)
    placeholders = [(items[offset], position) for offset, position in lexed.placeholders]
    return cast("LexedScript[PlaceholderT]", replace(lexed, placeholders=cast("Any", placeholders)))


@lru_cache(maxsize=256)
def _lex_text(text: str, placeholder_offsets: tuple[int, ...]) -> LexedScript[int]:
    """Read a script whose placeholders are their own offsets: many profiles share scripts with their parents."""
    items: list[str | int] = list(text)
    for offset in placeholder_offsets:
        items[offset] = offset
    return _lex_items(items)


def _lex_items(items: Sequence[str | PlaceholderT]) -> LexedScript[PlaceholderT]:
    cursor = ScriptCursor(items, range(len(items)))
    reader = CommandReader(cursor)
    try:
        reader.read_commands("")
    except NestingTooDeepError:
        cursor.add_unclosed(cursor.index, "nesting")
    uses = dict[Variable, list[Position]]()
    for name, position in cursor.variable_positions:
        scope = position.function_name if name in POSITIONAL_NAMES else ""
        uses.setdefault((scope, name), []).append(position)
    return LexedScript(
        cursor.placeholders, frozenset(cursor.comment_offsets), cursor.unclosed, reader.open_words,
        frozenset(reader.functions), frozenset(reader.shifting_functions),
        uses, reader.simple_commands,
    )  # fmt: skip


@final
class CommandReader(Generic[PlaceholderT]):
    """Reads the commands of a script, or of a part of it, at a cursor; a part adds its commands and functions to those of `outer`."""

    def __init__(
        self, cursor: ScriptCursor[PlaceholderT], outer: CommandReader[PlaceholderT] | None = None
    ) -> None:
        self.cursor = cursor
        self.words = WordReader(cursor, self.read_nested_commands, self.read_backquoted_commands)
        self.functions: set[str] = outer.functions if outer else set()
        self.shifting_functions: set[str] = outer.shifting_functions if outer else set()
        self.simple_commands: list[Command] = outer.simple_commands if outer else []
        self.last_command_start = 0  # in `simple_commands`; a compound command has several there
        self.after_pipe = False
        self.pending_documents: list[HereDocument] = []
        self.pending_function = ""  # the function whose body comes next
        # Of each open compound command: where it begins in `simple_commands`, and the function around it.
        self.open_compounds: list[tuple[int, str]] = []
        self.open_words: list[tuple[int, str]] = []  # the offset and first word of each

    def read_commands(self, stop: str) -> str:
        """Read commands up to an unquoted `)` (stop `)`), or also `;;` or `esac` (stop `case`).

        Return what ended them; of these, only `esac` is consumed. With an empty `stop`, read to the end.
        """
        cursor = self.cursor
        outer_command, outer_start = cursor.current_command, self.last_command_start
        self.begin_command()
        terminator = self.read_command_list(stop)
        cursor.current_command, self.last_command_start = outer_command, outer_start
        return terminator

    def begin_command(self, *, piped: bool = False) -> None:
        """Begin a simple command; if `piped`, it reads the output of the command before."""
        cursor = self.cursor
        before, cursor.current_command = self.simple_commands[self.last_command_start :], Command()
        for command in before if piped else ():
            command.piped_into = command.piped_into or cursor.current_command
        self.last_command_start, self.after_pipe = len(self.simple_commands), piped
        self.simple_commands.append(cursor.current_command)

    def open_compound(self, start: int, word: str) -> None:
        """Begin a compound command, which may be the body of a function."""
        cursor = self.cursor
        self.open_words.append((cursor.script_offsets[start], word))
        self.open_compounds.append((len(self.simple_commands) - 1, cursor.function_name))
        cursor.function_name, self.pending_function = self.pending_function or cursor.function_name, ""

    def close_compound(self) -> None:
        """End a compound command."""
        cursor = self.cursor
        if self.open_compounds:
            self.last_command_start, cursor.function_name = self.open_compounds.pop()
            self.open_words.pop()

    def read_command_list(self, stop: str) -> str:
        """Read the list of commands of `read_commands`."""
        cursor = self.cursor
        while (item := cursor.peek()) != "":
            if item == ")" and stop:
                return ")"
            if item == ";" and stop == "case" and cursor.peek(1) in (";", "&"):
                return ";;"
            words = cursor.current_command.words
            if item in METACHARACTERS:
                self.read_operator(item, words)
            elif item == "#":
                self.read_comment()
            elif item == "\\" and cursor.peek(1) == "\n":
                cursor.index += 2
            elif self.read_command_word(words) == "esac" and stop == "case":
                return "esac"
        return ""

    def read_operator(self, item: str | PlaceholderT, words: list[str]) -> None:
        """Read an operator, a blank or a line end."""
        cursor = self.cursor
        if item in ("<", ">"):
            self.read_redirection()
        elif item == "(":
            self.read_parenthesis(words)
        else:
            cursor.index += 1
            if item not in BLANKS and not (item == "\n" and self.after_pipe and not words):
                pair = {item} & {cursor.peek(), cursor.items[cursor.index - 2] if cursor.index > 1 else ""}
                self.begin_command(piped=item == "|" and not pair)
            if item == "\n":
                self.read_here_documents()

    def read_comment(self) -> None:
        """Read a comment up to its line's end."""
        cursor = self.cursor
        cursor.comment_offsets.append(cursor.script_offsets[cursor.index])
        word = Word("non-word")
        while (item := cursor.peek()) not in ("", "\n"):
            if isinstance(item, str):
                cursor.index += 1
            else:
                cursor.add_placeholder(item, "comment", word)

    def read_parenthesis(self, words: list[str]) -> None:
        """Read a subshell, or the `()` of a function's definition."""
        cursor = self.cursor
        start = cursor.index
        cursor.index += 1
        if len(words) == 1:
            self.skip_items(BLANKS)
            if cursor.peek() == ")":
                self.functions.add(words[0])
                self.pending_function = words[0]
                cursor.index += 1
                words.clear()
                return
        self.open_compound(start, "(")
        self.read_nested_commands(start, "a (")
        self.close_compound()
        words.clear()

    def skip_items(self, items: frozenset[str]) -> None:
        """Step over any of `items`; if these include line ends, also over comments and here-documents."""
        cursor = self.cursor
        while cursor.peek() in items or (cursor.peek() == "\\" and cursor.peek(1) == "\n"):
            cursor.index += 2 if cursor.peek() == "\\" else 1
            if cursor.items[cursor.index - 1] == "\n":
                self.read_here_documents()
        if cursor.peek() == "#" and "\n" in items:
            self.read_comment()
            self.skip_items(items)

    def read_command_word(self, words: list[str]) -> str:
        """Read a word of a simple command; return it if it is a reserved word."""
        cursor = self.cursor
        start = cursor.index
        word = self.words.read_word("argument" if words else "command", words)
        if (
            not word.is_quoted
            and word.text.isascii()
            and word.text.isdecimal()
            and cursor.peek() in ("<", ">")
        ):
            return ""  # the number of a redirection
        if not words:
            self.begin_command_word(word, start)
        if words or (word.is_quoted and not is_assignment(word.text)):
            words.append(word.text)
        elif word.text == "case":
            self.read_case()
            self.close_compound()
        elif word.text == "for":
            self.read_for_items()
        elif word.text in _RESERVED_WORDS:
            if word.text in _CLOSING_WORDS:
                self.close_compound()
            return word.text
        elif not is_assignment(word.text):
            words.append(word.text)
        return ""

    def begin_command_word(self, word: Word, start: int) -> None:
        """Record what the first word of a command, which began at `start`, means for the script."""
        cursor = self.cursor
        if not word.is_quoted and word.text in _OPENING_WORDS:
            self.open_compound(start, word.text)
        if word.text == "shift":
            self.shifting_functions.add(cursor.function_name)

    def read_case(self) -> None:
        """Read a `case` from behind that word up to its `esac`."""
        cursor = self.cursor
        start = cursor.index
        newlines = BLANKS | {"\n"}
        cursor.enter_nesting()
        self.skip_items(BLANKS)
        self.words.read_word("case-subject")
        self.skip_items(newlines)
        self.words.read_word("case-pattern")  # in
        terminator = ";;"
        while terminator == ";;":
            self.skip_items(newlines)
            if cursor.peek() == "(":
                cursor.index += 1
                self.skip_items(BLANKS)
            terminator = self.read_case_item()
        if terminator == "":
            cursor.add_unclosed(start, "a case")
        cursor.nesting_depth -= 1

    def read_case_item(self) -> str:
        """Read patterns and their commands; return what ended them: `;;`, `esac`, `)` or nothing."""
        cursor = self.cursor
        while (item := cursor.peek()) != ")":
            if item == "":
                return ""
            if item in BLANKS or item == "|":
                cursor.index += 1
                continue
            word = self.words.read_word("case-pattern")
            if word.text == "esac" and not word.is_quoted:
                return "esac"
        cursor.index += 1
        terminator = self.read_commands("case")
        cursor.index += 2 if terminator == ";;" else 0
        return terminator

    def read_for_items(self) -> None:
        """Read `NAME in WORD...` after `for`."""
        cursor = self.cursor
        self.skip_items(BLANKS)
        name = self.words.read_word("for-item").text
        self.skip_items(BLANKS | {"\n"})
        if cursor.peek() == ";" or self.words.read_word("for-item").text != "in":
            cursor.add_variable("@", "double", Word("for-item", [name]))
            return  # for NAME; do, or for NAME do
        self.skip_items(BLANKS)
        while cursor.peek() not in ("", ";", "\n", "&", ")"):
            self.words.read_word("for-item", [name])
            self.skip_items(BLANKS)

    def read_redirection(self) -> None:
        """Read a redirection operator and its word."""
        cursor = self.cursor
        first = cursor.peek()
        cursor.index += 1
        second = cursor.peek()
        is_document = first == "<" and second == "<" and cursor.peek(1) != "<"
        while cursor.peek() in (("<",) if first == "<" and second == "<" else ("&", ">", "|")):
            cursor.index += 1
        strip = is_document and cursor.peek() == "-"
        cursor.index += strip
        self.skip_items(BLANKS)
        if is_document:
            word = self.words.read_word("here-delimiter")
            readers = tuple(self.simple_commands[self.last_command_start :])
            self.pending_documents.append(HereDocument(word.text, strip, word.is_quoted, readers))
        elif cursor.peek() not in METACHARACTERS:
            self.words.read_word("redirection")

    def read_here_documents(self) -> None:
        """Read the here-documents that the line before has announced."""
        pending, self.pending_documents = self.pending_documents, []
        for here in pending:
            self.read_here_document(here)

    def read_here_document(self, document: HereDocument) -> None:
        """Read a here-document up to and including the line of its delimiter."""
        cursor = self.cursor
        start, lines = cursor.index, dict[int, str]()
        while cursor.index < len(cursor.items):
            begin = cursor.index
            while cursor.peek() not in ("", "\n"):
                cursor.index += 1
            line = cursor.items[begin : cursor.index]
            text = "".join(i if isinstance(i, str) else PLACEHOLDER_MARK for i in line)
            text = text.lstrip("\t") if document.strips_tabs else text
            cursor.index += 1
            if text == document.delimiter and PLACEHOLDER_MARK not in text:
                self.read_here_text(start, begin, document, lines)
                return
            lines.update((id(i), text) for i in line if not isinstance(i, str))
        cursor.add_unclosed(start, f"the here-document {document.delimiter}")
        self.read_here_text(start, len(cursor.items), document, lines)

    def read_here_text(self, start: int, end: int, document: HereDocument, lines: dict[int, str]) -> None:
        """Read the text of a here-document, with its expansions unless the delimiter is quoted."""
        cursor = self.cursor
        inner = CommandReader(
            ScriptCursor(cursor.items[start:end], cursor.script_offsets[start:end], cursor), self
        )
        part, word = inner.cursor, Word("non-word")
        part.enclosing_document, part.here_line_texts = document, lines
        while (item := part.peek()) != "":
            if not document.is_literal:
                inner.words.read_quoted_piece(item, word, "here-document")
            elif isinstance(item, str):
                part.index += 1
            else:
                part.add_placeholder(item, "literal-here-document", word)
        cursor.add_results(part)

    def read_nested_commands(self, start: int, label: str) -> None:
        """Read commands up to the closing parenthesis."""
        cursor = self.cursor
        cursor.enter_nesting()
        self.read_commands(")")
        cursor.nesting_depth -= 1
        if cursor.peek() == ")":
            cursor.index += 1
        else:
            cursor.add_unclosed(start, label)

    def read_backquoted_commands(
        self, items: list[str | PlaceholderT], offsets: list[int], position: Position
    ) -> None:
        """Read the commands between backquotes, whose text was unescaped once."""
        part = ScriptCursor(items, offsets, self.cursor)
        part.is_backquoted, part.enclosing_substitution = True, position
        part.enter_nesting()
        CommandReader(part, self).read_commands("")
        self.cursor.add_results(part)
