"""A client as strict as the original: what that one drops, or dies of, is an AssertionError here.

docs/protocols/ptp.md, 4 and 6. It has no
socket: `command` gives bytes for the agent, `receive` takes what the agent said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from osprofile.executors.ptp.wire import FrameReader, RangeSet, encode_frame

QUIT, INIT, MODEL_DEF, START, STOP, SUBMIT, TERMINATE, FILTER, SUSPEND, RESUME = range(10)
JOB, MACHINE, NODE, PROCESS, QUEUE = "job", "machine", "node", "process", "queue"
NEW = {220: JOB, 221: MACHINE, 222: NODE, 223: PROCESS, 224: QUEUE}
CHANGE = {230: JOB, 231: MACHINE, 232: NODE, 233: PROCESS, 234: QUEUE}
REMOVE = {241: JOB, 242: MACHINE, 243: NODE, 244: PROCESS, 245: QUEUE}
ENUMERATIONS = {
    "jobState": {"STARTING", "RUNNING", "SUSPENDED", "COMPLETED"},
    "processState": {"STARTING", "RUNNING", "SUSPENDED", "COMPLETED"},
    "machineState": {"UP", "DOWN", "ALERT", "ERROR", "UNKNOWN"},
    "nodeState": {"UP", "DOWN", "ERROR", "UNKNOWN"},
    "queueState": {"NORMAL", "STOPPED"},
    "messageLevel": {"FATAL", "ERROR", "WARNING", "INFO", "DEBUG", "UNDEFINED"},
}
COMPLETIONS = {
    QUIT: {6},
    INIT: {0, 5},
    MODEL_DEF: {0, 5},
    START: {0},
    SUBMIT: {0, 211},
    TERMINATE: {0, 212},
    FILTER: {0, 5},
    10: {0, 5},
}
Attributes = dict[str, str]


def parse_range_set(text: str) -> RangeSet:
    """Return the set in a text; AssertionError for a malformed one (docs/protocols/ptp.md, 1.3)."""
    numbers = set[int]()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", part)
        assert match, f"{text!r} is not a range set"
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return RangeSet.from_numbers(numbers)


@dataclass
class Client:
    """What the client knows: open transactions, definitions, and the model by element id."""

    base_id: int = 16777216
    open: dict[int, int] = field(default_factory=dict)
    definitions: dict[str, list[str]] = field(default_factory=dict)
    elements: dict[str, dict[int, Attributes]] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    processes: dict[int, dict[int, Attributes]] = field(default_factory=dict)
    answers: list[tuple[int, int, list[str]]] = field(default_factory=list)
    states: dict[int, list[str]] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)
    completions: dict[int, set[int]] = field(default_factory=COMPLETIONS.copy)
    closed: bool = False

    def __post_init__(self) -> None:
        self._reader = FrameReader(2**31)
        self._forget()

    def _forget(self) -> None:
        self.elements = {kind: {} for kind in (JOB, MACHINE, NODE, QUEUE)}
        self.processes.clear()

    def command(self, kind: int, *arguments: str) -> bytes:
        """Give a command's bytes; its transaction is the lowest that is free."""
        tid = next(n for n in range(len(self.open) + 1) if n not in self.open)
        self.open[tid] = kind
        return encode_frame(kind, tid, arguments)

    def init(self) -> bytes:
        return self.command(INIT, "version=2.0", f"baseId={self.base_id}")

    def receive(self, data: bytes) -> None:
        """Take what the agent said."""
        assert not self.closed or not data, "something after SHUTDOWN"
        self._reader.receive_data(data)
        for number, tid, args in iter(self._reader.next_frame, None):
            assert tid in self.open, f"event {number} of transaction {tid}, which is not open"
            self.events.append(number)
            self._take(number, tid, self.open[tid], list(args))

    def _take(self, number: int, tid: int, kind: int, args: list[str]) -> None:
        if number in self.completions.get(kind, {0}):
            self._complete(number, tid, kind, args)
        elif number == 1:
            count, *pairs = args
            assert int(count) == len(pairs) == len(self._attributes(pairs)) == 3
        elif number == 251:
            assert kind == MODEL_DEF
            self._define(args)
        else:
            assert kind == START, f"event {number} in the transaction of command {kind}"
            self._model(number, args)

    def _complete(self, number: int, tid: int, kind: int, args: list[str]) -> None:
        del self.open[tid]
        self.answers.append((kind, number, args))
        if number in {5, 211, 212}:
            count, *pairs = args
            attributes = self._attributes(pairs)
            assert int(count) == len(pairs)
            assert 0 <= int(attributes["errorCode"]) < 2**31
            assert attributes["errorMsg"]
        else:
            assert not args
        if number == 6:
            self.closed = True

    def _define(self, args: list[str]) -> None:
        count = int(args.pop(0))
        for _ in range(count):
            size = int(args.pop(0))
            definition, args = args[:size], args[size:]
            assert definition[1] in {"STRING", "BOOLEAN", "INTEGER", "DOUBLE", "BIGINTEGER",
                                     "ENUMERATED"}  # fmt: skip
            assert definition[4] in {"true", "false"}
            self.definitions[definition[0]] = definition
        assert not args

    def _model(self, number: int, args: list[str]) -> None:
        if number == 240:
            assert not args
            self._forget()
        elif number in NEW:
            parent = int(args.pop(0))
            self._parent(NEW[number], parent)
            for ids, attributes in self._groups(args):
                self._new(NEW[number], parent, ids, attributes)
        elif number in CHANGE:
            job = int(args.pop(0)) if CHANGE[number] == PROCESS else None
            known = self._known(CHANGE[number], job)
            for ids, attributes in self._groups(args):
                assert attributes, "a change of nothing"
                for id_ in ids:
                    known[id_].update(attributes)
                    self._note_state(CHANGE[number], id_, attributes)
        else:
            job = int(args.pop(0)) if REMOVE[number] == PROCESS else None
            (text,) = args
            for id_ in parse_range_set(text):
                del self._known(REMOVE[number], job)[id_]
                if REMOVE[number] == JOB:
                    self.processes.pop(id_, None)

    def _known(self, kind: str, job: int | None) -> dict[int, Attributes]:
        if kind == PROCESS:
            assert job in self.elements[JOB], "the processes of an unknown job"
            return self.processes.setdefault(job, {})
        return self.elements[kind]

    def _parent(self, kind: str, parent: int) -> None:
        above = {NODE: MACHINE, JOB: QUEUE, PROCESS: JOB}.get(kind)
        assert parent in self.elements[above] if above else parent == self.base_id

    def _new(self, kind: str, parent: int, ids: RangeSet, attributes: Attributes) -> None:
        known = self._known(kind, parent if kind == PROCESS else None)
        for id_ in ids:
            assert id_ not in known, f"{kind} {id_} is told twice"
            known[id_] = dict(attributes)
            self._note_state(kind, id_, attributes)
            if kind != PROCESS:
                assert id_ > self.base_id
                kinds = [k for k, elements in self.elements.items() if id_ in elements]
                assert kinds == [kind], "one id for two elements"
                self.parents[id_] = parent

    def _note_state(self, kind: str, id_: int, attributes: Attributes) -> None:
        """Add a job's state to those that it was told in, in order."""
        if kind == JOB and "jobState" in attributes:
            self.states.setdefault(id_, []).append(attributes["jobState"])

    def _groups(self, args: list[str]) -> list[tuple[RangeSet, Attributes]]:
        count = int(args.pop(0))
        at, found = 0, []
        for _ in range(count):
            ids, size = parse_range_set(args[at]), int(args[at + 1])
            assert ids.spans
            found.append((ids, self._attributes(args[at + 2 : at + 2 + size])))
            at += 2 + size
        assert at == len(args)
        assert found
        return found

    def _attributes(self, pairs: list[str]) -> Attributes:
        found = {}
        for pair in pairs:
            id_, separator, value = pair.partition("=")
            assert separator
            assert id_ not in {"env", "progArgs", "debugArgs"}
            assert value in ENUMERATIONS.get(id_, {value})
            if id_ == "processNodeId":
                assert int(value) in self.elements[NODE], "a process on an unknown node"
            found[id_] = value
        assert len(found) == len(pairs), "an attribute twice"
        return found

    # What is known, by name

    def by_name(self, kind: str) -> dict[str, Attributes]:
        """Give the elements of a kind by their names; their attributes without the name."""
        return {a["name"]: {k: v for k, v in a.items() if k != "name"} for a in self.elements[kind].values()}

    def id_of(self, kind: str, name: str) -> int:
        """Give an element's id."""
        return next(id_ for id_, a in self.elements[kind].items() if a["name"] == name)
