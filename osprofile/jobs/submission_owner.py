"""Which process is at work on a submission: its name in the record, and whether it still lives."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

REMOTE_OWNER_TIMEOUT: Final = 600.0
"""Seconds that a submission by a process of another host may take."""


def current_owner() -> str:
    """Give this process's name in the record: host, boot, process id, start time."""
    return f"{get_host_and_boot()} {os.getpid()} {_process_start_time(os.getpid())}"


def is_owner_alive(owner: str | None, started_at: float) -> bool:
    """Say whether a submission's process, which began then (s since 1970), is still there.

    One of another host cannot be seen from here: it has ABROAD seconds.
    """
    if not owner:
        return False
    host, boot, pid, since = owner.split(" ")
    this_host, this_boot = get_host_and_boot().split(" ")
    if host != this_host:
        return (
            abs(time.time() - started_at) < REMOTE_OWNER_TIMEOUT
        )  # there is no clock but the wall's for two hosts
    return boot == this_boot and _process_start_time(int(pid)) == since


def get_host_and_boot() -> str:
    """Return the name of this machine and of its boot."""
    boot = "-"
    with (
        contextlib.suppress(OSError),
        open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file,
    ):
        boot = file.read().strip()
    return f"{os.uname().nodename} {boot}"


def _process_start_time(pid: int) -> str:
    """Give when a process started, in clock ticks since the boot; `gone` where there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return "gone" if os.path.isdir("/proc/self") else "-"
    return "gone" if words[0] in "ZX" else words[19]
