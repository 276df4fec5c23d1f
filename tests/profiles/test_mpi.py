"""The application MPI: what mpirun must not read stays the program's own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.repository import Repository
from tests.profiles.conftest import PROFILES, Job, exports, quoted
from tests.profiles.test_environment import check, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

# Like Open MPI's and MPICH's: a ":" among the words begins another program.
MPIRUN = r"""#!/usr/bin/env python3
import subprocess, sys
programs = [[]]
for word in sys.argv[1:]:
    if word == ":":
        programs.append([])
    else:
        programs[-1].append(word)
for option, number, *command in programs:
    assert option == "-n", option
    for rank in range(int(number)):
        subprocess.run(command, check=True)
"""
ARGUMENTS = ["a", ":", "-n", "3", "/bin/echo", "INJECTED", "it's $(id)", "x\ny", "-x", ""]


@pytest.fixture
def linux(target_of: Callable[..., Target], tmp_path: Path) -> Target:
    (tmp_path / "mpi").mkdir()
    (tmp_path / "mpi/mpirun").write_text(MPIRUN)
    (tmp_path / "mpi/mpirun").chmod(0o700)
    target = target_of("linux", tmp_path / "mpi")
    # several nodes, as in the profiles of batch systems
    shutil.copytree(PROFILES / "linux", tmp_path / "profiles/linux")
    xml = tmp_path / "profiles/linux/profile.xml"
    xml.write_text(xml.read_text().replace("<idb:Max>1</idb:Max>", "<idb:Max>2</idb:Max>"))
    target.profile = Repository([tmp_path / "profiles"]).load("linux")
    return target


@pytest.mark.parametrize("environment", ["", exports(RANDOM="a[$(touch pwned)]", X="it's")])
@pytest.mark.parametrize(
    ("application", "fields"), [("MPI", {"PROCESSES": "2"}), ("Processes", {"PROCESSES": "2", "NODES": "2"})]
)
def test_arguments_stay_arguments(
    linux: Target, application: str, fields: dict[str, str], environment: str
) -> None:
    linux.environment["X"] = "no"
    job = run(
        linux,
        application,
        EXECUTABLE="/usr/bin/env",
        ARGUMENTS=quoted("sh", "-c", 'printf "%s|" "$X" "$@"', *ARGUMENTS),
        ENVIRONMENT=environment,
        **fields,
    )
    # sh -c takes the first word for its own name
    one = "|".join(["it's" if environment else "no", *ARGUMENTS[1:]]) + "|"
    assert job.read("stdout") == one * 2
    assert [*job.directory.glob("pwned")] == []


@pytest.mark.parametrize(
    ("application", "fields"), [("MPI", {}), ("Processes", {"PROCESSES": "1", "NODES": "2"})]
)
def test_special_variables(linux: Target, tmp_path: Path, application: str, fields: dict[str, str]) -> None:
    check(linux, application, path=f"{tmp_path}/mpi:/usr/bin:/bin", **fields)


@pytest.mark.parametrize("name", ["SHELLOPTS", "OPTIND"])
def test_the_shell_that_starts_the_program_obeys_no_variable(linux: Target, name: str) -> None:
    """With noexec, bash would run nothing and end with 0; an OPTIND of words ends dash."""
    directory = linux.directory()
    fields = {"EXECUTABLE": "false", "ENVIRONMENT": exports(**{name: "noexec"})}
    done = linux.sh(linux.script("START", directory=directory, application="MPI", **fields))
    job = Job(linux, linux.job_id(done.stdout), directory)
    assert job.wait().exit == 1


def test_the_program_alone_has_one_process(linux: Target) -> None:
    job = run(linux, "MPI", EXECUTABLE="/bin/echo", ARGUMENTS="x")
    assert job.read("stdout") == "x\n"
