"""Jobs on a target system: all that an executor sees (design: "Jobs on a target system").

    async with TargetSystem(osprofile.load("slurm"), store=Store(path)) as target:
        job_id = await target.submit(JobDescription(executable="/bin/date"))
        status = await target.wait(job_id)

Everything about a batch system comes from the profile. States come from one query for all jobs;
a log source may feed the same monitor.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self, final

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    ScriptFailedError,
    quote_name,
)
from osprofile.incarnation.context import get_user_name
from osprofile.jobs.clock import Clock
from osprofile.jobs.recorder import StatusRecorder
from osprofile.jobs.script_runner import UNKNOWN_JOB_EXIT_STATUS, ScriptRunner
from osprofile.jobs.state import JobEvent, JobState, JobStatus
from osprofile.jobs.store import Store
from osprofile.jobs.submitter import JobSubmitter
from osprofile.jobs.target_names import format_target_name
from osprofile.jobs.timing import Timing
from osprofile.jobs.watcher import JobWatcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import IO

    from osprofile.jobs.description import JobDescription
    from osprofile.jobs.event_stream import EventStream
    from osprofile.jobs.machine import NodeStatus, QueueStatus
    from osprofile.jobs.script_output import FileEntry
    from osprofile.jobs.submitter import RecoveredSubmission
    from osprofile.profile.model import Profile


@final
class TargetSystem:
    """The jobs of one user on the machine that a profile describes.

    `context` is the context of all jobs: USER_NAME (this process's user), SSH:HOST and SSH:PORT
    for another host, what a user's profile gives. `store` is the record (default: in memory).
    Methods raise `OSProfileError`s: what `incarnate` raises for a request, `TargetError`s for what
    the target system does. To be used within one event loop.
    """

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str] | None = None,
        *,
        store: Store | None = None,
        timing: Timing | None = None,
        max_parallel_scripts: int = 8,
        clock: Clock | None = None,
    ) -> None:
        context = dict(context or {})
        user, at, _ = context.get("SSH:HOST", "").rpartition("@")
        if at and user:
            context.setdefault("USER_NAME", user)
        self.user_name = context.get("USER_NAME") or get_user_name()
        """The user whose jobs they are, on the target system."""
        self.profile = profile
        self.name = format_target_name(profile, context)
        self.timing = timing or Timing()
        self.store = store or Store()
        self._owns_store = store is None
        self._clock = clock or Clock()
        self._recorder = StatusRecorder(self.name, self.store)
        self._scripts = ScriptRunner(
            profile,
            context,
            time_limit=self.timing.script_timeout,
            max_parallel_scripts=max_parallel_scripts,
        )
        self._watcher = JobWatcher(
            self.name, self._scripts, self.store, self._recorder, self.timing, clock=self._clock
        )
        self._full_job_ids: dict[str, str] = {}
        """Ids that were given by a caller, and what the batch system calls the jobs."""
        self._poller, self.monitor = self._watcher.poller, self._watcher.monitor
        self._submitter = JobSubmitter(
            self.name, self._scripts, self.store, self._watcher.watch_submitted_job
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching. The jobs go on."""
        await self._watcher.close()
        if self._owns_store:
            self.store.close()

    # Submitting

    async def submit(
        self, description: JobDescription, *, key: str | None = None, strict: bool = True
    ) -> str:
        """Submit a job and give its id; it is watched from then on.

        `key` is the caller's own name for the submission: repeated with the same key, nothing is
        submitted twice, and a submission that was cut off is completed. After a `ScriptCutError`
        (a time limit, a lost connection, a killed shell) the job may have been submitted: the same
        key, or `recover_submissions`, finds out. After any other error this call has not submitted it; what
        was cut off before stays in the record.
        """
        job_id = await self._submitter.submit_job(description, key=key, strict=strict)
        self._watcher.watch_recorded_job(
            job_id
        )  # one that was submitted before is watched from now on
        return job_id

    async def recover_submissions(self, *, resubmit: bool = True) -> list[RecoveredSubmission]:
        """Complete the submissions that were cut off, by the end of a process for instance.

        START is run again, which submits a job only if it was not; without `resubmit`, jobs that
        were submitted are found by their working directory, and the others stay in the record.
        """
        return await self._submitter.recover_submissions(resubmit=resubmit)

    def render_start_script(self, description: JobDescription, *, strict: bool = True) -> str:
        """Give the script that would submit a job."""
        return self._scripts.prepare_submission(description, strict=strict).script

    def new_job_directory(self) -> str:
        """Give a path for the working directory of one more job; nothing is made."""
        return self._scripts.new_job_directory()

    # Asking

    async def status(self, job_id: str) -> JobStatus:
        """Ask for one job's state now. How an ended one ended is told from the record.

        Raises `JobNotFoundError` for a job that neither the batch system nor the record knows.
        """
        job_id = self._get_full_job_id(job_id)
        if (ended := self._find_recorded_end(job_id)) is not None:
            return ended
        asked = self._clock.next_timestamp()
        found = await self._query_job(job_id)
        record = self.store.find_job(self.name, job_id)
        if found is not None and record is not None:
            found = found._replace(job_id=job_id)
        elif found is not None and found.job_id != job_id:
            self._full_job_ids[job_id] = found.job_id
            job_id = found.job_id
            if (ended := self._find_recorded_end(job_id)) is not None:
                return ended
            record = self.store.find_job(self.name, job_id)
        if record is not None and job_id not in self.monitor:
            self._watcher.register_record(record)
        if found is None or (record is not None and found.state is JobState.LOST):
            return self._watcher.handle_missing_job(job_id, found)
        if record is None:
            return found
        if record.missing is not None:
            self._poller.clear_missing([job_id])
        self._watcher.handle_event(JobEvent(asked, found))
        self._poller.report_next_answer(job_id)
        return self._watcher.get_current_status(job_id, found)

    def _find_recorded_end(self, job_id: str) -> JobStatus | None:
        """Return how a job ended by the record."""
        record = self.store.find_job(self.name, job_id)
        return record.status if record and record.status.state.is_terminal else None

    async def _query_job(self, job_id: str) -> JobStatus | None:
        """Return what the batch system tells of a job; None for a recorded one that it lacks."""
        unknown = f"job {quote_name(job_id)} is not known to the batch system"
        try:
            found = await self._scripts.query_job(job_id)
        except ScriptFailedError as error:
            found, unknown = (await self._poller.poll()).get(job_id), error.message
            if found is None and error.exit_status != UNKNOWN_JOB_EXIT_STATUS:
                raise
        if found is None and self.store.find_job(self.name, job_id) is None:
            raise JobNotFoundError(unknown)
        return found

    async def statuses(
        self, job_ids: Iterable[str] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus]:
        """Ask for the states of jobs, by one query; of all live jobs of the record by default.

        What was asked for at most `max_age` s ago is good enough. Jobs that nobody knows are left
        out. Many calls at a time share a query. Raises the error of a job whose own query failed;
        `statuses_or_errors` has those of the others, too.
        """
        found = {}
        for job_id, answer in (await self.statuses_or_errors(job_ids, max_age=max_age)).items():
            if isinstance(answer, OSProfileError):
                raise answer
            found[job_id] = answer
        return found

    async def statuses_or_errors(
        self, job_ids: Iterable[str] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus | OSProfileError]:
        """Do as `statuses` does, but give the error of a job whose own query failed as its answer."""
        if job_ids is None:
            job_ids = (record.status.job_id for record in self.store.list_live_jobs(self.name))
        whole = {job_id: self._get_full_job_id(job_id) for job_id in job_ids}
        recorded = {job_id: self._watcher.watch_recorded_job(job_id) for job_id in whole.values()}
        result: dict[str, JobStatus | OSProfileError | None] = {**recorded}
        if any(status is None or not status.state.is_terminal for status in recorded.values()):
            found = await self._poller.poll(max_age)
            strangers = [job_id for job_id, status in recorded.items() if status is None]
            asked = await self._scripts.query_jobs([j for j in strangers if j not in found])
            for job_id in strangers:
                answer = result[job_id] = found.get(job_id) or asked.get(job_id)
                if isinstance(answer, JobStatus) and answer.job_id != job_id:
                    self._full_job_ids[job_id] = answer.job_id
                    result[job_id] = self._find_recorded_end(answer.job_id) or answer
            for job_id in result:
                if self._poller.awaits_first_answer(job_id):
                    result[job_id] = self.get_cached_status(job_id)
                elif job_id in self.monitor:
                    result[job_id] = self._watcher.get_current_status(job_id, found.get(job_id))
        return {j: answer for j, id_ in whole.items() if (answer := result[id_]) is not None}

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Ask for all watched jobs now, by one query, and tell what changed.

        Gives all jobs that the batch system showed, watched or not; what it showed at most
        `max_age` s ago is good enough.
        """
        return await self._poller.poll(max_age)

    async def list_nodes(self) -> Sequence[NodeStatus]:
        """Ask for the machine's nodes. `TemplateNotFoundError` without LIST_NODES."""
        return await self._scripts.list_nodes()

    async def list_queues(self) -> Sequence[QueueStatus]:
        """Ask for the machine's queues. `TemplateNotFoundError` without LIST_QUEUES."""
        return await self._scripts.list_queues()

    async def wait(self, job_id: str) -> JobStatus:
        """Wait for a job's end and give its last state."""
        status = await self.watch(job_id)
        if status.state.is_terminal:
            return status
        return await self._watcher.wait_for_end(status.job_id)

    # Watching

    def listen(self) -> None:
        """Take the jobs' states from the log from now on, where the profile names one."""
        self._watcher.listen()

    async def watch(self, job_id: str) -> JobStatus:
        """Have a job's events told from now on, and give what is known of it.

        They have the id of the state that is given, which may be longer than `parse_job_id`. An ended
        job has no more events. `JobNotFoundError` for a job that nobody knows.
        """
        self._watcher.start()
        status = self._watcher.watch_recorded_job(self._get_full_job_id(job_id))
        if status is None:
            status = await self.status(job_id)
            self.adopt_job(status)
        return status

    def get_cached_status(self, job_id: str) -> JobStatus | None:
        """Return what is known of a job that is watched, None of any other."""
        job_id = self._get_full_job_id(job_id)
        return self.monitor.get_status(job_id) if job_id in self.monitor else None

    def _get_full_job_id(self, job_id: str) -> str:
        """Return the id by which the batch system tells of a job, as far as it is known."""
        return self._full_job_ids.get(job_id, job_id)

    def adopt_job(self, status: JobStatus) -> None:
        """Record and watch a job that was not started here, of which this is known."""
        self.store.adopt_job(self.name, status)
        self._watcher.watch_recorded_job(status.job_id)

    def unwatch(self, job_id: str) -> None:
        """Have no more of a job's events told."""
        self._watcher.unwatch(self._get_full_job_id(job_id))

    def events(self) -> EventStream:
        """Give a stream of the events of all watched jobs, from now on."""
        return self._watcher.events()

    # Doing

    async def hold(self, job_id: str) -> None:
        """Keep a job that waits from starting, or stop one that runs, as the profile can."""
        await self._control_job("HOLD", job_id)

    async def resume(self, job_id: str) -> None:
        """Let a held job go on."""
        await self._control_job("RESUME", job_id)

    async def abort(self, job_id: str) -> None:
        """Remove a job. One that has ended already is a `ScriptFailedError`."""
        job_id = await self._resolve_job_id(job_id)
        with self._watcher.track_removal(job_id) as taken:
            await self._control_job("ABORT", job_id)
            taken()

    async def _resolve_job_id(self, job_id: str) -> str:
        """Return the id by which a job is recorded and told, asking for one that is not recorded."""
        job_id = self._get_full_job_id(job_id)
        if self.store.find_job(self.name, job_id) is None:
            with contextlib.suppress(OSProfileError):  # the action will tell it
                return (await self.status(job_id)).job_id
        return job_id

    async def _control_job(self, template: str, job_id: str) -> None:
        try:
            await self._scripts.control_job(template, job_id)
        finally:  # a script that failed may have done its work
            self._poller.schedule_poll(immediately=True)

    async def signal(self, job_id: str, number: int) -> None:
        """Send a signal to a job that runs, where the profile has the template SIGNAL.

        Raises `TemplateNotFoundError` where it has not.
        """
        try:
            await self._scripts.control_job("SIGNAL", job_id, SIGNAL=str(number))
        finally:
            self._poller.schedule_poll(immediately=True)

    # Files

    async def upload_file(self, source: IO[bytes], path: str, mode: int = 0o600) -> None:
        """Write what is left of an open file into a file of the target system.

        Missing directories are made, for their owner only. The file appears, in place of an older
        one, when all of it is there.
        """
        await self._scripts.upload_file(source, path, mode)

    async def download_file(
        self, path: str, descriptor: int, offset: int = 0, count: int | None = None
    ) -> None:
        """Write a file of the target system to a file descriptor of this process.

        With `count`, so many bytes at the most, from the offset `offset` on.
        """
        await self._scripts.download_file(path, descriptor, offset, count)

    async def find_job_directory(self, job_id: str) -> str:
        """Give a job's working directory; `JobNotFoundError` if nothing tells it."""
        record = self.store.find_job(self.name, self._get_full_job_id(job_id))
        if record is not None and record.directory.startswith("/"):
            return record.directory
        found = await self._scripts.find_job_directory(job_id)
        if not found:
            message = f"job {quote_name(job_id)} has left no working directory"
            raise JobNotFoundError(message, hint="it was not started by osprofile, or is deleted")
        return found

    async def delete_path(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it, from the target system."""
        await self._scripts.delete_path(path)

    async def list_directory(self, path: str) -> list[FileEntry]:
        """Give what is in a directory of the target system."""
        return await self._scripts.list_directory(path)

    async def stat_file(self, path: str) -> FileEntry:
        """Give the properties of a file of the target system."""
        return await self._scripts.stat_file(path)

    @property
    def query_count(self) -> int:
        """How many times the batch system was asked for all jobs."""
        return self._scripts.query_count
