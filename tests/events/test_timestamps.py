"""Wall clocks: time zones, and the two hours of daylight saving (issue: "the two changes")."""

from __future__ import annotations

import calendar
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.events.sources.pbs import parse_minute
from osprofile.events.timestamps import (
    EpochPrefixes,
    FastPathError,
    LocalTimePrefixes,
    timestamp_from_utc,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
FORM = "%m/%d/%Y %H:%M:%S"


def stamps(since: int = 0) -> LocalTimePrefixes:
    return LocalTimePrefixes(parse_minute, since)


@given(st.integers(0, 4_000_000_000))
def test_greenwich(moment: int) -> None:
    wall = time.gmtime(moment)
    assert timestamp_from_utc(wall[:5]) == calendar.timegm(wall) - wall.tm_sec


@pytest.mark.parametrize("name", ZONES)
def test_a_year_of_a_log(name: str, zone: Callable[[str], None]) -> None:
    """A log with a line each 400 seconds is read right, both changes of the clock included."""
    zone(name)
    known = stamps()
    for moment in range(1_704_067_200, 1_704_067_200 + 366 * 86_400, 400):
        words = time.strftime(FORM, time.localtime(moment))
        assert known.format_prefix(words) == f"001;{moment};", words


@pytest.mark.parametrize("name", ZONES)
def test_the_fast_way_says_the_same_or_leaves_it(name: str, zone: Callable[[str], None]) -> None:
    zone(name)
    known = stamps()
    for moment in range(1_729_900_000, 1_730_900_000, 97):
        words = time.strftime(FORM, time.localtime(moment))
        try:
            assert known[words] == f"001;{moment};"
        except FastPathError:
            assert known.format_prefix(words) == f"001;{moment};"


def test_the_hour_that_is_left_out(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")
    at_two = timestamp_from_utc((2024, 3, 31, 1, 0))
    assert stamps().format_prefix("03/31/2024 02:30:05") == f"001;{at_two + 1805};"


def test_lines_a_little_out_of_order_in_the_hour_that_comes_twice(
    zone: Callable[[str], None],
) -> None:
    zone("Europe/Berlin")
    first = timestamp_from_utc((2024, 10, 27, 0, 0))
    known = stamps()
    wanted = {  # in the order of the log: minutes since the first 2:00
        "02:10:00": 10,
        "02:50:00": 50,
        "02:49:00": 49,
        "02:59:00": 59,
        "02:01:00": 61,
        "02:58:00": 58,  # late
        "02:02:00": 62,
        "02:40:00": 100,
    }
    for words, minutes in wanted.items():
        assert known.format_prefix(f"10/27/2024 {words}") == f"001;{first + 60 * minutes};", words


def test_what_is_written_now_is_of_now(zone: Callable[[str], None]) -> None:
    """A log that was read to its end in the second hour has its next line in the second hour."""
    zone("Europe/Berlin")
    first = timestamp_from_utc((2024, 10, 27, 0, 0))
    for now, expected in ((first + 1800, first + 1860), (first + 5400, first + 5460)):
        known = stamps()
        known.note_end_of_log(now)
        assert known.format_prefix("10/27/2024 02:31:00") == f"001;{expected};"


def test_before_the_time_asked_for(zone: Callable[[str], None]) -> None:
    zone("UTC")
    known = stamps(1_580_724_030)
    assert known.format_prefix("02/03/2020 10:00:29") == ""
    assert known.format_prefix("02/03/2020 10:00:30") == "001;1580724030;"
    for words in ("02/03/2020 09:00:00", "02/03/2020 10:00:29"):
        with pytest.raises(FastPathError):
            known[words]
    assert known["02/03/2020 10:01:00"] == "001;1580724060;"


@pytest.mark.parametrize(
    "words",
    ["", "x" * 19, "13/01/2020 10:00:00", "02/03/2020 24:00:00", "02/03/2020 10:00:61", "02/03/2020 10:60:00",
     "00/03/2020 10:00:00", "02-03-2020 10:00:00", "02/03/2020 10:00 00", "\xb2\xb2/03/2020 10:00:00"],
)  # fmt: skip
def test_what_is_no_time(words: str, zone: Callable[[str], None]) -> None:
    zone("UTC")
    known = stamps()
    if len(words) == 19:
        assert known.format_prefix(words) == ""
    else:
        assert EpochPrefixes(0).format_prefix(words) == ""


def test_memory_is_bounded(zone: Callable[[str], None]) -> None:
    zone("UTC")
    known, seconds = stamps(), EpochPrefixes(0)
    for n in range(50_000):
        words = time.strftime(FORM, time.gmtime(1_580_724_000 + 61 * n))
        assert known[words]
        assert seconds[str(n)] == f"001;{n};"
    assert max(len(known), len(known._minute_starts), len(seconds)) <= 20_001
