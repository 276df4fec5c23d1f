"""The stories of tests/profiles/test_stories.py, told of the real batch systems of this machine."""

from __future__ import annotations

import shutil
import socket
import uuid
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.shell.output import StatusOutputReader
from osprofile.profile.repository import Repository
from tests.lab.conftest import SHARED, SHELLS, USER, User, is_pbs_up
from tests.profiles.conftest import ENDED, PROFILES, find_tag
from tests.profiles.systems import SYSTEMS, System, get_task
from tests.profiles.test_stories import LAB, STORIES, WITH_STAND_INS, start
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.profiles.conftest import Job


CONDITIONS = {"oar": "afterany", "tsp": "afterok", "slurmrest": "afterany", "flux": "afterany"}


class Real(System):
    """A batch system that begins and ends jobs by itself."""

    def __init__(self, profile: str, target: User) -> None:
        super().__init__(target)
        self.profile = profile  # type: ignore[misc]
        self.cannot = SYSTEMS[profile].cannot  # type: ignore[misc]
        self.is_all_with_ended = SYSTEMS[profile].is_all_with_ended or profile == "torque"  # type: ignore[misc]  # Slurm tells them

    @cached_property
    def waits(self) -> dict[str, str]:  # type: ignore[override]
        """What lets a job wait: a moment, or another job where there are none."""
        kind = CONDITIONS.get(self.profile)
        return (
            {"DEPENDENCY": f"{kind}:{start(self, 'sleep 300').id}"}
            if kind
            else {"START_TIME": "2037-01-31T08:00"}
        )

    def wait_for(self, task: Job, states: set[str]) -> None:
        """Wait for a state; the accounting may know a job a moment after the batch system has forgotten it."""

        def is_so() -> bool:
            text = self.target.run("GET_JOB_STATUS", JOB_ID=task.id).stdout
            told = StatusOutputReader(self.target.profile).read_statuses(text).values()
            return bool(told) and {find_tag(status) for status in told} <= states

        wait_until(is_so, every=0.1)

    def begin(self, job: Job, index: str = "") -> None:
        self.wait_for(get_task(job, index), {"RUNNING"})

    def end(self, job: Job, index: str = "") -> None:
        self.wait_for(get_task(job, index), ENDED)


def is_oar_up() -> bool:
    """Return whether OAR's server answers: its commands read the database without it."""
    with suppress(OSError), socket.create_connection(("localhost", 6666)):
        return shutil.which("oarsub") is not None
    return False


def is_flux_up() -> bool:
    """Return whether the instance of Flux answers: its socket stays where it has ended."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect("/run/flux-lab/socket")
        return True
    return False


@pytest.fixture
def root() -> Iterator[Path]:
    root = Path(SHARED, USER, f"stories-{uuid.uuid4().hex[:8]}")
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "title"),
    [
        (name, title)
        for name, left_out in LAB.items()
        for title in STORIES
        if title not in WITH_STAND_INS | left_out | {*SYSTEMS[name].cannot}
    ],
)
def test_story(root: Path, name: str, title: str) -> None:
    if name == "oar" and not is_oar_up():
        pytest.skip("OAR is not up here: make lab OAR=1 installs and starts it")
    if name == "flux" and not is_flux_up():
        pytest.skip("Flux is not up here: make lab FLUX=1 builds and starts it")
    if name == "pbs" and not is_pbs_up():
        pytest.skip("OpenPBS is not up here: make lab PBS=1 builds and starts it")
    shell = SHELLS.get(name, "exec sh -s")
    profile = Repository([PROFILES]).load(name)
    target = User(profile, "sh", Path(f"~{USER}").expanduser(), root, environment={"SHELL": shell})
    try:
        STORIES[title][0](Real(name, target))
    finally:
        for path in root.glob("*/.gpe/id"):
            target.run("ABORT", JOB_ID=path.read_text().strip())
