"""Run Python functions as jobs: `python functions.py [PROFILE]`."""

from __future__ import annotations

import concurrent.futures
import sys

import osprofile


def count_primes(start: int, end: int) -> int:
    """Return how many numbers from start to before end are prime."""
    return sum(
        all(number % i for i in range(2, int(number**0.5) + 1)) for number in range(max(2, start), end)
    )


def main(profile: str = "linux") -> None:
    """Count them by three jobs, and then by an array."""
    with osprofile.Executor(profile, walltime="10m") as executor:
        futures = [executor.submit(count_primes, n, n + 1000) for n in (0, 1000, 2000)]
        for future in concurrent.futures.as_completed(futures):
            if isinstance(error := future.exception(), osprofile.NoResultError):
                print(f"job {error.job_id}: {error.cause}: {error.output}", file=sys.stderr)
        print([future.result() for future in futures])
        starts = range(0, 10_000, 1000)
        counts = executor.map(count_primes, starts, [start + 1000 for start in starts])
        print(sum(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
