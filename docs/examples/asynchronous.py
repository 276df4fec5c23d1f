"""Run jobs with asyncio: `python asynchronous.py [PROFILE]`."""

from __future__ import annotations

import asyncio
import sys

import osprofile


async def run_exit_codes(profile: str, codes: list[int]) -> list[int | None]:
    """Return the exit codes of jobs that end with these exit codes."""
    store = osprofile.Store()
    async with osprofile.TargetSystem(osprofile.load(profile), store=store) as target:
        job_ids = await target.submit_many(
            osprofile.JobDescription(executable="/bin/sh", arguments=["-c", f"exit {code}"]) for code in codes
        )
        ends = await asyncio.gather(*(target.wait(job_id) for job_id in job_ids))
        return [status.exit_code for status in ends]


if __name__ == "__main__":
    print(asyncio.run(run_exit_codes(sys.argv[1] if len(sys.argv) > 1 else "linux", [0, 3, 255])))
