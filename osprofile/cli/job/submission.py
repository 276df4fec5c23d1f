"""What `incarnate job submit` does."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, final

from osprofile.cli import common
from osprofile.cli.job import rows
from osprofile.cli.job.program import (
    find_local_program,
    find_script,
    is_script,
    localize_description,
    name_after_script,
    require_program,
    runs_scripts_here,
)
from osprofile.cli.job.session import CommandSession, ErrorReporter, brief, print_warning
from osprofile.errors import (
    IncarnationError,
    MissingValueError,
    OSProfileError,
    OutcomeUnknownError,
    ProfileNotFoundError,
    ScriptFailedError,
    SubmissionElsewhereError,
    UnknownFieldError,
    format_message,
)
from osprofile.jobs.client import JobReference
from osprofile.jobs.fields import FIELDS
from osprofile.jobs.profiles import list_settable_fields, read_confirmation_limits
from osprofile.jobs.record.names import generate_key
from osprofile.jobs.shell.loop import need_loop
from osprofile.late import NamedTuple
from osprofile.text import escape_unprintable, format_amount, quote_value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.job_scripts.command_line import OptionValue
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.target_system import TargetSystem

Combine: TypeAlias = (
    "Callable[[Callable[[JobDescription], Awaitable[JobDescription]]], Awaitable[JobDescription | None]]"
)
"""A function that is called with one that prepares a job, and returns the job to submit."""
_REQUESTED: Final = {field.name: field for field in FIELDS.values() if field.option and field.name}
"""The fields of a profile that have an option."""
_CANNOT_CREATE: Final = 73
"""START's exit status if it cannot create a file or a directory; EX_CANTCREAT of sysexits.h."""


@final
class SubmitMode(NamedTuple):
    """What becomes of a job: with `dry_run`, it is only printed; with `test_only`, the batch system is only asked.

    `is_confirmed`: nobody is asked about large amounts. `ignores_directives`: those of its script are not read.
    """

    ignores_directives: bool = False
    dry_run: bool = False
    test_only: bool = False
    is_confirmed: bool = False


@brief
async def submit_job(
    selection: TargetSelection,
    description: JobDescription,
    *,
    key: str | None,
    wait: bool,
    json: bool,
    take_over: bool = False,
    mode: SubmitMode,
    combine: Combine | None = None,
    file: str | None = None,
) -> int:
    """Submit a job, print its id, and with `wait` wait for its end.

    Each submission gets a key, so that it can be completed if it is interrupted. `combine(prepare)` returns the job
    that is submitted in place of `description`, made of others that are prepared by `prepare`; None: it has told
    why there is none. `file` is the one from which these come.
    """
    key = key or generate_key()
    async with CommandSession(selection) as session:
        target = open_target(session, description)
        is_local = runs_scripts_here(target.profile, selection.context)

        async def prepare(job: JobDescription) -> JobDescription:
            return await prepare_description(session, target, job, key, mode, is_local=is_local)

        try:
            local = await (prepare(description) if combine is None else combine(prepare))
            if local is None:
                return common.PASS_THROUGH_ERROR if wait else 1
            if target.find_by_key(key) is None:
                await _announce_job(target, local, mode)
            if mode.dry_run or mode.test_only:
                await _show_job(session, target, local, mode, json=json)
                return 0
            if file is not None:
                session.store.set_job_file(file, target.name, [key])
            announce_inputs(target, [(local, key)])
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
            from osprofile.cli.job import waiter

            await need_loop()
            codes = await waiter.await_jobs(session, [job], ErrorReporter(), time_limit=None, json=json)
            return codes[job.job_id]
    return 0


async def _announce_job(target: TargetSystem, description: JobDescription, mode: SubmitMode) -> None:
    """Print what a new job gets for each `auto`, as the queue; refuse it before its files are copied."""
    for name, value in (await target.find_choices(description)).items():
        common.print_message(f"incarnate: {name.lower()} {value}: the first that the job fits")
    if description.inputs and not (mode.dry_run or mode.test_only):
        await target.preview(description)  # what is refused is not copied
    if not (mode.dry_run or mode.test_only):
        await confirm_amounts(target, [description], mode)


