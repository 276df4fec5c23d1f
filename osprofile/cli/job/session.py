"""What the job verbs share: the record, target systems, reporting of errors, and signals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

from osprofile.cli import common
from osprofile.cli.job.rows import INTERRUPTED, JobRow, format_target_options
from osprofile.errors import JobNotFoundError, NotFoundError, OSProfileError, StoreError, format_message
from osprofile.jobs.process import cancel_on_signal
from osprofile.jobs.store import Store, default_store_path
from osprofile.jobs.target_names import CLUSTER_FIELD, format_target_name, parse_target_name
from osprofile.jobs.target_system import TargetSystem
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
    from types import TracebackType

    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord
    from osprofile.profile.model import Profile

T = TypeVar("T")
_printed_warnings: ContextVar[set[str] | None] = ContextVar("printed_warnings", default=None)
_TARGET_FIELDS: Final = ("SSH:HOST", "SSH:PORT", CLUSTER_FIELD)
"""The fields of the context that are parts of a target system's name."""


@final
@dataclass(frozen=True, slots=True)
class TargetSelection:
    """The options of a command line that select target systems; `profile` is the value of `--profile`."""

    profile: str | None
    context: Mapping[str, str]
    profiles: Sequence[str]
    store: str | None


@final
@dataclass(frozen=True, slots=True)
class JobReference:
    """The id of a job, and the target system on which it is."""

    job_id: str
    target: TargetSystem


def run_cancellable(work: Coroutine[Any, Any, int]) -> int:
    """Run a verb's coroutine and return its exit code, or 128 plus the number of a signal that ended it.

    A signal cancels the coroutine, so that it ends the scripts that it runs.
    """
    received: list[int] = []
    with _print_log_warnings():
        try:
            return asyncio.run(cancel_on_signal(work, received))
        except asyncio.CancelledError:
            if not received:
                raise
            return 128 + received[0]


@contextlib.contextmanager
def _print_log_warnings() -> Iterator[None]:
    """Print the warnings that the package logs to standard error."""
    logger, handler = logging.getLogger("osprofile.jobs"), _WarningHandler(logging.WARNING)
    logger.addHandler(handler)
    # Without propagation, handlers of the root logger do not print the warnings again.
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


