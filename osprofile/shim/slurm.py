"""What the stand-ins of Slurm print of a job; `scancel` and `sacct`. Source: their manual pages of Slurm 23.02."""

from __future__ import annotations

import grp
import math
import os
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobNotFoundError, OSProfileError
from osprofile.job_scripts import quantities
from osprofile.job_scripts.command_line import (
    CommandLine,
    Option,
    OptionValue,
    UsageError,
    parse_words,
    refuse_options,
)
from osprofile.jobs.request import build_job_name
from osprofile.jobs.state import EndCause, JobState
from osprofile.shim.client import has_started
from osprofile.shim.command import (
    Command,
    get_elapsed,
    is_own_name,
    print_error,
    print_lines,
)
from osprofile.shim.job_request import parse_signal
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry

_SCANCEL_TABLE: Final = (
    Option("me", ("--me",)),
    Option("name", ("-n", "--name", "--jobname"), "NAME"),
    Option("partition", ("-p", "--partition"), "NAME"),
    Option("quiet", ("-Q", "--quiet")),
    Option("signal", ("-s", "--signal"), "SIGNAL", "send it, in place of the removal"),
    Option("state", ("-t", "--state"), "STATE"),
    Option("user", ("-u", "--user"), "NAME"),
    Option("verbose", ("-v", "--verbose"), "", "print the job on standard error"),
    Option("clusters", ("-M", "--clusters", "--cluster"), "NAMES", "there is one in any case"),
    Option("without_effect", ("--ctld",), "", "changes nothing"),
    Option("without_effect", ("-H", "--hurry"), "", "changes nothing"),
    *refuse_options(
        "--account --batch --full --help --interactive --nodelist --qos"
        " --reservation --sibling --usage --version --wckey"
    ),
)
_SACCT_TABLE: Final = (
    Option("accounts", ("-A", "--accounts"), "NAMES"),
    Option("all_clusters", ("-L", "--allclusters"), "", "there is one in any case"),
    Option("all_users", ("-a", "--allusers")),
    Option("allocations", ("-X", "--allocations"), "", "there are no steps in any case"),
    Option("brief", ("-b", "--brief"), "", "JobID, State, ExitCode"),
    Option("clusters", ("-M", "--clusters", "--cluster"), "NAMES", "there is one in any case"),
    Option("delimiter", ("--delimiter",), "TEXT"),
    Option("duplicates", ("-D", "--duplicates")),
    Option("end", ("-E", "--endtime"), "TIME", "jobs that were submitted before"),
    Option("format", ("-o", "--format", "--fields"), "FIELDS"),
    Option("help_format", ("-e", "--helpformat"), "", "list the fields"),
    Option("jobs", ("-j", "--jobs"), "IDS"),
    Option("json", ("--json",), "", "print a JSON object, as Slurm 23.02 does"),
    Option("local", ("--local",)),
    Option("name", ("--name",), "NAMES"),
    Option("no_convert", ("--noconvert",)),
    Option("no_header", ("-n", "--noheader")),
    Option("parsable", ("-p", "--parsable")),
    Option("parsable2", ("-P", "--parsable2")),
    Option("partition", ("-r", "--partition"), "NAMES"),
    Option("start", ("-S", "--starttime"), "TIME", "as in 2030-12-31T23:59"),
    Option("state", ("-s", "--state"), "STATES"),
    Option("user", ("-u", "--user", "--uid"), "NAMES"),
    *refuse_options(
        "--associations --batch-script --completion --constraints --env-vars --federation --file --flags"
        " --gid --group --help --long --ncpus --nnodes --nodelist --qos --reason --timelimit-max --timelimit-min"
        " --truncate --units --usage --use-local-uid --verbose --version --wckeys --whole-hetjob --yaml"
    ),
)


@final
class _State(NamedTuple):
    code: str
    name: str


