"""What `incarnate job wait` shows on a terminal meanwhile: a line for each job, on standard error."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from osprofile.cli.job.rows import Row, elapsed, end_of, printable, style_of
from osprofile.cli.terminal import colours

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from rich.live import Live
    from rich.table import Table

    from osprofile.cli.job.session import Job
    from osprofile.events.event import JobStatus

MOST: Final = 20
"""Lines at the most; the other jobs are counted in one more."""
_EVERY: Final = 0.25


@contextlib.asynccontextmanager
async def shown(jobs: Sequence[Job], ended: Mapping[Job, JobStatus]) -> AsyncIterator[None]:
    """Show jobs as long as the context lasts, if standard error is a terminal that can."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in {"dumb", "unknown"}:
        yield
        return
    from rich.console import Console
    from rich.live import Live

    coloured = colours(sys.stderr)
    console = Console(stderr=True, no_color=not coloured, color_system="auto" if coloured else None)
    begun = time.time()

    def lines() -> Table:
        most = max(1, min(MOST, console.height - 3))
        return _table(
            [(job, ended.get(job) or job.target.known(job.job_id)) for job in jobs], begun, most
        )

    with Live(
        get_renderable=lines, console=console, auto_refresh=False, redirect_stdout=False
    ) as live:
        refreshing = asyncio.ensure_future(_refresh(live))
        try:
            yield
        finally:
            refreshing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await refreshing


async def _refresh(live: Live) -> None:
    while True:
        live.refresh()
        await asyncio.sleep(_EVERY)


def _table(found: Sequence[tuple[Job, JobStatus | None]], begun: float, most: int) -> Table:
    """Give a line for each job; where there are too many, those first that have not ended."""
    from rich.table import Table
    from rich.text import Text

    if len(found) > most:
        found = sorted(found, key=lambda pair: pair[1] is not None and pair[1].state.is_terminal)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    for job, status in found[:most]:
        if status is None:
            table.add_row(Text(printable(job.job_id)), Text("..."))
            continue
        row = Row(job.target.name, status)
        since = status.started or status.submitted or begun
        hosts = printable(",".join(status.hosts[:3]))
        table.add_row(
            Text(printable(job.job_id)),
            Text(row.state, style_of(row)),
            end_of(status),
            elapsed(since, status.ended),
            Text(hosts),
        )
    if found[most:]:
        table.add_row(Text(_summary([status for _, status in found[most:]])))
    return table


def _summary(statuses: Sequence[JobStatus | None]) -> str:
    counts = Counter("..." if status is None else status.state.value for status in statuses)
    told = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    return f"and {len(statuses)} more: {told}"
