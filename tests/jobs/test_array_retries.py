"""Arrays whose tasks are submitted again by a rule: only these, with what they need, none lost or doubled."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ValueRefusedError
from osprofile.jobs.arrays import parse_array
from osprofile.jobs.record.store import Store
from osprofile.jobs.session import JobSession
from osprofile.jobs.state import EndCause, JobState
from osprofile.jobs.submit.attempts import find_due_retries, list_runs
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.jobs.conftest import QUICK, shell
from tests.jobs.test_cut import is_outside
from tests.jobs.test_retries import END
from tests.waiting import wait_until, wait_until_async

if TYPE_CHECKING:
    from types import FrameType

    from osprofile.jobs.record.store import JobRecord
    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy

OOM, LATE, DEAD = (END.format(word) for word in ("OOM", "LATE", "DEAD"))
PATTERNS = {
    "lists": "[0-9,:-]*(?:%[0-9]+)?",
    "ranges": "[0-9]+-[0-9]+(?::[0-9]+)?(?:%[0-9]+)?",
    "whole": "1-(?:[2-9]|[1-9][0-9]+)",
}
"""What batch systems take as the indices of an array: Slurm, PBS, OAR."""
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    xmlns:ext="urn:osprofile:extension" name="{name}" extends="toy">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="">
    <idb:Field name="ARRAY" ext:pattern="{pattern}"><idb:Description>The tasks.</idb:Description><idb:Default/></idb:Field>
  </idb:Template>
</osp:Profile>"""


def load(toy: Toy, kind: str) -> Profile:
    """Return the profile of a batch system whose arrays have the indices of this kind."""
    profiles = toy.path.parent / "profiles"
    (profiles / kind).mkdir()
    text = SITE.format(name=kind, root=toy.path.parent / "work", pattern=PATTERNS[kind])
    (profiles / kind / "profile.xml").write_text(text)
    return Repository([str(profiles)]).load(kind)


def tasks(**texts: str) -> str:
    """Return a program that does for each index, as `t3`, what its text says; nothing for any other."""
    cases = "".join(f"{name.removeprefix('t')}) {text} ;;\n" for name, text in texts.items())
    return f'echo "$GPE_MEMORY $GPE_CPUS"\ncase $GPE_ARRAY_INDEX in\n{cases}esac'


def needs(memory: int) -> str:
    return f'[ "$GPE_MEMORY" -ge {memory} ] || {{ {OOM}; }}'


def list_arrays(target: TargetSystem, key: str) -> list[JobRecord]:
    return list_runs(target.store, target.name, key)


async def test_the_tasks_that_failed_get_more(target: TargetSystem, caplog: pytest.LogCaptureFixture) -> None:
    async with target:
        text = tasks(t2=needs(800), t3=needs(400), t4="exit 3")
        job = shell(text, array="1-4%2", memory=200, cpus=1, retry="MEMORY: memory*2, cpus*1.5, at most 3")
        first = await target.submit(job, key="k")
        end = await target.wait(first)
        runs = list_arrays(target, "k")
        assert [(run.key, run.array) for run in runs] == [("k", "1-4%2"), ("k~2", "2-3%2"), ("k~3", "2%2")]
        assert (end.job_id, end.state, end.exit_code, end.cause) == ("3", JobState.FAILED, None, None)
        assert end.reason == "3 of 4 tasks ended with 0; exit 3: 1"
        outputs = [await target.read_stdout(task) for task in ("1_1", "2_2", "2_3", "3_2")]
        assert outputs == [b"200 1\n", b"400 2\n", b"400 2\n", b"800 3\n"]
        left = [target.store.read_details(run.number).retry for run in runs[1:]]
        assert left == [(f"MEMORY: memory*2, cpus*1.5, at most {n}",) for n in (2, 1)]
        # who waits once more follows the same attempts, and who waits for a task those of this task
        assert await target.wait(first) == end
        ends = [await target.wait(task) for task in ("1_1", "1_2", "1_3", "1_4")]
        assert [(e.job_id, e.exit_code) for e in ends] == [("1_1", 0), ("3_2", 0), ("2_3", 0), ("1_4", 3)]
        assert len(runs) == len(target.store.list_all_jobs()) == 3
    assert (
        "job 1: 1 of 4 tasks ended with 0; memory limit: 2; exit 3: 1; "
        "tasks 2-3 submitted again as job 2: memory 400M, cpus 2" in caplog.text
    )
    assert "task 2 submitted again as job 3: memory 800M, cpus 3" in caplog.text


