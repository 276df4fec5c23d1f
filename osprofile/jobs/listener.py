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

from osprofile.errors import quote_value
from osprofile.events import emit
from osprofile.events.tail import open_regular
from osprofile.jobs.state import JobEvent, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

log: Final = logging.getLogger("osprofile.events")

JOB_STATE_BY_GRAM_STATE: Final = {
    emit.PENDING: JobState.QUEUED,
    emit.ACTIVE: JobState.RUNNING,
    emit.FAILED: JobState.FAILED,
    emit.DONE: JobState.DONE,
    emit.SUSPENDED: JobState.HELD,
}
"""What the states of GRAM's protocol are here."""
MAX_LINE_LENGTH: Final = 64 * 1024
"""Bytes of a line; a longer one is no event."""
_RESTART_BACKOFF: Final = (0.1, 30.0)
"""Seconds until a generator that died is started again: at first, and at the most."""
_BACKOFF_RESET_TIME: Final = 60.0
"""Seconds after which a generator that runs is taken for one that works."""
_STARTUP_TIME: Final = 5.0
"""Seconds after which one that has not died is taken for one that found its log."""
_CHECKPOINT_INTERVAL: Final = 1.0
"""Seconds between two writings of the datum."""
_SHUTDOWN_GRACE: Final = 2.0
"""Seconds that a generator has to end once its standard input is closed."""
_EVENT_LINE: Final = re.compile(rb"001;([0-9]{1,12});([^;\n]+);([0-9]+);(-?[0-9]{1,10})\n\Z")


def parse_event(line: bytes) -> JobEvent | None:
    """Read a line `001;TIMESTAMP;JOBID;STATE;EXIT_CODE`; None for any other message.

    The code of a job that is DONE is its exit code, where it is one: 0 to 255; what is beyond that
    stays in the word (`8/271`), for whoever knows the scheduler. Bytes that are no UTF-8 are
    surrogates.
    """
    found = _EVENT_LINE.match(line)
    state = JOB_STATE_BY_GRAM_STATE.get(int(found[3])) if found else None
    if found is None or state is None:
        return None
    job_id, code = os.fsdecode(found[2]), int(found[4])
    word = f"{int(found[3])}/{code}" if state.is_terminal else str(int(found[3]))
    known = code if state is JobState.DONE and 0 <= code <= 255 else None
    return JobEvent(float(found[1]), JobStatus(job_id, state, word, known))


@final
class EventListener:
    """Hands the events of a generator to `on_event`, for as long as `run` runs.

    `command` are the command, to which `-t TIMESTAMP` is added. `checkpoint_path` is the file that keeps from
    when on events are wanted (None: it is not kept); without it, they are wanted from `since`.
    `get_oldest_early()` gives the time of the oldest event that nobody has asked for yet, if there is one.
    """

    def __init__(
        self,
        command: Sequence[str],
        on_event: Callable[[JobEvent], object],
        *,
        checkpoint_path: str | None = None,
        first_timestamp: float | None = None,
        get_oldest_early: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._command, self._on_event, self._checkpoint_path, self._get_oldest_early = (
            list(command),
            on_event,
            checkpoint_path,
            get_oldest_early,
        )
        self._latest_timestamp = self._load_checkpoint() or int(
            time.time() if first_timestamp is None else first_timestamp
        )
        self._saved_timestamp = 0
        self._next_save = 0.0
        self._started_at = math.inf
        self.restart_count = 0
        """How many times the generator was started again."""

    @property
    def resume_timestamp(self) -> int:
        """From when on events are wanted if the generator is started now (s since 1970)."""
        oldest = self._get_oldest_early()
        return (
            self._latest_timestamp if oldest is None else min(self._latest_timestamp, int(oldest))
        )

    @property
    def is_reliable(self) -> bool:
        """Whether the generator has been running for so long that its log is there."""
        return time.monotonic() - self._started_at > _STARTUP_TIME

    async def run(self) -> None:
        """Listen until cancelled; the generator is ended then."""
        delay = _RESTART_BACKOFF[0]
        try:
            while True:
                begun = time.monotonic()
                why = await self._run_generator()
                self._started_at = math.inf
                delay = (
                    _RESTART_BACKOFF[0] if time.monotonic() - begun > _BACKOFF_RESET_TIME else delay
                )
                self.restart_count += 1
                log.warning("%s; it is started again in %.1f s", why, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RESTART_BACKOFF[1])
        finally:
            self._save_checkpoint(immediately=True)

    async def _run_generator(self) -> str:
        """Start the generator and read it to its end; say how it ended."""
        words = [*self._command, "-t", str(self.resume_timestamp)]
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MAX_LINE_LENGTH,
                start_new_session=True,
            )
        except OSError as error:
            return f"the event generator {words[0]} cannot be started: {error.strerror}"
        self._started_at = time.monotonic()
        try:
            assert process.stdout is not None  # noqa: S101  # PIPE
            await self._read_lines(process.stdout)
            code = await process.wait()
        finally:
            await _stop_generator(process)
        how = f"exit status {code}" if code >= 0 else f"signal {-code}"
        return f"the event generator {words[0]} has ended ({how})"

    async def _read_lines(self, stdout: asyncio.StreamReader) -> None:
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
                log.warning("a line of more than %d bytes is no event", MAX_LINE_LENGTH)
            else:
                self._handle_line(line)
            too_long = False

    def _handle_line(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            log.warning("this line is no event: %s", quote_value(os.fsdecode(line.rstrip(b"\n"))))
            return
        self._latest_timestamp = max(self._latest_timestamp, int(event.timestamp))
        self._on_event(event)
        self._save_checkpoint()

    # The datum

    def _load_checkpoint(self) -> int | None:
        if self._checkpoint_path is None:
            return None
        try:
            with open(open_regular(self._checkpoint_path), encoding="ascii") as file:
                return int(file.read(20))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s holds no timestamp: %s", self._checkpoint_path, error)
            return None

    def _save_checkpoint(self, *, immediately: bool = False) -> None:
        now = time.monotonic()
        if self._checkpoint_path is None or (now < self._next_save and not immediately):
            return
        self._next_save = now + _CHECKPOINT_INTERVAL
        since = self.resume_timestamp
        if since == self._saved_timestamp:
            return
        new = f"{self._checkpoint_path}.{os.getpid()}.new"
        try:
            with open(new, "w", encoding="ascii") as file:
                file.write(f"{since}\n")
            os.replace(new, self._checkpoint_path)
            self._saved_timestamp = since
        except OSError as error:
            log.warning("the timestamp for a restart is not kept: %s", error)


async def _stop_generator(process: asyncio.subprocess.Process) -> None:
    """End a generator as it wants it, by closing its standard input; by force if it goes on."""
    assert process.stdin is not None  # noqa: S101  # PIPE
    process.stdin.close()
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.shield(asyncio.wait_for(process.wait(), _SHUTDOWN_GRACE))
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
        await process.wait()
