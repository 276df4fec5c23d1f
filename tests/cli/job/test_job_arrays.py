"""Arrays, dependencies and clusters on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

TEXT = 'case $GPE_ARRAY_INDEX in 2) exit 3 ;; 4) kill -s KILL "$$" ;; esac; echo "$GPE_ARRAY_INDEX"'
REASON = "2 of 4 tasks ended with 0; exit 3: 1; signal 9: 1"


@pytest.fixture
def array(machine: Machine) -> str:
    """Return the id of an array that has ended."""
    job_id = machine.submit("--array", "1-4%3", "-N", "name", "sh", "-c", TEXT)
    ended = machine.run("job", "wait", job_id)
    assert (ended.code, ended.out) == (125, "")
    assert ended.err == f"incarnate: job {job_id} has no exit code: {REASON}\n"
    return job_id


def test_the_list_has_one_line_for_an_array(machine: Machine, array: str) -> None:
    (line,) = machine.run("job", "list").out.splitlines()[1:]
    assert line.startswith(f"{array}  name  here ")
    assert "FAILED" in line
    assert line.endswith(REASON)
    assert machine.run("job", "list", array).out.splitlines()[1:] == [line]
    live = machine.submit("--array", "1-3%1", "sleep", "600")
    line = machine.run("job", "list").out.splitlines()[2]
    assert line.startswith(live)
    assert line.endswith(("3 tasks: 1 running, 2 queued", "3 tasks: 3 queued"))
    assert machine.run("job", "cancel", live).code == 0
    assert "3 removed" in machine.run("job", "list", live).out


@pytest.mark.parametrize("words", [("list", "--tasks"), ("list", "--tasks", "ARRAY")])
def test_its_tasks(machine: Machine, array: str, words: tuple[str, ...]) -> None:
    other = machine.submit("--wait", "true")
    lines = machine.run("job", *(array if w == "ARRAY" else w for w in words)).out.splitlines()[1:]
    listed = [line.split()[0] for line in lines]
    assert [job_id for job_id in listed if job_id != other] == [array, *(f"{array}_{i}" for i in range(1, 5))]
    assert "FAILED  SIGKILL" in lines[4]
    assert lines[2].split()[2:5] == ["here", "DONE", "3"]


def test_tasks_of_an_array_that_is_not_in_the_record(machine: Machine, array: str) -> None:
    words = ("job", "list", "--profile", "here", "--store", str(machine.root / "other.db"), "--tasks")
    lines = [line.split() for line in machine.run(*words, array).out.splitlines()[1:]]
    assert [line[0] for line in lines] == [array, *(f"{array}_{i}" for i in range(1, 5))]
    assert lines[2][1:4] == ["here", "DONE", "3"]
    other = machine.submit("--wait", "true")
    assert len(machine.run(*words, other).out.splitlines()) == 2


def test_a_task_is_a_job(machine: Machine, array: str) -> None:
    assert machine.run("job", "wait", f"{array}_2").code == 3
    assert machine.run("job", "wait", f"{array}_4").code == 137
    (line,) = machine.run("job", "list", f"{array}_1").out.splitlines()[1:]
    assert line.split()[:5] == [f"{array}_1", "name", "here", "DONE", "0"]
    (row,) = machine.run_json("list", f"{array}_1")
    assert (row["id"], row["array_id"], row["array"], row["tasks"]) == (f"{array}_1", array, None, None)
    ended = machine.run("job", "forget", f"{array}_1")
    assert ended.code == 2
    assert f"it is a task, which is deleted together with its array {array}" in ended.err
    assert machine.run("job", "forget", array).code == 0
    assert machine.run_json("list", "--all") == []
    ended = machine.run("job", "list", array)
    assert (ended.code, f"job {array} is not known: the record " in ended.err) == (1, True)


def test_json(machine: Machine, array: str) -> None:
    (row,) = machine.run_json("list", array)
    assert machine.run_json("list", "--tasks") == machine.run_json("list") == [row]
    assert (row["array"], row["array_id"], row["state"], row["exit_code"]) == ("1-4%3", None, "FAILED", None)
    assert [(t["index"], t["id"], t["state"], t["exit_code"], t["signal"]) for t in row["tasks"]] == [
        (1, f"{array}_1", "DONE", 0, None),
        (2, f"{array}_2", "DONE", 3, None),
        (3, f"{array}_3", "DONE", 0, None),
        (4, f"{array}_4", "FAILED", None, 9),
    ]
    ended = machine.run("job", "submit", "-p", "here", "--array", "1-2", "--wait", "--json", "true")
    assert [(t["id"][-2:], t["state"]) for t in json.loads(ended.out)[0]["tasks"]] == [
        ("_1", "DONE"), ("_2", "DONE"),
    ]  # fmt: skip


def test_dependencies(machine: Machine, array: str) -> None:
    done = machine.submit("--wait", "--key", "done", "true")
    assert machine.run("job", "submit", "-p", "here", "--wait", "--after", "done", "--after-not-ok", array,
                       "--after-any", f"{array}_4", "sh", "-c", "exit 5").code == 5  # fmt: skip
    ended = machine.run("job", "submit", "-p", "here", "--wait", "--after-ok", array, "--after", done, "true")
    assert ended.code == 125
    orphan = ended.out.strip()
    assert ended.err.endswith(
        "has no exit code: a dependency ended in a way that the job did not allow\n"
        f"    hint: incarnate job show {orphan} shows for which job it waited\n"
    )
    assert f"{array} (FAILED)" in machine.run("job", "show", orphan).out
    ended = machine.run("job", "submit", "-p", "here", "--after", "17", "true")
    assert (ended.code, ended.out) == (2, "")
    assert "the job cannot depend on 17: no such job is known" in ended.err


def test_clusters(machine: Machine) -> None:
    machine.add(
        "clusters",
        '<idb:Template><idb:Field name="CLUSTER" isSettable="false"><idb:Default/></idb:Field></idb:Template>',
    )
    jobs = [
        machine.submit(*words, "sleep", "600", profile="clusters")
        for words in (("--cluster", "alpha"), ("--cluster", "beta"), ())
    ]
    rows = machine.run_json("list")
    assert [(row["id"], row["profile"], row["cluster"], row["target"]) for row in rows] == [
        (jobs[0], "clusters", "alpha", "clusters:alpha"),
        (jobs[1], "clusters", "beta", "clusters:beta"),
        (jobs[2], "clusters", None, "clusters"),
    ]
    assert [row["id"] for row in machine.run_json("list", "--cluster", "beta")] == [jobs[1]]
    assert machine.run("job", "cancel", *jobs).code == 0
    assert {row["state"] for row in machine.run_json("list")} == {"REMOVED"}
