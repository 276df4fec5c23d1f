"""`incarnate job submit --retry` with real processes: who waits submits the job again; `list` and `show` say so."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

LATE = ("sh", "-c", "sleep 2; echo late; exit 4")


def test_the_exit_code_and_the_files_are_those_of_the_last_attempt(machine: Machine) -> None:
    words = ["--walltime", "1", "--retry", "TIME: walltime*60", "--key", "k", "--fetch", "stdout"]
    ended = machine.run("job", "submit", "--profile", "here", *words, "--name", "n", "--wait", *LATE)
    first, last = (machine.run_json("show", key)[0] for key in ("k", "k~2"))
    assert (ended.code, ended.out) == (4, f"{first['id']}\n")
    assert (
        f"job {first['id']}: it exceeded its time limit; submitted again as job {last['id']}: walltime 1m"
        in ended.err
    )
    assert f"job {last['id']}: fetched 'stdout'" in ended.err
    assert (machine.root / "stdout").read_text() == "late\n"
    assert (first["retry"], last["retry"]) == (["TIME: walltime*60, at most 1"], [])
    assert (last["name"], last["fields"]["WALLTIME"]) == ("n", "60")
    assert [(a["id"], a["key"], a["cause"], a["exit_code"]) for a in first["attempts"]] == [
        (first["id"], "k", "TIME", None),
        (last["id"], "k~2", None, 4),
    ]
    assert last["attempts"] == first["attempts"]
    assert (
        f"attempts\n  1  {first['id']}  FAILED  TIME\n  2  {last['id']}  DONE  4\n"
        in machine.run("job", "show", "k").out
    )


def test_with_nobody_there_a_retry_is_due(machine: Machine) -> None:
    job = machine.submit("--walltime", "1", "--retry", "TIME: walltime*60", *LATE)
    wait_until(lambda: machine.run_json("list", job)[0]["state"] == "FAILED")
    assert machine.run_json("list", job)[0]["retry_due"] == "TIME: walltime*60, at most 1"
    command = re.search(r"retry is due: incarnate (job wait \S+) submits it", machine.run("job", "list").out)
    assert command
    waited = machine.run(*command[1].split(), "--timeout", "1")
    assert waited.code == 124
    assert waited.err.endswith("has not ended yet; it continues\n")
    assert job not in waited.err.splitlines()[-1]
    rows = machine.run_json("list")
    assert [row["retry_due"] for row in rows] == [None, None]
    attempt = next(row["id"] for row in rows if row["id"] != job)
    cancelled = machine.run("job", "cancel", job)
    assert (cancelled.code, f"hint: its last run is job {attempt}\n" in cancelled.err) == (1, True)
    assert machine.run("job", "wait", job).code == 4
    assert len(machine.run_json("list")) == 2


def test_the_tasks_of_an_array_that_failed_run_again(machine: Machine) -> None:
    program = 'echo $GPE_ARRAY_INDEX > "out.$GPE_ARRAY_INDEX"; case $GPE_ARRAY_INDEX in 3) exit 4 ;; 2) sleep 3 ;; esac'
    words = ["--array", "1-3", "--walltime", "1", "--retry", "TIME: walltime*60", "--fetch", "out.*"]
    array = machine.submit(*words, "--key", "k", "--name", "n", "sh", "-c", program)
    wait_until(lambda: machine.run_json("list", array)[0]["state"] == "FAILED")
    assert machine.run_json("list", array)[0]["retry_due"] == "TIME: walltime*60, at most 1"
    assert f"retry is due: incarnate job wait {array} submits it" in machine.run("job", "list").out
    waited = machine.run("job", "wait", "k")
    last = machine.run_json("show", "k~2")[0]
    assert waited.code == 125
    assert (
        f"tasks ended with 0; exit 4: 1; time limit: 1; task 2 submitted again as job {last['id']}: "
        in waited.err
    )
    assert f"job {array} has no exit code: 2 of 3 tasks ended with 0; exit 4: 1\n" in waited.err
    assert [(machine.root / f"out.{n}").read_text() for n in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    assert [row["retry_due"] for row in machine.run_json("list")] == [None, None]
    assert [(a["id"], a["array"], a["state"]) for a in last["attempts"]] == [
        (array, "1-3", "FAILED"),
        (last["id"], "2", "DONE"),
    ]
    assert f"  2  {last['id']}  DONE  0  tasks 2\n" in machine.run("job", "show", "k").out
    ended = [machine.run("job", "wait", f"{array}_{n}").code for n in (1, 2, 3)]
    assert ended == [0, 0, 4]
    assert len(machine.run_json("list")) == 2


def test_a_rule_is_refused_before_anything_is_submitted(machine: Machine) -> None:
    for rule, words in (
        ("MEMORI", "'MEMORI' is no cause of an end\n    hint: did you mean MEMORY? known: TIME, "),
        ("MEMORY: memory*2", "memory*2: the job has no memory that can be multiplied\n    hint: "),
    ):
        for more in ([], ["--dry-run"]):
            refused = machine.run("job", "submit", "--profile", "here", *more, "--retry", rule, "true")
            assert (refused.code, words in refused.err) == (1, True)
    assert machine.run_json("list") == []


def test_a_file_of_jobs_has_rules(machine: Machine) -> None:
    (machine.root / "jobs.csv").write_text('retry,walltime\n"NODE, at most 2; TIME: walltime*2",60\n,70\n')
    lines = [{"retry": {"NODE": 3}}, {"retry": ["NODE", "TIME"]}, {"retry": "LOST"}]
    (machine.root / "jobs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for file, common, rules in (
        ("jobs.csv", "NODE", [["NODE, at most 2", "TIME: walltime*2, at most 1"], ["NODE, at most 1"]]),
        (
            "jobs.jsonl",
            "TIME",
            [["NODE, at most 3"], ["NODE, at most 1", "TIME, at most 1"], ["LOST, at most 1"]],
        ),
    ):
        words = ("--from", file, "--retry", common, "--key", file)
        submitted = machine.run("job", "submit", "--profile", "here", *words, "true")
        assert submitted.code == 0, submitted.err
        shown = machine.run_json("show", *submitted.out.split())
        assert [job["retry"] for job in shown] == rules
    (machine.root / "bad.jsonl").write_text('{"retry": 3}\n{"retry": "NODES"}\n')
    refused = machine.run("job", "submit", "--profile", "here", "--from", "bad.jsonl", "true")
    assert "bad.jsonl:1: retry: the number '3' is not a string" in refused.err


def test_the_directory_in_which_a_later_attempt_runs_is_kept(machine: Machine) -> None:
    script = "if [ -e go ]; then sleep 60; else : > go; sleep 3; fi"
    words = (
        "--walltime",
        "1",
        "--retry",
        "TIME: walltime*600, continue",
        "--key",
        "k",
        "--set",
        "DIRECTORY=",
    )
    first = machine.submit(*words, "sh", "-c", script)
    assert machine.run("job", "wait", "k", "--timeout", "10").code == 124
    (directory,) = (job["directory"] for job in machine.run_json("show", first))
    refused = machine.run("job", "forget", "--files", first)
    last = machine.run_json("show", "k~2")[0]["id"]
    assert (refused.code, f"are kept: a later attempt, job {last}, may run there" in refused.err) == (
        1,
        True,
    )
    assert os.path.exists(f"{directory}/go")
    assert machine.run("job", "cancel", "k~2").code == 0
    machine.run("job", "wait", "k~2")
    assert machine.run("job", "forget", "--files", first).code == 0
    assert not os.path.exists(directory)
