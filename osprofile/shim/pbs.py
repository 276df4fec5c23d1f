"""`qstat`, `qdel` and `qselect` of Torque and PBS. Sources: their manual pages."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from osprofile.errors import JobNotFoundError, OSProfileError, quote_value, replace_unprintable
from osprofile.jobs.state import JobState
from osprofile.shim import quantities
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    Command,
    get_elapsed,
    has_started,
    is_known,
    is_own_name,
    make_plain_name,
    print_error,
    print_lines,
)
from osprofile.shim.command_line import Option, UsageError, parse_words
from osprofile.shim.qsub import SERVER_NAME, format_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry
    from osprofile.shim.command_line import CommandLine

UNKNOWN_JOB_CODE: Final = 153
"""The exit code for a job that is not known: PBSE_UNKJOBID, 15001, of which a byte remains."""
_BAD_STATE_CODE: Final = 170
"""The exit code for a job that has ended: PBSE_BADSTATE, 15018."""
_QSTAT_TABLE: Final = (
    Option("one_line", ("-1",), "", "each attribute has one line in any case"),
    Option("format", ("-F",), "json"),
    Option("full", ("-f",)),
    Option("tasks", ("-t",), "", "tasks are listed in any case"),
    Option("user", ("-u",), "NAMES"),
    Option("xml", ("-x",), "", "XML, as Torque prints it"),
)
_QSELECT_TABLE: Final = (
    Option("name", ("-N",), "NAME"),
    Option("queue", ("-q",), "NAME"),
    Option("states", ("-s",), "LETTERS", "as in QR; default: jobs that have not ended"),
    Option("user", ("-u",), "NAMES"),
)
_ID: Final = re.compile(r"([0-9]{1,18})(?:\[([0-9]{0,7})\])?(?:\.osprofile)?")
_ID_BEGIN: Final = re.compile(r"[0-9-]")
"""How a word begins that is an id, and not the name of a queue."""
_NO_JOB: Final = (-1, None)
_SIGNAL_BASE: Final = 256
"""What Torque adds to the number of the signal that ended a job."""


def _get_state(status: JobStatus) -> str:
    if status.state.is_terminal:
        return "C"
    if status.state is JobState.HELD:
        return "S" if has_started(status) else "H"
    if status.state is JobState.UNKNOWN:
        return "R" if has_started(status) else "Q"
    return "R" if status.state is JobState.RUNNING else "Q"


def _get_exit_status(status: JobStatus) -> int:
    """Return the exit status of an ended job: -1 if there is none, so that it is never taken for a success."""
    if status.state is JobState.DONE and status.exit_code is not None:
        return status.exit_code
    if status.signal:
        return _SIGNAL_BASE + status.signal
    return _SIGNAL_BASE + 15 if status.state is JobState.REMOVED or status.limit_exceeded else -1


def _parse_id(word: str) -> tuple[int, int | None] | None:
    """Return the number, and the index of a task, of an id such as `12`, `12.osprofile`, `12[]` or `12[3]`."""
    match = _ID.fullmatch(word)
    return None if match is None else (int(match[1]), int(match[2]) if match[2] else None)


def _format_unknown(word: str) -> str:
    return f"Unknown Job Id {word if '.' in word else f'{word}.{SERVER_NAME}'}"


# qstat


def _run_qstat(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_QSTAT_TABLE, words, ends_at_operand=False)
    form = line.get("format")
    if form is not None and (form.text != "json" or "full" not in line):
        raise UsageError(f"{form.flag}: {quote_value(form.text)} is not supported", hint="-f -F json is")
    ids = [(word, _parse_id(word) or _NO_JOB) for word in line.operands if _ID_BEGIN.match(word)]
    queues = [word for word in line.operands if not _ID_BEGIN.match(word)]
    for word in queues:
        if not re.fullmatch("[A-Za-z0-9_.-]+", word):
            message = f"{quote_value(word)} is not the id of a job or the name of a queue"
            raise UsageError(message, hint=f"as in 12.{SERVER_NAME}; other servers are not supported")
    entries, code = _find_entries(client, ids) if ids else ([], 0)
    if not ids or queues:
        recent = client.list_recent(MEMORY_OF_ENDED_JOBS)
        # Batch systems do not tell the queue of each job; those of an unknown one may be meant.
        entries += [e for e in recent if not queues or not e.status.queue or e.status.queue in queues]
    entries = _select_user(client, entries, line)
    if "xml" in line:
        print_lines(_format_xml(client, entries))
    elif form is not None:
        print_lines([json.dumps(_collect_json(client, entries), indent=4)])
    elif "full" in line:
        print_lines(text for entry in entries for text in _format_full(client, entry))
    else:
        print_lines(_format_table(client, entries))
    return code


def _find_entries(
    client: Client, ids: Sequence[tuple[str, tuple[int, int | None]]]
) -> tuple[list[Entry], int]:
    """Return the jobs with these ids, and the exit code; print an error for each that is not known."""
    since = time.time() - MEMORY_OF_ENDED_JOBS
    known = [e for e in client.query_jobs(number for _, (number, _) in ids) if is_known(e.status, since)]
    found: list[Entry] = []
    code = 0
    for word, (number, index) in ids:
        entries = [e for e in known if e.number == number and (index is None or e.index == index)]
        found += entries
        if not entries:
            print_error("qstat", _format_unknown(word))
            code = UNKNOWN_JOB_CODE
    return found, code


def _select_user(client: Client, entries: list[Entry], line: CommandLine) -> list[Entry]:
    user = line.get_text("user")
    own = user is None or any(is_own_name(client, name.partition("@")[0]) for name in user.split(","))
    return entries if own else []  # the record has the jobs of one user


def _list_attributes(client: Client, entry: Entry) -> dict[str, str]:
    """Return what is known of a job, by Torque's names."""
    status, record = entry.status, entry.record
    attributes = {
        "Job_Name": record.name,
        "Job_Owner": f"{client.user_name}@{SERVER_NAME}",
        "job_state": _get_state(status),
        "queue": status.queue,
        "server": SERVER_NAME,
        "ctime": _format_time(record.status.submitted),
        "start_time": _format_time(status.started),
        "exec_host": "+".join(f"{host}/0" for host in status.hosts),
        "Resource_List.walltime": quantities.format_pbs_clock(record.walltime) if record.walltime else "",
    }
    if has_started(status):
        attributes["resources_used.walltime"] = quantities.format_pbs_clock(get_elapsed(status))
    if status.state.is_terminal:
        attributes["comp_time"] = _format_time(status.ended)
        attributes["exit_status"] = str(_get_exit_status(status))
    if status.reason:
        attributes["comment"] = replace_unprintable(status.reason)
    return {name: value for name, value in attributes.items() if value}


