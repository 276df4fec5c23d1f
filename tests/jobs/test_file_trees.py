"""Files and directories that are copied to a target and back: with the real profile `linux`, in real shells."""

# ruff: noqa: ASYNC240 (nothing else runs in the event loop of a test)

from __future__ import annotations

import io
import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import osprofile
from osprofile.errors import (
    OSProfileError,
    OutcomeUnknownError,
    ScriptFailedError,
    TargetError,
    ValueRefusedError,
)
from osprofile.jobs.files import trees
from osprofile.jobs.files.trees import measure, receive_archives
from osprofile.jobs.record.store import Store
from osprofile.jobs.shell.process import Channel
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK, shell
from tests.profiles.test_hostile_values import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile.profile.model import Profile

MARK = "mark"
NOT_UNICODE = os.fsdecode(b"\xff\xfe \xf6")
NAMES = [
    *{name.replace("/", "_")[:200] for name in VALUES if "\0" not in name} - {"", ".", ".."},
    NOT_UNICODE,
]
# ssh that starts a shell of this machine; while `cut` is there, the shell that reads an archive dies after some of it
SSH = """
<idb:Template name="SHELL">
  <idb:Invocation name=""><idb:Body>{sh} -s</idb:Body></idb:Invocation>
  <idb:Invocation name="SSH"><idb:Body>env PATH={root}/bin:{path} {sh} -s</idb:Body></idb:Invocation>
</idb:Template>
"""
TAR = """#!/bin/sh
echo "$$" >> {root}/tars
[ ! -e {root}/cut ] || {{ head -c 50000 > {root}/got; kill -s KILL "$PPID"; exit 1; }}
exec {tar} "$@"
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TargetSystem:
    """Return a target system for this machine, with its own home directory, which is the current one."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "home")
    return TargetSystem(osprofile.load("linux"), timing=QUICK)


def list_tree(path: Path) -> dict[str, object]:
    """Return what is below a directory: the content of files, with their modes, and the targets of links."""
    found: dict[str, object] = {}
    for place in sorted(path.rglob("*")):
        name = str(place.relative_to(path))
        if place.is_symlink():
            found[name] = str(place.readlink())
        elif place.is_dir():
            found[name] = None
        else:
            found[name] = (place.read_bytes(), stat.S_IMODE(place.stat().st_mode))
    return found


def make_tree(path: Path) -> None:
    """Make a directory with hostile names, links, an empty directory, and an executable file."""
    (path / "empty").mkdir(parents=True)
    (path / ".hidden").write_text("h")
    (path / "run").write_text("#!/bin/sh\n")
    (path / "run").chmod(0o755)
    (path / "link").symlink_to(".hidden")
    os.link(path / ".hidden", path / "second name")
    for number, name in enumerate(NAMES):
        (path / "empty" / ".." / name).write_text(f"{number}\n")


async def test_a_directory_there_and_back(target: TargetSystem, tmp_path: Path) -> None:
    make_tree(tmp_path / "from")
    await target.files.upload(str(tmp_path / "from"), str(tmp_path / "new" / "it's $(id)"))
    await target.files.download(str(tmp_path / "new" / "it's $(id)"), str(tmp_path / "back"))
    expected = list_tree(tmp_path / "from")
    assert list_tree(tmp_path / "new" / "it's $(id)") == expected
    assert list_tree(tmp_path / "back") == expected
    assert os.listdir(tmp_path / "new") == ["it's $(id)"]


@pytest.mark.parametrize(
    "name", ["a b", "-n", "it's", "new\nline", "$(touch hostile)", "*", "[a]", NOT_UNICODE]
)
async def test_a_file_there_and_back(target: TargetSystem, tmp_path: Path, name: str) -> None:
    data = bytes(range(256)) * 5000
    source = tmp_path / "source"
    source.mkdir()
    (source / name).write_bytes(data)
    (source / name).chmod(0o640)
    await target.files.upload(str(source / name), str(tmp_path / "new" / name))
    await target.files.upload(str(source / name), str(tmp_path / "new" / name))
    await target.files.download(str(tmp_path / "new" / name), name)
    for path in (tmp_path / "new" / name, Path(name)):
        assert path.read_bytes() == data
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert path.stat().st_mtime == pytest.approx((source / name).stat().st_mtime, abs=1.1)
    assert os.listdir(".") == [name]


