"""Arrays and dependencies by the profile `sge` on a real Grid Engine, as a plain user."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.lab.test_arrays import check_calls
from tests.lab.test_jobs import script
from tests.lab.test_sge import WAITS, commands, engine
from tests.profiles.conftest import ENDED
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.conftest import Job, Lab, Status

__all__ = ["engine"]
GO = 'until [ -e "$GPE_WORKING_DIRECTORY/go" ]; do sleep 0.1; done; '
"""Part of a program: waits for the test."""


@pytest.fixture
def sge(lab_of: Callable[[str], Lab]) -> Lab:
    return lab_of("sge")


def tasks(array: Job) -> dict[int, Status]:
    """Give the status of each task of an array."""
    told = array.lab.statuses("", JOB_ID=array.id)
    assert all(name.startswith(f"{array.id}.") for name in told)
    return {int(name.partition(".")[2]): status for name, status in told.items()}


def states(array: Job) -> str:
    """Give the states of the tasks, in the order of their indices."""
    told = tasks(array)
    return " ".join(told[index].state for index in sorted(told))


def reach(array: Job, *wanted: str) -> str:
    """Wait until the states are one of these; give them."""

    def look() -> str | None:
        told = states(array)
        return told if told in wanted else None

    return wait_until(look, every=0.1)


def go(job: Job) -> None:
    (job.directory / "go").touch()


def test_a_task_knows_itself(sge: Lab) -> None:
    text = 'echo "$GPE_JOB_ID $GPE_ARRAY_ID $GPE_ARRAY_INDEX"; pwd; exit "$GPE_ARRAY_INDEX"'
    array = sge.start(ARRAY="3-7:2", **script(text))
    assert array.id.isdigit()
    assert reach(array, "DONE DONE DONE")
    for index, status in tasks(array).items():
        assert status.line.startswith(f"{array.id}.{index} exited exit={index}")
        assert sge.ok("GET_JOB_STATUS", JOB_ID=status.id) == f"{status.line}\n"
        own = [f"{array.id}.{index} {array.id} {index}", str(array.directory)]
        assert array.read(f"stdout.{index}").splitlines() == own
        assert array.read(f"stderr.{index}") == ""
    assert not any(name.startswith(f"{array.id}.") for name in sge.statuses())
    assert "unknown job" in sge.fails("GET_JOB_STATUS", JOB_ID=f"{array.id}.4")


def test_an_array_of_one_task_is_an_array(sge: Lab) -> None:
    array = sge.start(ARRAY="12", **script('exit "$GPE_ARRAY_INDEX"'))
    assert reach(array, "DONE")
    assert [*tasks(array)] == [12]


SIZE = int(os.environ.get("LAB_TASKS", "1000"))
MIXED = """case $GPE_ARRAY_INDEX in
1) sleep 600 ;;
2 | 3) sleep 600 ;;
*00) exit 99 ;;
*10) exit 3 ;;
*20) kill -s KILL $$ ;;
*30) kill -s TERM $$ ;;
*40) kill -s KILL $PPID $$ ;;
*50) exit 100 ;;
*60) exit 255 ;;
esac
"""
MIXED_ENDS = {
    "00": ("DONE", "exit=99"), "10": ("DONE", "exit=3"), "20": ("FAILED", "exit=137"),
    "30": ("FAILED", "exit=143"), "40": ("FAILED", "exit=137"), "50": ("DONE", "exit=100"),
    "60": ("DONE", "exit=255"),
}  # fmt: skip


def expected_end(index: int) -> tuple[str, str]:
    """Give the state and a word of the end of a task of MIXED."""
    if index in {1, SIZE - 2, SIZE - 1}:
        return "REMOVED", "removed"
    if index in {2, 3}:
        return "FAILED/TIME", "h_rt"
    return MIXED_ENDS.get(f"{index:04}"[-2:], ("DONE", "exit=0"))


def test_many_tasks_with_mixed_ends(sge: Lab) -> None:
    array = sge.start(ARRAY=f"1-{SIZE}", WALLTIME="45", **script(MIXED))
    first, held, queued = (f"{array.id}.{index}" for index in (1, SIZE - 2, SIZE - 1))
    assert sge.ok("HOLD", JOB_ID=held) == ""
    assert sge.statuses("", JOB_ID=held)[held].state == "HELD"
    for name in (queued, held):
        assert sge.ok("ABORT", JOB_ID=name) == ""
    wait_until(lambda: tasks(array)[1].state == "RUNNING", every=0.1)
    assert sge.ok("ABORT", JOB_ID=first) == ""

    def look() -> dict[int, Status] | None:
        told = tasks(array)
        assert len(told) >= SIZE - 3  # what ends without a record is not told until the accounting has it
        return told if len(told) == SIZE and all(s.state in ENDED for s in told.values()) else None

    told = wait_until(look, every=0.5)
    wrong = {
        index: status
        for index, status in told.items()
        if status.state != expected_end(index)[0] or expected_end(index)[1] not in status.line
    }
    assert not wrong
    assert sorted(told) == [*range(1, SIZE + 1)]
    counts = Counter(status.state for status in told.values())
    assert counts == Counter(expected_end(index)[0] for index in range(1, SIZE + 1))


def test_grid_engine_is_asked_once_a_poll(sge: Lab, tmp_path: Path) -> None:
    check_calls(sge.profile, "qsub", "qstat", ("qacct",), tmp_path)


def test_an_array_is_held_resumed_and_aborted(sge: Lab) -> None:
    array = sge.start(ARRAY="1-4%2", **script(f"{GO}sleep 60"))
    reach(array, "RUNNING RUNNING QUEUED QUEUED")
    third, second = f"{array.id}.3", f"{array.id}.2"
    for _ in range(2):
        assert sge.ok("HOLD", JOB_ID=third) == ""
        assert states(array) == "RUNNING RUNNING HELD QUEUED"
    assert sge.ok("HOLD", JOB_ID=second) == ""
    assert states(array) == "RUNNING HELD HELD QUEUED"
    for name in (second, third):
        assert sge.ok("RESUME", JOB_ID=name) == ""
    reach(array, "RUNNING RUNNING QUEUED QUEUED")
    for _ in range(2):
        assert sge.ok("HOLD", JOB_ID=array.id) == ""
        assert states(array) == "HELD HELD HELD HELD"
    for _ in range(2):
        assert sge.ok("RESUME", JOB_ID=array.id) == ""
        reach(array, "RUNNING RUNNING QUEUED QUEUED")
    told = {name: status.state for name, status in sge.statuses().items() if name.startswith(f"{array.id}.")}
    assert told == {f"{array.id}.{i}": "RUNNING" if i < 3 else "QUEUED" for i in range(1, 5)}
    assert sge.ok("ABORT", JOB_ID=third) == ""
    assert states(array) == "RUNNING RUNNING REMOVED QUEUED"
    assert sge.ok("ABORT", JOB_ID=array.id) == ""
    reach(array, "REMOVED REMOVED REMOVED REMOVED")
    for verb, words in (("ABORT", "already ended"), ("HOLD", "is unknown"), ("RESUME", "is unknown")):
        for name in (array.id, third):
            assert words in sge.fails(verb, JOB_ID=name)


def test_what_has_ended_stays_ended_when_the_rest_is_aborted(sge: Lab) -> None:
    text = f'[ "$GPE_ARRAY_INDEX" -gt 2 ] || exit "$GPE_ARRAY_INDEX"; {GO}'
    array = sge.start(ARRAY="1-5%1", **script(text))
    reach(array, "DONE DONE RUNNING QUEUED QUEUED")
    assert sge.ok("ABORT", JOB_ID=array.id) == ""
    reach(array, "DONE DONE REMOVED REMOVED REMOVED")
    assert " exit=2 " in tasks(array)[2].line


def test_an_array_whose_answer_was_lost_is_found_again(sge: Lab, directory: Path) -> None:
    option = ("--context", f"WORKING_DIRECTORY={directory}")
    array = sge.start(*option, ARRAY="1-3", **WAITS)
    (directory / ".gpe/id").unlink()
    (directory / ".gpe/submitting").touch()
    assert sge.start_found(*option, ARRAY="1-3", **WAITS).id == array.id
    sge.ok("ABORT", JOB_ID=array.id)
    assert states(array) == "REMOVED REMOVED REMOVED"


def test_tasks_that_cannot_run_say_why(sge: Lab) -> None:
    (made,) = commands("echo : | qsub -terse -t 1-2 -wd /nowhere/at/all -o /dev/null -j y\n").split()
    array, _, _ = made.partition(".")
    try:
        wait_until(lambda: {s.state for s in sge.statuses("", JOB_ID=array).values()} == {"HELD"}, every=0.1)
        told = sge.statuses("", JOB_ID=array)
        assert [*told] == [f"{array}.1", f"{array}.2"]
        assert all("reason=" in s.line and "can't chdir to /nowhere/at/all" in s.line for s in told.values())
    finally:
        commands(f"qdel {array}\n")


BEFORE = {
    "zero": "exit 0",
    "three": "exit 3",
    "signal": "kill -s TERM $$",
    "killed": "kill -s KILL $PPID $$",
    "removed": "sleep 60",
}
"""What the job ends with that another one waits for."""


def test_dependencies(sge: Lab) -> None:
    first = {name: sge.start(**script(GO + text)) for name, text in BEFORE.items()}
    first["waiting"] = sge.start(**WAITS)
    after = {
        (kind, name): sge.start(DEPENDENCY=f"{kind}:{job.id}", **script("echo ran"))
        for kind in ("afterok", "afternotok", "afterany")
        for name, job in first.items()
    }
    for (_, name), job in after.items():
        status = job.status()
        assert status.state == "HELD"
        assert status.line.endswith(f" reason=waits for the end of {first[name].id}")
    for name in ("removed", "waiting"):
        sge.ok("ABORT", JOB_ID=first[name].id)
    for job in first.values():
        go(job)
    for (kind, name), job in after.items():
        met = kind == "afterany" or (kind == "afterok") == (name == "zero")
        end = job.wait()
        assert (kind, name, end.state) == (kind, name, "DONE" if met else "REMOVED/DEPENDENCY")
        assert end.line.startswith(
            f"{job.id} {'exited exit=0 elapsed=' if met else 'removed/dependency reason=DEPENDENCY'}"
        )
        assert (job.directory / "stdout").exists() is met


def test_all_conditions_must_hold(sge: Lab) -> None:
    good, bad = sge.start(**script("exit 0")), sge.start(**script("exit 1"))
    good.wait("DONE"), bad.wait("DONE")
    met = sge.start(DEPENDENCY=f"afterok:{good.id},afternotok:{bad.id},afterany:{bad.id}:{good.id}")
    failed = sge.start(DEPENDENCY=f"afterok:{good.id}:{bad.id}")
    chained = sge.start(DEPENDENCY=f"afternotok:{failed.id}")
    assert "exit=0" in met.wait("DONE").line
    assert failed.wait("REMOVED/DEPENDENCY").line == f"{failed.id} removed/dependency reason=DEPENDENCY"
    assert "exit=0" in chained.wait("DONE").line


def test_arrays_and_dependencies(sge: Lab) -> None:
    good = sge.start(ARRAY="1-3", **script(f"{GO}exit 0"))
    mixed = sge.start(ARRAY="1-3", **script(f'{GO}exit "$((GPE_ARRAY_INDEX == 2))"'))
    met = sge.start(DEPENDENCY=f"afterok:{good.id},afternotok:{mixed.id}", **script("exit 0"))
    failed = sge.start(DEPENDENCY=f"afterok:{mixed.id}", ARRAY="1-2", **script("exit 0"))
    task = sge.start(DEPENDENCY=f"afterok:{mixed.id}.1:{good.id},afternotok:{mixed.id}.2", **script("exit 0"))
    assert met.status().line.endswith(f" reason=waits for the end of {good.id},{mixed.id}")
    assert states(failed) == "HELD HELD"
    go(good), go(mixed)
    assert "exit=0" in met.wait("DONE").line
    assert "exit=0" in task.wait("DONE").line
    reach(failed, "REMOVED/DEPENDENCY REMOVED/DEPENDENCY")
    assert all(
        status.line.endswith(" removed/dependency reason=DEPENDENCY") for status in tasks(failed).values()
    )


def test_a_task_that_was_deleted_behind_our_back_did_not_end_well(sge: Lab) -> None:
    array = sge.start(ARRAY="1-3%1", **script(f"{GO}exit 0"))
    failed = sge.start(DEPENDENCY=f"afterok:{array.id}", **script("exit 0"))
    met = sge.start(DEPENDENCY=f"afternotok:{array.id}", **script("exit 0"))
    reach(array, "RUNNING QUEUED QUEUED")
    commands(f"qdel {array.id}.2\n")
    go(array)
    assert failed.wait("REMOVED/DEPENDENCY").line.endswith(" reason=DEPENDENCY")
    assert "exit=0" in met.wait("DONE").line
    assert [*tasks(array)] == [1, 3]


def test_a_waiting_job_that_the_user_holds_too(sge: Lab) -> None:
    first = sge.start(**script(GO))
    job = sge.start(DEPENDENCY=f"afterok:{first.id}", **script("exit 0"))
    assert sge.ok("HOLD", JOB_ID=job.id) == ""
    assert "another job holds it" in sge.fails("RESUME", JOB_ID=job.id)
    go(first)
    assert "exit=0" in job.wait("DONE").line


def test_a_job_that_nobody_knows_is_refused_before_the_submission(sge: Lab) -> None:
    array = sge.start(ARRAY="2-5:2", **WAITS)
    for kind in ("afterok", "afternotok", "afterany"):
        for unknown in ("4999999", "4999999.1", f"{array.id}.3", f"{array.id}.6"):
            words = f"DEPENDENCY names {unknown}, which is no job of this profile"
            depends = f"{kind}:{array.id}.4:{unknown}"
            assert words in sge.fails("START", DEPENDENCY=depends, JOB_NAME="refused")
    assert " refused " not in commands("qstat")
    sge.ok("ABORT", JOB_ID=array.id)
