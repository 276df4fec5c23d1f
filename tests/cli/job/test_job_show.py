"""`incarnate job show`: everything about a job, and nothing that acts on the terminal."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.state import EndCause, JobState, JobStatus
from tests.cli.job.conftest import COMMAND, adopt, template
from tests.cli.job.test_job_runs import FIELDS, KEYS, SAYS
from tests.records import begin_submission

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.job.conftest import Machine


def show(machine: Machine, *words: str) -> str:
    ended = machine.run("job", "show", *words)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def test_a_job_in_full(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    machine.run("job", "submit", "-p", "here", "--wait", "--key", "prepare", "sh", "-c", "exit 3")
    job_id = machine.submit(
        "--key", "mine", "--name", "demo", "-t", "90m", "--after-any", "prepare", "-e", "A=it's", "-e", "B= x\ty\n",
        "--stdin", "/dev/null", "--stderr", "errors", "sh", "-c", "exit 4", "a b",
    )  # fmt: skip
    assert machine.run("job", "wait", job_id).code == 4
    text = show(machine, job_id)
    (directory,) = (d for d in machine.directories if (d / ".gpe/id").read_text().strip() == job_id)
    first = re.search(r"\d+-\d+-[0-9a-f]{8}(?=, DONE 3)", text)
    assert first is not None
    text = text.replace(job_id, "JOB").replace(first[0], "FIRST").replace(str(directory), "DIRECTORY")
    text = text.replace(str(machine.root), "ROOT")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"(waited|ran) 0:00:\d\d", r"\1 0:00:00", text)
    text = re.sub(r"(?m)^  (nodes|elapsed|processor time|largest memory) .*\n", "", text)
    text = text.replace("  TIME  RUNNING\n", "", 1)  # whether it is seen while it runs is a matter of speed
    file_regression.check(text, encoding="utf-8")


def test_json(machine: Machine) -> None:
    job_id = machine.submit("--wait", "-N", "demo", "-e", "A=1\x1b", "true")
    (job,) = json.loads(show(machine, "--json", job_id))
    more = [
        "queue", "walltime", "stdin", "stdout", "stderr", "inputs", "fetch", "fetch_to", "application",
        "fields", "dependencies", "retry", "attempts", "history", "error_lines", "likely_cause", "setup_lines",
        "efficiency",
    ]  # fmt: skip
    assert list(job) == [*KEYS, *more]
    assert {name: job[name] for name in KEYS} == machine.run_json("list", job_id)[0]
    assert job["stdout"] == f"{machine.directories[0]}/stdout"
    assert job["fields"].pop("DIRECTORY") == str(machine.root)
    assert job["fields"] == {
        "EXECUTABLE": "true", "JOB_NAME": "demo", "ENVIRONMENT": "export A='1\x1b'\n",
    }  # fmt: skip
    assert [change["state"] for change in job["history"]][::2] == ["QUEUED", "DONE"] or len(
        job["history"]
    ) == 2
    assert job["history"][0]["time"] == job["submitted"]


def test_the_script(machine: Machine) -> None:
    for host in ((), ("--host", "far")):
        job_id = machine.submit(*host, "sh", "-c", 'echo "it\'s  \x1b here"')
        ended = subprocess.run([*COMMAND, "job", "show", "--script", job_id], capture_output=True, check=True)
        (path,) = (d for d in machine.directories if (d / ".gpe/id").read_text().strip() == job_id)
        assert ended.stdout == (path / ".gpe/script").read_bytes()
        assert machine.run("job", "wait", job_id).code == 0
    (path / ".gpe/script").unlink()
    ended = machine.run("job", "show", "--script", job_id)
    assert (ended.code, ended.out) == (1, "")
    assert f"{path}/.gpe/script, is not there" in ended.err


def test_an_array_and_its_task(machine: Machine) -> None:
    job_id = machine.submit("--array", "1-3", "sh", "-c", 'exit "$((GPE_ARRAY_INDEX == 2))"')
    assert machine.run("job", "wait", job_id).code == 125
    (directory,) = machine.directories
    text = show(machine, job_id)
    assert "\n  array           1-3\n  tasks           2 of 3 tasks ended with 0; exit 1: 1\n" in text
    assert "reason" not in text
    assert re.search(r"\n  elapsed         [0-9.]+ s \(from the start of the first task to", text)
    assert "/stdout.INDEX\n" in text
    good = machine.submit("--array", "1-2", "--wait", "true").splitlines()[0]
    text_of_good = show(machine, good)
    assert "\n  tasks           2 of 2 tasks ended with 0\n" in text_of_good
    assert "reason" not in text_of_good
    task = show(machine, f"{job_id}_2")
    assert f"\n  task            2 of array {job_id}\n" in task
    assert f"/stdout.2\n  stderr          {directory}/stderr.2\n" in task
    assert "\n  ARRAY=1-3\n" in task
    assert show(machine, "--script", f"{job_id}_2") == show(machine, "--script", job_id)


def test_a_submission_that_was_cut(machine: Machine) -> None:
    machine.add_gated()
    process = machine.start_hanging("job", "submit", "-p", "gated", "--key", "k", "-N", "demo", "true")
    store = Store(default_store_path())
    (record,) = store.list_all_jobs()
    store.close()
    text = show(machine, record.directory)
    assert text.startswith(f"job {record.directory}\n  state           SUBMITTING\n")
    process.kill()
    process.communicate()
    text = show(machine, record.directory)
    assert text.startswith(f"job {record.directory}\n  state           INTERRUPTED\n")
    assert "to complete it: incarnate job submit --profile gated --key k\n" in text
    assert "\n  JOB_NAME=demo\n" in text
    assert show(machine, "--script", record.directory) == f"{record.script}".rstrip("\n") + "\n"


def test_a_target_that_does_not_answer(machine: Machine) -> None:
    job_id = machine.submit("--host", "far:22", "sleep", "100")
    (machine.root / "down").touch()
    ended = machine.run("job", "show", job_id)
    assert ended.code == 1
    assert ended.err.startswith("incarnate: here@far:22: showing the last known state: ")
    assert f"job {job_id}\n  state " in ended.out
    assert "\n  host            far:22\n" in ended.out
    (machine.root / "down").unlink()


def test_a_profile_that_is_gone(machine: Machine) -> None:
    """All that `job show` and `job output` need to know is in the record, if the profile was not kept."""
    machine.add("gone", "")
    ended_id = machine.submit("sh", "-c", "echo hello; exit 3", profile="gone")
    assert machine.run("job", "wait", ended_id).code == 3
    live_id = machine.submit("--array", "1-2", "--key", "k", "sleep", "100", profile="gone")
    before = show(machine, ended_id)
    path = machine.root / "profiles/gone.xml"
    text = path.read_text()
    path.unlink()
    machine.drop_kept_profiles()
    ended = machine.run("job", "show", ended_id)
    assert (ended.code, ended.out) == (0, before)
    assert ended.err == "incarnate: warning: gone does not answer: there is no profile 'gone'\n"
    for word in (live_id, "k", f"{live_id}_1"):
        ended = machine.run("job", "show", word)
        assert ended.code == 1
        told, hint = ended.err.splitlines()
        assert told == (
            "incarnate: gone does not answer: there is no profile 'gone'; this is the last known state"
        )
        assert hint.endswith("; incarnate job forget --force gone forgets its jobs")
        assert f"job {word if word != 'k' else live_id}\n  state           " in ended.out
        assert re.search(r"\n  directory       /.*\n  stdout          /.*/stdout\.(INDEX|1)\n", ended.out)
    assert json.loads(machine.run("job", "show", "--json", live_id).out)[0]["array"] == "1-2"
    ended = machine.run("job", "output", ended_id)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(
        f"incarnate: job {ended_id}: there is no profile 'gone'\n    hint: its stdout is in /"
    )
    file = ended.err.rstrip("\n").rpartition(" is in ")[2]
    assert Path(file).read_text() == "hello\n"
    ended = machine.run("job", "output", "--error", live_id)
    assert f"hint: incarnate job show {live_id} lists its files\n" in ended.err
    assert (
        machine.run("job", "show", "nosuch").code == machine.run("job", "show", "-p", "gone", "x").code == 2
    )
    path.write_text(text)
    assert machine.run("job", "cancel", live_id).code == 0


def test_what_a_job_took(machine: Machine) -> None:
    job_id = machine.submit("--host", "far", "--wait", "sh", "-c", "x=$(seq 100000); sleep 1")
    text = show(machine, job_id)
    assert re.search(r"\n  processor time  [0-9.]+ s\n", text)
    (machine.root / "down").touch()
    assert show(machine, job_id) == text  # what an ended job took is recorded
    (machine.root / "down").unlink()
    db = sqlite3.connect(default_store_path())
    with db:
        db.execute("UPDATE job SET cpu_time = NULL")
    db.close()
    (machine.root / "down").touch()
    ended = machine.run("job", "show", job_id)
    assert ended.code == 0
    assert ended.err.startswith("incarnate: warning: here@far: what the job took is not known: ")
    (machine.root / "down").unlink()


def test_a_job_that_was_not_started_here(machine: Machine) -> None:
    job_id = machine.submit("sleep", "100")
    other = {"OSPROFILE_STORE": str(machine.root / "other.db")}
    ended = machine.run("job", "show", job_id, **other)
    assert (ended.code, ended.out) == (2, "")
    ended = machine.run("job", "show", "-p", "here", job_id, **other)
    assert (ended.code, ended.err) == (0, "")
    assert f"  directory       {machine.directories[0]}\n" in ended.out
    assert "fields as submitted\n  (not recorded)\n" in ended.out
    assert machine.run("job", "show", "-p", "here", "1-2-0123abcd").code in {1, 2}


def test_how_much_of_what_it_asked_for_a_job_used(machine: Machine) -> None:
    store = Store(default_store_path())
    request = {"NODES": "2", "PROCESSES": "4", "CPUS": "2", "MEMORY": "4096"}
    for name, asked, elapsed in (("a", request, 100.0), ("b", {}, 100.0), ("c", request, 9.0)):
        record = begin_submission(store, "here", f"/var/tmp/{name}", script="", request=asked)
        store.record_job_id(record.number, name)
        status = JobStatus(
            name, JobState.DONE, exit_code=0, elapsed=elapsed, cpu_time=80.0, max_memory=1 << 30
        )
        store.update_statuses("here", [status])
    store.close()
    assert "\n  processor time  0:01:20 (10% of 8 CPUs)\n  largest memory  1 GiB (25% of 4 GiB)\n" in show(
        machine, "a"
    )
    assert "\n  processor time  0:01:20 (80% of 1 CPU)\n  largest memory  1 GiB\n" in show(machine, "b")
    assert "\n  processor time  0:01:20\n  largest memory  1 GiB (25% of 4 GiB)\n" in show(machine, "c")


@pytest.mark.parametrize(
    ("price", "told"), [("0.30 EUR", "1.25 kWh (0.38 EUR)"), ("0 EUR", "1.25 kWh"), (None, "")]
)
def test_the_energy_of_a_job(machine: Machine, price: str | None, told: str) -> None:
    """With a price, it is asked for once, though the rest is known; without one, not at all."""
    field = f'<idb:Field name="ENERGY_PRICE" isSettable="false"><idb:Value>{price}</idb:Value></idb:Field>'
    usage = f"echo x >> '{machine.root}/asked'; echo '<JOB_ID/'/'\\\\''> usage energy=4500000'"
    machine.add(
        "measured", template("USAGE", usage) + (f"<idb:Template>{field}</idb:Template>" if price else "")
    )
    job_id = machine.run(
        "job", "submit", "-p", "measured", "--wait", "sh", "-c", "x=$(seq 100000)"
    ).out.split()[0]
    asked = machine.root / "asked"
    asked.unlink(missing_ok=True)
    for _ in range(2):
        text = show(machine, job_id)
        assert (f"\n  energy          {told}\n" in text) == bool(told)
        assert ("\n  energy " in text) == bool(told)
    assert (len(asked.read_text().split()) if asked.exists() else 0) == (1 if price else 0)
    (encoded,) = machine.run_json("show", job_id)
    assert encoded["energy"] == (4.5e6 if price else None)


def test_causes_and_usage(machine: Machine) -> None:
    now = time.time()
    status = JobStatus(
        "", JobState.FAILED, "w", None, None, None, ("n1", "n2"), "why", now - 100, now - 90, now,
        elapsed=90.0, cpu_time=0.25, max_memory=3 << 29, end_reported=True,
    )  # fmt: skip
    adopt("here", *(status._replace(job_id=str(n), cause=cause) for n, cause in enumerate(EndCause)))
    text = show(machine, "0")
    assert "\n  state           FAILED (w)\n  cause           TIME (it exceeded its time limit)\n" in text
    assert "\n  reason          why\n" in text
    assert "\n  nodes           n1 n2\n" in text
    assert "(waited 0:00:10)\n" in text
    assert "(ran 0:01:30)\n" in text
    assert "\n  elapsed         0:01:30\n  processor time  0.25 s\n  largest memory  1.5 GiB\n" in text
    for number, cause in enumerate(EndCause):
        assert f"\n  cause           {cause} (" in show(machine, str(number))
    lines = machine.run("job", "list").out.splitlines()[1:]
    assert [line.split()[3] for line in lines] == list(EndCause)
    assert [job["cause"] for job in machine.run_json("list")] == list(EndCause)


def test_times_that_nobody_saw(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time from the target system, the end was before the query that saw it."""
    monkeypatch.setenv("TZ", "UTC")
    seen = JobStatus("1", JobState.DONE, exit_code=0, submitted=1000.0, ended=5000.0, elapsed=90.0)
    adopt("here", seen, seen._replace(job_id="2", started=4000.0))
    text = show(machine, "1")
    assert "\n  ended           before 1970-01-01 01:23:20 (ran 0:01:30)\n" in text
    assert "started" not in text
    assert "waited" not in text
    assert "\n  started         before 1970-01-01 01:06:40\n" in show(machine, "2")
    assert machine.run("job", "list", "--all").out.split("0:01:30")[2:]


