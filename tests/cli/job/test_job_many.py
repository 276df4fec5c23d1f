"""`incarnate job submit --from FILE` with real processes: many jobs by one command."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import on_terminal
from tests.profiles.test_hostile_values import CARRIED
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.cli.conftest import Ended
    from tests.cli.job.conftest import Machine

HERE = ("job", "submit", "-p", "here")


def submit(machine: Machine, text: str, *words: str, name: str = "jobs.csv") -> Ended:
    """Submit the jobs of a file."""
    (machine.root / name).write_bytes(text.encode())
    return machine.run(*HERE, "--from", name, *words)


def count_jobs(machine: Machine) -> int:
    return len(machine.run_json("list", "--all"))


# What runs, what is printed


def test_the_ids_are_in_the_order_of_the_lines_and_the_jobs_as_they_say(machine: Machine) -> None:
    text = "name,arguments,env:V,env:W\n" + "".join(f"n{n},'{n} {n}' b,v{n},\n" for n in range(20))
    words = ("--key", "k", "-e", "W=w", "sh", "-c", 'printf "%s|" "$@" "$V" "$W"', "sh", "first")
    ended = submit(machine, text, *words)
    assert (ended.code, ended.err) == (0, "")
    ids = ended.out.split()
    assert machine.run("job", "wait", *ids).code == 0
    for number, job_id in enumerate(ids):
        output = machine.run("job", "output", job_id).out
        assert output == f"first|{number} {number}|b|v{number}|w|"
    jobs = {job["id"]: job for job in machine.run_json("list")}
    assert [(jobs[i]["key"], jobs[i]["name"]) for i in ids] == [(f"k-{n + 1}", f"n{n}") for n in range(20)]


def test_standard_input(machine: Machine) -> None:
    for text in ("name\na\nb\n", '{"name": "a"}\n\n{"name": "b"}'):
        process = machine.start(*HERE, "--from", "-", "--wait", "--json", "true", stdin=subprocess.PIPE)
        out, err = process.communicate(text, timeout=PATIENCE)
        assert process.returncode == 0
        assert [(job["name"], job["exit_code"]) for job in json.loads(out)] == [("a", 0), ("b", 0)]
        assert err.startswith("incarnate: 2 jobs; if this is interrupted, the same command with --key auto-")


def test_hostile_values_reach_the_program(machine: Machine) -> None:
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('V')]))"
    values = [*CARRIED, "日本", "it's"]
    text = "\n".join(
        json.dumps({"arguments": [*values[n::8], ""], "env:V": values[-1 - n], "stdout": f"it's {n}"})
        for n in range(8)
    )
    ended = submit(machine, text, "--key", "k", "--wait", sys.executable, "-c", code, name="jobs.jsonl")
    assert (ended.code, ended.err) == (0, "")
    for n in range(8):
        found = json.loads((machine.root / f"it's {n}").read_text())
        assert found == [[*values[n::8], ""], values[-1 - n]]


def test_json(machine: Machine) -> None:
    ended = submit(machine, "name\na\nb\n", "--json", "--key", "k", "true")
    assert (ended.code, ended.err) == (0, "")
    assert [(job["name"], job["key"]) for job in json.loads(ended.out)] == [("a", "k-1"), ("b", "k-2")]


def test_waiting_ends_with_the_first_code_that_is_not_0(machine: Machine) -> None:
    text = "arguments\n'exit 0'\n'exit 3'\n'exit 1'\n"
    ended = submit(machine, text, "--key", "k", "--wait", "sh", "-c")
    ids = ended.out.split()
    assert (ended.code, len(ids)) == (3, 3)
    assert ended.err.splitlines() == [
        f"incarnate: job {ids[1]} ended with exit code 3",
        f"incarnate: job {ids[2]} ended with exit code 1",
    ]


def test_a_job_may_wait_for_those_of_earlier_lines(machine: Machine) -> None:
    text = "key,arguments,after_ok\nprepare,'sleep 0.3; touch x',\n,'test -e x',prepare\nend,'test -e x',k-2 prepare\n"
    ended = submit(machine, text, "--key", "k", "--wait", "sh", "-c")
    assert (ended.code, ended.err) == (0, "")


def test_a_warning_that_holds_for_all_jobs_is_printed_once(machine: Machine) -> None:
    ended = submit(machine, "name\na\nb\nc\n", "--key", "k", "nosuchprogram")
    assert ended.code == 0
    assert ended.err.count("warning: the program nosuchprogram is neither on the PATH") == 1


# As one array


def test_the_lines_become_the_tasks_of_one_array(machine: Machine) -> None:
    text = 'arguments,env:V\n"it\\\'s 1",a\n2 x,$(b)\n3,\n'
    options = ("--as-array", "--at-once", "2", "--key", "k", "--wait", "-e", "V=w")
    words = (*options, "sh", "-c", 'printf "%s|" "$@" "$V"', "sh")
    ended = submit(machine, text, *words)
    assert (ended.code, ended.err) == (0, "")
    array = ended.out.rstrip("\n")
    outputs = [machine.run("job", "output", f"{array}_{n}").out for n in (1, 2, 3)]
    assert outputs == ["it's|1|a|", "2|x|$(b)|", "3|w|"]
    assert submit(machine, text, *words).out == ended.out
    assert count_jobs(machine) == 1


def test_a_task_that_fails_is_told(machine: Machine) -> None:
    ended = submit(machine, "arguments\n'exit 0'\n'exit 3'\n", "--as-array", "--wait", "sh", "-c")
    assert ended.code == 125
    assert ended.err.endswith("has no exit code: 1 of 2 tasks ended with 0; exit 3: 1\n")


@pytest.mark.parametrize(
    ("text", "words", "code", "said"),
    [
        ("name\nx", ("true",), 2, "jobs.csv:2: the tasks of an array cannot differ in name"),
        ("WALLTIME\n1", ("true",), 2, "jobs.csv:2: the tasks of an array cannot differ in WALLTIME"),
        ("key\nx", ("true",), 2, "jobs.csv:2: the tasks of an array cannot differ in key"),
        ("working_directory\n/x", ("true",), 2, "jobs.csv:2: the tasks of an array cannot differ in working_directory"),
        ("after_ok\nx", ("true",), 2, "jobs.csv:2: the tasks of an array cannot differ in after_ok"),
        ("env:V\nx\n\nx", (), 1, "jobs.csv:2: no program is given"),
        ("env:1A\nx", ("true",), 1, "jobs.csv:2: env:1A: field ENVIRONMENT"),
        ("arguments\nx", ("--application", "Processes", "true"), 1, "a job with an application cannot be a task"),
        ("arguments\nx", ("--array", "1-2", "true"), 2, "--array and --from cannot be used together"),
        ("arguments\nx", ("--at-once", "0", "true"), 2, "--at-once 0 runs nothing"),
        ("arguments\nx", ("--at-once", "x", "true"), 2, "--at-once"),
    ],
)  # fmt: skip
def test_what_cannot_be_one_array(
    machine: Machine, text: str, words: tuple[str, ...], code: int, said: str
) -> None:
    ended = submit(machine, text, "--as-array", *words)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert count_jobs(machine) == 0


# What is refused; what a file alone can have wrong is in test_job_file.py


@pytest.mark.parametrize(
    ("text", "words", "code", "said"),
    [
        ("queue\nx\n-x", ("true",), 1, "jobs.csv:2: queue: field QUEUE"),
        ("JOB_NAME\n-x y", ("true",), 1, "jobs.csv:2: field JOB_NAME"),
        ("name\nx", ("--gpus", "2", "true"), 1, "jobs.csv:2: --gpus is not supported: field GPUS is not used"),
        ("env:1A\nx", ("true",), 1, "jobs.csv:2: env:1A: field ENVIRONMENT"),
        ("application\nX", ("true",), 1, "jobs.csv:2: "),
        ("after-ok\nnobody", ("true",), 1, "jobs.csv:2: the job cannot depend on nobody: no such job is known"),
        ("name\nx", (), 1, "jobs.csv:2: no program is given"),
        ("name,key\nx,k-2\ny,\n", ("--key", "k", "true"), 2, "jobs.csv:3: the key k-2 is also that of line 2"),
        ("name\nx", ("--array", "1-2", "true"), 2, "--array and --from cannot be used together"),
        ("name\nx", ("-s", "ARRAY=1-2", "true"), 2, "--array and --from cannot be used together"),
        ("name\nx", ("--context", "WORKING_DIRECTORY=/x", "true"), 2, "column working_directory"),
        ("name\nx", ("-p", "nosuch", "true"), 2, "there is no profile 'nosuch'"),
    ],
)  # fmt: skip
def test_a_refused_line_submits_nothing(
    machine: Machine, text: str, words: tuple[str, ...], code: int, said: str
) -> None:
    for wait, expected in (((), code), (("--wait",), 125)):
        ended = submit(machine, text, *wait, *words)
        assert (ended.code, ended.out) == (expected, "")
        assert said in ended.err
        assert "hint: " in ended.err or "X" in text
        assert "if this is interrupted" not in ended.err
    assert machine.directories == []
    assert count_jobs(machine) == 0


def test_an_error_of_many_lines_is_one_message(machine: Machine) -> None:
    ended = submit(machine, "walltime\n" + "x\n" * 30 + "5m\nsoon\nx\n", "true")
    first, _hint, second, total = ended.err.splitlines()
    assert first == "jobs.csv:2: walltime 'x' is not a time (also in 30 lines: 3-31,34)"
    assert second == "jobs.csv:33: walltime 'soon' is not a time"
    assert total == "incarnate: 32 errors: nothing was submitted"
    ended = submit(machine, "name,gpus\na,1\nb,2\nc c,\n", "true")
    first, _hint, second, _hint, _total = ended.err.splitlines()
    assert first.endswith("is not used by template START of profile here (also in line 3)")
    assert second.startswith("jobs.csv:4: name: ")
    ended = submit(machine, "walltime\n" + "x\n5m\n" * 200, "true")
    assert ended.err.splitlines()[0].endswith(
        " (also in 199 lines: 4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44, ...)"
    )


def test_twenty_kinds_of_errors_are_printed_and_all_counted(machine: Machine) -> None:
    kinds = "".join(f"{chr(103 + n % 20)} {'xyz'[n // 20]}\n" for n in range(30))
    for column, where in (("walltime", "walltime '"), ("name", "name: ")):
        ended = submit(machine, f"{column}\n{kinds}", "true")
        lines = [line for line in ended.err.splitlines() if line.startswith("jobs.csv:")]
        assert [line.split(": ", 1)[0] for line in lines] == [f"jobs.csv:{n}" for n in range(2, 22)]
        assert all(where in line for line in lines)
        assert ended.err.count("hint: ") == 1
        assert ended.err.endswith(
            "incarnate: 30 errors, the first 20 kinds of them above: nothing was submitted\n"
        )


def test_words_that_are_not_utf_8(machine: Machine) -> None:
    ended = submit(machine, "name\nx\n", "--stdout", "\udcff", "true")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("jobs.csv:2: --stdout: field STDOUT")
    assert "UTF-8" in ended.err
    assert count_jobs(machine) == 0


# Failures, interruptions, repetition


def test_failed_submissions_are_told_and_the_others_go_on(machine: Machine) -> None:
    text = "name,working_directory\na,\nb,/proc/none\nc,\n"
    words = ("--key", "it's", "true")
    ended = submit(machine, text, *words)
    assert (ended.code, len(ended.out.split())) == (1, 2)
    first, *rest = ended.err.splitlines()
    assert first.startswith("jobs.csv:3: ")
    assert rest == [
        "incarnate: 1 of 3 jobs were not submitted",
        "    hint: the same command with --key 'it'\"'\"'s' tries only these again, and submits no job twice",
    ]
    again = submit(machine, text.replace("/proc/none", ""), "--wait", *words)
    assert (again.code, again.err) == (0, "")
    assert [i for n, i in enumerate(again.out.split()) if n != 1] == ended.out.split()
    assert count_jobs(machine) == 3
    waited = submit(machine, text.replace("c,", "d,").replace("b,", "e,"), "--wait", "--key", "x", "true")
    assert waited.code == 125


def test_a_failure_of_many_jobs_is_one_message(machine: Machine) -> None:
    (machine.root / "file").touch()
    lines = "".join(f"{machine.root}/file/{n}\n" for n in range(30))
    ended = submit(machine, f"working_directory\n{lines}/proc/none\n", "--key", "k", "true")
    *errors, total, _hint = ended.err.splitlines()
    assert (ended.code, len([line for line in errors if line.startswith("jobs.csv:")])) == (1, 2)
    assert re.fullmatch(
        r"incarnate: 31 of 31 jobs were not submitted; "
        r"the error of line \d+ is also that of 29 lines: [-,0-9]+", total
    )  # fmt: skip


def test_submissions_whose_end_is_not_known_are_no_failures(machine: Machine) -> None:
    ended = submit(machine, "name\n" + "a\n" * 30, "--key", "k", "--host", "down", "true")
    *errors, total, hint = ended.err.splitlines()
    (line,) = (line for line in errors if line.startswith("jobs.csv:"))
    assert ended.code == 1
    assert "whether the job was submitted is not known" in line
    assert total.startswith("incarnate: 30 of 30 jobs may have been submitted; the error of line ")
    assert " is also that of 29 lines: " in total
    assert hint.endswith("with --key k tries only these again, and submits no job twice")


def test_a_changed_line_is_warned_of(machine: Machine) -> None:
    first = submit(machine, "name\na\nb\n", "--key", "k", "true")
    again = submit(machine, "name\na\nc\nd\n", "--key", "k", "true")
    assert again.code == 0
    assert again.out.split()[:2] == first.out.split()
    assert again.err.count("warning: the key k-2 belongs to job ") == again.err.count("warning") == 1
    assert "(name differs)" in again.err
    assert count_jobs(machine) == 3


@pytest.mark.race
def test_a_killed_command_goes_on_where_it_stopped(machine: Machine) -> None:
    """Each line's job runs exactly once, however often the command is killed in the middle."""
    count, marks = 60, machine.root / "marks"
    (machine.root / "jobs.csv").write_text("arguments\n" + "".join(f"{n}\n" for n in range(count)))
    words = (*HERE, "--from", "jobs.csv", "--key", "k", "sh", "-c", f"echo $0 >> {shlex.quote(str(marks))}")
    for printed in (3, 30):
        process = machine.start(*words)
        for _ in range(printed):
            assert process.stdout.readline()
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
    ended = machine.run(*words)
    assert ended.code == 0, ended.err
    ids = ended.out.split()
    assert len(set(ids)) == len(ids) == count == count_jobs(machine)
    assert machine.run("job", "wait", *ids).code == 0
    assert sorted(map(int, marks.read_text().split())) == list(range(count))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_tells_what_is_submitted(machine: Machine, number: signal.Signals) -> None:
    machine.add_gated()
    (machine.root / "jobs.csv").write_text("name\na\nb\n")
    words = ("job", "submit", "-p", "gated", "--from", "jobs.csv", "--key", "k", "true")
    first = machine.run(*words)
    (machine.root / "jobs.csv").write_text("name\na\nb\n" + "c\n" * 3)
    process = machine.start_hanging(*words)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (128 + number, first.out)
    message, hint = err.splitlines()[-2:]
    assert message.startswith("incarnate: interrupted: 2 of 5 jobs are submitted, and ")
    assert (
        hint == "    hint: the same command with --key k goes on where it stopped, and submits no job twice"
    )


