"""The jobs of a resource, on a real toy of a batch system: launched once, listed by one query, known while it is away."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.executors.facility import compute
from osprofile.executors.facility.job_states import JobFilter
from osprofile.executors.facility.problems import ProblemError
from osprofile.jobs.fields import JobDescription
from tests.executors.facility.conftest import make_resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path

    from osprofile.executors.facility.compute import Resource
    from tests.jobs.conftest import Toy

WAITS: dict[str, Any] = {"executable": "/bin/sh", "arguments": ["-c", "sleep 60"], "name": "waits"}
ENDS: dict[str, Any] = {"executable": "/bin/sh", "arguments": ["-c", "exit 3"], "name": "ends"}


@asynccontextmanager
async def opened(
    toy: Toy, max_age: float = 0.1, store: Path | None = None, *, follows: bool = True
) -> AsyncIterator[Resource]:
    resource = make_resource(toy.profile, store, max_age)
    if follows:
        resource.start()
    try:
        yield resource
    finally:
        await resource.close()


async def list_jobs(
    resource: Resource, filters: dict[str, Any] | None = None, **options: bool | int
) -> list[dict[str, Any]]:
    values: dict[str, Any] = {"offset": 0, "limit": 1000, "historical": False, "include_spec": False}
    return await resource.list_jobs(JobFilter.parse(filters), **(values | options))


async def get_job(resource: Resource, job_id: str) -> dict[str, Any]:
    return await resource.get_job(job_id, historical=True, include_spec=False)


async def wait(resource: Resource, job_id: str) -> dict[str, Any]:
    await resource.target.wait(job_id)
    return await get_job(resource, job_id)


async def refusal(call: Coroutine[Any, Any, Any]) -> ProblemError:
    with pytest.raises(ProblemError) as error:
        await call
    return error.value


async def test_a_life(toy: Toy) -> None:
    async with opened(toy) as resource:
        launched = await resource.launch_job(WAITS, None)
        assert launched["status"]["state"] in {"queued", "active"}
        job_id = launched["id"]
        while (job := await resource.get_job(job_id, historical=False, include_spec=True))["status"][  # noqa: ASYNC110
            "state"
        ] != "active":
            await asyncio.sleep(0.02)
        assert job["job_spec"] == WAITS
        assert job["status"]["meta_data"]["stdout"].endswith("/stdout")
        await resource.cancel_job(job_id)
        assert (await wait(resource, job_id))["status"]["state"] == "canceled"
        await resource.cancel_job(job_id)
        assert (await refusal(resource.get_job(job_id, historical=False, include_spec=False))).status == 404
        failed = await wait(resource, (await resource.launch_job(ENDS, None))["id"])
        assert (failed["status"]["state"], failed["status"]["exit_code"]) == ("failed", 3)
        assert (await refusal(resource.cancel_job(failed["id"]))).status == 409
        done = await wait(resource, (await resource.launch_job({"executable": "true"}, None))["id"])
        assert (done["status"]["state"], done["status"]["exit_code"]) == ("completed", 0)


@pytest.mark.parametrize("job_id", ["99", "nope", "", "1; id", "-1", "\0", "1\n", "../1", "1" * 5000, "é"])
async def test_ids_of_no_job(toy: Toy, job_id: str) -> None:
    async with opened(toy) as resource:
        for call in (
            get_job(resource, job_id),
            resource.cancel_job(job_id),
            resource.update_job(job_id, WAITS),
        ):
            assert (await refusal(call)).status == 404


async def test_a_key_submits_once(toy: Toy, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "osprofile.facility")
    key = str(uuid.uuid4())
    async with opened(toy, store=tmp_path / "jobs.db") as resource:
        (toy.path / "stopped").touch()
        results = await asyncio.gather(
            *(resource.launch_job(WAITS, key) for _ in range(3)), return_exceptions=True
        )
        jobs = [result for result in results if isinstance(result, dict)]
        conflicts = [result for result in results if isinstance(result, ProblemError)]
        assert len(jobs) == 1
        assert [(error.status, error.retry_after) for error in conflicts] == [(409, 2)] * 2
        again = await resource.launch_job(WAITS, key.upper())
        assert again["id"] == jobs[0]["id"]
        other = await refusal(resource.launch_job({**WAITS, "name": "other", "launcher": "mpirun"}, key))
        assert other.status == 422
        assert [param.name for param in other.invalid_params] == ["name", "launcher"]
        second = await resource.launch_job(WAITS, str(uuid.uuid4()))
        assert second["id"] != again["id"]
    async with opened(toy, store=tmp_path / "jobs.db") as resource:  # the next daemon
        assert (await resource.launch_job(WAITS, key))["id"] == again["id"]
    assert len(toy.submissions) == 2
    words = [message.split()[-3:-2] for message in caplog.messages if message.endswith(f"job {again['id']}")]
    assert words == [["launched"], ["found"], ["found"]]


async def test_an_answer_that_was_lost_is_found(toy: Toy, tmp_path: Path) -> None:
    """The daemon ends while START runs: the job is there, and its id is not known."""
    key = str(uuid.uuid4())
    submit = toy.path / "bin" / "toysub"
    text = submit.read_text()
    submit.write_text(
        text.replace('echo "queued as $n"', 'touch "$TOY/done"; until [ -e "$TOY/go" ]; do sleep 0.02; done')
    )
    async with opened(toy, store=tmp_path / "jobs.db") as resource:
        launch = asyncio.ensure_future(resource.launch_job(WAITS, key))
        while not (toy.path / "done").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        launch.cancel()
        await asyncio.gather(launch, return_exceptions=True)
    submit.write_text(text)
    (toy.path / "go").touch()
    async with opened(toy, store=tmp_path / "jobs.db") as resource:
        found = await resource.launch_job(WAITS, key)
    assert found["id"] == "1"
    assert len(toy.submissions) == 1


async def test_refusals_have_the_member_and_the_limit(toy: Toy) -> None:
    async with opened(toy) as resource:
        problem = await refusal(
            resource.launch_job({"executable": "a", "resources": {"node_count": 2}}, None)
        )
        assert (problem.status, [p.name for p in problem.invalid_params]) == (400, ["resources.node_count"])
        assert "Max of 1" in problem.invalid_params[0].reason
        problem = await refusal(
            resource.launch_job(
                {"executable": "a", "launcher": "mpirun", "attributes": {"queue_name": "a b"}}, None
            )
        )
        assert [p.name for p in problem.invalid_params] == ["attributes.queue_name"]
        (toy.path / "bin" / "toysub").write_text("#!/bin/sh\necho 'toysub: no such queue'; exit 2\n")
        problem = await refusal(resource.launch_job(WAITS, str(uuid.uuid4())))
        assert problem.status == 422
        assert "no such queue" in problem.message
    assert toy.submissions == []


async def test_a_job_is_not_changed(toy: Toy) -> None:
    (toy.path / "stopped").touch()
    async with opened(toy) as resource:
        job_id = (await resource.launch_job(WAITS, None))["id"]
        assert (await resource.update_job(job_id, WAITS))["id"] == job_id
        problem = await refusal(resource.update_job(job_id, {**WAITS, "attributes": {"duration": 60}}))
        assert (problem.status, [p.name for p in problem.invalid_params]) == (501, ["attributes.duration"])


async def test_a_list_takes_one_query_and_none_when_it_is_fresh(toy: Toy) -> None:
    (toy.path / "stopped").touch()
    async with opened(toy, max_age=60, follows=False) as resource:  # else there are queries of its own
        ids = await resource.target.submit_many(
            JobDescription(executable="true", name=f"n{i}") for i in range(20)
        )
        await resource.target.submit(JobDescription(executable="true", array="1-2"))
        before = toy.asked
        await resource.target.poll()  # the first answer since they were submitted
        assert toy.asked == before + 1
        first = await list_jobs(resource)
        assert [job["id"] for job in first] == [*ids, "21"]
        assert {job["status"]["state"] for job in first} == {"queued"}
        for _ in range(5):
            assert await list_jobs(resource, include_spec=True)
            assert await get_job(resource, ids[0])
        assert toy.asked == before + 1
        assert [job["id"] for job in await list_jobs(resource, offset=19, limit=1)] == [ids[19]]
        assert await list_jobs(resource, limit=0) == []
        assert [job["id"] for job in await list_jobs(resource, {"name": ["n3", "n5"]})] == [ids[3], ids[5]]
        assert toy.queried_ids == []


async def test_a_list_has_what_has_ended_only_if_it_is_asked_for(toy: Toy, tmp_path: Path) -> None:
    async with opened(toy, store=tmp_path / "jobs.db") as resource:
        ended = await wait(resource, (await resource.launch_job(ENDS, None))["id"])
        live = await resource.launch_job(WAITS, None)
        assert [job["id"] for job in await list_jobs(resource)] == [live["id"]]
        assert [job["id"] for job in await list_jobs(resource, historical=True)] == [ended["id"], live["id"]]
        failed = await list_jobs(resource, {"state": "failed"}, historical=True, include_spec=True)
        assert [(job["id"], job["job_spec"]) for job in failed] == [(ended["id"], ENDS)]
        await resource.cancel_job(live["id"])


async def test_jobs_of_others_are_listed_without_a_spec(toy: Toy) -> None:
    (toy.path / "stopped").touch()
    (toy.path / "jobs" / "77").mkdir()
    toy.state("77", "KEPT")
    async with opened(toy) as resource:
        mine = await resource.launch_job(WAITS, None)
        jobs = await list_jobs(resource, include_spec=True)
        assert [(job["id"], job["status"]["state"], "job_spec" in job) for job in jobs] == [
            (mine["id"], "queued", True),
            ("77", "held", False),
        ]


async def test_a_batch_system_that_takes_long(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, it is not away for that."""
    monkeypatch.setattr(compute, "_STATUS_TIMEOUT", 0.05)
    (toy.path / "bin/toystat").write_text("#!/bin/sh\nexec sleep 60\n")
    async with opened(toy) as resource:
        await resource.health.check(resource.target)
        assert resource.health.status == "unknown"


