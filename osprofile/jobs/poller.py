"""The poller: one query for any number of watched jobs, and the judgement of those that it lacks.

A failed poll is a failed poll: states stay, the failure is logged, and the next one waits longer.
A job that the query lacks is asked for by itself, which finds its own record of its end and the
batch system's history; whom nobody knows for as long as the grace period is LOST, never DONE.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.jobs.state import TERMINAL_STATES, JobEvent, JobState, JobStatus
from osprofile.jobs.store import Missing
from osprofile.jobs.timing import PollBackoff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.clock import Clock
    from osprofile.jobs.script_runner import ScriptRunner
    from osprofile.jobs.timing import Timing

log: Final = logging.getLogger("osprofile.jobs")
_NO_STATUSES: Final[Mapping[str, JobStatus]] = {}
UNKNOWN_JOB_REASON: Final = "the batch system does not know it, and it left no record of its end"
_END_POLL_INTERVAL: Final = 1.0
"""Seconds after which a job is asked for again that has ended by the log, and not by the system."""
_QUERIES_PER_GRACE_PERIOD: Final = 4
"""Within the grace period a missing job is asked for so many times."""


@final
@dataclass(slots=True)
class WatchedJob:
    """A job that has not ended, and what is known of its end; times are monotonic.

    `watched_since`: it is watched; `running_since`: it runs; `aborted`: its removal was taken; `missing_since`: nobody
    knows it.
    """

    watched_since: float
    walltime: float | None = None
    running_since: float | None = None
    aborted_at: float | None = None
    missing_since: Missing | None = None
    next_query: float = 0.0


@final
@dataclass(slots=True)
class _LoggedEnd:
    """The end of a job as a log tells it, and when it is asked for next.

    `attempts_left`: so many answers may still lack the end; `retry_delay`: it grows as long as queries fail.
    """

    event: JobEvent
    attempts_left: int = 3
    next_query: float = 0.0
    retry_delay: float = 0.0


@final
class JobPoller:
    """Asks for the states of the jobs it was given, and hands on what it hears.

    `hear(event)` gets the state of a job whenever its line in the batch system's answer changed;
    `miss(jobs)` since when nobody knows jobs, None for those that are known again, for the record;
    `on_answer()` is called at each answer. As long as `log_is_reliable()`, a log tells of the jobs and polls
    are for what it may have missed.
    """

    def __init__(
        self,
        scripts: ScriptRunner,
        timing: Timing,
        on_event: Callable[[JobEvent], object],
        record_missing: Callable[[Mapping[str, Missing | None]], None],
        log_is_reliable: Callable[[], bool] = lambda: False,
        *,
        on_answer: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._log_is_reliable = log_is_reliable
        self._logged_ends: dict[str, _LoggedEnd] = {}
        self._scripts, self._timing, self._on_event, self._record_missing = (
            scripts,
            timing,
            on_event,
            record_missing,
        )
        self._on_answer, self._clock = on_answer, clock
        self._backoff = PollBackoff(timing)
        self._watched: dict[str, WatchedJob] = {}
        self._last_statuses = _NO_STATUSES
        self._unreported_since: dict[str, float] = {}
        self._poll_immediately = False
        self._last_query_time = self._last_query_started = self._valid_since = -math.inf
        self._wakeup = asyncio.Event()
        self._poll_lock = asyncio.Lock()

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._watched

    @property
    def failure_count(self) -> int:
        """How many polls have failed one after the other."""
        return self._backoff.failure_count

    def watch(self, job_id: str, watched: WatchedJob) -> None:
        """Ask for a job's state from now on, soon for the first time."""
        self._watched[job_id] = watched
        self._unreported_since[job_id] = watched.watched_since
        self.schedule_poll()

    def report_next_answer(self, job_id: str) -> None:
        """Have a job's next answer told, even the same as the last: another source has spoken."""
        if job_id in self._watched:
            self._unreported_since[job_id] = self._clock.monotonic()

    def awaits_first_answer(self, job_id: str) -> bool:
        """Say whether no answer tells of a watched job yet: all questions are older."""
        return job_id in self._watched and job_id in self._unreported_since

    def unwatch(self, job_id: str) -> None:
        """Ask no more for a job."""
        self._watched.pop(job_id, None)

    def note_removal(self, job_id: str, removed_at: float) -> None:
        """Note that the batch system has taken a job's removal."""
        if job_id in self._watched:
            self._watched[job_id].aborted_at = removed_at

    def clear_missing(self, job_ids: Iterable[str]) -> None:
        """Note that jobs are not missing, or not any more."""
        found = list(job_ids)
        for job_id in found:
            if job_id in self._watched:
                self._watched[job_id].missing_since = None
        if found:
            self._record_missing(dict.fromkeys(found))

    def confirm_end(self, event: JobEvent) -> None:
        """Ask at once how a job ended whose end a log tells; its own word is the last resort."""
        if event.job_id in self._watched:
            self._logged_ends.setdefault(event.job_id, _LoggedEnd(event))
            self._wakeup.set()

    def schedule_poll(self, *, immediately: bool = False) -> None:
        """Poll soon, because something is going to change; or at once, because it did."""
        self._backoff.reset_delay()
        if immediately:
            self._poll_immediately, self._valid_since = True, self._clock.monotonic()
        self._wakeup.set()

    async def run(self) -> None:
        """Poll for ever, as long as there is something to ask for."""
        last = -math.inf
        while True:
            while (wait := min(self._time_until_poll(last), self._time_until_end_query())) > 0:
                await self._wait_for_wakeup(wait)
            try:
                if self._time_until_end_query() <= 0:
                    await self._query_logged_ends()
                if self._time_until_poll(last) <= 0:
                    self._poll_immediately, last = False, math.inf
                    await self.poll()
            except OSProfileError as error:
                log.warning("states stay; next try in %.0f s: %s", self._poll_delay(), error)
            except Exception:  # whatever it is, the other jobs go on
                self._backoff.record_failure()
                log.exception("a poll failed by a fault of osprofile's")
            if last == math.inf:
                last = self._clock.monotonic()

    def _time_until_poll(self, last: float) -> float:
        if not self._watched:
            return math.inf
        return (
            0.0 if self._poll_immediately else last + self._poll_delay() - self._clock.monotonic()
        )

    async def _wait_for_wakeup(self, seconds: float) -> None:
        self._wakeup.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < math.inf else None):
                await self._wakeup.wait()

    def _poll_delay(self) -> float:
        """Give the seconds until the next poll: sooner where a wall time or a grace period ends."""
        now = self._clock.monotonic()
        jobs = self._watched.values()
        ends = [
            w.running_since + w.walltime for w in jobs if w.running_since is not None and w.walltime
        ]
        ends += [w.next_query for w in jobs if w.missing_since is not None]
        ends = [end for end in ends if end > now - self._timing.max_poll_interval]
        delay = self._backoff.next_delay(now, min(ends, default=None))
        return max(delay, self._timing.log_poll_interval) if self._log_is_reliable() else delay

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Ask once, hand on what changed, and give all that the batch system told.

        An answer to a question of the last `max_age` s, or of the time since this call, will do, if
        nothing was changed from here since.
        Raises what `ScriptRunner.query_all_jobs` does; then nothing is judged.
        """
        if self._log_is_reliable():
            max_age = max(max_age, self._timing.log_poll_interval)
        wanted = max(self._clock.monotonic() - max_age, self._valid_since)
        async with self._poll_lock:
            if self._last_query_started >= wanted:
                self._report_changes(
                    self._last_statuses, self._last_query_time, self._last_query_started
                )  # for those that are watched since
                return self._last_statuses
            asked, begun = self._clock.next_timestamp(), self._clock.monotonic()
            try:
                found = await self._scripts.query_all_jobs()
            except OSProfileError:
                self._backoff.record_failure()
                raise
            self._on_answer()
            if (
                self._backoff.failure_count
            ):  # nobody could say anything meanwhile: all grace begins anew
                self.clear_missing(
                    [j for j, w in self._watched.items() if w.missing_since is not None]
                )
            self._last_query_time, self._last_query_started, took = (
                asked,
                begun,
                self._clock.monotonic() - begun,
            )
            changed = self._report_changes(found, asked, begun)
            changed = (
                await self._resolve_missing_jobs(self._find_missing_jobs(found, begun), found)
                or changed
            )
            self._backoff.record_success(changed=changed, duration=took)
            return found

    def _report_changes(
        self, statuses: Mapping[str, JobStatus], asked: float, begun: float
    ) -> bool:
        """Hand on what the batch system tells anew; say whether there was anything.

        A question that has `begun` before a job was watched may tell of an older job of that id.
        """
        last, self._last_statuses = self._last_statuses, statuses
        new = {job_id for job_id, since in self._unreported_since.items() if since < begun}
        self._unreported_since = {
            job_id: since for job_id, since in self._unreported_since.items() if job_id not in new
        }
        # The jobs that are watched, not those that are told: there may be many more of these.
        jobs = (
            new
            if statuses is last
            else [j for j, w in self._watched.items() if w.watched_since < begun]
        )
        shown = [(s, last.get(j)) for j in jobs if (s := statuses.get(j)) is not None]
        news = [s for s, known in shown if s is not known or s.job_id in new]
        news = [s for s in news if s.state is not JobState.LOST and s.job_id in self._watched]
        for status in news:
            self._report_status(status, asked)
        return bool(news)

    def _find_missing_jobs(self, statuses: Mapping[str, JobStatus], begun: float) -> list[str]:
        """Give the jobs to ask for by themselves: the answer lacks them, or has them as LOST."""
        missing = {
            job_id
            for job_id in self._watched
            if (status := statuses.get(job_id)) is None or status.state is JobState.LOST
        }
        jobs = self._watched
        self.clear_missing(
            j for j, w in jobs.items() if w.missing_since is not None and j not in missing
        )
        return sorted(
            j for j in missing if jobs[j].watched_since < begun and jobs[j].next_query <= begun
        )

    # Ends that a log tells

    def _time_until_end_query(self) -> float:
        due = min((end.next_query for end in self._logged_ends.values()), default=math.inf)
        return due - self._clock.monotonic()

    async def _query_logged_ends(self) -> None:
        """Ask how jobs ended: the log does not know of limits, removals and exit files."""
        now = self._clock.monotonic()
        asked = {job_id: end for job_id, end in self._logged_ends.items() if end.next_query <= now}
        found: Mapping[str, JobStatus | OSProfileError]
        try:
            found = await self._scripts.query_jobs(list(asked))
        except OSProfileError as error:
            found = dict.fromkeys(asked, error)
        failed = {j: s for j, s in found.items() if isinstance(s, OSProfileError)}
        if failed:
            why = next(iter(failed.values()))
            log.warning("how %d jobs ended cannot be asked: %s", len(failed), why)
        now = self._clock.monotonic()
        for job_id, end in asked.items():
            is_answer = job_id not in failed
            end.attempts_left -= is_answer
            end.retry_delay = (
                _END_POLL_INTERVAL if is_answer else max(_END_POLL_INTERVAL, 2 * end.retry_delay)
            )
            end.next_query = now + min(end.retry_delay, self._timing.max_retry_interval)
        for job_id, end in asked.items():
            status = found.get(job_id)
            if job_id not in self._watched:
                del self._logged_ends[job_id]
            elif isinstance(status, JobStatus) and status.state in TERMINAL_STATES - {
                JobState.LOST
            }:
                del self._logged_ends[job_id]
                self._report_status(status._replace(job_id=job_id), end.event.timestamp)
            elif end.attempts_left <= 0:
                del self._logged_ends[job_id]
                self._report_status(end.event.status, end.event.timestamp)

    async def _resolve_missing_jobs(
        self, missing_ids: Sequence[str], statuses: Mapping[str, JobStatus]
    ) -> bool:
        """Find out what became of jobs; say whether anything is known anew."""
        if not missing_ids:
            return False
        asked, begun = self._clock.next_timestamp(), self._clock.monotonic()
        try:
            known = await self._scripts.query_jobs(missing_ids)
        except OSProfileError as error:
            log.warning("jobs that the batch system no longer lists stay as they are: %s", error)
            return False
        missing = {}
        for job_id in missing_ids:
            watched = self._watched.get(job_id)
            if watched is None or watched.watched_since >= begun:  # another job has got the id
                continue
            watched.next_query = (
                self._clock.monotonic() + self._timing.grace_period / _QUERIES_PER_GRACE_PERIOD
            )
            status = known.get(job_id)
            if isinstance(status, OSProfileError):
                log.warning("job %s stays as it is: %s", job_id, status)
            elif status is not None and status.state is not JobState.LOST:
                self.clear_missing([job_id])
                self._report_status(status._replace(job_id=job_id), asked)
            else:
                self._handle_missing_job(job_id, watched, status or statuses.get(job_id), asked)
                missing[job_id] = watched.missing_since
        self._record_missing(missing)
        return True

    def _handle_missing_job(
        self, job_id: str, watched: WatchedJob, status: JobStatus | None, asked: float
    ) -> None:
        """Judge a job that nobody knows."""
        now, grace = self._clock.monotonic(), self._timing.grace_period
        watched.missing_since = still_missing(watched.missing_since, now, grace)
        over = now - watched.missing_since.since >= grace
        ended = resolve_missing_job(
            job_id, status, aborted_at=watched.aborted_at, grace_is_over=over
        )
        if ended is not None:
            self._report_status(ended, asked)

    def _report_status(self, status: JobStatus, timestamp: float) -> None:
        watched = self._watched[status.job_id]
        if watched.running_since is None and status.state is JobState.RUNNING:
            watched.running_since = self._clock.monotonic()
        self._on_event(JobEvent(timestamp, apply_removal(status) if watched.aborted_at else status))


def still_missing(missing: Missing | None, now: float, grace: float) -> Missing:
    """Return since when a job is missing that nobody knows now, either.

    Of the time between two looks half a grace period counts at most: it may have been known then.
    """
    since, last = missing or (now, now)
    return Missing(min(now, since + max(0.0, now - last - grace / 2)), now)


def apply_removal(status: JobStatus) -> JobStatus:
    """Give the state of a job whose removal was taken: a failure without a limit is that."""
    if status.state is JobState.FAILED and not status.limit_exceeded:
        return status._replace(state=JobState.REMOVED, signal=None)
    if status.state is JobState.LOST:
        return status._replace(state=JobState.REMOVED, reason="")
    return status


def resolve_missing_job(
    job_id: str,
    status: JobStatus | None,
    *,
    aborted_at: float | None,
    grace_is_over: bool,
) -> JobStatus | None:
    """Give the end of a job that nobody knows; None as long as it may turn up.

    One whose removal was taken is REMOVED; any other is LOST when the grace period is `grace_is_over`.
    """
    status = status or JobStatus(job_id, JobState.LOST, reason=UNKNOWN_JOB_REASON)
    lost = status._replace(state=JobState.LOST)
    if aborted_at is not None:
        return apply_removal(lost)
    return lost if grace_is_over else None
