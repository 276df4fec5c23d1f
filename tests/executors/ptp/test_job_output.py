"""Outputs by themselves, of files that no job writes any more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from osprofile.executors.ptp.job_output import OutputFollower
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


async def told_of(path: Path) -> tuple[list[str], Collection[str]]:
    """Return what is told of an output, and what is whole, when events start again in between."""
    told: list[str] = []
    finished: asyncio.Future[Collection[str]] = asyncio.get_running_loop().create_future()
    wanted = asyncio.Event()
    wanted.set()

    async def tell(_job_id: str, _stream: str, text: str) -> bool:
        told.append(text)
        if len(told) == 1:
            outputs.restart_all()
        return True

    async with TargetSystem(Repository().load("linux")) as target:
        outputs = OutputFollower(
            target, tell, lambda _id, _directory, paths: finished.set_result(paths), interval=0.01
        )
        outputs.follow_job("1", str(path.parent), path.name, "")
        outputs.mark_ended("1")
        reading = asyncio.ensure_future(outputs.read_repeatedly(wanted))
        whole = await asyncio.wait_for(finished, PATIENCE)
        reading.cancel()
    return told, whole


def test_events_that_start_again_while_an_output_is_told(tmp_path: Path) -> None:
    """What the client took before counts no more."""
    (tmp_path / "out").write_text("x\n")
    told, whole = asyncio.run(told_of(tmp_path / "out"))
    assert told == ["x\n", "x\n"]
    assert whole == [str(tmp_path / "out")]
