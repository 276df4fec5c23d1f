"""`qsub` of Torque and PBS. Sources: their manual pages, pbs_resources(7)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.jobs.request import quote_shell_words
from osprofile.shim import quantities
from osprofile.shim.client import SCRIPT_NAME
from osprofile.shim.command import Command, get_submit_directory, print_submitted_job
from osprofile.shim.command_line import (
    CommandLine,
    JobScript,
    Option,
    OptionValue,
    UsageError,
    merge_lines,
    parse_words,
    read_directives,
    read_script,
    select_options,
    split_list,
    split_words,
)
from osprofile.shim.job_request import JobRequest, find_dependencies, refuse_empty_array
from osprofile.shim.job_wrapper import Wrapper, format_pbs_path, select_environment
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.client import Client

SERVER_NAME: Final = "osprofile"
"""What stands behind the number of a job: the name of the server."""
_TABLE: Final = (
    Option("account", ("-A",), "NAME", "the project that pays"),
    Option("array", ("-J",), "INDICES", "as in 1-10:2%4", system="pbspro"),
    Option("array", ("-t",), "INDICES", "as in 1-10:2%4", system="torque"),
    Option("arguments", ("-F",), "WORDS", "the script's arguments, as one word", system="torque"),
    Option("chdir", ("-d",), "DIR", "where the script runs", system="torque"),
    Option("error", ("-e",), "[HOST:]FILE"),
    Option("export", ("-V",), "", "pass all variables to the job"),
    Option("join", ("-j",), "oe|eo|n", "write both outputs to one file"),
    Option("mail_points", ("-m",), "abe|n"),
    Option("mail_users", ("-M",), "ADDRESSES"),
    Option("name", ("-N",), "NAME"),
    Option("output", ("-o",), "[HOST:]FILE"),
    Option("priority", ("-p",), "N"),
    Option("project", ("-P",), "NAME", "the project that pays, if there is no -A", system="pbspro"),
    Option("queue", ("-q",), "NAME"),
    Option("quiet", ("-z",), "", "do not print the id"),
    Option("rerunable", ("-r",), "y|n"),
    Option(
        "resources",
        ("-l",),
        "LIST",
        "select, place, nodes, ncpus, mem, pmem, walltime, cput, ngpus",
        system="pbspro",
    ),
    Option(
        "resources", ("-l",), "LIST", "nodes, procs, ncpus, mem, pmem, walltime, cput, gpus", system="torque"
    ),
    Option("shell", ("-S",), "PATH", "the script's interpreter"),
    Option("variables", ("-v",), "LIST", "variables, as in A=1,B"),
    Option("attributes", ("-W",), "depend=LIST"),
)
_FIELDS: Final = {
    "account": "PROJECT",
    "project": "PROJECT",
    "array": "ARRAY",
    "chdir": "DIRECTORY",
    "mail_users": "NOTIFY",
    "priority": "PRIORITY",
    "queue": "QUEUE",
    "rerunable": "REQUEUE",
    "attributes": "DEPENDENCY",
}
"""The fields that options set, for messages; those of the resources are found when they are read."""
_MAIL_EVENTS: Final = {"a": "fail", "b": "begin", "e": "end"}
_ORIGIN: Final = ("HOME", "LANG", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ")
"""The variables of the submitter that a job finds as PBS_O_NAME."""


def _run_qsub(client: Client, words: Sequence[str]) -> int:
    table = select_options(_TABLE, client.system)
    command_line = parse_words(table, words, ends_at_operand=True)
    operands = command_line.operands
    is_program = command_line.has_separator and bool(operands) and client.system == "pbspro"
    script = _make_program_script(operands) if is_program else read_script(operands[0] if operands else None)
    directives = (_parse_directive(table, d.line, d.words) for d in read_directives(script.text, "#PBS"))
    options = merge_lines([*([] if is_program else directives), command_line])
    number = _Request(client, options, script, () if is_program else operands[1:]).submit()
    if "quiet" not in options:
        print_submitted_job(number, format_id(number, is_array="array" in options))
    return 0


def format_id(number: int, index: int | None = None, *, is_array: bool = False) -> str:
    """Return the id of a job, of an array (`12[].osprofile`) or of a task (`12[3].osprofile`)."""
    if index is not None:
        return f"{number}[{index}].{SERVER_NAME}"
    return f"{number}{'[]' if is_array else ''}.{SERVER_NAME}"


def _make_program_script(words: Sequence[str]) -> JobScript:
    """Return the script of `qsub -- PROGRAM [ARGUMENT...]`, which runs the program."""
    text = f"#!/bin/sh\nexec {quote_shell_words(words)}\n"
    return JobScript(text.encode("utf-8", "surrogateescape"), "", ("/bin/sh",))


def _parse_directive(table: Sequence[Option], number: int, words: Sequence[str]) -> CommandLine:
    where = f"line {number} of the script: "
    line = parse_words(table, words, ends_at_operand=False, where=where)
    if line.operands:
        hint = "quote a value that has blanks, or a # that begins a comment"
        raise UsageError(f"{where}{quote_value(line.operands[0])} is not an option", hint=hint)
    return line


def _read_resources(options: Sequence[OptionValue], system: str) -> dict[str, OptionValue]:
    """Return the values of the resources by name."""
    known = (*_RESOURCES, *_RESOURCES_OF[system])
    values: dict[str, OptionValue] = {}
    for option in options:
        for part in option.text.split(","):
            name, _, text = part.partition("=")
            if name not in known:
                hint = f"supported are {', '.join(known)}"
                raise UsageError(
                    f"{option.flag}: the resource {quote_name(name)} is not supported", hint=hint
                )
            values[name] = OptionValue(f"{option.flag} {name}", text)
    places = [name for name in ("nodes", "select", "procs") if name in values]
    if len(places) > 1 or ("ncpus" in values and places not in ([], ["nodes"])):
        names = " and ".join([*places, *(["ncpus"] if "ncpus" in values else [])])
        raise UsageError(f"-l: {names} exclude each other", hint="give one of them")
    return values


@final
class _Resources:
    """What the values of -l ask for; a later value of a resource replaces the earlier one."""

    def __init__(self, options: Sequence[OptionValue], system: str) -> None:
        self.attributes: dict[str, Any] = {}
        self.field_options: dict[str, OptionValue] = {}
        values = _read_resources(options, system)
        if "nodes" in values:
            self._read_nodes(values["nodes"])
        if "select" in values:
            self._read_select(values["select"])
        if "procs" in values:
            self._set("processes", quantities.parse_count(values["procs"]), values["procs"])
        if "ncpus" in values:
            self._set("cpus", quantities.parse_count(values["ncpus"]), values["ncpus"])
        for name, (attribute, parse) in _SIMPLE_RESOURCES.items():
            if name in values:
                self._set(attribute, parse(values[name]), values[name])
        self._read_memory(values)
        if "place" in values:
            self._read_place(values["place"])

    def _set(self, attribute: str, value: object, option: OptionValue) -> None:
        self.attributes[attribute] = value
        self.field_options[attribute.upper()] = option

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self.attributes.get("nodes") or 1)

    @property
    def processes(self) -> int:
        """The number of processes on all nodes."""
        return int(self.attributes.get("processes") or 1)

    def _read_nodes(self, option: OptionValue) -> None:
        """Read `N[:ppn=K][:gpus=G]`: K processes on each of N nodes."""
        first, *rest = option.text.split(":")
        nodes = quantities.parse_count(OptionValue(option.flag, first))
        self._set("nodes", nodes, option)
        for part in rest:
            name, _, text = part.partition("=")
            value = OptionValue(f"{option.flag}: {name}", text)
            if name == "ppn":
                self._set("processes", nodes * quantities.parse_count(value), option)
            elif name == "gpus":
                self._set("gpus", quantities.parse_count(value), option)
            else:
                hint = "as in nodes=2:ppn=4 or nodes=1:ppn=4:gpus=1"
                raise UsageError(f"{option.flag}: {quote_value(part)} is not supported", hint=hint)

    def _read_select(self, option: OptionValue) -> None:
        """Read `N[:ncpus=C][:mpiprocs=P][:mem=SIZE][:ngpus=G]`: N chunks, each of which is a node."""
        first, *rest = option.text.split(":")
        chunks = quantities.parse_count(OptionValue(option.flag, first))
        numbers = {"ncpus": 1, "mpiprocs": 1}
        for part in rest:
            name, _, text = part.partition("=")
            value = OptionValue(f"{option.flag}: {name}", text)
            if name in numbers:
                numbers[name] = quantities.parse_count(value)
            elif name == "mem":
                self._set("memory", quantities.parse_pbs_size(value), option)
            elif name == "ngpus":
                self._set("gpus", quantities.parse_count(value), option)
            else:
                hint = "as in select=2:ncpus=4:mpiprocs=4:mem=8gb:ngpus=1"
                raise UsageError(f"{option.flag}: {quote_value(part)} is not supported", hint=hint)
        if numbers["ncpus"] % numbers["mpiprocs"]:
            message = f"{option.flag}: ncpus cannot be divided by mpiprocs"
            raise UsageError(message, hint="give a multiple of mpiprocs")
        self._set("nodes", chunks, option)
        self._set("processes", chunks * numbers["mpiprocs"], option)
        self._set("cpus", numbers["ncpus"] // numbers["mpiprocs"], option)

    def _read_place(self, option: OptionValue) -> None:
        """Read `ARRANGEMENT[:SHARING]`: each chunk is a node, which is `scatter`, and allowed by `free`."""
        for word in option.text.split(":"):
            if word in {"excl", "exclhost"}:
                self._set("exclusive", True, option)
            elif word not in {"free", "scatter", "vscatter", "shared"} and (word != "pack" or self.nodes > 1):
                hint = "free, scatter, excl, exclhost and shared are; pack is for one chunk"
                raise UsageError(f"{option.flag}: {quote_value(word)} is not supported", hint=hint)

    def _read_memory(self, values: dict[str, OptionValue]) -> None:
        """Read `mem`, of the whole job, and `pmem`, of each process."""
        if "mem" in values and ("pmem" in values or "memory" in self.attributes):
            raise UsageError("-l: mem is given twice, for the job and for its parts", hint="give one of them")
        if "mem" in values:
            per_node = -(-quantities.parse_pbs_size(values["mem"]) // self.nodes)  # rounded up
            self._set("memory", per_node, values["mem"])
        elif "pmem" in values:
            per_process = quantities.parse_pbs_size(values["pmem"])
            self._set("memory", per_process * -(-self.processes // self.nodes), values["pmem"])


_SIMPLE_RESOURCES: Final = {
    "walltime": ("walltime", quantities.parse_pbs_time),
    "cput": ("cputime", quantities.parse_pbs_time),
    "ngpus": ("gpus", quantities.parse_count),
    "gpus": ("gpus", quantities.parse_count),
}
_RESOURCES: Final = ("nodes", "ncpus", "mem", "pmem", "walltime", "cput")
_RESOURCES_OF: Final = {"pbspro": ("select", "place", "ngpus"), "torque": ("procs", "gpus")}


@final
class _Request:
    """What the options of qsub ask for. Raises `UsageError` for what is not supported."""

    def __init__(
        self, client: Client, options: CommandLine, script: JobScript, arguments: Sequence[str]
    ) -> None:
        self._client, self._options, self._script = client, options, script
        self._submit_directory = get_submit_directory()
        self._directory = (
            os.path.join(self._submit_directory, options.get_text("chdir") or "").rstrip("/") or "/"
        )
        self._name = options.get_text("name") or script.name or "STDIN"
        refuse_empty_array(options)
        self._arguments = [*arguments, *split_words(options.get_text("arguments") or "", "-F: ")]
        self._resources = _Resources(options.options.get("resources", ()), client.system)
        self._join = self._choose("join", ("oe", "eo", "n")) or "n"
        files = {"oe": ("output",), "eo": ("error",)}.get(self._join, ("output", "error"))
        if "/" in self._name and not all(options.get_text(name) for name in files):
            message = f"-N: {quote_value(self._name)} has a /, and the output files would have the name"
            raise UsageError(message, hint="give their names by -o and -e")
        self._rerunable = self._choose("rerunable", ("y", "n"))
        self._after = self._get_dependencies()
        self._notify_events = self._get_mail_events()
        self._environment = self._get_environment()
        self._origin = {f"PBS_O_{name}": os.environ[name] for name in _ORIGIN if name in os.environ}

    def _choose(self, name: str, choices: Sequence[str]) -> str | None:
        option = self._options.get(name)
        if option is not None and option.text not in choices:
            raise UsageError(
                f"{option.flag}: {quote_value(option.text)} is not supported", hint=" or ".join(choices)
            )
        return None if option is None else option.text

    def _get_dependencies(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for option in self._options.options.get("attributes", ()):
            name, _, text = option.text.partition("=")
            if name != "depend":
                message = f"{option.flag}: the attribute {quote_name(name)} is not supported"
                raise UsageError(message, hint="depend is, as in -W depend=afterok:12")
            found = find_dependencies(self._client, option, text)
        return found

    def _get_mail_events(self) -> str | None:
        option = self._options.get("mail_points")
        text = "a" if option is None else option.text
        if text == "n":
            return None
        if option is not None and (not text or set(text) - _MAIL_EVENTS.keys()):
            raise UsageError(f"{option.flag}: {quote_value(text)} is not supported", hint="n, or as in abe")
        return ",".join(dict.fromkeys(_MAIL_EVENTS[letter] for letter in text))

    def _get_environment(self) -> dict[str, str]:
        """Return the variables that the submitter passes to the job."""
        own = select_environment(os.environ)
        result = own if "export" in self._options else {}
        for option in self._options.options.get("variables", ()):
            for word in split_list(option):
                name, equals, value = word.partition("=")
                if not name:
                    raise UsageError(f"{option.flag}: a variable has no name", hint="as in A=1,B")
                if equals:
                    result[name] = value
                elif name in os.environ:
                    result[name] = os.environ[name]
        return result

    # The submission

    def submit(self) -> int:
        """Submit the job and return its number."""
        text = self._options.get_text
        users = text("mail_users") or ("" if "mail_points" not in self._options else self._client.user_name)
        priority = self._options.get("priority")
        if priority is not None and not re.fullmatch("-?[0-9]{1,4}", priority.text):
            raise UsageError(
                f"{priority.flag}: {quote_value(priority.text)} is not a number", hint="-1024 to 1023"
            )
        options = {field: option for name, field in _FIELDS.items() if (option := self._options.get(name))}
        request = JobRequest(
            script=self._script,
            name=self._name,
            directory=self._directory,
            environment=self._environment,
            field_options={**options, **self._resources.field_options},
            attributes={
                "queue": self._client.choose_queue(text("queue")),
                "project": text("account") or text("project"),
                "priority": None if priority is None else int(priority.text),
                "array": text("array"),
                "requeue": None if self._rerunable is None else self._rerunable == "y",
                "notify": users or None if self._notify_events else None,
                "notify_events": self._notify_events if users else None,
                "node_file": "nodes",
                **self._resources.attributes,
                **self._after,
            },
            format_wrapper=self._format_wrapper,
        )
        return request.submit(self._client)

    def _format_wrapper(self, number: int, directory: str) -> bytes:
        is_array = "array" in self._options
        job_id = f'"{number}[$i].{SERVER_NAME}"' if is_array else quote_shell_words([format_id(number)])
        replacements = (("$PBS_JOBID", job_id), ("$PBS_ARRAYID", '"$i"'), ("^array_index^", '"$i"'))

        separator = "." if self._client.system == "pbspro" else "-"

        def format_path(name: str, letter: str) -> str:
            default = f"{self._name}.{letter}{number}{f'{separator}$PBS_ARRAYID' if is_array else ''}"
            path = re.sub("^[A-Za-z0-9.-]+:", "", self._options.get_text(name) or "") or default  # HOST:PATH
            path = os.path.join(self._submit_directory, path)
            path = os.path.join(path, default) if path.endswith("/") or os.path.isdir(path) else path
            return format_pbs_path(path, replacements)

        output, error = format_path("output", "o"), format_path("error", "e")
        shell = self._options.get_text("shell")
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
        resources, queue = self._resources, self._options.get_text("queue") or ""
        return {
            **self._origin,
            "PBS_ENVIRONMENT": "PBS_BATCH",
            "PBS_JOBNAME": self._name,
            "PBS_O_HOST": os.uname().nodename,
            "PBS_O_QUEUE": queue,
            "PBS_O_WORKDIR": self._submit_directory,
            "PBS_QUEUE": queue,
            "PBS_NP": str(resources.processes * int(resources.attributes.get("cpus") or 1)),
            "PBS_NUM_NODES": str(resources.nodes),
            "PBS_NUM_PPN": str(-(-resources.processes // resources.nodes)),
            "PBS_TASKNUM": "1",
        }

    def _list_runtime_variables(self, job_id: str) -> dict[str, str]:
        variables = {"PBS_JOBID": job_id, "PBS_NODEFILE": '"${GPE_NODE_FILE-}"'}
        if "array" in self._options:
            name = "PBS_ARRAY_INDEX" if self._client.system == "pbspro" else "PBS_ARRAYID"
            variables[name] = '"$i"'
        return variables


QSUB: Final = Command(_TABLE, "[SCRIPT [ARGUMENT...]]", _run_qsub)
