"""What a client is told while its job waits, runs, or is suspended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from osprofile.executors.ninfg.job import Job, describe_end
from osprofile.executors.ninfg.protocol import Status
from osprofile.jobs.state import JobState, JobStatus


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (JobStatus("7", JobState.QUEUED), [Status.PENDING]),
        (JobStatus("7", JobState.HELD), [Status.PENDING]),
        (JobStatus("7", JobState.RUNNING, started=1.0), [Status.ACTIVE]),
        (JobStatus("7", JobState.HELD, started=1.0), [Status.ACTIVE]),  # suspended: it has begun
        (JobStatus("7", JobState.HELD, elapsed=5.0), [Status.ACTIVE]),
        (JobStatus("7", JobState.UNKNOWN), []),
    ],
)
def test_states_of_jobs_that_have_not_ended(status: JobStatus, told: list[Status]) -> None:
    async def tell() -> list[Status]:
        found: list[Status] = []
        unused: Any = None
        Job("a", unused, unused, "", lambda state, _: found.append(state)).update_status(status)
        return found

    assert asyncio.run(tell()) == told


def test_an_end_that_is_not_known_is_no_success() -> None:
    assert describe_end(JobStatus("7", JobState.DONE, exit_code=0)) == (Status.DONE, "")
    assert describe_end(JobStatus("7", JobState.DONE)) == (
        Status.FAILED,
        "it ended, but its exit code is not known",
    )
