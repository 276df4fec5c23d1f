"""The poller against a real batch system of scripts: one query a poll, honest ends, failures."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import JobNotFoundError
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.jobs.watch.live_job import LiveJob
from osprofile.jobs.watch.queries import JobQueries
from osprofile.jobs.watch.schedule import PollSchedule
from tests.jobs.conftest import QUICK, get_record, shell
from tests.records import begin_submission
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from _collections_abc import dict_values
    from collections.abc import Mapping
    from pathlib import Path

    from tests.jobs.conftest import Toy


@pytest.fixture
def toy(toy: Toy) -> Toy:
    """Return the batch system, whose jobs wait until the test sets their states."""
    (toy.path / "stopped").touch()
    return toy


async def test_one_query_a_poll(toy: Toy, target: TargetSystem) -> None:
    """Fifty jobs that wait: the batch system is asked once a poll, never once a job."""
    jobs = [await target.submit(shell("true")) for _ in range(50)]
    assert len(await target.statuses(jobs)) == 50
    assert (target.query_count, toy.asked) == (1, 1)
    events = target.events()
    await wait_until_async(lambda: target.query_count >= 4)
    events.close()
    assert target.query_count - toy.asked in {0, 1}  # one may be under way


async def test_a_submission_does_not_look_at_all_other_jobs(toy: Toy) -> None:
    """Otherwise, the time of all submissions together would grow with the square of their number."""

    class Watched(dict[str, LiveJob]):
        looks = 0

        def values(self) -> dict_values[str, LiveJob]:
            Watched.looks += 1
            return super().values()

    async with TargetSystem(toy.profile, timing=Timing(min_poll_interval=60)) as target:
        target.jobs.polled = Watched()
        events = target.events()
        for _ in range(10):
            await target.submit(shell("true"))
        assert toy.asked == 1
        assert Watched.looks <= 2  # before that query, and behind it
        events.close()


async def test_our_own_action_asks_at_once(toy: Toy) -> None:
    """Where nothing moves the next poll is an hour away; an action does not wait for it."""
    slow = Timing(min_poll_interval=3600, max_poll_interval=3600)
    async with TargetSystem(toy.profile, timing=slow) as target:
        job = await target.submit(shell("true"))
        events = target.events()
        assert (await anext(events)).state is JobState.QUEUED
        for do, state in (
            (target.hold, JobState.HELD),
            (target.resume, JobState.QUEUED),
            (target.abort, JobState.REMOVED),
        ):
            await do(job)
            assert (await anext(events)).state is state


async def test_jobs_of_an_earlier_process(toy: Toy) -> None:
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        ends, goes_on = [await target.submit(shell("true")) for _ in range(2)]
        await target.statuses()
    toy.state(ends, "END 6")
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        events = target.events()
        assert (await target.watch(ends)).state is JobState.QUEUED
        event = await anext(events)
        assert (event.job_id, event.status.exit_code) == (ends, 6)
        assert (await target.watch(goes_on)).state is JobState.QUEUED
    toy.state(ends, None)
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        assert (await target.status(ends)).exit_code == 6
        assert (await target.watch(ends)).exit_code == 6
        assert (await target.wait(ends)).exit_code == 6
    # with the record gone, live jobs can still be reached
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        assert (await target.status(goes_on)).state is JobState.QUEUED
        assert (await target.statuses([goes_on, "99"])).keys() == {goes_on}
        with pytest.raises(JobNotFoundError, match="toy: no job 99"):
            await target.status("99")
        await target.abort(goes_on)
        assert (await target.wait(goes_on)).state is JobState.REMOVED


async def test_a_job_that_was_only_asked_for_is_watched_when_it_is_waited_for(toy: Toy) -> None:
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        job = await target.submit(shell("true"))
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        assert (await target.status(job)).state is JobState.QUEUED
        waiting = asyncio.ensure_future(target.wait(job))
        await asyncio.sleep(QUICK.max_poll_interval)
        toy.state(job, "END 5")
        assert (await waiting).exit_code == 5


TIMING = Timing(min_poll_interval=1, max_poll_interval=60, max_retry_interval=300)


def compute_delays(backoff: PollSchedule, polls: list[tuple[bool, float]]) -> list[float]:
    found = []
    for changed, took in polls:
        backoff.record_success(changed=changed, duration=took)
        found.append(round(backoff.next_delay(0, None), 2))
    return found


def test_the_pace() -> None:
    backoff = PollSchedule(TIMING)
    assert compute_delays(backoff, [(False, 0)] * 3) == [1.5, 2.25, 3.38]
    assert compute_delays(backoff, [(True, 0), (False, 0)]) == [1, 1.5]
    assert compute_delays(backoff, [(False, 0)] * 20)[-1] == 60
    assert compute_delays(backoff, [(True, 2.0)]) == [18]  # a slow batch system is asked a tenth of the time
    assert compute_delays(backoff, [(True, 100.0)]) == [900]
    backoff.reset_delay()
    assert compute_delays(backoff, [(True, 0.0)]) == [1]


def test_the_pace_of_a_fresh_job() -> None:
    """It is looked at soon, however long a poll takes; from there the interval grows."""
    backoff = PollSchedule(TIMING)
    assert compute_delays(backoff, [(True, 2.0)]) == [18]
    backoff.reset_delay()
    assert backoff.next_delay(0, None) == 2
    assert compute_delays(backoff, [(False, 2.0)] * 5) == [4, 8, 16, 24, 36]
    backoff.reset_delay()
    assert compute_delays(backoff, [(True, 2.0)] * 5) == [4, 8, 16, 18, 18]
    backoff.reset_delay()
    assert compute_delays(backoff, [(True, 0.01), (False, 0.01)]) == [1, 1.5]  # never below the fastest


def test_the_pace_while_jobs_are_submitted_without_end() -> None:
    """The batch system is asked for a quarter of its time at most, by slow polls."""
    backoff = PollSchedule(TIMING)
    asked, passed = 0.0, 0.0
    for _ in range(100):
        backoff.record_success(changed=True, duration=2.0)
        backoff.reset_delay()
        asked, passed = asked + 2.0, passed + 2.0 + backoff.next_delay(0, None)
    assert 0.15 < asked / passed < 0.25


def test_the_pace_of_what_is_about_to_end() -> None:
    backoff = PollSchedule(TIMING)
    compute_delays(backoff, [(False, 0)] * 20)
    assert backoff.next_delay(100, 130) == 30
    assert backoff.next_delay(100, 190) == 60
    assert backoff.next_delay(100, 99) == 1
    assert backoff.next_delay(100, 30) == 60  # overdue for long: nothing is imminent any more


def test_the_pace_of_failures() -> None:
    backoff = PollSchedule(TIMING)
    found = []
    for _ in range(12):
        backoff.record_failure()
        found.append(backoff.next_delay(0, 1))
    assert found[:4] == [2, 4, 8, 16]
    assert found[-1] == 300
    assert backoff.failure_count == 12
    assert compute_delays(backoff, [(True, 0)]) == [1]


async def test_an_answer_to_an_earlier_query_tells_of_a_recorded_job(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that was submitted before the query began is in its answer, even if it is watched only afterwards."""
    path = str(tmp_path / "jobs.db")

    async def submit() -> str:
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            return await target.submit(shell("true"))

    job_id = await submit()
    toy.state(job_id, "WAIT")
    async with TargetSystem(
        toy.profile, store=Store(path), timing=Timing(min_poll_interval=600, max_poll_interval=600)
    ) as target:
        run, answer = JobQueries.query_all_jobs, asyncio.Event()

        async def query(queries: JobQueries) -> Mapping[str, JobStatus]:
            statuses = await run(queries)
            await answer.wait()
            return statuses

        monkeypatch.setattr(JobQueries, "query_all_jobs", query)  # the answer comes late
        poll = asyncio.ensure_future(target.poll())
        await asyncio.sleep(0.3)
        target.adopt_job(get_record(target.store, target.name, job_id).status)
        answer.set()
        await poll
        assert target.jobs.get_status(job_id).native_state == "WAIT"


async def test_a_query_that_began_before_the_submission_had_ended_tells_of_an_older_job(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process submits: the answer may have the end of an older job with the same id."""
    store = Store(str(tmp_path / "jobs.db"))
    async with TargetSystem(
        toy.profile, store=store, timing=Timing(min_poll_interval=600, max_poll_interval=600)
    ) as target:
        record = begin_submission(store, target.name, "/d", script="s", key=None, name="n", walltime=None)
        began, answer = asyncio.Event(), asyncio.Event()

        async def query(_queries: JobQueries) -> Mapping[str, JobStatus]:
            began.set()
            await answer.wait()
            return {"7": JobStatus("7", JobState.DONE, exit_code=3)}

        monkeypatch.setattr(JobQueries, "query_all_jobs", query)
        poll = asyncio.ensure_future(target.poll())
        await began.wait()
        store.record_job_id(record.number, "7")
        submitted = get_record(store, target.name, "7")
        assert submitted.accepted_at is not None
        assert submitted.status.submitted is not None
        assert submitted.accepted_at > submitted.status.submitted
        target.adopt_job(submitted.status)
        answer.set()
        await poll
        assert target.jobs.get_status("7").state is not JobState.DONE
