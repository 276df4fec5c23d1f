"""What Torque, Slurm's PBS commands and Slurm print, read by the profiles' own patterns and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.incarnate import incarnate
from tests.profiles.conftest import DASH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target


pytestmark = DASH


class Commands:
    """Programs that print what they are told to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()

    def set(self, name: str, stdout: str = "", stderr: str = "", code: int = 0) -> None:
        path = self.directory / name
        for stream, text in (("out", stdout), ("err", stderr)):
            path.with_suffix(f".{stream}").write_text(text)
        path.write_text(f'#!/bin/sh\necho "$@" >> "$0.args"\ncat "$0.out"\ncat "$0.err" >&2\nexit {code}\n')
        path.chmod(0o700)

    def args(self, name: str) -> list[str]:
        return (self.directory / f"{name}.args").read_text().splitlines()


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "commands")


def leave(target: Target, job: str, /, **files: str) -> None:
    """Leave files in the directory of a job, as its end does."""
    directory = target.home / ".gpe/jobs" / target.profile.name / job
    (directory / ".gpe").mkdir(parents=True)
    for name, text in files.items():
        if name == "exit_status":
            (directory / ".gpe_exit_status").write_text(text)
            continue
        (directory / f".gpe/{name}").write_text(text)


TORQUE = """Job Id: 33.server.example
    Job_Name = a
    Job_Owner = {user}@host
    job_state = R
    queue = batch
    exec_host = n1/0-2,5+n2/0
    Variable_List = PBS_O_HOME=/home/me,X=
\tjob_state = C,Y=1
    comment = a | b

Job Id: 34.server.example
    Job_Owner = {user}@host
    job_state = C
    exit_status = 3

Job Id: 35.server.example
    Job_Owner = {user}@host
    job_state = C
    exit_status = 271

Job Id: 36.server.example
    Job_Owner = {user}@host
    job_state = C
    exit_status = -11

Job Id: 37.server.example
    Job_Owner = somebody@host
    job_state = Q

Job Id: 38.server.example
    Job_Owner = {user}@host
    job_state = Q
    Priority = 0

"""

SLURM_QSTAT = """Job Id:\t1
\tJob_Name = smoke
\tJob_Owner = {user}@localhost
\tjob_state = C
\tqueue = debug
\texec_host = vm/2+vm2/1
\tPriority = 4294901759

Job Id:\t2
\tJob_Owner = {user}@localhost
\tjob_state = Q
\tPriority = 0

Job Id:\t3
\tJob_Owner = {user}@localhost
\tjob_state = Q
\tPriority = 4294901758

Job Id:\t4
\tJob_Owner = {user}@localhost
\tjob_state = C
\texec_host = vm/1

Job Id:\t5
\tJob_Owner = {user}@localhost
\tjob_state = U

Job Id:\t6
\tJob_Owner = {user}@localhost
\tjob_state = C
\texec_host = vm/1

Job Id:\t7
\tJob_Owner = {user}@localhost
\tjob_state = U

Job Id:\t8
\tJob_Owner = {user}@localhost
\tjob_state = C

Job Id:\t9
\tJob_Owner = {user}@localhost
\tjob_state = C

"""


@pytest.fixture
def torque(target_of: Callable[..., Target], commands: Commands) -> Target:
    return target_of("torque", commands.directory)


@pytest.fixture
def slurm(target_of: Callable[..., Target], commands: Commands) -> Target:
    return target_of("slurm", commands.directory)


def user() -> str:
    import getpass

    return getpass.getuser()


def words(target: Target) -> dict[str, tuple[object, ...]]:
    return {s.id: (s.word, s.state, s.exit, s.signal) for s in target.statuses().values()}


def test_torque(torque: Target, commands: Commands) -> None:
    commands.set("qstat", TORQUE.format(user=user()))
    leave(torque, "35.server.example", removed="removed\n")
    assert words(torque) == {
        "33.server.example": ("R", "RUNNING", None, None),
        "34.server.example": ("C/exit", "DONE", 3, None),
        "35.server.example": ("removed", "REMOVED", None, None),
        "36.server.example": ("C/-11", "FAILED/TIME", None, None),
        "38.server.example": ("Q", "QUEUED", None, None),
    }
    assert torque.statuses()["33.server.example"].reason == "a | b"
    assert commands.args("qstat") == ["-f", "-f"]
    assert " cpus=5 " in torque.ok("GET_JOB_STATUS", JOB_ID="33.server.example")


