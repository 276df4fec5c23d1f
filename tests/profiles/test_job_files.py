"""NODE_FILE and TMP_DIR: what a job writes and makes for its program."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from tests.profiles.conftest import DASH, exports, load_site, quoted
from tests.profiles.test_arrays import all_ended, wait_for
from tests.profiles.test_hostile_values import REFUSED, VALUES
from tests.profiles.test_linux import script
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from tests.profiles.conftest import Target


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scr 'atch"
    path.mkdir()
    return path


HOST = os.uname().nodename


@pytest.mark.parametrize(("processes", "lines"), [({}, 1), ({"PROCESSES": "3"}, 3)])
def test_the_file_of_nodes_has_a_line_for_each_process(
    linux: Target, processes: dict[str, str], lines: int
) -> None:
    job = linux.start(
        **script('cat "$GPE_NODE_FILE"; echo "$GPE_NODE_FILE"'), NODE_FILE="no'des", **processes
    )
    assert job.wait().exit == 0
    assert job.read("stdout") == f"{HOST}\n" * lines + f"{job.directory}/no'des\n"
    assert job.read("no'des") == f"{HOST}\n" * lines


def test_an_absolute_path_and_a_directory(linux: Target, tmp_path: Path) -> None:
    job = linux.start(**script('cat "$GPE_NODE_FILE"'), NODE_FILE=f"{tmp_path}/nodes", DIRECTORY="/")
    assert job.wait().exit == 0
    assert (tmp_path / "nodes").read_text() == job.read("stdout") == f"{HOST}\n"
    job = linux.start(**script('cat "$GPE_NODE_FILE"'), NODE_FILE="nodes", DIRECTORY="/")
    assert (job.wait().exit, job.read("stdout")) == (0, f"{HOST}\n")


def test_a_file_of_nodes_that_cannot_be_written(linux: Target) -> None:
    job = linux.start(**script("touch begun"), NODE_FILE="no/such/directory/x", WALLTIME="600")
    status = job.wait()
    reason = f"NODE_FILE {job.directory}/no/such/directory/x cannot be written"
    assert (status.state, status.reason) == ("FAILED/FILES", reason)
    assert "no/such/directory/x" in job.read(".gpe/output")
    assert not (job.directory / "begun").exists()


def test_without_the_field_there_is_no_variable(linux: Target) -> None:
    linux.environment |= {"GPE_NODE_FILE": "/of/another/job", "GPE_ARRAY_INDEX": "7", "GPE_ARRAY_ID": "7"}
    job = linux.start(**script('echo "${GPE_NODE_FILE-no}${GPE_ARRAY_INDEX-no}${GPE_ARRAY_ID-no}"'))
    assert job.wait().exit == 0
    assert job.read("stdout") == "nonono\n"


def test_a_profile_names_the_nodes_itself(linux: Target) -> None:
    linux.profile = load_site("linux", SITE_SETUP="gpe_print_nodes() { echo n1; echo n2; }")
    job = linux.start(**script('cat "$GPE_NODE_FILE"'), NODE_FILE="nodes", PROCESSES="2")
    assert (job.wait().exit, job.read("stdout")) == (0, "n1\nn2\n")


def test_a_temporary_directory_of_its_own(linux: Target, scratch: Path) -> None:
    text = 'echo "$TMPDIR"; stat -c %a "$TMPDIR"; mkdir "$TMPDIR/a"; touch "$TMPDIR/a/b"; chmod 500 "$TMPDIR/a"; exit 3'
    job = linux.start(**script(text), TMP_DIR=str(scratch))
    assert job.wait().exit == 3
    made, mode = job.read("stdout").splitlines()
    assert made.startswith(f"{scratch}/")
    assert mode == "700"
    assert [*scratch.iterdir()] == []
    assert job.read(".gpe/output") == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_removed_after_a_signal(linux: Target, scratch: Path, number: int) -> None:
    job = linux.start(**script('touch "$TMPDIR/x" up; exec sleep 600'), TMP_DIR=str(scratch))
    wait_for_file(job.directory / "up")
    assert len([*scratch.iterdir()]) == 1
    linux.ok("SIGNAL", JOB_ID=job.id, SIGNAL=str(int(number)))
    assert job.wait().signal == number
    assert [*scratch.iterdir()] == []


def test_it_is_removed_after_abort_and_after_the_wall_time(linux: Target, scratch: Path) -> None:
    job = linux.start(**script("touch up; exec sleep 600"), TMP_DIR=str(scratch))
    wait_for_file(job.directory / "up")
    linux.ok("ABORT", JOB_ID=job.id)
    assert [*scratch.iterdir()] == []
    job = linux.start(**script("exec sleep 600"), TMP_DIR=str(scratch), WALLTIME="1")
    assert job.wait().state == "FAILED/TIME"
    assert [*scratch.iterdir()] == []


def test_a_directory_that_is_missing(linux: Target, tmp_path: Path) -> None:
    job = linux.start(**script("touch begun"), TMP_DIR=f"{tmp_path}/missing", WALLTIME="600")
    status = job.wait()
    reason = f"no directory can be made in TMP_DIR {tmp_path}/missing"
    assert (status.state, status.reason) == ("FAILED/FILES", reason)
    assert f"{tmp_path}/missing" in job.read(".gpe/output")
    assert not (job.directory / "begun").exists()


def test_the_request_may_set_its_own(linux: Target, scratch: Path) -> None:
    job = linux.start(**script('echo "$TMPDIR"'), TMP_DIR=str(scratch), ENVIRONMENT=exports(TMPDIR="/mine"))
    assert (job.wait().exit, job.read("stdout")) == (0, "/mine\n")
    assert [*scratch.iterdir()] == []


def test_tasks_have_files_and_directories_of_their_own(linux: Target, scratch: Path) -> None:
    text = 'echo "$TMPDIR"; cat "$GPE_NODE_FILE"; echo "$GPE_NODE_FILE"'
    job = linux.start(**script(text), ARRAY="1-3%3", NODE_FILE="nodes", TMP_DIR=str(scratch))
    assert {status.exit for status in wait_for(job, all_ended).values()} == {0}
    outputs = [job.read(f"stdout.{index}").splitlines() for index in (1, 2, 3)]
    assert len({temporary for temporary, _, _ in outputs}) == 3
    assert [rest for _, *rest in outputs] == [[HOST, f"{job.directory}/nodes.{index}"] for index in (1, 2, 3)]
    assert [*scratch.iterdir()] == []


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm")
def test_files_of_tasks_below_dev_shm_are_files(linux: Target) -> None:
    """All else below /dev is a device: tasks share it, and it has no name for each of them."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        files = {"STDOUT": f"{place}/out", "STDERR": f"{place}/err", "NODE_FILE": f"{place}/nodes"}
        job = linux.start(**script("echo out; echo err >&2"), ARRAY="1-2", **files)
        assert {status.exit for status in wait_for(job, all_ended).values()} == {0}
        names = {f"{name}.{index}" for name in ("out", "err", "nodes") for index in (1, 2)}
        assert {path.name for path in Path(place).iterdir()} == names


@DASH
def test_hostile_values(linux: Target, tmp_path: Path) -> None:
    """Each is the name of a file, or of a directory, or is refused by name; nothing else is made."""
    for value in VALUES:
        if "/" in value:
            continue
        root = tmp_path / "roots" / value
        root.mkdir(parents=True)
        fields = {"NODE_FILE": value, "TMP_DIR": str(root)}
        if REFUSED.search(value):
            for name, text in fields.items():
                with pytest.raises(IncarnationError, match=name):
                    linux.script("START", **{name: text})
            continue
        job = linux.start(
            EXECUTABLE="/bin/sh",
            ARGUMENTS=quoted("-c", 'printf "%s|%s" "$GPE_NODE_FILE" "${TMPDIR%/*}"'),
            **fields,
        )
        assert job.wait().exit == 0, (value, job.read(".gpe/output"))
        assert (job.directory / "stdout").read_bytes() == f"{job.directory}/{value}|{root}".encode()
        assert (job.directory / value).read_text() == f"{HOST}\n"
        assert [*root.iterdir()] == []
