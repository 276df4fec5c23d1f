"""Files by the API's operations, on this machine: content, parts, links, and paths that are refused."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.errors import OSProfileError
from osprofile.executors.facility import filesystem
from osprofile.executors.facility.filesystem import check_request, run_operation, upload
from osprofile.executors.facility.problems import ProblemError
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.profile.model import Profile

MOVING = ("cp", "mv", "compress", "extract")
LINES = b"".join(b"line %d\n" % number for number in range(1, 6))


def do(profile: Profile, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Return the outputs of operations, or their errors."""

    async def run() -> list[Any]:
        results: list[Any] = []
        async with TargetSystem(profile) as target:
            for command, args in calls:
                try:
                    if command == "upload":
                        results.append(await upload(target, args["path"], args["content"]))
                    else:
                        check_request(command, args)
                        results.append(await run_operation(target, command, args))
                except OSProfileError as error:
                    results.append(error)
        return results

    return asyncio.run(run())


def test_files_there_and_back(linux: Profile, tmp_path: Path) -> None:
    file, content = tmp_path / "new" / "it's $(id) \xe9", bytes(range(256)) * 100
    path = str(file)
    commands = ("download", "stat", "file", "rm", "stat", "rm")
    uploaded, downloaded, stat, kind, removed, missing, again = do(
        linux,
        [
            ("upload", {"path": path, "content": content}),
            *((command, {"path": path}) for command in commands),
        ],
    )
    assert uploaded == "File uploaded successfully"
    assert base64.b64decode(downloaded) == content
    assert (stat["mode"], stat["size"]) == (0o100600, len(content))
    assert kind == "file"
    assert "deleted" in removed
    assert "No such file" in str(missing)
    assert "No such file" in str(again)
    assert not file.exists()


def test_parts_of_a_file(linux: Profile, tmp_path: Path) -> None:
    file, link = tmp_path / "lines", tmp_path / "link"
    text = LINES.replace(b"line 3", b"lin\r 3").decode()
    file.write_bytes(text.encode())
    link.symlink_to(file)
    for path in (str(file), str(link)):
        calls: list[tuple[str, dict[str, Any], str, tuple[int, int]]] = [
            ("view", {}, text, (0, 35)),
            ("view", {"size": 4, "offset": 7}, "line", (7, 11)),
            ("view", {"size": 4, "offset": 99}, "", (99, 99)),
            ("head", {"lines": 2}, "line 1\nline 2\n", (0, 2)),
            ("head", {"lines": 0}, "", (0, 0)),
            ("head", {"lines": 4, "skipTrailing": True}, "line 1\n", (0, 1)),
            ("head", {"bytes": 4}, "line", (0, 4)),
            ("head", {"bytes": 31, "skipTrailing": True}, "line", (0, 4)),
            ("tail", {"lines": 1}, "line 5\n", (0, 1)),
            ("tail", {"lines": 99}, text, (0, 5)),
            ("tail", {"lines": 4, "skipHeading": True}, "line 5\n", (4, 5)),
            ("tail", {"bytes": 2}, "5\n", (33, 35)),
            ("tail", {"bytes": 99}, text, (0, 35)),
            ("tail", {"bytes": 33, "skipHeading": True}, "5\n", (33, 35)),
        ]
        found = do(linux, [(command, {"path": path, **args}) for command, args, *_ in calls])
        for (command, args, content, positions), output in zip(calls, found, strict=True):
            assert output["content"] == content, (command, args)
            assert (output["start_position"], output["end_position"]) == positions, (command, args)


