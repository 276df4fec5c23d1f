"""Where jobs work on a cluster whose nodes have a /var/tmp of their own, with nothing but the bundled profiles.

README's example in Python, and what else the manual shows, is in `test_docs.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.blah.gridmanager import GridManager, ad
from tests.lab.conftest import INCARNATE, SHARED
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETED = "4"
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="slurm" extends="slurm">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter></osp:Profile>"""


@pytest.fixture
def home(site: Path) -> Iterator[Path]:
    """Give the home of an account, which the node sees; there is no profile of a site."""
    assert site, "the lab is up"
    path = Path(tempfile.mkdtemp(prefix="it's a home ", dir=SHARED))
    yield path
    shutil.rmtree(path)


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home)}
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "OSPROFILE_STORE"):
        environment.pop(name, None)
    command = [INCARNATE, *words]
    return subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@pytest.mark.parametrize("profile", ["slurm", "torque"])
def test_the_first_job_of_a_user(home: Path, profile: str) -> None:
    submitted = run(home, "job", "submit", "-p", profile, "sh", "-c", 'echo "$GPE_WORKING_DIRECTORY"')
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stdout.strip()
    waited = run(home, "job", "wait", job)
    assert waited.returncode == 0, (waited, run(home, "job", "show", job))
    directory = run(home, "job", "output", job).stdout.strip()
    assert Path(directory).parent == home / ".gpe/work/root"
    assert run(home, "job", "forget", "--files", job).returncode == 0
    assert not Path(directory).exists()


def write_site(home: Path) -> None:
    (home / ".config/osprofile/profiles/slurm").mkdir(parents=True)
    (home / ".config/osprofile/profiles/slurm/profile.xml").write_text(SITE)


def test_a_directory_that_the_node_does_not_see(home: Path) -> None:
    """So the others show something: the node has a /var/tmp of its own."""
    write_site(home)
    job = run(home, "job", "submit", "-p", "slurm", "true").stdout.strip()
    assert run(home, "job", "wait", job).returncode == 125  # its cause is known
    shown = run(home, "job", "show", job).stdout
    assert "its node does not see the directory of the job" in shown
    assert run(home, "job", "forget", "--files", job).returncode == 0


@pytest.mark.parametrize("sees", [True, False])
def test_the_first_job_of_blah(home: Path, monkeypatch: pytest.MonkeyPatch, *, sees: bool) -> None:
    """HTCondor's gridtype names the bundled profile, and the daemon has no settings.

    A job that cannot begin says why on its standard error.
    """
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if not sees:
        write_site(home)
    text = ad(
        Cmd="/bin/sh",
        Arguments="-c 'pwd; exit 3'",
        Iwd=str(home),
        Out="out",
        Err="err",
        In="/dev/null",
        gridtype="slurm",
        JobDirectory="home_bl_1",
        StageCmd=False,
    )

    async def main() -> dict[str, str]:
        async with GridManager() as client:
            found = await client.ended(await client.submit(text))
            assert client.fault is None
            return found

    found = asyncio.run(asyncio.wait_for(main(), PATIENCE))
    if sees:
        assert (found["JobStatus"], found.get("ExitCode")) == (COMPLETED, "3"), found
        assert (home / "out").read_text() == f"{home}\n"
        assert not (home / "err").read_text()
    else:
        assert (found["JobStatus"], found.get("ExitSignal")) == (COMPLETED, "9"), found
        assert "the job could not enter its working directory /var/tmp/" in found["ExitReason"]
        why = found["ExitReason"].strip('"')
        assert (home / "err").read_text() == f"the job could not begin: {why}\n"
