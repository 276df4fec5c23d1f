"""The profile sge against what Grid Engine 8.1.9 prints; tests/lab runs it on a real one."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, load_site, quoted
from tests.profiles.test_words import Commands, leave, user, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Job, Target

pytestmark = DASH

JOB = """    <job_list state="{kind}">
      <JB_job_number>{id}</JB_job_number>
      <JAT_prio>0.50000</JAT_prio>
      <JB_name>{name}</JB_name>
      <JB_owner>me</JB_owner>
      <state>{state}</state>
      <JAT_start_time>2026-11-21T12:23:14</JAT_start_time>
      <queue_name>{queue}</queue_name>
      <slots>{slots}</slots>{more}
    </job_list>
"""
RECORD = """==============================================================
qname        all.q               
hostname     {host}                  
group        users            
owner        {owner}
project      NONE                
jobname      gpe_job                   
jobnumber    {id}                   
taskid       {task}
account      sge                 
qsub_time    {when}
start_time   Sat Nov 21 12:20:03 2026
granted_pe   NONE                
slots        {slots}                   
failed       {failed}
exit_status  {code}
ru_wallclock {wall}s
ru_maxrss    4.832KB
cpu          {cpu}s
maxvmem      {vmem}
category     {category}
"""  # noqa: W291
ENDED = {
    "id": "7", "task": "undefined", "host": "vm", "when": "Sat Nov 21 12:20:03 2126", "failed": "0    ", "slots": "1",
    "code": "0                   ", "wall": "4", "cpu": "0.007", "category": "NONE", "vmem": "3.457MB",
}  # fmt: skip


USAGE = re.compile(" (?:elapsed|cpu|memory|cpus|ended)=[0-9.]+")


def listed(*jobs: dict[str, str]) -> str:
    """Give qstat's answer for jobs."""
    given = {"kind": "running", "name": "gpe_job", "queue": "all.q@vm", "slots": "1", "more": ""}
    text = "".join(JOB.format(**(given | job)) for job in jobs)
    return (
        "<?xml version='1.0'?>\n<job_info  xmlns:xsd=\"http://example.org/qstat.xsd\">\n"
        f"  <queue_info>\n{text}  </queue_info>\n  <job_info>\n  </job_info>\n</job_info>\n"
    )


def record(**fields: str) -> str:
    """Give a record of the accounting as qacct prints it."""
    return RECORD.format(**(ENDED | {"owner": user()} | fields))


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    made = Commands(tmp_path / "commands")
    made.set("qstat", listed())
    made.set("qacct", stderr="error: job id 7 not found\n", code=1)
    made.set("qsub", "7\n")
    return made


@pytest.fixture
def sge(target_of: Callable[..., Target], commands: Commands) -> Target:
    return target_of("sge", commands.directory)


def run(job: Job, index: str = "undefined", **variables: str) -> int:
    """Run the script of a job or a task as Grid Engine does."""
    return subprocess.run(
        ["sh", ".gpe/script"],
        env={**job.target.env, "JOB_ID": job.id, "SGE_TASK_ID": index, **variables},
        cwd=job.directory,
        check=False,
        capture_output=True,
    ).returncode


def directives(job: Job) -> list[str]:
    lines = job.read(".gpe/script").splitlines()
    return [line for line in lines if line.startswith("#$")]


