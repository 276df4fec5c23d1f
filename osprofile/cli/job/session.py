"""What a job verb works with: the record, the target systems of jobs, warnings, interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from osprofile.cli import common
from osprofile.cli.job.rows import CUT, JobRow, format_target_options
from osprofile.errors import (
    JobNotFoundError,
    NotFoundError,
    OSProfileError,
    StoreError,
    format_message,
    quote_name,
)
from osprofile.jobs.process import cancel_on_signal
from osprofile.jobs.store import Store, default_store_path
from osprofile.jobs.target_names import format_target_name, parse_target_name
from osprofile.jobs.target_system import TargetSystem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
    from types import TracebackType

    from osprofile.jobs.store import JobRecord
    from osprofile.profile.model import Profile

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class TargetSelection:
    """What a command line says about target systems; `profile` is `--profile`'s value."""

    profile: str | None
    context: Mapping[str, str]
    profiles: Sequence[str]
    store: str | None


@final
@dataclass(frozen=True, slots=True)
class JobReference:
    """A job of a command line, and where it is."""

    job_id: str
    target: TargetSystem


class SignalReceived(Exception):  # noqa: N818  # no error: somebody wants the command to end
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return 128 + self.number


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a verb; a signal cancels it, so that it ends its scripts: `SignalReceived`."""
    received: list[int] = []
    with _print_log_warnings():
        try:
            return asyncio.run(cancel_on_signal(work, received))
        except asyncio.CancelledError:
            if not received:
                raise
            raise SignalReceived(received[0]) from None


@contextlib.contextmanager
def _print_log_warnings() -> Iterator[None]:
    """Have what the package logs told on standard error."""
    logger, handler = logging.getLogger("osprofile.jobs"), _WarningHandler(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


@final
class _WarningHandler(logging.Handler):
    """Tells a warning on standard error; where it came from only with OSPROFILE_DEBUG."""

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a warning."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        print_warning(text)
        if record.exc_info and os.environ.get("OSPROFILE_DEBUG"):
            common.print_message(logging.Formatter().formatException(record.exc_info))


def print_warning(text: str) -> None:
    """Print a warning."""
    common.print_message(format_message(f"incarnate: warning: {text}"))


@final
class JobSession:
    """The record and the target systems of one command.

    With `record_needed` False, a record that cannot be used is a warning where `--profile` says
    which target system is meant.
    """

    def __init__(self, selection: TargetSelection, *, record_needed: bool = True) -> None:
        self._selection = selection
        self._profiles: dict[str, Profile] = {}
        self._targets: dict[str, TargetSystem | OSProfileError] = {}
        self.store = self._open_store(record_needed=record_needed or not self._default_profile())

    def _default_profile(self) -> str | None:
        """Give the profile for jobs that the record does not know."""
        return self._selection.profile or os.environ.get("OSPROFILE_PROFILE")

    def _open_store(self, *, record_needed: bool) -> Store:
        try:
            return Store(self._selection.store or default_store_path())
        except StoreError as error:
            if record_needed:
                raise
            print_warning(f"going on without a record: {error.message}")
            return Store()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for target in self._targets.values():
            if isinstance(target, TargetSystem):
                await target.close()
        self.store.close()

    def open_selected_target(self) -> TargetSystem:
        """Give the target system that the command line names; `UsageError` if it names none."""
        profile = self._load_profile(self._default_profile())
        name = format_target_name(profile, self._selection.context)
        return self._get_target(name, profile, self._selection.context)

    def open_recorded_target(self, name: str) -> TargetSystem:
        """Give a target system by its name in the record; the same error again if it has one."""
        profile, context = parse_target_name(name)
        try:
            resolved = self._load_recorded_profile(profile)
        except OSProfileError as error:
            self._targets.setdefault(name, error)
            known = self._targets[name]
            raise known if isinstance(known, OSProfileError) else error from None
        return self._get_target(name, resolved, {**self._selection.context, **context})

    def is_selected(self, name: str) -> bool:
        """Say whether a target is one of those that `--profile` and `--host` name, if they do."""
        profile, context = parse_target_name(name)
        given = self._selection
        if given.profile and self._load_profile(given.profile).name != profile:
            return False
        return all(
            context.get(field) == given.context[field]
            for field in ("SSH:HOST", "SSH:PORT")
            if field in given.context
        )

    def find_job(self, job_id: str) -> JobReference:
        """Give a job: where `--profile` says it is, else where the record does.

        Raises `JobNotFoundError` where neither does, or the record knows several.
        """
        if self._selection.profile:
            return JobReference(job_id, self.open_selected_target())
        names = [r.target for r in self.store.find_by_id(job_id) if self.is_selected(r.target)]
        if len(names) > 1:
            message = f"job {quote_name(job_id)} is recorded on several target systems: {', '.join(names)}"
            raise JobNotFoundError(
                message, hint=f"say which: {' or '.join(map(format_target_options, names))}"
            )
        if names:
            return JobReference(job_id, self.open_recorded_target(names[0]))
        if self._default_profile():
            return JobReference(job_id, self.open_selected_target())
        message = f"job {quote_name(job_id)} is not in the record {self.store.path}"
        raise JobNotFoundError(message, hint="--profile NAME says on which target system it is")

    def suggest_other_targets(self, job: JobReference) -> str:
        """Give a hint where the record knows a job's id on other target systems only."""
        names = [r.target for r in self.store.find_by_id(job.job_id) if r.target != job.target.name]
        if not names or self.store.find_job(job.target.name, job.job_id) is not None:
            return ""
        return f"the record has this id with {' and '.join(map(format_target_options, names))}"

    def row_from_cut_record(self, record: JobRecord) -> JobRow:
        """Return the row of a submission that was cut off, with what is to be done about it."""
        if record.key is None:
            words = ["forget", *self.location_options, record.directory]
            remedy = f"{shlex.join(['incarnate', 'job', *words])} drops it"
        else:
            words = [
                *self._recorded_options(record.target),
                *self.location_options,
                "--key",
                record.key,
            ]
            remedy = f"this completes it: {shlex.join(['incarnate', 'job', 'submit', *words])}"
        return JobRow(record.target, record.status, record, CUT, remedy)

    def _recorded_options(self, name: str) -> list[str]:
        """Return the options that name a recorded target system, as it is to be named from here."""
        options = shlex.split(format_target_options(name))
        path, context = self._selection.profile, self._selection.context
        if (
            path
            and common.is_profile_path(path)
            and self._load_profile(path).name == parse_target_name(name)[0]
        ):
            options[1] = os.path.abspath(path)
        rest = {f: v for f, v in context.items() if f not in {"SSH:HOST", "SSH:PORT"}}
        return [*options, *(word for f, v in rest.items() for word in ("--context", f"{f}={v}"))]

    @property
    def location_options(self) -> list[str]:
        """The options that say where profiles and record are, for a command anywhere."""
        found = [
            w for path in self._selection.profiles for w in ("--profiles", os.path.abspath(path))
        ]
        store = self._selection.store
        return [*found, "--store", os.path.abspath(store)] if store else found

    def _load_profile(self, profile: str | None) -> Profile:
        if profile is None or profile not in self._profiles:
            self._profiles[profile or ""] = common.open_profile(profile, self._selection.profiles)
        return self._profiles[profile or ""]

    def _load_recorded_profile(self, name: str) -> Profile:
        """Give a recorded profile: a path given for this command may be it, else by name."""
        path = self._default_profile()
        if (
            path
            and common.is_profile_path(path)
            and (profile := self._load_profile(path)).name == name
        ):
            return profile
        try:
            return self._load_profile(name)
        except NotFoundError as error:
            error.hint = f"--profile PATH says where its file is; {error.hint}"
            raise

    def _get_target(self, name: str, profile: Profile, context: Mapping[str, str]) -> TargetSystem:
        found = self._targets.get(name)
        if found is None:
            try:
                found = TargetSystem(profile, context, store=self.store)
            except OSProfileError as error:
                found = error
            self._targets[name] = found
        if isinstance(found, OSProfileError):
            raise found
        return found


