r"""Sets of code points, as sorted ranges: what a character class means.

Every class, escape and property of a pattern becomes one `CharSet`, case-insensitivity included,
so that no result depends on what an engine itself takes for `\w`, `(?i)` or a Unicode version.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST_CODE_POINT = 0x10FFFF
MAX_CACHED_CHARS = 4096  # bounds the memory of a pattern that sees all of Unicode


@final
@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of code points: inclusive ranges, sorted, disjoint and not adjacent."""

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def from_ranges(*ranges: tuple[int, int]) -> CharSet:
        """Return the union of inclusive ranges, which may overlap and be in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return CharSet(tuple(merged))

    @staticmethod
    def from_chars(chars: Iterable[str | int]) -> CharSet:
        """Return the set of some characters or code points."""
        points = (c if isinstance(c, int) else ord(c) for c in chars)
        return CharSet.from_ranges(*((c, c) for c in points))

    def __contains__(self, char: str) -> bool:
        point = ord(char)
        index = bisect_right(self.ranges, (point, LAST_CODE_POINT + 1)) - 1
        return index >= 0 and point <= self.ranges[index][1]

    def __or__(self, other: CharSet) -> CharSet:
        if not other.ranges or self is other:
            return self
        return CharSet.from_ranges(*self.ranges, *other.ranges) if self.ranges else other

    def __invert__(self) -> CharSet:
        gaps: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            if first > start:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST_CODE_POINT:
            gaps.append((start, LAST_CODE_POINT))
        return CharSet(tuple(gaps))

    def __and__(self, other: CharSet) -> CharSet:
        shared: list[tuple[int, int]] = []
        mine, theirs = self.ranges, other.ranges
        i = j = 0
        while i < len(mine) and j < len(theirs):
            first = max(mine[i][0], theirs[j][0])
            last = min(mine[i][1], theirs[j][1])
            if first <= last:
                shared.append((first, last))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return CharSet(tuple(shared))

    def intersects(self, other: CharSet) -> bool:
        """Return whether some code point is in both sets."""
        return bool((self & other).ranges)

    def list_chars(self) -> list[str]:
        """Return the characters of the set."""
        return [chr(point) for first, last in self.ranges for point in range(first, last + 1)]

    @property
    def single_char(self) -> str | None:
        """The only character of the set; None for an empty set, and for one of several."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return chr(self.ranges[0][0])
        return None


@final
class MembershipCache(dict[str, bool]):
    """Whether a character is in a set: one look-up for each character seen before."""

    __slots__ = ("_char_set",)

    def __init__(self, chars: CharSet) -> None:
        super().__init__()
        self._char_set = chars

    def __missing__(self, char: str) -> bool:
        if len(self) >= MAX_CACHED_CHARS:
            self.clear()
        found = self[char] = char in self._char_set
        return found


EMPTY = CharSet(())
ANY = CharSet(((0, LAST_CODE_POINT),))
DIGIT = CharSet.from_ranges((0x30, 0x39))
UPPER = CharSet.from_ranges((0x41, 0x5A))
LOWER = CharSet.from_ranges((0x61, 0x7A))
ALPHA = UPPER | LOWER
ALNUM = ALPHA | DIGIT
WORD = ALNUM | CharSet.from_chars("_")
SPACE = CharSet.from_ranges((0x09, 0x0D), (0x20, 0x20))
HORIZONTAL_SPACE = CharSet.from_ranges(
    (0x09, 0x09), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E),
    (0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip
VERTICAL_SPACE = CharSet.from_ranges((0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
LINE_ENDS = CharSet.from_chars("\n\r\x85\u2028\u2029")
DOT = ~LINE_ENDS
UNIX_DOT = ~CharSet.from_chars("\n")
