"""The options of sbatch, and what they ask for. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

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
    ExactOption,
    FileName,
    Given,
    ScriptRequest,
    convert_job_name,
    expand_file_name,
    leave_out_given,
    parse_dependencies,
    read_environment,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.job_scripts.command_line import Directive

SBATCH_TABLE: Final = (
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
    Option("exclusive", ("--exclusive",), "user|mcs", "share the nodes with no other job", is_optional=True),
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
    Option("ntasks_per_node", ("--ntasks-per-node", "--tasks-per-node"), "N"),
    Option("open_mode", ("--open-mode",), "append|truncate"),
    Option("output", ("-o", "--output"), "FILE", "the pattern of a file's name"),
    Option("parsable", ("--parsable",), "", "print only the number"),
    Option("partition", ("-p", "--partition"), "NAME"),
    Option("qos", ("-q", "--qos"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("requeue", ("--requeue",), "expedite", is_optional=True),
    Option("reservation", ("--reservation",), "NAME"),
    Option("signal", ("--signal",), "[B:]SIGNAL[@SECONDS]", "sent before the time limit"),
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
            (("--ignore-pbs",), "", False),
        )
    ),
    *refuse_options(
        "--batch= --bb= --bbf= --cluster= --cluster-constraint= -M,--clusters= --container= --context= --contiguous"
        " -S,--core-spec= --cores-per-socket= --cpu-freq= --cpus-per-gpu= --deadline= --delay-boot= -x,--exclude="
        " --export-file= -B,--extra-node-info= --gid= --gpu-bind= --gpu-freq= --gpus-per-socket= --gpus-per-task="
        " --gres-flags= -h,--help -H,--hold --kill-on-invalid-dep= -L,--licenses= --mcs-label= --mem-bind="
        " --mem-per-gpu= --mincpus= --network= -k,--no-kill[=] -F,--nodefile= -w,--nodelist= --ntasks-per-core="
        " --ntasks-per-gpu= --ntasks-per-socket= --ntasks-per-tres= -O,--overcommit --power= --prefer= --priority="
        " --profile= --propagate[=] --reboot --sockets-per-node= --spread-job --switches= --test-only"
        " --thread-spec= --threads-per-core= --time-min= --tmp= --uid= --usage --use-min-nodes -V,--version"
        " --wait-all-nodes= --consolidate-segments --mem-update= --resv-ports= --spread-segments --tres-per-task="
    ),
)
SBATCH_HARMLESS: Final = frozenset(
    [
        "--contiguous",
        "--core-spec",
        "--cores-per-socket",
        "--cpu-freq",
        "--delay-boot",
        "--extra-node-info",
        "--gpu-bind",
        "--gpu-freq",
        "--gres-flags",
        "--mcs-label",
        "--mem-bind",
        "--network",
        "--no-kill",
        "--ntasks-per-core",
        "--ntasks-per-socket",
        "--power",
        "--prefer",
        "--priority",
        "--profile",
        "--propagate",
        "--sockets-per-node",
        "--spread-job",
        "--switches",
        "--thread-spec",
        "--threads-per-core",
        "--use-min-nodes",
        "--wait-all-nodes",
    ]
)
"""Of the options without a field, those about where and when a job runs, and not about what it does."""
_GPU: Final = re.compile("(?:gres:)?gpu(?![A-Za-z0-9_])")
_RANGE_OF_NODES: Final = re.compile(r"[0-9]+-[0-9]+|[0-9]+(?:[-:][0-9]+)*(?:,[0-9]+(?:[-:][0-9]+)*)+")
_LETTERS: Final = re.compile(r"%[0-9]{0,2}.?", re.DOTALL)
_MAIL_EVENTS: Final = {
    "NONE": [],
    "BEGIN": ["begin"],
    "END": ["end"],
    "FAIL": ["fail"],
    "ALL": ["begin", "end", "fail"],
}
SBATCH_FIELDS: Final = {
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
    "mail_user": "NOTIFY",
    "name": "JOB_NAME",
    "array": "ARRAY",
    "dependency": "DEPENDENCY",
    "requeue": "REQUEUE",
    "chdir": "DIRECTORY",
}
"""The fields that options set, for messages."""


@final
class SbatchRequest:
    """What the options of sbatch ask for. Raises `UsageError` for what is not supported.

    `default_nodes`: how many nodes a job has that asks for no number; None: only the batch system knows. `others`: values
    that have no field, such as `--gres=shard:1`; `exact`: those that say more than their fields.
    """

    def __init__(self, options: CommandLine, given: Given, *, default_nodes: int | None = None) -> None:
        self._options, self._given, self._default_nodes = options, given, default_nodes
        self.others: list[OptionValue] = []
        self.exact: list[ExactOption] = []
        per_node = self._count("ntasks_per_node", quantities.parse_count)
        self.cpus = given.cpus or self._count("cpus", quantities.parse_count)
        self.nodes = given.nodes or self._get_nodes()
        self.processes = given.processes or self._count("ntasks", quantities.parse_count)
        if per_node is not None and not self.exact:  # else, a range of nodes
            self.processes = self.processes or per_node * (self.nodes or 1)
            self.nodes = self.nodes or -(-self.processes // per_node)  # rounded up
        self.exact += map(ExactOption, options.options.get("ntasks_per_node", ())[-1:])
        self.start_time = self._get_start_time()
        self.walltime = self._count("time", quantities.parse_slurm_time)
        self.memory = self._get_memory()
        self.gpus, self.gpu_type = self._get_gpus()
        self.notify, self.notify_events = self._get_mail()
        mode = options.get("open_mode")
        if mode is not None and mode.text not in {"append", "truncate"}:
            raise UsageError(f"{mode}: {quote_value(mode.text)} is not a mode", hint="append or truncate")

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of a job's description that do not depend on other jobs or on files; None: not given."""
        text = self._options.get_text
        return {
            "queue": text("partition"),
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
            "exclusive": self._get_exclusive(),
            "start_time": self.start_time,
            "notify": self.notify,
            "notify_events": self.notify_events,
            "array": text("array"),
            "requeue": self._get_requeue(),
        }

    def _count(self, name: str, parse: Callable[[OptionValue], int]) -> int | None:
        option = self._options.get(name)
        return None if option is None else parse(option)

    def _get_nodes(self) -> int | None:
        option = self._options.get("nodes")
        if option is None:
            return None
        first, _, last = option.text.partition("-")
        if _RANGE_OF_NODES.fullmatch(option.text) and first != last:
            message = f"{option}: {quote_value(option.text)} is not supported: it is a range"
            refusal = UsageError(message, hint="give one number of nodes")
            self.exact.append(ExactOption(option, ("nodes",), refusal))
            return None
        return quantities.parse_count(option._replace(text=first))

    def _get_start_time(self) -> str | None:
        option = self._options.get("begin")
        if option is None:
            return None
        try:
            return quantities.parse_iso_time(option)
        except UsageError as refusal:
            self.exact.append(ExactOption(option, ("start_time",), refusal))
            return None

    def _divide_among_nodes(self, option: OptionValue, attributes: Sequence[str], ours: str) -> int:
        """Return the nodes among which the batch system divides what an option asks for in all."""
        is_known = self.nodes is not None or self._default_nodes is not None or self.processes in {None, 1}
        refusal = UsageError(
            f"{option}: how many nodes share it is not known", hint=f"give --nodes, or {ours}"
        )
        self.exact.append(ExactOption(option, tuple(attributes), None if is_known else refusal))
        return self.nodes or self._default_nodes or 1

    @property
    def cpus_per_node(self) -> int:
        """The number of CPUs on each node."""
        tasks = -(-(self.processes or 1) // (self.nodes or 1))  # rounded up
        return tasks * (self.cpus or 1)

    def _get_memory(self) -> int | None:
        memory, per_cpu = self._options.get("memory"), self._options.get("memory_per_cpu")
        if memory is not None and per_cpu is not None:
            raise UsageError(f"{memory} and {per_cpu} exclude each other", hint="leave one of them out")
        if per_cpu is not None:
            self._divide_among_nodes(per_cpu, ("memory",), "--mem")
            return quantities.parse_slurm_size(per_cpu) * self.cpus_per_node
        return None if memory is None else quantities.parse_slurm_size(memory)

    def _get_gpus(self) -> tuple[int | None, str | None]:
        """Return the GPUs of each node, and their type."""
        found = [
            (option, gpus)
            for name in ("gpus_per_node", "gres", "gpus")
            if (option := self._options.get(name)) and (gpus := self._parse_gpus(name, option))
        ]
        for option, gpus in found[1:]:
            if gpus != found[0][1]:
                message = f"{found[0][0]} and {option} do not agree"
                raise UsageError(message, hint="leave one of them out")
        return found[0][1] if found else (None, None)

    def _parse_gpus(self, name: str, option: OptionValue) -> tuple[int, str | None] | None:
        if name == "gres":
            return self._parse_gres(option)
        match = re.fullmatch(r"(?:([A-Za-z][^:,=]*):)?([0-9]{1,4})", option.text)
        if match is None:
            raise _refuse_gpus(option)
        number = int(match[2])
        if number == 0:
            return None
        if name == "gpus" and number > 1:
            nodes = self._divide_among_nodes(option, ("gpus", "gpu_type"), "--gpus-per-node")
            if number % nodes:
                message = f"{option} {number} cannot be divided among {nodes} nodes"
                refusal = UsageError(message, hint="give --gpus-per-node")
                self.exact[-1] = self.exact[-1]._replace(refusal=refusal)
            number = -(-number // nodes)  # rounded up
        return number, match[1]

    def _parse_gres(self, option: OptionValue) -> tuple[int, str | None] | None:
        gpus = None
        for part in option.text.split(","):
            match = re.fullmatch(r"(?:gres:)?gpu(?:[:=]([A-Za-z][^:,=]*))?(?:[:=]([0-9]{1,4}))?", part)
            if match is not None and gpus is None:
                gpus = (int(match[2] or 1), match[1]) if match[2] != "0" else None
            elif match is not None or _GPU.match(part):
                raise _refuse_gpus(option)
            elif part.lower() != "none":
                self.others.append(option._replace(text=part))
        return gpus

    def _get_mail(self) -> tuple[str | None, str | None]:
        types = self._options.get("mail_type")
        if types is None:
            return None, None
        events: list[str] = []
        for word in types.text.split(","):
            if word.upper() not in _MAIL_EVENTS:
                hint = f"supported are {', '.join(_MAIL_EVENTS)}"
                refusal = UsageError(f"{types}: {quote_value(word)} is not supported", hint=hint)
                self.exact.append(ExactOption(types, ("notify", "notify_events"), refusal))
                if (user := self._options.get("mail_user")) is not None:
                    self.exact.append(ExactOption(user, ("notify",), refusal))
                break
            events += _MAIL_EVENTS[word.upper()]
        user_name = self._options.get_text("mail_user") or self._given.user_name
        return (user_name, ",".join(dict.fromkeys(events))) if events else (None, None)

    def _get_exclusive(self) -> bool | None:
        option = self._options.get("exclusive")
        return None if option is None or option.text else True

    def _get_requeue(self) -> bool | None:
        if (option := self._options.get("requeue")) is not None:
            if option.text:
                self.exact.append(ExactOption(option, ("requeue",)))
            return True
        return False if "no_requeue" in self._options else None


def read_sbatch(directives: Sequence[Directive], given: Given) -> ScriptRequest:
    """Return what directives of Slurm ask for. Raises `UsageError`."""
    merged = merge_lines(parse_directives(SBATCH_TABLE, directives, keeps_others=True))
    options, sources = leave_out_given(merged, {**SBATCH_FIELDS, "ntasks_per_node": ""}, given)
    asked = SbatchRequest(options, given)
    request = ScriptRequest(dict(asked.attributes), sources=sources)
    request.exact = [exact._replace(option=_name_in_full(exact.option)) for exact in asked.exact]
    convert_job_name(request, options.get("name"))
    others = [*options.options.get("", ()), *asked.others, *_list_other_gres(merged, given)]
    for option in others:
        is_ours = (option.flag, option.text) == ("--kill-on-invalid-dep", "yes")
        (request.dropped if is_ours else request.others).append(option)
    if (per_node := options.get("ntasks_per_node")) is not None:
        sources.setdefault("PROCESSES", per_node)
    for name in ("without_effect", "parsable", "quiet", "wait"):
        request.dropped += map(_name_in_full, options.options.get(name, ()))
    mail = options.get("mail_type") or options.get("mail_user")
    if mail and asked.notify is None and not any(exact.option is mail for exact in asked.exact):
        request.dropped.append(mail)
    if (exclusive := options.get("exclusive")) and exclusive.text:
        request.others.append(exclusive)
    if options.get_text("open_mode") == "append":
        request.fields["APPEND_OUTPUT"] = "true"
    if (export := options.get("export")) is not None:
        read_environment(request, export, split_list(export), "ALL")
    _read_dependency(options, request)
    if (signal := options.get("signal")) is not None:
        request.others.append(signal)
    _read_files(options, request, given)
    return request


def _name_in_full(option: OptionValue) -> OptionValue:
    """Return an option with its longest flag, by which profiles list what is passed."""
    flags = next(row.flags for row in SBATCH_TABLE if option.flag in row.flags)
    return option._replace(flag=max(flags, key=len))


def _list_other_gres(options: CommandLine, given: Given) -> list[OptionValue]:
    """Return what --gres asks for besides GPUs, if the number of those is that of the command line."""
    option = options.get("gres")
    if option is None or "GPUS" not in given.fields:
        return []
    parts = (part for part in option.text.split(",") if part.lower() != "none" and not _GPU.match(part))
    return [option._replace(text=part) for part in parts]


def _read_dependency(options: CommandLine, request: ScriptRequest) -> None:
    option = options.get("dependency")
    if option is None:
        return
    if option.text == "singleton":
        request.fields["DEPENDENCY"] = option.text
    else:
        request.attributes |= parse_dependencies(option, option.text, lambda word: word or None)


def _read_files(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read the names of the files; Slurm writes both outputs to one, unless --error names another."""
    is_array = given.is_array or "array" in options
    name = request.attributes.get("name") or given.name
    index = "%a" if is_array else "4294967294"
    letters = {"%j": "%j", "%J": "%j", "%A": "%j", "%a": index, "%N": "%N", "%n": "0", "%t": "0", "%%": "%%"}
    letters |= {"%x": name.replace("%", "%%"), "%u": given.user_name.replace("%", "%%")}
    if is_array:
        letters |= {f"%{width}a": f"%{width}a" for width in range(1, 11)}
    for attribute, option_name in (("stdin", "input"), ("stdout", "output"), ("stderr", "error")):
        option = options.get(option_name)
        if option is not None and "\\" in option.text:  # it turns the letters off
            text = option.text.replace("\\", "").replace("%", "%%")
            setattr(request, attribute, FileName(text, option))
        elif option is not None:
            setattr(request, attribute, expand_file_name(option, _LETTERS, letters))
    request.joins = True
    if (directory := options.get_text("chdir")) is not None:
        request.attributes["directory"] = directory


def _refuse_gpus(option: OptionValue) -> UsageError:
    hint = "GPUs are supported, as in --gres=gpu:2, --gpus=2 or --gpus-per-node=a100:2"
    return UsageError(f"{option}: {quote_value(option.text)} is not supported", hint=hint)
