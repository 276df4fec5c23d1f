"""The engines, and which of them may match what.

    re        plain patterns, as long as the work is known to be small: it has no time-out, but is
              there at start-up
    regex     plain patterns on long values; imported when first needed
    machine   everything else, and short values where that spares the import

All give a match as the places of its groups, and all keep to the one deadline of a call.
"""

from __future__ import annotations

import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

from osprofile.language.javaregex.charset import CharSet
from osprofile.language.javaregex.decided import (
    DEEPEST,
    UndecidedError,
    is_decided,
    merged,
    power,
    repeat_depth,
    stays_in_line,
)
from osprofile.language.javaregex.plain import NotPlainError, has_atomic, write
from osprofile.language.javaregex.study import shortest
from osprofile.language.javaregex.syntax import (
    Alt,
    Assertion,
    Atomic,
    Chars,
    Group,
    Look,
    Node,
    Parsed,
    Seq,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.errors import JavaRegexTimeoutError
    from osprofile.language.javaregex.machine import Program

Spans = tuple[tuple[int, int], ...]
STEPS = 1_000_000
SHORT = 512
_NO_NEWLINE = ~CharSet.chars("\n")


class Engine(Protocol):
    """What matches a pattern."""

    def full(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""

    def found(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches as Java's `find()` gives them, one after the other."""


def simple(value: str) -> bool:
    """Tell whether a value is one that the simple dialect is for."""
    return value.isascii() and "\r" not in value


@final
class ReEngine:
    """The standard library's engine, for one dialect of a pattern."""

    __slots__ = ("compiled", "empty")

    def __init__(self, written: str, *, empty: bool) -> None:
        self.compiled = re.compile(written)
        self.empty = empty

    def full(self, value: str, _deadline: float) -> Spans | None:
        """Match the whole value."""
        match = self.compiled.fullmatch(value)
        return match.regs if match else None

    def found(self, value: str, _deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        if not self.empty:
            for match in self.compiled.finditer(value):
                yield match.regs
            return
        place = 0
        while place <= len(value) and (found := self.compiled.search(value, place)):
            yield found.regs
            place = found.end() + (found.end() == found.start())


@final
class RegexEngine:
    """The `regex` package's engine, for one dialect of a pattern."""

    __slots__ = ("_compiled", "_text")

    def __init__(self, written: str, text: str) -> None:
        import regex

        self._compiled = regex.compile(written, regex.VERSION0)
        self._text = text

    def full(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""
        try:
            match = self._compiled.fullmatch(value, timeout=_left(deadline))
        except TimeoutError:
            raise self._late(value) from None
        return tuple(match.regs) if match else None

    def found(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        place = 0
        while place <= len(value):
            try:
                match = self._compiled.search(value, place, timeout=_left(deadline))
            except TimeoutError:
                raise self._late(value) from None
            if not match:
                return
            yield tuple(match.regs)
            place = match.end() + (match.end() == match.start())

    def _late(self, value: str) -> JavaRegexTimeoutError:
        from osprofile.language.javaregex.machine import too_slow

        return too_slow(self._text, len(value))


@final
class MachineEngine:
    """The machine of this package."""

    __slots__ = ("_program",)

    def __init__(self, parsed: Parsed) -> None:
        from osprofile.language.javaregex.program import compile_program

        self._program: Program = compile_program(parsed)

    def full(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""
        from osprofile.language.javaregex.machine import Run

        run = Run(self._program, value, deadline)
        return run.spans() if run.full() else None

    def found(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        from osprofile.language.javaregex.machine import Run

        run = Run(self._program, value, deadline)
        place = 0
        while place <= len(value) and run.search(place):
            spans = run.spans()
            yield spans
            start, end = spans[0]
            place = end + (end == start)


def _left(deadline: float) -> float:
    return max(deadline - monotonic(), 0.000_001)


@final
class Engines:
    """The engines of one pattern, each made when first needed."""

    __slots__ = ("_machine", "_parsed", "_re", "_regex", "limits")

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._machine: MachineEngine | None = None
        self._re: dict[bool, ReEngine | None] = {}
        self._regex: dict[bool, RegexEngine | None] = {}
        self.limits = Limits.of(parsed.tree)

    def best(self, value: str, *, full: bool) -> Engine:
        """Give the engine that is to match a whole value, or to find in it."""
        easy = simple(value)
        limits = self.limits
        finding = limits.find_simple if easy else limits.find
        if len(value) <= (limits.full if full else finding):
            found: Engine | None = self.re(easy=easy)
        else:
            found = self.regex(easy=easy) if len(value) > SHORT else None
        return found or self.machine()

    def machine(self) -> MachineEngine:
        """Give the machine."""
        if self._machine is None:
            self._machine = MachineEngine(self._parsed)
        return self._machine

    def re(self, *, easy: bool) -> ReEngine | None:
        """Give the `re` engine for a dialect, or None if it cannot match this pattern."""
        if easy not in self._re:
            self._re[easy] = self._new_re(easy=easy)
        return self._re[easy]

    def _new_re(self, *, easy: bool) -> ReEngine | None:
        if self.limits.full < 0:
            return None
        tree = merged(self._parsed.tree)
        try:
            written = write(tree, simple=easy, atomic=False)
        except NotPlainError:
            return None
        return ReEngine(written, empty=shortest(tree) == 0)

    def regex(self, *, easy: bool) -> RegexEngine | None:
        """Give the `regex` engine for a dialect, or None if it cannot match this pattern."""
        if easy not in self._regex:
            self._regex[easy] = self._new_regex(easy=easy)
        return self._regex[easy]

    def _new_regex(self, *, easy: bool) -> RegexEngine | None:
        tree = self._parsed.tree
        if repeat_depth(tree) > DEEPEST:  # compiling takes it ever longer
            return None
        try:
            written = write(tree, simple=easy, atomic=True)
        except NotPlainError:
            return None
        return RegexEngine(written, self._parsed.text)


class Limits(NamedTuple):
    """Up to what length of a value `re` may match, or find; -1 for never."""

    full: int
    find: int
    find_simple: int

    @staticmethod
    def of(tree: Node) -> Limits:
        """Give the limits of a pattern, from what one attempt costs and how many there are."""
        try:
            tree = merged(tree)
            sure = is_decided(tree)
            if has_atomic(tree) and not sure:
                return NEVER
            steps, ways = power(tree, sure=sure)
        except UndecidedError:
            return NEVER
        once = _longest(steps, ways)
        if _begins(tree, _is_begin):
            return Limits(once, once, once)
        find = _longest(steps + 1, ways)
        by_line = sure and _begins(tree, _is_line_begin) and stays_in_line(tree)
        return Limits(once, find, STEPS if by_line else find)


NEVER = Limits(-1, -1, -1)


def _longest(steps: int, ways: int) -> int:
    budget = STEPS // ways
    return STEPS if steps == 0 and budget else int(budget ** (1 / max(steps, 1)))


def _begins(node: Node, where: Callable[[Node], bool]) -> bool:
    """Tell whether a node begins with such an assertion, in whichever way it matches."""
    match node:
        case Seq(nodes):
            return bool(nodes) and _begins(nodes[0], where)
        case Group(body) | Atomic(body):
            return _begins(body, where)
        case Alt(branches):
            return all(_begins(branch, where) for branch in branches)
    return where(node)


def _is_begin(node: Node) -> bool:
    return node == Assertion(Where.BEGIN)


def _is_line_begin(node: Node) -> bool:
    """Tell whether a node is one that holds at the beginning of a line only."""
    match node:
        case Look(Group(Chars(chars)), behind=True, negative=True):
            return not (~chars).meets(_NO_NEWLINE)
    return node == Assertion(Where.LINE_BEGIN)
