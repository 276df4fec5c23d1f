"""Jobs by the profiles `slurm` and `torque` on a real Slurm, and by `linux`, as a plain user."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
from typing import TYPE_CHECKING

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.lab.conftest import NODE, PROFILES, USER, call
from tests.profiles.conftest import quoted
from tests.waiting import PATIENCE, wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.jobs.state import JobStatus
    from tests.lab.conftest import Lab


def script(text: str) -> dict[str, str]:
    """Give the fields of a job that runs shell text."""
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def test_the_directory_of_a_job(lab: Lab) -> None:
    job = lab.start(**script("id -un; umask"))
    job.wait("DONE")
    assert job.read("stdout").splitlines() == [USER, "0022"]
    assert job.directory.parent.as_posix() == f"{pwd.getpwnam(USER).pw_dir}/.gpe/work/{USER}"
    stat = job.directory.stat()
    assert (stat.st_uid, stat.st_mode & 0o777) == (pwd.getpwnam(USER).pw_uid, 0o700)
    assert lab.ok("DELETE", PATH=str(job.directory)) == ""
    assert not known(lab.profile, job.id)


def known(profile: str, job: str) -> bool:
    return os.path.lexists(f"{pwd.getpwnam(USER).pw_dir}/.gpe/jobs/{profile}/{job}")


def test_a_directory_that_the_node_does_not_see(lab_of: Callable[[str], Lab]) -> None:
    """While the job runs, its directory is not there, as on a cluster whose nodes do not share it."""
    job = lab_of("slurm").start(NODES="2", **script("true"))  # the lab has one node: it waits
    directory, away = job.directory, job.directory.with_name(f"{job.directory.name}.away")
    directory.rename(away)
    try:
        call("scontrol", "update", f"JobId={job.id}", "NumNodes=1")
        live = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
        wait_until(lambda: job.slurm("JobState") not in live, every=0.1)
        assert not directory.exists()
    finally:
        away.rename(directory)
    status = job.status()
    words = f"reason=the job could not enter its working directory {directory} on {NODE}, or not write there: does the node see it?"
    assert (status.state, status.line.endswith(words)) == ("FAILED/NODE", True), status
    assert not (directory / "stdout").exists()


def test_resources_reach_the_batch_system(lab: Lab) -> None:
    job = lab.start(
        NODES="1",
        PROCESSES="3",
        CPUS="2",
        MEMORY="100",
        WALLTIME="90",
        CPUTIME="60",
        QUEUE="short",
        PROJECT="acct",
        JOB_NAME="a-name.1",
        **script('ulimit -t; echo "$OMP_NUM_THREADS"'),
    )
    # Slurm shows a range of nodes as long as the job waits, and it may have begun already.
    assert job.slurm("NumNodes") in {"1-1", "1"}
    assert [job.slurm(a) for a in ("NumCPUs", "MinMemoryNode", "TimeLimit")] == ["6", "100M", "00:02:00"]
    assert [job.slurm(a) for a in ("Partition", "Account", "JobName")] == ["short", "acct", "a-name.1"]
    job.wait("DONE")
    assert job.read("stdout") == "60\n2\n"


def test_a_running_job_cannot_be_held(lab: Lab) -> None:
    job = lab.start(**script("sleep 60"))
    job.wait("RUNNING")
    assert "only waiting jobs can be held" in lab.fails("HOLD", JOB_ID=job.id)
    assert job.status().state == "RUNNING"
    assert job.slurm("Reason") == "None"
    assert lab.ok("RESUME", JOB_ID=job.id) == ""
    lab.ok("ABORT", JOB_ID=job.id)
    assert job.wait("REMOVED")


def test_a_heterogeneous_job(lab_of: Callable[[str], Lab]) -> None:
    """It is held: two components need two nodes, and a job that waits for one keeps others from the only node here."""
    lab = lab_of("slurm")
    directives = "--hold\n#SBATCH hetjob\n#SBATCH --nodes=1"
    text = f'<idb:Field name="EXTRA_DIRECTIVES" isSettable="false"><idb:Value>#SBATCH {directives}</idb:Value></idb:Field>'
    path = lab.site / "slurm/profile.xml"
    before = path.read_text()
    path.write_text(
        before.replace("<idb:Template ", f"<idb:Template>{text}</idb:Template>\n<idb:Template ", 1)
    )
    try:
        job = lab.start(EXECUTABLE="/bin/true")
    finally:
        path.write_text(before)
    for job_id in (job.id, f"{job.id}+0", f"{job.id}+1"):
        assert lab.statuses("", JOB_ID=job_id)[job_id].state == "HELD"
    assert "unknown job" in lab.fails("GET_JOB_STATUS", JOB_ID=f"{job.id}+2")
    assert job.id in lab.statuses()
    assert f"{job.id}+1" not in lab.statuses()
    assert "Operation not permitted on individual component" in lab.fails("ABORT", JOB_ID=f"{job.id}+1")
    lab.ok("ABORT", JOB_ID=job.id)
    job.wait("REMOVED")


def test_a_job_that_ignores_term_is_aborted_too(lab: Lab) -> None:
    job = lab.start(**script("trap '' TERM; touch up; sleep 60 & wait; wait"))
    wait_until((job.directory / "up").exists)
    lab.ok("ABORT", JOB_ID=job.id)
    assert job.wait("REMOVED")


def test_a_failed_submission_says_what_slurm_says(lab: Lab) -> None:
    assert "Invalid partition name specified" in lab.fails("START", QUEUE="nowhere")


def test_a_part_of_an_id_is_another_job(lab: Lab) -> None:
    jobs = [lab.start(NODES="2") for _ in range(2)]
    lab.ok("HOLD", JOB_ID=jobs[1].id)
    assert [job.status().state for job in jobs] == ["QUEUED", "HELD"]
    for job in jobs:
        lab.ok("ABORT", JOB_ID=job.id)


def test_list_and_delete(lab: Lab, directory: Path) -> None:
    job = lab.start("--context", f"WORKING_DIRECTORY={directory}", **script("printf 12345 > 'a\nb'; mkdir d"))
    job.wait("DONE")
    entries = lab.ok("LIST", variation="DIR", PATH=str(directory)).splitlines()
    names = {line.rpartition(" ")[2]: line.split(" ")[:3] for line in entries}
    assert names["a%0Ab"] == ["f", "0644", "5"]
    assert names["d"][:2] == ["d", "0755"]
    (itself,) = lab.ok("LIST", variation="FILE", PATH=f"{directory}/a\nb").splitlines()
    assert itself in entries
    lab.ok("DELETE", PATH=f"{directory}/d")
    assert not (directory / "d").exists()
    assert lab.fails("LIST", "--variation", "DIR", PATH=f"{directory}/d")


def test_linux_as_the_user(lab_of: Callable[[str], Lab]) -> None:
    linux = lab_of("linux")
    job = linux.start(**script("id -un; sleep 60"))
    assert job.status().state == "RUNNING"
    wait_for_file(job.directory / "stdout", f"{USER}\n")
    linux.ok("HOLD", JOB_ID=job.id)
    assert job.status().state == "HELD"
    linux.ok("RESUME", JOB_ID=job.id)
    linux.ok("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"


def test_a_job_whose_answer_was_lost_is_found_again(lab_of: Callable[[str], Lab], directory: Path) -> None:
    slurm = lab_of("slurm")
    option = ("--context", f"WORKING_DIRECTORY={directory}")
    job = slurm.start(*option, NODES="2")
    # what a machine leaves that stops between sbatch and its answer
    (directory / ".gpe/id").unlink()
    (directory / ".gpe/submitting").touch()
    assert slurm.start_found(*option, NODES="2").id == job.id
    slurm.ok("ABORT", JOB_ID=job.id)


def test_a_second_job_of_a_directory_runs_nothing(lab: Lab, directory: Path) -> None:
    """Where the first job cannot be found again: the payload still runs once."""
    option = ("--context", f"WORKING_DIRECTORY={directory}")
    fields = script("echo run >> log")
    first = lab.start(*option, **fields)
    first.wait("DONE")
    again = (directory / ".gpe/script").read_text()
    copy = directory.parent / f"again-{lab.profile}"  # the tests run side by side
    copy.write_text(again)
    shown = lab.start("--context", f"WORKING_DIRECTORY={directory}-2", **script(f"exec sh ../{copy.name}"))
    shown.wait("DONE")
    assert first.read("log") == "run\n"
    assert f"the job of {first.directory} is {first.id}\n" in shown.read("stderr")
    copy.unlink()
    shutil.rmtree(shown.directory)


def test_the_signal_before_the_time_limit(lab_of: Callable[[str], Lab]) -> None:
    """It comes up to a minute early, so that these are not told apart by their limits."""
    lab = lab_of("slurm")
    saves = "trap 'echo saved; exit 3' USR1; echo begun; while sleep 0.1; do :; done"
    fields = {"WALLTIME": "60", "LIMIT_SIGNAL": "USR1@50"}
    ends = "echo begun; exec sleep 60"
    jobs = [lab.start(**script(text), **fields) for text in (saves, ends)]
    passed = lab.start("--context", "PASSED=--signal=b:usr1@50", **script(ends), WALLTIME="60")
    first, second = (job.wait() for job in jobs)
    assert (first.state, jobs[0].read("stdout")) == ("DONE", "begun\nsaved\n")
    for job, end in ((jobs[1], second), (passed, passed.wait())):
        assert (end.state, job.read(".gpe_exit_status")) == ("FAILED/TIME", "138\n")
        assert "ended by USR1, which it got before its time limit" in end.line


SAVES = """echo x >> runs; [ "$(wc -l < runs)" -lt 2 ] || { cat saved; exit 4; }
trap 'echo half > saved; trap - USR1; kill -s USR1 $$' USR1
while sleep 0.1; do :; done"""


def test_a_job_goes_on_in_its_directory_after_its_time_limit(site: Path) -> None:
    """Its own directory is below .gpe, as those of all jobs of batch systems."""
    job = JobDescription(
        executable="/bin/sh",
        arguments=("-c", SAVES),
        walltime=60,
        signal="USR1@50",
        retry="TIME: continue, at most 3",
    )

    async def main() -> tuple[JobStatus, bytes, str]:
        profile = Repository([str(site), str(PROFILES)]).load("slurm")
        async with TargetSystem(profile, {"USER_NAME": USER}, store=Store(":memory:")) as target:
            first = await target.submit(job)
            end = await asyncio.wait_for(target.wait(first), PATIENCE)
            return end, await target.read_stdout(first), await target.find_job_directory(first)

    end, output, directory = asyncio.run(main())
    assert (end.state, end.exit_code, output) == (JobState.DONE, 4, b"half\n")
    assert "/.gpe/work/" in directory
