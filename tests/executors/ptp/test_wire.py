"""Frames: byte exact in both directions, cut anywhere, and what is wrong told with its offset.

Each case names its section: of docs/protocols/ptp.md.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.ptp import wire
from osprofile.executors.ptp.wire import (
    MAX_ID,
    Frame,
    FrameReader,
    LocalError,
    RangeSet,
    RemoteError,
    encode_frame,
    escape_non_ascii,
)
from tests.executors.ptp.client import parse_range_set

# (section, frame, bytes): the writer gives the bytes, and the reader gives the frame.
FRAMES: list[tuple[str, Frame, bytes]] = [
    (
        "1: INIT",
        Frame(1, 0, ("version=2.0", "baseId=16777216")),
        b"00000045 0001:00000000:00000002 0000000b:version=2.0 0000000f:baseId=16777216",
    ),
    ("1: OK, no arguments is 0x17", Frame(0, 0), b"00000017 0000:00000000:00000000"),
    (
        "4.1: NEW_MACHINE",
        Frame(0xDD, 0, ("16777216", "1", "16777217", "2", "name=vm", "machineState=UP")),
        (
            b"0000007b 00dd:00000000:00000006 00000008:16777216 00000001:1 00000008:16777217 "
            b"00000001:2 00000007:name=vm 0000000f:machineState=UP"
        ),
    ),
    ("1.2: A String", Frame(1, 2, ("A String",)), b"00000029 0001:00000002:00000001 00000008:A String"),
    ("1.2: a zero length string", Frame(1, 2, ("",)), b"00000021 0001:00000002:00000001 00000000:"),
    (
        "1.4: progArgs=-a 2 -b 4 has 0x12 characters",
        Frame(5, 7, ("progArgs=-a 2 -b 4",)),
        b"00000033 0005:00000007:00000001 00000012:progArgs=-a 2 -b 4",
    ),
    (
        "1.2: values may hold spaces, '=' and newlines",
        Frame(5, 1, ("env=A=b c\nd", " ", "=")),
        b"00000042 0005:00000001:00000003 0000000b:env=A=b c\nd 00000001:  00000001:=",
    ),
    ("1.1: a TID has eight digits", Frame(0xFFFF, 0xFFFFFFFF), b"00000017 ffff:ffffffff:00000000"),
]
IDS = [section for section, _, _ in FRAMES]


def read(data: bytes, *, limit: int = wire.MAX_COMMAND_SIZE) -> list[Frame]:
    reader = FrameReader(limit)
    reader.receive_data(data)
    return list(iter(reader.next_frame, None))


@pytest.mark.parametrize(("_section", "frame", "data"), FRAMES, ids=IDS)
def test_a_frame_is_written_and_read(_section: str, frame: Frame, data: bytes) -> None:
    """docs/protocols/ptp.md, 1.1: lower-case hex is sent, upper case accepted."""
    assert encode_frame(*frame) == data
    assert read(data) == [frame]
    assert read(data[:31].upper() + data[31:]) == [frame]


def test_every_split_point() -> None:
    data = b"".join(case[2] for case in FRAMES)
    frames = [case[1] for case in FRAMES]
    for cut in range(len(data) + 1):
        reader = FrameReader()
        found = []
        for part in (data[:cut], data[cut:]):
            if part:
                reader.receive_data(part)
            found += list(iter(reader.next_frame, None))
        assert found == frames, cut
        reader.receive_data(b"")
        assert reader.next_frame() is None
        assert reader.has_ended


OK = b"00000017 0000:00000000:00000000"

# (what, bytes, offset, whether the session is over, a part of the message)
WRONG: list[tuple[str, bytes, int, bool, str]] = [
    ("no hex in LENGTH", b"0000001x 0000:", 7, True, "LENGTH must have 8 hexadecimal digits"),
    ("a sign in LENGTH", b"+0000017 0000:", 0, True, "LENGTH must have"),
    ("an underscore", b"0000_017 0000:", 4, True, "LENGTH must have"),
    ("LENGTH is too small", b"00000016 0000:00000000:0000000", 0, True, "too small"),
    ("LENGTH is 0", b"00000000", 0, True, "too small"),
    ("LENGTH is too large", b"7fffffff", 0, True, "at most 4194304 bytes"),
    ("no space after LENGTH", b"00000017_0000:00000000:00000000", 8, False, "before ID"),
    ("no hex in ID", b"00000017 00g0:00000000:00000000", 11, False, "ID must have 4"),
    ("no colon before TID", b"00000017 0000 00000000:00000000", 13, False, "before TID"),
    ("no hex in TID", b"00000017 0000:0000000z:00000000", 21, False, "TID must have 8"),
    ("NUM_ARGS too large", b"00000017 0000:00000000:00000001", 23, False, "NUM_ARGS 1 is too"),
    ("NUM_ARGS huge", b"00000017 0000:00000000:ffffffff", 23, False, "NUM_ARGS 4294967295"),
    ("too few arguments", b"00000022 0001:00000002:00000000 00000001:x", 31, False, "11 bytes"),
    ("no space", b"00000022 0001:00000002:00000001_00000001:x", 31, False, "before ARGLEN"),
    ("no hex in ARGLEN", b"00000022 0001:00000002:00000001 0000000-:x", 39, False, "ARGLEN must"),
    ("no colon", b"00000022 0001:00000002:00000001 00000001;x", 40, False, "':' must follow"),
    ("ARGLEN too large", b"00000022 0001:00000002:00000001 00000002:x", 32, False, "beyond"),
    ("ARGLEN too small", b"00000022 0001:00000002:00000001 00000000:x", 41, False, "1 bytes"),
]


def test_an_argument_that_is_not_ascii_is_read() -> None:
    """Its command can be answered: UTF-8 is what it says, and other bytes are refused later, by name."""
    reader = FrameReader()
    reader.receive_data(b"0000002e 0005:00000002:00000002 00000002:\xc3\xa9 00000001:\xff")
    assert reader.next_frame() == Frame(5, 2, ("\u00e9", "\udcff"))


@pytest.mark.parametrize(("what", "data", "offset", "fatal", "text"), WRONG)
def test_what_is_wrong_is_told(what: str, data: bytes, offset: int, fatal: bool, text: str) -> None:
    """A frame whose LENGTH is right is dropped alone; without it, nothing is read any more."""
    reader = FrameReader()
    reader.receive_data(OK + data)
    assert reader.next_frame() == Frame(0, 0), what
    with pytest.raises(RemoteError) as caught:
        reader.next_frame()
    assert caught.value.offset == len(OK) + offset
    assert str(caught.value).startswith(f"byte {len(OK) + offset}: ")
    assert text in str(caught.value)
    assert caught.value.fatal is fatal
    reader.receive_data(OK)
    if not fatal:
        assert reader.next_frame() == Frame(0, 0)
        return
    with pytest.raises(RemoteError) as again:
        reader.next_frame()
    assert again.value is caught.value


@pytest.mark.parametrize("cut", range(1, len(FRAMES[0][2])))
def test_an_end_inside_a_frame(cut: int) -> None:
    reader = FrameReader()
    reader.receive_data(FRAMES[0][2][:cut])
    assert reader.next_frame() is None
    reader.receive_data(b"")
    with pytest.raises(RemoteError, match="the input ended inside a frame") as caught:
        reader.next_frame()
    assert caught.value.offset == cut
    assert caught.value.fatal


def test_a_limit() -> None:
    data = FRAMES[0][2]
    assert read(data, limit=0x45) == [FRAMES[0][1]]
    with pytest.raises(RemoteError, match="LENGTH 69 is too large"):
        read(data, limit=0x44)


def test_a_long_frame_in_small_pieces_is_read_in_linear_time() -> None:
    """Four megabytes in 64 Ki pieces of 64 bytes: quadratic work would take minutes."""
    frame = Frame(5, 1, tuple("x" * 1000 for _ in range(4000)))
    data = encode_frame(*frame)
    reader = FrameReader()
    for at in range(0, len(data), 64):
        assert reader.next_frame() is None
        reader.receive_data(data[at : at + 64])
    assert reader.next_frame() == frame


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (Frame(0x10000, 0), "ID 65536"),
        (Frame(-1, 0), "ID -1"),
        (Frame(0, 2**32), "TID 4294967296"),
        (Frame(0, -1), "TID -1"),
        (Frame(0, 0, ("caf\u00e9",)), "not US-ASCII"),
        (Frame(0, 0, ("\ud800",)), "not US-ASCII"),
    ],
)
def test_what_is_not_written(frame: Frame, text: str) -> None:
    with pytest.raises(LocalError, match=text):
        encode_frame(*frame)


def test_escapes() -> None:
    assert escape_non_ascii("plain = \n") == "plain = \n"
    assert escape_non_ascii("caf\u00e9 \u2019 \U0001f40d \ud800") == r"caf\xe9 \u2019 \U0001f40d \ud800"


arguments = st.lists(st.text(st.characters(max_codepoint=127), max_size=30), max_size=8)
frames = st.builds(Frame, st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF), arguments.map(tuple))


@given(st.lists(frames, max_size=6), st.lists(st.integers(0, 400), max_size=10))
def test_frames_cut_anywhere_come_back(sent: list[Frame], cuts: list[int]) -> None:
    data = b"".join(encode_frame(*frame) for frame in sent)
    reader = FrameReader()
    found = []
    begin = 0
    for end in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        if end > begin:
            reader.receive_data(data[begin:end])
        begin = end
        found += list(iter(reader.next_frame, None))
    assert found == sent


@given(frames)
def test_the_length_is_that_of_what_follows(frame: Frame) -> None:
    data = encode_frame(*frame)
    assert int(data[:8], 16) == len(data) - 8
    assert int(data[23:31], 16) == len(frame.args)


NEARLY = st.lists(
    st.sampled_from([b"0", b"00000017", b" ", b":", b"0000", b"f", b"\xff", b"x", OK]), max_size=12
).map(b"".join)


def drain(reader: FrameReader, most: int) -> list[Frame | RemoteError]:
    """Give all that a reader has; it must not have more than `most` things."""
    found: list[Frame | RemoteError] = []
    while len(found) <= most:
        try:
            frame = reader.next_frame()
        except RemoteError as error:
            found.append(error)
            if error.fatal:
                return found
            continue
        if frame is None:
            return found
        found.append(frame)
    pytest.fail("the reader does not come to an end")


@given(st.lists(st.binary(max_size=60) | NEARLY, max_size=6))
def test_garbage_raises_nothing_else(pieces: list[bytes]) -> None:
    reader = FrameReader()
    size = len(b"".join(pieces))
    for piece in [*pieces, b""]:
        reader.receive_data(piece)
        found = drain(reader, size + 1)  # each frame takes a byte at least
        errors = [thing for thing in found if isinstance(thing, RemoteError)]
        assert all(0 <= error.offset <= size for error in errors)


@given(frames, st.data())
def test_a_changed_byte_raises_nothing_else(frame: Frame, data: st.DataObject) -> None:
    raw = bytearray(encode_frame(*frame))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    reader = FrameReader()
    reader.receive_data(bytes(raw) + OK)
    reader.receive_data(b"")
    found = drain(reader, len(raw))
    errors = [thing for thing in found if isinstance(thing, RemoteError)]
    assert found
    assert all(error.offset <= len(raw) + len(OK) for error in errors)


# Range sets (docs/protocols/ptp.md, 1.3)

# (text as it may come, its numbers, the shortest text)
SETS: list[tuple[str, list[int], str]] = [
    # The design's example, with the 41 that its text leaves out (docs/protocols/ptp.md, 1.3).
    ("1,2,3,4,5,6,7,34,35,36,37,38,41,55,56,57", [1, 2, 3, 4, 5, 6, 7, 34, 35, 36, 37, 38, 41, 55, 56, 57], "1-7,34-38,41,55-57"),
    # docs/protocols/ptp.md, 1.3, the second example: overlapping and unsorted, the numbers 1 to 12.
    ("1-10,4-12,3", list(range(1, 13)), "1-12"),
    # docs/protocols/ptp.md, 1.3.
    ("16777218-16777219", [16777218, 16777219], "16777218-16777219"),
    ("7", [7], "7"),
    ("9-3", [], ""),
    ("9-3,5", [5], "5"),
    ("55-57,1", [1, 55, 56, 57], "1,55-57"),
    ("0", [0], "0"),
    ("00007-0008", [7, 8], "7-8"),
    ("1-2,3-4", [1, 2, 3, 4], "1-4"),
    ("1-9,2-3,5", list(range(1, 10)), "1-9"),
    ("5-5", [5], "5"),
    (str(MAX_ID), [MAX_ID], str(MAX_ID)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "numbers", "shortest"), SETS)
def test_both_directions(text: str, numbers: list[int], shortest: str) -> None:
    found = parse_range_set(text)
    assert list(found) == numbers
    assert str(found) == shortest
    assert RangeSet.from_numbers(reversed(numbers)) == found


def test_what_is_no_id() -> None:
    for numbers in ([-1, 5], [MAX_ID + 1], range(-3, 2)):
        with pytest.raises(LocalError, match="is not an id"):
            RangeSet.from_numbers(numbers)


def test_a_hundred_thousand_are_short() -> None:
    numbers = list(range(16_777_217, 16_877_217))
    assert str(RangeSet.from_numbers(numbers)) == "16777217-16877216"
    assert RangeSet.from_numbers(range(16_777_217, 16_877_217)) == RangeSet.from_numbers(numbers)
    every_other = RangeSet.from_numbers(numbers[::2])
    assert len(every_other.spans) == 50_000
    assert parse_range_set(str(every_other)) == every_other


@given(st.sets(st.integers(0, 60) | st.integers(0, MAX_ID)))
def test_sets_come_back(numbers: set[int]) -> None:
    found = RangeSet.from_numbers(numbers)
    assert list(found) == sorted(numbers)
    assert all(b[0] > a[1] + 1 for a, b in zip(found.spans, found.spans[1:], strict=False))
    if numbers:
        assert parse_range_set(str(found)) == found
