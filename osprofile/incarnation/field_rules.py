"""The value of one field: numbers, tags, limits, types, patterns, derived and special fields.

Sources: OS Profile 0.3, 2.3 and 2.3.1; docs/language.md, Fields. A value is a string and is never
trimmed; the empty string means "not given" and passes every check.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import (
    InvalidProfileError,
    JavaRegexError,
    JavaRegexTimeoutError,
    MissingValueError,
    Problem,
    ValueRefusedError,
)
from osprofile.incarnation.evaluate import (
    DERIVED_FORMATS,
    END_WORD_PREFIX,
    MAX_SECONDS_LENGTH,
    NO_PROGRAM,
    USER_HOME,
    USPACE_ROOT,
    is_integer,
    is_integer_between,
    join_home,
    name_program,
)
from osprofile.late import NamedTuple
from osprofile.profile.model import TYPE_ATTRIBUTE, USER_FIELDS
from osprofile.text import describe_number, format_amount_words, quote_shell_word, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.profile.model import Field, Tag
    from osprofile.source import Location

NUMBER_PATTERN: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"

MAX_INTEGER: Final = 2**63 - 1
"""The largest integer that `sh` computes with: an integer field may stand in `$((...))`."""
DIGITS_HINT: Final = "digits only"
"""The hint for a text that is no integer."""

PROFILE_NAME: Final = "PROFILE_NAME"
"""The field with the profile's name: it distinguishes jobs of two batch systems that share a home directory."""
SPECIAL_FIELDS: Final = frozenset(
    {
        *USER_FIELDS,
        USER_HOME,
        "WORKING_DIRECTORY",
        "SSH:HOST",
        "SSH:PORT",
        "SSH:CONTROL_PATH",
        "SUDO:USER",
        PROFILE_NAME,
        USPACE_ROOT,
    }
)
TARGET_SYSTEM_INFO_PREFIX: Final = "TargetSystemInfo:"
JOB_SCRIPT: Final = "JOB_SCRIPT"
"""The field with the text of directives, prologue, application and epilogue, which the engine supplies to START."""
JOB_SCRIPT_END: Final = "JOB_SCRIPT:END"
"""The field with a word that no line of JOB_SCRIPT equals: the delimiter of a here-document with that text."""
END_WORD_PATTERN: Final = rf"\b{END_WORD_PREFIX}[0-9a-f]{{12}}\b"
"""The form of the values of JOB_SCRIPT_END, which differ with each request."""
ENGINE_FIELDS: Final = frozenset({JOB_SCRIPT, JOB_SCRIPT_END})
"""The fields that the engine supplies to START."""
PROGRAM_PREFIX: Final = "BIN:"
"""`<BIN:submit.sh>` is the path, as a shell word, of the static script with the fileName `submit.sh`."""


def is_special_field(name: str) -> bool:
    """Return whether only the context or the engine may set the field (OS Profile 0.3, 2.3.1)."""
    return (
        name in SPECIAL_FIELDS
        or name in ENGINE_FIELDS
        or name.startswith((TARGET_SYSTEM_INFO_PREFIX, PROGRAM_PREFIX))
    )


def expand_home(root: str, home: str) -> str:
    """Return a UspaceRoot with a user's home for the `~` at its start; any other as it is.

    Raises `MissingValueError` without a home, `ValueRefusedError` for one in which no jobs can work.
    """
    path = join_home(root, home)
    if path is not None:
        if path != root:
            validate_text(USER_HOME, home)
        return path
    hint = f"give it as context ({USER_HOME}=...), or name another directory as UspaceRoot in a profile"
    if not home:
        message = f"UspaceRoot {root} begins with the user's home, and field {USER_HOME} has no value"
        raise MissingValueError(message, field=USER_HOME, hint=hint)
    message = f"the user's home is {quote_value(home)}, in which no jobs can work"
    raise ValueRefusedError(message, field=USER_HOME, hint=hint)


_ALTERNATIVES: Final = r"(?:\((?:\?:)?)?([A-Za-z0-9_:@/-]+(?:\|[A-Za-z0-9_:@/-]+)+)\)?"
QUOTED: Final = "QUOTED"
"""The derived field `<X:QUOTED>` of any field X is its value as one word of a shell, or nothing without a value."""
EXECUTABLE: Final = "EXECUTABLE"
PROGRAM: Final = "PROGRAM"
"""The derived field `<X:PROGRAM>` of any field X is its value; without one, the name of the job's program."""
QUOTE_ESCAPE: Final = ("'", r"'\\''")
"""FROM and TO by which a value can stand between single quotes."""


