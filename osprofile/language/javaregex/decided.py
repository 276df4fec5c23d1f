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

from osprofile.language.javaregex.charset import ANY, EMPTY, LINE_ENDS, VERTICAL, CharSet
from osprofile.language.javaregex.study import shortest
from osprofile.language.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    Atomic,
    BackRef,
    Chars,
    Group,
    LineBreak,
    Look,
    Node,
    Repeat,
    Seq,
    Where,
)

Ahead = tuple[tuple[CharSet, ...], ...]
MATCHED: Ahead = ((),)
_UNKNOWN: Ahead = ((ANY,),)
_MOST = 48
DEEPEST = 6
_FEW = 8
_ENDS = frozenset({
    Where.LAST_LINE_END, Where.UNIX_LAST_LINE_END, Where.LINE_END, Where.UNIX_LINE_END,
})  # fmt: skip


class UndecidedError(Exception):
    """Nothing can be promised about a pattern."""


def _then(chars: CharSet, after: Ahead) -> Ahead:
    return tuple(dict.fromkeys((chars, *t[:1]) for t in after))


def _either(*ways: Ahead) -> Ahead:
    joined = tuple(dict.fromkeys(t for way in ways for t in way))
    if len(joined) > _MOST:
        raise UndecidedError
    return joined


def ahead(node: Node, after: Ahead) -> Ahead:
    """Give what can come next where a node begins, `after` being what can follow it."""
    match node:
        case Chars(chars):
            return _then(chars, after)
        case Seq(nodes):
            for part in reversed(nodes):
                after = ahead(part, after)
            return after
        case Group(body) | Atomic(body):
            return ahead(body, after)
        case Alt(branches):
            return _either(*(ahead(branch, after) for branch in branches))
        case Repeat():
            again = _rounds(node, after)
            return _either(again, after) if node.least == 0 else again
    return _special(node, after)


def _special(node: Node, after: Ahead) -> Ahead:
    match node:
        case Assertion(Where.END):
            return ((EMPTY,),)
        case Assertion(where) if where in _ENDS:
            return ((LINE_ENDS,),)
        case LineBreak():
            crlf = _then(CharSet.chars("\r"), _then(CharSet.chars("\n"), after))
            return _either(_then(VERTICAL, after), crlf)
        case Look(Group(Chars(chars)), behind=False, negative=True):
            return ((~chars,),)
    return _UNKNOWN


def _rounds(node: Repeat, after: Ahead) -> Ahead:
    """Give what can come next where a repetition goes for one more round."""
    if node.most == 0:
        return ()
    once = ahead(node.body, after)
    return once if node.most == 1 else ahead(node.body, _either(after, once))


def _clash(some: Ahead, others: Ahead) -> bool:
    for one in some:
        for other in others:
            pairs = list(zip(one, other, strict=False))
            if pairs and all(a.meets(b) for a, b in pairs):
                return True
    return False


@final
@dataclass(frozen=True, slots=True)
class _Follow:
    """What can follow a node.

    Inside what is never tried again (`sealed`), a way is taken without regard to what comes behind
    the seal: `inside` then ends there, while `after` does not.
    """

    after: Ahead
    inside: Ahead
    sealed: bool = False

    def before(self, node: Node) -> _Follow:
        """Give what can follow where a node begins."""
        after = ahead(node, self.after)
        return _Follow(after, ahead(node, self.inside) if self.sealed else after, self.sealed)


_LAST = _Follow(MATCHED, MATCHED)


def decided(node: Node, follow: _Follow = _LAST) -> bool:
    """Tell whether a node is decided."""
    match node:
        case Seq(nodes):
            return _decided_sequence(nodes, follow)
        case Group(body) | Atomic(body):
            seal = isinstance(node, Atomic)
            return decided(body, _Follow(follow.after, MATCHED, sealed=True) if seal else follow)
        case Alt(branches):
            return _decided_alternatives(branches, follow)
        case Repeat():
            return _decided_repeat(node, follow)
        case LineBreak():
            return not follow.sealed and not _clash(((CharSet.chars("\n"),),), follow.after)
    return decided(node.body) if isinstance(node, Look) else True


def _decided_sequence(nodes: tuple[Node, ...], follow: _Follow) -> bool:
    for part in reversed(nodes):
        if not decided(part, follow):
            return False
        follow = follow.before(part)
    return True


def _decided_alternatives(branches: tuple[Node, ...], follow: _Follow) -> bool:
    # A sealed choice for nothing would stand, though the match were to fail for it.
    if follow.sealed and not all(map(shortest, branches[:-1])):
        return False
    if len(branches) > _MOST:
        raise UndecidedError
    taken = [ahead(branch, follow.inside) for branch in branches]
    instead = [ahead(branch, follow.after) for branch in branches]
    if any(_clash(a, b) for n, a in enumerate(taken) for b in instead[n + 1 :]):
        return False
    return all(decided(branch, follow) for branch in branches)


