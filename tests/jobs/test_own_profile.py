"""A batch system of three shell scripts and a profile for it: no Python, no file of ours changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ScriptFailedError
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.lint.linter import lint_profile
from tests.jobs.conftest import QUICK, shell

if TYPE_CHECKING:
    from tests.jobs.conftest import Toy


def test_the_profile_lints_clean(toy: Toy) -> None:
    assert [p for p in lint_profile(toy.profile) if p.severity == "error"] == []


async def collect_states(target: TargetSystem, job_id: str) -> list[str]:
    """Return the states in the events of a job, to its end."""
    states = []
    async for event in target.events():
        if event.job_id == job_id:
            states.append(event.state.value)
            if event.state.is_terminal:
                break
    return states


async def test_hold_resume_abort(toy: Toy, caplog: pytest.LogCaptureFixture) -> None:
    (toy.path / "stopped").touch()
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        first, second = [await target.submit(shell("exit 0")) for _ in range(2)]
        states = asyncio.create_task(collect_states(target, first))
        await asyncio.sleep(0)
        await target.statuses()
        for do, state in [
            (target.hold, JobState.HELD),
            (target.resume, JobState.QUEUED),
            (target.abort, JobState.REMOVED),
        ]:
            await do(first)
            assert (await target.status(first)).state is state
            await asyncio.sleep(0.2)
        assert await states == ["QUEUED", "HELD", "QUEUED", "REMOVED"]
        with pytest.raises(ScriptFailedError) as caught:
            await target.abort(first)
        assert caught.value.exit_status == 5
        assert caught.value.output == f"toyctl: job {first} is over"
        # a word that the profile does not know stops nobody else
        toy.state(first, "GO")
        toy.state(second, "PURPLE")
        assert (await target.status(second)).state is JobState.UNKNOWN
        assert (await target.status(second)).native_state == "PURPLE"
        toy.state(second, "END 3")
        assert (await target.wait(second)).exit_code == 3
        assert (await target.status(first)).state is JobState.REMOVED  # it stays so
    assert "'PURPLE', which profile toy does not know" in caplog.text
