"""Run one process: pass its input, collect its output, and wait for its end; or have a thread at its ends (`exchange`).

asyncio's own subprocesses need a pipe and a task for the input, and wait until the output is closed: a
daemon that a script leaves behind would keep them waiting forever. Here the input is a file in memory,
and the run ends with the process; its output is what was written until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pwd
import select
import signal
import subprocess
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, TypeVar, cast, final

from osprofile.errors import OSProfileError, OutputError, ScriptError, ScriptTimeoutError
from osprofile.jobs.shell.loop import has_loop, interruptible, pause, shield
from osprofile.late import NamedTuple, compile_late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO

T = TypeVar("T")
MAX_OUTPUT_SIZE: Final = 64 * 1024 * 1024
"""Bytes that a script may write to one stream; enough for the states of half a million jobs."""
KILL_GRACE: Final = 2.0
"""Seconds between the signals TERM and KILL."""
_READ_SIZE: Final = 256 * 1024
_EXIT_CHECK_INTERVAL: Final = 0.02
"""Seconds between two checks whether a killed process group is gone."""
_COMMAND_FUNCTION: Final = compile_late(
    rb"BASH_FUNC_(?:\[|awk|basename|cat|cd|chmod|command|cp|cut|date|dirname|echo|env|false|find|flock|getconf|grep|head"
    rb"|hostname|id|kill|ln|ls|mkdir|mktemp|mv|namei|nice|printf|ps|pwd|read|rm|rmdir|sed|seq|setsid|sleep|sort|stat"
    rb"|tail|tee|test|touch|tr|true|umask|uname|uniq|wait|wc|xargs)(?:%%|\(\))\Z"
)
"""The variables by which bash exports functions with names of commands that profiles use (variables.c, BASHFUNC_PREFIX)."""
_END_SIZE: Final = 512
"""Bytes of the last block of an archive's output: tar takes one that was cut between two members for complete."""


@final
class ProcessResult(NamedTuple):
    """How a process ended: its exit code (128+n for signal n), and its output if captured.

    `killing_signal` is the signal that killed the process, 0 if none did.
    """

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    killing_signal: int = 0


def result_from_returncode(returncode: int, stdout: bytes, stderr: bytes) -> ProcessResult:
    """Return the result of a process from Python's return code (-n for signal n) and its output."""
    if returncode < 0:
        return ProcessResult(128 - returncode, stdout, stderr, -returncode)
    return ProcessResult(returncode, stdout, stderr)


def get_environment() -> dict[str, str] | None:
    """Return an environment for scripts: with the user's HOME, and with the system's own commands; None: this process's.

    A service may lack HOME. A function that bash exports takes the place of a command where sh is bash.
    """
    functions = [
        os.fsdecode(name)
        for name in os.environb
        if name[:10] == b"BASH_FUNC_" and _COMMAND_FUNCTION.match(name)
    ]
    has_home = os.path.isabs(os.environ.get("HOME", ""))
    if has_home and not functions:
        return None
    environment = {name: value for name, value in os.environ.items() if name not in functions}
    if not has_home:
        with contextlib.suppress(KeyError):  # a user id without a name, as in a container
            environment["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    return environment


async def run_process(
    command: Sequence[str],
    input_data: bytes | int,
    time_limit: float | None,
    *,
    stdout: int | None = None,
    stderr: int | None = None,
    ends_group: bool = True,
) -> ProcessResult:
    """Run a command with `input_data` as its standard input, and return its exit code and output.

    The input may also be a file descriptor. If the file descriptors `stdout` and `stderr` are given, the output goes there
    and is not returned.

    The command leads a session of its own. Its process group is ended (TERM, then KILL after KILL_GRACE)
    when `time_limit` (s; None for no limit) is over, when a stream has more than MAX_OUTPUT_SIZE bytes, or
    when this task is cancelled; without `ends_group`, only its own process is. Raises `ScriptError` if the command cannot be started,
    `ScriptTimeoutError`, `OutputError`.
    """
    with _open_memory_file(input_data) if isinstance(input_data, bytes) else nullcontext(input_data) as stdin:
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  # starting it in a thread takes longer
                command,
                stdin=stdin,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE if stderr is None else stderr,
                bufsize=0,
                env=get_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise build_start_error(command, error) from None
    exit_descriptor = _open_exit_descriptor(process)
    loop = asyncio.get_running_loop() if has_loop() else None
    readers = {pipe: _PipeReader(pipe, loop) for pipe in (process.stdout, process.stderr) if pipe is not None}

    def get_output(pipe: IO[bytes] | None) -> bytes:
        return readers[pipe].get_output() if pipe is not None else b""

    try:
        try:
            await _wait(loop, process, exit_descriptor, readers.values(), time_limit)
            if process.poll() is None:
                if any(reader.is_overflowing for reader in readers.values()):
                    raise build_size_error()
                raise build_timeout_error(
                    time_limit or 0, get_output(process.stdout), get_output(process.stderr)
                )
        finally:
            # Ask the process: the end of the event loop ends the waiting for it, too.
            if process.poll() is None:
                await shield(_kill_group(process) if ends_group else _kill(process))
    finally:
        # After the kill: close() reads the rest of the output.
        for reader in readers.values():
            reader.close()
        if exit_descriptor is not None:
            os.close(exit_descriptor)
    return result_from_returncode(process.returncode, get_output(process.stdout), get_output(process.stderr))


async def start_subprocess(
    protocol: asyncio.SubprocessProtocol, command: Sequence[str], *, stderr: int | None = subprocess.PIPE
) -> asyncio.SubprocessTransport:
    """Start a command in a session of its own, with pipes to its input and output; a start that is cancelled leaves none open.

    asyncio then kills the process, but not what that has started, which would wait for its input: asyncio leaves open what
    it connects after that.
    """
    connection_made = protocol.connection_made

    def note_connection(transport: asyncio.BaseTransport) -> None:
        connection_made(transport)
        if transport.is_closing():
            close_pipes(cast("asyncio.SubprocessTransport", transport))

    protocol.connection_made = note_connection  # type: ignore[method-assign]
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: protocol, *command, stderr=stderr, env=get_environment(), start_new_session=True
    )
    return transport


