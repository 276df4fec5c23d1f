"""The options of sbatch, and what they ask for. Source: its manual page of Slurm 23.02; later words: 25.05 to 26.05."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
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
    read_dependencies,
    read_environment,
)
from osprofile.late import compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

# fmt: off
SBATCH_TABLE: Final = (
    Option("project", ("-A", "--account"), "NAME", "the project that pays"),
    Option("array", ("-a", "--array"), "INDICES", "as in 1-10:2%4"),
    Option("start_time", ("-b", "--begin"), "TIME", "as in 2030-12-31T23:59"),
    Option("directory", ("-D", "--chdir", "--workdir"), "DIR", "where the script runs"),
    Option("constraint", ("-C", "--constraint"), "EXPRESSION"),
    Option("cpus", ("-c", "--cpus-per-task"), "N"),
    Option("dependency", ("-d", "--dependency"), "LIST", "afterok, afternotok, afterany: as in afterok:12:13"),
    Option("stderr", ("-e", "--error"), "FILE", "the pattern of a file's name"),
    Option("exclusive", ("--exclusive",), "user|mcs", "share the nodes with no other job", is_optional=True),
    Option("export", ("--export",), "LIST", "ALL, NONE, or variables"),
    Option("gpus.job", ("-G", "--gpus"), "[TYPE:]N", "of the whole job"),
    Option("gpus", ("--gpus-per-node",), "[TYPE:]N"),
    Option("gpus.gres", ("--gres",), "gpu[:TYPE]:N", "GPUs per node"),
    Option("gpus.task", ("--gpus-per-task",), "[TYPE:]N"),
    Option("stdin", ("-i", "--input"), "FILE"),
    Option("name", ("-J", "--job-name"), "NAME"),
    Option("notify_events", ("--mail-type",), "EVENTS", "BEGIN, END, FAIL, ALL, NONE"),
    Option("notify", ("--mail-user",), "ADDRESS"),
    Option("memory", ("--mem",), "SIZE", "per node"),
    Option("memory.cpu", ("--mem-per-cpu",), "SIZE"),
    Option("memory.gpu", ("--mem-per-gpu",), "SIZE"),
    Option("nodes", ("-N", "--nodes"), "N"),
    Option("requeue.no", ("--no-requeue",)),
    Option("processes", ("-n", "--ntasks"), "N"),
    Option("per_node", ("--ntasks-per-node", "--tasks-per-node"), "N"),
    Option("open_mode", ("--open-mode",), "append|truncate"),
    Option("stdout", ("-o", "--output"), "FILE", "the pattern of a file's name"),
    Option("parsable", ("--parsable",), "", "print only the number"),
    Option("queue", ("-p", "--partition"), "NAME"),
    Option("qos", ("-q", "--qos"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("requeue", ("--requeue",), "expedite", is_optional=True),
    Option("reservation", ("--reservation",), "NAME"),
    Option("signal", ("--signal",), "[B:]SIGNAL[@SECONDS]", "sent before the time limit"),
    Option("walltime", ("-t", "--time"), "TIME", "the limit: minutes, or as in 01:30:00, 1-12"),
    Option("wait", ("-W", "--wait"), "", "wait for the job's end, and exit with its exit code"),
    Option("wrap", ("--wrap",), "COMMAND", "run this command with /bin/sh"),
    Option("dropped", ("--acctg-freq",), "SECONDS", "changes nothing"),
    Option("dropped", ("--comment",), "TEXT", "changes nothing"),
    Option("dropped", ("-m", "--distribution"), "TYPE", "changes nothing"),
    Option("dropped", ("--get-user-env",), "TIMEOUT", "changes nothing", is_optional=True),
    Option("dropped", ("--hint",), "TYPE", "changes nothing"),
    Option("dropped", ("--nice",), "N", "changes nothing", is_optional=True),
    Option("dropped", ("-s", "--oversubscribe", "--share"), "", "changes nothing"),
    Option("dropped", ("-v", "--verbose"), "", "changes nothing"),
    Option("dropped", ("--wckey",), "TEXT", "changes nothing"),
    Option("dropped", ("--ignore-pbs",), "", "changes nothing"),
    *refuse_options("--cluster= -M,--clusters=", "it would be another target system: give it by the profile, PROFILE@CLUSTER"),
    *refuse_options("--uid= --gid=", "a job is that of the user who submits it"),
    *refuse_options(
        "--batch= --bb= --bbf= --cluster-constraint= --container= --context= ~--contiguous"
        " ~-S,--core-spec= ~--cores-per-socket= ~--cpu-freq= --cpus-per-gpu= --deadline= ~--delay-boot= -x,--exclude="
        " --export-file= ~-B,--extra-node-info= ~--gpu-bind= ~--gpu-freq= --gpus-per-socket="
        " ~--gres-flags= -h,--help -H,--hold --kill-on-invalid-dep= -L,--licenses= ~--mcs-label= ~--mem-bind="
        " --mincpus= ~--network= ~-k,--no-kill[=] -F,--nodefile= -w,--nodelist= ~--ntasks-per-core="
        " --ntasks-per-gpu= ~--ntasks-per-socket= --ntasks-per-tres= -O,--overcommit ~--power= ~--prefer= ~--priority="
        " ~--profile= ~--propagate[=] --reboot ~--sockets-per-node= ~--spread-job ~--switches= --test-only"
        " ~--thread-spec= ~--threads-per-core= ~--time-min= --tmp= --usage ~--use-min-nodes -V,--version"
        " ~--wait-all-nodes= --consolidate-segments --mem-update= --resv-ports= --spread-segments --tres-per-task="
    ),
)
# fmt: on
SBATCH_VARIABLES: Final = {
    f"SBATCH_{name}": f"--{name.lower().replace('_', '-')}"
    for name in (
        "ACCOUNT",
        "ACCTG_FREQ",
        "CONSTRAINT",
        "DISTRIBUTION",
        "EXPORT",
        "GPUS",
        "GPUS_PER_NODE",
        "GRES",
        "HINT",
        "JOB_NAME",
        "MEM_PER_CPU",
        "OPEN_MODE",
        "PARTITION",
        "QOS",
        "RESERVATION",
        "SIGNAL",
        "WCKEY",
    )
} | {"SBATCH_ARRAY_INX": "--array", "SBATCH_MEM_PER_NODE": "--mem", "SBATCH_TIMELIMIT": "--time"}  # fmt: skip
"""The options that sbatch takes from the environment; those without a value are not supported there."""
_GPU: Final = compile_late("(?:gres[:/])?gpu(?![A-Za-z0-9_])", re.IGNORECASE)
_OF_GPUS: Final = frozenset({"--cpus-per-gpu", "--ntasks-per-gpu", "--tres-per-task"})
"""Those by which the number of tasks or processors follows from the GPUs."""
_RANGE_OF_NODES: Final = compile_late(r"[0-9]+-[0-9]+|[0-9]+(?:[-:][0-9]+)*(?:,[0-9]+(?:[-:][0-9]+)*)+")
_LETTERS: Final = compile_late(r"%[0-9]{0,2}.?", re.DOTALL)
_MAIL_EVENTS: Final = {
    "NONE": [], "BEGIN": ["begin"], "END": ["end"], "FAIL": ["fail"], "ALL": ["begin", "end", "fail"],
}  # fmt: skip
_TEXTS: Final = ("queue", "project", "qos", "constraint", "reservation", "array", "directory")


def read_sbatch(merged: CommandLine, given: Given) -> ScriptRequest:
    """Return what options of sbatch ask for. Raises `UsageError`."""
    options, sources = leave_out_given(merged, given)
    request = ScriptRequest(sources=sources)
    for option in options.get_all(""):
        is_ours = option.flag == "--kill-on-invalid-dep" and (
            option.text == "yes" or "dependency" not in options
        )
        (request.dropped if is_ours else request.others).append(option)
    if (per_node := options.get("per_node")) is not None:
        sources.setdefault("PROCESSES", per_node)
    request.attributes |= {name: options.get_text(name) for name in _TEXTS}
    convert_job_name(request, options.get("name"))
    for name in ("dropped", "parsable", "quiet", "wait"):
        request.dropped += options.get_all(name)
    _Sizes(options, given, request).read()
    if (limit := options.get("walltime")) is not None:
        request.attributes["walltime"] = quantities.parse_slurm_time(limit)
        if request.attributes["walltime"] == quantities.NO_TIME_LIMIT:
            request.exact.append(ExactOption(limit, ("walltime",)))
    _read_other_gres(merged, given, request)
    _read_start_time(options, request)
    _read_mail(options, given, request)
    _read_switches(options, request)
    if (export := options.get("export")) is not None:
        read_environment(request, export, split_list(export), "ALL")
    after = options.get("dependency")
    if after is not None and after.text == "singleton":
        request.fields["DEPENDENCY"] = after.text
    elif after is not None:
        read_dependencies(request, after, after.text, given)
    request.others += options.get_all("signal")[-1:]
    _read_files(options, request, given)
    return request


@final
class _Sizes:
    """The nodes, processes, memory and GPUs: some options ask for the whole job, and a field has what a node gets."""

    def __init__(self, options: CommandLine, given: Given, request: ScriptRequest) -> None:
        self._options, self._given, self._request = options, given, request
        self._nodes, self._processes = given.nodes, given.processes
        self._cpus = given.cpus or self._count("cpus")

    def read(self) -> None:
        """Set the attributes."""
        per_node, exact = self._count("per_node"), self._request.exact
        self._nodes = self._nodes or self._read_nodes()
        self._processes = self._processes or self._count("processes")
        if per_node is not None and not exact:  # else, a range of nodes
            self._processes = self._processes or per_node * (self._nodes or 1)
            self._nodes = self._nodes or -(-self._processes // per_node)  # rounded up
        exact += map(ExactOption, self._options.get_all("per_node")[-1:])
        attributes = self._request.attributes
        attributes |= {"nodes": self._nodes, "processes": self._processes, "cpus": self._cpus}
        attributes["gpus"], attributes["gpu_type"] = self._read_gpus()
        attributes["memory"] = self._read_memory(self._given.gpus or attributes["gpus"])

    def _count(self, name: str) -> int | None:
        option = self._options.get(name)
        return None if option is None else quantities.parse_count(option)

    def _read_nodes(self) -> int | None:
        option = self._options.get("nodes")
        if option is None:
            return None
        first, _, last = option.text.partition("-")
        if _RANGE_OF_NODES.fullmatch(option.text) and first != last:
            message = f"{option}: {quote_value(option.text)} is not supported: it is a range"
            refusal = UsageError(message, hint="give one number of nodes")
            self._request.exact.append(ExactOption(option, ("nodes",), refusal))
            return None
        return quantities.parse_count(option._replace(text=first))

    def _find_nodes(self, option: OptionValue, attributes: Sequence[str], ours: str) -> int:
        """Return the nodes that share what an option asks for, which is exact; it is refused if only Slurm knows them."""
        default = self._given.default_nodes
        is_known = self._nodes is not None or default is not None or self._processes in {None, 1}
        if is_known and option.flag not in {"-G", "--gpus"}:
            is_known = not any(other.flag in _OF_GPUS for other in self._options.get_all(""))
        self._keep(option, attributes, "" if is_known else "how many nodes share it is not known", ours)
        return self._nodes or default or 1

    def _keep(self, option: OptionValue, attributes: Sequence[str], reason: str, ours: str) -> None:
        """Let an option through as it is written; where it is not passed, the reason refuses it."""
        forms = "--nodes, or " if "nodes" in reason else ""
        refusal = UsageError(f"{option}: {reason}", hint=f"give {forms}{ours}") if reason else None
        self._request.exact.append(ExactOption(option, tuple(attributes), refusal))

    def _count_tasks(self, nodes: int) -> int:
        """Return the most tasks that a node has."""
        processes, per_node = self._processes or 1, self._count("per_node")
        return -(-processes // nodes) if per_node is None else min(per_node, processes)  # rounded up

    def _read_memory(self, gpus: int | None) -> int | None:
        given = [o for n in ("memory", "memory.cpu", "memory.gpu") if (o := self._options.get(n)) is not None]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} exclude each other", hint="leave one of them out")
        if not given:
            return None
        [option] = given
        size = quantities.parse_slurm_size(option)
        if "memory.cpu" in self._options:
            tasks = self._count_tasks(self._find_nodes(option, ("memory",), "--mem"))
            return size * tasks * (self._cpus or 1)
        if "memory.gpu" in self._options:
            reason = "" if gpus else "how many GPUs a node has is not known"
            self._keep(option, ("memory",), reason, "--gpus-per-node, or --mem")
            return size * (gpus or 1)
        return size

    def _read_gpus(self) -> tuple[int | None, str | None]:
        """Return the GPUs of each node, and their type."""
        found = [
            (option, gpus)
            for name in ("gpus", "gpus.gres", "gpus.job")
            if (option := self._options.get(name)) and (gpus := self._parse_gpus(name, option))
        ]
        for option, gpus in found[1:]:
            if gpus != found[0][1]:
                message = f"{found[0][0]} and {option} do not agree"
                raise UsageError(message, hint="leave one of them out")
        if (per_task := self._options.get("gpus.task")) is not None:
            number, kind = self._parse_number(per_task)
            attributes = () if found or not number else ("gpus", "gpu_type")
            nodes = self._find_nodes(per_task, attributes, "--gpus-per-node")
            if attributes:
                found.append((per_task, (number * self._count_tasks(nodes), kind)))
                remark = f"{per_task}: it is --gpus-per-node, and each task sees them all: srun takes {per_task.flag}"
                self._request.exact[-1] = self._request.exact[-1]._replace(remark=remark)
        return found[0][1] if found else (None, None)

    def _parse_gpus(self, name: str, option: OptionValue) -> tuple[int, str | None] | None:
        if name == "gpus.gres":
            return self._parse_gres(option)
        number, kind = self._parse_number(option)
        if number == 0:
            return None
        if name == "gpus.job" and number > 1:
            nodes = self._find_nodes(option, ("gpus", "gpu_type"), "--gpus-per-node")
            if number % nodes:
                message = f"{option} {number} cannot be divided among {nodes} nodes"
                refusal = UsageError(message, hint="give --gpus-per-node")
                self._request.exact[-1] = self._request.exact[-1]._replace(refusal=refusal)
            number = -(-number // nodes)  # rounded up
        return number, kind

    def _parse_number(self, option: OptionValue) -> tuple[int, str | None]:
        match = re.fullmatch(r"(?:([A-Za-z][^:,=]*):)?([0-9]{1,4})", option.text)
        if match is None:
            raise _refuse_gpus(option)
        return int(match[2]), match[1]

    def _parse_gres(self, option: OptionValue) -> tuple[int, str | None] | None:
        gpus, others = None, []
        for part in option.text.split(","):
            match = re.fullmatch(r"(?:gres:)?gpu(?:[:=]([A-Za-z][^:,=]*))?(?:[:=]([0-9]{1,4}))?", part)
            if match is not None and gpus is None:
                gpus = (int(match[2] or 1), match[1]) if match[2] != "0" else None
            elif match is not None or _GPU.match(part):
                raise _refuse_gpus(option)
            elif part.lower() != "none":
                others.append(part)
        if others:  # in one option: of several, the last counts
            self._request.others.append(option._replace(text=",".join(others)))
        return gpus


def _read_other_gres(options: CommandLine, given: Given, request: ScriptRequest) -> None:
    """Read what --gres asks for besides GPUs, if the number of those is that of the command line."""
    option = options.get("gpus.gres")
    if option is not None and "GPUS" in given.fields:
        parts = [p for p in option.text.split(",") if p.lower() != "none" and not _GPU.match(p)]
        request.others += [option._replace(text=",".join(parts))] if parts else []


def _read_start_time(options: CommandLine, request: ScriptRequest) -> None:
    if (option := options.get("start_time")) is None:
        return
    try:
        request.attributes["start_time"] = quantities.parse_iso_time(option)
    except UsageError as refusal:
        request.exact.append(ExactOption(option, ("start_time",), refusal))


def _read_mail(options: CommandLine, given: Given, request: ScriptRequest) -> None:
    types, user = options.get("notify_events"), options.get("notify")
    words = types.text.upper().split(",") if types is not None else []
    events = [event for word in words for event in _MAIL_EVENTS.get(word, ())]
    other = next((word for word in words if word not in _MAIL_EVENTS), "")
    if types is not None and (other or "ALL" in words):  # which has more events than these
        hint = f"supported are {', '.join(_MAIL_EVENTS)}"
        message = f"{types}: {quote_value(other)} is not supported"
        refusal = UsageError(message, hint=hint) if other else None
        names = ("notify", "notify_events")
        request.exact += [ExactOption(o, names, refusal) for o in (types, user) if o is not None]
    if events:
        request.attributes["notify"] = user.text if user is not None else given.user_name
        request.attributes["notify_events"] = ",".join(dict.fromkeys(events))
    elif types is not None or user is not None:
        request.dropped += [option for option in (types or user,) if option is not None]


def _read_switches(options: CommandLine, request: ScriptRequest) -> None:
    mode, exclusive, requeue = options.get("open_mode"), options.get("exclusive"), options.get("requeue")
    if mode is not None and mode.text not in {"append", "truncate"}:
        raise UsageError(f"{mode}: {quote_value(mode.text)} is not a mode", hint="append or truncate")
    if mode is not None and mode.text == "append":
        request.fields["APPEND_OUTPUT"] = "true"
    if exclusive is not None and exclusive.text:
        request.others.append(exclusive)
    elif exclusive is not None:
        request.attributes["exclusive"] = True
    if requeue is not None:
        request.attributes["requeue"] = True
        request.exact += [ExactOption(requeue, ("requeue",))] if requeue.text else []
    elif "requeue.no" in options:
        request.attributes["requeue"] = False


def _read_files(options: CommandLine, request: ScriptRequest, given: Given) -> None:
    """Read the names of the files; Slurm writes both outputs to one, unless --error names another."""
    is_array = given.is_array or "array" in options
    name = request.attributes.get("name") or given.name
    index = "%a" if is_array else "4294967294"
    letters = {"%j": "%j", "%J": "%j", "%A": "%j", "%a": index, "%N": "%N", "%n": "0", "%t": "0", "%%": "%%"}
    letters |= {"%x": name.replace("%", "%%"), "%u": given.user_name.replace("%", "%%")}
    if is_array:
        letters |= {f"%{width}a": f"%{width}a" for width in range(1, 11)}
    for attribute in ("stdin", "stdout", "stderr"):
        option = options.get(attribute)
        if option is not None and "\\" in option.text:  # it turns the letters off
            text = option.text.replace("\\", "").replace("%", "%%")
            setattr(request, attribute, FileName(text, option))
        elif option is not None:
            setattr(request, attribute, expand_file_name(option, _LETTERS, letters))
    request.joins = True


def _refuse_gpus(option: OptionValue) -> UsageError:
    hint = "GPUs are supported, as in --gres=gpu:2, --gpus=2 or --gpus-per-node=a100:2"
    return UsageError(f"{option}: {quote_value(option.text)} is not supported", hint=hint)
