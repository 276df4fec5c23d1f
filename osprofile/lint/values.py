"""What the values of a field can be: which characters they have, and with which they begin.

The sets are never too small: they rest on what the engine checks (`ext:type`, Min, Max,
`ext:pattern`). The empty value, which passes every check, has no characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import JavaRegexError
from osprofile.incarnation.lengths import ARGUMENTS_PATTERN, ENVIRONMENT_PATTERN
from osprofile.language.javaregex import literal, literal_replacement
from osprofile.language.javaregex.charset import ANY, DIGIT, EMPTY, VERTICAL, CharSet
from osprofile.language.javaregex.parser import parse
from osprofile.language.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
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
    Where,
)

if TYPE_CHECKING:
    from osprofile.language.body import Replacement
    from osprofile.profile.model import Field

ENVIRONMENT_WORDS: Final = (
    r"export ([A-Za-z_][A-Za-z0-9_]*+=)('(?:[^']++|'\\'')*+')(?:\n|\z)",
    "$1$2 ",
)
"""FROM and TO that make words NAME='value' of these lines, for env. As commands they are not safe:
bash evaluates what it assigns to RANDOM, SECONDS and others."""

_NUMBER: Final = DIGIT | CharSet.chars("+-.eE")
_EDGES: Final = frozenset(
    Assertion(where) for where in (Where.BEGIN, Where.END, Where.LAST_LINE_END, Where.LINE_BEGIN)
)
_QUOTE_ESCAPES: Final = frozenset({"'\\''", "'\"'\"'"})


@final
@dataclass(frozen=True, slots=True)
class Values:
    """The characters that values may have, and those that they may begin with."""

    chars: CharSet
    first: CharSet


ANYTHING: Final = Values(ANY, ANY)
DIGITS: Final = Values(DIGIT, DIGIT)
DERIVED: Final = Values(DIGIT | CharSet.chars(":"), DIGIT)


def is_shell_text(field: Field, replacement: Replacement) -> bool:
    """Return whether a replacement gives only quoted shell words, by its field's pattern."""
    pattern = field.pattern.text if field.pattern is not None else ""
    if pattern == ENVIRONMENT_PATTERN:
        return (replacement.pattern, replacement.replacement) == ENVIRONMENT_WORDS
    return pattern == ARGUMENTS_PATTERN and replacement.pattern is None


def values_of(field: Field) -> Values:
    """Give what the engine lets through for a field."""
    found = ANYTHING
    if field.type == "integer":
        found = DIGITS
    elif field.type == "number" or field.minimum is not None or field.maximum is not None:
        found = Values(_NUMBER, _NUMBER)
    if field.pattern is not None:
        by_pattern = matched_by(field.pattern.text)
        found = Values(found.chars & by_pattern.chars, found.first & by_pattern.first)
    return found


def escapes_quotes(replacement: Replacement) -> bool:
    r"""Say whether a replacement is `<X/'/'\\''>`, which makes a value fit for single quotes."""
    if replacement.pattern is None or replacement.replacement is None:
        return False
    made = literal_replacement(replacement.replacement)
    return literal(replacement.pattern) == "'" and made in _QUOTE_ESCAPES


def transformed(values: Values, replacement: Replacement) -> Values:
    """Give what the values become by FROM and TO, as far as that is plain to see.

    Plain is a FROM of one character or class, repeated or not, with a literal TO. Else what TO adds
    is the profile's own text, and the result may begin with any character of the value.
    """
    if replacement.pattern is None or replacement.replacement is None:
        return values
    made = literal_replacement(replacement.replacement)
    taken = _one_set(replacement.pattern)
    if made is None or taken is None:  # what begins the value may be taken away
        return Values(values.chars, values.chars | values.first | CharSet.chars(made or ""))
    if not values.chars.meets(taken):
        return values
    added = CharSet.chars(made)
    # Where the text put in is empty, a value may begin with any character of its inside.
    first = (values.first & ~taken) | CharSet.chars(made[:1]) if made else values.chars & ~taken
    return Values((values.chars & ~taken) | added, first)


def _one_set(pattern: str) -> CharSet | None:
    """Give the set of a pattern that takes single characters of a set away, or runs of them."""
    try:
        node = parse(pattern).tree
    except (JavaRegexError, RecursionError):
        return None
    if isinstance(node, Repeat) and node.least == 1:
        node = node.body
    while isinstance(node, Group):
        node = node.body
    return node.chars if isinstance(node, Chars) else None


def takes_all(pattern: str, chars: CharSet) -> bool:
    """Say whether FROM surely matches every value of these characters, as a whole: `^(.+)$`."""
    try:
        node = parse(pattern).tree
    except (JavaRegexError, RecursionError):
        return False
    parts = node.nodes if isinstance(node, Seq) else (node,)
    parts = tuple(part for part in parts if part not in _EDGES)
    node = parts[0] if len(parts) == 1 else node
    while isinstance(node, Group | Atomic):
        node = node.body
    if not isinstance(node, Repeat) or node.least > 1 or node.most != UNBOUNDED:
        return False
    return isinstance(node.body, Chars) and not chars.meets(~node.body.chars)


def matched_by(pattern: str) -> Values:
    """Give the values that a Java pattern can match as a whole; of a bad one, anything."""
    try:
        tree = parse(pattern).tree
    except (JavaRegexError, RecursionError):
        return ANYTHING
    found = _study(tree)
    return Values(found.chars, found.first)


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern can match; `empty`: also nothing; `barred`: what cannot follow."""

    chars: CharSet = EMPTY
    first: CharSet = EMPTY
    empty: bool = True
    barred: CharSet = EMPTY


def _study(node: Node) -> _Part:
    found = _Part()  # of an assertion
    match node:
        case Chars(chars):
            found = _Part(chars, chars, empty=False)
        case Seq(nodes):
            found = _sequence([_study(n) for n in nodes])
        case Alt(branches):
            found = _either([_study(b) for b in branches])
        case Group(body) | Atomic(body):
            found = _study(body)
        case Repeat(body, least, most):
            found = _repeated(_study(body), least, most)
        case Look(body, behind=False, negative=True):
            found = _Part(barred=_single(body) or EMPTY)
        case LineBreak():
            found = _Part(VERTICAL, VERTICAL, empty=False)
        case Cluster() | BackRef():
            found = _Part(ANY, ANY)
    return found


def _single(node: Node) -> CharSet | None:
    while isinstance(node, Group):
        node = node.body
    return node.chars if isinstance(node, Chars) else None


def _sequence(parts: list[_Part]) -> _Part:
    chars, first, empty, barred = EMPTY, EMPTY, True, EMPTY
    for part in parts:
        chars |= part.chars
        if empty:
            first |= part.first & ~barred
            barred |= part.barred
            empty = part.empty
    return _Part(chars, first, empty, barred if empty else EMPTY)


def _either(parts: list[_Part]) -> _Part:
    chars, first, barred = EMPTY, EMPTY, ANY
    for part in parts:
        chars |= part.chars
        first |= part.first
        barred &= part.barred if part.empty else ANY
    empty = any(part.empty for part in parts)
    return _Part(chars, first, empty, barred if empty else EMPTY)


def _repeated(part: _Part, least: int, most: int) -> _Part:
    if most == 0:
        return _Part()
    return part if least else _Part(part.chars, part.first)
