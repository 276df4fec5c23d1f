"""How the benchmarks measure: two things in turn, round by round, and the median of their ratios.

A machine's speed drifts; two measurements made one right after the other drift together. So each
round measures ours and the peer's, in alternating order, and only the ratio of the pair counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from osprofile.incarnation.incarnate import static_scripts
from osprofile.incarnation.static_scripts import deployment_script

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile import Profile

_BRIEF = 7
"""Pairs of a brief run."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What is compared, and how large ours / peer's may be at the most."""

    what: str
    peer: str
    limit: float


def deploy(profile: Profile) -> None:
    """Install the programs of a profile in the home directory, as the first job does."""
    script = deployment_script(static_scripts(profile, {}))
    subprocess.run(["sh", "-s"], input=script, text=True, check=True)


def memory_directory() -> tempfile.TemporaryDirectory[str]:
    """Return a new directory in memory, or on disk where programs in memory cannot be run.

    ext4 takes 0.9 ms to create a file while it remembers many removed ones, such as those of a test run.
    """
    memory = "/dev/shm"  # noqa: S108  # a directory of its own is made there
    runs = os.path.isdir(memory) and not os.statvfs(memory).f_flag & os.ST_NOEXEC
    return tempfile.TemporaryDirectory(prefix="bench-", dir=memory if runs else None)


def rounds() -> int:
    """Return the number of rounds that the command line asks for (`--quick` for CI)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a brief run, as CI makes it")
    parser.add_argument("--rounds", type=int, default=0)
    given = parser.parse_args()
    return given.rounds or (_BRIEF if given.quick else 31)


def compare(promise: Promise, ours: Callable[[], float], peer: Callable[[], float], count: int) -> bool:
    """Measure in turn, print one line, and say whether the promise holds.

    Where it does not hold after `count` pairs, three times as many follow, and the median of all decides:
    a few pairs are soon off on a machine that does other work. A brief run ends as more than half of its pairs hold,
    as then the others cannot change that.
    """
    ours(), peer()
    pairs: list[tuple[float, float]] = []
    for number in range(4 * count):
        if number == count and _get_ratio(pairs) <= promise.limit:
            break
        holding = sum(mine / other <= promise.limit for mine, other in pairs)
        if number < count <= _BRIEF and holding > count // 2:
            break
        if number % 2:
            mine, other = ours(), peer()
        else:
            other, mine = peer(), ours()
        pairs.append((mine, other))
    ratio = _get_ratio(pairs)
    held = ratio <= promise.limit
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{promise.what}: {ratio:.2f} times {promise.peer} (at most {promise.limit:g}: "
        f"{'held' if held else 'BROKEN'}); {_seconds(mine)} against {_seconds(other)}, "
        f"{len(pairs)} pairs"
    )
    return held


def _get_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return statistics.median(mine / other for mine, other in pairs)


def timed(work: Callable[[], object], repeat: int) -> Callable[[], float]:
    """Return a measure: seconds for one call of `work`, from `repeat` calls in a row."""

    def measure() -> float:
        begin = time.perf_counter()
        for _ in range(repeat):
            work()
        return (time.perf_counter() - begin) / repeat

    return measure


def process(words: Sequence[str]) -> Callable[[], float]:
    """Return a measure: user and system seconds of one process, its output thrown away."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    def measure() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            message = f"{words} ended with {code}"
            raise RuntimeError(message)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return measure


def heading() -> None:
    """Name the interpreter: numbers of different ones are not comparable."""
    print(f"{platform.python_implementation()} {platform.python_version()}, {sys.platform}")


def _seconds(value: float) -> str:
    return f"{value * 1e6:.1f} us" if value < 1e-3 else f"{value * 1e3:.1f} ms"
