"""Sessions: phases, transactions, answers; each case names its section."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.ptp import protocol
from osprofile.executors.ptp.attributes import AttributeDefinition, AttributeType, encode_attribute
from osprofile.executors.ptp.events import (
    Element,
    ElementGroup,
    ErrorCode,
    Event,
    change_elements,
    command_error,
    define_attributes,
    message,
    new_elements,
    ok,
    remove_elements,
    shutdown,
    submit_error,
    terminate_error,
)
from osprofile.executors.ptp.protocol import (
    ALLOWED_ANSWERS,
    ALLOWED_COMMANDS,
    COMMANDS,
    DRAFT_COMMANDS,
    Command,
    CommandKind,
    Connection,
    DiscardedCommand,
    InputState,
    Phase,
)
from osprofile.executors.ptp.wire import LocalError, RangeSet, RemoteError, encode_frame
from tests.executors.ptp import client as strict
from tests.executors.ptp.client import parse_range_set

if TYPE_CHECKING:
    from collections.abc import Callable

K = CommandKind
NUMBERS = {kind: number for number, kind in COMMANDS.items()}
INIT = ("version=2.0", "baseId=16777216")


def ask(connection: Connection, kind: K | int, tid: int, *arguments: str) -> object:
    """Have the client say something; give what the connection makes of it."""
    number = kind if isinstance(kind, int) else NUMBERS[kind]
    connection.receive_data(encode_frame(number, tid, arguments))
    found = connection.next_event()
    assert connection.next_event() is InputState.NEED_DATA
    return found


def test_init_as_the_design_writes_it() -> None:
    """docs/protocols/ptp.md, 3.1: VERSION and BASE_ID alone."""
    connection = Connection()
    assert ask(connection, K.INIT, 0, "2.0", "16777216") == Command(K.INIT, 0, ("2.0", "16777216"))
    assert connection.base_id == 16777216
    refused = ask(Connection(), K.INIT, 0, "3.0", "16777216")
    assert isinstance(refused, DiscardedCommand)
    assert "INIT asks for version '3.0'" in refused.reason


def connected(phase: Phase = Phase.NORMAL, start: int = 0, **options: int) -> Connection:
    """Give a session in that phase: NORMAL or before, or SUSPENDED."""
    connection = Connection(**options)  # type: ignore[arg-type]
    steps: list[tuple[Phase, K, tuple[str, ...], bool]] = [
        (Phase.CONNECTED, K.INIT, INIT, False),
        (Phase.INITIALIZE, K.INIT, (), True),
        (Phase.INITIALIZED, K.MODEL_DEF, (), False),
        (Phase.DISCOVERY, K.MODEL_DEF, (), True),
        (Phase.SUSPENDED, K.START_EVENTS, (), False),
    ]
    for before, kind, arguments, answered in steps:
        assert connection.phase is before
        if before is phase:
            return connection
        if answered:
            connection.send(ok(0))
        else:
            tid = start if kind is K.START_EVENTS else 0
            assert ask(connection, kind, tid, *arguments) == Command(kind, tid, arguments)
    assert connection.phase is phase is Phase.NORMAL
    return connection


def phase_of(connection: Connection) -> Phase:
    return connection.phase  # a type checker takes a property for a constant


def wants(connection: Connection) -> bool:
    return connection.wants_events


# The wire of events

ONE = RangeSet(((16777217, 16777217),))
GONE = remove_elements(Element.JOB, ONE)
GONE_FRAME = encode_frame(241, 0, ("16777217",))


def group(ids: str, **attributes: str | int) -> ElementGroup:
    return ElementGroup(parse_range_set(ids), tuple(encode_attribute(k, v) for k, v in attributes.items()))


STATE = group("8", X="UP")

KINDS = (Element.JOB, Element.MACHINE, Element.NODE, Element.PROCESS, Element.QUEUE)
JOB_ID = {Element.PROCESS: 16777222}
NODES = [STATE, group("9-10", nodeState="UP", nodeStatus="IDLE")]
TWO = ["7", "2", "8", "1", "X=UP", "9-10", "2", "nodeState=UP", "nodeStatus=IDLE"]


def about(kind: Element, *arguments: str) -> list[str]:
    return [*([str(JOB_ID[kind])] if kind in JOB_ID else []), *arguments]


# (section, event, number, arguments); docs/protocols/ptp.md, 4.1, and of 244 the page, Events
EVENTS: list[tuple[str, Event, int, list[str]]] = [
    *[(f"remove {k}", remove_elements(k, ONE, JOB_ID.get(k)), n, about(k, "16777217")) for n, k in enumerate(KINDS, 241)],
    *[(f"new {k}", new_elements(k, 7, [STATE]), n, ["7", "1", "8", "1", "X=UP"]) for n, k in enumerate(KINDS, 220)],
    *[
        (f"change {k}", change_elements(k, [STATE], JOB_ID.get(k)), n, about(k, "1", "8", "1", "X=UP"))
        for n, k in enumerate([*KINDS, Element.RM], 230)
    ],
    ("two groups", new_elements(Element.NODE, 7, NODES), 222, TWO),
    ("message", message("WARNING", "What?", 3), 1, ["3", "messageLevel=WARNING", "messageCode=3", "messageText=What?"]),
]  # fmt: skip


@pytest.mark.parametrize(("section", "event", "number", "arguments"), EVENTS)
def test_the_arguments_of_events(section: str, event: Event, number: int, arguments: list[str]) -> None:
    assert connected().send(event) == encode_frame(number, 0, arguments), section


DEFINITION = AttributeDefinition(
    id="NODES", type=AttributeType.INTEGER, name="Nodes", default="1", minimum=1, maximum=64
)

# (section, command, its number, answer to its transaction 1, number, arguments)
REPLIES: list[tuple[str, K, Event, int, list[str]]] = [
    (
        "4.1: 211",
        K.SUBMIT_JOB,
        submit_error(1, "JOB_1", "Invalid job configuration"),
        211,
        ["3", "jobSubId=JOB_1", "errorCode=1202", "errorMsg=Invalid job configuration"],
    ),
    (
        "4.1: 212",
        K.TERMINATE_JOB,
        terminate_error(1, "16777222", "No such job"),
        212,
        ["3", "jobId=16777222", "errorCode=1203", "errorMsg=No such job"],
    ),
    *[
        ("3.1: answer them with OK", kind, ok(1), 0, [])
        for kind in sorted(
            set(COMMANDS.values()) - {K.QUIT, K.INIT, K.MODEL_DEF, K.START_EVENTS, K.STOP_EVENTS}
        )
    ],
]


@pytest.mark.parametrize(("section", "kind", "answer", "number", "arguments"), REPLIES)
def test_answers(section: str, kind: K, answer: Event, number: int, arguments: list[str]) -> None:
    connection = connected()
    assert ask(connection, kind, 1, "a=b") == Command(kind, 1, ("a=b",))
    assert connection.open_commands == {0: K.START_EVENTS, 1: kind}
    assert connection.send(answer) == encode_frame(number, 1, arguments), section
    assert connection.open_commands == {0: K.START_EVENTS}
    with pytest.raises(LocalError, match="transaction 1 is not open"):
        connection.send(answer)


# Sessions


def test_the_seeds_phase_example() -> None:
    """docs/protocols/ptp.md, 5.2, with START_EVENTS's OK as in 5.3."""
    connection = Connection()
    new = [group("16777217", name="vm", machineState="UP")]
    assert ask(connection, K.INIT, 1, *INIT) == Command(K.INIT, 1, INIT)
    assert phase_of(connection) is Phase.INITIALIZE
    assert connection.send(ok(1)) == b"00000017 0000:00000001:00000000"
    assert ask(connection, K.MODEL_DEF, 2) == Command(K.MODEL_DEF, 2)
    assert phase_of(connection) is Phase.DISCOVERY
    expected = ["1", "8", "NODES", "INTEGER", "Nodes", "", "true", "1", "1", "64"]
    for _ in range(2):
        sent = connection.send(define_attributes(2, [DEFINITION]))
        assert sent == encode_frame(0xFB, 2, tuple(expected))
    assert connection.send(ok(2)) == b"00000017 0000:00000002:00000000"
    assert ask(connection, K.START_EVENTS, 3) == Command(K.START_EVENTS, 3)
    assert phase_of(connection) is Phase.NORMAL
    assert connection.send(new_elements(Element.MACHINE, 16777216, new))[9:22] == b"00dd:00000003"
    assert connection.send(new_elements(Element.NODE, 16777217, new))[9:22] == b"00de:00000003"
    assert ask(connection, K.STOP_EVENTS, 4) == Command(K.STOP_EVENTS, 4)
    both = b"00000017 0000:00000003:00000000" + b"00000017 0000:00000004:00000000"
    assert connection.send(ok(4)) == both
    assert phase_of(connection) is Phase.SUSPENDED
    assert ask(connection, K.START_EVENTS, 5) == Command(K.START_EVENTS, 5)
    assert connection.send(new_elements(Element.QUEUE, 16777216, new))[9:22] == b"00e0:00000005"
    assert ask(connection, K.QUIT, 6) == Command(K.QUIT, 6)
    both = b"00000017 0000:00000005:00000000" + b"00000017 0006:00000006:00000000"
    assert connection.send(shutdown(6)) == both
    assert phase_of(connection) is Phase.CLOSED
    assert connection.next_event() is InputState.CLOSED


