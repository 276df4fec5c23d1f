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
from osprofile.events.event import TERMINAL, JobEvent, JobState, JobStatus
from osprofile.target.pace import Pace
from osprofile.target.store import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.target.clock import Clock
    from osprofile.target.pace import Timing
    from osprofile.target.scripts import Scripts

log: Final = logging.getLogger("osprofile.target")
_NOTHING: Final[Mapping[str, JobStatus]] = {}
UNHEARD_OF: Final = "the batch system does not know it, and it left no record of its end"
_END_AGAIN: Final = 1.0
"""Seconds after which a job is asked for again that has ended by the log, and not by the system."""
_ASK_AGAIN: Final = 4
"""Within the grace period a missing job is asked for so many times."""


@final
@dataclass(slots=True)
class Watched:
    """A job that has not ended, and what is known of its end; times are monotonic.

    `since`: it is watched; `started`: it runs; `aborted`: its removal was taken; `missing`: nobody
    knows it.
    """

    since: float
    walltime: float | None = None
    started: float | None = None
    aborted: float | None = None
    missing: Missing | None = None
    ask_again: float = 0.0


@final
@dataclass(slots=True)
class _End:
    """The end of a job as a log tells it, and when it is asked for next.

    `left`: so many answers may still lack the end; `delay`: it grows as long as queries fail.
    """

    event: JobEvent
    left: int = 3
    due: float = 0.0
    delay: float = 0.0


