"""Waivers: comments by which a profile's author says that a problem is meant to be, and why.

    <!-- lint-waive OSP605: the pattern of PATH forbids a leading - -->

A waiver on lines of its own covers the element that follows it, from its start tag to its end tag;
one behind something else on a line covers that line. One before the root element covers the whole
file, and what this profile makes wrong in those that it inherits from. In a script no XML comment can
stand: the waiver stands before its Body, Invocation or Template.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final
from xml.parsers import expat

from osprofile.errors import Problem, quote_name, suggest_names
from osprofile.lint.rules import RULES, UNLOADABLE, is_rule_code, make_problem
from osprofile.source import Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.source import Source

WAIVER_KEYWORD: Final = "lint-waive"
"""The first word of a waiver."""

WAIVER_SYNTAX: Final = f"a waiver is written <!-- {WAIVER_KEYWORD} CODE ...: REASON -->"

_WAIVER_PATTERN: Final = re.compile(rf"\s*{WAIVER_KEYWORD}\b([^:]*)(?::(.*))?", re.DOTALL)


@final
class Waiver(NamedTuple):
    """A waiver of some codes: `reason` in one line, and the bytes that it covers.

    `covers_parents`: it covers inherited documents, too.
    """

    codes: tuple[str, ...]
    reason: str
    location: Location
    start: int
    end: int
    covers_parents: bool = False

    def covers(self, location: Location | None) -> bool:
        """Say whether a place is in what it covers."""
        if self.covers_parents:
            return True
        if location is None or location.source is not self.location.source:
            return False
        return self.start <= location.offset < self.end


@final
class WaivedProblem(NamedTuple):
    """A problem, and the waiver that covers it."""

    problem: Problem
    waiver: Waiver


@final
class _PlacedComment(NamedTuple):
    """A comment with the range of the element that follows it, -1 without one."""

    offset: int
    text: str
    start: int
    end: int
    at_root: bool


def apply_waivers(
    problems: Sequence[Problem], source: Source, *, active_prefixes: Iterable[str]
) -> tuple[list[Problem], list[WaivedProblem]]:
    """Give the problems that no waiver of the document covers, and those that one does.

    `active_prefixes` has what codes of rules that were run begin with: a waiver of one of them that covers
    nothing is a problem itself (OSP701), as is a waiver that says nothing clear (OSP702).
    """
    if WAIVER_KEYWORD.encode() not in source.data:
        return [*problems], []
    waivers, bad = read_waivers(source)
    kept, waived = list[Problem](), list[WaivedProblem]()
    for found, waiver in _match_waivers(problems, waivers, source):
        if waiver is None:
            kept.append(found)
        else:
            waived.append(WaivedProblem(found, waiver))
    used = {(w.waiver.location.offset, w.problem.code) for w in waived}
    bad += [
        _unused_waiver_problem(waiver, code)
        for waiver in waivers
        for code in waiver.codes
        if (waiver.location.offset, code) not in used and code.startswith(tuple(active_prefixes))
    ]
    return [*kept, *bad], waived


def _match_waivers(
    problems: Sequence[Problem], waivers: Iterable[Waiver], source: Source
) -> Iterator[tuple[Problem, Waiver | None]]:
    """Give each problem with the innermost waiver that covers it.

    Both are walked through once, in the order of the document: of a code, elements that nest and
    one line are all that can be open at a place.
    """
    # Of two that cover the same, the first one counts.
    unique = {(c, w.start, w.end): w for w in [*waivers][::-1] for c in w.codes}
    everywhere = {code: w for (code, _, _), w in unique.items() if w.covers_parents}
    inner = [(w.start, code, w) for (code, _, _), w in unique.items() if not w.covers_parents]
    pending = sorted(inner, key=lambda item: item[0], reverse=True)
    open_: dict[str, list[Waiver]] = {}
    for found in sorted(problems, key=lambda p: p.location.offset if p.location else -1):
        here = found.location if found.location and found.location.source is source else None
        while here and pending and pending[-1][0] <= here.offset:
            _, code, waiver = pending.pop()
            open_.setdefault(code, []).append(waiver)
        covering = [w for w in open_.get(found.code, ()) if w.covers(here)] if here else []
        if here:
            open_[found.code] = covering
        innermost = min(covering, key=lambda w: w.end - w.start, default=None)
        yield found, innermost or everywhere.get(found.code)


def _unused_waiver_problem(waiver: Waiver, code: str) -> Problem:
    covered = "the profile" if waiver.covers_parents else "what it covers"
    message = f"a waiver of {code}, and {covered} has no such problem"
    hint = "remove the waiver: it would hide the problem if it came back"
    return make_problem("OSP701", message, waiver.location, hint)


def read_waivers(source: Source) -> tuple[list[Waiver], list[Problem]]:
    """Give the waivers of a well-formed document, and what is wrong with them (OSP702)."""
    waivers, problems = list[Waiver](), list[Problem]()
    for comment in _CommentReader(source).comments:
        match = _WAIVER_PATTERN.match(comment.text)
        if match is None:
            continue
        place = Location(source, comment.offset)
        codes, reason = (
            tuple(match[1].replace(",", " ").split()),
            " ".join((match[2] or "").split()),
        )
        wrong = [*_check_waiver(codes, reason, place)]
        start, end, at_root = _covered_range(source, comment)
        if start < 0:
            message = "a waiver with nothing behind it that it could cover"
            hint = "it stands before an element, or behind something on the same line"
            wrong.append(make_problem("OSP702", message, place, hint))
        problems += wrong
        if not wrong:
            waivers.append(Waiver(codes, reason, place, start, end, at_root))
    return waivers, problems


def _check_waiver(codes: Sequence[str], reason: str, location: Location) -> Iterator[Problem]:
    if not codes:
        yield make_problem("OSP702", "a waiver that names no code", location, WAIVER_SYNTAX)
    elif not reason:
        hint = f"say why, for those who come after you: {WAIVER_SYNTAX}"
        yield make_problem("OSP702", "a waiver without a reason", location, hint)
    for code in codes:
        if not is_rule_code(code):
            message = f"a waiver of {quote_name(code)}, which is no code"
            yield make_problem("OSP702", message, location, suggest_names(code, RULES))
        elif code in UNLOADABLE:
            message = f"{code} cannot be waived: no command would load the profile"
            yield make_problem("OSP702", message, location, RULES[code].why)


def _covered_range(source: Source, comment: _PlacedComment) -> tuple[int, int, bool]:
    """Give the first byte that a waiver covers, the one after the last, and if that is all."""
    begin = source.data.rfind(b"\n", 0, comment.offset) + 1
    if not source.data[begin : comment.offset].strip():
        return comment.start, comment.end, comment.at_root
    end = source.data.find(b"\n", comment.offset)
    return begin, len(source.data) if end < 0 else end, False


@final
class _CommentReader:
    """The comments of a well-formed document, each with the element that follows it.

    expat tells where things begin: an element ends where the next thing begins.
    """

    def __init__(self, source: Source) -> None:
        self.comments: list[_PlacedComment] = []
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

    def _finish_element(self, at: int) -> None:
        if self._closed_element is not None:
            start, comments = self._closed_element
            at_root = not self._open_elements
            self.comments += [_PlacedComment(o, text, start, at, at_root) for o, text in comments]
            self._closed_element = None

    def _flush_uncovered(self) -> None:
        self.comments += [
            _PlacedComment(o, text, -1, -1, False) for o, text in self._pending_comments
        ]
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
