"""`incarnate job` with real processes: what runs, what is printed, how each command ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.cli.job import listing
from osprofile.jobs.record.store import Store, default_store_path
from osprofile.jobs.state import JobState, JobStatus
from tests.cli.job.conftest import adopt, template
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.cli.conftest import Incarnate
    from tests.cli.job.conftest import Machine

ENDS = [
    ("exit 0", 0), ("exit 1", 1), ("exit 3", 3), ("exit 127", 127), ("kill -KILL $$", 137),
    ("kill -TERM $$", 143),
]  # fmt: skip
KEYS = [
    "id", "profile", "cluster", "host", "target", "state", "stale", "native_state", "exit_code", "signal", "limit",
    "cause", "hosts", "reason", "retry_due", "name", "key", "directory", "submitted", "started", "ended", "end_reported", "elapsed",
    "cpu_time", "max_memory", "energy", "allocated_cpus", "allocated_memory", "array", "array_id", "tasks",
]  # fmt: skip


def test_waiting_tells_once_why_a_job_will_not_start(machine: Machine) -> None:
    first = machine.submit("sleep", "100")
    job_id = machine.submit("--after", first, "true")
    assert machine.run_json("list", job_id)[0]["state"] == "QUEUED"
    reason = "TooLong (it asks for too much: as it is, it will not start)"
    (file,) = (d / ".gpe/waiting" for d in machine.directories if (d / ".gpe/waiting").exists())
    process = machine.start("job", "wait", job_id)
    file.write_text(f"{job_id} {reason}\n")
    assert process.stderr.readline() == f"incarnate: job {job_id} is QUEUED: {reason}\n"
    assert "incarnate job cancel" in process.stderr.readline()
    time.sleep(2.5)  # several looks
    machine.run("job", "cancel", job_id, first)
    _, rest = process.communicate()
    assert process.returncode == 125
    assert "will not start" not in rest.partition("has no exit code")[0]


def test_submit_prints_the_id_alone_and_wait_ends_as_the_job_did(machine: Machine) -> None:
    jobs = {machine.submit("sh", "-c", script): code for script, code in ENDS}
    for job_id, code in jobs.items():
        ended = machine.run("job", "wait", job_id)
        assert (ended.code, ended.out) == (code, "")
        told = f"incarnate: job {job_id} has no exit code: it was (killed by SIGKILL|ended by SIGTERM) on .*: .*\n"
        assert re.fullmatch(told if code > 128 else "", ended.err), (
            "the cause in one line, if it is not its own"
        )
    parsed = {job["id"]: job for job in machine.run_json("list", *jobs)}
    assert [parsed[j]["exit_code"] for j in jobs] == [0, 1, 3, 127, None, None]
    assert [parsed[j]["signal"] for j in jobs] == [None, None, None, None, 9, 15]
    assert [parsed[j]["state"] for j in jobs] == ["DONE"] * 4 + ["FAILED"] * 2
    lines = machine.run("job", "list", *jobs).out.splitlines()
    assert [line.split()[4] for line in lines[1:]] == ["0", "1", "3", "127", "SIGKILL", "SIGTERM"]


def test_what_has_no_exit_code_of_its_own_is_125_and_told(machine: Machine) -> None:
    limited, removed = machine.submit("-t", "1", "sleep", "100"), machine.submit("sleep", "100")
    ended = machine.run("job", "abort", removed)  # the old word
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    ended = machine.run("job", "wait", removed)
    message = f"incarnate: job {removed} has no exit code: somebody cancelled it\n"
    assert (ended.code, ended.out, ended.err) == (125, "", message)
    ended = machine.run("job", "wait", limited)
    cause = "it ran longer than its time limit: --walltime gives it more (over its wall time of 1 s)"
    message = f"incarnate: job {limited} has no exit code: {cause}\n"
    assert (ended.code, ended.out, ended.err) == (125, "", message)
    states = [(job["state"], job["limit"]) for job in machine.run_json("list", removed, limited)]
    assert states == [("REMOVED", False), ("FAILED", True)]


def test_a_timeout_is_124_and_the_job_goes_on(machine: Machine) -> None:
    job_id = machine.submit("sleep", "100")
    ended = machine.run("job", "wait", "--timeout", "0.5", job_id, "--json")
    assert ended.code == 124
    assert ended.err == f"incarnate: job {job_id} has not ended yet; it continues\n"
    assert [job["id"] for job in json.loads(ended.out)] == [job_id]
    assert machine.run_json("list", job_id)[0]["state"] == "RUNNING"


def test_jobs_without_exit_codes_for_one_cause_are_one_message(machine: Machine) -> None:
    jobs = [machine.submit("sleep", "100") for _ in range(3)]
    ended = machine.run("job", "wait", "--timeout", "0.1", *jobs)
    assert (ended.code, ended.err) == (
        124, f"incarnate: 3 jobs ({', '.join(jobs)}) have not ended yet; they continue\n"
    )  # fmt: skip
    machine.run("job", "cancel", *jobs)
    ended = machine.run("job", "wait", *jobs)
    assert (ended.code, ended.err) == (
        125, f"incarnate: 3 jobs ({', '.join(jobs)}) have no exit code: somebody cancelled it\n"
    )  # fmt: skip
    ended = machine.run("job", "cancel", *jobs)
    assert (ended.code, ended.err) == (1, f"incarnate: 3 jobs ({', '.join(jobs)}): has already ended\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_waiting_only(machine: Machine, number: signal.Signals) -> None:
    machine.add_gated()
    job_id = machine.submit("sleep", "100", profile="gated")
    waiting = machine.start_hanging("job", "wait", job_id)
    waiting.send_signal(number)
    out, err = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, out) == (128 + number, "")
    assert err == "incarnate: interrupted; the jobs continue\n"
    assert machine.run_json("list", job_id)[0]["state"] == "RUNNING"


def test_hold_and_resume_say_nothing(machine: Machine) -> None:
    job_id = machine.submit("sleep", "100")
    for verb, state in (("hold", "HELD"), ("resume", "RUNNING")):
        ended = machine.run("job", verb, job_id)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
        assert machine.run_json("list", job_id)[0]["state"] == state
    assert [job["state"] for job in machine.run_json("hold", job_id)] == ["HELD"]


def test_a_refused_deed_is_told_in_the_batch_system_s_words(machine: Machine) -> None:
    job_id, running = machine.submit("true"), machine.submit("sleep", "100")
    assert machine.run("job", "wait", job_id).code == 0
    ended = machine.run("job", "cancel", job_id, running)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"incarnate: job {job_id}: has already ended\n"
    assert [job["state"] for job in machine.run_json("list", job_id, running)] == ["DONE", "REMOVED"]


ARGUMENTS = [
    "it's", "--", "-n", "--json", "a\nb", "", " ", "$HOME `id` \\", '"', "*", "日本", "\t", "a\rb", "#PBS x",
]  # fmt: skip


def test_hostile_values_arrive_unchanged(machine: Machine) -> None:
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['V']]))"
    value = "a 'b'\n\"$c\" --\n"
    ended = machine.run(
        "job", "submit", "-p", "here", "--wait", "--json", "-e", f"V={value}", "-N", "n.1",
        "--stdout", "out's file", "--", sys.executable, "-c", code, *ARGUMENTS,
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    with open(machine.root / "out's file", encoding="utf-8") as file:
        assert json.load(file) == [ARGUMENTS, value]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "a b\n", "true"), "field JOB_NAME"),
        (("--queue", "-x", "true"), "field QUEUE"),
        (("--", "-rf"), "field EXECUTABLE"),
        (("-e", "1A=x", "true"), "--env: field ENVIRONMENT: 1A is not a name"),
        (("-t", "0", "true"), "--walltime: field WALLTIME: '0' is below the Min of 1"),
        (("--nodes", "2", "true"), "--nodes: field NODES: '2' is above the Max of 1"),
        (("--array", "x", "true"), "--array: field ARRAY: 'x'"),
        (("-s", "EXECUTABLE=x", "true"), "field EXECUTABLE is given twice"),
        (("-s", "NO_SUCH=x", "true"), "NO_SUCH"),
        (("-a", "Nothing", "true"), "Nothing"),
        (("--stdout", os.fsdecode(b"\xff"), "true"), "UTF-8"),
    ],
)
def test_a_refused_request_submits_nothing(machine: Machine, words: tuple[str, ...], said: str) -> None:
    ended = machine.run("job", "submit", "-p", "here", *words)
    assert (ended.code in {1, 2}, ended.out) == (True, "")
    assert said in ended.err
    assert machine.directories == []
    assert machine.run_json("list", "--all") == []


def test_json(machine: Machine) -> None:
    ended = machine.run("job", "submit", "-p", "here", "-N", "name", "--key", "k", "--json", "hostname")
    (submitted,) = json.loads(ended.out)
    assert list(submitted) == KEYS
    assert (submitted["state"], submitted["ended"]) == ("QUEUED", None)
    job_id = submitted["id"]
    waited = json.loads(machine.run("job", "wait", job_id, "--json").out)[0]
    assert list(waited) == KEYS
    assert waited == machine.run_json("list", job_id)[0] == machine.run_json("list")[0]
    known = {
        "id": job_id, "profile": "here", "host": None, "target": "here", "state": "DONE",
        "exit_code": 0, "signal": None, "limit": False, "reason": None, "retry_due": None, "name": "name", "key": "k",
        "directory": str(machine.directories[0]), "native_state": "exited",
    }  # fmt: skip
    assert {name: waited[name] for name in known} == known
    assert waited["submitted"] <= time.time()
    assert waited["ended"] <= time.time()


# Submitting once


def test_a_key_is_submitted_once(machine: Machine) -> None:
    marks = machine.root / "marks"
    words = ("--key", "run 1'", "sh", "-c", f"echo x >> {marks}")
    first = machine.submit(*words)
    assert machine.run("job", "wait", first).code == 0
    assert machine.submit(*words) == first
    assert machine.submit("--key", "other", *words[2:]) != first
    assert len(machine.directories) == 2


@pytest.mark.parametrize(
    ("number", "key"),
    [(signal.SIGKILL, "mine"), (signal.SIGKILL, ""), (signal.SIGINT, ""), (signal.SIGTERM, "mine")],
)
def test_a_submission_cut_before_its_work_is_listed_and_completed(
    machine: Machine, number: signal.Signals, key: str
) -> None:
    machine.add_gated()
    words = ("sh", "-c", f"echo x >> {machine.root}/marks")
    given = ("--key", key) if key else ()
    process = machine.start_hanging("job", "submit", "-p", "gated", *given, *words)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert out == ""
    cut = machine.run_json("list")
    assert [(job["state"], job["id"]) for job in cut] == [("INTERRUPTED", None)]
    if number is not signal.SIGKILL:
        assert process.returncode == 128 + number
        assert "interrupted during the submission" in err
        assert f"--key {cut[0]['key']} completes the submission" in err
    completion = cut[0]["reason"].partition("to complete it: incarnate ")[2].split()
    assert completion == ["job", "submit", "--profile", "gated", "--key", key or cut[0]["key"]]
    ended = machine.run(*completion, "--wait")
    assert (ended.code, ended.err) == (0, "")
    assert machine.run(*completion).out == ended.out
    assert (machine.root / "marks").read_text() == "x\n"
    assert [job["state"] for job in machine.run_json("list")] == ["DONE"]


@pytest.mark.parametrize("profile", ["here", "odd/gated dir.xml"])
def test_what_completes_a_submission_is_told_as_it_was_given(
    machine: Machine, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Record, profiles and context are those of the command that was cut, wherever it is repeated."""
    machine.add_gated()
    monkeypatch.delenv("OSPROFILE_PATH")
    odd = machine.root / "odd"
    odd.mkdir()
    text = (machine.root / "profiles" / "gated.xml").read_text()
    name = "here" if profile == "here" else "gated"
    (odd / "gated dir.xml").write_text(text.replace('name="gated"', f'name="{name}"'))
    (odd / "here.xml").write_text(text.replace('name="gated"', 'name="here"'))
    monkeypatch.chdir(machine.root)
    given = ("--store", "my jobs.db", "--profiles", "odd", "--context", "HOME_ROOT=/home dir")
    words = ("sh", "-c", f"echo x >> '{machine.root}/marks'")
    process = machine.start_hanging("job", "submit", "-p", profile, *given, *words)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    listing = f"incarnate job list --profiles {odd} --store '{machine.root}/my jobs.db' finds out"
    assert listing in err
    (cut,) = machine.run_json("list", "-p", profile, *given)
    completion = shlex.split(cut["reason"].partition("to complete it: incarnate ")[2])
    monkeypatch.chdir("/")
    ended = machine.run(*completion, "--wait")
    assert (ended.code, ended.err) == (0, "")
    assert machine.run(*completion).out == ended.out
    assert (machine.root / "marks").read_text() == "x\n"
    assert len(machine.directories) == 1


