"""The fork starter's log, which is written as the generator's own lines are.

A file of lines `TYPE;TIMESTAMP;JOBID;STATE;CODE`; TYPE is 1, written as 001, TIMESTAMP seconds
since 1970, STATE the number that is told:

    1 pending      2 active      4 failed, CODE      8 done, CODE

With `--extended` also 16, suspended. See `osprofile.events.fork_starter` for who writes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.sources.base import LogSource, StatelessLineParser, StateSuffixes
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import EpochPrefixes

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Source, SourceOptions

_LINE_TEMPLATE: Final = r"\n[ \t]*+0*+1;([0-9]++);([^;\n]++);((?:{states});[+-]?[0-9]{{1,18}})"
_UNCHANGED_LINE_TEMPLATE: Final = (
    r"\n001;([0-9]{{10}});[^;\n]++;(?:(?:{states});0|[48];(?:0|-?[1-9][0-9]{{0,17}}))(?=\n)"
)
"""A line that is an event's line as it stands."""
_FIRST_TIME: Final = re.compile(rb"^0*1;([0-9]+);", re.MULTILINE)


def open_source(options: SourceOptions) -> Source:
    """Open the log; without a timestamp, from now on."""
    since = options.since_or_now
    log = RotatedLog(
        options.choose_log_path(), 1, StartPolicy(make_older_file_test(_FIRST_TIME, since))
    )
    return LogSource([(log, LineParser(since, extended=options.extended))])


def make_older_file_test(
    time_pattern: re.Pattern[bytes], since: int
) -> Callable[[bytes, bytes], bool]:
    """Give a rule: the older file of two is needed unless this one begins before `since`."""

    def needs_older_file(this: bytes, _older: bytes) -> bool:
        found = time_pattern.search(this)
        return found is None or int(found[1]) >= since

    return needs_older_file


def _format_suffix(fields: str) -> str:
    """Read STATE;CODE; a code belongs to an end."""
    state, _, code = fields.partition(";")
    return f";{state};{int(code) if state in ('4', '8') else 0}\n"


@final
class LineParser(StatelessLineParser):
    """Lines of events, as the generator itself writes them."""

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
        """Give the events of whole lines; most are written as they are to be told."""
        times, first = self._unchanged_pattern.findall(text), self._since_text
        if not times or len(times) != text.count("\n") - 1 or len(first) != len(times[0]):
            return super().parse_lines(text)
        if min(times) >= first:
            return text[1:]
        lines = zip(times, text[1:-1].split("\n"), strict=True)
        return "".join([f"{line}\n" for when, line in lines if when >= first])

    def convert_all_matches(self, matches: list[tuple[str, str, str]]) -> str:
        """Give the events of all lines; odd are those before the time asked for."""
        stamps, endings = self.prefixes, self._suffixes
        return "".join([f"{stamps[when]}{job}{endings[what]}" for when, job, what in matches])

    def convert_match(self, match: tuple[str, str, str]) -> str:
        """Give the event of one line."""
        when, job, what = match
        stamp = self.prefixes.format_prefix(when)
        return f"{stamp}{job}{self._suffixes[what]}" if stamp else ""
