"""The compiler from the tree of a pattern to the steps of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from osprofile.javaregex.charset import MembershipCache
from osprofile.javaregex.machine import PART_END, PatternEnd, Program, Step
from osprofile.javaregex.repetitions import CharRepeat, Curly, GroupCurly, Loop, LoopStart, OptionalStep
from osprofile.javaregex.steps import (
    ASSERTION_CHECKS,
    AssertionStep,
    BackRefStep,
    CharStep,
    ChoiceStep,
    EmptyStep,
    GroupEnd,
    GroupStart,
    LineBreakStep,
    LookAhead,
    LookBehind,
    LookBehindEnd,
    TextStep,
)
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    BackRef,
    Chars,
    Cluster,
    Group,
    LineBreak,
    Look,
    Node,
    ParsedPattern,
    Repeat,
    RepeatForm,
    Seq,
)
from osprofile.javaregex.tree_info import compute_min_length

if TYPE_CHECKING:
    from collections.abc import Callable


def compile_program(parsed: ParsedPattern) -> Program:
    """Return a pattern as a program of the machine."""
    return _Compiler(parsed).compile_pattern()


class _Compiler:
    """Builds the steps from the end of the pattern to its begin, because each knows its next."""

    def __init__(self, parsed: ParsedPattern) -> None:
        self._parsed = parsed
        self._local_count = 0
        self._outer_loops: list[Loop] = []

    def compile_pattern(self) -> Program:
        parsed = self._parsed
        start = self._build_node(parsed.tree, PatternEnd())
        program = Program(
            parsed.text, start, group_count=parsed.group_count, min_length=compute_min_length(parsed.tree)
        )
        program.local_count = self._local_count
        program.is_anchored = _is_anchored(parsed.tree)
        if not parsed.has_backrefs:
            for number, loop in enumerate(self._outer_loops):
                loop.failed_index = number
            program.loop_count = len(self._outer_loops)
        return program

    def _allocate_local(self) -> int:
        self._local_count += 1
        return self._local_count - 1

    def _build_node(self, node: Node, after: Step) -> Step:
        match node:
            case Seq(nodes):
                return self._build_sequence(nodes, after)
            case Alt(branches):
                return _link_step(ChoiceStep(tuple(self._build_node(b, after) for b in branches)), after)
            case Group(body, number):
                return self._build_group(body, number, after)
            case Repeat():
                return self._build_repeat(node, after)
        return _link_step(self._build_simple(node), after)

    def _build_simple(self, node: Chars | Atomic | Look | BackRef | Assertion | LineBreak | Cluster) -> Step:
        match node:
            case Chars(chars):
                return CharStep(MembershipCache(chars))
            case Atomic(body):
                return OptionalStep(self._build_node(body, PART_END), "possessive", is_required=True)
            case Look():
                return self._build_look(node)
        return _make_leaf_step(node)

    def _build_sequence(self, nodes: tuple[Node, ...], after: Step) -> Step:
        if not nodes:
            return _link_step(EmptyStep(), after)
        text = ""
        for node in reversed(nodes):
            char = node.chars.single_char if isinstance(node, Chars) else None
            if char:
                text = char + text
                continue
            after = self._build_node(node, _build_text(text, after))
            text = ""
        return _build_text(text, after)

    def _build_group(self, body: Node, number: int, after: Step) -> Step:
        if not number:
            return self._build_node(body, after)
        local = self._allocate_local()
        close = _link_step(GroupEnd(local, number), after)
        return _link_step(GroupStart(local), self._build_node(body, close))

    def _build_look(self, node: Look) -> Step:
        if not node.behind:
            return LookAhead(self._build_node(node.body, PART_END), negative=node.negative)
        loops = len(self._outer_loops)
        body = self._build_node(node.body, LookBehindEnd())
        del self._outer_loops[loops:]
        return LookBehind(body, node)

    def _build_repeat(self, node: Repeat, after: Step) -> Step:
        loops = len(self._outer_loops)
        step = self._build_repeat_step(node, after)
        if isinstance(node.body, Group):
            del self._outer_loops[loops:]
        if isinstance(step, LoopStart) and node.kind == "greedy" and node.most == UNBOUNDED:
            self._outer_loops.append(step.loop)
        return step

    def _build_repeat_step(self, node: Repeat, after: Step) -> Step:
        body, least, most, kind = node.body, node.least, node.most, node.kind
        if node.form is RepeatForm.OPTION:
            inside = self._build_node(body, after)
            both = (after, inside) if kind == "lazy" else (inside, after)
            return _link_step(ChoiceStep(both), after)
        if node.form is RepeatForm.LOOP:
            return self._build_loop(node, after)
        if isinstance(body, Chars) and node.form is not RepeatForm.QUESTION:
            curly = node.form is not RepeatForm.RUN
            return _link_step(
                CharRepeat(MembershipCache(body.chars), least, most, kind, records_end=curly), after
            )
        if node.form is RepeatForm.GROUP_CURLY and isinstance(body, Group):
            inside = self._build_node(body.body, PART_END)
            return _link_step(GroupCurly(inside, least, most, kind, body.number), after)
        inside = self._build_node(body, PART_END)
        if node.form is RepeatForm.QUESTION:
            return _link_step(OptionalStep(inside, kind), after)
        return _link_step(Curly(inside, least, most, kind), after)

    def _build_loop(self, node: Repeat, after: Step) -> Step:
        """Build a loop; a group that does not capture notes where it begins, too."""
        group = node.body
        number = group.number if isinstance(group, Group) else 0
        inner = group.body if isinstance(group, Group) else group
        begin = self._allocate_local()
        loop = Loop(node.least, node.most, node.kind, count_local=self._allocate_local(), begin_local=begin)
        _link_step(loop, after)
        close = _link_step(GroupEnd(begin, number), loop) if number else loop
        loop.body = _link_step(GroupStart(begin), self._build_node(inner, close))
        return _link_step(LoopStart(loop), after)


def _link_step(step: Step, after: Step) -> Step:
    step.next = after
    return step


def _build_text(text: str, after: Step) -> Step:
    return _link_step(TextStep(text), after) if text else after


def _make_leaf_step(node: BackRef | Assertion | LineBreak | Cluster) -> Step:
    match node:
        case BackRef(number, folding):
            return BackRefStep(number, _get_case_fold(folding))
        case Assertion(where):
            return AssertionStep(ASSERTION_CHECKS.get(where) or _get_boundary_check(where))
        case LineBreak():
            return LineBreakStep()
        case Cluster():
            from osprofile.javaregex.clusters import ClusterStep

            return ClusterStep()
    assert_never(node)


def _get_boundary_check(kind: AssertionKind) -> Callable[..., bool]:
    from osprofile.javaregex.clusters import BOUNDARY_CHECKS

    return BOUNDARY_CHECKS[kind]


def _get_case_fold(folding: str) -> Callable[[int], int] | None:
    if folding == "unicode":
        from osprofile.javaregex import unicode13

        return unicode13.to_folded
    return _lower_ascii if folding else None


def _lower_ascii(point: int) -> int:
    return point + 32 if 0x41 <= point <= 0x5A else point


def _is_anchored(node: Node) -> bool:
    """Return whether a pattern can match at the begin of the value only."""
    match node:
        case Assertion(AssertionKind.BEGIN):
            return True
        case Seq(nodes):
            return bool(nodes) and _is_anchored(nodes[0])
        case Group(body) | Atomic(body):
            return _is_anchored(body)
        case Alt(branches):
            return all(map(_is_anchored, branches))
    return False
