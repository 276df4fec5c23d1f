"""The executor plugin of Snakemake: each job of a workflow is a job of a profile. See docs/plugins/snakemake.md.

    snakemake --executor osprofile --osprofile-profile slurm --jobs 100

Written against snakemake-interface-executor-plugins 9 (`RemoteExecutor`).
"""

# Annotations are not postponed here: Snakemake reads the types of ExecutorSettings when it makes options of them.
import asyncio
import functools
import os
import shlex
import threading
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.logging import LoggerExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase
from snakemake_interface_executor_plugins.utils import encode_target_jobs_cli_args, format_cli_arg
from snakemake_interface_executor_plugins.workflow import WorkflowExecutorInterface

import osprofile
from osprofile.caller_environment import copy_environment
from osprofile.plugins.messages import describe_end, format_error

common_settings: Final = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    # the field ENVIRONMENT has them: Snakemake would quote them for Python, not for a shell
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
)
"""What Snakemake has to know of this executor."""

_FIELD_BY_RESOURCE: Final[Mapping[str, str]] = {
    "cpus_per_task": "CPUS",
    "mem_mb": "MEMORY",
    "runtime": "WALLTIME",
    "nodes": "NODES",
    "tasks": "PROCESSES",
    "gpu": "GPUS",
    "gpu_model": "GPU_TYPE",
    "queue": "QUEUE",
    "partition": "QUEUE",
    "slurm_partition": "QUEUE",
    "account": "PROJECT",
    "slurm_account": "PROJECT",
    "qos": "QOS",
    "constraint": "CONSTRAINT",
    "reservation": "RESERVATION",
    "cluster": "CLUSTER",
    "clusters": "CLUSTER",
    "slurm_cluster": "CLUSTER",
}
_FIELD_PREFIX: Final = "osprofile_"
"""Prefix of the resources for all other fields."""
_HINT_BY_REFUSED_RESOURCE: Final[Mapping[str, str]] = {
    "gres": "give the number of GPUs by gpu, and their type by gpu_model",
    "gpu_manufacturer": "give the type of the GPUs by gpu_model",
    "cpus_per_gpu": "give threads or cpus_per_task",
    "tasks_per_gpu": "give tasks",
    "tasks_per_node": "give tasks: the number on all nodes together",
}
"""Resources of other executors that ask for something and have no field."""
_EXECUTORS_FIELDS: Final = frozenset(
    {
        "ARGUMENTS", "ARRAY", "DEPENDENCY", "DIRECTORY", "ENVIRONMENT",
        "EXECUTABLE", "JOB_NAME", "STDERR", "STDIN", "STDOUT",
    }
)  # fmt: skip
"""Fields that this executor sets itself, or that would make something else than one job of a rule's job."""
_MAX_STATUS_AGE: Final = 1.0
"""Seconds for which an answer is used again: Snakemake may check as often as a hundred times a second."""


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]  # the interface has no types
    """The options of this executor; on the command line, each begins with `--osprofile-`."""

    profile: Optional[str] = field(  # noqa: UP045  # Snakemake knows no other form
        default=None,
        metadata={
            "help": "The name of the OS Profile that describes the batch system: linux, slurm, pbs, ... "
            "(`incarnate show --list` lists them).",
            "required": True,
        },
    )
    context: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Values for all jobs, as NAME=VALUE: SSH:HOST for another host that shares this file system, "
            "CLUSTER for one of several clusters, and the fields of a user's profile.",
            "nargs": "+",
        },
    )
    store: Optional[str] = field(  # noqa: UP045
        default=None, metadata={"help": "The file that records the jobs (default: that of `incarnate job`)."}
    )
    retry: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Rules by which a job is submitted again after an end by a cause, as in 'MEMORY: memory*2, at most 2' "
            "NODE. Snakemake's --retries counts the end of the last attempt.",
            "nargs": "+",
        },
    )
    logdir: str = field(
        default=".snakemake/osprofile_logs",
        metadata={"help": "The directory for the output of the jobs, relative to the workflow's directory."},
    )


