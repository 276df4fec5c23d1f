"""A session with a client: phases and transactions, without any socket, clock or process.

    connection = Connection()
    connection.receive_data(data)        # no bytes: the input has ended
    match connection.next_event():       # until it gives Signal.NEED_DATA or Signal.CLOSED
        case Command(kind, tid): ...     # to be answered once, by an event with its tid
        case Discarded(reason): ...      # to be logged
    writer.write(connection.send(Ok(tid)))

A phase decides which commands are taken (LEGAL); a command that is taken may lead to the next
phase, and so may its answer (ANSWERED). The seed's rule that a phase begins with the OK of its
command does not hold for START_EVENTS, as its own example shows: that transaction stays open as
long as events are sent, which all belong to it, and its OK is sent when they end.

    CONNECTED -INIT-> INITIALIZE -OK-> INITIALIZED -MODEL_DEF-> DISCOVERY -OK-> SUSPENDED
    SUSPENDED -START_EVENTS-> NORMAL -STOP_EVENTS-> STOPPING -OK OK-> SUSPENDED
    any phase -QUIT-> QUITTING -SHUTDOWN-> CLOSED

The original client ends its session at an event of no open transaction, and at a second answer;
so `send` raises `LocalError` for these, and changes nothing then. Sources: seed, "Transaction
IDs", "Protocol Phases"; the protocol page, "Session" and "What the original client does".
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import shown
from osprofile.executors.ptp.commands import (
    COMMANDS,
    SEED_COMMANDS,
    Command,
    CommandKind,
    Discarded,
    Signal,
)
from osprofile.executors.ptp.errors import LocalError, RemoteError
from osprofile.executors.ptp.events import (
    Answer,
    Define,
    Error,
    ErrorCode,
    Event,
    Message,
    ModelEvent,
    Ok,
    Shutdown,
    SubmitJobError,
    TerminateJobError,
)
from osprofile.executors.ptp.ranges import LARGEST_ID
from osprofile.executors.ptp.wire import MAX_COMMAND, Reader, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.executors.ptp.wire import Frame

VERSION: Final = "2.0"
"""The version of the wire protocol (the first argument of INIT)."""

MAX_OPEN: Final = 1000
"""How many commands may wait for their answers; more submissions and the like are refused. A client's
user gives a command or two at a time; each waiting submission is a job's script in memory."""

MAX_UNREADABLE: Final = 5
"""How many frames that cannot be read a session may have: as many as the original client takes."""


@final
class Phase(Enum):
    """Where a session is (see the module)."""

    CONNECTED = "CONNECTED"
    INITIALIZE = "INITIALIZE"
    INITIALIZED = "INITIALIZED"
    DISCOVERY = "DISCOVERY"
    SUSPENDED = "SUSPENDED"
    NORMAL = "NORMAL"
    STOPPING = "STOPPING"
    QUITTING = "QUITTING"
    CLOSED = "CLOSED"


_K = CommandKind
_QUIT: Final = {_K.QUIT: Phase.QUITTING}
_WHILE_NORMAL: Final = frozenset(_K) - {_K.INIT, _K.MODEL_DEF, _K.START_EVENTS}

LEGAL: Final[Mapping[Phase, Mapping[CommandKind, Phase]]] = MappingProxyType(
    {
        Phase.CONNECTED: {_K.INIT: Phase.INITIALIZE, **_QUIT},
        Phase.INITIALIZE: _QUIT,
        Phase.INITIALIZED: {_K.MODEL_DEF: Phase.DISCOVERY, **_QUIT},
        Phase.DISCOVERY: _QUIT,
        Phase.SUSPENDED: {_K.START_EVENTS: Phase.NORMAL, **_QUIT},
        Phase.NORMAL: {
            **dict.fromkeys(_WHILE_NORMAL, Phase.NORMAL),
            _K.STOP_EVENTS: Phase.STOPPING,
            **_QUIT,
        },
        Phase.STOPPING: _QUIT,
        Phase.QUITTING: {},
        Phase.CLOSED: {},
    }
)
"""By phase, the commands that are taken, and the phase that each leads to."""

ANSWERED: Final[Mapping[tuple[Phase, CommandKind, type[Answer]], Phase]] = MappingProxyType(
    {
        (Phase.INITIALIZE, _K.INIT, Ok): Phase.INITIALIZED,
        (Phase.INITIALIZE, _K.INIT, Error): Phase.CONNECTED,
        (Phase.DISCOVERY, _K.MODEL_DEF, Ok): Phase.SUSPENDED,
        (Phase.DISCOVERY, _K.MODEL_DEF, Error): Phase.INITIALIZED,
        (Phase.STOPPING, _K.STOP_EVENTS, Ok): Phase.SUSPENDED,
        (Phase.QUITTING, _K.QUIT, Shutdown): Phase.CLOSED,
    }
)
"""By phase, command and its answer, the next phase; any other answer changes none."""

