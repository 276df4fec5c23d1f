"""Stand-ins written by `incarnate shim`, called by real shells; their jobs run by a profile over `linux`."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from osprofile.cli.command_line import run_command_line
from osprofile.jobs.record.store import Store
from tests.cli.conftest import Ended
from tests.cli.job.conftest import PROFILE, end, template
from tests.fork_server import run_forked
from tests.programs import install_programs
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from osprofile.jobs.state import JobStatus

# START hangs after the file `gate-before` or `gate-after` was made, before or after its work; `begun` has its process id.
GATED_SHELL = """\
cd '{root}' || exit 1
cat > "script.$$" || exit 1
is_start() {{ grep -q ' start_session <<' "script.$$"; }}
if is_start && mv gate-before taken 2> /dev/null; then echo "$$" > pid; mv pid begun; exec sleep 1000; fi
sh -s < "script.$$"
status=$?
if is_start && mv gate-after taken 2> /dev/null; then echo "$$" > pid; mv pid begun; exec sleep 1000; fi
exit "$status"
"""


@dataclass(frozen=True)
class Place:
    """A directory with stand-ins in `bin`, a record, a home, and the directory `work`, where they are called."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def store(self) -> str:
        return str(self.root / "jobs.db")

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        return {
            "HOME": str(self.root / "home"),
            "PATH": f"{self.root / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            **extra,
        }

    def write_stand_ins(self, system: str, profile: str = "here", ignore: str = "") -> None:
        """Write the stand-ins of a batch system, for another profile if they are there already."""
        words = ["shim", str(self.root / "bin"), "--as", system, "-p", profile]
        words += ["--profiles", str(self.root / "profiles"), "--store", self.store]
        words += ["--ignore", ignore] if ignore else []
        assert run_command_line(words) == 0

    def start(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a stand-in."""
        return subprocess.Popen(
            [self.root / "bin" / words[0], *words[1:]],
            cwd=cwd or self.work,
            env=self.environment(env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, text: str = ""
    ) -> Ended:
        """Run a stand-in to its end; no traceback is ever shown."""
        with tempfile.TemporaryFile() as stdin:
            stdin.write(text.encode())
            stdin.seek(0)
            done = run_forked(
                str(self.root / "bin" / words[0]),
                *words[1:],
                environment=self.environment(env or {}),
                timeout=PATIENCE,
                cwd=cwd or self.work,
                stdin=stdin.fileno(),
            )
        assert "Traceback" not in done.stderr, done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def ok(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, text: str = ""
    ) -> str:
        """Run a stand-in that succeeds without a message, and return its output."""
        ended = self.run(*words, cwd=cwd, env=env, text=text)
        assert (ended.code, ended.err) == (0, ""), ended
        return ended.out

    def shell(self, script: str, *arguments: str) -> Ended:
        """Run a script of commands by bash, which finds the stand-ins through PATH."""
        done = subprocess.run(
            ["bash", "-c", script, "bash", *arguments],
            cwd=self.work,
            env=self.environment({}),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert "Traceback" not in done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def script(self, text: str, name: str = "job.sh") -> str:
        """Write a script in the directory `work`, and return its name."""
        (self.work / name).write_text(text)
        return name

    def record_end(self, number: int, status: JobStatus) -> None:
        """Record an end of a job that this machine cannot cause at will."""
        store = Store(self.store)
        record = store.find_by_key("here", f"shim:{number}")
        assert record is not None
        store.update_statuses("here", [status._replace(job_id=record.status.job_id)])
        store.close()

    @property
    def sessions(self) -> list[Path]:
        """The directories of all jobs."""
        return sorted((self.root / "jobs").glob("*/*"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Yield a place with stand-ins of both batch systems; end the jobs that still run afterwards."""
    root = tmp_path / "it's a place"
    for name in ("profiles", "home", "work", "jobs"):
        (root / name).mkdir(parents=True)
    install_programs(root / "home")
    made = Place(root)
    quoted_root = str(root).replace("'", "&apos;")
    (root / "profiles" / "here.xml").write_text(
        PROFILE.format(name="here", root=quoted_root + "/jobs", templates="")
    )
    made.write_stand_ins("slurm")
    made.write_stand_ins("torque")
    yield made
    for directory in made.sessions:
        session = directory / ".gpe/id"
        if session.exists() and not (directory / ".gpe_exit_status").exists():
            end(int(session.read_text().partition("-")[0]))


@pytest.fixture
def gated(place: Place) -> Place:
    """Return the place with stand-ins for a profile whose scripts can be made to hang."""
    gates = place.root.parent / "gates"
    gates.mkdir()
    (gates / "shell").write_text(GATED_SHELL.format(root=gates))
    text = PROFILE.format(
        name="here", root=place.root.parent / "jobs", templates=template("SHELL", f"sh '{gates}/shell'")
    )
    (place.root / "profiles" / "here.xml").write_text(text)
    return place
