"""The description of a job, and the request that it becomes: values of the profile's fields.

Every executor uses `build_request`, so that values are quoted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, final

from osprofile.errors import ValueRefusedError, quote_name
from osprofile.incarnation.field_rules import MAX_INTEGER
from osprofile.incarnation.lengths import MAX_ARGUMENT_SIZE
from osprofile.incarnation.static_scripts import quote_shell_word

OWN_FILE_PREFIX: Final = ".gpe_"
"""Prefix of the names of osprofile's own files in a job's working directory."""
MULTI_PROCESS_APPLICATION: Final = "Processes"
"""The application of profiles that starts a program PROCESSES times, without MPI."""
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BOOLEAN_FIELDS: Final = frozenset({"EXCLUSIVE", "REQUEUE"})
_EMPTY_MAPPING: Final[Mapping[str, str]] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """A job, independent of any protocol. None stands for the profile's default.

    - `arguments`, `environment`: unquoted
    - `stdin`, `stdout`, `stderr`: paths, relative to `directory`
    - `directory`: the working directory, absolute (None: a new one)
    - `processes`: on all nodes together; `cpus`: per process; `memory`: in MiB per node
    - `walltime`, `cputime`: in seconds
    - `gpus`: per node; `gpu_type`: as the site names it
    - `start_time`: `YYYY-MM-DDTHH:MM[:SS]` in the target system's time zone
    - `notify`: mail addresses; `notify_events`: of begin, end, fail; both separated by commas
    - `array`: the tasks' indices, and how many of them run at a time at most: `1-100%8`
    - `after_ok`, `after_not_ok`, `after_any`: ids, or keys (see `TargetSystem.submit`), of jobs of the
      same target system that must end before: with exit code 0; in another way; in any way
    - `application`: `NAME` or `NAME/VERSION`
    - `fields`: values of further fields of START, by name
    """

    executable: str | None = None
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    directory: str | None = None
    name: str | None = None
    queue: str | None = None
    project: str | None = None
    nodes: int | None = None
    processes: int | None = None
    cpus: int | None = None
    memory: int | None = None
    walltime: int | None = None
    cputime: int | None = None
    gpus: int | None = None
    gpu_type: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    exclusive: bool | None = None
    priority: int | None = None
    start_time: str | None = None
    notify: str | None = None
    notify_events: str | None = None
    array: str | None = None
    after_ok: Sequence[str] = ()
    after_not_ok: Sequence[str] = ()
    after_any: Sequence[str] = ()
    requeue: bool | None = None
    container: str | None = None
    node_file: str | None = None
    tmp_dir: str | None = None
    application: str | None = None
    fields: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)


FIELD_BY_ATTRIBUTE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "executable": "EXECUTABLE",
        "arguments": "ARGUMENTS",
        "environment": "ENVIRONMENT",
        "stdin": "STDIN",
        "stdout": "STDOUT",
        "stderr": "STDERR",
        "name": "JOB_NAME",
        "queue": "QUEUE",
        "project": "PROJECT",
        "nodes": "NODES",
        "processes": "PROCESSES",
        "cpus": "CPUS",
        "memory": "MEMORY",
        "walltime": "WALLTIME",
        "cputime": "CPUTIME",
        "gpus": "GPUS",
        "gpu_type": "GPU_TYPE",
        "qos": "QOS",
        "constraint": "CONSTRAINT",
        "reservation": "RESERVATION",
        "exclusive": "EXCLUSIVE",
        "priority": "PRIORITY",
        "start_time": "START_TIME",
        "notify": "NOTIFY",
        "notify_events": "NOTIFY_EVENTS",
        "array": "ARRAY",
        "requeue": "REQUEUE",
        "container": "CONTAINER",
        "node_file": "NODE_FILE",
        "tmp_dir": "TMP_DIR",
    }
)
"""The profile's field of each attribute of JobDescription.

`directory` goes into the context, `application` selects an application; neither is a field."""
DEPENDENCY_FIELD: Final = "DEPENDENCY"
DEPENDENCY_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {"after_ok": "afterok", "after_not_ok": "afternotok", "after_any": "afterany"}
)
"""The conditions in the field DEPENDENCY, by the attributes of JobDescription that name the jobs."""
JOB_FIELDS: Final = frozenset({*FIELD_BY_ATTRIBUTE.values(), DEPENDENCY_FIELD})
"""The fields of a job that mean the same in every profile. A profile refuses those that its START does not use."""


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
            request[name] = _FORMATTERS.get(attribute, _format_scalar)(name, value)
    if dependency := _format_dependency(description):
        request[DEPENDENCY_FIELD] = dependency
    for name, value in _require_mapping("fields", description.fields, '{"NODES": "2"}').items():
        _require_text("fields", name)
        if name in request:
            message = f"field {quote_name(name)} is given twice: by {_find_attribute(name)} and by fields"
            raise ValueRefusedError(message, field=name, hint="leave one of them out")
        request[name] = value
    return request


def quote_shell_words(words: Sequence[str]) -> str:
    """Return a text that a POSIX shell splits into exactly these words.

    Raises `ValueRefusedError` for a word that is too long for a program.
    """
    for number, word in enumerate(words, 1):
        _check_length("ARGUMENTS", word, f"argument {number}")
    return " ".join(map(quote_shell_word, words))


def format_exports(environment: Mapping[str, str]) -> str:
    """Return a line `export NAME='value'` for each variable.

    Raises `ValueRefusedError` for an invalid name, and for a variable too long for a program.
    """
    lines = []
    for name, value in environment.items():
        if not _VARIABLE_NAME.match(_require_text("ENVIRONMENT", name)):
            message = f"field ENVIRONMENT: {quote_name(name)} is not a name of an environment variable"
            hint = "letters, digits and _, with no digit first"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint=hint)
        _check_length(
            "ENVIRONMENT", f"{name}={_require_text('ENVIRONMENT', value)}", f"variable {quote_name(name)}"
        )
        lines.append(f"export {name}={quote_shell_word(value)}\n")
    return "".join(lines)


def _format_scalar(name: str, value: object) -> str:
    if isinstance(value, bool) and name in _BOOLEAN_FIELDS:
        return "true" if value else "false"
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            message = f"field {name}: a number of {value.bit_length()} bits is too large"
            raise ValueRefusedError(message, field=name, hint=f"at most {MAX_INTEGER}")
        return str(value)
    # The bundled profiles pass fields to the job as environment variables GPE_NAME.
    text = _require_text(name, value)
    _check_length(name, f"GPE_{name}={text}", "the value")
    return text


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        message = f"field {name}: {value!r} is not a string"
        raise ValueRefusedError(message, field=name, hint="give a string")
    return value


def _check_length(name: str, text: str, what: str) -> None:
    if len(text) * 4 > MAX_ARGUMENT_SIZE:  # else it is short enough: a character has at most 4 bytes
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_ARGUMENT_SIZE:
            message = f"field {name}: {what} is too long for a program: {size} bytes"
            hint = f"at most {MAX_ARGUMENT_SIZE}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)


def _format_arguments(name: str, value: object) -> str:
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"field {name}: {value!r} is not a sequence of arguments"
        raise ValueRefusedError(message, field=name, hint='as in ("-n", "3")')
    return quote_shell_words([_require_text(name, word) for word in value])


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


_FORMATTERS: Final = {"arguments": _format_arguments, "environment": _format_environment}


def _find_attribute(name: str) -> str:
    if name == DEPENDENCY_FIELD:
        return ", ".join(DEPENDENCY_ATTRIBUTES)
    return next(attribute for attribute, field_name in FIELD_BY_ATTRIBUTE.items() if field_name == name)
