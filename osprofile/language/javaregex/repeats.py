"""The repetitions of the machine, each as the JDK runs it (see `syntax.Form`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.language.javaregex.machine import Run, Step
from osprofile.language.javaregex.steps import go_on, push_group, set_group

if TYPE_CHECKING:
    from osprofile.language.javaregex.charset import Members
    from osprofile.language.javaregex.syntax import Kind

    # place, count, length of one, lowest count, capture before
    _State = tuple[int, int, int, int, tuple[int, int]]


@final
class Span(Step):
    """One set, repeated: greedy, lazy or possessive; `notes` as Java's `Curly` notes its end."""

    __slots__ = ("kind", "least", "members", "most", "notes")

    def __init__(self, members: Members, least: int, most: int, kind: Kind, *, notes: bool) -> None:
        self.members = members
        self.least = least
        self.most = most
        self.kind = kind
        self.notes = notes

    def step(self, run: Run) -> Step | None:
        """Match as many as may be, or as few."""
        start = run.place
        lazy = self.kind == "lazy"
        place = self._reach(run, start, self.least if lazy else self.most)
        if place - start < self.least:
            return None
        if lazy:
            run.stack.append((self.more, None, (place, place - start)))
        elif self.kind == "greedy" and place - start > self.least:
            run.stack.append((self.fewer, None, (place - 1, start + self.least)))
        run.place = place
        return self.next

    def _reach(self, run: Run, place: int, most: int) -> int:
        value, members, start = run.value, self.members, place
        end = min(run.end, place + most)
        while place < end and members[value[place]]:
            place += 1
        run.work += place - start >> 3
        if self.notes and place > start:
            run.last = place
        return place

    def fewer(self, run: Run, data: tuple[int, int]) -> Step:
        """Give one character back."""
        run.place, lowest = data
        if run.place > lowest:
            run.stack.append((self.fewer, None, (run.place - 1, lowest)))
        return self.next

    def more(self, run: Run, data: tuple[int, int]) -> Step | None:
        """Take one character more."""
        place, count = data
        if count >= self.most or place >= run.end or not self.members[run.value[place]]:
            return None
        run.place = run.last = place + 1
        run.stack.append((self.more, None, (place + 1, count + 1)))
        return self.next


@final
class Question(Step):
    """Zero or one of what is matched for itself, or (`once`) exactly one: an atomic group."""

    __slots__ = ("body", "kind", "once")

    def __init__(self, body: Step, kind: Kind, *, once: bool = False) -> None:
        self.body = body
        self.kind = kind
        self.once = once

    def step(self, run: Run) -> Step | None:
        """Match the body, or first what follows if this is lazy."""
        if self.kind == "lazy":
            run.stack.append((self.late, None, run.place))
            return self.next
        return run.enter(self.body, self.returned, run.place)

    def returned(self, run: Run, matched: bool, place: int) -> Step | None:
        """Go on behind the body, or from where this stood."""
        if matched:
            run.place = run.last
            if self.kind == "greedy":
                run.stack.append((go_on, None, (self.next, place)))
            return self.next
        run.place = place
        return None if self.once else self.next

    def late(self, run: Run, place: int) -> Step:
        """Match the body after all."""
        run.place = place
        return run.enter(self.body, self.returned_late, None)

    def returned_late(self, run: Run, matched: bool, _: None) -> Step | None:
        """Go on behind the body."""
        run.place = run.last
        return self.next if matched else None