_EITHER: Final = frozenset({Ok, Error})
_OK: Final = frozenset({Ok})
ANSWERS: Final[Mapping[CommandKind, frozenset[type[Answer]]]] = MappingProxyType(
    {
        **dict.fromkeys(CommandKind, _OK),
        _K.QUIT: frozenset({Shutdown}),
        _K.INIT: _EITHER,
        _K.MODEL_DEF: _EITHER,
        _K.START_EVENTS: frozenset(),  # its OK comes with that of STOP_EVENTS, or SHUTDOWN
        _K.SUBMIT_JOB: frozenset({Ok, SubmitJobError}),
        _K.TERMINATE_JOB: frozenset({Ok, TerminateJobError}),
        _K.FILTER_EVENTS: _EITHER,
        _K.SET_FILTERS: _EITHER,
        _K.MOVE_JOB: _EITHER,
        _K.CHANGE_JOB: _EITHER,
    }
)
"""By command, the events that complete it: one of them, once."""


@final
class Connection:
    """The agent's side of one session.

    `seed_commands`: 7, 8 and 9 are MOVE_JOB, CHANGE_JOB and LIST_FILTERS, as the seed has it,
    instead of FILTER_EVENTS, SUSPEND_EVENTS and RESUME_EVENTS, as every client has it.
    """

    def __init__(
        self,
        *,
        seed_commands: bool = False,
        max_command: int = MAX_COMMAND,
        max_open: int = MAX_OPEN,
    ) -> None:
        self._commands = SEED_COMMANDS if seed_commands else COMMANDS
        self._reader = Reader(max_command)
        self._max_open = max_open
        self._phase = Phase.CONNECTED
        self._open: dict[int, CommandKind] = {}
        self._start: int | None = None
        self._paused = False
        self._held: list[bytes] = []
        self._unreadable = 0
        self.base_id: int | None = None
        """The resource manager's own element id, from INIT: the model's ids are above it."""

    @property
    def phase(self) -> Phase:
        """Where the session is."""
        return self._phase

    @property
    def wants_events(self) -> bool:
        """Whether events of the model may be sent, and the client has not asked for a pause."""
        return self._phase is Phase.NORMAL and not self._paused

    @property
    def open(self) -> Mapping[int, CommandKind]:
        """The commands that have no answer yet, by transaction."""
        return MappingProxyType(self._open)

    # In

    def receive_data(self, data: bytes) -> None:
        """Take what came from the client; no bytes at all mean that it closed its side."""
        if self._phase is not Phase.CLOSED:
            self._reader.receive_data(data)

    def next_event(self) -> Command | Discarded | Signal:
        """Give what came next.

        Raises `RemoteError` where the session cannot go on: the connection is to be closed.
        """
        if self._phase is Phase.CLOSED:
            return Signal.CLOSED
        try:
            frame = self._reader.next_frame()
        except RemoteError as error:
            self._unreadable += 1
            if error.fatal or self._unreadable >= MAX_UNREADABLE:
                self._phase = Phase.CLOSED
                raise
            return Discarded(str(error))
        if frame is not None:
            return self._taken(frame)
        return Signal.CLOSED if self._reader.ended else Signal.NEED_DATA

    def _taken(self, frame: Frame) -> Command | Discarded:
        """Take a command, or say why not."""
        kind = self._commands.get(frame.id)
        phase = LEGAL[self._phase].get(kind) if kind else None
        if kind is None:
            return Discarded(f"no command has the number {frame.id:04x}", frame.tid)
        if phase is None:
            return Discarded(f"{kind} is out of phase in {self._phase.value}", frame.tid)
        if frame.tid in self._open and kind is not CommandKind.QUIT:
            message = f"{kind}: transaction {frame.tid} is {self._open[frame.tid]}, and open"
            return Discarded(message, frame.tid)
        command = Command(kind, frame.tid, frame.args)
        if len(self._open) >= self._max_open and kind in _REFUSALS:
            reason = f"{kind}: {len(self._open)} commands wait already (try again later)"
            answer = _REFUSALS[kind](command, reason)
            return Discarded(reason, frame.tid, _encoded(answer, frame.tid))
        if kind is CommandKind.INIT and (reason := self._initialized(command)):
            event = Error(frame.tid, ErrorCode.VERSION, reason)
            return Discarded(reason, frame.tid, _encoded(event, frame.tid))
        self._begin(command, phase)
        return command

    def _initialized(self, command: Command) -> str:
        """Take INIT's arguments, or say what is wrong with them."""
        version, base = command.value("version"), command.value("baseId")
        if version != VERSION:
            return f"INIT asks for version {shown(version)} of the protocol; this is {VERSION}"
        if not (base.isascii() and base.isdigit() and len(base) <= 10 and int(base) < LARGEST_ID):
            return f"INIT gives the base id {shown(base)}, which is no number below {LARGEST_ID}"
        self.base_id = int(base)
        return ""

    def _begin(self, command: Command, phase: Phase) -> None:
        self._phase = phase
        self._open[command.tid] = command.kind
        if command.kind is CommandKind.START_EVENTS:
            self._start = command.tid
        self._paused = _PAUSES.get(command.kind, self._paused)

    # Out

    def send(self, event: Event) -> bytes:
        """Give the bytes that tell an event, whole frames.

        The answer to STOP_EVENTS comes after START_EVENTS's OK, as does that to QUIT. While events
        are stopped nothing is sent: an answer to an earlier command gives no bytes then, and goes
        out before whatever is sent next. Raises `LocalError`, and nothing has changed then, for
        what the client would not take now.
        """
        if isinstance(event, Answer):
            return self._answer(event)
        tid = self._tid_of(event)
        return self._out(_encoded(event, tid))

    def _tid_of(self, event: Event) -> int:
        """Give the transaction of an event that answers no command."""
        tid = event.tid if isinstance(event, Message) else None
        if isinstance(event, ModelEvent) and self._phase is not Phase.NORMAL:
            raise LocalError(f"{_name(event)} is out of phase in {self._phase.value}")
        tid = self._start if tid is None else tid
        if tid is None or tid not in self._open:
            raise LocalError(f"{_name(event)}: transaction {tid} is not open")
        return tid

    def _answer(self, event: Answer) -> bytes:
        kind = self._open.get(event.tid)
        if isinstance(event, Shutdown) and self._phase is Phase.QUITTING:
            kind = CommandKind.QUIT  # whose transaction may be that of an older command
        if kind is None:
            raise LocalError(f"{_name(event)}: transaction {event.tid} is not open")
        frame = _encoded(event, event.tid)
        if kind is CommandKind.MODEL_DEF and isinstance(event, Define):
            return self._out(frame)
        if type(event) not in ANSWERS[kind]:
            raise LocalError(f"{_name(event)} does not answer {kind}")
        if kind in _ENDS_EVENTS and self._start is not None:
            if self._open.pop(self._start) is CommandKind.START_EVENTS:
                frame = _encoded(Ok(self._start), self._start) + frame
            self._start = None
        self._open.pop(event.tid, None)
        data = self._out(frame)
        self._phase = ANSWERED.get((self._phase, kind, type(event)), self._phase)
        return data

    def _out(self, frame: bytes) -> bytes:
        if self._phase is Phase.CLOSED:
            raise LocalError("nothing can be sent after SHUTDOWN")
        if self._phase is Phase.SUSPENDED:
            self._held.append(frame)
            return b""
        data = b"".join([*self._held, frame])
        self._held.clear()
        return data


def _error(command: Command, reason: str) -> Answer:
    return Error(command.tid, ErrorCode.INTERNAL, reason)


_REFUSALS: Final[Mapping[CommandKind, Callable[[Command, str], Answer]]] = MappingProxyType(
    {
        _K.SUBMIT_JOB: lambda command, reason: SubmitJobError(
            command.tid, command.value("jobSubId"), reason
        ),
        _K.TERMINATE_JOB: lambda command, reason: TerminateJobError(
            command.tid, command.value("jobId"), reason
        ),
        _K.MOVE_JOB: _error,
        _K.CHANGE_JOB: _error,
    }
)
"""The commands that take a while, and the answer to one that is not taken."""
_PAUSES: Final = MappingProxyType(
    {_K.SUSPEND_EVENTS: True, _K.RESUME_EVENTS: False, _K.START_EVENTS: False}
)
"""Whether the client wants no events for a while, after a command."""
_ENDS_EVENTS: Final = frozenset({_K.STOP_EVENTS, _K.QUIT})


def _encoded(event: Event, tid: int) -> bytes:
    return encode(event.number, tid, event.arguments())


def _name(event: Event) -> str:
    return type(event).__name__
