"""BLAH's daemon with a client as strict as HTCondor's gridmanager, on the real systems.

A thousand jobs with mixed ends through `slurm`, 200 through `torque` and `linux`; midway the daemon
is killed. LAB_JOBS is another number of jobs, for a quicker run.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.executors.blah.conftest import write_profile
from tests.executors.blah.gridmanager import DAEMON, GridManager, ad
from tests.lab.conftest import PROFILES, SHARED, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = int(os.environ.get("LAB_JOBS", "200"))
IDLE, RUNNING, REMOVED, COMPLETED, HELD = 1, 2, 3, 4, 5
End = tuple[int, str | None, str | None]
"""The state's number, ExitCode, ExitSignal."""


class Kind(NamedTuple):
    """What a job runs, what is done to it, and how it must end."""

    text: str
    end: End
    steps: tuple[str, ...] = ()


KINDS = [
    Kind("exit 0", (COMPLETED, "0", None)),
    Kind("exit 1", (COMPLETED, "1", None)),
    Kind("exit 3", (COMPLETED, "3", None)),
    Kind("no-such-command", (COMPLETED, "127", None)),
    Kind("kill -s KILL $$", (COMPLETED, None, "9")),
    Kind("kill -s TERM $$", (COMPLETED, None, "15")),
    Kind("exec sleep 600", (REMOVED, None, None), ("CANCEL",)),
    Kind("exec sleep 600", (REMOVED, None, None), ("HOLD", "CANCEL")),
    Kind("sleep 30; exit 4", (COMPLETED, "4", None), ("HOLD", "RESUME")),
    Kind("exit 5", (COMPLETED, "5", None)),
]


@pytest.fixture
def here(site: Path) -> Iterator[Path]:
    """Give a directory that the jobs' user can write to, and the daemon's home."""
    path = Path(SHARED, f"blah-{uuid.uuid4().hex[:8]}")
    path.mkdir()
    path.chmod(0o777)
    (path / "home").mkdir()
    (path / "home" / "quick.toml").write_text(
        f'profiles = ["{site}", "{PROFILES}"]\nfastest = 0.5\nslowest = 5\nmax_age = 2\n'
        f'context = {{ USER_NAME = "{USER}" }}\n'
    )
    (path / "payload.sh").write_text('#!/bin/sh\neval "$1"\n')
    (path / "payload.sh").chmod(0o755)
    yield path
    import shutil

    shutil.rmtree(path)


def text_of(here: Path, profile: str, number: int, kind: Kind) -> str:
    quoted = kind.text.replace("'", "''")
    return ad(
        Cmd=str(here / "payload.sh"),
        Iwd=str(here),
        In="/dev/null",
        Out="/dev/null",
        Err="/dev/null",
        gridtype=profile,
        GridResource=f"batch {profile}",
        Arguments=f"'{quoted}'",
        JobDirectory=f"home_bl_{number}",
        StageCmd=False,
    )


async def one(client: GridManager, text: str, kind: Kind, job_id: str | None) -> tuple[str, End]:
    """Submit a job, do to it what is to be done, and ask for it until it has ended."""
    job_id = job_id or await client.submit(text)
    for step in kind.steps:
        code, words = await client.ask(f"BLAH_JOB_{step}", job_id)
        if (code, step) == ("1", "HOLD"):  # some systems hold only jobs that wait
            assert any(w in words for w in ("only waiting jobs can be held", "Running", "Completed"))
            break
        assert code == "0", words
        if step == "HOLD":
            number, found = await client.status(job_id)
            assert (number, "HoldReason" in found) in {
                (HELD, True),
                (2, False),
            }  # 2: it has begun, and is suspended
    else:
        found = await client.ended(job_id, every=5)
        return job_id, (int(found["JobStatus"]), found.get("ExitCode"), found.get("ExitSignal"))
    assert (await client.ask("BLAH_JOB_CANCEL", job_id))[0] == "0"
    found = await client.ended(job_id, every=5)
    # it may have come to its own end before
    assert found["JobStatus"] == str(REMOVED) or found.get("ExitCode") == kind.end[1]
    return job_id, kind.end


