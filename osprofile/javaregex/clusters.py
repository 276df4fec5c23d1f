"""Word boundaries and grapheme clusters: what needs the recorded Unicode data while matching."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, final

from osprofile.javaregex import unicode13
from osprofile.javaregex.charset import CharSet, MembershipCache
from osprofile.javaregex.machine import MatchRun, Step
from osprofile.javaregex.syntax import AssertionKind

if TYPE_CHECKING:
    from collections.abc import Callable

_CR, _LF, _CONTROL, _EXTEND, _ZWJ, _REGIONAL, _PREPEND, _SPACING = range(1, 9)
_L, _V, _T, _LV, _LVT, _PICTURE = range(9, 15)
_HANGUL_SEQUENCES = {
    *((_L, t) for t in (_L, _V, _LV, _LVT)), *((t, u) for t in (_LV, _V) for u in (_V, _T)),
    (_LVT, _T), (_T, _T),
}  # fmt: skip


def _get_break_type(char: str) -> int:
    """Return the type of a character in grapheme cluster breaking, 0 for "Other"."""
    table = unicode13.list_cluster_types()
    point = ord(char)
    index = bisect_right(table, (point, 0x110000, 0)) - 1
    return table[index][2] if index >= 0 and point <= table[index][1] else 0


def _is_boundary(before: int, after: int) -> bool:
    """Return whether a cluster ends between two types (Unicode Annex 29, GB3 to GB9b)."""
    if (before, after) == (_CR, _LF):
        return False
    if before in {_CR, _LF, _CONTROL} or after in {_CR, _LF, _CONTROL}:
        return True
    if after in {_EXTEND, _ZWJ, _SPACING} or before == _PREPEND:
        return False
    return (before, after) not in _HANGUL_SEQUENCES


def find_cluster_end(value: str, position: int) -> int:
    """Return the end of the cluster that begins at a position."""
    before = _get_break_type(value[position])
    regional_count = int(before == _REGIONAL)
    picture = before == _PICTURE
    for end in range(position + 1, len(value)):
        after = _get_break_type(value[end])
        joined = picture and before == _ZWJ and after == _PICTURE  # GB11
        paired = regional_count % 2 == 1 and before == after == _REGIONAL  # GB12
        if not joined and not paired and _is_boundary(before, after):
            return end
        regional_count += after == _REGIONAL
        before = after
    return len(value)


@final
class ClusterStep(Step):
    """One grapheme cluster."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:
        """Match one cluster."""
        if run.position >= run.end:
            return None
        run.position = find_cluster_end(run.value, run.position)
        return self.next


def _at_cluster_edge(run: MatchRun) -> bool:
    """Return whether a cluster ends here; as in Java, counted from the end of the last match."""
    if run.position in {0, run.end}:
        return True
    if run.last_end >= run.end:
        raise run.make_error("Java fails at \\b{g} after looking ahead to the end,")
    return find_cluster_end(run.value, run.last_end) <= run.position


@cache
def _get_members(*, unicode: bool, marks: bool = False) -> MembershipCache:
    if marks:
        return MembershipCache(unicode13.get_categories("Mn"))
    if unicode:
        return MembershipCache(unicode13.get_word_chars())
    return MembershipCache(unicode13.get_letters_or_digits() | CharSet.from_chars("_"))


def _has_base_char(value: str, position: int) -> bool:
    """Return whether the marks up to a position follow a letter or digit.

    Java goes back by UTF-16 units here, so of characters outside the BMP it sees the first only.
    """
    marks = _get_members(unicode=False, marks=True)
    first = True
    for char in reversed(value[: position + 1]):
        if char > "\uffff" and not first:
            return False
        if char != "_" and _get_members(unicode=False)[char]:
            return True
        if not marks[char]:
            return False
        first = False
    return False


def _at_word_edge(run: MatchRun, *, unicode: bool) -> bool:
    words, marks = _get_members(unicode=unicode), _get_members(unicode=False, marks=True)
    position, value = run.position, run.value
    left = right = False
    if position > 0:
        char = value[position - 1]
        based = char <= "\uffff" and marks[char] and _has_base_char(value, position - 1)
        left = words[char] or based
    if position < run.end:
        char = value[position]
        right = words[char] or (marks[char] and _has_base_char(value, position))
    return left != right


BOUNDARY_CHECKS: dict[AssertionKind, Callable[[MatchRun], bool]] = {
    AssertionKind.CLUSTER_EDGE: _at_cluster_edge,
    AssertionKind.WORD_EDGE: lambda run: _at_word_edge(run, unicode=False),
    AssertionKind.UNICODE_WORD_EDGE: lambda run: _at_word_edge(run, unicode=True),
    AssertionKind.NO_WORD_EDGE: lambda run: not _at_word_edge(run, unicode=False),
    AssertionKind.UNICODE_NO_WORD_EDGE: lambda run: not _at_word_edge(run, unicode=True),
}
