"""Watch the jobs of one target system: ask the batch system, read its log, and tell and record what has changed.

What to ask and what to tell is decided by the tracker. There is one query for all jobs, then one for those that
it does not list, or one for each. When a query fails, all states stay as they are, the failure is logged, and the
next one waits longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, StoreError
from osprofile.jobs.shell.loop import Turns, call_soon, has_loop, need_loop
from osprofile.jobs.shell.output import get_end_files
from osprofile.jobs.shell.scripts import find_shell_variation
from osprofile.jobs.state import JobEvent, JobState, JobStatus
from osprofile.jobs.watch.events import EndFileWatcher, EventLogSource, EventStream, has_event_log
from osprofile.jobs.watch.tracker import JobTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.jobs.submit.starts import StartScripts
    from osprofile.jobs.timing import Clock, Timing
    from osprofile.jobs.watch.queries import JobQueries


log: Final = logging.getLogger("osprofile.jobs")
_MAX_AWAITED_JOBS: Final = 10
"""With at most so many jobs that callers wait for, polls stay frequent. A site's POLL_INTERVAL sets how frequent."""


@final
class JobWatcher:
    """The watched jobs of one target system; `target` is its name in the record, `jobs` are what is known of them."""

    def __init__(
        self,
        target: str,
        starts: StartScripts,
        queries: JobQueries,
        store: Store,
        timing: Timing,
        *,
        clock: Clock,
    ) -> None:
        self._target, self._store, self._timing, self._clock = target, store, timing, clock
        self._shell = shell = starts.shell
        self._starts, self._queries = starts, queries
        self.recorder = StatusRecorder(target, store)
        self.tracker = JobTracker(timing, self.find_record)
        self.jobs = self.tracker.jobs
        shell.metrics.gauges["osprofile_watched_jobs"] = self.jobs.polled.__len__
        self._event_log: EventLogSource | None = None
        if has_event_log(shell.profile, shell.context):
            self._event_log = EventLogSource(
                shell.profile,
                shell.context,
                self.tracker.early_events,
                self._handle_log_event,
                store.path,
            )
        self._end_waiters: defaultdict[str, list[asyncio.Future[JobStatus]]] = defaultdict(list)
        # on another host, or of another user, nothing is noticed of a job's files
        end_files = [] if find_shell_variation(shell.context) else get_end_files(shell.profile)
        self._end_files = EndFileWatcher(end_files, self._notice_end)
        self._running_aborts: Counter[str] = Counter()
        """By job id, how many calls run ABORT for the job now."""
        self._wakeup: asyncio.Event | None = None
        """Ends the wait until the next poll."""
        self._poll_turn = Turns()
        self._tasks: list[asyncio.Task[None]] = []
        self._searches: set[asyncio.Task[None]] = set()
        self._sought_directories: set[str] = set()
        """The working directories of missing jobs for which FIND_JOB was run."""
        self._streams: set[EventStream] = set()
        self.on_end: Callable[[str], object] | None = None
        """Called after the end of each job or array, when it has been told and recorded; not after `close`."""

    def start(self) -> None:
        """Query the jobs, and read the log if there is one, from now on."""
        if not self._tasks:
            self._wakeup = asyncio.Event()
            coroutines = [self._run(self._wakeup)]
            if self._event_log is not None:
                coroutines.append(self._event_log.run())
            self._tasks = [asyncio.get_running_loop().create_task(coroutine) for coroutine in coroutines]

    def listen(self) -> None:
        """Start if there is a log. Without one, there is nothing to do until a job is watched."""
        if self._event_log is not None:
            self.start()

    async def close(self) -> None:
        """Stop watching: streams end, and the callers of `wait_for_end` are cancelled."""
        self._end_files.close()
        tasks = [*self._tasks, *self._searches]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self._tell_changes()
        self.recorder.flush()
        self.on_end = None
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

    def wait_for_end(self, job_id: str) -> asyncio.Future[JobStatus]:
        """Return the future of the last status of a watched job that has not ended yet."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._end_waiters[job_id].append(future)
        return future

    # Which jobs

    def follow(self, job_id: str) -> JobStatus | None:
        """Watch a job of the record; return its last known status, None if it is not recorded."""
        job = self.jobs.by_id.get(job_id)
        status = None if job is None else job.status
        if status is not None and (status.state.is_terminal or self.jobs.is_polled(job_id)):
            return status
        record = self._store.find_job(self._target, job_id)
        if record is None:
            return None
        if not record.status.state.is_terminal:
            self.follow_record(record)
        elif job is not None:  # another process has recorded its end
            self.receive_status(record.status)
            return job.status
        return status or record.status

    def watch_submitted_job(self, record: JobRecord, job_id: str, task_ids: Mapping[int, str]) -> None:
        """Watch a job that was just submitted, with the ids of its tasks if it is an array."""
        accepted = self._clock.next_timestamp()

        def build_record(job_id: str) -> JobRecord:
            self.unwatch(job_id)  # the batch system may have used the id of an older job again
            self.recorder.discard_status(job_id)
            # It was submitted when START began: it may run, or have ended, before START tells its id.
            status = JobStatus(job_id, JobState.UNKNOWN, submitted=record.status.submitted)
            return record._replace(status=status, accepted_at=accepted)

        whole = build_record(job_id)
        tasks = [task._replace(array="", array_id=job_id) for task in map(build_record, task_ids.values())]
        self.follow_record(whole, tasks)

    def follow_record(self, record: JobRecord, tasks: list[JobRecord] | None = None) -> None:
        """Report a job's events from now on, and query it; of an array, its tasks (default: those of the record)."""
        now = self._clock.now()
        if tasks is None and record.array:
            tasks = self._list_tasks(record)
        if tasks:
            self.tracker.follow_array(record, tasks, now)
            # Later: an earlier process may have recorded the ends of all tasks, and the caller does not listen yet.
            call_soon(self._tell_changes)
        else:
            self.tracker.follow(record, now)
            if not record.array_id and has_loop():
                self._end_files.watch(record.status.job_id, record.directory)
            self._tell_changes()
        self._wake_up()

    def _list_tasks(self, array: JobRecord) -> list[JobRecord]:
        """Return the tasks of a recorded array.

        They are recorded now if the profile could not tell their ids when the array was submitted.
        """
        array_id = array.status.job_id
        tasks = self._store.list_tasks(self._target, array_id)
        if not tasks:
            try:
                task_ids = self._shell.render_task_ids(array_id, array.array)
                self._store.record_job_id(array.number, array_id, task_ids)
                tasks = self._store.list_tasks(self._target, array_id)
            except OSProfileError as error:
                log.warning("the tasks of job %s are not recorded: %s", array_id, error)
        return tasks

    def register_record(self, record: JobRecord) -> None:
        """Report a job's events from now on, without querying it."""
        if record.status.job_id not in self.jobs.by_id:
            self.tracker.follow(record, self._clock.now(), is_polled=False)
            self._tell_changes()

    def lose_reused_job(self, job_id: str) -> None:
        """Notify those who wait for a job, or its tasks, that it is over: its id is that of another job now."""
        for status in self.tracker.lose_reused(job_id):
            self._notify_waiters(status)

    def record_statuses(self, job_ids: Iterable[str]) -> None:
        """Record the states of watched jobs that were not in the record until now."""
        statuses = [self.jobs.get_status(job_id) for job_id in job_ids if job_id in self.jobs.by_id]
        self.recorder.record_soon([status for status in statuses if status.state is not JobState.UNKNOWN])

    def unwatch(self, job_id: str) -> None:
        """Report no more events of a job, or of an array and its tasks.

        A task stays watched with its array, whose end it decides.
        """
        for forgotten_id in self.tracker.forget(job_id):
            self._end_files.unwatch(forgotten_id)

    # Queries

    def _wake_up(self) -> None:
        if self._wakeup is not None:
            self._wakeup.set()

    async def _run(self, wakeup: asyncio.Event) -> None:
        """Query forever, whenever there are jobs to query."""
        schedule = self.tracker.schedule
        while True:
            while True:
                until_end = self.tracker.seconds_until_end_query(self._clock.monotonic())
                if (wait := min(until_end, self._seconds_until_poll())) <= 0:
                    break
                wakeup.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait if wait < float("inf") else None):
                        await wakeup.wait()
            is_poll = False
            try:
                if ended_ids := self.tracker.list_logged_ends(self._clock.monotonic()):
                    await self._query_logged_ends(ended_ids)
                if is_poll := self._seconds_until_poll() <= 0:
                    schedule.begin_poll()
                    await self.poll()
            except OSProfileError as error:
                log.warning("job states are not updated; next try in %.0f s: %s", schedule.min_delay(), error)
            except Exception:  # a fault in one poll must not end the watching of all jobs
                schedule.record_failure()
                log.exception("a poll failed because of a fault of osprofile")
            if is_poll:
                schedule.end_poll(self._clock.monotonic())

    def _seconds_until_poll(self) -> float:
        return self.tracker.seconds_until_poll(
            self._clock.monotonic(),
            is_awaited=0 < len(self._end_waiters) <= _MAX_AWAITED_JOBS,
            log_is_reliable=self._log_is_reliable(),
        )

    def _log_is_reliable(self) -> bool:
        # Some logs name only the array, whichever task has changed.
        is_reliable = self._event_log is not None and self._event_log.is_reliable
        return is_reliable and not self.jobs.live_arrays

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Query all jobs once, report what changed, and return all that the batch system listed.

        The answer to a query that began within the last `max_age` seconds, or after this call, is
        used again, unless an action has changed something since. Raises what
        `JobQueries.query_all_jobs` does; all states then stay as they are.
        """
        if self._log_is_reliable():
            max_age = max(max_age, self._timing.log_poll_interval)
        earliest = self._clock.monotonic() - max_age
        metrics = self._shell.metrics
        async with self._poll_turn:
            asked = self._clock.now()
            if (reused := self.tracker.reuse_answer(earliest, asked)) is not None:
                self._tell_changes()
                return reused
            try:
                with (
                    metrics.count_result("osprofile_polls_total"),
                    metrics.time("osprofile_poll_duration_seconds"),
                ):
                    statuses = await self._queries.query_all_jobs()
            except OSProfileError:
                self.tracker.schedule.record_failure()
                raise
            metrics.set("osprofile_listed_jobs", len(statuses))
            metrics.set("osprofile_last_poll_timestamp_seconds", asked.timestamp)
            self.recorder.flush()
            answered = self._clock.now()
            missing_ids = self.tracker.receive_answer(statuses, asked, answered)
            self._tell_changes()
            if missing_ids:
                await need_loop()
                await self._query_missing_jobs(missing_ids)
                self._tell_changes()
            self.tracker.end_poll(answered.monotonic - asked.monotonic)
            return statuses

    async def _query_missing_jobs(self, job_ids: list[str]) -> None:
        """Find out what became of jobs that are not listed."""
        asked = self._clock.now()
        try:
            answers = await self._queries.query_jobs(job_ids, self.tracker.list_array_ids(job_ids))
        except OSProfileError as error:
            log.warning("jobs that the batch system no longer lists stay as they are: %s", error)
            return
        failures = {j: a for j in job_ids if isinstance(a := answers.get(j), OSProfileError)}
        for job_id in list(failures)[:1]:  # the reason is mostly the same for all
            others = (
                f"and {len(failures) - 1} more stay as they are" if len(failures) > 1 else "stays as it is"
            )
            log.warning("job %s %s: %s", job_id, others, failures[job_id])
        self.tracker.receive_missing_answers(job_ids, answers, asked, self._clock.now())

    async def _query_logged_ends(self, job_ids: list[str]) -> None:
        """Query how jobs ended that have ended according to the log."""
        answers: Mapping[str, JobStatus | OSProfileError]
        try:
            answers = await self._queries.query_jobs(job_ids, self.tracker.list_array_ids(job_ids))
        except OSProfileError as error:
            answers = dict.fromkeys(job_ids, error)
        failures = [a for j in job_ids if isinstance(a := answers.get(j), OSProfileError)]
        if failures:
            log.warning("the query for the ends of %d jobs has failed: %s", len(failures), failures[0])
        self.tracker.receive_end_answers(job_ids, answers, self._clock.now())
        self._tell_changes()

    def poll_immediately(self) -> None:
        """Query all jobs at once, because something has changed."""
        self.tracker.poll_immediately(self._clock.monotonic())
        self._wake_up()

    def _notice_end(self) -> None:
        self.tracker.schedule.notice_end()
        self._wake_up()

    # Removals

    @contextlib.contextmanager
    def track_removal(self, job_id: str) -> Iterator[Callable[[], None]]:
        """Have a job's end told only after ABORT; yield the function that records the removal.

        A killed job is REMOVED if the batch system accepted its removal. This is known only after ABORT,
        but the job's end may be seen earlier. The removal of an array is that of its live tasks.
        """
        self._running_aborts[job_id] += 1
        with _log_store_errors(f"the removal of job {job_id} is not recorded"):
            self._store.mark_aborting(self._target, job_id, is_running=True)

        def record_removal() -> None:
            now = self._clock.now()
            with _log_store_errors(f"the removal of job {job_id} is not recorded"):
                self._store.record_removal(self._target, job_id, now.timestamp)
            self.tracker.note_removal(job_id, now)

        try:
            yield record_removal
        finally:
            self._running_aborts[job_id] -= 1
            if not self._running_aborts[job_id]:
                del self._running_aborts[job_id]
                with _log_store_errors(f"the removal of job {job_id} is not recorded"):
                    self._store.mark_aborting(self._target, job_id, is_running=False)

    # Changes

    def receive_status(self, status: JobStatus, timestamp: float | None = None) -> None:
        """Take a status that somebody else has found; default for `timestamp` (s since 1970): now."""
        now = self._clock.now()
        self.tracker.receive_status(JobEvent(timestamp or now.timestamp, status), now)
        self._tell_changes()

    def receive_answer(self, record: JobRecord, status: JobStatus, timestamp: float) -> None:
        """Take the batch system's answer for one registered job, asked for at `timestamp` (s since 1970)."""
        if record.missing is not None:
            self.tracker.clear_missing([status.job_id])
        self.receive_status(status, timestamp)
        self.tracker.tell_next_answer(status.job_id, self._clock.monotonic())

    def receive_no_answer(self, job_id: str, answer: JobStatus | None) -> JobStatus:
        """Record that a registered job was queried and nobody knows it; return its current status."""
        self.tracker.receive_no_answer(job_id, answer, self._clock.now())
        self._tell_changes()
        return self.jobs.describe_status(job_id, answer)

    def _handle_log_event(self, event: JobEvent) -> None:
        self.tracker.receive_event(event, self._clock.now())
        if event.state.is_terminal or self.jobs.is_array(event.job_id):
            self._wake_up()
        self._tell_changes()

    def find_record(self, job_id: str) -> JobRecord | None:
        """Return a job's record; None if there is none or it cannot be read."""
        record = None
        with _log_store_errors(f"the record of job {job_id} cannot be read"):
            record = self._store.find_job(self._target, job_id)
        return record  # noqa: RET504  # None after an error

    def _tell_changes(self) -> None:
        """Report and record what has changed."""
        changes = self.tracker.take_changes()
        self.recorder.record_soon(changes.statuses)
        for event in changes.events:
            self._shell.metrics.add("osprofile_job_states_total", state=event.state.value)
            for stream in self._streams:
                stream.push_event(event)
            if event.state.is_terminal:
                self._end_files.unwatch(event.job_id)
                self._notify_waiters(event.status)
                if self.on_end is not None and self.jobs.find_array(event.job_id) is None:
                    call_soon(self._finish_job, event.job_id)
        if changes.missing:
            with _log_store_errors(f"which of {len(changes.missing)} jobs are missing is not recorded"):
                self._store.record_missing(self._target, changes.missing)
            missing = [j for j, period in changes.missing.items() if period is not None]
            if missing and self._starts.has_find_template:
                search = asyncio.get_running_loop().create_task(self._restore_links(missing))
                self._searches.add(search)
                search.add_done_callback(self._searches.discard)
        for status in changes.unknown_words:
            text = "job %s is in state %r, which profile %s does not know"
            log.warning(text, status.job_id, status.native_state, self._shell.profile.name)

    def _finish_job(self, job_id: str) -> None:
        if self.on_end is not None:
            self.on_end(job_id)

    def _notify_waiters(self, status: JobStatus) -> None:
        for future in self._end_waiters.pop(status.job_id, ()):
            if not future.done():
                future.set_result(status)

    async def _restore_links(self, job_ids: Iterable[str]) -> None:
        """Run FIND_JOB for missing jobs: it makes the link to a job's directory that START could not make."""
        for job_id in job_ids:
            record = self._store.find_job(self._target, job_id)
            whole = None if record is None else self._store.find_whole_job(record)
            if whole is None or whole.directory[:1] != "/" or whole.directory in self._sought_directories:
                continue
            self._sought_directories.add(whole.directory)
            with contextlib.suppress(OSProfileError):  # the next query tells as much
                await self._starts.find_submitted_job(whole.directory, "")


