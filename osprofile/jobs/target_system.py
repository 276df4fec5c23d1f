"""Jobs on a target system: the interface that executors use. See docs/python.md, Jobs.

    async with TargetSystem(osprofile.load("slurm"), store=Store(path)) as target:
        job_id = await target.submit(JobDescription(executable="/bin/date"))
        status = await target.wait(job_id)

Everything about a batch system comes from the profile. States come from one query for all jobs, and
from the scheduler's log if the profile names one.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self, final

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    ScriptFailedError,
    SubmissionsFailedError,
    TargetError,
    UnknownFieldError,
)
from osprofile.incarnation.context import add_target_fields, add_user_groups, get_user_name
from osprofile.incarnation.field_rules import fit_program_name
from osprofile.jobs.arrays import sum_usage, summarize_tasks
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.files.directory import JobFile, NewFile
from osprofile.jobs.files.transfer import TargetFiles
from osprofile.jobs.profiles import keep_profile, tells_energy
from osprofile.jobs.record.names import CLUSTER_FIELD, format_target_name, generate_key
from osprofile.jobs.record.store import JobFiles, Store
from osprofile.jobs.shell.loop import has_loop, need_loop, shield
from osprofile.jobs.shell.output import (
    NODES_TEMPLATE,
    QUEUES_TEMPLATE,
    START_TEMPLATE,
    MachineOutputReader,
    get_poll_intervals,
)
from osprofile.jobs.shell.target import TargetShell
from osprofile.jobs.state import FAILED_STATES, JobState, JobStatus
from osprofile.jobs.submit.preparer import DependencyResolver, SubmissionPreparer
from osprofile.jobs.submit.starts import StartScripts
from osprofile.jobs.submit.submitter import MAX_PART_SIZE, BulkSubmitter, JobSubmitter
from osprofile.jobs.submit.throttle import SubmissionThrottle
from osprofile.jobs.timing import Clock, Timing
from osprofile.text import pluralize, quote_name, quote_value

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from types import TracebackType

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.files.trees import FetchedFile
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.shell.output import NodeStatus, QueueStatus
    from osprofile.jobs.submit.attempts import ScaledJob
    from osprofile.jobs.submit.submitter import RecoveredSubmission
    from osprofile.jobs.watch.events import EventStream
    from osprofile.jobs.watch.queries import JobQueries
    from osprofile.jobs.watch.tracker import LiveJobs
    from osprofile.jobs.watch.watcher import JobWatcher
    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.jobs")


@final
class TargetSystem:
    """Interface to one user's jobs on the system that a profile describes.

    `context` is the context of all jobs: USER_NAME (default: this process's user), SSH:HOST and
    SSH:PORT for another host, SUDO:USER for another user of this one,
    CLUSTER for one of several clusters, and the fields of a user's profile.
    `store` is the record (default: in
    memory). Methods raise `OSProfileError`s: those of `incarnate` for a request, `TargetError`s for
    failures of the target system. To be used within one event loop.
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
        if context and context.get(CLUSTER_FIELD):
            _check_cluster(profile, context[CLUSTER_FIELD])
        context = add_target_fields(profile, context or {})
        remote_user = context.get("SSH:HOST", "").rpartition("@")[0] or context.get("SUDO:USER", "")
        self.user_name = context.get("USER_NAME") or remote_user or get_user_name()
        """The name of the jobs' user on the target system."""
        context["USER_NAME"] = self.user_name
        add_user_groups(profile, context)
        self.profile = profile
        """The profile of the machine."""
        self.name = format_target_name(profile, context)
        """The target system's name in the record."""
        if max_parallel_scripts < 1:
            message = f"max_parallel_scripts: {max_parallel_scripts} is less than 1"
            raise ValueError(message)
        timing = timing or Timing()
        min_interval, max_interval = get_poll_intervals(profile)
        self.timing = replace(
            timing,
            min_poll_interval=timing.min_poll_interval or min_interval,
            max_poll_interval=timing.max_poll_interval or max_interval,
        )
        """The times."""
        self.store = store or Store()
        """The record."""
        self._owns_store = store is None
        self._is_profile_kept = False
        self._retries: dict[str, asyncio.Task[str | None]] = {}
        """What submits the next attempts of ended jobs, or has, by the ids of these."""
        self._clock = clock or Clock()
        self._shell = TargetShell(
            profile, context, time_limit=self.timing.script_timeout, max_parallel_scripts=max_parallel_scripts
        )
        self.files = TargetFiles(self._shell)
        """The files of the target system: copied, listed, read in parts and deleted."""
        self._starts = StartScripts(self._shell)
        throttle = SubmissionThrottle(self.name, profile, self.store, self._refresh_jobs, self.timing)
        resolver = DependencyResolver(self.name, self.store, self._query_jobs, self._refresh_jobs)
        self._throttle, self._max_parallel_scripts = throttle, max_parallel_scripts
        self._preparer = SubmissionPreparer(self.name, self._starts, self.store, resolver, throttle)
        self._submitter = JobSubmitter(
            self.name,
            self._starts,
            self.store,
            self._watch_submitted_job,
            self._preparer,
            throttle=throttle,
            files=self.files,
            on_reused=self._lose_reused_job,
            on_recorded=self._record_statuses,
            busy_timeout=min(self.timing.script_timeout, self.timing.busy_timeout),
        )
        if has_loop():
            _ = self._watcher

    # What the submission of one job does without is made at its first use, if there is no event loop.

    @cached_property
    def _queries(self) -> JobQueries:
        from osprofile.jobs.watch.queries import JobQueries

        return JobQueries(self._shell)

    @cached_property
    def _watcher(self) -> JobWatcher:
        from osprofile.jobs.watch.watcher import JobWatcher

        return JobWatcher(self.name, self._starts, self._queries, self.store, self.timing, clock=self._clock)

    @cached_property
    def _bulk_submitter(self) -> BulkSubmitter:
        return BulkSubmitter(
            self._submitter,
            self._record_states,  # of the jobs that others depend on
            self._watcher.follow,  # for a job of a key, submitted earlier
            max_parallel_scripts=self._max_parallel_scripts,
            # Without FIND_JOB, what has become of the jobs of a script that was cut stays unknown.
            max_part_size=min(MAX_PART_SIZE, self._throttle.max_at_once)
            if self._starts.has_find_template
            else 1,
        )

    @cached_property
    def _machine_reader(self) -> MachineOutputReader:
        return MachineOutputReader(self.profile)

    @property
    def jobs(self) -> LiveJobs:
        """What is known of the watched jobs, for executors."""
        return self._watcher.jobs

    @property
    def _is_watching(self) -> bool:
        return "_watcher" in self.__dict__

    def _watch_submitted_job(self, record: JobRecord, job_id: str, task_ids: Mapping[int, str]) -> None:
        if has_loop():
            self._watcher.watch_submitted_job(record, job_id, task_ids)

    def _lose_reused_job(self, job_id: str) -> None:
        self._retries.pop(job_id, None)
        if self._is_watching:
            self._watcher.lose_reused_job(job_id)

    def _record_statuses(self, job_ids: Iterable[str]) -> None:
        if self._is_watching:
            self._watcher.record_statuses(job_ids)

    def _record_states(self) -> None:
        if self._is_watching:
            self._watcher.recorder.flush()

    async def _query_jobs(self, job_ids: Iterable[str]) -> Mapping[str, JobStatus | OSProfileError]:
        return await self._queries.query_jobs(job_ids)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching. The jobs go on."""
        if self._retries:  # whoever follows the jobs next completes them
            import asyncio

            for retry in self._retries.values():
                retry.cancel()
            await asyncio.gather(*self._retries.values(), return_exceptions=True)
        if self._is_watching:
            await self._watcher.close()
        await self._shell.close()
        if self._owns_store:
            self.store.close()

    # Submitting

    async def submit(
        self,
        description: JobDescription,
        *,
        key: str | None = None,
        strict: bool = True,
        take_over: bool = False,
    ) -> str:
        """Submit a job, watch it from then on, and return its id.

        `key` is the caller's name for the submission: with the same key, no job is submitted twice, and
        an interrupted submission is completed. A warning is logged if the request of that job was another. While
        another process submits that job, this waits for some seconds; then it raises
        `SubmissionBusyError`. If START fails, FIND_JOB finds out whether the job was
        submitted. An `OutcomeUnknownError` means that this is not known: another call with the same key, or
        `recover_submissions`, finds out. After any other error, this call has not submitted the job. A
        `SubmissionElsewhereError` is an `OutcomeUnknownError`: another host began the submission, in a directory that
        this one does not have. If that host has not submitted the job, `take_over` submits it here.

        The id of an array stands for all its tasks in every method; each task has an id of its own, too
        (see `task_statuses`). Raises `JobNotFoundError` if nobody knows a job that this one depends on.
        """
        _require_description(description)
        if description.retry and key is None:
            key = generate_key()  # those of its next attempts are made of it
        self._record_states()  # of the jobs that this one depends on
        self._keep_profile()
        job_id = await self._submitter.submit_job(description, key=key, strict=strict, take_over=take_over)
        if has_loop():
            self._watcher.follow(job_id)  # for a job of that key, submitted earlier
        return job_id

    async def submit_with_files(
        self,
        description: JobDescription,
        read_files: Callable[[], Sequence[NewFile]],
        *,
        key: str | None = None,
    ) -> str:
        """Submit a job after files were written to its working directory, which the description names; return its id.

        `read_files` returns the files, once the profile accepts the job; of an interrupted submission they are there.
        If the job is not submitted, or another call with the key has submitted it, the directory is deleted. Raises
        what `submit` and `upload_file` do.
        """
        if key is not None and self.find_by_key(key) is not None:
            return await self.submit(description, key=key)
        await self.render_start_script(description)
        files, directory = read_files(), description.working_directory or ""
        try:
            await self.files.write_new_files(directory, files)
            job_id = await self.submit(description, key=key)
        except OSProfileError:
            if files and self.store.find_by_directory(self.name, directory) is None:
                with contextlib.suppress(OSProfileError):  # the first error counts
                    await shield(self.files.delete_path(directory))
            raise
        record = self.find_record(job_id)
        if files and record is not None and record.directory != directory:
            with contextlib.suppress(OSProfileError):  # the job is submitted
                await shield(self.files.delete_path(directory))
        return job_id

    async def preview(self, description: JobDescription) -> Incarnation:
        """Return START for a job as `submit` would run it; nothing is submitted, and the batch system is not asked.

        The target is asked once for what the profile needs to know of the user: the home, the groups. Raises what
        running a script there and `incarnate` do, and `JobNotFoundError` for a key whose job has no id yet.
        """
        return await self._preparer.preview(description)

    async def find_choices(self, description: JobDescription) -> Mapping[str, str]:
        """Return what is taken for each value `auto` of a job, by field, as the queue in `{"QUEUE": "short"}`.

        Raises what `preview` does.
        """
        return await self._preparer.find_choices(description)

    async def test(self, description: JobDescription) -> str:
        """Return what the batch system says about a job, by TEST_COMMAND of the profile; nothing is submitted.

        Raises `ScriptFailedError` if it would refuse the job, `TemplateNotFoundError` if the profile has no TEST_COMMAND, and
        what `preview` does.
        """
        return await self._preparer.test_job(description)

    async def check_many(
        self,
        descriptions: Iterable[JobDescription],
        *,
        keys: Sequence[str | None] | None = None,
        on_checked: Callable[[int], object] | None = None,
    ) -> None:
        """Check jobs as `submit_many` does before the first submission, and submit nothing.

        Each job's START is rendered, and the jobs that it depends on must be known, or be earlier ones of these,
        named by their keys. A job whose key is in the record is not checked. `on_checked(position)` is called for each
        that is. Raises `SubmissionsFailedError` with
        all errors; `ValueError` if there are more or fewer keys than jobs.
        """
        jobs = _pair_with_keys(descriptions, keys)
        if errors := await self._preparer.check_jobs(jobs, on_checked or (lambda _position: None)):
            raise SubmissionsFailedError([None] * len(jobs), errors)

    async def submit_many(
        self,
        descriptions: Iterable[JobDescription],
        *,
        keys: Sequence[str | None] | None = None,
        on_result: Callable[[int, str | OSProfileError], object] | None = None,
        is_checked: bool = False,
    ) -> list[str]:
        """Submit jobs side by side, and return their ids in the same order; `keys` has one for each.

        All jobs are checked first, unless `is_checked`: see `check_many`. If one is refused, none is submitted. At most
        `max_parallel_scripts` scripts run at the same time, each for up to MAX_PART_SIZE jobs, which are recorded in
        one transaction before it begins. A job may depend on earlier ones by their keys.
        `on_result(position, result)` is called for each job when it is submitted, with its id, or its error; positions
        count from 0. Raises `SubmissionsFailedError`: if jobs are refused, before any is submitted; if submissions fail, when all
        others are submitted. Raises `ValueError` if there are more or fewer keys than jobs.
        """
        jobs = _pair_with_keys(descriptions, keys)
        if not is_checked:
            await self.check_many((job for job, _ in jobs), keys=[key for _, key in jobs])
        self._keep_profile()
        return await self._bulk_submitter.submit_many(jobs, on_result or (lambda _position, _result: None))

    def _keep_profile(self) -> None:
        if not self._is_profile_kept:
            self._is_profile_kept = True
            keep_profile(self.profile, self.store.path)

    async def recover_submissions(self, *, resubmit: bool = True) -> list[RecoveredSubmission]:
        """Complete the submissions that were interrupted, for instance by the end of a process.

        START is run again, which submits a job only if it was not submitted. Without `resubmit`, only
        FIND_JOB is run: jobs that were submitted get their ids, and the others stay in the record.
        """
        return await self._submitter.recover_submissions(resubmit=resubmit)

    async def render_start_script(self, description: JobDescription, *, strict: bool = True) -> str:
        """Return the script that would submit a job."""
        await self._shell.find_user()
        return self._starts.prepare_submission(description, strict=strict).script

    async def new_job_directory(self) -> str:
        """Return a path for the working directory of a new job. The directory is not created."""
        await self._shell.find_user()
        return self._starts.new_job_directory()

    # Queries

    def fit_job_name(self, program: str) -> str | None:
        """Return the name for a job that runs a program by a shell: as much of its path's last part as JOB_NAME allows."""
        name = FIELD_BY_ATTRIBUTE["name"]
        field = self.profile.find_field(self.profile.get_template(START_TEMPLATE), name)
        return fit_program_name(field, program) or None if field is not None and field.settable else None

    def find_record(self, job_id: str) -> JobRecord | None:
        """Return what is recorded of a job; None if it has no record."""
        return self.store.find_job(
            self.name, self.jobs.full_ids.get(job_id, job_id) if self._is_watching else job_id
        )

    def find_by_key(self, key: str) -> JobRecord | None:
        """Return the record of the submission with a key; None if there is none."""
        return self.store.find_by_key(self.name, key)

    def get_known_status(self, job_id: str) -> JobStatus | None:
        """Return the last known status of a job, also by the record, without a query; None if nothing is known."""
        if (status := self.get_cached_status(job_id)) is not None:
            return status
        record = self.find_record(job_id)
        return record.status if record is not None else None

    async def status(self, job_id: str) -> JobStatus:
        """Return the status of a job, which is queried now unless its end is recorded.

        That of an array is made of its tasks' statuses; `reason` has their numbers. Raises
        `JobNotFoundError` for a job that neither the batch system nor the record knows.
        """
        job_id = self.jobs.full_ids.get(job_id, job_id)
        if (recorded_end := self._find_recorded_end(job_id)) is not None:
            return recorded_end
        if (array_status := await self._query_array(job_id)) is not None:
            return array_status
        timestamp = self._clock.next_timestamp()
        reported_status = await self._query_job(job_id)
        record = self.find_record(job_id)
        if reported_status is not None and record is not None:
            reported_status = reported_status._replace(job_id=job_id)
        elif reported_status is not None and reported_status.job_id != job_id:
            self.jobs.full_ids[job_id] = reported_status.job_id
            job_id = reported_status.job_id
            if (recorded_end := self._find_recorded_end(job_id)) is not None:
                return recorded_end
            record = self.find_record(job_id)
        if record is not None:
            self._watcher.register_record(record)
        if reported_status is None:
            await need_loop()
        if reported_status is None or (record is not None and reported_status.state is JobState.LOST):
            return self._watcher.receive_no_answer(job_id, reported_status)
        if record is None:
            return reported_status
        self._watcher.receive_answer(record, reported_status, timestamp)
        return self.jobs.describe_status(job_id, reported_status)

    async def query_usage(self, job_id: str) -> JobStatus:
        """Return a job's status with the resources it has used so far: the batch system is asked by USAGE.

        A profile without USAGE has only what the status itself tells. What an ended job took is recorded.
        Of an array, `cpu_time` and `energy` are those of all tasks together, `max_memory` that of one task. Raises what
        `status` raises.
        """
        (status,) = await self.add_usages([await self.status(job_id)])
        return status

    async def add_usages(self, statuses: Sequence[JobStatus]) -> list[JobStatus]:
        """Return statuses of jobs with the resources that these have used so far, as `query_usage` does, by one query."""
        job_ids = []
        for status in statuses:
            took = [status.elapsed, status.cpu_time, status.max_memory]
            took += [status.energy] * tells_energy(self.profile)
            if not status.state.is_terminal or None in took:
                job_ids.append(status.job_id)
        usages = await self._queries.query_usages(job_ids) if job_ids else {}
        return [self._add_usage(status, usages.get(status.job_id, {})) for status in statuses]

    def _add_usage(self, status: JobStatus, usages: Mapping[str, JobStatus]) -> JobStatus:
        if not usages:
            return status
        tasks = {task.status.job_id: task.status for task in self.store.list_tasks(self.name, status.job_id)}
        for known in (status, *tasks.values()):
            if known.state.is_terminal and (usage := usages.get(known.job_id)) is not None:
                self.store.record_usage(self.name, usage)
        if (usage := usages.get(status.job_id)) is not None:
            return _merge_usage(status, usage)
        known_tasks = tasks or dict(usages)
        merged = [_merge_usage(task, usages.get(task_id, task)) for task_id, task in known_tasks.items()]
        return status._replace(**sum_usage(merged))

    def _find_recorded_end(self, job_id: str) -> JobStatus | None:
        """Return the status of a job that has ended by the record, else None."""
        record = self.find_record(job_id)
        return record.status if record and record.status.state.is_terminal else None

    async def _query_array(self, array_id: str) -> JobStatus | None:
        """Return the status of a recorded array, whose tasks are queried now; None for any other job."""
        if not self.jobs.is_array(array_id):
            record = self.find_record(array_id)
            if record is None or not record.array or record.status.state.is_terminal:
                return None
            self._watcher.follow_record(record)
            if not self.jobs.is_array(array_id):
                return None
        await self._watcher.poll()
        if not self.jobs.is_array(array_id):  # it has ended, and is not kept
            return self._find_recorded_end(array_id)
        return self.jobs.describe_status(array_id, None)

    async def task_statuses(self, job_id: str) -> dict[int, JobStatus]:
        """Return the statuses of an array's tasks by index, queried now unless the array's end is recorded.

        Those of an array that is not recorded are queried in any case. Raises `JobNotFoundError` for a job that is no array.
        """
        job_id = self.jobs.full_ids.get(job_id, job_id)
        is_recorded = self.find_record(job_id) is not None
        if not is_recorded and (found := await self.query_unrecorded_tasks([job_id])):
            return found[job_id]
        await self.status(job_id)
        tasks = self.store.list_tasks(self.name, job_id)
        if not tasks and is_recorded:
            message = f"job {quote_name(job_id)} is not an array"
            raise JobNotFoundError(message, hint="submit it with a value for ARRAY")
        if not tasks:
            message = f"the batch system lists no tasks of job {quote_name(job_id)}"
            raise JobNotFoundError(message, hint="if it is an array, ask for a task by its own id")
        return {
            task.array_index: self.get_cached_status(task.status.job_id) or task.status
            for task in tasks
            if task.array_index is not None
        }

    async def query_unrecorded_tasks(self, job_ids: Sequence[str]) -> dict[str, dict[int, JobStatus]]:
        """Return the statuses of the tasks of arrays that were not submitted here, by index, by one query for all.

        What is no array, and what the batch system does not tell, is left out.
        """
        return await self._queries.query_tasks(job_ids)

    async def _refresh_jobs(self, job_ids: Iterable[str] | None = None) -> None:
        """Query recorded jobs, or all live ones, so that the record has those that have ended; ignore a query that fails."""
        await need_loop()
        with contextlib.suppress(OSProfileError):
            await self.statuses(job_ids)
        self._record_states()

    async def _query_job(self, job_id: str) -> JobStatus | None:
        """Return the batch system's status of a job; None for a recorded job that it does not know."""
        from osprofile.jobs.watch.queries import UNKNOWN_JOB_EXIT_STATUS

        message = f"job {quote_name(job_id)} is not known to the batch system"
        try:
            status = await self._queries.query_job(job_id)
        except ScriptFailedError as error:
            status, message = (await self._watcher.poll()).get(job_id), error.message
            if status is None and error.exit_status != UNKNOWN_JOB_EXIT_STATUS:
                raise
        record = self.find_record(job_id)
        if status is None and record is None:
            raise JobNotFoundError(message)
        if status is not None and status.job_id != job_id and record is not None and record.array_id:
            return None  # the answer is about another task
        return status

    async def statuses(
        self, job_ids: Iterable[str] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus]:
        """Return the statuses of jobs by one query; by default, of all live jobs of the record.

        An answer that is at most `max_age` seconds old is used again, and concurrent calls share a
        query. Jobs that nobody knows are left out. Raises the error if the query for a single job
        failed; `statuses_or_errors` returns the other jobs nevertheless.
        """
        statuses = {}
        for job_id, answer in (await self.statuses_or_errors(job_ids, max_age=max_age)).items():
            if isinstance(answer, OSProfileError):
                raise answer
            statuses[job_id] = answer
        return statuses

    async def statuses_or_errors(
        self, job_ids: Iterable[str] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus | OSProfileError]:
        """Return the same as `statuses`, with the error in place of a status if a job's query failed."""
        if job_ids is None:
            job_ids = (record.status.job_id for record in self.store.list_live_jobs(self.name))
        full_ids = {job_id: self.jobs.full_ids.get(job_id, job_id) for job_id in job_ids}
        recorded = {job_id: self._watcher.follow(job_id) for job_id in full_ids.values()}
        result: dict[str, JobStatus | OSProfileError | None] = {**recorded}
        if any(status is None or not status.state.is_terminal for status in recorded.values()):
            listed = await self._watcher.poll(max_age)
            unrecorded = [job_id for job_id, status in recorded.items() if status is None]
            answers = await self._queries.query_jobs([j for j in unrecorded if j not in listed])
            for job_id in unrecorded:
                answer = result[job_id] = listed.get(job_id) or answers.get(job_id)
                if isinstance(answer, JobStatus) and answer.job_id != job_id:
                    self.jobs.full_ids[job_id] = answer.job_id
                    result[job_id] = self._find_recorded_end(answer.job_id) or answer
            for job_id in result:
                if job_id in self.jobs.untold:
                    result[job_id] = self.get_cached_status(job_id)
                elif job_id in self.jobs.by_id:
                    result[job_id] = self.jobs.describe_status(job_id, listed.get(job_id))
                elif (end := self._find_recorded_end(job_id)) is not None:
                    # Another caller was told it meanwhile, and watches the job no longer.
                    result[job_id] = end
        return {j: answer for j, id_ in full_ids.items() if (answer := result[id_]) is not None}

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Query all watched jobs now, by one query, and report what changed.

        Returns all jobs that the batch system listed, watched or not. An answer that is at most
        `max_age` seconds old is used again.
        """
        return await self._watcher.poll(max_age)

    async def list_nodes(self) -> Sequence[NodeStatus]:
        """Return the machine's nodes. Raises `TemplateNotFoundError` without LIST_NODES."""
        text = await self._shell.run_script(NODES_TEMPLATE, self._shell.render_script(NODES_TEMPLATE))
        return self._machine_reader.read_nodes(text)

    async def list_queues(self) -> Sequence[QueueStatus]:
        """Return the machine's queues. Raises `TemplateNotFoundError` without LIST_QUEUES."""
        text = await self._shell.run_script(QUEUES_TEMPLATE, self._shell.render_script(QUEUES_TEMPLATE))
        return self._machine_reader.read_queues(text)

    async def wait(self, job_id: str) -> JobStatus:
        """Wait until a job ends, and return its last status; of a job with rules for retries, that of its last attempt.

        Each attempt but the first is submitted here, unless it has been; one that cannot be is logged. Of an array, the
        attempts are arrays of the tasks that failed: the status has the id of the last one, and is made of the last
        statuses of all tasks.
        """
        status = await self._wait_for_end(job_id)
        followed = [status.job_id]
        while (attempt := await self._find_next_attempt(status)) is not None:
            status = await self._wait_for_end(attempt)
            followed.append(status.job_id)
        return status if len(followed) == 1 else self._merge_attempts(status, followed)

    async def _wait_for_end(self, job_id: str) -> JobStatus:
        status = await self.watch(job_id)
        return status if status.state.is_terminal else await self._watcher.wait_for_end(status.job_id)

    async def _find_next_attempt(self, status: JobStatus) -> str | None:
        """Submit the next attempt of an ended job if it is due, and return its id; of a task, that in a later array."""
        import asyncio  # late: there is an event loop

        record = self.find_record(status.job_id)
        if record is None or (status.state not in FAILED_STATES and not record.array):
            return None
        if record.array_id is None:
            return await asyncio.shield(self._begin_retry(status.job_id))
        self._record_states()
        record = self.find_record(status.job_id) or record
        from osprofile.jobs.submit.attempts import has_rule  # late: few tasks fail

        array_id: str | None = record.array_id if has_rule(self.store, record) else None
        while array_id is not None:
            await self._wait_for_end(array_id)
            array_id = await asyncio.shield(self._begin_retry(array_id))
            for task in self.store.list_tasks(self.name, array_id or ""):
                if task.array_index == record.array_index:
                    return task.status.job_id
        return None

    def _merge_attempts(self, status: JobStatus, job_ids: Iterable[str]) -> JobStatus:
        """Return the status of the last attempt of a job; of an array, that of all its tasks, as each ended last."""
        self._record_states()
        runs = [run for run in map(self.find_record, job_ids) if run is not None and run.array]
        if not runs:
            return status
        from osprofile.jobs.submit.attempts import merge_statuses  # late: few arrays run again

        return summarize_tasks(status.job_id, merge_statuses(self.store, runs).values())

    def _begin_retry(self, job_id: str) -> asyncio.Task[str | None]:
        """Submit the next attempt of an ended job, if it is due: once for all who follow the job here."""
        import asyncio

        async def submit() -> str | None:
            attempt = None
            try:
                attempt = await self._submit_next_attempt(job_id)
            except OSProfileError as error:
                log.warning("job %s is not submitted again: %s", job_id, error)
            if attempt is None:
                self._retries.pop(job_id, None)
            elif (
                (last := self.find_record(self.list_attempts(attempt)[-1]))
                and last.array
                and last.may_be_retried(last.status)
            ):
                # It ended earlier, and left out the tasks of this array.
                self._begin_retry(last.status.job_id)
            return attempt

        if job_id not in self._retries:
            self._retries[job_id] = asyncio.create_task(submit())
        return self._retries[job_id]

    def list_attempts(self, job_id: str) -> list[str]:
        """Return the ids of a job that is followed here and of its later attempts; of any other job, its own alone."""
        job_ids = [job_id]
        while (retry := self._retries.get(job_ids[-1])) is not None and retry.done():
            if retry.cancelled() or (attempt := retry.result()) is None:
                break
            job_ids.append(attempt)
        return job_ids

    async def retry(self, job_id: str) -> str | None:
        """Submit a job again if it has ended, and a rule of it (`JobDescription.retry`) asks for it; return the new id.

        None if no rule does. Of an array, the tasks whose ends have rules are submitted again, as one array; where the batch
        system takes only ranges of indices, as several, of which the first one's id is returned. An end has one next
        attempt, however often and by whomever this is called. Raises what `submit` raises.
        """
        attempt = None
        if (begun := self._retries.get(job_id)) is not None:
            import asyncio  # late: there is an event loop

            attempt = await asyncio.shield(begun)
        return attempt or await self._submit_next_attempt(job_id)

    async def _submit_next_attempt(self, job_id: str) -> str | None:
        from osprofile.jobs.submit import attempts  # late: few jobs fail

        self._record_states()
        record = self.find_record(job_id)
        due = attempts.find_due_retries(self.store, record) if record is not None else []
        if record is None or record.key is None or not due:
            return None
        key = attempts.next_key(record.key)
        later = self.find_by_key(key)
        if later is not None and later.number < record.number:
            message = f"its next attempt would have the key {quote_name(key)}, which an older job has"
            raise TargetError(message, hint="incarnate job submit with another key submits it")
        if later is not None and later.is_submitted:
            return later.status.job_id
        await self._shell.find_user()
        found = [a for each in due for a in attempts.build_attempts(self._starts, self.store, each)]
        if not found:
            return None  # the site allows less than it did
        keys = [key]
        while len(keys) < len(found):
            keys.append(attempts.next_key(keys[-1]))
        jobs = [attempt.job.description for attempt in found]
        context = {**self._shell.context, **self.store.read_details(due[0].run.number).context}
        if context == self._shell.context:
            new_ids = await self._submit_attempts(jobs, keys)
        else:  # it was submitted with other special fields
            async with TargetSystem(self.profile, context, store=self.store, timing=self.timing) as other:
                new_ids = await other._submit_attempts(jobs, keys)
        for attempt, new_id in zip(found, new_ids, strict=True):
            amounts = f": {attempt.job}" * bool(attempt.job.amounts)
            text = "job %s: %s as job %s%s"
            log.warning(text, attempt.run.status.job_id, attempt.describe(), new_id, amounts)
        return new_ids[0]

    async def _submit_attempts(self, jobs: Sequence[JobDescription], keys: Sequence[str]) -> list[str]:
        if len(jobs) == 1:
            return [await self.submit(jobs[0], key=keys[0])]
        return await self.submit_many(jobs, keys=keys)

    async def scale(self, description: JobDescription, factors: Mapping[str, str]) -> ScaledJob:
        """Return a job with amounts multiplied, as in `{"memory": "1.5"}`, as far as the site's limits allow.

        Nothing is submitted. Raises `ValueRefusedError` for an amount that the job does not have, and what `preview` does.
        """
        from osprofile.jobs.submit.attempts import scale  # late: few jobs are submitted again

        await self._shell.find_user()
        return scale(self._starts, description, factors)

    async def split_array(self, description: JobDescription, indices: Collection[int]) -> list[str]:
        """Return the values of ARRAY for some tasks of an array: several, if the batch system takes only ranges of indices.

        Nothing is submitted. Raises what `preview` does.
        """
        from osprofile.jobs.submit.attempts import split_array  # late: few arrays run again

        await self._shell.find_user()
        return split_array(self._starts, description, indices)

    async def list_last_attempts(self, description: JobDescription) -> list[JobDescription]:
        """Return a job, and the last attempt by each of its rules for retries: the most that it may ask for.

        Nothing is submitted. Raises what `scale` does.
        """
        if not description.retry:
            return [description]
        from osprofile.jobs.submit.attempts import list_last_attempts  # late: few jobs have rules

        await self._shell.find_user()
        return list_last_attempts(self._starts, description)

    # Watching

    def listen(self) -> None:
        """Read the scheduler's log from now on, if the profile names one."""
        self._watcher.listen()

    async def watch(self, job_id: str) -> JobStatus:
        """Report a job's events from now on, and return its current status.

        The events have the job id of the returned status, which may be longer than `job_id`. An ended
        job has no more events. Raises `JobNotFoundError` for a job that nobody knows.
        """
        self._watcher.start()
        status = self._watcher.follow(self.jobs.full_ids.get(job_id, job_id))
        if status is None:
            status = await self.status(job_id)
            self.adopt_job(status)
        return status

    def get_cached_status(self, job_id: str) -> JobStatus | None:
        """Return the last known status of a watched job, or the recorded end of a job; None for any other."""
        job_id = self.jobs.full_ids.get(job_id, job_id)
        job = self.jobs.by_id.get(job_id)
        if job is None:
            return self._find_recorded_end(job_id)
        return job.status if job.array is None else self.jobs.describe_status(job_id, None)

    def find_array(self, job_id: str) -> str | None:
        """Return the id of the array of the record that a job is a task of; None for any other job."""
        if (array_id := self.jobs.find_array(job_id)) is not None:
            return array_id
        record = self.find_record(job_id)
        return record.array_id if record is not None else None

    def adopt_job(self, status: JobStatus) -> None:
        """Record and watch a job that was not started here, with its current status."""
        self.store.adopt_job(self.name, status)
        self._watcher.follow(status.job_id)

    def unwatch(self, job_id: str) -> None:
        """Report no more events of a job."""
        self._watcher.unwatch(self.jobs.full_ids.get(job_id, job_id))

    def unwatch_ended(self, job_id: str) -> None:
        """Keep a job whose end is recorded no longer in memory: from now on, its status is that of the record."""
        self._record_states()
        record = self._watcher.find_record(self.jobs.full_ids.get(job_id, job_id))
        if record is not None and record.status.state.is_terminal:
            self.unwatch(job_id)
            if record.may_be_retried(record.status):
                self._begin_retry(record.status.job_id)

    def unwatch_ended_jobs(self) -> None:
        """From now on, keep no job in memory whose end is recorded, as for a program that runs for weeks.

        A job that ends is submitted again then if its rules say so, whether anybody waits for it or not.
        """
        self._watcher.on_end = self.unwatch_ended

    def events(self) -> EventStream:
        """Return a stream of the events of all watched jobs, from now on."""
        return self._watcher.events()

    # Actions

    async def hold(self, job_id: str) -> None:
        """Hold a queued job or suspend a running one, if the profile supports it."""
        await self._control_job("HOLD", job_id)

    async def resume(self, job_id: str) -> None:
        """Let a held job continue."""
        await self._control_job("RESUME", job_id)

    async def abort(self, job_id: str) -> None:
        """Remove a job. Raises `ScriptFailedError` if it has ended already."""
        job_id = await self._resolve_job_id(job_id)
        with contextlib.suppress(OSProfileError):
            # Tasks of an array that failed before are not removed: their ends are recorded first.
            await self._query_array(job_id)
        with self._watcher.track_removal(job_id) as record_removal:
            await self._control_job("ABORT", job_id)
            record_removal()

    async def abort_unless_ended(self, job_id: str) -> bool:
        """Remove a job; return False if it has ended already.

        Raises the error of `abort` if the job has not ended, as far as is known; `JobNotFoundError` if nobody knows it.
        """
        if self._find_recorded_end(job_id) is not None:
            return False
        try:
            await self.abort(job_id)
        except OSProfileError as error:
            try:
                status = (await self.statuses([job_id])).get(job_id)
            except OSProfileError:  # no answer does not mean that the job is gone
                raise error from None
            if status is None or not status.state.is_terminal:
                raise
            log.info("job %s has ended: %s", job_id, error)
            return False
        return True

    async def _resolve_job_id(self, job_id: str) -> str:
        """Return a job's full id; a job that is not recorded is queried for it."""
        job_id = self.jobs.full_ids.get(job_id, job_id)
        if self.find_record(job_id) is None:
            with contextlib.suppress(OSProfileError):  # the action itself will fail
                return (await self.status(job_id)).job_id
        return job_id

    async def signal(self, job_id: str, number: int) -> None:
        """Send a signal to a running job. Raises `TemplateNotFoundError` without SIGNAL."""
        await self._control_job("SIGNAL", job_id, SIGNAL=str(number))

    async def _control_job(self, template: str, job_id: str, **fields: str) -> None:
        try:
            script = self._shell.render_script(template, JOB_ID=job_id, **fields)
            await self._shell.run_script(template, script)
        except ScriptFailedError as error:
            if self.find_record(job_id) is None and await self._is_unknown(job_id):
                raise JobNotFoundError(error.output or error.message) from None
            raise
        finally:  # a script that failed may have changed the job nevertheless
            self._watcher.poll_immediately()

    async def _is_unknown(self, job_id: str) -> bool:
        """Return whether the batch system is certain that it does not know a job."""
        try:
            await self._query_job(job_id)
        except JobNotFoundError:
            return True
        except OSProfileError:
            pass
        return False

    # Files

    async def fetch(
        self,
        job_id: str,
        patterns: Sequence[str] | None = None,
        to: str | None = None,
        *,
        earlier: Sequence[str] = (),
    ) -> list[FetchedFile]:
        """Copy files of a job's working directory to a directory of this machine, and return them.

        `patterns` and `to` (default: those that the job was submitted with, and the current directory) are as in
        `JobDescription`. A directory that matches is copied with all in it. `earlier` are the ids of the earlier attempts of
        an array: what their tasks left is copied, too, and replaced by that of later ones. Raises `TargetError` if no file
        matches a pattern; all others are copied.
        """
        record = self.find_record(job_id)
        files = self.store.read_details(record.number).files if record is not None else JobFiles()
        from osprofile.jobs.files.trees import check_patterns  # late: it imports tarfile

        patterns = check_patterns(files.fetch if patterns is None else patterns)
        if not patterns:
            message = "the job was submitted without patterns of files to fetch"
            raise TargetError(message, hint="name the files, as in 'out*'")
        from osprofile.jobs.submit.attempts import find_continued_directory  # late: few jobs have rules

        continued = find_continued_directory(self.store, record) if record is not None else ""
        directories = [await self.find_job_directory(attempt) for attempt in earlier]
        directories.append(continued or await self.find_job_directory(job_id))
        found: dict[str, FetchedFile] = {}
        missing = list(patterns)
        for directory in dict.fromkeys(directories):
            copied, absent = await self.files.fetch(directory, patterns, to or files.fetch_to)
            found |= {file.path: file for file in copied}
            missing = [pattern for pattern in missing if pattern in absent]
        fetched = list(found.values())
        if missing:
            names = ", ".join(map(quote_value, missing))
            others = f"; {pluralize(len(fetched), 'other file')} copied" if fetched else ""
            message = f"no file matches {names} in {directories[-1]}{others}"
            raise TargetError(message, hint="as in a shell, * matches no name that begins with a dot")
        return fetched

    async def find_job_directory(self, job_id: str) -> str:
        """Return a job's working directory; tasks have that of their array.

        There, a task's standard output is STDOUT.INDEX. Raises `JobNotFoundError` if it is not known.
        """
        record = self.find_record(job_id)
        if record is not None:
            job_id = record.array_id or job_id
            record = self.store.find_whole_job(record)
        if record is not None and record.directory.startswith("/"):
            return record.directory
        directory = await self._starts.find_job_directory(job_id)
        if not directory:
            message = f"job {quote_name(job_id)} has left no working directory"
            raise JobNotFoundError(message, hint="it was not started by osprofile, or is deleted")
        return directory

    async def read_stdout(self, job_id: str) -> bytes:
        """Return what a job has written to its standard output so far; nothing if it has not begun.

        For the whole content of a small file: `download_file` writes large ones to a file. Raises
        `JobNotFoundError` for a job that is not in the record, and for an array: its tasks have the output.
        """
        return await self._read_output(job_id, "stdout")

    async def read_stderr(self, job_id: str) -> bytes:
        """Return what a job has written to its standard error so far; see `read_stdout`."""
        return await self._read_output(job_id, "stderr")

    async def _read_output(self, job_id: str, stream: str) -> bytes:
        import tempfile  # late: it is slow to import

        with tempfile.TemporaryFile() as file:
            await self.files.download_output(self.find_output_file(job_id, stream), file.fileno())
            file.seek(0)
            return file.read()

    def find_output_file(self, job_id: str, stream: str) -> JobFile:
        """Return a job's file `stdout` or `stderr` on the target system, by the record.

        Raises `JobNotFoundError` as `read_stdout` does.
        """
        record = self.find_record(job_id)
        whole = None if record is None else self.store.find_whole_job(record)
        path = whole.name_output_file(stream, record.array_index) if record and whole else ""
        if whole is None or not path:
            message = f"job {quote_name(job_id)} has no {stream} in the record"
            raise JobNotFoundError(message, hint="it was not submitted with this record: give another one")
        if whole is record and whole.array:
            message = f"job {quote_name(job_id)} is an array: each of its tasks has a {stream}"
            raise JobNotFoundError(message, hint="give the id of a task: task_statuses returns them")
        return JobFile(whole.directory, path)

    @property
    def query_count(self) -> int:
        """The number of queries for all jobs so far."""
        return self._queries.query_count


def _merge_usage(status: JobStatus, usage: JobStatus) -> JobStatus:
    if status.state is JobState.RUNNING and usage.elapsed is not None:
        started = min(time.time() - usage.elapsed, status.started or math.inf)
        status = status._replace(started=max(started, status.submitted or 0.0))
    return status._replace(
        elapsed=status.elapsed if usage.elapsed is None else usage.elapsed,
        cpu_time=status.cpu_time if usage.cpu_time is None else usage.cpu_time,
        max_memory=status.max_memory if usage.max_memory is None else usage.max_memory,
        energy=status.energy if usage.energy is None else usage.energy,
        allocated_cpus=usage.allocated_cpus or status.allocated_cpus,
        allocated_memory=usage.allocated_memory or status.allocated_memory,
    )


def _pair_with_keys(
    descriptions: Iterable[JobDescription], keys: Sequence[str | None] | None
) -> list[tuple[JobDescription, str | None]]:
    jobs = list(descriptions)
    for job in jobs:
        _require_description(job)
    if keys is not None and len(keys) != len(jobs):
        message = f"{len(jobs)} jobs have {len(keys)} keys: give one for each job, or None"
        raise ValueError(message)
    pairs = zip(jobs, [None] * len(jobs) if keys is None else keys, strict=True)
    return [(job, generate_key() if job.retry and key is None else key) for job, key in pairs]


def _require_description(job: object) -> None:
    if not isinstance(job, JobDescription):
        message = f"{job!r} is not a JobDescription: give JobDescription(executable=...)"
        raise TypeError(message)


def _check_cluster(profile: Profile, cluster: str) -> None:
    """Raise `UnknownFieldError` for a profile that cannot select a cluster, or has another one."""
    field = profile.global_fields.get(CLUSTER_FIELD)
    message = f"profile {profile.name} has no field {CLUSTER_FIELD}: its batch system has no clusters"
    if field is not None:
        message = f"field {CLUSTER_FIELD} of profile {profile.name} has the fixed value {quote_value(field.value or '')}"
    if field is None or (field.value and field.value != cluster):
        raise UnknownFieldError(message, field=CLUSTER_FIELD, hint="leave the cluster out")
