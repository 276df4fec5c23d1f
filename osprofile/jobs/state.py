"""The states of jobs, nodes and queues, the status of a job, and job events.

All protocols share these states. A profile maps the batch system's words to them, by the tags of STATE,
NODE_STATE and QUEUE_STATE; an event source maps the entries of a scheduler's log. A word without a tag
has the state of STATE's tag `*`, else it is UNKNOWN; it is never guessed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

from osprofile.late import NamedTuple


@final
class JobState(StrEnum):
    """The state of a job, which is also a `str`. See docs/python.md, Jobs."""

    QUEUED = "QUEUED"
    """It waits."""
    RUNNING = "RUNNING"
    """It runs."""
    HELD = "HELD"
    """It is kept from starting, or suspended: see `JobStatus.is_suspended`."""
    DONE = "DONE"
    """The program ended by itself, with any exit code."""
    FAILED = "FAILED"
    """The job was ended by a signal, a limit or the batch system."""
    REMOVED = "REMOVED"
    """It was cancelled."""
    LOST = "LOST"
    """The batch system no longer knows it, and it left no exit status."""
    UNKNOWN = "UNKNOWN"
    """The batch system reported a state that the profile does not define, or has not been asked yet; this is no event."""

    @property
    def is_terminal(self) -> bool:
        """Whether no other state can follow: DONE, FAILED, REMOVED and LOST."""
        return self in TERMINAL_STATES


@final
class EndCause(StrEnum):
    """Why a FAILED or REMOVED job ended, which is also a `str`."""

    TIME = "TIME"
    """It used up its wall time or processor time."""
    MEMORY = "MEMORY"
    """It used more memory than it may."""
    LIMIT = "LIMIT"
    """It exceeded another limit of the batch system, or one that is not known."""
    PREEMPTED = "PREEMPTED"
    """It had to make room for another job."""
    NODE = "NODE"
    """A node failed, or could not start it."""
    DEPENDENCY = "DEPENDENCY"
    """A job that it waited for ended in another way than it demanded."""
    USER = "USER"
    """A user or an administrator cancelled it."""
    SITE_SETUP = "SITE_SETUP"
    """The site's own lines before the program, SITE_SETUP, ended it; the program did not run."""
    FILES = "FILES"
    """A file, directory, module or container that it names could not be used; its reason says which."""
    SIGNAL = "SIGNAL"
    """A signal killed it, and why is not known."""

    @property
    def description(self) -> str:
        """What messages say of a job that ended so, as in "it exceeded its time limit"."""
        return _CAUSE_TEXTS[self][0]

    @property
    def label(self) -> str:
        """Its name in a list, as in "time limit"."""
        return _CAUSE_TEXTS[self][1]


_CAUSE_TEXTS: Final = {
    EndCause.TIME: ("it exceeded its time limit", "time limit"),
    EndCause.MEMORY: ("it exceeded its memory limit", "memory limit"),
    EndCause.LIMIT: ("it exceeded a limit", "limit"),
    EndCause.PREEMPTED: ("another job preempted it", "preempted"),
    EndCause.NODE: ("a node failed", "node failure"),
    EndCause.DEPENDENCY: ("a dependency ended in a way that the job did not allow", "dependency"),
    EndCause.USER: ("somebody cancelled it", "cancelled"),
    EndCause.SITE_SETUP: ("the site's SITE_SETUP ended it before the program began", "SITE_SETUP failed"),
    EndCause.FILES: ("a file, directory, module or container that it names cannot be used", "unusable file"),
    EndCause.SIGNAL: ("a signal killed it", "signal"),
}

_END_TEXTS: Final = {
    JobState.DONE: "it ended, but its exit code is not known",
    JobState.FAILED: "the batch system ended it",
    JobState.REMOVED: "it was removed",
    JobState.LOST: "the batch system no longer knows it, and it left no exit code",
}

TERMINAL_STATES: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.REMOVED, JobState.LOST})
"""The states that no other state can follow."""
FAILED_STATES: Final = frozenset({JobState.FAILED, JobState.LOST})
"""Those of a job that something else than its program ended: only these are submitted again by a rule."""
_LIMIT_CAUSES: Final = frozenset({EndCause.TIME, EndCause.MEMORY, EndCause.LIMIT})
_TAGS_WITH_CAUSES: Final = {
    f"{state}/{cause}": (state, cause)
    for state, causes in {
        JobState.FAILED: (
            *sorted(_LIMIT_CAUSES),
            EndCause.NODE,
            EndCause.PREEMPTED,
            EndCause.SITE_SETUP,
            EndCause.FILES,
        ),
        JobState.REMOVED: (EndCause.DEPENDENCY,),
    }.items()
    for cause in causes
}

SUSPENDED_TAG: Final = "HELD/SUSPENDED"
"""The tag of a job that has begun and is suspended, as by gang scheduling: see `JobStatus.is_suspended`."""
JOB_STATE_TAGS: Final = (
    *(s.value for s in JobState if s is not JobState.UNKNOWN),
    *_TAGS_WITH_CAUSES,
    SUSPENDED_TAG,
)
"""Allowed values of the tags of STATE: a state, a final state and its cause, as in FAILED/TIME, or SUSPENDED_TAG."""


