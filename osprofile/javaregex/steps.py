"""The simple steps of the machine: characters, alternatives, groups, assertions, look-around."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.javaregex.charset import LINE_ENDS, VERTICAL_SPACE, MembershipCache
from osprofile.javaregex.machine import MatchRun, Step
from osprofile.javaregex.syntax import AssertionKind
from osprofile.javaregex.tree_info import wrap_int32

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.javaregex.syntax import Look

_LINE_END_CHARS = frozenset(LINE_ENDS.list_chars())
_LINE_BREAK_CHARS = frozenset(VERTICAL_SPACE.list_chars())


@final
class CharStep(Step):
    """One character of a set."""

    __slots__ = ("members",)

    def __init__(self, members: MembershipCache) -> None:
        self.members = members

    def match_here(self, run: MatchRun) -> Step | None:
        """Match one character."""
        position = run.position
        if position < run.end and self.members[run.value[position]]:
            run.position = position + 1
            return self.next
        return None


@final
class TextStep(Step):
    """Characters that match only themselves."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the text."""
        if run.value.startswith(self.text, run.position):
            run.position += len(self.text)
            return self.next
        return None


@final
class EmptyStep(Step):
    """The empty pattern, which matches everywhere."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:  # noqa: ARG002  # every step takes the run
        """Match the empty text."""
        return self.next


@final
class ChoiceStep(Step):
    """Alternatives, tried in order."""

    __slots__ = ("branches",)

    def __init__(self, branches: tuple[Step, ...]) -> None:
        self.branches = branches

    def match_here(self, run: MatchRun) -> Step | None:
        """Try the first branch."""
        return _try_branch(run, (self.branches, 0, run.position))


def _try_branch(run: MatchRun, data: tuple[tuple[Step, ...], int, int]) -> Step:
    branches, number, run.position = data
    if number + 1 < len(branches):
        run.stack.append((_try_branch, None, (branches, number + 1, run.position)))
    return branches[number]


def continue_at(run: MatchRun, data: tuple[Step, int]) -> Step:
    """Go on with a step at a position; for the stack."""
    step, run.position = data
    return step


@final
class GroupStart(Step):
    """The begin of a group; notes the position for the group's end, and for a loop."""

    __slots__ = ("local_index",)

    def __init__(self, local_index: int) -> None:
        self.local_index = local_index

    def match_here(self, run: MatchRun) -> Step | None:
        """Note the position until the group's call ends."""
        push_local(run, self.local_index, run.position)
        return self.next


def push_local(run: MatchRun, local: int, number: int) -> None:
    """Set a local variable until the call ends, with success or without."""
    run.stack.append((_restore_local, _restore_local, (local, run.locals[local])))
    run.locals[local] = number


def _restore_local(run: MatchRun, data: tuple[int, int]) -> None:
    run.locals[data[0]] = data[1]


@final
class GroupEnd(Step):
    """The end of a capturing group."""

    __slots__ = ("group", "local_index")

    def __init__(self, local_index: int, group: int) -> None:
        self.local_index = local_index
        self.group = group

    def match_here(self, run: MatchRun) -> Step | None:
        """Set the capture; restore the former one if what follows fails."""
        save_capture(run, self.group)
        run.set_capture(self.group, run.locals[self.local_index], run.position)
        return self.next


def save_capture(run: MatchRun, group: int) -> None:
    """Note a group's capture, to be restored if what follows fails."""
    run.stack.append((_restore_capture, None, (group, *run.get_capture(group))))


def _restore_capture(run: MatchRun, data: tuple[int, int, int]) -> None:
    run.set_capture(*data)


@final
class LookAhead(Step):
    """A look-ahead."""

    __slots__ = ("body", "negative")

    def __init__(self, body: Step, *, negative: bool) -> None:
        self.body = body
        self.negative = negative

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the body on its own."""
        return run.enter_part(self.body, self._continue_after_body, run.position)

    def _continue_after_body(self, run: MatchRun, matched: bool, position: int) -> Step | None:
        run.position = position
        return self.next if matched is not self.negative else None


@final
class LookBehind(Step):
    """A look-behind: the body is tried from further and further back, and has to end here."""

    __slots__ = ("body", "look", "negative")

    def __init__(self, body: Step, look: Look) -> None:
        self.body = body
        self.look = look
        self.negative = look.negative

    def match_here(self, run: MatchRun) -> Step | None:
        """Try from the nearest position first."""
        position, look = run.position, self.look
        outer, run.lookbehind_end = run.lookbehind_end, position
        nearest, furthest = position - look.min_length, wrap_int32(position - look.max_length)
        if look.counts_code_points:
            nearest = max(nearest, 0)
            furthest = position - _lookbehind_distance(position, run.end, look.max_length)
        return self._try_from(run, nearest, max(furthest, 0), outer)

    def _try_from(self, run: MatchRun, position: int, start: int, outer: int) -> Step | None:
        if position < start:
            return self._finish_lookbehind(run, outer, matched=False)
        here = run.lookbehind_end
        run.position = position
        return run.enter_part(self.body, self._continue_after_body, (here, position, start, outer))

    def _continue_after_body(
        self, run: MatchRun, matched: bool, data: tuple[int, int, int, int]
    ) -> Step | None:
        run.lookbehind_end, position, start, outer = data
        if matched:
            return self._finish_lookbehind(run, outer, matched=True)
        return self._try_from(run, position - 1, start, outer)

    def _finish_lookbehind(self, run: MatchRun, outer: int, *, matched: bool) -> Step | None:
        run.position, run.lookbehind_end = run.lookbehind_end, outer
        return self.next if matched is not self.negative else None


def _lookbehind_distance(position: int, end: int, count: int) -> int:
    """Return how far back the JDK goes by code points; after an overflow it goes forward."""
    if count > 0:
        return min(position, count)
    return 0 if count == -0x80000000 else min(end - position, -count)


@final
class LookBehindEnd(Step):
    """The end of the body of a look-behind."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:
        """Succeed at the position of the look-behind."""
        return run.leave_part() if run.position == run.lookbehind_end else None


