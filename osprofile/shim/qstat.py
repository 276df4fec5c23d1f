"""`qstat` of Torque and PBS Pro. Sources: their manual pages, and what OpenPBS 23.06 printed."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from osprofile.job_scripts.command_line import Option, UsageError, parse_words, select_options
from osprofile.jobs.state import EndCause, JobState
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    MEMORY_OF_HISTORY,
    Command,
    is_known,
    print_error,
    print_lines,
)
from osprofile.shim.facts import Facts, Style, get_exit_status
from osprofile.shim.pbs import (
    HISTORY_CODE,
    ID_BEGIN,
    NO_JOB,
    UNKNOWN_JOB_CODE,
    format_entry_id,
    format_json,
    format_records,
    format_unknown,
    format_xml,
    nest_attributes,
    parse_id,
    select_user,
)
from osprofile.shim.programs import PBS_SERVER, PBS_VERSION
from osprofile.text import format_clock, quote_value, replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.job_scripts.command_line import CommandLine
    from osprofile.shim.client import Client, Entry
    from osprofile.shim.sinfo import Partition

_TABLE: Final = (
    Option("alternate", ("-a",), "", "the other table, as with -u"),
    Option("idle", ("-i",), "", "the other table, of jobs that have not begun"),
    Option("running", ("-r",), "", "the other table, of jobs that have begun"),
    Option("comments", ("-s",), "", "the other table, with the comments"),
    Option("nodes", ("-n",), "", "the other table, with the nodes"),
    Option("one_line", ("-1",), "", "nodes and comments stand in the job's line; attributes do in any case"),
    Option("delimiter", ("-D",), "TEXT", "between the attributes of -F dsv"),
    Option("format", ("-F",), "json|dsv", "with -f"),
    Option("full", ("-f",)),
    Option("ended", ("-H",), "", "only jobs that have ended", system="pbspro"),
    Option("servers", ("-B",), "", "the server"),
    Option("queues", ("-Q",), "", "the queues"),
    Option("tasks", ("-t",), "", "the tasks of arrays, too"),
    Option("user", ("-u",), "NAMES"),
    Option("wide", ("-w",), "", "no line is folded in any case", system="pbspro"),
    Option("history", ("-x",), "", "jobs that have ended, too", system="pbspro"),
    Option("xml", ("-x",), "", "XML", system="torque"),
    Option("without_effect", ("-E",), "", "changes nothing: there is one server", system="pbspro"),
    Option("without_effect", ("-l",), "", "changes nothing: no name is cut off"),
)
_EXCEEDED_TIME: Final = -29
"""What PBS Pro has for the exit status of a job that exceeded its wall time: JOB_EXEC_KILL_WALLTIME."""
_COUNTED: Final = {"Queued": "Q", "Running": "R", "Exiting": "E", "Expired": "FC"}
_STYLE: Final = Style("", format_clock, "%a %b %d %H:%M:%S %Y")
_ATTRIBUTES: Final = """
Job_Name={name}
Job_Owner={user}@SERVER
resources_used.walltime={used}
job_state={letter}
queue={queue}
server=SERVER
ctime={submitted}
exec_host={places}
qtime={submitted}
Resource_List.mem={total_memory}
Resource_List.ncpus={cpus}
Resource_List.nodect={nodes}
Resource_List.walltime={limit}
""".replace("SERVER", PBS_SERVER).split()
_ATTRIBUTES_OF_PRO: Final = (
    "Resource_List.select={select}", "stime={started}", "Variable_List.PBS_O_LOGNAME={user}",
    "Variable_List.PBS_O_WORKDIR={directory}",
)  # fmt: skip
_ATTRIBUTES_OF_TORQUE: Final = ("start_time={started}", "init_work_dir={directory}")


def _run_qstat(client: Client, words: Sequence[str]) -> int:
    line = parse_words(select_options(_TABLE, client.system), words, ends_at_operand=False)
    form = line.get("format")
    if form is not None and (form.text not in {"json", "dsv"} or "full" not in line):
        hint = "-f -F json and -f -F dsv are"
        raise UsageError(f"{form.flag}: {quote_value(form.text)} is not supported", hint=hint)
    if "servers" in line:
        print_lines(_format_servers(client, line))
        return 0
    ids = [(word, parse_id(word) or NO_JOB) for word in line.operands if ID_BEGIN.match(word)]
    queues = [word for word in line.operands if not ID_BEGIN.match(word) and word != f"@{PBS_SERVER}"]
    for word in queues:
        if not re.fullmatch("[A-Za-z0-9_.-]+", word):
            message = f"{quote_value(word)} is not the id of a job or the name of a queue"
            raise UsageError(message, hint=f"as in 12.{PBS_SERVER}; other servers are not supported")
    if "queues" in line:
        return _show_queues(client, line, queues)
    has_history = "history" in line or "ended" in line
    entries, code = _find_entries(client, ids, line, has_history=has_history) if ids else ([], 0)
    if len(ids) < len(line.operands) or not line.operands:
        recent = client.list_recent(MEMORY_OF_HISTORY if has_history else MEMORY_OF_ENDED_JOBS)
        entries += [
            shown
            for e in recent
            if (not queues or client.may_be_in_queue(e, queues))
            and _is_shown(client, e, has_history=has_history)
            for shown in _list_tasks(client, e, line)
        ]
    jobs = [Facts(client, entry) for entry in select_user(client, entries, line)]
    if "ended" in line:
        jobs = [job for job in jobs if job.status.state.is_terminal]
    if "idle" in line or "running" in line:
        wanted = {name for name in ("idle", "running") if name in line}
        kinds = {"Q": "idle", "H": "idle", "R": "running", "B": "running", "S": "running"}
        jobs = [job for job in jobs if kinds.get(job.letter) in wanted]
    print_lines(_format_jobs(client, line, jobs))
    return code


def _list_tasks(client: Client, entry: Entry, line: CommandLine) -> Sequence[Entry]:
    """Return the lines of a job: with -t, an array has one for each task, and in PBS Pro one of its own, too."""
    if "tasks" not in line or not entry.tasks:
        return [entry]
    return [entry, *entry.tasks] if client.system == "pbspro" else entry.tasks


def _format_jobs(client: Client, line: CommandLine, jobs: Sequence[Facts]) -> Iterable[str]:
    """Return the lines in the form that the options ask for."""
    form = line.get_text("format")
    if "xml" in line:
        return format_xml(
            "Job", [{"Job_Id": format_entry_id(job.entry)} | _list_attributes(job) for job in jobs]
        )
    if form == "json":
        found = {format_entry_id(job.entry): nest_attributes(_list_attributes(job)) for job in jobs}
        return format_json("Jobs", found)
    if form is not None or "full" in line:
        records = {f"Job Id: {format_entry_id(job.entry)}": _list_attributes(job) for job in jobs}
        return format_records(records, None if form is None else line.get_text("delimiter") or "|")
    if any(name in line for name in ("alternate", "user", "idle", "running", "comments", "nodes")):
        return _format_alternate_table(client, line, jobs)
    return _format_table(client, jobs)


def _is_shown(client: Client, entry: Entry, *, has_history: bool) -> bool:
    """Return whether a job is shown: PBS Pro shows those that have ended only as history."""
    return has_history or client.system != "pbspro" or not entry.status.state.is_terminal


def _find_entries(
    client: Client, ids: Sequence[tuple[str, tuple[int, int | None]]], line: CommandLine, *, has_history: bool
) -> tuple[list[Entry], int]:
    """Return the jobs with these ids, and the exit code; print an error for each that is not known."""
    since = time.time() - (MEMORY_OF_HISTORY if client.system == "pbspro" else MEMORY_OF_ENDED_JOBS)
    known = {e.number: e for e in client.query_jobs(n for _, (n, _) in ids) if is_known(e.status, since)}
    found: list[Entry] = []
    code = 0
    for word, (number, index) in ids:
        entry = known.get(number)
        if entry is not None and index is not None:
            entry = next((task for task in entry.tasks if task.index == index), None)
        if entry is None:
            print_error("qstat", format_unknown(word))
            code = UNKNOWN_JOB_CODE
        elif _is_shown(client, entry, has_history=has_history):
            found += _list_tasks(client, entry, line)
        else:
            message = "Job has finished, use -x or -H to obtain historical job information"
            print_error("qstat", f"{word if '.' in word else f'{word}.{PBS_SERVER}'} {message}")
            code = HISTORY_CODE
    return found, code


# Attributes


def _list_attributes(job: Facts) -> dict[str, str]:
    """Return what is known of a job, by the names of its batch system."""
    others = _ATTRIBUTES_OF_PRO if job.system == "pbspro" else _ATTRIBUTES_OF_TORQUE
    pairs = (row.partition("=") for row in (*_ATTRIBUTES, *others))
    attributes = {name: _STYLE.fill(value, job) for name, _, value in pairs} | _list_end(job)
    if job.entry.tasks:
        attributes |= _list_tasks_of_array(job)
    attributes["comment"] = job.status.reason
    return {name: replace_unprintable(value) for name, value in attributes.items() if value}


def _list_end(job: Facts) -> dict[str, str]:
    """Return the end of a job; in PBS Pro one that was removed before it began has no exit status."""
    status = job.status
    if not status.state.is_terminal:
        return {}
    code = str(get_exit_status(status))
    if job.system != "pbspro":
        return {"comp_time": _STYLE.fill("{ended}", job), "exit_status": code}
    if status.state is JobState.REMOVED:
        return {
            "substate": "91",
            "Exit_status": code if job.has_started else "",
            "history_timestamp": f"{status.ended or 0:.0f}",
        }
    return {
        "substate": "92" if job.state == "COMPLETED" else "93",
        "Exit_status": str(_EXCEEDED_TIME) if status.cause is EndCause.TIME else code,
        "history_timestamp": f"{status.ended or 0:.0f}",
    }


def _list_tasks_of_array(job: Facts) -> dict[str, str]:
    indices = job.entry.record.array.partition("%")[0]
    letters = [Facts(job.client, task).letter for task in job.entry.tasks]
    counts = (f"{name}:{sum(letter in words for letter in letters)}" for name, words in _COUNTED.items())
    waiting = (
        str(task.index) for task, letter in zip(job.entry.tasks, letters, strict=True) if letter in "QH"
    )
    if job.system != "pbspro":
        return {"job_array_request": indices}
    return {
        "array": "True",
        "array_state_count": " ".join(counts),
        "array_indices_submitted": indices,
        "array_indices_remaining": ",".join(waiting) or "-",
    }


# The server and the queues

_COUNTS: Final = {"Que": "Q", "Run": "RB", "Hld": "H", "Wat": "W", "Trn": "T", "Ext": "E"}
_COUNT_NAMES: Final = ("Queued", "Running", "Held", "Waiting", "Transit", "Exiting")


def _count_states(client: Client, queue: str | None = None) -> list[int]:
    """Return how many jobs that have not ended there are, and how many of each of _COUNTS."""
    entries = client.list_recent(0.0)
    letters = Counter(
        job.letter
        for job in (Facts(client, e) for e in entries if not e.status.state.is_terminal)
        if queue is None or job.queue == queue
    )
    return [letters.total(), *(sum(letters[letter] for letter in word) for word in _COUNTS.values())]


def _format_servers(client: Client, line: CommandLine) -> Iterable[str]:
    counts = _count_states(client)
    if "full" in line:
        attributes = {
            "server_state": "Active",
            "server_host": PBS_SERVER,
            "total_jobs": str(counts[0]),
            "pbs_version": PBS_VERSION,
        }
        if line.get_text("format") == "json":
            return format_json("Server", {PBS_SERVER: nest_attributes(attributes)})
        return format_records({f"Server: {PBS_SERVER}": attributes}, None)
    rule = f"{'-' * 16} {' '.join(['-' * 5] * 8)} {'-' * 11}"
    return [
        f"{'Server':16} {' '.join(f'{title:>5}' for title in ('Max', 'Tot', *_COUNTS))} Status",
        rule,
        f"{PBS_SERVER:16} {' '.join(f'{count:5}' for count in (0, *counts))} Active",
    ]


def _show_queues(client: Client, line: CommandLine, names: Sequence[str]) -> int:
    from osprofile.shim.sinfo import list_partitions

    queues = {queue.name: queue for queue in list_partitions(client)}
    unknown = [name for name in names if name not in queues]
    for name in unknown:
        print_error("qstat", f"Unknown queue {name}")
    shown = [queue for name, queue in queues.items() if not names or name in names]
    print_lines(_format_queues(client, line, shown))
    return UNKNOWN_QUEUE_CODE if unknown else 0


UNKNOWN_QUEUE_CODE: Final = 170
"""The exit code for a queue that is not known: PBSE_UNKQUE, 15018 in PBS Pro, of which a byte remains."""


def _format_queues(client: Client, line: CommandLine, queues: Sequence[Partition]) -> Iterable[str]:
    if "full" in line:
        records = {queue.name: _list_queue_attributes(client, queue) for queue in queues}
        if line.get_text("format") == "json":
            return format_json("Queue", {name: nest_attributes(found) for name, found in records.items()})
        return format_records({f"Queue: {name}": found for name, found in records.items()}, None)
    titles = ("Max", "Tot", "Ena", "Str", *_COUNTS)
    widths = (5, 5, 3, 3, *[5] * len(_COUNTS))
    rows = [
        (queue.name, (0, counts[0], *[("no", "yes")[queue.is_open]] * 2, *counts[1:]))
        for queue in queues
        for counts in [_count_states(client, queue.name)]
    ]

    def format_row(name: str, cells: Iterable[object], kind: str) -> str:
        return f"{name:16} {' '.join(str(c).rjust(w) for c, w in zip(cells, widths, strict=True))} {kind}"

    rule = format_row("-" * 16, ("-" * width for width in widths), "----")
    return [format_row("Queue", titles, "Type"), rule, *(format_row(*row, "Exec") for row in rows)]


def _list_queue_attributes(client: Client, queue: Partition) -> dict[str, str]:
    total, *counts = _count_states(client, queue.name)
    states = zip(_COUNT_NAMES, counts, strict=True)
    limit = {} if queue.walltime is None else {"resources_max.walltime": format_clock(queue.walltime)}
    return {
        "queue_type": "Execution",
        "total_jobs": str(total),
        "state_count": " ".join(f"{name}:{count}" for name, count in states),
        **limit,
        "enabled": str(queue.is_open),
        "started": str(queue.is_open),
    }


# Tables


def _format_table(client: Client, jobs: Sequence[Facts]) -> list[str]:
    if not jobs:
        return []
    if client.system == "pbspro":
        header = "Job id            Name             User              Time Use S Queue"
        rule = "----------------  ---------------- ----------------  -------- - -----"
        form = "{:17} {:16.15} {:17.15} {:>8} {} {:15}"
    else:
        header = "Job ID                    Name             User            Time Use S Queue"
        rule = "------------------------- ---------------- --------------- -------- - -----"
        form = "{:25} {:16.16} {:15.15} {:>8} {} {:15}"
    columns = ("{name}", "{user}", "{used:0}", "{letter}", "{queue}")
    rows = ([format_entry_id(job.entry), *(_STYLE.fill(c, job) for c in columns)] for job in jobs)
    return [header, rule, *(form.format(*row).rstrip() for row in rows)]


_LEFT_COLUMNS: Final = 4
"""How many columns of the other table are aligned to the left."""


def _format_alternate_table(client: Client, line: CommandLine, jobs: Sequence[Facts]) -> list[str]:
    """Return the table of -a and -u, with `--` for what is not known."""
    if not jobs:
        return []
    is_pro = client.system == "pbspro"
    widths = (15, 8, 8, 10, 6, 3, 3, 6, 5, 1, 5) if is_pro else (23, 11, 8, 16, 6, 5, 6, 9, 9, 1, 9)
    names = ("Job ID", "Username", "Queue", "Jobname", "SessID", "NDS", "TSK", "Memory", "Time", "S", "Time")
    above = ("", "", "", "", "", "", "", "Req'd", "Req'd", "", "Elap")

    def format_row(row: Sequence[str]) -> str:
        # The names of PBS are cut off, but an id is never: programs compare it.
        cells = (
            (text if i == 0 else text[:width]).ljust(width)
            if i < _LEFT_COLUMNS
            else text[:width].rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return " ".join(cells).rstrip()

    lines = ["", f"{PBS_SERVER}: ", *map(format_row, (above, names, ["-" * width for width in widths]))]
    for job in jobs:
        more = [
            _STYLE.fill(value, job)
            for name, value in (("nodes", "{places:--}"), ("comments", "{comment:--}"))
            if name in line
        ]
        row = format_row(_list_cells(job))
        lines += [" ".join([row, *more])] if "one_line" in line else [row, *(f"   {text}" for text in more)]
    return lines


def _list_cells(job: Facts) -> list[str]:
    texts = ("{user}", "{queue}", "{name}", "--", "{nodes}", "{cpus}", "{total_memory:--}")
    limit, used = (_STYLE.fill(text, job).rpartition(":")[0] or "--" for text in ("{limit}", "{used}"))
    cells = [_STYLE.fill(text, job) for text in texts]
    return [format_entry_id(job.entry), *cells, limit, job.letter, used]


QSTAT: Final = Command(_TABLE, "[ID|QUEUE...]", _run_qstat)
