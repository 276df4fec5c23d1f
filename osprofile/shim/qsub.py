"""`qsub` of Torque and PBS. Sources: their manual pages, pbs_resources(7)."""

from __future__ import annotations

import os
import pwd
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts.command_line import (
    CommandLine,
    JobScript,
    UsageError,
    merge_lines,
    parse_directives,
    parse_words,
    read_directives,
    read_script,
    select_options,
    split_list,
    split_words,
)
from osprofile.job_scripts.qsub import QSUB_TABLE, read_qsub
from osprofile.job_scripts.script_request import Given, parse_variables
from osprofile.jobs.request import quote_shell_words
from osprofile.shim.client import SCRIPT_NAME
from osprofile.shim.command import Command, get_submit_directory, print_submitted_job
from osprofile.shim.job_request import JobRequest, find_id, refuse_empty_array
from osprofile.shim.job_wrapper import Wrapper, format_pbs_path, select_environment
from osprofile.shim.programs import PBS_SERVER, format_id
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

_OF_WRAPPER: Final = ("script_arguments", "export", "variables", "directory", "stdout", "stderr", "quiet")
"""The options that are fulfilled here, and not by the batch system."""
_ORIGIN: Final = ("HOME", "LANG", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ")
"""The variables of the submitter that a job finds as PBS_O_NAME."""


def _run_qsub(client: Client, words: Sequence[str]) -> int:
    table = select_options(QSUB_TABLE, client.system)
    command_line = parse_words(table, words, ends_at_operand=True, keeps_others=True)
    operands = command_line.operands
    is_program = command_line.has_separator and bool(operands) and client.system == "pbspro"
    script = _make_program_script(operands) if is_program else read_script(operands[0] if operands else None)
    lines = read_directives(script.text, "#PBS", "line {} of the script: ".format)
    directives = parse_directives(table, lines, keeps_others=True)
    options = merge_lines([*([] if is_program else directives), command_line])
    number = _Request(client, options, script, () if is_program else operands[1:]).submit()
    if "quiet" not in options:
        print_submitted_job(number, format_id(number, is_array="array" in options))
    return 0


def _make_program_script(words: Sequence[str]) -> JobScript:
    """Return the script of `qsub -- PROGRAM [ARGUMENT...]`, which runs the program."""
    text = f"#!/bin/sh\nexec {quote_shell_words(words)}\n"
    return JobScript(text.encode("utf-8", "surrogateescape"), "", ("/bin/sh",))


def _get_login_shell() -> str:
    """Return the user's shell, by which PBS runs a script whose first line names none; /bin/sh without one."""
    try:
        shell = pwd.getpwuid(os.geteuid()).pw_shell
    except KeyError:
        return "/bin/sh"
    return "/bin/sh" if os.path.basename(shell) in {"", "false", "nologin"} else shell


@final
class _Request:
    """What the options of qsub ask for. Raises `UsageError` for what is not supported."""

    def __init__(
        self, client: Client, options: CommandLine, script: JobScript, arguments: Sequence[str]
    ) -> None:
        self._client, self._options, self._script = client, options, script
        self._submit_directory = get_submit_directory()
        self._directory = (
            os.path.join(self._submit_directory, options.get_text("directory") or "").rstrip("/") or "/"
        )
        self._name = options.get_text("name") or script.name or "STDIN"
        refuse_empty_array(options)
        self._arguments = [*arguments, *split_words(options.get_text("script_arguments") or "", "-F: ")]
        given = Given(
            user_name=client.user_name, system=client.system, find_id=lambda word: find_id(client, word)
        )
        self._request = read_qsub(options.leave_out(*_OF_WRAPPER), given)
        queue, _, server = (self._request.attributes["queue"] or "").partition("@")
        if server == PBS_SERVER:
            self._request.attributes["queue"] = queue
        self._asked = dict(self._request.attributes)
        self._join = options.get_text("join") or "n"
        files = {"oe": ("stdout",), "eo": ("stderr",)}.get(self._join, ("stdout", "stderr"))
        if "/" in self._name and not all(options.get_text(name) for name in files):
            message = f"-N: {quote_value(self._name)} has a /, and the output files would have the name"
            raise UsageError(message, hint="give their names by -o and -e")
        self._environment = self._get_environment()
        self._origin = {f"PBS_O_{name}": os.environ[name] for name in _ORIGIN if name in os.environ}

    def _get_environment(self) -> dict[str, str]:
        """Return the variables that the submitter passes to the job."""
        own = select_environment(os.environ)
        result = own if "export" in self._options else {}
        for option in self._options.get_all("variables"):
            words = split_list(option)
            if any(word[:1] in {"", "="} for word in words):
                raise UsageError(f"{option}: a variable has no name", hint="as in A=1,B")
            result |= parse_variables(words, os.environ)
        return result

    # The submission

    def submit(self) -> int:
        """Submit the job and return its number."""
        self._request.attributes["node_file"] = "nodes"
        request = JobRequest(
            script=self._script,
            name=self._name,
            directory=self._directory,
            environment=self._environment,
            asked=self._request,
            prefix="#PBS",
            format_wrapper=self._format_wrapper,
        )
        return request.submit(self._client, "qsub")

    def _format_wrapper(self, number: int, directory: str) -> bytes:
        is_array = "array" in self._options
        job_id = f'"{number}[$i].{PBS_SERVER}"' if is_array else quote_shell_words([format_id(number)])
        replacements = (("$PBS_JOBID", job_id), ("$PBS_ARRAYID", '"$i"'), ("^array_index^", '"$i"'))

        separator = "." if self._client.system == "pbspro" else "-"

        def format_path(name: str, letter: str) -> str:
            default = f"{self._name}.{letter}{number}{f'{separator}$PBS_ARRAYID' if is_array else ''}"
            path = re.sub("^[A-Za-z0-9.-]+:", "", self._options.get_text(name) or "") or default  # HOST:PATH
            path = os.path.join(self._submit_directory, path)
            path = os.path.join(path, default) if path.endswith("/") or os.path.isdir(path) else path
            return format_pbs_path(path, replacements)

        output, error = format_path("stdout", "o"), format_path("stderr", "e")
        shell = self._options.get_text("shell") or ""
        if not shell and not self._script.content.startswith(b"#!"):
            shell = _get_login_shell()
        return Wrapper(
            environment={**self._environment, **self._list_variables()},
            runtime_environment=self._list_runtime_variables(job_id),
            command=[
                *([shell.partition("@")[0]] if shell else self._script.interpreter),
                f"{directory}/{SCRIPT_NAME}",
                *self._arguments,
            ],
            stdin="/dev/null",
            stdout=error if self._join == "eo" else output,
            stderr=error if self._join == "n" else "",
        ).format()

    def _list_variables(self) -> dict[str, str]:
        """Return the variables of PBS that the job gets."""
        queue = self._asked["queue"] or ""
        nodes, processes, cpus = (int(self._asked.get(n) or 1) for n in ("nodes", "processes", "cpus"))
        return {
            **self._origin,
            "PBS_ENVIRONMENT": "PBS_BATCH",
            "PBS_JOBNAME": self._name,
            "PBS_O_HOST": os.uname().nodename,
            "PBS_O_QUEUE": queue,
            "PBS_O_WORKDIR": self._submit_directory,
            "PBS_QUEUE": queue,
            "PBS_NP": str(processes * cpus),
            "PBS_NUM_NODES": str(nodes),
            "PBS_NUM_PPN": str(-(-processes // nodes)),
            "PBS_TASKNUM": "1",
        }

    def _list_runtime_variables(self, job_id: str) -> dict[str, str]:
        variables = {"PBS_JOBID": job_id, "PBS_NODEFILE": '"${GPE_NODE_FILE-}"'}
        if "array" in self._options:
            name = "PBS_ARRAY_INDEX" if self._client.system == "pbspro" else "PBS_ARRAYID"
            variables[name] = '"$i"'
        return variables


QSUB: Final = Command(QSUB_TABLE, "[SCRIPT [ARGUMENT...]]", _run_qsub)
