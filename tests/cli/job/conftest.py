"""`incarnate` as a real process, with a home, profiles and a record of its own, and a stand-in for ssh."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.jobs.record.store import Store, default_store_path
from tests.cli.conftest import Ended
from tests.fork_server import COMMAND, run_incarnate
from tests.programs import install_programs
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.jobs.state import JobStatus

PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="{name}" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
{templates}</osp:Profile>
"""
# The first script after the file `gate-before` or `gate-after` was made hangs, before or after its
# work; its process id is then in `begun`.
SHELL = """\
cd '{root}' || exit 1
echo run >> shells
if mv gate-before taken 2> /dev/null; then echo "$$" > pid; mv pid begun; exec sleep 100; fi
sh -s
status=$?
if mv gate-after taken 2> /dev/null; then echo "$$" > pid; mv pid begun; exec sleep 100; fi
exit "$status"
"""
# ssh as far as a profile's SHELL needs it; the host `down` cannot be reached, `lost` is none.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" != down ] || {{ echo "ssh: connect to host down port 22: No route to host" >&2; exit 255; }}
[ "$2" != lost ] || {{ echo "ssh: Could not resolve hostname lost: Name or service not known" >&2; exit 255; }}
[ ! -e '{root}/down' ] || {{ echo "ssh: connect to host $2: No route to host" >&2; exit 255; }}
echo "$2" >> '{root}/connections'
{{ # a connection that is open breaks, too
  while kill -0 $$ && [ ! -e '{root}/down' ]; do sleep 0.05; done
  [ ! -e '{root}/down' ] || {{ echo "ssh: connect to host $2: No route to host" >&3; kill -s TERM $$; }}
}} 3>&2 > /dev/null 2>&1 < /dev/null &
shift 2
exec "$@"
"""


def template(name: str, body: str, fields: str = "") -> str:
    """Return a template with one body."""
    return (
        f'  <idb:Template name="{name}"><idb:Invocation name=""><idb:Body><![CDATA[{body}]]>'
        f"</idb:Body></idb:Invocation>{fields}</idb:Template>\n"
    )


@dataclass(frozen=True, slots=True)
class Machine:
    """A place to run jobs: profile `here` starts them on this machine; `root` is its directory."""

    root: Path

    def add(self, name: str, templates: str) -> None:
        """Add a profile, on the search path."""
        text = PROFILE.format(name=name, root=self.root / "jobs", templates=templates)
        (self.root / "profiles" / f"{name}.xml").write_text(text)

    def drop_kept_profiles(self) -> None:
        """Delete the versions of profiles that were kept for their jobs."""
        shutil.rmtree(f"{default_store_path()}.profiles")

    def add_gated(self) -> None:
        """Add the profile `gated`, whose scripts can be made to hang."""
        (self.root / "shell").write_text(SHELL.format(root=self.root))
        self.add("gated", template("SHELL", f"sh '{self.root}/shell'"))

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:  # noqa: ANN401
        """Start the command."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*COMMAND, *words], text=True, **options)

    def start_hanging(self, *words: str, gate: str = "before") -> subprocess.Popen[str]:
        """Start the command, and wait until a script of the profile `gated` hangs before or after its work."""
        (self.root / f"gate-{gate}").touch()
        process = self.start(*words)
        self.hung()
        return process

    def run(self, *words: str, **environment: str) -> Ended:
        """Run the command with further environment variables."""
        ended = run_incarnate(*words, environment={**os.environ, **environment}, timeout=PATIENCE)
        assert "Traceback" not in ended.stderr
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def submit(self, *words: str, profile: str = "here") -> str:
        """Submit a job, and return its id."""
        ended = self.run("job", "submit", "-p", profile, *words)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.endswith("\n")
        return ended.out.rstrip("\n")

    def run_json(self, *words: str) -> list[dict[str, Any]]:
        """Run a job verb with --json and return the parsed output."""
        ended = self.run("job", *words, "--json")
        assert ended.code == 0, ended.err
        found: list[dict[str, Any]] = json.loads(ended.out)
        return found

    def hung(self) -> int:
        """Wait until a script of the profile `gated` hangs, and give its process id."""
        wait_for_file(self.root / "begun")
        return int((self.root / "begun").read_text())

    @property
    def directories(self) -> list[Path]:
        """The working directories of all jobs."""
        return sorted((self.root / "jobs").glob("*/*"))


def adopt(target: str, *statuses: JobStatus) -> None:
    """Put jobs into the record as if they had been found on a target system."""
    with contextlib.closing(Store(default_store_path())) as store:
        for status in statuses:
            store.adopt_job(target, status)


@pytest.fixture
def machine(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Machine]:
    """Yield a machine for jobs; end those that still run afterwards."""
    for name in ("XDG_STATE_HOME", "OSPROFILE_STORE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "machine"
    for name in ("profiles", "bin", "jobs"):
        (root / name).mkdir(parents=True)
    monkeypatch.chdir(root)
    ssh = root / "bin" / "ssh"
    ssh.write_text(SSH.format(root=root))
    ssh.chmod(0o755)
    monkeypatch.setenv("OSPROFILE_PATH", str(root / "profiles"))
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "xterm-256color")
    made = Machine(root)
    made.add("here", "")
    install_programs(home)
    yield made
    if (root / "begun").exists():
        end(made.hung())
    for directory in made.directories:
        if (directory / ".gpe/id").exists() and not (directory / ".gpe_exit_status").exists():
            end(int((directory / ".gpe/id").read_text().partition("-")[0]))


def end(session: int) -> None:
    """End the processes of a session."""
    for path in (p / "stat" for p in Path("/proc").glob("[0-9]*")):
        try:
            words = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(words[3]) == session:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue
