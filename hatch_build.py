"""Put the commit from which a distribution is built into it, for `incarnate --version`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {"sdist": "commit", "wheel": "osprofile/_data/commit"}


class CommitHook(BuildHookInterface[Any]):
    """Adds the file `commit`: of a checkout by git, of an unpacked sdist as it is there."""

    PLUGIN_NAME = "commit"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to a wheel or an sdist, unless the commit is not known; an editable install asks git itself."""
        recorded = Path(self.root, "commit")
        commit = (
            recorded.read_text(encoding="ascii").strip() if recorded.is_file() else find_commit(self.root)
        )
        if commit and version != "editable":
            self._directory = tempfile.TemporaryDirectory()
            file = Path(self._directory.name, "commit")
            file.write_text(f"{commit}\n", encoding="ascii")
            build_data["force_include"][str(file)] = PLACES[self.target_name]


def find_commit(root: str) -> str:
    """Return the short name of a checkout's commit; the empty text outside of one, and without git."""
    command = ["git", "-C", root, "rev-parse", "--short=12", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
