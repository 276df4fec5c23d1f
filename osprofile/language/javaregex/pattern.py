"""Patterns and matches: what callers hold."""

from __future__ import annotations

from functools import lru_cache
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from osprofile.errors import shown
from osprofile.language.javaregex.parser import parse
from osprofile.language.javaregex.replacement import parse_replacement
from osprofile.language.javaregex.study import shortest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from osprofile.language.javaregex.machine import Program, Run

    Spans = tuple[tuple[int, int], ...]


@final
class Match:
    """One match: where it and its groups are, in code points of the value."""

    __slots__ = ("_names", "spans", "value")

    def __init__(self, value: str, spans: Spans, names: Mapping[str, int]) -> None:
        self.value = value
        self.spans = spans
        self._names = names

    def __repr__(self) -> str:
        return f"<Match {self.start}-{self.end} {shown(self.group() or '')}>"

    @property
    def span(self) -> tuple[int, int]:
        """Where the match begins and ends."""
        return self.spans[0]

    @property
    def start(self) -> int:
        """Where the match begins."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Where the match ends."""
        return self.spans[0][1]

    def group(self, group: int | str = 0) -> str | None:
        """Give the text of a group by number or name; None if it took no part.

        IndexError for a number that the pattern does not have, KeyError for such a name.
        """
        number = self._names[group] if isinstance(group, str) else group
        if number < 0:
            raise IndexError(number)
        start, end = self.spans[number]
        return None if start < 0 else self.value[start:end]

    def groupdict(self) -> dict[str, str | None]:
        """Give the text of every named group."""
        return {name: self.group(number) for name, number in self._names.items()}


@final
class Pattern:
    """A compiled pattern; get one from `compile`. It can be shared between threads."""

    __slots__ = ("_parsed", "_program", "group_count", "group_names", "min_length", "pattern")

    def __init__(self, pattern: str) -> None:
        self._parsed = parse(pattern)
        self._program: Program | None = None
        self.pattern = pattern
        self.group_count = self._parsed.groups
        self.group_names: Mapping[str, int] = MappingProxyType(self._parsed.names)
        self.min_length = shortest(self._parsed.tree)

    def __repr__(self) -> str:
        return f"<Pattern {self.pattern!r}>"

    def matches(self, value: str) -> Match | None:
        """Match the whole value, as Java's `Matcher.matches()`."""
        run = self._run(value)
        return Match(value, run.spans(), self.group_names) if run.full() else None

    def find(self, value: str) -> Match | None:
        """Give the first match in a value, as Java's `Matcher.find()`."""
        return next(self.find_iter(value), None)

    def find_iter(self, value: str) -> Iterator[Match]:
        """Give the matches in a value one after the other, as repeated `find()` does."""
        run = self._run(value)
        place = 0
        while place <= len(value) and run.search(place):
            spans = run.spans()
            yield Match(value, spans, self.group_names)
            start, end = spans[0]
            place = end if end > start else end + 1

    def replace_all(self, value: str, replacement: str) -> str:
        """Replace every match, as Java's `replaceAll`. JavaRegexError for a wrong replacement."""
        return self.replacer(replacement)(value)

    def replacer(self, replacement: str) -> Callable[[str], str]:
        """Give a function that replaces every match in a value."""
        parts = parse_replacement(replacement, self.group_count, self.group_names)

        def replace(value: str) -> str:
            out: list[str] = []
            place = 0
            for match in self.find_iter(value):
                out.append(value[place : match.start])
                out += [p if isinstance(p, str) else match.group(p) or "" for p in parts]
                place = match.end
            return "".join([*out, value[place:]]) if out else value

        return replace

    def _run(self, value: str) -> Run:
        from osprofile.language.javaregex.machine import Run
        from osprofile.language.javaregex.program import compile_program

        if self._program is None:
            self._program = compile_program(self._parsed)
        return Run(self._program, value, monotonic() + 1 + len(value) / 1_000_000)


@lru_cache(maxsize=512)
def compile(pattern: str) -> Pattern:  # noqa: A001  # as in the module re
    """Compile a pattern; the last few hundred are kept.

    JavaRegexError if Java refuses it or it cannot be honoured exactly, with the place.
    """
    return Pattern(pattern)


def replace_all(value: str, pattern: str, replacement: str) -> str:
    """Give what Java's `value.replaceAll(pattern, replacement)` gives."""
    return compile(pattern).replace_all(value, replacement)
