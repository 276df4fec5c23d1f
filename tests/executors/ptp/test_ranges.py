"""The range set notation (docs/protocols/ptp.md, 1.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.ptp.wire import MAX_ID, LocalError, RangeSet
from tests.executors.ptp.client import parse_range_set

# (text as it may come, its numbers, the shortest text)
SETS: list[tuple[str, list[int], str]] = [
    # The design's example, with the 41 that its text leaves out (docs/protocols/ptp.md, 1.3).
    (
        "1,2,3,4,5,6,7,34,35,36,37,38,41,55,56,57",
        [1, 2, 3, 4, 5, 6, 7, 34, 35, 36, 37, 38, 41, 55, 56, 57],
        "1-7,34-38,41,55-57",
    ),
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
]


@pytest.mark.parametrize(("text", "numbers", "shortest"), SETS)
def test_both_directions(text: str, numbers: list[int], shortest: str) -> None:
    found = parse_range_set(text)
    assert list(found) == numbers
    assert str(found) == shortest
    assert RangeSet.from_numbers(reversed(numbers)) == found
    assert len(found) == len(numbers)
    assert all(number in found for number in numbers)
    assert -1 not in found
    assert "7" not in found


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
    assert len(found) == len(numbers)
    assert all(b[0] > a[1] + 1 for a, b in zip(found.spans, found.spans[1:], strict=False))
    if numbers:
        assert parse_range_set(str(found)) == found