async def test_an_array_of_tasks_that_all_succeed_in_the_end_has_succeeded(target: TargetSystem) -> None:
    async with target:
        job = shell(tasks(t1=needs(200)), array="0-2", memory=100, retry="MEMORY: memory*2")
        end = await target.wait(await target.submit(job))
        assert (end.job_id, end.state, end.exit_code) == ("2", JobState.DONE, 0)


async def test_several_rules_give_the_most_that_one_asks_for(target: TargetSystem) -> None:
    """A rule that has been used for one task is used up for all that run with it."""
    async with target:
        again = f'[ "$GPE_CPUS" -gt 1 ] && {{ {DEAD}; }}'
        job = shell(
            tasks(t1=f"{again} || {{ {OOM}; }}", t2=f"{again} || {{ {LATE}; }}", t3=DEAD),
            array="1-4",
            memory=100,
            cpus=1,
            retry="MEMORY: memory*2, cpus*2, at most 2; TIME: memory*1.5, cpus*3; NODE",
        )
        end = await target.wait(await target.submit(job, key="k"))
        runs = list_arrays(target, "k")
        assert [run.array for run in runs] == ["1-4", "1-3"]
        assert target.store.read_details(runs[1].number).retry == ("MEMORY: memory*2, cpus*2, at most 1",)
        assert await target.read_stdout("2_1") == b"200 3\n"
        assert end.reason == "1 of 4 tasks ended with 0; node failure: 3"


async def test_whoever_cancels_an_array_wants_no_other(toy: Toy) -> None:
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        job = shell(tasks(t1=OOM, t2="sleep 1000"), array="1-2", memory=1, retry="MEMORY: memory*2")
        array = await target.submit(job, key="k")
        await wait_until_async(lambda: (toy.path / "jobs/1_1/state").read_text() == "OOM\n")
        await target.abort(array)
        end = await target.wait(array)
        assert (end.job_id, end.reason) == ("1", "0 of 2 tasks ended with 0; memory limit: 1; removed: 1")
        # of a task alone, only this one
        array = await target.submit(job, key="l")
        await wait_until_async(lambda: (toy.path / "jobs/2_1/state").read_text() == "OOM\n")
        await target.abort("2_2")
        assert (await target.wait(array)).job_id == "3"
        assert [run.array for run in list_arrays(target, "l")] == ["1-2", "1"]


async def test_ranges_where_the_batch_system_takes_no_list(toy: Toy) -> None:
    profile, store = load(toy, "ranges"), Store()
    async with TargetSystem(profile, store=store, timing=QUICK) as target:
        text = tasks(t2=needs(400), t3=needs(200), t5=needs(400), t6="exit 3", t8=needs(200))
        job = shell(text, array="1-8", memory=100, retry="MEMORY: memory*2, at most 2")
        end = await target.wait(await target.submit(job, key="k"))
        arrays = [run.array for run in list_arrays(target, "k")]
        assert arrays == ["1-8", "2-3", "5-6:2", "8-9:2", "2-3:2", "5-6:2"]
        assert end.reason == "7 of 8 tasks ended with 0; exit 3: 1"
    # what a killed process has left out is found by whoever comes next
    for key in ("k~5", "k~6"):
        run = store.find_by_key("ranges", key)
        assert run is not None
        store.delete_record(run.number)
    last = store.find_by_key("ranges", "k~4")
    assert last is not None
    due = find_due_retries(store, last)
    assert [[*each.rules] for each in due] == [[2], [5]]
    async with TargetSystem(profile, store=store, timing=QUICK) as target:
        assert (await target.wait("1")).reason == end.reason
        assert [run.array for run in list_arrays(target, "k")] == arrays


async def test_rules_of_which_no_task_can_profit_are_refused(toy: Toy) -> None:
    async with TargetSystem(load(toy, "whole"), timing=QUICK) as target:
        with pytest.raises(ValueRefusedError, match="tasks of an array cannot be submitted again alone"):
            await target.submit(shell("exit 0", array="1-3", retry="NODE"))
        assert target.store.list_all_jobs() == []


@pytest.mark.parametrize("kind", ["lists", "ranges"])
def test_a_session_in_which_nobody_waits_follows(toy: Toy, kind: str) -> None:
    with JobSession(load(toy, kind), store=":memory:", timing=QUICK) as session:
        ended: list[str] = []
        session.add_listener(lambda event: ended.append(event.job_id) if event.state.is_terminal else None)
        text = tasks(t1=DEAD, t3=f"sleep 0.3; {DEAD}")
        session.submit(shell(text, array="1-4", retry="NODE, at most 2"), key="k")
        # of ranges, the last runs of tasks 1 and 3 are the last two arrays
        wait_until(lambda: count_runs(toy) == {1: 3, 3: 3} and len(ended) == len({*ended}) >= 4 + 4 + 3)
        end = session.get_job(key="k").wait()
        assert end.reason == "2 of 4 tasks ended with 0; node failure: 2"
        assert count_runs(toy) == {1: 3, 3: 3}


def count_runs(toy: Toy) -> Counter[int]:
    """Return how often each task was submitted that died."""
    died = [d for d in (toy.path / "jobs").iterdir() if (d / "killed").exists()]
    return Counter(int(d.name.partition("_")[2]) for d in died)


# Killed at any point


async def wait(path: str, profile: Profile) -> str:
    async with TargetSystem(profile, store=Store(path), timing=QUICK) as target:
        record = target.store.find_by_key(target.name, "k")
        assert record is not None
        return (await target.wait(record.status.job_id)).reason


def wait_killed(path: str, profile: Profile, call: int) -> bool:
    """Wait for the job k in a process that is killed before the n-th call of a retry that reaches outside; False if it ended."""
    pid = os.fork()
    if pid == 0:
        remaining, has_begun = call, False

        def count(frame: FrameType, event: str, function: object) -> None:
            nonlocal remaining, has_begun
            has_begun = has_begun or frame.f_code.co_name == "_submit_next_attempt"
            if has_begun and event == "c_call" and is_outside(function):
                remaining -= 1
                if remaining <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(count)
            asyncio.run(wait(path, profile))
            sys.setprofile(None)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


async def submit(path: str, profile: Profile) -> None:
    async with TargetSystem(profile, store=Store(path), timing=QUICK) as target:
        job = shell(tasks(t1=DEAD, t3=DEAD), array="1-3", retry="NODE, at most 2")
        await target.submit(job, key="k")


EACH = 4


@pytest.mark.race
@pytest.mark.hunt(EACH)
@pytest.mark.parametrize("first", range(1, EACH + 1))
@pytest.mark.parametrize("kind", ["lists", "ranges"])
def test_killed_between_every_two_steps(toy: Toy, kind: str, first: int) -> None:
    """Whoever waits next goes on where the killed process was: each task runs again twice, as often as its rule allows."""
    profile, call, points = load(toy, kind), first, 0
    path = str(toy.path.parent / "warm.db")
    asyncio.run(submit(path, profile))
    asyncio.run(wait(path, profile))  # imports count no calls
    while True:
        path, before = str(toy.path.parent / f"{call}.db"), len(toy.submissions)
        asyncio.run(submit(path, profile))
        was_killed = wait_killed(path, profile, call)
        assert asyncio.run(wait(path, profile)) == "1 of 3 tasks ended with 0; node failure: 2"
        runs = list_runs(Store(path), kind, "k")
        assert [run.status.cause for run in runs] == [EndCause.NODE] * len(runs)
        assert Counter(i for run in runs for i in parse_array(run.array).indices) == {1: 3, 2: 1, 3: 3}
        assert sorted(toy.submissions[before:]) == sorted(run.directory for run in runs)
        assert len(Store(path).list_all_jobs()) == len(runs)
        if not was_killed:
            break
        points += 1
        call += rounds(EACH, 12 * EACH)
    assert points > rounds(20, 2)
