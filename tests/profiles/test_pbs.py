"""The profile pbs against stand-ins that answer as OpenPBS 23 does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.errors import IncarnationError
from tests.profiles.conftest import CUT, DASH, Job, quoted
from tests.profiles.test_hostile_values import NAMES, VALUES
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Status, Target

pytestmark = DASH

OPENPBS = Path(__file__).parent / "openpbs"


class Server:
    """What the stand-ins know."""

    def __init__(self, directory: Path, target: Target) -> None:
        self.directory = directory
        self.target = target
        (directory / "jobs").mkdir(parents=True)
        target.environment["FAKE_PBS"] = str(directory)

    def write(self, name: str, text: object) -> None:
        (self.directory / name).write_text(f"{text}\n")

    def job(self, job: Job) -> Path:
        """Return the directory of a job, or of a task."""
        number, _, index = job.id.partition(".")[0].rstrip("]").partition("[")
        return self.directory / "jobs" / number / (f"tasks/{index}" if index else "")

    def set(self, job: Job, **attributes: object) -> None:
        for name, value in attributes.items():
            path = self.job(job) / name
            if value is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(f"{value}\n")

    def run(self, job: Job) -> int:
        """Run a job to its end, as a MoM does."""
        return self.end(job, self.begin(job))

    def begin(self, job: Job) -> subprocess.Popen[bytes]:
        """Begin a job as a MoM does: a command as it is, a script below a login shell."""
        args = self.args(job)
        if "--" in args:
            _, *words = args[args.index("--") :]
            words[0] = {"/bin/sh": "sh"}[words[0]]
            stdin = b""
        else:
            words = ["sh", "-l"]
            stdin = f"sh '{self.job(job)}/script'".encode()
        umask = [word.removeprefix("umask=") for word in args if word.startswith("umask=")]
        variables = {"PBS_JOBID": job.id}
        if index := get_index(job):
            variables |= {"PBS_ARRAY_INDEX": index, "PBS_ARRAY_ID": get_array(job).id}
            self.take(job, index)
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.target.env, **variables},
            cwd=self.target.home,
            start_new_session=True,
            umask=int(umask[-1] if umask else "077", 8),
        )
        assert process.stdin
        process.stdin.write(stdin)
        process.stdin.close()
        self.set(job, state="R", substate=42, exec_host="node1/0*2+node2/0+node2/1", session=process.pid)
        return process

    def take(self, task: Job, index: str) -> None:
        """Make the record of a task, which the server has from the moment when it begins."""
        array = self.job(get_array(task))
        self.job(task).mkdir(parents=True)
        remaining = (array / "remaining").read_text().split()
        (array / "remaining").write_text("".join(f"{i}\n" for i in remaining if i != index))
        (array / "state").write_text("B\n")
        (array / "substate").write_text("70\n")

    def end_array(self, array: Job) -> None:
        """End an array whose tasks have all ended; with a history, they are finished, too."""
        self.set(array, state="F", substate=92, exit=0)

    def end(self, job: Job, process: subprocess.Popen[bytes]) -> int:
        """Wait until a job has ended."""
        with process:
            code = process.wait()
        code = code if code >= 0 else 256 - code
        self.set(job, state="X" if get_index(job) else "F", substate=93 if code else 92, exit=code)
        return code

    def args(self, job: Job) -> list[str]:
        """Return the words that qsub got."""
        return (self.job(get_array(job)) / "args").read_text().split("\0")[:-1]

    def options(self, job: Job) -> list[str]:
        """Return the words before the command, behind the umask, which is the first."""
        args = self.args(job)
        assert args[:2] == ["-W", args[1]]
        assert args[1].startswith("umask=")
        return args[2 : args.index("--")]

    def resources(self, job: Job) -> list[str]:
        """Return the values of -l."""
        options = self.options(job)
        return [options[i + 1] for i, option in enumerate(options) if option == "-l"]

    def qstats(self) -> list[str]:
        """Return how qstat was called since this was asked last."""
        calls = self.directory / "qstats"
        text = calls.read_text() if calls.exists() else ""
        calls.unlink(missing_ok=True)
        return text.splitlines()


def get_index(job: Job) -> str:
    """Return the index of a task, or nothing."""
    return job.id.partition("[")[2].partition("]")[0]


def get_array(job: Job) -> Job:
    """Return the array of a task, or the job itself."""
    return type(job)(job.target, re.sub(r"\[[0-9]+", "[", job.id), job.directory)


def outcomes(target: Target, **fields: str) -> dict[str, tuple[str, str]]:
    """Return word and state of all that a query tells."""
    statuses = target.statuses("" if fields else "ALL", **fields)
    return {job_id: (status.word, status.state) for job_id, status in statuses.items()}


@pytest.fixture
def pbs(target_of: Callable[..., Target]) -> Target:
    return target_of("pbs", OPENPBS)


@pytest.fixture
def server(pbs: Target, tmp_path: Path) -> Server:
    return Server(tmp_path / "server", pbs)


def outcome(status: Status) -> tuple[str, str, int | None, int | None]:
    return (status.word, status.state, status.exit, status.signal)


def test_directives_become_words_of_qsub(pbs: Target, server: Server) -> None:
    job = pbs.start(
        JOB_NAME="n",
        QUEUE="q@s",
        PROJECT="p",
        WALLTIME="3725",
        CPUTIME="60",
        ARGUMENTS=quoted("a\n #PBS -q x"),
    )
    assert job.id == "1.pbs0"
    assert server.args(job)[-1] == f"{job.directory}/.gpe/script"
    assert server.options(job) == [
        *("-N", "n", "-q", "q@s", "-A", "p"),
        *("-l", "walltime=01:02:05", "-l", "cput=00:01:00"),
        *("-f", "-j", "oe", "-o", "/dev/null"),
    ]


def test_directives_of_a_site_are_read_as_pbs_reads_them(pbs: Target, server: Server) -> None:
    directory = pbs.directory()
    script = pbs.script("START", directory=directory)
    mine = "#PBS -N hostname\n#PBS  -P 'a b'\t-v \"A=$(id) ;*,B=\\,\" -W x=\\'\n\n# words\n#PBS -V"
    assert pbs.sh(script.replace("#PBS -N hostname", mine)).stdout == "1.pbs0\n"
    assert server.options(pbs.start(directory))[:9] == [
        *("-N", "hostname", "-P", "a b", "-v", r"A=$(id) ;*,B=\,", "-W", "x='", "-V")
    ]
    server.set(pbs.start(directory), state=None)
    odd = pbs.sh(script.replace("#PBS -N hostname", '#PBS -N "a').replace("/job1", "/job2"))
    assert odd.stderr.startswith("START: a directive of the job script (#PBS, from OPTIONS")
    assert "has a quote without its second one" in odd.stderr
    assert (odd.returncode, odd.stdout) == (1, "")
    assert len([*(server.directory / "jobs").iterdir()]) == 1


@pytest.mark.parametrize(
    ("directive", "expected"), [("", "0027\n"), ("\n#PBS -W umask=0037", "0037\n")], ids=["start", "site"]
)
def test_the_program_has_the_umask_of_start_or_of_the_site(
    pbs: Target, server: Server, directive: str, expected: str
) -> None:
    directory = pbs.directory()
    words = quoted("-c", "umask")
    script = pbs.script("START", directory=directory, EXECUTABLE="/bin/sh", ARGUMENTS=words)
    before = os.umask(0o027)
    try:
        done = pbs.sh(script.replace("#PBS -N sh", f"#PBS -N gpe_job{directive}"))
    finally:
        os.umask(before)
    job = pbs.start(directory)
    assert (done.returncode, done.stdout) == (0, f"{job.id}\n")
    assert server.run(job) == 0
    assert job.read("stdout") == expected


def test_a_job_whose_directory_is_not_there_ends_by_a_signal(pbs: Target, server: Server) -> None:
    for gone in (".", ".gpe/script"):
        job = pbs.start()
        (job.directory / gone).resolve().rename(pbs.home / f"{job.id}-moved")
        assert server.run(job) == 256 + 9
        if gone == ".":  # here, too
            assert outcome(job.status()) == ("F/93", "FAILED", None, 9)
        else:
            assert outcome(job.status()) == ("exited/no-directory", "FAILED/NODE", None, 9)
            assert f"could not enter its working directory {job.directory} on node1+node2" in (
                job.status().reason or ""
            )


def test_all_nodes_of_a_job_are_told_once(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.set(job, state="R", exec_host="pbs0/0*4+pbs1/0*3+pbs0/1")
    assert "host=pbs0+pbs1 queue=workq" in pbs.ok("GET_JOB_STATUS", JOB_ID=job.id)


def test_what_pbs_gave_to_a_job(pbs: Target, server: Server) -> None:
    """The chunks on its nodes, not what one asks for that has not begun."""
    job = pbs.start()
    server.set(
        job, exec_vnode="(pbs0:ncpus=4:mem=1048576kb)+(pbs1[0]:ncpus=2:ngpus=1+pbs1[1]:ncpus=1:mem=1gb)"
    )
    assert pbs.ok("GET_JOB_STATUS", JOB_ID=job.id) == f"{job.id} Q queue=workq\n"
    server.set(job, state="R", exec_host="pbs0/0*4+pbs1/0*3")
    line = f"{job.id} R host=pbs0+pbs1 queue=workq cpus=7 allocated=2147483648\n"
    assert pbs.ok("GET_JOB_STATUS", JOB_ID=job.id) == line


ONE = "select=1:ncpus=1:mpiprocs=1:ompthreads=1"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"NODES": "2"}, ["select=2:ncpus=1:mpiprocs=1:ompthreads=1", "place=scatter"]),
        ({"PROCESSES": "4"}, ["select=1:ncpus=4:mpiprocs=4:ompthreads=1"]),
        ({"MEMORY": "512"}, [f"{ONE}:mem=512mb"]),
        (
            {"NODES": "3", "PROCESSES": "7", "CPUS": "2", "MEMORY": "9"},
            [
                "select=1:ncpus=6:mpiprocs=3:ompthreads=2:mem=9mb+2:ncpus=4:mpiprocs=2:ompthreads=2:mem=9mb",
                "place=scatter",
            ],
        ),
        ({"GPUS": "2"}, [f"{ONE}:ngpus=2"]),
        ({"GPUS": "1", "GPU_TYPE": "v100"}, [f"{ONE}:ngpus=1:gpu_type=v100"]),
        ({"CONSTRAINT": "arch=linux:switch=s-1", "MEMORY": "5"}, [f"{ONE}:mem=5mb:arch=linux:switch=s-1"]),
        (
            {"PROCESSES": "3", "NODES": "2", "GPUS": "4"},
            [
                "select=1:ncpus=2:mpiprocs=2:ompthreads=1:ngpus=4+1:ncpus=1:mpiprocs=1:ompthreads=1:ngpus=4",
                "place=scatter",
            ],
        ),
        ({"EXCLUSIVE": "true"}, ["select=1:ncpus=1", "place=exclhost"]),
        ({"EXCLUSIVE": "true", "NODES": "2"}, ["select=2:ncpus=1:mpiprocs=1:ompthreads=1", "place=scatter:exclhost"]),
        ({"EXCLUSIVE": "false"}, []),
    ],
)  # fmt: skip
def test_resources(pbs: Target, server: Server, fields: dict[str, str], expected: list[str]) -> None:
    options = [word for value in expected for word in ("-l", value)]
    assert server.options(pbs.start(**fields)) == [
        "-N",
        "hostname",
        "-f",
        "-j",
        "oe",
        "-o",
        "/dev/null",
        *options,
    ]


def test_an_exclusive_job_keeps_the_select_of_a_sites_directive(pbs: Target, server: Server) -> None:
    directory = pbs.directory()
    script = pbs.script("START", directory=directory, EXCLUSIVE="true")
    mine = "#PBS -N hostname\n#PBS -l select=2:ncpus=4"
    assert pbs.sh(script.replace("#PBS -N hostname", mine)).returncode == 0
    assert server.resources(pbs.start(directory)) == ["select=2:ncpus=4", "place=exclhost"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"PRIORITY": "-1024"}, ["-p", "-1024"]),
        ({"START_TIME": "2026-12-31T23:59"}, ["-a", "202612312359.00"]),
        ({"START_TIME": "2030-01-02T03:04:05"}, ["-a", "203001020304.05"]),
        ({"REQUEUE": "true"}, ["-r", "y"]),
        ({"REQUEUE": "false"}, ["-r", "n"]),
        ({"DEPENDENCY": "afterok:1.s:2[].s,afterany:3"}, ["-W", "depend=afterok:1.s:2[].s,afterany:3"]),
    ],
)
def test_directives_of_fields(
    pbs: Target, server: Server, fields: dict[str, str], expected: list[str]
) -> None:
    assert server.options(pbs.start(**fields))[2:4] == expected


@pytest.mark.parametrize(
    ("events", "letters"),
    [("", "ae"), ("begin", "b"), ("end", "e"), ("fail", "a"), ("begin,end,fail", "bea"), ("fail,end", "ae")],
)
def test_mail(pbs: Target, server: Server, events: str, letters: str) -> None:
    job = pbs.start(NOTIFY="me@x.example,you", **({"NOTIFY_EVENTS": events} if events else {}))
    assert server.options(job)[-4:] == ["-M", "me@x.example,you", "-m", letters]


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("CONSTRAINT", "a=b"),
        ("GPU_TYPE", "v100"),
        ("NOTIFY", "me@x"),
        ("DEPENDENCY", "afterok:1.s"),
        ("ARRAY", "1-2"),
        ("PRIORITY", "1"),
        ("START_TIME", "2026-12-31T23:59"),
        ("REQUEUE", "true"),
        ("EXCLUSIVE", "true"),
    ],
)
def test_a_hostile_value_is_refused_or_reaches_qsub_unchanged(
    pbs: Target, server: Server, name: str, valid: str
) -> None:
    more = {"GPUS": "1"} if name == "GPU_TYPE" else {}
    for value in [part for text in VALUES for part in (text, valid + text, text + valid)]:
        with contextlib.suppress(IncarnationError):
            job = pbs.start(**{name: value}, **more)
            assert any(value in option for option in server.options(job)), value
            assert not re.search(r"[\s'\"\\\\$`;&|<>()*?~]", value)


@pytest.mark.parametrize("value", NAMES[:2])  # all hostile characters
def test_a_node_file_has_any_name(pbs: Target, server: Server, value: str) -> None:
    nodes = pbs.home / "node s"
    nodes.write_text("n1\nn1\nn2\n")
    pbs.environment["PBS_NODEFILE"] = str(nodes)
    job = pbs.start(NODE_FILE=value, EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'cat "$GPE_NODE_FILE"'))
    assert server.run(job) == 0
    assert job.read("stdout") == job.read(value) == "n1\nn1\nn2\n"


def test_fewer_processes_than_nodes_are_refused(pbs: Target, server: Server) -> None:
    done = pbs.run("START", NODES="3", PROCESSES="2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "2 processes cannot fill 3 nodes" in done.stderr
    assert [*(server.directory / "jobs").iterdir()] == []


def add_job(server: Server, number: int, **attributes: object) -> str:
    """Add a job that has begun and recorded nothing; return its id."""
    job_id, user = f"{number}.pbs0", pwd.getpwuid(os.getuid()).pw_name
    (server.directory / "jobs" / str(number)).mkdir()
    (server.target.home / f".gpe/jobs/pbs/{job_id}/.gpe").mkdir(parents=True)
    (server.target.home / f".gpe/jobs/pbs/{job_id}/.gpe/output").touch()
    server.set(Job(server.target, job_id, server.directory), owner=user, workdir="/", **attributes)
    return job_id


def test_states(pbs: Target, server: Server) -> None:
    """Of all jobs at once, of several, and of one by its number."""
    told: list[tuple[dict[str, object], tuple[str, str, int | None, int | None]]] = [
        ({"state": "Q"}, ("Q", "QUEUED", None, None)),
        ({"state": "H"}, ("H", "HELD", None, None)),
        ({"state": "S", "substate": 45}, ("S", "HELD", None, None)),
        ({"state": "U"}, ("U", "HELD", None, None)),
        ({"state": "R"}, ("R", "RUNNING", None, None)),
        ({"state": "E"}, ("E", "RUNNING", None, None)),
        ({"state": "B"}, ("B", "RUNNING", None, None)),
        ({"state": "T"}, ("T", "QUEUED", None, None)),
        ({"state": "W"}, ("W", "QUEUED", None, None)),
        ({"state": "M"}, ("M", "QUEUED", None, None)),
        ({"state": "F", "substate": 92, "exit": 0}, ("F/92", "DONE", 0, None)),
        ({"state": "F", "substate": 93, "exit": 255}, ("F/93", "DONE", 255, None)),
        ({"state": "F", "substate": 93, "exit": 137}, ("F/93", "FAILED", None, 9)),
        ({"state": "F", "substate": 93, "exit": 271}, ("F/93", "FAILED", None, 15)),
        ({"state": "F", "substate": 93, "exit": -29}, ("F/-29", "FAILED/TIME", None, None)),
        ({"state": "F", "substate": 91, "exit": 271}, ("F/91", "REMOVED", None, None)),
        ({"state": "F", "substate": 91}, ("F/91", "REMOVED", None, None)),
        ({"state": "F", "substate": 92}, ("F", "FAILED", None, None)),
        # it waits for another job
        ({"state": "H", "substate": 22, "holds": "s"}, ("H/22", "QUEUED", None, None)),
        ({"state": "H", "substate": 22, "holds": "us"}, ("H", "HELD", None, None)),
        ({"state": "H", "substate": 20, "holds": "s"}, ("H", "HELD", None, None)),
    ]
    expected, ended = {}, set()
    for number, (attributes, status) in enumerate(told, 1):
        job_id = add_job(server, number, **attributes, comment="Not Running: a | b")
        expected[job_id] = status
        ended |= {job_id} if attributes["state"] == "F" else set()
    found = pbs.statuses("SEVERAL", JOB_IDS=" ".join(expected))
    assert {job_id: outcome(status) for job_id, status in found.items()} == expected
    assert {status.reason for status in found.values()} == {"Not Running: a | b"}
    for job_id, status in found.items():
        assert pbs.statuses("", JOB_ID=job_id.partition(".")[0]) == {job_id: status}
    assert pbs.statuses() == {job_id: found[job_id] for job_id in found if job_id not in ended}


@pytest.mark.parametrize("kind", ["afterok", "afternotok", "afterany"])
def test_a_job_whose_condition_cannot_hold_is_removed(pbs: Target, server: Server, kind: str) -> None:
    first = pbs.start()
    job = pbs.start(DEPENDENCY=f"{kind}:{first.id}")
    assert server.options(job)[2:4] == ["-W", f"depend={kind}:1.pbs0"]
    server.set(job, state="F", substate=92)
    status = job.status()
    assert (*outcome(status), status.reason) == (
        "F/dependency",
        "REMOVED/DEPENDENCY",
        None,
        None,
        "DEPENDENCY",
    )
    server.set(job, substate=91)
    assert outcome(job.status()) == ("F/91", "REMOVED", None, None)


def test_a_job_that_others_wait_for_has_no_condition(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.set(job, state="F", substate=92, depend="beforeok:2.pbs0")
    assert outcome(job.status()) == ("F", "FAILED", None, None)


def test_a_job_that_ran_was_not_removed_for_a_condition(pbs: Target, server: Server) -> None:
    job = pbs.start(DEPENDENCY="afterany:7.pbs0")
    server.run(job)
    server.set(job, exit=None)
    assert outcome(job.status()) == ("exited", "DONE", 0, None)


def test_a_query_reads_neither_the_jobs_of_others_nor_the_history(pbs: Target, server: Server) -> None:
    mine, others, ended, held = (pbs.start() for _ in range(4))
    server.set(others, owner="somebody")
    server.set(ended, state="F", substate=92, exit=0)
    server.qstats()
    assert [*pbs.statuses()] == [mine.id, held.id]
    (call,) = server.qstats()
    assert call.startswith("-x -E ")
    assert call.endswith(f" {mine.id} {held.id}")


@pytest.mark.parametrize("nohistory", [False, True])
def test_jobs_that_end_while_they_are_asked_for(pbs: Target, server: Server, nohistory: bool) -> None:
    job = pbs.start()
    server.write("ends", "")
    if nohistory:
        server.write("nohistory", "")
    assert [*pbs.statuses()] == ([] if nohistory else [job.id])
    assert pbs.statuses() == {}


def test_a_start_whose_answer_was_lost_finds_its_job(pbs: Target, server: Server) -> None:
    directory = pbs.directory()
    others, older, job = pbs.start(), pbs.start(), pbs.start(directory)
    server.set(others, owner="somebody", workdir=directory)
    server.set(older, state="F", substate=92, exit=0, workdir=directory)
    (directory / ".gpe/id").unlink()
    (directory / ".gpe/submitting").touch()
    server.qstats()
    assert pbs.run("START", directory=directory).returncode == CUT
    assert pbs.find(directory) == job.id
    assert pbs.start(directory) == job
    assert all(call.endswith(f" {job.id}") for call in server.qstats())
    assert len([*(server.directory / "jobs").iterdir()]) == 3


def test_a_refused_start_is_no_older_job_of_that_directory(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.run(job)
    job.directory.rename(pbs.home / "elsewhere")
    server.write("qsub.says", "qsub: Unknown queue")
    server.write("qsub.exits", 170)
    assert pbs.run("START", directory=job.directory).returncode == 170
    assert pbs.find(job.directory) == ""


def test_only_waiting_jobs_are_held(pbs: Target, server: Server) -> None:
    job = pbs.start()
    assert pbs.ok("RESUME", JOB_ID=job.id) == ""
    server.set(job, state="R")
    assert "only waiting jobs can be held" in pbs.fails("HOLD", JOB_ID=job.id)
    assert not (server.job(job) / "holds").exists()


@pytest.mark.parametrize(
    ("holds", "who"),
    [
        ("o", "by an operator"),
        ("us", "by PBS itself or its manager"),
        ("uos", "by an operator, by PBS itself or its manager"),
    ],
)
def test_who_else_holds_a_job_is_told(pbs: Target, server: Server, holds: str, who: str) -> None:
    job = pbs.start()
    server.set(job, state="H", holds=holds)
    words = f"still held, {who} (Hold_Types {holds.replace('u', '')})"
    assert words in pbs.fails("RESUME", JOB_ID="1")


def test_a_job_that_begins_while_it_is_being_held_keeps_no_hold(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.set(job, begins="y")
    assert "state R" in pbs.fails("HOLD", JOB_ID=job.id)
    assert not (server.job(job) / "holds").exists()


def test_an_abort_without_the_name_of_the_server_is_noted_for_the_job(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.set(job, state="R")
    assert pbs.ok("ABORT", JOB_ID="1") == ""
    assert (job.directory / ".gpe/removed").exists()


def test_a_job_that_pbs_does_not_let_go_is_not_removed(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.write("qdel.says", "qdel: Unauthorized Request 1.pbs0")
    assert pbs.fails("ABORT", JOB_ID=job.id) == "qdel: Unauthorized Request 1.pbs0\n"
    assert not (job.directory / ".gpe/removed").exists()


def test_an_abort_that_was_cut_off_before_pbs_had_it_removes_nothing(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.write("cut", "")
    assert pbs.run("ABORT", JOB_ID=job.id).returncode == 1  # the shell that called qdel was killed
    assert not (job.directory / ".gpe/removed").exists()
    assert server.run(job) == 0
    server.set(job, state=None)
    assert outcome(job.status()) == ("exited", "DONE", 0, None)


def test_how_long_a_job_ran_is_what_pbs_counted(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.run(job)
    server.set(job, walltime="26:01:03")
    assert get_usage(pbs.ok("GET_JOB_STATUS", JOB_ID=job.id))["elapsed"] == 93663
    server.set(job, cput="00:02:03", mem="204800kb")
    assert " elapsed=93663 cpu=123 memory=209715200 ended=" in pbs.ok("GET_JOB_STATUS", JOB_ID=job.id)


def get_usage(line: str) -> dict[str, float]:
    """Return what a line of GET_JOB_STATUS tells of a job's usage."""
    pairs = re.findall(r" (elapsed|cpu|memory)=([0-9.]+)", line)
    return {name: float(value) for name, value in pairs}


