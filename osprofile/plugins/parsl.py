"""Parsl's blocks on any batch system that has a profile. See docs/plugins/parsl.md.

    from osprofile.plugins.parsl import OSProfileProvider

    HighThroughputExecutor(provider=OSProfileProvider("slurm", queue="long", walltime="02:00:00"))

A block is one job. Its script is written to Parsl's `script_dir`, and bash runs it there.
"""

import asyncio
import logging
import os
import shlex
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import typeguard
from parsl.errors import ConfigurationError
from parsl.jobs.states import JobState, JobStatus
from parsl.launchers import SingleNodeLauncher
from parsl.launchers.base import Launcher
from parsl.providers.base import ExecutionProvider
from parsl.providers.errors import ScriptPathError, SubmitException
from parsl.utils import RepresentationMixin

import osprofile
from osprofile.caller_environment import copy_environment
from osprofile.plugins.messages import describe_end
from osprofile.plugins.run_time import WALLTIME_TOLERANCE, get_run_time
from osprofile.text import parse_duration

__all__ = ["OSProfileProvider"]

log: Final = logging.getLogger(__name__)
_POLLING_INTERVAL: Final = 5
"""Seconds between two calls of `status`: as for Parsl's own provider for one machine."""
_MAX_AGE: Final = 60.0
"""The session itself queries its jobs every 1 to 60 s: often after a change, seldom while nothing changes.
Its last answer serves Parsl, so that frequent calls of `status` are no load for the batch system."""

"""The bundled profiles allow at least 229 characters for JOB_NAME; the name gets a suffix."""


_STATES: Final = {
    osprofile.JobState.QUEUED: JobState.PENDING,
    osprofile.JobState.RUNNING: JobState.RUNNING,
    osprofile.JobState.HELD: JobState.HELD,
    osprofile.JobState.FAILED: JobState.FAILED,
    osprofile.JobState.REMOVED: JobState.CANCELLED,
    osprofile.JobState.LOST: JobState.FAILED,
    osprofile.JobState.UNKNOWN: JobState.UNKNOWN,
}
"""Parsl's state for each state; that of DONE depends on the exit code."""


