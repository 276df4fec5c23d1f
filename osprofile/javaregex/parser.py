r"""The parser of Java's patterns (java.util.regex.Pattern, JDK 17), one function for each rule.

    pattern     expression end
    expression  sequence ("|" sequence)*
    sequence    (group | class | property | "^" | "$" | "." | atom, each with a quantifier)*
    atom        a run of literals, or one escape that is not a literal
    group       "(" [?:] expression ")" | "(?=" ... | "(?" flags ")" | ...
    quantifier  ("?" | "*" | "+" | "{" n ["," [m]] "}") ["?" | "+"]
    class       "[" "^"? item* "]"
    item        class | "&&" right | range | char | escape | property

From top to bottom: expressions, groups, quantifiers, escapes (`\n`, `\x41`, `\d`, `\1`), properties
(`\p{L}`) and character classes. The order of the reads follows the JDK's, because its errors and
its oddities depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import CharSet
from osprofile.javaregex.classes import ClassReader, make_literal_set, make_slice_set
from osprofile.javaregex.escapes import EscapeReader, Groups, resolve_last_line_end
from osprofile.javaregex.reader import NUL, Flags, PatternReader
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    Chars,
    Group,
    Look,
    Node,
    ParsedPattern,
    Repeat,
    RepeatForm,
    RepeatKind,
    Seq,
)
from osprofile.javaregex.tree_info import TreeInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAG_LETTERS: Mapping[str, Flags] = {
    "i": Flags.CASE_INSENSITIVE, "m": Flags.MULTILINE, "s": Flags.DOTALL,
    "d": Flags.UNIX_LINES, "u": Flags.UNICODE_CASE, "x": Flags.COMMENTS,
    "U": Flags.UNICODE_CLASSES | Flags.UNICODE_CASE,
}  # fmt: skip
_KIND_SUFFIXES: Mapping[str, RepeatKind] = {"?": "lazy", "+": "possessive"}
_DIGITS = frozenset("0123456789")


def parse_pattern(text: str) -> ParsedPattern:
    """Parse a pattern.

    JavaRegexError, with the place, where Java refuses it or it cannot be honoured exactly.
    """
    return _PatternParser(text).parse_pattern()


class _PatternParser:
    def __init__(self, text: str) -> None:
        self._reader, self._groups = PatternReader(text), Groups()
        self._escapes = EscapeReader(self._reader, self._groups)
        self._classes = ClassReader(self._reader, self._escapes)

    def parse_pattern(self) -> ParsedPattern:
        reader = self._reader
        tree = self._parse_expression()
        if reader.cursor != reader.length:
            if reader.peek_char() == ")":
                reader.cursor += 1
                reader.raise_error("Unmatched closing ')'")
            reader.raise_error("a lone backslash ends the pattern")
        return ParsedPattern(
            reader.text, tree, self._groups.count, self._groups.names, self._groups.are_referenced
        )

    def _parse_expression(self) -> Node:
        reader = self._reader
        branches = [self._parse_sequence()]
        while reader.peek_char() == "|":
            reader.next_char()
            branches.append(self._parse_sequence())
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _parse_sequence(self) -> Node:
        reader = self._reader
        nodes: list[Node] = []
        while True:
            char = reader.peek_char()
            if char in "|)" or (char == NUL and reader.at_end):
                break
            if char == "(":
                group = self._parse_group()
                if group:
                    nodes.append(group)
            elif char in "?*+":
                reader.next_char()
                reader.raise_error(f"Dangling meta character '{char}'")
            else:
                nodes.append(self._parse_item(char))
        return nodes[0] if len(nodes) == 1 else Seq(tuple(nodes))

    def _parse_item(self, char: str) -> Node:
        reader = self._reader
        match char:
            case "[":
                return self._parse_quantifier(Chars(self._classes.read_class()))
            case "\\" if reader.char_at(1) in "pP":
                reader.cursor += 1
                return self._parse_quantifier(Chars(self._escapes.read_property()))
            case "^":
                reader.next_char()
                return self._parse_quantifier(Assertion(self._resolve_caret()))
            case "$":
                reader.next_char()
                return self._parse_quantifier(Assertion(self._resolve_dollar()))
            case ".":
                reader.next_char()
                return self._parse_quantifier(Chars(self._resolve_dot()))
        return self._parse_atom()

    def _resolve_caret(self) -> AssertionKind:
        reader = self._reader
        if not reader.has_flag(Flags.MULTILINE):
            return AssertionKind.BEGIN
        unix = reader.has_flag(Flags.UNIX_LINES)
        return AssertionKind.UNIX_LINE_BEGIN if unix else AssertionKind.LINE_BEGIN

    def _resolve_dollar(self) -> AssertionKind:
        reader = self._reader
        if not reader.has_flag(Flags.MULTILINE):
            return resolve_last_line_end(reader.flags)
        unix = reader.has_flag(Flags.UNIX_LINES)
        return AssertionKind.UNIX_LINE_END if unix else AssertionKind.LINE_END

    def _resolve_dot(self) -> CharSet:
        reader = self._reader
        if reader.has_flag(Flags.DOTALL):
            return charset.ANY
        return charset.UNIX_DOT if reader.has_flag(Flags.UNIX_LINES) else charset.DOT

    def _parse_atom(self) -> Node:
        """Read a run of literals, or one other escape, with its quantifier.

        A quantifier applies to the last literal only: that one is then left for the next atom.
        """
        reader = self._reader
        chars: list[str] = []
        before = -1
        char = reader.peek_char()
        while True:
            if char in "*+?{":
                if len(chars) > 1:
                    reader.cursor = before
                    chars.pop()
                break
            if char in "$.^([|)" or (char == NUL and reader.at_end):
                break
            if char != "\\":
                before = reader.cursor
                chars.append(char)
                char = reader.next_char()
                continue
            if reader.char_at(1) in "pP":  # not the first of the run: _parse_item reads that one
                break
            before = reader.cursor
            escaped = self._escapes.read_escape(in_class=False)
            if not isinstance(escaped, str):
                if chars:
                    reader.cursor = before
                    break
                node = Chars(escaped) if isinstance(escaped, CharSet) else escaped
                return self._parse_quantifier(node)
            chars.append(escaped)
            char = reader.peek_char()
        if len(chars) == 1:
            return self._parse_quantifier(Chars(make_literal_set(chars[0], reader.flags)))
        return self._parse_quantifier(Seq(tuple(Chars(make_slice_set(c, reader.flags)) for c in chars)))

    def _parse_group(self) -> Node | None:
        """Read a group with its quantifier; return None for `(?flags)`, which stay in force."""
        reader = self._reader
        reader.enter_level()
        outside = reader.flags
        reader.next_char()
        node: Node | None
        if reader.peek_char() != "?":
            self._groups.count += 1
            number = self._groups.count
            node = Group(self._parse_expression(), number)
        else:
            node = self._parse_special_group()
            if node is None:
                reader.depth -= 1
                return None
        self._expect_group_end()
        reader.flags = outside
        reader.depth -= 1
        return self._parse_quantifier(node)

    def _expect_group_end(self) -> None:
        reader = self._reader
        if reader.read_char() != ")":
            reader.raise_error("Unclosed group")

    def _parse_special_group(self) -> Node | None:
        reader = self._reader
        kind = reader.skip_char()
        match kind:
            case ":":
                return Group(self._parse_expression(), 0)
            case "=" | "!":
                body = Group(self._parse_expression(), 0)
                return Look(body, behind=False, negative=kind == "!")
            case ">":
                return Atomic(Group(self._parse_expression(), 0))
            case "<":
                return self._parse_behind_or_named()
            case "$" | "@":
                reader.raise_error("Unknown group type")
        reader.unread_char()
        self._parse_flags()
        after = reader.read_char()
        if after == ")":
            return None
        if after != ":":
            reader.raise_error("Unknown inline modifier")
        return Group(self._parse_expression(), 0)

    def _parse_behind_or_named(self) -> Node:
        reader = self._reader
        char = reader.read_char()
        if char in "=!":
            start = reader.cursor
            body = Group(self._parse_expression(), 0)
            info = TreeInfo.from_node(body)
            if not info.max_valid:
                reader.raise_error("Look-behind group does not have an obvious maximum length")
            wide = max(reader.slice_text(start, reader.length), default="") > "\uffff"
            return Look(body, True, char == "!", info.min_length, info.max_length, wide)
        name = self._escapes.read_group_name(char)
        if name in self._groups.names:
            reader.raise_error(f"Named capturing group <{name}> is already defined")
        self._groups.count += 1
        self._groups.names[name] = number = self._groups.count
        return Group(self._parse_expression(), number)

    def _parse_flags(self) -> None:
        reader = self._reader
        on = True
        char = reader.peek_char()
        while True:
            if char == "-" and on:
                on = False
            elif char in _FLAG_LETTERS:
                reader.flags = (
                    reader.flags | _FLAG_LETTERS[char] if on else reader.flags & ~_FLAG_LETTERS[char]
                )
            elif char == "c":
                if on:
                    reader.cursor += 1
                    reader.raise_error("canonical equivalence is not supported")
            else:
                return
            char = reader.next_char()

    def _parse_quantifier(self, node: Node) -> Node:
        """Return the node with the quantifier that follows, or the node alone."""
        reader = self._reader
        match reader.peek_char():
            case "?":
                least, most = 0, 1
            case "*":
                least, most = 0, UNBOUNDED
            case "+":
                least, most = 1, UNBOUNDED
            case "{":
                least, most = self._parse_counts()
            case _:
                return node
        return _make_repeat(node, least, most, self._parse_repeat_kind())

    def _parse_repeat_kind(self) -> RepeatKind:
        reader = self._reader
        kind = _KIND_SUFFIXES.get(reader.next_char(), "greedy")
        if kind != "greedy":
            reader.next_char()
        return kind

    def _parse_counts(self) -> tuple[int, int]:
        """Read `{n}`, `{n,}` or `{n,m}`, and leave the cursor at its `}`."""
        reader = self._reader
        char = reader.skip_char()
        if char not in _DIGITS:
            reader.raise_error("Illegal repetition")
        least, char = self._parse_number(char)
        most = least
        if char == ",":
            char = reader.read_char()
            if char == "}":
                reader.unread_char()
                return least, UNBOUNDED
            most, char = self._parse_number(char)
        if char != "}":
            reader.raise_error("Unclosed counted closure")
        if most < least:
            reader.raise_error("Illegal repetition range")
        reader.unread_char()
        return least, most

    def _parse_number(self, char: str) -> tuple[int, str]:
        reader = self._reader
        number = 0
        while char in _DIGITS:
            number = number * 10 + int(char)
            if number > UNBOUNDED:
                reader.raise_error("Illegal repetition range")
            char = reader.read_char()
        return number, char


def _make_repeat(node: Node, least: int, most: int, kind: RepeatKind) -> Repeat:
    """Return a repetition in the form in which the JDK runs it."""
    group = isinstance(node, Group)
    if (least, most) == (0, 1):
        form = RepeatForm.OPTION if group and kind != "possessive" else RepeatForm.QUESTION
    elif not group:
        run = isinstance(node, Chars) and kind == "greedy" and most == UNBOUNDED
        form = RepeatForm.RUN if run else RepeatForm.CURLY
    elif kind == "possessive":
        form = RepeatForm.CURLY
    else:
        form = RepeatForm.GROUP_CURLY if TreeInfo.from_node(node).deterministic else RepeatForm.LOOP
    return Repeat(node, least, most, kind, form)
