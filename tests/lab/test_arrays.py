"""Arrays and dependencies on a real Slurm, by the profile's scripts alone.

LAB_TASKS is another number of tasks than 1,000, a multiple of 100.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.lab.conftest import FIELDS, INCARNATE, PROFILES, SHARED, SHELLS, SITE, USER
from tests.profiles.conftest import ENDED, quoted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lab.conftest import Job, Lab, Status

TASKS = int(os.environ.get("LAB_TASKS", "1000"))
OVER, REMOVED_RUNNING, AGAIN, REMOVED_WAITING = 4, 5, 6, TASKS
PROGRAM = f"""case $GPE_ARRAY_INDEX in
{OVER} | {REMOVED_RUNNING}) exec sleep 600 ;;
{AGAIN}) [ ! -e again ] || exit 9; : > again; exec sleep 600 ;;
*1) exit 3 ;;
*2) kill -s KILL $$ ;;
*3) kill -s TERM $$ ;;
*4) exit 255 ;;
*5) exit 127 ;;
*6) exec no-such-command ;;
*7) kill -s USR1 $$ ;;
esac
echo "$GPE_ARRAY_ID $GPE_JOB_ID"
"""
BY_DIGIT = {
    1: ("DONE", 3, None), 2: ("FAILED", None, 9), 3: ("FAILED", None, 15), 4: ("DONE", 255, None),
    5: ("DONE", 127, None), 6: ("DONE", 127, None), 7: ("FAILED", None, 10),
}  # fmt: skip
SPECIAL = {
    OVER: ("FAILED/TIME", None, None),
    REMOVED_RUNNING: ("REMOVED", None, None),
    AGAIN: ("DONE", 9, None),
    REMOVED_WAITING: ("REMOVED", None, None),
}


def expect(index: int) -> tuple[str, int | None, int | None]:
    """Return the end of a task: state, exit code, signal."""
    return SPECIAL.get(index) or BY_DIGIT.get(index % 10, ("DONE", 0, None))


def find_end(status: Status) -> tuple[str, int | None, int | None]:
    code = re.search(r" exit=(\d+)", status.line)
    return status.state, int(code[1]) if code and status.state == "DONE" else None, status.signal


def script(text: str) -> dict[str, str]:
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


@pytest.fixture
def slurm(lab_of: Callable[[str], Lab]) -> Lab:
    return lab_of("slurm")


def states(job: Job) -> list[str]:
    return [status.state for status in job.statuses()]


def task(job: Job, index: int) -> str:
    return f"{job.id}_{index}"


def test_many_tasks_with_mixed_ends(slurm: Lab) -> None:
    job = slurm.start(ARRAY=f"1-{TASKS}%60", WALLTIME="60", **script(PROGRAM))
    slurm.ok("ABORT", JOB_ID=task(job, REMOVED_WAITING))
    for index in (REMOVED_RUNNING, AGAIN):
        wait_until(lambda i=index: "RUNNING" in slurm.ok("GET_JOB_STATUS", JOB_ID=task(job, i)))  # type: ignore[misc]
    slurm.ok("ABORT", JOB_ID=task(job, REMOVED_RUNNING))
    wait_until((job.directory / "again").exists)
    subprocess.run(["scontrol", "requeue", task(job, AGAIN)], check=True)
    wait_until(lambda: ENDED.issuperset(states(job)), 1800)
    ends = job.statuses()
    assert [status.id for status in ends] == [task(job, index) for index in range(1, TASKS + 1)]
    wrong = {i: found for i, found in enumerate(map(find_end, ends), 1) if found != expect(i)}
    assert wrong == {}
    assert job.read("stdout.8") == f"{job.id} {task(job, 8)}\n"
    assert not (job.directory / f"stdout.{REMOVED_WAITING}").exists()
    known = slurm.statuses()
    assert all(known[status.id] == status for status in ends[:-1])
    count_queries(slurm, job)


def count_queries(lab: Lab, job: Job) -> None:
    """Check that Slurm is asked once for all tasks, and once for all jobs."""
    for name in ("squeue", "scontrol", "sacct"):
        program = job.directory / name
        program.write_text(f'#!/bin/sh\necho >> "$0.calls"\nexec /usr/bin/{name} "$@"\n')
        program.chmod(0o755)
    calls = job.directory / "squeue.calls"
    for options in (["--set", f"JOB_ID={job.id}"], ["--variation", "ALL"]):
        command = [str(INCARNATE), "GET_JOB_STATUS", "--profile", lab.profile, *options]
        command += ["--profiles", str(PROFILES), "--context", f"USER_NAME={USER}"]
        shell = f"PATH={quoted(str(job.directory))}:$PATH sh -s"
        text = subprocess.check_output(command)
        done = subprocess.run(
            ["runuser", "-l", USER, "-c", shell], input=text, capture_output=True, check=True
        )
        assert len(done.stdout.splitlines()) >= TASKS - 1
        assert calls.read_text() == "\n"
        calls.unlink()
    assert not (job.directory / "scontrol.calls").exists()


COUNTED = 100
"""The tasks whose queries are counted."""
NOTED = """#!/bin/sh
echo "$*" >> "$0.calls"
PATH=${PATH#*:}
exec "${0##*/}" "$@"
"""


def check_calls(profile: str, submit: str, query: str, others: tuple[str, ...], tmp_path: Path) -> None:
    """Run an array to its end while the poller runs, and count what is asked of the batch system.

    It is one submission, and one query a poll for all jobs. Tasks that are not listed any more share another query.
    """
    calls = Path(SHARED, USER, f"calls-{uuid.uuid4().hex[:8]}")
    calls.mkdir(parents=True)
    for name in (submit, query, *others):
        (calls / name).write_text(NOTED)
        (calls / name).chmod(0o755)
    for path in (calls.parent, calls):
        shutil.chown(path, USER)
    shell = SHELLS.get(profile, "exec sh -s").replace("exec ", f"PATH={calls}:$PATH; exec ")
    (tmp_path / profile).mkdir()
    document = SITE.format(name=profile, user=USER, shell=shell, fields=FIELDS.get(profile, ""))
    (tmp_path / profile / "profile.xml").write_text(document)
    resolved = Repository([str(tmp_path), str(PROFILES)]).load(profile)
    description = JobDescription(
        executable="/bin/sh",
        arguments=("-c", "sleep 2; exit $((GPE_ARRAY_INDEX % 4))"),
        array=f"1-{COUNTED}",
    )

    async def main() -> tuple[int, dict[int, int | None]]:
        timing = Timing(min_poll_interval=1, max_poll_interval=3)
        async with TargetSystem(resolved, {"USER_NAME": USER}, timing=timing) as target:
            array = await target.submit(description)
            status = await target.wait(array)
            assert status.state is JobState.FAILED, status
            polls = target.query_count
            tasks = await target.task_statuses(array)
            await target.files.delete_path(await target.find_job_directory(array))
            return polls, {index: task.exit_code for index, task in tasks.items()}

    def count(name: str) -> int:
        path = calls / f"{name}.calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    try:
        polls, codes = asyncio.run(main())
        counts = {name: count(name) for name in (submit, query, *others)}
    finally:
        shutil.rmtree(calls)
    assert codes == {index: index % 4 for index in range(1, COUNTED + 1)}
    assert counts[submit] == 1
    assert 0 < polls <= counts[query] <= 2 * polls + 1, (polls, counts)  # one more for task_statuses
    assert all(counts[name] <= polls for name in others), (polls, counts)


def test_slurm_is_asked_once_a_poll(site: Path, tmp_path: Path) -> None:
    assert site.is_dir()  # Slurm is up
    check_calls("slurm", "sbatch", "squeue", ("scontrol", "sacct"), tmp_path)


def test_an_array_and_its_tasks_are_held_resumed_signalled_and_removed(slurm: Lab) -> None:
    job = slurm.start(ARRAY="0-5%2", **script("trap 'exit 7' USR1; : > up.$GPE_ARRAY_INDEX; sleep 60 & wait"))
    wait_until(lambda: all((job.directory / f"up.{index}").exists() for index in (0, 1)))
    assert slurm.ok("FIND_JOB", "--context", f"WORKING_DIRECTORY={job.directory}") == f"{job.id}\n"
    slurm.ok("HOLD", JOB_ID=job.id)
    assert states(job) == ["RUNNING", "RUNNING", "HELD", "HELD", "HELD", "HELD"]
    slurm.ok("SIGNAL", JOB_ID=job.id, SIGNAL="10")
    wait_until(lambda: states(job)[:2] == ["DONE", "DONE"])
    assert [find_end(status)[1] for status in job.statuses()] == [7, 7, None, None, None, None]
    slurm.ok("ABORT", JOB_ID=task(job, 2))
    slurm.ok("RESUME", JOB_ID=job.id)
    slurm.ok("HOLD", JOB_ID=task(job, 5))
    wait_until(lambda: states(job) == ["DONE", "DONE", "REMOVED", "RUNNING", "RUNNING", "HELD"])
    wait_until((job.directory / "up.3").exists)
    slurm.ok("SIGNAL", JOB_ID=task(job, 3), SIGNAL="10")
    slurm.ok("RESUME", JOB_ID=task(job, 5))
    wait_until(lambda: states(job) == ["DONE", "DONE", "REMOVED", "DONE", "RUNNING", "RUNNING"])
    assert "already ended" in slurm.fails("ABORT", JOB_ID=task(job, 3))
    slurm.ok("ABORT", JOB_ID=job.id)
    wait_until(lambda: states(job) == ["DONE", "DONE", "REMOVED", "DONE", "REMOVED", "REMOVED"])
    for verb in ("ABORT", "HOLD", "RESUME"):
        assert job.id in slurm.fails(verb, JOB_ID=job.id)
    assert "only running jobs" in slurm.fails("SIGNAL", JOB_ID=job.id, SIGNAL="10")


def test_resume_releases_held_tasks_beside_suspended_ones(slurm: Lab) -> None:
    """Slurm lets only its operators continue a suspended job, and says so."""
    job = slurm.start(ARRAY="0-2%1", **script("sleep 60"))
    wait_until(lambda: states(job)[0] == "RUNNING")
    slurm.ok("HOLD", JOB_ID=job.id)
    subprocess.run(["scontrol", "suspend", task(job, 0)], check=True)
    assert states(job) == ["HELD", "HELD", "HELD"]
    assert "denied" in slurm.fails("RESUME", JOB_ID=job.id)
    assert states(job) == ["HELD", "QUEUED", "QUEUED"]
    slurm.ok("ABORT", JOB_ID=job.id)


def test_an_array_that_waits_is_found_and_removed(slurm: Lab) -> None:
    job = slurm.start(ARRAY="7-9", NODES="2")  # the lab has one
    assert states(job) == ["QUEUED"] * 3
    assert slurm.ok("FIND_JOB", "--context", f"WORKING_DIRECTORY={job.directory}") == f"{job.id}\n"
    slurm.ok("HOLD", JOB_ID=job.id)
    assert states(job) == ["HELD"] * 3
    slurm.ok("RESUME", JOB_ID=task(job, 8))
    assert states(job) == ["HELD", "QUEUED", "HELD"]
    slurm.ok("ABORT", JOB_ID=task(job, 7))
    assert states(job) == ["REMOVED", "QUEUED", "HELD"]
    slurm.ok("ABORT", JOB_ID=job.id)
    assert states(job) == ["REMOVED"] * 3
    assert [status.id for status in job.statuses()] == [task(job, index) for index in (7, 8, 9)]


def test_a_task_that_others_removed_before_it_began(slurm: Lab) -> None:
    job = slurm.start(ARRAY="1-3", NODES="2")
    subprocess.run(["scancel", task(job, 2)], check=True)
    wait_until(lambda: states(job) == ["QUEUED", "REMOVED", "QUEUED"])
    slurm.ok("ABORT", JOB_ID=job.id)


KINDS = {"afterok": (0,), "afternotok": (3, 137), "afterany": (0, 3, 137)}


@pytest.mark.parametrize("code", [0, 3, 137])
@pytest.mark.parametrize("kind", KINDS)
def test_dependencies(lab: Lab, kind: str, code: int) -> None:
    text = "kill -s KILL $$" if code == 137 else f"exit {code}"
    first = lab.start(**script(f"while [ ! -e go ]; do sleep 0.1; done; {text}"))
    second = lab.start(DEPENDENCY=f"{kind}:{first.id}", **script("echo ran"))
    third = lab.start(DEPENDENCY=f"afterany:{second.id}", **script("echo ran"))
    assert second.status().state == "QUEUED"
    (first.directory / "go").touch()
    if code in KINDS[kind]:
        second.wait("DONE")
        assert second.read("stdout") == "ran\n"
    else:
        status = second.wait("REMOVED/DEPENDENCY")
        assert " reason=DEPENDENCY" in status.line
        assert not (second.directory / "stdout").exists()
    third.wait("DONE")


@pytest.mark.parametrize("end", ["removed while it ran", "removed before it began", "over its limit"])
def test_dependencies_on_a_job_that_did_not_end_by_itself(slurm: Lab, end: str) -> None:
    """Each is another end than a good one."""
    fields = {"NODES": "2"} if end == "removed before it began" else {}  # the lab has one
    first = slurm.start(WALLTIME="60", **script("exec sleep 600"), **fields)
    after = {kind: slurm.start(DEPENDENCY=f"{kind}:{first.id}", **script("echo ran")) for kind in KINDS}
    assert {job.status().state for job in after.values()} == {"QUEUED"}
    if end != "removed before it began":
        wait_until(lambda: first.status().state == "RUNNING")
    if end != "over its limit":
        slurm.ok("ABORT", JOB_ID=first.id)
    wait_until(lambda: first.status().state in ENDED)
    assert first.status().state == ("FAILED/TIME" if end == "over its limit" else "REMOVED")
    for kind in ("afternotok", "afterany"):
        wait_until(lambda k=kind: after[k].status().state == "DONE")  # type: ignore[misc]
        assert after[kind].read("stdout") == "ran\n"
    wait_until(lambda: after["afterok"].status().state in ENDED)
    assert " reason=DEPENDENCY" in after["afterok"].wait("REMOVED/DEPENDENCY").line
    assert not (after["afterok"].directory / "stdout").exists()


def test_dependencies_on_arrays_and_tasks(slurm: Lab) -> None:
    array = slurm.start(
        ARRAY="1-3", **script("while [ ! -e go ]; do sleep 0.1; done; exit $((GPE_ARRAY_INDEX - 1))")
    )
    good = slurm.start(DEPENDENCY=f"afterok:{task(array, 1)},afternotok:{task(array, 3)}", **script("exit 0"))
    bad = slurm.start(DEPENDENCY=f"afterok:{array.id}", **script("exit 0"))
    tasks = slurm.start(DEPENDENCY=f"afterok:{bad.id}", ARRAY="1-2", **script("exit 0"))
    end = slurm.start(DEPENDENCY=f"afterany:{tasks.id}", **script("exit 0"))
    assert states(tasks) == ["QUEUED", "QUEUED"]
    (array.directory / "go").touch()
    good.wait("DONE")
    assert " reason=DEPENDENCY" in bad.wait("REMOVED/DEPENDENCY").line
    wait_until(lambda: states(tasks) == ["REMOVED/DEPENDENCY", "REMOVED/DEPENDENCY"])
    assert all(" reason=DEPENDENCY" in status.line for status in tasks.statuses())
    end.wait("DONE")
