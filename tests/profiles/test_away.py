"""What is not there now is not gone: the file system of a job's directory, the accounting, the history."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import CUT, DASH, PROFILES
from tests.profiles.systems import INTERFERENCES, SYSTEMS, StandIn
from tests.profiles.test_stories import make, run, script, start
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.profiles.systems import System

__all__ = ["make"]
pytestmark = DASH
WITH_ARRAYS = [name for name, system in SYSTEMS.items() if "array" not in system.cannot and name != "linux"]


@pytest.fixture
def take_away(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Give a function that takes the file system of the jobs away; it comes back at the end."""
    root, elsewhere = tmp_path / "jobs", tmp_path / "jobs.away"
    yield lambda: root.rename(elsewhere) and None
    if elsewhere.exists() and not root.exists():
        elsewhere.rename(root)


@pytest.mark.parametrize("name", ["linux", "slurm", "sge"])
def test_a_condition_on_a_job_whose_directory_is_away(
    make: Callable[[str], System], take_away: Callable[[], None], name: str, tmp_path: Path
) -> None:
    """The job that depends on it waits, or is refused for what is the case."""
    system = make(name)
    first = run(system, "true")
    if isinstance(system, StandIn):
        system.forget(first)
    take_away()
    done = system.target.run("START", directory=tmp_path / "other/job", DEPENDENCY=f"afterok:{first.id}")
    if name == "slurm":  # which takes a condition on a job that it has forgotten for one that holds
        assert (done.returncode, "is its file system?" in done.stderr) == (1, True)
        return
    (status,) = system.target.statuses("", JOB_ID=system.target.job_id(done.stdout)).values()
    assert status.state in {"QUEUED", "HELD"}


def test_a_mount_point_without_its_file_system(shell: str) -> None:
    """A job's directory was made by its user: it was not removed from a directory where this user cannot make one."""
    with tempfile.TemporaryDirectory() as links:
        os.chmod(links, 0o777)  # noqa: S103  # root is another user here, who cannot write in /usr
        (Path(links) / "1").symlink_to("/usr/job of nobody")
        (Path(links) / "2").symlink_to(f"{links}/removed")
        text = "\n".join((PROFILES / "linux" / name).read_text() for name in ("job-directory.sh", "away.sh"))
        script = (
            f"{text}\ngpe_jobs='{links}'\nfor id in 1 2; do ! gpe_is_dir_away $id || echo $id is away; done"
        )
        user = 12345 if os.geteuid() == 0 else None
        done = subprocess.run(
            [shell, "-c", script], user=user, cwd="/", capture_output=True, text=True, check=True
        )
    assert (done.stdout, done.stderr) == ("1 is away\n", "")


@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_an_array_whose_directory_is_away(
    make: Callable[[str], System], take_away: Callable[[], None], name: str
) -> None:
    system = make(name)
    ended, waiting = start(system, ARRAY="1-2"), start(system, ARRAY="1-2", **system.waits)
    assert isinstance(system, StandIn)
    system.forget(ended)
    take_away()
    if name != "oar":  # which forgets no job
        assert f"{ended.id} away " in system.target.run("GET_JOB_STATUS", JOB_ID=ended.id).stdout
    assert {status.state for status in system.target.statuses("", JOB_ID=waiting.id).values()} == {"QUEUED"}
    assert system.target.ok("ABORT", JOB_ID=waiting.id) == ""


@pytest.mark.parametrize("name", ["linux", "slurm", "oar"])
def test_a_directory_that_is_away_may_have_a_job(
    make: Callable[[str], System], take_away: Callable[[], None], name: str
) -> None:
    """It is not made again, and nothing is submitted in it again, until it is there."""
    system = make(name)
    target = system.target
    directory = target.directory()
    job = target.start(directory, **script("echo ran >> log"))
    marks = target.home / ".gpe/submitting"
    assert [*marks.iterdir()] == []
    (directory / ".gpe/id").unlink()  # START was killed before it was known
    (target.home / ".gpe/jobs" / name / job.id).unlink()
    (marks / directory.name).write_text(f"{directory}\n")
    take_away()
    for template in ("FIND_JOB", "START"):
        done = target.run(template, directory=directory)
        assert (done.returncode, done.stdout) == (CUT, "")
        assert f"{directory} is not there" in done.stderr
    assert not target.root.exists()


def test_a_directory_that_is_away_or_was_removed_had_a_job(shell: str) -> None:
    """Of one that was removed, with what it was in, the user can write to what is left."""
    with tempfile.TemporaryDirectory() as links:
        os.chmod(links, 0o777)  # noqa: S103  # root is another user here, who cannot write in /usr
        places = ["/usr/of me/1", f"{links}/project/2", "/usr/of me/3"]
        for place in places[:2]:
            (Path(links) / place[-1]).symlink_to(place)
        text = (PROFILES / "linux/enter-directory.sh").read_text()
        script = f"{text}\nfail() {{ echo $1 $gpe_directory; exit; }}\ngpe_jobs='{links}'\n" + "".join(
            f"(gpe_directory='{place}'; check_file_system)\n" for place in places
        )
        user = 12345 if os.geteuid() == 0 else None
        done = subprocess.run(
            [shell, "-c", script], user=user, cwd="/", capture_output=True, text=True, check=True
        )
    assert (done.stdout, done.stderr) == ("75 /usr/of me/1\n", "")


