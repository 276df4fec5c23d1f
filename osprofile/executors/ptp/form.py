"""From a profile to the client's form, and from what the client fills in to a job.

Each settable field of START is told as an attribute of the field's name, so that a client's form
has what the profile allows. A job that arrives is described by attributes of the protocol's own,
which the table OWN maps, and by those of the form; its values are checked by the engine, when the
job is submitted. Sources: the protocol page, "Commands" and "Predefined attributes".
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import NotFoundError, ValueRefusedError, quote_value
from osprofile.executors.ptp.attributes import (
    MAX_INTEGER,
    PREDEFINED,
    AttributeDefinition,
    AttributeType,
    decode_attribute,
)
from osprofile.jobs.description import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.profiles import describe_job_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile import Profile
    from osprofile.jobs.profiles import JobField

RUN_IN_DIRECTORY: Final = ("-c", 'cd -- "$1" && shift && exec "$@"', "sh")
"""How a program is run in the client's working directory where the profile has no field for that:
arguments of `sh`, before the directory, the program and its arguments. A job's own directory is
fresh for each job; the client's is not."""

DIRECTORY_FIELD: Final = "DIRECTORY"
"""The field for where a program runs: an absolute path, which other jobs may share."""

MULTI_PROCESS_APPLICATION: Final = "Processes"
"""The application for several processes, where the one that jobs run by starts one."""

_FORM_PREFERRED: Final = ("queue", "processes", "nodes", "walltime")
"""What a client sends in the protocol's own attributes whether its user chose it or not."""

_FIELD_ID_PREFIX: Final = "profile_"
"""Stands before a field's name that the protocol has for something else."""


@final
@dataclass(frozen=True, slots=True)
class Submission:
    """A job as SUBMIT_JOB described it.

    `sub_id` is the client's name for it (jobSubId; empty: it gave none), `debug` says that the
    client wants to debug it. `ignored` are the ids of attributes that mean nothing here.
    """

    sub_id: str
    description: JobDescription
    debug: bool = False
    ignored: tuple[str, ...] = ()


@final
class SubmissionForm:
    """The attributes of one profile, in both directions."""

    def __init__(self, profile: Profile, application: str | None = None) -> None:
        """Take the fields of START with that application (default: the profile's).

        Raises `NotFoundError`, `InvalidProfileError`.
        """
        described = describe_job_fields(profile, application)
        self._application = application
        self._default_starts_several = described.starts_processes
        self._multi_process_application = None
        if application is None and not self._default_starts_several:
            with contextlib.suppress(NotFoundError):
                several = describe_job_fields(profile, MULTI_PROCESS_APPLICATION)
                if several.starts_processes:
                    self._multi_process_application = MULTI_PROCESS_APPLICATION
        self._fields = {_choose_attribute_id(n): field for n, field in described.fields.items()}
        self.definitions: tuple[AttributeDefinition, ...] = tuple(
            build_definition(field, id_) for id_, field in self._fields.items()
        )
        """What ATTR_DEF tells, one for each settable field."""
        self._empty_values = {
            d.id: {"", d.default} if _zero_means_unset(self._fields[d.id]) else {""}
            for d in self.definitions
        }

    def parse_submission(
        self, arguments: Iterable[str], find_queue: Callable[[str], str | None]
    ) -> Submission:
        """Give the job that the arguments of SUBMIT_JOB describe.

        `find_queue` gives the queue's name for an element id, None for the profile's default queue.
        Where the form and the protocol's own attribute differ about the queue, the time or a
        number, the form is right. Raises `ValueRefusedError` for a number that is none and for a
        variable without a value; whatever else is wrong, the engine finds at the submission.
        """
        pairs = [pair for pair in map(decode_attribute, arguments) if pair is not None]
        own = _ProtocolAttributes(find_queue)
        fields: dict[str, str] = {}
        ignored = []
        for id_, value in pairs:
            if id_ in PROTOCOL_ATTRIBUTES:
                PROTOCOL_ATTRIBUTES[id_](own, id_, value)
            elif id_ in self._fields:
                fields[id_] = value
            else:
                ignored.append(id_)
        in_field = own.can_use_directory_field(field.name for field in self._fields.values())
        description = own.build_description(change_directory=not in_field)
        given = {
            FIELD_BY_ATTRIBUTE[name] for name in FIELD_BY_ATTRIBUTE if getattr(description, name)
        }
        chosen = {
            self._fields[i].name: v for i, v in fields.items() if self._is_filled_in(i, v, given)
        }
        before: dict[str, Any] = {
            own: None for own in _FORM_PREFERRED if FIELD_BY_ATTRIBUTE[own] in chosen
        }
        if in_field:
            chosen.setdefault(DIRECTORY_FIELD, own.texts["directory"])
        if "JOB_NAME" in chosen:  # the record shows it
            before["name"] = chosen.pop("JOB_NAME")
        description = replace(description, application=self._application, fields=chosen, **before)
        if (
            self._multi_process_application is not None
            and self._parse_process_count(description) > 1
        ):
            description = replace(description, application=self._multi_process_application)
        return Submission(own.sub_id, description, own.debug, tuple(dict.fromkeys(ignored)))

    def count_processes(self, description: JobDescription) -> int:
        """Return how many processes a job will have: PROCESSES, or one if they are not started here."""
        starts = (
            self._default_starts_several
            or description.application == self._multi_process_application is not None
        )
        return self._parse_process_count(description) if starts else 1

    def _parse_process_count(self, description: JobDescription) -> int:
        text = self.get_field_value(description, "PROCESSES")
        return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else 1

    def get_field_value(self, description: JobDescription, name: str) -> str:
        """Give the value that a field has for a job; empty where the profile has no such field."""
        own = next(
            (getattr(description, a) for a, n in FIELD_BY_ATTRIBUTE.items() if n == name), None
        )
        field = next((f for f in self._fields.values() if f.name == name), None)
        default = field.default if field is not None else ""
        return str(description.fields.get(name) or own or default or "")

    def _is_filled_in(self, id_: str, value: str, protocol_fields: set[str]) -> bool:
        """Say whether a form's value means anything.

        It does not where it was left empty, nor where the protocol's own attribute says the same
        thing and the form only has what stood in it from the beginning.
        """
        field = self._fields[id_]
        if value in self._empty_values[id_]:
            return False
        return field.name not in protocol_fields or value != (field.default)


