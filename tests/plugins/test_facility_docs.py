"""The steps of docs/facility.md, as they stand there, and that its table has all operations."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.facility.conftest import ROOTED
from tests.plugins.test_facility import list_client_operations

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = (Path(__file__).parents[2] / "docs" / "facility.md").read_text()


def block(word: str, mark: str) -> str:
    """Return the first block of a kind that contains some text."""
    blocks = re.findall(rf"^```{word}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return next(text for text in blocks if mark in text)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a home in which the daemon of the page runs, on a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    profile = tmp_path / ".config/osprofile/profiles/here/profile.xml"
    profile.parent.mkdir(parents=True)
    profile.write_text(ROOTED.format(root=tmp_path / "work"))
    settings = block("toml", "[resources.here]").replace('profile = "linux"', 'profile = "here"')
    (tmp_path / ".config/osprofile/facility.toml").write_text(f"port = {port}\n{settings}")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "OSPROFILE_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PORT", str(port))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    script = block("sh", "osprofile-facility &").replace("&", "< /dev/null 2> log & echo $!; wait")
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        pid, address = int(shell.stdout.readline()), shell.stdout.readline()
        assert address == f"http://127.0.0.1:{port}/api/v2\n"
        yield tmp_path
        os.kill(pid, signal.SIGTERM)


def test_the_steps(home: Path) -> None:
    def on_port(text: str) -> str:
        assert "8020" in text
        return text.replace("8020", os.environ["PORT"])

    shell = on_port(block("sh", "curl -s"))
    answers = subprocess.run(
        ["sh", "-ec", shell], cwd=home, capture_output=True, text=True, check=True
    ).stdout
    facility, end = json.JSONDecoder().raw_decode(answers)
    job = json.loads(answers[end:])
    assert facility["name"] == "The machines of our group"
    assert job["status"]["state"] in {"queued", "active"}
    client = on_port(block("python", "amsc_iri_v2")).replace("sleep(1)", "sleep(0.05)")
    ended = subprocess.run(
        [sys.executable, "-c", client], cwd=home, capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("completed 0 hello\n\n", "")


def test_every_operation_stands_there() -> None:
    section = TEXT.partition("\n## Operations\n")[2]
    named = set(re.findall(r"`(\w+)`", section))
    assert list_client_operations().keys() <= named