async def test_a_batch_system_that_is_away(toy: Toy, tmp_path: Path) -> None:
    (toy.path / "stopped").touch()
    async with opened(toy, max_age=0.001, store=tmp_path / "jobs.db") as resource:
        job_id = (await resource.launch_job(WAITS, None))["id"]
        await list_jobs(resource)
        await resource.health.check(resource.target)
        assert resource.health.status == "up"
        (toy.path / "broken").write_text("toystat: no server\n")
        for program in ("toysub", "toyctl"):
            (toy.path / "bin" / program).write_text(
                "#!/bin/sh\necho 'no server'; echo 'no server' >&2; exit 2\n"
            )
        # from the record
        for job in (*await list_jobs(resource, historical=True), await get_job(resource, job_id)):
            assert (job["id"], job["status"]["state"]) == (job_id, "queued")
            assert "does not answer" in job["status"]["message"]
        await resource.health.check(resource.target)
        assert resource.health.status == "down"
        for call in (
            resource.launch_job({**WAITS, "name": "n2"}, str(uuid.uuid4())),
            resource.cancel_job(job_id),
            get_job(resource, "99"),
        ):
            problem = await refusal(call)
            assert (problem.status, problem.retry_after) == (503, 30)
        # nobody can know what has become of it
        problem = await refusal(resource.launch_job({**WAITS, "name": "n3"}, None))
        assert (problem.status, problem.retry_after) == (504, None)
        assert "Idempotency-Key" in problem.hint
    assert len(toy.submissions) == 1
