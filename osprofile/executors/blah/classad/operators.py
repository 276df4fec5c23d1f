"""The operators of the ClassAd language on values."""

from __future__ import annotations

import math
import operator as python
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad.values import (
    UNDEFINED,
    Failure,
    Scope,
    Undefined,
    type_name,
    undecided,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad.values import Value

    Binary = Callable[[Value, Value], Value]


def truth(value: Value) -> bool | Undefined | Failure:
    """Give a value as a condition; numbers are true unless they are 0."""
    if isinstance(value, bool | Undefined | Failure):
        return value
    if isinstance(value, int | float):
        return value != 0
    return Failure(f"{type_name(value)} is no condition")


def apply(operator: str, value: Value) -> Value:
    """Apply one of `- + ! ~` to a value."""
    if value is UNDEFINED or isinstance(value, Failure):
        return value
    if operator == "!":
        chosen = truth(value)
        return not chosen if isinstance(chosen, bool) else chosen
    if operator == "~":
        return ~value if isinstance(value, int) else _misused("~", value)
    if not isinstance(value, int | float):
        return _misused(operator, value)
    if isinstance(value, float):
        return -value if operator == "-" else value
    return wrapped(-value) if operator == "-" else int(value)


def same(left: Value, right: Value) -> bool:
    """Say whether two values are identical: of one type, and equal in every letter."""
    if isinstance(left, Scope) and isinstance(right, Scope):
        return left.ad == right.ad
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def equal(left: Value, right: Value) -> bool:
    """Say whether two values are equal as by `==`; strings in any case."""
    return _compared(python.eq)(left, right) is True


def _misused(operator: str, *values: Value) -> Failure:
    return Failure(f"{operator} on {' and '.join(map(type_name, values))}")


def _strict(operator: str, function: Callable[[Value, Value], Value | None]) -> Binary:
    """Let errors and undefined through, errors first."""

    def applied(left: Value, right: Value) -> Value:
        unknown = undecided(left, right)
        if unknown is not None:
            return unknown
        result = function(left, right)
        return _misused(operator, left, right) if result is None else result

    return applied


def _compared(compare: Callable[[object, object], bool]) -> Callable[[Value, Value], bool | None]:
    def applied(left: Value, right: Value) -> bool | None:
        if isinstance(left, str) and isinstance(right, str):
            return compare(left.lower(), right.lower())
        if isinstance(left, int | float) and isinstance(right, int | float):
            return compare(left, right)
        return None

    return applied


def _arithmetic(
    whole: Callable[[int, int], int | Failure], real: Callable[[float, float], float | Failure]
) -> Callable[[Value, Value], Value | None]:
    def applied(left: Value, right: Value) -> Value | None:
        if isinstance(left, int) and isinstance(right, int):
            result = whole(left, right)
            return result if isinstance(result, Failure) else wrapped(result)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return real(float(left), float(right))
        return None

    return applied


def _on_bits(function: Callable[[int, int], int]) -> Callable[[Value, Value], Value | None]:
    def applied(left: Value, right: Value) -> Value | None:
        if isinstance(left, int) and isinstance(right, int):
            result = function(left, right)
            both = isinstance(left, bool) and isinstance(right, bool)
            return bool(result) if both and function in _BOOLEAN else wrapped(result)
        return None

    return applied


_BY_ZERO: Final = Failure("division by zero")


def _divided(left: int, right: int) -> int | Failure:
    if right == 0:
        return _BY_ZERO
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int | Failure:
    if right == 0:
        return _BY_ZERO
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _real_divided(left: float, right: float) -> float | Failure:
    return left / right if right else _BY_ZERO


def _real_remainder(left: float, right: float) -> float | Failure:
    if not right or math.isinf(left):
        return _BY_ZERO
    return math.fmod(left, right)


# As processors do it, a shift counts modulo 64: no shift makes a number of a million bits.
def _shifted_left(left: int, right: int) -> int:
    return left << (right & 63)


def _shifted_right(left: int, right: int) -> int:
    return left >> (right & 63)


def _shifted_logically(left: int, right: int) -> int:
    return (left % (1 << 64)) >> (right & 63)


_BOOLEAN: Final = (python.and_, python.or_, python.xor)

_BY_SIGN: Final[dict[str, Callable[[Value, Value], Value | None]]] = {
    "==": _compared(python.eq),
    "!=": _compared(python.ne),
    "<": _compared(python.lt),  # type: ignore[arg-type]  # two strings, or two numbers
    "<=": _compared(python.le),  # type: ignore[arg-type]
    ">": _compared(python.gt),  # type: ignore[arg-type]
    ">=": _compared(python.ge),  # type: ignore[arg-type]
    "+": _arithmetic(python.add, python.add),
    "-": _arithmetic(python.sub, python.sub),
    "*": _arithmetic(python.mul, python.mul),
    "/": _arithmetic(_divided, _real_divided),
    "%": _arithmetic(_remainder, _real_remainder),
    "&": _on_bits(python.and_),
    "|": _on_bits(python.or_),
    "^": _on_bits(python.xor),
    "<<": _on_bits(_shifted_left),
    ">>": _on_bits(_shifted_right),
    ">>>": _on_bits(_shifted_logically),
}

OPERATORS: Final[dict[str, Binary]] = {
    **{sign: _strict(sign, function) for sign, function in _BY_SIGN.items()},
    "=?=": same,
    "is": same,
    "=!=": lambda left, right: not same(left, right),
    "isnt": lambda left, right: not same(left, right),
}
"""What each operator between two operands does, `&&` and `||` apart."""
