"""What the operators of the ClassAd language do with values."""

from __future__ import annotations

import math
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad.nodes import UNDEFINED, Failure, Undefined
from osprofile.executors.blah.classad.values import (
    Scope,
    describe_type,
    find_exceptional_value,
    make_type_failure,
    wrap_int64,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad.values import Value

    BinaryOperator = Callable[[Value, Value], Value]


def to_condition(value: Value) -> bool | Undefined | Failure:
    """Return the truth of a value; a number is true unless it is 0. Undefined and errors stay."""
    if isinstance(value, bool | Undefined | Failure):
        return value
    if isinstance(value, int | float):
        return value != 0
    return Failure(f"{describe_type(value)} is not a condition")


def apply_unary(operator: str, value: Value) -> Value:
    """Apply one of `- + ! ~` to a value."""
    if value is UNDEFINED or isinstance(value, Failure):
        return value
    if operator == "!":
        truth = to_condition(value)
        return not truth if isinstance(truth, bool) else truth
    if operator == "~":
        return ~value if isinstance(value, int) else make_type_failure("~", value)
    if not isinstance(value, int | float):
        return make_type_failure(operator, value)
    if isinstance(value, float):
        return -value if operator == "-" else value
    return wrap_int64(-value) if operator == "-" else int(value)


def is_identical(left: Value, right: Value) -> bool:
    """Return whether two values have the same type and are equal; strings case-sensitively."""
    if isinstance(left, Scope) and isinstance(right, Scope):
        return left.ad == right.ad
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(is_identical, left, right))
    return left == right


def is_equal(left: Value, right: Value) -> bool:
    """Return whether `==` holds for two values; strings are compared case-insensitively."""
    return _make_comparison(eq)(left, right) is True


def _make_strict(operator: str, function: Callable[[Value, Value], Value | None]) -> BinaryOperator:
    """Return an operator whose result is error or undefined if an operand is; error comes first.

    `function` returns None for operands of types that it is not for.
    """

    def apply_strict(left: Value, right: Value) -> Value:
        exceptional = find_exceptional_value(left, right)
        if exceptional is not None:
            return exceptional
        result = function(left, right)
        return make_type_failure(operator, left, right) if result is None else result

    return apply_strict


def _make_comparison(compare: Callable[[object, object], bool]) -> Callable[[Value, Value], bool | None]:
    def compare_values(left: Value, right: Value) -> bool | None:
        if isinstance(left, str) and isinstance(right, str):
            return compare(left.lower(), right.lower())
        if isinstance(left, int | float) and isinstance(right, int | float):
            return compare(left, right)
        return None

    return compare_values


def _make_arithmetic(
    integer_function: Callable[[int, int], int | Failure],
    real_function: Callable[[float, float], float | Failure],
) -> Callable[[Value, Value], Value | None]:
    def apply_arithmetic(left: Value, right: Value) -> Value | None:
        if isinstance(left, int) and isinstance(right, int):
            result = integer_function(left, right)
            return result if isinstance(result, Failure) else wrap_int64(result)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return real_function(float(left), float(right))
        return None

    return apply_arithmetic


def _make_bitwise(function: Callable[[int, int], int]) -> Callable[[Value, Value], Value | None]:
    def apply_bitwise(left: Value, right: Value) -> Value | None:
        if isinstance(left, int) and isinstance(right, int):
            result = function(left, right)
            are_booleans = isinstance(left, bool) and isinstance(right, bool)
            return bool(result) if are_booleans and function in _BOOLEAN_OPERATIONS else wrap_int64(result)
        return None

    return apply_bitwise


_DIVISION_BY_ZERO: Final = Failure("division by zero")


def _divide_integers(left: int, right: int) -> int | Failure:
    if right == 0:
        return _DIVISION_BY_ZERO
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder_integers(left: int, right: int) -> int | Failure:
    if right == 0:
        return _DIVISION_BY_ZERO
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _divide_reals(left: float, right: float) -> float | Failure:
    return left / right if right else _DIVISION_BY_ZERO


def _remainder_reals(left: float, right: float) -> float | Failure:
    if not right or math.isinf(left):
        return _DIVISION_BY_ZERO
    return math.fmod(left, right)


# Shifts count modulo 64, as processors do: a larger count would make a number of a million bits.
def _shift_left(left: int, right: int) -> int:
    return left << (right & 63)


def _shift_right(left: int, right: int) -> int:
    return left >> (right & 63)


def _shift_right_logical(left: int, right: int) -> int:
    return (left % (1 << 64)) >> (right & 63)


_BOOLEAN_OPERATIONS: Final = (and_, or_, xor)

_STRICT_OPERATORS: Final[dict[str, Callable[[Value, Value], Value | None]]] = {
    "==": _make_comparison(eq),
    "!=": _make_comparison(ne),
    "<": _make_comparison(lt),  # type: ignore[arg-type]  # compares two strings, or two numbers
    "<=": _make_comparison(le),  # type: ignore[arg-type]
    ">": _make_comparison(gt),  # type: ignore[arg-type]
    ">=": _make_comparison(ge),  # type: ignore[arg-type]
    "+": _make_arithmetic(add, add),
    "-": _make_arithmetic(sub, sub),
    "*": _make_arithmetic(mul, mul),
    "/": _make_arithmetic(_divide_integers, _divide_reals),
    "%": _make_arithmetic(_remainder_integers, _remainder_reals),
    "&": _make_bitwise(and_),
    "|": _make_bitwise(or_),
    "^": _make_bitwise(xor),
    "<<": _make_bitwise(_shift_left),
    ">>": _make_bitwise(_shift_right),
    ">>>": _make_bitwise(_shift_right_logical),
}

BINARY_OPERATORS: Final[dict[str, BinaryOperator]] = {
    **{sign: _make_strict(sign, function) for sign, function in _STRICT_OPERATORS.items()},
    "=?=": is_identical,
    "is": is_identical,
    "=!=": lambda left, right: not is_identical(left, right),
    "isnt": lambda left, right: not is_identical(left, right),
}
"""All binary operators but `&&` and `||`, whose right operand the evaluator may skip."""
