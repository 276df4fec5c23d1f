"""What a command does and says where the environment lacks something: HOME, a locale, a home to write to."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import run_process, run_words

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = (sys.executable, "-m", "osprofile")


def test_without_home_the_user_s_own_is_used(site: Path) -> None:
    text = site.read_text().replace("echo '", 'echo "${HOME:?}"; echo \'', 1)
    site.write_text(text)
    ended = run_process("GREET", "-p", str(site), "--run", HOME=None)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[0] == pwd.getpwuid(os.getuid()).pw_dir


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """As in a container whose user id has no name."""
    from osprofile.cli import command_line

    def know_nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", know_nobody)
    for name in ("HOME", "XDG_STATE_HOME", "OSPROFILE_STORE"):
        monkeypatch.delenv(name, raising=False)
    assert command_line.run_command_line(["job", "list"]) == 1
    assert capfd.readouterr().err == (
        "incarnate: the record of the jobs has no place: ~/.local/state is no absolute path\n"
        "    hint: set HOME to your home directory, or OSPROFILE_STORE to a file\n"
    )


def test_a_relative_home() -> None:
    """The record of the jobs would be another one in each directory."""
    ended = run_process("job", "list", HOME="rel", XDG_STATE_HOME=None, OSPROFILE_STORE=None)
    assert (ended.code, ended.out) == (1, "")
    assert "rel/.local/state is no absolute path\n" in ended.err


def test_too_few_file_descriptors() -> None:
    words = ["sh", "-c", 'ulimit -n 10; exec "$@"', "sh", *COMMAND, "job", "submit", "-p", "linux", "true"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "Too many open files" in ended.stderr
    assert "None" not in ended.stderr


def test_a_home_in_which_no_job_has_a_link(tmp_path: Path) -> None:
    store = str(tmp_path / "jobs.db")
    ended = run_process("job", "submit", "-p", "linux", "true", HOME="/proc/nohome", OSPROFILE_STORE=store)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(
        "incarnate: no link to the job can be created in .gpe/jobs of the home directory /proc/nohome: "
    )
    assert ended.err.endswith("    hint: set HOME to a directory that you can write to\n")


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "xx_XX"])
@pytest.mark.parametrize("mode", [None, "0"])
def test_words_are_utf_8_in_every_locale(site: Path, locale: str, mode: str | None) -> None:
    words = ("GREET", "-p", str(site), "-s", "TEXT=é 日本", "--run")
    ended = run_process(*words, LC_ALL=locale, PYTHONUTF8=mode, PYTHONCOERCECLOCALE=mode)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("é 日本")


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_the_words_of_a_job_are_utf_8_in_every_locale(tmp_path: Path, locale: str) -> None:
    changes = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    out = tmp_path / "out"
    options = (
        "--wait",
        "--context",
        f"WORKING_DIRECTORY={tmp_path}/job",
        "--stdout",
        str(out),
        "-e",
        "V=日本",
    )
    words = (*options, "sh", "-c", 'echo "$0 $V"', "é")
    ended = run_process("job", "submit", "-p", "linux", *words, HOME=str(tmp_path), **changes)
    assert (ended.code, ended.err) == (0, "")
    assert out.read_text(encoding="utf-8") == "é 日本\n"


@pytest.mark.parametrize("shell", [name for name in ("bash", "zsh") if shutil.which(name)])
def test_a_home_that_cannot_be_written(shell: str, tmp_path: Path) -> None:
    """A file in the place of the home, since root may write to every directory."""
    home = tmp_path / "file"
    home.touch()
    # It looks which shell runs it.
    words = (shell, "-c", '"$@"; exit $?', shell, *COMMAND, "--install-completion")
    ended = run_words(words, HOME=str(home), SHELL=f"/bin/{shell}")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"incarnate: the completion was not installed: {home}")
    assert ended.err.endswith(
        "    hint: incarnate --show-completion prints it, for a file that your shell reads\n"
    )
