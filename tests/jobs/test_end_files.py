"""Files that show the end of a job: noticed by the real inotify."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import osprofile
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.jobs.watch.events import EndFileWatcher
from osprofile.jobs.watch.schedule import PollSchedule
from tests.jobs.conftest import shell

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def test_files_are_noticed(tmp_path: Path) -> None:
    """Those with the names, however they are written, in the directories that are watched."""
    directories = [tmp_path / name for name in ("one", "two", "thre\u00e9 '$(id)'")]
    for directory in directories:
        directory.mkdir()
    noticed: list[None] = []

    async def count() -> int:
        await asyncio.sleep(0.1)
        number = len(noticed)
        noticed.clear()
        return number

    watcher = EndFileWatcher(["end", ".usage"], lambda: noticed.append(None))
    for directory in directories:
        watcher.watch(directory.name, str(directory))
    watcher.watch("missing", str(tmp_path / "missing"))
    (directories[0] / "other").write_text("x")
    (directories[0] / "end of it").write_text("x")
    assert await count() == 0
    (directories[0] / "other").rename(directories[0] / "end")
    assert await count() == 1
    (directories[2] / ".usage").write_text("1\n")
    assert await count() == 1
    watcher.unwatch("two")
    watcher.unwatch("two")
    (directories[1] / "end").write_text("x")
    assert await count() == 0
    watcher.watch("two", str(directories[1]))  # it is there already
    assert await count() == 1
    watcher.close()
    (directories[2] / "end").write_text("x")
    watcher.watch("one", str(directories[0]))
    assert await count() == 0


async def test_the_end_of_a_job_is_known_long_before_the_next_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    timing = Timing(min_poll_interval=600, max_poll_interval=600)
    async with TargetSystem(osprofile.load("linux"), timing=timing) as target:
        await target.poll()
        ends = []
        for number in range(3):
            job_id = await target.submit(
                shell(f"sleep 0.{number}; exit {number}", working_directory=f"{tmp_path}/{number}")
            )
            ends.append(await target.wait(job_id))
        assert [(end.state, end.exit_code) for end in ends] == [(JobState.DONE, n) for n in range(3)]


def test_polls_stay_frequent_while_somebody_waits() -> None:
    """For a hundredth of the time since the last change; and a query takes no more than its share of the time."""
    backoff = PollSchedule(Timing(min_poll_interval=1, max_poll_interval=60))
    assert backoff.next_delay(1000.0, None, is_awaited=True) == 1
    for seconds, delay in ((0, 1), (90, 1), (600, 6), (9000, 60)):
        for _ in range(20):
            backoff.record_success(changed=False, duration=0.01)
        assert backoff.next_delay(1000.0 + seconds, None, is_awaited=True) == delay
    backoff.record_success(changed=True, duration=0.01)
    assert backoff.next_delay(10000.0, None, is_awaited=True) == 1
    backoff.record_success(changed=False, duration=2.0)
    assert backoff.next_delay(10000.0, None, is_awaited=True) == 18