async def test_what_cannot_be_copied(target: TargetSystem, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "directory").mkdir()
    for source, path, error, said in (
        ("file", "directory", ScriptFailedError, "directory: this is a directory"),
        ("file", "file/below", ScriptFailedError, r"writing .*/file/below failed"),
        ("none", "new", TargetError, "none': No such file or directory"),
    ):
        with pytest.raises(error, match=said):
            await target.files.upload(str(tmp_path / source), str(tmp_path / path))
    for path, local in (
        ("none", "new"),
        ("none/file", "new"),
        ("file", "../directory"),
        ("file", "../file/x"),
    ):
        with pytest.raises(TargetError):
            await target.files.download(str(tmp_path / path), local)
    assert sorted(os.listdir(tmp_path)) == ["directory", "file", "home"]
    assert list_tree(tmp_path / "directory") == {}
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(".") == []


# Inputs of a job, and what is fetched


async def test_inputs_and_what_is_fetched(
    target: TargetSystem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_tree(tmp_path / "data")
    os.mkfifo(tmp_path / "data" / "pipe")
    Path("words").write_text("forty two")
    Path("name").symlink_to("words")
    script = "cat words name; cp -R data out; mkfifo out/fifo; ln -s /etc out/etc; ln -s words result"
    job = shell(
        script, inputs=["words", "name", "../data"], fetch=["out", "resu*", "[s]tdout"], fetch_to="got"
    )
    job_id = await target.submit(job)
    end = await target.wait(job_id)
    assert end.exit_code == 0, await target.read_stderr(job_id)
    fetched = await target.fetch(job_id)
    (tmp_path / "data" / "pipe").unlink()
    expected = list_tree(tmp_path / "data")
    assert list_tree(Path("got/out")) == expected
    # a link that matches is the file
    assert Path("got/result").read_text() == "forty two"
    assert not Path("got/result").is_symlink()
    assert Path("got/stdout").read_text() == "forty twoforty two"
    assert {os.path.relpath(file.path) for file in fetched} >= {"got/result", "got/stdout", "got/out/run"}
    told = [record.getMessage() for record in caplog.records]
    assert sorted(told) == [
        "'data/pipe' is not copied: it is neither a file, a directory nor a link",
        "'out/etc' is not copied: it is a link to '/etc', which is not copied",
        "'out/fifo' is not copied: it is neither a file, a directory nor a link",
    ]


async def test_patterns(target: TargetSystem, tmp_path: Path) -> None:
    names = ["out 1", "out\n2", "-out", "$(touch hostile)", "out*", ".out", "sub/x"]
    make = 'mkdir sub; for f do : > "./$f"; done'
    job = osprofile.JobDescription(executable="/bin/sh", arguments=["-c", make, "sh", *names])
    job_id = await target.submit(job)
    await target.wait(job_id)

    async def fetch(*patterns: str) -> list[str]:
        shutil.rmtree("got", ignore_errors=True)
        root = f"{tmp_path}/home/got/"
        return sorted(f.path.removeprefix(root) for f in await target.fetch(job_id, patterns, "got"))

    assert await fetch("out*") == ["out\n2", "out 1", "out*"]
    assert await fetch("out ?", "-*", "sub/*") == ["-out", "out 1", "sub/x"]
    assert await fetch("$(touch hostile)") == ["$(touch hostile)"]
    assert await fetch(".o*", "[a-z]*1") == [".out", "out 1"]
    with pytest.raises(TargetError, match=r"no file matches 'none\*', 'out 2' in .*; 1 other file copied"):
        await fetch("none*", "-out", "out 2")
    for pattern in ("/etc/passwd", "../x", "sub/../../x", "", "/", ".."):
        with pytest.raises(ValueRefusedError, match="does not name files in the job's working directory"):
            await fetch(pattern)
    with pytest.raises(TargetError, match="was submitted without patterns"):
        await target.fetch(job_id)
    assert os.listdir(".") == [".gpe"]


async def test_a_thousand_files_are_several_archives(target: TargetSystem) -> None:
    job_id = await target.submit(shell("i=0; while [ $i -lt 1200 ]; do i=$((i + 1)); : > f$i; done"))
    await target.wait(job_id)
    assert len(await target.fetch(job_id, ["f*"], "got")) == len(os.listdir("got")) == 1200


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": ["none"]}, "the input 'none': No such file or directory"),
        ({"inputs": ["a/x", "b/x"]}, "the inputs '/.*/a/x' and 'b/x' have the same name"),
        ({"inputs": ["/"]}, "have the name of osprofile's own files, or none"),
        ({"inputs": ["a/.gpe"]}, "have the name of osprofile's own files, or none"),
        ({"inputs": ["pipe"]}, "is neither a file nor a directory"),
        ({"inputs": "a/x"}, "inputs: 'a/x' is not a sequence of texts"),
        ({"inputs": ["a\0b"]}, "is not the name of a file"),
        ({"fetch": ["../x"]}, "the pattern '../x' does not name files in the job's working directory"),
        ({"fetch": "x"}, "fetch: 'x' is not a sequence of texts"),
    ],
)
async def test_what_is_refused_before_the_submission(
    target: TargetSystem, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "x").touch()
    Path("a/.gpe").mkdir()
    os.mkfifo("pipe")
    with pytest.raises(ValueRefusedError, match=said):
        await target.submit(shell("true", working_directory=str(tmp_path / "job"), **changes))
    with pytest.raises(osprofile.SubmissionsFailedError):
        await target.check_many([shell("true", **changes)])
    assert target.store.list_all_jobs() == []
    assert not (tmp_path / "job").exists()