def test_a_submission_cut_before_its_link_ends_as_its_job_does(machine: Machine) -> None:
    """The command is killed between the job's id and its link; the list finds the job, and its end."""
    shell = machine.root / "bin" / "sh"
    shell.write_text(
        '#!/bin/sh\n/bin/sh "$@"\nrc=$?\n[ -z "$(ls ~/.gpe/submitting)" ] || kill -s KILL $PPID\nexit $rc\n'
    )
    shell.chmod(0o755)
    go = machine.root / "go"
    words = ("sh", "-c", f"until [ -e '{go}' ]; do sleep 0.05; done; exit 7")
    process = machine.start("job", "submit", "-p", "here", "--key", "k", *words)
    assert process.communicate(timeout=PATIENCE)[0] == ""
    assert process.returncode == -signal.SIGKILL
    shell.unlink()
    (found,) = machine.run_json("list")
    assert (found["key"], found["state"]) == ("k", "RUNNING")
    assert machine.submit("--key", "k") == found["id"]
    go.touch()
    assert machine.run("job", "wait", found["id"]).code == 7
    assert machine.run_json("list")[0]["state"] == "DONE"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_submission_cut_after_its_work_is_found(machine: Machine, number: signal.Signals) -> None:
    machine.add_gated()
    assert machine.run("render", "--deploy", "-p", "gated", "--run").code == 0
    words = ("job", "submit", "-p", "gated", "--key", "k", "sleep", "100")
    process = machine.start_hanging(*words, gate="after")
    process.send_signal(number)
    assert process.communicate(timeout=PATIENCE)[0] == ""
    found = machine.run_json("list")
    assert [(job["state"], job["key"]) for job in found] == [("RUNNING", "k")]
    assert machine.submit("--key", "k", profile="gated") == found[0]["id"]
    assert len(machine.directories) == 1


