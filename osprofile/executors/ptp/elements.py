"""The elements of the model at one moment, and their attributes on the wire.

PTP has no job state for a queued job and only one for an ended job; `jobStatus` tells which it is
(docs/protocols/ptp.md, 4.3; docs/ptp.md, What a client sees).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.executors.failures import describe_start_failure
from osprofile.executors.ptp.attributes import MAX_INTEGER, encode_attribute
from osprofile.jobs.state import JobState, JobStatus
from osprofile.text import format_signal_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from osprofile.executors.ptp.attributes import AttributeValue

STARTING, RUNNING, SUSPENDED, COMPLETED = "STARTING", "RUNNING", "SUSPENDED", "COMPLETED"

NON_ZERO_EXIT_CODE: Final = "NonZeroExitCode"
"""The jobStatusMessage of a job whose program has failed."""

PTP_STATES: Final[Mapping[JobState, str]] = MappingProxyType(
    {
        JobState.QUEUED: STARTING,
        JobState.RUNNING: RUNNING,
        JobState.HELD: SUSPENDED,
        JobState.DONE: COMPLETED,
        JobState.FAILED: COMPLETED,
        JobState.REMOVED: COMPLETED,
        JobState.LOST: COMPLETED,
    }
)
"""The values of jobState and processState; jobStatus has the name of our own state. A job in an
UNKNOWN state keeps its jobState, and jobStatus has the batch system's own state."""


Attributes = tuple[str, ...]
"""The attributes of an element in their wire format."""


def encode_machine(name: str, state: str = "UP") -> Attributes:
    """Return the attributes of the machine that the profile describes: the parent of its nodes."""
    return _encode_pairs((("name", name), ("machineState", state)))


def encode_node(name: str, state: str = "UP", status: str = "", number: int | None = None) -> Attributes:
    """Return a node's attributes; `status` is the batch system's own state, `number` its index in the machine."""
    pairs = (("name", name), ("nodeState", state), ("nodeStatus", status), ("nodeNumber", number))
    return _encode_pairs(pairs)


def encode_queue(name: str, state: str = "NORMAL", status: str = "") -> Attributes:
    """Return a queue's attributes; `status` is the batch system's own state."""
    return _encode_pairs((("name", name), ("queueState", state), ("queueStatus", status)))


@final
class Process(NamedTuple):
    """A process of a job; its rank is its index in the job's `processes`.

    `node` is a node's name. `exit_code` and `signal` (a name) are those of an ended process.
    """

    state: str = STARTING
    node: str | None = None
    exit_code: int | None = None
    signal: str = ""

    def encode_attributes(self, node_id: int | None) -> Attributes:
        """Return the attributes in their wire format; `node_id` is the node's element id."""
        pairs = (
            ("processState", self.state),
            ("processNodeId", node_id),
            ("processExitCode", self.exit_code),
            ("processSignalName", self.signal),
        )
        return _encode_pairs(pairs)


@final
class Job(NamedTuple):
    """A job; `key` is the batch system's id, `queue` a queue's name, `sub_id` the client's jobSubId.

    `status` is the name of our own state (the batch system's if UNKNOWN), `message` the system's
    explanation. `has_run`: it runs or has run, whether a poll saw that or not; the client is told
    RUNNING before any later state.
    """

    key: str
    queue: str
    name: str
    state: str = STARTING
    status: str = ""
    message: str = ""
    sub_id: str = ""
    user: str = ""
    processes: tuple[Process, ...] = ()
    has_run: bool = False

    def while_running(self) -> Job:
        """Return the job as it was while it ran."""
        processes = (p._replace(state=RUNNING, exit_code=None, signal="") for p in self.processes)
        return self._replace(
            state=RUNNING, status=JobState.RUNNING.value, message="", processes=tuple(processes)
        )

    def encode_attributes(self) -> Attributes:
        """Return the attributes in their wire format, without those of the processes."""
        pairs = (
            ("jobSubId", self.sub_id),
            ("name", self.name),
            ("jobState", self.state),
            ("jobStatus", self.status),
            ("jobStatusMessage", self.message),
            ("userId", self.user),
            ("jobNumProcs", len(self.processes) or None),
        )
        return _encode_pairs(pairs)


def _encode_pairs(pairs: Iterable[tuple[str, AttributeValue | None]]) -> Attributes:
    """Encode pairs; those with None or an empty text are left out."""
    return tuple([encode_attribute(id_, value) for id_, value in pairs if value is not None and value != ""])


def job_from_status(
    status: JobStatus,
    *,
    queue: str,
    name: str = "",
    sub_id: str = "",
    user: str = "",
    process_count: int = 1,
    previous: Job | None = None,
) -> Job:
    """Return the job with a status and `process_count` processes.

    `previous` is the job as it was sent last: with an UNKNOWN state it keeps its state. The
    processes are assigned to the hosts in blocks and end as the job does. A job that does not run
    yet has none.
    """
    state = PTP_STATES.get(status.state) or (previous.state if previous else STARTING)
    status_text = status.native_state if status.state is JobState.UNKNOWN else status.state.value
    start_failure = describe_start_failure(status)
    started = state in {RUNNING, COMPLETED} or status.is_suspended or bool(previous and previous.processes)
    return Job(
        key=status.job_id,
        queue=queue,
        name=name or status.job_id,
        state=state,
        status=JobState.FAILED.value if start_failure else status_text,
        message=status.reason or start_failure or (NON_ZERO_EXIT_CODE if status.exit_code else ""),
        sub_id=sub_id,
        user=user,
        processes=_build_processes(status, state, process_count) if started else (),
        has_run=_has_ever_run(status) or bool(previous and previous.has_run),
    )


def _has_ever_run(status: JobStatus) -> bool:
    """Return whether a job runs or has run; a removed or lost job may never have run."""
    ran = status.state in {JobState.RUNNING, JobState.DONE, JobState.FAILED}
    return ran or bool(status.started or status.exit_code is not None or status.signal)


def _build_processes(status: JobStatus, state: str, count: int) -> tuple[Process, ...]:
    hosts = status.hosts or (None,)
    ended = state == COMPLETED
    code = status.exit_code if ended else None
    name = (
        format_signal_name(status.signal % (MAX_INTEGER + 1)) if ended and status.signal is not None else ""
    )
    kinds = [Process(state, host, code, name) for host in hosts]
    return tuple([kinds[rank * len(kinds) // count] for rank in range(count)])
