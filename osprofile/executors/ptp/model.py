"""The model that a client was told, and the events that bring it up to date.

`Model.update` takes what is there now and gives the events for what differs from what was told, in
an order that a client can follow: what is gone, then machine, nodes, queues, jobs, processes.
What the client's filters let not pass is not told, nor what is below it; its ids stay its own.
Sources: the protocol page, "Events" and "What the original client does".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, final

from osprofile.errors import ValueRefusedError
from osprofile.executors.ptp.attributes import encode
from osprofile.executors.ptp.differences import (
    at,
    changed_processes,
    note_change,
    process_texts,
)
from osprofile.executors.ptp.elements import RUNNING, Queue
from osprofile.executors.ptp.events import Change, Element, Group, ModelEvent, New, Remove
from osprofile.executors.ptp.filters import Filters
from osprofile.executors.ptp.ids import BLOCK, Ids
from osprofile.executors.ptp.ranges import RangeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job, Machine, Node, Process
    from osprofile.executors.ptp.filters import Filter

    _Thing = TypeVar("_Thing", Job, Machine, Node, Queue)

MAX_GROUPS: Final = 16_384
"""The most elements that one NEW_ event tells one by one, so that a frame stays at about 2 MB: an
agent writes whole frames, and a client reads each of them whole."""


@final
@dataclass(slots=True)
class _KnownJob:
    """A job's queue cannot change, so it is the one that it was told in.

    `processes` are those that were told by their ranks, None for one that does not pass a filter.
    """

    id: int
    job: Job
    attributes: tuple[str, ...]
    processes: tuple[Process | None, ...] = ()


@final
class _Things(NamedTuple):
    """Machines (one at most), nodes and queues by their names, jobs by their keys."""

    machines: Mapping[str, Machine]
    nodes: Mapping[str, Node]
    queues: Mapping[str, Queue]
    jobs: Mapping[str, Job]


@final
class Model:
    """What one client knows of machine, nodes, queues, jobs and processes."""

    def __init__(self, base_id: int) -> None:
        self._base = base_id
        self._ids = Ids(base_id)
        self._id_of: dict[Element, dict[str, int]] = {e: {} for e in BLOCK}
        self._key_of: dict[int, tuple[Element, str]] = {}
        self._filters, self._is_refiltered = Filters(), False
        self._there = self._shown = _Things({}, {}, {}, {})
        self._told: dict[Element, dict[str, tuple[str, ...]]] = {e: {} for e in BLOCK}
        self._hidden: dict[Element, set[str]] = {e: set() for e in BLOCK}
        self._jobs: dict[str, _KnownJob] = {}

    def restart(self) -> None:
        """Take it that the client knows nothing any more; ids stay (START_EVENTS once more)."""
        self._there = self._shown = _Things({}, {}, {}, {})
        self._told = {element: {} for element in BLOCK}
        self._hidden = {element: set() for element in BLOCK}
        self._jobs = {}

    def filter(self, new: Filter) -> None:
        """Let a filter hold from the next update on; `ValueRefusedError` where no element has its id."""
        if new.id != self._base and new.id not in self._key_of:
            message = f"attribute id: no element has the id {new.id}"
            raise ValueRefusedError(message, field="id")
        self._filters.set(new)
        self._is_refiltered = True

    def unfilter(self) -> None:
        """Let no filter hold any more from the next update on."""
        self._filters.clear()
        self._is_refiltered = True

    @property
    def base_id(self) -> int:
        """The id of the resource manager itself."""
        return self._base

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
        there = self._now_there(machine, nodes, queues, jobs)
        self._filters.begin()
        shown, before = self._passing(there), self._shown
        fresh = {
            Element.MACHINE: _fresh(shown.machines, {}),
            Element.NODE: _fresh(shown.nodes, before.nodes),
            Element.QUEUE: _fresh(shown.queues, before.queues),
            Element.JOB: self._fresh_jobs(shown.jobs),
        }
        again = self._is_refiltered or shown.nodes.keys() != before.nodes.keys()
        events = [
            *self._gone(Element.JOB, shown.jobs, there.jobs),
            *self._gone(Element.QUEUE, shown.queues, there.queues),
            *self._gone(Element.NODE, shown.nodes, there.nodes),
            *self._gone(Element.MACHINE, shown.machines, there.machines),
        ]
        self._there, self._shown, self._is_refiltered = there, shown, False
        events += self._elements(Element.MACHINE, self._base, fresh[Element.MACHINE])
        for name in shown.machines:
            id_ = self._id_of[Element.MACHINE][name]
            events += self._elements(Element.NODE, id_, fresh[Element.NODE])
        events += self._elements(Element.QUEUE, self._base, fresh[Element.QUEUE])
        events += self._told_jobs(shown.jobs, fresh[Element.JOB], again=again)
        return events

    def steps(self, jobs: Sequence[Job]) -> list[Sequence[Job]]:
        """Return what `update` is to be given as jobs, one after the other, to end at these.

        Of a job that ran and ended between two updates, the first one tells that it runs.
        """
        running = {job.key: job.while_running() for job in jobs if self._ran_untold(job)}
        return [[running.get(job.key, job) for job in jobs], jobs] if running else [jobs]

    def _ran_untold(self, job: Job) -> bool:
        """Say whether a job that the client waits for has run without the client having heard of it."""
        if not job.has_run or job.state == RUNNING:
            return False
        known = self._jobs.get(job.key)
        if known is not None:
            return not known.job.has_run
        return bool(job.sub_id) and job.key not in self._id_of[Element.JOB]

    def gave_up(self) -> bool:
        """Say whether the filters took too long in the last update: there are none any more then."""
        gave_up = self._filters.end()
        self._is_refiltered = self._is_refiltered or gave_up
        return gave_up

    def output(
        self, key: str, ranks: Iterable[int], *, stdout: str = "", stderr: str = ""
    ) -> list[ModelEvent]:
        """Give the event that tells what processes have written; none where the client knows none."""
        known = self._jobs.get(key)
        there = known.processes if known else ()
        told = RangeSet.of(r for r in ranks if r < len(there) and there[r] is not None)
        pairs = (("processStdout", stdout), ("processStderr", stderr))
        texts = tuple(encode(id_, text) for id_, text in pairs if text)
        if known is None or not told.spans or not texts:
            return []
        return [Change(Element.PROCESS, [Group(told, texts)], known.id)]

    # Inside

    def _now_there(
        self,
        machine: Machine | None,
        nodes: Iterable[Node] | None,
        queues: Iterable[Queue] | None,
        jobs: Iterable[Job] | None,
    ) -> _Things:
        """Give all that is there now, told or not."""
        before = self._there
        machines = before.machines
        if machine is not None:
            name = next(iter(machines), machine.name)  # it keeps its first one
            machines = {name: machine._replace(name=name)}
        job_map = before.jobs if jobs is None else {job.key: job for job in jobs}
        queue_map = before.queues if queues is None else {queue.name: queue for queue in queues}
        return _Things(
            machines,
            before.nodes if nodes is None else {node.name: node for node in nodes},
            self._with_queues_of(job_map, queue_map),
            job_map,
        )

    def _passing(self, there: _Things) -> _Things:
        """Give what passes the filters; what is below something that does not is not among it."""
        machines, nodes, queues, jobs = there
        if self._filters:
            machines = self._accepted(Element.MACHINE, machines, lambda _: self._base)
            queues = self._accepted(Element.QUEUE, queues, lambda _: self._base)
            jobs = {key: job for key, job in jobs.items() if self._queue_of(job) in queues}
            ids = self._id_of[Element.QUEUE]
            jobs = self._accepted(Element.JOB, jobs, lambda job: ids.get(self._queue_of(job)))
            above = [self._id_of[Element.MACHINE].get(name) for name in machines]
            nodes = self._accepted(Element.NODE, nodes, lambda _: next(iter(above), None))
        return _Things(machines, nodes if machines else {}, queues, jobs)

    def _accepted(
        self,
        element: Element,
        things: Mapping[str, _Thing],
        parent_of: Callable[[_Thing], int | None],
    ) -> dict[str, _Thing]:
        ids, accepts = self._id_of[element], self._filters.accepts
        return {
            key: thing
            for key, thing in things.items()
            if accepts(ids.get(key), parent_of(thing), thing.attributes)
        }

    def _queue_of(self, job: Job) -> str:
        known = self._jobs.get(job.key)
        return job.queue if known is None else known.job.queue

    def _with_queues_of(
        self, jobs: Mapping[str, Job], queues: Mapping[str, Queue]
    ) -> dict[str, Queue]:
        found = dict(queues)
        for job in jobs.values():
            name = self._queue_of(job)
            if name not in found:
                found[name] = self._there.queues.get(name) or Queue(name)
        return found

    def _gone(
        self, element: Element, shown: Mapping[str, object], there: Mapping[str, object]
    ) -> list[ModelEvent]:
        """Tell what is not shown any more; what is there no more loses its id, and its filter."""
        told: dict[str, _KnownJob] | dict[str, tuple[str, ...]] = (
            self._jobs if element is Element.JOB else self._told[element]
        )
        id_of, hidden = self._id_of[element], self._hidden[element]
        gone = [key for key in told if key not in shown]
        ids = [id_of[key] for key in gone]
        for key in gone:
            del told[key]
        hidden.update(gone)
        for key in [key for key in hidden if key in shown or key not in there]:
            hidden.discard(key)
            if key not in there:
                id_ = id_of.pop(key)
                del self._key_of[id_]
                self._filters.drop(id_)
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
                note_change(changes, self._id_of[element][key], told[key], attributes)
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
                note_change(changes, known.id, known.attributes, attributes)
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
        before, there = known.processes, self._passing_processes(known)
        known.processes = there
        if before == there:
            return
        gone = [rank for rank, p in enumerate(before) if p is not None and at(there, rank) is None]
        if gone:
            yield Remove(Element.PROCESS, RangeSet.of(gone), known.id)
        attributes = self._process_attributes((*before, *there))
        new = [
            Group(rank, process_texts(rank, attributes[process]))
            for rank, process in enumerate(there)
            if process is not None and at(before, rank) is None
        ]
        yield from _new(Element.PROCESS, known.id, new)
        changes = changed_processes(before, there, attributes)
        if changes:
            yield Change(Element.PROCESS, _groups(changes), known.id)

    def _passing_processes(self, known: _KnownJob) -> tuple[Process | None, ...]:
        """Give the processes as they are to be told, None for one that does not pass."""
        nodes = self._told[Element.NODE]
        kinds = {process: process for process in set(known.job.processes)}
        for process in [p for p in kinds if p.node is not None and p.node not in nodes]:
            kinds[process] = process._replace(node=None)
        there = tuple([kinds[process] for process in known.job.processes])
        below = self._filters.below(known.id)
        if below is None:
            return there
        texts = self._process_attributes(there)
        passes = self._filters.passes
        return tuple(
            [p if passes(below, process_texts(r, texts[p])) else None for r, p in enumerate(there)]
        )

    def _process_attributes(
        self, processes: Iterable[Process | None]
    ) -> dict[Process, tuple[str, ...]]:
        """Give the attributes of processes, by process: many are alike."""
        nodes, ids = self._told[Element.NODE], self._id_of[Element.NODE]
        found = {}
        for process in set(filter(None, processes)):
            known = process.node is not None and process.node in nodes
            found[process] = process.attributes(ids[process.node or ""] if known else None)
        return found


def _fresh(there: Mapping[str, _Thing], before: Mapping[str, _Thing]) -> dict[str, tuple[str, ...]]:
    """Give the attributes of what is not as it was."""
    return {key: thing.attributes() for key, thing in there.items() if before.get(key) != thing}


def _new(element: Element, parent: int, groups: Sequence[Group]) -> Iterator[New]:
    for begin in range(0, len(groups), MAX_GROUPS):
        yield New(element, parent, groups[begin : begin + MAX_GROUPS])


def _groups(changes: Mapping[tuple[str, ...], Iterable[int]]) -> list[Group]:
    return [Group(RangeSet.of(ids), attributes) for attributes, ids in changes.items()]