def test_what_a_job_waits_for(machine: Machine) -> None:
    adopt("here", JobStatus("1", JobState.REMOVED, reason="by hand"))
    assert "\n  reason          by hand\n" in show(machine, "1")
    first = machine.submit("sleep", "100")
    waiting = machine.submit("--after", first, "true")
    text = show(machine, waiting)
    assert f"\n  state           QUEUED (waiting)\n  waits for       afterok:{first}\n" in text
    assert "reason" not in text


def test_a_job_that_nobody_watched(machine: Machine) -> None:
    job_id = machine.submit("sleep", "0.5")
    (usage,) = (d / ".gpe/usage" for d in machine.directories)
    while not (usage.exists() and "ended=" in usage.read_text()):
        time.sleep(0.05)
    moment = float(usage.read_text().split("ended=")[1])
    time.sleep(1.5)
    (job,) = json.loads(show(machine, "--json", job_id))
    assert moment <= job["ended"] <= moment + 1
    assert job["end_reported"]
    assert job["hosts"] == [socket.gethostname()]
    assert job["started"] == pytest.approx(job["ended"] - job["elapsed"])
    text = show(machine, job_id)
    assert "before" not in text
    assert f"(ran 0:00:{int(job['elapsed']):02})\n" in text


@pytest.mark.parametrize("held", [False, True])
def test_times_agree_and_go_forward(machine: Machine, held: bool) -> None:
    """What the job has measured counts, and it began after its submission, before START had told its id."""
    job_id = machine.submit("sh", "-c", "until [ -e go ]; do sleep 0.05; done")
    expected = ["QUEUED", "RUNNING", "DONE"]
    if held:
        expected[2:2] = ["HELD", "RUNNING"]
        for verb, state in (("", "RUNNING"), ("hold", "HELD"), ("resume", "RUNNING")):
            assert not verb or machine.run("job", verb, job_id).code == 0
            assert machine.run_json("list", job_id)[0]["state"] == state
            time.sleep(0.5)
    (machine.root / "go").touch()
    assert machine.run("job", "wait", job_id).code == 0
    (job,) = json.loads(show(machine, "--json", job_id))
    assert job["submitted"] <= job["started"] <= job["ended"] <= time.time()
    assert job["ended"] - job["started"] == pytest.approx(job["elapsed"], abs=0.1)
    assert [change["state"] for change in job["history"]] == expected
    times = [change["time"] for change in job["history"]]
    assert times == sorted(times)
    assert (times[0], times[1]) == (pytest.approx(job["submitted"]), pytest.approx(job["started"], abs=1))
    if held:
        assert times[3] - times[2] >= 0.5  # it was held for this time


