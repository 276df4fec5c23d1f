"""The value of one field: numbers, tags, limits, types, patterns, derived and special fields.

Sources: seed, sections 2.3 and 2.3.1; the design's "Values". A value is a string and is never
trimmed; the empty string means "not given" and passes every check.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    InvalidProfileError,
    JavaRegexError,
    JavaRegexTimeoutError,
    Problem,
    ValueRefusedError,
    shown,
)
from osprofile.language import javaregex
from osprofile.profile.model import PATTERN_KEY, TYPE_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.profile.model import Field, Tag
    from osprofile.source import Place

NUMBER: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""What a number is, as a regular expression."""

LARGEST_INTEGER: Final = 2**63 - 1
"""What `sh` computes with: an integer field may stand in `$((...))`."""

PROFILE_NAME: Final = "PROFILE_NAME"
"""The profile's own name, by which jobs of two batch systems in one home are told apart."""
USPACE_ROOT: Final = "USPACE_ROOT"
"""The profile's UspaceRoot, below which working directories are made."""
SPECIAL_NAMES: Final = frozenset(
    {"USER_NAME", "WORKING_DIRECTORY", "SSH:HOST", "SSH:PORT", PROFILE_NAME, USPACE_ROOT}
)
TARGET_SYSTEM_INFO: Final = "TargetSystemInfo:"
JOB_SCRIPT: Final = "JOB_SCRIPT"
"""The text of prologue, application and epilogue, which the engine gives to START."""


def is_special(name: str) -> bool:
    """Say whether only the context or the engine may give a field of that name (2.3.1)."""
    return name in SPECIAL_NAMES or name == JOB_SCRIPT or name.startswith(TARGET_SYSTEM_INFO)


def hours_minutes_seconds(seconds: int) -> str:
    """Give a duration as `HH:MM:SS`; hours have two digits or more."""
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}"


