"""The shell code that the profiles share for the records of jobs and of tasks: ids of all batch systems."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, PROFILES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = DASH

ARRAYS = {
    "1234": "1234_7",
    "4711-2-7d90afd1": "4711-2-7d90afd1_7",
    "1234[].server": "1234[7].server",
    "1234[].server.example.org": "1234[7].server.example.org",
    "1235": "1235.7",
    "1236": "1236[7]",
}
OTHER_INDEX = re.compile(r"(?<=[_.\[])7(?=\]|\Z)")
JOBS = ["12", "12.server", "12.server7.example.org", "12.7", "12_1"]


class Records:
    """Links of jobs, as START makes them, and the shell that reads them."""

    def __init__(self, home: Path, shell: str) -> None:
        self.home = home
        self.shell = shell
        self.links = home / "jobs/x"
        self.links.mkdir(parents=True)

    def make(self, job_id: str) -> Path:
        directory = self.home / f"of {job_id}"
        (directory / ".gpe").mkdir(parents=True)
        (self.links / job_id).symlink_to(directory)
        return directory

    def run(self, text: str, *words: str) -> tuple[int, str]:
        pieces = [
            PROFILES / "linux" / name
            for name in ("job-directory.sh", "away.sh", "record.sh", "dependency.sh")
        ]
        script = "\n".join([f"gpe_jobs='{self.links}'", *(piece.read_text() for piece in pieces), text])
        done = subprocess.run(
            [self.shell, "-c", script, "sh", *words], capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.replace(f"{self.home}/", "")

    def record(self, job_id: str) -> str:
        return self.run('gpe_record "$1"', job_id)[1]

    def check(self, conditions: str) -> int:
        return self.run('gpe_check_dependency "$1"', conditions)[0]


def note_removal(directory: Path) -> None:
    """Write down that a removal was asked for, as ABORT does."""
    (directory / ".gpe").mkdir(parents=True, exist_ok=True)
    (directory / ".gpe/removed").write_text("removed\n")


@pytest.fixture
def records(tmp_path: Path, shell: str) -> Records:
    return Records(tmp_path, shell)


FIND = 'gpe_job_dir "$1" && printf "%s %s" "$(pwd -P)" "$gpe_dir"'


@pytest.mark.parametrize(("array", "task"), ARRAYS.items())
def test_the_directory_of_a_task_is_in_that_of_its_array(records: Records, array: str, task: str) -> None:
    assert records.run(FIND, task) == (1, "")
    records.make(array)
    assert records.run(FIND, array) == (0, f"of {array} .")
    assert records.run(FIND, task) == (0, f"of {array} ./.gpe/tasks/7")


@pytest.mark.parametrize("job_id", JOBS)
def test_an_id_that_only_looks_like_a_task_is_a_job(records: Records, job_id: str) -> None:
    assert records.run(FIND, job_id) == (1, "")
    records.make("1")
    assert records.run(FIND, job_id) == (1, "")
    records.make(job_id)
    assert records.run(FIND, job_id) == (0, f"of {job_id} .")


@pytest.mark.parametrize(("array", "task"), ARRAYS.items())
def test_the_end_of_a_task(records: Records, array: str, task: str) -> None:
    tasks = records.make(array) / ".gpe/tasks"
    assert records.record(task) == ""
    (tasks / "7/.gpe").mkdir(parents=True)
    assert records.record(task) == ""
    (tasks / "7/.gpe_exit_status").write_text("3\n")
    assert records.record(task) == f"{task} exited exit=3\n"
    # what is removed later, with the whole array, is not this task
    note_removal(tasks.parent.parent)
    assert records.record(task) == f"{task} exited exit=3\n"
    other = OTHER_INDEX.sub("8", task)
    assert records.record(other) == f"{other} removed\n"
    assert records.record(array) == f"{array} removed\n"


@pytest.mark.parametrize(("array", "task"), ARRAYS.items())
def test_removed_before_it_began_and_while_it_ran(records: Records, array: str, task: str) -> None:
    directory = records.make(array)
    note_removal(directory / ".gpe/tasks/7")
    assert records.record(task) == f"{task} removed\n"
    assert records.record(array) == ""
    (directory / ".gpe/tasks/9/.gpe").mkdir(parents=True)
    note_removal(directory)
    (directory / ".gpe/tasks/9/.gpe_exit_status").write_text("143\n")
    assert records.record(OTHER_INDEX.sub("8", task)).split()[1] == "removed"


@pytest.mark.parametrize(
    ("code", "word"),
    [("143", "removed"), ("137", "removed"), ("139", "exited"), ("0", "exited"), ("3", "exited")],
)
def test_a_removal_is_only_asked_for(records: Records, code: str, word: str) -> None:
    """What the program ended by counts more, unless it is the signal of the removal."""
    directory = records.make("12")
    note_removal(directory)
    (directory / ".gpe_exit_status").write_text(f"{code}\n")
    assert records.record("12").split()[1] == word


def test_the_reason_of_a_removal(records: Records) -> None:
    directory = records.make("12")
    (directory / ".gpe/removed").write_text("DEPENDENCY\n")
    assert records.record("12") == "12 removed/dependency reason=DEPENDENCY\n"
    assert records.record("12_3") == "12_3 removed/dependency reason=DEPENDENCY\n"


def test_a_note_of_a_removal_that_is_just_being_written(records: Records) -> None:
    directory = records.make("12")
    (directory / ".gpe/removed").touch()
    assert records.record("12") == "12 removed\n"


def test_an_exit_status_that_is_just_being_written(records: Records) -> None:
    """It is no end, and no condition on the job is judged while it lives."""
    directory = records.make("12")
    (directory / ".gpe_exit_status").touch()
    assert records.record("12") == ""
    assert records.run('gpe_lives=true gpe_check_dependency "$1"', "afterok:12")[0] == LATER


HOLDS, NEVER, LATER = 0, 1, 2


@pytest.mark.parametrize("job_id", ["12", "12_3"])
def test_a_directory_that_is_away_is_no_end(records: Records, tmp_path: Path, job_id: str) -> None:
    """Its file system is not there: nobody knows how it ended. If it was removed, what it was in is left."""
    there = tmp_path / "mounted" / "user"
    (records.links / "12").symlink_to(there / "job")
    assert "12 away reason=its directory" in records.record("12")
    assert records.record(job_id).startswith(f"{job_id} away ")
    assert [records.check(f"{kind}:{job_id}") for kind in KINDS] == [LATER, LATER, LATER]
    there.mkdir(parents=True)
    assert records.record(job_id) == ""


FILES: dict[str, tuple[dict[str, str], tuple[int, int, int]]] = {
    "0": ({".gpe_exit_status": "0\n"}, (HOLDS, NEVER, HOLDS)),
    "1": ({".gpe_exit_status": "1\n"}, (NEVER, HOLDS, HOLDS)),
    "143": ({".gpe_exit_status": "143\n"}, (NEVER, HOLDS, HOLDS)),
    "limit": ({".gpe/limit": "over\n", ".gpe_exit_status": "0\n"}, (NEVER, HOLDS, HOLDS)),
    "removed": ({".gpe/removed": "removed\n", ".gpe_exit_status": "143\n"}, (NEVER, HOLDS, HOLDS)),
    "not by the removal": ({".gpe/removed": "removed\n", ".gpe_exit_status": "0\n"}, (HOLDS, NEVER, HOLDS)),
    "never ran": ({".gpe/removed": "DEPENDENCY\n"}, (NEVER, HOLDS, HOLDS)),
    "no record": ({}, (NEVER, HOLDS, HOLDS)),
}
KINDS = ("afterok", "afternotok", "afterany")


@pytest.mark.parametrize("end", FILES)
@pytest.mark.parametrize("job_id", ["12", "12.server", "13_7", "14[7].server", "15.7", "16[7]"])
def test_conditions_for_jobs_and_tasks_that_have_ended(records: Records, job_id: str, end: str) -> None:
    files, expected = FILES[end]
    of_array = {"13_7": "13", "14[7].server": "14[].server", "15.7": "15", "16[7]": "16"}
    directory = records.make(of_array.get(job_id, job_id))
    if job_id in of_array:
        directory = directory / ".gpe/tasks/7"
        (directory / ".gpe").mkdir(parents=True)
    for name, text in files.items():
        (directory / name).write_text(text)
    assert tuple(records.check(f"{kind}:{job_id}") for kind in KINDS) == expected


def test_conditions_for_an_array(records: Records) -> None:
    tasks = records.make("12") / ".gpe/tasks"
    for index, status in enumerate(["0", "0", "3"], 1):
        (tasks / f"{index}/.gpe").mkdir(parents=True)
        (tasks / f"{index}/.gpe_exit_status").write_text(f"{status}\n")
    assert [records.check(f"{kind}:12") for kind in KINDS] == [NEVER, HOLDS, HOLDS]
    (tasks / "3/.gpe_exit_status").write_text("0\n")
    assert [records.check(f"{kind}:12") for kind in KINDS] == [HOLDS, NEVER, HOLDS]


def test_several_conditions_and_jobs_that_live(records: Records) -> None:
    for job_id, status in (("12", "0"), ("13", "1")):
        (records.make(job_id) / ".gpe_exit_status").write_text(f"{status}\n")
    records.make("14")
    lives = 'gpe_lives=gpe_lives; gpe_lives() { [ "$1" = 14 ]; }; gpe_check_dependency "$1"'
    assert records.run(lives, "afterok:12,afternotok:13,afterany:12:13")[0] == HOLDS
    assert records.run(lives, "afterok:12:13")[0] == NEVER
    assert records.run(lives, "afterany:14")[0] == LATER
    assert records.run(lives, "afterany:14,afterok:13")[0] == NEVER
    assert records.run(lives, "afterok:12,afterany:14")[0] == LATER
