"""The fork starter: starts processes as jobs, and writes their states into the fork log.

    osprofile-fork-starter [LOG]

The starter is separate from the generator, which reads the log, so that the generator can be
restarted without harm to any job (docs/protocols/seg.md, 4). The starter reads requests from
standard input (see `fork_protocol`) and replies on standard output. When the input is closed, it
continues until its jobs have ended. LOG defaults to `log_path` of `globus-fork.conf`; several
starters may share a log.

The processes that it watches are recorded next to the log, in `LOG.watched.UID/`. Each process
writes its own entry before it executes its program, so no program runs without one. It also holds
the record's lock until then, even if the starter is killed. The jobs of a killed starter continue,
and the next starter with this log watches them: a process runs if `kill(pid, 0)` succeeds and its
start time is the recorded one. Their exit codes are unknown: each end is written as failed, 0.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import uuid
from contextlib import suppress
from subprocess import Popen, SubprocessError
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.events import fork_protocol as protocol
from osprofile.events.emit import ACTIVE, DONE, FAILED
from osprofile.events.errors import EventError
from osprofile.events.fork_record import (
    ForkLog,
    WatchedProcess,
    WatchRecord,
    format_session_id,
    read_start_time,
)
from osprofile.events.seg_command import read_settings
from osprofile.events.tail import APPEND_FLAGS, open_regular_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

USAGE: Final = "usage: osprofile-fork-starter [LOG]"
_POLL_INTERVAL: Final = 1.0
"""Seconds between two checks for what no signal announces: see `ForkStarter.needs_polling`."""
MAX_REQUEST_SIZE: Final = 16 * 1024 * 1024
"""Bytes of a request. Linux limits a program's arguments and environment to 6 MiB."""


@final
class ForkStarter:
    """Starts jobs and watches them."""

    def __init__(self, log: ForkLog, record: WatchRecord) -> None:
        self._log = log
        self._record = record
        self._children: dict[WatchedProcess, Popen[bytes]] = {}
        self._ended_processes: list[WatchedProcess] = []
        self._inherited_processes = self._inherit_processes()

    @property
    def is_idle(self) -> bool:
        """Whether all jobs have ended and the log is written."""
        return not (self._children or self._inherited_processes or self._log.has_unwritten)

    @property
    def needs_polling(self) -> bool:
        """Whether there are inherited jobs, whose ends cause no SIGCHLD, or writes to try again."""
        return bool(self._inherited_processes or self._ended_processes or self._log.has_unwritten)

    def handle_request(self, line: bytes) -> str:
        """Start the processes of a request; return the reply, or "" if it cannot be answered."""
        request = protocol.parse_request(line.decode("utf-8", "surrogateescape"))
        if request and len(line) > MAX_REQUEST_SIZE:
            reason = f"a request has at most {MAX_REQUEST_SIZE} bytes"
            request = protocol.Refusal(request.tag, protocol.PARAMETER_NOT_SUPPORTED, reason)
        if isinstance(request, protocol.StartRequest):
            result = self._start_processes(request)
            if isinstance(result, list):
                job_ids = [process.job_id for process in result]
                return protocol.format_started_reply(request.tag, job_ids)
            return protocol.format_refusal_reply(result)
        return protocol.format_refusal_reply(request) if request else ""

    def log_ended_jobs(self) -> None:
        """Write the ends of jobs to the log."""
        for watched, child in list(self._children.items()):
            code = child.poll()
            if code is not None:
                self._log.append_event(watched.job_id, FAILED if code < 0 else DONE, max(code, 0))
                del self._children[watched]
                self._ended_processes.append(watched)
        for watched in [process for process in self._inherited_processes if not process.is_running()]:
            self._log.append_event(watched.job_id, FAILED)
            self._inherited_processes.remove(watched)
            self._ended_processes.append(watched)
        # A process leaves the record only when its end is in the log: if this starter is killed
        # before that, the next one writes the end.
        self._log.flush()
        with suppress(OSError):  # tried again at the next call
            while self._ended_processes and not self._log.has_unwritten:
                self._record.remove_process(self._ended_processes[-1])
                self._ended_processes.pop()

    def _inherit_processes(self) -> list[WatchedProcess]:
        inherited = self._record.inherit_processes()
        job_ids = {process.job_id for process in inherited}
        ended = self._log.find_ended_jobs(job_ids) if inherited else set()
        self._ended_processes += [process for process in inherited if process.job_id in ended]
        return [process for process in inherited if process.job_id not in ended]

    def _start_processes(self, request: protocol.StartRequest) -> list[WatchedProcess] | protocol.Refusal:
        job_uuid, children, process_group = uuid.uuid4(), dict[WatchedProcess, Popen[bytes]](), 0
        try:
            record_size = self._record.get_size()
        except OSError as error:
            return _refuse_unrecorded(request, error)

        def identify_process(pid: int) -> WatchedProcess:
            start_time = read_start_time(pid)
            if request.starts_session:
                return WatchedProcess(format_session_id(pid, start_time), start_time)
            return WatchedProcess(f"{job_uuid}:{pid}", start_time)

        def record_process() -> None:
            self._record.add_processes(identify_process(os.getpid()))

        for process_index in range(request.process_count):
            child = _spawn_process(request, process_index, process_group, record_process)
            if isinstance(child, protocol.Refusal):
                for sibling in children.values():
                    sibling.kill()
                    sibling.wait()
                self._record.truncate(record_size)
                return child
            process_group = process_group or child.pid
            children[identify_process(child.pid)] = child
        for process in children:
            self._log.append_event(process.job_id, ACTIVE)
        self._children |= children
        return list(children)


