"""A lexer of shell scripts: quotes, expansions, commands, here-documents (POSIX 2.2 to 2.10).

A script is a sequence of items: single characters, and placeholders where values will be put. The
lexer treats a placeholder as text of unknown content, and records its `Position`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, final

from osprofile.lint.shell.position import (
    BLANKS,
    EXPANSION_MARK,
    MAX_COMMAND_WORDS,
    MAX_NESTING_DEPTH,
    MAX_PREFIX_LENGTH,
    METACHARACTERS,
    PLACEHOLDER_MARK,
    Command,
    FlowStep,
    HereDocument,
    Position,
    QuoteContext,
    Role,
    Variable,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


PlaceholderT = TypeVar("PlaceholderT")

_NAME_CHARS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
_TRIM_OPERATORS: Final = frozenset("#%")
_PARAMETER_OPERATORS: Final = frozenset("-=?+") | _TRIM_OPERATORS
_SPECIAL_PARAMETERS: Final = frozenset("@*#?-$!")

_RESERVED_WORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "esac"}
)
"""Words after which a command may begin."""
POSITIONAL_NAMES: Final = frozenset("@*") | {str(number) for number in range(1, 100)}
"""The names of the positional parameters, which are local to each function."""
_OPENING_WORDS: Final = frozenset({"if", "while", "until", "for", "case", "{"})
_CLOSING_WORDS: Final = frozenset({"fi", "done", "}"})


class NestingTooDeepError(Exception):
    """The script nests deeper than `MAX_NESTING_DEPTH`."""


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
    lexer = ShellLexer(items, range(len(items)))
    try:
        lexer.read_commands("")
    except NestingTooDeepError:
        lexer.add_unclosed(lexer.index, "nesting")
    uses = dict[Variable, list[Position]]()
    for name, position in lexer.variable_positions:
        scope = position.function_name if name in POSITIONAL_NAMES else ""
        uses.setdefault((scope, name), []).append(position)
    return LexedScript(
        lexer.placeholders, frozenset(lexer.comment_offsets), lexer.unclosed, lexer.open_words,
        frozenset(lexer.functions), frozenset(lexer.shifting_functions),
        uses, lexer.simple_commands,
    )  # fmt: skip


@final
class ShellLexer(Generic[PlaceholderT]):
    """Reads a script from `index` on and collects what `LexedScript` holds.

    `script_offsets` are the items' offsets in the whole script. The text of a here-document and the
    text between backquotes, which is unescaped first, get lexers of their own; `outer` is the
    lexer that met them.
    """

    def __init__(
        self,
        items: Sequence[str | PlaceholderT],
        script_offsets: Sequence[int],
        outer: ShellLexer[PlaceholderT] | None = None,
    ) -> None:
        self.items = items
        self.script_offsets = script_offsets
        self.nesting_depth: int = outer.nesting_depth if outer else 0
        self.shell_dependent_depth: int = outer.shell_dependent_depth if outer else 0
        self.arithmetic_depth: int = outer.arithmetic_depth if outer else 0
        self.is_backquoted: bool = outer.is_backquoted if outer else False
        self.enclosing_document: HereDocument | None = outer.enclosing_document if outer else None
        self.here_line_texts: dict[int, str] = outer.here_line_texts if outer else {}
        self.index = 0
        self.placeholders: list[tuple[PlaceholderT, Position]] = []
        self.variable_positions: list[tuple[str, Position]] = []
        self.unclosed: list[tuple[int, str]] = []
        self.comment_offsets: list[int] = []
        self.functions: set[str] = set()
        self.shifting_functions: set[str] = set()
        self.pending_documents: list[HereDocument] = []
        self.not_arithmetic_starts: set[int] = set()
        self.function_name: str = outer.function_name if outer else ""
        self.current_command = Command()
        self.enclosing_substitution: Position | None = None
        self.pending_function = ""  # the function whose body comes next
        # Of each open compound command: where it begins in `simple_commands`, and the function around it.
        self.open_compounds: list[tuple[int, str]] = []
        self.open_words: list[tuple[int, str]] = []  # the offset and first word of each
        self.simple_commands: list[Command] = outer.simple_commands if outer else []
        self.last_command_start = 0  # in `simple_commands`; a compound command has several there
        self.after_pipe = False

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

    # Commands

    def read_commands(self, stop: str) -> str:
        """Read commands up to an unquoted `)` (stop `)`), or also `;;` or `esac` (stop `case`).

        Return what ended them; of these, only `esac` is consumed. With an empty `stop`, read to the end.
        """
        outer_command, outer_start = self.current_command, self.last_command_start
        self.begin_command()
        terminator = self.read_command_list(stop)
        self.current_command, self.last_command_start = outer_command, outer_start
        return terminator

    def begin_command(self, *, piped: bool = False) -> None:
        """Begin a simple command; if `piped`, it reads the output of the command before."""
        before, self.current_command = self.simple_commands[self.last_command_start :], Command()
        for command in before if piped else ():
            command.piped_into = command.piped_into or self.current_command
        self.last_command_start, self.after_pipe = len(self.simple_commands), piped
        self.simple_commands.append(self.current_command)

    def open_compound(self, start: int, word: str) -> None:
        """Begin a compound command, which may be the body of a function."""
        self.open_words.append((self.script_offsets[start], word))
        self.open_compounds.append((len(self.simple_commands) - 1, self.function_name))
        self.function_name, self.pending_function = self.pending_function or self.function_name, ""

    def close_compound(self) -> None:
        """End a compound command."""
        if self.open_compounds:
            self.last_command_start, self.function_name = self.open_compounds.pop()
            self.open_words.pop()

    def read_command_list(self, stop: str) -> str:
        """Read the list of commands of `read_commands`."""
        while (item := self.peek()) != "":
            if item == ")" and stop:
                return ")"
            if item == ";" and stop == "case" and self.peek(1) in (";", "&"):
                return ";;"
            words = self.current_command.words
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
        self.comment_offsets.append(self.script_offsets[self.index])
        word = Word("non-word")
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
        self.open_compound(start, "(")
        self.read_nested_commands(start, "a (")
        self.close_compound()
        words.clear()

    def skip_items(self, items: frozenset[str]) -> None:
        """Step over any of `items`; if these include line ends, also over comments and here-documents."""
        while self.peek() in items or (self.peek() == "\\" and self.peek(1) == "\n"):
            self.index += 2 if self.peek() == "\\" else 1
            if self.items[self.index - 1] == "\n":
                self.read_here_documents()
        if self.peek() == "#" and "\n" in items:
            self.read_comment()
            self.skip_items(items)

    def read_command_word(self, words: list[str]) -> str:
        """Read a word of a simple command; return it if it is a reserved word."""
        start = self.index
        word = self.read_word("argument" if words else "command", words)
        if not word.is_quoted and word.text.isascii() and word.text.isdecimal() and self.peek() in ("<", ">"):
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
        if not word.is_quoted and word.text in _OPENING_WORDS:
            self.open_compound(start, word.text)
        if word.text == "shift":
            self.shifting_functions.add(self.function_name)

    def read_case(self) -> None:
        """Read a `case` from behind that word up to its `esac`."""
        start = self.index
        newlines = BLANKS | {"\n"}
        self.enter_nesting()
        self.skip_items(BLANKS)
        self.read_word("case-subject")
        self.skip_items(newlines)
        self.read_word("case-pattern")  # in
        terminator = ";;"
        while terminator == ";;":
            self.skip_items(newlines)
            if self.peek() == "(":
                self.index += 1
                self.skip_items(BLANKS)
            terminator = self.read_case_item()
        if terminator == "":
            self.add_unclosed(start, "a case")
        self.nesting_depth -= 1

    def read_case_item(self) -> str:
        """Read patterns and their commands; return what ended them: `;;`, `esac`, `)` or nothing."""
        while (item := self.peek()) != ")":
            if item == "":
                return ""
            if item in BLANKS or item == "|":
                self.index += 1
                continue
            word = self.read_word("case-pattern")
            if word.text == "esac" and not word.is_quoted:
                return "esac"
        self.index += 1
        terminator = self.read_commands("case")
        self.index += 2 if terminator == ";;" else 0
        return terminator

    def read_for_items(self) -> None:
        """Read `NAME in WORD...` after `for`."""
        self.skip_items(BLANKS)
        name = self.read_word("for-item").text
        self.skip_items(BLANKS | {"\n"})
        if self.peek() == ";" or self.read_word("for-item").text != "in":
            self.add_variable("@", "double", Word("for-item", [name]))
            return  # for NAME; do, or for NAME do
        self.skip_items(BLANKS)
        while self.peek() not in ("", ";", "\n", "&", ")"):
            self.read_word("for-item", [name])
            self.skip_items(BLANKS)

    # Redirections

    def read_redirection(self) -> None:
        """Read a redirection operator and its word."""
        first = self.peek()
        self.index += 1
        second = self.peek()
        is_document = first == "<" and second == "<" and self.peek(1) != "<"
        while self.peek() in (("<",) if first == "<" and second == "<" else ("&", ">", "|")):
            self.index += 1
        strip = is_document and self.peek() == "-"
        self.index += strip
        self.skip_items(BLANKS)
        if is_document:
            word = self.read_word("here-delimiter")
            readers = tuple(self.simple_commands[self.last_command_start :])
            self.pending_documents.append(HereDocument(word.text, strip, word.is_quoted, readers))
        elif self.peek() not in METACHARACTERS:
            self.read_word("redirection")

    def read_here_documents(self) -> None:
        """Read the here-documents that the line before has announced."""
        pending, self.pending_documents = self.pending_documents, []
        for here in pending:
            self.read_here_document(here)

    def read_here_document(self, document: HereDocument) -> None:
        """Read a here-document up to and including the line of its delimiter."""
        start, lines = self.index, dict[int, str]()
        while self.index < len(self.items):
            begin = self.index
            while self.peek() not in ("", "\n"):
                self.index += 1
            line = self.items[begin : self.index]
            text = "".join(i if isinstance(i, str) else PLACEHOLDER_MARK for i in line)
            text = text.lstrip("\t") if document.strips_tabs else text
            self.index += 1
            if text == document.delimiter and PLACEHOLDER_MARK not in text:
                self.read_here_text(start, begin, document, lines)
                return
            lines.update((id(i), text) for i in line if not isinstance(i, str))
        self.add_unclosed(start, f"the here-document {document.delimiter}")
        self.read_here_text(start, len(self.items), document, lines)

    def read_here_text(self, start: int, end: int, document: HereDocument, lines: dict[int, str]) -> None:
        """Read the text of a here-document, with its expansions unless the delimiter is quoted."""
        inner = ShellLexer(self.items[start:end], self.script_offsets[start:end], self)
        inner.enclosing_document, inner.here_line_texts = document, lines
        word = Word("non-word")
        while (item := inner.peek()) != "":
            if not document.is_literal:
                inner.read_quoted_piece(item, word, "here-document")
            elif isinstance(item, str):
                inner.index += 1
            else:
                inner.add_placeholder(item, "literal-here-document", word)
        self.merge_lexer(inner)

    # Words

    def read_word(self, role: Role, words: Sequence[str] = ()) -> Word:
        """Read one word up to an unquoted blank or operator, at least one item."""
        word, start = Word(role, words), self.index
        while (item := self.peek()) != "" and item not in METACHARACTERS:
            self.read_word_piece(item, word)
        if self.index == start:
            self.index += 1
        return word

    def read_word_piece(self, item: str | PlaceholderT, word: Word) -> None:
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
        """Read a backslash and the character that it quotes; before a line end, both are ignored."""
        following = self.peek(1)
        self.index += 1
        if isinstance(following, str):  # before a placeholder it quotes the value's first character
            self.index += 1
            if following != "\n":
                word.text += following
                word.is_quoted = True

    def read_single_quotes(self, word: Word, quote: QuoteContext) -> None:
        """Read `'...'`."""
        start = self.index
        self.index += 1
        word.is_quoted = True
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
        word.is_quoted = True
        while (item := self.peek()) != '"':
            if item == "":
                self.add_unclosed(start, "a double quote")
                return
            self.read_quoted_piece(item, word, "double")
        self.index += 1

    def read_quoted_piece(self, item: str | PlaceholderT, word: Word, quote: QuoteContext) -> None:
        """Read one piece of text in double quotes or in a here-document."""
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

    def read_dollar(self, word: Word, quote: QuoteContext) -> None:
        """Read an expansion, which begins with `$`; `quote` is the quoting around it."""
        following = self.peek(1)
        if following == "(":
            has_two = self.peek(2) == "("
            if has_two and self.read_arithmetic(word):
                return
            # dash and bash read `$((` without a matching `))` differently.
            self.shell_dependent_depth += has_two
            self.read_substitution(word, quote)
            self.shell_dependent_depth -= has_two
        elif following == "{":
            self.read_parameter(word, quote)
        elif following == "'" and quote == "unquoted":
            self.index += 1
            self.read_single_quotes(word, "dollar-single")
        elif following == '"' and quote == "unquoted":
            self.index += 1
        elif not isinstance(following, str):
            self.index += 1
            self.add_placeholder(following, "after-dollar", word)
        else:
            self.read_bare_parameter(following, quote, word)

    def read_bare_parameter(self, following: str, quote: QuoteContext, word: Word) -> None:
        """Read `$x`, `$1`, `$?`, or a literal `$`."""
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
        """Read a name; return it, empty if there is none."""
        name = ""
        while isinstance(item := self.peek(), str) and item in _NAME_CHARS:
            name += item
            self.index += 1
        return name

    def enter_nesting(self) -> None:
        """Enter one level of nesting; raise `NestingTooDeepError` if there are too many."""
        self.nesting_depth += 1
        if self.nesting_depth > MAX_NESTING_DEPTH:
            raise NestingTooDeepError

    def read_substitution(self, word: Word, quote: QuoteContext) -> None:
        """Read `$(...)`, inside which quoting starts afresh."""
        start, output = self.index, self.enclosing_substitution
        self.enclosing_substitution = self.current_position(quote, word)
        self.index += 2
        self.read_nested_commands(start, "a $(")
        self.enclosing_substitution = output
        word.text += EXPANSION_MARK

    def read_nested_commands(self, start: int, label: str) -> None:
        """Read commands up to the closing parenthesis."""
        self.enter_nesting()
        self.read_commands(")")
        self.nesting_depth -= 1
        if self.peek() == ")":
            self.index += 1
        else:
            self.add_unclosed(start, label)

    def read_arithmetic(self, word: Word) -> bool:
        """Read `$((...))` and return True; if it is not arithmetic, read nothing and return False."""
        if self.index in self.not_arithmetic_starts:  # trying nested ones again takes exponential time
            return False
        results: list[list[Any]] = [
            self.placeholders,
            self.unclosed,
            self.comment_offsets,
            self.variable_positions,
        ]
        start, lengths = self.index, [len(result) for result in results]
        self.index += 3
        self.arithmetic_depth += 1
        self.enter_nesting()
        complete = self.read_arithmetic_body()
        self.nesting_depth -= 1
        self.arithmetic_depth -= 1
        if complete:
            word.text += EXPANSION_MARK
            return True
        self.index = start
        self.not_arithmetic_starts.add(start)
        for result, length in zip(results, lengths, strict=True):  # undo what the attempt recorded
            del result[length:]
        return False

    def read_arithmetic_body(self) -> bool:
        """Read up to the `))`; return False if something before it cannot be arithmetic."""
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
        inner = Word("non-word")
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

    def read_parameter(self, word: Word, quote: QuoteContext) -> None:
        """Read `${...}`; inside double quotes, single quotes in it are plain text."""
        start = self.index
        self.index += 2
        self.enter_nesting()
        words = list(word.preceding_words[:MAX_COMMAND_WORDS])
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
                self.read_word_piece(item, inner)
            elif item == '"' and quote == "double":
                self.read_double_quotes(inner)
            elif item == "'" and trims:
                self.read_single_quotes(inner, "shell-dependent")
            else:
                self.read_quoted_piece(item, inner, quote)
        self.index += 1
        self.nesting_depth -= 1
        word.text += EXPANSION_MARK

    def read_parameter_name(self, quote: QuoteContext, word: Word) -> bool:
        """Read name and operator of `${name...}`; return whether the operator trims (`#` or `%`)."""
        first = self.peek()
        is_length = first == "#" and self.peek(1) != "}"
        if is_length:
            self.index += 1  # ${#name}
        elif isinstance(first, str) and first in _SPECIAL_PARAMETERS:
            self.add_variable(first, quote, word)
            self.index += 1
        name, end = self.read_name(), self.index
        self.index += self.peek() == ":"
        operator = self.peek()
        if (
            name and not is_length and operator != "+"
        ):  # `${x+word}` tests the variable and does not use its value
            self.index = end
            self.add_variable(name, quote, word)
            self.index += self.peek() == ":"
        self.index += operator in _PARAMETER_OPERATORS
        self.index += operator == self.peek() and operator in _TRIM_OPERATORS
        return operator in _TRIM_OPERATORS

    def read_backquotes(self, word: Word, quote: QuoteContext) -> None:
        """Read a backquoted command: its text is unescaped once, then read by a lexer of its own."""
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
            indices.append(self.script_offsets[self.index])
            self.index += 1
        self.index += 1
        inner = ShellLexer(items, indices, self)
        inner.is_backquoted = True
        inner.enclosing_substitution = self.current_position(quote, word)
        inner.enter_nesting()
        inner.read_commands("")
        self.merge_lexer(inner)
        word.text += EXPANSION_MARK

    def merge_lexer(self, inner: ShellLexer[PlaceholderT]) -> None:
        """Add the results of the lexer of a part of the script."""
        self.placeholders += inner.placeholders
        self.variable_positions += inner.variable_positions
        self.unclosed += inner.unclosed
        self.functions |= inner.functions
        self.shifting_functions |= inner.shifting_functions


def is_assignment(text: str) -> bool:
    """Return whether a word, as far as it was read, begins with `NAME=`."""
    name, equals, _ = text.partition("=")
    return bool(equals) and bool(name) and not name[0].isdigit() and _NAME_CHARS.issuperset(name)
