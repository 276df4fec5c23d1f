"""The files with settings, in TOML: of a daemon the site's, then the user's."""

from __future__ import annotations

import os
import tomllib
from typing import Any, Final

from osprofile.errors import SettingError

SYSTEM_DIRECTORY: Final = "/etc/osprofile"


def list_config_files(name: str) -> list[str]:
    """Return the files of a name that are read if they exist; a later one overrides an earlier one."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return [os.path.join(SYSTEM_DIRECTORY, name), os.path.join(home, "osprofile", name)]


def read_table(path: str, example: str) -> dict[str, Any]:
    """Return the content of a file. Raises `SettingError`, whose hint has the `example` of a line, for one that is no TOML."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
        repr(table)  # messages quote values, and Python formats no integer of thousands of digits
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: {error}", hint=f"it must be TOML, as in: {example}") from None
    return table
