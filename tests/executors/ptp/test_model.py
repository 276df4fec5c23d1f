"""The model: what a strict client knows after each update is what is there."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.executors.ptp.elements import (
    PTP_STATES,
    Attributes,
    Job,
    Process,
    encode_machine,
    encode_node,
    encode_queue,
    job_from_status,
)
from osprofile.executors.ptp.events import Element, Event, EventNumber, ok
from osprofile.executors.ptp.filters import parse_filter
from osprofile.executors.ptp.model import ID_SPACE_SIZE, MAX_GROUPS_PER_EVENT, IdAllocator, Model
from osprofile.executors.ptp.protocol import Connection, InputState
from osprofile.executors.ptp.wire import MAX_ID, LocalError, encode_frame
from osprofile.jobs.state import JobState, JobStatus
from tests.executors.ptp import client as strict
from tests.hunting import rounds

BASE = 16777216
VM = {"vm": encode_machine("vm")}


class Session:
    """A model, and a strict client that is told all of it."""

    def __init__(self) -> None:
        self.model = Model(BASE)
        self.connection = Connection()
        self.client = strict.Client()
        self.say(self.client.init())
        self.say(self.client.command(strict.MODEL_DEF))
        self.say(self.client.command(strict.START), answer=False)

    def say(self, data: bytes, *, answer: bool = True) -> None:
        self.connection.receive_data(data)
        found = self.connection.next_event()
        if answer and not isinstance(found, InputState) and found.tid is not None:
            self.client.receive(self.connection.send(ok(found.tid)))

    def tell(self, events: list[Event]) -> list[bytes]:
        frames = [self.connection.send(event) for event in events]
        for frame in frames:
            self.client.receive(frame)
        return frames

    def find_events(self, **there: Any) -> list[Event]:  # noqa: ANN401  # the arguments of `update_elements`
        """Have the model know what is there now."""
        for kind in ("nodes", "queues"):
            if there.get(kind) is not None:
                there[kind] = {attributes[0].removeprefix("name="): attributes for attributes in there[kind]}
        return self.model.update_elements(**there)

    def update(self, **there: object) -> list[bytes]:
        """Have the model know what is there now, and tell the client."""
        return self.tell(self.find_events(**there))

    def set_filter(self, id_: int | str, *arguments: str) -> None:
        self.model.set_filter(parse_filter([f"id={id_}", *arguments]))


def test_the_order_of_a_first_update() -> None:
    """docs/protocols/ptp.md, 6.5: machine, then nodes; queue, then jobs, then processes."""
    session = Session()
    process = Process("RUNNING", "n1")
    job = Job("1.srv", "batch", "job01", "RUNNING", processes=(process, process))
    frames = session.update(
        machine=VM, nodes=[encode_node("n1"), encode_node("n2")], queues=[encode_queue("batch")], jobs=[job]
    )
    vm, n1, n2, batch, job01 = (
        str(session.client.id_of(*named))
        for named in (("machine", "vm"), ("node", "n1"), ("node", "n2"), ("queue", "batch"), ("job", "job01"))
    )
    assert frames == [
        encode_frame(0xDD, 0, [str(BASE), "1", vm, "2", "name=vm", "machineState=UP"]),
        encode_frame(
            0xDE, 0, [vm, "2", n1, "2", "name=n1", "nodeState=UP", n2, "2", "name=n2", "nodeState=UP"]
        ),
        encode_frame(0xE0, 0, [str(BASE), "1", batch, "2", "name=batch", "queueState=NORMAL"]),
        encode_frame(0xDC, 0, [batch, "1", job01, "3", "name=job01", "jobState=RUNNING", "jobNumProcs=2"]),
        encode_frame(
            0xDF, 0,
            [job01, "2",
             "0", "4", "name=0", "processState=RUNNING", "processIndex=0", f"processNodeId={n1}",
             "1", "4", "name=1", "processState=RUNNING", "processIndex=1", f"processNodeId={n1}"],
        ),
    ]  # fmt: skip


def test_ten_thousand_nodes_are_one_frame() -> None:
    """10,000 nodes in one NEW_NODE; their ids follow each other."""
    session = Session()
    nodes, down = (
        [encode_node(f"n{n:05}", state, number=n) for n in range(10_000)] for state in ("UP", "DOWN")
    )
    events = session.find_events(machine=VM, nodes=nodes)
    assert [event.number for event in events] == [EventNumber.NEW_MACHINE, EventNumber.NEW_NODE]
    session.tell(events)
    assert len(session.client.elements["node"]) == 10_000
    ids = sorted(session.client.elements["node"])
    assert ids == list(range(ids[0], ids[0] + 10_000))
    (frame,) = session.update(nodes=down)
    args = ("1", f"{ids[0]}-{ids[-1]}", "1", "nodeState=DOWN")
    assert frame == encode_frame(0xE8, 0, args)
    (frame,) = session.update(nodes=[])
    assert frame == encode_frame(0xF3, 0, (f"{ids[0]}-{ids[-1]}",))


def test_many_processes_are_one_frame() -> None:
    """All processes of one state in one CHANGE_PROCESS; RANGE is ranks (docs/protocols/ptp.md, 4.1)."""
    session = Session()
    count = rounds(100_000, MAX_GROUPS_PER_EVENT + 4000)
    job = Job("1", "q", "big", "RUNNING", processes=(Process("RUNNING"),) * count)
    frames = session.update(jobs=[job])
    assert len(frames) == 2 + -(-count // MAX_GROUPS_PER_EVENT)
    id_ = session.client.id_of("job", "big")
    assert len(session.client.processes[id_]) == count
    done = job._replace(processes=(Process("COMPLETED", exit_code=0),) * count)
    (frame,) = session.update(jobs=[done])
    args = (str(id_), "1", f"0-{count - 1}", "2", "processState=COMPLETED", "processExitCode=0")
    assert frame == encode_frame(0xE9, 0, args)


def test_nothing_new_is_nothing_said() -> None:
    session = Session()
    job = Job("1", "q", "j", processes=(Process(),) * 3)
    there = {"machine": VM, "nodes": [encode_node("n")], "queues": [encode_queue("q")], "jobs": [job]}
    assert session.find_events(**there)
    assert session.find_events(**there) == []
    assert session.find_events(jobs=[Job("1", "q", "j", processes=(Process(),) * 3)]) == []
    assert session.find_events() == []


def test_only_what_changed_is_said() -> None:
    session = Session()
    jobs = [Job(str(number), "q", f"j{number}", "STARTING", "QUEUED") for number in range(6)]
    session.update(jobs=jobs)
    first = session.client.id_of("job", "j0")
    now = [job._replace(state="RUNNING", status="RUNNING") if int(job.key) < 3 else job for job in jobs]
    now[5] = now[5]._replace(status="HELD", state="SUSPENDED", message="by user")
    (frame,) = session.update(jobs=now)
    args = (
        "2", f"{first}-{first + 2}", "2", "jobState=RUNNING", "jobStatus=RUNNING",
        str(first + 5), "3", "jobState=SUSPENDED", "jobStatus=HELD", "jobStatusMessage=by user",
    )  # fmt: skip
    assert frame == encode_frame(0xE6, 0, args)
    now[5] = now[5]._replace(message="")
    (frame,) = session.update(jobs=now)
    assert frame == encode_frame(0xE6, 0, ("1", str(first + 5), "1", "jobStatusMessage="))
    (frame,) = session.update(jobs=now[3:])
    assert frame == encode_frame(0xF1, 0, (f"{first}-{first + 2}",))


def test_processes_come_and_go() -> None:
    session = Session()
    job = Job("1", "q", "j", "RUNNING", processes=(Process("RUNNING"),) * 4)
    session.update(jobs=[job])
    id_ = session.client.id_of("job", "j")
    fewer = job._replace(processes=(Process("RUNNING"), Process("COMPLETED", signal="SIGKILL")))
    frames = session.update(jobs=[fewer])
    assert frames == [
        encode_frame(0xE6, 0, ("1", str(id_), "1", "jobNumProcs=2")),
        encode_frame(0xF4, 0, (str(id_), "2-3")),
        encode_frame(
            0xE9, 0, (str(id_), "1", "1", "2", "processState=COMPLETED", "processSignalName=SIGKILL")
        ),
    ]
    session.update(jobs=[job])
    assert len(session.client.processes[id_]) == 4


def test_a_process_on_an_unknown_node() -> None:
    """docs/protocols/ptp.md, 6.5: an unknown processNodeId is fatal."""
    session = Session()
    job = Job("1", "q", "j", "RUNNING", processes=(Process("RUNNING", "late"),))
    session.update(machine=VM, nodes=[encode_node("n")], jobs=[job])
    id_ = session.client.id_of("job", "j")
    assert "processNodeId" not in session.client.processes[id_][0]
    session.update(nodes=[encode_node("n"), encode_node("late")])
    late = session.client.id_of("node", "late")
    assert session.client.processes[id_][0]["processNodeId"] == str(late)
    assert [e.number for e in session.find_events(nodes=[encode_node("n")])] == [EventNumber.REMOVE_NODE]
    assert session.model.build_output_events("1", [0], stdout="x")


def test_a_queue_that_nobody_lists() -> None:
    """docs/protocols/ptp.md, 6.5: NEW_JOB in an unknown queue is dropped."""
    session = Session()
    session.update(queues=[encode_queue("a")], jobs=[Job("1", "hidden", "j")])
    assert session.client.by_name("queue").keys() == {"a", "hidden"}
    session.update(queues=[])
    assert session.client.by_name("queue").keys() == {"hidden"}
    session.update(queues=[], jobs=[])
    assert not session.client.elements["queue"]
    assert not session.client.elements["job"]


def test_a_job_that_moves_stays_where_it_was_told() -> None:
    session = Session()
    queues = [encode_queue("a"), encode_queue("b")]
    session.update(queues=queues, jobs=[Job("1", "a", "j")])
    moved = Job("1", "b", "j", "RUNNING")
    (frame,) = session.update(jobs=[moved])
    assert frame[9:13] == b"00e6"
    assert session.find_events(jobs=[moved]) == []
    session.update(queues=[encode_queue("b")])
    assert session.client.by_name("queue").keys() == {"a", "b"}


def test_names_by_id() -> None:
    """docs/protocols/ptp.md, 3.1 and 3.2: jobId and queueId are element ids."""
    session = Session()
    model = session.model
    session.update(queues=[encode_queue("q")], jobs=[Job("1.srv", "q", "j")])
    job, queue = model.find_id(Element.JOB, "1.srv"), model.find_id(Element.QUEUE, "q")
    assert model.find_key(Element.JOB, str(job)) == "1.srv"
    assert model.find_key(Element.QUEUE, str(queue)) == "q"
    for id_ in (str(queue), "", "x", "-1", "9" * 5000, "\u0661", str(BASE)):
        assert model.find_key(Element.JOB, id_) is None
    model.update_elements(jobs=[])
    assert model.find_key(Element.JOB, str(job)) is None
    assert model.find_id(Element.JOB, "1.srv") is None


def test_output() -> None:
    """docs/protocols/ptp.md, 4.3: where the original agents put it, processStdout and processStderr."""
    session = Session()
    model = session.model
    session.update(jobs=[Job("1", "q", "j", "RUNNING", processes=(Process(),) * 4)])
    id_ = str(session.client.id_of("job", "j"))
    for _ in range(2):  # the same words twice are said twice
        (frame,) = session.tell(model.build_output_events("1", range(9), stdout="caf\u00e9\n", stderr="e"))
        args = (id_, "1", "0-3", "2", "processStdout=caf\\xe9\n", "processStderr=e")
        assert frame == encode_frame(0xE9, 0, args)
    assert model.build_output_events("1", [7], stdout="x") == []
    assert model.build_output_events("2", [0], stdout="x") == []
    assert model.build_output_events("1", [0]) == []


@pytest.mark.parametrize(
    ("before", "state", "has_run", "sub_id", "told"),
    [
        (None, "COMPLETED", True, "J", ["RUNNING", "COMPLETED"]),
        (None, "COMPLETED", True, "", ["COMPLETED"]),  # nobody waits for it
        (None, "COMPLETED", False, "J", ["COMPLETED"]),
        (None, "RUNNING", True, "J", ["RUNNING"]),
        (False, "COMPLETED", True, "", ["RUNNING", "COMPLETED"]),
        (False, "COMPLETED", False, "J", ["COMPLETED"]),
        (True, "COMPLETED", True, "J", ["COMPLETED"]),
    ],
)
def test_a_job_is_told_running_before_its_end(
    before: bool | None, state: str, has_run: bool, sub_id: str, told: list[str]
) -> None:
    """Eclipse completes a launch at RUNNING. `before`: whether the job had run when it was sent last."""
    session = Session()
    if before is not None:
        session.update(jobs=[Job("1", "q", "j", has_run=before)])
    ended = (Process(state, exit_code=3, signal="SIGKILL"),)
    job = Job("1", "q", "j", state, "FAILED", "why", sub_id, processes=ended, has_run=has_run)
    steps = session.model.plan_updates([job])
    assert [step[0].state for step in steps] == told
    assert steps[-1] == [job]
    if len(steps) == 2:
        running = Job(
            "1", "q", "j", "RUNNING", "RUNNING", "", sub_id, processes=(Process("RUNNING"),), has_run=True
        )
        assert steps[0] == [running]


# Ids


def test_ids_are_above_the_base_and_in_blocks() -> None:
    ids = IdAllocator(BASE)
    assert ids.allocate_ids(Element.MACHINE, 1) == range(BASE + 1, BASE + 2)
    nodes = ids.allocate_ids(Element.NODE, 10_000)
    jobs = [ids.allocate_ids(Element.JOB, 1)[0] for _ in range(4096)]
    queues = ids.allocate_ids(Element.QUEUE, 3)
    assert len(nodes) == 10_000
    assert jobs == list(range(jobs[0], jobs[0] + 4096))
    assert len({*nodes, *jobs, *queues, BASE + 1}) == 10_000 + 4096 + 3 + 1


def test_ids_are_used_up() -> None:
    """docs/protocols/ptp.md, 2.2: baseId = n<<24, and no id of the next resource manager is taken."""
    ids = IdAllocator(BASE)
    assert ids.allocate_ids(Element.NODE, ID_SPACE_SIZE - 1)[-1] == BASE + ID_SPACE_SIZE - 1
    with pytest.raises(LocalError, match="used up"):
        ids.allocate_ids(Element.JOB, 1)
    with pytest.raises(LocalError, match="used up"):
        IdAllocator(MAX_ID - 5).allocate_ids(Element.MACHINE, 1)


# States


@pytest.mark.parametrize(
    ("state", "told", "status"),
    [
        (JobState.QUEUED, "STARTING", "QUEUED"),
        (JobState.HELD, "SUSPENDED", "HELD"),
        (JobState.RUNNING, "RUNNING", "RUNNING"),
        (JobState.DONE, "COMPLETED", "DONE"),
        (JobState.FAILED, "COMPLETED", "FAILED"),
        (JobState.REMOVED, "COMPLETED", "REMOVED"),
        (JobState.LOST, "COMPLETED", "LOST"),
        (JobState.UNKNOWN, "STARTING", "XX"),
    ],
)
def test_states(state: JobState, told: str, status: str) -> None:
    """docs/protocols/ptp.md, 4.3: there is no QUEUED, STARTING plus jobStatus; docs/ptp.md: LOST is COMPLETED."""
    job = job_from_status(JobStatus("1", state, native_state="XX", reason="why"), queue="q", process_count=2)
    assert (job.state, job.status, job.message, job.name) == (told, status, "why", "1")
    assert (state in PTP_STATES) is (state is not JobState.UNKNOWN)
    assert {p.state for p in job.processes} == ({told} if told in {"RUNNING", "COMPLETED"} else set())


def test_an_unknown_state_changes_none() -> None:
    running = job_from_status(JobStatus("1", JobState.RUNNING), queue="q")
    unknown = JobStatus("1", JobState.UNKNOWN, native_state="ZZ")
    job = job_from_status(unknown, queue="q", previous=running)
    assert (job.state, job.status) == ("RUNNING", "ZZ")
    assert job.processes == running.processes


def test_a_running_job_that_is_held() -> None:
    running = job_from_status(JobStatus("1", JobState.RUNNING), queue="q", process_count=2)
    held = job_from_status(JobStatus("1", JobState.HELD), queue="q", process_count=2, previous=running)
    assert held.processes == (Process("SUSPENDED"),) * 2


def test_processes_are_spread_over_the_hosts() -> None:
    status = JobStatus("1", JobState.DONE, exit_code=3, hosts=("a", "b"))
    job = job_from_status(status, queue="q", process_count=5)
    assert [p.node for p in job.processes] == ["a", "a", "a", "b", "b"]
    assert {p.exit_code for p in job.processes} == {3}
    killed = job_from_status(JobStatus("1", JobState.FAILED, signal=9), queue="q")
    assert killed.processes == (Process("COMPLETED", signal="SIGKILL"),)


# Any history

states = st.sampled_from(["STARTING", "RUNNING", "SUSPENDED", "COMPLETED"])
names = st.sampled_from([f"n{number}" for number in range(6)])
nodes = st.builds(
    encode_node, names, st.sampled_from(["UP", "DOWN"]), st.sampled_from(["", "idle"]), st.none()
)
queues = st.builds(encode_queue, st.sampled_from("abc"), st.sampled_from(["NORMAL", "STOPPED"]), st.just(""))
processes = st.builds(
    Process, states, st.none() | names, st.none() | st.integers(0, 255), st.sampled_from(["", "S"]),
)  # fmt: skip
jobs = st.builds(
    Job,
    key=st.sampled_from([f"{number}.srv" for number in range(5)]),
    queue=st.sampled_from("abcd"),
    name=st.sampled_from(["x", "y"]),
    state=states,
    status=st.sampled_from(["", "Q", "R"]),
    message=st.sampled_from(["", "why"]),
    sub_id=st.just(""),
    user=st.just(""),
    processes=st.lists(processes, max_size=5).map(tuple),
)


class Update(NamedTuple):
    """What is there; None: as before."""

    nodes: list[Attributes] | None
    queues: list[Attributes] | None
    jobs: list[Job] | None


updates = st.builds(
    Update,
    st.none() | st.lists(nodes, unique_by=lambda node: node[0]),
    st.none() | st.lists(queues, unique_by=lambda queue: queue[0]),
    st.none() | st.lists(jobs, unique_by=lambda job: str(job[0])),
)


@settings(max_examples=rounds(200, 50))
@given(st.lists(updates, max_size=6))
def test_any_history(history: list[Update]) -> None:
    """A client as strict as the original takes all of it, and knows what is there at the end."""
    session = Session()
    there_nodes: list[Attributes] = []
    there_jobs: list[Job] = []
    for update in history:
        session.update(machine=VM, **update._asdict())
        assert session.find_events(machine=VM, **update._asdict()) == []
        there_nodes = there_nodes if update.nodes is None else update.nodes
        there_jobs = there_jobs if update.jobs is None else update.jobs
        check_nodes(session.client, there_nodes)
        check_jobs(session, there_jobs)


def check_nodes(client: strict.Client, nodes: list[Attributes]) -> None:
    known = [{"nodeStatus": ""} | node for node in client.elements["node"].values()]
    wanted = [{"nodeStatus": ""} | dict(text.split("=", 1) for text in node) for node in nodes]
    assert sorted(known, key=str) == sorted(wanted, key=str)


def check_jobs(session: Session, jobs: list[Job]) -> None:
    client = session.client
    ids = {session.model.find_id(Element.JOB, job.key): job for job in jobs}
    assert set(ids) == set(client.elements["job"])
    known = {node["name"]: str(id_) for id_, node in client.elements["node"].items()}
    for id_, job in ids.items():
        assert id_ is not None
        told = client.elements["job"][id_]
        assert (told["name"], told["jobState"]) == (job.name, job.state)
        assert told.get("jobStatus", "") == job.status
        assert told.get("jobStatusMessage", "") == job.message
        ranks = client.processes.get(id_, {})
        assert sorted(ranks) == list(range(len(job.processes)))
        for rank, process in enumerate(job.processes):
            assert ranks[rank]["processState"] == process.state
            assert ranks[rank].get("processSignalName", "") == process.signal
            if process.node in known:
                assert ranks[rank]["processNodeId"] == known[process.node]


@pytest.mark.parametrize(
    "wrong",
    [
        [Job("1", "q", "j", "RUNNING"), Job("2", "q", "j", "QUEUED")],
        [Job("1", "q", "j", processes=(Process("LOST"),))],
        [Job("1", "q", "j", "RUNNING", processes=(Process(exit_code=2**31),))],
    ],
)
def test_what_is_refused_changes_nothing(wrong: list[Job]) -> None:
    """docs/protocols/ptp.md, 6.5: an illegal enum value is dropped."""
    session = Session()
    session.update(machine=VM, nodes=[encode_node("n")], jobs=[Job("1", "q", "j")])
    with pytest.raises(LocalError, match=r"is not one of|32 bits"):
        session.find_events(nodes=[], jobs=wrong)
    down, running = encode_node("n", "DOWN"), Job("1", "q", "j", "RUNNING", processes=(Process(),))
    session.update(nodes=[down], jobs=[running])
    check_nodes(session.client, [down])
    check_jobs(session, [running])


def test_changes_hold_something() -> None:
    model = Model(BASE)
    model.update_elements(jobs=[Job("1", "q", "j", processes=(Process(exit_code=1),))])
    events = model.update_elements(jobs=[Job("1", "q", "j", processes=(Process(),))])
    assert events == []
