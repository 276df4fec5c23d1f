"""Prime numbers, counted by Dask's workers on a batch system: dask_example.py [PROFILE [ADDRESS]].

ADDRESS is one of this machine that the nodes of the batch system can reach.
"""

import sys

from distributed import Client

from osprofile.plugins.dask import OSProfileCluster


def count_primes(start: int, end: int) -> int:
    """Return how many numbers from start to before end are prime."""
    return sum(
        all(number % i for i in range(2, int(number**0.5) + 1)) for number in range(max(2, start), end)
    )


def main(profile: str = "linux", address: str = "127.0.0.1") -> None:
    """Count them with two jobs."""
    scheduler_options = {"host": address, "dashboard_address": f"{address}:0"}
    with (
        OSProfileCluster(
            profile, cores=1, memory="1 GiB", walltime="00:10:00", scheduler_options=scheduler_options
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.scale(jobs=2)
        starts = range(0, 10000, 1000)
        counts = client.map(count_primes, starts, [start + 1000 for start in starts])
        print(sum(client.gather(counts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
