"""What is known of a job, in the words of Slurm and of PBS: one table of facts, and what stands for those that are not known.

squeue, sacct, scontrol, their JSON, and qstat are formats of it. Sources: the manual pages of Slurm 23.11 and OpenPBS 23.
"""

from __future__ import annotations

import math
import os
import re
import time
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.state import EndCause, JobState
from osprofile.late import NamedTuple
from osprofile.shim.client import has_started
from osprofile.shim.command import get_elapsed
from osprofile.text import format_memory_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client, Entry


@final
class SlurmState(NamedTuple):
    """A state of Slurm: its code, its name, and the reason that is shown with it."""

    code: str
    name: str
    reason: str = "None"


PENDING: Final = SlurmState("PD", "PENDING")
_RUNNING, _SUSPENDED = SlurmState("R", "RUNNING"), SlurmState("S", "SUSPENDED")
_COMPLETED, _FAILED = SlurmState("CD", "COMPLETED"), SlurmState("F", "FAILED", "NonZeroExitCode")
_TIMEOUT, _NODE_FAIL = SlurmState("TO", "TIMEOUT", "TimeLimit"), SlurmState("NF", "NODE_FAIL", "NodeDown")
_CANCELLED, _PREEMPTED = SlurmState("CA", "CANCELLED"), SlurmState("PR", "PREEMPTED")
_OUT_OF_MEMORY: Final = SlurmState("OOM", "OUT_OF_MEMORY", "OutOfMemory")
LIVE_STATES: Final = (PENDING, _RUNNING, _SUSPENDED)
STATES: Final = (
    *LIVE_STATES, _COMPLETED, _FAILED, _CANCELLED, _TIMEOUT, _NODE_FAIL, _OUT_OF_MEMORY, _PREEMPTED,
)  # fmt: skip
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
_SIGNAL_BASE: Final = 256
"""What Torque adds to the number of the signal that ended a job."""


def get_state(status: JobStatus) -> SlurmState:
    """Return Slurm's state of a job."""
    match status.state:
        case JobState.DONE:  # an end that is not known is no success
            return _COMPLETED if status.exit_code == 0 else _FAILED
        case JobState.FAILED:
            return _FAILURE_BY_CAUSE.get(status.cause, _FAILED) if status.cause else _FAILED
        case JobState.HELD:
            return _SUSPENDED if has_started(status) else PENDING
        case JobState.UNKNOWN:
            return _RUNNING if has_started(status) else PENDING
    return _STATE_BY_STATE[status.state]


def get_letter(status: JobStatus, system: str) -> str:
    """Return the letter of PBS for a job's state: an ended one is F for PBS Pro, C for Torque."""
    if status.state.is_terminal:
        return "F" if system == "pbspro" else "C"
    state = get_state(status)
    return "H" if status.state is JobState.HELD and state is PENDING else state.code.replace("PD", "Q")


def format_exit_code(status: JobStatus) -> str:
    """Return `CODE:SIGNAL`; never 0:0 for a job that did not end with 0."""
    if not status.state.is_terminal or (status.state is JobState.DONE and status.exit_code is not None):
        return f"{status.exit_code or 0}:0"
    if status.signal:
        return f"0:{status.signal}"
    return "0:15" if status.state is JobState.REMOVED or status.limit_exceeded else "1:0"


def get_exit_status(status: JobStatus) -> int:
    """Return the exit status of PBS for an ended job: -1 if there is none, so that it is never taken for a success."""
    if status.state is JobState.DONE and status.exit_code is not None:
        return status.exit_code
    code, _, number = format_exit_code(status).partition(":")
    return -1 if code != "0" else _SIGNAL_BASE + int(number)


class Moment(float):
    """A fact that is a time, in seconds since 1970."""


class Span(float):
    """A fact that is a duration, in seconds."""


Fact = str | int | Moment | Span | None


def _moment(seconds: float | None) -> Moment | None:
    return None if seconds is None else Moment(seconds)


