"""The states of jobs, nodes and queues, the status of a job, and job events.

All protocols share these states. A profile maps the batch system's words to them, by the tags of STATE,
NODE_STATE and QUEUE_STATE; an event source maps the entries of a scheduler's log. A word without a tag
is UNKNOWN; it is never guessed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, final


@final
class JobState(StrEnum):
    """The state of a job. See docs/python.md, Jobs.

    - DONE: the job's program ended by itself, with any exit code.
    - FAILED: it was ended by a signal, a limit or the system.
    - REMOVED: it was cancelled.
    - LOST: the batch system no longer knows it, and it left no exit status.
    - UNKNOWN: the batch system reported a state that the profile does not define; this is not an event.
    """

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    HELD = "HELD"
    DONE = "DONE"
    FAILED = "FAILED"
    REMOVED = "REMOVED"
    LOST = "LOST"
    UNKNOWN = "UNKNOWN"

    @property
    def is_terminal(self) -> bool:
        """Whether no other state can follow: DONE, FAILED, REMOVED and LOST."""
        return self in TERMINAL_STATES


TERMINAL_STATES: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.REMOVED, JobState.LOST})
"""The states that no other state can follow."""
_FAILED_BY_LIMIT: Final = "FAILED/LIMIT"

JOB_STATE_TAGS: Final = (*(s.value for s in JobState if s is not JobState.UNKNOWN), _FAILED_BY_LIMIT)
"""Allowed values of the tags of STATE. FAILED/LIMIT: a limit of the system ended the job."""


def parse_state_tag(tag_value: str) -> tuple[JobState, bool]:
    """Return the state of one of JOB_STATE_TAGS, and whether a limit ended the job.

    Raises `ValueError` for any other text.
    """
    limit_exceeded = tag_value == _FAILED_BY_LIMIT
    return (JobState.FAILED if limit_exceeded else JobState(tag_value)), limit_exceeded


@final
class JobStatus(NamedTuple):
    """The status of a job. Times are in seconds since 1970, by the clock of this machine.

    - `native_state`: the batch system's word for the state (STATE or STATE/SUBSTATE)
    - `exit_code`: of a DONE job, 0 to 255
    - `signal`: the number of the signal that killed a FAILED job
    - `limit_exceeded`: whether a limit of the system ended the job
    - `reason`: the batch system's explanation of the state
    - `queue`: empty if the batch system does not report it with the state
    - `elapsed`: the run time of an ended job in seconds, if the batch system reports it
    """

    job_id: str
    state: JobState
    native_state: str = ""
    exit_code: int | None = None
    signal: int | None = None
    limit_exceeded: bool = False
    hosts: tuple[str, ...] = ()
    reason: str = ""
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    queue: str = ""
    elapsed: float | None = None


@final
class JobEvent(NamedTuple):
    """A change of a job's state at `timestamp` (seconds since 1970)."""

    timestamp: float
    status: JobStatus

    @property
    def job_id(self) -> str:
        """The id of the job that has changed."""
        return self.status.job_id

    @property
    def state(self) -> JobState:
        """The job's new state."""
        return self.status.state


@final
class NodeState(StrEnum):
    """The state of a node. UP: it runs jobs or could; DOWN: it does not accept jobs; ERROR: it has a fault."""

    UP = "UP"
    DOWN = "DOWN"
    ERROR = "ERROR"
    UNKNOWN = "UNKNOWN"


@final
class QueueState(StrEnum):
    """The state of a queue. OPEN: it accepts and starts jobs; STOPPED: it does at most one of these."""

    OPEN = "OPEN"
    STOPPED = "STOPPED"
    UNKNOWN = "UNKNOWN"


NODE_STATE_TAGS: Final = tuple(s.value for s in NodeState if s is not NodeState.UNKNOWN)
"""Allowed values of the tags of NODE_STATE."""
QUEUE_STATE_TAGS: Final = tuple(s.value for s in QueueState if s is not QueueState.UNKNOWN)
"""Allowed values of the tags of QUEUE_STATE."""
