"""One ad, one job, until the client is told its end: HTCondor sends the same ad for another job then.

A gridmanager's life of a job: SUBMIT, the id noted in the schedd, STATUS until 3 or 4, noted. A hold is
a CANCEL; a release, or a retry, the same ad again with the same JobDirectory, for a new job. Whoever is killed
in between sends again what was not noted. In the table the daemon is killed (SIGKILL) at each point;
a client that was killed at that point knows no more than the test gives it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.executors.blah.client import command
from tests.executors.blah.gridmanager import GridManager, ad
from tests.executors.blah.living import Living
from tests.waiting import PATIENCE, wait_for_file, wait_until, wait_until_async

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from tests.jobs.conftest import Toy

pytestmark = pytest.mark.race

T = TypeVar("T")


class Site:
    """A batch system, and a client that sends one ad again and again."""

    def __init__(self, toy: Toy, home: Path) -> None:
        self.toy, self.home = toy, home
        settings = "fastest = 0.1\nslowest = 0.3\nmax_age = 0.05\ngrace = 0.5\n"
        (home / "quick.toml").write_text(settings)
        self.words = (
            "--config", "quick.toml", "--profiles", str(self.home / "profiles"), "--log", "log",
        )  # fmt: skip
        # it runs until the file `over` is there, and ends with what is in it
        text = f"echo x >> {self.home}/runs; cd {self.home}; until [ -s over ] || [ ! -d {self.home} ]; do sleep 0.02; done"
        self.ad = ad(
            Cmd="/bin/sh", Arguments=f"-c '{text}; exit $(cat over)'", In="/dev/null", Out="/dev/null",
            Err="/dev/null", StageCmd=False, gridtype="toy", JobDirectory="home_bl_1",
        )  # fmt: skip

    def end_jobs(self, code: int = 0) -> None:
        """Have all jobs end."""
        (self.home / "over").write_text(str(code))

    @property
    def runs(self) -> int:
        """How many times the program was started."""
        file = self.home / "runs"
        return len(file.read_text().split()) if file.exists() else 0

    @property
    def live(self) -> int:
        """How many jobs the batch system has that have not ended."""
        states = [file.read_text() for file in self.toy.path.glob("jobs/*/state")]
        return sum(not state.startswith(("END", "GONE")) for state in states)

    def talk(self, work: Callable[[GridManager], Coroutine[Any, Any, T]]) -> T:
        """Run a conversation, and kill the daemon at its end; give what the conversation gives."""

        async def main() -> T:
            client = GridManager(*self.words)
            await client.start()
            found = await work(client)
            assert client.fault is None
            await client.kill()
            return found

        return asyncio.run(asyncio.wait_for(main(), PATIENCE))

    def submit(self) -> str:
        """Send the ad, and give the job's id."""
        return self.talk(lambda client: client.submit(self.ad))

    def ended(self, job_id: str) -> dict[str, str]:
        """Ask for a job's state until it has ended."""
        return self.talk(lambda client: client.ended(job_id))

    def ask(self, name: str, *arguments: str) -> list[str]:
        """Send a command, and fetch its result."""
        return self.talk(lambda client: client.ask(name, *arguments))

    def kill_during(self, name: str, argument: str, file: str = "") -> None:
        """Send a command; kill the daemon when a file of the batch system's is there, or the result."""
        with Living(*self.words) as daemon:
            daemon.write(b"ASYNC_MODE_ON\r\n" + command(name, "7", argument))
            if file:
                wait_for_file(self.toy.path / file)
            while not file and daemon.line() != b"R\r\n":
                pass
            daemon.kill()

    def submitting(self, linger: int) -> Living:
        """Start a daemon that submits the ad, and waits for the batch system."""
        (self.home / "linger.toml").write_text(f"linger = {linger}")
        self.block("toysub")
        daemon = Living(*self.words, "--config", "linger.toml")
        daemon.write(command("BLAH_JOB_SUBMIT", "7", self.ad))
        wait_for_file(self.toy.path / "began")
        return daemon

    def block(self, name: str, *, behind: bool = False) -> None:
        """Have a command of the batch system's wait, before its work or behind, for the file `go`."""
        wait = ': > "$TOY/began"; until [ -e "$TOY/go" ] || [ ! -d "$TOY" ]; do sleep 0.02; done'
        path = self.toy.path / "bin" / name
        path.rename(path.with_name(f"{name}.real"))
        real = f'"$TOY/bin/{name}.real" "$@"'
        self.replace(name, f"{real}; rc=$?; {wait}; exit $rc" if behind else f"{wait}; exec {real}")

    def replace(self, name: str, text: str) -> None:
        """Put another program in the place of one of the batch system's."""
        path = self.toy.path / "bin" / name
        path.with_name("new").write_text(f"#!/bin/sh\n{text}\n")
        path.with_name("new").chmod(0o755)
        path.with_name("new").rename(path)

    def unblock(self) -> None:
        """Let the commands go on."""
        (self.toy.path / "go").touch()


