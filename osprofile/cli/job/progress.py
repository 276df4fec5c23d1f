"""What changes on a terminal: the table of `--watch` and of what is waited for, and the bar of a submission."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from osprofile.cli import common
from osprofile.cli.job.rows import NOT_TOLD, JobRow, format_table
from osprofile.cli.terminal import apply_style, supports_colours
from osprofile.errors import format_message
from osprofile.jobs.state import JobState, JobStatus
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
    from typing import TextIO

    from rich.console import Console

    from osprofile.jobs.client import JobReference

MAX_LINES: Final = 20
"""Jobs with a line of their own; one more line counts the others."""
REFRESH_INTERVAL: Final = 0.25
"""Seconds."""
_MAX_SHARE: Final = 0.05
"""The share of the time that drawing takes at most: a table of 10,000 jobs is drawn less often."""
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
async def show_live(
    stream: TextIO, build_lines: Callable[[int, int], Sequence[str]], *, on_own_screen: bool = False
) -> AsyncIterator[None]:
    """Show lines on a terminal inside the context, as they are for its height and width; draw them when they have changed."""
    from rich.live import Live
    from rich.text import Text

    console = make_console(stream)

    def build_text() -> Text:
        lines = build_lines(console.height, console.width)
        return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")

    async def refresh() -> None:
        drawn: object = None
        while True:
            begun = time.monotonic()
            if (now := (console.size, build_text())) != drawn:
                drawn = now
                live.refresh()
            await asyncio.sleep(max(REFRESH_INTERVAL, (time.monotonic() - begun) / _MAX_SHARE))

    with Live(
        get_renderable=build_text, console=console, auto_refresh=False, screen=on_own_screen,
        redirect_stdout=False, redirect_stderr=not on_own_screen,
    ) as live:  # fmt: skip
        async with _run_meanwhile(refresh()):
            yield


def format_live_table(job_rows: Sequence[JobRow], max_jobs: int, width: int) -> list[str]:
    """Return the lines of a table; if there are too many jobs, live ones come first, and the last line counts the rest."""
    if len(job_rows) > max_jobs:
        job_rows = sorted(
            job_rows, key=lambda row: (row.status.state.is_terminal, row.status.state is not JobState.RUNNING)
        )
    shown, rest = job_rows[:max_jobs], job_rows[max_jobs:]
    lines = format_table(shown, columns=width, coloured=True, cuts=True).splitlines()
    lines[0] = apply_style("title", lines[0])
    if rest:
        counts = Counter(row.state for row in rest).most_common()
        lines.append(f"and {len(rest)} more: {', '.join(f'{number} {state}' for state, number in counts)}")
    return lines


@contextlib.asynccontextmanager
async def show_progress(
    jobs: Sequence[JobReference], ended: Mapping[JobReference, JobStatus]
) -> AsyncIterator[None]:
    """Show jobs and their states inside the context; elsewhere than on a capable terminal, only why one will not start."""
    if not is_capable_terminal(sys.stderr):
        async with _run_meanwhile(_tell_lasting_reasons(jobs, ended)):
            yield
        return
    records = {job: job.record for job in jobs}
    wait_started = time.time()

    def build_row(job: JobReference) -> JobRow:
        status = ended.get(job) or _get_reported_status(job)
        if status is None:
            unknown = JobStatus(job.job_id, JobState.UNKNOWN)
            return JobRow(job.target.name, unknown, records[job], NOT_TOLD)
        since = status.started or status.submitted or wait_started
        return JobRow(job.target.name, status._replace(started=since), records[job])

    def build_lines(height: int, width: int) -> list[str]:
        max_jobs = max(1, min(MAX_LINES, height - 3))
        return format_live_table([build_row(job) for job in jobs], max_jobs, width)

    async with show_live(sys.stderr, build_lines):
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
    status = job.target.get_cached_status(job.target.list_attempts(job.job_id)[-1])
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
                message = f"incarnate: job {quote_name(status.job_id)} is {status.state}: {status.reason}"
                common.print_message(format_message(message, hint="incarnate job cancel removes it"))
