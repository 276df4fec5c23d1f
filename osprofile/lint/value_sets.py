"""The set of values that a field can have: their characters, and their first characters.

The sets are never too small: they follow from what the engine checks (`ext:type`, Min, Max,
`ext:pattern`). The empty value, which passes every check, has no characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import JavaRegexError
from osprofile.incarnation.lengths import (
    ARGUMENTS_PATTERN,
    ENVIRONMENT_PATTERN,
    NO_DIRECTIVES_PATTERN,
)
from osprofile.javaregex import parse_literal_pattern, parse_literal_replacement
from osprofile.javaregex.charset import ANY, DIGIT, EMPTY, VERTICAL_SPACE, CharSet
from osprofile.javaregex.parser import parse_pattern
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    BackRef,
    Chars,
    Cluster,
    Group,
    LineBreak,
    Look,
    Node,
    Repeat,
    Seq,
)

if TYPE_CHECKING:
    from osprofile.incarnation.body import Replacement
    from osprofile.profile.model import Field

ENVIRONMENT_REPLACEMENT: Final = (
    r"export ([A-Za-z_][A-Za-z0-9_]*+=)('(?:[^']++|'\\''|'')*+')(?:\n|\z)",
    "$1$2 ",
)
"""FROM and TO that turn lines `export NAME='value'` into words NAME='value' for env. As commands the
lines are not safe: bash evaluates values that are assigned to RANDOM, SECONDS and others."""

_NUMBER_CHARS: Final = DIGIT | CharSet.from_chars("+-.eE")
_ANCHORS: Final = frozenset(
    Assertion(AssertionKind[name]) for name in ("BEGIN", "END", "LAST_LINE_END", "LINE_BEGIN")
)
_QUOTE_ESCAPES: Final = frozenset({"'\\''", "'\"'\"'"})


@final
@dataclass(frozen=True, slots=True)
class ValueSet:
    """The characters that values may contain, and those that they may begin with."""

    chars: CharSet
    first_chars: CharSet


ANY_VALUES: Final = ValueSet(ANY, ANY)
DIGIT_VALUES: Final = ValueSet(DIGIT, DIGIT)
DERIVED_VALUES: Final = ValueSet(DIGIT | CharSet.from_chars(":"), DIGIT)


def is_shell_text(field: Field, replacement: Replacement) -> bool:
    """Return whether a replacement always gives quoted shell words, by its field's pattern."""
    pattern = (field.pattern_text or "").removeprefix(NO_DIRECTIVES_PATTERN)
    if pattern == ENVIRONMENT_PATTERN:
        return (replacement.pattern, replacement.replacement) == ENVIRONMENT_REPLACEMENT
    return pattern == ARGUMENTS_PATTERN and replacement.pattern is None


def get_field_values(field: Field) -> ValueSet:
    """Return the values that the engine accepts for a field."""
    values = ANY_VALUES
    if field.type == "integer":
        values = DIGIT_VALUES
    elif field.type == "number" or field.minimum is not None or field.maximum is not None:
        values = ValueSet(_NUMBER_CHARS, _NUMBER_CHARS)
    if field.pattern_text is not None:
        by_pattern = get_pattern_values(field.pattern_text)
        values = ValueSet(values.chars & by_pattern.chars, values.first_chars & by_pattern.first_chars)
    return values


def escapes_quotes(replacement: Replacement) -> bool:
    r"""Return whether a replacement is `<X/'/'\\''>`, which escapes a value for single quotes."""
    if replacement.pattern is None or replacement.replacement is None:
        return False
    literal = parse_literal_replacement(replacement.replacement)
    return parse_literal_pattern(replacement.pattern) == "'" and literal in _QUOTE_ESCAPES


def apply_replacement(values: ValueSet, replacement: Replacement) -> ValueSet:
    """Return the set of values after FROM and TO.

    The result is exact for a FROM of one character or class, repeated or not, and a literal TO. For
    others, TO adds trusted text of the profile, and the result may begin with any character of the
    value.
    """
    if replacement.pattern is None or replacement.replacement is None:
        return values
    literal = parse_literal_replacement(replacement.replacement)
    replaced = _parse_replaced_chars(replacement.pattern)
    if literal is None or replaced is None:  # FROM may remove the beginning of the value
        return ValueSet(values.chars, values.chars | values.first_chars | CharSet.from_chars(literal or ""))
    if not values.chars.intersects(replaced):
        return values
    # With an empty TO, a value may begin with any character that it contains.
    first = (
        (values.first_chars & ~replaced) | CharSet.from_chars(literal[:1])
        if literal
        else values.chars & ~replaced
    )
    return ValueSet((values.chars & ~replaced) | CharSet.from_chars(literal), first)