def test_a_cut_connection_says_what_to_do(machine: Machine) -> None:
    machine.add("cut", template("SHELL", "sh -c 'kill -KILL $$'"))
    ended = machine.run("job", "submit", "-p", "cut", "--key", "a b", "true")
    assert (ended.code, ended.out) == (1, "")
    assert "killed by signal 9" in ended.err
    assert "incarnate job list finds out; the same command with --key 'a b'" in ended.err


# The record


def test_without_its_record_each_verb_works_on_live_jobs(machine: Machine) -> None:
    jobs = [machine.submit("sleep", "100"), machine.submit("sleep", "100")]
    ended = machine.submit("sh", "-c", "exit 3")
    other = {"OSPROFILE_STORE": str(machine.root / "other.db")}
    lost = machine.run("job", "list", "--json", jobs[0], **other)
    assert (lost.code, lost.out) == (1, "")  # a list without the job would look like its end to a program
    assert f"job {jobs[0]} is not known: the record {machine.root}/other.db has no job" in lost.err
    for verb, state in (("hold", "HELD"), ("resume", "RUNNING"), ("cancel", "REMOVED")):
        assert machine.run("job", verb, "-p", "here", *jobs, **other).code == 0
        parsed = json.loads(machine.run("job", "list", "-p", "here", "--json", *jobs, **other).out)
        assert [(job["id"], job["state"]) for job in parsed] == [(j, state) for j in jobs]
    assert machine.run("job", "wait", "-p", "here", ended, **other).code == 3
    known = machine.run("job", "list", "--json", ended, OSPROFILE_PROFILE="here", **other)
    assert json.loads(known.out)[0]["exit_code"] == 3


