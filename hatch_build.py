"""Put into a distribution what pyproject.toml cannot name: its commit, and into a wheel the profiles without golden files."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {"sdist": "commit", "wheel": "osprofile/_data/commit"}


class DataHook(BuildHookInterface[Any]):
    """Adds the bundled profiles, and the file `commit`: of a checkout by git, of an unpacked sdist as it is there."""

    PLUGIN_NAME = "data"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a wheel or an sdist; an editable install finds the profiles, and asks git itself.

        The file `commit` is left out if the commit is not known.
        """
        if self.target_name == "wheel" and version != "editable":
            files = Path(self.root, "profiles").rglob("*")
            names = [str(file.relative_to(self.root)) for file in files if file.is_file()]
            build_data["force_include"] |= {
                name: f"osprofile/_data/{name}" for name in names if "/golden/" not in name
            }
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
