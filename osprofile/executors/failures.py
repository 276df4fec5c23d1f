"""How failures are described to the clients of all protocols."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.errors import OSProfileError
    from osprofile.jobs.state import JobStatus

_EXIT_CODE_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        125: "its files, or its directory, cannot be used",
        126: "the executable cannot be executed",
        127: "the executable was not found",
    }
)
"""By the exit status of the job's script, with the meaning that shells and `env` give it."""


def describe_start_failure(status: JobStatus) -> str:
    """Return why an ended job's program was not run; empty if it was run, as far as can be known.

    Such a job has failed. A program that itself exits with one of these codes looks the same.
    """
    reason = _EXIT_CODE_REASONS.get(status.exit_code or 0)
    if status.state is not JobState.DONE or reason is None:
        return ""
    return f"exit code {status.exit_code}: {reason}"


def format_error(error: OSProfileError) -> str:
    """Return an error's message and hint, without the location in the profile."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


def format_internal_error(error: Exception) -> str:
    """Return what a client is told of an exception that should not occur."""
    return f"internal error: {type(error).__name__}: {error}"
