"""Watching the jobs of one target: what sources say of them goes to the monitor, and on from there.

The poller asks the batch system; where the profile names a log, that is listened to as well. What
they say comes to the monitor, which tells each change once: to the streams, to who waits, and to the
record.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, final

from osprofile.errors import NotRegisteredError
from osprofile.events.event import TERMINAL, JobEvent, JobState, JobStatus
from osprofile.events.monitor import Monitor
from osprofile.target.log import LogSource, has_log
from osprofile.target.poller import (
    UNHEARD_OF,
    Poller,
    Watched,
    after_abort,
    log,
    still_missing,
    vanished,
)
from osprofile.target.stream import Events

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from osprofile.target.clock import Clock
    from osprofile.target.pace import Timing
    from osprofile.target.recorder import Recorder
    from osprofile.target.scripts import Scripts
    from osprofile.target.store import Record, Store


@final
class Watching:
    """The watched jobs of the target that the record calls `name`.

    `monitor` has what is known of each, `poller` asks for them.
    """

    def __init__(
        self,
        name: str,
        scripts: Scripts,
        store: Store,
        recorder: Recorder,
        timing: Timing,
        *,
        clock: Clock,
    ) -> None:
        self._name, self._profile, self._store = name, scripts.profile, store
        self._recorder, self._timing, self._clock = recorder, timing, clock
        self.monitor = Monitor(self._tell, replay=self._logged)
        self._log: LogSource | None = None
        if has_log(scripts.profile, scripts.context):
            self._log = LogSource(
                scripts.profile, scripts.context, self.monitor, self._logged, store.path
            )
        self.poller = Poller(
            scripts,
            timing,
            self.hear,
            recorder.missing,
            self._is_told,
            answered=recorder.flush,
            clock=clock,
        )
        self._removals: Counter[str] = Counter()
        self._ends: dict[str, JobEvent] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._readers: set[Events] = set()
        self._waiting: defaultdict[str, list[asyncio.Future[JobStatus]]] = defaultdict(list)

    def start(self) -> None:
        """Poll and listen from now on."""
        if not self._tasks:
            work = (
                [self.poller.run()] if self._log is None else [self.poller.run(), self._log.run()]
            )
            self._tasks = [asyncio.get_running_loop().create_task(one) for one in work]

    def listen(self) -> None:
        """Poll and listen from now on if there is a log; what it tells is asked for in polls."""
        if self._log is not None:
            self.start()

    async def close(self) -> None:
        """Stop; streams end, and who waits is cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._recorder.flush()
        for reader in list(self._readers):
            reader.close()
        for futures in self._waiting.values():
            for future in futures:
                future.cancel()

    def events(self) -> Events:
        """Give a stream of the events of all watched jobs, from now on."""
        reader = Events(self._readers.discard)
        self._readers.add(reader)
        self.start()
        return reader

    async def end_of(self, job_id: str) -> JobStatus:
        """Wait for the end of a watched job."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._waiting[job_id].append(future)
        return await future

    # Which jobs

    def recorded(self, job_id: str) -> JobStatus | None:
        """Give what is known of a job before it is asked for; from then on it is watched."""
        known = self.monitor.status(job_id) if job_id in self.monitor else None
        if known is not None and (known.state.is_terminal or job_id in self.poller):
            return known
        record = self._store.find(self._name, job_id)
        if record is None:
            return None
        if not record.status.state.is_terminal:
            self.watch(record)
        elif known is not None:  # another process has seen its end
            self.hear(JobEvent(self._clock.now(), record.status))
            return self.monitor.status(job_id)
        return known or record.status

    def taken(self, record: Record, job_id: str) -> None:
        """Watch a job that was submitted just now."""
        if job_id in self.monitor:  # an id that came round again
            self.unwatch(job_id)
        self._recorder.forget(job_id)
        status = JobStatus(job_id, JobState.UNKNOWN, submitted=self._clock.now())
        self.watch(replace(record, status=status))

    def register(self, record: Record) -> None:
        """Have a job's events told."""
        self.monitor.register(record.status.job_id, known=record.status)

    def watch(self, record: Record) -> None:
        """Have a job's events told, and ask for it."""
        status, now, started = record.status, self._clock.monotonic(), record.status.started
        if started is not None:
            started += now - self._clock.now()
        watched = Watched(now, record.walltime, started, record.aborted, record.missing)
        self.poller.watch(status.job_id, watched)
        if status.job_id not in self.monitor:
            self.register(record)

    def unwatch(self, job_id: str) -> None:
        """Have no more of a job's events told."""
        with contextlib.suppress(NotRegisteredError):
            self.monitor.unregister(job_id)
        self.poller.unwatch(job_id)

    # What sources say

    def hear(self, event: JobEvent) -> None:
        """Take what a source says; an end only when it is clear whether it is a removal."""
        if event.state.is_terminal:
            event, is_settled = self._as_recorded(event)
            if event.job_id in self._removals:
                self._ends[event.job_id] = event
                return
            if not is_settled:
                self.poller.tell_again(event.job_id)
                return
        before, after = self.monitor.take(event, early=False)
        if after.state is not before.state or after.hosts != before.hosts:
            self._recorder.write(after)
        elif event.status.state is JobState.UNKNOWN and after.word != before.word:
            log.warning(
                "job %s is in state %r, which profile %s does not know",
                after.job_id,
                after.word,
                self._profile.name,
            )

    def _as_recorded(self, event: JobEvent) -> tuple[JobEvent, bool]:
        """Return an end as the record has it: other processes note ends and removals there.

        And whether it is settled: as long as another process runs ABORT, it may be a removal.
        """
        record = self._recorder.find(event.job_id)
        if record is None:
            return event, True
        if record.status.state.is_terminal:
            return JobEvent(event.timestamp, record.status), True
        removed = JobEvent(event.timestamp, after_abort(event.status))
        if record.aborted:
            return removed, True
        return event, removed == event or not record.is_at_work

    @contextlib.contextmanager
    def removal(self, job_id: str) -> Iterator[Callable[[], None]]:
        """Keep a job's end as long as ABORT runs; what is given notes that the removal was taken.

        How a job ended that was killed is told by whether its removal was taken.
        """
        self._removals[job_id] += 1
        self._recorder.aborting(job_id, begins=True)

        def taken() -> None:
            now = self._clock.now()
            self.poller.aborted(job_id, now)
            self._recorder.aborted(job_id, now)
            if (end := self._ends.get(job_id)) is not None:
                self._ends[job_id] = JobEvent(end.timestamp, after_abort(end.status))

        try:
            yield taken
        finally:
            self._removals -= Counter([job_id])
            if job_id not in self._removals:
                self._recorder.aborting(job_id, begins=False)
                if (end := self._ends.pop(job_id, None)) is not None:
                    self.hear(end)

    def _is_told(self) -> bool:
        """Say whether a log tells of the jobs."""
        return self._log is not None and self._log.is_steady

    def _logged(self, event: JobEvent) -> None:
        """Take what a log says; how a job ended, the batch system knows better."""
        if event.job_id not in self.monitor:
            self.monitor.feed(event)  # it may be a job that is being submitted
        elif event.state.is_terminal:
            self.poller.ended(event)
        else:
            self.hear(event)

    def _tell(self, event: JobEvent, _key: Hashable) -> None:
        """Tell an event of the monitor's to all that read."""
        for reader in self._readers:
            reader.put(event)
        if event.status.state in TERMINAL:
            self.poller.unwatch(event.job_id)
            for future in self._waiting.pop(event.job_id, ()):
                if not future.done():
                    future.set_result(event.status)

    # What is known

    def known(self, job_id: str, found: JobStatus | None) -> JobStatus:
        """Give what is known of a job that the batch system told so.

        An UNKNOWN word goes before what was known until then. Where it told nothing, or that it
        lost the job, the last state stands for the grace period.
        """
        known = self.monitor.status(job_id)
        if known.state.is_terminal:
            return known
        if found is None or found.state is JobState.LOST:
            return known._replace(reason=UNHEARD_OF)
        return known._replace(state=found.state) if found.state is JobState.UNKNOWN else known

    def vanished(self, job_id: str, found: JobStatus | None) -> JobStatus:
        """Judge a job that was asked for, and that nobody knows."""
        record = self._store.find(self._name, job_id)
        now = self._clock.monotonic()
        missing = still_missing(record and record.missing, now, self._timing.grace)
        self._recorder.missing({job_id: missing})
        aborted = record.aborted if record is not None else None
        over = now - missing.since >= self._timing.grace
        ended = vanished(job_id, found, aborted=aborted, over=over)
        if ended is not None:
            self.hear(JobEvent(self._clock.now(), ended))
        return self.known(job_id, found)
