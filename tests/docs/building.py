"""The site, built as `make docs` does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAID = re.compile(
    r"INFO    -  (Cleaning site directory|Building documentation to directory: .*"
    r"|Documentation built in [0-9.]+ seconds)\n"
)


def build(directory: Path) -> None:
    """Build the site as `make docs` does; fail on any warning."""
    words = [sys.executable, "-W", "error", "-m", "mkdocs", "build", "--strict", "-d", str(directory)]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAID.sub("", done.stdout + done.stderr) == ""
