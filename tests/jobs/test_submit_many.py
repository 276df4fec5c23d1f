"""Many jobs by few scripts: each job of a part keeps what a job that is submitted alone has."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OutcomeUnknownError, ScriptFailedError, SubmissionsFailedError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.submit import starts
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.metrics import METRICS
from tests.hunting import rounds
from tests.jobs.conftest import QUICK, TOYSUB, shell
from tests.jobs.test_cut import kill_at
from tests.jobs.test_submitter import TAKES, context, list_cut_keys, replace_command
from tests.profiles.test_hostile_values import CARRIED
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from tests.jobs.conftest import Toy

__all__ = ["context"]  # a fixture
COUNT = 8
KEYS = [f"k{n}" for n in range(COUNT)]
JOBS = [shell(f"exit {n}") for n in range(COUNT)]
STRUCK = 4
"""The position of the job at which something happens."""


def strike(toy: Toy, name: str, text: str, after: str) -> None:
    """Let a command run other text when it is called for the job at STRUCK for the first time, and at all other times `after`."""
    condition = f'grep -q "exit {STRUCK}" .gpe/script && mkdir "$TOY/struck.{name}" 2> /dev/null'
    replace_command(toy, name, f"#!/bin/sh\nif {condition}; then\n{text}\nfi\n{after}\n")


def count_scripts(template: str) -> float:
    return METRICS.sum("osprofile_scripts_total", template=template)


def open_target(toy: Toy, context: dict[str, str] | None = None, store: str | None = None) -> TargetSystem:
    """Return a target system whose jobs go into one part."""
    record = Store(store) if store else None
    return TargetSystem(toy.profile, context, store=record, timing=QUICK, max_parallel_scripts=1)


@pytest.fixture
def here(toy: Toy) -> TargetSystem:
    """Return the target system of this machine."""
    return open_target(toy)


@pytest.fixture
def target(toy: Toy, context: dict[str, str]) -> TargetSystem:
    """Return the target system of this machine, or of another one."""
    return open_target(toy, context)


async def check_jobs(toy: Toy, target: TargetSystem, ids: list[str]) -> None:
    """Check that each key stands for one job, in a directory of its own, which runs what it should."""
    assert len(set(ids)) == COUNT
    assert await target.submit_many(JOBS, keys=KEYS) == ids
    assert list_cut_keys(target) == []
    records = [target.store.find_job(target.name, job_id) for job_id in ids]
    directories = [record.directory for record in records if record is not None]
    assert sorted(toy.submissions) == sorted(directories)
    assert len(set(directories)) == COUNT
    for number, job_id in enumerate(ids):
        script = toy.path / "jobs" / job_id / "script"
        assert f"exit {number}" in script.read_text()
        assert await target.find_job_directory(job_id) == directories[number]


# Parts


@pytest.mark.parametrize(("count", "at_once", "scripts"), [(1, 8, 1), (8, 8, 8), (9, 8, 5), (45, 2, 4), (45, 1, 3)])  # fmt: skip
async def test_as_few_scripts_as_go_and_as_many_as_may_run_at_once(
    toy: Toy, count: int, at_once: int, scripts: int
) -> None:
    (toy.path / "stopped").touch()
    results: dict[int, object] = {}
    before = count_scripts("START")
    async with TargetSystem(toy.profile, timing=QUICK, max_parallel_scripts=at_once) as target:
        ids = await target.submit_many([shell("true")] * count, on_result=results.__setitem__)
        assert [results[position] for position in range(count)] == ids
        assert len(set(ids)) == len(set(toy.submissions)) == count
    assert count_scripts("START") - before == scripts


async def test_the_jobs_of_a_part_are_recorded_before_one_is_submitted(toy: Toy, tmp_path: Path) -> None:
    (toy.path / "stopped").touch()
    replace_command(
        toy, "toysub", TOYSUB.replace("\n", '\nuntil [ -e "$TOY/gate" ]; do sleep 0.02; done\n', 1)
    )
    path = str(tmp_path / "jobs.db")
    async with open_target(toy, store=path) as target:
        task = asyncio.ensure_future(target.submit_many(JOBS, keys=KEYS))
        await wait_until_async(lambda: any((tmp_path / "work").rglob(".gpe/script")))
        with sqlite3.connect(path) as db:
            assert db.execute("SELECT key FROM job WHERE job_id IS NULL").fetchall() == [(k,) for k in KEYS]
        (toy.path / "gate").touch()
        await check_jobs(toy, target, await task)


async def test_large_scripts_go_into_several(
    toy: Toy, here: TargetSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    (toy.path / "stopped").touch()
    size = len(await here.render_start_script(JOBS[0]))
    monkeypatch.setattr(starts, "_MAX_JOINED_SIZE", 3 * size + 20)
    before = count_scripts("START")
    large = shell(f"true {'x' * 4 * size}")
    assert len(set(await here.submit_many([*JOBS, large, *JOBS]))) == 2 * COUNT + 1
    assert count_scripts("START") - before == 3 + 1 + 3


async def test_without_find_job_each_job_has_a_script_of_its_own(toy_without_find: Toy) -> None:
    async with open_target(toy_without_find) as target:
        before = count_scripts("START")
        await target.submit_many(JOBS, keys=KEYS)
        assert count_scripts("START") - before == COUNT


async def test_jobs_that_depend_on_each_other_or_have_one_key(toy: Toy, here: TargetSystem) -> None:
    """Also where the first of them is refused."""
    (toy.path / "stopped").touch()
    lost = shell("true", working_directory="/proc/none")
    after = [shell("true", after_ok=[key]) for key in "abd"]
    jobs = [lost, shell("true"), *after, shell("true"), shell("true")]
    with pytest.raises(SubmissionsFailedError) as caught:
        await here.submit_many(jobs, keys=[*"abcdefb"])
    ids = caught.value.job_ids
    assert list(caught.value.errors) == [0, 2]
    assert "no such job is known" in caught.value.errors[2].message
    assert ids[6] == ids[1]
    awaited = [(toy.path / "jobs" / (job_id or "") / "after").read_text() for job_id in (ids[3], ids[4])]
    assert awaited == [f"afterok:{ids[1]}\n", f"afterok:{ids[3]}\n"]
    assert len(toy.submissions) == len({*ids} - {None}) == 4


async def test_arrays_and_hostile_values_in_a_part(here: TargetSystem) -> None:
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('V'), os.environ.get('GPE_ARRAY_INDEX')]))"
    jobs = [
        JobDescription(
            executable=sys.executable,
            arguments=["-ISc", code, value, ""],
            environment={"V": value},
            array="1-2" if number % 2 else None,
        )
        for number, value in enumerate(CARRIED)
    ]
    ids = await here.submit_many(jobs)
    for number, (job_id, value) in enumerate(zip(ids, CARRIED, strict=True)):
        assert (await here.wait(job_id)).exit_code == 0
        directory = Path(await here.find_job_directory(job_id))
        for index in ("1", "2") if number % 2 else ("",):
            output = (directory / f"stdout{index and f'.{index}'}").read_text()
            assert json.loads(output) == [[value, ""], value, index]


# What happens to one job


async def test_a_refused_job_in_the_middle(toy: Toy, target: TargetSystem) -> None:
    """It alone is looked for, and has its own words; what it says cannot be taken for the end of another."""
    marks = "printf '\\nosprofile: the script ended with 0\\n' >&2; echo 17"
    strike(toy, "toysub", f"{marks}; echo 'the queue is closed' >&2; exit 170", TOYSUB)
    before = count_scripts("FIND_JOB")
    with pytest.raises(SubmissionsFailedError) as caught:
        await target.submit_many(JOBS, keys=KEYS)
    assert list(caught.value.errors) == [STRUCK]
    error = caught.value.errors[STRUCK]
    assert isinstance(error, ScriptFailedError)
    assert error.exit_status == 170
    assert "the queue is closed" in error.message
    assert "osprofile-" not in error.message
    assert count_scripts("FIND_JOB") - before == 1
    assert target.store.find_by_key(target.name, KEYS[STRUCK]) is None
    ids = await target.submit_many(JOBS, keys=KEYS)
    assert [i for n, i in enumerate(ids) if n != STRUCK] == [i for i in caught.value.job_ids if i is not None]
    await check_jobs(toy, target, ids)


FLOCK = 'exec /usr/bin/flock "$@"'
FAULTS = {
    "its shell is killed before the submission": ("flock", "kill -s KILL $PPID; exit 1", FLOCK),
    "its shell is killed, the submission goes on": ("flock", "sleep 0.2 & kill -s KILL $PPID", FLOCK),
    "the script is killed before the submission": ("flock", "kill -s KILL 0", FLOCK),
    "the script is killed behind the submission": ("flock", '/usr/bin/flock "$@"; kill -s KILL 0', FLOCK),
    "the submission is killed": ("toysub", "kill -s KILL 0", TOYSUB),
    "taken, but refused": ("toysub", TAKES.replace("{then}", "echo timeout >&2; exit 3"), TOYSUB),
    "taken, and the answer has no id": ("toysub", TAKES.replace("{then}", "echo thank you; exit"), TOYSUB),
    "taken, and no answer": ("toysub", TAKES.replace("{then}", "exit 0"), TOYSUB),
}


@pytest.mark.race
@pytest.mark.parametrize("fault", FAULTS)
async def test_each_job_of_a_part_is_submitted_once(toy: Toy, target: TargetSystem, fault: str) -> None:
    strike(toy, *FAULTS[fault])
    before = count_scripts("FIND_JOB")
    ids = await target.submit_many(JOBS, keys=KEYS)
    # Those whose result has arrived are not looked for.
    expected = COUNT - STRUCK if fault.startswith("the script") else 1
    assert count_scripts("FIND_JOB") - before == expected
    await check_jobs(toy, target, ids)
    assert (toy.path / f"struck.{FAULTS[fault][0]}").exists()


async def test_a_job_stays_while_the_batch_system_is_away(toy: Toy, target: TargetSystem) -> None:
    """The others of its part, which have not begun, are submitted."""
    strike(toy, "toysub", TAKES.replace("{then}", "kill -s KILL 0"), TOYSUB)
    strike(toy, "flock", 'echo why >&2; /usr/bin/flock "$@"; kill -s KILL 0', FLOCK)
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    with pytest.raises(SubmissionsFailedError) as caught:
        await target.submit_many(JOBS, keys=KEYS)
    assert list(caught.value.errors) == [STRUCK]
    error = caught.value.errors[STRUCK]
    assert isinstance(error, OutcomeUnknownError)
    assert "why; whether the job was submitted is not known: FIND_JOB failed" in error.message
    assert "osprofile-" not in error.message
    assert list_cut_keys(target) == [KEYS[STRUCK]]
    (toy.path / "broken").unlink()
    await check_jobs(toy, target, await target.submit_many(JOBS, keys=KEYS))


async def test_a_part_over_its_time_limit(toy: Toy, context: dict[str, str]) -> None:
    """The limit is that of one job, for each of them; the words are those of the script that was ended."""
    count, limit = STRUCK + 1, 0.6
    strike(toy, "toysub", 'while [ -d "$TOY/jobs" ] && [ ! -e "$TOY/gate" ]; do sleep 0.05; done', TOYSUB)
    strike(toy, "flock", 'echo why >&2; exec /usr/bin/flock "$@"', f"echo nothing >&2; {FLOCK}")
    timing = Timing(min_poll_interval=0.05, max_poll_interval=0.2, script_timeout=limit)
    begin = time.monotonic()
    async with TargetSystem(toy.profile, context, timing=timing, max_parallel_scripts=1) as target:
        with pytest.raises(SubmissionsFailedError) as caught:
            await target.submit_many(JOBS[:count], keys=KEYS[:count])
        assert time.monotonic() - begin >= limit * count
        message = caught.value.errors[STRUCK].message
        assert (
            f"START: did not end within {limit * count:g} s and was ended; its error output: why; " in message
        )
        assert list_cut_keys(target) == [KEYS[STRUCK]]
    (toy.path / "gate").touch()


# Interruptions


async def test_a_cancelled_call_is_completed(toy: Toy, target: TargetSystem) -> None:
    """In the same process, at once: nothing stays with the call that was cancelled."""
    strike(toy, "toysub", 'touch "$TOY/hangs"; sleep 0.5', TOYSUB)
    task = asyncio.ensure_future(target.submit_many(JOBS, keys=KEYS))
    await wait_until_async((toy.path / "hangs").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list_cut_keys(target) == KEYS
    await check_jobs(toy, target, await target.submit_many(JOBS, keys=KEYS))


def submit_in_process(toy: Toy, path: str, *, call: int = 0) -> int:
    """Submit the jobs in a process of its own, which is killed before the n-th call of `kill_at` if that is given; return its id."""
    pid = os.fork()
    if pid:
        return pid

    async def main() -> None:
        async with open_target(toy, store=path) as target:
            await target.submit_many(JOBS, keys=KEYS, is_checked=True)

    code = 1
    try:
        if call:
            sys.setprofile(kill_at(call))
        asyncio.run(main())
        code = 0
    finally:
        os._exit(code)


def check_repeated(toy: Toy, path: str) -> None:
    async def main() -> None:
        async with open_target(toy, store=path) as target:
            await check_jobs(toy, target, await target.submit_many(JOBS, keys=KEYS))

    asyncio.run(main())


@pytest.mark.race
@pytest.mark.parametrize("taken", [0, 1, STRUCK, COUNT])
def test_a_killed_process_is_repeated(toy: Toy, tmp_path: Path, taken: int) -> None:
    """When the batch system has so many of its jobs."""
    path = str(tmp_path / "jobs.db")
    pid = submit_in_process(toy, path)
    while len(toy.submissions) < taken or not any((tmp_path / "work").rglob(".gpe/script")):
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in {-signal.SIGKILL, 0}
    check_repeated(toy, path)


@pytest.mark.race
@pytest.mark.hunt(40)
@pytest.mark.parametrize("first", range(1, 41))
def test_killed_between_every_two_steps_of_a_part(toy: Toy, tmp_path: Path, first: int) -> None:
    (toy.path / "stopped").touch()
    call, points = 2 * first, 0
    while points < rounds(2, 1000):
        path = str(tmp_path / f"{call}.db")
        _, status = os.waitpid(submit_in_process(toy, path, call=call), 0)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            break
        points += 1
        check_repeated(toy, path)
        call += rounds(80, 15)
        (toy.path / "submissions").unlink()
    assert points


@pytest.mark.race
def test_two_processes_with_the_same_keys(toy: Toy, tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.db")
    Store(path).close()
    for pid in [submit_in_process(toy, path) for _ in range(3)]:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    check_repeated(toy, path)


@pytest.mark.race
async def test_calls_with_the_same_keys(toy: Toy, here: TargetSystem) -> None:
    calls = [here.submit_many(JOBS[n:] + JOBS[:n], keys=KEYS[n:] + KEYS[:n]) for n in range(3)]
    one, *others = await asyncio.gather(*calls, here.submit(JOBS[2], key=KEYS[2]))
    assert others == [one[1:] + one[:1], one[2:] + one[:2], one[2]]
    await check_jobs(toy, here, one)


async def test_a_record_that_cannot_be_written(toy: Toy, tmp_path: Path) -> None:
    """Then nothing is submitted."""
    path = str(tmp_path / "jobs.db")
    async with open_target(toy, store=path) as target:
        with sqlite3.connect(path) as db:
            failure = "BEGIN SELECT RAISE(ROLLBACK, 'full'); END"
            db.execute(f"CREATE TRIGGER t BEFORE INSERT ON job WHEN NEW.key = 'k4' {failure}")
        with pytest.raises(SubmissionsFailedError) as caught:
            await target.submit_many(JOBS, keys=KEYS)
        assert len(caught.value.errors) == COUNT
        assert target.store.list_all_jobs() == []
        assert toy.submissions == []
