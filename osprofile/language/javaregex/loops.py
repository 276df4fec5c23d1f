"""Repetition of a group with choices inside: in the JDK `Prolog`, `Loop` and `LazyLoop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.language.javaregex.machine import Run, Step
from osprofile.language.javaregex.steps import go_on, push_local

if TYPE_CHECKING:
    from osprofile.language.javaregex.syntax import Kind


@final
class Enter(Step):
    """The way into a loop."""

    __slots__ = ("loop",)

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def step(self, run: Run) -> Step | None:
        """Begin to count at one; without a least number, nothing is an answer too."""
        loop = self.loop
        push_local(run, loop.count, run.locals[loop.count])
        if loop.most == 0:
            return loop.next
        if loop.least == 0:
            if loop.lazy:
                run.stack.append((self.begin, None, run.place))
                return loop.next
            run.stack.append((go_on, None, (loop.next, run.place)))
        run.locals[loop.count] = 1
        return loop.body

    def begin(self, run: Run, place: int) -> Step:
        """Match the body after all."""
        run.place = place
        run.locals[self.loop.count] = 1
        return self.loop.body


@final
class Loop(Step):
    """What follows the body of a loop.

    `count` and `begin` are local variables: how often the body has matched, and where it began the
    last time. `tried` is the number of the set of places from which one more round is known to
    fail, or None; the JDK keeps it for greedy loops that no other repetition is around.
    """

    __slots__ = ("begin", "body", "count", "lazy", "least", "most", "tried")
    body: Step

    def __init__(self, least: int, most: int, kind: Kind, *, count: int, begin: int) -> None:
        self.least = least
        self.most = most
        self.lazy = kind == "lazy"
        self.count = count
        self.begin = begin
        self.tried: int | None = None

    def step(self, run: Run) -> Step | None:
        """Match the body once more, or go on; an empty round is the last."""
        place = run.place
        if place <= run.locals[self.begin]:
            return self.next
        count = run.locals[self.count]
        if count < self.least:
            run.stack.append((self.back, None, count))
            return self._again(run, count)
        if self.lazy:
            if count < self.most:
                run.stack.append((self.late, None, (place, count)))
            return self.next
        if count >= self.most or (self.tried is not None and place in run.failed[self.tried]):
            return self.next
        run.stack.append((self.enough, None, (place, count)))
        return self._again(run, count)

    def _again(self, run: Run, count: int) -> Step:
        run.locals[self.count] = count + 1
        return self.body

    def back(self, run: Run, count: int) -> None:
        """Fail, below the least number."""
        run.locals[self.count] = count

    def enough(self, run: Run, data: tuple[int, int]) -> Step:
        """Go on with what follows, one more round having failed."""
        run.place, run.locals[self.count] = data
        if self.tried is not None:
            run.failed[self.tried].add(run.place)
        return self.next

    def late(self, run: Run, data: tuple[int, int]) -> Step:
        """Match the body once more after all."""
        run.place, count = data
        run.stack.append((self.back, None, count))
        return self._again(run, count)
