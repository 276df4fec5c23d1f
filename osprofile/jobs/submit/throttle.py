"""Submit no faster than a site allows: SUBMIT_RATE, MAX_QUEUED and QUEUE_FULL_PATTERN of START.

See docs/language-jobs.md, Limits of submissions.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import sys
import time
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import ScriptFailedError, TargetError, ValueRefusedError
from osprofile.jobs.arrays import ARRAY_FIELD, count_indices
from osprofile.jobs.shell.loop import Turns, need_loop
from osprofile.jobs.shell.output import START_TEMPLATE, get_batch_system_name
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from osprofile.errors import OSProfileError, StoreError
    from osprofile.javaregex.pattern import Pattern
    from osprofile.jobs.record.store import JobRecord, Store, SubmissionValues
    from osprofile.jobs.timing import Timing
    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.jobs")
SUBMIT_RATE_FIELD: Final = "SUBMIT_RATE"
MAX_QUEUED_FIELD: Final = "MAX_QUEUED"
QUEUE_FULL_FIELD: Final = "QUEUE_FULL_PATTERN"
_WAITS: Final = "this waits, and submits the job when it can; if it is interrupted, nothing is submitted"
SUBMIT_RATE_FORM: Final = compile_late(r"([1-9][0-9]{0,5})/min(?:, ([1-9][0-9]{0,5}) at once)?")
MAX_QUEUED_FORM: Final = compile_late(r"[1-9][0-9]{0,8}")
AWAY_STATUS: Final = 69
"""START's exit status (EX_UNAVAILABLE) if it could not reach the batch system, which has taken nothing."""
_MIN_PAUSE: Final = 5.0
_MAX_PAUSE: Final = 60.0
"""Seconds until the next submission after the batch system was full or away; they double."""
_TOLD_WAIT: Final = 5.0
"""A longer wait for SUBMIT_RATE is told, in seconds."""


class SubmissionLimits(NamedTuple):
    """How fast, and how many, jobs of one user may be submitted."""

    interval: float = 0.0
    """Seconds between two submissions; 0 without SUBMIT_RATE."""
    burst: int = 1
    """How many may come at once before that counts."""
    max_queued: int | None = None
    """How many jobs, and tasks of arrays, may be in the batch system."""
    full_pattern: Pattern | None = None
    """What START prints if the batch system takes no more jobs for now."""


def read_submission_limits(profile: Profile) -> SubmissionLimits:
    """Return the limits in the fields of START; none for a value that is not of their form: lint reports it."""
    values = (
        profile.get_value(START_TEMPLATE, name)
        for name in (SUBMIT_RATE_FIELD, MAX_QUEUED_FIELD, QUEUE_FULL_FIELD)
    )
    submit_rate, max_queued, pattern = values
    rate = SUBMIT_RATE_FORM.fullmatch(submit_rate)
    return SubmissionLimits(
        60.0 / int(rate[1]) if rate else 0.0,
        int(rate[2] or 1) if rate else 1,
        int(max_queued) if MAX_QUEUED_FORM.fullmatch(max_queued) else None,
        javaregex.compile(pattern) if pattern else None,
    )