def test_torque_asks_for_the_users_own_live_jobs(torque: Target, commands: Commands) -> None:
    commands.set("qselect", "33.server.example\n34.server.example\n39.server.example\n")
    unknown = "qstat: Unknown Job Id Error 39.server.example\n"
    commands.set("qstat", TORQUE.format(user=user()), unknown, 153)
    assert words(torque)["33.server.example"] == ("R", "RUNNING", None, None)
    assert commands.args("qselect") == [f"-u {user()} -s EHQRTW"]
    assert commands.args("qstat") == ["-f -t 33.server.example 34.server.example 39.server.example"]
    commands.set("qstat", "", unknown, 153)
    assert words(torque) == {}
    commands.set("qselect")
    assert words(torque) == {}
    assert len(commands.args("qstat")) == 2
    commands.set("qselect", "", "qselect: cannot connect to server\n", 162)
    assert torque.fails("GET_JOB_STATUS", "ALL") == "qselect: cannot connect to server\n"


def test_a_limit_that_the_pbs_commands_of_slurm_do_not_tell(torque: Target, commands: Commands) -> None:
    """Slurm itself is asked; a program that traps the signal has an exit status of its own."""
    commands.set("qstat", SLURM_QSTAT.format(user=user()))
    commands.set("squeue", "1 TimeLimit TIMEOUT\n4 OutOfMemory OUT_OF_MEMORY\n")
    leave(torque, "1", exit_status="0\n")
    told = words(torque)
    assert told["1"] == ("C/-11", "FAILED/TIME", None, None)
    assert told["4"] == ("C/-10", "FAILED/MEMORY", None, None)
    assert torque.ok("GET_JOB_STATUS", JOB_ID="1").endswith(" cpus=3\n"), "the numbers are counts there"


def test_what_the_pbs_commands_of_slurm_do_not_tell_and_slurm_does_not_now(
    torque: Target, commands: Commands
) -> None:
    """A limit, or a dependency, would be told as the user's own removal, or as an end of the program's."""
    commands.set("qstat", SLURM_QSTAT.format(user=user()))
    commands.set("squeue", stderr="Unable to contact slurm controller\n", code=1)
    for variation in ("", "ALL"):
        done = torque.run("GET_JOB_STATUS", variation, **{} if variation else {"JOB_ID": "1"})
        assert (done.returncode, done.stdout) == (2, "")
        assert "Unable to contact slurm controller" in done.stderr


def test_the_pbs_commands_of_slurm(torque: Target, commands: Commands) -> None:
    commands.set("qstat", SLURM_QSTAT.format(user=user()))
    commands.set("squeue", "8 DependencyNeverSatisfied\n9 Priority\n")
    leave(torque, "1", exit_status="7\n")
    leave(torque, "5", exit_status="137\n")
    leave(torque, "6", removed="removed\n", exit_status="143\n")
    assert words(torque) == {
        "1": ("exited", "DONE", 7, None),
        "2": ("Q/held", "HELD", None, None),
        "3": ("Q", "QUEUED", None, None),
        "4": ("C", "FAILED", None, None),
        "5": ("exited", "FAILED", None, 9),
        "6": ("removed", "REMOVED", None, None),
        "7": ("unknown", "QUEUED", None, None),
        "8": ("F/dependency", "REMOVED/DEPENDENCY", None, None),
        "9": ("F/deleted", "REMOVED", None, None),
    }


def test_the_pbs_commands_of_slurm_say_little(torque: Target, commands: Commands) -> None:
    commands.set("qstat", code=153)
    assert torque.statuses() == {}
    assert "unknown job 9" in torque.fails("GET_JOB_STATUS", JOB_ID="9")
    leave(torque, "9", exit_status="0\n")
    assert torque.statuses("", JOB_ID="9")["9"].word == "exited"
    commands.set("qstat", stderr="Problem loading jobs.\n", code=255)
    for variation, fields in (("ALL", {}), ("", {"JOB_ID": "9"})):
        assert torque.fails("GET_JOB_STATUS", variation, **fields) == "Problem loading jobs.\n"


def test_an_error_of_the_pbs_commands_of_slurm_is_on_stdout(torque: Target, commands: Commands) -> None:
    commands.set("qsub", "There was an error\n'sbatch: error: 12\n'\n", code=1)
    done = torque.run("START")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "There was an error\n'sbatch: error: 12\n'\n"


def test_torque_asks_for_resources_with_one_option(torque: Target, commands: Commands) -> None:
    commands.set("qsub", "12\n")
    torque.start(NODES="2", PROCESSES="5", CPUS="2", MEMORY="100", WALLTIME="90")
    assert commands.args("qsub") == [
        "-j oe -o /dev/null -l nodes=2:ppn=6,walltime=00:01:30,mem=100mb .gpe/script"
    ]


