"""The states of jobs, nodes and queues, what is known of a job, and the event of a change.

All protocols share these states. A profile maps the batch system's own words to them (the tags of
STATE, NODE_STATE and QUEUE_STATE), an event source the entries of a scheduler's log. A word without
a tag is UNKNOWN; it is never guessed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, final


@final
class JobState(StrEnum):
    """Where a job is (design: "Jobs on a target system").

    DONE: the payload ended by itself, whatever its exit code. FAILED: ended by a signal, a limit
    or the system. REMOVED: cancelled. LOST: vanished without a trace. UNKNOWN: the batch system
    said a word that its profile does not know; no event is made of it.
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
        """Whether nothing can follow: DONE, FAILED, REMOVED and LOST."""
        return self in TERMINAL_STATES


TERMINAL_STATES: Final = frozenset(
    {JobState.DONE, JobState.FAILED, JobState.REMOVED, JobState.LOST}
)
"""The states that nothing can follow."""
_FAILED_BY_LIMIT: Final = "FAILED/LIMIT"

JOB_STATE_TAGS: Final = (
    *(s.value for s in JobState if s is not JobState.UNKNOWN),
    _FAILED_BY_LIMIT,
)
"""What a tag of the field STATE may give. FAILED/LIMIT: a limit of the system ended the job."""


def parse_state_tag(tag_value: str) -> tuple[JobState, bool]:
    """Give the state of one of STATE_WORDS, and whether a limit ended the job.

    ValueError for any other word.
    """
    limit = tag_value == _FAILED_BY_LIMIT
    return (JobState.FAILED if limit else JobState(tag_value)), limit


@final
class JobStatus(NamedTuple):
    """What is known of a job.

    `word` is the batch system's own word for the state (STATE or STATE/SUBSTATE), `reason` its
    explanation. `exit_code` is 0-255 and known of jobs that are DONE only; `signal` is the number
    of what killed a FAILED one. `limit_exceeded`: a limit of the system ended it. Times are seconds since
    1970, as they were seen here. `queue` is known where the batch system tells it with the state,
    and so is `elapsed`, the seconds for which an ended job ran.
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
    """Says that a job is in another state since `timestamp` (seconds since 1970)."""

    timestamp: float
    status: JobStatus

    @property
    def job_id(self) -> str:
        """The job that it is about."""
        return self.status.job_id

    @property
    def state(self) -> JobState:
        """The state that the job is in now."""
        return self.status.state


@final
class NodeState(StrEnum):
    """UP: it runs jobs or could; DOWN: it takes none; ERROR: something is wrong with it."""

    UP = "UP"
    DOWN = "DOWN"
    ERROR = "ERROR"
    UNKNOWN = "UNKNOWN"


@final
class QueueState(StrEnum):
    """OPEN: it takes jobs and starts them; STOPPED: one of the two it does not."""

    OPEN = "OPEN"
    STOPPED = "STOPPED"
    UNKNOWN = "UNKNOWN"


NODE_STATE_TAGS: Final = tuple(s.value for s in NodeState if s is not NodeState.UNKNOWN)
"""What a tag of the field NODE_STATE may give."""
QUEUE_STATE_TAGS: Final = tuple(s.value for s in QueueState if s is not QueueState.UNKNOWN)
"""What a tag of the field QUEUE_STATE may give."""