class Executor(RemoteExecutor):  # type: ignore[misc]  # the interface has no types
    """Runs the jobs of a workflow through a profile; Snakemake makes one for each workflow."""

    def __init__(self, workflow: WorkflowExecutorInterface, logger: LoggerExecutorInterface) -> None:
        # Not in __post_init__: the base class has started a thread by then, which would never end.
        settings = workflow.executor_settings or ExecutorSettings()
        if not settings.profile:
            raise WorkflowError(
                "no profile is given: use --osprofile-profile, as in --osprofile-profile slurm"
            )
        if not workflow.storage_settings.assume_common_workdir:
            raise WorkflowError(
                "the executor osprofile runs jobs in the workflow's directory, which all nodes must share: "
                "leave --shared-fs-usage out, or give at least input-output"
            )
        if settings.retry and workflow.remote_execution_settings.immediate_submit:
            raise WorkflowError(
                "--osprofile-retry needs Snakemake to follow the jobs: leave --immediate-submit out"
            )
        self._retry = _check_rules(settings.retry)
        self._context = _parse_context(settings.context)
        self._run_id = uuid.uuid4().hex[:8]
        self._log_directory = Path(workflow.workdir_init, settings.logdir, self._run_id)
        self._sessions: dict[str, osprofile.JobSession] = {}
        self._submitting: set[str] = set()
        self._live_jobs: set[osprofile.Job] = set()
        self._live_lock = threading.Lock()
        self._job_by_output: dict[str, osprofile.Job] = {}
        self._profile_name = settings.profile
        self._store = settings.store
        self._get_session(self._context.get("CLUSTER", ""))
        super().__init__(workflow, logger)

    def _get_session(self, cluster: str) -> osprofile.JobSession:
        """Return the session for one of several clusters; with an empty name, for the default one."""
        if cluster not in self._sessions:
            context = {**self._context, **({"CLUSTER": cluster} if cluster else {})}
            try:
                self._sessions[cluster] = osprofile.JobSession(self._profile_name, context, store=self._store)
            except osprofile.OSProfileError as error:
                raise WorkflowError(format_error(error)) from None
        return self._sessions[cluster]

    # Submitting

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submit a job, or a group of jobs, which is one job of the batch system."""
        self._submit_jobs([job])

    def run_jobs(self, jobs: list[JobExecutorInterface]) -> None:
        """Submit jobs side by side."""
        for job in jobs:
            self.run_job_pre(job)
        self._submit_jobs(jobs)

    def _submit_jobs(self, jobs: Iterable[JobExecutorInterface]) -> None:
        by_session: dict[osprofile.JobSession, list[tuple[Any, osprofile.JobDescription]]] = {}
        for job in jobs:
            try:
                cluster, description = self._describe_job(job)
                session = self._get_session(cluster or self._context.get("CLUSTER", ""))
            except WorkflowError as error:
                self.report_job_error(SubmittedJobInfo(job), msg=f"{error} ")
                continue
            by_session.setdefault(session, []).append((job, description))
        for session, submissions in by_session.items():
            self._submit_to_session(session, submissions)

    def _submit_to_session(
        self, session: osprofile.JobSession, submissions: list[tuple[Any, osprofile.JobDescription]]
    ) -> None:
        keys = [f"snakemake-{self._run_id}-{job.jobid}-{job.attempt}" for job, _ in submissions]
        # cancel_jobs looks for what was submitted if this is interrupted
        self._submitting.update(keys)
        errors: Mapping[int, osprofile.OSProfileError] = {}
        try:
            submitted = session.submit_many([description for _, description in submissions], keys=keys)
            job_ids: list[str | None] = [job.id for job in submitted]
        except osprofile.SubmissionsFailedError as failure:
            job_ids, errors = list(failure.job_ids), failure.errors
        # If some are refused, none is submitted: the others have no error, and are submitted without them.
        others = [s for n, s in enumerate(submissions) if job_ids[n] is None and n not in errors]
        for number, (job, description) in enumerate(submissions):
            job_id = job_ids[number]
            if job_id is None and number not in errors:
                continue
            if job_id is not None:
                self._register_job(job, session.get_job(job_id), description.stdout or "")
                self._submitting.discard(keys[number])
                kind = "group job" if job.is_group() else "job"
                self._tell("info", f"Submitted {kind} {job.jobid} with external jobid '{job_id}'.")
            elif isinstance(errors[number], osprofile.OutcomeUnknownError):
                # A second attempt could run at the same time as this one.
                raise WorkflowError(
                    f"it is not known whether job {job.jobid} ({job.name}) was submitted: {format_error(errors[number])}"
                )
            else:
                self._submitting.discard(keys[number])
                message = f"job {job.jobid} was not submitted: {format_error(errors[number])}. "
                self.report_job_error(SubmittedJobInfo(job), msg=message)
        if others:
            self._submit_to_session(session, others)

    def _register_job(self, job: JobExecutorInterface, external: osprofile.Job, log: str) -> None:
        with self._live_lock:
            self._live_jobs.add(external)
        self._job_by_output.update((str(path), external) for path in job.output)
        self.report_job_submission(
            SubmittedJobInfo(job, external_jobid=external.id, aux={"job": external, "log": log})
        )

    def _describe_job(self, job: JobExecutorInterface) -> tuple[str, osprofile.JobDescription]:
        """Return the name of the cluster, empty for the default one, and the description of a job."""
        _check_wildcards(job)
        script = self.get_jobscript(job)
        try:
            self.write_jobscript(job, script)
            self._log_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkflowError(f"job {job.jobid} was not submitted: {error}") from None
        name = osprofile.build_job_name(self.get_jobname(job))
        log = str(self._log_directory / f"{name}.{job.attempt}.log")
        cluster, fields = map_resources(job.resources, job.threads)
        before: set[str] = set()
        if self.workflow.remote_execution_settings.immediate_submit:
            before = {self._job_by_output[str(f)].id for f in job.input if str(f) in self._job_by_output}
        return cluster, osprofile.JobDescription(
            executable=script,
            environment=self._build_environment(fields),
            stdout=log,
            stderr=log,
            name=name,
            after_ok=sorted(before),
            directory=self.workflow.workdir_init,
            fields=fields,
            retry=self._retry,
        )

    def _build_environment(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of this process, and those that the workflow declares."""
        # With TMP_DIR, a job has a TMPDIR of its own.
        omitted = {"TMPDIR"} if "TMP_DIR" in fields else set()
        inherited = {k: v for k, v in copy_environment(os.environ).items() if k not in omitted}
        if "SNAKEMAKE_PROFILE" in inherited:
            # With that profile, the Snakemake of a job would submit jobs, too. On profile linux, a job inherits it.
            inherited["SNAKEMAKE_PROFILE"] = "none"
        return {**inherited, **self.envvars()}

    # What the base class makes of a job

    def get_jobscript(self, job: JobExecutorInterface) -> str:
        """Return the path of a job's script; the user's `--jobname` is no part of it."""
        return os.path.join(self.tmpdir, f"snakejob.{job.jobid}.sh")

    def get_snakefile(self) -> object:
        """Return the Snakefile: a path, which the base class quotes for a shell, or an address."""
        return self.snakefile if "://" in str(self.snakefile) else Path(self.snakefile)

    def get_job_args(self, job: JobExecutorInterface) -> str:
        """Return the options of the job's own Snakemake.

        The base class quotes values as Python does; a shell runs what is in $(...) between double quotes.
        """
        args = str(super().get_job_args(job))
        for option, values in (
            ("--target-jobs", encode_target_jobs_cli_args(job.get_target_spec())),
            ("--unneeded-temp-files", list(self.workflow.dag.get_unneeded_temp_files(job))),
            ("--wait-for-files", [self.tmpdir, *job.get_wait_for_files()]),
        ):
            unquoted = format_cli_arg(option, values)
            if unquoted and unquoted in args:
                args = args.replace(unquoted, f"{option} {shlex.join(map(str, values))}", 1)
            elif f"{option} " in args:
                raise WorkflowError(f"the values of {option} of job {job.jobid} cannot be quoted for a shell")
        return args

    # Watching

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Report the jobs that have ended, and yield the others."""
        by_session: dict[osprofile.JobSession, list[SubmittedJobInfo]] = {}
        for info in active_jobs:
            by_session.setdefault(info.aux["job"].session, []).append(info)
        for session, infos in by_session.items():
            async with self.status_rate_limiter:
                answers = await asyncio.to_thread(self._query_jobs, session, infos)
            for info in infos:
                status = answers[info.external_jobid]
                if status is None or not status.state.is_terminal:
                    yield info
                elif attempt := await asyncio.to_thread(self._find_next_attempt, info, status):
                    yield attempt
                else:
                    self._report_end(info, status)

    def _query_jobs(
        self, session: osprofile.JobSession, infos: list[SubmittedJobInfo]
    ) -> dict[str, osprofile.JobStatus | None]:
        """Return the statuses of jobs, None for one that is not known at the moment."""
        ids = [info.external_jobid for info in infos]
        try:
            answers = session.run(lambda target: target.statuses_or_errors(ids, max_age=_MAX_STATUS_AGE))
        except osprofile.OSProfileError as error:
            self._tell("warning", f"The jobs' states are not known at the moment: {format_error(error)}")
            return {job_id: session.get_cached_status(job_id) for job_id in ids}
        statuses: dict[str, osprofile.JobStatus | None] = {}
        for job_id in ids:
            answer = answers.get(job_id)
            if answer is None:
                # neither the batch system nor the record knows it: it will never be known
                answer = osprofile.JobStatus(job_id, osprofile.JobState.LOST, reason="nobody knows this job")
            elif isinstance(answer, osprofile.OSProfileError):
                self._tell(
                    "warning", f"The state of job {job_id} is not known at the moment: {answer.message}"
                )
                answer = session.get_cached_status(job_id)
            statuses[job_id] = answer
        return statuses

    def _find_next_attempt(
        self, info: SubmittedJobInfo, status: osprofile.JobStatus
    ) -> SubmittedJobInfo | None:
        """Return what takes the place of an ended job that a rule submits again; None if none does."""
        if not self._retry or status.state not in {osprofile.JobState.FAILED, osprofile.JobState.LOST}:
            return None
        old = info.aux["job"]
        try:
            job_id = old.session.run(lambda target: target.retry(old.id))
        except osprofile.OSProfileError as error:
            self._tell("error", f"Job {old.id} is not submitted again: {format_error(error)}")
            return None
        if job_id is None:
            return None
        self._tell("warning", f"Job {old.id}: {describe_end(status)}; submitted again as job {job_id}.")
        job = old.session.get_job(job_id)
        with self._live_lock:
            self._live_jobs.discard(old)
            self._live_jobs.add(job)
        return SubmittedJobInfo(info.job, external_jobid=job_id, aux={**info.aux, "job": job})

    def _report_end(self, info: SubmittedJobInfo, status: osprofile.JobStatus) -> None:
        with self._live_lock:
            self._live_jobs.discard(info.aux["job"])
        if status.state is osprofile.JobState.DONE and status.exit_code == 0:
            self.report_job_success(info)
            return
        log = info.aux["log"]
        message = f"Job {info.external_jobid} of profile {self._profile_name}: {describe_end(status)}. Its output is in {log}."
        self.report_job_error(info, msg=f"{message} ", aux_logs=[log])

    def report_job_error(self, job_info: SubmittedJobInfo, msg: str | None = None, **details: Any) -> None:  # noqa: ANN401  # as in the base class
        """Report a job that has failed or was not submitted."""
        if job_info.job.is_group() and msg:
            self._tell("error", msg)  # Snakemake does not print the message of a group
        super().report_job_error(job_info, msg=msg, **details)

    def _tell(self, level: str, message: str) -> None:
        """Log a message. It is formatted before: Snakemake's log has no arguments."""
        getattr(self.logger, level)(message)

    # Ending

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """Remove all jobs that have not ended, also those that the base class does not know at the moment."""
        with self._live_lock:
            jobs = self._live_jobs | {info.aux["job"] for info in active_jobs}
            self._live_jobs.clear()
        for session in self._sessions.values():
            mine = {job.id for job in jobs if job.session is session}
            if mine or self._submitting:
                abort = functools.partial(_abort_jobs, job_ids=mine, keys=self._submitting)
                for message in session.run(abort):
                    self._tell("error", message)

    def shutdown(self) -> None:
        """Stop watching. Jobs that have not ended are removed: the thread that watches has failed."""
        if not self.workflow.remote_execution_settings.immediate_submit and self._live_jobs:
            self.cancel_jobs([])
        super().shutdown()
        for session in self._sessions.values():
            session.close()


