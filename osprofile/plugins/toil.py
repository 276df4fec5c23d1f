"""Toil's jobs on any batch system that has a profile. See docs/plugins/toil.md.

    python workflow.py ./jobstore --batchSystem osprofile --osprofileProfile slurm

Each job of Toil is one job of the batch system. Written against Toil 9.6 (`AbstractBatchSystem`).
"""

import asyncio
import concurrent.futures
import logging
import math
import os
import queue
import re
import shlex
import threading
import time
import uuid
from argparse import ArgumentParser
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toil.batchSystems.abstractBatchSystem import (
    EXIT_STATUS_UNAVAILABLE_VALUE,
    BatchJobExitReason,
    InsufficientSystemResources,
    UpdatedBatchJobInfo,
)
from toil.batchSystems.cleanup_support import BatchSystemCleanupSupport
from toil.batchSystems.options import OptionSetter
from toil.bus import ExternalBatchIdMessage, get_job_kind
from toil.common import Config
from toil.job import JobDescription, Requirer

import osprofile
from osprofile.caller_environment import copy_environment
from osprofile.plugins.messages import describe_end, format_error
from osprofile.plugins.run_time import WALLTIME_TOLERANCE, get_run_time

__all__ = ["OSProfileBatchSystem"]

log: Final = logging.getLogger(__name__)
_MIB: Final = 2**20
_MAX_PARALLEL_SUBMISSIONS: Final = 8
_LOCAL_CHECK_INTERVAL: Final = 0.5
"""Seconds between two looks at Toil's local jobs, while a job of the batch system is awaited."""
_MIN_RETRY_DELAY: Final = 0.5
_MAX_RETRY_DELAY: Final = 30.0
_MIN_WALL_TIME: Final = 0.001
"""Toil's wall times are above zero; a batch system may count whole seconds."""
"""The bundled profiles allow at least 229 characters for JOB_NAME."""
_MEMORY: Final = re.compile("mem", re.IGNORECASE)
"""What the states and reasons of limits of memory have in common: OUT_OF_MEMORY, TERM_MEMLIMIT."""
_OWN_FIELDS: Final = frozenset(
    {
        "ARGUMENTS", "ARRAY", "DEPENDENCY", "ENVIRONMENT", "EXECUTABLE",
        "JOB_NAME", "NODES", "PROCESSES", "STDERR", "STDIN", "STDOUT",
    }
)  # fmt: skip
"""Fields that this plugin sets itself, or that would make something else than one process of a job."""


@dataclass(eq=False)
class _Job:
    """A job that Toil has issued, until Toil knows its end."""

    id: int
    """Toil's id."""
    fields: Mapping[str, str]
    environment: Mapping[str, str]
    command: str
    key: str = field(default_factory=lambda: f"toil-{uuid.uuid4()}")
    native_id: str | None = None
    status: osprofile.JobStatus | None = None
    end: UpdatedBatchJobInfo | None = None
    is_killed: bool = False
    submission: concurrent.futures.Future[None] | None = None


