"""`incarnate new --batch-system`: the facts by options and by questions, and what samples tell."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Ended, Incarnate

FACTS = {
    "--submit": "sub {script}", "--answer": "{id}", "--list": "list", "--line": "{id} {state} {exit}",
    "--queued": "Q,W", "--running": "R", "--done": "C", "--cancel": "del {id}", "--own-id": "$MY_ID",
}  # fmt: skip
NEW = ("new", "mine", "--batch-system")
NO_STATE = [
    "no line of the sample {} has a state that an option names",
    "compare it with --line, and --queued and the like",
]


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the commands of the facts on PATH; they are never run."""
    path = tmp_path / "programs"
    path.mkdir()
    for name in ("sub", "list", "del", "kill"):
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    return path


def options(**changed: str | None) -> list[str]:
    facts = {**FACTS, **{f"--{name.replace('_', '-')}": value for name, value in changed.items()}}
    return [word for flag, value in facts.items() if value is not None for word in (flag, value)]


@pytest.fixture
def new(incarnate: Incarnate, tmp_path: Path) -> Incarnate:
    """Write a profile by the facts, some of them changed, and a sample of the list."""

    def run(*words: str, sample: str = "", **changed: str | None) -> Ended:
        if sample:
            (tmp_path / "list").write_text(sample)
            words = ("--sample-list", str(tmp_path / "list"), *words)
        return incarnate(*NEW, *options(**changed), *words)

    return run


def test_a_profile_that_lints_clean(incarnate: Incarnate, tmp_path: Path) -> None:
    ended = incarnate(*NEW, *options(), "--directory", str(tmp_path))
    assert (ended.code, ended.out, ended.err) == (0, f"{tmp_path}/mine/profile.xml\n", "")
    linted = incarnate("lint", str(tmp_path / "mine"))
    assert (linted.code, linted.out, linted.err) == (0, "", "")
    again = incarnate(*NEW, *options(), "--directory", str(tmp_path))
    assert again.code == 2
    assert "exists" in again.err
    assert incarnate(*NEW, *options()).out.count("<osp:Profile") == 1


def test_cancel_can_be_repeated(new: Incarnate) -> None:
    assert 'gpe_cancel() { del "$1" || kill "$1"; }' in new("--cancel", "kill {id}").out


def test_samples(incarnate: Incarnate, tmp_path: Path) -> None:
    (tmp_path / "answer").write_text("queueing\n7\n")
    (tmp_path / "list").write_bytes(b"ID STATE\n7 Q\n8 C 3\n9 C -1\n10 Z\n\x1b[31m \xff\n")
    samples = ("--sample-submit", str(tmp_path / "answer"), "--sample-list", str(tmp_path / "list"))
    ended = incarnate(*NEW, *options(), *samples)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "answer:1: not understood: queueing",
        "answer:2: id 7",
        "list:1: not understood: ID STATE",
        "list:2: id 7, state Q: QUEUED",
        "list:3: id 8, state C: DONE, exit code 3",
        "list:4: id 9, state C: FAILED",
        "list:5: id 10, state Z: WARNING: no option names this state",
        "list:6: not understood: \\x1b[31m \ufffd",
        "warning: 1 line of the list with a state that no option names: Z",
    ]
    told = json.loads(incarnate(*NEW, *options(), *samples, "--json").out)["samples"]
    assert [r["job_id"] for r in told["answer"]] == ["", "7"]
    assert [(r["number"], r["state"]) for r in told["list"]][1:3] == [(2, "QUEUED"), (3, "DONE")]


@pytest.mark.parametrize(
    ("sample", "warned"),
    [
        ("8 C x 3\n7 Q\n", True),
        ("8 C/1 x\n", True),
        ("8 C 3\n9 C -1\n", False),
        ("7 Q\n", False),
        ("7 R 5\n", False),
    ],
)
def test_a_sample_with_no_exit_code(new: Incarnate, sample: str, warned: bool) -> None:
    """The jobs have ended, but {exit} is another column: each would be FAILED."""
    ended = new(sample=sample)
    assert ended.code == 0
    warning = "warning: no exit code in any line of the list: compare {exit} in --line with its columns"
    assert (warning in ended.err.splitlines()) == warned


def test_without_an_exit_column_no_code_is_missed(new: Incarnate) -> None:
    assert new(line="{id} {state}", sample="8 C\n").err == "list:1: id 8, state C: DONE\n"


