"""Clocks that are set while jobs are watched, and processes that take turns: no job is LOST by that.

The time is simulated: what the wall's clock says and what has passed are two things. The batch
system, its scripts and the record's file are real.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ScriptFailedError
from osprofile.jobs.record import file as record_file
from osprofile.jobs.record import names
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Clock, Timing
from osprofile.jobs.watch.live_job import UNKNOWN_JOB_REASON
from osprofile.profile.repository import Repository
from tests.jobs.conftest import Toy, get_record, shell
from tests.records import execute_sql
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from pathlib import Path

TIMING = Timing(grace_period=60)
HOUR = 3600.0


@dataclass
class Time:
    """A machine's two clocks."""

    wall: float = 4.0e9  # later than now: no job ended so long ago that it is deleted
    monotonic: float = 5000.0

    def advance(self, seconds: float) -> None:
        """Let both clocks go on."""
        self.wall += seconds
        self.monotonic += seconds

    @property
    def clock(self) -> Clock:
        """What a process has of them."""
        return Clock(wall_clock=lambda: self.wall, monotonic=self._read)

    def _read(self) -> float:
        self.monotonic += 1e-6  # no two moments are the same
        return self.monotonic


@dataclass
class Machine:
    """The toy's jobs, and processes one after the other that look at them."""

    toy: Toy
    path: str
    time: Time

    def target(self) -> TargetSystem:
        return TargetSystem(self.toy.profile, store=Store(self.path), timing=TIMING, clock=self.time.clock)

    async def submit(self) -> str:
        """Submit a job that stays queued."""
        (self.toy.path / "stopped").touch()
        async with self.target() as target:
            return await target.submit(shell("true"))


@pytest.fixture
def machine(toy: Toy, tmp_path: Path) -> Machine:
    return Machine(toy, str(tmp_path / "jobs.db"), Time())


async def query_state(target: TargetSystem, job: str, how: str) -> JobState:
    """Query a job by `status` or by `statuses`, and return its state."""
    if how == "status":
        return (await target.status(job)).state
    return (await target.statuses([job]))[job].state


HOW = pytest.mark.parametrize("how", ["status", "statuses"])
QUEUED, LOST = JobState.QUEUED, JobState.LOST
# For each query: what the wall's clock is set by, the seconds before the query, what the batch system
# says of the job from then on (None: nothing), and the answer.
LOOKS: dict[str, list[tuple[float, float, str | None, JobState]]] = {
    "known, gone, known in the same state, and gone again 62 s after the first time": [
        *[(0, 5, "WAIT", QUEUED), (0, 5, None, QUEUED), (0, 5, "WAIT", QUEUED), (0, 62, None, QUEUED)],
        *[(0, 5, None, QUEUED), (0, 30, None, QUEUED), (0, 30, None, LOST)],
    ],
    # Nobody has looked in between: the job may have been known nearly all of the time.
    "two looks are no grace period": [
        *[(0, 0, "WAIT", QUEUED), (0, 61, None, QUEUED), (0, 61, None, QUEUED), (0, 61, None, LOST)],
    ],
    "two looks with an hour between them": [
        *[(0, 0, "WAIT", QUEUED), (0, HOUR, None, QUEUED), (0, HOUR, None, QUEUED), (0, HOUR, None, LOST)],
    ],
    "a clock that is set forward": [
        *[(0, 0, "WAIT", QUEUED), (0, 0, None, QUEUED)],
        *[(HOUR, 17, None, QUEUED), (0, 26, None, QUEUED), (0, 17, None, LOST)],
    ],
    "a clock that is set back": [
        *[(0, 0, "WAIT", QUEUED), (0, 0, None, QUEUED)],
        *[(-HOUR, 17, None, QUEUED), (0, 26, None, QUEUED), (0, 17, None, LOST)],
    ],
}


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize(("how", "processes"), [("status", "one process"), ("statuses", "a process each")])
async def test_when_a_job_is_lost(machine: Machine, how: str, processes: str, name: str) -> None:
    """The grace period is as long as ever, whichever clock the wall has."""
    job = await machine.submit()
    target = machine.target()
    for step, seconds, word, state in LOOKS[name]:
        machine.time.wall += step
        machine.time.advance(seconds)
        machine.toy.state(job, word) if word else forget_job(machine.toy, job)
        if processes != "one process":
            await target.close()
            target = machine.target()
        assert await query_state(target, job, how) is state
    await target.close()


def forget_job(toy: Toy, job: str) -> None:
    if (toy.path / "jobs" / job / "state").exists():
        toy.state(job, None)


