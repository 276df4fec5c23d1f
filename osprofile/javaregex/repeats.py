"""The repetitions of the machine, each as the JDK runs it (see `syntax.RepeatForm`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.javaregex.machine import MatchRun, Step
from osprofile.javaregex.steps import continue_at, save_capture, set_capture

if TYPE_CHECKING:
    from osprofile.javaregex.charset import MembershipCache
    from osprofile.javaregex.syntax import RepeatKind

    # place, count, length of one, lowest count, capture before
    _RepeatState = tuple[int, int, int, int, tuple[int, int]]


@final
class CharRepeat(Step):
    """One set, repeated: greedy, lazy or possessive; `records_end` as Java's `Curly` notes its end."""

    __slots__ = ("kind", "least", "members", "most", "records_end")

    def __init__(
        self,
        members: MembershipCache,
        least: int,
        most: int,
        kind: RepeatKind,
        *,
        records_end: bool,
    ) -> None:
        self.members = members
        self.least = least
        self.most = most
        self.kind = kind
        self.records_end = records_end

    def match_here(self, run: MatchRun) -> Step | None:
        """Match as many as may be, or as few."""
        start = run.position
        lazy = self.kind == "lazy"
        place = self._scan_chars(run, start, self.least if lazy else self.most)
        if place - start < self.least:
            return None
        if lazy:
            run.stack.append((self.take_one_char, None, (place, place - start)))
        elif self.kind == "greedy" and place - start > self.least:
            run.stack.append((self.give_back_char, None, (place - 1, start + self.least)))
        run.position = place
        return self.next

    def _scan_chars(self, run: MatchRun, place: int, most: int) -> int:
        value, members, start = run.value, self.members, place
        end = min(run.end, place + most)
        while place < end and members[value[place]]:
            place += 1
        run.step_count += place - start >> 3
        if self.records_end and place > start:
            run.last_end = place
        return place

    def give_back_char(self, run: MatchRun, data: tuple[int, int]) -> Step:
        """Give one character back."""
        run.position, lowest = data
        if run.position > lowest:
            run.stack.append((self.give_back_char, None, (run.position - 1, lowest)))
        return self.next

    def take_one_char(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        """Take one character more."""
        place, count = data
        if count >= self.most or place >= run.end or not self.members[run.value[place]]:
            return None
        run.position = run.last_end = place + 1
        run.stack.append((self.take_one_char, None, (place + 1, count + 1)))
        return self.next


@final
class OptionalStep(Step):
    """Zero or one of what is matched for itself, or (`is_required`) exactly one: an atomic group."""

    __slots__ = ("body", "is_required", "kind")

    def __init__(self, body: Step, kind: RepeatKind, *, is_required: bool = False) -> None:
        self.body = body
        self.kind = kind
        self.is_required = is_required

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the body, or first what follows if this is lazy."""
        if self.kind == "lazy":
            run.stack.append((self.start_body_late, None, run.position))
            return self.next
        return run.enter_part(self.body, self.continue_after_body, run.position)

    def continue_after_body(self, run: MatchRun, matched: bool, place: int) -> Step | None:
        """Go on behind the body, or from where this stood."""
        if matched:
            run.position = run.last_end
            if self.kind == "greedy":
                run.stack.append((continue_at, None, (self.next, place)))
            return self.next
        run.position = place
        return None if self.is_required else self.next

    def start_body_late(self, run: MatchRun, place: int) -> Step:
        """Match the body after all."""
        run.position = place
        return run.enter_part(self.body, self.continue_after_late_body, None)

    def continue_after_late_body(self, run: MatchRun, matched: bool, _: None) -> Step | None:
        """Go on behind the body."""
        run.position = run.last_end
        return self.next if matched else None


@final
class Curly(Step):
    """A repetition of what is matched for itself each time, and is not a group of one form."""

    __slots__ = ("body", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: RepeatKind) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the least number first."""
        return self._match_minimum(run, run.position, 0)

    def _match_minimum(self, run: MatchRun, place: int, count: int) -> Step | None:
        run.position = place
        if count < self.least:
            return run.enter_part(self.body, self.count_minimum, (place, count))
        if self.kind == "greedy":
            return self._match_greedy(run, place, count)
        if self.kind == "lazy":
            run.stack.append((self.match_one_more, None, (place, count)))
            return self.next
        return self._match_possessive(run, place, count)

    def count_minimum(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        """Count towards the least number."""
        return self._match_minimum(run, run.last_end, data[1] + 1) if matched else None

    def _match_greedy(self, run: MatchRun, place: int, count: int) -> Step | None:
        run.position = place
        if count >= self.most:
            return self.next
        return run.enter_part(self.body, self.note_first_length, (place, count))

    def note_first_length(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        """Note how long the first was: the next are expected to be as long."""
        place, count = data
        length = run.last_end - place if matched else 0
        if length == 0:
            run.position = place
            return self.next
        return self._match_same_length(run, (run.last_end, count + 1, length, count))

    def _match_same_length(self, run: MatchRun, data: tuple[int, int, int, int]) -> Step | None:
        place, count, _, _ = data
        if count >= self.most:
            return self.back_off(run, data)
        run.position = place
        return run.enter_part(self.body, self.check_next_length, data)

    def check_next_length(
        self, run: MatchRun, matched: bool, data: tuple[int, int, int, int]
    ) -> Step | None:
        """Take one more of the same length; one of another length begins a new sequence."""
        place, count, length, lowest = data
        if not matched:
            return self.back_off(run, data)
        if run.last_end == place + length:
            return self._match_same_length(run, (run.last_end, count + 1, length, lowest))
        run.stack.append((self.back_off, None, data))
        return self._match_greedy(run, run.last_end, count + 1)

    def back_off(self, run: MatchRun, data: tuple[int, int, int, int]) -> Step | None:
        """Go on with what follows, then with one less."""
        place, count, length, lowest = data
        if count < lowest:
            return None
        run.stack.append((self.back_off, None, (place - length, count - 1, length, lowest)))
        run.position = place
        return self.next

    def match_one_more(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        """Match one more, lazily."""
        place, count = data
        if count >= self.most:
            return None
        run.position = place
        return run.enter_part(self.body, self.continue_after_one, data)

    def continue_after_one(
        self, run: MatchRun, matched: bool, data: tuple[int, int]
    ) -> Step | None:
        """Go on behind it, unless it was empty."""
        place, count = data
        if not matched or run.last_end == place:
            return None
        run.position = run.last_end
        run.stack.append((self.match_one_more, None, (run.last_end, count + 1)))
        return self.next

    def _match_possessive(self, run: MatchRun, place: int, count: int) -> Step | None:
        run.position = place
        if count >= self.most:
            return self.next
        return run.enter_part(self.body, self.continue_possessive, (place, count))

    def continue_possessive(
        self, run: MatchRun, matched: bool, data: tuple[int, int]
    ) -> Step | None:
        """Take all there are."""
        place, count = data
        if matched and run.last_end != place:
            return self._match_possessive(run, run.last_end, count + 1)
        run.position = place
        return self.next


@final
class GroupCurly(Step):
    """A repetition of a group without choices; it sets the group's capture itself."""

    __slots__ = ("body", "group", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: RepeatKind, group: int) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind
        self.group = group

    def match_here(self, run: MatchRun) -> Step | None:
        """Match the least number first."""
        if self.group:
            save_capture(run, self.group)
        return self._match_minimum(run, run.position, 0)

    def _set_capture(self, run: MatchRun, start: int, end: int) -> None:
        if self.group:
            set_capture(run, self.group, start, end)

    def _get_capture(self, run: MatchRun) -> tuple[int, int]:
        return run.groups[2 * self.group], run.groups[2 * self.group + 1]

    def _match_minimum(self, run: MatchRun, place: int, count: int) -> Step | None:
        run.position = place
        if count < self.least:
            return run.enter_part(self.body, self.count_minimum, (place, count))
        if self.kind == "lazy":
            run.stack.append((self.match_one_more, None, (place, count)))
            return self.next
        return self._match_greedy(run, place, count)

    def count_minimum(self, run: MatchRun, matched: bool, data: tuple[int, int]) -> Step | None:
        """Count towards the least number."""
        if not matched:
            return None
        self._set_capture(run, data[0], run.last_end)
        return self._match_minimum(run, run.last_end, data[1] + 1)

    def _match_greedy(self, run: MatchRun, place: int, count: int) -> Step | None:
        data = (place, count, 0, count, self._get_capture(run))
        run.position = place
        if count >= self.most:
            return self._restore_and_continue(run, data)
        return run.enter_part(self.body, self.note_first_length, data)

    def _restore_and_continue(self, run: MatchRun, data: _RepeatState) -> Step | None:
        """Go on with what follows, with the capture that was there before."""
        run.position = data[0]
        self._set_capture(run, *data[4])
        return self.next

    def note_first_length(self, run: MatchRun, matched: bool, data: _RepeatState) -> Step | None:
        """Note how long the first was: the next are expected to be as long."""
        place, _, _, lowest, before = data
        if not matched or run.last_end <= place:
            return self._restore_and_continue(run, data)
        return self._capture_and_repeat(run, (place, data[1], run.last_end - place, lowest, before))

    def _capture_and_repeat(self, run: MatchRun, data: _RepeatState) -> Step | None:
        place, count, length, lowest, before = data
        self._set_capture(run, place, place + length)
        data = (place + length, count + 1, length, lowest, before)
        if count + 1 >= self.most:
            return self.back_off(run, data)
        run.position = place + length
        return run.enter_part(self.body, self.check_next_length, data)

    def check_next_length(self, run: MatchRun, matched: bool, data: _RepeatState) -> Step | None:
        """Take one more of the same length; before one of another length begin anew."""
        if not matched:
            return self.back_off(run, data)
        if run.last_end == data[0] + data[2]:
            return self._capture_and_repeat(run, data)
        run.stack.append((self.back_off, None, data))
        return self._match_greedy(run, data[0], data[1])

    def back_off(self, run: MatchRun, data: _RepeatState) -> Step | None:
        """Go on with what follows, then with one less."""
        place, count, _, lowest, _ = data
        if count <= lowest:
            return self._restore_and_continue(run, data)
        run.stack.append((self.give_back_one, self.recapture_group, data))
        run.position = place
        return self.next

    def give_back_one(self, run: MatchRun, data: _RepeatState) -> Step | None:
        """Give one back."""
        place, count, length, lowest, before = data
        place -= length
        self._set_capture(run, place - length, place)
        return self.back_off(run, (place, count - 1, length, lowest, before))

    def recapture_group(self, run: MatchRun, data: _RepeatState) -> None:
        """Capture, once all that follows has matched, as Java does then again."""
        self._set_capture(run, data[0] - data[2], data[0])

    def match_one_more(self, run: MatchRun, data: tuple[int, int]) -> Step | None:
        """Match one more, lazily."""
        place, count = data
        if count >= self.most:
            return None
        run.position = place
        return run.enter_part(self.body, self.continue_after_one, data)

    def continue_after_one(
        self, run: MatchRun, matched: bool, data: tuple[int, int]
    ) -> Step | None:
        """Go on behind it, unless it was empty."""
        place, count = data
        if not matched or run.last_end == place:
            return None
        self._set_capture(run, place, run.last_end)
        run.position = run.last_end
        run.stack.append((self.match_one_more, None, (run.last_end, count + 1)))
        return self.next
