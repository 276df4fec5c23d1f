"""Repetition of a group with choices inside: in the JDK `Prolog`, `Loop` and `LazyLoop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.javaregex.machine import MatchRun, Step
from osprofile.javaregex.steps import continue_at, push_local

if TYPE_CHECKING:
    from osprofile.javaregex.syntax import RepeatKind


@final
class LoopStart(Step):
    """The way into a loop."""

    __slots__ = ("loop",)

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def match_here(self, run: MatchRun) -> Step | None:
        """Begin to count at one; without a least number, nothing is an answer too."""
        loop = self.loop
        push_local(run, loop.count_local, run.locals[loop.count_local])
        if loop.most == 0:
            return loop.next
        if loop.least == 0:
            if loop.lazy:
                run.stack.append((self.start_body_late, None, run.position))
                return loop.next
            run.stack.append((continue_at, None, (loop.next, run.position)))
        run.locals[loop.count_local] = 1
        return loop.body

    def start_body_late(self, run: MatchRun, place: int) -> Step:
        """Match the body after all."""
        run.position = place
        run.locals[self.loop.count_local] = 1
        return self.loop.body


@final
class Loop(Step):
    """What follows the body of a loop.

    `count_local` and `begin` are local variables: how often the body has matched, and where it began the
    last time. `failed_index` is the number of the set of places from which one more round is known to
    fail, or None; the JDK keeps it for greedy loops that no other repetition is around.
    """

    __slots__ = ("begin_local", "body", "count_local", "failed_index", "lazy", "least", "most")
    body: Step

    def __init__(
        self, least: int, most: int, kind: RepeatKind, *, count_local: int, begin_local: int
    ) -> None:
        self.least = least
        self.most = most
        self.lazy = kind == "lazy"
        self.count_local = count_local
        self.begin_local = begin_local
        self.failed_index: int | None = None

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the body once more, or go on; an empty round is the last."""
        place = run.position
        if place <= run.locals[self.begin_local]:
            return self.next
        count = run.locals[self.count_local]
        if count < self.least:
            run.stack.append((self.restore_count, None, count))
            return self._repeat_body(run, count)
        if self.lazy:
            if count < self.most:
                run.stack.append((self.repeat_body_late, None, (place, count)))
            return self.next
        if count >= self.most or (
            self.failed_index is not None and place in run.failed_positions[self.failed_index]
        ):
            return self.next
        run.stack.append((self.stop_repeating, None, (place, count)))
        return self._repeat_body(run, count)

    def _repeat_body(self, run: MatchRun, count: int) -> Step:
        run.locals[self.count_local] = count + 1
        return self.body

    def restore_count(self, run: MatchRun, count: int) -> None:
        """Fail, below the least number."""
        run.locals[self.count_local] = count

    def stop_repeating(self, run: MatchRun, data: tuple[int, int]) -> Step:
        """Go on with what follows, one more round having failed."""
        run.position, run.locals[self.count_local] = data
        if self.failed_index is not None:
            run.failed_positions[self.failed_index].add(run.position)
        return self.next

    def repeat_body_late(self, run: MatchRun, data: tuple[int, int]) -> Step:
        """Match the body once more after all."""
        run.position, count = data
        run.stack.append((self.restore_count, None, count))
        return self._repeat_body(run, count)
