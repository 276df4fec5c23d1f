"""Cylc's jobs on any batch system that has a profile. See docs/plugins/cylc.md.

    [platforms]
        [[mycluster]]
            job runner = osprofile.plugins.cylc

Cylc imports this module, and runs the commands below where it submits jobs. Written against cylc-flow 8.5.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any, Final

import osprofile

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JOB_RUNNER_HANDLER"]

_PREFIX: Final = "#OSPROFILE "
"""How the line of a job file begins that has the options of `incarnate job submit`."""
_INCARNATE: Final = os.path.join(sysconfig.get_path("scripts"), "incarnate")
"""The command beside the interpreter of Cylc: a wrapper may start Cylc with a PATH that does not have it."""
_ENDED: Final = {state for state in osprofile.JobState if state.is_terminal}


class OSProfileHandler:
    """What Cylc asks of a job runner; see `ExampleHandler` in `cylc.flow.job_runner_handlers.documentation`."""

    KILL_CMD_TMPL = shlex.quote(_INCARNATE).replace("%", "%%") + " job cancel -- '%(job_id)s'"
    REC_ID_FROM_SUBMIT_OUT = re.compile(r"(?P<id>\S+)\s*\Z")

    @staticmethod
    def format_directives(job_conf: Mapping[str, Any]) -> list[str]:
        """Return the line with the options of a job: Cylc's own, then the task's directives."""
        cycle, _, task = job_conf["task_id"].partition("/")
        options = {"name": osprofile.build_job_name(f"{task}.{cycle}.{job_conf['workflow_name']}")}
        if limit := job_conf["execution_time_limit"]:
            options["walltime"] = str(math.ceil(limit))
        options |= {key.removeprefix("--"): value for key, value in job_conf["directives"].items()}
        words = [f"--{key}={value}" if value else f"--{key}" for key, value in options.items()]
        if broken := [word for word in words if "\n" in word]:
            message = f"the directive {broken[0]!r} has a line end"
            raise ValueError(message)
        return [_PREFIX + shlex.join(words)]

    @staticmethod
    def submit(job_file_path: str, submit_opts: Mapping[str, Any]) -> tuple[int, str, str]:
        """Submit a job file; return the exit code and what was printed. Submitted again, the same file is the same job."""
        # newline: a value may have a carriage return.
        with open(job_file_path, encoding="utf-8", newline="\n") as file:
            line = next(line for line in file if line.startswith(_PREFIX))
            written = os.fstat(file.fileno()).st_mtime_ns
        options = [f"--key=cylc:{job_file_path}:{written}", *shlex.split(line.removeprefix(_PREFIX))]
        options += [
            f"--stdout={job_file_path}.out",
            f"--stderr={job_file_path}.err",
        ]  # where Cylc looks for them
        try:
            done = subprocess.run(
                [_INCARNATE, "job", "submit", *options, job_file_path],
                cwd=os.path.expanduser("~"),  # as for Cylc's own job runners
                env=submit_opts.get("env"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            return 1, "", str(error)
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def get_poll_many_cmd(job_ids: list[str]) -> list[str]:
        """Return the command that prints the states of jobs."""
        return [_INCARNATE, "job", "list", "--json", "--", *job_ids]

    @staticmethod
    def filter_poll_many_output(out: str) -> list[str]:
        """Return the ids of the jobs that have not ended. If the query failed, it is an error: no job has ended then."""
        return [job["id"] for job in json.loads(out) if job["state"] not in _ENDED]


JOB_RUNNER_HANDLER: Final = OSProfileHandler()
