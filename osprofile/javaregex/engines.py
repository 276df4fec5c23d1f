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

from osprofile.javaregex.charset import CharSet
from osprofile.javaregex.cost import (
    MAX_REPEAT_DEPTH,
    UnknownCostError,
    bound_steps,
    is_pattern_unambiguous,
    measure_repeat_depth,
    merge_set_repeats,
    stays_in_line,
)
from osprofile.javaregex.syntax import (
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    Chars,
    Group,
    Look,
    Node,
    ParsedPattern,
    Seq,
)
from osprofile.javaregex.translation import UntranslatableError, has_atomic_part, translate_pattern
from osprofile.javaregex.tree_info import compute_min_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.errors import JavaRegexTimeoutError
    from osprofile.javaregex.machine import Program

Spans = tuple[tuple[int, int], ...]
STEP_BUDGET = 1_000_000
SHORT_VALUE_LENGTH = 512
_NO_NEWLINE = ~CharSet.from_chars("\n")


class Engine(Protocol):
    """What matches a pattern."""

    def match_whole(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""

    def find_all(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches as Java's `find()` gives them, one after the other."""


def is_simple_value(value: str) -> bool:
    """Tell whether a value is one that the simple dialect is for."""
    return value.isascii() and "\r" not in value


@final
class ReEngine:
    """The standard library's engine, for one dialect of a pattern."""

    __slots__ = ("compiled", "matches_empty")

    def __init__(self, translated: str, *, matches_empty: bool) -> None:
        self.compiled = re.compile(translated)
        self.matches_empty = matches_empty

    def match_whole(self, value: str, _deadline: float) -> Spans | None:
        """Match the whole value."""
        match = self.compiled.fullmatch(value)
        return match.regs if match else None

    def find_all(self, value: str, _deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        if not self.matches_empty:
            for match in self.compiled.finditer(value):
                yield match.regs
            return
        place = 0
        while place <= len(value) and (found := self.compiled.search(value, place)):
            yield found.regs
            place = found.end() + (found.end() == found.start())


@final
class RegexEngine:
    """The `get_regex_engine` package's engine, for one dialect of a pattern."""

    __slots__ = ("_compiled", "_text")

    def __init__(self, translated: str, text: str) -> None:
        import regex

        self._compiled = regex.compile(translated, regex.VERSION0)
        self._text = text

    def match_whole(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""
        try:
            match = self._compiled.fullmatch(value, timeout=_seconds_left(deadline))
        except TimeoutError:
            raise self._make_timeout_error(value) from None
        return tuple(match.regs) if match else None

    def find_all(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        place = 0
        while place <= len(value):
            try:
                match = self._compiled.search(value, place, timeout=_seconds_left(deadline))
            except TimeoutError:
                raise self._make_timeout_error(value) from None
            if not match:
                return
            yield tuple(match.regs)
            place = match.end() + (match.end() == match.start())

    def _make_timeout_error(self, value: str) -> JavaRegexTimeoutError:
        from osprofile.javaregex.machine import make_timeout_error

        return make_timeout_error(self._text, len(value))


@final
class MachineEngine:
    """The machine of this package."""

    __slots__ = ("_program",)

    def __init__(self, parsed: ParsedPattern) -> None:
        from osprofile.javaregex.program import compile_program

        self._program: Program = compile_program(parsed)

    def match_whole(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""
        from osprofile.javaregex.machine import MatchRun

        run = MatchRun(self._program, value, deadline)
        return run.get_spans() if run.match_whole() else None

    def find_all(self, value: str, deadline: float) -> Iterator[Spans]:
        """Give the matches."""
        from osprofile.javaregex.machine import MatchRun

        run = MatchRun(self._program, value, deadline)
        place = 0
        while place <= len(value) and run.find_from(place):
            spans = run.get_spans()
            yield spans
            start, end = spans[0]
            place = end + (end == start)


def _seconds_left(deadline: float) -> float:
    return max(deadline - monotonic(), 0.000_001)


@final
class Engines:
    """The engines of one pattern, each made when first needed."""

    __slots__ = ("_machine", "_parsed", "_re", "_regex", "length_limits")

    def __init__(self, parsed: ParsedPattern) -> None:
        self._parsed = parsed
        self._machine: MachineEngine | None = None
        self._re: dict[bool, ReEngine | None] = {}
        self._regex: dict[bool, RegexEngine | None] = {}
        self.length_limits = LengthLimits.from_tree(parsed.tree)

    def select_engine(self, value: str, *, whole: bool) -> Engine:
        """Give the engine that is to match a whole value, or to find in it."""
        easy = is_simple_value(value)
        limits = self.length_limits
        finding = limits.find_simple if easy else limits.find
        if len(value) <= (limits.whole if whole else finding):
            found: Engine | None = self.get_re_engine(is_simple=easy)
        else:
            found = (
                self.get_regex_engine(is_simple=easy) if len(value) > SHORT_VALUE_LENGTH else None
            )
        return found or self.get_machine()

    def get_machine(self) -> MachineEngine:
        """Give the machine."""
        if self._machine is None:
            self._machine = MachineEngine(self._parsed)
        return self._machine

    def get_re_engine(self, *, is_simple: bool) -> ReEngine | None:
        """Give the `get_re_engine` engine for a dialect, or None if it cannot match this pattern."""
        if is_simple not in self._re:
            self._re[is_simple] = self._make_re_engine(is_simple=is_simple)
        return self._re[is_simple]

    def _make_re_engine(self, *, is_simple: bool) -> ReEngine | None:
        if self.length_limits.whole < 0:
            return None
        tree = merge_set_repeats(self._parsed.tree)
        try:
            written = translate_pattern(tree, simple=is_simple, keep_atomic=False)
        except UntranslatableError:
            return None
        return ReEngine(written, matches_empty=compute_min_length(tree) == 0)

    def get_regex_engine(self, *, is_simple: bool) -> RegexEngine | None:
        """Give the `get_regex_engine` engine for a dialect, or None if it cannot match this pattern."""
        if is_simple not in self._regex:
            self._regex[is_simple] = self._make_regex_engine(is_simple=is_simple)
        return self._regex[is_simple]

    def _make_regex_engine(self, *, is_simple: bool) -> RegexEngine | None:
        tree = self._parsed.tree
        if measure_repeat_depth(tree) > MAX_REPEAT_DEPTH:  # compiling takes it ever longer
            return None
        try:
            written = translate_pattern(tree, simple=is_simple, keep_atomic=True)
        except UntranslatableError:
            return None
        return RegexEngine(written, self._parsed.text)


class LengthLimits(NamedTuple):
    """Up to what length of a value `get_re_engine` may match, or find; -1 for never."""

    whole: int
    find: int
    find_simple: int

    @staticmethod
    def from_tree(tree: Node) -> LengthLimits:
        """Give the limits of a pattern, from what one attempt costs and how many there are."""
        try:
            tree = merge_set_repeats(tree)
            sure = is_pattern_unambiguous(tree)
            if has_atomic_part(tree) and not sure:
                return NEVER
            steps, ways = bound_steps(tree, unambiguous=sure)
        except UnknownCostError:
            return NEVER
        once = _max_length(steps, ways)
        if _always_begins_with(tree, _is_text_begin):
            return LengthLimits(once, once, once)
        find = _max_length(steps + 1, ways)
        by_line = sure and _always_begins_with(tree, _is_line_begin) and stays_in_line(tree)
        return LengthLimits(once, find, STEP_BUDGET if by_line else find)


NEVER = LengthLimits(-1, -1, -1)


def _max_length(steps: int, ways: int) -> int:
    budget = STEP_BUDGET // ways
    return STEP_BUDGET if steps == 0 and budget else int(budget ** (1 / max(steps, 1)))


def _always_begins_with(node: Node, predicate: Callable[[Node], bool]) -> bool:
    """Tell whether a node begins with such an assertion, in whichever way it matches."""
    match node:
        case Seq(nodes):
            return bool(nodes) and _always_begins_with(nodes[0], predicate)
        case Group(body) | Atomic(body):
            return _always_begins_with(body, predicate)
        case Alt(branches):
            return all(_always_begins_with(branch, predicate) for branch in branches)
    return predicate(node)


def _is_text_begin(node: Node) -> bool:
    return node == Assertion(AssertionKind.BEGIN)


def _is_line_begin(node: Node) -> bool:
    """Tell whether a node is one that holds at the beginning of a line only."""
    match node:
        case Look(Group(Chars(chars)), behind=True, negative=True):
            return not (~chars).intersects(_NO_NEWLINE)
    return node == Assertion(AssertionKind.LINE_BEGIN)