@pytest.mark.parametrize(
    ("line", "sample", "said"),
    [
        ("{id} {state} {exit}", "Q 7\nR 8\n", ["compare it with the option --line"]),
        ("{id} {state} {exit}", "ID STATE\n7 alice\n8 bob\n", NO_STATE),
        ("{state} {id}", "Z 7\nY 8\nZ 9\n", NO_STATE),
    ],
)
def test_a_sample_without_a_known_job_writes_nothing(
    new: Incarnate, tmp_path: Path, line: str, sample: str, said: list[str]
) -> None:
    ended = new("--directory", str(tmp_path), line=line, sample=sample)
    assert (ended.code, ended.out) == (2, "")
    assert "list:1: " in ended.err
    assert all(piece.format(f"{tmp_path}/list") in ended.err for piece in said)
    assert not (tmp_path / "mine").exists()


def test_each_unknown_state_is_counted(new: Incarnate) -> None:
    ended = new("--json", sample="7 Z\n8 R\n9 Y\n10 Z\n")
    assert ended.code == 0
    assert ended.err == "warning: 3 lines of the list with a state that no option names: Z, Y\n"


def test_a_program_that_is_not_here_is_a_warning(incarnate: Incarnate, programs: Path) -> None:
    (programs / "del").unlink()
    ended = incarnate(*NEW, *options(hold="holdd {id}", own_id="sh -c x"), "--cancel", "del -f")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "warning: del is not found on this machine", "warning: holdd is not found on this machine",
    ]  # fmt: skip


@pytest.mark.parametrize("operator", ["||", "|", ";", "&&", ">", "2>/dev/null"])
@pytest.mark.parametrize("fact", ["submit", "list", "cancel", "hold"])
def test_a_shell_operator_is_refused(incarnate: Incarnate, fact: str, operator: str) -> None:
    ended = incarnate(*NEW, *options(**{fact: f"sub a {operator} b"}))
    assert (ended.code, ended.out) == (2, "")
    assert f"has the shell operator {operator}: no shell reads it. Give --cancel twice" in ended.err
    assert "commands.sh" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*NEW, *options(list=None, queued=None)), "not described completely: --list, --queued"),
        ((*NEW,), "--submit, --list, --line, --queued, --running, --cancel"),
        ((*NEW, *options(own_id=None)), "a job must learn its own id"),
        ((*NEW, *options(held="a;id")), "is not a word"),
        ((*NEW, *options(directive="x")), "the directive prefix"),
        ((*NEW, *options(directive="#X{options}")), "is only how the line begins: leave {options} out"),
        (
            (*NEW, *options(directive="#X", submit="sub -o{options} {script}")),
            "leave {options} out of --submit",
        ),
        ((*NEW, *options(id_pattern="j.[0-9]+")), "allows a blank: . matches one"),
        ((*NEW, *options(), "-e", "slurm"), "cannot be used together"),
        ((*NEW, *options(), "--sample-list", "none"), "the sample none cannot be read: No such file"),
        (("new", "../x", "--batch-system", *options()), "is not allowed"),
        (("new", "x", "-e", "slurm", "--cancel", "x"), "needs --batch-system"),
        (("new", "x", "-e", "slurm", "--sample-list", "x"), "needs --batch-system"),
        (("new", "x"), "no parent is given"),
    ],
)
def test_errors(incarnate: Incarnate, words: tuple[str, ...], message: str) -> None:
    ended = incarnate(*words)
    assert ended.out == ""
    assert message in ended.err
    assert ended.code == 2


def on_terminal(answers: str, *words: str) -> tuple[int, str, str]:
    """Run the command with a terminal as its standard input; give the exit code, stdout and stderr."""
    leader, follower = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "osprofile", *words],
            stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(follower)
        os.write(leader, answers.encode())
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        os.close(leader)
    return process.returncode, out, err


def test_questions_on_a_terminal(new: Incarnate) -> None:
    """What an option tells is not asked for; what is needed is asked for again."""
    answers = ["{id}", "", "", "list", "{id} {state}", "$MY_ID", "Q", "R", *[""] * 5, "del", *[""] * 5]
    code, out, err = on_terminal("\n".join([*answers, ""]), *NEW, "--submit", "sub {script}")
    assert code == 0, err
    assert err.count("(--list)") == 2  # it was empty at first
    assert "an answer is needed" in err
    assert "(--submit)" not in err
    assert "(--resume)" not in err
    assert "[[0-9]+]: " in err
    assert new(line="{id} {state}", queued="Q", done="", cancel="del").out == out


