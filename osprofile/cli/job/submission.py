"""What `incarnate job submit` does."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job import rows, waiter
from osprofile.cli.job.program import localize_description, require_program, runs_scripts_here
from osprofile.cli.job.session import (
    CommandSession,
    ErrorReporter,
    JobReference,
    print_warning,
    run_cancellable,
)
from osprofile.errors import (
    IncarnationError,
    OSProfileError,
    OutcomeUnknownError,
    ProfileNotFoundError,
    ScriptFailedError,
    SubmissionElsewhereError,
    UnknownFieldError,
    format_message,
)
from osprofile.jobs.fields import FIELDS
from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.target_system import TargetSystem

_CANNOT_CREATE: Final = 73
"""START's exit status if it cannot create a file or a directory; EX_CANTCREAT of sysexits.h."""


def submit_job(
    selection: TargetSelection,
    description: JobDescription,
    *,
    key: str | None,
    wait: bool,
    json: bool,
    take_over: bool = False,
    combine: Callable[[Callable[[JobDescription], JobDescription]], JobDescription | None] | None = None,
) -> int:
    """Submit a job, print its id, and with `wait` wait for its end.

    Each submission gets a key, so that it can be completed if it is interrupted. `combine(prepare)` returns the job
    that is submitted in place of `description`, made of others that are prepared by `prepare`; None: it has told
    why there is none.
    """
    key = key or generate_key()
    return run_cancellable(
        _submit_job(selection, description, key, combine, wait=wait, json=json, take_over=take_over)
    )


def generate_key() -> str:
    """Return a new key, for a submission to which the user gives none."""
    return f"auto-{os.urandom(6).hex()}"


async def _submit_job(
    selection: TargetSelection,
    description: JobDescription,
    key: str,
    combine: Callable[[Callable[[JobDescription], JobDescription]], JobDescription | None] | None,
    *,
    wait: bool,
    json: bool,
    take_over: bool,
) -> int:
    async with CommandSession(selection) as session:
        target = open_target(session, description)
        is_local = runs_scripts_here(target.profile, selection.context)

        def prepare(job: JobDescription) -> JobDescription:
            return prepare_description(session, target, job, key, is_local=is_local)

        try:
            local = prepare(description) if combine is None else combine(prepare)
            if local is None:
                return common.PASS_THROUGH_ERROR if wait else 1
            job = JobReference(await target.submit(local, key=key, take_over=take_over), target)
        except OSProfileError as error:
            _explain_failure(session, error, description, key, is_local=is_local)
            raise
        except asyncio.CancelledError:
            common.print_message(_describe_interruption(session, target, key))
            raise
        if not (wait and json):
            _print_submitted_job(session, job, json=json)
        if wait:
            codes = await waiter.await_jobs(session, [job], ErrorReporter(), time_limit=None, json=json)
            return codes[job.job_id]
    return 0


def _print_submitted_job(session: CommandSession, job: JobReference, *, json: bool) -> None:
    job_id = job.job_id
    try:
        if json:
            rows.print_rows([session.build_submitted_row(job)], json=True)
        else:
            common.print_result(job_id)
    except OSError as error:
        common.discard_output()
        message = f"job {job_id} was submitted, but its id cannot be printed: {error.strerror}"
        raise OSProfileError(message, hint="do not submit it again: incarnate job list has it") from None


def open_target(session: CommandSession, description: JobDescription) -> TargetSystem:
    """Return the selected target system; warn of words that mean something else elsewhere."""
    if description.name and description.name.isdigit():
        hint = "-N is the job's name; for nodes use --nodes"
        print_warning(f"the job's name is {description.name}", hint=hint)
    try:
        return session.open_selected_target()
    except ProfileNotFoundError as error:
        if not error.hint.startswith("did you mean"):
            error.hint += "; for a partition or queue use --queue"
        raise


def prepare_description(
    session: CommandSession, target: TargetSystem, description: JobDescription, key: str, *, is_local: bool
) -> JobDescription:
    """Return the description of a job that has a program; `is_local`: the scripts run on this machine.

    Raises `UsageError` without a program, and what `localize_description` raises.
    """
    if session.store.find_by_key(target.name, key) is None:  # the program of a recorded submission is known
        require_program(target.profile, description)
    return localize_description(target.profile, description) if is_local else description


def name_option(error: IncarnationError, description: JobDescription) -> None:
    """Begin the message of an error about a field with the option that gave the field its value."""
    given = (f for a, f in FIELDS.items() if (v := getattr(description, a)) or type(v) is int)  # 0, too
    field = next((f for f in given if f.option and f.name == error.field), None)
    if field is not None:
        is_unknown = isinstance(error, UnknownFieldError)
        error.message = f"{field.flags[0]}{' is not supported' if is_unknown else ''}: {error.message}"
        if is_unknown:
            error.location = None  # that of a declaration, which says nothing about the option
    elif error.field == "DIRECTORY" and error.field not in description.fields:
        error.message = f"the job cannot run in the current directory: {error.message}"
        error.hint = "change to another one, or give one by --directory"


def _explain_failure(
    session: CommandSession, error: OSProfileError, description: JobDescription, key: str, *, is_local: bool
) -> None:
    """Add to an error what the command line knows: the option, the key, the home directory."""
    if isinstance(error, IncarnationError):
        name_option(error, description)
    elif isinstance(error, OutcomeUnknownError) and not isinstance(error, SubmissionElsewhereError):
        error.hint = _format_remedy(session, key)
    elif isinstance(error, ScriptFailedError) and is_local:
        _explain_home(error)


def _explain_home(error: ScriptFailedError) -> None:
    """Explain the error if START could not keep its link to the job, since nobody can write to HOME."""
    home = os.path.expanduser("~")
    if error.exit_status == _CANNOT_CREATE and not os.access(home, os.W_OK | os.X_OK):
        detail = error.output.splitlines()[-1] if error.output else "no output"
        name = escape_unprintable(home)
        error.message = (
            f"no link to the job can be created in .gpe/jobs of the home directory {name}: {detail}"
        )
        error.hint = "set HOME to a directory that you can write to"


def _describe_interruption(session: CommandSession, target: TargetSystem, key: str) -> str:
    """Return the message for an interrupted submission: whether there is a job, as far as is known."""
    record = session.store.find_by_key(target.name, key)
    if record is None:
        return "incarnate: interrupted: nothing was submitted"
    if record.is_submitted:
        return format_message(f"incarnate: interrupted: the job was submitted: {record.status.job_id}")
    message = "interrupted during the submission: the batch system may or may not have the job"
    return format_message(f"incarnate: {message}", hint=_format_remedy(session, key))


def _format_remedy(session: CommandSession, key: str) -> str:
    listing = shlex.join(["incarnate", "job", "list", *session.location_options])
    retry = f"the same command with --key {shlex.quote(key)} completes the submission, without a second job"
    return f"{listing} finds out; {retry}"
