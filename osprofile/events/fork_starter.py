"""The fork starter: starts processes as jobs, and writes what becomes of them into the fork log.

    osprofile-fork-starter [LOG]

It is the second notion of the seed (Scheduler Event Generator, "Fork"): the generator reads the log,
and may end and begin again without harm to any job. The starter reads requests from its standard
input (see `fork_protocol`), answers on its standard output, and goes on, when the input is closed, until
its jobs have ended. LOG is `log_path` of `globus-fork.conf` unless it is given; several
starters may write to one.

Which processes it watches is on record beside the log, in `LOG.watched.UID/`. Each process writes its own
record before it executes its program: none runs that is not on record. The record stays locked until then,
whatever becomes of the starter. When a starter is killed, its jobs run on; the next one that is started with this
log watches them: a process lives if `kill(pid, 0)` says so and it began when the record says. How it ended cannot
be known then, and is told as failed, 0.
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

from osprofile.errors import EventError
from osprofile.events import fork_protocol as protocol
from osprofile.events.emit import ACTIVE, DONE, FAILED
from osprofile.events.fork_record import (
    APPEND_FLAGS,
    ForkLog,
    WatchedProcess,
    WatchRecord,
    format_session_id,
    read_start_time,
)
from osprofile.events.seg_command import read_settings
from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

USAGE: Final = "usage: osprofile-fork-starter [LOG]"
_POLL_INTERVAL: Final = 1.0
"""Seconds between two looks at the jobs of starters that were killed."""
MAX_REQUEST_SIZE: Final = 16 * 1024 * 1024
"""No request may be longer, in bytes."""


@final
class ForkStarter:
    """Starts jobs and watches them."""

    def __init__(self, log: ForkLog, record: WatchRecord) -> None:
        self._log = log
        self._record = record
        self._children: dict[WatchedProcess, Popen[bytes]] = {}
        self._ended_processes: list[WatchedProcess] = []
        self._inherited_processes = self._take_over_processes()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to wait for."""
        return not (self._children or self._inherited_processes) and self._log.flush()

    @property
    def needs_polling(self) -> bool:
        """Whether there is something that no signal tells: others' jobs, or a log to be written."""
        return bool(self._inherited_processes or self._ended_processes) or not self._log.flush()

    def answer_request(self, line: bytes) -> str:
        """Honour a request; give the answer, or the empty string where there can be none."""
        task = protocol.parse_request(line.decode("utf-8", "surrogateescape"))
        if task and len(line) > MAX_REQUEST_SIZE:
            words = f"a request has at most {MAX_REQUEST_SIZE} bytes"
            task = protocol.Refusal(task.tag, protocol.PARAMETER_NOT_SUPPORTED, words)
        if isinstance(task, protocol.StartRequest):
            begun = self._start_processes(task)
            if isinstance(begun, list):
                return protocol.format_started_reply(
                    task.tag, [watched.job_id for watched in begun]
                )
            return str(begun)
        return str(task) if task else ""

    def log_ended_jobs(self) -> None:
        """Write the ends of the jobs that have ended."""
        for watched, process in list(self._children.items()):
            code = process.poll()
            if code is not None:
                self._log.append_event(watched.job_id, FAILED if code < 0 else DONE, max(code, 0))
                del self._children[watched]
                self._ended_processes.append(watched)
        for watched in [one for one in self._inherited_processes if not one.is_running()]:
            self._log.append_event(watched.job_id, FAILED)
            self._inherited_processes.remove(watched)
            self._ended_processes.append(watched)
        # Only when its end is in the log: a starter that is killed before leaves it to the next one.
        with suppress(OSError):  # what the record cannot take now is tried again
            while self._log.flush() and self._ended_processes:
                self._record.remove_process(self._ended_processes[-1])
                self._ended_processes.pop()

    def _take_over_processes(self) -> list[WatchedProcess]:
        inherited = self._record.inherit_processes()
        ended = (
            self._log.find_ended_jobs({watched.job_id for watched in inherited})
            if inherited
            else set()
        )
        self._ended_processes += [watched for watched in inherited if watched.job_id in ended]
        return [watched for watched in inherited if watched.job_id not in ended]

    def _start_processes(
        self, task: protocol.StartRequest
    ) -> list[WatchedProcess] | protocol.Refusal:
        prefix, begun, group = uuid.uuid4(), dict[WatchedProcess, Popen[bytes]](), 0
        try:
            size = self._record.size()
        except OSError as error:
            return _not_recorded(task, error)

        def name(pid: int) -> WatchedProcess:
            began = read_start_time(pid)
            return WatchedProcess(
                format_session_id(pid, began) if task.session else f"{prefix}:{pid}", began
            )

        def record() -> None:
            self._record.add_process(name(os.getpid()))

        for number in range(task.process_count):
            process = _spawn_process(task, number, group, record)
            if isinstance(process, protocol.Refusal):
                for other in begun.values():
                    other.kill()
                    other.wait()
                self._record.truncate(size)
                return process
            group = group or process.pid
            begun[name(process.pid)] = process
        for watched in begun:
            self._log.append_event(watched.job_id, ACTIVE)
        self._children |= begun
        return list(begun)