def test_several_commands_wait() -> None:
    """docs/protocols/ptp.md, 2.1: no order is assumed."""
    connection = connected(start=9)
    for tid in (0xFFFFFFFF, 0, 5):
        ask(connection, K.SUBMIT_JOB, tid)
    assert connection.send(ok(5))[9:] == b"0000:00000005:00000000"
    assert connection.send(submit_error(0xFFFFFFFF, "J", "no"))[9:22] == b"00d3:ffffffff"
    assert connection.open_commands == {9: K.START_EVENTS, 0: K.SUBMIT_JOB}


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.CLOSED])
def test_every_command_in_every_phase(phase: Phase) -> None:
    """docs/protocols/ptp.md, 5.2: illegal commands are discarded, and change nothing."""
    for kind in COMMANDS.values():
        connection = in_phase(phase)
        before = dict(connection.open_commands)
        found = ask(connection, kind, 77, *(INIT if kind is K.INIT else ()))
        if kind in ALLOWED_COMMANDS[phase]:
            assert isinstance(found, Command), kind
            assert connection.phase is ALLOWED_COMMANDS[phase][kind]
            continue
        assert found == DiscardedCommand(f"{kind} is out of phase in {phase.value}", 77)
        assert connection.phase is phase, kind
        assert connection.open_commands == before, kind


