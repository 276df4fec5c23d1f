"""`sbatch`. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    JobScript,
    OptionValue,
    UsageError,
    make_script,
    merge_lines,
    parse_directives,
    parse_words,
    read_directives,
    read_script,
    split_list,
)
from osprofile.job_scripts.sbatch import SBATCH_TABLE, SBATCH_VARIABLES, read_sbatch
from osprofile.job_scripts.script_request import Given, parse_variables
from osprofile.jobs.arrays import parse_array
from osprofile.jobs.request import quote_shell_words
from osprofile.jobs.state import JobState
from osprofile.shim.client import SCRIPT_NAME
from osprofile.shim.command import Command, get_submit_directory, print_submitted_job
from osprofile.shim.job_request import JobRequest, find_id, parse_signal, refuse_empty_array
from osprofile.shim.job_wrapper import STEPS_VARIABLE, Wrapper, format_slurm_path, select_environment
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.shim.client import Client

_OF_WRAPPER: Final = (
    "export", "signal", "stdin", "stdout", "stderr", "parsable", "quiet", "wait", "directory",
)  # fmt: skip
"""The options that are fulfilled here, and not by the batch system."""


def _run_sbatch(client: Client, words: Sequence[str]) -> int:
    command_line = parse_words(SBATCH_TABLE, words, ends_at_operand=True, keeps_others=True)
    script, arguments = _read_script(command_line)
    where = "line {} of the script: ".format
    directives = read_directives(script.text, "#SBATCH", where) if "wrap" not in command_line else []
    lines = parse_directives(SBATCH_TABLE, directives, keeps_others=True)
    options = merge_lines([*lines, _read_variables(os.environ), command_line])
    refuse_empty_array(options)
    request = _Request(client, options, script, arguments)
    number = request.submit()
    if "parsable" in options:
        print_submitted_job(number, str(number))
    elif "quiet" not in options:
        print_submitted_job(number, f"Submitted batch job {number}")
    if "wait" not in options:
        return 0
    status = client.wait_for_job(number)
    if status.state is JobState.DONE and status.exit_code is not None:
        return status.exit_code
    return 128 + status.signal if status.signal else 1


def _read_script(command_line: CommandLine) -> tuple[JobScript, Sequence[str]]:
    """Return the script of a command line, and the script's arguments."""
    operands = command_line.operands
    wrapped = command_line.get("wrap")
    if wrapped is None:
        path = operands[0] if operands else None
        return read_script(path, os.environ.get("PATH", "")), operands[1:]
    if operands:
        message = f"--wrap has a command, and {quote_name(operands[0])} is a script"
        raise UsageError(message, hint="leave one of them out")
    content = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{wrapped.text}\n"
    return make_script(content.encode("utf-8", "surrogateescape"), "wrap"), ()


def _read_variables(environment: Mapping[str, str]) -> CommandLine:
    """Return the options that the variables SBATCH_... set; one that is not known is refused."""
    lines = []
    for name, value in sorted(environment.items()):
        if name.startswith("SBATCH_"):
            if name not in SBATCH_VARIABLES:
                hint = f"unset it; supported are {', '.join(SBATCH_VARIABLES)}"
                raise UsageError(
                    f"the variable {quote_name(name)} is not supported by this stand-in", hint=hint
                )
            line = parse_words(SBATCH_TABLE, [f"{SBATCH_VARIABLES[name]}={value}"], ends_at_operand=False)
            lines.append(
                CommandLine(
                    {n: [v._replace(flag=name) for v in values] for n, values in line.options.items()}
                )
            )
    return merge_lines(lines)


