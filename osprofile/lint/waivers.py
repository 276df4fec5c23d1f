"""Waivers: comments in a profile that accept a problem and say why.

    <!-- lint-waive OSP605: the pattern of PATH forbids a leading - -->

A waiver on lines of its own covers the element that follows it, from its start tag to its end tag.
A waiver after something else on a line covers that line. A waiver before the root element covers the
whole file, and the problems that this profile causes in inherited documents. A script cannot hold an
XML comment: put the waiver before its Body, Invocation or Template. It covers the file of its `ext:src`, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final
from xml.parsers import expat

from osprofile.errors import Problem
from osprofile.lint.rules import RULES, UNLOADABLE, is_rule_code, make_problem
from osprofile.source import Location
from osprofile.text import quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.source import Source

WAIVER_KEYWORD: Final = "lint-waive"
"""The first word of a waiver's comment."""

WAIVER_SYNTAX: Final = f"a waiver is written <!-- {WAIVER_KEYWORD} CODE ...: REASON -->"

_WAIVER_PATTERN: Final = re.compile(rf"\s*{WAIVER_KEYWORD}\b([^:]*)(?::(.*))?", re.DOTALL)


@final
class Waiver(NamedTuple):
    """A waiver of some codes, for the bytes from `start` to before `end`; `reason` is one line.

    `covers_parents`: it is before the root element, and also covers inherited documents.
    """

    codes: tuple[str, ...]
    reason: str
    location: Location
    start: int
    end: int
    covers_parents: bool = False

    def covers(self, location: Location | None) -> bool:
        """Return whether a location is covered."""
        if self.covers_parents:
            return True
        if location is None or location.in_document.source is not self.location.source:
            return False
        return self.start <= location.in_document.offset < self.end


@final
class WaivedProblem(NamedTuple):
    """A problem, and the waiver that covers it."""

    problem: Problem
    waiver: Waiver


@final
class _LocatedComment(NamedTuple):
    """A comment with the range of the element that follows it, -1 if there is none."""

    offset: int
    text: str
    start: int
    end: int
    at_root: bool


def apply_waivers(
    problems: Sequence[Problem], source: Source, *, active_prefixes: Iterable[str]
) -> tuple[list[Problem], list[WaivedProblem]]:
    """Return the problems that no waiver of the document covers, and the waived ones.

    `active_prefixes` are the prefixes of the codes whose rules were run. A waiver of such a code that
    covers no problem is a problem itself (OSP701), and so is a malformed waiver (OSP702).
    """
    if WAIVER_KEYWORD.encode() not in source.data:
        return [*problems], []
    waivers, waiver_problems = read_waivers(source)
    kept, waived = list[Problem](), list[WaivedProblem]()
    for problem, waiver in _match_waivers(problems, waivers, source):
        if waiver is None:
            kept.append(problem)
        else:
            waived.append(WaivedProblem(problem, waiver))
    used = {(w.waiver.location.offset, w.problem.code) for w in waived}
    waiver_problems += [
        _make_unused_problem(waiver, code)
        for waiver in waivers
        for code in waiver.codes
        if (waiver.location.offset, code) not in used and code.startswith(tuple(active_prefixes))
    ]
    return [*kept, *waiver_problems], waived


def _match_waivers(
    problems: Sequence[Problem], waivers: Iterable[Waiver], source: Source
) -> Iterator[tuple[Problem, Waiver | None]]:
    """Yield each problem with the innermost waiver that covers it.

    Problems and waivers are sorted by offset: at each offset, only the waivers of the enclosing
    elements and of the line are open, so the time does not grow with their product.
    """
    # Of two waivers that cover the same range, the first one counts.
    waivers_by_range = {(c, w.start, w.end): w for w in [*waivers][::-1] for c in w.codes}
    profile_waivers = {code: w for (code, _, _), w in waivers_by_range.items() if w.covers_parents}
    ranged = [(w.start, code, w) for (code, _, _), w in waivers_by_range.items() if not w.covers_parents]
    pending = sorted(ranged, key=lambda item: item[0], reverse=True)
    open_waivers: dict[str, list[Waiver]] = {}
    located = [(p, p.location.in_document if p.location else None) for p in problems]
    for problem, place in sorted(located, key=lambda item: item[1].offset if item[1] else -1):
        location = place if place and place.source is source else None
        while location and pending and pending[-1][0] <= location.offset:
            _, code, waiver = pending.pop()
            open_waivers.setdefault(code, []).append(waiver)
        covering = [w for w in open_waivers.get(problem.code, ()) if w.covers(location)] if location else []
        if location:
            open_waivers[problem.code] = covering
        innermost = min(covering, key=lambda w: w.end - w.start, default=None)
        yield problem, innermost or profile_waivers.get(problem.code)


