"""Bytes to requests, replies and notifies to bytes: each case by docs/protocols/ninfg.md, 2."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import JobNotFoundError
from osprofile.executors.ninfg import protocol
from osprofile.executors.ninfg.protocol import (
    MAX_ATTRIBUTES_SIZE,
    MAX_LINE_SIZE,
    MAX_TEXT_SIZE,
    BadRequest,
    Conversation,
    Exit,
    JobCreate,
    JobDestroy,
    JobStatus,
    QueryFeatures,
    Request,
    RequestReader,
    Status,
)

# What the client sends, and what it means; each is read from every split of its bytes.
CASES: list[tuple[bytes, list[Request]]] = [
    (b"QUERY_FEATURES\r\n", [QueryFeatures()]),
    (b"JOB_STATUS 12321\r\n", [JobStatus("12321")]),
    (b"JOB_DESTROY a.B/c\r\n", [JobDestroy("a.B/c")]),
    (b"EXIT\r\nEXIT\n", [Exit(), Exit()]),
    (b"JOB_CREATE 1\r\nJOB_CREATE_END\r\n", [JobCreate("1", ())]),
    (b"JOB_CREATE 1\r\nJOB_CREATE_DONE\r\n", [JobCreate("1", ())]),
    (
        b"JOB_CREATE 42\nargument  two  blanks \nargument\nargument \r\nk\tv w\nJOB_CREATE_END\n",
        [JobCreate("42", (("argument", " two  blanks "), ("argument", ""), ("argument", ""), ("k\tv", "w")))],
    ),
    (
        "JOB_CREATE 2\r\nargument \u00e9\rx\r\nEXIT\r\nJOB_CREATE_END \r\nEXIT\r\n".encode(),
        [JobCreate("2", (("argument", "\u00e9\rx"), ("EXIT", ""))), Exit()],
    ),
    (b"JOB_CREATE 3\r\na \xff\r\nJOB_CREATE_END\r\n", [JobCreate("3", (("a", "\udcff"),))]),
]
BAD = [
    (b"JOB_CREATE\r\na b\r\nJOB_CREATE_END\r\n", "JOB_CREATE needs a request id, a decimal number, not ''"),
    (b"JOB_CREATE 1 2\r\nJOB_CREATE_END\r\n", "JOB_CREATE needs a request id, a decimal number, not '1 2'"),
    (b"JOB_CREATE -1\r\nJOB_CREATE_END\r\n", "JOB_CREATE needs a request id, a decimal number, not '-1'"),
    ("JOB_CREATE \u0661\r\nJOB_CREATE_END\r\n".encode(), "JOB_CREATE needs a request id, a decimal number, not '\u0661'"),
    (b"JOB_STATUS \r\n", "JOB_STATUS needs a job id"),
    (b"JOB_DESTROY\n", "JOB_DESTROY needs a job id"),
    *[
        (line + b"\r\n", f"unknown request {shown}: it must be QUERY_FEATURES, JOB_CREATE, JOB_STATUS, JOB_DESTROY or EXIT")
        for line, shown in (
            (b"\xff\0", "'\\xff\\x00'"), (b"EXIT 1", "'EXIT 1'"), (b"EXIT now", "'EXIT now'"), (b"exit", "'exit'"),
            (b"HELLO", "'HELLO'"), (b"", "''"), (b" ", "' '"), (b"JOB_STATUSX 1", "'JOB_STATUSX 1'"),
            (b"QUERY_FEATURES 2", "'QUERY_FEATURES 2'"), (b"JOB_CREATE_END", "'JOB_CREATE_END'"),
        )
    ],
    (b"x" * (MAX_LINE_SIZE + 1) + b"\r\n", f"a line is longer than {MAX_LINE_SIZE} bytes"),
    (b"JOB_CREATE 1\r\na " + b"x" * MAX_LINE_SIZE + b"\r\nJOB_CREATE_END\r\n", f"a line is longer than {MAX_LINE_SIZE} bytes"),
    (
        b"JOB_CREATE 1\r\n" + b"a %s\r\n" % (b"x" * (MAX_LINE_SIZE - 10)) * (MAX_ATTRIBUTES_SIZE // MAX_LINE_SIZE + 2)
        + b"JOB_CREATE_END\r\n",
        f"the attributes of a job are longer than {MAX_ATTRIBUTES_SIZE} bytes",
    ),
]  # fmt: skip


def read(*pieces: bytes) -> list[Request]:
    reader = RequestReader()
    return [request for piece in pieces for request in reader.receive_data(piece)]


@pytest.mark.parametrize(("data", "requests"), CASES)
def test_every_split(data: bytes, requests: list[Request]) -> None:
    assert read(data) == requests
    assert read(*(data[i : i + 1] for i in range(len(data)))) == requests
    for at in range(len(data) + 1):
        assert read(data[:at], data[at:]) == requests


@pytest.mark.parametrize(("data", "error"), BAD)
def test_bad_requests(data: bytes, error: str) -> None:
    """One reply for one request, and the next one is understood."""
    assert read(data, b"EXIT\r\n") == [BadRequest(error), Exit()]
    half = len(data) // 2
    assert read(data[:half], data[half:] + b"EXIT\r\n") == [BadRequest(error), Exit()]


def test_the_longest_line() -> None:
    value = "x" * (MAX_LINE_SIZE - 3)
    data = f"JOB_CREATE 1\r\na {value}\r\nJOB_CREATE_END\r\n".encode()
    for pieces in ((data,), (data[:100000], data[100000:200000], data[200000:])):
        assert read(*pieces) == [JobCreate("1", (("a", value),))]


def test_what_is_too_long_is_not_kept() -> None:
    reader = RequestReader()
    for _ in range(100):
        assert list(reader.receive_data(b"x" * 65536)) == []
        assert len(reader._partial_line) <= MAX_LINE_SIZE + 65536
    assert list(reader.receive_data(b"\n")) == [BadRequest(f"a line is longer than {MAX_LINE_SIZE} bytes")]


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_the_split_never_matters(pieces: list[bytes]) -> None:
    assert read(*pieces) == read(b"".join(pieces))


WORDS = [
    b"JOB_CREATE 1", b"JOB_CREATE", b"JOB_CREATE_END", b"EXIT", b"QUERY_FEATURES", b"JOB_STATUS 1",
    b"a b", b"", b"\0", b"\xff",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_one_reply_for_each_request(lines: list[bytes]) -> None:
    """Lines outside of a JOB_CREATE are one request each, a block of attributes is one."""
    wanted, inside = 0, False
    for line in lines:
        if inside:
            inside = line != b"JOB_CREATE_END"
            wanted += not inside
        elif line.startswith(b"JOB_CREATE") and line != b"JOB_CREATE_END":
            inside = True
        else:
            wanted += 1
    assert len(read(b"".join(line + b"\r\n" for line in lines))) == wanted


def test_replies() -> None:
    assert protocol.format_success() == b"S\r\n"
    assert protocol.format_failure("no\r\nS") == b"F no S\r\n"
    assert protocol.format_status(Status.ACTIVE) == b"S ACTIVE\r\n"
    features = protocol.format_features().decode().split("\r\n")
    assert features[:3] == ["SM", "protocol_version 2.0", "feature STAGING_AUTH_NUMBER"]
    assert features[-2:] == ["REPLY_END", ""]
    assert all(re.fullmatch(r"(feature|request) [A-Z_]+", line) for line in features[2:-2])
    words = ("JOB_CREATE", "JOB_STATUS", "JOB_DESTROY", "EXIT")
    assert {f"request {word}" for word in words} <= {*features}


@given(st.text())
def test_texts_stay_on_one_line(text: str) -> None:
    data = protocol.format_failure(text)
    assert data.startswith(b"F ")
    assert data.endswith(b"\r\n")
    assert not any(byte < 32 for byte in data[:-2])
    assert len(data) <= MAX_TEXT_SIZE + 4
    data.decode()


def test_long_texts_are_cut() -> None:
    assert protocol.format_failure("\u00e9" * 1000) == b"F " + "\u00e9".encode() * 398 + b"...\r\n"


ORDER = {None: 0, Status.PENDING: 1, Status.ACTIVE: 2, Status.DONE: 3, Status.FAILED: 3}


def test_states_go_forward() -> None:
    """docs/protocols/ninfg.md, 4.2 and 4.3: every sequence of four states; what is told rises, and ends at the first end."""
    for steps in itertools.product(Status, repeat=4):
        conversation = Conversation()
        assert conversation.notify_created("1", "7.1") == b"CREATE_NOTIFY 1 S 7.1\r\n"
        told: list[Status] = []
        for step in steps:
            data = conversation.notify_status("7.1", step, "why")
            if data:
                assert data == f"STATUS_NOTIFY 7.1 {step} why\r\n".encode()
                told.append(step)
        ranks = [ORDER[step] for step in told]
        assert ranks == sorted(set(ranks)), steps
        ends = [step for step in steps if ORDER[step] == 3]
        assert [step for step in told if ORDER[step] == 3] == ends[:1]
        assert conversation.get_status("7.1") is told[-1]


def test_nothing_after_exit() -> None:
    """docs/protocols/ninfg.md, 4.4; what became of the job is known all the same."""
    conversation = Conversation()
    conversation.notify_created("1", "a")
    conversation.end_notifications()
    assert conversation.is_over
    assert conversation.notify_status("a", Status.DONE) == b""
    assert conversation.get_status("a") is Status.DONE
    assert conversation.notify_created("2", "b") == b""


def test_a_job_that_was_not_created() -> None:
    conversation = Conversation()
    assert "a" not in conversation
    with pytest.raises(JobNotFoundError, match="there is no job 'a'"):
        conversation.notify_status("a", Status.DONE)
    with pytest.raises(JobNotFoundError):
        conversation.get_status("a")
    conversation.notify_created("1", "a")
    assert conversation.get_status("a") is Status.PENDING
