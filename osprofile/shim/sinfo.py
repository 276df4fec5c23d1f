"""`sinfo`: the queues of the target system as partitions, and its nodes. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import TemplateNotFoundError
from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, parse_words
from osprofile.jobs.state import JobState, NodeState, QueueState
from osprofile.late import NamedTuple
from osprofile.shim.columns import ColumnTable, format_rows
from osprofile.shim.command import Command, print_lines
from osprofile.shim.facts import Facts, Span, Style
from osprofile.shim.slurm import refuse_operands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.jobs.shell.output import NodeStatus
    from osprofile.shim.client import Client

_TABLE: Final = (
    Option("all", ("-a", "--all"), "", "all are shown in any case"),
    Option("clusters", ("-M", "--clusters"), "NAMES", "there is one in any case"),
    Option("exact", ("-e", "--exact"), "", "changes nothing"),
    Option("long_format", ("-O", "--Format"), "FORMAT", "as in partition:12,cpus"),
    Option("format", ("-o", "--format"), "FORMAT", "as in '%P %a %l'"),
    Option("local", ("--local",)),
    Option("no_convert", ("--noconvert",)),
    Option("no_header", ("-h", "--noheader")),
    Option("nodes", ("-N", "--Node"), "", "a line for each node"),
    Option("partition", ("-p", "--partition"), "NAMES"),
    Option("summarize", ("-s", "--summarize"), "", "a line for each partition"),
    Option("verbose", ("-v", "--verbose")),
)
_NODE_WORDS: Final = {
    NodeState.UP: ("idle", "idle"),
    NodeState.DOWN: ("down", "down"),
    NodeState.ERROR: ("drain", "drained"),
    NodeState.UNKNOWN: ("unk", "unknown"),
}
"""The short and the long word; whether a node is busy is not known."""
UNKNOWN: Final = "N/A"
"""Printed for what the target system does not tell: no number, so that it is not taken for one."""


@final
class Partition(NamedTuple):
    """A queue of the target system."""

    name: str
    is_default: bool
    is_open: bool
    walltime: int | None
    """The limit in seconds; None for none."""


@final
class _Row:
    """The facts of a partition and some of its nodes; None for what the target system does not tell."""

    def __init__(
        self, partition: Partition, nodes: Sequence[NodeStatus], allocated: Mapping[str, int]
    ) -> None:
        self.name, self.nodes = partition.name, len(nodes)
        self.partition = f"{partition.name}{'*' if partition.is_default else ''}"
        self.available = "up" if partition.is_open else "down"
        self.limit = None if partition.walltime is None else Span(partition.walltime)
        up = Counter(node.state for node in nodes)[NodeState.UP]
        self.node_counts = f"0/{up}/{self.nodes - up}/{self.nodes}"
        self.allocated_and_idle = f"0/{up}"
        self.node_names = ",".join(node.name for node in nodes)
        self.code, self.state = _NODE_WORDS[nodes[0].state] if nodes else ("n/a", "n/a")
        self.cpus, self.memory = (
            _format_least([getattr(node, name) for node in nodes]) for name in ("cpus", "memory")
        )
        self.unknown = None
        self.sockets = None if self.cpus is None else f"{self.cpus}:1:1"
        self.one = None if self.cpus is None else 1
        total = 0 if self.cpus is None else sum(node.cpus or 0 for node in nodes)
        used = sum(min(allocated.get(node.name, 0), node.cpus or 0) for node in nodes)
        self.cpu_counts = f"{used}/{total - used}/0/{total}" if total else None


def _format_least(numbers: Sequence[int | None]) -> str | None:
    """Return the least of numbers, with a + if some are larger; None if one is not known."""
    known = [number for number in numbers if number is not None]
    if not known or len(known) < len(numbers):
        return None
    return f"{min(known)}{'+' if max(known) > min(known) else ''}"


def count_allocated_cpus(client: Client) -> Mapping[str, int]:
    """Return how many processors of each node the jobs that run have."""
    running = (Facts(client, e) for e in client.list_recent(0.0) if e.status.state is JobState.RUNNING)
    counts = Counter[str]()
    for job in running:
        counts.update(dict.fromkeys(job.status.hosts, -(-job.cpus // max(1, len(job.status.hosts)))))
    return counts


def list_partitions(client: Client) -> list[Partition]:
    """Return the queues of the target system; where it has none, one with the name of the profile."""
    from osprofile.jobs.profiles import list_settable_fields

    only = Partition(client.default_queue, is_default=True, is_open=True, walltime=None)
    if "QUEUE" not in list_settable_fields(client.profile):
        return [only]
    try:
        queues = client.run(lambda target: target.list_queues())
    except TemplateNotFoundError:
        return [only]
    return [
        Partition(
            queue.name,
            queue.is_default,
            queue.state is not QueueState.STOPPED,
            next(
                (
                    int(limit.value)
                    for limit in queue.limits
                    if (limit.field, limit.relation) == ("WALLTIME", "<=") and limit.value.isdecimal()
                ),
                None,
            ),
        )
        for queue in queues
    ]


def list_nodes(client: Client) -> Sequence[NodeStatus]:
    """Return the nodes of the target system; none if its profile does not tell them."""
    try:
        return client.run(lambda target: target.list_nodes())
    except TemplateNotFoundError:
        return []


def format_node_state(node: NodeStatus) -> str:
    """Return the long word for a node's state."""
    return _NODE_WORDS[node.state][1]


