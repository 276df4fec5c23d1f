"""Grid Engine: the reporting file, `$SGE_ROOT/$SGE_CELL/common/reporting`, with `.0`, `.1` behind it.

Fields between colons, at least 14. The first is the time: seconds since 1970, of which ten
characters count (Univa writes milliseconds). The second is the kind of line:

    acct      job in field 8, task in 38 (0 where there is none), failed in 14, exit status in 15
              failed is not 0       failed, its number
              exit status -1        nothing: a job that goes on
              else                  done, the exit status
    job_log   event in field 4, job in 5, task in 6
              pending               pending
              delivered             active
              deleted               done, 0: also behind a job's own end

With `--extended` a deleted job says failed, 0, and only if it was never delivered, and not when the
scheduler forgets a job that ended; and job_log also tells:

    restart, migrate, released      pending
    held, suspended                 suspended
    unsuspended                     active

Without a timestamp everything is replayed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import EventError
from osprofile.events.sources.base import (
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    TimedLineParser,
    parse_leading_integer,
)
from osprofile.events.sources.fork import make_older_file_test
from osprofile.events.tail import RotatedLog, StartPolicy, open_regular
from osprofile.events.timestamps import EpochPrefixes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.events.sources.base import Source, SourceOptions

EVENT_SUFFIXES: Final = {"pending": ";1;0\n", "delivered": ";2;0\n", "deleted": ";8;0\n"}
"""The events of job_log, by their beginnings."""
EXTENDED_SUFFIXES: Final = {
    "restart": ";1;0\n",
    "migrate": ";1;0\n",
    "released": ";1;0\n",
    "held": ";16;0\n",
    "suspended": ";16;0\n",
    "unsuspended": ";2;0\n",
}
_ANY_FIELD: Final = ":[^:\\n]*+"
_LINE_TEMPLATE: Final = (
    r"\n([0-9]{10}|[0-9]{1,9}(?=:))[^:\n]*+:(?:"
    rf"job_log{_ANY_FIELD}:(EVENTS)(?=:):([^:\n]*+):([^:\n]*+){_ANY_FIELD * 2}INITIATOR{_ANY_FIELD * 5}"
    rf"|acct{_ANY_FIELD * 5}:([^:\n]*+){_ANY_FIELD * 5}:([^:\n]*+{_ANY_FIELD})(?:{_ANY_FIELD * 22}:([^:\n]*+))?+)"
)
_FIRST_TIME: Final = re.compile(rb"^([0-9]{1,10})[^:\n]*:(?:[^:\n]*:){12}", re.MULTILINE)
_SETTING_PATTERN: Final = re.compile(
    r"^\s*(?:export\s+)?(SGE_ROOT|SGE_CELL)=[\"']?([^\s\"';]*)", re.MULTILINE
)

LineFields = tuple[str, str, str, str, str, str, str]
"""Time; event, job and task of job_log; job, failed:exit and task of acct."""


def open_source(options: SourceOptions) -> Source:
    """Open the reporting file and the rotated ones that are needed."""
    wanted = make_older_file_test(_FIRST_TIME, options.since)
    log = RotatedLog(
        options.choose_log_path(_find_reporting_file(options.settings)), 0, StartPolicy(wanted)
    )
    kind = ExtendedLineParser if options.extended else LineParser
    return LogSource([(log, kind(EpochPrefixes(options.since)))])


def _find_reporting_file(settings: Mapping[str, str]) -> str:
    """Give the place that Grid Engine's own settings name; empty where they do not say.

    They are sge_root and sge_cell of the configuration, else those of the file sge_config, else
    the environment's. Raises `EventError` if that file cannot be read.
    """
    known = {"SGE_CELL": "default"} | {k: v for k, v in os.environ.items() if k.startswith("SGE_")}
    path = settings.get("sge_config", "")
    if path and os.path.exists(path):
        try:
            with open(open_regular(path), encoding="utf-8", errors="surrogateescape") as file:
                known |= dict(_SETTING_PATTERN.findall(file.read()))
        except OSError as error:
            raise EventError(f"{path} (sge_config) cannot be read: {error.strerror}") from error
    for name in ("SGE_ROOT", "SGE_CELL"):
        given = settings.get(name.lower(), "undefined")
        if given and given != "undefined":
            known[name] = given
    root = known.get("SGE_ROOT")
    return f"{root}/{known['SGE_CELL']}/common/reporting" if root else ""


def _format_account_suffix(fields: str) -> str | None:
    """Read failed:exit; None where it tells of nothing, being no numbers, or of a job that goes on."""
    failed_words, _, code_words = fields.partition(":")
    failed, code = parse_leading_integer(failed_words), parse_leading_integer(code_words)
    if failed is None or code is None or code_words.startswith("-1"):
        return None
    return f";4;{failed}\n" if failed else f";8;{code}\n"


@final
class LineParser(StatelessLineParser):
    """What the original tells."""

    pattern = re.compile(
        _LINE_TEMPLATE.replace("EVENTS", "|".join(EVENT_SUFFIXES)).replace("INITIATOR", _ANY_FIELD)
    )

    def __init__(self, prefixes: EpochPrefixes) -> None:
        super().__init__(prefixes)
        self._account_suffixes = StateSuffixes({}, _format_account_suffix)

    def convert_all_matches(self, matches: list[LineFields]) -> str:
        """Give the events of all lines; odd are bad numbers, and jobs that go on."""
        stamps, account = self.prefixes, self._account_suffixes
        return "".join(
            [
                f"{stamps[when]}{job}.{task}{EVENT_SUFFIXES[event]}"
                if event
                else f"{stamps[when]}{ended}.{its_task or '0'}{account[how]}"
                for when, event, job, task, ended, how, its_task in matches
            ]
        )

    def convert_match(self, match: LineFields) -> str:
        """Give the event of one line."""
        when, event, job, task, ended, how, its_task = match
        stamp = self.prefixes.format_prefix(when)
        ending = EVENT_SUFFIXES[event] if event else _format_account_suffix(how)
        if not stamp or not ending:
            return ""
        return (
            f"{stamp}{job}.{task}{ending}" if event else f"{stamp}{ended}.{its_task or '0'}{ending}"
        )


@final
class ExtendedLineParser(TimedLineParser):
    """What the original tells, and what it drops; remembers which jobs were delivered."""

    pattern = re.compile(
        _LINE_TEMPLATE.replace("EVENTS", "|".join([*EVENT_SUFFIXES, *EXTENDED_SUFFIXES])).replace(
            "INITIATOR", r":([^:\n]*+)"
        )
    )

    def __init__(self, prefixes: EpochPrefixes) -> None:
        super().__init__(prefixes)
        self._running_tasks: set[str] = set()

    def convert_all_matches(self, matches: list[tuple[str, ...]]) -> str:
        """Take each line by itself: what it means depends on those before it."""
        return "".join(map(self.convert_match, matches))

    def convert_match(self, match: tuple[str, ...]) -> str:
        """Give the event of one line."""
        when, event, job, task, initiator, ended, how, its_task = match
        name = f"{job}.{task}" if event else f"{ended}.{its_task or '0'}"
        ending = (
            self._format_suffix(name, event, initiator) if event else _format_account_suffix(how)
        )
        if ending and not event:
            self._running_tasks.discard(name)
        stamp = self.prefixes.format_prefix(when)
        return f"{stamp}{name}{ending}" if stamp and ending else ""

    def _format_suffix(self, name: str, event: str, initiator: str) -> str:
        if event == "deleted":
            gone = name in self._running_tasks or initiator == "scheduler"
            return "" if gone else ";4;0\n"
        if event == "delivered":
            self._running_tasks.add(name)
        elif event in ("restart", "migrate"):
            self._running_tasks.discard(name)
        return EVENT_SUFFIXES.get(event) or EXTENDED_SUFFIXES[event]
