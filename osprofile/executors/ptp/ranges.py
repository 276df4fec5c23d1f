"""Sets of element ids and ranks in the wire's range set notation.

    set = range *( "," range ) ; range = N | LOW "-" HIGH

Source: docs/protocols/ptp.md, 1.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, final

from osprofile.executors.ptp.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ID: Final = 2**31 - 1
"""The original client holds ids and ranks in signed 32-bit integers."""


@final
@dataclass(frozen=True, slots=True)
class RangeSet:
    """A set of numbers from 0 to MAX_ID, as spans (first, last) that neither overlap nor touch.

    `str()` is the shortest notation; that of the empty set, which clients refuse, is empty.
    """

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Self:
        """Return the set of these numbers. Raises `LocalError` for one that is out of range."""
        if isinstance(numbers, range) and numbers.step == 1:
            spans = [(numbers.start, numbers.stop - 1)] if numbers else []
        else:
            spans = list(_find_spans(sorted(set(numbers))))
        if spans and not (spans[0][0] >= 0 and spans[-1][1] <= MAX_ID):
            wrong = spans[0][0] if spans[0][0] < 0 else spans[-1][1]
            raise LocalError(f"{wrong} is not an id", hint=f"0 to {MAX_ID}")
        return cls(tuple(spans))

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
    """Yield the spans of sorted numbers without repetition."""
    if not numbers:
        return
    first = last = numbers[0]
    for number in numbers:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
