"""START cut off at each of its steps and repeated: no job is lost, none is doubled.

Every program that the scripts call is replaced by one that counts, and at the given step kills the
shell that called it: before the real program has run, or after. And bash, which can tell of every
command, those of its own included, kills itself before each of them that may change or wait for anything
outside of the shell: before a test or an assignment, all is as before the next command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.shell.scripts import wrap_script
from tests.hunting import rounds
from tests.profiles.conftest import DASH, quoted
from tests.profiles.test_pbs import OPENPBS, Server
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

pytestmark = pytest.mark.race

PROGRAMS = [
    *("awk", "cat", "flock", "grep", "id", "ln", "mkdir", "mv", "namei", "rm", "sed", "setsid"),
    *("tail", "tee", "xargs"),
]
SHIM = """#!/bin/sh
echo x >> "$SHIMS/count"
n=$(/usr/bin/wc -l < "$SHIMS/count")
[ "$n $KILL_WHEN" != "$KILL_AT before" ] || {{ kill -s KILL $PPID; exit 1; }}
{real} "$@"
rc=$?
[ "$n $KILL_WHEN" != "$KILL_AT after" ] || kill -s KILL $PPID
exit $rc
"""
LAST = 40  # more steps than START has
COMMANDS = r"""
case $0 in .gpe/script*) return ;; esac # the job itself
set -T
inner='^(\[ |case |shift|unset |[a-z_]+=("[^"]*"|[^ "]*)$)'
step() {
  [[ ! $BASH_COMMAND =~ $inner ]] || return
  echo x >> "$SHIMS/count"
  mapfile -t steps < "$SHIMS/count"
  [ "${#steps[@]}" != "$KILL_AT" ] || kill -s KILL "$$" "$BASHPID"
}
trap step DEBUG
"""
LAST_COMMAND = 150
EVERY = 6  # one in so many is a test: they run side by side
FIELDS = {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", "echo run >> log")}


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    directory = tmp_path / "shims"
    directory.mkdir()
    for name in [*PROGRAMS, "qsub"]:
        # what qsub itself calls is none of START's steps
        real = f"env PATH={os.environ['PATH']} {OPENPBS / name}" if name == "qsub" else shutil.which(name)
        (directory / name).write_text(SHIM.format(real=real))
        (directory / name).chmod(0o700)
    return directory


def cut_off(target: Target, shims: Path, step: int, when: str) -> Path | None:
    """Run START, cut off at that step; give its directory, or None if it has fewer steps."""
    directory = target.directory()
    target.path.insert(0, shims)
    (shims / "count").write_text("")
    target.environment |= {"SHIMS": str(shims), "KILL_AT": str(step), "KILL_WHEN": when}
    done = target.run("START", directory=directory, **FIELDS)
    target.path.remove(shims)
    whole = done.returncode == 0 and len((shims / "count").read_text().split()) < step
    return None if whole else directory


@pytest.mark.parametrize("when", ["before", "after"])
@DASH
def test_linux(target_of: Callable[..., Target], shims: Path, when: str) -> None:
    linux = target_of("linux")
    for step in range(1, LAST):
        directory = cut_off(linux, shims, step, when)
        if directory is None:
            break
        job = linux.start_found(directory, **FIELDS)
        status = job.wait()
        log = directory / "log"
        runs = log.read_text() if log.exists() else ""
        # the job itself may have been what was killed: then it says so
        assert (status.word, runs) in {("exited", "run\n"), ("vanished", ""), ("vanished", "run\n")}
        assert linux.start(directory, **FIELDS) == job
    assert 7 < step < LAST


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_pbs(target_of: Callable[..., Target], shims: Path, tmp_path: Path, when: str) -> None:
    pbs = target_of("pbs", OPENPBS)
    server = Server(tmp_path / "server", pbs)
    for step in range(1, LAST):
        directory = cut_off(pbs, shims, step, when)
        if directory is None:
            break
        check(pbs, server, directory)
    assert 7 < step < LAST


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """Give a directory in which sh is a bash that counts its commands."""
    directory = tmp_path / "commands"
    directory.mkdir()
    (directory / "sh").write_text('#!/bin/sh\nexec bash "$@"\n')
    (directory / "sh").chmod(0o700)
    (directory / "steps").write_text(COMMANDS)
    return directory


def cut_before(
    target: Target, commands: Path, step: int, template: str = "START", directory: Path | None = None
) -> tuple[Path, int]:
    """Run START or FIND_JOB in bash, killed before that command; give the directory, and the commands it came to.

    What settles it is dash, in less time.
    """
    directory = directory or target.directory()
    count = commands / "count"
    count.write_text("")
    target.path.insert(0, commands)
    before = dict(target.environment)
    target.environment |= {"SHIMS": str(commands), "KILL_AT": str(step), "BASH_ENV": str(commands / "steps")}
    target.shell = "bash"
    target.run(template, directory=directory, **(FIELDS if template == "START" else {}))
    target.shell = "dash"
    target.path.remove(commands)
    target.environment.clear()
    target.environment.update(before)
    return directory, len(count.read_text().split())


@pytest.mark.hunt(EVERY)
@pytest.mark.parametrize("first", range(1, EVERY + 1))
@DASH
def test_linux_before_each_command(target_of: Callable[..., Target], commands: Path, first: int) -> None:
    linux = target_of("linux")
    for step in range(first, LAST_COMMAND, EVERY):
        directory, came = cut_before(linux, commands, step)
        job = linux.start_found(directory, **FIELDS)
        assert (job.wait().word, job.read("log")) == ("exited", "run\n"), step
        if came < step:
            break
    assert 30 < step < LAST_COMMAND - EVERY


@pytest.mark.hunt(EVERY)
@pytest.mark.parametrize("first", range(1, EVERY + 1))
@DASH
def test_pbs_before_each_command(
    target_of: Callable[..., Target], commands: Path, tmp_path: Path, first: int
) -> None:
    pbs = target_of("pbs", OPENPBS)
    server = Server(tmp_path / "server", pbs)
    for step in range(first, LAST_COMMAND, EVERY):
        directory, came = cut_before(pbs, commands, step)
        check(pbs, server, directory)
        if came < step:
            break
    assert 30 < step < LAST_COMMAND - EVERY


@pytest.mark.parametrize("taken", [False, True])
@DASH
def test_find_job_before_each_command(
    target_of: Callable[..., Target], commands: Path, tmp_path: Path, taken: bool
) -> None:
    """A submission was cut off, after or before PBS had the job; then FIND_JOB is cut off, too."""
    pbs = target_of("pbs", OPENPBS)
    server = Server(tmp_path / "server", pbs)
    for step in range(1, LAST_COMMAND, rounds(1, EVERY)):
        job = pbs.start(**FIELDS)
        (job.directory / ".gpe/id").unlink()
        (job.directory / ".gpe/submitting").touch()
        if not taken:
            shutil.rmtree(server.job(job))
        _, came = cut_before(pbs, commands, step, "FIND_JOB", job.directory)
        check(pbs, server, job.directory)
        if came < step:
            break
    assert 10 < step < LAST_COMMAND - EVERY


def check(pbs: Target, server: Server, directory: Path) -> None:
    job = pbs.start_found(directory, **FIELDS)
    assert [*(server.directory / "jobs").iterdir()] == [server.job(job)]
    assert server.run(job) == 0
    assert job.read("log") == "run\n"
    shutil.rmtree(server.job(job))


@DASH
def test_a_killed_client_does_not_cut_the_submission(
    target_of: Callable[..., Target], tmp_path: Path
) -> None:
    """The whole process group of START dies while qsub waits for the server."""
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "qsub").write_text(f'#!/bin/sh\ntouch "$FAKE_PBS/up"\nsleep 0.5\n{OPENPBS}/qsub "$@"\n')
    (slow / "qsub").chmod(0o700)
    pbs = target_of("pbs", slow, OPENPBS)
    server = Server(tmp_path / "server", pbs)
    directory = pbs.directory()
    client = subprocess.Popen(
        [pbs.shell, "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=pbs.env, start_new_session=True
    )
    assert client.stdin is not None
    client.stdin.write(wrap_script(pbs.script("START", directory=directory, **FIELDS)))
    client.stdin.close()
    wait_for_file(server.directory / "up")
    os.killpg(client.pid, signal.SIGKILL)
    client.wait()
    assert client.stdout is not None
    client.stdout.close()
    check(pbs, server, directory)
