"""The request that the description of a job becomes: values of the profile's fields.

Every executor uses `build_request`, so that values are quoted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from osprofile.caller_environment import is_variable_name
from osprofile.errors import IncarnationError, ValueRefusedError
from osprofile.incarnation.evaluate import MAX_ARGUMENT_SIZE
from osprofile.incarnation.field_rules import DIGITS_HINT, MAX_INTEGER
from osprofile.incarnation.plan import find_directive_template
from osprofile.jobs.fields import (
    DEPENDENCY_ATTRIBUTES,
    DEPENDENCY_FIELD,
    FIELD_BY_ATTRIBUTE,
    FIELDS,
    JobDescription,
    Kind,
)
from osprofile.late import compile_late
from osprofile.profile.model import PASSED
from osprofile.text import (
    DURATION_HINT,
    MEMORY_HINT,
    parse_duration,
    parse_memory,
    quote_name,
    quote_shell_word,
    quote_value,
)

if TYPE_CHECKING:
    from osprofile.profile.model import Profile

OWN_FILES: Final = frozenset({".gpe", ".gpe_exit_status"})
"""The names of osprofile's own files in a job's working directory."""
MULTI_PROCESS_APPLICATION: Final = "Processes"
"""The application of profiles that starts a program PROCESSES times, without MPI."""
SIGNAL_FIELD: Final = FIELD_BY_ATTRIBUTE["signal"]
"""A signal and the seconds before the time limit at which the program gets it."""
_DEFAULT_SIGNAL: Final = "USR1"
_SIGNAL_HINT: Final = "as in USR1@5m, TERM@90s, or 5m alone for USR1"
_NOT_IN_NAMES: Final = compile_late(r"[^A-Za-z0-9_.+-]")
_PLAIN: Final = r"[A-Za-z0-9_.@:+=,/*()\[\]%^<>&|!~-]+"
_QUOTED: Final = r"[A-Za-z0-9_.@:+=,/*()\[\]%^<>&|!~#;'?{} -]+"
"""What a value of an option that is passed may have, alone and in quotes: PASSED of the profile linux."""
_PASSED_OPTION: Final = compile_late(
    rf'(?P<long>--[A-Za-z][A-Za-z0-9_-]*)(?:=(?:"{_QUOTED}"|{_PLAIN}))?'
    rf'|(?P<short>-[A-Za-z][A-Za-z0-9_-]*)(?: (?:"{_QUOTED}"|(?!-){_PLAIN}))?'
)
_MAX_NAME_LENGTH: Final = 200  # the names of files end at 255 bytes, and a name may be a part of one


def build_job_name(text: str, prefix: str = "job.") -> str:
    """Return a job's name that each bundled profile accepts, and that is as similar to a text as possible.

    It has only letters, digits and `_ . + -`, and at most 200 of them; `prefix` is put before what is no letter.
    """
    name = _NOT_IN_NAMES.sub("_", text)[:_MAX_NAME_LENGTH]
    return name if name[:1].isalpha() else f"{prefix}{name}"


def build_request(description: JobDescription) -> dict[str, str]:
    """Return the values of START's fields for a description.

    Raises `ValueRefusedError` with the field's name: for a value of the wrong type, an invalid name of
    an environment variable, a field that is given twice, and a value too long for any program.
    """
    request = {}
    if description.application is not None:
        _require_text("application", description.application)
    for attribute, name in FIELD_BY_ATTRIBUTE.items():
        value = getattr(description, attribute)
        if value is not None and value not in ((), [], {}):
            request[name] = _FORMATTERS.get(FIELDS[attribute].kind, _format_scalar)(name, value)
    if dependency := _format_dependency(description):
        request[DEPENDENCY_FIELD] = dependency
    for name, value in _require_mapping("fields", description.fields, '{"NODES": "2"}').items():
        _require_text("fields", name)
        if name in request:
            message = f"field {quote_name(name)} is given twice: by {_find_attribute(name)} and by fields"
            raise ValueRefusedError(message, field=name, hint="leave one of them out")
        request[name] = value
    _check_signal(request)
    return request


def list_differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return what differs in two requests: attributes of JobDescription, and names of other fields."""
    attributes = {name: attribute for attribute, name in FIELD_BY_ATTRIBUTE.items()}
    attributes[DEPENDENCY_FIELD] = "dependencies"
    names = [*attributes, *sorted((first.keys() | second.keys()) - attributes.keys())]
    return [attributes.get(name, name) for name in names if first.get(name) != second.get(name)]


def quote_shell_words(words: Sequence[str]) -> str:
    """Return a text that a POSIX shell splits into exactly these words.

    Raises `ValueRefusedError` for a word that is too long for a program.
    """
    for number, word in enumerate(words, 1):
        _check_length("ARGUMENTS", word, f"argument {number}")
    return " ".join(map(_quote_without_directives, words))


