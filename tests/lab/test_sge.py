"""Jobs by the profile `sge` on a real Grid Engine, as a plain user."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile import JobDescription, JobSession
from osprofile.errors import ValueRefusedError
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.submit import throttle
from osprofile.profile.repository import Repository
from tests.lab.conftest import PROFILES, SHELLS, USER
from tests.lab.test_jobs import known, script
from tests.profiles.conftest import ENDED
from tests.waiting import PATIENCE, wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lab.conftest import Job, Lab, Status

WAITS = {"NODES": "2", "PROCESSES": "4"}
"""Two slots on each of two nodes: the lab has one."""


def commands(text: str) -> str:
    """Run shell text that calls Grid Engine's own commands, as the user."""
    shell = ["runuser", "-l", USER, "-c", SHELLS["sge"]]
    return subprocess.run(
        shell, input=text, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    try:
        commands("qstat")
    except subprocess.CalledProcessError as error:
        pytest.exit(f"Grid Engine is not up: run tests/lab/ci.sh as root\n{error.stderr}", 4)


@pytest.fixture
def sge(lab_of: Callable[[str], Lab]) -> Lab:
    return lab_of("sge")


@pytest.fixture
def sge_request() -> Iterator[Callable[[str], None]]:
    """Give a function that writes the user's own defaults for qsub."""
    me = pwd.getpwnam(USER)
    path = Path(me.pw_dir, ".sge_request")

    def write(text: str) -> None:
        path.write_text(text)
        os.chown(path, me.pw_uid, me.pw_gid)

    yield write
    path.unlink(missing_ok=True)


ENDS: dict[str, tuple[str, dict[str, str], str]] = {
    "exit 0": ("DONE", {}, " exit=0"),
    "exit 1": ("DONE", {}, " exit=1"),
    "exit 3": ("DONE", {}, " exit=3"),
    "exit 127": ("DONE", {}, " exit=127"),
    # by these two a job tells Grid Engine to run it again, and that it cannot run
    "exit 99": ("DONE", {}, " exit=99"),
    "exit 100": ("DONE", {}, " exit=100"),
    "kill -s KILL $$": ("FAILED", {}, " exit=137"),
    "kill -s TERM $$": ("FAILED", {}, " exit=143"),
    # the job script too, so that it leaves no exit status
    "kill -s KILL $PPID $$": ("FAILED", {}, " exit=137"),
    "sleep 60": ("FAILED/TIME", {"WALLTIME": "1"}, "h_rt"),
    "while :; do :; done": ("FAILED/TIME", {"CPUTIME": "1"}, " reason="),
}


def ended(job: Job) -> Status:
    """Wait for a job's end; the accounting may know it a moment after qstat has forgotten it."""

    def look() -> Status | None:
        done = job.lab.incarnate("GET_JOB_STATUS", JOB_ID=job.id)
        if done.returncode != 0:
            assert "unknown job" in done.stderr
            return None
        status = job.lab.status(done.stdout.rstrip("\n"))
        return status if status.state in ENDED else None

    return wait_until(look, every=0.1)


def test_ends(sge: Lab) -> None:
    with ThreadPoolExecutor(4) as pool:
        jobs = dict(
            zip(ENDS, pool.map(lambda text: sge.start(**script(text), **ENDS[text][1]), ENDS), strict=True)
        )
    for text, (state, _, words) in ENDS.items():
        status = ended(jobs[text])
        assert (text, status.state) == (text, state), status
        assert words in status.line
    assert not {job.id for job in jobs.values()} & {*sge.statuses()}


def show(job_id: str) -> dict[str, str]:
    """Give what Grid Engine itself knows about a job."""
    lines = (line.partition(":") for line in commands(f"qstat -j {job_id}").splitlines())
    return {name: value.strip() for name, _, value in lines}


def test_resources_reach_grid_engine(sge: Lab) -> None:
    job = sge.start(
        NODES="1",
        PROCESSES="3",
        CPUS="2",
        MEMORY="10",
        WALLTIME="90",
        CPUTIME="60",
        QUEUE="short.q",
        PROJECT="acct",
        JOB_NAME="a-name.1",
        **script('echo "$NSLOTS $NHOSTS $PE $QUEUE $JOB_NAME $OMP_NUM_THREADS"; sleep 30'),
    )
    job.wait("RUNNING")
    shown = show(job.id)
    assert {*shown["hard resource_list"].split(",")} == {"mem_free=10M", "h_rt=90", "h_cpu=60"}
    assert shown["project"] == "acct"
    sge.ok("ABORT", JOB_ID=job.id)
    job.wait("REMOVED")
    assert job.read("stdout") == "6 1 smp short.q a-name.1 2\n"


LATER = {"START_TIME": "2037-12-31T23:59:30"}
FIELDS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {"execution_time": "Thu Dec 31 23:59:30 2037"}),
    ({"START_TIME": "2037-12-31T23:58"}, {"execution_time": "Thu Dec 31 23:58:00 2037"}),
    ({"GPUS": "2"}, {"hard resource_list": "gpu=2"}),
    ({"GPUS": "2", "GPU_TYPE": "a100"}, {"hard resource_list": "gpu_type=a100,gpu=2"}),
    ({"GPUS": "1", "CPUS": "3"}, {"hard resource_list": "gpu=1", "parallel environment": "smp range: 3"}),
    ({"CONSTRAINT": "arch=lx-*|sol-*"}, {"hard resource_list": "arch=lx-*|sol-*"}),
    ({"CONSTRAINT": "h=!n1,num_proc=2"}, {"hard resource_list": "hostname=!n1,num_proc=2"}),
    ({"EXCLUSIVE": "true"}, {"hard resource_list": "exclusive=true"}),
    ({"EXCLUSIVE": "false"}, {"hard resource_list": ""}),
    ({"PRIORITY": "-1023"}, {"priority": "-1023"}),
    ({"NOTIFY": "me@example.org,you"}, {"mail_list": "me@example.org,you@NONE", "mail_options": "ae"}),
    ({"NOTIFY": "me@x", "NOTIFY_EVENTS": "begin"}, {"mail_list": "me@x", "mail_options": "b"}),
    ({"NOTIFY": "me@x", "NOTIFY_EVENTS": "end,begin,fail"}, {"mail_options": "abe"}),
    ({"REQUEUE": "true"}, {"restart": "y"}),
    ({"REQUEUE": "false"}, {"restart": "n"}),
    ({"ARRAY": "2-11:3%2"}, {"job-array tasks": "2-11:3", "maximum concurrency": "2"}),
    ({"ARRAY": "7"}, {"job-array tasks": "7-7:1", "maximum concurrency": ""}),
]


