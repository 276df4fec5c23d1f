"""The values of expressions, and what the operators and functions do with them.

The result of a strict function or operator with an error is this error, and of one with an undefined
value undefined. Results depend on nothing but the arguments: there is no `time` or `random`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import chain, repeat
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, final

from osprofile.errors import JavaRegexError
from osprofile.executors.blah.classad.syntax import UNDEFINED, Ad, Failure, Undefined, format_constant
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """An ad as a value. A name that it does not have is looked up in `parent`, the ad around it."""

    ad: Ad
    parent: Scope | None = None


Value: TypeAlias = "bool | int | float | str | Undefined | Failure | tuple[Value, ...] | Scope"
"""A list is a tuple."""
Number: TypeAlias = "int | float"

_TYPE_DESCRIPTIONS: Final = {
    bool: "a boolean",
    int: "an integer",
    float: "a real number",
    str: "a string",
    tuple: "a list",
    Scope: "an ad",
    Undefined: "undefined",
    Failure: "an error",
}


def find_exceptional_value(*values: Value) -> Undefined | Failure | None:
    """Return the first error among values; else UNDEFINED if it is among them; else None."""
    for value in values:
        if isinstance(value, Failure):
            return value
    return UNDEFINED if any(value is UNDEFINED for value in values) else None


def describe_type(value: Value) -> str:
    """Return a value's type for a message, with its article."""
    return _TYPE_DESCRIPTIONS[type(value)]


def _wrap_int64(number: int) -> int:
    """Return an integer modulo 2**64, as a signed integer of 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def _make_type_failure(operation: str, *values: Value) -> Failure:
    types = " and ".join(map(describe_type, values))
    return Failure(f"{operation} cannot be applied to {types}")


# Operators


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
        return ~value if isinstance(value, int) else _make_type_failure("~", value)
    if not isinstance(value, int | float):
        return _make_type_failure(operator, value)
    if isinstance(value, float):
        return -value if operator == "-" else value
    return _wrap_int64(-value) if operator == "-" else int(value)


def is_identical(left: Value, right: Value) -> bool:
    """Return whether two values have the same type and are equal; strings case-sensitively."""
    if isinstance(left, Scope) and isinstance(right, Scope):
        return left.ad == right.ad
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(is_identical, left, right))
    return left == right


def apply_binary(operator: str, left: Value, right: Value) -> Value:  # noqa: PLR0911  # one a kind
    """Apply an operator to two values; not `&&` and `||`, whose right operand the evaluator may skip."""
    if operator in _IDENTITY_OPERATORS:
        return is_identical(left, right) is _IDENTITY_OPERATORS[operator]
    if (exceptional := find_exceptional_value(left, right)) is not None:
        return exceptional
    are_numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if operator in _COMPARISONS:
        if are_numbers:
            return _COMPARISONS[operator](left, right)
        if isinstance(left, str) and isinstance(right, str):
            return _COMPARISONS[operator](left.lower(), right.lower())
    elif isinstance(left, int) and isinstance(right, int):
        result = _INTEGER_OPERATORS[operator](left, right)
        return result if isinstance(result, Failure | bool) else _wrap_int64(result)
    elif are_numbers and operator in _REAL_OPERATORS:
        return _REAL_OPERATORS[operator](float(left), float(right))  # type: ignore[arg-type]
    return _make_type_failure(operator, left, right)


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


_IDENTITY_OPERATORS: Final = {"=?=": True, "is": True, "=!=": False, "isnt": False}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_REAL_OPERATORS: Final[dict[str, Callable[[float, float], float | Failure]]] = {
    "+": add, "-": sub, "*": mul, "/": _divide_reals, "%": _remainder_reals,
}  # fmt: skip
# Shifts count modulo 64, as processors do: a larger count would make a number of a million bits.
_INTEGER_OPERATORS: Final[dict[str, Callable[[int, int], int | Failure]]] = {
    "+": lambda left, right: int(left) + right,  # of two booleans, too
    "-": lambda left, right: int(left) - right,
    "*": lambda left, right: int(left) * right,
    "/": _divide_integers,
    "%": _remainder_integers,
    "&": and_,
    "|": or_,
    "^": xor,
    "<<": lambda left, right: left << (right & 63),
    ">>": lambda left, right: left >> (right & 63),
    ">>>": lambda left, right: (left % 2**64) >> (right & 63),
}

# Conversions

_MAX_NUMBER_LENGTH: Final = 400  # 1e308 written out has 309 digits


def _to_string(value: Value) -> Value:
    if isinstance(value, tuple | Scope):
        return _make_type_failure("string", value)
    return value if isinstance(value, str) else format_constant(value)


def _to_integer(value: Value) -> Value:
    number = _parse_number(value)
    if number is None:
        return _make_type_failure("int", value)
    if not math.isfinite(number):
        return Failure(f"int of {number}")
    return _wrap_int64(int(number))


def _to_real(value: Value) -> Value:
    number = _parse_number(value)
    return _make_type_failure("real", value) if number is None else float(number)


def _parse_number(value: Value) -> Number | None:
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or len(value) > _MAX_NUMBER_LENGTH:
        return None
    text = value.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _to_boolean(value: Value) -> Value:
    if isinstance(value, str) and (word := value.strip().lower()) in {"true", "false"}:
        return word == "true"
    return value != 0 if isinstance(value, int | float) else _make_type_failure("bool", value)


# Strings


def _apply_to_texts(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of values that converts them to texts first, as far as they have one."""

    def apply(*values: Value) -> Value:
        texts = [_to_string(value) for value in values]
        failure = next((text for text in texts if not isinstance(text, str)), None)
        return function(*texts) if failure is None else failure

    return apply


