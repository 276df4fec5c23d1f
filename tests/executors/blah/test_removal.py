"""What blahpd removes of a job: its proxy when the client knows its end, the rest when `retention` is over."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.executors.blah.gridmanager import GridManager, ad
from tests.waiting import wait_until_async


class Site:
    """A daemon with a retention, and the directories of its jobs."""

    def __init__(self, home: Path, retention: float) -> None:
        self.home = home
        self.settings = home / "blahpd.toml"
        self.settings.write_text(f"fastest = 0.1\nmax_age = 0.05\nretention = {retention}\n")
        (home / "proxy").write_text("secret")

    def job(self, text: str = "true", **attributes: str) -> str:
        return ad(
            Cmd="/bin/sh", Arguments=f"-c '{text}'", In="/dev/null", Out="/dev/null", Err="/dev/null",
            gridtype="linux", StageCmd=False, **attributes,
        )  # fmt: skip

    def connect(self) -> GridManager:
        return GridManager("--config", str(self.settings))

    @property
    def recorded(self) -> list[Path]:
        """The directories of the jobs in the record."""
        (file,) = self.home.rglob("jobs.db")
        with closing(sqlite3.connect(file)) as db:
            return [Path(directory) for (directory,) in db.execute("SELECT directory FROM job")]

    async def wait_for_ends(self) -> None:
        """Wait until the jobs have written their exit status, and no status from before is told any more."""
        await wait_until_async(lambda: all((path / ".gpe_exit_status").exists() for path in self.recorded))
        await asyncio.sleep(0.2)  # twice the max_age of these daemons


async def test_a_proxy_is_removed_at_once_and_the_directory_is_kept(home: Path) -> None:
    site = Site(home, 3600)
    async with site.connect() as client:
        job_id = await client.submit(site.job(x509UserProxy=str(site.home / "proxy")))
        (directory,) = site.recorded
        assert (directory / ".gpe/proxy").read_text() == "secret"
        await client.ended(job_id)
        await wait_until_async(lambda: not (directory / ".gpe/proxy").exists())
        assert (await client.ended(job_id))["ExitCode"] == "0"  # HTCondor may ask again
    assert [path.is_dir() for path in site.recorded] == [True]


async def test_the_directories_of_ended_jobs_are_removed_in_time(home: Path) -> None:
    site = Site(home, 0)
    async with site.connect() as client:
        running = await client.submit(site.job("sleep 1000"))
        (kept,) = site.recorded
        for _ in range(3):
            job_id = await client.submit(site.job())
            (directory,) = set(site.recorded) - {kept}
            await client.ended(job_id)
            await wait_until_async(lambda: site.recorded == [kept])
            assert not directory.exists()
        await client.ask("BLAH_JOB_CANCEL", running)
        assert kept.exists()
        await client.ended(running)
        await client.ended(await client.submit(site.job()))
        await wait_until_async(lambda: not site.recorded and not kept.exists())


async def test_a_later_daemon_removes_what_was_due_meanwhile(home: Path) -> None:
    site = Site(home, 1)
    async with site.connect() as client:
        await client.ended(await client.submit(site.job()))
    (directory,) = site.recorded
    assert directory.exists()
    async with site.connect() as client:
        await asyncio.sleep(1)
        await client.ask("BLAH_PING", "linux")
        await wait_until_async(lambda: not site.recorded)
    assert not directory.exists()


async def test_a_shorter_retention_is_for_jobs_that_ended_before_it(home: Path) -> None:
    async with (site := Site(home, 3600)).connect() as client:
        await client.ended(await client.submit(site.job()))
    (directory,) = site.recorded
    async with (site := Site(home, 0)).connect() as client:
        await client.ask("BLAH_PING", "linux")
        await wait_until_async(lambda: not site.recorded and not directory.exists())


async def test_a_directory_that_is_gone_keeps_nothing_else_from_being_removed(home: Path) -> None:
    site = Site(home, 0.5)
    async with site.connect() as client:
        for _ in range(2):
            await client.ended(await client.submit(site.job()))
        shutil.rmtree(site.recorded[0])
        await asyncio.sleep(0.6)
        await client.ended(await client.submit(site.job()))
        await wait_until_async(lambda: len(site.recorded) <= 1)


async def test_a_job_that_a_person_submitted_is_left_alone(home: Path) -> None:
    site = Site(home, 0)
    words = [sys.executable, "-m", "osprofile", "job", "submit", "--profile", "linux", "--", "/bin/true"]
    native_id = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[0]  # noqa: ASYNC221
    async with site.connect() as client:
        await client.ended(f"linux/20260101/{native_id}")
        await client.ended(await client.submit(site.job()))
        await wait_until_async(lambda: len(site.recorded) == 1)
    (directory,) = site.recorded
    assert (directory / "stdout").exists()


async def test_several_questions_for_one_end_have_one_answer(home: Path) -> None:
    """The first one who is told it ends the watch, while the others still wait for the same query."""
    site = Site(home, 3600)
    async with site.connect() as client:
        for _ in range(5):
            job_id = await client.submit(site.job("exit 1"))
            await site.wait_for_ends()
            answers = await asyncio.gather(*(client.ask("BLAH_JOB_STATUS", job_id) for _ in range(4)))
            assert {answer[2] for answer in answers} == {"4"}, answers


async def test_a_cancel_beside_a_status_that_tells_the_end(home: Path) -> None:
    """The cancel of an ended job succeeds, and the same ad is a new job."""
    site = Site(home, 3600)
    async with site.connect() as client:
        text = site.job("exit 1", JobDirectory="home_bl_1")
        for _ in range(5):
            job_id = await client.submit(text)
            await site.wait_for_ends()
            _, cancel, _ = await asyncio.gather(
                client.ask("BLAH_JOB_STATUS", job_id),
                client.ask("BLAH_JOB_CANCEL", job_id),
                client.ask("BLAH_JOB_STATUS", job_id),
            )
            assert cancel[0] == "0", cancel
            assert await client.submit(text) != job_id
