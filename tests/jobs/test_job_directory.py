"""The working directory of a job: nothing is read or written there while it may be somebody else's."""

from __future__ import annotations

import io
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ScriptFailedError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.files import transfer, trees
from osprofile.jobs.files.directory import JobFile, NewFile, write_new_files
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.jobs.target_system import TargetSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.profile.model import Profile

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")


def make_directory(path: Path) -> Path:
    (path / "in").mkdir(parents=True)
    (path / "in/file").write_text("text")
    return path


def make_link(path: Path) -> None:
    make_directory(path.with_name("other"))
    path.symlink_to("other")


def make_open(path: Path) -> None:
    make_directory(path).chmod(0o770)


def make_foreign(path: Path) -> None:
    os.chown(make_directory(path), 12345, -1)


UNSAFE = [
    pytest.param(make_link, "is a link", id="a link"),
    pytest.param(make_open, "can be changed by others", id="others can write"),
    pytest.param(make_foreign, "belongs to another user", id="of somebody else", marks=AS_ROOT),
]
SCRIPTS: dict[str, Callable[[str], str]] = {
    "download": lambda d: transfer.build_download_script(JobFile(d, "in/file")),
    "output": lambda d: transfer.build_output_script(JobFile(d, "in/file")),
    "part": lambda d: transfer.build_part_script(JobFile(d, "in/file")),
    "upload": lambda d: next(transfer.build_upload_scripts(io.BytesIO(b"x"), JobFile(d, "in/new"), 0o600)),
    "fetch": lambda d: trees.build_sending_script(d, ["in/*"], "mark"),
    "inputs": trees.build_state_script,
    "stage": lambda d: trees.build_staging_script(d, ":", {}, []),
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("make", "words"), UNSAFE)
@pytest.mark.parametrize("slash", ["", "/"])
def test_what_is_unsafe(
    tmp_path: Path, make: Callable[[Path], None], words: str, script: str, slash: str
) -> None:
    directory = tmp_path / "it's"
    make(directory)
    before = sorted(tmp_path.rglob("*"))
    text = wrap_script(SCRIPTS[script](f"{directory}{slash}"))
    done = subprocess.run(["sh", "-s"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (73, b"")
    assert done.stderr.decode() == f"{directory} is not used: this directory {words}\n"
    assert sorted(tmp_path.rglob("*")) == before
    file = JobFile(f"{directory}{slash}", "in/file")
    assert not file.is_here()
    with pytest.raises(OSError, match=r"Not a directory|its user's alone"):
        file.open()
    with pytest.raises(OSError, match=r"Not a directory|its user's alone"):
        write_new_files(f"{directory}{slash}", [NewFile("new", b"x")])
    assert sorted(tmp_path.rglob("*")) == before


def test_new_files(tmp_path: Path) -> None:
    """They are written for their owner only, in the place of others, and whole."""
    directory = tmp_path / "made/it's"
    for content in (b"1", b"2"):
        write_new_files(f"{directory}/", [NewFile("a", content), NewFile("b c", content, 0o700)])
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in [directory.parent, *directory.iterdir()]}
    assert modes == {"made": "0o700", "a": "0o600", "b c": "0o700"}
    assert (directory / "a").read_bytes() == b"2"


def test_what_is_safe(tmp_path: Path) -> None:
    make_directory(tmp_path / "scratch/it's")
    (tmp_path / "linked").symlink_to("scratch")
    file = JobFile(f"{tmp_path}/linked/it's", "in/file")
    assert file.is_here()
    with file.open() as opened:
        assert opened.read() == b"text"
    script = wrap_script(SCRIPTS["output"](file.directory))
    assert subprocess.check_output(["sh", "-s"], input=script) == b"text"
    with pytest.raises(FileNotFoundError):
        file._replace(name="none").open()
    assert not file._replace(directory=f"{tmp_path}/none").is_here()
    elsewhere = JobFile("/no/directory", f"{tmp_path}/scratch/it's/in/file")
    script = wrap_script(transfer.build_output_script(elsewhere))
    assert subprocess.check_output(["sh", "-s"], input=script) == b"text"


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    script = wrap_script(SCRIPTS["output"](f"{tmp_path}/none"))
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, check=False)
    assert done.returncode not in {0, 73}
    assert b"No such file or directory" in done.stderr


