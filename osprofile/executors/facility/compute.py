"""A resource: the jobs of one target system, as the API has them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import posixpath
import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    ScriptError,
    ScriptFailedError,
    TemplateNotFoundError,
)
from osprofile.executors.facility.filesystem import check_path
from osprofile.executors.facility.job_spec import (
    MEMBER_BY_FIELD,
    build_description,
    format_spec,
    name_members,
)
from osprofile.executors.facility.job_states import JobFilter, format_status, get_state
from osprofile.executors.facility.problems import (
    BUSY_RETRY_SECONDS,
    RETRY_SECONDS,
    InvalidParameter,
    ProblemError,
    build_away_problem,
    build_problem,
    refuse,
)
from osprofile.jobs.arrays import count_indices
from osprofile.jobs.diagnosis import Remedies, diagnose
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.files.directory import JobFile
from osprofile.jobs.profiles import list_settable_fields, needs_confirmation
from osprofile.jobs.request import build_request, list_differences
from osprofile.jobs.state import JobState
from osprofile.text import quote_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.jobs.shell.output import FileEntry, NodeStatus, QueueStatus
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem

T = TypeVar("T")
log: Final = logging.getLogger("osprofile.facility")
_KEY_PREFIX: Final = "iri-launch:"
"""Begins the key of a submission with an Idempotency-Key: others have keys of their own in the same record."""
_AWAY_NOTE: Final = "the batch system does not answer: this is the last known state"
_AWAY_ERRORS: Final = (ScriptError, ScriptFailedError, OutputError)
MAX_OUTPUT_SIZE: Final = 64 << 10
"""Bytes of the end of a job's output that are read at once."""
_STATUS_AGE: Final = 60.0
"""Seconds for which it is known whether a batch system answers."""
_STATUS_RETRY: Final = 15.0
"""Seconds after which a batch system that did not answer is asked again."""
_STATUS_TIMEOUT: Final = 10.0
"""Seconds that a request waits for a batch system; one that has not answered by then may be busy, and is not known to be away."""
_REMEDIES: Final = Remedies(
    memory="resources.memory",
    walltime="attributes.duration",
    rerun="another launch",
    show="its own explanation",
    new_profile="report this to the facility",
)
_MEMBER_BY_ATTRIBUTE: Final = {
    attribute: MEMBER_BY_FIELD[field]
    for attribute, field in FIELD_BY_ATTRIBUTE.items()
    if field in MEMBER_BY_FIELD
}


@final
class Health:
    """Whether a batch system answers, for all of its users: `status` is up, down or unknown, `since` in s since 1970."""

    def __init__(self) -> None:
        self.status, self.since = "unknown", time.time()
        self._next_check = 0.0
        self._lock = asyncio.Lock()

    def note(self, status: str) -> None:
        """Note that the batch system has answered, or has not."""
        self._next_check = time.monotonic() + (_STATUS_AGE if status == "up" else _STATUS_RETRY)
        if status != self.status:
            self.status, self.since = status, time.time()

    async def check(self, target: TargetSystem) -> None:
        """Ask the batch system, at most once a minute."""
        async with self._lock:
            if time.monotonic() < self._next_check:
                return
            try:
                async with asyncio.timeout(_STATUS_TIMEOUT):
                    await target.poll(_STATUS_AGE)
                self.note("up")
            except TimeoutError:
                self.note("unknown")
                log.warning("%s: the batch system has not answered within %g s", target.name, _STATUS_TIMEOUT)
            except OSProfileError as error:
                self.note("down")
                log.warning("%s: the batch system does not answer: %s", target.name, error)


@final
class Quota:
    """How many jobs of one user may live, on all resources: at most so many; 0 for any number."""

    def __init__(self, most: int) -> None:
        self._most, self._starting = most, 0

    @contextlib.contextmanager
    def hold(self, store: Store, count: int) -> Iterator[None]:
        """Keep places for jobs that are being submitted. Raises `ProblemError` if there are not so many."""
        if self._most:
            live = sum(count_indices(record.array) for record in store.list_live_jobs()) + self._starting
            if live + count > self._most:
                message = f"{live} jobs live, and a user may have {self._most}"
                raise ProblemError("too-many-requests", message, retry_after=RETRY_SECONDS)
        self._starting += count
        try:
            yield
        finally:
            self._starting -= count


