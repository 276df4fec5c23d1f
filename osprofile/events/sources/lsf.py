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

from osprofile.events.clock import OddError, Seconds
from osprofile.events.sources.base import Endings, LogSource, SharedLines, integer
from osprofile.events.tail import Chain, Starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Apart, Options, Source

TABLE: Final = {"JOB_NEW": ";1;0\n", "JOB_START": ";2;0\n"}
_BEGINS: Final = {"NEW": ";1;0\n", "START": ";2;0\n"}
STATES: Final = {1: ";1;0\n", 2: ";16;0\n", 4: ";2;0\n", 8: ";16;0\n", 16: ";16;0\n"}
"""The states of JOB_STATUS that are told with `--extended` alone."""
EXCEPTIONS: Final = 0x08 | 0x10 | 0x40
"""Of the exceptions, those that say a job's end: abend, cantrun, startfail.

A host's failure (0x20) is none: the job may be run again, and its JOB_STATUS says which.
"""
USAGE: Final = 19
"""So many numbers of resource usage stand before the exit status, if any do."""
_EXIT: Final = (  # written out: a repeated group takes twice the time
    rf"(?:{'[0-9.]++ ' * 4}(?:0(?: \"\")?+|1(?: \"\"|{' [-0-9.]++' * USAGE})) "
    r"([0-9]++ [0-9]++ [0-9]++)(?=[ \n])|([^\n]*+))"
)
_LINE: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]++)[ \t]++([^ \t\n]++)'
    rf"(?:[ \t]++(64)(?=[ \t\n])|[ \t]++32[ \t]{_EXIT})?+"
)
_MORE: Final = re.compile(
    r'\n"([^"\n]++)"[ \t]*+"[^"\n]++"[ \t]*+([0-9]++)[ \t]++([^ \t\n]++)[ \t]*+([^\n]*+)'
)
_TIMES: Final = re.compile(
    r'\n(?:"[^"]++" "[^"]++" ([0-9]{10}) (?=[^ \t\n])|(?=.|\n))'  # "" for any other line
)
_EVENTS: Final = re.compile(
    r'\n"JOB_(?:(NEW|START)|STATUS)" "[^"]++" ([0-9]{10} [^ \n]++)'
    rf"(?(1)| ++(?:64[ \n]|32 {_EXIT}))"
)
_FIRST: Final = re.compile(rb"#\s*([0-9]+)")

Found = tuple[str, str, str, str, str, str]
"""Kind, time, job; of an end 64, or exit status, index and exitInfo, or words that have another order."""


def open_source(options: Options) -> Source:
    """Open the current log, or the rotated ones that are needed; without a timestamp, from now on."""
    since = options.since_or_now
    starts = Starts(_older_wanted(since), _offset)
    log = Chain(options.path(), 1, starts, inside="lsb.events")
    return LogSource([(log, Extended(since) if options.extended else Lines(since))])


def _offset(head: bytes) -> int:
    found = _FIRST.match(head)
    return int(found[1]) if found else 0


def _older_wanted(since: int) -> Callable[[bytes, bytes], bool]:
    def wanted(_this: bytes, older: bytes) -> bool:
        found = _FIRST.match(older)
        return found is None or int(found[1]) >= since

    return wanted


def exit_words(words: list[str]) -> tuple[int, int] | None:
    """Give exit status and exitInfo of a JOB_STATUS, of which the words from the state on are given.

    Reason, subreasons, CPU time and end time come first, then whether there is resource usage. Some
    releases write an empty text in its place.
    """
    begin = 6 + (1 if words[6:7] == ['""'] else USAGE if words[5:6] == ["1"] else 0)
    whole = len(words) >= begin + 3 and words[5] in ("0", "1")
    chosen = words[begin : begin + 3] if whole else words[-3:]
    status, information = integer(chosen[0]), integer(chosen[-1])
    if len(chosen) < 3 or status is None or information is None:
        return None
    return status, information


def _exit_of(rest: str) -> str | None:
    """Give a job's end from the words, or the last three, behind the state 32; None if there is none."""
    return ending_of(f"32 {rest}") or None


