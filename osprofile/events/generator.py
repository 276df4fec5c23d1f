"""The scheduler event generator: from a scheduler's log, a line for each change of a job.

    001;TIMESTAMP;JOBID;STATE;EXIT_CODE

with the states of GRAM's protocol: PENDING 1, ACTIVE 2, FAILED 4, DONE 8, and with `--extended`
SUSPENDED 16. A drop-in for `globus-scheduler-event-generator`: see `osprofile.events.seg_command` for the
command line.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Final, Protocol, final

from osprofile.events import emit

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress

    from osprofile.events.output import Output
    from osprofile.events.sources.base import Source

INTERVAL: Final = 0.1
"""Seconds between two looks at a log that was read to its end."""
WORTH_SHOWING: Final = 16 * 1024 * 1024
"""So many bytes of a log must be unread for the display of progress."""


class Progressing(Protocol):
    """Shows how far a log is replayed."""

    def step(self, source: Source) -> None:
        """Take note that a block was read."""

    def end(self) -> None:
        """Take note that the log was read to its end."""


def generate(
    source: Source,
    output: Output,
    *,
    interval: float = INTERVAL,
    progress: Progressing | None = None,
    idle: Callable[[], None] = lambda: None,
) -> None:
    """Write the events of a source until the output says that it is time to end.

    `idle` is called whenever the source was read to its end. Raises `OSError` where the output
    cannot be written, and what a foreign source raises.
    """
    gc.disable()  # nothing here makes cycles, and a tenth of the time went into looking for them
    while True:
        text = source.read()
        data = emit.take().encode("utf-8", "surrogateescape") + (text or "").encode("latin-1")
        if data and not output.write(data):
            break
        if text is None:
            if progress:
                progress.end()
                progress = None
            idle()
            gc.collect()
        elif progress:
            progress.step(source)
        if not output.wait(interval if text is None else 0):
            break
    if progress:
        progress.end()


def progress_of(source: Source) -> Progressing | None:
    """Give a display for a terminal, where there is one and the log is worth it."""
    if not sys.stderr or not sys.stderr.isatty() or (sys.stdout and sys.stdout.isatty()):
        return None
    return Bar() if source.left() >= WORTH_SHOWING else None


@final
class Bar:
    """A bar on the standard error (rich)."""

    def __init__(self) -> None:
        self._shown: Progress | None = None
        self._total = 0
        self._next = 0.0

    def step(self, source: Source) -> None:
        """Show how much is read, ten times a second at most."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.1
        left = source.left()
        if self._shown is None:
            self._begin(left)
        elif self._total < left:
            self._total = left
        if self._shown:
            self._shown.update(
                self._shown.task_ids[0], total=self._total, completed=self._total - left
            )
            self._shown.refresh()

    def end(self) -> None:
        """Take the bar away."""
        if self._shown:
            self._shown.stop()

    def _begin(self, left: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("replaying"), BarColumn(), DownloadColumn(), Remaining())
        console = Console(stderr=True)
        self._shown = Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._total = left
        self._shown.add_task("replaying", total=left)
        self._shown.start()
