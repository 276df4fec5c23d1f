"""Jobs by the profiles `slurm` and `torque` on a real Slurm, and by `linux`, as a plain user."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.lab.conftest import USER
from tests.profiles.conftest import exports, quoted
from tests.profiles.test_hostile_values import CARRIED, PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.conftest import Lab


def script(text: str) -> dict[str, str]:
    """Give the fields of a job that runs shell text."""
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def test_a_job_from_start_to_end(lab: Lab) -> None:
    job = lab.start(
        **script('id -un; umask; pwd; echo "$GPE_JOB_ID $X"; echo err >&2; exit 7'),
        ENVIRONMENT=exports(X="a 'b'"),
    )
    assert "exit=7" in job.wait("DONE").line
    me = pwd.getpwnam(USER)
    lines = [USER, "0022", str(job.directory), f"{job.id} a 'b'"]
    assert job.read("stdout").splitlines() == lines
    assert job.read("stderr") == "err\n"
    assert job.read(".gpe_exit_status") == "7\n"
    assert job.directory.parent.as_posix() == f"/var/tmp/{USER}"
    stat = job.directory.stat()
    assert (stat.st_uid, stat.st_mode & 0o777) == (me.pw_uid, 0o700)
    assert lab.statuses()[job.id] == job.status()
    assert "already ended" in lab.fails("ABORT", JOB_ID=job.id)
    assert job.id in lab.fails("HOLD", JOB_ID=job.id)
    assert lab.ok("DELETE", PATH=str(job.directory)) == ""
    assert not known(lab.profile, job.id)


def known(profile: str, job: str) -> bool:
    return os.path.lexists(f"{pwd.getpwnam(USER).pw_dir}/.gpe/jobs/{profile}/{job}")


@pytest.mark.parametrize(("text", "number"), [("kill -s KILL $$", 9), ("kill -s TERM $$", 15)])
def test_a_killed_payload_is_a_failure(lab: Lab, text: str, number: int) -> None:
    job = lab.start(**script(text))
    assert job.wait("FAILED").signal == number
    assert job.read(".gpe_exit_status") == f"{128 + number}\n"


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


def test_a_waiting_job_is_held_resumed_and_aborted(lab: Lab) -> None:
    job = lab.start(NODES="2")  # the lab has one
    assert job.status().state == "QUEUED"
    assert lab.ok("HOLD", JOB_ID=job.id) == ""
    assert job.status().state == "HELD"
    assert lab.statuses()[job.id].state == "HELD"
    assert lab.ok("RESUME", JOB_ID=job.id) == ""
    assert job.status().state == "QUEUED"
    assert lab.ok("ABORT", JOB_ID=job.id) == ""
    assert job.wait("REMOVED")
    assert not (job.directory / "stdout").exists()


def test_a_running_job_cannot_be_held(lab: Lab) -> None:
    job = lab.start(**script("sleep 60"))
    job.wait("RUNNING")
    assert "only waiting jobs can be held" in lab.fails("HOLD", JOB_ID=job.id)
    assert job.status().state == "RUNNING"
    assert job.slurm("Reason") == "None"
    assert lab.ok("RESUME", JOB_ID=job.id) == ""
    lab.ok("ABORT", JOB_ID=job.id)
    assert job.wait("REMOVED")


def test_a_job_that_ignores_term_is_aborted_too(lab: Lab) -> None:
    job = lab.start(**script("trap '' TERM; touch up; sleep 60 & wait; wait"))
    job.wait("RUNNING")
    lab.ok("ABORT", JOB_ID=job.id)
    assert job.wait("REMOVED")


def test_hostile_values_reach_the_payload(lab: Lab, directory: Path, tmp_path: Path) -> None:
    me = pwd.getpwnam(USER)
    payload = tmp_path / "payload"
    payload.write_text(PAYLOAD)
    directory.mkdir(parents=True, mode=0o700)
    (directory / "a * 'b' %j").write_text(PAYLOAD)
    (directory / "a * 'b' %j").chmod(0o755)
    value = "|".join(CARRIED)
    (directory / "in %A\n'").write_text(value)
    for path in (directory.parent, directory, *directory.iterdir()):
        os.chown(path, me.pw_uid, me.pw_gid)
    job = lab.start(
        "--context",
        f"WORKING_DIRECTORY={directory}",
        EXECUTABLE="./a * 'b' %j",
        ARGUMENTS=quoted(*CARRIED),
        ENVIRONMENT=exports(HOSTILE=value),
        STDIN="in %A\n'",
        STDOUT="%j-\u2028",
        STDERR="-e $(id)\r",
    )
    assert "exit=0" in job.wait("DONE").line
    got = (directory / "got.arguments").read_bytes().split(b"\0")
    assert got == [text.encode() for text in ("./a * 'b' %j", *CARRIED, "")]
    assert (directory / "got.environment").read_bytes() == value.encode()
    assert (directory / "got.stdin").read_bytes() == value.encode()
    assert (directory / "%j-\u2028").read_text() == "out\n"
    assert (directory / "-e $(id)\r").read_text() == "err\n"


def test_starts_at_the_same_time_submit_one_job(lab: Lab, directory: Path) -> None:
    option = ("--context", f"WORKING_DIRECTORY={directory}")
    with ThreadPoolExecutor(3) as pool:
        jobs = [*pool.map(lambda _: lab.start(*option, **script("echo run >> log")), range(3))]
    assert len({job.id for job in jobs}) == 1
    jobs[0].wait("DONE")
    assert jobs[0].read("log") == "run\n"
    assert lab.start(*option).id == jobs[0].id


def test_a_failed_submission_says_what_slurm_says(lab: Lab) -> None:
    assert "Invalid partition name specified" in lab.fails("START", QUEUE="nowhere")


@pytest.mark.parametrize("verb", ["GET_JOB_STATUS", "HOLD", "RESUME", "ABORT"])
def test_an_unknown_job_is_an_error(lab: Lab, verb: str) -> None:
    assert lab.fails(verb, JOB_ID="999999").strip()


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
    linux.ok("HOLD", JOB_ID=job.id)
    assert job.status().state == "HELD"
    linux.ok("RESUME", JOB_ID=job.id)
    linux.ok("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"
    assert job.read("stdout") == f"{USER}\n"


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


def test_a_running_job_gets_a_signal(lab_of: Callable[[str], Lab]) -> None:
    lab = lab_of("slurm")
    text = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"
    caught, killed = (lab.start(**script(text)) for _ in range(2))
    for job in (caught, killed):
        job.wait("RUNNING")
        while not (job.directory / "stdout").exists() or job.read("stdout") != "ready\n":
            time.sleep(0.05)
    assert lab.ok("SIGNAL", JOB_ID=caught.id, SIGNAL="10") == ""
    assert lab.ok("SIGNAL", JOB_ID=killed.id, SIGNAL="12") == ""
    assert "exit=5" in caught.wait("DONE").line
    assert killed.wait("FAILED").signal == 12
    assert "only running jobs can get signals" in lab.fails("SIGNAL", JOB_ID=caught.id, SIGNAL="10")