@pytest.mark.parametrize(("fields", "expected"), FIELDS)
def test_fields_reach_grid_engine(sge: Lab, fields: dict[str, str], expected: dict[str, str]) -> None:
    job = sge.start(**{**LATER, **fields})
    shown = show(job.id)
    assert {name: shown.get(name, "") for name in expected} == expected
    sge.ok("ABORT", JOB_ID=job.id)


def test_a_reservation_runs_its_jobs(sge: Lab) -> None:
    words = commands("qrsub -d 1:0:0").split()
    reservation = next(word for word in words if word.isdigit())
    try:
        job = sge.start(RESERVATION=reservation, **script("sleep 60"))
        job.wait("RUNNING")
        assert show(job.id)["ar_id"] == reservation
        sge.ok("ABORT", JOB_ID=job.id)
        job.wait("REMOVED")
    finally:
        commands(f"qrdel {reservation}")
    assert "the advance reservation id 99999 is invalid" in sge.fails("START", RESERVATION="99999")


def test_gpus_are_counted_once_for_all_slots_of_a_node(sge: Lab) -> None:
    job = sge.start(GPUS="3", CPUS="4", **script("sleep 600"))
    job.wait("RUNNING")
    wait_until(lambda: "hc:gpu=1.000000" in commands("qhost -F gpu"))
    other = sge.start(GPUS="2")
    assert "cannot run" in show(other.id)["scheduling info"]
    for one in (job, other):
        sge.ok("ABORT", JOB_ID=one.id)


def test_a_file_of_nodes_and_a_temporary_directory(sge: Lab, directory: Path) -> None:
    me = pwd.getpwnam(USER)
    directory.mkdir(parents=True, mode=0o700)
    (directory / "tmp $(id) 'x'").mkdir()
    for path in (directory.parent, directory, directory / "tmp $(id) 'x'"):
        os.chown(path, me.pw_uid, me.pw_gid)
    job = sge.start(
        "--context",
        f"WORKING_DIRECTORY={directory}",
        PROCESSES="3",
        CPUS="2",
        NODE_FILE="-n $(id) 'x'",
        TMP_DIR=f"{directory}/tmp $(id) 'x'",
        **script('cat "$GPE_NODE_FILE"; stat -c %a "$TMPDIR"; printf "%s\n" "${TMPDIR%/*}"; : > "$TMPDIR/f"'),
    )
    job.wait("DONE")
    (name,) = {*(directory / "-n $(id) 'x'").read_text().splitlines()}
    assert name.partition(".")[0] == os.uname().nodename.partition(".")[0]
    assert job.read("stdout").splitlines() == [name] * 3 + ["700", f"{directory}/tmp $(id) 'x'"]
    assert [*(directory / "tmp $(id) 'x'").iterdir()] == []


BAD = ["a b", "$(id)", "`id`", "x'", 'x"', "1\n#$ -q x", "-V", "1;id", "1 -V", "\u2028", "\\"]
STRICT = {
    "GPUS": "0 01 1.0",
    "GPU_TYPE": "a,b a=b",
    "CONSTRAINT": "h_rt=9 arch=x,h_vmem=1 a==b a,",
    "RESERVATION": "0 name",
    "EXCLUSIVE": "yes",
    "PRIORITY": "-1024 1024 +1",
    "START_TIME": "2037-12-31 2037-13-31T00:00 2037-12-31T24:00",
    "NOTIFY": "a,, @x",
    "NOTIFY_EVENTS": "never end,",
    "REQUEUE": "yes",
    "ARRAY": "0 0-3 1,3 1-3,5 1-3%0",
    "DEPENDENCY": "1 afterok afterok: before:1 afterok:name afterok:1,2",
}


CONTEXT = {"USER_NAME": USER, "WORKING_DIRECTORY": "/var/tmp/x"}


@pytest.mark.parametrize("name", STRICT)
def test_what_is_no_value_is_refused_by_name(sge: Lab, name: str) -> None:
    needed = {"GPU_TYPE": {"GPUS": "1"}, "NOTIFY_EVENTS": {"NOTIFY": "me"}}.get(name, {})
    for value in (*BAD, *STRICT[name].split()):
        with pytest.raises(ValueRefusedError, match=f"field {name}"):
            incarnate(sge.resolved, "START", fields={name: value, **needed}, context=CONTEXT)


def test_what_grid_engine_does_not_have_is_refused_by_name(sge: Lab) -> None:
    assert "field QOS" in sge.fails("START", QOS="high")
    assert "GPU_TYPE" in sge.fails("START", GPU_TYPE="a100")
    assert "NOTIFY_EVENTS" in sge.fails("START", NOTIFY_EVENTS="end")


def test_a_running_job_is_suspended_resumed_and_aborted(sge: Lab) -> None:
    job = sge.start(**script("trap '' TERM; echo up; sleep 60 & wait; wait"))
    host = job.wait("RUNNING").line.rpartition("host=")[2].partition(" ")[0]
    assert host == os.uname().nodename.partition(".")[0]
    wait_for_file(job.directory / "stdout", "up\n")
    assert sge.ok("RESUME", JOB_ID=job.id) == ""
    for _ in range(2):
        assert sge.ok("HOLD", JOB_ID=job.id) == ""
        assert job.status().state == "HELD"
    assert sge.ok("RESUME", JOB_ID=job.id) == ""
    assert job.wait("RUNNING")
    assert sge.ok("ABORT", JOB_ID=job.id) == ""
    job.wait("REMOVED")


def test_a_job_that_cannot_run_says_why(sge: Lab, sge_request: Callable[[str], None], tmp_path: Path) -> None:
    home = Path("/var/tmp", f"{USER}-{tmp_path.name}-{os.getpid()}")
    sge_request(f"-wd {home}\n")
    jobs = [sge.start(**script("exit 3")) for _ in range(2)]
    for job in jobs:
        status = job.wait("HELD")
        assert status.line.startswith(f"{job.id} Eqw reason=")
        assert "can't chdir to" in status.line
    sge.ok("ABORT", JOB_ID=jobs[1].id)
    jobs[1].wait("REMOVED")
    home.mkdir()
    try:
        assert sge.ok("RESUME", JOB_ID=jobs[0].id) == ""  # it is tried again
        assert "exit=3" in jobs[0].wait("DONE").line
    finally:
        home.rmdir()


def test_the_users_defaults_for_qsub_do_not_disturb(sge: Lab, sge_request: Callable[[str], None]) -> None:
    sge_request("-b y\n-j n\n-o /var/tmp\n-S /bin/false\n-V\n-now y\n-C x\n-h\n")
    job = sge.start(**script("exit 3"))
    sge.ok("RESUME", JOB_ID=job.id)
    assert "exit=3" in job.wait("DONE").line