def test_store_is_where_the_option_says(machine: Machine) -> None:
    path = machine.root / "deep" / "jobs.db"
    job_id = machine.submit("--store", str(path), "true")
    assert path.stat().st_mode & 0o777 == 0o600
    assert machine.run_json("list") == []
    assert machine.run("job", "wait", job_id, "--store", str(path)).code == 0
    assert machine.run_json("list", "--store", str(path))[0]["id"] == job_id


@pytest.mark.parametrize("broken", ["no place", "no database", "cut short", "a directory"])
def test_a_record_that_cannot_be_used(machine: Machine, broken: str) -> None:
    job_id = machine.submit("sleep", "100")
    path = machine.root / "broken.db"
    if broken == "no database":
        path.write_text("this is none, and it is long enough to be looked at\n" * 100)
    elif broken == "cut short":
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    elif broken == "a directory":
        path.mkdir()
    # Nobody can make a directory there, not even root.
    store = {"OSPROFILE_STORE": "/proc/none/jobs.db" if broken == "no place" else str(path)}
    for words in (("submit", "-p", "here", "true"), ("list",), ("list", job_id), ("hold", job_id)):
        ended = machine.run("job", *words, **store)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("incarnate: the record of the jobs, ")
        assert "    hint: " in ended.err
    assert len(machine.directories) == 1
    assert machine.run("job", "wait", job_id, **store).code == 125
    ended = machine.run("job", "list", job_id, "-p", "here", **store)
    assert ended.code == 0
    assert ended.err.startswith("incarnate: warning: continuing without a record: ")
    assert ended.out.splitlines()[1].split()[:3] == [job_id, "here", "RUNNING"]
    assert machine.run("job", "cancel", job_id, "-p", "here", **store).code == 0


def test_one_unknown_job_among_several(machine: Machine) -> None:
    jobs = [machine.submit("sh", "-c", f"exit {code}") for code in (0, 3)]
    unknown = "1-2-0123abcd"
    ended = machine.run("job", "wait", jobs[0], "nonsense", unknown, jobs[1])
    assert ended.code == 125
    assert ended.err.count("is not in the record") == 2
    assert machine.run("job", "wait", jobs[1], unknown).code == 3
    for words in ((unknown,), ("nonsense",), ("-p", "here", unknown), ("-p", "here", "nonsense")):
        ended = machine.run("job", "list", *jobs, *words)
        assert ended.code in {1, 2}
        assert [line.split()[0] for line in ended.out.splitlines()] == ["JOB", *jobs]
        assert ended.err.count(f"job {words[-1]}") >= 1
        assert ended.err.count("incarnate: ") == 1


def test_a_job_on_several_targets_is_asked_for_by_none(machine: Machine) -> None:
    job_id = machine.submit("sleep", "100")
    near = ("-p", "here", "--host", "me@near:22")
    adopt("here@me@near:22", JobStatus(job_id, JobState.RUNNING))
    for verb in ("hold", "cancel"):
        ended = machine.run("job", verb, job_id)
        assert (ended.code, ended.out) == (2, "")
        assert "is recorded on several target systems: here, here@me@near:22" in ended.err
        assert "--profile here or --profile here --host me@near:22" in ended.err
    assert machine.run_json("list", job_id, "--host", "me@near")[0]["host"] == "me@near"
    assert machine.run_json("list", job_id, "-p", "here")[0]["host"] is None
    assert [job["target"] for job in machine.run_json("list")] == ["here", "here@me@near:22"]
    assert [job["target"] for job in machine.run_json("list", job_id)] == ["here", "here@me@near:22"]
    assert [job["target"] for job in machine.run_json("list", *near)] == ["here@me@near:22"]


def test_a_wrong_target_is_answered_with_the_right_one(machine: Machine) -> None:
    job_id = machine.submit("--host", "near", "true")
    machine.add("empty", template("HOLD", "echo no such job >&2; exit 1\n"))
    ended = machine.run("job", "hold", "-p", "empty", job_id)
    assert ended.code == 2
    assert "no such job" in ended.err
    assert "this id is recorded for --profile here --host near" in ended.err


def test_a_recorded_profile_that_is_gone(machine: Machine, tmp_path: Path) -> None:
    job_id = machine.submit("true")
    path = machine.root / "profiles" / "here.xml"
    moved = tmp_path / "moved.xml"
    path.rename(moved)
    machine.drop_kept_profiles()
    ended = machine.run("job", "hold", job_id)
    assert (ended.code, ended.out) == (2, "")
    assert "there is no profile 'here'" in ended.err
    assert "--profile PATH gives the path of its file" in ended.err
    assert machine.run("job", "wait", job_id, "-p", str(moved)).code == 0
    assert machine.run("job", "wait", job_id, OSPROFILE_PROFILE=str(moved)).code == 0
    assert machine.run("job", "wait", job_id).code == 0  # the record has the path
    moved.unlink()
    assert "there is no profile 'here'" in machine.run("job", "hold", job_id).err


