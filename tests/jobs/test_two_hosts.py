"""Two hosts that share a home, and with it the record, but not the directories of the jobs.

The other host is this machine with another name and a file system of its own (namespaces).
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another host here")
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""
SLOW_SETSID = """#!/bin/sh
touch {up}
while [ ! -e {go} ]; do /bin/sleep 0.1; done
exec /usr/bin/setsid "$@"
"""
OTHER_HOST = [
    "unshare",
    "--uts",
    "--mount",
    "sh",
    "-c",
    'hostname other-host && mount -t tmpfs tmpfs "$0" && exec "$@"',
]


@dataclass
class Hosts:
    """Runs `incarnate job` on this host or the other one."""

    path: Path

    def command(self, *words: str, elsewhere: bool) -> list[str]:
        begin = [*OTHER_HOST, str(self.path / "space")] if elsewhere else []
        return [*begin, sys.executable, "-m", "osprofile", "job", *words]

    @property
    def env(self) -> dict[str, str]:
        programs = f"{self.path / 'bin'}:{os.environ['PATH']}"
        return {"HOME": str(self.path / "home"), "PATH": programs, "OSPROFILE_PATH": str(self.path)}

    def run(self, *words: str, elsewhere: bool = False) -> subprocess.CompletedProcess[str]:
        command = self.command(*words, elsewhere=elsewhere)
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def submit(self, *words: str, elsewhere: bool = False) -> subprocess.CompletedProcess[str]:
        return self.run("submit", "-p", "site", "--key", "k", *words, elsewhere=elsewhere)

    def start_slowly(self) -> subprocess.Popen[bytes]:
        """Submit the job on this host; return when its START has begun, and does not go on."""
        words = ["submit", "-p", "site", "--key", "k", "sh", "-c", f"hostname >> {self.path}/log"]
        process = subprocess.Popen(
            self.command(*words, elsewhere=False), env=self.env, start_new_session=True
        )
        wait_for_file(self.path / "up")
        return process

    def start_killed(self) -> None:
        """Submit the job on this host, by a process that is killed when its START has begun."""
        process = self.start_slowly()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def set_back(self) -> None:
        """Let the submission have begun long ago by the other host's clock."""
        with sqlite3.connect(self.path / "home/.local/state/osprofile/jobs.db") as db:
            db.execute("UPDATE job SET submitted = submitted - 100000")
        db.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    for name in ("home", "space", "bin"):
        (tmp_path / name).mkdir(0o700)
    (tmp_path / "site.xml").write_text(PROFILE.format(root=tmp_path / "space"))
    (tmp_path / "bin" / "setsid").write_text(SLOW_SETSID.format(up=tmp_path / "up", go=tmp_path / "go"))
    (tmp_path / "bin" / "setsid").chmod(0o700)
    yield Hosts(tmp_path)
    (tmp_path / "go").touch()  # nothing waits any more


def test_a_submission_that_another_host_began_is_not_completed_here(hosts: Hosts) -> None:
    """Its process has died, or seems to, because the clocks differ."""
    hosts.start_killed()
    hosts.set_back()
    (hosts.path / "go").touch()  # what START has begun goes on

    done = hosts.submit("hostname", elsewhere=True)
    assert done.returncode != 0
    here = os.uname().nodename
    assert f"was begun on {here}" in done.stderr
    assert "--take-over" in done.stderr
    listing = hosts.run("list", "-p", "site", elsewhere=True)
    assert f"on {here}, to complete it: incarnate job submit" in listing.stdout, listing

    job = hosts.submit("hostname")
    assert job.returncode == 0, job
    assert hosts.run("wait", job.stdout.strip()).returncode == 0
    assert (hosts.path / "log").read_text() == f"{here}\n"
    assert hosts.submit("hostname", elsewhere=True).stdout == job.stdout


def test_a_submission_in_progress_on_a_host_whose_clock_differs(hosts: Hosts) -> None:
    process = hosts.start_slowly()
    hosts.set_back()
    done = hosts.submit("hostname", elsewhere=True)
    assert done.returncode != 0
    (hosts.path / "go").touch()
    assert process.wait() == 0
    job = hosts.submit("hostname")
    assert hosts.run("wait", job.stdout.strip()).returncode == 0
    assert (hosts.path / "log").read_text() == f"{os.uname().nodename}\n"


def test_a_person_takes_it_over(hosts: Hosts) -> None:
    hosts.start_killed()
    (hosts.path / "bin" / "setsid").unlink()
    wrong = hosts.run("submit", "-p", "site", "--take-over", "hostname", elsewhere=True)
    assert (wrong.returncode, "--key" in wrong.stderr) == (2, True)
    # the job of this submission ends with the other host's file system
    done = hosts.submit("--take-over", "--wait", "hostname", elsewhere=True)
    assert done.returncode == 0, done


def test_where_the_directory_is_shared_any_host_completes_it(hosts: Hosts) -> None:
    hosts.start_killed()
    hosts.set_back()
    (hosts.path / "go").touch()
    command = hosts.command("submit", "-p", "site", "--key", "k", "hostname", elsewhere=False)
    shared = ["unshare", "--uts", "sh", "-c", 'hostname other-host && exec "$@"', "sh", *command]
    done = subprocess.run(
        shared, env=hosts.env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done
    assert hosts.run("wait", done.stdout.strip()).returncode == 0
    assert (hosts.path / "log").read_text().count("\n") == 1
