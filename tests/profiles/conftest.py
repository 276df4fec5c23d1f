"""The bundled profiles' scripts, run by real shells in a home directory of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from osprofile import javaregex
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.shell.output import StatusOutputReader, get_job_id_pattern, parse_job_id
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.jobs.state import JOB_STATE_TAGS, parse_state_tag
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.programs import write_programs
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.incarnation.static_scripts import StaticScriptFile
    from osprofile.jobs.state import JobStatus
    from osprofile.profile.model import Profile

PROFILES = Path(__file__).parents[2] / "profiles"
CUT = 75
"""START does not know whether a job was submitted."""
AWAY = 69
"""START did not reach the batch system."""
ENDED = {tag for tag in JOB_STATE_TAGS if parse_state_tag(tag)[0].is_terminal}
"""The tags of STATE that are ends."""


def find_tag(status: JobStatus) -> str:
    """Give the tag of STATE for a status: its state, and the cause if the batch system tells one."""
    tag = f"{status.state}/{status.cause}"
    return tag if tag in JOB_STATE_TAGS else status.state.value


def quoted(*words: str) -> str:
    """Give words as ARGUMENTS wants them: each in single quotes."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def exports(**variables: str) -> str:
    """Give variables as ENVIRONMENT wants them."""
    return "".join(f"export {name}={quoted(value)}\n" for name, value in variables.items())


@dataclass(frozen=True)
class Status:
    """A line of GET_JOB_STATUS, read with the profile's own patterns and tags."""

    id: str
    state: str
    exit: int | None
    signal: int | None
    word: str
    reason: str | None

    @property
    def end(self) -> tuple[str, int | None]:
        """The state and the exit code."""
        return self.state, self.exit


