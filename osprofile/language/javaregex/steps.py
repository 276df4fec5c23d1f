"""The simple steps of the machine: characters, alternatives, groups, assertions, look-around."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.language.javaregex.charset import LINE_ENDS, VERTICAL, Members
from osprofile.language.javaregex.machine import Run, Step
from osprofile.language.javaregex.study import int32
from osprofile.language.javaregex.syntax import Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.language.javaregex.syntax import Look

_ENDS = frozenset(chr(c) for first, last in LINE_ENDS.ranges for c in range(first, last + 1))
_BREAKS = frozenset(chr(c) for first, last in VERTICAL.ranges for c in range(first, last + 1))


@final
class One(Step):
    """One character out of a set."""

    __slots__ = ("members",)

    def __init__(self, members: Members) -> None:
        self.members = members

    def step(self, run: Run) -> Step | None:
        """Match one character."""
        place = run.place
        if place < run.end and self.members[run.value[place]]:
            run.place = place + 1
            return self.next
        return None


@final
class Text(Step):
    """Several characters that match nothing but themselves."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def step(self, run: Run) -> Step | None:
        """Match the text."""
        if run.value.startswith(self.text, run.place):
            run.place += len(self.text)
            return self.next
        return None


@final
class Empty(Step):
    """Nothing: it matches everywhere."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:  # noqa: ARG002  # every step takes the run
        """Go on."""
        return self.next


@final
class Choice(Step):
    """Alternatives, tried in order."""

    __slots__ = ("branches",)

    def __init__(self, branches: tuple[Step, ...]) -> None:
        self.branches = branches

    def step(self, run: Run) -> Step | None:
        """Try the first."""
        return _try(run, (self.branches, 0, run.place))


def _try(run: Run, data: tuple[tuple[Step, ...], int, int]) -> Step:
    branches, number, run.place = data
    if number + 1 < len(branches):
        run.stack.append((_try, None, (branches, number + 1, run.place)))
    return branches[number]


def go_on(run: Run, data: tuple[Step, int]) -> Step:
    """Go on with a step at a place: what an entry of the stack most often is."""
    step, run.place = data
    return step


@final
class Open(Step):
    """Where a group begins: notes the place for its end, and for a loop."""

    __slots__ = ("local",)

    def __init__(self, local: int) -> None:
        self.local = local

    def step(self, run: Run) -> Step | None:
        """Note the place; forget it again however this ends."""
        push_local(run, self.local, run.place)
        return self.next


def push_local(run: Run, local: int, number: int) -> None:
    """Set a local variable until the call ends, with success or without."""
    run.stack.append((_restore_local, _finish_local, (local, run.locals[local])))
    run.locals[local] = number


def _restore_local(run: Run, data: tuple[int, int]) -> None:
    run.locals[data[0]] = data[1]


_finish_local = _restore_local


@final
class Close(Step):
    """Where a capturing group ends."""

    __slots__ = ("group", "local")

    def __init__(self, local: int, group: int) -> None:
        self.local = local
        self.group = group

    def step(self, run: Run) -> Step | None:
        """Capture; take it back if what follows fails."""
        push_group(run, self.group)
        set_group(run, self.group, run.locals[self.local], run.place)
        return self.next


def push_group(run: Run, group: int) -> None:
    """Restore a group's capture if what follows fails."""
    start, end = run.groups[2 * group], run.groups[2 * group + 1]
    run.stack.append((_restore_group, None, (group, start, end)))


def set_group(run: Run, group: int, start: int, end: int) -> None:
    """Set what a group has captured."""
    run.groups[2 * group] = start
    run.groups[2 * group + 1] = end


def _restore_group(run: Run, data: tuple[int, int, int]) -> None:
    set_group(run, *data)


@final
class Ahead(Step):
    """A look-ahead."""

    __slots__ = ("body", "negative")

    def __init__(self, body: Step, *, negative: bool) -> None:
        self.body = body
        self.negative = negative

    def step(self, run: Run) -> Step | None:
        """Match the body for itself."""
        return run.enter(self.body, self.returned, run.place)

    def returned(self, run: Run, matched: bool, place: int) -> Step | None:
        """Go on from where this stood."""
        run.place = place
        return self.next if matched is not self.negative else None


