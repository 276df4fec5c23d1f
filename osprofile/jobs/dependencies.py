"""The jobs that a job depends on: keys and ids become the field DEPENDENCY, and are checked before.

A batch system may accept the id of a job that it never had, and keep the new job waiting for ever.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import JobNotFoundError, OSProfileError
from osprofile.jobs.fields import DEPENDENCY_FIELD
from osprofile.jobs.request import list_dependencies
from osprofile.jobs.state import JobState
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import Store

_CONDITION: Final = re.compile(r"after[a-z]*:(.*)", re.DOTALL)
_HINT: Final = "give the id of a job, or the key that it was submitted with"


class _FoundIds(NamedTuple):
    """A description with ids in place of keys, and all ids in it."""

    description: JobDescription
    ids: Sequence[str]


@final
class DependencyResolver:
    """Finds the jobs of one target that others depend on.

    `query_jobs(job_ids)` asks the batch system for those that are not in the record, and
    `refresh_jobs(job_ids)` records which of the others have ended.
    """

    def __init__(
        self,
        target: str,
        store: Store,
        query_jobs: Callable[[Iterable[str]], Awaitable[Mapping[str, JobStatus | OSProfileError]]],
        refresh_jobs: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:
        self._target, self._store = target, store
        self._query_jobs, self._refresh_jobs = query_jobs, refresh_jobs

    async def resolve_dependencies(self, description: JobDescription) -> JobDescription:
        """Return a description that has ids in place of keys, all of them of known jobs.

        A condition is left out if the record shows that it is met.
        The ids in the field DEPENDENCY are checked. Raises `JobNotFoundError` for a job that nobody
        knows or that has no id yet, and the error if the batch system cannot be asked.
        """
        ids = {
            condition: [self._find_id(name) for name in names]
            for condition, names in list_dependencies(description).items()
        }
        field_ids = _extract_ids(description.fields.get(DEPENDENCY_FIELD, ""))
        for error in (
            await self._find_errors(dict.fromkeys(itertools.chain(*ids.values(), field_ids)))
        ).values():
            raise error
        await self._refresh_live_jobs(dict.fromkeys(itertools.chain(*ids.values())))
        after_ok, after_not_ok, after_any = (
            [job_id for job_id in listed if not self._is_met(condition, job_id)]
            for condition, listed in ids.items()
        )
        return replace(description, after_ok=after_ok, after_not_ok=after_not_ok, after_any=after_any)

    def replace_keys(self, description: JobDescription) -> JobDescription:
        """Return a description that has ids in place of keys, by the record alone. Raises `JobNotFoundError`."""
        found = self._find_ids(description, ())
        if isinstance(found, OSProfileError):
            raise found
        return found.description

    async def check_dependencies(
        self, descriptions: Sequence[JobDescription], pending: Sequence[Collection[str]]
    ) -> list[JobDescription | OSProfileError]:
        """Return each description with ids in place of keys, or why its job cannot depend on another.

        `pending` has for each the keys of jobs that will be submitted before it: these names are left out. Every
        other job is asked for once, however many depend on it.
        """
        found = [self._find_ids(*pair) for pair in zip(descriptions, pending, strict=True)]
        ids = itertools.chain.from_iterable(f.ids for f in found if isinstance(f, _FoundIds))
        errors = await self._find_errors(dict.fromkeys(ids))
        return [
            next((errors[job_id] for job_id in f.ids if job_id in errors), f.description)
            if isinstance(f, _FoundIds)
            else f
            for f in found
        ]

    def _find_ids(self, description: JobDescription, pending: Collection[str]) -> _FoundIds | OSProfileError:
        try:
            after_ok, after_not_ok, after_any = (
                [self._find_id(name) for name in names if name not in pending]
                for names in list_dependencies(description).values()
            )
        except OSProfileError as error:
            return error
        field_ids = _extract_ids(description.fields.get(DEPENDENCY_FIELD, ""))
        changed = replace(description, after_ok=after_ok, after_not_ok=after_not_ok, after_any=after_any)
        return _FoundIds(changed, [*after_ok, *after_not_ok, *after_any, *field_ids])

    def _find_id(self, name: str) -> str:
        """Return the id of the job that has a key, else the name itself."""
        record = self._store.find_by_key(self._target, name)
        if record is None:
            return name
        if not record.is_submitted:
            message = f"the job with the key {quote_name(name)} has no id yet: its submission is not complete"
            raise JobNotFoundError(message, hint="complete it first: submit that job again with its key")
        return record.status.job_id

    def _is_met(self, condition: str, job_id: str) -> bool:
        """Return whether a condition is met by the record: a batch system forgets the jobs that have ended."""
        record = self._store.find_job(self._target, job_id)
        status = record.status if record is not None else None
        if status is None or not status.state.is_terminal or status.state is JobState.LOST:
            return False
        if condition != "afterany" and self._has_unknown_end(job_id, status):
            return False
        is_success = status.state is JobState.DONE and status.exit_code == 0
        return condition == "afterany" or is_success == (condition == "afterok")

    def _has_unknown_end(self, job_id: str, status: JobStatus) -> bool:
        """Return whether it is not known if an ended job, or a task of it, ended with 0."""
        tasks = [task.status for task in self._store.list_tasks(self._target, job_id)]
        return any(
            s.state is JobState.LOST or (s.state is JobState.DONE and s.exit_code is None)
            for s in tasks or [status]
        )

    async def _refresh_live_jobs(self, job_ids: Iterable[str]) -> None:
        """Update the record: a batch system may have forgotten a job whose end is not recorded yet."""
        records = [self._store.find_job(self._target, job_id) for job_id in job_ids]
        live_ids = [r.status.job_id for r in records if r is not None and not r.status.state.is_terminal]
        if live_ids:
            await self._refresh_jobs(live_ids)

    async def _find_errors(self, job_ids: Iterable[str]) -> dict[str, OSProfileError]:
        """Return why there is no job to depend on, by the ids for which there is none."""
        unrecorded = [j for j in job_ids if self._store.find_job(self._target, j) is None]
        errors: dict[str, OSProfileError] = {}
        try:
            answers = await self._query_jobs(unrecorded) if unrecorded else {}
        except OSProfileError as error:
            return dict.fromkeys(unrecorded, error)
        for job_id in unrecorded:
            answer = answers.get(job_id)
            if answer is None:
                message = f"the job cannot depend on {quote_name(job_id)}: no such job is known"
                errors[job_id] = JobNotFoundError(message, hint=_HINT)
            elif isinstance(answer, OSProfileError):
                errors[job_id] = answer
        return errors


def _extract_ids(value: str) -> list[str]:
    """Return the ids in a value of DEPENDENCY; what is malformed is left for the field's pattern."""
    matches = map(_CONDITION.fullmatch, value.split(","))
    return [job_id for match in matches if match is not None for job_id in match[1].split(":")]
