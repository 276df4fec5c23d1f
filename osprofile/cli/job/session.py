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
from osprofile.cli.job.rows import CUT, Row, options_of
from osprofile.errors import JobNotFoundError, NotFoundError, OSProfileError, StoreError, tell, told
from osprofile.target.names import context_of_target, target_name
from osprofile.target.process import until_signal
from osprofile.target.store import Store, default_path
from osprofile.target.system import TargetSystem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
    from types import TracebackType

    from osprofile.profile.model import Profile
    from osprofile.target.store import Record

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Given:
    """What a command line says about target systems; `profile` is `--profile`'s value."""

    profile: str | None
    context: Mapping[str, str]
    profiles: Sequence[str]
    store: str | None


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A job of a command line, and where it is."""

    job_id: str
    target: TargetSystem


class Stopped(Exception):  # noqa: N818  # no error: somebody wants the command to end
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return 128 + self.number


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a verb; a signal cancels it, so that it ends its scripts: `Stopped`."""
    received: list[int] = []
    with _warnings():
        try:
            return asyncio.run(until_signal(work, received))
        except asyncio.CancelledError:
            if not received:
                raise
            raise Stopped(received[0]) from None


@contextlib.contextmanager
def _warnings() -> Iterator[None]:
    """Have what the package logs told on standard error."""
    logger, handler = logging.getLogger("osprofile.target"), _Handler(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


@final
class _Handler(logging.Handler):
    """Tells a warning on standard error; where it came from only with OSPROFILE_DEBUG."""

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a warning."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        warn(text)
        if record.exc_info and os.environ.get("OSPROFILE_DEBUG"):
            common.tell(logging.Formatter().formatException(record.exc_info))


def warn(text: str) -> None:
    """Print a warning."""
    common.tell(tell(f"incarnate: warning: {text}"))


@final
class Session:
    """The record and the target systems of one command.

    With `record_needed` False, a record that cannot be used is a warning where `--profile` says
    which target system is meant.
    """

    def __init__(self, given: Given, *, record_needed: bool = True) -> None:
        self._given = given
        self._profiles: dict[str, Profile] = {}
        self._targets: dict[str, TargetSystem | OSProfileError] = {}
        self.store = self._open(record_needed=record_needed or not self._named())

    def _named(self) -> str | None:
        """Give the profile for jobs that the record does not know."""
        return self._given.profile or os.environ.get("OSPROFILE_PROFILE")

    def _open(self, *, record_needed: bool) -> Store:
        try:
            return Store(self._given.store or default_path())
        except StoreError as error:
            if record_needed:
                raise
            warn(f"going on without a record: {error.message}")
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

    def given_target(self) -> TargetSystem:
        """Give the target system that the command line names; `UsageError` if it names none."""
        profile = self._load(self._named())
        name = target_name(profile, self._given.context)
        return self._target(name, profile, self._given.context)

    def target(self, name: str) -> TargetSystem:
        """Give a target system by its name in the record; the same error again if it has one."""
        profile, context = context_of_target(name)
        try:
            resolved = self._load_named(profile)
        except OSProfileError as error:
            self._targets.setdefault(name, error)
            known = self._targets[name]
            raise known if isinstance(known, OSProfileError) else error from None
        return self._target(name, resolved, {**self._given.context, **context})

    def is_meant(self, name: str) -> bool:
        """Say whether a target is one of those that `--profile` and `--host` name, if they do."""
        profile, context = context_of_target(name)
        given = self._given
        if given.profile and self._load(given.profile).name != profile:
            return False
        return all(
            context.get(field) == given.context[field]
            for field in ("SSH:HOST", "SSH:PORT")
            if field in given.context
        )

    def job(self, job_id: str) -> Job:
        """Give a job: where `--profile` says it is, else where the record does.

        Raises `JobNotFoundError` where neither does, or the record knows several.
        """
        if self._given.profile:
            return Job(job_id, self.given_target())
        names = [r.target for r in self.store.by_id(job_id) if self.is_meant(r.target)]
        if len(names) > 1:
            message = (
                f"job {told(job_id)} is recorded on several target systems: {', '.join(names)}"
            )
            raise JobNotFoundError(
                message, hint=f"say which: {' or '.join(map(options_of, names))}"
            )
        if names:
            return Job(job_id, self.target(names[0]))
        if self._named():
            return Job(job_id, self.given_target())
        message = f"job {told(job_id)} is not in the record {self.store.path}"
        raise JobNotFoundError(message, hint="--profile NAME says on which target system it is")

    def elsewhere(self, job: Job) -> str:
        """Give a hint where the record knows a job's id on other target systems only."""
        names = [r.target for r in self.store.by_id(job.job_id) if r.target != job.target.name]
        if not names or self.store.find(job.target.name, job.job_id) is not None:
            return ""
        return f"the record has this id with {' and '.join(map(options_of, names))}"

    def cut(self, record: Record) -> Row:
        """Return the row of a submission that was cut off, with what is to be done about it."""
        if record.key is None:
            words = ["forget", *self.further, record.directory]
            remedy = f"{shlex.join(['incarnate', 'job', *words])} drops it"
        else:
            words = [*self._options(record.target), *self.further, "--key", record.key]
            remedy = f"this completes it: {shlex.join(['incarnate', 'job', 'submit', *words])}"
        return Row(record.target, record.status, record, CUT, remedy)

    def _options(self, name: str) -> list[str]:
        """Return the options that name a recorded target system, as it is to be named from here."""
        options = shlex.split(options_of(name))
        path, context = self._given.profile, self._given.context
        if path and common.is_path(path) and self._load(path).name == context_of_target(name)[0]:
            options[1] = os.path.abspath(path)
        rest = {f: v for f, v in context.items() if f not in {"SSH:HOST", "SSH:PORT"}}
        return [*options, *(word for f, v in rest.items() for word in ("--context", f"{f}={v}"))]

    @property
    def further(self) -> list[str]:
        """The options that say where profiles and record are, for a command anywhere."""
        found = [w for path in self._given.profiles for w in ("--profiles", os.path.abspath(path))]
        store = self._given.store
        return [*found, "--store", os.path.abspath(store)] if store else found

    def _load(self, profile: str | None) -> Profile:
        if profile is None or profile not in self._profiles:
            self._profiles[profile or ""] = common.open_profile(profile, self._given.profiles)
        return self._profiles[profile or ""]

    def _load_named(self, name: str) -> Profile:
        """Give a recorded profile: a path given for this command may be it, else by name."""
        path = self._named()
        if path and common.is_path(path) and (profile := self._load(path)).name == name:
            return profile
        try:
            return self._load(name)
        except NotFoundError as error:
            error.hint = f"--profile PATH says where its file is; {error.hint}"
            raise

    def _target(self, name: str, profile: Profile, context: Mapping[str, str]) -> TargetSystem:
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
class Failures:
    """The errors of single jobs and target systems: each is told once, the first gives the code."""

    def __init__(self) -> None:
        self.exit_code = 0
        self._kept: list[OSProfileError] = []

    def add(self, error: OSProfileError, about: str) -> None:
        """Tell an error about something, unless it has been told."""
        self.exit_code = self.exit_code or error.exit_code
        if error not in self._kept:
            self._kept.append(error)
            common.tell_error(error, about)

    def of(self, job: Job, error: OSProfileError) -> None:
        """Tell an error of one job."""
        self.add(error, f"job {told(job.job_id)}")


def find(session: Session, job_ids: Sequence[str], failures: Failures) -> list[Job]:
    """Give the jobs that a command line means, without those that cannot be found."""
    found = []
    for job_id in job_ids:
        try:
            found.append(session.job(job_id))
        except OSProfileError as error:
            # What is wrong with a profile or target is no fault of this job's.
            failures.add(error, "")
    return found


async def each(jobs: Sequence[Job], do: Callable[[Job], Awaitable[T]]) -> list[T | OSProfileError]:
    """Do something with each job, all at once; give the results or errors in the same order."""

    async def one(job: Job) -> T | OSProfileError:
        try:
            return await do(job)
        except OSProfileError as error:
            return error

    return await asyncio.gather(*map(one, jobs))
