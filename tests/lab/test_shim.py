"""The stand-ins of Slurm on a real Grid Engine: what Nextflow calls, as in tests/shim, by a plain user's jobs."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.record.store import Store
from tests.lab.conftest import INCARNATE, PROFILES, SHARED, STARTED, USER
from tests.lab.test_sge import commands
from tests.shim.test_slurm import NEXTFLOW

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 600.0
"""Seconds, only to end a test that hangs: Grid Engine schedules at intervals."""


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    try:
        commands("qstat")
    except subprocess.CalledProcessError as error:
        pytest.exit(f"Grid Engine is not up: run tests/lab/ci.sh as root\n{error.stderr}", 4)


@pytest.fixture
def submit_directory() -> Iterator[Path]:
    """Give a directory of the user in which jobs are submitted, and run."""
    path = Path(SHARED, f"shim-{uuid.uuid4().hex[:8]}")
    path.mkdir()
    me = pwd.getpwnam(USER)
    os.chown(path, me.pw_uid, me.pw_gid)
    yield path
    shutil.rmtree(path)


def test_nextflow_on_grid_engine(site: Path, submit_directory: Path, tmp_path: Path) -> None:
    stand_ins = tmp_path / "bin"
    subprocess.run(
        [INCARNATE, "shim", stand_ins, "--as", "slurm", "--profile", "sge", "--store", tmp_path / "jobs.db",
         "--profiles", site, "--profiles", PROFILES, "--context", f"USER_NAME={USER}"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    # The jobs are the user's, who must be able to write where root has made the directories of the tasks.
    script = f"umask 0\n{NEXTFLOW}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", USER],
        cwd=submit_directory,
        env={**os.environ, "PATH": f"{stand_ins}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    links = Path(pwd.getpwnam(USER).pw_dir, ".gpe", "jobs", "sge")
    # not all links: other tests run at the same time
    STARTED.update(
        links / record.status.job_id for record in Store(str(tmp_path / "jobs.db")).list_all_jobs()
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [f"Submitted batch job {n}" for n in (1, 2, 3)]
    assert lines[3:6] == ["1 CD", "2 F", "3 CA"]
    assert lines[6:] == ["out 1", "err", "out 2", "err"]
