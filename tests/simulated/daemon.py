"""The BLAH daemon in simulated time.

python -m tests.simulated.daemon DIRECTORY USER OPTION...
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.simulated.clock import live_in

if __name__ == "__main__":
    participant = live_in(Path(sys.argv[1]), f"blah of {sys.argv[2]}", own_files=2)
    del sys.argv[1:3]
    from osprofile.executors.blah.main import main

    try:
        main()
    finally:
        participant.leave()
