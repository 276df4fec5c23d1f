"""The functions that an expression may call.

Those in STRICT give undefined if an argument is undefined, error if one is an error. There is
none that asks for the time, for chance, or for anything outside of the ad.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from osprofile.errors import JavaRegexError, nearest
from osprofile.executors.blah.classad.operators import equal, same
from osprofile.executors.blah.classad.values import (
    UNDEFINED,
    Failure,
    Scope,
    Undefined,
    type_name,
    wrapped,
)
from osprofile.executors.blah.classad.writer import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad.values import Value

    Number = int | float


class Function(NamedTuple):
    """A function and how many arguments it takes."""

    function: Callable[..., Value]
    least: int
    most: int


_MANY: Final = 1000


def arity_fault(name: str, count: int) -> str:
    """Say what is wrong with a call of that name with so many arguments; empty: nothing."""
    found = _ARITY.get(name.lower())
    if found is None:
        hint = nearest(name, [*STRICT, *LAZY])
        return (
            f"there is no function {name} ({hint})"
            if hint.startswith("did")
            else f"there is no function {name}"
        )
    least, most = found
    if least <= count <= most:
        return ""
    wanted = (
        str(least)
        if least == most
        else f"{least} or more"
        if most == _MANY
        else f"{least} to {most}"
    )
    return f"{name} takes {wanted} arguments, not {count}"


def _misused(name: str, value: Value) -> Failure:
    return Failure(f"{name} of {type_name(value)}")


# Conversions


def _string(value: Value) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | Scope):
        return _misused("string", value)
    return constant(value)


def _int(value: Value) -> Value:
    number = _number(value)
    if number is None:
        return _misused("int", value)
    if isinstance(number, float) and not math.isfinite(number):
        return Failure(f"int of {number}")
    return wrapped(int(number))


def _real(value: Value) -> Value:
    number = _number(value)
    return _misused("real", value) if number is None else float(number)


def _number(value: Value) -> Number | None:
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or len(value) > 400:
        return None
    text = value.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _bool(value: Value) -> Value:
    if isinstance(value, str):
        word = value.strip().lower()
        return word == "true" if word in {"true", "false"} else _misused("bool", value)
    return value != 0 if isinstance(value, int | float) else _misused("bool", value)


# Strings


def _strcat(*values: Value) -> Value:
    pieces = []
    for value in values:
        piece = _string(value)
        if not isinstance(piece, str):
            return piece
        pieces.append(piece)
    return "".join(pieces)


def _on_text(name: str, function: Callable[[str], Value]) -> Callable[[Value], Value]:
    def applied(value: Value) -> Value:
        text = _string(value)
        return function(text) if isinstance(text, str) else _misused(name, value)

    return applied


def _substr(value: Value, start: Value, count: Value = 1 << 62) -> Value:
    """Give a part of a string; a negative start counts from the end, a negative count too."""
    if not isinstance(value, str) or not isinstance(start, int) or not isinstance(count, int):
        return Failure("substr takes a string and one or two integers")
    first = max(start + len(value), 0) if start < 0 else start
    last = len(value) + count if count < 0 else first + count
    return value[first:last] if last > first else ""


def _strcmp(left: Value, right: Value) -> Value:
    first, second = _string(left), _string(right)
    if not isinstance(first, str) or not isinstance(second, str):
        return Failure("strcmp of what is no string")
    return (first > second) - (first < second)


def _stricmp(left: Value, right: Value) -> Value:
    first, second = _string(left), _string(right)
    if not isinstance(first, str) or not isinstance(second, str):
        return Failure("stricmp of what is no string")
    return _strcmp(first.lower(), second.lower())


def _split(value: Value, delimiters: Value = ", \t\n") -> Value:
    if not isinstance(value, str) or not isinstance(delimiters, str):
        return Failure("split takes a string and the characters to split at")
    return tuple(_words(value, delimiters))


def _words(text: str, delimiters: str) -> list[str]:
    if not delimiters:
        return [text] if text else []
    return [word for word in re.split(f"[{re.escape(delimiters)}]+", text) if word]


def _join(*values: Value) -> Value:
    separator, items = ("", values[0]) if len(values) == 1 else (values[0], values[1:])
    if len(values) == 2 and isinstance(values[1], tuple):
        items = values[1]
    if not isinstance(separator, str) or not isinstance(items, tuple):
        return Failure("join takes a separator and a list")
    texts = [_string(item) for item in items if item is not UNDEFINED]
    bad = next((text for text in texts if not isinstance(text, str)), None)
    return separator.join(map(str, texts)) if bad is None else bad


def _regexp(pattern: Value, value: Value, options: Value = "") -> Value:
    """Search with a Java regular expression, which is what the profiles have too."""
    from osprofile.language import javaregex

    if not isinstance(pattern, str) or not isinstance(value, str) or not isinstance(options, str):
        return Failure("regexp takes strings")
    if not set(options.lower()) <= set("imsxf"):
        return Failure("the options of regexp are i, m, s, x and f")
    flags = "".join(sorted(set(options.lower()) - {"f"}))
    try:
        found = javaregex.compile(f"(?{flags}){pattern}" if flags else pattern)
        whole = "f" in options.lower()
        return (found.matches(value) if whole else found.find(value)) is not None
    except JavaRegexError as error:
        return Failure(f"regexp: {error.message}")


# Lists


def _size(value: Value) -> Value:
    if isinstance(value, str | tuple):
        return len(value)
    return len(value.ad.attributes) if isinstance(value, Scope) else _misused("size", value)


def _member(name: str, test: Callable[[Value, Value], bool]) -> Callable[[Value, Value], Value]:
    def applied(item: Value, items: Value) -> Value:
        if not isinstance(items, tuple):
            return Failure(f"{name} looks in a list, not in {type_name(items)}")
        if isinstance(item, tuple | Scope):
            return Failure(f"{name} looks for no {type_name(item).split()[-1]}")
        return any(test(item, other) for other in items)

    return applied


def _of_numbers(name: str, function: Callable[[list[Number]], Value]) -> Callable[[Value], Value]:
    def applied(items: Value) -> Value:
        if not isinstance(items, tuple):
            return Failure(f"{name} takes a list, not {type_name(items)}")
        numbers = [item for item in items if isinstance(item, int | float)]
        known = [item for item in items if item is not UNDEFINED]
        if len(numbers) != len(known):
            return Failure(f"{name} takes numbers only")
        return function(numbers)

    return applied


def _sum(numbers: list[Number]) -> Value:
    total = sum(numbers)
    return wrapped(total) if isinstance(total, int) else total


def _average(numbers: list[Number]) -> Value:
    return float(sum(numbers)) / len(numbers) if numbers else 0.0


def _least(numbers: list[Number]) -> Value:
    return min(numbers) if numbers else UNDEFINED


def _greatest(numbers: list[Number]) -> Value:
    return max(numbers) if numbers else UNDEFINED


def _string_list(name: str, function: Callable[[str, list[str]], Value]) -> Callable[..., Value]:
    def applied(item: Value, items: Value, delimiters: Value = ", ") -> Value:
        if not all(isinstance(v, str) for v in (item, items, delimiters)):
            return Failure(f"{name} takes strings")
        return function(str(item), [w.strip() for w in _words(str(items), str(delimiters))])

    return applied


def _string_list_size(items: Value, delimiters: Value = ", ") -> Value:
    if not isinstance(items, str) or not isinstance(delimiters, str):
        return Failure("stringListSize takes strings")
    return len(_words(items, delimiters))


# Numbers


def _rounded(name: str, function: Callable[[float], int]) -> Callable[[Value], Value]:
    def applied(value: Value) -> Value:
        number = _number(value)
        if number is None or not math.isfinite(number):
            return _misused(name, value)
        return wrapped(number if isinstance(number, int) else function(number))

    return applied


def _nearest_integer(number: float) -> int:
    """Round half away from zero."""
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def _pow(base: Value, exponent: Value) -> Value:
    if not isinstance(base, int | float) or not isinstance(exponent, int | float):
        return Failure("pow takes two numbers")
    try:
        result = math.pow(base, exponent)
    except (OverflowError, ValueError):
        return Failure("pow gives no number")
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return wrapped(int(result)) if whole and math.isfinite(result) else result


def _quantize(value: Value, step: Value) -> Value:
    """Give the least multiple of `step` that is not below the value."""
    if not isinstance(value, int | float) or not isinstance(step, int | float) or not step:
        return Failure("quantize takes two numbers, the second not 0")
    if isinstance(value, int) and isinstance(step, int):
        return wrapped(-(-value // step) * step)
    times = value / step
    return math.ceil(times) * step if math.isfinite(times) else Failure("quantize gives no number")


def _is(*types: type) -> Callable[[Value], Value]:
    return lambda value: type(value) in types


STRICT: Final[dict[str, Function]] = {
    "string": Function(_string, 1, 1),
    "int": Function(_int, 1, 1),
    "real": Function(_real, 1, 1),
    "bool": Function(_bool, 1, 1),
    "strcat": Function(_strcat, 0, _MANY),
    "substr": Function(_substr, 2, 3),
    "toupper": Function(_on_text("toUpper", str.upper), 1, 1),
    "tolower": Function(_on_text("toLower", str.lower), 1, 1),
    "strcmp": Function(_strcmp, 2, 2),
    "stricmp": Function(_stricmp, 2, 2),
    "split": Function(_split, 1, 2),
    "join": Function(_join, 1, _MANY),
    "regexp": Function(_regexp, 2, 3),
    "size": Function(_size, 1, 1),
    "member": Function(_member("member", equal), 2, 2),
    "identicalmember": Function(_member("identicalMember", same), 2, 2),
    "sum": Function(_of_numbers("sum", _sum), 1, 1),
    "avg": Function(_of_numbers("avg", _average), 1, 1),
    "min": Function(_of_numbers("min", _least), 1, 1),
    "max": Function(_of_numbers("max", _greatest), 1, 1),
    "stringlistmember": Function(
        _string_list("stringListMember", lambda item, items: item in items), 2, 3
    ),
    "stringlistimember": Function(
        _string_list(
            "stringListIMember", lambda item, items: item.lower() in [i.lower() for i in items]
        ),
        2,
        3,
    ),
    "stringlistsize": Function(_string_list_size, 1, 2),
    "floor": Function(_rounded("floor", math.floor), 1, 1),
    "ceiling": Function(_rounded("ceiling", math.ceil), 1, 1),
    "round": Function(_rounded("round", _nearest_integer), 1, 1),
    "pow": Function(_pow, 2, 2),
    "quantize": Function(_quantize, 2, 2),
}
"""Functions by their names in lower case."""

LAZY: Final[dict[str, Callable[..., Value]]] = {
    "isundefined": _is(Undefined),
    "iserror": _is(Failure),
    "isstring": _is(str),
    "isinteger": _is(int),
    "isreal": _is(float),
    "isboolean": _is(bool),
    "islist": _is(tuple),
    "isclassad": _is(Scope),
}
"""Functions of one argument that may be undefined or an error."""

_ARITY: Final = {
    "ifthenelse": (3, 3),
    **{name: (found.least, found.most) for name, found in STRICT.items()},
    **dict.fromkeys(LAZY, (1, 1)),
}
