"""What `incarnate job output` does: prints what jobs have written, and follows it as `tail -f` does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.cli import common
from osprofile.cli.common import UsageError
from osprofile.cli.job.rows import replace_controls
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable
from osprofile.errors import OSProfileError, ScriptError, ScriptFailedError, TargetError, format_message
from osprofile.jobs.client import JobReference, gather_results
from osprofile.jobs.files.transfer import OUTPUT_PART_SIZE
from osprofile.text import escape_unprintable, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.files.directory import JobFile
    from osprofile.jobs.files.transfer import FilePart, FilePosition
    from osprofile.jobs.state import JobStatus

MAX_FOLLOWED: Final = 100
"""Files that one command follows at most: each has a query of its own."""
_BATCH_SIZE: Final = 8
"""Files that are read side by side; a target system runs as many scripts."""
_MAX_READ_INTERVAL: Final = 5.0
_MIN_READ_INTERVAL: Final = 0.25
"""Seconds between two looks at a file that is followed; the profile may ask for more."""


@final
@dataclass(frozen=True, slots=True)
class _Source:
    """A file that a job writes; `is_part` of the output of an array that was asked for."""

    job: JobReference
    stream: str
    file: JobFile
    is_part: bool

    async def read_part(self, position: FilePosition | None, last_lines: int | None) -> FilePart | None:
        """Return what the file has behind a position; None if it is missing."""
        try:
            return await self.job.target.files.read_file_part(self.file, position, last_lines=last_lines)
        except ScriptFailedError as error:
            if "No such file or directory" in error.output:
                error.hint = "the job's directory was deleted or moved, or another machine has it"
            raise


@cancellable
async def print_output(
    selection: TargetSelection, job_ids: Sequence[str], *, stream: str, last_lines: int | None, follow: bool
) -> int:
    """Print the file `stdout` or `stderr` of jobs, or its last lines; with `follow`, until they have ended."""
    failures = ErrorReporter()
    async with CommandSession(selection) as session:
        sources = []
        for word in session.expand_patterns(job_ids):
            try:
                job = session.find_job(word)
            except OSProfileError as error:
                failures.report_error(_name_kept_file(session, word, stream, error), "")
                continue
            try:
                sources += _find_sources(session, job, stream)
            except OSProfileError as error:
                await _report_unrecorded(session, job, error, failures)
        writer = _OutputWriter(has_headers=len(sources) > 1, skips_empty=follow)
        if not follow:
            await _print_files(sources, writer, last_lines, failures)
        elif len(sources) > MAX_FOLLOWED:
            message = f"these are {len(sources)} files: at most {MAX_FOLLOWED} are followed"
            raise UsageError(message, hint="name some of the tasks, as job list --tasks shows them")
        else:
            followers = (_follow_file(source, writer, last_lines, failures) for source in sources)
            await asyncio.gather(*followers)
        for source in sources:
            is_empty = source in writer.empty_sources and last_lines != 0
            if is_empty and source.stream == "stdout" and not source.is_part:
                await _point_to_errors(session, source)
    return failures.exit_code


def _find_sources(session: CommandSession, job: JobReference, stream: str) -> list[_Source]:
    """Return the file of a job; those of an array's tasks."""
    tasks = session.store.list_tasks(job.target.name, job.job_id)
    jobs = [JobReference(task.status.job_id, job.target) for task in tasks] or [job]
    return [_Source(j, stream, j.target.find_output_file(j.job_id, stream), bool(tasks)) for j in jobs]


async def _report_unrecorded(
    session: CommandSession, job: JobReference, error: OSProfileError, failures: ErrorReporter
) -> None:
    """Report that the record names no file of a job, or that nobody knows the job."""
    hint, subject = session.suggest_other_targets(job), ""
    try:
        if job.record is None:
            await job.target.status(job.job_id)
    except OSProfileError as unknown:
        error, subject = unknown, f"job {quote_name(job.job_id)}"
    error.hint = hint or error.hint
    failures.report_error(error, subject)