HISTORIES = {
    "htcondor": ("condor_history", "*"), "moab": ("showq", "*-c*"), "tcs": ("pjstat", "*-H*"), "oar": ("oarstat", "*--sql*"),
    "lsf": ("bhist", "*"), "sge": ("qacct", "*"), "slurm": ("sacct", "*"),
}  # fmt: skip
"""The commands that tell how a job ended which is not listed any more."""


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_that_does_not_answer(make: Callable[[str], System], name: str, tmp_path: Path) -> None:
    """A job that left no record has not ended, nor is it unknown; of the others, one query tells all the same."""
    system, (command, words) = make(name), HISTORIES[name]
    assert isinstance(system, StandIn)
    lost, waiting = run(system, "true"), start(system)
    (lost.directory / ".gpe_exit_status").unlink()
    system.forget(lost)
    directory, rest = tmp_path / "history", system.target.env["PATH"]
    directory.mkdir()
    (directory / command).write_text(
        f"#!/bin/sh\ncase \"$*\" in {words}) echo 'connection refused' >&2; exit 1 ;; esac\n"
        f"PATH='{rest}' exec {command} \"$@\"\n"
    )
    (directory / command).chmod(0o755)
    system.target.path.insert(0, directory)
    done = system.target.run("GET_JOB_STATUS", "SEVERAL", JOB_IDS=f"{lost.id} {waiting.id}")
    told = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    assert (done.returncode, told.pop(lost.id)) == (0, "away")
    assert [*told] == [waiting.id]
    assert system.target.run("GET_JOB_STATUS", JOB_ID=lost.id).stdout.startswith(f"{lost.id} away reason=")


WORDS = {
    "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)": True,
    "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)": False,
    "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation": False,
    "qsub: cannot connect to server pbs0 (errno=15010)": True,
    "qsub: End of File": False,
    "error: commlib error: got select error (Connection refused)": True,
    'Unable to run job: got no response from JSV script "/x"': False,
    "Failed in an LSF library call: LIM is down; try later": True,
    "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?": True,
    "error: timed out waiting for the condition": False,
    "flux-batch: ERROR: Unable to connect to Flux: broker not running": True,
    "sbatch: error: invalid partition specified: refused": False,
}


@pytest.mark.parametrize("words", WORDS)
def test_words_that_prove_that_nothing_was_taken(shell: str, words: str) -> None:
    script = (PROFILES / "linux/drop-variables.sh").read_text() + 'gpe_is_away "$1"'
    done = subprocess.run([shell, "-c", script, "sh", words], check=False)
    assert done.returncode == (not WORDS[words])


def test_a_time_out_proves_nothing(make: Callable[[str], System], monkeypatch: pytest.MonkeyPatch) -> None:
    """The job may have been taken: only FIND_JOB takes the mark away."""
    system = make("slurm")
    assert isinstance(system, StandIn)
    words = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    monkeypatch.setitem(
        INTERFERENCES, "timed out", f'PATH=$REST "$name" "$@" > t; echo "{words}" >&2; exit 1'
    )
    system.interfere("timed out")
    directory = system.target.directory()
    done = system.target.run("START", directory=directory)
    assert (done.returncode, done.stderr) == (1, f"{words}\n")
    assert (directory / ".gpe/submitting").exists()
    system.interfere("nothing")
    assert system.target.run("START", directory=directory).returncode == CUT
    assert system.target.find(directory) == system.target.start(directory).id
    assert system.count() == 1


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "linux"])
def test_one_query_answers_for_all(make: Callable[[str], System], name: str, tmp_path: Path) -> None:
    """Of jobs that left no record, too: as many commands as for one of them."""
    system = make(name)
    assert isinstance(system, StandIn)
    jobs = [start(system) for _ in range(3)]
    for job in jobs:
        system.forget(job)
    directory, rest = tmp_path / "counters", system.target.env["PATH"]
    directory.mkdir()
    # of a single id alone does squeue say that it does not know it
    for command in {"slurm": "sacct", "pbs": "qstat qselect"}.get(name, system.commands).split():
        (directory / command).write_text(
            f"#!/bin/sh\necho {command} >> '{directory}/log'\nPATH='{rest}' exec {command} \"$@\"\n"
        )
        (directory / command).chmod(0o755)
    system.target.path.insert(0, directory)
    counts = []
    for asked in (jobs[:2], jobs):
        (directory / "log").write_text(f"{name}\\n")
        system.target.run("GET_JOB_STATUS", "SEVERAL", JOB_IDS=" ".join(job.id for job in asked))
        counts.append(len((directory / "log").read_text().splitlines()))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("name", ["slurm", "pbs", "lsf", "sge"])
