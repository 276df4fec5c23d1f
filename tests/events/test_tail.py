"""Following logs: every split of what is written, and everything that is done to logs."""

from __future__ import annotations

import os
import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.events import tail
from osprofile.events.daily_log import DailyLog
from osprofile.events.tail import REPLAY_ALL, RotatedLog, StartPolicy

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.events.tail import Log


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for the next file at every read, not every two seconds."""
    monkeypatch.setattr(tail, "RECHECK_INTERVAL", 0.0)


def drain(log: Log) -> bytes:
    parts = []
    while data := log.read_lines():
        assert data.endswith(b"\n")
        parts.append(data)
    return b"".join(parts)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def log(path: Path) -> RotatedLog:
    """Return a log whose only line was read."""
    append(path, b"a\n")
    log = RotatedLog(str(path))
    assert drain(log) == b"a\n"
    return log


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 64))
@example([b"one\n\ntwo thr", b"ee\n\xff\x00\xe9\n" + b"x" * 70, b"\nend\n"], 64)
def test_whatever_is_written_comes_in_whole_lines_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], block: int
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "log"
    log, got = RotatedLog(str(path), block_size=block), b""
    for piece in pieces:
        append(path, piece)
        got += drain(log)
    whole = b"".join(pieces)
    assert got == whole[: whole.rfind(b"\n") + 1]
    log.close()


def test_a_log_that_appears_late(tmp_path: Path) -> None:
    path = tmp_path / "later" / "log"
    log = RotatedLog(str(path))
    assert log.read_lines() == b""
    path.parent.mkdir()
    assert log.read_lines() == b""
    append(path, b"a\n")
    assert (drain(log), log.starts_new_file) == (b"a\n", True)
    append(path, b"b\n")
    assert (log.read_lines(), log.starts_new_file) == (b"b\n", False)


@pytest.mark.parametrize("after", [b"c\n", b"c\n" * 20])
def test_truncation(path: Path, after: bytes) -> None:
    """Whether the log is shorter now or longer, what it holds is read from its start."""
    log = RotatedLog(str(path))
    append(path, b"aaaaaa\nbbbbbb\nhalf")
    assert drain(log) == b"aaaaaa\nbbbbbb\n"
    path.write_bytes(after)  # the same inode
    assert drain(log) == after


def test_copy_and_truncate_under_a_growing_log(path: Path) -> None:
    got, wrote = b"", b""
    log = RotatedLog(str(path))
    for round_ in range(5):
        for n in range(10):
            line = f"{round_} {n}\n".encode()
            append(path, line)
            wrote += line
        got += drain(log)
        os.truncate(path, 0)
    assert got == wrote


def test_a_replaced_file_is_read_to_its_end_first(path: Path, log: RotatedLog) -> None:
    old = path.open("ab")
    path.rename(path.with_name("elsewhere"))
    old.write(b"b\n")
    old.flush()
    assert drain(log) == b"b\n"  # the name is gone: whoever writes may not have noticed yet
    old.write(b"c\n")
    old.close()
    append(path, b"d\n")
    assert drain(log) == b"c\nd\n"


def test_a_deleted_file(path: Path, log: RotatedLog) -> None:
    path.unlink()
    assert log.read_lines() == b""
    append(path, b"b\n")
    assert drain(log) == b"b\n"


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("rotations", [1, 2, 5])
def test_rotation_by_name_leaves_nothing_out(path: Path, least: int, rotations: int) -> None:
    """However often the log is rotated between two looks (LSF begins with 1, Grid Engine with 0)."""
    log = RotatedLog(str(path), least)
    append(path, b"first\n")
    got, wrote = drain(log), b"first\n"
    for n in range(rotations):
        line = f"line {n}\n".encode()
        append(path, line)
        wrote += line
        rotate(path, least)
    append(path, b"last\n")
    assert got + drain(log) == wrote + b"last\n"


def rotate(path: Path, least: int) -> None:
    numbers = [int(p.name.rpartition(".")[2]) for p in path.parent.glob("log.*")]
    for number in sorted(numbers, reverse=True):
        path.with_name(f"log.{number}").rename(path.with_name(f"log.{number + 1}"))
    path.rename(path.with_name(f"log.{least}"))


def test_rotation_while_a_chain_is_replayed(path: Path) -> None:
    for name in ("log.3", "log.2", "log.1", "log"):
        path.with_name(name).write_bytes(f"{name}\n".encode() * 3)
    log = RotatedLog(str(path), 1, REPLAY_ALL, block_size=8)
    got = log.read_lines()
    rotate(path, 1)
    path.write_bytes(b"newest\n")
    got += drain(log)
    assert got == b"log.3\n" * 3 + b"log.2\n" * 3 + b"log.1\n" * 3 + b"log\n" * 3 + b"newest\n"


def test_random_rotations_under_a_growing_log(path: Path) -> None:
    chance = random.Random(5)
    wrote, got = b"", b""
    path.touch()
    log = RotatedLog(str(path), 1, block_size=16)
    log.read_lines()
    for n in range(400):
        line = f"{n}\n".encode()
        append(path, line)
        wrote += line
        if chance.random() < 0.1:
            rotate(path, 1)
            path.touch()
        if chance.random() < 0.2:
            got += log.read_lines()
    assert got + drain(log) == wrote


def test_where_a_chain_begins(tmp_path: Path) -> None:
    for name in ("log.2", "log.1", "log"):
        (tmp_path / name).write_bytes(f"{name}\n".encode())
    wanted = {b"log.1\n": True, b"log.2\n": False}
    for starts, expected in (
        (StartPolicy(), b"log\n"),
        (REPLAY_ALL, b"log.2\nlog.1\nlog\n"),
        (StartPolicy(needs_older_file=lambda _this, older: wanted[older]), b"log.1\nlog\n"),
    ):
        log = RotatedLog(str(tmp_path / "log"), 1, starts)
        assert log.count_unread_bytes() == len(expected)
        assert drain(log) == expected
        assert log.count_unread_bytes() == 0
        log.close()


@pytest.mark.parametrize(("offset", "expected"), [(4, b"b\n"), (2, b"a\nb\n"), (99, b"#x\na\nb\n")])
def test_a_newest_file_may_begin_later(path: Path, offset: int, expected: bytes) -> None:
    path.write_bytes(b"#x\na\nb\n")
    log = RotatedLog(str(path), 1, StartPolicy(find_offset=lambda _head: offset + 1))
    assert drain(log) == expected


def test_lines_of_any_length(path: Path) -> None:
    long = b"y" * (3 * 1024 * 1024) + b"\n"
    path.write_bytes(b"a\n" + long + b"b\n")
    assert drain(RotatedLog(str(path))) == b"a\n" + long + b"b\n"


def test_a_line_without_end_takes_no_memory(path: Path) -> None:
    """Its beginning is returned as a line, and the lines after it are read."""
    with path.open("wb") as file:
        file.write(b"a\n")
        for _ in range(64):
            file.write(b"z" * (1024 * 1024))
    log = RotatedLog(str(path))
    tracemalloc.start()
    got = drain(log)
    append(path, b"zzz\nb\n")
    got += drain(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert got == b"a\n" + b"z" * (1024 * 1024) + b"\n" + b"b\n"
    assert peak < 16 * 1024 * 1024


def test_half_a_line_is_waited_for_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no longer when the next file is there: Globus's program waits for ever (docs/protocols/seg.md, 5.1)."""
    (tmp_path / "20200203").write_bytes(b"a\nhalf")
    (tmp_path / "20200204").write_bytes(b"b\n")
    assert drain(DailyLog(str(tmp_path), "20200203")) == b"a\nb\n"
    monkeypatch.setattr(tail, "RECHECK_INTERVAL", 3600.0)
    log = DailyLog(str(tmp_path), "20200203")
    assert drain(log) == b"a\n"
    append(tmp_path / "20200203", b" a line\n")
    assert drain(log) == b"half a line\nb\n"