async def _abort_jobs(target: osprofile.TargetSystem, job_ids: set[str], keys: set[str]) -> list[str]:
    """Remove jobs, and those of interrupted submissions with these keys; return what failed."""
    messages = []
    if keys:
        messages = [
            f"It is not known whether a job was submitted in {found.record.directory}: {format_error(found.error)}"
            for found in await target.recover_submissions(resubmit=False)
            if found.record.key in keys and found.error is not None
        ]
        records = [target.find_by_key(key) for key in keys]
        job_ids = job_ids | {r.status.job_id for r in records if r is not None and r.is_submitted}

    async def abort(job_id: str) -> str | None:
        try:
            await target.abort_unless_ended(target.list_attempts(job_id)[-1])
        except osprofile.OSProfileError as error:
            return f"Job {job_id} may still run: {format_error(error)}"
        return None

    results = await asyncio.gather(*map(abort, job_ids))
    return messages + [message for message in results if message is not None]


def _check_wildcards(job: JobExecutorInterface) -> None:
    """Raise `WorkflowError` for a wildcard that Snakemake would change on the way: the job would write another file."""
    for target in job.get_target_spec():
        for name, value in target.wildcards_dict.items():
            if value != value.strip("'\""):
                raise WorkflowError(
                    f"job {job.jobid} was not submitted: Snakemake cannot pass the wildcard {name}={value!r} to a job, "
                    "as it begins or ends with a quote"
                )