def test_the_record_goes_before_the_environment_s_profile(machine: Machine) -> None:
    job_id = machine.submit("sh", "-c", "exit 3")
    assert machine.run("job", "wait", job_id, OSPROFILE_PROFILE="linux").code == 3
    assert machine.run("job", "list", job_id, OSPROFILE_PROFILE="slurm").code == 0


def test_a_job_whose_id_cannot_be_printed(machine: Machine) -> None:
    """Whoever takes this for a refusal must not submit it again."""
    for words in ([], ["--json"]):
        with open("/dev/full", "wb") as full:
            process = machine.start("job", "submit", "-p", "here", *words, "true", stdout=full)
            _, err = process.communicate(timeout=PATIENCE)
        [job] = machine.run_json("list")
        assert (
            process.returncode,
            f"job {job['id']} was submitted, but its id cannot be printed" in err,
        ) == (1, True)
        assert machine.run("job", "wait", job["id"]).code == 0
        assert machine.run("job", "forget", job["id"]).code == 0


# Lists


REFUSES = """<idb:Template name="START"><idb:Invocation name=""><idb:Body><![CDATA[
: '<JOB_SCRIPT/'/'\\''>'
{script}]]></idb:Body></idb:Invocation></idb:Template>
<idb:Template><idb:Field name="BATCH_SYSTEM" isSettable="false"><idb:Value>{name}</idb:Value></idb:Field></idb:Template>
"""


@pytest.mark.parametrize(
    ("name", "script", "message"),
    [
        (
            "Toy",
            "printf 'tsub: no \\033[2J such queue\\n' >&2; exit 38",
            "Toy refused the job: tsub: no \ufffd[2J such queue",
        ),
        ("Toy", "echo 'tsub: first'; echo second; exit 1", "Toy refused the job: tsub: first\nsecond"),
        ("Toy", "echo 'tsub: no' >&2; exit 187", "Toy refused the job: tsub: no"),  # qsub of Torque
        ("Toy", "exit 3", "START failed (exit status 3) without output"),
        ("Toy", "echo START: no directory >&2; exit 1", "START failed (exit status 1): START: no directory"),
        ("Toy", "nosuch-tsub", "START failed (exit status 127): sh: {line}: nosuch-tsub: not found"),
        ("", "echo 'cannot do it' >&2; exit 1", "START failed (exit status 1): cannot do it"),
    ],
)
def test_a_batch_system_that_refuses_a_job(machine: Machine, name: str, script: str, message: str) -> None:
    machine.add("toy", REFUSES.format(name=name, script=script))
    ended = machine.run("job", "submit", "-p", "toy", "true")
    assert (ended.code, ended.out) == (1, "")
    begin, _, end = message.partition("{line}")
    assert ended.err.startswith(f"incarnate: {begin}")
    assert ended.err.endswith(f"{end}\n")
    assert machine.run_json("list", "--all") == []


def test_a_list_is_one_query_a_target(machine: Machine) -> None:
    machine.add_gated()
    for _ in range(3):
        machine.run("job", "submit", "-p", "gated", "sleep", "100")
    machine.run("job", "list")  # the first query installs its program
    (machine.root / "shells").unlink()
    assert [job["state"] for job in machine.run_json("list")] == ["RUNNING"] * 3
    assert (machine.root / "shells").read_text() == "run\n"


def test_a_target_that_cannot_be_asked_is_told_once(machine: Machine) -> None:
    here = machine.submit("sleep", "100")
    there = [machine.submit("--host", "far", "sleep", "100") for _ in range(2)]
    assert [job["state"] for job in machine.run_json("list")] == ["RUNNING"] * 3
    (machine.root / "down").touch()
    ended = machine.run("job", "list")
    assert ended.code == 1
    assert ended.err.count("No route to host") == 1
    assert ended.err == (
        "incarnate: here@far does not answer (2 jobs as last known): GET_JOB_STATUS: the connection failed:"
        " ssh: connect to host far: No route to host"
        "; if it is gone for good: incarnate job forget --force here@far\n"
    )
    lines = [line.split() for line in ended.out.splitlines()]
    assert [[line[0], *line[2:4]] for line in lines[1:]] == [
        [here, "here", "RUNNING"], *([job_id, "here@far", "RUNNING?"] for job_id in there)
    ]  # fmt: skip
    assert machine.run("job", "list", here).err == ""  # only the targets of these jobs are asked
    ended = machine.run("job", "list", "--json")
    assert [(job["state"], job["stale"]) for job in json.loads(ended.out)] == [
        ("RUNNING", False), ("RUNNING", True), ("RUNNING", True),
    ]  # fmt: skip
    ended = machine.run("job", "list", *there)
    assert (ended.code, ended.out.count("RUNNING?")) == (1, 2)
    assert ended.err.count("No route to host") == 1
    (machine.root / "down").unlink()


