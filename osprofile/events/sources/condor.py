"""HTCondor: user logs of jobs, text or XML, one or several.

Formats: docs/protocols/seg.md, 3.4. An entry of a text log begins with a line
`NNN (cluster.proc.sub) TIME text` and ends with the line `...`; TIME is local, `MM/DD HH:MM:SS` or
`YYYY-MM-DD HH:MM:SS`. An entry of an XML log is an element `<c>` with elements `<a n="NAME">`. NNN,
or EventTypeNumber, is the kind of event:

    000 submitted                          pending
    001 executing                          active
    005 terminated, (1) normally           done, the return value
    005 terminated, (0) abnormally         failed, 0
    009 aborted                            failed, 0

With `--extended` also:

    002 not executable                     failed, 0
    004 evicted, 007 shadow's exception    pending
    022 disconnected, without reconnecting pending
    024 reconnection failed                pending
    010 suspended, 012 held                suspended
    011 unsuspended                        active
    013 released                           pending

A job's id is CLUSTER.PROC.SUB, each with at least three digits. Without a timestamp everything is
replayed. A time without a year is within the last twelve months.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.events.emit import DONE, format_event_suffix
from osprofile.events.sources.base import (
    ACTIVE_SUFFIX,
    FAILED_SUFFIX,
    NUL_BYTES,
    PENDING_SUFFIX,
    SUSPENDED_SUFFIX,
    LogSource,
    StatelessLineParser,
    StateSuffixes,
)
from osprofile.events.sources.condor_xml import ElementReader
from osprofile.events.tail import REPLAY_ALL, RotatedLog
from osprofile.events.timestamps import LocalTimePrefixes, WallTime, parse_iso_minute, parse_numbers_at

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions
    from osprofile.events.sources.condor_xml import EntryFields
    from osprofile.events.tail import Log

EVENT_SUFFIXES: Final = {0: PENDING_SUFFIX, 1: ACTIVE_SUFFIX, 9: FAILED_SUFFIX}
"""The events whose suffix depends only on their number."""
TERMINATED: Final = 5
"""The event whose suffix depends on how the job ended."""
EXTENDED_SUFFIXES: Final = {
    2: FAILED_SUFFIX,
    4: PENDING_SUFFIX,
    7: PENDING_SUFFIX,
    10: SUSPENDED_SUFFIX,
    11: ACTIVE_SUFFIX,
    12: SUSPENDED_SUFFIX,
    13: PENDING_SUFFIX,
    22: PENDING_SUFFIX,
    24: PENDING_SUFFIX,
}
END_OF_ENTRY: Final = b"\n...\n"
END_OF_ELEMENT: Final = b"</c>"
_FIRST_ENTRY: Final = re.compile(
    rb"(?:^|\0)[ \t]*(?:(<(?:\?xml|!DOCTYPE|classads>|c>))|[0-9]{3} \([0-9]+\.[0-9]+\.[0-9]+\) )",
    re.MULTILINE,
)
_TEXT_ENTRY: Final = re.compile(
    r"\n\.\.\.\n([0-9]{3}) \(0*([0-9]+)\.0*([0-9]+)\.0*([0-9]+)\) "
    r"((?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]|[0-9]{2}/[0-9]{2} )[0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])(?! Job disconnected, attempting)[^\n]*+"
    r"(?:\n[ \t]*+\(([01])\)[^\n]*?(?:value|signal) (-?[0-9]{1,18})\))?"
)
_CUT_ENTRY: Final = re.compile(r"(?<!\n\.\.\.)\n(?=[0-9]{3} \([0-9]+\.[0-9]+\.[0-9]+\) )")
"""The end of an entry without its last line, behind which another begins: its writer was killed, or the disk was full."""
MAX_PARTIAL_ENTRY: Final = 1024 * 1024
"""Bytes of an unfinished entry that are kept; only its start is used."""


def open_source(options: SourceOptions) -> Source:
    """Open all logs."""
    logs = [EntryLog(RotatedLog(path, 1, REPLAY_ALL)) for path in options.list_log_paths()]
    return LogSource([(log, EntryParser(options.since, extended=options.extended)) for log in logs])


def parse_minute(text: str) -> WallTime | None:
    """Parse YYYY-MM-DD HH:MM, or MM/DD HH:MM within the last twelve months."""
    if text[4:5] == "-":
        return parse_iso_minute(text)
    numbers = parse_numbers_at(text, (0, 2), (3, 5), (6, 8), (9, 11))
    if numbers is None:
        return None
    # A date after tomorrow is last year's.
    tomorrow = time.localtime(time.time() + 86_400)
    return (tomorrow.tm_year - (numbers[:2] > (tomorrow.tm_mon, tomorrow.tm_mday)), *numbers)


@final
class EntryLog:
    """A log that is read in whole entries.

    The first line that can only be text or only XML decides the format of a file.
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
                self._partial_entry = self._entry_end = b""
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
        """Return the number of bytes that are known to be unread."""
        return self._log.count_unread_bytes()

    def _skip_to_first_entry(self, data: bytes) -> bytes:
        """Return the data from the first line that shows the format, and note the format; b"" if none does."""
        match = _FIRST_ENTRY.search(data)
        if match is None:
            return b""
        self._entry_end = END_OF_ELEMENT if match[1] else END_OF_ENTRY
        return data[match.start() :]


