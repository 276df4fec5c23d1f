"""No profile makes a success of what it does not know: a count of nothing, a code that is missing, a new word."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH
from tests.profiles.systems import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

pytestmark = DASH


def test_a_shell_that_ends_before_its_script_does_leaves_no_exit_status(
    target_of: Callable[..., Target], tmp_path: Path
) -> None:
    """As one that cannot start a process: its exit status is not that of the program, which never ran."""
    system = make_stand_in("slurm", target_of, tmp_path / "commands")
    job = system.target.start()
    script = job.directory / ".gpe/script"
    script.write_text(re.sub("(?m)^(gpe_begin_job.*)$", r"\1\nexit 2", script.read_text()))
    system.begin(job)
    assert system.wait(job) == 128 + signal.SIGKILL
    assert not (job.directory / ".gpe_exit_status").exists()


@pytest.mark.parametrize(
    ("name", "words", "state"),
    [
        ("hyperqueue", "paused", "QUEUED"),
        ("tcs", "EXT,0,7,-", "FAILED"),
        ("slurmrest", "FAILED|1|0|JobLaunchFailure", "FAILED"),
        ("htcondor", "4|node1|undefined|DIR|false|undefined", "FAILED"),
        ("oar", "Terminated x", "FAILED"),
        ("sge", "ended|0|", None),
        ("moab", "Completed|271|1", "FAILED"),
        ("loadleveler", "X", "QUEUED"),
    ],
)
def test_what_is_not_known_is_no_success(
    name: str, words: str, state: str | None, target_of: Callable[..., Target], tmp_path: Path
) -> None:
    system = make_stand_in(name, target_of, tmp_path / "commands")
    job = system.target.start()
    system.write(job, words)
    if state is None:
        assert system.target.fails("GET_JOB_STATUS", JOB_ID=job.id)
    else:
        assert job.status().state == state
