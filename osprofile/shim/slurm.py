"""What the stand-ins of Slurm's commands share: states, ids, and what is printed of a job. Source: their manual pages of 23.02."""

from __future__ import annotations

import grp
import os
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.job_scripts.command_line import (
    CommandLine,
    OptionValue,
    UsageError,
)
from osprofile.jobs.request import build_job_name
from osprofile.jobs.state import EndCause, JobState
from osprofile.shim.client import has_started
from osprofile.shim.command import (
    is_own_name,
)
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry


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
