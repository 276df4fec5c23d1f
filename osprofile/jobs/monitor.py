"""The registry of jobs, which publishes each change of a job's state once.

A poller and the readers of schedulers' logs feed it with events, in any order. Events that come before
their job is registered are kept for a while: the early events. Not thread-safe. See
docs/protocols/seg.md, 2.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.jobs.listener import EventListener
from osprofile.jobs.state import JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

EARLY_EVENT_LIFETIME: Final = 600.0
"""Seconds for which early events are kept after the job's last one."""
MAX_EARLY_JOBS: Final = 100_000
"""Limit on the jobs with early events: a log has the jobs of all users."""
LOG_TIME_RESOLUTION: Final = 1.0
"""Seconds to which a log truncates its timestamps: an event may look that much older than it is."""
# QUEUED and HELD are equal: a job changes from either to the other.
_STATE_RANK: Final = {JobState.QUEUED: 0, JobState.HELD: 0, JobState.RUNNING: 1}


@final
class _EarlyEvents(NamedTuple):
    last_kept_at: float
    events: list[JobEvent]


@final
@dataclass(slots=True)
class _Registration:
    key: Hashable
    status: JobStatus
    last_event_timestamp: float
    published_at: dict[JobState, float] = field(default_factory=dict)


@final
class JobMonitor:
    """The registered jobs, each with a key of the caller's choice.

    `publish(event, key)` is called for each change of a registered job's state; the event's status has
    all that is known, including times. A terminal event is the job's last. `handle_early_event` is
    called with each early event when its job is registered (default: `feed_event`). `clock` returns
    seconds, by which early events expire.
    """

    def __init__(
        self,
        publish: Callable[[JobEvent, Hashable], None],
        *,
        early_event_lifetime: float = EARLY_EVENT_LIFETIME,
        clock: Callable[[], float] = time.time,
        handle_early_event: Callable[[JobEvent], object] | None = None,
    ) -> None:
        self._publish = publish
        self._handle_early_event = handle_early_event or self.feed_event
        self._early_event_lifetime = early_event_lifetime
        self._clock = clock
        self._registrations: dict[str, _Registration] = {}
        self._early_events: dict[str, _EarlyEvents] = {}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._registrations

    def register(
        self,
        job_id: str,
        key: Hashable = None,
        initial_status: JobStatus | None = None,
        initial_timestamp: float = 0.0,
    ) -> None:
        """Publish a job's events from now on, beginning with its early events.

        `initial_status` is what the caller knows already, as of `initial_timestamp` (s since 1970);
        it is not published. Raises `AlreadyRegisteredError`.
        """
        if job_id in self._registrations:
            message = f"job {job_id} is registered already"
            raise AlreadyRegisteredError(message, hint="unregister it first")
        initial_status = initial_status or JobStatus(job_id, JobState.UNKNOWN)
        self._registrations[job_id] = _Registration(key, initial_status, initial_timestamp)
        for event in self._pop_early_events(job_id):
            self._handle_early_event(event)

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

    def feed_event(
        self, event: JobEvent, *, keep_if_unregistered: bool = True
    ) -> tuple[JobStatus, JobStatus]:
        """Process an event and publish it if the state has changed; return the status before and after.

        An UNKNOWN event is not published; it only updates `native_state` and `reason` of the last known
        status. The event of an unregistered job is kept as an early event or else ignored; both
        statuses are then the event's own.
        """
        timestamp, new_status = event
        registration = self._registrations.get(new_status.job_id)
        if registration is None:
            if keep_if_unregistered:
                self._keep_early_event(event)
            return new_status, new_status
        last_status = registration.status
        if last_status.state.is_terminal or _is_stale_event(registration, timestamp, new_status.state):
            return last_status, last_status
        if new_status.state is JobState.UNKNOWN:
            native_state, reason = new_status.native_state, new_status.reason
            registration.status = last_status._replace(native_state=native_state, reason=reason)
            return last_status, registration.status
        registration.status = status = _merge_statuses(
            last_status, new_status, timestamp, max(timestamp, self._clock())
        )
        # An accepted event may be older: a terminal one, or one with a truncated timestamp.
        registration.last_event_timestamp = max(registration.last_event_timestamp, timestamp)
        if status.state is not last_status.state:
            registration.published_at[status.state] = timestamp
            self._publish(JobEvent(timestamp, status), registration.key)
        return last_status, status

    def open_listener(self, command: Sequence[str], *, checkpoint_path: str | None = None) -> EventListener:
        """Return a listener that feeds the events of a generator; early events are read again after a restart."""
        return EventListener(
            command,
            self.feed_event,
            checkpoint_path=checkpoint_path,
            get_oldest_early_timestamp=lambda: self.oldest_early_timestamp,
        )

    @property
    def oldest_early_timestamp(self) -> float | None:
        """The timestamp of the oldest early event, None if there is none.

        A source that is restarted must reread its log from here, or these events are lost.
        """
        self.expire_early_events()
        timestamps = (e.timestamp for early in self._early_events.values() for e in early.events)
        return min(timestamps, default=None)

    def expire_early_events(self) -> int:
        """Drop early events after their lifetime, and above MAX_EARLY_JOBS; return the number of jobs."""
        cutoff = self._clock() - self._early_event_lifetime
        expired: list[str] = []
        for job_id, early in self._early_events.items():  # sorted by `last_kept_at`
            if early.last_kept_at >= cutoff and len(self._early_events) - len(expired) <= MAX_EARLY_JOBS:
                break
            expired.append(job_id)
        for job_id in expired:
            del self._early_events[job_id]
        return len(expired)

    def _pop_early_events(self, job_id: str) -> list[JobEvent]:
        early = self._early_events.pop(job_id, None)
        return early.events if early is not None else []

    def _keep_early_event(self, event: JobEvent) -> None:
        # Removed and inserted again, so that the dict stays sorted by `last_kept_at`.
        events = self._pop_early_events(event.job_id)
        if all((e.state, e.timestamp) != (event.state, event.timestamp) for e in events):
            events.append(event)
        self._early_events[event.job_id] = _EarlyEvents(self._clock(), events)
        self.expire_early_events()


