"""`squeue`, `scancel` and `sacct`. Source: their manual pages of Slurm 23.02."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobNotFoundError, OSProfileError, quote_name, quote_value
from osprofile.jobs.state import EndCause, JobState
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
from osprofile.shim.command_line import CommandLine, Option, OptionValue, UsageError, parse_words
from osprofile.shim.job_request import parse_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry

_SQUEUE_TABLE: Final = (
    Option("all", ("-a", "--all")),
    Option("array", ("-r", "--array"), "", "tasks have a line each in any case"),
    Option("format", ("-o", "--format"), "FORMAT"),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("me", ("--me",)),
    Option("name", ("-n", "--name"), "NAMES"),
    Option("no_header", ("-h", "--noheader")),
    Option("partition", ("-p", "--partition"), "NAMES"),
    Option("states", ("-t", "--states"), "STATES", "all, or as in PD,R"),
    Option("user", ("-u", "--user"), "NAMES"),
)
_SCANCEL_TABLE: Final = (
    Option("me", ("--me",)),
    Option("name", ("-n", "--name", "--jobname"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("signal", ("-s", "--signal"), "SIGNAL", "send it, in place of the removal"),
    Option("state", ("-t", "--state"), "STATE"),
    Option("user", ("-u", "--user"), "NAME"),
)
_SACCT_TABLE: Final = (
    Option("all_users", ("-a", "--allusers")),
    Option("allocations", ("-X", "--allocations"), "", "there are no steps in any case"),
    Option("delimiter", ("--delimiter",), "TEXT"),
    Option("duplicates", ("-D", "--duplicates")),
    Option("format", ("-o", "--format"), "FIELDS"),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("name", ("--name",), "NAMES"),
    Option("no_header", ("-n", "--noheader")),
    Option("parsable", ("-p", "--parsable")),
    Option("parsable2", ("-P", "--parsable2")),
    Option("start", ("-S", "--starttime"), "TIME", "as in 2030-12-31T23:59"),
    Option("state", ("-s", "--state"), "STATES"),
    Option("user", ("-u", "--user"), "NAMES"),
)


@final
class _State(NamedTuple):
    code: str
    name: str


_PENDING, _RUNNING, _SUSPENDED = _State("PD", "PENDING"), _State("R", "RUNNING"), _State("S", "SUSPENDED")
_COMPLETED, _FAILED = _State("CD", "COMPLETED"), _State("F", "FAILED")
_CANCELLED, _TIMEOUT, _NODE_FAIL = (
    _State("CA", "CANCELLED"),
    _State("TO", "TIMEOUT"),
    _State("NF", "NODE_FAIL"),
)
_OUT_OF_MEMORY, _PREEMPTED = _State("OOM", "OUT_OF_MEMORY"), _State("PR", "PREEMPTED")
_LIVE_STATES: Final = (_PENDING, _RUNNING, _SUSPENDED)
_STATES: Final = (
    *_LIVE_STATES, _COMPLETED, _FAILED, _CANCELLED, _TIMEOUT, _NODE_FAIL, _OUT_OF_MEMORY, _PREEMPTED,
)  # fmt: skip
_OTHER_STATES: Final = frozenset(
    {
        "CF",
        "CONFIGURING",
        "CG",
        "COMPLETING",
        "ST",
        "STOPPED",
        "BF",
        "BOOT_FAIL",
        "DL",
        "DEADLINE",
    }
    | {"RQ", "REQUEUED", "RS", "RESIZING", "RV", "REVOKED", "SO", "STAGE_OUT"}
)
"""States of Slurm that no job has here."""


def _get_state(status: JobStatus) -> _State:
    if status.state is JobState.DONE:
        # An end that is not known is no success.
        return _COMPLETED if status.exit_code == 0 else _FAILED
    if status.state is JobState.FAILED:
        return _FAILURE_BY_CAUSE.get(status.cause, _FAILED) if status.cause else _FAILED
    if status.state is JobState.HELD:
        return _SUSPENDED if has_started(status) else _PENDING
    if status.state is JobState.UNKNOWN:
        return _RUNNING if has_started(status) else _PENDING
    return _STATE_BY_STATE[status.state]


_FAILURE_BY_CAUSE: Final = {
    EndCause.TIME: _TIMEOUT,
    EndCause.LIMIT: _TIMEOUT,
    EndCause.MEMORY: _OUT_OF_MEMORY,
    EndCause.NODE: _NODE_FAIL,
    EndCause.PREEMPTED: _PREEMPTED,
}
_STATE_BY_STATE: Final = {
    JobState.QUEUED: _PENDING,
    JobState.RUNNING: _RUNNING,
    JobState.REMOVED: _CANCELLED,
    JobState.LOST: _NODE_FAIL,
}


# Selecting jobs

_ID: Final = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,7}))?")


def _parse_ids(flag: str, words: Iterable[str]) -> list[tuple[int, int | None]]:
    """Return the numbers and indices of ids such as `12` and `12_3`."""
    ids = []
    for word in words:
        match = _ID.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{flag}: {quote_value(word)} is not the id of a job", hint="as in 12, or 12_3 for a task"
            )
        ids.append((int(match[1]), int(match[2]) if match[2] else None))
    return ids


def _is_selected(entry: Entry, ids: Sequence[tuple[int, int | None]]) -> bool:
    return (entry.number, None) in ids or (entry.number, entry.index) in ids


def _parse_states(option: OptionValue | None) -> frozenset[_State] | None:
    """Return the states of a list, None for `all`."""
    if option is None or option.text.lower() == "all":
        return None
    states = set[_State]()
    for word in option.text.upper().split(","):
        states.update(state for state in _STATES if word in state)
        if not any(word in state for state in _STATES) and word not in _OTHER_STATES:
            raise UsageError(
                f"{option.flag}: {quote_value(word)} is not a state", hint="all, or as in PD,R,CD,F"
            )
    return frozenset(states)


def _filter_entries(client: Client, entries: Iterable[Entry], line: CommandLine) -> list[Entry]:
    """Return the jobs that the options for users, names and partitions select."""
    user, names, partitions = (line.get(name) for name in ("user", "name", "partition"))
    if user is not None and not any(is_own_name(client, name) for name in user.text.split(",")):
        return []  # the record has the jobs of one user
    plain = None if names is None else {make_plain_name(name) for name in names.text.split(",")}
    queues = None if partitions is None else partitions.text.split(",")
    return [
        entry
        for entry in entries
        if (plain is None or entry.record.name in plain)
        # Batch systems do not tell the queue of each job; those of an unknown one may be meant.
        and (queues is None or not entry.status.queue or entry.status.queue in queues)
    ]


def _refuse_operands(line: CommandLine) -> None:
    if line.operands:
        message = f"{quote_name(line.operands[0])} is not an option, and this command takes no other words"
        raise UsageError(message, hint="leave it out")


# squeue


def _format_id(entry: Entry) -> str:
    return f"{entry.number}" if entry.index is None else f"{entry.number}_{entry.index}"


def _format_time(timestamp: float | None, unknown: str) -> str:
    return unknown if timestamp is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(timestamp))


def _format_reason(entry: Entry) -> str:
    state = _get_state(entry.status)
    if state is _PENDING:
        return f"({'JobHeldUser' if entry.status.state is JobState.HELD else 'None'})"
    return ",".join(entry.status.hosts) or "(None)"


_SQUEUE_FIELDS: Final[dict[str, tuple[str, Callable[[Client, Entry], str]]]] = {
    "A": ("JOBID", lambda _, e: str(e.number)),
    "F": ("ARRAY_JOB_ID", lambda _, e: str(e.number)),
    "K": ("ARRAY_TASK_ID", lambda _, e: "N/A" if e.index is None else str(e.index)),
    "M": ("TIME", lambda _, e: quantities.format_elapsed(get_elapsed(e.status))),
    "N": ("NODELIST", lambda _, e: ",".join(e.status.hosts)),
    "P": ("PARTITION", lambda _, e: e.status.queue),
    "R": ("NODELIST(REASON)", lambda _, e: _format_reason(e)),
    "S": ("START_TIME", lambda _, e: _format_time(e.status.started, "N/A")),
    "T": ("STATE", lambda _, e: _get_state(e.status).name),
    "V": ("SUBMIT_TIME", lambda _, e: _format_time(e.record.status.submitted, "N/A")),
    "e": ("END_TIME", lambda _, e: _format_time(e.status.ended, "N/A")),
    "i": ("JOBID", lambda _, e: _format_id(e)),
    "j": ("NAME", lambda _, e: e.record.name),
    "l": (
        "TIME_LIMIT",
        lambda _, e: quantities.format_elapsed(e.record.walltime) if e.record.walltime else "INVALID",
    ),
    "r": ("REASON", lambda _, e: _format_reason(e)[1:-1] if _get_state(e.status) is _PENDING else "None"),
    "t": ("ST", lambda _, e: _get_state(e.status).code),
    "u": ("USER", lambda c, _: c.user_name),
}
"""The header and the value of each letter of a format."""
_SQUEUE_FORMAT: Final = "%.18i %.9P %.8j %.8u %.2t %.10M %R"
_FORMAT_PIECE: Final = re.compile(r"%(\.?)([0-9]{0,3})(.?)", re.DOTALL)


@final
class _Column(NamedTuple):
    before: str
    """The text before the column."""
    header: str
    value: Callable[[Client, Entry], str]
    width: int
    is_right: bool

    def format_text(self, text: str) -> str:
        if not self.width:
            return f"{self.before}{text}"
        text = text[: self.width]
        return f"{self.before}{text.rjust(self.width) if self.is_right else text.ljust(self.width)}"


def _parse_format(option: OptionValue) -> tuple[list[_Column], str]:
    """Return the columns of a format of squeue, and the text behind them."""
    columns, end, before = [], 0, ""
    for match in _FORMAT_PIECE.finditer(option.text):
        dot, width, letter = match.groups()
        before += option.text[end : match.start()]
        end = match.end()
        if letter == "%":
            before += "%"
            continue
        if letter not in _SQUEUE_FIELDS:
            hint = f"supported are {' '.join(f'%{name}' for name in _SQUEUE_FIELDS)}"
            raise UsageError(f"{option.flag}: {quote_value(match[0])} is not supported", hint=hint)
        header, value = _SQUEUE_FIELDS[letter]
        columns.append(_Column(before, header, value, int(width or 0), bool(dot)))
        before = ""
    return columns, before + option.text[end:]


def _run_squeue(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SQUEUE_TABLE, words, ends_at_operand=False)
    _refuse_operands(line)
    columns, tail = _parse_format(line.get("format") or OptionValue("--format", _SQUEUE_FORMAT))
    states = _parse_states(line.get("states")) if "states" in line else frozenset(_LIVE_STATES)
    jobs = line.get("jobs")
    entries: list[Entry]
    if jobs is None:
        entries = client.list_recent(MEMORY_OF_ENDED_JOBS)
    else:
        ids = _parse_ids(jobs.flag, jobs.text.split(","))
        since = time.time() - MEMORY_OF_ENDED_JOBS
        known = [e for e in client.query_jobs(number for number, _ in ids) if is_known(e.status, since)]
        entries = [entry for entry in known if _is_selected(entry, ids)]
        if len(ids) == 1 and not entries:
            # The text and the exit code by which programs know that a job is gone.
            print_error("slurm_load_jobs error", "Invalid job id specified")
            return 1
    if states is not None:
        entries = [entry for entry in entries if _get_state(entry.status) in states]
    lines = [] if "no_header" in line else ["".join(c.format_text(c.header) for c in columns) + tail]
    selected = _filter_entries(client, entries, line)
    lines += ("".join(c.format_text(c.value(client, e)) for c in columns) + tail for e in selected)
    print_lines(lines)
    return 0


# scancel


def _run_scancel(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SCANCEL_TABLE, words, ends_at_operand=False)
    ids = _parse_ids("job", (part for word in line.operands for part in word.split(",")))
    signal = line.get("signal")
    number = parse_signal(signal.text) if signal is not None else None
    if signal is not None and number is None:
        raise UsageError(
            f"{signal.flag}: {quote_value(signal.text)} is not a signal", hint="as in USR1, SIGUSR1 or 10"
        )
    selects = any(name in line for name in ("me", "name", "state", "user"))
    if not ids and not selects:
        raise UsageError("no job is given", hint="give ids of jobs, or --user, --name, --state or --me")
    if selects:
        ids = _select_ids(client, line, ids)
    code = 0
    for job, index in ids:
        error, job_code = _cancel_job(client, job, index, None if number is None else number[1])
        code = code or job_code
        if error and not ("quiet" in line and job_code == 0):
            name = f"{job}" if index is None else f"{job}_{index}"
            print_error("scancel", f"error: Kill job error on job id {name}: {error}")
    return code


def _select_ids(
    client: Client, line: CommandLine, ids: Sequence[tuple[int, int | None]]
) -> list[tuple[int, int | None]]:
    """Return the ids of the jobs that have not ended and meet all conditions."""
    states = _parse_states(line.get("state"))
    entries = [entry for entry in client.list_recent(0.0) if not entry.status.state.is_terminal]
    return [
        (entry.number, entry.index)
        for entry in _filter_entries(client, entries, line)
        if (not ids or _is_selected(entry, ids)) and (states is None or _get_state(entry.status) in states)
    ]


def _cancel_job(client: Client, number: int, index: int | None, signal: int | None) -> tuple[str, int]:
    """Remove a job or send it a signal; return the error, empty for none, and the exit code."""
    try:
        if signal is not None:
            client.session.signal(client.find_id(number, index), signal)
        elif not client.remove_job(number, index):
            return "Job/step already completing or completed", 0
    except JobNotFoundError:
        return "Invalid job id specified", 1
    except OSProfileError as error:
        return f"{error}", 1
    return "", 0


# sacct


def _format_exit_code(status: JobStatus) -> str:
    """Return `CODE:SIGNAL`; never 0:0 for a job that did not end with 0."""
    if not status.state.is_terminal or (status.state is JobState.DONE and status.exit_code is not None):
        return f"{status.exit_code or 0}:0"
    if status.signal:
        return f"0:{status.signal}"
    return "0:15" if status.state is JobState.REMOVED or status.limit_exceeded else "1:0"


_SACCT_FIELDS: Final[dict[str, Callable[[Client, Entry], str]]] = {
    "Elapsed": lambda _, e: quantities.format_clock(get_elapsed(e.status)),
    "ElapsedRaw": lambda _, e: str(int(get_elapsed(e.status))),
    "End": lambda _, e: _format_time(e.status.ended, "Unknown"),
    "ExitCode": lambda _, e: _format_exit_code(e.status),
    "JobID": lambda _, e: _format_id(e),
    "JobIDRaw": lambda _, e: _format_id(e),
    "JobName": lambda _, e: e.record.name,
    "MaxRSS": lambda _, e: "" if e.status.max_memory is None else f"{e.status.max_memory // 1024}K",
    "NodeList": lambda _, e: ",".join(e.status.hosts) or "None assigned",
    "Partition": lambda _, e: e.status.queue,
    "Start": lambda _, e: _format_time(e.status.started, "Unknown"),
    "State": lambda _, e: _get_state(e.status).name,
    "Submit": lambda _, e: _format_time(e.record.status.submitted, "Unknown"),
    "Timelimit": lambda _, e: (
        quantities.format_clock(e.record.walltime) if e.record.walltime else "Partition_Limit"
    ),
    "TotalCPU": lambda _, e: (
        "" if e.status.cpu_time is None else quantities.format_clock(int(e.status.cpu_time))
    ),
    "User": lambda c, _: c.user_name,
}
_SACCT_FORMAT: Final = "JobID,JobName,Partition,State,ExitCode"
_SACCT_FIELD: Final = re.compile(r"([A-Za-z]+)(?:%(-?)([0-9]{1,4}))?")
_SACCT_WIDTHS: Final = {"JobID": 12, "JobIDRaw": 12, "ExitCode": 8, "JobName": 10}


def _run_sacct(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SACCT_TABLE, words, ends_at_operand=False)
    _refuse_operands(line)
    fields = _parse_sacct_fields(line.get("format") or OptionValue("--format", _SACCT_FORMAT))
    states, jobs, start = _parse_states(line.get("state")), line.get("jobs"), line.get("start")
    since = None if start is None else _parse_time(start)
    if jobs is not None:
        ids = _parse_ids(jobs.flag, jobs.text.split(","))
        entries = [e for e in client.query_jobs(number for number, _ in ids) if _is_selected(e, ids)]
    else:
        midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
        since = midnight if since is None else since
        entries = client.list_recent(max(0.0, time.time() - since))
    if since is not None:
        entries = [e for e in entries if (e.status.ended or math.inf) >= since]
    entries = [
        e for e in _filter_entries(client, entries, line) if states is None or _get_state(e.status) in states
    ]
    rows = [[value(client, entry) for _, value, _ in fields] for entry in entries]
    header = [] if "no_header" in line else [[name for name, _, _ in fields]]
    if "parsable" in line or "parsable2" in line:
        delimiter = line.get_text("delimiter") or "|"
        tail = "" if "parsable2" in line else delimiter
        print_lines(delimiter.join(row) + tail for row in header + rows)
        return 0
    widths = [width for _, _, width in fields]
    rule = [["-" * abs(width) for width in widths]] if header else []
    print_lines(" ".join(map(_fit, row, widths)) + " " for row in header + rule + rows)
    return 0


def _fit(text: str, width: int) -> str:
    text = text if len(text) <= abs(width) else f"{text[: abs(width) - 1]}+"
    return text.rjust(width) if width > 0 else text.ljust(-width)


def _parse_sacct_fields(option: OptionValue) -> list[tuple[str, Callable[[Client, Entry], str], int]]:
    names = {name.lower(): name for name in _SACCT_FIELDS}
    fields = []
    for word in option.text.split(","):
        match = _SACCT_FIELD.fullmatch(word)
        name = names.get(match[1].lower()) if match else None
        if match is None or name is None:
            hint = f"supported are {', '.join(_SACCT_FIELDS)}"
            raise UsageError(f"{option.flag}: the field {quote_value(word)} is not supported", hint=hint)
        width = int(match[3] or 0) or _SACCT_WIDTHS.get(name, 10)
        fields.append((name, _SACCT_FIELDS[name], -width if match[2] else width))
    return fields


def _parse_time(option: OptionValue) -> float:
    if option.text == "now":
        return time.time()
    text = quantities.parse_iso_time(option)
    try:
        return time.mktime(
            time.strptime(text, "%Y-%m-%dT%H:%M:%S" if text.count(":") == 2 else "%Y-%m-%dT%H:%M")
        )
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option.flag}: {quote_value(option.text)} is not a time", hint="as in 2030-12-31T23:59"
        ) from None


SACCT: Final = Command(_SACCT_TABLE, "", _run_sacct)
SCANCEL: Final = Command(_SCANCEL_TABLE, "[ID...]", _run_scancel)
SQUEUE: Final = Command(_SQUEUE_TABLE, "", _run_squeue)
