"""LSF: `lsb.events` in the log directory, and the rotated `lsb.events.1`, `.2` and so on.

Format: docs/protocols/seg.md, 3.2. Fields are separated by blanks; texts stand in double quotes,
with `""` for a quote. The first fields are kind, version, time (seconds since 1970) and job; the
others depend on the kind. The index of a job array is not reported.

    JOB_NEW                              pending
    JOB_START                            active
    JOB_STATUS, state 64 (done)          done, 0
    JOB_STATUS, state 32 (exit)          failed, exitInfo; if that is 0: done, exit status >> 8

Exit status, index and exitInfo follow the resource usage, or `""` in its place, or are the last
three fields. A line that is older than one before it is dropped, unless that one lies in the future:
a clock that was wrong for a moment silences nothing. The current file begins with `#N`:
its lines before byte N are in the rotated file, too. A rotated file begins with `#T`, the time of
its last event.

With `--extended` older lines are not dropped, and there are further events:

    JOB_STATUS, state 2, 8, 16           suspended (while pending, by the system, by the user)
    JOB_STATUS, state 1, 4               pending, active: requeued or resumed
    JOB_REQUEUE                          pending
    JOB_EXCEPT abend, cantrun, startfail failed, the exception's mask: 8, 16, 64
"""

from __future__ import annotations

import re
import time
from itertools import accumulate
from typing import TYPE_CHECKING, Final, final

from osprofile.events.emit import DONE, FAILED, format_event_suffix
from osprofile.events.sources.base import (
    ACTIVE_SUFFIX,
    PENDING_SUFFIX,
    SUSPENDED_SUFFIX,
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    parse_leading_integer,
)
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import ORDER_TOLERANCE, EpochPrefixes, FastPathError

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import ParsedBlock, Source, SourceOptions

EVENT_SUFFIXES: Final = {"JOB_NEW": PENDING_SUFFIX, "JOB_START": ACTIVE_SUFFIX}
_START_SUFFIXES: Final = {kind.removeprefix("JOB_"): suffix for kind, suffix in EVENT_SUFFIXES.items()}
EXTENDED_STATES: Final = {
    1: PENDING_SUFFIX,
    2: SUSPENDED_SUFFIX,
    4: ACTIVE_SUFFIX,
    8: SUSPENDED_SUFFIX,
    16: SUSPENDED_SUFFIX,
}
"""The states of JOB_STATUS that are events with `--extended` only."""
END_EXCEPTIONS: Final = 0x08 | 0x10 | 0x40
"""The exceptions that are a job's end: abend, cantrun, startfail.

hostfail (0x20) is not one: the job may run again, and its JOB_STATUS shows the end.
"""
USAGE_FIELD_COUNT: Final = 19
"""Numbers of resource usage before the exit status, if there is any usage."""
_EXIT_PATTERN: Final = (  # repeated by Python: a repeated group in the pattern takes twice the time
    rf"(?:{'[0-9.]++ ' * 4}(?:0(?> \"\"|)|1(?: \"\"|{' [-0-9.]++' * USAGE_FIELD_COUNT})) "
    r"([0-9]++ [0-9]++ [0-9]++)(?=[ \n])|([^\n]*+))"
)
_LINE_PATTERN: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]{1,18}+)[ \t]++([^ \t\n]++)'
    rf"(?>[ \t]++(64)(?=[ \t\n])|[ \t]++32[ \t]{_EXIT_PATTERN}|)"
)
_EXTENDED_PATTERN: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]{1,18}+)[ \t]++([^ \t\n]++)[ \t]*+([^\n]*+)'
)
_TIME_PATTERN: Final = re.compile(
    r'\n(?:"[^"]++" "[^"]++" ([0-9]{10}) (?=[^ \t\n])|(?=.|\n))'  # "" for any other line
)
_EVENT_PATTERN: Final = re.compile(
    r'\n"JOB_(?:(NEW|START)|STATUS)" "[^"]++" ([0-9]{10} [^ \n]++)'
    rf"(?(1)| ++(?:64[ \n]|32 {_EXIT_PATTERN}))"
)
_FIRST_LINE: Final = re.compile(rb"#\s*([0-9]{1,18})")

LineFields = tuple[str, str, str, str, str, str]
"""Kind, time, job; then for an end one of: 64; exit status, index and exitInfo; fields in another form."""


def open_source(options: SourceOptions) -> Source:
    """Open the log and the rotated files that are needed; without a timestamp, read from now on."""
    since = options.since_or_now
    policy = StartPolicy(_make_older_file_test(since), _find_start_offset)
    log = RotatedLog(options.choose_log_path(), 1, policy, file_in_directory="lsb.events")
    return LogSource([(log, ExtendedLineParser(since) if options.extended else LineParser(since))])


def _find_start_offset(head: bytes) -> int:
    match = _FIRST_LINE.match(head)
    return int(match[1]) if match else 0


def _make_older_file_test(since: int) -> Callable[[bytes, bytes], bool]:
    def needs_older_file(_head: bytes, older_head: bytes) -> bool:
        match = _FIRST_LINE.match(older_head)
        return match is None or int(match[1]) >= since

    return needs_older_file


