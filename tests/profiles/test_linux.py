"""The profile linux: real processes under both shells."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.incarnation.incarnate import incarnate, storage_path
from osprofile.jobs.shell.output import StatusOutputReader
from osprofile.jobs.shell.scripts import get_shell_command
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.profiles.conftest import DASH, PROFILES, Job, exports, quoted
from tests.waiting import wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Target


SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
  xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""


def script(text: str) -> dict[str, str]:
    """Give the fields of a job that runs shell text."""
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def processes(session: str) -> list[int]:
    """Give the processes of a session that are no zombies."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, sid = (entry / "stat").read_text().rpartition(") ")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if sid == session and state not in "ZX":
            found.append(int(entry.name))
    return found


def session_of(job: Job) -> str:
    return job.id.partition("-")[0]


def gone(job: Job) -> bool:
    wait_until(lambda: not processes(session_of(job)))
    return True


@pytest.mark.parametrize(
    ("text", "state", "exit_code", "number"),
    [
        ("exit 7", "DONE", 7, None),
        ("kill -s KILL $$", "FAILED", None, 9),
        ("kill -s TERM $$", "FAILED", None, 15),
    ],
)
def test_a_job_tells_how_it_ended(
    linux: Target, text: str, state: str, exit_code: int | None, number: int | None
) -> None:
    job = linux.start(**script(text))
    status = job.wait()
    assert (status.state, status.exit, status.signal) == (state, exit_code, number)
    assert job.read(".gpe_exit_status") == f"{exit_code if number is None else 128 + number}\n"
    wait_for_file(linux.home / ".gpe/jobs/linux/live" / job.id)  # the job does not wait for this link
    assert linux.statuses() == {job.id: status}
    assert gone(job)


def test_the_default_job_prints_the_host_name(linux: Target) -> None:
    job = linux.start()
    assert job.wait().exit == 0
    assert job.read("stdout") == f"{os.uname().nodename}\n"
    assert job.read(".gpe/output") == ""


def test_the_payload_sees_its_job_and_the_user_umask(linux: Target) -> None:
    before = os.umask(0o027)
    try:
        job = linux.start(
            **script('umask; pwd; echo "$GPE_JOB_ID $GPE_PROCESSES $OMP_NUM_THREADS $X"'),
            ENVIRONMENT=exports(X="a b"),
            PROCESSES="3",
            CPUS="2",
        )
    finally:
        os.umask(before)
    job.wait()
    assert job.read("stdout").splitlines() == ["0027", str(job.directory), f"{job.id} 3 2 a b"]


def test_the_directory_and_the_script_are_for_the_owner_alone(linux: Target) -> None:
    job = linux.start()
    modes = {n: os.lstat(job.directory / n).st_mode & 0o777 for n in (".", ".gpe/script", "..")}
    assert modes == {".": 0o700, ".gpe/script": 0o600, "..": 0o700}


@pytest.mark.parametrize("name", ["STDIN", "STDOUT", "STDERR"])
def test_a_file_that_cannot_be_opened_ends_the_job(linux: Target, name: str) -> None:
    job = linux.start(**{name: "no/such/directory/x"})
    status = job.wait()
    verb = "read" if name == "STDIN" else "written"
    reason = f"{name} no/such/directory/x cannot be {verb}"
    assert (status.state, status.exit, status.reason) == ("FAILED/FILES", None, reason)
    where = ".gpe/output" if name == "STDERR" else "stderr"
    assert "no/such/directory/x" in job.read(where)