def _is_stale_event(registration: _Registration, timestamp: float, state: JobState) -> bool:
    """Return whether an event is older than the last one, or was published before.

    A terminal state is never stale. Nor is an event of a log, with a timestamp in whole seconds, that
    looks up to LOG_TIME_RESOLUTION older than the last one but has the next state.
    """
    if state.is_terminal:
        return False
    if timestamp <= registration.published_at.get(state, -math.inf):
        return True
    if timestamp >= registration.last_event_timestamp:
        return False
    # Any state advances a job that is UNKNOWN: nothing has been reported of it yet.
    advances_state = _STATE_RANK.get(state, 0) > _STATE_RANK.get(registration.status.state, -1)
    is_from_log = timestamp == int(timestamp)
    is_truncated = timestamp + LOG_TIME_RESOLUTION > registration.last_event_timestamp
    return not (advances_state and is_from_log and is_truncated)


def _merge_statuses(last: JobStatus, new: JobStatus, timestamp: float, now: float) -> JobStatus:
    """Return a job's new status, with gaps filled from the last one."""
    waits_again = new.state is JobState.HELD and new.native_state and not new.is_suspended
    if waits_again or (new.state is JobState.QUEUED and last.state is not JobState.QUEUED):
        # It is queued again after a run: the next one begins anew, perhaps elsewhere.
        last = last._replace(started=None, hosts=(), cpu_time=None, max_memory=None)
    submitted = new.submitted or last.submitted
    started = new.started or last.started
    if new.state is JobState.RUNNING or new.is_suspended:
        started = max(min(timestamp - (new.elapsed or 0.0), started or math.inf), submitted or 0.0)
    started, ended = _merge_run(new, started, submitted, timestamp, now)
    return new._replace(
        hosts=new.hosts or last.hosts,
        submitted=submitted,
        started=started,
        ended=ended,
        queue=new.queue or last.queue,
        cpu_time=last.cpu_time if new.cpu_time is None else new.cpu_time,
        max_memory=last.max_memory if new.max_memory is None else new.max_memory,
    )


def _merge_run(
    new: JobStatus, started: float | None, submitted: float | None, timestamp: float, now: float
) -> tuple[float | None, float | None]:
    """Return when a job started and ended, from its new status and when it started as far as was known."""
    ended = timestamp if new.ended is None and new.state.is_terminal else new.ended
    if ended is not None and new.end_reported:
        if new.elapsed is not None and ended != int(ended):
            # The job itself told both, with fractions of a second, though perhaps by a clock that differs from ours.
            ended = min(max(ended, (submitted or 0.0) + new.elapsed), now)
            return max(ended - new.elapsed, submitted or 0.0), ended
        # The target system's clock may differ from ours, and may tell whole seconds.
        ended = min(max(ended, submitted or ended, started or ended), timestamp)
    if ended is not None and new.elapsed is not None and (new.end_reported or started is not None):
        # More exact than the poll that first saw RUNNING, which comes late for a short job, or never. If nobody
        # looked while the job ran, its end may be long ago, and its start is not known.
        since = max(ended - new.elapsed, submitted or 0.0)
        started = min(since, started or since)
    return started, ended
