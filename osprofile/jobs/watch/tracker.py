"""The live jobs of one target: what is known of each, what is to be told, and what is to be asked next.

The tracker has no clock, no task and no process. Answers of the batch system, events of its log, submissions and
removals go in, with the moments at which they came; `take_changes` returns what has changed, and
`seconds_until_poll` when to ask next. The watcher around it waits, asks and tells.

Each change is told once. An end is told only when it is certain whether it is a removal.

Of an array, the tasks are queried. The array's status is made of theirs, and told after their events.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import NotRegisteredError, OSProfileError
from osprofile.jobs.arrays import get_outcome
from osprofile.jobs.state import REUSED_ID_REASON, JobEvent, JobState, JobStatus
from osprofile.jobs.timing import Moment
from osprofile.jobs.watch.live_job import (
    UNKNOWN_JOB_REASON,
    WAITING_STATES,
    LiveArray,
    LiveJob,
    LoggedEnd,
    apply_removal,
)
from osprofile.jobs.watch.schedule import PollSchedule
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import MissingPeriod
    from osprofile.jobs.timing import Timing

EARLY_EVENT_LIFETIME: Final = 600.0
"""Seconds for which early events are kept after the job's last one."""
MAX_EARLY_JOBS: Final = 100_000
"""Limit on the jobs with early events: a log has the jobs of all users."""
_QUERIES_PER_GRACE_PERIOD: Final = 4
"""How often a missing job is queried during the grace period."""


@final
@dataclass(slots=True)
class Changes:
    """What is to be told and recorded."""

    events: list[JobEvent] = field(default_factory=list)
    """The changes of states, in the order in which they are to be told."""
    statuses: list[JobStatus] = field(default_factory=list)
    """What is to be recorded."""
    missing: dict[str, MissingPeriod | None] = field(default_factory=dict)
    """Since when jobs are missing; None for those that are known again."""
    unknown_words: list[JobStatus] = field(default_factory=list)
    """Statuses with a word of the batch system that the profile does not know."""


class _Answer(NamedTuple):
    """The batch system's list of jobs, and when it was asked for."""

    statuses: Mapping[str, JobStatus]
    asked: Moment


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


@final
class LiveJobs:
    """The followed jobs, until they are forgotten. The tracker changes them; others look.

    A job is polled if the batch system is to be asked for it; one that is only registered is told what others ask.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, LiveJob] = {}
        self.full_ids: dict[str, str] = {}
        """The ids that the batch system reports, by the short ones that callers use."""
        # Some of the jobs, so that a query finds them without a look at all:
        self.polled: dict[str, LiveJob] = {}
        """Those that are queried, and have not ended."""
        self.untold: dict[str, LiveJob] = {}
        """Those whose next answer is told in any case: nothing has been told of them yet, or not since another source was."""
        self.logged_ends: dict[str, LiveJob] = {}
        """Those that have ended according to the log."""
        self.live_arrays: dict[str, LiveArray] = {}
        """The arrays of which a task has not ended."""

    def get_status(self, job_id: str) -> JobStatus:
        """Return the last known status of a registered job. Raises `NotRegisteredError`."""
        job = self.by_id.get(job_id)
        if job is None:
            message = f"job {job_id} is not registered"
            raise NotRegisteredError(message)
        return job.status

    def describe_status(self, job_id: str, answer: JobStatus | None) -> JobStatus:
        """Return the status of a registered job for which the batch system's last answer was `answer`.

        A state that the profile does not define is UNKNOWN. If the answer is None or LOST, the last state is
        returned during the grace period. The reason of a live array has the numbers of its tasks.
        """
        last = self.get_status(job_id)
        if last.state.is_terminal:
            return last
        if (array := self.by_id[job_id].array) is not None:
            return last._replace(reason=array.summarize(job_id).reason)
        if answer is None or answer.state is JobState.LOST:
            return last._replace(reason=UNKNOWN_JOB_REASON)
        return last._replace(state=JobState.UNKNOWN) if answer.state is JobState.UNKNOWN else last

    def is_polled(self, job_id: str) -> bool:
        """Return whether a job, or the tasks of an array, are queried; False when they have ended."""
        return job_id in self.polled or job_id in self.live_arrays

    def is_array(self, job_id: str) -> bool:
        """Return whether a job is a registered array."""
        return job_id in self.by_id and self.by_id[job_id].array is not None

    def find_array(self, job_id: str) -> str | None:
        """Return the id of the registered array that a job is a task of; None for any other job."""
        array_id = self.by_id[job_id].array_id if job_id in self.by_id else None
        return array_id if array_id is not None and self.is_array(array_id) else None

    def list_task_ids(self, job_id: str) -> list[str]:
        """Return the ids of an array's tasks; nothing for any other job."""
        array = self.by_id[job_id].array if job_id in self.by_id else None
        return [] if array is None else list(array.tasks)

    def list_ended(self) -> list[JobStatus]:
        """Return the statuses of the registered jobs that have ended, without those of tasks."""
        jobs = [job for job in self.by_id.values() if job.array_id is None]
        return [job.status for job in jobs if job.status.state.is_terminal]

    def stop_polling(self, job_id: str) -> None:
        """Query a job no longer."""
        for jobs in (self.polled, self.untold, self.logged_ends):
            jobs.pop(job_id, None)


