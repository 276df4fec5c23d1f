"""Patterns and matches: the interface of this package."""

from __future__ import annotations

import re
from functools import lru_cache
from time import thread_time
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from osprofile.errors import JavaRegexError
from osprofile.javaregex.kept import find_facts, note_facts
from osprofile.javaregex.literals import make_replacer, parse_literal_pair
from osprofile.javaregex.replacement import parse_replacement
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from osprofile.javaregex.engines import Engines, Spans
    from osprofile.javaregex.replacement import ReplacementPart
    from osprofile.javaregex.syntax import ParsedPattern


@final
class Match:
    """One match, and where its groups are, in code points of the value.

    `spans` has the begin and the end of each group by number, the whole match first; (-1, -1) for a
    group that took no part.
    """

    __slots__ = ("_names", "spans", "value")

    def __init__(self, value: str, spans: Spans, names: Mapping[str, int]) -> None:
        self.value = value
        self.spans = spans
        self._names = names

    def __repr__(self) -> str:
        return f"<Match {self.start}-{self.end} {quote_value(self.group() or '')}>"

    @property
    def span(self) -> tuple[int, int]:
        """The begin and the end of the match."""
        return self.spans[0]

    @property
    def start(self) -> int:
        """The begin of the match."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """The end of the match."""
        return self.spans[0][1]

    def group(self, group: int | str = 0) -> str | None:
        """Return the text of a group by number or name; None if it took no part.

        IndexError for a number that the pattern does not have, KeyError for such a name.
        """
        number = self._names[group] if isinstance(group, str) else group
        if number < 0:
            raise IndexError(number)
        start, end = self.spans[number]
        return None if start < 0 else self.value[start:end]

    def groups(self) -> tuple[str | None, ...]:
        """Return the texts of all groups, group 1 at index 0."""
        value = self.value
        return tuple([value[a:b] if a >= 0 else None for a, b in self.spans[1:]])

    def groupdict(self) -> dict[str, str | None]:
        """Return the texts of the named groups by name."""
        return {name: self.group(number) for name, number in self._names.items()}


@final
class Pattern:
    """A compiled pattern, from `compile`. It can be shared between threads.

    `min_length` is a lower bound of the length of a match, in code points. Every call has a deadline:
    1 s of the calling thread's processor time, and 1 s more for each million characters of the value;
    after it, JavaRegexTimeoutError. What a call waits, on a busy machine or stopped, does not count.
    """

    __slots__ = (
        "_engines",
        "_max_found",
        "_max_whole",
        "_parsed_pattern",
        "_re_pattern",
        "group_count",
        "group_names",
        "min_length",
        "pattern",
    )  # fmt: skip

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._parsed_pattern: ParsedPattern | None = None
        self._engines: Engines | None = None
        # What matches simple values up to these lengths without asking the engines; they set it.
        self._re_pattern: re.Pattern[str] | None = None
        self._max_whole = self._max_found = -1
        if facts := find_facts(pattern):
            source, self._max_whole, self._max_found, self.min_length, self.group_count, names = facts
            self._re_pattern = re.compile(source) if source is not None else None
        else:
            from osprofile.javaregex.tree_info import compute_min_length

            self.min_length = compute_min_length(self._parsed.tree)
            self.group_count, names = self._parsed.group_count, self._parsed.group_names
            note_facts(pattern, (None, -1, -1, self.min_length, self.group_count, names))
        self.group_names: Mapping[str, int] = MappingProxyType(names)

    def __repr__(self) -> str:
        return f"<Pattern {self.pattern!r}>"

    @property
    def is_line_based(self) -> bool:
        """Whether it finds the same in each line of a text as in the text, if that has no CR."""
        from osprofile.javaregex.tree_info import is_line_based

        return self.min_length > 0 and is_line_based(self._parsed.tree)

    @property
    def _parsed(self) -> ParsedPattern:
        if self._parsed_pattern is None:
            from osprofile.javaregex.parser import parse_pattern

            self._parsed_pattern = parse_pattern(self.pattern)
        return self._parsed_pattern

    def matches(self, value: str) -> Match | None:
        """Match the whole value, as Java's `Matcher.matches()` does.

        JavaRegexError for a value with lone surrogates, JavaRegexTimeoutError past the deadline.
        """
        quick = self._select_re_pattern(value, self._max_whole)
        if quick:
            found = quick.fullmatch(value)
            return Match(value, found.regs, self.group_names) if found else None
        engine = self._get_engines(value).select_engine(value, whole=True)
        spans = engine.match_whole(value, _compute_deadline(value))
        return Match(value, spans, self.group_names) if spans else None

    def accepts(self, value: str) -> bool:
        """Return whether the whole value matches; quicker than `matches`."""
        # Written out: every value of a request is checked by this, and a call costs a third more.
        quick = self._re_pattern
        if quick and len(value) <= self._max_whole and value.isascii() and "\r" not in value:
            return quick.fullmatch(value) is not None
        engine = self._get_engines(value).select_engine(value, whole=True)
        return engine.match_whole(value, _compute_deadline(value)) is not None

    def find(self, value: str) -> Match | None:
        """Return the first match in a value, as Java's `Matcher.find()` finds it."""
        quick = self._select_re_pattern(value, self._max_found)
        if quick:
            found = quick.search(value)
            return Match(value, found.regs, self.group_names) if found else None
        for spans in self._find_spans(value):
            return Match(value, spans, self.group_names)
        return None

    def find_iter(self, value: str) -> Iterator[Match]:
        """Yield the matches in a value, as repeated calls of Java's `find()` find them.

        The deadline is for all of them together, with the processor time that the caller uses in
        between. One thread has to take them all.
        """
        names = self.group_names
        for spans in self._find_spans(value):
            yield Match(value, spans, names)

    def find_groups(self, value: str) -> list[tuple[int, tuple[str | None, ...]]]:
        """Return the begin of each match of `find_iter`, and the texts of its groups."""
        quick = self._select_re_pattern(value, self._max_found)
        if quick and self.min_length:  # as in compile_replacement
            return [(found.start(), found.groups()) for found in quick.finditer(value)]
        return [(match.start, match.groups()) for match in self.find_iter(value)]

    def replace_all(self, value: str, replacement: str) -> str:
        """Replace every match, as Java's `replaceAll` does; errors as in `compile_replacement`."""
        return self.compile_replacement(replacement)(value)

    def compile_replacement(self, replacement: str) -> Callable[[str], str]:
        """Return a function that replaces every match in a value.

        The replacement is parsed once. JavaRegexError where Java would throw at the first match,
        even if there never is one: for a group that does not exist, a lone `$`, or a backslash at
        the end.
        """
        parts = parse_replacement(replacement, self.group_count, self.group_names)
        pair = parse_literal_pair(self.pattern, replacement)
        if pair is not None:
            return make_replacer(*pair)
        fill, quick_fill = _make_filler(parts), _make_re_filler(parts)

        def replace(value: str) -> str:
            if len(value) < self.min_length:
                return value
            quick = self._select_re_pattern(value, self._max_found)
            if quick and self.min_length:  # after an empty match, `sub` goes on otherwise than Java
                return quick.sub(quick_fill, value)
            out: list[str] = []
            position = 0
            for spans in self._find_spans(value):
                start, end = spans[0]
                out += (value[position:start], fill(value, spans))
                position = end
            return "".join((*out, value[position:])) if out else value

        return replace

    def get_re_source(self) -> tuple[str, int, int]:
        """Return the pattern for `re`, and up to what length of simple values it accepts, and finds, the same; -1 for none."""
        if self._re_pattern is None:
            self._get_engines("")
        source = self._re_pattern.pattern if self._re_pattern else ""
        return source, self._max_whole, self._max_found

    def _select_re_pattern(self, value: str, limit: int) -> re.Pattern[str] | None:
        if len(value) <= limit and value.isascii() and "\r" not in value:
            return self._re_pattern
        return None

    def _find_spans(self, value: str) -> Iterator[Spans]:
        return (
            self._get_engines(value)
            .select_engine(value, whole=False)
            .find_all(value, _compute_deadline(value))
        )

    def _get_engines(self, value: str) -> Engines:
        if not value.isascii():
            _check_encodable(value)
        if self._engines is None:
            from osprofile.javaregex.engines import Engines

            self._engines = engines = Engines(self._parsed)
            engine = engines.get_re_engine(is_simple=True)
            if engine:
                self._re_pattern, limits = engine.compiled, engines.length_limits
                self._max_whole, self._max_found = limits.whole, limits.find_simple
                lengths = self._max_whole, self._max_found, self.min_length, self.group_count
                note_facts(self.pattern, (engine.compiled.pattern, *lengths, {**self.group_names}))
        return self._engines


