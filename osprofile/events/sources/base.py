"""What a source is, and what those that read logs have in common."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, final, runtime_checkable

from osprofile.errors import EventError
from osprofile.events.timestamps import FastPathError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.events.tail import Log
    from osprofile.events.timestamps import EpochPrefixes, LocalTimePrefixes


class Source(Protocol):
    """Where events come from: what the generator asks."""

    def read_events(self) -> str | None:
        """Give the lines of the next events, each with its line end; never wait.

        The empty string where what was read told of no event, and there may be more at once; None
        at the end of what there is now. Characters are bytes (latin-1). Events may also be
        emitted by the functions of `osprofile.events.emit` while this runs.
        """

    def count_unread_bytes(self) -> int:
        """Give how many bytes are known to be unread, for the display of progress; else 0."""


class SourceOptions(NamedTuple):
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

    def choose_log_path(self, fallback: str = "") -> str:
        """Give the last path of the command line, else `log_path` of the configuration, else that.

        Raises `EventError` where there is none.
        """
        found = next(filter(None, [*self.paths[::-1], self.settings.get("log_path", "")]), fallback)
        if not found:
            message = f"it is not known where the log of {self.name} is"
            hint = f"give --log-path PATH, or log_path=PATH in globus-{self.name}.conf"
            raise EventError(message, hint=hint)
        return found

    def list_log_paths(self) -> Sequence[str]:
        """Give the paths of several logs: the command line's, else those of `log_path`.

        There they stand with commas between them. Raises `EventError` where there is none.
        """
        return list(filter(None, self.paths)) or self.choose_log_path().split(",")


NUL_BYTES: Final = re.compile(b"\\0+")
"""What a write that NFS lost leaves in a file."""


def decode_lines(data: bytes) -> str:
    """Return whole lines as parsers want them; a hole ends a line, and one may begin behind it."""
    if b"\0" in data:
        data = NUL_BYTES.sub(b"\n", data)
    return "\n" + data.decode("latin-1")


class LogParser(Protocol):
    """Turns the text of a log into lines of events."""

    def parse_lines(self, text: str) -> str:
        r"""Give the events of whole lines; the text begins with an additional "\n"."""

    def start_file(self) -> None:
        """Take note that the next lines are the first ones of a file."""

    def note_end_of_log(self, now: float) -> None:
        """Take note that the log was read to its end."""


ParsedBlock = tuple[str, int, int]
"""Of a block that was read by itself: its events, and its first and its latest time (or 0, 0)."""


@runtime_checkable
class ParallelParser(LogParser, Protocol):
    """One that can read most blocks without those before them: two processes can share its log."""

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Read a block by itself; None where its events depend on what stands before it.

        What `parse_lines` gives later is the same whether this was called or not.
        """

    def accept_block(self, block: ParsedBlock) -> bool:
        """Say whether a block that was read by itself means the same behind all that was fed.

        Then it counts as fed.
        """


@final
class LogSource:
    """The events of one or several logs, each with its own parser."""

    def __init__(self, logs: Sequence[tuple[Log, LogParser]]) -> None:
        self.logs = logs

    def read_events(self) -> str | None:
        """Give the events of the next block of lines; None if no log has any now."""
        for log, parser in self.logs:
            data = log.read_lines()
            if data:
                if log.starts_new_file:
                    parser.start_file()
                return parser.parse_lines(decode_lines(data))
        now = time.time()
        for _, parser in self.logs:
            parser.note_end_of_log(now)
        return None

    def count_unread_bytes(self) -> int:
        """Give how many bytes are unread."""
        return sum(log.count_unread_bytes() for log, _ in self.logs)

    def list_problems(self) -> list[str]:
        """Return why logs cannot be read now, a sentence for each of them."""
        return [log.problem for log, _ in self.logs if log.problem]


class TimedLineParser:
    """The part of a parser that most have: a pattern over a block, and a dictionary of times.

    `pattern` finds the lines that may tell of an event; it begins with a line end. `convert_all_matches` turns
    all that it found into text at once, and raises `FastPathError` where something needs more thought:
    then each finding is taken by `convert_match`.
    """

    pattern: re.Pattern[str]

    def __init__(self, prefixes: LocalTimePrefixes | EpochPrefixes) -> None:
        self.prefixes = prefixes

    def parse_lines(self, text: str) -> str:
        """Give the events of whole lines."""
        found = self.find_matches(text)
        try:
            return self.convert_all_matches(found)
        except FastPathError:
            return "".join(map(self.convert_match, found))

    def find_matches(self, text: str) -> list[Any]:
        """Return what `pattern` finds."""
        return self.pattern.findall(text)

    def start_file(self) -> None:
        """Nothing is carried over from one file to the next."""

    def note_end_of_log(self, now: float) -> None:
        """Tell the clock."""
        self.prefixes.note_end_of_log(now)

    def convert_all_matches(self, matches: list[Any]) -> str:
        """Give the events of all that was found, or raise `FastPathError`."""
        raise NotImplementedError

    def convert_match(self, match: Any) -> str:  # noqa: ANN401 - a tuple of the pattern's groups
        """Give the events of one finding."""
        raise NotImplementedError


class StatelessLineParser(TimedLineParser):
    """Lines that mean the same wherever they stand, those of the two odd hours excepted."""

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Read a block by itself."""
        before = self.prefixes.get_clock_state()
        events = self.parse_lines(text)
        if self.prefixes.get_clock_state() == before:
            return events, 0, 0
        self.prefixes.restore_clock_state(before)
        return None

    def accept_block(self, block: ParsedBlock) -> bool:  # noqa: ARG002
        """Accept any."""
        return True


LEADING_INTEGER: Final = re.compile(r"\s*([+-]?[0-9]{1,18})")
"""A number as `scanf` reads it, with what may stand before it."""


def parse_leading_integer(text: str) -> int | None:
    """Give the number that a text begins with, as the original reads it; None if there is none."""
    found = LEADING_INTEGER.match(text)
    return int(found[1]) if found else None


@final
class StateSuffixes(dict[str, str]):
    """From a log's words to the end of an event's line, `;STATE;CODE` and a line end.

    What `compute_suffix` gives None for, is not in it: that raises `FastPathError`.
    """

    def __init__(
        self, fixed_suffixes: Mapping[str, str], compute_suffix: Callable[[str], str | None]
    ) -> None:
        super().__init__(fixed_suffixes)
        self._compute_suffix = compute_suffix

    def __missing__(self, text: str) -> str:
        ending = self._compute_suffix(text)
        if ending is None:
            raise FastPathError
        if len(self) < 10_000:
            self[text] = ending
        return ending
