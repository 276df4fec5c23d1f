"""Grid Engine: `$SGE_ROOT/$SGE_CELL/common/reporting`, and the rotated `.0`, `.1` and so on.

Format: docs/protocols/seg.md, 3.3. A line has at least 14 fields, separated by colons. The first is
the time: seconds since 1970, of which ten characters count (Univa writes milliseconds). The second
is the kind of line:

    acct      job in field 8, task in 38 (0 if there is none), failed in 14, exit status in 15
              failed is not 0       failed, its number
              exit status -1        no event: the job has not ended
              else                  done, the exit status
    job_log   event in field 4, job in 5, task in 6
              pending               pending
              delivered             active
              deleted               done, 0: also after the job's own end

With `--extended`, `deleted` is failed, 0, but no event if the job was delivered before or the
scheduler is the initiator, because acct then shows the end. Further events of job_log are:

    restart, migrate, released      pending; and acct, if failed is 24 or 25: the job runs again
    held, suspended                 suspended
    unsuspended                     active

Without a timestamp, everything is replayed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.emit import DONE, FAILED, format_event_suffix
from osprofile.events.errors import EventError
from osprofile.events.sources.base import (
    ACTIVE_SUFFIX,
    FAILED_SUFFIX,
    PENDING_SUFFIX,
    SUSPENDED_SUFFIX,
    LogSource,
    StatelessLineParser,
    StateSuffixes,
    TimedLineParser,
    make_older_file_test,
    parse_leading_integer,
)
from osprofile.events.tail import RotatedLog, StartPolicy, open_regular_file
from osprofile.events.timestamps import EpochPrefixes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.events.sources.base import Source, SourceOptions

EVENT_SUFFIXES: Final = {
    "pending": PENDING_SUFFIX,
    "delivered": ACTIVE_SUFFIX,
    "deleted": format_event_suffix(DONE),
}
"""Events of job_log."""
EXTENDED_SUFFIXES: Final = {
    "restart": PENDING_SUFFIX,
    "migrate": PENDING_SUFFIX,
    "released": PENDING_SUFFIX,
    "held": SUSPENDED_SUFFIX,
    "suspended": SUSPENDED_SUFFIX,
    "unsuspended": ACTIVE_SUFFIX,
}
_RESCHEDULED: Final = {24, 25}
"""Values of failed of a run after which the job runs again: migrating, rescheduling."""
_ANY_FIELD: Final = ":[^:\\n]*+"
_LINE_TEMPLATE: Final = (
    r"\n([0-9]{10}|[0-9]{1,9}(?=:))[^:\n]*+:(?:"
    rf"job_log{_ANY_FIELD}:(EVENTS)(?=:):([^:\n]*+):([^:\n]*+){_ANY_FIELD * 2}INITIATOR{_ANY_FIELD * 5}"
    rf"|acct{_ANY_FIELD * 5}:([^:\n]*+){_ANY_FIELD * 5}:([^:\n]*+{_ANY_FIELD})(?>{_ANY_FIELD * 22}:([^:\n]*+)|))"
)
_FIRST_TIME: Final = re.compile(rb"^([0-9]{1,10})[^:\n]*:(?:[^:\n]*:){12}", re.MULTILINE)
_SETTING_PATTERN: Final = re.compile(
    r"^\s*(?:export\s+)?(SGE_ROOT|SGE_CELL)=[\"']?([^\s\"';]*)", re.MULTILINE
)

LineFields = tuple[str, str, str, str, str, str, str]
"""Time; for job_log event, job and task; for acct job, FAILED:EXIT and task."""


def open_source(options: SourceOptions) -> Source:
    """Open the reporting file and the rotated files that are needed."""
    policy = StartPolicy(make_older_file_test(_FIRST_TIME, lambda text: int(text) >= options.since))
    log = RotatedLog(options.choose_log_path(_find_reporting_file(options.settings)), 0, policy)
    parser_class = ExtendedLineParser if options.extended else LineParser
    return LogSource([(log, parser_class(EpochPrefixes(options.since)))])


def _find_reporting_file(settings: Mapping[str, str]) -> str:
    """Return the path of the reporting file by Grid Engine's own settings; "" if there are none.

    These are `sge_root` and `sge_cell` of the settings (where "undefined" means none), else SGE_ROOT
    and SGE_CELL in the file `sge_config`, else in the environment. Raises `EventError` if that file
    cannot be read.
    """
    values = {"SGE_CELL": "default"} | {k: v for k, v in os.environ.items() if k.startswith("SGE_")}
    path = settings.get("sge_config", "")
    if path and os.path.exists(path):
        try:
            with open(open_regular_file(path), encoding="utf-8", errors="surrogateescape") as file:
                values |= dict(_SETTING_PATTERN.findall(file.read()))
        except OSError as error:
            raise EventError(f"{path} (sge_config) cannot be read: {error.strerror}") from error
    for name in ("SGE_ROOT", "SGE_CELL"):
        value = settings.get(name.lower(), "undefined")
        if value and value != "undefined":
            values[name] = value
    root = values.get("SGE_ROOT")
    return f"{root}/{values['SGE_CELL']}/common/reporting" if root else ""


def _format_account_suffix(fields: str) -> str | None:
    """Return the suffix for FAILED:EXIT; None if they are malformed, or the job has not ended (exit -1)."""
    failed_text, _, code_text = fields.partition(":")
    failed, code = parse_leading_integer(failed_text), parse_leading_integer(code_text)
    if failed is None or code is None or code_text.startswith("-1"):
        return None
    return format_event_suffix(FAILED, failed) if failed else format_event_suffix(DONE, code)


@final
class LineParser(StatelessLineParser):
    """Parses lines as Globus's program does."""

    pattern = re.compile(
        _LINE_TEMPLATE.replace("EVENTS", "|".join(EVENT_SUFFIXES)).replace("INITIATOR", _ANY_FIELD)
    )

    def __init__(self, prefixes: EpochPrefixes) -> None:
        super().__init__(prefixes)
        self._account_suffixes = StateSuffixes({}, _format_account_suffix)

    def convert_all_matches(self, matches: list[LineFields]) -> str:
        """Return the events of all lines; fail if acct has malformed numbers or a job that has not ended."""
        prefixes, suffixes = self.prefixes, self._account_suffixes
        return "".join(
            [
                f"{prefixes[when]}{job}.{task}{EVENT_SUFFIXES[event]}"
                if event
                else f"{prefixes[when]}{ended_job}.{ended_task or '0'}{suffixes[account]}"
                for when, event, job, task, ended_job, account, ended_task in matches
            ]
        )

    def convert_match(self, match: LineFields) -> str:
        """Return the event of one line."""
        when, event, job, task, ended_job, account, ended_task = match
        prefix = self.prefixes.format_prefix(when)
        suffix = EVENT_SUFFIXES[event] if event else _format_account_suffix(account)
        if not prefix or not suffix:
            return ""
        name = f"{job}.{task}" if event else f"{ended_job}.{ended_task or '0'}"
        return f"{prefix}{name}{suffix}"