@final
class StatusRecorder:
    """Keeps the record of one target's jobs up to date. To be used within one event loop."""

    def __init__(self, target: str, store: Store) -> None:
        self._target, self._store = target, store
        self._unwritten: dict[str, JobStatus] = {}
        self._is_flush_due = False

    def record_soon(self, statuses: Sequence[JobStatus]) -> None:
        """Record states in one transaction with all others of this turn of the event loop."""
        if statuses and not self._is_flush_due:
            self._is_flush_due = True
            call_soon(self.flush)
        self._unwritten.update((status.job_id, status) for status in statuses)

    def flush(self) -> None:
        """Record what is waiting. If that fails, the ends of jobs are kept for the next time."""
        unwritten, self._unwritten, self._is_flush_due = self._unwritten, {}, False
        try:
            if unwritten:
                self._store.update_statuses(self._target, unwritten.values())
        except StoreError as error:
            log.error("the states of %d jobs are not recorded: %s", len(unwritten), error)  # noqa: TRY400
            self._unwritten = {j: s for j, s in unwritten.items() if s.state.is_terminal}

    def discard_status(self, job_id: str) -> None:
        """Drop the waiting state of a job whose id now belongs to another job."""
        self._unwritten.pop(job_id, None)


@contextlib.contextmanager
def _log_store_errors(consequence: str) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        log.error("%s: %s", consequence, error)  # noqa: TRY400
