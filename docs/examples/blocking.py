"""Run jobs by methods that block: `python blocking.py [PROFILE]`."""

from __future__ import annotations

import sys

import osprofile


def run_sums(profile: str, limits: list[int]) -> list[int]:
    """Return the sums of the numbers up to each limit, each computed by a job."""
    with osprofile.JobSession(profile) as session:
        jobs = session.submit_many(
            osprofile.JobDescription(
                executable="/bin/sh",
                arguments=["-c", "echo $((LIMIT * (LIMIT + 1) / 2))"],
                environment={"LIMIT": str(limit)},
                name=f"sum-{limit}",
                walltime=60,
            )
            for limit in limits
        )
        for status in session.as_completed(jobs, timeout=600):
            if status.state is not osprofile.JobState.DONE or status.exit_code != 0:
                message = f"job {status.job_id}: {status.state} {status.reason}"
                raise RuntimeError(message)
        return [int(job.stdout()) for job in jobs]


if __name__ == "__main__":
    print(run_sums(sys.argv[1] if len(sys.argv) > 1 else "linux", [10, 100, 1000]))
