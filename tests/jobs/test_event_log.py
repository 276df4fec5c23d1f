"""A profile that names a log: states come from there, and the same job never gets an event twice."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import InvalidProfileError
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.jobs.watch import events as module
from osprofile.jobs.watch import live_job
from osprofile.profile.repository import Repository
from tests.jobs.conftest import Toy, shell
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from collections.abc import Callable

Q, R, H, D, F = (JobState.QUEUED, JobState.RUNNING, JobState.HELD, JobState.DONE, JobState.FAILED)
SEG = f"{sys.executable} -m osprofile.events.seg_command -s fork --interval 0.02 --extended"
EVENTS = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="toy" extends="toy">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="EVENTS">
    <idb:Invocation name=""><idb:Body>{command}</idb:Body></idb:Invocation>
    {fields}
  </idb:Template>
</osp:Profile>
"""
ID_PATTERN = r"""<idb:Field name="EVENT_ID_PATTERN" isSettable="false">
  <idb:Value>(?&lt;id>[0-9]+)\.0</idb:Value></idb:Field>"""
SELDOM = Timing(min_poll_interval=0.05, max_poll_interval=0.1, grace_period=0.5, log_poll_interval=3600)


class Log:
    """A scheduler's log, and the profile that names it."""

    def __init__(self, toy: Toy, command: str, fields: str) -> None:
        self.path = toy.path / "log"
        self.path.touch()
        site = toy.path.parent / "site"
        (site / "toy").mkdir(parents=True)
        text = EVENTS.format(root=toy.path.parent / "work", command=command, fields=fields)
        (site / "toy" / "profile.xml").write_text(text)
        directories = [str(site), str(toy.path.parent / "profiles")]
        self.profile = Repository(directories).load("toy")

    def write_event(self, job_id: str, state: int, code: int = 0) -> None:
        with self.path.open("a") as file:
            file.write(f"001;{int(time.time())};{job_id};{state};{code}\n")


@pytest.fixture
def make_log(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Log]:
    monkeypatch.setattr(module, "_STARTUP_TIME", 0.3)
    (toy.path / "stopped").touch()

    def make(command: str = f"{SEG} --log-path {toy.path}/log", fields: str = "") -> Log:
        return Log(toy, command, fields)

    return make


async def is_log_reliable(target: TargetSystem) -> bool:
    """Return whether the log reports the jobs: a poll then takes the last answer again."""
    asked = target.query_count
    await target.poll()
    return target.query_count == asked


async def wait_until_reliable(target: TargetSystem) -> None:
    """Wait until the log is reliable."""
    target.events()
    while not await is_log_reliable(target):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def test_states_come_from_the_log(toy: Toy, make_log: Callable[..., Log]) -> None:
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        events = target.events()
        jobs = [await target.submit(shell("true")) for _ in range(3)]
        await target.poll()
        asked = target.query_count
        for job in jobs:
            log.write_event(job, 1)
            log.write_event(job, 2)
        for job, word in zip(jobs, ("END 5", "GONE", "END 137"), strict=True):
            toy.state(job, word)
            log.write_event(job, 8, 9)  # the batch system knows better
        ends = [await target.wait(job) for job in jobs]
        assert [(s.state, s.exit_code, s.signal) for s in ends] == [
            (D, 5, None),
            (JobState.REMOVED, None, None),
            (F, None, 9),
        ]
        assert target.query_count == asked
        told = [await anext(events) for _ in range(9)]
        for job in jobs:
            assert [e.state for e in told if e.job_id == job][:2] == [Q, R]
        await asyncio.sleep(0.3)
        events.close()
        assert [event async for event in events] == []


async def test_a_log_that_names_the_array_for_its_tasks(toy: Toy, make_log: Callable[..., Log]) -> None:
    """Such an entry is about one task, nobody knows which: the batch system is asked as without a log."""
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        array = await target.submit(shell("true", array="1-2"))
        waiting = asyncio.ensure_future(target.wait(array))
        assert not await is_log_reliable(target)
        toy.state(f"{array}_1", "END 4")
        log.write_event(array, 2)
        log.write_event(array, 8)
        log.write_event(f"{array}_2", 2)
        await wait_until_async(lambda: target.jobs.get_status(f"{array}_1").state is D)
        assert target.jobs.get_status(array).state in {Q, R}
        toy.state(f"{array}_2", "END 0")
        log.write_event(f"{array}_2", 8, 9)  # the batch system knows better
        assert (await waiting).reason == "1 of 2 tasks ended with 0; exit 4: 1"
        assert await is_log_reliable(target)