@final
class BackRefStep(Step):
    """A back-reference; `fold` maps a code point to the form that is compared."""

    __slots__ = ("fold", "group")

    def __init__(self, group: int, fold: Callable[[int], int] | None) -> None:
        self.group = group
        self.fold = fold

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the group's text again; fail if the group took no part."""
        start, end = run.get_capture(self.group)
        if start < 0:
            return None
        text = run.value[start:end]
        if not run.value.startswith(text, run.position) and not self._equals_folded(run, text):
            return None
        if self.fold and max(text, default="") > "\uffff":
            raise run.make_error("Java miscounts a case-insensitive reference to such text")
        run.position += len(text)
        return self.next

    def _equals_folded(self, run: MatchRun, text: str) -> bool:
        other = run.value[run.position : run.position + len(text)]
        fold = self.fold
        if fold is None or len(other) < len(text):
            return False
        if max(text, default="") > "\uffff":
            raise run.make_error("Java miscounts a case-insensitive reference to such text")
        return all(a == b or fold(ord(a)) == fold(ord(b)) for a, b in zip(text, other, strict=True))


@final
class LineBreakStep(Step):
    """Any line break."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:
        """Match a line break; CR LF as a whole first, then the CR alone."""
        position = run.position
        if position >= run.end or run.value[position] not in _LINE_BREAK_CHARS:
            return None
        run.position = position + 1
        if run.value.startswith("\r\n", position):
            run.stack.append((continue_at, None, (self.next, position + 1)))
            run.position = position + 2
        return self.next


@final
class AssertionStep(Step):
    """An assertion; `holds` checks it at the run's position."""

    __slots__ = ("holds",)

    def __init__(self, holds: Callable[[MatchRun], bool]) -> None:
        self.holds = holds

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the empty text if the assertion holds."""
        return self.next if self.holds(run) else None


def _at_text_begin(run: MatchRun) -> bool:
    return run.position == 0


def _at_text_end(run: MatchRun) -> bool:
    return run.position == run.end


def _at_line_begin(run: MatchRun) -> bool:
    position, value = run.position, run.value
    if position in {0, run.end}:
        return position != run.end
    before = value[position - 1]
    return before in _LINE_END_CHARS and not (before == "\r" and value[position] == "\n")


def _at_unix_line_begin(run: MatchRun) -> bool:
    position = run.position
    return position != run.end and (position == 0 or run.value[position - 1] == "\n")


def _at_line_end(run: MatchRun) -> bool:
    position, value = run.position, run.value
    if position == run.end:
        return True
    return value[position] in _LINE_END_CHARS and not (
        position and value[position - 1 : position + 1] == "\r\n"
    )


def _at_last_line_end(run: MatchRun) -> bool:
    left = run.end - run.position
    if left == 2 and run.value[run.position :] != "\r\n":
        return False
    return left <= 2 and _at_line_end(run)


def _at_unix_line_end(run: MatchRun) -> bool:
    return run.position == run.end or run.value[run.position] == "\n"


def _at_unix_last_line_end(run: MatchRun) -> bool:
    return run.end - run.position <= 1 and _at_unix_line_end(run)


def _at_last_match(run: MatchRun) -> bool:
    return run.position == run.previous_match_end


ASSERTION_CHECKS: dict[AssertionKind, Callable[[MatchRun], bool]] = {
    AssertionKind.BEGIN: _at_text_begin,
    AssertionKind.END: _at_text_end,
    AssertionKind.LINE_BEGIN: _at_line_begin,
    AssertionKind.UNIX_LINE_BEGIN: _at_unix_line_begin,
    AssertionKind.LAST_LINE_END: _at_last_line_end,
    AssertionKind.UNIX_LAST_LINE_END: _at_unix_last_line_end,
    AssertionKind.LINE_END: _at_line_end,
    AssertionKind.UNIX_LINE_END: _at_unix_line_end,
    AssertionKind.LAST_MATCH: _at_last_match,
}