def test_a_kept_cancel_outlives_a_weekend(make: Callable[[str], System], name: str) -> None:
    """A query for another job sends it, too, and does not take the job that it does not list for one that has gone."""
    system = make(name)
    assert isinstance(system, StandIn)
    job, other = start(system), start(system)
    system.away.touch()
    assert system.target.run("ABORT", JOB_ID=job.id).returncode == 2
    note = system.target.home / ".gpe/jobs" / name / "cancel" / job.id
    os.utime(note, (0, 0))
    system.away.unlink()
    assert other.status().state == "QUEUED"
    wait_until(lambda: not note.exists())
    assert job.status().state == "REMOVED"


def test_a_query_does_not_wait_for_a_kept_cancel(make: Callable[[str], System], tmp_path: Path) -> None:
    system = make("pbs")
    assert isinstance(system, StandIn)
    job = start(system)
    system.away.touch()
    assert system.target.run("ABORT", JOB_ID=job.id).returncode == 2
    system.away.unlink()
    (tmp_path / "hanging").mkdir()
    (tmp_path / "hanging/qdel").write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/called'\nexec sleep 1000\n")
    (tmp_path / "hanging/qdel").chmod(0o755)
    system.target.path.insert(0, tmp_path / "hanging")
    assert job.status().state == "QUEUED"
    called = wait_until(lambda: (tmp_path / "called").exists() and (tmp_path / "called").read_text())
    os.kill(int(called), signal.SIGTERM)


def test_a_cancel_by_a_part_of_an_id_is_kept(make: Callable[[str], System]) -> None:
    """PBS takes an id without the name of its server; nobody can be asked for it then."""
    system = make("pbs")
    assert isinstance(system, StandIn)
    job = start(system)
    system.away.touch()
    done = system.target.run("ABORT", JOB_ID=job.id.partition(".")[0])
    assert (done.returncode, f"job {job.id} is not cancelled yet" in done.stderr) == (2, True)
    system.away.unlink()
    system.target.statuses()
    job.wait("REMOVED")


@pytest.mark.parametrize("name", ["slurm", "pbs", "torque", "lsf", "sge"])
def test_a_job_that_begins_after_a_kept_cancel(make: Callable[[str], System], name: str) -> None:
    """It ends at once: nobody may ask for it meanwhile."""
    system = make(name)
    assert isinstance(system, StandIn)
    job = start(system, "echo ran > log")
    system.away.touch()
    assert system.target.run("ABORT", JOB_ID=job.id).returncode == 2
    system.away.unlink()
    system.begin(job)
    system.end(job)
    assert job.status().state == "REMOVED"
    assert not (job.directory / "log").exists()


@pytest.mark.parametrize("name", ["pbs", "torque"])
def test_an_empty_answer_about_a_job_is_none(
    make: Callable[[str], System], name: str, tmp_path: Path
) -> None:
    """Of a job that it does not know, qstat says so, with an exit status of its own."""
    system = make(name)
    assert isinstance(system, StandIn)
    job = start(system)
    directory = tmp_path / "empty"
    directory.mkdir()
    (directory / "qstat").write_text("#!/bin/sh\nexit 0\n")
    (directory / "qstat").chmod(0o755)
    system.target.path.insert(0, directory)
    for variation, fields in (("", {"JOB_ID": job.id}), ("ALL", {})):
        assert system.target.run("GET_JOB_STATUS", variation, **fields).returncode == 2


@pytest.mark.parametrize(("code", "state"), [("271", "REMOVED"), ("3", "DONE")])
def test_a_task_that_was_removed_with_its_array_before_its_script_began(
    make: Callable[[str], System], code: str, state: str
) -> None:
    """It has no directory yet, and what the batch system tells is a signal of the removal, or an end of its own."""
    system = make("torque")
    assert isinstance(system, StandIn)
    array = start(system, ARRAY="1-2")
    system.tell(array, "running", "2")
    system.target.ok("ABORT", JOB_ID=array.id)
    system.tell(array, "exit", "2", int(code))
    assert array.task(2).status().state == state


def test_a_condition_on_a_task_is_no_pattern_for_the_names_of_files(make: Callable[[str], System]) -> None:
    system = make("torque")
    assert isinstance(system, StandIn)
    directory = system.target.directory()
    directory.mkdir(mode=0o700, parents=True)
    (directory / "123.server").touch()
    system.target.start(directory, DEPENDENCY="afterok:12[3].server")
    assert "depend=afterok:12[3].server" in (system.directory / "requests").read_text()