def get_derived_base(name: str) -> str | None:
    """Return X if the name is `X:HMS`, `X:MINUTES`, `X:QUOTED` or `X:PROGRAM`, else None."""
    base, _, form = name.rpartition(":")
    return base if base and (form in DERIVED_FORMATS or form in {QUOTED, PROGRAM}) else None


def is_quoted_form(name: str) -> bool:
    """Return whether a name is `X:QUOTED`."""
    return name.endswith(f":{QUOTED}")


def is_program_form(name: str) -> bool:
    """Return whether a name is `X:PROGRAM`."""
    return name.endswith(f":{PROGRAM}")


def derive_value(field: Field, name: str, value: str, program: str = "") -> str:
    """Return the value of the derived field `name` from the value of its base field `field`.

    `program`: the path of the job's program, or its application's name. Raises `ValueRefusedError`.
    """
    if is_program_form(name):
        return value or fit_program_name(field, program) or NO_PROGRAM
    if not value:
        return value
    if is_quoted_form(name):
        return quote_shell_word(value)
    if not is_integer(value) or len(value) > MAX_SECONDS_LENGTH:
        message = f"<{name}> needs whole seconds, and field {field.name} has the value {quote_value(value)}"
        hint = f'give field {field.name} ext:type="integer"'
        raise ValueRefusedError(message, field=field.name, location=field.location, hint=hint)
    return DERIVED_FORMATS[name.rpartition(":")[2]](int(value))


def fit_program_name(field: Field, program: str) -> str:
    """Return the last part of a program's path, as far as the field's pattern allows it."""
    return find_accepted(field, name_program(program))


def find_accepted(field: Field, text: str) -> str:
    """Return what the field's pattern finds in a text; all of it for a field without one."""
    pattern = _compile_pattern(field)
    match = pattern.find(text) if pattern is not None else None
    found = text if pattern is None else match.group() if match else None
    return found or ""


def apply_tags(field: Field, value: str) -> str:
    """Return the value of the tag named `value`; without such a tag, `value` itself."""
    return next((tag.value for tag in field.tags if tag.name == value), value)


