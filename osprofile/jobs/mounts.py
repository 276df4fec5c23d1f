"""What kind of file system a file lies on."""

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
    """Say whether a file lies on a network file system, as far as the mount table tells."""
    real = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mount_table, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, type_, *_ = line.split(" ")
                point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, type_
    except (OSError, ValueError):
        return False
    return kind in _NETWORK_TYPES
