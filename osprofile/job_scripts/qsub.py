"""The options of qsub of Torque and PBS, and what they ask for. Sources: their manual pages, pbs_resources(7)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.caller_environment import copy_environment
from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
    merge_lines,
    parse_directives,
    refuse_options,
    split_list,
)
from osprofile.job_scripts.script_request import (
    Given,
    ScriptRequest,
    convert_job_name,
    expand_file_name,
    leave_out_given,
    parse_dependencies,
    parse_variables,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.job_scripts.command_line import Directive

QSUB_TABLE: Final = (
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
    *refuse_options("-C= -D= -G= -I -K= -L= -R= -T= -X -a= -b= -c= -f -h -k= -n -u= -w= -x"),
)
QSUB_FIELDS: Final = {
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
"""The fields that options set; those of the resources are found when they are read."""
QSUB_HARMLESS: Final = frozenset({"-c", "-f", "-X"})
"""Of the options without a field, those that never change the result: checkpoints, qsub's own process, a display."""
_DROPPED: Final = QSUB_HARMLESS | {"-k", "-x", "-w", "-R"}
"""Of these, none changes what the job runs or gets: -k, -R and -f are about files of PBS's own."""
_NAMES: Final = re.compile(r"\$PBS_[A-Z_]+|\^array_index\^")
_MAIL_EVENTS: Final = {"a": "fail", "b": "begin", "e": "end"}
_SIMPLE_RESOURCES: Final = {
    "walltime": ("walltime", quantities.parse_pbs_time),
    "cput": ("cputime", quantities.parse_pbs_time),
    "ngpus": ("gpus", quantities.parse_count),
    "gpus": ("gpus", quantities.parse_count),
    "procs": ("processes", quantities.parse_count),
    "ncpus": ("cpus", quantities.parse_count),
}
_RESOURCES: Final = ("nodes", "ncpus", "mem", "pmem", "walltime", "cput")
_RESOURCES_OF: Final = {"pbspro": ("select", "place", "ngpus"), "torque": ("procs", "gpus")}


def list_resources(system: str) -> list[str]:
    """Return the names of the resources that are supported: those of both systems without one."""
    return [*_RESOURCES, *(name for s, names in _RESOURCES_OF.items() if system in {"", s} for name in names)]


