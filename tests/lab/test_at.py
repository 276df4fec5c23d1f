"""Jobs by the profile `at` on a real atd."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.profiles.conftest import CUT, PROFILES, Target, exports, quoted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PID = Path("/run/atd.pid")
if not shutil.which("at") or not PID.exists() or not Path("/proc", PID.read_text().strip()).exists():
    pytest.skip("atd does not run here: tests/lab/ci.sh installs and starts it", allow_module_level=True)


@pytest.fixture(params=["dash", "bash"])
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    (programs / "sh").symlink_to(shutil.which(request.param) or request.param)
    target = Target(
        Repository([PROFILES]).load("at"), str(programs / "sh"), home, tmp_path / "jobs", [programs]
    )
    yield target
    for link in (home / ".gpe/jobs/at").glob("*"):
        target.run("ABORT", JOB_ID=link.name)


def script(text: str) -> dict[str, str]:
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def test_jobs_from_start_to_end(at: Target) -> None:
    job = at.start(
        **script('pwd; echo "$GPE_JOB_ID $X"; echo err >&2; exit 7'), ENVIRONMENT=exports(X="a 'b'")
    )
    killed = at.start(**script("kill -9 $$"))
    late = at.start(**script("true"), START_TIME="2037-01-31T08:00", QUEUE="c")
    assert job.wait("DONE").exit == 7
    assert job.read("stdout").splitlines() == [str(job.directory), f"{job.id} a 'b'"]
    assert job.read("stderr") == "err\n"
    assert killed.wait("FAILED").signal == 9
    assert at.statuses()[late.id].state == "QUEUED"
    listed = subprocess.check_output(["atq"], text=True, env={"LC_ALL": "C", "PATH": at.env["PATH"]})
    assert "Sat Jan 31 08:00:00 2037 c " in listed
    assert at.ok("ABORT", JOB_ID=late.id) == ""
    assert late.status().state == "REMOVED"
    assert "already ended" in at.fails("ABORT", JOB_ID=job.id)
    assert "invalid date" in at.fails("START", START_TIME="2037-02-30T08:30")
    assert "at cannot hold jobs" in at.fails("HOLD", JOB_ID=job.id)


def test_a_job_that_runs_is_removed(at: Target) -> None:
    """Its processes end, too: atrm alone would only forget it. An exit code of its own is its end."""
    jobs = [at.start(**script("touch ready; while :; do sleep 0.1; done")) for _ in range(2)]
    stubborn = at.start(**script("trap '' TERM; touch ready; until [ -e go ]; do sleep 0.1; done; exit 4"))
    wait_until(lambda: all((job.directory / "ready").exists() for job in (*jobs, stubborn)))
    for job in (jobs[0], stubborn):
        assert at.ok("ABORT", JOB_ID=job.id) == ""
    assert jobs[0].wait().state == "REMOVED"
    assert (jobs[1].status().state, stubborn.status().state) == ("RUNNING", "RUNNING")
    (stubborn.directory / "go").touch()
    status = stubborn.wait()
    assert (status.state, status.exit) == ("DONE", 4)


@pytest.mark.race
def test_a_job_is_removed_as_it_begins(at: Target) -> None:
    for _ in range(5):
        job = at.start(**script("sleep 600"))
        assert at.ok("ABORT", JOB_ID=job.id) == ""
        assert job.wait().state == "REMOVED"


def test_a_start_whose_answer_was_lost(at: Target) -> None:
    directory = at.root / "it's $(id) \u00e9"
    job = at.start(directory, **script("sleep 600"), START_TIME="2037-01-31T08:30")
    (directory / ".gpe/id").unlink()
    assert at.run("START", directory=directory, **script(":")).returncode == CUT
    assert at.find(directory) == job.id
    assert at.start(directory, **script(":")).id == job.id
