"""The run time of a job, by which the plugins know whether its wall time is what ended it."""

from typing import Final

import osprofile

__all__ = ["WALLTIME_TOLERANCE", "get_run_time"]

WALLTIME_TOLERANCE: Final = 2.0
"""Seconds by which a batch system may measure a run time too short."""


def get_run_time(status: osprofile.JobStatus) -> float | None:
    """Return the seconds that a job ran, None if they are not known."""
    if status.elapsed is None and status.started is not None and status.ended is not None:
        return status.ended - status.started
    return status.elapsed
