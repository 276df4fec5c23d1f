"""The options of `incarnate job submit` by the fields that they set."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from osprofile.jobs.fields import FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM_FIELD: Final = "EXECUTABLE"
ARGUMENTS_FIELD: Final = "ARGUMENTS"

SUBMIT_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        row.name: f"{row.flags[0]} {row.metavar.partition('|')[0]}".strip()
        for row in reversed(list(FIELDS.values()))  # the first one for a field is the last that is kept
        if row.option and row.name
    }
)
"""The options by the fields that they set, with their values: `--queue QUEUE`."""
_BASE: Final = "the current directory (on another machine: the working directory of the job)"
_COMMAND_DESCRIPTIONS: Final = {
    PROGRAM_FIELD: "The program to run, which a job must have: a path (relative to where it runs), or a name that is"
    " found through PATH, else in the current directory.",
    ARGUMENTS_FIELD: "The program's arguments: all words after it.",
    "ENVIRONMENT": "An environment variable for the program only. The option may be repeated.",
    "DEPENDENCY": "A job that must end with exit code 0 before this one begins, by its id or key; --after-not-ok: in"
    " another way; --after-any: in any way. The options may be repeated, and all conditions must hold. A job whose"
    " conditions cannot hold any more is removed.",
    "EXCLUSIVE": "No other job runs on the nodes of this one.",
    "DIRECTORY": f"The directory in which the program runs: a path relative to the current directory (on another"
    f" machine: an absolute path). Without the option: {_BASE}. Other jobs can use it, too.",
    "STDIN": f"The file that the program reads as its standard input, relative to {_BASE}.",
    "STDOUT": f"The file for the program's standard output, relative to {_BASE}. Without the option, it is in the working"
    " directory of the job.",
    "STDERR": f"The file for the program's standard error, relative to {_BASE}. Without the option, it is in the working"
    " directory of the job. If it is the same as that of --stdout, both are written to one file.",
}  # fmt: skip


def find_command_description(name: str) -> str:
    """Return what a field of the bundled profiles is for the command, where this is not what it is for START."""
    return _COMMAND_DESCRIPTIONS.get(name, "")


def format_option(name: str) -> str:
    """Return how a command line sets a field of a job: `--nodes N`, `--set LICENSES=VALUE`."""
    if name == PROGRAM_FIELD:
        return "the program, after the options"
    if name == ARGUMENTS_FIELD:
        return "the words after the program"
    return SUBMIT_OPTIONS.get(name, f"--set {name}=VALUE")