def map_resources(resources: Mapping[str, Any], threads: int) -> tuple[str, dict[str, str]]:
    """Return the cluster, empty for the default one, and the values of fields for a job's resources.

    Raises `WorkflowError` with the resource's name for what has no field, and for two resources that
    set one field to different values. The values themselves are checked by the profile.
    """
    fields = {"CPUS": str(threads)}
    origins: dict[str, str] = {}
    for name, value in resources.items():
        field_name = _get_field(name)
        # empty, or not known before the job runs
        if field_name is None or value is None or str(value) in {"", "<TBD>"} or (name, value) == ("gpu", 0):
            continue
        text = _format_value(name, value)
        if field_name in origins and fields[field_name] != text:
            raise WorkflowError(
                f"resources {origins[field_name]} and {name} set the field {field_name} to different values, "
                f"{fields[field_name]!r} and {text!r}: leave one of them out"
            )
        origins[field_name], fields[field_name] = name, text
    if "GPUS" not in fields and origins.get("GPU_TYPE") == "gpu_model":
        del fields["GPU_TYPE"]  # a default for the jobs of the workflow that use GPUs
    if resources.get("mem_mb_per_cpu"):
        fields["MEMORY"] = _multiply_memory(resources["mem_mb_per_cpu"], fields)
    return fields.pop("CLUSTER", ""), fields


