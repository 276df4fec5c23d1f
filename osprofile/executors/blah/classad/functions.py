"""The functions that an expression may call.

The evaluator calls those in STRICT_FUNCTIONS only if no argument is undefined or an error; else that
is the result. Results depend on nothing but the arguments: there is no `time` or `random`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from osprofile.errors import JavaRegexError
from osprofile.executors.blah.classad.nodes import UNDEFINED, Failure, Undefined
from osprofile.executors.blah.classad.operators import is_equal, is_identical
from osprofile.executors.blah.classad.values import Scope, describe_type, make_type_failure, wrap_int64
from osprofile.executors.blah.classad.writer import format_constant
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad.values import Value

    Number = int | float


class Function(NamedTuple):
    """A function, and the minimum and maximum number of its arguments."""

    function: Callable[..., Value]
    min_arguments: int
    max_arguments: int


_UNLIMITED: Final = 1000
_MAX_NUMBER_LENGTH: Final = 400  # 1e308 written out has 309 digits


def describe_call_error(name: str, count: int) -> str:
    """Return what is wrong with a call with `count` arguments; empty if it is correct."""
    argument_counts = _ARGUMENT_COUNTS.get(name.lower())
    if argument_counts is None:
        hint = suggest_names(name, [*STRICT_FUNCTIONS, *NON_STRICT_FUNCTIONS])
        suggestion = f" ({hint})" if hint.startswith("did") else ""
        return f"there is no function {name}{suggestion}"
    minimum, maximum = argument_counts
    if minimum <= count <= maximum:
        return ""
    expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
    if maximum == _UNLIMITED:
        expected = f"{minimum} or more"
    return f"{name} takes {expected} arguments, not {count}"


# Conversions


def _to_string(value: Value) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | Scope):
        return make_type_failure("string", value)
    return format_constant(value)


def _to_integer(value: Value) -> Value:
    number = _parse_number(value)
    if number is None:
        return make_type_failure("int", value)
    if isinstance(number, float) and not math.isfinite(number):
        return Failure(f"int of {number}")
    return wrap_int64(int(number))


def _to_real(value: Value) -> Value:
    number = _parse_number(value)
    return make_type_failure("real", value) if number is None else float(number)


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
    if isinstance(value, str):
        word = value.strip().lower()
        return word == "true" if word in {"true", "false"} else make_type_failure("bool", value)
    return value != 0 if isinstance(value, int | float) else make_type_failure("bool", value)


# Strings


def _concatenate(*values: Value) -> Value:
    pieces = []
    for value in values:
        piece = _to_string(value)
        if not isinstance(piece, str):
            return piece
        pieces.append(piece)
    return "".join(pieces)


def _make_text_function(name: str, function: Callable[[str], Value]) -> Callable[[Value], Value]:
    def apply_to_text(value: Value) -> Value:
        text = _to_string(value)
        return function(text) if isinstance(text, str) else make_type_failure(name, value)

    return apply_to_text


def _take_substring(value: Value, start: Value, count: Value = 1 << 62) -> Value:
    """Return a part of a string; a negative start, or a negative count (as the end), counts from its end."""
    if not isinstance(value, str) or not isinstance(start, int) or not isinstance(count, int):
        return Failure("substr takes a string and one or two integers")
    first = max(start + len(value), 0) if start < 0 else start
    last = len(value) + count if count < 0 else first + count
    return value[first:last] if last > first else ""


def _make_string_comparison(name: str, fold: Callable[[str], str]) -> Callable[[Value, Value], Value]:
    def compare_strings(left: Value, right: Value) -> Value:
        first, second = _to_string(left), _to_string(right)
        if not isinstance(first, str) or not isinstance(second, str):
            return Failure(f"{name} takes strings")
        first, second = fold(first), fold(second)
        return (first > second) - (first < second)

    return compare_strings


def _split_string(value: Value, delimiters: Value = ", \t\n") -> Value:
    if not isinstance(value, str) or not isinstance(delimiters, str):
        return Failure("split takes a string and the characters to split at")
    return tuple(_split_words(value, delimiters))


def _split_words(text: str, delimiters: str) -> list[str]:
    if not delimiters:
        return [text] if text else []
    return [word for word in re.split(f"[{re.escape(delimiters)}]+", text) if word]


def _join_strings(*values: Value) -> Value:
    separator, items = ("", values[0]) if len(values) == 1 else (values[0], values[1:])
    if len(values) == 2 and isinstance(values[1], tuple):
        items = values[1]
    if not isinstance(separator, str) or not isinstance(items, tuple):
        return Failure("join takes a separator and a list")
    texts = [_to_string(item) for item in items if item is not UNDEFINED]
    failure = next((text for text in texts if not isinstance(text, str)), None)
    return separator.join(map(str, texts)) if failure is None else failure


def _match_regexp(pattern: Value, value: Value, options: Value = "") -> Value:
    """Return whether a regular expression matches; its syntax is Java's, as in profiles."""
    from osprofile import javaregex

    if not isinstance(pattern, str) or not isinstance(value, str) or not isinstance(options, str):
        return Failure("regexp takes strings")
    if not set(options.lower()) <= set("imsxf"):
        return Failure("the options of regexp are i, m, s, x and f")
    flags = "".join(sorted(set(options.lower()) - {"f"}))
    try:
        regexp = javaregex.compile(f"(?{flags}){pattern}" if flags else pattern)
        matches_all = "f" in options.lower()
        return (regexp.matches(value) if matches_all else regexp.find(value)) is not None
    except JavaRegexError as error:
        return Failure(f"regexp: {error.message}")