def _spawn_process(
    task: protocol.StartRequest, number: int, group: int, record: Callable[[], None]
) -> Popen[bytes] | protocol.Refusal:
    """Start one process, in the job's process group; `record` is called in it, before the program."""
    if not os.path.isdir(task.directory):
        return protocol.Refusal(task.tag, protocol.BAD_DIRECTORY, "the directory is not there")
    opened: list[int] = []
    try:
        wanted = (
            (task.stdin, os.O_RDONLY, protocol.STDIN_NOT_FOUND, "stdin"),
            (task.stdout[number], APPEND_FLAGS, protocol.STDOUT_OPEN_FAILED, "stdout"),
            (task.stderr[number], APPEND_FLAGS, protocol.STDERR_OPEN_FAILED, "stderr"),
        )
        for path, flags, code, name in wanted:
            try:
                opened.append(_open_job_file(os.path.join(task.directory, path), flags))
            except OSError as error:
                words = f"{name} {path} cannot be opened: {error.strerror}"
                return protocol.Refusal(task.tag, code, words)
        return _execute_program(task, opened, group, record)
    finally:
        for fd in opened:
            os.close(fd)


def _open_job_file(path: str, flags: int) -> int:
    """Open a job's file without waiting for who may have a pipe's other end: other jobs go on."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    os.set_blocking(fd, True)
    return fd


def _execute_program(
    task: protocol.StartRequest, opened: list[int], group: int, record: Callable[[], None]
) -> Popen[bytes] | protocol.Refusal:
    words = [task.executable, *task.arguments]
    program = os.path.join(task.directory, task.executable)

    def prepare() -> None:
        record()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)

    for process_group in (group, 0):  # the first process may have ended, and its group with it
        try:
            return Popen(
                words,
                executable=program,
                cwd=task.directory,
                env=task.environment,
                stdin=opened[0],
                stdout=opened[1],
                stderr=opened[2],
                process_group=None if task.session else process_group,
                start_new_session=task.session,
                restore_signals=False,  # SIGXFSZ would end it where the record cannot grow
                preexec_fn=prepare,  # noqa: PLW1509 - there are no threads
            )
        except PermissionError as error:
            if not process_group:
                return _refuse_execution(task, error)
        except SubprocessError as error:
            return _not_recorded(task, error)
        except (OSError, ValueError) as error:
            return _refuse_execution(task, error)
    return _refuse_execution(task, ProcessLookupError())


def _not_recorded(task: protocol.StartRequest, error: Exception) -> protocol.Refusal:
    why = getattr(error, "strerror", "") or "is the disk full?"
    words = f"nothing is started: the record beside the log cannot be written: {why}"
    return protocol.Refusal(task.tag, protocol.NOT_RECORDED, words)


def _refuse_execution(task: protocol.StartRequest, error: Exception) -> protocol.Refusal:
    words = f"{task.executable} cannot be executed: {getattr(error, 'strerror', '') or error}"
    return protocol.Refusal(task.tag, protocol.EXECUTION_FAILED, words)


def serve_requests(starter: ForkStarter) -> None:
    """Answer requests from the standard input, and watch, until there is nothing left to do."""
    wake, woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    answers = _Answers()
    rest, is_open = bytearray(), True
    while is_open or answers.waiting or not starter.is_idle:
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if answers.waiting:  # no further request is read until they are
            poll.register(1, select.POLLOUT)
        elif is_open:
            poll.register(0, select.POLLIN)
        for fd, _ in poll.poll(_POLL_INTERVAL * 1000 if starter.needs_polling else None):
            if fd == wake:
                with suppress(BlockingIOError):
                    os.read(wake, 65_536)
            elif fd == 1:
                answers.write()
            elif data := _read_requests():
                _answer_requests(starter, answers, rest, data)
            else:
                is_open = False
        starter.log_ended_jobs()


@final
class _Answers:
    """The answers that are to be written; the client is never waited for."""

    def __init__(self) -> None:
        self.waiting = bytearray()

    def add(self, answer: str) -> None:
        """Write an answer, or keep it until `write` can."""
        self.waiting += f"{answer}\n".encode("utf-8", "surrogateescape")
        self.write()

    def write(self) -> None:
        """Write what the client can take now."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        try:
            while self.waiting and poll.poll(0):  # then it takes so many bytes at once
                del self.waiting[: os.write(1, self.waiting[: select.PIPE_BUF])]
        except OSError:  # nobody listens any more; the jobs are started all the same
            self.waiting.clear()


def _read_requests() -> bytes:
    try:
        return os.read(0, 65_536)
    except OSError:
        return b""


def _answer_requests(starter: ForkStarter, answers: _Answers, rest: bytearray, data: bytes) -> None:
    """Answer the requests that are whole; keep the rest, and of one that is too long its beginning."""
    *ends, last = data.split(b"\n")
    for end in ends:
        rest += end
        answer = starter.answer_request(bytes(rest))
        rest.clear()
        if answer:
            answers.add(answer)
    rest += last
    del rest[MAX_REQUEST_SIZE + 1 :]


def main() -> NoReturn:
    """Run the command line of this process and end it with the starter's exit code."""
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(argv: Sequence[str]) -> int:
    """Run a command line; 0 when input and jobs have ended, 1 where it could not begin."""
    if any(word in ("-h", "-help", "--help", "-usage", "--usage") for word in argv):
        sys.stdout.write(f"{USAGE}\n")
        return 0
    try:
        log = ForkLog(_find_log_path(argv))
        _check_writable(log.path)
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
        raise EventError(f"one path of a log is expected, not {' '.join(argv)}", hint=USAGE)
    path = argv[0] if argv else read_settings("fork").get("log_path", "")
    if not path:
        hint = f"give it, or log_path=PATH in globus-fork.conf; {USAGE}"
        raise EventError("it is not known where the log is", hint=hint)
    return os.path.abspath(path)


def _check_writable(path: str) -> None:
    """Raise `OSError` if the log cannot be written."""
    os.close(open_regular(path, APPEND_FLAGS))


if __name__ == "__main__":
    main()
