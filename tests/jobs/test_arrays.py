"""Arrays on a batch system of scripts: tasks are jobs, and the whole is told by all of them."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import JobNotFoundError, TemplateNotFoundError, ValueRefusedError
from osprofile.jobs.arrays import (
    MAX_TASKS,
    count_tasks,
    format_counts,
    get_outcome,
    parse_array,
    summarize_tasks,
)
from osprofile.jobs.record.store import Store
from osprofile.jobs.shell.target import TargetShell
from osprofile.jobs.state import TERMINAL_STATES, EndCause, JobEvent, JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.watch.live_job import LiveArray, LiveJob
from osprofile.metrics import METRICS
from tests.jobs.conftest import QUICK, get_record, shell
from tests.records import begin_submission, execute_sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy

# Values of ARRAY


@pytest.mark.parametrize(
    ("value", "indices", "limit"),
    [
        ("7", [7], None),
        ("0-3", [0, 1, 2, 3], None),
        ("1-10:3,20", [1, 4, 7, 10, 20], None),
        ("3,1,2-3%8", [1, 2, 3], 8),
    ],
)
def test_what_a_value_means(value: str, indices: list[int], limit: int | None) -> None:
    assert parse_array(value) == (tuple(indices), limit)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "'' is not a range of indices"),
        ("1,,2", "'' is not a range"),
        ("1-", "'1-' is not a range"),
        ("-1", "'-1' is not a range"),
        ("1-9:0", "'1-9:0' is not a range"),
        ("5-1", "'5-1' has no index"),
        ("1%", "'' is not a number of tasks"),
        ("1%0", "'0' is not a number of tasks"),
        ("1-2%3%4", "'3%4' is not a number of tasks"),
        ("٣", "is not a range"),
        ("08", "'08' is not a range"),
        ("1-010", "'1-010' is not a range"),
        (f"1-{MAX_TASKS + 1}", "has too many tasks"),
        ("1-999999999,1-999999999", "has too many tasks"),
    ],
)
def test_what_is_no_value(value: str, words: str) -> None:
    with pytest.raises(ValueRefusedError, match=re.escape(words)) as caught:
        parse_array(value)
    assert caught.value.field == "ARRAY"


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=5),
    st.none() | st.integers(1, 99),
)
def test_a_value_is_the_union_of_its_ranges(ranges: list[tuple[int, int, int]], limit: int | None) -> None:
    parts = [f"{first}-{first + length}:{step}" for first, length, step in ranges]
    value = ",".join(parts) + ("" if limit is None else f"%{limit}")
    expected = {i for first, length, step in ranges for i in range(first, first + length + 1, step)}
    assert parse_array(value) == (tuple(sorted(expected)), limit)


# The status of the whole


def done(code: int | None, number: int = 0) -> JobStatus:
    return JobStatus(f"9_{number}", JobState.DONE, exit_code=code)


QUEUED, RUNNING, HELD, UNKNOWN, REMOVED, LOST = [
    JobStatus("9_0", state)
    for state in (
        JobState.QUEUED, JobState.RUNNING, JobState.HELD, JobState.UNKNOWN, JobState.REMOVED, JobState.LOST,
    )
]  # fmt: skip
KILLED = JobStatus("9_0", JobState.FAILED, signal=9)
LIMIT = JobStatus("9_0", JobState.FAILED, cause=EndCause.LIMIT)
NEVER = REMOVED._replace(reason="DEPENDENCY")


@pytest.mark.parametrize(
    ("tasks", "state", "code", "reason"),
    [
        ([UNKNOWN, UNKNOWN], "UNKNOWN", None, "2 tasks: 2 unknown"),
        ([QUEUED, UNKNOWN, done(0)], "QUEUED", None, "3 tasks: 1 queued, 1 unknown, 1 done"),
        ([QUEUED, RUNNING, HELD], "RUNNING", None, "3 tasks: 1 running, 1 queued, 1 held"),
        ([HELD, QUEUED, done(0)], "QUEUED", None, "3 tasks: 1 queued, 1 held, 1 done"),
        ([HELD, done(3), KILLED], "HELD", None, "3 tasks: 1 held, 2 failed"),
        ([UNKNOWN, done(0)], "UNKNOWN", None, "2 tasks: 1 unknown, 1 done"),
        ([done(0)] * 3, "DONE", 0, ""),
        ([done(0), done(0), done(3)], "FAILED", None, "2 of 3 tasks ended with 0; exit 3: 1"),
        ([done(2)], "FAILED", None, "0 of 1 tasks ended with 0; exit 2: 1"),
        ([done(None), done(0)], "FAILED", None, "1 of 2 tasks ended with 0; exit code unknown: 1"),
        ([done(0), REMOVED], "FAILED", None, "1 of 2 tasks ended with 0; removed: 1"),
        ([REMOVED, REMOVED], "REMOVED", None, ""),
        ([NEVER, NEVER], "REMOVED", None, "DEPENDENCY"),
        ([NEVER, REMOVED], "REMOVED", None, ""),
        ([LOST, LOST], "FAILED", None, "0 of 2 tasks ended with 0; lost: 2"),
        ([LOST, RUNNING], "RUNNING", None, "2 tasks: 1 running, 1 lost"),
        (
            [done(0), done(3), done(3), KILLED, LIMIT, LOST, REMOVED],
            "FAILED",
            None,
            "1 of 7 tasks ended with 0; exit 3: 2; limit: 1; lost: 1; removed: 1; signal 9: 1",
        ),
        (
            [*map(done, range(1, 12)), done(1)],
            "FAILED",
            None,
            (
                "0 of 12 tasks ended with 0; exit 1: 2; exit 10: 1; exit 11: 1; exit 2: 1; exit 3: 1;"
                " exit 4: 1; exit 5: 1; exit 6: 1; other ends: 3"
            ),
        ),
    ],
)
def test_the_whole(tasks: list[JobStatus], state: str, code: int | None, reason: str) -> None:
    status = summarize_tasks("9", tasks)
    assert (status.job_id, status.state.value, status.exit_code, status.reason) == ("9", state, code, reason)
    assert (status.signal, status.limit_exceeded) == (None, False)


OVER_TIME = JobStatus("9_0", JobState.FAILED, signal=24, cause=EndCause.TIME)
BY_USER = REMOVED._replace(cause=EndCause.USER)


@pytest.mark.parametrize(
    ("tasks", "cause"),
    [
        ([OVER_TIME, OVER_TIME._replace(signal=None)], EndCause.TIME),
        ([OVER_TIME, done(0)], EndCause.TIME),
        ([OVER_TIME, done(3)], None),
        ([OVER_TIME, LIMIT], None),
        ([OVER_TIME, LOST], None),
        ([BY_USER, done(0)], EndCause.USER),
        ([BY_USER, BY_USER], EndCause.USER),
        ([done(0), done(3)], None),
        ([done(0)], None),
        ([OVER_TIME, RUNNING], None),
    ],
)
def test_the_cause_of_the_whole_is_that_of_all_tasks_that_failed(
    tasks: list[JobStatus], cause: EndCause | None
) -> None:
    status = summarize_tasks("9", tasks)
    assert (status.cause, status.limit_exceeded) == (cause, cause is EndCause.TIME)


def test_the_times_of_the_whole() -> None:
    times = [(5.0, 9.0), (None, 7.0), (4.0, None)]
    tasks = [done(0)._replace(started=started, ended=ended) for started, ended in times]
    assert summarize_tasks("9", tasks)[8:11] == (None, 4.0, 9.0)
    assert summarize_tasks("9", [done(0)])[8:11] == (None, None, None)


def statuses_of(index: int) -> st.SearchStrategy[JobStatus]:
    return st.builds(
        JobStatus,
        st.just(f"9_{index}"),
        st.sampled_from(list(JobState)),
        exit_code=st.none() | st.integers(0, 3),
        signal=st.none() | st.integers(1, 2),
        cause=st.none() | st.sampled_from(list(EndCause)),
        reason=st.sampled_from(["", "r"]),
        started=st.none() | st.floats(0, 9),
        ended=st.none() | st.floats(0, 9),
    )


@given(st.lists(st.integers(0, 4).flatmap(statuses_of), max_size=30), st.data())
def test_the_summary_of_changes_is_that_of_the_whole(changes: list[JobStatus], data: st.DataObject) -> None:
    """Whatever the order and the grouping of changes, nothing of an earlier status remains."""
    tasks = {f"9_{index}": JobStatus(f"9_{index}", JobState.UNKNOWN) for index in range(5)}
    lives = {task.job_id: LiveJob(task) for task in tasks.values()}
    array = LiveArray(lives, Counter(map(get_outcome, tasks.values())), changed_at=1.0)
    timestamps = [array.take_event("9").timestamp]
    for number, status in enumerate(changes):
        before, tasks[status.job_id] = tasks[status.job_id], status
        lives[status.job_id].status = status
        array.note_change(before, JobEvent(float(number % 3), status))
        if data.draw(st.booleans()):
            event = array.take_event("9")
            assert event.status == summarize_tasks("9", tasks.values())
            timestamps.append(event.timestamp)
    assert array.summarize("9") == summarize_tasks("9", tasks.values())
    assert sum(count_tasks(tasks.values()).values()) == 5
    assert timestamps == sorted(set(timestamps))
    summary = array.summarize("9")
    has_ended = all(task.state in TERMINAL_STATES for task in tasks.values())
    assert summary.state in TERMINAL_STATES if has_ended else summary.state not in TERMINAL_STATES
    is_success = all((task.state, task.exit_code) == (JobState.DONE, 0) for task in tasks.values())
    assert (summary.state is JobState.DONE) == is_success


def test_counts_in_words() -> None:
    assert format_counts(count_tasks([RUNNING] * 12 + [done(0)] * 985 + [done(1), KILLED, LIMIT])) == (
        "1000 tasks: 12 running, 985 done, 3 failed"
    )
    assert format_counts(count_tasks([done(0)])) == "1 task: 1 done"


# The record


def record_array(store: Store, directory: str = "/d", key: str | None = None) -> int:
    record = begin_submission(store, "t", directory, script="s", key=key, name="n", walltime=5, array="1-2")
    assert record.array == "1-2"
    store.record_job_id(record.number, "9", {1: "9_1", 2: "9_2"})
    return record.number


def test_tasks_are_in_no_list_but_their_own(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    store = Store(path)
    number = record_array(store)
    store.record_job_id(begin_submission(store, "t", "/e", script="").number, "10")
    for listed in (store.list_live_jobs("t"), store.list_all_jobs(), Store(path).list_all_jobs()):
        assert [record.status.job_id for record in listed] == ["9", "10"]
    tasks = store.list_tasks("t", "9")
    assert [(t.status.job_id, t.array_id, t.array_index, t.array) for t in tasks] == [
        ("9_1", "9", 1, ""), ("9_2", "9", 2, ""),
    ]  # fmt: skip
    assert {(t.name, t.walltime, t.status.state, t.is_submitted) for t in tasks} == {
        ("n", 5, JobState.QUEUED, True)
    }
    assert store.find_job("t", "9_2") == tasks[1] == store.find_on_all_targets("9_2")[0]
    assert (
        store.list_tasks("u", "9")
        == store.list_tasks("t", "10")
        == store.list_interrupted_submissions("t")
        == []
    )
    store.delete_record(number)
    assert store.find_job("t", "9_1") is None
    assert [record.status.job_id for record in store.list_all_jobs()] == ["10"]


def test_a_removal_of_the_array_is_that_of_its_live_tasks() -> None:
    store = Store()
    record_array(store)
    store.update_statuses("t", [JobStatus("9_1", JobState.DONE, exit_code=0, ended=1.0)])
    store.mark_aborting("t", "9", is_running=True)
    assert all(task.owner for task in store.list_tasks("t", "9"))
    store.record_removal("t", "9", 3.0)
    store.mark_aborting("t", "9", is_running=False)
    assert [(task.aborted_at, task.owner) for task in store.list_tasks("t", "9")] == [
        (None, None),
        (3.0, None),
    ]
    store.record_removal("t", "9_1", 4.0)  # of one task
    (array,) = store.list_all_jobs()
    assert array.aborted_at == 3.0


def test_tasks_are_pruned_with_their_array_only() -> None:
    store = Store()
    record_array(store)
    store.update_statuses("t", [JobStatus("9_1", JobState.DONE, exit_code=0, ended=1.0)])
    assert store.prune_ended_jobs(5.0) == 0
    assert len(store.list_tasks("t", "9")) == 2
    store.update_statuses(
        "t", [JobStatus(job_id, JobState.DONE, exit_code=0, ended=2.0) for job_id in ("9", "9_2")]
    )
    assert store.prune_ended_jobs(5.0) == 1
    assert store.list_tasks("t", "9") == store.list_all_jobs() == []


@pytest.mark.parametrize("key", [None, "k"])
def test_an_array_id_that_comes_round_again(key: str | None) -> None:
    store = Store()
    record_array(store, "/d", key)
    store.update_statuses("t", [JobStatus("9_1", JobState.DONE, exit_code=4, ended=1.0)])
    record_array(store, "/e")
    assert {task.status.state for task in store.list_tasks("t", "9")} == {JobState.QUEUED}
    assert [r.directory for r in store.list_live_jobs("t")] == ["/e"]
    older = store.list_tasks("t", "9#1")
    states = [(task.status.state, task.status.exit_code) for task in older]
    assert states == ([] if key is None else [(JobState.DONE, 4), (JobState.LOST, None)])


# On a target system


@pytest.fixture
def toy(toy: Toy) -> Toy:
    """Return the batch system, whose jobs wait until the test sets their states."""
    (toy.path / "stopped").touch()
    return toy


async def read_events(target: TargetSystem, last_job_id: str) -> list[tuple[str, str]]:
    """Return the job ids and states of all events up to the end of a job."""
    found = []
    async for event in target.events():
        found.append((event.job_id, event.state.value))
        if event.job_id == last_job_id and event.state.is_terminal:
            break
    return found


async def test_real_tasks_with_mixed_ends(toy: Toy, target: TargetSystem) -> None:
    (toy.path / "stopped").unlink()
    text = 'printf %s "$GPE_ARRAY_INDEX"; [ "$GPE_ARRAY_INDEX" != 4 ] || kill -9 $$; exit "$GPE_ARRAY_INDEX"'
    array = await target.submit(shell(text, array="0-4:2,3%2"))
    status = await target.wait(array)
    assert (status.job_id, status.state, status.exit_code) == (array, JobState.FAILED, None)
    assert status.reason == "1 of 4 tasks ended with 0; exit 2: 1; exit 3: 1; signal 9: 1"
    tasks = await target.task_statuses(array)
    assert {index: (s.job_id, s.state.value, s.exit_code, s.signal) for index, s in tasks.items()} == {
        0: (f"{array}_0", "DONE", 0, None),
        2: (f"{array}_2", "DONE", 2, None),
        3: (f"{array}_3", "DONE", 3, None),
        4: (f"{array}_4", "FAILED", None, 9),
    }
    assert (await target.wait(f"{array}_3")).exit_code == 3
    directory = await target.find_job_directory(array)
    assert await target.find_job_directory(f"{array}_3") == directory
    names = [entry.name for entry in await target.files.list_directory(directory)]
    assert sorted(n for n in names if n.startswith("stdout")) == [f"stdout.{i}" for i in (0, 2, 3, 4)]
    assert len(toy.submissions) == 1


async def test_events_of_the_tasks_and_then_of_the_whole(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-2"))
    events = asyncio.create_task(read_events(target, array))
    await asyncio.sleep(0)
    await target.statuses([array])
    toy.state(f"{array}_1", "GO")
    assert (await target.status(array)).reason == "2 tasks: 1 running, 1 queued"
    # one has ended and the next one runs, by one answer: the whole was never QUEUED
    toy.state(f"{array}_1", "END 0")
    toy.state(f"{array}_2", "GO")
    assert (await target.status(array)).state is JobState.RUNNING
    toy.state(f"{array}_2", "END 0")
    assert (await target.wait(array)).exit_code == 0
    assert await events == [
        (f"{array}_1", "QUEUED"), (f"{array}_2", "QUEUED"), (array, "QUEUED"),
        (f"{array}_1", "RUNNING"), (array, "RUNNING"),
        (f"{array}_1", "DONE"), (f"{array}_2", "RUNNING"),
        (f"{array}_2", "DONE"), (array, "DONE"),
    ]  # fmt: skip


async def test_one_submission_and_one_query_a_poll(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-60"))
    other = await target.submit(shell("true"))
    assert set(await target.statuses([array, other])) == {array, other}
    assert (target.query_count, toy.asked, toy.queried_ids) == (1, 1, [])
    assert set(await target.statuses()) == {array, other}
    # those that are not listed any more have one query, for their array
    for index in range(1, 31):
        toy.state(f"{array}_{index}", None)
    assert (await target.status(array)).state is JobState.QUEUED
    assert toy.queried_ids == [array]
    assert (target.query_count, toy.asked) == (3, 4)


async def test_a_single_missing_task_is_queried_by_its_own_id(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-3"))
    await target.statuses([array])
    toy.state(f"{array}_2", None)
    await target.statuses([array])
    assert toy.queried_ids == [f"{array}_2"]


async def test_hold_resume_and_abort_of_one_and_of_all(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-4"))

    async def get_states() -> str:
        status = await target.status(array)
        tasks = await target.task_statuses(array)
        return " ".join([status.state.value, *(s.state.value for s in tasks.values())])

    await target.hold(f"{array}_2")
    assert await get_states() == "QUEUED QUEUED HELD QUEUED QUEUED"
    await target.hold(array)
    assert await get_states() == "HELD HELD HELD HELD HELD"
    await target.resume(f"{array}_3")
    assert await get_states() == "QUEUED HELD HELD QUEUED HELD"
    await target.resume(array)
    await target.abort(f"{array}_2")
    assert await get_states() == "QUEUED QUEUED REMOVED QUEUED QUEUED"
    toy.state(f"{array}_1", "END 0")
    toy.state(f"{array}_3", "GO")
    await target.status(array)
    await target.abort(array)
    # the word of the batch system may be that of a failure; one task had ended by itself before
    toy.state(f"{array}_3", "END 137")
    toy.state(f"{array}_4", None)
    status = await target.wait(array)
    assert await get_states() == "FAILED DONE REMOVED REMOVED REMOVED"
    assert status.reason == "1 of 4 tasks ended with 0; removed: 3"


async def test_a_removed_array_is_removed(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-3"))
    await target.abort(array)
    for index in (1, 2):
        toy.state(f"{array}_{index}", None)
    status = await target.wait(array)
    assert (status.state, status.reason) == (JobState.REMOVED, "")


async def test_a_restart_in_the_middle(toy: Toy) -> None:
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-4"))
        toy.state(f"{array}_1", "END 3")
        toy.state(f"{array}_2", "GO")
        await target.status(array)
    toy.state(f"{array}_1", None)  # its end is in the record only
    toy.state(f"{array}_2", "END 0")
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        assert (await target.status(array)).reason == "4 tasks: 2 queued, 1 done, 1 failed"
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        assert (await target.watch(array)).state is JobState.QUEUED
        events = asyncio.create_task(read_events(target, array))
        await asyncio.sleep(0)
        for index in (3, 4):
            toy.state(f"{array}_{index}", "END 0")
        seen = await events
        assert seen[-1] == (array, "FAILED")
        assert Counter(job_id for job_id, state in seen if state == "DONE") == {
            f"{array}_{i}": 1 for i in (3, 4)
        }
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        asked = toy.asked
        assert (await target.wait(array)).reason == "3 of 4 tasks ended with 0; exit 3: 1"
        assert [s.exit_code for s in (await target.task_statuses(array)).values()] == [3, 0, 0, 0]
        assert toy.asked == asked


async def test_an_end_that_is_recorded_for_all_tasks_but_not_for_the_whole(toy: Toy) -> None:
    """The process was killed between the last task's end and that of the array."""
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-2"))
    tasks = [JobStatus(f"{array}_{i}", JobState.DONE, exit_code=0, ended=float(i)) for i in (1, 2)]
    store.update_statuses("toy", tasks)
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        status = await target.wait(array)
        assert (status.state, status.exit_code, status.ended) == (JobState.DONE, 0, 2.0)
    record = get_record(store, "toy", array)
    assert record.status.state is JobState.DONE