@AS_ROOT
async def test_the_files_of_a_job_whose_directory_somebody_else_made(
    tmp_path: Path, load: Callable[[str], Profile]
) -> None:
    async with TargetSystem(load("")) as target:
        job_id = await target.submit(JobDescription(executable="/bin/echo", arguments=["mine"]))
        await target.wait(job_id)
        assert await target.read_stdout(job_id) == b"mine\n"
        directory = Path(await target.find_job_directory(job_id))
        shutil.rmtree(directory)
        (directory / ".gpe").mkdir(parents=True)
        (directory / "stdout").write_text("his")
        os.chown(directory, 12345, -1)
        refused = "this directory belongs to another user"
        for operation in (
            target.read_stdout(job_id),
            target.read_stderr(job_id),
            target.fetch(job_id, ["stdout"], str(tmp_path / "got")),
            target.files.upload_file(io.BytesIO(b"secret"), JobFile(str(directory), ".gpe/proxy")),
        ):
            with pytest.raises(ScriptFailedError, match=refused) as caught:
                await operation
            assert str(directory) in caught.value.message
        assert not (tmp_path / "got/stdout").exists()
        assert [*(directory / ".gpe").iterdir()] == []


# Two accounts

INCARNATE = str(Path(sys.executable).with_name("incarnate"))
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="here" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter></osp:Profile>
"""


@pytest.fixture
def accounts() -> Iterator[tuple[Path, str, str]]:
    """Yield a place that all can enter, and the names of two accounts, whose homes are there."""
    names = [f"osp{letter}{os.getpid()}" for letter in "ab"]
    place = Path(tempfile.mkdtemp(prefix="osprofile-", dir="/var/tmp"))
    place.chmod(0o755)
    try:
        for name in names:
            subprocess.run(["useradd", "-m", "-d", place / name, "-U", "-K", "UMASK=022", name], check=True)
        (place / "work").mkdir()
        (place / "work").chmod(0o1777)
        (place / "here.xml").write_text(PROFILE.format(root=place / "work"))
        yield place, names[0], names[1]
    finally:
        for name in names:
            subprocess.run(["userdel", name], check=False)
        shutil.rmtree(place)


def run_as(place: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "--", *words]
    environment = {"HOME": str(place / name), "PATH": os.environ["PATH"], "OSPROFILE_PATH": str(place)}
    return subprocess.run(
        command, env=environment, cwd=place / name, capture_output=True, text=True, check=False
    )


@AS_ROOT
def test_two_accounts(accounts: tuple[Path, str, str]) -> None:
    place, alice, mallory = accounts

    def incarnate(*words: str) -> subprocess.CompletedProcess[str]:
        done = run_as(place, alice, INCARNATE, "job", *words)
        assert "Traceback" not in done.stderr
        return done

    done = incarnate("submit", "-p", "here", "--key", "k", "--", "sh", "-c", "echo mine; exit 3")
    assert done.returncode == 0, done.stderr
    assert incarnate("wait", "k").returncode == 3
    (directory,) = (place / "work" / alice).iterdir()
    assert directory.stat().st_uid == pwd.getpwnam(alice).pw_uid
    shutil.rmtree(place / "work" / alice)  # as what cleans /var/tmp does
    made = f"mkdir -p '{directory}/.gpe' && cd '{directory}' && echo 0 > .gpe_exit_status && echo his > stdout &&"
    made += " echo 'touch ran' > .gpe/script && cp .gpe/script .gpe/job.sh && chmod -R a+rX ."
    assert run_as(place, mallory, "sh", "-c", made).returncode == 0
    told = f"{directory} is not used: this directory belongs to another user"
    for words in (["output", "k"], ["fetch", "k", "stdout", "--to", "got"], ["show", "k", "--script"]):
        done = incarnate(*words)
        assert done.returncode != 0, words
        assert "his" not in done.stdout
        assert told in done.stderr
    assert told in incarnate("show", "k").stderr
    assert not (place / alice / "got/stdout").exists()
    (run_as(place, alice, "sh", "-c", "rm -rf .local/state/osprofile")).check_returncode()
    link = next((place / alice / ".gpe/jobs/here").glob("[0-9]*"))
    done = incarnate("status", "-p", "here", link.name)
    assert "DONE" not in done.stdout
    assert not (directory / "ran").exists()
