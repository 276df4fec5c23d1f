"""The promise of quick ends: how long after the end of a program on this machine a caller that waits knows it.

The peer is a query for the state of a job that runs: an end cannot be known faster than by one. And it takes no
longer for a user who has run many jobs.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, heading, memory_directory, rounds

import osprofile

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 10.0
"""The end is noticed twice: by the exit status, and by what the job took."""
HISTORY_LIMIT = 1.5
ENDED_JOBS = 5000


def measure_end(session: osprofile.JobSession, delays: list[float]) -> Callable[[], float]:
    """Return a measure: seconds from the last act of a job's program until `wait` returns."""

    def measure() -> float:
        job = session.submit(
            osprofile.JobDescription(executable="/bin/sh", arguments=("-c", "sleep 0.3; date +%s.%N"))
        )
        job.wait()
        delays.append(time.time() - float(job.stdout()))
        return delays[-1]

    return measure


def make_history(home: Path) -> None:
    """Write what many ended jobs have left: links to their directories, each with some files."""
    links = home / ".gpe" / "jobs" / "linux"
    links.mkdir(parents=True)
    for number in range(ENDED_JOBS):
        directory = home / "work" / str(number)
        (directory / ".gpe").mkdir(parents=True)
        for name in (".gpe/script", ".gpe_exit_status", "stdout", "stderr", "data"):
            (directory / name).touch()
        (links / f"{number + 1}-1-00000000").symlink_to(directory)


def compare_histories(root: Path, count: int) -> bool:
    """Compare the ends of jobs in a home of many ended jobs with those in an empty one."""
    homes = [root / "old", root / "new"]
    make_history(homes[0])
    homes[1].mkdir()
    measures = []
    sessions = []
    for home in homes:
        os.environ["HOME"] = str(home)
        sessions.append(osprofile.JobSession("linux"))
        measures.append(measure_end(sessions[-1], []))

    def measure(number: int) -> float:
        os.environ["HOME"] = str(homes[number])
        return measures[number]()

    promise = Promise(f"an end after {ENDED_JOBS} jobs", "one of the first jobs", HISTORY_LIMIT)
    held = compare(promise, lambda: measure(0), lambda: measure(1), count)
    for session in sessions:
        session.close()
    return held


def measure_query(job: osprofile.Job) -> float:
    """Return the seconds of a query for the state of a job that runs."""
    begin = time.perf_counter()
    job.status()
    return time.perf_counter() - begin


def main() -> int:
    """Compare and print; return 1 if the promise is broken."""
    heading()
    count = 15 if rounds() < 10 else 41
    delays: list[float] = []
    with memory_directory() as directory:
        os.environ["HOME"] = directory
        with osprofile.JobSession("linux") as session:
            promise = Promise("a job's end on this machine is known", "one query", LIMIT)
            running = session.submit(osprofile.JobDescription(executable="/bin/sleep", arguments=("600",)))
            held = compare(promise, measure_end(session, delays), lambda: measure_query(running), count)
            running.cancel()
        held = compare_histories(Path(directory), count) and held
        time.sleep(0.5)  # the last job still writes
    print(
        f"    the median is {statistics.median(delays) * 1e3:.0f} ms; the slowest: {max(delays) * 1e3:.0f} ms"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
