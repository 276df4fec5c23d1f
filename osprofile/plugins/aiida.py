"""AiiDA's jobs on any batch system that has a profile. See docs/plugins/aiida.md.

    verdi computer setup --scheduler osprofile ...

AiiDA runs the commands below on the computer, where osprofile is installed. Written against aiida-core 2.9.
"""

import json
import math
import shlex
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from aiida.engine import CalcJob, ExitCode
from aiida.schedulers import (
    BashCliScheduler,
    JobInfo,
    JobState,
    JobTemplate,
    MachineInfo,
    Scheduler,
    SchedulerError,
)
from aiida.schedulers.plugins.slurm import SlurmJobResource

import osprofile

__all__ = ["OSProfileScheduler"]

_PREFIX: Final = "#OSPROFILE "
"""How a line begins that has options of `incarnate job submit`."""
_UNKNOWN_JOB: Final = 2
"""The exit code of `incarnate job list` if there is a job that nobody knows; the others are listed."""
_STATES: Final = {
    osprofile.JobState.QUEUED: JobState.QUEUED,
    osprofile.JobState.HELD: JobState.QUEUED_HELD,
    osprofile.JobState.RUNNING: JobState.RUNNING,
    osprofile.JobState.DONE: JobState.DONE,
    osprofile.JobState.FAILED: JobState.DONE,
    osprofile.JobState.REMOVED: JobState.DONE,
    osprofile.JobState.LOST: JobState.DONE,
}
_EXIT_CODES: Final[Mapping[str, ExitCode]] = {
    osprofile.EndCause.MEMORY: CalcJob.exit_codes.ERROR_SCHEDULER_OUT_OF_MEMORY,
    osprofile.EndCause.TIME: CalcJob.exit_codes.ERROR_SCHEDULER_OUT_OF_WALLTIME,
    osprofile.EndCause.NODE: CalcJob.exit_codes.ERROR_SCHEDULER_NODE_FAILURE,
}
_TIMES: Final = {"submission_time": "submitted", "dispatch_time": "started", "finish_time": "ended"}
_OTHER_END: Final = 199
"""The exit status for any other end that is not the program's own, in the range that AiiDA keeps for schedulers."""


class OSProfileScheduler(BashCliScheduler):
    """Support for every batch system that osprofile has a profile of."""

    _logger = Scheduler._logger.getChild("osprofile")  # noqa: SLF001  # as in AiiDA's own
    _features = {"can_query_by_user": False}  # noqa: RUF012  # AiiDA's
    # Nodes, processes of each, and processors of each process: Slurm's has these three, and checks that they agree.
    _job_resource_class = SlurmJobResource

    def _get_submit_script_header(self, job_tmpl: JobTemplate) -> str:
        """Return the line with the options, then the user's own lines, such as directives of the batch system."""
        own_text = job_tmpl.custom_scheduler_commands or ""
        lines = [*(job_tmpl.prepend_text or "").split("\n"), *own_text.split("\n")]
        given = [shlex.split(line.removeprefix(_PREFIX)) for line in lines if line.startswith(_PREFIX)]
        options = [*_list_options(job_tmpl), *(word for words in given for word in words)]
        if broken := [option for option in options if "\n" in option]:
            raise ValueError(f"{broken[0]!r} has a line end")
        return "\n".join([_PREFIX + shlex.join(options), own_text])

    def _get_submit_command(self, submit_script: str) -> str:
        # The first such line is that of the header. No shell reads it: xargs understands the quotes of shlex.
        return (
            f"sed -n '/^{_PREFIX}/{{s///p;q;}}' ./{submit_script}"
            f""" | xargs sh -c 'exec incarnate job submit "$@" "$0"' ./{submit_script}"""
        )

    def _parse_submit_output(self, retval: int, stdout: str, stderr: str) -> str:
        words = stdout.split()
        if retval or not words:
            raise SchedulerError(f"The job was not submitted ({retval}): {stderr or stdout}")
        if stderr.strip():
            self.logger.warning("job %s: %s", words[-1], stderr.strip())
        return words[-1]

    def _get_joblist_command(self, jobs: list[str] | None = None, user: str | None = None) -> str:
        del user  # only this user's jobs are listed
        return shlex.join(["incarnate", "job", "list", "--json", "--", *(jobs or [])])

    def _parse_joblist_output(self, retval: int, stdout: str, stderr: str) -> list[JobInfo]:
        if retval not in {0, _UNKNOWN_JOB}:
            raise SchedulerError(f"The states of the jobs are not known ({retval}): {stderr or stdout}")
        if stderr.strip():
            self.logger.warning(stderr.strip())
        jobs = [_build_job_info(job) for job in _read_jobs(stdout, stderr) if job["id"]]
        # Two clusters may have the same id. AiiDA takes the last one: no job ends before it has.
        return sorted(jobs, key=lambda job: job.job_state is not JobState.DONE)

    def _get_kill_command(self, jobid: str) -> str:
        return shlex.join(["incarnate", "job", "cancel", "--", jobid])

    def _parse_kill_output(self, retval: int, stdout: str, stderr: str) -> bool:
        if text := (stderr + stdout).strip():
            self.logger.warning(text)
        return retval == 0

    def _get_detailed_job_info_command(self, job_id: str) -> str:
        return shlex.join(["incarnate", "job", "show", "--json", "--", job_id])

    def parse_output(
        self,
        detailed_job_info: dict[str, str | int] | None = None,
        stdout: str | None = None,
        stderr: str | None = None,
    ) -> ExitCode | None:
        """Return None for a job that ended by itself, whose output the parser judges, else the exit code that says why."""
        del stdout, stderr  # the batch system's state says more than words in the job's output
        if detailed_job_info is None:
            return ExitCode(_OTHER_END, "How the job ended is not known.", invalidates_cache=True)
        (job,) = _read_jobs(str(detailed_job_info["stdout"]), str(detailed_job_info["stderr"]))
        if job["state"] == osprofile.JobState.DONE:
            return None
        words = [job["cause"], job["reason"]]
        message = f"The job is {job['state']}: {', '.join(filter(None, words)) or 'nothing more is known'}."
        return _EXIT_CODES.get(job["cause"], ExitCode(_OTHER_END, message, invalidates_cache=True))