@pytest.mark.parametrize("nohistory", [False, True])
def test_of_a_short_job_its_own_shell_tells_what_it_took(
    pbs: Target, server: Server, nohistory: bool
) -> None:
    text = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
    job = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text))
    server.run(job)
    server.set(job, walltime="00:00:00", cput="00:00:00", mem="0kb")  # PBS looks every 10 s
    if nohistory:
        server.write("nohistory", "")
    usage = get_usage(pbs.ok("GET_JOB_STATUS", JOB_ID=job.id))
    assert usage["elapsed"] > 0
    assert usage["cpu"] > 0
    if not nohistory:  # of a job on several nodes PBS tells all, its shell a part
        server.set(job, walltime="01:00:00", cput="02:00:00", mem="99999999kb")
        usage = get_usage(pbs.ok("GET_JOB_STATUS", JOB_ID=job.id))
        assert usage == {"elapsed": 3600, "cpu": 7200, "memory": 99999999 * 1024}


def test_without_a_history_a_job_tells_by_its_directory(pbs: Target, server: Server) -> None:
    ended, removed, vanished = pbs.start(), pbs.start(), pbs.start()
    server.run(ended)
    pbs.ok("ABORT", JOB_ID=removed.id)
    server.write("nohistory", "")
    server.set(vanished, state=None)
    assert outcome(ended.status()) == ("exited", "DONE", 0, None)
    assert outcome(removed.status()) == ("removed", "REMOVED", None, None)
    assert pbs.statuses("", JOB_ID="1") == {"1.pbs0": ended.status()}
    assert pbs.fails("GET_JOB_STATUS", JOB_ID=vanished.id) == "GET_JOB_STATUS: unknown job 3.pbs0\n"