def _take_substring(value: str, start: int, count: int = 1 << 62) -> Value:
    """Return a part of a string; a negative start, or a negative count (as the end), counts from its end."""
    first = max(start + len(value), 0) if start < 0 else start
    last = len(value) + count if count < 0 else first + count
    return value[first:last] if last > first else ""


def _compare_strings(first: str, second: str) -> Value:
    return (first > second) - (first < second)


def _split_words(text: str, delimiters: str = ", \t\n") -> list[str]:
    if not delimiters:
        return [text] if text else []
    return [word for word in re.split(f"[{re.escape(delimiters)}]+", text) if word]


def _join_strings(*values: Value) -> Value:
    separator, items = ("", values[0]) if len(values) == 1 else (values[0], values[1:])
    if len(values) == 2 and isinstance(values[1], tuple):
        items = values[1]
    if not isinstance(separator, str) or not isinstance(items, tuple):
        return Failure("join takes a separator and a list")
    defined = [item for item in items if item is not UNDEFINED]
    return _apply_to_texts(lambda *texts: separator.join(texts))(*defined)


def _match_regexp(pattern: str, value: str, options: str = "") -> Value:
    """Return whether a regular expression matches; its syntax is Java's, as in profiles."""
    from osprofile import javaregex

    if not set(options.lower()) <= set("imsxf"):
        return Failure("the options of regexp are i, m, s, x and f")
    flags = "".join(sorted(set(options.lower()) - {"f"}))
    try:
        regexp = javaregex.compile(f"(?{flags}){pattern}" if flags else pattern)
        matches_all = "f" in options.lower()
        return (regexp.matches(value) if matches_all else regexp.find(value)) is not None
    except JavaRegexError as error:
        return Failure(f"regexp: {error.message}")


def _split_list(items: str, delimiters: str = ", ") -> list[str]:
    return [word.strip() for word in _split_words(items, delimiters)]


def _make_string_list_test(fold: Callable[[str], str]) -> Callable[..., Value]:
    return lambda item, *items: fold(item) in map(fold, _split_list(*items))


# Lists


def _count_elements(value: Value) -> Value:
    if isinstance(value, str | tuple):
        return len(value)
    return len(value.ad.attributes) if isinstance(value, Scope) else _make_type_failure("size", value)


def _make_member_test(name: str, operator: str) -> Callable[[Value, Value], Value]:
    def test_membership(item: Value, items: Value) -> Value:
        if not isinstance(items, tuple):
            return Failure(f"{name} looks in a list, not in {describe_type(items)}")
        if isinstance(item, tuple | Scope):
            return Failure(f"{name} cannot look for {describe_type(item)}")
        return any(apply_binary(operator, item, other) is True for other in items)

    return test_membership


def _make_list_reduction(name: str, function: Callable[[list[Number]], Value]) -> Callable[..., Value]:
    def reduce_list(items: tuple[Value, ...]) -> Value:
        numbers = [item for item in items if isinstance(item, int | float)]
        if len(numbers) != sum(item is not UNDEFINED for item in items):
            return Failure(f"{name} takes numbers only")
        return function(numbers)

    return reduce_list


def _sum_numbers(numbers: list[Number]) -> Value:
    total = sum(numbers)
    return _wrap_int64(total) if isinstance(total, int) else total


# Numbers


def _make_rounding(name: str, function: Callable[[float], int]) -> Callable[[Value], Value]:
    def round_number(value: Value) -> Value:
        number = _parse_number(value)
        if number is None or not math.isfinite(number):
            return _make_type_failure(name, value)
        return _wrap_int64(number if isinstance(number, int) else function(number))

    return round_number


def _round_half_away_from_zero(number: float) -> int:
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def _raise_to_power(base: Number, exponent: Number) -> Value:
    try:
        result = math.pow(base, exponent)
    except (OverflowError, ValueError):
        return Failure("the result of pow is not a number")
    is_integer = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return _wrap_int64(int(result)) if is_integer and math.isfinite(result) else result