def test_a_directory(linux: Profile, tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / ".hidden").touch()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "d" / "f").chmod(0o640)
    os.symlink("f", tmp_path / "d" / "link")
    (tmp_path / "d" / os.fsdecode(b"\xff")).touch()
    path = str(tmp_path / "d")
    plain, everything, one, missing = do(
        linux,
        [
            ("ls", {"path": path}),
            ("ls", {"path": path, "showHidden": True}),
            ("ls", {"path": f"{path}/f"}),
            ("ls", {"path": f"{path}/none"}),
        ],
    )
    assert {entry["name"]: entry["type"] for entry in plain} == {
        "\\xff": "file",
        "f": "file",
        "link": "link",
        "sub": "directory",
    }
    assert len(everything) == 5
    (entry,) = one
    assert (entry["name"], entry["permissions"], entry["size"]) == ("f", "rw-r-----", "1")
    assert entry["last_modified"].endswith("+00:00")
    assert "No such file" in str(missing)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:  # where a file may be of any time
        for name, moment in (("late", 1 << 40), ("early", -(1 << 40))):
            (Path(memory) / name).touch()
            os.utime(Path(memory) / name, (moment, moment))
        (entries,) = do(linux, [("ls", {"path": memory})])
    assert sorted(entry["last_modified"][:4] for entry in entries) == ["0001", "9999"]


def test_what_is_not_read(linux: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "MAX_SIZE", 10)
    (tmp_path / "large").write_text("x" * 11)
    os.mkfifo(tmp_path / "pipe")
    large, pipe, folder = (str(tmp_path / name) for name in ("large", "pipe", ""))
    for error, words in zip(
        do(
            linux,
            [
                ("download", {"path": large}),
                ("tail", {"path": large, "lines": 1}),
                ("head", {"path": large, "lines": 1, "skipTrailing": True}),
                ("view", {"path": pipe}),
                ("view", {"path": folder}),
                ("upload", {"path": folder, "content": b"x"}),
                ("rm", {"path": os.environ["HOME"]}),
            ],
        ),
        ("more than 10 bytes",) * 3 + ("not a regular file",) * 2 + ("is a directory", "must not be removed"),
        strict=True,
    ):
        assert isinstance(error, OSProfileError)
        assert words in str(error)
    assert (tmp_path / "home").exists()


def test_changes(linux: Profile, tmp_path: Path) -> None:
    odd = tmp_path / "it's $(id) -x: \xe9"
    odd.mkdir()
    (odd / "f").write_text("x\n")
    (odd / "l").symlink_to("f")
    path, there = str(odd), str(tmp_path / "there")
    archive = f"{there}/a:b.tgz"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("checksum", {"path": f"{path}/f"}),
        ("chmod", {"path": f"{path}/f", "mode": "0604"}),
        ("chown", {"path": f"{path}/f", "owner": str(os.getuid()), "group": str(os.getgid())}),
        ("mkdir", {"path": f"{there}/sub", "parent": True}),
        ("mkdir", {"path": f"{there}/sub"}),
        ("cp", {"path": path, "target_path": f"{there}/copy"}),
        ("cp", {"path": f"{path}/l", "target_path": f"{there}/file", "dereference": True}),
        ("symlink", {"path": f"{path}/f", "link_path": f"{there}/-link"}),
        ("compress", {"path": path, "target_path": archive}),
        ("extract", {"path": archive, "target_path": f"{there}/out"}),
        ("mv", {"path": archive, "target_path": f"{there}/sub/moved"}),
        ("compress", {"path": f"{path}/none", "target_path": archive}),
        ("extract", {"path": f"{path}/f", "target_path": f"{there}/out"}),
    ]
    found = do(linux, calls)
    digest = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac"
    assert found[0] == {"algorithm": "SHA-256", "checksum": digest}
    assert (found[1]["permissions"], found[2]["name"]) == ("rw----r--", "f")
    names = ["sub", None, "copy", "file", "-link", "a:b.tgz", "out", "moved", None, None]
    assert [None if isinstance(entry, OSProfileError) else entry["name"] for entry in found[3:]] == names
    assert [entry["type"] for entry in (found[3], found[6], found[7])] == ["directory", "file", "link"]
    assert os.readlink(f"{there}/copy/l") == "f"
    assert (tmp_path / "there" / "out" / odd.name / "f").read_text() == "x\n"
    assert {entry.name for entry in (tmp_path / "there").iterdir()} == {"sub", "copy", "file", "-link", "out"}


