"""The profile `linux` in shells that machines have as sh, beside dash and bash: a job's whole life.

The other profiles' scripts are made of the same pieces.
"""

from __future__ import annotations

import re
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.lab.conftest import PROFILES
from tests.profiles.conftest import Status, Target, quoted
from tests.profiles.test_arrays import all_ended, states, tasks, wait_for
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
    assert re.fullmatch(r"elapsed=[0-9.]+ cpu=[0-9.]+ ended=[0-9.]+\n", job.read(".gpe/usage"))
    assert linux.start(job.directory, **fields).id == job.id
    left = {str(path.relative_to(job.directory)) for path in job.directory.rglob("*")}
    assert left == {
        ".gpe", ".gpe_exit_status", ".gpe/host", ".gpe/script", ".gpe/output", ".gpe/job.sh",
        ".gpe/id", ".gpe/lock", ".gpe/submitting", ".gpe/usage", "stdout", "stderr",
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


def script(text: str) -> dict[str, str]:
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


@pytest.mark.parametrize("linux", [*SHELLS, "yash"], indirect=True)
def test_an_array_and_what_waits_for_it(linux: Target) -> None:
    text = """until [ -e go ]; do sleep 0.05; done
case $GPE_ARRAY_INDEX in 1) exit 0 ;; 2) exit 255 ;; 3) kill -s KILL $$ ;; *) exec sleep 600 ;; esac"""
    array = linux.start(**script(text), ARRAY="1-5%5", NODE_FILE="no des", WALLTIME="20")
    wait_for(array, lambda found: states(found) == {"RUNNING"})
    linux.ok("HOLD", JOB_ID=array.id)
    assert states(tasks(array)) == {"HELD"}
    linux.ok("RESUME", JOB_ID=array.id)
    jobs = {
        f"{kind}:{array.id}{which}": linux.start(
            DEPENDENCY=f"{kind}:{array.id}{which}", START_TIME="2001-01-01T00:00"
        )
        for kind in ("afterok", "afternotok")
        for which in ("", "_1")
    }
    assert {job.status().state for job in jobs.values()} == {"QUEUED"}
    (array.directory / "go").touch()
    linux.ok("ABORT", JOB_ID=f"{array.id}_5")
    linux.ok("SIGNAL", JOB_ID=f"{array.id}_4", SIGNAL=str(int(signal.SIGTERM)))
    found = wait_for(array, all_ended)
    assert {index: ended(status) for index, status in found.items()} == {
        1: ("DONE", 0, None),
        2: ("DONE", 255, None),
        3: ("FAILED", None, signal.SIGKILL),
        4: ("FAILED", None, signal.SIGTERM),
        5: ("REMOVED", None, None),
    }
    reasons = [job.wait().reason for job in jobs.values()]
    assert reasons == ["DEPENDENCY", None, None, "DEPENDENCY"]
    assert array.read("no des.1")


@pytest.mark.parametrize("linux", [*SHELLS, "yash"], indirect=True)
def test_a_temporary_directory_and_a_container(linux: Target, tmp_path: Path) -> None:
    (tmp_path / "scr 'atch").mkdir()
    (tmp_path / "bin/apptainer").write_text(
        '#!/usr/bin/env bash\nprintf "%s\\n" "${@:1:6}" > words\nshift 6\nexec "$@"\n'
    )
    (tmp_path / "bin/apptainer").chmod(0o700)
    fields = script('printf "%s\\n" "$X"; [ -d "$TMPDIR" ] && exit 3')
    value = HOSTILE.replace("é", "")
    job = linux.start(
        **fields,
        TMP_DIR=f"{tmp_path}/scr 'atch",
        CONTAINER="a 'b'",
        ENVIRONMENT=f"export X={quoted(value)}\n",
    )
    assert ended(job.wait()) == ("DONE", 3, None), job.read("stderr")
    assert job.read("stdout") == f"{value}\n"
    exec_, bind, bound, pwd, where, image = job.read("words").splitlines()
    assert (exec_, bind, pwd, where, image) == (
        "exec",
        "--bind",
        "--pwd",
        str(job.directory),
        f"{job.directory}/a 'b'",
    )
    assert bound.startswith(f"{job.directory},{job.directory},{tmp_path}/scr 'atch/")
    assert [*(tmp_path / "scr 'atch").iterdir()] == []


def test_what_is_refused_says_so(linux: Target, tmp_path: Path) -> None:
    open_to_all = tmp_path / "jobs/open"
    open_to_all.mkdir(parents=True)
    open_to_all.chmod(0o777)
    done = linux.run("START", directory=open_to_all)
    assert done.returncode == 73
    assert f"{open_to_all} is not a safe directory for a job" in done.stderr
    assert "it has ended, or never ran here" in linux.fails("HOLD", JOB_ID="1-2-00000000")