async def test_an_input_that_cannot_be_read_leaves_nothing(target: TargetSystem, tmp_path: Path) -> None:
    """A file that vanishes: what was copied is deleted, and there is no record."""
    Path("small").write_text("x")
    Path("large").write_text("y")
    directory = tmp_path / "20260101-000000-0123456789abcdef"  # a name that no person chose
    job = shell("true", inputs=["small", "large"], working_directory=str(directory))
    measured = trees.measure

    def measure_and_remove(path: str) -> trees.TreeSize:
        size = measured(path)
        if path.endswith("large"):
            os.remove(path)
        return size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "measure", measure_and_remove)
        with pytest.raises(TargetError, match=r"large': No such file or directory") as caught:
            await target.submit(job, key="k")
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert target.store.list_all_jobs() == []
    assert not directory.exists()


@pytest.fixture
def far(tmp_path: Path, load: Callable[[str], Profile]) -> Callable[[], TargetSystem]:
    """Return a function that makes a target over a stand-in for ssh, on one record."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tar").write_text(TAR.format(root=tmp_path, tar=shutil.which("tar")))
    (tmp_path / "bin/tar").chmod(0o755)
    profile = load(SSH.format(root=tmp_path, path=os.environ["PATH"], sh="sh"))

    def make() -> TargetSystem:
        return TargetSystem(
            profile, {"SSH:HOST": "far"}, store=Store(str(tmp_path / "jobs.db")), timing=QUICK
        )

    return make


async def test_an_interrupted_copy_is_repeated(
    far: Callable[[], TargetSystem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_GROUP_SIZE", 1000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("small").write_text("small")
    Path("large").write_bytes(bytes(range(256)) * 4000)
    job = shell("cat small; wc -c < large; mkdir sub; echo > sub/x", inputs=["small", "large"])

    sent = trees.send_archive

    def cut_second(channel: Channel, mark: str, items: dict[str, str]) -> None:
        if "large" in items:
            Path("cut").touch()
        sent(channel, mark, items)

    monkeypatch.setattr(trees, "send_archive", cut_second)
    async with far() as target:
        with pytest.raises(OutcomeUnknownError, match=r"copying the inputs to .*: .*nothing was submitted"):
            await target.submit(job, key="k")
        (record,) = target.store.list_interrupted_submissions(target.name)
    monkeypatch.setattr(trees, "send_archive", sent)
    directory = Path(record.directory)
    assert (directory / "small").read_text() == "small"
    assert not (directory / "large").exists()  # no half of it
    Path("cut").unlink()
    Path("tars").unlink()
    Path("large").write_bytes(b"larger" * 50_000)  # what has changed meanwhile is copied as it is now
    async with far() as target:
        job_id = await target.submit(job, key="k")
        assert (await target.wait(job_id)).exit_code == 0
        assert await target.read_stdout(job_id) == b"small300000\n"
        assert await target.find_job_directory(job_id) == str(directory)
        assert len((tmp_path / "tars").read_text().splitlines()) == 1  # only the large one
        (directory / "large").write_text("changed by the job")
        assert await target.submit(job, key="k") == job_id
    assert (directory / "large").read_text() == "changed by the job"
    assert len(Path("tars").read_text().splitlines()) == 1
    assert not list((directory / ".gpe").glob("inputs.*"))


async def test_an_interrupted_fetch_leaves_no_half(
    far: Callable[[], TargetSystem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    cut = "head -c 300000; kill -s KILL"
    (tmp_path / "bin/tar").write_text(f'#!/bin/sh\n{shutil.which("tar")} "$@" | {{ {cut} "$PPID"; }}\n')
    Path("out").mkdir()
    Path("out/old").write_text("kept")
    async with far() as target:
        job_id = await target.submit(shell("echo a > a; head -c 1000000 /dev/zero > b"))
        await target.wait(job_id)
        with pytest.raises(OSProfileError, match="reading "):
            await target.fetch(job_id, ["a", "b"], "out")
    assert sorted(os.listdir("out")) == ["a", "old"]


SHELLS = [
    name for name in ("dash", "bash", "ksh", "mksh", "yash", "busybox sh") if shutil.which(name.split()[0])
]


@pytest.mark.parametrize("shell_command", SHELLS)
async def test_other_shells(tmp_path: Path, load: Callable[[str], Profile], shell_command: str) -> None:
    """No shell reads more of its input than the script: the archive comes when the script is ready."""
    profile = load(SSH.format(root=tmp_path, path=os.environ["PATH"], sh=shell_command))
    (tmp_path / "from").mkdir()
    for name in ("a b", "-n", "*", "q'"):
        (tmp_path / "from" / name).write_text(name)
    async with TargetSystem(profile, timing=QUICK) as target:
        await target.files.upload(str(tmp_path / "from"), str(tmp_path / "to/it"))
        await target.files.fetch(str(tmp_path / "to"), ["i?"], str(tmp_path / "back"))
    assert list_tree(tmp_path / "back/it") == list_tree(tmp_path / "from") == list_tree(tmp_path / "to/it")


# What a hostile target sends


def archive_of(*members: tuple[str, bytes, str] | tuple[str, bytes], noise: bytes = b"") -> bytes:
    """Return what a script prints: members by name, type, and content or the target of a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, *rest in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            content = (rest[0] if rest else "").encode()
            if kind == tarfile.REGTYPE:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content.decode()
                archive.addfile(member)
    return noise + f"\n{MARK}\n".encode() + data.getvalue() + MARK.encode().ljust(512)


