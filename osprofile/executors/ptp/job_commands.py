"""The commands about jobs."""

from __future__ import annotations

import logging
import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import JobNotFoundError, OSProfileError, ScriptFailedError, ValueRefusedError
from osprofile.executors.failures import format_error, format_internal_error
from osprofile.executors.ptp import events
from osprofile.executors.ptp.events import Element
from osprofile.executors.ptp.protocol import CommandKind, refuse_command
from osprofile.executors.ptp.system_view import TrackedJob
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import OWN_FILES
from osprofile.jobs.state import TERMINAL_STATES, JobState, JobStatus
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from osprofile.executors.ptp.events import Event
    from osprofile.executors.ptp.form import Submission, SubmissionForm
    from osprofile.executors.ptp.job_output import OutputFollower
    from osprofile.executors.ptp.protocol import Command
    from osprofile.executors.ptp.system_view import SystemView
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
_KEY_PREFIX: Final = "ptp:"
"""Stands before the keys of the clients' jobs in the record."""


@final
class JobCommands:
    """Submits, terminates and changes jobs; `find_key` is `Model.find_key`."""

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

    async def run_command(self, command: Command) -> Event:
        """Run a command and return its answer."""
        handlers = {
            CommandKind.SUBMIT_JOB: self._submit_job,
            CommandKind.TERMINATE_JOB: self._terminate_job,
            CommandKind.CHANGE_JOB: self._change_job,
            CommandKind.MOVE_JOB: self._move_job,
        }
        try:
            await handlers[command.kind](command)
        except OSProfileError as error:
            log.info("%s is refused: %s", command.kind, error)
            return refuse_command(command, format_error(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return refuse_command(command, log_internal_error(error))
        return events.ok(command.tid)

    async def _submit_job(self, command: Command) -> None:
        """Submit a job and add it to the view."""
        directory = await self._target.new_job_directory()
        submission = self._parse_submission(command)
        description = replace(submission.description, working_directory=directory)
        try:
            with self._view.pause_discovery():
                job_id = await self._target.submit(description, key=f"{_KEY_PREFIX}{directory}")
                self._add_to_view(job_id, submission)
        except ScriptFailedError:
            await self._remove_directory(directory, ())
            raise
        log.info("job %s is submitted as %s", submission.sub_id, job_id)

    def _parse_submission(self, command: Command) -> Submission:
        submission = self._form.parse_submission(command.arguments, self._find_queue)
        if not submission.sub_id:  # the client could not tell the job in NEW_JOB from others
            raise ValueRefusedError("attribute jobSubId is missing")
        if submission.debug:
            raise ValueRefusedError("attribute debug: jobs are run, not debugged")
        for warning in submission.warnings:
            log.warning("job %s: %s", submission.sub_id, warning)
        if submission.ignored:
            log.info("job %s: ignored: %s", submission.sub_id, " ".join(submission.ignored))
        return submission

    def _find_queue(self, id_: str) -> str | None:
        name = self._find_key(Element.QUEUE, id_)
        if name is None:
            raise ValueRefusedError(f"attribute queueId: {quote_value(id_)} is not a queue")
        return name if self._view.has_queue(name) else None

    def _add_to_view(self, job_id: str, submission: Submission) -> None:
        description, get_field_value = submission.description, self._form.get_field_value
        tracked = TrackedJob(
            JobStatus(job_id, JobState.UNKNOWN),
            queue=get_field_value(description, "QUEUE"),
            name=get_field_value(description, "JOB_NAME"),
            sub_id=submission.sub_id,
            process_count=self._form.count_processes(description),
        )
        self._view.add_job(tracked)
        record = self._target.find_record(job_id)
        if record is not None:
            self.follow_output(record, description)

    def follow_output(self, record: JobRecord, description: JobDescription | None = None) -> None:
        """Follow a job's output; without a description in the profile's default files."""
        if record.directory.startswith("/"):
            description = description or JobDescription()
            paths = [self._form.get_field_value(description, name) for name in ("STDOUT", "STDERR")]
            self._outputs.follow_job(record.status.job_id, record.directory, *paths)

    async def remove_job_files(self, job_id: str, directory: str, sent_paths: Collection[str]) -> None:
        """Remove the files of an ended job that a client submitted; `sent_paths` were sent whole.

        A lost job may still run: its directory is kept.
        """
        record = self._target.find_record(job_id)
        is_clients = record is not None and (record.key or "").startswith(_KEY_PREFIX)
        if is_clients and self._view.get_state(job_id) in TERMINAL_STATES - {JobState.LOST}:
            await self._remove_directory(directory, sent_paths)

    async def _remove_directory(self, directory: str, sent_paths: Collection[str]) -> None:
        """Remove a job's directory if the client has the content of all files in it."""
        try:
            names = [entry.name for entry in await self._target.files.list_directory(directory)]
            others = [name for name in names if name not in OWN_FILES]
            if all(posixpath.join(directory, name) in sent_paths for name in others):
                await self._target.files.delete_path(directory)
        except OSProfileError as error:
            log.warning("%s is left behind: %s", directory, error)

    async def _terminate_job(self, command: Command) -> None:
        """Remove a job by ABORT; one that has ended is removed already."""
        job_id = self._find_job_id(command)
        with self._view.track_action(job_id, aborts=True):
            await self._target.abort_unless_ended(job_id)

    async def _change_job(self, command: Command) -> None:
        """Hold or resume a job (docs/protocols/ptp.md, 3.3)."""
        job_id = self._find_job_id(command)
        actions = {"SUSPENDED": self._target.hold, "RUNNING": self._target.resume}
        action = actions.get(command.get_value("jobState"), lambda _: self._move_job(command))
        with self._view.track_action(job_id):
            await action(job_id)

    async def _move_job(self, command: Command) -> None:
        """Refuse: profiles have no template that moves a job to another queue."""
        text = f"{command.kind} of this kind is not implemented: profiles have no template for it"
        raise OSProfileError(text)

    def _find_job_id(self, command: Command) -> str:
        id_ = command.get_value("jobId")
        job_id = self._find_key(Element.JOB, id_)
        if job_id is None:
            raise JobNotFoundError(f"attribute jobId: {quote_value(id_)} is not a job")
        return job_id


def log_internal_error(error: Exception) -> str:
    """Log an exception that should not occur (with a traceback if debugging), and describe it."""
    text = format_internal_error(error)
    log.error("%s", text, exc_info=log.isEnabledFor(logging.DEBUG))
    return text
