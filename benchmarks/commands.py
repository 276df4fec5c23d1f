"""Promises: a command for jobs on this machine starts fast; a list of many jobs is not long in coming. User plus system time.

In times of the interpreter's start, a submission takes: START, whose programs take 1.1; `re`, `enum`, `typing`, SQLite
and others of the standard library 2.2; to read the profile and to compile START 1; the modules for jobs 2.3. It does
without asyncio (3.5), an engine for the profile's patterns (1), and what follows jobs (0.7). A list that asks
needs what follows jobs, and an engine for what the script prints.
A list that asks nobody needs SQLite, `re` and `typing`.
"""

from __future__ import annotations

import compileall
import contextlib
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from paired import Promise, compare, heading, memory_directory, process, rounds
from record import JOBS, generate_jobs

import osprofile
from osprofile.jobs.record.store import Store

PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="here" extends="linux">
  <osp:UspaceRoot>{}</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""
LONG = 20_000
PEER = "a bare interpreter"
# The promises have room for machines on which files take longer beside the interpreter: one of them has ratios that are a
# tenth larger than those of another, with the same code.


def compare_commands(root: Path, count: int) -> bool:
    """Compare commands in a home directory, and return whether the promises are kept."""
    (root / "here.xml").write_text(PROFILE.format(root))
    command = [sys.executable, str(Path(sys.executable).parent / "incarnate")]
    job, shim = [*command, "job"], str(root / "shim")
    submit = [*job, "submit", "-p", "here"]

    def run(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    run(*command, "shim", shim, "--profile", "here", "--as", "slurm")
    script = root / "job.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    quiet, live, many = (["--store", str(root / f"{name}.db")] for name in ("quiet", "live", "many"))
    run(*submit, *quiet, "--wait", "true")
    job_id = run(*submit, *live, "sleep", "100000")
    cases = [
        ("job list, no job lives", [*job, "list", *quiet], 3.8),  # the aim is 3
        ("job list, one job lives", [*job, "list", *live], 12),  # 5; 9.5 to 10.3 with the same code
        ("job submit", [*submit, *many, "true"], 10),  # 6
        ("squeue of a stand-in, no job", [f"{shim}/squeue"], 3.8),  # 3
        ("sbatch of a stand-in", [f"{shim}/sbatch", str(script)], 10.5),  # 6
    ]
    bare = process([sys.executable, "-I", "-c", ""])
    try:
        held = [compare(Promise(what, PEER, limit), process(c), bare, count) for what, c, limit in cases]
    finally:
        os.killpg(int(job_id.partition("-")[0]), signal.SIGKILL)
    return all(held)


def compare_long_lists(root: Path, count: int) -> bool:
    """Compare lists of many ended jobs with reading their rows, and return whether the promises are kept."""
    path = str(root / "long.db")
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executemany(JOBS, itertools.islice(generate_jobs(LONG, 0), LONG))
    python = str(Path(sys.executable))
    code = "import sys; from osprofile.jobs.record.store import Store; Store(sys.argv[1]).list_all_jobs()"
    words = [python, str(Path(python).parent / "incarnate"), "job", "list", "--all", "--store", path]
    peer = process([python, "-c", code, path])
    held = [
        compare(Promise(what, "reading the rows", limit), process([*words, *options]), peer, count)
        for what, options, limit in (
            # the aims are 1.5 and 3: each row becomes text, a line or an object with all that is known
            (f"job list of {LONG} jobs", (), 2.8),
            ("the same with --json", ("--json",), 4.5),
        )
    ]
    return all(held)


def main() -> int:
    """Compare and print; 1 where a promise is broken."""
    heading()
    # As an installed package is: pip compiles what it installs, but not a checkout.
    compileall.compile_dir(Path(osprofile.__file__).parent, quiet=1)
    with memory_directory() as directory:
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OSPROFILE_STORE"):
            os.environ.pop(name, None)
        os.environ |= {"HOME": directory, "OSPROFILE_PATH": directory}
        os.chdir(directory)  # where the stand-in's jobs write their output
        count = rounds()
        held = [compare_commands(Path(directory), count), compare_long_lists(Path(directory), min(count, 7))]
        return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
