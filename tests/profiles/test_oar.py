"""The profile `oar`, with stand-ins that answer as OAR 2.5.9 did; tests/lab/test_oar.py has the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, quoted
from tests.profiles.systems import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target
    from tests.profiles.systems import StandIn

pytestmark = DASH


@pytest.fixture
def system(tmp_path: Path, target_of: Callable[..., Target]) -> StandIn:
    return make_stand_in("oar", target_of, tmp_path / "commands")


@pytest.fixture
def oar(system: StandIn) -> Target:
    return system.target


def test_an_array(oar: Target, system: StandIn) -> None:
    other = oar.start()
    job = oar.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "exit $GPE_ARRAY_INDEX"), ARRAY="1-3")
    assert oar.statuses().keys() == {other.id, "2_1", "2_2", "2_3"}
    for index in ("1", "2"):
        system.begin(job, index)
        assert system.end(job, index) == int(index)
    system.tell(job, "time limit", "2")
    system.tell(job, "running", "3")
    told = oar.statuses("", JOB_ID=job.id)
    assert {i: (s.state, s.exit) for i, s in told.items()} == {
        "2_1": ("DONE", 1), "2_2": ("FAILED/TIME", None), "2_3": ("RUNNING", None),
    }  # fmt: skip
    several = oar.statuses("SEVERAL", JOB_IDS="2_2 2_3 99 1);x")
    assert {i: s.state for i, s in several.items()} == {"2_2": "FAILED/TIME", "2_3": "RUNNING"}
    assert (oar.path[0] / "asked.sql").read_text() == "2,99\n"
    assert "already ended" in oar.fails("ABORT", JOB_ID="2_1")


def test_an_array_is_removed_as_a_whole(oar: Target, system: StandIn) -> None:
    job = oar.start(EXECUTABLE="/bin/true", ARRAY="1-3")
    assert oar.ok("HOLD", JOB_ID=job.id) == ""
    assert oar.ok("RESUME", JOB_ID="1_2") == ""
    assert {i: s.state for i, s in oar.statuses().items()} == {"1_1": "HELD", "1_2": "QUEUED", "1_3": "HELD"}
    system.begin(job, "2")
    assert system.end(job, "2") == 0
    assert oar.ok("ABORT", JOB_ID=job.id) == ""  # OAR's command fails, because of the task that has ended
    told = oar.statuses("", JOB_ID=job.id)
    assert {i: s.state for i, s in told.items()} == {"1_1": "REMOVED", "1_2": "DONE", "1_3": "REMOVED"}
    system.begin(job, "1")  # all the same
    assert system.wait(job, "1") == 143
    assert not (job.directory / "stdout.1").exists()


def test_fields(oar: Target) -> None:
    first = oar.start(ARRAY="1-2")
    needs = {"NODES": "2", "PROCESSES": "5", "CPUS": "2", "GPUS": "2", "WALLTIME": "90"}
    more = {"CONSTRAINT": "NODES=x&(b!=2|c>=3)", "DEPENDENCY": f"afterany:{first.id},afterany:{first.id}"}
    oar.start(JOB_NAME="n", QUEUE="q", PROJECT="p", **needs, **more)
    for need in ({"NODES": "2"}, {"CPUS": "2"}, {"GPUS": "1"}, {"WALLTIME": "3600"}):
        oar.start(**need)
    requests = [line.partition(" sh ")[0] for line in (oar.path[0] / "requests").read_text().splitlines()]
    common = "-d / -O /dev/null -E /dev/null"
    assert requests == [
        f"--array 2 {common} -n hostname",
        f"{common} -l nodes=2/gpu=2/core=3,walltime=00:01:30 -p NODES='x' AND (b!='2' OR c>='3') -n n -q q --project p -a 1 -a 2 -a 1 -a 2",
        f"{common} -l nodes=2 -n hostname",
        f"{common} -l nodes=1/core=2 -n hostname",
        f"{common} -l nodes=1/gpu=1 -n hostname",
        f"{common} -l walltime=01:00:00 -n hostname",
    ]


def test_refusals(oar: Target) -> None:
    assert "does not know the job 7" in oar.fails("START", DEPENDENCY="afterany:7")
    first = oar.start()
    only = "only the last task of an array"
    assert only in oar.fails("START", ARRAY="1-2", DEPENDENCY=f"afterany:{first.id}")
    (oar.path[0] / "refuse").write_text("There are not enough resources for your request\n")
    assert "not enough resources" in oar.fails("START")
