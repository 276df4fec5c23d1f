"""The events that an agent sends, with their numbers and their arguments (docs/protocols/ptp.md, 4).

An event that would make the original client drop it or end raises `LocalError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, final

from osprofile.executors.ptp.attributes import encode_attribute
from osprofile.executors.ptp.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.executors.ptp.attributes import AttributeDefinition
    from osprofile.executors.ptp.ranges import RangeSet


@final
class Element(StrEnum):
    """The kinds of elements in the model."""

    JOB = "JOB"
    MACHINE = "MACHINE"
    NODE = "NODE"
    PROCESS = "PROCESS"
    QUEUE = "QUEUE"
    RM = "RM"


@final
@dataclass(frozen=True, slots=True)
class EventNumbers:
    """An element's event numbers; None for an event that no client implements."""

    new: int | None
    change: int
    remove: int | None


EVENT_NUMBERS: Final[Mapping[Element, EventNumbers]] = MappingProxyType(
    {
        Element.JOB: EventNumbers(220, 230, 241),
        Element.MACHINE: EventNumbers(221, 231, 242),
        Element.NODE: EventNumbers(222, 232, 243),
        Element.PROCESS: EventNumbers(223, 233, 244),
        Element.QUEUE: EventNumbers(224, 234, 245),
        Element.RM: EventNumbers(None, 235, None),
    }
)
OK, MESSAGE, ERROR, SHUTDOWN = 0, 1, 5, 6
SUBMITJOB_ERROR, TERMINATEJOB_ERROR = 211, 212
ATTR_DEF = 251
"""The numbers of the other events."""


@final
class ErrorCode:
    """The error codes of this agent. The client only shows them; they are 0 to 2^31-1."""

    VERSION = 1
    INTERNAL = 2
    SUBMIT = 1202
    TERMINATE = 1203
    FILTER = 1210


class MessageLevel(StrEnum):
    """The severity of a message."""

    FATAL = "FATAL"
    ERROR = "ERROR"
    WARNING = "WARNING"
    INFO = "INFO"
    DEBUG = "DEBUG"


@final
class ElementGroup(NamedTuple):
    """Elements with the same attributes, which are in their wire format (`encode_attribute`).

    `ids` are element ids, or the ranks of processes; a number is a single one.
    """

    ids: RangeSet | int
    attributes: tuple[str, ...]


class Event:
    """An event: a number and arguments."""

    __slots__ = ()

    @property
    def number(self) -> int:
        """The event's number."""
        raise NotImplementedError

    def format_arguments(self) -> list[str]:
        """Return the arguments. Raises `LocalError` for those that the client would refuse."""
        return []


class Answer(Event):
    """An event that answers the command of transaction `tid`."""

    __slots__ = ()

    tid: int


@final
@dataclass(frozen=True, slots=True)
class Ok(Answer):
    """The command succeeded."""

    tid: int

    number: ClassVar[int] = OK


@final
@dataclass(frozen=True, slots=True)
class Shutdown(Answer):
    """The answer to QUIT: the agent closes the connection and ends."""

    tid: int

    number: ClassVar[int] = SHUTDOWN


