"""What a client asks for about jobs, done on the target system; each command gives its answer."""

from __future__ import annotations

import logging
import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    ScriptFailedError,
    ValueRefusedError,
    quote_value,
)
from osprofile.executors.ptp.events import (
    Answer,
    CommandError,
    Element,
    ErrorCode,
    Ok,
    SubmitJobError,
    TerminateJobError,
)
from osprofile.executors.ptp.system_view import TrackedJob
from osprofile.jobs.description import OWN_FILE_PREFIX, JobDescription
from osprofile.jobs.state import TERMINAL_STATES, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from osprofile.executors.ptp.commands import Command
    from osprofile.executors.ptp.form import Submission, SubmissionForm
    from osprofile.executors.ptp.job_output import OutputFollower
    from osprofile.executors.ptp.system_view import SystemView
    from osprofile.jobs.store import JobRecord
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
_KEY_PREFIX: Final = "ptp:"
"""Begins the keys under which the record has the jobs of clients, which nobody else cares for."""


@final
class JobCommands:
    """Submits, terminates and changes jobs; `find_key` is that of the client's model."""

    def __init__(
        self,
        target: TargetSystem,
        form: SubmissionForm,
        view: SystemView,
        outputs: OutputFollower,
        find_key: Callable[[Element, str], str | None],
    ) -> None:
        self._target, self._form, self._view, self._outputs = target, form, view, outputs
        self._find_key = find_key

    async def submit_job(self, command: Command) -> Answer:
        """Submit a job; from then on the view has it."""
        sub_id, directory = command.get_value("jobSubId"), self._target.new_job_directory()
        try:
            submission = self._parse_submission(command)
            description = replace(submission.description, directory=directory)
            with self._view.pause_discovery():
                job_id = await self._target.submit(description, key=f"{_KEY_PREFIX}{directory}")
                self._add_to_view(job_id, submission)
        except OSProfileError as error:
            log.info("job %s is refused: %s", sub_id, error)
            if isinstance(error, ScriptFailedError):
                await self._remove_directory(directory, ())
            return SubmitJobError(command.tid, sub_id, format_error(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return SubmitJobError(command.tid, sub_id, log_internal_error(error))
        log.info("job %s is submitted as %s", sub_id, job_id)
        return Ok(command.tid)

    def _parse_submission(self, command: Command) -> Submission:
        submission = self._form.parse_submission(command.arguments, self._find_queue)
        if submission.debug:
            raise ValueRefusedError("attribute debug: jobs are run, not debugged", field="debug")
        if submission.ignored:
            log.info("job %s: ignored: %s", submission.sub_id, " ".join(submission.ignored))
        return submission

    def _find_queue(self, id_: str) -> str | None:
        name = self._find_key(Element.QUEUE, id_)
        if name is None:
            raise ValueRefusedError(
                f"attribute queueId: {quote_value(id_)} is no queue", field="QUEUE"
            )
        return name if self._view.has_queue(name) else None

    def _add_to_view(self, job_id: str, submission: Submission) -> None:
        description, value = submission.description, self._form.get_field_value
        told = TrackedJob(
            JobStatus(job_id, JobState.UNKNOWN),
            queue=value(description, "QUEUE"),
            name=value(description, "JOB_NAME"),
            sub_id=submission.sub_id,
            count=self._form.count_processes(description),
        )
        self._view.add_job(told)
        record = self._target.store.find_job(self._target.name, job_id)
        if record is not None:
            self.follow_output(record, description)

    def follow_output(self, record: JobRecord, description: JobDescription | None = None) -> None:
        """Have a job's output told; without its description, its files are the profile's default ones."""
        if record.directory.startswith("/"):
            described = description or JobDescription()
            paths = [self._form.get_field_value(described, name) for name in ("STDOUT", "STDERR")]
            self._outputs.follow_job(record.status.job_id, record.directory, *paths)

    async def remove_job_files(
        self, job_id: str, directory: str, sent_paths: Collection[str]
    ) -> None:
        """Remove what an ended job left, if a client submitted it: files of `sent_paths` are not needed.

        A job that is lost may still run: its directory stays.
        """
        record = self._target.store.find_job(self._target.name, job_id)
        ours = record is not None and (record.key or "").startswith(_KEY_PREFIX)
        if ours and self._view.get_state(job_id) in TERMINAL_STATES - {JobState.LOST}:
            await self._remove_directory(directory, sent_paths)

    async def _remove_directory(self, directory: str, sent_paths: Collection[str]) -> None:
        """Remove a job's directory unless there is something in it that only the directory has."""
        try:
            names = [entry.name for entry in await self._target.list_directory(directory)]
            others = [name for name in names if not name.startswith(OWN_FILE_PREFIX)]
            if all(posixpath.join(directory, name) in sent_paths for name in others):
                await self._target.delete_path(directory)
        except OSProfileError as error:
            log.warning("%s is left behind: %s", directory, error)

    async def terminate_job(self, command: Command) -> Answer:
        """Remove a job."""
        id_ = command.get_value("jobId")
        try:
            job_id = self._find_job_id(id_)
            with self._view.track_action(job_id, aborts=True):
                await self._target.abort(job_id)
        except OSProfileError as error:
            return TerminateJobError(command.tid, id_, format_error(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return TerminateJobError(command.tid, id_, log_internal_error(error))
        return Ok(command.tid)

    async def change_job(self, command: Command) -> Answer:
        """Hold a job or let it go on, which is what the seed has CHANGE_JOB for."""
        states = {"SUSPENDED": self._target.hold, "RUNNING": self._target.resume}
        doing = states.get(command.get_value("jobState"))
        try:
            job_id = self._find_job_id(command.get_value("jobId"))
            if doing is None:
                return refuse_unimplemented(command)
            with self._view.track_action(job_id):
                await doing(job_id)
        except OSProfileError as error:
            return CommandError(command.tid, ErrorCode.INTERNAL, format_error(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return CommandError(command.tid, ErrorCode.INTERNAL, log_internal_error(error))
        return Ok(command.tid)

    async def move_job(self, command: Command) -> Answer:
        """Refuse: no template of a profile says how a job gets into another queue."""
        return refuse_unimplemented(command)

    def _find_job_id(self, id_: str) -> str:
        job_id = self._find_key(Element.JOB, id_)
        if job_id is None:
            raise JobNotFoundError(f"attribute jobId: {quote_value(id_)} is no job")
        return job_id


def format_error(error: OSProfileError) -> str:
    """Give an error as a client's user sees it: what is wrong and what to do, not where it says so."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


def refuse_unimplemented(command: Command) -> Answer:
    """Give the answer to what no template of a profile can do."""
    text = f"{command.kind} of this kind is not implemented: no template of a profile says how"
    return CommandError(command.tid, ErrorCode.INTERNAL, text)


def log_internal_error(error: Exception) -> str:
    """Log a fault of our own, where it happened only if somebody debugs; give what to say of it."""
    text = f"internal error: {type(error).__name__}: {error}"
    log.error("a fault of osprofile's: %s", text, exc_info=log.isEnabledFor(logging.DEBUG))
    return text