async def test_the_files_of_a_job(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH of the job's own, and results in a directory: without names all is in Iwd, else what is named.

    Its end tells what Slurm gave to it.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "home"))
    words = ("--config", str(here / "home" / "quick.toml"), "--log", str(here / "home" / "log"))
    (here / "input").write_text("in\n")
    shared = {"Cmd": "/bin/sh", "Iwd": str(here), "In": "/dev/null", "Err": "err", "gridtype": "slurm"}
    shared |= {"Environment": "PATH=/opt/mine/bin", "GridResource": "batch slurm"}
    given: dict[str, str | int] = {"CPUs": 2, "RequestMemory": 100}
    kinds = {
        "iwd": {},
        "named": {"TransferInput": "input", "TransferOutput": "named"},
        "unnamed": {"TransferInput": "input"},
    }
    async with GridManager(*words) as client:
        for name, more in kinds.items():
            text = f"mkdir {name}; cat input > {name}/result; echo $PATH"
            job = ad(
                **shared,
                **given,
                **more,
                Out=f"{name}.out",
                Arguments=f"-c '{text}'",
                JobDirectory=f"files_{name}",
            )
            found = await client.ended(await client.submit(job))
            assert (found["ExitCode"], found["CpusProvisioned"], found["MemoryProvisioned"]) == (
                "0",
                "2",
                "100",
            )
            assert (here / f"{name}.out").read_text().startswith("/opt/mine/bin:/")
        results = {name: (here / name / "result").exists() for name in kinds}
        assert results == {"iwd": True, "named": True, "unnamed": False}
        assert (here / "err").read_text().startswith("unnamed is left behind: ")


@pytest.mark.parametrize("root", ["~/.gpe/work", "/var/tmp/gpe-check"])
def test_the_check_of_the_directory_of_the_jobs(tmp_path: Path, root: str) -> None:
    """The node has a /var/tmp of its own: the check says so, and names what a site changes."""
    write_profile(tmp_path, "slurm", extends="slurm", root=root)
    words = [*DAEMON, "--profiles", str(tmp_path), "--check", "slurm"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if root.startswith("~"):
        assert done.returncode == 0
        assert done.stderr.startswith(
            "osprofile-blahpd: warning: HTCondor submits the jobs of a user as this user"
        )
        assert done.stderr.count("\n") == 1  # the lab is root's
        assert "the nodes see the directory of the jobs" in done.stdout
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert f"did not run in {root}/" in done.stderr
        assert "does the node see it?" in done.stderr


@pytest.mark.parametrize(("profile", "jobs"), [("slurm", 5 * JOBS), ("torque", JOBS), ("linux", JOBS)])
def test_ends(here: Path, profile: str, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "home"))
    kinds = [KINDS[number % len(KINDS)] for number in range(jobs)]
    texts = [text_of(here, profile, number, kind) for number, kind in enumerate(kinds)]
    words = ("--config", str(here / "home" / "quick.toml"), "--log", str(here / "home" / "log"))

    async def main() -> list[End]:
        client = GridManager(*words)
        await client.start()
        assert await client.ask("BLAH_PING", profile) == ["0", "No error"]
        half = [asyncio.ensure_future(client.submit(text)) for text in texts[: jobs // 2]]
        for _ in asyncio.as_completed(half[: jobs // 4]):
            await _
        await client.kill()  # some are submitted, some under way, some not begun
        known = await asyncio.gather(*half, return_exceptions=True)
        async with GridManager(*words) as again:
            first = [k if isinstance(k, str) else None for k in known]
            ids = [*first, *[None] * (jobs - len(first))]
            work = [one(again, *parts) for parts in zip(texts, kinds, ids, strict=True)]
            found = await asyncio.gather(*work)
            assert again.fault is None
        assert len({job_id for job_id, _ in found}) == jobs
        return [end for _, end in found]

    ends = asyncio.run(asyncio.wait_for(main(), 1200))
    wrong = Counter((kind, end) for kind, end in zip(kinds, ends, strict=True) if kind.end != end)
    assert not wrong
