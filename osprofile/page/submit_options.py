"""The options of `incarnate job submit` by the fields that they set."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from osprofile.jobs.fields import FIELDS, OPTION_GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.page.model import Setting

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
_TITLES: Final = {
    "JOB_NAME": "Name",
    PROGRAM_FIELD: "Program",
    "WALLTIME": "Time limit",
    "CPUTIME": "Limit of the CPU time",
    "CPUS": "CPUs for each process",
    "MEMORY": "Memory on each node",
    "GPUS": "GPUs on each node",
    "GPU_TYPE": "Type of the GPUs",
    "QOS": "Quality of service",
    "EXCLUSIVE": "Nodes of its own",
    "START_TIME": "Earliest start",
    "NOTIFY": "Mail to",
    "NOTIFY_EVENTS": "Mail when",
    "REQUEUE": "Run again if a node fails",
    "DEPENDENCY": "After other jobs",
    "ENVIRONMENT": "Environment variables",
    "STDIN": "Standard input",
    "STDOUT": "Standard output",
    "STDERR": "Standard error",
    "NODE_FILE": "File with the nodes' names",
    "TMP_DIR": "Temporary directory",
}
"""What people call a field, where that is not its name with small letters."""
OTHER_GROUP: Final = "Others"
"""The group of fields without an option of their own."""
_POSITIONS: Final = {
    flag: (title, position)
    for title, flags in OPTION_GROUPS.items()
    for position, flag in enumerate(flags.split())
    if flag != "--set"
}
_BASE: Final = "the current directory (on another machine: the working directory of the job)"
_COMMAND_DESCRIPTIONS: Final = {
    PROGRAM_FIELD: "The program to run, which a job must have: a path (relative to where it runs), or a name that is"
    " found through PATH, else in the current directory.",
    ARGUMENTS_FIELD: "The program's arguments: all words after it.",
    "ENVIRONMENT": "An environment variable for the program only. The option may be repeated.",
    "DEPENDENCY": "A job that must end with exit code 0 before this one begins, by its id or key; --after-not-ok: in"
    " another way; --after-any: in any way. The options may be repeated, and all conditions must hold. A job whose"
    " conditions cannot hold any more is removed.",
    "WALLTIME": "The time limit, as in 90m, 1h30m, 2d or 01:30:00; a number alone is seconds.",
    "CPUTIME": "The limit of the job's processor time, as in 90m or 1h30m; a number alone is seconds.",
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


def format_title(name: str) -> str:
    """Return what people call a field: `Time limit` for WALLTIME."""
    return _TITLES.get(name) or name.replace("_", " ").strip().capitalize() or name


def find_group(setting: Setting) -> tuple[str, int]:
    """Return the group of a job's field, as the help of the command has it, and its position there."""
    if setting.name in {PROGRAM_FIELD, ARGUMENTS_FIELD}:
        return next(iter(OPTION_GROUPS)), -1
    return _POSITIONS.get(setting.option.partition(" ")[0], (OTHER_GROUP, 0))


def format_option(name: str) -> str:
    """Return how a command line sets a field of a job: `--nodes N`, `--set LICENSES=VALUE`."""
    if name == PROGRAM_FIELD:
        return "the program, after the options"
    if name == ARGUMENTS_FIELD:
        return "the words after the program"
    return SUBMIT_OPTIONS.get(name, f"--set {name}=VALUE")