def test_a_payload_that_exits_does_not_skip_the_epilogue(linux: Target, repository: Repository) -> None:
    site = repository.load_bytes(
        b"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
              xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
            <osp:UspaceRoot>/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
            <idb:Template name="T"><idb:Invocation><idb:Body>cd /; exit 5</idb:Body></idb:Invocation>
            </idb:Template><osp:Application name="Executable" template="T">
            <osp:ApplicationName>Executable</osp:ApplicationName>
            <osp:ApplicationVersion>2</osp:ApplicationVersion></osp:Application></osp:Profile>"""
    )
    directory = linux.directory()
    start = incarnate(site, "START", context={"WORKING_DIRECTORY": str(directory)})
    linux.deploy(start.static_scripts)
    linux.sh(start.text)
    wait_for_file(directory / ".gpe_exit_status")
    assert (directory / ".gpe_exit_status").read_text() == "5\n"


def test_hold_and_resume_reach_every_process(linux: Target) -> None:
    # the second child leads a process group of its own
    text = "sleep 60 & perl -e 'setpgrp; exec qw(sleep 60)' & touch up; wait"
    job = linux.start(**script(text))
    wait_for_file(job.directory / "up")
    assert job.status().state == "RUNNING"

    assert linux.ok("HOLD", JOB_ID=job.id) == ""
    assert job.status().state == "HELD"
    pids = processes(session_of(job))
    assert len(pids) == 4  # the job's shell, the program and its two children
    # one that reads a file from a disk stops when that has ended
    wait_until(lambda: [process_state(pid) for pid in pids] == ["T"] * 4)

    assert linux.ok("RESUME", JOB_ID=job.id) == ""
    assert job.status().state == "RUNNING"
    assert linux.ok("ABORT", JOB_ID=job.id) == ""
    assert gone(job)


def process_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.parametrize("held", [False, True])
def test_abort_leaves_no_process(linux: Target, held: bool) -> None:
    job = linux.start(**script("sleep 60 & touch up; wait"))
    wait_for_file(job.directory / "up")
    if held:
        linux.ok("HOLD", JOB_ID=job.id)
    assert linux.ok("ABORT", JOB_ID=job.id) == ""
    assert not processes(session_of(job))
    assert job.status().state == "REMOVED"
    assert "has already ended" in linux.fails("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"


def test_abort_kills_what_ignores_term_and_what_left_the_session(linux: Target) -> None:
    text = "trap '' TERM; setsid sleep 61 & env -i setsid -w sleep 62 & touch up; sleep 60"
    job = linux.start(**script(text))
    wait_for_file(job.directory / "up")
    time.sleep(0.1)
    linux.ok("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"
    assert not processes(session_of(job))
    environments = (p / "environ" for p in Path("/proc").glob("[0-9]*"))
    left = [p for p in environments if job.id.encode() in _bytes(p)]
    assert left == []


def test_abort_kills_what_began_after_the_signal(linux: Target) -> None:
    """The processes that were there end by the first signal; what they began ignores it."""
    text = "trap 'setsid sh -c \"trap : TERM; touch later; while :; do sleep 1; done\" & exit' TERM; touch up; while :; do sleep 0.1; done"
    job = linux.start(**script(text))
    wait_for_file(job.directory / "up")
    linux.ok("ABORT", JOB_ID=job.id)
    assert (job.directory / "later").exists()
    assert not processes(session_of(job))
    left = [p for p in Path("/proc").glob("[0-9]*/environ") if job.id.encode() in _bytes(p)]
    assert left == []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_job_that_has_ended_is_neither_held_nor_aborted(linux: Target) -> None:
    job = linux.start()
    done = job.wait()
    assert gone(job)
    for verb in ("HOLD", "RESUME", "ABORT"):
        assert job.id in linux.fails(verb, JOB_ID=job.id)
    assert job.status() == done


def test_a_process_id_that_is_used_again_is_not_the_job(linux: Target) -> None:
    job = linux.start(**script("sleep 60"))
    pid, start, boot = job.id.split("-")
    for other in (f"{pid}-{int(start) + 1}-{boot}", f"{pid}-{start}-00000000"):
        for verb in ("GET_JOB_STATUS", "HOLD", "ABORT"):
            linux.fails(verb, JOB_ID=other)
    assert job.status().state == "RUNNING"
    linux.ok("ABORT", JOB_ID=job.id)


def test_a_job_that_vanished_is_never_done(linux: Target) -> None:
    job = linux.start(**script("touch up; exec sleep 60"))
    wait_for_file(job.directory / "up")
    for pid in processes(session_of(job)):
        with suppress(ProcessLookupError):  # one that made the link to the job, and has just ended
            os.kill(pid, signal.SIGKILL)
    assert gone(job)
    status = job.status()
    assert (status.state, status.exit, status.word) == ("LOST", None, "vanished")


def test_a_job_whose_leader_was_killed_still_runs(linux: Target) -> None:
    job = linux.start(**script("touch up; exec sleep 60"))
    wait_for_file(job.directory / "up")
    os.kill(int(session_of(job)), signal.SIGKILL)
    assert job.status().state == "RUNNING"
    linux.ok("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"
    assert not processes(session_of(job))


def test_a_job_of_another_machine_is_not_judged(linux: Target) -> None:
    job = linux.start()
    job.wait()
    other = f"{job.id[:-8]}00000000"
    (job.directory / ".gpe_exit_status").unlink()
    (job.directory / ".gpe/host").write_text("elsewhere.example\n")
    (linux.home / ".gpe/jobs/linux" / other).symlink_to(job.directory)
    status = linux.statuses("", JOB_ID=other)[other]
    assert (status.state, status.word) == ("UNKNOWN", "elsewhere")
    # the same machine, booted since
    (job.directory / ".gpe/host").write_text(f"{os.uname().nodename}\n")
    assert linux.statuses("", JOB_ID=other)[other].state == "LOST"


def test_an_abort_beside_another_one(linux: Target, tmp_path: Path) -> None:
    """The job ends by the first one while the second begins: it is removed, not killed."""
    job = linux.start(**script("sleep 60"))
    job.wait("RUNNING")
    other = tmp_path / "other"
    other.mkdir()
    (other / "sort").write_text(
        f"#!/bin/sh\necho removed > {job.directory}/.gpe/removed\n"
        f'echo 143 > {job.directory}/.gpe_exit_status\nexec {shutil.which("sort")} "$@"\n'
    )
    (other / "sort").chmod(0o700)
    linux.path.insert(0, other)
    linux.run("ABORT", JOB_ID=job.id)
    assert job.status().state == "REMOVED"


@pytest.mark.parametrize("kind", ["job", "task", "waited"])
def test_how_long_a_job_runs(linux: Target, kind: str) -> None:
    """A query tells it, even if it is the first one; the time that a job waited does not count."""
    before = int(time.time()) + (3 if kind == "waited" else 0)
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(before))
    fields = {"job": {}, "task": {"ARRAY": "3"}, "waited": {"START_TIME": when}}[kind]
    job = linux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "date > began; exec sleep 60"), **fields)
    wait_for_file(job.directory / "began")
    began = time.time()
    time.sleep(2.2)
    job_id = f"{job.id}_3" if kind == "task" else job.id
    least = time.time() - began
    read = StatusOutputReader(linux.profile).read_statuses
    status = read(linux.ok("GET_JOB_STATUS", JOB_ID=job_id))[job_id]
    most = time.time() - before
    assert status.state == "RUNNING"
    assert status.elapsed is not None
    assert least - 1 <= status.elapsed <= most  # cut to whole seconds
    linux.ok("HOLD", JOB_ID=job_id)
    held = read(linux.ok("GET_JOB_STATUS", "ALL"))[job_id]
    assert held.state == "HELD"
    assert held.elapsed is not None
    assert held.elapsed >= status.elapsed
    linux.ok("ABORT", JOB_ID=job_id)


def test_a_program_cannot_raise_the_limit_of_its_processor_time(linux: Target) -> None:
    """It gets SIGXCPU, which it may ignore; KILL comes five seconds later. Nothing is said in its own files."""
    job = linux.start(**script("ulimit -S -t; ulimit -H -t"), CPUTIME="600")
    assert job.wait().exit == 0
    assert job.read("stdout") == "600\n605\n"
    assert job.read("stderr") == ""


BUSY = "x = b'a' * (100 << 20)\nimport time\nwhile time.process_time() < 0.2: pass\ntime.sleep(0.8)"


@pytest.mark.parametrize("how", ["exit", "signal", "limit", "array"])
def test_what_a_job_took(linux: Target, how: str) -> None:
    text = BUSY if how != "signal" else f"{BUSY}\nimport os; os.kill(os.getpid(), 9)"
    fields = {"limit": {"WALLTIME": "10"}, "array": {"ARRAY": "3"}}.get(how, {})
    if how == "limit":
        text += "; time.sleep(60)"
    began = time.time()
    job = linux.start(EXECUTABLE=sys.executable, ARGUMENTS=quoted("-c", text), **fields)
    job_id = f"{job.id}_3" if how == "array" else job.id
    status = Job(linux, job_id, job.directory).wait()
    told = StatusOutputReader(linux.profile).read_statuses(linux.ok("GET_JOB_STATUS", JOB_ID=job_id))[job_id]
    assert told.cpu_time is not None, status
    assert told.elapsed is not None
    assert told.ended is not None
    assert began + told.elapsed <= told.ended <= time.time()
    assert 0.15 <= told.cpu_time <= 2
    assert told.elapsed >= 0.9
    usage = StatusOutputReader(linux.profile).read_statuses(linux.ok("USAGE", JOB_ID=job_id))[job_id]
    assert (usage.cpu_time, usage.elapsed) == (told.cpu_time, told.elapsed)


def test_what_a_running_job_takes(linux: Target) -> None:
    job = linux.start(
        EXECUTABLE=sys.executable, ARGUMENTS=quoted("-c", f"{BUSY}\nopen('up', 'w'); time.sleep(60)")
    )
    wait_for_file(job.directory / "up")
    usage = StatusOutputReader(linux.profile).read_statuses(linux.ok("USAGE", JOB_ID=job.id))[job.id]
    linux.ok("ABORT", JOB_ID=job.id)
    assert usage.max_memory is not None
    assert usage.cpu_time is not None
    assert usage.elapsed is not None
    assert 100 <= usage.max_memory / (1 << 20) <= 140
    assert 0.15 <= usage.cpu_time <= 0.8
    assert "cpu=" in linux.ok("GET_JOB_STATUS", JOB_ID=job.id)
    assert "unknown job" in linux.fails("USAGE", JOB_ID="1-2-00000000")


def test_a_poll_costs_by_the_jobs_that_live(linux: Target) -> None:
    """Counted by the commands that the shell runs; an ended job is listed once."""
    live = linux.start(EXECUTABLE="sleep", ARGUMENTS="60")
    ended = linux.start()
    ended.wait()
    links = linux.home / ".gpe/jobs/linux"
    assert set(linux.statuses()) == {live.id, ended.id}
    assert set(linux.statuses()) == {live.id}
    assert ended.status().state == "DONE"
    poll = linux.script("GET_JOB_STATUS", "ALL")
    few = len(linux.sh(f"set -x\n{poll}").stderr.splitlines())
    for number in range(1, 101):
        (links / f"{number}-1-00000000").symlink_to(ended.directory)
    assert len(linux.sh(f"set -x\n{poll}").stderr.splitlines()) == few
    linux.ok("ABORT", JOB_ID=live.id)


DAY = 86400


def make_old_link(path: Path, days: int) -> Path:
    """Make a link to nothing, of that age."""
    path.symlink_to("/nonexistent/target")
    os.utime(path, (time.time() - days * DAY,) * 2, follow_symlinks=False)
    return path


def test_links_to_jobs_whose_directories_are_gone_for_long(linux: Target, tmp_path: Path) -> None:
    """They are deleted once a day, when a job has ended; links in the jobs' directories are their users'."""
    ended = linux.start()
    ended.wait()
    links = linux.home / ".gpe/jobs/linux"
    (ended.directory / "archive").symlink_to(tmp_path)
    kept = [
        make_old_link(links / "1-1-00000000", 80),
        make_old_link(ended.directory / "mine", 200),
        make_old_link(tmp_path / "precious", 200),
        links / ended.id,
    ]
    old = make_old_link(links / "2-1-00000000", 100)
    assert set(linux.statuses()) == {ended.id}
    assert not old.is_symlink()
    # not again on the same day
    old = make_old_link(links / "2-1-00000000", 100)
    linux.start().wait()
    assert len(linux.statuses()) == 1
    assert old.is_symlink()
    os.utime(links / "live/.pruned", (time.time() - 2 * DAY,) * 2)
    linux.start().wait()
    assert len(linux.statuses()) == 1
    assert not old.is_symlink()
    assert [link for link in kept if not link.is_symlink()] == []


def test_a_directory_that_is_away_for_a_moment(linux: Target) -> None:
    """Or on another machine, which shares the home alone: nothing of the job is forgotten."""
    live = linux.start(EXECUTABLE="sleep", ARGUMENTS="60")
    ended = linux.start()
    ended.wait()
    away = linux.root.rename(linux.root.with_name("away"))
    assert linux.statuses() == {}
    away.rename(linux.root)
    assert set(linux.statuses()) == {live.id, ended.id}
    assert ended.status().state == "DONE"
    # to a machine with another boot, a link to nowhere is a job of elsewhere
    other = f"{live.id[:-8]}00000000"
    (linux.home / ".gpe/jobs/linux" / other).symlink_to(linux.root / "nowhere")
    assert linux.statuses("", JOB_ID=other)[other].word == "elsewhere"


def test_a_job_of_a_container(linux: Target) -> None:
    """It has the boot of its machine, and another name: its processes are not seen from here."""
    job = linux.start(EXECUTABLE="true")
    job.wait()
    assert gone(job)  # its shell outlives its end by a moment
    (job.directory / ".gpe_exit_status").unlink()
    (job.directory / ".gpe/host").write_text("container\n")
    assert job.status().word == "elsewhere"


SIGNALS = "HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF SYS"


def test_a_signal_for_the_whole_job_is_its_programs(linux: Target) -> None:
    """As batch systems send it: to all processes."""
    text = f"for s in {SIGNALS}; do trap '' $s; kill -s $s 0; done; exit 3"
    job = linux.start(**script(text) | {"EXECUTABLE": "/bin/bash"})
    assert job.wait().exit == 3


def test_a_program_has_the_default_action_of_signals(linux: Target) -> None:
    job = linux.start(EXECUTABLE="/bin/grep", ARGUMENTS="-E '^Sig(Ign|Cgt)' /proc/self/status")
    job.wait()
    masks = [int(line.split()[1], 16) for line in job.read("stdout").splitlines()]
    assert len(masks) == 2
    assert masks[0] & 0x7FFFFFFF == 0


def test_a_job_that_cannot_begin_is_not_done(linux: Target) -> None:
    directory = linux.directory()
    (directory / ".gpe/output").mkdir(parents=True)
    done = linux.run("START", directory=directory, **script("echo run > ran"))
    job = linux.job_id(done.stdout)
    assert Job(linux, job, directory).wait().state == "LOST"
    assert not (directory / "ran").exists()


def test_a_job_that_is_started_by_a_job_is_none_of_its_processes(linux: Target) -> None:
    linux.environment["GPE_JOB_ID"] = "1-2-00000000"
    job = linux.start(EXECUTABLE="sleep", ARGUMENTS="60")
    leader = Path("/proc", session_of(job), "environ")
    assert b"GPE_JOB_ID" not in leader.read_bytes()
    linux.ok("ABORT", JOB_ID=job.id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM])
def test_a_signal_leaves_the_wall_time(linux: Target, number: int) -> None:
    for seconds in ("3", "60"):  # on a busy machine, it may be over before the signal
        job = linux.start(
            **script("trap '' TERM ALRM; touch ready; while :; do sleep 1; done"), WALLTIME=seconds
        )
        wait_for_file(job.directory / "ready")
        linux.run("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(number)))
        if job.status().state == "RUNNING":
            break
    assert job.wait().state == "FAILED/TIME"


@pytest.mark.parametrize("field", ["STDOUT", "STDERR"])
@pytest.mark.parametrize("name", [".gpe_exit_status", "./.gpe/removed", "/x/.gpe/script"])
def test_the_files_of_a_job_are_no_output(linux: Target, field: str, name: str) -> None:
    with pytest.raises(IncarnationError):
        linux.script("START", **{field: name})


def test_list_counts_in_bytes(linux: Target, tmp_path: Path) -> None:
    (tmp_path / "five").write_bytes(b"x" * 5000)
    linux.environment["BLOCK_SIZE"] = "human-readable"
    assert linux.ok("LIST", "FILE", PATH=str(tmp_path / "five")).split()[2] == "5000"


def test_the_wall_time_ends_a_job(linux: Target) -> None:
    job = linux.start(**script("sleep 60 & sleep 60"), WALLTIME="1")
    status = job.wait()
    assert (status.state, status.word) == ("FAILED/TIME", "limit")
    assert "wall time of 1 s" in (status.reason or "")
    assert gone(job)


def test_a_job_within_its_wall_time_leaves_no_watch_behind(linux: Target) -> None:
    """Jobs that end as their watch begins, too: a shell may lose the signal that ends it."""
    jobs = [linux.start(EXECUTABLE="true", WALLTIME="600") for _ in range(rounds(20, 8))]
    for job in jobs:
        assert job.wait().exit == 0
        assert gone(job)


def test_the_processor_time_ends_a_job(linux: Target) -> None:
    job = linux.start(**script("while :; do :; done"), CPUTIME="1")
    status = job.wait()
    assert (status.state, status.signal) == ("FAILED/TIME", signal.SIGXCPU)


def test_start_in_a_directory_with_a_job_starts_nothing(linux: Target) -> None:
    fields = script("echo run >> log")
    job = linux.start(**fields)
    job.wait()
    link = linux.home / ".gpe/jobs/linux" / job.id
    link.unlink()
    again = linux.start(job.directory, **fields)
    assert again.id == job.id
    assert link.readlink() == job.directory
    assert job.read("log") == "run\n"


@pytest.mark.parametrize(
    "directory",
    ["relative", "/", "//tmp/x", "/tmp//x", "/tmp/../x", "/tmp/..", "/tmp/a\nb", "/tmp/a\n", "/tmp/."],
)
@pytest.mark.parametrize("template", ["START", "FIND_JOB"])
@DASH
def test_a_strange_working_directory_is_refused(linux: Target, template: str, directory: str) -> None:
    with pytest.raises(IncarnationError) as caught:
        incarnate(linux.profile, template, context={"WORKING_DIRECTORY": directory})
    assert caught.value.field == "WORKING_DIRECTORY"


@pytest.mark.parametrize("path", ["/", "//", ".", "..", "./", "a/..", "a/../b", "../b", "/..", "/tmp/."])
def test_delete_refuses_what_nobody_means(linux: Target, path: str) -> None:
    with pytest.raises(IncarnationError) as caught:
        linux.script("DELETE", PATH=path)
    assert caught.value.field == "PATH"


KEPT = {
    "as it is": "@",
    "slash": "@/",
    "slashes": "@//",
    "dot": "@/.",
    "double slash": "/@",
    "dot at the beginning": "/.@",
    "dots inside": "^/./home",
    "through a link": "^/link",
    "through a link, slash": "^/link/",
    "above": "^",
    "the root": "/./",
}


@pytest.mark.parametrize("which", ["home", "root", "user"])
@pytest.mark.parametrize("spelling", KEPT)
def test_delete_refuses_what_is_needed(
    target_of: Callable[[str], Target], tmp_path: Path, spelling: str, which: str
) -> None:
    """The home, the root of the working directories and the user's own part, however spelled."""
    site = tmp_path / "profiles/site/profile.xml"
    site.parent.mkdir(parents=True)
    uspace = tmp_path / "it's/jobs"
    user = pwd.getpwuid(os.geteuid()).pw_name
    (uspace / user).mkdir(parents=True)
    site.write_text(SITE.format(root=uspace))
    target = target_of("linux")
    target.profile = Repository([site.parents[1], PROFILES]).load("site")
    kept = {"home": target.home, "root": uspace, "user": uspace / user}[which]
    (kept / "precious").touch()
    (kept.parent / "link").symlink_to(kept)
    text = KEPT[spelling].replace("@", str(kept)).replace("^", str(kept.parent))
    text = text.replace("/./home", f"/./{kept.name}")
    if spelling == "through a link":
        target.ok("DELETE", PATH=text)
        assert not (kept.parent / "link").is_symlink()
    elif spelling in {"dot", "the root"}:
        with pytest.raises(IncarnationError):
            target.script("DELETE", PATH=text)
    else:
        assert "must not be removed" in target.fails("DELETE", PATH=text)
    assert (kept / "precious").exists()


def test_delete_refuses_a_home_that_is_a_link(linux: Target, tmp_path: Path) -> None:
    real = tmp_path / "real"
    linux.home.rename(real)
    linux.home.symlink_to(real)
    assert "must not be removed" in linux.fails("DELETE", PATH=str(real))
    assert "must not be removed" in linux.fails("DELETE", PATH=f"{linux.home}/")
    assert "must not be removed" in linux.fails("DELETE", PATH=str(linux.home.parent))
    assert real.exists()


def test_delete_refuses_what_the_link_to_a_home_is_in(linux: Target, tmp_path: Path) -> None:
    (tmp_path / "data/me").mkdir(parents=True)
    (tmp_path / "homes").mkdir()
    (tmp_path / "homes/me").symlink_to(tmp_path / "data/me")
    linux = replace(linux, home=tmp_path / "homes/me")
    assert "must not be removed" in linux.fails("DELETE", PATH=str(tmp_path / "homes"))
    assert (tmp_path / "homes/me").is_symlink()


def test_delete_of_a_working_directory_forgets_the_job(linux: Target) -> None:
    job = linux.start()
    job.wait()
    linux.ok("DELETE", PATH=str(job.directory))
    assert [*(linux.home / ".gpe/jobs/linux").rglob("*-*")] == []
    assert job.id in linux.fails("GET_JOB_STATUS", JOB_ID=job.id)
    assert linux.statuses() == {}
    linux.ok("DELETE", PATH=str(job.directory))  # once more: it is gone already


def test_delete_while_the_job_writes_its_last_file(linux: Target, tmp_path: Path) -> None:
    """As its usage, which is written when its end is known: rm has read the directory's names by then."""
    job = linux.start()
    job.wait()
    programs = tmp_path / "late"
    programs.mkdir()
    (programs / "rm").write_text(
        f"#!/bin/sh\n[ -e {programs}/tried ] || {{ touch {programs}/tried; /bin/rm -rf {job.directory}/.gpe*; "
        f'touch {job.directory}/.gpe/usage; rmdir -- {job.directory}; exit 1; }}\nexec /bin/rm "$@"\n'
    )
    (programs / "rm").chmod(0o755)
    linux.path.insert(0, programs)
    assert linux.ok("DELETE", PATH=str(job.directory)) == ""
    assert (programs / "tried").exists()
    assert not job.directory.exists()


def test_list_shows_types_modes_and_links(linux: Target, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    (there / "file").write_text("12345")
    (there / "file").chmod(0o4640)
    (there / "link -> x").symlink_to("a -> b")
    (there / "sticky").mkdir()
    (there / "sticky").chmod(0o1777)
    os.mkfifo(there / ".pipe", 0o600)
    os.utime(there / "file", (0, 1234567890))
    lines = linux.ok("LIST", "DIR", PATH=str(there)).splitlines()
    found = {line.split(" ")[4]: line.split(" ")[:4] for line in lines}
    assert found["file"] == ["f", "4640", "5", "1234567890"]
    assert {name: entry[:2] for name, entry in found.items()} == {
        "file": ["f", "4640"],
        "link%20->%20x": ["l", "0777"],
        "sticky": ["d", "1777"],
        ".pipe": ["p", "0600"],
    }
    assert linux.ok("LIST", "FILE", PATH=f"{there}/sticky//").startswith("d 1777 ")
    assert linux.ok("LIST", "FILE", PATH="/").endswith(" /\n")
    assert linux.ok("LIST", "DIR", PATH=f"{there}/sticky") == ""
    for variation in ("FILE", "DIR"):
        assert "nowhere" in linux.fails("LIST", variation, PATH=f"{there}/nowhere")
    assert "file" in linux.fails("LIST", "DIR", PATH=f"{there}/file")


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "a b", "a;id", "a\nb", "$(id)", ""])
def test_a_strange_host_is_refused(linux: Target, host: str) -> None:
    with pytest.raises(IncarnationError) as caught:
        incarnate(linux.profile, "SHELL", variation="SSH", context={"SSH:HOST": host})
    assert caught.value.field == "SSH:HOST"


