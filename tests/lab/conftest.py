"""Jobs on a real Slurm and a real Grid Engine, by the command `incarnate`, as a user who is not root.

`tests/lab/ci.sh` brings them up. The command itself runs as root here, and its scripts reach
the user the way a site's would: by a profile over ours that changes SHELL.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.static_scripts import deployment_script
from osprofile.jobs.shell.output import StatusOutputReader
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.profile.repository import Repository
from tests.profiles.conftest import Target, find_tag, reach
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from osprofile.incarnation.static_scripts import StaticScriptFile
    from osprofile.profile.model import Profile

USER = os.environ.get("LAB_USER", "griduser")
SHARED = "/srv/lab"
"""A directory that the node sees. It has a /var/tmp of its own, as most nodes of clusters."""
NODE = os.uname().nodename.partition(".")[0]
"""Slurm's only one."""
PROFILES = Path(__file__).parents[2] / "profiles"
INCARNATE = Path(sys.executable).with_name("incarnate")
STARTED: set[Path] = set()
"""The links to the directories of all jobs, to remove in the end."""
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="{name}" extends="{name}">
  <osp:UspaceRoot>~/.gpe/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>{fields}
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>runuser -l {user} -c "{shell}"</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>runuser -l {user} -c "{shell}"</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""
SHELLS = {
    "sge": ". /opt/sge/default/common/settings.sh; exec sh -s",
    "tsp": "tsp -S 100; exec sh -s",
    "pbs": "export PATH=/opt/pbs/bin:/usr/bin:/bin PBS_CONF_FILE=/opt/pbs/pbs.conf; exec sh -s",
    "flux": "PATH=/opt/flux/bin:$PATH FLUX_URI=local:///run/flux-lab/socket exec sh -s",
}
FIELDS = {
    "sge": """
  <idb:Template>
    <idb:Field name="PE" isSettable="false"><idb:Value>smp</idb:Value></idb:Field>
    <idb:Field name="PE_NODES" isSettable="false"><idb:Value>mpi%</idb:Value></idb:Field>
  </idb:Template>"""
}


def is_pbs_up() -> bool:
    """Return whether the server of PBS listens."""
    with suppress(OSError), socket.create_connection(("pbs0", 15001)):
        return True
    return False


PBS = pytest.param(
    "pbs", marks=pytest.mark.skipif(not is_pbs_up(), reason="make lab PBS=1 builds and starts OpenPBS")
)
"""A profile for the tests that tell each system's: it is skipped where OpenPBS is not up."""


@dataclass(frozen=True)
class Status:
    """A line of GET_JOB_STATUS, and what the profile says that its word means."""

    id: str
    state: str
    line: str
    signal: int | None = None