def test_a_second_job_of_a_directory_runs_nothing(pbs: Target, server: Server) -> None:
    """Whatever a START that was cut off left in the queue, the payload runs once."""
    first = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "echo run >> log"))
    second = type(first)(pbs, "2.pbs0", first.directory)
    server.job(second).mkdir()
    args = (server.job(first) / "args").read_text()
    server.set(second, args=args, state="Q", substate=10, owner="me", workdir=first.directory)
    assert server.run(second) == 1
    assert server.run(first) == 0
    assert first.read("log") == "run\n"


QUEUED = ("Q", "QUEUED")
EXITED = ("exited", "DONE")
HELD = ("H", "HELD")
TASK = 'exit "$GPE_ARRAY_INDEX"'


def start_array(pbs: Target, indices: str, text: str = TASK, **fields: str) -> Job:
    return pbs.start(ARRAY=indices, EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), **fields)


def test_an_array_from_start_to_end(pbs: Target, server: Server) -> None:
    array = start_array(pbs, "0-6:3%2", REQUEUE="true")
    assert array.id == "1[].pbs0"
    assert server.options(array)[2:6] == ["-r", "y", "-J", "0-6:3%2"]
    tasks = [array.task(index) for index in (0, 3, 6)]
    assert [task.id for task in tasks] == ["1[0].pbs0", "1[3].pbs0", "1[6].pbs0"]
    assert pbs.find(array.directory) == array.id
    process = server.begin(tasks[1])
    assert outcomes(pbs) == {tasks[0].id: QUEUED, tasks[1].id: ("R", "RUNNING"), tasks[2].id: QUEUED}
    assert server.end(tasks[1], process) == 3
    server.qstats()
    assert outcomes(pbs) == {tasks[0].id: QUEUED, tasks[1].id: EXITED, tasks[2].id: QUEUED}
    assert len(server.qstats()) == 1
    assert server.run(tasks[0]) == 0
    assert server.run(tasks[2]) == 6
    server.end_array(array)
    assert outcomes(pbs) == {}
    expected = {"1[0].pbs0": 0, "1[3].pbs0": 3, "1[6].pbs0": 6}
    for forgotten in (False, True):
        for job_id in (array.id, "1[]"):
            statuses = pbs.statuses("", JOB_ID=job_id)
            assert {name: status.exit for name, status in statuses.items()} == expected
            assert {status.state for status in statuses.values()} == {"DONE"}
        assert [task.status().exit for task in tasks] == [0, 3, 6]
        assert [*pbs.statuses("", JOB_ID="1[3]")] == ["1[3].pbs0"]
        if not forgotten:
            server.set(array, state=None)


