"""New jobs that one program submits: as many jobs as directories, also where it is cut off at any of its steps."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from osprofile.errors import ScriptFailedError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.shell.scripts import split_results
from osprofile.jobs.submit.starts import NewStart, build_common_start
from osprofile.jobs.target_system import TargetSystem
from tests.profiles.conftest import CUT, DASH, quoted
from tests.profiles.test_crashes import COMMANDS, SHIM
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.profile.repository import Repository
    from tests.profiles.conftest import Target

MARK: Final = "of-several-jobs"
SBATCH: Final = """#!/bin/sh
exec 9>> "$CLUSTER/lock"
/usr/bin/flock 9
[ ! -e "$CLUSTER/wait" ] || /usr/bin/sleep 0.5
/usr/bin/touch "$CLUSTER/came"
! /usr/bin/grep -q refuse .gpe/script || { echo 'sbatch: error: no' >&2; exit 1; }
id=$(($(/usr/bin/wc -l < "$CLUSTER/jobs") + 11))
echo "$id|$PWD|.gpe/script" >> "$CLUSTER/jobs"
echo "$id"
"""
PROGRAMS: Final = ("awk", "cat", "flock", "ln", "mkdir", "namei", "rm", "sed", "setsid", "sbatch")
LAST: Final = 60
EVERY: Final = 6


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    directory = tmp_path / "cluster"
    directory.mkdir()
    for name, text in {"sbatch": SBATCH, "squeue": '#!/bin/sh\nexec /bin/cat "$CLUSTER/jobs"\n'}.items():
        (directory / name).write_text(text)
        (directory / name).chmod(0o700)
    (directory / "jobs").write_text("")
    return directory


@pytest.fixture
def slurm(target_of: Callable[..., Target], cluster: Path) -> Target:
    target = target_of("slurm", cluster)
    target.environment["CLUSTER"] = str(cluster)
    return target


def build(slurm: Target, directories: Sequence[Path], *words: str) -> str:
    """Return the script that submits a job in each directory; `words`: the arguments of each program."""
    starts = [
        NewStart(
            str(directory),
            slurm.script("START", directory=directory, EXECUTABLE="/bin/echo", ARGUMENTS=quoted(word)),
        )
        for directory, word in zip(directories, words or [""] * len(directories), strict=True)
    ]
    script = build_common_start(starts, "--several", MARK)
    assert script
    return script


def get_jobs(cluster: Path) -> dict[str, str]:
    """Return the ids of the jobs by their directories, of which each has one."""
    lines = [line.split("|") for line in (cluster / "jobs").read_text().splitlines()]
    jobs = {directory: job_id for job_id, directory, _ in lines}
    assert len(jobs) == len(lines)
    return jobs


def settle(slurm: Target, cluster: Path, directories: Sequence[Path]) -> None:
    """Do what a client does after a cut: then each directory has a job, which its START prints."""
    for directory in directories:
        if not slurm.find(directory):
            slurm.start_found(directory)
    jobs = get_jobs(cluster)
    assert jobs.keys() == set(map(str, directories))
    for directory in directories:
        assert slurm.start(directory).id == jobs[str(directory)]
        assert (slurm.home / ".gpe/jobs/slurm" / jobs[str(directory)]).readlink() == directory
    assert [*(slurm.home / ".gpe/submitting").iterdir()] == []
    (cluster / "jobs").write_text("")
    for directory in directories:
        shutil.rmtree(directory)


def test_each_has_its_own_result(slurm: Target, cluster: Path) -> None:
    """One of them is refused; what each would have left by itself is there."""
    directories = [slurm.directory() for _ in range(6)]
    words = ["a", "b' c", "refuse", "d", "$e", "f"]
    done = slurm.sh(build(slurm, directories, *words))
    results = split_results(done.stdout.encode(), done.stderr.encode(), MARK)
    assert [result.exit_code for result in results] == [0, 0, 1, 0, 0, 0]
    jobs = get_jobs(cluster)
    ids = [jobs.get(str(directory), "") for directory in directories]
    assert [result.stdout.decode().strip() for result in results] == ids
    assert results[2].stderr == b"sbatch: error: no\n"
    for directory, word, job_id in zip(directories, words, ids, strict=True):
        if job_id:
            alone = slurm.directory()
            slurm.start(alone, EXECUTABLE="/bin/echo", ARGUMENTS=quoted(word))
            assert read_files(directory) == {
                **{
                    name: text.replace(str(alone), str(directory)) for name, text in read_files(alone).items()
                },
                "lock": f"{directories[0]}/.gpe/several\n",
                "id": f"{job_id}\n",
            }
    assert slurm.find(directories[2]) == ""
    assert [*(slurm.home / ".gpe/submitting").iterdir()] == []


def read_files(directory: Path) -> dict[str, str]:
    assert directory.stat().st_mode & 0o777 == 0o700
    return {path.name: path.read_text() for path in (directory / ".gpe").iterdir()}


@pytest.mark.race
@pytest.mark.parametrize("when", ["before", "after"])
@DASH
def test_it_is_cut_off_at_each_program(slurm: Target, cluster: Path, tmp_path: Path, when: str) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    for name in PROGRAMS:
        real = cluster / name if name == "sbatch" else shutil.which(name)
        (shims / name).write_text(SHIM.format(real=real))
        (shims / name).chmod(0o700)
    for step in range(1, LAST):
        directories = [slurm.directory() for _ in range(3)]
        script = build(slurm, directories)
        (shims / "count").write_text("")
        slurm.path.insert(0, shims)
        slurm.environment |= {"SHIMS": str(shims), "KILL_AT": str(step), "KILL_WHEN": when}
        slurm.sh(script)
        slurm.path.remove(shims)
        settle(slurm, cluster, directories)
        if len((shims / "count").read_text().split()) < step:
            break
    assert 10 < step < LAST - 1


@pytest.mark.race
@pytest.mark.hunt(EVERY)
@pytest.mark.parametrize("first", range(1, EVERY + 1))
@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_it_is_cut_off_before_each_command(slurm: Target, cluster: Path, tmp_path: Path, first: int) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "sh").write_text('#!/bin/sh\nexec bash "$@"\n')
    (shims / "sh").chmod(0o700)
    (shims / "steps").write_text(COMMANDS)
    for step in range(first, 400, EVERY):
        directories = [slurm.directory() for _ in range(2)]
        script = build(slurm, directories)
        (shims / "count").write_text("")
        before = dict(slurm.environment)
        slurm.path.insert(0, shims)
        slurm.environment |= {"SHIMS": str(shims), "KILL_AT": str(step), "BASH_ENV": str(shims / "steps")}
        slurm.sh(script)
        slurm.path.remove(shims)
        slurm.environment.clear()
        slurm.environment.update(before)
        settle(slurm, cluster, directories)
        if len((shims / "count").read_text().split()) < step:
            break
    assert 60 < step < 400 - EVERY


def test_find_job_waits_for_a_submission_of_several(slurm: Target, cluster: Path) -> None:
    """Also if its client is killed: the program is in a session of its own, and goes on."""
    directories = [slurm.directory() for _ in range(3)]
    script = build(slurm, directories)
    (cluster / "wait").touch()
    client = subprocess.Popen(
        [slurm.shell, "-c", script], env=slurm.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until((cluster / "came").exists)
    client.kill()
    client.wait()
    for stream in (client.stdout, client.stderr):  # nobody reads what the program prints
        assert stream is not None
        stream.close()
    assert slurm.find(directories[2]) in get_jobs(cluster).values()
    wait_until(lambda: not (directories[0] / ".gpe/several").exists())
    assert [*(slurm.home / ".gpe/submitting").iterdir()] == []
    assert {path.name for path in (slurm.home / ".gpe/jobs/slurm").iterdir()} == {"11", "12", "13"}
    (cluster / "wait").unlink()
    settle(slurm, cluster, directories)


@DASH
def test_a_directory_that_is_not_new(slurm: Target, cluster: Path) -> None:
    """Nothing is submitted: each is to be submitted by itself."""
    old, new = slurm.directory(), slurm.directory()
    job = slurm.start(old)
    done = slurm.sh(build(slurm, [new, old]))
    assert (done.returncode, done.stdout) == (73, "")
    assert get_jobs(cluster) == {str(old): job.id}
    assert slurm.find(new) == ""


async def test_jobs_that_are_submitted_at_the_same_time(
    cluster: Path, tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a client: one is refused, and another one has a directory that its caller has made."""
    home = tmp_path / "home"
    home.mkdir()
    made = tmp_path / "made"
    made.mkdir(mode=0o700)
    for name, value in {"CLUSTER": cluster, "HOME": home, "PATH": f"{cluster}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, str(value))
    jobs = [JobDescription(executable="/bin/echo", arguments=[str(n)]) for n in range(20)]
    jobs[3] = replace(jobs[3], arguments=["refuse"])
    jobs[4] = replace(jobs[4], working_directory=str(made))
    async with TargetSystem(repository.load("slurm"), {"USER_NAME": "me"}) as target:
        answers = await asyncio.gather(*map(target.submit, jobs), return_exceptions=True)
        assert isinstance(answers[3], ScriptFailedError)
        assert "sbatch: error: no" in str(answers[3])
        ids = [answer for answer in answers if isinstance(answer, str)]
        directories = [await target.find_job_directory(job_id) for job_id in ids]
    assert get_jobs(cluster) == dict(zip(directories, ids, strict=True))
    assert len(ids) == 19
    assert ids[3] == get_jobs(cluster)[str(made)]
    assert 2 <= len({read_files(Path(d))["lock"] for d in directories} - {""}) <= 3  # programs


def test_scripts_that_differ_have_no_program_in_common(slurm: Target) -> None:
    scripts = [
        slurm.script("START", directory=slurm.directory(), EXECUTABLE="/bin/true", PRIORITY=priority)
        for priority in ("", "-5")
    ]
    starts = [NewStart(f"{slurm.root}/job{n}", script) for n, script in enumerate(scripts, 1)]
    assert build_common_start(starts, "--several", MARK) == ""
    assert re.search("--several", build_common_start(starts[:1] * 2, "--several", MARK))
    assert build_common_start([NewStart("/x", "echo 7\n")], "--several", MARK) == ""
    assert CUT == 75