def test_an_end_of_the_answers() -> None:
    code, out, err = on_terminal("sub\n\x04", *NEW)
    assert (code, out) == (2, "")
    assert "--answer was not answered" in err


def test_an_answer_is_checked_at_once(tmp_path: Path) -> None:
    """Each fault is told before the next question."""
    (tmp_path / "list").write_text("7 Z\n")
    (tmp_path / "good").write_text("7 R\n")
    answers = [
        "sub | x", "sub", "job", "{id}", "(", "", "list", "{id}", "{id} {state}", "'", "$MY_ID",
        "a b", "Q", "Q", "R",
        *[""] * 5, "del a || del b", "del a", "'", "kill {id}", "", "hold 'x", "hold", "free", "x", "#X",
        str(tmp_path / "none"), "", str(tmp_path / "list"), str(tmp_path / "good"),
    ]  # fmt: skip
    code, out, err = on_terminal("\n".join([*answers, ""]), *NEW)
    assert code == 0, err
    refusals = [
        ("--submit", "has the shell operator |"),
        ("--answer", "must contain {id} once"),
        ("--id-pattern", "is not valid"),
        ("--line", "must contain {id} and {state} once"),
        ("--own-id", "cannot be split into words"),
        ("--queued", "is not a word"),
        ("--running", "two meanings"),
        ("--cancel", "has the shell operator ||"),
        ("--cancel", "cannot be split into words"),
        ("--hold", "cannot be split into words"),
        ("--directive", "is not # and a capital letter"),
        ("--sample-submit", "cannot be read"),
        ("--sample-list", "has a state that an option names"),
    ]
    place = 0
    for flag, message in refusals:
        place = err.index(message, err.index(f"({flag})", place))
        assert f"({flag})" in err[place:], "it is asked for again"
    assert 'gpe_cancel() { del a "$1" || kill "$1"; }' in out
    assert 'gpe_resume() { free "$1"; }' in out
    assert "list:1: id 7, state R: RUNNING" in err


def test_a_line_without_the_script_can_be_told_again() -> None:
    """Without a variable, the line must have the script: whoever left it out is not stuck."""
    line, script = "{id} {state} {} {exit}", "{id} {state} {} {exit} {script}"
    answers = [line, "", line, "", script, "", "Q"]
    words = ["--own-id", "--line", "--queued"]
    given = options(**dict.fromkeys(("own_id", "line", "queued")))
    defaults = [""] * 9  # the states, hold, directive and samples
    code, out, err = on_terminal("\n".join([*answers, *defaults, ""]), *NEW, "--id-pattern", "[0-9]+", *given)
    assert code == 0, err
    assert [err.count(f"({word})") for word in words] == [3, 3, 1]
    assert err.count("both are asked for again") == 2
    assert "gpe_find()" in out
    assert 'exit=" $4' in out


def test_what_is_wrong_already_is_told_before_the_first_question(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/profile.xml").touch()
    for words, message in (
        (("--directory", str(tmp_path)), "profile.xml exists"),
        (("--cancel", "a ; b"), "has the shell operator ;"),
    ):
        code, out, err = on_terminal("", *NEW, *words)
        assert (code, out) == (2, "")
        assert message in err
        assert "(--submit)" not in err


def test_ids_with_other_characters_and_jobs_that_the_list_leaves_out(
    incarnate: Incarnate, new: Incarnate, tmp_path: Path
) -> None:
    """Ids as j#1@toy:1; the command for ended jobs prints lines as the list does."""
    pattern = r"j#[0-9]+@[a-z]+:[0-9]+"
    facts = options(id_pattern=pattern, list_ended="list --old={id}", line="{id} {state}")
    (tmp_path / "ended").write_text("j#1@toy:1 C\nj#2@toy:1 Z\n")
    ended = incarnate(*NEW, *facts, "--sample-ended", str(tmp_path / "ended"), "--directory", str(tmp_path))
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "ended:1: id j#1@toy:1, state C: DONE",
        "ended:2: id j#2@toy:1, state Z: WARNING: no option names this state",
        "warning: 1 line of the list with a state that no option names: Z",
    ]
    text = (tmp_path / "mine/profile.xml").read_text()
    assert 'do list --old="$gpe_id" || :; done; }' in text
    assert incarnate("lint", str(tmp_path / "mine")).code == 0
    failed = new(sample="ID STATE\nj#1@toy:1 C\n")
    assert failed.code == 2
    assert "compare it with the option --line, and --id-pattern [0-9]+ with j#1@toy:1" in failed.err
