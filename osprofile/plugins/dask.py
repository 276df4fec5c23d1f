"""Dask clusters on any batch system that has a profile. See docs/plugins/dask.md.

    from osprofile.plugins.dask import OSProfileCluster

    cluster = OSProfileCluster("slurm", queue="long", cores=8, memory="32 GiB", walltime="02:00:00")
    cluster.scale(jobs=10)

It is a cluster as those of dask-jobqueue. A job runs the script that dask-jobqueue makes.
"""

import asyncio
import atexit
import contextlib
import logging
import math
import os
import re
import shlex
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Final, final

import dask.config
from dask_jobqueue.core import Job, JobQueueCluster, cluster_parameters, job_parameters
from distributed.core import Status

import osprofile
from osprofile import JobSession
from osprofile.caller_environment import copy_environment
from osprofile.text import parse_duration

__all__ = ["OSProfileCluster", "OSProfileJob"]

log: Final = logging.getLogger(__name__)
_REFUSED: Final = ("job_extra", "job_extra_directives", "header_skip", "job_directives_skip")
"""Arguments of dask-jobqueue about directives: the profile writes them."""
"""The bundled profiles allow at least 229 characters for JOB_NAME."""
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:=@%+,~-]+")
_SPECIAL: Final = re.compile(r'["\\`]|\$(?![A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})')
"""What a shell would read within double quotes, besides $NAME and ${NAME}."""
_MAX_QUOTED_OUTPUT: Final = 2000
"""Characters of a failed job's standard error in the log."""

dask.config.update_defaults(
    {
        "jobqueue": {
            "osprofile": {
                "profile": None,
                "context": None,
                "store": None,
                "fields": None,
                "environment": None,
                "queue": None,
                "account": None,
                "walltime": None,
                # Those of dask-jobqueue, with the values that its own clusters have.
                "name": "dask-worker",
                "cores": None,
                "memory": None,
                "processes": None,
                "python": None,
                "interface": None,
                "death-timeout": 60,
                "local-directory": None,
                "shared-temp-directory": None,
                "extra": None,
                "worker-command": "distributed.cli.dask_worker",
                "worker-extra-args": [],
                "shebang": "#!/usr/bin/env bash",
                "env-extra": None,
                "job-script-prologue": [],
                "job-extra": None,
                "job-extra-directives": [],
                "job-directives-skip": [],
                "log-directory": None,
                "scheduler-options": {},
            }
        }
    }
)


