"""What SITE_SETUP and SITE_CLEANUP do to their shell harms neither a job's record nor the verdict on its program."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.profiles.conftest import Target, load_site, quoted
from tests.profiles.test_arrays import all_ended, wait_for
from tests.waiting import wait_for_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.profiles.conftest import Job

SHELLS = ["dash", "bash", "busybox", "ksh", "mksh", "yash", "zsh"]


class Site:
    """Makes targets of a site's profile, whose scripts and jobs one shell runs."""

    def __init__(self, tmp_path: Path, shell: str) -> None:
        self.tmp_path, self.shell = tmp_path, shell
        self.scratch = tmp_path / "scratch"
        for name in ("home", "bin", "scratch"):
            (tmp_path / name).mkdir()
        (tmp_path / "bin" / "sh").symlink_to(shutil.which(shell) or shell)

    def target(self, setup: str = "", cleanup: str = "") -> Target:
        profile = load_site("linux", SITE_SETUP=setup, SITE_CLEANUP=cleanup)
        home, programs = self.tmp_path / "home", self.tmp_path / "bin"
        shell = str(programs / "sh")  # busybox is a shell by this name
        return Target(profile, shell, home, self.tmp_path / "jobs", path=[programs])

    def run(
        self,
        setup: str = "",
        cleanup: str = "",
        text: str = "echo run; exit 7",
        directory: Path | None = None,
        **fields: str,
    ) -> Job:
        target = self.target(setup, cleanup)
        job = target.start(directory, EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), **fields)
        job.wait()
        return job


@pytest.fixture(
    params=[*SHELLS[:2], *(pytest.param(s, marks=pytest.mark.hunt(6, of="file")) for s in SHELLS[2:])]
)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param} here")
    return Site(tmp_path, request.param)


@pytest.mark.parametrize("place", ["setup", "cleanup"])
@pytest.mark.parametrize(
    "code",
    [
        "cd /",
        "cd {scratch}",
        "PATH=/nowhere",
        "ulimit -f 0",
        "set -eu; :",
        "set -C",
        "umask 777",
        "trap '' CHLD",
    ],
)
def test_the_end_is_recorded_whatever_the_site_does_to_its_shell(site: Site, place: str, code: str) -> None:
    job = site.run(**{place: code.format(scratch=site.scratch)}, text="exit 7")
    # yash runs the commands of the standard, printf too, only if PATH leads to them
    is_without_commands = site.shell == "yash" and "PATH" in code and place == "setup"
    assert is_without_commands or job.status().end == ("DONE", 7)


