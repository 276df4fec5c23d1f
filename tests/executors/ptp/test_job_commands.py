"""What becomes of the directory of a job that a client submitted, by how it ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.executors.ptp.form import SubmissionForm
from osprofile.executors.ptp.job_commands import JobCommands
from osprofile.executors.ptp.job_output import OutputFollower
from osprofile.executors.ptp.protocol import Command, CommandKind
from osprofile.executors.ptp.system_view import SystemView, TrackedJob
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executors.ptp.conftest import Place


async def tidied(profile: Path, key: str, state: JobState) -> bool:
    """Run a job to its end, tell the view of another one, and say whether its directory is gone."""
    loaded = Repository().load_file(str(profile))
    async with TargetSystem(loaded) as target:
        directory = await target.new_job_directory()
        job_id = await target.submit(JobDescription(executable="true", working_directory=directory), key=key)
        await target.wait(job_id)
        view = SystemView(target, lambda: None, lambda _: None)
        outputs = OutputFollower(target, lambda *_: asyncio.sleep(0, result=True), lambda *_: None)
        jobs = JobCommands(target, SubmissionForm(loaded), view, outputs, lambda *_: None)
        view.add_job(TrackedJob(JobStatus(job_id, state)))
        await jobs.remove_job_files(job_id, directory, [f"{directory}/stdout", f"{directory}/stderr"])
        return directory.rpartition("/")[2] not in {
            entry.name for entry in await target.files.list_directory(directory.rpartition("/")[0])
        }


def test_a_fault_of_osprofile_is_answered() -> None:
    def fail(_element: object, _id: str) -> None:
        raise RuntimeError("x")

    jobs = JobCommands(*[None] * 4, fail)  # type: ignore[arg-type]
    answer = asyncio.run(jobs.run_command(Command(CommandKind.TERMINATE_JOB, 7, ("jobId=3",))))
    assert "RuntimeError: x" in answer.arguments[-1]


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