@dataclass
class Target:
    """A target system: a profile, the shell that runs its scripts, a home and a root for jobs."""

    profile: Profile
    shell: str
    home: Path
    root: Path
    path: list[Path] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    started: int = 0

    def script(
        self,
        template: str,
        variation: str = "",
        directory: Path | None = None,
        application: str | None = None,
        **fields: str,
    ) -> str:
        context = {"USER_NAME": "me", "WORKING_DIRECTORY": str(directory or self.directory())}
        found = incarnate(
            self.profile,
            template,
            fields=fields,
            variation=variation,
            application=application,
            context=context,
            strict=True,
        )
        self.deploy(found.static_scripts)
        return found.text

    def deploy(self, programs: Iterable[StaticScriptFile]) -> None:
        """Write programs into the home, unless they are there: a deployment is tested in test_deployment.py."""
        write_programs(self.home, programs)

    def directory(self) -> Path:
        self.started += 1
        return self.root / f"job{self.started}"

    @property
    def env(self) -> Mapping[str, str]:
        path = os.pathsep.join([*map(str, self.path), os.environ["PATH"]])
        return {"HOME": str(self.home), "PATH": path, **self.environment}

    def sh(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script the way that `--run` does."""
        return subprocess.run(
            [self.shell, "-s"],
            input=wrap_script(script).decode(),
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env=self.env,
            timeout=PATIENCE,
            check=False,
        )

    def run(
        self, template: str, variation: str = "", directory: Path | None = None, **fields: str
    ) -> subprocess.CompletedProcess[str]:
        done = self.sh(self.script(template, variation, directory, **fields))
        if (template, variation, done.returncode) == ("GET_JOB_STATUS", "ALL", 0):
            assert done.stdout.endswith("#end\n"), done  # no job is missing
            done.stdout = done.stdout.removesuffix("#end\n")
        return done

    def ok(self, template: str, variation: str = "", **fields: str) -> str:
        done = self.run(template, variation, **fields)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def fails(self, template: str, variation: str = "", **fields: str) -> str:
        """Run what must fail without a word on stdout; give its words."""
        done = self.run(template, variation, **fields)
        assert done.returncode != 0, done
        assert done.stdout == ""
        assert done.stderr
        return done.stderr

    def start(self, directory: Path | None = None, **fields: str) -> Job:
        directory = directory or self.directory()
        done = self.run("START", directory=directory, **fields)
        assert (done.returncode, done.stderr) == (0, ""), done
        return Job(self, self.job_id(done.stdout), directory)

    def find(self, directory: Path) -> str:
        """Run FIND_JOB; give the id that it prints, or nothing."""
        done = self.run("FIND_JOB", directory=directory)
        assert (done.returncode, done.stderr) == (0, ""), done
        return self.job_id(done.stdout) if done.stdout else ""

    def start_found(self, directory: Path, **fields: str) -> Job:
        """Run START as a client does after a cut: FIND_JOB finds the job, or START can be repeated."""
        done = self.run("START", directory=directory, **fields)
        if done.returncode != 0:
            assert done.returncode == CUT, done
            found = self.find(directory)
            done = self.run("START", directory=directory, **fields)
            assert not found or done.stdout == f"{found}\n"
        assert done.returncode == 0, done
        return Job(self, self.job_id(done.stdout), directory)

    def job_id(self, stdout: str) -> str:
        found = parse_job_id(get_job_id_pattern(self.profile), stdout)
        assert found == stdout.splitlines()[-1]
        return found

    def pattern(self, template: str, name: str) -> javaregex.Pattern:
        text = self.profile.find_field(self.profile.get_template(template), name).value
        return javaregex.compile(text)

    def statuses(self, variation: str = "ALL", **fields: str) -> dict[str, Status]:
        lines = self.ok("GET_JOB_STATUS", variation, **fields)
        found = StatusOutputReader(self.profile).read_statuses(lines)
        assert len(found) == len(lines.splitlines()), "a line is not understood"
        return {job_id: _status(status) for job_id, status in found.items()}


def _status(status: JobStatus) -> Status:
    state = find_tag(status)
    return Status(
        status.job_id, state, status.exit_code, status.signal, status.native_state, status.reason or None
    )


@dataclass(frozen=True)
class Job:
    """A job that was started."""

    target: Target
    id: str
    directory: Path

    def task(self, index: int | str) -> Job:
        """Return a task of an array, with the id that the profile gives it."""
        context = {"JOB_ID": self.id, "ARRAY_INDEX": str(index)}
        task_id = incarnate(self.target.profile, "TASK_ID", context=context).text.strip()
        return Job(self.target, task_id, self.directory)

    def status(self) -> Status:
        (status,) = self.target.statuses("", JOB_ID=self.id).values()
        assert status.id == self.id
        return status

    def wait(self, *states: str) -> Status:
        """Wait for one of these states; without any, for the end."""
        if not states:
            self._wait_for_record()
        return reach(self.status, states)

    def _wait_for_record(self) -> None:
        """Look for half a second whether the job has recorded an end: to ask for its status takes fifteen processes."""
        end = time.monotonic() + rounds(0, 1) / 2
        while time.monotonic() < end and not [*self.directory.glob(".gpe_exit_status*")]:
            time.sleep(0.01)

    def read(self, name: str) -> str:
        return (self.directory / name).read_text(errors="surrogateescape")


def reach(ask: Callable[[], Any], states: Iterable[str]) -> Any:  # noqa: ANN401  # the lab's statuses are others
    """Wait until a job's status has one of these states, or is an end if there are none; no other end comes before."""
    wanted = {*states} or ENDED

    def look() -> Any:  # noqa: ANN401
        status = ask()
        assert status.state in wanted or status.state not in ENDED, status
        return status if status.state in wanted else None

    return wait_until(look, every=0.05)


SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="site" extends="{parent}">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template>{fields}</idb:Template>
</osp:Profile>
"""
FIELD = '<idb:Field name="{}" isSettable="false"><idb:Value><![CDATA[{}]]></idb:Value></idb:Field>'


def load_site(parent: str, **values: str) -> Profile:
    """Return a site's profile, which gives fields of a bundled one their values."""
    fields = "".join(FIELD.format(name, value) for name, value in values.items())
    return load_text(SITE.format(parent=parent, fields=fields))


def load_text(text: str) -> Profile:
    """Return the profile of a document that extends a bundled one."""
    return Repository([PROFILES], use_standard_path=False).load_bytes(text.encode())


DASH = pytest.mark.parametrize("shell", ["dash"], indirect=True)
"""For tests of what a batch system says: test_stories.py runs each line of a script in both shells."""


@pytest.fixture(params=["dash", pytest.param("bash", marks=pytest.mark.hunt(8, of="file"))])
def shell(request: pytest.FixtureRequest) -> str:
    """Give each shell in turn."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    return name


@pytest.fixture(scope="session")
def repository() -> Repository:
    return Repository([PROFILES])


@pytest.fixture
def target_of(tmp_path: Path, repository: Repository, shell: str) -> Callable[..., Target]:
    """Give a function that makes a target system from a profile's name."""

    def make(name: str, *path: Path) -> Target:
        home, programs = tmp_path / "home", tmp_path / "bin"
        home.mkdir()
        programs.mkdir()
        # what the scripts themselves run as sh, job scripts above all
        (programs / "sh").symlink_to(shutil.which(shell) or "")
        return Target(repository.load(name), shell, home, tmp_path / "jobs", path=[*path, programs])

    return make


@pytest.fixture
def linux(target_of: Callable[..., Target]) -> Target:
    return target_of("linux")
