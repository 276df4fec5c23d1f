"""The things of the model, as one looks at them at one moment, and their attributes on the wire.

They are plain values: two that are equal say the same. Job states are told in PTP's words, which
know no queue and no end but one: `jobStatus` says which it is. Source: the protocol page,
"Predefined attributes"; the design, "Jobs on a target system".
"""

from __future__ import annotations

import signal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.executors.ptp.attributes import MAX_INTEGER, encode_attribute
from osprofile.executors.start_failure import describe_start_failure
from osprofile.jobs.state import JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from osprofile.executors.ptp.attributes import AttributeValue

STARTING, RUNNING, SUSPENDED, COMPLETED = "STARTING", "RUNNING", "SUSPENDED", "COMPLETED"

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
"""The values of jobState and processState; jobStatus has our own word. A job in an UNKNOWN state
keeps the jobState that it had, and jobStatus has the batch system's word."""


@final
class Machine(NamedTuple):
    """The machine that the profile describes: the parent of its nodes."""

    name: str
    state: str = "UP"

    def encode_attributes(self) -> tuple[str, ...]:
        """Give the attributes as the wire carries them."""
        return _encode_pairs((("name", self.name), ("machineState", self.state)))


@final
class Node(NamedTuple):
    """A node; `status` is the batch system's own word, `number` its place in the machine."""

    name: str
    state: str = "UP"
    status: str = ""
    number: int | None = None

    def encode_attributes(self) -> tuple[str, ...]:
        """Give the attributes as the wire carries them."""
        pairs = (
            ("name", self.name),
            ("nodeState", self.state),
            ("nodeStatus", self.status),
            ("nodeNumber", self.number),
        )
        return _encode_pairs(pairs)


@final
class Queue(NamedTuple):
    """A queue; `status` is the batch system's own word."""

    name: str
    state: str = "NORMAL"
    status: str = ""

    def encode_attributes(self) -> tuple[str, ...]:
        """Give the attributes as the wire carries them."""
        pairs = (("name", self.name), ("queueState", self.state), ("queueStatus", self.status))
        return _encode_pairs(pairs)


@final
class Process(NamedTuple):
    """A process of a job, whose rank is its place in the job's `processes`.

    `node` is a node's name. `exit_code` and `signal` (a name) are known of those that have ended.
    """

    state: str = STARTING
    node: str | None = None
    exit_code: int | None = None
    signal: str = ""
    pid: int | None = None
    status: str = ""

    def validate_attributes(self) -> None:
        """Raise `LocalError` for what `encode_attributes` would raise it."""
        encode_attribute("processState", self.state)
        for id_, number in (("processExitCode", self.exit_code), ("processPID", self.pid)):
            if number is not None:
                encode_attribute(id_, number)

    def encode_attributes(self, node_id: int | None) -> tuple[str, ...]:
        """Give the attributes as the wire carries them; the node by its element id."""
        pairs = (
            ("processState", self.state),
            ("processNodeId", node_id),
            ("processPID", self.pid),
            ("processExitCode", self.exit_code),
            ("processSignalName", self.signal),
            ("processStatus", self.status),
        )
        return _encode_pairs(pairs)


@final
class Job(NamedTuple):
    """A job; `key` is the batch system's id, `queue` a queue's name, `sub_id` the client's jobSubId.

    `status` is our word for the state (or the batch system's, where we know none), `message` the
    system's explanation. `has_run` says that it runs, or has run: a client is told RUNNING before
    anything that comes later, whether a poll saw that or not.
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
            state=RUNNING,
            status=JobState.RUNNING.value,
            message="",
            processes=tuple(processes),
        )

    def encode_attributes(self) -> tuple[str, ...]:
        """Give the attributes as the wire carries them; those of the processes are not among them."""
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


def _encode_pairs(pairs: Iterable[tuple[str, AttributeValue | None]]) -> tuple[str, ...]:
    """Encode what has a value: empty text and None are left out."""
    return tuple(
        [encode_attribute(id_, value) for id_, value in pairs if value is not None and value != ""]
    )


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
    """Give the job that a status tells of, with `process_count` processes.

    `previous` is the job as it was told last: an UNKNOWN state leaves its state as it was. The
    processes are spread over the hosts in blocks, and end as the job does; before it runs, it has
    none.
    """
    state = PTP_STATES.get(status.state) or (previous.state if previous else STARTING)
    word = status.native_state if status.state is JobState.UNKNOWN else status.state.value
    not_run = describe_start_failure(status)
    started = state in {RUNNING, COMPLETED} or bool(previous and previous.processes)
    return Job(
        key=status.job_id,
        queue=queue,
        name=name or status.job_id,
        state=state,
        status=JobState.FAILED.value if not_run else word,
        message=status.reason or not_run,
        sub_id=sub_id,
        user=user,
        processes=_build_processes(status, state, process_count) if started else (),
        has_run=_has_ever_run(status) or bool(previous and previous.has_run),
    )


def _has_ever_run(status: JobStatus) -> bool:
    """Say whether a job runs or has run: one that was removed, or is lost, may have waited until then."""
    ran = status.state in {JobState.RUNNING, JobState.DONE, JobState.FAILED}
    return ran or bool(status.started or status.exit_code is not None or status.signal)


def _build_processes(status: JobStatus, state: str, count: int) -> tuple[Process, ...]:
    hosts = status.hosts or (None,)
    ended = state == COMPLETED
    code = status.exit_code if ended else None
    name = format_signal_name(status.signal) if ended and status.signal is not None else ""
    kinds = [Process(state, host, code, name) for host in hosts]
    return tuple([kinds[rank * len(kinds) // count] for rank in range(count)])


def format_signal_name(number: int) -> str:
    """Give a signal's name, as in SIGKILL; SIG and the number where it has none here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number % (MAX_INTEGER + 1)}"
