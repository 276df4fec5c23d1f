"""The model that a client was told, and the events that bring it up to date.

`Model.update` takes what is there now and gives the events for what differs from what was told, in
an order that a client can follow: what is gone, then machine, nodes, queues, jobs, processes.
Element ids are taken from blocks, one kind's ids beside each other, so that range sets stay short.
Sources: seed, "Numeric Element IDs"; the protocol page, "Events" and "What the original client
does".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.executors.ptp.attributes import PREDEFINED, AttributeType, encode
from osprofile.executors.ptp.elements import Queue
from osprofile.executors.ptp.errors import LocalError
from osprofile.executors.ptp.events import Change, Element, Group, ModelEvent, New, Remove
from osprofile.executors.ptp.ranges import LARGEST_ID, RangeSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job, Machine, Node, Process

    _Thing = TypeVar("_Thing", Job, Machine, Node, Queue)

IDS: Final = 2**24
"""How many ids a resource manager has: its base id is a multiple of this."""

MAX_GROUPS: Final = 16_384
"""The most elements that one NEW_ event tells one by one, so that a frame stays at about 2 MB: an
agent writes whole frames, and a client reads each of them whole."""

_BLOCK: Final = {Element.MACHINE: 16, Element.QUEUE: 256, Element.NODE: 4096, Element.JOB: 4096}
_NOT_EMPTIED: Final = "processNodeId"  # an unknown node ends the client


@final
class Ids:
    """Element ids above a base id, in blocks of one kind."""

    def __init__(self, base_id: int) -> None:
        self._next = base_id + 1
        self._end = min(base_id + IDS, LARGEST_ID)
        self._left: dict[Element, range] = {}

    def take(self, element: Element, count: int) -> range:
        """Give so many new ids that follow each other; `LocalError` when all are used up."""
        left = self._left.get(element, range(0))
        if len(left) < count:
            left = range(self._next, self._next + max(_BLOCK[element], count))
            if left.stop > self._end:
                raise LocalError("the resource manager has used up its element ids")
            self._next = left.stop
        self._left[element] = left[count:]
        return left[:count]


@final
@dataclass(slots=True)
class _KnownJob:
    """A job's queue cannot change, so it is the one that it was told in."""

    id: int
    job: Job
    attributes: tuple[str, ...]
    processes: tuple[Process, ...] = ()


