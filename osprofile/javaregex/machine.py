"""The machine that runs a pattern when no faster engine is known to give Java's result.

Java's matcher is recursive: a node matches if it matches itself and the next node matches the
rest. In places its results depend on that: a capture made inside an atomic group stays when what
follows fails, a repeated group forgets some alternatives, and so on. So this machine takes the
same steps in the same order, but with an explicit stack instead of recursion: no pattern or value
can exceed Python's recursion limit. An entry of the stack is a call that waits for its result:

    (on_failure, on_success or None, data)

`on_failure(run, data)` returns the step to go on with, or None to fail further;
`on_success(run, data)` does what the call still has to do while success is returned.

A part that Java matches on its own (atomic group, look-around, repetition without choices) is
entered by `MatchRun.enter_part` and left at `PartEnd`, which discards the part's stack: a part is
never tried again.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Any, final

from osprofile.errors import JavaRegexError, JavaRegexTimeoutError
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable

    OnFailure = Callable[["MatchRun", Any], "Step | None"]
    OnSuccess = Callable[["MatchRun", Any], None]
    OnReturn = Callable[["MatchRun", bool, Any], "Step | None"]

DEADLINE_CHECK_STEPS = 0x800  # rarely enough that asking for the time costs nothing


class Step:
    """A node of a compiled pattern; `next` is the step that has to match after it."""

    __slots__ = ("next",)
    next: Step

    def match_here(self, run: MatchRun) -> Step | None:
        """Match at `run.position`; return the step to go on with, or None to fail."""
        raise NotImplementedError


@final
class PartEnd(Step):
    """The end of a part that is matched on its own."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:
        """Return success to the step that entered the part."""
        run.last_end = run.position
        return run.leave_part()


@final
class PatternEnd(Step):
    """The end of the pattern."""

    __slots__ = ()

    def match_here(self, run: MatchRun) -> Step | None:
        """Succeed, unless the whole value has to match and this is not its end."""
        if run.must_reach_end and run.position != run.end:
            return None
        run.last_end = run.position
        return MATCH_DONE


@final
class MatchDone(Step):
    """What `PatternEnd` returns when it succeeds."""

    __slots__ = ()


MATCH_DONE = MatchDone()
PART_END = PartEnd()


@final
class Program:
    """A compiled pattern: its first step, and the sizes of the lists that a run needs."""

    __slots__ = (
        "first_step",
        "group_count",
        "is_anchored",
        "local_count",
        "loop_count",
        "min_length",
        "text",
    )

    def __init__(self, text: str, first_step: Step, *, group_count: int, min_length: int) -> None:
        self.text = text
        self.first_step = first_step
        self.group_count = group_count
        self.min_length = min_length
        self.local_count = 0
        self.loop_count = 0
        self.is_anchored = False


