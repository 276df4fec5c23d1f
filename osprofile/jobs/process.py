"""One process without a terminal, its input given at once, its output collected, its end awaited.

asyncio's own subprocesses need a pipe and a task for the input, and wait for the end of the output:
a daemon that a script leaves behind would hold them up for ever. Here the input is a file in memory
and the end of the process is the end; what it had written until then is its output.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.errors import OutputError, ScriptTimeoutError
from osprofile.jobs.shell import result_from_returncode, shell_start_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence
    from typing import IO

    from osprofile.jobs.shell import ProcessResult

T = TypeVar("T")
MAX_OUTPUT_SIZE: Final = 64 * 1024 * 1024
"""Bytes of one stream that a script may write: the states of half a million jobs."""
KILL_GRACE: Final = 2.0
"""Seconds between the signals TERM and KILL to a script that is ended."""
_READ_SIZE: Final = 256 * 1024
_EXIT_CHECK_INTERVAL: Final = 0.02
"""Seconds between two looks whether what was ended is gone."""


_TERMINATION_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def cancel_on_signal(work: Awaitable[T], received: list[int]) -> T:
    """Do some work; a signal that would end this process cancels it, and is added to `received`."""
    task = asyncio.ensure_future(work)

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    in_main_thread = threading.current_thread() is threading.main_thread()
    for number in _TERMINATION_SIGNALS if in_main_thread else ():
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return await task


async def run_process(
    command: Sequence[str],
    input_data: bytes,
    time_limit: float | None,
    *,
    stdout: int | None = None,
    stderr: int | None = None,
) -> ProcessResult:
    """Run a command with `input_data` as its standard input and collect what it writes until its end.

    Its output goes to the file descriptors `stdout` and `stderr` instead, where they are given.

    It leads a session of its own, all of which is ended (TERM, KILL after PATIENCE) when
    `time_limit` (s; None: without one) is over, the output is longer than MOST_OUTPUT, or this task is cancelled.
    Raises `ScriptError`, `ScriptTimeoutError`, `OutputError`.
    """
    with _open_memory_file(input_data) as stdin:
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  # it takes less than a thread would
                command,
                stdin=stdin,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE if stderr is None else stderr,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise shell_start_error(command[0], error) from None
    loop = asyncio.get_running_loop()
    too_much = asyncio.Event()
    readers = {
        pipe: _PipeReader(loop, pipe, too_much)
        for pipe in (process.stdout, process.stderr)
        if pipe is not None
    }

    def said(pipe: IO[bytes] | None) -> bytes:
        return readers[pipe].get_output() if pipe is not None else b""

    try:
        ended = asyncio.ensure_future(_wait_for_exit(loop, process))
        noise = asyncio.ensure_future(too_much.wait())
        try:
            await asyncio.wait(
                (ended, noise), timeout=time_limit, return_when=asyncio.FIRST_COMPLETED
            )
            if process.poll() is None:
                _raise_limit_error(too_much, time_limit or 0, said(process.stderr))
        finally:
            # The end of the event loop cancels `ended` as it does this task: it tells nothing.
            if process.poll() is None:
                await asyncio.shield(_kill_group(process))
            ended.cancel()
            noise.cancel()
    finally:
        for reader in readers.values():
            reader.close()
    return result_from_returncode(process.returncode, said(process.stdout), said(process.stderr))


@contextlib.contextmanager
def _open_memory_file(data: bytes) -> Iterator[int]:
    """Give a file descriptor at the beginning of a file that holds some bytes."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("script")
    else:
        import tempfile  # with all that it needs, a twentieth of the time that `job submit` takes

        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
        yield handle
    finally:
        os.close(handle)


def _raise_limit_error(
    output_overflow: asyncio.Event, time_limit: float, error_output: bytes
) -> None:
    words = error_output.decode("utf-8", "replace").strip()
    if output_overflow.is_set():
        raise OutputError(f"printed more than {MAX_OUTPUT_SIZE // 1024 // 1024} MiB and was ended")
    message = f"did not end within {time_limit:g} s and was ended"
    raise ScriptTimeoutError(f"{message}; it said: {words}" if words else message)


async def _wait_for_exit(loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system, or a Linux before 5.3
        await loop.run_in_executor(None, process.wait)
        return
    gone = loop.create_future()
    loop.add_reader(handle, gone.cancel)
    try:
        await asyncio.wait((gone,))
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    process.wait()


async def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its session that did not leave its group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal_group(process.pid, number):
            break
        until = time.monotonic() + KILL_GRACE
        # The group may outlive its leader, whose number is given to nobody else until then.
        # Not even KILL ends what waits for a dead file server.
        while _is_group_alive(process) and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(_EXIT_CHECK_INTERVAL)


def _is_group_alive(process: subprocess.Popen[bytes]) -> bool:
    """Say whether anything of a process's group is there; its leader is waited for."""
    process.poll()
    return _signal_group(process.pid, 0)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; say whether it is there."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return True


@final
class _PipeReader:
    """Collects what comes through a pipe."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes], output_overflow: asyncio.Event
    ) -> None:
        self._loop, self._pipe, self._output_overflow = loop, pipe, output_overflow
        self._blocks: list[bytes] = []
        self._size = 0
        os.set_blocking(pipe.fileno(), False)
        loop.add_reader(pipe.fileno(), self._read_block)

    def _read_block(self) -> bool:
        """Take one block; False where there is none now."""
        try:
            block = os.read(self._pipe.fileno(), _READ_SIZE)
        except BlockingIOError:
            return False
        if not block:
            self._loop.remove_reader(self._pipe.fileno())
            return False
        self._size += len(block)
        if self._size > MAX_OUTPUT_SIZE:
            self._output_overflow.set()
            self._loop.remove_reader(self._pipe.fileno())
            return False
        self._blocks.append(block)
        return True

    def close(self) -> None:
        """Take what is left, without waiting for more."""
        while self._read_block():
            pass
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()

    def get_output(self) -> bytes:
        """Give all that came."""
        return b"".join(self._blocks)