@pytest.mark.parametrize("nohistory", [False, True])
def test_the_ends_of_tasks(pbs: Target, server: Server, nohistory: bool) -> None:
    text = 'case $GPE_ARRAY_INDEX in 2) kill -s KILL "$$" ;; 3) exit 3 ;; 5) exec sleep 60 ;; esac'
    array = start_array(pbs, "1-6", text)
    tasks = [array.task(index) for index in range(7)]
    for task in tasks[1:4]:
        server.run(task)
    pbs.ok("ABORT", JOB_ID=tasks[4].id)
    server.set(array, exit=1)  # an array's exit status, which is not that of a task that never ran
    with server.begin(tasks[5]) as process:
        pbs.ok("ABORT", JOB_ID=tasks[5].id)
        os.killpg(process.pid, signal.SIGKILL)
    server.run(tasks[6])
    server.set(tasks[6], substate=93, exit=-29)
    live = {
        tasks[1].id: EXITED,
        tasks[2].id: ("exited", "FAILED"),
        tasks[3].id: EXITED,
        tasks[4].id: ("F/deleted", "REMOVED"),
        tasks[5].id: ("F/91", "REMOVED"),
        tasks[6].id: ("F/-29", "FAILED/TIME"),
    }
    assert outcomes(pbs) == outcomes(pbs, JOB_ID=array.id) == live
    assert {name: told for task in tasks[1:] for name, told in outcomes(pbs, JOB_ID=task.id).items()} == live
    server.end_array(array)
    if not nohistory:
        assert outcomes(pbs, JOB_ID=array.id) == live
        assert {
            name: told for task in tasks[1:] for name, told in outcomes(pbs, JOB_ID=task.id).items()
        } == live
    server.write("nohistory", "")
    states = ["DONE", "FAILED", "DONE", "REMOVED", "REMOVED", "DONE"]
    assert [status.state for status in pbs.statuses("", JOB_ID=array.id).values()] == states
    assert [task.status().state for task in tasks[1:]] == states
    assert tasks[2].status().signal == 9