SQUEUE = {
    "1|PENDING|0|n/a|Priority|": ("PENDING", "QUEUED", None, None),
    "2|PENDING|0|n/a|JobHeldUser|": ("PENDING/held", "HELD", None, None),
    "3|PENDING|0||JobHeldAdmin|": ("PENDING/held", "HELD", None, None),
    "4|RUNNING|0|n1|None|": ("RUNNING", "RUNNING", None, None),
    "5|COMPLETING|15|n1|None|": ("COMPLETING", "RUNNING", None, None),
    "6|COMPLETED|0|n1|None|": ("COMPLETED", "DONE", 0, None),
    "7|FAILED|1792|n1|NonZeroExitCode|": ("FAILED/exit", "DONE", 7, None),
    "8|FAILED|35072|n1|NonZeroExitCode|": ("FAILED", "FAILED", None, 9),
    "9|FAILED|9|n1|JobLaunchFailure|": ("FAILED", "FAILED", None, 9),
    "10|FAILED|4021|n1|JobLaunchFailure|": ("FAILED", "FAILED", None, None),
    "11|FAILED|7:0|n1|NonZeroExitCode|": ("FAILED/exit", "DONE", 7, None),
    "12|CANCELLED|15|n1|None|": ("CANCELLED", "REMOVED", None, None),
    "13|TIMEOUT|0|n1|TimeLimit|": ("TIMEOUT", "FAILED/TIME", None, None),
    "14|NODE_FAIL|0|n1|NodeDown|": ("NODE_FAIL", "FAILED/NODE", None, None),
    "15|OUT_OF_MEMORY|32000|n1|OutOfMemory|": ("OUT_OF_MEMORY", "FAILED/MEMORY", None, None),
    "16|SUSPENDED|0|n1|None|": ("SUSPENDED", "HELD", None, None),
    "17|REVOKED|0|n1|None|": ("REVOKED", "QUEUED", None, None),
    "18_3|FAILED|0|n1|BadConstraints|": ("FAILED", "FAILED", None, None),
    "19|PREEMPTED|0|n1|None|": ("PREEMPTED", "FAILED/PREEMPTED", None, None),
}


def test_slurm(slurm: Target, commands: Commands) -> None:
    commands.set("squeue", "\n".join(SQUEUE) + "\n")
    expected = {line.partition("|")[0]: outcome for line, outcome in SQUEUE.items()}
    assert words(slurm) == expected
    for job, outcome in expected.items():
        (status,) = slurm.statuses("", JOB_ID=job).values()
        assert (status.id, status.word) == (job, outcome[0])


def test_why_a_job_waits_in_slurm_and_when_it_has_ended(slurm: Target, commands: Commands) -> None:
    """What does not come by itself is told in a sentence; what a job waited for is not why it was removed."""
    lines = (
        "1|PENDING|0|n/a|Priority|",
        "2|PENDING|0|n/a|PartitionTimeLimit|",
        "3|CANCELLED|0|n/a|PartitionConfig|",
    )
    commands.set("squeue", "\n".join(lines) + "\n")
    more = (
        "4|COMPLETED|0|n1|None|debug|0:10|1800000000|",
        "5|RUNNING|0|n1|None|debug|0:10|1800000000|",
        "6|TIMEOUT|0|n1|TimeLimit|debug|1:00|N/A|",
    )
    commands.set("squeue", "\n".join(more) + "\n")
    assert slurm.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        "4 COMPLETED exit=0 host=n1 queue=debug elapsed=10 ended=1800000000",
        "5 RUNNING host=n1 queue=debug elapsed=10",
        "6 TIMEOUT host=n1 queue=debug elapsed=60 reason=TimeLimit",
    ]
    commands.set("squeue", "\n".join(lines) + "\n")
    assert slurm.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        "1 PENDING reason=Priority",
        "2 PENDING reason=PartitionTimeLimit (it asks for more time than the partition allows: as it is, it will not start)",
        "3 CANCELLED",
    ]


INVALID = "slurm_load_jobs error: Invalid job id specified\n"


@pytest.mark.parametrize(
    ("files", "sacct", "expected"),
    [
        ({}, "", None),
        ({}, "5|CANCELLED by 1001|0:15|n1|None\n", ("CANCELLED", "REMOVED", None, None)),
        ({"exit_status": "7\n"}, "", ("exited", "DONE", 7, None)),
        ({"exit_status": "143\n"}, "", ("exited", "FAILED", None, 15)),
        ({"exit_status": "143\n"}, "5|TIMEOUT|0:0|n1|\n", ("TIMEOUT", "FAILED/TIME", None, None)),
        ({"exit_status": "143\n", "removed": "\n"}, "", ("removed", "REMOVED", None, None)),
        ({}, "15|COMPLETED|0:0|n1|None\n", None),
    ],
)
def test_a_job_that_slurm_has_forgotten(
    slurm: Target, commands: Commands, files: dict[str, str], sacct: str, expected: tuple[object, ...] | None
) -> None:
    commands.set("squeue", stderr=INVALID, code=1)
    commands.set("sacct", sacct, "" if sacct else "Slurm accounting storage is disabled\n", int(not sacct))
    leave(slurm, "5", **files)
    if expected is None:
        assert slurm.fails("GET_JOB_STATUS", JOB_ID="5") == "GET_JOB_STATUS: unknown job 5\n"
    else:
        status = slurm.statuses("", JOB_ID="5")["5"]
        assert (status.word, status.state, status.exit, status.signal) == expected


