"""The part of the caller's environment that a job may have."""

import logging
import re
from collections.abc import Mapping
from typing import Final

from osprofile.caller_environment import is_callers_variable

__all__ = ["copy_environment"]

log: Final = logging.getLogger(__name__)
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSAFE_VALUE: Final = re.compile(r"\r\n|\n#")
"""What the bundled profiles refuse in a job script: a batch system could read the line as a directive."""


def copy_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the caller that its jobs get, too; those that must be left out are logged."""
    copied, unsafe = {}, []
    for name, value in environment.items():
        if not _VARIABLE_NAME.fullmatch(name) or is_callers_variable(name):
            continue
        if _UNSAFE_VALUE.search(value):
            unsafe.append(name)
        else:
            copied[name] = value
    if unsafe:
        log.warning(
            "jobs do not get the environment variables %s: a line of their value begins with #, or ends with CR LF",
            unsafe,
        )
    return copied
