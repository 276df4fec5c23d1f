"""Ads and expressions to text; the reader gives the same back."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad.nodes import (
    KEYWORDS,
    LEVEL,
    UNDEFINED,
    Ad,
    Call,
    Chain,
    Conditional,
    Failure,
    ListOf,
    Literal,
    Reference,
    Subscript,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.executors.blah.classad.nodes import Constant, Expression

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SPECIAL: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_SPECIAL_IN_NAME: Final = re.compile(r"[\x00-\x1f\x7f'\\]")
_LETTERS: Final = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_OPERAND, _PRIMARY = len(LEVEL), len(LEVEL) + 1
"""How strongly an operand, and a primary expression, is bound."""


def write_ad(attributes: Mapping[str, Constant]) -> str:
    """Give an ad of constants in one line, as in `[ ExitCode = 0; JobStatus = 4 ]`."""
    inner = "; ".join(f"{_name(name)} = {constant(value)}" for name, value in attributes.items())
    return f"[ {inner} ]" if inner else "[ ]"


def constant(value: Constant) -> str:
    """Give a constant; in a string, a NUL is written as U+FFFD."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _real(value)
        case str():
            return f'"{_SPECIAL.sub(_escaped, value)}"'
        case Failure():
            return "error"
        case _:
            return UNDEFINED.value


def unparse(node: Expression) -> str:
    """Give an expression in one line, with no more parentheses than it needs."""
    return _text(node, 0)


def _real(value: float) -> str:
    if math.isnan(value):
        return 'real("NaN")'
    if math.isinf(value):
        return 'real("INF")' if value > 0 else 'real("-INF")'
    return repr(value)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\0":
        return "\ufffd"
    if character in "\"'\\":
        return f"\\{character}"
    return f"\\{_LETTERS.get(character) or format(ord(character), '03o')}"


def _name(name: str) -> str:
    if _PLAIN_NAME.match(name) and name.lower() not in KEYWORDS:
        return name
    return f"'{_SPECIAL_IN_NAME.sub(_escaped, name)}'"


def _text(node: Expression, binding: int) -> str:
    """Give a node; in parentheses if what is around it binds more strongly, by `binding`."""
    text, own = _with_binding(node)
    return f"({text})" if own < binding else text


def _with_binding(node: Expression) -> tuple[str, int]:  # noqa: PLR0911  # one a kind
    match node:
        case Literal(value=value):
            negative = isinstance(value, int | float) and str(value).startswith("-")
            return constant(value), _OPERAND if negative else _PRIMARY
        case Reference():
            return _reference(node), _PRIMARY
        case Subscript():
            return f"{_text(node.base, _PRIMARY)}[{_text(node.index, 0)}]", _PRIMARY
        case Unary():
            return f"{node.operator}{_text(node.operand, _OPERAND)}", _OPERAND
        case Chain():
            return _chain(node)
        case Conditional():
            return _conditional(node), 0
        case Call():
            return f"{node.name}({', '.join(_text(a, 0) for a in node.arguments)})", _PRIMARY
        case ListOf():
            items = ", ".join(_text(item, 0) for item in node.items)
            return f"{{ {items} }}" if items else "{ }", _PRIMARY
        case Ad():
            return _ad(node), _PRIMARY


def _chain(node: Chain) -> tuple[str, int]:
    binding = LEVEL[node.rest[0][0]] + 1
    pieces = [_text(node.first, binding + 1)]
    pieces += [f"{operator} {_text(operand, binding + 1)}" for operator, operand in node.rest]
    return " ".join(pieces), binding


def _conditional(node: Conditional) -> str:
    condition, otherwise = _text(node.condition, 1), _text(node.otherwise, 0)
    if node.then is None:
        return f"{condition} ?: {otherwise}"
    return f"{condition} ? {_text(node.then, 0)} : {otherwise}"


def _reference(node: Reference) -> str:
    if node.base is not None:
        return f"{_text(node.base, _PRIMARY)}.{_name(node.name)}"
    return f".{_name(node.name)}" if node.absolute else _name(node.name)


def _ad(node: Ad) -> str:
    found = node.attributes.values()
    inner = "; ".join(f"{_name(a.name)} = {_text(a.expression, 0)}" for a in found)
    return f"[ {inner} ]" if inner else "[ ]"