@pytest.mark.parametrize("stderr", [INVALID, ""])  # of a task, squeue says nothing
@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("afterok:5", "can never hold"),
        ("afterok:6,afterok:5", "can never hold"),
        ("afterok:7", "can never hold"),
        ("afternotok:6", "can never hold"),
        ("afterany:8", "no job of this profile"),
        ("afterok:6_1", "no job of this profile"),
        ("afterok:6,afternotok:5,afterany:5:6:7", None),
    ],
)
def test_a_dependency_on_a_job_that_slurm_has_forgotten(
    slurm: Target, commands: Commands, stderr: str, condition: str, words: str | None
) -> None:
    """Slurm would take any condition on it for one that holds."""
    commands.set("squeue", stderr=stderr, code=int(bool(stderr)))
    commands.set("sbatch", "9\n")
    leave(slurm, "5", exit_status="3\n")
    leave(slurm, "6", exit_status="0\n")
    leave(slurm, "7", exit_status="143\n", removed="removed\n")
    if words is None:
        assert slurm.start(DEPENDENCY=condition).id == "9"
    else:
        assert words in slurm.fails("START", DEPENDENCY=condition)
        assert not (commands.directory / "sbatch.args").exists()


def test_a_dependency_on_a_job_that_slurm_knows(slurm: Target, commands: Commands) -> None:
    commands.set("squeue", "5_1\n5_2\n")
    commands.set("sbatch", "9\n")
    assert slurm.start(DEPENDENCY="afterok:5,afterany:5_2").id == "9"
    commands.set("squeue", stderr="slurm_load_jobs error: Unable to contact slurm controller\n", code=1)
    assert "Unable to contact" in slurm.fails("START", DEPENDENCY="afterok:5")


@pytest.mark.parametrize("job", ["5_9", "5_01", "6_1"])
def test_a_task_that_an_array_does_not_have(slurm: Target, commands: Commands, job: str) -> None:
    commands.set("squeue", "")
    leave(slurm, "5", script="#!/bin/sh\ngpe_array='1-4'\n")
    leave(slurm, "6", script="#!/bin/sh\n")
    assert f"unknown job {job}" in slurm.fails("GET_JOB_STATUS", JOB_ID=job)


def leave_array(slurm: Target) -> None:
    """Leave what four tasks of an array left: two ended, one was removed, and one has nothing about its end."""
    leave(slurm, "5", script="#!/bin/sh\ngpe_cputime=9 gpe_array='1-4:3,02,3-3,11,12%2'\n")
    for index, files in {
        1: {"exit_status": "7\n"},
        2: {"exit_status": "137\n"},
        3: {"removed": "removed\n"},
        4: {},
    }.items():
        leave(slurm, f"5/.gpe/tasks/{index}", **files)


def tell_tasks(slurm: Target) -> dict[str, tuple[object, ...]]:
    return {s.id: (s.word, s.state, s.exit) for s in slurm.statuses("", JOB_ID="5").values()}


FORGOTTEN = {
    "5_1": ("exited", "DONE", 7),
    "5_2": ("exited", "FAILED", None),
    "5_3": ("removed", "REMOVED", None),
    "5_4": ("forgotten", "LOST", None),
    "5_11": ("forgotten", "LOST", None),
    "5_12": ("forgotten", "LOST", None),
}


def test_an_array_that_slurm_has_forgotten(slurm: Target, commands: Commands) -> None:
    commands.set("squeue", stderr=INVALID, code=1)
    commands.set("sacct", stderr="Slurm accounting storage is disabled\n", code=1)
    leave_array(slurm)
    assert tell_tasks(slurm) == FORGOTTEN
    assert slurm.fails("GET_JOB_STATUS", JOB_ID="5_4") == "GET_JOB_STATUS: unknown job 5_4\n"
    lines = "5_2|TIMEOUT|0:0|n1|\n5_4|FAILED|3:0|n1|None\n5_11|CANCELLED by 0|0:0|None assigned|None\n5_[12]|PENDING|0:0||\n"
    commands.set("sacct", lines)
    assert tell_tasks(slurm) == {
        **FORGOTTEN,
        "5_2": ("TIMEOUT", "FAILED/TIME", None),
        "5_4": ("FAILED/exit", "DONE", 3),
        "5_11": ("CANCELLED", "REMOVED", None),
    }
    assert "".join(commands.args("sacct")).count("-X -P") == 3


