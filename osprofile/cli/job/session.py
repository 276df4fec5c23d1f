"""What the job verbs share: the record, target systems, reporting of errors, and signals."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import shlex
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, final

from osprofile.cli import common
from osprofile.cli.job.rows import INTERRUPTED, JobRow, build_row, format_target_options, name_jobs
from osprofile.errors import JobNotFoundError, NotFoundError, OSProfileError, StoreError, format_message
from osprofile.javaregex.kept import keep_patterns, use_kept_patterns
from osprofile.jobs.client import JobClient, JobReference, require_id
from osprofile.jobs.profiles import load_for_jobs
from osprofile.jobs.record.names import CLUSTER_FIELD, parse_target_name
from osprofile.jobs.shell import loop
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.job_scripts.command_line import OptionValue
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem
    from osprofile.profile.model import Profile

P = ParamSpec("P")
T = TypeVar("T")
_printed_warnings: ContextVar[set[str] | None] = ContextVar("printed_warnings", default=None)
_COMPLETION_HINT: Final = "incarnate job list shows how to complete it"
_TARGET_FIELDS: Final = ("SSH:HOST", "SSH:PORT", CLUSTER_FIELD)
"""The fields of the context that are parts of a target system's name."""


def run_cancellable(work: Coroutine[Any, Any, int], *, needs_loop: bool = True) -> int:
    """Run a verb's coroutine and return its exit code, or 128 plus the number of a signal that ended it.

    A signal cancels the coroutine, so that it ends the scripts that it runs. `needs_loop`: see `loop.run_cancellable`.
    """
    received: list[int] = []
    with _print_log_warnings():
        try:
            return loop.run_cancellable(work, received, needs_loop=needs_loop)
        except asyncio.CancelledError:
            if not received:
                raise
            return 128 + received[0]


