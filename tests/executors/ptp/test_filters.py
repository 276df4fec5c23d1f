"""Filters: what they let pass, and that a filtered model is a part of the whole one."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.errors import ValueRefusedError
from osprofile.executors.ptp import filters
from osprofile.executors.ptp.elements import Job, Process, encode_node, encode_queue
from osprofile.executors.ptp.events import (
    Element,
    ElementGroup,
    EventNumber,
    change_elements,
    new_elements,
    remove_elements,
)
from osprofile.executors.ptp.filters import Filter, Filters, parse_filter
from osprofile.executors.ptp.wire import RangeSet, encode_frame
from tests.executors.ptp.client import JOB, MACHINE, NODE, QUEUE, Client
from tests.executors.ptp.test_model import BASE, VM, Session, Update, updates
from tests.hunting import rounds

UP = ("name=n1", "nodeState=UP", "nodeStatus=idle")


def passes(*arguments: str, attributes: tuple[str, ...] = UP) -> bool:
    filters_ = Filters()
    return filters_.passes_filter(parse_filter(("id=7", *arguments)), attributes)


# (what, arguments, whether UP passes)
CASES: list[tuple[str, list[str], bool]] = [
    ("no expression", [], True),
    ("it matches somewhere", ["nodeStatusFilter=dl"], True),
    ("the whole value, where it says so", ["nodeStatusFilter=^dl$"], False),
    ("an empty expression", ["nameFilter="], True),
    ("an attribute that is not there is not asked for", ["jobStateFilter=RUNNING"], True),
    ("all must match", ["nodeStateFilter=UP", "nameFilter=n2"], False),
    ("two for one attribute", ["nameFilter=n", "nameFilter=2"], False),
    ("Java's syntax", [r"nameFilter=\p{javaLowerCase}\d\z"], True),
    ("Java's quantifiers", ["nameFilter=^n1++1$"], False),
    ("an expression may hold '='", ["nameFilter==|n"], True),
    ("what is no expression", ["name=x", "Filter=x", "foo", "=x"], True),
]


@pytest.mark.parametrize(("what", "arguments", "passing"), CASES)
def test_a_filter(what: str, arguments: list[str], passing: bool) -> None:
    assert passes(*arguments) is passing, what


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nameFilter=x"], "no element is given"),
        (["id="], "attribute id: '' is not an element id"),
        (["id=-1"], "'-1' is not an element id"),
        (["id=\u0661"], "is not an element id"),
        (["id=1", "filterChildren=TRUE"], "'TRUE' is neither true nor false"),
        (["id=1", "nameFilter=(x"], "attribute nameFilter: "),
        (["id=1", "nameFilter=" + "x" * 1025], "attribute nameFilter: an expression of 1025"),
        (["id=1", *["nameFilter=x"] * 33], "a filter of 33 expressions"),
    ],
)
def test_what_is_refused(arguments: list[str], text: str) -> None:
    with pytest.raises(ValueRefusedError, match=text):
        parse_filter(arguments)


def test_limits() -> None:
    """256 elements may have filters; a new one in an old one's place is none more."""
    held = Filters()
    for number in range(filters.MAX_FILTERS):
        held.set_filter(parse_filter([f"id={number}", "nameFilter=x"]))
    with pytest.raises(ValueRefusedError, match="256 elements have a filter already"):
        held.set_filter(parse_filter(["id=256", "nameFilter=x"]))
    held.set_filter(parse_filter(["id=0", "nameFilter=y"]))
    held.set_filter(parse_filter(["id=1"]))
    held.set_filter(parse_filter(["id=256", "nameFilter=x"]))
    assert len(held) == filters.MAX_FILTERS
    assert len(parse_filter(["id=0", *["aFilter=" + "x" * 1024] * 32]).expressions) == 32