@final
class Model:
    """What one client knows of machine, nodes, queues, jobs and processes."""

    def __init__(self, base_id: int) -> None:
        self._base = base_id
        self._ids = Ids(base_id)
        self._id_of: dict[Element, dict[str, int]] = {e: {} for e in _BLOCK}
        self._key_of: dict[int, tuple[Element, str]] = {}
        self._machine: Machine | None = None
        self._nodes: dict[str, Node] = {}
        self._queues: dict[str, Queue] = {}
        self._told: dict[Element, dict[str, tuple[str, ...]]] = {e: {} for e in _BLOCK}
        self._jobs: dict[str, _KnownJob] = {}

    def restart(self) -> None:
        """Take it that the client knows nothing any more; ids stay (START_EVENTS once more)."""
        self._machine = None
        self._nodes, self._queues, self._jobs = {}, {}, {}
        self._told = {element: {} for element in _BLOCK}

    def key_of(self, element: Element, id_: str) -> str | None:
        """Give the name of a node or a queue, or the key of a job, by its element id."""
        plain = id_.isascii() and id_.isdigit() and len(id_) <= 10
        found = self._key_of.get(int(id_)) if plain else None
        return found[1] if found is not None and found[0] is element else None

    def id_of(self, element: Element, key: str) -> int | None:
        """Give the element id of what was told, or was until `restart`."""
        return self._id_of[element].get(key)

    def update(
        self,
        *,
        machine: Machine | None = None,
        nodes: Iterable[Node] | None = None,
        queues: Iterable[Queue] | None = None,
        jobs: Iterable[Job] | None = None,
    ) -> list[ModelEvent]:
        """Give the events that tell what is there now; None: as before.

        Raises `LocalError`, and nothing has changed then, for a value that no client takes. Nodes
        need a machine, whose name stays what it was at first. A queue that a job is in is told even where it is not among `queues`.
        """
        if machine is None or self._machine is not None:
            machine = self._renamed(machine)
        node_map = self._nodes if nodes is None else {n.name: n for n in nodes}
        job_map = {k: j.job for k, j in self._jobs.items()} if jobs is None else _by_key(jobs)
        queue_map = self._queues if queues is None else {q.name: q for q in queues}
        queue_map = self._with_queues_of(job_map, queue_map)
        machine_map = {} if machine is None else {machine.name: machine}
        fresh = {
            Element.MACHINE: _fresh(machine_map, {}),
            Element.NODE: {} if machine is None else _fresh(node_map, self._nodes),
            Element.QUEUE: _fresh(queue_map, self._queues),
            Element.JOB: self._fresh_jobs(job_map),
        }
        events = [
            *self._gone(Element.JOB, job_map),
            *self._gone(Element.QUEUE, queue_map),
            *self._gone(Element.NODE, node_map),
        ]
        if machine is not None:
            events += self._elements(Element.MACHINE, self._base, fresh[Element.MACHINE])
            id_ = self._id_of[Element.MACHINE][machine.name]
            events += self._elements(Element.NODE, id_, fresh[Element.NODE])
            self._machine, self._nodes = machine, dict(node_map)
        events += self._elements(Element.QUEUE, self._base, fresh[Element.QUEUE])
        self._queues = dict(queue_map)
        events += self._told_jobs(job_map, fresh[Element.JOB], again=nodes is not None)
        return events

    def output(
        self, key: str, ranks: Iterable[int], *, stdout: str = "", stderr: str = ""
    ) -> list[ModelEvent]:
        """Give the event that tells what processes have written; none where the client knows none."""
        known = self._jobs.get(key)
        told = RangeSet.of(r for r in ranks if known and r < len(known.processes))
        pairs = (("processStdout", stdout), ("processStderr", stderr))
        texts = tuple(encode(id_, text) for id_, text in pairs if text)
        if known is None or not told.spans or not texts:
            return []
        return [Change(Element.PROCESS, [Group(told, texts)], known.id)]

    # Inside

    def _renamed(self, machine: Machine | None) -> Machine | None:
        if machine is None or self._machine is None:
            return self._machine
        return machine._replace(name=self._machine.name)

    def _with_queues_of(
        self, jobs: Mapping[str, Job], queues: Mapping[str, Queue]
    ) -> dict[str, Queue]:
        found = dict(queues)
        for key, job in jobs.items():
            name = self._jobs[key].job.queue if key in self._jobs else job.queue
            if name not in found:
                found[name] = self._queues.get(name) or Queue(name)
        return found

    def _gone(self, element: Element, there: Mapping[str, object]) -> list[ModelEvent]:
        told: dict[str, _KnownJob] | dict[str, tuple[str, ...]] = (
            self._jobs if element is Element.JOB else self._told[element]
        )
        ids = []
        for key in [key for key in told if key not in there]:
            del told[key]
            ids.append(self._id_of[element].pop(key))
            del self._key_of[ids[-1]]
        return [Remove(element, RangeSet.of(ids))] if ids else []

    def _elements(
        self, element: Element, parent: int, fresh: Mapping[str, tuple[str, ...]]
    ) -> Iterator[ModelEvent]:
        """Give NEW_ and CHANGE_ for elements that have no parts, by their attributes now."""
        told = self._told[element]
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in fresh if key not in told]
        for key, attributes in fresh.items():
            if key in told:
                _note_change(changes, self._id_of[element][key], told[key], attributes)
        ids = self._identified(element, new)
        groups = [Group(id_, fresh[key]) for key, id_ in zip(new, ids, strict=True)]
        told.update(fresh)
        yield from _new(element, parent, groups)
        if changes:
            yield Change(element, _groups(changes))

    def _fresh_jobs(self, jobs: Mapping[str, Job]) -> dict[str, tuple[str, ...]]:
        before = {key: known.job for key, known in self._jobs.items()}
        fresh = _fresh(jobs, before)
        for key in fresh:
            for process in set(jobs[key].processes):
                process.check()
        return fresh

    def _identified(self, element: Element, keys: Sequence[str]) -> list[int]:
        """Give the ids of elements, new ones where they have none."""
        known = self._id_of[element]
        missing = [key for key in keys if key not in known]
        for key, id_ in zip(missing, self._ids.take(element, len(missing)), strict=True):
            known[key] = id_
            self._key_of[id_] = (element, key)
        return [known[key] for key in keys]

    def _told_jobs(
        self, jobs: Mapping[str, Job], fresh: Mapping[str, tuple[str, ...]], *, again: bool
    ) -> Iterator[ModelEvent]:
        """Give the events for jobs; `again`: processes may be on nodes that are known just now."""
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in fresh if key not in self._jobs]
        for key, attributes in fresh.items():
            if key in self._jobs:
                known = self._jobs[key]
                _note_change(changes, known.id, known.attributes, attributes)
                known.attributes = attributes
                known.job = jobs[key]._replace(queue=known.job.queue)
        yield from self._new_jobs(new, jobs, fresh)
        if changes:
            yield Change(Element.JOB, _groups(changes))
        for key in jobs if again else fresh:
            yield from self._processes(self._jobs[key])

    def _new_jobs(
        self, keys: Sequence[str], jobs: Mapping[str, Job], fresh: Mapping[str, tuple[str, ...]]
    ) -> Iterator[ModelEvent]:
        by_queue: dict[str, list[Group]] = {}
        for key, id_ in zip(keys, self._identified(Element.JOB, keys), strict=True):
            self._jobs[key] = _KnownJob(id_, jobs[key], fresh[key])
            by_queue.setdefault(jobs[key].queue, []).append(Group(id_, fresh[key]))
        for queue, groups in by_queue.items():
            yield from _new(Element.JOB, self._id_of[Element.QUEUE][queue], groups)

    def _processes(self, known: _KnownJob) -> Iterator[ModelEvent]:
        """Give the events for the processes of a job; ranks are their ids."""
        nodes = self._told[Element.NODE]
        kinds = {process: process for process in set(known.job.processes)}
        for process in [p for p in kinds if p.node is not None and p.node not in nodes]:
            kinds[process] = process._replace(node=None)
        there = tuple([kinds[process] for process in known.job.processes])
        before, known.processes = known.processes, there
        if before == there:
            return
        if len(there) < len(before):
            gone = RangeSet.of(range(len(there), len(before)))
            yield Remove(Element.PROCESS, gone, known.id)
        attributes = self._process_attributes((*before, *there))
        groups = _new_processes(there, len(before), attributes)
        yield from _new(Element.PROCESS, known.id, groups)
        changes = _changed_processes(before, there, attributes)
        if changes:
            yield Change(Element.PROCESS, _groups(changes), known.id)

    def _process_attributes(self, processes: Iterable[Process]) -> dict[Process, tuple[str, ...]]:
        """Give the attributes of processes, by process: many are alike."""
        nodes, ids = self._told[Element.NODE], self._id_of[Element.NODE]
        found = {}
        for process in set(processes):
            known = process.node is not None and process.node in nodes
            found[process] = process.attributes(ids[process.node or ""] if known else None)
        return found


