"""What the batch system answers to a submission, through the profile slurm with stand-ins."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.profile.repository import Repository
from tests.profiles.conftest import CUT, DASH, PROFILES, quoted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

pytestmark = DASH

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
    """The job may run: START says so, and submits it no second time; nor does FIND_JOB give it up."""
    directory = slurm.directory()
    commands.set("sbatch", answer)
    for _ in range(2):
        done = slurm.run("START", directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert answer.strip() in done.stderr
        assert f"whether a job was submitted in {directory} is not known" in done.stderr
        done = slurm.run("FIND_JOB", directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert answer.strip() in done.stderr
    assert commands.calls("sbatch") == 1
    # it turns up
    commands.set("squeue", f"6|/else/where\n7|{directory}|.gpe/script\n")
    assert slurm.find(directory) == "7"
    assert slurm.start(directory).id == "7"
    assert commands.calls("sbatch") == 1


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("Invalid generic resource (gres) specification", "--gpus"),
        ("Invalid account or account/partition combination specified", "--project"),
        ("invalid partition specified: x", "--queue"),
        ("Invalid qos specification", ""),
    ],
)
def test_a_refusal_names_the_option(slurm: Target, commands: Slurm, words: str, option: str) -> None:
    sbatch = commands.directory / "sbatch"
    sbatch.write_text(sbatch.read_text().replace("cat ", f"echo 'sbatch: error: {words}' >&2; cat "))
    commands.set("sbatch", "", 1)
    done = slurm.run("START", directory=slurm.directory())
    assert done.returncode == 1
    assert done.stderr.startswith(f"sbatch: error: {words}\n")
    assert ("this is about" in done.stderr) == bool(option)
    assert option in done.stderr


def test_a_user_who_knows_that_there_is_no_job(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "no\n")
    slurm.run("START", directory=directory)
    assert f"remove {directory}/.gpe/submitting" in slurm.run("FIND_JOB", directory=directory).stderr
    (directory / ".gpe/submitting").unlink()
    commands.set("sbatch", "8\n")
    assert slurm.start(directory).id == "8"


@pytest.mark.parametrize(("answer", "status"), [("", 1), ("timed out\n", 1), ("no id\n", 0), ("", CUT)])
def test_a_batch_system_that_failed_after_it_took_the_job(
    slurm: Target, commands: Slurm, answer: str, status: int
) -> None:
    directory = slurm.directory()
    commands.set("sbatch", answer, status)
    commands.set("squeue", f"7|{directory}|.gpe/script\n")
    done = slurm.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (1 if status else CUT, "")
    assert answer in done.stderr
    assert slurm.find(directory) == "7"
    assert slurm.start(directory).id == "7"
    assert slurm.find(directory) == "7"
    assert commands.calls("sbatch") == 1
    assert (slurm.home / ".gpe/jobs/slurm/7").readlink() == directory


def test_what_the_user_has_set_for_squeue(slurm: Target, commands: Slurm) -> None:
    """It would hide the job that is looked for."""
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    commands.set("squeue", f"7|{directory}|.gpe/script\n")
    squeue = commands.directory / "squeue"
    squeue.write_text(squeue.read_text().replace("cat ", '[ -n "$SQUEUE_PARTITION" ] || cat '))
    slurm.environment["SQUEUE_PARTITION"] = "debug"
    assert slurm.run("START", directory=directory).returncode == 1
    assert slurm.find(directory) == "7"


def run_job(target: Target, directory: Path, job: str) -> int:
    """Run a job's script as Slurm does."""
    return subprocess.run(
        ["sh", directory / ".gpe/script"],
        env={**target.env, "SLURM_JOB_ID": job},
        cwd=target.home,
        check=False,
        capture_output=True,
    ).returncode


