"""The options of qsub of Torque and PBS, and what they ask for. Sources: their manual pages, pbs_resources(7)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
    refuse_options,
    select_options,
)
from osprofile.job_scripts.script_request import (
    ExactOption,
    Given,
    ScriptRequest,
    convert_job_name,
    expand_file_name,
    leave_out_given,
    read_dependencies,
    read_variables,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

# fmt: off
QSUB_TABLE: Final = (
    Option("project", ("-A",), "NAME", "the project that pays"),
    Option("array", ("-J",), "INDICES", "as in 1-10:2%4", system="pbspro"),
    Option("array", ("-t",), "INDICES", "as in 1-10:2%4", system="torque"),
    Option("script_arguments", ("-F",), "WORDS", "the script's arguments, as one word", system="torque"),
    Option("directory", ("-d",), "DIR", "where the script runs", system="torque"),
    Option("stderr", ("-e",), "[HOST:]FILE"),
    Option("export", ("-V",), "", "pass all variables to the job"),
    Option("join", ("-j",), "oe|eo|n", "write both outputs to one file"),
    Option("notify_events", ("-m",), "abe|n"),
    Option("notify", ("-M",), "ADDRESSES"),
    Option("name", ("-N",), "NAME"),
    Option("stdout", ("-o",), "[HOST:]FILE"),
    Option("priority", ("-p",), "N"),
    Option("project.pbs", ("-P",), "NAME", "the project that pays, if there is no -A", system="pbspro"),
    Option("queue", ("-q",), "NAME"),
    Option("quiet", ("-z",), "", "do not print the id"),
    Option("requeue", ("-r",), "y|n"),
    Option("resources", ("-l",), "LIST", "these resources"),
    Option("nodes", ("-l nodes",), "N[:ppn=K][:gpus=G]"),
    Option("nodes.chunks", ("-l select",), "N[:ncpus=C][:mpiprocs=P][:mem=SIZE][:ngpus=G]", system="pbspro"),
    Option("exclusive.place", ("-l place",), "ARRANGEMENT[:SHARING]", system="pbspro"),
    Option("processes", ("-l procs",), "N", system="torque"),
    Option("cpus", ("-l ncpus",), "N"),
    Option("memory", ("-l mem",), "SIZE", "of the whole job"),
    Option("memory.process", ("-l pmem",), "SIZE"),
    Option("walltime", ("-l walltime",), "TIME"),
    Option("cputime", ("-l cput",), "TIME"),
    Option("gpus", ("-l ngpus",), "N", system="pbspro"),
    Option("gpus", ("-l gpus",), "N", system="torque"),
    Option("shell", ("-S",), "PATH", "the script's interpreter"),
    Option("variables", ("-v",), "LIST", "variables, as in A=1,B"),
    Option("attributes", ("-W",), "LIST", "this attribute"),
    Option("dependency", ("-W depend",), "LIST", "as in afterok:12"),
    Option("", ("-W stagein", "-W stageout"), "FILES", "files are copied by --input and --fetch of incarnate job submit"),
    Option("", ("-W block",), "true", "incarnate job submit --wait waits for the end"),
    *refuse_options("-I", "a job has no terminal"),
    Option("start_time", ("-a",), "[[[[CC]YY]MM]DD]hhmm[.SS]"),
    Option("user", ("-u",), "NAMES", "only the user who submits the job"),
    Option("dropped", ("-k",), "oe|n", "where the job runs, its output stays nowhere else"),
    Option("dropped", ("-R",), "oe", "removes no output"),
    Option("", ("-W umask",), "MASK", "the script may call umask"),
    Option("group", ("-W group_list",), "NAMES", "only the group of the user who submits the job"),
    *refuse_options("-h", "incarnate job hold holds a job"),
    *refuse_options("-C= -D= -G= -K= -L= -T= ~-X -b= ~-c= ~-f -n -w= -x"),
)
# fmt: on
_DROPPED: Final = frozenset({"-c", "-f", "-X", "-x", "-w"})
"""Of the options without a field, those that never change what a job runs or gets."""
_NAMES: Final = re.compile(r"\$PBS_[A-Z_]+|\^array_index\^")
_MAIL_EVENTS: Final = {"a": "fail", "b": "begin", "e": "end"}
_SIZES: Final = ("nodes", "processes", "cpus", "memory", "gpus")


def read_qsub(merged: CommandLine, given: Given) -> ScriptRequest:
    """Return what options of qsub of PBS or Torque ask for. Raises `UsageError`."""
    table = select_options(QSUB_TABLE, given.system) if given.system else QSUB_TABLE
    expanded = _expand_lists(merged, table)
    options, sources = leave_out_given(expanded, given, besides=("nodes", "nodes.chunks"))
    request = ScriptRequest(sources=sources, interpreter=(options.get_text("shell") or "").partition("@")[0])
    text = options.get_text
    convert_job_name(request, options.get("name"))
    for option in options.get_all(""):
        (request.dropped if option.flag in _DROPPED else request.others).append(option)
    request.dropped += [*options.get_all("quiet"), *options.get_all("dropped")]
    request.others += options.get_all("script_arguments")
    request.attributes |= {
        "queue": text("queue"),
        "project": text("project") or text("project.pbs"),
        "array": text("array"),
        "directory": text("directory"),
    }
    if (project := options.get("project.pbs")) is not None:
        request.exact.append(ExactOption(project, () if "project" in options else ("project",)))
    _read_places(options, request, given)
    _Sizes(options, given, request).read()
    _read_mail(options, request, given)
    if (rerunable := _choose(options, "requeue", ("y", "n"))) is not None:
        request.attributes["requeue"] = rerunable == "y"
    if (priority := options.get("priority")) is not None:
        if not re.fullmatch("-?[0-9]{1,4}", priority.text):
            message = f"{priority}: {quote_value(priority.text)} is not a number"
            raise UsageError(message, hint="-1024 to 1023")
        request.attributes["priority"] = int(priority.text)
    if (after := options.get("dependency")) is not None:
        read_dependencies(request, after, after.text, given)
    read_variables(options, request)
    _read_files(options, request, given)
    return request


def _expand_lists(options: CommandLine, table: Sequence[Option]) -> CommandLine:
    """Return the options with the resources of -l, and the attributes of -W, by their own names.

    A later value of a resource replaces the earlier one.
    """
    rows = {flag: row for row in table for flag in row.flags}
    found = {
        name: [*values] for name, values in options.options.items() if name not in {"resources", "attributes"}
    }
    for option in (*options.get_all("resources"), *options.get_all("attributes")):
        separator = "," if option.flag == "-l" else ",(?=[A-Za-z_]+=)"
        for part in re.split(separator, option.text):
            name, _, text = part.partition("=")
            row = rows.get(f"{option.flag} {name.lower()}", Option("", ()))
            flag, value = (f"{option.flag} {name}", text) if row.name else (option.flag, part)
            found.setdefault(row.name, []).append(OptionValue(flag, value, option.where, row))
    return options._replace(options=found)


def _choose(options: CommandLine, name: str, choices: Sequence[str]) -> str | None:
    option = options.get(name)
    if option is not None and option.text not in choices:
        message = f"{option}: {quote_value(option.text)} is not supported"
        raise UsageError(message, hint=" or ".join(choices))
    return None if option is None else option.text


@final
class _Sizes:
    """The nodes, processes, memory and GPUs: some resources are those of the whole job, and a field has what a node gets."""

    def __init__(self, options: CommandLine, given: Given, request: ScriptRequest) -> None:
        self._options, self._given, self._request = options, given, request
        self._attributes = request.attributes
        self._is_exact = False

    def read(self) -> None:
        """Set the attributes."""
        get = self._options.get
        places = [o for name in ("nodes", "nodes.chunks", "processes") if (o := get(name)) is not None]
        cpus = get("cpus")
        if len(places) > 1 or (cpus is not None and places not in ([], [get("nodes")])):
            both = [*places, *([cpus] if cpus is not None else [])]
            names = " and ".join(option.flag.removeprefix("-l ") for option in both)
            raise UsageError(f"{both[-1].where}-l: {names} exclude each other", hint="give one of them")
        for name, read in (("nodes", self._read_nodes), ("nodes.chunks", self._read_chunks)):
            if (option := get(name)) is not None:
                read(option)
        for name in ("processes", "cpus", "gpus"):
            if (option := get(name)) is not None:
                self._set(name, quantities.parse_count(option), option)
        for name in ("walltime", "cputime"):
            if (option := get(name)) is not None:
                self._set(name, quantities.parse_pbs_time(option), option)
        self._read_memory(get("memory"), get("memory.process"))
        if (place := get("exclusive.place")) is not None:
            self._read_place(place)

    def _set(self, attribute: str, value: object, option: OptionValue) -> None:
        if attribute.upper() not in self._given.fields:
            self._attributes[attribute] = value
            self._request.sources[attribute.upper()] = option

    def _keep(self, option: OptionValue, attributes: Sequence[str], refusal: UsageError | None) -> None:
        """Let an option through as it is written."""
        flag, _, name = option.flag.partition(" ")
        written = OptionValue(flag, f"{name}={option.text}", option.where, option.option)
        self._request.exact.append(ExactOption(written, tuple(attributes), refusal))

    def _keep_places(self, option: OptionValue, part: str, hint: str) -> None:
        message = f"{option}: {quote_value(part)} is not supported"
        self._keep(option, _SIZES, UsageError(message, hint=hint))
        self._is_exact = True

    def _parse_count(self, option: OptionValue, text: str, hint: str) -> int | None:
        """Return the number of nodes or chunks; None where there are several kinds, or names."""
        if "+" in option.text or not text.isdigit():
            self._keep_places(option, option.text, hint)
            return None
        return self._given.nodes or quantities.parse_count(option._replace(text=text))

    def _read_nodes(self, option: OptionValue) -> None:
        """Read `N[:ppn=K][:gpus=G]`: K processes on each of N nodes."""
        first, *rest = option.text.split(":")
        hint = "as in nodes=2:ppn=4 or nodes=1:ppn=4:gpus=1"
        if (nodes := self._parse_count(option, first, hint)) is None:
            return None
        self._set("nodes", nodes, option)
        for part in rest:
            name, _, text = part.partition("=")
            value = OptionValue(f"{option.flag}: {name}", text, option.where)
            if name == "ppn":
                self._set("processes", nodes * quantities.parse_count(value), option)
            elif name == "gpus":
                self._set("gpus", quantities.parse_count(value), option)
            else:
                return self._keep_places(option, part, hint)
        return None

    def _read_chunks(self, option: OptionValue) -> None:
        """Read `N[:ncpus=C][:mpiprocs=P][:mem=SIZE][:ngpus=G]`: N chunks, each of which is a node."""
        first, *rest = option.text.split(":")
        hint = "as in select=2:ncpus=4:mpiprocs=4:mem=8gb:ngpus=1"
        if (chunks := self._parse_count(option, first, hint)) is None:
            return None
        numbers = {"ncpus": 1, "mpiprocs": 1, "ompthreads": 0}
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
                return self._keep_places(option, part, hint)
        cpus, rest_of_cpus = divmod(numbers["ncpus"], numbers["mpiprocs"])
        if rest_of_cpus or numbers["ompthreads"] not in {0, cpus}:
            threads = numbers["ompthreads"]
            message = f"{option}: ncpus cannot be divided by mpiprocs"
            if not rest_of_cpus:
                message = f"{option}: ompthreads={threads} is not ncpus divided by mpiprocs"
            self._keep_places(option, option.text, "give a multiple of mpiprocs")
            self._request.exact[-1] = self._request.exact[-1]._replace(
                refusal=UsageError(message, hint="give a multiple of mpiprocs, and no other ompthreads")
            )
            return None
        self._set("nodes", chunks, option)
        self._set("processes", chunks * numbers["mpiprocs"], option)
        self._set("cpus", cpus, option)
        return None

    def _read_place(self, option: OptionValue) -> None:
        """Read `ARRANGEMENT[:SHARING]`: each chunk is a node, which is `scatter`, and allowed by `free`."""
        nodes = self._given.nodes or self._attributes.get("nodes") or 1
        refusal = None
        for word in option.text.split(":"):
            if word in {"excl", "exclhost"}:
                self._set("exclusive", True, option)
            elif word not in {"free", "scatter", "vscatter", "shared"} and (word != "pack" or nodes > 1):
                message = f"{option}: {quote_value(word)} is not supported"
                hint = "free, scatter, excl, exclhost and shared are; pack is for one chunk"
                refusal = UsageError(message, hint=hint)
        if refusal is not None or self._is_exact:
            self._keep(option, ("exclusive",), refusal)

    def _read_memory(self, memory: OptionValue | None, per_process: OptionValue | None) -> None:
        """Read `mem`, of the whole job, and `pmem`, of each process."""
        option = memory or per_process
        if option is None:
            return
        if memory is not None and (per_process is not None or "memory" in self._attributes):
            message = f"{memory.where}-l: mem is given twice, for the job and for its parts"
            raise UsageError(message, hint="give one of them")
        if self._is_exact:
            self._keep(option, ("memory",), None)
        nodes = int(self._given.nodes or self._attributes.get("nodes") or 1)
        processes = int(self._given.processes or self._attributes.get("processes") or 1)
        size = quantities.parse_pbs_size(option)
        per_node = -(-size // nodes) if memory is not None else size * -(-processes // nodes)  # rounded up
        self._set("memory", per_node, option)


def _read_places(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read when, where and for whom the job runs."""
    queue, start, user = (options.get(name) for name in ("queue", "start_time", "user"))
    if queue is not None and (queue.text[:1] == "@" or queue.text[-1:] == "@"):
        message = f"{queue}: {quote_value(queue.text)} names no queue"
        raise UsageError(message, hint="as in QUEUE or QUEUE@SERVER, or leave it out")
    if start is not None:
        request.attributes["start_time"] = quantities.parse_pbs_date(start)
        request.exact.append(ExactOption(start, ("start_time",)))
    if user is not None and {name.partition("@")[0] for name in user.text.split(",")} != {given.user_name}:
        message = f"{user}: a job is that of the user who submits it"
        raise UsageError(message, hint=f"leave it out: it is {given.user_name}")
    request.dropped += [user] if user is not None else []
    if (group := options.get("group")) is not None:
        reason = UsageError(f"{group}: a job has the group of its user", hint="call newgrp in the script")
        written = group._replace(flag="-W", text=f"group_list={group.text}")
        request.exact.append(ExactOption(written, (), reason))


