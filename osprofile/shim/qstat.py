"""`qstat` of Torque and PBS Pro. Sources: their manual pages, and what OpenPBS 23.06 printed."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

from osprofile.job_scripts.command_line import Option, UsageError, parse_words, select_options
from osprofile.jobs.state import EndCause, JobState
from osprofile.shim.client import has_started
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    MEMORY_OF_HISTORY,
    Command,
    get_elapsed,
    is_known,
    print_error,
    print_lines,
)
from osprofile.shim.pbs import (
    HISTORY_CODE,
    ID_BEGIN,
    NO_JOB,
    UNKNOWN_JOB_CODE,
    format_entry_id,
    format_unknown,
    get_exit_status,
    get_state,
    parse_id,
    select_user,
)
from osprofile.shim.programs import PBS_VERSION
from osprofile.shim.qsub import SERVER_NAME
from osprofile.text import format_clock, quote_value, replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.job_scripts.command_line import CommandLine
    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry

_TABLE: Final = (
    Option("alternate", ("-a",), "", "the other table, as with -u"),
    Option("one_line", ("-1",), "", "each attribute has one line in any case"),
    Option("delimiter", ("-D",), "TEXT", "between the attributes of -F dsv", system="pbspro"),
    Option("format", ("-F",), "json|dsv", "with -f", system="pbspro"),
    Option("full", ("-f",)),
    Option("ended", ("-H",), "", "only jobs that have ended", system="pbspro"),
    Option("servers", ("-B",), "", "the server", system="pbspro"),
    Option("tasks", ("-t",), "", "tasks are listed in any case"),
    Option("user", ("-u",), "NAMES"),
    Option("wide", ("-w",), "", "no line is folded in any case", system="pbspro"),
    Option("history", ("-x",), "", "jobs that have ended, too", system="pbspro"),
    Option("xml", ("-x",), "", "XML", system="torque"),
)
_EXCEEDED_TIME: Final = -29
"""What PBS Pro has for the exit status of a job that exceeded its wall time: JOB_EXEC_KILL_WALLTIME."""
_NESTED: Final = ("Resource_List", "resources_used", "Variable_List")
"""The attributes of PBS Pro that are objects in JSON."""
_TEXTS: Final = frozenset(
    {"Job_Name", "queue", "comment", "Variable_List.PBS_O_LOGNAME", "Variable_List.PBS_O_WORKDIR"}
)
_WHOLE_NUMBER: Final = re.compile("-?[0-9]{1,15}")


def _run_qstat(client: Client, words: Sequence[str]) -> int:
    line = parse_words(select_options(_TABLE, client.system), words, ends_at_operand=False)
    form = line.get("format")
    if form is not None and (form.text not in {"json", "dsv"} or "full" not in line):
        hint = "-f -F json and -f -F dsv are"
        raise UsageError(f"{form.flag}: {quote_value(form.text)} is not supported", hint=hint)
    if "servers" in line:
        print_lines(_format_servers(client, is_full="full" in line))
        return 0
    ids = [(word, parse_id(word) or NO_JOB) for word in line.operands if ID_BEGIN.match(word)]
    queues = [word for word in line.operands if not ID_BEGIN.match(word) and word != f"@{SERVER_NAME}"]
    for word in queues:
        if not re.fullmatch("[A-Za-z0-9_.-]+", word):
            message = f"{quote_value(word)} is not the id of a job or the name of a queue"
            raise UsageError(message, hint=f"as in 12.{SERVER_NAME}; other servers are not supported")
    has_history = "history" in line or "ended" in line
    entries, code = _find_entries(client, ids, has_history=has_history) if ids else ([], 0)
    if len(ids) < len(line.operands) or not line.operands:
        recent = client.list_recent(MEMORY_OF_HISTORY if has_history else MEMORY_OF_ENDED_JOBS)
        entries += [
            e
            for e in recent
            if (not queues or client.may_be_in_queue(e, queues))
            and _is_shown(client, e, has_history=has_history)
        ]
    entries = select_user(client, entries, line)
    if "ended" in line:
        entries = [entry for entry in entries if entry.status.state.is_terminal]
    print_lines(_format_entries(client, line, entries))
    return code


def _format_entries(client: Client, line: CommandLine, entries: Sequence[Entry]) -> Iterable[str]:
    """Return the lines in the form that the options ask for."""
    form = line.get_text("format")
    if "xml" in line:
        return _format_xml(client, entries)
    if form == "json":
        return [json.dumps(_collect_json(client, entries), indent=4)]
    if form is not None:
        delimiter = line.get_text("delimiter") or "|"
        return (_format_delimited(client, entry, delimiter) for entry in entries)
    if "full" in line:
        return (text for entry in entries for text in _format_full(client, entry))
    if "alternate" in line or "user" in line:
        return _format_alternate_table(client, entries)
    return _format_table(client, entries)


def _is_shown(client: Client, entry: Entry, *, has_history: bool) -> bool:
    """Return whether a job is shown: PBS Pro shows those that have ended only as history."""
    return has_history or client.system != "pbspro" or not entry.status.state.is_terminal


def _format_servers(client: Client, *, is_full: bool) -> list[str]:
    if is_full:
        return [f"Server: {SERVER_NAME}", "    server_state = Active", ""]
    letters = [get_state(entry.status, client.system) for entry in client.list_recent(0.0)]
    live = [letter for letter in letters if letter != "F"]
    counts = (0, len(live), *(live.count(letter) for letter in "QRHWTE"))
    rule = f"{'-' * 16} {' '.join(['-' * 5] * 8)} {'-' * 11}"
    titles = ("Max", "Tot", "Que", "Run", "Hld", "Wat", "Trn", "Ext")
    return [
        f"{'Server':16} {' '.join(f'{title:>5}' for title in titles)} Status",
        rule,
        f"{SERVER_NAME:16} {' '.join(f'{count:5}' for count in counts)} Active",
    ]


def _find_entries(
    client: Client, ids: Sequence[tuple[str, tuple[int, int | None]]], *, has_history: bool
) -> tuple[list[Entry], int]:
    """Return the jobs with these ids, and the exit code; print an error for each that is not known."""
    since = time.time() - (MEMORY_OF_HISTORY if client.system == "pbspro" else MEMORY_OF_ENDED_JOBS)
    known = [e for e in client.query_jobs(number for _, (number, _) in ids) if is_known(e.status, since)]
    found: list[Entry] = []
    code = 0
    for word, (number, index) in ids:
        entries = [e for e in known if e.number == number and (index is None or e.index == index)]
        shown = [entry for entry in entries if _is_shown(client, entry, has_history=has_history)]
        found += shown
        if not entries:
            print_error("qstat", format_unknown(word))
            code = UNKNOWN_JOB_CODE
        elif not shown:
            message = "Job has finished, use -x or -H to obtain historical job information"
            print_error("qstat", f"{word if '.' in word else f'{word}.{SERVER_NAME}'} {message}")
            code = HISTORY_CODE
    return found, code


def _list_attributes(client: Client, entry: Entry) -> dict[str, str]:
    """Return what is known of a job, by the names of its batch system."""
    list_end = _list_end_of_pbspro if client.system == "pbspro" else _list_end_of_torque
    status, record = entry.status, entry.record
    is_pro = client.system == "pbspro"
    attributes = {
        "Job_Name": record.name,
        "Job_Owner": f"{client.user_name}@{SERVER_NAME}",
        "resources_used.walltime": _format_clock(get_elapsed(status) if has_started(status) else None),
        "job_state": get_state(status, client.system),
        "queue": client.get_queue(entry),
        "server": SERVER_NAME,
        "ctime": _format_time(record.status.submitted),
        "exec_host": "+".join(f"{host}/0" for host in status.hosts),
        "qtime": _format_time(record.status.submitted),
        **_list_resources(client, entry),
        "stime" if is_pro else "start_time": _format_time(status.started),
        **(list_end(status) if status.state.is_terminal else {}),
    }
    directory = client.get_requested(record, "DIRECTORY")
    if is_pro:
        attributes["Variable_List.PBS_O_LOGNAME"] = client.user_name
        attributes["Variable_List.PBS_O_WORKDIR"] = directory
    else:
        attributes["init_work_dir"] = directory
    if status.reason:
        attributes["comment"] = status.reason
    return {name: replace_unprintable(value) for name, value in attributes.items() if value}


def _list_resources(client: Client, entry: Entry) -> dict[str, str]:
    """Return what was requested: a number that was not given is 1."""
    record = entry.record
    memory = client.get_requested(record, "MEMORY")
    nodes, processes = (client.count_requested(record, name) for name in ("NODES", "PROCESSES"))
    resources = {
        "mem": f"{int(memory) * nodes}mb" if memory.isdecimal() else "",
        "ncpus": str(max(nodes, client.count_requested(record, "PROCESSES", "CPUS"))),
        "nodect": str(nodes),
        "walltime": _format_clock(record.walltime),
    }
    if client.system == "pbspro":
        per_node = -(-processes // nodes)
        cpus = per_node * client.count_requested(record, "CPUS")
        resources["select"] = f"{nodes}:ncpus={cpus}" + (f":mpiprocs={per_node}" if processes > 1 else "")
    return {f"Resource_List.{name}": value for name, value in resources.items()}


def _list_end_of_torque(status: JobStatus) -> dict[str, str]:
    return {"comp_time": _format_time(status.ended), "exit_status": str(get_exit_status(status))}


def _list_end_of_pbspro(status: JobStatus) -> dict[str, str]:
    """Return the end of a job; one that was removed before it began has no exit status."""
    substates = {JobState.REMOVED: "91", JobState.DONE: "92" if status.exit_code == 0 else "93"}
    substate = substates.get(status.state, "93")
    if status.state is JobState.REMOVED and not has_started(status):
        code = ""
    else:
        code = str(_EXCEEDED_TIME if status.cause is EndCause.TIME else get_exit_status(status))
    return {"substate": substate, "Exit_status": code, "history_timestamp": f"{status.ended or 0:.0f}"}


def _format_clock(seconds: float | None) -> str:
    return "" if seconds is None else format_clock(seconds)


def _format_time(timestamp: float | None) -> str:
    return "" if timestamp is None else time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(timestamp))


def _format_full(client: Client, entry: Entry) -> list[str]:
    attributes = _join_variables(_list_attributes(client, entry))
    return [f"Job Id: {format_entry_id(entry)}", *(f"    {n} = {v}" for n, v in attributes.items()), ""]


def _format_delimited(client: Client, entry: Entry, delimiter: str) -> str:
    attributes = _join_variables(_list_attributes(client, entry))
    return delimiter.join([f"Job Id: {format_entry_id(entry)}", *(f"{n}={v}" for n, v in attributes.items())])


def _join_variables(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes with all variables in one."""
    prefix = "Variable_List."
    variables = [f"{n.removeprefix(prefix)}={v}" for n, v in attributes.items() if n.startswith(prefix)]
    others = {name: value for name, value in attributes.items() if not name.startswith(prefix)}
    return {**others, "Variable_List": ",".join(variables)} if variables else others


