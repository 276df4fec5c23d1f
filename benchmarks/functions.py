"""The promises of functions: a hundred functions until all results are there, against submitit and executorlib.

Each function is a process of its own in all of them: `submit` of `osprofile.Executor`, of submitit's executor and
of executorlib's. On this machine by default; `--slurm`, on its Slurm, by submitit's and executorlib's executors for it.
`map` is an array, which is printed, too, and nothing is promised of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

sys.path.append(sys.path.pop(0))  # `import submitit` finds no file of this directory

from paired import Promise, compare, heading

import osprofile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="{name}" extends="{name}">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""
LIMIT = 1.5


def square(number: int) -> int:
    """Return the square: the function that is run."""
    return number * number


def measure(begin: Callable[[int], list[int]], count: int) -> Callable[[], float]:
    """Return a measure: the seconds until all results are there. The results are checked."""

    def run() -> float:
        start = time.perf_counter()
        results = begin(count)
        took = time.perf_counter() - start
        assert results == [n * n for n in range(count)]  # noqa: S101
        return took

    return run


def run_ours(profile: str, count: int) -> list[int]:
    """Run the functions, each as a job."""
    with osprofile.Executor(profile, walltime="10m") as executor:
        futures = [executor.submit(square, n) for n in range(count)]
        return [future.result() for future in futures]


def run_map(profile: str, count: int) -> list[int]:
    """Run the functions as an array."""
    with osprofile.Executor(profile, walltime="10m") as executor:
        return list(executor.map(square, range(count)))


def run_submitit(cluster: str, count: int) -> list[int]:
    """Run the functions by submitit."""
    import submitit

    with tempfile.TemporaryDirectory(prefix="bench-submitit-", ignore_cleanup_errors=True) as folder:
        executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        executor.update_parameters(timeout_min=10)
        jobs = [executor.submit(square, n) for n in range(count)]
        return [job.result() for job in jobs]


def run_executorlib(cluster: str, count: int) -> list[int]:
    """Run the functions by executorlib, as many at a time as there are cores; on Slurm, each by srun."""
    import executorlib

    kind = executorlib.SingleNodeExecutor if cluster == "local" else executorlib.SlurmJobExecutor
    with kind(max_cores=os.cpu_count() or 1) as executor:
        futures = [executor.submit(square, n) for n in range(count)]
        return [future.result() for future in futures]


@contextmanager
def prepare(profile: str) -> Iterator[None]:
    """Have the jobs and the record in a directory of their own."""
    root = tempfile.mkdtemp(prefix="bench-functions-")
    os.makedirs(f"{root}/profiles/{profile}")
    with open(f"{root}/profiles/{profile}/profile.xml", "w", encoding="utf-8") as file:
        file.write(PROFILE.format(name=profile, root=root))
    os.environ |= {"OSPROFILE_PATH": f"{root}/profiles", "OSPROFILE_STORE": f"{root}/jobs.db"}
    try:
        yield
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a brief run, as CI makes it")
    parser.add_argument("--slurm", action="store_true", help="on the Slurm of this machine")
    given = parser.parse_args()
    heading()
    count, pairs = (10, 1) if given.quick else (100, 3)
    profile, cluster = ("slurm", "slurm") if given.slurm else ("linux", "local")
    held = []
    with prepare(profile):
        ours = measure(lambda number: run_ours(profile, number), count)
        for peer, run in (("submitit", run_submitit), ("executorlib", run_executorlib)):
            promise = Promise(f"{count} functions on {profile}", f"{peer} ({cluster})", LIMIT)
            held.append(
                compare(promise, ours, measure(lambda number, run=run: run(cluster, number), count), pairs)  # type: ignore[misc]
            )
        print(f"as an array: {measure(lambda number: run_map(profile, number), count)():.2f} s")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
