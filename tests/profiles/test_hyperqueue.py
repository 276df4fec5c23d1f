"""The profile `hyperqueue`, with a stand-in that answers as HyperQueue's manual shows."""

from __future__ import annotations

import json
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


COUNTS = ("running", "finished", "failed", "canceled", "waiting")
VERSIONS: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "0.18": (COUNTS, {}),
    "0.19 to 0.25": (COUNTS, {"is_open": False}),
    "0.26": ((*COUNTS, "aborted"), {"is_open": False, "cancel_reason": '{ "finished": 1'}),
}
"""The counts and the other values of a job in the list, by the source of `hq`."""
TOLD = {
    "waiting": "QUEUED", "running": "RUNNING", "finished": "DONE", "failed": "FAILED", "canceled": "REMOVED", "aborted": "FAILED",
    "": "QUEUED",
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_the_list_of_each_version(hq: Target, version: str) -> None:
    """Each version has changed it; where nothing is counted, nothing has ended."""
    counts, more = VERSIONS[version]
    states = (*counts, "")
    jobs = [
        {
            "id": number,
            "name": "sh",
            "task_count": 1,
            "task_stats": {c: int(c == state) for c in counts},
            **more,
        }
        for number, state in enumerate(states, 1)
    ]
    (hq.path[0] / "list").write_text(json.dumps(jobs, indent=2, sort_keys=True) + "\n")
    (hq.path[0] / "hq").write_text('#!/bin/sh\ncat "${0%/*}/list"\n')
    found = hq.statuses()
    assert {int(name): status.state for name, status in found.items()} == {
        number: TOLD[state] for number, state in enumerate(states, 1)
    }