def test_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is over every value passes, and no filter is left."""
    monkeypatch.setattr(filters, "MATCH_TIME_LIMIT", 0.0)
    held = Filters()
    held.set_filter(parse_filter(["id=7", "nameFilter=x"]))
    held.start_time_limit()
    assert held.accepts_element(7, None, UP)
    assert held.drop_all_if_overdue()
    assert not held


def ids(session: Session, kind: str, name: str) -> str:
    return str(session.client.id_of(kind, name))


def test_jobs_below_a_queue() -> None:
    """Byte for byte: what no longer matches is removed, what comes to match is new."""
    session = Session()
    jobs = [Job(str(n), "q", f"j{n}", "STARTING", "QUEUED") for n in range(3)]
    session.update(machine=VM, queues=[encode_queue("q"), encode_queue("other")], jobs=jobs)
    queue, first = ids(session, QUEUE, "q"), session.client.id_of(JOB, "j0")
    session.set_filter(queue, "filterChildren=true", "jobStateFilter=RUNNING|SUSPENDED")
    assert session.update() == [encode_frame(0xF1, 0, (f"{first}-{first + 2}",))]
    running = jobs[1]._replace(state="RUNNING", processes=(Process("RUNNING"),))
    attributes = ("name=j1", "jobState=RUNNING", "jobStatus=QUEUED", "jobNumProcs=1")
    process = ("name=0", "processState=RUNNING", "processIndex=0")
    assert session.update(jobs=[jobs[0], running, jobs[2]]) == [
        encode_frame(0xDC, 0, (queue, "1", str(first + 1), "4", *attributes)),
        encode_frame(0xDF, 0, (str(first + 1), "1", "0", "3", *process)),
    ]
    held = running._replace(state="SUSPENDED")
    assert session.update(jobs=[jobs[0], held]) == [
        encode_frame(0xE6, 0, ("1", str(first + 1), "1", "jobState=SUSPENDED"))
    ]
    assert session.model.find_key(Element.JOB, str(first)) == "0"  # it can be terminated still
    assert session.model.find_key(Element.JOB, str(first + 2)) is None  # it is gone, untold
    done = held._replace(state="COMPLETED")
    assert session.update(jobs=[jobs[0], done]) == [encode_frame(0xF1, 0, (str(first + 1),))]
    assert session.update(jobs=[]) == []
    assert session.model.find_key(Element.JOB, str(first)) is None


def test_what_is_below_something_hidden() -> None:
    """docs/protocols/ptp.md, 6.5: NEW_JOB in an unknown queue is dropped."""
    session = Session()
    job = Job("1", "q", "j", "RUNNING", processes=(Process("RUNNING", "n"),))
    session.update(machine=VM, nodes=[encode_node("n")], queues=[encode_queue("q")], jobs=[job])
    queue, node = ids(session, QUEUE, "q"), ids(session, NODE, "n")
    session.set_filter(queue, "queueStateFilter=STOPPED")
    session.set_filter(node, "nodeStateFilter=DOWN")
    assert [f[9:13] for f in session.update()] == [b"00f1", b"00f5", b"00f3"]
    session.update(queues=[encode_queue("q", "STOPPED")])
    (process,) = session.client.processes[session.client.id_of(JOB, "j")].values()
    assert "processNodeId" not in process  # an unknown node would end the client
    session.update(nodes=[encode_node("n", "DOWN")])
    assert process["processNodeId"] == node
    session.set_filter(BASE, "filterChildren=true", "machineStateFilter=X")
    assert [f[9:13] for f in session.update()] == [b"00f3", b"00f2"]
    session.set_filter(BASE)
    assert [f[9:13] for f in session.update()] == [b"00dd", b"00de", b"00e9"]
    assert process["processNodeId"] == node


def test_processes_below_a_job() -> None:
    session = Session()
    states = [Process("RUNNING"), Process("COMPLETED", exit_code=0), Process("RUNNING")]
    job = Job("1", "q", "j", "RUNNING", processes=tuple(states))
    session.update(machine=VM, jobs=[job])
    id_ = session.client.id_of(JOB, "j")
    session.set_filter(id_, "filterChildren=true", "processStateFilter=COMPLETED")
    removed = [remove_elements(Element.PROCESS, RangeSet(((0, 0), (2, 2))), id_)]
    assert session.find_events() == removed
    assert session.model.build_output_events("1", [0], stdout="x") == []
    assert len(session.model.build_output_events("1", [0, 1], stdout="x")) == 1
    now = job._replace(processes=(*states[:2], Process("COMPLETED", exit_code=1)))
    attributes = ("name=2", "processState=COMPLETED", "processIndex=2", "processExitCode=1")
    assert session.find_events(jobs=[now]) == [
        new_elements(Element.PROCESS, id_, [ElementGroup(2, attributes)])
    ]
    again = now._replace(processes=(*states[:2], Process("COMPLETED", exit_code=2)))
    assert session.find_events(jobs=[again]) == [
        change_elements(Element.PROCESS, [ElementGroup(RangeSet(((2, 2),)), ("processExitCode=2",))], id_)
    ]
    fewer = again._replace(processes=tuple(states[:1]))
    numbers = [event.number for event in session.find_events(jobs=[fewer])]
    assert numbers == [EventNumber.CHANGE_JOB, EventNumber.REMOVE_PROCESS]


def test_a_filter_of_no_element() -> None:
    session = Session()
    session.update(machine=VM, nodes=[encode_node("n")])
    node = ids(session, NODE, "n")
    session.set_filter(node, "nameFilter=x")
    session.update(nodes=[])
    with pytest.raises(ValueRefusedError, match="no element has the id"):
        session.set_filter(node, "nameFilter=x")
    session.update(nodes=[encode_node("n")])  # another one, of another id
    assert session.client.by_name(NODE).keys() == {"n"}


# Laws

EXPRESSIONS = st.sampled_from(
    ["nodeStateFilter=UP", "nodeStateFilter=^(DOWN|ERROR)$", "jobStateFilter=^(RUNNING|STARTING)$",
     "jobStatusFilter=^$|Q", "nameFilter=[^3x]$", "processStateFilter=RUNNING",
     "queueStateFilter=NORMAL", "machineStateFilter=UP", "processIndexFilter=[02]"]
)  # fmt: skip
PLACES = st.tuples(st.sampled_from([JOB, NODE, QUEUE, MACHINE, ""]), st.integers(0, 9), st.booleans())


class Refilter(NamedTuple):
    """An element, and the filter that it gets."""

    place: tuple[str, int, bool]
    expressions: list[str]


STEPS = st.lists(updates | st.builds(Refilter, PLACES, st.lists(EXPRESSIONS, max_size=2)), max_size=10)


def keep_queues(update: Update) -> Update:
    """Have each job in one queue for ever, as the agent has it."""
    jobs = update.jobs
    same = None if jobs is None else [job._replace(queue="abcd"[int(job.key[0]) % 4]) for job in jobs]
    return update._replace(jobs=same)


def refilter(session: Session, place: tuple[str, int, bool], expressions: list[str]) -> None:
    kind, number, children = place
    known = list(session.client.elements[kind]) if kind else [BASE]
    if known:
        new = parse_filter([f"id={known[number % len(known)]}", *expressions])
        session.model.set_filter(Filter(new.id, new.expressions, children))


NUMBERS = {"processNodeId", "processExitCode", "jobNumProcs"}


def known_of(client: Client) -> dict[str, object]:
    """Give all that a client knows; what is emptied, or is a number that cannot be, is left out."""

    def clean(attributes: dict[str, str]) -> dict[str, str]:
        return {k: v for k, v in attributes.items() if v and k not in NUMBERS}

    found: dict[str, object] = {
        f"{kind} {id_}": clean(a) for kind in client.elements for id_, a in client.elements[kind].items()
    }
    for job, ranks in client.processes.items():
        found |= {f"process {job} {rank}": clean(a) for rank, a in ranks.items()}
    return found


@settings(max_examples=rounds(200, 50), deadline=None)
@given(STEPS)
def test_filtered_and_then_not_is_what_is_told_without(steps: list[Update | Refilter]) -> None:
    """A strict client takes all of it; in between it knows a part, at the end the whole."""
    filtered, whole = Session(), Session()
    for session in (filtered, whole):
        session.update(machine=VM, nodes=[], queues=[], jobs=[])
    for step in steps:
        if isinstance(step, Update):
            there = keep_queues(step)._asdict()
            filtered.update(machine=VM, **there)
            whole.update(machine=VM, **there)
        else:
            refilter(filtered, *step)
            filtered.update()
        assert filtered.find_events() == []
        names = {
            kind: [a["name"] for a in filtered.client.elements[kind].values()] for kind in (NODE, QUEUE, JOB)
        }
        for kind, found in names.items():
            assert set(found) <= {a["name"] for a in whole.client.elements[kind].values()}
    filtered.model.clear_filters()
    filtered.update()
    assert by_names(filtered) == by_names(whole)


def by_names(session: Session) -> dict[str, object]:
    """Give what a client knows with keys in the place of ids, which may differ."""
    model, found = session.model, {}
    for key, value in known_of(session.client).items():
        kind, id_, *rank = key.split()
        element = Element.JOB if kind == "process" else Element[kind.upper()]
        found[" ".join((kind, str(model.find_key(element, id_)), *rank))] = value
    return found
