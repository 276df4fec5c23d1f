"""The promise of quick ends: how long after the end of a program on this machine a caller that waits knows it.

The peer is a query for the state of a job that runs: an end cannot be known faster than by one.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from paired import Promise, compare, heading, rounds

import osprofile

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 10.0
"""The end is noticed twice: by the exit status, and by what the job took."""


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
    with tempfile.TemporaryDirectory(prefix="bench-ends-") as directory:
        os.environ["HOME"] = directory
        with osprofile.JobSession("linux") as session:
            promise = Promise("a job's end on this machine is known", "one query", LIMIT)
            running = session.submit(osprofile.JobDescription(executable="/bin/sleep", arguments=("600",)))
            held = compare(promise, measure_end(session, delays), lambda: measure_query(running), count)
            running.abort()
        time.sleep(0.5)  # the last job still writes
    print(
        f"    the median is {statistics.median(delays) * 1e3:.0f} ms; the slowest: {max(delays) * 1e3:.0f} ms"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
