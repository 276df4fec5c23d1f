"""Arrays on a machine without a batch system: real tasks, and what is told of each of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hunting import rounds
from tests.profiles.conftest import ENDED
from tests.profiles.test_linux import gone, processes, script, session_of
from tests.waiting import PATIENCE, wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.profiles.conftest import Job, Status, Target


def tasks(job: Job) -> dict[int, Status]:
    """Give the state of each task, by its index."""
    found = job.target.statuses("", JOB_ID=job.id)
    if (
        whole := found.pop(job.id, None)
    ) is not None:  # it waits, with all tasks that have no line of their own
        names = (f"{job.id}_{path.name}" for path in (job.directory / ".gpe/tasks").iterdir())
        found = {name: found.get(name, whole) for name in names}
    assert all(name.rpartition("_")[0] == job.id for name in found)
    return {int(name.rpartition("_")[2]): status for name, status in found.items()}


def wait_for(job: Job, reached: Callable[[dict[int, Status]], bool]) -> dict[int, Status]:
    found: dict[int, Status] = {}

    def has_come() -> bool:
        found.update(tasks(job))
        return reached(found)

    wait_until(has_come, every=0.2)
    return found


def all_ended(found: dict[int, Status]) -> bool:
    return all(status.state in ENDED for status in found.values())


def states(found: dict[int, Status], indices: Iterable[int] | None = None) -> set[str]:
    return {status.state for index, status in found.items() if indices is None or index in indices}


def in_order(found: dict[int, Status]) -> list[str]:
    """Return the state of each task, by its index."""
    return [found[index].state for index in sorted(found)]


ENDS: list[tuple[str, tuple[str, int | None, int | None]]] = [
    ("exit 0", ("DONE", 0, None)),
    ("exit 3", ("DONE", 3, None)),
    ("exit 255", ("DONE", 255, None)),  # where xargs would begin no further command
    ("kill -s KILL $$", ("FAILED", None, signal.SIGKILL)),
    ("kill -s TERM $$", ("FAILED", None, signal.SIGTERM)),
    ("kill -s KILL 0", ("LOST", None, None)),  # with the job's own shell
    ("exec sleep 600", ("FAILED/TIME", None, None)),
    ("exit 4", ("REMOVED", None, None)),  # before it begins
    ("exec /nonexistent/program", ("DONE", 127, None)),
]
REMOVED = 7
MIXED = (
    'touch "began.$GPE_ARRAY_INDEX"; case $((GPE_ARRAY_INDEX % 9)) in '
    + "".join(f"{number}) {text} ;; " for number, (text, _) in enumerate(ENDS))
    + "esac"
)


def in_seconds(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))


def test_each_of_many_tasks_is_told_as_it_ended(linux: Target) -> None:
    """Each of the nine ways to end, twelve times: as often as there are tasks at a time."""
    last = 2 + rounds(108, 22)
    indices = range(3, last + 1)
    first = linux.start(**script("until [ -e go ]; do sleep 0.05; done"))
    job = linux.start(**script(MIXED), ARRAY=f"3-{last}%12", WALLTIME="6", DEPENDENCY=f"afterok:{first.id}")
    assert states(tasks(job)) == {"QUEUED"}
    removed = [index for index in indices if index % 9 == REMOVED]
    aborts = [linux.script("ABORT", JOB_ID=f"{job.id}_{index}") for index in removed]
    done = linux.sh("\n".join(f"({text}\n) || exit" for text in aborts))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (first.directory / "go").touch()
    found = wait_for(job, all_ended)
    assert sorted(found) == list(indices)
    wrong = {
        index: status
        for index, status in found.items()
        if (status.state, status.exit, status.signal) != ENDS[index % 9][1]
    }
    assert wrong == {}
    began = {int(path.name.rpartition(".")[2]) for path in job.directory.glob("began.*")}
    assert began == set(indices) - set(removed)
    assert gone(job)


def test_indices_variables_and_files_of_tasks(linux: Target) -> None:
    text = 'echo "$GPE_ARRAY_ID $GPE_JOB_ID $GPE_ARRAY_INDEX"; pwd; cat; echo problem >&2'
    directory = linux.directory()
    directory.mkdir(parents=True)
    (directory / "in").write_text("input\n")
    job = linux.start(directory, **script(text), ARRAY="0-9:3,20,3", STDIN="in", STDERR="err or")
    found = wait_for(job, all_ended)
    assert set(found) == {0, 3, 6, 9, 20}
    assert {status.exit for status in found.values()} == {0}
    for index in found:
        lines = f"{job.id} {job.id}_{index} {index}\n{job.directory}\ninput\n"
        assert job.read(f"stdout.{index}") == lines
        assert job.read(f"err or.{index}") == "problem\n"
    assert linux.ok("GET_JOB_STATUS", JOB_ID=f"{job.id}_20").startswith(f"{job.id}_20 exited exit=0 host=")
    assert "unknown job" in linux.fails("GET_JOB_STATUS", JOB_ID=f"{job.id}_21")
    assert sorted(path.name for path in (job.directory / ".gpe").iterdir() if path.name.startswith("id")) == [
        "id"
    ]


def test_both_streams_of_a_task_in_one_file_and_devices(linux: Target) -> None:
    job = linux.start(**script("echo out; echo err >&2"), ARRAY="1", STDOUT="both", STDERR="both")
    wait_for(job, all_ended)
    assert job.read("both.1") == "out\nerr\n"
    job = linux.start(**script("echo out; echo err >&2"), ARRAY="1", STDOUT="/dev/null")
    assert wait_for(job, all_ended)[1].exit == 0
    assert job.read("stderr.1") == "err\n"
    assert not (job.directory / "stdout.1").exists()


@pytest.mark.parametrize("array", ["5-3", "0-9999999"])
def test_no_tasks_or_too_many_are_refused(linux: Target, array: str) -> None:
    directory = linux.directory()
    done = linux.run("START", directory=directory, ARRAY=array)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"ARRAY {array} has an empty range, or more than 100000 tasks" in done.stderr
    assert linux.find(directory) == ""


def test_at_most_so_many_tasks_run_at_a_time(linux: Target) -> None:
    text = 'touch "on.$GPE_ARRAY_INDEX"; ls on.* | wc -l; sleep 0.2; rm "on.$GPE_ARRAY_INDEX"'
    job = linux.start(**script(text), ARRAY="1-12%3")
    wait_for(job, all_ended)
    counts = [int(job.read(f"stdout.{index}")) for index in range(1, 13)]
    assert max(counts) == 3


def test_a_repeated_start_gives_the_array(linux: Target) -> None:
    fields = {**script('echo x >> "runs.$GPE_ARRAY_INDEX"; sleep 1'), "ARRAY": "1-4%4"}
    job = linux.start(**fields)
    assert linux.start(job.directory, **fields).id == job.id
    assert linux.find(job.directory) == job.id
    wait_for(job, all_ended)
    assert linux.start(job.directory, **fields).id == job.id
    assert {job.read(f"runs.{index}") for index in range(1, 5)} == {"x\n"}
    assert linux.statuses() == linux.statuses("", JOB_ID=job.id)  # once more, and then it is forgotten
    wait_until(lambda: not (linux.home / ".gpe/jobs/linux/live" / job.id).is_symlink())
    assert linux.statuses() == {}


def test_all_shows_the_tasks_of_arrays_beside_other_jobs(linux: Target) -> None:
    single = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600")
    array = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600", ARRAY="1-3%2")
    wait_for(array, lambda found: states(found, [1, 2]) == {"RUNNING"})
    wait_for_file(linux.home / ".gpe/jobs/linux/live" / array.id)
    wait_for_file(linux.home / ".gpe/jobs/linux/live" / single.id)
    found = {name: status.state for name, status in linux.statuses().items()}
    names = [single.id, *(f"{array.id}_{index}" for index in (1, 2, 3))]
    assert found == dict(zip(names, ["RUNNING", "RUNNING", "RUNNING", "QUEUED"], strict=True))
    linux.ok("ABORT", JOB_ID=array.id)
    assert states(tasks(array)) == {"REMOVED"}
    assert gone(array)


def test_hold_and_resume_of_all_and_of_one(linux: Target) -> None:
    job = linux.start(**script("echo begun; sleep 600"), ARRAY="1-3%2")
    wait_for(job, lambda found: states(found, [1, 2]) == {"RUNNING"})
    linux.ok("HOLD", JOB_ID=job.id)
    assert states(tasks(job)) == {"HELD"}
    linux.ok("RESUME", JOB_ID=job.id)
    assert in_order(tasks(job)) == ["RUNNING", "RUNNING", "QUEUED"]
    linux.ok("HOLD", JOB_ID=f"{job.id}_1")
    assert in_order(tasks(job)) == ["HELD", "RUNNING", "QUEUED"]
    linux.ok("RESUME", JOB_ID=f"{job.id}_1")
    assert states(tasks(job), [1, 2]) == {"RUNNING"}
    linux.ok("ABORT", JOB_ID=job.id)


def test_one_task_of_an_array_that_is_held_as_a_whole(linux: Target) -> None:
    """A task that has begun goes on. One that has not is refused: what would begin it is stopped with the rest."""
    job = linux.start(**script("until [ -e go ]; do sleep 0.05; done"), ARRAY="1-3%1")
    wait_for(job, lambda found: states(found, [1]) == {"RUNNING"})
    linux.ok("HOLD", JOB_ID=job.id)
    linux.ok("RESUME", JOB_ID=f"{job.id}_1")
    (job.directory / "go").touch()
    wait_for(job, lambda found: states(found, [1]) == {"DONE"})
    refused = linux.fails("RESUME", JOB_ID=f"{job.id}_2")
    assert f"its array is held as a whole: resume {job.id}\n" in refused
    assert states(tasks(job), [2, 3]) == {"HELD"}
    linux.ok("HOLD", JOB_ID=f"{job.id}_3")  # nothing is lost by a hold of its own
    linux.ok("RESUME", JOB_ID=job.id)
    assert states(wait_for(job, all_ended)) == {"DONE"}


def test_a_task_that_is_held_before_it_begins_lets_others_pass(linux: Target) -> None:
    job = linux.start(**script('until [ -e "go.$GPE_ARRAY_INDEX" ]; do sleep 0.05; done'), ARRAY="1-3%1")
    wait_for(job, lambda found: states(found, [1]) == {"RUNNING"})
    linux.ok("HOLD", JOB_ID=f"{job.id}_2")
    assert in_order(tasks(job)) == ["RUNNING", "HELD", "QUEUED"]
    (job.directory / "go.1").touch()
    wait_for(job, lambda found: states(found, [3]) == {"RUNNING"})
    assert states(tasks(job), [2]) == {"HELD"}
    (job.directory / "go.3").touch()
    wait_for(job, lambda found: states(found, [3]) == {"DONE"})
    assert states(tasks(job), [2]) == {"HELD"}
    (job.directory / "go.2").touch()
    linux.ok("RESUME", JOB_ID=f"{job.id}_2")
    assert states(wait_for(job, all_ended)) == {"DONE"}


def test_abort_of_one_task_leaves_the_others(linux: Target) -> None:
    job = linux.start(**script('touch "began.$GPE_ARRAY_INDEX"; sleep 600'), ARRAY="1-4%2")
    wait_for(job, lambda found: states(found, [1, 2]) == {"RUNNING"})
    linux.ok("ABORT", JOB_ID=f"{job.id}_3")
    linux.ok("ABORT", JOB_ID=f"{job.id}_1")
    found = wait_for(job, lambda found: states(found, [4]) == {"RUNNING"})
    assert in_order(found) == ["REMOVED", "RUNNING", "REMOVED", "RUNNING"]
    assert "has already ended" in linux.fails("ABORT", JOB_ID=f"{job.id}_1")
    linux.ok("ABORT", JOB_ID=job.id)
    assert states(tasks(job)) == {"REMOVED"}
    assert not (job.directory / "began.3").exists()
    assert "it has ended" in linux.fails("ABORT", JOB_ID=job.id)


def test_abort_of_all_keeps_the_ends_of_those_that_have_ended(linux: Target) -> None:
    job = linux.start(**script('[ "$GPE_ARRAY_INDEX" = 1 ] && exit 7; sleep 600'), ARRAY="1-3%1")
    wait_for(job, lambda found: states(found, [2]) == {"RUNNING"})
    linux.ok("ABORT", JOB_ID=job.id)
    found = tasks(job)
    assert (found[1].state, found[1].exit) == ("DONE", 7)
    assert states(found, [2, 3]) == {"REMOVED"}
    assert gone(job)
    assert [*job.directory.glob(".gpe/tasks/*/.gpe/removed")] == [job.directory / ".gpe/tasks/2/.gpe/removed"]
    assert "it has ended" in linux.fails("ABORT", JOB_ID=job.id)


def test_signal_reaches_the_programs_of_all_or_of_one(linux: Target) -> None:
    text = "trap 'echo USR1; exit 5' USR1; touch \"up.$GPE_ARRAY_INDEX\"; while :; do sleep 0.05; done"
    job = linux.start(**script(text), ARRAY="1-4%3", WALLTIME="600")
    for index in (1, 2, 3):
        wait_for_file(job.directory / f"up.{index}")
    assert "has not begun" in linux.fails("SIGNAL", JOB_ID=f"{job.id}_4", SIGNAL=str(int(signal.SIGUSR1)))
    linux.ok("SIGNAL", JOB_ID=f"{job.id}_2", SIGNAL=str(int(signal.SIGUSR1)))
    wait_for_file(job.directory / "up.4")
    found = tasks(job)
    assert (found[2].state, found[2].exit) == ("DONE", 5)
    assert states(found, [1, 3, 4]) == {"RUNNING"}
    linux.ok("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(signal.SIGUSR1)))
    found = wait_for(job, all_ended)
    assert {(status.state, status.exit) for status in found.values()} == {("DONE", 5)}


@pytest.mark.parametrize("alone", [True, False])
def test_without_its_leader_tasks_that_run_end_and_others_are_lost(linux: Target, alone: bool) -> None:
    text = 'touch "began.$GPE_ARRAY_INDEX"; until [ -e go ]; do sleep 0.05; done; exit 6'
    job = linux.start(**script(text), ARRAY="1-3%2")
    wait_for(job, lambda found: states(found, [1, 2]) == {"RUNNING"})
    os.kill(int(session_of(job)), signal.SIGKILL)
    for pid in [] if alone else processes(session_of(job)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    found = wait_for(job, lambda found: states(found, [3]) == {"LOST"})  # a killed process takes its time
    assert states(found, [1, 2]) == {"RUNNING"}
    (job.directory / "go").touch()
    found = wait_for(job, all_ended)
    assert {(status.state, status.exit) for index, status in found.items() if index < 3} == {("DONE", 6)}
    assert gone(job)  # what started the tasks, too
    assert tasks(job)[3].state == "LOST"
    assert not (job.directory / "began.3").exists()


@pytest.mark.race
def test_a_killed_xargs_loses_no_task(linux: Target) -> None:
    job = linux.start(**script("until [ -e go ]; do sleep 0.05; done"), ARRAY="1-5%2")
    wait_for(job, lambda found: states(found, [1, 2]) == {"RUNNING"})
    (xargs,) = [pid for pid in processes(session_of(job)) if name_of(pid) == "xargs"]
    os.kill(xargs, signal.SIGKILL)
    (job.directory / "go").touch()
    assert {(s.state, s.exit) for s in wait_for(job, all_ended).values()} == {("DONE", 0)}


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_the_wall_time_is_that_of_a_task(linux: Target) -> None:
    job = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="1", ARRAY="1-4%1", WALLTIME="3")
    assert states(wait_for(job, all_ended)) == {"DONE"}


def test_delete_removes_an_array(linux: Target) -> None:
    job = linux.start(ARRAY="1-3")
    wait_for(job, all_ended)
    assert gone(job)
    linux.ok("DELETE", PATH=str(job.directory))
    assert not job.directory.exists()
    assert "unknown job" in linux.fails("GET_JOB_STATUS", JOB_ID=job.id)


@pytest.mark.parametrize("index", ["01", "9"])
def test_a_task_that_an_array_does_not_have_is_unknown(linux: Target, index: str) -> None:
    job = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600", ARRAY="1-2%1")
    assert "unknown job" in linux.fails("GET_JOB_STATUS", JOB_ID=f"{job.id}_{index}")
    linux.ok("ABORT", JOB_ID=job.id)


def test_abort_leaves_alone_what_an_ended_array_left_running(linux: Target) -> None:
    job = linux.start(**script("sleep 600 > /dev/null & echo $! > left; exit 0"), ARRAY="1")
    wait_for(job, all_ended)
    left = int(job.read("left"))
    assert gone(job)
    assert "has ended" in linux.fails("ABORT", JOB_ID=job.id)
    assert not (job.directory / ".gpe/removed").exists()
    os.kill(left, signal.SIGKILL)
    after = linux.start(DEPENDENCY=f"afterok:{job.id}")
    assert after.wait().exit == 0


@pytest.mark.race
def test_a_task_runs_once(linux: Target) -> None:
    """A killed xargs leaves a task behind that has not written its session yet; the next xargs begins it, too."""
    job = linux.start(
        **script("echo begun >> begun; until [ -e go ]; do sleep 0.05; done; exit 3"), ARRAY="1"
    )
    wait_for_file(job.directory / "begun")
    environment = {**linux.env, "GPE_ARRAY_ID": job.id, "GPE_JOB_ID": f"{job.id}_1"}
    again = ["setsid", "-w", "sh", ".gpe/script", "1"]
    (job.directory / "go").touch()
    with subprocess.Popen(again, cwd=job.directory, env=environment) as task:
        assert task.wait(PATIENCE) == 1
    assert {(s.state, s.exit) for s in wait_for(job, all_ended).values()} == {("DONE", 3)}
    assert job.read("begun") == "begun\n"


def test_an_array_that_waits_as_a_whole_is_one_line(linux: Target) -> None:
    """A hundred thousand lines took half a minute of each query, and all other jobs waited for it."""
    job = linux.start(**script("exit 0"), ARRAY="1-500", START_TIME=in_seconds(3600))
    wait_for_file(job.directory / ".gpe/waiting")
    wait_for_file(linux.home / ".gpe/jobs/linux/live" / job.id)
    assert set(linux.statuses()) == {job.id}
    linux.ok("ABORT", JOB_ID=f"{job.id}_7")
    linux.ok("HOLD", JOB_ID=f"{job.id}_9")
    found = {name.removeprefix(job.id): status.state for name, status in linux.statuses().items()}
    assert found == {"": "QUEUED", "_7": "REMOVED", "_9": "HELD"}
    linux.ok("HOLD", JOB_ID=job.id)
    assert linux.statuses("", JOB_ID=job.id)[job.id].state == "HELD"
    linux.ok("RESUME", JOB_ID=job.id)
    assert linux.statuses()[job.id].state == "QUEUED"
    linux.ok("ABORT", JOB_ID=job.id)
    assert states(tasks(job)) == {"REMOVED"}
    linux.statuses()
    assert linux.statuses() == {}