# Lists


def _count_elements(value: Value) -> Value:
    if isinstance(value, str | tuple):
        return len(value)
    return len(value.ad.attributes) if isinstance(value, Scope) else make_type_failure("size", value)


def _make_member_test(name: str, test: Callable[[Value, Value], bool]) -> Callable[[Value, Value], Value]:
    def test_membership(item: Value, items: Value) -> Value:
        if not isinstance(items, tuple):
            return Failure(f"{name} looks in a list, not in {describe_type(items)}")
        if isinstance(item, tuple | Scope):
            return Failure(f"{name} cannot look for {describe_type(item)}")
        return any(test(item, other) for other in items)

    return test_membership


def _make_list_reduction(name: str, function: Callable[[list[Number]], Value]) -> Callable[[Value], Value]:
    def reduce_list(items: Value) -> Value:
        if not isinstance(items, tuple):
            return Failure(f"{name} takes a list, not {describe_type(items)}")
        numbers = [item for item in items if isinstance(item, int | float)]
        defined = [item for item in items if item is not UNDEFINED]
        if len(numbers) != len(defined):
            return Failure(f"{name} takes numbers only")
        return function(numbers)

    return reduce_list


def _sum_numbers(numbers: list[Number]) -> Value:
    total = sum(numbers)
    return wrap_int64(total) if isinstance(total, int) else total


def _average_numbers(numbers: list[Number]) -> Value:
    return float(sum(numbers)) / len(numbers) if numbers else 0.0


def _make_string_list_test(name: str, function: Callable[[str, list[str]], Value]) -> Callable[..., Value]:
    def test_string_list(item: Value, items: Value, delimiters: Value = ", ") -> Value:
        if not all(isinstance(v, str) for v in (item, items, delimiters)):
            return Failure(f"{name} takes strings")
        return function(str(item), [w.strip() for w in _split_words(str(items), str(delimiters))])

    return test_string_list


def _count_string_list(items: Value, delimiters: Value = ", ") -> Value:
    if not isinstance(items, str) or not isinstance(delimiters, str):
        return Failure("stringListSize takes strings")
    return len(_split_words(items, delimiters))


# Numbers


def _make_rounding(name: str, function: Callable[[float], int]) -> Callable[[Value], Value]:
    def round_number(value: Value) -> Value:
        number = _parse_number(value)
        if number is None or not math.isfinite(number):
            return make_type_failure(name, value)
        return wrap_int64(number if isinstance(number, int) else function(number))

    return round_number


