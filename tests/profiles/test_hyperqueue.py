"""The profile `hyperqueue`, with a stand-in that answers as HyperQueue's manual shows."""

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
def hq(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("hyperqueue", target_of, tmp_path / "commands").target


def test_fields_and_refusals(hq: Target) -> None:
    fields = {"PROCESSES": "4", "CPUS": "2", "MEMORY": "500", "GPUS": "1", "WALLTIME": "90", "PRIORITY": "-5"}
    job = hq.start(**fields, JOB_NAME="n")
    options, _, command = (hq.path[0] / "requests").read_text().partition(" -- ")
    request = options.split()
    assert request[1:7] == [
        "submit", "--directives=off", "--cwd=/", "--stdout=none", "--stderr=none", "--cpus=8",
    ]  # fmt: skip
    assert sorted(request[7:]) == [
        "--name=n", "--priority=-5", "--resource=gpus/nvidia=1", "--resource=mem=500", "--time-limit=90s",
    ]  # fmt: skip
    assert command.startswith("sh -c sh -c '")
    assert command.endswith(f" '{job.directory}/.gpe/script'\n")
    (hq.path[0] / "refuse").write_text("error: unexpected argument\n")
    assert "unexpected argument" in hq.fails("START")