def cancellable(work: Callable[P, Coroutine[Any, Any, int]]) -> Callable[P, int]:
    """Return what runs a verb's coroutine function by `run_cancellable`."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        return run_cancellable(work(*args, **kwargs))

    return run


def brief(work: Callable[P, Coroutine[Any, Any, int]]) -> Callable[P, int]:
    """Return what runs a verb's coroutine function as `cancellable` does, without an event loop until it needs one."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        return run_cancellable(work(*args, **kwargs), needs_loop=False)

    return run


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
    """The client of one command, and what its command line selects.

    With `record_needed=False`, an unusable record is only a warning if `--profile` selects the target
    system.
    """

    def __init__(self, selection: TargetSelection, *, record_needed: bool = True) -> None:
        self._selection = selection
        self.directives: Mapping[str, OptionValue] = {}
        """The directives of the last job's script that set fields, by field."""
        self.found_programs: dict[tuple[str, str], bool] = {}
        self.found_scripts: dict[tuple[str, str], tuple[bytes, bool] | None] = {}
        """Whether a target has a program, by the name of the target and that of the program."""
        self._profiles: dict[str, Profile] = {}
        self._job_profiles: dict[str, Profile] = {}
        self._profile_errors: dict[str, OSProfileError] = {}
        self.client = JobClient(selection.store, record_needed=record_needed or not self._default_profile)
        self.store = self.client.store
        use_kept_patterns()

    @cached_property
    def _default_profile(self) -> str | None:
        """Return the profile for jobs that are not in the record."""
        return self._selection.profile or common.find_default_profile()

    @property
    def context(self) -> Mapping[str, str]:
        """The special fields of the command line."""
        return self._selection.context

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.client.close()
        keep_patterns()

    def open_selected_target(self) -> TargetSystem:
        """Return the target system that the command line selects; raise `UsageError` if there is none."""
        return self._open_target(self._load_profile(self._default_profile))

    def _open_target_of_jobs(self) -> TargetSystem:
        """Return that target system for jobs that have been submitted."""
        return self._open_target(self._load_for_jobs(self._default_profile or ""))

    def _open_target(self, profile: Profile) -> TargetSystem:
        if (path := self._default_profile) and common.is_profile_path(path):
            self.store.set_profile_file(profile.name, os.path.abspath(path))
        return self.client.open_target(profile, self._selection.context)

    def open_recorded_target(
        self, name: str, submitted_context: Mapping[str, str] | None = None
    ) -> TargetSystem:
        """Return a target system by its name in the record, or raise the same error at each call.

        The same error, since `ErrorReporter` prints each error once. `submitted_context` has the special fields of an
        earlier submission, which the options of this command replace.
        """
        profile_name, context = parse_target_name(name)
        try:
            profile = self._load_recorded_profile(profile_name)
        except OSProfileError as error:
            raise self._profile_errors.setdefault(name, error) from None
        context = {**(submitted_context or {}), **self._selection.context, **context}
        return self.client.open_target(profile, context)

    def is_selected(self, name: str) -> bool:
        """Return whether `--profile`, `--host` and `--cluster` admit a target."""
        profile, context = parse_target_name(name)
        selection = self._selection
        if selection.profile and self._load_for_jobs(selection.profile).name != profile:
            return False
        return all(
            context.get(field) == selection.context[field]
            for field in _TARGET_FIELDS
            if field in selection.context
        )

    def find_job(self, word: str) -> JobReference:
        """Return a job by its id, key or name, on the target system of `--profile`, else on that of the record.

        Raises `JobNotFoundError` if the job has no record, or the word names several.
        """
        if self._selection.profile:
            return JobReference(self.resolve_key(word), self._open_target_of_jobs())
        if records := self.find_records(word):
            record = require_one(word, records)
            job_id = record.status.job_id or require_id(record, _COMPLETION_HINT)
            return JobReference(job_id, self.open_recorded_target(record.target))
        if self._default_profile:
            return JobReference(word, self._open_target_of_jobs())
        message = f"job {quote_name(word)} is not in the record {self.store.path}, by its id, key or name"
        hint = "incarnate job list --all shows the jobs; --profile NAME selects the system of any other job"
        if names := [record.target for record in self.store.find_on_all_targets(word)]:
            hint = _format_targets(names)
        raise JobNotFoundError(message, hint=hint)

    def require_recorded_jobs(self, words: Sequence[str]) -> None:
        """Raise `StoreError` for ids and keys if the record has no job at all: it may be another one.

        A program that polls would take a job that is missing in the answer for one that has ended.
        """
        if not self._default_profile and not self.store.list_targets():
            message = f"job {quote_name(words[0])} is not known: the record {self.store.path} has no job"
            hint = "is the home directory there, and is $OSPROFILE_STORE what it was at the submission?"
            raise StoreError(message, hint=hint)

    def find_records(self, word: str) -> list[JobRecord]:
        """Return the records of jobs by an id; without one by a key, then by a name that is not like most ids."""
        if (records := self.client.find_records(word, self.is_selected)) or word[:1].isdigit():
            return records
        found = self.store.find_name_on_all_targets(word)
        return [record for record in found if record.is_submitted and self.is_selected(record.target)]

    def find_record(self, word: str) -> JobRecord | None:
        """Return the record of a job by its id, key or name, also if its profile is gone; None without a single one."""
        records = self.find_records(word)
        return records[0] if len(records) == 1 and records[0].is_submitted else None

    def resolve_key(self, word: str) -> str:
        """Return the id of the job with a key or name, the word itself if it is an id or no job has it.

        Raises `JobNotFoundError` for a word that names several jobs, and for a job that has no id yet.
        """
        records = self.find_records(word)
        if not records or records[0].status.job_id == word:
            return word
        return require_id(require_one(word, records), _COMPLETION_HINT)

    def suggest_other_targets(self, job: JobReference) -> str:
        """Return a hint if a job's id is only recorded for other target systems."""
        names = [r.target for r in self.store.find_on_all_targets(job.job_id) if r.target != job.target.name]
        if not names or job.record is not None:
            return ""
        return _format_targets(names)

    def expand_patterns(self, words: Sequence[str]) -> list[str]:
        """Return ids and keys, each once, with those that match in place of a key with * or ?, as in `sweep-*`."""
        expanded = []
        for word in words:
            found = self.store.find_keys_on_all_targets(word) if {*"*?"} & {*word} else []
            keys = [record.key for record in found if record.key and self.is_selected(record.target)]
            expanded += keys or [word]
        return list(dict.fromkeys(expanded))

    def build_row(
        self, name: str, status: JobStatus, record: JobRecord | None = None, *, with_tasks: bool = True
    ) -> JobRow:
        """Return the row of a job, as `rows.build_row` does."""
        return build_row(self.store, name, status, record, with_tasks=with_tasks)

    def build_submitted_row(self, job: JobReference) -> JobRow:
        """Return the row of a job that this process has submitted."""
        record = job.record
        status = record.status if record is not None else job.target.jobs.get_status(job.job_id)
        return self.build_row(job.target.name, status, record)

    def build_interrupted_row(self, record: JobRecord) -> JobRow:
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
            and self._load_for_jobs(path).name == parse_target_name(name)[0]
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

    def _load_for_jobs(self, word: str, load: Callable[[str], Profile] | None = None) -> Profile:
        """Return the profile of a name or path for jobs that have been submitted: its kept version if need be."""
        if word not in self._job_profiles:
            name = (
                self.store.find_profile_name(os.path.abspath(word)) if common.is_profile_path(word) else word
            )
            load_word = functools.partial(load or self._load_profile, word)
            self._job_profiles[word] = load_for_jobs(load_word, name, self.store.path)
        return self._job_profiles[word]

    def _load_recorded_profile(self, name: str) -> Profile:
        """Return a recorded profile: that of `--profile PATH` if it has the name, else by its name."""
        path = self._default_profile
        if path and common.is_profile_path(path):
            with contextlib.suppress(OSProfileError):  # this may be another profile
                if (profile := self._load_for_jobs(path)).name == name:
                    return profile
        return self._load_for_jobs(name, self._load_named)

    def _load_named(self, name: str) -> Profile:
        """Return the profile of a name, or by its file as recorded."""
        try:
            return self._load_profile(name)
        except NotFoundError as error:
            file = self.store.find_profile_file(name)
            if file and (profile := self._load_profile(file)).name == name:
                return profile
            error.hint = f"--profile PATH gives the path of its file; {error.hint}"
            raise