def _compute_deadline(value: str) -> float:
    return thread_time() + 1 + len(value) / 1_000_000


def _check_encodable(value: str) -> None:
    """Raise JavaRegexError for a value with lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise JavaRegexError(
            "a value with half of a surrogate pair is not text", text=value, index=error.start
        ) from None


def _make_filler(parts: tuple[ReplacementPart, ...]) -> Callable[[str, Spans], str]:
    """Return a function from a value and a match to the text that replaces the match."""
    if not any(isinstance(part, int) for part in parts):
        text = "".join(map(str, parts))
        return lambda _value, _spans: text

    def fill(value: str, spans: Spans) -> str:
        texts = [
            part if isinstance(part, str) else value[spans[part][0] : spans[part][1]] for part in parts
        ]  # the slice of (-1, -1) is empty, as the text of an unmatched group is
        return "".join(texts)

    return fill


def _make_re_filler(parts: tuple[ReplacementPart, ...]) -> Callable[[re.Match[str]], str]:
    """Return the same as `_make_filler`, for a match of `re`."""
    if not any(isinstance(part, int) for part in parts):
        text = "".join(map(str, parts))
        return lambda _match: text
    return lambda match: "".join([p if isinstance(p, str) else match[p] or "" for p in parts])


@lru_cache(maxsize=512)
def compile(pattern: str) -> Pattern:  # noqa: A001  # as in the module re
    """Compile a pattern; the last few hundred are cached.

    JavaRegexError if Java refuses it or it cannot be honoured exactly, with the place.
    """
    return Pattern(pattern)


def replace_all(value: str, pattern: str, replacement: str) -> str:
    """Return the result of Java's `value.replaceAll(pattern, replacement)`.

    JavaRegexError for an invalid pattern or replacement, JavaRegexTimeoutError past the deadline.
    """
    return compile(pattern).replace_all(value, replacement)