def test_the_shell_of_another_host() -> None:
    context = {"SSH:HOST": "me@host.example", "SSH:PORT": "2222"}
    words = get_shell_command(Repository([PROFILES]).load("linux"), context)
    assert words[0] == "ssh"
    assert words[-6:] == ["-p", "2222", "--", "me@host.example", "sh", "-s"]


def test_storages() -> None:
    linux = Repository([PROFILES]).load("linux")
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/var/tmp/me/1"}
    paths = {name: storage_path(linux, name, context) for name in linux.storages}
    assert paths == {"ROOT": "/", "HOME": "/home/me", "USPACE": "/var/tmp/me/1"}
    assert storage_path(linux, "HOME", {**context, "HOME_ROOT": "/users"}) == "/users/me"


def run_on_small_disk(linux: Target, text: str, size: int, job: str) -> str:
    """Run shell text that mounts a disk and starts a job there; `start` and `status` are its scripts."""
    disk = linux.root / "disk"
    disk.mkdir(parents=True)
    (linux.root / "ran").touch()
    (linux.root / "start").write_text(linux.script("START", directory=disk / "job", **script(job)))
    status = linux.script("GET_JOB_STATUS", JOB_ID="1-1-00000000")
    (linux.root / "status").write_text(status.replace("1-1-00000000", "JOB-ID"))
    words = ["unshare", "-rm", "sh", "-c", text, "sh", str(size), str(disk), str(linux.root)]
    return subprocess.run(words, env=linux.env, capture_output=True, text=True, check=True).stdout