def _format_xml(client: Client, entries: Sequence[Entry]) -> list[str]:
    jobs = []
    for entry in entries:
        attributes = {"Job_Id": format_entry_id(entry), **_list_attributes(client, entry)}
        lists: dict[str, list[str]] = {}
        for name, value in attributes.items():
            element, _, part = name.partition(".")
            lists.setdefault(element, []).append(_format_element(part, value) if part else escape(value))
        elements = (f"<{name}>{''.join(texts)}</{name}>" for name, texts in lists.items())
        jobs.append(f"<Job>{''.join(elements)}</Job>")
    return [f"<Data>{''.join(jobs)}</Data>"]


def _format_element(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _collect_json(client: Client, entries: Sequence[Entry]) -> dict[str, object]:
    jobs = {format_entry_id(entry): _nest_attributes(_list_attributes(client, entry)) for entry in entries}
    found = {"timestamp": int(time.time()), "pbs_version": PBS_VERSION, "pbs_server": SERVER_NAME}
    return {**found, "Jobs": jobs}


def _nest_attributes(attributes: dict[str, str]) -> dict[str, object]:
    """Return the attributes as OpenPBS writes them in JSON: lists are objects, and whole numbers are numbers."""
    nested: dict[str, Any] = {}
    for name, text in attributes.items():
        value = int(text) if _WHOLE_NUMBER.fullmatch(text) and name not in _TEXTS else text
        element, dot, part = name.partition(".")
        if dot and element in _NESTED:
            nested.setdefault(element, {})[part] = value
        else:
            nested[name] = value
    return nested


def _format_table(client: Client, entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    rows = [
        (
            format_entry_id(entry),
            entry.record.name,
            client.user_name,
            _format_clock(get_elapsed(entry.status)) if has_started(entry.status) else "0",
            get_state(entry.status, client.system),
            client.get_queue(entry),
        )
        for entry in entries
    ]
    if client.system == "pbspro":
        header = "Job id            Name             User              Time Use S Queue"
        rule = "----------------  ---------------- ----------------  -------- - -----"
        return [
            header,
            rule,
            *(f"{i:17} {n:16.15} {u:17.15} {t:>8} {s} {q:15}".rstrip() for i, n, u, t, s, q in rows),
        ]
    header = "Job ID                    Name             User            Time Use S Queue"
    rule = "------------------------- ---------------- --------------- -------- - -----"
    return [
        header,
        rule,
        *(f"{i:25} {n:16.16} {u:15.15} {t:>8} {s} {q:15}".rstrip() for i, n, u, t, s, q in rows),
    ]


def _format_alternate_table(client: Client, entries: Sequence[Entry]) -> list[str]:
    """Return the table of -a and -u, with `--` for what is not known."""
    if not entries:
        return []
    is_pro = client.system == "pbspro"
    widths = (15, 8, 8, 10, 6, 3, 3, 6, 5, 1, 5) if is_pro else (23, 11, 8, 16, 6, 5, 6, 9, 9, 1, 9)
    names = ("Job ID", "Username", "Queue", "Jobname", "SessID", "NDS", "TSK", "Memory", "Time", "S", "Time")
    rows = [names, ["-" * width for width in widths], *(_list_cells(client, entry) for entry in entries)]
    above = ["", "", "", "", "", "", "", "Req'd", "Req'd", "", "Elap"]
    rows = [above, *rows]

    def format_row(row: Sequence[str]) -> str:
        # The names of PBS are cut off, but an id is never: programs compare it.
        cells = (
            (text if i == 0 else text[:width]).ljust(width)
            if i < _LEFT_COLUMNS
            else text[:width].rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return " ".join(cells).rstrip()

    return ["", f"{SERVER_NAME}: ", *map(format_row, rows)]


_LEFT_COLUMNS: Final = 4
"""How many columns of the other table are aligned to the left."""


def _list_cells(client: Client, entry: Entry) -> list[str]:
    known = _list_resources(client, entry)

    def get_minutes(text: str) -> str:
        return text.rpartition(":")[0] or "--"

    return [
        format_entry_id(entry),
        client.user_name,
        client.get_queue(entry),
        entry.record.name,
        "--",
        known["Resource_List.nodect"],
        known["Resource_List.ncpus"],
        known["Resource_List.mem"] or "--",
        get_minutes(known["Resource_List.walltime"]),
        get_state(entry.status, client.system),
        get_minutes(_format_clock(get_elapsed(entry.status)) if has_started(entry.status) else ""),
    ]


QSTAT: Final = Command(_TABLE, "[ID|QUEUE...]", _run_qstat)
