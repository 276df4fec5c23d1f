"""The job state monitor of a stream of events: a registry of jobs, which publishes each change of a state once.

The readers of schedulers' logs feed it with events, in any order. Events that come before their job is registered
are kept for a while. Not thread-safe. See docs/protocols/seg.md, 2.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, final

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.watch.events import EventListener
from osprofile.jobs.watch.live_job import LiveJob
from osprofile.jobs.watch.tracker import EARLY_EVENT_LIFETIME, EarlyEvents
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from osprofile.jobs.state import JobEvent


@final
class _Registration(NamedTuple):
    key: Hashable
    job: LiveJob


@final
class JobMonitor:
    """The registered jobs, each with a key of the caller's choice.

    `publish(event, key)` is called for each change of a registered job's state; the event's status has
    all that is known, including times. A terminal event is the job's last. `clock` returns seconds, by which
    early events expire.
    """

    def __init__(
        self,
        publish: Callable[[JobEvent, Hashable], None],
        *,
        early_event_lifetime: float = EARLY_EVENT_LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._publish, self._clock = publish, clock
        self._registrations: dict[str, _Registration] = {}
        self._early_events = EarlyEvents(early_event_lifetime)

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
        job = LiveJob(initial_status or JobStatus(job_id, JobState.UNKNOWN), initial_timestamp)
        self._registrations[job_id] = _Registration(key, job)
        for event in self._early_events.pop(job_id, self._clock()):
            self.feed_event(event)

    def unregister(self, job_id: str) -> None:
        """Publish no more events of a job. Raises `NotRegisteredError`."""
        self._find(job_id)
        del self._registrations[job_id]

    def get_status(self, job_id: str) -> JobStatus:
        """Return the last known status of a registered job. Raises `NotRegisteredError`."""
        return self._find(job_id).job.status

    def _find(self, job_id: str) -> _Registration:
        registration = self._registrations.get(job_id)
        if registration is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message, hint="it may have been unregistered before")
        return registration

    def feed_event(self, event: JobEvent) -> None:
        """Process an event, and publish it if the state has changed. That of an unregistered job is kept."""
        registration = self._registrations.get(event.job_id)
        if registration is None:
            self._early_events.keep(event, self._clock())
        elif (change := registration.job.apply_event(event, self._clock())) is not None:
            self._publish(change, registration.key)

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
        """The timestamp of the oldest early event, None if there is none."""
        return self._early_events.find_oldest_timestamp(self._clock())

    def expire_early_events(self) -> int:
        """Drop early events after their lifetime; return the number of jobs."""
        return self._early_events.expire(self._clock())
