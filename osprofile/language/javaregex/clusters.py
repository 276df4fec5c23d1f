"""Words and grapheme clusters: the assertions and steps that ask what kind a character is."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, final

from osprofile.language.javaregex import unicode13
from osprofile.language.javaregex.charset import CharSet, Members
from osprofile.language.javaregex.machine import Run, Step
from osprofile.language.javaregex.syntax import Where

if TYPE_CHECKING:
    from collections.abc import Callable

_CR, _LF, _CONTROL, _EXTEND, _ZWJ, _REGIONAL, _PREPEND, _SPACING = range(1, 9)
_L, _V, _T, _LV, _LVT, _PICTURE = range(9, 15)
_HANGUL = {
    *((_L, t) for t in (_L, _V, _LV, _LVT)), *((t, u) for t in (_LV, _V) for u in (_V, _T)),
    (_LVT, _T), (_T, _T),
}  # fmt: skip


def _kind(char: str) -> int:
    """Give the type of a character in grapheme cluster breaking; 0 for any other."""
    table = unicode13.cluster_types()
    point = ord(char)
    place = bisect_right(table, (point, 0x110000, 0)) - 1
    return table[place][2] if place >= 0 and point <= table[place][1] else 0


def _breaks(before: int, after: int) -> bool:
    """Tell whether a cluster ends between two types (Unicode Annex 29, GB3 to GB9b)."""
    if (before, after) == (_CR, _LF):
        return False
    if before in {_CR, _LF, _CONTROL} or after in {_CR, _LF, _CONTROL}:
        return True
    if after in {_EXTEND, _ZWJ, _SPACING} or before == _PREPEND:
        return False
    return (before, after) not in _HANGUL


def cluster_end(value: str, place: int) -> int:
    """Give where the cluster that begins at a place ends."""
    before = _kind(value[place])
    flags = int(before == _REGIONAL)
    picture = before == _PICTURE
    for end in range(place + 1, len(value)):
        after = _kind(value[end])
        joined = picture and before == _ZWJ and after == _PICTURE  # GB11
        paired = flags % 2 == 1 and before == after == _REGIONAL  # GB12
        if not joined and not paired and _breaks(before, after):
            return end
        flags += after == _REGIONAL
        before = after
    return len(value)


@final
class OneCluster(Step):
    """One grapheme cluster."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:
        """Match it whole."""
        if run.place >= run.end:
            return None
        run.place = cluster_end(run.value, run.place)
        return self.next


def _cluster_edge(run: Run) -> bool:
    """Tell whether a cluster ends here, seen as in Java from where something last matched."""
    if run.place in {0, run.end}:
        return True
    if run.last >= run.end:
        raise run.refuse("Java fails at \\b{g} after looking ahead to the end,")
    return cluster_end(run.value, run.last) <= run.place


@cache
def _members(*, unicode: bool, marks: bool = False) -> Members:
    if marks:
        return Members(unicode13.categories("Mn"))
    if unicode:
        return Members(unicode13.word())
    return Members(unicode13.letter_or_digit() | CharSet.chars("_"))


def _has_base(value: str, place: int) -> bool:
    """Tell whether marks up to a place stand on a letter or digit.

    Java goes back by UTF-16 units here, and so sees no character outside the BMP but the first.
    """
    marks = _members(unicode=False, marks=True)
    first = True
    for char in reversed(value[: place + 1]):
        if char > "\uffff" and not first:
            return False
        if char != "_" and _members(unicode=False)[char]:
            return True
        if not marks[char]:
            return False
        first = False
    return False


def _word_edge(run: Run, *, unicode: bool) -> bool:
    words, marks = _members(unicode=unicode), _members(unicode=False, marks=True)
    place, value = run.place, run.value
    left = right = False
    if place > 0:
        char = value[place - 1]
        based = char <= "\uffff" and marks[char] and _has_base(value, place - 1)
        left = words[char] or based
    if place < run.end:
        char = value[place]
        right = words[char] or (marks[char] and _has_base(value, place))
    return left != right


CHECKS: dict[Where, Callable[[Run], bool]] = {
    Where.CLUSTER_EDGE: _cluster_edge,
    Where.WORD_EDGE: lambda run: _word_edge(run, unicode=False),
    Where.UNICODE_WORD_EDGE: lambda run: _word_edge(run, unicode=True),
    Where.NO_WORD_EDGE: lambda run: not _word_edge(run, unicode=False),
    Where.UNICODE_NO_WORD_EDGE: lambda run: not _word_edge(run, unicode=True),
}