def _list_options(job_tmpl: JobTemplate) -> list[str]:
    """Return the options of `incarnate job submit` for a job; raise `ValueError` if it is to be held."""
    if job_tmpl.submit_as_hold:
        raise ValueError("submit_as_hold: no profile submits a job as held; hold it by incarnate job hold")
    resource, memory = job_tmpl.job_resource, job_tmpl.max_memory_kb
    is_parallel = resource.get_tot_num_mpiprocs() > 1  # profiles for one machine have no field for the nodes
    events = {"begin": job_tmpl.email_on_started, "end,fail": job_tmpl.email_on_terminated}
    values = {
        "--key": f"aiida-{uuid.uuid4()}",  # AiiDA repeats a submission that failed
        "--name": osprofile.build_job_name(job_tmpl.job_name or "aiida"),
        "--queue": job_tmpl.queue_name,
        "--project": job_tmpl.account,
        "--qos": job_tmpl.qos,
        "--priority": job_tmpl.priority,
        "--nodes": resource.num_machines if is_parallel else None,
        "--processes": resource.get_tot_num_mpiprocs() if is_parallel else None,
        "--cpus": resource.num_cores_per_mpiproc,
        "--memory": math.ceil(memory / 1024) if memory else None,
        "--walltime": job_tmpl.max_wallclock_seconds,
        "--stdout": job_tmpl.sched_output_path,
        "--stderr": job_tmpl.sched_output_path if job_tmpl.sched_join_files else job_tmpl.sched_error_path,
        "--notify": job_tmpl.email,
        "--notify-events": ",".join(name for name, is_wanted in events.items() if is_wanted),
    }
    options = [f"{option}={value}" for option, value in values.items() if value not in {None, ""}]
    return [*options, *["--requeue"] * bool(job_tmpl.rerunnable)]


def _read_jobs(stdout: str, stderr: str) -> list[dict[str, Any]]:
    try:
        jobs: list[dict[str, Any]] = json.loads(stdout)
    except ValueError:
        raise SchedulerError(f"This is not the output of incarnate: {stdout or stderr}") from None
    return jobs


def _build_job_info(job: dict[str, Any]) -> JobInfo:
    state = _STATES.get(job["state"], JobState.UNDETERMINED)
    if state is JobState.QUEUED_HELD and not job["started"] is job["elapsed"] is None:
        state = JobState.SUSPENDED
    info = JobInfo()
    info.job_id = job["id"]
    info.title = job["name"]
    info.job_state = state
    info.job_substate = job["native_state"]
    info.annotation = job["reason"]
    info.exit_status = job["exit_code"]
    info.terminating_signal = job["signal"]
    info.allocated_machines = [MachineInfo({"name": host}) for host in job["hosts"]]
    info.cpu_time = job["cpu_time"]
    if job["elapsed"] is not None:
        info.wallclock_time_seconds = int(job["elapsed"])
    elif job["started"] is not None:
        info.wallclock_time_seconds = int((job["ended"] or time.time()) - job["started"])
    for attribute, name in _TIMES.items():
        if job[name] is not None:
            info[attribute] = datetime.fromtimestamp(job[name], UTC)
    return info
