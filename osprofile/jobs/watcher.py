"""Watch the jobs of one target system: pass events from the poller and the log to the monitor.

The poller queries the batch system; if the profile names a log, that is read as well. The monitor
publishes each change once, to the event streams and the callers of `wait_for_end`.

Of an array, the tasks are watched. The array has no query of its own: its status is made of theirs, when
all that one answer has changed is known, and published after their events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, final

from osprofile.errors import NotRegisteredError, OSProfileError
from osprofile.jobs.arrays import ArrayTracker
from osprofile.jobs.event_log import EventLogSource, has_event_log
from osprofile.jobs.event_stream import EventStream
from osprofile.jobs.grace_period import REUSED_ID_REASON, UNKNOWN_JOB_REASON, GraceTracker, apply_removal
from osprofile.jobs.monitor import JobMonitor
from osprofile.jobs.poller import JobPoller, WatchedJob, log
from osprofile.jobs.script_output import get_end_files
from osprofile.jobs.state import JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from osprofile.jobs.clock import Clock
    from osprofile.jobs.end_files import EndFileWatcher
    from osprofile.jobs.grace_period import MissingPeriod
    from osprofile.jobs.recorder import StatusRecorder
    from osprofile.jobs.script_runner import ScriptRunner
    from osprofile.jobs.store import JobRecord, Store
    from osprofile.jobs.timing import Timing


@final
class JobWatcher:
    """The watched jobs of one target system; `target` is its name in the record.

    `monitor` has the last known status of each, `poller` queries them.
    """

    def __init__(
        self,
        target: str,
        scripts: ScriptRunner,
        store: Store,
        recorder: StatusRecorder,
        timing: Timing,
        *,
        clock: Clock,
    ) -> None:
        self._target, self._profile, self._store = target, scripts.profile, store
        self._scripts = scripts
        self._recorder, self._timing, self._clock = recorder, timing, clock
        self.monitor = JobMonitor(self._publish_event, handle_early_event=self._handle_log_event)
        self.arrays = ArrayTracker()
        self._array_update: asyncio.Handle | None = None
        self._event_log: EventLogSource | None = None
        if has_event_log(scripts.profile, scripts.context):
            self._event_log = EventLogSource(
                scripts.profile, scripts.context, self.monitor, self._handle_log_event, store.path
            )
        self._end_waiters: defaultdict[str, list[asyncio.Future[JobStatus]]] = defaultdict(list)
        self.poller = JobPoller(
            scripts,
            timing,
            self.handle_event,
            self._record_missing,
            self._log_is_reliable,
            on_answer=recorder.flush,
            count_awaited_jobs=self._end_waiters.__len__,
            clock=clock,
        )
        # on another host, nothing is noticed of a job's files
        self._end_file_names = [] if scripts.context.get("SSH:HOST") else get_end_files(scripts.profile)
        self._end_files: EndFileWatcher | None = None
        self._running_aborts: Counter[str] = Counter()
        """By job id, how many calls run ABORT for the job now."""
        self._deferred_ends: dict[str, JobEvent] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._searches: set[asyncio.Task[None]] = set()
        self._sought_directories: set[str] = set()
        """The working directories of missing jobs for which FIND_JOB was run."""
        self._streams: set[EventStream] = set()

    def start(self) -> None:
        """Poll, and read the log if there is one, from now on."""
        if not self._tasks:
            coroutines = [self.poller.run()]
            if self._event_log is not None:
                coroutines.append(self._event_log.run())
            self._tasks = [asyncio.get_running_loop().create_task(coroutine) for coroutine in coroutines]

    def listen(self) -> None:
        """Start if there is a log. Without one, there is nothing to do until a job is watched."""
        if self._event_log is not None:
            self.start()

    async def close(self) -> None:
        """Stop watching: streams end, and the callers of `wait_for_end` are cancelled."""
        if self._end_files is not None:
            self._end_files.close()
        tasks = [*self._tasks, *self._searches]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self.update_arrays()
        self._recorder.flush()
        for stream in list(self._streams):
            stream.close()
        for futures in self._end_waiters.values():
            for future in futures:
                future.cancel()

    def events(self) -> EventStream:
        """Return a stream of the events of all watched jobs, from now on."""
        stream = EventStream(self._streams.discard)
        self._streams.add(stream)
        self.start()
        return stream

    async def wait_for_end(self, job_id: str) -> JobStatus:
        """Wait until a watched job ends, and return its last status."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._end_waiters[job_id].append(future)
        return await future

    # Which jobs

    def watch_recorded_job(self, job_id: str) -> JobStatus | None:
        """Watch a job of the record; return its last known status, None if it is not recorded."""
        current_status = self.monitor.get_status(job_id) if job_id in self.monitor else None
        is_watched = job_id in self.poller or job_id in self.arrays
        if current_status is not None and (current_status.state.is_terminal or is_watched):
            return current_status
        record = self._store.find_job(self._target, job_id)
        if record is None:
            return None
        if not record.status.state.is_terminal:
            self.watch_record(record)
        elif current_status is not None:  # another process has recorded its end
            self.handle_event(JobEvent(self._clock.next_timestamp(), record.status))
            return self.monitor.get_status(job_id)
        return current_status or record.status

    def watch_recorded_array(self, array_id: str) -> None:
        """Watch an array of the record that has not ended; do nothing for any other job."""
        if array_id not in self.arrays:
            record = self._store.find_job(self._target, array_id)
            if record is not None and record.array and not record.status.state.is_terminal:
                self.watch_record(record)

    def watch_submitted_job(self, record: JobRecord, job_id: str, task_ids: Mapping[int, str]) -> None:
        """Watch a job that was just submitted, with the ids of its tasks if it is an array."""
        accepted = self._clock.next_timestamp()

        def build_record(job_id: str) -> JobRecord:
            if job_id in self.monitor:  # the batch system has used the id of an older job again
                self.unwatch(job_id)
            self._recorder.discard_status(job_id)
            # It was submitted when START began: it may run, or have ended, before START tells its id.
            status = JobStatus(job_id, JobState.UNKNOWN, submitted=record.status.submitted)
            return replace(record, status=status, accepted_at=accepted)

        array = build_record(job_id)
        if not task_ids:
            self.watch_record(array)
            return
        tasks = map(build_record, task_ids.values())
        self._watch_array(array, [replace(task, array="", array_id=job_id) for task in tasks])

    def lose_reused_job(self, job_id: str) -> None:
        """Notify those who wait for a job, or its tasks, that it is over: its id is that of another job now."""
        tasks = self.arrays.get_tasks(job_id) if job_id in self.arrays else {}
        for lost_id in (job_id, *tasks):
            lost = JobStatus(lost_id, JobState.LOST, reason=REUSED_ID_REASON)
            if self.poller.was_removed(lost_id):
                lost = apply_removal(lost)
            for future in self._end_waiters.pop(lost_id, ()):
                if not future.done():
                    future.set_result(lost)

    def record_statuses(self, job_ids: Iterable[str]) -> None:
        """Record the states of watched jobs that were not in the record until now."""
        for job_id in job_ids:
            if (
                job_id in self.monitor
                and (status := self.monitor.get_status(job_id)).state is not JobState.UNKNOWN
            ):
                self._recorder.record_status(status)

    def register_record(self, record: JobRecord) -> None:
        """Report a job's events from now on, without querying it."""
        self.monitor.register(record.status.job_id, initial_status=record.status)

    def watch_record(self, record: JobRecord) -> None:
        """Report a job's events from now on, and query it; of an array, its tasks."""
        tasks = self._list_tasks(record) if record.array else []
        if tasks:
            self._watch_array(record, tasks)
        else:
            self._watch_job(record)

    def _list_tasks(self, array: JobRecord) -> list[JobRecord]:
        """Return the tasks of a recorded array.

        A version without arrays records no tasks when it completes a submission: they are recorded now.
        """
        array_id = array.status.job_id
        tasks = self._store.list_tasks(self._target, array_id)
        if not tasks:
            try:
                task_ids = self._scripts.render_task_ids(array_id, array.array)
                self._store.record_job_id(array.number, array_id, task_ids)
                tasks = self._store.list_tasks(self._target, array_id)
            except OSProfileError as error:
                log.warning("the tasks of job %s are not recorded: %s", array_id, error)
        return tasks

    def _watch_array(self, record: JobRecord, tasks: Sequence[JobRecord]) -> None:
        array_id = record.status.job_id
        for task in tasks:
            if task.status.job_id not in self.poller and not task.status.state.is_terminal:
                self._watch_job(task)
        for task in tasks:
            self._note_recorded_end(task)
        statuses = [self._get_last_status(task) for task in tasks]
        if array_id not in self.monitor:
            self.register_record(record)
        self.arrays.watch(array_id, statuses, self._clock.next_timestamp())
        self._schedule_array_update()  # an earlier process may have recorded the ends of all tasks

    def _note_recorded_end(self, record: JobRecord) -> None:
        """Report the end of a registered job that another process has recorded."""
        job_id = record.status.job_id
        is_live = job_id in self.monitor and not self.monitor.get_status(job_id).state.is_terminal
        if is_live and record.status.state.is_terminal:
            self.handle_event(JobEvent(self._clock.next_timestamp(), record.status))

    def _get_last_status(self, record: JobRecord) -> JobStatus:
        job_id = record.status.job_id
        return self.monitor.get_status(job_id) if job_id in self.monitor else record.status

    def _watch_job(self, record: JobRecord) -> None:
        status, now, started = record.status, self._clock.monotonic(), record.status.started
        if started is not None:  # convert from the wall clock to the monotonic one
            started += now - self._clock.next_timestamp()
        grace = GraceTracker(record.aborted_at, record.missing)
        # A query started after START returned includes the job, even if it started before we began to watch it.
        watched_since = now
        accepted = record.accepted_at or status.submitted
        if accepted is not None:
            watched_since += min(0.0, accepted - self._clock.next_timestamp())
        watched = WatchedJob(watched_since, record.walltime, started, grace, array_id=record.array_id)
        self.poller.watch(status.job_id, watched)
        if self._end_file_names and not record.array_id:
            if self._end_files is None:
                # imported here: only profiles with END_FILES need ctypes, which takes 2 ms
                from osprofile.jobs.end_files import EndFileWatcher

                loop = asyncio.get_running_loop()
                self._end_files = EndFileWatcher(self._end_file_names, self.poller.notice_end, loop)
            self._end_files.watch(status.job_id, record.directory)
        if status.job_id not in self.monitor:
            self.register_record(record)

    def unwatch(self, job_id: str) -> None:
        """Report no more events of a job, or of an array and its tasks.

        A task stays watched with its array, whose end it decides.
        """
        if self.arrays.find_array(job_id) is not None:
            return
        for unwatched_id in (job_id, *self.arrays.unwatch(job_id)):
            with contextlib.suppress(NotRegisteredError):
                self.monitor.unregister(unwatched_id)
            self._stop_queries(unwatched_id)

    def _stop_queries(self, job_id: str) -> None:
        self.poller.unwatch(job_id)
        if self._end_files is not None:
            self._end_files.unwatch(job_id)

    # Events

    def handle_event(self, event: JobEvent) -> None:
        """Pass an event to the monitor; an end only when it is certain whether it is a removal."""
        if event.state.is_terminal:
            event, is_final = self._resolve_end(event)
            if event.job_id in self._running_aborts:
                self._deferred_ends[event.job_id] = event
                return
            if not is_final:
                self.poller.report_next_answer(event.job_id)
                return
        before, after = self.monitor.feed_event(event, keep_if_unregistered=False)
        if after.state is not before.state or after.hosts != before.hosts:
            self._recorder.record_status(after)
        elif event.status.state is JobState.UNKNOWN and after.native_state != before.native_state:
            log.warning(
                "job %s is in state %r, which profile %s does not know",
                after.job_id,
                after.native_state,
                self._profile.name,
            )

    def _resolve_end(self, event: JobEvent) -> tuple[JobEvent, bool]:
        """Return a job's end, corrected by what other processes have recorded, and whether it is final.

        While another process runs ABORT, a failure may turn out to be a removal.
        """
        record = self._recorder.find_record(event.job_id)
        if record is None:
            return event, True
        if record.status.state.is_terminal:
            return JobEvent(event.timestamp, record.status), True
        removed = JobEvent(event.timestamp, apply_removal(event.status))
        if record.aborted_at:
            return removed, True
        return event, removed == event or not record.has_live_owner

    @contextlib.contextmanager
    def track_removal(self, job_id: str) -> Iterator[Callable[[], None]]:
        """Defer a job's end while ABORT runs; yield the function that records the removal.

        A killed job is REMOVED if the batch system accepted its removal. This is known only after ABORT,
        but the job's end may be reported earlier. The removal of an array is that of its live tasks.
        """
        tasks = self.arrays.get_tasks(job_id) if job_id in self.arrays else {}
        removed_ids = Counter([job_id, *(j for j, task in tasks.items() if not task.state.is_terminal)])
        self._running_aborts += removed_ids
        self._recorder.mark_aborting(job_id, is_running=True)

        def record_removal() -> None:
            now = self._clock.next_timestamp()
            self._recorder.record_removal(job_id, now)
            for removed_id in removed_ids:
                self.poller.note_removal(removed_id, now)
                if (end := self._deferred_ends.get(removed_id)) is not None:
                    self._deferred_ends[removed_id] = JobEvent(end.timestamp, apply_removal(end.status))

        try:
            yield record_removal
        finally:
            self._running_aborts -= removed_ids
            # Only after this, or `handle_event` would defer the ends again.
            if job_id not in self._running_aborts:
                self._recorder.mark_aborting(job_id, is_running=False)
            for removed_id in removed_ids.keys() - self._running_aborts.keys():
                if (end := self._deferred_ends.pop(removed_id, None)) is not None:
                    self.handle_event(end)

    def _log_is_reliable(self) -> bool:
        # Some logs name only the array, whichever task has changed.
        is_reliable = self._event_log is not None and self._event_log.is_reliable
        return is_reliable and not self.arrays.has_live_arrays

    def _handle_log_event(self, event: JobEvent) -> None:
        """Handle an event of the log; for an end, ask the batch system, which knows more about it."""
        if event.job_id in self.arrays:
            self.poller.schedule_poll()  # one of its tasks has changed
        elif event.job_id not in self.monitor:
            self.monitor.feed_event(event)  # it may be a job that is being submitted
        elif event.state.is_terminal:
            self.poller.confirm_end(event)
        else:
            self.handle_event(event)

    def _publish_event(self, event: JobEvent, _key: Hashable) -> None:
        self._scripts.metrics.add("osprofile_job_states_total", state=event.state.value)
        for stream in self._streams:
            stream.push_event(event)
        if self.arrays.find_array(event.job_id) is not None:
            self.arrays.update_task(event)
            self._schedule_array_update()
        if event.state.is_terminal:
            self._stop_queries(event.job_id)
            for future in self._end_waiters.pop(event.job_id, ()):
                if not future.done():
                    future.set_result(event.status)

    def _schedule_array_update(self) -> None:
        if self._array_update is None:
            self._array_update = asyncio.get_running_loop().call_soon(self.update_arrays)

    def update_arrays(self) -> None:
        """Publish and record the statuses of the arrays whose tasks have changed."""
        self._array_update = None
        events = self.arrays.take_events()
        for event in events:
            before, after = self.monitor.feed_event(event, keep_if_unregistered=False)
            if after.state is not before.state:
                self._recorder.record_status(after)
        if events:
            self._recorder.flush()

    # Current statuses

    def get_current_status(self, job_id: str, reported_status: JobStatus | None) -> JobStatus:
        """Return the status of a registered job for which the batch system reported `reported_status`.

        A state that the profile does not define is UNKNOWN. If the batch system reported
        nothing or LOST, the last state is returned during the grace period.
        """
        if job_id in self.arrays:
            self.update_arrays()
        last_status = self.monitor.get_status(job_id)
        if last_status.state.is_terminal:
            return last_status
        if job_id in self.arrays:
            return last_status._replace(reason=self.arrays.summarize(job_id).reason)
        if reported_status is None or reported_status.state is JobState.LOST:
            return last_status._replace(reason=UNKNOWN_JOB_REASON)
        if reported_status.state is JobState.UNKNOWN:
            return last_status._replace(state=JobState.UNKNOWN)
        return last_status

    def _record_missing(self, jobs: Mapping[str, MissingPeriod | None]) -> None:
        self._recorder.record_missing(jobs)
        if self._scripts.has_find_template and (
            missing := [j for j, period in jobs.items() if period is not None]
        ):
            search = asyncio.get_running_loop().create_task(self._restore_links(missing))
            self._searches.add(search)
            search.add_done_callback(self._searches.discard)

    async def _restore_links(self, job_ids: Iterable[str]) -> None:
        """Run FIND_JOB for missing jobs: it makes the link to a job's directory that START could not make."""
        for job_id in job_ids:
            record = self._store.find_job(self._target, job_id)
            whole = None if record is None else self._store.find_whole_job(record)
            if whole is None or whole.directory[:1] != "/" or whole.directory in self._sought_directories:
                continue
            self._sought_directories.add(whole.directory)
            with contextlib.suppress(OSProfileError):  # the next query tells as much
                await self._scripts.find_submitted_job(whole.directory, "")

    def handle_missing_job(self, job_id: str, reported_status: JobStatus | None) -> JobStatus:
        """Record that a job was queried and nobody knows it; return its current status."""
        record = self._store.find_job(self._target, job_id)
        grace = GraceTracker(record.aborted_at, record.missing) if record else GraceTracker()
        end = grace.resolve_missing_job(
            job_id, reported_status, now=self._clock.monotonic(), grace_period=self._timing.grace_period
        )
        self._record_missing({job_id: grace.missing})
        if end is not None:
            self.handle_event(JobEvent(self._clock.next_timestamp(), end))
        return self.get_current_status(job_id, reported_status)