@final
class JobTracker:
    """What is told of the followed jobs, and what is to be asked.

    `find_record` returns what all processes have recorded of a job.
    """

    def __init__(self, timing: Timing, find_record: Callable[[str], JobRecord | None]) -> None:
        self._timing, self._find_record = timing, find_record
        self.schedule = PollSchedule(timing)
        self.early_events = EarlyEvents()
        self.jobs = LiveJobs()
        self._changed_arrays: dict[str, LiveArray] = {}
        self._answer = _Answer({}, Moment(-math.inf, -math.inf))
        self._valid_since = -math.inf
        """Since then, an action may have changed something: older answers are not used again."""
        self._answer_has_news = False
        self._changes = Changes()

    def take_changes(self) -> Changes:
        """Return what is to be told and recorded since the last call."""
        self._update_arrays()
        changes, self._changes = self._changes, Changes()
        return changes

    # Which jobs are followed

    def follow(self, record: JobRecord, at: Moment, *, is_polled: bool = True) -> None:
        """Report a job's events from now on, beginning with early ones; have it queried, unless others ask for it."""
        status, job_id = record.status, record.status.job_id
        early: list[JobEvent] = []
        if job_id not in self.jobs.by_id:
            self.jobs.by_id[job_id] = LiveJob(status, array_id=record.array_id)
            early = self.early_events.pop(job_id, at.timestamp)
        job = self.jobs.by_id[job_id]
        job.walltime, job.removed_at, job.missing = record.walltime, record.aborted_at, record.missing
        if is_polled:
            if status.started is not None:
                job.running_since = at.monotonic + status.started - at.timestamp
            # A query that started after START returned includes the job, even if it started before it was watched.
            accepted = record.accepted_at or status.submitted
            since = at.monotonic + min(0.0, (accepted or math.inf) - at.timestamp)
            job.untold_since = job.polled_since = since
            self.jobs.polled[job_id] = self.jobs.untold[job_id] = job
            self.schedule.reset_delay()
        for event in early:
            self.receive_event(event, at)

    def follow_array(self, record: JobRecord, tasks: Sequence[JobRecord], at: Moment) -> None:
        """Report the events of an array and its tasks from now on, and have the tasks queried that have not ended."""
        array_id = record.status.job_id
        for task in tasks:
            has_ended = task.status.state.is_terminal
            if task.status.job_id not in (self.jobs.by_id if has_ended else self.jobs.polled):
                self.follow(task, at, is_polled=not has_ended)
        if array_id not in self.jobs.by_id:
            self.follow(record, at, is_polled=False)
        live = {task.status.job_id: self.jobs.by_id[task.status.job_id] for task in tasks}
        outcomes = Counter(get_outcome(task.status) for task in live.values())
        # An earlier process may have recorded the ends of all tasks.
        array = LiveArray(live, outcomes, changed_at=at.timestamp)
        self.jobs.by_id[array_id].array = self._changed_arrays[array_id] = self.jobs.live_arrays[array_id] = (
            array
        )
        for task in tasks:
            if task.status.state.is_terminal:  # another process has recorded its end
                self.receive_status(JobEvent(at.timestamp, task.status), at)

    def forget(self, job_id: str) -> list[str]:
        """Report no more events of a job, or of an array and its tasks; return their ids.

        A task stays with its array, whose end it decides.
        """
        if job_id not in self.jobs.by_id or self.jobs.find_array(job_id) is not None:
            return []
        forgotten = [job_id, *self.jobs.list_task_ids(job_id)]
        self._changed_arrays.pop(job_id, None)
        self.jobs.live_arrays.pop(job_id, None)
        for forgotten_id in forgotten:
            self.jobs.stop_polling(forgotten_id)
            self.jobs.by_id.pop(forgotten_id, None)
        return forgotten

    def lose_reused(self, job_id: str) -> list[JobStatus]:
        """Return how a job has ended, and its tasks, whose id is that of another job now: nobody can ask for it."""
        lost = []
        for lost_id in (job_id, *self.jobs.list_task_ids(job_id)):
            status, job = (
                JobStatus(lost_id, JobState.LOST, reason=REUSED_ID_REASON),
                self.jobs.by_id.get(lost_id),
            )
            is_removed = job is not None and job.removed_at is not None
            lost.append(apply_removal(status) if is_removed else status)
        return lost

    # When to query

    def seconds_until_end_query(self, now: float) -> float:
        """Return the seconds until a job is to be queried that has ended according to the log; inf if there is none."""
        ends = (
            job.logged_end.next_query for job in self.jobs.logged_ends.values() if job.logged_end is not None
        )
        return min(ends, default=math.inf) - now

    def seconds_until_poll(self, now: float, *, is_awaited: bool, log_is_reliable: bool) -> float:
        """Return the seconds until all jobs are to be queried; inf if there is none.

        `is_awaited`: few jobs are waited for. `log_is_reliable`: a log reports the jobs; polls only look for events
        that it missed.
        """
        if not self.jobs.polled:
            return math.inf
        min_delay = self._timing.log_poll_interval if log_is_reliable else 0.0
        return self.schedule.seconds_until_poll(
            now, lambda: self._find_expected_end(now), is_awaited=is_awaited, min_delay=min_delay
        )

    def _find_expected_end(self, now: float) -> float | None:
        due = (job.find_due_time() for job in self.jobs.polled.values())
        return min((t for t in due if t is not None and t > now - self.schedule.max_interval), default=None)

    def poll_immediately(self, now: float) -> None:
        """Have all jobs queried at once: something has changed. Older answers are not used again."""
        self.schedule.poll_immediately()
        self._valid_since = now

    # Answers to a query for all jobs

    def reuse_answer(self, earliest: float, at: Moment) -> Mapping[str, JobStatus] | None:
        """Return the last list of jobs, if it was asked for at `earliest` (monotonic, s) or later, and holds still."""
        if self._answer.asked.monotonic < max(earliest, self._valid_since):
            return None
        # Jobs that were followed since then have not been told yet.
        self._tell_answer(self._answer, at)
        return self._answer.statuses

    def receive_answer(self, statuses: Mapping[str, JobStatus], asked: Moment, at: Moment) -> list[str]:
        """Take the batch system's list of jobs, asked for then; return the jobs to query one by one.

        These are not listed, or listed as LOST.
        """
        if self.schedule.failure_count:
            # Nothing was known during the outage: all grace periods begin anew.
            self.clear_missing(j for j, job in self.jobs.polled.items() if job.missing is not None)
        last, self._answer = self._answer, _Answer(statuses, asked)
        self._answer_has_news = self._tell_answer(last, at)
        known: list[str] = []
        unlisted: list[str] = []
        for job_id, job in self.jobs.polled.items():
            line = self._find_line(job_id, job, self._answer)
            if line is None or line.state is JobState.LOST:
                if job.polled_since < asked.monotonic >= job.next_query:
                    unlisted.append(job_id)
            elif job.missing is not None:
                known.append(job_id)
        self.clear_missing(known)
        return sorted(unlisted)

    def end_poll(self, duration: float) -> None:
        """Note that a poll has succeeded; its first query has lasted so many seconds."""
        self.schedule.record_success(changed=self._answer_has_news, duration=duration)

    def _tell_answer(self, last: _Answer, at: Moment) -> bool:
        """Report what has changed since the last answer, and return whether anything has.

        A query that started before a job was followed may show an older job of the same id.
        """
        answer, began = self._answer, self._answer.asked.monotonic
        untold = {j: job for j, job in self.jobs.untold.items() if job.untold_since < began}
        for job_id in untold:
            del self.jobs.untold[job_id]
        changes: list[JobStatus] = []
        # This looks at the followed jobs, not at those that are listed: the batch system may list many more.
        for job_id, job in (untold if answer is last else self.jobs.polled).items():
            line = self._find_line(job_id, job, answer)
            # The reader returns the same object for a job whose line has not changed.
            if job_id not in untold and (
                job.polled_since >= began or line is self._find_line(job_id, job, last)
            ):
                continue
            if line is not None and line.state is not JobState.LOST:
                # What is said of a waiting array is said of each task that has no line of its own.
                changes.append(line if line.job_id == job_id else line._replace(job_id=job_id))
        for status in changes:
            self.receive_status(JobEvent(answer.asked.timestamp, status), at)
        return bool(changes)

    def _find_line(self, job_id: str, job: LiveJob, answer: _Answer) -> JobStatus | None:
        """Return what an answer says of a job; of a task without a line, that of its array if this waits as a whole."""
        line = answer.statuses.get(job_id)
        if line is not None or job.array_id is None or job.removed_at is not None:
            return line
        whole = answer.statuses.get(job.array_id)
        return whole if whole is not None and whole.state in WAITING_STATES else None

    # Answers to queries for single jobs

    def list_array_ids(self, job_ids: Iterable[str]) -> dict[str, str]:
        """Return the arrays of those jobs that are tasks."""
        jobs = {job_id: self.jobs.polled.get(job_id) for job_id in job_ids}
        return {j: job.array_id for j, job in jobs.items() if job is not None and job.array_id is not None}

    def receive_missing_answers(
        self,
        job_ids: Iterable[str],
        answers: Mapping[str, JobStatus | OSProfileError],
        asked: Moment,
        at: Moment,
    ) -> None:
        """Take the answers to queries for missing jobs, asked for then: one may be an error, or left out."""
        self._answer_has_news = True
        for job_id in job_ids:
            job = self.jobs.polled.get(job_id)
            if job is None or job.polled_since >= asked.monotonic:  # the id now belongs to another job
                continue
            job.next_query = at.monotonic + self._timing.grace_period / _QUERIES_PER_GRACE_PERIOD
            answer, was_missing = answers.get(job_id), job.missing is not None
            if isinstance(answer, OSProfileError):
                pass
            elif answer is not None and answer.state is not JobState.LOST:
                job.missing = None
                self.receive_status(JobEvent(asked.timestamp, answer._replace(job_id=job_id)), at)
            elif self._is_only_not_printed(job, answer or self._answer.statuses.get(job_id), answers):
                job.missing = None
            else:
                self._resolve_missing(job, answer or self._answer.statuses.get(job_id), asked.timestamp, at)
            if job.missing is not None or was_missing:
                self._changes.missing[job_id] = job.missing

    def _is_only_not_printed(
        self, task: LiveJob, status: JobStatus | None, answers: Mapping[str, JobStatus | OSProfileError]
    ) -> bool:
        """Return whether the batch system has not lost a task, because its array is there and has not ended."""
        if status is not None or task.removed_at is not None or task.array_id is None:
            return False
        wholes = (answers.get(task.array_id), self._answer.statuses.get(task.array_id))
        return any(isinstance(s, JobStatus) and not s.state.is_terminal for s in wholes)

    def _resolve_missing(self, job: LiveJob, status: JobStatus | None, timestamp: float, at: Moment) -> None:
        end = job.resolve_missing(status, now=at.monotonic, grace_period=self._timing.grace_period)
        if end is not None:
            self.receive_status(JobEvent(timestamp, end), at)

    def receive_no_answer(self, job_id: str, answer: JobStatus | None, at: Moment) -> None:
        """Note that a registered job was queried by itself, and nobody knows it."""
        job, record = self.jobs.by_id[job_id], self._find_record(job_id)
        if record is not None:  # another process may have found it missing, too
            job.missing, job.removed_at = record.missing, record.aborted_at
        self._resolve_missing(job, answer, at.timestamp, at)
        self._changes.missing[job_id] = job.missing

    def clear_missing(self, job_ids: Iterable[str]) -> None:
        """Note that jobs are not missing, or no longer."""
        for job_id in job_ids:
            if job_id in self.jobs.by_id:
                self.jobs.by_id[job_id].missing = None
            self._changes.missing[job_id] = None

    # Events of the log

    def receive_event(self, event: JobEvent, at: Moment) -> None:
        """Take an event of the log. For an end, the batch system is asked, which knows more about it.

        The log does not show limits, removals and exit code files.
        """
        job = self.jobs.by_id.get(event.job_id)
        if job is None:  # it may be a job that is being submitted
            self.early_events.keep(event, at.timestamp)
        elif job.array is not None:
            self.schedule.reset_delay()  # one of its tasks has changed
        elif not event.state.is_terminal:
            self.receive_status(event, at)
        elif event.job_id in self.jobs.polled and job.logged_end is None:
            job.logged_end = LoggedEnd(event)
            self.jobs.logged_ends[event.job_id] = job

    def list_logged_ends(self, now: float) -> list[str]:
        """Return the jobs to query now that have ended according to the log."""
        return [
            job_id
            for job_id, job in self.jobs.logged_ends.items()
            if job.logged_end is not None and job.logged_end.next_query <= now
        ]

    def receive_end_answers(
        self, job_ids: Iterable[str], answers: Mapping[str, JobStatus | OSProfileError], at: Moment
    ) -> None:
        """Take the answers to queries for jobs that have ended according to the log."""
        for job_id in job_ids:
            job = self.jobs.logged_ends.get(job_id)
            if job is None or job.logged_end is None:
                continue
            event = job.logged_end.judge_answer(answers.get(job_id), at, self._timing.max_retry_interval)
            if event is not None:
                del self.jobs.logged_ends[job_id]
                job.logged_end = None
                self.receive_status(JobEvent(event.timestamp, event.status._replace(job_id=job_id)), at)

    # Removals

    def note_removal(self, job_id: str, at: Moment | None) -> None:
        """Note that the batch system has accepted the removal of a job, or of an array, and so of its live tasks.

        None: it has not accepted it, though that was noted.
        """
        for removed_id in (job_id, *self.jobs.list_task_ids(job_id)):
            job = self.jobs.by_id.get(removed_id)
            if job is not None and not job.status.state.is_terminal:
                job.removed_at, job.next_query = None if at is None else at.timestamp, 0.0

    # Changes

    def receive_status(self, event: JobEvent, at: Moment) -> None:
        """Take what a source says of a job; nothing is told of one that is not registered."""
        job = self.jobs.by_id.get(event.job_id)
        if job is None:
            return
        before, resolved = job.status, self._resolve_end(job, event)
        if resolved is None:
            job.uncertain_end = event.status
            self.tell_next_answer(event.job_id, at.monotonic)
            return
        change = job.apply_event(resolved, at.timestamp)
        after = job.status
        if after.state is JobState.QUEUED:
            job.running_since = None
        elif after.state is JobState.RUNNING and job.running_since is None:
            job.running_since = at.monotonic
        if change is not None:
            job.missing = None
            self._changes.events.append(change)
            if job.array_id is not None and (array := self.jobs.live_arrays.get(job.array_id)) is not None:
                array.note_change(before, change)
                self._changed_arrays[job.array_id] = array
            if after.state.is_terminal:
                self.jobs.stop_polling(event.job_id)
        if change is not None or after.hosts != before.hosts:
            self._changes.statuses.append(after)
        if resolved.status.unknown_word and after.native_state != before.native_state:
            self._changes.unknown_words.append(after)

    def _resolve_end(self, job: LiveJob, event: JobEvent) -> JobEvent | None:
        """Return an event, an end corrected by what is recorded of the job; None if it is not yet certain what it is.

        While a process runs ABORT, a failure may turn out to be a removal.
        """
        if job.status.state.is_terminal or not event.state.is_terminal:
            return event
        record = self._find_record(event.job_id)
        if record is not None and record.status.state.is_terminal:
            return JobEvent(event.timestamp, record.status)
        removed = JobEvent(event.timestamp, apply_removal(event.status))
        if job.removed_at is not None or (record is not None and record.aborted_at):
            return removed
        may_be_removed = record is not None and removed.status != event.status and record.has_live_owner
        return None if may_be_removed else event

    def tell_next_answer(self, job_id: str, now: float) -> None:
        """Report a job's next answer even if it is the same as the last: another source may have reported something else."""
        if job_id in self.jobs.polled:
            self.jobs.polled[job_id].untold_since = now
            self.jobs.untold[job_id] = self.jobs.polled[job_id]

    def _update_arrays(self) -> None:
        for array_id, array in self._changed_arrays.items():
            event = array.take_event(array_id)
            change = self.jobs.by_id[array_id].apply_event(event, event.timestamp)
            if change is not None:
                self._changes.events.append(change)
                self._changes.statuses.append(change.status)
            if event.state.is_terminal:
                self.jobs.live_arrays.pop(array_id, None)
        self._changed_arrays.clear()
