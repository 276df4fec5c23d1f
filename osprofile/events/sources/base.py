"""The interface of a source, and the common parts of sources that read logs."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, final, runtime_checkable

from osprofile.events.emit import ACTIVE, FAILED, PENDING, SUSPENDED, format_event_suffix
from osprofile.events.errors import EventError
from osprofile.events.timestamps import FastPathError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.events.tail import Log
    from osprofile.events.timestamps import TimePrefixes

PENDING_SUFFIX: Final = format_event_suffix(PENDING)
ACTIVE_SUFFIX: Final = format_event_suffix(ACTIVE)
FAILED_SUFFIX: Final = format_event_suffix(FAILED)
SUSPENDED_SUFFIX: Final = format_event_suffix(SUSPENDED)
_SUFFIX_CACHE_SIZE: Final = 10_000


class Source(Protocol):
    """Where the generator gets events. A source may have a method `close()`, which is called at the generator's end."""

    def read_events(self) -> str | None:
        """Return the lines of the next events, each with its line end; never wait.

        "" means that no line was an event, and that there may be more to read at once; None that
        everything available was read. Each character is a byte (latin-1). During the call, events
        may also be emitted by the functions of `osprofile.events.emit`.
        """

    def count_unread_bytes(self) -> int:
        """Return the number of unread bytes, for the progress bar; 0 if it is not known."""


class SourceOptions(NamedTuple):
    """The options with which a source is opened."""

    name: str
    since: int
    """The timestamp of `-t`; 0 if there is none."""
    extended: bool
    """Whether events are reported that Globus's program does not know."""
    paths: Sequence[str]
    """The logs of `--log-path`, in that order; may be empty."""
    settings: Mapping[str, str]
    """The values of `globus-NAME.conf`."""

    @property
    def since_or_now(self) -> int:
        """The time from which events are reported, for sources that do not replay by default."""
        return self.since or int(time.time())

    def choose_log_path(self, fallback: str = "") -> str:
        """Return the last of `paths`, else `log_path` of the settings, else `fallback`.

        Raises `EventError` if all are empty.
        """
        paths = filter(None, [*self.paths[::-1], self.settings.get("log_path", "")])
        path = next(paths, fallback)
        if not path:
            message = f"the path of the log of {self.name} is not known"
            hint = f"give --log-path PATH, or log_path=PATH in globus-{self.name}.conf"
            raise EventError(message, hint=hint)
        return path

    def list_log_paths(self) -> Sequence[str]:
        """Return `paths`, else those in `log_path` of the settings, separated by commas.

        Raises `EventError` if there are none.
        """
        return list(filter(None, self.paths)) or self.choose_log_path().split(",")


NUL_BYTES: Final = re.compile(b"\\0+")
"""NFS leaves NUL bytes in a file where a write was lost."""


def decode_lines(data: bytes) -> str:
    r"""Return lines as text with an additional "\n" before them, as patterns expect; NUL bytes become "\n"."""
    if b"\0" in data:
        data = NUL_BYTES.sub(b"\n", data)
    return "\n" + data.decode("latin-1")


class LogParser(Protocol):
    """Converts lines of a log to lines of events."""

    def parse_lines(self, text: str) -> str:
        r"""Return the events of whole lines; the text begins with an additional "\n"."""

    def start_file(self) -> None:
        """Prepare for the first lines of another file."""

    def note_end_of_log(self, now: float) -> None:
        """Note that the log was read to its end."""


ParsedBlock = tuple[str, int, int]
"""The events of a block that was parsed by itself, and its first and latest time (0, 0: irrelevant)."""


