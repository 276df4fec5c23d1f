"""The text of ads and expressions; parsing it gives the same tree."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad.lexer import LETTER_ESCAPES
from osprofile.executors.blah.classad.nodes import (
    KEYWORDS,
    PRECEDENCE_LEVEL,
    UNDEFINED,
    Ad,
    Call,
    Conditional,
    Failure,
    ListExpression,
    Literal,
    OperatorChain,
    Reference,
    Subscript,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.executors.blah.classad.nodes import Constant, Expression

_UNQUOTED_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SPECIAL_IN_STRING: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_SPECIAL_IN_NAME: Final = re.compile(r"[\x00-\x1f\x7f'\\]")
_ESCAPE_LETTERS: Final = {character: letter for letter, character in LETTER_ESCAPES.items()}
_OPERAND_BINDING, _PRIMARY_BINDING = len(PRECEDENCE_LEVEL), len(PRECEDENCE_LEVEL) + 1
"""Binding strengths: 0 is a conditional's, 1 to 10 are those of binary operators, then these."""


def write_ad(attributes: Mapping[str, Constant]) -> str:
    """Return an ad of constants in one line, as in `[ ExitCode = 0; JobStatus = 4 ]`."""
    assignments = "; ".join(
        f"{_format_name(name)} = {format_constant(value)}" for name, value in attributes.items()
    )
    return f"[ {assignments} ]" if assignments else "[ ]"


def format_constant(value: Constant) -> str:
    """Return the text of a constant; a NUL in a string, which no ad can hold, becomes U+FFFD."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _format_real(value)
        case str():
            return f'"{_SPECIAL_IN_STRING.sub(_escape_character, value)}"'
        case Failure():
            return "error"
        case _:
            return UNDEFINED.value


def unparse(node: Expression) -> str:
    """Return an expression in one line, with no more parentheses than it needs."""
    return _format_node(node, 0)


def _format_real(value: float) -> str:
    if math.isnan(value):
        return 'real("NaN")'
    if math.isinf(value):
        return 'real("INF")' if value > 0 else 'real("-INF")'
    return repr(value)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\0":
        return "\ufffd"
    if character in "\"'\\":
        return f"\\{character}"
    return f"\\{_ESCAPE_LETTERS.get(character) or format(ord(character), '03o')}"


def _format_name(name: str) -> str:
    if _UNQUOTED_NAME.match(name) and name.lower() not in KEYWORDS:
        return name
    return f"'{_SPECIAL_IN_NAME.sub(_escape_character, name)}'"


def _format_node(node: Expression, binding: int) -> str:
    """Return a node's text, in parentheses if it binds more weakly than `binding`."""
    text, own_binding = _format_with_binding(node)
    return f"({text})" if own_binding < binding else text


def _format_with_binding(node: Expression) -> tuple[str, int]:  # noqa: PLR0911  # one a kind
    match node:
        case Literal(value=value):
            negative = isinstance(value, int | float) and str(value).startswith("-")
            return format_constant(value), _OPERAND_BINDING if negative else _PRIMARY_BINDING
        case Reference():
            return _format_reference(node), _PRIMARY_BINDING
        case Subscript():
            return (
                f"{_format_node(node.base, _PRIMARY_BINDING)}[{_format_node(node.index, 0)}]",
                _PRIMARY_BINDING,
            )
        case Unary():
            return (f"{node.operator}{_format_node(node.operand, _OPERAND_BINDING)}", _OPERAND_BINDING)
        case OperatorChain():
            return _format_chain(node)
        case Conditional():
            return _format_conditional(node), 0
        case Call():
            return (f"{node.name}({', '.join(_format_node(a, 0) for a in node.arguments)})", _PRIMARY_BINDING)
        case ListExpression():
            items = ", ".join(_format_node(item, 0) for item in node.items)
            return f"{{ {items} }}" if items else "{ }", _PRIMARY_BINDING
        case Ad():
            return _format_ad(node), _PRIMARY_BINDING


def _format_chain(node: OperatorChain) -> tuple[str, int]:
    binding = PRECEDENCE_LEVEL[node.operations[0][0]] + 1
    pieces = [_format_node(node.first, binding + 1)]
    pieces += [f"{operator} {_format_node(operand, binding + 1)}" for operator, operand in node.operations]
    return " ".join(pieces), binding


def _format_conditional(node: Conditional) -> str:
    condition, otherwise = _format_node(node.condition, 1), _format_node(node.otherwise, 0)
    if node.then is None:
        return f"{condition} ?: {otherwise}"
    return f"{condition} ? {_format_node(node.then, 0)} : {otherwise}"


def _format_reference(node: Reference) -> str:
    if node.base is not None:
        return f"{_format_node(node.base, _PRIMARY_BINDING)}.{_format_name(node.name)}"
    return f".{_format_name(node.name)}" if node.absolute else _format_name(node.name)


def _format_ad(node: Ad) -> str:
    assignments = "; ".join(
        f"{_format_name(attribute.name)} = {_format_node(attribute.expression, 0)}"
        for attribute in node.attributes.values()
    )
    return f"[ {assignments} ]" if assignments else "[ ]"
