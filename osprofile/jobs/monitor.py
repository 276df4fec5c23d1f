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
from osprofile.jobs.state import TERMINAL_STATES, JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

EARLY_EVENT_LIFETIME: Final = 600.0
"""Seconds that events of a job that nobody registered are kept for a late registration."""
MAX_EARLY_JOBS: Final = 100_000
"""Jobs whose events are kept so: a busy system's logs tell of everybody's."""
LOG_TIME_RESOLUTION: Final = 1.0
"""Seconds by which a log's timestamps are cut: an event may look that much older than it is."""
_STATE_RANK: Final = {JobState.QUEUED: 0, JobState.HELD: 0, JobState.RUNNING: 1}


@final
@dataclass(slots=True)
class _Registration:
    key: Hashable
    status: JobStatus
    timestamp: float
    reported_at: dict[JobState, float] = field(default_factory=dict)


@final
class JobMonitor:
    """The registry of jobs, each with its owner's key.

    `tell(event, key)` is called for each event of a registered job that says something new; the
    event's status has all that is known, times included. A terminal event is the job's last.
    `on_replay` gets what came before a registration; by default it is fed.
    """

    def __init__(
        self,
        publish: Callable[[JobEvent, Hashable], None],
        *,
        early_event_lifetime: float = EARLY_EVENT_LIFETIME,
        clock: Callable[[], float] = time.time,
        on_replay: Callable[[JobEvent], object] | None = None,
    ) -> None:
        self._publish = publish
        self._on_replay = on_replay or self.feed_event
        self._early_event_lifetime = early_event_lifetime
        self._clock = clock
        self._registrations: dict[str, _Registration] = {}
        self._early_events: dict[str, tuple[float, list[JobEvent]]] = {}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._registrations

    def __iter__(self) -> Iterator[str]:
        return iter(self._registrations)

    def __len__(self) -> int:
        return len(self._registrations)

    def register(
        self,
        job_id: str,
        key: Hashable = None,
        initial_status: JobStatus | None = None,
        timestamp: float = 0.0,
    ) -> None:
        """Ask for a job's events; those that came before are told at once.

        `initial_status` is what the caller knows of it already, as of `timestamp`: it is not told again.
        Raises `AlreadyRegisteredError`.
        """
        if job_id in self._registrations:
            message = f"job {job_id} is registered already"
            raise AlreadyRegisteredError(message, hint="unregister it first")
        initial_status = initial_status or JobStatus(job_id, JobState.UNKNOWN)
        self._registrations[job_id] = _Registration(key, initial_status, timestamp)
        for event in self._early_events.pop(job_id, (0, []))[1]:
            self._on_replay(event)

    def unregister(self, job_id: str) -> None:
        """Ask for no more events of a job; raises `NotRegisteredError`."""
        if self._registrations.pop(job_id, None) is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message, hint="it may have been unregistered before")

    def get_status(self, job_id: str) -> JobStatus:
        """Give what is known of a registered job; raises `NotRegisteredError`."""
        found = self._registrations.get(job_id)
        if found is None:
            raise NotRegisteredError(f"job {job_id} is not registered")
        return found.status

    def feed_event(self, event: JobEvent) -> bool:
        """Take an event from a source; say whether it was told.

        A word that is UNKNOWN is kept beside the last state, and is no event.
        """
        before, after = self.apply_event(event)
        return after.state is not before.state

    def apply_event(
        self, event: JobEvent, *, keep_early: bool = True
    ) -> tuple[JobStatus, JobStatus]:
        """Do as `feed_event` does, and give what was known of the job before, and what is now.

        `keep_early`: keep an event of a job that nobody registered.
        """
        when, new = event
        found = self._registrations.get(new.job_id)
        if found is None:
            if keep_early:
                self._keep_early_event(event)
            return new, new
        last = found.status
        if last.state in TERMINAL_STATES or _is_stale_event(found, when, new.state):
            return last, last
        if new.state is JobState.UNKNOWN:
            found.status = last._replace(native_state=new.native_state, reason=new.reason)
            return last, found.status
        found.status = status = _merge_statuses(last, new, when)
        found.timestamp = max(found.timestamp, when)
        if status.state is not last.state:
            found.reported_at[status.state] = when
            self._publish(JobEvent(when, status), found.key)
        return last, status

    @property
    def oldest_early_timestamp(self) -> float | None:
        """The timestamp of the oldest event that waits for a registration; None without any.

        A source that starts again must begin there (Scheduler Event Generator: "1 persistent
        datum").
        """
        return min(
            (e.timestamp for _, events in self._early_events.values() for e in events), default=None
        )

    def expire_early_events(self) -> int:
        """Drop the events that waited too long for a registration; give how many jobs' they were."""
        old = self._clock() - self._early_event_lifetime
        gone: list[str] = []
        for job_id, (
            since,
            _,
        ) in self._early_events.items():  # those that waited longest come first
            if since >= old and len(self._early_events) - len(gone) <= MAX_EARLY_JOBS:
                break
            gone.append(job_id)
        for job_id in gone:
            del self._early_events[job_id]
        return len(gone)

    def _keep_early_event(self, event: JobEvent) -> None:
        _, events = self._early_events.pop(event.job_id, (0, []))
        if all((e.state, e.timestamp) != (event.state, event.timestamp) for e in events):
            events.append(event)
        self._early_events[event.job_id] = (self._clock(), events)
        if len(self._early_events) > 2 * MAX_EARLY_JOBS:
            self.expire_early_events()


def _is_stale_event(registration: _Registration, timestamp: float, state: JobState) -> bool:
    """Say whether a state at a time is what was before the last one, or was told before.

    A terminal one never does. Logs cut their timestamps to the second, so a step forward may look
    a little older than it is.
    """
    if state in TERMINAL_STATES:
        return False
    if timestamp <= registration.reported_at.get(state, -math.inf):
        return True
    if timestamp >= registration.timestamp:
        return False
    forward = _STATE_RANK.get(state, 0) > _STATE_RANK.get(registration.status.state, -1)
    return (
        not forward
        or timestamp != int(timestamp)
        or timestamp + LOG_TIME_RESOLUTION <= registration.timestamp
    )


def _merge_statuses(last: JobStatus, new: JobStatus, timestamp: float) -> JobStatus:
    """Give what is known of a job after it was seen in a state, with the times of that."""
    started, ended = new.started or last.started, new.ended
    if started is None and new.state is JobState.RUNNING:
        started = timestamp
    if ended is None and new.state in TERMINAL_STATES:
        ended = timestamp
    if ended is not None and new.elapsed is not None:
        started = ended - new.elapsed  # polls see a short job late, or not at all
    return new._replace(
        hosts=new.hosts or last.hosts,
        submitted=new.submitted or last.submitted,
        started=started,
        ended=ended,
        queue=new.queue or last.queue,
    )
