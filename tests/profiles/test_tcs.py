"""The profile `tcs`, with stand-ins that answer as Fugaku's user's guide and readers of `pjstat --data` show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH
from tests.profiles.systems import make_system

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

pytestmark = DASH


@pytest.fixture
def tcs(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("tcs", target_of, tmp_path / "commands").target


def test_fields_and_refusals(tcs: Target) -> None:
    tcs.start(NODES="2", PROCESSES="4", WALLTIME="90", QUEUE="small", PROJECT="p", JOB_NAME="n")
    lines = (tcs.path[0] / "script.101").read_text().splitlines()
    assert [line.removeprefix("#PJM ") for line in lines if line.startswith("#PJM")] == [
        "-o .gpe/pjm.out", "-e .gpe/pjm.err", "-N n", "-L rscgrp=small", "-g p", "-L node=2", "--mpi proc=4",
        "-L elapse=00:01:30",
    ]  # fmt: skip
    (tcs.path[0] / "refuse").write_text("[ERR.] PJM 0054 pjsub The resource group does not exist.\n")
    assert "does not exist" in tcs.fails("START")
