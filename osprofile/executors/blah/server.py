"""The daemon: it serves one client on stdin and stdout.

QUIT, the end of stdin, a closed stdout, or a signal ends it. It then closes its output at once
(docs/protocols/blah.md, 2.2). Jobs continue to run. Running submissions may take `Settings.linger`
seconds to end, but not after QUIT; those that are cut off are in the job record, where the next daemon
finds them. A daemon that is to remove jobs while their batch system is away lives until that answers.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.executors.blah.batch_systems import BatchSystems
from osprofile.executors.blah.messages import Quit, Request
from osprofile.executors.blah.protocol import DEFAULT_COMMANDS, PROXY_CACHE_COMMANDS, Connection
from osprofile.executors.blah.request_handler import RequestHandler
from osprofile.executors.blah.request_queue import RequestQueue
from osprofile.executors.pipes import MAX_UNREAD_BYTES, PipeReader, PipeWriter

if TYPE_CHECKING:
    from osprofile.executors.blah.protocol import Event
    from osprofile.executors.blah.settings import Settings

log: Final = logging.getLogger("osprofile.blah")
_EXIT_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@final
class Server:
    """The daemon of one client; `stdin` and `stdout` are file descriptors. Call `run` once."""

    def __init__(self, stdin: int, stdout: int, settings: Settings, *, dry_run: bool = False) -> None:
        self._settings = settings
        self._connection = Connection(
            DEFAULT_COMMANDS | (PROXY_CACHE_COMMANDS if settings.proxy_cache else frozenset()),
            window=settings.window,
        )
        self._is_dry_run = dry_run
        self._batch_systems = BatchSystems(settings)
        self._request_handler = RequestHandler(self._batch_systems, settings, dry_run=dry_run)
        self._input = PipeReader(stdin, self._receive_data)
        self._output = PipeWriter(stdout, self._stop_serving)
        self._request_queue = RequestQueue(self._handle_request, self._has_result_room)
        self._stopping = asyncio.Event()
        self._hurrying = asyncio.Event()
        """Set by a second signal: then nothing is waited for."""
        self._resume_task: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Serve until QUIT, the end of stdin or a signal, and return the exit code."""
        loop = asyncio.get_running_loop()
        for number in _EXIT_SIGNALS:
            loop.add_signal_handler(number, self._handle_signal, number)
        self._send_output()
        if not self._is_dry_run:
            self._take_over_removals()
        self._input.resume_reading()
        try:
            await self._stopping.wait()
            self._input.pause_reading()
            await self._shut_down()
        finally:
            await self._batch_systems.close()
            for number in _EXIT_SIGNALS:
                loop.remove_signal_handler(number)
        return 0

    async def _shut_down(self) -> None:
        """Close the output, wait for submissions unless the client said QUIT, and cancel all other requests."""
        self._request_queue.cancel_all_except("BLAH_JOB_SUBMIT")
        try:
            async with asyncio.timeout(self._settings.linger):
                await self._output.close()
                if not self._connection.has_quit:
                    await self._request_queue.wait_until_idle()
        except TimeoutError:
            log.warning("%d submissions are cut off", self._request_queue.cancel_all())
        self._request_queue.cancel_all()
        await self._request_queue.wait_until_idle()
        removals = asyncio.ensure_future(self._batch_systems.wait_for_removals())
        hurry = asyncio.ensure_future(self._hurrying.wait())
        await asyncio.wait((removals, hurry), return_when=asyncio.FIRST_COMPLETED)
        for waiting in (removals, hurry):
            waiting.cancel()

    def _take_over_removals(self) -> None:
        try:
            self._batch_systems.take_over_removals()
        except OSProfileError as error:  # each command that needs the record says so
            log.warning("the removals of earlier daemons are not known: %s", error)

    def _handle_signal(self, number: int) -> None:
        log.info("received signal %d", number)
        if self._stopping.is_set():  # the second signal: do not wait
            self._request_queue.cancel_all()
            self._hurrying.set()
        self._stopping.set()

    def _stop_serving(self) -> None:
        self._stopping.set()

    # Requests and results

    def _receive_data(self, data: bytes) -> None:
        self._connection.receive_data(data)
        while (event := self._connection.next_request()) is not None:
            self._dispatch_event(event)
        self._send_output()
        self._request_queue.start_waiting_requests()
        if not data:
            log.info("the end of stdin")
            self._stop_serving()

    def _dispatch_event(self, event: Event) -> None:
        if isinstance(event, Request):
            self._request_handler.accept_request(event)
            self._request_queue.add_request(event)
        elif isinstance(event, Quit):
            log.info("QUIT")
            self._stop_serving()
        else:
            self._connection.answer_request(self._request_handler.handle_immediate(event))

    async def _handle_request(self, request: Request) -> None:
        result = await self._request_handler.handle_request(request)
        self._connection.finish_request(request, result)
        self._send_output()

    def _has_result_room(self) -> bool:
        """Return whether there is room for more results. Once stopping, there is: nobody fetches them."""
        return self._connection.unfetched_bytes < MAX_UNREAD_BYTES or self._stopping.is_set()

    def _send_output(self) -> None:
        """Send the pending lines; read no more while the client leaves too many bytes unread."""
        self._output.send(self._connection.data_to_send())
        if self._output.unsent_bytes > MAX_UNREAD_BYTES and self._resume_task is None:
            self._input.pause_reading()
            self._resume_task = asyncio.ensure_future(self._resume_when_flushed())

    async def _resume_when_flushed(self) -> None:
        await self._output.flush()
        self._resume_task = None
        if not self._stopping.is_set():
            self._input.resume_reading()