def ending_of(rest: str) -> str:
    """Give a job's end from a line's words from the state on; empty where it tells none."""
    if not rest.startswith("32"):
        return ";8;0\n" if rest else ""
    found = exit_words(rest.split())
    if found is None:
        return ""
    status, information = found
    return f";4;{information}\n" if information else f";8;{(status & 0xFF00) >> 8}\n"


@final
class Lines:
    """What the original tells; `latest` is the time of the newest line.

    A block whose lines are all of one form is read by two patterns, one for the times of all lines
    and one for the lines that tell of events. Any other is read line by line.
    """

    def __init__(self, since: int) -> None:
        self._latest = since
        self._endings = Endings({"": ";8;0\n"}, _exit_of)

    def begin(self) -> None:
        """Nothing is carried over from one file to the next but the newest line's time."""

    def heard(self, now: float) -> None:
        """Pass over it."""

    def feed(self, text: str) -> str:
        """Give the events of whole lines."""
        block = self.apart(text)
        if block and not self.accepts(block):
            text = _without_older(text, _TIMES.findall(text), f"{self._latest:010}")
            block = self.apart(text)
            if block:
                self.accepts(block)
        return block[0] if block else "".join(map(self._line, _LINE.findall(text)))

    def apart(self, text: str) -> Apart | None:
        """Read a block by itself; None where its lines have another form."""
        times = _TIMES.findall(text)
        if "" in times:
            return None
        if sorted(times) != times:
            text = _without_older(text, times, times[0])
            times = [times[0], max(times)]
        try:
            events = self._events(_EVENTS.findall(text))
        except OddError:
            return None
        return (events, int(times[0]), int(times[-1])) if times else ("", 0, 0)

    def accepts(self, block: Apart) -> bool:
        """Say whether no line of a block is older than one that was fed before."""
        _, first, latest = block
        if latest and first < self._latest:
            return False
        self._latest = max(self._latest, latest)
        return True

    def _events(self, found: list[tuple[str, str, str, str]]) -> str:
        endings = self._endings
        lines = [
            f"001;{when_job}{_BEGINS[kind] if kind else endings[how or odd]}"
            for kind, when_job, how, odd in found
        ]
        return "".join(lines).replace(" ", ";")

    def _line(self, found: Found) -> str:
        kind, when, job, done, how, odd = found
        moment = int(when)
        if moment < self._latest:
            return ""
        self._latest = moment
        ending = TABLE.get(kind)
        if not ending and kind == "JOB_STATUS" and (done or how or odd):
            ending = self._endings.get(how or odd) or _exit_of(how or odd)
        return f"001;{moment};{job}{ending}" if ending else ""


def _without_older(text: str, times: list[str], first: str) -> str:
    """Leave out the lines that are older than `first` or one before them; `times` are theirs."""
    latest = accumulate(times, max, initial=first)
    next(latest)
    whole = zip(text[1:-1].split("\n"), times, latest, strict=True)
    return "\n".join(["", *(line for line, when, so_far in whole if when >= so_far), ""])


@final
class Extended(SharedLines):
    """What the original tells, and what it drops."""

    pattern = _MORE

    def __init__(self, since: int) -> None:
        super().__init__(Seconds(since))

    def fast(self, found: list[tuple[str, str, str, str]]) -> str:
        """Take each line by itself."""
        return "".join(map(self.slow, found))

    def slow(self, found: tuple[str, str, str, str]) -> str:
        """Give the event of one line."""
        kind, when, job, rest = found
        ending = TABLE.get(kind) or self._ending(kind, rest)
        stamp = ending and self.stamps.slow(when)
        return f"{stamp}{job}{ending}" if stamp else ""

    def _ending(self, kind: str, rest: str) -> str:
        number = integer(rest) or 0
        match kind:
            case "JOB_STATUS":
                return ending_of(rest) if number in (32, 64) else STATES.get(number, "")
            case "JOB_REQUEUE":
                return ";1;0\n"
            case "JOB_EXCEPT" if number & EXCEPTIONS:
                return f";4;{number}\n"
        return ""
