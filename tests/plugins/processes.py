"""The processes of jobs, by a word in their environment."""

from __future__ import annotations

import os
from pathlib import Path

WATCH = "sleep 0.1 "
"""osprofile's own: the watch of a wall time ends a moment after its job."""


def list_processes(mark: str) -> list[str]:
    """Return the command lines of all processes of jobs with a mark, besides this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended, or is another user's
            continue
        # What this process starts itself, as Parsl's interchange, is no job.
        is_job = mark.encode() in environment and b"GPE_JOB_ID" in environment
        if is_job and int(process.name) != os.getpid() and command != WATCH:
            found.append(command)
    return found