def test_days(tmp_path: Path) -> None:
    directory = tmp_path / "logs"
    log = DailyLog(str(directory), "20200203")
    assert (log.read_lines(), log.count_unread_bytes()) == (b"", 0)
    assert log.problem == f"{directory} is not there yet; waiting for it"
    append(directory, b"a\n")
    assert (log.read_lines(), log.problem) == (b"", f"{directory} cannot be read: Not a directory")
    directory.unlink()
    directory.mkdir()
    for name in ("20200202", "2020020", "accounting", "20200203x"):
        (directory / name).write_bytes(b"not this\n")
    assert log.read_lines() == b""
    append(directory / "20200205", b"a\n")
    assert log.count_unread_bytes() == 2
    assert (drain(log), log.problem) == (b"a\n", "")
    append(directory / "20200205", b"b\n")
    append(directory / "20200206", b"c\n")
    append(directory / "20210101", b"d\n")
    assert drain(log) == b"b\nc\nd\n"
    append(directory / "20210101", b"e\n")
    assert (drain(log), log.count_unread_bytes()) == (b"e\n", 0)


def test_a_day_that_is_rotated_by_size(tmp_path: Path) -> None:
    path = tmp_path / "20200203"
    path.write_bytes(b"a\n")
    log = DailyLog(str(tmp_path), "20200203")
    assert drain(log) == b"a\n"
    append(path, b"b\n")
    path.rename(tmp_path / "20200203.1")
    append(path, b"c\n")
    append(tmp_path / "20200204", b"d\n")
    assert drain(log) == b"b\nc\nd\n"