async def test_an_interrupted_submission_has_its_tasks(toy: Toy, tmp_path: Path) -> None:
    """START was cut off after the batch system had taken the array: FIND_JOB finds it, with all tasks."""
    store = Store(str(tmp_path / "s"))
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-3"), key="k")
        (record,) = store.list_all_jobs()
    execute_sql(  # the record as it was before the answer came
        store,
        "DELETE FROM job WHERE array_id IS NOT NULL",
        "UPDATE job SET job_id = NULL, script = 'exit 1', owner = NULL",
    )
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        (recovered,) = await target.recover_submissions(resubmit=False)
        assert (recovered.job_id, recovered.error) == (array, None)
        assert set(await target.task_statuses(array)) == {1, 2, 3}
        assert await target.submit(shell("true", array="1-3"), key="k") == array
        assert store.find_by_directory("toy", record.directory) == store.find_job("toy", array)
        assert len(toy.submissions) == 1


async def test_an_array_that_is_not_recorded(toy: Toy) -> None:
    """The batch system's answer has all tasks: none of them stands for the whole."""
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-3"))
    for index, word in enumerate(["END 0", "GO", "END 0"], 1):
        toy.state(f"{array}_{index}", word)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        assert (await target.status(array)).reason == "3 tasks: 1 running, 2 done"
        assert (await target.status(f"{array}_3")).exit_code == 0
        tasks = await target.task_statuses(array)
        assert {index: task.exit_code for index, task in tasks.items()} == {1: 0, 2: None, 3: 0}
        with pytest.raises(JobNotFoundError, match="lists no tasks"):
            await target.task_statuses(f"{array}_3")
        before = METRICS.sum("osprofile_scripts_total", template="GET_JOB_STATUS")
        found = await target.query_unrecorded_tasks([f"{array}_1", array, "99", "no id"])
        assert {job: list(tasks) for job, tasks in found.items()} == {array: [1, 2, 3]}
        assert METRICS.sum("osprofile_scripts_total", template="GET_JOB_STATUS") - before == 1
        toy.state(f"{array}_2", "END 6")
        assert (await target.wait(array)).reason == "2 of 3 tasks ended with 0; exit 6: 1"


