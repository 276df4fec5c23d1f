"""What `incarnate job submit --from FILE` does: submits a job for each line of a file."""

from __future__ import annotations

import asyncio
import os
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, final

from osprofile.cli import common
from osprofile.cli.job import rows, waiter
from osprofile.cli.job.job_file import STANDARD_INPUT, JobFileError, LineError, read_job_file
from osprofile.cli.job.placeholders import list_placeholders
from osprofile.cli.job.program import runs_scripts_here
from osprofile.cli.job.progress import show_bar
from osprofile.cli.job.session import CommandSession, ErrorReporter, print_warnings_once, run_cancellable
from osprofile.cli.job.submission import (
    SubmitMode,
    announce_inputs,
    confirm_amounts,
    name_option,
    open_target,
    prepare_description,
    submit_job,
)
from osprofile.errors import IncarnationError, OSProfileError, SubmissionsFailedError, format_message
from osprofile.jobs.arrays import combine_into_array, format_indices, format_task
from osprofile.jobs.client import JobReference
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from osprofile.jobs.record.names import generate_key
from osprofile.text import pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from osprofile.cli.job.job_file import JobLine
    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.target_system import TargetSystem

_MAX_ERRORS: Final = 20
"""Errors of a file that are printed; the others are counted."""
_MAX_LISTED_LINES: Final = 60
"""Characters of the numbers of lines that have the same error."""
_NUMBER: Final = re.compile(r"[0-9a-f-]*[0-9][0-9a-f-]*")
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
    mode: SubmitMode,
) -> int:
    """Submit a job for each line of a file, print the ids in the order of the lines, and with `wait` wait for all.

    `description` is what holds for all jobs. The keys of the jobs are `key`, or a random one, and their numbers.
    """
    name = STANDARD_INPUT if path == "-" else path
    try:
        lines = read_job_file(path, list_placeholders(description.arguments))
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
    submission.mode = mode
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
    mode: SubmitMode,
) -> int:
    """Submit one array with a task for each line of a file, print its id, and with `wait` wait for its end."""
    name = STANDARD_INPUT if path == "-" else path

    async def combine(
        prepare: Callable[[JobDescription], Awaitable[JobDescription]],
    ) -> JobDescription | None:
        jobs: list[JobDescription] = []
        errors: list[LineError] = []
        prepared: dict[str | None, JobDescription] = {}  # by their programs; most lines have the same
        for line in lines:
            job = line.apply_to(description)
            try:
                if job.executable not in prepared:
                    prepared[job.executable] = await prepare(replace(job, arguments=(), environment={}))
                shared = prepared[job.executable]
                _refuse_array(shared, line)
                arguments = [*shared.arguments, *job.arguments]
                environment = {**shared.environment, **job.environment}
                jobs.append(replace(shared, arguments=arguments, environment=environment))
                format_task(jobs[-1])
            except OSProfileError as error:
                if isinstance(error, IncarnationError):
                    _name_column(error, line, description)
                errors.append(LineError(line.number, error.message, error.hint))
        if errors:
            _print_errors(name, errors)
            return None
        inputs = list(dict.fromkeys(path for job in prepared.values() for path in job.inputs))
        if len({job.name for job in jobs}) > 1:  # those of several scripts
            jobs = [replace(job, name=description.name) for job in jobs]
        return combine_into_array([replace(job, inputs=inputs) for job in jobs], at_once=at_once)

    try:
        lines = _read_tasks(path, list_placeholders(description.arguments))
    except JobFileError as error:
        _print_errors(name, error.errors)
        return common.PASS_THROUGH_ERROR if wait else error.exit_code
    with print_warnings_once():
        file = None if path == "-" else path
        return submit_job(
            selection, description, key=key, wait=wait, json=json, mode=mode, combine=combine, file=file
        )


def _refuse_array(prepared: JobDescription, line: JobLine) -> None:
    """Raise `UsageError` if the directives of a line's script ask for an array."""
    if prepared.array is not None and "ARRAY" not in line.columns:
        message = f"the script asks for an array ({prepared.array}), and --from has its own jobs"
        hint = "remove that directive, or give --ignore-directives"
        raise common.UsageError(message, hint=hint)


