"""The model that a client has, and the events that bring it up to date.

`Model.update_elements` compares the current elements with those that were sent and returns the
events for the differences, in an order that a client can follow: first removals, then machine,
nodes, queues, jobs, processes. Elements that do not pass the client's filters are not sent, nor are
their children; they keep their ids. Source: docs/protocols/ptp.md, 2.2, 4.1 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import ValueRefusedError
from osprofile.executors.digits import parse_digits
from osprofile.executors.ptp.attributes import PREDEFINED, AttributeType, encode_attribute
from osprofile.executors.ptp.elements import RUNNING, Attributes, encode_queue
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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job, Process
    from osprofile.executors.ptp.filters import Filter

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
    processes: tuple[Process | None, ...] = ()


@final
class Model:
    """The machine, nodes, queues, jobs and processes that one client knows."""

    def __init__(self, base_id: int) -> None:
        self._base_id = base_id
        self._id_allocator = IdAllocator(base_id)
        self._id_by_key: dict[Element, dict[str, int]] = {e: {} for e in ID_BLOCK_SIZES}
        self._key_by_id: dict[int, tuple[Element, str]] = {}
        self._filters, self._filters_changed = Filters(), False
        # By kind and key: the current elements, those of them that were sent, and those that were removed but exist.
        self._present: dict[Element, Mapping[str, Attributes]] = {e: {} for e in ID_BLOCK_SIZES}
        self._sent: dict[Element, dict[str, Attributes]] = {e: {} for e in ID_BLOCK_SIZES}
        self._hidden_keys: dict[Element, set[str]] = {e: set() for e in ID_BLOCK_SIZES}
        self._jobs: Mapping[str, Job] = {}
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
        machine: Mapping[str, Attributes] | None = None,
        nodes: Mapping[str, Attributes] | None = None,
        queues: Mapping[str, Attributes] | None = None,
        jobs: Iterable[Job] | None = None,
    ) -> list[Event]:
        """Return the events that bring the client to these elements, by their names; None means no change.

        Raises `LocalError`, without a change of state, for a value that clients refuse. Nodes need
        a machine. A job's queue is sent even if it is not in `queues`.
        """
        job_map = self._jobs if jobs is None else {job.key: job for job in jobs}
        changed_jobs = {key for key, job in job_map.items() if self._jobs.get(key) != job}
        present = {
            Element.MACHINE: self._present[Element.MACHINE] if machine is None else machine,
            Element.NODE: self._present[Element.NODE] if nodes is None else nodes,
            Element.QUEUE: self._add_job_queues(
                job_map, self._present[Element.QUEUE] if queues is None else queues
            ),
            Element.JOB: self._encode_jobs(job_map, changed_jobs),
        }
        self._filters.start_time_limit()
        visible = self._apply_filters(present, job_map)
        recheck = self._filters_changed or visible[Element.NODE].keys() != self._sent[Element.NODE].keys()
        events: list[Event] = []
        for element in (Element.JOB, Element.QUEUE, Element.NODE, Element.MACHINE):
            events += self._remove_elements(element, visible[element], present[element])
        self._present, self._jobs, self._filters_changed = present, job_map, False
        ids = self._id_by_key
        events += self._send_elements(Element.MACHINE, visible, lambda _: self._base_id)
        machine_id = self._find_machine_id() or 0
        events += self._send_elements(Element.NODE, visible, lambda _: machine_id)
        events += self._send_elements(Element.QUEUE, visible, lambda _: self._base_id)
        events += self._send_elements(
            Element.JOB, visible, lambda key: ids[Element.QUEUE][job_map[key].queue]
        )
        for key in visible[Element.JOB]:
            known = self._sent_jobs.get(key)
            if known is None:
                known = self._sent_jobs[key] = _SentJob(ids[Element.JOB][key], job_map[key])
            elif key in changed_jobs:
                known.job = job_map[key]._replace(queue=known.job.queue)
            elif not recheck:
                continue
            events += self._send_processes(known)
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

    def _encode_jobs(self, jobs: Mapping[str, Job], changed: Collection[str]) -> dict[str, Attributes]:
        """Return the attributes of all jobs; those of changed ones, and their processes, are checked."""
        for process in {process for key in changed for process in jobs[key].processes}:
            process.encode_attributes(None)
        before = self._present[Element.JOB]
        return {key: job.encode_attributes() if key in changed else before[key] for key, job in jobs.items()}

    def _find_machine_id(self) -> int | None:
        return next(iter(self._id_by_key[Element.MACHINE].values()), None)

    def _apply_filters(
        self, present: Mapping[Element, Mapping[str, Attributes]], jobs: Mapping[str, Job]
    ) -> dict[Element, Mapping[str, Attributes]]:
        """Return the elements that pass the filters, as do their parents."""
        visible = dict(present)
        if self._filters:
            base_id, queue_ids = self._base_id, self._id_by_key[Element.QUEUE]
            self._filter_elements(Element.MACHINE, visible, lambda _: base_id)
            self._filter_elements(Element.QUEUE, visible, lambda _: base_id)
            queue_of = {key: self._find_queue_name(job) for key, job in jobs.items()}
            visible[Element.JOB] = {
                key: a for key, a in visible[Element.JOB].items() if queue_of[key] in visible[Element.QUEUE]
            }
            self._filter_elements(Element.JOB, visible, lambda key: queue_ids.get(queue_of[key]))
            self._filter_elements(Element.NODE, visible, lambda _: self._find_machine_id())
        if not visible[Element.MACHINE]:
            visible[Element.NODE] = {}
        return visible

    def _filter_elements(
        self,
        element: Element,
        visible: dict[Element, Mapping[str, Attributes]],
        find_parent: Callable[[str], int | None],
    ) -> None:
        ids, accepts = self._id_by_key[element], self._filters.accepts_element
        visible[element] = {
            key: attributes
            for key, attributes in visible[element].items()
            if accepts(ids.get(key), find_parent(key), attributes)
        }

    def _find_queue_name(self, job: Job) -> str:
        known = self._sent_jobs.get(job.key)
        return job.queue if known is None else known.job.queue

    def _add_job_queues(
        self, jobs: Mapping[str, Job], queues: Mapping[str, Attributes]
    ) -> dict[str, Attributes]:
        found = dict(queues)
        for job in jobs.values():
            name = self._find_queue_name(job)
            if name not in found:
                found[name] = self._present[Element.QUEUE].get(name) or encode_queue(name)
        return found

    def _remove_elements(
        self, element: Element, visible: Mapping[str, object], present: Mapping[str, object]
    ) -> list[Event]:
        """Return the removal of elements; those that do not exist any more lose id and filter."""
        id_by_key, hidden = self._id_by_key[element], self._hidden_keys[element]
        gone = [key for key in self._sent[element] if key not in visible]
        ids = [id_by_key[key] for key in gone]
        for key in gone:
            del self._sent[element][key]
            if element is Element.JOB:
                del self._sent_jobs[key]
        hidden.update(gone)
        for key in [key for key in hidden if key in visible or key not in present]:
            hidden.discard(key)
            if key not in present:
                id_ = id_by_key.pop(key)
                del self._key_by_id[id_]
                self._filters.drop_filter(id_)
        return [remove_elements(element, RangeSet.from_numbers(ids))] if ids else []

    def _send_elements(
        self,
        element: Element,
        visible: Mapping[Element, Mapping[str, Attributes]],
        find_parent: Callable[[str], int],
    ) -> Iterator[Event]:
        """Yield NEW_ and CHANGE_ events for elements with changed attributes."""
        sent = self._sent[element]
        changes: dict[Attributes, list[int]] = {}
        new: dict[str, Attributes] = {}
        for key, attributes in visible[element].items():
            before = sent.get(key)
            if before is None:
                new[key] = attributes
            elif before != attributes:
                changed = _diff_attributes(before, attributes)
                changes.setdefault(changed, []).append(self._id_by_key[element][key])
                sent[key] = attributes
        by_parent: dict[int, list[ElementGroup]] = {}
        for (key, attributes), id_ in zip(new.items(), self._assign_ids(element, list(new)), strict=True):
            by_parent.setdefault(find_parent(key), []).append(ElementGroup(id_, attributes))
        sent.update(new)
        for parent, groups in by_parent.items():
            yield from _split_new_elements(element, parent, groups)
        if groups := _group_changes(changes):
            yield change_elements(element, groups)

    def _assign_ids(self, element: Element, keys: Sequence[str]) -> list[int]:
        """Return the ids of elements, and assign new ones to those without."""
        id_by_key = self._id_by_key[element]
        missing = [key for key in keys if key not in id_by_key]
        for key, id_ in zip(missing, self._id_allocator.allocate_ids(element, len(missing)), strict=True):
            id_by_key[key] = id_
            self._key_by_id[id_] = (element, key)
        return [id_by_key[key] for key in keys]

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
        if groups := _group_changes(_diff_processes(before, there, attributes)):
            yield change_elements(Element.PROCESS, groups, sent_job.id)

    def _filter_processes(self, sent_job: _SentJob) -> tuple[Process | None, ...]:
        """Return the processes of a job to be sent; None for one that does not pass the filters."""
        nodes = self._sent[Element.NODE]
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

    def _encode_processes(self, processes: Iterable[Process | None]) -> dict[Process, Attributes]:
        """Return the attributes of each distinct process; many ranks are alike."""
        nodes, ids = self._sent[Element.NODE], self._id_by_key[Element.NODE]
        attributes = {}
        for process in set(filter(None, processes)):
            node_id = ids[process.node] if process.node in nodes else None
            attributes[process] = process.encode_attributes(node_id)
        return attributes


def _split_new_elements(element: Element, parent: int, groups: Sequence[ElementGroup]) -> Iterator[Event]:
    for begin in range(0, len(groups), MAX_GROUPS_PER_EVENT):
        yield new_elements(element, parent, groups[begin : begin + MAX_GROUPS_PER_EVENT])


def _group_changes(changes: Mapping[Attributes, Iterable[int]]) -> list[ElementGroup]:
    """Return the elements that have changed in the same way as groups; a change may have no attributes that can be sent."""
    return [ElementGroup(RangeSet.from_numbers(ids), a) for a, ids in changes.items() if a]


# Differences between an element as it was sent and as it is now, by attributes in wire format


def _diff_attributes(before: Attributes, now: Attributes) -> Attributes:
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
    attributes: Mapping[Process, Attributes],
) -> dict[Attributes, list[int]]:
    """Return the ranks of processes by their changed attributes."""
    pairs: dict[tuple[Process, Process], list[int]] = {}
    for rank, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and old is not None and new is not None:
            pairs.setdefault((old, new), []).append(rank)
    changes: dict[Attributes, list[int]] = {}
    for (old, new), ranks in pairs.items():
        changes.setdefault(_diff_attributes(attributes[old], attributes[new]), []).extend(ranks)
    return changes


def _encode_process(rank: int, attributes: Attributes) -> Attributes:
    """Return all attributes of a process; its name is its rank."""
    state, *others = attributes
    return (f"name={rank}", state, f"processIndex={rank}", *others)


def _get_process(processes: Sequence[Process | None], rank: int) -> Process | None:
    return processes[rank] if rank < len(processes) else None
