"""Find the schemas and the bundled profiles: in the installed package or in a checkout."""

from __future__ import annotations

from functools import cache
from os import path

_PACKAGE_DIRECTORY = path.dirname(path.dirname(path.realpath(__file__)))


@cache
def _get_data_directory() -> str:
    installed = path.join(_PACKAGE_DIRECTORY, "_data")
    return installed if path.isdir(installed) else path.dirname(_PACKAGE_DIRECTORY)


def get_schemas_directory() -> str:
    """Return the directory of the XSD files."""
    return path.join(_get_data_directory(), "schemas")


def get_bundled_directory() -> str:
    """Return the directory that has a folder for each bundled profile."""
    return path.join(_get_data_directory(), "profiles")