@pytest.mark.parametrize(
    "code",
    ["exit 3", "exit 0", "set -e\nfalse", "set -u\necho $missing_variable", "set -e; ulimit -f 0; exit 4"],
)
def test_a_setup_that_ends_its_shell_is_no_exit_code_of_the_program(site: Site, code: str) -> None:
    job = site.run(setup=code)
    status = job.status()
    assert (status.state, status.exit) == ("FAILED/SITE_SETUP", None)
    assert "SITE_SETUP" in (status.reason or "")
    assert not (job.directory / "stdout").exists()
    assert job.id in job.target.statuses()  # it is told as ended, once
    assert job.target.statuses() == {}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"STDIN": "no\n\033/in"}, "STDIN no  /in cannot be read"),
        ({"STDOUT": "no/out"}, "STDOUT no/out cannot be written"),
        ({"STDERR": "no/err", "APPEND_OUTPUT": "true"}, "STDERR no/err cannot be written"),
        ({"DIRECTORY": "/no/such"}, "directory /no/such cannot be entered"),
        ({"TMP_DIR": "/no/such"}, "no directory can be made in TMP_DIR /no/such"),
        ({"ARRAY": "1-2", "STDIN": "no/in"}, "STDIN no/in cannot be read"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_no_exit_code_of_the_program(
    site: Site, fields: dict[str, str], reason: str
) -> None:
    for setup in ("", "set -eu"):
        job = site.target(setup).start(EXECUTABLE="/bin/touch", ARGUMENTS="begun", **fields)
        ended = wait_for(job, all_ended) if "ARRAY" in fields else {job.id: job.wait()}
        for status in ended.values():
            assert (status.state, status.exit, status.reason) == ("FAILED/FILES", None, reason)
        assert not (job.directory / "begun").exists()


@pytest.mark.parametrize("setup", ["", ":"])
def test_an_exit_code_of_the_program_is_its_own(site: Site, setup: str) -> None:
    assert site.run(setup, text="exit 125").status().end == ("DONE", 125)


def test_a_missing_file_in_the_setup(site: Site) -> None:
    """Most shells end there. One that goes on runs the program."""
    job = site.run(setup=". /missing/file")
    has_run = (job.directory / "stdout").exists()
    expected = ("DONE", 7) if has_run else ("FAILED/SITE_SETUP", None)
    assert job.status().end == expected


@pytest.mark.parametrize(
    "code", ["exit 3", "exit 0", "set -e\nfalse", ". /missing/file", "kill -s TERM $$", "false"]
)
def test_a_cleanup_does_not_change_how_the_job_ended(site: Site, code: str) -> None:
    job = site.run(cleanup=code)
    assert job.status().end == ("DONE", 7)
    assert job.read("stdout") == "run\n"


def test_what_a_setup_is_for(site: Site) -> None:
    setup = f"cd {site.scratch}; export FROM_SITE='a b'; ulimit -c 0; mine=$(mktemp -d ./XXXXXX)"
    cleanup = 'echo "$gpe_status" > cleaned; rmdir "$mine"'
    directory = site.tmp_path / "jobs" / "job"
    directory.mkdir(0o700, parents=True)
    (directory / "in").write_text("input\n")
    job = site.run(
        setup, cleanup, 'pwd; echo "$FROM_SITE"; ulimit -c; cat; exit 7', directory=directory, STDIN="in"
    )
    assert job.status().exit == 7
    assert job.read("stdout") == f"{site.scratch}\na b\n0\ninput\n"
    assert [path.name for path in site.scratch.iterdir()] == ["cleaned"]
    assert (site.scratch / "cleaned").read_text() == "7\n"
    assert site.shell == "zsh" or job.read(".gpe/output") == ""  # zsh has no signal ABRT


@pytest.mark.parametrize("number", ["15", "9"])
def test_a_signal_for_the_program_leaves_the_cleanup(site: Site, number: str) -> None:
    target = site.target(cleanup="echo on > cleaned")
    job = target.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "touch up; exec sleep 600"))
    wait_for_file(job.directory / "up")
    target.ok("SIGNAL", JOB_ID=job.id, SIGNAL=number)
    assert job.wait().signal == int(number)
    assert job.read("cleaned") == "on\n"


def test_the_wall_time_leaves_the_cleanup(site: Site) -> None:
    """Also of a program that has to be killed."""
    job = site.run(
        cleanup="echo on > cleaned", text="trap '' TERM; touch up; sleep 600; sleep 600", WALLTIME="1"
    )
    assert job.status().state == "FAILED/TIME"
    assert job.read("cleaned") == "on\n"


def test_without_a_cd_the_program_begins_in_the_working_directory(site: Site) -> None:
    job = site.run("export X=1", "", "pwd")
    assert job.read("stdout") == f"{job.directory}\n"


def test_a_task_of_an_array(site: Site) -> None:
    target = site.target(
        f"[ $GPE_ARRAY_INDEX != 2 ] || exit 3; [ $GPE_ARRAY_INDEX != 3 ] || cd {site.scratch}"
    )
    job = target.start(EXECUTABLE="/bin/pwd", ARRAY="1-3")
    tasks = wait_for(job, all_ended)
    assert [(status.state, status.exit) for _, status in sorted(tasks.items())] == [
        ("DONE", 0), ("FAILED/SITE_SETUP", None), ("DONE", 0),
    ]  # fmt: skip
    assert job.read("stdout.1") == f"{job.directory}\n"
    assert job.read("stdout.3") == f"{site.scratch}\n"


@pytest.mark.parametrize("number", [1, 2, 15])
def test_a_signal_for_all_processes_during_the_cleanup(site: Site, number: int) -> None:
    """The site's shell survives it as the job's own does."""
    job = site.run(
        cleanup=f"kill -s {number} 0 2> /dev/null || kill -{number} 0; echo on > cleaned", text="exit 7"
    )
    assert job.status().exit == 7