def test_directives(sge: Target, commands: Commands) -> None:
    job = sge.start(JOB_NAME="n", QUEUE="a.q@h", PROJECT="p", WALLTIME="90", CPUTIME="60")
    head = ["#$ -S /bin/sh", "#$ -N n", "#$ -q a.q@h", "#$ -P p", "#$ -l h_rt=90", "#$ -l h_cpu=60"]
    assert directives(job) == head
    assert job.read(".gpe/script").splitlines()[:7] == ["#!/bin/sh", *head]
    assert commands.args("qsub") == ["-terse -b n -now n -C #$ -j y -o /dev/null .gpe/script"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"NODES": "1", "PROCESSES": "1"}, ""),
        ({"PE": "smp", "PROCESSES": "4"}, "-pe smp 4 "),
        ({"PE": "smp", "CPUS": "3", "PE_NODES": "x"}, "-pe smp 3 "),
        ({"PE_NODES": "mpi", "NODES": "2"}, "-pe mpi 2 "),
        ({"PE_NODES": "mpi%-x", "NODES": "3", "PROCESSES": "7", "CPUS": "2"}, "-pe mpi6-x 18 "),
        ({"MEMORY": "100"}, "-l mem_free=100M "),
        ({"PE": "smp", "PROCESSES": "4", "MEMORY": "101"}, "-pe smp 4 -l mem_free=101M "),
        ({"GPUS": "2"}, "-l gpu=2 "),
        ({"GPUS": "2", "GPU_TYPE": "a100", "PE": "smp", "CPUS": "4"}, "-pe smp 4 -l gpu=2 "),
        ({"EXCLUSIVE": "false"}, ""),
        ({"START_TIME": "2037-12-31T23:58"}, "-a 203712312358 "),
        ({"START_TIME": "2037-12-31T23:59:30"}, "-a 203712312359.30 "),
        ({"NOTIFY": "me@example.org,you"}, "-M me@example.org,you -m ea "),
        ({"NOTIFY": "me", "NOTIFY_EVENTS": "begin"}, "-M me -m b "),
        ({"NOTIFY": "me", "NOTIFY_EVENTS": "fail,begin,end"}, "-M me -m abe "),
    ],
)
def test_fields_that_are_options(
    sge: Target, commands: Commands, fields: dict[str, str], expected: str
) -> None:
    sge.start(**fields)
    (args,) = commands.args("qsub")
    assert args.partition("/dev/null ")[2] == f"{expected}.gpe/script"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"RESERVATION": "12"}, "-ar 12"),
        ({"PRIORITY": "-1023"}, "-p -1023"),
        ({"PRIORITY": "0"}, "-p 0"),
        ({"REQUEUE": "true"}, "-r y"),
        ({"REQUEUE": "false"}, "-r n"),
        ({"ARRAY": "7"}, "-t 7"),
        ({"ARRAY": "1-10:3%2"}, "-t 1-10:3"),
        ({"GPUS": "2", "GPU_TYPE": "a100"}, "-l gpu_type=a100"),
        ({"CONSTRAINT": "h=n1|n2,arch=lx-*"}, "-l h=n1|n2,arch=lx-*"),
        ({"EXCLUSIVE": "true"}, "-l exclusive=true"),
    ],
)
def test_fields_that_are_directives(sge: Target, fields: dict[str, str], expected: str) -> None:
    assert directives(sge.start(**fields)) == ["#$ -S /bin/sh", "#$ -N hostname", f"#$ {expected}"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"PROCESSES": "2"}, "takes 2 slots needs a parallel environment: the field PE is empty"),
        ({"CPUS": "2", "PE_NODES": "x"}, "the field PE is empty"),
        ({"NODES": "2", "PE": "x"}, "2 nodes needs a parallel environment: the field PE_NODES is"),
        ({"NODES": "3", "PROCESSES": "2", "PE_NODES": "x"}, "2 processes cannot fill 3 nodes"),
        ({"ARRAY": "5-2"}, "ARRAY: 5-2 ends before it begins"),
        ({"ARRAY": "5-2:1%3"}, "ARRAY: 5-2:1 ends before it begins"),
        ({"DEPENDENCY": "afterok:7,afterany:8"}, "DEPENDENCY names 7, which is no job of this profile"),
    ],
)
def test_what_start_refuses(sge: Target, commands: Commands, fields: dict[str, str], reason: str) -> None:
    assert reason in sge.fails("START", **fields)
    assert not (commands.directory / "qsub.args").exists()


def test_a_site_says_what_is_its_own(sge: Target, commands: Commands) -> None:
    sge.profile = load_site("sge", PE="smp", MEMORY_RESOURCE="h_vmem", MEMORY_PER="slot")
    sge.start(PROCESSES="4", MEMORY="101")
    assert commands.args("qsub")[0].endswith("-pe smp 4 -l h_vmem=26M .gpe/script")


