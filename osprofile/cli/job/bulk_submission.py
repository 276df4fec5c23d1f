"""What `incarnate job submit --from FILE` does: submits a job for each line of a file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, final

from osprofile.cli import common
from osprofile.cli.job import rows, waiter
from osprofile.cli.job.job_file import STANDARD_INPUT, JobFileError, LineError, read_job_file
from osprofile.cli.job.program import runs_scripts_here
from osprofile.cli.job.progress import show_bar
from osprofile.cli.job.session import (
    CommandSession,
    ErrorReporter,
    JobReference,
    print_warnings_once,
    run_cancellable,
)
from osprofile.cli.job.submission import (
    generate_key,
    name_option,
    open_target,
    prepare_description,
    submit_job,
)
from osprofile.errors import IncarnationError, OSProfileError, SubmissionsFailedError, format_message
from osprofile.jobs.array_builder import combine_into_array, format_task
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from osprofile.text import pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.cli.job.job_file import JobLine
    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.target_system import TargetSystem

_MAX_ERRORS: Final = 20
"""Errors of a file that are printed; the others are counted."""
_PREPARATION_SHARE: Final = 0.25
"""Of the check of a job, what is done before the target system checks it."""
_TASK_FIELDS: Final = frozenset(FIELD_BY_ATTRIBUTE[a] for a in ("executable", "arguments", "environment"))
"""The fields that the tasks of an array may have of their own."""


def submit_job_file(
    selection: TargetSelection,
    description: JobDescription,
    path: str,
    *,
    key: str | None,
    wait: bool,
    json: bool,
) -> int:
    """Submit a job for each line of a file, print the ids in the order of the lines, and with `wait` wait for all.

    `description` is what holds for all jobs. The keys of the jobs are `key`, or a random one, and their numbers.
    """
    name = STANDARD_INPUT if path == "-" else path
    try:
        lines = read_job_file(path)
    except JobFileError as error:
        _print_errors(name, error.errors)
        return common.PASS_THROUGH_ERROR if wait else error.exit_code
    prefix = key or generate_key()
    keys = [line.key or f"{prefix}-{number}" for number, line in enumerate(lines, 1)]
    if errors := _check_keys(lines, keys):
        _print_errors(name, errors)
        return common.PASS_THROUGH_ERROR if wait else common.UsageError.exit_code
    is_new = not key and any(line.key is None for line in lines)
    submission = _BulkSubmission(name, lines, keys, prefix, is_silent=json)
    work = _submit_jobs(selection, submission, description, announces=is_new, wait=wait, json=json)
    with print_warnings_once():
        return run_cancellable(work)


def submit_as_array(
    selection: TargetSelection,
    description: JobDescription,
    path: str,
    *,
    at_once: int | None,
    key: str | None,
    wait: bool,
    json: bool,
) -> int:
    """Submit one array with a task for each line of a file, print its id, and with `wait` wait for its end."""
    name = STANDARD_INPUT if path == "-" else path

    def combine(prepare: Callable[[JobDescription], JobDescription]) -> JobDescription | None:
        jobs: list[JobDescription] = []
        errors: list[LineError] = []
        prepared: dict[str | None, JobDescription] = {}  # by their programs; most lines have the same
        for line in lines:
            job = line.apply_to(description)
            try:
                if job.executable not in prepared:
                    prepared[job.executable] = prepare(replace(job, arguments=(), environment={}))
                common = prepared[job.executable]
                arguments = [*common.arguments, *job.arguments]
                jobs.append(replace(common, arguments=arguments, environment=job.environment))
                format_task(jobs[-1])
            except OSProfileError as error:
                if isinstance(error, IncarnationError):
                    _name_column(error, line, description)
                errors.append(LineError(line.number, error.message, error.hint))
        if errors:
            _print_errors(name, errors)
            return None
        return combine_into_array(jobs, at_once=at_once)

    try:
        lines = _read_tasks(path)
    except JobFileError as error:
        _print_errors(name, error.errors)
        return common.PASS_THROUGH_ERROR if wait else error.exit_code
    with print_warnings_once():
        return submit_job(selection, description, key=key, wait=wait, json=json, combine=combine)


def _read_tasks(path: str) -> list[JobLine]:
    """Return the lines of a file whose jobs can be tasks of one array; raise what `read_job_file` raises."""
    lines = read_job_file(path)
    if errors := [error for line in lines if (error := _check_task(line)) is not None]:
        raise JobFileError(errors)
    return lines


def _check_task(line: JobLine) -> LineError | None:
    """Return what a line has that no task can have of its own."""
    others = [column for field, column in line.columns.items() if field not in _TASK_FIELDS]
    others += ["key"] if line.key else []
    others += [
        name for name in line.attributes if name not in FIELD_BY_ATTRIBUTE and name not in line.columns
    ]
    if not others:
        return None
    hint = "arguments, executable and env:NAME can; give the rest by options, or leave --as-array out"
    return LineError(line.number, f"the tasks of an array cannot differ in {quote_name(others[0])}", hint)


def _check_keys(lines: Sequence[JobLine], keys: Sequence[str]) -> list[LineError]:
    """Return the errors of lines that have the key which another one gets by its number."""
    numbers: dict[str, int] = {}
    hint = "give another --key, or a key to each line"
    return [
        LineError(line.number, f"the key {quote_name(key)} is also that of line {other}", hint)
        for line, key in zip(lines, keys, strict=True)
        if (other := numbers.setdefault(key, line.number)) != line.number
    ]


async def _submit_jobs(
    selection: TargetSelection,
    submission: _BulkSubmission,
    description: JobDescription,
    *,
    announces: bool,
    wait: bool,
    json: bool,
) -> int:
    async with CommandSession(selection) as session:
        target = open_target(session, description)
        try:
            jobs = await _check_jobs(session, target, selection, submission, description)
            if jobs is None:
                return common.PASS_THROUGH_ERROR if wait else 1
            if announces:
                common.print_message(f"incarnate: {submission.describe_start()}")
            with show_bar("submitting", len(jobs), prints_ids=not json) as submission.on_progress:
                await target.submit_many(
                    jobs, keys=submission.keys, on_result=submission.take_result, is_checked=True
                )
        except SubmissionsFailedError as error:
            common.print_message(f"incarnate: {submission.describe_failure(error)}")
        except asyncio.CancelledError:
            common.print_message(submission.describe_interruption(session, target))
            raise
        ids = [r if isinstance(r, str) else None for _, r in sorted(submission.results.items())]
        references = [JobReference(job_id, target) for job_id in ids if job_id is not None]
        if wait:
            codes = await waiter.await_jobs(session, references, ErrorReporter(), time_limit=None, json=json)
            return waiter.combine_exit_codes([codes.get(i or "", common.PASS_THROUGH_ERROR) for i in ids])
        if json:
            rows.print_rows(list(map(session.build_submitted_row, references)), json=True)
    return 1 if None in ids else 0


async def _check_jobs(
    session: CommandSession,
    target: TargetSystem,
    selection: TargetSelection,
    submission: _BulkSubmission,
    base: JobDescription,
) -> list[JobDescription] | None:
    """Return the descriptions of all jobs, or print why some would be refused and return None."""
    is_local = runs_scripts_here(target.profile, selection.context)
    jobs: list[JobDescription] = []
    errors: dict[int, OSProfileError] = {}
    with show_bar("checking", len(submission.lines), prints_ids=False) as advance:
        for position, (line, key) in enumerate(zip(submission.lines, submission.keys, strict=True)):
            jobs.append(line.apply_to(base))
            try:
                jobs[-1] = prepare_description(session, target, jobs[-1], key, is_local=is_local)
            except OSProfileError as error:
                errors[position] = error
            advance(_PREPARATION_SHARE)
            await asyncio.sleep(0)  # where an interrupt ends this
        try:
            await target.check_many(
                jobs, keys=submission.keys, on_checked=lambda _position: advance(1 - _PREPARATION_SHARE)
            )
        except SubmissionsFailedError as error:
            errors = {**error.errors, **errors}
    if not errors:
        return jobs
    for position, refusal in errors.items():
        if isinstance(refusal, IncarnationError):
            _name_column(refusal, submission.lines[position], base)
    _print_errors(
        submission.name,
        [LineError(submission.lines[i].number, e.message, e.hint) for i, e in sorted(errors.items())],
    )
    return None


def _name_column(error: IncarnationError, line: JobLine, base: JobDescription) -> None:
    """Begin the message of an error about a field with the column, else the option, that gave the value."""
    column = line.columns.get(error.field or "")
    if column is None:
        name_option(error, base)
    elif column != error.field:
        error.message = f"{quote_name(column)}: {error.message}"


def _print_errors(name: str, errors: Sequence[LineError]) -> None:
    """Print errors of lines, with their places; a hint that was just printed is not repeated."""
    last_hint = ""
    for line, message, hint in errors[:_MAX_ERRORS]:
        common.print_message(
            format_message(f"{name}:{line}: {message}", hint="" if hint == last_hint else hint)
        )
        last_hint = hint
    shown = f", the first {_MAX_ERRORS} of them above" if len(errors) > _MAX_ERRORS else ""
    common.print_message(f"incarnate: {pluralize(len(errors), 'error')}{shown}: nothing was submitted")


@final
@dataclass(slots=True)
class _BulkSubmission:
    """The jobs of one file, and what has become of them: an id or an error by position."""

    name: str
    lines: Sequence[JobLine]
    keys: Sequence[str]
    prefix: str
    is_silent: bool
    on_progress: Callable[[float], object] | None = None
    results: dict[int, str | OSProfileError] = field(default_factory=dict)
    _printed: int = 0
    _error_count: int = 0

    def take_result(self, position: int, result: str | OSProfileError) -> None:
        """Print an error, and the ids that are known of all lines up to one."""
        self.results[position] = result
        if isinstance(result, OSProfileError):
            self._error_count += 1
            if self._error_count <= _MAX_ERRORS:
                text = " ".join(f"{result.message}".split())
                common.print_message(format_message(f"{self.name}:{self.lines[position].number}: {text}"))
        while (next_result := self.results.get(self._printed)) is not None:
            if isinstance(next_result, str) and not self.is_silent:
                common.print_result(next_result)
            self._printed += 1
        if self.on_progress is not None:
            self.on_progress(1)

    def describe_start(self) -> str:
        """Return what is told before the first submission."""
        again = f"the same command with --key {self.prefix} goes on where it stopped"
        return f"{pluralize(len(self.lines), 'job')}; if this is interrupted, {again}"

    def describe_failure(self, error: SubmissionsFailedError) -> str:
        """Return what is told if submissions have failed."""
        shown = f", the first {_MAX_ERRORS} errors above" if self._error_count > _MAX_ERRORS else ""
        hint = f"{self._format_repetition()} tries only these again, and submits no job twice"
        return format_message(f"{error.summary}{shown}", hint=hint)

    def describe_interruption(self, session: CommandSession, target: TargetSystem) -> str:
        """Return what is told after an interrupt: what is submitted, as far as is known, and how to go on."""
        records = [session.store.find_by_key(target.name, key) for key in self.keys]
        submitted = sum(record is not None and record.is_submitted for record in records)
        begun = sum(record is not None for record in records) - submitted
        message = f"incarnate: interrupted: {submitted} of {pluralize(len(self.lines), 'job')} are submitted"
        if begun:
            message = f"{message}, and {begun} may be"
        hint = f"{self._format_repetition()} goes on where it stopped, and submits no job twice"
        return format_message(message, hint=hint if submitted + begun else "")

    def _format_repetition(self) -> str:
        import shlex

        return f"the same command with --key {shlex.quote(self.prefix)}"
