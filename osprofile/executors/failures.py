"""Descriptions of failures for the clients of all protocols."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from osprofile.executors.errors import AttributeRefusedError
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.errors import OSProfileError
    from osprofile.jobs.state import JobStatus

_EXIT_CODE_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        126: "the executable cannot be executed",
        127: "the executable was not found",
    }
)
"""What these exit codes of the job's script mean; shells and `env` use them alike."""
RUN_IN_DIRECTORY: Final = (
    'cd -- "$1" || { gpe_job=$GPE_WORKING_DIRECTORY/.gpe/job.sh; [ ! -r "$gpe_job" ] || '
    '{ . "$gpe_job"; gpe_fail "directory $1 cannot be entered"; }; exit 125; }; shift; exec "$@"'
)
"""Shell text that runs a program in a directory which may be relative, with both as arguments."""


def describe_start_failure(status: JobStatus) -> str:
    """Return why the program of an ended job was not run; empty if it was run.

    A client is told that such a job failed. A program that itself exits with one of these codes
    cannot be told apart.
    """
    reason = _EXIT_CODE_REASONS.get(status.exit_code or 0)
    if status.state is not JobState.DONE or reason is None:
        return ""
    return f"exit code {status.exit_code}: {reason}"


def make_refusal(attribute: str, reason: str, hint: str = "") -> AttributeRefusedError:
    """Return the error that an attribute is refused for `reason`."""
    return AttributeRefusedError(f"attribute {attribute}: {reason}", attribute=attribute, hint=hint)


def format_error(error: OSProfileError) -> str:
    """Return an error's message and hint, without the location in the profile."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


def format_internal_error(error: Exception) -> str:
    """Return the message for a client about an exception that should not occur."""
    return f"internal error: {type(error).__name__}: {error}"