FULL_DISK = """
mount -t tmpfs -o size=$1k tmpfs "$2" || exit
id=$(sh "$3/start") 2> /dev/null || exit 0
state=running
while [ "$state" != "${state#*running}" ] && [ ! -e "$2/job/ran" ]; do # until it has begun, or cannot
  sleep 0.1
  state=$(sed "s/JOB-ID/$id/" "$3/status" | sh)
done
dd if=/dev/zero of="$2/fill" bs=4096 2> /dev/null
: > "$2/job/go"
for i in 1 2 3 4 5 6 7 8 9 10; do
  sleep 0.3
  state=$(sed "s/JOB-ID/$id/" "$3/status" | sh)
  case $state in *running*) ;; *) break ;; esac
done
[ ! -e "$2/job/ran" ] || printf 'ran: %s\\n' "$state"
"""


@pytest.mark.parametrize("size", [12, 20, 24, 28, 32, 36, 48, 64])
def test_the_end_of_a_program_that_has_run_is_told_on_a_full_disk(linux: Target, size: int) -> None:
    """The room for the end is taken before the program begins; a job for which there is none does not run it."""
    text = ": > ran; until [ -e go ]; do sleep 0.1; done; echo lots > big; exit 7"
    told = run_on_small_disk(linux, FULL_DISK, size, text)
    # the machine and the times are missing where the disk was full before they could be written
    assert told == "" or (told.startswith("ran: ") and told.split()[2:4] == ["exited", "exit=7"])
    assert told or size < 64


