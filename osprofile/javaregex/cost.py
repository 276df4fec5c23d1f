"""What a pattern costs: whether two characters ahead always say how to go on.

A pattern is *decided* if at every choice (an alternative, one more round of a repetition or not)
the next two characters rule out all ways but one. Then backtracking never finds another way: it
ends at once, the time is linear in the value, and possessive repetitions and atomic groups match
what plain ones do. The look-ahead of a node is a list of tuples of at most two sets; a shorter
tuple says that the match may end there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

from osprofile.javaregex.charset import ANY, EMPTY, LINE_ENDS, VERTICAL_SPACE, CharSet
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    BackRef,
    Chars,
    Group,
    LineBreak,
    Look,
    Node,
    Repeat,
    Seq,
)
from osprofile.javaregex.tree_info import compute_min_length

NextChars = tuple[tuple[CharSet, ...], ...]
MATCH_END: NextChars = ((),)
_ANY_CHARS: NextChars = ((ANY,),)
_MAX_CHOICES = 48
MAX_REPEAT_DEPTH = 6
_SMALL_COUNT = 8
_LINE_END_ASSERTIONS = frozenset({
    AssertionKind.LAST_LINE_END, AssertionKind.UNIX_LAST_LINE_END, AssertionKind.LINE_END, AssertionKind.UNIX_LINE_END,
})  # fmt: skip


class UnknownCostError(Exception):
    """Nothing can be promised about a pattern."""


def _prepend_chars(chars: CharSet, after: NextChars) -> NextChars:
    return tuple(dict.fromkeys((chars, *t[:1]) for t in after))


def _join_choices(*ways: NextChars) -> NextChars:
    joined = tuple(dict.fromkeys(t for way in ways for t in way))
    if len(joined) > _MAX_CHOICES:
        raise UnknownCostError
    return joined


def find_next_chars(node: Node, after: NextChars) -> NextChars:
    """Give what can come next where a node begins, `after` being what can follow it."""
    match node:
        case Chars(chars):
            return _prepend_chars(chars, after)
        case Seq(nodes):
            for part in reversed(nodes):
                after = find_next_chars(part, after)
            return after
        case Group(body) | Atomic(body):
            return find_next_chars(body, after)
        case Alt(branches):
            return _join_choices(*(find_next_chars(branch, after) for branch in branches))
        case Repeat():
            again = _find_next_round(node, after)
            return _join_choices(again, after) if node.least == 0 else again
    return _find_special_chars(node, after)


def _find_special_chars(node: Node, after: NextChars) -> NextChars:
    match node:
        case Assertion(AssertionKind.END):
            return ((EMPTY,),)
        case Assertion(where) if where in _LINE_END_ASSERTIONS:
            return ((LINE_ENDS,),)
        case LineBreak():
            crlf = _prepend_chars(
                CharSet.from_chars("\r"), _prepend_chars(CharSet.from_chars("\n"), after)
            )
            return _join_choices(_prepend_chars(VERTICAL_SPACE, after), crlf)
        case Look(Group(Chars(chars)), behind=False, negative=True):
            return ((~chars,),)
    return _ANY_CHARS


def _find_next_round(node: Repeat, after: NextChars) -> NextChars:
    """Give what can come next where a repetition goes for one more round."""
    if node.most == 0:
        return ()
    once = find_next_chars(node.body, after)
    return once if node.most == 1 else find_next_chars(node.body, _join_choices(after, once))


def _choices_overlap(some: NextChars, others: NextChars) -> bool:
    for one in some:
        for other in others:
            pairs = list(zip(one, other, strict=False))
            if pairs and all(a.intersects(b) for a, b in pairs):
                return True
    return False


@final
@dataclass(frozen=True, slots=True)
class _Continuation:
    """What can follow a node.

    Inside what is never tried again (`sealed`), a way is taken without regard to what comes behind
    the seal: `within_seal` then ends there, while `after` does not.
    """

    after: NextChars
    within_seal: NextChars
    sealed: bool = False

    def extend_before(self, node: Node) -> _Continuation:
        """Give what can follow where a node begins."""
        after = find_next_chars(node, self.after)
        return _Continuation(
            after, find_next_chars(node, self.within_seal) if self.sealed else after, self.sealed
        )


_PATTERN_END = _Continuation(MATCH_END, MATCH_END)


def is_unambiguous(node: Node, follow: _Continuation = _PATTERN_END) -> bool:
    """Tell whether a node is decided."""
    match node:
        case Seq(nodes):
            return _is_sequence_unambiguous(nodes, follow)
        case Group(body) | Atomic(body):
            seal = isinstance(node, Atomic)
            return is_unambiguous(
                body, _Continuation(follow.after, MATCH_END, sealed=True) if seal else follow
            )
        case Alt(branches):
            return _is_choice_unambiguous(branches, follow)
        case Repeat():
            return _is_repeat_unambiguous(node, follow)
        case LineBreak():
            return not follow.sealed and not _choices_overlap(
                ((CharSet.from_chars("\n"),),), follow.after
            )
    return is_unambiguous(node.body) if isinstance(node, Look) else True


def _is_sequence_unambiguous(nodes: tuple[Node, ...], follow: _Continuation) -> bool:
    for part in reversed(nodes):
        if not is_unambiguous(part, follow):
            return False
        follow = follow.extend_before(part)
    return True


def _is_choice_unambiguous(branches: tuple[Node, ...], follow: _Continuation) -> bool:
    # A sealed choice for nothing would stand, though the match were to fail for it.
    if follow.sealed and not all(map(compute_min_length, branches[:-1])):
        return False
    if len(branches) > _MAX_CHOICES:
        raise UnknownCostError
    taken = [find_next_chars(branch, follow.within_seal) for branch in branches]
    instead = [find_next_chars(branch, follow.after) for branch in branches]
    if any(_choices_overlap(a, b) for n, a in enumerate(taken) for b in instead[n + 1 :]):
        return False
    return all(is_unambiguous(branch, follow) for branch in branches)


def _is_repeat_unambiguous(node: Repeat, follow: _Continuation) -> bool:
    if node.most == 0:
        return True
    possessive = node.kind == "possessive"
    sealed = follow.sealed or possessive
    if not compute_min_length(node.body) or (sealed and node.kind == "lazy"):
        return False
    within = MATCH_END if possessive else follow.within_seal
    taken, again = _find_next_round(node, within), _find_next_round(node, follow.after)
    if node.least != node.most and _choices_overlap(taken, follow.after):
        return False
    after = follow.after if node.most == 1 else _join_choices(follow.after, again)
    if not possessive:
        within = within if node.most == 1 else _join_choices(within, taken)
    return is_unambiguous(node.body, _Continuation(after, within, sealed))


def bound_steps(node: Node, *, unambiguous: bool) -> tuple[int, int]:
    """Bound the steps of one attempt: n to a power, times a number of ways, n being the length.

    `unambiguous`: the pattern is decided.
    UndecidedError if there is no such bound, or none that is quickly found.
    """
    return (_bound_scans(node), 1) if unambiguous else _bound_node_steps(node)


def is_pattern_unambiguous(node: Node) -> bool:
    """Tell whether a whole pattern is known to be decided."""
    try:
        return measure_repeat_depth(node) <= MAX_REPEAT_DEPTH and is_unambiguous(node)
    except UnknownCostError:
        return False


def measure_repeat_depth(node: Node) -> int:
    """Give how many repetitions are inside one another: each doubles the work of looking ahead."""
    match node:
        case Seq(nodes) | Alt(nodes):
            return max(map(measure_repeat_depth, nodes), default=0)
        case Group(body) | Atomic(body) | Look(body):
            return measure_repeat_depth(body)
        case Repeat(body):
            return 1 + measure_repeat_depth(body)
    return 0


def _bound_node_steps(node: Node) -> tuple[int, int]:
    match node:
        case Seq(nodes):
            powers = [_bound_node_steps(n) for n in nodes]
            return sum(p for p, _ in powers), prod(ways for _, ways in powers)
        case Alt(branches):
            powers = [_bound_node_steps(b) for b in branches]
            return max(p for p, _ in powers), sum(ways for _, ways in powers)
        case Group(body) | Atomic(body) | Look(body):
            return _bound_node_steps(body)
        case BackRef():
            return 1, 1
        case Repeat():
            return _bound_repeat_steps(node)
    return 0, 1


def _bound_repeat_steps(node: Repeat) -> tuple[int, int]:
    if node.most <= 1:
        inner, ways = _bound_node_steps(node.body)
        return inner, ways + 1
    if isinstance(node.body, Chars):
        return (0, _SMALL_COUNT) if node.most <= _SMALL_COUNT else (1, 1)
    if measure_repeat_depth(node) > MAX_REPEAT_DEPTH:
        raise UnknownCostError
    again = _join_choices(MATCH_END, _find_next_round(node, MATCH_END))
    if not compute_min_length(node.body) or not is_unambiguous(
        node.body, _Continuation(again, again)
    ):
        raise UnknownCostError
    return 1 + _bound_scans(node.body), 1


def _bound_scans(node: Node) -> int:
    """Bound the work of a decided node: look-arounds and references may each read on."""
    match node:
        case Seq(nodes) | Alt(nodes):
            parts = [_bound_scans(n) for n in nodes]
            return max([p for p in parts if p <= 1], default=0) + sum(p for p in parts if p > 1)
        case Group(body) | Atomic(body):
            return _bound_scans(body)
        case Look(body):
            return 2 * _bound_scans(body)
        case BackRef():
            return 2
        case Repeat(body, _, most):
            inner = _bound_scans(body)
            return max(1, inner) if most > _SMALL_COUNT else inner
    return 0


def stays_in_line(node: Node) -> bool:
    """Tell whether no repetition of a decided pattern can go beyond the end of a line."""
    match node:
        case Seq(nodes) | Alt(nodes):
            return all(map(stays_in_line, nodes))
        case Group(body) | Atomic(body):
            return stays_in_line(body)
        case Repeat(body, _, most):
            return stays_in_line(body) and (most <= _SMALL_COUNT or not _can_match_newline(body))
        case Look(Group(Chars())):
            return True
    return isinstance(node, Chars | Assertion)


def _can_match_newline(node: Node) -> bool:
    match node:
        case Chars(chars):
            return "\n" in chars
        case Seq(nodes) | Alt(nodes):
            return any(map(_can_match_newline, nodes))
        case Group(body) | Atomic(body) | Repeat(body):
            return _can_match_newline(body)
    return True


def merge_set_repeats(node: Node) -> Node:
    """Write `(?:S++|X)*+` as `(?:S|X)*+`, S a set, where X begins with none of it: the same."""
    match node:
        case Seq(nodes):
            return Seq(tuple(map(merge_set_repeats, nodes)))
        case Alt(branches):
            return Alt(tuple(map(merge_set_repeats, branches)))
        case Group(body, number):
            return Group(merge_set_repeats(body), number)
        case Atomic(body):
            return Atomic(Group(merge_set_repeats(body.body), body.number))
        case Repeat():
            return _merge_repeat(node)
    return node


def _merge_repeat(node: Repeat) -> Repeat:
    least, most, kind, form = node.least, node.most, node.kind, node.form
    match node.body:
        case Group(Alt(branches), 0) if kind == "possessive" and most == UNBOUNDED and least <= 1:
            one_by_one = Alt(
                tuple(merge_set_repeats(_reduce_to_single(b, branches)) for b in branches)
            )
            return Repeat(Group(one_by_one, 0), least, most, kind, form)
    return Repeat(merge_set_repeats(node.body), least, most, kind, form)


def _reduce_to_single(branch: Node, branches: tuple[Node, ...]) -> Node:
    match branch:
        case Repeat(Chars(chars), 1, most, kind) if most == UNBOUNDED and kind != "lazy":
            others = _join_choices(
                *(find_next_chars(b, MATCH_END) for b in branches if b is not branch)
            )
            if all(t and not t[0].intersects(chars) for t in others):
                return Chars(chars)
    return branch