def test_an_array_of_which_slurm_has_forgotten_some(slurm: Target, commands: Commands) -> None:
    """A task that has not begun, and that Slurm does not know with the others, was cancelled."""
    commands.set("squeue", "5_12|PENDING|0|n/a|Priority|\n5_2|RUNNING|0|n1|None|\n50_1|RUNNING|0|n1|None|\n")
    commands.set("sacct", stderr="Slurm accounting storage is disabled\n", code=1)
    leave_array(slurm)
    assert tell_tasks(slurm) == {
        **FORGOTTEN,
        "5_2": ("RUNNING", "RUNNING", None),
        "5_11": ("removed", "REMOVED", None),
        "5_12": ("PENDING", "QUEUED", None),
    }
    assert commands.args("squeue")[-1].endswith(" -j 5")
    assert slurm.statuses("", JOB_ID="5_11")["5_11"].state == "REMOVED"


CLUSTER_ANSWERS = {
    "squeue": "CLUSTER: c1\n5|RUNNING|0|n1|None|\n",
    "sinfo": "CLUSTER: c1\nn1 idle\n",
    "sbatch": "6;c1\n",
}


def run_on(slurm: Target, cluster: str, template: str, variation: str = "", **fields: str) -> str:
    """Run the script of a template for a cluster."""
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": str(slurm.directory()), "CLUSTER": cluster}
    found = incarnate(slurm.profile, template, variation=variation, fields=fields, context=context)
    slurm.deploy(found.static_scripts)
    done = slurm.sh(found.text)
    assert (done.returncode, done.stderr) == (0, ""), template
    return done.stdout.removesuffix("#end\n")


def test_a_cluster_of_several(slurm: Target, commands: Commands) -> None:
    for name, answer in CLUSTER_ANSWERS.items():
        commands.set(name, answer)
        program = commands.directory / name
        note = 'echo "$SLURM_CLUSTERS/$SBATCH_CLUSTERS" >> "$0.cluster"\ncat'
        program.write_text(program.read_text().replace("cat", note, 1))

    assert run_on(slurm, "c1", "GET_JOB_STATUS", JOB_ID="5") == "5 RUNNING host=n1\n"
    assert run_on(slurm, "c1", "GET_JOB_STATUS", "ALL") == "5 RUNNING host=n1\n"
    assert run_on(slurm, "c1", "LIST_NODES") == "n1 idle\n"
    assert run_on(slurm, "c1", "START") == "6\n"
    told = {name: {*(commands.directory / f"{name}.cluster").read_text().split()} for name in CLUSTER_ANSWERS}
    assert told == {"squeue": {"c1/"}, "sinfo": {"c1/"}, "sbatch": {"/c1"}}
    # a job of the same id on another cluster has a link of its own
    assert [link.parent.name for link in (slurm.home / ".gpe/jobs").glob("*/6")] == ["slurm@c1"]


@pytest.mark.parametrize("job", ["5", "5_1"])
def test_actions_on_a_cluster_of_several(slurm: Target, commands: Commands, job: str) -> None:
    """Each command is told the cluster, and what is noted down is noted of this cluster's job alone."""
    programs = {"squeue": "", "scancel": "", "scontrol": ""}
    for name in programs:
        commands.set(name)
        program = commands.directory / name
        note = 'echo "$SLURM_CLUSTERS" >> "$0.cluster"\n'
        program.write_text(program.read_text().replace("cat", f"{note}cat", 1))
    directories = {}
    for cluster in ("c1_a", "c2"):
        directories[cluster] = slurm.home / f"work-{cluster}"
        directories[cluster].mkdir()
        link = slurm.home / ".gpe/jobs" / f"slurm@{cluster}" / "5"
        link.parent.mkdir(parents=True)
        link.symlink_to(directories[cluster])

    def run(template: str, state: str, **fields: str) -> None:
        (commands.directory / "squeue.out").write_text(f"CLUSTER: c1_a\n{job}|{state}|0|n1|None|\n")
        assert run_on(slurm, "c1_a", template, JOB_ID=job, **fields) == ""

    run("HOLD", "PENDING")
    run("RESUME", "PENDING")
    run("SIGNAL", "RUNNING", SIGNAL="10")
    run("ABORT", "RUNNING")
    assert commands.args("scontrol") == [f"hold {job}", f"release {job}"]
    assert commands.args("scancel") == [f"--full --signal=10 {job}", job]
    for name in programs:
        assert {*(commands.directory / f"{name}.cluster").read_text().split()} == {"c1_a"}
    noted = {cluster: [*directory.rglob(".gpe/removed")] for cluster, directory in directories.items()}
    task = ".gpe/tasks/1/" if job == "5_1" else ""
    assert noted == {"c1_a": [directories["c1_a"] / f"{task}.gpe/removed"], "c2": []}