REUSED_ID_REASON: Final = "the batch system gave its id to another job"
"""The reason of a job that is LOST since its id is another job's."""
OTHER_WORD_TAG: Final = "*"
"""The name of the tag of STATE for the words that have no tag; its value is a state that has not ended."""
LIVE_STATE_TAGS: Final = tuple(
    tag for tag in JOB_STATE_TAGS if JobState(tag.partition("/")[0]) not in TERMINAL_STATES
)
"""Allowed values of OTHER_WORD_TAG."""


def parse_state_tag(tag_value: str) -> tuple[JobState, EndCause | None]:
    """Return the state and the cause of one of JOB_STATE_TAGS.

    Raises `ValueError` for any other text.
    """
    if tag_value == SUSPENDED_TAG:
        return JobState.HELD, None
    return _TAGS_WITH_CAUSES.get(tag_value) or (JobState(tag_value), None)


@final
class JobStatus(NamedTuple):
    """The status of a job. Moments are in seconds since 1970, by the clock of this machine.

    States may be skipped: a job that begins and ends between two queries was never seen RUNNING.
    """

    job_id: str
    """The batch system's id of the job."""
    state: JobState
    """The state; the same words for all batch systems."""
    native_state: str = ""
    """The batch system's word for the state (STATE or STATE/SUBSTATE)."""
    exit_code: int | None = None
    """The exit code of a DONE job, 0 to 255; None for any other job."""
    signal: int | None = None
    """The number of the signal that killed a FAILED job, if it is known."""
    cause: EndCause | None = None
    """Why a FAILED or REMOVED job ended, as far as it is known."""
    hosts: tuple[str, ...] = ()
    """The names of the nodes, as far as the batch system reports them."""
    reason: str = ""
    """The batch system's explanation of the state."""
    submitted: float | None = None
    """When its submission began. It may run before the batch system has told its id."""
    started: float | None = None
    """When its last run began; if the batch system does not report it, when it was first seen running."""
    ended: float | None = None
    """When it ended; if `end_reported` is false, when its end was first seen."""
    queue: str = ""
    """The queue; empty if the batch system does not report it with the state."""
    elapsed: float | None = None
    """Its run time in seconds, if the batch system reports it. A HELD job has one if it is suspended."""
    cpu_time: float | None = None
    """The processor time of all its processes in seconds, if it is known."""
    max_memory: int | None = None
    """The largest memory that it used at one time, in bytes, if it is known."""
    energy: float | None = None
    """The energy that it took in joules, if the batch system measures it."""
    allocated_cpus: int | None = None
    """The processors that it was given on all its nodes, if the batch system reports them."""
    allocated_memory: int | None = None
    """The memory that it was given on all its nodes in bytes, if the batch system reports it."""
    end_reported: bool = False
    """Whether `ended` is what the target system reported, and not when the end was first seen."""
    unknown_word: bool = False
    """Whether the profile has no tag for `native_state`: the state is the last known one, or that of the tag `*`."""

    @property
    def is_suspended(self) -> bool:
        """Whether a HELD job has begun: it is suspended, holds its nodes, and goes on by itself or by RESUME."""
        return self.state is JobState.HELD and not self.started is self.elapsed is None

    @property
    def limit_exceeded(self) -> bool:
        """Whether a limit of the batch system, such as the wall time, ended the job."""
        return self.cause in _LIMIT_CAUSES

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, by a cause from outside or by the exit code of its program."""
        return self.state in FAILED_STATES or bool(self.exit_code)

    @property
    def has_exited(self) -> bool:
        """Whether it ended by itself, and its exit code is known."""
        return self.state is JobState.DONE and self.exit_code is not None

    def describe_end(self) -> str:
        """Return how the job ended, as in "it ended with exit code 3"; empty if it has not ended."""
        if self.cause is not None and self.cause is not EndCause.SIGNAL:
            return self.cause.description
        if self.state is JobState.FAILED and self.signal is not None:
            return f"signal {self.signal} killed it"
        if self.has_exited:
            return f"it ended with exit code {self.exit_code}"
        return _END_TEXTS.get(self.state, "")


@final
class MissingPeriod(NamedTuple):
    """Since when a job has been missing, and when it was last queried. Both times are monotonic (s)."""

    since: float
    last_query: float


@final
class JobEvent(NamedTuple):
    """A change of a job's state."""

    timestamp: float
    """When the state changed."""
    status: JobStatus
    """The job's status since then."""
    code: int = 0
    """What a scheduler's log has with an end: the exit code of a DONE job, or the number that says why it FAILED."""

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
    """The state of a node."""

    UP = "UP"
    """It runs jobs, or could."""
    DOWN = "DOWN"
    """It does not accept jobs."""
    ERROR = "ERROR"
    """It has a fault."""
    UNKNOWN = "UNKNOWN"
    """The profile does not define the word of the batch system."""


@final
class QueueState(StrEnum):
    """The state of a queue."""

    OPEN = "OPEN"
    """It accepts and starts jobs."""
    STOPPED = "STOPPED"
    """It does at most one of these."""
    UNKNOWN = "UNKNOWN"
    """The profile does not define the word of the batch system."""


NODE_STATE_TAGS: Final = tuple(s.value for s in NodeState if s is not NodeState.UNKNOWN)
"""Allowed values of the tags of NODE_STATE."""
QUEUE_STATE_TAGS: Final = tuple(s.value for s in QueueState if s is not QueueState.UNKNOWN)
"""Allowed values of the tags of QUEUE_STATE."""
