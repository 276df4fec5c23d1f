"""Slurm: its record of ended jobs (jobcomp/filetxt), and slurmctld's log for the other events.

Formats: docs/protocols/seg.md, 3.5. Give `--log-path` for each of the two files, or `log_path` with a
comma between them; lines are recognized by their form. Times are local, `YYYY-MM-DDTHH:MM:SS`;
slurmctld adds milliseconds.

jobcomp, `JobId=N ... JobState=S ... EndTime=T ... ExitCode=CODE:SIGNAL`:

    COMPLETED                            done, CODE
    FAILED, without a signal             done, CODE
    FAILED, without ExitCode (old Slurm) failed, 0
    any other state of an end            failed, SIGNAL: CANCELLED, TIMEOUT, NODE_FAIL,
                                         OUT_OF_MEMORY, PREEMPTED, BOOT_FAIL, DEADLINE, FAILED

slurmctld:

    _slurm_rpc_submit_batch_job: JobId=N                         pending
    sched: _slurm_rpc_allocate_resources JobId=N NodeList=...    active; pending if it is (null)
    sched: Allocate JobId=N, sched/backfill: ... Started JobId=N active

With `--extended` also:

    Requeuing JobId=N; in jobcomp the states PENDING, REQUEUED   pending
    hold on JobId=N, _slurm_rpc_suspend(suspend) for N           suspended
    release hold on JobId=N                                      pending
    _slurm_rpc_suspend(resume) for N                             active

slurmctld writes the id of a member of a job array as A_I(N); it is reported as N, as in
jobcomp. So is a part of a heterogeneous job, I+P(N).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.emit import DONE, FAILED, format_event_suffix
from osprofile.events.sources.base import (
    ACTIVE_SUFFIX,
    PENDING_SUFFIX,
    SUSPENDED_SUFFIX,
    LogSource,
    StatelessLineParser,
    make_older_file_test,
)
from osprofile.events.tail import RotatedLog, StartPolicy
from osprofile.events.timestamps import LocalTimePrefixes, parse_iso_minute

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions

END_STATES: Final = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
    "TIMEOUT",
})  # fmt: skip
REQUEUE_STATES: Final = frozenset({"PENDING", "REQUEUED"})
EVENT_SUFFIXES: Final = {
    "_slurm_rpc_submit_batch_job: ": PENDING_SUFFIX,
    "sched: Allocate ": ACTIVE_SUFFIX,
    "sched: _slurm_rpc_allocate_resources ": ACTIVE_SUFFIX,
    "sched/backfill: _start_job: Started ": ACTIVE_SUFFIX,
}
"""The beginnings of slurmctld's messages about a job."""
EXTENDED_SUFFIXES: Final = {
    "Requeuing ": PENDING_SUFFIX,
    "sched: _hold_job_rec: hold on ": SUSPENDED_SUFFIX,
    "sched: _release_job_rec: release hold on ": PENDING_SUFFIX,
    "_slurm_rpc_suspend(suspend) for ": SUSPENDED_SUFFIX,
    "_slurm_rpc_suspend(resume) for ": ACTIVE_SUFFIX,
}
_TIME_PATTERN: Final = r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})"
_LINE_TEMPLATE: Final = (
    rf"\n(?:JobId=([0-9]++) [^\n]*? JobState=([A-Z_]++) Partition=[^ \n]*+ TimeLimit=[^ \n]*+ "
    rf"StartTime=[^ \n]*+ EndTime={_TIME_PATTERN} (?>[^\n]* ExitCode=([0-9]{{1,9}}):([0-9]{{1,9}}) *+(?=\n)|)"
    rf"|\[{_TIME_PATTERN}(?>\.[0-9]++|)\] (MESSAGES)(?>JobId=|)([0-9_+]++)(?>\(([0-9]++)\)|)"
    rf"(?=[ \n](?!Access|Invalid|Job ))(?>( NodeList=\(null\))|))"
)
_FIRST_TIME: Final = re.compile(rb"EndTime=(\S{19})|^\[(\S{19})", re.MULTILINE)

LineFields = tuple[str, str, str, str, str, str, str, str, str, str]
"""jobcomp: job, state, end time, code, signal; slurmctld: time, message, job as written, N of A_I(N), no nodes."""


def open_source(options: SourceOptions) -> Source:
    """Open the logs; without a timestamp, read from now on."""
    since = options.since_or_now
    logs = [RotatedLog(path, 1, _make_start_policy(since)) for path in options.list_log_paths()]
    return LogSource([(log, LineParser(since, extended=options.extended)) for log in logs])


def _make_start_policy(since: int) -> StartPolicy:
    prefixes = LocalTimePrefixes(parse_iso_minute, since)
    return StartPolicy(make_older_file_test(_FIRST_TIME, lambda text: bool(prefixes.format_prefix(text))))


@final
class LineParser(StatelessLineParser):
    """Parses lines of both files. There is no fast path: clusters do not end a million jobs a second."""

    def __init__(self, since: int, *, extended: bool) -> None:
        super().__init__(LocalTimePrefixes(parse_iso_minute, since))
        self._extended = extended
        self._suffixes = {**EVENT_SUFFIXES, **EXTENDED_SUFFIXES} if extended else EVENT_SUFFIXES
        messages = "|".join(map(re.escape, self._suffixes))
        self.pattern = re.compile(_LINE_TEMPLATE.replace("MESSAGES", messages))

    def convert_match(self, match: LineFields) -> str:
        """Return the event of one line."""
        job, state, end_time, code, signal, when, message, job_text, member_id, no_nodes = match
        if job:
            suffix = self._format_end_suffix(state, code, signal)
            prefix = suffix and self.prefixes.format_prefix(end_time)
            return f"{prefix}{job}{suffix}" if prefix else ""
        job = member_id or job_text
        prefix = self.prefixes.format_prefix(when) if job.isdigit() else ""
        return f"{prefix}{job}{PENDING_SUFFIX if no_nodes else self._suffixes[message]}" if prefix else ""

    def _format_end_suffix(self, state: str, code: str, signal: str) -> str:
        """Return the suffix for a line of jobcomp; "" if it is not an event."""
        if state in REQUEUE_STATES:
            return PENDING_SUFFIX if self._extended else ""
        if state not in END_STATES:
            return ""
        has_exited = state == "COMPLETED" or (state == "FAILED" and bool(code) and int(signal) == 0)
        if has_exited:
            return format_event_suffix(DONE, int(code or 0))
        return format_event_suffix(FAILED, int(signal or 0))