def _round_half_away_from_zero(number: float) -> int:
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def _raise_to_power(base: Value, exponent: Value) -> Value:
    if not isinstance(base, int | float) or not isinstance(exponent, int | float):
        return Failure("pow takes two numbers")
    try:
        result = math.pow(base, exponent)
    except (OverflowError, ValueError):
        return Failure("the result of pow is not a number")
    is_integer = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return wrap_int64(int(result)) if is_integer and math.isfinite(result) else result


def _round_to_multiple(value: Value, step: Value) -> Value:
    """Return the least multiple of `step` that is not below the value."""
    if not isinstance(value, int | float) or not isinstance(step, int | float) or not step:
        return Failure("quantize takes two numbers, the second not 0")
    if isinstance(value, int) and isinstance(step, int):
        return wrap_int64(-(-value // step) * step)
    quotient = value / step
    if not math.isfinite(quotient):
        return Failure("the result of quantize is not a number")
    return math.ceil(quotient) * step


def _make_type_test(*types: type) -> Callable[[Value], Value]:
    return lambda value: type(value) in types


STRICT_FUNCTIONS: Final[dict[str, Function]] = {
    "string": Function(_to_string, 1, 1),
    "int": Function(_to_integer, 1, 1),
    "real": Function(_to_real, 1, 1),
    "bool": Function(_to_boolean, 1, 1),
    "strcat": Function(_concatenate, 0, _UNLIMITED),
    "substr": Function(_take_substring, 2, 3),
    "toupper": Function(_make_text_function("toUpper", str.upper), 1, 1),
    "tolower": Function(_make_text_function("toLower", str.lower), 1, 1),
    "strcmp": Function(_make_string_comparison("strcmp", str), 2, 2),
    "stricmp": Function(_make_string_comparison("stricmp", str.lower), 2, 2),
    "split": Function(_split_string, 1, 2),
    "join": Function(_join_strings, 1, _UNLIMITED),
    "regexp": Function(_match_regexp, 2, 3),
    "size": Function(_count_elements, 1, 1),
    "member": Function(_make_member_test("member", is_equal), 2, 2),
    "identicalmember": Function(_make_member_test("identicalMember", is_identical), 2, 2),
    "sum": Function(_make_list_reduction("sum", _sum_numbers), 1, 1),
    "avg": Function(_make_list_reduction("avg", _average_numbers), 1, 1),
    "min": Function(_make_list_reduction("min", lambda numbers: min(numbers, default=UNDEFINED)), 1, 1),
    "max": Function(_make_list_reduction("max", lambda numbers: max(numbers, default=UNDEFINED)), 1, 1),
    "stringlistmember": Function(
        _make_string_list_test("stringListMember", lambda item, items: item in items), 2, 3
    ),
    "stringlistimember": Function(
        _make_string_list_test(
            "stringListIMember", lambda item, items: item.lower() in [i.lower() for i in items]
        ),
        2,
        3,
    ),
    "stringlistsize": Function(_count_string_list, 1, 2),
    "floor": Function(_make_rounding("floor", math.floor), 1, 1),
    "ceiling": Function(_make_rounding("ceiling", math.ceil), 1, 1),
    "round": Function(_make_rounding("round", _round_half_away_from_zero), 1, 1),
    "pow": Function(_raise_to_power, 2, 2),
    "quantize": Function(_round_to_multiple, 2, 2),
}
"""The keys are names in lower case."""

NON_STRICT_FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "isundefined": _make_type_test(Undefined),
    "iserror": _make_type_test(Failure),
    "isstring": _make_type_test(str),
    "isinteger": _make_type_test(int),
    "isreal": _make_type_test(float),
    "isboolean": _make_type_test(bool),
    "islist": _make_type_test(tuple),
    "isclassad": _make_type_test(Scope),
}
"""Tests of one argument, which may be undefined or an error; the keys are names in lower case."""

_ARGUMENT_COUNTS: Final = {
    "ifthenelse": (3, 3),
    **{name: (function.min_arguments, function.max_arguments) for name, function in STRICT_FUNCTIONS.items()},
    **dict.fromkeys(NON_STRICT_FUNCTIONS, (1, 1)),
}
