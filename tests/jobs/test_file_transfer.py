"""Files that travel through SHELL, and signals: with the real profile `linux`."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import osprofile
from osprofile.errors import JobNotFoundError, ScriptFailedError
from osprofile.jobs.files import transfer
from osprofile.jobs.shell.scripts import wrap_script
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.jobs.conftest import QUICK, shell
from tests.profiles.test_hostile_values import VALUES
from tests.waiting import PATIENCE

BYTES = bytes(range(256)) * 1000 + b"\nEND\n"


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TargetSystem:
    """Return a target system for this machine, with its own home directory."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return TargetSystem(osprofile.load("linux"), timing=QUICK)


def list_names(path: Path) -> list[str]:
    return sorted(os.listdir(path))


async def download(target: TargetSystem, path: Path) -> bytes:
    with tempfile.TemporaryFile() as file:
        await target.files.download_file(str(path), file.fileno())
        file.seek(0)
        return file.read()


async def wait_for_output(directory: str, words: str) -> None:
    """Wait until a job has printed these words."""
    path = Path(directory, "stdout")
    while not path.exists() or path.read_text() != words:  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", 1000),
        (b"a", 1000),
        *((BYTES, part) for part in (transfer.TRANSFER_CHUNK_SIZE, 1000, len(BYTES))),
    ],
)
async def test_there_and_back(
    target: TargetSystem, tmp_path: Path, data: bytes, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TRANSFER_CHUNK_SIZE", part)
    path = tmp_path / "new" / "it"
    await target.files.upload_file(io.BytesIO(data), str(path), 0o640)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o7777 == 0o640
    assert path.parent.stat().st_mode & 0o7777 == 0o700
    await target.files.upload_file(io.BytesIO(b"shorter"), str(path))
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"shorter", 0o600)
    await target.files.upload_file(io.BytesIO(data), str(path))
    assert await download(target, path) == data
    assert [p.name for p in path.parent.iterdir()] == ["it"]


async def test_hostile_names(target: TargetSystem, tmp_path: Path) -> None:
    for number, name in enumerate(VALUES):
        path = tmp_path / str(number) / name.replace("/", "_")
        await target.files.upload_file(io.BytesIO(name.encode()), str(path))
        assert path.read_bytes() == name.encode()
        assert await download(target, path) == name.encode()


async def test_what_cannot_be_written_or_read(target: TargetSystem, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "directory", tmp_path / "file" / "below"):
        with pytest.raises(ScriptFailedError, match=f"writing {path} failed"):
            await target.files.upload_file(io.BytesIO(BYTES), str(path))
    with pytest.raises(ScriptFailedError):
        await download(target, tmp_path / "none")
    for name in ("pipe", "directory", "none"):  # nobody writes to the pipe
        with tempfile.TemporaryFile() as file, pytest.raises(ScriptFailedError):
            async with asyncio.timeout(PATIENCE):
                await target.files.download_file(str(tmp_path / name), file.fileno(), 0, 9)
    assert list_names(tmp_path) == ["directory", "file", "home", "pipe"]
    assert list_names(tmp_path / "directory") == []


SMALL = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="small" extends="linux">
  <osp:UspaceRoot>/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SHELL"><idb:Invocation name="">
    <idb:Body>sh -c "ulimit -f 100; exec sh -s"</idb:Body>
  </idb:Invocation></idb:Template>
