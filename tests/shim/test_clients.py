"""What programs of others send, and what they must read from it: a row for each kind of command."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from osprofile.shim import scontrol
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.shim.conftest import Ended, Place

SLURM = [
    # Toil
    ("sinfo -a -o '%P %G %l %p %c %m'", r"PARTITION GRES .*\nhere\* \(null\) infinite 1 \d+ \d+\n"),
    ("scontrol show job 1", r"JobId=1 JobName=one\n(?s:.*)\n   JobState=RUNNING Reason=None (?s:.*) ExitCode=0:0\n(?s:.*)"),
    ("sacct -n -j 1 --format JobIDRaw,State,ExitCode -P -S 2020-01-01 -E now", r"1\|RUNNING\|0:0\n"),
    # the executor of Snakemake
    ("sinfo -o %P", r"PARTITION\nhere\*\n"),
    ("scontrol show config", r"(?s:.*)\nMaxArraySize +=  ?\d+\n(?s:.*)MinJobAge +=  ?300 sec\n(?s:.*)"),
    ("scontrol show partition", r"PartitionName=here\n(?s:.*) MaxTime=UNLIMITED (?s:.*)"),
    ("sacctmgr -n -s list user me format=account%256", ""),
    ("sshare -U --format Account%256 --noheader", ""),
    ("sacct -nu $(id -un) -o Account%256", r" {256} \n"),
    # QToolKit
    ("scontrol show job -o 1", r"JobId=1 JobName=one [^\n]* TimeLimit=00:05:00 [^\n]* NumNodes=1 NumCPUs=2 [^\n]*\n"),
    # ReFrame
    ("scontrol show hostname 'a[1-3,07],b'", "a1\na2\na3\na07\nb\n"),
    ("sinfo -h -O partition:8,cpus:6,memory:9,nodes:3,statelong", r"here\*   \d+ +\d+ +1  idle +\n"),
    ("sinfo -h -o '%C %z'", r"2/-?\d+/0/\d+ \d+:1:1\n"),
    ("scontrol show node", r"NodeName=\S+ (?s:.*) CPUTot=\d+ (?s:.*)RealMemory=\d+ (?s:.*)"),
    ("sacct -n -P -S 1970-01-01 --units=G --duplicate -o ReqMem", "0.10G\n"),
    ("sacct -nPS now-2days -E now+1hour -o jobid; sacct -nPS 00:00 -o jobid; sacct -nPS 010170 -o jobid", "1\n1\n1\n"),
    ("scontrol -a show -o nodes", r"NodeName=\S+ [^\n]* State=IDLE [^\n]* Partitions=here\n"),
    # AiiDA asks for each field that --helpformat lists
    ("sacct --format=$(sacct --helpformat | tr -s '\\n' ' ' | tr ' ' ',') --parsable --jobs=1", r"(?s:.*)\|one\|(?s:.*)"),
    # Parsl abbreviates options, as getopt_long does; qtoolkit, AiiDA and pysqa ask for columns
    ("sacct -X --noheader --format=jobid,state%20 --job 1", r" +1 +RUNNING *\n"),
    ("squeue -h --format '%A|%u|%t|%.15j|%Z' --noheader", r"1\|[^|]+\|R\| {12}one\|/.*\n"),
    # and others
    ("squeue -A nobody -h", ""),
    ("sacct -n -P -j 1 -o MaxVMSize,AllocTRES,Cluster", r"\|cpu=2,node=1\|here\n"),
    ("sinfo -N -h -o '%N %t'", r"\S+ idle\n"),
    ("sinfo -s -h", r"here\* +up +infinite +0/1/0/1 +\S+\n"),
    ("scontrol ping", r"Slurmctld\(primary\) at \S+ is UP\n"),
]  # fmt: skip


def run(place: Place, command: str) -> Ended:
    """Run a command by bash where it needs a shell, else in a fork, which takes a third of the time."""
    return place.shell(command) if {*"$;|"} & {*command} else place.run(*shlex.split(command))


def test_what_programs_ask(place: Place) -> None:
    place.ok("sbatch", "-J", "one", "-t", "5", "-c2", "--mem=100", "--wrap", "sleep 1000")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "1\n")
    for command, pattern in SLURM:
        ended = run(place, command)
        assert (ended.code, ended.err) == (0, ""), command
        assert re.fullmatch(pattern, ended.out), (command, ended.out)
    for command, code, text in (
        ("scontrol show job 99", 1, "slurm_load_jobs error: Invalid job id specified\n"),
        ("scontrol hold 1", 1, "Job is no longer pending execution for job 1\n"),
        ("scontrol update JobId=1 TimeLimit=10", 2, "the command update is not supported"),
        ("scontrol requeue 1", 2, "the command requeue is not supported"),
        ("sinfo -o %W", 2, "'%W' is not supported"),
        ("srun hostname", 2, "not inside a job"),
    ):
        ended = run(place, command)
        assert (ended.code, text in ended.err) == (code, True), (command, ended)


def test_srun_runs_one_task(place: Place) -> None:
    place.script(
        "#!/bin/sh\nsrun --unbuffered -o '%j.%t.out' -e err -n1 sh -c 'echo \"$SLURM_STEP_ID $0\"; echo e >&2; exit 7' 'a b'\n"
        'echo "code $?"\nsrun -n 2 true\necho "code $?"\nsrun none-such\n'
    )
    assert place.run("sbatch", "-W", "-o", "out", "job.sh").code == 2
    assert [(place.work / name).read_text() for name in ("1.0.out", "err")] == ["0 a b\n", "e\n"]
    lines = (place.work / "out").read_text().splitlines()
    assert [line for line in lines if line.startswith("code")] == ["code 7", "code 2"]
    assert "several tasks are not started" in lines[1]
    assert lines[-1] == "srun: error: execve(): none-such: No such file or directory"


def test_a_signal_for_what_srun_starts(place: Place) -> None:
    place.script(
        "#!/bin/bash\ntrap 'echo wrong' USR2\n"
        "srun bash -c 'trap \"echo got it; exit 5\" USR2; for i in {1..600}; do sleep 0.1; done'\n"
    )
    ended = place.run("sbatch", "-W", "-o", "%J.out", "--signal=USR2@56", "-t", "1", "job.sh")
    assert (ended.code, (place.work / "1.out").read_text()) == (5, "got it\n")


def test_reasons_of_failures(place: Place) -> None:
    place.run("sbatch", "-W", "--wrap", "exit 3")
    assert place.ok("squeue", "-ht", "all", "-o", "%r %R") == "NonZeroExitCode (NonZeroExitCode)\n"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("", []), ("a", ["a"]), ("n[08-10]-ib,m", ["n08-ib", "n09-ib", "n10-ib", "m"]), ("a,b[2]", ["a", "b2"])],
)
def test_lists_of_hosts(text: str, hosts: list[str]) -> None:
    assert scontrol.expand_hosts(text) == hosts


def test_harmless_options_are_ignored_if_asked_or_without_queues(place: Place) -> None:
    for ignore, is_refused in (("", True), ("harmless", False)):
        place.write_stand_ins("slurm", "pbs", ignore)
        err = place.run("sbatch", "--threads-per-core=1", "--hold", "--wrap", "true").err
        assert f"option {'--threads-per-core' if is_refused else '--hold'} is not supported" in err
    place.write_stand_ins("slurm")
    words = ["--exclusive", "--qos=q", "-A", "me", "-p", "fast", "--threads-per-core=1", "--mail-type=END"]
    place.ok("sbatch", *words, "-W", "-o", "out", "--wrap", "echo done")
    assert (place.work / "out").read_text() == "done\n"
    for option in ("--hold", "--gpus=1", "--nodelist=a", "--nonsense"):
        ended = place.run("sbatch", option, "--wrap", "true")
        assert (ended.code != 0, option.partition("=")[0] in ended.err) == (True, True)
    # A person is told, once for each job.
    ended = place.shell(
        'script -qec "sbatch --exclusive --qos=q --comment=x --wrap true" /dev/null < /dev/null'
    )
    assert "note: --comment, --qos, --exclusive: taken, and without effect here" in ended.out
    assert ended.out.count("note:") == 1


def test_the_other_table_of_qstat(place: Place) -> None:
    place.ok("qsub", "-N", "one", "-l", "walltime=01:00:00,mem=1gb", "-c", "n", text="sleep 1000\n")
    wait_until(lambda: "job_state = R" in place.ok("qstat", "-f", "1"))
    for words in (["-a"], ["-u", place.ok("squeue", "-h", "-o", "%u").strip()]):
        line = place.ok("qstat", *words).splitlines()[-1].split()
        assert line[0] == "1.osprofile"
        assert line[2:10] == ["here", "one", "--", "1", "1", "1024mb", "01:00", "R"]
    assert place.ok("qdel", "-W", "force", "1") == ""


def test_options_of_qsub_that_never_change_the_result(place: Place) -> None:
    place.ok("qsub", "-X", "-c", "s", "-f", text="true\n")
