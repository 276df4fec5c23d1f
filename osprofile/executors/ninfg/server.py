"""The Invoke Server: it serves one client on three pipes.

Requests are answered one after the other. Each job runs in a task of its own (`job.Job`); what it
reports passes through the conversation, which knows what the client may be told.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.executors.failures import format_error, format_internal_error, make_refusal
from osprofile.executors.ninfg import protocol
from osprofile.executors.ninfg.attributes import parse_job_request
from osprofile.executors.ninfg.job import Job
from osprofile.executors.ninfg.job_target import JobTarget, is_this_host, open_output_file
from osprofile.executors.pipes import MAX_UNREAD_BYTES, PipeReader, PipeWriter

if TYPE_CHECKING:
    from osprofile.executors.ninfg.attributes import Destination, JobRequest
    from osprofile.executors.ninfg.protocol import Request, Status

log: Final = logging.getLogger("osprofile.ninfg")
SHUTDOWN_TIMEOUT: Final = 3600.0
"""Seconds after which an exiting server gives up jobs that it cannot end."""
MAX_QUEUED_REQUESTS: Final = 1000
"""So many requests may wait for their replies before the server stops reading."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@final
class Server:
    """The server of one client; `stdin`, `stdout` and `stderr` are file descriptors."""

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self._conversation = protocol.Conversation()
        self._reader = protocol.RequestReader()
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._input = PipeReader(stdin, self._queue_requests)
        self._replies, self._notifies = (PipeWriter(h, self._stop_serving) for h in (stdout, stderr))
        self._local_hosts: dict[str, bool] = {}
        self._targets: dict[Destination, JobTarget] = {}
        self._event_tasks: list[asyncio.Task[None]] = []
        self._jobs: dict[str, Job] = {}
        self._job_tasks: set[asyncio.Task[None]] = set()
        self._job_numbers = itertools.count(1)
        self._stopping = asyncio.Event()
        self._giving_up = asyncio.Event()

    async def serve_client(self) -> int:
        """Serve until EXIT, the end of stdin or a signal, and return the exit code.

        It is 0 if all jobs have ended, 1 if some had to be given up.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._handle_signal, number)
        self._input.resume_reading()
        self._replies.watch_client()
        self._notifies.watch_client()
        answering = asyncio.ensure_future(self._answer_requests())
        try:
            await self._stopping.wait()
            self._input.pause_reading()
            return await self._end_all_jobs()
        finally:
            answering.cancel()
            for task in (*self._event_tasks, answering):
                task.cancel()
            await asyncio.gather(*self._event_tasks, answering, return_exceptions=True)
            for target in self._targets.values():
                await target.system.close()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    async def _end_all_jobs(self) -> int:
        """End all jobs, wait until they are gone, and return the exit code."""
        log.info("ending %d jobs", len(self._jobs))
        for job in list(self._jobs.values()):
            job.abandon()
        giving_up = asyncio.ensure_future(self._giving_up.wait())
        if self._job_tasks:
            going = asyncio.ensure_future(asyncio.wait(self._job_tasks))
            await asyncio.wait(
                (going, giving_up), timeout=SHUTDOWN_TIMEOUT, return_when=asyncio.FIRST_COMPLETED
            )
            going.cancel()
        giving_up.cancel()
        for job in self._jobs.values():
            log.error("job %s (%s) is left behind", job.name, job.job_id or "not submitted")
        for task in self._job_tasks:
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._replies.flush()
                await self._notifies.flush()
        return 1 if self._jobs else 0

    # Shutdown

    def _handle_signal(self, number: int) -> None:
        """End all jobs; the client is still told how they end. A second signal gives them up."""
        log.info("received signal %d", number)
        if self._stopping.is_set():
            self._giving_up.set()
        self._stopping.set()

    def _stop_serving(self) -> None:
        """Stop: the client is gone or has sent EXIT, and must not be told anything more."""
        self._conversation.end_notifications()
        self._stopping.set()

    # Requests

    def _queue_requests(self, data: bytes) -> None:
        for request in self._reader.receive_data(data):
            self._requests.put_nowait(request)
        if not data:
            self._requests.put_nowait(None)
        if self._requests.qsize() > MAX_QUEUED_REQUESTS:
            self._input.pause_reading()

    async def _answer_requests(self) -> None:
        while not self._stopping.is_set():
            request = await self._requests.get()
            if request is None:
                log.info("the end of stdin")
                self._stop_serving()
                return
            try:
                await self._answer_request(request)
            except Exception as error:
                log.exception("internal error")
                self._reply_failure(format_internal_error(error))
            while self._replies.unsent_bytes + self._notifies.unsent_bytes > MAX_UNREAD_BYTES:
                await self._replies.flush()
                await self._notifies.flush()
            if self._requests.qsize() <= MAX_QUEUED_REQUESTS and not self._stopping.is_set():
                self._input.resume_reading()

    async def _answer_request(self, request: Request) -> None:
        log.info("request %s", _format_for_log(request))
        match request:
            case protocol.JobCreate():
                await self._create_job(request)
            case protocol.JobStatus(job_id):
                self._reply_status(job_id)
            case protocol.JobDestroy(job_id):
                self._destroy_job(job_id)
            case protocol.QueryFeatures():
                self._replies.send(protocol.format_features())
            case protocol.BadRequest(error):
                self._reply_failure(error)
            case protocol.Exit():
                self._replies.send(protocol.format_success())
                self._stop_serving()

    def _reply_failure(self, text: str) -> None:
        log.info("reply F %s", text)
        self._replies.send(protocol.format_failure(text))

    async def _create_job(self, request: protocol.JobCreate) -> None:
        try:
            job_request = parse_job_request(request.attributes)
            target = await self._get_target(job_request)
            if self._stopping.is_set():
                self._reply_failure("the server is exiting")
                return
            directory = await target.system.new_job_directory()
            await target.validate_request(job_request, directory)
            _check_local_files(job_request)
        except OSProfileError as error:
            self._reply_failure(format_error(error))
            return
        name = f"{os.getpid()}.{next(self._job_numbers):08d}"
        for warning in job_request.warnings:
            log.warning("job %s: %s", name, warning)
        # The client waits for the reply, then for the id, then for statuses of that id.
        self._replies.send(protocol.format_success())
        self._notifies.send(self._conversation.notify_created(request.request_id, name))
        job = Job(
            name, job_request, target, directory, lambda status, text: self._notify_status(name, status, text)
        )
        self._jobs[name] = job
        task = asyncio.ensure_future(self._run_job(job, target))
        self._job_tasks.add(task)
        task.add_done_callback(self._job_tasks.discard)

    async def _run_job(self, job: Job, target: JobTarget) -> None:
        await job.run_to_end(target.status_listeners.__setitem__)
        target.forget_job(job.job_id)
        self._jobs.pop(job.name, None)

    def _reply_status(self, job_id: str) -> None:
        if job_id in self._conversation:
            self._replies.send(protocol.format_status(self._conversation.get_status(job_id)))
        else:
            self._reply_failure(f"there is no job {job_id}")

    def _destroy_job(self, job_id: str) -> None:
        if job_id not in self._conversation:
            self._reply_failure(f"there is no job {job_id}")
            return
        self._replies.send(protocol.format_success())
        if job_id in self._jobs:
            self._jobs[job_id].destroy()

    def _notify_status(self, name: str, status: Status, text: str) -> None:
        notify = self._conversation.notify_status(name, status, text)
        if notify:
            log.info("notify %s", notify.decode().rstrip())
        self._notifies.send(notify)

    # Target systems

    async def _get_target(self, request: JobRequest) -> JobTarget:
        """Return the target system of a job. Raises `AttributeRefusedError`."""
        destination = request.destination
        if destination not in self._targets:
            if destination.hostname not in self._local_hosts:
                self._local_hosts[destination.hostname] = await asyncio.to_thread(
                    is_this_host, destination.hostname
                )
            is_local = self._local_hosts[destination.hostname]
            target = JobTarget(destination, request.profile_attribute, is_local=is_local)
            self._targets[destination] = target
            self._event_tasks.append(asyncio.ensure_future(_forward_events(target)))
        return self._targets[destination]


async def _forward_events(target: JobTarget) -> None:
    """Forward a target system's events to its jobs."""
    async for event in target.system.events():
        if event.job_id in target.status_listeners:
            target.status_listeners[event.job_id](event.status)


def _check_local_files(request: JobRequest) -> None:
    """Raise `AttributeRefusedError` for files on this machine that cannot be read or written."""
    if request.is_staged and not os.access(request.executable, os.R_OK):
        raise make_refusal("executable_path", f"{request.executable} cannot be read here", "see staging")
    for name, path in {"stdout_file": request.stdout, "stderr_file": request.stderr}.items():
        try:
            if path:
                open_output_file(path).close()
        except (OSError, ValueError) as error:
            raise make_refusal(name, f"{path} cannot be written here: {error}") from None


def _format_for_log(request: Request) -> str:
    """Return a request for the log, without values that may be secrets."""
    if not isinstance(request, protocol.JobCreate):
        return str(request)
    pairs = (
        (key, value.partition("=")[0] if key == "environment" else value)
        for key, value in request.attributes
        if key != "auth_number"
    )
    return f"JobCreate {request.request_id}: {'; '.join(map(' '.join, pairs))}"
