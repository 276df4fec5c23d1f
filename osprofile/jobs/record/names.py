"""Names in the record: of target systems, PROFILE[:CLUSTER][@HOST[:PORT]], and of the owners of submissions.

The owner is the process that works on a submission. It is named so that others find out whether it still exists.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache
from typing import TYPE_CHECKING, Final

from osprofile.late import compile_late

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.profile.model import Profile


REMOTE_OWNER_TIMEOUT: Final = 600.0
"""Seconds after which the submission of another host's process is considered interrupted."""
_RELEASED: Final = "0 released"
"""What stands for a process that has given a submission up. Its host is still needed: the job may be there."""
CLUSTER_FIELD: Final = "CLUSTER"
"""The field of the context that selects one of several clusters of a batch system."""
_HOST_AND_PORT: Final = compile_late(r"(?:\[(.*)\]|([^:\[\]]*))(?::([^:]+))?")


def generate_key() -> str:
    """Return a new key, for a submission to which the user gives none."""
    return f"auto-{os.urandom(6).hex()}"


def get_current_owner() -> str:
    """Return this process's name in the record: host, boot, process id, start time."""
    return f"{get_host_and_boot()} {os.getpid()} {_get_own_start_time(os.getpid())}"


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
    return f"{os.uname().nodename} {_read_boot_id()}"


@cache
def _read_boot_id() -> str:
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return "-"


@cache
def _get_own_start_time(process_id: int) -> str:
    """Return when this process started; a child process that was forked has another id."""
    return _get_start_time(process_id)


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


def format_target_name(profile: Profile, context: Mapping[str, str]) -> str:
    """Return a target system's name: the profile's, with the cluster, host and port of the context, or its own."""
    from osprofile.incarnation.context import add_target_fields

    context = add_target_fields(profile, context)
    host, port = context.get("SSH:HOST"), context.get("SSH:PORT")
    cluster = context.get(CLUSTER_FIELD)
    name = profile.name
    if cluster:
        from urllib.parse import quote  # late: it is slow to import

        name = f"{name}:{quote(cluster, safe='')}"
    if not host:
        return name
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    return f"{name}@{host}:{port}" if port else f"{name}@{host}"


def format_link_directory(profile: Profile, context: Mapping[str, str]) -> str:
    """Return the name of the directory in ~/.gpe/jobs with the links to jobs: PROFILE or PROFILE@CLUSTER.

    Two clusters may give the same id to two jobs.
    """
    field = profile.global_fields.get(CLUSTER_FIELD)
    cluster = field and (field.value or context.get(CLUSTER_FIELD) or field.default)
    return f"{profile.name}@{cluster}" if cluster else profile.name


def parse_target_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the profile's name and the context from a name that `format_target_name` returned."""
    name, _, address = name.partition("@")
    profile, _, cluster = name.partition(":")
    context = {}
    if cluster:
        from urllib.parse import unquote  # late: it is slow to import

        context[CLUSTER_FIELD] = unquote(cluster)
    return profile, {**context, **(parse_host_context(address) if address else {})}


def parse_host_context(address: str) -> dict[str, str]:
    """Return SSH:HOST and SSH:PORT for `[user@]host[:port]`; an IPv6 address is in brackets."""
    match = _HOST_AND_PORT.fullmatch(address)
    host, port = (match[1] or match[2], match[3]) if match else (address, None)
    return {"SSH:HOST": host, **({"SSH:PORT": port} if port else {})}