def test_an_array_is_held_as_a_whole(pbs: Target, server: Server) -> None:
    array = start_array(pbs, "1-3")
    tasks = [array.task(index) for index in (1, 2, 3)]
    assert pbs.ok("HOLD", JOB_ID=array.id) == ""
    assert outcomes(pbs) == {task.id: HELD for task in tasks}
    assert tasks[0].status().state == "HELD"
    assert "PBS holds whole arrays only" in pbs.fails("HOLD", JOB_ID=tasks[0].id)
    assert "PBS releases whole arrays only" in pbs.fails("RESUME", JOB_ID=tasks[0].id)
    assert pbs.ok("RESUME", JOB_ID=array.id) == ""
    assert outcomes(pbs) == {task.id: QUEUED for task in tasks}
    assert pbs.ok("RESUME", JOB_ID=tasks[0].id) == ""
    server.run(tasks[0])
    assert pbs.ok("HOLD", JOB_ID="1[]") == ""
    assert outcomes(pbs) == {tasks[0].id: EXITED, tasks[1].id: HELD, tasks[2].id: HELD}
    assert pbs.ok("RESUME", JOB_ID=array.id) == ""
    assert outcomes(pbs)[tasks[1].id] == QUEUED


def test_a_signal_for_an_array_reaches_the_tasks_that_run(pbs: Target, server: Server) -> None:
    text = "trap 'echo got; exit 5' USR1; echo up; while :; do sleep 0.01; done"
    array = start_array(pbs, "1-4", text)
    assert "only running jobs" in pbs.fails("SIGNAL", JOB_ID=array.id, SIGNAL="10")
    tasks = [array.task(index) for index in (1, 2, 3)]
    running = [server.begin(task) for task in tasks]
    for index in (1, 2, 3):
        wait_for_file(array.directory / f"stdout.{index}", "up\n")
    assert pbs.ok("SIGNAL", JOB_ID=tasks[2].id, SIGNAL="10") == ""
    assert server.end(tasks[2], running[2]) == 5
    assert [process.poll() for process in running[:2]] == [None, None]
    pbs.ok("HOLD", JOB_ID=array.id)
    assert pbs.ok("SIGNAL", JOB_ID=array.id, SIGNAL="10") == ""
    assert [server.end(task, process) for task, process in zip(tasks, running, strict=False)][:2] == [5, 5]


