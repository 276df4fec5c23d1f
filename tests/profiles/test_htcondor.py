"""The profile `htcondor`, with stand-ins that answer as its manual and recorded sessions of 25.14 show."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, quoted
from tests.profiles.systems import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Job, Target
    from tests.profiles.systems import StandIn

pytestmark = DASH


@pytest.fixture
def system(tmp_path: Path, target_of: Callable[..., Target]) -> StandIn:
    return make_stand_in("htcondor", target_of, tmp_path / "commands")


@pytest.fixture
def condor(system: StandIn) -> Target:
    return system.target


def run(condor: Target, job: Job, scratch: Path | None = None, index: str = "") -> int:
    """Run a job as HTCondor does: in its own directory, or in another one with the files, of which it brings back new ones."""
    directory = scratch or job.directory
    if scratch:
        description = (condor.path[0] / f"description.{job.id}").read_text()
        (files,) = [
            line.partition(" = ")[2] for line in description.splitlines() if line.startswith("transfer_input")
        ]
        scratch.mkdir()
        for name in files.split(", "):
            path = job.directory / name.replace("$(DOLLAR)", "$")
            (shutil.copytree if path.is_dir() else shutil.copy)(path, scratch / path.name)
    environment = {**condor.env, "GPE_CLUSTER": job.id, "GPE_INDEX": index}
    done = subprocess.run(["sh", ".gpe/script"], env=environment, cwd=directory, check=False)
    for path in scratch.iterdir() if scratch else ():
        if path.is_file():
            shutil.copy(path, job.directory / path.name)
    return done.returncode


def test_a_job_in_another_directory_on_its_node(condor: Target, system: StandIn, tmp_path: Path) -> None:
    directory = condor.root / "it's $(id) a  *"
    directory.mkdir(parents=True)
    (directory / "in $x").write_text("of stdin\n")
    words = quoted("-c", 'echo "$GPE_JOB_ID"; cat; exit 3')
    job = condor.start(directory, EXECUTABLE="/bin/sh", ARGUMENTS=words, STDIN="in $x")
    assert run(condor, job, tmp_path / "scratch") == 3
    system.tell(job, "exit", code=3)
    assert job.status().end == ("DONE", 3)
    assert job.read("stdout") == "1\nof stdin\n"


PLACE = "undefined|undefined|DIR"
"""The node of a job, why it is held, and its directory."""
NO_END = f"{PLACE}|undefined|undefined|undefined"
"""The same, and behind it whether a signal ended the job, its exit code and the signal."""


@pytest.mark.parametrize(
    ("words", "state", "told"),
    [
        ("6", "RUNNING", (None, None)),
        ("7", "HELD", (None, None)),
        ("9", "QUEUED", (None, None)),
        (f"4|{PLACE}|false|7", "DONE", (7, None)),
        (f"4|{PLACE}|false|137", "FAILED", (None, 9)),
        (f"4|{PLACE}|true|undefined|9", "FAILED", (None, 9)),
        (f"3|{NO_END}|via condor_rm (by user alice)", "REMOVED", (None, None)),
        (f"3|{NO_END}|The job attribute PeriodicRemove expression 'x' evaluated to TRUE", "FAILED/TIME", (None, None)),
    ],
)  # fmt: skip
def test_states(
    condor: Target, system: StandIn, words: str, state: str, told: tuple[int | None, int | None]
) -> None:
    """Of a job that brought nothing back; one that was removed may still be in the queue."""
    job = condor.start()
    system.write(job, words)
    for is_leaving in (True, False):
        (condor.path[0] / "leaving").touch() if is_leaving else (condor.path[0] / "leaving").unlink()
        status = job.status()
        assert (status.state, (status.exit, status.signal)) == (state, told)


def test_the_reason_of_a_held_job(condor: Target, system: StandIn) -> None:
    job = condor.start()
    system.write(job, "5|undefined|Transfer input files failure at  execution point")
    assert job.status().state == "HELD"
    assert job.status().reason == "Transfer input files failure at execution point"


def test_what_htcondor_gave_to_a_job(condor: Target, system: StandIn) -> None:
    """What one has of its last run, while it waits for the next one, is not what it has now."""
    job = condor.start()
    for words in ("1|undefined", "2|slot1@node1", f"4|{PLACE}|false|0|undefined"):
        system.write(job, words)
        is_told = " cpus=2 allocated=134217728" in condor.ok("GET_JOB_STATUS", JOB_ID=job.id)
        assert is_told == (words != "1|undefined"), words


def test_an_array(condor: Target, system: StandIn, tmp_path: Path) -> None:
    other = condor.start()
    words = quoted("-c", "echo $GPE_ARRAY_INDEX; exit $GPE_ARRAY_INDEX")
    job = condor.start(EXECUTABLE="/bin/sh", ARGUMENTS=words, ARRAY="1-5:2,0")
    assert condor.statuses().keys() == {other.id, "2_0", "2_1", "2_3", "2_5"}
    assert run(condor, job, tmp_path / "scratch", "3") == 3
    assert job.read("stdout.3") == "3\n"
    system.tell(job, "exit", "3", code=3)
    assert condor.ok("HOLD", JOB_ID="2_5") == ""
    assert condor.ok("ABORT", JOB_ID="2_1") == ""
    told = condor.statuses("", JOB_ID=job.id)
    assert {i: (s.state, s.exit) for i, s in told.items()} == {
        "2_0": ("QUEUED", None), "2_1": ("REMOVED", None), "2_3": ("DONE", 3), "2_5": ("HELD", None),
    }  # fmt: skip
    assert condor.ok("RESUME", JOB_ID="2_5") == ""
    assert condor.ok("ABORT", JOB_ID=job.id) == ""
    assert [s.state for s in condor.statuses("", JOB_ID=job.id).values()].count("REMOVED") == 3
    assert condor.statuses("SEVERAL", JOB_IDS=f"2_3 99 {other.id}").keys() == {"2_3", other.id}


def test_fields(condor: Target) -> None:
    needs = {"PROCESSES": "4", "CPUS": "2", "MEMORY": "500", "GPUS": "1", "WALLTIME": "60"}
    more = {"CONSTRAINT": "HasSingularity&&(Mips>9000)", "PRIORITY": "-5"}
    job = condor.start(JOB_NAME="n", PROJECT="p", **needs, **more)
    lines = (condor.path[0] / f"description.{job.id}").read_text().splitlines()
    start = lines.index("batch_name=n")
    assert lines[start:] == [
        "batch_name=n", "accounting_group=p", "request_cpus=4*2", "request_memory=500", "request_gpus=1",
        "requirements=HasSingularity&&(Mips>9000)", "priority=-5",
        "periodic_remove=JobStatus==2&&time()-EnteredCurrentStatus>60", "gpe_index =", "queue",
    ]  # fmt: skip


def test_refusals(condor: Target) -> None:
    directory = condor.root / "odd"
    directory.mkdir(parents=True)
    (directory / "a,b").touch()
    assert "HTCondor cannot transfer it" in condor.run("START", directory=directory).stderr
    (condor.path[0] / "refuse").write_text("ERROR: Parse error in expression\n")
    assert "Parse error" in condor.fails("START")
