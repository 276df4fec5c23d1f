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

from osprofile.errors import NotFoundError, ValueRefusedError, shown
from osprofile.executors.ptp.attributes import (
    LARGEST_INTEGER,
    PREDEFINED,
    AttributeDefinition,
    AttributeType,
    decode,
)
from osprofile.incarnation.fields import is_integer, is_limited, is_number, range_text, within
from osprofile.target.job import FIELD_OF, JobDescription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

WITHIN: Final = ("-c", 'cd -- "$1" && shift && exec "$@"', "sh")
"""How a program is run in the client's working directory where the profile has no field for that:
arguments of `sh`, before the directory, the program and its arguments. A job's own directory is
fresh for each job; the client's is not."""

DIRECTORY: Final = "DIRECTORY"
"""The field for where a program runs: an absolute path, which other jobs may share."""

SEVERAL: Final = "Processes"
"""The application for several processes, where the one that jobs run by starts one."""

_FORM_FIRST: Final = ("queue", "processes", "nodes", "walltime")
"""What a client sends in the protocol's own attributes whether its user chose it or not."""

_PREFIX: Final = "profile_"
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
class Form:
    """The attributes of one profile, in both directions."""

    def __init__(self, profile: Profile, application: str | None = None) -> None:
        """Take the fields of START with that application (default: the profile's).

        Raises `NotFoundError`, `InvalidProfileError`.
        """
        from osprofile.incarnation.plan import plan_of

        plan = plan_of(profile, "START", "", application)
        self._application = application
        self._starts_several = _starts_several(plan)
        self._several = None
        if application is None and not self._starts_several:
            with contextlib.suppress(NotFoundError):
                several = _starts_several(plan_of(profile, "START", "", SEVERAL))
                self._several = SEVERAL if several else None
        self._fields = {
            _id_of(name): field
            for name, field in sorted(plan.declared.items())
            if name in plan.settable
        }
        self.definitions: tuple[AttributeDefinition, ...] = tuple(
            definition_of(field, id_) for id_, field in self._fields.items()
        )
        """What ATTR_DEF tells, one for each settable field."""
        self._not_given = {
            d.id: {"", d.default} if _zero_is_nothing(self._fields[d.id]) else {""}
            for d in self.definitions
        }

    def submission(
        self, arguments: Iterable[str], queue_of: Callable[[str], str | None]
    ) -> Submission:
        """Give the job that the arguments of SUBMIT_JOB describe.

        `queue_of` gives the queue's name for an element id, None for the profile's default queue.
        Where the form and the protocol's own attribute differ about the queue, the time or a
        number, the form is right. Raises `ValueRefusedError` for a number that is none and for a
        variable without a value; whatever else is wrong, the engine finds at the submission.
        """
        pairs = [pair for pair in map(decode, arguments) if pair is not None]
        own = _Own(queue_of)
        fields: dict[str, str] = {}
        ignored = []
        for id_, value in pairs:
            if id_ in OWN:
                OWN[id_](own, id_, value)
            elif id_ in self._fields:
                fields[id_] = value
            else:
                ignored.append(id_)
        in_field = own.takes_directory(field.name for field in self._fields.values())
        description = own.description(wrapped=not in_field)
        given = {FIELD_OF[name] for name in FIELD_OF if getattr(description, name)}
        chosen = {self._fields[i].name: v for i, v in fields.items() if self._is_given(i, v, given)}
        before: dict[str, Any] = {own: None for own in _FORM_FIRST if FIELD_OF[own] in chosen}
        if in_field:
            chosen.setdefault(DIRECTORY, own.texts["directory"])
        if "JOB_NAME" in chosen:  # the record shows it
            before["name"] = chosen.pop("JOB_NAME")
        description = replace(description, application=self._application, fields=chosen, **before)
        if self._several is not None and self._processes(description) > 1:
            description = replace(description, application=self._several)
        return Submission(own.sub_id, description, own.debug, tuple(dict.fromkeys(ignored)))

    def process_count(self, description: JobDescription) -> int:
        """Return how many processes a job will have: PROCESSES, or one if they are not started here."""
        starts = self._starts_several or description.application == self._several is not None
        return self._processes(description) if starts else 1

    def _processes(self, description: JobDescription) -> int:
        text = self.value(description, "PROCESSES")
        return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else 1

    def value(self, description: JobDescription, name: str) -> str:
        """Give the value that a field has for a job; empty where the profile has no such field."""
        own = next((getattr(description, a) for a, n in FIELD_OF.items() if n == name), None)
        field = next((f for f in self._fields.values() if f.name == name), None)
        default = field.default if field is not None else ""
        return str(description.fields.get(name) or own or default or "")

    def _is_given(self, id_: str, value: str, given: set[str]) -> bool:
        """Say whether a form's value means anything.

        It does not where it was left empty, nor where the protocol's own attribute says the same
        thing and the form only has what stood in it from the beginning.
        """
        field = self._fields[id_]
        if value in self._not_given[id_]:
            return False
        return field.name not in given or value != (field.default or "")


