"""Jobs by the profile `oar` on a real OAR, as a plain user: `make lab OAR=1` brings it up."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.lab.conftest import SHARED, USER, User
from tests.lab.test_stories import is_oar_up
from tests.profiles.conftest import CUT, PROFILES, quoted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.profiles.conftest import Job, Status

if os.geteuid() or not is_oar_up():
    pytest.skip("OAR is not up here: make lab OAR=1 installs and starts it", allow_module_level=True)


class Owner(User):
    """The tasks of arrays, too."""

    def tasks(self, job: Job) -> list[Status]:
        found = self.statuses("", JOB_ID=job.id)
        return [found[name] for name in sorted(found)]

    def wait_for_tasks(self, job: Job, states: list[str]) -> list[Status]:

        def look() -> list[Status] | None:
            found = self.tasks(job)
            return found if [status.state for status in found] == states else None

        return wait_until(look, every=0.2)


@pytest.fixture
def oar() -> Iterator[Owner]:
    root = Path(SHARED, USER, f"oar-{uuid.uuid4().hex[:8]}")
    home = Path(f"~{USER}").expanduser()
    yield Owner(Repository([PROFILES]).load("oar"), "sh", home, root)
    remove = ["runuser", "-u", USER, "--", "oardel", "--sql", f"command LIKE '%{root.name}%'"]
    subprocess.run(remove, capture_output=True, check=False)
    shutil.rmtree(root, ignore_errors=True)


def script(text: str) -> dict[str, str]:
    return {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}


def test_ends(oar: Owner) -> None:
    """Jobs side by side: a signal, a killed shell, the wall time, a removal, an unknown job."""
    killed = oar.start(**script("kill -9 $$"))
    shell = oar.start(**script("kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat) $PPID $$"))
    limit = oar.start(**script("sleep 600"), WALLTIME="5")
    removed = oar.start(**script("sleep 600"))
    removed.wait("RUNNING")
    assert oar.ok("ABORT", JOB_ID=removed.id) == ""
    assert (killed.wait("FAILED").signal, shell.wait("FAILED").state) == (9, "FAILED")
    assert not (shell.directory / ".gpe_exit_status").exists()
    assert removed.wait("REMOVED").state == "REMOVED"
    assert limit.wait("FAILED/TIME").state == "FAILED/TIME"
    assert limit.id not in oar.statuses()
    several = oar.statuses("SEVERAL", JOB_IDS=f"{killed.id} 999999999 {limit.id} {removed.id}")
    assert {job: status.state for job, status in several.items()} == {
        killed.id: "FAILED", limit.id: "FAILED/TIME", removed.id: "REMOVED",
    }  # fmt: skip
    assert "unknown job 999999999" in oar.fails("GET_JOB_STATUS", JOB_ID="999999999")


def test_a_job_that_oar_removed_behind_our_back(oar: Owner) -> None:
    job = oar.start(**script("sleep 600"))
    job.wait("RUNNING")
    subprocess.run(["runuser", "-u", USER, "--", "oardel", job.id], check=True, capture_output=True)
    job.wait("REMOVED")


def test_a_job_waits_for_others_and_is_held(oar: Owner) -> None:
    first = oar.start(**script("touch ready; until [ -e go ]; do sleep 0.1; done"), ARRAY="1-2")
    after = oar.start(
        **script("true"), DEPENDENCY=f"afterany:{first.id}", JOB_NAME="a.b+c", NODES="1", CPUS="1"
    )
    assert oar.ok("HOLD", JOB_ID=after.id) == ""
    after.wait("HELD")
    assert oar.ok("RESUME", JOB_ID=after.id) == ""
    after.wait("QUEUED")
    oar.wait_for_tasks(first, ["RUNNING", "RUNNING"])
    assert after.status().state == "QUEUED"
    assert "not in the right state" in oar.fails("HOLD", JOB_ID=first.id)
    (first.directory / "go").touch()
    assert after.wait("DONE").exit == 0
    assert "does not know the job 999999999" in oar.fails("START", DEPENDENCY="afterany:999999999")
    assert "oar cannot send signals" in oar.fails("SIGNAL", JOB_ID=after.id, SIGNAL="15")


def test_an_array(oar: Owner) -> None:
    job = oar.start(**script('echo "$GPE_ARRAY_INDEX $GPE_JOB_ID"; exit "$GPE_ARRAY_INDEX"'), ARRAY="1-3")
    ended = oar.wait_for_tasks(job, ["DONE"] * 3)
    assert [(status.id, status.exit) for status in ended] == [(f"{job.id}_{n}", n) for n in (1, 2, 3)]
    assert [job.read(f"stdout.{n}") for n in (1, 2, 3)] == [f"{n} {job.id}_{n}\n" for n in (1, 2, 3)]
    assert oar.statuses("SEVERAL", JOB_IDS=f"{job.id}_2 {job.id}_3").keys() == {f"{job.id}_2", f"{job.id}_3"}


def test_an_array_is_removed_by_task_and_as_a_whole(oar: Owner) -> None:
    job = oar.start(**script("[ $GPE_ARRAY_INDEX = 1 ] || sleep 600"), ARRAY="1-3")
    oar.wait_for_tasks(job, ["DONE", "RUNNING", "RUNNING"])
    assert oar.ok("ABORT", JOB_ID=f"{job.id}_2") == ""
    oar.wait_for_tasks(job, ["DONE", "REMOVED", "RUNNING"])
    assert "already ended" in oar.fails("ABORT", JOB_ID=f"{job.id}_2")
    assert oar.ok("ABORT", JOB_ID=job.id) == ""
    oar.wait_for_tasks(job, ["DONE", "REMOVED", "REMOVED"])
    assert "already ended" in oar.fails("ABORT", JOB_ID=job.id)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"NODES": "1", "PROCESSES": "4"}, "network_address=1/core=4"),
        ({"CPUS": "2"}, "network_address=1/core=2"),
        ({"GPUS": "1", "PROCESSES": "1"}, "network_address=1/gpu=1/core=1"),
        ({"GPUS": "2", "PROCESSES": "4"}, "network_address=1/gpu=2/core=2"),
        ({"WALLTIME": "3700"}, "walltime=1:1:40"),
        (
            {"CONSTRAINT": "core>=2&(gpu=1|gpu=2)", "QUEUE": "default", "PROJECT": "physics"},
            "core>='2' AND (gpu='1' OR gpu='2')",
        ),
    ],
)
def test_fields(oar: Owner, fields: dict[str, str], wanted: str) -> None:
    job = oar.start(**script("cat $OAR_NODEFILE; env | grep OAR_PROJECT"), **fields, NODE_FILE="nodes")
    assert job.wait("DONE").exit == 0
    assert wanted in subprocess.check_output(["oarstat", "-f", "-j", job.id], text=True)
    assert job.read("nodes") == "127.0.0.1\n" * int(fields.get("PROCESSES", "1"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"CPUS": "64"}, "not enough resources"),
        ({"QUEUE": "none"}, "queue none does not exist"),
        ({"CONSTRAINT": "a=b"}, "Bad resource request"),
    ],
)
def test_what_oar_refuses(oar: Owner, fields: dict[str, str], words: str) -> None:
    assert words in oar.fails("START", **fields)


@pytest.mark.parametrize("fields", [{}, {"ARRAY": "1-2"}])
def test_a_start_whose_answer_was_lost(oar: Owner, fields: dict[str, str]) -> None:
    directory = oar.root / "it's \u00e9"
    job = oar.start(directory, **script("echo run >> log; sleep 600"), **fields)
    (directory / ".gpe/id").unlink()
    assert oar.run("START", directory=directory, **script(":"), **fields).returncode == CUT
    assert oar.find(directory) == job.id
    with ThreadPoolExecutor(2) as pool:
        again = [*pool.map(lambda _: oar.start(directory, **script(":"), **fields).id, range(2))]
    assert again == [job.id] * 2
    assert oar.ok("ABORT", JOB_ID=job.id) == ""
