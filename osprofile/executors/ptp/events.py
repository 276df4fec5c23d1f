"""What the agent says, as objects, each with its number and its arguments on the wire.

Source: the protocol page, "Events". A `LocalError` comes of what the original client would drop, or
die of.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, final

from osprofile.executors.ptp.attributes import encode
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
class Numbers:
    """An element's event numbers; None for an event that nobody implemented."""

    new: int | None
    change: int
    remove: int | None


EVENTS: Final[Mapping[Element, Numbers]] = MappingProxyType(
    {
        Element.JOB: Numbers(220, 230, 241),
        Element.MACHINE: Numbers(221, 231, 242),
        Element.NODE: Numbers(222, 232, 243),
        Element.PROCESS: Numbers(223, 233, 244),
        Element.QUEUE: Numbers(224, 234, 245),
        Element.RM: Numbers(None, 235, None),
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


class Level(StrEnum):
    """How grave a message is."""

    FATAL = "FATAL"
    ERROR = "ERROR"
    WARNING = "WARNING"
    INFO = "INFO"
    DEBUG = "DEBUG"


@final
class Group(NamedTuple):
    """Elements that have the same attributes, each given as `encode` gives it.

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

    def arguments(self) -> list[str]:
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
class Error(Answer):
    """INIT, MODEL_DEF or a filter could not be done; for a job's the client would give us up."""

    tid: int
    code: int
    text: str

    number: ClassVar[int] = ERROR

    def arguments(self) -> list[str]:
        """Give [count] errorCode= errorMsg=."""
        return _counted(errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class SubmitJobError(Answer):
    """A job was not submitted; `sub_id` is the client's jobSubId."""

    tid: int
    sub_id: str
    text: str
    code: int = ErrorCode.SUBMIT

    number: ClassVar[int] = SUBMITJOB_ERROR

    def arguments(self) -> list[str]:
        """Give [count] jobSubId= errorCode= errorMsg=."""
        return _counted(jobSubId=self.sub_id, errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class TerminateJobError(Answer):
    """A job was not terminated; `job_id` is the jobId of the command."""

    tid: int
    job_id: str
    text: str
    code: int = ErrorCode.TERMINATE

    number: ClassVar[int] = TERMINATEJOB_ERROR

    def arguments(self) -> list[str]:
        """Give [count] jobId= errorCode= errorMsg=."""
        return _counted(jobId=self.job_id, errorCode=self.code, errorMsg=self.text)


@final
@dataclass(frozen=True, slots=True)
class Define(Answer):
    """ATTR_DEF: what attributes mean; `tid` is that of MODEL_DEF."""

    tid: int
    definitions: Sequence[AttributeDefinition]

    number: ClassVar[int] = ATTR_DEF

    def arguments(self) -> list[str]:
        """Give NUM_DEFS {NUM_ARGS ID TYPE NAME DESC DISPLAY DEFAULT extra...}."""
        texts = [str(len(self.definitions))]
        for definition in self.definitions:
            texts += definition.arguments()
        return texts


@final
@dataclass(frozen=True, slots=True)
class Message(Event):
    """Something for the client's log; `tid` is an open command's (None: that of START_EVENTS)."""

    level: Level
    text: str
    code: int = 0
    tid: int | None = None

    number: ClassVar[int] = MESSAGE

    def arguments(self) -> list[str]:
        """Give [count] messageLevel= messageCode= messageText=."""
        return _counted(messageLevel=self.level, messageCode=self.code, messageText=self.text)


class ModelEvent(Event):
    """What is said of the model, in the transaction of START_EVENTS."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True)
class New(ModelEvent):
    """Elements that were not there; `parent` is an element id."""

    element: Element
    parent: int
    groups: Sequence[Group]

    @property
    def number(self) -> int:
        """The event's number."""
        return _implemented(EVENTS[self.element].new, f"NEW_{self.element}")

    def arguments(self) -> list[str]:
        """Give PARENT_ID NUM_RANGES {RANGE NUM_ATTRS k=v...}."""
        return [str(self.parent), *_grouped(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class Change(ModelEvent):
    """New values of elements' attributes; `job` is the element id of the processes' job."""

    element: Element
    groups: Sequence[Group]
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return EVENTS[self.element].change

    def arguments(self) -> list[str]:
        """Give NUM_RANGES {RANGE NUM_ATTRS k=v...}, of processes after JOB_ID."""
        return [*_job(self.element, self.job), *_grouped(self.groups)]


@final
@dataclass(frozen=True, slots=True)
class Remove(ModelEvent):
    """Elements that are there no more; `job` is the element id of the processes' job."""

    element: Element
    ids: RangeSet
    job: int | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return _implemented(EVENTS[self.element].remove, f"REMOVE_{self.element}")

    def arguments(self) -> list[str]:
        """Give RANGE, of processes after JOB_ID."""
        return [*_job(self.element, self.job), _range(self.ids)]


@final
@dataclass(frozen=True, slots=True)
class RemoveAll(ModelEvent):
    """The model is empty."""

    number: ClassVar[int] = REMOVE_ALL


def _counted(**attributes: str | int) -> list[str]:
    """Give attributes with their count before them, as the original C agents do."""
    return [str(len(attributes)), *(encode(id_, value) for id_, value in attributes.items())]


def _grouped(groups: Sequence[Group]) -> list[str]:
    texts = [str(len(groups))]
    for ids, attributes in groups:
        texts.append(str(ids) if isinstance(ids, int) else _range(ids))
        texts.append(str(len(attributes)))
        texts += attributes
    return texts


def _range(ids: RangeSet) -> str:
    if not ids.spans:
        raise LocalError("an empty range set: the client takes none")
    return str(ids)


def _job(element: Element, job: int | None) -> list[str]:
    if (element is Element.PROCESS) is (job is None):
        raise LocalError("the processes of a job, and nothing else, need the job's id")
    return [] if job is None else [str(job)]


def _implemented(number: int | None, name: str) -> int:
    if number is None:
        raise LocalError(f"no client knows {name}")
    return number
