"""What is on the target system now, in the elements that a client knows.

Machine, nodes and queues are asked for at an interval, and only while the client wants events. The
jobs are those that were submitted here, those of the record that have not ended, and those that
others submitted and that the batch system shows to this user; the states of all come from one query.
The jobs of others are known here alone: nothing of them is written to the record.
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
from osprofile.events.event import JobState, JobStatus
from osprofile.executors.ptp.elements import Machine, Node, Queue, job_of
from osprofile.profile.words import NodeState, QueueState
from osprofile.target.poller import after_abort, vanished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from osprofile.executors.ptp.elements import Job
    from osprofile.target.machine import NodeStatus, QueueStatus
    from osprofile.target.store import Record
    from osprofile.target.system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
INTERVAL: Final = 20.0
"""Seconds between two looks at machine, nodes, queues and the jobs of others."""
MOST_ENDED: Final = 1000
"""Jobs that have ended and that a client is still told of: older ones are removed."""
MOST_PROCESSES: Final = 100_000
"""Processes of one job that a client is told of."""
DEFAULT_QUEUE: Final = "default"
"""The queue of jobs on a machine that has none, and of those whose queue is not known."""
_SHARE: Final = 0.1
"""Of its time, the batch system is asked this part at most."""
_QUEUE_STATES: Final = MappingProxyType({QueueState.STOPPED: "STOPPED"})
"""What has no state here is NORMAL; queueStatus has the batch system's word."""


@final
@dataclass(slots=True)
class Told:
    """A job, and what of it no status tells; `job` is what a client is to know.

    Of a job of others, `missing` is since when nobody knows it (monotonic), `aborted` when its
    removal was asked for (seconds since 1970).
    """

    status: JobStatus
    queue: str = ""
    name: str = ""
    sub_id: str = ""
    count: int = 1
    job: Job | None = None
    missing: float | None = None
    aborted: float | None = None


