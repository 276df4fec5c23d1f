"""Counters and durations of this process, in Prometheus' text format. See docs/metrics.md.

Everything is counted in memory, whether somebody reads it or not. `export_metrics` writes the numbers to a
file, or serves them on a loopback port, while a daemon runs.
"""

from __future__ import annotations

import bisect
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import defaultdict
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, SettingError
from osprofile.files import atomic_write
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

log: Final = logging.getLogger("osprofile.metrics")
OPTION_HELP: Final = "write metrics for Prometheus to FILE.prom, or serve them at 127.0.0.1:PORT"
OPTION_METAVAR: Final = "FILE|127.0.0.1:PORT"
WRITE_INTERVAL: Final = 5.0
"""Seconds between two writes of a metrics file."""
SUMMARY_INTERVAL: Final = 3600.0
"""Seconds between two summaries in the log."""
_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper limits (s) of the classes in which durations are counted."""
_LABEL_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_ADDRESS: Final = compile_late(r"(127(?:\.[0-9]{1,3}){3}|localhost):([0-9]{1,5})")
_HELP: Final = {
    "osprofile_events_total": ("counter", "Events that were written."),
    "osprofile_job_states_total": ("counter", "Changes of watched jobs, by the new state."),
    "osprofile_last_event_timestamp_seconds": ("gauge", "When events were last written."),
    "osprofile_last_poll_timestamp_seconds": ("gauge", "When a query for all jobs last succeeded."),
    "osprofile_listed_jobs": ("gauge", "Jobs in the last answer of the batch system."),
    "osprofile_open_sessions": ("gauge", "Open connections to another host."),
    "osprofile_poll_duration_seconds": ("histogram", "Durations of queries for all jobs."),
    "osprofile_polls_total": ("counter", "Queries for all jobs, by result."),
    "osprofile_record_errors_total": ("counter", "Changes that could not be written to the record."),
    "osprofile_script_duration_seconds": ("histogram", "Durations of scripts, without the wait for a free slot."),
    "osprofile_scripts_total": ("counter", "Scripts that were run, by template and result."),
    "osprofile_start_timestamp_seconds": ("gauge", "When the process was started."),
    "osprofile_submission_duration_seconds": ("histogram", "Durations of submissions, with all their scripts."),
    "osprofile_submissions_total": ("counter", "Submissions, by result."),
    "osprofile_watched_jobs": ("gauge", "Jobs that have not ended and are watched."),
}  # fmt: skip
"""The type and the description of each metric."""

_Labels = tuple[tuple[str, str], ...]


class _Histogram:
    """Counts of durations by class; the last class has no upper limit."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts, self.total = [0] * (len(_BUCKETS) + 1), 0.0


@final
class Metrics:
    """The numbers of one process; may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: defaultdict[tuple[str, _Labels], float] = defaultdict(float)
        self._histograms: defaultdict[tuple[str, _Labels], _Histogram] = defaultdict(_Histogram)
        self._targets: weakref.WeakSet[TargetMetrics] = weakref.WeakSet()

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Add to a counter."""
        key = name, tuple(labels.items())
        with self._lock:
            self._values[key] += amount

    def set(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name, tuple(labels.items())] = value

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Count a duration."""
        key = name, tuple(labels.items())
        with self._lock:
            histogram = self._histograms[key]
            histogram.counts[bisect.bisect_left(_BUCKETS, seconds)] += 1
            histogram.total += seconds

    def watch_target(self, target: TargetMetrics) -> None:
        """Read the gauges of a target system from now on, as long as it exists."""
        with self._lock:
            self._targets.add(target)

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's values that have these labels."""
        return sum(
            value
            for (n, found), value in self._read_values().items()
            if n == name and labels.items() <= {*found}
        )

    def format(self) -> str:
        """Return all numbers in Prometheus' text format, version 0.0.4."""
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for (name, labels), value in sorted(self._read_values().items()):
            lines[name].append(_format_sample(name, labels, value))
        with self._lock:
            histograms = {key: (list(h.counts), h.total) for key, h in sorted(self._histograms.items())}
        for (name, labels), (counts, total) in histograms.items():
            seen = 0
            for limit, count in zip([*map(str, _BUCKETS), "+Inf"], counts, strict=True):
                seen += count
                lines[name].append(_format_sample(f"{name}_bucket", (*labels, ("le", limit)), seen))
            lines[name].append(_format_sample(f"{name}_sum", labels, total))
            lines[name].append(_format_sample(f"{name}_count", labels, seen))
        return "".join(
            f"# HELP {name} {_HELP[name][1]}\n# TYPE {name} {_HELP[name][0]}\n{''.join(lines[name])}"
            for name in sorted(lines)
        )

    def _read_values(self) -> dict[tuple[str, _Labels], float]:
        with self._lock:
            values = dict(self._values)
            targets = list(self._targets)
        for target in targets:
            for name, read in target.gauges.items():
                key = name, (("target", target.name),)
                values[key] = values.get(key, 0.0) + read()
        return values

    def summarize(self) -> str:
        """Return the most important numbers since the start, for a line of the log."""
        submissions, polls, scripts = (
            f"{self.sum(f'osprofile_{what}_total'):.0f} {what}"
            f" ({self.sum(f'osprofile_{what}_total') - self.sum(f'osprofile_{what}_total', result='ok'):.0f} failed)"
            for what in ("submissions", "polls", "scripts")
        )
        return f"{submissions}, {polls}, {scripts}, {self.sum('osprofile_watched_jobs'):.0f} jobs watched"


METRICS: Final = Metrics()
"""The numbers of this process."""


