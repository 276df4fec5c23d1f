"""The application MPI with a real Open MPI: its mpirun reads a ":" as the beginning of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.profile.repository import Repository
from tests.lab.conftest import PROFILES
from tests.profiles.conftest import Target, exports, quoted
from tests.profiles.test_environment import run
from tests.profiles.test_mpi import ARGUMENTS

if TYPE_CHECKING:
    from pathlib import Path


# A file for each process: mpirun passes their outputs on in pieces, in any order.
PRINT = 'printf "%s|" "$X" "$@" > "arguments.$OMPI_COMM_WORLD_RANK"'


def test_arguments_stay_arguments(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpirun").symlink_to("/usr/bin/mpirun.openmpi")  # not Slurm's own
    linux = Target(
        Repository([PROFILES]).load("linux"),
        "sh",
        tmp_path / "home",
        tmp_path / "jobs",
        path=[tmp_path / "bin"],
        environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    )
    job = run(
        linux,
        "MPI",
        EXECUTABLE="/usr/bin/env",
        ARGUMENTS=quoted("sh", "-c", PRINT, *ARGUMENTS),
        ENVIRONMENT=exports(X="it's"),
        PROCESSES="2",
    )
    words = "|".join(["it's", *ARGUMENTS[1:]]) + "|"
    assert [job.read(f"arguments.{rank}") for rank in range(2)] == [words] * 2
