"""What `incarnate job list --efficiency` does: prints what ended jobs used of what they asked for, by the record."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from osprofile.cli import common
from osprofile.cli.job import listing, rows
from osprofile.cli.job.session import CommandSession, ErrorReporter, brief
from osprofile.errors import JobNotFoundError
from osprofile.jobs.efficiency import Run, measure_efficiency
from osprofile.jobs.state import JobState
from osprofile.text import format_grid, format_size, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.cli.job.rows import JobRow
    from osprofile.jobs.efficiency import Efficiency, Use
    from osprofile.jobs.record.store import JobRecord

_PERIOD: Final = 7 * 86400.0
"""Seconds for which jobs are counted after their end."""
_UNKNOWN: Final = "unknown"
_USES: Final = ("CPUS", "MEMORY", "TIME", "NEXT TIME")


@brief
async def list_efficiency(
    selection: TargetSelection,
    words: Sequence[str],
    *,
    include_old: bool,
    tasks: bool,
    by_name: bool,
    selects: Callable[[JobRow], bool],
    json: bool,
) -> int:
    """Print a line for each job of the record that has run and ended, or for those of each name together."""
    failures = ErrorReporter()
    async with CommandSession(selection) as session:
        records = _find_records(session, words, failures, include_old=include_old)
        found = [session.build_row(record.target, record.status, record) for record in records]
        if tasks:
            found = [row for array in found for row in array.unfold()]
        listed = [
            (row, [*filter(_has_run, list_runs(row, _read_request(session, row)))])
            for row in found
            if selects(row)
        ]
    listed = [(row, runs) for row, runs in listed if runs]
    lines = _group_by_name(listed) if by_name else [_describe_job(row, runs) for row, runs in listed]
    if json:
        common.print_json([{**line, **efficiency.encode()} for line, efficiency in lines])
    else:
        titles = ("NAME", "PROFILE", "JOBS") if by_name else ("JOB", "NAME", "PROFILE", "EXIT")
        names = ("name", "target", "jobs") if by_name else ("id", "name", "target", "outcome")
        cells = [
            (*(rows.replace_controls(str(line[name] or "")) for name in names), *_format_uses(efficiency))
            for line, efficiency in lines
        ]
        common.print_result("\n".join(format_grid([(*titles, *_USES), *cells])))
    return failures.exit_code


def list_runs(row: JobRow, request: Mapping[str, str] | None) -> list[Run]:
    """Return the runs of a job: of an array, those of its tasks."""
    walltime = row.record.walltime if row.record is not None else None
    statuses = [task.status for task in row.tasks] or [row.status]
    return [Run(status, request, walltime) for status in statuses]


def _has_run(run: Run) -> bool:
    """Return whether a job has run, and has ended."""
    state = run.status.state
    return state.is_terminal and (state is not JobState.REMOVED or bool(run.status.elapsed))


def format_use(use: Use, write: Callable[[float], str]) -> str:
    """Return what was used of what was asked for, as `1.2 GiB of 16 GiB`."""
    used = _UNKNOWN if use.used is None else write(use.used)
    return used if use.asked is None else f"{used} of {write(use.asked)}"


def _find_records(
    session: CommandSession, words: Sequence[str], failures: ErrorReporter, *, include_old: bool
) -> list[JobRecord]:
    """Return the records of the jobs with these ids, keys or names; without words, of those of the last week."""
    if not words:
        targets = [name for name in session.store.list_targets() if session.is_selected(name)]
        return listing.list_records(session.store, targets, (), 0.0 if include_old else time.time() - _PERIOD)
    found: dict[int, JobRecord] = {}
    for word in session.expand_patterns(words):
        records = session.find_records(word)
        found |= {record.number: record for record in records}
        if not records:
            failures.report_error(JobNotFoundError(f"job {quote_name(word)} is not in the record"), "")
    return [found[number] for number in sorted(found)]


def _read_request(session: CommandSession, row: JobRow) -> Mapping[str, str] | None:
    return session.store.read_details(row.record.number).request if row.record is not None else None


def _describe_job(row: JobRow, runs: Sequence[Run]) -> tuple[dict[str, Any], Efficiency]:
    line = {
        "id": row.status.job_id,
        "name": _find_name(row),
        "target": row.target,
        "state": row.state,
        "outcome": rows.format_outcome(row.status) or None,
    }
    return line, measure_efficiency(runs)


def _group_by_name(
    found: Sequence[tuple[JobRow, Sequence[Run]]],
) -> list[tuple[dict[str, Any], Efficiency]]:
    groups: dict[tuple[str | None, str], list[Sequence[Run]]] = {}
    for row, runs in found:
        groups.setdefault((_find_name(row), row.target), []).append(runs)
    return [
        ({"name": name, "target": target, "jobs": len(jobs)}, measure_efficiency([*chain(*jobs)]))
        for (name, target), jobs in groups.items()
    ]


def _find_name(row: JobRow) -> str | None:
    return (row.record.name if row.record is not None else "") or None


def _format_uses(efficiency: Efficiency) -> tuple[str, ...]:
    share = efficiency.cpus.share
    cpus = format_use(efficiency.cpus, lambda number: f"{number:.3g}")
    if share is not None:
        cpus = f"{share:.0%} of {efficiency.cpus.asked:.3g}"
    return (
        cpus,
        format_use(efficiency.memory, format_size),
        format_use(efficiency.time, rows.format_seconds),
        efficiency.advised_options,
    )
