"""Standard streams that are closed or full, arguments that are not UTF-8, and the codes of wrong usage."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.strategies import document, template

if TYPE_CHECKING:
    from pathlib import Path

OSPROFILE = f"{shlex.quote(sys.executable)} -m osprofile"


def run(words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command by a shell, which closes and redirects its streams."""
    base = {k: v for k, v in os.environ.items() if k != "OSPROFILE_PROFILE"}
    return subprocess.run(
        ["sh", "-c", f"{OSPROFILE} {words}"], env=base | {"HOME": str(home), **environment},
        capture_output=True, check=False,
    )  # fmt: skip


PRINTING = [
    "--version",
    "--help",
    "job",
    "lint --help",
    "show --list",
    "show -p linux",
    "START -p linux --self-contained",
]


@pytest.mark.parametrize(
    ("words", "stream", "message"),
    [
        *((words, "> /dev/full", b"incarnate: output: No space left on device\n") for words in PRINTING),
        *((words, ">&-", b"incarnate: output: Bad file descriptor\n") for words in PRINTING[:3]),
        ("show --list", ">&- <&-", b"incarnate: output: Bad file descriptor\n"),
        ("show -p linux", ">&- 2>&-", b""),
    ],
)
def test_a_result_that_cannot_be_written_is_told(words: str, stream: str, message: bytes, home: Path) -> None:
    done = run(f"{words} {stream}", home)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", message)


def test_messages_that_cannot_be_written_are_lost(home: Path) -> None:
    done = run("START -p no-such-profile 2>&-", home)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


def test_no_file_takes_the_place_of_a_closed_stream(home: Path) -> None:
    """A file that a command opens does not get the descriptor of a closed stream."""
    done = run(f"job submit -p linux --store {home}/jobs.db true >&- <&-", home)
    assert done.returncode == 1
    assert b" was submitted, but its id cannot be printed: Bad file descriptor\n" in done.stderr
    assert (home / "jobs.db").read_bytes().startswith(b"SQLite format 3\0")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("job submit -p linux --key $(printf '\\377') true", 2),
        ("job submit -p linux --key $(printf '\\377') --wait true", 125),
        ("job status -p linux $(printf '\\377')", 2),
        ("START -p linux -s $(printf '\\377')=x", 1),
    ],
)
def test_words_that_are_no_utf8(words: str, code: int, home: Path) -> None:
    done = run(f"{words} --store {home}/jobs.db" if "job status" in words else words, home)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.startswith(b"incarnate: ")
    assert b"\\xff" in done.stderr
    assert b"internal error" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("START -p linux --nope", 2),
        ("START -p linux --run --nope", 125),
        ("START -p linux --run --set", 125),
        ("START -p linux --run a b", 125),
        ("render --run", 125),
        ("deploy --run --nope", 125),
        ("job wait --nope", 125),
        ("job submit --wait --nope", 125),
        ("job submit --nope", 2),
        ("job wiat", 2),
    ],
)
def test_wrong_usage(words: str, code: int, home: Path) -> None:
    done = run(words, home)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr


def test_a_scripts_own_2_stays_2(home: Path, tmp_path: Path) -> None:
    profile = tmp_path / "two.xml"
    profile.write_text(document(template("TWO", "exit 2"), name="two", extends="linux"))
    assert run(f"TWO -p {profile} --run", home).returncode == 2
