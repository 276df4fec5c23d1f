"""What goes over the pipe: lines and words, cut in every way; errors as results; job ids."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import OSProfileError
from osprofile.executors.blah.messages import (
    JobId,
    LineSplitter,
    encode_field,
    encode_line,
    format_error,
    join_lines,
    split_line,
)
from osprofile.executors.errors import JobIdError
from tests.executors.blah.client import command, escaped, fields

# docs/protocols/blah.md, 1.1 and 1.2: CR, LF and NUL each end a line; any `\c` is c.
LINES: dict[str, tuple[bytes, list[bytes]]] = {
    "CR LF": (b"a b\r\nc\r\n", [b"a b", b"c"]),
    "LF": (b"a\nb\n", [b"a", b"b"]),
    "CR": (b"a\rb\r", [b"a", b"b"]),
    "NUL": (b"a\0b\0", [b"a", b"b"]),
    "empty lines are none": (b"\r\n\n\0\ra\n\r\n", [b"a"]),
    "a line of blanks is one": (b"   \r\n", [b"   "]),
    "no end yet": (b"a\nb", [b"a"]),
    "an escaped LF": (b"a\\\nb\n", [b"a\\\nb"]),
    "an escaped CR": (b"a\\\r\nb\n", [b"a\\\r", b"b"]),
    "escaped CR and LF": (b"a\\\r\\\nb\n", [b"a\\\r\\\nb"]),
    "an escaped backslash at the end": (b"a\\\\\nb\n", [b"a\\\\", b"b"]),
    "three": (b"a\\\\\\\nb\n", [b"a\\\\\\\nb"]),
    "an escaped LF in a row": (b"\\\n\n\\\n\\\n\n", [b"\\\n", b"\\\n\\\n"]),
    "NUL ends all the same": (b"a\\\0b\n", [b"a\\", b"b"]),
    "an escaped CR before NUL": (b"a\\\r\0b\n", [b"a\\\r", b"b"]),
    "bytes that are no text": (b"\xff\xfe\n", [b"\xff\xfe"]),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_cut_at_every_byte(name: str) -> None:
    data, expected = LINES[name]
    assert LineSplitter().feed_data(data) == expected
    one_by_one = LineSplitter()
    assert [found for at in range(len(data)) for found in one_by_one.feed_data(data[at : at + 1])] == expected
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            lines = LineSplitter()
            pieces = (data[:first], data[first:second], data[second:])
            assert [found for piece in pieces for found in lines.feed_data(piece)] == expected


def reference(data: bytes) -> list[bytes]:
    """Say it again, byte by byte."""
    found, line, at = list[bytes](), b"", 0
    while at < len(data):
        if data[at : at + 1] == b"\\" and at + 1 < len(data) and data[at + 1]:
            line += data[at : at + 2]
            at += 2
            continue
        if data[at] in b"\r\n\0":
            found += [line] if line else []
            line = b""
        else:
            line += data[at : at + 1]
        at += 1
    return found


@given(
    st.lists(st.sampled_from([b"a", b" ", b"\\", b"\r", b"\n", b"\0", b"\\\\", b"\\\n"])),
    st.lists(st.integers(0, 40)),
)
def test_any_data_in_any_pieces(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    lines = LineSplitter()
    edges = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    found: list[bytes | None] = []
    for start, end in pairwise(edges):
        found += lines.feed_data(data[start:end])
    expected = reference(data)
    # a backslash that is last may yet escape what comes
    assert found == expected


LONG: dict[str, tuple[bytes, list[bytes | None]]] = {
    "just not": (b"12345678\n", [b"12345678"]),
    "one too many": (b"123456789\nab\n", [None, b"ab"]),
    "much too many": (b"1234567890" * 9 + b"\r\nab\n", [None, b"ab"]),
    "with an escaped end in it": (b"123456\\\n89\nab\n", [None, b"ab"]),
    "that ends in a backslash": (b"123456789\\\n1\nab\n", [None, b"ab"]),
    "two": (b"123456789\n123456789\n", [None, None]),
}


@pytest.mark.parametrize("name", LONG)
def test_a_line_that_is_too_long_is_thrown_away(name: str) -> None:
    data, expected = LONG[name]
    for size in range(1, len(data) + 1):
        lines = LineSplitter(8)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert [found for piece in pieces for found in lines.feed_data(piece)] == expected


# docs/protocols/blah.md, 1.2: the client escapes blank, backslash, CR and LF; a tab it leaves.
WORDS = {
    "blanks separate": (b"a  b ", ["a", "b"]),
    "an escaped blank does not": (b"a\\ b c", ["a b", "c"]),
    "a tab is text": (b"a\tb", ["a\tb"]),
    "any escape": (b"\\a\\\\b\\\\\\ c\\\\ d\\\r\\\n", ["a\\b\\ c\\", "d\r\n"]),
    "an escaped blank alone": (b"a \\  b", ["a", " ", "b"]),
    "only blanks": (b"   ", []),
    "a last backslash": (b"a\\", ["a"]),
    "bytes that are no text": (b"\xff", ["\udcff"]),
    "text": ("é".encode(), ["é"]),
}


@pytest.mark.parametrize("name", WORDS)
def test_words(name: str) -> None:
    data, expected = WORDS[name]
    assert split_line(data) == expected


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
HARD = st.text(" \\\t\r\nab'\"$*", min_size=1)


@given(st.lists(HARD | TEXT, min_size=1))
def test_what_the_client_writes_is_read(arguments: list[str]) -> None:
    (found,) = LineSplitter().feed_data(command(*arguments))
    assert isinstance(found, bytes)
    assert split_line(found) == arguments


@given(st.lists(HARD | TEXT | st.text(), min_size=1))
def test_what_is_written_arrives_with_as_many_fields(arguments: list[str]) -> None:
    """A backslash arrives as one: it is doubled, because clients undo any escape."""
    data = encode_line(*arguments)
    assert data.endswith(b"\r\n")
    assert not set(b"\r\n\0") & set(data[:-2])
    found = fields(data[:-2])
    assert len(found) == len(arguments)
    table = str.maketrans({"\t": " ", "\n": "-", "\r": "", "\0": ""})
    for text, arrived in zip(arguments, found, strict=True):
        clean = text.translate(table) or "N/A"
        if clean.isprintable() or max(clean) < "\udc80":
            assert arrived == clean


FIELDS = [
    ("a b", b"a\\ b"),
    ("a\tb", b"a\\ b"),
    ("a\nb\r\n", b"a-b-"),
    ("a\\b", b"a\\\\b"),
    ("a\0b", b"ab"),
    ("", b"N/A"),
    ("\r\0", b"N/A"),
    ("\ud800", b"?"),
    ("\udcff", b"\xff"),
]


@pytest.mark.parametrize(("text", "expected"), FIELDS)
def test_fields_to_the_byte(text: str, expected: bytes) -> None:
    # docs/protocols/blah.md, 1.2: the server escapes blank and tab as `\ `, turns LF into `-`, drops CR.
    assert encode_field(text) == expected


def test_the_clients_own_escaping_is_what_the_page_shows() -> None:
    assert escaped('[ Cmd = "a\\nb" ]') == b'[\\ Cmd\\ =\\ "a\\\\nb"\\ ]'


ONE_LINE = {"a\n  b\t c\r\n\n": "a; b c", "": "", "\x1b[31mred\0": "\ufffd[31mred\ufffd"}


@pytest.mark.parametrize("text", ONE_LINE)
def test_one_line(text: str) -> None:
    assert join_lines(text) == ONE_LINE[text]


def test_an_error_as_a_result() -> None:
    error = OSProfileError("sbatch said:\n no", hint="try again")
    assert format_error(error) == "sbatch said:; no (try again)"


# docs/protocols/blah.md, 2 and 3.
IDS = {
    "pbs/20250101/1560225288": JobId("pbs", "20250101", "1560225288"),
    "pbs/20051012/2957.grid001.mi.infn.it": JobId("pbs", "20051012", "2957.grid001.mi.infn.it"),
    "slurm/20261121/1406@cluster-2": JobId("slurm", "20261121", "1406", "cluster-2"),
    "pbs/20250101/12[3].srv": JobId("pbs", "20250101", "12[3].srv"),
    "linux/20250101/123-456-0a1b2c3d": JobId("linux", "20250101", "123-456-0a1b2c3d"),
    "a.b_c-d/20250101/1_2": JobId("a.b_c-d", "20250101", "1_2"),
    "flux/20250101/f4jG2v": JobId("flux", "20250101", "f4jG2v"),
    "u/20250101/4d2a1c3e-0b1c-4c55-9a11-0123456789ab": JobId(
        "u", "20250101", "4d2a1c3e-0b1c-4c55-9a11-0123456789ab"
    ),
    "k/20250101/kube-job-x7f2p": JobId("k", "20250101", "kube-job-x7f2p"),
    "pbs/20250101/1234[].server": JobId("pbs", "20250101", "1234[].server"),
    "slurm/20250101/cluster;12": JobId("slurm", "20250101", "cluster;12"),
}


@pytest.mark.parametrize("text", IDS)
def test_ids(text: str) -> None:
    found = JobId.parse(text)
    assert found == IDS[text]
    assert str(found) == text


NO_IDS = [
    "", "1234", "pbs/1234", "pbs/20250101", "pbs/20250101/", "/20250101/1", "pbs/2025010/1",
    "pbs/202501011/1", "pbs/2025010x/1", "../../tmp/evil/20250101/1", "../x/20250101/1",
    "./20250101/1", ".x/20250101/1", "-x/20250101/1", "a b/20250101/1", "pbs/20250101/-1",
    "pbs/20250101/--help", "pbs/20250101/;id", "pbs/20250101/$(id)", "pbs/20250101/`id`",
    "pbs/20250101/1 2", "pbs/20250101/1/2", "pbs/20250101/../x", "pbs/20250101/1\n",
    "pbs/20250101/1\x00", "pbs/20250101/'1'", 'pbs/20250101/"1"', "pbs/20250101/1@",
    "pbs/20250101/1@a b", "pbs/20250101/1@a@b", "pbs/20250101/*", "pbs/20250101/é",
    "pbs/\u0662\u0660250101/1", f"pbs/20250101/{'1' * 2000}",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_IDS)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(JobIdError, match="Malformed job id") as caught:
        JobId.parse(text)
    assert "<lrms>/<YYYYMMDD>/<native id>" in caught.value.hint


def test_an_id_is_made() -> None:
    made = JobId.create("slurm", dt.date(2026, 1, 2), "7")
    assert str(made) == "slurm/20260102/7"
    assert str(JobId.create("slurm", dt.date(2026, 1, 2), "7", "c")) == "slurm/20260102/7@c"
    with pytest.raises(JobIdError):
        JobId.create("slurm", dt.date(2026, 1, 2), "7 8")
    with pytest.raises(JobIdError):
        JobId.create("../slurm", dt.date(2026, 1, 2), "7")


@given(st.text("pbs/20250101.@[]-_ \n'"))
def test_any_text_as_an_id(text: str) -> None:
    try:
        found = JobId.parse(text)
    except JobIdError:
        return
    assert str(found) == text
    assert JobId.parse(str(found)) == found
