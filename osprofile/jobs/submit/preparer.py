"""Check and prepare the jobs of one target: nothing is recorded or submitted here.

Of the jobs that a job depends on, keys and ids become the field DEPENDENCY, and are checked before: a batch system may
accept the id of a job that it never had, and keep the new job waiting for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import JobNotFoundError, OSProfileError, ScriptFailedError, ValueRefusedError
from osprofile.incarnation.context import TARGET_FIELDS
from osprofile.incarnation.evaluate import USER_HOME
from osprofile.jobs.fields import DEPENDENCY_FIELD
from osprofile.jobs.record.store import JobFiles
from osprofile.jobs.request import build_request, list_dependencies, list_differences, list_named_jobs
from osprofile.jobs.state import JobState
from osprofile.late import NamedTuple, compile_late
from osprofile.text import parse_duration, quote_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.record.store import JobRecord, Store, SubmissionValues
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.submit.starts import StartScripts
    from osprofile.jobs.submit.throttle import SubmissionThrottle


log: Final = logging.getLogger("osprofile.jobs")
_SHELL_STATUSES: Final = range(126, 144)
"""The exit statuses of a shell that could not run a command, or whose command a usual signal killed; qsub has larger ones."""
_UNRECORDED_CONTEXT: Final = frozenset({*TARGET_FIELDS, USER_HOME, "WORKING_DIRECTORY"})
"""Special fields that are not recorded with a request: they are in the target's name or path, or are the job's own."""
_NO_FILES: Final = JobFiles()
_CONDITION: Final = compile_late(r"after[a-z]*:(.*)", re.DOTALL)
_HINT: Final = "give the id of a job, or the key that it was submitted with"
_MAX_NAMED_KEYS: Final = 3


@final
class SubmissionPreparer:
    """Checks the jobs of one target, and makes of each what is recorded and run.

    `dependencies` finds the jobs that a job depends on; `throttle` knows how large an array may be.
    """

    def __init__(
        self,
        target: str,
        starts: StartScripts,
        store: Store,
        dependencies: DependencyResolver,
        throttle: SubmissionThrottle,
    ) -> None:
        self._target, self._starts, self._store = target, starts, store
        self._dependencies, self._throttle = dependencies, throttle
        self._told: set[str] = set()
        """The warnings about retries that were logged."""

    async def check_jobs(
        self, jobs: Sequence[tuple[JobDescription, str | None]], on_checked: Callable[[int], object]
    ) -> dict[int, OSProfileError]:
        """Return why jobs, given with their keys, would be refused, by position; nothing is submitted.

        A job whose key is in the record is not checked, but for a warning if its request was another. A job may depend on
        the keys of those before it. `on_checked(position)` is called for each that is checked.
        """
        directory = ""  # of all that have none of their own: a value that was checked before costs nothing
        new_jobs: dict[int, JobDescription] = {}
        pending: list[frozenset[str]] = []
        earlier_jobs: dict[str, JobDescription] = {}
        errors: dict[int, OSProfileError] = {}
        known: list[tuple[JobDescription, JobRecord, str]] = []
        for position, (description, key) in enumerate(jobs):
            record = None if key is None else self._store.find_by_key(self._target, key)
            if record is not None:
                known.append((description, record, record.status.job_id))
            else:
                new_jobs[position] = description
                pending.append(frozenset(earlier_jobs.keys() & list_named_jobs(description)))
            if key is not None and _is_other_job(earlier_jobs.setdefault(key, description), description):
                message = (
                    f"the key {quote_name(key)} is also that of an earlier job, whose request is another"
                )
                errors[position] = ValueRefusedError(
                    message, field="key", hint="give each job a key of its own"
                )
        self.warn_of_other_requests(known)
        if new_jobs:
            await self._starts.shell.find_user()
        resolved = await self._dependencies.check_dependencies(list(new_jobs.values()), pending)
        for position, found in zip(new_jobs, resolved, strict=True):
            try:
                if isinstance(found, OSProfileError):
                    build_request(new_jobs[position])  # what is wrong in the description itself comes first
                    raise found
                # A script is not kept: those of many jobs are large. What is not Unicode raises UnicodeEncodeError.
                directory = directory or self._starts.new_job_directory()
                job = replace(found, working_directory=found.working_directory or directory)
                prepared = self._starts.prepare_submission(job)
                prepared.script.encode()
                self._throttle.check_array(prepared.array)
                read_files(job)
                self._fit_retries(job)
            except OSProfileError as error:
                errors.setdefault(position, error)
            on_checked(position)
            await asyncio.sleep(0)  # other coroutines run between
        return dict(sorted(errors.items()))

    async def preview(self, description: JobDescription) -> Incarnation:
        """Return START for a job; nothing is submitted."""
        await self._starts.shell.find_user()
        description = self._dependencies.replace_keys(description)
        self._fit_retries(description)
        return self._starts.incarnate_start(self._ask_for_requeue(description))[1]

    async def find_choices(self, description: JobDescription) -> Mapping[str, str]:
        """See `TargetSystem.find_choices`."""
        if not self._starts.profile.cases:
            return {}
        return (await self.preview(description)).choices

    async def test_job(self, description: JobDescription) -> str:
        """Return what the batch system says about a job; nothing is submitted."""
        await self._starts.shell.find_user()
        try:
            return await self._starts.test_job(self._dependencies.replace_keys(description))
        except ScriptFailedError as error:
            name_refusal(error, self._starts.batch_system, "would refuse")
            raise

    async def prepare_submission(
        self, description: JobDescription, *, key: str | None, strict: bool
    ) -> tuple[str, SubmissionValues]:
        """Return the directory of a new job, and what is recorded of it."""
        request = build_request(description)
        await self._starts.shell.find_user()
        resolved = await self._dependencies.resolve_dependencies(description)
        retry = self._fit_retries(resolved)
        resolved = self._ask_for_requeue(resolved)
        known_request = request if resolved is description else None
        prepared = self._starts.prepare_submission(resolved, strict=strict, request=known_request)
        self._throttle.check_array(prepared.array)
        return prepared.directory, {
            "script": prepared.script,
            "key": key,
            "name": description.name or os.path.basename(request.get("EXECUTABLE", "")),
            "walltime": parse_duration(request.get("WALLTIME", "")),
            "array": prepared.array,
            "stdout": prepared.stdout,
            "stderr": prepared.stderr,
            "request": request,
            "application": description.application,
            "context": {n: v for n, v in self._starts.shell.context.items() if n not in _UNRECORDED_CONTEXT},
            "files": read_files(description),
            "passed_options": description.passed_options,
            "retry": retry,
        }

    def _fit_retries(self, description: JobDescription) -> list[str]:
        """Return the rules by which a job may be submitted again; warn once of what the site's limits leave of each."""
        if not description.retry:
            return []
        from osprofile.jobs.submit.attempts import fit_rules  # late: few jobs have rules

        fitted = list(fit_rules(self._starts, description))
        for warning in dict.fromkeys(warning for _, warning in fitted):
            if warning and warning not in self._told:
                self._told.add(warning)
                log.warning("%s", warning)
        return [str(rule) for rule, _ in fitted if rule.limit]

    def _ask_for_requeue(self, description: JobDescription) -> JobDescription:
        """Return a job that the batch system itself runs again after the failure of a node, if a rule asks for that."""
        if not description.retry:
            return description
        from osprofile.jobs.submit.attempts import ask_for_requeue  # late: few jobs have rules

        return ask_for_requeue(self._starts, description)

    def warn_of_other_requests(self, jobs: Iterable[tuple[JobDescription, JobRecord, str]]) -> None:
        """Warn once of all keys, given with their records and ids, whose jobs were submitted with other requests."""
        found: dict[str, str] = {}
        different: dict[str, None] = {}
        for description, record, job_id in jobs:
            with contextlib.suppress(OSProfileError):  # the job is known
                if names := self._list_differences(description, record):
                    found[quote_name(record.key or "")] = job_id
                    different |= dict.fromkeys(names)
        if not found:
            return
        words = f"{', '.join(different)} {'differs' if len(different) == 1 else 'differ'}"
        key, job_id = next(iter(found.items()))
        message = f"the key {key} belongs to job {quote_name(job_id)}, whose request was another ({words}): it is returned;"
        if len(found) > 1:
            keys = ", ".join([*found][:_MAX_NAMED_KEYS]) + ", ..." * (len(found) > _MAX_NAMED_KEYS)
            message = f"{len(found)} keys ({keys}) belong to jobs whose requests were others ({words}): these are returned;"
        log.warning("%s for a new job give a new key", message)

    def _list_differences(self, description: JobDescription, record: JobRecord) -> list[str]:
        """Return the names of what differs between a request and the recorded one of its key."""
        recorded = self._store.read_details(record.number)
        request = build_request(description)
        if recorded.request is None or not (request.get("EXECUTABLE") or description.application):
            return []  # not known; or only the key was given, to complete a submission
        different = list_differences(request, recorded.request)
        different += ["application"] * (description.application != recorded.application)
        files = read_files(description)
        different += ["inputs"] * (dict(files.inputs) != dict(recorded.files.inputs))
        different += ["fetch"] * (list(files.fetch) != list(recorded.files.fetch))
        return different


