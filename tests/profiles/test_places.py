"""Where a job may work and run, and how many processes it has: the profile linux, both shells."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import DASH, Job, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.profiles.conftest import Target


def start(target: Target, directory: Path) -> str:
    """Run START for a working directory that it must refuse, and give its words."""
    done = target.sh(target.script("START", "", directory, EXECUTABLE="true"))
    assert done.returncode == 73, done
    assert [*directory.glob(".gpe/*")] == []
    assert f"{directory} is not a safe directory for a job, because others can change this: " in done.stderr
    return done.stderr


def line(place: Path) -> str:
    """Give a place as START shows it, after namei."""
    status = place.lstat()
    owner = "12345" if status.st_uid == 12345 else pwd.getpwuid(status.st_uid).pw_name
    group = grp.getgrgid(status.st_gid).gr_name
    target = f" -> {place.readlink()}" if place.is_symlink() else ""
    return f" {stat.filemode(status.st_mode)} {owner} {group} {place.name}{target}\n"


@DASH
def test_find_job_believes_and_writes_nothing_that_others_may_change(linux: Target, tmp_path: Path) -> None:
    directory = linux.directory()
    (directory / ".gpe").mkdir(parents=True)
    (directory / ".gpe/id").write_text("4711-1-00000000\n")
    (tmp_path / "precious").write_text("mine\n")
    (directory / ".gpe/lock").symlink_to(tmp_path / "precious")
    directory.chmod(0o777)
    done = linux.run("FIND_JOB", directory=directory)
    assert (done.returncode, done.stdout) == (73, "")
    assert "is not a safe directory for a job" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["lock", "submitting"])
def test_a_directory_in_which_nothing_can_be_written(linux: Target, name: str) -> None:
    """Nothing is submitted, and START says that it did nothing; FIND_JOB, that it does not know."""
    directory = linux.directory()
    (directory / ".gpe").mkdir(parents=True)
    (directory / ".gpe" / name).symlink_to("missing/file")
    done = linux.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (73, "")
    assert done.stderr
    if name == "lock":
        assert linux.run("FIND_JOB", directory=directory).returncode == 75


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_may_write(linux: Target, mode: int) -> None:
    directory = linux.directory()
    directory.mkdir(parents=True)
    directory.chmod(mode)
    assert line(directory) in start(linux, directory)


def test_a_directory_that_was_there_keeps_its_mode(linux: Target) -> None:
    directory = linux.directory()
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    linux.start(directory).wait()
    assert directory.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("above", [1, 2])
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_others_may_write_above(linux: Target, above: int, mode: int) -> None:
    directory = linux.root / "a/b/job"
    (linux.root / "a/b").mkdir(parents=True)
    place = directory.parents[above - 1]
    place.chmod(mode)
    assert line(place) in start(linux, directory)
    place.chmod(mode | 0o1000)  # sticky: what is there cannot be replaced
    assert linux.start(directory, EXECUTABLE="true").wait().exit == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_directory_of_somebody_else(linux: Target, above: int) -> None:
    directory = linux.root / "a/b/job"
    directory.mkdir(parents=True)
    place = [directory, *directory.parents][above]
    os.chown(place, 12345, -1)
    assert line(place) in start(linux, directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
@pytest.mark.parametrize("known", [False, True])
def test_a_link_of_somebody_else(linux: Target, tmp_path: Path, known: bool) -> None:
    """He may point it elsewhere between START and the job."""
    (tmp_path / "ours").mkdir(mode=0o700)
    linux.root.mkdir()
    linux.root.chmod(0o1777)
    link = linux.root / "me"
    link.symlink_to(tmp_path / "ours")
    if known:
        (tmp_path / "ours/job").mkdir()
    os.lchown(link, 12345, -1)
    assert line(link) in start(linux, link / "job")
    os.lchown(link, os.geteuid(), -1)
    job = linux.start(link / "job", EXECUTABLE="pwd", ARGUMENTS="-P")
    assert job.wait().exit == 0
    assert job.read("stdout") == f"{tmp_path}/ours/job\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
@pytest.mark.parametrize("relative", [False, True])
def test_a_link_of_ours_through_one_of_somebody_else(linux: Target, tmp_path: Path, relative: bool) -> None:
    (tmp_path / "ours").mkdir(mode=0o700)
    linux.root.mkdir()
    linux.root.chmod(0o1777)
    (linux.root / "his").symlink_to(tmp_path / "ours")
    (linux.root / "mine").symlink_to("his" if relative else linux.root / "his")
    assert linux.start(linux.root / "mine/a", EXECUTABLE="true").wait().exit == 0
    os.lchown(linux.root / "his", 12345, -1)
    assert line(linux.root / "his") in start(linux, linux.root / "mine/job")


def test_where_a_link_of_ours_leads(linux: Target, tmp_path: Path) -> None:
    (tmp_path / "open/ours").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    linux.root.mkdir()
    (linux.root / "me").symlink_to(tmp_path / "open/ours")
    assert line(tmp_path / "open") in start(linux, linux.root / "me/job")


def test_a_directory_that_cannot_be_judged(linux: Target, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none/namei").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "none/namei").chmod(0o700)
    linux.path.insert(0, tmp_path / "none")
    assert "namei failed" in start(linux, linux.directory())


def test_the_program_runs_elsewhere(linux: Target, tmp_path: Path) -> None:
    """Its files still begin at the working directory."""
    elsewhere = tmp_path / "it's $(else) where"
    elsewhere.mkdir()
    job = linux.start(EXECUTABLE="pwd", DIRECTORY=str(elsewhere))
    assert job.wait().exit == 0
    assert job.read("stdout") == f"{elsewhere}\n"
    assert list(elsewhere.iterdir()) == []


def test_elsewhere_is_nowhere(linux: Target) -> None:
    job = linux.start(EXECUTABLE="pwd", DIRECTORY="/no/such/directory")
    status = job.wait()
    assert (status.state, status.reason) == ("FAILED/FILES", "directory /no/such/directory cannot be entered")
    assert "/no/such/directory" in job.read("stderr")


def several(target: Target, text: str, **fields: str) -> tuple[int | None, str]:
    """Run shell text by the application Processes; give the exit code and the output."""
    directory = target.directory()
    fields |= {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", text)}
    done = target.sh(target.script("START", directory=directory, application="Processes", **fields))
    assert (done.returncode, done.stderr) == (0, "")
    job = Job(target, target.job_id(done.stdout), directory)
    return job.wait().exit, job.read("stdout")


@pytest.mark.parametrize(("number", "wanted"), [("", 1), ("1", 1), ("7", 7)])
def test_processes(linux: Target, number: str, wanted: int) -> None:
    assert several(linux, "echo x", PROCESSES=number) == (0, "x\n" * wanted)


def test_the_first_failure_is_the_jobs(linux: Target) -> None:
    """And it ends no sooner than the last process."""
    text = "mkdir one 2> /dev/null && exit 3; sleep 0.3; echo x"
    assert several(linux, text, PROCESSES="4") == (3, "x\n" * 3)
