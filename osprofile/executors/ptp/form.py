"""From a profile to the client's form, and from a submission to a job.

Each settable field of START is defined as an attribute of that name, so that the client's form has
what the profile allows. SUBMIT_JOB describes a job by the protocol's own attributes
(PROTOCOL_ATTRIBUTES) and by those of the form. The values are checked when the job is submitted.
Source: docs/protocols/ptp.md, 3.2 and 4.3.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.caller_environment import split_variables
from osprofile.errors import NotFoundError, ValueRefusedError
from osprofile.executors.digits import parse_digits
from osprofile.executors.failures import RUN_IN_DIRECTORY
from osprofile.executors.ptp.attributes import (
    MAX_INTEGER,
    NUMBER_TYPES,
    PREDEFINED,
    AttributeDefinition,
    AttributeType,
    decode_attribute,
)
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.profiles import describe_job_fields
from osprofile.jobs.request import MULTI_PROCESS_APPLICATION
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile import Profile
    from osprofile.jobs.profiles import JobField

DIRECTORY_FIELD: Final = "DIRECTORY"
"""The field for the directory where the program runs: an absolute path, which jobs may share."""

_FORM_PREFERRED: Final = ("queue", "processes", "nodes", "walltime")
"""The client sends these in the protocol's own attributes even if its user left them alone."""

_FIELD_ID_PREFIX: Final = "profile_"
"""Stands before the name of a field that is also that of an attribute of the protocol."""


@final
@dataclass(frozen=True, slots=True)
class Submission:
    """A job as SUBMIT_JOB described it.

    `sub_id` is the client's name for it (jobSubId; may be empty). `debug`: it is to be debugged.
    `ignored` are the ids of unknown attributes, `warnings` for the log.
    """

    sub_id: str
    description: JobDescription
    debug: bool = False
    ignored: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@final
class SubmissionForm:
    """The form of a profile: its attributes, and the jobs that they describe."""

    def __init__(self, profile: Profile, application: str | None = None) -> None:
        """Use the fields of START with an application (default: the profile's own).

        Raises `NotFoundError`, `InvalidProfileError`.
        """
        job_fields = describe_job_fields(profile, application)
        self._application = application
        self._default_starts_several = job_fields.starts_processes
        self._multi_process_application = None
        if application is None and not self._default_starts_several:
            with contextlib.suppress(NotFoundError):
                multi_process = describe_job_fields(profile, MULTI_PROCESS_APPLICATION)
                if multi_process.starts_processes:
                    self._multi_process_application = MULTI_PROCESS_APPLICATION
        self._fields = {_choose_attribute_id(n): field for n, field in job_fields.fields.items()}
        self.definitions: tuple[AttributeDefinition, ...] = tuple(
            build_definition(field, id_) for id_, field in self._fields.items()
        )
        """The definitions that ATTR_DEF sends, one for each settable field."""
        self._empty_values = {d.id: {"", _get_unset_value(self._fields[d.id])} for d in self.definitions}

    def parse_submission(
        self, arguments: Iterable[str], find_queue: Callable[[str], str | None]
    ) -> Submission:
        """Return the submission that the arguments of SUBMIT_JOB describe.

        `find_queue` returns the queue's name for an element id, None for the profile's default
        queue. If the form and the protocol's own attribute differ, the form counts. Raises
        `ValueRefusedError` for a malformed number or variable; everything else is checked when the
        job is submitted.
        """
        pairs = [pair for pair in map(decode_attribute, arguments) if pair is not None]
        own = _ProtocolAttributes(find_queue)
        fields: dict[str, str] = {}
        ignored = []
        for id_, value in pairs:
            if id_ in PROTOCOL_ATTRIBUTES:
                own.take_value(id_, value)
            elif id_ in self._fields:
                fields[id_] = value
            else:
                ignored.append(id_)
        own.environment, warnings = split_variables(own.environment, "env")
        in_field = own.can_use_directory_field(field.name for field in self._fields.values())
        description = own.build_description(change_directory=not in_field)
        protocol_fields = {field for name, field in FIELD_BY_ATTRIBUTE.items() if getattr(description, name)}
        form_fields = {
            self._fields[id_].name: value
            for id_, value in fields.items()
            if self._is_filled_in(id_, value, protocol_fields)
        }
        changes: dict[str, Any] = {
            name: None for name in _FORM_PREFERRED if FIELD_BY_ATTRIBUTE[name] in form_fields
        }
        if in_field:
            form_fields.setdefault(DIRECTORY_FIELD, own.texts["workingDir"])
        if "JOB_NAME" in form_fields:  # the job record shows a description's name only
            changes["name"] = form_fields.pop("JOB_NAME")
        description = replace(description, application=self._application, fields=form_fields, **changes)
        if self._multi_process_application is not None and self._parse_process_count(description) > 1:
            description = replace(description, application=self._multi_process_application)
        ids = tuple(dict.fromkeys(ignored))
        return Submission(own.texts.get("jobSubId", ""), description, own.debug, ids, tuple(warnings))

    def count_processes(self, description: JobDescription) -> int:
        """Return how many processes a job will have: PROCESSES if its application starts them, or 1."""
        starts_several = (
            self._default_starts_several
            or description.application == self._multi_process_application is not None
        )
        return self._parse_process_count(description) if starts_several else 1

    def _parse_process_count(self, description: JobDescription) -> int:
        return parse_digits(self.get_field_value(description, "PROCESSES"), 18) or 1

    def get_field_value(self, description: JobDescription, name: str) -> str:
        """Return the value of a field for a job; empty if the profile has no such field."""
        own = next((getattr(description, a) for a, n in FIELD_BY_ATTRIBUTE.items() if n == name), None)
        field = next((f for f in self._fields.values() if f.name == name), None)
        default = field.default if field is not None else ""
        return str(description.fields.get(name) or own or default or "")

    def _is_filled_in(self, id_: str, value: str, protocol_fields: set[str]) -> bool:
        """Return whether the user has filled in a field of the form.

        A field is not filled in if it is empty, or if it has its default and the protocol's own
        attribute sets the same field.
        """
        field = self._fields[id_]
        if value in self._empty_values[id_]:
            return False
        return field.name not in protocol_fields or value != field.default


