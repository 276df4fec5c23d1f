"""`incarnate job list --efficiency`: what ended jobs used of what they asked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.state import EndCause, JobState, JobStatus
from tests.records import begin_submission

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

GIB = 1 << 30
DAY = 86400.0
ONE = {"MEMORY": "16384", "WALLTIME": "7200"}
EIGHT = {"CPUS": "8", "MEMORY": "16384", "WALLTIME": "86400"}
USED: dict[str, Any] = {"exit_code": 0, "elapsed": 660.0, "cpu_time": 630.0, "max_memory": int(1.2 * GIB)}
FAILED: dict[str, Any] = {"state": JobState.FAILED, "exit_code": None, "max_memory": 16 * GIB}
ROWS: list[tuple[str, str, dict[str, str], dict[str, Any]]] = [
    ("1", "fit", ONE, USED),
    ("2", "fit", ONE, USED | {"elapsed": 1200.0}),
    ("3", "sim", EIGHT, USED | {"elapsed": 36000.0, "cpu_time": 69000.0, "max_memory": 2 * GIB}),
    ("4", "sim", EIGHT, USED | FAILED | {"cause": EndCause.MEMORY}),
    ("5", "bare", {}, {"exit_code": 0}),
    ("6", "fit", ONE, {"state": JobState.REMOVED}),
    ("7", "fit", ONE, {"state": JobState.RUNNING, "elapsed": 10.0, "cpu_time": 5.0}),
    ("8", "old", ONE, USED | {"ended": 8 * DAY}),
]
BY_JOB = """\
JOB  NAME  PROFILE  EXIT    CPUS          MEMORY             TIME                  NEXT TIME
1    fit   here     0       95% of 1      1.2 GiB of 16 GiB  0:11:00 of 2:00:00    --memory 2G --walltime 15m
2    fit   here     0       52% of 1      1.2 GiB of 16 GiB  0:20:00 of 2:00:00    --memory 2G --walltime 30m
3    sim   here     0       24% of 8      2 GiB of 16 GiB    10:00:00 of 24:00:00  --cpus 2 --memory 6G --walltime 18h
4    sim   here     MEMORY  12% of 8      16 GiB of 16 GiB   0:11:00 of 24:00:00
5    bare  here     0       unknown of 1  unknown            unknown
"""
BY_NAME = """\
NAME  PROFILE  JOBS  CPUS          MEMORY             TIME                  NEXT TIME
fit   here     2     68% of 1      1.2 GiB of 16 GiB  0:20:00 of 2:00:00    --memory 2G --walltime 30m
sim   here     2     24% of 8      16 GiB of 16 GiB   10:00:00 of 24:00:00  --cpus 2 --walltime 18h
bare  here     1     unknown of 1  unknown            unknown
"""


@pytest.fixture(autouse=True)
def _record(machine: Machine) -> None:  # noqa: ARG001  # it is the home
    store = Store(default_store_path())
    now = time.time()
    for job_id, name, request, told in ROWS:
        walltime = float(request["WALLTIME"]) if "WALLTIME" in request else None
        record = begin_submission(
            store, "here", f"/var/tmp/{job_id}", script="", request=request, name=name, walltime=walltime
        )
        store.record_job_id(record.number, job_id)
        values = {"state": JobState.DONE} | told
        if values["state"].is_terminal:
            values["ended"] = now - values.get("ended", 0.0)
        store.update_statuses("here", [JobStatus(job_id, **values)])
    store.close()


def list_used(machine: Machine, *words: str) -> str:
    ended = machine.run("job", "list", "--efficiency", *words)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def test_a_line_for_each_job_or_for_each_name(machine: Machine) -> None:
    """No target is asked: the profile is not even read."""
    assert list_used(machine) == BY_JOB
    assert list_used(machine, "--by-name") == BY_NAME
    assert list_used(machine, "--all").splitlines()[-1].split()[:2] == ["8", "old"]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["fit"], "1 2"),
        (["3", "1"], "1 3"),
        (["--failed"], "4"),
        (["--state", "DONE", "sim"], "3"),
        (["8"], "8"),
        (["--profile", "linux"], ""),
    ],
)
def test_a_choice_of_jobs(machine: Machine, words: list[str], ids: str) -> None:
    assert [line.split()[0] for line in list_used(machine, *words).splitlines()[1:]] == ids.split()


def test_in_json(machine: Machine) -> None:
    (job,) = machine.run_json("list", "--efficiency", "3")
    assert job == {
        "id": "3",
        "name": "sim",
        "target": "here",
        "state": "DONE",
        "outcome": "0",
        "cpus": {"used": pytest.approx(1.92, abs=0.01), "asked": 8, "share": pytest.approx(0.24, abs=0.01)},
        "memory": {"used": 2 * GIB, "asked": 16 * GIB, "share": 0.125},
        "time": {"used": 36000.0, "asked": 86400.0, "share": pytest.approx(0.417, abs=0.001)},
        "advice": {"CPUS": 2, "MEMORY": 6144, "WALLTIME": 64800},
        "advised_options": "--cpus 2 --memory 6G --walltime 18h",
    }
    (name,) = machine.run_json("list", "--efficiency", "--by-name", "fit")
    assert (name["name"], name["jobs"], name["cpus"]["asked"]) == ("fit", 2, 1)
    (shown,) = machine.run_json("show", "3")
    assert shown["efficiency"]["advice"] == job["advice"]


def test_an_array_is_one_line(machine: Machine) -> None:
    job_id = machine.submit("--array", "1-2", "--name", "many", "-t", "2h", "--wait", "true").splitlines()[0]
    rows = list_used(machine, "many").splitlines()
    assert rows[1].split()[:4] == [job_id, "many", "here", "0"]
    assert rows[1].split()[-2:] == ["--walltime", "1m"]
    assert [line.split()[0] for line in list_used(machine, "--tasks", "many").splitlines()[1:]] == [
        job_id, f"{job_id}_1", f"{job_id}_2",
    ]  # fmt: skip


def test_a_job_that_is_not_recorded(machine: Machine) -> None:
    ended = machine.run("job", "list", "--efficiency", "nope", "1")
    assert (ended.code, ended.out.splitlines()[1].split()[0]) == (2, "1")
    assert "job nope is not in the record" in ended.err


def test_job_show_says_what_would_be_enough(machine: Machine) -> None:
    ended = machine.run("job", "show", "1")
    assert "\n  next time       --memory 2G --walltime 15m would be enough\n" in ended.out
    assert "next time" not in machine.run("job", "show", "4").out