@final
class ExtendedLineParser(TimedLineParser):
    """Parses all events; remembers which tasks run, so the order of lines matters."""

    pattern = re.compile(
        _LINE_TEMPLATE.replace("EVENTS", "|".join([*EVENT_SUFFIXES, *EXTENDED_SUFFIXES])).replace(
            "INITIATOR", r":([^:\n]*+)"
        )
    )

    def __init__(self, prefixes: EpochPrefixes) -> None:
        super().__init__(prefixes)
        self._running_tasks: set[str] = set()

    def convert_match(self, match: tuple[str, ...]) -> str:
        """Return the event of one line."""
        when, event, job, task, initiator, ended_job, account, ended_task = match
        if event:
            name = f"{job}.{task}"
            suffix: str | None = self._format_suffix(name, event, initiator)
        else:
            name = f"{ended_job}.{ended_task or '0'}"
            suffix = _format_account_suffix(account)
            if suffix and parse_leading_integer(account) in _RESCHEDULED:
                suffix = PENDING_SUFFIX
            if suffix:
                self._running_tasks.discard(name)
        prefix = self.prefixes.format_prefix(when)
        return f"{prefix}{name}{suffix}" if prefix and suffix else ""

    def _format_suffix(self, name: str, event: str, initiator: str) -> str:
        if event == "deleted":
            acct_has_end = name in self._running_tasks or initiator == "scheduler"
            return "" if acct_has_end else FAILED_SUFFIX
        if event == "delivered":
            self._running_tasks.add(name)
        elif event in ("restart", "migrate"):
            self._running_tasks.discard(name)
        return EVENT_SUFFIXES.get(event) or EXTENDED_SUFFIXES[event]
