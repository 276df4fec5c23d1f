"""Poll the batch system: one query for all watched jobs, then one for those that it does not list, or one for each.

Of an array, the tasks are watched; if several are not listed, there is one query, for the array.

When a poll fails, all states stay as they are, the failure is logged, and the next poll waits longer.
The query for a single job also finds the exit status that the job left, and the batch system's history.
If the job is known nowhere, `GraceTracker` decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.jobs.grace_period import GraceTracker, apply_removal
from osprofile.jobs.state import TERMINAL_STATES, JobEvent, JobState, JobStatus
from osprofile.jobs.timing import PollBackoff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.clock import Clock
    from osprofile.jobs.grace_period import MissingPeriod
    from osprofile.jobs.script_runner import ScriptRunner
    from osprofile.jobs.timing import Timing

log: Final = logging.getLogger("osprofile.jobs")
_NO_STATUSES: Final[Mapping[str, JobStatus]] = {}
_END_POLL_INTERVAL: Final = 1.0
"""Seconds between two queries for a job that ended according to the log, but not to the batch system."""
_END_QUERY_ATTEMPTS: Final = 3
"""After so many answers without an end, the log's own event is reported."""
_WAITING_STATES: Final = frozenset({JobState.QUEUED, JobState.HELD})
_MAX_AWAITED_JOBS: Final = 10
"""With at most so many jobs that callers wait for, polls stay frequent. A site's POLL_INTERVAL sets how frequent."""
_QUERIES_PER_GRACE_PERIOD: Final = 4
"""How often a missing job is queried during the grace period."""


@final
@dataclass(slots=True)
class WatchedJob:
    """A job that has not ended. Times are monotonic (s), `walltime` is in seconds.

    `watched_since` is when watching began, `running_since` when the job started to run. A missing job
    is not queried by itself before `next_query`. `array_id` is the id of the array that it is a task of.
    """

    watched_since: float
    walltime: float | None = None
    running_since: float | None = None
    grace: GraceTracker = field(default_factory=GraceTracker)
    next_query: float = 0.0
    array_id: str | None = None


@final
@dataclass(slots=True)
class _LoggedEnd:
    """The end of a job according to the log, which the batch system has yet to confirm.

    `attempts_left`: answers to wait for; `retry_delay` (s) grows while queries fail.
    """

    event: JobEvent
    attempts_left: int = _END_QUERY_ATTEMPTS
    next_query: float = 0.0
    retry_delay: float = 0.0


