"""New jobs that one program submits: as many jobs as directories, also where it is cut off at any of its steps.

Each test is also one of directories that the engine has prepared, as it does on its own machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from osprofile.errors import ScriptFailedError, SubmissionsFailedError
from osprofile.incarnation.incarnate import static_scripts
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.shell.scripts import split_results, wrap_locked_script, wrap_script
from osprofile.jobs.submit.local_directories import JobPrograms, prepare_directories
from osprofile.jobs.submit.starts import NewStart, split_starts
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.profiles.conftest import CUT, DASH, PROFILES, quoted
from tests.profiles.test_crashes import COMMANDS, SHIM
from tests.profiles.test_site_setup import SHELLS
from tests.strategies import document
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from osprofile.jobs.submit.local_directories import LocalDirectories
    from osprofile.jobs.submit.starts import CommonStart
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


@pytest.fixture(params=["by the program", "here"])
def is_prepared(request: pytest.FixtureRequest, slurm: Target, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the directories are made here, and not by the program."""
    monkeypatch.setenv("HOME", str(slurm.home))
    return str(request.param) == "here"


def split(slurm: Target, directories: Sequence[Path], *words: str) -> CommonStart:
    """Return what START is for a job in each directory; `words`: the arguments of each program."""
    starts = [
        NewStart(
            str(directory),
            slurm.script("START", directory=directory, EXECUTABLE="/bin/echo", ARGUMENTS=quoted(word)),
        )
        for directory, word in zip(directories, words or [""] * len(directories), strict=True)
    ]
    common = split_starts(starts)
    assert common
    return common


def prepare(slurm: Target, common: CommonStart) -> LocalDirectories | None:
    """Prepare the directories, as a client on this machine does."""
    programs = JobPrograms(static_scripts(slurm.profile))
    return prepare_directories(common.directories, common.jobs, programs, "slurm")


@contextlib.contextmanager
def submitting(
    slurm: Target, directories: Sequence[Path], *words: str, is_prepared: bool
) -> Iterator[subprocess.Popen[str]]:
    """Run the program that submits a job in each directory."""
    common = split(slurm, directories, *words)
    local = prepare(slurm, common) if is_prepared else None
    prepared = ("--prepared", local.told) if local is not None else None
    script = common.build_script("--several", MARK, prepared)
    assert (local is not None) == is_prepared
    with local_shell(slurm, script, local) as process:
        yield process


@contextlib.contextmanager
def local_shell(
    slurm: Target, script: str, local: LocalDirectories | None
) -> Iterator[subprocess.Popen[str]]:
    """Run a script as a client on this machine does."""
    if local is None:
        (lock := slurm.home / "input").write_bytes(wrap_script(script))
        descriptor = os.open(lock, os.O_RDONLY)
    else:
        descriptor = local.lock
        os.pwrite(descriptor, wrap_locked_script(script), 0)
    with subprocess.Popen(
        [slurm.shell, "-s"],
        stdin=descriptor,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=slurm.env,
        start_new_session=True,
    ) as process:
        os.close(descriptor) if local is None else local.close()
        yield process


def submit(slurm: Target, directories: Sequence[Path], *words: str, is_prepared: bool) -> tuple[str, str]:
    """Run that program to its end, and return its output."""
    with submitting(slurm, directories, *words, is_prepared=is_prepared) as process:
        return process.communicate()


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


def test_each_has_its_own_result(slurm: Target, cluster: Path, *, is_prepared: bool) -> None:
    """One of them is refused; what each would have left by itself is there."""
    directories = [slurm.directory() for _ in range(6)]
    words = ["a", "b' c", "refuse", "d", "$e", "f"]
    stdout, stderr = submit(slurm, directories, *words, is_prepared=is_prepared)
    results = split_results(stdout.encode(), stderr.encode(), MARK)
    assert [result.exit_code for result in results] == [0, 0, 1, 0, 0, 0]
    jobs = get_jobs(cluster)
    ids = [jobs.get(str(directory), "") for directory in directories]
    assert [result.stdout.decode().strip() for result in results] == ids
    assert results[2].stderr == b"sbatch: error: no\n"
    for directory, word, job_id in zip(directories, words, ids, strict=True):
        if job_id:
            if is_prepared:  # START does what remains to be done here
                assert slurm.start(directory).id == job_id
                (directories[0] / ".gpe/several").unlink(missing_ok=True)
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
def test_it_is_cut_off_at_each_program(
    slurm: Target, cluster: Path, tmp_path: Path, when: str, *, is_prepared: bool
) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    for name in PROGRAMS:
        real = cluster / name if name == "sbatch" else shutil.which(name)
        (shims / name).write_text(SHIM.format(real=real))
        (shims / name).chmod(0o700)
    for step in range(1, LAST):
        directories = [slurm.directory() for _ in range(3)]
        (shims / "count").write_text("")
        slurm.path.insert(0, shims)
        slurm.environment |= {"SHIMS": str(shims), "KILL_AT": str(step), "KILL_WHEN": when}
        submit(slurm, directories, is_prepared=is_prepared)
        slurm.path.remove(shims)
        settle(slurm, cluster, directories)
        if len((shims / "count").read_text().split()) < step:
            break
    assert (3 if is_prepared else 10) < step < LAST - 1