def _choose_attribute_id(name: str) -> str:
    return f"{_FIELD_ID_PREFIX}{name}" if name in PREDEFINED or name in PROTOCOL_ATTRIBUTES else name


# From a field to a definition


def build_definition(field: JobField, id_: str | None = None) -> AttributeDefinition:
    """Return the definition of a settable field: type, limits, default and description.

    An attribute that is a number needs a number as its default. For a field without a default, 0
    stands for "not given" if its Min is above 0; else the attribute is a STRING, with the limits in
    its description.
    """
    kind = _choose_type(field)
    description = [field.description]
    limits: dict[str, Any] = {}
    if kind in NUMBER_TYPES:
        limits = _get_limits(field)
        if _zero_means_unset(field):
            description.append(f"{_format_range(field)}; 0: not given.")
    elif field.range_text:
        description.append(f"{_format_range(field)}.")
    values = [tag for tag in field.tags if tag]
    if kind is AttributeType.ENUMERATED:
        values += [] if field.default in values else [field.default]
        limits["values"] = tuple(values)
    elif values and kind is AttributeType.STRING:
        description.append(f"Known: {', '.join(values)}.")
    return AttributeDefinition(
        id=id_ or _choose_attribute_id(field.name),
        type=kind,
        name=field.name.replace("_", " ").capitalize(),
        description=" ".join(filter(None, description)),
        default=_get_unset_value(field) or field.default,
        **limits,
    )


def _format_range(field: JobField) -> str:
    text = field.range_text
    return f"{text[:1].upper()}{text[1:]}"


def _choose_type(field: JobField) -> AttributeType:
    names = {tag for tag in field.tags if tag}
    if field.is_number:
        if names or not (_zero_means_unset(field) or field.has_valid_default):
            return AttributeType.STRING
        if not field.is_integer:
            return AttributeType.DOUBLE
        is_small = field.maximum is not None and field.maximum <= MAX_INTEGER
        return AttributeType.INTEGER if is_small else AttributeType.BIGINTEGER
    if field.is_switch and not field.default:
        return AttributeType.BOOLEAN
    if not field.default or not names:
        return AttributeType.STRING
    closed = names == {"true", "false"} and field.default in names
    return AttributeType.BOOLEAN if closed else AttributeType.ENUMERATED


