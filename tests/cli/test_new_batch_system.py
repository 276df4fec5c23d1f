"""`incarnate new --batch-system`: the facts by options and by questions, and what samples tell."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Incarnate = Callable[..., Ended]

FACTS = {
    "--submit": "sub {script}", "--answer": "{id}", "--list": "list", "--line": "{id} {state} {exit}",
    "--queued": "Q,W", "--running": "R", "--done": "C", "--cancel": "del {id}", "--own-id": "$MY_ID",
}  # fmt: skip
NEW = ("new", "mine", "--batch-system")


def options(**changed: str | None) -> list[str]:
    facts = {**FACTS, **{f"--{name.replace('_', '-')}": value for name, value in changed.items()}}
    return [word for flag, value in facts.items() if value is not None for word in (flag, value)]


def test_a_profile_that_lints_clean(incarnate: Incarnate, tmp_path: Path) -> None:
    ended = incarnate(*NEW, *options(), "--directory", str(tmp_path))
    assert (ended.code, ended.out, ended.err) == (0, f"{tmp_path}/mine/profile.xml\n", "")
    linted = incarnate("lint", str(tmp_path / "mine"))
    assert (linted.code, linted.out, linted.err) == (0, "", "")
    again = incarnate(*NEW, *options(), "--directory", str(tmp_path))
    assert again.code == 2
    assert "exists" in again.err
    assert incarnate(*NEW, *options()).out.count("<osp:Profile") == 1


def test_cancel_can_be_repeated(incarnate: Incarnate) -> None:
    assert (
        'gpe_cancel() { del "$1" || kill "$1"; }' in incarnate(*NEW, *options(), "--cancel", "kill {id}").out
    )


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
        "list:5: id 10, state Z: no option has this word",
        "list:6: not understood: \\x1b[31m \ufffd",
    ]
    told = json.loads(incarnate(*NEW, *options(), *samples, "--json").out)["samples"]
    assert [r["job_id"] for r in told["answer"]] == ["", "7"]
    assert [(r["number"], r["state"]) for r in told["list"]][1:3] == [(2, "QUEUED"), (3, "DONE")]


def test_a_sample_without_a_job_writes_nothing(incarnate: Incarnate, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("Q 7\nR 8\n")
    ended = incarnate(*NEW, *options(), "--sample-list", str(tmp_path / "list"), "--directory", str(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert "list:1: not understood: Q 7" in ended.err
    assert "compare it with the option --line" in ended.err
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*NEW, *options(list=None, queued=None)), "not described completely: --list, --queued"),
        ((*NEW,), "--submit, --list, --line, --queued, --running, --cancel"),
        ((*NEW, *options(own_id=None)), "a job must learn its own id"),
        ((*NEW, *options(held="a;id")), "is not a word"),
        ((*NEW, *options(directive="x")), "the directive prefix"),
        ((*NEW, *options(), "-e", "slurm"), "exclude each other"),
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
        out, err = process.communicate(timeout=60)
    finally:
        os.close(leader)
    return process.returncode, out, err


def test_questions_on_a_terminal() -> None:
    """What an option tells is not asked for; what is needed is asked for again."""
    answers = ["{id}", "", "", "list", "{id} {state}", "Q", "R", *[""] * 5, "del", "", "", "", "$MY_ID"]
    code, out, err = on_terminal("\n".join([*answers, ""]), *NEW, "--submit", "sub {script}")
    assert code == 0, err
    assert err.count("(--list)") == 2  # it was empty at first
    assert "(--submit)" not in err
    assert "[[0-9]+]: " in err
    expected = [word for flag, value in FACTS.items() for word in (flag, value)]
    expected[expected.index("--line") + 1] = "{id} {state}"
    expected[expected.index("--queued") + 1] = "Q"
    expected[expected.index("--done") + 1] = ""
    expected[expected.index("--cancel") + 1] = "del"
    told = subprocess.run(
        [sys.executable, "-m", "osprofile", *NEW, *expected],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert out == told.stdout


def test_an_end_of_the_answers() -> None:
    code, out, err = on_terminal("sub\n\x04", *NEW)
    assert (code, out) == (2, "")
    assert "--answer was not answered" in err