@pytest.mark.race
@pytest.mark.hunt(EVERY)
@pytest.mark.parametrize("first", range(1, EVERY + 1))
@DASH
def test_it_is_cut_off_before_each_command(
    slurm: Target, cluster: Path, tmp_path: Path, first: int, *, is_prepared: bool
) -> None:
    """Bash, which tells of each command, is cut off; what settles it is dash, in half of the time."""
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "sh").write_text('#!/bin/sh\nexec bash "$@"\n')
    (shims / "sh").chmod(0o700)
    (shims / "steps").write_text(COMMANDS)
    for step in range(first, 400, EVERY):
        directories = [slurm.directory() for _ in range(2)]
        (shims / "count").write_text("")
        before = dict(slurm.environment)
        slurm.path.insert(0, shims)
        slurm.environment |= {"SHIMS": str(shims), "KILL_AT": str(step), "BASH_ENV": str(shims / "steps")}
        slurm.shell = "bash"
        submit(slurm, directories, is_prepared=is_prepared)
        slurm.shell = "dash"
        slurm.path.remove(shims)
        slurm.environment.clear()
        slurm.environment.update(before)
        settle(slurm, cluster, directories)
        if len((shims / "count").read_text().split()) < step:
            break
    assert 60 < step < 400 - EVERY