@pytest.mark.parametrize(
    ("command", "args", "status", "name"),
    [
        ("ls", {"path": "x"}, 400, "path"),
        ("ls", {"path": ""}, 400, "path"),
        ("ls", {"path": "~/x"}, 400, "path"),
        ("ls", {"path": "/a/../b"}, 400, "path"),
        ("ls", {"path": "/.."}, 400, "path"),
        ("ls", {"path": "/a\0"}, 400, "path"),
        ("ls", {"path": "/a\n"}, 400, "path"),
        ("ls", {"path": "/\udc00"}, 400, "path"),
        ("ls", {"path": "/" + "x" * 5000}, 400, "path"),
        ("ls", {"path": "/", "recursive": True}, 501, None),
        ("ls", {"path": "/", "dereference": True}, 501, None),
        ("stat", {"path": "/", "dereference": True}, 501, None),
        ("compress", {"path": "/a", "target_path": "/b", "match_pattern": "x"}, 501, None),
        *(
            (c, {"path": "/a", "target_path": "b"}, 400, "target_path")
            for c in ("cp", "mv", "compress", "extract")
        ),
        ("symlink", {"path": "/a", "link_path": "/../b"}, 400, "link_path"),
        ("chown", {"path": "/a"}, 400, "owner"),
        ("head", {"path": "/"}, 400, "lines"),
        ("head", {"path": "/", "lines": 1, "bytes": 1}, 400, "lines"),
    ],
)
def test_requests_that_are_refused_at_once(
    command: str, args: dict[str, Any], status: int, name: str | None
) -> None:
    with pytest.raises(ProblemError) as error:
        check_request(command, args)
    assert error.value.status == status
    assert [param.name for param in error.value.invalid_params] == ([] if name is None else [name])


def test_a_profile_that_limits_list_limits_all_operations(linux: Profile, tmp_path: Path) -> None:
    """A site's PATH of LIST holds for what is read and written by the transfer of files, too."""
    folder = tmp_path / "profiles" / "narrow"
    folder.mkdir()
    source = linux.documents[-1].element.source.data.decode()
    text = source[
        source.index('<idb:Template name="LIST">') : source.index('<idb:Template name="LIST_NODES">')
    ]
    text = text.replace('<idb:Field name="PATH">', f'<idb:Field name="PATH" ext:pattern="{tmp_path}/in/.*">')
    text = re.sub(r' ext:src="list.sh [^"]*"/>', ">echo f 0644 1 1 file</idb:StaticScript>", text)
    (folder / "profile.xml").write_text(
        '<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"'
        f' xmlns:ext="urn:osprofile:extension" name="narrow" extends="here">\n<osp:UspaceRoot>{tmp_path}</osp:UspaceRoot>\n'
        f"<osp:Delimiter>/</osp:Delimiter>\n{text}</osp:Profile>\n"
    )
    narrow = Repository([str(tmp_path / "profiles")]).load("narrow")
    outside, inside = str(tmp_path / "outside"), str(tmp_path / "in" / "file")
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").touch()
    found = do(
        narrow,
        [
            ("upload", {"path": f"{outside}.new", "content": b"x"}),
            *(
                (command, {"path": outside})
                for command in ("view", "download", "ls", "stat", "file", "rm", "checksum")
            ),
            ("mkdir", {"path": f"{outside}.new"}),
            ("chmod", {"path": outside, "mode": "777"}),
            ("chown", {"path": outside, "group": "0"}),
            ("symlink", {"path": inside, "link_path": f"{outside}.new"}),
            *((command, {"path": outside, "target_path": f"{inside}.new"}) for command in MOVING),
            *((command, {"path": inside, "target_path": f"{outside}.new"}) for command in MOVING),
            ("head", {"path": outside, "lines": 1}),
            ("tail", {"path": outside, "lines": 1}),
            ("tail", {"path": outside, "bytes": 1}),
        ],
    )
    for error in found:
        assert isinstance(error, OSProfileError)
        assert "field PATH" in str(error)
    assert (tmp_path / "outside").exists()
    assert not (tmp_path / "outside.new").exists()