def test_an_array_that_pbs_lists_without_its_tasks(pbs: Target, server: Server) -> None:
    """After `qterm -t delay`, the server knows the tasks that run by their own ids only."""
    array = start_array(pbs, "1-2")
    process = server.begin(array.task(1))
    server.write("restarted", "")
    assert outcomes(pbs) == outcomes(pbs, JOB_ID=array.id) == {array.id: ("B", "RUNNING")}
    several = pbs.statuses("SEVERAL", JOB_IDS=f"{array.task(1).id} {array.task(2).id}")
    assert several[array.task(1).id].state == "RUNNING"
    server.end(array.task(1), process)


def test_the_tasks_of_jobs_that_are_not_recorded_are_one_query(pbs: Target, server: Server) -> None:
    arrays = [start_array(pbs, "1-2") for _ in range(2)]
    ids = [a.id for a in arrays] + [a.task(i).id for a in arrays for i in (1, 2)]
    words = ["-m", "osprofile", "job", "list", "--tasks", "--store", ":memory:", "--profile", "pbs", *ids]
    counts = []
    for count in (3, 0):
        server.qstats()
        command = [sys.executable, *words[: len(words) - count]]
        listed = subprocess.run(command, env=pbs.env, capture_output=True, text=True, check=True)
        counts.append(len(server.qstats()))
    lines = [line.split()[0] for line in listed.stdout.splitlines()[1:]]
    assert lines == [i for a in arrays for i in (a.id, a.task(1).id, a.task(2).id)] + ids[2:]
    assert counts[0] == counts[1]