@final
class MatchRun:
    """One value being matched against a program: the state of Java's `Matcher`.

    `groups` has the begin and the end of each group in turn, as in the JDK.
    """

    __slots__ = (
        "deadline",
        "end",
        "failed_positions",
        "frame_index",
        "groups",
        "last_end",
        "locals",
        "lookbehind_end",
        "must_reach_end",
        "position",
        "previous_match_end",
        "program",
        "stack",
        "step_count",
        "value",
    )  # fmt: skip

    def __init__(self, program: Program, value: str, deadline: float) -> None:
        self.program = program
        self.value = value
        self.end = len(value)
        self.deadline = deadline
        self.position = 0
        self.last_end = 0
        self.previous_match_end = 0
        self.lookbehind_end = 0
        self.must_reach_end = False
        self.step_count = 0
        self.groups: list[int] = []
        self.locals: list[int] = []
        self.failed_positions: list[set[int]] = []
        self.stack: list[tuple[OnFailure, OnSuccess | None, Any]] = []
        self.frame_index = -1

    def enter_part(self, part: Step, on_return: OnReturn, data: Any) -> Step:  # noqa: ANN401  # the caller's own
        """Match a part on its own; `on_return(run, matched, data)` then returns the next step."""
        self.stack.append((_return_failure, None, (on_return, data, self.frame_index)))
        self.frame_index = len(self.stack) - 1
        return part

    def leave_part(self) -> Step | None:
        """End the part entered last, with success."""
        _, _, (on_return, data, outer) = self.stack[self.frame_index]
        self._unwind_success(self.frame_index + 1)
        self.stack.pop()
        self.frame_index = outer
        following: Step | None = on_return(self, True, data)
        return following

    def _unwind_success(self, down_to: int) -> None:
        stack = self.stack
        while len(stack) > down_to:
            _, on_success, data = stack.pop()
            if on_success is not None:
                on_success(self, data)

    def match_whole(self) -> bool:
        """Match the whole value, as Java's `matches()` does."""
        self._reset_state()
        self.must_reach_end = True
        return self._run_at(0)

    def find_from(self, start: int) -> bool:
        """Find the first match at or after a position, as Java's `find()` does."""
        self._reset_state()
        program = self.program
        for position in range(start, self.end - program.min_length + 1):
            if self._run_at(position):
                self.set_capture(0, position, self.last_end)
                self.previous_match_end = self.last_end
                return True
            if program.is_anchored:
                break
        return False

    def _reset_state(self) -> None:
        program = self.program
        # At least ten groups, as in the JDK: \1 to \9 may refer to groups that the pattern has not.
        self.groups = [-1] * max(20, 2 * program.group_count + 2)
        self.locals = [-1] * program.local_count
        self.failed_positions = [set() for _ in range(program.loop_count)]

    def _run_at(self, position: int) -> bool:
        """Run the program from a position; groups keep what Java would leave in them."""
        self.position = position
        self.frame_index = -1
        stack = self.stack
        node: Step | None = self.program.first_step
        while True:
            self.step_count += 1
            if self.step_count >= DEADLINE_CHECK_STEPS:
                self._check_deadline()
            if node is None:
                if not stack:
                    return False
                on_failure, _, data = stack.pop()
                node = on_failure(self, data)
            elif node is MATCH_DONE:
                self._unwind_success(0)
                self.set_capture(0, position, self.last_end)
                return True
            else:
                node = node.match_here(self)

    def _check_deadline(self) -> None:
        self.step_count = 0
        if thread_time() > self.deadline:
            raise make_timeout_error(self.program.text, self.end)

    def get_capture(self, group: int) -> tuple[int, int]:
        """Return where a group begins and ends; (-1, -1) for a group that took no part."""
        return self.groups[2 * group], self.groups[2 * group + 1]

    def set_capture(self, group: int, start: int, end: int) -> None:
        """Set where a group begins and ends."""
        self.groups[2 * group] = start
        self.groups[2 * group + 1] = end

    def get_spans(self) -> tuple[tuple[int, int], ...]:
        """Return where the groups of a match begin and end, the whole match first."""
        return tuple(map(self.get_capture, range(self.program.group_count + 1)))

    def make_error(self, message: str) -> JavaRegexError:
        """Return the error for what is only found out while matching."""
        return JavaRegexError(f"{message} in the pattern {quote_value(self.program.text)}")


def _return_failure(run: MatchRun, data: tuple[OnReturn, Any, int]) -> Step | None:
    on_return, own, run.frame_index = data
    return on_return(run, False, own)


def make_timeout_error(pattern: str, length: int) -> JavaRegexTimeoutError:
    """Return the error for a call that ran into its deadline; `length` is the value's."""
    return JavaRegexTimeoutError(
        f"the pattern {quote_value(pattern)} takes too long on a value of {length} characters",
        hint="a repetition inside a repetition tries too many ways: make it possessive (X*+), "
        "or let what follows it begin with something that it cannot match itself",
    )