def test_interrupted_submissions_to_a_silent_target_are_counted(machine: Machine) -> None:
    for key in ("a", "b", "c"):
        assert machine.run("job", "submit", "-p", "here", "--host", "down", "--key", key, "true").code == 1
    ended = machine.run("job", "list")
    assert ended.code == 1
    assert len(ended.out.splitlines()) == len(ended.err.splitlines()) == 1
    assert ended.err.startswith(
        "incarnate: here@down does not answer (3 interrupted submissions, which --all lists): "
    )
    lines = machine.run("job", "list", "--all").out.splitlines()[1:]
    assert [line.split()[:4] for line in lines] == [["-", "true", "here@down", "INTERRUPTED?"]] * 3
    jobs = json.loads(machine.run("job", "list", "--json").out)
    assert [(job["state"], job["stale"]) for job in jobs] == [("INTERRUPTED", True)] * 3


def test_an_error_of_many_lines_is_told_in_one(machine: Machine) -> None:
    job_id = machine.submit("--host", "far", "sleep", "100")
    ssh = machine.root / "bin" / "ssh"
    text = ssh.read_text()
    ssh.write_text(
        "#!/bin/sh\nprintf '@@@@\\n@ WARNING: \\033[2Jcare\\n@@@@\\nIt is\\nHost key wrong.\\n' >&2; exit 255\n"
    )
    ended = machine.run("job", "list")
    assert (ended.code, len(ended.err.splitlines())) == (1, 1)
    assert "... Host key wrong; if it is gone for good: " in ended.err
    assert "\x1b" not in ended.err
    ssh.write_text(text)
    assert machine.run("job", "cancel", job_id).code == 0


def test_a_list_forgets_what_ended_long_ago(machine: Machine) -> None:
    old, new = machine.submit("true"), machine.submit("true")
    assert machine.run("job", "wait", old, new).code == 0
    path = os.path.join(os.environ["HOME"], ".local/state/osprofile/jobs.db")
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE job SET ended = ended - 86401 WHERE job_id = ?", (old,))
    db.close()
    assert [job["id"] for job in machine.run_json("list")] == [new]
    assert [job["id"] for job in machine.run_json("list", "--all")] == [old, new]
    assert machine.run_json("list", "--all", "-p", "linux") == []


def test_a_list_of_some_states(machine: Machine) -> None:
    killed, ended = machine.submit("sh", "-c", "kill -9 $$"), machine.submit("false")
    array = machine.submit("--array", "1-2", "sh", "-c", "[ $GPE_ARRAY_INDEX = 1 ] || kill -9 $$")
    machine.run("job", "wait", killed, ended, array)
    assert [job["id"] for job in machine.run_json("list", "--state", "FAILED")] == [killed, array]
    assert [job["id"] for job in machine.run_json("list", "--state", "lost, done")] == [ended]
    assert machine.run_json("list", "--state", "LOST") == []
    table = machine.run("job", "list", "--tasks", "--state", "FAILED").out.splitlines()[1:]
    assert [line.split()[0] for line in table] == [killed, array, f"{array}_2"]


LISTS = (
    [],
    ["--tasks"],
    ["--all"],
    ["--failed"],
    ["--state", "DONE"],
    ["--json"],
    ["--all", "--tasks", "--json"],
)


