"""What is known of one job that somebody follows, and the rules for one that is missing or was removed.

Each answer of the batch system and each event of its log, in any order, is merged with what was known before, and each
change is told once (`LiveJob.apply_event`).

A job is missing if the batch system does not know it, and it left no exit status. It may turn up again: the batch
system may be slow, or may have restarted. So it is LOST only when it has been missing for the grace period, and it is
never DONE. A job that was removed is REMOVED at once.
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.jobs.arrays import TaskOutcome, get_outcome, summarize_outcomes
from osprofile.jobs.state import TERMINAL_STATES, EndCause, JobEvent, JobState, JobStatus, MissingPeriod

if TYPE_CHECKING:
    from collections import Counter

    from osprofile.jobs.timing import Moment


UNKNOWN_JOB_REASON: Final = "the batch system does not know it, and it left no record of its end"
# what a removal ends a job by, or first what it writes to: see `apply_removal`
_REMOVAL_SIGNALS: Final = frozenset({None, signal.SIGTERM, signal.SIGKILL, signal.SIGPIPE})
WAITING_STATES: Final = frozenset({JobState.QUEUED, JobState.HELD})
_END_QUERY_INTERVAL: Final = 1.0
"""Seconds between two queries for a job that ended according to the log, but not to the batch system."""
_END_QUERY_ATTEMPTS: Final = 3
"""After so many answers without an end, the log's own event is told."""
LOG_TIME_RESOLUTION: Final = 1.0
"""Seconds to which a log truncates its timestamps: an event may look that much older than it is."""
# QUEUED and HELD are equal: a job changes from either to the other.
_STATE_RANK: Final = {JobState.QUEUED: 0, JobState.HELD: 0, JobState.RUNNING: 1}


def _merge_statuses(last: JobStatus, new: JobStatus, timestamp: float, now: float) -> JobStatus:
    """Return a job's new status, with gaps filled from the last one."""
    waits_again = new.state is JobState.HELD and new.native_state and not new.is_suspended
    if waits_again or (new.state is JobState.QUEUED and last.state is not JobState.QUEUED):
        # It is queued again after a run: the next one begins anew, perhaps elsewhere.
        last = last._replace(started=None, hosts=(), cpu_time=None, max_memory=None, energy=None)
        last = last._replace(allocated_cpus=None, allocated_memory=None)
    submitted = new.submitted or last.submitted
    started = new.started or last.started
    if new.state is JobState.RUNNING or new.is_suspended:
        started = max(min(timestamp - (new.elapsed or 0.0), started or math.inf), submitted or 0.0)
    ended = timestamp if new.ended is None and new.state.is_terminal else new.ended
    if ended is not None and new.end_reported and new.elapsed is not None and ended != int(ended):
        # The job itself told both, with fractions of a second, though perhaps by a clock that differs from ours.
        ended = min(max(ended, (submitted or 0.0) + new.elapsed), now)
        started = max(ended - new.elapsed, submitted or 0.0)
    elif ended is not None:
        if new.end_reported:
            # The target system's clock may differ from ours, and may tell whole seconds.
            ended = min(max(ended, submitted or ended, started or ended), timestamp)
        if new.elapsed is not None and (new.end_reported or started is not None):
            # More exact than the poll that first saw RUNNING, which comes late for a short job, or never. If nobody
            # looked while the job ran, its end may be long ago, and its start is not known.
            since = max(ended - new.elapsed, submitted or 0.0)
            started = min(since, started or since)
    return new._replace(
        hosts=new.hosts or last.hosts,
        submitted=submitted,
        started=started,
        ended=ended,
        queue=new.queue or last.queue,
        cpu_time=last.cpu_time if new.cpu_time is None else new.cpu_time,
        max_memory=last.max_memory if new.max_memory is None else new.max_memory,
        energy=last.energy if new.energy is None else new.energy,
        allocated_cpus=new.allocated_cpus or last.allocated_cpus,
        allocated_memory=new.allocated_memory or last.allocated_memory,
    )


@final
@dataclass(slots=True, eq=False, repr=False)
class LoggedEnd:
    """The end of a job according to the log, which the batch system has yet to confirm.

    `attempts_left`: answers to wait for; `retry_delay` (s) grows while queries fail.
    """

    event: JobEvent
    attempts_left: int = _END_QUERY_ATTEMPTS
    next_query: float = 0.0
    retry_delay: float = 0.0

    def judge_answer(
        self, answer: JobStatus | OSProfileError | None, at: Moment, max_retry_interval: float
    ) -> JobEvent | None:
        """Return what has become of the job by the batch system's answer; None to ask again at `next_query`."""
        if isinstance(answer, OSProfileError):
            self.retry_delay = max(_END_QUERY_INTERVAL, 2 * self.retry_delay)
        else:
            self.attempts_left -= 1
            self.retry_delay = _END_QUERY_INTERVAL
        self.next_query = at.monotonic + min(self.retry_delay, max_retry_interval)
        if isinstance(answer, JobStatus):
            if answer.state in TERMINAL_STATES - {JobState.LOST}:
                return JobEvent(self.event.timestamp, answer)
            # A log also reports the end of a run after which the job is queued again, and runs again.
            if not answer.unknown_word and (
                answer.state in WAITING_STATES
                or (answer.state is JobState.RUNNING and self.attempts_left <= 0)
            ):
                return JobEvent(at.timestamp, answer)
        return self.event if self.attempts_left <= 0 else None


