"""The variables in the environment of a process that submits jobs, and that its jobs must not inherit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.late import compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE_NAME: Final = compile_late(r"[A-Za-z_][A-Za-z0-9_]*")
_JOB_VARIABLE: Final = compile_late(
    r"(?:BSUB|COBALT|FLUX|GPE|HQ|LOADL|LSB|MOAB|OAR|OMPI_COMM|PBS|PJM|PMI|PMIX|SACCT|SBATCH|SCANCEL|SGE|SINFO|SLURM"
    r"|SLURMD|SQUEUE|SRUN|SSTAT|_CONDOR)_.*"
    r"|CUDA_VISIBLE_DEVICES|JOB_ID|JOB_NAME|NHOSTS|NSLOTS|PE_HOSTFILE|ROCR_VISIBLE_DEVICES",
    re.DOTALL,
)
_LOGIN_VARIABLE: Final = compile_late(
    r"SSH_.*|DBUS_SESSION_BUS_ADDRESS|DISPLAY|HOST|HOSTNAME|OLDPWD|PWD|SHLVL|TMPDIR|XDG_RUNTIME_DIR|XDG_SESSION_ID|_",
    re.DOTALL,
)


def is_variable_name(name: str) -> bool:
    """Return whether a shell can export a variable of this name."""
    return _VARIABLE_NAME.fullmatch(name) is not None


def split_variables(variables: Mapping[str, str], source: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables that a shell can export, and a warning for each other one, which names the `source`.

    The environment of a process has others, too: with `getenv = true`, HTCondor sends functions of bash.
    """
    exported = {name: value for name, value in variables.items() if is_variable_name(name)}
    return exported, [
        f"{source}: no shell can export a variable {quote_value(name, 40)}; it is left out"
        for name in variables
        if name not in exported
    ]


def is_job_variable(name: str) -> bool:
    """Return whether a variable belongs to the job that the caller may itself be, or is an option for sbatch."""
    return _JOB_VARIABLE.fullmatch(name) is not None


def is_callers_variable(name: str) -> bool:
    """Return whether a variable belongs to the caller's machine, login or job: a job has its own, or must not have any."""
    return is_job_variable(name) or _LOGIN_VARIABLE.fullmatch(name) is not None


def copy_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a process that the jobs which it submits may have, too; exported functions have no such names."""
    return {
        name: value
        for name, value in environment.items()
        if is_variable_name(name) and not is_callers_variable(name)
    }
