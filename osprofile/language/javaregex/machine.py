"""The machine that runs a pattern when no faster engine is known to give Java's result.

Java's matcher is a recursion: a node matches if it matches itself and the next node matches the
rest. Its results depend on that in places: a capture made inside an atomic group stays when what
follows fails, a repeated group forgets some alternatives, and so on. So this machine does the same
steps in the same order, but keeps an explicit stack in place of the recursion: no pattern or value
can exhaust Python's own. An entry of the stack is a call that waits for its answer:

    (on failure, on success or None, data)

`on failure(run, data)` says where to go on, or None to fail further; `on success(run, data)` is
what the call still does while success is handed back.

A part that Java matches for itself (atomic group, look-around, repetition without choices) is
entered by `Run.enter` and left by `Accept`, which forgets its stack: it is never tried again.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, final

from osprofile.errors import JavaRegexError, JavaRegexTimeoutError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    Resume = Callable[["Run", Any], "Step | None"]
    Finish = Callable[["Run", Any], None]
    Returned = Callable[["Run", bool, Any], "Step | None"]

CHECK_EVERY = 0x800


class Step:
    """A node of a running pattern; `next` is what has to match behind it."""

    __slots__ = ("next",)
    next: Step

    def step(self, run: Run) -> Step | None:
        """Match here (`run.place`), and give the step to go on with, or None to fail."""
        raise NotImplementedError


@final
class Accept(Step):
    """The end of a part that is matched for itself."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:
        """Hand success back to who entered the part."""
        run.last = run.place
        return run.leave()


@final
class Found(Step):
    """The end of the pattern."""

    __slots__ = ()

    def step(self, run: Run) -> Step | None:
        """Succeed, unless the whole value is asked for and this is not its end."""
        if run.whole and run.place != run.end:
            return None
        run.last = run.place
        return DONE


@final
class Done(Step):
    """What `Found` gives when it succeeds."""

    __slots__ = ()


DONE = Done()
ACCEPT = Accept()


@final
class Program:
    """A compiled pattern: its first step, and the sizes of what a run needs."""

    __slots__ = ("anchored", "groups", "locals", "loops", "min_length", "start", "text")

    def __init__(self, text: str, start: Step, *, groups: int, min_length: int) -> None:
        self.text = text
        self.start = start
        self.groups = groups
        self.min_length = min_length
        self.locals = 0
        self.loops = 0
        self.anchored = False


@final
class Run:
    """One value being matched against a program: what Java's `Matcher` holds."""

    __slots__ = (
        "deadline", "end", "failed", "frame", "groups", "last", "last_match", "locals",
        "look_end", "place", "program", "stack", "value", "whole", "work",
    )  # fmt: skip

    def __init__(self, program: Program, value: str, deadline: float) -> None:
        self.program = program
        self.value = value
        self.end = len(value)
        self.deadline = deadline
        self.place = 0
        self.last = 0
        self.last_match = 0
        self.look_end = 0
        self.whole = False
        self.work = 0
        self.groups: list[int] = []
        self.locals: list[int] = []
        self.failed: list[set[int]] = []
        self.stack: list[tuple[Resume, Finish | None, Any]] = []
        self.frame = -1

    def enter(self, part: Step, returned: Returned, data: Any) -> Step:  # noqa: ANN401  # its own
        """Match a part for itself; `returned(run, matched, data)` goes on with the answer."""
        self.stack.append((_failed, None, (returned, data, self.frame)))
        self.frame = len(self.stack) - 1
        return part

    def leave(self) -> Step | None:
        """End the part entered last, with success."""
        _, _, (returned, data, outer) = self.stack[self.frame]
        self._succeed(self.frame + 1)
        self.stack.pop()
        self.frame = outer
        answer: Step | None = returned(self, True, data)
        return answer

    def _succeed(self, down_to: int) -> None:
        stack = self.stack
        while len(stack) > down_to:
            _, finish, data = stack.pop()
            if finish is not None:
                finish(self, data)

    def full(self) -> bool:
        """Match the whole value, as Java's `matches()`."""
        self._reset()
        self.whole = True
        return self._at(0)

    def search(self, start: int) -> bool:
        """Find the first match from a place on, as Java's `find()`."""
        self._reset()
        program = self.program
        for place in range(start, self.end - program.min_length + 1):
            if self._at(place):
                self.groups[0] = place
                self.groups[1] = self.last_match = self.last
                return True
            if program.anchored:
                break
        return False

    def _reset(self) -> None:
        program = self.program
        self.groups = [-1] * max(20, 2 * program.groups + 2)
        self.locals = [-1] * program.locals
        self.failed = [set() for _ in range(program.loops)]

    def _at(self, place: int) -> bool:
        """Run the program from a place; groups keep what Java would leave in them."""
        self.place = place
        self.frame = -1
        stack = self.stack
        node: Step | None = self.program.start
        while True:
            self.work += 1
            if self.work >= CHECK_EVERY:
                self._check()
            if node is None:
                if not stack:
                    return False
                resume, _, data = stack.pop()
                node = resume(self, data)
            elif node is DONE:
                self._succeed(0)
                self.groups[0], self.groups[1] = place, self.last
                return True
            else:
                node = node.step(self)

    def _check(self) -> None:
        self.work = 0
        if monotonic() > self.deadline:
            raise too_slow(self.program.text, self.end)

    def spans(self) -> tuple[tuple[int, int], ...]:
        """Give the places of the groups of a match, the whole first; (-1, -1) for no match."""
        groups = self.groups
        return tuple((groups[2 * n], groups[2 * n + 1]) for n in range(self.program.groups + 1))

    def refuse(self, message: str) -> JavaRegexError:
        """Give the error for what is only found out while matching."""
        return JavaRegexError(f"{message} in the pattern {shown(self.program.text)}")


def _failed(run: Run, data: tuple[Returned, Any, int]) -> Step | None:
    returned, more, run.frame = data
    return returned(run, False, more)


def too_slow(pattern: str, length: int) -> JavaRegexTimeoutError:
    """Give the error for a call that took longer than its deadline."""
    return JavaRegexTimeoutError(
        f"the pattern {shown(pattern)} takes too long on a value of {length} characters",
        hint="a repetition inside a repetition tries too many ways: make it possessive (X*+), "
        "or let what follows it begin with something that it cannot match itself",
    )
