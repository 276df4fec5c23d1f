"""The processes of jobs, by a word in their environment."""

from __future__ import annotations

import os
import time
from pathlib import Path

GRACE = 20.0
"""Seconds that osprofile's own processes may take to end after the job's end is known; a job sleeps longer."""


def list_processes(mark: str) -> list[str]:
    """Return the processes of `find_processes` that do not end within GRACE."""
    deadline = time.monotonic() + GRACE
    while (found := find_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def find_processes(mark: str) -> list[str]:
    """Return the command lines of all processes of jobs with a mark, besides this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        # What this process starts itself, as Parsl's interchange, is no job.
        if mark.encode() in environment and b"GPE_JOB_ID" in environment and int(process.name) != os.getpid():
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found
