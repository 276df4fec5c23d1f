"""The end of `incarnate job show`: the last lines of the error output, and the likely cause."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.jobs.diagnosis import explain_failure
from osprofile.jobs.state import EndCause, JobState, JobStatus

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

OUTPUT = {
    "bash: line 1: module: command not found": "the command module is not defined on n7: ",
    "sh: 1: module: not found": "the command module is not defined on n7: ",
    ".gpe/script: 1: exec: sim: not found": "the command sim is not found on n7: give its path",
    "job.sh: line 7: cd-hit: command not found": "the command cd-hit is not found on n7: ",
    "zsh:1: command not found: sim": "the command sim is not found on n7: ",
    "/usr/bin/env: 'python': No such file or directory": "the command python is not found on n7: ",
    "env: \u2018python\u2019: No such file or directory": "the command python is not found on n7: ",
    "ModuleNotFoundError: No module named 'numpy.linalg'": "Python does not find the module numpy.linalg on n7: ",
    "./sim: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file":
        "the program needs the library libmpi.so.40, which is not found on n7: ",
    "ERROR: Unable to locate a modulefile for 'gcc/15'": "the environment module gcc/15 does not exist on n7: ",
    'Lmod has detected the following error: The following module(s) are unknown: "gcc/15"':
        "the environment module gcc/15 does not exist on n7: ",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch.": "it ran out of memory on n7: --memory",
    "MemoryError": "it ran out of memory on n7: ",
    "terminate called after throwing an instance of 'std::bad_alloc'": "it ran out of memory on n7: ",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7 TiB": "it ran out of memory on n7: ",
    "slurmstepd: error: *** JOB 7 ON n7 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***":
        "it ran longer than its time limit: --walltime gives it more",
    "=>> PBS: job killed: walltime 35 exceeded limit 30": "it ran longer than its time limit: ",
    "bash: ./job.sh: /bin/sh^M: bad interpreter: No such file or directory": "the script has line ends of DOS: ",
    "job.sh: line 2: $'\\r': command not found": "the script has line ends of DOS: ",
    "sh: 1: ./sim: Permission denied": "./sim may not be read or run on n7: ls -l shows its mode",
    "bash: ./sim: cannot execute binary file: Exec format error": "the program was built for another kind of machine",
    "cp: error writing 'x': No space left on device": "a disk is full on n7",
    "FileNotFoundError: [Errno 2] No such file or directory: 'a b.csv'": "the file 'a b.csv' does not exist on n7",
    "cat: input.dat: No such file or directory": "the file input.dat does not exist on n7",
    "IndexError: list index out of range": "",
}  # fmt: skip


def status(**values: Any) -> JobStatus:  # noqa: ANN401
    state = JobState.DONE if "exit_code" in values else JobState.FAILED
    return JobStatus("7", state, hosts=("n7", "n8"), **values)


@pytest.mark.parametrize("line", OUTPUT)
def test_a_line_of_the_error_output(line: str) -> None:
    explained = explain_failure(status(exit_code=1), ["first", line, "last"])
    assert explained.startswith(OUTPUT[line])
    assert bool(explained) == bool(OUTPUT[line])


@pytest.mark.parametrize("cause", sorted(EndCause))
def test_each_cause_has_its_texts(cause: EndCause) -> None:
    assert cause.description
    assert cause.label
    lines = ["sh: 1: sim: not found"]
    assert explain_failure(status(cause=cause), lines)
    is_exact = cause not in {EndCause.SIGNAL, EndCause.FILES}
    assert (explain_failure(status(cause=cause), lines) == explain_failure(status(cause=cause))) == is_exact


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"exit_code": 127}, "the program, or a command in it, is not found on n7: "),
        ({"exit_code": 126}, "the program cannot be run on n7: "),
        ({"exit_code": 137}, "it was killed by SIGKILL on n7: often it used too much memory"),
        ({"signal": 9, "cause": EndCause.SIGNAL}, "it was killed by SIGKILL on n7: "),
        ({"signal": 11, "cause": EndCause.SIGNAL}, "the program crashed (SIGSEGV) on n7"),
        ({"exit_code": 1}, ""),
        ({"signal": 40}, ""),
    ],
)
def test_exit_codes_and_signals(values: dict[str, Any], sentence: str) -> None:
    assert explain_failure(status(**values)).startswith(sentence)
    assert bool(explain_failure(status(**values))) == bool(sentence)


def test_the_place() -> None:
    assert "is not found on far: " in explain_failure(
        JobStatus("7", JobState.DONE, exit_code=127), (), "pbs@far"
    )
    assert "is not found where it ran: " in explain_failure(JobStatus("7", JobState.DONE, exit_code=127))


def end_of(machine: Machine, *words: str) -> list[str]:
    """Return what `job show` prints after the states of a job that has ended."""
    job = machine.run("job", "submit", "-p", "here", *words).out.strip()
    machine.run("job", "wait", job)
    ended = machine.run("job", "show", job)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    states = lines[lines.index("states, when they were seen") + 1 :]
    return list(itertools.dropwhile(re.compile(r"  \d{4}-\d\d-\d\d ").match, states))


def test_the_end_of_a_failed_job(machine: Machine) -> None:
    lines = end_of(machine, "sh", "-c", "seq 20 >&2; printf 'a\\033[2Jb\\r10%%\\r20%%\\r\\n\\n' >&2; exit 3")
    assert lines == ["error output, the last lines", *(f"  {n}" for n in range(12, 21)), "  20%"]
    lines = end_of(machine, "nosuchprogram")
    assert lines[1].endswith("nosuchprogram: not found")
    assert lines[2].startswith("likely cause: the command nosuchprogram is not found on ")
    assert end_of(machine, "sh", "-c", "kill -9 $$")[0].startswith(
        "likely cause: it was killed by SIGKILL on "
    )
    assert end_of(machine, "sh", "-c", "exit 1") == []
    assert end_of(machine, "sh", "-c", "echo fine >&2") == []


def test_control_characters_do_not_act(machine: Machine) -> None:
    lines = end_of(machine, "sh", "-c", "printf 'x\\033]0;t\\007: not found\\n' >&2; exit 1")
    assert lines[1] == r"  x\x1b]0;t\x07: not found"
    assert all(line.isprintable() for line in lines)


def test_much_output_is_read_in_part(machine: Machine) -> None:
    lines = end_of(machine, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1")
    assert lines == ["error output, the last lines", f"  {'x' * 4096}"]
    lines = end_of(
        machine, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; exit 1"
    )
    assert lines == ["error output, the last lines", "  end"]


def test_an_array_and_json(machine: Machine) -> None:
    script = "[ $GPE_ARRAY_INDEX = 1 ] || { echo task $GPE_ARRAY_INDEX >&2; nosuchprogram; }"
    assert end_of(machine, "--array", "1-3", "sh", "-c", script)[1:2] == ["  task 2"]
    (job,) = json.loads(machine.run("job", "show", "--json", machine.run_json("list")[0]["id"]).out)
    assert job["error_lines"][0] == "task 2"
    assert job["likely_cause"].startswith("the command nosuchprogram is not found")


SETUP = """<idb:Template>
  <idb:Field name="SITE_SETUP" isSettable="false"><idb:Value>{}</idb:Value></idb:Field>
