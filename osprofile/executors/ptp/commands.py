"""What a client asks for, as objects.

The numbers are those of the protocol page ("Commands"); the seed gives three commands that it calls
"not yet implemented" numbers which the later software gave to others.
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
    """What a client can ask for."""

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
"""By number, the commands of the original software."""

SEED_COMMANDS: Final[Mapping[int, CommandKind]] = MappingProxyType(
    {
        **COMMANDS,
        7: CommandKind.MOVE_JOB,
        8: CommandKind.CHANGE_JOB,
        9: CommandKind.LIST_FILTERS,
    }
)
"""By number, the commands of the seed, three of which have the numbers of others."""


@final
@dataclass(frozen=True, slots=True)
class Command:
    """What the client asks for, with its transaction and its arguments.

    Each is to be answered once, with an event of the same `tid` (see `Connection.send`).
    """

    kind: CommandKind
    tid: int
    arguments: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """Ids and values, in order; what is no attribute is left out."""
        return tuple(pair for pair in map(decode_attribute, self.arguments) if pair is not None)

    def get_value(self, id_: str) -> str:
        """Give the value of an attribute, the first one's; empty if there is none."""
        return next((value for key, value in self.attributes if key == id_), "")


@final
@dataclass(frozen=True, slots=True)
class DiscardedCommand:
    """What the client sent and what is not obeyed: for the log.

    `reply` is to be sent as it is. It is empty but for INIT with a version that is not ours, and for a
    command that is one too many.
    """

    reason: str
    tid: int | None = None
    reply: bytes = b""


@final
class InputState(Enum):
    """What `next_event` gives where there is neither."""

    NEED_DATA = "NEED_DATA"
    CLOSED = "CLOSED"
