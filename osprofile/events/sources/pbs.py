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

from osprofile.events.clock import Stamps, Wall, numbers
from osprofile.events.days import Days, day_of
from osprofile.events.sources.base import Endings, LogSource, SharedLines, TimedLines, integer

if TYPE_CHECKING:
    from osprofile.events.sources.base import Options, Source

TABLE: Final = {"Job Queued": ";1;0\n", "Job Run": ";2;0\n", "Job deleted": ";4;0\n"}
"""The beginnings of messages that tell all by themselves."""
_MESSAGES: Final = r"Job (?:Queued|Run|deleted)|Exit_status[^ ;\n]*+|job_id:[^;\n]*+"
_MORE: Final = (
    r"Job (?:Queued|Run|deleted|to be deleted|Rerun|sent signal)|Exit_status[^ ;\n]*+"
    r"|job_id:[^;\n]*+|Holds [a-z]++ (?:set|released)|job signaled with (?:admin-)?+(?:suspend|resume)"
    r"|Delete forced|deleting instead|MOM rejected signal|enqueuing into [^,;\n]*+, state Q"
)
_KINDS: Final = {"0100": ("enqueuing",)}
"""What lines of these types tell of, and of no others."""
_LINE: Final = r"\n(.{{19}})(?:\.[^;\n]*+)?+;{types};[^;\n]*+;[^;\n]*+;([^;\n]++);({messages})"


def open_source(options: Options) -> Source:
    """Open the directory of the server's logs; without a timestamp, from now on."""
    since = options.since_or_now
    log = Days(options.path(), day_of(since))
    stamps = Stamps(minute, since)
    return LogSource([(log, Extended(stamps) if options.extended else Lines(stamps))])


def minute(words: str) -> Wall | None:
    """Read MM/DD/YYYY HH:MM."""
    if words[2] + words[5] + words[10] + words[13] != "// :":
        return None
    return numbers(words, (6, 10), (0, 2), (3, 5), (11, 13), (14, 16))


def _exit(words: str) -> str | None:
    """Read `Exit_status=N`; what is no number tells of nothing."""
    code = integer(words[12:]) if words.startswith("Exit_status=") else None
    return None if code is None else f";8;{code}\n"


@final
class Lines(SharedLines):
    """What the original tells."""

    pattern = re.compile(_LINE.format(types="00(?:08|1[06])", messages=_MESSAGES))

    def __init__(self, stamps: Stamps) -> None:
        super().__init__(stamps)
        self._endings = Endings(TABLE, _exit)

    def fast(self, found: list[tuple[str, str, str]]) -> str:
        """Give the events of all lines; odd are a bad number, and Torque's commit."""
        stamps, endings = self.stamps, self._endings
        return "".join([f"{stamps[when]}{job}{endings[what]}" for when, job, what in found])

    def slow(self, found: tuple[str, str, str]) -> str:
        """Give the event of one line."""
        when, job, what = found
        if what.startswith("job_id:"):
            job, what = (what[8:] if job == "req_commit" else ""), "Job Queued"
        stamp = job and self.stamps.slow(when)
        ending = TABLE.get(what) or _exit(what)
        return f"{stamp}{job}{ending}" if stamp and ending else ""


@final
class Extended(TimedLines):
    """What the original tells, and what it drops.

    Which jobs run, which of them are being deleted, and what holds the others, is remembered from
    line to line.
    """

    pattern = re.compile(_LINE.format(types="(0(?:008|01[06]|100))", messages=_MORE))

    def __init__(self, stamps: Stamps) -> None:
        super().__init__(stamps)
        self._running: set[str] = set()
        self._deleted: set[str] = set()
        self._holds: dict[str, set[str]] = {}

    def fast(self, found: list[tuple[str, str, str, str]]) -> str:
        """Take each line by itself: what it means depends on those before it."""
        return "".join(map(self.slow, found))

    def slow(self, found: tuple[str, str, str, str]) -> str:
        """Give the event of one line."""
        when, kind, job, what = found
        if not what.startswith(_KINDS.get(kind, "")):
            return ""
        if what.startswith("job_id:"):
            job, what = (what[8:] if job == "req_commit" else ""), "Job Queued"
        ending = self._simple(job, what) or self._other(job, what)
        stamp = ending and job and self.stamps.slow(when)
        return f"{stamp}{job}{ending}" if stamp else ""

    def _simple(self, job: str, what: str) -> str | None:
        """Tell what the original tells."""
        ending = TABLE.get(what) or _exit(what)
        if what == "Job Run":
            self._running.add(job)
        elif ending and what != "Job Queued":
            self._running.discard(job)
        if ending and what != "Job Queued":
            self._deleted.discard(job)
            self._holds.pop(job, None)
        return ending

    def _other(self, job: str, what: str) -> str:
        """Tell what the original drops."""
        running = job in self._running
        match what.split(" "):
            case ["Job", "sent", "signal"] | ["Delete", "forced"] | ["deleting", "instead"]:
                self._deleted.add(job)
            case ["MOM", "rejected", "signal"]:
                self._deleted.discard(job)
            case ["Job", "to", "be", "deleted"] if job not in self._deleted:
                self._running.discard(job)
                self._holds.pop(job, None)
                return ";4;0\n"
            case ["Job", "Rerun"]:
                self._running.discard(job)
                return ";1;0\n"
            case ["Holds", letters, change]:
                return "" if running else self._held(job, set(letters), change)
            case ["job", "signaled", "with", signal]:
                return ";16;0\n" if signal.endswith("suspend") else ";2;0\n"
            case ["enqueuing", *_] if job.partition("[")[2][:1].isdigit():
                return ";1;0\n"
        return ""

    def _held(self, job: str, letters: set[str], change: str) -> str:
        holds = self._holds.setdefault(job, set())
        if change == "set":
            holds |= letters
            return ";16;0\n"
        holds -= letters
        if holds:
            return ""
        del self._holds[job]
        return ";1;0\n"