@pytest.mark.parametrize(
    ("template", "reasons", "is_done"),
    [
        ("HOLD", "5 JobHeldUser\n", True),
        ("HOLD", "5_1 JobHeldUser\n5_2 JobHeldUser\n50 Priority\n", True),
        ("HOLD", "5_1 JobHeldUser\n5_2 PartitionConfig\n", False),
        ("HOLD", "5 PartitionConfig\n", False),
        ("HOLD", "", False),
        ("RESUME", "5 PartitionConfig\n", True),
        ("RESUME", "5_1 PartitionConfig\n5_2 JobHeldAdmin\n", False),
        ("RESUME", "5 JobHeldAdmin\n", False),
        ("RESUME", "", False),
    ],
)
def test_what_slurm_has_done_though_it_refused(
    slurm: Target, commands: Commands, template: str, reasons: str, is_done: bool
) -> None:
    """It refuses the hold of a job that its partition cannot start, and holds it all the same."""
    words = "Requested partition configuration not available now for job 5\n"
    commands.set("scontrol", stderr=words, code=1)
    commands.set("squeue", "5|PENDING|0|n/a|Priority|\n")
    after = "".join("{}|PENDING|0|n/a|{}|\n".format(*line.split()) for line in reasons.splitlines())
    (commands.directory / "after").write_text(f"CLUSTER: c1\n{after}")
    scontrol = commands.directory / "scontrol"
    scontrol.write_text(f'{scontrol.read_text()[:-7]}mv "${{0%/*}}/after" "${{0%/*}}/squeue.out"\nexit 1\n')
    if is_done:
        assert slurm.ok(template, JOB_ID="5") == ""
    else:
        assert words in slurm.fails(template, JOB_ID="5")


def test_slurm_directives(slurm: Target, commands: Commands) -> None:
    commands.set("sbatch", "12;cluster\n")
    job = slurm.start(NODES="2", PROCESSES="5", CPUS="2", MEMORY="100", WALLTIME="90", QUEUE="q", PROJECT="p")
    assert job.id == "12"
    assert commands.args("sbatch") == ["--parsable --ignore-pbs .gpe/script"]
    lines = job.read(".gpe/script").splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "#!/bin/sh",
        "#SBATCH --output=/dev/null",
        "#SBATCH --job-name=hostname",
        "#SBATCH --partition=q",
        "#SBATCH --account=p",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks=5",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --mem=100M",
        "#SBATCH --time=2",
    ]


def test_fields_become_directives_of_slurm(slurm: Target, commands: Commands) -> None:
    commands.set("sbatch", "12\n")
    job = slurm.start(QOS="high", PRIORITY="5", NOTIFY="me")
    assert commands.args("sbatch") == ["--parsable --ignore-pbs --nice=-5 --mail-type=end,fail .gpe/script"]
    assert "\n#SBATCH --qos=high\n" in job.read(".gpe/script")


TORQUE_WORDS: dict[str, tuple[dict[str, str], str]] = {
    "gpus": ({"GPUS": "2"}, "-l nodes=1:ppn=1:gpus=2"),
    "properties": ({"NODES": "2", "GPUS": "1", "CONSTRAINT": "fast:ib"}, "-l nodes=2:ppn=1:gpus=1:fast:ib"),
    "exclusive": ({"EXCLUSIVE": "true"}, "-n"),
    "priority": ({"PRIORITY": "-5"}, "-p -5"),
    "time": ({"START_TIME": "2036-01-02T03:04:05"}, "-a 203601020304.05"),
    "time without seconds": ({"START_TIME": "2036-01-02T03:04"}, "-a 203601020304.00"),
    "mail": ({"NOTIFY": "a,b@c"}, "-m ae -M a,b@c"),
    "mail of all events": ({"NOTIFY": "a", "NOTIFY_EVENTS": "begin,end,fail"}, "-m bea -M a"),
    "requeue": ({"REQUEUE": "true"}, "-r y"),
    "no requeue": ({"REQUEUE": "false"}, "-r n"),
    "dependency": (
        {"DEPENDENCY": "afterok:1.s:2[].s,afterany:3"},
        "-W depend=afterok:1.s,afterokarray:2[].s,afterany:3",
    ),
    "array": ({"ARRAY": "1-3,7%2"}, "-t 1-3,7%2"),
}


@pytest.mark.parametrize(("fields", "words"), TORQUE_WORDS.values(), ids=TORQUE_WORDS)
def test_fields_become_words_of_torques_qsub(
    torque: Target, commands: Commands, fields: dict[str, str], words: str
) -> None:
    commands.set("qselect")
    commands.set("qsub", "12[].server\n")
    torque.start(**fields)
    assert commands.args("qsub") == [f"-j oe -o /dev/null {words} .gpe/script"]


TORQUE_ARRAY = "".join(
    f"Job Id: 33[{index}].server\n    Job_Owner = {{user}}@host\n    job_state = {state}\n{more}\n"
    for index, state, more in [
        (1, "C", "    exit_status = 3\n    exec_host = n1/0\n"),
        (2, "R", "    exec_host = n1/0\n"),
        (3, "Q", ""),
        (4, "H", "    Hold_Types = u\n"),
        (5, "C", "    exit_status = 271\n"),
    ]
)


