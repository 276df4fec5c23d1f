"""HTCondor: the user logs of jobs, text or XML, one or several.

A text log's entries begin with a line `NNN (cluster.proc.sub) TIME words` and end with the line
`...`; TIME is `MM/DD HH:MM:SS` or `YYYY-MM-DD HH:MM:SS`, local. An XML log's are elements `<c>` with
`<a n="NAME">` in them. NNN, or EventTypeNumber, says what happened:

    000 submitted                          pending
    001 executing                          active
    005 terminated, (1) normally           done, the return value
    005 terminated, (0) abnormally         failed, 0
    009 aborted                            failed, 0

With `--extended` also:

    002 not executable                     failed, 0
    004 evicted, 007 shadow's exception    pending
    010 suspended, 012 held                suspended
    011 unsuspended                        active
    013 released                           pending

A job is told as CLUSTER.PROC.SUB, each with three digits at least. Without a timestamp everything is
replayed. A time without a year is of the last twelve months.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.events.sources.base import NUL_BYTES, LogSource, StatelessLineParser, StateSuffixes
from osprofile.events.sources.condor_xml import ElementReader
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import LocalTimePrefixes, WallTime, parse_numbers_at

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions
    from osprofile.events.sources.condor_xml import EntryFields
    from osprofile.events.tail import Log

EVENT_SUFFIXES: Final = {0: ";1;0\n", 1: ";2;0\n", 9: ";4;0\n"}
"""What the numbers tell that tell all by themselves."""
TERMINATED: Final = 5
"""The number of an end."""
EXTENDED_SUFFIXES: Final = {
    2: ";4;0\n",
    4: ";1;0\n",
    7: ";1;0\n",
    10: ";16;0\n",
    11: ";2;0\n",
    12: ";16;0\n",
    13: ";1;0\n",
}
END_OF_ENTRY: Final = b"\n...\n"
END_OF_ELEMENT: Final = b"</c>"
_FIRST_ENTRY: Final = re.compile(
    rb"(?:^|\0)[ \t]*(?:(<(?:\?xml|!DOCTYPE|classads>|c>))|[0-9]{3} \([0-9]+\.[0-9]+\.[0-9]+\) )",
    re.MULTILINE,
)
_TEXT_ENTRY: Final = re.compile(
    r"\n\.\.\.\n([0-9]{3}) \(0*([0-9]+)\.0*([0-9]+)\.0*([0-9]+)\) "
    r"((?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]|[0-9]{2}/[0-9]{2} )[0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])[^\n]*+"
    r"(?:\n[ \t]*+\(([01])\)[^\n]*?(?:value|signal) (-?[0-9]{1,18})\))?"
)
MAX_PARTIAL_ENTRY: Final = 1024 * 1024
"""Bytes of an entry that are kept until its end comes; what it tells of stands at its start."""


def open_source(options: SourceOptions) -> Source:
    """Open the logs, all of them."""
    everything = StartPolicy(needs_older_file=lambda _this, _older: True)
    logs = [EntryLog(RotatedLog(path, 1, everything)) for path in options.list_log_paths()]
    return LogSource([(log, EntryParser(options.since, extended=options.extended)) for log in logs])


def parse_minute(text: str) -> WallTime | None:
    """Read YYYY-MM-DD HH:MM, or MM/DD HH:MM of the last twelve months."""
    if text[4:5] == "-":
        return parse_numbers_at(text, (0, 4), (5, 7), (8, 10), (11, 13), (14, 16))
    found = parse_numbers_at(text, (0, 2), (3, 5), (6, 8), (9, 11))
    if found is None:
        return None
    tomorrow = time.localtime(time.time() + 86_400)
    return (tomorrow.tm_year - (found[:2] > (tomorrow.tm_mon, tomorrow.tm_mday)), *found)


@final
class EntryLog:
    """A log of which whole entries are read: what is read ends where an entry does.

    Whether a file is text or XML is told by the first line in it that only one of the two can have.
    """

    def __init__(self, log: Log) -> None:
        self.starts_new_file = False
        self._log = log
        self._partial_entry = self._entry_end = b""

    @property
    def problem(self) -> str:
        """Why the file that is to be read next cannot be read."""
        return self._log.problem

    def read_lines(self) -> bytes:
        """Return the next whole entries; b"" if there are none now."""
        while data := self._log.read_lines():
            if self._log.starts_new_file:
                self._reset_entry()
            if not self._entry_end:
                data = self._skip_to_first_entry(data)
            if not self._entry_end:
                continue
            if b"\0" in data:
                data = NUL_BYTES.sub(self._entry_end, data)
            data = self._partial_entry + data
            end = data.rfind(self._entry_end)
            if end >= 0:
                end += len(self._entry_end)
                self._partial_entry = _truncate_entry(data[end:])
                return data[:end]
            self._partial_entry = _truncate_entry(data)
        return b""

    def count_unread_bytes(self) -> int:
        """Return how many bytes are known to be unread."""
        return self._log.count_unread_bytes()

    def close(self) -> None:
        """Let go of the open files; the log can be read no more."""
        self._log.close()

    def _reset_entry(self) -> None:
        """Forget the entry of the last file that has no end, and whether it was XML."""
        self._partial_entry = self._entry_end = b""

    def _skip_to_first_entry(self, data: bytes) -> bytes:
        """Return what begins with the first line that tells whether this is XML."""
        found = _FIRST_ENTRY.search(data)
        if found is None:
            return b""
        self._entry_end = END_OF_ELEMENT if found[1] else END_OF_ENTRY
        return data[found.start() :]


def _truncate_entry(entry: bytes) -> bytes:
    """Return the whole lines that are kept of an entry whose end is not there yet."""
    if len(entry) <= MAX_PARTIAL_ENTRY:
        return entry
    end = entry.rfind(b"\n", 0, MAX_PARTIAL_ENTRY) + 1
    return entry[:end] if end else entry[:MAX_PARTIAL_ENTRY] + b"\n"


@final
class EntryParser(StatelessLineParser):
    """Turns whole entries into events, whatever stands before them."""

    def __init__(self, since: int, *, extended: bool) -> None:
        self._time_prefixes = LocalTimePrefixes(parse_minute, since)
        super().__init__(self._time_prefixes)
        self._suffix_table = (
            {**EVENT_SUFFIXES, **EXTENDED_SUFFIXES} if extended else dict(EVENT_SUFFIXES)
        )
        self._suffixes = StateSuffixes({}, self._format_suffix)
        self._element_reader = ElementReader([*self._suffix_table, TERMINATED])
        self._reset_day = 0

    def note_end_of_log(self, now: float) -> None:
        """Forget times once a day: they may have no year."""
        super().note_end_of_log(now)
        if self._reset_day != int(now) // 86_400:
            self._reset_day = int(now) // 86_400
            self._time_prefixes.reset_cache()

    def find_matches(self, text: str) -> list[EntryFields]:
        """Return what is told in whole entries, of which the last one's end says what they are."""
        if text.endswith("</c>"):
            return self._element_reader.parse_elements(text)
        found: list[EntryFields] = _TEXT_ENTRY.findall(f"\n...{text}")
        return found

    def convert_all_matches(self, matches: list[EntryFields]) -> str:
        """Return the events of all entries; odd are those before the time asked for."""
        stamps, endings = self.prefixes, self._suffixes
        return "".join(
            [
                f"{stamps[when]}{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}{ending}"
                for number, cluster, proc, sub, when, normal, value in matches
                if (ending := endings[number + normal + value])
            ]
        )

    def convert_match(self, match: EntryFields) -> str:
        """Return the event of one entry."""
        number, cluster, proc, sub, when, normal, value = match
        ending = self._suffixes[number + normal + value]
        stamp = ending and self.prefixes.format_prefix(when)
        job = f"{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}"
        return f"{stamp}{job}{ending}" if stamp else ""

    def _format_suffix(self, fields: str) -> str:
        """Return how an event's line ends; empty where there is no event."""
        number, normal, value = int(fields[:3]), fields[3:4], fields[4:]
        if number != TERMINATED:
            return self._suffix_table.get(number, "")
        if normal == "1":
            return f";8;{int(value)}\n"
        return ";4;0\n" if normal else ""