@final
class _WarningHandler(logging.Handler):
    """Prints warnings to standard error; their tracebacks only with OSPROFILE_DEBUG."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        print_warning(text)
        if record.exc_info and os.environ.get("OSPROFILE_DEBUG"):
            common.print_message(logging.Formatter().formatException(record.exc_info))


@contextlib.contextmanager
def print_warnings_once() -> Iterator[None]:
    """Print each warning only once in this context: that of one job may be that of ten thousand."""
    token = _printed_warnings.set(set())
    try:
        yield
    finally:
        _printed_warnings.reset(token)


def print_warning(text: str, *, hint: str = "") -> None:
    """Print a warning to standard error."""
    message = format_message(f"incarnate: warning: {text}", hint=hint)
    printed = _printed_warnings.get()
    if printed is None or message not in printed:
        common.print_message(message)
    if printed is not None:
        printed.add(message)


@final
class CommandSession:
    """The record and the target systems of one command.

    With `record_needed=False`, an unusable record is only a warning if `--profile` selects the target
    system.
    """

    def __init__(self, selection: TargetSelection, *, record_needed: bool = True) -> None:
        self._selection = selection
        self._profiles: dict[str, Profile] = {}
        self._targets: dict[str, TargetSystem | OSProfileError] = {}
        self.store = self._open_store(record_needed=record_needed or not self._default_profile())

    def _default_profile(self) -> str | None:
        """Return the profile for jobs that are not in the record."""
        return self._selection.profile or os.environ.get("OSPROFILE_PROFILE")

    def _open_store(self, *, record_needed: bool) -> Store:
        try:
            return Store(self._selection.store or default_store_path())
        except StoreError as error:
            if record_needed:
                raise
            print_warning(f"continuing without a record: {error.message}")
            return Store()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for target in self._targets.values():
            if isinstance(target, TargetSystem):
                await target.close()
        self.store.close()

    def open_selected_target(self) -> TargetSystem:
        """Return the target system that the command line selects; raise `UsageError` if there is none."""
        profile = self._load_profile(self._default_profile())
        if (path := self._default_profile()) and common.is_profile_path(path):
            self.store.set_profile_file(profile.name, os.path.abspath(path))
        name = format_target_name(profile, self._selection.context)
        return self._get_target(name, profile, self._selection.context)

    def open_recorded_target(self, name: str) -> TargetSystem:
        """Return a target system by its name in the record, or raise the same error at each call.

        The same error, since `ErrorReporter` prints each error once.
        """
        profile, context = parse_target_name(name)
        try:
            resolved = self._load_recorded_profile(profile)
        except OSProfileError as error:
            first = self._targets.setdefault(name, error)
            raise first if isinstance(first, OSProfileError) else error from None
        return self._get_target(name, resolved, {**self._selection.context, **context})

    def is_selected(self, name: str) -> bool:
        """Return whether `--profile`, `--host` and `--cluster` admit a target."""
        profile, context = parse_target_name(name)
        selection = self._selection
        if selection.profile and self._load_profile(selection.profile).name != profile:
            return False
        return all(
            context.get(field) == selection.context[field]
            for field in _TARGET_FIELDS
            if field in selection.context
        )

    def find_job(self, word: str) -> JobReference:
        """Return a job by its id or key, on the target system of `--profile`, else on that of the record.

        Raises `JobNotFoundError` if the job has no record, or records on several target systems.
        """
        job_id = self.resolve_key(word)
        if self._selection.profile:
            return JobReference(job_id, self.open_selected_target())
        names = [r.target for r in self.store.find_on_all_targets(job_id) if self.is_selected(r.target)]
        if len(names) > 1:
            raise make_ambiguity_error(job_id, names)
        if names:
            return JobReference(job_id, self.open_recorded_target(names[0]))
        if self._default_profile():
            return JobReference(job_id, self.open_selected_target())
        message = f"job {quote_name(word)} is not in the record {self.store.path}, by its id or key"
        hint = "incarnate job list --all shows the jobs; --profile NAME selects the system of any other job"
        raise JobNotFoundError(message, hint=hint)

    def find_record(self, word: str) -> JobRecord | None:
        """Return the record of a job by its id or key, also if its profile is gone; None without a single one."""
        job_id = self.resolve_key(word)
        records = [r for r in self.store.find_on_all_targets(job_id) if self.is_selected(r.target)]
        return records[0] if len(records) == 1 else None

    def resolve_key(self, word: str) -> str:
        """Return the id of the job with a key, the word itself if it is an id or no job has that key.

        Raises `JobNotFoundError` for a key of several target systems, and for a job that has no id yet.
        """
        if any(self.is_selected(record.target) for record in self.store.find_on_all_targets(word)):
            return word
        records = [r for r in self.store.find_key_on_all_targets(word) if self.is_selected(r.target)]
        if len(records) > 1:
            raise make_ambiguity_error(word, [record.target for record in records])
        if not records:
            return word
        if not records[0].is_submitted:
            message = f"the job with the key {quote_name(word)} has no id yet: its submission is not complete"
            raise JobNotFoundError(message, hint="incarnate job list shows how to complete it")
        return records[0].status.job_id

    def suggest_other_targets(self, job: JobReference) -> str:
        """Return a hint if a job's id is only recorded for other target systems."""
        names = [r.target for r in self.store.find_on_all_targets(job.job_id) if r.target != job.target.name]
        if not names or self.store.find_job(job.target.name, job.job_id) is not None:
            return ""
        return f"this id is recorded for {' and '.join(map(format_target_options, names))}"

    def build_row(self, name: str, status: JobStatus, record: JobRecord | None = None) -> JobRow:
        """Return the row of a job of a target system; its record is looked up if it is not given."""
        record = record or self.store.find_job(name, status.job_id)
        tasks = self.store.list_tasks(name, status.job_id) if record is not None and record.array else ()
        return JobRow(name, status, record, tasks=tasks)

    def build_submitted_row(self, job: JobReference) -> JobRow:
        """Return the row of a job that this process has submitted."""
        record = self.store.find_job(job.target.name, job.job_id)
        status = record.status if record is not None else job.target.monitor.get_status(job.job_id)
        return self.build_row(job.target.name, status, record)

    def row_from_cut_record(self, record: JobRecord) -> JobRow:
        """Return the row of an interrupted submission, with the command that completes or forgets it."""
        where = f"on {host}, " if (host := record.other_host) else ""
        if record.key is None:
            words = ["forget", *self.location_options, record.directory]
            remedy = f"to forget it: {shlex.join(['incarnate', 'job', *words])}"
        else:
            options = [*self._recorded_options(record.target), *self.location_options]
            words = ["submit", *options, "--key", record.key]
            remedy = f"{where}to complete it: {shlex.join(['incarnate', 'job', *words])}"
        return JobRow(record.target, record.status, record, INTERRUPTED, remedy)

    def _recorded_options(self, name: str) -> list[str]:
        """Return the options that select a recorded target system, with paths as absolute ones."""
        options = shlex.split(format_target_options(name))
        path, context = self._selection.profile, self._selection.context
        if (
            path
            and common.is_profile_path(path)
            and self._load_profile(path).name == parse_target_name(name)[0]
        ):
            options[1] = os.path.abspath(path)
        rest = {f: v for f, v in context.items() if f not in _TARGET_FIELDS}
        return [*options, *(word for f, v in rest.items() for word in ("--context", f"{f}={v}"))]

    @property
    def location_options(self) -> list[str]:
        """The options for the directories of profiles and the record, valid in any working directory."""
        options = [w for path in self._selection.profiles for w in ("--profiles", os.path.abspath(path))]
        store = self._selection.store
        return [*options, "--store", os.path.abspath(store)] if store else options

    def _load_profile(self, profile: str | None) -> Profile:
        if profile is None or profile not in self._profiles:
            self._profiles[profile or ""] = common.open_profile(profile, self._selection.profiles)
        return self._profiles[profile or ""]

    def _load_recorded_profile(self, name: str) -> Profile:
        """Return a recorded profile: that of `--profile PATH` if it has the name, by name, or by its file as recorded."""
        path = self._default_profile()
        if path and common.is_profile_path(path) and (profile := self._load_profile(path)).name == name:
            return profile
        try:
            return self._load_profile(name)
        except NotFoundError as error:
            file = self.store.find_profile_file(name)
            if file and (profile := self._load_profile(file)).name == name:
                return profile
            error.hint = f"--profile PATH gives the path of its file; {error.hint}"
            raise

    def _get_target(self, name: str, profile: Profile, context: Mapping[str, str]) -> TargetSystem:
        target = self._targets.get(name)
        if target is None:
            try:
                target = TargetSystem(profile, context, store=self.store)
            except OSProfileError as error:
                target = error
            self._targets[name] = target
        if isinstance(target, OSProfileError):
            raise target
        return target


