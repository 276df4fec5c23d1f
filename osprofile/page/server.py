"""The page's server: on this machine's loopback alone, for the form's questions.

Connections are served side by side, each with a deadline; pages and scripts are made in one thread
beside them, so that a pattern that takes its second holds nobody's connection up.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, OSProfileError, RequestError, SettingError
from osprofile.page import http
from osprofile.page.document import html, problem_html
from osprofile.page.gather import page_of
from osprofile.page.http import Refused
from osprofile.page.places import labels_of, without_directories
from osprofile.page.rendering import answer, answer_json, page_context, question_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.page")
ADDRESS: Final = "127.0.0.1"
PATIENCE: Final = 10.0
"""Seconds in which a client has to send its request, and again to take the answer."""
MOST_CONNECTIONS: Final = 64
"""Connections at once; further ones are told to come again."""

Stamp = tuple[tuple[str, int, int, int], ...]


@final
class Site:
    """A profile that is read again when its files have changed, and its page.

    `load` gives the resolved profile; `directories` are those that a message must not tell. Not
    for two threads at once.
    """

    def __init__(
        self,
        load: Callable[[], Profile],
        context: Mapping[str, str],
        directories: Callable[[], Iterable[str]],
    ) -> None:
        self._load = load
        self._given = context
        self._directories = tuple(directories())
        self._profile = load()
        self._stamp = self._stamped()
        self._page = self._made()
        self._broken: OSProfileError | None = None

    @property
    def version(self) -> str:
        """A name for what the profile's files say just now."""
        digest = hashlib.sha256()
        for document in self._profile.documents:
            digest.update(document.element.source.data)
        return digest.hexdigest()[:16]

    def page(self) -> tuple[int, str]:
        """Give status and page; of a profile that does not load, what is wrong with it."""
        self._refresh()
        if self._broken is not None:
            return 500, problem_html("This profile does not load", self._told(self._broken))
        return 200, self._page

    def answer(self, body: bytes) -> object:
        """Give the answer to a question, for JSON; raise `RequestError` where it is none."""
        question = question_of(body)
        self._refresh()
        if self._broken is not None:
            first = self._told(self._broken).partition("\n")[0]
            return {"error": f"the profile does not load: {first}"}
        context = page_context(self._profile, self._given)
        made = answer(self._profile, labels_of(self._profile), context, question)
        return answer_json(made, self.version)

    def _refresh(self) -> None:
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._profile = self._load()
            self._stamp = self._stamped()  # the chain may be another one
            self._page = self._made()
            self._broken = None
        except OSProfileError as error:
            log.warning("the profile does not load:\n%s", error)
            self._broken = error

    def _made(self) -> str:
        return html(page_of(self._profile, self._given), version=self.version)

    def _stamped(self) -> Stamp:
        stamps = []
        for document in self._profile.documents:
            file = document.element.source.name
            try:
                now = os.stat(file)
                stamps.append((file, now.st_ino, now.st_size, now.st_mtime_ns))
            except OSError:
                stamps.append((file, 0, 0, 0))
        return tuple(stamps)

    def _told(self, error: OSProfileError) -> str:
        problems = error.problems if isinstance(error, InvalidProfileError) else ()
        told = "\n".join(map(str, problems)) if problems else str(error)
        files = [
            os.path.dirname(os.path.dirname(d.element.source.name)) for d in self._profile.documents
        ]
        return without_directories(
            labels_of(self._profile).scrubbed(told), [*files, *self._directories]
        )


@final
class Server:
    """Serves a site on a port of the loopback; 0 for one that is free."""

    def __init__(self, site: Site, port: int = 0) -> None:
        self._site = site
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._stopping = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        self._worker = ThreadPoolExecutor(1, "page")

    @property
    def url(self) -> str:
        """What a browser is given."""
        return f"http://{ADDRESS}:{self.port}/"

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when it answers."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        server = await asyncio.start_server(
            self._connected, sock=self._socket, limit=http.MOST_HEAD
        )
        try:
            ready()
            await self._stopping.wait()
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            self._worker.shutdown(wait=False, cancel_futures=True)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """End `run`."""
        self._stopping.set()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError):
                writer.write(await self._response(reader))
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
                    await _ended(reader, writer)
        finally:
            writer.transport.abort()

    async def _response(self, reader: asyncio.StreamReader) -> bytes:
        """Read a request and give its response, whatever it is."""
        if len(self._open) > MOST_CONNECTIONS:
            return http.refusal(Refused(503, "too many connections at once: try again"))
        try:
            async with asyncio.timeout(PATIENCE):
                request = await _head(reader)
                http.judge(request, self.port)
                body = await reader.readexactly(request.length)
            return await self._answer(request.method, body)
        except Exception as error:  # noqa: BLE001  # whatever happens, the client gets an answer
            return http.refusal(_refused(error))

    async def _answer(self, method: str, body: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        if method == "GET":
            status, page = await loop.run_in_executor(self._worker, self._site.page)
            return http.response(status, "text/html", page.encode())
        return http.json_response(await loop.run_in_executor(self._worker, self._site.answer, body))


def _refused(error: Exception) -> Refused:
    """Give what a client is told where its request could not be answered."""
    match error:
        case Refused():
            return error
        case RequestError():
            return Refused(400, ": ".join(filter(None, (error.message, error.hint))))
        case TimeoutError():
            return Refused(408, f"the request did not come within {PATIENCE:.0f} s")
        case asyncio.IncompleteReadError():
            return Refused(400, "the request ends before its end")
    log.error("an internal error", exc_info=error)
    return Refused(500, "internal error: the server's own output says more")


async def _head(reader: asyncio.StreamReader) -> http.Request:
    try:
        return http.parse(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.LimitOverrunError:
        raise Refused(431, f"a request's head has at most {http.MOST_HEAD} bytes") from None


async def _ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait until the client has closed: a reset while it still sends would take it the response."""
    writer.write_eof()
    while await reader.read(65536):
        pass


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        hint = "choose another --port, or leave it out for a free one"
        raise SettingError(f"port {port} of {ADDRESS}: {error.strerror}", hint=hint) from None
    return found
