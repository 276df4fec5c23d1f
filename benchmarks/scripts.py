"""The promise: START takes little processor time. Against a shell that starts as many programs.

START of `slurm`, with a stand-in for sbatch, starts ten programs: mkdir, namei, flock, setsid, sh, the
stand-in (a shell), grep, ln twice, and the shell that reads the script. Its guarantees (one submission,
none lost) may take one and a half times as much again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import count
from pathlib import Path

from paired import Promise, compare, heading, process, rounds

import osprofile

PROGRAMS = 10


def main() -> int:
    """Compare and print; 1 where the promise is broken."""
    heading()
    profile = osprofile.load("slurm")
    numbers = count()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        sbatch = home / "sbatch"
        sbatch.write_text("#!/bin/sh\necho 12\n")
        sbatch.chmod(0o700)
        os.environ |= {"HOME": directory, "PATH": f"{directory}:/usr/bin:/bin"}
        script, programs = home / "start", home / "programs"
        programs.write_text("/bin/true\n" * (PROGRAMS - 1))
        start_script, start_programs = (process(["/bin/sh", str(f)]) for f in (script, programs))

        def start_job() -> float:
            context = {"USER_NAME": "me", "WORKING_DIRECTORY": f"{directory}/job{next(numbers)}"}
            script.write_text(osprofile.incarnate(profile, "START", context=context).text)
            return start_script()

        promise = Promise("START of slurm", f"a shell that starts {PROGRAMS - 1} programs", 2.5)
        return 0 if compare(promise, start_job, start_programs, rounds()) else 1


if __name__ == "__main__":
    sys.exit(main())