async def test_an_end_that_only_the_log_knows(toy: Toy, make_log: Callable[..., Log]) -> None:
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        done, failed, aborted = [await target.submit(shell("true")) for _ in range(3)]
        await target.poll()
        await target.abort(aborted)
        for job, state, code in ((done, 8, 3), (failed, 4, 1), (aborted, 4, 0)):
            toy.state(job, None)
            log.write_event(job, state, code)
        ends = [await target.wait(job) for job in (done, failed, aborted)]
        assert [(s.state, s.exit_code) for s in ends] == [(D, 3), (F, None), (JobState.REMOVED, None)]


async def test_an_end_that_the_batch_system_cannot_be_asked_for(
    toy: Toy, make_log: Callable[..., Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often its query fails, the log's word is not taken before the batch system answers."""
    monkeypatch.setattr(live_job, "_END_QUERY_INTERVAL", 0.05)
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        job = await target.submit(shell("true"))
        await target.poll()
        refused = toy.path / f"refused.{job}"
        refused.write_text("toystat: no answer from the server\n")
        toy.state(job, "GONE")
        log.write_event(job, 8, 0)
        await asyncio.sleep(1)
        refused.unlink()
        assert (await target.wait(job)).state is JobState.REMOVED


async def test_the_end_of_a_run_after_which_a_job_runs_again(
    toy: Toy, make_log: Callable[..., Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm, for one, writes down such ends as it does a job's own."""
    monkeypatch.setattr(live_job, "_END_QUERY_INTERVAL", 0.05)
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        queued, running = [await target.submit(shell("true")) for _ in range(2)]
        for job in (queued, running):
            toy.state(job, "GO")
        await target.poll()
        events = target.events()
        toy.state(queued, "WAIT")
        for job in (queued, running):  # the one waits for its next run, the other one has begun it
            log.write_event(job, 4, 1)
        event = await anext(events)
        assert (event.job_id, event.state) == (queued, Q)
        await asyncio.sleep(1)
        await wait_until_async(lambda: target.jobs.get_status(running).state is R)
        for job in (queued, running):
            toy.state(job, "END 5")
            log.write_event(job, 8, 5)
        ends = [await target.wait(job) for job in (queued, running)]
        assert [(s.state, s.exit_code) for s in ends] == [(D, 5), (D, 5)]


async def test_events_before_the_submission_has_returned(make_log: Callable[..., Log]) -> None:
    log = make_log()
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        events = target.events()
        log.write_event("1", 1)
        log.write_event("1", 2)
        while target._watcher.tracker.early_events.find_oldest_timestamp(time.time()) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert await target.submit(shell("true")) == "1"
        assert [(await anext(events)).state for _ in range(2)] == [Q, R]


async def test_the_logs_ids(toy: Toy, make_log: Callable[..., Log]) -> None:
    log = make_log(fields=ID_PATTERN)
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        await wait_until_reliable(target)
        job = await target.submit(shell("true"))
        toy.state(job, "END 4")
        log.write_event(f"{job}.1", 8)
        log.write_event(f"x{job}.0", 8)
        log.write_event(f"{job}.0", 8)
        assert (await target.wait(job)).exit_code == 4


@pytest.mark.parametrize("command", ["/no/generator", "false", "sh -c 'echo nonsense; sleep 0.1'"])
async def test_a_log_that_cannot_be_read(toy: Toy, make_log: Callable[..., Log], command: str) -> None:
    """Then the batch system is asked, as if there were no log."""
    log = make_log(command)
    async with TargetSystem(log.profile, timing=SELDOM) as target:
        job = await target.submit(shell("true"))
        target.events()
        toy.state(job, "END 4")
        assert (await target.wait(job)).exit_code == 4


async def test_what_happened_while_nobody_listened(toy: Toy, make_log: Callable[..., Log]) -> None:
    log = make_log()
    path = toy.path.parent / "jobs.db"
    async with TargetSystem(log.profile, store=Store(str(path)), timing=SELDOM) as target:
        await wait_until_reliable(target)
        job = await target.submit(shell("true"))
        log.write_event(job, 1)
        await wait_until_async(lambda: target.jobs.get_status(job).state is Q)
    assert int((path.parent / "jobs.db.toy.since").read_text()) > time.time() - 60
    toy.state(job, "END 6")
    log.write_event(job, 8)
    async with TargetSystem(log.profile, store=Store(str(path)), timing=SELDOM) as target:
        assert (await target.wait(job)).exit_code == 6


def test_a_command_that_is_none(make_log: Callable[..., Log]) -> None:
    with pytest.raises(InvalidProfileError, match="the text of EVENTS cannot be split into words"):
        TargetSystem(make_log("it's").profile)


def test_the_log_is_that_of_this_host_and_of_the_profile(toy: Toy, make_log: Callable[..., Log]) -> None:
    assert not module.has_event_log(toy.profile, {})
    profile = make_log().profile
    assert module.has_event_log(profile, {})
    assert not module.has_event_log(profile, {"SSH:HOST": "there"})