@pytest.fixture
def site(home: Path, toy: Toy) -> Iterator[Site]:
    site = Site(toy, home)
    yield site
    site.end_jobs()


def check_same(site: Site, first: str) -> None:
    """Check that the ad is still the first job, which ran once, and another when its end was told."""

    async def work(client: GridManager) -> None:
        assert await client.submit(site.ad) == first
        site.end_jobs(3)
        assert (await client.ended(first))["ExitCode"] == "3"

    site.talk(work)
    assert site.runs == 1
    check_new(site, first)


def check_new(site: Site, first: str) -> None:
    """Check that the ad is another job, the only one left, and that the first's end is told again.

    The daemon is killed when the other job's id was fetched.
    """
    runs = site.runs
    (site.home / "over").unlink(missing_ok=True)
    second = site.submit()
    assert second != first
    assert site.live == 1

    async def work(client: GridManager) -> None:
        assert await client.submit(site.ad) == second  # killed between our answer and its note
        assert (await client.status(first))[0] in {3, 4}
        assert await client.submit(site.ad) == second
        site.end_jobs(4)
        assert (await client.ended(second))["ExitCode"] == "4"
        assert (site.runs, site.live) == (runs + 1, 0)
        assert await client.submit(site.ad) not in {first, second}

    site.talk(work)


# The daemon killed while it submits


@pytest.mark.parametrize("behind", [False, True])
def test_killed_while_the_batch_system_takes_the_job(site: Site, *, behind: bool) -> None:
    site.block("toysub", behind=behind)
    site.kill_during("BLAH_JOB_SUBMIT", site.ad, file="began")
    site.unblock()
    first = site.submit()
    assert len(site.toy.submissions) == 1
    check_same(site, first)


def test_killed_with_the_answer_not_fetched(site: Site) -> None:
    site.kill_during("BLAH_JOB_SUBMIT", site.ad)
    assert site.live == 1
    check_same(site, site.submit())


def test_the_job_has_ended_and_nobody_was_told(site: Site) -> None:
    first = site.submit()
    site.end_jobs(3)
    wait_until(lambda: not site.live)
    check_same(site, first)


@pytest.mark.parametrize("word", ["GONE", "END 137"])
def test_the_job_was_removed_outside_and_nobody_was_told(site: Site, word: str) -> None:
    first = site.submit()
    site.toy.state(first.rpartition("/")[2], word)
    assert site.submit() == first
    assert site.ended(first)["JobStatus"] == ("3" if word == "GONE" else "4")
    assert site.submit() != first


def test_a_job_whose_id_another_one_got_is_not_submitted_again(site: Site) -> None:
    """The batch system counts its jobs anew; the client has never noted the first one's id."""
    first = site.submit()
    native = first.rpartition("/")[2]
    (site.toy.path / "jobs" / native).rename(site.toy.path / "away")
    ad, site.ad = site.ad, site.ad.replace("home_bl_1", "home_bl_2")
    assert site.submit() == first
    site.ad = ad
    older = site.submit()
    assert older != first
    assert len(site.toy.submissions) == 2
    assert site.ask("BLAH_JOB_STATUS", older)[0] != "0"
    assert site.ask("BLAH_JOB_CANCEL", older)[0] == "0"
    assert site.ask("BLAH_JOB_STATUS", first)[2] == "2"
    site.end_jobs()


def test_a_lost_job_is_another_when_the_client_knows(site: Site) -> None:
    first = site.submit()
    site.toy.state(first.rpartition("/")[2], None)
    assert site.submit() == first

    async def work(client: GridManager) -> None:
        while (found := await client.ask("BLAH_JOB_STATUS", first))[0] == "0":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert "vanished without a trace" in found[1]

    site.talk(work)
    assert site.submit() != first


# The daemon ended while it submits (docs/protocols/blah.md, 2.2)


WAYS = ["QUIT", "the end of stdin", "SIGTERM"]


def end(daemon: Living, how: str) -> None:
    """End a daemon, and read until it closes its output."""
    daemon.end(how)
    said = daemon.stdout.read()
    assert said.endswith(b"S Server\\ exiting\r\n" if how == "QUIT" else b"S\r\n")


def test_quit_waits_for_no_submission(site: Site) -> None:
    """docs/protocols/blah.md, 2.2: the server terminates as quickly as possible."""
    with site.submitting(linger=600) as daemon:
        end(daemon, "QUIT")
        daemon.wait()
    site.unblock()
    first = site.submit()
    assert len(site.toy.submissions) == 1
    check_same(site, first)


@pytest.mark.parametrize("how", sorted({*WAYS} - {"QUIT"}))
def test_its_output_is_closed_at_once(site: Site, how: str) -> None:
    """docs/protocols/blah.md, 2.2: the pipe is closed immediately afterwards; a submission under way need not have ended."""
    with site.submitting(linger=600) as daemon:
        end(daemon, how)
        assert daemon.process.poll() is None
        site.unblock()
        daemon.wait()
    assert site.live == 1
    check_same(site, site.submit())