OTHER_TASKS = r"""
  <idb:Template>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>[1-9][0-9]*(?:_[0-9]+)?</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name=""><idb:Body>printf '9_1 exited exit=0\n9_3 running\n'</idb:Body></idb:Invocation>
    <idb:Invocation name="ALL"><idb:Body>:</idb:Body></idb:Invocation>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="exited">DONE</idb:Tag><idb:Tag name="running">RUNNING</idb:Tag>
    </idb:Field>
  </idb:Template>
"""


@pytest.mark.parametrize("verb", ["status", "statuses"])
async def test_a_task_never_has_the_status_of_another(load: Callable[[str], Profile], verb: str) -> None:
    """The batch system prints other tasks of the array, whichever is asked for."""
    async with TargetSystem(load(OTHER_TASKS), timing=QUICK) as target:
        record = begin_submission(target.store, target.name, "/d", script="", array="1-3")
        target.store.record_job_id(record.number, "9", {1: "9_1", 2: "9_2", 3: "9_3"})
        if verb == "status":
            status = await target.status("9_2")
        else:
            status = (await target.statuses(["9_2"]))["9_2"]
        assert (status.job_id, status.state) == ("9_2", JobState.QUEUED)
        whole = await target.status("9")
        assert (whole.state, whole.reason) == (JobState.RUNNING, "3 tasks: 1 running, 1 queued, 1 done")