@final
class ErrorReporter:
    """Prints the errors of jobs and target systems, and their hints, each once; the first determines the exit code."""

    def __init__(self) -> None:
        self.exit_code = 0
        self._reported: list[OSProfileError] = []
        self._hints: set[str] = set()

    def report_error(self, error: OSProfileError, subject: str) -> None:
        """Print an error about a subject, unless it has been printed."""
        self.exit_code = self.exit_code or error.exit_code
        if error not in self._reported:
            self._reported.append(error)
            error.hint = "" if error.hint in self._hints else error.hint
            self._hints.add(error.hint)
            common.print_error(error, subject)

    def report_job_error(self, job: JobReference, error: OSProfileError) -> None:
        """Print an error about a job."""
        self.report_error(error, f"job {quote_name(job.job_id)}")

    def report_job_errors(self, errors: Iterable[tuple[str, OSProfileError]]) -> None:
        """Print errors about jobs, given with their ids; one message with a count for all that have the same one."""
        groups: dict[str, tuple[OSProfileError, list[str]]] = {}
        for job_id, error in errors:
            groups.setdefault(str(error), (error, []))[1].append(job_id)
        for error, job_ids in groups.values():
            self.report_error(error, name_jobs(job_ids))


def find_jobs(session: CommandSession, words: Sequence[str], reporter: ErrorReporter) -> list[JobReference]:
    """Return the jobs with these ids or keys; report those that cannot be found."""
    return look_up_jobs(session, words, session.find_job, reporter)


def look_up_jobs(
    session: CommandSession, words: Sequence[str], look_up: Callable[[str], T], reporter: ErrorReporter
) -> list[T]:
    """Return what `look_up` returns for each id or key; report the words for which it raises an error."""
    found = []
    for word in session.expand_patterns(words):
        try:
            found.append(look_up(word))
        except OSProfileError as error:
            # Not report_job_error: an error in a profile is not about this job.
            reporter.report_error(error, "")
    return found


def _format_targets(names: Sequence[str]) -> str:
    return f"this id is recorded for {' and '.join(map(format_target_options, names))}"


def require_one(word: str, records: Sequence[JobRecord]) -> JobRecord:
    """Return the only one of the records that a word names. Raises `JobNotFoundError` for several."""
    if len(records) == 1:
        return records[0]
    targets = [record.target for record in records]
    if len(set(targets)) < len(targets):
        ids = [record.status.job_id for record in records]
        message = f"the name {quote_name(word)} is that of {name_jobs(ids)}"
        raise JobNotFoundError(message, hint=f"give an id; the last one is {quote_name(ids[-1])}")
    message = f"{quote_name(word)} is recorded on several target systems: {', '.join(targets)}"
    hint = f"select one with {' or '.join(map(format_target_options, targets))}"
    raise JobNotFoundError(message, hint=hint)
