"""How long tests search for faults: at length with HUNT=1, as before a release; otherwise for a part of the rounds.

Hunts are tests of random input, of many processes, and of every point at which a process can die. Cases that
once found a fault are in tables of their own, which always run whole.
"""

from __future__ import annotations

import os
from typing import Final

HUNT: Final = os.environ.get("HUNT", "") not in {"", "0"}


def rounds(whole: int, part: int) -> int:
    """Return how many rounds a test has, or the distance between its steps: `whole` with HUNT=1, else `part`."""
    return whole if HUNT else part
