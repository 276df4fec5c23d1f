"""A site upgrades while jobs run and wait on Slurm: none is lost, doubled or hidden.

The older version is installed from the history of this checkout, with an environment and a home of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.executors.blah.gridmanager import GridManager, ad
from tests.lab.conftest import INCARNATE, SHARED
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
OLD: Final = "31cd7e8"
"""The last commit that counts as 0.1.0."""
RUNNING: Final = 12
WAITING: Final = 8
BLAH: Final = 4
PROFILE: Final = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="slurm" extends="slurm">
  <osp:UspaceRoot>{root}/jobs</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter></osp:Profile>"""


class Site:
    """A home with a profile of the site, and the older version's programs."""

    def __init__(self, root: Path) -> None:
        self.root, self.old = root, root / "venv/bin/incarnate"
        self.profile = root / "home/.config/osprofile/profiles/slurm/profile.xml"
        self.profile.parent.mkdir(parents=True)
        self.profile.write_text(PROFILE.format(root=root))
        self.environment = {**os.environ, "HOME": str(root / "home")}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "OSPROFILE_STORE", "OSPROFILE_PATH"):
            self.environment.pop(name, None)

    def install(self) -> None:
        """Install the older version, beside the packages that today's needs."""
        (self.root / "source").mkdir()
        archive = subprocess.run(["git", "-C", ROOT, "archive", OLD], capture_output=True, check=False)
        if archive.returncode:
            pytest.skip(f"this clone has no commit {OLD}")
        subprocess.run(["tar", "-x", "-C", self.root / "source"], input=archive.stdout, check=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.root / "venv"], check=True)
        (packages,) = (self.root / "venv/lib").glob("python*/site-packages")
        (packages / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        pip = [sys.executable, "-m", "pip", "--python", self.root / "venv/bin/python", "-q", "install"]
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", self.root / "source"], check=True)

    def call(self, program: Path, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [program, "job", *words],
            env=self.environment, cwd=self.root / "home", capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert code is None or done.returncode == code, done
        return done

    def submit(self, program: Path, key: str, *words: str, code: int = 0) -> str:
        """Submit a job that notes its key, waits until all may end, and ends with the number in its key."""
        text = f'echo {key} >> "{self.root}/begun"; until [ -e "{self.root}/go" ]; do sleep 0.2; done; exit {key[1:]}'
        command = ("submit", "-p", "slurm", "--key", key, "--name", self.root.name, *words, "sh", "-c", text)
        return self.call(program, *command, code=code).stdout.strip()

    def list_jobs(self) -> dict[str, dict[str, Any]]:
        """Give what today's version lists, by key."""
        jobs = json.loads(self.call(INCARNATE, "list", "--json").stdout)
        return {job["key"]: job for job in jobs if (job["key"] or "").startswith(("r", "w"))}

    def list_slurm(self) -> list[str]:
        """Give the ids of the jobs that Slurm has of the commands."""
        words = ["squeue", "-h", "-n", self.root.name, "-o", "%i"]
        return sorted(subprocess.check_output(words, text=True).split())

    def read_begun(self) -> list[str]:
        """Give the keys of the jobs that have begun."""
        return sorted((self.root / "begun").read_text().split())

    def ad(self, number: int) -> str:
        text = f'echo b{number} >> "{self.root}/begun"; until [ -e "{self.root}/go" ]; do sleep 0.2; done; exit {number}'
        return ad(
            Cmd="/bin/sh", Arguments=f"-c '{text}'", Iwd=str(self.root / "home"), In="/dev/null", Out="/dev/null",
            Err="/dev/null", gridtype="slurm", JobDirectory=f"{self.root.name}_{number}", StageCmd=False,
        )  # fmt: skip


@pytest.fixture
def upgraded(site: Path) -> Iterator[Site]:
    assert site, "the lab is up"
    root = Path(tempfile.mkdtemp(prefix="upgrade-", dir=SHARED))
    made = Site(root)
    made.install()
    yield made
    (root / "go").touch()
    subprocess.run(["scancel", "-n", root.name], check=False)
    shutil.rmtree(root)


def test_an_upgrade_with_jobs_in_flight(upgraded: Site) -> None:
    here = upgraded

    async def daemon(program: str) -> GridManager:
        client = GridManager(
            environment=here.environment, program=(program, "-m", "osprofile.executors.blah.main")
        )
        await client.start()
        return client

    async def begin() -> list[str]:
        client = await daemon(str(here.root / "venv/bin/python"))
        ids = await asyncio.gather(*(client.submit(here.ad(n)) for n in range(BLAH)))
        await client.kill()
        return list(ids)

    # The older version submits.
    ids = {f"r{n}": here.submit(here.old, f"r{n}") for n in range(RUNNING)}
    ids |= {f"w{n}": here.submit(here.old, f"w{n}", "--after-any", ids[f"r{n}"]) for n in range(WAITING)}
    grid_ids = asyncio.run(asyncio.wait_for(begin(), PATIENCE))
    slurm = here.list_slurm()
    assert len(slurm) == RUNNING + WAITING

    # Today's version is in its place.
    listed = here.list_jobs()
    assert {key: job["id"] for key, job in listed.items()} == ids
    assert {job["state"] for key, job in listed.items() if key[0] == "w"} == {"QUEUED"}
    assert {job["state"] for key, job in listed.items() if key[0] == "r"} <= {"QUEUED", "RUNNING"}

    # A profile that does not load takes nothing away; new jobs are refused.
    here.profile.write_text("<")
    assert here.list_jobs().keys() == ids.keys()
    here.call(INCARNATE, "output", ids["r0"])
    here.call(INCARNATE, "cancel", "r11")
    assert here.call(INCARNATE, "wait", "r11", code=None).returncode != 0
    assert here.list_jobs()["r11"]["state"] == "REMOVED"
    here.submit(INCARNATE, "r99", code=3)

    # It is mended, and a key repeated: its job is returned, and no other one submitted.
    here.profile.write_text(PROFILE.format(root=here.root))
    for key in ("r0", "w7"):
        words = ["--after-any", ids["r7"]] if key == "w7" else []
        assert here.submit(INCARNATE, key, *words) == ids[key]
    assert here.list_slurm() == sorted({*slurm} - {ids["r11"]})

    # The daemon of today knows the jobs in flight; then all end.
    async def end() -> list[dict[str, str]]:
        client = await daemon(sys.executable)
        assert [(await client.status(job_id))[0] in {1, 2} for job_id in grid_ids] == [True] * BLAH
        assert await client.submit(here.ad(0)) == grid_ids[0]  # as a gridmanager that has not read the answer
        (here.root / "go").touch()
        ended = await asyncio.gather(*(client.ended(job_id) for job_id in grid_ids))
        await client.end()
        return list(ended)

    ended = asyncio.run(asyncio.wait_for(end(), PATIENCE))
    assert [(found["JobStatus"], found["ExitCode"]) for found in ended] == [
        ("4", str(n)) for n in range(BLAH)
    ]
    for key, job in ids.items():
        if key != "r11":
            assert here.call(INCARNATE, "wait", job, code=None).returncode == int(key[1:]), key
    assert {job["state"] for key, job in here.list_jobs().items() if key != "r11"} == {"DONE"}
    assert here.list_slurm() == []
    assert here.read_begun() == sorted([*ids, *(f"b{n}" for n in range(BLAH))])