PENDING, _RUNNING, _SUSPENDED = _State("PD", "PENDING"), _State("R", "RUNNING"), _State("S", "SUSPENDED")
_COMPLETED, _FAILED = _State("CD", "COMPLETED"), _State("F", "FAILED")
_CANCELLED, _TIMEOUT, _NODE_FAIL = (
    _State("CA", "CANCELLED"),
    _State("TO", "TIMEOUT"),
    _State("NF", "NODE_FAIL"),
)
_OUT_OF_MEMORY, _PREEMPTED = _State("OOM", "OUT_OF_MEMORY"), _State("PR", "PREEMPTED")
LIVE_STATES: Final = (PENDING, _RUNNING, _SUSPENDED)
_STATES: Final = (
    *LIVE_STATES, _COMPLETED, _FAILED, _CANCELLED, _TIMEOUT, _NODE_FAIL, _OUT_OF_MEMORY, _PREEMPTED,
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


def get_state(status: JobStatus) -> _State:
    """Return Slurm's state of a job."""
    if status.state is JobState.DONE:
        # An end that is not known is no success.
        return _COMPLETED if status.exit_code == 0 else _FAILED
    if status.state is JobState.FAILED:
        return _FAILURE_BY_CAUSE.get(status.cause, _FAILED) if status.cause else _FAILED
    if status.state is JobState.HELD:
        return _SUSPENDED if has_started(status) else PENDING
    if status.state is JobState.UNKNOWN:
        return _RUNNING if has_started(status) else PENDING
    return _STATE_BY_STATE[status.state]


_FAILURE_BY_CAUSE: Final = {
    EndCause.TIME: _TIMEOUT,
    EndCause.LIMIT: _TIMEOUT,
    EndCause.MEMORY: _OUT_OF_MEMORY,
    EndCause.NODE: _NODE_FAIL,
    EndCause.PREEMPTED: _PREEMPTED,
}
_STATE_BY_STATE: Final = {
    JobState.QUEUED: PENDING,
    JobState.RUNNING: _RUNNING,
    JobState.REMOVED: _CANCELLED,
    JobState.LOST: _NODE_FAIL,
}


# Selecting jobs

_ID: Final = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,7}))?")


def parse_ids(flag: str, words: Iterable[str]) -> list[tuple[int, int | None]]:
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


def is_selected(entry: Entry, ids: Sequence[tuple[int, int | None]]) -> bool:
    """Return whether ids are those of a job, or of its array."""
    return (entry.number, None) in ids or (entry.number, entry.index) in ids


def parse_states(option: OptionValue | None) -> frozenset[_State] | None:
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


def filter_entries(client: Client, entries: Iterable[Entry], line: CommandLine) -> list[Entry]:
    """Return the jobs that the options for users, names, partitions and accounts select."""
    accounts = line.get("accounts")
    user, names, partitions = (line.get(name) for name in ("user", "name", "partition"))
    if user is not None and not any(is_own_name(client, name) for name in user.text.split(",")):
        return []  # the record has the jobs of one user
    plain = None if names is None else {build_job_name(name) for name in names.text.split(",")}
    queues = None if partitions is None else partitions.text.split(",")
    return [
        entry
        for entry in entries
        if (plain is None or entry.record.name in plain)
        and (queues is None or client.may_be_in_queue(entry, queues))
        and (accounts is None or client.get_requested(entry.record, "PROJECT") in accounts.text.split(","))
    ]


def refuse_operands(line: CommandLine) -> None:
    """Raise `UsageError` for a word that is no option."""
    if line.operands:
        message = f"{quote_name(line.operands[0])} is not an option, and this command takes no other words"
        raise UsageError(message, hint="leave it out")


# What is printed of a job


def format_id(entry: Entry) -> str:
    """Return the id of a job, `12`, or of a task, `12_3`."""
    return f"{entry.number}" if entry.index is None else f"{entry.number}_{entry.index}"


def format_time(timestamp: float | None, unknown: str) -> str:
    """Return a local time, or `unknown` for None."""
    return unknown if timestamp is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(timestamp))


_REASONS: Final = {
    _FAILED: "NonZeroExitCode",
    _TIMEOUT: "TimeLimit",
    _OUT_OF_MEMORY: "OutOfMemory",
    _NODE_FAIL: "NodeDown",
}


def get_reason(entry: Entry) -> str:
    """Return why a job waits or failed."""
    if entry.status.state is JobState.HELD and get_state(entry.status) is PENDING:
        return "JobHeldUser"
    return _REASONS.get(get_state(entry.status), "None")


def format_reason(entry: Entry) -> str:
    """Return the nodes of a job, or in parentheses why it waits or failed."""
    if get_state(entry.status) in {PENDING, _FAILED, _TIMEOUT, _OUT_OF_MEMORY}:
        return f"({get_reason(entry)})"
    return ",".join(entry.status.hosts) or "(None)"


def count_cpus(client: Client, entry: Entry) -> int:
    """Return the number of processors that a job has, at least one on each node."""
    return max(
        client.count_requested(entry.record, *fields) for fields in (("NODES",), ("PROCESSES", "CPUS"))
    )


def format_exit_code(status: JobStatus) -> str:
    """Return `CODE:SIGNAL`; never 0:0 for a job that did not end with 0."""
    if not status.state.is_terminal or (status.state is JobState.DONE and status.exit_code is not None):
        return f"{status.exit_code or 0}:0"
    if status.signal:
        return f"0:{status.signal}"
    return "0:15" if status.state is JobState.REMOVED or status.limit_exceeded else "1:0"


