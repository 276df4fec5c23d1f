"""Where the schemas and the bundled profiles lie: in the installed package or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def _data_directory() -> Path:
    installed = _PACKAGE / "_data"
    return installed if installed.is_dir() else _PACKAGE.parent


def schemas_directory() -> Path:
    """Give the directory of the XSD files."""
    return _data_directory() / "schemas"


def bundled_profiles_directory() -> Path:
    """Give the directory that holds one folder for each bundled profile."""
    return _data_directory() / "profiles"