@final
class Curly(Step):
    """A repetition of what is matched for itself each time, and is not a group of one form."""

    __slots__ = ("body", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: Kind) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind

    def step(self, run: Run) -> Step | None:
        """Match the least number first."""
        return self._least(run, run.place, 0)

    def _least(self, run: Run, place: int, count: int) -> Step | None:
        run.place = place
        if count < self.least:
            return run.enter(self.body, self.had_one, (place, count))
        if self.kind == "greedy":
            return self._greedy(run, place, count)
        if self.kind == "lazy":
            run.stack.append((self.one_more, None, (place, count)))
            return self.next
        return self._possessive(run, place, count)

    def had_one(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Count towards the least number."""
        return self._least(run, run.last, data[1] + 1) if matched else None

    def _greedy(self, run: Run, place: int, count: int) -> Step | None:
        run.place = place
        if count >= self.most:
            return self.next
        return run.enter(self.body, self.had_first, (place, count))

    def had_first(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Note how long the first was: the next are expected to be as long."""
        place, count = data
        length = run.last - place if matched else 0
        if length == 0:
            run.place = place
            return self.next
        return self._same_length(run, (run.last, count + 1, length, count))

    def _same_length(self, run: Run, data: tuple[int, int, int, int]) -> Step | None:
        place, count, _, _ = data
        if count >= self.most:
            return self.back_off(run, data)
        run.place = place
        return run.enter(self.body, self.had_next, data)

    def had_next(self, run: Run, matched: bool, data: tuple[int, int, int, int]) -> Step | None:
        """Take one more of the same length; one of another length begins a new sequence."""
        place, count, length, lowest = data
        if not matched:
            return self.back_off(run, data)
        if run.last == place + length:
            return self._same_length(run, (run.last, count + 1, length, lowest))
        run.stack.append((self.back_off, None, data))
        return self._greedy(run, run.last, count + 1)

    def back_off(self, run: Run, data: tuple[int, int, int, int]) -> Step | None:
        """Go on with what follows, then with one less."""
        place, count, length, lowest = data
        if count < lowest:
            return None
        run.stack.append((self.back_off, None, (place - length, count - 1, length, lowest)))
        run.place = place
        return self.next

    def one_more(self, run: Run, data: tuple[int, int]) -> Step | None:
        """Match one more, lazily."""
        place, count = data
        if count >= self.most:
            return None
        run.place = place
        return run.enter(self.body, self.had_one_more, data)

    def had_one_more(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Go on behind it, unless it was empty."""
        place, count = data
        if not matched or run.last == place:
            return None
        run.place = run.last
        run.stack.append((self.one_more, None, (run.last, count + 1)))
        return self.next

    def _possessive(self, run: Run, place: int, count: int) -> Step | None:
        run.place = place
        if count >= self.most:
            return self.next
        return run.enter(self.body, self.had_possessive, (place, count))

    def had_possessive(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Take all there are."""
        place, count = data
        if matched and run.last != place:
            return self._possessive(run, run.last, count + 1)
        run.place = place
        return self.next


@final
class GroupCurly(Step):
    """A repetition of a group without choices; it sets the group's capture itself."""

    __slots__ = ("body", "group", "kind", "least", "most")

    def __init__(self, body: Step, least: int, most: int, kind: Kind, group: int) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.kind = kind
        self.group = group

    def step(self, run: Run) -> Step | None:
        """Match the least number first."""
        if self.group:
            push_group(run, self.group)
        return self._least(run, run.place, 0)

    def _capture(self, run: Run, start: int, end: int) -> None:
        if self.group:
            set_group(run, self.group, start, end)

    def _captured(self, run: Run) -> tuple[int, int]:
        return run.groups[2 * self.group], run.groups[2 * self.group + 1]

    def _least(self, run: Run, place: int, count: int) -> Step | None:
        run.place = place
        if count < self.least:
            return run.enter(self.body, self.had_one, (place, count))
        if self.kind == "lazy":
            run.stack.append((self.one_more, None, (place, count)))
            return self.next
        return self._greedy(run, place, count)

    def had_one(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Count towards the least number."""
        if not matched:
            return None
        self._capture(run, data[0], run.last)
        return self._least(run, run.last, data[1] + 1)

    def _greedy(self, run: Run, place: int, count: int) -> Step | None:
        data = (place, count, 0, count, self._captured(run))
        run.place = place
        if count >= self.most:
            return self._leave(run, data)
        return run.enter(self.body, self.had_first, data)

    def _leave(self, run: Run, data: _State) -> Step | None:
        """Go on with what follows, with the capture that was there before."""
        run.place = data[0]
        self._capture(run, *data[4])
        return self.next

    def had_first(self, run: Run, matched: bool, data: _State) -> Step | None:
        """Note how long the first was: the next are expected to be as long."""
        place, _, _, lowest, before = data
        if not matched or run.last <= place:
            return self._leave(run, data)
        return self._taken(run, (place, data[1], run.last - place, lowest, before))

    def _taken(self, run: Run, data: _State) -> Step | None:
        place, count, length, lowest, before = data
        self._capture(run, place, place + length)
        data = (place + length, count + 1, length, lowest, before)
        if count + 1 >= self.most:
            return self.back_off(run, data)
        run.place = place + length
        return run.enter(self.body, self.had_next, data)

    def had_next(self, run: Run, matched: bool, data: _State) -> Step | None:
        """Take one more of the same length; before one of another length begin anew."""
        if not matched:
            return self.back_off(run, data)
        if run.last == data[0] + data[2]:
            return self._taken(run, data)
        run.stack.append((self.back_off, None, data))
        return self._greedy(run, data[0], data[1])

    def back_off(self, run: Run, data: _State) -> Step | None:
        """Go on with what follows, then with one less."""
        place, count, _, lowest, _ = data
        if count <= lowest:
            return self._leave(run, data)
        run.stack.append((self.one_less, self.settled, data))
        run.place = place
        return self.next

    def one_less(self, run: Run, data: _State) -> Step | None:
        """Give one back."""
        place, count, length, lowest, before = data
        place -= length
        self._capture(run, place - length, place)
        return self.back_off(run, (place, count - 1, length, lowest, before))

    def settled(self, run: Run, data: _State) -> None:
        """Capture, once all that follows has matched, as Java does then again."""
        self._capture(run, data[0] - data[2], data[0])

    def one_more(self, run: Run, data: tuple[int, int]) -> Step | None:
        """Match one more, lazily."""
        place, count = data
        if count >= self.most:
            return None
        run.place = place
        return run.enter(self.body, self.had_one_more, data)

    def had_one_more(self, run: Run, matched: bool, data: tuple[int, int]) -> Step | None:
        """Go on behind it, unless it was empty."""
        place, count = data
        if not matched or run.last == place:
            return None
        self._capture(run, place, run.last)
        run.place = run.last
        run.stack.append((self.one_more, None, (run.last, count + 1)))
        return self.next
