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
from osprofile.events.event import JobState
from osprofile.executors.endings import why_not_run
from osprofile.executors.ninfg.attributes import sentence
from osprofile.executors.ninfg.protocol import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from osprofile.events.event import JobStatus
    from osprofile.executors.ninfg.attributes import Order
    from osprofile.executors.ninfg.place import Site

log: Final = logging.getLogger("osprofile.ninfg")
SHORTEST, LONGEST = 1.0, 30.0
"""Seconds between two tries of what did not work; each is twice the one before."""
TRIES: Final = 5
"""After so many a submission that is cut off each time has failed, and output is lost."""
_STATUS_OF: Final = {
    JobState.QUEUED: Status.PENDING,
    JobState.HELD: Status.PENDING,
    JobState.RUNNING: Status.ACTIVE,
}


def end_of(status: JobStatus) -> tuple[Status, str]:
    """Give how an ended job is told: DONE only for one that ended by itself with exit code 0."""
    if status.state is JobState.DONE and status.exit_code in {0, None}:
        return Status.DONE, ""
    if status.state is JobState.DONE:
        return Status.FAILED, why_not_run(status) or f"exit code {status.exit_code}"
    words = {
        JobState.REMOVED: "it was removed",
        JobState.LOST: "it vanished without a trace",
    }.get(status.state, "it failed")
    if status.limit:
        words = "it was ended by a limit of the system"
    elif status.signal:
        words = f"it was ended by signal {status.signal}"
    return Status.FAILED, f"{words}: {status.reason}" if status.reason else words


@final
class Job:
    """A job that the client was told the id of.

    `tell(status, text)` tells the client a state; it is for the caller to suppress what must not be
    told. `run` is its whole way.
    """

    def __init__(
        self,
        name: str,
        order: Order,
        site: Site,
        directory: str,
        tell: Callable[[Status, str], None],
    ) -> None:
        self.name = name
        self.job_id: str | None = None
        self._order, self._site, self._directory, self._tell = order, site, directory, tell
        self._unwanted = asyncio.Event()
        self._ended: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._told_end = False
        self._is_destroyed = self._is_made = False
        self._wants_output = True

    def destroy(self) -> None:
        """End it; the client is told DONE when it is gone."""
        self._is_destroyed = True
        self._unwanted.set()

    def abandon(self) -> None:
        """End it: nobody is interested in it any more."""
        self._wants_output = False
        self._unwanted.set()

    def hear(self, status: JobStatus) -> None:
        """Take what the target system says about it."""
        if status.state.is_terminal:
            if not self._ended.done():
                self._ended.set_result(status)
        elif status.state in _STATUS_OF:
            self._tell(_STATUS_OF[status.state], "")

    async def run(self, known: Callable[[str, Job], None]) -> None:
        """Go all the way; `known(job_id, self)` is called when its id on the target is known."""
        try:
            await self._go(known)
        except (OSProfileError, OSError) as error:
            self._fail(error)
        except Exception as error:
            log.exception("job %s: a fault of osprofile's", self.name)
            self._end(Status.FAILED, f"{type(error).__name__}: {error}")

    async def _start_or_fail(self, known: Callable[[str, Job], None]) -> bool:
        try:
            if await self._start(known):
                return True
            self._end(Status.FAILED, "it was cancelled before it was submitted")
        except (OSProfileError, OSError) as error:
            self._fail(error)
        return False

    def _fail(self, error: OSProfileError | OSError) -> None:
        words = sentence(error) if isinstance(error, OSProfileError) else str(error)
        log.warning("job %s: %s", self.name, words)
        self._end(Status.FAILED, words)

    async def _go(self, known: Callable[[str, Job], None]) -> None:
        if not await self._start_or_fail(known):
            if self._is_made:
                await self._site.remove(self._directory)
            return
        status = await self._until_ended()
        log.info("job %s (%s): %s %s", self.name, self.job_id, status.state, status.reason)
        lost = await self._fetch()
        self._end(*((Status.FAILED, lost) if lost else end_of(status)))
        await self._site.remove(self._directory)

    def _end(self, status: Status, text: str) -> None:
        """Tell how it ended; one that the client destroyed is DONE."""
        if not self._told_end:
            self._told_end = True
            self._tell(*((Status.DONE, "") if self._is_destroyed else (status, text)))

    # Starting

    async def _start(self, known: Callable[[str, Job], None]) -> bool:
        """Stage and submit it; False if it was not wanted any more before that."""
        async with self._site.submitting:
            if not await self._unless_unwanted(self._prepare()):
                return False
            job_id = await self._submit()
        self.job_id = job_id
        known(job_id, self)
        log.info("job %s is %s in %s", self.name, job_id, self._directory)
        return True

    async def _prepare(self) -> None:
        await self._site.reach()
        self._is_made = True
        await self._site.stage(self._order, self._directory)

    async def _unless_unwanted(self, work: Coroutine[None, None, None]) -> bool:
        """Do something as long as the job is wanted; say whether it was done."""
        if self._unwanted.is_set():
            work.close()
            return False
        doing = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._unwanted.wait())
        try:
            await asyncio.wait((doing, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not doing.done():
                doing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await doing
        return not doing.cancelled()

    async def _submit(self) -> str:
        """Submit it, once, whatever cuts the submission off.

        What is not known to have failed may have worked: it goes on until that is known. For the
        client the job has failed after TRIES.
        """
        description = self._order.description(self._directory)
        tries, delay = 0, SHORTEST
        while True:
            try:
                return await self._site.system.submit(description, key=self.name)
            except ScriptCutError as error:
                log.warning("job %s: %s", self.name, sentence(error))
                tries += 1
                if tries == TRIES:
                    self._end(Status.FAILED, sentence(error))
                    self.abandon()
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST)

    # Ending

    async def _until_ended(self) -> JobStatus:
        """Wait for its end; once it is not wanted any more, bring that about."""
        waiting = asyncio.ensure_future(self._unwanted.wait())
        try:
            await asyncio.wait((self._ended, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        delay = SHORTEST
        while not self._ended.done():
            await self._abort()
            await asyncio.wait((self._ended,), timeout=delay)
            delay = min(delay * 2, LONGEST)
        return self._ended.result()

    async def _abort(self) -> None:
        """Have it removed; one that has ended meanwhile is found out by the poll behind it."""
        try:
            await self._site.system.abort(self.job_id or "")
        except OSProfileError as error:
            log.warning("job %s: %s", self.name, sentence(error))

    async def _fetch(self) -> str:
        """Bring its output here, where the client wants it; say what went wrong, if anything did."""
        description = self._order.description(self._directory)
        wanted = {self._order.stdout: description.stdout, self._order.stderr: description.stderr}
        files = [(there, here) for here, there in wanted.items() if here and there]
        done = await asyncio.gather(*(self._fetch_one(*pair) for pair in files))
        return "; ".join(filter(None, done))

    async def _fetch_one(self, there: str, here: str) -> str:
        words = ""
        for number in range(TRIES):
            if not self._wants_output:
                return ""
            if number:
                await asyncio.sleep(SHORTEST * 2 ** (number - 1))
            try:
                await self._site.fetch(self._directory, there, here)
            except OSProfileError as error:
                words = sentence(error)
                log.warning("job %s: %s", self.name, words)
            except OSError as error:
                return f"{here}: {error.strerror}"
            else:
                return ""
        return words