def test_an_array_whose_condition_cannot_hold_is_removed(pbs: Target, server: Server) -> None:
    array = start_array(pbs, "1-2", DEPENDENCY="afterok:7[].pbs0")
    server.set(array, state="H", substate=22, holds="s")
    waiting = {"1[1].pbs0": ("H/22", "QUEUED"), "1[2].pbs0": ("H/22", "QUEUED")}
    assert outcomes(pbs) == outcomes(pbs, JOB_ID=array.id) == waiting
    assert array.task(1).status().state == "QUEUED"
    server.set(array, state="F", substate=92)
    statuses = [*pbs.statuses("", JOB_ID=array.id).values(), array.task(2).status()]
    assert [status.id for status in statuses] == ["1[1].pbs0", "1[2].pbs0", "1[2].pbs0"]
    assert {(status.state, status.reason) for status in statuses} == {("REMOVED/DEPENDENCY", "DEPENDENCY")}


def test_each_code_of_pbs_has_its_cause(pbs: Target, server: Server) -> None:
    states = {
        **dict.fromkeys((*range(1, 8), 10, 13, 14, 16, 17, 18, *range(20, 24), 30, 32), "FAILED/NODE"),
        **dict.fromkeys((11, 12, 15), "FAILED/PREEMPTED"),
        **dict.fromkeys((24, 25), "FAILED/LIMIT"),
        **dict.fromkeys((26, 27, 31), "FAILED/MEMORY"),
        **dict.fromkeys((28, 29), "FAILED/TIME"),
        19: "REMOVED",
    }
    ids = [add_job(server, code, state="F", substate=93, exit=-code) for code in states]
    found = pbs.statuses("SEVERAL", JOB_IDS=" ".join(ids))
    told = {f"{code}.pbs0": (f"F/-{code}", state, None, None) for code, state in states.items()}
    assert {job_id: outcome(status) for job_id, status in found.items()} == told


def start_dependent(pbs: Target, server: Server, condition: str) -> Job:
    """Start a job that PBS leaves waiting for another."""
    job = pbs.start(DEPENDENCY=condition)
    server.set(job, state="H", substate=22, holds="s")
    return job


def look(pbs: Target, job: Job, variation: str) -> None:
    """Query a job as one of all, alone, or as one of several."""
    fields = {"ALL": {}, "": {"JOB_ID": job.id}, "SEVERAL": {"JOB_IDS": f"{job.id} 99.pbs0"}}[variation]
    assert pbs.statuses(variation, **fields)[job.id].state == "QUEUED"


def end_without_run(server: Server, job: Job, how: str) -> None:
    """End a job that others wait for; PBS tells them nothing."""
    if how == "deleted":
        server.set(job, state="F", substate=91)
    elif how == "forgotten":
        server.set(job, state=None)
    else:
        assert server.run(job) == int(how)