@final
class ErrorReporter:
    """Prints the errors of jobs and target systems, each once; the first determines the exit code."""

    def __init__(self) -> None:
        self.exit_code = 0
        self._reported: list[OSProfileError] = []

    def report_error(self, error: OSProfileError, subject: str) -> None:
        """Print an error about a subject, unless it has been printed."""
        self.exit_code = self.exit_code or error.exit_code
        if error not in self._reported:
            self._reported.append(error)
            common.print_error(error, subject)

    def report_job_error(self, job: JobReference, error: OSProfileError) -> None:
        """Print an error about a job."""
        self.report_error(error, f"job {quote_name(job.job_id)}")


def find_jobs(session: CommandSession, words: Sequence[str], reporter: ErrorReporter) -> list[JobReference]:
    """Return the jobs with these ids or keys; report those that cannot be found."""
    jobs = []
    for word in words:
        try:
            jobs.append(session.find_job(word))
        except OSProfileError as error:
            # Not report_job_error: an error in a profile is not about this job.
            reporter.report_error(error, "")
    return jobs


def make_ambiguity_error(word: str, targets: Sequence[str]) -> JobNotFoundError:
    """Return the error for a job that is recorded on several target systems."""
    message = f"{quote_name(word)} is recorded on several target systems: {', '.join(targets)}"
    hint = f"select one with {' or '.join(map(format_target_options, targets))}"
    return JobNotFoundError(message, hint=hint)


async def gather_results(
    jobs: Sequence[JobReference], action: Callable[[JobReference], Awaitable[T]]
) -> list[T | OSProfileError]:
    """Await an action for all jobs at once, and return their results or errors in the same order."""

    async def catch_error(job: JobReference) -> T | OSProfileError:
        try:
            return await action(job)
        except OSProfileError as error:
            return error

    return await asyncio.gather(*map(catch_error, jobs))
