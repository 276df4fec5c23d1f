"""What the JDK finds out about a part of a pattern before matching: its `TreeInfo`.

Lengths are Java ints and overflow as these do; the bounds of look-behinds and the choice of a
repetition's algorithm rest on just these numbers.
"""

from __future__ import annotations

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
    Repeat,
    Seq,
    Where,
)


def int32(number: int) -> int:
    """Wrap a number as Java's `int` does."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000


class Study:
    """Walks a part of a pattern and adds up its lengths; `walk` tells whether to go on.

    The JDK stops at a loop, because that node does not pass the walk on: so does this.
    """

    __slots__ = ("_pending", "deterministic", "max_length", "max_valid", "min_length")

    def __init__(self) -> None:
        self._pending: list[tuple[int, int, bool]] = []
        self._reset()

    @staticmethod
    def of(node: Node) -> Study:
        """Study a node by itself."""
        study = Study()
        study._chain(node)  # its own
        return study

    def _reset(self) -> None:
        self.min_length = 0
        self.max_length = 0
        self.max_valid = True
        self.deterministic = True

    def _chain(self, node: Node | None) -> None:
        """Walk a node that has nothing after it."""
        outer, self._pending = self._pending, []
        if node is not None:
            self._walk(node)
        for shortest, longest, valid in reversed(self._pending):
            self.min_length = int32(self.min_length + shortest)
            self.max_length = int32(self.max_length + longest)
            self.max_valid &= valid
            self.deterministic = False
        self._pending = outer

    def _walk(self, node: Node) -> bool:
        match node:
            case Chars():
                self._add(1, 1)
            case Seq(nodes):
                return all(self._walk(n) for n in nodes)
            case Group(body):
                return self._walk(body)
            case Alt(branches):
                self._branch(branches)
            case Repeat():
                return self._repeat(node)
            case Atomic(body):
                self._chain(body)
            case BackRef():
                self.max_valid = False
            case LineBreak():
                self._add(1, 2)
            case Cluster():
                self._add(1, 0)
                self.deterministic = False
        return True

    def _add(self, shortest: int, longest: int) -> None:
        self.min_length = int32(self.min_length + shortest)
        self.max_length = int32(self.max_length + longest)

    def _branch(self, branches: tuple[Node | None, ...]) -> None:
        """Walk alternatives; what follows is counted from zero, and added when it ends."""
        shortest, longest, valid = self.min_length, self.max_length, self.max_valid
        least, most = UNBOUNDED, -1
        for branch in branches:
            self._reset()
            self._chain(branch)
            least = min(least, self.min_length)
            most = max(most, self.max_length)
            valid &= self.max_valid
        self._reset()
        self._pending.append((int32(shortest + least), int32(longest + most), valid))

    def _repeat(self, node: Repeat) -> bool:
        match node.form:
            case Form.OPTION:
                self._branch((node.body, None))
            case Form.QUESTION:
                shortest = self.min_length
                self._chain(node.body)
                self.min_length = shortest
                self.deterministic = False
            case Form.RUN:
                self._add(node.least, UNBOUNDED if self.max_valid else 0)
                self.deterministic = False
            case Form.LOOP:
                self.max_valid = self.deterministic = False
                return False
            case Form.CURLY | Form.GROUP_CURLY:
                self._curly(node)
        return True

    def _curly(self, node: Repeat) -> None:
        shortest, longest = self.min_length, self.max_length
        valid, deterministic = self.max_valid, self.deterministic
        self._reset()
        self._chain(node.body)
        least = int32(self.min_length * node.least + shortest)
        self.min_length = 0xFFFFFFF if least < shortest else least
        if valid and self.max_valid:
            self.max_length = int32(self.max_length * node.most + longest)
            self.max_valid = self.max_length >= longest
        else:
            self.max_valid = False
        self.deterministic = self.deterministic and node.least == node.most and deterministic


def shortest(node: Node) -> int:
    """Give a number of code points that no match of a node can be shorter than."""
    match node:
        case Chars() | LineBreak() | Cluster():
            return 1
        case Seq(nodes):
            return sum(map(shortest, nodes))
        case Alt(branches):
            return min(map(shortest, branches))
        case Group(body) | Atomic(body):
            return shortest(body)
        case Repeat(body, least):
            return shortest(body) * least
    return 0


_OF_THE_WHOLE = frozenset(
    {Where.BEGIN, Where.END, Where.LAST_LINE_END, Where.UNIX_LAST_LINE_END, Where.LAST_MATCH,
     Where.CLUSTER_EDGE}
)  # fmt: skip


def is_of_lines(node: Node) -> bool:
    """Say whether a node finds in each line by itself what it finds in a text of many.

    It does if it neither takes a newline nor asks for one or for an end of the text. Lines are
    what is between newlines; in a text with carriage returns `$` may see the difference still.
    """
    match node:
        case Chars(chars):
            return "\n" not in chars
        case Seq(nodes) | Alt(nodes):
            return all(map(is_of_lines, nodes))
        case Group(body) | Atomic(body) | Look(body) | Repeat(body):
            return is_of_lines(body)
        case Assertion(where):
            return where not in _OF_THE_WHOLE
        case LineBreak() | Cluster():
            return False
    return True  # the text of a group, which has no newline in it