def test_find_job_waits_for_a_submission_of_several(
    slurm: Target, cluster: Path, *, is_prepared: bool
) -> None:
    """Also if its client is killed: the program is in a session of its own, and goes on."""
    directories = [slurm.directory() for _ in range(3)]
    (cluster / "wait").touch()
    with submitting(slurm, directories, is_prepared=is_prepared) as client:
        wait_until((cluster / "came").exists)
        if not is_prepared:  # there, the shell is the program
            client.kill()
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
def test_a_directory_that_is_not_new(slurm: Target, cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is submitted: each is to be submitted by itself."""
    monkeypatch.setenv("HOME", str(slurm.home))
    old, new = slurm.directory(), slurm.directory()
    job = slurm.start(old)
    common = split(slurm, [new, old])
    assert prepare(slurm, common) is None
    done = slurm.sh(common.build_script("--several", MARK))
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
    assert 2 <= len({read_files(Path(d))["lock"] for d in directories} - {""}) <= 4  # programs
    assert {name for d in directories for name in read_files(Path(d))} == {
        "id",
        "job.sh",
        "lock",
        "script",
        "submitting",
    }
    assert [*(home / ".gpe/submitting").iterdir()] == []


HOMES: Final = {
    "before": "",
    "after": "#!/bin/sh\nid=$(sbatch-itself) && rm -rf ~/.gpe/jobs && : > ~/.gpe/jobs && echo $id\n",
}


@pytest.mark.parametrize("when", HOMES)
async def test_a_home_that_goes_away(
    cluster: Path,
    tmp_path: Path,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    when: str,
) -> None:
    """Before the submission, each job is told why it cannot be; after it, no job is lost."""
    home = tmp_path / "home"
    (home / ".gpe").mkdir(parents=True)
    for name, value in {"CLUSTER": cluster, "HOME": home, "PATH": f"{cluster}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, str(value))
    (cluster / "sbatch").rename(cluster / "sbatch-itself")
    (cluster / "sbatch").write_text(HOMES[when] or "#!/bin/sh\nexec sbatch-itself\n")
    (cluster / "sbatch").chmod(0o700)
    if when == "before":
        (home / ".gpe/submitting").touch()
    jobs = [
        JobDescription(executable="/bin/echo", working_directory=str(tmp_path / f"job{n}")) for n in range(3)
    ]
    async with TargetSystem(repository.load("slurm"), {"USER_NAME": "me"}) as target:
        if when == "after":
            assert await target.submit(jobs[0], key="k") == "11"
            assert "job 11 was submitted, but: START failed (exit status 73)" in caplog.text
            assert await target.submit(jobs[0], key="k") == "11"
        else:
            with pytest.raises(SubmissionsFailedError) as caught:
                await target.submit_many(jobs, keys=["k", "l", "m"])
            for error in caught.value.errors.values():
                assert "START failed (exit status 73): " in error.message
                assert "jobs cannot work in" in error.message
        assert len(target.store.list_all_jobs()) == len(get_jobs(cluster)) == (when == "after")


@DASH
def test_what_a_site_runs_before_the_program(
    slurm: Target, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the program itself is run by the engine's shell; the commands of a site's START before it are as they are."""
    monkeypatch.setenv("HOME", str(slurm.home))
    directory = slurm.directory()
    text = slurm.script("START", directory=directory, EXECUTABLE="/bin/true")
    common = split_starts([NewStart(str(directory), f"sh -c 'echo \"$0\" > ~/hook; exit 3' 'a b'\n{text}")])
    assert common
    local = prepare(slurm, common)
    assert local
    with local_shell(
        slurm, common.build_script("--several", MARK, ("--prepared", local.told)), local
    ) as process:
        stdout, stderr = process.communicate()
    (result,) = split_results(stdout.encode(), stderr.encode(), MARK)
    assert result.stdout.decode().strip() == get_jobs(cluster)[str(directory)]
    assert (slurm.home / "hook").read_text() == "a b\n"
    other = common._replace(begin=f"true\nenv sh {common.begin.rpartition('sh ')[2]}")
    assert not other.has_program


STEPS: Final = ("mkdir", "open", "pwrite", "symlink", "unlink", "write")


@pytest.mark.race
@DASH
def test_the_engine_is_cut_off_at_each_call(
    slurm: Target, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a process that ends before one of its calls; what it has begun is settled like that of the program."""
    monkeypatch.setenv("HOME", str(slurm.home))
    for step in range(1, LAST):
        directories = [slurm.directory() for _ in range(2)]
        common = split(slurm, directories)
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                calls = itertools.count(1)
                for name in STEPS:
                    setattr(os, name, functools.partial(call_or_end, getattr(os, name), calls, step))
                local = prepare(slurm, common)
                assert local is not None
                script = common.build_script("--several", MARK, ("--prepared", local.told))
                os.pwrite(local.lock, wrap_locked_script(script), 0)
                subprocess.run(
                    [slurm.shell, "-s"],
                    stdin=local.lock,
                    env=slurm.env,
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                local.close()
                jobs = get_jobs(cluster)
                assert all(local.complete(directory, jobs[directory]) for directory in common.directories)
                os._exit(0)
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in {0, CUT}
        settle(slurm, cluster, directories)
        if not status:
            break
    assert 20 < step < LAST - 1


def call_or_end(call: Callable[..., object], calls: Iterator[int], last: int, *args: object) -> object:
    if next(calls) == last:
        os._exit(CUT)
    return call(*args)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "0"), (": gpe_container", "0"), (": gpe_run_mpi", "0"), (": gpe_run_processes", "0"), (": STDOUT_NAME=", "0"),
        (": STDERR_NAME=", "0"), (': gpe_stage "$@"', "0"), (": gpe_array=", "0"), (": gpe_dependency=", "0"),
        (": gpe_start_time=", "0"), ("own", "1"),
    ],
)  # fmt: skip
@DASH
def test_a_job_gets_the_same_scripts(
    slurm: Target, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    monkeypatch.setenv("HOME", str(slurm.home))
    alone, here = slurm.directory(), slurm.directory()
    scripts = {d: slurm.script("START", directory=d, EXECUTABLE="/bin/true") for d in (alone, here)}
    for directory, script in scripts.items():
        begin = "own_begin\n" if line == "own" else f"{line}\ngpe_begin_job\n"
        scripts[directory] = script.replace("gpe_begin_job\n", begin)
    assert slurm.sh(scripts[alone]).returncode == 0
    common = split_starts([NewStart(str(here), scripts[here])])
    assert common
    local = prepare(slurm, common)
    assert local is not None
    local.close()
    assert local.told == [f"{told}gpe_end_job"]
    for name in ("job.sh", "script"):
        texts = [(d / ".gpe" / name).read_text().replace(str(d), "DIRECTORY") for d in (alone, here)]
        assert texts[0] == texts[1]
    assert (here / ".gpe/script").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("shell", SHELLS)
async def test_jobs_of_this_machine(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shell gets the lock, and no job keeps it. A job does not ignore SIGINT, as background commands do."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell} here")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to(path)
    for name, value in {"HOME": tmp_path, "PATH": f"{programs}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, str(value))
    site = tmp_path / "site.xml"
    site.write_text(document(name="site", extends="linux", root=str(tmp_path / "jobs")))
    go = tmp_path / "go"
    words = ["-c", f"until [ -e {go} ]; do sleep 0.1; done; kill -s INT $$; sleep 9"]
    jobs = [JobDescription(executable="/bin/sh", arguments=words)] * 4
    async with TargetSystem(Repository([PROFILES]).load_file(site), {"USER_NAME": "me"}) as target:
        ids = [await target.submit(jobs[0]), *await asyncio.gather(*map(target.submit, jobs[1:]))]
        directories = [Path(await target.find_job_directory(job_id)) for job_id in ids]
        locks = {(directory / ".gpe/lock").read_text().rstrip() for directory in directories}
        assert "" not in locks
        assert 2 <= len(locks) <= 3
        assert not any(map(os.path.exists, locks))
        go.touch()
        ends = [await target.wait(job_id) for job_id in ids]
    assert [end.signal for end in ends] == [signal.SIGINT] * 4


@DASH
def test_a_child_that_is_forked_keeps_no_lock(slurm: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a worker of multiprocessing does that begins during a submission."""
    monkeypatch.setenv("HOME", str(slurm.home))
    local = prepare(slurm, split(slurm, [directory := slurm.directory()]))
    assert local
    is_begun, begun = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which newer Pythons tell
        child = os.fork()
    if not child:
        os.write(begun, b"!")
        signal.pause()
        os._exit(0)
    try:
        assert os.read(is_begun, 1) == b"!"
        local.close()
        assert not (directory / ".gpe/several").exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(is_begun)
        os.close(begun)


@DASH
def test_directories_that_the_program_has_to_look_at(slurm: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others can write above them, one is a link, is marked, or is not new. What is safe may be reached by links."""
    monkeypatch.setenv("HOME", str(slurm.home))

    def is_prepared(directory: Path) -> bool:
        local = prepare(slurm, split(slurm, [directory]))
        if local is not None:
            local.close()
        return local is not None

    slurm.root.mkdir()
    for mode in (0o770, 0o707):
        (open_directory := slurm.root / f"{mode:o}").mkdir()
        open_directory.chmod(mode)
        assert not is_prepared(open_directory)
        assert not is_prepared(open_directory / "job")
        (slurm.root / f"to{mode:o}").symlink_to(open_directory)
        assert not is_prepared(slurm.root / f"to{mode:o}" / "other")
        open_directory.chmod(mode | 0o1000)  # where nobody can replace what is another's
        assert is_prepared(open_directory / "third")
    (slurm.root / "safe").mkdir(mode=0o700)
    (slurm.root / "link").symlink_to("safe")
    assert is_prepared(slurm.root / "link/job")
    assert not is_prepared(slurm.root / "link/job")
    assert not is_prepared(slurm.root / "link")
    (slurm.home / ".gpe/submitting/marked").touch()
    assert not is_prepared(slurm.root / "marked")
    (slurm.root / "safe").chmod(0o755)
    assert is_prepared(slurm.root / "safe/last")


def test_scripts_that_differ_have_no_program_in_common(slurm: Target) -> None:
    scripts = [
        slurm.script("START", directory=slurm.directory(), EXECUTABLE="/bin/true", PRIORITY=priority)
        for priority in ("", "-5")
    ]
    starts = [NewStart(f"{slurm.root}/job{n}", script) for n, script in enumerate(scripts, 1)]
    assert split_starts(starts) is None
    assert split_starts(starts[:1] * 2) is not None
    assert split_starts([NewStart("/x", "echo 7\n")]) is None
    assert CUT == 75
