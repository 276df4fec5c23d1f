# a script
"""Run jobs of PSI/J through a profile of osprofile: python psij_example.py [PROFILE]."""

import sys
from datetime import timedelta

import psij


def main(profile: str) -> int:
    """Run three jobs, print how each ended, and return the number of those that failed."""
    executor = psij.JobExecutor.get_instance(f"osprofile-{profile}")
    jobs = []
    for exit_code in ("0", "3", "0"):
        attributes = psij.JobAttributes(duration=timedelta(minutes=5))
        spec = psij.JobSpec("/bin/sh", ["-c", 'exit "$1"', "sh", exit_code], attributes=attributes)
        job = psij.Job(spec)
        executor.submit(job)
        jobs.append(job)
    ends = [job.wait() for job in jobs]
    for end in ends:
        print(end and end.state, end and end.exit_code)  # the purpose of the example
    return sum(1 for end in ends if end is None or end.exit_code != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["linux"]))