def _read_tasks(path: str, placeholders: Mapping[str, str]) -> list[JobLine]:
    """Return the lines of a file whose jobs can be tasks of one array; raise what `read_job_file` raises."""
    lines = read_job_file(path, placeholders)
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
            new = [j for j, k in zip(jobs, submission.keys, strict=True) if target.find_by_key(k) is None]
            await confirm_amounts(target, new, submission.mode)
            if submission.name != STANDARD_INPUT:
                session.store.set_job_file(submission.name, target.name, submission.keys)
            announce_inputs(target, zip(jobs, submission.keys, strict=True))
            if announces:
                common.print_message(f"incarnate: {submission.describe_start()}")
            with show_bar("submitting", len(jobs), prints_ids=not json) as submission.on_progress:
                await target.submit_many(
                    jobs, keys=submission.keys, on_result=submission.take_result, is_checked=True
                )
        except SubmissionsFailedError as error:
            common.print_message(f"incarnate: {submission.describe_failure(error)}")
        except asyncio.CancelledError:
            common.print_message(submission.describe_interruption(target))
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
                jobs[-1] = await prepare_description(
                    session, target, jobs[-1], key, submission.mode, is_local=is_local
                )
                if jobs[-1].fetch and "fetch_to" not in line.attributes:
                    jobs[-1] = replace(jobs[-1], fetch_to=_name_directory(jobs[-1].fetch_to, key))
                _refuse_array(jobs[-1], line)
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


def _name_directory(parent: str | None, key: str) -> str:
    """Return the directory into which the files of a job are fetched: that of its key."""
    return os.path.join(parent or "", key.replace("/", "_").replace(".", "_", key.startswith(".")))


def _name_column(error: IncarnationError, line: JobLine, base: JobDescription) -> None:
    """Begin the message of an error about a field with the column, else the option, that gave the value."""
    column = line.columns.get(error.field or "")
    if column is None:
        name_option(error, base, {})
    elif column != error.field:
        error.message = f"{quote_name(column)}: {error.message}"


def _print_errors(name: str, errors: Sequence[LineError]) -> None:
    """Print errors of lines, with their places; one that several lines have is printed once, as is a hint."""
    groups: dict[str, list[LineError]] = {}
    for error in errors:
        groups.setdefault(_find_kind(error.message), []).append(error)
    last_hint = ""
    for group in list(groups.values())[:_MAX_ERRORS]:
        line, message, hint = group[0]
        others = f" (also in {_format_lines([error.line for error in group[1:]])})" if group[1:] else ""
        shown_hint = "" if hint == last_hint else hint
        common.print_message(format_message(f"{name}:{line}: {message}{others}", hint=shown_hint))
        last_hint = hint
    shown = f", the first {_MAX_ERRORS} kinds of them above" if len(groups) > _MAX_ERRORS else ""
    common.print_message(f"incarnate: {pluralize(len(errors), 'error')}{shown}: nothing was submitted")


def _find_kind(message: str) -> str:
    """Return what the messages of the same error have in common: all but the numbers in them, as of directories."""
    return _NUMBER.sub("0", " ".join(message.split()))


def _format_lines(numbers: Sequence[int]) -> str:
    """Return how a message names lines: `line 7`, or `29 lines: 3-31`."""
    listed = format_indices(numbers)
    if len(listed) > _MAX_LISTED_LINES:
        listed = f"{listed[:_MAX_LISTED_LINES].rpartition(',')[0]}, ..."
    return f"line {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} lines: {listed}"


@final
@dataclass(slots=True)
class _BulkSubmission:
    """The jobs of one file, and what has become of them: an id or an error by position."""

    name: str
    lines: Sequence[JobLine]
    keys: Sequence[str]
    prefix: str
    is_silent: bool
    mode: SubmitMode = field(default_factory=SubmitMode)
    on_progress: Callable[[float], object] | None = None
    results: dict[int, str | OSProfileError] = field(default_factory=dict)
    _printed: int = 0
    _lines_by_error: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By the kind of an error, the lines that have it."""

    def take_result(self, position: int, result: str | OSProfileError) -> None:
        """Print an error, and the ids that are known of all lines up to one."""
        self.results[position] = result
        if isinstance(result, OSProfileError):
            number, text = self.lines[position].number, " ".join(result.message.split())
            same = self._lines_by_error[_find_kind(text)]
            same.append(number)
            if len(same) == 1 and len(self._lines_by_error) <= _MAX_ERRORS:
                common.print_message(format_message(f"{self.name}:{number}: {text}"))
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
        groups = list(self._lines_by_error.values())
        shown = f", the first {_MAX_ERRORS} kinds of errors above" if len(groups) > _MAX_ERRORS else ""
        repeated = [
            f"the error of line {same[0]} is also that of {_format_lines(sorted(same[1:]))}"
            for same in groups[:_MAX_ERRORS]
            if same[1:]
        ]
        hint = f"{self._format_repetition()} tries only these again, and submits no job twice"
        return format_message("; ".join([f"{error.summary}{shown}", *repeated]), hint=hint)

    def describe_interruption(self, target: TargetSystem) -> str:
        """Return what is told after an interrupt: what is submitted, as far as is known, and how to go on."""
        records = [target.find_by_key(key) for key in self.keys]
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
