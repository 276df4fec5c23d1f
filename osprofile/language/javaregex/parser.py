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

from osprofile.language.javaregex import charset
from osprofile.language.javaregex.charset import CharSet
from osprofile.language.javaregex.classes import Classes
from osprofile.language.javaregex.reader import NUL, Flags
from osprofile.language.javaregex.study import Study
from osprofile.language.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    Atomic,
    Chars,
    Form,
    Group,
    Kind,
    Look,
    Node,
    Parsed,
    Repeat,
    Seq,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_LETTERS: Mapping[str, Flags] = {
    "i": Flags.CASE_INSENSITIVE, "m": Flags.MULTILINE, "s": Flags.DOTALL,
    "d": Flags.UNIX_LINES, "u": Flags.UNICODE_CASE, "x": Flags.COMMENTS,
    "U": Flags.UNICODE_CLASSES | Flags.UNICODE_CASE,
}  # fmt: skip
_KINDS: Mapping[str, Kind] = {"?": "lazy", "+": "possessive"}
_DIGITS = frozenset("0123456789")


def parse(text: str) -> Parsed:
    """Parse a pattern. JavaRegexError, with the place, where Java refuses it or we have to."""
    return _Parser(text).pattern()


class _Parser(Classes):
    def pattern(self) -> Parsed:
        tree = self._expression()
        if self.cursor != self.length:
            if self.peek() == ")":
                self.cursor += 1
                self.fail("Unmatched closing ')'")
            self.fail("a lone backslash ends the pattern")
        return Parsed(self.text, tree, self.groups, self.names, self.has_backrefs)

    def _expression(self) -> Node:
        branches = [self._sequence()]
        while self.peek() == "|":
            self.next()
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while True:
            char = self.peek()
            if char in "|)" or (char == NUL and self.at_end):
                break
            if char == "(":
                group = self._group()
                if group:
                    nodes.append(group)
            elif char in "?*+":
                self.next()
                self.fail(f"Dangling meta character '{char}'")
            else:
                nodes.append(self._item(char))
        return nodes[0] if len(nodes) == 1 else Seq(tuple(nodes))

    def _item(self, char: str) -> Node:
        match char:
            case "[":
                return self._quantified(Chars(self.char_class()))
            case "\\" if self.char(1) in "pP":
                self.cursor += 1
                return self._quantified(Chars(self.property()))
            case "^":
                self.next()
                return self._quantified(Assertion(self._caret()))
            case "$":
                self.next()
                return self._quantified(Assertion(self._dollar()))
            case ".":
                self.next()
                return self._quantified(Chars(self._dot()))
        return self._atom()

    def _caret(self) -> Where:
        if not self.has(Flags.MULTILINE):
            return Where.BEGIN
        return Where.UNIX_LINE_BEGIN if self.has(Flags.UNIX_LINES) else Where.LINE_BEGIN

    def _dollar(self) -> Where:
        unix = self.has(Flags.UNIX_LINES)
        if self.has(Flags.MULTILINE):
            return Where.UNIX_LINE_END if unix else Where.LINE_END
        return Where.UNIX_LAST_LINE_END if unix else Where.LAST_LINE_END

    def _dot(self) -> CharSet:
        if self.has(Flags.DOTALL):
            return charset.ANY
        return charset.UNIX_DOT if self.has(Flags.UNIX_LINES) else charset.DOT

    def _atom(self) -> Node:
        """Read literals as far as they go; a quantifier takes the last of them only."""
        chars: list[str] = []
        before = -1
        char = self.peek()
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
                char = self.next()
                continue
            if self.char(1) in "pP":  # never the first: that is read elsewhere
                break
            before = self.cursor
            escaped = self.escape(in_class=False)
            if not isinstance(escaped, str):
                if chars:
                    self.cursor = before
                    break
                node = Chars(escaped) if isinstance(escaped, CharSet) else escaped
                return self._quantified(node)
            chars.append(escaped)
            char = self.peek()
        if len(chars) == 1:
            return self._quantified(Chars(self.single(chars[0])))
        return self._quantified(Seq(tuple(Chars(self.sliced(c)) for c in chars)))

    def _group(self) -> Node | None:
        """Read a group with its quantifier; None for `(?flags)`, which stay in force."""
        self.deeper()
        outside = self.flags
        self.next()
        node: Node | None
        if self.peek() != "?":
            self.groups += 1
            node = Group(*self._numbered(self.groups))
        else:
            node = self._special()
            if node is None:
                self.depth -= 1
                return None
        self._close()
        self.flags = outside
        self.depth -= 1
        return self._quantified(node)

    def _numbered(self, number: int) -> tuple[Node, int]:
        return self._expression(), number

    def _close(self) -> None:
        if self.read() != ")":
            self.fail("Unclosed group")

    def _special(self) -> Node | None:
        kind = self.skip()
        match kind:
            case ":":
                return Group(self._expression(), 0)
            case "=" | "!":
                body = Group(self._expression(), 0)
                return Look(body, behind=False, negative=kind == "!")
            case ">":
                return Atomic(Group(self._expression(), 0))
            case "<":
                return self._behind_or_named()
            case "$" | "@":
                self.fail("Unknown group type")
        self.unread()
        self._flags()
        after = self.read()
        if after == ")":
            return None
        if after != ":":
            self.fail("Unknown inline modifier")
        return Group(self._expression(), 0)

    def _behind_or_named(self) -> Node:
        char = self.read()
        if char in "=!":
            start = self.cursor
            body = Group(self._expression(), 0)
            study = Study.of(body)
            if not study.max_valid:
                self.fail("Look-behind group does not have an obvious maximum length")
            wide = max(self.slice(start, self.length), default="") > "\uffff"
            bounds = (study.min_length, study.max_length, wide)
            return Look(body, True, char == "!", *bounds)
        name = self.group_name(char)
        if name in self.names:
            self.fail(f"Named capturing group <{name}> is already defined")
        self.groups += 1
        self.names[name] = number = self.groups
        return Group(self._expression(), number)

    def _flags(self) -> None:
        on = True
        char = self.peek()
        while True:
            if char == "-" and on:
                on = False
            elif char in _LETTERS:
                self.flags = self.flags | _LETTERS[char] if on else self.flags & ~_LETTERS[char]
            elif char == "c":
                if on:
                    self.cursor += 1
                    self.fail("canonical equivalence is not supported")
            else:
                return
            char = self.next()

    def _quantified(self, node: Node) -> Node:
        """Read a quantifier, if there is one, and give the node with it."""
        match self.peek():
            case "?":
                return _repeat(node, 0, 1, self._kind())
            case "*":
                return _repeat(node, 0, UNBOUNDED, self._kind())
            case "+":
                return _repeat(node, 1, UNBOUNDED, self._kind())
            case "{":
                least, most = self._counts()
                return _repeat(node, least, most, self._kind())
        return node

    def _kind(self) -> Kind:
        kind = _KINDS.get(self.next(), "greedy")
        if kind != "greedy":
            self.next()
        return kind

    def _counts(self) -> tuple[int, int]:
        """Read `{n}`, `{n,}` or `{n,m}` up to its `}`, which becomes the next character."""
        char = self.skip()
        if char not in _DIGITS:
            self.fail("Illegal repetition")
        least, char = self._number(char)
        most = least
        if char == ",":
            char = self.read()
            if char == "}":
                self.unread()
                return least, UNBOUNDED
            most, char = self._number(char)
        if char != "}":
            self.fail("Unclosed counted closure")
        if most < least:
            self.fail("Illegal repetition range")
        self.unread()
        return least, most

    def _number(self, char: str) -> tuple[int, str]:
        number = 0
        while char in _DIGITS:
            number = number * 10 + int(char)
            if number > UNBOUNDED:
                self.fail("Illegal repetition range")
            char = self.read()
        return number, char


def _repeat(node: Node, least: int, most: int, kind: Kind) -> Repeat:
    """Build a repetition in the form in which the JDK runs it."""
    group = isinstance(node, Group)
    if (least, most) == (0, 1):
        form = Form.OPTION if group and kind != "possessive" else Form.QUESTION
    elif not group:
        run = isinstance(node, Chars) and kind == "greedy" and most == UNBOUNDED
        form = Form.RUN if run else Form.CURLY
    elif kind == "possessive":
        form = Form.CURLY
    else:
        form = Form.GROUP_CURLY if Study.of(node).deterministic else Form.LOOP
    return Repeat(node, least, most, kind, form)
