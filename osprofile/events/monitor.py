"""The job state monitor: what is known of the jobs that somebody asked about, and who is told.

It has no source of its own: a poller and the readers of schedulers' logs feed it, in any order and
both at once, and each change of a job is told once (Scheduler Event Generator, "Job State
Monitor"). It knows no clock but the one it is given, and is for one thread.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.events.event import TERMINAL, JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

KEEP: Final = 600.0
"""Seconds that events of a job that nobody registered are kept for a late registration."""
MOST: Final = 100_000
"""Jobs whose events are kept so: a busy system's logs tell of everybody's."""
RESOLUTION: Final = 1.0
"""Seconds by which a log's timestamps are cut: an event may look that much older than it is."""
_RANK: Final = {JobState.QUEUED: 0, JobState.HELD: 0, JobState.RUNNING: 1}


@final
@dataclass(slots=True)
class _Registration:
    key: Hashable
    status: JobStatus
    timestamp: float
    told: dict[JobState, float] = field(default_factory=dict)


@final
class Monitor:
    """The registry of jobs, each with its owner's key.

    `tell(event, key)` is called for each event of a registered job that says something new; the
    event's status has all that is known, times included. A terminal event is the job's last.
    `replay` gets what came before a registration; by default it is fed.
    """

    def __init__(
        self,
        tell: Callable[[JobEvent, Hashable], None],
        *,
        keep: float = KEEP,
        clock: Callable[[], float] = time.time,
        replay: Callable[[JobEvent], object] | None = None,
    ) -> None:
        self._tell = tell
        self._replay = replay or self.feed
        self._keep = keep
        self._clock = clock
        self._registered: dict[str, _Registration] = {}
        self._early: dict[str, tuple[float, list[JobEvent]]] = {}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._registered

    def __iter__(self) -> Iterator[str]:
        return iter(self._registered)

    def __len__(self) -> int:
        return len(self._registered)

    def register(
        self,
        job_id: str,
        key: Hashable = None,
        known: JobStatus | None = None,
        timestamp: float = 0.0,
    ) -> None:
        """Ask for a job's events; those that came before are told at once.

        `known` is what the caller knows of it already, as of `timestamp`: it is not told again.
        Raises `AlreadyRegisteredError`.
        """
        if job_id in self._registered:
            message = f"job {job_id} is registered already"
            raise AlreadyRegisteredError(message, hint="unregister it first")
        known = known or JobStatus(job_id, JobState.UNKNOWN)
        self._registered[job_id] = _Registration(key, known, timestamp)
        for event in self._early.pop(job_id, (0, []))[1]:
            self._replay(event)

    def unregister(self, job_id: str) -> None:
        """Ask for no more events of a job; raises `NotRegisteredError`."""
        if self._registered.pop(job_id, None) is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message, hint="it may have been unregistered before")

    def status(self, job_id: str) -> JobStatus:
        """Give what is known of a registered job; raises `NotRegisteredError`."""
        found = self._registered.get(job_id)
        if found is None:
            raise NotRegisteredError(f"job {job_id} is not registered")
        return found.status

    def feed(self, event: JobEvent) -> bool:
        """Take an event from a source; say whether it was told.

        A word that is UNKNOWN is kept beside the last state, and is no event.
        """
        before, after = self.take(event)
        return after.state is not before.state

    def take(self, event: JobEvent, *, early: bool = True) -> tuple[JobStatus, JobStatus]:
        """Do as `feed` does, and give what was known of the job before, and what is now.

        `early`: keep an event of a job that nobody registered.
        """
        when, new = event
        found = self._registered.get(new.job_id)
        if found is None:
            if early:
                self._keep_early(event)
            return new, new
        last = found.status
        if last.state in TERMINAL or _is_stale(found, when, new.state):
            return last, last
        if new.state is JobState.UNKNOWN:
            found.status = last._replace(word=new.word, reason=new.reason)
            return last, found.status
        found.status = status = _merged(last, new, when)
        found.timestamp = max(found.timestamp, when)
        if status.state is not last.state:
            found.told[status.state] = when
            self._tell(JobEvent(when, status), found.key)
        return last, status

    @property
    def oldest(self) -> float | None:
        """The timestamp of the oldest event that waits for a registration; None without any.

        A source that starts again must begin there (Scheduler Event Generator: "1 persistent
        datum").
        """
        return min(
            (e.timestamp for _, events in self._early.values() for e in events), default=None
        )

    def expire(self) -> int:
        """Drop the events that waited too long for a registration; give how many jobs' they were."""
        old = self._clock() - self._keep
        gone: list[str] = []
        for job_id, (since, _) in self._early.items():  # those that waited longest come first
            if since >= old and len(self._early) - len(gone) <= MOST:
                break
            gone.append(job_id)
        for job_id in gone:
            del self._early[job_id]
        return len(gone)

    def _keep_early(self, event: JobEvent) -> None:
        _, events = self._early.pop(event.job_id, (0, []))
        if all((e.state, e.timestamp) != (event.state, event.timestamp) for e in events):
            events.append(event)
        self._early[event.job_id] = (self._clock(), events)
        if len(self._early) > 2 * MOST:
            self.expire()


def _is_stale(found: _Registration, when: float, state: JobState) -> bool:
    """Say whether a state at a time is what was before the last one, or was told before.

    A terminal one never does. Logs cut their timestamps to the second, so a step forward may look
    a little older than it is.
    """
    if state in TERMINAL:
        return False
    if when <= found.told.get(state, -math.inf):
        return True
    if when >= found.timestamp:
        return False
    forward = _RANK.get(state, 0) > _RANK.get(found.status.state, -1)
    return not forward or when != int(when) or when + RESOLUTION <= found.timestamp


def _merged(last: JobStatus, new: JobStatus, when: float) -> JobStatus:
    """Give what is known of a job after it was seen in a state, with the times of that."""
    started, ended = new.started or last.started, new.ended
    if started is None and new.state is JobState.RUNNING:
        started = when
    if ended is None and new.state in TERMINAL:
        ended = when
    if ended is not None and new.elapsed is not None:
        started = ended - new.elapsed  # polls see a short job late, or not at all
    return new._replace(
        hosts=new.hosts or last.hosts,
        submitted=new.submitted or last.submitted,
        started=started,
        ended=ended,
        queue=new.queue or last.queue,
    )