def _make_unused_problem(waiver: Waiver, code: str) -> Problem:
    covered = "the profile" if waiver.covers_parents else "what it covers"
    message = f"a waiver of {code}, and {covered} has no such problem"
    hint = "remove the waiver: it would hide the problem if it came back"
    return make_problem("OSP701", message, waiver.location, hint)


def read_waivers(source: Source) -> tuple[list[Waiver], list[Problem]]:
    """Return the waivers of a well-formed document, and the problems with them (OSP702)."""
    waivers, problems = list[Waiver](), list[Problem]()
    for comment in _CommentReader(source).comments:
        match = _WAIVER_PATTERN.match(comment.text)
        if match is None:
            continue
        location = Location(source, comment.offset)
        codes = tuple(match[1].replace(",", " ").split())
        reason = " ".join((match[2] or "").split())
        waiver_problems = [*_check_waiver(codes, reason, location)]
        start, end, at_root = _get_covered_range(source, comment)
        if start < 0:
            message = "a waiver that covers nothing"
            hint = "put it before an element, or at the end of a line"
            waiver_problems.append(make_problem("OSP702", message, location, hint))
        problems += waiver_problems
        if not waiver_problems:
            waivers.append(Waiver(codes, reason, location, start, end, at_root))
    return waivers, problems


def _check_waiver(codes: Sequence[str], reason: str, location: Location) -> Iterator[Problem]:
    if not codes:
        yield make_problem("OSP702", "a waiver that names no code", location, WAIVER_SYNTAX)
    elif not reason:
        hint = f"say why, for later readers: {WAIVER_SYNTAX}"
        yield make_problem("OSP702", "a waiver without a reason", location, hint)
    for code in codes:
        if not is_rule_code(code):
            message = f"a waiver of {quote_name(code)}, which is not a code"
            yield make_problem("OSP702", message, location, suggest_names(code, RULES))
        elif code in UNLOADABLE:
            message = f"{code} cannot be waived: no command would load the profile"
            yield make_problem("OSP702", message, location, RULES[code].why)


def _get_covered_range(source: Source, comment: _LocatedComment) -> tuple[int, int, bool]:
    """Return the range of bytes that a waiver covers, and whether that is the root element."""
    begin = source.data.rfind(b"\n", 0, comment.offset) + 1
    if not source.data[begin : comment.offset].strip():
        return comment.start, comment.end, comment.at_root
    end = source.data.find(b"\n", comment.offset)
    return begin, len(source.data) if end < 0 else end, False


@final
class _CommentReader:
    """Reads the comments of a well-formed document, each with the element that follows it.

    expat reports where tags, texts and comments begin, but not where they end: an element ends where
    the next of them begins.
    """

    def __init__(self, source: Source) -> None:
        self.comments: list[_LocatedComment] = []
        self.parser = parser = expat.ParserCreate()
        self._pending_comments: list[tuple[int, str]] = []
        self._open_elements: list[tuple[int, list[tuple[int, str]]]] = []
        self._closed_element: tuple[int, list[tuple[int, str]]] | None = None
        parser.buffer_text = False
        parser.StartElementHandler = self._handle_start
        parser.EndElementHandler = self._handle_end
        parser.CommentHandler = self._handle_comment
        parser.CharacterDataHandler = self._handle_other
        parser.ProcessingInstructionHandler = self._handle_other
        parser.StartCdataSectionHandler = self._handle_other
        parser.Parse(source.data, True)
        self._finish_element(len(source.data))
        self._flush_uncovered()
        self.comments.sort()

    def _finish_element(self, end: int) -> None:
        if self._closed_element is not None:
            start, comments = self._closed_element
            at_root = not self._open_elements
            self.comments += [_LocatedComment(o, text, start, end, at_root) for o, text in comments]
            self._closed_element = None

    def _flush_uncovered(self) -> None:
        self.comments += [_LocatedComment(*c, -1, -1, False) for c in self._pending_comments]
        self._pending_comments = []

    def _handle_other(self, *_: object) -> None:
        self._finish_element(self.parser.CurrentByteIndex)

    def _handle_start(self, _tag: str, _attributes: object) -> None:
        self._handle_other()
        self._open_elements.append((self.parser.CurrentByteIndex, self._pending_comments))
        self._pending_comments = []

    def _handle_end(self, _tag: str) -> None:
        self._handle_other()
        self._flush_uncovered()
        self._closed_element = self._open_elements.pop()

    def _handle_comment(self, text: str) -> None:
        self._handle_other()
        self._pending_comments.append((self.parser.CurrentByteIndex, text))