class OSProfileBatchSystem(BatchSystemCleanupSupport):  # type: ignore[misc]  # Toil's types are not published
    """Runs Toil's jobs through a profile; `--osprofileProfile` names it.

    Raises `RuntimeError` for an option that cannot be used, and `osprofile.OSProfileError` for a profile
    that does not exist or is invalid.
    """

    def __init__(self, config: Config, maxCores: float, maxMemory: float, maxDisk: int) -> None:  # noqa: N803  # Toil's
        # Before the base class starts a thread, which would not end.
        profile = _get_option(config, "osprofile_profile")
        if not profile:
            raise RuntimeError("no profile is given: use --osprofileProfile, as in --osprofileProfile slurm")
        self._fields = _parse_fields(config, "osprofile_fields", "--osprofileFields")
        self._preemptible_fields = _parse_fields(
            config, "osprofile_preemptible_fields", "--osprofilePreemptibleFields"
        )
        context = _parse_assignments(_get_option(config, "osprofile_context"), "--osprofileContext")
        interval = config.statePollingWait
        self._session = osprofile.JobSession(
            profile,
            context,
            store=_get_option(config, "osprofile_store") or None,
            timing=osprofile.Timing(max_poll_interval=float(interval)) if interval else None,
            max_parallel_scripts=_MAX_PARALLEL_SUBMISSIONS,
        )
        super().__init__(config, maxCores, maxMemory, maxDisk)
        self._profile_name: str = profile
        self._retry_timeout = float(config.state_polling_timeout or 0)
        self._directory = os.getcwd()
        self._inherited_environment = copy_environment(os.environ)
        self._lock = threading.RLock()
        self._jobs: dict[int, _Job] = {}
        """Until Toil knows their ends."""
        self._jobs_by_native_id: dict[str, _Job] = {}
        """Those that are submitted and have not ended."""
        self._waiting: deque[_Job] = deque()
        """Those that are not submitted yet."""
        self._live_jobs: set[_Job] = set()
        """Those that are being submitted, or are submitted and have not ended: at most --maxJobs."""
        self._ended_jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._last_error = ""
        """Why the last submission has failed; empty after one that has not."""
        self._closing = threading.Event()
        self._submitters = concurrent.futures.ThreadPoolExecutor(
            _MAX_PARALLEL_SUBMISSIONS, thread_name_prefix="osprofile-submit"
        )
        self._session.add_listener(self._handle_event)

    # Options

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        """Add the options to Toil's command line. Toil's parser knows `env_var`."""
        options: Any = parser
        options.add_argument(
            "--osprofileProfile",
            dest="osprofile_profile",
            default=None,
            env_var="TOIL_OSPROFILE_PROFILE",
            help="The name of the OS Profile that describes the batch system: linux, slurm, pbs, ... "
            "(`incarnate show --list` lists them).",
        )
        options.add_argument(
            "--osprofileFields",
            dest="osprofile_fields",
            default="",
            env_var="TOIL_OSPROFILE_FIELDS",
            help="Values of the profile's fields for all jobs, as shell words NAME=VALUE: 'QUEUE=long PROJECT=p1'. "
            "They replace what Toil asks for.",
        )
        options.add_argument(
            "--osprofilePreemptibleFields",
            dest="osprofile_preemptible_fields",
            default="",
            env_var="TOIL_OSPROFILE_PREEMPTIBLE_FIELDS",
            help="The same for preemptible jobs; they replace those of --osprofileFields.",
        )
        options.add_argument(
            "--osprofileContext",
            dest="osprofile_context",
            default="",
            env_var="TOIL_OSPROFILE_CONTEXT",
            help="Values of the context, as shell words NAME=VALUE: CLUSTER=west for one of several clusters.",
        )
        options.add_argument(
            "--osprofileStore",
            dest="osprofile_store",
            default=None,
            env_var="TOIL_OSPROFILE_STORE",
            help="The file that records the jobs (default: that of `incarnate job`).",
        )

    @classmethod
    def setOptions(cls, setOption: OptionSetter) -> None:  # noqa: N802, N803  # Toil's
        """Copy the options to Toil's configuration."""
        for name in ("profile", "fields", "preemptible_fields", "context", "store"):
            setOption(f"osprofile_{name}")

    @classmethod
    def supportsAutoDeployment(cls) -> bool:  # noqa: N802
        """Return False: the workers find the workflow's modules on a shared file system."""
        return False

    # Submitting

    def issueBatchJob(  # noqa: N802
        self, command: str, job_desc: JobDescription, job_environment: dict[str, str] | None = None
    ) -> int:
        """Submit a job that runs `command` in a shell, soon, and return its id.

        Raises `InsufficientSystemResources` for what exceeds Toil's limits, and for accelerators that are
        not GPUs of one model. Whatever else is refused ends the job with the reason ERROR, and is logged.
        """
        local_id: int | None = self.handleLocalJob(command, job_desc)
        if local_id is not None:
            return local_id
        self.check_resource_request(job_desc)
        job_id: int = self.getNextJobID()
        job = _Job(
            id=job_id,
            fields=self._choose_fields(job_id, job_desc),
            environment={**self._inherited_environment, **self.environment, **(job_environment or {})},
            command=command,
        )
        with self._lock:
            self._jobs[job_id] = job
            self._waiting.append(job)
        self._start_submissions()
        return job_id

    def _check_accelerator_request(self, requirer: Requirer) -> None:
        kinds = {accelerator["kind"] for accelerator in requirer.accelerators}
        models = _list_models(requirer)
        if kinds - {"gpu"} or len(models) > 1:
            detail = (
                f"The batch system osprofile has GPUs of one model for a job, not {requirer.accelerators}."
            )
            raise InsufficientSystemResources(requirer, "accelerators", details=[detail])

    def _choose_fields(self, job_id: int, job_desc: JobDescription) -> dict[str, str]:
        """Return the values of a job's fields, without those of the program."""
        fields = {
            "CPUS": str(max(1, math.ceil(job_desc.cores))),
            "MEMORY": str(max(1, -(-int(job_desc.memory) // _MIB))),
        }
        if job_desc.walltime:
            fields["WALLTIME"] = str(job_desc.walltime)
        if gpus := sum(accelerator["count"] for accelerator in job_desc.accelerators):
            fields["GPUS"] = str(gpus)
            fields.update(("GPU_TYPE", model) for model in _list_models(job_desc))
        kind = get_job_kind(job_desc.get_names())
        return {
            "DIRECTORY": self._directory,
            **fields,
            **self._fields,
            **(self._preemptible_fields if job_desc.preemptible else {}),
            "JOB_NAME": osprofile.build_job_name(f"toil_job_{job_id}_{kind}"),
            # The batch system's id is not known yet.
            "STDOUT": os.path.abspath(self.format_std_out_err_path(job_id, "osprofile", "out")),
            "STDERR": os.path.abspath(self.format_std_out_err_path(job_id, "osprofile", "err")),
        }

    def _start_submissions(self) -> None:
        with self._lock:
            while (
                self._waiting
                and len(self._live_jobs) < int(self.config.max_jobs)
                and not self._closing.is_set()
            ):
                job = self._waiting.popleft()
                self._live_jobs.add(job)
                job.submission = self._submitters.submit(self._submit_job, job)

    def _submit_job(self, job: _Job) -> None:
        try:
            native_id = self._submit_with_retries(job)
        except osprofile.OSProfileError as error:
            self._fail_submission(job, format_error(error))
            return
        except Exception as error:  # of a thread whose errors nobody sees
            log.exception("Job %s was not submitted", job.id)
            self._fail_submission(job, repr(error))
            return
        log.info("Job %s is job %s of profile %s", job.id, native_id, self._profile_name)
        with self._lock:
            job.native_id = native_id
            self._jobs_by_native_id[native_id] = job
            self._last_error = ""
            if self._outbox is not None:
                self._outbox.publish(ExternalBatchIdMessage(job.id, native_id, type(self).__name__))
        status = self._session.watch(native_id)  # what was told before the id was known here; no query
        with self._lock:
            if job.status is None:
                self._update(job, status)

    def _submit_with_retries(self, job: _Job) -> str:
        """Return the batch system's id. With the same key, no job is submitted twice."""
        description = osprofile.JobDescription(
            executable="/bin/sh",
            arguments=["-c", job.command],
            environment=job.environment,
            fields=job.fields,
        )
        give_up, delay = time.monotonic() + self._retry_timeout, _MIN_RETRY_DELAY
        while True:
            try:
                return self._session.submit(description, key=job.key).id
            except osprofile.TargetError as error:
                self._last_error = format_error(error)
                if job.is_killed or self._closing.is_set() or time.monotonic() + delay > give_up:
                    raise
                log.warning("Job %s is not submitted yet; it is tried again: %s", job.id, self._last_error)
            self._closing.wait(delay)
            delay = min(2 * delay, _MAX_RETRY_DELAY)

    def _fail_submission(self, job: _Job, message: str) -> None:
        log.error("Job %s was not submitted to profile %s: %s", job.id, self._profile_name, message)
        with self._lock:
            self._last_error = message
            self._end_job(job, UpdatedBatchJobInfo(jobID=job.id, exitReason=BatchJobExitReason.ERROR))

    # Watching

    def _handle_event(self, event: osprofile.JobEvent) -> None:
        with self._lock:
            if (job := self._jobs_by_native_id.get(event.job_id)) is not None:
                self._update(job, event.status)

    def _update(self, job: _Job, status: osprofile.JobStatus) -> None:
        job.status = status
        if not status.state.is_terminal or job.end is not None:
            return
        end = _convert_end(job.id, status, job.fields.get("WALLTIME"))
        if end.exitStatus != 0 and not job.is_killed:
            log.warning(
                "Job %s, which is job %s of profile %s: %s. Its output is in %s and %s.",
                job.id, job.native_id, self._profile_name, describe_end(status),
                job.fields["STDOUT"], job.fields["STDERR"],
            )  # fmt: skip
        self._end_job(job, end)

    def _end_job(self, job: _Job, end: UpdatedBatchJobInfo) -> None:
        job.end = end
        self._live_jobs.discard(job)
        self._jobs_by_native_id.pop(job.native_id or "", None)
        self._ended_jobs.put(job)
        self._start_submissions()

    def getIssuedBatchJobIDs(self) -> list[int]:  # noqa: N802
        """Return the ids of all jobs whose ends Toil does not know."""
        with self._lock:
            return [*self.getIssuedLocalJobIDs(), *self._jobs]

    def getRunningBatchJobIDs(self) -> dict[int, float]:  # noqa: N802
        """Return for each running job how long it has run, in seconds. It causes no query."""
        now, running = time.time(), dict(self.getRunningLocalJobIDs())
        with self._lock:
            for job in self._jobs_by_native_id.values():
                if job.status is not None and job.status.state is osprofile.JobState.RUNNING:
                    running[job.id] = max(0.0, now - (job.status.started or now))
        return running

    def getUpdatedBatchJob(self, maxWait: float) -> UpdatedBatchJobInfo | None:  # noqa: N802, N803
        """Return the end of a job, each once, or None after `maxWait` seconds."""
        deadline = time.monotonic() + maxWait
        while True:
            if (local_end := self.getUpdatedLocalJob(0)) is not None:
                return local_end
            remaining = max(0.0, deadline - time.monotonic())
            try:
                job = self._ended_jobs.get(timeout=min(remaining, _LOCAL_CHECK_INTERVAL))
            except queue.Empty:
                if remaining == 0:
                    return None
                continue
            with self._lock:
                if not job.is_killed:
                    del self._jobs[job.id]
                    return job.end

    def getSchedulingStatusMessage(self) -> str | None:  # noqa: N802
        """Return how many jobs wait for what, as far as the batch system tells it; None if none waits."""
        waiting = {osprofile.JobState.QUEUED, osprofile.JobState.HELD, osprofile.JobState.UNKNOWN}
        with self._lock:
            statuses = [job.status for job in self._jobs_by_native_id.values() if job.status is not None]
            counts = Counter(
                f"{status.state} ({status.reason})" if status.reason else str(status.state)
                for status in statuses
                if status.state in waiting
            )
            if self._waiting:
                counts["not submitted, because of --maxJobs"] = len(self._waiting)
            parts = [
                f"{count} {'job is' if count == 1 else 'jobs are'} {what}" for what, count in counts.items()
            ]
            if self._last_error:
                parts.append(f"a submission failed: {self._last_error}")
        return "; ".join(parts) or None

    # Ending

    def killBatchJobs(self, jobIDs: list[int]) -> None:  # noqa: N802, N803
        """Remove jobs, and return when they are gone; their ends are not told.

        Raises `RuntimeError` for jobs that could not be removed within `--statePollingTimeout`.
        """
        self.killLocalJobs(jobIDs)
        with self._lock:
            jobs = [self._jobs[job_id] for job_id in dict.fromkeys(jobIDs) if job_id in self._jobs]
            for job in jobs:
                job.is_killed = True
            self._waiting = deque(job for job in self._waiting if not job.is_killed)
        concurrent.futures.wait(
            [job.submission for job in jobs if job.submission and not job.submission.cancel()]
        )
        by_native_id = {job.native_id: job for job in jobs if job.native_id is not None and job.end is None}
        failed: set[str] = set()
        if by_native_id:
            timeout = max(self._retry_timeout, _MAX_RETRY_DELAY)
            failed = self._session.run(lambda target: _remove_jobs(target, by_native_id, timeout))
        with self._lock:
            for job in jobs:
                if job.native_id not in failed:
                    self._jobs.pop(job.id, None)
                    self._jobs_by_native_id.pop(job.native_id or "", None)
                    self._live_jobs.discard(job)
        self._start_submissions()
        if failed:
            raise RuntimeError(
                f"these jobs of profile {self._profile_name} may still run: {', '.join(sorted(failed))}"
            )

    def shutdown(self) -> None:
        """Remove the jobs that have not ended, and stop."""
        self._closing.set()
        try:
            with self._lock:
                job_ids = [*self._jobs]
            self.killBatchJobs(job_ids)
        except (RuntimeError, osprofile.OSProfileError) as error:
            log.error("%s", error)  # noqa: TRY400  # the message says it all
        finally:
            self._submitters.shutdown()
            self._session.close()
            self.shutdownLocal()


async def _remove_jobs(target: osprofile.TargetSystem, job_ids: Iterable[str], timeout: float) -> set[str]:  # noqa: ASYNC109
    """Remove jobs, and wait until they have ended; return those that have not after `timeout` seconds."""
    tasks = {asyncio.create_task(_remove_job(target, job_id)): job_id for job_id in job_ids}
    done, pending = await asyncio.wait(tasks, timeout=timeout)
    for task in pending:
        task.cancel()
    for task in done:
        task.result()
    return {tasks[task] for task in pending}


async def _remove_job(target: osprofile.TargetSystem, job_id: str) -> None:
    delay = _MIN_RETRY_DELAY
    while True:
        try:
            if await target.abort_unless_ended(job_id):
                await target.wait(job_id)
        except osprofile.JobNotFoundError:
            return
        except osprofile.OSProfileError as error:
            log.warning("Job %s is not removed yet; it is tried again: %s", job_id, format_error(error))
        else:
            return
        await asyncio.sleep(delay)
        delay = min(2 * delay, _MAX_RETRY_DELAY)


def _get_option(config: Config, name: str) -> str:
    """Return an option's value; a configuration that was made before the plugin was installed has none."""
    return str(getattr(config, name, None) or "")


def _parse_fields(config: Config, name: str, option: str) -> dict[str, str]:
    fields = _parse_assignments(_get_option(config, name), option)
    if own := sorted(_OWN_FIELDS & set(fields)):
        raise RuntimeError(f"{option}: the batch system sets the field {own[0]} itself: leave it out")
    return fields


def _parse_assignments(text: str, option: str) -> dict[str, str]:
    """Return the values by name of shell words NAME=VALUE."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RuntimeError(f"{option} {text!r} cannot be split into shell words: {error}") from None
    values = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise RuntimeError(f"{option}: {word!r} is not NAME=VALUE, as in QUEUE=long")
        values[name] = value
    return values


def _list_models(requirer: Requirer) -> set[str]:
    return {accelerator["model"] for accelerator in requirer.accelerators if accelerator.get("model")}


def _find_limit(
    status: osprofile.JobStatus, walltime: str | None, run_time: float | None
) -> BatchJobExitReason:
    """Return which limit ended a job; FAILED if nothing tells it."""
    is_memory = status.cause is osprofile.EndCause.MEMORY
    if is_memory or _MEMORY.search(f"{status.native_state} {status.reason}"):
        return BatchJobExitReason.MEMLIMIT
    has_used_walltime = walltime and run_time is not None and run_time >= float(walltime) - WALLTIME_TOLERANCE
    if status.cause is osprofile.EndCause.TIME or has_used_walltime:
        return BatchJobExitReason.TIMELIMIT
    return BatchJobExitReason.FAILED


def _convert_end(job_id: int, status: osprofile.JobStatus, walltime: str | None) -> UpdatedBatchJobInfo:
    """Return Toil's end of a job. Its exit status is 0 only if the program ended with 0."""
    exit_status, reason = EXIT_STATUS_UNAVAILABLE_VALUE, BatchJobExitReason.FAILED
    run_time = get_run_time(status)
    if status.state is osprofile.JobState.DONE:
        if status.exit_code is not None:
            exit_status = status.exit_code
        if exit_status == 0:
            reason = BatchJobExitReason.FINISHED
    elif status.state is osprofile.JobState.REMOVED:
        reason = BatchJobExitReason.KILLED
    elif status.state is osprofile.JobState.LOST:
        reason = BatchJobExitReason.LOST
    elif status.limit_exceeded:
        reason = _find_limit(status, walltime, run_time)
    elif status.cause in {osprofile.EndCause.NODE, osprofile.EndCause.PREEMPTED}:
        reason = BatchJobExitReason.LOST  # --enableUnlimitedPreemptibleRetries does not count it
    elif status.signal is not None:
        exit_status = 128 + status.signal  # as a shell tells it
    return UpdatedBatchJobInfo(
        jobID=job_id,
        exitStatus=exit_status,
        exitReason=reason,
        wallTime=None if run_time is None else max(run_time, _MIN_WALL_TIME),
        backing_id=status.job_id,
    )
