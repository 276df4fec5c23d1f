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

from osprofile.events.clock import Stamps, Wall, numbers
from osprofile.events.sources.base import LogSource, SharedLines
from osprofile.events.tail import Chain, Starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Options, Source

ENDS: Final = frozenset(
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
AGAIN: Final = frozenset({"PENDING", "REQUEUED"})
TABLE: Final = {
    "_slurm_rpc_submit_batch_job: ": ";1;0\n",
    "sched: Allocate ": ";2;0\n",
    "sched/backfill: _start_job: Started ": ";2;0\n",
}
"""The beginnings of slurmctld's messages about a job."""
MORE: Final = {
    "Requeuing ": ";1;0\n",
    "sched: _hold_job_rec: hold on ": ";16;0\n",
    "sched: _release_job_rec: release hold on ": ";1;0\n",
    "_slurm_rpc_suspend(suspend) for ": ";16;0\n",
    "_slurm_rpc_suspend(resume) for ": ";2;0\n",
}
_TIME: Final = r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})"
_LINE: Final = (
    rf"\n(?:JobId=([0-9]++) [^\n]*? JobState=([A-Z_]++) Partition=[^ \n]*+ TimeLimit=[^ \n]*+ "
    rf"StartTime=[^ \n]*+ EndTime={_TIME} [^\n]* ExitCode=([0-9]{{1,9}}):([0-9]{{1,9}}) *+(?=\n)"
    rf"|\[{_TIME}(?:\.[0-9]++)?+\] (MESSAGES)(?:JobId=)?+([0-9_]++)(?:\(([0-9]++)\))?+"
    rf"(?=[ \n](?!Access|Invalid|Job )))"
)
_FIRST: Final = re.compile(rb"EndTime=(\S{19})|^\[(\S{19})", re.MULTILINE)

Found = tuple[str, str, str, str, str, str, str, str, str]
"""Of jobcomp: job, state, time, code, signal; of slurmctld: time, message, job, its own number."""


def open_source(options: Options) -> Source:
    """Open the logs; without a timestamp, from now on."""
    since = options.since_or_now
    logs = [Chain(path, 1, Starts(_older_wanted(since))) for path in options.all_paths()]
    return LogSource([(log, Lines(since, extended=options.extended)) for log in logs])


def minute(words: str) -> Wall | None:
    """Read YYYY-MM-DDTHH:MM."""
    return numbers(words, (0, 4), (5, 7), (8, 10), (11, 13), (14, 16))


def _older_wanted(since: int) -> Callable[[bytes, bytes], bool]:
    stamps = Stamps(minute, since)

    def wanted(this: bytes, _older: bytes) -> bool:
        found = _FIRST.search(this)
        return found is None or bool(stamps.slow((found[1] or found[2]).decode("latin-1")))

    return wanted


@final
class Lines(SharedLines):
    """Lines of either log."""

    def __init__(self, since: int, *, extended: bool) -> None:
        super().__init__(Stamps(minute, since))
        self._extended = extended
        self._table = {**TABLE, **MORE} if extended else TABLE
        messages = "|".join(map(re.escape, self._table))
        self.pattern = re.compile(_LINE.replace("MESSAGES", messages))

    def fast(self, found: list[Found]) -> str:
        """Take each line by itself: schedulers end no million jobs a second."""
        return "".join(map(self.slow, found))

    def slow(self, found: Found) -> str:
        """Give the event of one line."""
        job, state, end, code, signal, when, message, name, number = found
        if job:
            ending = self._end(state, int(code), int(signal))
            stamp = ending and self.stamps.slow(end)
            return f"{stamp}{job}{ending}" if stamp else ""
        job = number or name
        stamp = self.stamps.slow(when) if job.isdigit() else ""
        return f"{stamp}{job}{self._table[message]}" if stamp else ""

    def _end(self, state: str, code: int, signal: int) -> str:
        """Tell an end of jobcomp."""
        if state in AGAIN:
            return ";1;0\n" if self._extended else ""
        if state not in ENDS:
            return ""
        by_itself = state == "COMPLETED" or (state == "FAILED" and not signal)
        return f";8;{code}\n" if by_itself else f";4;{signal}\n"
