"""BLAH's daemon while slurmctld is away: with the commands in the order in which a gridmanager sends them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.blah.gridmanager import GridManager, ad
from tests.lab.conftest import SITE, USER
from tests.lab.test_blah import here
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["here"]
pytestmark = pytest.mark.alone
SERVER = "slurmctld"
SLURM_CONF = Path("/etc/slurm/slurm.conf")


def find_processes(*names: str) -> str:
    """Return the ids of the processes with these names; nothing if there are none."""
    found = subprocess.run(["pidof", *names], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def find_children(pid: int) -> set[str]:
    """Return the ids of the processes that a process has started, or taken over."""
    words = ["ps", "-o", "pid=,stat=", "--ppid", str(pid)]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return {line.split()[0] for line in found.splitlines() if not line.split()[1].startswith("Z")}


class Slurm:
    """The lab's Slurm, whose server goes and comes back."""

    async def stop(self) -> None:
        """End the server."""
        subprocess.run(["kill", find_processes(SERVER)], check=True)  # noqa: ASYNC221  # at once
        await wait_until_async(lambda: not find_processes(SERVER))

    async def start(self) -> None:
        """Start the server; it answers."""
        if not find_processes(SERVER):
            subprocess.run([SERVER], check=True, stdin=subprocess.DEVNULL)  # noqa: ASYNC221
        await wait_until_async(
            lambda: subprocess.run(["squeue"], capture_output=True, check=False).returncode == 0
        )


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    slurm = Slurm()
    yield slurm
    asyncio.run(slurm.start())


def is_live(job_id: str) -> bool:
    """Return whether Slurm has a job that has not ended."""
    words = ["squeue", "-h", "-t", "PD,R,S", "-o", "%i"]  # one that was cancelled is completing for a while
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    return job_id.rpartition("/")[2] in found.stdout.split()


def write_ad(here: Path, text: str, number: int) -> str:
    return ad(
        Cmd="/bin/sh", Arguments=f"-c '{text}'", Iwd=str(here), In="/dev/null", Out="/dev/null", Err="/dev/null",
        gridtype="slurm", GridResource="batch slurm", JobDirectory=f"home_bl_{number}", StageCmd=False,
    )  # fmt: skip


@pytest.fixture
def words(here: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return the options of a daemon whose commands wait for the server for one second, not for nine."""
    conf, site, config = here / "slurm.conf", here / "profiles/slurm", here / "home/quick.toml"
    conf.write_text(re.sub("(?m)^MessageTimeout=.*", "MessageTimeout=2", SLURM_CONF.read_text()))
    site.mkdir(parents=True)
    shell = f"SLURM_CONF={conf} exec sh -s"
    (site / "profile.xml").write_text(SITE.format(name="slurm", user=USER, shell=shell, fields=""))
    config.write_text(config.read_text().replace("profiles = [", f'profiles = ["{site.parent}", '))
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "home"))
    return ("--config", str(config), "--log", str(here / "home" / "log"))


async def cancel_while_away(
    client: GridManager, slurm: Slurm, job_id: str, log: Path
) -> asyncio.Future[list[str]]:
    """Stop Slurm, and ask for a job's removal; return its answer, which is to come."""
    await slurm.stop()
    answer = asyncio.ensure_future(client.ask("BLAH_JOB_CANCEL", job_id))
    told = f"job {job_id.rpartition('/')[2]} is removed when that is possible"
    await wait_until_async(lambda: told in log.read_text())
    return answer


async def test_a_cancel_and_a_submission_wait(here: Path, words: tuple[str, ...], slurm: Slurm) -> None:
    """HTCondor forgets a job whose cancel has failed, and holds one whose submission has."""
    async with GridManager(*words) as client:
        assert await client.ask("BLAH_PING", "slurm") == ["0", "No error"]
        first = await client.submit(write_ad(here, "exec sleep 600", 1))
        answer = await cancel_while_away(client, slurm, first, here / "home/log")
        submission = asyncio.ensure_future(client.submit(write_ad(here, "exit 3", 2)))
        await wait_until_async(lambda: "cannot be reached now" in (here / "home/log").read_text())
        await slurm.start()
        assert await answer == ["0", "No error"]
        assert (await client.ended(first))["JobStatus"] == "3"
        assert (await client.ended(await submission))["ExitCode"] == "3"
        assert client.fault is None


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_cancel_is_kept(here: Path, words: tuple[str, ...], slurm: Slurm, *, is_killed: bool) -> None:
    """A daemon that HTCondor ends lives until the job is removed; after one that is killed, the next one goes on."""
    client = GridManager(*words)
    await client.start()
    job_id = await client.submit(write_ad(here, "exec sleep 600", 1))
    answer = await cancel_while_away(client, slurm, job_id, here / "home/log")
    if is_killed:
        shells = find_children(client.process.pid)
        await client.kill()
        # Its last command may still reach the server that comes back.
        await wait_until_async(
            lambda: not shells & find_children(1) and not find_processes("scancel", "squeue")
        )
    else:
        client.process.terminate()
    await slurm.start()
    if is_killed:
        assert is_live(job_id)
        async with GridManager(*words):
            await wait_until_async(lambda: not is_live(job_id))
    else:
        assert await client.wait() == 0
        assert not is_live(job_id)
        await client.end()
    with contextlib.suppress(asyncio.CancelledError):
        await answer
