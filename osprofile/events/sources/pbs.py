"""PBS: OpenPBS, PBS Pro and Torque, by the server's logs.

A file a day, `server_logs/YYYYMMDD`, lines `date;type;daemon;class;job;message` in local time, by
the second (OpenPBS may be told to log fractions). Only lines of type 0008 (job) and 0010 (usage;
some write 0016) tell of events; the message's beginning says which:

    Job Queued                              pending
    Job Run                                 active
    Exit_status=N                           done, N as it is: negative where PBS itself failed
    Job deleted                             failed, 0
    job_id: ID, of the object req_commit    pending (Torque)

With `--extended` also, of types 0008 and 0100:

    Job to be deleted at request of         failed, 0, where nothing follows. A job that runs, which
                                            a line before says, has its end told by Exit_status
    Job Rerun                               pending
    Holds L set                             suspended, if the job is not running
    Holds L released                        pending, as soon as no hold is left
    job signaled with suspend, resume       suspended, active; also admin-suspend, admin-resume.
                                            "resume job by" is a request only, and comes twice
    enqueuing into Q, state Q               pending, for a member of an array, which has no
                                            line Job Queued
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.daily_log import DailyLog, format_day_name
from osprofile.events.sources.base import (
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    TimedLineParser,
    parse_leading_integer,
)
from osprofile.events.timestamps import LocalTimePrefixes, WallTime, parse_numbers_at

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions

EVENT_SUFFIXES: Final = {"Job Queued": ";1;0\n", "Job Run": ";2;0\n", "Job deleted": ";4;0\n"}
"""The beginnings of messages that tell all by themselves."""
_MESSAGE_PATTERN: Final = r"Job (?:Queued|Run|deleted)|Exit_status[^ ;\n]*+|job_id:[^;\n]*+"
_EXTENDED_PATTERN: Final = (
    r"Job (?:Queued|Run|deleted|to be deleted|Rerun|sent signal)|Exit_status[^ ;\n]*+"
    r"|job_id:[^;\n]*+|Holds [a-z]++ (?:set|released)|job signaled with (?:admin-)?+(?:suspend|resume)"
    r"|Delete forced|deleting instead|MOM rejected signal|enqueuing into [^,;\n]*+, state Q"
)
_MESSAGES_BY_TYPE: Final = {"0100": ("enqueuing",)}
"""What lines of these types tell of, and of no others."""
_LINE_TEMPLATE: Final = (
    r"\n(.{{19}})(?:\.[^;\n]*+)?+;{types};[^;\n]*+;[^;\n]*+;([^;\n]++);({messages})"
)


def open_source(options: SourceOptions) -> Source:
    """Open the directory of the server's logs; without a timestamp, from now on."""
    since = options.since_or_now
    log = DailyLog(options.choose_log_path(), format_day_name(since))
    stamps = LocalTimePrefixes(parse_minute, since)
    return LogSource(
        [(log, ExtendedLineParser(stamps) if options.extended else LineParser(stamps))]
    )


def parse_minute(text: str) -> WallTime | None:
    """Read MM/DD/YYYY HH:MM."""
    if text[2] + text[5] + text[10] + text[13] != "// :":
        return None
    return parse_numbers_at(text, (6, 10), (0, 2), (3, 5), (11, 13), (14, 16))


def _format_exit_suffix(message: str) -> str | None:
    """Read `Exit_status=N`; what is no number tells of nothing."""
    code = parse_leading_integer(message[12:]) if message.startswith("Exit_status=") else None
    return None if code is None else f";8;{code}\n"


