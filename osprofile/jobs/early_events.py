"""The events of jobs that nobody follows yet, such as those whose submission has not returned.

A log may tell of a job before START has told its id. Its events are kept for a while, until somebody follows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from osprofile.jobs.state import JobEvent

EARLY_EVENT_LIFETIME: Final = 600.0
"""Seconds for which early events are kept after the job's last one."""
MAX_EARLY_JOBS: Final = 100_000
"""Limit on the jobs with early events: a log has the jobs of all users."""


@final
class _EventsOfJob(NamedTuple):
    last_kept_at: float
    events: list[JobEvent]


@final
class EarlyEvents:
    """Early events by job, each kept for `lifetime` seconds. `now` is in seconds, by any one clock."""

    def __init__(self, lifetime: float = EARLY_EVENT_LIFETIME) -> None:
        self._lifetime = lifetime
        self._jobs: dict[str, _EventsOfJob] = {}
        """Sorted by `last_kept_at`."""

    def keep(self, event: JobEvent, now: float) -> None:
        """Keep an event, unless the same one was kept last."""
        events = self.pop(event.job_id, now)  # and inserted again, so that the dict stays sorted
        if not events or (events[-1].state, events[-1].timestamp) != (event.state, event.timestamp):
            events.append(event)
        self._jobs[event.job_id] = _EventsOfJob(now, events)
        self.expire(now)

    def pop(self, job_id: str, now: float) -> list[JobEvent]:
        """Return the events of a job whose lifetime has not ended, and keep them no longer."""
        kept = self._jobs.pop(job_id, None)
        return [] if kept is None or kept.last_kept_at < now - self._lifetime else kept.events

    def expire(self, now: float) -> int:
        """Drop events after their lifetime, and those above MAX_EARLY_JOBS; return the number of jobs."""
        expired: list[str] = []
        for job_id, kept in self._jobs.items():
            if kept.last_kept_at >= now - self._lifetime and len(self._jobs) - len(expired) <= MAX_EARLY_JOBS:
                break
            expired.append(job_id)
        for job_id in expired:
            del self._jobs[job_id]
        return len(expired)

    def find_oldest_timestamp(self, now: float) -> float | None:
        """Return the timestamp of the oldest event, None if there is none.

        A source that is restarted must read its log again from here, or these events are lost.
        """
        self.expire(now)
        timestamps = (event.timestamp for kept in self._jobs.values() for event in kept.events)
        return min(timestamps, default=None)
