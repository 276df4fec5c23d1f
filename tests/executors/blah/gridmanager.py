"""A client that behaves as HTCondor's gridmanager does, and is as unforgiving.

As docs/protocols/blah.md, 6, has it: it skips all in front of the banner's first
`$`, writes a command and its CRLF in two writes, keeps at most 50 requests in flight, wants each
reply within 20 s and each result with exactly its number of fields, polls RESULTS when it reads
`R`, and takes any reply but S for the end of the world.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tests.executors.blah.client import escaped, fields
from tests.fork_server import Forked
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

WINDOW = 50
"""Seconds after which a result comes too late."""
FIELDS = {
    "BLAH_JOB_SUBMIT": 4,
    "BLAH_JOB_STATUS": 5,
    "BLAH_JOB_STATUS_ALL": 4,
    "BLAH_JOB_STATUS_SELECT": 4,
    "BLAH_JOB_SIGNAL": 4,
}
DAEMON = (sys.executable, "-m", "osprofile.executors.blah.main")


def ad(**attributes: str | bool | int) -> str:
    """Write a submit ad as HTCondor does: `[ A = "text"; B = true ]`."""
    parts = []
    for name, value in attributes.items():
        if isinstance(value, str):
            text = value.replace("\\", "\\\\").replace('"', '\\"')
            text = text.replace("\n", "\\n").replace("\r", "\\r")
            parts.append(f'{name} = "{text}"')
        else:
            parts.append(f"{name} = {str(value).lower()}")
    return f"[ {'; '.join(parts)} ]"


def quoted(word: str) -> str:
    """Write a word of Arguments or Environment in quotes."""
    doubled = word.replace("'", "''")
    return f"'{doubled}'"


class GridManager:
    """A daemon of ours, started as HTCondor starts it, and the client in front of it."""

    def __init__(
        self, *words: str, environment: Mapping[str, str] | None = None, program: Sequence[str] = DAEMON
    ) -> None:
        self._words, self._environment, self._program = words, environment, program
        self._numbers = itertools.count(2)
        self._window = asyncio.Semaphore(WINDOW)
        self._replies: asyncio.Queue[list[str]] = asyncio.Queue()
        self._speaking = asyncio.Lock()
        self._waiting: dict[str, tuple[str, asyncio.Future[list[str]]]] = {}
        self._notified = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.fault: BaseException | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        fault = self.fault
        await self.end()
        assert error is not None or fault is None

    async def start(self) -> None:
        """Start the daemon and greet it."""
        await self.spawn()
        await self.greet()

    async def spawn(self) -> None:
        """Start the daemon."""
        words, pipe = [*self._program, *self._words], subprocess.PIPE
        env = {**os.environ, **(self._environment or {})}
        self.process: subprocess.Popen[bytes] | Forked
        if self._program is DAEMON:
            self.process = Forked(words, stdin=pipe, stdout=pipe, env=env)
        else:
            self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, env=env, bufsize=0)  # noqa: ASYNC220  # it does not wait
        loop = asyncio.get_running_loop()
        self._out = asyncio.StreamReader(64 * 1024 * 1024)
        reading = asyncio.StreamReaderProtocol(self._out)
        self._receiving, _ = await loop.connect_read_pipe(lambda: reading, self.process.stdout)
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, self.process.stdin
        )
        self._in = asyncio.StreamWriter(transport, protocol, self._out, loop)

    async def greet(self) -> None:
        """Greet the daemon that was just started."""
        async with asyncio.timeout(PATIENCE):
            await self._out.readuntil(b"$")
            banner = await self._out.readline()
        assert banner.startswith(b"GahpVersion: 1.8.0 Mar 31 2008 ")
        assert banner.endswith(b" $\r\n")
        self._notified.clear()
        self._tasks = [asyncio.ensure_future(self._guarded(work)) for work in (self._listen, self._fetch)]
        commands = (await self.say("COMMANDS"))[1:]
        assert "CONDOR_VERSION" not in commands
        assert "BLAH_JOB_SUBMIT" in commands
        assert (await self.say("ASYNC_MODE_ON"))[0] == "S"

    async def end(self) -> None:
        """End the daemon as HTCondor does: by a signal."""
        if self.process.poll() is None:
            assert await self.terminate() == 0
        await self._stop()

    async def terminate(self) -> int:
        """Send the daemon the signal by which HTCondor ends it; return its exit code."""
        with suppress(ProcessLookupError):
            self.process.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self.wait()

    async def wait(self) -> int:
        """Return the daemon's exit code when it has ended."""
        while (code := self.process.poll()) is None:  # noqa: ASYNC110  # it may be no child of this process
            await asyncio.sleep(0.02)
        return code

    async def kill(self) -> None:
        """End the daemon as a machine does that loses its power."""
        self.process.kill()
        await self.wait()
        await self._stop()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _, future in self._waiting.values():
            future.cancel()
        self._waiting.clear()
        self._in.close()
        self._receiving.close()

    async def say(self, *words: str) -> list[str]:
        """Send a command and give the words of its reply, which must be S."""
        async with self._speaking:
            self._in.write(b" ".join(map(escaped, words)))
            await self._in.drain()
            self._in.write(b"\r\n")
            await self._in.drain()
            async with asyncio.timeout(PATIENCE):
                reply = await self._replies.get()
        assert reply[0] == "S", (words, reply)
        return reply

    async def ask(self, command: str, *arguments: str) -> list[str]:
        """Send a command with a request id; give the fields of its result behind that."""
        async with self._window:
            reqid = str(next(self._numbers))
            future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
            self._waiting[reqid] = (command, future)
            assert await self.say(command, reqid, *arguments) == ["S"]
            async with asyncio.timeout(PATIENCE):
                return await future

    async def submit(self, text: str) -> str:
        """Submit a job and give its id."""
        code, words, job_id = await self.ask("BLAH_JOB_SUBMIT", text)
        assert code == "0", words
        return job_id

    async def status(self, job_id: str) -> tuple[int, dict[str, str]]:
        """Give the number of a job's state, and the attributes of its ad."""
        code, words, number, text = await self.ask("BLAH_JOB_STATUS", job_id)
        assert code == "0", words
        assert text.startswith("[ ")
        assert text.endswith(" ]")
        pairs = dict(part.split(" = ", 1) for part in text[2:-2].split("; "))
        assert pairs["JobStatus"] == number
        return int(number), pairs

    async def ended(self, job_id: str, every: float = 0.2) -> dict[str, str]:
        """Ask for a job's state until it is 3 or 4; give its ad."""
        while True:
            number, pairs = await self.status(job_id)
            if number in {3, 4}:
                return pairs
            await asyncio.sleep(every)

    async def _guarded(self, work: object) -> None:
        try:
            await work()  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001  # who waits is told
            self.fault = error
            for _, future in self._waiting.values():
                if not future.done():
                    future.set_exception(error)

    async def _listen(self) -> None:
        while line := await self._out.readline():
            assert line.endswith(b"\r\n"), line
            words = fields(line[:-2])
            if words == ["R"]:
                self._notified.set()
                continue
            results = []
            if words[0] == "S" and len(words) == 2 and words[1].isdigit():
                results = [await self._out.readline() for _ in range(int(words[1]))]
            for result in results:
                self._result(fields(result.removesuffix(b"\r\n")))
            self._replies.put_nowait(words)

    def _result(self, words: list[str]) -> None:
        command, future = self._waiting.pop(words[0])
        assert len(words) == FIELDS.get(command, 3), words
        if not future.done():
            future.set_result(words[1:])

    async def _fetch(self) -> None:
        while True:
            await self._notified.wait()
            self._notified.clear()
            await self.say("RESULTS")
