"""The comparison with the truth finds what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from osprofile.jobs.state import EndCause, JobState
from tests.simulated.cluster import Job
from tests.simulated.truth import End, list_faults

DONE: End = (JobState.DONE, 0, None, None)
LOST: End = (JobState.LOST, None, None, None)
NODE: End = (JobState.FAILED, None, None, EndCause.NODE)
KILLED: End = (JobState.FAILED, None, 15, EndCause.SIGNAL)
REMOVED: End = (JobState.REMOVED, None, None, EndCause.USER)


def run(number: int = 1, **attributes: Any) -> dict[str, Any]:  # noqa: ANN401
    """Describe a job that has ended."""
    job = Job(number=number, user="ann", name="a", directory="", has_run=True, ended=5.0, **attributes)
    return job.describe()


@pytest.mark.parametrize(
    ("jobs", "told", "word"),
    [
        ([run()], DONE, ""),
        ([run()], None, "lost"),
        ([run(), run(2)], DONE, "doubled"),
        ([run(2)], DONE, "is not job 1"),
        ([run(status_file=0)], LOST, "not one of"),
        ([run(end="node", shown_to={"7": [6.0]})], LOST, "not one of"),
        ([run(end="node", shown_to={"8": [6.0]})], LOST, ""),  # the process was killed as it got the answer
        ([run(end="node", shown_to={"8": [5.5]})], LOST, "not one of"),  # it was killed later
        ([run(end="node")], LOST, ""),
        ([run(end="node")], NODE, ""),
        ([run(end="node")], DONE, "not one of"),
        ([run(end="time", status_file=143)], KILLED, ""),
        ([run(end="time", status_file=143, shown_to={"7": [6.0]})], KILLED, "not one of"),
        ([run(end="node", removed_by_user=True)], REMOVED, ""),
        ([run(end="node")], REMOVED, "not one of"),
        ([run(removed_by_user=True)], REMOVED, "not one of"),
        ([run(end="node", array_was_removed=True)], REMOVED, ""),
        ([run(end="node", array_was_removed=True, shown_to={"7": [6.0]})], REMOVED, "not one of"),
        ([run(end="code", array_was_removed=True, status_file=1, code=1)], REMOVED, "not one of"),
        ([run(end="time", array_was_removed=True, status_file=143)], REMOVED, ""),
    ],
)  # fmt: skip
def test_comparison(jobs: list[dict[str, Any]], told: End | None, word: str) -> None:
    ends = {} if told is None else {"a": ("1", told)}
    faults = list_faults({"jobs": jobs, "deaths": {"8": 6.0}}, ["a"], ends)
    assert [word in fault for fault in faults] == [True] * bool(word)
