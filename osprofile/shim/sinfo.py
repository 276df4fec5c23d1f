"""`sinfo`: the queues of the target system as partitions, and its nodes. Source: its manual page of Slurm 23.02."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import TemplateNotFoundError
from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, OptionValue, UsageError, parse_words
from osprofile.jobs.state import NodeState, QueueState
from osprofile.shim.command import Command, print_lines
from osprofile.shim.slurm import refuse_operands
from osprofile.shim.squeue import FORMAT_PIECE
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.jobs.machine import NodeStatus
    from osprofile.shim.client import Client

_TABLE: Final = (
    Option("all", ("-a", "--all"), "", "all are shown in any case"),
    Option("clusters", ("-M", "--clusters"), "NAMES", "there is one in any case"),
    Option("exact", ("-e", "--exact"), "", "changes nothing"),
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
class _Row(NamedTuple):
    partition: Partition
    nodes: Sequence[NodeStatus]


def list_partitions(client: Client) -> list[Partition]:
    """Return the queues of the target system; where it has none, one with the name of the profile."""
    from osprofile.jobs.profiles import list_settable_fields

    only = Partition(client.default_queue, is_default=True, is_open=True, walltime=None)
    if "QUEUE" not in list_settable_fields(client.profile):
        return [only]
    try:
        queues = client.session.run(lambda target: target.list_queues())
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
        return client.session.run(lambda target: target.list_nodes())
    except TemplateNotFoundError:
        return []


def format_node_state(node: NodeStatus) -> str:
    """Return the long word for a node's state."""
    return _NODE_WORDS[node.state][1]


def _count_nodes(row: _Row) -> str:
    """Return how many nodes are allocated, idle, and neither, and how many there are."""
    idle = Counter(node.state for node in row.nodes)[NodeState.UP]
    return f"0/{idle}/{len(row.nodes) - idle}/{len(row.nodes)}"


def _format_time_limit(row: _Row) -> str:
    limit = row.partition.walltime
    return "infinite" if limit is None else quantities.format_elapsed(limit)


def _unknown(_row: _Row) -> str:
    return UNKNOWN


def _format_name(row: _Row) -> str:
    return f"{row.partition.name}{'*' if row.partition.is_default else ''}"


_COLUMNS: Final[dict[str, tuple[str, Callable[[_Row], str]]]] = {
    "A": ("NODES(A/I)", lambda row: "/".join(_count_nodes(row).split("/")[:2])),
    "B": ("MAX_CPUS_PER_NODE", lambda _: "UNLIMITED"),
    "C": ("CPUS(A/I/O/T)", _unknown),
    "D": ("NODES", lambda row: str(len(row.nodes))),
    "E": ("REASON", lambda _: "none"),
    "F": ("NODES(A/I/O/T)", _count_nodes),
    "G": ("GRES", lambda _: "(null)"),
    "L": ("DEFAULTTIME", lambda _: "n/a"),
    "N": ("NODELIST", lambda row: ",".join(node.name for node in row.nodes)),
    "O": ("CPU_LOAD", _unknown),
    "P": ("PARTITION", _format_name),
    "R": ("PARTITION", lambda row: row.partition.name),
    "S": ("ALLOCNODES", lambda _: "all"),
    "T": ("STATE", lambda row: _NODE_WORDS[row.nodes[0].state][1] if row.nodes else "n/a"),
    "X": ("SOCKETS", _unknown),
    "Y": ("CORES", _unknown),
    "Z": ("THREADS", _unknown),
    "a": ("AVAIL", lambda row: "up" if row.partition.is_open else "down"),
    "b": ("ACTIVE_FEATURES", lambda _: "(null)"),
    "c": ("CPUS", _unknown),
    "d": ("TMP_DISK", _unknown),
    "e": ("FREE_MEM", _unknown),
    "f": ("AVAIL_FEATURES", lambda _: "(null)"),
    "g": ("GROUPS", lambda _: "all"),
    "h": ("OVERSUBSCRIBE", lambda _: "NO"),
    "l": ("TIMELIMIT", _format_time_limit),
    "m": ("MEMORY", _unknown),
    "n": ("HOSTNAMES", lambda row: ",".join(node.name for node in row.nodes)),
    "o": ("NODE_ADDR", lambda row: ",".join(node.name for node in row.nodes)),
    "p": ("PRIO_TIER", lambda _: "1"),
    "r": ("ROOT", lambda _: "no"),
    "s": ("JOB_SIZE", lambda _: "1-infinite"),
    "t": ("STATE", lambda row: _NODE_WORDS[row.nodes[0].state][0] if row.nodes else "n/a"),
    "z": ("S:C:T", _unknown),
}
"""By the letters of --format: the header, and the value of a partition with some of its nodes."""
_BY_NODE: Final = frozenset("no")
_BY_STATE: Final = frozenset("tT")
_FORMATS: Final = {
    "nodes": "%.15N %.6D %.9P %6t",
    "summarize": "%9P %.5a %.10l %.16F  %N",
    "": "%9P %.5a %.10l %.6D %.6t %N",
}


def _run_sinfo(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    kind = next((name for name in ("nodes", "summarize") if name in line), "")
    form = line.get("format") or OptionValue("--format", _FORMATS[kind])
    letters = _check_format(form)
    names = line.get_text("partition")
    partitions = [p for p in list_partitions(client) if names is None or p.name in names.split(",")]
    nodes = list_nodes(client)
    rows = [
        _Row(partition, group)
        for partition in partitions
        for group in _group_nodes(nodes, letters, is_by_node="nodes" in line)
    ]
    header = [] if "no_header" in line else [_format_line(form.text, None)]
    print_lines(header + list(dict.fromkeys(_format_line(form.text, row) for row in rows)))
    return 0


def _check_format(form: OptionValue) -> frozenset[str]:
    """Return the letters of a format. Raises `UsageError` for one that is not supported."""
    letters = frozenset(match[3] for match in FORMAT_PIECE.finditer(form.text)) - {"%"}
    for letter in sorted(letters - _COLUMNS.keys()):
        hint = f"supported are {' '.join(f'%{name}' for name in _COLUMNS)}"
        raise UsageError(f"{form.flag}: {quote_value(f'%{letter}')} is not supported", hint=hint)
    return letters


def _group_nodes(
    nodes: Sequence[NodeStatus], letters: frozenset[str], *, is_by_node: bool
) -> list[Sequence[NodeStatus]]:
    """Return the nodes that have a line together."""
    if nodes and (is_by_node or letters & _BY_NODE):
        return [[node] for node in nodes]
    if nodes and letters & _BY_STATE:
        return [[n for n in nodes if n.state is state] for state in dict.fromkeys(n.state for n in nodes)]
    return [nodes]


def _format_line(form: str, row: _Row | None) -> str:
    """Return the line of a row, or of the headers."""
    parts, end = [], 0
    for match in FORMAT_PIECE.finditer(form):
        dot, width, letter = match.groups()
        parts.append(form[end : match.start()])
        end = match.end()
        if letter == "%":
            parts.append("%")
            continue
        header, value = _COLUMNS[letter]
        text = header if row is None else value(row)
        size = int(width or 0)
        text = text[:size] if size else text
        parts.append(text.rjust(size) if dot else text.ljust(size))
    return "".join([*parts, form[end:]])


SINFO: Final = Command(_TABLE, "", _run_sinfo)