@dataclass(frozen=True)
class Lab:
    """One profile on this machine."""

    profile: str
    site: Path
    resolved: Profile

    def incarnate(
        self, template: str, *options: str, variation: str = "", **fields: str
    ) -> subprocess.CompletedProcess[str]:
        command = [str(INCARNATE), template, "--profile", self.profile, "--variation", variation]
        command += ["--profiles", str(self.site), "--profiles", str(PROFILES)]
        command += ["--context", f"USER_NAME={USER}", *options, "--run"]
        for name, value in fields.items():
            command += ["--set", f"{name}={value}"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def ok(self, template: str, *options: str, variation: str = "", **fields: str) -> str:
        done = self.incarnate(template, *options, variation=variation, **fields)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def fails(self, template: str, *options: str, **fields: str) -> str:
        done = self.incarnate(template, *options, **fields)
        assert done.returncode != 0, done
        assert done.stdout == ""
        return done.stderr

    def start(self, *options: str, **fields: str) -> Job:
        job = Job(self, self.ok("START", *options, **fields).splitlines()[-1])
        STARTED.add(job.link)
        return job

    def statuses(self, variation: str = "ALL", **fields: str) -> dict[str, Status]:
        text = self.ok("GET_JOB_STATUS", variation=variation, **fields)
        lines = text.removesuffix("#end\n").splitlines()
        return {status.id: status for status in map(self.status, lines)}

    def status(self, line: str) -> Status:
        """Read a line of GET_JOB_STATUS."""
        (status,) = StatusOutputReader(self.resolved).read_statuses(line).values()
        state = find_tag(status)
        return Status(status.job_id, state, line, status.signal)

    def start_found(self, *options: str, **fields: str) -> Job:
        """Run START, which does not know whether a job was submitted; FIND_JOB; and START again."""
        done = self.incarnate("START", *options, **fields)
        assert done.returncode == 75, done
        found = self.ok("FIND_JOB", *options)
        job = self.start(*options, **fields)
        assert found in {"", f"{job.id}\n"}
        return job


@dataclass(frozen=True)
class Job:
    """A job that was started."""

    lab: Lab
    id: str

    @property
    def link(self) -> Path:
        return Path(pwd.getpwnam(USER).pw_dir, ".gpe", "jobs", self.lab.profile, self.id)

    @property
    def directory(self) -> Path:
        return self.link.readlink()

    def status(self) -> Status:
        (status,) = self.lab.statuses("", JOB_ID=self.id).values()
        assert status.id == self.id
        return status

    def statuses(self) -> list[Status]:
        """Give the status of each task of an array, in the order of their indices."""
        found = self.lab.statuses("", JOB_ID=self.id)
        return [found[name] for name in sorted(found, key=lambda name: int(name.rpartition("_")[2]))]

    def wait(self, *states: str) -> Status:
        """Wait for one of these states; without any, for the end."""
        return reach(self.status, states)

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def slurm(self, attribute: str) -> str:
        """Give what Slurm itself knows about the job."""
        text = subprocess.check_output(["scontrol", "-o", "show", "job", self.id], text=True)
        return dict(word.partition("=")[::2] for word in text.split())[attribute]


class User(Target):
    """Scripts run as the user, who is not root."""

    def shell_of(self, script: str) -> subprocess.CompletedProcess[str]:
        command = ["runuser", "-l", USER, "-c", self.environment.get("SHELL", "exec sh -s")]
        return subprocess.run(
            command, input=script, capture_output=True, text=True, check=False, timeout=PATIENCE
        )

    def sh(self, script: str) -> subprocess.CompletedProcess[str]:
        return self.shell_of(wrap_script(script).decode())

    def deploy(self, programs: Iterable[StaticScriptFile]) -> None:
        programs = [*programs]
        if not all(Path(p.path.replace('"$HOME"', str(self.home))).exists() for p in programs):
            done = self.shell_of(deployment_script(programs))
            assert done.returncode == 0, done


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if (
        os.geteuid() != 0
        or not shutil.which("sbatch")
        or subprocess.run(["pidof", "slurmd"], check=False, capture_output=True).returncode
    ):
        pytest.exit("the lab is not up: run tests/lab/ci.sh as root", returncode=4)
    directory = tmp_path_factory.mktemp("site")
    for name in ("linux", "slurm", "torque", "sge", "pbs"):
        (directory / name).mkdir()
        shell, fields = SHELLS.get(name, "sh -s"), FIELDS.get(name, "")
        (directory / name / "profile.xml").write_text(
            SITE.format(name=name, user=USER, shell=shell, fields=fields)
        )
    yield directory
    for link in STARTED:
        if link.is_symlink():
            shutil.rmtree(link.readlink(), ignore_errors=True)
            link.unlink()


@pytest.fixture
def lab_of(site: Path) -> Callable[[str], Lab]:
    def make(profile: str) -> Lab:
        return Lab(profile, site, Repository([PROFILES]).load(profile))

    return make


@pytest.fixture(params=["slurm", "torque"])
def lab(request: pytest.FixtureRequest, lab_of: Callable[[str], Lab]) -> Lab:
    """Give each of the profiles for this machine's Slurm."""
    return lab_of(request.param)


def call(*words: str) -> str:
    """Run a command as root, and give its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def node() -> Iterator[None]:
    """Leave Slurm's node in service after a test."""
    yield
    end = time.monotonic() + PATIENCE
    # "allocated" and "completing" are well, too: other tests run their jobs on it
    while re.search("down|drain|fail", call("sinfo", "-h", "-n", NODE, "-p", "debug", "-o", "%T")):
        subprocess.run(["scontrol", "update", f"NodeName={NODE}", "State=RESUME"], check=False)
        assert time.monotonic() < end
        time.sleep(0.5)


@pytest.fixture
def directory() -> Iterator[Path]:
    """Give a path for a working directory that Slurm's own patterns would change."""
    path = Path(SHARED, USER, f"it's %j {uuid.uuid4().hex[:8]}")
    yield path
    shutil.rmtree(path, ignore_errors=True)
