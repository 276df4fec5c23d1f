"""The events that an agent sends, with their numbers and arguments (docs/protocols/ptp.md, 4).

The functions raise `LocalError` for an event that would make the original client drop it or end.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.executors.ptp.attributes import encode_attribute
from osprofile.executors.ptp.wire import LocalError, RangeSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.executors.ptp.attributes import AttributeDefinition


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
class EventNumber(IntEnum):
    """The events that a client implements; there is no NEW_RM and no REMOVE_RM."""

    OK = 0
    MESSAGE = 1
    ERROR = 5
    SHUTDOWN = 6
    SUBMITJOB_ERROR = 211
    TERMINATEJOB_ERROR = 212
    NEW_JOB = 220
    NEW_MACHINE = 221
    NEW_NODE = 222
    NEW_PROCESS = 223
    NEW_QUEUE = 224
    CHANGE_JOB = 230
    CHANGE_MACHINE = 231
    CHANGE_NODE = 232
    CHANGE_PROCESS = 233
    CHANGE_QUEUE = 234
    CHANGE_RM = 235
    REMOVE_JOB = 241
    REMOVE_MACHINE = 242
    REMOVE_NODE = 243
    REMOVE_PROCESS = 244
    REMOVE_QUEUE = 245
    ATTR_DEF = 251


ANSWERS: Final = frozenset(
    {
        EventNumber.OK,
        EventNumber.ERROR,
        EventNumber.SHUTDOWN,
        EventNumber.SUBMITJOB_ERROR,
        EventNumber.TERMINATEJOB_ERROR,
        EventNumber.ATTR_DEF,
    }
)
"""The events that answer a command; all others but MESSAGE are about the model."""


@final
class ErrorCode:
    """The error codes of this agent. The client only shows them; they are 0 to 2^31-1."""

    VERSION = 1
    INTERNAL = 2
    SUBMIT = 1202
    TERMINATE = 1203
    FILTER = 1210


@final
class Event(NamedTuple):
    """An event in the transaction `tid`; None: that of START_EVENTS, which has all events about the model."""

    number: EventNumber
    tid: int | None = None
    arguments: Sequence[str] = ()


@final
class ElementGroup(NamedTuple):
    """Elements with the same attributes, which are in their wire format (`encode_attribute`).

    `ids` are element ids, or the ranks of processes; a number is a single one.
    """

    ids: RangeSet | int
    attributes: tuple[str, ...]


def ok(tid: int) -> Event:
    """Return the answer that a command succeeded."""
    return Event(EventNumber.OK, tid)


def shutdown(tid: int) -> Event:
    """Return the answer to QUIT: the agent closes the connection and ends."""
    return Event(EventNumber.SHUTDOWN, tid)


def command_error(tid: int, code: int, text: str) -> Event:
    """Return the answer that INIT, MODEL_DEF or a filter failed; about a job it would end the session."""
    return Event(EventNumber.ERROR, tid, _format_attributes(errorCode=code, errorMsg=text))


def submit_error(tid: int, sub_id: str, text: str) -> Event:
    """Return the answer that a job was not submitted; `sub_id` is the client's jobSubId."""
    arguments = _format_attributes(jobSubId=sub_id, errorCode=ErrorCode.SUBMIT, errorMsg=text)
    return Event(EventNumber.SUBMITJOB_ERROR, tid, arguments)


def terminate_error(tid: int, job_id: str, text: str) -> Event:
    """Return the answer that a job was not terminated; `job_id` is the jobId of the command."""
    arguments = _format_attributes(jobId=job_id, errorCode=ErrorCode.TERMINATE, errorMsg=text)
    return Event(EventNumber.TERMINATEJOB_ERROR, tid, arguments)


def define_attributes(tid: int, definitions: Sequence[AttributeDefinition]) -> Event:
    """Return ATTR_DEF: NUM_DEFS {NUM_ARGS ID TYPE NAME DESC DISPLAY DEFAULT extra...}; `tid` is that of MODEL_DEF."""
    arguments = [text for definition in definitions for text in definition.format_arguments()]
    return Event(EventNumber.ATTR_DEF, tid, [str(len(definitions)), *arguments])


def message(level: str, text: str, code: int = 0, tid: int | None = None) -> Event:
    """Return a message for the client's log; `tid` is an open command's."""
    arguments = _format_attributes(messageLevel=level, messageCode=code, messageText=text)
    return Event(EventNumber.MESSAGE, tid, arguments)


def new_elements(element: Element, parent: int, groups: Sequence[ElementGroup]) -> Event:
    """Return PARENT_ID NUM_RANGES {RANGE NUM_ATTRS k=v...}; `parent` is an element id."""
    return Event(_find_number("NEW", element), None, [str(parent), *_format_groups(groups)])


def change_elements(element: Element, groups: Sequence[ElementGroup], job: int | None = None) -> Event:
    """Return NUM_RANGES {RANGE NUM_ATTRS k=v...}, for processes after the element id of their job."""
    arguments = [*_format_job_id(element, job), *_format_groups(groups)]
    return Event(_find_number("CHANGE", element), None, arguments)


def remove_elements(element: Element, ids: RangeSet, job: int | None = None) -> Event:
    """Return RANGE, for processes after the element id of their job."""
    arguments = [*_format_job_id(element, job), _format_range(ids)]
    return Event(_find_number("REMOVE", element), None, arguments)


def _find_number(verb: str, element: Element) -> EventNumber:
    name = f"{verb}_{element}"
    if name not in EventNumber.__members__:
        raise LocalError(f"no client knows {name}")
    return EventNumber[name]


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