def in_phase(phase: Phase) -> Connection:
    if phase is Phase.STOPPING:
        connection = connected()
        ask(connection, K.STOP_EVENTS, 1)
    elif phase is Phase.QUITTING:
        connection = connected()
        ask(connection, K.QUIT, 1)
    else:
        connection = connected(phase)
    assert connection.phase is phase
    return connection


def test_which_commands_the_phases_take() -> None:
    """docs/protocols/ptp.md, 5.2: the order is INIT, MODEL_DEF, {START_EVENTS, STOP_EVENTS}."""
    taken = {phase: sorted(set(ALLOWED_COMMANDS[phase]) - {K.QUIT}) for phase in Phase}
    assert taken[Phase.CONNECTED] == [K.INIT]
    assert taken[Phase.INITIALIZED] == [K.MODEL_DEF]
    assert taken[Phase.SUSPENDED] == [K.START_EVENTS]
    assert set(taken[Phase.NORMAL]) == set(K) - {K.QUIT, K.INIT, K.MODEL_DEF, K.START_EVENTS}
    for phase in (Phase.INITIALIZE, Phase.DISCOVERY, Phase.STOPPING, Phase.QUITTING):
        assert taken[phase] == []
    assert all((K.QUIT in ALLOWED_COMMANDS[p]) is (p not in {Phase.QUITTING, Phase.CLOSED}) for p in Phase)