@runtime_checkable
class ParallelParser(LogParser, Protocol):
    """A parser that can parse most blocks without the blocks before, so that two processes can share a log."""

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Parse a block by itself; return None if its events depend on the lines before it.

        The parser's state stays the same.
        """

    def accept_block(self, block: ParsedBlock) -> bool:
        """Return whether a block has the same events after the lines that were parsed so far.

        If so, update the parser's state as if it had parsed the block.
        """


@final
class LogSource:
    """A source that reads one or several logs, each with a parser of its own."""

    def __init__(self, logs: Sequence[tuple[Log, LogParser]]) -> None:
        self.logs = logs

    def read_events(self) -> str | None:
        """Return the events of the next block of lines; None if no log has any now."""
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
        """Return the number of unread bytes."""
        return sum(log.count_unread_bytes() for log, _ in self.logs)

    def list_problems(self) -> list[str]:
        """Return why logs cannot be read now, a sentence per log."""
        return [log.problem for log, _ in self.logs if log.problem]


class TimedLineParser:
    """The common part of most parsers: a pattern that finds lines in a block, and a cache of times.

    The fast path, `convert_all_matches`, converts all matches of a block at once. If it raises
    `FastPathError`, `convert_match` converts them one by one.
    """

    pattern: re.Pattern[str]
    """Finds the lines that may be events; begins with the line end before a line."""

    def __init__(self, prefixes: TimePrefixes) -> None:
        self.prefixes = prefixes

    def parse_lines(self, text: str) -> str:
        """Return the events of whole lines."""
        matches = self.find_matches(text)
        try:
            return self.convert_all_matches(matches)
        except FastPathError:
            return "".join(map(self.convert_match, matches))

    def find_matches(self, text: str) -> list[Any]:
        """Return the groups of each match of `pattern`."""
        return self.pattern.findall(text)

    def start_file(self) -> None:
        """Do nothing: these parsers keep no state of a file."""

    def note_end_of_log(self, now: float) -> None:
        """Note that the log was read to its end."""
        self.prefixes.note_end_of_log(now)

    def convert_all_matches(self, matches: list[Any]) -> str:
        """Return the events of all matches; may raise `FastPathError`."""
        return "".join(map(self.convert_match, matches))

    def convert_match(self, match: Any) -> str:  # noqa: ANN401 - a tuple of the pattern's groups
        """Return the events of one match."""
        raise NotImplementedError


class StatelessLineParser(TimedLineParser):
    """A parser of lines that do not depend on earlier lines, except for ambiguous times."""

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Parse a block by itself; return None if it has ambiguous times."""
        clock_state = self.prefixes.get_clock_state()
        events = self.parse_lines(text)
        if self.prefixes.get_clock_state() == clock_state:
            return events, 0, 0
        self.prefixes.restore_clock_state(clock_state)
        return None

    def accept_block(self, block: ParsedBlock) -> bool:  # noqa: ARG002
        """Return True: the lines do not depend on earlier ones."""
        return True


_LEADING_INTEGER: Final = re.compile(r"\s*([+-]?[0-9]{1,18})")


def parse_leading_integer(text: str) -> int | None:
    """Return the number at the beginning of a text, or None; as Globus's program does with `scanf`."""
    match = _LEADING_INTEGER.match(text)
    return int(match[1]) if match else None


def make_older_file_test(
    time_pattern: re.Pattern[bytes], is_replayed: Callable[[str], bool]
) -> Callable[[bytes, bytes], bool]:
    """Return a test for `StartPolicy`: older files are needed if the first time in a file is replayed.

    They are also needed if a file has no time. The last group of `time_pattern` that matches is the
    time.
    """

    def needs_older_file(head: bytes, _older_head: bytes) -> bool:
        match = time_pattern.search(head)
        return match is None or is_replayed(match[match.lastindex or 0].decode("latin-1"))

    return needs_older_file


@final
class StateSuffixes(dict[str, str]):
    """A cache that maps texts of a log to the end of an event's line, `;STATE;CODE` and a line end.

    A lookup raises `FastPathError` if `compute_suffix` returns None.
    """

    def __init__(
        self, fixed_suffixes: Mapping[str, str], compute_suffix: Callable[[str], str | None]
    ) -> None:
        super().__init__(fixed_suffixes)
        self._compute_suffix = compute_suffix

    def __missing__(self, text: str) -> str:
        suffix = self._compute_suffix(text)
        if suffix is None:
            raise FastPathError
        if len(self) < _SUFFIX_CACHE_SIZE:  # not cleared when full: that would drop the fixed ones
            self[text] = suffix
        return suffix
