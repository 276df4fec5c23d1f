"""What `incarnate job list --watch` does: a table that follows the states of jobs, or a line for each change.

The states come from the events of the target systems, which query their jobs anyway: the view asks for
nothing itself. On a terminal, it has a screen of its own, which is gone at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
import termios
import time
import tty
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, final

from osprofile.cli import common
from osprofile.cli.job import rows
from osprofile.cli.job.progress import REASON_INTERVAL, format_live_table, is_capable_terminal, show_live
from osprofile.cli.job.rows import JobRow, replace_controls
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable, find_jobs
from osprofile.cli.terminal import apply_style
from osprofile.errors import OSProfileError
from osprofile.jobs.client import JobReference
from osprofile.jobs.diagnosis import explain_failure
from osprofile.jobs.state import JobState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem
    from osprofile.jobs.watch.events import EventStream

FOLD_DELAY: Final = 10.0
"""Seconds after which an ended job is only counted."""
_RECORD_INTERVAL: Final = 5.0
"""Seconds between two looks into the record for jobs that others have submitted."""
_MAX_OUTCOMES: Final = 6
"""Lines that count ended jobs; the rarest outcomes are counted together."""
_TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"


@cancellable
async def watch_jobs(selection: TargetSelection, job_ids: Sequence[str]) -> int:
    """Show the states of jobs, by default of all recorded live ones, until they have ended or q is pressed."""
    failures = ErrorReporter()
    is_live = is_capable_terminal(sys.stdout)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    async with CommandSession(selection) as session:
        view = _JobView(session, prints_lines=not is_live)
        for job in find_jobs(session, job_ids, failures) if job_ids else ():
            await view.watch(job, failures)
        if not job_ids:
            await view.watch_recorded_jobs(failures)
        if not view.statuses:
            if not job_ids:
                common.print_message("incarnate: no job to watch: all recorded jobs have ended")
            return failures.exit_code
        work: list[Awaitable[object]] = [stop.wait(), view.wait_for_all()]
        if not job_ids:
            work.append(_look_for_jobs(view, failures))
        if not is_live:
            work.append(view.print_new_reasons())
        async with _show_table(view, stop) if is_live else contextlib.nullcontext():
            await _await_first(work, view.readers)
        if is_live:
            rows.print_rows(view.list_rows(), json=False)
    return failures.exit_code


async def _await_first(work: Sequence[Awaitable[object]], readers: Sequence[asyncio.Task[None]]) -> None:
    """Wait until the first of several awaitables is done, and cancel the others; raise its error."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in work]
    try:
        await asyncio.wait([*tasks, *readers], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in [*tasks, *readers]:
            task.cancel()
        results = await asyncio.gather(*tasks, *readers, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _look_for_jobs(view: _JobView, failures: ErrorReporter) -> None:
    while True:
        await asyncio.sleep(_RECORD_INTERVAL)
        await view.watch_recorded_jobs(failures)


@final
class _JobView:
    """The last known statuses of the watched jobs; with `prints_lines`, each change is printed."""

    def __init__(self, session: CommandSession, *, prints_lines: bool) -> None:
        self._session, self._prints_lines = session, prints_lines
        self.statuses: dict[JobReference, JobStatus] = {}
        """By job; the id is that which the events have."""
        self.readers: list[asyncio.Task[None]] = []
        """The tasks that read the events of the target systems."""
        self._records: dict[JobReference, JobRecord | None] = {}
        self._folded_at: dict[JobReference, float] = {}
        self._printed_reasons: defaultdict[JobReference, set[str]] = defaultdict(set)
        self._streams: dict[str, EventStream] = {}
        self._all_ended = asyncio.Event()
        self._live_count = 0

    async def watch_recorded_jobs(self, failures: ErrorReporter) -> None:
        """Watch the live jobs of the record that are not watched yet."""
        store = self._session.store
        for record in store.list_live_jobs():
            try:
                if self._session.is_selected(record.target):
                    target = self._session.open_recorded_target(record.target)
                    await self.watch(JobReference(record.status.job_id, target), failures)
            except OSProfileError as error:
                failures.report_error(error, record.target)

    async def watch(self, job: JobReference, failures: ErrorReporter) -> None:
        """Watch a job from now on, unless it is watched."""
        if job in self.statuses:
            return
        try:
            self._read_events(job.target)
            status = await job.target.watch(job.job_id)
        except OSProfileError as error:
            failures.report_job_error(job, error)
            return
        job = JobReference(status.job_id, job.target)
        if job in self.statuses:
            return
        self._records[job] = job.record
        self._live_count += 1
        self._all_ended.clear()
        self._update(job, status, time.time())

    def _read_events(self, target: TargetSystem) -> None:
        if target.name not in self._streams:
            stream = self._streams[target.name] = target.events()
            self.readers.append(asyncio.ensure_future(self._follow_events(target, stream)))

    async def _follow_events(self, target: TargetSystem, stream: EventStream) -> None:
        async for event in stream:
            job = JobReference(event.job_id, target)
            if job in self.statuses and not self.statuses[job].state.is_terminal:
                self._update(job, event.status, event.timestamp)

    def _update(self, job: JobReference, status: JobStatus, moment: float) -> None:
        self.statuses[job] = status
        if status.state.is_terminal:
            self._live_count -= 1
            self._folded_at[job] = time.monotonic() + FOLD_DELAY
        if self._prints_lines and (status.state is not JobState.UNKNOWN or status.native_state):
            self._print_line(job, status, moment)
        if not self._live_count:
            self._all_ended.set()

    def _print_line(self, job: JobReference, status: JobStatus, moment: float) -> None:
        self._printed_reasons[job].add(status.reason)
        outcome, reason = rows.format_outcome(status), replace_controls(self._build_row(job).reason)
        if status.has_failed and (cause := explain_failure(status, target=job.target.name)):
            reason = f"{reason}; likely cause: {cause}" if reason else f"likely cause: {cause}"
        words = [time.strftime(_TIME_FORMAT, time.localtime(moment)), replace_controls(job.job_id)]
        common.print_result(" ".join(filter(None, [*words, status.state.value, outcome, reason])))

    async def print_new_reasons(self) -> None:
        """Print why jobs wait, each reason of a job once: a reason alone is no event."""
        while True:
            for job, old in self.statuses.items():
                status = None if old.state.is_terminal else job.target.get_cached_status(job.job_id)
                record = self._records[job]
                if (
                    status is not None
                    and status.state is old.state
                    and status.state in {JobState.QUEUED, JobState.HELD}
                    and status.reason not in {"", *self._printed_reasons[job]}
                    and not (record is not None and record.array)  # the numbers of its tasks
                ):
                    self.statuses[job] = status
                    self._print_line(job, status, time.time())
            await asyncio.sleep(REASON_INTERVAL)

    async def wait_for_all(self) -> None:
        """Wait until all jobs have ended."""
        await self._all_ended.wait()

    def _build_row(self, job: JobReference) -> JobRow:
        status, record = self.statuses[job], self._records[job]
        if record is not None and record.array and not status.state.is_terminal:
            status = job.target.get_cached_status(job.job_id) or status  # with the numbers of its tasks
        return JobRow(job.target.name, status, record)

    def list_rows(self) -> list[JobRow]:
        """Return the rows of all jobs."""
        return [self._build_row(job) for job in self.statuses]

    def build_lines(self, height: int, width: int, message: str) -> list[str]:
        """Return at most `height` lines of `width` columns: jobs, counts of ended ones, the last message, what q does."""
        now = time.monotonic()
        shown = [job for job in self.statuses if self._folded_at.get(job, now) >= now]
        folded = [status for job, status in self.statuses.items() if self._folded_at.get(job, now) < now]
        last = [*_count_outcomes(folded), *([apply_style("yellow", message)] if message else [])]
        last.append(apply_style("place", "q ends this view; the jobs continue"))
        max_jobs = max(1, height - len(last) - 1)
        if len(shown) > max_jobs:
            max_jobs = max(1, max_jobs - 1)
        return [*format_live_table([self._build_row(job) for job in shown], max_jobs, width), *last]


def _count_outcomes(statuses: Sequence[JobStatus]) -> list[str]:
    """Return lines such as `12 DONE 0`, the most frequent outcome first."""
    counts = Counter(f"{status.state} {rows.format_outcome(status)}".rstrip() for status in statuses)
    lines = [f"{number} {outcome}" for outcome, number in counts.most_common(_MAX_OUTCOMES)]
    rest = sum(number for _, number in counts.most_common()[_MAX_OUTCOMES:])
    return [*lines, f"{rest} with another end"] if rest else lines


# The terminal


@contextlib.asynccontextmanager
async def _show_table(view: _JobView, stop: asyncio.Event) -> AsyncIterator[None]:
    """Show the table on a screen of its own inside the context; the key q sets `stop`."""
    messages = _MessageCollector()

    def build_lines(height: int, width: int) -> list[str]:
        return view.build_lines(height, width, messages.last_line)

    with messages.collect(), _read_keys(stop.set):
        async with show_live(sys.stdout, build_lines, on_own_screen=True):
            yield


@final
class _MessageCollector(io.StringIO):
    """Keeps what is written to standard error while the screen is in use, and writes it afterwards."""

    @property
    def last_line(self) -> str:
        """The last line that does not continue another one, without control characters."""
        lines = [line for line in self.getvalue().splitlines() if line and not line.startswith(" ")]
        return replace_controls(lines[-1]) if lines else ""

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Collect inside the context."""
        stream, sys.stderr = sys.stderr, self
        try:
            yield
        finally:
            sys.stderr = stream
            sys.stderr.write(self.getvalue())


@contextlib.contextmanager
def _read_keys(on_quit: Callable[[], object]) -> Iterator[None]:
    """Read keys without echo inside the context, if standard input is a terminal; `on_quit` is called for q."""
    if not sys.stdin.isatty():
        yield
        return
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    saved = termios.tcgetattr(descriptor)

    def read_key() -> None:
        keys = b""
        with contextlib.suppress(OSError):  # the terminal is gone
            keys = os.read(descriptor, 1024)
        if not keys:
            loop.remove_reader(descriptor)
        if not keys or b"q" in keys or b"Q" in keys:
            on_quit()

    def set_mode() -> None:
        tty.setcbreak(descriptor, termios.TCSANOW)

    set_mode()
    loop.add_reader(descriptor, read_key)
    # A shell changes the mode while this process is stopped.
    loop.add_signal_handler(signal.SIGCONT, set_mode)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        loop.remove_reader(descriptor)
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, saved)