def test_the_seeds_numbers_of_three_commands() -> None:
    """docs/protocols/ptp.md, 3.3: 7, 8 and 9 collide; the default is 3.1."""
    for number, ours, seeds in [
        (7, K.FILTER_EVENTS, K.MOVE_JOB),
        (8, K.SUSPEND_EVENTS, K.CHANGE_JOB),
        (9, K.RESUME_EVENTS, K.LIST_FILTERS),
    ]:
        assert COMMANDS[number] is ours
        assert DRAFT_COMMANDS[number] is seeds
        for option, kind in ((False, ours), (True, seeds)):
            connection = connected(draft_commands=option)
            found = ask(connection, number, 1, "jobId=16777222", "queueId=16777221")
            assert isinstance(found, Command)
            assert found.kind is kind
            assert found.get_value("queueId") == "16777221"
            assert connection.send(ok(1)) == b"00000017 0000:00000001:00000000"


@pytest.mark.parametrize("number", [14, 100, 0xFFFF])
def test_an_unknown_command(number: int) -> None:
    found = ask(connected(), number, 3)
    assert found == DiscardedCommand(f"no command has the number {number:04x}", 3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("version=2.1", "baseId=16777216"), "version '2.1' of the protocol; this is 2.0"),
        (("baseId=16777216",), "version '' of the protocol"),
        (("2.0", "x"), "the base id 'x', not a number"),
        (("version=2.0",), "the base id '', not a number"),
        (("version=2.0", "baseId=x"), "the base id 'x', not a number"),
        (("version=2.0", "baseId=-1"), "the base id '-1'"),
        (("version=2.0", "baseId=2147483647"), "the base id '2147483647'"),
        (("version=2.0", "baseId=" + "9" * 5000), "characters"),
    ],
)
def test_a_wrong_init(arguments: tuple[str, ...], text: str) -> None:
    """docs/protocols/ptp.md, 5.3 and 6.2: refuses version != 2.0 with ERROR, which has errorCode and errorMsg."""
    connection = Connection()
    found = ask(connection, K.INIT, 0, *arguments)
    assert isinstance(found, DiscardedCommand)
    assert text in found.reason
    assert found.reply[8:22] == b" 0005:00000000"
    assert b" 00000001:2 0000000b:errorCode=1 " in found.reply
    assert f"errorMsg={found.reason}".encode() in found.reply
    assert connection.phase is Phase.CONNECTED
    assert connection.open_commands == {}
    assert ask(connection, K.INIT, 0, *INIT) == Command(K.INIT, 0, INIT)
    assert connection.base_id == 16777216


def test_init_and_model_def_that_fail() -> None:
    """docs/protocols/ptp.md, 3.1 and 6.2: ERROR only in INIT and MODEL_DEF."""
    connection = connected(Phase.INITIALIZE)
    expected = encode_frame(5, 0, ("2", "errorCode=2", "errorMsg=no"))
    assert connection.send(command_error(0, 2, "no")) == expected
    assert connection.phase is Phase.CONNECTED
    connection = connected(Phase.DISCOVERY)
    assert connection.send(command_error(0, 2, "no")) == expected
    assert connection.phase is Phase.INITIALIZED


# What the client would not survive

