"""What becomes of the directory of a job that a client submitted, by how it ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.events.event import JobState, JobStatus
from osprofile.executors.ptp.form import Form
from osprofile.executors.ptp.jobs import Jobs
from osprofile.executors.ptp.output import Outputs
from osprofile.executors.ptp.view import Told, View
from osprofile.profile.repository import Repository
from osprofile.target.job import JobDescription
from osprofile.target.system import TargetSystem

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executors.ptp.conftest import Place


async def tidied(profile: Path, key: str, state: JobState) -> bool:
    """Run a job to its end, tell the view of another one, and say whether its directory is gone."""
    loaded = Repository().load_file(str(profile))
    async with TargetSystem(loaded) as target:
        directory = target.new_directory()
        job_id = await target.submit(
            JobDescription(executable="true", directory=directory), key=key
        )
        await target.wait(job_id)
        view = View(target, lambda: None, lambda _: None)
        outputs = Outputs(target, lambda *_: asyncio.sleep(0, result=True), lambda *_: None)
        jobs = Jobs(target, Form(loaded), view, outputs, lambda *_: None)
        view.add(Told(JobStatus(job_id, state)))
        await jobs.tidy(job_id, directory, [f"{directory}/stdout", f"{directory}/stderr"])
        return directory.rpartition("/")[2] not in {
            entry.name for entry in await target.list(directory.rpartition("/")[0])
        }


@pytest.mark.parametrize(
    ("key", "state", "gone"),
    [
        ("ptp:1", JobState.DONE, True),
        ("ptp:1", JobState.FAILED, True),
        ("ptp:1", JobState.REMOVED, True),
        ("ptp:1", JobState.LOST, False),
        ("ptp:1", JobState.RUNNING, False),
        ("another tool's", JobState.DONE, False),
    ],
)
def test_whose_directory_goes(
    place: Place, monkeypatch: pytest.MonkeyPatch, key: str, state: JobState, *, gone: bool
) -> None:
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    assert asyncio.run(tidied(place.root / "profiles/here.xml", key, state)) == gone
