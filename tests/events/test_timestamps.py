"""Local times: time zones, and both changes of daylight saving."""

from __future__ import annotations

import calendar
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.events.sources.pbs import parse_minute
from osprofile.events.timestamps import EpochPrefixes, FastPathError, LocalTimePrefixes, timestamp_from_utc

if TYPE_CHECKING:
    from collections.abc import Callable

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
FORM = "%m/%d/%Y %H:%M:%S"


def make_prefixes(since: int = 0) -> LocalTimePrefixes:
    return LocalTimePrefixes(parse_minute, since)


@given(st.integers(0, 4_000_000_000))
def test_utc(moment: int) -> None:
    wall = time.gmtime(moment)
    assert timestamp_from_utc(wall[:5]) == calendar.timegm(wall) - wall.tm_sec


@pytest.mark.parametrize("name", ZONES)
def test_a_year_of_a_log(name: str, zone: Callable[[str], None]) -> None:
    """A log with a line each 1,100 seconds is converted correctly, through both changes of the clock."""
    zone(name)
    prefixes = make_prefixes()
    for moment in range(1_704_067_200, 1_704_067_200 + 366 * 86_400, 1100):
        time_text = time.strftime(FORM, time.localtime(moment))
        assert prefixes.format_prefix(time_text) == f"001;{moment};", time_text


@pytest.mark.parametrize("name", ZONES)
def test_the_cache_has_the_same_times_or_none(name: str, zone: Callable[[str], None]) -> None:
    zone(name)
    prefixes = make_prefixes()
    for moment in range(1_729_900_000, 1_730_900_000, 97):
        time_text = time.strftime(FORM, time.localtime(moment))
        try:
            assert prefixes[time_text] == f"001;{moment};"
        except FastPathError:
            assert prefixes.format_prefix(time_text) == f"001;{moment};"


def test_the_hour_that_is_skipped(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")
    at_two = timestamp_from_utc((2024, 3, 31, 1, 0))
    assert make_prefixes().format_prefix("03/31/2024 02:30:05") == f"001;{at_two + 1805};"


def test_lines_a_little_out_of_order_in_the_hour_that_comes_twice(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")
    first = timestamp_from_utc((2024, 10, 27, 0, 0))
    prefixes = make_prefixes()
    minutes_by_time = {  # in the order of the log: minutes since the first 2:00
        "02:10:00": 10,
        "02:50:00": 50,
        "02:49:00": 49,
        "02:59:00": 59,
        "02:01:00": 61,
        "02:58:00": 58,  # late
        "02:02:00": 62,
        "02:40:00": 100,
    }
    for time_text, minutes in minutes_by_time.items():
        assert prefixes.format_prefix(f"10/27/2024 {time_text}") == f"001;{first + 60 * minutes};", time_text


def test_lines_written_after_the_end_of_a_log(zone: Callable[[str], None]) -> None:
    """A log that was read to its end in the second hour has its next line in the second hour."""
    zone("Europe/Berlin")
    first = timestamp_from_utc((2024, 10, 27, 0, 0))
    for now, expected in ((first + 1800, first + 1860), (first + 5400, first + 5460)):
        prefixes = make_prefixes()
        prefixes.note_end_of_log(now)
        assert prefixes.format_prefix("10/27/2024 02:31:00") == f"001;{expected};"


def test_times_before_the_timestamp(zone: Callable[[str], None]) -> None:
    zone("UTC")
    prefixes = make_prefixes(1_580_724_030)
    assert prefixes.format_prefix("02/03/2020 10:00:29") == ""
    assert prefixes.format_prefix("02/03/2020 10:00:30") == "001;1580724030;"
    for time_text in ("02/03/2020 09:00:00", "02/03/2020 10:00:29"):
        with pytest.raises(FastPathError):
            prefixes[time_text]
    assert prefixes["02/03/2020 10:01:00"] == "001;1580724060;"


@pytest.mark.parametrize(
    "time_text",
    ["", "x" * 19, "13/01/2020 10:00:00", "02/03/2020 24:00:00", "02/03/2020 10:00:61", "02/03/2020 10:60:00",
     "00/03/2020 10:00:00", "02-03-2020 10:00:00", "02/03/2020 10:00 00", "\xb2\xb2/03/2020 10:00:00"],
)  # fmt: skip
def test_malformed_times(time_text: str, zone: Callable[[str], None]) -> None:
    zone("UTC")
    prefixes = make_prefixes()
    if len(time_text) == 19:
        assert prefixes.format_prefix(time_text) == ""
    else:
        assert EpochPrefixes(0).format_prefix(time_text) == ""


def test_memory_is_bounded(zone: Callable[[str], None]) -> None:
    zone("UTC")
    prefixes, epoch_prefixes = make_prefixes(), EpochPrefixes(0)
    for n in range(50_000):
        time_text = time.strftime(FORM, time.gmtime(1_580_724_000 + 61 * n))
        assert prefixes[time_text]
        assert epoch_prefixes[str(n)] == f"001;{n};"
    kept = [prefixes, epoch_prefixes, *(held for held in vars(prefixes).values() if isinstance(held, dict))]
    assert len(kept) > 2
    assert max(map(len, kept)) <= 20_001