def list_alternatives(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern that is only a list of words to choose from, as `physics|chem`; else nothing."""
    words = re.fullmatch(_ALTERNATIVES, pattern)  # compiled where it is needed: few commands do
    if words is None or (pattern[0] == "(") != (pattern[-1] == ")"):
        return ()
    return tuple(words[1].split("|"))


def is_number(value: str) -> bool:
    """Return whether a value is a finite decimal number in ASCII."""
    return bool(re.fullmatch(NUMBER_PATTERN, value)) and abs(float(value)) != float("inf")


def is_within_limits(value: str, minimum: float | None, maximum: float | None) -> bool:
    """Return whether a number (see `is_number`) lies within the limits, both inclusive."""
    if len(value) <= 15 and value.isdigit():  # a float represents 15 digits exactly
        number = float(value)
        return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)
    from decimal import Decimal, InvalidOperation

    try:
        exact = Decimal(value)
    except InvalidOperation:  # an exponent of twenty digits: closer to 0 than any limit
        exact = Decimal(repr(float(value)))
    # `repr` returns a limit as its author wrote it, so that 0.1 lies within a limit of 0.1.
    above_minimum = minimum is None or exact >= Decimal(repr(minimum))
    return above_minimum and (maximum is None or exact <= Decimal(repr(maximum)))


@final
class ValueCheck(NamedTuple):
    """A check of a field's values: its name, what it allows, its location in the profile.

    `enforce` raises `ValueRefusedError` for a value (tags applied, not empty) that violates it; its
    second argument is what the message calls the value.
    """

    name: str
    constraint: str
    location: Location
    enforce: Callable[[str, str], None]


def list_checks(field: Field) -> tuple[ValueCheck, ...]:
    """Return the checks of a field in the order in which they are made: type, limits, pattern.

    Those of a case (`ext:for`) have no type, and say when they apply.
    """
    if field.selection is None:
        return tuple(_iter_checks(field))
    return tuple(
        check._replace(constraint=f"{check.constraint} for {field.selection}")
        for check in _iter_checks(field)
        if check.name != "type"
    )


def _iter_checks(field: Field) -> Iterator[ValueCheck]:
    number_type = "integer" if field.type == "integer" else "number" if is_numeric_field(field) else None
    if number_type is not None:
        location = field.location  # unless it declares the type: a limit implies `number`
        if field.type == number_type:
            location = field.find_declaration("type").element.locate_attribute(TYPE_ATTRIBUTE)
        enforce = _check_integer if number_type == "integer" else _check_number
        yield ValueCheck("type", number_type, location, partial(enforce, field))
    for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
        if limit is not None:
            location = field.locate_child(name)
            yield ValueCheck(name, format_number(limit), location, partial(_check_limit, field, name, limit))
    if (pattern := field.pattern) is not None:
        yield ValueCheck("pattern", pattern.text, pattern.get_location(), partial(_check_pattern, field))


def check_value(field: Field, value: str, raw_value: str | None = None) -> None:
    """Check a value, tags applied, against type, limits and pattern; raise `ValueRefusedError`.

    `raw_value` is the value before its tag was applied. The message names value, rule and field;
    the location is that of the rule in the profile.
    """
    if not value:
        return
    label = f"field {field.name}: {quote_value(value)}"
    if raw_value is not None and raw_value != value:
        label += f" (the value of tag {quote_value(raw_value)})"
    for check in _iter_checks(field):
        check.enforce(value, label)


def _check_integer(field: Field, value: str, label: str) -> None:
    location = field.location
    if not is_integer(value):
        fault, hint = "is not an integer", DIGITS_HINT
        if re.fullmatch("-[0-9]+", value):
            fault, hint = "is negative", _describe_range(field)
        elif re.fullmatch("0[0-9]+", value):
            fault, hint = "begins with 0", "leave the 0 out: a shell takes such a number for an octal one"
        raise ValueRefusedError(f"{label} {fault}", field=field.name, location=location, hint=hint)
    if int(value[:20]) > MAX_INTEGER:  # Python refuses to convert more than 4,300 digits
        hint = f"a shell computes up to {MAX_INTEGER}"
        raise ValueRefusedError(f"{label} is too large", field=field.name, location=location, hint=hint)


def _check_number(field: Field, value: str, label: str) -> None:
    if not is_number(value):
        hint = describe_number(value)
        kind = "a finite number" if re.fullmatch(NUMBER_PATTERN, value) else "a number"
        raise ValueRefusedError(
            f"{label} is not {kind}", field=field.name, location=field.location, hint=hint
        )


def _check_limit(field: Field, name: str, limit: float, value: str, label: str) -> None:
    is_minimum = name == "Min"
    fits = is_within_limits(value, limit, None) if is_minimum else is_within_limits(value, None, limit)
    if not fits:
        relation = "below" if is_minimum else "above"
        if (meaning := format_amount_words(field.name, value)) != value:
            label += meaning.removeprefix(value)
        message = (
            f"{label} is {relation} the {name} of {format_amount_words(field.name, format_number(limit))}"
        )
        if problem := find_limits_problem(field):
            raise InvalidProfileError([problem])
        location, hint = field.locate_child(name), _describe_range(field)
        raise ValueRefusedError(message, field=field.name, location=location, hint=hint)


def find_limits_problem(field: Field) -> Problem | None:
    """Return the problem with a field whose Min is above its Max, which refuses every number."""
    low, high = field.minimum, field.maximum
    if low is None or high is None or low <= high:
        return None
    message = f"field {field.name}: Min {format_number(low)} is above Max {format_number(high)}"
    hint = f"raise the Max, at {field.locate_child('Max')}, or lower the Min: now no number is allowed"
    return Problem("OSP307", message, field.locate_child("Min"), hint)


def accepts_pattern(field: Field, value: str) -> bool:
    """Return whether a value matches a field's pattern, if it has one."""
    pattern = _compile_pattern(field)
    return pattern is None or pattern.accepts(value)


def _check_pattern(field: Field, value: str, label: str) -> None:
    if not accepts_pattern(field, value):
        message = f"{label} does not match the pattern {field.pattern_text}"
        location = field.locate_pattern()
        raise ValueRefusedError(message, field=field.name, location=location, hint=field.description)


@final
class FieldRule:
    """Tags and checks of a field, prepared for many values.

    `resolved_values` caches results: jobs repeat their queues and node counts. `incarnate` reads it. Only fields that have a tag, a
    type, a limit or a pattern need one.
    """

    __slots__ = (
        "_accepts",
        "_field",
        "_integer_limits",
        "_tag_values",
        "_tags_by_name",
        "resolved_values",
    )

    def __init__(self, field: Field) -> None:
        self.resolved_values: dict[str, str] = {}
        self._field = field
        self._tags_by_name = {tag.name: tag for tag in reversed(field.tags)}
        self._tag_values = {name: tag.value for name, tag in self._tags_by_name.items()}
        self._integer_limits = get_integer_limits(field)
        # A quick test; `check_value` decides about the values that it does not accept.
        self._accepts: Callable[[str], bool] = self._prepare_and_accept
        if self._integer_limits is not None:
            self._accepts = self._accepts_integer

    @staticmethod
    def is_needed(field: Field) -> bool:
        """Return whether a field has any tag, type, limit or pattern."""
        typed = field.type is not None and field.type != "text"
        return bool(field.tags) or typed or is_numeric_field(field) or field.pattern_text is not None

    def find_tag(self, raw_value: str) -> Tag | None:
        """Return the tag whose value replaces `raw_value`, or None."""
        return self._tags_by_name.get(raw_value)

    @property
    def value_checks(self) -> tuple[ValueCheck, ...]:
        """The checks that `resolve_value` makes of a value that is not empty."""
        return list_checks(self._field)

    def resolve_value(self, raw_value: str) -> str:
        """Return the value of the tag named `raw_value`, else `raw_value`, after checking it.

        Raises `ValueRefusedError`; `InvalidProfileError` for a bad pattern.
        """
        value: str = self._tag_values.get(raw_value, raw_value)
        try:
            if value and not self._accepts(value):
                check_value(self._field, value, raw_value)
        except JavaRegexTimeoutError as error:
            raise field_timeout_error(self._field.name, error) from None
        cache = self.resolved_values
        if len(cache) >= _MAX_CACHED_VALUES:
            cache.clear()
        if len(raw_value) <= _MAX_CACHED_LENGTH:
            cache[raw_value] = value
        return value

    def _prepare_and_accept(self, value: str) -> bool:
        """Compile the pattern at the first value, since most patterns are never used; then test the value."""
        pattern = _compile_pattern(self._field)
        self._accepts = pattern.accepts if pattern is not None else _accept_all
        return self._accepts(value)

    def _accepts_integer(self, value: str) -> bool:
        is_within = self._integer_limits is None or is_integer_between(value, *self._integer_limits)
        return is_within and accepts_pattern(self._field, value)


def field_timeout_error(name: str, error: JavaRegexTimeoutError) -> JavaRegexTimeoutError:
    """Return the error with the name of the field that it is about."""
    message = f"field {name}: {error.message}"
    return JavaRegexTimeoutError(message, text=error.text, index=error.index, hint=error.hint)


_MAX_CACHED_VALUES: Final = 512
_MAX_CACHED_LENGTH: Final = (
    200  # longer values, such as arguments, hardly repeat; a cache takes 100 KB at most
)


def _accept_all(_value: str) -> bool:
    return True


def has_limit(field: Field) -> bool:
    """Return whether a field has Min or Max: then the empty value is one that is not given (OS Profile 0.3, 2.3)."""
    return field.minimum is not None or field.maximum is not None


def get_integer_limits(field: Field) -> tuple[float, float] | None:
    """Return between which integers a quick test accepts a value; None for a field that is not of numbers.

    Of those that may have a fraction it accepts none.
    """
    if field.type != "integer":
        return (1, 0) if is_numeric_field(field) else None
    maximum = MAX_INTEGER if field.maximum is None else field.maximum
    return 0 if field.minimum is None else field.minimum, maximum


def is_numeric_field(field: Field) -> bool:
    """Return whether a field takes only numbers: it has a limit or the type `number`."""
    return field.type == "number" or has_limit(field)


def _compile_pattern(field: Field) -> javaregex.Pattern | None:
    """Return a field's pattern, or None; raise `InvalidProfileError` if Java refuses it."""
    if field.pattern_text is None:
        return None
    try:
        return javaregex.compile(field.pattern_text)
    except JavaRegexError as error:
        message = f"field {field.name}: bad Java regular expression: {error.message}"
        location = field.locate_pattern(error.index)
        raise InvalidProfileError([Problem("OSP401", message, location, error.hint)]) from None


def format_number(number: float) -> str:
    """Return a limit as people write it: 10, not 10.0."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _describe_range(field: Field) -> str:
    """Return what a number may be, and the field's Description: a site explains its limit there."""
    allowed = f"allowed: {format_range(field) or 'from 0'}"
    return f"{allowed}. {field.description}" if field.description else allowed


def format_range(field: Field, *, with_meaning: bool = True) -> str:
    """Return the limits of a field in words: `1 to 64`, `at least 1`, `at most 7200 (2h)`, or the empty string.

    Without the meaning, numbers stand alone.
    """
    low, high = (None if n is None else format_number(n) for n in (field.minimum, field.maximum))
    if with_meaning:
        low, high = (None if n is None else format_amount_words(field.name, n) for n in (low, high))
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


def validate_text(name: str, value: object) -> None:
    """Raise `ValueRefusedError` unless a value is a string that can be encoded and has no NUL."""
    if not isinstance(value, str):
        message = f"field {name}: a value is a string, not {type(value).__name__}"
        raise ValueRefusedError(message, field=name)
    if "\0" in value:
        raise ValueRefusedError(f"field {name}: {quote_value(value)} has a NUL character", field=name)
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"field {name}: {quote_value(value)} is not valid UTF-8"
        raise ValueRefusedError(message, field=name) from None
