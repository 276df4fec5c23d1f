"""What the JDK finds out about a part of a pattern before matching: its `TreeInfo`.

Lengths are Java ints and overflow as these do; the bounds of look-behinds and the choice of a
repetition's algorithm rest on just these numbers.
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
    Look,
    Node,
    Repeat,
    RepeatForm,
    Seq,
)


def wrap_int32(number: int) -> int:
    """Wrap a number as Java's `int` does."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000


class TreeInfo:
    """Walks a part of a pattern and adds up its lengths; `walk` tells whether to go on.

    The JDK stops at a loop, because that node does not pass the walk on: so does this.
    """

    __slots__ = ("_pending", "deterministic", "max_length", "max_valid", "min_length")

    def __init__(self) -> None:
        self._pending: list[tuple[int, int, bool]] = []
        self._reset_counts()

    @staticmethod
    def from_node(node: Node) -> TreeInfo:
        """Study a node by itself."""
        study = TreeInfo()
        study._walk_alone(node)  # its own
        return study

    def _reset_counts(self) -> None:
        self.min_length = 0
        self.max_length = 0
        self.max_valid = True
        self.deterministic = True

    def _walk_alone(self, node: Node | None) -> None:
        """Walk a node that has nothing after it."""
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
        """Walk alternatives; what follows is counted from zero, and added when it ends."""
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
        self.min_length = 0xFFFFFFF if least < shortest else least
        if valid and self.max_valid:
            self.max_length = wrap_int32(self.max_length * node.most + longest)
            self.max_valid = self.max_length >= longest
        else:
            self.max_valid = False
        self.deterministic = self.deterministic and node.least == node.most and deterministic


def compute_min_length(node: Node) -> int:
    """Give a number of code points that no match of a node can be shorter than."""
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
    """Say whether a node finds in each line by itself what it finds in a text of many.

    It does if it neither takes a newline nor asks for one or for an end of the text. Lines are
    what is between newlines; in a text with carriage returns `$` may see the difference still.
    """
    match node:
        case Chars(chars):
            return "\n" not in chars
        case Seq(nodes) | Alt(nodes):
            return all(map(is_line_based, nodes))
        case Group(body) | Atomic(body) | Look(body) | Repeat(body):
            return is_line_based(body)
        case Assertion(where):
            return where not in _WHOLE_TEXT_ASSERTIONS
        case LineBreak() | Cluster():
            return False
    return True  # the text of a group, which has no newline in it
