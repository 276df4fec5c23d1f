"""What is known of jobs: of each that somebody follows, and the early events of others.

Each answer of the batch system and each event of its log, in any order, is merged with what was known before, and each
change is told once (`StatusHistory`).

A job is missing if the batch system does not know it, and it left no exit status. It may turn up again: the batch
system may be slow, or may have restarted. So it is LOST only when it has been missing for the grace period, and it is
never DONE. A job that was removed is REMOVED at once.
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import NotRegisteredError, OSProfileError
from osprofile.jobs.arrays import TaskOutcome, get_outcome, summarize_outcomes
from osprofile.jobs.state import TERMINAL_STATES, EndCause, JobEvent, JobState, JobStatus, MissingPeriod

if TYPE_CHECKING:
    from collections import Counter

    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.timing import Moment


UNKNOWN_JOB_REASON: Final = "the batch system does not know it, and it left no record of its end"
_REMOVAL_SIGNALS: Final = frozenset({None, signal.SIGTERM, signal.SIGKILL})
WAITING_STATES: Final = frozenset({JobState.QUEUED, JobState.HELD})
_END_QUERY_INTERVAL: Final = 1.0
"""Seconds between two queries for a job that ended according to the log, but not to the batch system."""
_END_QUERY_ATTEMPTS: Final = 3
"""After so many answers without an end, the log's own event is told."""


@final
@dataclass(slots=True)
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
@dataclass(slots=True)
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
        return summarize_outcomes(array_id, self.outcomes, (t.history.status for t in self.tasks.values()))

    def take_event(self, array_id: str) -> JobEvent:
        """Return the array's status as an event. Its timestamp is later than the last one, so that it does not look older."""
        self.last_timestamp = max(self.changed_at, math.nextafter(self.last_timestamp, math.inf))
        self.changed_at = -math.inf
        return JobEvent(self.last_timestamp, self.summarize(array_id))


@final
@dataclass(slots=True)
class LiveJob:
    """A job that somebody follows. Times are monotonic (s), unless they are called timestamps."""

    history: StatusHistory
    polled_since: float = math.inf
    """Since when it is queried: older answers may be about another job with its id."""
    array_id: str | None = None
    """The array that it is a task of."""
    array: LiveArray | None = None
    """Its tasks, if it is an array, which is not queried itself."""
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
        lost = status or JobStatus(self.history.status.job_id, JobState.LOST, reason=UNKNOWN_JOB_REASON)
        lost = lost._replace(state=JobState.LOST)
        if self.removed_at is not None:
            return apply_removal(lost)
        return (self.uncertain_end or lost) if now - since >= grace_period else None


