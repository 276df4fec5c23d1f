"""A job's directory that was cleaned, and made again by somebody else: nothing in it is read or run. Both shells where they differ."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, PROFILES
from tests.profiles.systems import SYSTEMS, Linux, StandIn, System
from tests.profiles.test_stories import make, run, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Job, Target

__all__ = ["make"]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")

READ_LATE = (
    "at", "cobalt", "flux", "htcondor", "hyperqueue", "kubernetes", "loadleveler", "oar", "pbs", "slurmrest", "tsp",
)  # fmt: skip
"""The systems that keep no copy of a job's script."""
SOMEBODY = 12345


def remake(directory: Path, **files: str) -> None:
    """Let somebody else make a directory again, with these files, of which __ is a dot, and _ a slash."""
    shutil.rmtree(directory)
    for name, text in {"__gpe_script": "touch ../../ran\n", **files}.items():
        path = directory / name.replace("__", ".").replace("_", "/", 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for place in (directory, *directory.rglob("*")):
        os.chown(place, SOMEBODY, SOMEBODY)


@DASH
@pytest.mark.parametrize("name", READ_LATE)
def test_a_job_that_waited_runs_no_script_of_somebody_else(
    make: Callable[[str], System], name: str, tmp_path: Path
) -> None:
    system = make(name)
    mine, job = start(system, "touch ../../mine"), start(system)
    remake(job.directory, __gpe_script=f"touch '{tmp_path}/ran'\n", __gpe_job="true\n")
    for each in (mine, job):
        system.begin(each)
    processes = system.processes  # type: ignore[attr-defined]
    while processes:
        with processes.popitem()[1] as process:
            process.wait()
    assert (tmp_path / "mine").exists()
    assert not (tmp_path / "ran").exists()


@DASH
@pytest.mark.parametrize("name", ["script", "job.sh", "commands.sh"])
def test_what_htcondor_copied_is_the_users_own(
    make: Callable[[str], System], name: str, tmp_path: Path
) -> None:
    """Without a shared file system, it copies the files when the job begins; the copies have no owner but the user."""
    system = make("htcondor")
    job = start(system, "touch ../../ran")
    (job.directory / ".gpe" / name).write_text(f"touch '{tmp_path}/ran'\n")
    system.begin(job)
    processes = system.processes  # type: ignore[attr-defined]
    with processes.popitem()[1] as process:
        assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "ran").exists()


def test_all_that_run_a_script_by_its_path_are_tested() -> None:
    """A profile that extends `batch`, and submits without gpe_print_starter, has a batch system that keeps a copy."""
    texts = {path.parent.name: path.read_text() for path in PROFILES.glob("*/commands.sh")}
    late = {name for name, text in texts.items() if "starter" in text}
    assert late | {"pbs"} == set(READ_LATE)
    assert set(texts) - late == {"batch", "lsf", "moab", "nqsv", "pbs", "sge", "slurm", "tcs"}


def get_answer(target: Target, job: Job) -> tuple[str, str]:
    done = target.run("GET_JOB_STATUS", JOB_ID=job.id)
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("shell", "name"),
    [*(("dash", name) for name in SYSTEMS), ("bash", "linux"), ("bash", "slurm")],
    indirect=["shell"],
)
def test_the_end_that_somebody_else_wrote_is_not_told(make: Callable[[str], System], name: str) -> None:
    """The program exited with 5; the batch system has forgotten it."""
    system = make(name)
    job = run(system, "exit 5")
    remake(job.directory, __gpe_exit_status="0\n", __gpe_id=f"{job.id}\n")
    if isinstance(system, StandIn):
        system.forget(job)
    out, errors = get_answer(system.target, job)
    assert "exit=" not in out
    assert f"the directory of job {job.id} is not used: {job.directory} belongs to another user" in errors
    if isinstance(system, Linux):
        assert system.target.statuses() == {}


@DASH
@pytest.mark.parametrize("name", ["linux", "lsf"])
def test_a_removal_that_somebody_else_noted_is_none(make: Callable[[str], System], name: str) -> None:
    """The batch system knows that it was killed, by a signal."""
    system = make(name)
    job = run(system, "kill -s KILL $$" if name != "linux" else "exit 5")
    remake(job.directory, __gpe_removed="removed\n")
    out, _ = get_answer(system.target, job)
    assert "removed" not in out


@DASH
@pytest.mark.parametrize("template", ["USAGE", "ABORT", "HOLD", "RESUME"])
def test_nothing_is_written_into_it(linux: Target, template: str) -> None:
    job = linux.start(EXECUTABLE="true")
    job.wait()
    remake(job.directory, __gpe_usage="elapsed=1 cpu=1\n")
    assert "belongs to another user" in linux.fails(template, JOB_ID=job.id)
    assert sorted(path.name for path in (job.directory / ".gpe").iterdir()) == ["script", "usage"]


@DASH
@pytest.mark.parametrize(("kind", "code"), [("afterok", 1), ("afterany", 0)])
def test_a_condition_is_not_met_by_it(linux: Target, kind: str, code: int, tmp_path: Path) -> None:
    other = linux.start(
        EXECUTABLE="/bin/sh", ARGUMENTS=f"-c 'until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 3'"
    )
    job = linux.start(DEPENDENCY=f"{kind}:{other.id}", EXECUTABLE="true")
    assert job.status().state == "QUEUED"
    remake(other.directory, __gpe_exit_status="0\n")
    (tmp_path / "go").touch()
    assert job.wait().state == ("REMOVED/DEPENDENCY" if code else "DONE")
    assert "which is no job of this profile" in linux.fails("START", DEPENDENCY=f"{kind}:{other.id}")


@DASH
def test_a_working_directory_that_is_a_link(linux: Target, tmp_path: Path) -> None:
    """The job would refuse it; a link above it is fine, as in test_places."""
    (tmp_path / "elsewhere").mkdir()
    linux.root.mkdir()
    (linux.root / "link").symlink_to(tmp_path / "elsewhere")
    done = linux.run("START", directory=linux.root / "link")
    assert (done.returncode, done.stdout) == (73, "")
    assert f"{linux.root}/link is a link" in done.stderr
    assert not [*(tmp_path / "elsewhere").iterdir()]
