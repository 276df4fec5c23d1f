"""The Ninf-G Invoke Server on a real Slurm, by the profiles `slurm` and `torque`, and on `linux`.

The server is root's and its jobs are another user's, by a profile over ours that changes SHELL.
LAB_JOBS is another number of sequential jobs than 200.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.ninfg.client import Client, attributes, shell
from tests.executors.ninfg.conftest import processes
from tests.lab.conftest import SHARED, SITE, USER
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = int(os.environ.get("LAB_JOBS", "200"))


@dataclass(frozen=True)
class Ground:
    """One profile, with a root of its own for working directories."""

    profile: str
    root: Path
    profiles: Path
    log: Path

    def client(self) -> Client:
        """Give a client that has started a server."""
        return Client({"OSPROFILE_PATH": str(self.profiles)}, log=self.log, directory=self.root)

    def slurm(self) -> list[str]:
        """Give the live jobs that Slurm has of our directories."""
        words = ["squeue", "-h", "-u", USER, "-o", "%A %T|%Z"]
        jobs = subprocess.check_output(words, text=True).splitlines()
        return [j for j in jobs if j.partition("|")[2].startswith(f"{self.root}/")]

    def assert_clean(self) -> None:
        """Say that no process, no job of Slurm's and no directory is left."""
        if self.profile == "torque":  # Slurm's qstat tells C while Slurm is still completing
            wait_until(lambda: self.slurm() == [])
        assert self.slurm() == []
        assert processes(self.root) == []
        assert list(self.root.glob("*/*")) == []


@pytest.fixture(params=["linux", "slurm", "torque"])
def ground(
    request: pytest.FixtureRequest,
    site: Path,  # noqa: ARG001  # the lab is up
    tmp_path: Path,
) -> Iterator[Ground]:
    me = pwd.getpwnam(USER)
    root = Path(SHARED, f"ninfg-{uuid.uuid4().hex[:8]}")
    root.mkdir(mode=0o755)
    os.chown(root, me.pw_uid, me.pw_gid)
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    values = {"name": request.param, "user": USER, "shell": "sh -s", "fields": ""}
    text = SITE.format(**values)
    (profiles / f"{request.param}.xml").write_text(text.replace("~/.gpe/work", str(root)))
    yield Ground(request.param, root, profiles, tmp_path / "log")
    for pid in processes(root):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(root)


def test_a_single_job(ground: Ground, tmp_path: Path) -> None:
    program, out, err = tmp_path / "program", tmp_path / "out", tmp_path / "err"
    program.write_text('#!/bin/sh\nid -un\necho "$VAR" "$@"\necho err >&2\n')
    with ground.client() as client:
        pairs = attributes(
            jobmanager=ground.profile,
            executable_path=str(program),
            staging="true",
            work_directory=None,
            argument=["it's", "a  b"],
            environment="VAR=$(id)",
            redirect_enable="true",
            stdout_file=str(out),
            stderr_file=str(err),
        )
        job = client.create(pairs)
        assert client.wait(job) == "DONE"
        assert out.read_text() == f"{USER}\n$(id) it's a  b\n"
        assert err.read_text() == "err\n"
        in_order = [s for s in ("PENDING", "ACTIVE", "DONE") if s in client.states[job]]
        assert client.states[job] == in_order
        assert client.exit() == 0
    ground.assert_clean()


def test_an_array_of_five(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ground.client() as client:
        pairs = shell(
            "sleep 1; echo $GPE_JOB_ID",
            jobmanager=ground.profile,
            count="5",
            redirect_enable="true",
            stdout_file=str(out),
        )
        assert client.run(pairs) == "DONE"
        lines = out.read_text().splitlines()
        assert (len(lines), len(set(lines))) == (5, 1)
        assert client.exit() == 0
    ground.assert_clean()


def test_many_one_after_the_other(ground: Ground) -> None:
    with ground.client() as client:
        for _ in range(MANY):
            assert client.run(attributes(jobmanager=ground.profile)) == "DONE"
        assert client.exit() == 0
    ground.assert_clean()


def waiting(ground: Ground) -> dict[str, str]:
    """Return the attributes with which a job waits: the lab has one node. On linux, a job runs at once."""
    return {} if ground.profile == "linux" else {"host_count": "2"}


def test_cancel(ground: Ground) -> None:
    """One that runs and one that waits; on linux, both run."""
    with ground.client() as client:
        runs = client.create(shell("exec sleep 600", jobmanager=ground.profile))
        client.wait(runs, "ACTIVE")
        waits = client.create(shell("sleep 600", jobmanager=ground.profile, **waiting(ground)))
        client.wait(waits, "ACTIVE" if ground.profile == "linux" else "PENDING")
        for job in (waits, runs):
            assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert {client.wait(job) for job in (waits, runs)} == {"DONE"}
        assert client.exit() == 0
    ground.assert_clean()


def test_a_missing_executable_and_a_false_one(ground: Ground) -> None:
    with ground.client() as client:
        for path, text in {
            "/no/such/program": "exit code 127: the executable was not found",
            "/bin/false": "it ended with exit code 1",
        }.items():
            job = client.create(attributes(jobmanager=ground.profile, executable_path=path))
            assert client.wait(job) == "FAILED"
            assert client.texts[job] == text
        assert client.exit() == 0
    ground.assert_clean()


def test_redirection_of_10_megabytes(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ground.client() as client:
        pairs = shell(
            "head -c 10000000 /dev/urandom | tee data | sha256sum >&2; cat data",
            jobmanager=ground.profile,
            staging="false",
            work_directory=str(ground.root),
            redirect_enable="true",
            stdout_file=str(out),
            stderr_file=f"{out}.sum",
        )
        assert client.run(pairs) == "DONE"
        wanted = Path(f"{out}.sum").read_text().split()[0]
        found = subprocess.check_output(["sha256sum", out], text=True).split()[0]
        assert (out.stat().st_size, found) == (10_000_000, wanted)
        assert client.exit() == 0
    ground.assert_clean()


@pytest.mark.parametrize("how", ["exit", "hang_up", "kill", "terminate"])
def test_the_end_with_running_jobs(ground: Ground, how: str) -> None:
    """EXIT, a client that is killed, SIGTERM: running, waiting and half submitted jobs are ended."""
    with ground.client() as client:
        first = client.create(shell("exec sleep 600", jobmanager=ground.profile, count="2"))
        client.wait(first, "ACTIVE")
        client.create(shell("exec sleep 600", jobmanager=ground.profile, **waiting(ground)))
        for _ in range(3):
            client.create(shell("exec sleep 600", jobmanager=ground.profile))
        if how == "exit":
            assert client.exit() == 0
        else:
            getattr(client, how)()
            assert client.process.wait(PATIENCE) == 0
    ground.assert_clean()


def test_mpirun(ground: Ground, tmp_path: Path) -> None:
    """Slurm's own mpirun, which starts any program on the nodes of the job."""
    if ground.profile == "linux":
        pytest.skip("the lab has no mpirun without Slurm")
    # That mpirun takes its words apart once more: none of these has a blank.
    program, out = tmp_path / "program", tmp_path / "out"
    program.write_text('#!/bin/sh\necho "$SLURM_PROCID$1"\n')
    with ground.client() as client:
        pairs = attributes(
            jobmanager=ground.profile,
            executable_path=str(program),
            staging="true",
            argument="x",
            backend="MPI",
            count="3",
            redirect_enable="true",
            stdout_file=str(out),
        )
        assert client.run(pairs) == "DONE"
        assert sorted(out.read_text().split()) == ["0x", "1x", "2x"]
        assert client.exit() == 0
    ground.assert_clean()