async def test_a_profile_without_ids_of_tasks_refuses_arrays(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = {name: t for name, t in toy.profile.templates.items() if name != "TASK_ID"}
    monkeypatch.setattr(toy.profile, "templates", templates)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(TemplateNotFoundError, match="no template TASK_ID"):
            await target.submit(shell("true", array="1-3"))
        with pytest.raises(ValueRefusedError, match="'3-1' has no index"):
            await target.submit(shell("true", array="3-1"))
    assert toy.submissions == []


async def test_an_array_is_watched_after_a_task_whose_end_another_process_has_recorded(toy: Toy) -> None:
    """One process knows a task as QUEUED; the record, but no query of this process, tells its end."""
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-2"))
    async with (
        TargetSystem(toy.profile, store=store, timing=QUICK) as target,
        TargetSystem(toy.profile, store=store, timing=QUICK) as other,
    ):
        await target.status(f"{array}_1")
        for index in (1, 2):
            toy.state(f"{array}_{index}", "END 0")
        await other.status(f"{array}_1")
        assert (await target.wait(array)).exit_code == 0


async def test_a_task_that_failed_before_its_array_was_removed(toy: Toy) -> None:
    """Nobody has asked for its end when the array is removed: it is no removal."""
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-2"))
    toy.state(f"{array}_1", "END 137")
    toy.state(f"{array}_2", "GO")
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        await target.abort(array)
        assert (await target.wait(array)).reason == "0 of 2 tasks ended with 0; removed: 1; signal 9: 1"


async def test_an_array_that_was_recorded_without_tasks(toy: Toy, tmp_path: Path) -> None:
    """The state of the whole is never that of the tasks that are still listed."""
    store = Store(str(tmp_path / "s"))
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-3"))
    execute_sql(store, "DELETE FROM job WHERE array_id IS NOT NULL")
    for index, word in ((1, None), (2, "END 0"), (3, "END 0")):
        toy.state(f"{array}_{index}", word)
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        assert (await target.wait(array)).reason == "2 of 3 tasks ended with 0; lost: 1"
        assert set(await target.task_statuses(array)) == {1, 2, 3}


ONLY_THE_WHOLE = OTHER_TASKS.replace("printf '9_1 exited exit=0\\n9_3 running\\n'", "echo 9 running").replace(
    "<idb:Body>:<", "<idb:Body>{listed}<"
)


@pytest.mark.parametrize("listed", ["echo 9 running", ":"])
async def test_tasks_are_not_lost_while_only_the_array_is_listed(
    load: Callable[[str], Profile], listed: str
) -> None:
    async with TargetSystem(load(ONLY_THE_WHOLE.replace("{listed}", listed)), timing=QUICK) as target:
        record = begin_submission(target.store, target.name, "/d", script="", array="1-3")
        target.store.record_job_id(record.number, "9", {1: "9_1", 2: "9_2", 3: "9_3"})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(target.wait("9"), 3 * QUICK.grace_period)


async def test_those_who_wait_for_an_array_whose_id_is_given_again(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-3"))
    waits = [asyncio.create_task(target.wait(job_id)) for job_id in (array, f"{array}_1", f"{array}_3")]
    await target.status(array)
    shutil.rmtree(toy.path / "jobs")
    (toy.path / "jobs").mkdir()
    assert await target.submit(shell("true", array="1-2")) == array
    statuses = await asyncio.gather(*waits)
    assert {status.state for status in statuses} == {JobState.LOST}
    assert {status.reason for status in statuses} == {"the batch system gave its id to another job"}
    assert (await target.status(array)).reason == "2 tasks: 2 queued"


async def test_a_task_of_a_watched_array_stays_watched(toy: Toy, target: TargetSystem) -> None:
    array = await target.submit(shell("true", array="1-2"))
    target.unwatch(f"{array}_1")
    for index in (1, 2):
        toy.state(f"{array}_{index}", "END 0")
    assert (await target.wait(array)).exit_code == 0


async def test_an_array_whose_tasks_have_no_ids_is_not_lost(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch system has the array already when TASK_ID refuses its id."""

    def refuse(*_: object) -> str:
        raise ValueRefusedError("refused", field="JOB_ID")

    monkeypatch.setattr(TargetShell, "render_task_id", refuse)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        array = await target.submit(shell("true", array="1-2"), key="k")
        assert await target.submit(shell("true", array="1-2"), key="k") == array
        assert [record.status.job_id for record in target.store.list_all_jobs()] == [array]
        assert len(toy.submissions) == 1


# On this machine


ENDS = {
    1: ("exit 0", "DONE", 0, None),
    2: ("exit 3", "DONE", 3, None),
    3: ("kill -s KILL $$", "FAILED", None, 9),
    5: ("sleep 600", "REMOVED", None, None),
    8: ("kill -s TERM $$", "FAILED", None, 15),
    9: ("exit 0", "DONE", 0, None),
}


async def test_mixed_ends_on_this_machine(load: Callable[[str], Profile]) -> None:
    cases = "\n".join(f"{index}) {text} ;;" for index, (text, *_) in ENDS.items())
    description = shell(f"case $GPE_ARRAY_INDEX in\n{cases}\nesac", array="1-9:4,2-3,8%4")
    async with TargetSystem(load(""), timing=QUICK) as target:
        array = await target.submit(description)
        waiting = asyncio.create_task(target.wait(array))
        while (await target.task_statuses(array))[5].state is not JobState.RUNNING:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await target.abort(f"{array}_5")
        assert (await waiting).reason == (
            "2 of 6 tasks ended with 0; exit 3: 1; removed: 1; signal 15: 1; signal 9: 1"
        )
        tasks = await target.task_statuses(array)
        ends = {i: (s.state.value, s.exit_code, s.signal) for i, s in tasks.items()}
        assert ends == {index: tuple(end) for index, (_, *end) in ENDS.items()}
        await target.files.delete_path(await target.find_job_directory(array))


async def test_an_array_is_removed_on_this_machine(load: Callable[[str], Profile]) -> None:
    store = Store()
    async with TargetSystem(load(""), store=store, timing=QUICK) as target:
        array = await target.submit(shell("sleep 600", array="1-5%2"))
    async with TargetSystem(load(""), store=store, timing=QUICK) as target:
        await target.abort(array)
        assert (await target.wait(array)).state is JobState.REMOVED
        states = {status.state for status in (await target.task_statuses(array)).values()}
        assert states == {JobState.REMOVED}
        await target.files.delete_path(await target.find_job_directory(array))


async def test_an_array_that_waits_as_a_whole_on_this_machine(load: Callable[[str], Profile]) -> None:
    """Its tasks have the state of its one line, but for those that have a line of their own."""
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 3600))
    async with TargetSystem(load(""), timing=QUICK) as target:
        array = await target.submit(shell("exit 0", array="1-4", start_time=start))

        async def reach(*states: str) -> None:
            while [s.state for s in (await target.task_statuses(array)).values()] != [*states]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

        await reach("QUEUED", "QUEUED", "QUEUED", "QUEUED")
        await target.hold(array)
        await reach("HELD", "HELD", "HELD", "HELD")
        assert (await target.status(array)).state is JobState.HELD
        await target.resume(array)
        await target.abort(f"{array}_2")
        await reach("QUEUED", "REMOVED", "QUEUED", "QUEUED")
        directory = await target.find_job_directory(array)
        await asyncio.sleep(2 * QUICK.grace_period)
        await reach("QUEUED", "REMOVED", "QUEUED", "QUEUED")
        await target.abort(array)
        assert (await target.wait(array)).state is JobState.REMOVED
        await target.files.delete_path(directory)
