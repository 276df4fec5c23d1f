"""LSF: `lsb.events` in the log directory, with `lsb.events.1`, `.2` ... behind it.

Words between blanks, texts in double quotes with `""` for one: kind, version, time (seconds since
1970), job, and what the kind has. The array's index is not told.

    JOB_NEW                              pending
    JOB_START                            active
    JOB_STATUS, state 64 (done)          done, 0
    JOB_STATUS, state 32 (exit)          failed, exitInfo; where that is 0: done, exit status >> 8

exitStatus, index and exitInfo follow the resource usage, or `""` in its place, or are the line's last
three words. A line that is older than one before it is dropped. The current file begins with `#N`: what is before
the byte N is in the rotated file too. A rotated file begins with `#T`, the time of its last event.

With `--extended` older lines are told too, and

    JOB_STATUS, state 2, 8, 16           suspended (while pending, by the system, by the user)
    JOB_STATUS, state 1, 4               pending, active: requeued or resumed
    JOB_REQUEUE                          pending
    JOB_EXCEPT abend, cantrun, startfail failed, the exception's mask: 8, 16, 64
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final, final

from osprofile.events.sources.base import (
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    parse_leading_integer,
)
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import EpochPrefixes, FastPathError

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import ParsedBlock, Source, SourceOptions

EVENT_SUFFIXES: Final = {"JOB_NEW": ";1;0\n", "JOB_START": ";2;0\n"}
_START_SUFFIXES: Final = {"NEW": ";1;0\n", "START": ";2;0\n"}
EXTENDED_STATES: Final = {1: ";1;0\n", 2: ";16;0\n", 4: ";2;0\n", 8: ";16;0\n", 16: ";16;0\n"}
"""The states of JOB_STATUS that are told with `--extended` alone."""
END_EXCEPTIONS: Final = 0x08 | 0x10 | 0x40
"""Of the exceptions, those that say a job's end: abend, cantrun, startfail.

A host's failure (0x20) is none: the job may be run again, and its JOB_STATUS says which.
"""
USAGE_FIELD_COUNT: Final = 19
"""So many numbers of resource usage stand before the exit status, if any do."""
_EXIT_PATTERN: Final = (  # written out: a repeated group takes twice the time
    rf"(?:{'[0-9.]++ ' * 4}(?:0(?: \"\")?+|1(?: \"\"|{' [-0-9.]++' * USAGE_FIELD_COUNT})) "
    r"([0-9]++ [0-9]++ [0-9]++)(?=[ \n])|([^\n]*+))"
)
_LINE_PATTERN: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]++)[ \t]++([^ \t\n]++)'
    rf"(?:[ \t]++(64)(?=[ \t\n])|[ \t]++32[ \t]{_EXIT_PATTERN})?+"
)
_EXTENDED_PATTERN: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]++)[ \t]++([^ \t\n]++)[ \t]*+([^\n]*+)'
)
_TIME_PATTERN: Final = re.compile(
    r'\n(?:"[^"]++" "[^"]++" ([0-9]{10}) (?=[^ \t\n])|(?=.|\n))'  # "" for any other line
)
_EVENT_PATTERN: Final = re.compile(
    r'\n"JOB_(?:(NEW|START)|STATUS)" "[^"]++" ([0-9]{10} [^ \n]++)'
    rf"(?(1)| ++(?:64[ \n]|32 {_EXIT_PATTERN}))"
)
_FIRST_LINE: Final = re.compile(rb"#\s*([0-9]+)")

LineFields = tuple[str, str, str, str, str, str]
"""Kind, time, job; of an end 64, or exit status, index and exitInfo, or words that have another order."""


def open_source(options: SourceOptions) -> Source:
    """Open the current log, or the rotated ones that are needed; without a timestamp, from now on."""
    since = options.since_or_now
    starts = StartPolicy(_make_older_file_test(since), _find_start_offset)
    log = RotatedLog(options.choose_log_path(), 1, starts, file_in_directory="lsb.events")
    return LogSource([(log, ExtendedLineParser(since) if options.extended else LineParser(since))])


def _find_start_offset(head: bytes) -> int:
    found = _FIRST_LINE.match(head)
    return int(found[1]) if found else 0


def _make_older_file_test(since: int) -> Callable[[bytes, bytes], bool]:
    def needs_older_file(_this: bytes, older: bytes) -> bool:
        found = _FIRST_LINE.match(older)
        return found is None or int(found[1]) >= since

    return needs_older_file


def parse_exit_fields(fields: list[str]) -> tuple[int, int] | None:
    """Give exit status and exitInfo of a JOB_STATUS, of which the words from the state on are given.

    Reason, subreasons, CPU time and end time come first, then whether there is resource usage. Some
    releases write an empty text in its place.
    """
    begin = 6 + (1 if fields[6:7] == ['""'] else USAGE_FIELD_COUNT if fields[5:6] == ["1"] else 0)
    whole = len(fields) >= begin + 3 and fields[5] in ("0", "1")
    chosen = fields[begin : begin + 3] if whole else fields[-3:]
    status, information = parse_leading_integer(chosen[0]), parse_leading_integer(chosen[-1])
    if len(chosen) < 3 or status is None or information is None:
        return None
    return status, information


def _format_exit_suffix(rest: str) -> str | None:
    """Give a job's end from the words, or the last three, behind the state 32; None if there is none."""
    return format_status_suffix(f"32 {rest}") or None


