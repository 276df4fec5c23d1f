"""Submit each job once: it is recorded first, and found again if the submission is interrupted.

What an interrupted submission leaves is START's and FIND_JOB's business; see docs/language-jobs.md, START and
FIND_JOB. Of many jobs, those that others depend on come first, in parts that one script submits, some of these side by side.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import time
from typing import TYPE_CHECKING, Final, final
from weakref import WeakValueDictionary

from osprofile.errors import (
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    ScriptError,
    ScriptFailedError,
    StoreError,
    SubmissionBusyError,
    SubmissionElsewhereError,
    SubmissionsFailedError,
    TargetError,
)
from osprofile.incarnation.context import is_generated_name
from osprofile.jobs.request import list_named_jobs
from osprofile.jobs.shell.loop import Turns, gather, need_loop
from osprofile.jobs.shell.target import NOTHING_DONE_STATUS
from osprofile.jobs.submit.preparer import name_refusal
from osprofile.jobs.submit.starts import NewStart
from osprofile.jobs.submit.throttle import AWAY_STATUS
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
    from typing import Any

    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.files.transfer import TargetFiles
    from osprofile.jobs.record.store import JobFiles, JobRecord, Store, SubmissionValues
    from osprofile.jobs.submit.preparer import SubmissionPreparer
    from osprofile.jobs.submit.starts import StartScripts
    from osprofile.jobs.submit.throttle import SubmissionThrottle


log: Final = logging.getLogger("osprofile.jobs")
RECORD_RETENTION: Final = 90 * 86400.0
"""Seconds for which the ends of jobs stay in the record."""
_OUTCOME_UNKNOWN_STATUS: Final = 75
"""START's exit status (EX_TEMPFAIL) if it does not know whether the batch system has the job."""
_NOT_FOUND_STATUS: Final = 127
"""That of a shell which has not found a command."""
_OUTCOME_UNKNOWN: Final = "whether the job was submitted is not known"
_MIN_BUSY_INTERVAL: Final = 0.05
_MAX_BUSY_INTERVAL: Final = 1.0
"""Seconds after which the record is read again while another process submits the same job; they double."""
_CUT_HINT: Final = "the submission can be completed, without a second job"
_RETRY_TIME: Final = 0.3
"""Seconds after which a copy is repeated: then the shells whose connections have broken are known."""
_COPY_HINT: Final = "the same key, or recover_submissions, copies the rest and submits the job"
MAX_PART_SIZE: Final = 20
"""Jobs of `submit_many` submitted by one script. Their states are unknown until that script returns."""
_PREPARED_PARTS: Final = 2
"""Parts that are recorded while the scripts of others run. What else is asked meanwhile waits for them."""


@final
class RecoveredSubmission(NamedTuple):
    """A submission that was interrupted, after it was completed or not."""

    record: JobRecord
    """The record of the submission."""
    job_id: str | None
    """The id of the job, None if it still has none."""
    error: OSProfileError | None = None
    """Why the submission was not completed."""


