"""A place for an Invoke Server's jobs: a profile, a home and a root of its own."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.ninfg.client import Client
from tests.programs import install_programs
from tests.strategies import document
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# ssh as far as a profile's SHELL needs it
SSH = """\
#!/bin/sh
port=
while [ "$1" != -- ]; do [ "$1" != -p ] || port=$2; shift; done
echo "$2 $port" >> '{root}/connections'
case $2 in
down*) echo "ssh: connect to host $2: No route to host" >&2; exit 255 ;;
esac
[ ! -e '{root}/cut' ] || {{ echo "ssh: connection closed" >&2; exit 255; }}
{{ # a connection that is open breaks, too
  while kill -0 $$ && [ ! -e '{root}/cut' ]; do sleep 0.05; done
  [ ! -e '{root}/cut' ] || {{ echo "ssh: connection closed" >&3; kill -s TERM $$; }}
}} 3>&2 > /dev/null 2>&1 < /dev/null &
shift 2
exec "$@"
"""


def processes(root: Path) -> list[int]:
    """Give the processes of jobs whose working directory is below a root."""
    mark = f"\0GPE_WORKING_DIRECTORY={root}/".encode()
    found = []
    for path in (p / "environ" for p in Path("/proc").glob("[0-9]*")):
        try:
            if mark in b"\0" + path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class Machine:
    """Where jobs run: the profile `here` starts them on this machine."""

    root: Path

    def add(self, name: str, content: str = "", extends: str = "linux") -> None:
        """Add a profile to the search path."""
        text = document(content, name=name, extends=extends, root=str(self.jobs))
        (self.root / "profiles" / f"{name}.xml").write_text(text)

    @property
    def jobs(self) -> Path:
        """The root of all working directories."""
        return self.root / "jobs"

    @property
    def environment(self) -> dict[str, str]:
        """What a server finds in its environment."""
        return {
            "HOME": str(self.root / "home"),
            "OSPROFILE_PATH": str(self.root / "profiles"),
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
        }

    def program(self, name: str, text: str) -> Path:
        """Put a script on the PATH."""
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def client(self, *words: str, fds: Sequence[int] = ()) -> Client:
        """Give a client that has started a server."""
        return Client(self.environment, words, self.root / "log", pass_fds=fds, directory=self.root)

    @contextmanager
    def session(self, *words: str, fds: Sequence[int] = ()) -> Iterator[Client]:
        """Start a server; at the end it has to answer EXIT."""
        with self.client(*words, fds=fds) as client:
            yield client
            assert client.exit() == 0

    def log(self) -> str:
        """Give the server's log."""
        return (self.root / "log").read_text()

    @property
    def directories(self) -> list[Path]:
        """The working directories that are there."""
        return sorted(self.jobs.glob("*/*"))

    def assert_clean(self) -> None:
        """Say that no process, no directory and no link of a job is left; a killed process takes its time."""
        wait_until(lambda: processes(self.jobs) == [])
        assert self.directories == []
        links = (self.root / "home/.gpe/jobs").rglob("*")
        assert [path for path in links if path.is_symlink()] == []


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Give a place for jobs; what still runs at the end is ended."""
    for name in ("profiles", "bin", "jobs", "home"):
        (tmp_path / name).mkdir()
    made = Machine(tmp_path)
    made.add("here")
    install_programs(tmp_path / "home")
    made.program("ssh", SSH.format(root=tmp_path))
    yield made
    for pid in processes(made.jobs):
        os.kill(pid, signal.SIGKILL)