def test_a_job_whose_answer_was_lost_is_found_again(sge: Lab, directory: Path) -> None:
    option = ("--context", f"WORKING_DIRECTORY={directory}")
    others = [sge.start(**WAITS)]
    job = sge.start(*option, **WAITS)
    others.append(sge.start(**WAITS))
    # what a machine leaves that stops between qsub and its answer
    (directory / ".gpe/id").unlink()
    (directory / ".gpe/submitting").touch()
    assert sge.start_found(*option, **WAITS).id == job.id
    for one in (job, *others):
        sge.ok("ABORT", JOB_ID=one.id)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"QUEUE": "nowhere"}, 'unknown queue "nowhere"'),
        ({"PROJECT": "nobody"}, 'project "nobody" does not exist'),
        ({"NODES": "2"}, 'parallel environment "mpi1" does not exist'),
    ],
)
def test_a_failed_submission_says_what_grid_engine_says(sge: Lab, fields: dict[str, str], words: str) -> None:
    assert words in sge.fails("START", **fields)


def test_an_unknown_job_is_an_error(sge: Lab) -> None:
    for verb in ("HOLD", "RESUME"):
        assert "job 999999: it is unknown" in sge.fails(verb, JOB_ID="999999")
    assert "job 999999 has already ended, or is unknown" in sge.fails("ABORT", JOB_ID="999999")
    assert "unknown job 999999" in sge.fails("GET_JOB_STATUS", JOB_ID="999999")
    assert "job id 999999 not found" in sge.fails("USAGE", JOB_ID="999999")


def test_what_was_deleted_behind_our_back(sge: Lab) -> None:
    """Grid Engine tells a deletion by nothing but the signal, or not at all."""
    waiting, running = sge.start(**WAITS), sge.start(**script("sleep 60"))
    running.wait("RUNNING")
    commands(f"qdel {waiting.id} {running.id}")
    status = ended(running)
    assert (status.state, status.signal) == ("FAILED", 9)
    assert waiting.id in sge.fails("GET_JOB_STATUS", JOB_ID=waiting.id)


def test_list_and_delete(sge: Lab, directory: Path) -> None:
    job = sge.start("--context", f"WORKING_DIRECTORY={directory}", **script("printf 12345 > 'a\nb'; mkdir d"))
    job.wait("DONE")
    entries = sge.ok("LIST", variation="DIR", PATH=str(directory)).splitlines()
    names = {line.rpartition(" ")[2]: line.split(" ")[:3] for line in entries}
    assert names["a%0Ab"] == ["f", "0644", "5"]
    sge.ok("DELETE", PATH=f"{directory}/d")
    assert not (directory / "d").exists()
    assert sge.ok("DELETE", PATH=str(job.directory)) == ""
    assert not known("sge", job.id)


def test_jobs_with_any_name_and_arrays_are_told(sge: Lab) -> None:
    """Jobs that were not started here: their names and numbers confuse nothing."""
    made = commands(
        "for n in '<state>r' 'a&b' '\"'; do echo : | qsub -terse -h -N \"$n\" -o /dev/null -j y; done\n"
        "echo : | qsub -terse -h -t 1-3 -o /dev/null -j y\n"
    ).split()
    try:
        assert len(made) == 4
        told = sge.statuses()
        array = made.pop().partition(".")[0]
        names = [*made, *(f"{array}.{index}" for index in (1, 2, 3))]
        assert [told[name].state for name in names] == ["HELD"] * 6
        assert sge.statuses("", JOB_ID=array) == {name: told[name] for name in names[3:]}
    finally:
        commands("".join(f"qdel {name}\n" for name in (*made, array)))


@pytest.fixture
def two_jobs(tmp_path: Path) -> Iterator[None]:
    """Let Grid Engine take two jobs of each user at a time."""
    file = tmp_path / "global"
    before = run_qconf("-sconf", "global")

    def write(text: str) -> None:
        file.write_text(text)
        run_qconf("-Mconf", str(file))

    write(re.sub(r"(?m)^max_u_jobs .*", "max_u_jobs 2", before))
    yield
    write(before)


def run_qconf(*words: str) -> str:
    settings = ". /opt/sge/default/common/settings.sh; exec qconf"
    command = ["sh", "-c", f'{settings} "$@"', "sh", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.usefixtures("two_jobs")
def test_jobs_wait_while_the_queue_is_full(
    sge: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(throttle, "_MIN_PAUSE", 0.5)
    monkeypatch.setattr(throttle, "_MAX_PAUSE", 1.0)
    profile = Repository([str(sge.site), PROFILES]).load("sge")
    with JobSession(profile, {"USER_NAME": USER}, store=":memory:") as session:
        jobs = session.submit_many([JobDescription(executable="/bin/sleep", arguments=["1"])] * 6)
        assert [job.wait(PATIENCE).exit_code for job in jobs] == [0] * 6
    (told,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert re.fullmatch(
        r"Grid Engine takes no more jobs now \((?i:only) 2 jobs are allowed per user\): .*", told
    )
