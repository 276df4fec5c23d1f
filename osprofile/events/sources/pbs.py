"""PBS: the server logs of OpenPBS, PBS Pro and Torque.

Format: docs/protocols/seg.md, 3.1. There is a file for each day, `server_logs/YYYYMMDD`, with lines
`date;type;daemon;class;job;message` in local time (OpenPBS can be configured to log fractions of a
second). Only lines of type 0008 (job) and 0010 (usage; some releases write 0016) are events, by
the beginning of the message:

    Job Queued                              pending
    Job Run                                 active
    Exit_status=N                           done, N; negative if PBS itself failed. Nothing for -20, a lost
                                            node: `Job requeued` or `Job deleted` follows
    Job deleted                             failed, 0
    job_id: ID, of the object req_commit    pending (Torque)

With `--extended` also, of types 0008 and 0100 (of any type: refused dependencies):

    Job to be deleted at request of         failed, 0, if the job does not run. If it runs, which
                                            an earlier line shows, Exit_status follows
    Job Rerun, Job requeued                 pending
    Exit_status=N, negative                 failed, N
    Job deleted at request of               nothing, if the job runs (Torque): Exit_status follows
    dequeuing from                          failed, 0, if neither followed, or if a dependency was refused
    Holds L set                             suspended, if the job is not running
    Holds L released                        pending, when no hold is left
    job signaled with suspend, resume       suspended, active; also admin-suspend, admin-resume.
                                            "resume job by" is only the request
    enqueuing into Q, state Q               pending, for a member of a job array, which has no
                                            line Job Queued
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.daily_log import DailyLog, format_day_name
from osprofile.events.emit import DONE, FAILED, format_event_suffix
from osprofile.events.sources.base import (
    ACTIVE_SUFFIX,
    FAILED_SUFFIX,
    PENDING_SUFFIX,
    SUSPENDED_SUFFIX,
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    TimedLineParser,
    parse_leading_integer,
)
from osprofile.events.timestamps import LocalTimePrefixes, WallTime, parse_numbers_at

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions

EVENT_SUFFIXES: Final = {"Job Queued": PENDING_SUFFIX, "Job Run": ACTIVE_SUFFIX, "Job deleted": FAILED_SUFFIX}
"""The messages (their beginnings) whose suffix is fixed."""
_MESSAGE_PATTERN: Final = r"Job (?:Queued|Run|deleted)|Exit_status[^ ;\n]*+|job_id:[^;\n]*+"
_EXTENDED_PATTERN: Final = (
    r"Job (?:Queued|Run|deleted(?> at request|)|to be deleted|Rerun|requeued|sent signal)|Exit_status[^ ;\n]*+"
    r"|job_id:[^;\n]*+|Holds [a-z]++ (?:set|released)|job signaled with (?>admin-|)(?:suspend|resume)"
    r"|Delete forced|deleting instead|MOM rejected signal|enqueuing into [^,;\n]*+, state Q"
    r"|dequeuing from|Dependency request for job rejected|Finished job did not satisfy dependency"
)
_MESSAGES_BY_TYPE: Final[dict[str, str | tuple[str, ...]]] = {
    "0008": "",
    "0010": "",
    "0016": "",
    "0100": ("enqueuing", "dequeuing"),
}
_REFUSED_DEPENDENCY: Final = ("Dependency", "Finished")
"""The messages that are events by the type of a line, and those that are with any other type."""
NODE_LOST: Final = -20
"""Exit status (JOB_EXEC_RERUN_MS_FAIL) of a job whose node is lost; the next line tells what becomes of it."""
_LINE_TEMPLATE: Final = r"\n(.{{19}})(?>\.[^;\n]*+|);{types};[^;\n]*+;[^;\n]*+;([^;\n]++);({messages})"


def open_source(options: SourceOptions) -> Source:
    """Open the directory of the server logs; without a timestamp, read from now on."""
    since = options.since_or_now
    log = DailyLog(options.choose_log_path(), format_day_name(since))
    parser_class = ExtendedLineParser if options.extended else LineParser
    return LogSource([(log, parser_class(LocalTimePrefixes(parse_minute, since)))])


def parse_minute(text: str) -> WallTime | None:
    """Parse MM/DD/YYYY HH:MM."""
    if text[2] + text[5] + text[10] + text[13] != "// :":
        return None
    return parse_numbers_at(text, (6, 10), (0, 2), (3, 5), (11, 13), (14, 16))


def _format_exit_suffix(message: str) -> str | None:
    """Return the suffix for `Exit_status=N`; None for other messages, if N is not a number or NODE_LOST."""
    code = parse_leading_integer(message[12:]) if message.startswith("Exit_status=") else None
    return None if code in (None, NODE_LOST) else format_event_suffix(DONE, code)


def _convert_commit(job: str, message: str) -> tuple[str, str]:
    """Return job and message; convert Torque's `job_id: ID` of `req_commit` to `Job Queued`."""
    if message.startswith("job_id:"):
        return (message[8:] if job == "req_commit" else ""), "Job Queued"
    return job, message