def test_an_array_has_an_id_without_tasks_and_directories_for_them(sge: Target, commands: Commands) -> None:
    commands.set("qsub", "a warning\n7.2-10:4\n")
    job = sge.start(ARRAY="2-10:4%3")
    assert job.id == "7"
    assert commands.args("qsub")[0].endswith(" -tc 3 .gpe/script")
    assert {path.name for path in (job.directory / ".gpe/tasks").iterdir()} == {"2", "6", "10"}


def test_a_refused_array_leaves_no_tasks_to_the_next_job(sge: Target, commands: Commands) -> None:
    commands.set("qsub", stderr="Unable to run job\n", code=1)
    directory = sge.directory()
    done = sge.run("START", directory=directory, ARRAY="1-3")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Unable to run job\n")
    (directory / ".gpe/submitting").unlink()
    commands.set("qsub", "7\n")
    job = sge.start(directory)
    assert not (job.directory / ".gpe/tasks").exists()


def test_the_end_of_each_task(sge: Target, commands: Commands) -> None:
    """What qstat lists is first, then what a task left; one qacct tells the ends of those that left nothing."""
    commands.set("qsub", "7.1-12:1\n")
    text = "case $GPE_ARRAY_INDEX in 1) exit 3 ;; 2 | 3 | 4) kill -s KILL $$ ;; esac"
    job = sge.start(ARRAY="1-12", EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text))
    for index in range(1, 6):
        run(job, str(index))
    pending = {"id": "7", "queue": "", "kind": "pending"}
    commands.set(
        "qstat",
        listed(
            {"id": "7", "state": "r", "more": "\n      <tasks>4</tasks>"},
            {**pending, "state": "qw", "more": "\n      <tasks>11-12:1</tasks>"},
        ),
    )
    accounts = [
        *(record(task=str(task), **KILLED) for task in (3, 4, 6)),
        record(task="2", **{**KILLED, "failed": LIMIT}),
        record(task="7"),
        record(task="8", owner="somebody"),
        record(task="9", id="77"),
    ]
    commands.set("qacct", "".join(accounts))
    (job.directory / ".gpe/tasks/10/.gpe/removed").write_text("removed\n")
    told = (line.partition(" ") for line in sge.ok("GET_JOB_STATUS", JOB_ID="7").splitlines())
    lines = {name: USAGE.sub("", words) for name, _, words in told}
    unseen = f"exited/no-directory exit=137 host=vm reason=the job could not enter its working directory {job.directory} on vm"
    left_nothing = lines.pop("7.6")
    assert left_nothing.startswith(unseen)
    assert lines == {
        "7.1": "exited exit=3",
        "7.2": f"ended/37 host=vm reason={LIMIT}",
        "7.3": "exited exit=137 host=vm",
        "7.4": "r host=vm",
        "7.5": "exited exit=0",
        "7.7": "ended/0 exit=0 host=vm",
        "7.10": "removed",
        "7.11": "qw",
        "7.12": "qw",
    }
    assert commands.args("qacct") == ["-j 7"]
    assert len(commands.args("qstat")) == 1
    assert USAGE.sub("", sge.ok("GET_JOB_STATUS", JOB_ID="7.6")) == f"7.6 {left_nothing}\n"
    assert commands.args("qacct")[1:] == ["-j 7 -t 6"]
    assert "unknown job 7.8\n" in sge.fails("GET_JOB_STATUS", JOB_ID="7.8")


def test_tasks_that_left_their_ends_need_no_accounting(sge: Target, commands: Commands) -> None:
    commands.set("qsub", "7.1-3:1\n")
    job = sge.start(ARRAY="1-3", EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'exit "$GPE_ARRAY_INDEX"'))
    for index in (1, 2, 3):
        run(job, str(index))
    assert [status.exit for status in sge.statuses("", JOB_ID="7").values()] == [1, 2, 3]
    assert not (commands.directory / "qacct.args").exists()