@final
class View:
    """One target system, as it is now; `changed` is called when it is not as it was.

    `warn` gets what could not be found out, once; `found` a job of the record that was not submitted
    here, when it is told of. `user` is whose jobs these are.
    """

    def __init__(
        self,
        target: TargetSystem,
        changed: Callable[[], object],
        warn: Callable[[str], object],
        found: Callable[[Record], object] = lambda _: None,
        *,
        user: str = "",
        interval: float = INTERVAL,
    ) -> None:
        self._target, self._changed, self._warn = target, changed, warn
        self._tell_found = found
        self._user, self._interval = user, interval
        self._name = target.name.partition("@")[2] or os.uname().nodename
        self._events = target.events()
        self._known: dict[str, Told] = {}
        self._others: dict[str, Told] = {}
        self._soon = asyncio.Event()
        self._recorded: dict[str, Record] = {}
        self._ended: deque[str] = deque()
        self._submitting = self._submitted = 0
        self._trouble: dict[str, str] = {}
        self._node_list: Sequence[NodeStatus] = ()
        self._queue_list: Sequence[QueueStatus] = ()
        self.nodes: Sequence[Node] = ()
        """The nodes; the same object as long as they are the same."""
        self.ready = asyncio.Event()
        """Set when all has been asked for once."""

    @property
    def machine(self) -> Machine:
        """The machine: ERROR where it does not answer, DOWN where all of its nodes are."""
        state = "UP"
        if self._node_list and all(n.state is NodeState.DOWN for n in self._node_list):
            state = "DOWN"
        return Machine(self._name, "ERROR" if self._trouble else state)

    @property
    def queues(self) -> list[Queue]:
        """The queues; one of our own where the machine has none."""
        found = [
            Queue(queue.name, _QUEUE_STATES.get(queue.state, "NORMAL"), queue.word)
            for queue in self._queue_list
        ]
        return found or [Queue(DEFAULT_QUEUE)]

    @property
    def jobs(self) -> list[Job]:
        """The jobs."""
        jobs = (*self._known.values(), *self._others.values())
        return [told.job for told in jobs if told.job is not None]

    def is_queue(self, name: str) -> bool:
        """Say whether the machine itself has a queue of this name."""
        return any(queue.name == name for queue in self._queue_list)

    # Jobs

    def state(self, job_id: str) -> JobState | None:
        """Return the state of a job of the record; None where it is not told of any more."""
        told = self._known.get(job_id)
        return told.status.state if told is not None else None

    @contextlib.contextmanager
    def submitting(self) -> Iterator[None]:
        """Take no job for somebody else's while one is being submitted here."""
        self._submitting += 1
        try:
            yield
        finally:
            self._submitting -= 1
            self._submitted += 1

    def add(self, told: Told) -> None:
        """Add a job that was submitted here just now."""
        self._others.pop(told.status.job_id, None)  # an id that came round again
        self._known[told.status.job_id] = told
        self._set(told, told.status)

    @contextlib.contextmanager
    def acting(self, job_id: str, *, aborts: bool = False) -> Iterator[None]:
        """Look soon at a job that something is done to now; `aborts`: it is being removed.

        It is for the jobs of others: those of the record are watched.
        """
        told = self._others.get(job_id)
        if told is not None and aborts:
            told.aborted = time.time()  # before, lest the job end in between
        try:
            yield
        except BaseException:  # a cut or cancelled ABORT is none, too
            if told is not None and aborts:
                told.aborted = None
            raise
        finally:
            if told is not None:
                self._soon.set()

    async def hear(self) -> None:
        """Take what the target system says of its jobs, for ever."""
        for record in self._target.store.live(self._target.name):
            if record.is_submitted:
                self._recorded[record.status.job_id] = record
                await self._target.watch(record.status.job_id)
        async for event in self._events:
            if event.job_id in self._known:
                self._set(self._known[event.job_id], event.status)
            elif event.job_id in self._recorded:
                self._found(event.status)

    def _set(self, told: Told, status: JobStatus) -> None:
        """Note a job's state."""
        told.status = status
        told.job = job_of(
            status,
            queue=told.job.queue if told.job else told.queue or self._default_queue(),
            name=told.name,
            sub_id=told.sub_id,
            user=self._user,
            count=min(told.count, MOST_PROCESSES),
            before=told.job,
        )
        if status.state.is_terminal:
            self._ended.append(status.job_id)
            if len(self._ended) > MOST_ENDED:
                self._forget(self._ended.popleft())
        self._changed()

    def _found(self, status: JobStatus) -> None:
        """Add a job of the record that was not submitted here."""
        record = self._recorded.pop(status.job_id)
        self.add(Told(status, queue=self._queue_of(status), name=record.name))
        self._tell_found(record)

    def _queue_of(self, status: JobStatus) -> str:
        """Give the queue of a job that was not submitted here, as far as its state tells it."""
        only = self._queue_list[0].name if len(self._queue_list) == 1 else DEFAULT_QUEUE
        return status.queue or only

    def _forget(self, job_id: str) -> None:
        if self._others.pop(job_id, None) is None:
            self._known.pop(job_id, None)
            self._target.unwatch(job_id)

    def _default_queue(self) -> str:
        names = [queue.name for queue in self._queue_list if queue.is_default]
        if not names and len(self._queue_list) == 1:
            names = [self._queue_list[0].name]
        return names[0] if names else DEFAULT_QUEUE

    # Looking

    async def look_on(self, wanted: asyncio.Event) -> None:
        """Look at all that nobody tells, again and again while it is wanted, for ever."""
        while True:
            await wanted.wait()
            self._soon.clear()
            begun = time.monotonic()
            await self.look()
            self.ready.set()
            took = time.monotonic() - begun
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(self._interval, took * (1 / _SHARE - 1))):
                    await self._soon.wait()

    async def look(self) -> None:
        """Look once; what cannot be found out stays as it was."""
        await asyncio.gather(
            self._ask("nodes", self._look_at_nodes), self._ask("queues", self._look_at_queues)
        )
        await self._ask("jobs", self._look_at_jobs)

    async def _ask(self, what: str, ask: Callable[[], Awaitable[Any]]) -> None:
        try:
            await ask()
        except OSProfileError as error:
            if self._trouble.get(what) != error.message:
                self._trouble[what] = error.message
                log.warning("the %s stay as they are: %s", what, error)
                self._warn(error.message)
                self._changed()
        else:
            if self._trouble.pop(what, None) is not None:
                self._changed()

    async def _look_at_nodes(self) -> None:
        try:
            found = await self._target.nodes()
        except TemplateNotFoundError:
            self.nodes = self.nodes or (Node(self._name, "UP", "", 0),)
            return
        if found != self._node_list:
            self._node_list = found
            self.nodes = tuple(
                Node(node.name, node.state.value, node.word, number)
                for number, node in enumerate(found)
            )
            self._changed()

    async def _look_at_queues(self) -> None:
        with contextlib.suppress(TemplateNotFoundError):
            found = await self._target.queues()
            if found != self._queue_list:
                self._queue_list = found
                self._changed()

    async def _look_at_jobs(self) -> None:
        """Look for the jobs that others submitted; those that had ended before are not told of."""
        before = self._submitted
        found = await self._target.poll(self._interval / 2)
        if self._submitting or self._submitted != before:
            return  # one of them may be that of a submission
        await self._look_at_others(found)
        for number, (job_id, status) in enumerate(found.items()):
            if not (job_id in self._known or job_id in self._others or status.state.is_terminal):
                await self._discover(status)
            if number % 100 == 99:
                await asyncio.sleep(0)

    async def _discover(self, status: JobStatus) -> None:
        """Add a job that the batch system shows, as one of the record's or as one of others."""
        job_id = status.job_id
        if job_id not in self._recorded:
            record = self._target.store.find(self._target.name, job_id)
            if record is None:
                told = self._others[job_id] = Told(status, queue=self._queue_of(status))
                self._set(told, status)
                return
            self._recorded[job_id] = record
            await self._target.watch(job_id)
        if job_id in self._recorded:
            self._found(status)

    async def _look_at_others(self, found: Mapping[str, JobStatus]) -> None:
        """Note the states of others' jobs; what became of those that are gone is asked for."""
        live = {j: told for j, told in self._others.items() if not told.status.state.is_terminal}
        gone = []
        for job_id, told in live.items():
            status = found.get(job_id)
            if status is None or status.state is JobState.LOST:
                gone.append(job_id)
            elif status is not told.status:
                self._hear_of(told, status)
        if gone:
            known = await self._target.statuses(gone, max_age=self._interval)
            for job_id in gone:
                if job_id in self._others:
                    self._judge(self._others[job_id], known.get(job_id))

    def _hear_of(self, told: Told, status: JobStatus) -> None:
        told.missing = None
        self._set(told, after_abort(status) if told.aborted else status)

    def _judge(self, told: Told, status: JobStatus | None) -> None:
        """Judge a job of others that the batch system no longer lists, as the record's are."""
        if status is not None and status.state is not JobState.LOST:
            self._hear_of(told, status)
            return
        now = time.monotonic()
        told.missing = now if told.missing is None else told.missing
        over = now - told.missing >= self._target.timing.grace
        ended = vanished(told.status.job_id, status, aborted=told.aborted, over=over)
        if ended is not None:
            self._set(told, ended)
