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
from osprofile.jobs.event_log import EventLogSource, has_event_log
from osprofile.jobs.event_stream import EventStream
from osprofile.jobs.monitor import JobMonitor
from osprofile.jobs.poller import (
    UNKNOWN_JOB_REASON,
    JobPoller,
    WatchedJob,
    apply_removal,
    log,
    resolve_missing_job,
    still_missing,
)
from osprofile.jobs.state import TERMINAL_STATES, JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from osprofile.jobs.clock import Clock
    from osprofile.jobs.recorder import StatusRecorder
    from osprofile.jobs.script_runner import ScriptRunner
    from osprofile.jobs.store import JobRecord, Store
    from osprofile.jobs.timing import Timing


@final
class JobWatcher:
    """The watched jobs of the target that the record calls `name`.

    `monitor` has what is known of each, `poller` asks for them.
    """

    def __init__(
        self,
        name: str,
        scripts: ScriptRunner,
        store: Store,
        recorder: StatusRecorder,
        timing: Timing,
        *,
        clock: Clock,
    ) -> None:
        self._name, self._profile, self._store = name, scripts.profile, store
        self._recorder, self._timing, self._clock = recorder, timing, clock
        self.monitor = JobMonitor(self._publish_event, on_replay=self._handle_log_event)
        self._event_log: EventLogSource | None = None
        if has_event_log(scripts.profile, scripts.context):
            self._event_log = EventLogSource(
                scripts.profile, scripts.context, self.monitor, self._handle_log_event, store.path
            )
        self.poller = JobPoller(
            scripts,
            timing,
            self.handle_event,
            recorder.record_missing,
            self._log_is_reliable,
            on_answer=recorder.flush,
            clock=clock,
        )
        self._removals: Counter[str] = Counter()
        self._deferred_ends: dict[str, JobEvent] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._streams: set[EventStream] = set()
        self._end_waiters: defaultdict[str, list[asyncio.Future[JobStatus]]] = defaultdict(list)

    def start(self) -> None:
        """Poll and listen from now on."""
        if not self._tasks:
            work = (
                [self.poller.run()]
                if self._event_log is None
                else [self.poller.run(), self._event_log.run()]
            )
            self._tasks = [asyncio.get_running_loop().create_task(one) for one in work]

    def listen(self) -> None:
        """Poll and listen from now on if there is a log; what it tells is asked for in polls."""
        if self._event_log is not None:
            self.start()

    async def close(self) -> None:
        """Stop; streams end, and who waits is cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._recorder.flush()
        for reader in list(self._streams):
            reader.close()
        for futures in self._end_waiters.values():
            for future in futures:
                future.cancel()

    def events(self) -> EventStream:
        """Give a stream of the events of all watched jobs, from now on."""
        reader = EventStream(self._streams.discard)
        self._streams.add(reader)
        self.start()
        return reader

    async def wait_for_end(self, job_id: str) -> JobStatus:
        """Wait for the end of a watched job."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._end_waiters[job_id].append(future)
        return await future

    # Which jobs

    def watch_recorded_job(self, job_id: str) -> JobStatus | None:
        """Give what is known of a job before it is asked for; from then on it is watched."""
        known = self.monitor.get_status(job_id) if job_id in self.monitor else None
        if known is not None and (known.state.is_terminal or job_id in self.poller):
            return known
        record = self._store.find_job(self._name, job_id)
        if record is None:
            return None
        if not record.status.state.is_terminal:
            self.watch_record(record)
        elif known is not None:  # another process has seen its end
            self.handle_event(JobEvent(self._clock.next_timestamp(), record.status))
            return self.monitor.get_status(job_id)
        return known or record.status

    def watch_submitted_job(self, record: JobRecord, job_id: str) -> None:
        """Watch a job that was submitted just now."""
        if job_id in self.monitor:  # an id that came round again
            self.unwatch(job_id)
        self._recorder.discard_status(job_id)
        status = JobStatus(job_id, JobState.UNKNOWN, submitted=self._clock.next_timestamp())
        self.watch_record(replace(record, status=status))

    def register_record(self, record: JobRecord) -> None:
        """Have a job's events told."""
        self.monitor.register(record.status.job_id, initial_status=record.status)

    def watch_record(self, record: JobRecord) -> None:
        """Have a job's events told, and ask for it."""
        status, now, started = record.status, self._clock.monotonic(), record.status.started
        if started is not None:
            started += now - self._clock.next_timestamp()
        watched = WatchedJob(now, record.walltime, started, record.aborted_at, record.missing_since)
        self.poller.watch(status.job_id, watched)
        if status.job_id not in self.monitor:
            self.register_record(record)

    def unwatch(self, job_id: str) -> None:
        """Have no more of a job's events told."""
        with contextlib.suppress(NotRegisteredError):
            self.monitor.unregister(job_id)
        self.poller.unwatch(job_id)

    # What sources say

    def handle_event(self, event: JobEvent) -> None:
        """Take what a source says; an end only when it is clear whether it is a removal."""
        if event.state.is_terminal:
            event, is_settled = self._apply_record(event)
            if event.job_id in self._removals:
                self._deferred_ends[event.job_id] = event
                return
            if not is_settled:
                self.poller.report_next_answer(event.job_id)
                return
        before, after = self.monitor.apply_event(event, keep_early=False)
        if after.state is not before.state or after.hosts != before.hosts:
            self._recorder.record_status(after)
        elif event.status.state is JobState.UNKNOWN and after.native_state != before.native_state:
            log.warning(
                "job %s is in state %r, which profile %s does not know",
                after.job_id,
                after.native_state,
                self._profile.name,
            )

    def _apply_record(self, event: JobEvent) -> tuple[JobEvent, bool]:
        """Return an end as the record has it: other processes note ends and removals there.

        And whether it is settled: as long as another process runs ABORT, it may be a removal.
        """
        record = self._recorder.find_record(event.job_id)
        if record is None:
            return event, True
        if record.status.state.is_terminal:
            return JobEvent(event.timestamp, record.status), True
        removed = JobEvent(event.timestamp, apply_removal(event.status))
        if record.aborted_at:
            return removed, True
        return event, removed == event or not record.is_being_submitted

    @contextlib.contextmanager
    def track_removal(self, job_id: str) -> Iterator[Callable[[], None]]:
        """Keep a job's end as long as ABORT runs; what is given notes that the removal was taken.

        How a job ended that was killed is told by whether its removal was taken.
        """
        self._removals[job_id] += 1
        self._recorder.aborting(job_id, begins=True)

        def taken() -> None:
            now = self._clock.next_timestamp()
            self.poller.note_removal(job_id, now)
            self._recorder.record_removal(job_id, now)
            if (end := self._deferred_ends.get(job_id)) is not None:
                self._deferred_ends[job_id] = JobEvent(end.timestamp, apply_removal(end.status))

        try:
            yield taken
        finally:
            self._removals -= Counter([job_id])
            if job_id not in self._removals:
                self._recorder.aborting(job_id, begins=False)
                if (end := self._deferred_ends.pop(job_id, None)) is not None:
                    self.handle_event(end)

    def _log_is_reliable(self) -> bool:
        """Say whether a log tells of the jobs."""
        return self._event_log is not None and self._event_log.is_reliable

    def _handle_log_event(self, event: JobEvent) -> None:
        """Take what a log says; how a job ended, the batch system knows better."""
        if event.job_id not in self.monitor:
            self.monitor.feed_event(event)  # it may be a job that is being submitted
        elif event.state.is_terminal:
            self.poller.confirm_end(event)
        else:
            self.handle_event(event)

    def _publish_event(self, event: JobEvent, _key: Hashable) -> None:
        """Tell an event of the monitor's to all that read."""
        for reader in self._streams:
            reader.push_event(event)
        if event.status.state in TERMINAL_STATES:
            self.poller.unwatch(event.job_id)
            for future in self._end_waiters.pop(event.job_id, ()):
                if not future.done():
                    future.set_result(event.status)

    # What is known

    def get_current_status(self, job_id: str, reported_status: JobStatus | None) -> JobStatus:
        """Give what is known of a job that the batch system told so.

        An UNKNOWN word goes before what was known until then. Where it told nothing, or that it
        lost the job, the last state stands for the grace period.
        """
        known = self.monitor.get_status(job_id)
        if known.state.is_terminal:
            return known
        if reported_status is None or reported_status.state is JobState.LOST:
            return known._replace(reason=UNKNOWN_JOB_REASON)
        return (
            known._replace(state=reported_status.state)
            if reported_status.state is JobState.UNKNOWN
            else known
        )

    def handle_missing_job(self, job_id: str, reported_status: JobStatus | None) -> JobStatus:
        """Judge a job that was asked for, and that nobody knows."""
        record = self._store.find_job(self._name, job_id)
        now = self._clock.monotonic()
        missing = still_missing(record and record.missing_since, now, self._timing.grace_period)
        self._recorder.record_missing({job_id: missing})
        aborted = record.aborted_at if record is not None else None
        over = now - missing.since >= self._timing.grace_period
        ended = resolve_missing_job(job_id, reported_status, aborted_at=aborted, grace_is_over=over)
        if ended is not None:
            self.handle_event(JobEvent(self._clock.next_timestamp(), ended))
        return self.get_current_status(job_id, reported_status)
