"""STARTs that wait at the same time, run by one program for all of them."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import OSProfileError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from osprofile.jobs.submit.starts import NewStart

_MAX_PROGRAMS: Final = 2
"""Programs at a time: the second one keeps the batch system busy while the first one ends."""
_MAX_STARTS: Final = 16
"""Jobs of one program, which runs four submit commands at a time: no job waits long for its id."""


@final
class _Waiting(NamedTuple):
    start: NewStart
    answer: asyncio.Future[str | OSProfileError]


@final
class StartGatherer:
    """Runs STARTs by programs of which each submits all jobs that wait as it begins.

    `run(starts)` returns the job's id of each, or its error.
    """

    def __init__(
        self, run: Callable[[Sequence[NewStart]], Awaitable[Sequence[str | OSProfileError]]]
    ) -> None:
        self._run = run
        self._waiting: list[_Waiting] = []
        self._programs: set[asyncio.Task[None]] = set()
        self._count = 0
        """How many of the programs look for jobs that wait; a task is in `_programs` for a moment longer."""
        self._running = 0
        """How many of the programs have taken jobs."""

    async def submit(self, start: NewStart) -> str:
        """Return the id of a job, or raise the error of its START. A program that nobody waits for any more is ended."""
        waiting = _Waiting(start, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._count < _MAX_PROGRAMS:
            self._count += 1
            program = asyncio.ensure_future(self._run_programs())
            self._programs.add(program)
            program.add_done_callback(self._programs.discard)
        result = await waiting.answer
        if isinstance(result, OSProfileError):
            raise result
        return result

    async def _run_programs(self) -> None:
        try:
            while self._waiting:
                # What waits is shared by the programs that are free.
                size = min(math.ceil(len(self._waiting) / (_MAX_PROGRAMS - self._running)), _MAX_STARTS)
                part = [waiting for waiting in self._waiting[:size] if not waiting.answer.done()]
                del self._waiting[:size]
                if part:
                    self._running += 1
                    try:
                        await self._run_program(part)
                    finally:
                        self._running -= 1
        finally:  # at once: a job that comes after the last look has a program of its own
            self._count -= 1

    async def _run_program(self, part: Sequence[_Waiting]) -> None:
        program = asyncio.ensure_future(self._run([waiting.start for waiting in part]))

        def end_unwanted(_: object) -> None:
            if all(waiting.answer.cancelled() for waiting in part):
                program.cancel()

        for waiting in part:
            waiting.answer.add_done_callback(end_unwanted)
        try:
            await asyncio.wait([program])
        finally:
            program.cancel()
        if program.cancelled():
            return
        error = program.exception()
        for position, (_, answer) in enumerate(part):
            if answer.done():
                continue
            if error is None:
                answer.set_result(program.result()[position])
            else:
                answer.set_exception(error)