@final
class LineParser(StatelessLineParser):
    """What the original tells."""

    pattern = re.compile(_LINE_TEMPLATE.format(types="00(?:08|1[06])", messages=_MESSAGE_PATTERN))

    def __init__(self, prefixes: LocalTimePrefixes) -> None:
        super().__init__(prefixes)
        self._suffixes = StateSuffixes(EVENT_SUFFIXES, _format_exit_suffix)

    def convert_all_matches(self, matches: list[tuple[str, str, str]]) -> str:
        """Give the events of all lines; odd are a bad number, and Torque's commit."""
        stamps, endings = self.prefixes, self._suffixes
        return "".join([f"{stamps[when]}{job}{endings[what]}" for when, job, what in matches])

    def convert_match(self, match: tuple[str, str, str]) -> str:
        """Give the event of one line."""
        when, job, what = match
        if what.startswith("job_id:"):
            job, what = (what[8:] if job == "req_commit" else ""), "Job Queued"
        stamp = job and self.prefixes.format_prefix(when)
        ending = EVENT_SUFFIXES.get(what) or _format_exit_suffix(what)
        return f"{stamp}{job}{ending}" if stamp and ending else ""


@final
class ExtendedLineParser(TimedLineParser):
    """What the original tells, and what it drops.

    Which jobs run, which of them are being deleted, and what holds the others, is remembered from
    line to line.
    """

    pattern = re.compile(
        _LINE_TEMPLATE.format(types="(0(?:008|01[06]|100))", messages=_EXTENDED_PATTERN)
    )

    def __init__(self, prefixes: LocalTimePrefixes) -> None:
        super().__init__(prefixes)
        self._running_jobs: set[str] = set()
        self._deleted_jobs: set[str] = set()
        self._hold_letters: dict[str, set[str]] = {}

    def convert_all_matches(self, matches: list[tuple[str, str, str, str]]) -> str:
        """Take each line by itself: what it means depends on those before it."""
        return "".join(map(self.convert_match, matches))

    def convert_match(self, match: tuple[str, str, str, str]) -> str:
        """Give the event of one line."""
        when, kind, job, what = match
        if not what.startswith(_MESSAGES_BY_TYPE.get(kind, "")):
            return ""
        if what.startswith("job_id:"):
            job, what = (what[8:] if job == "req_commit" else ""), "Job Queued"
        ending = self._convert_basic_message(job, what) or self._convert_extended_message(job, what)
        stamp = ending and job and self.prefixes.format_prefix(when)
        return f"{stamp}{job}{ending}" if stamp else ""

    def _convert_basic_message(self, job: str, message: str) -> str | None:
        """Tell what the original tells."""
        ending = EVENT_SUFFIXES.get(message) or _format_exit_suffix(message)
        if message == "Job Run":
            self._running_jobs.add(job)
        elif ending and message != "Job Queued":
            self._running_jobs.discard(job)
        if ending and message != "Job Queued":
            self._deleted_jobs.discard(job)
            self._hold_letters.pop(job, None)
        return ending

    def _convert_extended_message(self, job: str, message: str) -> str:
        """Tell what the original drops."""
        running = job in self._running_jobs
        match message.split(" "):
            case ["Job", "sent", "signal"] | ["Delete", "forced"] | ["deleting", "instead"]:
                self._deleted_jobs.add(job)
            case ["MOM", "rejected", "signal"]:
                self._deleted_jobs.discard(job)
            case ["Job", "to", "be", "deleted"] if job not in self._deleted_jobs:
                self._running_jobs.discard(job)
                self._hold_letters.pop(job, None)
                return ";4;0\n"
            case ["Job", "Rerun"]:
                self._running_jobs.discard(job)
                return ";1;0\n"
            case ["Holds", letters, change]:
                return "" if running else self._convert_hold_change(job, set(letters), change)
            case ["job", "signaled", "with", signal]:
                return ";16;0\n" if signal.endswith("suspend") else ";2;0\n"
            case ["enqueuing", *_] if job.partition("[")[2][:1].isdigit():
                return ";1;0\n"
        return ""

    def _convert_hold_change(self, job: str, letters: set[str], change: str) -> str:
        holds = self._hold_letters.setdefault(job, set())
        if change == "set":
            holds |= letters
            return ";16;0\n"
        holds -= letters
        if holds:
            return ""
        del self._hold_letters[job]
        return ";1;0\n"
