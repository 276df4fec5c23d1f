"""A simulated cluster for a test: its process, its users' homes, their plans, and the truth of their jobs."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.simulated.cluster import parse_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_TASKS: Final = 1000
"""How large an array is at most."""
REPOSITORY: Final = Path(__file__).parents[2]
DAY: Final = 86400.0


@dataclass
class Site:
    """A cluster that runs, and its directory."""

    root: Path
    users: Sequence[str]
    process: subprocess.Popen[str]

    def environment(self, user: str) -> dict[str, str]:
        """Return the environment of a user's process. It names its session itself, if it lives in simulated time."""
        home = str(self.root / "homes" / user)
        return {
            **os.environ,
            "HOME": home,
            "XDG_STATE_HOME": home,
            "OSPROFILE_PATH": str(self.root / "profiles"),
            "PATH": f"{self.root}/bin:/usr/bin:/bin",
            "SIMULATED": str(self.root),
            "SIMULATED_USER": user,
            "SIMULATED_SESSION": str(os.getpid()),
        }

    def start(self, user: str, module: str, *words: str, **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """Start a Python module as a user."""
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(command, cwd=REPOSITORY, env=self.environment(user), **options)

    def write_plan(
        self, user: str, jobs: int, days: float, seed: int, *, tasks: int = 0, kind: str = "job"
    ) -> list[dict[str, Any]]:
        """Write down when a user submits and cancels jobs (s of simulated time), and return it.

        Beside the jobs, there are arrays with so many `tasks` together; of some, one task is cancelled. The keys have
        the `kind` in them. The plan is in KIND.plan of the user's home.
        """
        chance = random.Random(f"{seed} {user} {kind}")
        specs = [""] * jobs
        while tasks:
            size = chance.randint(1, min(tasks, MAX_TASKS))
            tasks -= size
            specs.append(chance.choice((f"1-{size}", f"0-{2 * size - 2}:2%50", f"7,10-{size + 8}")))
            if size == 1:
                specs[-1] = "5"
        plan = []
        for number, spec in enumerate(specs):
            submitted = chance.uniform(0, days * DAY)
            is_cancelled = chance.random() < 0.1
            indices = parse_array(spec) if spec else []
            plan.append(
                {
                    "key": f"{user}-{kind}-{number}",
                    "array": spec,
                    "submitted": submitted,
                    "cancelled": submitted + chance.uniform(0, DAY / 2) if is_cancelled else None,
                    "index": chance.choice(indices) if indices and chance.random() < 0.5 else None,
                }
            )
        (self.root / "homes" / user / f"{kind}.plan").write_text(json.dumps(plan))
        return plan

    def ask(self, **message: object) -> Any:  # noqa: ANN401
        """Send the cluster a control message."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(str(self.root / "clock"))
            connection.send(json.dumps(message).encode())
            assert connection.recv(64) == b"ready"
            return json.loads((self.root / "reply").read_text())


@contextlib.contextmanager
def run_site(users: Sequence[str], **options: object) -> Iterator[Site]:
    """Run a cluster of these users, with options of `cluster.Options`."""
    # Not below pytest's own directory: the address of a socket has at most 107 characters.
    root = Path(tempfile.mkdtemp(prefix="simulated-"))
    for user in users:
        (root / "homes" / user).mkdir(parents=True)
    profile = root / "profiles" / "simulated"
    profile.mkdir(parents=True)
    text = Path(__file__).with_name("profiles").joinpath("simulated", "profile.xml").read_text()
    (profile / "profile.xml").write_text(text.replace("/var/tmp", str(root / "work")))
    words = [sys.executable, "-m", "tests.simulated.cluster", str(root), json.dumps(options)]
    process = subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield Site(root, users, process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        shutil.rmtree(root, ignore_errors=True)


def list_keys(plan: Sequence[dict[str, Any]]) -> list[str]:
    """Return the key of each job of a plan, and in place of an array that of each task."""
    return [
        key if index is None else f"{key}[{index}]"
        for key, spec in ((planned["key"], planned["array"]) for planned in plan)
        for index in (parse_array(spec) if spec else [None])
    ]
