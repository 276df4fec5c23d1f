"""A session with a client: phases and transactions, without input and output.

    connection = Connection()
    connection.receive_data(data)          # empty: the input has ended
    match connection.next_event():         # until it returns an InputState
        case Command(kind, tid): ...       # to be answered once, by an event with its tid
        case DiscardedCommand(reason): ... # to be logged
    writer.write(connection.send(ok(tid)))

Each phase accepts certain commands (ALLOWED_COMMANDS). An accepted command may begin the next phase,
and so may its answer (NEXT_PHASES). The rule of docs/protocols/ptp.md, 5.2, that a phase begins with
the OK of its command does not hold for START_EVENTS (5.3): its transaction stays open while events
are sent, which all belong to it, and its OK is sent when they end.

    CONNECTED -INIT-> INITIALIZE -OK-> INITIALIZED -MODEL_DEF-> DISCOVERY -OK-> SUSPENDED
    SUSPENDED -START_EVENTS-> NORMAL -STOP_EVENTS-> STOPPING -OK OK-> SUSPENDED
    any phase -QUIT-> QUITTING -SHUTDOWN-> CLOSED

The original client ends its session at an event that belongs to no open transaction, and at a
second answer; `send` raises `LocalError` for these and changes nothing. Source:
docs/protocols/ptp.md, 2.1, 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.digits import parse_digits
from osprofile.executors.ptp import events
from osprofile.executors.ptp.attributes import decode_attribute
from osprofile.executors.ptp.events import ANSWERS, ErrorCode, Event, EventNumber
from osprofile.executors.ptp.wire import (
    MAX_COMMAND_SIZE,
    MAX_ID,
    FrameReader,
    LocalError,
    RemoteError,
    encode_frame,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.executors.ptp.wire import Frame

VERSION: Final = "2.0"
"""The version of the wire protocol (the first argument of INIT)."""

MAX_OPEN_COMMANDS: Final = 1000
"""How many commands may be open; more commands about jobs are refused. A user gives a command or two
at a time, and each waiting submission keeps a job's script in memory."""

MAX_UNREADABLE_FRAMES: Final = 5
"""How many malformed frames end a session, as in the original client (docs/protocols/ptp.md, 6.4)."""


@final
class CommandKind(StrEnum):
    """The commands, in the order of their numbers; the last three are those of the draft."""

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


COMMANDS: Final[Mapping[int, CommandKind]] = MappingProxyType(dict(enumerate(list(CommandKind)[:14])))
"""The commands of the original software by number (docs/protocols/ptp.md, 3.1): those above, in their order."""

DRAFT_COMMANDS: Final[Mapping[int, CommandKind]] = MappingProxyType(
    {**COMMANDS, 7: CommandKind.MOVE_JOB, 8: CommandKind.CHANGE_JOB, 9: CommandKind.LIST_FILTERS}
)
"""The commands of the draft by number: it gives three, which it calls not implemented, the numbers of others (3.3)."""


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


@final
class Phase(Enum):
    """The phases of a session (see the module)."""

    CONNECTED = "CONNECTED"
    INITIALIZE = "INITIALIZE"
    INITIALIZED = "INITIALIZED"
    DISCOVERY = "DISCOVERY"
    SUSPENDED = "SUSPENDED"
    NORMAL = "NORMAL"
    STOPPING = "STOPPING"
    QUITTING = "QUITTING"
    CLOSED = "CLOSED"


_Kind = CommandKind
_QUIT_ONLY: Final = {_Kind.QUIT: Phase.QUITTING}
_NORMAL_COMMANDS: Final = frozenset(_Kind) - {_Kind.INIT, _Kind.MODEL_DEF, _Kind.START_EVENTS}

ALLOWED_COMMANDS: Final[Mapping[Phase, Mapping[CommandKind, Phase]]] = MappingProxyType(
    {
        Phase.CONNECTED: {_Kind.INIT: Phase.INITIALIZE, **_QUIT_ONLY},
        Phase.INITIALIZE: _QUIT_ONLY,
        Phase.INITIALIZED: {_Kind.MODEL_DEF: Phase.DISCOVERY, **_QUIT_ONLY},
        Phase.DISCOVERY: _QUIT_ONLY,
        Phase.SUSPENDED: {_Kind.START_EVENTS: Phase.NORMAL, **_QUIT_ONLY},
        Phase.NORMAL: {
            **dict.fromkeys(_NORMAL_COMMANDS, Phase.NORMAL),
            _Kind.STOP_EVENTS: Phase.STOPPING,
            **_QUIT_ONLY,
        },
        Phase.STOPPING: _QUIT_ONLY,
        Phase.QUITTING: {},
        Phase.CLOSED: {},
    }
)
"""By phase, the accepted commands and the phase after each."""

NEXT_PHASES: Final[Mapping[tuple[Phase, CommandKind, EventNumber], Phase]] = MappingProxyType(
    {
        (Phase.INITIALIZE, _Kind.INIT, EventNumber.OK): Phase.INITIALIZED,
        (Phase.INITIALIZE, _Kind.INIT, EventNumber.ERROR): Phase.CONNECTED,
        (Phase.DISCOVERY, _Kind.MODEL_DEF, EventNumber.OK): Phase.SUSPENDED,
        (Phase.DISCOVERY, _Kind.MODEL_DEF, EventNumber.ERROR): Phase.INITIALIZED,
        (Phase.STOPPING, _Kind.STOP_EVENTS, EventNumber.OK): Phase.SUSPENDED,
        (Phase.QUITTING, _Kind.QUIT, EventNumber.SHUTDOWN): Phase.CLOSED,
    }
)
"""By phase, command and answer, the next phase; any other answer does not change the phase."""

_OK_OR_ERROR: Final = frozenset({EventNumber.OK, EventNumber.ERROR})
ALLOWED_ANSWERS: Final[Mapping[CommandKind, frozenset[EventNumber]]] = MappingProxyType(
    {
        **dict.fromkeys(CommandKind, frozenset({EventNumber.OK})),
        _Kind.QUIT: frozenset({EventNumber.SHUTDOWN}),
        _Kind.INIT: _OK_OR_ERROR,
        _Kind.MODEL_DEF: _OK_OR_ERROR,
        _Kind.START_EVENTS: frozenset(),  # its OK is sent with that of STOP_EVENTS, or SHUTDOWN
        _Kind.SUBMIT_JOB: frozenset({EventNumber.OK, EventNumber.SUBMITJOB_ERROR}),
        _Kind.TERMINATE_JOB: frozenset({EventNumber.OK, EventNumber.TERMINATEJOB_ERROR}),
        _Kind.FILTER_EVENTS: _OK_OR_ERROR,
        _Kind.SET_FILTERS: _OK_OR_ERROR,
        _Kind.MOVE_JOB: _OK_OR_ERROR,
        _Kind.CHANGE_JOB: _OK_OR_ERROR,
    }
)
"""By command, the events that complete it; exactly one of them is sent."""


