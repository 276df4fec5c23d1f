"""The job state monitor: the registry of jobs, which publishes each change of a job once.

It has no source of its own: a poller and the readers of schedulers' logs feed it with events, in any
order and at the same time. It uses only the clock that it is given, and is for one thread. See
docs/protocols/seg.md, 2.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.jobs.state import JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

EARLY_EVENT_LIFETIME: Final = 600.0
"""Seconds for which events of an unregistered job are kept, in case it is registered later."""
MAX_EARLY_JOBS: Final = 100_000
"""Unregistered jobs whose events are kept; a log has the jobs of all users."""
LOG_TIME_RESOLUTION: Final = 1.0
"""Resolution of a log's timestamps in seconds: an event may look that much older than it is."""
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

    `publish(event, key)` is called for each change of a registered job; the event's status has all that
    is known, including times. A terminal event is the job's last. `on_replay` is called with the events
    that came before the registration (default: `feed_event`).
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
        """Publish a job's events from now on; events that came earlier are replayed at once.

        `initial_status` is what the caller knows already, as of `timestamp`; it is not published. Raises
        `AlreadyRegisteredError`.
        """
        if job_id in self._registrations:
            message = f"job {job_id} is registered already"
            raise AlreadyRegisteredError(message, hint="unregister it first")
        initial_status = initial_status or JobStatus(job_id, JobState.UNKNOWN)
        self._registrations[job_id] = _Registration(key, initial_status, timestamp)
        for event in self._early_events.pop(job_id, (0, []))[1]:
            self._on_replay(event)

    def unregister(self, job_id: str) -> None:
        """Publish no more events of a job. Raises `NotRegisteredError`."""
        if self._registrations.pop(job_id, None) is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message, hint="it may have been unregistered before")

    def get_status(self, job_id: str) -> JobStatus:
        """Return the last known status of a registered job. Raises `NotRegisteredError`."""
        registration = self._registrations.get(job_id)
        if registration is None:
            raise NotRegisteredError(f"job {job_id} is not registered")
        return registration.status

    def feed_event(self, event: JobEvent) -> bool:
        """Process an event of a source, and return whether it was published.

        An UNKNOWN state is not: its `native_state` and `reason` are kept with the last known state.
        """
        before, after = self.apply_event(event)
        return after.state is not before.state

    def apply_event(self, event: JobEvent, *, keep_early: bool = True) -> tuple[JobStatus, JobStatus]:
        """Process an event as `feed_event` does; return the job's status before and after it.

        `keep_early`: keep the event of a job that is not registered.
        """
        timestamp, new = event
        registration = self._registrations.get(new.job_id)
        if registration is None:
            if keep_early:
                self._keep_early_event(event)
            return new, new
        last = registration.status
        if last.state.is_terminal or _is_stale_event(registration, timestamp, new.state):
            return last, last
        if new.state is JobState.UNKNOWN:
            registration.status = last._replace(native_state=new.native_state, reason=new.reason)
            return last, registration.status
        registration.status = status = _merge_statuses(last, new, timestamp)
        registration.timestamp = max(registration.timestamp, timestamp)
        if status.state is not last.state:
            registration.reported_at[status.state] = timestamp
            self._publish(JobEvent(timestamp, status), registration.key)
        return last, status

    @property
    def oldest_early_timestamp(self) -> float | None:
        """The timestamp of the oldest event that waits for a registration, None if none does.

        A source that is restarted must begin there. See docs/protocols/seg.md, 2.
        """
        return min((e.timestamp for _, events in self._early_events.values() for e in events), default=None)

    def expire_early_events(self) -> int:
        """Drop the events that have waited too long for a registration; return the number of jobs."""
        old = self._clock() - self._early_event_lifetime
        expired: list[str] = []
        for job_id, (since, _) in self._early_events.items():  # the oldest come first
            if since >= old and len(self._early_events) - len(expired) <= MAX_EARLY_JOBS:
                break
            expired.append(job_id)
        for job_id in expired:
            del self._early_events[job_id]
        return len(expired)

    def _keep_early_event(self, event: JobEvent) -> None:
        _, events = self._early_events.pop(event.job_id, (0, []))
        if all((e.state, e.timestamp) != (event.state, event.timestamp) for e in events):
            events.append(event)
        self._early_events[event.job_id] = (self._clock(), events)
        if len(self._early_events) > 2 * MAX_EARLY_JOBS:
            self.expire_early_events()


def _is_stale_event(registration: _Registration, timestamp: float, state: JobState) -> bool:
    """Return whether an event is older than the last one, or was published before.

    A terminal state is never stale. Logs have timestamps in whole seconds, so the next state may look
    up to LOG_TIME_RESOLUTION older than the last one.
    """
    if state.is_terminal:
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
    """Return a job's new status, completed by what was known of it before."""
    started, ended = new.started or last.started, new.ended
    if started is None and new.state is JobState.RUNNING:
        started = timestamp
    if ended is None and new.state.is_terminal:
        ended = timestamp
    if ended is not None and new.elapsed is not None:
        started = ended - new.elapsed  # polls see a short job running late, or never
    return new._replace(
        hosts=new.hosts or last.hosts,
        submitted=new.submitted or last.submitted,
        started=started,
        ended=ended,
        queue=new.queue or last.queue,
    )
