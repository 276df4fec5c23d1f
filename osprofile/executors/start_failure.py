"""How the end of a job whose program was not run is told: one rule for all clients that see a state."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.jobs.state import JobStatus

_EXIT_CODE_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        125: "its files, or its directory, cannot be used",
        126: "the executable cannot be executed",
        127: "the executable was not found",
    }
)
"""By the exit status of the job's script, as shells and `env` have it."""


def describe_start_failure(status: JobStatus) -> str:
    """Return why an ended job's program was not run; empty where it was, as far as one can know.

    Such a job has failed. A program that itself ends with one of these codes looks the same.
    """
    reason = _EXIT_CODE_REASONS.get(status.exit_code or 0)
    if status.state is not JobState.DONE or reason is None:
        return ""
    return f"exit code {status.exit_code}: {reason}"
