"""The fork starter's log, which is written as the generator's own lines are.

A file of lines `TYPE;TIMESTAMP;JOBID;STATE;CODE`; TYPE is 1, written as 001, TIMESTAMP seconds
since 1970, STATE the number that is told:

    1 pending      2 active      4 failed, CODE      8 done, CODE

With `--extended` also 16, suspended. See `osprofile.events.fork_starter` for who writes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.clock import Seconds
from osprofile.events.sources.base import Endings, LogSource, SharedLines
from osprofile.events.tail import Chain, Starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Options, Source

_LINE: Final = r"\n[ \t]*+0*+1;([0-9]++);([^;\n]++);((?:{states});[+-]?[0-9]{{1,18}})"
_PLAIN: Final = (
    r"\n001;([0-9]{{10}});[^;\n]++;(?:(?:{states});0|[48];(?:0|-?[1-9][0-9]{{0,17}}))(?=\n)"
)
"""A line that is an event's line as it stands."""
_FIRST: Final = re.compile(rb"^0*1;([0-9]+);", re.MULTILINE)


def open_source(options: Options) -> Source:
    """Open the log; without a timestamp, from now on."""
    since = options.since_or_now
    log = Chain(options.path(), 1, Starts(older_wanted(_FIRST, since)))
    return LogSource([(log, Lines(since, extended=options.extended))])


def older_wanted(first: re.Pattern[bytes], since: int) -> Callable[[bytes, bytes], bool]:
    """Give a rule: the older file of two is needed unless this one begins before `since`."""

    def wanted(this: bytes, _older: bytes) -> bool:
        found = first.search(this)
        return found is None or int(found[1]) >= since

    return wanted


def _ending(words: str) -> str:
    """Read STATE;CODE; a code belongs to an end."""
    state, _, code = words.partition(";")
    return f";{state};{int(code) if state in ('4', '8') else 0}\n"


@final
class Lines(SharedLines):
    """Lines of events, as the generator itself writes them."""

    def __init__(self, since: int, *, extended: bool) -> None:
        super().__init__(Seconds(since))
        states = "[1248]|16" if extended else "[1248]"
        self.pattern = re.compile(_LINE.format(states=states))
        self._plain = re.compile(_PLAIN.format(states="[12]|16" if extended else "[12]"))
        self._first = f"{since:010}"
        self._endings = Endings({}, _ending)

    def feed(self, text: str) -> str:
        """Give the events of whole lines; most are written as they are to be told."""
        times, first = self._plain.findall(text), self._first
        if not times or len(times) != text.count("\n") - 1 or len(first) != len(times[0]):
            return super().feed(text)
        if min(times) >= first:
            return text[1:]
        lines = zip(times, text[1:-1].split("\n"), strict=True)
        return "".join([f"{line}\n" for when, line in lines if when >= first])

    def fast(self, found: list[tuple[str, str, str]]) -> str:
        """Give the events of all lines; odd are those before the time asked for."""
        stamps, endings = self.stamps, self._endings
        return "".join([f"{stamps[when]}{job}{endings[what]}" for when, job, what in found])

    def slow(self, found: tuple[str, str, str]) -> str:
        """Give the event of one line."""
        when, job, what = found
        stamp = self.stamps.slow(when)
        return f"{stamp}{job}{self._endings[what]}" if stamp else ""