def _fresh(there: Mapping[str, _Thing], before: Mapping[str, _Thing]) -> dict[str, tuple[str, ...]]:
    """Give the attributes of what is not as it was."""
    return {key: thing.attributes() for key, thing in there.items() if before.get(key) != thing}


def _note_change(
    changes: dict[tuple[str, ...], list[int]],
    id_: int,
    before: tuple[str, ...],
    now: tuple[str, ...],
) -> None:
    """Put an element to the others that changed in the same way, if it did."""
    changed = _changed(before, now)
    if changed:
        changes.setdefault(changed, []).append(id_)


def _by_key(jobs: Iterable[Job]) -> dict[str, Job]:
    return {job.key: job for job in jobs}


def _changed(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Give the attributes that have another value now; a text that is gone is emptied."""
    known = set(before)
    changed = [attribute for attribute in now if attribute not in known]
    ids = {attribute.partition("=")[0] for attribute in now}
    gone = [id_ for id_ in (a.partition("=")[0] for a in before) if id_ not in ids]
    return (*changed, *(f"{id_}=" for id_ in gone if _can_be_emptied(id_)))


def _can_be_emptied(id_: str) -> bool:
    return id_ != _NOT_EMPTIED and PREDEFINED[id_].type is AttributeType.STRING


def _changed_processes(
    before: tuple[Process, ...],
    now: tuple[Process, ...],
    attributes: Mapping[Process, tuple[str, ...]],
) -> dict[tuple[str, ...], list[int]]:
    """Give the ranks of processes by what changed with them."""
    pairs: dict[tuple[Process, Process], list[int]] = {}
    for rank, pair in enumerate(zip(before, now, strict=False)):
        if pair[0] is not pair[1]:
            pairs.setdefault(pair, []).append(rank)
    changes: dict[tuple[str, ...], list[int]] = {}
    for (old, new), ranks in pairs.items():
        changed = _changed(attributes[old], attributes[new])
        if changed:
            changes.setdefault(changed, []).extend(ranks)
    return changes


def _new_processes(
    processes: tuple[Process, ...], begin: int, attributes: Mapping[Process, tuple[str, ...]]
) -> list[Group]:
    """Give a group for each process from a rank on, named by its rank."""
    groups = []
    for rank in range(begin, len(processes)):
        state, *others = attributes[processes[rank]]
        texts = (f"name={rank}", state, f"processIndex={rank}", *others)
        groups.append(Group(rank, texts))
    return groups


def _new(element: Element, parent: int, groups: Sequence[Group]) -> Iterator[New]:
    for begin in range(0, len(groups), MAX_GROUPS):
        yield New(element, parent, groups[begin : begin + MAX_GROUPS])


def _groups(changes: Mapping[tuple[str, ...], Iterable[int]]) -> list[Group]:
    return [Group(RangeSet.of(ids), attributes) for attributes, ids in changes.items()]
