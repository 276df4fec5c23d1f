"""The grammar of Java's patterns (java.util.regex.Pattern, JDK 17), one function a rule.

pattern     expression end
expression  sequence ("|" sequence)*
sequence    (group | class | property | "^" | "$" | "." | atom, each with a quantifier)*
atom        literals, taken together, or one escape that is none
group       "(" [?:] expression ")" | "(?=" ... | "(?" flags ")" | ...
quantifier  ("?" | "*" | "+" | "{" n ["," [m]] "}") ["?" | "+"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import CharSet
from osprofile.javaregex.classes import ClassReader
from osprofile.javaregex.reader import NUL, Flags
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
    """Parse a pattern. JavaRegexError, with the place, where Java refuses it or we have to."""
    return _PatternParser(text).parse_pattern()


class _PatternParser(ClassReader):
    def parse_pattern(self) -> ParsedPattern:
        tree = self._parse_expression()
        if self.cursor != self.length:
            if self.peek_char() == ")":
                self.cursor += 1
                self.raise_error("Unmatched closing ')'")
            self.raise_error("a lone backslash ends the pattern")
        return ParsedPattern(self.text, tree, self.group_count, self.group_names, self.has_backrefs)

    def _parse_expression(self) -> Node:
        branches = [self._parse_sequence()]
        while self.peek_char() == "|":
            self.next_char()
            branches.append(self._parse_sequence())
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _parse_sequence(self) -> Node:
        nodes: list[Node] = []
        while True:
            char = self.peek_char()
            if char in "|)" or (char == NUL and self.at_end):
                break
            if char == "(":
                group = self._parse_group()
                if group:
                    nodes.append(group)
            elif char in "?*+":
                self.next_char()
                self.raise_error(f"Dangling meta character '{char}'")
            else:
                nodes.append(self._parse_item(char))
        return nodes[0] if len(nodes) == 1 else Seq(tuple(nodes))

    def _parse_item(self, char: str) -> Node:
        match char:
            case "[":
                return self._parse_quantifier(Chars(self.read_class()))
            case "\\" if self.char_at(1) in "pP":
                self.cursor += 1
                return self._parse_quantifier(Chars(self.read_property()))
            case "^":
                self.next_char()
                return self._parse_quantifier(Assertion(self._resolve_caret()))
            case "$":
                self.next_char()
                return self._parse_quantifier(Assertion(self._resolve_dollar()))
            case ".":
                self.next_char()
                return self._parse_quantifier(Chars(self._resolve_dot()))
        return self._parse_atom()

    def _resolve_caret(self) -> AssertionKind:
        if not self.has_flag(Flags.MULTILINE):
            return AssertionKind.BEGIN
        return (
            AssertionKind.UNIX_LINE_BEGIN
            if self.has_flag(Flags.UNIX_LINES)
            else AssertionKind.LINE_BEGIN
        )

    def _resolve_dollar(self) -> AssertionKind:
        unix = self.has_flag(Flags.UNIX_LINES)
        if self.has_flag(Flags.MULTILINE):
            return AssertionKind.UNIX_LINE_END if unix else AssertionKind.LINE_END
        return AssertionKind.UNIX_LAST_LINE_END if unix else AssertionKind.LAST_LINE_END

    def _resolve_dot(self) -> CharSet:
        if self.has_flag(Flags.DOTALL):
            return charset.ANY
        return charset.UNIX_DOT if self.has_flag(Flags.UNIX_LINES) else charset.DOT

    def _parse_atom(self) -> Node:
        """Read literals as far as they go; a quantifier takes the last of them only."""
        chars: list[str] = []
        before = -1
        char = self.peek_char()
        while True:
            if char in "*+?{":
                if len(chars) > 1:
                    self.cursor = before
                    chars.pop()
                break
            if char in "$.^([|)" or (char == NUL and self.at_end):
                break
            if char != "\\":
                before = self.cursor
                chars.append(char)
                char = self.next_char()
                continue
            if self.char_at(1) in "pP":  # never the first: that is read elsewhere
                break
            before = self.cursor
            escaped = self.read_escape(in_class=False)
            if not isinstance(escaped, str):
                if chars:
                    self.cursor = before
                    break
                node = Chars(escaped) if isinstance(escaped, CharSet) else escaped
                return self._parse_quantifier(node)
            chars.append(escaped)
            char = self.peek_char()
        if len(chars) == 1:
            return self._parse_quantifier(Chars(self.make_literal_set(chars[0])))
        return self._parse_quantifier(Seq(tuple(Chars(self.make_slice_set(c)) for c in chars)))

    def _parse_group(self) -> Node | None:
        """Read a group with its quantifier; None for `(?flags)`, which stay in force."""
        self.enter_level()
        outside = self.flags
        self.next_char()
        node: Node | None
        if self.peek_char() != "?":
            self.group_count += 1
            node = Group(*self._parse_numbered_group(self.group_count))
        else:
            node = self._parse_special_group()
            if node is None:
                self.depth -= 1
                return None
        self._expect_group_end()
        self.flags = outside
        self.depth -= 1
        return self._parse_quantifier(node)

    def _parse_numbered_group(self, number: int) -> tuple[Node, int]:
        return self._parse_expression(), number

    def _expect_group_end(self) -> None:
        if self.read_char() != ")":
            self.raise_error("Unclosed group")

    def _parse_special_group(self) -> Node | None:
        kind = self.skip_char()
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
                self.raise_error("Unknown group type")
        self.unread_char()
        self._parse_flags()
        after = self.read_char()
        if after == ")":
            return None
        if after != ":":
            self.raise_error("Unknown inline modifier")
        return Group(self._parse_expression(), 0)

    def _parse_behind_or_named(self) -> Node:
        char = self.read_char()
        if char in "=!":
            start = self.cursor
            body = Group(self._parse_expression(), 0)
            study = TreeInfo.from_node(body)
            if not study.max_valid:
                self.raise_error("Look-behind group does not have an obvious maximum length")
            wide = max(self.slice_text(start, self.length), default="") > "\uffff"
            bounds = (study.min_length, study.max_length, wide)
            return Look(body, True, char == "!", *bounds)
        name = self.read_group_name(char)
        if name in self.group_names:
            self.raise_error(f"Named capturing group <{name}> is already defined")
        self.group_count += 1
        self.group_names[name] = number = self.group_count
        return Group(self._parse_expression(), number)

    def _parse_flags(self) -> None:
        on = True
        char = self.peek_char()
        while True:
            if char == "-" and on:
                on = False
            elif char in _FLAG_LETTERS:
                self.flags = (
                    self.flags | _FLAG_LETTERS[char] if on else self.flags & ~_FLAG_LETTERS[char]
                )
            elif char == "c":
                if on:
                    self.cursor += 1
                    self.raise_error("canonical equivalence is not supported")
            else:
                return
            char = self.next_char()

    def _parse_quantifier(self, node: Node) -> Node:
        """Read a quantifier, if there is one, and give the node with it."""
        match self.peek_char():
            case "?":
                return _make_repeat(node, 0, 1, self._parse_repeat_kind())
            case "*":
                return _make_repeat(node, 0, UNBOUNDED, self._parse_repeat_kind())
            case "+":
                return _make_repeat(node, 1, UNBOUNDED, self._parse_repeat_kind())
            case "{":
                least, most = self._parse_counts()
                return _make_repeat(node, least, most, self._parse_repeat_kind())
        return node

    def _parse_repeat_kind(self) -> RepeatKind:
        kind = _KIND_SUFFIXES.get(self.next_char(), "greedy")
        if kind != "greedy":
            self.next_char()
        return kind

    def _parse_counts(self) -> tuple[int, int]:
        """Read `{n}`, `{n,}` or `{n,m}` up to its `}`, which becomes the next character."""
        char = self.skip_char()
        if char not in _DIGITS:
            self.raise_error("Illegal repetition")
        least, char = self._parse_number(char)
        most = least
        if char == ",":
            char = self.read_char()
            if char == "}":
                self.unread_char()
                return least, UNBOUNDED
            most, char = self._parse_number(char)
        if char != "}":
            self.raise_error("Unclosed counted closure")
        if most < least:
            self.raise_error("Illegal repetition range")
        self.unread_char()
        return least, most

    def _parse_number(self, char: str) -> tuple[int, str]:
        number = 0
        while char in _DIGITS:
            number = number * 10 + int(char)
            if number > UNBOUNDED:
                self.raise_error("Illegal repetition range")
            char = self.read_char()
        return number, char


def _make_repeat(node: Node, least: int, most: int, kind: RepeatKind) -> Repeat:
    """Build a repetition in the form in which the JDK runs it."""
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