@final
class ErrorReporter:
    """The errors of single jobs and target systems: each is told once, the first gives the code."""

    def __init__(self) -> None:
        self.exit_code = 0
        self._reported: list[OSProfileError] = []

    def report_error(self, error: OSProfileError, subject: str) -> None:
        """Tell an error about something, unless it has been told."""
        self.exit_code = self.exit_code or error.exit_code
        if error not in self._reported:
            self._reported.append(error)
            common.print_error(error, subject)

    def report_job_error(self, job: JobReference, error: OSProfileError) -> None:
        """Tell an error of one job."""
        self.report_error(error, f"job {quote_name(job.job_id)}")


def find_jobs(
    session: JobSession, job_ids: Sequence[str], reporter: ErrorReporter
) -> list[JobReference]:
    """Give the jobs that a command line means, without those that cannot be found."""
    found = []
    for job_id in job_ids:
        try:
            found.append(session.find_job(job_id))
        except OSProfileError as error:
            # What is wrong with a profile or target is no fault of this job's.
            reporter.report_error(error, "")
    return found


async def gather_results(
    jobs: Sequence[JobReference], action: Callable[[JobReference], Awaitable[T]]
) -> list[T | OSProfileError]:
    """Do something with each job, all at once; give the results or errors in the same order."""

    async def one(job: JobReference) -> T | OSProfileError:
        try:
            return await action(job)
        except OSProfileError as error:
            return error

    return await asyncio.gather(*map(one, jobs))
