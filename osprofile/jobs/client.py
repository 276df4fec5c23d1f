"""One record, and the target systems whose jobs it has: what every program opens that knows jobs.

A program has a client in place of a record and target systems of its own: `incarnate job`, the stand-ins and
`JobSession`, and the daemons.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.errors import JobNotFoundError, OSProfileError, StoreError
from osprofile.incarnation.context import add_target_fields
from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.shell.loop import gather
from osprofile.jobs.target_system import TargetSystem
from osprofile.late import NamedTuple
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.timing import Timing
    from osprofile.profile.model import Profile

T = TypeVar("T")
log: Final = logging.getLogger("osprofile.jobs")


@final
class JobReference(NamedTuple):
    """The id of a job, and the target system on which it is."""

    job_id: str
    target: TargetSystem

    @property
    def record(self) -> JobRecord | None:
        """What is recorded of the job; None if it has no record."""
        return self.target.find_record(self.job_id)


@final
class JobClient:
    """One record, and the target systems of its jobs, each opened at its first use.

    `path` is that of the record (default: the user's own). With `record_needed=False`, a record that cannot be used
    is replaced by one in memory, with a warning. `timing` and `max_parallel_scripts` are as for `TargetSystem`.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        record_needed: bool = True,
        timing: Timing | None = None,
        max_parallel_scripts: int = 8,
    ) -> None:
        self._path, self._record_needed = path, record_needed
        self._timing, self._max_parallel_scripts = timing, max_parallel_scripts
        self._targets: dict[tuple[str, ...], TargetSystem | OSProfileError] = {}
        self._recoveries: set[asyncio.Task[None]] = set()

    @cached_property
    def store(self) -> Store:
        """The record. Raises `StoreError` if it is needed, and cannot be used."""
        try:
            return Store(self._path or default_store_path())
        except StoreError as error:
            if self._record_needed:
                raise
            log.warning("continuing without a record: %s", error.message)
            return Store()

    async def close(self) -> None:
        """Stop watching the jobs, which continue to run, and close the record."""
        for task in self._recoveries:
            task.cancel()
        if self._recoveries:
            await asyncio.gather(*self._recoveries, return_exceptions=True)
        for target in self._targets.values():
            if isinstance(target, TargetSystem):
                await target.close()
        if "store" in self.__dict__:
            self.store.close()

    def open_target(self, profile: Profile, context: Mapping[str, str]) -> TargetSystem:
        """Return the target system of a profile and a context: the same one, or the same error, at each call."""
        pairs = sorted(add_target_fields(profile, context).items())
        key = (profile.name, str(profile.refusal or ""), *(word for pair in pairs for word in pair))
        if key not in self._targets:
            try:
                self._targets[key] = TargetSystem(
                    profile,
                    context,
                    store=self.store,
                    timing=self._timing,
                    max_parallel_scripts=self._max_parallel_scripts,
                )
            except OSProfileError as error:
                self._targets[key] = error
        if isinstance(target := self._targets[key], OSProfileError):
            raise target
        return target

    def recover_submissions(self, target: TargetSystem) -> None:
        """Find the jobs whose submission was cut off when an earlier process ended, in the background; submit nothing."""
        task = asyncio.ensure_future(_recover_submissions(target))
        self._recoveries.add(task)
        task.add_done_callback(self._recoveries.discard)

    def find_records(self, word: str, is_selected: Callable[[str], bool]) -> list[JobRecord]:
        """Return the records of the selected target systems whose id is `word`; without one, those whose key it is."""
        for find in (self.store.find_on_all_targets, self.store.find_key_on_all_targets):
            if selected := [record for record in find(word) if is_selected(record.target)]:
                return selected
        return []


def require_id(record: JobRecord, hint: str) -> str:
    """Return the id of the job of a record. Raises `JobNotFoundError` if its submission is not complete."""
    if record.is_submitted:
        return record.status.job_id
    message = (
        f"the job with the key {quote_name(record.key or '')} has no id yet: its submission is not complete"
    )
    raise JobNotFoundError(message, hint=hint)


async def gather_results(
    jobs: Iterable[JobReference], action: Callable[[JobReference], Awaitable[T]]
) -> list[T | OSProfileError]:
    """Await an action for all jobs at once, and return their results or errors in the same order."""

    async def catch_error(job: JobReference) -> T | OSProfileError:
        try:
            return await action(job)
        except OSProfileError as error:
            return error

    return await gather([*map(catch_error, jobs)])


async def query_jobs(jobs: Sequence[JobReference]) -> dict[JobReference, JobStatus | OSProfileError]:
    """Return the status of each job, or why it is not known: `JobNotFoundError` for one that nobody knows.

    The jobs of one target system share a query.
    """
    groups: defaultdict[TargetSystem, list[JobReference]] = defaultdict(list)
    for job in jobs:
        groups[job.target].append(job)
    results: dict[JobReference, JobStatus | OSProfileError] = {}
    for answers in await gather([*map(_query_target, groups, groups.values())]):
        results |= answers
    return results


async def _query_target(
    target: TargetSystem, jobs: Sequence[JobReference]
) -> dict[JobReference, JobStatus | OSProfileError]:
    answers: Mapping[str, JobStatus | OSProfileError] = {}
    if len(jobs) > 1:
        try:
            answers = await target.statuses_or_errors([job.job_id for job in jobs])
        except OSProfileError as error:
            return dict.fromkeys(jobs, error)
    # A single job, and each that is not known, is asked for by itself: the answer says why.
    rest = [job for job in jobs if job.job_id not in answers]
    rest_answers = await gather_results(rest, lambda job: target.status(job.job_id))
    results = {job: answers[job.job_id] for job in jobs if job.job_id in answers}
    return results | dict(zip(rest, rest_answers, strict=True))


async def _recover_submissions(target: TargetSystem) -> None:
    try:
        for job in await target.recover_submissions(resubmit=False):
            log.info("%s: cut off in %s: %s", target.name, job.record.directory, job.job_id or job.error)
    except OSProfileError as error:
        log.warning("%s: cannot look for submissions that were cut off: %s", target.name, error)