</osp:Profile>
"""


async def test_a_file_that_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    """As on a full disk: what cannot be written whole does not appear."""
    (tmp_path / "small.xml").write_text(SMALL)
    (tmp_path / "it").write_text("kept")
    async with TargetSystem(Repository().load_file(str(tmp_path / "small.xml"))) as target:
        with pytest.raises(ScriptFailedError, match=r"writing .*/it failed"):
            await target.files.upload_file(io.BytesIO(BYTES), str(tmp_path / "it"))
    assert list_names(tmp_path) == ["it", "small.xml"]
    assert (tmp_path / "it").read_text() == "kept"


async def test_a_jobs_directory_is_known_without_the_record(target: TargetSystem) -> None:
    job = await target.submit(shell("exit 0"))
    assert (await target.wait(job)).exit_code == 0
    async with TargetSystem(target.profile) as stranger:
        assert await stranger.find_job_directory(job) == await target.find_job_directory(job)
        for nobody in ("1-1-00000000", "..", "../..", "a/b", "'", "-P", ""):
            with pytest.raises(JobNotFoundError):
                await stranger.find_job_directory(nobody)


async def test_signals(target: TargetSystem) -> None:
    script = "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done"
    jobs = [await target.submit(shell(script, walltime=60)) for _ in range(3)]
    for job in jobs:
        await wait_for_output(await target.find_job_directory(job), "ready\n")
    for job, number in zip(jobs, (10, 9, 12), strict=True):
        await target.signal(job, number)
    ends = [await target.wait(job) for job in jobs]
    assert [(s.state, s.exit_code, s.signal) for s in ends] == [
        (JobState.DONE, 5, None),
        (JobState.FAILED, None, 9),
        (JobState.FAILED, None, 12),
    ]
    with pytest.raises(ScriptFailedError, match="does not run on this machine"):
        await target.signal(jobs[0], 10)


async def test_a_profile_that_sends_no_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qstat").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "qstat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with TargetSystem(osprofile.load("sge"), timing=QUICK) as target:
        with pytest.raises(ScriptFailedError, match="sge cannot send signals to jobs"):
            await target.signal("7", 10)


SHELLS = [name for name in ("dash", "bash", "ksh", "mksh", "yash", "busybox") if shutil.which(name)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_parts_of_a_growing_file(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [shell]
    if shell == "busybox":  # its own tools, too
        command = [shell, "sh"]
        for tool in ("tail", "head", "ls", "wc"):
            (tmp_path / tool).symlink_to(shutil.which("busybox") or "")
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = tmp_path / "it's  *\t$HOME"

    def read(
        position: transfer.FilePosition | None = None, last_lines: int | None = None
    ) -> transfer.FilePart | None:
        script = wrap_script(transfer.build_part_script(str(path), position, last_lines))
        ended = subprocess.run(command, input=script, capture_output=True, check=True)
        assert ended.stderr == b""
        return transfer.parse_part(ended.stdout, position)

    assert read() is None
    lines = [b"line %d\n" % number for number in range(100_000)]
    path.write_bytes(b"".join(lines))
    for number in (0, 1, 7, 50_000, 99_999, 100_000, 200_000):
        part = read(last_lines=number)
        assert part is not None
        assert part.data == b"".join(lines[len(lines) - min(number, len(lines)) :])
    with path.open("ab") as file:
        file.write(b"\0\xff more")
    assert part is not None
    added = read(part.position)
    assert added is not None
    assert (added.data, added.is_restarted) == (b"\0\xff more", False)
    assert read(added.position) == (b"", added.position, False)
    path.write_bytes(b"new")
    assert read(added.position) == (b"new", (added.position.inode, 3), True)
    path.rename(tmp_path / "old")
    path.write_bytes(b"other")
    other = read(transfer.FilePosition(added.position.inode, 3))
    assert other is not None
    assert (other.data, other.is_restarted) == (b"other", True)


async def test_a_part_is_limited(
    target: TargetSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "OUTPUT_PART_SIZE", 1000)
    (tmp_path / "file").write_bytes(BYTES[:20_000])
    data, position = b"", None
    while (part := await target.files.read_file_part(str(tmp_path / "file"), position)) and part.data:
        assert len(part.data) <= 1000
        data, position = data + part.data, part.position
    assert data == BYTES[:20_000]
    assert await target.files.read_file_part(str(tmp_path / "no such file")) is None
    with pytest.raises(ScriptFailedError, match="No such file"):
        await target.files.read_file_part(str(tmp_path / "none" / "file"))


def test_what_is_no_part() -> None:
    for output in (b"", b"1", b"x 1\n", b"1 2 3\n", b"-1 0\n"):
        with pytest.raises(ValueError, match="is not the inode"):
            transfer.parse_part(output, None)
