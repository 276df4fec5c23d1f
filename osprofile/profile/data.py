"""Where the schemas and the bundled profiles lie: in the installed package or in a checkout."""

from __future__ import annotations

from functools import cache
from os import path

_PACKAGE = path.dirname(path.dirname(path.realpath(__file__)))


@cache
def _data_directory() -> str:
    installed = path.join(_PACKAGE, "_data")
    return installed if path.isdir(installed) else path.dirname(_PACKAGE)


def schemas_directory() -> str:
    """Give the directory of the XSD files."""
    return path.join(_data_directory(), "schemas")


def bundled_profiles_directory() -> str:
    """Give the directory that holds one folder for each bundled profile."""
    return path.join(_data_directory(), "profiles")