</idb:Template>"""


def test_errors_of_the_sites_own_lines(machine: Machine) -> None:
    """The program runs without its module all the same."""
    machine.add("here", SETUP.format("echo loading; nomodule load x"))
    label = "output of the site's own lines, the last lines"
    lines = end_of(machine, "true")
    assert lines[:2] == [label, "  loading"]
    assert lines[2].endswith("nomodule: not found")
    assert len(lines) == 3
    printed = lines[2].strip()
    for words in (["sh", "-c", "exit 3"], ["nosuchprogram"], ["--array", "2", "sh", "-c", "exit 3"]):
        lines = end_of(machine, *words)
        assert lines[:2] == [label, "  loading"]
        assert lines[-1].startswith("likely cause: the site's own lines before the program printed '")
        assert lines[-1].endswith("nomodule: not found': report this to the site")
    (job,) = json.loads(machine.run("job", "show", "--json", machine.run_json("list")[0]["id"]).out)
    assert job["setup_lines"] == ["loading", printed]
    for setup in ("set -e; nomodule load x", "nomodule load x || exit 1"):
        machine.add("here", SETUP.format(setup))
        lines = end_of(machine, "true")
        assert machine.run_json("list")[-1]["cause"] == "SITE_SETUP"
        assert lines[1].endswith("nomodule: not found")
        assert lines[-1].startswith("likely cause: the site's own lines before the program printed ")
    machine.add("here", SETUP.format("exit 3"))
    assert end_of(machine, "true") == [
        "likely cause: the site's own lines before the program failed: report this to the site"
    ]


def test_what_cannot_be_used_has_a_reason(machine: Machine) -> None:
    """Such a job has no exit code; one that a program ends with, 125 too, is the program's."""
    bad = machine.root / "a:b"
    bad.mkdir()
    field = '<idb:Field name="MODULES"><idb:Default/></idb:Field>'
    machine.add("here", f"<idb:Template>{field}</idb:Template>")
    for words, reason, cause in (
        (("--stdin", "/no/in"), "STDIN /no/in cannot be read", ""),
        (("--directory", "/no/such"), "directory /no/such cannot be entered", ""),
        (("--set", "MODULES=gcc"), "module gcc cannot be loaded", "the command module is not defined on "),
        (("--container", "x.sif", "--directory", str(bad)), f"directory {bad} cannot be bound", ""),
    ):
        job = machine.run("job", "submit", "-p", "here", *words, "true").out.strip()
        ended = machine.run("job", "wait", job)
        assert (ended.code, reason in ended.err) == (125, True)
        shown = json.loads(machine.run("job", "show", "--json", job).out)[0]
        assert (shown["state"], shown["cause"], shown["exit_code"]) == ("FAILED", "FILES", None)
        assert shown["reason"].startswith(reason)
        assert shown["likely_cause"].startswith(cause or "a file, directory, module or container that it")
        assert f"reason          {reason}" in machine.run("job", "show", job).out
    job = machine.submit("sh", "-c", "exit 125")
    assert machine.run("job", "wait", job).code == 125
    shown = json.loads(machine.run("job", "show", "--json", job).out)[0]
    assert (shown["state"], shown["cause"], shown["exit_code"]) == ("DONE", None, 125)


def test_output_that_is_gone(machine: Machine) -> None:
    job = machine.submit("--key", "k", "sh", "-c", "echo gone >&2; exit 127")
    machine.run("job", "wait", job)
    for directory in machine.directories:
        (directory / "stderr").unlink()
    ended = machine.run("job", "show", "k")
    assert (ended.code, ended.err) == (0, "")
    assert "error output" not in ended.out
    assert "\nlikely cause: the program, or a command in it, is not found on " in ended.out


def test_a_node_that_does_not_see_the_workspace() -> None:
    """The remedy is the command that writes a profile with another one."""
    seen = status(cause=EndCause.NODE, native_state="exited/no-directory")
    assert explain_failure(seen, (), "slurm:west@me@h:22").endswith(
        "incarnate new NAME --extends slurm --workspace DIR"
    )
    assert "the machine failed" in explain_failure(status(cause=EndCause.NODE), (), "slurm")