def get_group_name() -> str:
    """Return the name of the group of this process, or its number if it has none."""
    try:
        return grp.getgrgid(os.getegid()).gr_name
    except KeyError:
        return str(os.getegid())


# scancel


def _run_scancel(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SCANCEL_TABLE, words, ends_at_operand=False)
    ids = parse_ids("job", (part for word in line.operands for part in word.split(",")))
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
        name = f"{job}" if index is None else f"{job}_{index}"
        if "verbose" in line:
            action = "Terminating job" if number is None else f"Signal {number[1]} to job"
            print_error("scancel", f"{action} {name}")
        error, job_code = _cancel_job(client, job, index, None if number is None else number[1])
        code = code or job_code
        if error and not ("quiet" in line and job_code == 0):
            print_error("scancel", f"error: Kill job error on job id {name}: {error}")
    return code


def _select_ids(
    client: Client, line: CommandLine, ids: Sequence[tuple[int, int | None]]
) -> list[tuple[int, int | None]]:
    """Return the ids of the jobs that have not ended and meet all conditions."""
    states = parse_states(line.get("state"))
    entries = [entry for entry in client.list_recent(0.0) if not entry.status.state.is_terminal]
    return [
        (entry.number, entry.index)
        for entry in filter_entries(client, entries, line)
        if (not ids or is_selected(entry, ids)) and (states is None or get_state(entry.status) in states)
    ]


def _cancel_job(client: Client, number: int, index: int | None, signal: int | None) -> tuple[str, int]:
    """Remove a job or send it a signal; return the error, empty for none, and the exit code."""
    try:
        if signal is not None:
            client.session.get_job(client.find_id(number, index)).signal(signal)
        elif not client.remove_job(number, index):
            return "Job/step already completing or completed", 0
    except JobNotFoundError:
        return "Invalid job id specified", 1
    except OSProfileError as error:
        return f"{error}", 1
    return "", 0


# sacct


def _format_tres(client: Client, entry: Entry) -> str:
    return f"cpu={count_cpus(client, entry)},node={client.count_requested(entry.record, 'NODES')}"


def _get_cpu_seconds(client: Client, entry: Entry) -> float:
    """Return the seconds that the processors were a job's."""
    return get_elapsed(entry.status) * count_cpus(client, entry)


def _format_planned(entry: Entry) -> str:
    """Return how long a job has waited."""
    status, submitted = entry.status, entry.record.status.submitted
    until = status.started or status.ended or time.time()
    return "" if submitted is None else quantities.format_days(max(0.0, until - submitted))