def minutes_rounded_up(seconds: int) -> str:
    """Give a duration in minutes, a begun minute as a whole one."""
    return str(-(-seconds // 60))


DERIVED: Final[dict[str, Callable[[int], str]]] = {
    "HMS": hours_minutes_seconds,
    "MINUTES": minutes_rounded_up,
}
"""Of an integer field X in seconds, `<X:HMS>` and `<X:MINUTES>` are made from its value."""


def derived_base(name: str) -> str | None:
    """Give X of a name `X:HMS` or `X:MINUTES`, else None."""
    base, _, form = name.rpartition(":")
    return base if base and form in DERIVED else None


def derive(field: Field, name: str, value: str) -> str:
    """Give the value of the field `name` derived from `field`, whose value is given.

    Raises `ValueRefusedError`.
    """
    if not value:
        return value
    if not is_integer(value) or len(value) > 19:
        message = (
            f"<{name}> needs whole seconds, and field {field.name} has the value {shown(value)}"
        )
        hint = f'give field {field.name} ext:type="integer"'
        raise ValueRefusedError(message, field=field.name, place=field.place, hint=hint)
    return DERIVED[name.rpartition(":")[2]](int(value))


def apply_tags(field: Field, value: str) -> str:
    """Give the value of the tag named `value`; without such a tag, `value` itself."""
    return next((tag.value for tag in field.tags if tag.name == value), value)


def is_integer(value: str) -> bool:
    """Say whether a value is a whole number: ASCII digits, and no leading zero."""
    return value.isascii() and value.isdigit() and (value[0] != "0" or value == "0")


def is_number(value: str) -> bool:
    """Say whether a value is a finite decimal number, in ASCII."""
    return bool(re.fullmatch(NUMBER, value)) and abs(float(value)) != float("inf")


def within(value: str, minimum: float | None, maximum: float | None) -> bool:
    """Say whether a number (see `is_number`) lies inside the limits, which belong to the range."""
    if len(value) <= 15 and value.isdigit():  # a float has them all
        number = float(value)
        return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)
    from decimal import Decimal, InvalidOperation

    try:
        exact = Decimal(value)
    except InvalidOperation:  # an exponent of twenty digits: nearer to 0 than any limit
        exact = Decimal(repr(float(value)))
    # `repr` gives a limit back as its author wrote it: 0.1 is below no 0.1.
    low = minimum is None or exact >= Decimal(repr(minimum))
    return low and (maximum is None or exact <= Decimal(repr(maximum)))


@final
class Check(NamedTuple):
    """One rule that a field's values must fulfil: what it is called, what it allows, where it stands.

    `enforce` raises `ValueRefusedError` for a value (tags applied, not empty) that it refuses; its
    second argument is how the message calls the value.
    """

    name: str
    allows: str
    place: Place
    enforce: Callable[[str, str], None]


def checks_of(field: Field) -> tuple[Check, ...]:
    """Give the checks of a field in the order in which they are made: type, limits, pattern."""
    return tuple(_checks(field))


def _checks(field: Field) -> Iterator[Check]:
    if field.type == "integer":
        place = field.declaring("type").element.attribute_place(TYPE_KEY)
        yield Check("type", field.type, place, partial(_check_integer, field))
    elif is_limited(field):
        typed = field.type == "number"
        place = field.declaring("type").element.attribute_place(TYPE_KEY) if typed else field.place
        yield Check("type", "number", place, partial(_check_number, field))
    for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
        if limit is not None:
            place = field.place_of(name)
            yield Check(name, number_text(limit), place, partial(_check_limit, field, name, limit))
    if field.pattern_text is not None:
        place = field.declaring("pattern_text").element.attribute_place(PATTERN_KEY)
        yield Check("pattern", field.pattern_text, place, partial(_check_pattern, field))


def check(field: Field, value: str, given: str | None = None) -> None:
    """Check a value, tags applied, against type, limits and pattern; raise `ValueRefusedError`.

    `given` is the value before its tag took effect. The message names value, rule and field; the
    place is that of the rule in the profile.
    """
    if not value:
        return
    what = f"field {field.name}: {shown(value)}"
    if given is not None and given != value:
        what += f" (the value of tag {shown(given)})"
    for rule in _checks(field):
        rule.enforce(value, what)


def _check_integer(field: Field, value: str, what: str) -> None:
    place = field.place
    if not is_integer(value):
        hint = "digits only, and no leading zero, which a shell takes for an octal number"
        raise ValueRefusedError(
            f"{what} is not an integer", field=field.name, place=place, hint=hint
        )
    if int(value[:20]) > LARGEST_INTEGER:
        hint = f"a shell computes up to {LARGEST_INTEGER}"
        raise ValueRefusedError(f"{what} is too large", field=field.name, place=place, hint=hint)


def _check_number(field: Field, value: str, what: str) -> None:
    if not is_number(value):
        hint = "as in 10, -3, 1.5 or 2e6"
        message = (
            f"{what} is not a finite number"
            if re.fullmatch(NUMBER, value)
            else f"{what} is not a number"
        )
        raise ValueRefusedError(message, field=field.name, place=field.place, hint=hint)


def _check_limit(field: Field, name: str, limit: float, value: str, what: str) -> None:
    low = name == "Min"
    fits = within(value, limit, None) if low else within(value, None, limit)
    if not fits:
        word = "below" if low else "above"
        message = f"{what} is {word} the {name} of {number_text(limit)}"
        place, hint = field.place_of(name), f"allowed: {range_text(field)}"
        raise ValueRefusedError(message, field=field.name, place=place, hint=hint)


def _check_pattern(field: Field, value: str, what: str) -> None:
    pattern = _pattern(field)
    if pattern is not None and not pattern.accepts(value):
        message = f"{what} does not match the pattern {field.pattern_text}"
        place = field.declaring("pattern_text").element.attribute_place(PATTERN_KEY)
        raise ValueRefusedError(message, field=field.name, place=place, hint=field.description)


@final
class Rule:
    """A field's declaration made ready for values: `resolve` gives what a value stands for.

    It remembers what it resolved: jobs repeat their queues and node counts. Made only of fields
    that have a tag, a type, a limit or a pattern.
    """

    __slots__ = ("_accepts", "_by_name", "_field", "_high", "_low", "_tags", "known")

    def __init__(self, field: Field) -> None:
        self.known: dict[str, str] = {}
        self._field = field
        self._by_name = {tag.name: tag for tag in reversed(field.tags)}
        self._tags = {name: tag.value for name, tag in self._by_name.items()}
        self._low = 0 if field.minimum is None else field.minimum
        self._high = LARGEST_INTEGER if field.maximum is None else field.maximum
        # The quickest function that can say yes; where it says no, `check` decides.
        self._accepts: Callable[[str], bool] = self._first
        if field.type == "integer":
            self._accepts = self._whole
        elif is_limited(field):
            self._accepts = _undecided

    @staticmethod
    def needed(field: Field) -> bool:
        """Say whether a field has any rule at all."""
        typed = field.type is not None and field.type != "text"
        return bool(field.tags) or typed or is_limited(field) or field.pattern_text is not None

    def tag(self, given: str) -> Tag | None:
        """Give the tag by whose value `resolve` replaces `given`."""
        return self._by_name.get(given)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What `resolve` holds against a value that is not empty."""
        return checks_of(self._field)

    def resolve(self, given: str) -> str:
        """Give the value of the tag named `given`, else `given`, checked.

        Raises `ValueRefusedError`; `InvalidProfileError` for a bad pattern.
        """
        value: str = self._tags.get(given, given)
        try:
            if value and not self._accepts(value):
                check(self._field, value, given)
        except JavaRegexTimeoutError as error:
            raise timed_out(self._field.name, error) from None
        known = self.known
        if len(known) >= _REMEMBERED:
            known.clear()
        if len(given) <= _REMEMBERED_LENGTH:
            known[given] = value
        return value

    def _first(self, value: str) -> bool:
        """Find out, at the first value, what is to be asked of each."""
        pattern = _pattern(self._field)
        self._accepts = pattern.accepts if pattern is not None else _any
        return self._accepts(value)

    def _whole(self, value: str) -> bool:
        plain = value.isdigit() and value.isascii() and value[0] != "0" and len(value) < 19
        if not (plain and self._low <= int(value) <= self._high):
            return False
        pattern = _pattern(self._field)
        return pattern is None or pattern.accepts(value)


def timed_out(name: str, error: JavaRegexTimeoutError) -> JavaRegexTimeoutError:
    """Say of which field's value a regular expression did not get done."""
    message = f"field {name}: {error.message}"
    return JavaRegexTimeoutError(message, text=error.text, index=error.index, hint=error.hint)


_REMEMBERED: Final = 512
_REMEMBERED_LENGTH: Final = 200


def _any(_value: str) -> bool:
    return True


def _undecided(_value: str) -> bool:
    return False


def is_limited(field: Field) -> bool:
    """Say whether a field takes numbers only: by a limit, or by the type `number`."""
    return field.type == "number" or field.minimum is not None or field.maximum is not None


def _pattern(field: Field) -> javaregex.Pattern | None:
    """Give a field's pattern; raise `InvalidProfileError` where Java refuses it."""
    if field.pattern_text is None:
        return None
    try:
        return javaregex.compile(field.pattern_text)
    except JavaRegexError as error:
        message = f"field {field.name}: bad Java regular expression: {error.message}"
        element = field.declaring("pattern_text").element
        place = element.attribute_text(PATTERN_KEY).place(error.index)
        raise InvalidProfileError([Problem("OSP401", message, place, error.hint)]) from None


def number_text(number: float) -> str:
    """Give a limit as people write it: 10, not 10.0."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def range_text(field: Field) -> str:
    """Give the limits of a field in words: `1 to 64`, `at least 1`, or the empty string."""
    low, high = field.minimum, field.maximum
    if low is not None and high is not None:
        return f"{number_text(low)} to {number_text(high)}"
    if low is not None:
        return f"at least {number_text(low)}"
    return f"at most {number_text(high)}" if high is not None else ""


def carriable(name: str, value: object) -> None:
    """Raise where no script can carry a value: it is no string, has a NUL, or is not Unicode."""
    if not isinstance(value, str):
        message = f"field {name}: a value is a string, not {type(value).__name__}"
        raise ValueRefusedError(message, field=name)
    if "\0" in value:
        raise ValueRefusedError(f"field {name}: {shown(value)} has a NUL character", field=name)
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"field {name}: {shown(value)} is not valid UTF-8"
        raise ValueRefusedError(message, field=name) from None
