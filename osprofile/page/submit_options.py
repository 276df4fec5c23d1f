"""The options of `incarnate job submit` by the fields that they set; a test compares them with the command."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM_FIELD: Final = "EXECUTABLE"
ARGUMENTS_FIELD: Final = "ARGUMENTS"

SUBMIT_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "JOB_NAME": "--name NAME",
        "QUEUE": "--queue QUEUE",
        "PROJECT": "--project PROJECT",
        "NODES": "--nodes N",
        "PROCESSES": "--processes N",
        "CPUS": "--cpus N",
        "MEMORY": "--memory SIZE",
        "WALLTIME": "--walltime TIME",
        "CPUTIME": "--cputime TIME",
        "GPUS": "--gpus N",
        "GPU_TYPE": "--gpu-type NAME",
        "QOS": "--qos NAME",
        "CONSTRAINT": "--constraint EXPRESSION",
        "EXCLUSIVE": "--exclusive",
        "ARRAY": "--array INDICES",
        "DEPENDENCY": "--after JOB",
        "ENVIRONMENT": "--env NAME=VALUE",
        "DIRECTORY": "--directory DIR",
        "STDIN": "--stdin FILE",
        "STDOUT": "--stdout FILE",
        "STDERR": "--stderr FILE",
    }
)


def format_option(name: str) -> str:
    """Return how a command line sets a field of a job: `--nodes N`, `--set LICENSES=VALUE`."""
    if name == PROGRAM_FIELD:
        return "the program, after the options"
    if name == ARGUMENTS_FIELD:
        return "the words after the program"
    return SUBMIT_OPTIONS.get(name, f"--set {name}=VALUE")