def close_pipes(transport: asyncio.SubprocessTransport) -> None:
    """Close the pipes to a process."""
    for stream in range(3):
        if (pipe := transport.get_pipe_transport(stream)) is not None:
            pipe.close()


@contextlib.contextmanager
def _open_memory_file(data: bytes) -> Iterator[int]:
    """Yield a file descriptor at the beginning of an unnamed file with this content."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("script")
    else:
        import tempfile  # imported here: this takes 5 % of the time of `job submit`

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def build_start_error(command: Sequence[str], error: OSError) -> ScriptError:
    """Return the error for a command that cannot be started."""
    message = f"cannot start {command[0]!r}: {error.strerror}"
    return ScriptError(message, hint="it is the first word of the profile's SHELL")


def build_size_error() -> OutputError:
    """Return the error for a script that printed too much."""
    return OutputError(f"printed more than {MAX_OUTPUT_SIZE // 1024 // 1024} MiB and was ended")


def build_timeout_error(time_limit: float, stdout: bytes, stderr: bytes) -> ScriptTimeoutError:
    """Return the error for a script that exceeded its time limit (s), with its output until then."""
    error = ScriptTimeoutError(f"did not end within {time_limit:g} s and was ended")
    error.stdout, error.stderr = stdout, stderr
    return error


def _open_exit_descriptor(process: subprocess.Popen[bytes]) -> int | None:
    """Return a file descriptor that can be read when a process has ended; None if the system has none."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or older than 5.3
        return None


