"""What tells of jobs sooner than a query: the scheduler's log, by a generator of events, and the files that ended jobs leave.

The log is that of a profile with the template EVENTS. Its text is a command that prints events as `osprofile-seg` does;
`-t TIMESTAMP` is appended to it. The variation SSH is for another host. The optional fixed field EVENT_ID_PATTERN is a
Java regular expression: ids of the log that it does not match are ignored, and its group id is the job's id.

    command = ["sudo", "-u", "pbs", "osprofile-seg", "-s", "pbs"]
    await EventListener(command, monitor.feed_event, checkpoint_path=path).run()

The checkpoint is the timestamp from which events are needed after a restart; it is kept in a file.
A generator that is started again reads the events of a second once more; those that were passed on are
left out. After a restart of this process they come twice. See docs/protocols/seg.md, 2.

END_FILES of GET_JOB_STATUS names the files that a job's end writes in its working directory. This is only a
reason to query sooner: where nothing is noticed, as on a network file system, polls find the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import re
import struct
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, Self, final

from osprofile.events import emit
from osprofile.events.tail import open_regular_file
from osprofile.files import atomic_write
from osprofile.jobs.record.names import format_target_name
from osprofile.jobs.shell.output import get_output_pattern
from osprofile.jobs.shell.process import start_subprocess
from osprofile.jobs.shell.scripts import find_shell_variation, get_template_command
from osprofile.jobs.state import JobEvent, JobState, JobStatus
from osprofile.late import compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.watch.tracker import EarlyEvents
    from osprofile.profile.model import Profile


log: Final = logging.getLogger("osprofile.events")

JOB_STATE_BY_GRAM_STATE: Final = {
    emit.PENDING: JobState.QUEUED,
    emit.ACTIVE: JobState.RUNNING,
    emit.FAILED: JobState.FAILED,
    emit.DONE: JobState.DONE,
    emit.SUSPENDED: JobState.HELD,
    emit.UNSUBMITTED: JobState.QUEUED,
}
"""The job states of the numbers in GRAM's protocol."""
MAX_CLOCK_SKEW: Final = 60.0
"""Seconds by which an event may be later than this machine's time, as the clock of another machine may be ahead."""
MAX_LINE_LENGTH: Final = 64 * 1024
"""Bytes; a longer line is ignored."""
_RESTART_BACKOFF: Final = (0.1, 30.0)
"""Seconds until a generator that has ended is started again: first and maximum."""
_BACKOFF_RESET_TIME: Final = 60.0
"""Seconds of running after which the delay starts again from the first one."""
_STARTUP_TIME: Final = 5.0
"""Seconds after which a generator that still runs is assumed to have found its log."""
_CHECKPOINT_INTERVAL: Final = 1.0
"""Seconds between two writes of the checkpoint."""
_SHUTDOWN_GRACE: Final = 2.0
"""Seconds that a generator has to end after its standard input was closed."""
_SIGNAL_CODE: Final = 256  # the logs of PBS add it to the number of a signal
_MAX_SIGNAL: Final = 64  # SIGRTMAX of Linux
_EVENT_LINE: Final = compile_late(rb"001;([0-9]{1,12});([^;\n]+);([0-9]+);(-?[0-9]{1,10})\n\Z")
EVENTS_TEMPLATE: Final = "EVENTS"
EVENT_ID_FIELD: Final = "EVENT_ID_PATTERN"
_EXPIRY_INTERVAL: Final = 60.0
"""Seconds between two removals of old early events."""
_WRITTEN: Final = 0x8  # IN_CLOSE_WRITE
_MOVED_TO: Final = 0x80  # IN_MOVED_TO: a file that is written by rename
_QUEUE_OVERFLOW: Final = 0x4000  # IN_Q_OVERFLOW: events are lost, perhaps of an end
_ONLY_DIRECTORY: Final = 0x01000000  # IN_ONLYDIR
_EVENT: Final = struct.Struct("iIII")
"""Watch, mask, cookie and the size of the name that follows, see inotify(7)."""
_READ_SIZE: Final = 64 * 1024


