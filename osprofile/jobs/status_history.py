"""What is known of one job: each event is merged with what was known before, and each change is told once.

Events come from the batch system's answers and from its log, in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, final

from osprofile.jobs.state import JobEvent, JobState, JobStatus

LOG_TIME_RESOLUTION: Final = 1.0
"""Seconds to which a log truncates its timestamps: an event may look that much older than it is."""
# QUEUED and HELD are equal: a job changes from either to the other.
_STATE_RANK: Final = {JobState.QUEUED: 0, JobState.HELD: 0, JobState.RUNNING: 1}


@final
@dataclass(slots=True)
class StatusHistory:
    """The last known status of a job, and what has been told of it. Timestamps are in seconds since 1970."""

    status: JobStatus
    last_timestamp: float = 0.0
    """That of the last event, or of the status with which the history began."""
    told_at: dict[JobState, float] = field(default_factory=dict)
    """When the job changed to each state that was told."""

    def apply_event(self, event: JobEvent, now: float) -> JobEvent | None:
        """Merge an event; return the change of the state that it brings, with all that is known, or None.

        An event that is older than the last one is ignored, and so is any event after the end. A word that the
        profile does not know changes only `native_state` and `reason`, unless the state of the tag `*` is a later one:
        nobody has said that a job which runs waits again. `now` is the current time.
        """
        timestamp, new, last = event.timestamp, event.status, self.status
        if last.state.is_terminal or self._is_stale(timestamp, new.state):
            return None
        if new.state is JobState.UNKNOWN or (new.unknown_word and not self._advances_state(new.state)):
            self.status = last._replace(
                native_state=new.native_state, reason=new.reason, unknown_word=new.unknown_word
            )
            return None
        self.status = _merge_statuses(last, new, timestamp, max(timestamp, now))
        # An accepted event may be older: a terminal one, or one with a truncated timestamp.
        self.last_timestamp = max(self.last_timestamp, timestamp)
        if new.state is last.state:
            return None
        self.told_at[new.state] = timestamp
        return JobEvent(timestamp, self.status, event.code)

    def _is_stale(self, timestamp: float, state: JobState) -> bool:
        """Return whether an event is older than the last one, or was told before.

        A terminal state is never stale. Nor is an event of a log, with a timestamp in whole seconds, that
        looks up to LOG_TIME_RESOLUTION older than the last one but has the next state, or that brings a
        job back to a state which it has left in the same second.
        """
        if state.is_terminal:
            return False
        current = self.status.state
        has_left_it = state is not current and self.told_at.get(current) == timestamp == self.last_timestamp
        if timestamp < (told := self.told_at.get(state, -math.inf)) or (
            timestamp == told and not has_left_it
        ):
            return True
        if timestamp >= self.last_timestamp:
            return False
        is_from_log = timestamp == int(timestamp)
        is_truncated = timestamp + LOG_TIME_RESOLUTION > self.last_timestamp
        return not (self._advances_state(state) and is_from_log and is_truncated)

    def _advances_state(self, state: JobState) -> bool:
        """Return whether a state comes after that of the job. Nothing has been told of one that is UNKNOWN yet."""
        return _STATE_RANK.get(state, 0) > _STATE_RANK.get(self.status.state, -1)


def _merge_statuses(last: JobStatus, new: JobStatus, timestamp: float, now: float) -> JobStatus:
    """Return a job's new status, with gaps filled from the last one."""
    waits_again = new.state is JobState.HELD and new.native_state and not new.is_suspended
    if waits_again or (new.state is JobState.QUEUED and last.state is not JobState.QUEUED):
        # It is queued again after a run: the next one begins anew, perhaps elsewhere.
        last = last._replace(started=None, hosts=(), cpu_time=None, max_memory=None, energy=None)
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
        energy=last.energy if new.energy is None else new.energy,
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
