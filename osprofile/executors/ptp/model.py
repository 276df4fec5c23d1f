"""The model that a client has, and the events that bring it up to date.

`Model.update_elements` compares the current elements with those that were sent and returns the
events for the differences, in an order that a client can follow: first removals, then machine,
nodes, queues, jobs, processes. Elements that do not pass the client's filters are not sent, nor are
their children; they keep their ids. Source: docs/protocols/ptp.md, 2.2, 4.1 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, final

from osprofile.errors import ValueRefusedError
from osprofile.executors.digits import parse_digits
from osprofile.executors.ptp.attributes import PREDEFINED, AttributeType, encode_attribute
from osprofile.executors.ptp.elements import RUNNING, Queue
from osprofile.executors.ptp.events import (
    Element,
    ElementGroup,
    Event,
    change_elements,
    new_elements,
    remove_elements,
)
from osprofile.executors.ptp.filters import Filters
from osprofile.executors.ptp.wire import MAX_ID, LocalError, RangeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job, Machine, Node, Process
    from osprofile.executors.ptp.filters import Filter

    _AnyElement = TypeVar("_AnyElement", Job, Machine, Node, Queue)

MAX_GROUPS_PER_EVENT: Final = 16_384
"""The most elements of a NEW_ event, so that a frame stays at about 2 MB: an agent writes whole frames,
and a client reads each of them whole."""

ID_SPACE_SIZE: Final = 2**24
"""How many ids a resource manager has; its base id is a multiple of this."""

ID_BLOCK_SIZES: Final = {Element.MACHINE: 16, Element.QUEUE: 256, Element.NODE: 4096, Element.JOB: 4096}
"""By kind, how many ids are reserved at a time."""

_NEVER_EMPTIED: Final = "processNodeId"  # an unknown node ends the client


@final
class IdAllocator:
    """Allocates element ids above a base id (docs/protocols/ptp.md, 2.2).

    Each kind reserves blocks, so that its ids are adjacent and range sets are short.
    """

    def __init__(self, base_id: int) -> None:
        self._next_id = base_id + 1
        self._end_id = min(base_id + ID_SPACE_SIZE, MAX_ID)
        self._reserved_ids: dict[Element, range] = {}

    def allocate_ids(self, element: Element, count: int) -> range:
        """Return `count` adjacent new ids. Raises `LocalError` when all ids are used up."""
        ids = self._reserved_ids.get(element, range(0))
        if len(ids) < count:
            ids = range(self._next_id, self._next_id + max(ID_BLOCK_SIZES[element], count))
            if ids.stop > self._end_id:
                raise LocalError("the resource manager has used up its element ids")
            self._next_id = ids.stop
        self._reserved_ids[element] = ids[count:]
        return ids[:count]


@final
@dataclass(slots=True)
class _SentJob:
    """A job as it was sent; its queue cannot change and is the one that was sent first.

    `processes` are those that were sent, by rank; None for one that does not pass a filter.
    """

    id: int
    job: Job
    attributes: tuple[str, ...]
    processes: tuple[Process | None, ...] = ()


@final
class _ElementSet(NamedTuple):
    """Machines (at most one), nodes and queues by name, jobs by key."""

    machines: Mapping[str, Machine]
    nodes: Mapping[str, Node]
    queues: Mapping[str, Queue]
    jobs: Mapping[str, Job]


@final
class Model:
    """The machine, nodes, queues, jobs and processes that one client knows."""

    def __init__(self, base_id: int) -> None:
        self._base_id = base_id
        self._id_allocator = IdAllocator(base_id)
        self._id_by_key: dict[Element, dict[str, int]] = {e: {} for e in ID_BLOCK_SIZES}
        self._key_by_id: dict[int, tuple[Element, str]] = {}
        self._filters, self._filters_changed = Filters(), False
        self._present = self._visible = _ElementSet({}, {}, {}, {})
        self._sent_attributes: dict[Element, dict[str, tuple[str, ...]]] = {e: {} for e in ID_BLOCK_SIZES}
        self._hidden_keys: dict[Element, set[str]] = {e: set() for e in ID_BLOCK_SIZES}
        self._sent_jobs: dict[str, _SentJob] = {}

    def set_filter(self, new: Filter) -> None:
        """Apply a filter from the next update on. Raises `ValueRefusedError` for an unknown id."""
        if new.id != self._base_id and new.id not in self._key_by_id:
            message = f"attribute id: no element has the id {new.id}"
            raise ValueRefusedError(message, field="id")
        self._filters.set_filter(new)
        self._filters_changed = True

    def clear_filters(self) -> None:
        """Remove all filters from the next update on."""
        self._filters.clear()
        self._filters_changed = True

    @property
    def base_id(self) -> int:
        """The element id of the resource manager."""
        return self._base_id

    def find_key(self, element: Element, id_: str) -> str | None:
        """Return the name of a node or queue, or the key of a job, by its element id."""
        kind, key = self._key_by_id.get(parse_digits(id_, 10) or 0, (None, None))
        return key if kind is element else None

    def find_id(self, element: Element, key: str) -> int | None:
        """Return the element id of an element, if it has one."""
        return self._id_by_key[element].get(key)

    def update_elements(
        self,
        *,
        machine: Machine | None = None,
        nodes: Iterable[Node] | None = None,
        queues: Iterable[Queue] | None = None,
        jobs: Iterable[Job] | None = None,
    ) -> list[Event]:
        """Return the events that bring the client to these elements; None means no change.

        Raises `LocalError`, without a change of state, for a value that clients refuse. Nodes need
        a machine, which keeps its first name. A job's queue is sent even if it is not in `queues`.
        """
        present = self._collect_present(machine, nodes, queues, jobs)
        self._filters.start_time_limit()
        visible, before = self._apply_filters(present), self._visible
        changed = {
            Element.MACHINE: _encode_changed(visible.machines, {}),
            Element.NODE: _encode_changed(visible.nodes, before.nodes),
            Element.QUEUE: _encode_changed(visible.queues, before.queues),
            Element.JOB: self._encode_changed_jobs(visible.jobs),
        }
        recheck = self._filters_changed or visible.nodes.keys() != before.nodes.keys()
        events = [
            *self._remove_elements(Element.JOB, visible.jobs, present.jobs),
            *self._remove_elements(Element.QUEUE, visible.queues, present.queues),
            *self._remove_elements(Element.NODE, visible.nodes, present.nodes),
            *self._remove_elements(Element.MACHINE, visible.machines, present.machines),
        ]
        self._present, self._visible, self._filters_changed = present, visible, False
        events += self._send_elements(Element.MACHINE, self._base_id, changed[Element.MACHINE])
        for name in visible.machines:
            id_ = self._id_by_key[Element.MACHINE][name]
            events += self._send_elements(Element.NODE, id_, changed[Element.NODE])
        events += self._send_elements(Element.QUEUE, self._base_id, changed[Element.QUEUE])
        events += self._send_jobs(visible.jobs, changed[Element.JOB], recheck_processes=recheck)
        return events

    def plan_updates(self, jobs: Sequence[Job]) -> list[Sequence[Job]]:
        """Return the job lists for consecutive calls of `update_elements`; the last one is `jobs`.

        There are two if a job ran and ended since the last update: in the first one it is running.
        """
        running = {job.key: job.while_running() for job in jobs if self._missed_running(job)}
        return [[running.get(job.key, job) for job in jobs], jobs] if running else [jobs]

    def _missed_running(self, job: Job) -> bool:
        """Return whether a job that the client waits for has run, and RUNNING was never sent."""
        if not job.has_run or job.state == RUNNING:
            return False
        known = self._sent_jobs.get(job.key)
        if known is not None:
            return not known.job.has_run
        return bool(job.sub_id) and job.key not in self._id_by_key[Element.JOB]

    def drop_slow_filters(self) -> bool:
        """Remove all filters if the last update took too long; return whether it did."""
        gave_up = self._filters.drop_all_if_overdue()
        self._filters_changed = self._filters_changed or gave_up
        return gave_up

    def build_output_events(
        self, key: str, ranks: Iterable[int], *, stdout: str = "", stderr: str = ""
    ) -> list[Event]:
        """Return the event with the output of processes; none for processes that were not sent."""
        sent_job = self._sent_jobs.get(key)
        processes = sent_job.processes if sent_job else ()
        sent_ranks = RangeSet.from_numbers(
            rank for rank in ranks if _get_process(processes, rank) is not None
        )
        pairs = (("processStdout", stdout), ("processStderr", stderr))
        texts = tuple(encode_attribute(id_, text) for id_, text in pairs if text)
        if sent_job is None or not sent_ranks.spans or not texts:
            return []
        return [change_elements(Element.PROCESS, [ElementGroup(sent_ranks, texts)], sent_job.id)]

    def _collect_present(
        self,
        machine: Machine | None,
        nodes: Iterable[Node] | None,
        queues: Iterable[Queue] | None,
        jobs: Iterable[Job] | None,
    ) -> _ElementSet:
        """Return all current elements, whether they pass the filters or not."""
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
        """Return the elements that pass the filters, as do their parents."""
        machines, nodes, queues, jobs = present
        if self._filters:
            machines = self._filter_elements(Element.MACHINE, machines, lambda _: self._base_id)
            queues = self._filter_elements(Element.QUEUE, queues, lambda _: self._base_id)
            jobs = {key: job for key, job in jobs.items() if self._find_queue_name(job) in queues}
            ids = self._id_by_key[Element.QUEUE]
            jobs = self._filter_elements(Element.JOB, jobs, lambda job: ids.get(self._find_queue_name(job)))
            above = [self._id_by_key[Element.MACHINE].get(name) for name in machines]
            nodes = self._filter_elements(Element.NODE, nodes, lambda _: next(iter(above), None))
        return _ElementSet(machines, nodes if machines else {}, queues, jobs)

    def _filter_elements(
        self,
        element: Element,
        elements: Mapping[str, _AnyElement],
        find_parent: Callable[[_AnyElement], int | None],
    ) -> dict[str, _AnyElement]:
        ids, accepts = self._id_by_key[element], self._filters.accepts_element
        return {
            key: value
            for key, value in elements.items()
            if accepts(ids.get(key), find_parent(value), value.encode_attributes)
        }

    def _find_queue_name(self, job: Job) -> str:
        known = self._sent_jobs.get(job.key)
        return job.queue if known is None else known.job.queue

    def _add_job_queues(self, jobs: Mapping[str, Job], queues: Mapping[str, Queue]) -> dict[str, Queue]:
        found = dict(queues)
        for job in jobs.values():
            name = self._find_queue_name(job)
            if name not in found:
                found[name] = self._present.queues.get(name) or Queue(name)
        return found

    def _remove_elements(
        self, element: Element, visible: Mapping[str, object], present: Mapping[str, object]
    ) -> list[Event]:
        """Return the removal of elements; those that do not exist any more lose id and filter."""
        sent: dict[str, _SentJob] | dict[str, tuple[str, ...]] = (
            self._sent_jobs if element is Element.JOB else self._sent_attributes[element]
        )
        id_by_key, hidden = self._id_by_key[element], self._hidden_keys[element]
        gone = [key for key in sent if key not in visible]
        ids = [id_by_key[key] for key in gone]
        for key in gone:
            del sent[key]
        hidden.update(gone)
        for key in [key for key in hidden if key in visible or key not in present]:
            hidden.discard(key)
            if key not in present:
                id_ = id_by_key.pop(key)
                del self._key_by_id[id_]
                self._filters.drop_filter(id_)
        return [remove_elements(element, RangeSet.from_numbers(ids))] if ids else []

    def _send_elements(
        self, element: Element, parent: int, changed: Mapping[str, tuple[str, ...]]
    ) -> Iterator[Event]:
        """Yield NEW_ and CHANGE_ events for machines, nodes or queues with changed attributes."""
        sent = self._sent_attributes[element]
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in changed if key not in sent]
        for key, attributes in changed.items():
            if key in sent:
                _record_change(changes, self._id_by_key[element][key], sent[key], attributes)
        ids = self._assign_ids(element, new)
        groups = [ElementGroup(id_, changed[key]) for key, id_ in zip(new, ids, strict=True)]
        sent.update(changed)
        yield from _split_new_elements(element, parent, groups)
        if changes:
            yield change_elements(element, _group_changes(changes))

    def _encode_changed_jobs(self, jobs: Mapping[str, Job]) -> dict[str, tuple[str, ...]]:
        before = {key: known.job for key, known in self._sent_jobs.items()}
        changed = _encode_changed(jobs, before)
        for key in changed:
            for process in set(jobs[key].processes):
                process.validate_attributes()
        return changed

    def _assign_ids(self, element: Element, keys: Sequence[str]) -> list[int]:
        """Return the ids of elements, and assign new ones to those without."""
        id_by_key = self._id_by_key[element]
        missing = [key for key in keys if key not in id_by_key]
        for key, id_ in zip(missing, self._id_allocator.allocate_ids(element, len(missing)), strict=True):
            id_by_key[key] = id_
            self._key_by_id[id_] = (element, key)
        return [id_by_key[key] for key in keys]

    def _send_jobs(
        self, jobs: Mapping[str, Job], changed: Mapping[str, tuple[str, ...]], *, recheck_processes: bool
    ) -> Iterator[Event]:
        """Yield the events for jobs; `recheck_processes`: the nodes or filters have changed."""
        changes: dict[tuple[str, ...], list[int]] = {}
        new = [key for key in changed if key not in self._sent_jobs]
        for key, attributes in changed.items():
            if key in self._sent_jobs:
                known = self._sent_jobs[key]
                _record_change(changes, known.id, known.attributes, attributes)
                known.attributes = attributes
                known.job = jobs[key]._replace(queue=known.job.queue)
        yield from self._send_new_jobs(new, jobs, changed)
        if changes:
            yield change_elements(Element.JOB, _group_changes(changes))
        for key in jobs if recheck_processes else changed:
            yield from self._send_processes(self._sent_jobs[key])

    def _send_new_jobs(
        self, keys: Sequence[str], jobs: Mapping[str, Job], changed: Mapping[str, tuple[str, ...]]
    ) -> Iterator[Event]:
        by_queue: dict[str, list[ElementGroup]] = {}
        for key, id_ in zip(keys, self._assign_ids(Element.JOB, keys), strict=True):
            self._sent_jobs[key] = _SentJob(id_, jobs[key], changed[key])
            by_queue.setdefault(jobs[key].queue, []).append(ElementGroup(id_, changed[key]))
        for queue, groups in by_queue.items():
            yield from _split_new_elements(Element.JOB, self._id_by_key[Element.QUEUE][queue], groups)

    def _send_processes(self, sent_job: _SentJob) -> Iterator[Event]:
        """Yield the events for the processes of a job; their ids are their ranks."""
        before, there = sent_job.processes, self._filter_processes(sent_job)
        sent_job.processes = there
        if before == there:
            return
        gone = [rank for rank, p in enumerate(before) if p is not None and _get_process(there, rank) is None]
        if gone:
            yield remove_elements(Element.PROCESS, RangeSet.from_numbers(gone), sent_job.id)
        attributes = self._encode_processes((*before, *there))
        new = [
            ElementGroup(rank, _encode_process(rank, attributes[process]))
            for rank, process in enumerate(there)
            if process is not None and _get_process(before, rank) is None
        ]
        yield from _split_new_elements(Element.PROCESS, sent_job.id, new)
        changes = _diff_processes(before, there, attributes)
        if changes:
            yield change_elements(Element.PROCESS, _group_changes(changes), sent_job.id)

    def _filter_processes(self, sent_job: _SentJob) -> tuple[Process | None, ...]:
        """Return the processes of a job to be sent; None for one that does not pass the filters."""
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
            [p if passes(below, _encode_process(r, texts[p])) else None for r, p in enumerate(there)]
        )

    def _encode_processes(self, processes: Iterable[Process | None]) -> dict[Process, tuple[str, ...]]:
        """Return the attributes of each distinct process; many ranks are alike."""
        nodes, ids = self._sent_attributes[Element.NODE], self._id_by_key[Element.NODE]
        attributes = {}
        for process in set(filter(None, processes)):
            node_id = ids[process.node] if process.node in nodes else None
            attributes[process] = process.encode_attributes(node_id)
        return attributes


def _encode_changed(
    present: Mapping[str, _AnyElement], before: Mapping[str, _AnyElement]
) -> dict[str, tuple[str, ...]]:
    """Return the attributes of the elements that differ from before."""
    return {key: value.encode_attributes() for key, value in present.items() if before.get(key) != value}


def _split_new_elements(element: Element, parent: int, groups: Sequence[ElementGroup]) -> Iterator[Event]:
    for begin in range(0, len(groups), MAX_GROUPS_PER_EVENT):
        yield new_elements(element, parent, groups[begin : begin + MAX_GROUPS_PER_EVENT])


def _group_changes(changes: Mapping[tuple[str, ...], Iterable[int]]) -> list[ElementGroup]:
    return [ElementGroup(RangeSet.from_numbers(ids), attributes) for attributes, ids in changes.items()]


# Differences between an element as it was sent and as it is now, by attributes in wire format


def _record_change(
    changes: dict[tuple[str, ...], list[int]], id_: int, before: tuple[str, ...], now: tuple[str, ...]
) -> None:
    """Add an element that has changed to those that changed in the same way."""
    changed = _diff_attributes(before, now)
    if changed:
        changes.setdefault(changed, []).append(id_)


def _diff_attributes(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes with a new value; a missing text attribute becomes empty."""
    known = set(before)
    changed = [attribute for attribute in now if attribute not in known]
    ids = {attribute.partition("=")[0] for attribute in now}
    missing = [id_ for id_ in (a.partition("=")[0] for a in before) if id_ not in ids]
    return (*changed, *(f"{id_}=" for id_ in missing if _can_be_emptied(id_)))


def _can_be_emptied(id_: str) -> bool:
    return id_ != _NEVER_EMPTIED and PREDEFINED[id_].type is AttributeType.STRING


def _diff_processes(
    before: tuple[Process | None, ...],
    now: tuple[Process | None, ...],
    attributes: Mapping[Process, tuple[str, ...]],
) -> dict[tuple[str, ...], list[int]]:
    """Return the ranks of processes by their changed attributes."""
    pairs: dict[tuple[Process, Process], list[int]] = {}
    for rank, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and old is not None and new is not None:
            pairs.setdefault((old, new), []).append(rank)
    changes: dict[tuple[str, ...], list[int]] = {}
    for (old, new), ranks in pairs.items():
        changed = _diff_attributes(attributes[old], attributes[new])
        if changed:
            changes.setdefault(changed, []).extend(ranks)
    return changes


def _encode_process(rank: int, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return all attributes of a process; its name is its rank."""
    state, *others = attributes
    return (f"name={rank}", state, f"processIndex={rank}", *others)


def _get_process(processes: Sequence[Process | None], rank: int) -> Process | None:
    return processes[rank] if rank < len(processes) else None