async def confirm_amounts(target: TargetSystem, jobs: Iterable[JobDescription], mode: SubmitMode) -> None:
    """Ask whoever sits at the terminal before jobs that exceed limits of SITE_CONFIRM are submitted.

    Raises `OSProfileError` if the answer is not yes, or nobody can be asked.
    """
    limits = {} if mode.is_confirmed else read_confirmation_limits(target.profile)
    found: dict[str, None] = {}
    attempts = [attempt for job in jobs for attempt in await target.list_last_attempts(job)] if limits else []
    for job in attempts:
        start = await target.preview(replace(job, after_ok=(), after_not_ok=(), after_any=()))
        for name, limit in limits.items():
            value = start.get_value(name)
            if value.isascii() and value.isdecimal() and int(value) > limit:
                found[
                    f"{format_amount(name, value)} of {name} (more than {format_amount(name, str(limit))})"
                ] = None
    if not found:
        return
    asked = f"the site wants to be sure before a job gets {', '.join(found)}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OSProfileError(f"nothing was submitted: {asked}", hint="if that is meant, give --yes")
    sys.stderr.write(f"incarnate: {asked}. Submit? [y/N] ")
    sys.stderr.flush()
    await need_loop()
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)  # so that Ctrl-C ends the waiting
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise OSProfileError("nothing was submitted")


async def _show_job(
    session: CommandSession,
    target: TargetSystem,
    description: JobDescription,
    mode: SubmitMode,
    *,
    json: bool,
) -> None:
    """Print what would be submitted, or what the batch system says about it."""
    if mode.dry_run:
        from osprofile.cli.job import preview

        await preview.print_preview(session, target, description, json=json)
    if mode.test_only:
        common.print_result(await target.test(description))


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
    index, _, limit = (description.array or "").partition("%")
    if index.isdecimal() and int(index) > 1:
        hint = f"for {index} tasks: --array 1-{index}{'%' if limit else ''}{limit}"
        print_warning(f"--array {index} is one task, with the index {index}", hint=hint)
    try:
        return session.open_selected_target()
    except ProfileNotFoundError as error:
        if not error.hint.startswith("did you mean"):
            error.hint += "; for a partition or queue use --queue"
        raise


def announce_inputs(target: TargetSystem, jobs: Iterable[tuple[JobDescription, str]]) -> None:
    """Print which inputs will be copied for jobs, given with their keys."""
    waiting = []
    for job, key in jobs:
        record = target.find_by_key(key) if job.inputs else None
        if job.inputs and (record is None or not record.is_submitted):
            waiting.append(job.inputs)
    if waiting:
        from osprofile.cli.job.files import announce_copies

        announce_copies([path for inputs in waiting for path in inputs], target, len(waiting))


async def prepare_description(
    session: CommandSession,
    target: TargetSystem,
    description: JobDescription,
    key: str,
    mode: SubmitMode,
    *,
    is_local: bool,
) -> JobDescription:
    """Return the description of a job that has a program; `is_local`: the scripts run on this machine.

    The directives of its script are read, too, unless it is on another machine. Raises `UsageError` without a program,
    and what `locate_files`, `apply_directives` and `localize_description` raise.
    """
    record = target.find_by_key(key)
    if record is None:  # the program of a recorded submission is known
        require_program(target.profile, description)
    if description.inputs or description.fetch:
        from osprofile.cli.job.files import locate_files

        description = locate_files(description)
    if not is_local:
        return await _copy_program(session, target, description, mode, record)
    if not mode.ignores_directives and find_script(description) is not None:
        description, _ = _apply_directives(session, target, description)
    return localize_description(target.profile, description)


async def _copy_program(
    session: CommandSession,
    target: TargetSystem,
    description: JobDescription,
    mode: SubmitMode,
    record: JobRecord | None,
) -> JobDescription:
    """Return the description of a job on another machine; a program that only this one has becomes an input of it.

    For a job that is recorded, the target is not asked again.
    """
    from osprofile.cli.job import files

    path = find_local_program(description)
    if path is None:
        return await _read_target_script(session, target, description, mode, record)
    if record is not None:
        has_program = path not in session.store.read_details(record.number).files.inputs.values()
    else:
        has_program = await files.has_program(session, target, description)
    if has_program:
        return await _read_target_script(session, target, description, mode, record)
    interpreter = ""
    if not mode.ignores_directives and is_script(path, path):
        description, interpreter = _apply_directives(session, target, description, path)
    description = name_after_script(list_settable_fields(target.profile), description, path)
    return files.copy_program(description, path, interpreter)


