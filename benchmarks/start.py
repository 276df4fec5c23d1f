"""The promise: a command starts fast. Against a bare interpreter, user plus system time.

START is printed by a plan that an earlier call has kept, `--help` from a file.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

from paired import Promise, compare, heading, process, rounds

import osprofile


def main() -> int:
    """Compare and print; 1 where a promise is broken."""
    heading()
    count = rounds()
    # As an installed package is: pip compiles what it installs, but not a checkout.
    compileall.compile_dir(Path(osprofile.__file__).parent, quiet=1)
    bare = process([sys.executable, "-I", "-c", ""])
    command = [sys.executable, str(Path(sys.executable).parent / "incarnate")]
    peer = "a bare interpreter"
    cases = [
        ("incarnate START --profile pbs", [*command, "START", "--profile", "pbs"], 2),
        ("incarnate --help", [*command, "--help"], 1.5),
        ("import osprofile", [sys.executable, "-c", "import osprofile"], 2),
    ]
    held = [compare(Promise(w, peer, limit), process(c), bare, count) for w, c, limit in cases]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