@final
class JobSubmitter:
    """Submits the jobs of one target; `on_submitted(record, job_id, task_ids)` is called for each.

    `on_reused(job_id)` is called before, if an older job of the record had that id, and `on_recorded(job_ids)`
    when a job that could not be recorded is recorded later.
    `preparer` checks a job before anything is recorded; `throttle` says when its turn has come. The ids of tasks are by index,
    and empty if the job is no array.
    `busy_timeout`: seconds to wait while another process submits the job with the same key.

    A job is recorded before START runs, and START submits at most once for its directory. The record is
    deleted only when it is certain that there is no job: if START failed and FIND_JOB finds none.
    """

    def __init__(
        self,
        target: str,
        starts: StartScripts,
        store: Store,
        on_submitted: Callable[[JobRecord, str, Mapping[int, str]], None],
        preparer: SubmissionPreparer,
        *,
        throttle: SubmissionThrottle,
        files: TargetFiles,
        on_reused: Callable[[str], None],
        on_recorded: Callable[[Iterable[str]], None],
        busy_timeout: float,
    ) -> None:
        self._target, self._starts, self._files, self._store = target, starts, files, store
        self._on_submitted, self._preparer, self._throttle = on_submitted, preparer, throttle
        self._on_reused, self._on_recorded = on_reused, on_recorded
        self._busy_timeout = busy_timeout
        self._unrecorded_ids: dict[int, str] = {}
        """By the numbers of their records, the job ids that could not be written."""
        self._key_turns: WeakValueDictionary[str, Turns] = WeakValueDictionary()

    async def submit_job(
        self,
        description: JobDescription,
        *,
        key: str | None,
        strict: bool,
        take_over: bool = False,
        is_checked: bool = False,
    ) -> str:
        """Submit a job, or complete the submission of that key; see `TargetSystem.submit`.

        `is_checked`: whoever submits many jobs has compared it with the one of its key.
        """
        if key is None:
            return await self._submit_counted(description, key=None, strict=strict)
        # Calls with the same key, one after the other; the turn goes with the last call that holds it.
        async with self._key_turns.setdefault(key, Turns()):
            job_id, record = await self._submit_once(description, key, strict=strict, take_over=take_over)
        if record is not None and not is_checked:
            self._preparer.warn_of_other_requests([(description, record, job_id)])
        return job_id

    async def _submit_once(
        self, description: JobDescription, key: str, *, strict: bool, take_over: bool
    ) -> tuple[str, JobRecord | None]:
        """Return the job of a key, with its record if it had one; submit it if not; wait while another process submits it."""
        deadline, interval = time.monotonic() + self._busy_timeout, _MIN_BUSY_INTERVAL
        while True:
            try:
                record = self._store.find_by_key(self._target, key)
                if record is None:
                    return await self._submit_counted(description, key=key, strict=strict), None
                job_id = record.status.job_id or await self._complete_submission(record, take_over=take_over)
            except SubmissionBusyError:
                if time.monotonic() >= deadline:
                    raise
            else:
                return job_id, record
            await need_loop()
            await asyncio.sleep(interval)
            interval = min(2 * interval, _MAX_BUSY_INTERVAL)

    async def _submit_counted(self, description: JobDescription, *, key: str | None, strict: bool) -> str:
        metrics = self._starts.shell.metrics
        with (
            metrics.count_result("osprofile_submissions_total"),
            metrics.time("osprofile_submission_duration_seconds"),
        ):
            deadline = self._throttle.get_deadline()
            while True:  # a job that is refused for now is forgotten, and submitted anew
                async with self._throttle.wait_for_queue(deadline):
                    try:
                        return await self._submit_new_job(description, key, deadline, strict=strict)
                    except ScriptFailedError as error:
                        if not self._throttle.is_refused_for_now(error):
                            raise

    async def _submit_new_job(
        self, description: JobDescription, key: str | None, deadline: float | None, *, strict: bool
    ) -> str:
        directory, values = await self._preparer.prepare_submission(description, key=key, strict=strict)
        self._prune_record()
        (record,) = await self._throttle.begin_submissions([(directory, values)], deadline)
        if isinstance(record, StoreError):
            raise record
        return await self._run_submission(record, files=values.get("files"))

    def _prune_record(self) -> None:
        self._store.prune_ended_jobs(time.time() - RECORD_RETENTION)  # as many as come, or more

    async def submit_jobs(
        self,
        jobs: Sequence[tuple[JobDescription, str | None]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> None:
        """Submit jobs, given with their keys, none of which depends on another one.

        New jobs are recorded in one transaction, and their START scripts run one after another in one script. Each
        has its own result all the same: see `submit_job`, by which the others are submitted (those whose key is in
        the record, or is being submitted). `on_result(position, result)` is called for each, with its id or its error.
        """
        others: list[int] = []
        async with contextlib.AsyncExitStack() as held:
            new: list[int] = []
            for position, (description, key) in enumerate(jobs):
                # The START of a job with inputs runs when these are there.
                is_alone = bool(description.inputs)
                is_new = not is_alone and (key is None or await self._hold_new_key(key, held))
                (new if is_new else others).append(position)
            for _ in new:
                held.enter_context(self._starts.shell.metrics.time("osprofile_submission_duration_seconds"))
            others += await self._submit_new_jobs(
                [(position, *jobs[position]) for position in new], on_result
            )

        async def submit_other(position: int) -> None:
            description, key = jobs[position]
            on_result(
                position,
                await catch_error(self.submit_job(description, key=key, strict=True, is_checked=True)),
            )

        await run_together(map(submit_other, others))

    async def _hold_new_key(self, key: str, held: contextlib.AsyncExitStack) -> bool:
        """Return whether a key is neither in the record nor in use here; if so, nobody else uses it while it is held."""
        turn = self._key_turns.setdefault(key, Turns())
        if turn.are_taken:
            return False
        await held.enter_async_context(turn)
        return self._store.find_by_key(self._target, key) is None

    async def _submit_new_jobs(
        self,
        jobs: Sequence[tuple[int, JobDescription, str | None]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> list[int]:
        """Submit new jobs, given with their positions and keys; return the positions of those that are to be submitted alone.

        These are the ones that another process submits, and those that must wait until the batch system takes more jobs.
        """
        if self._throttle.was_full:
            return [position for position, *_ in jobs]
        outcomes: dict[int, JobRecord | OSProfileError] = {}
        prepared: dict[int, tuple[str, SubmissionValues]] = {}

        async def prepare(position: int, description: JobDescription, key: str | None) -> None:
            try:
                prepared[position] = await self._preparer.prepare_submission(
                    description, key=key, strict=True
                )
            except OSProfileError as error:
                outcomes[position] = error

        await run_together(itertools.starmap(prepare, jobs))
        try:
            self._prune_record()
            deadline = self._throttle.get_deadline()
            begun_now = await self._throttle.begin_submissions(list(prepared.values()), deadline)
        except OSProfileError as error:
            outcomes |= dict.fromkeys(prepared, error)
        else:
            outcomes |= zip(prepared, begun_now, strict=False)  # fewer if there are no places for more
        alone = [p for p, *_ in jobs if isinstance(outcomes.get(p), SubmissionBusyError | None)]
        # Those that this process has begun, and has neither submitted nor given up.
        begun = {position: o for position, o in outcomes.items() if not isinstance(o, OSProfileError)}

        async def complete(position: int, answer: str | OSProfileError | None) -> None:
            outcome = begun.pop(position, None) or outcomes[position]
            result = await catch_error(self._complete_new_job(outcome, answer))
            if isinstance(result, OSProfileError) and self._throttle.is_refused_for_now(result):
                alone.append(position)
            else:
                on_result(position, result)

        try:
            starts = [NewStart(record.directory, record.script or "") for record in begun.values()]
            answers = dict(zip(list(begun), await self._starts.run_start_scripts(starts), strict=True))
            settled = [position for position, *_ in jobs if position not in alone]
            await run_together(complete(position, answers.get(position)) for position in settled)
        finally:
            for record in begun.values():
                self._update_record(self._store.release_submission, record)
        return alone

    async def _complete_new_job(
        self, outcome: JobRecord | OSProfileError, answer: str | OSProfileError | None
    ) -> str:
        """Return the id of a new job that was recorded, by the answer of its START, or raise why it has none."""
        with self._starts.shell.metrics.count_result("osprofile_submissions_total"):
            if isinstance(outcome, OSProfileError):
                raise outcome
            return await self._run_submission(outcome, answer=answer)

    async def recover_submissions(self, *, resubmit: bool) -> list[RecoveredSubmission]:
        """Complete interrupted submissions; see `TargetSystem.recover_submissions`."""

        async def recover(record: JobRecord) -> RecoveredSubmission:
            try:
                if resubmit:
                    return RecoveredSubmission(record, await self._complete_submission(record))
                job_id = await self._starts.find_submitted_job(record.directory, record.script or "")
                # If another process has the submission, that one records it.
                if job_id is not None and self._store.claim_submission(record.number):
                    self._record_job_id(record, job_id)
            except OSProfileError as error:
                return RecoveredSubmission(record, None, error)
            return RecoveredSubmission(record, job_id)

        return await gather([*map(recover, self._store.list_interrupted_submissions(self._target))])

    async def _complete_submission(self, record: JobRecord, *, take_over: bool = False) -> str:
        if record.number in self._unrecorded_ids:
            return self._record_job_id(record, self._unrecorded_ids[record.number])
        if record.other_host is not None and not record.has_live_owner and not take_over:
            message = (
                f"the submission in {record.directory} was begun on {record.other_host}, and that directory is not"
                f" on this machine: {_OUTCOME_UNKNOWN} here"
            )
            hint = f"complete it on {record.other_host}; if that did not submit the job: --take-over submits it here"
            raise SubmissionElsewhereError(message, hint=hint)
        if self._store.claim_submission(record.number, take_over=take_over):
            if take_over and record.other_host is not None:  # a person says that it has submitted nothing
                await self._starts.delete_submission_mark(record.directory)
            files = self._store.read_details(record.number).files
            return await self._run_submission(record, is_repeated=True, files=files)
        current = self._store.find_by_directory(self._target, record.directory)
        if current is not None and current.is_submitted:
            return current.status.job_id
        message = f"the job in {record.directory} is being submitted by another process"
        raise SubmissionBusyError(message, hint="repeat the submission with the same key when that has ended")

    async def _run_submission(
        self,
        record: JobRecord,
        *,
        is_repeated: bool = False,
        answer: str | OSProfileError | None = None,
        files: JobFiles | None = None,
    ) -> str:
        """Submit the job of a record that this process owns, and return its id.

        `is_repeated`: an earlier START may have submitted the job. `answer`: START has run, and this is its result.
        `files`: its inputs are copied before START.
        """
        is_outcome_known = False
        try:
            if files is not None and files.inputs:
                await self._stage_inputs(record, files, is_repeated=is_repeated)
            job_id = await self._start_job(
                record, may_repeat=self._starts.has_find_template, is_new=not is_repeated, answer=answer
            )
            self._throttle.note_success()
            is_outcome_known = True
        except OutcomeUnknownError:
            raise  # it may have been submitted
        except OSProfileError as error:
            # If START did nothing, or there is no FIND_JOB, an earlier START is still to be found.
            is_outcome_known = (_was_searched(error) and self._starts.has_find_template) or not is_repeated
            if is_outcome_known:
                self._update_record(self._store.delete_record, record)
                is_left = isinstance(error, ScriptFailedError) and error.exit_status == AWAY_STATUS
                is_left = is_left or (files is not None and bool(files.inputs))
                if is_left and not is_repeated:  # the next try has another one
                    await self._delete_directory(record)
            raise
        finally:
            if not is_outcome_known:
                self._update_record(self._store.release_submission, record)
        return self._record_job_id(record, job_id)

    async def _stage_inputs(self, record: JobRecord, files: JobFiles, *, is_repeated: bool) -> None:
        """Copy the inputs of a job into its directory, once more if the connection broke.

        If that fails for another reason, what was copied is deleted.
        """
        try:
            try:
                await self._files.stage_inputs(record.directory, files)
            except OutcomeUnknownError as error:
                log.warning("a copy was cut off; it is repeated: %s", error)
                await need_loop()
                await asyncio.sleep(_RETRY_TIME)
                await self._files.stage_inputs(record.directory, files)
        except ScriptError as error:
            message = error.message if is_repeated else f"{error.message}; nothing was submitted"
            raise OutcomeUnknownError(message, hint=_COPY_HINT) from error
        except OSProfileError as error:
            if not is_repeated:
                await self._delete_directory(record)
            raise TargetError(error.message, hint=error.hint) from error

    async def _delete_directory(self, record: JobRecord) -> None:
        """Delete the directory of a job that was not submitted, unless its caller chose it."""
        if is_generated_name(os.path.basename(record.directory)):
            with contextlib.suppress(OSProfileError):  # the first error counts
                await self._files.delete_path(record.directory)

    @staticmethod
    def _update_record(change: Callable[[int], None], record: JobRecord) -> None:
        """Change the record of a failed submission. An error here must not hide the first one."""
        try:
            change(record.number)
        except StoreError as error:
            log.error("the submission in %s is not recorded: %s", record.directory, error)  # noqa: TRY400

    async def _start_job(
        self,
        record: JobRecord,
        *,
        may_repeat: bool,
        is_new: bool = False,
        answer: str | OSProfileError | None = None,
    ) -> str:
        """Run START, unless its result is given, and FIND_JOB if it fails; return the job's id.

        `is_new`: START has not run in this directory before.
        With `may_repeat`, START runs again if it did not tell whether it submitted, and FIND_JOB finds
        no job or fails. Raises `OutcomeUnknownError` if that is still not known, else the error of START.
        """
        script = record.script or ""
        try:
            if isinstance(answer, OSProfileError):
                raise answer
            if answer is None and is_new and self._starts.has_find_template:
                return await self._starts.run_new_start(NewStart(record.directory, script))
            return answer or await self._starts.run_start_script(script)
        except (OutcomeUnknownError, ScriptFailedError, OutputError) as error:
            if _has_done_nothing(error):
                raise
            try:
                job_id = await self._starts.find_submitted_job(record.directory, script)
            except OSProfileError as find_error:
                return await self._repeat_start(record, error, find_error, may_repeat=may_repeat)
            if job_id is not None:
                log.warning("job %s was submitted, but: %s", job_id, error)
                return job_id
            if isinstance(error, ScriptFailedError) and error.exit_status != _OUTCOME_UNKNOWN_STATUS:
                name_refusal(error, self._starts.batch_system)
                raise
            if not may_repeat:
                if isinstance(error, OutcomeUnknownError):
                    raise
                unknown = f"; {_OUTCOME_UNKNOWN}" if isinstance(error, OutputError) else ""
                raise OutcomeUnknownError(f"{error.message}{unknown}", hint=_CUT_HINT) from error
        return await self._start_job(record, may_repeat=False)

    async def _repeat_start(
        self, record: JobRecord, error: OSProfileError, find_error: OSProfileError, *, may_repeat: bool
    ) -> str:
        """Run START again after it and FIND_JOB have failed, and return the job's id."""
        if _lacks_commands(error, find_error):
            raise error  # nothing can have been submitted
        if may_repeat:
            log.warning("a submission was cut off; it is completed: %s", error)
            try:
                return await self._start_job(record, may_repeat=False)
            except OSProfileError as again:
                # One that did nothing, as its host is not found, tells nothing of the first one, whose error says more.
                if _was_searched(again):
                    raise
        message = f"{error.message}; {_OUTCOME_UNKNOWN}: {find_error.message}"
        raise OutcomeUnknownError(message, hint=_CUT_HINT) from error

    def _record_job_id(self, record: JobRecord, job_id: str) -> str:
        """Record a job's id; if that fails, the job is watched nevertheless."""
        task_ids: dict[int, str] = {}
        try:
            task_ids = self._starts.shell.render_task_ids(job_id, record.array)
        except OSProfileError as error:  # the array is submitted
            log.error("the tasks of job %s are not known: %s", job_id, error)  # noqa: TRY400
        is_watched, is_reused = record.number in self._unrecorded_ids, False
        try:
            older = self._store.find_job(self._target, job_id)
            # A record without a directory may be that of this job: its id was known before its submission was.
            is_reused = older is not None and older.number != record.number and older.directory[:1] == "/"
            self._store.record_job_id(record.number, job_id, task_ids)
            self._unrecorded_ids.pop(record.number, None)
        except StoreError as error:
            self._unrecorded_ids[record.number] = job_id
            log.error("job %s in %s is not recorded: %s", job_id, record.directory, error)  # noqa: TRY400
        if is_watched:
            self._on_recorded([*task_ids.values(), job_id])
            return job_id
        if is_reused:
            self._on_reused(job_id)
        self._on_submitted(record, job_id, task_ids)
        return job_id


async def catch_error(work: Awaitable[str]) -> str | OSProfileError:
    """Return a result, or the error in its place."""
    try:
        return await work
    except OSProfileError as error:
        return error


async def run_together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side. When one fails, or this is cancelled, all are cancelled and have ended."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _lacks_commands(error: OSProfileError, find_error: OSProfileError) -> bool:
    """Return whether the machine has neither the command that submits, nor the one that FIND_JOB needs."""
    if not isinstance(error, ScriptFailedError) or not isinstance(find_error, ScriptFailedError):
        return False
    return error.exit_status == _NOT_FOUND_STATUS and "not found" in find_error.output


def _was_searched(error: OSProfileError) -> bool:
    """Return whether START has failed in such a way that FIND_JOB has looked for a job, too."""
    return isinstance(error, ScriptFailedError) and not _has_done_nothing(error)


def _has_done_nothing(error: OSProfileError) -> bool:
    return isinstance(error, ScriptFailedError) and error.exit_status in {AWAY_STATUS, NOTHING_DONE_STATUS}


@final
class BulkSubmitter:
    """Submits many jobs of one target system, given with their keys.

    `before_part()` is called before each part, `on_submitted(job_id)` for each job. A part has at most `max_part_size` jobs.
    """

    def __init__(
        self,
        submitter: JobSubmitter,
        before_part: Callable[[], object],
        on_submitted: Callable[[str], object],
        *,
        max_parallel_scripts: int,
        max_part_size: int,
    ) -> None:
        self._submitter, self._before_part, self._on_submitted = submitter, before_part, on_submitted
        self._max_parallel_scripts, self._max_part_size = max_parallel_scripts, max_part_size

    async def submit_many(
        self,
        jobs: Sequence[tuple[JobDescription, str | None]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> list[str]:
        """Submit jobs that are checked; see `TargetSystem.submit_many`."""
        results: dict[int, str | OSProfileError] = {}

        def take_result(position: int, result: str | OSProfileError) -> None:
            results[position] = result
            on_result(position, result)

        for positions in _list_levels(jobs):
            await self._submit_parts(jobs, self._form_parts(positions), take_result)
        errors = {i: r for i, r in sorted(results.items()) if isinstance(r, OSProfileError)}
        ids = [r if isinstance(r := results[i], str) else None for i in range(len(jobs))]
        if errors:
            raise SubmissionsFailedError(ids, errors)
        return [job_id for job_id in ids if job_id is not None]

    async def _submit_parts(
        self,
        jobs: Sequence[tuple[JobDescription, str | None]],
        parts: Iterable[Sequence[int]],
        on_result: Callable[[int, str | OSProfileError], object],
    ) -> None:
        """Submit jobs, given by their positions in parts; few parts at the same time, so that only few scripts are in memory."""
        waiting = iter(parts)

        async def submit_next() -> None:
            for part in waiting:

                def take_result(index: int, result: str | OSProfileError, part: Sequence[int] = part) -> None:
                    if isinstance(result, str):
                        self._on_submitted(result)
                    on_result(part[index], result)

                self._before_part()
                await self._submitter.submit_jobs([jobs[position] for position in part], take_result)

        await run_together(submit_next() for _ in range(self._max_parallel_scripts + _PREPARED_PARTS))

    def _form_parts(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Return jobs in parts of about the same size: as few as go, and as many as may run at the same time."""
        rounds = math.ceil(len(positions) / (self._max_parallel_scripts * self._max_part_size))
        size = math.ceil(len(positions) / (self._max_parallel_scripts * rounds))
        return [positions[i : i + size] for i in range(0, len(positions), size)]


def _list_levels(jobs: Iterable[tuple[JobDescription, str | None]]) -> list[list[int]]:
    """Return the positions of jobs by levels.

    Each job is on a later level than the jobs it depends on, and than earlier jobs with the same key.
    """
    levels: list[list[int]] = []
    level_by_key: dict[str, int] = {}
    for position, (job, key) in enumerate(jobs):
        names = [*list_named_jobs(job), *([key] if key is not None else [])]
        level = max((level_by_key[name] + 1 for name in names if name in level_by_key), default=0)
        if key is not None:
            level_by_key.setdefault(key, level)
        levels += [[] for _ in range(len(levels), level + 1)]
        levels[level].append(position)
    return levels
