"""`scontrol`, for what programs ask and do with their own jobs. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Final

from osprofile.errors import JobNotFoundError, OSProfileError
from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, UsageError, parse_words
from osprofile.jobs.arrays import MAX_TASKS
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    Command,
    is_known,
    print_error,
    print_lines,
)
from osprofile.shim.facts import Facts, Style
from osprofile.shim.programs import VERSIONS
from osprofile.shim.sinfo import (
    UNKNOWN,
    count_allocated_cpus,
    format_node_state,
    list_nodes,
    list_partitions,
)
from osprofile.shim.slurm import is_selected, parse_ids
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.shell.output import NodeStatus
    from osprofile.shim.client import Client, Entry

_TABLE: Final = (
    Option("all", ("-a", "--all")),
    Option("clusters", ("-M", "--clusters", "--cluster"), "NAMES", "there is one in any case"),
    Option("details", ("-d", "--details"), "", "changes nothing"),
    Option("future", ("-F", "--future"), "", "changes nothing"),
    Option("local", ("--local",)),
    Option("one_line", ("-o", "--oneliner"), "", "a line for each record"),
    Option("quiet", ("-Q", "--quiet")),
    Option("verbose", ("-v", "--verbose")),
)
_COMMANDS: Final = ("hold", "ping", "release", "show", "uhold", "version")
_ENTITIES: Final = (
    "config", "hostlist", "hostlistsorted", "hostnames", "jobs", "jobid", "nodes", "partitions",
)  # fmt: skip
_HOSTS: Final = re.compile(r"([^,\[\]]*)(?:\[([^\]]*)\])?([^,\[\]]*)(?:,|$)")
_MAX_HOSTS: Final = 100_000  # in one range: a typing error must not fill the memory


_STYLE: Final = Style("(null)", quantities.format_days)
_JOB: Final = """\
UserId={user}({user_id}) GroupId={group}({group_id}) MCS_label=N/A
Priority={priority} Nice=0 Account={account} QOS={qos}
JobState={state} Reason={reason} Dependency=(null)
Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={exit_code}
RunTime={elapsed} TimeLimit={limit:UNLIMITED} TimeMin=N/A
SubmitTime={submitted:Unknown} EligibleTime={submitted:Unknown}
StartTime={started:Unknown} EndTime={expected_end:Unknown} Deadline=N/A
Partition={queue} AllocNode:Sid={submit_host}:{number}
ReqNodeList=(null) ExcNodeList=(null)
NodeList={known_hosts}
BatchHost={batch_host:n/a}
NumNodes={nodes} NumCPUs={cpus} NumTasks={tasks} CPUs/Task={cpus_per_task} ReqB:S:C:T=0:0:*:*
TRES={tres}
MinCPUsNode={cpus_per_task} MinMemoryNode={short_memory} MinTmpDiskNode=0
Features={constraint} DelayBoot=00:00:00
OverSubscribe={sharing} Contiguous=0 Licenses=(null) Network=(null)
Command=(null)
WorkDir={directory}"""
"""The lines of a job behind the first one. The files of its output are not recorded, and are left out."""


def _run_scontrol(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=False)
    if not line.operands:
        raise UsageError("no command is given", hint=f"supported are {', '.join(_COMMANDS)}")
    command, *rest = line.operands
    found = _complete(command, _COMMANDS)
    if found == "show":
        return _show(client, rest, is_one_line="one_line" in line)
    if found in {"hold", "uhold"}:
        return _change_jobs(rest, client.hold_job, "Job is no longer pending execution")
    if found == "release":
        return _change_jobs(rest, client.release_job, "Job/step already completing or completed")
    if found == "ping":
        print_lines([f"Slurmctld(primary) at {os.uname().nodename} is UP"])
        return 0
    if found == "version":
        print_lines([VERSIONS["slurm"]])
        return 0
    message = f"the command {quote_name(command)} is not supported: this command stands in for the real one"
    raise UsageError(message, hint=f"supported are {', '.join(_COMMANDS)}; a submitted job cannot be changed")


def _complete(word: str, names: Iterable[str]) -> str:
    """Return the name that a word is or abbreviates; empty for none, or several."""
    lower = word.lower()
    found = [name for name in names if name == lower] or [name for name in names if name.startswith(lower)]
    return found[0] if found and lower else ""


def _change_jobs(words: Sequence[str], action: Callable[[int, int | None], bool], refusal: str) -> int:
    """Hold or release jobs; return the exit code."""
    parts = [part for word in words for part in word.partition("=")[2 if "=" in word else 0].split(",")]
    if not parts:
        raise UsageError("no job is given", hint="as in scontrol hold 12")
    code = 0
    for number, index in parse_ids("job", parts):
        try:
            message = "" if action(number, index) else refusal
        except JobNotFoundError:
            message = "Invalid job id specified"
        except OSProfileError as error:
            message = str(error)
        if message:
            print_error("scontrol", f"error: {message} for job {number}")
            code = 1
    return code


def _show(client: Client, words: Sequence[str], *, is_one_line: bool) -> int:
    word, equals, text = words[0].partition("=") if words else ("", "", "")
    entity = _complete(word, _ENTITIES)
    names = [text, *words[1:]] if equals else list(words[1:])
    if entity == "config":
        print_lines(_list_config(client))
        return 0
    if entity in {"hostlist", "hostlistsorted", "hostnames"}:
        hosts = expand_hosts(names[0] if names else os.environ.get("SLURM_JOB_NODELIST", ""))
        print_lines(hosts if entity == "hostnames" else [",".join(hosts)])
        return 0
    if entity in {"jobs", "jobid"}:
        return _show_jobs(client, names, is_one_line=is_one_line)
    if entity == "nodes":
        return _print_records(_list_node_records(client), names, "Node", is_one_line=is_one_line)
    if entity == "partitions":
        return _print_records(_list_partition_records(client), names, "Partition", is_one_line=is_one_line)
    raise UsageError(
        f"show {quote_value(word)} is not supported", hint=f"supported are {', '.join(_ENTITIES)}"
    )


def _list_config(client: Client) -> list[str]:
    values = {
        "ClusterName": client.default_queue,
        "MaxArraySize": str(MAX_TASKS + 1),
        "MinJobAge": f"{MEMORY_OF_ENDED_JOBS:.0f} sec",
        "SLURM_VERSION": VERSIONS["slurm"].split()[1],
        "SlurmctldHost[0]": os.uname().nodename,
    }
    now = time.strftime("%Y-%m-%dT%H:%M:%S")
    return [
        f"Configuration data as of {now}",
        *(f"{name:23} = {value}" for name, value in values.items()),
        "",
    ]


def _show_jobs(client: Client, names: Sequence[str], *, is_one_line: bool) -> int:
    if not names:
        entries = client.list_recent(MEMORY_OF_ENDED_JOBS)
        if not entries:
            print_lines(["No jobs in the system"])
    else:
        ids = parse_ids("show job", names[0].split(","))
        since = time.time() - MEMORY_OF_ENDED_JOBS
        entries = [
            entry
            for entry in client.query_jobs(number for number, _ in ids)
            if is_known(entry.status, since) and is_selected(entry, ids)
        ]
        if not entries:
            print_error("slurm_load_jobs error", "Invalid job id specified")
            return 1
    print_lines(_format_record(_list_job_lines(client, entry), is_one_line=is_one_line) for entry in entries)
    return 0


def _list_job_lines(client: Client, entry: Entry) -> list[str]:
    name, facts = entry.record.name, Facts(client, entry)
    task = "" if entry.index is None else f" ArrayJobId={entry.number} ArrayTaskId={entry.index}"
    lines = (_STYLE.fill(line, facts) for line in _JOB.splitlines())
    return [f"JobId={entry.number}{task} JobName={name}", *lines]


def _format_record(lines: Sequence[str], *, is_one_line: bool) -> str:
    if is_one_line:
        return " ".join(lines)
    return "\n   ".join(lines) + "\n"


def _print_records(
    records: Mapping[str, Sequence[str]], names: Sequence[str], kind: str, *, is_one_line: bool
) -> int:
    """Print the records with these names, or all; return the exit code."""
    wanted = list(dict.fromkeys(host for name in names for host in expand_hosts(name))) or list(records)
    unknown = [name for name in wanted if name not in records]
    print_lines(
        _format_record(records[name], is_one_line=is_one_line) for name in wanted if name not in unknown
    )
    if unknown or not records:
        print_lines(f"{kind} {name} not found" for name in unknown or ["all"])
        return 1
    return 0


def _list_node_records(client: Client) -> dict[str, list[str]]:
    partitions = ",".join(partition.name for partition in list_partitions(client))
    allocated = count_allocated_cpus(client)

    def describe(node: NodeStatus) -> list[str]:
        cpus, memory = node.cpus or UNKNOWN, node.memory or UNKNOWN
        one = 1 if node.cpus else UNKNOWN
        used = min(allocated.get(node.name, 0), node.cpus) if node.cpus else UNKNOWN
        return [
            f"NodeName={node.name} CoresPerSocket={one}",
            f"CPUAlloc={used} CPUEfctv={cpus} CPUTot={cpus} CPULoad={UNKNOWN}",
            "AvailableFeatures=(null)",
            "ActiveFeatures=(null)",
            "Gres=(null)",
            f"NodeAddr={node.name} NodeHostName={node.name}",
            f"RealMemory={memory} AllocMem={UNKNOWN} FreeMem={UNKNOWN} Sockets={cpus} Boards=1",
            f"State={format_node_state(node).upper()} ThreadsPerCore={one} TmpDisk=0 Weight=1",
            f"Partitions={partitions}",
        ]

    return {node.name: describe(node) for node in list_nodes(client)}


def _list_partition_records(client: Client) -> dict[str, list[str]]:
    nodes = list_nodes(client)
    cpus = [node.cpus for node in nodes if node.cpus]
    total = sum(cpus) if cpus and len(cpus) == len(nodes) else UNKNOWN
    names = ",".join(node.name for node in nodes) or "(null)"
    records = {}
    for partition in list_partitions(client):
        limit = partition.walltime
        days, rest = divmod(limit or 0, 86400)
        clock = f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        records[partition.name] = [
            f"PartitionName={partition.name}",
            "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
            f"AllocNodes=ALL Default={'YES' if partition.is_default else 'NO'} QoS=N/A",
            f"DefaultTime=NONE Hidden=NO MaxNodes=UNLIMITED MaxTime={'UNLIMITED' if limit is None else clock} MinNodes=0",
            f"Nodes={names}",
            "PriorityTier=1 OverSubscribe=NO PreemptMode=OFF",
            f"State={'UP' if partition.is_open else 'DOWN'} TotalCPUs={total} TotalNodes={len(nodes)}",
            "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED",
        ]
    return records


def expand_hosts(text: str) -> list[str]:
    """Return the names of a list such as `a[1-3,07],b`."""
    hosts: list[str] = []
    end = 0
    while end < len(text):
        match = _HOSTS.match(text, end)
        if match is None or match.end() == end:
            raise UsageError(f"{quote_value(text)} is not a list of nodes", hint="as in a[1-3],b")
        begin, ranges, rest = match.groups()
        end = match.end()
        if ranges is None:
            hosts += [begin] if begin else []
            continue
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            last = last or first
            if not (first.isdecimal() and last.isdecimal()) or int(last) - int(first) > _MAX_HOSTS:
                raise UsageError(f"{quote_value(text)} is not a list of nodes", hint="as in a[1-3],b")
            hosts += [f"{begin}{i:0{len(first)}}{rest}" for i in range(int(first), int(last) + 1)]
    return hosts


SCONTROL: Final = Command(_TABLE, "COMMAND [WORD...]", _run_scontrol)
