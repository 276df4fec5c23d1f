r"""Patterns that Python's engines match exactly as Java does, and how these are to be written.

Only constructs that mean the same everywhere are let through: no captures inside repetitions,
look-arounds or atomic groups, no repetition of what can be empty, references only backwards and
outside all that. All sets are written out, all assertions by their meaning, so nothing of an
engine's own `\w`, `$` or flags is used. The rest goes to the machine.

There are two dialects: for any value, and for `simple` ones, which are ASCII without CR.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.language.javaregex.charset import ANY, CharSet
from osprofile.language.javaregex.study import shortest
from osprofile.language.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    Atomic,
    BackRef,
    Chars,
    Form,
    Group,
    LineBreak,
    Look,
    Node,
    Repeat,
    Seq,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASCII = CharSet.of((0, 0x7F))
_LARGEST = 1000
_SIMPLE: Mapping[Where, str] = {
    Where.BEGIN: r"\A", Where.END: r"\Z",
    Where.LINE_BEGIN: r"(?m:^)(?!\Z)", Where.UNIX_LINE_BEGIN: r"(?m:^)(?!\Z)",
    Where.LINE_END: r"(?m:$)", Where.UNIX_LINE_END: r"(?m:$)",
    Where.LAST_LINE_END: r"(?=\n?\Z)", Where.UNIX_LAST_LINE_END: r"(?=\n?\Z)",
    Where.WORD_EDGE: r"(?a:\b)", Where.UNICODE_WORD_EDGE: r"(?a:\b)",
    Where.NO_WORD_EDGE: r"(?!(?a:\b))", Where.UNICODE_NO_WORD_EDGE: r"(?!(?a:\b))",
}  # fmt: skip
_GENERAL: Mapping[Where, str] = {
    Where.BEGIN: r"\A", Where.END: r"\Z",
    Where.LINE_BEGIN: r"(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z)",
    Where.UNIX_LINE_BEGIN: r"(?m:^)(?!\Z)",
    Where.LINE_END: r"(?:\Z|(?=[\r\x85\u2028\u2029])|(?<!\r)(?=\n))",
    Where.UNIX_LINE_END: r"(?m:$)",
    Where.LAST_LINE_END: r"(?:\Z|(?=\r\n\Z)|(?=[\r\x85\u2028\u2029]\Z)|(?<!\r)(?=\n\Z))",
    Where.UNIX_LAST_LINE_END: r"(?=\n?\Z)",
}  # fmt: skip
_SHORT = {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}
_KINDS = {"greedy": "", "lazy": "?", "possessive": "+"}


class NotPlainError(Exception):
    """A pattern is for the machine only."""


def has_atomic(node: Node) -> bool:
    """Tell whether a pattern has something that is never tried again once matched."""
    match node:
        case Atomic():
            return True
        case Seq(nodes) | Alt(nodes):
            return any(map(has_atomic, nodes))
        case Group(body) | Look(body):
            return has_atomic(body)
        case Repeat(body, _, _, kind):
            return kind == "possessive" or has_atomic(body)
    return False


def write(node: Node, *, simple: bool, atomic: bool) -> str:
    """Write a pattern for an engine; with `atomic` false, possessive is written greedy.

    NotPlainError if the engines would not do as Java does.
    """
    return _Writer(simple=simple, atomic=atomic).write(node)


class _Writer:
    def __init__(self, *, simple: bool, atomic: bool) -> None:
        self._simple = simple
        self._atomic = atomic
        self._closed: set[int] = set()
        self._looped = 0  # how many repetitions are around
        self._sealed = 0  # how many look-arounds, atomic groups and possessive repetitions

    def write(self, node: Node) -> str:
        match node:
            case Chars(chars):
                every = _ASCII if self._simple else ANY
                return _set(chars, every, negated=not self._atomic)
            case Seq(nodes):
                return "".join(map(self.write, nodes))
            case Alt(branches):
                return f"(?:{'|'.join(map(self.write, branches))})"
            case Repeat():
                return self._repeat(node)
        return self._special(node)

    def _special(self, node: Node) -> str:
        match node:
            case Group(body, number):
                return self._group(body, number)
            case Atomic(body):
                inside = self._seal(body)
                return f"(?>{inside})" if self._atomic else inside
            case Look():
                return self._look(node)
            case Assertion(where):
                known = _SIMPLE if self._simple else _GENERAL
                if where in known:
                    return known[where]
            case BackRef(number, "") if number in self._closed and not self._inside:
                return f"(?:\\{number})"
            case LineBreak() if not self._looped:
                return r"(?:\r\n|[\n-\r\x85\u2028\u2029])"
        raise NotPlainError

    @property
    def _inside(self) -> bool:
        return bool(self._looped or self._sealed)

    def _group(self, body: Node, number: int) -> str:
        if not number:
            return f"(?:{self.write(body)})"
        if self._inside:
            raise NotPlainError
        inside = self.write(body)
        self._closed.add(number)
        return f"({inside})"

    def _seal(self, node: Node) -> str:
        self._sealed += 1
        inside = self.write(node)
        self._sealed -= 1
        return inside

    def _look(self, node: Look) -> str:
        if node.behind and not node.shortest == node.longest == _width(node.body):
            raise NotPlainError
        sign = f"{'<' * node.behind}{'!' if node.negative else '='}"
        return f"(?{sign}{self._seal(node.body)})"

    def _repeat(self, node: Repeat) -> str:
        if node.least > _LARGEST or _LARGEST < node.most < UNBOUNDED:
            raise NotPlainError
        possessive = node.kind == "possessive"
        if isinstance(node.body, Chars):
            return self.write(node.body) + self._count(node)
        if not isinstance(node.body, Group):
            raise NotPlainError
        if node.most > 1 and not shortest(node.body):
            raise NotPlainError
        self._looped += node.most != 1
        body = self._seal(node.body) if possessive else self.write(node.body)
        self._looped -= node.most != 1
        if node.form is Form.OPTION and not shortest(node.body):
            return f"(?:|{body})" if node.kind == "lazy" else f"(?:{body}|)"
        if possessive and self._atomic:
            return f"(?:(?>{body})){self._count(node)}"
        return body + self._count(node)

    def _count(self, node: Repeat) -> str:
        kind = node.kind if self._atomic or node.kind == "lazy" else "greedy"
        most = "" if node.most == UNBOUNDED else str(node.most)
        count = f"{{{node.least},{most}}}"
        return _SHORT.get(count, count) + _KINDS[kind]


def _width(node: Node) -> int:
    """Give the one length that a node of plain characters matches; NotPlainError for another."""
    match node:
        case Chars():
            return 1
        case Seq(nodes):
            return sum(map(_width, nodes))
        case Group(body, 0):
            return _width(body)
        case Alt(branches):
            widths = {_width(branch) for branch in branches}
            if len(widths) == 1:
                return widths.pop()
        case Repeat(body, least, most) if least == most:
            return _width(body) * least
    raise NotPlainError


def _set(chars: CharSet, every: CharSet, *, negated: bool) -> str:
    """Write a set out of `every` character; the empty one never matches.

    The `regex` package loses the negation of sets that are alternatives: it gets none negated.
    """
    chars, rest = chars & every, ~chars & every
    if not chars.ranges:
        return r"\ud800"  # what no value has
    if chars.only:
        return re.escape(chars.only)
    if not rest.ranges:
        return "(?s:.)"
    if negated and len(rest.ranges) < len(chars.ranges):
        return f"[^{_ranges(rest)}]"
    return f"[{_ranges(chars)}]"


def _ranges(chars: CharSet) -> str:
    return "".join(
        _char(first) if first == last else f"{_char(first)}-{_char(last)}"
        for first, last in chars.ranges
    )


def _char(point: int) -> str:
    char = chr(point)
    if char.isascii() and char.isalnum():
        return char
    return f"\\U{point:08x}" if point > 0xFFFF else f"\\u{point:04x}"