@final
class JobPoller:
    """Queries the states of the watched jobs and reports changes.

    - `on_event(event)` is called when the batch system's answer for a job has changed.
    - `record_missing(jobs)` is called with the jobs that are missing, and with None for those that are
      known again.
    - `on_answer()` is called at each answer.
    - `count_awaited_jobs()` returns the number of jobs for whose ends callers wait now.
    - While `log_is_reliable()`, a log reports the jobs, and polls only look for events that the log missed.
    """

    def __init__(
        self,
        scripts: ScriptRunner,
        timing: Timing,
        on_event: Callable[[JobEvent], object],
        record_missing: Callable[[Mapping[str, MissingPeriod | None]], None],
        log_is_reliable: Callable[[], bool] = lambda: False,
        *,
        on_answer: Callable[[], None],
        count_awaited_jobs: Callable[[], int],
        clock: Clock,
    ) -> None:
        self._scripts, self._timing, self._clock = scripts, timing, clock
        self._on_event, self._on_answer = on_event, on_answer
        self._count_awaited_jobs = count_awaited_jobs
        self._record_missing, self._log_is_reliable = record_missing, log_is_reliable
        self._logged_ends: dict[str, _LoggedEnd] = {}
        self._backoff = PollBackoff(timing)
        self._watched: dict[str, WatchedJob] = {}
        scripts.metrics.gauges["osprofile_watched_jobs"] = self._watched.__len__
        self._last_statuses = _NO_STATUSES
        self._unreported_since: dict[str, float] = {}
        """By job id: the answer to the next query that starts after this time is reported in any case."""
        self._poll_immediately = self._end_noticed = False
        self._last_timestamp = self._last_began_at = self._valid_since = -math.inf
        """Since `_valid_since`, an action may have changed something: older answers are not used again."""
        self._wakeup = asyncio.Event()
        self._poll_lock = asyncio.Lock()

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._watched

    def watch(self, job_id: str, watched: WatchedJob) -> None:
        """Query a job from now on; the first poll is scheduled soon."""
        self._watched[job_id] = watched
        self._unreported_since[job_id] = watched.watched_since
        self.schedule_poll()

    def report_next_answer(self, job_id: str) -> None:
        """Report a job's next answer even if it is the same as the last.

        Another source may have reported something else in between.
        """
        if job_id in self._watched:
            self._unreported_since[job_id] = self._clock.monotonic()

    def awaits_first_answer(self, job_id: str) -> bool:
        """Return whether a job is watched, but its next answer has yet to be reported."""
        return job_id in self._watched and job_id in self._unreported_since

    def unwatch(self, job_id: str) -> None:
        """Stop querying a job."""
        self._watched.pop(job_id, None)

    def note_removal(self, job_id: str, removed_at: float) -> None:
        """Note that the batch system has accepted a job's removal."""
        if job_id in self._watched:
            self._watched[job_id].grace.aborted_at = removed_at

    def was_removed(self, job_id: str) -> bool:
        """Return whether a job is watched, and the batch system has accepted its removal."""
        return job_id in self._watched and self._watched[job_id].grace.aborted_at is not None

    def clear_missing(self, job_ids: Iterable[str]) -> None:
        """Note that jobs are not missing, or no longer."""
        known_ids = list(job_ids)
        for job_id in known_ids:
            if job_id in self._watched:
                self._watched[job_id].grace.missing = None
        if known_ids:
            self._record_missing(dict.fromkeys(known_ids))

    def confirm_end(self, event: JobEvent) -> None:
        """Query at once how a job ended, whose end the log has reported as `event`.

        `event` itself is reported only if the batch system does not report the end.
        """
        if event.job_id in self._watched:
            self._logged_ends.setdefault(event.job_id, _LoggedEnd(event))
            self._wakeup.set()

    def schedule_poll(self, *, immediately: bool = False) -> None:
        """Poll soon, because something is about to change, or `immediately`, because it has changed."""
        self._backoff.reset_delay()
        if immediately:
            self._poll_immediately, self._valid_since = True, self._clock.monotonic()
        self._wakeup.set()

    def notice_end(self) -> None:
        """Poll soon, because a job has ended."""
        self._end_noticed = True
        self._backoff.reset_delay()
        self._wakeup.set()

    async def run(self) -> None:
        """Poll forever, whenever there are jobs to query."""
        last_poll_end = -math.inf
        while True:
            while (wait := min(self._time_until_poll(last_poll_end), self._time_until_end_query())) > 0:
                await self._wait_for_wakeup(wait)
            try:
                if self._time_until_end_query() <= 0:
                    await self._query_logged_ends()
                if self._time_until_poll(last_poll_end) <= 0:
                    self._poll_immediately, self._end_noticed, last_poll_end = False, False, math.inf
                    await self.poll()
            except OSProfileError as error:
                log.warning("job states are not updated; next try in %.0f s: %s", self._poll_delay(), error)
            except Exception:  # a fault in one poll must not end the watching of all jobs
                self._backoff.record_failure()
                log.exception("a poll failed because of a fault of osprofile")
            if last_poll_end == math.inf:
                last_poll_end = self._clock.monotonic()

    def _time_until_poll(self, last_poll_end: float) -> float:
        if not self._watched:
            return math.inf
        if self._poll_immediately:
            return 0.0
        now, shortest = self._clock.monotonic(), self._backoff.min_delay()
        if self._end_noticed:
            return last_poll_end + min(shortest, self._backoff.delay_after_end()) - now
        # Each job that is submitted wakes the poller: it must not look at all other jobs each time.
        if (wait := last_poll_end + shortest - now) > 0:
            return wait
        return last_poll_end + self._poll_delay() - now

    async def _wait_for_wakeup(self, seconds: float) -> None:
        self._wakeup.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < math.inf else None):
                await self._wakeup.wait()

    def _poll_delay(self) -> float:
        """Return the seconds until the next poll: fewer if a wall time ends or a missing job is due."""
        now = self._clock.monotonic()
        jobs = self._watched.values()
        due_times = [w.running_since + w.walltime for w in jobs if w.running_since is not None and w.walltime]
        due_times += [w.next_query for w in jobs if w.grace.missing is not None]
        due_times = [due for due in due_times if due > now - self._backoff.max_interval]
        is_awaited = 0 < self._count_awaited_jobs() <= _MAX_AWAITED_JOBS
        delay = self._backoff.next_delay(now, min(due_times, default=None), is_awaited=is_awaited)
        return max(delay, self._timing.log_poll_interval) if self._log_is_reliable() else delay

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Query all jobs once, report what changed, and return all that the batch system listed.

        The answer to a query that began within the last `max_age` seconds, or after this call, is
        used again, unless an action has changed something since. Raises what
        `ScriptRunner.query_all_jobs` does; all states then stay as they are.
        """
        if self._log_is_reliable():
            max_age = max(max_age, self._timing.log_poll_interval)
        metrics = self._scripts.metrics
        earliest_start = max(self._clock.monotonic() - max_age, self._valid_since)
        async with self._poll_lock:
            if self._last_began_at >= earliest_start:
                # Jobs that were watched after that query have not been reported yet.
                self._report_changes(self._last_statuses, self._last_timestamp, self._last_began_at)
                return self._last_statuses
            timestamp, began_at = self._clock.next_timestamp(), self._clock.monotonic()
            try:
                with (
                    metrics.count_result("osprofile_polls_total"),
                    metrics.time("osprofile_poll_duration_seconds"),
                ):
                    statuses = await self._scripts.query_all_jobs()
            except OSProfileError:
                self._backoff.record_failure()
                raise
            metrics.set("osprofile_listed_jobs", len(statuses))
            metrics.set("osprofile_last_poll_timestamp_seconds", timestamp)
            self._on_answer()
            if self._backoff.failure_count:
                # Nothing was known during the outage: all grace periods begin anew.
                self.clear_missing([j for j, w in self._watched.items() if w.grace.missing is not None])
            self._last_timestamp, self._last_began_at = timestamp, began_at
            duration = self._clock.monotonic() - began_at
            changed = self._report_changes(statuses, timestamp, began_at)
            missing_ids = self._find_missing_jobs(statuses, began_at)
            changed = await self._query_missing_jobs(missing_ids, statuses) or changed
            self._backoff.record_success(changed=changed, duration=duration)
            return statuses

    def _report_changes(self, statuses: Mapping[str, JobStatus], timestamp: float, began_at: float) -> bool:
        """Report what has changed since the last answer, and return whether anything has.

        A query that started before a job was watched may show an older job of the same id.
        """
        last_statuses, self._last_statuses = self._last_statuses, statuses
        unreported = {job_id for job_id, since in self._unreported_since.items() if since < began_at}
        self._unreported_since = {
            job_id: since for job_id, since in self._unreported_since.items() if job_id not in unreported
        }
        # This loops over the watched jobs: the batch system may list many more.
        jobs: Iterable[str] = unreported
        if statuses is not last_statuses:
            jobs = [j for j, w in self._watched.items() if w.watched_since < began_at]
        # The reader returns the same object for a job whose line has not changed.
        changes = [
            (j, s)
            for j in jobs
            if (s := statuses.get(j) or self._find_waiting_array(j, statuses)) is not None
            and (
                j in unreported
                or s is not (last_statuses.get(j) or self._find_waiting_array(j, last_statuses))
            )
        ]
        changes = [(j, s) for j, s in changes if s.state is not JobState.LOST and j in self._watched]
        for job_id, status in changes:
            # What is said of a waiting array is said of each task that has no line of its own.
            own = status if status.job_id == job_id else status._replace(job_id=job_id)
            self._report_status(own, timestamp)
        return bool(changes)

    def _find_waiting_array(self, job_id: str, statuses: Mapping[str, JobStatus]) -> JobStatus | None:
        """Return the line of a task's array if this waits as a whole; else None."""
        watched = self._watched.get(job_id)
        if watched is None or watched.array_id is None or watched.grace.aborted_at is not None:
            return None
        whole = statuses.get(watched.array_id)
        return whole if whole is not None and whole.state in _WAITING_STATES else None

    def _find_missing_jobs(self, statuses: Mapping[str, JobStatus], began_at: float) -> list[str]:
        """Return the jobs to query one by one: not listed, or listed as LOST. The others are not missing."""
        missing = {
            job_id
            for job_id in self._watched
            if (status := statuses.get(job_id) or self._find_waiting_array(job_id, statuses)) is None
            or status.state is JobState.LOST
        }
        jobs = self._watched
        self.clear_missing(j for j, w in jobs.items() if w.grace.missing is not None and j not in missing)
        return sorted(
            j for j in missing if jobs[j].watched_since < began_at and jobs[j].next_query <= began_at
        )

    # Ends that the log has reported

    def _time_until_end_query(self) -> float:
        due = min((end.next_query for end in self._logged_ends.values()), default=math.inf)
        return due - self._clock.monotonic()

    async def _query_logged_ends(self) -> None:
        """Query how jobs ended: the log does not show limits, removals and exit code files."""
        now = self._clock.monotonic()
        due = {job_id: end for job_id, end in self._logged_ends.items() if end.next_query <= now}
        answers: Mapping[str, JobStatus | OSProfileError]
        try:
            answers = await self._query_jobs(due)
        except OSProfileError as error:
            answers = dict.fromkeys(due, error)
        failed = {j: s for j, s in answers.items() if isinstance(s, OSProfileError)}
        if failed:
            reason = next(iter(failed.values()))
            log.warning("the query for the ends of %d jobs has failed: %s", len(failed), reason)
        now = self._clock.monotonic()
        for job_id, end in due.items():
            was_answered = job_id not in failed
            end.attempts_left -= was_answered
            end.retry_delay = (
                _END_POLL_INTERVAL if was_answered else max(_END_POLL_INTERVAL, 2 * end.retry_delay)
            )
            end.next_query = now + min(end.retry_delay, self._timing.max_retry_interval)
        for job_id, end in due.items():
            status = answers.get(job_id)
            if job_id not in self._watched:
                del self._logged_ends[job_id]
            elif isinstance(status, JobStatus) and status.state in TERMINAL_STATES - {JobState.LOST}:
                del self._logged_ends[job_id]
                self._report_status(status._replace(job_id=job_id), end.event.timestamp)
            elif isinstance(status, JobStatus) and (
                status.state in _WAITING_STATES
                or (status.state is JobState.RUNNING and end.attempts_left <= 0)
            ):
                # A log also reports the end of a run after which the job is queued again, and runs again.
                del self._logged_ends[job_id]
                self._report_status(status._replace(job_id=job_id), self._clock.next_timestamp())
            elif end.attempts_left <= 0:
                del self._logged_ends[job_id]
                self._report_status(end.event.status, end.event.timestamp)

    async def _query_jobs(self, job_ids: Iterable[str]) -> dict[str, JobStatus | OSProfileError]:
        """Query jobs one by one, except that the tasks of an array share a query."""
        watched = {job_id: self._watched.get(job_id) for job_id in job_ids}
        array_ids = {j: w.array_id for j, w in watched.items() if w is not None and w.array_id is not None}
        return await self._scripts.query_jobs(watched, array_ids)

    async def _query_missing_jobs(
        self, missing_ids: Sequence[str], statuses: Mapping[str, JobStatus]
    ) -> bool:
        """Find out what became of missing jobs; return whether the query succeeded."""
        if not missing_ids:
            return False
        timestamp, began_at = self._clock.next_timestamp(), self._clock.monotonic()
        try:
            answers = await self._query_jobs(missing_ids)
        except OSProfileError as error:
            log.warning("jobs that the batch system no longer lists stay as they are: %s", error)
            return False
        missing: dict[str, MissingPeriod | None] = {}
        _log_failures({j: a for j in missing_ids if isinstance(a := answers.get(j), OSProfileError)})
        for job_id in missing_ids:
            watched = self._watched.get(job_id)
            if watched is None or watched.watched_since >= began_at:  # the id now belongs to another job
                continue
            known_before = watched.grace.missing is None
            self._resolve_missing_job(job_id, watched, answers, statuses, timestamp)
            if watched.grace.missing is not None or not known_before:
                missing[job_id] = watched.grace.missing
        if missing:  # in one transaction: many tasks of an array may have ended
            self._record_missing(missing)
        return True

    def _resolve_missing_job(
        self,
        job_id: str,
        watched: WatchedJob,
        answers: Mapping[str, JobStatus | OSProfileError],
        statuses: Mapping[str, JobStatus],
        timestamp: float,
    ) -> None:
        """Report what the query for a missing job has found; `statuses` are the jobs that are listed."""
        now, grace_period = self._clock.monotonic(), self._timing.grace_period
        watched.next_query = now + grace_period / _QUERIES_PER_GRACE_PERIOD
        answer = answers.get(job_id)
        if isinstance(answer, OSProfileError):
            return
        status = answer or statuses.get(job_id)
        if answer is not None and answer.state is not JobState.LOST:
            watched.grace.missing = None
            self._report_status(answer._replace(job_id=job_id), timestamp)
        elif (
            status is None
            and watched.grace.aborted_at is None
            and _is_live_array(watched.array_id, answers, statuses)
        ):
            watched.grace.missing = None  # the batch system has not lost the task, it does not print it
        else:
            end = watched.grace.resolve_missing_job(job_id, status, now=now, grace_period=grace_period)
            if end is not None:
                self._report_status(end, timestamp)

    def _report_status(self, status: JobStatus, timestamp: float) -> None:
        watched = self._watched[status.job_id]
        if status.state is JobState.QUEUED:
            watched.running_since = None
        elif watched.running_since is None and status.state is JobState.RUNNING:
            watched.running_since = self._clock.monotonic()
        if watched.grace.aborted_at:
            status = apply_removal(status)
        self._on_event(JobEvent(timestamp, status))


def _log_failures(failures: Mapping[str, OSProfileError]) -> None:
    """Log one warning for the jobs whose queries have failed: the reason is mostly the same for all."""
    for job_id, error in list(failures.items())[:1]:
        if len(failures) == 1:
            log.warning("job %s stays as it is: %s", job_id, error)
        else:
            log.warning("job %s and %d more stay as they are: %s", job_id, len(failures) - 1, error)


def _is_live_array(array_id: str | None, *answers: Mapping[str, JobStatus | OSProfileError]) -> bool:
    """Return whether one of the answers has the array itself, and it has not ended."""
    statuses = [answer[array_id] for answer in answers if array_id is not None and array_id in answer]
    return any(isinstance(s, JobStatus) and s.state not in TERMINAL_STATES for s in statuses)