def _spawn_process(
    request: protocol.StartRequest, process_index: int, process_group: int, record_process: Callable[[], None]
) -> Popen[bytes] | protocol.Refusal:
    """Start one process in the job's process group, or as leader of a new one if that is 0.

    `record_process` is called in the new process, before it executes the program.
    """
    if not os.path.isdir(request.directory):
        return protocol.Refusal(
            request.tag, protocol.BAD_DIRECTORY, f"{request.directory} is not a directory"
        )
    fds: list[int] = []
    try:
        files = (
            (request.stdin, os.O_RDONLY, protocol.STDIN_NOT_FOUND, "stdin"),
            (request.stdout[process_index], APPEND_FLAGS, protocol.STDOUT_OPEN_FAILED, "stdout"),
            (request.stderr[process_index], APPEND_FLAGS, protocol.STDERR_OPEN_FAILED, "stderr"),
        )
        for path, flags, code, name in files:
            try:
                fds.append(_open_job_file(os.path.join(request.directory, path), flags))
            except OSError as error:
                reason = f"{name} {path} cannot be opened: {error.strerror}"
                return protocol.Refusal(request.tag, code, reason)
        return _execute_program(request, fds, process_group, record_process)
    finally:
        for fd in fds:
            os.close(fd)


def _open_job_file(path: str, flags: int) -> int:
    """Open a file for a job without waiting for the other end of a pipe, which would delay other jobs."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    os.set_blocking(fd, True)
    return fd


def _execute_program(
    request: protocol.StartRequest, fds: list[int], leader_group: int, record_process: Callable[[], None]
) -> Popen[bytes] | protocol.Refusal:
    def prepare_process() -> None:
        record_process()
        for signal_number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(signal_number, signal.SIG_DFL)

    for process_group in (leader_group, 0):  # the group is gone if its processes have ended
        try:
            return Popen(
                [request.executable, *request.arguments],
                executable=os.path.join(request.directory, request.executable),
                cwd=request.directory,
                env=request.environment,
                stdin=fds[0],
                stdout=fds[1],
                stderr=fds[2],
                process_group=None if request.starts_session else process_group,
                start_new_session=request.starts_session,
                restore_signals=False,  # SIGXFSZ would kill the process if the record reaches the file size limit
                preexec_fn=prepare_process,  # noqa: PLW1509 - there are no threads
            )
        except PermissionError as error:
            if not process_group:
                return _refuse_execution(request, error)
        except SubprocessError as error:
            return _refuse_unrecorded(request, error)
        except (OSError, ValueError) as error:
            return _refuse_execution(request, error)
    return _refuse_execution(request, ProcessLookupError())


def _refuse_unrecorded(request: protocol.StartRequest, error: Exception) -> protocol.Refusal:
    cause = getattr(error, "strerror", "") or "is the disk full?"
    reason = f"nothing is started: the record next to the log cannot be written: {cause}"
    return protocol.Refusal(request.tag, protocol.RECORD_WRITE_FAILED, reason)


def _refuse_execution(request: protocol.StartRequest, error: Exception) -> protocol.Refusal:
    reason = f"{request.executable} cannot be executed: {getattr(error, 'strerror', '') or error}"
    return protocol.Refusal(request.tag, protocol.EXECUTION_FAILED, reason)


def serve_requests(starter: ForkStarter) -> None:
    """Answer requests from standard input and watch jobs until the input and all jobs have ended."""
    wakeup_fd, signal_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(signal_fd, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    replies = _ReplyQueue()
    buffer, is_open = bytearray(), True
    while is_open or replies.unsent or not starter.is_idle:
        poll = select.poll()
        poll.register(wakeup_fd, select.POLLIN)
        if replies.unsent:  # requests are read only when all replies are written
            poll.register(1, select.POLLOUT)
        elif is_open:
            poll.register(0, select.POLLIN)
        for fd, _ in poll.poll(_POLL_INTERVAL * 1000 if starter.needs_polling else None):
            if fd == wakeup_fd:
                with suppress(BlockingIOError):
                    os.read(wakeup_fd, 65_536)
            elif fd == 1:
                replies.write_pending()
            elif data := _read_input():
                _handle_input(starter, replies, buffer, data)
            else:
                is_open = False
        starter.log_ended_jobs()


@final
class _ReplyQueue:
    """Replies that are not written yet, so that the starter never waits for its client."""

    def __init__(self) -> None:
        self.unsent = bytearray()

    def send_reply(self, reply: str) -> None:
        """Write a reply, or keep it for `write_pending`."""
        self.unsent += f"{reply}\n".encode("utf-8", "surrogateescape")
        self.write_pending()

    def write_pending(self) -> None:
        """Write as much as the client accepts without waiting."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        try:
            while self.unsent and poll.poll(0):  # a pipe that is ready takes PIPE_BUF bytes
                del self.unsent[: os.write(1, self.unsent[: select.PIPE_BUF])]
        except OSError:  # the client is gone; its jobs continue
            self.unsent.clear()