@pytest.mark.parametrize(
    ("fields", "slots", "expected"),
    [
        ({}, "", "n9"),
        ({"PROCESSES": "4"}, "n1 4", "n1 n1 n1 n1"),
        ({"PROCESSES": "2", "CPUS": "2"}, "n1 4", "n1 n1"),
        ({"PROCESSES": "7", "NODES": "3", "CPUS": "2"}, "n1 6,n2 6,n3 6", "n1 n1 n1 n2 n2 n2 n3"),
        ({"NODES": "2"}, "n1 1,n2 1", "n1 n2"),
    ],
)
def test_the_file_of_nodes(
    sge: Target, commands: Commands, fields: dict[str, str], slots: str, expected: str
) -> None:
    commands.set("uname", "n9\n")
    hosts = commands.directory / "hosts"
    hosts.write_text("".join(f"{line} all.q@x UNDEFINED\n" for line in slots.split(",") if line))
    job = sge.start(PE="smp", PE_NODES="mpi", NODE_FILE="nodes", **fields)
    run(job, **({"PE_HOSTFILE": str(hosts)} if slots else {}))
    assert job.read("nodes").split() == expected.split()


@pytest.mark.parametrize(
    ("limit", "text", "expected"),
    [
        ("1", "ulimit -t 1; while :; do :; done", ("limit", "FAILED/TIME", None, None)),
        ("1", "kill -s KILL $$", ("exited", "FAILED", None, 9)),
        ("", "kill -s KILL $$", ("exited", "FAILED", None, 9)),
    ],
)
def test_the_job_tells_that_its_processor_time_is_used_up(
    sge: Target, limit: str, text: str, expected: tuple[object, ...]
) -> None:
    job = sge.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), CPUTIME=limit)
    run(job)
    status = job.status()
    assert (status.word, status.state, status.exit, status.signal) == expected


STATES = {
    "qw": "QUEUED", "Rq": "QUEUED", "Rqw": "QUEUED", "hqw": "HELD", "hRwq": "HELD", "Eqw": "HELD",
    "Ehqw": "HELD", "t": "RUNNING", "r": "RUNNING", "Rr": "RUNNING", "Rt": "RUNNING", "hr": "RUNNING",
    "s": "HELD", "st": "HELD", "ts": "HELD", "S": "HELD", "T": "HELD", "hs": "HELD", "Rs": "HELD",
    "dr": "RUNNING", "dRt": "RUNNING", "dt": "RUNNING", "ds": "RUNNING", "P": "HELD", "Z": "QUEUED",
}  # fmt: skip


def test_states(sge: Target, commands: Commands) -> None:
    ids = {str(number): word for number, word in enumerate(STATES, 9999990)}
    commands.set("qstat", listed(*({"id": i, "state": w} for i, w in ids.items())))
    told = {job: status.state for job, status in sge.statuses().items()}
    assert told == {i: STATES[w] for i, w in ids.items()}
    assert commands.args("qstat") == [f"-xml -s prs -u {user()}"]


def test_names_hosts_and_arrays(sge: Target, commands: Commands) -> None:
    array = {"id": "12", "queue": "", "kind": "pending"}
    commands.set(
        "qstat",
        listed(
            {
                "id": "1",
                "state": "r",
                "name": "%lt;state&gt;qw  r 7",
                "queue": "q@node-1.example",
                "slots": "4",
            },
            {**array, "state": "r", "more": "\n      <tasks>1</tasks>"},
            {**array, "state": "qw", "more": "\n      <tasks>3-7:2,11</tasks>"},
        ),
    )
    tasks = ["12.1 r cpus=1", "12.3 qw", "12.5 qw", "12.7 qw", "12.11 qw"]
    assert sge.ok("GET_JOB_STATUS", "ALL").splitlines() == ["1 r host=node-1.example cpus=4", *tasks]
    assert sge.ok("GET_JOB_STATUS", JOB_ID="12").splitlines() == tasks
    assert sge.ok("GET_JOB_STATUS", JOB_ID="12.7") == "12.7 qw\n"
    assert "unknown job 12.9\n" in sge.fails("GET_JOB_STATUS", JOB_ID="12.9")
    assert "unknown job 2\n" in sge.fails("GET_JOB_STATUS", JOB_ID="2")
    assert "unknown job 7\n" in sge.fails("GET_JOB_STATUS", JOB_ID="7")