class OSProfileProvider(ExecutionProvider, RepresentationMixin):
    """Starts Parsl's blocks as jobs of the batch system that a profile describes.

    - `profile`: a profile, or the name of one on the standard search path
    - `queue`, `project`: as the batch system names them
    - `nodes_per_block`, `cores_per_node`, `mem_per_node` (GiB), `walltime` (`HH:MM:SS`): of each block;
      None stands for the profile's default
    - `init_blocks`, `min_blocks`, `max_blocks`, `parallelism`: how many blocks, see Parsl's manual
    - `worker_init`: bash commands that run before the worker pool
    - `launcher`: starts the worker pool on the nodes of the block (None: `SingleNodeLauncher`)
    - `environment`: variables that the block gets besides those of the batch system (None: the caller's, see below)
    - `fields`: values of other fields of the profile, as in `{"GPUS": "2", "QOS": "high"}`
    - `retry`: rules by which a block is submitted again after an end by a cause, as in
      `{"MEMORY": "memory*2, at most 2", "NODE": 3}`; Parsl sees one block
    - `context`: as for `osprofile.JobSession`: SSH:HOST for another host, CLUSTER for one of several clusters
    - `store`: the path of the record of the jobs (None: that of `incarnate job`)

    A block runs in the directory in which the caller submits it, unless `fields` has DIRECTORY. It gets the
    caller's environment without what belongs to the caller's machine, login or job: TMPDIR, DISPLAY,
    `SLURM_*`, `SSH_*` and others. Raises `parsl.errors.ConfigurationError` for a malformed
    walltime, and `osprofile.OSProfileError` for a profile that does not exist or is invalid.
    """

    @typeguard.typechecked
    def __init__(
        self,
        profile: str | osprofile.Profile,
        *,
        queue: str | None = None,
        project: str | None = None,
        nodes_per_block: int = 1,
        cores_per_node: int | None = None,
        mem_per_node: float | None = None,
        init_blocks: int = 1,
        min_blocks: int = 0,
        max_blocks: int = 1,
        parallelism: float = 1,
        walltime: str | None = None,
        worker_init: str = "",
        launcher: Launcher | None = None,
        environment: dict[str, str] | None = None,
        fields: dict[str, str] | None = None,
        retry: str | list[str] | dict[str, str | int] | None = None,
        context: dict[str, str] | None = None,
        store: str | None = None,
    ) -> None:
        self.profile = profile
        self.queue = queue
        self.project = project
        self.nodes_per_block = nodes_per_block
        self.cores_per_node = cores_per_node
        self.mem_per_node = mem_per_node
        self.init_blocks = init_blocks
        self.min_blocks = min_blocks
        self.max_blocks = max_blocks
        self.parallelism = parallelism
        self.walltime = walltime
        self.worker_init = worker_init
        self.launcher = launcher if launcher is not None else SingleNodeLauncher()
        self.environment = environment
        self.fields = fields
        self.retry = retry
        self.context = context
        self.store = store
        self.script_dir: str | None = None
        """Where the scripts and the output of the blocks are. Parsl sets it."""
        self.resources: dict[object, Any] = {}
        """By the ids of jobs: dicts with `job_id`, `status`, `job_stdout_path` and `job_stderr_path`."""
        self._last_attempts: dict[str, str] = {}
        """The ids of the jobs that were submitted again, by those that Parsl knows."""
        self._walltime = None if walltime is None else _parse_walltime(walltime)
        self._label = f"osprofile-{_load_profile(profile).name}"  # here, a wrong name is found at once
        self._lock = threading.Lock()
        self._session: osprofile.JobSession | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in {"_lock", "_session"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _session=None)

    @property
    def label(self) -> str:
        """The provider's name in Parsl's log."""
        return self._label

    @property
    def status_polling_interval(self) -> int:
        """Seconds between two calls of `status`. The batch system is queried by the session, not by each call."""
        return _POLLING_INTERVAL

    def submit(self, command: str, tasks_per_node: int, job_name: str = "parsl.osprofile") -> str:
        """Submit a block that runs `command` through the launcher, and return the job's id.

        The job's name is a plain form of `job_name` with a unique suffix. Raises `SubmitException` if a value
        is refused or the batch system did not accept the job, and `ScriptPathError` for a script that cannot be written.
        """
        if self.script_dir is None:
            raise _refuse(job_name, "script_dir is not set: set provider.script_dir to a directory")
        name = _make_plain_name(job_name)
        script_dir = os.path.abspath(self.script_dir)
        path = os.path.join(script_dir, name)
        try:
            _write_script(f"{path}.sh", self._format_script(name, command, tasks_per_node, script_dir))
            description = self._describe_block(name, path, tasks_per_node)
        except OSError as error:
            raise ScriptPathError(f"{path}.sh", error) from error  # type: ignore[no-untyped-call]
        try:
            job_id = self._get_session().submit(description, key=f"parsl-{uuid.uuid4()}").id
        except osprofile.OSProfileError as error:
            raise _refuse(name, str(error)) from error
        self.resources[job_id] = {
            "job_id": job_id,
            "status": JobStatus(JobState.PENDING),
            "job_stdout_path": f"{path}.stdout",
            "job_stderr_path": f"{path}.stderr",
        }
        return job_id

    def status(self, job_ids: Sequence[object]) -> list[JobStatus]:
        """Return the statuses of jobs, by one query for all of them.

        If the query fails, that is logged, and the last known statuses are returned.
        """
        ids = list(map(str, job_ids))
        if live_ids := [job_id for job_id in ids if not self._get_known_status(job_id).terminal]:
            try:
                self._update(self._query(self._get_session(), live_ids))
            except osprofile.OSProfileError as error:
                log.warning("%s: the states of jobs are not known now: %s", self.label, error)
        # New objects: executors change those that they get.
        return [_copy_status(self._get_known_status(job_id)) for job_id in ids]

    def _query(self, session: osprofile.JobSession, job_ids: list[str]) -> dict[str, osprofile.JobStatus]:
        """Return the statuses of the last attempts of jobs; those that rules ask for are submitted."""
        attempts = {self._last_attempts.get(job_id, job_id): job_id for job_id in job_ids}
        statuses = {}
        for attempt, status in session.statuses([*attempts], max_age=_MAX_AGE).items():
            job_id = attempts[attempt]
            has_failed = status.state in {osprofile.JobState.FAILED, osprofile.JobState.LOST}
            new_id = self._submit_again(session, attempt) if self.retry and has_failed else None
            if new_id is not None:
                self._last_attempts[job_id] = new_id
                status = osprofile.JobStatus(new_id, osprofile.JobState.QUEUED)  # noqa: PLW2901
            statuses[job_id] = status
        return statuses

    def _submit_again(self, session: osprofile.JobSession, job_id: str) -> str | None:
        try:
            return session.run(lambda target: target.retry(job_id))
        except osprofile.OSProfileError as error:
            log.warning("%s: job %s is not submitted again: %s", self.label, job_id, error)
            return None

    def cancel(self, job_ids: Sequence[object]) -> list[bool]:
        """Remove jobs; return for each whether it has been removed or had ended before."""
        ids = list(map(str, job_ids))

        async def abort_all(target: osprofile.TargetSystem) -> list[bool | BaseException]:
            last = (target.list_attempts(self._last_attempts.get(job_id, job_id))[-1] for job_id in ids)
            return await asyncio.gather(*map(target.abort_unless_ended, last), return_exceptions=True)

        try:
            results = self._get_session().run(abort_all)
        except osprofile.OSProfileError as error:
            log.warning("%s: jobs could not be removed: %s", self.label, error)
            return [False for _ in ids]
        for job_id, result in zip(ids, results, strict=True):
            if isinstance(result, BaseException):
                log.warning("%s: job %s could not be removed: %s", self.label, job_id, result)
        return [not isinstance(result, BaseException) for result in results]

    def _get_session(self) -> osprofile.JobSession:
        with self._lock:
            if self._session is None:
                self._session = osprofile.JobSession(self.profile, self.context, store=self.store)
            return self._session

    def _format_script(self, name: str, command: str, tasks_per_node: int, script_dir: str) -> str:
        """Return the script of a block, in bash: Parsl's launchers need it."""
        lines = ["#!/bin/bash", self.worker_init, f"export JOBNAME={shlex.quote(name)}"]
        if self.cores_per_node is not None:
            lines.append(f"export PARSL_CORES={_divide_cores(self.cores_per_node, tasks_per_node)}")
        if self.mem_per_node is not None:
            lines.append(f"export PARSL_MEMORY_GB={self.mem_per_node}")
        return "\n".join(
            [*lines, self.launcher(command, tasks_per_node, self.nodes_per_block, script_dir), ""]
        )

    def _describe_block(self, name: str, path: str, tasks_per_node: int) -> osprofile.JobDescription:
        return osprofile.JobDescription(
            executable="bash",
            arguments=[f"{path}.sh"],
            environment=copy_environment(os.environ) if self.environment is None else self.environment,
            stdout=f"{path}.stdout",
            stderr=f"{path}.stderr",
            name=name,
            queue=self.queue,
            project=self.project,
            nodes=self.nodes_per_block,
            processes=self.nodes_per_block * tasks_per_node,
            cpus=None if self.cores_per_node is None else _divide_cores(self.cores_per_node, tasks_per_node),
            memory=None if self.mem_per_node is None else max(1, int(self.mem_per_node * 1024)),
            walltime=self._walltime,
            fields={"DIRECTORY": os.getcwd(), **(self.fields or {})},
            retry=self.retry or (),
        )

    def _get_known_status(self, job_id: str) -> JobStatus:
        job = self.resources.get(job_id)
        if job is None:
            return JobStatus(JobState.UNKNOWN, f"job {job_id} was not submitted by this provider")
        status: JobStatus = job["status"]
        return status

    def _update(self, statuses: Mapping[str, osprofile.JobStatus]) -> None:
        for job_id, status in statuses.items():
            if (job := self.resources.get(job_id)) is not None:
                paths = job["job_stdout_path"], job["job_stderr_path"]
                job["status"] = _convert_status(status, *paths, walltime=self._walltime)


