"""A command line run in this process, with what it printed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from osprofile.cli import command_line
from osprofile.profile.data_directories import get_bundled_directory
from tests.fork_server import Forked, run_forked
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Incarnate = Callable[..., "Ended"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory; unset the variables that the command reads."""
    path = tmp_path / "home"
    path.mkdir()
    for name in ("OSPROFILE_PATH", "OSPROFILE_PROFILE", "OSPROFILE_DEBUG", "XDG_CONFIG_HOME", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    return path


@pytest.fixture
def incarnate(capfdbinary: pytest.CaptureFixture[bytes]) -> Incarnate:
    """Run the command with these words."""

    def run(*words: str) -> Ended:
        code = command_line.run_command_line(words)
        out, err = capfdbinary.readouterr()
        return Ended(code, out.decode(), err.decode())

    return run


PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="site" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="GREET">
    <idb:Description>Says hello.</idb:Description>
    <idb:Invocation><idb:Body>echo '&lt;TEXT/'/'\\\\''>' &lt;TIMES>
</idb:Body></idb:Invocation>
    <idb:Invocation name="LOUD"><idb:Body>echo HELLO >&amp;2; exit 7</idb:Body></idb:Invocation>
    <idb:Field name="TEXT"><idb:Description>What to say.</idb:Description><idb:Default>hello</idb:Default></idb:Field>
    <idb:Field name="TIMES" ext:type="integer"><idb:Min>1</idb:Min><idb:Max>10</idb:Max>
      <idb:Tag name="once">1</idb:Tag><idb:Default>once</idb:Default></idb:Field>
    <idb:Field name="NEEDED"/>
    <idb:Field name="FIXED" isSettable="false"><idb:Value>f</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="NEEDS"><idb:Invocation><idb:Body>&lt;NEEDED></idb:Body></idb:Invocation>
    <idb:Field name="NEEDED"/></idb:Template>
  <idb:Template name="COUNT">
    <idb:Invocation><idb:StaticScript fileName="count.sh" arguments="'&lt;TEXT/'/'\\\\''>'">#!/bin/sh
printf '%s' "$1" | wc -c
</idb:StaticScript></idb:Invocation>
    <idb:Field name="TEXT"><idb:Default>hello</idb:Default></idb:Field>
  </idb:Template>
</osp:Profile>
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the file of a profile that extends `linux`."""
    path = tmp_path / "site.xml"
    path.write_text(PROFILE)
    return path


def run_process(*words: str, cwd: Path | None = None, **changes: str | None) -> Ended:
    """Run the command as a process of its own, with other environment variables; None removes one."""
    return run_words([sys.executable, "-m", "osprofile", *words], cwd, **changes)


def run_words(words: Sequence[str], cwd: Path | None = None, **changes: str | None) -> Ended:
    """Run any command line with other environment variables; None removes one."""
    environment = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(
    *words: str, stream: str, columns: int = 100, lines: int = 24, answer: bytes = b"", **environment: str
) -> tuple[int, str, str]:
    """Run the command with one stream, or `both`, on a terminal; give the code, what that saw, and the other.

    `answer` is what is typed there.
    """
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: inner}
    if stream == "both":
        streams = {"stdout": inner, "stderr": inner}
    if answer:
        streams["stdin"] = inner
        os.write(outer, answer)
    without = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}
    process = Forked(("incarnate", *words), **streams, env={**without, **environment})
    os.close(inner)
    screen = b""
    while True:
        try:
            block = os.read(outer, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        screen += block
    os.close(outer)
    other = b""
    for file in (process.stdout, process.stderr):
        if file:
            with file:
                other += file.read()
    return process.wait(), screen.decode(), other.decode()


def completions(line: str, home: Path) -> set[str]:
    """Return the shell's completions at the end of a command line."""
    environment = {
        "_INCARNATE_COMPLETE": "complete_bash",
        "COMP_WORDS": line.replace(" ", "\n"),
        "COMP_CWORD": str(len(line.split()) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "HOME": str(home),
    }
    ended = run_forked("incarnate", environment=environment, timeout=PATIENCE)
    assert ended.stderr == ""
    return set(ended.stdout.split())


def check_colours(*words: str) -> str:
    """Check that a terminal without colours gets the same text; return what one with colours gets."""
    _, coloured, _ = on_terminal(*words, stream="stdout", TERM="xterm")
    _, plain, _ = on_terminal(*words, stream="stdout", TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub("\x1b\\[([012]|3[1236])m", "", coloured) == plain
    return coloured


def error_in_full(incarnate: Incarnate, words: tuple[str, ...], code: int) -> str:
    """Return a command line with its expected exit code and complete standard error, which --json does not change."""
    ended = incarnate(*words)
    assert (ended.code, ended.out) == (code, "")
    assert incarnate(*words, "--json") == ended
    err = ended.err.replace(get_bundled_directory(), "BUNDLED")
    return f"{' '.join(map(repr, ('incarnate', *words)))}\nexit code {code}\n{err}"