def _read_mail(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read `-m` and `-M`: who gets mail, and when."""
    points, users = options.get("notify_events"), options.get_text("notify")
    text = "a" if points is None else points.text
    if points is not None and text != "n" and (not text or set(text) - _MAIL_EVENTS.keys()):
        raise UsageError(f"{points}: {quote_value(text)} is not supported", hint="n, or as in abe")
    if text == "n" or (points is None and not users):
        request.dropped += [points] if points is not None else []
        return
    events = dict.fromkeys(_MAIL_EVENTS[letter] for letter in text)
    request.attributes |= {"notify": users or given.user_name, "notify_events": ",".join(events)}


def _read_files(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read -o and -e: HOST:PATH, in which the name of a directory stands for a file in it; -j puts both into one file."""
    is_array = given.is_array or request.attributes.get("array")
    index = "%a" if is_array else ""
    letters = {"$PBS_JOBID": "%j", "$PBS_ARRAYID": index, "^array_index^": index, "$PBS_ARRAY_INDEX": index}
    name = request.attributes.get("name") or given.name
    for attribute in ("stdout", "stderr"):
        option = options.get(attribute)
        if option is None:
            continue
        path = re.sub("^[A-Za-z0-9.-]+:", "", option.text)
        if path.endswith("/") or os.path.isdir(path):
            path = os.path.join(path, f"{name}.{attribute[3]}$PBS_JOBID")
        setattr(request, attribute, expand_file_name(option._replace(text=path), _NAMES, letters))
    join = _choose(options, "join", ("oe", "eo", "n"))
    if join == "oe":
        request.joins, request.stderr = True, None
    elif join == "eo":
        request.joins, request.stdout = True, None
    if request.joins and request.stdout is request.stderr is None:
        request.fields["STDERR"] = "stdout"
        request.sources["STDERR"] = options.options["join"][-1]