@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "loop"])
@pytest.mark.parametrize("is_rotated", [False, True])
def test_a_log_that_is_not_a_regular_file(path: Path, kind: str, is_rotated: bool) -> None:
    """It counts as absent, whether current or rotated; the log has the reason."""
    make_irregular(path.with_name("log.1") if is_rotated else path, kind)
    log = RotatedLog(str(path), 1, REPLAY_ALL)
    if not is_rotated:
        assert (log.read_lines(), log.count_unread_bytes()) == (b"", 0)
        assert log.problem == f"{path} cannot be read: {REASONS[kind]}"
        (path.rmdir if kind == "directory" else path.unlink)()
    append(path, b"a\n")
    assert (drain(log), log.problem) == (b"a\n", "")


@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "loop"])
def test_a_file_that_replaces_a_log(path: Path, log: RotatedLog, kind: str) -> None:
    """The former file is read on; the new one is read when it is a regular file."""
    former = path.rename(path.with_name("log.1"))
    make_irregular(path, kind)
    append(former, b"b\n")
    assert drain(log) == b"b\n"
    (path.rmdir if kind == "directory" else path.unlink)()
    append(path, b"c\n")
    assert (drain(log), log.problem) == (b"c\n", "")


REASONS = {
    "fifo": "Not a regular file",
    "device": "Not a regular file",
    "directory": "Is a directory",
    "loop": "Too many levels of symbolic links",
}


def make_irregular(path: Path, kind: str) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.symlink_to(path.name)


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
def test_a_day_that_is_not_a_regular_file(tmp_path: Path, kind: str) -> None:
    append(tmp_path / "20200203", b"a\n")
    make_irregular(tmp_path / "20200204", kind)
    log = DailyLog(str(tmp_path), "20200203")
    assert drain(log) == b"a\n"
    append(tmp_path / "20200203", b"b\n")
    append(tmp_path / "20200205", b"c\n")
    assert (drain(log), log.problem) == (b"b\nc\n", "")


def test_an_older_file_that_cannot_be_read_is_reported(path: Path) -> None:
    older = path.with_name("log.1")
    append(path, b"c\n")
    append(older, b"b\n")
    log = RotatedLog(str(path), 1, REPLAY_ALL)
    older.chmod(0)
    if os.access(older, os.R_OK):
        pytest.skip("root may read everything")
    assert drain(log) == b"c\n"
    assert log.problem == f"{path}.1 cannot be read: Permission denied"


@pytest.mark.parametrize("early", ["nothing", "directory", "file"])
@pytest.mark.parametrize("name", ["directory", "file"])
def test_a_path_of_a_file_or_of_its_directory(tmp_path: Path, early: str, name: str) -> None:
    """Which of them the path is can be told when one of them is there."""
    directory = tmp_path / "logs"
    file = directory / "log"
    if early != "nothing":
        directory.mkdir()
    if early == "file":
        append(file, b"a\n")
    log = RotatedLog(str(directory if name == "directory" else file), file_in_directory="log")
    assert drain(log) == (b"a\n" if early == "file" else b"")
    directory.mkdir(exist_ok=True)
    append(file, b"b\n")
    assert drain(log) == b"b\n"
