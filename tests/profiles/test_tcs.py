"""The profile `tcs`, with stand-ins that answer as Fugaku's user's guide and readers of `pjstat --data` show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ValueRefusedError
from tests.profiles.conftest import DASH
from tests.profiles.systems import make_system

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Job, Target

pytestmark = DASH


@pytest.fixture
def tcs(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("tcs", target_of, tmp_path / "commands").target


def tell(tcs: Target, job: Job, words: str) -> None:
    file = tcs.path[0] / "jobs"
    lines = file.read_text().splitlines()
    file.write_text(
        "".join(f"{job.id},{words}\n" if line.startswith(f"{job.id},") else f"{line}\n" for line in lines)
    )


@pytest.mark.parametrize(
    ("words", "state", "told"),
    [
        ("EXT,7,0,-", "DONE", (7, None)),
        ("EXT,-,0,9", "FAILED", (None, 9)),
        ("EXT,-,11,24", "FAILED/TIME", (None, None)),
        ("EXT,-,23,9", "FAILED/MEMORY", (None, None)),
        ("CCL,-,1,-", "REMOVED", (None, None)),
        ("CCL,-,6,-", "REMOVED/DEPENDENCY", (None, None)),
        ("RJT,-,3,-", "FAILED", (None, None)),
    ],
)
def test_ends(tcs: Target, words: str, state: str, told: tuple[int | None, int | None]) -> None:
    """TCS's word for its own reasons counts even if the job's shell has noted an exit status."""
    job = tcs.start()
    (job.directory / ".gpe/output").touch()  # it has begun
    tell(tcs, job, words)
    status = job.status()
    assert (status.state, (status.exit, status.signal)) == (state, told)
    if "/" in state:
        (job.directory / ".gpe_exit_status").write_text("143\n")
        assert job.status().state == state


def test_fields_and_refusals(tcs: Target) -> None:
    fields = {
        "NODES": "2",
        "PROCESSES": "4",
        "WALLTIME": "90",
        "QUEUE": "small",
        "PROJECT": "p",
        "JOB_NAME": "n",
    }
    tcs.start(**fields)
    lines = (tcs.path[0] / "script.101").read_text().splitlines()
    assert [line.removeprefix("#PJM ") for line in lines if line.startswith("#PJM")] == [
        "-o .gpe/pjm.out", "-e .gpe/pjm.err", "-N n", "-L rscgrp=small", "-g p", "-L node=2", "--mpi proc=4",
        "-L elapse=00:01:30",
    ]  # fmt: skip
    for name in ("NODE_FILE", "MEMORY"):
        with pytest.raises(ValueRefusedError):
            tcs.script("START", **{name: "5"})
    (tcs.path[0] / "refuse").write_text("[ERR.] PJM 0054 pjsub The resource group does not exist.\n")
    assert "does not exist" in tcs.fails("START")
