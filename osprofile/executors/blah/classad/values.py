"""The values that the expressions of a ClassAd may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, final

from osprofile.executors.blah.classad.nodes import UNDEFINED, Failure, Undefined

if TYPE_CHECKING:
    from osprofile.executors.blah.classad.nodes import Ad


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """An ad as a value. A name that it does not have is looked up in `parent`, the ad around it."""

    ad: Ad
    parent: Scope | None = None


Value: TypeAlias = "bool | int | float | str | Undefined | Failure | tuple[Value, ...] | Scope"
"""A list is a tuple."""

_INTEGER_BITS: Final = 64
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


def wrap_int64(number: int) -> int:
    """Return an integer modulo 2**64, as a signed integer of 64 bits."""
    half = 1 << (_INTEGER_BITS - 1)
    return (number + half) % (1 << _INTEGER_BITS) - half


def describe_type(value: Value) -> str:
    """Return a value's type for a message, with its article."""
    return _TYPE_DESCRIPTIONS[type(value)]


def make_type_failure(operation: str, *values: Value) -> Failure:
    """Return the failure of an operator or function that does not accept these types."""
    types = " and ".join(map(describe_type, values))
    return Failure(f"{operation} cannot be applied to {types}")
