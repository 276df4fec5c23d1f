"""Which process is at work on a submission: its name in the record, and whether it still lives."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

ABROAD: Final = 600.0
"""Seconds that a submission by a process of another host may take."""


def me() -> str:
    """Give this process's name in the record: host, boot, process id, start time."""
    return f"{here()} {os.getpid()} {_since(os.getpid())}"


def is_at_work(owner: str | None, begun: float) -> bool:
    """Say whether a submission's process, which began then (s since 1970), is still there.

    One of another host cannot be seen from here: it has ABROAD seconds.
    """
    if not owner:
        return False
    host, boot, pid, since = owner.split(" ")
    this_host, this_boot = here().split(" ")
    if host != this_host:
        return abs(time.time() - begun) < ABROAD  # there is no clock but the wall's for two hosts
    return boot == this_boot and _since(int(pid)) == since


def here() -> str:
    """Return the name of this machine and of its boot."""
    boot = "-"
    with (
        contextlib.suppress(OSError),
        open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file,
    ):
        boot = file.read().strip()
    return f"{os.uname().nodename} {boot}"


def _since(pid: int) -> str:
    """Give when a process started, in clock ticks since the boot; `gone` where there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return "gone" if os.path.isdir("/proc/self") else "-"
    return "gone" if words[0] in "ZX" else words[19]