def receive(output: bytes, destination: Path, *, is_single: bool = False) -> list[str]:
    """Return the names of the files that are written."""
    stdin = os.open(os.devnull, os.O_WRONLY)
    file = destination.parent / "output"
    file.write_bytes(output)
    channel = Channel(stdin, os.open(file, os.O_RDONLY))
    try:
        files = receive_archives(channel, MARK, str(destination), is_single=is_single)
    finally:
        channel.close()
    return [os.path.relpath(found.path, destination) for found in files]


REG, LINK, HARD, DIR = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "//evil", "a/.."])
def test_a_name_that_leads_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(TargetError, match="which leads out of"):
        receive(archive_of(("good", REG, "x"), (name, REG, "x")), tmp_path / "to")
    assert sorted(os.listdir(tmp_path)) == ["output", "to"]
    assert os.listdir(tmp_path / "to") == ["good"]


@pytest.mark.parametrize(
    "members",
    [
        [("l", LINK, "{outside}"), ("l/evil", REG, "x")],
        [("l", LINK, ".."), ("l/outside/evil", REG, "x")],
        [("d", DIR), ("d/l", LINK, "../.."), ("d/l/outside/evil", REG, "x")],
        [("l", LINK, "m/../../outside"), ("m", LINK, "."), ("l/evil", REG, "x")],
        [("d", DIR), ("d/s", LINK, ".."), ("t", LINK, "d/s/../outside")],
        [("t", LINK, "d/e/s/../../outside"), ("d/e", DIR), ("d/e/s", LINK, "../..")],
        [("d/a/s", LINK, "../b"), ("d/b", LINK, ".."), ("t", LINK, "d/a/s/../../outside")],
        [("t", LINK, "none/../../outside")],
        [("h", HARD, "{outside}/file"), ("h", REG, "x")],
        [("h", HARD, "../outside/file")],
        [("l", LINK, "{outside}/file"), ("l", REG, "x")],
    ],
)
def test_links_that_lead_out(
    tmp_path: Path, members: Iterable[Any], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("kept")
    sent = [
        (n, kind, *(text.format(outside=tmp_path / "outside") for text in rest)) for n, kind, *rest in members
    ]
    receive(archive_of(*sent), tmp_path / "to")
    assert list_tree(tmp_path / "outside")["file"][0] == b"kept"  # type: ignore[index]
    assert os.listdir(tmp_path / "outside") == ["file"]
    assert not any(
        p.is_symlink() and not p.resolve().is_relative_to(tmp_path / "to")
        for p in (tmp_path / "to").rglob("*")
    )
    assert "is not copied" in caplog.text


def test_links_that_stay_within(tmp_path: Path) -> None:
    targets = {
        "a": "d/../d/e/file",
        "d/b": "../d",
        "d/e/c": "../../a",
        "none": "d/none",
        "d/e/f": "../b/e/file",
    }
    links = [(name, LINK, target) for name, target in targets.items()]
    receive(archive_of(*links, ("d/e/file", REG, "x")), tmp_path / "to")
    assert {name: str((tmp_path / "to" / name).readlink()) for name in targets} == targets


def test_the_links_of_a_single_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is beside it is not of the archive."""
    members = [
        ("d/e", DIR),
        ("d/in", LINK, "e/../e"),
        ("d/out", LINK, "../other"),
        ("d/e/out", LINK, "../../d"),
    ]
    receive(archive_of(*members), tmp_path / "to", is_single=True)
    assert sorted(path.name for path in (tmp_path / "to").rglob("*")) == ["e", "in"]
    assert caplog.text.count(": it is a link to ") == 2


def test_a_link_of_this_machine_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("kept")
    (tmp_path / "to").mkdir()
    (tmp_path / "to/d").symlink_to("../outside")
    (tmp_path / "to/f").symlink_to("../outside/file")
    assert receive(archive_of(("f", REG, "new")), tmp_path / "to") == ["f"]
    assert not (tmp_path / "to/f").is_symlink()
    with pytest.raises(TargetError, match=r"to/d' is a link, or no directory: nothing is written through it"):
        receive(archive_of(("d/file", REG, "new")), tmp_path / "to")
    assert (tmp_path / "outside/file").read_text() == "kept"


def test_what_is_no_file_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kinds = (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE + b"")
    members = [(f"n{i}", kind) for i, kind in enumerate(kinds[:3])]
    assert receive(archive_of(*members, ("x", REG, "x"), noise=b"Welcome\nto far\n"), tmp_path / "to") == [
        "x"
    ]
    assert os.listdir(tmp_path / "to") == ["x"]
    assert caplog.text.count("is not copied") == 3


def test_what_is_no_archive(tmp_path: Path) -> None:
    whole = archive_of(("a", REG, "x" * 5000), ("b", REG, "y" * 5000))
    begin = f"\n{MARK}\n".encode()
    # some transports are silent about a cut, and end with 0: wherever it is, it is noticed
    for output in (begin + b"x" * 2000, *(whole[:size] for size in range(len(begin), len(whole) - 8, 256))):
        with pytest.raises(osprofile.OSProfileError, match="what has arrived is no"):
            receive(output, tmp_path / "to")
    assert set(os.listdir(tmp_path / "to")) <= {"a", "b"}
    with pytest.raises(osprofile.OSProfileError, match="nothing has arrived"):
        receive(b"no mark", tmp_path / "to")


def test_a_fingerprint_changes_with_the_content(tmp_path: Path) -> None:
    make_tree(tmp_path / "d")
    first = measure(str(tmp_path / "d"))
    assert measure(str(tmp_path / "d")) == first
    (tmp_path / "d/run").write_text("#!/bin/sh\nexit\n")
    second = measure(str(tmp_path / "d"))
    (tmp_path / "d/link").unlink()
    (tmp_path / "d/link").symlink_to("run")
    assert len({first.fingerprint, second.fingerprint, measure(str(tmp_path / "d")).fingerprint}) == 3
    assert (second.files, second.size) == (first.files, first.size + 5)
