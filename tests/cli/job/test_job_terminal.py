"""What people see on a terminal: the colours of a table, the progress of waiting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import on_terminal

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine


def test_states_have_colours_on_a_terminal_only(machine: Machine) -> None:
    good, bad = machine.submit("true"), machine.submit("false")
    assert machine.run("job", "wait", good, bad).code == 1
    for words in (("job", "list"), ("job", "list", good, bad)):
        code, screen, _ = on_terminal(*words, stream="stdout")
        assert code == 0
        assert "\x1b[32mDONE" in screen
        assert "\x1b[31mDONE" in screen
        assert "\x1b" not in machine.run(*words).out
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, screen, _ = on_terminal("job", "list", stream="stdout", **environment)
        assert code == 0
        assert "DONE" in screen
        assert "\x1b" not in screen


def test_waiting_shows_each_job_on_standard_error(machine: Machine) -> None:
    jobs = [machine.submit("sh", "-c", f"sleep 1; exit {code}") for code in (0, 3)]
    code, screen, out = on_terminal("job", "wait", *jobs, stream="stderr")
    assert (code, out) == (3, "")
    for job_id in jobs:
        assert job_id in screen
    screen, _, told = screen.rpartition("\x1b[?25h")  # the cursor is back
    assert told.strip() == f"incarnate: job {jobs[1]} ended with exit code 3"
    last = screen.rpartition(jobs[0])[2]
    assert last.count("DONE") == 2
    assert "\x1b[32m" in screen


def test_submit_shows_its_waiting_too(machine: Machine) -> None:
    code, screen, out = on_terminal(
        "job", "submit", "-p", "here", "--wait", "sh", "-c", "kill -KILL $$", stream="stderr"
    )
    assert code == 137
    assert out.strip() in screen
    assert "SIGKILL" in screen
    assert "UNKNOWN" not in screen  # the state before the first answer is not known, and not shown
    assert machine.run_json("list")[0]["id"] == out.strip()


def test_waiting_without_colours(machine: Machine) -> None:
    job_id = machine.submit("true")
    code, screen, _ = on_terminal("job", "wait", job_id, stream="stderr", NO_COLOR="1")
    assert code == 0
    assert "DONE" in screen
    assert "\x1b[3" not in screen


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_dumb_terminal_gets_no_progress(machine: Machine, stream: str) -> None:
    job_id = machine.submit("true")
    code, screen, other = on_terminal("job", "wait", job_id, stream=stream, TERM="dumb")
    assert (code, screen, other) == (0, "", "")


def test_many_jobs_are_counted_in_one_line(machine: Machine) -> None:
    jobs = [machine.submit("true") for _ in range(8)]
    code, screen, _ = on_terminal("job", "wait", *jobs, stream="stderr", lines=8)
    assert code == 0
    assert "and 3 more: 3 DONE" in screen


def test_the_attempt_that_runs_is_shown(machine: Machine) -> None:
    words = ("--walltime", "1", "--retry", "TIME: walltime*60", "--key", "k")
    job_id = machine.submit(*words, "sh", "-c", "sleep 8; exit 3")  # long enough to be shown
    code, screen, _ = on_terminal("job", "wait", job_id, stream="stderr", columns=200)
    attempt = machine.run_json("show", "k~2")[0]["id"]
    assert (code, attempt != job_id) == (3, True)
    assert re.search(rf"{attempt} .*RUNNING", screen)


def test_warnings_and_errors_do_not_spoil_the_progress(machine: Machine) -> None:
    job_id = machine.submit("sleep", "1")
    code, screen, _ = on_terminal("job", "wait", job_id, "1-2-0123abcd", "-p", "here", stream="stderr")
    assert code == 125
    assert "unknown job 1-2-0123abcd" in screen.replace("\r\n", " ").replace("  ", " ")
    assert "DONE" in screen.rpartition(job_id)[2]


def test_a_failure_is_told_with_the_verbs_that_explain_it(machine: Machine) -> None:
    output_hint = "incarnate job output ID prints what a job has written"
    hint = f"{output_hint}, incarnate job show ID why it failed; incarnate job rerun ID runs it again"
    assert output_hint not in on_terminal("job", "list", stream="both")[1]
    good = machine.submit("--wait", "true")
    assert on_terminal("job", "list", stream="both")[1].splitlines()[-1] == output_hint
    for name in "abc":
        machine.submit("--wait", "-N", name, "true")
    assert output_hint not in on_terminal("job", "list", stream="both")[1]
    assert machine.run("job", "submit", "-p", "here", "--wait", "false").code == 1
    code, screen, _ = on_terminal("job", "list", stream="both")
    assert code == 0
    assert hint in screen.splitlines()[-1]
    assert hint not in on_terminal("job", "list", good, stream="both")[1]
    assert hint not in machine.run("job", "list").err
    assert hint not in on_terminal("job", "list", stream="stderr")[1]
