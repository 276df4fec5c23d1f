"""What the agent says, as objects, each with its number and its arguments on the wire.

Source: the protocol page, "Events". A `LocalError` comes of what the original client would drop, or
die of.
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
    """The kinds of things in the model."""

    JOB = "JOB"
    MACHINE = "MACHINE"
    NODE = "NODE"
    PROCESS = "PROCESS"
    QUEUE = "QUEUE"
    RM = "RM"


@final
@dataclass(frozen=True, slots=True)
class EventNumbers:
    """An element's event numbers; None for an event that nobody implemented."""

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
REMOVE_ALL, ATTR_DEF = 240, 251
"""The numbers of the other events."""


@final
class ErrorCode:
    """The codes that this agent gives (0 to 2^31-1; the client shows them and no more)."""

    VERSION = 1
    INTERNAL = 2
    SUBMIT = 1202
    TERMINATE = 1203
    FILTER = 1210


class MessageLevel(StrEnum):
    """How grave a message is."""

    FATAL = "FATAL"
    ERROR = "ERROR"
    WARNING = "WARNING"
    INFO = "INFO"
    DEBUG = "DEBUG"


@final
class ElementGroup(NamedTuple):
    """Elements that have the same attributes, each given as `encode_attribute` gives it.

    `ids` are element ids, of processes the ranks inside their job; a number is one of them.
    """

    ids: RangeSet | int
    attributes: tuple[str, ...]


class Event:
    """What the agent says: `number`, and the arguments."""

    __slots__ = ()

    @property
    def number(self) -> int:
        """The event's number."""
        raise NotImplementedError

    def format_arguments(self) -> list[str]:
        """Give the arguments; raise `LocalError` for what the client would not take."""
        return []


class Answer(Event):
    """An event that belongs to the command of transaction `tid`."""

    __slots__ = ()

    tid: int


@final
@dataclass(frozen=True, slots=True)
class Ok(Answer):
    """The command was done."""

    tid: int

    number: ClassVar[int] = OK


@final
@dataclass(frozen=True, slots=True)
class Shutdown(Answer):
    """The answer to QUIT: the agent closes the connection, and ends."""

    tid: int

    number: ClassVar[int] = SHUTDOWN


@final
@dataclass(frozen=True, slots=True)
class CommandError(Answer):
    """INIT, MODEL_DEF or a filter could not be done; for a job's the client would give us up."""

    tid: int
    code: int
    text: str

    number: ClassVar[int] = ERROR

    def format_arguments(self) -> list[str]:
        """Give [count] errorCode= errorMsg=."""
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
        """Give [count] jobSubId= errorCode= errorMsg=."""
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
        """Give [count] jobId= errorCode= errorMsg=."""
        return _format_attributes(jobId=self.job_id, errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class AttributeDefinitions(Answer):
    """ATTR_DEF: what attributes mean; `tid` is that of MODEL_DEF."""

    tid: int
    definitions: Sequence[AttributeDefinition]

    number: ClassVar[int] = ATTR_DEF

    def format_arguments(self) -> list[str]:
        """Give NUM_DEFS {NUM_ARGS ID TYPE NAME DESC DISPLAY DEFAULT extra...}."""
        texts = [str(len(self.definitions))]
        for definition in self.definitions:
            texts += definition.format_arguments()
        return texts


@final
@dataclass(frozen=True, slots=True)
class Message(Event):
    """Something for the client's log; `tid` is an open command's (None: that of START_EVENTS)."""

    level: MessageLevel
    text: str
    code: int = 0
    tid: int | None = None

    number: ClassVar[int] = MESSAGE

    def format_arguments(self) -> list[str]:
        """Give [count] messageLevel= messageCode= messageText=."""
        return _format_attributes(
            messageLevel=self.level, messageCode=self.code, messageText=self.text
        )


class ModelEvent(Event):
    """What is said of the model, in the transaction of START_EVENTS."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True)
class NewElements(ModelEvent):
    """Elements that were not there; `parent` is an element id."""

    element: Element
    parent: int
    groups: Sequence[ElementGroup]

    @property
    def number(self) -> int:
        """The event's number."""
        return _require_number(EVENT_NUMBERS[self.element].new, f"NEW_{self.element}")

    def format_arguments(self) -> list[str]:
        """Give PARENT_ID NUM_RANGES {RANGE NUM_ATTRS k=v...}."""
        return [str(self.parent), *_format_groups(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class ChangedElements(ModelEvent):
    """New values of elements' attributes; `job` is the element id of the processes' job."""

    element: Element
    groups: Sequence[ElementGroup]
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return EVENT_NUMBERS[self.element].change

    def format_arguments(self) -> list[str]:
        """Give NUM_RANGES {RANGE NUM_ATTRS k=v...}, of processes after JOB_ID."""
        return [*_format_job_id(self.element, self.job), *_format_groups(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class RemovedElements(ModelEvent):
    """Elements that are there no more; `job` is the element id of the processes' job."""

    element: Element
    ids: RangeSet
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return _require_number(EVENT_NUMBERS[self.element].remove, f"REMOVE_{self.element}")

    def format_arguments(self) -> list[str]:
        """Give RANGE, of processes after JOB_ID."""
        return [*_format_job_id(self.element, self.job), _format_range(self.ids)]


@final
@dataclass(frozen=True, slots=True)
class AllElementsRemoved(ModelEvent):
    """The model is empty."""

    number: ClassVar[int] = REMOVE_ALL


def _format_attributes(**attributes: str | int) -> list[str]:
    """Give attributes with their count before them, as the original C agents do."""
    return [
        str(len(attributes)),
        *(encode_attribute(id_, value) for id_, value in attributes.items()),
    ]


def _format_groups(groups: Sequence[ElementGroup]) -> list[str]:
    texts = [str(len(groups))]
    for ids, attributes in groups:
        texts.append(str(ids) if isinstance(ids, int) else _format_range(ids))
        texts.append(str(len(attributes)))
        texts += attributes
    return texts


def _format_range(ids: RangeSet) -> str:
    if not ids.spans:
        raise LocalError("an empty range set: the client takes none")
    return str(ids)


def _format_job_id(element: Element, job: int | None) -> list[str]:
    if (element is Element.PROCESS) is (job is None):
        raise LocalError("the processes of a job, and nothing else, need the job's id")
    return [] if job is None else [str(job)]


def _require_number(number: int | None, name: str) -> int:
    if number is None:
        raise LocalError(f"no client knows {name}")
    return number
