"""The Invoke Server: a client on three pipes in front, target systems behind.

Requests are answered one after the other, in their order. A job goes its own way beside
(`job.Job`); what it tells passes through the conversation, which knows what the client may hear.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import AttributeRefusedError, OSProfileError
from osprofile.executors.ninfg import protocol
from osprofile.executors.ninfg.attributes import order_of, sentence
from osprofile.executors.ninfg.job import Job
from osprofile.executors.ninfg.place import Site, is_this_host, opened
from osprofile.executors.pipes import MOST_UNREAD, Input, Output
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.executors.ninfg.attributes import Order, Place
    from osprofile.executors.ninfg.protocol import Request, Status

log: Final = logging.getLogger("osprofile.ninfg")
PATIENCE: Final = 3600.0
"""Seconds after which a server that is to exit gives up jobs that it cannot end."""
MOST_WAITING: Final = 1000
"""Requests that wait for their answers before no more are read."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@final
class Server:
    """One client's server; `stdin`, `stdout` and `stderr` are descriptors. `run` once."""

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self._conversation = protocol.Conversation()
        self._reader = protocol.RequestReader()
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._input = Input(stdin, self._take)
        self._replies, self._notifies = (Output(h, self._hang_up) for h in (stdout, stderr))
        self._repository = Repository()
        self._here: dict[str, bool] = {}
        self._sites: dict[Place, Site] = {}
        self._listening: list[asyncio.Task[None]] = []
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._stopping = asyncio.Event()
        self._given_up = asyncio.Event()

    async def run(self) -> int:
        """Serve until EXIT, the end of stdin or a signal; give the exit code.

        It is 0 if all jobs have ended, 1 if some had to be given up.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        self._input.resume()
        answering = asyncio.ensure_future(self._answer_all())
        try:
            await self._stopping.wait()
            self._input.pause()
            return await self._end()
        finally:
            answering.cancel()
            for task in (*self._listening, answering):
                task.cancel()
            await asyncio.gather(*self._listening, answering, return_exceptions=True)
            for site in self._sites.values():
                await site.system.close()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    async def _end(self) -> int:
        """End all jobs and wait until they are gone."""
        log.info("ending %d jobs", len(self._jobs))
        for job in list(self._jobs.values()):
            job.abandon()
        given_up = asyncio.ensure_future(self._given_up.wait())
        if self._tasks:
            going = asyncio.ensure_future(asyncio.wait(self._tasks))
            await asyncio.wait(
                (going, given_up), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            going.cancel()
        given_up.cancel()
        for job in self._jobs.values():
            log.error("job %s (%s) is left behind", job.name, job.job_id or "not submitted")
        for task in self._tasks:
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._replies.flush()
                await self._notifies.flush()
        return 1 if self._jobs else 0

    # What makes it end

    def _signalled(self, number: int) -> None:
        """End; the client, which is still there, hears what becomes of its jobs."""
        log.info("received signal %d", number)
        if self._stopping.is_set():
            self._given_up.set()
        self._stopping.set()

    def _hang_up(self) -> None:
        """End: the client is gone, or has sent EXIT."""
        self._conversation.exit()
        self._stopping.set()

    # Requests

    def _take(self, data: bytes) -> None:
        for request in self._reader.receive(data):
            self._requests.put_nowait(request)
        if not data:
            self._requests.put_nowait(None)
        if self._requests.qsize() > MOST_WAITING:
            self._input.pause()

    async def _answer_all(self) -> None:
        while not self._stopping.is_set():
            request = await self._requests.get()
            if request is None:
                log.info("the end of stdin")
                self._hang_up()
                return
            try:
                await self._answer(request)
            except Exception as error:
                log.exception("a fault of osprofile's")
                self._fail(f"internal error: {type(error).__name__}: {error}")
            while self._replies.unsent + self._notifies.unsent > MOST_UNREAD:
                await self._replies.flush()
                await self._notifies.flush()
            if self._requests.qsize() <= MOST_WAITING and not self._stopping.is_set():
                self._input.resume()

    async def _answer(self, request: Request) -> None:
        log.info("request %s", _shown(request))
        match request:
            case protocol.JobCreate():
                await self._create(request)
            case protocol.JobStatus(job_id):
                self._ask(job_id)
            case protocol.JobDestroy(job_id):
                self._destroy(job_id)
            case protocol.QueryFeatures():
                self._replies.send(protocol.features())
            case protocol.BadRequest(error):
                self._fail(error)
            case protocol.Exit():
                self._replies.send(protocol.succeeded())
                self._hang_up()

    def _fail(self, text: str) -> None:
        log.info("reply F %s", text)
        self._replies.send(protocol.failed(text))

    async def _create(self, request: protocol.JobCreate) -> None:
        try:
            order = order_of(request.attributes)
            site = await self._site(order.place)
            if self._stopping.is_set():
                self._fail("the server is exiting")
                return
            directory = site.new_directory()
            site.check(order, directory)
            _check_files(order)
        except OSProfileError as error:
            self._fail(sentence(error))
            return
        name = f"{os.getpid()}.{next(self._numbers):08d}"
        self._replies.send(protocol.succeeded())
        self._notifies.send(self._conversation.created(request.request_id, name))
        job = Job(name, order, site, directory, lambda *told: self._tell(name, *told))
        self._jobs[name] = job
        task = asyncio.ensure_future(self._follow(job, site))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, job: Job, site: Site) -> None:
        """Go a job's way with it."""
        await job.run(site.jobs.__setitem__)
        site.forget(job.job_id)
        self._jobs.pop(job.name, None)

    def _ask(self, job_id: str) -> None:
        if job_id in self._conversation:
            self._replies.send(protocol.in_state(self._conversation.status(job_id)))
        else:
            self._fail(f"there is no job {job_id}")

    def _destroy(self, job_id: str) -> None:
        if job_id not in self._conversation:
            self._fail(f"there is no job {job_id}")
            return
        self._replies.send(protocol.succeeded())
        if job_id in self._jobs:
            self._jobs[job_id].destroy()

    def _tell(self, name: str, status: Status, text: str) -> None:
        notify = self._conversation.changed(name, status, text)
        if notify:
            log.info("notify %s", notify.decode().rstrip())
        self._notifies.send(notify)

    # Places

    async def _site(self, place: Place) -> Site:
        """Give a place, opened when its first job comes; raises `AttributeRefusedError`."""
        if place not in self._sites:
            if place.hostname not in self._here:
                self._here[place.hostname] = await asyncio.to_thread(is_this_host, place.hostname)
            site = Site(place, self._repository, here=self._here[place.hostname])
            self._sites[place] = site
            self._listening.append(asyncio.ensure_future(_listen(site)))
        return self._sites[place]


async def _listen(site: Site) -> None:
    """Hand on what a target system says about its jobs."""
    async for event in site.system.events():
        if event.job_id in site.jobs:
            site.jobs[event.job_id].hear(event.status)


def _check_files(order: Order) -> None:
    """Refuse what cannot be read or written here, while it can still be said at once."""
    if order.staged and not os.access(order.executable, os.R_OK):
        message = f"attribute executable_path: {order.executable} cannot be read here"
        raise AttributeRefusedError(message, attribute="executable_path", hint="see staging")
    for name, file in {"stdout_file": order.stdout, "stderr_file": order.stderr}.items():
        try:
            if file:
                opened(file).close()
        except (OSError, ValueError) as error:
            message = f"attribute {name}: {file} cannot be written here: {error}"
            raise AttributeRefusedError(message, attribute=name) from None


def _shown(request: Request) -> str:
    """Give a request for the log: of what may be a secret, only the name."""
    if not isinstance(request, protocol.JobCreate):
        return str(request)
    pairs = (
        (key, value.partition("=")[0] if key == "environment" else value)
        for key, value in request.attributes
        if key != "auth_number"
    )
    return f"JobCreate {request.request_id}: {'; '.join(map(' '.join, pairs))}"
