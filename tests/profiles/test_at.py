"""The profiles `at` and `tsp`, with stand-ins that answer as Debian's at 3.2.5 and task-spooler 1.0.1 did.

tests/lab has the real ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH
from tests.profiles.systems import make_system
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

pytestmark = DASH


@pytest.fixture
def at(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("at", target_of, tmp_path / "commands").target


@pytest.fixture
def tsp(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("tsp", target_of, tmp_path / "commands").target


def test_at_a_job_that_runs_is_removed_with_its_processes(at: Target) -> None:
    commands = at.path[0]
    jobs = [at.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600") for _ in range(2)]
    (commands / "queue.11").write_text("=\n")
    assert "has not begun" not in at.fails("ABORT", JOB_ID=jobs[0].id)  # of which nobody knows the processes
    assert not (jobs[0].directory / ".gpe/removed").exists()
    with subprocess.Popen(["sh", "-c", (commands / "job.11").read_text()], env=at.env, cwd="/") as shell:
        wait_for_file(jobs[0].directory / "stdout")
        assert at.ok("ABORT", JOB_ID=jobs[0].id) == ""
        assert shell.wait(PATIENCE) in {143, -signal.SIGTERM}
    (commands / "queue.11").unlink()
    assert (jobs[0].status().state, jobs[1].status().state) == ("REMOVED", "QUEUED")


def test_at_a_job_that_atrm_was_told_of_runs_on(at: Target) -> None:
    """At forgets it; its session is known, and lives."""
    job = at.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600")
    (at.path[0] / "queue.11").write_text("=\n")
    with subprocess.Popen(["sh", "-c", (at.path[0] / "job.11").read_text()], env=at.env, cwd="/") as shell:
        wait_for_file(job.directory / "stdout")
        (at.path[0] / "queue.11").unlink()
        assert job.status().state == "RUNNING"
        assert at.ok("ABORT", JOB_ID=job.id) == ""
        assert shell.wait(20) in {143, -signal.SIGTERM}
    assert job.status().state == "REMOVED"


def test_at_a_process_of_somebody_else_with_the_number_of_a_job_is_left_alone(at: Target) -> None:
    job = at.start()
    (at.path[0] / "queue.11").write_text("=\n")
    (job.directory / ".gpe/session").write_text(f"{os.getpid()}\n")
    at.fails("ABORT", JOB_ID=job.id)


def test_fields_of_at(at: Target) -> None:
    at.start()
    at.start(START_TIME="2037-01-31T08:00:00", QUEUE="b")
    assert (at.path[0] / "requests").read_text() == "-M now\n-M -q b -t 203701310800\n"


@pytest.mark.parametrize("code", ["running||sleep 9", "finished|0|true", "queued||sh /elsewhere/.gpe/script"])
def test_tsp_a_job_of_a_later_server_with_the_id_of_ours(tsp: Target, code: str) -> None:
    """A server counts from 0: after a reboot, another job has the id. Ours is not known, and the other is left alone."""
    commands = tsp.path[0]
    ours, ended = tsp.start(), tsp.start(EXECUTABLE="/bin/sh", ARGUMENTS="-c 'exit 3'")
    subprocess.run(["sh", ended.directory / ".gpe/script"], env=tsp.env, check=False)
    assert (ours.status().state, ended.status().state) == ("QUEUED", "QUEUED")
    (commands / "jobs").write_text(f"{ours.id}|{code}\n{ended.id}|{code}\n77|{code}\n")
    assert "unknown job" in tsp.fails("GET_JOB_STATUS", JOB_ID=ours.id)
    assert ended.status().end == ("DONE", 3)
    assert list(tsp.statuses()) == ["77"]  # not of START
    for job in (ours, ended):
        assert "already ended" in tsp.fails("ABORT", JOB_ID=job.id)
    assert (commands / "jobs").read_text().count(code) == 3


def test_fields_of_tsp(tsp: Target) -> None:
    job = tsp.start(JOB_NAME="a.b", CPUS="2", DEPENDENCY="afterok:3")
    request = (tsp.path[0] / "requests").read_text()
    assert request.startswith("-L a.b -N 2 -D 3 sh -c ")
    assert request.endswith(f" {job.directory}/.gpe/script\n")
    assert "3 slots are asked for, and the server has 2" in tsp.fails("START", CPUS="3")