@pytest.mark.parametrize("answer", ["", "garbage\n", "<?xml version='1.0'?>\n<job_info>\n"])
def test_half_an_answer_is_an_error(sge: Target, commands: Commands, answer: str) -> None:
    commands.set("qstat", answer)
    for verb in ("HOLD", "RESUME", "ABORT", "GET_JOB_STATUS"):
        sge.fails(verb, JOB_ID="7")
    sge.fails("GET_JOB_STATUS", "ALL")


KILLED = {"failed": "100 : assumedly after job", "code": "137                  (Killed)"}
LIMIT = "37  : qmaster enforced h_rt, h_cpu, or h_vmem limit"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ("ended/0", "DONE", 0, None)),
        ({"code": "7 "}, ("ended/0", "DONE", 7, None)),
        ({"code": "137 (Killed)"}, ("ended/0", "FAILED", None, 9)),
        (KILLED, ("ended/100", "FAILED", None, 9)),
        ({**KILLED, "failed": LIMIT}, ("ended/37", "FAILED/LIMIT", None, None)),
        ({**KILLED, "category": "-l h_rt=4"}, ("ended/time", "FAILED/TIME", None, None)),
        ({**KILLED, "category": "-l h_rt=5"}, ("ended/100", "FAILED", None, 9)),
        ({**KILLED, "category": "-l s_h_rt=4"}, ("ended/100", "FAILED", None, 9)),
        ({**KILLED, "category": "-l h_cpu=0:1:0,h_rt=90 -q x", "cpu": "59.99"}, ("ended/time", "FAILED/TIME", None, None)),
        ({**KILLED, "category": "-l h_cpu=60 -pe smp 2", "cpu": "61", "slots": "2"}, ("ended/100", "FAILED", None, 9)),
        ({**KILLED, "category": "-l h_vmem=100M", "vmem": "100.2MB"}, ("ended/memory", "FAILED/MEMORY", None, None)),
        (
            {**KILLED, "failed": LIMIT, "category": "-l h_vmem=1G -pe smp 2", "slots": "2", "vmem": "2.1GB"},
            ("ended/memory", "FAILED/MEMORY", None, None),
        ),
        ({**KILLED, "category": "-l h_vmem=100M", "vmem": "99.1MB"}, ("ended/100", "FAILED", None, 9)),
        ({"code": "152 (CPU)"}, ("ended/time", "FAILED/TIME", None, None)),
        ({"failed": "28  : changing into working directory"}, ("ended/28", "FAILED", None, None)),
        # it runs again: that is no end
        ({"failed": "25  : rescheduling", "code": "99"}, None),
        ({"failed": "24  : migrating"}, None),
        ({"when": "11/21/2126 12:20:03.123", "code": "3"}, ("ended/0", "DONE", 3, None)),
        # another job that had the number long ago, or another user's
        ({"when": "Sat Nov 21 12:20:03 2020"}, None),
        ({"when": "11/21/2020 12:20:03.123"}, None),
        ({"owner": "somebody"}, None),
        ({"id": "77"}, None),
    ],
)  # fmt: skip
def test_the_accounting(
    sge: Target, commands: Commands, fields: dict[str, str], expected: tuple[object, ...] | None
) -> None:
    leave(sge, "7", script="#!/bin/sh\n")
    commands.set("qacct", record(**fields))
    if expected is None:
        assert sge.fails("GET_JOB_STATUS", JOB_ID="7") == "GET_JOB_STATUS: unknown job 7\n"
    else:
        status = sge.statuses("", JOB_ID="7")["7"]
        assert (status.word, status.state, status.exit, status.signal) == expected
        if fields.get("failed"):
            assert status.reason