@final
class QsubRequest:
    """What the options of qsub ask for; a later value of a resource replaces the earlier one.

    `system` is pbspro or torque; empty: either. `attributes`: those of a job's description, by name; None: not given.
    `sources`: the options that set the fields. `others`: resources and attributes that have no field. Raises `UsageError`
    for what is not supported.
    """

    def __init__(self, options: CommandLine, given: Given, system: str = "") -> None:
        self._options, self._given = options, given
        self.attributes: dict[str, Any] = {}
        self.others: list[OptionValue] = []
        self.sources = {field: option for name, field in QSUB_FIELDS.items() if (option := options.get(name))}
        self.dependency: OptionValue | None = None
        self._read_attributes()
        self._read_resources(system)
        self._read_mail()
        self.join = self._choose("join", ("oe", "eo", "n")) or "n"
        rerunable = self._choose("rerunable", ("y", "n"))
        priority = options.get("priority")
        if priority is not None and not re.fullmatch("-?[0-9]{1,4}", priority.text):
            raise UsageError(
                f"{priority}: {quote_value(priority.text)} is not a number", hint="-1024 to 1023"
            )
        self.attributes |= {
            "queue": options.get_text("queue"),
            "project": options.get_text("account") or options.get_text("project"),
            "priority": None if priority is None else int(priority.text),
            "array": options.get_text("array"),
            "requeue": None if rerunable is None else rerunable == "y",
        }

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self._given.nodes or self.attributes.get("nodes") or 1)

    @property
    def processes(self) -> int:
        """The number of processes on all nodes."""
        return int(self._given.processes or self.attributes.get("processes") or 1)

    def _choose(self, name: str, choices: Sequence[str]) -> str | None:
        option = self._options.get(name)
        if option is not None and option.text not in choices:
            raise UsageError(
                f"{option}: {quote_value(option.text)} is not supported", hint=" or ".join(choices)
            )
        return None if option is None else option.text

    def _read_attributes(self) -> None:
        """Read `-W depend=LIST`."""
        for option in self._options.options.get("attributes", ()):
            name, _, text = option.text.partition("=")
            if name == "depend":
                self.dependency = option._replace(text=text)
            else:
                self.others.append(option)

    def _read_mail(self) -> None:
        """Read `-m` and `-M`: who gets mail, and when."""
        points, users = self._options.get("mail_points"), self._options.get_text("mail_users")
        text = "a" if points is None else points.text
        if points is not None and text != "n" and (not text or set(text) - _MAIL_EVENTS.keys()):
            raise UsageError(f"{points}: {quote_value(text)} is not supported", hint="n, or as in abe")
        if text == "n" or (points is None and not users):
            return
        events = dict.fromkeys(_MAIL_EVENTS[letter] for letter in text)
        self.attributes |= {"notify": users or self._given.user_name, "notify_events": ",".join(events)}

    def _read_resources(self, system: str) -> None:
        """Read the values of -l."""
        values = self._find_resources(list_resources(system))
        if "nodes" in values:
            self._read_nodes(values["nodes"])
        if "select" in values:
            self._read_select(values["select"])
        for name, (attribute, parse) in _SIMPLE_RESOURCES.items():
            if name in values:
                self._set(attribute, parse(values[name]), values[name])
        self._read_memory(values)
        if "place" in values:
            self._read_place(values["place"])

    def _find_resources(self, known: Sequence[str]) -> dict[str, OptionValue]:
        """Return the values of the resources by name."""
        values: dict[str, OptionValue] = {}
        for option in self._options.options.get("resources", ()):
            for part in option.text.split(","):
                name, _, text = part.partition("=")
                if name in known:
                    values[name] = OptionValue(f"{option.flag} {name}", text, option.where)
                else:
                    self.others.append(option._replace(text=part))
        places = [name for name in ("nodes", "select", "procs") if name in values]
        if len(places) > 1 or ("ncpus" in values and places not in ([], ["nodes"])):
            names = [*places, *(["ncpus"] if "ncpus" in values else [])]
            where = values[names[-1]].where
            raise UsageError(f"{where}-l: {' and '.join(names)} exclude each other", hint="give one of them")
        return values

    def _set(self, attribute: str, value: object, option: OptionValue) -> None:
        if attribute.upper() not in self._given.fields:
            self.attributes[attribute] = value
            self.sources[attribute.upper()] = option

    def _read_nodes(self, option: OptionValue) -> None:
        """Read `N[:ppn=K][:gpus=G]`: K processes on each of N nodes."""
        first, *rest = option.text.split(":")
        nodes = self._given.nodes or quantities.parse_count(option._replace(text=first))
        self._set("nodes", nodes, option)
        for part in rest:
            name, _, text = part.partition("=")
            value = OptionValue(f"{option.flag}: {name}", text, option.where)
            if name == "ppn":
                self._set("processes", nodes * quantities.parse_count(value), option)
            elif name == "gpus":
                self._set("gpus", quantities.parse_count(value), option)
            else:
                hint = "as in nodes=2:ppn=4 or nodes=1:ppn=4:gpus=1"
                raise UsageError(f"{option}: {quote_value(part)} is not supported", hint=hint)

    def _read_select(self, option: OptionValue) -> None:
        """Read `N[:ncpus=C][:mpiprocs=P][:mem=SIZE][:ngpus=G]`: N chunks, each of which is a node."""
        first, *rest = option.text.split(":")
        chunks = self._given.nodes or quantities.parse_count(option._replace(text=first))
        numbers = {"ncpus": 1, "mpiprocs": 1}
        for part in rest:
            name, _, text = part.partition("=")
            value = OptionValue(f"{option.flag}: {name}", text, option.where)
            if name in numbers:
                numbers[name] = quantities.parse_count(value)
            elif name == "mem":
                self._set("memory", quantities.parse_pbs_size(value), option)
            elif name == "ngpus":
                self._set("gpus", quantities.parse_count(value), option)
            else:
                hint = "as in select=2:ncpus=4:mpiprocs=4:mem=8gb:ngpus=1"
                raise UsageError(f"{option}: {quote_value(part)} is not supported", hint=hint)
        if numbers["ncpus"] % numbers["mpiprocs"]:
            message = f"{option}: ncpus cannot be divided by mpiprocs"
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
                raise UsageError(f"{option}: {quote_value(word)} is not supported", hint=hint)

    def _read_memory(self, values: dict[str, OptionValue]) -> None:
        """Read `mem`, of the whole job, and `pmem`, of each process."""
        if "mem" in values and ("pmem" in values or "memory" in self.attributes):
            where = values["mem"].where
            raise UsageError(
                f"{where}-l: mem is given twice, for the job and for its parts", hint="give one of them"
            )
        if "mem" in values:
            per_node = -(-quantities.parse_pbs_size(values["mem"]) // self.nodes)  # rounded up
            self._set("memory", per_node, values["mem"])
        elif "pmem" in values:
            per_process = quantities.parse_pbs_size(values["pmem"])
            self._set("memory", per_process * -(-self.processes // self.nodes), values["pmem"])


def read_qsub(directives: Sequence[Directive], given: Given) -> ScriptRequest:
    """Return what directives of PBS or Torque ask for. Raises `UsageError`."""
    merged = merge_lines(parse_directives(QSUB_TABLE, directives, keeps_others=True))
    options, _ = leave_out_given(merged, {**QSUB_FIELDS, "name": "JOB_NAME", "mail_points": "NOTIFY"}, given)
    asked = QsubRequest(options, given)
    request = ScriptRequest(dict(asked.attributes), sources=asked.sources)
    convert_job_name(request, options.get("name"))
    for option in [*options.options.get("", ()), *asked.others]:
        (request.dropped if option.flag in _DROPPED else request.others).append(option)
    request.dropped += options.options.get("quiet", ())
    if (points := options.get("mail_points")) is not None and "notify" not in asked.attributes:
        request.dropped.append(points)
    if (after := asked.dependency) is not None and "DEPENDENCY" not in given.fields:
        request.attributes |= parse_dependencies(after, after.text, lambda word: word or None)
    if (arguments := options.get("arguments")) is not None:
        request.others.append(arguments)
    variables = copy_environment(os.environ) if "export" in options else {}
    for option in options.options.get("variables", ()):
        variables |= parse_variables(split_list(option), os.environ)
        request.sources["ENVIRONMENT"] = option
    request.attributes["environment"] = variables
    if (shell := options.get_text("shell")) is not None:
        request.interpreter = shell.partition("@")[0]
    if (directory := options.get_text("chdir")) is not None:
        request.attributes["directory"] = directory
    _read_files(options, request, given, asked.join)
    return request


def _read_files(options: CommandLine, request: ScriptRequest, given: Given, join: str) -> None:
    """Read -o and -e: HOST:PATH, in which the name of a directory stands for a file in it; -j puts both into one file."""
    is_array = given.is_array or request.attributes.get("array")
    index = "%a" if is_array else ""
    letters = {"$PBS_JOBID": "%j", "$PBS_ARRAYID": index, "^array_index^": index, "$PBS_ARRAY_INDEX": index}
    name = request.attributes.get("name") or given.name
    for attribute, flag in (("stdout", "output"), ("stderr", "error")):
        option = options.get(flag)
        if option is None:
            continue
        path = re.sub("^[A-Za-z0-9.-]+:", "", option.text)
        if path.endswith("/") or os.path.isdir(path):
            path = os.path.join(path, f"{name}.{attribute[3]}$PBS_JOBID")
        setattr(request, attribute, expand_file_name(option._replace(text=path), _NAMES, letters))
    if join == "oe":
        request.joins, request.stderr = True, None
    elif join == "eo":
        request.joins, request.stdout = True, None
    if request.joins and request.stdout is request.stderr is None:
        request.fields["STDERR"] = "stdout"
        request.sources["STDERR"] = options.options["join"][-1]