WRONG_ANSWERS: list[tuple[str, K, Event, str]] = [
    ("OK as the answer to QUIT", K.QUIT, ok(1), "OK does not answer QUIT"),
    ("ERROR for SUBMIT", K.SUBMIT_JOB, command_error(1, 1, "x"), "ERROR does not answer SUBMIT_JOB"),
    ("ERROR for TERMINATE", K.TERMINATE_JOB, command_error(1, 1, "x"), "ERROR does not answer TERMINATE"),
    ("ERROR for START_EVENTS", K.SUBMIT_JOB, command_error(0, 1, "x"), "ERROR does not answer START"),
    ("a lone OK for START_EVENTS", K.SUBMIT_JOB, ok(0), "OK does not answer START_EVENTS"),
    ("211 for TERMINATE", K.TERMINATE_JOB, submit_error(1, "J", "x"), "does not answer TERM"),
    ("212 for SUBMIT", K.SUBMIT_JOB, terminate_error(1, "5", "x"), "does not answer SUBMIT"),
    ("SHUTDOWN for SUBMIT", K.SUBMIT_JOB, shutdown(1), "SHUTDOWN does not answer SUBMIT_JOB"),
    ("ATTR_DEF for SUBMIT", K.SUBMIT_JOB, define_attributes(1, []), "ATTR_DEF does not answer SUBMIT_JOB"),
    ("a TID of no open command", K.SUBMIT_JOB, ok(7), "transaction 7 is not open"),
    ("MESSAGE, likewise", K.SUBMIT_JOB, message("INFO", "x", tid=7), "transaction 7 is not"),
    ("model events after QUIT", K.QUIT, GONE, "REMOVE_JOB is out of phase in QUITTING"),
    ("model events after STOP", K.STOP_EVENTS, GONE, "out of phase in STOPPING"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "arguments", "text"),
    [
        (command_error, (1, -1, "x"), "'-1' is outside 0 to"),
        (message, ("LOUD", "x"), "'LOUD' is not one of"),
        (remove_elements, (Element.NODE, RangeSet()), "an empty range set"),
        (remove_elements, (Element.PROCESS, ONE), "the job's id"),
        (remove_elements, (Element.NODE, ONE, 5), "need the job's id"),
        (change_elements, (Element.PROCESS, []), "need the job's id"),
        (new_elements, (Element.RM, 1, []), "no client knows NEW_RM"),
        (remove_elements, (Element.RM, ONE), "no client knows REMOVE_RM"),
    ],
)
def test_what_is_no_event(make: Callable[..., Event], arguments: tuple[object, ...], text: str) -> None:
    """docs/protocols/ptp.md, 6."""
    with pytest.raises(LocalError, match=text):
        make(*arguments)


@pytest.mark.parametrize(("what", "kind", "event", "text"), WRONG_ANSWERS)
def test_what_is_never_sent(what: str, kind: K, event: Event, text: str) -> None:
    """docs/protocols/ptp.md, 6."""
    connection = connected()
    ask(connection, kind, 1)
    before = connection.phase, dict(connection.open_commands)
    with pytest.raises(LocalError, match=text):
        connection.send(event)
    assert (connection.phase, dict(connection.open_commands)) == before, what
    right = shutdown(1) if kind is K.QUIT else ok(1)
    assert connection.send(right).endswith(b":00000001:00000000")


def test_nothing_after_shutdown() -> None:
    connection = connected()
    ask(connection, K.SUBMIT_JOB, 1)
    ask(connection, K.SUBMIT_JOB, 3)
    ask(connection, K.QUIT, 2)
    assert connection.send(ok(1)) == b"00000017 0000:00000001:00000000"
    connection.send(shutdown(2))
    for event in (ok(1), ok(3), shutdown(2), GONE, message("INFO", "x"), message("INFO", "x", tid=3)):
        with pytest.raises(LocalError):
            connection.send(event)
    connection.receive_data(encode_frame(5, 3))
    assert connection.next_event() is InputState.CLOSED


@pytest.mark.parametrize("phase", [p for p in Phase if p not in {Phase.QUITTING, Phase.CLOSED}])
def test_quit_in_any_phase(phase: Phase) -> None:
    """With the transaction of another command, that gets no OK: it would be one as the answer to QUIT."""
    connection = in_phase(phase)
    start = b"" if K.START_EVENTS not in connection.open_commands.values() else encode_frame(0, 0)
    ask(connection, K.QUIT, 5)
    assert connection.send(shutdown(5)) == start + b"00000017 0006:00000005:00000000"
    assert connection.phase is Phase.CLOSED
    connection = in_phase(phase)
    ask(connection, K.QUIT, 0)
    assert connection.send(shutdown(0)) == b"00000017 0006:00000000:00000000"


def test_silence_while_stopped() -> None:
    """docs/protocols/ptp.md, 5.3: sends nothing while stopped. A late answer waits for START_EVENTS."""
    connection = connected()
    ask(connection, K.SUBMIT_JOB, 1)
    ask(connection, K.TERMINATE_JOB, 2)
    ask(connection, K.STOP_EVENTS, 3)
    assert connection.send(ok(2)) == b"00000017 0000:00000002:00000000"
    both = b"00000017 0000:00000000:00000000" + b"00000017 0000:00000003:00000000"
    assert connection.send(ok(3)) == both
    assert connection.send(submit_error(1, "J", "late")) == b""
    with pytest.raises(LocalError):
        connection.send(GONE)
    assert not connection.wants_events
    ask(connection, K.START_EVENTS, 0)
    data = connection.send(GONE)
    assert data[9:22] == b"00d3:00000001"
    assert data.endswith(GONE_FRAME)
    assert connection.send(GONE) == GONE_FRAME


