"""Check and prepare the jobs of one target: nothing is recorded or submitted here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptFailedError, ValueRefusedError
from osprofile.incarnation.context import TARGET_FIELDS
from osprofile.incarnation.evaluate import USER_HOME
from osprofile.jobs.request import build_request, list_differences, list_named_jobs
from osprofile.jobs.store import JobFiles
from osprofile.text import parse_duration, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.dependencies import DependencyResolver
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.script_runner import ScriptRunner
    from osprofile.jobs.store import JobRecord, Store, SubmissionValues
    from osprofile.jobs.submission_throttle import SubmissionThrottle

log: Final = logging.getLogger("osprofile.jobs")
_SHELL_STATUSES: Final = range(126, 144)
"""The exit statuses of a shell that could not run a command, or whose command a usual signal killed; qsub has larger ones."""
_UNRECORDED_CONTEXT: Final = frozenset({*TARGET_FIELDS, USER_HOME, "WORKING_DIRECTORY"})
"""Special fields that are not recorded with a request: they are in the target's name or path, or are the job's own."""
_NO_FILES: Final = JobFiles()
_MAX_NAMED_KEYS: Final = 3


@final
class SubmissionPreparer:
    """Checks the jobs of one target, and makes of each what is recorded and run.

    `dependencies` finds the jobs that a job depends on; `throttle` knows how large an array may be.
    """

    def __init__(
        self,
        target: str,
        scripts: ScriptRunner,
        store: Store,
        dependencies: DependencyResolver,
        throttle: SubmissionThrottle,
    ) -> None:
        self._target, self._scripts, self._store = target, scripts, store
        self._dependencies, self._throttle = dependencies, throttle

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
            await self._scripts.find_user()
        resolved = await self._dependencies.check_dependencies(list(new_jobs.values()), pending)
        for position, found in zip(new_jobs, resolved, strict=True):
            try:
                if isinstance(found, OSProfileError):
                    build_request(new_jobs[position])  # what is wrong in the description itself comes first
                    raise found
                # A script is not kept: those of many jobs are large. What is not Unicode raises UnicodeEncodeError.
                directory = directory or self._scripts.new_job_directory()
                job = replace(found, working_directory=found.working_directory or directory)
                prepared = self._scripts.prepare_submission(job)
                prepared.script.encode()
                self._throttle.check_array(prepared.array)
                read_files(job)
            except OSProfileError as error:
                errors.setdefault(position, error)
            on_checked(position)
            await asyncio.sleep(0)  # other coroutines run between
        return dict(sorted(errors.items()))

    async def preview(self, description: JobDescription) -> Incarnation:
        """Return START for a job; nothing is submitted."""
        await self._scripts.find_user()
        return self._scripts.incarnate_start(self._dependencies.replace_keys(description))[1]

    async def find_choices(self, description: JobDescription) -> Mapping[str, str]:
        """See `TargetSystem.find_choices`."""
        if not self._scripts.profile.cases:
            return {}
        return (await self.preview(description)).choices

    async def test_job(self, description: JobDescription) -> str:
        """Return what the batch system says about a job; nothing is submitted."""
        await self._scripts.find_user()
        try:
            return await self._scripts.test_job(self._dependencies.replace_keys(description))
        except ScriptFailedError as error:
            name_refusal(error, self._scripts.batch_system, "would refuse")
            raise

    async def prepare_submission(
        self, description: JobDescription, *, key: str | None, strict: bool
    ) -> tuple[str, SubmissionValues]:
        """Return the directory of a new job, and what is recorded of it."""
        request = build_request(description)
        await self._scripts.find_user()
        description = await self._dependencies.resolve_dependencies(description)
        prepared = self._scripts.prepare_submission(description, strict=strict)
        self._throttle.check_array(prepared.array)
        return prepared.directory, {
            "script": prepared.script,
            "key": key,
            "name": description.name or os.path.basename(description.executable or ""),
            "walltime": parse_duration(request.get("WALLTIME", "")),
            "array": prepared.array,
            "stdout": prepared.stdout,
            "stderr": prepared.stderr,
            "request": request,
            "application": description.application,
            "context": {n: v for n, v in self._scripts.context.items() if n not in _UNRECORDED_CONTEXT},
            "files": read_files(description),
        }

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
    from osprofile.jobs.file_trees import read_job_files  # late: it imports tarfile

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
