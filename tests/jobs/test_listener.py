"""The job state monitor's other half: the generator's processes, their deaths, the one datum.

The tests of the seed's section "Testing", JSM, carry its words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.jobs.monitor import JobMonitor
from osprofile.jobs.state import JobEvent, JobState, JobStatus
from osprofile.jobs.watch import events as module
from osprofile.jobs.watch.events import EventListener, parse_event
from tests.hunting import rounds
from tests.waiting import cancel_after_turns, wait_until_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable
    from pathlib import Path

Q, R, H, D, F = (JobState.QUEUED, JobState.RUNNING, JobState.HELD, JobState.DONE, JobState.FAILED)
SEG = (sys.executable, "-m", "osprofile.events.seg_command")

LINES = [
    (b"001;17;1.host;1;0\n", (17, "1.host", Q, None, "1")),
    (b"001;17;1.host;2;0\n", (17, "1.host", R, None, "2")),
    (b"001;17;a b/c;16;0\n", (17, "a b/c", H, None, "16")),
    (b"001;17;1;8;0\n", (17, "1", D, 0, "8/0")),
    (b"001;17;1;8;255\n", (17, "1", D, 255, "8/255")),
    (b"001;17;1;8;271\n", (17, "1", F, None, "8/271")),
    (b"001;17;1;8;-11\n", (17, "1", F, None, "8/-11")),
    (b"001;17;1;4;3\n", (17, "1", F, None, "4/3")),
    (b"001;0;\xff;4;0\n", (0, "\udcff", F, None, "4/0")),
    (b"001;17;1;32;0\n", (17, "1", Q, None, "32")),
    (b"001;17;1;64;0\n", None),
    (b"002;17;1;8;0\n", None),
    (b"001;17;;8;0\n", None),
    (b"001;-1;1;8;0\n", None),
    (b"001;17;1;8;0", None),
    (b"001;17;1;8;0;1\n", None),
    (b"001;17;1;8;99999999999\n", None),
    (b"\n", None),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_lines(line: bytes, expected: tuple[object, ...] | None) -> None:
    event = parse_event(line)
    if expected is None:
        assert event is None
    else:
        assert event is not None
        status = event.status
        found = (event.timestamp, status.job_id, status.state, status.exit_code, status.native_state)
        assert found == expected
        assert event.code == int(line.rpartition(b";")[2])


@pytest.mark.parametrize(
    ("line", "has_failed", "signal"),
    [
        (b"8;0", False, None),
        (b"8;3", True, None),
        (b"8;271", True, 15),
        (b"8;-11", True, None),
        (b"4;0", True, None),
    ],
)
def test_what_has_failed(line: bytes, has_failed: bool, signal: int | None) -> None:
    """PBS tells the signal that ended a job as 256 and its number, and what it could not do by a negative number."""
    event = parse_event(b"001;17;1;%s\n" % line)
    assert event is not None
    assert (event.status.has_failed, event.status.signal) == (has_failed, signal)


@given(st.binary(max_size=60).map(lambda data: b"001;1;" + data + b"\n"))
def test_any_bytes(line: bytes) -> None:
    event = parse_event(line)
    assert event is None or b";" + os.fsencode(event.job_id) + b";" in line


def write_generator(tmp_path: Path, text: str) -> list[str]:
    """Write a generator that is a shell script, and return its command; $2 is its timestamp."""
    path = tmp_path / "generator"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


@contextlib.asynccontextmanager
async def running(listener: EventListener) -> AsyncIterator[None]:
    task = asyncio.ensure_future(listener.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


# Managed Job Scheduler Adapter Design, "Testing": job state monitor


def test_that_some_resource_can_register_id_to_object_mappings() -> None:
    monitor = JobMonitor(lambda _event, _key: None)
    monitor.register("17", object())
    with pytest.raises(AlreadyRegisteredError):
        monitor.register("17", object())
    monitor.unregister("17")
    with pytest.raises(NotRegisteredError):
        monitor.unregister("17")


async def test_that_generated_events_are_propagated_to_the_listener_with_the_resource_key(
    tmp_path: Path,
) -> None:
    published: list[tuple[JobEvent, Hashable]] = []
    monitor = JobMonitor(lambda event, key: published.append((event, key)))
    key = object()
    monitor.register("17", key)
    script = "printf '001;%s;17;1;0\\n001;%s;18;1;0\\n001;%s;17;8;3\\n' 5 5 6; cat"
    async with running(
        EventListener(write_generator(tmp_path, script), monitor.feed_event, first_timestamp=0)
    ):
        await wait_until_async(lambda: len(published) == 2)
    assert [(e.job_id, e.timestamp, e.state, e.status.exit_code, k is key) for e, k in published] == [
        ("17", 5, Q, None, True),
        ("17", 6, D, 3, True),
    ]


async def test_that_registration_after_events_causes_replay_from_the_soft_state_cache(tmp_path: Path) -> None:
    published: list[JobState] = []
    monitor = JobMonitor(lambda event, _key: published.append(event.state))
    received: list[JobEvent] = []

    def on_event(event: JobEvent) -> None:
        received.append(event)
        monitor.feed_event(event)

    script = "printf '001;5;17;1;0\\n001;5;17;2;0\\n001;9;17;8;0\\n'; cat"
    async with running(EventListener(write_generator(tmp_path, script), on_event, first_timestamp=0)):
        await wait_until_async(lambda: len(received) == 3)
    assert published == []
    assert monitor.oldest_early_timestamp == 5
    monitor.register("17")
    assert published == [Q, R, D]
    assert monitor.oldest_early_timestamp is None


def test_that_the_jsm_recovers_its_persistent_datum_upon_restart(tmp_path: Path) -> None:
    """It is the time of the oldest event that waits for a registration, or else of the last event that is not of the future."""
    checkpoint = tmp_path / "checkpoint"
    script = (
        f"echo $2 >> {tmp_path}/since; printf '001;50;17;1;0\\n001;9999999999;17;2;0\\n001;70;18;1;0\\n'; cat"
    )

    def read_timestamps() -> list[str]:
        path = tmp_path / "since"
        return path.read_text().split() if path.exists() else []

    async def run_until_all(registered: str) -> None:
        received: list[JobEvent] = []
        monitor = JobMonitor(lambda _event, _key: None)
        if registered:
            monitor.register(registered)

        def on_event(event: JobEvent) -> None:
            monitor.feed_event(event)
            received.append(event)

        words = write_generator(tmp_path, script)
        listener = EventListener(
            words,
            on_event,
            checkpoint_path=str(checkpoint),
            first_timestamp=3,
            get_oldest_early_timestamp=lambda: monitor.oldest_early_timestamp,
        )
        async with running(listener):
            await wait_until_async(lambda: len(received) == 3)

    asyncio.run(run_until_all(""))
    assert (read_timestamps(), checkpoint.read_text()) == (["3"], "50\n")
    asyncio.run(run_until_all("17"))
    assert (read_timestamps(), checkpoint.read_text()) == (["3", "50"], "70\n")
    checkpoint.write_text("what\n")
    asyncio.run(run_until_all("18"))
    assert read_timestamps() == ["3", "50", "3"]
    checkpoint.write_text("9999999999\n")
    asyncio.run(run_until_all("18"))
    assert int(read_timestamps()[-1]) <= time.time()
    assert os.listdir(tmp_path).count("checkpoint") == len(
        [n for n in os.listdir(tmp_path) if "checkpoint" in n]
    )


async def test_a_monitor_s_own_listener_reads_early_events_again(tmp_path: Path) -> None:
    told: list[str] = []
    monitor = JobMonitor(lambda event, _key: told.append(event.job_id), early_event_lifetime=1e12)
    checkpoint = tmp_path / "checkpoint"
    words = write_generator(
        tmp_path, "printf '001;9000000050;17;1;0\\n001;9000000070;18;1;0\\n001;9000000090;19;1;0\\n'; cat"
    )

    monitor.feed_event(JobEvent(40.0, JobStatus("16", JobState.QUEUED)))

    async with running(monitor.open_listener(words, checkpoint_path=str(checkpoint))):
        monitor.register("19")
        await wait_until_async(lambda: told == ["19"])
    assert checkpoint.read_text() == "40\n"


async def test_the_listener_gets_the_code_of_each_end(tmp_path: Path) -> None:
    published: list[tuple[str, int]] = []
    monitor = JobMonitor(lambda event, _key: published.append((event.job_id, event.code)))
    ends = ["001;5;1;8;271", "001;5;2;8;-11", "001;5;3;4;7", "001;5;4;8;3"]
    for job in "1234":
        monitor.register(job)
    script = "\n".join([*(f"echo '{end}'" for end in ends), "cat"])
    async with running(
        EventListener(write_generator(tmp_path, script), monitor.feed_event, first_timestamp=0)
    ):
        await wait_until_async(lambda: len(published) == 4)
    assert published == [("1", 271), ("2", -11), ("3", 7), ("4", 3)]


async def test_what_a_restarted_generator_tells_again_is_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a second is read again. A job that was held and released in it, or ran twice, did so once."""
    monkeypatch.setattr(module, "_RESTART_BACKOFF", (0.01, 0.02))
    published: list[JobState] = []
    monitor = JobMonitor(lambda event, _key: published.append(event.state))
    monitor.register("17")
    starts = tmp_path / "starts"
    lines = [
        f"[ $n -lt {number} ] || echo '001;5;17;{state};0'"
        for number, state in enumerate([1, 16, 1, 2, 1, 2], 1)
    ]
    script = "\n".join([f"echo x >> {starts}; n=$(wc -l < {starts})", *lines, "[ $n -lt 8 ] || cat"])
    async with running(
        EventListener(write_generator(tmp_path, script), monitor.feed_event, first_timestamp=0)
    ):
        await wait_until_async(lambda: starts.exists() and len(starts.read_text().split()) >= 8)
        await wait_until_async(lambda: len(published) >= 6)
    assert published == [Q, H, Q, R, Q, R]


