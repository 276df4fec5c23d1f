"""A job's status as the API has it, and which jobs a list has."""

from __future__ import annotations

from typing import Any

import pytest

from osprofile.executors.facility.job_states import STATES, JobFilter, format_status, get_state
from osprofile.executors.facility.problems import ProblemError
from osprofile.jobs.state import EndCause, JobState, JobStatus

S = JobState
TABLE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"state": S.QUEUED, "submitted": 1.0}, {"state": "queued", "time": 1.0}),
    ({"state": S.RUNNING, "submitted": 1.0, "started": 2.0}, {"state": "active", "time": 2.0}),
    ({"state": S.HELD, "submitted": 1.0, "reason": "by you"}, {"state": "held", "time": 1.0, "message": "by you"}),
    ({"state": S.HELD, "started": 2.0}, {"state": "active", "time": 2.0, "message": "suspended"}),
    ({"state": S.DONE, "exit_code": 0, "ended": 3.0}, {"state": "completed", "time": 3.0, "exit_code": 0}),
    ({"state": S.DONE, "exit_code": 3}, {"state": "failed", "exit_code": 3}),
    (
        {"state": S.DONE, "exit_code": 127},
        {"state": "failed", "exit_code": 127, "message": "exit code 127: the executable was not found"},
    ),
    ({"state": S.DONE}, {"state": "failed", "message": "it ended, but its exit code is not known"}),
    (
        {"state": S.FAILED, "cause": EndCause.TIME, "reason": "TIMEOUT"},
        {"state": "failed", "message": "it exceeded its time limit; TIMEOUT"},
    ),
    ({"state": S.FAILED, "signal": 9}, {"state": "failed", "message": "signal 9 killed it"}),
    ({"state": S.REMOVED, "cause": EndCause.USER}, {"state": "canceled", "message": "somebody cancelled it"}),
    ({"state": S.LOST}, {"state": "failed", "message": "the batch system no longer knows it, and it left no exit code"}),
    ({"state": S.UNKNOWN}, {"state": "queued"}),
    ({"state": S.UNKNOWN, "started": 2.0}, {"state": "active", "time": 2.0}),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), TABLE, ids=[str(values) for values, _ in TABLE])
def test_states(values: dict[str, Any], expected: dict[str, Any]) -> None:
    found = format_status(JobStatus("1", **values), None)
    found.pop("meta_data", None)
    assert found == expected


def test_every_state_has_a_word() -> None:
    assert {get_state(JobStatus("1", state)) for state in JobState} < {*STATES}
    completed = [
        (s, code)
        for s in JobState
        for code in (None, 0, 1)
        if get_state(JobStatus("1", s, exit_code=code)) == "completed"
    ]
    assert completed == [(JobState.DONE, 0)]


def test_what_else_is_known() -> None:
    status = JobStatus("1", S.FAILED, "NODE_FAIL", None, 9, EndCause.NODE, ("n1",), queue="q", max_memory=5)
    assert format_status(status, None, "old")["meta_data"] == {
        "native_state": "NODE_FAIL",
        "cause": "NODE",
        "signal": 9,
        "hosts": ["n1"],
        "queue": "q",
        "max_memory": 5,
    }


def test_filters() -> None:
    job = JobStatus("1", S.QUEUED)
    for filters, matches in [
        (None, True),
        ({}, True),
        ({"state": "queued"}, True),
        ({"state": ["active", "queued"]}, True),
        ({"state": []}, False),
        ({"state": "queued", "id": "2"}, False),
        ({"id": ["1", "2"], "name": "n"}, True),
        ({"name": "N"}, False),
    ]:
        assert JobFilter.parse(filters).matches(job, "n") is matches, filters
    assert JobFilter.parse({"name": "my job"}).matches(job, "my_job")


@pytest.mark.parametrize(
    ("filters", "name"),
    [
        ({"stat": "queued"}, "stat"),
        ({"state": "running"}, "state"),
        ({"id": 1}, "id"),
        ({"name": [None]}, "name"),
    ],
)
def test_other_filters_are_refused(filters: dict[str, object], name: str) -> None:
    with pytest.raises(ProblemError) as error:
        JobFilter.parse(filters)
    assert [param.name for param in error.value.invalid_params] == [name]