def _name_kept_file(session: CommandSession, word: str, stream: str, error: OSProfileError) -> OSProfileError:
    """Return the error for a job whose profile cannot be used: it names the file, if it may be on this machine."""
    record = session.find_record(word)
    if record is None:
        return error
    whole = session.store.find_whole_job(record)
    file = whole.name_output_file(stream, record.array_index) if whole else ""
    path = os.path.join(whole.directory, file) if whole and file else ""
    where = f"its {stream} is in {escape_unprintable(path)}" if path else ""
    if not os.path.isfile(path) or "@" in record.target:
        shown = shlex.join(["incarnate", "job", "show", *session.location_options, record.status.job_id])
        where = f"{shown} lists its files"
    return TargetError(f"job {quote_name(word)}: {error.message}", hint=where)


async def _point_to_errors(session: CommandSession, source: _Source) -> None:
    """Point to the standard error of a failed job whose standard output is empty."""
    job = source.job
    with contextlib.suppress(OSProfileError):  # what was asked for is printed
        status = await job.target.status(job.job_id)
        if not status.state.is_terminal or status.exit_code == 0:
            return
        file = job.target.find_output_file(job.job_id, "stderr")
        part = await job.target.files.read_file_part(file, last_lines=1)
        if part is not None and part.data:
            command = shlex.join(
                ["incarnate", "job", "output", *session.location_options, "--error", job.job_id]
            )
            _print_note(f"its error output: {command}")


async def _print_files(
    sources: Sequence[_Source], writer: _OutputWriter, last_lines: int | None, failures: ErrorReporter
) -> None:
    by_job = {source.job: source for source in sources}
    missing: list[_Source] = []
    for begin in range(0, len(sources), _BATCH_SIZE):
        jobs = [source.job for source in sources[begin : begin + _BATCH_SIZE]]
        results = await gather_results(jobs, lambda job: by_job[job].read_part(None, last_lines))
        for job, result in zip(jobs, results, strict=True):
            try:
                if isinstance(result, OSProfileError):
                    raise result
                if result is None:
                    missing.append(by_job[job])
                else:
                    await _print_rest(by_job[job], writer, result)
            except OSProfileError as error:
                failures.report_job_error(job, error)
    await _report_missing(missing, len(sources), failures)


async def _print_rest(source: _Source, writer: _OutputWriter, part: FilePart) -> None:
    """Print a part of a file, and what is behind it."""
    writer.write(source, part.data)
    while len(part.data) == OUTPUT_PART_SIZE:
        following = await source.read_part(part.position, None)
        if following is None or following.is_restarted:
            return
        part = following
        writer.write(source, part.data)


async def _report_missing(missing: Sequence[_Source], total: int, failures: ErrorReporter) -> None:
    """Report the files that are not there; of several tasks of an array, only how many these are."""
    tasks = [source for source in missing if source.is_part]
    if len(tasks) > 1:
        stream = tasks[0].stream
        message = f"{len(tasks)} of {total} tasks have no {stream} yet, or no longer"
        failures.report_error(TargetError(message, hint="incarnate job list --tasks shows their states"), "")
    for source in missing:
        if not source.is_part or len(tasks) == 1:
            failures.report_error(await _explain_missing_file(source), "")


async def _explain_missing_file(source: _Source) -> OSProfileError:
    """Return the error for a file that is not there: it depends on the state of the job."""
    job, stream = source.job, source.stream
    name = quote_name(job.job_id)
    try:
        status = await job.target.status(job.job_id)
    except OSProfileError as error:
        return error
    if not status.state.is_terminal:
        hint = "incarnate job output -f waits for it"
        return TargetError(f"{_describe_waiting(job, status)}: it has no {stream} yet", hint=hint)
    message = f"job {name} has ended, and its {stream} {source.file.path} is not there"
    return TargetError(message, hint="it ended before it began, or the file was deleted")