def test_nothing_acts_on_the_terminal(machine: Machine) -> None:
    hostile = "\x1b]0;x\x07\x1b[2J\n\r\u009b31m[bold]'\u202e"
    root = machine.root / "a\x1b[2J  b"
    root.mkdir()
    job_id = machine.submit(
        "--key", hostile, "--directory", str(root), "-e", f"V={hostile}", "--stdout", "o\x1b[2J\u009b", "--wait",
        "printf", hostile,
    )  # fmt: skip
    text = show(machine, job_id)
    assert all(c == "\n" or c.isprintable() for c in text)
    assert "V=$'\\x1b]0;x\\x07\\x1b[2J\\n\\r\\U0000009b31m[bold]\\'\\U0000202e'\n" in text
    assert "/o\\x1b[2J" in text
    assert "/a\\x1b[2J  b'\n" in text
    value = re.search(r"(?m)^  V=(.*)$", text)
    assert value is not None
    again = subprocess.run(
        ["bash", "-c", f"printf %s {value[1]}"],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert again.stdout.decode() == hostile
    out = machine.run("job", "show", "--json", job_id).out
    assert all(c == "\n" or c.isprintable() for c in out)
    assert json.loads(out)[0]["key"] == hostile
    machine.add("says", template("GET_JOB_STATUS", SAYS.format(word="weird", reason="x"), FIELDS))
    ended = machine.run("job", "show", "-p", "says", "7")
    assert ended.code == 0, ended.err
    text = ended.out
    assert all(c == "\n" or c.isprintable() for c in text)
    assert (
        "  reason          the batch system's state is weird, which the profile does not know: \\x1b[2J[bold]x\\x9b\n"
        in text
    )
    # the profile says what such a word means
    fields = FIELDS.replace(
        "</idb:Tag></idb:Field>", '</idb:Tag><idb:Tag name="*">QUEUED</idb:Tag></idb:Field>'
    )
    machine.add("says", template("GET_JOB_STATUS", SAYS.format(word="weird", reason="x"), fields))
    text = machine.run("job", "show", "-p", "says", "7").out
    assert "  state           QUEUED (weird)\n" in text
    assert "  reason          the batch system's state is weird, which the profile does not know" in text
