"""What is known about a part of a pattern before it is matched: the JDK's `TreeInfo`, and more.

Lengths in a `TreeInfo` overflow as Java's `int` does: the bounds of look-behinds and the algorithm
of a repetition depend on these very numbers. Elsewhere, use `compute_min_length`.
"""

from __future__ import annotations

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
    Node,
    Repeat,
    RepeatForm,
    Seq,
    get_children,
)


def wrap_int32(number: int) -> int:
    """Return a number as a Java `int` holds it."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000


class TreeInfo:
    """The lengths of a part of a pattern, as the JDK adds them up.

    The JDK stops at a loop, because that node does not pass the walk on, and so does this:
    `_walk_node` returns whether to go on.
    """

    __slots__ = ("_pending", "deterministic", "max_length", "max_valid", "min_length")

    def __init__(self) -> None:
        self._pending: list[tuple[int, int, bool]] = []
        self._reset_counts()

    @staticmethod
    def from_node(node: Node) -> TreeInfo:
        """Return the lengths of a node by itself."""
        info = TreeInfo()
        info._walk_alone(node)
        return info

    def _reset_counts(self) -> None:
        self.min_length = 0
        self.max_length = 0
        self.max_valid = True
        self.deterministic = True

    def _walk_alone(self, node: Node | None) -> None:
        """Walk a node without what follows it."""
        outer, self._pending = self._pending, []
        if node is not None:
            self._walk_node(node)
        for shortest, longest, valid in reversed(self._pending):
            self.min_length = wrap_int32(self.min_length + shortest)
            self.max_length = wrap_int32(self.max_length + longest)
            self.max_valid &= valid
            self.deterministic = False
        self._pending = outer

    def _walk_node(self, node: Node) -> bool:
        match node:
            case Chars():
                self._add_lengths(1, 1)
            case Seq(nodes):
                return all(self._walk_node(n) for n in nodes)
            case Group(body):
                return self._walk_node(body)
            case Alt(branches):
                self._walk_branches(branches)
            case Repeat():
                return self._walk_repeat(node)
            case Atomic(body):
                self._walk_alone(body)
            case BackRef():
                self.max_valid = False
            case LineBreak():
                self._add_lengths(1, 2)
            case Cluster():
                self._add_lengths(1, 0)
                self.deterministic = False
        return True

    def _add_lengths(self, shortest: int, longest: int) -> None:
        self.min_length = wrap_int32(self.min_length + shortest)
        self.max_length = wrap_int32(self.max_length + longest)

    def _walk_branches(self, branches: tuple[Node | None, ...]) -> None:
        """Walk alternatives.

        As in the JDK, what follows them is counted from zero; `_walk_alone` adds them at its end.
        """
        shortest, longest, valid = self.min_length, self.max_length, self.max_valid
        least, most = UNBOUNDED, -1
        for branch in branches:
            self._reset_counts()
            self._walk_alone(branch)
            least = min(least, self.min_length)
            most = max(most, self.max_length)
            valid &= self.max_valid
        self._reset_counts()
        self._pending.append((wrap_int32(shortest + least), wrap_int32(longest + most), valid))

    def _walk_repeat(self, node: Repeat) -> bool:
        match node.form:
            case RepeatForm.OPTION:
                self._walk_branches((node.body, None))
            case RepeatForm.QUESTION:
                shortest = self.min_length
                self._walk_alone(node.body)
                self.min_length = shortest
                self.deterministic = False
            case RepeatForm.RUN:
                self._add_lengths(node.least, UNBOUNDED if self.max_valid else 0)
                self.deterministic = False
            case RepeatForm.LOOP:
                self.max_valid = self.deterministic = False
                return False
            case RepeatForm.CURLY | RepeatForm.GROUP_CURLY:
                self._walk_curly(node)
        return True

    def _walk_curly(self, node: Repeat) -> None:
        shortest, longest = self.min_length, self.max_length
        valid, deterministic = self.max_valid, self.deterministic
        self._reset_counts()
        self._walk_alone(node.body)
        least = wrap_int32(self.min_length * node.least + shortest)
        self.min_length = 0xFFFFFFF if least < shortest else least  # the JDK's own number
        if valid and self.max_valid:
            self.max_length = wrap_int32(self.max_length * node.most + longest)
            self.max_valid = self.max_length >= longest
        else:
            self.max_valid = False
        self.deterministic = self.deterministic and node.least == node.most and deterministic


def compute_min_length(node: Node) -> int:
    """Return a lower bound of the length of a match, in code points."""
    match node:
        case Chars() | LineBreak() | Cluster():
            return 1
        case Seq(nodes):
            return sum(map(compute_min_length, nodes))
        case Alt(branches):
            return min(map(compute_min_length, branches))
        case Group(body) | Atomic(body):
            return compute_min_length(body)
        case Repeat(body, least):
            return compute_min_length(body) * least
    return 0


_WHOLE_TEXT_ASSERTIONS = frozenset(
    {AssertionKind.BEGIN, AssertionKind.END, AssertionKind.LAST_LINE_END, AssertionKind.UNIX_LAST_LINE_END, AssertionKind.LAST_MATCH,
     AssertionKind.CLUSTER_EDGE}
)  # fmt: skip


def is_line_based(node: Node) -> bool:
    """Return whether a node finds the same in a text as in each of its lines.

    It does if it neither matches a newline nor asks for one or for an end of the text. Lines are
    separated by newlines; in a text with carriage returns `$` may still make a difference.
    """
    match node:
        case Chars(chars):
            return "\n" not in chars
        case Assertion(where):
            return where not in _WHOLE_TEXT_ASSERTIONS
        case LineBreak() | Cluster():
            return False
    return all(map(is_line_based, get_children(node)))  # a back-reference has no newline either
