"""Submit the jobs of a plan, cancel some, and follow all to their ends, as a program with `TargetSystem` does.

    python -m tests.simulated.follow DIRECTORY USER

It may be killed at any moment, and started again on the same record.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.simulated.clock import BEGIN, live_in

if __name__ == "__main__":
    participant = live_in(Path(sys.argv[1]), sys.argv[2], own_files=1)

import asyncio
import contextlib
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from osprofile.errors import OSProfileError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.jobs.watch.events import EventStream
    from tests.simulated.clock import Participant

HOUR = 3600.0
TIMING = Timing(
    min_poll_interval=HOUR, max_poll_interval=3 * HOUR, max_retry_interval=3 * HOUR, grace_period=12 * HOUR
)
RETRY = HOUR / 4


class Follower:
    """A user's jobs."""

    def __init__(self, target: TargetSystem, participant: Participant, home: Path) -> None:
        self._target, self._participant, self._home = target, participant, home
        self.ends = Counter[str]()
        """By job id, how many ends were told."""
        self.waited = set[str]()
        """The jobs whose ends this process must be told."""

    async def run(self) -> None:
        """Follow the plan to its end."""
        plan = json.loads((self._home / "job.plan").read_text())
        listener = asyncio.ensure_future(self._listen(self._target.events()))
        await self._target.recover_submissions()
        for record in self._target.store.list_live_jobs(self._target.name):
            await self._target.watch(record.status.job_id)
        await asyncio.gather(*map(self._follow, plan))
        await asyncio.sleep(1)
        listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listener
        assert set(self.ends.values()) <= {1}, self.ends
        assert self.waited <= self.ends.keys(), self.waited - self.ends.keys()

    async def _listen(self, events: EventStream) -> None:
        async for event in events:
            if event.state.is_terminal:
                self.ends[event.job_id] += 1

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - self._participant.time.now))

    async def _follow(self, planned: dict[str, Any]) -> None:
        await self._until(planned["submitted"])
        description = JobDescription(
            executable="/bin/true", name=planned["key"], array=planned["array"] or None
        )
        while True:
            try:
                job_id = await self._target.submit(description, key=planned["key"])
                break
            except OSProfileError:
                await asyncio.sleep(RETRY)
        if planned["cancelled"] is not None:
            index = planned["index"]
            await self._cancel(job_id if index is None else f"{job_id}_{index}", planned["cancelled"])
        record = self._target.store.find_job(self._target.name, job_id)
        if record is not None and not record.status.state.is_terminal:
            self.waited.add(job_id)
        await self._target.wait(job_id)

    async def _cancel(self, job_id: str, moment: float) -> None:
        await self._until(moment)
        record = self._target.store.find_job(self._target.name, job_id)
        assert record is not None
        if record.aborted_at is None and not record.status.state.is_terminal:
            with contextlib.suppress(OSProfileError):  # it has ended, or nobody answers
                await self._target.abort(job_id)


async def follow(root: Path, user: str, participant: Participant) -> None:
    """Follow a user's jobs to their ends."""
    home = root / "homes" / user
    store = Store(str(home / "jobs.db"))
    profile = Repository([str(root / "profiles")]).load("simulated")
    async with TargetSystem(profile, {"USER_NAME": user}, store=store, timing=TIMING) as target:
        await Follower(target, participant, home).run()
    store.close()


if __name__ == "__main__":
    assert participant.time.wall_clock() >= BEGIN
    assert os.environ["SIMULATED"] == sys.argv[1]
    asyncio.run(follow(Path(sys.argv[1]), sys.argv[2], participant))
    participant.leave()