@final
class SubmissionThrottle:
    """Keeps the submissions of one target within the limits of its profile, for all processes of a record.

    `refresh_jobs()` records which of the record's jobs have ended. `timing` says how long a submission may wait.
    """

    def __init__(
        self,
        target: str,
        profile: Profile,
        store: Store,
        refresh_jobs: Callable[[], Awaitable[object]],
        timing: Timing,
    ) -> None:
        self._target, self._store, self._refresh_jobs, self._timing = target, store, refresh_jobs, timing
        self._profile_name, self._batch_system = profile.name, get_batch_system_name(profile)
        self.limits = read_submission_limits(profile)
        """The limits of the profile."""
        self.max_at_once = self.limits.burst if self.limits.interval else sys.maxsize
        """How many jobs may be submitted by one script."""
        self._turn = Turns()
        self._queue_turn: Turns | None = None
        """Held for each submission, once the batch system was full or away."""
        self._pause, self._paused_until = 0.0, 0.0
        self._told: set[str] = set()
        self._last_told = "its turn did not come"

    @property
    def was_full(self) -> bool:
        """Whether the batch system was full or away: then jobs are submitted one at a time."""
        return self._queue_turn is not None

    def check_array(self, value: str) -> None:
        """Raise `ValueRefusedError` for an array that has more tasks than MAX_QUEUED: it would wait for ever."""
        max_queued = self.limits.max_queued
        if max_queued is not None and (size := count_indices(value)) > max_queued:
            limit = f"{MAX_QUEUED_FIELD} of the profile {self._profile_name} is {max_queued}"
            message = f"field {ARRAY_FIELD}: {quote_value(value)} has {size} tasks, and {limit}"
            raise ValueRefusedError(message, field=ARRAY_FIELD, hint="submit several smaller arrays")

    def get_deadline(self) -> float | None:
        """Return until when a submission that is asked for now may wait, by the clock of event loops; None: always."""
        timeout = self._timing.queue_timeout
        return None if timeout is None else time.monotonic() + timeout

    async def begin_submissions(
        self, submissions: Sequence[tuple[str, SubmissionValues]], deadline: float | None
    ) -> list[JobRecord | StoreError]:
        """Record submissions when their turn has come; return what `Store.begin_submissions` does.

        Wait until the first may begin, and return fewer if there is no place for all. Raises `TargetError` at the deadline.
        """
        interval, burst, max_queued, _ = self.limits
        if not submissions or (not interval and max_queued is None):
            return self._store.begin_submissions(self._target, submissions)
        sizes = [count_indices(values.get("array", "")) for _, values in submissions]
        begun: list[JobRecord | StoreError] = []
        async with self._limit_wait(deadline), self._turn:  # a turn is of no use without a place
            while not begun:
                count = await self._wait_for_places(sizes)
                if interval:
                    wait = self._store.reserve_turns(self._target, count, interval, burst)
                    if wait > _TOLD_WAIT:
                        name = f"{SUBMIT_RATE_FIELD} of the profile {self._profile_name}"
                        self._tell(SUBMIT_RATE_FIELD, f"{name}: the next submission is in {wait:.0f} s")
                    await asyncio.sleep(wait)
                begun = self._store.begin_submissions(self._target, submissions[:count], max_live=max_queued)
        return begun

    async def _wait_for_places(self, sizes: Sequence[int]) -> int:
        """Wait until the first submission has a place; return how many have one. The sizes are numbers of tasks."""
        max_queued = self.limits.max_queued
        if max_queued is None:
            return len(sizes)
        pause = self._timing.min_poll_interval or _MIN_PAUSE
        while (places := max_queued - self._store.count_live_jobs(self._target)) < sizes[0]:
            limit = f"{MAX_QUEUED_FIELD} of the profile {self._profile_name} is {max_queued}"
            self._tell(
                MAX_QUEUED_FIELD, f"{limit}: the next job is submitted when one of this record has ended"
            )
            await asyncio.sleep(pause)
            await self._refresh_jobs()
            pause = min(2 * pause, self._timing.max_poll_interval or _MAX_PAUSE)
        return sum(total <= places for total in itertools.accumulate(sizes))

    @contextlib.asynccontextmanager
    async def wait_for_queue(self, deadline: float | None) -> AsyncIterator[None]:
        """Once a job was refused for now, let one submission at a time into the context, and none in the pause after a refusal."""
        if self._queue_turn is None:
            yield
            return
        async with contextlib.AsyncExitStack() as held:
            async with self._limit_wait(deadline):
                await held.enter_async_context(self._queue_turn)
                await asyncio.sleep(self._paused_until - time.monotonic())
            yield

    def is_refused_for_now(self, error: OSProfileError) -> bool:
        """Return whether START failed because the batch system takes no more jobs, or is away; then the next one waits."""
        if not isinstance(error, ScriptFailedError):
            return False
        pattern, is_away = self.limits.full_pattern, error.exit_status == AWAY_STATUS
        match = None if is_away or not pattern else pattern.find(error.output)
        if match is None and not is_away:
            return False
        self._queue_turn = self._queue_turn or Turns()
        now = time.monotonic()
        if now >= self._paused_until:  # else it began before the refusal that the pause is for
            self._pause = min(max(2 * self._pause, _MIN_PAUSE), _MAX_PAUSE)
            self._paused_until = now + self._pause
        if match is not None:
            message = f"{self._batch_system} takes no more jobs now ({match.group(0)}): {_WAITS}"
            self._tell(QUEUE_FULL_FIELD, message)
        else:
            words = error.output.strip() or error.message
            message = f"{self._batch_system} cannot be reached now ({words}): {_WAITS}"
            self._tell("away", message)
        return True

    def note_success(self) -> None:
        """Note that the batch system has taken a job: the next one need not wait."""
        self._pause = self._paused_until = 0.0

    @contextlib.asynccontextmanager
    async def _limit_wait(self, deadline: float | None) -> AsyncIterator[None]:
        await need_loop()
        try:
            async with asyncio.timeout_at(deadline):
                yield
        except TimeoutError:
            seconds = self._timing.queue_timeout or 0.0
            message = f"the job was not submitted within {seconds:g} s: {self._last_told}"
            raise TargetError(message, hint="submit it again later") from None

    def _tell(self, key: str, message: str) -> None:
        """Warn of a wait, once for each reason."""
        self._last_told = message
        if key not in self._told:
            self._told.add(key)
            log.warning("%s", message)
