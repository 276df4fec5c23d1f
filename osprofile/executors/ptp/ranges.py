"""Sets of element ids and ranks in the wire's range set notation.

    set = range *( "," range ) ; range = N | LOW "-" HIGH

Sources: seed, "Range Set Notation" (its example drops 41); the protocol page, "Grammar".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, final

from osprofile.errors import quote_value
from osprofile.executors.ptp.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ID: Final = 2**31 - 1
"""The original client holds ids and ranks in signed 32-bit integers."""

_RANGE_PATTERN: Final = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?(,|\Z)")


@final
@dataclass(frozen=True, slots=True)
class RangeSet:
    """A set of numbers from 0 to LARGEST_ID, as spans (first, last) that neither overlap nor touch.

    `str()` is the shortest notation; that of the empty set, which no client takes, is empty.
    """

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Self:
        """Give the set of these numbers, in any order; `LocalError` for one that is no id."""
        if isinstance(numbers, range) and numbers.step == 1:
            found = [(numbers.start, numbers.stop - 1)] if numbers else []
        else:
            found = list(_find_spans(sorted(set(numbers))))
        if found and not (found[0][0] >= 0 and found[-1][1] <= MAX_ID):
            wrong = found[0][0] if found[0][0] < 0 else found[-1][1]
            raise LocalError(f"{wrong} is no id", hint=f"0 to {MAX_ID}")
        return cls(tuple(found))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the notation: unsorted and overlapping is fine, LOW above HIGH is nothing.

        Raises ValueError, with the place in the text, for anything else.
        """
        spans = []
        at = 0
        while True:
            match = _RANGE_PATTERN.match(text, at)
            low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, MAX_ID + 1)
            if match is None or max(low, high) > MAX_ID:
                message = (
                    f"character {at + 1} of {quote_value(text)}: no N or LOW-HIGH up to {MAX_ID}"
                )
                raise ValueError(message)
            if low <= high:
                spans.append((low, high))
            if not match[3]:
                return cls(tuple(_merge_spans(sorted(spans))))
            at = match.end()

    def __str__(self) -> str:
        return ",".join([f"{low}-{high}" if low < high else f"{low}" for low, high in self.spans])

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.spans)

    def __iter__(self) -> Iterator[int]:
        for low, high in self.spans:
            yield from range(low, high + 1)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and any(low <= number <= high for low, high in self.spans)


def _find_spans(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Give the spans of sorted numbers without repetition."""
    if not numbers:
        return
    first = last = numbers[0]
    for number in numbers:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _merge_spans(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join sorted spans that overlap or touch."""
    if not spans:
        return
    first, last = spans[0]
    for low, high in spans:
        if low > last + 1:
            yield first, last
            first = low
        last = max(last, high) if low <= last + 1 else high
    yield first, last