def parse_event(line: bytes) -> JobEvent | None:
    """Return the event of a line `001;TIMESTAMP;JOBID;STATE;EXIT_CODE`; None for any other line.

    Only a DONE job has an `exit_code`, 0 to 255. With any other code it has FAILED: 256 + n is signal n, as in
    PBS's logs. `native_state` is the number of the state; the code follows if the state is terminal (`8/271`).
    Bytes of the id that are not UTF-8 are surrogates.
    """
    match = _EVENT_LINE.match(line)
    state = JOB_STATE_BY_GRAM_STATE.get(int(match[3])) if match else None
    if match is None or state is None:
        return None
    job_id, code = os.fsdecode(match[2]), int(match[4])
    native_state = f"{int(match[3])}/{code}" if state.is_terminal else str(int(match[3]))
    timestamp = float(match[1])
    status = JobStatus(job_id, state, native_state)
    if state is JobState.DONE and 0 <= code <= 255:
        status = status._replace(exit_code=code)
    elif state is JobState.DONE:
        signal = code - _SIGNAL_CODE if 0 < code - _SIGNAL_CODE <= _MAX_SIGNAL else None
        status = status._replace(state=JobState.FAILED, signal=signal)
    if state.is_terminal:
        status = status._replace(ended=timestamp, end_reported=True)
    return JobEvent(timestamp, status, code)


