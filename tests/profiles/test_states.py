"""The words of batch systems for the states of a job, which their stand-ins are told to say (systems.py).

Those of the profiles `pbs`, `slurm`, `torque`, `lsf`, `sge` and `htcondor` are in their own files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, ENDED
from tests.profiles.systems import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

Told = tuple[str, int | None, int | None]
STATES: dict[str, dict[str, Told]] = {
    "flux": {
        "DEPEND 16": ("QUEUED", None, None),
        "DEPEND 0": ("HELD", None, None),
        "SCHED 31": ("QUEUED", None, None),
        "CLEANUP 16": ("RUNNING", None, None),
        "COMPLETED 16 0": ("DONE", 0, None),
        "FAILED 16 7": ("DONE", 7, None),
        "FAILED 16 -9": ("FAILED", None, None),
        "FAILED 16 137": ("FAILED", None, 9),
        "TIMEOUT 16 142": ("FAILED/TIME", None, None),
        "CANCELED 16 -128": ("REMOVED", None, None),
        "SOMETHING 16": ("QUEUED", None, None),
    },
    "hyperqueue": {"finished": ("DONE", 0, None), "failed": ("FAILED", None, None), "canceled": ("REMOVED", None, None)},
    "oar": {
        "Launching - -": ("QUEUED", None, None),
        "Hold - -": ("HELD", None, None),
        "Suspended - -": ("HELD", None, None),
        "Finishing - -": ("RUNNING", None, None),
        "toError - -": ("QUEUED", None, None),
        "Terminated 7 -": ("DONE", 7, None),
        "Terminated s9 -": ("FAILED", None, 9),
        "Error - -": ("FAILED", None, None),
        "Error - WALLTIME": ("FAILED/TIME", None, None),
        "Error - BESTEFFORT_KILL": ("FAILED/PREEMPTED", None, None),
        "Error - FRAG_JOB_REQUEST": ("REMOVED", None, None),
    },
    "tcs": {
        "EXT,7,0,-": ("DONE", 7, None),
        "EXT,-,0,9": ("FAILED", None, 9),
        "EXT,-,11,24": ("FAILED/TIME", None, None),
        "EXT,-,23,9": ("FAILED/MEMORY", None, None),
        "CCL,-,1,-": ("REMOVED", None, None),
        "CCL,-,6,-": ("REMOVED/DEPENDENCY", None, None),
        "RJT,-,3,-": ("FAILED", None, None),
    },
}  # fmt: skip


@DASH
@pytest.mark.parametrize("name", STATES)
def test_states(target_of: Callable[..., Target], tmp_path: Path, name: str) -> None:
    """Of a job that left nothing; a cause that the batch system tells counts even if the job noted an exit status."""
    system = make_stand_in(name, target_of, tmp_path / "commands")
    target, jobs = system.target, {words: system.target.start() for words in STATES[name]}
    for words, job in jobs.items():
        (job.directory / ".gpe/output").touch()  # it has begun
        system.write(job, words)
    ids = " ".join(job.id for job in jobs.values())
    found, listed = target.statuses("SEVERAL", JOB_IDS=ids), target.statuses()
    for words, told in STATES[name].items():
        status = found[jobs[words].id]
        assert (status.state, status.exit, status.signal) == told, words
        is_listed = system.is_all_with_ended or told[0] not in ENDED
        assert listed.get(status.id) == (status if is_listed else None)
        assert jobs[words].status() == status
        (jobs[words].directory / ".gpe_exit_status").write_text("143\n")
    again = target.statuses("SEVERAL", JOB_IDS=ids)
    for words, told in STATES[name].items():
        if "/" in told[0] or told[0] == "REMOVED":
            assert again[jobs[words].id].state == told[0]
