"""The profile of the page "A new batch system", made by the page's own command, on the real task-spooler."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.docs import pages
from tests.profiles.conftest import CUT, ENDED, PROFILES, Target, quoted
from tests.profiles.test_batch import check_fields_of_tsp, make_page_profile
from tests.waiting import wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.profiles.conftest import Job, Status


class Spooler(Target):
    """A server of its own, and the commands that ask it behind osprofile's back."""

    def tsp(self, *words: str) -> str:
        done = subprocess.run(["tsp", *words], env=self.env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def states(self) -> dict[str, str]:
        """Give what the server says itself."""
        lines = [line.split() for line in self.tsp("-l").splitlines()[1:]]
        return {words[0]: words[1] for words in lines}


SHELLS = ["dash", "bash", "busybox", "ksh93", "mksh", "yash", "zsh"]


@pytest.fixture(params=SHELLS[:2])
def tsp(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spooler]:
    if not shutil.which("tsp"):
        pytest.exit("there is no tsp: run tests/lab/ci.sh as root", returncode=4)
    home, programs = tmp_path / "home", tmp_path / "bin"
    for path in (home, programs, home / "tmp"):
        path.mkdir()
    folder = make_page_profile("new-batch-system", "tsp", tmp_path / "user")
    profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("tsp")
    (programs / "sh").symlink_to(shutil.which(request.param) or request.param)
    environment = {"TS_SOCKET": str(home / "socket"), "TMPDIR": str(home / "tmp")}
    target = Spooler(profile, str(programs / "sh"), home, tmp_path / "jobs", [programs], environment)
    yield target
    for job, state in target.states().items():
        if state == "running":
            target.tsp("-k", job)
    target.tsp("-K")


@pytest.fixture
def busy(tsp: Spooler) -> Callable[[], None]:
    """Keep the server's one slot busy; give the function that frees it."""
    job = tsp.tsp("sleep", "600")
    return lambda: (tsp.tsp("-k", job), None)[1]


def script(text: str) -> dict[str, str]:
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


@pytest.mark.parametrize("tsp", SHELLS, indirect=True)
def test_every_shell_reads_the_scripts(tsp: Spooler) -> None:
    ended = tsp.start(**script("exit 7"))
    assert ended.wait().exit == 7
    running, waiting = tsp.start(**script("sleep 600")), tsp.start(**script(":"))
    running.wait("RUNNING")
    assert {job.id: tsp.statuses()[job.id].state for job in (ended, running, waiting)} == {
        ended.id: "DONE", running.id: "RUNNING", waiting.id: "QUEUED",
    }  # fmt: skip
    assert tsp.find(waiting.directory) == waiting.id
    assert "cannot hold jobs" in tsp.fails("HOLD", JOB_ID=running.id)
    for job in (waiting, running):
        assert tsp.ok("ABORT", JOB_ID=job.id) == ""
        assert job.wait().state == "REMOVED"
    assert "unknown job 99" in tsp.fails("GET_JOB_STATUS", JOB_ID="99")


def test_a_job_script_that_was_killed(tsp: Spooler) -> None:
    """It left no exit status: the server's own word counts."""
    job = tsp.start(**script("kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat) $PPID $$"))
    assert job.wait().state == "FAILED"
    assert not (job.directory / ".gpe_exit_status").exists()
    assert tsp.statuses()[job.id].state == "FAILED"


def test_a_job_that_waits_is_removed(tsp: Spooler, busy: Callable[[], None]) -> None:
    job = tsp.start(**script("touch ran"))
    assert job.status().state == "QUEUED"
    assert tsp.ok("ABORT", JOB_ID=job.id) == ""
    assert job.status().state == "REMOVED"
    assert job.id not in tsp.states()
    busy()
    assert tsp.start(**script(":")).wait().state == "DONE"
    assert not (job.directory / "ran").exists()


def test_the_first_job_of_the_list_cannot_be_removed_while_it_waits(tsp: Spooler, tmp_path: Path) -> None:
    """The page says so, with its profile of slots: it is not told as removed, and goes when it runs."""
    folder = tmp_path / "user/.config/osprofile/profiles"
    (block,) = [b for b in pages.read("docs/new-batch-system.md") if b.word == "xml"]
    (folder / "spooler").mkdir()
    (folder / "spooler/profile.xml").write_text(block.text)
    tsp.profile = Repository([folder, PROFILES], use_standard_path=False).load("spooler")
    job = tsp.start(**script("sleep 600"), CPUS="2")
    assert "cannot be removed" in tsp.fails("ABORT", JOB_ID=job.id)
    assert job.status().state == "QUEUED"
    tsp.tsp("-S", "2")
    job.wait("RUNNING")
    assert tsp.ok("ABORT", JOB_ID=job.id) == ""
    assert job.wait().state == "REMOVED"


def test_the_server_can_be_fixed_in_the_profile(tsp: Spooler, tmp_path: Path) -> None:
    """Whoever has another TS_SOCKET, or none, asks the same server."""
    folder = make_page_profile("new-batch-system", "tsp", tmp_path / "fixed")
    file = folder / "profile.xml"
    file.write_text(
        file.read_text().replace("gpe_submit()", "TS_SOCKET=$HOME/socket; export TS_SOCKET\ngpe_submit()")
    )
    tsp.profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("tsp")
    right = tsp.environment["TS_SOCKET"]
    tsp.environment["TS_SOCKET"] = str(tsp.home / "other")
    job = tsp.start(**script("sleep 600"))
    job.wait("RUNNING")
    tsp.environment["TS_SOCKET"] = right
    assert tsp.states() == {job.id: "running"}
    assert not (tsp.home / "other").exists()


def test_a_job_that_ignores_its_removal_runs_until_it_ends(tsp: Spooler) -> None:
    """What the server lists as running is not told as removed, and an exit code of its own is its end."""
    job = tsp.start(**script("trap '' TERM; touch ready; until [ -e go ]; do sleep 0.1; done; exit 4"))
    wait_for_file(job.directory / "ready")
    assert tsp.ok("ABORT", JOB_ID=job.id) == ""
    assert (job.directory / ".gpe/removed").exists()
    for told in (job.status(), tsp.statuses()[job.id]):
        assert told.state == "RUNNING"
    assert tsp.states()[job.id] == "running"
    (job.directory / "go").touch()
    status = job.wait()
    assert (status.state, status.exit) == ("DONE", 4)


@pytest.mark.race
def test_a_job_is_removed_as_it_begins(tsp: Spooler) -> None:
    """Its shell outlives the signal, and must not run the program after it."""
    for _ in range(15):
        job = tsp.start(**script("sleep 600"))
        assert tsp.ok("ABORT", JOB_ID=job.id) == ""
        assert job.wait().state == "REMOVED"


def test_a_job_that_is_just_being_started_is_removed_at_the_second_try(tsp: Spooler) -> None:
    """Between waiting and running, `tsp -r` and `tsp -k` both refuse it ("strange PID received: 0")."""
    refuse_first = tsp.home.parent / "bin" / "tsp"
    real, mark = shutil.which("tsp"), tsp.home / "refused"
    refuse_first.write_text(
        f"""#!/bin/sh
case $1 in -[kr]) if mkdir "{mark}$1" 2> /dev/null; then echo 'Error: strange PID received: 0' >&2; exit 255; fi ;; esac
exec {real} "$@"
"""
    )
    refuse_first.chmod(0o755)
    job = tsp.start(**script("sleep 600"))
    job.wait("RUNNING")
    assert tsp.ok("ABORT", JOB_ID=job.id) == ""
    assert Path(f"{mark}-r").exists()
    assert Path(f"{mark}-k").exists()
    assert job.wait().state == "REMOVED"


@pytest.mark.parametrize("verb", ["HOLD", "RESUME"])
def test_what_it_cannot_do_is_refused_by_name(tsp: Spooler, busy: Callable[[], None], verb: str) -> None:
    job = tsp.start(**script(":"))
    assert tsp.fails(verb, JOB_ID=job.id) == f"{verb}: job {job.id}: tsp cannot hold jobs\n"
    assert "tsp cannot send signals" in tsp.fails("SIGNAL", JOB_ID=job.id, SIGNAL="15")
    assert job.status().state == "QUEUED"
    busy()
    assert job.wait().state == "DONE"


def test_an_unknown_job_and_a_server_that_does_not_answer(tsp: Spooler) -> None:
    done = tsp.run("GET_JOB_STATUS", JOB_ID="77")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown job 77" in done.stderr
    assert "unknown" in tsp.fails("ABORT", JOB_ID="77")
    tsp.environment["TS_SOCKET"] = str(tsp.home / "none" / "socket")
    done = tsp.run("GET_JOB_STATUS", JOB_ID="0")
    tsp.environment["TS_SOCKET"] = str(tsp.home / "socket")
    assert (done.returncode, done.stdout) == (2, "")


def test_jobs_of_others_are_told_too(tsp: Spooler) -> None:
    ended = [tsp.tsp("sh", "-c", text) for text in ("exit 5", "kill -9 $$")]
    for job in ended:
        subprocess.run(["tsp", "-w", job], env=tsp.env, check=False, capture_output=True)
    told = tsp.statuses()
    assert (told[ended[0]].state, told[ended[0]].exit) == ("DONE", 5)
    assert told[ended[1]].state == "FAILED"


@pytest.mark.parametrize("waits", [True, False])
def test_a_start_whose_answer_was_lost(tsp: Spooler, waits: bool) -> None:
    """What a machine leaves that stops between tsp and its answer: the list has the directory."""
    if waits:
        tsp.tsp("sleep", "600")
    directory = tsp.directory()
    job = tsp.start(directory, **script("echo run >> log; sleep 600"))
    if not waits:
        job.wait("RUNNING")
    (directory / ".gpe/id").unlink()
    (directory / ".gpe/submitting").touch()
    assert tsp.run("START", directory=directory, **script(":")).returncode == CUT
    assert tsp.find(directory) == job.id
    assert tsp.start(directory, **script(":")).id == job.id
    assert len(tsp.states()) == 1 + waits


@pytest.mark.race
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_killed_start(tsp: Spooler, delay: float) -> None:
    """Wherever it is killed, the job runs once."""
    directory = tsp.directory()
    text = tsp.script("START", directory=directory, **script("echo run >> log"))
    start = subprocess.Popen(
        [tsp.shell, "-c", text], env=tsp.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(delay)
    os.killpg(start.pid, signal.SIGKILL)
    start.wait()
    job = tsp.start_found(directory, **script("echo run >> log"))
    assert job.wait().state == "DONE"
    assert job.read("log") == "run\n"
    assert len(tsp.states()) == 1


def test_fields(tsp: Spooler) -> None:
    """Each reaches the program, or is refused by its name."""
    check_fields_of_tsp(tsp, lambda job: job.wait("DONE"))


def test_fifty_jobs(tsp: Spooler) -> None:
    """Known, mixed ends: none is told wrongly, by one query for all."""
    tsp.tsp("-S", "4")
    texts = ["exit 0", "exit 3", "kill -9 $$", "kill -15 $$", "sleep 600"] * 10
    jobs: list[Job] = [tsp.start(**script(text)) for text in texts]
    for job, text in zip(jobs, texts, strict=True):
        if text == "sleep 600":
            tsp.ok("ABORT", JOB_ID=job.id)

    def look() -> dict[str, Status] | None:
        told = tsp.statuses()
        # one that was removed while it waited is known by its own record only
        told |= {job.id: job.status() for job in jobs if job.id not in told}
        return told if all(told[job.id].state in ENDED for job in jobs) else None

    told = wait_until(look, every=0.1)
    expected = {
        "exit 0": ("DONE", 0, None),
        "exit 3": ("DONE", 3, None),
        "kill -9 $$": ("FAILED", 9),
        "kill -15 $$": ("FAILED", 15),
        "sleep 600": ("REMOVED",),
    }
    for job, text in zip(jobs, texts, strict=True):
        status = told[job.id]
        got = {"DONE": (status.state, status.exit, status.signal), "FAILED": (status.state, status.signal)}
        assert got.get(status.state, (status.state,)) == expected[text], (text, status)


def test_the_bundled_profile(tsp: Spooler) -> None:
    """It is that of the page, with a label, slots and a dependency."""
    tsp.profile = Repository([PROFILES], use_standard_path=False).load("tsp")
    failed = tsp.start(**script("exit 3"), JOB_NAME="big")
    skipped = tsp.start(**script("touch ran"), DEPENDENCY=f"afterok:{failed.id}")
    assert failed.wait("DONE").exit == 3
    assert skipped.wait("REMOVED/DEPENDENCY")
    after = tsp.start(**script("sleep 600"), DEPENDENCY=f"afterok:{tsp.start(**script(':')).id}")
    after.wait("RUNNING")
    assert "2 slots are asked for, and the server has 1" in tsp.fails("START", CPUS="2")
    assert "[big]sh" in tsp.tsp("-l")
    assert tsp.ok("ABORT", JOB_ID=after.id) == ""
    assert after.wait().state == "REMOVED"
    assert not (skipped.directory / "ran").exists()
