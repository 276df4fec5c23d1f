"""The commands of a client.

The numbers are those of docs/protocols/ptp.md, 3.1. The protocol's first draft gives three commands,
which it calls not implemented, numbers that other commands have today (docs/protocols/ptp.md, 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.ptp.attributes import decode_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping


@final
class CommandKind(StrEnum):
    """The commands, by name."""

    QUIT = "QUIT"
    INIT = "INIT"
    MODEL_DEF = "MODEL_DEF"
    START_EVENTS = "START_EVENTS"
    STOP_EVENTS = "STOP_EVENTS"
    SUBMIT_JOB = "SUBMIT_JOB"
    TERMINATE_JOB = "TERMINATE_JOB"
    FILTER_EVENTS = "FILTER_EVENTS"
    SUSPEND_EVENTS = "SUSPEND_EVENTS"
    RESUME_EVENTS = "RESUME_EVENTS"
    SET_FILTERS = "SET_FILTERS"
    CLEAR_FILTERS = "CLEAR_FILTERS"
    GET_ATTRIBUTES = "GET_ATTRIBUTES"
    QUERY_ATTRIBUTES = "QUERY_ATTRIBUTES"
    MOVE_JOB = "MOVE_JOB"
    CHANGE_JOB = "CHANGE_JOB"
    LIST_FILTERS = "LIST_FILTERS"


COMMANDS: Final[Mapping[int, CommandKind]] = MappingProxyType(
    {
        0: CommandKind.QUIT,
        1: CommandKind.INIT,
        2: CommandKind.MODEL_DEF,
        3: CommandKind.START_EVENTS,
        4: CommandKind.STOP_EVENTS,
        5: CommandKind.SUBMIT_JOB,
        6: CommandKind.TERMINATE_JOB,
        7: CommandKind.FILTER_EVENTS,
        8: CommandKind.SUSPEND_EVENTS,
        9: CommandKind.RESUME_EVENTS,
        10: CommandKind.SET_FILTERS,
        11: CommandKind.CLEAR_FILTERS,
        12: CommandKind.GET_ATTRIBUTES,
        13: CommandKind.QUERY_ATTRIBUTES,
    }
)
"""The commands of the original software by number."""

DRAFT_COMMANDS: Final[Mapping[int, CommandKind]] = MappingProxyType(
    {**COMMANDS, 7: CommandKind.MOVE_JOB, 8: CommandKind.CHANGE_JOB, 9: CommandKind.LIST_FILTERS}
)
"""The commands of the draft by number; three of them have numbers of other commands."""


@final
@dataclass(frozen=True, slots=True)
class Command:
    """A command with its transaction id and its arguments.

    It must be answered once, by an event with the same `tid` (see `Connection.send`).
    """

    kind: CommandKind
    tid: int
    arguments: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Ids and values of the arguments, in order; other arguments are left out."""
        return tuple(pair for pair in map(decode_attribute, self.arguments) if pair is not None)

    def get_value(self, id_: str) -> str:
        """Return the value of the first attribute with this id; empty if there is none."""
        return next((value for key, value in self.attributes if key == id_), "")


@final
@dataclass(frozen=True, slots=True)
class DiscardedCommand:
    """A command that is not executed; `reason` is for the log.

    `reply` must be sent as it is. It is empty, except for an INIT that is refused and for a command
    over the limit of open commands.
    """

    reason: str
    tid: int | None = None
    reply: bytes = b""


@final
class InputState(Enum):
    """Why `next_event` returns no command."""

    NEED_DATA = "NEED_DATA"
    CLOSED = "CLOSED"