def test_tasks_of_torque(torque: Target, commands: Commands) -> None:
    commands.set("qselect", "33[].server\n")
    commands.set("qstat", TORQUE_ARRAY.format(user=user()))
    leave(torque, "33[].server/.gpe/tasks/5", removed="removed\n")
    expected = {
        "33[1].server": ("C/exit", "DONE", 3, None),
        "33[2].server": ("R", "RUNNING", None, None),
        "33[3].server": ("Q", "QUEUED", None, None),
        "33[4].server": ("H", "HELD", None, None),
        "33[5].server": ("removed", "REMOVED", None, None),
    }
    assert words(torque) == expected
    told = torque.statuses("", JOB_ID="33[].server").values()
    assert {s.id: (s.word, s.state, s.exit, s.signal) for s in told} == expected
    (one,) = torque.statuses("", JOB_ID="33[2].server")
    assert one == "33[2].server"
    assert commands.args("qstat") == ["-f -t 33[].server"] * 2 + ["-f -t 33[2].server"]
    commands.set("qhold")
    commands.set("qdel")
    for verb in ("HOLD", "ABORT"):
        assert torque.ok(verb, JOB_ID="33[].server") == ""
    assert commands.args("qhold") == ["-h u 33[].server"]
    assert commands.args("qdel") == ["33[].server"]
    assert torque.statuses("", JOB_ID="33[].server")["33[5].server"].state == "REMOVED"
    commands.set("qstat", TORQUE_ARRAY.format(user=user()).replace("= Q", "= R").replace("= H", "= C"))
    assert "only waiting jobs can be held" in torque.fails("HOLD", JOB_ID="33[].server")


def test_an_array_that_torque_has_forgotten(torque: Target, commands: Commands) -> None:
    """A task that has left nothing is not told."""
    leave(torque, "33[].server", script="#!/bin/sh\ngpe_array='4-5'\n")
    leave(torque, "33[].server/.gpe/tasks/5", exit_status="3\n")
    commands.set("qstat", stderr="qstat: Unknown Job Id Error 33[].server\n", code=153)
    told = torque.statuses("", JOB_ID="33[].server")
    assert {job_id: (s.state, s.exit) for job_id, s in told.items()} == {"33[5].server": ("DONE", 3)}


def test_components_of_a_heterogeneous_job_of_slurm(slurm: Target, commands: Commands) -> None:
    """Its own id stands for the whole; each component has an id, too."""
    lines = "12+0|RUNNING|0|n1|None|debug|0:10|\n12+1|FAILED|256|n2|None|debug|0:04|\n13|PENDING|0|n/a|None|debug|0:00|\n"
    commands.set("squeue", lines)
    assert slurm.ok("GET_JOB_STATUS", JOB_ID="12") == "12 RUNNING host=n1 queue=debug elapsed=10\n"
    assert slurm.ok("GET_JOB_STATUS", JOB_ID="12+0") == "12+0 RUNNING host=n1 queue=debug elapsed=10\n"
    assert (
        slurm.ok("GET_JOB_STATUS", JOB_ID="12+1") == "12+1 FAILED/exit exit=1 host=n2 queue=debug elapsed=4\n"
    )
    assert "unknown job 12+2" in slurm.fails("GET_JOB_STATUS", JOB_ID="12+2")
    all_jobs = slurm.ok("GET_JOB_STATUS", "ALL").splitlines()
    assert [line.split()[0] for line in all_jobs] == ["12", "13"]


def test_what_slurm_tells_of_usage(slurm: Target, commands: Commands) -> None:
    """By sstat for what runs, by sacct for what has ended, and without accounting by the job's own record."""
    commands.set("squeue", "7|RUNNING|0|n1|None|debug|1:02:03|\n")
    commands.set("sstat", "7.extern|1000K|00:00:00|1\n7.batch|204800K|00:00:02|1\n7.0|1.5G|00:01:00|2\n")
    commands.set("sacct", stderr="Slurm accounting storage is disabled\n", code=1)
    assert slurm.ok("USAGE", JOB_ID="7") == "7 usage elapsed=3723 cpu=122.00 memory=1610612736\n"
    commands.set("squeue", "7|COMPLETED|0|n1|None|debug|0:10|\n")
    leave(slurm, "7", exit_status="0\n", usage="elapsed=10.01 cpu=2.02 memory=209715200\n")
    assert slurm.ok("USAGE", JOB_ID="7") == "7 usage elapsed=10 cpu=2.02 memory=209715200\n"
    commands.set(
        "sacct", "7|10|00:04.020|\n7.batch|10|00:04.020|204800K\n7.0|8|1-00:00:01|409600K\n8|1|00:01|1K\n"
    )
    assert slurm.ok("USAGE", JOB_ID="7") == "7 usage elapsed=10 cpu=4.02 memory=419430400\n"
    commands.set("squeue", "", INVALID, 1)
    assert slurm.ok("USAGE", JOB_ID="7") == "7 usage elapsed=10 cpu=4.02 memory=419430400\n"
    commands.set(
        "sacct",
        "7|10|00:04.020||1250|billing=2,cpu=2,mem=1G\n7.batch|10|00:04.020|204800K|1250|cpu=1,mem=1K\n",
    )
    took = "elapsed=10 cpu=4.02 memory=209715200 energy=1250"
    assert slurm.ok("USAGE", JOB_ID="7") == f"7 usage {took} cpus=2 allocated=1073741824\n"
    commands.set("sacct", "")
    assert slurm.ok("USAGE", JOB_ID="7") == "7 usage elapsed=10.01 cpu=2.02 memory=209715200\n"
    assert "nor a record knows it" in slurm.fails("USAGE", JOB_ID="9")


