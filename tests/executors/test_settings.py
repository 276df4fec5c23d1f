"""What all daemons do with their settings."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LOG = """
import logging, sys
from osprofile.executors.settings import configure_logging
configure_logging(sys.argv[1], "info")
log = logging.getLogger("osprofile.facility")
try:
    raise ValueError("odd\\nFORGED")
except ValueError:
    log.exception("no server\\nFORGED 1\\r\\x0bFORGED\\u2028FORGED \\x1b[2Jé")
log.info("next")
"""


@pytest.mark.parametrize("name", ["log", ""])
def test_no_text_forges_a_line_of_the_log(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-X", "utf8", "-c", LOG, name]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    text = (tmp_path / name).read_text(encoding="utf-8") if name else ended.stderr
    lines = text.splitlines()
    assert [
        line.partition(" ERROR ")[2] or line.partition(" INFO ")[2] for line in lines if line[0] != " "
    ] == ["no server", "next"]
    assert "    FORGED \ufffd[2Jé" in lines
    assert "    ValueError: odd" in lines