def _span(seconds: float | None) -> Span | None:
    return None if seconds is None else Span(seconds)


@final
class Facts:
    """The facts of a job, or of a task of an array; None: it is not known, or there is none."""

    def __init__(self, client: Client, entry: Entry) -> None:
        status, record = entry.status, entry.record
        self.client, self._record, self.entry, self.status = client, record, entry, status
        self.system = client.system
        state = self.state_of_slurm = get_state(status)
        self._is_held = status.state is JobState.HELD and state is PENDING
        self.has_started = has_started(status)
        self.number, self.index, self.name = entry.number, entry.index, record.name
        self.id = f"{entry.number}" if entry.index is None else f"{entry.number}_{entry.index}"
        self.state, self.code = state.name, state.code
        self.letter = get_letter(status, client.system)
        if self.letter in "QHRS" and any(has_started(task.status) for task in entry.tasks):
            self.letter = "B" if client.system == "pbspro" else "R"  # an array that has begun
        self.priority = 0 if self._is_held else 1  # batch systems have no common scale
        self.exit_code = format_exit_code(status)
        self.hosts = ",".join(status.hosts)
        self.batch_host = status.hosts[0] if status.hosts else None
        self.submitted, self.started = _moment(record.status.submitted), _moment(status.started)
        self.ended, self.elapsed = _moment(status.ended), Span(get_elapsed(status))
        self.limit = _span(record.walltime or None)
        self.left = None if self.limit is None else Span(self.limit - self.elapsed)
        self.cpu_time = _span(status.cpu_time)
        self.energy = int(status.energy or 0)
        self.cluster = client.default_queue

    def _ask(self, field: str) -> str | None:
        return self.client.get_requested(self._record, field) or None

    def _count(self, *fields: str) -> int:
        """Return the product of the values of fields that are whole numbers, such as NODES; 1 for each without one."""
        values = (self._ask(field) or "" for field in fields)
        return math.prod(int(value) if value.isdecimal() else 1 for value in values)

    # What was requested

    account = property(lambda self: self._ask("PROJECT"))
    constraint = property(lambda self: self._ask("CONSTRAINT"))
    directory = property(lambda self: self._ask("DIRECTORY"))
    qos = property(lambda self: self._ask("QOS"))
    reservation = property(lambda self: self._ask("RESERVATION"))
    nodes = property(lambda self: self._count("NODES"))
    tasks = property(lambda self: self._count("PROCESSES"))
    cpus_per_task = property(lambda self: self._count("CPUS"))
    sharing = property(lambda self: "NO" if self._ask("EXCLUSIVE") else "OK")
    queue = property(lambda self: self.status.queue or self._ask("QUEUE") or self.client.default_queue)
    user = property(lambda self: self.client.user_name)
    user_id = property(lambda _self: os.geteuid())
    group_id = property(lambda _self: os.getegid())
    submit_host = property(lambda _self: os.uname().nodename)

    @cached_property
    def cpus(self) -> int:
        """The number of processors, at least one on each node."""
        return max(self._count("NODES"), self._count("PROCESSES", "CPUS"))

    @property
    def memory(self) -> int | None:
        """The memory of a node, in MiB."""
        text = self._ask("MEMORY") or ""
        return int(text) if text.isascii() and text.isdecimal() else None

    @property
    def gpus(self) -> str | None:
        """The GPUs of a node, as in `gres:gpu:a100:2`."""
        number = self._ask("GPUS")
        return ":".join(filter(None, ("gres", "gpu", self._ask("GPU_TYPE"), number))) if number else None

    @property
    def group(self) -> str:
        """The name of the group of this process, or its number if it has none."""
        import grp

        try:
            return grp.getgrgid(os.getegid()).gr_name
        except KeyError:
            return str(os.getegid())

    @property
    def total_memory(self) -> str | None:
        """The memory of all nodes, as in `2048mb`."""
        return None if self.memory is None else f"{self.memory * self.nodes}mb"

    @property
    def select(self) -> str:
        """The chunks of PBS Pro, as in `2:ncpus=4:mpiprocs=2`."""
        per_node = -(-self.tasks // self.nodes)
        processes = f":mpiprocs={per_node}" if self.tasks > 1 else ""
        return f"{self.nodes}:ncpus={per_node * self.cpus_per_task}{processes}"

    # What comes of it

    @cached_property
    def reason(self) -> str:
        """Why it waits or failed."""
        if self._is_held:
            return "JobHeldUser"
        for condition in (self._ask("DEPENDENCY") or "").split(",") if self.state_of_slurm is PENDING else ():
            for job_id in condition.split(":")[1:]:
                other = self.client.store.find_job(self.client.settings.target, job_id)
                if other is not None and not other.status.state.is_terminal:
                    return "Dependency"
        return self.state_of_slurm.reason

    comment = property(lambda self: self.status.reason or None)
    used = property(lambda self: self.elapsed if self.has_started else None)
    places = property(lambda self: "+".join(f"{host}/0" for host in self.status.hosts) or None)

    @property
    def expected_end(self) -> Moment | None:
        """When it ended, or will be ended by its limit."""
        if self.ended is not None or self.started is None or self.limit is None:
            return self.ended
        return Moment(self.started + self.limit)

    @property
    def cpu_seconds(self) -> Span:
        """How long its processors were its own, all together."""
        return Span(self.elapsed * (self.allocated_cpus or self.cpus))

    @property
    def waited(self) -> Span | None:
        """How long it has waited."""
        until = self.started or self.ended or time.time()
        return None if self.submitted is None else Span(max(0.0, until - self.submitted))

    @property
    def tres(self) -> str:
        """What it asks for, as in `cpu=2,node=1`."""
        return f"cpu={self.cpus},node={self.nodes}"

    short_exit_code = property(lambda self: self.exit_code.removesuffix(":0"))
    short_memory = property(lambda self: format_memory_option(self.memory) if self.memory else "0")
    normal_priority = property(lambda self: f"{self.priority / 2**32:.14f}")
    raw_elapsed = property(lambda self: int(self.elapsed))
    raw_cpu_seconds = property(lambda self: int(self.cpu_seconds))
    limit_in_minutes = property(lambda self: None if self.limit is None else -(-int(self.limit) // 60))
    max_memory = property(
        lambda self: f"{self.status.max_memory // 1024}K" if self.status.max_memory is not None else None
    )
    known_hosts = property(lambda self: self.hosts or None)
    allocated_tres = property(lambda self: self.tres if self.has_started else None)
    allocated_cpus = property(
        lambda self: (self.status.allocated_cpus or self.cpus) if self.has_started else 0
    )
    allocated_nodes = property(lambda self: self.nodes if self.has_started else 0)

    @property
    def hosts_or_reason(self) -> str:
        """Its nodes, or in parentheses why it waits or failed."""
        if self.state_of_slurm is PENDING or self.state_of_slurm.reason not in {"None", "NodeDown"}:
            return f"({self.reason})"
        return self.hosts or "(None)"


_FACT: Final = re.compile(r"\{(\w+)(?::([^}]*))?\}")


@final
class Style(NamedTuple):
    """How a command prints facts: what stands for one that is not known, and durations."""

    nothing: str
    format_span: Callable[[float], str]
    time_format: str = "%Y-%m-%dT%H:%M:%S"

    def fill(self, template: str, facts: object) -> str:
        """Return a text such as `{nodes}` or `cpu={cpus}` with facts; `{limit:NONE}` is NONE for a limit that is not known."""
        return _FACT.sub(lambda match: self._show(getattr(facts, match[1]), match[2]), template)

    def _show(self, value: Fact, nothing: str | None) -> str:
        if value is None:
            return self.nothing if nothing is None else nothing
        if isinstance(value, Moment):
            return time.strftime(self.time_format, time.localtime(value))
        return self.format_span(value) if isinstance(value, Span) else str(value)
