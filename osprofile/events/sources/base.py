"""What a source is, and what those that read logs have in common."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, final, runtime_checkable

from osprofile.errors import EventError
from osprofile.events.clock import OddError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.events.clock import Seconds, Stamps
    from osprofile.events.tail import Log


class Source(Protocol):
    """Where events come from: what the generator asks."""

    def read(self) -> str | None:
        """Give the lines of the next events, each with its line end; never wait.

        The empty string where what was read told of no event, and there may be more at once; None
        at the end of what there is now. Characters are bytes (latin-1). Events may also be
        emitted by the functions of `osprofile.events.emit` while this runs.
        """

    def left(self) -> int:
        """Give how many bytes are known to be unread, for the display of progress; else 0."""


class Options(NamedTuple):
    """What a source is opened with.

    `since`: the command line's timestamp, 0 where there is none. `paths`: the logs that the command
    line names, in the order given; may be empty. `settings` gives a value of `globus-NAME.conf`.
    """

    name: str
    since: int
    extended: bool
    paths: Sequence[str]
    settings: Mapping[str, str]

    @property
    def since_or_now(self) -> int:
        """The time from which events are told by sources that do not replay by themselves."""
        return self.since or int(time.time())

    def path(self, fallback: str = "") -> str:
        """Give the last path of the command line, else `log_path` of the configuration, else that.

        Raises `EventError` where there is none.
        """
        found = next(filter(None, [*self.paths[::-1], self.settings.get("log_path", "")]), fallback)
        if not found:
            message = f"it is not known where the log of {self.name} is"
            hint = f"give --log-path PATH, or log_path=PATH in globus-{self.name}.conf"
            raise EventError(message, hint=hint)
        return found

    def all_paths(self) -> Sequence[str]:
        """Give the paths of several logs: the command line's, else those of `log_path`.

        There they stand with commas between them. Raises `EventError` where there is none.
        """
        return list(filter(None, self.paths)) or self.path().split(",")


HOLE: Final = re.compile(b"\\0+")
"""What a write that NFS lost leaves in a file."""


def text_of(data: bytes) -> str:
    """Return whole lines as parsers want them; a hole ends a line, and one may begin behind it."""
    if b"\0" in data:
        data = HOLE.sub(b"\n", data)
    return "\n" + data.decode("latin-1")


class Parser(Protocol):
    """Turns the text of a log into lines of events."""

    def feed(self, text: str) -> str:
        r"""Give the events of whole lines; the text begins with an additional "\n"."""

    def begin(self) -> None:
        """Take note that the next lines are the first ones of a file."""

    def heard(self, now: float) -> None:
        """Take note that the log was read to its end."""


Apart = tuple[str, int, int]
"""Of a block that was read by itself: its events, and its first and its latest time (or 0, 0)."""


@runtime_checkable
class SharedParser(Parser, Protocol):
    """One that can read most blocks without those before them: two processes can share its log."""

    def apart(self, text: str) -> Apart | None:
        """Read a block by itself; None where its events depend on what stands before it.

        What `feed` gives later is the same whether this was called or not.
        """

    def accepts(self, block: Apart) -> bool:
        """Say whether a block that was read by itself means the same behind all that was fed.

        Then it counts as fed.
        """


@final
class LogSource:
    """The events of one or several logs, each with its own parser."""

    def __init__(self, logs: Sequence[tuple[Log, Parser]]) -> None:
        self.logs = logs

    def read(self) -> str | None:
        """Give the events of the next block of lines; None if no log has any now."""
        for log, parser in self.logs:
            data = log.read()
            if data:
                if log.fresh:
                    parser.begin()
                return parser.feed(text_of(data))
        now = time.time()
        for _, parser in self.logs:
            parser.heard(now)
        return None

    def left(self) -> int:
        """Give how many bytes are unread."""
        return sum(log.left() for log, _ in self.logs)

    def problems(self) -> list[str]:
        """Return why logs cannot be read now, a sentence for each of them."""
        return [log.problem for log, _ in self.logs if log.problem]


class TimedLines:
    """The part of a parser that most have: a pattern over a block, and a dictionary of times.

    `pattern` finds the lines that may tell of an event; it begins with a line end. `fast` turns
    all that it found into text at once, and raises `OddError` where something needs more thought:
    then each finding is taken by `slow`.
    """

    pattern: re.Pattern[str]

    def __init__(self, stamps: Stamps | Seconds) -> None:
        self.stamps = stamps

    def feed(self, text: str) -> str:
        """Give the events of whole lines."""
        found = self.find_all(text)
        try:
            return self.fast(found)
        except OddError:
            return "".join(map(self.slow, found))

    def find_all(self, text: str) -> list[Any]:
        """Return what `pattern` finds."""
        return self.pattern.findall(text)

    def begin(self) -> None:
        """Nothing is carried over from one file to the next."""

    def heard(self, now: float) -> None:
        """Tell the clock."""
        self.stamps.heard(now)

    def fast(self, found: list[Any]) -> str:
        """Give the events of all that was found, or raise `OddError`."""
        raise NotImplementedError

    def slow(self, found: Any) -> str:  # noqa: ANN401 - a tuple of the pattern's groups
        """Give the events of one finding."""
        raise NotImplementedError


class SharedLines(TimedLines):
    """Lines that mean the same wherever they stand, those of the two odd hours excepted."""

    def apart(self, text: str) -> Apart | None:
        """Read a block by itself."""
        before = self.stamps.decided()
        events = self.feed(text)
        if self.stamps.decided() == before:
            return events, 0, 0
        self.stamps.undecide(before)
        return None

    def accepts(self, block: Apart) -> bool:  # noqa: ARG002
        """Accept any."""
        return True


INTEGER: Final = re.compile(r"\s*([+-]?[0-9]{1,18})")
"""A number as `scanf` reads it, with what may stand before it."""


def integer(text: str) -> int | None:
    """Give the number that a text begins with, as the original reads it; None if there is none."""
    found = INTEGER.match(text)
    return int(found[1]) if found else None


@final
class Endings(dict[str, str]):
    """From a log's words to the end of an event's line, `;STATE;CODE` and a line end.

    What `explain` gives None for, is not in it: that raises `OddError`.
    """

    def __init__(self, known: Mapping[str, str], explain: Callable[[str], str | None]) -> None:
        super().__init__(known)
        self._explain = explain

    def __missing__(self, words: str) -> str:
        ending = self._explain(words)
        if ending is None:
            raise OddError
        if len(self) < 10_000:
            self[words] = ending
        return ending
