"""What must be there before the modules of these tests are imported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Give AiiDA, which makes its directory in the home when it is imported, and warns of it, one that is there."""
    directory = tempfile.TemporaryDirectory(prefix="osprofile-aiida.")
    config.add_cleanup(directory.cleanup)
    (Path(directory.name) / ".aiida").mkdir()
    os.environ["AIIDA_PATH"] = directory.name