def test_a_late_answer_comes_before_shutdown() -> None:
    connection = connected()
    ask(connection, K.SUBMIT_JOB, 1)
    ask(connection, K.STOP_EVENTS, 2)
    connection.send(ok(2))
    connection.send(ok(1))
    ask(connection, K.QUIT, 2)
    expected = b"00000017 0000:00000001:00000000" + b"00000017 0006:00000002:00000000"
    assert connection.send(shutdown(2)) == expected


def test_a_pause() -> None:
    """docs/protocols/ptp.md, 3.1: clients of July send SUSPEND_EVENTS and RESUME_EVENTS."""
    connection = connected()
    assert wants(connection)
    ask(connection, K.SUSPEND_EVENTS, 1)
    connection.send(ok(1))
    assert not wants(connection)
    assert connection.send(GONE)
    ask(connection, K.RESUME_EVENTS, 1)
    assert wants(connection)
    connection.send(ok(1))
    ask(connection, K.SUSPEND_EVENTS, 1)
    connection.send(ok(1))
    ask(connection, K.STOP_EVENTS, 1)
    connection.send(ok(1))
    ask(connection, K.START_EVENTS, 1)
    assert wants(connection)


def test_a_transaction_that_is_open_already() -> None:
    """docs/protocols/ptp.md, 2.1: TIDs are unique for uncompleted commands."""
    connection = connected()
    ask(connection, K.SUBMIT_JOB, 1)
    found = ask(connection, K.TERMINATE_JOB, 1, "jobId=5")
    assert found == DiscardedCommand("TERMINATE_JOB: transaction 1 is SUBMIT_JOB, and open", 1)
    found = ask(connection, K.SUBMIT_JOB, 0)
    assert found == DiscardedCommand("SUBMIT_JOB: transaction 0 is START_EVENTS, and open", 0)


def test_too_many_commands_wait() -> None:
    """Each is answered: what is one too many by its own error, what is done at once as ever.

    START_EVENTS stays open while events are sent, and does not count.
    """
    connection = connected(max_open=2, draft_commands=True)
    assert isinstance(ask(connection, K.SUBMIT_JOB, 1), Command)
    assert isinstance(ask(connection, K.SUBMIT_JOB, 2), Command)
    text = "2 commands wait already (try again later)"
    cases = [
        (K.SUBMIT_JOB, "jobSubId=J", submit_error(3, "J", f"SUBMIT_JOB: {text}")),
        (K.TERMINATE_JOB, "jobId=7", terminate_error(3, "7", f"TERMINATE_JOB: {text}")),
        (K.CHANGE_JOB, "jobId=7", command_error(3, ErrorCode.INTERNAL, f"CHANGE_JOB: {text}")),
        (K.MOVE_JOB, "jobId=7", command_error(3, ErrorCode.INTERNAL, f"MOVE_JOB: {text}")),
    ]
    numbers = {kind: number for number, kind in DRAFT_COMMANDS.items()}
    for kind, argument, answer in cases:
        found = ask(connection, numbers[kind], 3, argument)
        reply = encode_frame(answer.number, 3, answer.arguments)
        assert found == DiscardedCommand(f"{kind}: {text}", 3, reply)
    assert isinstance(ask(connection, K.SET_FILTERS, 3, "stdout"), Command)
    assert isinstance(ask(connection, K.QUIT, 3), Command)


def test_messages() -> None:
    connection = connected(Phase.DISCOVERY)
    with pytest.raises(LocalError, match="transaction None is not open"):
        connection.send(message("INFO", "x"))
    assert connection.send(message("INFO", "x", tid=0))[9:22] == b"0001:00000000"
    assert connected(start=4).send(message("INFO", "caf\u00e9"))[9:22] == b"0001:00000004"


