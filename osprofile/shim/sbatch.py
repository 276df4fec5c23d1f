"""`sbatch`. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.arrays import parse_array
from osprofile.jobs.request import quote_shell_words
from osprofile.jobs.state import JobState
from osprofile.shim import quantities
from osprofile.shim.client import SCRIPT_NAME
from osprofile.shim.command import Command, get_submit_directory, print_submitted_job
from osprofile.shim.command_line import (
    CommandLine,
    JobScript,
    Option,
    OptionValue,
    UsageError,
    make_script,
    merge_lines,
    parse_words,
    read_directives,
    read_script,
    refuse_options,
    split_list,
)
from osprofile.shim.job_request import JobRequest, find_dependencies, parse_signal, refuse_empty_array
from osprofile.shim.job_wrapper import Wrapper, format_slurm_path, select_environment
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.shim.client import Client

_SBATCH_TABLE: Final = (
    Option("account", ("-A", "--account"), "NAME", "the project that pays"),
    Option("array", ("-a", "--array"), "INDICES", "as in 1-10:2%4"),
    Option("begin", ("-b", "--begin"), "TIME", "as in 2030-12-31T23:59"),
    Option("chdir", ("-D", "--chdir", "--workdir"), "DIR", "where the script runs"),
    Option("constraint", ("-C", "--constraint"), "EXPRESSION"),
    Option("cpus", ("-c", "--cpus-per-task"), "N"),
    Option(
        "dependency", ("-d", "--dependency"), "LIST", "afterok, afternotok, afterany: as in afterok:12:13"
    ),
    Option("error", ("-e", "--error"), "FILE", "the pattern of a file's name"),
    Option("exclusive", ("--exclusive",)),
    Option("export", ("--export",), "LIST", "ALL, NONE, or variables"),
    Option("gpus", ("-G", "--gpus"), "[TYPE:]N", "of the whole job"),
    Option("gpus_per_node", ("--gpus-per-node",), "[TYPE:]N"),
    Option("gres", ("--gres",), "gpu[:TYPE]:N", "GPUs per node"),
    Option("input", ("-i", "--input"), "FILE"),
    Option("name", ("-J", "--job-name"), "NAME"),
    Option("mail_type", ("--mail-type",), "EVENTS", "BEGIN, END, FAIL, ALL, NONE"),
    Option("mail_user", ("--mail-user",), "ADDRESS"),
    Option("memory", ("--mem",), "SIZE", "per node"),
    Option("memory_per_cpu", ("--mem-per-cpu",), "SIZE"),
    Option("nodes", ("-N", "--nodes"), "N"),
    Option("no_requeue", ("--no-requeue",)),
    Option("ntasks", ("-n", "--ntasks"), "N"),
    Option("ntasks_per_node", ("--ntasks-per-node",), "N"),
    Option("open_mode", ("--open-mode",), "append|truncate"),
    Option("output", ("-o", "--output"), "FILE", "the pattern of a file's name"),
    Option("parsable", ("--parsable",), "", "print only the number"),
    Option("partition", ("-p", "--partition"), "NAME"),
    Option("qos", ("-q", "--qos"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("requeue", ("--requeue",)),
    Option("reservation", ("--reservation",), "NAME"),
    Option("signal", ("--signal",), "B:SIGNAL[@SECONDS]", "sent before the time limit"),
    Option("time", ("-t", "--time"), "TIME", "the limit: minutes, or as in 01:30:00, 1-12"),
    Option("wait", ("-W", "--wait"), "", "wait for the job's end, and exit with its exit code"),
    Option("wrap", ("--wrap",), "COMMAND", "run this command with /bin/sh"),
    *(
        Option("without_effect", flags, value, "changes nothing", is_optional=is_optional)
        for flags, value, is_optional in (
            (("--acctg-freq",), "SECONDS", False),
            (("--comment",), "TEXT", False),
            (("-m", "--distribution"), "TYPE", False),
            (("--get-user-env",), "TIMEOUT", True),
            (("--hint",), "TYPE", False),
            (("--nice",), "N", True),
            (("-s", "--oversubscribe", "--share"), "", False),
            (("-v", "--verbose"), "", False),
            (("--wckey",), "TEXT", False),
        )
    ),
    *refuse_options(
        "--batch --bb --bbf --cluster --cluster-constraint --clusters --container --context --contiguous --core-spec"
        " --cores-per-socket --cpu-freq --cpus-per-gpu --deadline --delay-boot --exclude --export-file"
        " --extra-node-info --gid --gpu-bind --gpu-freq --gpus-per-socket --gpus-per-task --gres-flags --help --hold"
        " --ignore-pbs --kill-on-invalid-dep --licenses --mcs-label --mem-bind --mem-per-gpu --mincpus --network"
        " --no-kill --nodefile --nodelist --ntasks-per-core --ntasks-per-gpu --ntasks-per-socket --ntasks-per-tres"
        " --overcommit --power --prefer --priority --profile --propagate --reboot --sockets-per-node --spread-job"
        " --switches --tasks-per-node --test-only --thread-spec --threads-per-core --time-min --tmp --uid --usage"
        " --use-min-nodes --version --wait-all-nodes"
    ),
)
_VARIABLES: Final = {
    "SBATCH_ACCOUNT": "--account",
    "SBATCH_ACCTG_FREQ": "--acctg-freq",
    "SBATCH_ARRAY_INX": "--array",
    "SBATCH_CONSTRAINT": "--constraint",
    "SBATCH_DISTRIBUTION": "--distribution",
    "SBATCH_EXPORT": "--export",
    "SBATCH_GPUS": "--gpus",
    "SBATCH_GPUS_PER_NODE": "--gpus-per-node",
    "SBATCH_GRES": "--gres",
    "SBATCH_HINT": "--hint",
    "SBATCH_JOB_NAME": "--job-name",
    "SBATCH_MEM_PER_CPU": "--mem-per-cpu",
    "SBATCH_MEM_PER_NODE": "--mem",
    "SBATCH_OPEN_MODE": "--open-mode",
    "SBATCH_PARTITION": "--partition",
    "SBATCH_QOS": "--qos",
    "SBATCH_RESERVATION": "--reservation",
    "SBATCH_SIGNAL": "--signal",
    "SBATCH_TIMELIMIT": "--time",
    "SBATCH_WCKEY": "--wckey",
}
"""The options that sbatch takes from the environment; those without a value are not supported there."""
_MAIL_EVENTS: Final = {
    "NONE": [],
    "BEGIN": ["begin"],
    "END": ["end"],
    "FAIL": ["fail"],
    "ALL": ["begin", "end", "fail"],
}
_FIELDS: Final = {
    "partition": "QUEUE",
    "account": "PROJECT",
    "nodes": "NODES",
    "ntasks": "PROCESSES",
    "ntasks_per_node": "PROCESSES",
    "cpus": "CPUS",
    "memory": "MEMORY",
    "memory_per_cpu": "MEMORY",
    "time": "WALLTIME",
    "gpus": "GPUS",
    "gpus_per_node": "GPUS",
    "gres": "GPUS",
    "qos": "QOS",
    "constraint": "CONSTRAINT",
    "reservation": "RESERVATION",
    "exclusive": "EXCLUSIVE",
    "begin": "START_TIME",
    "mail_type": "NOTIFY",
    "array": "ARRAY",
    "dependency": "DEPENDENCY",
    "requeue": "REQUEUE",
    "chdir": "DIRECTORY",
}
"""The fields that options set, for messages."""


def _run_sbatch(client: Client, words: Sequence[str]) -> int:
    command_line = parse_words(_SBATCH_TABLE, words, ends_at_operand=True)
    script, arguments = _read_script(command_line)
    directives = read_directives(script.text, "#SBATCH") if "wrap" not in command_line else []
    lines = [_parse_directive(d.line, d.words) for d in directives]
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
    status = client.session.wait(client.find_id(number))
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


def _parse_directive(number: int, words: Sequence[str]) -> CommandLine:
    where = f"line {number} of the script: "
    if words and words[0] == "hetjob":
        raise UsageError(f"{where}heterogeneous jobs are not supported", hint="submit a job for each part")
    line = parse_words(_SBATCH_TABLE, words, ends_at_operand=False, where=where)
    if line.operands:
        hint = "quote a value that has blanks, or a # that begins a comment"
        raise UsageError(f"{where}{quote_value(line.operands[0])} is not an option", hint=hint)
    if "wrap" in line:
        raise UsageError(f"{where}--wrap is for the command line", hint="write the command into the script")
    return line


def _read_variables(environment: Mapping[str, str]) -> CommandLine:
    """Return the options that the variables SBATCH_... set; one that is not known is refused."""
    lines = []
    for name, value in sorted(environment.items()):
        if name.startswith("SBATCH_"):
            if name not in _VARIABLES:
                hint = f"unset it; supported are {', '.join(_VARIABLES)}"
                raise UsageError(
                    f"the variable {quote_name(name)} is not supported by this stand-in", hint=hint
                )
            line = parse_words(_SBATCH_TABLE, [f"{_VARIABLES[name]}={value}"], ends_at_operand=False)
            lines.append(
                CommandLine(
                    {n: [OptionValue(name, v.text) for v in values] for n, values in line.options.items()}
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
        self.directory = os.path.join(submit_directory, options.get_text("chdir") or "")
        self.directory = self.directory.rstrip("/") or "/"
        self._submit_directory = submit_directory
        self.name = options.get_text("name") or script.name or "sbatch"
        self.nodes = self._count("nodes", _parse_nodes)
        self.cpus = self._count("cpus", quantities.parse_count)
        self.processes = self._get_processes()
        self.walltime = self._count("time", quantities.parse_slurm_time)
        self.memory = self._get_memory()
        self.gpus, self.gpu_type = self._get_gpus()
        self.notify, self.notify_events = self._get_mail()
        self.environment = self._get_environment()
        self.signal = self._get_signal()
        mode = options.get("open_mode")
        if mode is not None and mode.text not in {"append", "truncate"}:
            raise UsageError(
                f"{mode.flag}: {quote_value(mode.text)} is not a mode", hint="append or truncate"
            )
        self._after = self._get_dependencies()

    def _count(self, name: str, parse: Callable[[OptionValue], int]) -> int | None:
        option = self._options.get(name)
        return None if option is None else parse(option)

    def _get_processes(self) -> int | None:
        ntasks = self._count("ntasks", quantities.parse_count)
        per_node = self._count("ntasks_per_node", quantities.parse_count)
        return ntasks if ntasks is not None or per_node is None else per_node * (self.nodes or 1)

    @property
    def cpus_per_node(self) -> int:
        tasks = -(-(self.processes or 1) // (self.nodes or 1))  # rounded up
        return tasks * (self.cpus or 1)

    def _get_memory(self) -> int | None:
        memory, per_cpu = self._options.get("memory"), self._options.get("memory_per_cpu")
        if memory is not None and per_cpu is not None:
            raise UsageError(
                f"{memory.flag} and {per_cpu.flag} exclude each other", hint="leave one of them out"
            )
        if per_cpu is not None:
            return quantities.parse_slurm_size(per_cpu) * self.cpus_per_node
        return None if memory is None else quantities.parse_slurm_size(memory)

    def _get_gpus(self) -> tuple[int | None, str | None]:
        given = [option for name in ("gpus", "gpus_per_node", "gres") if (option := self._options.get(name))]
        if not given:
            return None, None
        option = given[0]
        if len(given) > 1:
            raise UsageError(
                f"{option.flag} and {given[1].flag} exclude each other", hint="leave one of them out"
            )
        match = re.fullmatch(r"(?:([A-Za-z][^:,=]*):)?([1-9][0-9]{0,3})", option.text)
        if option is self._options.get("gres"):
            match = re.fullmatch(r"gpu(?::([A-Za-z][^:,=]*))?(?::([1-9][0-9]{0,3}))?", option.text)
        if match is None:
            hint = "GPUs are supported, as in --gres=gpu:2, --gpus=2 or --gpus-per-node=a100:2"
            raise UsageError(f"{option.flag}: {quote_value(option.text)} is not supported", hint=hint)
        number = int(match[2] or 1)
        if option is self._options.get("gpus"):
            if number % (self.nodes or 1):
                message = f"{option.flag} {number} cannot be divided among {self.nodes} nodes"
                raise UsageError(message, hint="give --gpus-per-node")
            number //= self.nodes or 1
        return number, match[1]

    def _get_mail(self) -> tuple[str | None, str | None]:
        types = self._options.get("mail_type")
        if types is None:
            return None, None
        events: list[str] = []
        for word in types.text.split(","):
            if word.upper() not in _MAIL_EVENTS:
                hint = f"supported are {', '.join(_MAIL_EVENTS)}"
                raise UsageError(f"{types.flag}: {quote_value(word)} is not supported", hint=hint)
            events += _MAIL_EVENTS[word.upper()]
        user = self._options.get_text("mail_user") or self._client.user_name
        return (user, ",".join(dict.fromkeys(events))) if events else (None, None)

    def _get_environment(self) -> dict[str, str]:
        """Return the variables that the submitter passes to the job."""
        option = self._options.get("export") or OptionValue("--export", "ALL")
        own = select_environment(os.environ)
        words = split_list(option)
        if words == ["NONE"]:
            return {}
        result = own if "ALL" in words else {}
        for word in words:
            name, equals, value = word.partition("=")
            if not name or word in {"NONE", "NIL"}:
                hint = "ALL, NONE, or variables as in ALL,A=1,B"
                raise UsageError(f"{option.flag}: {quote_value(option.text)} is not supported", hint=hint)
            if equals:
                result[name] = value
            elif word != "ALL" and word in own:
                result[name] = own[name]
        return result

    def _get_signal(self) -> tuple[str, int] | None:
        """Return a signal's name, and after how many seconds it is sent."""
        option = self._options.get("signal")
        if option is None:
            return None
        match = re.fullmatch(r"B:([A-Za-z0-9]+)(?:@([0-9]{1,5}))?", option.text)
        name = parse_signal(match[1]) if match else None
        if match is None or name is None:
            hint = "as in B:USR2@30; without B:, it is for job steps, and there are none"
            raise UsageError(f"{option.flag}: {quote_value(option.text)} is not supported", hint=hint)
        if self.walltime is None:
            return None  # without a limit, nothing precedes it
        return name[0], max(0, self.walltime - int(match[2] or 60))

    def _get_dependencies(self) -> dict[str, list[str]]:
        """Return the ids of the jobs in each attribute of a description."""
        option = self._options.get("dependency")
        return {} if option is None else find_dependencies(self._client, option, option.text)

    # The submission

    def submit(self) -> int:
        """Submit the job and return its number."""
        text = self._options.get_text
        begin = self._options.get("begin")
        request = JobRequest(
            script=self._script,
            name=self.name,
            directory=self.directory,
            environment=self.environment,
            field_options={
                field: option for name, field in _FIELDS.items() if (option := self._options.get(name))
            },
            attributes={
                "queue": self._get_queue(),
                "project": text("account"),
                "nodes": self.nodes,
                "processes": self.processes,
                "cpus": self.cpus,
                "memory": self.memory,
                "walltime": self.walltime,
                "gpus": self.gpus,
                "gpu_type": self.gpu_type,
                "qos": text("qos"),
                "constraint": text("constraint"),
                "reservation": text("reservation"),
                "exclusive": True if "exclusive" in self._options else None,
                "start_time": None if begin is None else quantities.parse_iso_time(begin),
                "notify": self.notify,
                "notify_events": self.notify_events,
                "array": text("array"),
                "requeue": self._get_requeue(),
                **self._after,
            },
            format_wrapper=self._format_wrapper,
        )
        return request.submit(self._client)

    def _get_queue(self) -> str | None:
        return self._client.choose_queue(self._options.get_text("partition"))

    def _get_requeue(self) -> bool | None:
        if "requeue" in self._options:
            return True
        return False if "no_requeue" in self._options else None

    def _format_wrapper(self, number: int, directory: str) -> bytes:
        array = self._options.get_text("array")
        name, user = quote_shell_words([self.name]), quote_shell_words([self._client.user_name])
        index = '"$i"' if array else "4294967294"
        letters = {
            "j": str(number),
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

        default = OptionValue("--output", "slurm-%A_%a.out" if array else "slurm-%j.out")
        error = self._options.get("error")
        return Wrapper(
            environment={**self.environment, **self._list_variables(number)},
            runtime_environment=self._list_runtime_variables(number, array),
            command=[*self._script.interpreter, f"{directory}/{SCRIPT_NAME}", *self._arguments],
            stdin=format_path(self._options.get("input") or OptionValue("--input", "/dev/null")),
            stdout=format_path(self._options.get("output") or default),
            stderr="" if error is None else format_path(error),
            appends=self._options.get_text("open_mode") == "append",
            signal=self.signal,
        ).format()

    def _list_variables(self, number: int) -> dict[str, str]:
        """Return the variables of Slurm that the job gets."""
        nodes, text = str(self.nodes or 1), self._options.get_text
        tasks_per_node = str(-(-(self.processes or 1) // (self.nodes or 1)))
        times = f"(x{nodes})" if nodes != "1" else ""
        variables = {
            "SLURM_JOB_ID": str(number),
            "SLURM_JOBID": str(number),
            "SLURM_JOB_NAME": self.name,
            "SLURM_JOB_USER": self._client.user_name,
            "SLURM_SUBMIT_DIR": self._submit_directory,
            "SLURM_SUBMIT_HOST": os.uname().nodename,
            "SLURM_JOB_PARTITION": text("partition"),
            "SLURM_JOB_ACCOUNT": text("account"),
            "SLURM_JOB_QOS": text("qos"),
            "SLURM_JOB_NUM_NODES": nodes,
            "SLURM_NNODES": nodes,
            "SLURM_TASKS_PER_NODE": f"{tasks_per_node}{times}",
            "SLURM_JOB_CPUS_PER_NODE": f"{self.cpus_per_node}{times}",
            "SLURM_CPUS_ON_NODE": str(self.cpus_per_node),
            "SLURM_NTASKS": self.processes,
            "SLURM_NPROCS": self.processes,
            "SLURM_NTASKS_PER_NODE": text("ntasks_per_node"),
            "SLURM_CPUS_PER_TASK": self.cpus,
            "SLURM_MEM_PER_NODE": self.memory if "memory" in self._options else None,
            "SLURM_MEM_PER_CPU": self._count("memory_per_cpu", quantities.parse_slurm_size),
            "SLURM_GPUS_ON_NODE": self.gpus,
            "SLURM_PROCID": "0",
            "SLURM_LOCALID": "0",
            "SLURM_NODEID": "0",
        }
        return {name: str(value) for name, value in variables.items() if value is not None}

    def _list_runtime_variables(self, number: int, array: str | None) -> dict[str, str]:
        variables = {"SLURMD_NODENAME": '"$h"'}
        if not self.nodes or self.nodes == 1:
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


def _parse_nodes(option: OptionValue) -> int:
    first, _, last = option.text.partition("-")
    if last and last != first:
        message = f"{option.flag}: {quote_value(option.text)} is not supported: it is a range"
        raise UsageError(message, hint="give one number of nodes")
    return quantities.parse_count(OptionValue(option.flag, first))


SBATCH: Final = Command(_SBATCH_TABLE, "[SCRIPT [ARGUMENT...]]", _run_sbatch)