def _format_time(timestamp: float | None) -> str:
    return "" if timestamp is None else time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(timestamp))


def _format_entry_id(entry: Entry) -> str:
    return format_id(entry.number, entry.index)


def _format_full(client: Client, entry: Entry) -> list[str]:
    attributes = _list_attributes(client, entry)
    return [f"Job Id: {_format_entry_id(entry)}", *(f"    {n} = {v}" for n, v in attributes.items()), ""]


def _format_xml(client: Client, entries: Sequence[Entry]) -> list[str]:
    jobs = []
    for entry in entries:
        attributes = {"Job_Id": _format_entry_id(entry), **_list_attributes(client, entry)}
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
    jobs = {}
    for entry in entries:
        attributes: dict[str, object] = {**_list_attributes(client, entry)}
        if entry.status.state.is_terminal:
            attributes["Exit_status"] = _get_exit_status(entry.status)
        jobs[_format_entry_id(entry)] = attributes
    return {"timestamp": int(time.time()), "pbs_server": SERVER_NAME, "Jobs": jobs}


def _format_table(client: Client, entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    rows = [
        (
            _format_entry_id(entry),
            entry.record.name[:16],
            client.user_name[:15],
            quantities.format_pbs_clock(get_elapsed(entry.status)) if has_started(entry.status) else "0",
            _get_state(entry.status),
            entry.status.queue,
        )
        for entry in entries
    ]
    header = ("Job ID", "Name", "User", "Time Use", "S", "Queue")
    widths = (25, 16, 15, 8, 1, 15)
    rules = tuple("-" * width for width in widths)
    return [" ".join(map(str.ljust, row, widths)).rstrip() for row in (header, rules, *rows)]


# qdel and qselect


def _run_qdel(client: Client, words: Sequence[str]) -> int:
    line = parse_words((), words, ends_at_operand=False)
    if not line.operands:
        raise UsageError("no job is given", hint=f"as in qdel 12.{SERVER_NAME}")
    code = 0
    for word in line.operands:
        parsed = _parse_id(word)
        if parsed is None and _ID_BEGIN.match(word):
            parsed = _NO_JOB
        if parsed is None:
            print_error("qdel", f"illegally formed job identifier: {quote_value(word)}")
            code = code or 2
            continue
        message, job_code = _delete_job(client, word, *parsed)
        if message:
            print_error("qdel", message)
        code = code or job_code
    return code


def _delete_job(client: Client, word: str, number: int, index: int | None) -> tuple[str, int]:
    """Remove a job; return the error, empty for none, and the exit code."""
    try:
        if not client.remove_job(number, index):
            return f"Request invalid for state of job {format_id(number, index)}", _BAD_STATE_CODE
    except JobNotFoundError:
        return _format_unknown(word), UNKNOWN_JOB_CODE
    except OSProfileError as error:
        return str(error), error.exit_code
    return "", 0


def _run_qselect(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_QSELECT_TABLE, words, ends_at_operand=False)
    if line.operands:
        raise UsageError(f"{quote_value(line.operands[0])} is not an option", hint="leave it out")
    states, name, queue = line.get("states"), line.get_text("name"), line.get_text("queue")
    if states is not None and not re.fullmatch("[CEHQRSTW]+", states.text):
        message = f"{states.flag}: {quote_value(states.text)} is not a list of states"
        raise UsageError(message, hint="letters of C E H Q R S T W, as in QR")
    letters = states.text if states is not None else "HQRS"
    entries = [
        entry
        for entry in client.list_recent(MEMORY_OF_ENDED_JOBS)
        if _get_state(entry.status) in letters
        and (name is None or entry.record.name == make_plain_name(name))
        and (queue is None or not entry.status.queue or entry.status.queue == queue)
    ]
    print_lines(map(_format_entry_id, _select_user(client, entries, line)))
    return 0


QSTAT: Final = Command(_QSTAT_TABLE, "[ID|QUEUE...]", _run_qstat)
QDEL: Final = Command((), "ID...", _run_qdel)
QSELECT: Final = Command(_QSELECT_TABLE, "", _run_qselect)
