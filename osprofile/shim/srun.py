"""`srun` inside a job: one task, which becomes this process. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, OptionValue, UsageError, parse_words
from osprofile.job_scripts.sbatch import SBATCH_TABLE
from osprofile.shim.command import Command, print_error
from osprofile.shim.job_wrapper import STEPS_VARIABLE, expand_slurm_path, get_caller_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

_OF_SBATCH: Final = frozenset(
    {
        "project", "directory", "constraint", "cpus", "stderr", "exclusive", "export", "gpus", "gpus.job", "gpus.gres",
        "stdin", "memory", "memory.cpu", "name", "nodes", "processes", "per_node", "open_mode", "stdout", "queue", "qos",
        "quiet", "reservation", "walltime", "dropped",
    }
)  # fmt: skip
"""What a step of a job has, too: the step is on the job's node, and may use what the job has."""
_TABLE: Final = (
    *(option for option in SBATCH_TABLE if option.name in _OF_SBATCH),
    Option("jobid", ("--jobid",), "ID", "that of this job"),
    *(
        Option("dropped", flags, value, "changes nothing", is_optional=is_optional)
        for flags, value, is_optional in (
            (("--cpu-bind",), "TYPE", False),
            (("--exact",), "", False),
            (("--gpu-bind",), "TYPE", False),
            (("--gpus-per-task",), "N", False),
            (("-K", "--kill-on-bad-exit"), "0|1", True),
            (("--mem-bind",), "TYPE", False),
            (("--mpi",), "TYPE", False),
            (("--overlap",), "", False),
            (("-s", "--oversubscribe"), "", False),
            (("--threads-per-core",), "N", False),
            (("-u", "--unbuffered"), "", False),
            (("-W", "--wait"), "SECONDS", False),
        )
    ),
)
_NOT_FOUND_CODE: Final = 2
"""The exit code of a task whose program cannot be started."""


def _run_srun(_client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=True)
    number = os.environ.get("SLURM_JOB_ID", "")
    if not line.operands:
        raise UsageError("no program is given", hint="as in srun hostname")
    if not number:
        message = "this is not inside a job, and no resources can be allocated"
        raise UsageError(message, hint="submit a script that calls srun by sbatch; --wait waits for its end")
    jobid = line.get("jobid")
    if jobid is not None and jobid.text != number:
        raise UsageError(f"{jobid}: this is job {number}", hint="call srun from inside the job")
    _refuse_several_tasks(line.get("processes"), line.get("per_node"), line.get("nodes"))
    letters = {"j": number, "A": os.environ.get("SLURM_ARRAY_JOB_ID", number), "J": f"{number}.0", "s": "0"}
    letters |= {"a": os.environ.get("SLURM_ARRAY_TASK_ID", "4294967294"), "n": "0", "t": "0"}
    letters |= {"x": os.environ.get("SLURM_JOB_NAME", ""), "u": os.environ.get("SLURM_JOB_USER", "")}
    letters |= {"N": os.environ.get("SLURMD_NODENAME", "")}
    directory = line.get_text("directory")
    if directory is not None:
        os.chdir(directory)
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if line.get_text("open_mode") == "append" else os.O_TRUNC)
    # The errors go where the output goes, unless --error names another file.
    output, error = line.get("stdout"), line.get("stderr") or line.get("stdout")
    _redirect(line.get("stdin"), 0, os.O_RDONLY, letters)
    _redirect(output, 1, flags, letters)
    if output is not None and error is output:
        os.dup2(1, 2)
    else:
        _redirect(error, 2, flags, letters)
    _record_step()
    os.environ |= {
        "PATH": get_caller_path(),
        **dict.fromkeys(
            ("SLURM_STEP_ID", "SLURM_STEPID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"), "0"
        ),
        **dict.fromkeys(
            ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES"), "1"
        ),
        "SLURM_STEP_TASKS_PER_NODE": "1",
    }
    try:
        os.execvp(line.operands[0], list(line.operands))  # noqa: S606  # without a shell
    except OSError as problem:
        print_error("srun", f"error: execve(): {line.operands[0]}: {problem.strerror}")
        return _NOT_FOUND_CODE


def _refuse_several_tasks(*options: OptionValue | None) -> None:
    given = [option for option in options if option is not None]
    asked = given or [OptionValue(n, os.environ[n]) for n in ("SLURM_NTASKS",) if n in os.environ]
    for option in asked:
        if quantities.parse_count(option._replace(text=re.sub("^1-1$", "1", option.text))) > 1:
            message = f"{option} {option.text}: several tasks are not started by this stand-in"
            raise UsageError(message, hint="give -n 1 for one, or start them by mpirun")


def _redirect(option: OptionValue | None, descriptor: int, flags: int, letters: dict[str, str]) -> None:
    """Make a descriptor that of a file; `all` and `0` mean this task, `none` is no file."""
    if option is None or option.text in {"all", "0"}:
        return
    path = "/dev/null" if option.text == "none" else expand_slurm_path(option.flag, option.text, letters)
    try:
        opened = os.open(path, flags, 0o666)
    except OSError as error:
        message = f"{option}: {path} cannot be opened: {error.strerror}"
        raise UsageError(message, hint="give the path of a file in a directory that exists") from None
    os.dup2(opened, descriptor)
    os.close(opened)


def _record_step() -> None:
    """Add this process to the file of the job's wrapper, for `sbatch --signal`."""
    path = os.environ.pop(STEPS_VARIABLE, "")
    if path:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            start = file.read().rpartition(")")[2].split()[19]
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {start}\n")


SRUN: Final = Command(_TABLE, "PROGRAM [ARGUMENT...]", _run_srun)