def _get_field(resource: str) -> str | None:
    """Return the field of a resource, None for one of Snakemake's own scheduling."""
    if resource in _FIELD_BY_RESOURCE:
        return _FIELD_BY_RESOURCE[resource]
    if resource.startswith(_FIELD_PREFIX):
        name = resource.removeprefix(_FIELD_PREFIX).upper()
        if name in _EXECUTORS_FIELDS:
            raise WorkflowError(f"resource {resource}: the executor sets the field {name} itself")
        return name
    if resource in _HINT_BY_REFUSED_RESOURCE or resource.startswith("slurm_"):
        hint = _HINT_BY_REFUSED_RESOURCE.get(
            resource, f"use {_FIELD_PREFIX}FIELD=VALUE, with a field of the profile"
        )
        raise WorkflowError(f"resource {resource}: the executor osprofile cannot map it; {hint}")
    return None


def _format_value(name: str, value: object) -> str:
    if name == "runtime":
        if not isinstance(value, int):
            raise WorkflowError(f"resource runtime: {value!r} is not a whole number of minutes")
        return str(value * 60)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _multiply_memory(per_cpu: object, fields: Mapping[str, str]) -> str:
    """Return the memory of a node, from that of a processor: a node has its share of the processes, rounded up."""
    try:
        processes = -(-int(fields.get("PROCESSES", "1")) // int(fields.get("NODES", "1")))
        return str(int(str(per_cpu)) * int(fields["CPUS"]) * processes)
    except (ValueError, ZeroDivisionError):
        raise WorkflowError(
            f"resource mem_mb_per_cpu: {per_cpu!r} cannot be multiplied by the processors of a node; "
            "give whole numbers, or mem_mb"
        ) from None


def _check_rules(rules: list[str]) -> list[str]:
    try:
        osprofile.parse_retries(rules)
    except osprofile.OSProfileError as error:
        raise WorkflowError(f"--osprofile-retry: {format_error(error)}") from None
    return rules


def _parse_context(words: Iterable[str]) -> dict[str, str]:
    context = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise WorkflowError(f"--osprofile-context {word!r} is not NAME=VALUE, as in CLUSTER=west")
        context[name] = value
    return context
