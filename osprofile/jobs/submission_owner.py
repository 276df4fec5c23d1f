"""Name the owner of a submission (the process that works on it), and find out whether it still exists."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

REMOTE_OWNER_TIMEOUT: Final = 600.0
"""Seconds after which the submission of another host's process is considered interrupted."""
_RELEASED: Final = "0 released"
"""What stands for a process that has given a submission up. Its host is still needed: the job may be there."""


def get_current_owner() -> str:
    """Return this process's name in the record: host, boot, process id, start time."""
    return f"{get_host_and_boot()} {os.getpid()} {_get_start_time(os.getpid())}"


def get_released_owner() -> str:
    """Return the owner of a submission that was begun on this host, and that no process works on."""
    return f"{get_host_and_boot()} {_RELEASED}"


def find_other_host(owner: str | None) -> str | None:
    """Return the name of the host on which a submission was begun; None if it is this one, or not known."""
    host = (owner or "").partition(" ")[0]
    return host if host and host != get_host_and_boot().partition(" ")[0] else None


def is_owner_alive(owner: str | None, started_at: float) -> bool:
    """Return whether the process of a submission that began then (s since 1970) still exists.

    A process of another host cannot be seen from here: it counts as alive for REMOTE_OWNER_TIMEOUT.
    """
    if not owner or owner.endswith(_RELEASED):
        return False
    host, boot, pid, start_time = owner.split(" ")
    this_host, this_boot = get_host_and_boot().split(" ")
    if host != this_host:
        # Two hosts have only the wall clock in common.
        return abs(time.time() - started_at) < REMOTE_OWNER_TIMEOUT
    return boot == this_boot and _get_start_time(int(pid)) == start_time


def get_host_and_boot() -> str:
    """Return this machine's name and the id of its boot (`-` if it has none)."""
    boot = "-"
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return f"{os.uname().nodename} {boot}"


def _get_start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since the boot.

    This tells it from a later process with the same id. `gone`: it has ended. `-`: there is no /proc.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # Fields 3 and following; the second, the program's name, may contain blanks and ")".
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "gone" if os.path.isdir("/proc/self") else "-"
    state, start_time = fields[0], fields[19]
    return "gone" if state in "ZX" else start_time  # a zombie is gone, too
