"""Installed programs: deployments that are killed beside submissions of two versions, and a home that is full."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.incarnate import static_scripts
from osprofile.incarnation.static_scripts import deployment_script
from osprofile.profile.repository import Repository
from tests.profiles.conftest import PROFILES, Target

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.race

STEPS = ("mkdir", "chmod", "mktemp", "cmp", "mv", "rm")
SHIM = """#!/bin/sh
echo x >> "$SHIMS/count"
n=$(/usr/bin/wc -l < "$SHIMS/count")
[ "$n $WHEN" != "$KILL_AT before" ] || kill -s KILL 0
{real} "$@"
rc=$?
[ "$n $WHEN" != "$KILL_AT after" ] || kill -s KILL 0
exit $rc
"""
NAME = re.compile(r"[a-z-]+\.([0-9a-f]{16})\.sh")


def kill_deployment(target: Target, shims: Path, step: int, when: str) -> bool:
    """Deploy programs of a target's profile, killed at that step; return whether it came so far."""
    # those of START, FIND_JOB and GET_JOB_STATUS: all are deployed by the same commands
    programs = static_scripts(target.profile, {})[:4]
    (shims / "count").write_text("")
    path = f"{shims}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", deployment_script(programs)],
        env={**target.env, "PATH": path, "SHIMS": str(shims), "KILL_AT": str(step), "WHEN": when},
        start_new_session=True,
        check=False,
    )
    assert done.returncode in {0, -9}
    return done.returncode != 0


def find_programs(home: Path) -> set[str]:
    """Return the names of the installed programs, each of which is whole."""
    found = {path.name: path for path in (home / ".gpe/bin").glob("*.sh")}
    for name, path in found.items():
        digest = NAME.fullmatch(name)
        assert digest is not None
        assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] == digest[1]
    return {*found}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_deployment_that_is_killed_at_each_step(tmp_path: Path, when: str) -> None:
    """Beside it, jobs of an older version are submitted; afterwards jobs of both versions run."""
    newer = tmp_path / "newer"
    shutil.copytree(PROFILES, newer)
    for program in ("submit.sh", "find-job.sh", "job.sh"):
        with (newer / "linux" / program).open("a") as file:
            file.write("# newer\n")
    home, shims, root = (tmp_path / name for name in ("home", "shims", "jobs"))
    shims.mkdir()
    for name in STEPS:
        (shims / name).write_text(SHIM.format(real=shutil.which(name)))
        (shims / name).chmod(0o700)
    home.mkdir()
    old = Target(Repository([PROFILES]).load("linux"), "dash", home, root / "old")
    new = Target(Repository([newer]).load("linux"), "dash", home, root / "new")
    old.start().wait()
    kept = find_programs(home)
    failures: list[BaseException] = []
    stop = threading.Event()

    def submit_old() -> None:
        try:
            while not stop.wait(0.1):
                assert old.start().wait().exit == 0
        except BaseException as error:  # noqa: BLE001  # it is raised below
            failures.append(error)

    beside = threading.Thread(target=submit_old)
    beside.start()
    try:
        step = 1
        while kill_deployment(new, shims, step, when):
            assert kept <= find_programs(home)
            if step % 5 == 1:
                assert not kill_deployment(new, shims, 0, when)
                assert new.start().wait().exit == 0
                for name in find_programs(home) - kept:
                    (home / ".gpe/bin" / name).unlink()
            step += 1
    finally:
        stop.set()
        beside.join()
    assert failures == []
    assert step > 18
    assert new.start().wait().exit == 0


FULL_HOME = """
mount -t tmpfs -o size=$1k tmpfs "$2" || exit
if ! sh "$3/deploy" 2> /dev/null; then
  echo full
  (cd "$2/.gpe/bin" && sha256sum *.sh)
  mount -o remount,size=1m "$2"
  sh "$3/deploy" || exit
fi
mount -o remount,size=1m "$2"
id=$(sh "$3/start") && [ -n "$id" ] && echo started && cd "$2/.gpe/bin" && sha256sum *
"""


@pytest.mark.parametrize("size", [8, 16, 32, 48, 60, 200])
def test_a_home_that_fills_up(tmp_path: Path, size: int) -> None:
    """A deployment that has no room fails; what it has installed is whole, and the next one completes it."""
    home, root = tmp_path / "home", tmp_path / "jobs"
    home.mkdir()
    root.mkdir()
    target = Target(Repository([PROFILES]).load("linux"), "dash", home, root)
    (tmp_path / "deploy").write_text(deployment_script(static_scripts(target.profile, {})))
    (tmp_path / "start").write_text(target.script("START"))
    words = ["unshare", "-rm", "sh", "-c", FULL_HOME, "sh", str(size), str(home), str(tmp_path)]
    done = subprocess.run(words, env=target.env, capture_output=True, text=True, check=True)
    assert ("full\n" in done.stdout) == (size < 100)
    assert "started\n" in done.stdout
    programs = [line.split() for line in done.stdout.splitlines() if line not in {"full", "started"}]
    assert len(programs) > len(STEPS)
    assert all(f".{digest[:16]}." in name for digest, name in programs)
