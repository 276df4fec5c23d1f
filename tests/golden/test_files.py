"""Reading untrusted files, and replacing files in one step."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import CasesError
from osprofile.golden import files

if TYPE_CHECKING:
    from pathlib import Path


def test_the_folder(tmp_path: Path) -> None:
    golden = tmp_path / "golden"
    assert files.locate_folder(".") == "golden"
    assert files.locate_folder(str(tmp_path)) == str(golden)
    golden.mkdir()
    assert files.locate_folder(str(tmp_path)) == str(golden)
    golden.rmdir()
    (tmp_path / "elsewhere").mkdir()
    golden.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CasesError, match="golden is a symbolic link"):
        files.locate_folder(str(tmp_path))
    golden.unlink()
    golden.write_text("")
    with pytest.raises(CasesError, match="golden is not a folder"):
        files.locate_folder(str(tmp_path))


def test_what_is_read_and_what_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"12345")
    monkeypatch.setattr(files, "MAX_FILE_SIZE", 4)
    (tmp_path / "not_too_large").write_bytes(b"a\r\n\xff")
    assert files.read_file(str(tmp_path / "not_too_large")) == b"a\r\n\xff"
    assert files.read_file(str(tmp_path / "none")) is None
    for name, message in {
        "link": "is a symbolic link",
        "dangling": "is a symbolic link",
        "folder": "is not a regular file",
        "pipe": "is not a regular file",
        "large": "is larger than 0 MiB",
        "large/inside": "cannot be read: Not a directory",
    }.items():
        with pytest.raises(CasesError, match=f"{tmp_path}/{name} {message}"):
            files.read_file(str(tmp_path / name))


def test_golden_files(tmp_path: Path) -> None:
    assert files.list_golden_files(str(tmp_path / "none")) == []
    for name in ("b.txt", "a.x.txt", ".a.txt.1.new", "cases.toml", "README.md", "c.txt~"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "link.txt").symlink_to("b.txt")
    assert files.list_golden_files(str(tmp_path)) == ["a.x", "b"]
    with pytest.raises(CasesError, match="cannot be read: Not a directory"):
        files.list_golden_files(str(tmp_path / "b.txt"))


def test_write(tmp_path: Path) -> None:
    file = tmp_path / "golden" / "a.txt"
    old = os.umask(0o027)
    try:
        files.write_file(str(file), b"1")
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o604)
    files.write_file(str(file), b"2\r\n")
    assert file.read_bytes() == b"2\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o604
    file.rename(tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")  # the link is replaced, and what it names stays
    files.write_file(str(file), b"3")
    assert not file.is_symlink()
    assert (file.read_bytes(), (tmp_path / "outside").read_bytes()) == (b"3", b"2\r\n")
    assert os.listdir(file.parent) == ["a.txt"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()  # what no file can be renamed to
    (tmp_path / "a.txt" / "b").write_text("")
    with pytest.raises(OSError, match=r"a\.txt"):
        files.write_file(str(tmp_path / "a.txt"), b"new")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file = str(tmp_path / "a.txt")
    contents = [bytes([65 + n]) * 300_000 for n in range(2)]
    files.write_file(file, contents[0])
    seen, stop = set[bytes | None](), threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(files.read_file(file))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(200):
            files.write_file(file, contents[number % 2])
    finally:
        stop.set()
        reader.join()
    assert seen <= {*contents}
