"""Slurm: its record of jobs that ended (jobcomp/filetxt), and slurmctld's log for those that begin.

Both are given by `--log-path`, once for each file, or by a `log_path` with a comma between; a line's
kind is known by its form. Times are local, `YYYY-MM-DDTHH:MM:SS`; slurmctld's has milliseconds.

jobcomp, `JobId=N ... JobState=S ... EndTime=T ... ExitCode=CODE:SIGNAL`, at its end:

    COMPLETED                            done, CODE
    FAILED, without a signal             done, CODE
    any other state of an end            failed, SIGNAL: CANCELLED, TIMEOUT, NODE_FAIL,
                                         OUT_OF_MEMORY, PREEMPTED, BOOT_FAIL, DEADLINE, FAILED

slurmctld:

    _slurm_rpc_submit_batch_job: JobId=N                         pending
    sched: Allocate JobId=N, sched/backfill: ... Started JobId=N active

With `--extended` also:

    Requeuing JobId=N; in jobcomp the states PENDING, REQUEUED   pending
    hold on JobId=N, _slurm_rpc_suspend(suspend) for N           suspended
    release hold on JobId=N                                      pending
    _slurm_rpc_suspend(resume) for N                             active

A member of an array, written A_I(N) by slurmctld, is told as N, its own number, as jobcomp does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.sources.base import LogSource, StatelessLineParser
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import LocalTimePrefixes, WallTime, parse_numbers_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Source, SourceOptions

END_STATES: Final = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "TIMEOUT",
    ]
)
REQUEUE_STATES: Final = frozenset({"PENDING", "REQUEUED"})
EVENT_SUFFIXES: Final = {
    "_slurm_rpc_submit_batch_job: ": ";1;0\n",
    "sched: Allocate ": ";2;0\n",
    "sched/backfill: _start_job: Started ": ";2;0\n",
}
"""The beginnings of slurmctld's messages about a job."""
EXTENDED_SUFFIXES: Final = {
    "Requeuing ": ";1;0\n",
    "sched: _hold_job_rec: hold on ": ";16;0\n",
    "sched: _release_job_rec: release hold on ": ";1;0\n",
    "_slurm_rpc_suspend(suspend) for ": ";16;0\n",
    "_slurm_rpc_suspend(resume) for ": ";2;0\n",
}
_TIME_PATTERN: Final = r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})"
_LINE_TEMPLATE: Final = (
    rf"\n(?:JobId=([0-9]++) [^\n]*? JobState=([A-Z_]++) Partition=[^ \n]*+ TimeLimit=[^ \n]*+ "
    rf"StartTime=[^ \n]*+ EndTime={_TIME_PATTERN} [^\n]* ExitCode=([0-9]{{1,9}}):([0-9]{{1,9}}) *+(?=\n)"
    rf"|\[{_TIME_PATTERN}(?:\.[0-9]++)?+\] (MESSAGES)(?:JobId=)?+([0-9_]++)(?:\(([0-9]++)\))?+"
    rf"(?=[ \n](?!Access|Invalid|Job )))"
)
_FIRST_TIME: Final = re.compile(rb"EndTime=(\S{19})|^\[(\S{19})", re.MULTILINE)

LineFields = tuple[str, str, str, str, str, str, str, str, str]
"""Of jobcomp: job, state, time, code, signal; of slurmctld: time, message, job, its own number."""


def open_source(options: SourceOptions) -> Source:
    """Open the logs; without a timestamp, from now on."""
    since = options.since_or_now
    logs = [
        RotatedLog(path, 1, StartPolicy(_make_older_file_test(since)))
        for path in options.list_log_paths()
    ]
    return LogSource([(log, LineParser(since, extended=options.extended)) for log in logs])


def parse_minute(text: str) -> WallTime | None:
    """Read YYYY-MM-DDTHH:MM."""
    return parse_numbers_at(text, (0, 4), (5, 7), (8, 10), (11, 13), (14, 16))


def _make_older_file_test(since: int) -> Callable[[bytes, bytes], bool]:
    prefixes = LocalTimePrefixes(parse_minute, since)

    def needs_older_file(this: bytes, _older: bytes) -> bool:
        found = _FIRST_TIME.search(this)
        return found is None or bool(
            prefixes.format_prefix((found[1] or found[2]).decode("latin-1"))
        )

    return needs_older_file


@final
class LineParser(StatelessLineParser):
    """Lines of either log."""

    def __init__(self, since: int, *, extended: bool) -> None:
        super().__init__(LocalTimePrefixes(parse_minute, since))
        self._extended = extended
        self._suffixes = {**EVENT_SUFFIXES, **EXTENDED_SUFFIXES} if extended else EVENT_SUFFIXES
        messages = "|".join(map(re.escape, self._suffixes))
        self.pattern = re.compile(_LINE_TEMPLATE.replace("MESSAGES", messages))

    def convert_all_matches(self, matches: list[LineFields]) -> str:
        """Take each line by itself: schedulers end no million jobs a second."""
        return "".join(map(self.convert_match, matches))

    def convert_match(self, match: LineFields) -> str:
        """Give the event of one line."""
        job, state, end, code, signal, when, message, name, number = match
        if job:
            ending = self._format_end_suffix(state, int(code), int(signal))
            stamp = ending and self.prefixes.format_prefix(end)
            return f"{stamp}{job}{ending}" if stamp else ""
        job = number or name
        stamp = self.prefixes.format_prefix(when) if job.isdigit() else ""
        return f"{stamp}{job}{self._suffixes[message]}" if stamp else ""

    def _format_end_suffix(self, state: str, code: int, signal: int) -> str:
        """Tell an end of jobcomp."""
        if state in REQUEUE_STATES:
            return ";1;0\n" if self._extended else ""
        if state not in END_STATES:
            return ""
        by_itself = state == "COMPLETED" or (state == "FAILED" and not signal)
        return f";8;{code}\n" if by_itself else f";4;{signal}\n"
