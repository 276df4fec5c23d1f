"""The description of a job, and the request that it becomes: values of the profile's fields.

Every executor uses `build_request`, so that values are quoted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, final

from osprofile.caller_environment import is_variable_name
from osprofile.errors import IncarnationError, ValueRefusedError, quote_name
from osprofile.incarnation.field_rules import DIGITS_HINT, MAX_INTEGER
from osprofile.incarnation.lengths import MAX_ARGUMENT_SIZE
from osprofile.incarnation.static_scripts import quote_shell_word
from osprofile.jobs.quantities import DURATION_HINT, MEMORY_HINT, parse_duration, parse_memory

OWN_FILES: Final = frozenset({".gpe", ".gpe_exit_status"})
"""The names of osprofile's own files in a job's working directory."""
MULTI_PROCESS_APPLICATION: Final = "Processes"
"""The application of profiles that starts a program PROCESSES times, without MPI."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.+-]")
_MAX_NAME_LENGTH: Final = 200
_BOOLEAN_FIELDS: Final = frozenset({"EXCLUSIVE", "REQUEUE"})
_EMPTY_MAPPING: Final[Mapping[str, str]] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """A job, independent of any protocol. None stands for the default of the profile.

    The profile refuses by name what its batch system does not have.
    """

    executable: str | None = None
    """The program: a path, relative to where it runs, or a name on the PATH of the target system."""
    arguments: Sequence[str] = ()
    """The arguments of the program, unquoted."""
    environment: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)
    """Variables of the program by name, unquoted."""
    stdin: str | None = None
    """The file for standard input, relative to the working directory of the job."""
    stdout: str | None = None
    """The file for standard output, relative to the working directory of the job."""
    stderr: str | None = None
    """The file for standard error, relative to the working directory of the job."""
    directory: str | None = None
    """Where the program runs, an absolute path; None: the working directory of the job.

    `incarnate job submit` gives the current directory: `os.getcwd()`.
    """
    working_directory: str | None = None
    """The directory of the job's own files: absolute, and not that of another job; None: a new one.

    The job script, the exit status, and the output without a file of its own are there.
    """
    name: str | None = None
    """The name of the job."""
    queue: str | None = None
    """The queue (Slurm: partition)."""
    project: str | None = None
    """The project or account that is charged."""
    nodes: int | None = None
    """The number of nodes."""
    processes: int | None = None
    """The number of processes on all nodes together."""
    cpus: int | None = None
    """The CPUs of each process."""
    memory: int | str | None = None
    """The memory per node in MiB, or a text with a unit: `512M`, `4G`."""
    walltime: int | str | None = None
    """The limit of the run time in seconds, or a text: `90m`, `1h30m`, `2d`, `01:30:00`."""
    cputime: int | str | None = None
    """The limit of the processor time in seconds, or a text."""
    gpus: int | None = None
    """The GPUs per node."""
    gpu_type: str | None = None
    """The type of the GPUs, as the site names it."""
    qos: str | None = None
    """The quality of service, as the site names it."""
    constraint: str | None = None
    """The features that the nodes must have, as the batch system writes them."""
    reservation: str | None = None
    """The reservation in which the job runs."""
    exclusive: bool | None = None
    """Whether no other job may run on the nodes."""
    priority: int | None = None
    """The priority, as the batch system counts it."""
    start_time: str | None = None
    """The earliest start, `YYYY-MM-DDTHH:MM[:SS]` in the time zone of the target system."""
    notify: str | None = None
    """Mail addresses, separated by commas."""
    notify_events: str | None = None
    """When to send mail: of `begin`, `end` and `fail`, separated by commas."""
    array: str | None = None
    """The indices of an array of tasks, and how many of them run at a time at most: `1-100%8`."""
    after_ok: Sequence[str] = ()
    """Ids, or keys (see `TargetSystem.submit`), of jobs that must end with exit code 0 before."""
    after_not_ok: Sequence[str] = ()
    """Ids or keys of jobs that must end before in another way."""
    after_any: Sequence[str] = ()
    """Ids or keys of jobs that must end before in any way."""
    requeue: bool | None = None
    """Whether the batch system may start the job again after a failure of a node."""
    container: str | None = None
    """The image of a container in which the program runs."""
    node_file: str | None = None
    """The file that gets the names of the nodes, one per line, relative to the working directory."""
    tmp_dir: str | None = None
    """The directory for temporary files (TMPDIR) of the job."""
    application: str | None = None
    """An application of the profile, `NAME` or `NAME/VERSION`."""
    fields: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)
    """Values of further fields of START, by name."""


FIELD_BY_ATTRIBUTE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "executable": "EXECUTABLE",
        "arguments": "ARGUMENTS",
        "environment": "ENVIRONMENT",
        "stdin": "STDIN",
        "stdout": "STDOUT",
        "stderr": "STDERR",
        "directory": "DIRECTORY",
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

`working_directory` goes into the context, `application` selects an application; neither is a field."""
DEPENDENCY_FIELD: Final = "DEPENDENCY"
DEPENDENCY_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {"after_ok": "afterok", "after_not_ok": "afternotok", "after_any": "afterany"}
)
"""The conditions in the field DEPENDENCY, by the attributes of JobDescription that name the jobs."""
JOB_FIELDS: Final = frozenset({*FIELD_BY_ATTRIBUTE.values(), DEPENDENCY_FIELD})
"""The fields of a job that mean the same in every profile. A profile refuses those that its START does not use."""


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
    if isinstance(value, bool) and name in _BOOLEAN_FIELDS:
        return "true" if value else "false"
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            message = f"field {name}: a number of {value.bit_length()} bits is too large"
            raise ValueRefusedError(message, field=name, hint=f"at most {MAX_INTEGER}")
        return str(value)
    # The bundled profiles pass fields to the job as environment variables GPE_NAME.
    text = _require_text(name, value, "give a string, or a whole number")
    _check_length(name, f"GPE_{name}={text}", "the value")
    return text


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


_QUANTITIES: Final = {
    "MEMORY": (parse_memory, MEMORY_HINT),
    "WALLTIME": (parse_duration, DURATION_HINT),
    "CPUTIME": (parse_duration, DURATION_HINT),
}
_FORMATTERS: Final = {
    "arguments": _format_arguments,
    "environment": _format_environment,
    **dict.fromkeys(("memory", "walltime", "cputime"), _format_quantity),
}


def _find_attribute(name: str) -> str:
    if name == DEPENDENCY_FIELD:
        return ", ".join(DEPENDENCY_ATTRIBUTES)
    return next(attribute for attribute, field_name in FIELD_BY_ATTRIBUTE.items() if field_name == name)
