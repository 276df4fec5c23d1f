"""Find the schemas and the bundled profiles: in the installed package or in a checkout."""

from __future__ import annotations

from functools import cache
from os import path

_PACKAGE_DIRECTORY = path.dirname(path.dirname(path.realpath(__file__)))
INSTALLED_DATA = path.join(_PACKAGE_DIRECTORY, "_data")
"""The directory with the data of an installed package; a checkout has none."""


@cache
def _get_data_directory() -> str:
    return INSTALLED_DATA if path.isdir(INSTALLED_DATA) else path.dirname(_PACKAGE_DIRECTORY)


def find_commit() -> str:
    """Return the commit from which this was built, or that of the checkout; the empty text if it is not known."""
    directory = _get_data_directory()
    try:
        with open(path.join(directory, "commit"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        pass
    if not path.exists(path.join(directory, ".git")):
        return ""
    import subprocess

    command = ["git", "-C", directory, "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # there is no git
        return ""


def get_schemas_directory() -> str:
    """Return the directory of the XSD files."""
    return path.join(_get_data_directory(), "schemas")


def get_bundled_directory() -> str:
    """Return the directory that has a folder for each bundled profile."""
    return path.join(_get_data_directory(), "profiles")


def is_bundled(file: str) -> bool:
    """Return whether a file is one of the bundled profiles."""
    return file.startswith(path.join(get_bundled_directory(), ""))