@final
class Connection:
    """The agent's side of one session.

    `draft_commands`: 7, 8 and 9 are MOVE_JOB, CHANGE_JOB and LIST_FILTERS, as in the protocol's first
    draft (docs/protocols/ptp.md, 3.3), instead of FILTER_EVENTS, SUSPEND_EVENTS and RESUME_EVENTS,
    as in every client.
    """

    def __init__(
        self,
        *,
        draft_commands: bool = False,
        max_command: int = MAX_COMMAND_SIZE,
        max_open: int = MAX_OPEN_COMMANDS,
    ) -> None:
        self._commands = DRAFT_COMMANDS if draft_commands else COMMANDS
        self._reader = FrameReader(max_command)
        self._max_open = max_open
        self._phase = Phase.CONNECTED
        self._open_commands: dict[int, CommandKind] = {}
        self._start_tid: int | None = None
        self._events_paused = False
        self._held_frames: list[bytes] = []
        self._unreadable_count = 0
        self.base_id: int | None = None
        """The resource manager's element id, from INIT: the ids of the model are above it."""

    @property
    def phase(self) -> Phase:
        """The phase of the session."""
        return self._phase

    @property
    def wants_events(self) -> bool:
        """Whether events of the model may be sent and are not paused by the client."""
        return self._phase is Phase.NORMAL and not self._events_paused

    @property
    def open_commands(self) -> Mapping[int, CommandKind]:
        """The kinds of the unanswered commands by transaction id."""
        return MappingProxyType(self._open_commands)

    # Input

    def receive_data(self, data: bytes) -> None:
        """Add bytes from the client; empty ones mean that it closed its side."""
        if self._phase is not Phase.CLOSED:
            self._reader.receive_data(data)

    def next_event(self) -> Command | DiscardedCommand | InputState:
        """Return the next command.

        Raises `RemoteError` if the session cannot go on: the connection must be closed.
        """
        if self._phase is Phase.CLOSED:
            return InputState.CLOSED
        try:
            frame = self._reader.next_frame()
        except RemoteError as error:
            self._unreadable_count += 1
            if error.fatal or self._unreadable_count >= MAX_UNREADABLE_FRAMES:
                self._phase = Phase.CLOSED
                raise
            return DiscardedCommand(str(error))
        if frame is not None:
            return self._accept_frame(frame)
        return InputState.CLOSED if self._reader.has_ended else InputState.NEED_DATA

    def _accept_frame(self, frame: Frame) -> Command | DiscardedCommand:
        """Return the command in a frame, or why it is not executed."""
        kind = self._commands.get(frame.id)
        phase = ALLOWED_COMMANDS[self._phase].get(kind) if kind else None
        if kind is None:
            return DiscardedCommand(f"no command has the number {frame.id:04x}", frame.tid)
        if phase is None:
            return DiscardedCommand(f"{kind} is out of phase in {self._phase.value}", frame.tid)
        if frame.tid in self._open_commands and kind is not CommandKind.QUIT:
            message = f"{kind}: transaction {frame.tid} is {self._open_commands[frame.tid]}, and open"
            return DiscardedCommand(message, frame.tid)
        command = Command(kind, frame.tid, frame.args)
        # START_EVENTS is open while events are sent, and waits for nothing
        waiting = len(self._open_commands) - (self._start_tid is not None)
        if waiting >= self._max_open and kind in JOB_COMMANDS:
            reason = f"{kind}: {waiting} commands wait already (try again later)"
            return DiscardedCommand(reason, frame.tid, _encode_event(refuse_command(command, reason)))
        if kind is CommandKind.INIT and (reason := self._accept_init(command)):
            event = events.command_error(frame.tid, ErrorCode.VERSION, reason)
            return DiscardedCommand(reason, frame.tid, _encode_event(event))
        self._open_transaction(command, phase)
        return command

    def _accept_init(self, command: Command) -> str:
        """Apply the arguments of INIT; return what is wrong with them (empty: nothing)."""
        version, base = command.get_value("version"), command.get_value("baseId")
        if len(command.arguments) == 2 and not command.attributes:  # as the design has them
            version, base = command.arguments
        if version != VERSION:
            return f"INIT asks for version {quote_value(version)} of the protocol; this is {VERSION}"
        base_id = parse_digits(base, 10)
        if base_id is None or base_id >= MAX_ID:
            return f"INIT gives the base id {quote_value(base)}, not a number below {MAX_ID}"
        self.base_id = base_id
        return ""

    def _open_transaction(self, command: Command, phase: Phase) -> None:
        self._phase = phase
        self._open_commands[command.tid] = command.kind
        if command.kind is CommandKind.START_EVENTS:
            self._start_tid = command.tid
        self._events_paused = _PAUSE_COMMANDS.get(command.kind, self._events_paused)

    # Output

    def send(self, event: Event) -> bytes:
        """Return the frames of an event.

        The answers to STOP_EVENTS and QUIT come after the OK of START_EVENTS. Nothing may be sent
        while events are stopped: an answer to an earlier command returns no bytes then, and is sent
        before the next event. Raises `LocalError`, without a change of state, for an event that the
        client would refuse now.
        """
        if event.number in ANSWERS:
            return self._send_answer(event, event.tid or 0)
        tid = self._start_tid if event.tid is None else event.tid
        if event.number is not EventNumber.MESSAGE and self._phase is not Phase.NORMAL:
            raise LocalError(f"{event.number.name} is out of phase in {self._phase.value}")
        if tid is None or tid not in self._open_commands:
            raise LocalError(f"{event.number.name}: transaction {tid} is not open")
        return self._release_frames(_encode_event(event._replace(tid=tid)))

    def _send_answer(self, event: Event, tid: int) -> bytes:
        kind, name = self._open_commands.get(tid), event.number.name
        if kind is None:
            raise LocalError(f"{name}: transaction {tid} is not open")
        frame = _encode_event(event)
        if kind is CommandKind.MODEL_DEF and event.number is EventNumber.ATTR_DEF:
            return self._release_frames(frame)
        if event.number not in ALLOWED_ANSWERS[kind]:
            raise LocalError(f"{name} does not answer {kind}")
        if kind in {CommandKind.STOP_EVENTS, CommandKind.QUIT} and self._start_tid is not None:
            if self._open_commands.pop(self._start_tid) is CommandKind.START_EVENTS:
                frame = _encode_event(events.ok(self._start_tid)) + frame
            self._start_tid = None
        self._open_commands.pop(tid, None)
        data = self._release_frames(frame)
        self._phase = NEXT_PHASES.get((self._phase, kind, event.number), self._phase)
        return data

    def _release_frames(self, frame: bytes) -> bytes:
        if self._phase is Phase.CLOSED:
            raise LocalError("nothing can be sent after SHUTDOWN")
        if self._phase is Phase.SUSPENDED:
            self._held_frames.append(frame)
            return b""
        data = b"".join([*self._held_frames, frame])
        self._held_frames.clear()
        return data


JOB_COMMANDS: Final = frozenset({_Kind.SUBMIT_JOB, _Kind.TERMINATE_JOB, _Kind.MOVE_JOB, _Kind.CHANGE_JOB})
"""The commands that take a while; too many of them are refused."""


def refuse_command(command: Command, reason: str) -> Event:
    """Return the answer that a command about a job failed."""
    if command.kind is CommandKind.SUBMIT_JOB:
        return events.submit_error(command.tid, command.get_value("jobSubId"), reason)
    if command.kind is CommandKind.TERMINATE_JOB:
        return events.terminate_error(command.tid, command.get_value("jobId"), reason)
    return events.command_error(command.tid, ErrorCode.INTERNAL, reason)


_PAUSE_COMMANDS: Final = MappingProxyType(
    {_Kind.SUSPEND_EVENTS: True, _Kind.RESUME_EVENTS: False, _Kind.START_EVENTS: False}
)
"""Whether the client pauses events, after a command."""


def _encode_event(event: Event) -> bytes:
    return encode_frame(event.number, event.tid or 0, event.arguments)