def test_the_last_record_that_is_the_jobs_counts(sge: Target, commands: Commands) -> None:
    leave(sge, "7", script="#!/bin/sh\n")
    first = record(failed="25  : rescheduling", code="99")
    commands.set("qacct", first + record(code="3", host="n2") + record(owner="somebody"))
    line = "7 ended/0 exit=3 host=n2 elapsed=4 cpu=0.01 memory=5066719 cpus=1\n"
    assert sge.ok("GET_JOB_STATUS", JOB_ID="7") == line


@pytest.mark.parametrize(
    ("files", "account", "expected"),
    [
        ({"exit_status": "7\n"}, "", ("exited", "DONE", 7, None)),
        # the job knows better than the accounting what its program's status was
        ({"exit_status": "99\n"}, record(code="1"), ("exited", "DONE", 99, None)),
        ({"exit_status": "143\n"}, "", ("exited", "FAILED", None, 15)),
        ({"exit_status": "137\n"}, record(**{**KILLED, "failed": LIMIT}), ("ended/37", "FAILED/LIMIT", None, None)),
        ({"exit_status": "143\n", "removed": "\n"}, "", ("removed", "REMOVED", None, None)),
        ({"removed": "\n"}, record(**KILLED), ("removed", "REMOVED", None, None)),
    ],
)  # fmt: skip
def test_what_the_job_left(
    sge: Target, commands: Commands, files: dict[str, str], account: str, expected: tuple[object, ...]
) -> None:
    leave(sge, "7", script="#!/bin/sh\n", **files)
    if account:
        commands.set("qacct", account)
    status = sge.statuses("", JOB_ID="7")["7"]
    assert (status.word, status.state, status.exit, status.signal) == expected


def say_of_a_job(commands: Commands, said: str, first: str = "7") -> None:
    """Let qstat -j, which is asked for this job first, say this."""
    qstat = commands.directory / "qstat"
    answer = f'[ "$1" != -j ] || {{ echo "==========\njob_number:      {first}\n{said}"; exit; }}\ncat'
    qstat.write_text(qstat.read_text().replace("cat", answer, 1))


def test_an_error_state_has_a_reason(sge: Target, commands: Commands) -> None:
    commands.set("qstat", listed({"id": "7", "state": "Eqw", "queue": ""}))
    said = "error reason          1:      11/21/2026 12:28:22 [1:2]: error: can't chdir to /x"
    say_of_a_job(commands, said)
    line = "7 Eqw reason=11/21/2026 12:28:22 [1:2]: error: can't chdir to /x (as it is, it will not start)\n"
    assert sge.ok("GET_JOB_STATUS", JOB_ID="7") == line
    assert words(sge) == {"7": ("Eqw", "HELD", None, None)}


def test_a_held_job_says_what_it_waits_for(sge: Target, commands: Commands) -> None:
    commands.set("qstat", listed({"id": "7", "state": "hqw", "queue": ""}))
    said = "jid_predecessor_list (req): 5,6\njid_predecessor_list:       6"
    say_of_a_job(commands, said)
    assert sge.ok("GET_JOB_STATUS", JOB_ID="7") == "7 hqw reason=waits for the end of 6\n"


@pytest.mark.parametrize("verb", ["HOLD", "RESUME"])
def test_a_hold_of_an_ended_job_is_an_error(sge: Target, verb: str) -> None:
    leave(sge, "7", exit_status="0\n")
    assert sge.fails(verb, JOB_ID="7") == f"{verb}: job 7: it is unknown\n"
    assert sge.statuses("", JOB_ID="7")["7"].state == "DONE"


def test_a_job_that_grid_engine_does_not_let_go_is_not_removed(sge: Target, commands: Commands) -> None:
    commands.set("qstat", listed({"id": "7", "state": "r"}))
    said = "me - you do not have the necessary privileges to delete the job 7\n"
    commands.set("qdel", said, code=1)
    leave(sge, "7", script="")
    assert sge.fails("ABORT", JOB_ID="7") == said
    assert not (sge.home / ".gpe/jobs/sge/7/.gpe/removed").exists()