def apply_removal(status: JobStatus) -> JobStatus:
    """Return the status of a job whose removal was accepted.

    LOST becomes REMOVED, and so does FAILED, unless the batch system names another cause, or the program ended by a
    signal of its own: a removal ends it by TERM or KILL.
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


@final
class LiveJobs:
    """The followed jobs by their ids, until they are forgotten.

    A job is polled if the batch system is to be asked for it; one that is only registered is told what others ask.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, LiveJob] = {}
        self._full_ids: dict[str, str] = {}
        # Some of the jobs, so that a query finds them without a look at all:
        self.polled: dict[str, LiveJob] = {}
        """Those that are queried, and have not ended."""
        self.untold: dict[str, LiveJob] = {}
        """Those whose next answer is told in any case; see `LiveJob.untold_since`."""
        self.logged_ends: dict[str, LiveJob] = {}
        """Those that have ended according to the log."""
        self.live_arrays: dict[str, LiveArray] = {}
        """The arrays of which a task has not ended."""

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def get_status(self, job_id: str) -> JobStatus:
        """Return the last known status of a registered job. Raises `NotRegisteredError`."""
        job = self._jobs.get(job_id)
        if job is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message)
        return job.history.status

    def describe_status(self, job_id: str, answer: JobStatus | None) -> JobStatus:
        """Return the status of a registered job for which the batch system's last answer was `answer`.

        A state that the profile does not define is UNKNOWN. If the answer is None or LOST, the last state is
        returned during the grace period. The reason of a live array has the numbers of its tasks.
        """
        last = self.get_status(job_id)
        if last.state.is_terminal:
            return last
        if (array := self._jobs[job_id].array) is not None:
            return last._replace(reason=array.summarize(job_id).reason)
        if answer is None or answer.state is JobState.LOST:
            return last._replace(reason=UNKNOWN_JOB_REASON)
        return last._replace(state=JobState.UNKNOWN) if answer.state is JobState.UNKNOWN else last

    def is_polled(self, job_id: str) -> bool:
        """Return whether a job, or the tasks of an array, are queried; False when they have ended."""
        return job_id in self.polled or job_id in self.live_arrays

    def is_array(self, job_id: str) -> bool:
        """Return whether a job is a registered array."""
        return job_id in self._jobs and self._jobs[job_id].array is not None

    def find_array(self, job_id: str) -> str | None:
        """Return the id of the registered array that a job is a task of; None for any other job."""
        job = self._jobs.get(job_id)
        return None if job is None or self.get_array(job) is None else job.array_id

    def get_array(self, task: LiveJob) -> LiveArray | None:
        """Return the tasks of the registered array that a job belongs to; None for any other job."""
        whole = None if task.array_id is None else self._jobs.get(task.array_id)
        return None if whole is None else whole.array

    def list_task_ids(self, job_id: str) -> list[str]:
        """Return the ids of an array's tasks; nothing for any other job."""
        array = self._jobs[job_id].array if job_id in self._jobs else None
        return [] if array is None else list(array.tasks)

    def is_removed(self, job_id: str) -> bool:
        """Return whether the batch system has accepted the removal of a registered job."""
        return job_id in self._jobs and self._jobs[job_id].removed_at is not None

    def awaits_first_answer(self, job_id: str) -> bool:
        """Return whether a job is polled, and nothing has been told of it yet, or not since another source was."""
        return job_id in self.untold

    def note_full_id(self, short_id: str, job_id: str) -> None:
        """Note that callers use a short id for a job."""
        self._full_ids[short_id] = job_id

    def get_full_id(self, job_id: str) -> str:
        """Return the id that the batch system reports for a job, or the same id if it is not known."""
        return self._full_ids.get(job_id, job_id)

    def list_ended(self) -> list[JobStatus]:
        """Return the statuses of the registered jobs that have ended, without those of tasks."""
        jobs = [job for job in self._jobs.values() if job.array_id is None]
        return [job.history.status for job in jobs if job.history.status.state.is_terminal]

    # Which jobs are followed

    def get(self, job_id: str) -> LiveJob | None:
        """Return a registered job; None for any other."""
        return self._jobs.get(job_id)

    def __getitem__(self, job_id: str) -> LiveJob:
        return self._jobs[job_id]

    def add_array(self, array_id: str, array: LiveArray) -> None:
        """Make a registered job an array."""
        self._jobs[array_id].array = self.live_arrays[array_id] = array

    def remove(self, job_id: str) -> list[str]:
        """Forget a job, or an array and its tasks, and return their ids. A task stays with its array, whose end it decides."""
        if job_id not in self._jobs or self.find_array(job_id) is not None:
            return []
        removed = [job_id, *self.list_task_ids(job_id)]
        self.live_arrays.pop(job_id, None)
        for removed_id in removed:
            self.stop_polling(removed_id)
            self._jobs.pop(removed_id, None)
        return removed

    def add(self, record: JobRecord) -> LiveJob:
        """Follow a job, and return it with what is recorded."""
        status = record.status
        job = self._jobs[status.job_id] = LiveJob(
            StatusHistory(status),
            array_id=record.array_id,
            walltime=record.walltime,
            removed_at=record.aborted_at,
            missing=record.missing,
        )
        return job

    def stop_polling(self, job_id: str) -> None:
        """Query a job no longer."""
        for jobs in (self.polled, self.untold, self.logged_ends):
            jobs.pop(job_id, None)


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


# A log may tell of a job before START has told its id.

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