async def test_the_grace_period_is_not_over_while_nobody_answers(machine: Machine) -> None:
    """Unknown as the batch system goes down, an hour of failed queries, unknown at first again."""
    job = await machine.submit()
    async with machine.target() as target:
        await target.statuses([job])
        forget_job(machine.toy, job)
        machine.time.advance(5)
        assert (await target.statuses([job]))[job].state is JobState.QUEUED
        (machine.toy.path / "broken").touch()
        for _ in range(6):
            machine.time.advance(600)
            with pytest.raises(ScriptFailedError):
                await target.poll()
        (machine.toy.path / "broken").unlink()
        machine.time.advance(5)
        assert (await target.statuses([job]))[job].state is JobState.QUEUED
        for state in (JobState.QUEUED, JobState.LOST):
            machine.time.advance(30)
            assert (await target.statuses([job]))[job].state is state


@HOW
async def test_a_reboot_begins_the_grace_period_anew(
    machine: Machine, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was noted before cannot be measured any more: the wall's clock may have been wrong."""
    job = await machine.submit()
    forget_job(machine.toy, job)
    async with machine.target() as target:
        assert await query_state(target, job, how) is JobState.QUEUED
    monkeypatch.setattr(names, "get_host_and_boot", lambda: "host another-boot")
    machine.time.wall += HOUR
    machine.time.monotonic = 12.0
    for seconds, state in ((1, QUEUED), (30, QUEUED), (29, QUEUED), (1, LOST)):
        machine.time.advance(seconds)
        async with machine.target() as target:
            assert await query_state(target, job, how) is state


async def test_states_are_told_though_the_clock_was_set_back(machine: Machine) -> None:
    job = await machine.submit()
    async with machine.target() as target:
        await target.statuses([job])
        machine.time.wall -= HOUR
        for word, state in (
            ("KEPT", JobState.HELD),
            ("WAIT", JobState.QUEUED),
            ("KEPT", JobState.HELD),
            ("GO", JobState.RUNNING),
        ):
            machine.time.advance(5)
            machine.toy.state(job, word)
            assert await query_state(target, job, "statuses") is state


async def test_a_reason_is_told_only_as_long_as_a_job_is_missing(machine: Machine) -> None:
    job = await machine.submit()
    forget_job(machine.toy, job)
    async with machine.target() as target:
        assert (await target.status(job)).reason == UNKNOWN_JOB_REASON
        machine.toy.state(job, "WAIT")
        assert (await target.status(job)).reason == ""
        assert get_record(target.store, "toy", job).missing is None


def get_recorded_state(target: TargetSystem, job: str) -> JobState:
    """Return the state of a job by the record."""
    return get_record(target.store, "toy", job).status.state


async def test_an_end_that_another_process_has_recorded_stands(machine: Machine) -> None:
    """One process sees the end, then the batch system forgets the job: the other tells that end."""
    job = await machine.submit()
    async with machine.target() as first:
        await first.statuses([job])
        machine.toy.state(job, "END 3")
        async with machine.target() as second:
            assert (await second.status(job)).exit_code == 3
        forget_job(machine.toy, job)
        for seconds in (5, 30, 30, 30):
            machine.time.advance(seconds)
            await first.poll()
        told = await first.wait(job)
        assert (told.state, told.exit_code) == (JobState.DONE, 3)


@pytest.mark.parametrize("end", [None, "END 137"])
async def test_a_removal_by_another_process_counts(machine: Machine, end: str | None) -> None:
    job = await machine.submit()
    async with machine.target() as first, machine.target() as second:
        await first.statuses([job])
        await second.abort(job)
        machine.toy.state(job, end)
        for seconds in (5, 30, 30, 30):
            machine.time.advance(seconds)
            await first.poll()
        assert (await first.statuses([job]))[job].state is JobState.REMOVED
        await asyncio.sleep(0)  # it is written down
        assert get_recorded_state(second, job) is JobState.REMOVED


@pytest.mark.parametrize(
    ("how", "code", "state", "end"),
    [
        ("status", 0, JobState.REMOVED, "END 137"),
        ("status", 5, JobState.FAILED, None),
        ("statuses", 5, JobState.FAILED, "END 137"),
        ("statuses", 0, JobState.REMOVED, None),
    ],
)
async def test_an_end_waits_for_an_abort_that_another_process_runs(
    machine: Machine, how: str, end: str | None, code: int, state: JobState
) -> None:
    """The batch system has ended the job; whether as a removal, the end of ABORT tells."""
    job = await machine.submit()
    machine.toy.state(job, "GO")
    path = machine.toy.path
    wait = ': > "$TOY/did"; until [ -e "$TOY/go" ] || [ ! -d "$TOY" ]; do sleep 0.02; done'
    (path / "bin/toyctl").write_text(f"#!/bin/sh\n{wait}\nexit {code}\n")
    async with machine.target() as first, machine.target() as second:
        assert await query_state(first, job, how) is JobState.RUNNING
        abort = asyncio.ensure_future(second.abort(job))
        await wait_until_async((path / "did").exists)
        machine.toy.state(job, end)
        for _ in range(5):
            machine.time.advance(20)
            assert await query_state(first, job, how) is JobState.RUNNING
        (path / "go").touch()
        with pytest.raises(ScriptFailedError) if code else contextlib.nullcontext():
            await abort
        machine.time.advance(20)
        expected = JobState.LOST if code and end is None else state
        assert await query_state(first, job, how) is expected
        await asyncio.sleep(0)
        assert await query_state(second, job, how) is expected
        await asyncio.sleep(0)
        assert get_recorded_state(second, job) is expected


async def test_an_end_is_told_though_the_record_cannot_be_read(machine: Machine) -> None:
    job = await machine.submit()
    async with machine.target() as target:
        await target.statuses([job])
        machine.toy.state(job, "END 3")
        execute_sql(target.store, "ALTER TABLE job RENAME TO away")
        await target.poll()
        told = target.get_cached_status(job)
        assert told is not None
        assert told.exit_code == 3
        execute_sql(target.store, "ALTER TABLE away RENAME TO job")


async def test_waiting_for_a_job_whose_end_another_process_has_recorded(machine: Machine) -> None:
    job = await machine.submit()
    async with machine.target() as first:
        await first.status(job)  # it is known here, and not polled for
        machine.toy.state(job, "END 3")
        async with machine.target() as second:
            assert (await second.status(job)).exit_code == 3
        assert (await first.statuses([job]))[job].exit_code == 3
        assert (await first.wait(job)).exit_code == 3


async def test_a_state_that_comes_back_between_two_polls(machine: Machine) -> None:
    """The second poll's line is the first one's, but one job was asked for in between."""
    job = await machine.submit()
    async with machine.target() as target:
        assert await query_state(target, job, "statuses") is JobState.QUEUED
        machine.time.advance(5)
        machine.toy.state(job, "KEPT")
        assert await query_state(target, job, "status") is JobState.HELD
        machine.time.advance(5)
        machine.toy.state(job, "WAIT")
        # The first poll's answer is older than what was told since.
        assert (await target.statuses([job], max_age=30))[job].state is JobState.HELD
        assert await query_state(target, job, "statuses") is JobState.QUEUED
        await asyncio.sleep(0)
        assert get_recorded_state(target, job) is JobState.QUEUED


@pytest.mark.parametrize("max_age", [0, 30])
async def test_an_answer_from_before_an_id_came_round_again(machine: Machine, max_age: float) -> None:
    """A poll is under way, or over for 5 s, while a job gets the id of one that has ended."""
    job = await machine.submit()
    async with machine.target() as target:
        machine.toy.state(job, "END 3")
        assert (await target.status(job)).exit_code == 3
        await target.submit(shell("true"))  # there is somebody to ask for
        slow = 'while [ -e "$TOY/slow" ]; do : > "$TOY/answered"; sleep 0.05; done\nexit 0'
        toystat = machine.toy.path / "bin/toystat"
        toystat.write_text(toystat.read_text().replace("exit 0", slow))
        (machine.toy.path / "slow").touch()
        poll = asyncio.ensure_future(target.poll())
        await wait_until_async((machine.toy.path / "answered").exists)
        if max_age:
            (machine.toy.path / "slow").unlink()
            await poll
            machine.time.advance(5)
        shutil.rmtree(machine.toy.path / "jobs" / job)
        assert await target.submit(shell("true")) == job
        (machine.toy.path / "slow").unlink(missing_ok=True)
        await poll
        told = await target.statuses([job], max_age=max_age)
        assert not told[job].state.is_terminal
        machine.time.advance(5)
        assert await query_state(target, job, "statuses") is JobState.QUEUED
        machine.toy.state(job, "END 4")
        machine.time.advance(5)
        assert (await target.statuses([job]))[job].exit_code == 4


async def end_unrecorded(machine: Machine, target: TargetSystem, job: str) -> None:
    """Let a job end, which the target system sees while another process locks the record."""
    machine.toy.state(job, "END 3")
    with contextlib.closing(sqlite3.connect(machine.path)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert (await target.statuses([job]))[job].exit_code == 3
        await asyncio.sleep(0)
        db.execute("ROLLBACK")


@pytest.mark.parametrize("again", ["the next poll", "the next state", "the end of the process"])
async def test_an_end_that_could_not_be_recorded_is_recorded_later(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    monkeypatch.setattr(record_file, "LOCK_TIMEOUT", 0.1)
    job, other = await machine.submit(), await machine.submit()
    async with machine.target() as target, machine.target() as reader:
        await target.statuses([job, other])
        await end_unrecorded(machine, target, job)
        assert get_recorded_state(reader, job) is JobState.QUEUED
        if again == "the next state":
            machine.toy.state(other, "GO")
        if again == "the end of the process":
            await target.close()
        else:
            await target.poll()
            await asyncio.sleep(0)
        assert get_recorded_state(reader, job) is JobState.DONE


async def test_an_end_that_could_not_be_recorded_is_not_the_end_of_the_next_job_of_that_id(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "LOCK_TIMEOUT", 0.1)
    job = await machine.submit()
    async with machine.target() as target:
        await target.statuses([job])
        await end_unrecorded(machine, target, job)
        shutil.rmtree(machine.toy.path / "jobs" / job)
        assert await target.submit(shell("true")) == job
        await target.poll()
        await asyncio.sleep(0)
        assert get_recorded_state(target, job) is JobState.QUEUED


async def test_a_job_that_is_submitted_again_by_its_key_is_watched(machine: Machine) -> None:
    (machine.toy.path / "stopped").touch()
    async with machine.target() as target:
        job = await target.submit(shell("true"), key="k")
    async with machine.target() as target:
        assert await target.submit(shell("true"), key="k") == job
        machine.toy.state(job, "END 3")
        await target.poll()
        told = target.get_cached_status(job)
        assert told is not None
        assert told.exit_code == 3


@pytest.mark.parametrize("processes", ["one process", "a process each"])
async def test_a_key_is_no_other_job_when_its_id_comes_round_again(machine: Machine, processes: str) -> None:
    """The batch system counts anew: the key gives the first job back, which has ended."""
    (machine.toy.path / "stopped").touch()
    target = machine.target()
    job = await target.submit(shell("true"), key="k")
    machine.toy.state(job, "END 3")
    await target.poll()
    shutil.rmtree(machine.toy.path / "jobs" / job)
    assert await target.submit(shell("true"), key="l") == job
    if processes != "one process":
        await target.close()
        target = machine.target()
    older = await target.submit(shell("true"), key="k")
    assert older != job
    assert len(machine.toy.submissions) == 2
    assert (await target.status(older)).exit_code == 3
    assert (await target.statuses([older]))[older].exit_code == 3
    assert (await target.wait(older)).exit_code == 3
    assert await target.submit(shell("true"), key="l") == job
    assert await query_state(target, job, "status") is JobState.QUEUED
    await target.close()


LONGER = {
    'toystat | grep "^job $id$tasks is "': 'toystat | sed -n "s/^job ${id%.srv} is/job ${id%.srv}.srv is/p" | grep .',
    "grep '^job ' || :": "sed -n 's/^job \\([0-9]*\\) is/job \\1.srv is/p'",
    'ext:pattern="[0-9]+(?:_[0-9]+)?"': 'ext:pattern="[0-9.srv]+"',
    "(?&lt;id>[0-9]+(?:_[0-9]+)?) is": "(?&lt;id>[0-9.srv]+) is",
}
"""What a profile says of a batch system that answers with a longer id than START printed."""


async def test_an_id_that_the_record_knows_is_no_alias(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "profiles/toy/profile.xml"
    text = file.read_text()
    for short, long in LONGER.items():
        assert short in text
        text = text.replace(short, long)
    file.write_text(text)
    machine.toy = Toy(machine.toy.path, Repository([str(tmp_path / "profiles")]).load("toy"))
    job = await machine.submit()
    async with machine.target() as target:
        assert await query_state(target, job, "status") is JobState.QUEUED
        waiting = asyncio.ensure_future(target.wait(job))
        machine.toy.state(job, "END 3")
        for _ in range(2):
            machine.time.advance(30)
            await target.poll()
        told = await waiting
        assert (told.job_id, told.exit_code) == (job, 3)
        await asyncio.sleep(0)
        assert [record.status.job_id for record in target.store.list_all_jobs()] == [job]
        assert get_recorded_state(target, job) is JobState.DONE
