"""The life of one job: it is staged, submitted and watched, its output fetched, its files removed.

Its end is reported exactly once, whatever happens. A job that is not wanted any more is removed, and
followed until it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, OutcomeUnknownError
from osprofile.executors.failures import describe_start_failure, format_error, format_internal_error
from osprofile.executors.ninfg.protocol import Status
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from osprofile.executors.ninfg.attributes import JobRequest
    from osprofile.executors.ninfg.job_target import JobTarget
    from osprofile.jobs.state import JobStatus

    StatusSubscription = Callable[[str, Callable[[JobStatus], None]], object]
    """Called with a job's id and the function that gets each status of the job."""

log: Final = logging.getLogger("osprofile.ninfg")
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 1.0, 30.0
"""Seconds between two tries; each delay is twice the one before."""
MAX_TRIES: Final = 5
"""After so many tries a submission that was cut off each time has failed, and output is lost."""
_STATUS_BY_STATE: Final = {
    JobState.QUEUED: Status.PENDING,
    JobState.HELD: Status.PENDING,
    JobState.RUNNING: Status.ACTIVE,
}


def _retry_delays() -> Iterator[float]:
    delay = MIN_RETRY_DELAY
    while True:
        yield delay
        delay = min(delay * 2, MAX_RETRY_DELAY)


def describe_end(status: JobStatus) -> tuple[Status, str]:
    """Return how the end of a job is reported: DONE only if it is known that it exited with code 0."""
    if status.state is JobState.DONE and status.exit_code == 0:
        return Status.DONE, ""
    if status.state is JobState.DONE:
        return Status.FAILED, describe_start_failure(status) or status.describe_end()
    text = status.describe_end()
    return Status.FAILED, f"{text}: {status.reason}" if status.reason else text


@final
class Job:
    """A job whose id the client knows.

    `report_status(status, text)` reports a status to the client; the caller suppresses what the
    client must not be told.
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
        self._request, self._target, self._directory = request, target, directory
        self._report_status = report_status
        self._end_requested = asyncio.Event()
        self._end_status: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._end_reported = False
        self._is_destroyed = self._directory_exists = False
        self._wants_output = True

    def destroy(self) -> None:
        """Remove the job; DONE is reported when it is gone."""
        self._is_destroyed = True
        self._end_requested.set()

    def abandon(self) -> None:
        """Remove the job, without its output: nobody waits for it any more."""
        self._wants_output = False
        self._end_requested.set()

    def update_status(self, status: JobStatus) -> None:
        """Report a status of the job from the target system."""
        if status.state.is_terminal:
            if not self._end_status.done():
                self._end_status.set_result(status)
        elif status.state in _STATUS_BY_STATE:
            self._report_status(Status.ACTIVE if status.is_suspended else _STATUS_BY_STATE[status.state], "")

    async def run_to_end(self, on_submitted: StatusSubscription) -> None:
        """Run the job from staging to its end; calls `on_submitted(job_id, update_status)` in between."""
        try:
            await self._run_stages(on_submitted)
        except (OSProfileError, OSError) as error:
            self._report_failure(error)
        except Exception as error:
            log.exception("job %s: internal error", self.name)
            self._report_end(Status.FAILED, format_internal_error(error))

    async def _start_or_fail(self, on_submitted: StatusSubscription) -> bool:
        try:
            if await self._stage_and_submit(on_submitted):
                return True
            self._report_end(Status.FAILED, "it was cancelled before it was submitted")
        except (OSProfileError, OSError) as error:
            self._report_failure(error)
        return False

    def _report_failure(self, error: OSProfileError | OSError) -> None:
        text = format_error(error) if isinstance(error, OSProfileError) else str(error)
        log.warning("job %s: %s", self.name, text)
        self._report_end(Status.FAILED, text)

    async def _run_stages(self, on_submitted: StatusSubscription) -> None:
        if not await self._start_or_fail(on_submitted):
            if self._directory_exists:
                await self._target.remove_directory(self._directory)
            return
        status = await self._wait_for_end()
        log.info("job %s (%s): %s %s", self.name, self.job_id, status.state, status.reason)
        failure = await self._fetch_outputs()
        self._report_end(*((Status.FAILED, failure) if failure else describe_end(status)))
        await self._target.remove_directory(self._directory)

    def _report_end(self, status: Status, text: str) -> None:
        """Report the end of the job, once; DONE for one that the client destroyed."""
        if not self._end_reported:
            self._end_reported = True
            self._report_status(*((Status.DONE, "") if self._is_destroyed else (status, text)))

    # Start

    async def _stage_and_submit(self, on_submitted: StatusSubscription) -> bool:
        """Stage and submit the job; return False if its end was requested before the submission."""
        async with self._target.submit_slots:
            if not await self._run_unless_ended(self._stage_files()):
                return False
            job_id = await self._submit_with_retries()
        self.job_id = job_id
        on_submitted(job_id, self.update_status)
        log.info("job %s is %s in %s", self.name, job_id, self._directory)
        return True

    async def _stage_files(self) -> None:
        await self._target.connect_once()
        self._directory_exists = True
        await self._target.stage_files(self._request, self._directory)

    async def _run_unless_ended(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work` until the job's end is requested; return whether it was completed."""
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
        """Submit the job and return its id; a submission that is cut off is repeated.

        The job may have been submitted all the same, so that this goes on until it is known; the
        key makes sure that it is submitted only once. After MAX_TRIES the client is told that the
        job has failed.
        """
        description = self._request.build_description(self._directory)
        for number, delay in enumerate(_retry_delays(), 1):
            try:
                return await self._target.system.submit(description, key=self.name)
            except OutcomeUnknownError as error:
                log.warning("job %s: %s", self.name, format_error(error))
                if number == MAX_TRIES:
                    self._report_end(Status.FAILED, format_error(error))
                    self.abandon()
            await asyncio.sleep(delay)
        raise AssertionError  # the delays do not end

    # End

    async def _wait_for_end(self) -> JobStatus:
        """Wait until the job has ended; remove it as soon as its end is requested."""
        waiting = asyncio.ensure_future(self._end_requested.wait())
        try:
            await asyncio.wait((self._end_status, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        delays = _retry_delays()
        while not self._end_status.done():
            await self._abort_job()
            await asyncio.wait((self._end_status,), timeout=next(delays))
        return self._end_status.result()

    async def _abort_job(self) -> None:
        """Run ABORT. If that fails because the job has ended, the poll after it will tell."""
        try:
            await self._target.system.abort(self.job_id or "")
        except OSProfileError as error:
            log.warning("job %s: %s", self.name, format_error(error))

    async def _fetch_outputs(self) -> str:
        """Fetch the output files that the client wants; return what went wrong (empty: nothing)."""
        description = self._request.build_description(self._directory)
        names = {self._request.stdout: description.stdout, self._request.stderr: description.stderr}
        files = [(remote, local) for local, remote in names.items() if local and remote]
        failures = await asyncio.gather(*(self._fetch_output(*pair) for pair in files))
        return "; ".join(filter(None, failures))

    async def _fetch_output(self, remote_name: str, local_path: str) -> str:
        failure, delays = "", _retry_delays()
        for number in range(MAX_TRIES):
            if not self._wants_output:
                return ""
            if number:
                await asyncio.sleep(next(delays))
            try:
                await self._target.fetch_file(self._directory, remote_name, local_path)
            except OSProfileError as error:
                failure = format_error(error)
                log.warning("job %s: %s", self.name, failure)
            except OSError as error:
                return f"{local_path}: {error.strerror}"
            else:
                return ""
        return failure
