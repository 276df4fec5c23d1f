"""The numbers of each daemon, while it runs real jobs, are those of the jobs that ran."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.executors.blah.gridmanager import DAEMON, GridManager
from tests.executors.blah.test_daemon import home, job
from tests.executors.metrics_reader import Numbers, await_numbers, read_port
from tests.executors.ninfg.client import SERVER, shell
from tests.executors.ninfg.conftest import machine
from tests.executors.ptp.conftest import place
from tests.executors.ptp.live import AGENT
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executors.ninfg.conftest import Machine
    from tests.executors.ptp.conftest import Place

__all__ = ["home", "machine", "place"]
ANY_PORT = "127.0.0.1:0"


def run_blah_jobs(home: Path, where: str, *words: str) -> tuple[Numbers, Numbers]:
    """Run jobs by BLAH's daemon: three that end by themselves, one that is killed; return the numbers.

    First while a job runs, then when all have ended. `where` is the file, or ANY_PORT.
    """
    log, found = home / "log", list[Numbers]()
    (home / "quick.toml").write_text("fastest = 0.1\nslowest = 0.3\nmax_age = 0.1\ngrace = 1\n")

    async def main() -> None:
        options = ("--config", str(home / "quick.toml"), "--log", str(log), *words)
        async with GridManager(*options) as client:
            read = read_port(log) if where == ANY_PORT else lambda: Numbers((home / where).read_text())
            job_ids = [await client.submit(job(home, text)) for text in ("exit 0", "exit 3", "kill -9 $$")]
            for job_id in job_ids:
                await client.ended(job_id)
            running = await client.submit(job(home, "until [ -e over ]; do sleep 0.05; done"))
            while (await client.status(running))[0] != 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            waiting = asyncio.to_thread(
                await_numbers, read, lambda n: n.sum("osprofile_submissions_total", result="ok") == 4
            )
            found.append(await waiting)
            (home / "over").touch()
            await client.ended(running)
            ended = asyncio.to_thread(
                await_numbers, read, lambda n: n.sum("osprofile_job_states_total", state="DONE") == 3
            )
            found.append(await ended)
            assert client.fault is None

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    during, after = found
    return during, after


@pytest.mark.parametrize("where", [ANY_PORT, "blah.prom"])
def test_the_numbers_of_blahs_daemon(home: Path, where: str) -> None:
    during, after = run_blah_jobs(home, where, "--metrics", where)
    assert during.sum("osprofile_watched_jobs", target="linux") == 1
    assert after.sum("osprofile_watched_jobs") == 0
    assert after.labels("osprofile_submissions_total", "target") == {"linux"}
    assert (
        after.sum("osprofile_submissions_total")
        == after.sum("osprofile_submission_duration_seconds_count")
        == 4
    )
    assert after.labels("osprofile_submissions_total", "result") == {"ok"}
    assert after.sum("osprofile_scripts_total", template="START", result="ok") == 4
    assert after.sum("osprofile_script_duration_seconds_count", template="START") == 4
    assert after.sum("osprofile_script_duration_seconds_bucket", template="START", le="+Inf") == 4
    assert after.sum("osprofile_job_states_total", state="FAILED") == 1
    polls = after.sum("osprofile_polls_total", result="ok")
    assert polls >= 1
    assert after.sum("osprofile_poll_duration_seconds_count") == polls
    assert 0 < after.sum("osprofile_poll_duration_seconds_sum") < 120
    assert (
        after.sum("osprofile_last_poll_timestamp_seconds")
        > after.sum("osprofile_start_timestamp_seconds")
        > 0
    )
    log = (home / "log").read_text()
    assert "in all: 4 submissions (0 failed), " in log
    assert not (home / "blah.prom").exists()  # it is deleted at the end
    assert [path.name for path in home.iterdir() if ".tmp" in path.name] == []


def test_blahs_setting_for_all_users(home: Path) -> None:
    (home / "quick.toml").write_text('metrics = "{user}-{pid}.prom"\n')
    with subprocess.Popen(
        [*DAEMON, "--config", "quick.toml"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        while not (found := list(home.glob("*.prom"))):
            assert process.poll() is None
        assert found[0].name.endswith(f"-{process.pid}.prom")
        assert stat.S_IMODE(found[0].stat().st_mode) == 0o644
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert list(home.glob("*.prom")) == []


def test_a_daemon_runs_without_metrics_that_cannot_be_written(home: Path) -> None:
    words = [*DAEMON, "--metrics", "nowhere/x.prom"]
    done = subprocess.run(words, input=b"QUIT\r\n", capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0
    assert b"metrics are not written: " in done.stderr
    assert done.stderr.count(b"\n") < 5
    assert home.exists()


@pytest.mark.parametrize(
    ("words", "where"),
    [
        *(
            (DAEMON, where)
            for where in ("0.0.0.0:9100", "host.example.org:80", "127.0.0.1:99999", "file.txt")
        ),
        (SERVER, "0.0.0.0:9100"),
        ((*AGENT, "--profile=linux", "--proxy=stdio"), "file.txt"),
        ((sys.executable, "-m", "osprofile.events.seg_command", "-s", "fork"), "file.txt"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_is_no_place_for_metrics(words: tuple[str, ...], where: str) -> None:
    done = subprocess.run(
        [*words, "--metrics", where],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode in {1, 2}
    assert f"{where!r} is neither a file NAME.prom nor 127.0.0.1:PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_numbers_of_the_invoke_server(machine: Machine) -> None:
    with machine.client("--metrics", ANY_PORT) as client:
        read = read_port(machine.root / "log")
        for text in ("true", "exit 4"):
            client.run(shell(text, jobmanager="here"))
        numbers = await_numbers(read, lambda n: n.sum("osprofile_scripts_total", template="DELETE") == 2)
        assert client.exit() == 0
    assert numbers.sum("osprofile_submissions_total", target="here", result="ok") == 2
    assert numbers.sum("osprofile_job_states_total", state="DONE") == 2
    assert "in all: 2 submissions (0 failed)" in machine.log()


def test_the_numbers_of_the_proxy(place: Place) -> None:
    with place.live("here", "--metrics", ANY_PORT, "--debug=1") as live:
        live.begin()
        job_id = live.submit("execPath=/bin", "execName=true")
        live.wait(job_id)
        numbers = await_numbers(
            read_port(place.log), lambda n: n.sum("osprofile_job_states_total", state="DONE")
        )
        assert live.quit() == 0
    assert numbers.sum("osprofile_submissions_total", result="ok") == 1
    assert numbers.sum("osprofile_scripts_total", template="START", result="ok") == 1


def test_the_numbers_of_the_event_generator(tmp_path: Path) -> None:
    log = tmp_path / "fork.log"
    log.write_text("".join(f"001;158072400{n};job:{n};2;0\n" for n in range(5)))
    words = [
        sys.executable,
        "-m",
        "osprofile.events.seg_command",
        "-s",
        "fork",
        "--log-path",
        str(log),
        "-t",
        "1",
    ]
    file = tmp_path / "seg.prom"
    with subprocess.Popen(
        [*words, "--metrics", str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for _ in range(5):
            process.stdout.readline()
        numbers = await_numbers(
            lambda: Numbers(file.read_text() if file.exists() else ""),
            lambda n: n.sum("osprofile_events_total"),
        )
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert numbers.sum("osprofile_events_total") == 5
    assert numbers.sum("osprofile_last_event_timestamp_seconds") > 1_700_000_000
    assert not file.exists()
