"""Two hundred jobs with mixed ends on each of three systems: the table of expected against seen.

LAB_JOBS is another number of jobs, for a quicker run.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.lab.conftest import PROFILES, USER
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from osprofile.jobs.state import JobStatus

EACH = int(os.environ.get("LAB_JOBS", "200")) // 10
HOLD, RELEASE, ABORT = "hold", "release", "abort"


class Kind(NamedTuple):
    """What a job runs, what is done to it, and how it must end: state, exit code, signal, limit."""

    text: str
    end: tuple[str, int | None, int | None, bool]
    steps: tuple[str, ...] = ()
    walltime: int | None = None


KINDS = {
    "exit 0": Kind("exit 0", ("DONE", 0, None, False)),
    "exit 1": Kind("exit 1", ("DONE", 1, None, False)),
    "exit 3": Kind("exit 3", ("DONE", 3, None, False)),
    "exit 127": Kind("no-such-command", ("DONE", 127, None, False)),
    "signal 9": Kind("kill -s KILL $$", ("FAILED", None, 9, False)),
    "signal 15": Kind("kill -s TERM $$", ("FAILED", None, 15, False)),
    "over the time limit": Kind("exec sleep 600", ("FAILED", None, None, True), walltime=60),
    "held and released": Kind("sleep 5; exit 4", ("DONE", 4, None, False), (HOLD, RELEASE)),
    "cancelled before it ran": Kind("exec sleep 600", ("REMOVED", None, None, False), (HOLD, ABORT)),
    "cancelled running": Kind("exec sleep 600", ("REMOVED", None, None, False), (ABORT,)),
}


async def until_running(events: AsyncIterator[object], target: TargetSystem, jobs: list[str]) -> None:
    """Wait until jobs run; as many events are enough as there are jobs."""
    while any(target.jobs.get_status(job).state is not JobState.RUNNING for job in jobs):
        await anext(events)


@pytest.fixture
def partition() -> Iterator[str]:
    """Give a partition in which jobs wait until it is opened: so they can be held before they run."""
    name = f"ends-{uuid.uuid4().hex[:8]}"
    call("scontrol", "create", f"PartitionName={name}", "Nodes=ALL", "State=DOWN", "DefaultTime=60")
    yield name
    call("scancel", "--partition", name)
    wait_until(lambda: not call("squeue", "-h", "-p", name), every=0.2)
    call("scontrol", "delete", f"PartitionName={name}")


def call(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


async def run(target: TargetSystem, partition: str | None) -> dict[str, list[JobStatus]]:
    """Submit all jobs, do to them what is to be done, and wait for their ends."""
    events = target.events()

    async def submit(kind: Kind) -> str:
        job = await target.submit(
            JobDescription(
                executable="/bin/sh",
                arguments=("-c", kind.text),
                walltime=kind.walltime if partition or kind.walltime is None else 1,
                queue=partition if HOLD in kind.steps else None,
            )
        )
        if HOLD in kind.steps:
            await target.hold(job)
        return job

    jobs = {name: [await submit(kind) for _ in range(EACH)] for name, kind in KINDS.items()}
    running = [j for name, kind in KINDS.items() if kind.steps == (ABORT,) for j in jobs[name]]
    await until_running(events, target, running)
    held = [j for name, kind in KINDS.items() if HOLD in kind.steps for j in jobs[name]]
    assert {s.state for s in (await target.statuses(held)).values()} == {JobState.HELD}
    for name, kind in KINDS.items():
        if ABORT in kind.steps:
            await asyncio.gather(*map(target.abort, jobs[name]))
    if partition is not None:
        call("scontrol", "update", f"PartitionName={partition}", "State=UP")
    for name, kind in KINDS.items():
        if RELEASE in kind.steps:
            await asyncio.gather(*map(target.resume, jobs[name]))
    return {name: await asyncio.gather(*map(target.wait, some)) for name, some in jobs.items()}


@pytest.mark.parametrize("profile", ["linux", "slurm", "torque"])
def test_ends(site: Path, profile: str, partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if EACH < 3 and profile == "torque":  # a quick run waits for Slurm's limit once
        monkeypatch.delitem(KINDS, "over the time limit")
    expected = {name: Counter({kind.end: EACH}) for name, kind in KINDS.items()}
    resolved = Repository([str(site), str(PROFILES)]).load(profile)

    async def main() -> dict[str, Counter[tuple[str, int | None, int | None, bool]]]:
        timing = Timing(min_poll_interval=0.5, max_poll_interval=5)
        async with TargetSystem(resolved, {"USER_NAME": USER}, timing=timing) as target:
            ended = await asyncio.wait_for(run(target, None if profile == "linux" else partition), 400)
            for record in target.store.list_all_jobs():
                await target.files.delete_path(record.directory)
        return {
            name: Counter((s.state.value, s.exit_code, s.signal, s.limit_exceeded) for s in statuses)
            for name, statuses in ended.items()
        }

    assert asyncio.run(main()) == expected