def _truncate_entry(entry: bytes) -> bytes:
    """Return the part of an unfinished entry that is kept."""
    if len(entry) <= MAX_PARTIAL_ENTRY:
        return entry
    end = entry.rfind(b"\n", 0, MAX_PARTIAL_ENTRY) + 1
    return entry[:end] if end else entry[:MAX_PARTIAL_ENTRY] + b"\n"


@final
class EntryParser(StatelessLineParser):
    """Converts whole entries to events."""

    def __init__(self, since: int, *, extended: bool) -> None:
        self._time_prefixes = LocalTimePrefixes(parse_minute, since)
        super().__init__(self._time_prefixes)
        self._suffix_table = {**EVENT_SUFFIXES, **EXTENDED_SUFFIXES} if extended else dict(EVENT_SUFFIXES)
        self._suffixes = StateSuffixes({}, self._format_suffix)
        self._element_reader = ElementReader([*self._suffix_table, TERMINATED])
        self._reset_day = 0

    def note_end_of_log(self, now: float) -> None:
        """Forget times once a day, because a time without a year may mean another year."""
        super().note_end_of_log(now)
        if self._reset_day != int(now) // 86_400:
            self._reset_day = int(now) // 86_400
            self._time_prefixes.reset_cache()

    def find_matches(self, text: str) -> list[EntryFields]:
        """Return the fields of whole entries, which are XML if the text ends with an element."""
        if text.endswith("</c>"):
            return self._element_reader.parse_elements(text)
        entries: list[EntryFields] = _TEXT_ENTRY.findall(_CUT_ENTRY.sub("\n...\n", f"\n...{text}"))
        return entries

    def convert_all_matches(self, matches: list[EntryFields]) -> str:
        """Return the events of all entries; fail if one is before the timestamp."""
        prefixes, suffixes = self.prefixes, self._suffixes
        return "".join(
            [
                f"{prefixes[when]}{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}{suffix}"
                for number, cluster, proc, sub, when, normal, value in matches
                if (suffix := suffixes[number + normal + value])
            ]
        )

    def convert_match(self, match: EntryFields) -> str:
        """Return the event of one entry."""
        number, cluster, proc, sub, when, normal, value = match
        suffix = self._suffixes[number + normal + value]
        prefix = suffix and self.prefixes.format_prefix(when)
        job = f"{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}"
        return f"{prefix}{job}{suffix}" if prefix else ""

    def _format_suffix(self, fields: str) -> str:
        """Return the suffix for NUMBER, NORMAL and VALUE as one text; "" if it is not an event."""
        number, normal, value = int(fields[:3]), fields[3:4], fields[4:]
        if number != TERMINATED:
            return self._suffix_table.get(number, "")
        if normal == "1":
            return format_event_suffix(DONE, int(value))
        return FAILED_SUFFIX if normal else ""
