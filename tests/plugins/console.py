"""The console blocks of a plugin's page."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.docs import pages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def check_commands(block: pages.Block, directory: Path, environment: Mapping[str, str] | None = None) -> int:
    """Run the commands of a block, whose output must be that of the page; return how many there were."""
    found = pages.commands(block) if block.word == "console" else []
    for command in found:
        done = subprocess.run(
            ["bash", "-c", command.text],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert pages.match(command.output, done.stdout, {}) is not None, done.stdout
    return len(found)
