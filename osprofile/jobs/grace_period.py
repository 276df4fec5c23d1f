"""Decide the end of a missing job: the batch system does not know it, and it left no exit status.

It may turn up again: the batch system may be slow, or may have restarted. So it is LOST only when it
has been missing for the grace period, and it is never DONE. A job that was removed is REMOVED at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

from osprofile.jobs.state import EndCause, JobState, JobStatus

UNKNOWN_JOB_REASON: Final = "the batch system does not know it, and it left no record of its end"
REUSED_ID_REASON: Final = "the batch system gave its id to another job"


@final
class MissingPeriod(NamedTuple):
    """Since when a job has been missing, and when it was last queried. Both times are monotonic (s)."""

    since: float
    last_query: float


@final
@dataclass(slots=True)
class GraceTracker:
    """Follows one job that may be missing.

    `aborted_at` is when the batch system accepted its removal, None if it did not. `missing` is None
    as long as the job is known.
    """

    aborted_at: float | None = None
    missing: MissingPeriod | None = None

    def resolve_missing_job(
        self, job_id: str, status: JobStatus | None, *, now: float, grace_period: float
    ) -> JobStatus | None:
        """Note that nobody knows the job now, and return its end, or None while it may turn up.

        `status` is what the batch system reported, if anything; `now` is monotonic (s).
        """
        since, last_query = self.missing or (now, now)
        # At most half a grace period counts between two queries: the job may have been known in between.
        since = min(now, since + max(0.0, now - last_query - grace_period / 2))
        self.missing = MissingPeriod(since, now)
        lost = status or JobStatus(job_id, JobState.LOST, reason=UNKNOWN_JOB_REASON)
        lost = lost._replace(state=JobState.LOST)
        if self.aborted_at is not None:
            return apply_removal(lost)
        return lost if now - since >= grace_period else None


def apply_removal(status: JobStatus) -> JobStatus:
    """Return the status of a job whose removal was accepted.

    LOST becomes REMOVED, and so does FAILED, unless a limit of the system ended the job.
    """
    if status.state is JobState.FAILED and not status.limit_exceeded:
        return status._replace(state=JobState.REMOVED, signal=None, cause=EndCause.USER)
    if status.state is JobState.LOST:
        return status._replace(state=JobState.REMOVED, reason="", cause=EndCause.USER)
    return status