@final
@dataclass(slots=True, eq=False, repr=False)
class LiveArray:
    """The tasks of an array, and how many of them are alike. A task that changes costs the same whatever their number.

    The status of an array is told when all changes of one answer are known: otherwise it would go back to QUEUED for
    a moment, when one task has ended and the next one is not yet known to run.
    """

    tasks: dict[str, LiveJob]
    outcomes: Counter[TaskOutcome]
    changed_at: float
    """The timestamp of the last change of a task."""
    last_timestamp: float = -math.inf

    def note_change(self, before: JobStatus, event: JobEvent) -> None:
        """Count a task in its new state."""
        outcome = get_outcome(before)
        self.outcomes[outcome] -= 1
        if not self.outcomes[outcome]:
            del self.outcomes[outcome]
        self.outcomes[get_outcome(event.status)] += 1
        self.changed_at = max(event.timestamp, self.changed_at)

    def summarize(self, array_id: str) -> JobStatus:
        """Return the status of the array."""
        return summarize_outcomes(array_id, self.outcomes, (t.status for t in self.tasks.values()))

    def take_event(self, array_id: str) -> JobEvent:
        """Return the array's status as an event. Its timestamp is later than the last one, so that it does not look older."""
        self.last_timestamp = max(self.changed_at, math.nextafter(self.last_timestamp, math.inf))
        self.changed_at = -math.inf
        return JobEvent(self.last_timestamp, self.summarize(array_id))


@final
@dataclass(slots=True, eq=False, repr=False)
class LiveJob:
    """A job that somebody follows. Times are monotonic (s), unless they are called timestamps (s since 1970)."""

    status: JobStatus
    """Its last known status."""
    last_timestamp: float = 0.0
    """That of the last event, or of the status with which it began."""
    told_at: dict[JobState, float] = field(default_factory=dict)
    """The timestamp at which it changed to each state that was told."""
    array_id: str | None = None
    """The array that it is a task of."""
    array: LiveArray | None = None
    """Its tasks, if it is an array, which is not queried itself."""
    polled_since: float = math.inf
    """Since when it is queried: older answers may be about another job with its id."""
    walltime: float | None = None
    """The limit of its run time in seconds."""
    running_since: float | None = None
    removed_at: float | None = None
    """The timestamp at which the batch system accepted its removal."""
    missing: MissingPeriod | None = None
    """None as long as the job is known."""
    next_query: float = 0.0
    """A missing job is not queried by itself before."""
    untold_since: float = -math.inf
    """The answer to the next query that starts after this is told, even if it is the same as the last one."""
    logged_end: LoggedEnd | None = None
    uncertain_end: JobStatus | None = None
    """How it ended, if that may turn out to be its removal."""

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

    def find_due_time(self) -> float | None:
        """Return when something is expected: its wall time ends, or it is missing and to be queried; None if nothing."""
        if self.missing is not None:
            return self.next_query
        return (
            self.running_since + self.walltime if self.running_since is not None and self.walltime else None
        )

    def resolve_missing(
        self, status: JobStatus | None, *, now: float, grace_period: float
    ) -> JobStatus | None:
        """Note that nobody knows the job now, and return its end, or None while it may turn up.

        `status` is what the batch system reported, if anything.
        """
        since, last_query = self.missing or (now, now)
        # At most half a grace period counts between two queries: the job may have been known in between.
        since = min(now, since + max(0.0, now - last_query - grace_period / 2))
        self.missing = MissingPeriod(since, now)
        lost = status or JobStatus(self.status.job_id, JobState.LOST, reason=UNKNOWN_JOB_REASON)
        lost = lost._replace(state=JobState.LOST)
        if self.removed_at is not None:
            return apply_removal(lost)
        return (self.uncertain_end or lost) if now - since >= grace_period else None


def apply_removal(status: JobStatus) -> JobStatus:
    """Return the status of a job whose removal was accepted.

    LOST becomes REMOVED, and so does FAILED, unless the batch system names another cause, or the program ended by a
    signal of its own: a removal ends it by TERM or KILL, or first what it writes to (PIPE).
    """
    if (
        status.state is JobState.FAILED
        and status.cause in {None, EndCause.SIGNAL}
        and status.signal in _REMOVAL_SIGNALS
    ):
        return status._replace(state=JobState.REMOVED, signal=None, cause=EndCause.USER)
    if status.state is JobState.LOST:
        return status._replace(state=JobState.REMOVED, reason="", cause=EndCause.USER)
    return status
