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

from osprofile.errors import Problem, nearest, told
from osprofile.lint.rules import RULES, UNLOADABLE, is_code, problem
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.source import Source

MARK: Final = "lint-waive"
"""The first word of a waiver."""

FORM: Final = f"a waiver is written <!-- {MARK} CODE ...: REASON -->"

_WAIVER: Final = re.compile(rf"\s*{MARK}\b([^:]*)(?::(.*))?", re.DOTALL)


@final
class Waiver(NamedTuple):
    """A waiver of some codes: `reason` in one line, and the bytes that it covers.

    `everywhere`: it covers inherited documents, too.
    """

    codes: tuple[str, ...]
    reason: str
    place: Place
    start: int
    end: int
    everywhere: bool = False

    def covers(self, place: Place | None) -> bool:
        """Say whether a place is in what it covers."""
        if self.everywhere:
            return True
        if place is None or place.source is not self.place.source:
            return False
        return self.start <= place.offset < self.end


@final
class Waived(NamedTuple):
    """A problem, and the waiver that covers it."""

    problem: Problem
    waiver: Waiver


@final
class _Comment(NamedTuple):
    """A comment with the range of the element that follows it, -1 without one."""

    offset: int
    text: str
    start: int
    end: int
    at_root: bool


def settle(
    problems: Sequence[Problem], source: Source, *, ran: Iterable[str]
) -> tuple[list[Problem], list[Waived]]:
    """Give the problems that no waiver of the document covers, and those that one does.

    `ran` has what codes of rules that were run begin with: a waiver of one of them that covers
    nothing is a problem itself (OSP701), as is a waiver that says nothing clear (OSP702).
    """
    if MARK.encode() not in source.data:
        return [*problems], []
    waivers, bad = read(source)
    kept, waived = list[Problem](), list[Waived]()
    for found, waiver in _matched(problems, waivers, source):
        if waiver is None:
            kept.append(found)
        else:
            waived.append(Waived(found, waiver))
    used = {(w.waiver.place.offset, w.problem.code) for w in waived}
    bad += [
        _unused(waiver, code)
        for waiver in waivers
        for code in waiver.codes
        if (waiver.place.offset, code) not in used and code.startswith(tuple(ran))
    ]
    return [*kept, *bad], waived


def _matched(
    problems: Sequence[Problem], waivers: Iterable[Waiver], source: Source
) -> Iterator[tuple[Problem, Waiver | None]]:
    """Give each problem with the innermost waiver that covers it.

    Both are walked through once, in the order of the document: of a code, elements that nest and
    one line are all that can be open at a place.
    """
    # Of two that cover the same, the first one counts.
    unique = {(c, w.start, w.end): w for w in [*waivers][::-1] for c in w.codes}
    everywhere = {code: w for (code, _, _), w in unique.items() if w.everywhere}
    inner = [(w.start, code, w) for (code, _, _), w in unique.items() if not w.everywhere]
    pending = sorted(inner, key=lambda item: item[0], reverse=True)
    open_: dict[str, list[Waiver]] = {}
    for found in sorted(problems, key=lambda p: p.place.offset if p.place else -1):
        here = found.place if found.place and found.place.source is source else None
        while here and pending and pending[-1][0] <= here.offset:
            _, code, waiver = pending.pop()
            open_.setdefault(code, []).append(waiver)
        covering = [w for w in open_.get(found.code, ()) if w.covers(here)] if here else []
        if here:
            open_[found.code] = covering
        innermost = min(covering, key=lambda w: w.end - w.start, default=None)
        yield found, innermost or everywhere.get(found.code)


def _unused(waiver: Waiver, code: str) -> Problem:
    covered = "the profile" if waiver.everywhere else "what it covers"
    message = f"a waiver of {code}, and {covered} has no such problem"
    hint = "remove the waiver: it would hide the problem if it came back"
    return problem("OSP701", message, waiver.place, hint)


def read(source: Source) -> tuple[list[Waiver], list[Problem]]:
    """Give the waivers of a well-formed document, and what is wrong with them (OSP702)."""
    waivers, problems = list[Waiver](), list[Problem]()
    for comment in _Comments(source).found:
        match = _WAIVER.match(comment.text)
        if match is None:
            continue
        place = Place(source, comment.offset)
        codes, reason = (
            tuple(match[1].replace(",", " ").split()),
            " ".join((match[2] or "").split()),
        )
        wrong = [*_wrong(codes, reason, place)]
        start, end, at_root = _range(source, comment)
        if start < 0:
            message = "a waiver with nothing behind it that it could cover"
            hint = "it stands before an element, or behind something on the same line"
            wrong.append(problem("OSP702", message, place, hint))
        problems += wrong
        if not wrong:
            waivers.append(Waiver(codes, reason, place, start, end, at_root))
    return waivers, problems


def _wrong(codes: Sequence[str], reason: str, place: Place) -> Iterator[Problem]:
    if not codes:
        yield problem("OSP702", "a waiver that names no code", place, FORM)
    elif not reason:
        hint = f"say why, for those who come after you: {FORM}"
        yield problem("OSP702", "a waiver without a reason", place, hint)
    for code in codes:
        if not is_code(code):
            message = f"a waiver of {told(code)}, which is no code"
            yield problem("OSP702", message, place, nearest(code, RULES))
        elif code in UNLOADABLE:
            message = f"{code} cannot be waived: no command would load the profile"
            yield problem("OSP702", message, place, RULES[code].why)


def _range(source: Source, comment: _Comment) -> tuple[int, int, bool]:
    """Give the first byte that a waiver covers, the one after the last, and if that is all."""
    begin = source.data.rfind(b"\n", 0, comment.offset) + 1
    if not source.data[begin : comment.offset].strip():
        return comment.start, comment.end, comment.at_root
    end = source.data.find(b"\n", comment.offset)
    return begin, len(source.data) if end < 0 else end, False


@final
class _Comments:
    """The comments of a well-formed document, each with the element that follows it.

    expat tells where things begin: an element ends where the next thing begins.
    """

    def __init__(self, source: Source) -> None:
        self.found: list[_Comment] = []
        self.parser = parser = expat.ParserCreate()
        self._pending: list[tuple[int, str]] = []
        self._open: list[tuple[int, list[tuple[int, str]]]] = []
        self._ended: tuple[int, list[tuple[int, str]]] | None = None
        parser.buffer_text = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CommentHandler = self._comment
        parser.CharacterDataHandler = self._next
        parser.ProcessingInstructionHandler = self._next
        parser.StartCdataSectionHandler = self._next
        parser.Parse(source.data, True)
        self._close(len(source.data))
        self._cover_nothing()
        self.found.sort()

    def _close(self, at: int) -> None:
        if self._ended is not None:
            start, comments = self._ended
            at_root = not self._open
            self.found += [_Comment(o, text, start, at, at_root) for o, text in comments]
            self._ended = None

    def _cover_nothing(self) -> None:
        self.found += [_Comment(o, text, -1, -1, False) for o, text in self._pending]
        self._pending = []

    def _next(self, *_: object) -> None:
        self._close(self.parser.CurrentByteIndex)

    def _start(self, _tag: str, _attributes: object) -> None:
        self._next()
        self._open.append((self.parser.CurrentByteIndex, self._pending))
        self._pending = []

    def _end(self, _tag: str) -> None:
        self._next()
        self._cover_nothing()
        self._ended = self._open.pop()

    def _comment(self, text: str) -> None:
        self._next()
        self._pending.append((self.parser.CurrentByteIndex, text))