def _choose_attribute_id(name: str) -> str:
    return (
        f"{_FIELD_ID_PREFIX}{name}" if name in PREDEFINED or name in PROTOCOL_ATTRIBUTES else name
    )


# From a field to a definition


def build_definition(field: JobField, id_: str | None = None) -> AttributeDefinition:
    """Give the definition of a settable field: type, limits, default and description.

    A number's attribute needs a number as its default. Where the field may stay empty and its Min
    is above 0, 0 says "not given"; where it is not, the attribute is a STRING, whose description
    has the limits.
    """
    kind = _choose_type(field)
    description = [field.description]
    limits: dict[str, Any] = {}
    if kind in _NUMBER_TYPES:
        limits = _get_limits(field)
        if _zero_means_unset(field):
            description.append(f"{_format_range(field)}; 0: not given.")
    elif field.range_text:
        description.append(f"{_format_range(field)}.")
    values = [*field.tags]
    if kind is AttributeType.ENUMERATED:
        values += [] if field.default in values else [field.default]
        limits["values"] = tuple(values)
    elif values and kind is AttributeType.STRING:
        description.append(f"Known: {', '.join(values)}.")
    default = "0" if _zero_means_unset(field) else field.default
    return AttributeDefinition(
        id=id_ or _choose_attribute_id(field.name),
        type=kind,
        name=field.name.replace("_", " ").capitalize(),
        description=" ".join(filter(None, description)),
        default=default,
        **limits,
    )


def _format_range(field: JobField) -> str:
    text = field.range_text
    return f"{text[:1].upper()}{text[1:]}"


_NUMBER_TYPES: Final = frozenset(
    {AttributeType.INTEGER, AttributeType.BIGINTEGER, AttributeType.DOUBLE}
)


def _choose_type(field: JobField) -> AttributeType:
    names = set(field.tags)
    if field.is_number:
        numeric = not names and (_zero_means_unset(field) or field.has_valid_default)
        return _choose_number_type(field) if numeric else AttributeType.STRING
    if not field.default or not names:
        return AttributeType.STRING
    closed = names == {"true", "false"} and field.default in names
    return AttributeType.BOOLEAN if closed else AttributeType.ENUMERATED


def _choose_number_type(field: JobField) -> AttributeType:
    if not field.is_integer:
        return AttributeType.DOUBLE
    small = field.maximum is not None and field.maximum <= MAX_INTEGER
    return AttributeType.INTEGER if small else AttributeType.BIGINTEGER


