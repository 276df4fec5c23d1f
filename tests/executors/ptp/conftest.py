"""Places for an agent's jobs: this machine, and a batch system that is four files."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.executors.ninfg.conftest import processes
from tests.executors.ptp.live import Live
from tests.programs import install_programs
from tests.strategies import document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTING = """\
  <idb:Template name="LIST_{template}">
    <idb:Invocation name=""><idb:Body>cat -- "${{SIM:?}}/{file}"</idb:Body></idb:Invocation>
    <idb:Field name="{kind}_PATTERN" isSettable="false">
      <idb:Value>(?m)^(?&lt;name>\\S+) (?&lt;state>\\w+){more}$</idb:Value>
    </idb:Field>
    <idb:Field name="{kind}_STATE" isSettable="false">{tags}</idb:Field>
  </idb:Template>
"""
STATUS = """\
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name=""><idb:Body>grep "^"'&lt;JOB_ID/'/'\\\\''>'" " "${SIM:?}/jobs" >&amp;2 &amp;&amp;
grep "^"'&lt;JOB_ID/'/'\\\\''>'" " "$SIM/jobs"</idb:Body></idb:Invocation>
    <idb:Invocation name="ALL"><idb:Body>cat -- "${SIM:?}/jobs"</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[a-z0-9.]+"><idb:Description>The id.</idb:Description></idb:Field>
    <idb:Field name="STATUS_PATTERN" isSettable="false">
      <idb:Value>(?m)^(?&lt;id>\\S+) (?&lt;state>[A-Z])(?: exit=(?&lt;exit>\\d+))?\
(?: host=(?&lt;host>\\S+))?(?: queue=(?&lt;queue>\\S+))?$</idb:Value>
    </idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="Q">QUEUED</idb:Tag><idb:Tag name="R">RUNNING</idb:Tag>
      <idb:Tag name="F">DONE</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="ABORT">
    <idb:Invocation name=""><idb:Body>echo '&lt;JOB_ID/'/'\\\\''>' >> "${SIM:?}/aborted"</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID" ext:pattern="[a-z0-9.]+"><idb:Description>The id.</idb:Description></idb:Field>
  </idb:Template>
"""


NODE_STATES = '<idb:Tag name="idle">UP</idb:Tag><idb:Tag name="down">DOWN</idb:Tag>'
QUEUE_STATES = '<idb:Tag name="open">OPEN</idb:Tag><idb:Tag name="shut">STOPPED</idb:Tag>'
DEFAULT = "(?&lt;default> default)?"
SIMULATED = (
    LISTING.format(template="NODES", file="nodes", kind="NODE", more="", tags=NODE_STATES)
    + LISTING.format(template="QUEUES", file="queues", kind="QUEUE", more=DEFAULT, tags=QUEUE_STATES)
    + STATUS
)


@dataclass(frozen=True)
class Place:
    """Directories of a test; the profile `here` runs jobs on this machine, `sim` is simulated."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """What an agent finds in its environment."""
        return {
            "HOME": str(self.root / "home"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "OSPROFILE_PATH": str(self.root / "profiles"),
            "SIM": str(self.root / "sim"),
        }

    def add(self, name: str, content: str = "") -> Path:
        """Add a profile."""
        path = self.root / "profiles" / f"{name}.xml"
        path.write_text(document(content, name=name, extends="linux", root=str(self.root / "jobs")))
        return path

    def simulate(self, **files: str) -> None:
        """Have the simulated batch system print other things from now on."""
        for name, text in files.items():
            new = self.root / "sim" / f"{name}.new"
            new.write_text(text)
            new.rename(self.root / "sim" / name)

    def live(self, profile: str, *words: str, proxy: str = "tcp") -> Live:
        """Start an agent."""
        given = ("--profile", profile, "--interval=0.2", *words)
        return Live(self.environment, *given, proxy=proxy, stderr=self.log)

    @contextmanager
    def session(self, profile: str, *words: str, proxy: str = "tcp") -> Iterator[Live]:
        """Start an agent and its events; at the end it has to answer QUIT."""
        with self.live(profile, *words, proxy=proxy) as live:
            live.begin()
            yield live
            assert live.quit() == 0

    @property
    def log(self) -> Path:
        """What agents write to their standard error."""
        return self.root / "log"

    @property
    def directories(self) -> list[Path]:
        """The jobs' working directories that are there."""
        return sorted((self.root / "jobs").glob("*/*"))

    @property
    def links(self) -> list[Path]:
        """The links from jobs' ids to their directories."""
        found = (self.root / "home/.gpe/jobs").rglob("*")
        return sorted(path for path in found if path.is_symlink())

    def processes(self) -> list[int]:
        """Give the processes of jobs of this place."""
        return processes(self.root)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Give a place; no agent may have told its user a traceback there."""
    for name in ("profiles", "jobs", "home", "sim"):
        (tmp_path / name).mkdir()
    install_programs(tmp_path / "home")
    made = Place(tmp_path)
    made.add("here")
    made.add("sim", SIMULATED)
    made.simulate(nodes="n1 idle\nn2 idle\n", queues="batch open default\nold shut\n", jobs="")
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)
    if made.log.exists():
        text = made.log.read_text()
        assert "Traceback" not in text, text
        assert "fault of osprofile" not in text, text
        assert "Warning:" not in text, text
