"""The field CONTAINER: a stand-in for apptainer writes its words down, and runs the program."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from tests.profiles.conftest import exports, load_site, quoted
from tests.profiles.test_environment import HOSTILE, check, run
from tests.profiles.test_mpi import MPIRUN
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

# It looks at its options as apptainer does: the first word that is no option is the image.
STAND_IN = r"""#!/usr/bin/env python3
import json, os, sys
name, verb, *words = sys.argv
options = []
while words[0].startswith("-"):
    options.append((words.pop(0), words.pop(0)))
image, *command = words
with open(os.environ["CONTAINER_LOG"], "a") as log:
    log.write(json.dumps([os.path.basename(name), verb, options, image, command]) + "\n")
os.chdir(dict(options)["--pwd"])
os.environ.pop("PATH")  # the image has its own
os.environ["PATH"] = "/usr/bin:/bin"
os.execvp(command[0], command)
"""
IMAGES = [
    "-x.sif", "a b.sif", "it's.sif", "$(touch pwned).sif", "a:b,c.sif", "*.sif", "\u00e9\n.sif", "--nv", "OMPI_x",
]  # fmt: skip
TEXT = 'printf "%s|" "$X" "$@"; pwd >&2'


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    path = tmp_path / "containers"
    path.mkdir()
    return path


@pytest.fixture
def linux(target_of: Callable[..., Target], programs: Path) -> Target:
    target = target_of("linux", programs)
    target.environment["CONTAINER_LOG"] = str(programs / "log")
    return target


def install(programs: Path, *names: str) -> None:
    for name in names:
        (programs / name).write_text(MPIRUN if name == "mpirun" else STAND_IN)
        (programs / name).chmod(0o700)


def read_log(programs: Path) -> list[list[object]]:
    return [json.loads(line) for line in (programs / "log").read_text().splitlines()]


@pytest.mark.parametrize("image", [*IMAGES, "/images/x.sif", "docker://debian:12", "library://a/b:c"])
def test_words_of_the_command(linux: Target, programs: Path, image: str) -> None:
    install(programs, "apptainer", "singularity")
    job_fields = {
        "EXECUTABLE": "sh",
        "ARGUMENTS": quoted("-c", TEXT, "sh", HOSTILE, "", "-x"),
        "CONTAINER": image,
    }
    if image.startswith("-"):
        with pytest.raises(IncarnationError, match="CONTAINER"):
            linux.script("START", **job_fields)
        return
    job = linux.start(**job_fields)
    assert job.wait().exit == 0, job.read("stderr")
    path = image if image.startswith("/") or "://" in image else f"{job.directory}/{image}"
    options = [["--bind", f"{job.directory},{job.directory}"], ["--pwd", str(job.directory)]]
    command = ["sh", "-c", TEXT, "sh", HOSTILE, "", "-x"]
    assert read_log(programs) == [["apptainer", "exec", options, path, command]]
    assert job.read("stdout") == f"|{HOSTILE}||-x|"
    assert job.read("stderr") == f"{job.directory}\n"
    assert [*linux.root.glob("**/pwned")] == []


def test_singularity_where_there_is_no_apptainer(linux: Target, programs: Path) -> None:
    install(programs, "singularity")
    assert linux.start(CONTAINER="x.sif").wait().exit == 0
    ((name, verb, *_),) = read_log(programs)
    assert (name, verb) == ("singularity", "exec")


def test_neither_of_them(linux: Target) -> None:
    job = linux.start(CONTAINER="x.sif")
    assert job.wait().exit == 127
    assert "singularity" in job.read("stderr")


def test_environment_directory_and_temporary_directory(linux: Target, programs: Path, tmp_path: Path) -> None:
    install(programs, "apptainer")
    data, scratch = tmp_path / "da ta", tmp_path / "scratch"
    data.mkdir()
    scratch.mkdir()
    environment = {"X": "a 'b'\n$c,d=e", "PATH": "/request:/usr/bin:/bin"}
    text = 'printf "%s\\n" "$X" "$PATH" "$GPE_JOB_ID" "$TMPDIR"; pwd'
    job = linux.start(
        EXECUTABLE="/bin/sh",
        ARGUMENTS=quoted("-c", text),
        ENVIRONMENT=exports(**environment),
        CONTAINER="x.sif",
        DIRECTORY=str(data),
        TMP_DIR=str(scratch),
    )
    assert job.wait().exit == 0, job.read("stderr")
    ((_, _, options, image, _),) = read_log(programs)
    *values, temporary, directory = job.read("stdout").splitlines()
    assert values == [*environment["X"].split("\n"), environment["PATH"], job.id]
    assert directory == str(data)
    assert options == [["--bind", f"{job.directory},{data},{temporary}"], ["--pwd", str(data)]]
    assert image == f"{job.directory}/x.sif"


@pytest.mark.parametrize(
    ("application", "fields"),
    [
        ("Executable", {}),
        ("Processes", {"PROCESSES": "1"}),
        ("MPI", {}),
    ],
)
def test_variables_with_a_meaning_for_shells(
    linux: Target, programs: Path, application: str, fields: dict[str, str]
) -> None:
    install(programs, "apptainer", "mpirun")
    # what runs the stand-in, Python, must not lose its way by these; they come later, inside
    check(linux, application, path=f"{programs}:/usr/bin:/bin", CONTAINER="OMPI_x", **fields)
    assert len(read_log(programs)) == 1


@pytest.mark.parametrize(("application", "nodes"), [("Processes", "1"), ("MPI", "1")])
def test_each_process_has_its_container(linux: Target, programs: Path, application: str, nodes: str) -> None:
    install(programs, "apptainer", "mpirun")
    job = run(
        linux,
        application,
        EXECUTABLE="/bin/sh",
        ARGUMENTS=quoted("-c", 'printf "%s|" "$@"', "sh", ":", HOSTILE),
        CONTAINER="x.sif",
        PROCESSES="2",
        NODES=nodes,
    )
    assert job.read("stdout") == f":|{HOSTILE}|" * 2
    assert len(read_log(programs)) == 2


@pytest.mark.parametrize(
    ("text", "exit_code", "number"),
    [
        ("exit 7", 7, None),
        ("exit 255", 255, None),
        ("kill -s KILL $$", None, 9),
        ("kill -s TERM $$", None, 15),
    ],
)
def test_the_end_of_the_program(
    linux: Target, programs: Path, text: str, exit_code: int | None, number: int | None
) -> None:
    install(programs, "apptainer")
    status = linux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), CONTAINER="x.sif").wait()
    assert (status.exit, status.signal) == (exit_code, number)


def test_signals_reach_the_program(linux: Target, programs: Path) -> None:
    install(programs, "apptainer")
    text = "trap 'exit 5' USR1; touch up; while :; do sleep 0.05; done"
    job = linux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), CONTAINER="x.sif")
    wait_for_file(job.directory / "up")
    linux.ok("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(signal.SIGUSR1)))
    assert job.wait().exit == 5


@pytest.mark.parametrize("name", ["a:b", "a,b", 'a"b', "a\\b", "a\nb"])
def test_a_directory_that_cannot_be_bound(linux: Target, programs: Path, tmp_path: Path, name: str) -> None:
    install(programs, "apptainer")
    (tmp_path / name).mkdir()
    job = linux.start(CONTAINER="x.sif", DIRECTORY=str(tmp_path / name))
    status = job.wait()
    place = str(tmp_path / name).replace("\n", " ")  # a reason is one line
    assert status.state == "FAILED/FILES"
    assert (status.reason or "").startswith(f"directory {place} cannot be bound")
    assert "cannot be bound" in job.read("stderr")
    assert not (programs / "log").exists()


def test_a_site_changes_the_command(linux: Target, programs: Path) -> None:
    install(programs, "singularity")
    linux.profile = load_site("linux", CONTAINER_COMMAND="singularity exec --home '/a b'")
    job = linux.start(CONTAINER="x.sif")
    assert job.wait().exit == 0
    ((_, _, options, _, _),) = read_log(programs)
    assert isinstance(options, list)
    assert options[0] == ["--home", "/a b"]
