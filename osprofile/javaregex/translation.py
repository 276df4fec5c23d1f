r"""The translation of patterns for Python's engines, `re` and `regex`.

Only what means the same in Java is translated: no captures inside repetitions, look-arounds or
atomic groups, no repetition of what can be empty, references only backwards and outside all that.
Sets are written out, and assertions by their meaning, so that an engine's own `\w`, `$` and flags
are never used. All other patterns are left to the machine.

There are two dialects: one for any value, and a simple one for values that are ASCII without CR.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.javaregex.charset import ANY, CharSet
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    BackRef,
    Chars,
    Group,
    LineBreak,
    Look,
    Node,
    Repeat,
    RepeatForm,
    Seq,
    get_children,
)
from osprofile.javaregex.tree_info import compute_min_length

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASCII_CHARS = CharSet.from_ranges((0, 0x7F))
_MAX_COUNT = 1000
_SIMPLE_ASSERTIONS: Mapping[AssertionKind, str] = {
    AssertionKind.BEGIN: r"\A", AssertionKind.END: r"\Z",
    AssertionKind.LINE_BEGIN: r"(?m:^)(?!\Z)", AssertionKind.UNIX_LINE_BEGIN: r"(?m:^)(?!\Z)",
    AssertionKind.LINE_END: r"(?m:$)", AssertionKind.UNIX_LINE_END: r"(?m:$)",
    AssertionKind.LAST_LINE_END: r"(?=\n?\Z)", AssertionKind.UNIX_LAST_LINE_END: r"(?=\n?\Z)",
    AssertionKind.WORD_EDGE: r"(?a:\b)", AssertionKind.UNICODE_WORD_EDGE: r"(?a:\b)",
    AssertionKind.NO_WORD_EDGE: r"(?!(?a:\b))", AssertionKind.UNICODE_NO_WORD_EDGE: r"(?!(?a:\b))",
}  # fmt: skip
_GENERAL_ASSERTIONS: Mapping[AssertionKind, str] = {
    AssertionKind.BEGIN: r"\A", AssertionKind.END: r"\Z",
    AssertionKind.LINE_BEGIN: r"(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z)",
    AssertionKind.UNIX_LINE_BEGIN: r"(?m:^)(?!\Z)",
    AssertionKind.LINE_END: r"(?:\Z|(?=[\r\x85\u2028\u2029])|(?<!\r)(?=\n))",
    AssertionKind.UNIX_LINE_END: r"(?m:$)",
    AssertionKind.LAST_LINE_END: r"(?:\Z|(?=\r\n\Z)|(?=[\r\x85\u2028\u2029]\Z)|(?<!\r)(?=\n\Z))",
    AssertionKind.UNIX_LAST_LINE_END: r"(?=\n?\Z)",
}  # fmt: skip
_SHORT_QUANTIFIERS = {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}
_KIND_SUFFIXES = {"greedy": "", "lazy": "?", "possessive": "+"}


class UntranslatableError(Exception):
    """Raised for a pattern that only the machine can match."""


def has_atomic_part(node: Node) -> bool:
    """Return whether a pattern has an atomic group or a possessive repetition."""
    if isinstance(node, Atomic) or (isinstance(node, Repeat) and node.kind == "possessive"):
        return True
    return any(map(has_atomic_part, get_children(node)))


def translate_pattern(node: Node, *, simple: bool, keep_atomic: bool) -> str:
    """Return a pattern for an engine; without `keep_atomic`, possessive is written greedy.

    UntranslatableError if the result of the engines could differ from Java's.
    """
    return _Translator(simple=simple, keep_atomic=keep_atomic).translate_node(node)


class _Translator:
    def __init__(self, *, simple: bool, keep_atomic: bool) -> None:
        self._simple = simple
        self._keep_atomic = keep_atomic
        self._closed_groups: set[int] = set()
        self._repeat_depth = 0  # repetitions around the node
        self._seal_depth = 0  # look-arounds, atomic groups and possessive repetitions around it

    def translate_node(self, node: Node) -> str:
        match node:
            case Chars(chars):
                alphabet = _ASCII_CHARS if self._simple else ANY
                return _format_set(chars, alphabet, allow_negated=not self._keep_atomic)
            case Seq(nodes):
                return "".join(map(self.translate_node, nodes))
            case Alt(branches):
                return f"(?:{'|'.join(map(self.translate_node, branches))})"
            case Repeat():
                return self._translate_repeat(node)
        return self._translate_special(node)

    def _translate_special(self, node: Node) -> str:
        match node:
            case Group(body, number):
                return self._translate_group(body, number)
            case Atomic(body):
                inside = self._translate_sealed(body)
                return f"(?>{inside})" if self._keep_atomic else inside
            case Look():
                return self._translate_look(node)
            case Assertion(where):
                assertions = _SIMPLE_ASSERTIONS if self._simple else _GENERAL_ASSERTIONS
                if where in assertions:
                    return assertions[where]
            case BackRef(number, "") if number in self._closed_groups and not self._is_nested:
                return f"(?:\\{number})"
            case LineBreak() if not self._repeat_depth:
                return r"(?:\r\n|[\n-\r\x85\u2028\u2029])"
        raise UntranslatableError

    @property
    def _is_nested(self) -> bool:
        return bool(self._repeat_depth or self._seal_depth)

    def _translate_group(self, body: Node, number: int) -> str:
        if not number:
            return f"(?:{self.translate_node(body)})"
        if self._is_nested:
            raise UntranslatableError
        inside = self.translate_node(body)
        self._closed_groups.add(number)
        return f"({inside})"

    def _translate_sealed(self, node: Node) -> str:
        self._seal_depth += 1
        inside = self.translate_node(node)
        self._seal_depth -= 1
        return inside

    def _translate_look(self, node: Look) -> str:
        if node.behind and not node.min_length == node.max_length == _get_fixed_width(node.body):
            raise UntranslatableError
        sign = f"{'<' * node.behind}{'!' if node.negative else '='}"
        return f"(?{sign}{self._translate_sealed(node.body)})"

    def _translate_repeat(self, node: Repeat) -> str:
        if node.least > _MAX_COUNT or _MAX_COUNT < node.most < UNBOUNDED:
            raise UntranslatableError
        possessive = node.kind == "possessive"
        if isinstance(node.body, Chars):
            return self.translate_node(node.body) + self._format_quantifier(node)
        if not isinstance(node.body, Group):
            raise UntranslatableError
        if node.most > 1 and not compute_min_length(node.body):
            raise UntranslatableError
        self._repeat_depth += node.most != 1
        body = self._translate_sealed(node.body) if possessive else self.translate_node(node.body)
        self._repeat_depth -= node.most != 1
        if node.form is RepeatForm.OPTION and not compute_min_length(node.body):
            return f"(?:|{body})" if node.kind == "lazy" else f"(?:{body}|)"
        if possessive and self._keep_atomic:
            return f"(?:(?>{body})){self._format_quantifier(node)}"
        return body + self._format_quantifier(node)

    def _format_quantifier(self, node: Repeat) -> str:
        kind = node.kind if self._keep_atomic or node.kind == "lazy" else "greedy"
        most = "" if node.most == UNBOUNDED else str(node.most)
        count = f"{{{node.least},{most}}}"
        return _SHORT_QUANTIFIERS.get(count, count) + _KIND_SUFFIXES[kind]


def _get_fixed_width(node: Node) -> int:
    """Return the only length that a node of characters matches; UntranslatableError for others."""
    match node:
        case Chars():
            return 1
        case Seq(nodes):
            return sum(map(_get_fixed_width, nodes))
        case Group(body, 0):
            return _get_fixed_width(body)
        case Alt(branches):
            widths = {_get_fixed_width(branch) for branch in branches}
            if len(widths) == 1:
                return widths.pop()
        case Repeat(body, least, most) if least == most:
            return _get_fixed_width(body) * least
    raise UntranslatableError


def _format_set(chars: CharSet, alphabet: CharSet, *, allow_negated: bool) -> str:
    """Return a set of the characters of `alphabet` in the syntax of the engines.

    `regex` gets no negated sets: it loses the negation where sets are alternatives.
    """
    chars, rest = chars & alphabet, ~chars & alphabet
    if not chars.ranges:
        return r"\ud800"  # never matches: no value has it
    if chars.single_char:
        return re.escape(chars.single_char)
    if not rest.ranges:
        return "(?s:.)"
    if allow_negated and len(rest.ranges) < len(chars.ranges):
        return f"[^{_format_ranges(rest)}]"
    return f"[{_format_ranges(chars)}]"


def _format_ranges(chars: CharSet) -> str:
    return "".join(
        _format_char(first) if first == last else f"{_format_char(first)}-{_format_char(last)}"
        for first, last in chars.ranges
    )


def _format_char(point: int) -> str:
    char = chr(point)
    if char.isascii() and char.isalnum():
        return char
    return f"\\U{point:08x}" if point > 0xFFFF else f"\\u{point:04x}"
