"""Find out whether a file is on a network file system."""

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
    real_path = os.path.realpath(path)
    longest_point, longest_type = "", ""
    try:
        with open(mount_table, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, mount_type, *_ = line.split(" ")
                # The kernel escapes blanks, tabs and backslashes.
                point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                is_on_mount = real_path == point or real_path.startswith(point.rstrip("/") + "/")
                # Of two mounts at the same point, the later one hides the earlier.
                if is_on_mount and len(point) >= len(longest_point):
                    longest_point, longest_type = point, mount_type
    except (OSError, ValueError):
        return False
    return longest_type in _NETWORK_TYPES