def _zero_means_unset(field: JobField) -> bool:
    """Say whether 0 can stand for a number that is not given."""
    return field.is_number and not field.tags and not field.default and (field.minimum or 0) > 0


def _get_limits(field: JobField) -> dict[str, Any]:
    """Give MIN and MAX, of which ATTR_DEF has both or neither."""
    low, high = field.minimum, field.maximum
    if low is None or high is None:
        return {}
    return {"minimum": 0 if _zero_means_unset(field) else low, "maximum": high}


# From the protocol's own attributes to a job


@final
class _ProtocolAttributes:
    """What the protocol's own attributes say of a job."""

    def __init__(self, find_queue: Callable[[str], str | None]) -> None:
        self._find_queue = find_queue
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, Any] = {}
        self.arguments: list[str] = []
        self.environment: dict[str, str] = {}
        self.debug = False

    @property
    def sub_id(self) -> str:
        return self.texts.get("sub_id", "")

    def set_text(self, name: str, value: str) -> None:
        if value:
            self.texts[name] = value

    def set_number(self, name: str, id_: str, value: str, factor: int = 1) -> None:
        """Take a number; an empty value and 0 are what a form has that was not filled in."""
        if value.strip("0") == "":
            return
        if not (value.isascii() and value.isdigit() and len(value) <= 18):
            message = f"attribute {id_}: {quote_value(value)} is no number"
            raise ValueRefusedError(message, field=FIELD_BY_ATTRIBUTE[name], hint="digits only")
        self.numbers[name] = int(value) * factor

    def set_queue(self, value: str) -> None:
        """Take a queue's element id."""
        name = self._find_queue(value)
        if name:
            self.texts.setdefault("queue", name)

    def add_variable(self, value: str) -> None:
        """Take one environment variable."""
        name, separator, text = value.partition("=")
        if not separator:
            message = f"attribute env: {quote_value(value)} is no environment variable"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint="NAME=value")
        self.environment[name] = text

    def can_use_directory_field(self, fields: Iterable[str]) -> bool:
        """Say whether the directory can be the value of a field, being one of these."""
        return self.texts.get("directory", "").startswith("/") and DIRECTORY_FIELD in fields

    def build_description(self, *, change_directory: bool) -> JobDescription:
        """Give the job; `change_directory`: a shell goes to the directory first."""
        executable = self.texts.get("executable")
        path = self.texts.get("path")
        if executable and path and not executable.startswith("/"):
            executable = f"{path.rstrip('/')}/{executable}"
        arguments = tuple(self.arguments)
        directory = self.texts.get("directory")
        if change_directory and directory and executable and not executable.startswith("-"):
            arguments = (*RUN_IN_DIRECTORY, directory, executable, *arguments)
            executable = "sh"
        return JobDescription(
            executable=executable,
            arguments=arguments,
            environment=dict(self.environment),
            queue=self.texts.get("queue"),
            **self.numbers,
        )


def _make_text_setter(name: str) -> Callable[[_ProtocolAttributes, str, str], None]:
    return lambda own, _id, value: own.set_text(name, value)


def _make_number_setter(
    name: str, factor: int = 1
) -> Callable[[_ProtocolAttributes, str, str], None]:
    return lambda own, id_, value: own.set_number(name, id_, value, factor)


def _set_debug(own: _ProtocolAttributes, _id: str, value: str) -> None:
    own.debug = own.debug or value == "true"


def _ignore_value(_own: _ProtocolAttributes, _id: str, _value: str) -> None:
    """Take what says nothing about how to run a job."""


PROTOCOL_ATTRIBUTES: Final[Mapping[str, Callable[[_ProtocolAttributes, str, str], None]]] = (
    MappingProxyType(
        {
            "jobSubId": _make_text_setter("sub_id"),
            "queueId": lambda own, _id, value: own.set_queue(value),
            "jobPartition": _make_text_setter("queue"),
            "execName": _make_text_setter("executable"),
            "execPath": _make_text_setter("path"),
            "workingDir": _make_text_setter("directory"),
            "progArgs": lambda own, _id, value: own.arguments.append(value),
            "env": lambda own, _id, value: own.add_variable(value),
            "jobNumProcs": _make_number_setter("processes"),
            "jobNumNodes": _make_number_setter("nodes"),
            "jobTimeLimit": _make_number_setter("walltime", 60),  # minutes
            "debug": _set_debug,
            "debugStopInMain": _ignore_value,
            "launchedByPTP": _ignore_value,
        }
    )
)
"""The attributes of SUBMIT_JOB that the protocol itself has, and what each says of the job."""
