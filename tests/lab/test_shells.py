"""The profile `linux` in shells that machines have as sh, beside dash and bash: a job's whole life.

The other profiles' scripts are made of the same pieces.
"""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.lab.conftest import PROFILES
from tests.profiles.conftest import Status, Target, quoted
from tests.profiles.test_environment import check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHELLS = ["busybox", "ksh93", "mksh", "zsh"]
HOSTILE = "a 'b' \"$(touch pwned)\" `id` \\ \n #PBS -q x\n*\té"


@pytest.fixture(params=SHELLS)
def linux(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    shell = shutil.which(request.param)
    assert shell is not None, f"{request.param} is missing: tests/lab/ci.sh installs it"
    programs, home = tmp_path / "bin", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "sh").symlink_to(shell)
    profile = Repository([PROFILES]).load("linux")
    target = Target(profile, str(programs / "sh"), home, tmp_path / "jobs", path=[programs])
    yield target
    for job, status in target.statuses().items():
        if status.state in {"RUNNING", "HELD"}:
            target.run("ABORT", JOB_ID=job)


def ended(status: Status) -> tuple[str, int | None, int | None]:
    return status.state, status.exit, status.signal


def test_a_job_gets_its_words_and_is_started_once(linux: Target) -> None:
    fields = {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", 'printf "%s" "$1"; exit 3', "sh", HOSTILE)}
    job = linux.start(**fields)
    assert ended(job.wait()) == ("DONE", 3, None)
    assert job.read("stdout") == HOSTILE
    assert linux.start(job.directory, **fields).id == job.id
    left = {path.name for path in job.directory.iterdir()}
    assert left == {
        ".gpe_answer", ".gpe_error", ".gpe_exit_status", ".gpe_host", ".gpe_job", ".gpe_job.out", ".gpe_job_id",
        ".gpe_lock", ".gpe_started", ".gpe_submitting", "stdout", "stderr",
    }  # fmt: skip


def test_hold_resume_signal_abort(linux: Target) -> None:
    job = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600")
    assert job.wait("RUNNING").state == "RUNNING"
    linux.ok("HOLD", JOB_ID=job.id)
    assert job.wait("HELD").state == "HELD"
    linux.ok("RESUME", JOB_ID=job.id)
    assert job.wait("RUNNING").state == "RUNNING"
    linux.ok("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(signal.SIGINT)))
    assert ended(job.wait()) == ("FAILED", None, signal.SIGINT)
    job = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600")
    linux.ok("ABORT", JOB_ID=job.id)
    assert ended(job.wait()) == ("REMOVED", None, None)


def test_a_limit_and_a_signal(linux: Target) -> None:
    over = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600", WALLTIME="1")
    killed = linux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "kill -s KILL $$"))
    assert ended(killed.wait()) == ("FAILED", None, signal.SIGKILL)
    assert over.wait().word == "limit"


# yash reads no script that is not text in its locale
@pytest.mark.parametrize("linux", [*SHELLS, "yash"], indirect=True)
def test_variables_that_the_shell_gives_a_meaning(linux: Target) -> None:
    check(linux, "Executable")


def test_what_is_refused_says_so(linux: Target, tmp_path: Path) -> None:
    open_to_all = tmp_path / "jobs/open"
    open_to_all.mkdir(parents=True)
    open_to_all.chmod(0o777)
    done = linux.run("START", directory=open_to_all)
    assert done.returncode == 73
    assert f"{open_to_all} is not a safe directory for a job" in done.stderr
    assert "it has ended, or never ran here" in linux.fails("HOLD", JOB_ID="1-2-00000000")