def _starts_several(plan: Plan) -> bool:
    """Say whether START's application starts a job's program PROCESSES times: it uses that field."""
    from osprofile.incarnation.plan import plan_of

    if plan.application is None:
        return False
    return "PROCESSES" in plan_of(plan.profile, plan.application.template, "", None).uses


def _id_of(name: str) -> str:
    return f"{_PREFIX}{name}" if name in PREDEFINED or name in OWN else name


# From a field to a definition


def definition_of(field: Field, id_: str | None = None) -> AttributeDefinition:
    """Give the definition of a settable field: type, limits, default and description.

    A number's attribute needs a number as its default. Where the field may stay empty and its Min
    is above 0, 0 says "not given"; where it is not, the attribute is a STRING, whose description
    has the limits.
    """
    kind = _type_of(field)
    description = [field.description]
    limits: dict[str, Any] = {}
    if kind in _NUMBERS:
        limits = _limits(field)
        if _zero_is_nothing(field):
            description.append(f"{_range_sentence(field)}; 0: not given.")
    elif range_text(field):
        description.append(f"{_range_sentence(field)}.")
    values = [tag.name for tag in field.tags]
    if kind is AttributeType.ENUMERATED:
        values += [] if field.default in values else [field.default or ""]
        limits["values"] = tuple(values)
    elif values and kind is AttributeType.STRING:
        description.append(f"Known: {', '.join(values)}.")
    default = "0" if _zero_is_nothing(field) else field.default or ""
    return AttributeDefinition(
        id=id_ or _id_of(field.name),
        type=kind,
        name=field.name.replace("_", " ").capitalize(),
        description=" ".join(filter(None, description)),
        default=default,
        **limits,
    )


def _range_sentence(field: Field) -> str:
    text = range_text(field)
    return f"{text[:1].upper()}{text[1:]}"


_NUMBERS: Final = frozenset({AttributeType.INTEGER, AttributeType.BIGINTEGER, AttributeType.DOUBLE})


def _type_of(field: Field) -> AttributeType:
    names = {tag.name for tag in field.tags}
    if field.type == "integer" or is_limited(field):
        numeric = not names and (_zero_is_nothing(field) or _default_fits(field))
        return _number_type(field) if numeric else AttributeType.STRING
    if not field.default or not names:
        return AttributeType.STRING
    closed = names == {"true", "false"} and field.default in names
    return AttributeType.BOOLEAN if closed else AttributeType.ENUMERATED


def _default_fits(field: Field) -> bool:
    """Say whether a number's default is one that the field itself takes."""
    default = field.default or ""
    good = is_integer(default) if field.type == "integer" and default else is_number(default)
    return good and within(default, field.minimum, field.maximum)


def _number_type(field: Field) -> AttributeType:
    if field.type != "integer":
        return AttributeType.DOUBLE
    small = field.maximum is not None and field.maximum <= LARGEST_INTEGER
    return AttributeType.INTEGER if small else AttributeType.BIGINTEGER


def _zero_is_nothing(field: Field) -> bool:
    """Say whether 0 can stand for a number that is not given."""
    is_number = field.type == "integer" or is_limited(field)
    return is_number and not field.tags and not field.default and (field.minimum or 0) > 0