FEW_INODES = """
mount -t tmpfs -o nr_inodes=1000 tmpfs "$2" || exit
mkdir "$2/fill" && (cd "$2/fill" && touch $(seq "$((999 - $1))")) || exit
sh "$3/start" > "$3/first" 2> "$3/words"
code=$?
rm -r "$2/fill"
[ "$code" -eq 0 ] || sh "$3/start" > "$3/second" 2>> "$3/words"
id=$(cat "$3/first" "$3/second" 2> /dev/null)
state=running
while [ "$state" != "${state#*running}" ]; do
  sleep 0.1
  state=$(sed "s/JOB-ID/$id/" "$3/status" | sh)
done
printf '%s %s: %s\\n' "$code" "$(cat "$3/ran" | wc -l)" "$state"
"""


@pytest.mark.parametrize("count", [4, 7, 9, 12, 14, 17, 26])
def test_without_inodes_a_job_is_not_started_or_told_and_a_repeated_start_starts_it(
    linux: Target, count: int
) -> None:
    told = run_on_small_disk(linux, FEW_INODES, count, f"echo ran >> {linux.root}/ran; exit 7")
    code, ran, state = told.replace(":", "").split(maxsplit=2)
    words = (linux.root / "words").read_text()
    assert "without a job id" not in words
    if int(code):  # it was not started, and then it was
        assert (code in {"1", "73"}, ran) == (True, "1"), (told, words)
    assert "exit=7" in state if ran == "1" else "exit=7" not in state, state