def _load_profile(profile: str | osprofile.Profile) -> osprofile.Profile:
    return osprofile.load(profile) if isinstance(profile, str) else profile


def _refuse(job_name: str, message: str) -> SubmitException:
    return SubmitException(job_name, message)  # type: ignore[no-untyped-call]


def _parse_walltime(walltime: str) -> int:
    """Return the seconds of HH:MM:SS."""
    seconds = parse_duration(walltime) if ":" in walltime else None
    if not seconds:
        message = f"walltime: {walltime!r} is not a time; write HH:MM:SS, as in 00:10:00 for ten minutes"
        raise ConfigurationError(message)
    return seconds


def _make_plain_name(job_name: str) -> str:
    """Return a unique name that every profile accepts. Launchers use it unquoted, in names of files."""
    return f"{osprofile.build_job_name(job_name, 'parsl.')}.{uuid.uuid4().hex[:12]}"


def _write_script(path: str, text: str) -> None:
    """Write a script that nobody else can read: worker_init may contain secrets."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _divide_cores(cores_per_node: int, tasks_per_node: int) -> int:
    return max(1, cores_per_node // tasks_per_node)


def _convert_status(
    status: osprofile.JobStatus, stdout_path: str, stderr_path: str, *, walltime: int | None
) -> JobStatus:
    """Return Parsl's status. Parsl does not count a TIMEOUT as a failure: it starts the next block."""
    exit_code, message = status.exit_code, status.reason or None
    if status.cause is not None:
        message = describe_end(status)
    if status.state is osprofile.JobState.DONE:
        state = JobState.COMPLETED if exit_code == 0 else JobState.FAILED
    elif status.cause is osprofile.EndCause.TIME or (
        status.cause is osprofile.EndCause.LIMIT and _has_used_walltime(status, walltime)
    ):
        state = JobState.TIMEOUT
    else:
        state = _STATES[status.state]
    if status.state is osprofile.JobState.LOST:
        message = message or "the batch system no longer knows the job, and it left no exit code"
    elif status.state is osprofile.JobState.UNKNOWN:
        message = message or f"the profile does not define the state {status.native_state!r}"
    elif status.signal is not None:
        exit_code = 128 + status.signal  # as a shell tells it
        message = message or f"signal {status.signal} ended the job"
    return JobStatus(state, message, exit_code, stdout_path, stderr_path)


def _has_used_walltime(status: osprofile.JobStatus, walltime: int | None) -> bool:
    """Return whether a block may have ended by its wall time, and not by a limit of memory, for instance."""
    elapsed = get_run_time(status)
    return walltime is None or elapsed is None or elapsed >= walltime - WALLTIME_TOLERANCE


def _copy_status(status: JobStatus) -> JobStatus:
    return JobStatus(status.state, status.message, status.exit_code, status.stdout_path, status.stderr_path)
