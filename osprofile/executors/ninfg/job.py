"""One job's way: staged, submitted, watched, its output fetched, its directory removed.

Whatever happens to it, its end is told once; and a job that is not wanted any more is followed
until it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptCutError
from osprofile.executors.ninfg.attributes import format_error
from osprofile.executors.ninfg.protocol import Status
from osprofile.executors.start_failure import describe_start_failure
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from osprofile.executors.ninfg.attributes import JobRequest
    from osprofile.executors.ninfg.job_target import JobTarget
    from osprofile.jobs.state import JobStatus

log: Final = logging.getLogger("osprofile.ninfg")
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 1.0, 30.0
"""Seconds between two tries of what did not work; each is twice the one before."""
MAX_TRIES: Final = 5
"""After so many a submission that is cut off each time has failed, and output is lost."""
_STATUS_BY_STATE: Final = {
    JobState.QUEUED: Status.PENDING,
    JobState.HELD: Status.PENDING,
    JobState.RUNNING: Status.ACTIVE,
}


def describe_end(status: JobStatus) -> tuple[Status, str]:
    """Give how an ended job is told: DONE only for one that ended by itself with exit code 0."""
    if status.state is JobState.DONE and status.exit_code in {0, None}:
        return Status.DONE, ""
    if status.state is JobState.DONE:
        return Status.FAILED, describe_start_failure(status) or f"exit code {status.exit_code}"
    words = {
        JobState.REMOVED: "it was removed",
        JobState.LOST: "it vanished without a trace",
    }.get(status.state, "it failed")
    if status.limit_exceeded:
        words = "it was ended by a limit of the system"
    elif status.signal:
        words = f"it was ended by signal {status.signal}"
    return Status.FAILED, f"{words}: {status.reason}" if status.reason else words


@final
class Job:
    """A job that the client was told the id of.

    `tell(status, text)` tells the client a state; it is for the caller to suppress what must not be
    told. `run_to_end` is its whole way.
    """

    def __init__(
        self,
        name: str,
        request: JobRequest,
        target: JobTarget,
        directory: str,
        report_status: Callable[[Status, str], None],
    ) -> None:
        self.name = name
        self.job_id: str | None = None
        self._request, self._target, self._directory, self._report_status = (
            request,
            target,
            directory,
            report_status,
        )
        self._end_requested = asyncio.Event()
        self._end_status: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._end_reported = False
        self._is_destroyed = self._directory_exists = False
        self._wants_output = True

    def destroy(self) -> None:
        """End it; the client is told DONE when it is gone."""
        self._is_destroyed = True
        self._end_requested.set()

    def abandon(self) -> None:
        """End it: nobody is interested in it any more."""
        self._wants_output = False
        self._end_requested.set()

    def update_status(self, status: JobStatus) -> None:
        """Take what the target system says about it."""
        if status.state.is_terminal:
            if not self._end_status.done():
                self._end_status.set_result(status)
        elif status.state in _STATUS_BY_STATE:
            self._report_status(_STATUS_BY_STATE[status.state], "")

    async def run_to_end(self, on_submitted: Callable[[str, Job], None]) -> None:
        """Go all the way; `known(job_id, self)` is called when its id on the target is known."""
        try:
            await self._run_stages(on_submitted)
        except (OSProfileError, OSError) as error:
            self._report_failure(error)
        except Exception as error:
            log.exception("job %s: a fault of osprofile's", self.name)
            self._report_end(Status.FAILED, f"{type(error).__name__}: {error}")

    async def _start_or_fail(self, on_submitted: Callable[[str, Job], None]) -> bool:
        try:
            if await self._stage_and_submit(on_submitted):
                return True
            self._report_end(Status.FAILED, "it was cancelled before it was submitted")
        except (OSProfileError, OSError) as error:
            self._report_failure(error)
        return False

    def _report_failure(self, error: OSProfileError | OSError) -> None:
        words = format_error(error) if isinstance(error, OSProfileError) else str(error)
        log.warning("job %s: %s", self.name, words)
        self._report_end(Status.FAILED, words)

    async def _run_stages(self, on_submitted: Callable[[str, Job], None]) -> None:
        if not await self._start_or_fail(on_submitted):
            if self._directory_exists:
                await self._target.remove_directory(self._directory)
            return
        status = await self._wait_for_end()
        log.info("job %s (%s): %s %s", self.name, self.job_id, status.state, status.reason)
        lost = await self._fetch_outputs()
        self._report_end(*((Status.FAILED, lost) if lost else describe_end(status)))
        await self._target.remove_directory(self._directory)

    def _report_end(self, status: Status, text: str) -> None:
        """Tell how it ended; one that the client destroyed is DONE."""
        if not self._end_reported:
            self._end_reported = True
            self._report_status(*((Status.DONE, "") if self._is_destroyed else (status, text)))

    # Starting

    async def _stage_and_submit(self, on_submitted: Callable[[str, Job], None]) -> bool:
        """Stage and submit it; False if it was not wanted any more before that."""
        async with self._target.submit_slots:
            if not await self._run_until_unwanted(self._stage_files()):
                return False
            job_id = await self._submit_with_retries()
        self.job_id = job_id
        on_submitted(job_id, self)
        log.info("job %s is %s in %s", self.name, job_id, self._directory)
        return True

    async def _stage_files(self) -> None:
        await self._target.connect_once()
        self._directory_exists = True
        await self._target.stage_files(self._request, self._directory)

    async def _run_until_unwanted(self, work: Coroutine[None, None, None]) -> bool:
        """Do something as long as the job is wanted; say whether it was done."""
        if self._end_requested.is_set():
            work.close()
            return False
        doing = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._end_requested.wait())
        try:
            await asyncio.wait((doing, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not doing.done():
                doing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await doing
        return not doing.cancelled()

    async def _submit_with_retries(self) -> str:
        """Submit it, once, whatever cuts the submission off.

        What is not known to have failed may have worked: it goes on until that is known. For the
        client the job has failed after TRIES.
        """
        description = self._request.build_description(self._directory)
        tries, delay = 0, MIN_RETRY_DELAY
        while True:
            try:
                return await self._target.system.submit(description, key=self.name)
            except ScriptCutError as error:
                log.warning("job %s: %s", self.name, format_error(error))
                tries += 1
                if tries == MAX_TRIES:
                    self._report_end(Status.FAILED, format_error(error))
                    self.abandon()
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_RETRY_DELAY)

    # Ending

    async def _wait_for_end(self) -> JobStatus:
        """Wait for its end; once it is not wanted any more, bring that about."""
        waiting = asyncio.ensure_future(self._end_requested.wait())
        try:
            await asyncio.wait((self._end_status, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        delay = MIN_RETRY_DELAY
        while not self._end_status.done():
            await self._abort_job()
            await asyncio.wait((self._end_status,), timeout=delay)
            delay = min(delay * 2, MAX_RETRY_DELAY)
        return self._end_status.result()

    async def _abort_job(self) -> None:
        """Have it removed; one that has ended meanwhile is found out by the poll behind it."""
        try:
            await self._target.system.abort(self.job_id or "")
        except OSProfileError as error:
            log.warning("job %s: %s", self.name, format_error(error))

    async def _fetch_outputs(self) -> str:
        """Bring its output here, where the client wants it; say what went wrong, if anything did."""
        description = self._request.build_description(self._directory)
        wanted = {
            self._request.stdout: description.stdout,
            self._request.stderr: description.stderr,
        }
        files = [(there, here) for here, there in wanted.items() if here and there]
        done = await asyncio.gather(*(self._fetch_output(*pair) for pair in files))
        return "; ".join(filter(None, done))

    async def _fetch_output(self, remote_name: str, local_path: str) -> str:
        words = ""
        for number in range(MAX_TRIES):
            if not self._wants_output:
                return ""
            if number:
                await asyncio.sleep(MIN_RETRY_DELAY * 2 ** (number - 1))
            try:
                await self._target.fetch_file(self._directory, remote_name, local_path)
            except OSProfileError as error:
                words = format_error(error)
                log.warning("job %s: %s", self.name, words)
            except OSError as error:
                return f"{local_path}: {error.strerror}"
            else:
                return ""
        return words