@final
class _Jobs:
    """The jobs of one cluster. Its methods block; any thread may call them."""

    def __init__(
        self, profile: str | osprofile.Profile, context: Mapping[str, str] | None, store: str | None
    ) -> None:
        self.session = JobSession(profile, context, store=store)
        self._workers: dict[str, str] = {}
        """The names of the workers by the ids of the jobs that have neither ended nor been removed."""
        self._condition = threading.Condition()
        self._operations = 0
        """How many submissions and removals are under way."""
        self._is_closed = False
        self._process_id = os.getpid()
        self.session.add_listener(lambda event: self._note_status(event.status))
        _open_jobs.add(self)

    def check(self, description: osprofile.JobDescription) -> None:
        """Raise the error that the submission of a job would raise for its values."""

        async def render(target: osprofile.TargetSystem) -> None:
            await target.render_start_script(description)

        self.session.run(render)

    def submit(self, description: osprofile.JobDescription, worker: str) -> str:
        """Submit a job once, and return its id."""
        with self._condition:
            if self._is_closed:
                message = "the cluster is closed"
                raise RuntimeError(message)
            self._operations += 1
        try:
            job_id = self.session.submit(description, key=f"dask-{uuid.uuid4()}").id
            with self._condition:
                self._workers[job_id] = worker
        finally:
            self._end_operation()
        if (status := self.session.get_cached_status(job_id)) is not None:
            self._note_status(status)  # its end may have been told before its worker was known
        return job_id

    def _end_operation(self) -> None:
        with self._condition:
            self._operations -= 1
            self._condition.notify_all()

    def _note_status(self, status: osprofile.JobStatus) -> None:
        """Log the end of a job that nobody removed, unless its workers ended well."""
        if not status.state.is_terminal:
            return
        with self._condition:
            worker = self._workers.pop(status.job_id, None)
        if worker is None or (status.state is osprofile.JobState.DONE and status.exit_code == 0):
            return
        code = "" if status.exit_code is None else f" with exit code {status.exit_code}"
        output = ""
        with contextlib.suppress(osprofile.OSProfileError, RuntimeError):
            output = self.session.get_job(status.job_id).stderr()
        log.warning(
            "worker %s: job %s ended: %s%s %s\n%s",
            worker,
            status.job_id,
            status.state,
            code,
            status.reason,
            output[-_MAX_QUOTED_OUTPUT:],
        )

    def is_live(self, job_id: str) -> bool:
        """Return whether a job has, as far as is known, neither ended nor been removed."""
        return job_id in self._workers

    def abort(self, *job_ids: str) -> None:
        """Remove jobs side by side. That one has ended is no error; any other failure is logged."""
        with self._condition:
            workers = {job_id: self._workers.pop(job_id) for job_id in job_ids if job_id in self._workers}
            if not workers:
                return
            self._operations += 1

        async def abort_all(target: osprofile.TargetSystem) -> list[bool | BaseException]:
            return await asyncio.gather(*map(target.abort_unless_ended, workers), return_exceptions=True)

        try:
            for (job_id, worker), error in zip(workers.items(), self.session.run(abort_all), strict=True):
                if isinstance(error, BaseException):
                    log.warning("worker %s: job %s could not be removed: %s", worker, job_id, error)
        finally:
            self._end_operation()

    def close(self) -> None:
        """Remove all jobs, also those that are being submitted, and close the session."""
        with self._condition:
            self._is_closed = True
            self._condition.wait_for(lambda: self._operations == 0)
            ids = list(self._workers)
        self.abort(*ids)
        self.session.close()
        _open_jobs.discard(self)

    def close_at_exit(self) -> None:
        """Do the same, but not in a child process: the jobs are those of its parent."""
        if os.getpid() == self._process_id:
            self.close()


_open_jobs: Final[set[_Jobs]] = set()


@atexit.register  # after that of osprofile.JobSession, which is imported above: so it is called before it
def _close_at_exit() -> None:
    for jobs in list(_open_jobs):
        jobs.close_at_exit()


