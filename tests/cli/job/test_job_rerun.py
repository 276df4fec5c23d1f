"""`incarnate job rerun` with real processes: recorded requests run again."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.arrays import format_indices
from tests.cli.job.conftest import template
from tests.cli.job.test_job_many import count_jobs, submit
from tests.profiles.test_hostile_values import CARRIED
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

PRINT = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('V'), os.getcwd()]))"


def rerun(machine: Machine, *words: str, code: int = 0, err: str = "") -> list[str]:
    """Run jobs again, wait for them, and return the new ids."""
    ended = machine.run("job", "rerun", *words)
    assert (ended.code, ended.err) == (code, err)
    ids = ended.out.split()
    if ids:
        machine.run("job", "wait", *ids)
    return ids


def keys(machine: Machine) -> list[str]:
    return [job["key"] for job in machine.run_json("list", "--all")]


def test_the_same_request_with_a_new_key(machine: Machine) -> None:
    values = [*CARRIED, "日本", ""]
    words = ("--key", "k", "--name", "n", "--walltime", "10m", "--env", f"V={CARRIED[-1]}", "--stdout", "o")
    first = machine.submit(*words, sys.executable, "-c", PRINT, *values)
    machine.run("job", "wait", first)
    printed = (machine.root / "o").read_text()
    (machine.root / "o").unlink()
    (second,) = rerun(machine, first)
    assert second != first
    assert (machine.root / "o").read_text() == printed
    assert json.loads(printed)[0] == values
    old, new = machine.run_json("show", first, second)
    assert (old["key"], new["key"]) == ("k", "k~2")
    for name in ("fields", "name", "walltime", "application", "target", "stdout"):
        assert old[name] == new[name]
    assert old["directory"] != new["directory"]
    assert rerun(machine, "k", "k~2") != [second]
    assert keys(machine) == ["k", "k~2", "k~3", "k~4"]


def test_another_limit(machine: Machine) -> None:
    job = machine.submit("--walltime", "10m", "true")
    machine.run("job", "wait", job)
    (second,) = rerun(machine, job, "-t", "20m", "--memory", "2G", "--set", "STDOUT=o")
    fields = machine.run_json("show", second)[0]["fields"]
    assert (fields["WALLTIME"], fields["MEMORY"], fields["STDOUT"]) == ("1200", "2048", "o")
    refused = machine.run("job", "rerun", job, "-t", "soon")
    assert (refused.code, "--walltime 'soon' is not a time" in refused.err) == (2, True)


def test_a_factor_multiplies_what_each_job_had(machine: Machine) -> None:
    """Each gets as much of it as the site allows, and it is said which get less."""
    field = '<idb:Field name="MEMORY" ext:type="integer"><idb:Max>1000</idb:Max><idb:Default/></idb:Field>'
    machine.add("limited", f'<idb:Template name="">{field}</idb:Template>')
    (machine.root / "jobs.csv").write_text("memory\n100\n900\n1000\n")
    words = ("-p", "limited", "--walltime", "10m", "--from", "jobs.csv", "--key", "k", "--wait")
    assert machine.run("job", "submit", *words, "false").code == 1
    ended = machine.run(
        "job", "rerun", "--failed", "jobs.csv", "--memory", "x2.5", "--walltime", "x2", "--wait"
    )
    old = [job["id"] for job in machine.run_json("show", "k-1", "k-2", "k-3")]
    assert ended.err.startswith(
        f"incarnate: 2 jobs ({old[1]}, {old[2]}): memory 1000M, the most that the site allows\n"
    )
    new = [job["fields"] for job in machine.run_json("show", "k-1~2", "k-2~2", "k-3~2")]
    assert [(f["MEMORY"], f["WALLTIME"]) for f in new] == [
        ("250", "1200"),
        ("1000", "1200"),
        ("1000", "1200"),
    ]
    refused = machine.run("job", "rerun", "k-1", "--memory", "x0.5")
    assert (refused.code, "--memory 'x0.5' is not an amount of memory" in refused.err) == (2, True)
    plain = machine.submit("true")
    machine.run("job", "wait", plain)
    refused = machine.run("job", "rerun", plain, "--memory", "x2")
    assert (refused.code, "memory*2: the job has no memory that can be multiplied" in refused.err) == (
        1,
        True,
    )


def test_json_and_waiting(machine: Machine) -> None:
    job = machine.submit("sh", "-c", "exit 3")
    machine.run("job", "wait", job)
    waited = machine.run("job", "rerun", "--wait", job)
    assert (waited.code, len(waited.out.split()), waited.err) == (3, 1, "")
    (row,) = json.loads(machine.run("job", "rerun", "--wait", "--json", job).out)
    assert (row["exit_code"], row["key"][-2:]) == (3, "~3")
    (row,) = machine.run_json("rerun", job)
    assert (row["profile"], row["key"][-2:]) == ("here", "~4")


def test_what_has_not_ended_does_not_run_twice(machine: Machine) -> None:
    live = machine.submit("--key", "k", "sh", "-c", "until [ -e go ]; do sleep 0.05; done")
    ended = machine.submit("true")
    machine.run("job", "wait", ended)
    refused = machine.run("job", "rerun", live, ended, "nosuch")
    assert (refused.code, refused.out) == (2, "")
    assert f"job {live} has not ended: it is RUNNING\n    hint: cancel it first" in refused.err
    assert "nosuch is not in the record" in refused.err
    assert refused.err.endswith("\nincarnate: nothing was submitted\n")
    assert count_jobs(machine) == 2
    machine.run("job", "cancel", live)
    machine.run("job", "wait", live)
    again = machine.run("job", "rerun", live).out
    assert machine.run("job", "rerun", live).out == again  # the last run has not ended
    assert count_jobs(machine) == 3
    (directory,) = (d for d in machine.directories if (d / ".gpe/id").read_text().strip() == again.strip())
    (machine.root / "go").touch()
    wait_for_file(directory / ".gpe_exit_status")  # and nobody asks for it meanwhile
    assert machine.run("job", "rerun", live).out != again
    assert count_jobs(machine) == 4


@pytest.mark.parametrize(
    ("gate", "number"), [("before", signal.SIGINT), ("after", signal.SIGINT), ("after", signal.SIGKILL)]
)
def test_an_interrupted_rerun_is_completed(machine: Machine, gate: str, number: signal.Signals) -> None:
    machine.add_gated()
    job = machine.submit("--key", "k", "false", profile="gated")
    machine.run("job", "wait", job)
    process = machine.start_hanging("job", "rerun", job, gate=gate)
    process.send_signal(number)
    _, err = process.communicate()
    told = "incarnate: interrupted\n    hint: the same command submits what is missing, and no job twice\n"
    assert err == (told if number is signal.SIGINT else "")
    completed = machine.run("job", "rerun", job)
    assert completed.code == 0
    assert len(completed.out.split()) == 1
    assert keys(machine) == ["k", "k~2"]


def test_a_job_that_was_not_submitted_here(machine: Machine) -> None:
    job = machine.submit("true")
    machine.run("job", "wait", job)
    ended = machine.run("job", "rerun", "-p", "here", "--store", "other.db", job)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"incarnate: job {job} was not submitted here")


def test_the_context_of_the_submission(machine: Machine) -> None:
    field = '<idb:Field name="MARK"><idb:Default>none</idb:Default></idb:Field>'
    (machine.root / "shell").write_text('echo "$1" >> marks; exec sh -s\n')
    machine.add("marked", template("SHELL", f"sh '{machine.root}/shell' '<MARK/'/'\\\\''>'", field))
    ended = machine.run("job", "submit", "-p", "marked", "--context", "MARK=it's", "--wait", "true")
    assert ended.code == 0, ended.err
    (machine.root / "marks").unlink()
    rerun(machine, ended.out.strip())
    assert "it's" in (machine.root / "marks").read_text().splitlines()


# The jobs of a file that failed


def submit_sweep(machine: Machine, text: str, *words: str) -> list[str]:
    ended = submit(machine, text, *words)
    assert ended.code == 0, ended.err
    ids = ended.out.split()
    machine.run("job", "wait", *ids)
    return ids


def test_the_failed_lines_run_again(machine: Machine) -> None:
    (machine.root / "fails").touch()
    script = "case $1 in 1) exit 0 ;; 2) kill -9 $$ ;; *) [ ! -e fails ] ;; esac"
    text = "n,key\n1,\n2,\n3,\n4,mine\n5,\n"
    submit_sweep(machine, text, "--key", "k", "--", "sh", "-c", script, "sh", "{n}")
    (machine.root / "jobs.csv").write_text("changed, and of no effect\n")
    (machine.root / "fails").unlink()
    assert len(rerun(machine, "--failed", "jobs.csv")) == 4
    assert keys(machine)[5:] == ["k-2~2", "k-3~2", "mine~2", "k-5~2"]
    assert len(rerun(machine, "--failed", str(machine.root / "jobs.csv"))) == 1
    assert keys(machine)[9:] == ["k-2~3"]


def test_nothing_has_failed(machine: Machine) -> None:
    submit_sweep(
        machine,
        "n\n1\n2\n",
        *("--key", "k", "--", "sh", "-c", "until [ ! -e busy ]; do sleep 0.1; done", "{n}"),
    )
    assert rerun(machine, "--failed", "jobs.csv", err="incarnate: jobs.csv, 2 jobs: none has failed\n") == []
    machine.run("job", "forget", "k-1")
    (machine.root / "busy").touch()
    live = machine.run("job", "rerun", "k-2").out.strip()
    told = (
        "incarnate: jobs.csv, 2 jobs: none has failed, 1 has not ended, 1 is not in the record\n"
        "    hint: incarnate job submit --from submits those that are not in the record\n"
    )
    assert rerun(machine, "--failed", "jobs.csv", err=told) == []
    (machine.root / "busy").unlink()
    machine.run("job", "wait", live)


def test_a_dependent_job_waits_for_the_new_run(machine: Machine) -> None:
    (machine.root / "fails").touch()
    text = "key,arguments,after_ok\nfirst,[ ! -e fails ],\nsecond,true,first\nthird,true,first\n"
    submit_sweep(machine, text.replace("[ ! -e fails ]", "'[ ! -e fails ]'"), "--", "sh", "-c")
    assert [job["cause"] for job in machine.run_json("list")] == [None, "DEPENDENCY", "DEPENDENCY"]
    (machine.root / "fails").unlink()
    assert len(rerun(machine, "first", "second")) == 2
    assert len(rerun(machine, "--failed", "jobs.csv")) == 1
    new = machine.run_json("show", "first~2", "second~2", "third~2")
    assert [job["exit_code"] for job in new] == [0, 0, 0]
    assert [job["fields"].get("DEPENDENCY") for job in new] == [None, *["afterok:first~2"] * 2]


def test_the_failed_tasks_of_an_array(machine: Machine) -> None:
    (machine.root / "fails").touch()
    script = "echo ran {n} >> log; case $1 in [1345]) [ ! -e fails ] ;; esac"
    words = ("--as-array", "--at-once", "2", "--key", "k", "--", "sh", "-c", script, "sh", "{n}")
    (array,) = submit_sweep(machine, "n\n1\n2\n3\n4\n5\n", *words)
    (machine.root / "log").unlink()
    (task_run,) = rerun(machine, f"{array}_2", f"{array}_1")
    (machine.root / "fails").unlink()
    (failed_run,) = rerun(machine, "--failed", "jobs.csv")
    told = "incarnate: jobs.csv, 1 job: none has failed\n"
    assert rerun(machine, "--failed", "jobs.csv", err=told) == []
    shown = {job["id"]: job["array"] for job in machine.run_json("list")}
    assert (shown[task_run], shown[failed_run]) == ("1-2%2", "1,3-5%2")
    ran = sorted((machine.root / "log").read_text().splitlines())
    assert ran == ["ran 1", "ran 1", "ran 2", "ran 3", "ran 4", "ran 5"]


def test_the_failed_tasks_of_an_array_where_there_are_only_ranges(machine: Machine) -> None:
    pattern = "[0-9]+-[0-9]+(?::[0-9]+)?"
    fields = f'<idb:Field name="ARRAY" ext:pattern="{pattern}"><idb:Description>A range.</idb:Description><idb:Default/></idb:Field>'
    machine.add("ranges", f'  <idb:Template name="">{fields}</idb:Template>\n')
    (machine.root / "fails").touch()
    script = "echo ran $GPE_ARRAY_INDEX >> log\ncase $GPE_ARRAY_INDEX in [235]) [ ! -e fails ] ;; esac\n"
    (machine.root / "script").write_text(f"cd '{machine.root}'\n{script}")
    lines = ["key,arguments,array,after_ok", f"a,{machine.root}/script,1-5,", "b,/dev/null,,a", ""]
    (machine.root / "jobs.csv").write_text("\n".join(lines))
    machine.run("job", "submit", "-p", "ranges", "--from", "jobs.csv", "--wait", "--", "sh")
    for file in ("fails", "log"):
        (machine.root / file).unlink()
    assert len(rerun(machine, "--failed", "jobs.csv")) == 3
    assert sorted((machine.root / "log").read_text().splitlines()) == ["ran 2", "ran 3", "ran 5"]
    runs = {job["key"]: job for job in machine.run_json("list")}
    assert [runs[key]["array"] for key in ("a", "a~2", "a~3")] == ["1-5", "2-3", "5-6:2"]
    (last,) = machine.run_json("show", "b~2")
    assert last["fields"]["DEPENDENCY"] == "afterok:a~2:a~3"


@pytest.mark.parametrize(
    ("indices", "text"), [({1}, "1"), ({1, 2}, "1-2"), ({3, 1, 2, 9, 11, 12}, "1-3,9,11-12")]
)
def test_indices(indices: set[int], text: str) -> None:
    assert format_indices(indices) == text
