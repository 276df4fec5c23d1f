"""Hostile values in every field of a job, through each profile, on the real system.

Each reaches the payload unchanged, or is refused by an error that names the field. No third.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.jobs.arrays import combine_into_array
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.lab.conftest import PBS, PROFILES, SHARED, USER
from tests.profiles.test_hostile_values import CARRIED, PAYLOAD, VALUES
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.profile.model import Profile

SYSTEMS = ["linux", "slurm", "torque", "sge", PBS]
PLAIN = ("name", "queue", "project")
NUMBERS = ("nodes", "processes", "cpus", "memory", "walltime", "cputime")


@pytest.fixture
def root() -> Iterator[Path]:
    """Give a directory of the jobs' user, with the payload in it."""
    path = Path(SHARED, USER, f"hostile-{uuid.uuid4().hex[:8]}")
    path.mkdir(parents=True)
    (path / "payload").write_text(PAYLOAD)
    (path / "payload").chmod(0o755)
    given(path.parent)
    given(path)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def profile(request: pytest.FixtureRequest, site: Path) -> Profile:
    return Repository([str(site), str(PROFILES)]).load(request.param)


def given(path: Path) -> None:
    """Give a file to the jobs' user."""
    user = pwd.getpwnam(USER)
    os.lchown(path, user.pw_uid, user.pw_gid)


def description(root: Path, number: int, value: str) -> JobDescription:
    """Give a job that has a value wherever it can stand, with its working directory made."""
    name = value.replace("/", "_")
    directory = root / f"{number} {'_'.join(name.splitlines())}"  # a line end there is refused
    for path in (directory, directory / "programs"):
        path.mkdir()
        given(path)
    program = directory / "programs" / f"{name}x"
    program.symlink_to(root / "payload")
    (directory / f"{name}.in").write_bytes(value.encode())
    return JobDescription(
        executable=f"programs/{name}x",
        arguments=[value, "", f"{value}{value}"],
        environment={"HOSTILE": value},
        stdin=f"{name}.in",
        stdout=f"{name}.out",
        stderr=f"{name}.err",
        working_directory=str(directory),
        walltime=600,
    )


async def submitted(target: TargetSystem, job: JobDescription) -> tuple[JobDescription, str]:
    """Submit a job; a name that is refused, and is told so, is replaced by a harmless one."""
    harmless = {"EXECUTABLE": "executable", "STDIN": "stdin", "STDOUT": "stdout", "STDERR": "stderr"}
    while True:
        try:
            return job, await target.submit(job)
        except IncarnationError as error:
            attribute = harmless.pop(error.field or "")  # what else is refused fails the test
            name = getattr(job, attribute)
            assert name.startswith("-")
            job = replace(job, **{attribute: f"./{name}"})


def check(job: JobDescription, value: str) -> None:
    """Compare what the payload got with what was given."""
    here = Path(str(job.working_directory))
    name, *arguments, end = (here / "got.arguments").read_bytes().split(b"\0")
    assert os.path.basename(name) == os.path.basename(str(job.executable)).encode()
    assert arguments == [word.encode() for word in job.arguments]
    assert end == b""
    assert (here / "got.environment").read_bytes() == value.encode()
    assert (here / "got.stdin").read_bytes() == value.encode()
    assert (here / str(job.stdout)).read_text() == "out\n"
    assert (here / str(job.stderr)).read_text() == "err\n"


@pytest.mark.parametrize("profile", ["linux", "slurm", "sge"], indirect=True)  # Slurm's qstat shows no tasks
def test_each_value_reaches_its_task_of_one_array(profile: Profile, root: Path) -> None:
    """`combine_into_array`: the tasks' programs are words of one shell command, which no value leaves."""
    code = 'printf "%s\\0" "$@" "$HOSTILE" > "got.$GPE_ARRAY_INDEX"'
    jobs = [
        JobDescription(
            executable="sh",
            arguments=["-c", code, "sh", value, ""],
            environment={"HOSTILE": value},
            directory=str(root),
            walltime=600,
        )
        for value in CARRIED
    ]

    async def main() -> None:
        timing = Timing(min_poll_interval=0.5, max_poll_interval=2)
        async with TargetSystem(profile, {"USER_NAME": USER}, timing=timing) as target:
            status = await target.wait(await target.submit(combine_into_array(jobs)))
        assert (status.state, status.exit_code) == (JobState.DONE, 0)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    for number, value in enumerate(CARRIED, 1):
        assert (root / f"got.{number}").read_bytes().decode() == f"{value}\0\0{value}\0"


@pytest.mark.parametrize("profile", SYSTEMS, indirect=True)
def test_values_reach_the_payload(profile: Profile, root: Path) -> None:
    async def main() -> None:
        timing = Timing(min_poll_interval=0.5, max_poll_interval=2)
        async with TargetSystem(profile, {"USER_NAME": USER}, timing=timing) as target:
            jobs = [description(root, number, value) for number, value in enumerate(CARRIED)]
            started = await asyncio.gather(*(submitted(target, job) for job in jobs))
            ends = await asyncio.gather(*(target.wait(job_id) for _, job_id in started))
            for value, (job, _), end in zip(CARRIED, started, ends, strict=True):
                assert (end.state, end.exit_code) == (JobState.DONE, 0), (value, end)
                check(job, value)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


@pytest.mark.parametrize("profile", SYSTEMS, indirect=True)
def test_other_values_are_plain_or_refused(profile: Profile, root: Path) -> None:
    """What a directive or a number would hold; nothing of it is submitted."""

    async def main() -> None:
        async with TargetSystem(profile, {"USER_NAME": USER}) as target:
            for attribute in (*PLAIN, *NUMBERS):
                for value in [*VALUES, "1;id", "1\n", "1 2", "0x10", "010", "١"]:
                    job = JobDescription(working_directory=str(root), **{attribute: value})  # type: ignore[arg-type]
                    others = "-/." if attribute == "name" else "-"  # as Slurm, which keeps a / in a name
                    plain = value.translate(dict.fromkeys(map(ord, others), "a"))
                    if attribute in PLAIN and plain.isalnum() and plain.isascii():
                        continue
                    if attribute in {"memory", "walltime", "cputime"} and value == "010":
                        continue  # a number, as on the command line
                    with pytest.raises(IncarnationError) as raised:
                        await target.submit(job)
                    assert raised.value.field == FIELD_BY_ATTRIBUTE[attribute], (attribute, value)
            assert target.store.list_all_jobs() == []

    asyncio.run(main())
    assert [path.name for path in root.iterdir()] == ["payload"]