_STYLE: Final = Style(UNKNOWN, quantities.format_elapsed)
_COLUMNS: Final = ColumnTable(
    """
nodeai A NODES(A/I) {allocated_and_idle}
maxcpuspernode B MAX_CPUS_PER_NODE UNLIMITED
cpusstate C CPUS(A/I/O/T) {cpu_counts}
nodes D NODES {nodes}
reason E REASON none
nodeaiot F NODES(A/I/O/T) {node_counts}
gres G GRES (null)
gresused - GRES_USED (null)
defaulttime L DEFAULTTIME n/a
nodelist N NODELIST {node_names}
cpusload O CPU_LOAD {unknown}
partition P PARTITION {partition}
partitionname R PARTITION {name}
allocnodes S ALLOCNODES all
statelong T STATE {state}
statecomplete - STATECOMPLETE {state}
sockets X SOCKETS {cpus}
cores Y CORES {one}
threads Z THREADS {one}
available a AVAIL {available}
features_act b ACTIVE_FEATURES (null)
cpus c CPUS {cpus}
disk d TMP_DISK {unknown}
freemem e FREE_MEM {unknown}
allocmem - ALLOCMEM {unknown}
features f AVAIL_FEATURES (null)
groups g GROUPS all
oversubscribe h OVERSUBSCRIBE NO
time l TIMELIMIT {limit:infinite}
memory m MEMORY {memory}
nodehost n HOSTNAMES {node_names}
nodeaddr o NODE_ADDR {node_names}
prioritytier p PRIO_TIER 1
root r ROOT no
size s JOB_SIZE 1-infinite
statecompact t STATE {code}
socketcorethread z S:C:T {sockets}
"""
)
_BY_NODE: Final = frozenset({"HOSTNAMES", "NODE_ADDR"})
_BY_STATE: Final = frozenset({"STATE", "STATECOMPLETE"})
"""By the headers: whether nodes have a line each, or those of a state have one together."""
_FORMATS: Final = {
    "nodes": "%.15N %.6D %.9P %6t",
    "summarize": "%9P %.5a %.10l %.16F  %N",
    "": "%9P %.5a %.10l %.6D %.6t %N",
}


def _run_sinfo(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    kind = next((name for name in ("nodes", "summarize") if name in line), "")
    columns = _COLUMNS.choose(line, _FORMATS[kind])
    headers = frozenset(column.header for column in columns)
    names = line.get_text("partition")
    partitions = [p for p in list_partitions(client) if names is None or p.name in names.split(",")]
    nodes = list_nodes(client)
    allocated = count_allocated_cpus(client) if "CPUS(A/I/O/T)" in headers else {}
    rows = [
        _Row(partition, group, allocated)
        for partition in partitions
        for group in _group_nodes(nodes, headers, is_by_node="nodes" in line)
    ]
    lines = format_rows(columns, _STYLE, rows, has_header="no_header" not in line)
    print_lines(dict.fromkeys(lines))
    return 0


def _group_nodes(
    nodes: Sequence[NodeStatus], headers: frozenset[str], *, is_by_node: bool
) -> list[Sequence[NodeStatus]]:
    """Return the nodes that have a line together."""
    if nodes and (is_by_node or headers & _BY_NODE):
        return [[node] for node in nodes]
    if nodes and headers & _BY_STATE:
        return [[n for n in nodes if n.state is state] for state in dict.fromkeys(n.state for n in nodes)]
    return [nodes]


SINFO: Final = Command(_TABLE, "", _run_sinfo)