@final
@dataclass(frozen=True, slots=True)
class CommandError(Answer):
    """INIT, MODEL_DEF or a filter failed; as an answer about a job it would end the session."""

    tid: int
    code: int
    text: str

    number: ClassVar[int] = ERROR

    def format_arguments(self) -> list[str]:
        """Return [count] errorCode= errorMsg=."""
        return _format_attributes(errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class SubmitJobError(Answer):
    """A job was not submitted; `sub_id` is the client's jobSubId."""

    tid: int
    sub_id: str
    text: str
    code: int = ErrorCode.SUBMIT

    number: ClassVar[int] = SUBMITJOB_ERROR

    def format_arguments(self) -> list[str]:
        """Return [count] jobSubId= errorCode= errorMsg=."""
        return _format_attributes(jobSubId=self.sub_id, errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class TerminateJobError(Answer):
    """A job was not terminated; `job_id` is the jobId of the command."""

    tid: int
    job_id: str
    text: str
    code: int = ErrorCode.TERMINATE

    number: ClassVar[int] = TERMINATEJOB_ERROR

    def format_arguments(self) -> list[str]:
        """Return [count] jobId= errorCode= errorMsg=."""
        return _format_attributes(jobId=self.job_id, errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class AttributeDefinitions(Answer):
    """ATTR_DEF: definitions of attributes; `tid` is that of MODEL_DEF."""

    tid: int
    definitions: Sequence[AttributeDefinition]

    number: ClassVar[int] = ATTR_DEF

    def format_arguments(self) -> list[str]:
        """Return NUM_DEFS {NUM_ARGS ID TYPE NAME DESC DISPLAY DEFAULT extra...}."""
        texts = [str(len(self.definitions))]
        for definition in self.definitions:
            texts += definition.format_arguments()
        return texts


@final
@dataclass(frozen=True, slots=True)
class Message(Event):
    """A message for the client's log; `tid` is an open command's (None: that of START_EVENTS)."""

    level: MessageLevel
    text: str
    code: int = 0
    tid: int | None = None

    number: ClassVar[int] = MESSAGE

    def format_arguments(self) -> list[str]:
        """Return [count] messageLevel= messageCode= messageText=."""
        return _format_attributes(messageLevel=self.level, messageCode=self.code, messageText=self.text)


class ModelEvent(Event):
    """An event about the model, in the transaction of START_EVENTS."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True)
class NewElements(ModelEvent):
    """New elements; `parent` is an element id."""

    element: Element
    parent: int
    groups: Sequence[ElementGroup]

    @property
    def number(self) -> int:
        """The event's number."""
        return _require_number(EVENT_NUMBERS[self.element].new, f"NEW_{self.element}")

    def format_arguments(self) -> list[str]:
        """Return PARENT_ID NUM_RANGES {RANGE NUM_ATTRS k=v...}."""
        return [str(self.parent), *_format_groups(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class ChangedElements(ModelEvent):
    """Changed attributes of elements; `job` is the element id of the processes' job."""

    element: Element
    groups: Sequence[ElementGroup]
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return EVENT_NUMBERS[self.element].change

    def format_arguments(self) -> list[str]:
        """Return NUM_RANGES {RANGE NUM_ATTRS k=v...}, for processes with JOB_ID before it."""
        return [*_format_job_id(self.element, self.job), *_format_groups(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class RemovedElements(ModelEvent):
    """Elements that do not exist any more; `job` is the element id of the processes' job."""

    element: Element
    ids: RangeSet
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return _require_number(EVENT_NUMBERS[self.element].remove, f"REMOVE_{self.element}")

    def format_arguments(self) -> list[str]:
        """Return RANGE, for processes with JOB_ID before it."""
        return [*_format_job_id(self.element, self.job), _format_range(self.ids)]


def _format_attributes(**attributes: str | int) -> list[str]:
    """Return attributes after their count, as the original C agents send them."""
    return [str(len(attributes)), *(encode_attribute(id_, value) for id_, value in attributes.items())]


def _format_groups(groups: Sequence[ElementGroup]) -> list[str]:
    texts = [str(len(groups))]
    for ids, attributes in groups:
        texts.append(str(ids) if isinstance(ids, int) else _format_range(ids))
        texts.append(str(len(attributes)))
        texts += attributes
    return texts


def _format_range(ids: RangeSet) -> str:
    if not ids.spans:
        raise LocalError("an empty range set: the client refuses it")
    return str(ids)


def _format_job_id(element: Element, job: int | None) -> list[str]:
    if (element is Element.PROCESS) is (job is None):
        raise LocalError("the processes of a job, and nothing else, need the job's id")
    return [] if job is None else [str(job)]


def _require_number(number: int | None, name: str) -> int:
    if number is None:
        raise LocalError(f"no client knows {name}")
    return number
