"""100 jobs on a real Slurm from the first submission to the last known end: the figures of README.

By `incarnate job submit --from FILE`, and by PSI/J's own executor with its defaults where that is installed
(`make plugins`, then this script with .venv-plugins/bin/python).
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(sys.path.pop(0))  # `import psij` must not find psij.py beside this file

from paired import heading, rounds

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = 100


def submit_file(file: Path) -> None:
    """Submit the jobs of a file by the command, and wait for their ends."""
    incarnate = Path(sys.executable).with_name("incarnate")
    words = [incarnate, "job", "submit", "--profile", "slurm", "--from", file, "--wait", "true"]
    subprocess.run(words, check=True, capture_output=True)


def submit_by_psij() -> None:
    """Submit jobs by PSI/J's executor for Slurm, and wait for their ends."""
    from psij import Job, JobExecutor, JobSpec

    executor = JobExecutor.get_instance("slurm")
    jobs = [Job(JobSpec("/bin/true")) for _ in range(JOBS)]
    for job in jobs:
        executor.submit(job)
    assert [end and end.exit_code for end in (job.wait() for job in jobs)] == [0] * JOBS  # noqa: S101


def measure(what: str, run: Callable[[], None], count: int) -> None:
    """Print the median and the range of some runs."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    print(f"{what}: {statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f} s, {count} runs)")


def main() -> None:
    """Measure and print."""
    heading()
    print(f"load at the beginning: {os.getloadavg()[0]:.1f}")
    count = 3 if rounds() < 10 else 7
    with tempfile.TemporaryDirectory(prefix="bench-slurm-") as directory:
        os.environ["HOME"] = directory
        os.chdir(directory)
        file = Path(directory) / "jobs.csv"
        file.write_text("arguments\n" + "".join(f"{n}\n" for n in range(JOBS)))
        measure(f"{JOBS} jobs of a file", lambda: submit_file(file), count)
        if importlib.util.find_spec("psij"):
            measure(f"{JOBS} jobs by PSI/J's executor", submit_by_psij, 1)


if __name__ == "__main__":
    main()
