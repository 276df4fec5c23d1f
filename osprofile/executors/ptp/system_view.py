"""The current state of the target system, as elements of the model.

Machine, nodes and queues are polled at an interval, while the client wants events. The jobs are
those that were submitted here, live ones of the record, and jobs of others that the batch system
shows to this user. One query gives the states of all. The jobs of others are not written to the
record.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import OSProfileError, TemplateNotFoundError
from osprofile.executors.ptp.elements import encode_machine, encode_node, encode_queue, job_from_status
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from osprofile.jobs.record.store import JobRecord
from osprofile.jobs.state import JobState, JobStatus, NodeState, QueueState
from osprofile.jobs.timing import Clock
from osprofile.jobs.watch.tracker import JobTracker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Attributes, Job
    from osprofile.jobs.shell.output import NodeStatus, QueueStatus
    from osprofile.jobs.target_system import TargetSystem
    from osprofile.jobs.timing import Moment

log: Final = logging.getLogger("osprofile.ptp")
POLL_INTERVAL: Final = 20.0
"""Seconds between two polls of machine, nodes, queues and the jobs of others."""
MAX_ENDED_JOBS: Final = 1000
"""How many ended jobs stay in the model; older ones are removed."""
MAX_PROCESSES: Final = 100_000
"""How many processes of one job are in the model."""
DEFAULT_QUEUE: Final = "default"
"""The queue of a machine without queues, and of jobs whose queue is not known."""
_MAX_BUSY_SHARE: Final = 0.1
"""The largest share of the time that queries to the batch system may take."""
_QUEUE_STATES: Final = MappingProxyType({QueueState.STOPPED: "STOPPED"})
"""Any other state is NORMAL; queueStatus has the batch system's own state."""


@final
@dataclass(slots=True)
class TrackedJob:
    """A job with its status and what a status does not have; `job` is its element of the model."""

    status: JobStatus
    queue: str = ""
    name: str = ""
    sub_id: str = ""
    process_count: int = 1
    job: Job | None = None