def format_status_suffix(rest: str) -> str:
    """Give a job's end from a line's words from the state on; empty where it tells none."""
    if not rest.startswith("32"):
        return ";8;0\n" if rest else ""
    found = parse_exit_fields(rest.split())
    if found is None:
        return ""
    status, information = found
    return f";4;{information}\n" if information else f";8;{(status & 0xFF00) >> 8}\n"


@final
class LineParser:
    """What the original tells; `latest_ambiguous` is the time of the newest line.

    A block whose lines are all of one form is read by two patterns, one for the times of all lines
    and one for the lines that tell of events. Any other is read line by line.
    """

    def __init__(self, since: int) -> None:
        self._latest_time = since
        self._suffixes = StateSuffixes({"": ";8;0\n"}, _format_exit_suffix)

    def start_file(self) -> None:
        """Nothing is carried over from one file to the next but the newest line's time."""

    def note_end_of_log(self, now: float) -> None:
        """Pass over it."""

    def parse_lines(self, text: str) -> str:
        """Give the events of whole lines."""
        block = self.parse_isolated_block(text)
        if block and not self.accept_block(block):
            text = _drop_older_lines(text, _TIME_PATTERN.findall(text), f"{self._latest_time:010}")
            block = self.parse_isolated_block(text)
            if block:
                self.accept_block(block)
        return block[0] if block else "".join(map(self._convert_line, _LINE_PATTERN.findall(text)))

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Read a block by itself; None where its lines have another form."""
        times = _TIME_PATTERN.findall(text)
        if "" in times:
            return None
        if sorted(times) != times:
            text = _drop_older_lines(text, times, times[0])
            times = [times[0], max(times)]
        try:
            events = self._format_events(_EVENT_PATTERN.findall(text))
        except FastPathError:
            return None
        return (events, int(times[0]), int(times[-1])) if times else ("", 0, 0)

    def accept_block(self, block: ParsedBlock) -> bool:
        """Say whether no line of a block is older than one that was fed before."""
        _, first, latest = block
        if latest and first < self._latest_time:
            return False
        self._latest_time = max(self._latest_time, latest)
        return True

    def _format_events(self, matches: list[tuple[str, str, str, str]]) -> str:
        endings = self._suffixes
        lines = [
            f"001;{when_job}{_START_SUFFIXES[kind] if kind else endings[how or odd]}"
            for kind, when_job, how, odd in matches
        ]
        return "".join(lines).replace(" ", ";")

    def _convert_line(self, match: LineFields) -> str:
        kind, when, job, done, how, odd = match
        moment = int(when)
        if moment < self._latest_time:
            return ""
        self._latest_time = moment
        ending = EVENT_SUFFIXES.get(kind)
        if not ending and kind == "JOB_STATUS" and (done or how or odd):
            ending = self._suffixes.get(how or odd) or _format_exit_suffix(how or odd)
        return f"001;{moment};{job}{ending}" if ending else ""


def _drop_older_lines(text: str, times: list[str], first: str) -> str:
    """Leave out the lines that are older than `first` or one before them; `times` are theirs."""
    latest = accumulate(times, max, initial=first)
    next(latest)
    whole = zip(text[1:-1].split("\n"), times, latest, strict=True)
    return "\n".join(["", *(line for line, when, so_far in whole if when >= so_far), ""])


@final
class ExtendedLineParser(StatelessLineParser):
    """What the original tells, and what it drops."""

    pattern = _EXTENDED_PATTERN

    def __init__(self, since: int) -> None:
        super().__init__(EpochPrefixes(since))

    def convert_all_matches(self, matches: list[tuple[str, str, str, str]]) -> str:
        """Take each line by itself."""
        return "".join(map(self.convert_match, matches))

    def convert_match(self, match: tuple[str, str, str, str]) -> str:
        """Give the event of one line."""
        kind, when, job, rest = match
        ending = EVENT_SUFFIXES.get(kind) or self._format_suffix(kind, rest)
        stamp = ending and self.prefixes.format_prefix(when)
        return f"{stamp}{job}{ending}" if stamp else ""

    def _format_suffix(self, kind: str, rest: str) -> str:
        number = parse_leading_integer(rest) or 0
        match kind:
            case "JOB_STATUS":
                return (
                    format_status_suffix(rest)
                    if number in (32, 64)
                    else EXTENDED_STATES.get(number, "")
                )
            case "JOB_REQUEUE":
                return ";1;0\n"
            case "JOB_EXCEPT" if number & END_EXCEPTIONS:
                return f";4;{number}\n"
        return ""