def _zero_means_unset(field: JobField) -> bool:
    """Return whether 0 can stand for a number that is not given."""
    return field.is_number and not field.tags and not field.default and (field.minimum or 0) > 0


def _get_unset_value(field: JobField) -> str:
    """Return what the client sends for a field that is not given, other than an empty text."""
    if _zero_means_unset(field):
        return "0"
    return "false" if field.is_switch and not field.default else ""


def _get_limits(field: JobField) -> dict[str, Any]:
    """Return MIN and MAX, of which ATTR_DEF has both or neither."""
    low, high = field.minimum, field.maximum
    if low is None or high is None:
        return {}
    return {"minimum": 0 if _zero_means_unset(field) else low, "maximum": high}


# From the protocol's own attributes to a job


PROTOCOL_ATTRIBUTES: Final = frozenset(
    {
        "jobSubId", "queueId", "jobPartition", "execName", "execPath", "workingDir", "progArgs", "env", "jobNumProcs",
        "jobNumNodes", "jobTimeLimit", "debug", "debugStopInMain", "launchedByPTP",
    }
)  # fmt: skip
"""The protocol's own attributes of SUBMIT_JOB; those of debuggers have no effect."""

_NUMBERS: Final = {
    "jobNumProcs": ("processes", 1),
    "jobNumNodes": ("nodes", 1),
    "jobTimeLimit": ("walltime", 60),
}
"""The attributes that are numbers: that of the job, and a factor, as a time limit is in minutes."""


@final
class _ProtocolAttributes:
    """The values of the protocol's own attributes of a job."""

    def __init__(self, find_queue: Callable[[str], str | None]) -> None:
        self._find_queue = find_queue
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, Any] = {}
        self.arguments: list[str] = []
        self.environment: dict[str, str] = {}
        self.debug = False

    def take_value(self, id_: str, value: str) -> None:
        """Note the value of an attribute."""
        if id_ == "progArgs":
            self.arguments.append(value)
        elif id_ == "env":
            self._add_variable(value)
        elif id_ in _NUMBERS:
            self._set_number(id_, value)
        elif id_ == "debug":
            self.debug = self.debug or value == "true"
        elif id_ == "queueId":
            if name := self._find_queue(value):
                self.texts.setdefault("queueId", name)
        elif value:
            self.texts[id_] = value

    def _set_number(self, id_: str, value: str) -> None:
        """Set a number; an empty value and 0 mean that the form was not filled in."""
        if value.strip("0") == "":
            return
        name, factor = _NUMBERS[id_]
        number = parse_digits(value, 18)
        if number is None:
            message = f"attribute {id_}: {quote_value(value)} is not a number"
            raise ValueRefusedError(message, field=FIELD_BY_ATTRIBUTE[name], hint="digits only")
        self.numbers[name] = number * factor

    def _add_variable(self, value: str) -> None:
        name, separator, text = value.partition("=")
        if not separator:
            message = f"attribute env: {quote_value(value)} is not an environment variable"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint="NAME=value")
        self.environment[name] = text

    def can_use_directory_field(self, fields: Iterable[str]) -> bool:
        """Return whether one of these fields can have the directory as its value."""
        return self.texts.get("workingDir", "").startswith("/") and DIRECTORY_FIELD in fields

    def build_description(self, *, change_directory: bool) -> JobDescription:
        """Return the job; `change_directory`: a shell changes to the directory first."""
        executable, path = self.texts.get("execName"), self.texts.get("execPath")
        if executable and path and not executable.startswith("/"):
            executable = f"{path.rstrip('/')}/{executable}"
        arguments = tuple(self.arguments)
        directory = self.texts.get("workingDir")
        if change_directory and directory and executable and not executable.startswith("-"):
            arguments = ("-c", RUN_IN_DIRECTORY, "sh", directory, executable, *arguments)
            executable = "sh"
        return JobDescription(
            executable=executable,
            arguments=arguments,
            environment=dict(self.environment),
            queue=self.texts.get("jobPartition") or self.texts.get("queueId"),
            **self.numbers,
        )
