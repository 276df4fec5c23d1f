"""What one user may have: requests in a minute, and jobs that live."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.executors.facility import rate
from osprofile.executors.facility.compute import Quota
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.rate import Rate
from tests.executors.facility.conftest import make_resource

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

SLEEP = {"executable": "sleep", "arguments": ["60"]}


def test_requests_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(rate.time, "monotonic", lambda: now)
    bucket = Rate(30)

    def take() -> None:
        with bucket.hold():
            pass

    for _ in range(30):
        take()
    with pytest.raises(ProblemError) as error:
        take()
    assert (error.value.status, error.value.retry_after) == (429, 2)
    now += 2
    take()
    with pytest.raises(ProblemError):
        take()
    now += 3600
    for _ in range(30):
        take()
    with pytest.raises(ProblemError):
        take()
    bucket = Rate(0)
    for _ in range(1000):
        take()


async def test_jobs_that_live(linux: Profile, tmp_path: Path) -> None:
    """At most so many, also of launches at the same time; what is launched already is found again."""
    resource = make_resource(linux, tmp_path / "jobs.db", quota=Quota(3))
    key = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    first = await resource.launch_job(SLEEP, key)
    results = await asyncio.gather(
        *(resource.launch_job(SLEEP, None) for _ in range(6)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, ProblemError)]
    launched = [result["id"] for result in results if isinstance(result, dict)]
    assert (len(launched), {(error.status, error.retry_after) for error in refused}) == (2, {(429, 30)})
    assert (await resource.launch_job(SLEEP, key))["id"] == first["id"]
    await resource.cancel_job(launched[0])
    await resource.target.wait(launched[0])
    array = {**SLEEP, "attributes": {"custom_attributes": {"ARRAY": "1-2"}}}
    with pytest.raises(ProblemError, match="2 jobs live"):
        await resource.launch_job(array, None)
    with pytest.raises(ProblemError) as error:
        await resource.launch_job({**SLEEP, "resources": {"node_count": 2}}, None)
    assert error.value.status == 400
    assert (await resource.launch_job(SLEEP, None))["id"]
    for record in resource.target.store.list_live_jobs():
        await resource.cancel_job(record.status.job_id)
    await resource.close()