@pytest.mark.parametrize("how", WAYS)
def test_what_is_cut_off_is_found(site: Site, how: str) -> None:
    """docs/protocols/blah.md, 2.2: the server terminates; the batch system has not answered yet."""
    with site.submitting(linger=0) as daemon:
        end(daemon, how)
        daemon.wait()
    assert site.live == 0
    site.unblock()
    first = site.submit()
    assert len(site.toy.submissions) == 1
    check_same(site, first)


# The daemon killed while it tells an end


def test_killed_with_the_status_not_fetched(site: Site) -> None:
    """The client has noted the id: it asked by it, and does so again."""
    first = site.submit()
    site.end_jobs(3)
    wait_until(lambda: not site.live)
    site.kill_during("BLAH_JOB_STATUS", first)
    assert site.ended(first)["ExitCode"] == "3"
    check_new(site, first)


def test_a_status_that_tells_no_end_changes_nothing(site: Site) -> None:
    first = site.submit()
    site.kill_during("BLAH_JOB_STATUS", first)
    check_same(site, first)


def test_all_states_tell_this_client_no_end(site: Site) -> None:
    """They are of all jobs of the record, also of those whose ids the client has not noted."""
    first = site.submit()
    site.end_jobs(3)

    async def work(client: GridManager) -> None:
        while "JobStatus = 4" not in (await client.ask("BLAH_JOB_STATUS_ALL"))[2]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    site.talk(work)
    check_same(site, first)


# The daemon killed while it removes


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("is_asked_again", [False, True])
def test_killed_while_the_batch_system_removes_the_job(
    site: Site, *, is_asked_again: bool, behind: bool
) -> None:
    first = site.submit()
    wait_until(lambda: site.runs)
    site.block("toyctl", behind=behind)
    site.kill_during("BLAH_JOB_CANCEL", first, file="began")
    site.unblock()
    if is_asked_again:
        assert site.ask("BLAH_JOB_CANCEL", first) == ["0", "No error"]
        assert site.ended(first)["JobStatus"] == "3"
    check_new(site, first)


def test_killed_with_the_removal_not_fetched(site: Site) -> None:
    first = site.submit()
    site.kill_during("BLAH_JOB_CANCEL", first)
    check_new(site, first)


def test_a_removal_that_the_batch_system_refuses(site: Site) -> None:
    first = site.submit()
    real = (site.toy.path / "bin" / "toyctl").read_text()
    site.replace("toyctl", "echo 'not now' >&2; exit 9")
    code, words = site.ask("BLAH_JOB_CANCEL", first)
    assert (code, "not now" in words) == ("1", True)
    site.replace("toyctl", real)
    check_same(site, first)


def test_a_removal_in_doubt_is_done_before_the_next_job(site: Site) -> None:
    """ABORT's shell was killed: whether the job is removed, nobody knows."""
    first = site.submit()
    real = (site.toy.path / "bin" / "toyctl").read_text()
    site.replace("toyctl", "kill -s KILL $PPID")
    assert site.ask("BLAH_JOB_CANCEL", first)[0] == "1"
    site.replace("toyctl", "echo 'not now' >&2; exit 9")
    code, words, _ = site.ask("BLAH_JOB_SUBMIT", site.ad)
    assert (code, "not now" in words) == ("1", True)
    assert len(site.toy.submissions) == 1
    site.replace("toyctl", real)
    check_new(site, first)  # the refused removal is still asked for


# What HTCondor's users do


def test_hold_and_release(site: Site) -> None:
    """`condor_hold` and `condor_release`, five times with one daemon."""

    async def work(client: GridManager) -> None:
        for _ in range(5):
            job_id = await client.submit(site.ad)
            assert job_id not in ids
            ids.add(job_id)
            await wait_until_async(lambda: site.runs == len(ids))
            assert (await client.status(job_id))[0] == 2
            assert await client.ask("BLAH_JOB_CANCEL", job_id) == ["0", "No error"]

    ids = set[str]()
    site.talk(work)
    assert (site.runs, site.live) == (5, 0)


@pytest.mark.parametrize("with_one_daemon", [True, False])
def test_retries(site: Site, *, with_one_daemon: bool) -> None:
    """`on_exit_hold` with a release: each attempt runs."""
    codes = [1, 2, 0]

    async def work(client: GridManager) -> None:
        for code in codes[:] if with_one_daemon else codes[:1]:
            (site.home / "over").unlink(missing_ok=True)
            job_id = await client.submit(site.ad)
            ids.add(job_id)
            site.end_jobs(code)
            assert (await client.ended(job_id))["ExitCode"] == str(code)
            codes.pop(0)

    ids = set[str]()
    while codes:
        site.talk(work)
    assert (len(ids), site.runs) == (3, 3)