@final
class EventListener:
    """Calls `on_event` with the events of a generator, while `run` runs.

    `-t TIMESTAMP` is appended to `command`. `checkpoint_path` is the file of the checkpoint (None: it is
    not kept); without a checkpoint, events are read from `first_timestamp` on (default: now).
    `get_oldest_early_timestamp()` returns the timestamp of the monitor's oldest early event, if any.
    """

    def __init__(
        self,
        command: Sequence[str],
        on_event: Callable[[JobEvent], object],
        *,
        checkpoint_path: str | None = None,
        first_timestamp: float | None = None,
        get_oldest_early_timestamp: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._command, self._on_event = list(command), on_event
        self._checkpoint_path, self._get_oldest_early_timestamp = checkpoint_path, get_oldest_early_timestamp
        self._latest_timestamp = self._load_checkpoint() or int(
            time.time() if first_timestamp is None else first_timestamp
        )
        self._saved_timestamp = 0
        self._passed_lines: Counter[bytes] = Counter()
        """The lines since the latest timestamp that were passed on."""
        self._repeated_lines: Counter[bytes] = Counter()
        """Those of them that the running generator has not repeated yet."""
        self._next_save_time = 0.0
        self._started_at = math.inf

    @property
    def resume_timestamp(self) -> int:
        """The timestamp from which events are needed if the generator is started now (s since 1970)."""
        oldest = self._get_oldest_early_timestamp()
        return self._latest_timestamp if oldest is None else min(self._latest_timestamp, int(oldest))

    @property
    def is_reliable(self) -> bool:
        """Whether the generator has run for so long that it must have found its log."""
        return time.monotonic() - self._started_at > _STARTUP_TIME

    async def run(self) -> None:
        """Read events until cancelled; then end the generator."""
        delay = _RESTART_BACKOFF[0]
        try:
            while True:
                started_at = time.monotonic()
                message = await self._run_generator()
                self._started_at = math.inf
                delay = _RESTART_BACKOFF[0] if time.monotonic() - started_at > _BACKOFF_RESET_TIME else delay
                log.warning("%s; it is started again in %.1f s", message, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RESTART_BACKOFF[1])
        finally:
            self._save_checkpoint(immediately=True)

    async def _run_generator(self) -> str:
        """Start the generator, read its output to the end, and return a message on how it ended."""
        # What was passed on earlier is kept by the monitor; only its next process needs it again.
        since = self._latest_timestamp if self._passed_lines else self.resume_timestamp
        self._repeated_lines = self._passed_lines.copy()
        command = [*self._command, "-t", str(since)]
        loop = asyncio.get_running_loop()
        streams = asyncio.subprocess.SubprocessStreamProtocol(MAX_LINE_LENGTH, loop)
        try:
            transport = await start_subprocess(streams, command, stderr=None)
        except OSError as error:
            return f"the event generator {command[0]} cannot be started: {error.strerror}"
        process = asyncio.subprocess.Process(transport, streams, loop)
        self._started_at = time.monotonic()
        try:
            assert process.stdout is not None  # noqa: S101  # PIPE
            await self._read_lines(process.stdout)
            code = await process.wait()
        finally:
            await _stop_generator(process)
        status = f"exit status {code}" if code >= 0 else f"signal {-code}"
        return f"the event generator {command[0]} has ended ({status})"

    async def _read_lines(self, stdout: asyncio.StreamReader) -> None:
        is_too_long = False
        while True:
            try:
                line = await stdout.readuntil()
            except asyncio.LimitOverrunError as error:
                await stdout.readexactly(error.consumed)
                is_too_long = True
                continue
            except asyncio.IncompleteReadError:
                return  # an incomplete last line comes again after the restart
            if is_too_long:
                log.warning("a line of more than %d bytes is not an event", MAX_LINE_LENGTH)
            else:
                self._handle_line(line)
            is_too_long = False

    def _handle_line(self, line: bytes) -> None:
        event = parse_event(line)
        if event is None:
            log.warning("this line is not an event: %s", quote_value(os.fsdecode(line.rstrip(b"\n"))))
            return
        if self._repeated_lines[line]:
            self._repeated_lines[line] -= 1
            return
        timestamp = int(event.timestamp)
        # the time of a wrong clock must not be where events are read again from: those before it count
        if self._latest_timestamp < timestamp <= time.time() + MAX_CLOCK_SKEW:
            self._latest_timestamp = timestamp
            lines = self._passed_lines.items()
            self._passed_lines = Counter(
                {line: n for line, n in lines if int(line.split(b";")[1]) >= timestamp}
            )
        if timestamp >= self._latest_timestamp:
            self._passed_lines[line] += 1
        self._on_event(event)
        self._save_checkpoint()

    # The checkpoint

    def _load_checkpoint(self) -> int | None:
        if self._checkpoint_path is None:
            return None
        try:
            with open(open_regular_file(self._checkpoint_path), encoding="ascii") as file:
                return min(int(file.read(20)), int(time.time()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s does not contain a timestamp: %s", self._checkpoint_path, error)
            return None

    def _save_checkpoint(self, *, immediately: bool = False) -> None:
        now = time.monotonic()
        if self._checkpoint_path is None or (now < self._next_save_time and not immediately):
            return
        self._next_save_time = now + _CHECKPOINT_INTERVAL
        timestamp = self.resume_timestamp
        if timestamp == self._saved_timestamp:
            return
        try:
            atomic_write(self._checkpoint_path, f"{timestamp}\n".encode())
            self._saved_timestamp = timestamp
        except OSError as error:
            log.warning("the checkpoint of the event log is not saved: %s", error)


async def _stop_generator(process: asyncio.subprocess.Process) -> None:
    """End a generator by closing its standard input; kill it if it does not end."""
    assert process.stdin is not None  # noqa: S101  # PIPE
    process.stdin.close()
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.shield(asyncio.wait_for(process.wait(), _SHUTDOWN_GRACE))
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
        await process.wait()


def has_event_log(profile: Profile, context: Mapping[str, str]) -> bool:
    """Return whether a profile has EVENTS for this context: for this host, or for another host or user."""
    template = profile.templates.get(EVENTS_TEMPLATE)
    return template is not None and find_shell_variation(context) in template.invocations


@final
class EventLogSource:
    """Calls `on_event` with the events of a target's log, while `run` runs."""

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str],
        early_events: EarlyEvents,
        on_event: Callable[[JobEvent], object],
        store_path: str,
    ) -> None:
        """Raise what `incarnate` raises, and `InvalidProfileError`.

        `store_path` is the file of the jobs' record; the checkpoint of the log is kept beside it.
        """
        words = get_template_command(profile, EVENTS_TEMPLATE, context)
        self._pattern = None
        if profile.find_field(profile.get_template(EVENTS_TEMPLATE), EVENT_ID_FIELD) is not None:
            self._pattern = get_output_pattern(profile, EVENTS_TEMPLATE, EVENT_ID_FIELD, ("id",))
        self._early_events, self._on_event = early_events, on_event
        host_context = {name: value for name, value in context.items() if name != "SSH:PORT"}
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", format_target_name(profile, host_context))
        checkpoint_path = None if store_path == ":memory:" else f"{store_path}.{name}.since"
        self._listener = EventListener(
            words,
            self._handle_event,
            checkpoint_path=checkpoint_path,
            get_oldest_early_timestamp=lambda: early_events.find_oldest_timestamp(time.time()),
        )

    @property
    def is_reliable(self) -> bool:
        """Whether the log reports all jobs now; see `EventListener.is_reliable`."""
        return self._listener.is_reliable

    async def run(self) -> None:
        """Read the log until cancelled."""
        expiry_task = asyncio.ensure_future(self._expire_early_events())
        try:
            await self._listener.run()
        finally:
            expiry_task.cancel()

    async def _expire_early_events(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRY_INTERVAL)
            self._early_events.expire(time.time())

    def _handle_event(self, event: JobEvent) -> None:
        if self._pattern is not None:
            match = self._pattern.matches(event.job_id) if event.job_id.isprintable() else None
            job_id = match.group("id") if match else None
            if not job_id:
                return
            event = JobEvent(event.timestamp, event.status._replace(job_id=job_id))
        self._on_event(event)


@final
class EventStream:
    """A stream of job events: `async for event in target.events()`. `close` ends it.

    Events that are not read are kept without a limit.
    """

    def __init__(self, on_close: Callable[[EventStream], object]) -> None:
        self._on_close = on_close
        self._queue: asyncio.Queue[JobEvent | None] = asyncio.Queue()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> JobEvent:
        event = await self._queue.get()
        if event is None:
            raise StopAsyncIteration
        return event

    def push_event(self, event: JobEvent) -> None:
        """Add an event to the stream."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """End the stream after the events that it has."""
        self._on_close(self)
        self._queue.put_nowait(None)


@final
class EndFileWatcher:
    """Calls `on_end` when a file with one of the names is written in one of the directories, by inotify(7).

    On a system without inotify, and beyond its limits, nothing is noticed.
    """

    def __init__(self, file_names: Iterable[str], on_end: Callable[[], None]) -> None:
        self._file_names = frozenset(map(os.fsencode, file_names))
        self._on_end = on_end
        self._libc: ctypes.CDLL | None = None
        self._descriptor = -1
        self._watches: dict[str, int] = {}
        """The watches by job id."""

    def watch(self, job_id: str, directory: str) -> None:
        """Watch the working directory of a job. If the job has ended already, `on_end` is called at once."""
        if self._libc is None and self._file_names:
            import ctypes  # late: it takes 2 ms, and only profiles with END_FILES need it

            self._libc = ctypes.CDLL(None, use_errno=True)
            with contextlib.suppress(AttributeError):  # not Linux
                self._descriptor = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
            if self._descriptor >= 0:
                asyncio.get_running_loop().add_reader(self._descriptor, self._read_events)
        if self._libc is None or self._descriptor < 0 or job_id in self._watches:
            return
        path, mask = os.fsencode(directory), _MOVED_TO | _WRITTEN | _ONLY_DIRECTORY
        watch = self._libc.inotify_add_watch(self._descriptor, path, mask)
        if watch >= 0:
            self._watches[job_id] = watch
            if any(os.path.exists(os.path.join(path, name)) for name in self._file_names):
                self._on_end()

    def unwatch(self, job_id: str) -> None:
        """Forget a job."""
        if self._libc is not None and (watch := self._watches.pop(job_id, None)) is not None:
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def _read_events(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_SIZE)
        except BlockingIOError:
            return
        position, has_ended = 0, False
        while position < len(data):
            _, mask, _, size = _EVENT.unpack_from(data, position)
            position += _EVENT.size + size
            name = data[position - size : position].rstrip(b"\0")
            has_ended = has_ended or name in self._file_names or bool(mask & _QUEUE_OVERFLOW)
        if has_ended:
            self._on_end()

    def close(self) -> None:
        """Watch nothing any more."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._watches.clear()