def test_what_slurm_gave_to_jobs(slurm: Target, commands: Commands) -> None:
    """What one asked for that has not begun, or never did, is not what it was given."""
    tres = "cpu=4,mem=1.5G,node=2,billing=4"
    commands.set(
        "squeue",
        f"1|RUNNING|0|n1|None|debug|0:10|N/A|9|{tres}|\n2|COMPLETED|0|n1|None|debug|0:00|1800000000|9|{tres}|\n"
        f"3|PENDING|0|n/a|Priority|debug|0:00|N/A|9|{tres}|\n4|CANCELLED|0|n/a|None|debug|0:00|N/A|9|{tres}|\n"
        f"5|RUNNING|0|n1|None|debug|0:10|N/A|9|node=1,mem=0,cpu=2K|\n",
    )
    given = "cpus=4 allocated=1610612736"
    assert slurm.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        f"1 RUNNING host=n1 queue=debug elapsed=10 {given}",
        f"2 COMPLETED exit=0 host=n1 queue=debug elapsed=0 {given} ended=1800000000",
        "3 PENDING queue=debug reason=Priority",
        "4 CANCELLED queue=debug",
        "5 RUNNING host=n1 queue=debug elapsed=10",
    ]
    commands.set("squeue", f"7|COMPLETED|0|n1|None|debug|0:10|1800000000|9|{tres}|\n")
    leave(slurm, "7", exit_status="0\n", usage="elapsed=10.01 cpu=2.02 ended=1800000000.5\n")
    own = f"exited exit=0 host=n1 queue=debug elapsed=10.01 cpu=2.02 {given} ended=1800000000.5"
    assert slurm.ok("GET_JOB_STATUS", JOB_ID="7") == f"7 {own}\n"
    commands.set("squeue", "", INVALID, 1)
    leave(slurm, "6")
    commands.set("sacct", f"6|COMPLETED|0:0|n1|None|debug|00:00:10|{tres}\n")
    assert (
        slurm.ok("GET_JOB_STATUS", JOB_ID="6")
        == f"6 COMPLETED exit=0 host=n1 queue=debug elapsed=10 {given}\n"
    )


def test_what_several_jobs_of_slurm_took(slurm: Target, commands: Commands) -> None:
    """Each of the commands is asked once: for a job that runs, one that the accounting knows, and one with a record alone."""
    commands.set("squeue", "7|RUNNING|0|n1|None|debug|0:03|\n8|COMPLETED|0|n1|None|debug|0:10|\n")
    commands.set("sstat", "7.batch|100K|00:00:01|1\n")
    commands.set("sacct", "8|10|00:04.020|\n8.batch|10|00:04.020|200K\n80|1|00:01|\n")
    leave(slurm, "9", exit_status="0\n", usage="elapsed=10.01 cpu=2.02 memory=209715200\n")
    assert slurm.ok("USAGE", "SEVERAL", JOB_IDS="7 8 9 10").splitlines() == [
        "7 usage elapsed=3 cpu=1.00 memory=102400",
        "8 usage elapsed=10 cpu=4.02 memory=204800",
        "9 usage elapsed=10.01 cpu=2.02 memory=209715200",
    ]
    assert "nor a record knows it" in slurm.fails("USAGE", "SEVERAL", JOB_IDS="10 11")


def test_what_tasks_of_slurm_took(slurm: Target, commands: Commands) -> None:
    commands.set("squeue", "5_1|RUNNING|0|n1|None|debug|0:03|\n5_2|COMPLETED|0|n1|None|debug|0:10|\n")
    commands.set("sstat", "6.batch|100K|00:00:01|1\n")
    commands.set("sacct", "5_2|10|00:04.020|\n5_2.batch|10|00:04.020|200K\n")
    assert slurm.ok("USAGE", JOB_ID="5").splitlines() == [
        "5_1 usage elapsed=3 cpu=1.00 memory=102400",
        "5_2 usage elapsed=10 cpu=4.02 memory=204800",
    ]
