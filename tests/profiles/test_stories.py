"""What becomes of jobs: each story, told of each batch system (systems.py).

A story is a function of a system. Where a batch system cannot do it, its class says why, and the story has a check that
the profile says so, too (REFUSALS). docs/conformance.md is made from both: `pytest --force-regen` writes it anew. What is
one batch system's own, such as the words of its states, is in test_pbs.py, test_sge.py and so on.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OSProfileError
from osprofile.incarnation.incarnate import incarnate
from osprofile.profile.model import EXPERIMENTAL
from osprofile.profile.repository import Repository
from tests.profiles.conftest import AWAY, CUT, PROFILES, Job, exports, load_site, quoted
from tests.profiles.systems import SYSTEMS, StandIn, get_task, make_system
from tests.profiles.test_hostile_values import CARRIED, PAYLOAD
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.profiles.systems import System

WITH_STAND_INS = {
    "end without a record", "memory limit", "lost answer", "killed submission", "refused submission", "absence", "return", "requeue",
    "reasons", "forgotten jobs",
}  # fmt: skip
"""Stories in which the batch system does what a test cannot make a real one do; tests/lab has some of them."""
LAB: dict[str, set[str]] = {
    "slurm": {"time limit", "usage"},
    "torque": {"time limit", "usage", "signal", "array", "cancel of an array"},
    "pbs": set(),
    "sge": {"usage", "end after a cancel"},
    "at": set(),
    "oar": {"array", "cancel of an array"},
    "tsp": set(),
    "slurmrest": {"time limit"},
    "flux": set(),
}
"""The systems of which tests/lab tells the other stories on the real one, but for these: its files have tests of them.

What answers to `torque` there is Slurm's package of PBS commands, so the table does not say that it is real."""
PAGE = Path(__file__).parents[2] / "docs/conformance.md"
UNTIL_GO = "until [ -e go ]; do sleep 0.1; done; "
STORIES: dict[str, tuple[Callable[..., None], str]] = {}
"""The function of each story, and what it says, by its title."""


