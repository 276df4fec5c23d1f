"""What the batch system answers to a submission, through the profile slurm with stand-ins."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.shell import wrap_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.repository import Repository
    from tests.profiles.conftest import Target

CUT = 75
STAND_IN = """#!/bin/sh
echo x >> "$STAND_INS/{name}.calls"
[ ! -e "$STAND_INS/{name}.sleeps" ] || sleep 1
cat "$STAND_INS/{name}.says"
exit "$(cat "$STAND_INS/{name}.exits")"
"""


class Slurm:
    """Stand-ins for sbatch and squeue, which say what they are told to say."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        for name in ("sbatch", "squeue"):
            (directory / name).write_text(STAND_IN.format(name=name))
            (directory / name).chmod(0o700)
            self.set(name)

    def set(self, name: str, says: str = "", exits: int = 0) -> None:
        (self.directory / f"{name}.says").write_text(says)
        (self.directory / f"{name}.exits").write_text(f"{exits}\n")

    def calls(self, name: str) -> int:
        path = self.directory / f"{name}.calls"
        return len(path.read_text().split()) if path.exists() else 0


@pytest.fixture
def commands(tmp_path: Path) -> Slurm:
    return Slurm(tmp_path / "slurm")


@pytest.fixture
def slurm(target_of: Callable[..., Target], commands: Slurm) -> Target:
    target = target_of("slurm", commands.directory)
    target.environment["STAND_INS"] = str(commands.directory)
    return target


@pytest.mark.parametrize("answer", ["", "Submitted\n", "a b 12 c\n", "$(id)7\n", "../7\n"])
def test_an_answer_that_cannot_be_read_is_no_failure(slurm: Target, commands: Slurm, answer: str) -> None:
    """The job may run: START says so, and submits it no second time."""
    directory = slurm.directory()
    commands.set("sbatch", answer)
    for _ in range(2):
        done = slurm.run("START", directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert answer.strip() in done.stderr
        assert "whether the job was submitted is not known" in done.stderr
    assert commands.calls("sbatch") == 1
    # it turns up
    commands.set("squeue", f"6|/else/where\n7|{directory}\n")
    assert slurm.start(directory).id == "7"
    assert commands.calls("sbatch") == 1


def test_a_user_who_knows_that_there_is_no_job(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "no\n")
    slurm.run("START", directory=directory)
    assert f"remove {directory}/.gpe_no_id" in slurm.run("START", directory=directory).stderr
    (directory / ".gpe_no_id").unlink()
    commands.set("sbatch", "8\n")
    assert slurm.start(directory).id == "8"


@pytest.mark.parametrize(("answer", "status"), [("", 1), ("timed out\n", 1), ("no id\n", 0)])
def test_a_batch_system_that_failed_after_it_took_the_job(
    slurm: Target, commands: Slurm, answer: str, status: int
) -> None:
    directory = slurm.directory()
    commands.set("sbatch", answer, status)
    commands.set("squeue", f"7|{directory}\n")
    done = slurm.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert slurm.start(directory).id == "7"
    assert commands.calls("sbatch") == 1


def test_what_the_user_has_set_for_squeue(slurm: Target, commands: Slurm) -> None:
    """It would hide the job that is looked for."""
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    commands.set("squeue", f"7|{directory}\n")
    squeue = commands.directory / "squeue"
    squeue.write_text(squeue.read_text().replace("cat ", '[ -n "$SQUEUE_PARTITION" ] || cat '))
    slurm.environment["SQUEUE_PARTITION"] = "debug"
    assert slurm.run("START", directory=directory).stdout == "7\n"


def test_an_abort_of_a_job_that_has_ended_by_itself(slurm: Target, commands: Slurm) -> None:
    commands.set("sbatch", "7\n")
    job = slurm.start()
    (job.directory / ".gpe_exit_status").write_text("0\n")
    commands.set("squeue", "7 RUNNING\n")  # it has not heard of it
    (commands.directory / "scancel").write_text("#!/bin/sh\n")
    (commands.directory / "scancel").chmod(0o700)
    slurm.ok("ABORT", JOB_ID="7")
    assert not (job.directory / ".gpe_removed").exists()


def test_a_batch_system_that_is_away(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    commands.set("squeue", exits=1)
    for _ in range(2):
        done = slurm.run("START", directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
    assert "timed out" not in done.stderr  # of the second, which submitted nothing
    assert commands.calls("sbatch") == 1
    commands.set("squeue")
    commands.set("sbatch", "9\n")
    assert slurm.start(directory).id == "9"


@pytest.mark.parametrize("status", [1, CUT, 255])
def test_a_refusal_is_a_failure(slurm: Target, commands: Slurm, status: int) -> None:
    commands.set("sbatch", "sbatch: error: invalid partition\n", status)
    done = slurm.run("START")
    assert (done.returncode, done.stdout) == (1 if status == CUT else status, "")
    assert done.stderr == "sbatch: error: invalid partition\n"


@pytest.mark.parametrize(
    "answer", ["f4jG2v", "ƒ4jG2v", "4d2a1c3e-0b1c-4c55-9a11-0123456789ab", "kube-job-x7f2p", "1234[].server"]
)
def test_ids_of_other_batch_systems(slurm: Target, commands: Slurm, answer: str) -> None:
    """What an id looks like, JOB_ID_PATTERN says; START keeps what can be a file's name."""
    commands.set("sbatch", f"a word before\n{answer}\n")
    directory = slurm.directory()
    done = slurm.run("START", directory=directory)
    if not answer.isascii():
        assert done.returncode == CUT
        return
    assert (done.returncode, done.stdout) == (0, f"{answer}\n")
    assert (slurm.home / ".gpe/jobs/slurm" / answer).readlink() == directory


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace here")
def test_one_submission_from_two_pid_namespaces(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "7\n")
    (commands.directory / "sbatch.sleeps").touch()
    script = wrap_script(slurm.script("START", directory=directory))
    own = ["unshare", "--pid", "--fork", "--mount-proc", slurm.shell, "-s"]
    starts = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=slurm.env)
        for words in (own, [slurm.shell, "-s"])
    ]
    for start in starts:
        assert start.stdin is not None
        start.stdin.write(script)
        start.stdin.close()
    answers = [(start.stdout.read(), start.wait()) for start in starts]  # type: ignore[union-attr]
    for start in starts:
        start.stdout.close()  # type: ignore[union-attr]
    assert answers == [(b"7\n", 0)] * 2
    assert commands.calls("sbatch") == 1


def test_two_batch_systems_in_one_home(repository: Repository, slurm: Target, commands: Slurm) -> None:
    """Their ids meet; the directories of their jobs do not."""
    commands.set("sbatch", "13\n")
    other = replace(slurm, profile=repository.load("sge"), root=slurm.root / "other")
    (commands.directory / "qsub").symlink_to("sbatch")
    for target, ends in ((slurm, 5), (other, 9)):
        job = target.start()
        assert job.id == "13"
        (job.directory / ".gpe_exit_status").write_text(f"{ends}\n")
    commands.set("squeue", exits=1)
    link = slurm.home / ".gpe/jobs/{}/13/.gpe_exit_status"
    assert Path(str(link).format("slurm")).read_text() == "5\n"
    assert Path(str(link).format("sge")).read_text() == "9\n"
