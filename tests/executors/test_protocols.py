"""What is the same in all protocols: docs/architecture.md, A protocol."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from osprofile.executors.blah.job_status import format_status_ad, get_status_number
from osprofile.executors.facility.job_states import get_state
from osprofile.executors.ninfg.job import describe_end
from osprofile.executors.ninfg.protocol import Status
from osprofile.executors.ptp.elements import job_from_status
from osprofile.jobs.state import EndCause, JobState, JobStatus

ROOT = Path(__file__).parents[2]
WAITS, RUNS, SUCCESS, FAILURE, REMOVED = "waits", "runs", "success", "failure", "removed"
STATUSES = [
    (JobStatus("1", JobState.QUEUED), WAITS),
    (JobStatus("1", JobState.UNKNOWN), WAITS),
    (JobStatus("1", JobState.UNKNOWN, started=5.0), RUNS),
    (JobStatus("1", JobState.RUNNING), RUNS),
    (JobStatus("1", JobState.HELD, started=5.0), RUNS),
    (JobStatus("1", JobState.DONE, exit_code=0), SUCCESS),
    (JobStatus("1", JobState.DONE, exit_code=3), FAILURE),
    (JobStatus("1", JobState.DONE, exit_code=127), FAILURE),
    (JobStatus("1", JobState.DONE), FAILURE),
    (JobStatus("1", JobState.FAILED), FAILURE),
    (JobStatus("1", JobState.FAILED, cause=EndCause.TIME), FAILURE),
    (JobStatus("1", JobState.FAILED, signal=9, cause=EndCause.SIGNAL), FAILURE),
    (JobStatus("1", JobState.LOST), FAILURE),
    (JobStatus("1", JobState.REMOVED), REMOVED),
]


def tell_as_htcondor(status: JobStatus) -> str:
    """Return what HTCondor makes of a status ad: one without an exit code and a signal is a success."""
    text = format_status_ad(status, get_status_number(status))
    is_success = "ExitBySignal = true" not in text and ("ExitCode = 0;" in text or "ExitCode" not in text)
    number = get_status_number(status)  # 0: the status is an error
    return {0: FAILURE, 1: WAITS, 2: RUNS, 3: REMOVED, 4: SUCCESS if is_success else FAILURE}[number]


@pytest.mark.parametrize(("status", "meaning"), STATUSES)
def test_each_protocol_tells_the_same(status: JobStatus, meaning: str) -> None:
    words = {"queued": WAITS, "active": RUNS, "completed": SUCCESS, "failed": FAILURE, "canceled": REMOVED}
    assert words[get_state(status)] == meaning
    assert tell_as_htcondor(status) == meaning
    if status.state.is_terminal:
        assert (describe_end(status)[0] is Status.DONE) == (meaning == SUCCESS)
        assert job_from_status(status, queue="q").state == "COMPLETED"


def test_the_packages_of_protocols_are_independent() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [c for c in settings["contracts"] if c["type"] == "independence"]
    packages = {path.parent.name for path in (ROOT / "osprofile/executors").glob("*/__init__.py")}
    assert packages == {name.rpartition(".")[2] for name in contract["modules"]}