def _read_input() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""


def _handle_input(starter: ForkStarter, replies: _ReplyQueue, buffer: bytearray, data: bytes) -> None:
    """Answer complete requests, and keep the beginning of the next one in `buffer`.

    A request that is too long is cut one byte after the limit, so that it is refused.
    """
    *line_ends, beginning = data.split(b"\n")
    for line_end in line_ends:
        buffer += line_end
        reply = starter.handle_request(bytes(buffer))
        buffer.clear()
        if reply:
            replies.send_reply(reply)
    buffer += beginning
    del buffer[MAX_REQUEST_SIZE + 1 :]


def main() -> NoReturn:
    """Run the command line of this process and end it with the starter's exit code."""
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(argv: Sequence[str]) -> int:
    """Run a command line; return 0 when the input and all jobs have ended, 1 if the log is unusable."""
    if any(word in ("-h", "-help", "--help", "-usage", "--usage") for word in argv):
        sys.stdout.write(f"{USAGE}\n")
        return 0
    try:
        log = ForkLog(_find_log_path(argv))
        # An unusable log is an error now, not at the first job.
        os.close(open_regular_file(log.path, APPEND_FLAGS))
        record = WatchRecord(f"{log.path}.watched.{os.getuid()}")
    except EventError as error:
        sys.stderr.write(f"osprofile-fork-starter: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"osprofile-fork-starter: {error.filename}: {error.strerror}\n")
        return 1
    with suppress(OSError):
        os.setpgid(0, 0)
    serve_requests(ForkStarter(log, record))
    record.close_and_delete()
    return 0


def _find_log_path(argv: Sequence[str]) -> str:
    if len(argv) > 1 or (argv and argv[0].startswith("-")):
        raise EventError(f"expected one LOG, not {' '.join(argv)}", hint=USAGE)
    path = argv[0] if argv else read_settings("fork").get("log_path", "")
    if not path:
        hint = f"give LOG, or log_path=PATH in globus-fork.conf; {USAGE}"
        raise EventError("the path of the log is not known", hint=hint)
    return os.path.abspath(path)


if __name__ == "__main__":
    main()
