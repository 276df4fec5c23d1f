"""Installed programs: deployments that are killed beside submissions of two versions, and a home that is full."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.incarnate import static_scripts
from osprofile.incarnation.static_scripts import compute_folder_name, deployment_script
from osprofile.profile.repository import Repository
from tests.profiles.conftest import PROFILES, Target

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.race

STEPS = ("mkdir", "chmod", "mktemp", "diff", "sync", "mv", "rm")
SHIM = """#!/bin/sh
echo x >> "$SHIMS/count"
n=$(/usr/bin/wc -l < "$SHIMS/count")
[ "$n $WHEN" != "$KILL_AT before" ] || kill -s KILL 0
{real} "$@"
rc=$?
[ "$n $WHEN" != "$KILL_AT after" ] || kill -s KILL 0
exit $rc
"""


def kill_deployment(target: Target, shims: Path, step: int, when: str) -> bool:
    """Deploy programs of a target's profile, killed at that step; return whether it came so far."""
    (shims / "count").write_text("")
    path = f"{shims}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-s"],
        input=deployment_script(static_scripts(target.profile, {})),
        text=True,
        env={**target.env, "PATH": path, "SHIMS": str(shims), "KILL_AT": str(step), "WHEN": when},
        start_new_session=True,
        check=False,
    )
    assert done.returncode in {0, -9}
    return done.returncode != 0


def find_programs(home: Path) -> set[str]:
    """Return the names of the folders of installed programs, each of which is whole."""
    found = {path for path in (home / ".gpe/bin").iterdir() if len(path.name) == 16}
    for path in found:
        assert compute_folder_name({p.name: p.read_text() for p in path.iterdir()}) == path.name
    return {path.name for path in found}


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
                    shutil.rmtree(home / ".gpe/bin" / name)
            step += 1
    finally:
        stop.set()
        beside.join()
    assert failures == []
    assert step > 7
    assert new.start().wait().exit == 0


FULL_HOME = """
mount -t tmpfs -o size=1m tmpfs "$2" || exit
head -c "$((1024 - $1))k" /dev/zero > "$2/fill" || exit
if ! sh "$3/deploy" 2> /dev/null; then
  echo full
  ls "$2/.gpe/bin"
  rm "$2/fill"
  sh "$3/deploy" || exit
fi
rm -f "$2/fill"
id=$(sh "$3/start") && [ -n "$id" ] && echo started && cd "$2/.gpe/bin" && echo * && sha256sum */*
"""


@pytest.mark.parametrize("size", [8, 32, 60, 100, 120, 400])
def test_a_home_that_fills_up(tmp_path: Path, size: int) -> None:
    """A deployment that has no room fails, and leaves nothing; the next one installs all."""
    home, root = tmp_path / "home", tmp_path / "jobs"
    home.mkdir()
    root.mkdir()
    target = Target(Repository([PROFILES]).load("linux"), "dash", home, root)
    (tmp_path / "deploy").write_text(deployment_script(static_scripts(target.profile, {})))
    (tmp_path / "start").write_text(target.script("START"))
    words = ["unshare", "-rm", "sh", "-c", FULL_HOME, "sh", str(size), str(home), str(tmp_path)]
    done = subprocess.run(words, env=target.env, capture_output=True, text=True, check=True)
    assert ("full\n" in done.stdout) == (size < 200)
    assert "started\n" in done.stdout
    (folder,) = {s.folder for s in static_scripts(target.profile, {})}
    head, *installed = done.stdout.removeprefix("full\n").splitlines()
    assert (head, installed[0]) == ("started", folder)
    bodies = {s.path.rpartition("/")[2]: s.body for s in static_scripts(target.profile, {})}
    assert [line.split() for line in installed[1:]] == [
        [hashlib.sha256(body.encode()).hexdigest(), f"{folder}/{name}"]
        for name, body in sorted(bodies.items())
    ]