def story(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function `tell_TITLE` to STORIES."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        STORIES[function.__name__.removeprefix("tell_").replace("_", " ")] = (function, text)
        return function

    return add


def script(text: str) -> dict[str, str]:
    """Return the fields of a job that runs shell text."""
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def start(system: System, text: str = "true", **fields: str) -> Job:
    return system.target.start(**script(text), **fields)


def run(system: System, text: str, **fields: str) -> Job:
    """Run a job to its end."""
    job = start(system, f"{text}", **fields)
    system.begin(job) if isinstance(system, StandIn) else None
    system.end(job)
    return job


def get_states(system: System, job: Job) -> list[str]:
    return [status.state for status in system.target.statuses("", JOB_ID=job.id).values()]


def ask_several(system: System, *ids: str) -> set[str] | None:
    """Return which of several jobs are told, by one query if the profile has one; None if the batch system does not answer."""
    if "SEVERAL" in system.target.profile.get_template("GET_JOB_STATUS").invocations:
        done = system.target.run("GET_JOB_STATUS", "SEVERAL", JOB_IDS=" ".join(ids))
        return None if done.returncode else {line.partition(" ")[0] for line in done.stdout.splitlines()}
    answers = [system.target.run("GET_JOB_STATUS", JOB_ID=job_id) for job_id in ids]
    found = {job_id for job_id, done in zip(ids, answers, strict=True) if not done.returncode}
    return found or None


@story("A job waits, runs and ends; one that has ended cannot be cancelled.")
def tell_start_to_end(system: System) -> None:
    target, directory = system.target, system.target.root / "it's-a+job"
    target.sh(f"mkdir -p -m 700 '{target.root}'")
    text = f'echo "$GPE_JOB_ID $X"; pwd; echo err >&2; {UNTIL_GO}exit 3'
    job = target.start(directory, **script(text), ENVIRONMENT=exports(X="a 'b'"))
    if not system.waits:
        assert job.status().state == target.statuses()[job.id].state == "QUEUED"
    assert target.start(directory) == job
    assert target.find(directory) == job.id
    system.begin(job)
    assert job.status().state == target.statuses()[job.id].state == "RUNNING"
    (directory / "go").touch()
    system.end(job)
    status = job.status()
    assert (status.state, status.exit, status.signal) == ("DONE", 3, None)
    assert target.statuses().get(job.id) == (status if system.is_all_with_ended else None)
    assert job.read("stdout").splitlines() == [f"{job.id} a 'b'", str(directory)]
    assert (job.read("stderr"), job.read(".gpe_exit_status")) == ("err\n", "3\n")
    target.fails("ABORT", JOB_ID=job.id)
    assert not (directory / ".gpe/removed").exists()
    assert job.status() == status


@story("Where a job left no record of its end, the exit code that the batch system tells counts.")
def tell_end_without_a_record(system: System) -> None:
    job = run(system, "exit 3")
    (job.directory / ".gpe_exit_status").unlink()
    assert job.status().end == ("DONE", 3)


@story("A program that a signal ended has failed, by this signal.")
def tell_killed_program(system: System) -> None:
    status = run(system, "kill -s KILL $$").status()
    assert (status.state, status.exit, status.signal) == ("FAILED", None, 9)


def check_limit(system: System, what: str, state: str) -> None:
    """Check that the batch system's word for a limit counts, whatever the job's own shell has noted."""
    job = start(system, "sleep 60")
    assert isinstance(system, StandIn)
    system.begin(job)
    wait_for_file(job.directory / "stdout")
    system.kill(job)
    system.tell(job, what)
    for _ in range(2):
        status = job.status()
        assert (status.state, status.exit, status.signal) == (state, None, None)
        (job.directory / ".gpe_exit_status").write_text("143\n")


@story("A job that its wall time ended says so.")
def tell_time_limit(system: System) -> None:
    if isinstance(system, StandIn):
        check_limit(system, "time limit", "FAILED/TIME")
    else:
        job = start(system, "sleep 60", WALLTIME="1")
        system.end(job)
        assert job.status().state == "FAILED/TIME"


@story("A job that was ended because of its memory says so.")
def tell_memory_limit(system: System) -> None:
    check_limit(system, "memory limit", "FAILED/MEMORY")


@story(
    "A job that waits is held and released; one that runs is suspended, or HOLD refuses it and leaves no hold."
)
def tell_hold(system: System) -> None:
    target, job = system.target, start(system, **system.waits)
    assert target.ok("HOLD", JOB_ID=job.id) == ""
    job.wait("HELD")
    assert target.statuses()[job.id].state == "HELD"
    assert target.ok("RESUME", JOB_ID=job.id) == ""
    job.wait("QUEUED")
    running = start(system, "sleep 60")
    system.begin(running)
    done = target.run("HOLD", JOB_ID=running.id)
    assert running.status().state.partition("/")[0] == ("RUNNING" if done.returncode else "HELD"), done
    assert bool(done.stderr) == bool(done.returncode)
    if not done.returncode:
        assert target.ok("RESUME", JOB_ID=running.id) == ""
        assert running.status().state in {"RUNNING", "QUEUED"}  # HTCondor runs it again


@story("A job that waits, or runs, is removed and leaves no process; a second time it has ended already.")
def tell_cancel(system: System) -> None:
    target, waiting = system.target, start(system, "echo ran", **system.waits)
    running = start(system, "sleep 60 & wait $!")  # else it may exit with 0, when its child has ended
    system.begin(running)
    wait_for_file(running.directory / "stdout")
    for job in (waiting, running):
        assert target.ok("ABORT", JOB_ID=job.id) == ""
        if isinstance(system, StandIn):
            system.kill(job)
            if system.profile == "at" and job == running:
                system.tell(job, "exit")
        job.wait("REMOVED")
        assert (job.directory / ".gpe/removed").exists()
        target.fails("ABORT", JOB_ID=job.id)
    assert (job.status().state, waiting.status().state) == ("REMOVED", "REMOVED")
    assert not (waiting.directory / "stdout").exists()


@story("A job that is cancelled and then exits by itself has the exit code of its program.")
def tell_end_after_a_cancel(system: System) -> None:
    job = start(system, f"trap 'exit 3' TERM; echo up; {UNTIL_GO}exit 3")
    system.begin(job)
    wait_for_file(job.directory / "stdout", "up\n")
    assert system.target.ok("ABORT", JOB_ID=job.id) == ""
    (job.directory / "go").touch()
    if isinstance(system, StandIn):
        system.wait(job)
        if system.profile == "at":
            system.tell(job, "exit")
    status = job.wait()
    assert (status.state, status.exit) == ("DONE", 3)


@story("A signal reaches the program of a job that runs; a job that waits cannot get one.")
def tell_signal(system: System) -> None:
    target = system.target
    job = start(system, f"trap 'echo got; exit 5' USR1; echo up; {UNTIL_GO}")
    if isinstance(system, StandIn):
        assert target.fails("SIGNAL", JOB_ID=job.id, SIGNAL="10")
    system.begin(job)
    wait_for_file(job.directory / "stdout", "up\n")
    assert target.ok("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(signal.SIGUSR1))) == ""
    system.end(job)
    assert job.status().end == ("DONE", 5)
    assert job.read("stdout") == "up\ngot\n"


@story("Each task has an id, an output and an end of its own; the array is all of them.")
def tell_array(system: System) -> None:
    target = system.target
    text = 'echo "$GPE_JOB_ID $GPE_ARRAY_ID"; exit "$GPE_ARRAY_INDEX"'
    array = start(system, text, ARRAY="1-3", **system.waits)
    tasks = {index: get_task(array, index) for index in ("1", "2", "3")}
    if isinstance(system, StandIn):
        assert get_states(system, array) == ["QUEUED"] * 3
        assert {*target.statuses()} == {task.id for task in tasks.values()}
        system.begin(array, "2")
        system.end(array, "2")
        system.begin(array, "3")
        states = {name: status.state for name, status in target.statuses("", JOB_ID=array.id).items()}
        assert states[tasks["1"].id] == tasks["1"].status().state == "QUEUED"
        assert states[tasks["2"].id] == tasks["2"].status().state == "DONE"
        assert states[tasks["3"].id] in {"RUNNING", "DONE"}
        system.end(array, "3")
        system.begin(array, "1")
        system.end(array, "1")
    else:
        array = start(system, text, ARRAY="1-3")
        tasks = {index: get_task(array, index) for index in tasks}
        for task in tasks.values():
            task.wait()
    assert {index: task.status().exit for index, task in tasks.items()} == {"1": 1, "2": 2, "3": 3}
    assert {s.exit for s in target.statuses("", JOB_ID=array.id).values()} == {1, 2, 3}
    for index, task in tasks.items():
        assert array.read(f"stdout.{index}") == f"{task.id} {array.id}\n"


@story("A task is removed alone, an array with all tasks that have not ended.")
def tell_cancel_of_an_array(system: System) -> None:
    target = system.target
    array = start(system, 'exit "$GPE_ARRAY_INDEX"', ARRAY="1-3", **system.waits)
    assert target.ok("ABORT", JOB_ID=get_task(array, "2").id) == ""
    get_task(array, "2").wait("REMOVED")
    assert [get_task(array, index).status().state for index in "13"] == ["QUEUED", "QUEUED"]
    if isinstance(system, StandIn):
        system.begin(array, "1")
        system.end(array, "1")
    assert target.ok("ABORT", JOB_ID=array.id) == ""
    first = "DONE" if isinstance(system, StandIn) else "REMOVED"
    for index in "13":
        get_task(array, index).wait(first if index == "1" else "REMOVED")
    assert [get_task(array, index).status().state for index in "123"] == [first, "REMOVED", "REMOVED"]
    assert get_states(system, array) == [first, "REMOVED", "REMOVED"]
    target.fails("ABORT", JOB_ID=array.id)


@story("A job waits for another one; if the condition cannot hold, it is removed, and says why.")
def tell_dependency(system: System) -> None:
    first = start(system, "exit 3", **system.waits)
    job = start(system, DEPENDENCY=f"afterok:{first.id}")
    assert job.status().state == "QUEUED"
    if isinstance(system, StandIn):
        system.tell(job, "dependency")
    else:
        system.target.ok("ABORT", JOB_ID=first.id)
        job.wait()
    status = job.status()
    assert (status.state, (status.reason or "DEPENDENCY")) == ("REMOVED/DEPENDENCY", "DEPENDENCY")
    assert not (job.directory / "stdout").exists()


@story("Where the batch system took a job and its answer was lost, the job is found: it is submitted once.")
def tell_lost_answer(system: System) -> None:
    assert isinstance(system, StandIn)
    others, directory = [start(system)], system.target.directory()
    system.interfere("answer lost")
    done = system.target.run("START", directory=directory, **script("echo run >> log"))
    assert (done.returncode, done.stdout) == (CUT, "")
    assert "is not known" in done.stderr
    system.interfere("nothing")
    others.append(start(system))
    found = system.target.find(directory)
    assert found not in {"", *(other.id for other in others)}
    job = system.target.start(directory)
    assert (job.id, system.count()) == (found, 3)
    system.begin(job)
    system.end(job)
    assert job.read("log") == "run\n"


@story(
    "Where START is killed before or after the batch system has the job, START is repeated, and the program runs once."
)
def tell_killed_submission(system: System) -> None:
    assert isinstance(system, StandIn)
    for how in ("killed before", "killed after"):
        count, directory = system.count(), system.target.directory()
        system.interfere(how)
        system.target.run("START", directory=directory, **script("echo run >> log"))
        system.interfere("nothing")
        if how == "killed after" and "lost answer" in system.cannot:
            continue  # it is given up: should it begin, it runs nothing
        job = system.target.start_found(directory, **script("echo run >> log"))
        assert system.count() == count + 1
        system.begin(job)
        system.end(job)
        assert job.read("log") == "run\n"


@story("They submit one job.")
def tell_starts_at_the_same_time(system: System) -> None:
    directory = system.target.directory()
    with ThreadPoolExecutor(3) as pool:
        jobs = [*pool.map(lambda _: system.target.start(directory, **script("echo run >> log")), range(3))]
    assert len({job.id for job in jobs}) == 1
    assert [*directory.glob(".gpe/script.[0-9]*")] == []
    if isinstance(system, StandIn):
        assert system.count() == 1
        system.begin(jobs[0])
    system.end(jobs[0])
    assert jobs[0].read("log") == "run\n"


@story("The batch system's own words are told, and START can be repeated.")
def tell_refused_submission(system: System) -> None:
    assert isinstance(system, StandIn)
    directory = system.target.directory()
    system.interfere("refused")
    done = system.target.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such queue: sorry" in done.stderr
    assert "" not in done.stderr.splitlines()
    system.interfere("nothing")
    assert system.target.find(directory) == ""
    assert system.target.start(directory).id
    assert system.count() == 1


@story("A batch system that does not answer has forgotten nothing, removes nothing and takes no job.")
def tell_absence(system: System) -> None:
    assert isinstance(system, StandIn)
    target, job = system.target, start(system)
    lost = start(system)
    (lost.directory / ".gpe/id").unlink()
    (lost.directory / ".gpe/submitting").touch()
    system.away.touch()
    (job.directory / ".gpe_exit_status").write_text("0\n")  # of it alone, nothing is told
    done = target.run("GET_JOB_STATUS", "ALL")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert system.away_words in done.stderr
    assert ask_several(system, job.id, "99") is None
    done = target.run("GET_JOB_STATUS", JOB_ID=job.id)
    assert (done.returncode not in {0, 1}, done.stdout) == (True, ""), done  # 1 would be an unknown job
    assert system.away_words in done.stderr
    (job.directory / ".gpe_exit_status").unlink()
    for template in () if "hold" in system.cannot else ("HOLD", "RESUME"):
        said = target.fails(template, JOB_ID=job.id)
        # once: it did not go on; hq says it on both of its outputs
        assert said.count(system.away_words) == (2 if system.profile == "hyperqueue" else 1)
    assert system.away_words in target.fails("START")
    if "lost answer" not in system.cannot:
        done = target.run("FIND_JOB", directory=lost.directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert system.away_words in done.stderr
        done = target.run("START", directory=lost.directory)
        assert (done.returncode, "FIND_JOB finds out" in done.stderr) == (CUT, True)
    system.away.unlink()
    assert job.status().state == "QUEUED"


@story(
    "Away is not no: a submission is repeated later, a cancel reaches the job when the batch system is back, and no other job."
)
def tell_return(system: System) -> None:
    assert isinstance(system, StandIn)
    target, directory = system.target, system.target.directory()
    job, other = start(system), start(system)
    count = system.count()
    system.away.touch()
    done = target.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (AWAY if system.is_away_known else done.returncode or 1, "")
    assert system.away_words in done.stderr
    is_base = (PROFILES / system.profile / "commands.sh").exists()
    if is_base:
        done = target.run("ABORT", JOB_ID=job.id)
        assert (done.returncode, done.stdout) == (2, "")
        assert system.away_words in done.stderr
        assert f"job {job.id} is not cancelled yet" in done.stderr
        # the id of a job of ours that ended long ago is another's now
        old, links = target.root / "old", target.home / ".gpe/jobs" / system.profile
        (old / ".gpe").mkdir(parents=True)
        (old / ".gpe/removed").write_text("removed\n")
        (links / other.id).unlink()
        (links / other.id).symlink_to(old)
        (links / "cancel" / other.id).touch()
    system.away.unlink()
    if system.is_away_known:
        assert target.start(directory).id
        assert system.count() == count + 1
    if is_base:
        target.statuses("ALL")
        if "lost answer" in system.cannot:  # nothing shows whose id it is
            assert job.status().state == "QUEUED"
            target.ok("ABORT", JOB_ID=job.id)
        job.wait("REMOVED")
        assert other.id in {entry.name for entry in (links / "cancel").iterdir()}
        (links / other.id).unlink()
        (links / other.id).symlink_to(other.directory)
        assert other.status().state == "QUEUED"


@story("A job that nobody knows is an error; a part of an id is another job.")
def tell_unknown_job(system: System) -> None:
    target, job = system.target, start(system, **system.waits)
    unknown = re.sub("[0-9]+", "9999999", job.id, count=1)
    unknown = "f9SEBrbSJ" if system.profile == "flux" else unknown
    done = target.run("GET_JOB_STATUS", JOB_ID=unknown)
    assert (done.returncode, done.stdout, bool(done.stderr)) == (1, "", True)
    for template in ("ABORT", *(() if "hold" in system.cannot else ("HOLD", "RESUME"))):
        assert target.fails(template, JOB_ID=unknown)
    assert ask_several(system, unknown, job.id) == {job.id}


def get_directives(job: Job) -> list[str]:
    """Return the lines of a job's script that the batch system reads."""
    prefix = job.target.profile.get_template("JOB_DIRECTIVES").directive_prefix
    return [line for line in job.read(".gpe/script").split("\n") if prefix and line.startswith(prefix)]


@story("Arguments, variables, names of files and of the directory reach the program as they are.")
def tell_hostile_values(system: System) -> None:
    target = system.target
    directory = target.root / ("a-+~" if system.profile == "pbs" else "it's a  *  $(id) [x] \\ \u00e9")
    target.sh(f"mkdir -p -m 700 {quoted(str(target.root))} {quoted(str(directory))}")
    name, value = "a * 'b' $TMPDIR %j", "|".join([*CARRIED, "a\n #BSUB -q x\n#bsub\n#\n"])
    (directory / name).write_text(PAYLOAD)
    (directory / name).chmod(0o755)
    (directory / "in ' %A").write_text(value)
    (directory / "in ' %A").chmod(0o644)
    job = target.start(
        directory, EXECUTABLE=f"./{name}", ARGUMENTS=quoted(*CARRIED), ENVIRONMENT=exports(HOSTILE=value),
        STDIN="in ' %A", STDOUT="%j-\u2028", STDERR="-e $(id)\r",
    )  # fmt: skip
    # of the program's name, what a name may hold
    plain, given = (
        [line for line in get_directives(made) if not line.endswith((f" {program}", f"={program}"))]
        for made, program in ((start(system), "sh"), (job, "a____b___TMPDIR__j"))
    )
    assert given == plain
    if isinstance(system, StandIn):
        system.begin(job)
    system.end(job)
    assert job.status().exit == 0
    got = (directory / "got.arguments").read_bytes().split(b"\0")
    assert got == [text.encode() for text in (f"./{name}", *CARRIED, "")]
    assert (directory / "got.environment").read_bytes() == value.encode()
    assert (directory / "got.stdin").read_bytes() == value.encode()
    assert (job.read("%j-\u2028"), job.read("-e $(id)\r")) == ("out\n", "err\n")


@story("A job that runs again waits, runs and ends once.")
def tell_requeue(system: System) -> None:
    assert isinstance(system, StandIn)
    job = start(system, f"echo run >> log; {UNTIL_GO}exit 4")
    system.begin(job)
    wait_for_file(job.directory / "log", "run\n")
    system.kill(job)
    system.tell(job, "waiting")
    assert job.status().state == "QUEUED"
    system.begin(job)
    assert job.status().state == "RUNNING"
    (job.directory / "go").touch()
    system.end(job)
    assert job.status().end == ("DONE", 4)
    assert job.read("log") == "run\nrun\n"


@story("Why a job waits is told in the batch system's words.")
def tell_reasons(system: System) -> None:
    assert isinstance(system, StandIn)
    job = start(system)
    system.tell(job, "reason")
    status = job.status()
    assert status.reason
    assert status.state in {"QUEUED", "HELD"}


@story("How long a job ran, and its processor time, are told.")
def tell_usage(system: System) -> None:
    # The system counts in hundredths of a second, and may count none of a short loop.
    has_used = "times > t; read -r used rest < t; case $used in *[1-9]*) ;; *) false ;; esac"
    job = run(system, f"until {has_used}; do i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done; done")
    template = "USAGE" if "USAGE" in system.target.profile.templates else "GET_JOB_STATUS"
    text = system.target.ok(template, JOB_ID=job.id)
    words = dict(word.partition("=")[::2] for word in text.split() if "=" in word)
    assert float(words["elapsed"]) > 0
    assert float(words["cpu"]) > 0


@story("What the batch system has forgotten is told by the job's own record.")
def tell_forgotten_jobs(system: System) -> None:
    assert isinstance(system, StandIn)
    ended, removed = run(system, "exit 255"), start(system)
    system.target.ok("ABORT", JOB_ID=removed.id)
    for job in (ended, removed):
        system.forget(job)
    assert ended.status().end == ("DONE", 255)
    assert removed.status().state == "REMOVED"
    assert ask_several(system, ended.id, removed.id) == {ended.id, removed.id}
    assert system.target.statuses() == {}


def is_refused(system: System, **fields: str) -> bool:
    try:
        done = system.target.run("START", **fields)
    except OSProfileError as error:
        return set(fields) == {error.field}  # type: ignore[attr-defined]
    return done.returncode == 1


REFUSALS: dict[str, Callable[[System], object]] = {
    "hold": lambda system: "cannot hold jobs" in system.target.fails("HOLD", JOB_ID=start(system).id),
    "signal": lambda system: "signal" in system.target.fails("SIGNAL", JOB_ID=start(system).id, SIGNAL="10"),
    "array": lambda system: is_refused(system, ARRAY="1-3"),
    "cancel of an array": lambda system: is_refused(system, ARRAY="1-3"),
}
"""What the profile of a system does with a request that it cannot fulfil."""

OF_COMMANDS = {
    "hold", "cancel", "signal", "array", "cancel of an array", "dependency", "refused submission", "absence", "hostile values",
}  # fmt: skip
"""The stories that together run each line of a profile's `commands.sh`."""


def runs_in_bash(name: str, title: str) -> bool:
    """Return whether bash runs a story, too: profiles with a `commands.sh` share all other scripts, which oar runs for them."""
    return title in OF_COMMANDS or name == "oar" or not (PROFILES / name / "commands.sh").exists()


TOLD = [
    pytest.param(shell, name, title, marks=pytest.mark.hunt(8, of="file") if shell == "bash" else ())
    for name, system in SYSTEMS.items()
    for title in STORIES
    if title not in system.cannot or title in REFUSALS
    for shell in ("dash", "bash")
    if shell == "dash" or (title not in system.cannot and runs_in_bash(name, title))
]


@pytest.fixture
def make(target_of: Callable[..., object], tmp_path: Path) -> Iterator[Callable[[str], System]]:
    made: list[System] = []

    def make_one(name: str) -> System:
        made.append(make_system(name, target_of, tmp_path / "commands"))
        return made[-1]

    yield make_one
    for system in made:
        if isinstance(system, StandIn):
            system.close()


@pytest.mark.parametrize(("shell", "name", "title"), TOLD, indirect=["shell"])
def test_story(make: Callable[[str], System], name: str, title: str) -> None:
    system = make(name)
    if title in system.cannot:
        assert REFUSALS[title](system)
    else:
        STORIES[title][0](system)


SUBMIT_DIRECTORIES = {
    "slurm": "SLURM_SUBMIT_DIR", "pbs": "PBS_O_WORKDIR", "torque": "PBS_O_WORKDIR", "lsf": "LS_SUBCWD", "sge": "SGE_O_WORKDIR",
    "nqsv": "PBS_O_WORKDIR", "moab": "PBS_O_WORKDIR", "tcs": "PJM_O_WORKDIR", "oar": "OAR_WORKDIR",
}  # fmt: skip


@pytest.mark.parametrize("name", SUBMIT_DIRECTORIES)
def test_the_batch_system_s_own_variable_names_the_directory_of_the_job(
    make: Callable[[str], System], name: str, tmp_path: Path
) -> None:
    system, place = make(name), tmp_path / "my $dir"
    place.mkdir()
    text = f'cd /; printf "%s\\n" "${SUBMIT_DIRECTORIES[name]}"'
    assert run(system, text, DIRECTORY=str(place)).read("stdout") == f"{place}\n"


@pytest.mark.parametrize("passed", ["", "B:INT@60", "B:sigint@60", "b:int"])
@pytest.mark.parametrize(("setup", "array"), [("", ""), (":", ""), ("", "1-2")])
def test_slurm_s_signal_for_the_script_reaches_the_program(
    make: Callable[[str], System], setup: str, array: str, passed: str
) -> None:
    """Passed on as it is written, or by the field."""
    system = make("slurm")
    target = system.target
    text = "trap 'echo got it; exit 7' INT; : > ready; while sleep 0.02; do :; done"
    context = {
        "USER_NAME": "me",
        "WORKING_DIRECTORY": str(target.directory()),
        "PASSED": f"--signal={passed}\n--hold" if passed else "--hold",
    }
    if setup:
        target.profile = load_site("slurm", SITE_SETUP=setup)
    fields = {**script(text), "ARRAY": array, "LIMIT_SIGNAL": "" if passed else "INT@60"}
    start = incarnate(target.profile, "START", fields=fields, context=context)
    assert f"#SBATCH --signal={passed or 'B:INT@60'}\n" in start.text
    target.deploy(start.static_scripts)
    done = target.sh(start.text)
    job = Job(target, done.stdout.split()[-1], Path(context["WORKING_DIRECTORY"]))
    index = "2" if array else ""
    system.begin(job, index)
    wait_for_file(job.directory / "ready")
    system.processes[job.id, index].send_signal(signal.SIGINT)
    assert (system.end(job, index), get_task(job, index).status().exit) == (7, 7)
    assert (job.directory / f"stdout{'.2' if index else ''}").read_text() == "got it\n"
    assert not [*job.directory.glob(".gpe/pid.*")]


@pytest.mark.parametrize("name", ["linux", "pbs", "slurm", "lsf", "sge", "torque"])
def test_a_day_that_no_month_has_is_refused(make: Callable[[str], System], name: str) -> None:
    words = "START: START_TIME 2027-02-30T10:00 is no time that exists here\n"
    target = make(name).target
    assert target.fails("START", START_TIME="2027-02-30T10:00") == words
    assert target.start(START_TIME="2028-02-29T10:00").id


def format_page() -> str:
    """Return docs/conformance.md; a reason that several systems have says no more than that it cannot be done."""
    rows = []
    shared = Counter(reason for system in SYSTEMS.values() for reason in set(system.cannot.values()))
    for name, system in SYSTEMS.items():
        told = [title for title in STORIES if title not in system.cannot]
        real = set(told) if system.kind == "real" else set()
        if name in LAB and name != "torque":
            real = set(told) - LAB[name] - WITH_STAND_INS
        others = [title for title in told if title not in real | (WITH_STAND_INS if real else set())]
        kind = "by its manual" if system.kind == "documentation" else "of stand-ins"
        means = f"real, but {kind}: {', '.join(others)}" if real else f"all {kind}"
        reasons: dict[str, list[str]] = {}
        for title, reason in system.cannot.items():
            reasons.setdefault(f": {reason}" if shared[reason] == 1 else "", []).append(title)
        cannot = "; ".join(f"{', '.join(titles)}{reason}" for reason, titles in sorted(reasons.items()))
        words = Repository([PROFILES]).load(name).get_value("START", EXPERIMENTAL)
        answers = f"{system.answers}{', experimental, ' * bool(words)}{words}"
        rows.append(f"| `{name}` | {answers} | {means if others else 'real'} | {cannot} |")
    stories = [f"- *{title}*: {text}" for title, (_, text) in STORIES.items()]
    always = ", ".join(title for title in STORIES if title in WITH_STAND_INS)
    return PAGE_TEXT.format(rows="\n".join(rows), stories="\n".join(stories), always=always)


PAGE_TEXT = """\
# What is tested

Each bundled profile is tested with the same [stories](#stories) of jobs, told of

- *real*: the batch system itself, but for these, which need stand-ins: {always};
- *stand-ins*: programs in the place of its commands, which answer as the real ones did;
- *its manual*: programs that answer as the manual shows: nobody has run the profile on a real one here.

| profile | batch system | the stories | what it, or the batch system, cannot do |
|---|---|---|---|
{rows}

## Stories

{stories}
"""


def test_page(file_regression: FileRegressionFixture) -> None:
    file_regression.check(format_page(), fullpath=PAGE)


def test_what_cannot_be_done_is_a_story() -> None:
    assert {title for system in SYSTEMS.values() for title in system.cannot} <= set(STORIES)