def _round_to_multiple(value: Number, step: Number) -> Value:
    """Return the least multiple of `step` that is not below the value."""
    if not step:
        return Failure("quantize takes two numbers, the second not 0")
    if isinstance(value, int) and isinstance(step, int):
        return _wrap_int64(-(-value // step) * step)
    quotient = value / step
    if not math.isfinite(quotient):
        return Failure("the result of quantize is not a number")
    return math.ceil(quotient) * step


# The table of functions

_UNLIMITED: Final = 1000
_NUMBERS: Final = (int, float)


class Function(NamedTuple):
    """A function: how many arguments it takes, and their types, of which the last one is for all others.

    `is_strict`: an undefined argument, or an error, is the result.
    """

    function: Callable[..., Value]
    minimum: int = 1
    maximum: int = 1
    types: tuple[type | tuple[type, ...], ...] = (object,)
    is_strict: bool = True

    def call(self, name: str, values: list[Value]) -> Value:
        """Return the result for so many values as it takes."""
        if self.is_strict and (exceptional := find_exceptional_value(*values)) is not None:
            return exceptional
        types = chain(self.types, repeat(self.types[-1]))
        if not all(map(isinstance, values, types)):
            return _make_type_failure(name, *values)
        return self.function(*values)


def _make_type_test(*types: type) -> Function:
    return Function(lambda value: type(value) in types, is_strict=False)


FUNCTIONS: Final[dict[str, Function]] = {
    "string": Function(_to_string),
    "int": Function(_to_integer),
    "real": Function(_to_real),
    "bool": Function(_to_boolean),
    "strcat": Function(_apply_to_texts(lambda *texts: "".join(texts)), 0, _UNLIMITED),
    "substr": Function(_take_substring, 2, 3, (str, int)),
    "toupper": Function(_apply_to_texts(str.upper)),
    "tolower": Function(_apply_to_texts(str.lower)),
    "strcmp": Function(_apply_to_texts(_compare_strings), 2, 2),
    "stricmp": Function(_apply_to_texts(lambda a, b: _compare_strings(a.lower(), b.lower())), 2, 2),
    "split": Function(lambda *texts: tuple(_split_words(*texts)), 1, 2, (str,)),
    "join": Function(_join_strings, 1, _UNLIMITED),
    "regexp": Function(_match_regexp, 2, 3, (str,)),
    "size": Function(_count_elements),
    "member": Function(_make_member_test("member", "=="), 2, 2),
    "identicalmember": Function(_make_member_test("identicalMember", "=?="), 2, 2),
    "sum": Function(_make_list_reduction("sum", _sum_numbers), types=(tuple,)),
    "avg": Function(_make_list_reduction("avg", lambda n: float(sum(n)) / (len(n) or 1)), types=(tuple,)),
    "min": Function(_make_list_reduction("min", lambda n: min(n, default=UNDEFINED)), types=(tuple,)),
    "max": Function(_make_list_reduction("max", lambda n: max(n, default=UNDEFINED)), types=(tuple,)),
    "stringlistmember": Function(_make_string_list_test(str), 2, 3, (str,)),
    "stringlistimember": Function(_make_string_list_test(str.lower), 2, 3, (str,)),
    "stringlistsize": Function(lambda *texts: len(_split_list(*texts)), 1, 2, (str,)),
    "floor": Function(_make_rounding("floor", math.floor)),
    "ceiling": Function(_make_rounding("ceiling", math.ceil)),
    "round": Function(_make_rounding("round", _round_half_away_from_zero)),
    "pow": Function(_raise_to_power, 2, 2, (_NUMBERS,)),
    "quantize": Function(_round_to_multiple, 2, 2, (_NUMBERS,)),
    "isundefined": _make_type_test(Undefined),
    "iserror": _make_type_test(Failure),
    "isstring": _make_type_test(str),
    "isinteger": _make_type_test(int),
    "isreal": _make_type_test(float),
    "isboolean": _make_type_test(bool),
    "islist": _make_type_test(tuple),
    "isclassad": _make_type_test(Scope),
    "ifthenelse": Function(lambda *_: UNDEFINED, 3, 3),  # the evaluator's own
}
"""The keys are names in lower case."""


def describe_call_error(name: str, count: int) -> str:
    """Return what is wrong with a call with `count` arguments; empty if it is correct."""
    function = FUNCTIONS.get(name.lower())
    if function is None:
        hint = suggest_names(name, [*FUNCTIONS])
        suggestion = f" ({hint})" if hint.startswith("did") else ""
        return f"there is no function {name}{suggestion}"
    minimum, maximum = function.minimum, function.maximum
    if minimum <= count <= maximum:
        return ""
    expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
    if maximum == _UNLIMITED:
        expected = f"{minimum} or more"
    return f"{name} takes {expected} arguments, not {count}"