_FIELDS_OF_STEPS: Final = (
    "AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize MaxDiskRead MaxDiskReadNode MaxDiskReadTask"
    " MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSSNode MaxRSSTask MaxVMSize"
    " MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode MinCPUTask NTasks Layout"
)
"""They are empty for a job itself, and jobs have no steps."""
_EMPTY_FIELDS: Final = "AdminComment BlockID Comment Container Flags McsLabel SubmitLine SystemComment WCKey"
_SACCT_FIELDS: Final[dict[str, Callable[[Client, Entry], str]]] = {
    **dict.fromkeys(f"{_FIELDS_OF_STEPS} {_EMPTY_FIELDS}".split(), lambda _c, _e: ""),
    "AllocTRES": lambda c, e: _format_tres(c, e) if has_started(e.status) else "",
    "Cluster": lambda c, _: c.default_queue,
    "Constraints": lambda c, e: c.get_requested(e.record, "CONSTRAINT"),
    "CPUTime": lambda c, e: quantities.format_days(_get_cpu_seconds(c, e)),
    "CPUTimeRAW": lambda c, e: str(int(_get_cpu_seconds(c, e))),
    "ConsumedEnergy": lambda _, e: f"{e.status.energy or 0:.0f}",
    "ConsumedEnergyRaw": lambda _, e: f"{e.status.energy or 0:.0f}",
    "DerivedExitCode": lambda _c, _e: "0:0",
    "Eligible": lambda _, e: format_time(e.record.status.submitted, "Unknown"),
    "GID": lambda _c, _e: str(os.getegid()),
    "Planned": lambda _, e: _format_planned(e),
    "Reserved": lambda _, e: _format_planned(e),
    "ReqNodes": lambda c, e: str(c.count_requested(e.record, "NODES")),
    "ReqTRES": _format_tres,
    "Reservation": lambda c, e: c.get_requested(e.record, "RESERVATION"),
    "Suspended": lambda _c, _e: "00:00:00",
    "UID": lambda _c, _e: str(os.geteuid()),
    "Account": lambda c, e: c.get_requested(e.record, "PROJECT"),
    "AllocCPUS": lambda c, e: str(count_cpus(c, e) if has_started(e.status) else 0),
    "AllocNodes": lambda c, e: str(c.count_requested(e.record, "NODES") if has_started(e.status) else 0),
    "Elapsed": lambda _, e: quantities.format_days(get_elapsed(e.status)),
    "ElapsedRaw": lambda _, e: str(int(get_elapsed(e.status))),
    "End": lambda _, e: format_time(e.status.ended, "Unknown"),
    "ExitCode": lambda _, e: format_exit_code(e.status),
    "JobID": lambda _, e: format_id(e),
    "JobIDRaw": lambda _, e: str(e.number),
    "JobName": lambda _, e: e.record.name,
    "MaxRSS": lambda _, e: "" if e.status.max_memory is None else f"{e.status.max_memory // 1024}K",
    "NCPUS": lambda c, e: str(count_cpus(c, e)),
    "NNodes": lambda c, e: str(c.count_requested(e.record, "NODES")),
    "NodeList": lambda _, e: ",".join(e.status.hosts) or "None assigned",
    "Partition": lambda c, e: c.get_queue(e),
    "QOS": lambda c, e: c.get_requested(e.record, "QOS"),
    "Reason": lambda _, e: get_reason(e),
    "ReqCPUS": lambda c, e: str(count_cpus(c, e)),
    "ReqMem": lambda c, e: f"{c.get_requested(e.record, 'MEMORY') or 0}M",
    "Start": lambda _, e: format_time(e.status.started, "Unknown"),
    "State": lambda _, e: get_state(e.status).name,
    "Submit": lambda _, e: format_time(e.record.status.submitted, "Unknown"),
    "Timelimit": lambda _, e: quantities.format_days(e.record.walltime) if e.record.walltime else "UNLIMITED",
    "TimelimitRaw": lambda _, e: f"{e.record.walltime / 60:.0f}" if e.record.walltime else "UNLIMITED",
    "TotalCPU": lambda _, e: (
        "" if e.status.cpu_time is None else quantities.format_days(int(e.status.cpu_time))
    ),
    "User": lambda c, _: c.user_name,
    "WorkDir": lambda c, e: c.get_requested(e.record, "DIRECTORY"),
}


def get_sacct_value(client: Client, entry: Entry, name: str) -> str:
    """Return the value of a field of sacct."""
    return _SACCT_FIELDS[name](client, entry)


_SACCT_FORMAT: Final = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
_BRIEF_FORMAT: Final = "JobID,State,ExitCode"
_STEP: Final = re.compile(r"[0-9_]+\.(?:[0-9]+|batch|extern|interactive)")
_SACCT_FIELD: Final = re.compile(r"([A-Za-z]+)(?:%(-?)([0-9]{1,4}))?")
_SACCT_WIDTHS: Final = {"JobID": 12, "JobIDRaw": 12, "ExitCode": 8, "JobName": 10}


def _run_sacct(client: Client, words: Sequence[str]) -> int:
    line = parse_words(_SACCT_TABLE, words, ends_at_operand=False)
    refuse_operands(line)
    if "help_format" in line:
        names = sorted(_SACCT_FIELDS, key=str.lower)
        print_lines(" ".join(f"{name:19}" for name in names[i : i + 4]) for i in range(0, len(names), 4))
        return 0
    default = _BRIEF_FORMAT if "brief" in line else _SACCT_FORMAT
    fields = _parse_sacct_fields(line.get("format") or OptionValue("--format", default))
    states, jobs = parse_states(line.get("state")), line.get("jobs")
    since, before = (
        None if (moment := line.get(name)) is None else _parse_time(moment) for name in ("start", "end")
    )
    if jobs is not None:
        words_of_jobs = (
            word for word in jobs.text.split(",") if not _STEP.fullmatch(word)
        )  # no job has steps
        ids = parse_ids(jobs.flag, words_of_jobs)
        entries = [e for e in client.query_jobs(number for number, _ in ids) if is_selected(e, ids)]
    else:
        midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
        since = midnight if since is None else since
        entries = client.list_recent(max(0.0, time.time() - since))
    if since is not None:
        entries = [e for e in entries if (e.status.ended or math.inf) >= since]
    if before is not None:
        entries = [e for e in entries if (e.record.status.submitted or 0.0) <= before]
    entries = [
        e for e in filter_entries(client, entries, line) if states is None or get_state(e.status) in states
    ]
    if "json" in line:
        from osprofile.shim import slurm_json

        slurm_json.print_jobs(client, entries, slurm_json.describe_accounted_job)
        return 0
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
    for word in filter(None, option.text.split(",")):
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
