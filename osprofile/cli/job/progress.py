"""What is displayed on standard error while jobs are submitted or waited for, if it is a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job.rows import JobRow, choose_style, format_outcome, format_run_time, replace_controls
from osprofile.cli.terminal import supports_colours
from osprofile.errors import format_message
from osprofile.jobs.state import JobState
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
    from typing import TextIO

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from osprofile.jobs.client import JobReference
    from osprofile.jobs.state import JobStatus

MAX_LINES: Final = 20
"""Jobs with a line of their own; one more line counts the others."""
REFRESH_INTERVAL: Final = 0.25
"""Seconds."""
WILL_NOT_START: Final = "it will not start"
"""Words of a profile's reason which say that what the job waits for does not come by itself."""
REASON_INTERVAL: Final = 1.0
"""Seconds between two looks for new reasons."""


def is_capable_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal whose lines can be overwritten."""
    return stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


def make_console(stream: TextIO) -> Console:
    """Return rich's console for a terminal, with colours if it has them and the user wants them."""
    from rich.console import Console

    coloured = supports_colours(stream)
    return Console(file=stream, no_color=not coloured, color_system="auto" if coloured else None)


@contextlib.asynccontextmanager
async def show_progress(
    jobs: Sequence[JobReference], ended: Mapping[JobReference, JobStatus]
) -> AsyncIterator[None]:
    """Show jobs and their states inside the context; elsewhere than on a capable terminal, only why one will not start."""
    if not is_capable_terminal(sys.stderr):
        async with _run_meanwhile(_tell_lasting_reasons(jobs, ended)):
            yield
        return
    from rich.live import Live

    console = make_console(sys.stderr)
    wait_started = time.time()

    def build_table() -> Table:
        max_lines = max(1, min(MAX_LINES, console.height - 3))
        return _build_table(
            [(job, ended.get(job) or _get_reported_status(job)) for job in jobs],
            wait_started,
            max_lines,
        )

    with Live(get_renderable=build_table, console=console, auto_refresh=False, redirect_stdout=False) as live:
        async with _run_meanwhile(_refresh_display(live)):
            yield


@contextlib.asynccontextmanager
async def _run_meanwhile(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run a coroutine inside the context, and cancel it at the end."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.contextmanager
def show_bar(label: str, total: int, *, prints_ids: bool) -> Iterator[Callable[[float], None]]:
    """Show a bar of `total` jobs inside the context, if standard error is a capable terminal.

    Yields the function to call for each job, or a part of it. There is no bar if ids are printed to a terminal, where
    they are the progress.
    """
    if not is_capable_terminal(sys.stderr) or (prints_ids and sys.stdout.isatty()):
        yield lambda _share: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = make_console(sys.stderr)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)
        yield lambda share: bar.advance(task, share)


def _get_reported_status(job: JobReference) -> JobStatus | None:
    """Return the last status that the batch system has reported; None before the first one."""
    status = job.target.get_cached_status(job.job_id)
    is_reported = status is not None and (status.state is not JobState.UNKNOWN or status.native_state)
    return status if is_reported else None


async def _tell_lasting_reasons(
    jobs: Sequence[JobReference], ended: Mapping[JobReference, JobStatus]
) -> None:
    """Print each new reason for which a job will not start, by the words of its profile."""
    told: dict[JobReference, str] = {}
    while True:
        await asyncio.sleep(REASON_INTERVAL)
        for job in jobs:
            status = None if job in ended else _get_reported_status(job)
            if (
                status is not None
                and status.state in {JobState.QUEUED, JobState.HELD}
                and WILL_NOT_START in status.reason
                and told.get(job) != status.reason
            ):
                told[job] = status.reason
                message = f"incarnate: job {quote_name(job.job_id)} is {status.state}: {status.reason}"
                common.print_message(format_message(message, hint="incarnate job cancel removes it"))


async def _refresh_display(live: Live) -> None:
    while True:
        live.refresh()
        await asyncio.sleep(REFRESH_INTERVAL)


def _build_table(
    statuses: Sequence[tuple[JobReference, JobStatus | None]], wait_started: float, max_lines: int
) -> Table:
    """Return a table with a line for each job; if there are too many, live jobs come first."""
    from rich.table import Table
    from rich.text import Text

    if len(statuses) > max_lines:
        statuses = sorted(statuses, key=lambda pair: pair[1] is not None and pair[1].state.is_terminal)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    for job, status in statuses[:max_lines]:
        if status is None:
            table.add_row(Text(replace_controls(job.job_id)), Text("..."))
            continue
        row = JobRow(job.target.name, status)
        since = status.started or status.submitted or wait_started
        # The reason of an array is the number of its tasks in each state.
        details = replace_controls(",".join(status.hosts[:3]) or status.reason)
        table.add_row(
            Text(replace_controls(job.job_id)),
            Text(row.state, choose_style(row)),
            format_outcome(status),
            format_run_time(status, since),
            Text(details),
        )
    if statuses[max_lines:]:
        table.add_row(Text(summarize_rest([status for _, status in statuses[max_lines:]])))
    return table


def summarize_rest(statuses: Sequence[JobStatus | None]) -> str:
    """Return a line that counts the jobs that have no line of their own."""
    counts = Counter("..." if status is None else status.state.value for status in statuses)
    summary = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    return f"and {len(statuses)} more: {summary}"