def read_files(description: JobDescription) -> JobFiles:
    """Return what is copied for a job; see `file_trees.read_job_files`."""
    if not description.inputs and not description.fetch:
        return _NO_FILES
    from osprofile.jobs.files.trees import read_job_files  # late: it imports tarfile

    return read_job_files(description)


def name_refusal(error: ScriptFailedError, batch_system: str, verb: str = "refused") -> None:
    """Make the batch system's own words the message of START, unless START itself has failed."""
    has_own_words = error.output.startswith(f"{error.template}: ")
    if batch_system and error.output and not has_own_words and error.exit_status not in _SHELL_STATUSES:
        error.message = f"{batch_system} {verb} the job: {error.output}"


def _is_other_job(first: JobDescription, other: JobDescription) -> bool:
    """Return whether two descriptions have different requests; False for the same one, and for one that is not valid."""
    if first is other:
        return False
    with contextlib.suppress(OSProfileError):
        return (build_request(first), first.application) != (build_request(other), other.application)
    return False


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
        if not field_ids and not any(ids.values()):
            return description
        for error in (
            await self._find_errors(dict.fromkeys(itertools.chain(*ids.values(), field_ids)))
        ).values():
            raise error
        # The record may be old: a batch system may have forgotten a job whose end is not recorded yet.
        found = {
            job_id: self._store.find_job(self._target, job_id) for job_id in itertools.chain(*ids.values())
        }
        if live_ids := [j for j, r in found.items() if r is not None and not r.status.state.is_terminal]:
            await self._refresh_jobs(live_ids)
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