# Faults


def test_a_checkpoint_that_is_not_a_regular_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not opened, which would wait for a writer."""
    os.mkfifo(tmp_path / "checkpoint")
    listener = EventListener(
        ["true"], lambda _event: None, checkpoint_path=str(tmp_path / "checkpoint"), first_timestamp=7
    )
    assert listener.resume_timestamp == 7
    assert "does not contain a timestamp: [Errno 22] Not a regular file" in caplog.text


async def test_a_generator_that_dies_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[JobEvent] = []
    script = f'echo x >> {tmp_path}/starts; echo "001;$2;17;1;0"; echo "001;$(($2 + 1));cut'
    listener = EventListener(
        write_generator(tmp_path, script + '"; kill -s KILL $$'), received.append, first_timestamp=7
    )
    async with running(listener):
        await wait_until_async(lambda: "it is started again in 0.2 s" in caplog.text)
    assert [(e.timestamp, e.job_id) for e in received] == [(7, "17")]
    assert "has ended (signal 9); it is started again in 0.1 s" in caplog.text


async def test_one_that_cannot_be_started(caplog: pytest.LogCaptureFixture) -> None:
    listener = EventListener(["/no/generator"], print)
    async with running(listener):
        await wait_until_async(lambda: caplog.text.count("is started again in") >= 2)
    assert "the event generator /no/generator cannot be started: No such file" in caplog.text


async def test_lines_that_are_not_events(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINE_LENGTH", 1000)
    received: list[JobEvent] = []
    script = (
        "echo nonsense; head -c 5000 /dev/zero | tr '\\0' x; echo; echo '001;1;17;1;0';"
        " head -c 999 /dev/zero | tr '\\0' y; echo; echo '001;1;18;1;0'; cat"
    )
    async with running(EventListener(write_generator(tmp_path, script), received.append, first_timestamp=0)):
        await wait_until_async(lambda: len(received) == 2)
    assert [event.job_id for event in received] == ["17", "18"]
    assert "a line of more than 1000 bytes is not an event" in caplog.text
    assert "this line is not an event: 'nonsense'" in caplog.text


async def test_one_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator must end when its standard input is closed; otherwise it is killed."""
    monkeypatch.setattr(module, "_SHUTDOWN_GRACE", 0.2)
    received: list[JobEvent] = []
    script = f"echo $$ > {tmp_path}/pid; echo '001;1;17;1;0'; exec sleep 600"
    async with running(EventListener(write_generator(tmp_path, script), received.append, first_timestamp=0)):
        await wait_until_async(lambda: received)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.race
