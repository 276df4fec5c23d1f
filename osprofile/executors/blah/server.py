"""The daemon: a client on stdin and stdout in front, the work of its requests behind.

What ends it: QUIT, the end of stdin, a client that is gone, a signal. Then its output is closed at once
(seed, QUIT). The jobs go on; submissions that are under way have a moment to end, and what is cut off
all the same is in the record, where the next daemon finds it.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.blah import requests as r
from osprofile.executors.blah.lanes import Lanes
from osprofile.executors.blah.protocol import USUAL_COMMANDS, Connection
from osprofile.executors.blah.sites import Sites
from osprofile.executors.blah.work import Worker
from osprofile.executors.pipes import MOST_UNREAD, Input, Output

if TYPE_CHECKING:
    from osprofile.executors.blah.settings import Settings

log: Final = logging.getLogger("osprofile.blah")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_PROXY_CACHE: Final = frozenset({"CACHE_PROXY_FROM_FILE", "UNCACHE_PROXY", "USE_CACHED_PROXY"})


@final
class Server:
    """One client's daemon; `stdin` and `stdout` are descriptors. `run` once."""

    def __init__(
        self, stdin: int, stdout: int, settings: Settings, *, dry_run: bool = False
    ) -> None:
        self._settings = settings
        self._connection = Connection(
            USUAL_COMMANDS | (_PROXY_CACHE if settings.proxy_cache else frozenset()),
            window=settings.window,
        )
        self._sites = Sites(settings)
        self._worker = Worker(self._sites, settings, dry_run=dry_run)
        self._input = Input(stdin, self._take)
        self._output = Output(stdout, self._hang_up)
        self._lanes = Lanes(self._work, self._may_start)
        self._stopping = asyncio.Event()
        self._resuming: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Serve until QUIT, the end of stdin or a signal; give the exit code."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signalled, number)
        self._send()
        self._input.resume()
        try:
            await self._stopping.wait()
            self._input.pause()
            await self._end()
        finally:
            await self._sites.close()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
        return 0

    async def _end(self) -> None:
        """Close the pipe, then let submissions come to their end; what only asks is broken off."""
        self._lanes.drop_all_but(r.Submit)
        try:
            async with asyncio.timeout(self._settings.linger):
                await self._output.close()
                await self._lanes.finish()
        except TimeoutError:
            log.warning("%d submissions are cut off", self._lanes.cut())
        self._lanes.cut()
        await self._lanes.finish()

    def _signalled(self, number: int) -> None:
        log.info("received signal %d", number)
        if self._stopping.is_set():  # once more: at once
            self._lanes.cut()
        self._stopping.set()

    def _hang_up(self) -> None:
        """End: the client is gone."""
        self._stopping.set()

    # Requests and results

    def _take(self, data: bytes) -> None:
        self._connection.receive_data(data)
        while (event := self._connection.next_request()) is not None:
            self._handle(event)
        self._send()
        self._lanes.start()
        if not data:
            log.info("the end of stdin")
            self._hang_up()

    def _handle(self, event: r.AnyRequest | r.Immediate | r.Quit) -> None:
        if isinstance(event, r.Request):
            self._lanes.add(event)
        elif isinstance(event, r.Quit):
            log.info("QUIT")
            self._hang_up()
        else:
            self._connection.answer(self._worker.answer(event))

    async def _work(self, request: r.AnyRequest) -> None:
        result = await self._worker.result_of(request)
        self._connection.finish(request, result)
        self._send()

    def _may_start(self) -> bool:
        """Say whether there is room for more results; at the end nobody fetches them."""
        return self._connection.unfetched < MOST_UNREAD or self._stopping.is_set()

    def _send(self) -> None:
        """Send what there is; read no more as long as the client does not read."""
        self._output.send(self._connection.data_to_send())
        if self._output.unsent > MOST_UNREAD and self._resuming is None:
            self._input.pause()
            self._resuming = asyncio.ensure_future(self._resume())

    async def _resume(self) -> None:
        await self._output.flush()
        self._resuming = None
        if not self._stopping.is_set():
            self._input.resume()
