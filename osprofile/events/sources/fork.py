"""The fork starter's log; its lines have the form of the generator's own.

    TYPE;TIMESTAMP;JOBID;STATE;CODE

TYPE is 1, written as 001; TIMESTAMP is in seconds since 1970. STATE is reported unchanged:

    1 pending      2 active      4 failed, CODE      8 done, CODE

With `--extended` also 16, suspended. `osprofile.events.fork_starter` writes this log.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.emit import DONE, FAILED, format_event_suffix
from osprofile.events.sources.base import LogSource, StatelessLineParser, StateSuffixes, make_older_file_test
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import EpochPrefixes

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions

_LINE_TEMPLATE: Final = r"\n[ \t]*+0*+1;([0-9]++);([^;\n]++);((?:{states});[+-]?[0-9]{{1,18}})"
_UNCHANGED_LINE_TEMPLATE: Final = (
    r"\n001;([0-9]{{10}});[^;\n]++;(?:(?:{states});0|[48];(?:0|-?[1-9][0-9]{{0,17}}))(?=\n)"
)
"""A line that is reported unchanged."""
_FIRST_TIME: Final = re.compile(rb"^0*1;([0-9]{1,18});", re.MULTILINE)


def open_source(options: SourceOptions) -> Source:
    """Open the log; without a timestamp, read from now on."""
    since = options.since_or_now
    policy = StartPolicy(make_older_file_test(_FIRST_TIME, lambda text: int(text) >= since))
    log = RotatedLog(options.choose_log_path(), 1, policy)
    return LogSource([(log, LineParser(since, extended=options.extended))])


def _format_suffix(fields: str) -> str:
    """Return the suffix for STATE;CODE; only the ends of jobs have a code."""
    state, code = map(int, fields.split(";"))
    return format_event_suffix(state, code if state in (FAILED, DONE) else 0)


@final
class LineParser(StatelessLineParser):
    """Parses lines of events as the generator itself writes them."""

    def __init__(self, since: int, *, extended: bool) -> None:
        super().__init__(EpochPrefixes(since))
        states = "[1248]|16" if extended else "[1248]"
        self.pattern = re.compile(_LINE_TEMPLATE.format(states=states))
        self._unchanged_pattern = re.compile(
            _UNCHANGED_LINE_TEMPLATE.format(states="[12]|16" if extended else "[12]")
        )
        self._since_text = f"{since:010}"
        self._suffixes = StateSuffixes({}, _format_suffix)

    def parse_lines(self, text: str) -> str:
        """Return the events of whole lines; a block of lines that are reported unchanged is not parsed."""
        times, since = self._unchanged_pattern.findall(text), self._since_text
        if not times or len(times) != text.count("\n") - 1 or len(since) != len(times[0]):
            return super().parse_lines(text)
        if min(times) >= since:
            return text[1:]
        lines = zip(times, text[1:-1].split("\n"), strict=True)
        return "".join([f"{line}\n" for when, line in lines if when >= since])

    def convert_all_matches(self, matches: list[tuple[str, str, str]]) -> str:
        """Return the events of all lines; fail if one is before the timestamp."""
        prefixes, suffixes = self.prefixes, self._suffixes
        return "".join([f"{prefixes[when]}{job}{suffixes[end]}" for when, job, end in matches])

    def convert_match(self, match: tuple[str, str, str]) -> str:
        """Return the event of one line."""
        when, job, fields = match
        prefix = self.prefixes.format_prefix(when)
        return f"{prefix}{job}{self._suffixes[fields]}" if prefix else ""