@final
class SystemView:
    """The state of a target system; `on_changed` is called after each change.

    `warn` gets each failure of a query once; `on_found` gets a job of the record that was not
    submitted here, when it is first seen. `user` is the jobs' owner.
    """

    def __init__(
        self,
        target: TargetSystem,
        on_changed: Callable[[], object],
        warn: Callable[[str], object],
        on_found: Callable[[JobRecord], object] = lambda _: None,
        *,
        user: str = "",
        interval: float = POLL_INTERVAL,
    ) -> None:
        self._target, self._on_changed, self._warn = target, on_changed, warn
        self._on_found = on_found
        self._user, self._interval = user, interval
        self._name = target.name.partition("@")[2] or os.uname().nodename
        self._events = target.events()
        self._tracked_jobs: dict[str, TrackedJob] = {}
        self._other_jobs: dict[str, TrackedJob] = {}
        self._clock = Clock()
        # Of its own: it has no records, and is asked only while the client wants events.
        self._tracker = JobTracker(target.timing, lambda _job_id: None)
        self._wake_up = asyncio.Event()
        self._recorded_jobs: dict[str, JobRecord] = {}
        self._ended_job_ids: deque[str] = deque()
        self._running_submissions = self._submission_count = 0
        self._query_errors: dict[str, str] = {}
        self._node_list: Sequence[NodeStatus] = ()
        self._queue_list: Sequence[QueueStatus] = ()
        self.nodes: Mapping[str, Attributes] = {}
        """The nodes by name; the same object as long as they do not change."""
        self.first_poll_done = asyncio.Event()
        """Set after the first poll of everything."""

    @property
    def machine(self) -> dict[str, Attributes]:
        """The machine: ERROR if a query failed, DOWN if all nodes are down."""
        state = "UP"
        if self._node_list and all(n.state is NodeState.DOWN for n in self._node_list):
            state = "DOWN"
        return {self._name: encode_machine(self._name, "ERROR" if self._query_errors else state)}

    @property
    def queues(self) -> dict[str, Attributes]:
        """The queues by name; DEFAULT_QUEUE if the machine has none."""
        found = {
            queue.name: encode_queue(queue.name, _QUEUE_STATES.get(queue.state, "NORMAL"), queue.native_state)
            for queue in self._queue_list
        }
        return found or {DEFAULT_QUEUE: encode_queue(DEFAULT_QUEUE)}

    @property
    def jobs(self) -> list[Job]:
        """The jobs."""
        jobs = (*self._tracked_jobs.values(), *self._other_jobs.values())
        return [tracked.job for tracked in jobs if tracked.job is not None]

    def has_queue(self, name: str) -> bool:
        """Return whether the machine has a queue of this name."""
        return any(queue.name == name for queue in self._queue_list)

    # Jobs

    def get_state(self, job_id: str) -> JobState | None:
        """Return the state of a job of the record; None if it is not in the model any more."""
        tracked = self._tracked_jobs.get(job_id)
        return tracked.status.state if tracked is not None else None

    @contextlib.contextmanager
    def pause_discovery(self) -> Iterator[None]:
        """Do not look for jobs of others during a submission: a new job may be the submitted one."""
        self._running_submissions += 1
        try:
            yield
        finally:
            self._running_submissions -= 1
            self._submission_count += 1

    def add_job(self, tracked: TrackedJob) -> None:
        """Add a job that was submitted here just now."""
        self._forget_other(tracked.status.job_id)  # an id that is used again
        self._tracked_jobs[tracked.status.job_id] = tracked
        self._set_status(tracked, tracked.status)

    @contextlib.contextmanager
    def track_action(self, job_id: str, *, aborts: bool = False) -> Iterator[None]:
        """Poll soon after an action on a job; `aborts`: the job is being removed.

        This is for the jobs of others: those of the record are watched.
        """
        is_other = job_id in self._other_jobs
        if is_other and aborts:
            self._tracker.note_removal(job_id, self._clock.now())  # first, as the job may end at any time
        try:
            yield
        except BaseException:  # an ABORT that was cut off or cancelled does not count
            if is_other and aborts:
                self._tracker.note_removal(job_id, None)
            raise
        finally:
            if is_other:
                self._wake_up.set()

    async def follow_events(self) -> None:
        """Follow the target system's events about its jobs; never returns."""
        for record in self._target.store.list_live_jobs(self._target.name):
            if record.is_submitted:
                self._recorded_jobs[record.status.job_id] = record
                await self._target.watch(record.status.job_id)
        async for event in self._events:
            if event.job_id in self._tracked_jobs:
                self._set_status(self._tracked_jobs[event.job_id], event.status)
            elif event.job_id in self._recorded_jobs:
                self._add_recorded_job(event.status)

    def _set_status(self, tracked: TrackedJob, status: JobStatus) -> None:
        tracked.status = status
        tracked.job = job_from_status(
            status,
            queue=tracked.job.queue if tracked.job else tracked.queue or self._find_default_queue(),
            name=tracked.name,
            sub_id=tracked.sub_id,
            user=self._user,
            process_count=min(tracked.process_count, MAX_PROCESSES),
            previous=tracked.job,
        )
        if status.state.is_terminal:
            self._ended_job_ids.append(status.job_id)
            if len(self._ended_job_ids) > MAX_ENDED_JOBS:
                self._forget_job(self._ended_job_ids.popleft())
        self._on_changed()

    def _add_recorded_job(self, status: JobStatus) -> None:
        """Add a job of the record that was not submitted here."""
        record = self._recorded_jobs.pop(status.job_id)
        request = self._target.store.read_details(record.number).request or {}
        # that of the record may be the program's: here, a job without a name has its id
        name = request.get(FIELD_BY_ATTRIBUTE["name"], "")
        self.add_job(TrackedJob(status, queue=self._guess_queue(status), name=name))
        self._on_found(record)

    def _guess_queue(self, status: JobStatus) -> str:
        """Return the queue of a job that was not submitted here, as far as it is known."""
        only = self._queue_list[0].name if len(self._queue_list) == 1 else DEFAULT_QUEUE
        return status.queue or only

    def _forget_job(self, job_id: str) -> None:
        if not self._forget_other(job_id):
            self._tracked_jobs.pop(job_id, None)
            self._target.unwatch(job_id)

    def _forget_other(self, job_id: str) -> bool:
        """Forget a job of others; return False for any other job."""
        self._tracker.forget(job_id)
        return self._other_jobs.pop(job_id, None) is not None

    def _find_default_queue(self) -> str:
        names = [queue.name for queue in self._queue_list if queue.is_default]
        if not names and len(self._queue_list) == 1:
            names = [self._queue_list[0].name]
        return names[0] if names else DEFAULT_QUEUE

    # Polling

    async def poll_repeatedly(self, events_wanted: asyncio.Event) -> None:
        """Poll at intervals while events are wanted; never returns."""
        while True:
            await events_wanted.wait()
            self._wake_up.clear()
            start = time.monotonic()
            await self.poll_system()
            self.first_poll_done.set()
            took = time.monotonic() - start
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(self._interval, took * (1 / _MAX_BUSY_SHARE - 1))):
                    await self._wake_up.wait()

    async def poll_system(self) -> None:
        """Poll everything once; what cannot be queried stays as it was."""
        await asyncio.gather(
            self._run_query("nodes", self._query_nodes), self._run_query("queues", self._query_queues)
        )
        await self._run_query("jobs", self._query_jobs)

    async def _run_query(self, subject: str, query: Callable[[], Awaitable[Any]]) -> None:
        try:
            await query()
        except OSProfileError as error:
            if self._query_errors.get(subject) != error.message:
                self._query_errors[subject] = error.message
                log.warning("the %s stay as they are: %s", subject, error)
                self._warn(error.message)
                self._on_changed()
        else:
            if self._query_errors.pop(subject, None) is not None:
                self._on_changed()

    async def _query_nodes(self) -> None:
        try:
            found = await self._target.list_nodes()
        except TemplateNotFoundError:
            self.nodes = self.nodes or {self._name: encode_node(self._name, number=0)}
            return
        if found != self._node_list:
            self._node_list = found
            self.nodes = {
                node.name: encode_node(node.name, node.state.value, node.native_state, number)
                for number, node in enumerate(found)
            }
            self._on_changed()

    async def _query_queues(self) -> None:
        with contextlib.suppress(TemplateNotFoundError):
            found = await self._target.list_queues()
            if found != self._queue_list:
                self._queue_list = found
                self._on_changed()

    async def _query_jobs(self) -> None:
        """Poll jobs, and find those of others that have not ended."""
        before, asked = self._submission_count, self._clock.now()
        found = await self._target.poll(self._interval / 2)
        if self._running_submissions or self._submission_count != before:
            return  # one of them may be the submitted one
        await self._update_other_jobs(found, asked)
        for number, (job_id, status) in enumerate(found.items()):
            if not (job_id in self._tracked_jobs or job_id in self._other_jobs or status.state.is_terminal):
                await self._discover_job(status)
            if number % 100 == 99:
                await asyncio.sleep(0)

    async def _discover_job(self, status: JobStatus) -> None:
        """Add a job that the batch system lists, as one of the record's or as one of others.

        PTP knows no arrays: one of the record is a job, and its tasks are left out.
        """
        job_id = status.job_id
        if (array_id := self._target.find_array(job_id)) is not None:
            if array_id in self._tracked_jobs or self._target.find_record(array_id) is None:
                return
            job_id, status = array_id, await self._target.watch(array_id)
            if status.state.is_terminal:
                return
        if job_id not in self._recorded_jobs:
            record = self._target.find_record(job_id)
            if record is None:
                self._tracker.follow(
                    JobRecord(
                        0, self._target.name, "", key=None, name="", script=None, owner=None, status=status
                    ),
                    self._clock.now(),
                )
                tracked = TrackedJob(status, queue=self._guess_queue(status))
                self._other_jobs[job_id] = tracked
                self._set_status(tracked, status)
                return
            self._recorded_jobs[job_id] = record
            await self._target.watch(job_id)
        if job_id in self._recorded_jobs:
            self._add_recorded_job(status)

    async def _update_other_jobs(self, found: Mapping[str, JobStatus], asked: Moment) -> None:
        """Update the jobs of others; those that are not listed any more are queried one by one."""
        missing = self._tracker.receive_answer(found, asked, self._clock.now())
        if missing:
            asked = self._clock.now()
            answers = await self._target.statuses(missing, max_age=self._interval)
            self._tracker.receive_missing_answers(missing, answers, asked, self._clock.now())
        self._tracker.take_changes()  # what changes beside the states is shown, too
        for job_id, tracked in list(self._other_jobs.items()):
            line, status = found.get(job_id), self._tracker.jobs.get_status(job_id)
            if line is not None and line.state is JobState.UNKNOWN:  # the client sees its word
                status = self._tracker.jobs.describe_status(job_id, line)
            if status is not tracked.status and status != tracked.status:
                self._set_status(tracked, status)