def _describe_waiting(job: JobReference, status: JobStatus) -> str:
    reason = f" ({status.reason})" if status.reason else ""
    return f"job {quote_name(job.job_id)} is {status.state}{reason}"


async def _follow_file(
    source: _Source, writer: _OutputWriter, last_lines: int | None, failures: ErrorReporter
) -> None:
    """Print what a job writes until it has ended."""
    job = source.job
    end = asyncio.ensure_future(job.target.wait(job.job_id))
    try:
        await _Follower(source, writer, last_lines).print_until(end)
    except OSProfileError as error:
        failures.report_job_error(job, error)
    finally:
        end.cancel()


@final
class _Follower:
    """Reads a file again and again: more often while it grows."""

    def __init__(self, source: _Source, writer: _OutputWriter, last_lines: int | None) -> None:
        self._source, self._writer, self._last_lines = source, writer, last_lines
        self._min_interval = max(_MIN_READ_INTERVAL, source.job.target.timing.min_poll_interval or 0)
        self._interval = self._min_interval
        self._position: FilePosition | None = None
        self._has_told_waiting = self._is_disconnected = False

    async def print_until(self, end: asyncio.Future[JobStatus]) -> None:
        """Print what the file gets until the job's `end`, and what it has then."""
        while True:
            has_ended = end.done()
            size = await self._print_part(is_last=has_ended)
            if not size and has_ended:
                break
            if size < OUTPUT_PART_SIZE:
                await asyncio.wait({end}, timeout=self._interval)
        end.result()  # raises the error if the waiting failed
        if self._position is None:
            raise await _explain_missing_file(self._source)

    async def _print_part(self, *, is_last: bool) -> int:
        """Print what the file has behind the position, and return the number of bytes."""
        try:
            part = await self._source.read_part(self._position, self._last_lines)
        except ScriptError as error:  # the connection was lost, perhaps for a moment only
            if self._position is None or is_last:
                raise
            if not self._is_disconnected:
                _print_note(f"{self._source.file.path} is not read; trying again: {error.message}")
            self._is_disconnected, self._interval = True, _MAX_READ_INTERVAL
            return 0
        self._is_disconnected = False
        self._interval = (
            self._min_interval if part and part.data else min(2 * self._interval, _MAX_READ_INTERVAL)
        )
        if part is None:
            if not is_last:
                await self._tell_waiting()
            return 0
        if part.is_restarted:
            _print_note(f"the {self._source.stream} of job {quote_name(self._source.job.job_id)} begins anew")
        self._writer.write(self._source, part.data)
        self._position = part.position
        return len(part.data)

    async def _tell_waiting(self) -> None:
        """Print once that a job waits."""
        job = self._source.job
        if not self._has_told_waiting and self._position is None:
            status = await job.target.status(job.job_id)
            if not status.state.is_terminal:
                _print_note(f"{_describe_waiting(job, status)}: waiting for its {self._source.stream}")
            self._has_told_waiting = True


def _print_note(text: str) -> None:
    common.print_message(format_message(f"incarnate: {text}"))


@final
class _OutputWriter:
    """Writes to standard output, of several jobs with headers; `skips_empty` parts need none."""

    def __init__(self, *, has_headers: bool, skips_empty: bool) -> None:
        self._has_headers, self._skips_empty = has_headers, skips_empty
        self._last_source: _Source | None = None
        self._begun_sources: set[_Source] = set()
        self.empty_sources: set[_Source] = set()

    def write(self, source: _Source, data: bytes) -> None:
        """Write a part of a file, unchanged."""
        if data:
            self.empty_sources.discard(source)
        elif source not in self._begun_sources:
            self.empty_sources.add(source)
        self._begun_sources.add(source)
        if self._skips_empty and not data:
            return
        if self._has_headers and source is not self._last_source:
            gap = "" if self._last_source is None else "\n"
            header = f"{gap}==> {replace_controls(source.job.job_id)} <==\n"
            sys.stdout.buffer.write(header.encode("utf-8", "surrogateescape"))
            self._last_source = source
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
