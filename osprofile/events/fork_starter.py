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
from osprofile.events.fork_record import APPEND, Log, Record, Watched, beginning, session_id
from osprofile.events.seg_command import settings_of
from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

USAGE: Final = "usage: osprofile-fork-starter [LOG]"
_TICK: Final = 1.0
"""Seconds between two looks at the jobs of starters that were killed."""
LONGEST: Final = 16 * 1024 * 1024
"""No request may be longer, in bytes."""


@final
class Starter:
    """Starts jobs and watches them."""

    def __init__(self, log: Log, record: Record) -> None:
        self._log = log
        self._record = record
        self._children: dict[Watched, Popen[bytes]] = {}
        self._ended: list[Watched] = []
        self._inherited = self._inherit()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to wait for."""
        return not (self._children or self._inherited) and self._log.flush()

    @property
    def must_look(self) -> bool:
        """Whether there is something that no signal tells: others' jobs, or a log to be written."""
        return bool(self._inherited or self._ended) or not self._log.flush()

    def answer(self, line: bytes) -> str:
        """Honour a request; give the answer, or the empty string where there can be none."""
        task = protocol.parse(line.decode("utf-8", "surrogateescape"))
        if task and len(line) > LONGEST:
            words = f"a request has at most {LONGEST} bytes"
            task = protocol.Refusal(task.tag, protocol.NOT_SUPPORTED, words)
        if isinstance(task, protocol.Task):
            begun = self._start(task)
            if isinstance(begun, list):
                return protocol.started(task.tag, [watched.job for watched in begun])
            return str(begun)
        return str(task) if task else ""

    def look(self) -> None:
        """Write the ends of the jobs that have ended."""
        for watched, process in list(self._children.items()):
            code = process.poll()
            if code is not None:
                self._log.tell(watched.job, FAILED if code < 0 else DONE, max(code, 0))
                del self._children[watched]
                self._ended.append(watched)
        for watched in [one for one in self._inherited if not one.lives()]:
            self._log.tell(watched.job, FAILED)
            self._inherited.remove(watched)
            self._ended.append(watched)
        # Only when its end is in the log: a starter that is killed before leaves it to the next one.
        with suppress(OSError):  # what the record cannot take now is tried again
            while self._log.flush() and self._ended:
                self._record.remove(self._ended[-1])
                self._ended.pop()

    def _inherit(self) -> list[Watched]:
        inherited = self._record.inherit()
        ended = self._log.ended({watched.job for watched in inherited}) if inherited else set()
        self._ended += [watched for watched in inherited if watched.job in ended]
        return [watched for watched in inherited if watched.job not in ended]

    def _start(self, task: protocol.Task) -> list[Watched] | protocol.Refusal:
        prefix, begun, group = uuid.uuid4(), dict[Watched, Popen[bytes]](), 0
        try:
            size = self._record.size()
        except OSError as error:
            return _not_recorded(task, error)

        def name(pid: int) -> Watched:
            began = beginning(pid)
            return Watched(session_id(pid, began) if task.session else f"{prefix}:{pid}", began)

        def record() -> None:
            self._record.add(name(os.getpid()))

        for number in range(task.processes):
            process = _spawn(task, number, group, record)
            if isinstance(process, protocol.Refusal):
                for other in begun.values():
                    other.kill()
                    other.wait()
                self._record.truncate(size)
                return process
            group = group or process.pid
            begun[name(process.pid)] = process
        for watched in begun:
            self._log.tell(watched.job, ACTIVE)
        self._children |= begun
        return list(begun)


