"""The engines, and the choice of one for a pattern and a value.

    re        translatable patterns, where the work is known to be small: it has no time-out, but it
              is loaded at start-up anyway
    regex     translatable patterns on long values; imported when first needed
    machine   everything else, and values so short or so few that it saves importing `regex`

Every engine returns a match as the spans of its groups, and keeps to the deadline of the call.
"""

from __future__ import annotations

import re
from time import thread_time
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

    import regex

    from osprofile.javaregex.machine import Program

Spans = tuple[tuple[int, int], ...]
STEP_BUDGET = 1_000_000  # steps that `re`, which has no time-out, may need at most
SHORT_VALUE_LENGTH = 512  # the machine matches them
LONG_VALUES_LENGTH = (
    4096  # of all long values of a pattern: up to here the machine is quicker than importing regex
)
_NO_NEWLINE = ~CharSet.from_chars("\n")


class Engine(Protocol):
    """Matches one pattern; `deadline` is in seconds of `time.thread_time`."""

    def match_whole(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value, as Java's `matches()` does."""

    def find_all(self, value: str, deadline: float) -> Iterator[Spans]:
        """Yield the matches that calls of Java's `find()` find, one after the other."""


def is_simple_value(value: str) -> bool:
    """Return whether the simple dialect of a translated pattern is right for a value."""
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
        """Yield the matches."""
        if not self.matches_empty:
            for match in self.compiled.finditer(value):
                yield match.regs
            return
        # After an empty match, finditer tries a longer one at the same position; Java moves on.
        position = 0
        while position <= len(value) and (found := self.compiled.search(value, position)):
            yield found.regs
            position = found.end() + (found.end() == found.start())


@final
class RegexEngine:
    """The engine of the `regex` package, for one dialect of a pattern."""

    __slots__ = ("_compiled", "_text")

    def __init__(self, translated: str, text: str) -> None:
        import regex

        self._compiled = regex.compile(translated, regex.VERSION0)  # as `re`, without set operations
        self._text = text

    def match_whole(self, value: str, deadline: float) -> Spans | None:
        """Match the whole value."""
        match, _ = self._call(self._compiled.fullmatch, value, 0, deadline)
        return tuple(match.regs) if match else None

    def find_all(self, value: str, deadline: float) -> Iterator[Spans]:
        """Yield the matches."""
        position = 0
        while position <= len(value):
            match, deadline = self._call(self._compiled.search, value, position, deadline)
            if not match:
                return
            yield tuple(match.regs)
            position = match.end() + (match.end() == match.start())

    def _call(
        self, method: Callable[..., regex.Match[str] | None], value: str, position: int, deadline: float
    ) -> tuple[regex.Match[str] | None, float]:
        """Call a method of the compiled pattern; return the match, and the deadline of the next call.

        The package's own time-out counts the processor time of all threads of the process (C's
        `clock`). If it fires before this thread has used up its time, the call is repeated with a
        longer one, and what this thread used in vain does not count.
        """
        began = thread_time()
        timeout = left = deadline - began
        while True:
            try:
                return method(value, position, timeout=max(timeout, 0.000_001)), deadline
            except TimeoutError:
                used = thread_time() - began
            if used >= left:
                from osprofile.javaregex.machine import make_timeout_error

                raise make_timeout_error(self._text, len(value))
            began, deadline, timeout = began + used, deadline + used, 2 * timeout


@final
class MachineEngine:
    """The engine of this package."""

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
        """Yield the matches."""
        from osprofile.javaregex.machine import MatchRun

        run = MatchRun(self._program, value, deadline)
        position = 0
        while position <= len(value) and run.find_from(position):
            spans = run.get_spans()
            yield spans
            start, end = spans[0]
            position = end + (end == start)


@final
class Engines:
    """The engines of one pattern, each built on first use."""

    __slots__ = ("_long_length", "_machine", "_parsed", "_re", "_regex", "length_limits")

    def __init__(self, parsed: ParsedPattern) -> None:
        self._parsed = parsed
        self._machine: MachineEngine | None = None
        self._long_length = 0
        self._re: dict[bool, ReEngine | None] = {}
        self._regex: dict[bool, RegexEngine | None] = {}
        self.length_limits = LengthLimits.from_tree(parsed.tree)

    def select_engine(self, value: str, *, whole: bool) -> Engine:
        """Return the engine for matching a whole value, or for finding in it."""
        is_simple = is_simple_value(value)
        limits = self.length_limits
        limit = limits.whole if whole else limits.find_simple if is_simple else limits.find
        engine: Engine | None = None
        if len(value) <= limit:
            engine = self.get_re_engine(is_simple=is_simple)
        elif len(value) > SHORT_VALUE_LENGTH:
            self._long_length += len(value)
            if self._long_length > LONG_VALUES_LENGTH:
                engine = self.get_regex_engine(is_simple=is_simple)
        return engine or self.get_machine()

    def get_machine(self) -> MachineEngine:
        """Return the machine, which can match any pattern."""
        if self._machine is None:
            self._machine = MachineEngine(self._parsed)
        return self._machine

    def get_re_engine(self, *, is_simple: bool) -> ReEngine | None:
        """Return the engine of `re` for a dialect, or None if it cannot match this pattern."""
        if is_simple not in self._re:
            self._re[is_simple] = self._make_re_engine(is_simple=is_simple)
        return self._re[is_simple]

    def _make_re_engine(self, *, is_simple: bool) -> ReEngine | None:
        if self.length_limits.whole < 0:
            return None
        tree = merge_set_repeats(self._parsed.tree)
        try:
            translated = translate_pattern(tree, simple=is_simple, keep_atomic=False)
        except UntranslatableError:
            return None
        return ReEngine(translated, matches_empty=compute_min_length(tree) == 0)

    def get_regex_engine(self, *, is_simple: bool) -> RegexEngine | None:
        """Return the engine of `regex` for a dialect, or None if it cannot match this pattern."""
        if is_simple not in self._regex:
            self._regex[is_simple] = self._make_regex_engine(is_simple=is_simple)
        return self._regex[is_simple]

    def _make_regex_engine(self, *, is_simple: bool) -> RegexEngine | None:
        tree = self._parsed.tree
        if measure_repeat_depth(tree) > MAX_REPEAT_DEPTH:  # regex compiles nested ones ever slower
            return None
        try:
            translated = translate_pattern(tree, simple=is_simple, keep_atomic=True)
        except UntranslatableError:
            return None
        return RegexEngine(translated, self._parsed.text)


class LengthLimits(NamedTuple):
    """Up to what length of a value `re` may match, or find; -1 for never."""

    whole: int
    find: int
    find_simple: int

    @staticmethod
    def from_tree(tree: Node) -> LengthLimits:
        """Return the limits of a pattern, from the cost of one attempt and their number."""
        try:
            tree = merge_set_repeats(tree)
            parts = _split_lookaheads(tree)
            unambiguous = [is_pattern_unambiguous(part) for part in parts]
            if any(
                has_atomic_part(part) for part, known in zip(parts, unambiguous, strict=True) if not known
            ):
                return NEVER
            bounds = [
                bound_steps(part, unambiguous=known) for part, known in zip(parts, unambiguous, strict=True)
            ]
        except UnknownCostError:
            return NEVER
        power, ways = max(p for p, _ in bounds), sum(ways for _, ways in bounds)
        whole = _get_max_length(power, ways)
        if _always_begins_with(tree, _is_text_begin):
            return LengthLimits(whole, whole, whole)
        find = _get_max_length(power + 1, ways)
        by_line = unambiguous == [True] and _always_begins_with(tree, _is_line_begin) and stays_in_line(tree)
        return LengthLimits(whole, find, STEP_BUDGET if by_line else find)


NEVER = LengthLimits(-1, -1, -1)


def _split_lookaheads(tree: Node) -> list[Node]:
    """Return the negative look-aheads with which a pattern begins, and the rest: each is matched once, by itself."""
    parts: list[Node] = []
    while isinstance(tree, Seq) and tree.nodes:
        first = tree.nodes[0]
        if not (isinstance(first, Look) and first.negative and not first.behind):
            break
        parts.append(first.body)
        tree = Seq(tree.nodes[1:])
    return [*parts, tree]


def _get_max_length(power: int, ways: int) -> int:
    """Return the greatest n for which ways * n**power is within the budget."""
    budget = STEP_BUDGET // ways
    return STEP_BUDGET if power == 0 and budget else int(budget ** (1 / max(power, 1)))


def _always_begins_with(node: Node, predicate: Callable[[Node], bool]) -> bool:
    """Return whether every way to match a node begins with such an assertion."""
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
    """Return whether a node matches at the begin of a line only."""
    match node:
        case Look(Group(Chars(chars)), behind=True, negative=True):
            return not (~chars).intersects(_NO_NEWLINE)
    return node == Assertion(AssertionKind.LINE_BEGIN)
