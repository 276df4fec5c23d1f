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

from osprofile.events.clock import Stamps, Wall, numbers
from osprofile.events.sources.base import HOLE, Endings, LogSource, SharedLines
from osprofile.events.sources.condor_xml import Elements
from osprofile.events.tail import Chain, Starts

if TYPE_CHECKING:
    from osprofile.events.sources.base import Options, Source
    from osprofile.events.sources.condor_xml import Found
    from osprofile.events.tail import Log

TABLE: Final = {0: ";1;0\n", 1: ";2;0\n", 9: ";4;0\n"}
"""What the numbers tell that tell all by themselves."""
END: Final = 5
"""The number of an end."""
MORE: Final = {
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
_FIRST: Final = re.compile(
    rb"(?:^|\0)[ \t]*(?:(<(?:\?xml|!DOCTYPE|classads>|c>))|[0-9]{3} \([0-9]+\.[0-9]+\.[0-9]+\) )",
    re.MULTILINE,
)
_TEXT: Final = re.compile(
    r"\n\.\.\.\n([0-9]{3}) \(0*([0-9]+)\.0*([0-9]+)\.0*([0-9]+)\) "
    r"((?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]|[0-9]{2}/[0-9]{2} )[0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])[^\n]*+"
    r"(?:\n[ \t]*+\(([01])\)[^\n]*?(?:value|signal) (-?[0-9]{1,18})\))?"
)
KEPT: Final = 1024 * 1024
"""Bytes of an entry that are kept until its end comes; what it tells of stands at its start."""


def open_source(options: Options) -> Source:
    """Open the logs, all of them."""
    everything = Starts(older_wanted=lambda _this, _older: True)
    logs = [WholeEntries(Chain(path, 1, everything)) for path in options.all_paths()]
    return LogSource([(log, Entries(options.since, extended=options.extended)) for log in logs])


def minute(words: str) -> Wall | None:
    """Read YYYY-MM-DD HH:MM, or MM/DD HH:MM of the last twelve months."""
    if words[4:5] == "-":
        return numbers(words, (0, 4), (5, 7), (8, 10), (11, 13), (14, 16))
    found = numbers(words, (0, 2), (3, 5), (6, 8), (9, 11))
    if found is None:
        return None
    tomorrow = time.localtime(time.time() + 86_400)
    return (tomorrow.tm_year - (found[:2] > (tomorrow.tm_mon, tomorrow.tm_mday)), *found)


@final
class WholeEntries:
    """A log of which whole entries are read: what is read ends where an entry does.

    Whether a file is text or XML is told by the first line in it that only one of the two can have.
    """

    def __init__(self, log: Log) -> None:
        self.fresh = False
        self._log = log
        self._rest = self._end = b""

    @property
    def problem(self) -> str:
        """Why the file that is to be read next cannot be read."""
        return self._log.problem

    def read(self) -> bytes:
        """Return the next whole entries; b"" if there are none now."""
        while data := self._log.read():
            if self._log.fresh:
                self._forget()
            if not self._end:
                data = self._from_first_entry(data)
            if not self._end:
                continue
            if b"\0" in data:
                data = HOLE.sub(self._end, data)
            data = self._rest + data
            end = data.rfind(self._end)
            if end >= 0:
                end += len(self._end)
                self._rest = _beginning_of(data[end:])
                return data[:end]
            self._rest = _beginning_of(data)
        return b""

    def left(self) -> int:
        """Return how many bytes are known to be unread."""
        return self._log.left()

    def close(self) -> None:
        """Let go of the open files; the log can be read no more."""
        self._log.close()

    def _forget(self) -> None:
        """Forget the entry of the last file that has no end, and whether it was XML."""
        self._rest = self._end = b""

    def _from_first_entry(self, data: bytes) -> bytes:
        """Return what begins with the first line that tells whether this is XML."""
        found = _FIRST.search(data)
        if found is None:
            return b""
        self._end = END_OF_ELEMENT if found[1] else END_OF_ENTRY
        return data[found.start() :]


def _beginning_of(entry: bytes) -> bytes:
    """Return the whole lines that are kept of an entry whose end is not there yet."""
    if len(entry) <= KEPT:
        return entry
    end = entry.rfind(b"\n", 0, KEPT) + 1
    return entry[:end] if end else entry[:KEPT] + b"\n"


@final
class Entries(SharedLines):
    """Turns whole entries into events, whatever stands before them."""

    def __init__(self, since: int, *, extended: bool) -> None:
        self._times = Stamps(minute, since)
        super().__init__(self._times)
        self._table = {**TABLE, **MORE} if extended else dict(TABLE)
        self._endings = Endings({}, self._ending)
        self._elements = Elements([*self._table, END])
        self._day = 0

    def heard(self, now: float) -> None:
        """Forget times once a day: they may have no year."""
        super().heard(now)
        if self._day != int(now) // 86_400:
            self._day = int(now) // 86_400
            self._times.forget()

    def find_all(self, text: str) -> list[Found]:
        """Return what is told in whole entries, of which the last one's end says what they are."""
        if text.endswith("</c>"):
            return self._elements.find_all(text)
        found: list[Found] = _TEXT.findall(f"\n...{text}")
        return found

    def fast(self, found: list[Found]) -> str:
        """Return the events of all entries; odd are those before the time asked for."""
        stamps, endings = self.stamps, self._endings
        return "".join(
            [
                f"{stamps[when]}{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}{ending}"
                for number, cluster, proc, sub, when, normal, value in found
                if (ending := endings[number + normal + value])
            ]
        )

    def slow(self, found: Found) -> str:
        """Return the event of one entry."""
        number, cluster, proc, sub, when, normal, value = found
        ending = self._endings[number + normal + value]
        stamp = ending and self.stamps.slow(when)
        job = f"{cluster.zfill(3)}.{proc.zfill(3)}.{sub.zfill(3)}"
        return f"{stamp}{job}{ending}" if stamp else ""

    def _ending(self, words: str) -> str:
        """Return how an event's line ends; empty where there is no event."""
        number, normal, value = int(words[:3]), words[3:4], words[4:]
        if number != END:
            return self._table.get(number, "")
        if normal == "1":
            return f";8;{int(value)}\n"
        return ";4;0\n" if normal else ""
