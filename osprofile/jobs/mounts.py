"""The kind of file system that a file is on."""

from __future__ import annotations

import os
from typing import Final

_NETWORK_TYPES: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.beegfs", "fuse.ceph", "fuse.glusterfs",
        "fuse.juicefs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "orangefs",
        "panfs", "pvfs2", "smb3", "smbfs",
    }
)  # fmt: skip


def is_on_network_mount(path: str, mount_table: str = "/proc/self/mounts") -> bool:
    """Return whether a file is on a network file system; False if the mount table cannot be read."""
    real = os.path.realpath(path)
    mount_point, type_ = "", ""
    try:
        with open(mount_table, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, kind, *_ = line.split(" ")
                point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(mount_point):
                    mount_point, type_ = point, kind
    except (OSError, ValueError):
        return False
    return type_ in _NETWORK_TYPES
