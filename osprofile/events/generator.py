"""The scheduler event generator: reads a scheduler's log and writes a line for each change of a job.

    001;TIMESTAMP;JOBID;STATE;EXIT_CODE

STATE is a number of GRAM's protocol: PENDING 1, ACTIVE 2, FAILED 4, DONE 8, and with `--extended`
SUSPENDED 16. A drop-in replacement for `globus-scheduler-event-generator`; the command line is in
`osprofile.events.seg_command`.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.events import emit

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress

    from osprofile.events.output import EventOutput
    from osprofile.events.sources.base import Source

POLL_INTERVAL: Final = 0.1
"""Seconds between two reads at the end of a log. Globus's program waits 2 s."""
PROGRESS_THRESHOLD: Final = 16 * 1024 * 1024
"""Unread bytes from which a progress bar is shown."""


def generate_events(
    source: Source,
    output: EventOutput,
    *,
    interval: float = POLL_INTERVAL,
    progress: ProgressBar | None = None,
    on_idle: Callable[[], None] = lambda: None,
) -> None:
    """Write the events of a source until the output reports the end.

    `on_idle` is called each time when the source was read to its end. Raises `OSError` if the
    output cannot be written, and what the source raises.
    """
    gc.disable()  # no reference cycles are created here; searching for them took a tenth of the time
    while True:
        text = source.read_events()
        data = emit.take_emitted_lines().encode("utf-8", "surrogateescape") + (text or "").encode("latin-1")
        if data and not output.write_lines(data):
            break
        if text is None:
            if progress:
                progress.close()
                progress = None
            on_idle()
            gc.collect()
        elif progress:
            progress.update(source)
        if not output.wait(interval if text is None else 0):
            break
    if progress:
        progress.close()


def open_progress_bar(source: Source) -> ProgressBar | None:
    """Return a bar if the log is large, standard error is a terminal and standard output is not."""
    if not sys.stderr or not sys.stderr.isatty() or (sys.stdout and sys.stdout.isatty()):
        return None
    return ProgressBar() if source.count_unread_bytes() >= PROGRESS_THRESHOLD else None


@final
class ProgressBar:
    """A progress bar on standard error, drawn by rich."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._total_bytes = 0
        self._next_update = 0.0

    def update(self, source: Source) -> None:
        """Show how much of the source was read; redraw at most ten times a second."""
        if time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + 0.1
        unread = source.count_unread_bytes()
        if self._progress is None:
            self._start_bar(unread)
        elif self._total_bytes < unread:
            self._total_bytes = unread
        if self._progress:
            self._progress.update(
                self._progress.task_ids[0], total=self._total_bytes, completed=self._total_bytes - unread
            )
            self._progress.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._progress:
            self._progress.stop()

    def _start_bar(self, unread: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("replaying"), BarColumn(), DownloadColumn(), Remaining())
        console = Console(stderr=True)
        self._progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._total_bytes = unread
        self._progress.add_task("replaying", total=unread)
        self._progress.start()
