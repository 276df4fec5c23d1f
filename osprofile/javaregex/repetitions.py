"""The repetition steps of the machine, one class for each way in which the JDK runs them.

`syntax.RepeatForm` says which is used when. Where a class here has methods like those of another,
they are two algorithms of the JDK: `Curly` and `GroupCurly` treat captures, and a round of another
length, differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.javaregex.machine import MatchRun, Step
from osprofile.javaregex.steps import continue_at, push_local, save_capture

if TYPE_CHECKING:
    from osprofile.javaregex.charset import MembershipCache
    from osprofile.javaregex.syntax import RepeatKind

    # position, rounds, length of a round, rounds that must stay, capture before the repetition
    _GroupCurlyState = tuple[int, int, int, int, tuple[int, int]]


@final
class CharRepeat(Step):
    """A repetition of one set; `records_end`: it sets `last_end`, as the JDK's `Curly` does."""

    __slots__ = ("kind", "least", "members", "most", "records_end")

    def __init__(
        self, members: MembershipCache, least: int, most: int, kind: RepeatKind, *, records_end: bool
    ) -> None:
        self.members = members
        self.least = least
        self.most = most
        self.kind = kind
        self.records_end = records_end

    def match_here(self, run: MatchRun) -> Step | None:
        """Match as many characters as possible, or (lazy) as few."""
        start = run.position
        lazy = self.kind == "lazy"
        position = self._scan_chars(run, start, self.least if lazy else self.most)
        if position - start < self.least:
            return None
        if lazy:
            run.stack.append((self._take_one_char, None, (position, position - start)))
        elif self.kind == "greedy" and position - start > self.least:
            run.stack.append((self._give_back_char, None, (position - 1, start + self.least)))
        run.position = position
        return self.next

    def _scan_chars(self, run: MatchRun, position: int, most: int) -> int:
        value, members, start = run.value, self.members, position
        end = min(run.end, position + most)
        while position < end and members[value[position]]:
            position += 1
        # A scan counts for steps too, or a long one would put off the check of the deadline.
        run.step_count += position - start >> 3
        if self.records_end and position > start:
            run.last_end = position
        return position

    def _give_back_char(self, run: MatchRun, data: tuple[int, int]) -> Step:
        run.position, lowest = data
        if run.position > lowest:
            run.stack.append((self._give_back_char, None, (run.position - 1, lowest)))
        return self.next

    def _take_one_char(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        position, count = data
        if count >= self.most or position >= run.end or not self.members[run.value[position]]:
            return None
        run.position = run.last_end = position + 1
        run.stack.append((self._take_one_char, None, (position + 1, count + 1)))
        return self.next


@final
class OptionalStep(Step):
    """Zero or one of a part; with `is_required` exactly one, which is an atomic group."""

    __slots__ = ("body", "is_required", "kind")

    def __init__(self, body: Step, kind: RepeatKind, *, is_required: bool = False) -> None:
        self.body = body
        self.kind = kind
        self.is_required = is_required

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the body, or (lazy) first what follows."""
        if self.kind == "lazy":
            run.stack.append((self._start_body_late, None, run.position))
            return self.next
        return run.enter_part(self.body, self._continue_after_body, run.position)

    def _continue_after_body(self, run: MatchRun, matched: bool, position: int) -> Step | None:
        if matched:
            run.position = run.last_end
            if self.kind == "greedy":
                run.stack.append((continue_at, None, (self.next, position)))
            return self.next
        run.position = position
        return None if self.is_required else self.next

    def _start_body_late(self, run: MatchRun, position: int) -> Step:
        run.position = position
        return run.enter_part(self.body, self._continue_after_late_body, None)

    def _continue_after_late_body(self, run: MatchRun, matched: bool, _: None) -> Step | None:
        run.position = run.last_end
        return self.next if matched else None


@final
class Curly(Step):
    """A repetition of a part: what is inside is never tried again, and its captures stay."""

    __slots__ = ("body", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: RepeatKind) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the least number of rounds first."""
        return self._match_minimum(run, run.position, 0)

    def _match_minimum(self, run: MatchRun, position: int, count: int) -> Step | None:
        run.position = position
        if count < self.least:
            return run.enter_part(self.body, self._count_minimum, (position, count))
        if self.kind == "greedy":
            return self._match_greedy(run, position, count)
        if self.kind == "lazy":
            run.stack.append((self._match_one_more, None, (position, count)))
            return self.next
        return self._match_possessive(run, position, count)

    def _count_minimum(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        return self._match_minimum(run, run.last_end, data[1] + 1) if matched else None

    def _match_greedy(self, run: MatchRun, position: int, count: int) -> Step | None:
        run.position = position
        if count >= self.most:
            return self.next
        return run.enter_part(self.body, self._note_first_length, (position, count))

    def _note_first_length(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        """Note the length of the first round: the next are expected to be as long."""
        position, count = data
        length = run.last_end - position if matched else 0
        if length == 0:
            run.position = position
            return self.next
        return self._match_same_length(run, (run.last_end, count + 1, length, count))

    def _match_same_length(self, run: MatchRun, data: tuple[int, int, int, int]) -> Step | None:
        position, count, _, _ = data
        if count >= self.most:
            return self._back_off(run, data)
        run.position = position
        return run.enter_part(self.body, self._check_next_length, data)

    def _check_next_length(
        self, run: MatchRun, matched: bool, data: tuple[int, int, int, int]
    ) -> Step | None:
        """Go on with a round of the same length; one of another length begins a new sequence."""
        position, count, length, lowest = data
        if not matched:
            return self._back_off(run, data)
        if run.last_end == position + length:
            return self._match_same_length(run, (run.last_end, count + 1, length, lowest))
        run.stack.append((self._back_off, None, data))
        return self._match_greedy(run, run.last_end, count + 1)

    def _back_off(self, run: MatchRun, data: tuple[int, int, int, int]) -> Step | None:
        """Match what follows; if it fails, try again with one round less."""
        position, count, length, lowest = data
        if count < lowest:
            return None
        run.stack.append((self._back_off, None, (position - length, count - 1, length, lowest)))
        run.position = position
        return self.next

    def _match_one_more(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        position, count = data
        if count >= self.most:
            return None
        run.position = position
        return run.enter_part(self.body, self._continue_after_one, data)

    def _continue_after_one(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        position, count = data
        if not matched or run.last_end == position:
            return None
        run.position = run.last_end
        run.stack.append((self._match_one_more, None, (run.last_end, count + 1)))
        return self.next

    def _match_possessive(self, run: MatchRun, position: int, count: int) -> Step | None:
        run.position = position
        if count >= self.most:
            return self.next
        return run.enter_part(self.body, self._continue_possessive, (position, count))

    def _continue_possessive(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        position, count = data
        if matched and run.last_end != position:
            return self._match_possessive(run, run.last_end, count + 1)
        run.position = position
        return self.next


@final
class GroupCurly(Step):
    """A repetition of a group without choices inside; it sets the group's capture itself."""

    __slots__ = ("body", "group", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: RepeatKind, group: int) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind
        self.group = group

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the least number of rounds first."""
        if self.group:
            save_capture(run, self.group)
        return self._match_minimum(run, run.position, 0)

    def _set_capture(self, run: MatchRun, start: int, end: int) -> None:
        if self.group:
            run.set_capture(self.group, start, end)

    def _match_minimum(self, run: MatchRun, position: int, count: int) -> Step | None:
        run.position = position
        if count < self.least:
            return run.enter_part(self.body, self._count_minimum, (position, count))
        if self.kind == "lazy":
            run.stack.append((self._match_one_more, None, (position, count)))
            return self.next
        return self._match_greedy(run, position, count)

    def _count_minimum(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        if not matched:
            return None
        self._set_capture(run, data[0], run.last_end)
        return self._match_minimum(run, run.last_end, data[1] + 1)

    def _match_greedy(self, run: MatchRun, position: int, count: int) -> Step | None:
        data = (position, count, 0, count, run.get_capture(self.group))
        run.position = position
        if count >= self.most:
            return self._restore_and_continue(run, data)
        return run.enter_part(self.body, self._note_first_length, data)

    def _restore_and_continue(self, run: MatchRun, data: _GroupCurlyState) -> Step | None:
        run.position = data[0]
        self._set_capture(run, *data[4])
        return self.next

    def _note_first_length(self, run: MatchRun, matched: bool, data: _GroupCurlyState) -> Step | None:
        """Note the length of the first round: the next are expected to be as long."""
        position, _, _, lowest, before = data
        if not matched or run.last_end <= position:
            return self._restore_and_continue(run, data)
        return self._capture_and_repeat(run, (position, data[1], run.last_end - position, lowest, before))

    def _capture_and_repeat(self, run: MatchRun, data: _GroupCurlyState) -> Step | None:
        position, count, length, lowest, before = data
        self._set_capture(run, position, position + length)
        data = (position + length, count + 1, length, lowest, before)
        if count + 1 >= self.most:
            return self._back_off(run, data)
        run.position = position + length
        return run.enter_part(self.body, self._check_next_length, data)

    def _check_next_length(self, run: MatchRun, matched: bool, data: _GroupCurlyState) -> Step | None:
        """Go on with a round of the same length; repeat one of another length in a new sequence."""
        if not matched:
            return self._back_off(run, data)
        if run.last_end == data[0] + data[2]:
            return self._capture_and_repeat(run, data)
        run.stack.append((self._back_off, None, data))
        return self._match_greedy(run, data[0], data[1])

    def _back_off(self, run: MatchRun, data: _GroupCurlyState) -> Step | None:
        """Match what follows; if it fails, try again with one round less."""
        position, count, _, lowest, _ = data
        if count <= lowest:
            return self._restore_and_continue(run, data)
        run.stack.append((self._give_back_one, self._recapture_group, data))
        run.position = position
        return self.next

    def _give_back_one(self, run: MatchRun, data: _GroupCurlyState) -> Step | None:
        position, count, length, lowest, before = data
        position -= length
        self._set_capture(run, position - length, position)
        return self._back_off(run, (position, count - 1, length, lowest, before))

    def _recapture_group(self, run: MatchRun, data: _GroupCurlyState) -> None:
        """Set the capture once more when all that follows has matched, as the JDK does."""
        self._set_capture(run, data[0] - data[2], data[0])

    def _match_one_more(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        position, count = data
        if count >= self.most:
            return None
        run.position = position
        return run.enter_part(self.body, self._continue_after_one, data)

    def _continue_after_one(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        position, count = data
        if not matched or run.last_end == position:
            return None
        self._set_capture(run, position, run.last_end)
        run.position = run.last_end
        run.stack.append((self._match_one_more, None, (run.last_end, count + 1)))
        return self.next


@final
class LoopStart(Step):
    """The way into a loop of a group with choices inside: `Prolog` in the JDK."""

    __slots__ = ("loop",)

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def match_here(self, run: MatchRun) -> Step | None:
        """Enter the first round, or (`least` 0) match what follows without one."""
        loop = self.loop
        push_local(run, loop.count_local, run.locals[loop.count_local])
        if loop.most == 0:
            return loop.next
        if loop.least == 0:
            if loop.lazy:
                run.stack.append((self._start_body_late, None, run.position))
                return loop.next
            run.stack.append((continue_at, None, (loop.next, run.position)))
        run.locals[loop.count_local] = 1
        return loop.body

    def _start_body_late(self, run: MatchRun, position: int) -> Step:
        run.position = position
        run.locals[self.loop.count_local] = 1
        return self.loop.body


@final
class Loop(Step):
    """What follows the body of a loop: `Loop` and `LazyLoop` in the JDK.

    `count_local` and `begin_local` are the indexes of two of the run's `locals`: how often the body
    has matched, and where it began the last time. `failed_index` is the index of the set of positions
    from which one more round is known to fail (the run's `failed_positions`), or None; the JDK keeps
    such a set for greedy loops that are not inside another repetition.
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
        """Match the body once more, or what follows; an empty round is the last."""
        position = run.position
        if position <= run.locals[self.begin_local]:
            return self.next
        count = run.locals[self.count_local]
        if count < self.least:
            run.stack.append((self._restore_count, None, count))
            return self._repeat_body(run, count)
        if self.lazy:
            if count < self.most:
                run.stack.append((self._repeat_body_late, None, (position, count)))
            return self.next
        if count >= self.most or (
            self.failed_index is not None and position in run.failed_positions[self.failed_index]
        ):
            return self.next
        run.stack.append((self._stop_repeating, None, (position, count)))
        return self._repeat_body(run, count)

    def _repeat_body(self, run: MatchRun, count: int) -> Step:
        run.locals[self.count_local] = count + 1
        return self.body

    def _restore_count(self, run: MatchRun, count: int) -> None:
        run.locals[self.count_local] = count

    def _stop_repeating(self, run: MatchRun, data: tuple[int, int]) -> Step:
        """Match what follows, because one more round has failed."""
        run.position, run.locals[self.count_local] = data
        if self.failed_index is not None:
            run.failed_positions[self.failed_index].add(run.position)
        return self.next

    def _repeat_body_late(self, run: MatchRun, data: tuple[int, int]) -> Step:
        run.position, count = data
        run.stack.append((self._restore_count, None, count))
        return self._repeat_body(run, count)