class OSProfileJob(Job):
    """One job of a cluster, with one or more workers. See `OSProfileCluster` for the arguments.

    `jobs` is what the jobs of a cluster share; without it, a job has a session of its own.
    """

    config_name = "osprofile"

    def __init__(
        self,
        scheduler: str | None = None,
        name: str | None = None,
        *,
        profile: str | osprofile.Profile | None = None,
        context: Mapping[str, str] | None = None,
        store: str | None = None,
        fields: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        queue: str | None = None,
        account: str | None = None,
        walltime: str | None = None,
        config_name: str | None = None,
        local_directory: str | None = None,
        interface: str | None = None,
        protocol: str | None = None,
        security: Any = None,  # noqa: ANN401  # distributed's Security has no types
        jobs: _Jobs | None = None,
        **settings: Any,  # noqa: ANN401  # those of dask-jobqueue
    ) -> None:
        section = f"jobqueue.{config_name or self.config_name}"

        def get(key: str, value: Any) -> Any:  # noqa: ANN401
            return dask.config.get(f"{section}.{key}", None) if value is None else value

        _refuse_directives(section, settings)
        local_directory, interface = get("local-directory", local_directory), get("interface", interface)
        super().__init__(  # type: ignore[no-untyped-call]
            scheduler=scheduler,
            name=None if name is None else _quote_word(str(name)),
            config_name=config_name,
            local_directory=None if local_directory is None else _quote_word(str(local_directory)),
            interface=None if interface is None else _quote_word(str(interface)),
            protocol=None if protocol is None else _quote_word(protocol),
            **settings,
        )
        self.name = name
        self.job_header = ""
        if security is not None:
            self._command_template += _format_security(security)
        self.profile = get("profile", profile)
        self.context = get("context", context)
        self.store = get("store", store)
        self.fields = dict(get("fields", fields) or {})
        self.environment = get("environment", environment)
        self.queue = get("queue", queue)
        self.account = get("account", account)
        walltime = get("walltime", walltime)
        self.walltime = None if walltime is None else _parse_walltime(walltime)
        self._interpreter = _split_shebang(self.shebang)
        self._owned_jobs: _Jobs | None = None
        self._shared_jobs = jobs

    def describe(self) -> osprofile.JobDescription:
        """Return the description of the job."""
        name, worker = (osprofile.build_job_name(str(text), "dask.") for text in (self.job_name, self.name))
        stem = f"{name}-{worker}.{uuid.uuid4().hex[:8]}"
        path = None if self.log_directory is None else os.path.join(os.path.abspath(self.log_directory), stem)
        environment = self.environment
        if environment is None:
            environment = copy_environment(os.environ)
            # A profile sets it to CPUS. In a worker, each thread of Dask is one of these, as Dask's nanny would set it.
            environment.setdefault("OMP_NUM_THREADS", "1")
        return osprofile.JobDescription(
            executable=self._interpreter[0],
            arguments=[*self._interpreter[1:], "-c", self.job_script()],  # type: ignore[no-untyped-call]
            environment=environment,
            stdout=None if path is None else f"{path}.out",
            stderr=None if path is None else f"{path}.err",
            name=name,
            queue=self.queue,
            project=self.account,
            nodes=1,
            processes=1,
            cpus=self.worker_cores,
            memory=math.ceil((self.worker_memory or 0) / 2**20),
            walltime=self.walltime,
            fields={"DIRECTORY": os.getcwd(), **self.fields},
        )

    async def start(self) -> None:
        """Submit the job; it is not waited for. Raises `osprofile.OSProfileError` if it was not accepted."""
        self.job_id = await asyncio.to_thread(self._submit, self.describe())
        self.status = Status.running

    def _submit(self, description: osprofile.JobDescription) -> str:
        jobs = self._shared_jobs
        if jobs is None:
            jobs = self._owned_jobs = _open(self.profile, self.context, self.store)
        return jobs.submit(description, str(self.name))

    async def close(self) -> None:
        """Remove the job, if it has not ended. Those of a cluster are removed when the cluster is closed, at the latest."""
        if self._owned_jobs is not None:
            await asyncio.to_thread(self._owned_jobs.close)
        elif self._shared_jobs is not None and self.job_id and self._shared_jobs.is_live(self.job_id):
            # Not awaited, because a cluster does nothing else meanwhile: its own end waits for it.
            asyncio.get_running_loop().run_in_executor(None, self._shared_jobs.abort, self.job_id)
        self.status = Status.closed
        self._event_finished.set()


