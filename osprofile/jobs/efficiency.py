"""What jobs used of what they asked for, and what is enough the next time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.jobs.fields import FIELDS
from osprofile.jobs.state import EndCause
from osprofile.late import NamedTuple
from osprofile.text import format_amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from osprofile.jobs.state import JobStatus

LONG_RUN: Final = 10.0
"""Seconds after which the share of the processors that a job has used says something."""
_MARGIN: Final = 1.25
"""The next job gets so much more than the largest use that was seen: input and nodes differ."""
_WORTH: Final = 0.75
"""Less is advised only if it is at most this part of what was asked for."""
_MEMORY_STEPS: Final = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""MiB that are advised; above, whole powers of two, and one step between them."""
_MINUTES: Final = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440)
"""Time limits that are advised; above, half days."""
_OPTIONS: Final = {
    row.name: row.flags[0] for row in FIELDS.values() if row.name in {"CPUS", "MEMORY", "WALLTIME"}
}


@final
class Run(NamedTuple):
    """A job, or a task of an array, that has ended: what it used, and what it had asked for."""

    status: JobStatus
    request: Mapping[str, str] | None = None
    """The fields as submitted; None if they are not recorded."""
    walltime: float | None = None
    """The limit of the run time in seconds."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.read_number("NODES") or len(self.status.hosts) or 1

    @property
    def processes(self) -> int:
        """The number of processes, on all nodes."""
        return self.read_number("PROCESSES") or 1

    @property
    def cpus(self) -> int | None:
        """The processors that it was given, else those that it asked for, at least one on each node."""
        if self.status.allocated_cpus or self.request is None:
            return self.status.allocated_cpus
        return max(self.nodes, self.processes * (self.read_number("CPUS") or 1))

    @property
    def memory(self) -> float | None:
        """The bytes on each node that it asked for, else those that it was given."""
        asked = self.read_number("MEMORY") << 20
        return asked or (self.status.allocated_memory or 0) / self.nodes or None

    def read_number(self, field: str) -> int:
        """Return the number in a field; 0 without one."""
        text = (self.request or {}).get(field, "")
        return int(text) if text.isascii() and text.isdecimal() else 0


@final
class Use(NamedTuple):
    """What was used, and what was asked for; None if it is not known."""

    used: float | None
    asked: float | None

    @property
    def share(self) -> float | None:
        """The part that was used."""
        return self.used / self.asked if self.used is not None and self.asked else None

    def encode(self) -> dict[str, float | None]:
        """Return it for JSON."""
        return {"used": self.used, "asked": self.asked, "share": self.share}


@final
class Efficiency(NamedTuple):
    """What runs used of what they asked for: on the average the processors, at most the memory and the time."""

    cpus: Use
    """Processors that were busy, of those of the job."""
    memory: Use
    """The largest memory in bytes, of that of a node."""
    time: Use
    """The longest run time in seconds, of the limit."""
    advice: Mapping[str, int]
    """Smaller values that are enough the next time, by field: MEMORY in MiB, WALLTIME in seconds."""

    @property
    def advised_options(self) -> str:
        """The options of `job submit` with these values, as `--memory 2G --walltime 45m`."""
        values = {field: format_amount(field, str(value)) for field, value in self.advice.items()}
        return " ".join(f"{_OPTIONS[field]} {value}" for field, value in values.items())

    def encode(self) -> dict[str, Any]:
        """Return it for JSON."""
        uses = {"cpus": self.cpus, "memory": self.memory, "time": self.time}
        return {
            **{name: use.encode() for name, use in uses.items()},
            "advice": dict(self.advice),
            "advised_options": self.advised_options or None,
        }


def measure_efficiency(runs: Sequence[Run]) -> Efficiency:
    """Return what runs of the same program used, oldest first; what they asked for is that of the last one."""
    last = runs[-1]
    memory = Use(_find_largest(run.status.max_memory for run in runs), last.memory)
    time = Use(_find_largest(run.status.elapsed for run in runs), last.walltime)
    uses = Efficiency(_measure_cpus(runs), memory, time, {})
    return uses._replace(advice=dict(_advise(runs, last, uses)))


def _find_largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _measure_cpus(runs: Sequence[Run]) -> Use:
    known = [run for run in runs if run.status.elapsed and run.status.cpu_time is not None]
    elapsed = sum(run.status.elapsed or 0.0 for run in known)
    if not known:
        return Use(None, runs[-1].cpus)
    used = sum(run.status.cpu_time or 0.0 for run in known) / elapsed
    if any(run.cpus is None for run in known):
        return Use(used, None)
    return Use(used, sum((run.cpus or 0) * (run.status.elapsed or 0.0) for run in known) / elapsed)


def _advise(runs: Sequence[Run], last: Run, uses: Efficiency) -> Iterable[tuple[str, int]]:
    """Yield what is enough the next time, by the runs that succeeded: others may have ended before they used most."""
    good = [run for run in runs if run.status.exit_code == 0]
    causes = {run.status.cause for run in runs}
    if not good:
        return
    cpus, asked = last.read_number("CPUS"), _find_largest(run.status.elapsed for run in good)
    busy = [_count_busy(run) for run in good]
    if cpus > 1 and (asked or 0.0) >= LONG_RUN and None not in busy:
        enough = math.ceil(max(filter(None, busy)) / last.processes)
        if enough <= cpus * _WORTH:
            yield "CPUS", enough
    needs = [_estimate_memory(run) for run in good]
    if uses.memory.asked and None not in needs and EndCause.MEMORY not in causes:
        mebibytes = _round_memory(max(filter(None, needs)) * _MARGIN)
        if mebibytes << 20 <= uses.memory.asked * _WORTH:
            yield "MEMORY", mebibytes
    times = [run.status.elapsed for run in good]
    if uses.time.asked and None not in times and EndCause.TIME not in causes:
        seconds = _round_time(max(time for time in times if time is not None) * _MARGIN)
        if seconds <= uses.time.asked * _WORTH:
            yield "WALLTIME", seconds


def _count_busy(run: Run) -> int | None:
    """Return how many processors a run kept busy on the average, rounded up."""
    elapsed, cpu_time = run.status.elapsed, run.status.cpu_time
    # a tenth is what rounded times, and a second process for a moment, add
    return None if not elapsed or cpu_time is None else max(1, math.ceil(cpu_time / elapsed - 0.1))


def _estimate_memory(run: Run) -> float | None:
    """Return the bytes that a run needed on a node, at most.

    Some batch systems tell the memory of all processes, others, and a job's own record, that of the largest one: as many
    processes of that size are counted as were asked for, or were busy. 0 is told of a job that ended before it was measured.
    """
    busy = _count_busy(run)
    if not run.status.max_memory or busy is None:
        return None
    return run.status.max_memory * math.ceil(max(run.processes, busy) / run.nodes)


def _round_memory(size: float) -> int:
    """Return MiB: at least `size` bytes."""
    mebibytes = size / (1 << 20)
    for step in _MEMORY_STEPS:
        if mebibytes <= step:
            return step
    power = 1 << math.ceil(math.log2(mebibytes))
    return power * 3 // 4 if mebibytes <= power * 3 // 4 and power > 2048 else power  # whole GiB


def _round_time(seconds: float) -> int:
    """Return seconds: at least `seconds`, as people write them."""
    minutes = seconds / 60
    return 60 * next((m for m in _MINUTES if minutes <= m), 720 * math.ceil(minutes / 720))
