"""`squeue`. Sources: its manual page of Slurm 23.02; what is printed for no value is what Slurm 22.05 printed."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import Option, OptionValue, UsageError, parse_words, refuse_options
from osprofile.jobs.state import JobState
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    Command,
    get_elapsed,
    is_known,
    print_error,
    print_lines,
)
from osprofile.shim.slurm import (
    LIVE_STATES,
    PENDING,
    count_cpus,
    filter_entries,
    format_exit_code,
    format_id,
    format_reason,
    format_time,
    get_group_name,
    get_reason,
    get_state,
    is_selected,
    parse_ids,
    parse_states,
    refuse_operands,
)
from osprofile.text import format_memory_option, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.shim.client import Client, Entry

    _Value = Callable[[Client, Entry], str]

_TABLE: Final = (
    Option("accounts", ("-A", "--accounts", "--account"), "NAMES"),
    Option("all", ("-a", "--all")),
    Option("array", ("-r", "--array"), "", "tasks have a line each in any case"),
    Option("clusters", ("-M", "--clusters"), "NAMES", "there is one in any case"),
    Option("long_format", ("-O", "--Format"), "FORMAT", "as in JobID:12,State"),
    Option("format", ("-o", "--format"), "FORMAT", "as in '%i %.2t'"),
    Option("hide", ("--hide",)),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("json", ("--json",), "", "print a JSON object, as Slurm 23.02 does"),
    Option("local", ("--local",)),
    Option("me", ("--me",)),
    Option("name", ("-n", "--name"), "NAMES"),
    Option("no_convert", ("--noconvert",), "", "sizes are not converted to G"),
    Option("no_header", ("-h", "--noheader")),
    Option("partition", ("-p", "--partitions"), "NAMES"),
    Option("states", ("-t", "--states"), "STATES", "all, or as in PD,R"),
    Option("user", ("-u", "--users", "--user"), "NAMES"),
    Option("verbose", ("-v", "--verbose")),
    *refuse_options(
        "--array-unique --federation --help --iterate --licenses --long --node --nodelist --nodes"
        " --priority --qos --reservation --sib --sibling --sort --start --steps --usage --version --yaml"
    ),
)
_NO_VALUE: Final = "(null)"
_UNLIMITED: Final = "UNLIMITED"


def _requested(field: str, default: str = _NO_VALUE) -> _Value:
    return lambda client, entry: client.get_requested(entry.record, field) or default


def _always(text: str) -> _Value:
    return lambda _client, _entry: text


def _format_memory(client: Client, entry: Entry) -> str:
    """Return the memory of a node, in MiB, or in GiB if it is a multiple of one."""
    mebibytes = client.get_requested(entry.record, "MEMORY")
    if not mebibytes.isdecimal():
        return "0"  # no limit
    return format_memory_option(int(mebibytes))


def _format_limit(entry: Entry) -> str:
    limit = entry.record.walltime
    return quantities.format_elapsed(limit) if limit else _UNLIMITED


def _format_time_left(entry: Entry) -> str:
    limit = entry.record.walltime
    return quantities.format_elapsed(limit - get_elapsed(entry.status)) if limit else _UNLIMITED


def _format_end(entry: Entry) -> str:
    """Return when a job ended, or will be ended by its limit."""
    started, limit = entry.status.started, entry.record.walltime
    expected = started + limit if started is not None and limit else None
    return format_time(entry.status.ended or expected, "N/A")


def _format_gpus(client: Client, entry: Entry) -> str:
    kind, number = (client.get_requested(entry.record, field) for field in ("GPU_TYPE", "GPUS"))
    return ":".join(filter(None, ("gres", "gpu", kind, number))) if number else "N/A"


def _get_priority(entry: Entry) -> int:
    """Return 0 for a held job, as Slurm does, and 1 for any other: batch systems have no common scale."""
    return 0 if entry.status.state is JobState.HELD and get_state(entry.status) is PENDING else 1


_COLUMNS: Final[dict[str, tuple[str, str, _Value]]] = {
    "account": ("a", "ACCOUNT", _requested("PROJECT")),
    "allocnodes": ("", "ALLOC_NODES", lambda _c, _e: os.uname().nodename),
    "arrayjobid": ("F", "ARRAY_JOB_ID", lambda _, e: str(e.number)),
    "arraytaskid": ("K", "ARRAY_TASK_ID", lambda _, e: "N/A" if e.index is None else str(e.index)),
    "batchflag": ("", "BATCH_FLAG", _always("1")),
    "batchhost": ("B", "EXEC_HOST", lambda _, e: e.status.hosts[0] if e.status.hosts else "n/a"),
    "command": ("o", "COMMAND", _always(_NO_VALUE)),
    "comment": ("k", "COMMENT", _always(_NO_VALUE)),
    "contiguous": ("O", "CONTIGUOUS", _always("0")),
    "cores": ("I", "CORES_PER_SOCKET", _always("*")),
    "corespec": ("X", "CORE_SPEC", _always("N/A")),
    "cpus-per-task": ("", "CPUS_PER_TASK", _requested("CPUS", "1")),
    "cpuspertask": ("", "CPUS_PER_TASK", _requested("CPUS", "1")),
    "dependency": ("E", "DEPENDENCY", _always(_NO_VALUE)),
    "endtime": ("e", "END_TIME", lambda _, e: _format_end(e)),
    "exit_code": ("", "EXIT_CODE", lambda _, e: format_exit_code(e.status).removesuffix(":0")),
    "feature": ("f", "FEATURES", _requested("CONSTRAINT")),
    "gres": ("", "TRES_PER_NODE", _format_gpus),
    "groupid": ("G", "GROUP", lambda _c, _e: str(os.getegid())),
    "groupname": ("g", "GROUP", lambda _c, _e: get_group_name()),
    "jobarrayid": ("i", "JOBID", lambda _, e: format_id(e)),
    "jobid": ("A", "JOBID", lambda _, e: str(e.number)),
    "licenses": ("W", "LICENSES", _always(_NO_VALUE)),
    "mincpus": ("c", "MIN_CPUS", _requested("CPUS", "1")),
    "minmemory": ("m", "MIN_MEMORY", _format_memory),
    "mintmpdisk": ("d", "MIN_TMP_DISK", _always("0")),
    "name": ("j", "NAME", lambda _, e: e.record.name),
    "nice": ("y", "NICE", _always("0")),
    "nodelist": ("N", "NODELIST", lambda _, e: ",".join(e.status.hosts)),
    "numcpus": ("C", "CPUS", lambda c, e: str(count_cpus(c, e))),
    "numnodes": ("D", "NODES", _requested("NODES", "1")),
    "numtasks": ("", "TASKS", _requested("PROCESSES", "1")),
    "oversubscribe": (
        "h", "OVER_SUBSCRIBE", lambda c, e: "NO" if c.get_requested(e.record, "EXCLUSIVE") else "OK",
    ),
    "partition": ("P", "PARTITION", lambda c, e: c.get_queue(e)),
    "priority": ("p", "PRIORITY", lambda _, e: f"{_get_priority(e) / 2**32:.14f}"),
    "prioritylong": ("Q", "PRIORITY", lambda _, e: str(_get_priority(e))),
    "qos": ("q", "QOS", _requested("QOS")),
    "reason": ("r", "REASON", lambda _, e: get_reason(e)),
    "reasonlist": ("R", "NODELIST(REASON)", lambda _, e: format_reason(e)),
    "reqnodes": ("n", "REQ_NODES", _always("")),
    "reservation": ("v", "RESERVATION", _requested("RESERVATION")),
    "schednodes": ("Y", "SCHEDNODES", _always(_NO_VALUE)),
    "sct": ("z", "S:C:T", _always("*:*:*")),
    "selectjobinfo": ("s", "", _always("")),
    "sockets": ("H", "SOCKETS_PER_NODE", _always("*")),
    "starttime": ("S", "START_TIME", lambda _, e: format_time(e.status.started, "N/A")),
    "state": ("T", "STATE", lambda _, e: get_state(e.status).name),
    "statecompact": ("t", "ST", lambda _, e: get_state(e.status).code),
    "submittime": ("V", "SUBMIT_TIME", lambda _, e: format_time(e.record.status.submitted, "N/A")),
    "threads": ("J", "THREADS_PER_CORE", _always("*")),
    "timeleft": ("L", "TIME_LEFT", lambda _, e: _format_time_left(e)),
    "timelimit": ("l", "TIME_LIMIT", lambda _, e: _format_limit(e)),
    "timeused": ("M", "TIME", lambda _, e: quantities.format_elapsed(get_elapsed(e.status))),
    "tres-per-node": ("b", "TRES_PER_NODE", _format_gpus),
    "userid": ("U", "UID", lambda _c, _e: str(os.geteuid())),
    "username": ("u", "USER", lambda c, _: c.user_name),
    "wckey": ("w", "WCKEY", _always(_NO_VALUE)),
    "workdir": ("Z", "WORK_DIR", _requested("DIRECTORY")),
}  # fmt: skip
"""By the names of --Format: the letter of --format, the header, and the value."""
_NAMES: Final = {letter: name for name, (letter, _, _) in _COLUMNS.items() if letter}
_DEFAULT_FORMAT: Final = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
FORMAT_PIECE: Final = re.compile(r"%(\.?)([0-9]{0,3})(.?)", re.DOTALL)
_LONG_PIECE: Final = re.compile(r"([A-Za-z_-]+)(?::(\.?)([0-9]{0,3})(.*))?", re.DOTALL)
_LONG_WIDTH: Final = 20


def get_column(client: Client, entry: Entry, name: str) -> str:
    """Return the value of a column by its name of --Format."""
    return _COLUMNS[name][2](client, entry)


@final
class _Column(NamedTuple):
    """A column, with the text before and behind it; width 0: as long as its text."""

    before: str
    name: str
    width: int
    is_right: bool
    behind: str = ""

    @property
    def header(self) -> str:
        return self._fit(_COLUMNS[self.name][1])

    def format_value(self, client: Client, entry: Entry) -> str:
        return self._fit(get_column(client, entry, self.name))

    def _fit(self, text: str) -> str:
        if self.width:
            text = text[: self.width]
            text = text.rjust(self.width) if self.is_right else text.ljust(self.width)
        return f"{self.before}{text}{self.behind}"


def _parse_format(option: OptionValue) -> tuple[list[_Column], str]:
    """Return the columns of a format such as `%.18i %j`, and the text behind them."""
    columns, end, before = [], 0, ""
    for match in FORMAT_PIECE.finditer(option.text):
        dot, width, letter = match.groups()
        before += option.text[end : match.start()]
        end = match.end()
        if letter == "%":
            before += "%"
            continue
        if letter not in _NAMES:
            hint = f"supported are {' '.join(f'%{name}' for name in sorted(_NAMES))}"
            raise UsageError(f"{option.flag}: {quote_value(match[0])} is not supported", hint=hint)
        columns.append(_Column(before, _NAMES[letter], int(width or 0), bool(dot)))
        before = ""
    return columns, before + option.text[end:]


def _parse_long_format(option: OptionValue) -> list[_Column]:
    """Return the columns of a format such as `JobID:12,State:.10,Reason`."""
    columns = []
    for piece in filter(None, option.text.split(",")):
        match = _LONG_PIECE.fullmatch(piece)
        name = match[1].lower() if match else ""
        if match is None or name not in _COLUMNS:
            hint = f"supported are {', '.join(_COLUMNS)}, as in JobID:12,State"
            raise UsageError(f"{option.flag}: {quote_value(piece)} is not supported", hint=hint)
        width = _LONG_WIDTH if match[3] is None else int(match[3] or 0)
        columns.append(_Column("", name, width, bool(match[2]), match[4] or ""))
    return columns


def _run_squeue(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    form, long_form = line.get("format"), line.get("long_format")
    if form is not None and long_form is not None:
        raise UsageError(f"{long_form.flag} and {form.flag} exclude each other", hint="leave one of them out")
    columns, tail = _parse_format(form or OptionValue("--format", _DEFAULT_FORMAT))
    if long_form is not None:
        columns, tail = _parse_long_format(long_form), ""
    states = parse_states(line.get("states")) if "states" in line else frozenset(LIVE_STATES)
    jobs = line.get("jobs")
    entries: list[Entry]
    if jobs is None:
        entries = client.list_recent(MEMORY_OF_ENDED_JOBS)
    else:
        ids = parse_ids(jobs.flag, jobs.text.split(","))
        since = time.time() - MEMORY_OF_ENDED_JOBS
        known = [e for e in client.query_jobs(number for number, _ in ids) if is_known(e.status, since)]
        entries = [entry for entry in known if is_selected(entry, ids)]
        if len(ids) == 1 and not entries:
            # The text and the exit code by which programs know that a job is gone.
            print_error("slurm_load_jobs error", "Invalid job id specified")
            return 1
    if states is not None:
        entries = [entry for entry in entries if get_state(entry.status) in states]
    selected = filter_entries(client, entries, line)
    if "json" in line:
        from osprofile.shim import slurm_json

        slurm_json.print_jobs(client, selected, slurm_json.describe_live_job)
        return 0
    lines = [] if "no_header" in line else ["".join(c.header for c in columns) + tail]
    lines += ("".join(c.format_value(client, entry) for c in columns) + tail for entry in selected)
    print_lines(lines)
    return 0


SQUEUE: Final = Command(_TABLE, "", _run_squeue)
