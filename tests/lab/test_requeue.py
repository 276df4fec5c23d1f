"""Jobs that run again under their ids: requeued, preempted, after the failure of a node, rescheduled.

No end is told in between, neither by the batch system's words nor by what the first run has left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.lab.conftest import NODE, PROFILES, SHELLS, USER, call
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from osprofile.jobs.state import JobEvent, JobStatus

QUICK = Timing(min_poll_interval=0.1, max_poll_interval=0.3)
pytestmark = pytest.mark.usefixtures("node")
TWICE = 'echo >> runs; [ "$(wc -l < runs)" -gt 1 ] || exec sleep 60; sleep 6; exit 5'
"""Runs long at first, and ends by itself when it runs again."""


async def requeue(_target: TargetSystem, job: str) -> None:
    call("scontrol", "requeue", job)


async def fail_node(_target: TargetSystem, _job: str) -> None:
    call("scontrol", "update", f"NodeName={NODE}", "State=DOWN", "Reason=test")


async def preempt(target: TargetSystem, _job: str) -> None:
    urgent = await target.submit(JobDescription(executable="/bin/sleep", arguments=("1",), queue="urgent"))
    assert (await target.wait(urgent)).exit_code == 0


async def reschedule(_target: TargetSystem, job: str) -> None:
    command = f"{SHELLS['sge'].partition(';')[0]}; qmod -rj {job}"
    assert "rescheduling" in call("runuser", "-l", USER, "-c", command)


CASES: dict[tuple[str, str], Callable[[TargetSystem, str], Awaitable[None]]] = {
    ("slurm", "requeued"): requeue,
    ("slurm", "node down"): fail_node,
    ("slurm", "preempted"): preempt,
    ("torque", "requeued"): requeue,
    ("torque", "node down"): fail_node,
    ("sge", "rescheduled"): reschedule,
}


@pytest.mark.parametrize(
    ("profile", "how"),
    [pytest.param(*case, marks=[pytest.mark.alone] * (case[0] != "sge")) for case in CASES],
)
def test_a_job_that_runs_again(site: Path, profile: str, how: str) -> None:
    resolved = Repository([str(site), str(PROFILES)]).load(profile)
    description = JobDescription(
        executable="/bin/sh",
        arguments=("-c", TWICE),
        retry="NODE",  # Grid Engine runs a job again only if it asks for that; and there is no second attempt
        exclusive=how == "preempted",
    )

    async def main() -> tuple[list[JobEvent], JobStatus]:
        async with TargetSystem(resolved, {"USER_NAME": USER}, timing=QUICK) as target:
            events: list[JobEvent] = []
            stream = target.events()

            async def collect() -> None:
                async for event in stream:
                    events.append(event)  # noqa: PERF401  # while it runs

            collector = asyncio.create_task(collect())
            job = await target.submit(description, key="k")

            async def until(*states: JobState) -> None:
                async with asyncio.timeout(PATIENCE):
                    while tuple(e.state for e in events if e.job_id == job)[-len(states) :] != states:
                        await asyncio.sleep(0.05)
                        assert not (await target.status(job)).state.is_terminal

            await until(JobState.RUNNING)
            await asyncio.sleep(1)
            await CASES[profile, how](target, job)
            if (
                profile != "sge"
            ):  # Slurm lets the job wait for two minutes, until its node has forgotten the first run
                await until(JobState.RUNNING, JobState.QUEUED)
                await asyncio.sleep(3)
                call("scontrol", "update", f"JobId={job}", "StartTime=now")
            status = await asyncio.wait_for(target.wait(job), PATIENCE)
            await asyncio.sleep(0)
            collector.cancel()
            assert target.store.find_by_key(target.name, "k~2") is None
            await target.files.delete_path(await target.find_job_directory(job))
            return [event for event in events if event.job_id == job], status

    events, status = asyncio.run(main())
    states = [event.state.value for event in events]
    assert states[-4:] == ["RUNNING", "QUEUED", "RUNNING", "DONE"], events
    assert not {state for state in states[:-1] if JobState(state).is_terminal}
    assert (status.state, status.exit_code) == (JobState.DONE, 5)
    assert status.started is not None
    assert status.ended is not None
    assert status.started >= events[-3].timestamp - 1, "when the last run began"
    assert status.ended - status.started >= 1
