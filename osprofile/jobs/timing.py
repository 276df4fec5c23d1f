"""The times that a site may set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times in seconds that a site may set."""

    min_poll_interval: float | None = None
    """The minimum between two polls; None: POLL_INTERVAL of the profile's GET_JOB_STATUS, else 1."""
    max_poll_interval: float | None = None
    """The maximum between two polls; None: MAX_POLL_INTERVAL of the profile's GET_JOB_STATUS, else 60."""
    max_retry_interval: float = 300.0
    """The maximum while polls fail."""
    grace_period: float = 60.0
    """After it, a job that nobody knows is LOST."""
    log_poll_interval: float = 300.0
    """The minimum while a log reports the jobs."""
    busy_timeout: float = 120.0
    """How long a submission with a key waits while another process submits that job; `script_timeout` if that is less."""
    queue_timeout: float | None = None
    """How long a submission waits while SUBMIT_RATE, MAX_QUEUED or the batch system allows no more jobs; None: always."""
    script_timeout: float = 120.0
    """The limit of a script whose template has no TIME_LIMIT."""
