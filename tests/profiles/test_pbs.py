"""The profile pbs against stand-ins that answer as OpenPBS 23 does."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import exports, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Job, Status, Target

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
        return self.directory / "jobs" / job.id.partition(".")[0]

    def set(self, job: Job, **attributes: object) -> None:
        for name, value in attributes.items():
            path = self.job(job) / name
            if value is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(f"{value}\n")

    def run(self, job: Job) -> int:
        """Run a job to its end, as a MoM does."""
        self.set(job, state="R", substate=42, exec_host="node1/0*2+node2/0")
        done = subprocess.run(
            ["sh", str(self.job(job) / "script")],
            env={**self.target.env, "PBS_JOBID": job.id},
            cwd=self.target.home,
            check=False,
            capture_output=True,
        )
        code = done.returncode
        self.set(job, state="F", substate=93 if code else 92, exit=code)
        return code

    def args(self, job: Job) -> list[str]:
        return (self.job(job) / "args").read_text().splitlines()


@pytest.fixture
def pbs(target_of: Callable[..., Target]) -> Target:
    return target_of("pbs", OPENPBS)


@pytest.fixture
def server(pbs: Target, tmp_path: Path) -> Server:
    return Server(tmp_path / "server", pbs)


def outcome(status: Status) -> tuple[str, str, int | None, int | None]:
    return (status.word, status.state, status.exit, status.signal)


def test_a_job_from_start_to_end(pbs: Target, server: Server) -> None:
    job = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'echo "$GPE_JOB_ID"; exit 7'))
    assert job.id == "1.pbs0"
    assert server.args(job) == ["-j", "oe", "-o", "/dev/null", ".gpe_job"]
    assert job.status().state == "QUEUED"
    assert server.run(job) == 7
    assert job.read("stdout") == "1.pbs0\n"
    assert outcome(job.status()) == ("F/93", "DONE", 7, None)
    assert pbs.statuses() == {job.id: job.status()}
    assert pbs.statuses("", JOB_ID="1") == {job.id: job.status()}


def test_the_job_script_holds_directives_before_the_first_command(
    pbs: Target, server: Server
) -> None:
    job = pbs.start(JOB_NAME="n", QUEUE="q@s", PROJECT="p", WALLTIME="3725", CPUTIME="60")
    lines = (server.job(job) / "script").read_text().splitlines()
    assert [line for line in lines[: lines.index(f"gpe_d='{job.directory}'")] if line] == [
        "#!/bin/sh",
        "#PBS -S /bin/sh",
        "#PBS -N n",
        "#PBS -q q@s",
        "#PBS -A p",
        "#PBS -l walltime=01:02:05",
        "#PBS -l cput=00:01:00",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"NODES": "2"}, "2:ncpus=1:mpiprocs=1:ompthreads=1"),
        ({"PROCESSES": "4"}, "1:ncpus=4:mpiprocs=4:ompthreads=1"),
        ({"MEMORY": "512"}, "1:ncpus=1:mpiprocs=1:ompthreads=1:mem=512mb"),
        (
            {"NODES": "3", "PROCESSES": "7", "CPUS": "2", "MEMORY": "9"},
            "1:ncpus=6:mpiprocs=3:ompthreads=2:mem=9mb+2:ncpus=4:mpiprocs=2:ompthreads=2:mem=9mb",
        ),
    ],
)
def test_resources(pbs: Target, server: Server, fields: dict[str, str], expected: str) -> None:
    args = server.args(pbs.start(**fields))
    assert args[4:6] == ["-l", f"select={expected}"]
    assert args[6:-1] == (["-l", "place=scatter"] if "NODES" in fields else [])


def test_fewer_processes_than_nodes_are_refused(pbs: Target, server: Server) -> None:
    done = pbs.run("START", NODES="3", PROCESSES="2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "2 processes cannot fill 3 nodes" in done.stderr
    assert [*(server.directory / "jobs").iterdir()] == []


def test_a_failed_submission_says_what_pbs_says_and_can_be_repeated(
    pbs: Target, server: Server
) -> None:
    server.write("qsub.says", "qsub: Unknown queue")
    server.write("qsub.exits", 170)
    directory = pbs.directory()
    done = pbs.run("START", directory=directory)
    assert (done.returncode, done.stdout, done.stderr) == (170, "", "qsub: Unknown queue\n")
    (server.directory / "qsub.says").unlink()
    job = pbs.start(directory)
    assert pbs.start(directory) == job


def test_an_answer_without_an_id_may_be_a_job(pbs: Target, server: Server) -> None:
    server.write("qsub.says", "a message of the day")
    server.write("qsub.exits", 0)
    done = pbs.run("START")
    assert (done.returncode, done.stdout) == (75, "")
    assert "without a job id" in done.stderr


def test_starts_at_the_same_time_submit_one_job(pbs: Target, server: Server) -> None:
    directory = pbs.directory()
    with ThreadPoolExecutor(4) as pool:
        jobs = [*pool.map(lambda _: pbs.start(directory), range(4))]
    assert {job.id for job in jobs} == {"1.pbs0"}
    assert len([*(server.directory / "jobs").iterdir()]) == 1


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"state": "Q"}, ("Q", "QUEUED", None, None)),
        ({"state": "H"}, ("H", "HELD", None, None)),
        ({"state": "S", "substate": 45}, ("S", "HELD", None, None)),
        ({"state": "U"}, ("U", "HELD", None, None)),
        ({"state": "R"}, ("R", "RUNNING", None, None)),
        ({"state": "E"}, ("E", "RUNNING", None, None)),
        ({"state": "B"}, ("B", "RUNNING", None, None)),
        ({"state": "T"}, ("T", "QUEUED", None, None)),
        ({"state": "W"}, ("W", "QUEUED", None, None)),
        ({"state": "M"}, ("M", "UNKNOWN", None, None)),
        ({"state": "F", "substate": 92, "exit": 0}, ("F/92", "DONE", 0, None)),
        ({"state": "F", "substate": 93, "exit": 255}, ("F/93", "DONE", 255, None)),
        ({"state": "F", "substate": 93, "exit": 137}, ("F", "FAILED", 137, 9)),
        ({"state": "F", "substate": 93, "exit": 271}, ("F", "FAILED", None, 15)),
        ({"state": "F", "substate": 93, "exit": -29}, ("F/-29", "FAILED/LIMIT", None, None)),
        ({"state": "F", "substate": 91, "exit": 271}, ("F/91", "REMOVED", None, None)),
        ({"state": "F", "substate": 91}, ("F/91", "REMOVED", None, None)),
        # a dependency that can never be met: it never ran
        ({"state": "F", "substate": 92}, ("F", "FAILED", None, None)),
        ({"state": "X", "substate": 92, "exit": 0}, ("X/92", "DONE", 0, None)),
    ],
)
def test_states(
    pbs: Target,
    server: Server,
    attributes: dict[str, object],
    expected: tuple[str, str, int | None, int | None],
) -> None:
    job = pbs.start()
    server.set(job, **attributes, comment="Not Running: a | b")
    assert outcome(job.status()) == expected
    assert job.status().reason == "Not Running: a | b"
    assert pbs.statuses() == {job.id: job.status()}


def test_jobs_of_others_are_not_listed(pbs: Target, server: Server) -> None:
    mine, other = pbs.start(), pbs.start()
    server.set(other, owner="somebody")
    assert [*pbs.statuses()] == [mine.id]


def test_no_jobs_are_an_empty_list(pbs: Target, server: Server) -> None:
    assert pbs.statuses() == {}
    server.write("nohistory", "")
    assert pbs.statuses() == {}


def test_hold_and_resume(pbs: Target, server: Server) -> None:
    job = pbs.start()
    assert pbs.ok("HOLD", JOB_ID=job.id) == ""
    assert job.status().state == "HELD"
    assert pbs.ok("RESUME", JOB_ID=job.id) == ""
    assert job.status().state == "QUEUED"
    server.set(job, state="R")
    assert "only jobs that wait can be held" in pbs.fails("HOLD", JOB_ID=job.id)
    assert not (server.job(job) / "hold").exists()


def test_a_job_that_begins_while_it_is_being_held_keeps_no_hold(
    pbs: Target, server: Server
) -> None:
    job = pbs.start()
    server.set(job, begins="y")
    assert "state R" in pbs.fails("HOLD", JOB_ID=job.id)
    assert not (server.job(job) / "hold").exists()


@pytest.mark.parametrize("state", ["Q", "R"])
def test_abort(pbs: Target, server: Server, state: str) -> None:
    job = pbs.start()
    server.set(job, state=state)
    assert pbs.ok("ABORT", JOB_ID="1") == ""
    assert job.status().state == "REMOVED"
    assert (job.directory / ".gpe_removed").exists()
    assert "already ended" in pbs.fails("ABORT", JOB_ID=job.id)


def test_a_job_that_pbs_does_not_let_go_is_not_removed(pbs: Target, server: Server) -> None:
    job = pbs.start()
    server.write("qdel.says", "qdel: Unauthorized Request 1.pbs0")
    assert pbs.fails("ABORT", JOB_ID=job.id) == "qdel: Unauthorized Request 1.pbs0\n"
    assert not (job.directory / ".gpe_removed").exists()


@pytest.mark.parametrize("verb", ["GET_JOB_STATUS", "HOLD", "RESUME", "ABORT"])
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "down"])
def test_errors_are_in_the_words_of_pbs(
    pbs: Target, server: Server, verb: str, known: bool
) -> None:
    if known:
        job = pbs.start().id
        server.write("down", "")
        assert "cannot connect to server" in pbs.fails(verb, JOB_ID=job)
        assert "cannot connect to server" in pbs.fails("GET_JOB_STATUS", "ALL")
    else:
        assert "Unknown Job Id 99.pbs0" in pbs.fails(verb, JOB_ID="99.pbs0")


@pytest.mark.parametrize("nohistory", [False, True])
def test_a_job_that_pbs_has_forgotten_tells_by_its_directory(
    pbs: Target, server: Server, nohistory: bool
) -> None:
    ended, removed, vanished = pbs.start(), pbs.start(), pbs.start()
    server.run(ended)
    pbs.ok("ABORT", JOB_ID=removed.id)
    if nohistory:
        server.write("nohistory", "")
        server.set(vanished, state=None)
    else:
        for job in (ended, removed, vanished):
            server.set(job, state=None)
    assert outcome(ended.status()) == ("exited", "DONE", 0, None)
    assert outcome(removed.status()) == ("removed", "REMOVED", None, None)
    assert pbs.statuses("", JOB_ID="1") == {"1.pbs0": ended.status()}
    assert "Unknown Job Id" in pbs.fails("GET_JOB_STATUS", JOB_ID=vanished.id)


def test_a_second_job_of_a_directory_runs_nothing(pbs: Target, server: Server) -> None:
    """Whatever a START that was cut off left in the queue, the payload runs once."""
    first = pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "echo run >> log"))
    second = type(first)(pbs, "2.pbs0", first.directory)
    server.job(second).mkdir()
    script = (server.job(first) / "script").read_text()
    server.set(second, script=script, state="Q", substate=10, owner="me", workdir=first.directory)
    assert server.run(second) == 1
    assert server.run(first) == 0
    assert first.read("log") == "run\n"


def test_a_value_is_no_directive_and_no_line_of_dos(pbs: Target, server: Server) -> None:
    value = "a\n#PBS -q x\n#SBATCH -p x\r\n#BSUB -q x\r\n#!/bin/false"
    text = 'printf "%s|" "$1" "$X" > got'
    job = pbs.start(
        EXECUTABLE="/bin/sh",
        ARGUMENTS=quoted("-c", text, "sh", value),
        ENVIRONMENT=exports(X=value),
    )
    script = (server.job(job) / "script").read_bytes()
    assert b"\r\n" not in script
    directives = [
        line for line in script.split(b"\n") if line.startswith((b"#PBS", b"#SB", b"#BS"))
    ]
    assert directives == [b"#PBS -S /bin/sh", b"#PBS -N gpe_job"]
    server.run(job)
    assert (job.directory / "got").read_bytes().decode() == f"{value}|{value}|"