# On a terminal


def test_a_bar_during_the_check(machine: Machine) -> None:
    """Also where the ids go to the terminal, and where a line is refused."""
    (machine.root / "jobs.csv").write_text("name\na\nb c\n")
    code, screen, _ = on_terminal(*HERE, "--from", "jobs.csv", "true", stream="both")
    assert code == 1
    assert "checking" in screen
    assert "2/2" in screen
    assert screen.rindex("\x1b[2K") > screen.rindex("2/2")
    assert screen.rindex("jobs.csv:3: ") > screen.rindex("2/2")


def test_a_bar_while_ids_go_elsewhere(machine: Machine) -> None:
    (machine.root / "jobs.csv").write_text("name,working_directory\na,\nb,/proc/none\n")
    words = (*HERE, "--from", "jobs.csv", "--key")
    code, screen, out = on_terminal(*words, "k", "true", stream="stderr")
    assert (code, len(out.split())) == (1, 1)
    assert "submitting" in screen
    assert "2/2" in screen
    assert "jobs.csv:3: " in screen
    assert screen.rindex("\x1b[2K") > screen.rindex("2/2")  # it is removed
    code, screen, _ = on_terminal(*words, "l", "true", stream="both")
    assert code == 1
    assert "submitting" not in screen


def test_what_many_jobs_have_in_common_is_said_once(machine: Machine) -> None:
    text = "name\n" + "a\n" * 25
    assert submit(machine, text, "--key", "k", "--fetch", "out*", "true").code == 0
    ended = submit(machine, text, "--key", "k", "--fetch", "out*", "--walltime", "9", "true")
    assert (ended.code, ended.err) == (
        0,
        (
            "incarnate: warning: 25 keys (k-1, k-2, k-3, ...) belong to jobs whose requests were others (walltime differs):"
            " these are returned; for a new job give a new key\n"
        ),
    )
    ended = machine.run("job", "wait", "k-*")
    assert (ended.code, ended.err.count("no file matches 'out*'"), ended.err.count("hint:")) == (125, 25, 1)