def _limits(field: Field) -> dict[str, Any]:
    """Give MIN and MAX, of which ATTR_DEF has both or neither."""
    low, high = field.minimum, field.maximum
    if low is None or high is None:
        return {}
    return {"minimum": 0 if _zero_is_nothing(field) else low, "maximum": high}


# From the protocol's own attributes to a job


@final
class _Own:
    """What the protocol's own attributes say of a job."""

    def __init__(self, queue_of: Callable[[str], str | None]) -> None:
        self._queue_of = queue_of
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, Any] = {}
        self.arguments: list[str] = []
        self.environment: dict[str, str] = {}
        self.debug = False

    @property
    def sub_id(self) -> str:
        return self.texts.get("sub_id", "")

    def text(self, name: str, value: str) -> None:
        if value:
            self.texts[name] = value

    def number(self, name: str, id_: str, value: str, factor: int = 1) -> None:
        """Take a number; an empty value and 0 are what a form has that was not filled in."""
        if value.strip("0") == "":
            return
        if not (value.isascii() and value.isdigit() and len(value) <= 18):
            message = f"attribute {id_}: {shown(value)} is no number"
            raise ValueRefusedError(message, field=FIELD_OF[name], hint="digits only")
        self.numbers[name] = int(value) * factor

    def queue(self, value: str) -> None:
        """Take a queue's element id."""
        name = self._queue_of(value)
        if name:
            self.texts.setdefault("queue", name)

    def variable(self, value: str) -> None:
        """Take one environment variable."""
        name, separator, text = value.partition("=")
        if not separator:
            message = f"attribute env: {shown(value)} is no environment variable"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint="NAME=value")
        self.environment[name] = text

    def takes_directory(self, fields: Iterable[str]) -> bool:
        """Say whether the directory can be the value of a field, being one of these."""
        return self.texts.get("directory", "").startswith("/") and DIRECTORY in fields

    def description(self, *, wrapped: bool) -> JobDescription:
        """Give the job; `wrapped`: a shell goes to the directory first."""
        executable = self.texts.get("executable")
        path = self.texts.get("path")
        if executable and path and not executable.startswith("/"):
            executable = f"{path.rstrip('/')}/{executable}"
        arguments = tuple(self.arguments)
        directory = self.texts.get("directory")
        if wrapped and directory and executable and not executable.startswith("-"):
            arguments = (*WITHIN, directory, executable, *arguments)
            executable = "sh"
        return JobDescription(
            executable=executable,
            arguments=arguments,
            environment=dict(self.environment),
            queue=self.texts.get("queue"),
            **self.numbers,
        )


def _text_of(name: str) -> Callable[[_Own, str, str], None]:
    return lambda own, _id, value: own.text(name, value)


def _number_of(name: str, factor: int = 1) -> Callable[[_Own, str, str], None]:
    return lambda own, id_, value: own.number(name, id_, value, factor)


def _debug(own: _Own, _id: str, value: str) -> None:
    own.debug = own.debug or value == "true"


def _nothing(_own: _Own, _id: str, _value: str) -> None:
    """Take what says nothing about how to run a job."""


OWN: Final[Mapping[str, Callable[[Any, str, str], None]]] = MappingProxyType(
    {
        "jobSubId": _text_of("sub_id"),
        "queueId": lambda own, _id, value: own.queue(value),
        "jobPartition": _text_of("queue"),
        "execName": _text_of("executable"),
        "execPath": _text_of("path"),
        "workingDir": _text_of("directory"),
        "progArgs": lambda own, _id, value: own.arguments.append(value),
        "env": lambda own, _id, value: own.variable(value),
        "jobNumProcs": _number_of("processes"),
        "jobNumNodes": _number_of("nodes"),
        "jobTimeLimit": _number_of("walltime", 60),  # minutes
        "debug": _debug,
        "debugStopInMain": _nothing,
        "launchedByPTP": _nothing,
    }
)
"""The attributes of SUBMIT_JOB that the protocol itself has, and what each says of the job."""