def test_five_bad_frames_end_the_session() -> None:
    """docs/protocols/ptp.md, 6.4: 5 undecodable events close the session; so do we. Each is discarded alone."""
    connection = connected()
    bad = b"00000017 0005:0000000x:00000000"
    connection.receive_data(bad + encode_frame(5, 1) + bad * 4 + encode_frame(5, 2))
    found = connection.next_event()
    assert isinstance(found, DiscardedCommand)
    assert found.reason.endswith("TID must have 8 hexadecimal digits")
    assert connection.next_event() == Command(K.SUBMIT_JOB, 1)
    for _ in range(protocol.MAX_UNREADABLE_FRAMES - 2):
        assert isinstance(connection.next_event(), DiscardedCommand)
    with pytest.raises(RemoteError, match="TID must have"):
        connection.next_event()
    assert connection.phase is Phase.CLOSED
    assert connection.next_event() is InputState.CLOSED


def test_a_bad_length_ends_the_session() -> None:
    connection = connected()
    connection.receive_data(b"Content-Length: 5\r\n")
    with pytest.raises(RemoteError, match="LENGTH must have 8 hexadecimal digits"):
        connection.next_event()
    assert connection.phase is Phase.CLOSED


def test_the_client_goes_away() -> None:
    connection = connected()
    connection.receive_data(encode_frame(5, 1))
    connection.receive_data(b"")
    assert connection.next_event() == Command(K.SUBMIT_JOB, 1)
    assert connection.next_event() is InputState.CLOSED


def test_a_command_in_pieces() -> None:
    connection = Connection()
    data = encode_frame(1, 0, INIT)
    for at in range(len(data)):
        assert connection.next_event() is InputState.NEED_DATA
        connection.receive_data(data[at : at + 1])
    assert connection.next_event() == Command(K.INIT, 0, INIT)


def test_every_command_has_an_answer() -> None:
    assert set(ALLOWED_ANSWERS) == set(K)
    assert [kind for kind in K if not ALLOWED_ANSWERS[kind]] == [K.START_EVENTS]


def test_attributes_of_a_command() -> None:
    command = Command(K.SUBMIT_JOB, 1, ("env=A=b", "no", "env=C=", "=x"))
    assert command.attributes == (("env", "A=b"), ("env", "C="))
    assert command.get_value("env") == "A=b"
    assert command.get_value("queueId") == ""


# Any client at all

steps = st.lists(
    st.one_of(
        st.builds(
            encode_frame,
            st.integers(0, 14),
            st.integers(0, 3),
            st.lists(st.sampled_from([*INIT, "jobId=1", "x"]), max_size=3).map(tuple) | st.just(INIT),
        ),
        st.just(b"answer"),
        st.just(b"events"),
        st.binary(min_size=1, max_size=40),
    ),
    max_size=30,
)


@given(steps)
def test_any_client(sent: list[bytes]) -> None:
    """An agent that answers what it is given never breaks a rule, whatever the client does."""
    connection = Connection()
    client = strict.Client()
    for step in sent:
        if step == b"answer":
            answer_all(connection, client)
        elif step == b"events" and connection.wants_events:
            client.receive(connection.send(GONE))
        else:
            connection.receive_data(step)
        try:
            while not isinstance(found := connection.next_event(), InputState):
                follow(client, found)
        except RemoteError:
            assert connection.phase is Phase.CLOSED
            return
    answer_all(connection, client)


def follow(client: strict.Client, found: Command | DiscardedCommand) -> None:
    """Have the strict client know of the transactions that were taken."""
    if isinstance(found, Command):
        client.open[found.tid] = NUMBERS[found.kind]
    elif found.reply and found.tid is not None:
        client.open[found.tid] = strict.INIT
        client.receive(found.reply)


def answer_all(connection: Connection, client: strict.Client) -> None:
    for tid, kind in list(connection.open_commands.items()):
        if kind is K.QUIT:
            client.receive(connection.send(shutdown(tid)))
            return
        if kind is not K.START_EVENTS and tid in connection.open_commands:
            client.receive(connection.send(ok(tid)))