@final
class Behind(Step):
    """A look-behind: the body is tried from ever further back, and has to end here."""

    __slots__ = ("body", "look", "negative")

    def __init__(self, body: Step, look: Look) -> None:
        self.body = body
        self.look = look
        self.negative = look.negative

    def step(self, run: Run) -> Step | None:
        """Try from the nearest place."""
        place, look = run.place, self.look
        outer, run.look_end = run.look_end, place
        nearest, furthest = place - look.shortest, int32(place - look.longest)
        if look.wide:
            nearest = max(nearest, 0)
            furthest = place - _counted_back(place, run.end, look.longest)
        return self._from(run, nearest, max(furthest, 0), outer)

    def _from(self, run: Run, place: int, start: int, outer: int) -> Step | None:
        if place < start:
            return self._end(run, outer, matched=False)
        here = run.look_end
        run.place = place
        return run.enter(self.body, self.returned, (here, place, start, outer))

    def returned(self, run: Run, matched: bool, data: tuple[int, int, int, int]) -> Step | None:
        """Try from further back, or end."""
        run.look_end, place, start, outer = data
        if matched:
            return self._end(run, outer, matched=True)
        return self._from(run, place - 1, start, outer)

    def _end(self, run: Run, outer: int, *, matched: bool) -> Step | None:
        run.place, run.look_end = run.look_end, outer
        return self.next if matched is not self.negative else None


def _counted_back(place: int, end: int, count: int) -> int:
    """Give how far the JDK goes back by code points; forward, when the count has overflowed."""
    if count > 0:
        return min(place, count)
    return 0 if count == -0x80000000 else min(end - place, -count)


@final
class BehindEnd(Step):
    """The end of a look-behind's body."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:
        """Succeed where the look-behind stands."""
        return run.leave() if run.place == run.look_end else None


@final
class Same(Step):
    """A back-reference; `fold` maps a code point to the form that is compared, or is None."""

    __slots__ = ("fold", "group")

    def __init__(self, group: int, fold: Callable[[int], int] | None) -> None:
        self.group = group
        self.fold = fold

    def step(self, run: Run) -> Step | None:
        """Match what the group has captured once more; fail if it has not."""
        start, end = run.groups[2 * self.group], run.groups[2 * self.group + 1]
        if start < 0:
            return None
        text = run.value[start:end]
        if not run.value.startswith(text, run.place) and not self._alike(run, text):
            return None
        if self.fold and max(text, default="") > "\uffff":
            raise run.refuse("Java miscounts a case-insensitive reference to such text")
        run.place += len(text)
        return self.next

    def _alike(self, run: Run, text: str) -> bool:
        other = run.value[run.place : run.place + len(text)]
        fold = self.fold
        if fold is None or len(other) < len(text):
            return False
        if max(text, default="") > "\uffff":
            raise run.refuse("Java miscounts a case-insensitive reference to such text")
        return all(a == b or fold(ord(a)) == fold(ord(b)) for a, b in zip(text, other, strict=True))


@final
class Break(Step):
    """Any line break."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:
        """Match one; CR LF first as a whole, then the CR alone."""
        place = run.place
        if place >= run.end or run.value[place] not in _BREAKS:
            return None
        run.place = place + 1
        if run.value.startswith("\r\n", place):
            run.stack.append((go_on, None, (self.next, place + 1)))
            run.place = place + 2
        return self.next


@final
class Check(Step):
    """An assertion."""

    __slots__ = ("holds",)

    def __init__(self, holds: Callable[[Run], bool]) -> None:
        self.holds = holds

    def step(self, run: Run) -> Step | None:
        """Go on if it holds."""
        return self.next if self.holds(run) else None


def _begin(run: Run) -> bool:
    return run.place == 0


def _end(run: Run) -> bool:
    return run.place == run.end


def _line_begin(run: Run) -> bool:
    place, value = run.place, run.value
    if place in {0, run.end}:
        return place != run.end
    before = value[place - 1]
    return before in _ENDS and not (before == "\r" and value[place] == "\n")


def _unix_line_begin(run: Run) -> bool:
    place = run.place
    return place != run.end and (place == 0 or run.value[place - 1] == "\n")


def _line_end(run: Run) -> bool:
    place, value = run.place, run.value
    if place == run.end:
        return True
    return value[place] in _ENDS and not (place and value[place - 1 : place + 1] == "\r\n")


def _last_line_end(run: Run) -> bool:
    left = run.end - run.place
    if left == 2 and run.value[run.place :] != "\r\n":
        return False
    return left <= 2 and _line_end(run)


def _unix_line_end(run: Run) -> bool:
    return run.place == run.end or run.value[run.place] == "\n"


def _unix_last_line_end(run: Run) -> bool:
    return run.end - run.place <= 1 and _unix_line_end(run)


def _last_match(run: Run) -> bool:
    return run.place == run.last_match


CHECKS: dict[Where, Callable[[Run], bool]] = {
    Where.BEGIN: _begin,
    Where.END: _end,
    Where.LINE_BEGIN: _line_begin,
    Where.UNIX_LINE_BEGIN: _unix_line_begin,
    Where.LAST_LINE_END: _last_line_end,
    Where.UNIX_LAST_LINE_END: _unix_last_line_end,
    Where.LINE_END: _line_end,
    Where.UNIX_LINE_END: _unix_line_end,
    Where.LAST_MATCH: _last_match,
}