@final
class LineParser(StatelessLineParser):
    """Parses lines as Globus's program does."""

    pattern = re.compile(_LINE_TEMPLATE.format(types="00(?:08|1[06])", messages=_MESSAGE_PATTERN))

    def __init__(self, prefixes: LocalTimePrefixes) -> None:
        super().__init__(prefixes)
        self._suffixes = StateSuffixes(EVENT_SUFFIXES, _format_exit_suffix)

    def convert_all_matches(self, matches: list[tuple[str, str, str]]) -> str:
        """Return the events of all lines; fail for a malformed number and for Torque's `req_commit`."""
        prefixes, suffixes = self.prefixes, self._suffixes
        return "".join([f"{prefixes[when]}{job}{suffixes[text]}" for when, job, text in matches])

    def convert_match(self, match: tuple[str, str, str]) -> str:
        """Return the event of one line."""
        when, job, message = match
        job, message = _convert_commit(job, message)
        prefix = job and self.prefixes.format_prefix(when)
        suffix = EVENT_SUFFIXES.get(message) or _format_exit_suffix(message)
        return f"{prefix}{job}{suffix}" if prefix and suffix else ""


@final
class ExtendedLineParser(TimedLineParser):
    """Parses all events; remembers running jobs, jobs that are being deleted, and holds of other jobs."""

    pattern = re.compile(_LINE_TEMPLATE.format(types="([0-9a-f]{4})", messages=_EXTENDED_PATTERN))

    def __init__(self, prefixes: LocalTimePrefixes) -> None:
        super().__init__(prefixes)
        self._running_jobs: set[str] = set()
        self._deleted_jobs: set[str] = set()
        self._leaving_jobs: set[str] = set()
        self._hold_letters: dict[str, set[str]] = {}

    def convert_match(self, match: tuple[str, str, str, str]) -> str:
        """Return the event of one line."""
        when, kind, job, message = match
        if not message.startswith(_MESSAGES_BY_TYPE.get(kind, _REFUSED_DEPENDENCY)):
            return ""
        job, message = _convert_commit(job, message)
        suffix = self._convert_basic_message(job, message) or self._convert_extended_message(job, message)
        prefix = suffix and job and self.prefixes.format_prefix(when)
        return f"{prefix}{job}{suffix}" if prefix else ""

    def _convert_basic_message(self, job: str, message: str) -> str | None:
        """Return the suffix for a message that Globus's program also knows; None for any other."""
        suffix = EVENT_SUFFIXES.get(message) or _format_exit_suffix(message)
        if message == "Job Run":
            self._running_jobs.add(job)
        elif suffix and message != "Job Queued":
            self._running_jobs.discard(job)
        if suffix and message != "Job Queued":
            self._deleted_jobs.discard(job)
            self._leaving_jobs.discard(job)
            self._hold_letters.pop(job, None)
        code = parse_leading_integer(message[12:]) if suffix and message.startswith("Exit_status=") else 0
        return format_event_suffix(FAILED, code) if code and code < 0 else suffix

    def _convert_extended_message(self, job: str, message: str) -> str:
        """Return the suffix for a message that Globus's program ignores; "" if it is not an event."""
        match message.split(" "):
            case ["Job", "Rerun" | "requeued"]:
                self._running_jobs.discard(job)
                return PENDING_SUFFIX
            case ["Holds", letters, change]:
                if job not in self._running_jobs:
                    return self._convert_hold_change(job, set(letters), change)
            case ["job", "signaled", "with", signal]:
                return SUSPENDED_SUFFIX if signal.endswith("suspend") else ACTIVE_SUFFIX
            case ["enqueuing", *_] if job.partition("[")[2][:1].isdigit():
                return PENDING_SUFFIX
        return self._convert_removal(job, message)

    def _convert_removal(self, job: str, message: str) -> str:
        """Return the suffix for a message about a job that is to leave the server; "" for any other."""
        match message.split(" "):
            case ["Job", "sent", "signal"] | ["Delete", "forced"] | ["deleting", "instead"]:
                self._deleted_jobs.add(job)
            case ["MOM", "rejected", "signal"]:
                self._deleted_jobs.discard(job)
            case ["Job", "to", "be", "deleted"] if job not in self._deleted_jobs:
                self._running_jobs.discard(job)
                self._hold_letters.pop(job, None)
                return FAILED_SUFFIX
            case ["Job", "deleted", "at", "request"]:
                if job not in self._running_jobs:
                    return FAILED_SUFFIX
                self._leaving_jobs.add(job)
            case ["Dependency" | "Finished", *_]:
                self._leaving_jobs.add(job)
            case ["dequeuing", "from"] if job in self._leaving_jobs:
                self._leaving_jobs.discard(job)
                self._running_jobs.discard(job)
                return FAILED_SUFFIX
        return ""

    def _convert_hold_change(self, job: str, letters: set[str], change: str) -> str:
        holds = self._hold_letters.setdefault(job, set())
        if change == "set":
            holds |= letters
            return SUSPENDED_SUFFIX
        holds -= letters
        if holds:
            return ""
        del self._hold_letters[job]
        return PENDING_SUFFIX
