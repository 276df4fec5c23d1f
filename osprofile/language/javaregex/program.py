"""From the tree of a pattern to the steps of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from osprofile.language.javaregex.charset import Members
from osprofile.language.javaregex.loops import Enter, Loop
from osprofile.language.javaregex.machine import ACCEPT, Found, Program, Step
from osprofile.language.javaregex.repeats import Curly, GroupCurly, Question, Span
from osprofile.language.javaregex.steps import (
    CHECKS,
    Ahead,
    Behind,
    BehindEnd,
    Break,
    Check,
    Choice,
    Close,
    Empty,
    One,
    Open,
    Same,
    Text,
)
from osprofile.language.javaregex.study import shortest
from osprofile.language.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    Atomic,
    BackRef,
    Chars,
    Cluster,
    Form,
    Group,
    LineBreak,
    Look,
    Node,
    Parsed,
    Repeat,
    Seq,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def compile_program(parsed: Parsed) -> Program:
    """Give the steps of a pattern."""
    return _Compiler(parsed).program()


class _Compiler:
    """Builds steps from the end of the pattern to its beginning: each knows its next."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._locals = 0
        self._outer_loops: list[Loop] = []

    def program(self) -> Program:
        parsed = self._parsed
        start = self._build(parsed.tree, Found())
        program = Program(
            parsed.text, start, groups=parsed.groups, min_length=shortest(parsed.tree)
        )
        program.locals = self._locals
        program.anchored = _anchored(parsed.tree)
        if not parsed.has_backrefs:
            for number, loop in enumerate(self._outer_loops):
                loop.tried = number
            program.loops = len(self._outer_loops)
        return program

    def _local(self) -> int:
        self._locals += 1
        return self._locals - 1

    def _build(self, node: Node, after: Step) -> Step:
        match node:
            case Seq(nodes):
                return self._sequence(nodes, after)
            case Alt(branches):
                return _linked(Choice(tuple(self._build(b, after) for b in branches)), after)
            case Group(body, number):
                return self._group(body, number, after)
            case Repeat():
                return self._repeat(node, after)
        return _linked(self._simple(node), after)

    def _simple(
        self, node: Chars | Atomic | Look | BackRef | Assertion | LineBreak | Cluster
    ) -> Step:
        match node:
            case Chars(chars):
                return One(Members(chars))
            case Atomic(body):
                return Question(self._build(body, ACCEPT), "possessive", once=True)
            case Look():
                return self._look(node)
        return _simple(node)

    def _sequence(self, nodes: tuple[Node, ...], after: Step) -> Step:
        if not nodes:
            return _linked(Empty(), after)
        text = ""
        for node in reversed(nodes):
            only = node.chars.only if isinstance(node, Chars) else None
            if only:
                text = only + text
                continue
            after = self._build(node, _text(text, after))
            text = ""
        return _text(text, after)

    def _group(self, body: Node, number: int, after: Step) -> Step:
        if not number:
            return self._build(body, after)
        local = self._local()
        close = _linked(Close(local, number), after)
        return _linked(Open(local), self._build(body, close))

    def _look(self, node: Look) -> Step:
        if not node.behind:
            return Ahead(self._build(node.body, ACCEPT), negative=node.negative)
        loops = len(self._outer_loops)
        body = self._build(node.body, BehindEnd())
        del self._outer_loops[loops:]
        return Behind(body, node)

    def _repeat(self, node: Repeat, after: Step) -> Step:
        loops = len(self._outer_loops)
        step = self._repeated(node, after)
        if isinstance(node.body, Group):
            del self._outer_loops[loops:]
        if isinstance(step, Enter) and node.kind == "greedy" and node.most == UNBOUNDED:
            self._outer_loops.append(step.loop)
        return step

    def _repeated(self, node: Repeat, after: Step) -> Step:
        body, least, most, kind = node.body, node.least, node.most, node.kind
        if node.form is Form.OPTION:
            inside = self._build(body, after)
            both = (after, inside) if kind == "lazy" else (inside, after)
            return _linked(Choice(both), after)
        if node.form is Form.LOOP:
            return self._loop(node, after)
        if isinstance(body, Chars) and node.form is not Form.QUESTION:
            notes = node.form is not Form.RUN
            return _linked(Span(Members(body.chars), least, most, kind, notes=notes), after)
        if node.form is Form.GROUP_CURLY and isinstance(body, Group):
            inside = self._build(body.body, ACCEPT)
            return _linked(GroupCurly(inside, least, most, kind, body.number), after)
        inside = self._build(body, ACCEPT)
        if node.form is Form.QUESTION:
            return _linked(Question(inside, kind), after)
        return _linked(Curly(inside, least, most, kind), after)

    def _loop(self, node: Repeat, after: Step) -> Step:
        """Build a loop; even a group that does not capture notes where it begins."""
        group = node.body
        number = group.number if isinstance(group, Group) else 0
        inner = group.body if isinstance(group, Group) else group
        begin = self._local()
        loop = Loop(node.least, node.most, node.kind, count=self._local(), begin=begin)
        _linked(loop, after)
        close = _linked(Close(begin, number), loop) if number else loop
        loop.body = _linked(Open(begin), self._build(inner, close))
        return _linked(Enter(loop), after)


def _linked(step: Step, after: Step) -> Step:
    step.next = after
    return step


def _text(text: str, after: Step) -> Step:
    return _linked(Text(text), after) if text else after


def _simple(node: BackRef | Assertion | LineBreak | Cluster) -> Step:
    match node:
        case BackRef(number, folding):
            return Same(number, _fold(folding))
        case Assertion(where):
            return Check(CHECKS[where] if where in CHECKS else _cluster_checks()[where])
        case LineBreak():
            return Break()
        case Cluster():
            from osprofile.language.javaregex.clusters import OneCluster

            return OneCluster()
    assert_never(node)


def _cluster_checks() -> dict[Where, Callable[..., bool]]:
    from osprofile.language.javaregex import clusters

    return clusters.CHECKS


def _fold(folding: str) -> Callable[[int], int] | None:
    if folding == "unicode":
        from osprofile.language.javaregex import unicode13

        return unicode13.fold
    return _ascii_lower if folding else None


def _ascii_lower(point: int) -> int:
    return point + 32 if 0x41 <= point <= 0x5A else point


def _anchored(node: Node) -> bool:
    """Tell whether a pattern can only match at the very beginning."""
    match node:
        case Assertion(Where.BEGIN):
            return True
        case Seq(nodes):
            return bool(nodes) and _anchored(nodes[0])
        case Group(body) | Atomic(body):
            return _anchored(body)
        case Alt(branches):
            return all(map(_anchored, branches))
    return False