def parse_exit_fields(fields: list[str]) -> tuple[int, int] | None:
    """Return exit status and exitInfo of a JOB_STATUS; `fields` are those from the state on.

    The state is followed by reason, subreasons, CPU time, end time, and whether there is resource
    usage. Some releases write `""` in place of the usage. In any other form, the last three fields
    count. OpenLava writes no exitInfo. Returns None if these are not numbers.
    """
    begin = 6 + (1 if fields[6:7] == ['""'] else USAGE_FIELD_COUNT if fields[5:6] == ["1"] else 0)
    if len(fields) == begin + 2 and fields[5] in ("0", "1"):
        fields = [*fields, "0"]
    is_complete = len(fields) >= begin + 3 and fields[5] in ("0", "1")
    exit_fields = fields[begin : begin + 3] if is_complete else fields[-3:]
    status, exit_info = map(parse_leading_integer, (exit_fields[0], exit_fields[-1]))
    if len(exit_fields) < 3 or status is None or exit_info is None:
        return None
    return status, exit_info


def _format_exit_suffix(rest: str) -> str | None:
    """Return the suffix for the fields, or only the last three, after state 32; None if malformed."""
    return format_status_suffix(f"32 {rest}") or None


def format_status_suffix(rest: str) -> str:
    """Return the suffix for the fields from the state on, 32 or 64; "" if they are malformed."""
    if not rest.startswith("32"):
        return format_event_suffix(DONE) if rest else ""
    exit_fields = parse_exit_fields(rest.split())
    if exit_fields is None:
        return ""
    status, exit_info = exit_fields
    if exit_info:
        return format_event_suffix(FAILED, exit_info)
    return format_event_suffix(DONE, (status & 0xFF00) >> 8)


@final
class LineParser:
    """Parses lines as Globus's program does: drops lines that are older than an earlier one.

    A block whose lines all have the usual form is parsed by two patterns, one for the times of all
    lines and one for the events. Any other block is parsed line by line.
    """

    def __init__(self, since: int) -> None:
        self._latest_time = since
        self._suffixes = StateSuffixes({"": format_event_suffix(DONE)}, _format_exit_suffix)

    def start_file(self) -> None:
        """Do nothing: the latest time also counts for the lines of the next file."""

    def note_end_of_log(self, now: float) -> None:
        """Do nothing: times are seconds since 1970."""

    def parse_lines(self, text: str) -> str:
        """Return the events of whole lines."""
        block = self.parse_isolated_block(text)
        if block and not self.accept_block(block):
            text = _drop_older_lines(text, _TIME_PATTERN.findall(text), f"{self._latest_time:010}")
            block = self.parse_isolated_block(text)
            if block:
                self.accept_block(block)
        return block[0] if block else "".join(map(self._convert_line, _LINE_PATTERN.findall(text)))

    def parse_isolated_block(self, text: str) -> ParsedBlock | None:
        """Parse a block by itself; return None if a line has another form."""
        times = _TIME_PATTERN.findall(text)
        if "" in times or max(times, default="") > str(_get_latest_credible_time()):
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
        """Return whether no line of a block is older than the lines that were parsed so far."""
        _, first, latest = block
        if latest and first < self._latest_time:
            return False
        self._latest_time = max(self._latest_time, latest)
        return True

    def _format_events(self, matches: list[tuple[str, str, str, str]]) -> str:
        suffixes = self._suffixes
        lines = [
            f"001;{time_and_job}{_START_SUFFIXES[kind] if kind else suffixes[exit_fields or other_fields]}"
            for kind, time_and_job, exit_fields, other_fields in matches
        ]
        return "".join(lines).replace(" ", ";")

    def _convert_line(self, match: LineFields) -> str:
        kind, when, job, done, exit_fields, other_fields = match
        moment = int(when)
        if moment < self._latest_time:
            return ""
        if moment <= _get_latest_credible_time():
            self._latest_time = moment
        suffix = EVENT_SUFFIXES.get(kind)
        if not suffix and kind == "JOB_STATUS" and (done or exit_fields or other_fields):
            rest = exit_fields or other_fields
            suffix = self._suffixes.get(rest) or _format_exit_suffix(rest)
        return f"001;{moment};{job}{suffix}" if suffix else ""


def _get_latest_credible_time() -> int:
    """Return the time after which a line's time is wrong; it has ten digits, as those of the fast path."""
    return int(time.time()) + ORDER_TOLERANCE


def _drop_older_lines(text: str, times: list[str], earliest: str) -> str:
    """Return a block without lines that are older than `earliest` or than a line before them.

    `times` are the times of all lines.
    """
    latest_times = accumulate(times, max, initial=earliest)
    next(latest_times)  # skips `earliest`: a line is compared with the latest time up to its own
    lines = zip(text[1:-1].split("\n"), times, latest_times, strict=True)
    return "\n".join(["", *(line for line, when, latest in lines if when >= latest), ""])


@final
class ExtendedLineParser(StatelessLineParser):
    """Parses all events, also of lines that are older than an earlier one."""

    pattern = _EXTENDED_PATTERN

    def __init__(self, since: int) -> None:
        super().__init__(EpochPrefixes(since))

    def convert_match(self, match: tuple[str, str, str, str]) -> str:
        """Return the event of one line."""
        kind, when, job, rest = match
        suffix = EVENT_SUFFIXES.get(kind) or self._format_suffix(kind, rest)
        prefix = suffix and self.prefixes.format_prefix(when)
        return f"{prefix}{job}{suffix}" if prefix else ""

    def _format_suffix(self, kind: str, rest: str) -> str:
        number = parse_leading_integer(rest) or 0
        match kind:
            case "JOB_STATUS":
                return format_status_suffix(rest) if number in (32, 64) else EXTENDED_STATES.get(number, "")
            case "JOB_REQUEUE":
                return PENDING_SUFFIX
            case "JOB_EXCEPT" if number & END_EXCEPTIONS:
                return format_event_suffix(FAILED, number)
        return ""