async def test_killed_often_under_load(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Issue: the listener sees every event once, whenever the generator is killed."""
    logs = tmp_path / "server_logs"
    logs.mkdir()
    published: Counter[tuple[str, JobState]] = Counter()
    monitor = JobMonitor(lambda event, _key: published.update([(event.job_id, event.state)]))
    jobs = [f"{number}.host" for number in range(rounds(3000, 1000))]
    for job in jobs:
        monitor.register(job)
    words = [*SEG, "-s", "pbs", "--log-path", str(logs), "--interval", "0.01"]
    expected = {(job, state) for job in jobs for state in (Q, R, D)}

    async def write() -> None:
        path = logs / time.strftime("%Y%m%d")
        for number, job in enumerate(jobs):
            append(path, job)
            if number % 20 == 0:
                await asyncio.sleep(0.05)

    async def kill() -> int:
        killed = 0
        chance = random.Random(17)
        while killed < rounds(50, 15):
            await asyncio.sleep(chance.uniform(0.05, 0.2))
            for pid in generators(str(logs)):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        return killed

    module_again, module._RESTART_BACKOFF = module._RESTART_BACKOFF, (0.01, 0.02)
    try:
        listener = EventListener(words, monitor.feed_event, first_timestamp=time.time() - 5)
        async with running(listener):
            await asyncio.gather(write(), kill())
            await wait_until_async(lambda: len(published) == len(expected))
        assert caplog.text.count("is started again in") >= rounds(40, 10)
    finally:
        module._RESTART_BACKOFF = module_again
    assert published.keys() == expected
    assert set(published.values()) == {1}


def append(path: Path, job: str) -> None:
    """Write what PBS's server logs of a job."""
    now = time.strftime("%m/%d/%Y %H:%M:%S")
    messages = ("Job Queued at request of u", "Job Run at request of u", "Exit_status=0")
    with path.open("a") as file:
        file.writelines(f"{now};0008;PBS_Server;Job;{job};{m}\n" for m in messages)


def generators(path: str) -> list[int]:
    """Return the ids of the generators that read logs there."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if path.encode() in words and b"osprofile.events.seg_command" in words:
                found.append(int(name))
    return found


@pytest.mark.parametrize("turns", range(1, 8))
async def test_a_start_that_is_cancelled_leaves_nothing_open(tmp_path: Path, turns: int) -> None:
    """Though only the first process is killed: its child ends as its input is closed."""
    opened = os.listdir("/proc/self/fd")
    words = write_generator(tmp_path, f"(: > {tmp_path}/begun; cat; : > {tmp_path}/ended); :")
    task = asyncio.ensure_future(EventListener(words, lambda _: None).run())
    await cancel_after_turns(task, turns, tmp_path / "begun")
    await wait_until_async(lambda: os.listdir("/proc/self/fd") == opened)
    await wait_until_async((tmp_path / "ended").exists)
