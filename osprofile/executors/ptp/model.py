"""The model that a client was told, and the events that bring it up to date.

`Model.update_elements` takes what is there now and gives the events for what differs from what was told, in
an order that a client can follow: what is gone, then machine, nodes, queues, jobs, processes.
What the client's filters let not pass is not told, nor what is below it; its ids stay its own.
Sources: the protocol page, "Events" and "What the original client does".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, final

from osprofile.errors import ValueRefusedError
from osprofile.executors.ptp.attributes import encode_attribute
from osprofile.executors.ptp.differences import (
    diff_processes,
    encode_process,
    get_process,
    record_change,
)
from osprofile.executors.ptp.element_ids import ID_BLOCK_SIZES, IdAllocator
from osprofile.executors.ptp.elements import RUNNING, Queue
from osprofile.executors.ptp.events import (
    ChangedElements,
    Element,
    ElementGroup,
    ModelEvent,
    NewElements,
    RemovedElements,
)
from osprofile.executors.ptp.filters import Filters
from osprofile.executors.ptp.ranges import RangeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job, Machine, Node, Process
    from osprofile.executors.ptp.filters import Filter

    _AnyElement = TypeVar("_AnyElement", Job, Machine, Node, Queue)

MAX_GROUPS_PER_EVENT: Final = 16_384
"""The most elements that one NEW_ event tells one by one, so that a frame stays at about 2 MB: an
agent writes whole frames, and a client reads each of them whole."""


@final
@dataclass(slots=True)
class _SentJob:
    """A job's queue cannot change, so it is the one that it was told in.

    `processes` are those that were told by their ranks, None for one that does not pass a filter.
    """

    id: int
    job: Job
    attributes: tuple[str, ...]
    processes: tuple[Process | None, ...] = ()


@final
class _ElementSet(NamedTuple):
    """Machines (one at most), nodes and queues by their names, jobs by their keys."""

    machines: Mapping[str, Machine]
    nodes: Mapping[str, Node]
    queues: Mapping[str, Queue]
    jobs: Mapping[str, Job]


@final
class Model:
    """What one client knows of machine, nodes, queues, jobs and processes."""

    def __init__(self, base_id: int) -> None:
        self._base_id = base_id
        self._id_allocator = IdAllocator(base_id)
        self._id_by_key: dict[Element, dict[str, int]] = {e: {} for e in ID_BLOCK_SIZES}
        self._key_by_id: dict[int, tuple[Element, str]] = {}
        self._filters, self._filters_changed = Filters(), False
        self._present = self._visible = _ElementSet({}, {}, {}, {})
        self._sent_attributes: dict[Element, dict[str, tuple[str, ...]]] = {
            e: {} for e in ID_BLOCK_SIZES
        }
        self._hidden_keys: dict[Element, set[str]] = {e: set() for e in ID_BLOCK_SIZES}
        self._sent_jobs: dict[str, _SentJob] = {}

    def forget_sent_elements(self) -> None:
        """Take it that the client knows nothing any more; ids stay (START_EVENTS once more)."""
        self._present = self._visible = _ElementSet({}, {}, {}, {})
        self._sent_attributes = {element: {} for element in ID_BLOCK_SIZES}
        self._hidden_keys = {element: set() for element in ID_BLOCK_SIZES}
        self._sent_jobs = {}

    def set_filter(self, new: Filter) -> None:
        """Let a filter hold from the next update on; `ValueRefusedError` where no element has its id."""
        if new.id != self._base_id and new.id not in self._key_by_id:
            message = f"attribute id: no element has the id {new.id}"
            raise ValueRefusedError(message, field="id")
        self._filters.set_filter(new)
        self._filters_changed = True

    def clear_filters(self) -> None:
        """Let no filter hold any more from the next update on."""
        self._filters.clear()
        self._filters_changed = True

    @property
    def base_id(self) -> int:
        """The id of the resource manager itself."""
        return self._base_id

    def find_key(self, element: Element, id_: str) -> str | None:
        """Give the name of a node or a queue, or the key of a job, by its element id."""
        plain = id_.isascii() and id_.isdigit() and len(id_) <= 10
        found = self._key_by_id.get(int(id_)) if plain else None
        return found[1] if found is not None and found[0] is element else None

    def find_id(self, element: Element, key: str) -> int | None:
        """Give the element id of what was told, or was until `forget_sent_elements`."""
        return self._id_by_key[element].get(key)

    def update_elements(
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
        there = self._collect_present(machine, nodes, queues, jobs)
        self._filters.start_time_limit()
        shown, before = self._apply_filters(there), self._visible
        fresh = {
            Element.MACHINE: _encode_changed(shown.machines, {}),
            Element.NODE: _encode_changed(shown.nodes, before.nodes),
            Element.QUEUE: _encode_changed(shown.queues, before.queues),
            Element.JOB: self._encode_changed_jobs(shown.jobs),
        }
        again = self._filters_changed or shown.nodes.keys() != before.nodes.keys()
        events = [
            *self._remove_elements(Element.JOB, shown.jobs, there.jobs),
            *self._remove_elements(Element.QUEUE, shown.queues, there.queues),
            *self._remove_elements(Element.NODE, shown.nodes, there.nodes),
            *self._remove_elements(Element.MACHINE, shown.machines, there.machines),
        ]
        self._present, self._visible, self._filters_changed = there, shown, False
        events += self._send_elements(Element.MACHINE, self._base_id, fresh[Element.MACHINE])
        for name in shown.machines:
            id_ = self._id_by_key[Element.MACHINE][name]
            events += self._send_elements(Element.NODE, id_, fresh[Element.NODE])
        events += self._send_elements(Element.QUEUE, self._base_id, fresh[Element.QUEUE])
        events += self._send_jobs(shown.jobs, fresh[Element.JOB], recheck_processes=again)
        return events

    def plan_updates(self, jobs: Sequence[Job]) -> list[Sequence[Job]]:
        """Return what `update_elements` is to be given as jobs, one after the other, to end at these.

        Of a job that ran and ended between two updates, the first one tells that it runs.
        """
        running = {job.key: job.while_running() for job in jobs if self._missed_running(job)}
        return [[running.get(job.key, job) for job in jobs], jobs] if running else [jobs]

    def _missed_running(self, job: Job) -> bool:
        """Say whether a job that the client waits for has run without the client having heard of it."""
        if not job.has_run or job.state == RUNNING:
            return False
        known = self._sent_jobs.get(job.key)
        if known is not None:
            return not known.job.has_run
        return bool(job.sub_id) and job.key not in self._id_by_key[Element.JOB]

    def drop_slow_filters(self) -> bool:
        """Say whether the filters took too long in the last update: there are none any more then."""
        gave_up = self._filters.drop_all_if_overdue()
        self._filters_changed = self._filters_changed or gave_up
        return gave_up

    def build_output_events(
        self, key: str, ranks: Iterable[int], *, stdout: str = "", stderr: str = ""
    ) -> list[ModelEvent]:
        """Give the event that tells what processes have written; none where the client knows none."""
        known = self._sent_jobs.get(key)
        there = known.processes if known else ()
        told = RangeSet.from_numbers(r for r in ranks if r < len(there) and there[r] is not None)
        pairs = (("processStdout", stdout), ("processStderr", stderr))
        texts = tuple(encode_attribute(id_, text) for id_, text in pairs if text)
        if known is None or not told.spans or not texts:
            return []
        return [ChangedElements(Element.PROCESS, [ElementGroup(told, texts)], known.id)]

    # Inside

    def _collect_present(
        self,
        machine: Machine | None,
        nodes: Iterable[Node] | None,
        queues: Iterable[Queue] | None,
        jobs: Iterable[Job] | None,
    ) -> _ElementSet:
        """Give all that is there now, told or not."""
        before = self._present
        machines = before.machines
        if machine is not None:
            name = next(iter(machines), machine.name)  # it keeps its first one
            machines = {name: machine._replace(name=name)}
        job_map = before.jobs if jobs is None else {job.key: job for job in jobs}
        queue_map = before.queues if queues is None else {queue.name: queue for queue in queues}
        return _ElementSet(
            machines,
            before.nodes if nodes is None else {node.name: node for node in nodes},
            self._add_job_queues(job_map, queue_map),
            job_map,
        )

    def _apply_filters(self, present: _ElementSet) -> _ElementSet:
        """Give what passes the filters; what is below something that does not is not among it."""
        machines, nodes, queues, jobs = present
        if self._filters:
            machines = self._filter_elements(Element.MACHINE, machines, lambda _: self._base_id)
            queues = self._filter_elements(Element.QUEUE, queues, lambda _: self._base_id)
            jobs = {key: job for key, job in jobs.items() if self._find_queue_name(job) in queues}
            ids = self._id_by_key[Element.QUEUE]
            jobs = self._filter_elements(
                Element.JOB, jobs, lambda job: ids.get(self._find_queue_name(job))
            )
            above = [self._id_by_key[Element.MACHINE].get(name) for name in machines]
            nodes = self._filter_elements(Element.NODE, nodes, lambda _: next(iter(above), None))
        return _ElementSet(machines, nodes if machines else {}, queues, jobs)

    def _filter_elements(
        self,
        element: Element,
        elements: Mapping[str, _AnyElement],
        parent_of: Callable[[_AnyElement], int | None],
    ) -> dict[str, _AnyElement]:
        ids, accepts = self._id_by_key[element], self._filters.accepts_element
        return {
            key: thing
            for key, thing in elements.items()
            if accepts(ids.get(key), parent_of(thing), thing.encode_attributes)
        }

    def _find_queue_name(self, job: Job) -> str:
        known = self._sent_jobs.get(job.key)
        return job.queue if known is None else known.job.queue

    def _add_job_queues(
        self, jobs: Mapping[str, Job], queues: Mapping[str, Queue]
    ) -> dict[str, Queue]:
        found = dict(queues)
        for job in jobs.values():
            name = self._find_queue_name(job)
            if name not in found:
                found[name] = self._present.queues.get(name) or Queue(name)
        return found

    def _remove_elements(
        self, element: Element, visible: Mapping[str, object], present: Mapping[str, object]
    ) -> list[ModelEvent]:
        """Tell what is not shown any more; what is there no more loses its id, and its filter."""
        told: dict[str, _SentJob] | dict[str, tuple[str, ...]] = (
            self._sent_jobs if element is Element.JOB else self._sent_attributes[element]
        )
        id_of, hidden = self._id_by_key[element], self._hidden_keys[element]
        gone = [key for key in told if key not in visible]
        ids = [id_of[key] for key in gone]
        for key in gone:
            del told[key]
        hidden.update(gone)
        for key in [key for key in hidden if key in visible or key not in present]:
            hidden.discard(key)
            if key not in present:
                id_ = id_of.pop(key)
                del self._key_by_id[id_]
                self._filters.drop_filter(id_)
        return [RemovedElements(element, RangeSet.from_numbers(ids))] if ids else []

    def _send_elements(
        self, element: Element, parent: int, changed: Mapping[str, tuple[str, ...]]
    ) -> Iterator[ModelEvent]:
        """Give NEW_ and CHANGE_ for elements that have no parts, by their attributes now."""
        told = self._sent_attributes[element]
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in changed if key not in told]
        for key, attributes in changed.items():
            if key in told:
                record_change(changes, self._id_by_key[element][key], told[key], attributes)
        ids = self._assign_ids(element, new)
        groups = [ElementGroup(id_, changed[key]) for key, id_ in zip(new, ids, strict=True)]
        told.update(changed)
        yield from _split_new_elements(element, parent, groups)
        if changes:
            yield ChangedElements(element, _group_changes(changes))

    def _encode_changed_jobs(self, jobs: Mapping[str, Job]) -> dict[str, tuple[str, ...]]:
        before = {key: known.job for key, known in self._sent_jobs.items()}
        fresh = _encode_changed(jobs, before)
        for key in fresh:
            for process in set(jobs[key].processes):
                process.validate_attributes()
        return fresh

    def _assign_ids(self, element: Element, keys: Sequence[str]) -> list[int]:
        """Give the ids of elements, new ones where they have none."""
        known = self._id_by_key[element]
        missing = [key for key in keys if key not in known]
        for key, id_ in zip(
            missing, self._id_allocator.allocate_ids(element, len(missing)), strict=True
        ):
            known[key] = id_
            self._key_by_id[id_] = (element, key)
        return [known[key] for key in keys]

    def _send_jobs(
        self,
        jobs: Mapping[str, Job],
        changed: Mapping[str, tuple[str, ...]],
        *,
        recheck_processes: bool,
    ) -> Iterator[ModelEvent]:
        """Give the events for jobs; `recheck_processes`: processes may be on nodes that are known just now."""
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in changed if key not in self._sent_jobs]
        for key, attributes in changed.items():
            if key in self._sent_jobs:
                known = self._sent_jobs[key]
                record_change(changes, known.id, known.attributes, attributes)
                known.attributes = attributes
                known.job = jobs[key]._replace(queue=known.job.queue)
        yield from self._send_new_jobs(new, jobs, changed)
        if changes:
            yield ChangedElements(Element.JOB, _group_changes(changes))
        for key in jobs if recheck_processes else changed:
            yield from self._send_processes(self._sent_jobs[key])

    def _send_new_jobs(
        self, keys: Sequence[str], jobs: Mapping[str, Job], changed: Mapping[str, tuple[str, ...]]
    ) -> Iterator[ModelEvent]:
        by_queue: dict[str, list[ElementGroup]] = {}
        for key, id_ in zip(keys, self._assign_ids(Element.JOB, keys), strict=True):
            self._sent_jobs[key] = _SentJob(id_, jobs[key], changed[key])
            by_queue.setdefault(jobs[key].queue, []).append(ElementGroup(id_, changed[key]))
        for queue, groups in by_queue.items():
            yield from _split_new_elements(
                Element.JOB, self._id_by_key[Element.QUEUE][queue], groups
            )

    def _send_processes(self, sent_job: _SentJob) -> Iterator[ModelEvent]:
        """Give the events for the processes of a job; ranks are their ids."""
        before, there = sent_job.processes, self._filter_processes(sent_job)
        sent_job.processes = there
        if before == there:
            return
        gone = [
            rank
            for rank, p in enumerate(before)
            if p is not None and get_process(there, rank) is None
        ]
        if gone:
            yield RemovedElements(Element.PROCESS, RangeSet.from_numbers(gone), sent_job.id)
        attributes = self._encode_processes((*before, *there))
        new = [
            ElementGroup(rank, encode_process(rank, attributes[process]))
            for rank, process in enumerate(there)
            if process is not None and get_process(before, rank) is None
        ]
        yield from _split_new_elements(Element.PROCESS, sent_job.id, new)
        changes = diff_processes(before, there, attributes)
        if changes:
            yield ChangedElements(Element.PROCESS, _group_changes(changes), sent_job.id)

    def _filter_processes(self, sent_job: _SentJob) -> tuple[Process | None, ...]:
        """Give the processes as they are to be told, None for one that does not pass."""
        nodes = self._sent_attributes[Element.NODE]
        kinds = {process: process for process in set(sent_job.job.processes)}
        for process in [p for p in kinds if p.node is not None and p.node not in nodes]:
            kinds[process] = process._replace(node=None)
        there = tuple([kinds[process] for process in sent_job.job.processes])
        below = self._filters.get_child_filter(sent_job.id)
        if below is None:
            return there
        texts = self._encode_processes(there)
        passes = self._filters.passes_filter
        return tuple(
            [p if passes(below, encode_process(r, texts[p])) else None for r, p in enumerate(there)]
        )

    def _encode_processes(
        self, processes: Iterable[Process | None]
    ) -> dict[Process, tuple[str, ...]]:
        """Give the attributes of processes, by process: many are alike."""
        nodes, ids = self._sent_attributes[Element.NODE], self._id_by_key[Element.NODE]
        found = {}
        for process in set(filter(None, processes)):
            known = process.node is not None and process.node in nodes
            found[process] = process.encode_attributes(ids[process.node or ""] if known else None)
        return found


def _encode_changed(
    present: Mapping[str, _AnyElement], before: Mapping[str, _AnyElement]
) -> dict[str, tuple[str, ...]]:
    """Give the attributes of what is not as it was."""
    return {
        key: thing.encode_attributes() for key, thing in present.items() if before.get(key) != thing
    }


def _split_new_elements(
    element: Element, parent: int, groups: Sequence[ElementGroup]
) -> Iterator[NewElements]:
    for begin in range(0, len(groups), MAX_GROUPS_PER_EVENT):
        yield NewElements(element, parent, groups[begin : begin + MAX_GROUPS_PER_EVENT])


def _group_changes(changes: Mapping[tuple[str, ...], Iterable[int]]) -> list[ElementGroup]:
    return [
        ElementGroup(RangeSet.from_numbers(ids), attributes) for attributes, ids in changes.items()
    ]