def _decided_repeat(node: Repeat, follow: _Follow) -> bool:
    if node.most == 0:
        return True
    possessive = node.kind == "possessive"
    sealed = follow.sealed or possessive
    if not shortest(node.body) or (sealed and node.kind == "lazy"):
        return False
    within = MATCHED if possessive else follow.inside
    taken, again = _rounds(node, within), _rounds(node, follow.after)
    if node.least != node.most and _clash(taken, follow.after):
        return False
    after = follow.after if node.most == 1 else _either(follow.after, again)
    if not possessive:
        within = within if node.most == 1 else _either(within, taken)
    return decided(node.body, _Follow(after, within, sealed))


def power(node: Node, *, sure: bool) -> tuple[int, int]:
    """Bound the steps of one attempt: n to a power, times a number of ways, n being the length.

    `sure`: the pattern is decided.
    UndecidedError if there is no such bound, or none that is quickly found.
    """
    return (_scans(node), 1) if sure else _power(node)


def is_decided(node: Node) -> bool:
    """Tell whether a whole pattern is known to be decided."""
    try:
        return repeat_depth(node) <= DEEPEST and decided(node)
    except UndecidedError:
        return False


def repeat_depth(node: Node) -> int:
    """Give how many repetitions are inside one another: each doubles the work of looking ahead."""
    match node:
        case Seq(nodes) | Alt(nodes):
            return max(map(repeat_depth, nodes), default=0)
        case Group(body) | Atomic(body) | Look(body):
            return repeat_depth(body)
        case Repeat(body):
            return 1 + repeat_depth(body)
    return 0


def _power(node: Node) -> tuple[int, int]:
    match node:
        case Seq(nodes):
            powers = [_power(n) for n in nodes]
            return sum(p for p, _ in powers), prod(ways for _, ways in powers)
        case Alt(branches):
            powers = [_power(b) for b in branches]
            return max(p for p, _ in powers), sum(ways for _, ways in powers)
        case Group(body) | Atomic(body) | Look(body):
            return _power(body)
        case BackRef():
            return 1, 1
        case Repeat():
            return _repeat_power(node)
    return 0, 1


def _repeat_power(node: Repeat) -> tuple[int, int]:
    if node.most <= 1:
        inner, ways = _power(node.body)
        return inner, ways + 1
    if isinstance(node.body, Chars):
        return (0, _FEW) if node.most <= _FEW else (1, 1)
    if repeat_depth(node) > DEEPEST:
        raise UndecidedError
    again = _either(MATCHED, _rounds(node, MATCHED))
    if not shortest(node.body) or not decided(node.body, _Follow(again, again)):
        raise UndecidedError
    return 1 + _scans(node.body), 1


def _scans(node: Node) -> int:
    """Bound the work of a decided node: look-arounds and references may each read on."""
    match node:
        case Seq(nodes) | Alt(nodes):
            parts = [_scans(n) for n in nodes]
            return max([p for p in parts if p <= 1], default=0) + sum(p for p in parts if p > 1)
        case Group(body) | Atomic(body):
            return _scans(body)
        case Look(body):
            return 2 * _scans(body)
        case BackRef():
            return 2
        case Repeat(body, _, most):
            inner = _scans(body)
            return max(1, inner) if most > _FEW else inner
    return 0


def stays_in_line(node: Node) -> bool:
    """Tell whether no repetition of a decided pattern can go beyond the end of a line."""
    match node:
        case Seq(nodes) | Alt(nodes):
            return all(map(stays_in_line, nodes))
        case Group(body) | Atomic(body):
            return stays_in_line(body)
        case Repeat(body, _, most):
            return stays_in_line(body) and (most <= _FEW or not _may_take_newline(body))
        case Look(Group(Chars())):
            return True
    return isinstance(node, Chars | Assertion)


def _may_take_newline(node: Node) -> bool:
    match node:
        case Chars(chars):
            return "\n" in chars
        case Seq(nodes) | Alt(nodes):
            return any(map(_may_take_newline, nodes))
        case Group(body) | Atomic(body) | Repeat(body):
            return _may_take_newline(body)
    return True


def merged(node: Node) -> Node:
    """Write `(?:S++|X)*+` as `(?:S|X)*+`, S a set, where X begins with none of it: the same."""
    match node:
        case Seq(nodes):
            return Seq(tuple(map(merged, nodes)))
        case Alt(branches):
            return Alt(tuple(map(merged, branches)))
        case Group(body, number):
            return Group(merged(body), number)
        case Atomic(body):
            return Atomic(Group(merged(body.body), body.number))
        case Repeat():
            return _merged_repeat(node)
    return node


def _merged_repeat(node: Repeat) -> Repeat:
    least, most, kind, form = node.least, node.most, node.kind, node.form
    match node.body:
        case Group(Alt(branches), 0) if kind == "possessive" and most == UNBOUNDED and least <= 1:
            one_by_one = Alt(tuple(merged(_one_by_one(b, branches)) for b in branches))
            return Repeat(Group(one_by_one, 0), least, most, kind, form)
    return Repeat(merged(node.body), least, most, kind, form)


def _one_by_one(branch: Node, branches: tuple[Node, ...]) -> Node:
    match branch:
        case Repeat(Chars(chars), 1, most, kind) if most == UNBOUNDED and kind != "lazy":
            others = _either(*(ahead(b, MATCHED) for b in branches if b is not branch))
            if all(t and not t[0].meets(chars) for t in others):
                return Chars(chars)
    return branch
