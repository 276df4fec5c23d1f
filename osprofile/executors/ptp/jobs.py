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
    shown,
)
from osprofile.events.event import TERMINAL, JobState, JobStatus
from osprofile.executors.ptp.events import (
    Answer,
    Element,
    Error,
    ErrorCode,
    Ok,
    SubmitJobError,
    TerminateJobError,
)
from osprofile.executors.ptp.view import Told
from osprofile.target.job import OWN_FILE_PREFIX, JobDescription

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from osprofile.executors.ptp.commands import Command
    from osprofile.executors.ptp.form import Form, Submission
    from osprofile.executors.ptp.output import Outputs
    from osprofile.executors.ptp.view import View
    from osprofile.target.store import Record
    from osprofile.target.system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
_KEY: Final = "ptp:"
"""Begins the keys under which the record has the jobs of clients, which nobody else cares for."""


@final
class Jobs:
    """Submits, terminates and changes jobs; `key_of` is that of the client's model."""

    def __init__(
        self,
        target: TargetSystem,
        form: Form,
        view: View,
        outputs: Outputs,
        key_of: Callable[[Element, str], str | None],
    ) -> None:
        self._target, self._form, self._view, self._outputs = target, form, view, outputs
        self._key_of = key_of

    async def submit(self, command: Command) -> Answer:
        """Submit a job; from then on the view has it."""
        sub_id, directory = command.value("jobSubId"), self._target.new_directory()
        try:
            submission = self._submission(command)
            description = replace(submission.description, directory=directory)
            with self._view.submitting():
                job_id = await self._target.submit(description, key=f"{_KEY}{directory}")
                self._add(job_id, submission)
        except OSProfileError as error:
            log.info("job %s is refused: %s", sub_id, error)
            if isinstance(error, ScriptFailedError):
                await self._remove(directory, ())
            return SubmitJobError(command.tid, sub_id, sentence(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return SubmitJobError(command.tid, sub_id, fault(error))
        log.info("job %s is submitted as %s", sub_id, job_id)
        return Ok(command.tid)

    def _submission(self, command: Command) -> Submission:
        submission = self._form.submission(command.arguments, self._queue_of)
        if submission.debug:
            raise ValueRefusedError("attribute debug: jobs are run, not debugged", field="debug")
        if submission.ignored:
            log.info("job %s: ignored: %s", submission.sub_id, " ".join(submission.ignored))
        return submission

    def _queue_of(self, id_: str) -> str | None:
        name = self._key_of(Element.QUEUE, id_)
        if name is None:
            raise ValueRefusedError(f"attribute queueId: {shown(id_)} is no queue", field="QUEUE")
        return name if self._view.is_queue(name) else None

    def _add(self, job_id: str, submission: Submission) -> None:
        description, value = submission.description, self._form.value
        told = Told(
            JobStatus(job_id, JobState.UNKNOWN),
            queue=value(description, "QUEUE"),
            name=value(description, "JOB_NAME"),
            sub_id=submission.sub_id,
            count=self._form.process_count(description),
        )
        self._view.add(told)
        record = self._target.store.find(self._target.name, job_id)
        if record is not None:
            self.follow(record, description)

    def follow(self, record: Record, description: JobDescription | None = None) -> None:
        """Have a job's output told; without its description, its files are the profile's default ones."""
        if record.directory.startswith("/"):
            described = description or JobDescription()
            paths = [self._form.value(described, name) for name in ("STDOUT", "STDERR")]
            self._outputs.follow(record.status.job_id, record.directory, *paths)

    async def tidy(self, job_id: str, directory: str, told: Collection[str]) -> None:
        """Remove what an ended job left, if a client submitted it: files of `told` are not needed.

        A job that is lost may still run: its directory stays.
        """
        record = self._target.store.find(self._target.name, job_id)
        ours = record is not None and (record.key or "").startswith(_KEY)
        if ours and self._view.state(job_id) in TERMINAL - {JobState.LOST}:
            await self._remove(directory, told)

    async def _remove(self, directory: str, told: Collection[str]) -> None:
        """Remove a job's directory unless there is something in it that only the directory has."""
        try:
            names = [entry.name for entry in await self._target.list(directory)]
            others = [name for name in names if not name.startswith(OWN_FILE_PREFIX)]
            if all(posixpath.join(directory, name) in told for name in others):
                await self._target.delete(directory)
        except OSProfileError as error:
            log.warning("%s is left behind: %s", directory, error)

    async def terminate(self, command: Command) -> Answer:
        """Remove a job."""
        id_ = command.value("jobId")
        try:
            job_id = self._job_of(id_)
            with self._view.acting(job_id, aborts=True):
                await self._target.abort(job_id)
        except OSProfileError as error:
            return TerminateJobError(command.tid, id_, sentence(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return TerminateJobError(command.tid, id_, fault(error))
        return Ok(command.tid)

    async def change(self, command: Command) -> Answer:
        """Hold a job or let it go on, which is what the seed has CHANGE_JOB for."""
        states = {"SUSPENDED": self._target.hold, "RUNNING": self._target.resume}
        doing = states.get(command.value("jobState"))
        try:
            job_id = self._job_of(command.value("jobId"))
            if doing is None:
                return not_implemented(command)
            with self._view.acting(job_id):
                await doing(job_id)
        except OSProfileError as error:
            return Error(command.tid, ErrorCode.INTERNAL, sentence(error))
        except Exception as error:  # noqa: BLE001  # the client waits for an answer
            return Error(command.tid, ErrorCode.INTERNAL, fault(error))
        return Ok(command.tid)

    async def move(self, command: Command) -> Answer:
        """Refuse: no template of a profile says how a job gets into another queue."""
        return not_implemented(command)

    def _job_of(self, id_: str) -> str:
        job_id = self._key_of(Element.JOB, id_)
        if job_id is None:
            raise JobNotFoundError(f"attribute jobId: {shown(id_)} is no job")
        return job_id


def sentence(error: OSProfileError) -> str:
    """Give an error as a client's user sees it: what is wrong and what to do, not where it says so."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


def not_implemented(command: Command) -> Answer:
    """Give the answer to what no template of a profile can do."""
    text = f"{command.kind} of this kind is not implemented: no template of a profile says how"
    return Error(command.tid, ErrorCode.INTERNAL, text)


def fault(error: Exception) -> str:
    """Log a fault of our own, where it happened only if somebody debugs; give what to say of it."""
    text = f"internal error: {type(error).__name__}: {error}"
    log.error("a fault of osprofile's: %s", text, exc_info=log.isEnabledFor(logging.DEBUG))
    return text