def format_exports(environment: Mapping[str, str]) -> str:
    """Return a line `export NAME='value'` for each variable.

    Raises `ValueRefusedError` for an invalid name, and for a variable too long for a program.
    """
    lines = []
    for name, value in environment.items():
        if not is_variable_name(_require_text("ENVIRONMENT", name)):
            message = f"field ENVIRONMENT: {quote_name(name)} is not a name of an environment variable"
            hint = "letters, digits and _, with no digit first"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint=hint)
        _check_length(
            "ENVIRONMENT", f"{name}={_require_text('ENVIRONMENT', value)}", f"variable {quote_name(name)}"
        )
        lines.append(f"export {name}={_quote_without_directives(value)}\n")
    return "".join(lines)


def _quote_without_directives(value: str) -> str:
    """Return a value as a shell word of which no line looks like a directive, and none ends with CR LF.

    Batch systems read directives in a job script, wherever they stand, and some refuse a script with CR LF.
    """
    return quote_shell_word(value).replace("\r\n", "\r''\n").replace("\n#", "\n''#")


def _format_scalar(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            message = f"field {name}: a number of {value.bit_length()} bits is too large"
            raise ValueRefusedError(message, field=name, hint=f"at most {MAX_INTEGER}")
        return str(value)
    # The bundled profiles pass fields to the job as environment variables GPE_NAME.
    text = _require_text(name, value, "give a string, or a whole number")
    _check_length(name, f"GPE_{name}={text}", "the value")
    return text


def _format_switch(name: str, value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else _format_scalar(name, value)


def _require_text(name: str, value: object, hint: str = "give a string") -> str:
    if not isinstance(value, str):
        message = f"field {name}: {value!r} is not a string"
        raise ValueRefusedError(message, field=name, hint=hint)
    return value


def _check_length(name: str, text: str, what: str) -> None:
    if len(text) * 4 > MAX_ARGUMENT_SIZE:  # else it is short enough: a character has at most 4 bytes
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_ARGUMENT_SIZE:
            message = f"field {name}: {what} is too long for a program: {size} bytes"
            hint = f"at most {MAX_ARGUMENT_SIZE}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)


def _format_quantity(name: str, value: object) -> str:
    parse, hint = _QUANTITIES[name]
    if isinstance(value, float):
        message = f"field {name}: {value!r} is not a whole number"
        raise ValueRefusedError(message, field=name, hint=hint)
    amount = parse(value) if isinstance(value, str) else None
    return _format_scalar(name, value if amount is None else amount)  # the profile may know other words


def _format_signal(name: str, value: object) -> str:
    """Return a signal and the seconds before the time limit, as in `USR1@300`."""
    text = _require_text(name, value, _SIGNAL_HINT)
    word, mark, time = text.rpartition("@")
    seconds = parse_duration(time)
    if not seconds or (mark and not word):
        message = f"field {name}: {quote_value(text)} is not a signal and a time before the limit"
        raise ValueRefusedError(message, field=name, hint=_SIGNAL_HINT)
    return _format_scalar(name, f"{word.upper().removeprefix('SIG') or _DEFAULT_SIGNAL}@{seconds}")


def _check_signal(request: Mapping[str, str]) -> None:
    """Raise `ValueRefusedError` for a signal that would come before the program begins."""
    walltime, signal = (request.get(name, "") for name in ("WALLTIME", SIGNAL_FIELD))
    seconds = signal.partition("@")[2]
    if walltime.isdecimal() and seconds.isdecimal() and int(seconds) >= int(walltime):
        message = f"field {SIGNAL_FIELD}: {seconds} s is not before a time limit of {walltime} s"
        raise ValueRefusedError(message, field=SIGNAL_FIELD, hint="give a shorter time, or a longer walltime")


def explain_units(error: IncarnationError, request: Mapping[str, str]) -> None:
    """Name the units in the hint, if a profile wants a number and the text is no time or amount of memory."""
    parse, hint = _QUANTITIES.get(error.field, (None, ""))
    if error.hint == DIGITS_HINT and parse is not None and parse(request.get(error.field, "0")) is None:
        error.hint = hint


def _format_arguments(_name: str, value: object) -> str:
    return quote_shell_words(require_words(value))


def require_words(value: object) -> list[str]:
    """Return the arguments of a program; raise `ValueRefusedError` for anything but a sequence of strings."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"field ARGUMENTS: {value!r} is not a sequence of arguments"
        raise ValueRefusedError(message, field="ARGUMENTS", hint='as in ("-n", "3")')
    return [_require_text("ARGUMENTS", word) for word in value]


def is_passed_option(profile: Profile, option: str) -> bool:
    """Return whether the profile lets jobs give an option of the batch system: `--nodelist=n1`, `-l software=x`.

    One with a field is not passed if a site declares that field itself: it would evade its limits.
    """
    return _find_passed_fields(profile, option) is not None and not find_evaded_field(profile, option)


def quote_passed_value(value: str) -> str:
    """Return a value of an option as it is passed: in quotes if it has a blank or the like."""
    return value if re.fullmatch(_PLAIN, value) else f'"{value}"'


def find_evaded_field(profile: Profile, option: str) -> str:
    """Return the field that a site declares itself, and whose limits an option that is passed would evade; empty without one."""
    template, fields = find_directive_template(profile), _find_passed_fields(profile, option) or ()
    evaded = (
        f for f in fields if f and template is not None and _is_declared_again(profile, template.name, f)
    )
    return next(evaded, "")


def _find_passed_fields(profile: Profile, option: str) -> list[str] | None:
    """Return the fields for the same thing as an option that is passed; None for any other option."""
    match = _PASSED_OPTION.fullmatch(option)
    if match is None:
        return None
    flag = match["long"] or match["short"]
    value = option[len(flag) + 1 :].strip('"')
    passed, fields = profile.passed_options, []
    for part in value.split(","):  # perhaps resources; their names may be in capitals
        names = (flag, f"{flag}{re.split('[=:/]', part)[0].strip().lower()}")
        found = [name for name in dict.fromkeys(names) if name in passed]
        if not found:
            return None
        fields += [field for name in found for field in passed[name].split(",")]
    return fields


def _is_declared_again(profile: Profile, template: str, field: str) -> bool:
    """Return whether a profile that extends the one with a template declares a field, or a case of it."""
    for document in profile.documents:
        if template in document.templates:
            return False
        if field in document.global_fields or any(case.name == field for case in document.cases):
            return True
    return False


def format_passed_options(profile: Profile, description: JobDescription) -> str:
    """Return the value of the field PASSED. Raises `ValueRefusedError` for an option that the profile does not pass."""
    options = require_words(description.passed_options)
    for option in options:
        if not is_passed_option(profile, option):
            message = f"the option {quote_value(option)} is not passed to the batch system"
            hint = f"profile {profile.name} lists those that are in its field PASSED_OPTIONS"
            raise ValueRefusedError(message, field=PASSED, hint=hint)
    return "\n".join(options)


def list_dependencies(description: JobDescription) -> dict[str, list[str]]:
    """Return the jobs that a job depends on, by the conditions afterok, afternotok and afterany.

    Raises `ValueRefusedError` for what is not a sequence of strings.
    """
    names = {}
    for attribute, condition in DEPENDENCY_ATTRIBUTES.items():
        jobs = getattr(description, attribute)
        if isinstance(jobs, str) or not isinstance(jobs, Sequence):
            message = f"{attribute}: {jobs!r} is not a sequence of jobs"
            raise ValueRefusedError(message, field=DEPENDENCY_FIELD, hint='as in ["1234"]')
        names[condition] = [_require_text(DEPENDENCY_FIELD, job) for job in jobs]
    _require_mapping("fields", description.fields, '{"NODES": "2"}')
    return names


def list_named_jobs(description: JobDescription) -> list[str]:
    """Return the ids and keys of the jobs that a job depends on; none of a description that is not valid."""
    try:
        return [name for names in list_dependencies(description).values() for name in names]
    except ValueRefusedError:
        return []


def _format_dependency(description: JobDescription) -> str:
    names = list_dependencies(description).items()
    return ",".join(":".join([condition, *jobs]) for condition, jobs in names if jobs)


def _format_environment(name: str, value: object) -> str:
    return format_exports(_require_mapping(name, value, '{"LANG": "C"}'))


def _require_mapping(name: str, value: object, example: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        message = f"field {name}: {value!r} is not a mapping from names to values"
        raise ValueRefusedError(message, field=name, hint=f"as in {example}")
    return value


_PARSERS: Final = {
    Kind.MEMORY: (parse_memory, MEMORY_HINT),
    Kind.DURATION: (parse_duration, DURATION_HINT),
}
_QUANTITIES: Final = {row.name: _PARSERS[row.kind] for row in FIELDS.values() if row.kind in _PARSERS}
_FORMATTERS: Final = {
    Kind.WORDS: _format_arguments,
    Kind.VARIABLES: _format_environment,
    Kind.SWITCH: _format_switch,
    Kind.SIGNAL: _format_signal,
    **dict.fromkeys(_PARSERS, _format_quantity),
}


def _find_attribute(name: str) -> str:
    if name == DEPENDENCY_FIELD:
        return ", ".join(DEPENDENCY_ATTRIBUTES)
    return next(attribute for attribute, field_name in FIELD_BY_ATTRIBUTE.items() if field_name == name)