@pytest.mark.parametrize(
    ("variation", "condition", "how", "state"),
    [
        ("ALL", "afterok", "deleted", "REMOVED/DEPENDENCY"),
        ("ALL", "afternotok", "deleted", "QUEUED"),
        ("", "afterany", "deleted", "QUEUED"),
        ("SEVERAL", "afterok", "0", "QUEUED"),
        ("SEVERAL", "afterok", "3", "REMOVED/DEPENDENCY"),
        ("", "afterok", "3", "REMOVED/DEPENDENCY"),
        ("", "afternotok", "3", "QUEUED"),
        ("ALL", "afterany", "3", "QUEUED"),
    ],
)
def test_a_job_that_waits_for_one_that_has_ended_is_looked_at_again(  # noqa: PLR0917
    pbs: Target, server: Server, variation: str, condition: str, how: str, state: str
) -> None:
    code = "0" if how == "deleted" else how
    other = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", f"exit {code}"))
    job = start_dependent(pbs, server, f"{condition}:{other.id}")
    look(pbs, job, variation)
    assert not (server.directory / "qalters").exists(), "the other job has not ended"
    end_without_run(server, other, how)
    look(pbs, job, variation)
    status = job.status()
    assert status.state == state
    assert status.word == "Q" or status.reason == "DEPENDENCY"


@pytest.mark.parametrize("how", ["deleted", "0", "3"])
def test_a_query_changes_nothing_of_a_job_that_is_not_ours(pbs: Target, server: Server, how: str) -> None:
    other = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", f"exit {how if how != 'deleted' else 0}"))
    job = start_dependent(pbs, server, f"afterok:{other.id}")
    (pbs.home / ".gpe/jobs/pbs" / job.id).unlink()
    end_without_run(server, other, how)
    assert pbs.statuses()[job.id].state == "QUEUED"
    assert not (server.directory / "qalters").exists()
    assert job.status().word == "H/22"


@pytest.mark.parametrize(
    ("variation", "condition", "how", "state"),
    [
        ("ALL", "afterok", "forgotten", "REMOVED/DEPENDENCY"),
        ("", "afternotok", "forgotten", "REMOVED/DEPENDENCY"),
        ("", "afterany", "forgotten", "QUEUED"),
        ("ALL", "afterok", "0", "QUEUED"),
        ("ALL", "afternotok", "0", "REMOVED/DEPENDENCY"),
        ("", "afterok", "3", "REMOVED/DEPENDENCY"),
        ("ALL", "afternotok", "3", "QUEUED"),
    ],
)
def test_without_history_a_condition_is_compared_with_the_record(  # noqa: PLR0917
    pbs: Target, server: Server, variation: str, condition: str, how: str, state: str
) -> None:
    server.write("nohistory", "")
    other = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", f"exit {how}"))
    alive = pbs.start()
    job = start_dependent(pbs, server, f"{condition}:{other.id}")
    both = start_dependent(pbs, server, f"{condition}:{other.id},afterany:{alive.id}")
    end_without_run(server, other, how)
    look(pbs, job, variation)
    assert job.status().state == state
    if variation == "":
        look(pbs, both, variation)
    assert both.status().state == state
    if state == "QUEUED":
        assert (server.job(both) / "depend").read_text() == f"afterany:{alive.id}@pbs0\n"


@pytest.mark.parametrize("nohistory", [False, True])
def test_a_condition_that_cannot_hold_is_refused(pbs: Target, server: Server, nohistory: bool) -> None:
    if nohistory:
        server.write("nohistory", "")
    good = pbs.start()
    bad = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "exit 3"))
    removed, live = pbs.start(), pbs.start()
    assert (server.run(good), server.run(bad)) == (0, 3)
    pbs.ok("ABORT", JOB_ID=removed.id)
    for condition in (
        f"afterok:{bad.id}",
        f"afternotok:{good.id}",
        f"afterok:{removed.id}",
        f"afterany:{live.id},afterok:{live.id}:{bad.id}",
    ):
        words = pbs.fails("START", DEPENDENCY=condition)
        assert words.startswith("START: DEPENDENCY: after")
        assert words.endswith("can never hold: that job has ended otherwise\n")
    for condition in (
        f"afterok:{good.id}",
        f"afternotok:{bad.id}:{removed.id},afterany:{bad.id}",
        f"afterok:{live.id}",
    ):
        pbs.start(DEPENDENCY=condition)


COUNT = 100


@pytest.mark.parametrize("nohistory", [False, True])
def test_a_hundred_ends_are_one_query(
    pbs: Target, server: Server, monkeypatch: pytest.MonkeyPatch, nohistory: bool
) -> None:
    jobs = server.directory / "jobs"
    for number in range(1, COUNT + 1):
        (jobs / str(number)).mkdir()
        ended = {"state": "F", "substate": "93", "exit": str(number % 2), "owner": "me", "workdir": "/"}
        for name, value in ended.items():
            (jobs / str(number) / name).write_text(f"{value}\n")
        record = pbs.home / f".gpe/jobs/pbs/{number}.pbs0"
        record.mkdir(parents=True)
        (record / ".gpe_exit_status").write_text(f"{number % 2}\n")
    if nohistory:
        server.write("nohistory", "")
    for name, value in pbs.env.items():
        monkeypatch.setenv(name, value)

    async def main() -> None:
        async with osprofile.TargetSystem(pbs.profile) as target:
            ids = [f"{number}.pbs0" for number in range(1, COUNT + 1)]
            answers = await target.statuses([*ids, "7", "4711.pbs0", "no id"])
            assert len(answers) == COUNT + 1, "nobody knows the last two"
            for number, job_id in enumerate(ids, 1):
                assert (answers[job_id].state, answers[job_id].exit_code) == ("DONE", number % 2)
            assert answers["7"].exit_code == 1

    asyncio.run(main())
    # without a history, qstat says so, and is asked without -x
    assert len(server.qstats()) == (2 if nohistory else 1)