def test_a_job_of_a_submission_that_was_given_up_runs_nothing(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    slurm.run("START", directory=directory, EXECUTABLE="touch", ARGUMENTS="ran")
    assert slurm.find(directory) == ""
    assert run_job(slurm, directory, "7") == 1
    assert not (directory / "ran").exists()
    assert not (directory / ".gpe/id").exists()
    assert not (directory / ".gpe_exit_status").exists()
    # nor does it where START has submitted another one
    commands.set("sbatch", "8\n")
    assert slurm.start(directory, EXECUTABLE="touch", ARGUMENTS="ran").id == "8"
    assert run_job(slurm, directory, "7") == 1
    assert not (directory / "ran").exists()
    assert run_job(slurm, directory, "8") == 0
    assert (directory / "ran").exists()


def test_start_takes_no_id_that_a_job_is_about_to_remove(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    slurm.run("START", directory=directory)
    assert slurm.find(directory) == ""
    commands.set("sbatch", "8\n")
    (directory / ".gpe/id").write_text("7\n")  # the job that was given up begins just now
    removal = subprocess.Popen(["sh", "-c", "sleep 0.1; rm .gpe/id"], cwd=directory)
    assert slurm.start(directory).id == "8"
    assert removal.wait() == 0


def test_a_job_of_a_submission_that_failed_begins_before_it_is_looked_for(
    slurm: Target, commands: Slurm
) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    slurm.run("START", directory=directory, EXECUTABLE="touch", ARGUMENTS="ran")
    assert run_job(slurm, directory, "7") == 0
    assert (directory / "ran").exists()
    commands.set("squeue", exits=1)  # nobody needs it
    assert slurm.find(directory) == "7"
    assert slurm.start(directory).id == "7"
    assert commands.calls("sbatch") == 1


def test_a_job_that_begins_while_it_is_submitted(slurm: Target, commands: Slurm) -> None:
    """It writes its id; whatever sbatch says afterwards, START prints that."""
    for answer, status in (("7\n", 0), ("timed out\n", 1), ("8\n", 0), ("", 0)):
        directory = slurm.directory()
        commands.set("sbatch", answer, status)
        begins = f"(cd / && SLURM_JOB_ID=7 sh {directory}/.gpe/script) > /dev/null 2>&1\n"
        (commands.directory / "sbatch").write_text(f"#!/bin/sh\n{begins}{STAND_IN.format(name='sbatch')}")
        done = slurm.run("START", directory=directory, EXECUTABLE="touch", ARGUMENTS="ran")
        assert (done.returncode, done.stdout) == (0, "7\n"), done
        assert (directory / "ran").exists()
        assert slurm.find(directory) == "7"


def test_find_job_waits_for_a_submission_that_is_under_way(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "7\n")
    (commands.directory / "sbatch.sleeps").touch()
    with ThreadPoolExecutor(1) as pool:
        start = pool.submit(slurm.start, directory)
        wait_until(lambda: commands.calls("sbatch"))
        assert slurm.find(directory) == "7"
        assert start.result().id == "7"
    assert commands.calls("squeue") == 0


def test_a_refused_submission_is_no_older_job_of_that_directory(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "sbatch: error: invalid partition\n", 1)
    commands.set("squeue", f"7|{directory}|.gpe/script\n")
    squeue = commands.directory / "squeue"  # without -t, no job that has ended
    squeue.write_text(
        squeue.read_text().replace("cat ", 'case "$*" in *"-t all"*) ;; *) exit ;; esac; cat ', 1)
    )
    assert slurm.run("START", directory=directory).returncode == 1
    assert slurm.find(directory) == ""


def test_there_is_no_job_to_find(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    assert slurm.find(directory) == ""
    assert not directory.exists()
    directory.mkdir(parents=True)
    assert slurm.find(directory) == ""
    assert commands.calls("squeue") == 0


def test_the_locks_descriptor_is_no_jobs(target_of: Callable[..., Target]) -> None:
    """Whatever descriptors START gets: FIND_JOB need not wait until the job has ended."""
    linux = target_of("linux")
    directory = linux.directory()
    start = linux.script("START", directory=directory, EXECUTABLE="sleep", ARGUMENTS="60")
    done = linux.sh(f"exec 3> /dev/null 4>&3\n{start}")
    job = linux.job_id(done.stdout)
    assert subprocess.run(["flock", "-n", directory / ".gpe/lock", "true"], check=False).returncode == 0
    assert linux.find(directory) == job
    linux.ok("ABORT", JOB_ID=job)


def test_an_abort_of_a_job_that_has_ended_by_itself(slurm: Target, commands: Slurm) -> None:
    commands.set("sbatch", "7\n")
    job = slurm.start()
    (job.directory / ".gpe_exit_status").write_text("0\n")
    commands.set("squeue", "7|RUNNING|0|n1|None|\n")  # it has not heard of it
    (commands.directory / "scancel").write_text("#!/bin/sh\n")
    (commands.directory / "scancel").chmod(0o700)
    assert "has already ended" in slurm.fails("ABORT", JOB_ID="7")
    assert not (job.directory / ".gpe/removed").exists()


def test_a_batch_system_that_is_away(slurm: Target, commands: Slurm) -> None:
    directory = slurm.directory()
    commands.set("sbatch", "timed out\n", 1)
    commands.set("squeue", exits=1)
    for exits in (1, CUT):
        done = slurm.run("START", directory=directory)
        assert (done.returncode, done.stdout) == (exits, "")
        done = slurm.run("FIND_JOB", directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert "cannot be asked" in done.stderr
    assert commands.calls("sbatch") == 1
    commands.set("squeue")
    assert slurm.find(directory) == ""
    commands.set("sbatch", "9\n")
    assert slurm.start(directory).id == "9"


@pytest.mark.parametrize("status", [1, CUT, 255])
def test_a_refusal_is_a_failure(slurm: Target, commands: Slurm, status: int) -> None:
    commands.set("sbatch", "sbatch: error: invalid partition\n", status)
    done = slurm.run("START")
    assert (done.returncode, done.stdout) == (1 if status == CUT else status, "")
    assert done.stderr == "sbatch: error: invalid partition\n"


OTHER = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="other" extends="slurm">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>{pattern}</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="START"><idb:Invocation name=""><idb:Body><![CDATA[
sh <BIN:submit.sh> --profile '<PROFILE_NAME/'/'\\''>' --directory '<WORKING_DIRECTORY/'/'\\''>' \
  --id-pattern '<JOB_ID_PATTERN/'/'\\''>' sbatch <<'<JOB_SCRIPT:END>'
<JOB_SCRIPT>
# end of the job script
<JOB_SCRIPT:END>
]]></idb:Body></idb:Invocation></idb:Template>
</osp:Profile>
"""


@pytest.mark.parametrize(
    ("form", "ids"),
    [
        ("[1-9A-HJ-NP-Za-km-z]{6,}", ["f4jG2v", "f4jG0v"]),
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", ["4d2a1c3e-0b1c-4c55-9a11-0123456789ab", "4d2a1c3e"]),
        ("[a-z][a-z0-9-]*", ["kube-job-x7f2p", "Kube-job"]),
        (r"[0-9]+(\[[0-9]*\])?(\.[a-z]+)?", ["1234[].server", "1234[.server"]),
        ("[a-z]+;[0-9]+", ["cluster;12", "cluster;"]),
        ("[^ -~]?[a-z]+", ["ƒ", "f4"]),
    ],
)
def test_ids_of_other_batch_systems(
    slurm: Target, commands: Slurm, tmp_path: Path, form: str, ids: list[str]
) -> None:
    """What an id looks like, JOB_ID_PATTERN alone says."""
    answer, other = ids
    (tmp_path / "site/other").mkdir(parents=True)
    (tmp_path / "site/other/profile.xml").write_text(OTHER.format(pattern=form))
    slurm.profile = Repository([tmp_path / "site", PROFILES]).load("other")
    directory = slurm.directory()
    commands.set("sbatch", f"a word before\n{answer}\n")
    if not answer.isascii():
        assert slurm.run("START", directory=directory).returncode == CUT
        return
    assert slurm.start(directory).id == answer
    assert (slurm.home / ".gpe/jobs/other" / answer).readlink() == directory
    assert slurm.find(directory) == answer
    commands.set("squeue", f"{answer}|RUNNING|0|n1|None|\n")
    if answer != "1234[].server":  # of which squeue prints the elements
        assert slurm.statuses("", JOB_ID=answer)[answer].state == "RUNNING"
    with pytest.raises(IncarnationError):
        slurm.script("GET_JOB_STATUS", JOB_ID=other)
    commands.set("sbatch", f"{other}\n")
    assert slurm.run("START").returncode == CUT


@pytest.mark.race
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
    """Their ids meet; what became of their jobs does not, even when both have forgotten them."""
    for name in ("squeue", "sacct", "qstat", "qacct", "scancel", "qdel"):
        (commands.directory / name).write_text(STAND_IN.format(name=name))
        (commands.directory / name).chmod(0o700)
        commands.set(name)
    (commands.directory / "qsub").symlink_to("sbatch")
    sge = replace(slurm, profile=repository.load("sge"), root=slurm.root / "other")
    commands.set("sbatch", "13\n")
    ended = {"slurm": slurm, "sge": sge}
    jobs = {}
    for number, (name, target) in enumerate(ended.items()):
        jobs[name] = job = target.start(
            EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", f"echo {name}; exit {5 + number}")
        )
        assert job.id == "13"
    assert run_job(slurm, jobs["slurm"].directory, "13") == 5
    environment = {**sge.env, "JOB_ID": "13", "SGE_TASK_ID": "undefined"}
    subprocess.run(["sh", ".gpe/script"], env=environment, cwd=jobs["sge"].directory, check=False)
    forget(commands)
    for number, (name, job) in enumerate(jobs.items()):
        status = job.status()
        assert (status.word, status.state, status.exit) == ("exited", "DONE", 5 + number)
        assert job.read("stdout") == f"{name}\n"

    commands.set("sbatch", "14\n")
    jobs = {name: target.start() for name, target in ended.items()}
    commands.set("squeue", "14|RUNNING|0|n1|None|\n")
    slurm.ok("ABORT", JOB_ID="14")
    assert (jobs["slurm"].directory / ".gpe/removed").exists()
    assert not (jobs["sge"].directory / ".gpe/removed").exists()
    (jobs["sge"].directory / ".gpe_exit_status").write_text("0\n")
    forget(commands)
    assert jobs["slurm"].status().state == "REMOVED"
    assert jobs["sge"].status().state == "DONE"


def forget(commands: Slurm) -> None:
    """Let all batch systems know nothing of any job."""
    commands.set("squeue", "slurm_load_jobs error: Invalid job id specified\n", 1)
    commands.set("sacct", exits=1)
    commands.set("qstat", "<job_info>\n</job_info>\n")
    commands.set("qacct", "error: job id 13 not found\n", 1)
