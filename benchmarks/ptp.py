"""The promise of the PTP agent's model: 10 MB of frames a second, for 10,000 nodes and 1,000 jobs.

Made from nothing (START_EVENTS), and after a change of each node and each job. The same data as
`json.dumps` writes it is printed beside it: C code, that knows nothing of ids, types and changes.

And of an agent that gets many submissions at once: the ends of the first jobs are shown while the others are submitted, and
all are submitted in less time than by START's scripts alone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, deploy, heading, memory_directory, rounds, timed

import osprofile
from osprofile.executors.ptp.elements import Job, Process, encode_machine, encode_node, encode_queue
from osprofile.executors.ptp.events import ok
from osprofile.executors.ptp.model import Model
from osprofile.executors.ptp.protocol import Connection
from osprofile.executors.ptp.wire import FrameReader, RangeSet, encode_frame
from osprofile.jobs.shell.scripts import wrap_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NODES, JOBS, RANKS, IDS = 10_000, 1_000, 8, 100_000
BASE = 16_777_216
SPEED = 10.0
SUBMISSIONS = 200
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="bench" extends="linux">
  <osp:UspaceRoot>{root}/jobs</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""
MACHINE = {"machine": encode_machine("machine")}
QUEUES = {"batch": encode_queue("batch"), "long": encode_queue("long", "STOPPED")}
Nodes = list[tuple[str, str, str, int]]
"""The arguments of `encode_node`."""


def session() -> Connection:
    """Return a session in which events are sent."""
    connection = Connection()
    for number in (1, 2, 3):
        arguments = ["version=2.0", f"baseId={BASE}"] if number == 1 else []
        connection.receive_data(encode_frame(number, 0, arguments))
        connection.next_event()
        if number < 3:
            connection.send(ok(0))
    if not connection.wants_events:
        message = "the session does not begin"
        raise RuntimeError(message)
    return connection


def cluster(node_state: str, job_state: str) -> tuple[Nodes, list[Job]]:
    """Return simulated nodes and jobs, those jobs on these nodes."""
    nodes = [(f"node{n:05}", node_state, "idle", n) for n in range(NODES)]
    jobs = []
    for number in range(JOBS):
        ranks = [Process(job_state, f"node{number * RANKS + r:05}") for r in range(RANKS)]
        queue = list(QUEUES)[number % 2]
        job = Job(f"{number}.server", queue, f"job{number}", job_state, job_state, user="user")
        jobs.append(job._replace(processes=tuple(ranks)))
    return nodes, jobs


def as_json(nodes: Nodes, jobs: list[Job]) -> Callable[[], str]:
    """Return a function that writes the same data, ready as dictionaries, as JSON."""
    data = {
        "nodes": [dict(zip(("name", "state", "status", "number"), node, strict=True)) for node in nodes],
        "jobs": [
            {**job._asdict(), "processes": [process._asdict() for process in job.processes]} for job in jobs
        ],
    }
    return lambda: json.dumps(data)


def encode(nodes: Nodes) -> dict[str, tuple[str, ...]]:
    """Return the nodes as the model has them."""
    return {node[0]: encode_node(*node) for node in nodes}


def speed(what: str, size: int, work: Callable[[], object], count: int) -> None:
    """Print how many MB a second are made, the median of some rounds.

    The seconds are those of the processor: an absolute number says nothing about a busy machine.
    """
    took = []
    for _ in range(count):
        begin = time.process_time()
        work()
        took.append(time.process_time() - begin)
    found = size / statistics.median(took) / 1e6
    print(f"{what}: {found:.1f} MB/s (the aim is {SPEED:g} on a quiet machine), {size / 1e6:.2f} MB")


def read_groups(args: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield how many elements each group of an event has, and their attributes."""
    at = 1
    while at < len(args):
        spans = [span.split("-") for span in args[at].split(",")]
        size = int(args[at + 1])
        yield sum(int(span[-1]) - int(span[0]) + 1 for span in spans), args[at + 2 : at + 2 + size]
        at += 2 + size