@final
class _Request:
    """What the options of sbatch ask for. Raises `UsageError` for what is not supported."""

    def __init__(
        self, client: Client, options: CommandLine, script: JobScript, arguments: Sequence[str]
    ) -> None:
        self._client, self._options, self._script, self._arguments = client, options, script, arguments
        submit_directory = get_submit_directory()
        self.directory = os.path.join(submit_directory, options.get_text("directory") or "")
        self.directory = self.directory.rstrip("/") or "/"
        self._submit_directory = submit_directory
        self.name = options.get_text("name") or script.name or "sbatch"
        given = Given(user_name=client.user_name, default_nodes=1, find_id=lambda word: find_id(client, word))
        self._request = read_sbatch(options.leave_out(*_OF_WRAPPER), given)
        self._asked = dict(self._request.attributes)
        self.environment = self._get_environment()
        self.signal = self._get_signal()

    def _get_environment(self) -> dict[str, str]:
        """Return the variables that the submitter passes to the job."""
        option = self._options.get("export") or OptionValue("--export", "ALL")
        own = select_environment(os.environ)
        words = split_list(option)
        if words == ["NONE"]:
            return {}
        result = own if "ALL" in words else {}
        if any(word[:1] in {"", "="} or word in {"NONE", "NIL"} for word in words):
            hint = "ALL, NONE, or variables as in ALL,A=1,B"
            raise UsageError(f"{option}: {quote_value(option.text)} is not supported", hint=hint)
        return result | parse_variables((word for word in words if word != "ALL"), own)

    def _get_signal(self) -> tuple[str, int] | None:
        """Return a signal's name, and after how many seconds it is sent."""
        option = self._options.get("signal")
        if option is None:
            return None
        match = re.fullmatch(r"(?:B:)?([A-Za-z0-9]+)(?:@([0-9]{1,5}))?", option.text)
        name = parse_signal(match[1]) if match else None
        if match is None or name is None:
            hint = "as in B:USR2@30; without B:, it is for what srun starts"
            raise UsageError(f"{option}: {quote_value(option.text)} is not supported", hint=hint)
        if (walltime := self._asked.get("walltime")) is None:
            return None  # without a limit, nothing precedes it
        return name[0], max(0, walltime - int(match[2] or 60))

    # The submission

    def submit(self) -> int:
        """Submit the job and return its number."""
        request = JobRequest(
            script=self._script,
            name=self.name,
            directory=self.directory,
            environment=self.environment,
            asked=self._request,
            prefix="#SBATCH",
            format_wrapper=self._format_wrapper,
        )
        return request.submit(self._client, "sbatch")

    def _format_wrapper(self, number: int, directory: str) -> bytes:
        array = self._options.get_text("array")
        name, user = quote_shell_words([self.name]), quote_shell_words([self._client.user_name])
        index = '"$i"' if array else "4294967294"
        letters = {
            "j": str(number),
            "J": str(number),
            "A": str(number),
            "a": index,
            "x": name,
            "u": user,
            "N": '"$h"',
            "n": "0",
            "t": "0",
        }

        def format_path(option: OptionValue) -> str:
            directory = "" if option.text.startswith("/") else quote_shell_words([f"{self.directory}/"])
            return directory + format_slurm_path(option.flag, option.text, letters)

        steps = ""
        if self.signal is not None and not (self._options.get_text("signal") or "").startswith("B:"):
            steps = (
                f"{quote_shell_words([f'{directory}/steps'])}{'.' if array else ''}{index if array else ''}"
            )
        default = OptionValue("--output", "slurm-%A_%a.out" if array else "slurm-%j.out")
        error = self._options.get("stderr")
        return Wrapper(
            environment={**self.environment, **self._list_variables(number)},
            runtime_environment={
                **self._list_runtime_variables(number, array),
                **({STEPS_VARIABLE: steps} if steps else {}),
            },
            command=[*self._script.interpreter, f"{directory}/{SCRIPT_NAME}", *self._arguments],
            stdin=format_path(self._options.get("stdin") or OptionValue("--input", "/dev/null")),
            stdout=format_path(self._options.get("stdout") or default),
            stderr="" if error is None else format_path(error),
            appends=self._options.get_text("open_mode") == "append",
            signal=self.signal,
            steps_file=steps,
        ).format()

    def _list_variables(self, number: int) -> dict[str, str]:
        """Return the variables of Slurm that the job gets."""
        get, text = self._asked.get, self._options.get_text
        nodes, processes, cpus = (get(name) or 1 for name in ("nodes", "processes", "cpus"))
        tasks = -(-processes // nodes)  # rounded up
        per_cpu = self._options.get("memory.cpu")
        times = f"(x{nodes})" if nodes != 1 else ""
        variables = {
            "SLURM_JOB_ID": str(number),
            "SLURM_JOBID": str(number),
            "SLURM_JOB_NAME": self.name,
            "SLURM_JOB_USER": self._client.user_name,
            "SLURM_SUBMIT_DIR": self._submit_directory,
            "SLURM_SUBMIT_HOST": os.uname().nodename,
            "SLURM_JOB_PARTITION": text("queue"),
            "SLURM_JOB_ACCOUNT": text("project"),
            "SLURM_JOB_QOS": text("qos"),
            "SLURM_JOB_NUM_NODES": nodes,
            "SLURM_NNODES": nodes,
            "SLURM_TASKS_PER_NODE": f"{tasks}{times}",
            "SLURM_JOB_CPUS_PER_NODE": f"{tasks * cpus}{times}",
            "SLURM_CPUS_ON_NODE": str(tasks * cpus),
            "SLURM_NTASKS": get("processes"),
            "SLURM_NPROCS": get("processes"),
            "SLURM_NTASKS_PER_NODE": text("per_node"),
            "SLURM_CPUS_PER_TASK": get("cpus"),
            "SLURM_MEM_PER_NODE": get("memory") if "memory" in self._options else None,
            "SLURM_MEM_PER_CPU": None if per_cpu is None else quantities.parse_slurm_size(per_cpu),
            "SLURM_GPUS_ON_NODE": get("gpus"),
            "SLURM_PROCID": "0",
            "SLURM_LOCALID": "0",
            "SLURM_NODEID": "0",
        }
        return {name: str(value) for name, value in variables.items() if value is not None}

    def _list_runtime_variables(self, number: int, array: str | None) -> dict[str, str]:
        variables = {"SLURMD_NODENAME": '"$h"'}
        if (self._asked.get("nodes") or 1) == 1:
            variables |= {"SLURM_JOB_NODELIST": '"$h"', "SLURM_NODELIST": '"$h"'}
        if array:
            indices = parse_array(array).indices
            variables |= {
                "SLURM_ARRAY_JOB_ID": str(number),
                "SLURM_ARRAY_TASK_ID": '"$i"',
                "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
                "SLURM_ARRAY_TASK_MIN": str(indices[0]),
                "SLURM_ARRAY_TASK_MAX": str(indices[-1]),
            }
        return variables


SBATCH: Final = Command(SBATCH_TABLE, "[SCRIPT [ARGUMENT...]]", _run_sbatch)
