"""No profile makes a success of what it does not know: a count of nothing, a code that is missing, a new word."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.incarnate import static_scripts
from tests.profiles.conftest import DASH, ENDED, PROFILES
from tests.profiles.systems import StandIn, make_stand_in
from tests.profiles.test_stories import UNTIL_GO, make, run, start
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.profile.repository import Repository
    from tests.profiles.conftest import Target
    from tests.profiles.systems import System

__all__ = ["make"]
pytestmark = DASH


def test_a_shell_that_ends_before_its_script_does_leaves_no_exit_status(
    target_of: Callable[..., Target], tmp_path: Path
) -> None:
    """As one that cannot start a process: its exit status is not that of the program, which never ran."""
    system = make_stand_in("slurm", target_of, tmp_path / "commands")
    job = system.target.start()
    script = job.directory / ".gpe/script"
    script.write_text(re.sub("(?m)^(gpe_begin_job.*)$", r"\1\nexit 2", script.read_text()))
    system.begin(job)
    assert system.wait(job) == 128 + signal.SIGKILL
    assert not (job.directory / ".gpe_exit_status").exists()


def test_grid_engine_runs_no_job_again_for_its_exit_code(make: Callable[[str], System]) -> None:
    """By 99 it would run the job again, and take it for one that cannot run by 100: the script ends with 1."""
    sge = make("sge")
    assert [run(sge, f"exit {code}").status().end for code in (99, 100)] == [("DONE", 99), ("DONE", 100)]


@pytest.mark.parametrize(
    ("name", "words", "state"),
    [
        ("hyperqueue", "paused", "QUEUED"),
        ("tcs", "EXT,0,7,-", "FAILED"),
        ("slurmrest", "FAILED|1|0|JobLaunchFailure", "FAILED"),
        ("htcondor", "4|node1|undefined|DIR|false|undefined", "FAILED"),
        ("oar", "Terminated x", "FAILED"),
        ("sge", "ended|0|", None),
        ("moab", "Completed|271|1", "FAILED"),
        ("loadleveler", "X", "QUEUED"),
    ],
)
def test_what_is_not_known_is_no_success(
    name: str, words: str, state: str | None, target_of: Callable[..., Target], tmp_path: Path
) -> None:
    system = make_stand_in(name, target_of, tmp_path / "commands")
    job = system.target.start()
    system.write(job, words)
    if state is None:
        assert system.target.fails("GET_JOB_STATUS", JOB_ID=job.id)
    else:
        assert job.status().state == state


OWN_WORDS = {"exited", "limit", "removed", "*"}
NEW_WORDS = {"NEW", "NEW_WORD", "NewWord", "new-word"}
EXTENDING = sorted(path.parent.name for path in PROFILES.glob("*/commands.sh") if path.parent.name != "batch")


@pytest.mark.parametrize("name", EXTENDING)
def test_an_end_is_a_word_that_means_one(
    name: str, repository: Repository, shell: str, tmp_path: Path
) -> None:
    """ABORT asks the functions, GET_JOB_STATUS the tags. A new word is no end; a removal that is shown outranks TERM and KILL."""
    profile = repository.load(name)
    tags = profile.find_field(profile.get_template("GET_JOB_STATUS"), "STATE").tags
    words = {tag.name.partition("/")[0]: tag.value for tag in reversed(tags)}
    commands = tmp_path / "commands.sh"
    (text,) = (file.body for file in static_scripts(profile) if "/commands." in file.path)
    commands.write_text(text)
    script = (
        (PROFILES / "batch/read-commands.sh").read_text()
        + """
read_commands "$0"
for word; do
  ! gpe_has_ended "$word" || echo "end $word"
  ! gpe_is_removal "$word" || echo "removal $word"
done"""
    )
    asked = sorted({*words, *NEW_WORDS} - OWN_WORDS)
    done = subprocess.run([shell, "-c", script, commands, *asked], capture_output=True, text=True, check=True)
    ends = {word for word in asked if words.get(word) in ENDED}
    removals = {word for word in asked if words.get(word) == "REMOVED"}
    assert {*done.stdout.splitlines()} == {f"end {w}" for w in ends} | {f"removal {w}" for w in removals}


@pytest.mark.parametrize("name", ["htcondor", "kubernetes"])
def test_a_removal_that_is_under_way_is_no_end(make: Callable[[str], System], name: str) -> None:
    """The batch system has taken it, and the program still runs: it may end by an exit code of its own."""
    system = make(name)
    job = start(system, f"trap 'exit 3' TERM; echo up; {UNTIL_GO}exit 3")
    system.begin(job)
    wait_for_file(job.directory / "stdout", "up\n")
    assert system.target.ok("ABORT", JOB_ID=job.id) == ""
    assert job.status().state == system.target.statuses()[job.id].state == "RUNNING"
    (job.directory / "go").touch()
    assert isinstance(system, StandIn)
    system.wait(job)
    assert job.status().end == ("DONE", 3)


@pytest.mark.parametrize("name", ["at", "tsp"])
def test_a_session_that_lives_is_no_end(make: Callable[[str], System], name: str) -> None:
    """The server was killed, say: it knows nothing of the job, which runs on this machine."""
    system = make(name)
    assert isinstance(system, StandIn)
    job = start(system, "echo up; exec sleep 60")
    system.begin(job)
    wait_for_file(job.directory / "stdout", "up\n")
    system.tell(job, "exit") if name == "at" else system.forget(job)
    assert job.status().state == "RUNNING"
    assert system.target.ok("ABORT", JOB_ID=job.id) == ""
    system.wait(job)
    assert job.status().state == "REMOVED"


def test_the_style_of_a_caller_hides_no_job(make: Callable[[str], System]) -> None:
    """What ls prints is read: the links of the jobs, by which another server's job of the same id is known."""
    system = make("tsp")
    assert isinstance(system, StandIn)
    job = start(system)
    (system.directory / "jobs").write_text(f"{job.id}|running||sleep 9\n")
    system.target.environment["QUOTING_STYLE"] = "c"
    assert system.target.statuses() == {}


@pytest.mark.parametrize(("words", "state"), [("RUN 16", "RUNNING"), ("FAILED 16 3", "DONE")])
def test_a_list_that_has_no_room_ends_no_job(make: Callable[[str], System], words: str, state: str) -> None:
    """Flux lists at most as many jobs as it is asked for, and is asked for a job by its own id then."""
    system = make("flux")
    assert isinstance(system, StandIn)
    listed, job = start(system), start(system)
    system.write(job, words)
    (system.directory / "most").write_text("1\n")
    assert {*system.target.statuses()} == {listed.id}
    assert job.status().state == state
    system.forget(job)
    assert "unknown job" in system.target.fails("GET_JOB_STATUS", JOB_ID=job.id)