@final
class TargetMetrics:
    """The numbers of one target system, all with its name as the label `target`.

    `gauges` has functions that return a current number, by the name of the metric.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gauges: dict[str, Callable[[], float]] = {}
        METRICS.watch_target(self)

    def add(self, name: str, **labels: str) -> None:
        """Add 1 to a counter."""
        METRICS.add(name, 1.0, target=self.name, **labels)

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        METRICS.set(name, value, target=self.name)

    @contextlib.contextmanager
    def time(self, name: str, **labels: str) -> Iterator[None]:
        """Count the duration of what is done inside the context."""
        begin = time.monotonic()
        try:
            yield
        finally:
            METRICS.observe(name, time.monotonic() - begin, target=self.name, **labels)

    @contextlib.contextmanager
    def count_result(self, name: str, **labels: str) -> Iterator[None]:
        """Count what is done inside the context; the label `result` is ok, or the kind of the error."""
        result = "ok"
        try:
            yield
        except BaseException as error:
            result = _name_error(error)
            raise
        finally:
            self.add(name, **labels, result=result)


def _name_error(error: BaseException) -> str:
    """Return the kind of an error: its class, as in `ScriptTimeout`."""
    return (
        type(error).__name__.removesuffix("Error")
        if isinstance(error, OSProfileError | OSError)
        else "Cancelled"
    )


def _format_sample(name: str, labels: _Labels, value: float) -> str:
    pairs = ",".join(f'{label}="{text.translate(_LABEL_ESCAPES)}"' for label, text in labels)
    number = repr(value).removesuffix(".0")
    return f"{name}{{{pairs}}} {number}\n" if pairs else f"{name} {number}\n"


# Export


class Destination(NamedTuple):
    """Where the numbers go: a file, or a port of the loopback interface. Both empty: nowhere."""

    path: str = ""
    host: str = ""
    port: int = 0


def parse_destination(text: str) -> Destination:
    """Return the destination of a setting: NAME.prom, or 127.0.0.1:PORT; empty for none.

    In a path, {user} and {pid} stand for the name of the user and the number of this process. Raises
    `SettingError`.
    """
    if not text:
        return Destination()
    if (match := _ADDRESS.fullmatch(text)) and int(match[2]) < 65536:
        return Destination(host=match[1], port=int(match[2]))
    if not text.endswith(".prom"):
        message = f"metrics: {quote_value(text)} is neither a file NAME.prom nor 127.0.0.1:PORT"
        raise SettingError(
            message, hint="node_exporter reads only files of that name; other hosts may not connect"
        )
    import getpass

    path = text.replace("{pid}", str(os.getpid())).replace("{user}", getpass.getuser().replace("/", "_"))
    return Destination(path=os.path.abspath(path))


@contextlib.contextmanager
def export_metrics(destination: Destination) -> Iterator[None]:
    """Write or serve the numbers while the body runs, and log a summary each hour and at the end.

    A file is deleted at the end: one that is old is that of a process that was killed. What cannot be
    written or served is logged once; the body runs nevertheless.
    """
    METRICS.set("osprofile_start_timestamp_seconds", time.time())
    stopping = threading.Event()
    with contextlib.ExitStack() as stack:
        if destination.host:
            _serve_numbers(destination, stack)
        threading.Thread(target=_report, args=(destination.path, stopping), daemon=True).start()
        stack.callback(_end_report, destination.path, stopping)
        yield


_writing: Final = threading.Lock()


def _report(path: str, stopping: threading.Event) -> None:
    """Write the file and log summaries until the end."""
    is_reported, last_summary, next_summary = False, "", time.monotonic() + SUMMARY_INTERVAL
    while True:
        if path:
            try:
                with _writing:
                    if not stopping.is_set():
                        atomic_write(path, METRICS.format().encode("utf-8", "backslashreplace"))
                        os.chmod(path, 0o644)  # another user reads it
                is_reported = False
            except OSError as error:
                if not is_reported:
                    log.warning("metrics are not written: %s: %s", error.filename or path, error.strerror)
                is_reported = True
        if stopping.wait(WRITE_INTERVAL if path else max(next_summary - time.monotonic(), 0.0)):
            return
        if time.monotonic() >= next_summary:
            next_summary = time.monotonic() + SUMMARY_INTERVAL
            if (summary := METRICS.summarize()) != last_summary:
                log.info("so far: %s", summary)
                last_summary = summary


def _end_report(path: str, stopping: threading.Event) -> None:
    stopping.set()
    if METRICS.sum("osprofile_scripts_total"):
        log.info("in all: %s", METRICS.summarize())
    if path:
        with _writing, contextlib.suppress(OSError):
            os.unlink(path)


def _serve_numbers(destination: Destination, stack: contextlib.ExitStack) -> None:
    """Serve the numbers by HTTP until the stack is closed."""
    import asyncio

    from osprofile.http_server import LoopbackServer, Request, check_host, check_method, encode_response

    def check(request: Request) -> None:
        check_host(
            request, *(f"{name}:{server.port}" for name in (destination.host, "localhost", "127.0.0.1"))
        )
        check_method(request, {"/metrics": "GET", "/": "GET"})

    def answer(_request: Request, _body: bytes) -> bytes:
        return encode_response(
            200, "text/plain; version=0.0.4", METRICS.format().encode("utf-8", "backslashreplace")
        )

    try:
        server = LoopbackServer(destination.host, destination.port, check, answer)
    except OSError as error:
        log.warning("metrics are not served at %s:%d: %s", destination.host, destination.port, error.strerror)
        return
    log.info("metrics are served at http://%s:%d/metrics", destination.host, server.port)
    is_ready = threading.Event()
    threading.Thread(target=lambda: asyncio.run(server.run(is_ready.set)), daemon=True).start()
    is_ready.wait()
    stack.callback(server.stop)