def test_a_list_of_ended_jobs_is_the_same_as_one_that_asks(
    machine: Machine, incarnate: Incarnate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked where no job lives, and nothing is loaded that would."""
    ended = [machine.submit("--name", "fit", "false"), machine.submit("--array", "1-2", "true")]
    machine.run("job", "wait", *ended)
    with monkeypatch.context() as patch:
        patch.setattr(listing, "list_quiet_jobs", lambda *_words, **_options: None)
        expected = [incarnate("job", "list", *words) for words in LISTS]
    with monkeypatch.context() as patch:
        patch.setattr("osprofile.cli.job.operations.list_jobs", None)
        assert [incarnate("job", "list", *words) for words in LISTS] == expected
    adopt("here", JobStatus("7", JobState.RUNNING, "R"))
    with monkeypatch.context() as patch:
        patch.setattr("osprofile.cli.job.operations.list_jobs", lambda *_words, **_options: 77)
        assert incarnate("job", "list").code == 77
        assert incarnate("job", "list", ended[0]).code == 77


# What a batch system says

SAYS = r"""
id='<JOB_ID/'/'\\''>'
printf '%s {word} reason=\033[2J[bold]{reason}\302\233\n' "$id"
"""
FIELDS = (
    '<idb:Field name="JOB_ID"/><idb:Field name="STATUS_PATTERN" isSettable="false"><idb:Value>'
    "(?&lt;id>[^ ]+) (?&lt;state>[a-z]+) reason=(?&lt;reason>[^\\n]*)</idb:Value></idb:Field>"
    '<idb:Field name="STATE" isSettable="false"><idb:Tag name="running">RUNNING</idb:Tag></idb:Field>'
)


@pytest.mark.parametrize(("word", "state"), [("weird", "UNKNOWN"), ("running", "RUNNING")])
def test_a_batch_system_s_words_cannot_act_on_a_terminal(machine: Machine, word: str, state: str) -> None:
    body = SAYS.format(word=word, reason="x" * 300)
    machine.add("says", template("GET_JOB_STATUS", body, FIELDS))
    ended = machine.run("job", "list", "-p", "says", "7")
    assert ended.code == 0
    assert all(c == "\n" or c.isprintable() for c in ended.out)
    line = ended.out.splitlines()[1]
    assert line.split()[:3] == ["7", "says", state]
    assert f"[bold]{'x' * 300}" in line
    parsed = machine.run_json("list", "-p", "says", "7")[0]
    assert (parsed["state"], parsed["native_state"]) == (state, word)
    assert "\x1b[2J[bold]xxx" in parsed["reason"]


def test_jobs_are_listed_in_the_order_of_their_short_ids(machine: Machine) -> None:
    body = "id='<JOB_ID>'; echo ${id%.server}.server running reason="
    every = "<idb:Body>for id in 7 8 9; do echo $id.server running reason=; done</idb:Body>"
    rest = f'<idb:Invocation name="ALL">{every}</idb:Invocation>{FIELDS}'
    machine.add("short", template("GET_JOB_STATUS", body, rest))
    for ids in (["8"], ["8", "7", "9.server"]):
        found = machine.run_json("list", "-p", "short", *ids)
        assert [job["id"] for job in found] == [f"{job_id[0]}.server" for job_id in ids]


def test_warnings_are_told_without_a_traceback(machine: Machine) -> None:
    """A poll that fails is a warning, and the waiting goes on."""
    machine.add_gated()
    job_id = machine.submit("sleep", "100", profile="gated")
    body = "<idb:Body>echo out of order >&amp;2; exit 4</idb:Body>"
    every = f'<idb:Invocation name="ALL">{body}</idb:Invocation>'
    machine.add("gated", template("GET_JOB_STATUS", "exit 4\n", every + FIELDS))
    waiting = machine.start("job", "wait", job_id)
    line = waiting.stderr.readline()
    assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, out) == (130, "")
    assert line.startswith("incarnate: warning: job states are not updated; next try in ")
    assert line.endswith("out of order\n")
    assert "Traceback" not in err


def test_what_is_over_can_be_forgotten(machine: Machine) -> None:
    ended, running = machine.submit("true"), machine.submit("sleep", "100")
    assert machine.run("job", "wait", ended).code == 0
    refused = machine.run("job", "forget", running, "/no/job/here", ended)
    assert (refused.code, refused.out) == (1, "")
    assert f"job {running} has not ended" in refused.err
    assert "there is no job or working directory /no/job/here" in refused.err
    assert [job["id"] for job in machine.run_json("list")] == [running]
    assert machine.run("job", "forget", ended).code == 2
    assert machine.run("job", "cancel", running).code == 0
    assert machine.run("job", "wait", running).code == 125
    (forgotten,) = machine.run_json("forget", running)
    assert (forgotten["id"], forgotten["state"]) == (running, "REMOVED")
    assert machine.run_json("list") == []


def test_old_jobs_are_forgotten_with_their_files(machine: Machine, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    ids = [machine.submit("true"), machine.submit("true"), machine.submit("sleep", "100")]
    ids.append(machine.submit("--context", f"WORKING_DIRECTORY={chosen}", "true"))
    for job_id in (*ids[:2], ids[3]):
        assert machine.run("job", "wait", job_id).code == 0
    directories = {job["id"]: Path(job["directory"]) for job in machine.run_json("list", "--all")}
    store = Store(default_store_path())
    (record,) = [record for record in store.list_all_jobs() if record.status.job_id == ids[1]]
    store.close()
    with contextlib.closing(sqlite3.connect(default_store_path())) as db, db:
        db.execute("UPDATE job SET state = 'LOST' WHERE number = ?", (record.number,))
    assert machine.run("job", "forget", "--older-than", "1h", "--files").code == 0
    assert all(directory.exists() for directory in directories.values())
    forgotten = machine.run_json("forget", "--older-than", "0s", "--files")
    assert {job["id"] for job in forgotten} == {ids[0], ids[3]}
    assert [path.exists() for path in map(directories.get, ids)] == [False, True, True, True]
    assert {job["id"] for job in machine.run_json("list", "--all")} == {ids[1], ids[2]}
    refused = machine.run("job", "forget", "--files", ids[1], ids[2])
    assert refused.code == 1
    assert f"the files of job {ids[1]} are kept: it may still run" in refused.err
    both = machine.run("job", "forget", "--older-than", "1h", ids[1])
    assert (both.code, "--older-than and JOB cannot be used together" in both.err) == (2, True)
    assert machine.run("job", "cancel", ids[2]).code == 0


def test_a_cut_submission_can_be_forgotten(machine: Machine) -> None:
    machine.add_gated()
    process = machine.start_hanging("job", "submit", "-p", "gated", "true")
    store = Store(default_store_path())
    (begun,) = store.list_all_jobs()
    store.close()
    refused = machine.run("job", "forget", begun.directory)
    assert refused.code == 1
    assert "is being submitted" in refused.err
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert [job["state"] for job in machine.run_json("list")] == ["INTERRUPTED"]
    (forgotten,) = machine.run_json("forget", begun.directory)
    assert (forgotten["directory"], forgotten["state"]) == (begun.directory, "INTERRUPTED")
    assert machine.run_json("list") == []


SIGNALLED = """\
import os, signal, sys
from osprofile.cli import main
from osprofile.cli.job import listing, rows
def get_signal(*_words, **_options):
    os.kill(os.getpid(), signal.SIGTERM)
    print("went on")
    return []
{} = get_signal
sys.argv[1:] = ["job", "list"]
main.main()
"""


@pytest.mark.parametrize("step", ["listing.list_records", "rows.print_rows"])
def test_a_signal_ends_a_list_at_once(machine: Machine, step: str) -> None:
    """To read and to format 100,000 jobs takes seconds."""
    machine.submit("true")
    command = [sys.executable, "-c", SIGNALLED.format(step)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, ""), ended.stderr


def test_a_cut_submission_is_forgotten_by_its_key(machine: Machine) -> None:
    machine.add_gated()
    process = machine.start_hanging("job", "submit", "-p", "gated", "--key", "mine", "true")
    process.kill()
    process.communicate(timeout=PATIENCE)
    (forgotten,) = machine.run_json("forget", "mine")
    assert (forgotten["key"], forgotten["state"]) == ("mine", "INTERRUPTED")
    assert machine.run_json("list") == []


def test_a_host_that_is_not_found_has_run_nothing(machine: Machine) -> None:
    words = ("submit", "-p", "here", "--host", "lost", "--key", "mine", "true")
    ended = machine.run("job", *words)
    assert ended.code == 1
    assert "START: the host is not found: ssh: Could not resolve hostname lost" in ended.err
    assert machine.run_json("list") == []
    assert machine.run("job", "forget", "mine").code == 2


def test_what_can_never_be_asked_again_is_forgotten_by_force(machine: Machine) -> None:
    machine.add("other", "")
    here = machine.submit("sleep", "100")
    gone = [machine.submit("sleep", "100", profile="other") for _ in range(3)]
    machine.run("job", "submit", "-p", "here", "--host", "down", "true")
    (machine.root / "profiles" / "other.xml").unlink()
    machine.drop_kept_profiles()
    ended = machine.run("job", "list")
    assert ended.code == 1
    (line,) = (line for line in ended.err.splitlines() if line.startswith("incarnate: other "))
    assert line.startswith("incarnate: other does not answer (3 jobs as last known): there is no profile")
    assert line.endswith("; to forget them: incarnate job forget --force other")
    assert [line.split()[3][-1] for line in ended.out.splitlines()[1:]] == ["G", "?", "?", "?"]
    refused = machine.run("job", "forget", gone[0], "other")
    assert refused.code == 1
    assert "--force forgets it" in refused.err
    (forgotten,) = machine.run_json("forget", "--force", gone[0])
    assert (forgotten["id"], forgotten["ended"]) == (gone[0], None)
    assert [job["id"] for job in machine.run_json("forget", "--force", "other")] == gone[1:]
    assert [job["state"] for job in machine.run_json("forget", "--force", "here@down")] == ["INTERRUPTED"]
    assert [job["id"] for job in machine.run_json("list")] == [here]
    assert machine.run("job", "forget", "--force", "other").code == 2


def test_a_submission_in_progress_is_neither_repeated_nor_forgotten(machine: Machine) -> None:
    machine.add_gated()
    process = machine.start_hanging("job", "submit", "-p", "gated", "true")
    (begun,) = machine.run_json("list")
    assert begun["state"] == "SUBMITTING"
    with (
        osprofile.JobSession("gated", timing=osprofile.Timing(busy_timeout=0.5)) as session,
        pytest.raises(osprofile.OSProfileError, match="is being submitted by another process"),
    ):
        session.submit("true", key=begun["key"])
    for word in (begun["directory"], "gated"):
        refused = machine.run("job", "forget", "--force", word)
        assert (refused.code, refused.out) == (1, "")
        assert f"the job in {begun['directory']} is being submitted" in refused.err
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert machine.run("job", "forget", "--force", "gated").code == 0
    assert machine.run_json("list") == []


def test_jobs_are_named_by_their_keys(machine: Machine) -> None:
    """An id wins over a key of the same text."""
    job = machine.submit("--key", "fit", "/bin/sh", "-c", "echo x; exit 3", profile="linux")
    assert machine.run("job", "wait", "fit").code == 3
    assert machine.run("job", "wait", "nothing", "fit").code == 125
    assert machine.run("job", "wait", "fit", "nothing").code == 3
    for verb in ("show", "list"):
        (row,) = json.loads(machine.run("job", verb, "fit", "--json").out)
        assert (row["id"], row["key"], row["exit_code"]) == (job, "fit", 3)
    assert machine.run("job", "output", "--profile", "linux", "fit").out == "x\n"
    other = machine.submit("--key", job, "--wait", "/bin/true", profile="linux")
    assert json.loads(machine.run("job", "list", job, "--json").out)[0]["id"] == job != other
    unknown = machine.run("job", "list", "nothing")
    assert unknown.code == 2
    assert "job nothing is not in the record" in unknown.err
    assert machine.run("job", "forget", "fit").code == 0
    assert machine.run("job", "list", "fit").code == 2


def test_a_batch_system_whose_jobs_are_submitted_together_takes_a_single_one(machine: Machine) -> None:
    sbatch = machine.root / "bin" / "sbatch"
    sbatch.write_text("#!/bin/sh\ncat > /dev/null\necho 42\n")
    sbatch.chmod(0o755)
    submitted = machine.run("job", "submit", "-p", "slurm", "true")
    assert (submitted.code, submitted.out, submitted.err) == (0, "42\n", "")
