"""Jobs of a machine without a batch system that wait: for other jobs, or for a time."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from tests.profiles.test_arrays import all_ended, in_seconds, states, tasks, wait_for
from tests.profiles.test_linux import gone, process_state, processes, script, session_of
from tests.waiting import wait_for_file, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.profiles.conftest import Job, Target


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: process_state(pid) == "T")


def waits_for(job: Job, text: str) -> None:
    status = job.status()
    assert (status.state, status.word, status.reason) == ("QUEUED", "waiting", text)


def is_removed(job: Job) -> None:
    status = job.wait()
    assert (status.state, status.reason) == ("REMOVED/DEPENDENCY", "DEPENDENCY")
    assert not (job.directory / "stdout").exists()
    assert (
        job.target.ok("GET_JOB_STATUS", JOB_ID=job.id) == f"{job.id} removed/dependency reason=DEPENDENCY\n"
    )


FIRST = "until [ -e go ]; do sleep 0.05; done; "
ENDS = {
    "0": ("exit 0", {"afterok", "afterany"}),
    "3": ("exit 3", {"afternotok", "afterany"}),
    "signal": ("kill -s KILL $$", {"afternotok", "afterany"}),
    "limit": ("exec sleep 600", {"afternotok", "afterany"}),
    "lost": ("kill -s KILL 0", {"afternotok", "afterany"}),
}


@pytest.mark.parametrize("end", ENDS)
def test_each_condition_and_each_end(linux: Target, end: str) -> None:
    text, holds = ENDS[end]
    fields = {"WALLTIME": "3"} if end == "limit" else {}
    first = linux.start(**script(FIRST + text), **fields)
    if fields:  # its time stands still until the others wait for it
        wait_for_file(first.directory / ".gpe/watch")
        watch = int((first.directory / ".gpe/watch").read_text())
        stop(watch)
    jobs = {
        kind: linux.start(DEPENDENCY=f"{kind}:{first.id}") for kind in ("afterok", "afternotok", "afterany")
    }
    for kind, job in jobs.items():
        waits_for(job, f"waits for {kind}:{first.id}")
    (first.directory / "go").touch()
    if fields:
        os.kill(watch, signal.SIGCONT)
    for kind, job in jobs.items():
        if kind in holds:
            status = job.wait()
            assert (status.state, status.exit) == ("DONE", 0)
            assert job.read("stdout")
        else:
            is_removed(job)


def test_a_removed_job_is_another_end(linux: Target) -> None:
    first = linux.start(EXECUTABLE="/bin/sleep", ARGUMENTS="600")
    never = linux.start(DEPENDENCY=f"afterok:{first.id}")
    after = linux.start(DEPENDENCY=f"afternotok:{first.id}")
    linux.ok("ABORT", JOB_ID=first.id)
    is_removed(never)
    assert after.wait().exit == 0


def test_all_conditions_must_hold(linux: Target) -> None:
    good = linux.start(**script("exit 0"))
    bad = linux.start(**script("exit 1"))
    late = linux.start(**script(FIRST + "exit 0"))
    job = linux.start(
        DEPENDENCY=f"afterok:{good.id}:{late.id},afternotok:{bad.id},afterany:{bad.id}:{good.id}"
    )
    assert job.wait("QUEUED").state == "QUEUED"
    never = linux.start(DEPENDENCY=f"afterany:{late.id},afterok:{bad.id}")
    is_removed(never)  # at once: what is still to come cannot change it
    (late.directory / "go").touch()
    assert job.wait().exit == 0


def test_chains_of_jobs_that_can_never_run(linux: Target) -> None:
    first = linux.start(**script(FIRST + "exit 1"))
    second = linux.start(DEPENDENCY=f"afterok:{first.id}")
    third = linux.start(DEPENDENCY=f"afterok:{second.id}")
    last = linux.start(DEPENDENCY=f"afternotok:{second.id}")
    (first.directory / "go").touch()
    is_removed(second)
    is_removed(third)
    assert last.wait().exit == 0


def test_arrays_and_tasks(linux: Target) -> None:
    array = linux.start(**script(FIRST + 'exit "$GPE_ARRAY_INDEX"'), ARRAY="0-2%3")
    jobs = {
        (kind, which): linux.start(DEPENDENCY=f"{kind}:{array.id}{which}")
        for kind in ("afterok", "afternotok", "afterany")
        for which in ("", "_0", "_2")
    }
    for job in jobs.values():
        assert job.status().state == "QUEUED"
    (array.directory / "go").touch()
    wait_for(array, all_ended)
    for (kind, which), job in jobs.items():
        if kind == "afterany" or (kind == "afterok") == (which == "_0"):
            assert job.wait().exit == 0, (kind, which)
        else:
            is_removed(job)


def test_a_job_that_waits_is_never_lost_while_its_removal_is_written(linux: Target) -> None:
    first = linux.start(**script(FIRST))
    job = linux.start(DEPENDENCY=f"afterok:{first.id}")
    (job.directory / ".gpe/removed").touch()
    assert job.wait().state == "REMOVED"
    (first.directory / "go").touch()
    first.wait()


def test_an_array_waits_and_is_removed_as_a_whole(linux: Target) -> None:
    first = linux.start(**script(FIRST + "exit 0"))
    good = linux.start(ARRAY="1-3", DEPENDENCY=f"afterok:{first.id}")
    bad = linux.start(ARRAY="1-3", DEPENDENCY=f"afternotok:{first.id}")
    for array in (good, bad):
        assert {(s.state, s.word) for s in tasks(array).values()} == {("QUEUED", "waiting")}
    after_bad = linux.start(DEPENDENCY=f"afternotok:{bad.id}")
    (first.directory / "go").touch()
    assert {(s.state, s.exit) for s in wait_for(good, all_ended).values()} == {("DONE", 0)}
    assert {(s.state, s.reason) for s in wait_for(bad, all_ended).values()} == {
        ("REMOVED/DEPENDENCY", "DEPENDENCY")
    }
    assert not list(bad.directory.glob("stdout*"))
    assert after_bad.wait().exit == 0


@pytest.mark.parametrize("unknown", ["1-2-00000000", "{}_7", "{}_0", "none"])
def test_an_unknown_job_is_refused_before_anything_is_submitted(linux: Target, unknown: str) -> None:
    known = linux.start(ARRAY="1-2")
    name = unknown.format(known.id)
    directory = linux.directory()
    done = linux.run("START", directory=directory, DEPENDENCY=f"afterany:{known.id}:{name}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"DEPENDENCY names {name}, which is no job of this profile" in done.stderr
    assert not (directory / ".gpe/id").exists()
    assert linux.find(directory) == ""
    wait_for(known, all_ended)


def test_hold_resume_and_abort_of_a_job_that_waits(linux: Target) -> None:
    first = linux.start(**script(FIRST + "exit 0"))
    job = linux.start(DEPENDENCY=f"afterok:{first.id}")
    wait_for_file(job.directory / ".gpe/waiting")
    linux.ok("HOLD", JOB_ID=job.id)
    assert (job.status().state, job.status().word) == ("HELD", "held")  # not suspended: it has not begun
    (first.directory / "go").touch()
    first.wait()
    assert job.status().state == "HELD"
    assert "has not begun" in linux.fails("SIGNAL", JOB_ID=job.id, SIGNAL="15")
    linux.ok("RESUME", JOB_ID=job.id)
    assert job.wait().exit == 0
    job = linux.start(START_TIME="2100-01-01T00:00")
    wait_for_file(job.directory / ".gpe/waiting")
    waits_for(job, "not before 2100-01-01T00:00")
    linux.ok("ABORT", JOB_ID=job.id)
    status = job.wait()
    assert (status.state, status.reason) == ("REMOVED", None)
    assert gone(job)
    assert not (job.directory / "stdout").exists()


def test_an_array_that_waits_is_held_and_aborted(linux: Target) -> None:
    job = linux.start(START_TIME="2100-01-01T00:00:00", ARRAY="1-2")
    wait_for_file(job.directory / ".gpe/waiting")
    linux.ok("HOLD", JOB_ID=job.id)
    assert states(tasks(job)) == {"HELD"}
    assert f"resume {job.id}\n" in linux.fails("RESUME", JOB_ID=f"{job.id}_1")
    linux.ok("RESUME", JOB_ID=job.id)
    assert states(tasks(job)) == {"QUEUED"}
    linux.ok("ABORT", JOB_ID=job.id)
    assert states(tasks(job)) == {"REMOVED"}
    assert gone(job)
    assert not list(job.directory.glob(".gpe/tasks/*/.gpe/*")), (
        "a note for each of 100,000 tasks takes minutes"
    )
    assert "it has ended" in linux.fails("ABORT", JOB_ID=job.id)


def test_a_killed_job_that_waits_is_lost(linux: Target) -> None:
    job = linux.start(START_TIME="2100-01-01T00:00")
    wait_for_file(job.directory / ".gpe/host")
    while left := processes(session_of(job)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert job.wait().state == "LOST"


def test_start_time_and_what_counts_from_then(linux: Target) -> None:
    begin = int(time.time()) + 8
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(begin))
    job = linux.start(**script("date +%s"), START_TIME=text, WALLTIME="7")
    waits_for(job, f"not before {text}")
    assert job.wait().exit == 0
    assert int(job.read("stdout")) >= begin
    line = linux.ok("GET_JOB_STATUS", JOB_ID=job.id)
    assert float(line.split("elapsed=")[1].split()[0]) <= time.time() - begin


@pytest.mark.parametrize("after", ["time", "job"])
def test_a_directory_that_was_replaced_while_its_job_waited(
    linux: Target, tmp_path: Path, after: str
) -> None:
    """As by a cleaner of old files, and by somebody who knew the name: nothing is written there, and nothing runs."""
    first = linux.start(**script(FIRST))
    for seconds in (2, 10, 60):  # on a busy machine, it may have begun before it is stopped
        fields = {"time": {"START_TIME": in_seconds(seconds)}, "job": {"DEPENDENCY": f"afterok:{first.id}"}}[
            after
        ]
        job = linux.start(**script("echo other; touch ../ran"), **fields)
        wait_for_file(job.directory / ".gpe/host")  # the last that it writes before it waits
        stop(leader := int(session_of(job)))
        if (job.directory / ".gpe/waiting").exists():
            break
        os.kill(leader, signal.SIGCONT)
        wait_for_file(job.directory.parent / "ran")
        (job.directory.parent / "ran").unlink()
    shutil.copytree(job.directory, tmp_path / "copy")
    shutil.rmtree(job.directory)
    (tmp_path / "copy").rename(job.directory)
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    (job.directory / "stdout").symlink_to(victim)
    (first.directory / "go").touch()
    os.kill(leader, signal.SIGCONT)
    assert gone(job)
    assert victim.read_text() == "mine\n"
    assert not (job.directory.parent / "ran").exists()
    assert job.wait().state == "LOST"


def test_a_time_that_has_passed(linux: Target) -> None:
    assert linux.start(START_TIME="2001-01-01T00:00").wait().exit == 0


def test_both_a_time_and_a_job(linux: Target) -> None:
    first = linux.start(**script(FIRST + "exit 0"))
    job = linux.start(START_TIME=in_seconds(1), DEPENDENCY=f"afterok:{first.id}")
    (first.directory / "go").touch()
    assert job.wait().exit == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("START_TIME", "tomorrow"),
        ("START_TIME", "2027-01-01T00:00; id"),
        ("START_TIME", "2027-01-01 00:00"),
        ("START_TIME", "2027-01-01T00:00\n"),
        ("DEPENDENCY", "afterok"),
        ("DEPENDENCY", "afterok:"),
        ("DEPENDENCY", "12"),
        ("DEPENDENCY", "afterok:../../etc"),
        ("DEPENDENCY", "afterok:$(id)"),
        ("DEPENDENCY", "after:12"),
        ("DEPENDENCY", "afterok:12 13"),
        ("DEPENDENCY", "afterok:12,"),
        ("ARRAY", "1-"),
        ("ARRAY", "$(id)"),
        ("ARRAY", "1-10%0"),
        ("ARRAY", "1,2\n"),
        ("ARRAY", "-1"),
        ("ARRAY", "1-3:0"),
        ("ARRAY", "*"),
    ],
)
def test_what_is_no_time_condition_or_list_is_refused_by_name(linux: Target, name: str, value: str) -> None:
    with pytest.raises(IncarnationError, match=name):
        linux.script("START", **{name: value})


def test_an_end_counts_after_its_record_is_gone(linux: Target) -> None:
    good = linux.start(**script("exit 0"))
    good.wait()
    first = linux.start(**script(FIRST))
    after = linux.start(DEPENDENCY=f"afterok:{good.id}:{first.id}")
    time.sleep(0.5)
    linux.ok("DELETE", PATH=str(good.directory))
    time.sleep(1.2)
    (first.directory / "go").touch()
    assert after.wait().exit == 0


@pytest.mark.parametrize("array", [False, True])
def test_a_program_that_lost_its_leader_has_not_ended(linux: Target, array: bool) -> None:
    fields = {"ARRAY": "1"} if array else {}
    first = linux.start(**script("touch began; until [ -e go ]; do sleep 0.05; done"), **fields)
    wait_for_file(first.directory / "began")
    session = (first.directory / ".gpe/tasks/1/.gpe/session").read_text() if array else first.id
    after = linux.start(DEPENDENCY=f"afterany:{first.id}")
    os.kill(int(session.partition("-")[0]), signal.SIGKILL)
    time.sleep(1.5)
    assert first.status().state == "RUNNING" if not array else tasks(first)[1].state == "RUNNING"
    assert after.status().state == "QUEUED"
    (first.directory / "go").touch()
    assert after.wait().exit == 0


def test_what_is_removed_while_it_waits_leaves_no_exit_status(linux: Target) -> None:
    """ABORT takes its note back where it finds an exit status: the job would count as one that ended well."""
    first = linux.start(**script(FIRST))
    noted = linux.start(DEPENDENCY=f"afterany:{first.id}")
    never = linux.start(DEPENDENCY=f"afternotok:{first.id}")
    (noted.directory / ".gpe/removed").write_text("removed\n")
    for job in (noted, never):
        if job is never:
            (first.directory / "go").touch()
        assert job.wait().word == ("removed/dependency" if job is never else "removed")
        wait_until(partial(gone, job))
        assert not (job.directory / ".gpe_exit_status").exists()


@pytest.mark.parametrize("later", ["", "1-2"])
def test_a_refused_start_leaves_no_tasks_to_the_next_one(linux: Target, later: str) -> None:
    directory = linux.directory()
    refused = linux.run("START", directory=directory, ARRAY="1-4", START_TIME="2026-02-30T00:00")
    assert refused.returncode == 1
    job = linux.start_found(directory, **script("exit 3"), **({"ARRAY": later} if later else {}))
    if later:
        assert set(wait_for(job, all_ended)) == {1, 2}
    else:
        assert (job.wait().state, job.status().exit) == ("DONE", 3)