async def _wait(
    loop: asyncio.AbstractEventLoop | None,
    process: subprocess.Popen[bytes],
    exit_descriptor: int | None,
    readers: Iterable[_PipeReader],
    time_limit: float | None,
) -> None:
    """Wait until a process ends, or prints too much, or a time limit (s) is over."""
    if loop is None:
        _wait_without_loop(process, exit_descriptor, readers, time_limit)
        return
    done = loop.create_future()
    # Not `set_result`: it fails if it is called again before the reader is removed.
    for reader in readers:
        reader.on_overflow = done.cancel
    exited: asyncio.Future[object] = done
    if exit_descriptor is not None:
        loop.add_reader(exit_descriptor, done.cancel)
    else:
        exited = loop.run_in_executor(None, process.wait)
    try:
        await asyncio.wait((done, exited), timeout=time_limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if exit_descriptor is not None:
            loop.remove_reader(exit_descriptor)


def _wait_without_loop(
    process: subprocess.Popen[bytes],
    exit_descriptor: int | None,
    readers: Iterable[_PipeReader],
    time_limit: float | None,
) -> None:
    """Wait as `_wait` does. Raises `asyncio.CancelledError` after a signal (see `interruptible`)."""
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    by_descriptor = {reader.descriptor: reader for reader in readers}
    poll = select.poll()
    for descriptor in by_descriptor if exit_descriptor is None else (exit_descriptor, *by_descriptor):
        poll.register(descriptor, select.POLLIN)
    longest = math.inf if exit_descriptor is not None else _EXIT_CHECK_INTERVAL
    with interruptible():
        while process.poll() is None and (left := deadline - time.monotonic()) > 0:
            wait = min(left, longest)
            for descriptor, _ in poll.poll(None if wait == math.inf else wait * 1000):
                reader = by_descriptor.get(descriptor)
                if reader is not None and not reader.read_block() and reader.is_at_end:
                    poll.unregister(descriptor)
            if any(reader.is_overflowing for reader in readers):
                return


async def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process, and none of those that it has started."""
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILL_GRACE)


async def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group: the processes of its session that have not changed their group."""
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not _signal_group(process.pid, number):
                break
            deadline = time.monotonic() + KILL_GRACE
            # The group may outlive its leader; its id is not used again while it exists.
            # There is a deadline for KILL, too: it does not end a process that waits for a dead file server.
            while _is_group_alive(process) and time.monotonic() < deadline:
                await pause(_EXIT_CHECK_INTERVAL)
    except asyncio.CancelledError:  # the event loop ends
        if _is_group_alive(process):
            _signal_group(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(KILL_GRACE)
        raise


def _is_group_alive(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # reaps the leader: as a zombie, it would keep its group alive
    return _signal_group(process.pid, 0)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal (0: none) to a process group; return whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, but belongs to another user
        return True
    return True


@final
class _PipeReader:
    """Collects what is written to a pipe; with an event loop, as soon as it is written."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop, self._pipe = loop, pipe
        self.descriptor = pipe.fileno()
        self.on_overflow: Callable[[], object] | None = None
        self.is_at_end = self.is_overflowing = False
        self._blocks: list[bytes] = []
        self._size = 0
        os.set_blocking(self.descriptor, False)
        if loop is not None:
            loop.add_reader(self.descriptor, self.read_block)

    def read_block(self) -> bool:
        """Read one block; return False if there is none now."""
        try:
            block = os.read(self.descriptor, _READ_SIZE)
        except BlockingIOError:
            return False
        self._size += len(block)
        self.is_overflowing = self._size > MAX_OUTPUT_SIZE
        if self.is_overflowing and self.on_overflow is not None:
            self.on_overflow()
        self.is_at_end = not block or self.is_overflowing
        if self.is_at_end:
            self._stop()
            return False
        self._blocks.append(block)
        return True

    def _stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self.descriptor)

    def close(self) -> None:
        """Read what is there, without waiting for more, and close the pipe."""
        while self.read_block():
            pass
        self._stop()
        self._pipe.close()

    def get_output(self) -> bytes:
        """Return all that was read."""
        return b"".join(self._blocks)


@final
class Channel:
    """The standard input and output of a script, for a thread of this process. It counts the bytes."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout = os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb")
        self.count = 0
        self._is_cut = False
        self._end = b""

    def write(self, data: bytes) -> int:
        """Write all of the data; nothing after a `BrokenPipeError`: to close an archive writes its end."""
        view = memoryview(data)
        while view and not self._is_cut:
            try:
                written = self._stdin.write(view) or 0
            except BrokenPipeError:
                self._is_cut = True
                raise
            self.count += written
            view = view[written:]
        return len(data)

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        data = self._stdout.read1(size)
        self.count += len(data)
        self._end = data[-_END_SIZE:] if len(data) >= _END_SIZE else (self._end + data)[-_END_SIZE:]
        return data

    def has_end(self, mark: str) -> bool:
        """Return whether the last block that was read is that of a script's end; without it, the output was cut."""
        return self._end.rstrip() == mark.encode()

    def wait_for(self, mark: str) -> bool:
        """Skip what a shell prints before a line; return False if that does not come."""
        line = f"{mark}\n".encode()
        return any(found == line for found in self._stdout)

    def close_input(self) -> None:
        """Close the script's standard input."""
        self._is_cut = True
        with contextlib.suppress(OSError):
            self._stdin.close()

    def close(self) -> None:
        """Close both."""
        self.close_input()
        self._stdout.close()


async def exchange(
    command: Sequence[str], script: bytes, time_limit: float, transfer: Callable[[Channel], T]
) -> tuple[ProcessResult, T | OSProfileError]:
    """Run a script in the shell that a command starts, while a thread transfers data; return the results, or its error.

    Raises what `run_process` raises: `ScriptTimeoutError` if nothing was transferred for `time_limit` seconds.
    """
    stdin, to_script = os.pipe()
    from_script, stdout = os.pipe()
    channel = Channel(to_script, from_script)

    def work() -> T | OSProfileError:
        try:
            with contextlib.suppress(BrokenPipeError):  # the end of the script tells why
                channel.write(script)
            return transfer(channel)
        except OSProfileError as error:
            return error
        finally:
            channel.close()

    process = asyncio.ensure_future(run_process(command, stdin, None, stdout=stdout))
    from concurrent.futures import ThreadPoolExecutor  # late: only transfers need it

    pool = ThreadPoolExecutor(1)  # the loop's own may be busy: then nothing would be transferred
    thread = asyncio.get_running_loop().run_in_executor(pool, work)
    count = -1
    try:
        while not process.done():
            if channel.count == count:
                raise build_timeout_error(time_limit, b"", b"")
            count = channel.count
            await asyncio.wait({process}, timeout=time_limit)
    finally:
        process.cancel()
        await asyncio.gather(process, return_exceptions=True)
        os.close(stdin)
        os.close(stdout)  # now the thread cannot wait for anything
        await asyncio.gather(thread, return_exceptions=True)
        pool.shutdown(wait=False)
    return process.result(), thread.result()