class Submissions:
    """Jobs of `true` that are submitted to an agent at once; each is shown as new, and as ended."""

    def __init__(self, home: Path) -> None:
        (home / "bench.xml").write_text(PROFILE.format(root=home))
        self._environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home)}
        os.environ |= {"HOME": str(home)}
        deploy(osprofile.load("linux"))
        self._words = [sys.executable, "-m", "osprofile.executors.ptp.main", "--proxy=stdio", "--profile"]
        self._words.append(str(home / "bench.xml"))
        self._medians: dict[str, float] = {}

    def measure(self, what: str) -> Callable[[], float]:
        """Return a measure: the median of the seconds until a job is NEW, or COMPLETED, or until ALL are NEW, from one run."""

        def take() -> float:
            if what not in self._medians:
                self._medians = self._run()
            return self._medians.pop(what)

        return take

    def run_starts(self) -> float:
        """Return the seconds in which xargs runs START's scripts for as many jobs, two at a time."""
        profile = osprofile.load("linux")
        with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as root:
            for number in range(SUBMISSIONS):
                context = {"USER_NAME": "me", "WORKING_DIRECTORY": f"{root}/{number}.d"}
                start = osprofile.incarnate(
                    profile, "START", fields={"EXECUTABLE": "/bin/true"}, context=context
                )
                Path(f"{root}/{number}.sh").write_bytes(wrap_script(start.text))
            text = "\n".join(f"{root}/{number}.sh" for number in range(SUBMISSIONS))
            words = ["xargs", "-P", "2", "-n", "1", "sh", "-c", 'exec sh -s < "$0" > /dev/null']
            begin = time.perf_counter()
            subprocess.run(words, input=text, text=True, check=True)
            took = time.perf_counter() - begin
            ends = [Path(f"{root}/{number}.d/.gpe_exit_status") for number in range(SUBMISSIONS)]
            while not all(end.exists() for end in ends):
                time.sleep(0.1)
            return took

    def _run(self) -> dict[str, float]:
        reader, begin = FrameReader(1 << 20), 0.0
        moments: dict[str, list[float]] = {"NEW": [], "COMPLETED": []}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self._words, env=self._environment, bufsize=0, stdin=pipe, stdout=pipe
        ) as agent:
            if agent.stdin is None or agent.stdout is None:
                message = "the agent has no pipes"
                raise RuntimeError(message)
            agent.stdin.write(encode_frame(1, 0, ["version=2.0", f"baseId={BASE}"]))
            agent.stdin.write(encode_frame(2, 1, []) + encode_frame(3, 2, []))
            while len(moments["COMPLETED"]) < SUBMISSIONS:
                reader.receive_data(agent.stdout.read(1 << 16))
                for number, _, args in iter(reader.next_frame, None):
                    now = time.perf_counter() - begin
                    if number == 224:  # the queue
                        job = [f"queueId={args[2]}", "execPath=/bin", "execName=true"]
                        jobs = [encode_frame(5, 3 + n, [*job, f"jobSubId={n}"]) for n in range(SUBMISSIONS)]
                        begin = time.perf_counter()
                        agent.stdin.write(b"".join(jobs))
                    elif number in {220, 230}:
                        for ids, attributes in read_groups(args[1:] if number == 220 else args):
                            moments["NEW"] += [now] * ids * (number == 220)
                            moments["COMPLETED"] += [now] * ids * ("jobState=COMPLETED" in attributes)
            agent.stdin.write(encode_frame(0, 3 + SUBMISSIONS, []))
            agent.stdout.read()
        medians = {name: statistics.median(found) for name, found in moments.items()}
        return {**medians, "ALL": max(moments["NEW"])}


def main() -> int:
    """Compare and print; 1 where a promise is broken."""
    heading()
    count = rounds()
    connection = session()
    states = [cluster("UP", "RUNNING"), cluster("DOWN", "COMPLETED")]

    def whole() -> int:
        events = Model(BASE).update_elements(
            machine=MACHINE, queues=QUEUES, nodes=encode(states[0][0]), jobs=states[0][1]
        )
        return sum(len(connection.send(event)) for event in events)

    changing = Model(BASE)
    changing.update_elements(machine=MACHINE, queues=QUEUES, nodes=encode(states[1][0]), jobs=states[1][1])

    def change() -> float:
        """Return the seconds of one update in which everything has another state."""
        begin = time.perf_counter()
        for event in changing.update_elements(nodes=encode(states[0][0]), jobs=states[0][1]):
            connection.send(event)
        states.reverse()
        return time.perf_counter() - begin

    measure, peer = timed(whole, 1), timed(as_json(*states[0]), 1)
    speed("a model made from nothing", whole(), whole, count)
    held = []
    ids = list(range(BASE, BASE + IDS))
    others = "json.dumps of the same data"
    promises = [
        (Promise("a model made from nothing", others, 10), measure, peer),
        (Promise("every state changed", others, 15), change, peer),
        (
            Promise(f"a range set of {IDS} ids", "json.dumps of them", 4),
            timed(lambda: str(RangeSet.from_numbers(ids)), 1),
            timed(lambda: json.dumps(ids), 1),
        ),
    ]
    held += [compare(promise, ours, theirs, count) for promise, ours, theirs in promises]
    with memory_directory() as directory:
        submissions = Submissions(Path(directory))
        promise = Promise(f"the end of {SUBMISSIONS} jobs of true is shown", "that they are submitted", 2.1)
        measures = map(submissions.measure, ("COMPLETED", "NEW"))
        held.append(compare(promise, *measures, min(count, 5)))
        # The aim of 150 a second; a number alone says nothing on a busy machine.
        promise = Promise(f"{SUBMISSIONS} submissions at once", "START's scripts, two at a time", 1.2)
        held.append(compare(promise, submissions.measure("ALL"), submissions.run_starts, min(count, 5)))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