class OSProfileCluster(JobQueueCluster):
    """A Dask cluster whose workers are jobs of the batch system that a profile describes.

    - `profile`: a profile, or the name of one on the standard search path
    - `queue`, `account`: as the batch system names them
    - `walltime`: of each job, `HH:MM:SS` or `D-HH:MM:SS` (None: the profile's default)
    - `fields`: values of other fields of the profile, as in `{"GPUS": "2", "QOS": "high"}`
    - `environment`: variables that a job gets besides those of the batch system (None: the caller's)
    - `context`: as for `osprofile.JobSession`: SSH:HOST for another host, CLUSTER for one of several clusters
    - `store`: the path of the record of the jobs (None: that of `incarnate job`)

    All other arguments are those of dask-jobqueue, see below. Without an argument, Dask's configuration is
    used: `jobqueue.osprofile`, or the section `config_name`. Raises `osprofile.OSProfileError` if there is
    no such profile or the profile refuses a value, and `ValueError` for other wrong arguments.
    """

    job_cls = OSProfileJob
    _is_checked = False

    def __init__(
        self,
        profile: str | osprofile.Profile | None = None,
        *,
        context: Mapping[str, str] | None = None,
        store: str | None = None,
        config_name: str | None = None,
        **settings: Any,  # noqa: ANN401  # those of dask-jobqueue and of OSProfileJob
    ) -> None:
        section = f"jobqueue.{config_name or self.job_cls.config_name}"
        self._jobs = _open(
            dask.config.get(f"{section}.profile", None) if profile is None else profile,
            dask.config.get(f"{section}.context", None) if context is None else context,
            dask.config.get(f"{section}.store", None) if store is None else store,
        )
        try:
            super().__init__(jobs=self._jobs, config_name=config_name, **settings)
        except BaseException:
            self.status = Status.closed
            self._jobs.close()
            raise

    @property
    def session(self) -> osprofile.JobSession:
        """The session of the jobs, for their states and output: `cluster.session.get_job(job.job_id).stderr()`."""
        return self._jobs.session

    @property
    def _dummy_job(self) -> OSProfileJob:
        # dask-jobqueue makes this job to find improper arguments, before it starts the scheduler.
        job: OSProfileJob = super()._dummy_job
        if not self._is_checked:
            self._jobs.check(job.describe())
            self._is_checked = True
        return job

    async def _close(self) -> None:
        try:
            await super()._close()  # type: ignore[no-untyped-call]
        finally:
            if self._jobs in _open_jobs:  # else it is the end of the program, which allows no new threads
                await asyncio.to_thread(self._jobs.close)


OSProfileCluster.__doc__ = (
    f"{OSProfileCluster.__doc__}\nParameters\n----------\n    {job_parameters}\n    {cluster_parameters}"
)


def _open(
    profile: str | osprofile.Profile | None, context: Mapping[str, str] | None, store: str | None
) -> _Jobs:
    if not isinstance(profile, str | osprofile.Profile):
        message = f"profile: {profile!r} is not the name of a profile"
        raise ValueError(f'{message}; give one, as in OSProfileCluster("slurm", cores=4, memory="8 GiB")')  # noqa: TRY004
    return _Jobs(profile, context, store)


def _refuse_directives(section: str, settings: Mapping[str, object]) -> None:
    for name in _REFUSED:
        key = f"{section}.{name.replace('_', '-')}"
        for where, value in ((name, settings.get(name)), (key, dask.config.get(key, None))):
            if value:
                message = f"{where}: {value!r} has no meaning here: the profile writes the directives"
                raise ValueError(f'{message}. Give the values of its fields: fields={{"QOS": "high"}}')


def _parse_walltime(walltime: object) -> int:
    """Return the seconds of HH:MM:SS or D-HH:MM:SS."""
    seconds = parse_duration(walltime) if isinstance(walltime, str) and ":" in walltime else None
    if not seconds:
        message = f"walltime: {walltime!r} is not a time; write HH:MM:SS, as in 00:10:00 for ten minutes"
        raise ValueError(message)
    return seconds


def _split_shebang(shebang: object) -> list[str]:
    """Return the command of the shell that runs the script."""
    words = []
    if isinstance(shebang, str) and shebang.startswith("#!") and "\n" not in shebang:
        with contextlib.suppress(ValueError):
            words = shlex.split(shebang[2:])
    if not words:
        message = f"shebang: {shebang!r} does not name a shell; write as in '#!/bin/bash -l'"
        raise ValueError(message)
    return words


def _quote_word(text: str) -> str:
    """Return one word for a shell, in which only $NAME and ${NAME} are replaced, as dask-jobqueue promises."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    return '"' + _SPECIAL.sub(lambda match: f"\\{match.group()}", text) + '"'


def _format_security(security: Any) -> str:  # noqa: ANN401
    """Return the worker's options for TLS."""
    files = security.get_tls_config_for_role("worker")
    return "".join(
        f" --tls-{name.replace('_', '-')} {_quote_word(str(value))}"
        for name, value in files.items()
        if name != "ciphers" and value is not None
    )