@pytest.mark.parametrize(
    ("state", "reason"), [("hqw", "another job holds it"), ("S", "its queue or the load suspends it")]
)
def test_what_stays_held_is_an_error(sge: Target, commands: Commands, state: str, reason: str) -> None:
    """The commands say yes, and nothing changes."""
    commands.set("qstat", listed({"id": "7", "state": state, "queue": ""}))
    for name in ("qrls", "qmod"):
        commands.set(name, "modified hold of job 7\n")
    assert reason in sge.fails("RESUME", JOB_ID="7")
    assert state in sge.fails("RESUME", JOB_ID="7")


def test_what_grid_engine_tells_of_usage(sge: Target, commands: Commands) -> None:
    commands.set("qacct", record(cpu="2.02", wall="5", slots="2"))
    assert sge.ok("USAGE", JOB_ID="7").split()[2:] == [
        "exit=0", "host=vm", "elapsed=5", "cpu=2.02", "memory=5066719", "cpus=2",
    ]  # fmt: skip
    commands.set("qacct", stderr="error: job id 7 not found\n", code=1)
    assert "job id 7 not found" in sge.fails("USAGE", JOB_ID="7")
    leave(sge, "7", exit_status="0\n", usage="elapsed=10.01 cpu=2.02 memory=209715200\n")
    assert sge.ok("USAGE", JOB_ID="7") == "7 exited exit=0 elapsed=10.01 cpu=2.02 memory=209715200\n"
    commands.set("qstat", listed({"id": "7", "state": "r"}))
    usage = "usage         1:            cpu=1:00:01:02, mem=0.3 GB s, io=0.0 GB, vmem=N/A, maxvmem=209.707M"
    say_of_a_job(commands, usage)
    assert sge.ok("USAGE", JOB_ID="7") == "7 r cpu=86462 memory=219893727\n"


def test_several_jobs_are_one_query(sge: Target, commands: Commands) -> None:
    commands.set("qstat", listed({"id": "5", "state": "r"}, {"id": "6", "state": "qw"}))
    leave(sge, "7", exit_status="4\n")
    statuses = sge.statuses("SEVERAL", JOB_IDS="5 6 7 8")
    assert [(s.id, s.state, s.exit) for s in statuses.values()] == [
        ("5", "RUNNING", None), ("6", "QUEUED", None), ("7", "DONE", 4),
    ]  # fmt: skip
    assert len(commands.args("qstat")) == 1
    assert commands.args("qacct") == ["-j 8"]


def test_why_jobs_are_held_is_one_query(sge: Target, commands: Commands) -> None:
    """So is how jobs ended that left nothing; what is not asked for is not looked at."""
    states = ({"id": "5", "state": "hqw"}, {"id": "6", "state": "Eqw"}, {"id": "9", "state": "hqw"})
    commands.set("qstat", listed(*states))
    said = "jid_predecessor_list: 4\n=======\njob_number: 6\nerror reason    1:   no shell"
    say_of_a_job(commands, said, first="5")
    lines = sge.ok("GET_JOB_STATUS", "SEVERAL", JOB_IDS="5 6 7 8").splitlines()
    assert lines == [
        "5 hqw host=vm reason=waits for the end of 4", "6 Eqw host=vm reason=no shell (as it is, it will not start)",
    ]  # fmt: skip
    assert commands.args("qstat") == [f"-xml -s prs -u {user()}", "-j 5,6"]
    assert commands.args("qacct") == [f"-o {user()} -j"]


def test_a_job_whose_host_does_not_answer_is_removed_when_it_has_gone(
    sge: Target, commands: Commands
) -> None:
    commands.set("qstat", listed({"id": "7", "state": "r"}))
    commands.set("qdel", "me has registered the job 7 for deletion\n")
    leave(sge, "7", script="")
    assert sge.ok("ABORT", JOB_ID="7") == ""
    commands.set("qstat", listed({"id": "7", "state": "dr"}))
    assert sge.statuses("", JOB_ID="7")["7"].state == "RUNNING"
    assert sge.ok("ABORT", JOB_ID="7") == ""
    assert "it is being deleted" in sge.fails("HOLD", JOB_ID="7")
    commands.set("qstat", listed())
    assert sge.statuses("", JOB_ID="7")["7"].state == "REMOVED"