@final
class Poller:
    """Asks for the states of the jobs it was given, and hands on what it hears.

    `hear(event)` gets the state of a job whenever its line in the batch system's answer changed;
    `miss(jobs)` since when nobody knows jobs, None for those that are known again, for the record;
    `answered()` is called at each answer. As long as `relaxed()`, a log tells of the jobs and polls
    are for what it may have missed.
    """

    def __init__(
        self,
        scripts: Scripts,
        timing: Timing,
        hear: Callable[[JobEvent], object],
        miss: Callable[[Mapping[str, Missing | None]], None],
        relaxed: Callable[[], bool] = lambda: False,
        *,
        answered: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._relaxed = relaxed
        self._ends: dict[str, _End] = {}
        self._scripts, self._timing, self._hear, self._miss = scripts, timing, hear, miss
        self._answered, self._clock = answered, clock
        self._pace = Pace(timing)
        self._watched: dict[str, Watched] = {}
        self._last = _NOTHING
        self._new: dict[str, float] = {}
        self._at_once = False
        self._asked = self._begun = self._valid = -math.inf
        self._wake = asyncio.Event()
        self._polling = asyncio.Lock()

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._watched

    @property
    def failures(self) -> int:
        """How many polls have failed one after the other."""
        return self._pace.failures

    def watch(self, job_id: str, watched: Watched) -> None:
        """Ask for a job's state from now on, soon for the first time."""
        self._watched[job_id] = watched
        self._new[job_id] = watched.since
        self.soon()

    def tell_again(self, job_id: str) -> None:
        """Have a job's next answer told, even the same as the last: another source has spoken."""
        if job_id in self._watched:
            self._new[job_id] = self._clock.monotonic()

    def awaits_answer(self, job_id: str) -> bool:
        """Say whether no answer tells of a watched job yet: all questions are older."""
        return job_id in self._watched and job_id in self._new

    def unwatch(self, job_id: str) -> None:
        """Ask no more for a job."""
        self._watched.pop(job_id, None)

    def aborted(self, job_id: str, when: float) -> None:
        """Note that the batch system has taken a job's removal."""
        if job_id in self._watched:
            self._watched[job_id].aborted = when

    def known_again(self, job_ids: Iterable[str]) -> None:
        """Note that jobs are not missing, or not any more."""
        found = list(job_ids)
        for job_id in found:
            if job_id in self._watched:
                self._watched[job_id].missing = None
        if found:
            self._miss(dict.fromkeys(found))

    def ended(self, event: JobEvent) -> None:
        """Ask at once how a job ended whose end a log tells; its own word is the last resort."""
        if event.job_id in self._watched:
            self._ends.setdefault(event.job_id, _End(event))
            self._wake.set()

    def soon(self, *, at_once: bool = False) -> None:
        """Poll soon, because something is going to change; or at once, because it did."""
        self._pace.moved()
        if at_once:
            self._at_once, self._valid = True, self._clock.monotonic()
        self._wake.set()

    async def run(self) -> None:
        """Poll for ever, as long as there is something to ask for."""
        last = -math.inf
        while True:
            while (wait := min(self._wait(last), self._wait_for_ends())) > 0:
                await self._sleep(wait)
            try:
                if self._wait_for_ends() <= 0:
                    await self._ask_for_ends()
                if self._wait(last) <= 0:
                    self._at_once, last = False, math.inf
                    await self.poll()
            except OSProfileError as error:
                log.warning("states stay; next try in %.0f s: %s", self._delay(), error)
            except Exception:  # whatever it is, the other jobs go on
                self._pace.failed()
                log.exception("a poll failed by a fault of osprofile's")
            if last == math.inf:
                last = self._clock.monotonic()

    def _wait(self, last: float) -> float:
        if not self._watched:
            return math.inf
        return 0.0 if self._at_once else last + self._delay() - self._clock.monotonic()

    async def _sleep(self, seconds: float) -> None:
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < math.inf else None):
                await self._wake.wait()

    def _delay(self) -> float:
        """Give the seconds until the next poll: sooner where a wall time or a grace period ends."""
        now = self._clock.monotonic()
        jobs = self._watched.values()
        ends = [w.started + w.walltime for w in jobs if w.started is not None and w.walltime]
        ends += [w.ask_again for w in jobs if w.missing is not None]
        ends = [end for end in ends if end > now - self._timing.slowest]
        delay = self._pace.delay(now, min(ends, default=None))
        return max(delay, self._timing.listening) if self._relaxed() else delay

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Ask once, hand on what changed, and give all that the batch system told.

        An answer to a question of the last `max_age` s, or of the time since this call, will do, if
        nothing was changed from here since.
        Raises what `Scripts.states` does; then nothing is judged.
        """
        if self._relaxed():
            max_age = max(max_age, self._timing.listening)
        wanted = max(self._clock.monotonic() - max_age, self._valid)
        async with self._polling:
            if self._begun >= wanted:
                self._compare(
                    self._last, self._asked, self._begun
                )  # for those that are watched since
                return self._last
            asked, begun = self._clock.now(), self._clock.monotonic()
            try:
                found = await self._scripts.states()
            except OSProfileError:
                self._pace.failed()
                raise
            self._answered()
            if self._pace.failures:  # nobody could say anything meanwhile: all grace begins anew
                self.known_again([j for j, w in self._watched.items() if w.missing is not None])
            self._asked, self._begun, took = asked, begun, self._clock.monotonic() - begun
            changed = self._compare(found, asked, begun)
            changed = await self._judge(self._missing(found, begun), found) or changed
            self._pace.polled(changed=changed, took=took)
            return found

    def _compare(self, found: Mapping[str, JobStatus], asked: float, begun: float) -> bool:
        """Hand on what the batch system tells anew; say whether there was anything.

        A question that has `begun` before a job was watched may tell of an older job of that id.
        """
        last, self._last = self._last, found
        new = {job_id for job_id, since in self._new.items() if since < begun}
        self._new = {job_id: since for job_id, since in self._new.items() if job_id not in new}
        # The jobs that are watched, not those that are told: there may be many more of these.
        jobs = new if found is last else [j for j, w in self._watched.items() if w.since < begun]
        shown = [(s, last.get(j)) for j in jobs if (s := found.get(j)) is not None]
        news = [s for s, known in shown if s is not known or s.job_id in new]
        news = [s for s in news if s.state is not JobState.LOST and s.job_id in self._watched]
        for status in news:
            self._tell(status, asked)
        return bool(news)

    def _missing(self, found: Mapping[str, JobStatus], begun: float) -> list[str]:
        """Give the jobs to ask for by themselves: the answer lacks them, or has them as LOST."""
        missing = {
            job_id
            for job_id in self._watched
            if (status := found.get(job_id)) is None or status.state is JobState.LOST
        }
        jobs = self._watched
        self.known_again(j for j, w in jobs.items() if w.missing is not None and j not in missing)
        return sorted(j for j in missing if jobs[j].since < begun and jobs[j].ask_again <= begun)

    # Ends that a log tells

    def _wait_for_ends(self) -> float:
        due = min((end.due for end in self._ends.values()), default=math.inf)
        return due - self._clock.monotonic()

    async def _ask_for_ends(self) -> None:
        """Ask how jobs ended: the log does not know of limits, removals and exit files."""
        now = self._clock.monotonic()
        asked = {job_id: end for job_id, end in self._ends.items() if end.due <= now}
        found: Mapping[str, JobStatus | OSProfileError]
        try:
            found = await self._scripts.states_of(list(asked))
        except OSProfileError as error:
            found = dict.fromkeys(asked, error)
        failed = {j: s for j, s in found.items() if isinstance(s, OSProfileError)}
        if failed:
            why = next(iter(failed.values()))
            log.warning("how %d jobs ended cannot be asked: %s", len(failed), why)
        now = self._clock.monotonic()
        for job_id, end in asked.items():
            is_answer = job_id not in failed
            end.left -= is_answer
            end.delay = _END_AGAIN if is_answer else max(_END_AGAIN, 2 * end.delay)
            end.due = now + min(end.delay, self._timing.failing)
        for job_id, end in asked.items():
            status = found.get(job_id)
            if job_id not in self._watched:
                del self._ends[job_id]
            elif isinstance(status, JobStatus) and status.state in TERMINAL - {JobState.LOST}:
                del self._ends[job_id]
                self._tell(status._replace(job_id=job_id), end.event.timestamp)
            elif end.left <= 0:
                del self._ends[job_id]
                self._tell(end.event.status, end.event.timestamp)

    async def _judge(self, gone: Sequence[str], found: Mapping[str, JobStatus]) -> bool:
        """Find out what became of jobs; say whether anything is known anew."""
        if not gone:
            return False
        asked, begun = self._clock.now(), self._clock.monotonic()
        try:
            known = await self._scripts.states_of(gone)
        except OSProfileError as error:
            log.warning("jobs that the batch system no longer lists stay as they are: %s", error)
            return False
        missing = {}
        for job_id in gone:
            watched = self._watched.get(job_id)
            if watched is None or watched.since >= begun:  # another job has got the id
                continue
            watched.ask_again = self._clock.monotonic() + self._timing.grace / _ASK_AGAIN
            status = known.get(job_id)
            if isinstance(status, OSProfileError):
                log.warning("job %s stays as it is: %s", job_id, status)
            elif status is not None and status.state is not JobState.LOST:
                self.known_again([job_id])
                self._tell(status._replace(job_id=job_id), asked)
            else:
                self._vanished(job_id, watched, status or found.get(job_id), asked)
                missing[job_id] = watched.missing
        self._miss(missing)
        return True

    def _vanished(
        self, job_id: str, watched: Watched, status: JobStatus | None, asked: float
    ) -> None:
        """Judge a job that nobody knows."""
        now, grace = self._clock.monotonic(), self._timing.grace
        watched.missing = still_missing(watched.missing, now, grace)
        over = now - watched.missing.since >= grace
        ended = vanished(job_id, status, aborted=watched.aborted, over=over)
        if ended is not None:
            self._tell(ended, asked)

    def _tell(self, status: JobStatus, asked: float) -> None:
        watched = self._watched[status.job_id]
        if watched.started is None and status.state is JobState.RUNNING:
            watched.started = self._clock.monotonic()
        self._hear(JobEvent(asked, after_abort(status) if watched.aborted else status))


def still_missing(missing: Missing | None, now: float, grace: float) -> Missing:
    """Return since when a job is missing that nobody knows now, either.

    Of the time between two looks half a grace period counts at most: it may have been known then.
    """
    since, last = missing or (now, now)
    return Missing(min(now, since + max(0.0, now - last - grace / 2)), now)


def after_abort(status: JobStatus) -> JobStatus:
    """Give the state of a job whose removal was taken: a failure without a limit is that."""
    if status.state is JobState.FAILED and not status.limit:
        return status._replace(state=JobState.REMOVED, signal=None)
    if status.state is JobState.LOST:
        return status._replace(state=JobState.REMOVED, reason="")
    return status


def vanished(
    job_id: str,
    status: JobStatus | None,
    *,
    aborted: float | None,
    over: bool,
) -> JobStatus | None:
    """Give the end of a job that nobody knows; None as long as it may turn up.

    One whose removal was taken is REMOVED; any other is LOST when the grace period is `over`.
    """
    status = status or JobStatus(job_id, JobState.LOST, reason=UNHEARD_OF)
    lost = status._replace(state=JobState.LOST)
    if aborted is not None:
        return after_abort(lost)
    return lost if over else None
