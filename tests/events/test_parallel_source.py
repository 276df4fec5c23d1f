"""Two processes replay a backlog: the same events, in the same order, whatever is in the log."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.events import parallel_source, tail
from osprofile.events.seg_command import parse_arguments
from tests.events.sources.test_logs import (
    FILES,
    WHEN,
    WRITERS,
    drain,
    open_log,
    split_events,
    use_small_blocks,
    write,
)
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.events.sources.base import Source

PARALLEL_KINDS = sorted(WRITERS)
IRREGULAR_LINES = {
    "pbs": "02/30/20 at three pm, h;0008;S;Job;1;Job Run\n",
    "lsf": f'"JOB_STATUS" "7.0" {WHEN - 1} 3 64 0\n',
    "sge": f"{WHEN}:acct:q:h:g:a:r:7:sge:0:1:2:3:0:-1:1\n",
    "condor": "junk\n...\n",
    "fork": f"001;{WHEN - 2_000_000_000};x;8;0\n",
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, zone: Callable[[str], None]) -> Iterator[None]:
    zone("UTC")
    monkeypatch.setattr(tail, "RECHECK_INTERVAL", 0.0)
    use_small_blocks(monkeypatch)
    yield
    with pytest.raises(ChildProcessError):  # none is left behind
        os.waitpid(-1, os.WNOHANG)


def read_both_ways(name: str, directory: Path, since: int = 1_000_000) -> tuple[str, str]:
    """Return the events of a log, read by one process and by two."""
    one = open_log(name, directory, since)
    two = parallel_source.parallelize_source(open_log(name, directory, since), 2)
    assert isinstance(two, parallel_source.ParallelSource)
    return drain(one), drain(two)


@pytest.mark.parametrize(
    ("jobs", "irregular"), [(0, False), (1, True), (2, False), (5, True), (300, False), (300, True)]
)
@pytest.mark.parametrize("kind", PARALLEL_KINDS)
def test_the_same_events(kind: str, jobs: int, irregular: bool, tmp_path: Path) -> None:
    name, writer = WRITERS[kind]
    chance = random.Random(f"{kind} {jobs}")
    texts = [writer(n) for n in range(jobs)]
    if irregular:
        texts = [t + IRREGULAR_LINES.get(name, "junk\n") * chance.choice([0, 0, 0, 1, 9]) for t in texts]
    days = ["20200203", "20200204", "20200207"] if kind == "pbs" else [""]
    for number, day in enumerate(days):  # a chain of files
        write(
            name, tmp_path, "".join(texts[number * jobs // len(days) : (number + 1) * jobs // len(days)]), day
        )
    one, two = read_both_ways(name, tmp_path)
    assert two == one
    assert one.count("\n") >= 2 * jobs


@pytest.mark.hunt(4)
@pytest.mark.parametrize("seed", range(20))
def test_lsf_lines_in_any_order(seed: int, tmp_path: Path) -> None:
    """What is older than a line before it is dropped, though another process read that one."""
    chance = random.Random(seed)
    lines = "".join(WRITERS["lsf"][1](n) for n in range(200)).splitlines(keepends=True)
    for _ in range(chance.choice([1, 5, 200])):
        lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
    if seed % 4 == 0:
        lines.insert(chance.randrange(len(lines)), "junk\n")
    write("lsf", tmp_path, "".join(lines))
    one, two = read_both_ways("lsf", tmp_path, WHEN + chance.choice([-5, 50]))
    assert two == one
    assert one


@pytest.mark.parametrize("name", ["pbs", "slurm", "condor"])
@pytest.mark.parametrize("begin", [1_711_846_800 - 5000, 1_729_990_800 - 5000])
def test_ambiguous_hours(name: str, begin: int, tmp_path: Path, zone: Callable[[str], None]) -> None:
    """What a block of the hour that comes twice means depends on those before it."""
    zone("Europe/Berlin")
    text = "".join(WRITERS[name][1](n) for n in range(begin - WHEN, begin - WHEN + 12_000, 50))
    file = time.strftime("%Y%m%d", time.localtime(begin)) if name == "pbs" else ""
    write(name, tmp_path, text, file)
    for since in (1_000_000, begin + 5000 + 600):
        one, two = read_both_ways(name, tmp_path, since)
        assert two == one
        times = [int(event[1]) for event in split_events(one)]
        assert times == sorted(times)
        assert times


def test_what_is_written_afterwards(tmp_path: Path) -> None:
    writer = WRITERS["fork"][1]
    write("fork", tmp_path, "".join(map(writer, range(50))))
    source = parallel_source.parallelize_source(open_log("fork", tmp_path), 2)
    assert drain(source).count("\n") == 100
    assert source.read_events() is None
    assert source.count_unread_bytes() == 0
    write("fork", tmp_path, writer(50))
    assert drain(source).count("\n") == 2


@pytest.mark.parametrize("after", [0, 1, 2, 7])
def test_a_child_that_is_killed(after: int, tmp_path: Path) -> None:
    write("fork", tmp_path, "".join(map(WRITERS["fork"][1], range(300))))
    expected = drain(open_log("fork", tmp_path))
    source = parallel_source.parallelize_source(open_log("fork", tmp_path), 2)
    got = "".join(source.read_events() or "" for _ in range(after))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    assert got + drain(source) == expected


def test_a_source_that_is_dropped(tmp_path: Path) -> None:
    write("fork", tmp_path, "".join(map(WRITERS["fork"][1], range(300))))
    source: Source | None = parallel_source.parallelize_source(open_log("fork", tmp_path), 2)
    assert source
    assert source.read_events()
    source = None


def test_which_sources_are_parallelized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pbs", "lsf", "fork", "condor"):
        write(name, tmp_path, "", FILES.get(name, "log"))

    def is_parallel(name: str, processes: int | None, *, extended: bool = False) -> bool:
        source = open_log(name, tmp_path, extended=extended)
        return isinstance(
            parallel_source.parallelize_source(source, processes), parallel_source.ParallelSource
        )

    assert is_parallel("pbs", 2)
    assert not is_parallel("pbs", 1)
    assert not is_parallel("pbs", None)  # there is nothing to be read
    assert is_parallel("condor", 2)
    assert not is_parallel("pbs", 2, extended=True)  # remembers what runs
    assert is_parallel("lsf", 2, extended=True)
    monkeypatch.setattr(parallel_source, "MIN_PARALLEL_BACKLOG", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert is_parallel("fork", None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not is_parallel("fork", None)
    assert parse_arguments(["-s", "fork"]).processes is None
    assert parse_arguments(["--processes=2"]).processes == 2


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """A generator that is killed while its reader stalls: whoever reads sees the end at once."""
    log = tmp_path / "log"
    with log.open("w") as file:
        file.writelines(map(WRITERS["fork"][1], range(100_000)))
    words = ["osprofile-seg", "-s", "fork", "-t", "1", "--log-path", str(log), "--processes", "2"]
    words[0] = str(Path(sys.executable).with_name(words[0]))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin
        assert program.stdout
        assert program.stdout.readline()
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        program.kill()
        program.stdout.read()
        program.stdin.close()
    (child,) = children
    wait_until(lambda: has_ended(child))


def has_ended(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
