"""The cost of a pattern: how the number of steps grows with the length of a value.

A pattern is *unambiguous* if at every choice (an alternative, one more round of a repetition or
not) the next two characters rule out all ways but one. Then backtracking never finds another way:
it ends at once, the time is linear in the length of the value, and possessive repetitions and
atomic groups match what ordinary ones do.

What can come next at a node (`NextChars`) is a tuple of ways, each a tuple of at most two sets; in
a shorter way the match may end there.
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
    get_children,
)
from osprofile.javaregex.tree_info import compute_min_length

NextChars = tuple[tuple[CharSet, ...], ...]
MATCH_END: NextChars = ((),)
_ANY_CHARS: NextChars = ((ANY,),)
# Every comparison is of all pairs of ways, and every level of repetition doubles the work: a
# pattern beyond these bounds is left to the engines with a time-out.
_MAX_CHOICES = 48
MAX_REPEAT_DEPTH = 6
_SMALL_COUNT = 8  # a repetition of up to so many characters counts as constant work
_LINE_END_ASSERTIONS = frozenset({
    AssertionKind.LAST_LINE_END, AssertionKind.UNIX_LAST_LINE_END, AssertionKind.LINE_END, AssertionKind.UNIX_LINE_END,
})  # fmt: skip


class UnknownCostError(Exception):
    """Raised for a pattern without a known bound."""


def _prepend_chars(chars: CharSet, after: NextChars) -> NextChars:
    return tuple(dict.fromkeys((chars, *t[:1]) for t in after))


def _join_choices(*ways: NextChars) -> NextChars:
    joined = tuple(dict.fromkeys(t for way in ways for t in way))
    if len(joined) > _MAX_CHOICES:
        raise UnknownCostError
    return joined


def find_next_chars(node: Node, after: NextChars) -> NextChars:
    """Return what can come next at the begin of a node; `after` is what can follow the node."""
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
            within = _find_next_round(node, after)
            return _join_choices(within, after) if node.least == 0 else within
    return _find_special_chars(node, after)


def _find_special_chars(node: Node, after: NextChars) -> NextChars:
    match node:
        case Assertion(AssertionKind.END):
            return ((EMPTY,),)
        case Assertion(where) if where in _LINE_END_ASSERTIONS:
            return ((LINE_ENDS,),)
        case LineBreak():
            crlf = _prepend_chars(CharSet.from_chars("\r"), _prepend_chars(CharSet.from_chars("\n"), after))
            return _join_choices(_prepend_chars(VERTICAL_SPACE, after), crlf)
        case Look(Group(Chars(chars)), behind=False, negative=True):
            return ((~chars,),)
    return _ANY_CHARS


def _find_next_round(node: Repeat, after: NextChars) -> NextChars:
    """Return what can come next at the begin of one more round of a repetition."""
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

    Inside a part that is never tried again (`sealed`), a way is chosen regardless of what follows
    the part. `within_seal` ends with the part, `after` does not.
    """

    after: NextChars
    within_seal: NextChars
    sealed: bool = False

    def extend_before(self, node: Node) -> _Continuation:
        """Return what can follow the node before this one."""
        after = find_next_chars(node, self.after)
        return _Continuation(
            after, find_next_chars(node, self.within_seal) if self.sealed else after, self.sealed
        )


_PATTERN_END = _Continuation(MATCH_END, MATCH_END)


def is_unambiguous(node: Node, follow: _Continuation = _PATTERN_END) -> bool:
    """Return whether a node is unambiguous."""
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
            return not follow.sealed and not _choices_overlap(((CharSet.from_chars("\n"),),), follow.after)
    return is_unambiguous(node.body) if isinstance(node, Look) else True


def _is_sequence_unambiguous(nodes: tuple[Node, ...], follow: _Continuation) -> bool:
    for part in reversed(nodes):
        if not is_unambiguous(part, follow):
            return False
        follow = follow.extend_before(part)
    return True


def _is_choice_unambiguous(branches: tuple[Node, ...], follow: _Continuation) -> bool:
    # In a sealed part, an empty branch would stay chosen even if the match then fails.
    if follow.sealed and not all(map(compute_min_length, branches[:-1])):
        return False
    if len(branches) > _MAX_CHOICES:
        raise UnknownCostError
    chosen = [find_next_chars(branch, follow.within_seal) for branch in branches]
    others = [find_next_chars(branch, follow.after) for branch in branches]
    if any(_choices_overlap(a, b) for n, a in enumerate(chosen) for b in others[n + 1 :]):
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
    sealed_round = _find_next_round(node, within)
    open_round = _find_next_round(node, follow.after)
    if node.least != node.most and _choices_overlap(sealed_round, follow.after):
        return False
    after = follow.after if node.most == 1 else _join_choices(follow.after, open_round)
    if not possessive:
        within = within if node.most == 1 else _join_choices(within, sealed_round)
    return is_unambiguous(node.body, _Continuation(after, within, sealed))


def bound_steps(node: Node, *, unambiguous: bool) -> tuple[int, int]:
    """Return a bound of the steps of one attempt on n characters: (power, ways) for ways * n**power.

    `unambiguous`: the pattern is known to be so.
    UnknownCostError if there is no such bound, or none that is quickly found.
    """
    return (_bound_scans(node), 1) if unambiguous else _bound_node_steps(node)


def is_pattern_unambiguous(node: Node) -> bool:
    """Return whether a whole pattern is known to be unambiguous."""
    try:
        return measure_repeat_depth(node) <= MAX_REPEAT_DEPTH and is_unambiguous(node)
    except UnknownCostError:
        return False


def measure_repeat_depth(node: Node) -> int:
    """Return how many repetitions are nested; each doubles the work of looking ahead."""
    inner = max(map(measure_repeat_depth, get_children(node)), default=0)
    return inner + isinstance(node, Repeat)


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
    after = _join_choices(MATCH_END, _find_next_round(node, MATCH_END))
    if not compute_min_length(node.body) or not is_unambiguous(node.body, _Continuation(after, after)):
        raise UnknownCostError
    return 1 + _bound_scans(node.body), 1


def _bound_scans(node: Node) -> int:
    """Return the power for an unambiguous node: look-arounds and references may each read on."""
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
    """Return whether no repetition of an unambiguous pattern can go beyond the end of a line."""
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
    """Return a pattern with `(?:S++|X)*+` written `(?:S|X)*+`, where S is a set.

    Both match the same if X does not begin with a character of S, but only the second is
    unambiguous: in the first, one more character of S could begin a new round as well.
    """
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
            merged = tuple(merge_set_repeats(_reduce_to_single(b, branches)) for b in branches)
            return Repeat(Group(Alt(merged), 0), least, most, kind, form)
    return Repeat(merge_set_repeats(node.body), least, most, kind, form)


def _reduce_to_single(branch: Node, branches: tuple[Node, ...]) -> Node:
    match branch:
        case Repeat(Chars(chars), 1, most, kind) if most == UNBOUNDED and kind != "lazy":
            others = _join_choices(*(find_next_chars(b, MATCH_END) for b in branches if b is not branch))
            if all(t and not t[0].intersects(chars) for t in others):
                return Chars(chars)
    return branch