def _parse_replaced_chars(pattern: str) -> CharSet | None:
    """Return the set of characters of a pattern that matches one of them, or a run of them."""
    node = _parse_tree(pattern)
    if isinstance(node, Repeat) and node.least == 1:
        node = node.body
    return _get_single_char_set(node) if node is not None else None


@lru_cache(maxsize=256)  # a field stands in many scripts
def _parse_tree(pattern: str) -> Node | None:
    try:
        return parse_pattern(pattern).tree
    except (JavaRegexError, RecursionError):
        return None


def matches_every_value(pattern: str, chars: CharSet) -> bool:
    """Return whether FROM certainly matches every whole value of these characters: `^(.+)$`."""
    node = _parse_tree(pattern)
    if node is None:
        return False
    parts = node.nodes if isinstance(node, Seq) else (node,)
    parts = tuple(part for part in parts if part not in _ANCHORS)
    node = parts[0] if len(parts) == 1 else node
    while isinstance(node, Group | Atomic):
        node = node.body
    if not isinstance(node, Repeat) or node.least > 1 or node.most != UNBOUNDED:
        return False
    return isinstance(node.body, Chars) and not chars.intersects(~node.body.chars)


@lru_cache(maxsize=256)
def get_pattern_values(pattern: str) -> ValueSet:
    """Return the values that a Java pattern can match as a whole; for one that is too deep, all values.

    For a bad pattern there are none: that it is bad is reported, and that it allows everything would be false.
    """
    try:
        tree = parse_pattern(pattern).tree
    except JavaRegexError:
        return ValueSet(EMPTY, EMPTY)
    except RecursionError:
        return ANY_VALUES
    part = _analyze_node(tree)
    return ValueSet(part.chars, part.first_chars)


@final
@dataclass(frozen=True, slots=True)
class _PatternPart:
    """What a part of a pattern can match; `excluded_next_chars` cannot follow it."""

    chars: CharSet = EMPTY
    first_chars: CharSet = EMPTY
    may_be_empty: bool = True
    excluded_next_chars: CharSet = EMPTY


def _analyze_node(node: Node) -> _PatternPart:
    part = _PatternPart()  # of an assertion
    match node:
        case Chars(chars):
            part = _PatternPart(chars, chars, may_be_empty=False)
        case Seq(nodes):
            part = _join_sequence([_analyze_node(n) for n in nodes])
        case Alt(branches):
            part = _join_branches([_analyze_node(b) for b in branches])
        case Group(body) | Atomic(body):
            part = _analyze_node(body)
        case Repeat(body, least, most):
            part = _repeat_part(_analyze_node(body), least, most)
        case Look(body, behind=False, negative=True):
            part = _PatternPart(excluded_next_chars=_get_single_char_set(body) or EMPTY)
        case LineBreak():
            part = _PatternPart(VERTICAL_SPACE, VERTICAL_SPACE, may_be_empty=False)
        case Cluster() | BackRef():
            part = _PatternPart(ANY, ANY)
    return part


def _get_single_char_set(node: Node) -> CharSet | None:
    while isinstance(node, Group):
        node = node.body
    return node.chars if isinstance(node, Chars) else None


def _join_sequence(parts: list[_PatternPart]) -> _PatternPart:
    chars, first, empty, excluded = EMPTY, EMPTY, True, EMPTY
    for part in parts:
        chars |= part.chars
        if empty:
            first |= part.first_chars & ~excluded
            excluded |= part.excluded_next_chars
            empty = part.may_be_empty
    return _PatternPart(chars, first, empty, excluded if empty else EMPTY)


def _join_branches(parts: list[_PatternPart]) -> _PatternPart:
    chars, first, excluded = EMPTY, EMPTY, ANY
    for part in parts:
        chars |= part.chars
        first |= part.first_chars
        excluded &= part.excluded_next_chars if part.may_be_empty else ANY
    empty = any(part.may_be_empty for part in parts)
    return _PatternPart(chars, first, empty, excluded if empty else EMPTY)


def _repeat_part(part: _PatternPart, minimum: int, maximum: int) -> _PatternPart:
    if maximum == 0:
        return _PatternPart()
    return part if minimum else _PatternPart(part.chars, part.first_chars)
