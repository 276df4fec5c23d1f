"""The other end of the scheduler event generator: starts it, reads it, starts it again.

    listener = Listener(["sudo", "-u", "pbs", "osprofile-seg", "-s", "pbs"], monitor.feed, datum=path)
    await listener.run()

The generator's one persistent datum is kept here: from when on its events are wanted after a
restart (Scheduler Event Generator, "Job State Monitor"). Events that come twice so are told once
by the monitor.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import re
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import shown
from osprofile.events import emit
from osprofile.events.event import JobEvent, JobState, JobStatus
from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

log: Final = logging.getLogger("osprofile.events")

STATES: Final = {
    emit.PENDING: JobState.QUEUED,
    emit.ACTIVE: JobState.RUNNING,
    emit.FAILED: JobState.FAILED,
    emit.DONE: JobState.DONE,
    emit.SUSPENDED: JobState.HELD,
}
"""What the states of GRAM's protocol are here."""
LONGEST_LINE: Final = 64 * 1024
"""Bytes of a line; a longer one is no event."""
_AGAIN: Final = (0.1, 30.0)
"""Seconds until a generator that died is started again: at first, and at the most."""
_STEADY: Final = 60.0
"""Seconds after which a generator that runs is taken for one that works."""
_STARTING: Final = 5.0
"""Seconds after which one that has not died is taken for one that found its log."""
_EVERY: Final = 1.0
"""Seconds between two writings of the datum."""
_PATIENCE: Final = 2.0
"""Seconds that a generator has to end once its standard input is closed."""
_LINE: Final = re.compile(rb"001;([0-9]{1,12});([^;\n]+);([0-9]+);(-?[0-9]{1,10})\n\Z")


def event_of(line: bytes) -> JobEvent | None:
    """Read a line `001;TIMESTAMP;JOBID;STATE;EXIT_CODE`; None for any other message.

    The code of a job that is DONE is its exit code, where it is one: 0 to 255; what is beyond that
    stays in the word (`8/271`), for whoever knows the scheduler. Bytes that are no UTF-8 are
    surrogates.
    """
    found = _LINE.match(line)
    state = STATES.get(int(found[3])) if found else None
    if found is None or state is None:
        return None
    job_id, code = os.fsdecode(found[2]), int(found[4])
    word = f"{int(found[3])}/{code}" if state.is_terminal else str(int(found[3]))
    known = code if state is JobState.DONE and 0 <= code <= 255 else None
    return JobEvent(float(found[1]), JobStatus(job_id, state, word, known))


@final
class Listener:
    """Hands the events of a generator to `hear`, for as long as `run` runs.

    `words` are the command, to which `-t TIMESTAMP` is added. `datum` is the file that keeps from
    when on events are wanted (None: it is not kept); without it, they are wanted from `since`.
    `oldest()` gives the time of the oldest event that nobody has asked for yet, if there is one.
    """

    def __init__(
        self,
        words: Sequence[str],
        hear: Callable[[JobEvent], object],
        *,
        datum: str | None = None,
        since: float | None = None,
        oldest: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._words, self._hear, self._datum, self._oldest = list(words), hear, datum, oldest
        self._last = self._read() or int(time.time() if since is None else since)
        self._written = 0
        self._due = 0.0
        self._since_start = math.inf
        self.restarts = 0
        """How many times the generator was started again."""

    @property
    def since(self) -> int:
        """From when on events are wanted if the generator is started now (s since 1970)."""
        oldest = self._oldest()
        return self._last if oldest is None else min(self._last, int(oldest))

    @property
    def is_steady(self) -> bool:
        """Whether the generator has been running for so long that its log is there."""
        return time.monotonic() - self._since_start > _STARTING

    async def run(self) -> None:
        """Listen until cancelled; the generator is ended then."""
        delay = _AGAIN[0]
        try:
            while True:
                begun = time.monotonic()
                why = await self._listen()
                self._since_start = math.inf
                delay = _AGAIN[0] if time.monotonic() - begun > _STEADY else delay
                self.restarts += 1
                log.warning("%s; it is started again in %.1f s", why, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _AGAIN[1])
        finally:
            self._write(at_once=True)

    async def _listen(self) -> str:
        """Start the generator and read it to its end; say how it ended."""
        words = [*self._words, "-t", str(self.since)]
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            return f"the event generator {words[0]} cannot be started: {error.strerror}"
        self._since_start = time.monotonic()
        try:
            assert process.stdout is not None  # noqa: S101  # PIPE
            await self._read_all(process.stdout)
            code = await process.wait()
        finally:
            await _end(process)
        how = f"exit status {code}" if code >= 0 else f"signal {-code}"
        return f"the event generator {words[0]} has ended ({how})"

    async def _read_all(self, stdout: asyncio.StreamReader) -> None:
        too_long = False
        while True:
            try:
                line = await stdout.readuntil()
            except asyncio.LimitOverrunError as error:
                await stdout.readexactly(error.consumed)
                too_long = True
                continue
            except asyncio.IncompleteReadError:
                return  # what the last line says comes again
            if too_long:
                log.warning("a line of more than %d bytes is no event", LONGEST_LINE)
            else:
                self._take(line)
            too_long = False

    def _take(self, line: bytes) -> None:
        event = event_of(line)
        if event is None:
            log.warning("this line is no event: %s", shown(os.fsdecode(line.rstrip(b"\n"))))
            return
        self._last = max(self._last, int(event.timestamp))
        self._hear(event)
        self._write()

    # The datum

    def _read(self) -> int | None:
        if self._datum is None:
            return None
        try:
            with open(open_regular(self._datum), encoding="ascii") as file:
                return int(file.read(20))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s holds no timestamp: %s", self._datum, error)
            return None

    def _write(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._datum is None or (now < self._due and not at_once):
            return
        self._due = now + _EVERY
        since = self.since
        if since == self._written:
            return
        new = f"{self._datum}.{os.getpid()}.new"
        try:
            with open(new, "w", encoding="ascii") as file:
                file.write(f"{since}\n")
            os.replace(new, self._datum)
            self._written = since
        except OSError as error:
            log.warning("the timestamp for a restart is not kept: %s", error)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a generator as it wants it, by closing its standard input; by force if it goes on."""
    assert process.stdin is not None  # noqa: S101  # PIPE
    process.stdin.close()
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.shield(asyncio.wait_for(process.wait(), _PATIENCE))
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
        await process.wait()
