"""The rule for a program that was not run, which stands in the manual of both protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

from osprofile.executors.failures import describe_start_failure
from osprofile.executors.ninfg.job import describe_end
from osprofile.executors.ninfg.protocol import Status
from osprofile.executors.ptp.elements import job_from_status
from osprofile.jobs.state import JobState, JobStatus

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (126, "the executable cannot be executed"),
        (127, "the executable was not found"),
    ],
)
def test_a_program_that_was_not_run_has_failed_for_each_client(exit_code: int, words: str) -> None:
    status = JobStatus("1", JobState.DONE, exit_code=exit_code)
    text = f"exit code {exit_code}: {words}"
    assert describe_end(status) == (Status.FAILED, text)
    job = job_from_status(status, queue="q")
    assert (job.state, job.status, job.message) == ("COMPLETED", "FAILED", text)


@pytest.mark.parametrize(
    "status",
    [
        JobStatus("1", JobState.DONE, exit_code=0),
        JobStatus("1", JobState.DONE),
        JobStatus("1", JobState.DONE, exit_code=125),
        JobStatus("1", JobState.REMOVED, exit_code=127),
        JobStatus("1", JobState.LOST),
    ],
)
def test_any_other_end_is_told_as_it_is(status: JobStatus) -> None:
    assert describe_start_failure(status) == ""
    assert job_from_status(status, queue="q").status == status.state.value


def test_the_rule_stands_in_both_manuals() -> None:
    (rule,) = [p for p in (DOCS / "ninfg.md").read_text().split("\n\n") if "126 or 127" in p]
    assert " ".join(rule.split()) in " ".join((DOCS / "ptp.md").read_text().split())