def test_a_program_that_writes_to_what_the_removal_ended_is_removed(linux: Target) -> None:
    """PIPE may end it before TERM does."""
    job = linux.start(**script("trap 'kill -s PIPE $$' TERM; : > ready; while sleep 0.02; do :; done"))
    wait_for_file(job.directory / "ready")
    assert linux.run("ABORT", JOB_ID=job.id).returncode == 0
    assert (job.directory / ".gpe_exit_status").read_text() == "141\n"
    assert job.status().state == "REMOVED"


def test_only_the_program_gets_the_signal_before_its_time_limit(linux: Target) -> None:
    text = "trap 'echo saved' USR1; (trap 'echo child' USR1; sleep 1.5) & while sleep 0.1; do :; done"
    job = linux.start(**script(text), WALLTIME="4", LIMIT_SIGNAL="USR1@2")
    status = job.wait()
    assert (status.state, job.read("stdout")) == ("FAILED/TIME", "saved\n")
    assert job.read(".gpe/limit") == "over its wall time of 4 s\n"
    assert gone(job)


@pytest.mark.parametrize(
    ("name", "text", "state", "fields"),
    [
        ("USR1", "exec sleep 60", "FAILED/TIME", {}),
        ("USR1", "exec sleep 60", "FAILED/TIME", {"ARRAY": "4"}),
        ("USR1", "trap 'exit 3' USR1; while sleep 0.1; do :; done", "DONE", {}),
        ("USR1", "kill -s USR1 $$; sleep 60", "FAILED", {}),
        ("USR1", "kill -s USR2 $$; sleep 60", "FAILED", {}),
        ("TERM", "exec sleep 60", "FAILED", {}),
    ],
)
def test_a_program_that_the_signal_has_ended_ended_for_its_time_limit(
    linux: Target, name: str, text: str, state: str, fields: dict[str, str]
) -> None:
    job = linux.start(**script(text), WALLTIME="600", LIMIT_SIGNAL=f"{name}@599", **fields)
    ids = [f"{job.id}_4"] if fields else [job.id]
    status = replace(job, id=ids[0]).wait() if fields else job.wait()
    assert status.state == state
    assert gone(job)


def test_the_processes_of_a_job_get_the_signal_each(linux: Target) -> None:
    text = "trap 'echo saved >> all; exit 3' USR1; while sleep 0.1; do :; done"
    fields = {"PROCESSES": "3", "WALLTIME": "600", "LIMIT_SIGNAL": "USR1@598"}
    directory = linux.directory()
    start = linux.script("START", directory=directory, application="Processes", **script(text), **fields)
    job = Job(linux, linux.job_id(linux.sh(start).stdout), directory)
    assert job.wait().exit == 3
    assert job.read("all") == "saved\n" * 3
    assert gone(job)