async def _read_target_script(
    session: CommandSession,
    target: TargetSystem,
    description: JobDescription,
    mode: SubmitMode,
    record: JobRecord | None,
) -> JobDescription:
    """Return the description of a job whose program is on another machine: the directives of a script are read there.

    A job that is recorded is known, whether the target answers or not.
    """
    from osprofile.cli.job import files
    from osprofile.cli.job.script_directives import MAX_HEADER

    try:
        script = await files.read_target_script(session, target, description, MAX_HEADER)
    except OSProfileError:
        if record is None:
            raise
        return description
    if script is None:
        return description
    name, interpreter = os.path.basename(script.path), ""
    if not mode.ignores_directives:
        text, directory = script.content.decode("utf-8", "surrogateescape"), description.directory
        description, interpreter = _apply_directives(session, target, description, script.path, text)
        if description.directory != directory:  # the path may be relative to that one
            description = replace(description, executable=script.path)
    from osprofile.job_scripts.command_line import make_script

    words = [interpreter] if interpreter else []
    if not words and not script.is_executable:
        words = [*make_script(script.content, name).interpreter]
    if not words:
        return description
    description = name_after_script(list_settable_fields(target.profile), description, script.path)
    arguments = [*words[1:], description.executable or "", *description.arguments]
    return replace(description, executable=words[0], arguments=arguments)


def _apply_directives(
    session: CommandSession, target: TargetSystem, description: JobDescription, *script: str
) -> tuple[JobDescription, str]:
    """Return a job with what the directives of its script ask for, and the interpreter that they name."""
    from osprofile.cli.job.script_directives import apply_directives  # late: most programs are no scripts

    user = target.user_name
    description, session.directives, interpreter = apply_directives(
        target.profile, description, user, *script
    )
    return description, interpreter


def name_option(
    error: IncarnationError, description: JobDescription, directives: Mapping[str, OptionValue]
) -> None:
    """Begin the message of an error about a field with the option, or the directive, that gave the field its value."""
    refused = {refusal.field for refusal in getattr(error, "refusals", ())} - {error.field}
    asked = [f"{o} {o.text}".rstrip() for name, o in directives.items() if name in refused]
    if asked:  # the request fits no queue
        error.hint += f": the script has {escape_unprintable(', '.join(asked))}"
    given = (f for a, f in FIELDS.items() if (v := getattr(description, a)) or type(v) is int)  # 0, too
    field = next((f for f in given if f is _REQUESTED.get(error.field)), None)
    if isinstance(error, MissingValueError) and error.field in _REQUESTED:
        wanted = _REQUESTED[error.field]
        error.message = f"{wanted.flags[0]} is missing: this profile has no default for it"
        error.location = None
        if error.description is not None:
            about = f" ({error.description})" if error.description else f": {wanted.help}"
            error.hint = f"give {wanted.flags[0]} {wanted.metavar}{about}"
    elif field is not None:
        is_unknown = isinstance(error, UnknownFieldError)
        error.message = f"{field.flags[0]}{' is not supported' if is_unknown else ''}: {error.message}"
        if is_unknown:
            error.location = None  # that of a declaration, which says nothing about the option
    elif error.field in directives:
        option = directives[error.field]
        value = f" {quote_value(option.text)}" if option.text else ""
        error.message = f"{option}{value}: {error.message}"
    elif error.field == "DIRECTORY" and error.field not in description.fields:
        error.message = f"the job cannot run in the current directory: {error.message}"
        error.hint = "change to another one, or give one by --directory"


def _explain_failure(
    session: CommandSession, error: OSProfileError, description: JobDescription, key: str, *, is_local: bool
) -> None:
    """Add to an error what the command line knows: the option, the key, the home directory."""
    if isinstance(error, IncarnationError):
        name_option(error, description, session.directives)
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
    record = target.find_by_key(key)
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