@final
class Resource:
    """One user's jobs of one target system; `resource_id` is its id for clients."""

    def __init__(
        self,
        resource_id: str,
        target: TargetSystem,
        max_age: float,
        health: Health,
        quota: Quota | None = None,
    ) -> None:
        self.resource_id, self.target = resource_id, target
        self._max_age, self.health = max_age, health
        self._label = f"{target.user_name}: {resource_id}"
        self.field_names = list_settable_fields(target.profile)
        """The fields that a job may set."""
        self._quota = quota or Quota(0)
        self._running_keys: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Follow the jobs of the record from now on."""
        self._tasks = [asyncio.ensure_future(self._follow())]

    async def close(self) -> None:
        """Stop following the jobs, which continue to run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        """Read the events of all jobs: their ends are recorded when they come, and not when a client asks."""
        events = self.target.events()
        with contextlib.suppress(OSProfileError):
            for record in self.target.store.list_live_jobs(self.target.name):
                await self.target.watch(record.status.job_id)
        async for event in events:
            if event.state.is_terminal:
                with contextlib.suppress(OSProfileError):
                    self.target.unwatch_ended(event.job_id)

    # Jobs

    def require_no_confirmation(self) -> None:
        """Raise `ProblemError` if a person must confirm what is launched and canceled: the API has nobody to ask."""
        if needs_confirmation(self.target.profile):
            message = (
                "a person must confirm jobs of this resource (SITE_CONFIRM), and this API cannot ask one"
            )
            hint = (
                "use the tools for agents (osprofile-mcp, or /mcp) with a client that asks, or incarnate job"
            )
            raise ProblemError("forbidden", message, hint=hint)

    async def launch_job(self, spec: Mapping[str, Any], idempotency_key: str | None) -> dict[str, Any]:
        """Submit a job, and return it; with a key that was used before, return the job of that key.

        Raises `ProblemError`.
        """
        description = build_description(spec, self.field_names)
        members = name_members(spec, self.field_names)
        if idempotency_key is None:
            return await self._submit(description, None, members)
        key = f"{_KEY_PREFIX}{idempotency_key.lower()}"
        if key in self._running_keys:
            message = "a request with this Idempotency-Key is under way"
            raise ProblemError("conflict", message, retry_after=BUSY_RETRY_SECONDS)
        self._running_keys.add(key)
        try:
            self._check_key(key, description, members)
            return await self._submit(description, key, members)
        finally:
            self._running_keys.discard(key)

    def _check_key(self, key: str, description: JobDescription, members: Mapping[str, str]) -> None:
        """Raise `ProblemError` if a key was used for another job."""
        record = self.target.find_by_key(key)
        if record is not None and (different := self._list_differences(record, description, members)):
            message = "the Idempotency-Key was used for another request"
            raise ProblemError(
                "unprocessable",
                message,
                hint="give each job a key of its own",
                invalid_params=[
                    InvalidParameter(name, "it differs from that of the first request") for name in different
                ],
            )

    def _list_differences(
        self, record: JobRecord, description: JobDescription, members: Mapping[str, str]
    ) -> list[str]:
        """Return the members in which a job differs from the description of another one."""
        details = self.target.store.read_details(record.number)
        if details.request is None:
            return ["executable"]
        try:
            different = list_differences(build_request(description), details.request)
        except OSProfileError as error:
            raise build_problem(error, members) from None
        names = [
            _MEMBER_BY_ATTRIBUTE.get(n) or members.get(n, f"attributes.custom_attributes.{n}")
            for n in different
        ]
        return names if description.application == details.application else [*names, "launcher"]

    async def _submit(
        self, description: JobDescription, key: str | None, members: Mapping[str, str]
    ) -> dict[str, Any]:
        earlier = None if key is None else self.target.find_by_key(key)
        is_new = earlier is None or not earlier.is_submitted
        try:
            count = count_indices(build_request(description).get("ARRAY", "")) if is_new else 0
            with self._quota.hold(self.target.store, count):
                job_id = await self.target.submit(description, key=key)
        except OutcomeUnknownError as error:
            if key is None:
                raise ProblemError(
                    "gateway-timeout",
                    f"whether the job was submitted is not known: {error.message}",
                    hint="list the jobs before you launch it again, and give an Idempotency-Key",
                ) from None
            hint = "repeat the request with the same Idempotency-Key: it submits no second job"
            raise ProblemError(
                "service-unavailable", error.message, hint=hint, retry_after=RETRY_SECONDS
            ) from None
        except ScriptFailedError as error:
            raise await self._explain_failure(error, "unprocessable") from None
        except OSProfileError as error:
            raise build_problem(error, members) from None
        log.info("%s: %s job %s", self._label, "launched" if is_new else "found", job_id)
        record = self.target.find_record(job_id)
        status = self._get_known_status(job_id, record)
        return {"id": job_id} if status is None else self._format_job(status, record)

    async def _explain_failure(self, error: ScriptFailedError, kind: str) -> ProblemError:
        """Return the problem of a command that failed: the batch system refuses it, or does not answer at all."""
        try:
            await self.target.poll()
        except _AWAY_ERRORS:
            self.health.note("down")
            return build_away_problem(error)
        except OSProfileError as other:
            return build_problem(other)
        return ProblemError(kind, error.message, hint=error.hint)

    async def preview_job(self, spec: Mapping[str, Any]) -> str:
        """Return the script that would submit a job; nothing is submitted. Raises `ProblemError`."""
        description = build_description(spec, self.field_names)
        try:
            return (await self.target.preview(description)).text
        except OSProfileError as error:
            raise build_problem(error, name_members(spec, self.field_names)) from None

    async def read_output(self, job_id: str, stream: str, lines: int) -> str:
        """Return the last lines of a job's file `stdout` or `stderr`; empty if it has not begun. Raises `ProblemError`."""
        await self._find_job(job_id)
        try:
            file = self.target.find_output_file(job_id, stream)
            part = await self.target.files.read_file_part(file, last_lines=lines)
        except OSProfileError as error:
            raise build_problem(error) from None
        return "" if part is None else part.data[-MAX_OUTPUT_SIZE:].decode("utf-8", "replace")

    async def read_file(self, job_id: str, path: str, lines: int) -> str:
        """Return the last lines of a file in a job's directory. Raises `ProblemError`."""
        directory = await self._find_directory(job_id, path)
        message = f"the job has no file {quote_path(path)} that can be read"
        missing = ProblemError("not-found", message, hint="the tool files lists those that it has")
        try:
            # a profile that limits the field PATH of LIST limits this, too
            entry = await self.target.files.stat_file(posixpath.join(directory, path))
            part = await self.target.files.read_file_part(JobFile(directory, path), last_lines=lines)
        except ScriptFailedError:
            raise missing from None
        except OSProfileError as error:
            raise build_problem(error) from None
        if entry.type == "d" or part is None:
            raise missing
        return part.data[-MAX_OUTPUT_SIZE:].decode("utf-8", "replace")

    async def list_files(self, job_id: str, path: str = "") -> tuple[str, list[FileEntry]]:
        """Return a job's directory, and the files in it, or in the directory `path` below. Raises `ProblemError`."""
        directory = await self._find_directory(job_id, path)
        try:
            entries = await self.target.files.list_directory(posixpath.join(directory, path))
        except OSProfileError as error:
            raise build_problem(error) from None
        return directory, [entry for entry in entries if not entry.name.startswith(".")]

    async def _find_directory(self, job_id: str, path: str) -> str:
        """Return the directory in which a job's program runs. Raises `ProblemError`, also for a path out of it."""
        if path.startswith("/"):
            raise refuse("path", "give a path below the directory of the job, as the tool files lists it")
        _, record, _ = await self._find_job(job_id)
        request = {} if record is None else self.target.store.read_details(record.number).request or {}
        try:
            directory = request.get("DIRECTORY") or await self.target.find_job_directory(job_id)
        except OSProfileError as error:
            raise build_problem(error) from None
        check_path(posixpath.join(directory, path))
        return directory

    def list_tasks(self, job_id: str) -> list[dict[str, Any]]:
        """Return the tasks of an array, as last known; none for any other job."""
        tasks = (record.status for record in self.target.store.list_tasks(self.target.name, job_id))
        return [{"id": t.job_id, "state": get_state(t), "exit_code": t.exit_code} for t in tasks]

    async def list_queues(self) -> Sequence[QueueStatus]:
        """Return the queues; none if the profile does not list them. Raises `ProblemError`."""
        return await self._ask_machine(self.target.list_queues)

    async def list_nodes(self) -> Sequence[NodeStatus]:
        """Return the nodes; none if the profile does not list them. Raises `ProblemError`."""
        return await self._ask_machine(self.target.list_nodes)

    async def _ask_machine(self, ask: Callable[[], Awaitable[Sequence[T]]]) -> Sequence[T]:
        try:
            return await ask()
        except TemplateNotFoundError:
            return ()
        except _AWAY_ERRORS as error:
            raise build_away_problem(error) from None
        except OSProfileError as error:
            raise build_problem(error) from None

    async def wait_for_job(self, job_id: str, seconds: float) -> dict[str, Any]:
        """Return a job when it has ended, or as it is after so many seconds. Raises `ProblemError`."""
        status, _, _ = await self._find_job(job_id)
        try:
            async with asyncio.timeout(seconds):
                await self.target.wait(status.job_id)
        except TimeoutError:
            pass
        except _AWAY_ERRORS:
            self.health.note("down")  # the job is returned as last known, with a note
        except OSProfileError as error:
            raise build_problem(error) from None
        return await self.get_job(job_id, historical=True, include_spec=False)

    async def update_job(self, job_id: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return a job that is already as a JobSpec says. Raises `ProblemError` for a change: no profile can make one."""
        description = build_description(spec, self.field_names)
        status, record, note = await self._find_job(job_id)
        members = name_members(spec, self.field_names)
        different = ["executable"] if record is None else self._list_differences(record, description, members)
        if different:
            raise ProblemError(
                "not-implemented",
                f"a job cannot be changed after it is launched: {', '.join(different)}",
                hint="cancel it, and launch another one",
                invalid_params=[InvalidParameter(name, "it cannot be changed") for name in different],
            )
        return self._format_job(status, record, note)

    async def get_job(self, job_id: str, *, historical: bool, include_spec: bool) -> dict[str, Any]:
        """Return a job. Raises `ProblemError`."""
        status, record, note = await self._find_job(job_id)
        if status.state.is_terminal and not historical:
            raise ProblemError("not-found", "the job has ended", hint="ask with historical=true")
        return self._format_job(status, record, note, include_spec=include_spec)

    async def explain_job(self, job_id: str) -> dict[str, Any]:
        """Return a job, and of one that failed the likely cause and the end of its error output. Raises `ProblemError`."""
        status, record, note = await self._find_job(job_id)
        job = self._format_job(status, record, note)
        lines, cause, _ = await diagnose(
            self.target, status, target_name=self.target.name, remedies=_REMEDIES
        )
        if lines:
            job["stderr"] = "\n".join(lines)
        if cause:
            job["likely_cause"] = cause
        return job

    async def cancel_job(self, job_id: str) -> None:
        """Cancel a job; one that was canceled before is no error. Raises `ProblemError`."""
        status, _, _ = await self._find_job(job_id)
        if status.state is JobState.REMOVED:
            return
        try:
            if await self.target.abort_unless_ended(status.job_id):
                log.info("%s: canceled job %s", self._label, job_id)
                return
        except ScriptFailedError as error:
            raise await self._explain_failure(error, "conflict") from None
        except OSProfileError as error:
            raise build_problem(error) from None
        status, _, _ = await self._find_job(job_id)
        if status.state is not JobState.REMOVED:
            raise ProblemError("conflict", f"the job has ended: it is {get_state(status)}")

    async def _find_job(self, job_id: str) -> tuple[JobStatus, JobRecord | None, str]:
        """Return a job's status and record, and a note if the status is old. Raises `ProblemError`."""
        try:
            await self._require_own(job_id)
            status = (await self.target.statuses([job_id], max_age=self._max_age)).get(job_id)
        except JobNotFoundError as error:
            raise build_problem(error) from None
        except _AWAY_ERRORS as error:
            record = self.target.find_record(job_id)
            known = self._get_known_status(job_id, record)
            if known is None:
                raise (
                    await self._explain_failure(error, "not-found")
                    if isinstance(error, ScriptFailedError)
                    else build_away_problem(error)
                ) from None
            self.health.note("down")
            return known, record, "" if known.state.is_terminal else _AWAY_NOTE
        except OSProfileError as error:
            raise build_problem(error) from None
        if status is None:
            raise _build_unknown_error()
        return status, self.target.find_record(status.job_id), ""

    async def _require_own(self, job_id: str) -> None:
        """Raise `ProblemError` for a job that is neither recorded nor listed as one of this user's.

        A query for one job may tell about anybody's.
        """
        if self._is_foreign(job_id) and not any(
            re.split(r"[^0-9A-Za-z_-]", listed)[0] == job_id or listed == job_id
            for listed in await self.target.poll(self._max_age)
        ):
            raise _build_unknown_error()

    async def list_jobs(
        self, job_filter: JobFilter, *, offset: int, limit: int, historical: bool, include_spec: bool
    ) -> list[dict[str, Any]]:
        """Return jobs, oldest first: those that have not ended, or all; by one query at most.

        While the batch system does not answer, those of the record are returned with their last known states.
        """
        store, name, note = self.target.store, self.target.name, ""
        listed: Mapping[str, JobStatus] = {}
        try:
            listed = await self.target.poll(self._max_age)
            await self.target.statuses_or_errors(max_age=math.inf)  # by that answer, however long it took
            self.health.note("up")
        except _AWAY_ERRORS as error:
            self.health.note("down")
            note = _AWAY_NOTE
            log.warning("%s: a list has the last known states: %s", self._label, error)
        records = store.list_all_jobs(name) if historical else store.list_live_jobs(name)
        jobs: list[tuple[JobStatus, JobRecord | None]] = [
            (status, record)
            for record in records
            if record.is_submitted and (status := self._get_known_status(record.status.job_id, record))
        ]
        known_ids = {status.job_id for status, _ in jobs}
        jobs += [
            (status, None)
            for job_id, status in listed.items()
            if job_id not in known_ids and not status.state.is_terminal and self._is_foreign(job_id)
        ]
        chosen = [
            (status, record)
            for status, record in jobs
            if (historical or not status.state.is_terminal)
            and job_filter.matches(status, "" if record is None else record.name)
        ][offset : offset + limit]
        return [
            self._format_job(s, record, "" if s.state.is_terminal else note, include_spec=include_spec)
            for s, record in chosen
        ]

    def _is_foreign(self, job_id: str) -> bool:
        """Return whether a job is neither recorded nor a task of a recorded array."""
        return self.target.find_record(job_id) is None and self.target.find_array(job_id) is None

    def _get_known_status(self, job_id: str, record: JobRecord | None) -> JobStatus | None:
        """Return the last known status of a job, which has this record, without a query."""
        return self.target.get_cached_status(job_id) or (record.status if record is not None else None)

    def _format_job(
        self, status: JobStatus, record: JobRecord | None, note: str = "", *, include_spec: bool = False
    ) -> dict[str, Any]:
        job: dict[str, Any] = {"id": status.job_id, "status": format_status(status, record, note)}
        if include_spec and record is not None:
            details = self.target.store.read_details(record.number)
            if details.request is not None:
                job["job_spec"] = format_spec(details.request, details.application)
        return job


def _build_unknown_error() -> ProblemError:
    return ProblemError("not-found", "neither the batch system nor the record knows this job")