def _spawn(
    task: protocol.Task, number: int, group: int, record: Callable[[], None]
) -> Popen[bytes] | protocol.Refusal:
    """Start one process, in the job's process group; `record` is called in it, before the program."""
    if not os.path.isdir(task.directory):
        return protocol.Refusal(task.tag, protocol.BAD_DIRECTORY, "the directory is not there")
    opened: list[int] = []
    try:
        wanted = (
            (task.stdin, os.O_RDONLY, protocol.NO_STDIN, "stdin"),
            (task.stdout[number], APPEND, protocol.NO_STDOUT, "stdout"),
            (task.stderr[number], APPEND, protocol.NO_STDERR, "stderr"),
        )
        for path, flags, code, name in wanted:
            try:
                opened.append(_open(os.path.join(task.directory, path), flags))
            except OSError as error:
                words = f"{name} {path} cannot be opened: {error.strerror}"
                return protocol.Refusal(task.tag, code, words)
        return _run(task, opened, group, record)
    finally:
        for fd in opened:
            os.close(fd)


def _open(path: str, flags: int) -> int:
    """Open a job's file without waiting for who may have a pipe's other end: other jobs go on."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    os.set_blocking(fd, True)
    return fd


def _run(
    task: protocol.Task, opened: list[int], group: int, record: Callable[[], None]
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
                return _not_run(task, error)
        except SubprocessError as error:
            return _not_recorded(task, error)
        except (OSError, ValueError) as error:
            return _not_run(task, error)
    return _not_run(task, ProcessLookupError())


def _not_recorded(task: protocol.Task, error: Exception) -> protocol.Refusal:
    why = getattr(error, "strerror", "") or "is the disk full?"
    words = f"nothing is started: the record beside the log cannot be written: {why}"
    return protocol.Refusal(task.tag, protocol.NOT_RECORDED, words)


def _not_run(task: protocol.Task, error: Exception) -> protocol.Refusal:
    words = f"{task.executable} cannot be executed: {getattr(error, 'strerror', '') or error}"
    return protocol.Refusal(task.tag, protocol.NOT_EXECUTED, words)


def serve(starter: Starter) -> None:
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
        for fd, _ in poll.poll(_TICK * 1000 if starter.must_look else None):
            if fd == wake:
                with suppress(BlockingIOError):
                    os.read(wake, 65_536)
            elif fd == 1:
                answers.write()
            elif data := _read_requests():
                _answer_all(starter, answers, rest, data)
            else:
                is_open = False
        starter.look()


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


def _answer_all(starter: Starter, answers: _Answers, rest: bytearray, data: bytes) -> None:
    """Answer the requests that are whole; keep the rest, and of one that is too long its beginning."""
    *ends, last = data.split(b"\n")
    for end in ends:
        rest += end
        answer = starter.answer(bytes(rest))
        rest.clear()
        if answer:
            answers.add(answer)
    rest += last
    del rest[LONGEST + 1 :]


def main() -> NoReturn:
    """Run the command line of this process and end it with the starter's exit code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run a command line; 0 when input and jobs have ended, 1 where it could not begin."""
    if any(word in ("-h", "-help", "--help", "-usage", "--usage") for word in words):
        sys.stdout.write(f"{USAGE}\n")
        return 0
    try:
        log = Log(_log_path(words))
        _check(log.path)
        record = Record(f"{log.path}.watched.{os.getuid()}")
    except EventError as error:
        sys.stderr.write(f"osprofile-fork-starter: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"osprofile-fork-starter: {error.filename}: {error.strerror}\n")
        return 1
    with suppress(OSError):
        os.setpgid(0, 0)
    serve(Starter(log, record))
    record.close()
    return 0


def _log_path(words: Sequence[str]) -> str:
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise EventError(f"one path of a log is expected, not {' '.join(words)}", hint=USAGE)
    path = words[0] if words else settings_of("fork").get("log_path", "")
    if not path:
        hint = f"give it, or log_path=PATH in globus-fork.conf; {USAGE}"
        raise EventError("it is not known where the log is", hint=hint)
    return os.path.abspath(path)


def _check(path: str) -> None:
    """Raise `OSError` if the log cannot be written."""
    os.close(open_regular(path, APPEND))


if __name__ == "__main__":
    main()
