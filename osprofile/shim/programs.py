"""The programs that the stand-ins of each batch system replace."""

from __future__ import annotations

from typing import Final

_PBS: Final = {
    "qsub": "qsub",
    "qstat": "qstat",
    "qdel": "pbs",
    "qselect": "pbs",
    "qhold": "pbs",
    "qrls": "pbs",
    "qalter": "pbs",
    "pbsnodes": "pbs",
}
MODULES: Final = {
    "slurm": {
        "sbatch": "sbatch",
        "squeue": "squeue",
        "scancel": "scancel",
        "sacct": "sacct",
        "scontrol": "scontrol",
        "sinfo": "sinfo",
        "srun": "srun",
        "sacctmgr": "accounts",
        "sshare": "accounts",
    },
    "pbspro": _PBS,
    "torque": _PBS,
}
"""The modules of the programs, whose command is called as the program, in capitals."""
SYNONYMS: Final = {"pbs": "pbspro"}
"""As the profile pbs is that of OpenPBS."""
PBS_SERVER: Final = "osprofile"
"""What stands behind the number of a job: the name of the server."""
PBS_VERSION: Final = "23.06.06"
VERSIONS: Final = {
    "slurm": "slurm 23.11.0",
    "pbspro": f"pbs_version = {PBS_VERSION}",
    "torque": "Version: 6.1.2",
}
"""What --version prints: that of the manual pages that the stand-ins follow."""


def format_id(number: int, index: int | None = None, *, is_array: bool = False) -> str:
    """Return PBS's id of a job, of an array (`12[].osprofile`) or of a task (`12[3].osprofile`)."""
    suffix = f"[{index}]" if index is not None else "[]" if is_array else ""
    return f"{number}{suffix}.{PBS_SERVER}"
