"""Shells on a target system that stay open: a script needs no connection of its own.

A shell runs one script at a time. Scripts that run side by side have a shell each, and a shell that is
free is used again. Before a script's output and after it, the shell prints a random word that the script
cannot know, on both streams; so no output is taken for the end of a script. It prints the word once more
when no process of the script is left. A shell that did not print that is closed, as a process that a
script left could print into the answers to later ones.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from typing import TYPE_CHECKING, Final, cast, final
from weakref import WeakSet

from osprofile.jobs.shell import process
from osprofile.jobs.shell.process import ProcessResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

IDLE_TIME: Final = 90.0
"""Seconds after which a shell that runs nothing is closed. Two polls are at most 60 s apart."""
_CLOSE_TIME: Final = 2.0
"""Seconds that a shell has to end after its input was closed."""
_LAST_OUTPUT_TIME: Final = 0.2
"""Seconds to wait for the last output of a command that has ended."""
_CONNECTION_FAILED_STATUS: Final = 255
"""ssh's exit status if the connection fails."""
_SHELL_NAME: Final = re.compile(r"[A-Za-z0-9_/.+-]*sh")
_STREAMS: Final = (1, 2)  # the descriptors of its output and error output
_MAX_IDLE_WORDS: Final = 1000
_MAX_MARK_SIZE: Final = 100  # at least the length of a mark


def find_shell(command: Sequence[str]) -> str | None:
    """Return the shell that a command starts, as "sh" of `ssh HOST sh -s`; None if the command does not show it."""
    program = next((word for word in reversed(command) if not word.startswith("-")), "")
    return program if command[-1] == "-s" and _SHELL_NAME.fullmatch(program) else None


def build_request(shell: str, script: bytes, token: str, time_limit: float | None) -> bytes:
    """Return what an open shell reads to run a script in a new shell, and to tell its exit status on both streams.

    After the line with the exit status comes one with "free", when nothing holds the script's fd 3. A
    process that a script leaves on purpose closes it.

    The script must be one group (see `wrap_script`): if the connection breaks before all of it has
    arrived, the rest is a syntax error, and nothing runs. Where there is a `timeout`, it ends a script
    that exceeds its time limit (s).
    """
    limit = (
        f"${{gpe_timeout:+timeout}} ${{gpe_timeout:+{time_limit + _CLOSE_TIME:.0f}}} "
        if time_limit is not None
        else ""
    )
    return (
        f": ${{gpe_timeout=$(timeout 9 true 2> /dev/null && echo yes)}}; echo {token}; echo {token} >&2\n"
        # fd 5: the shell itself may have words about a script that was killed
        f"{{ {{ {{ {{ {limit}{shell} -s 2>&5 3>&3 4>&- 5>&-; }} 2> /dev/null << '{token}'\n"
    ).encode() + (
        script
        + f"{token}\ngpe_rc=$?; echo; echo {token} $gpe_rc; {{ echo; echo {token} $gpe_rc; }} >&5\n"
        # the pipe ends when all that have fd 3 have ended
        f"}} >&4 5>&2; }} 3>&1 | while read -r gpe_rest; do :; done; }} 4>&1\n"
        f"echo {token} free; echo {token} free >&2\n".encode()
    )


@final
class ShellSession(asyncio.SubprocessProtocol):
    """One open shell. It runs one script at a time."""

    def __init__(self, shell: str) -> None:
        self._shell = shell
        self._loop = asyncio.get_running_loop()
        self._outputs = {stream: bytearray() for stream in _STREAMS}
        self._ends: dict[int, tuple[int, int]] = {}
        """By stream, where the script's output ends, and its exit status."""
        self._begin, self._end_mark, self._free_mark = b"", re.compile(b""), b""
        self._free_streams: set[int] = set()
        """On which the shell has told that no process of the script is left."""
        self._result: asyncio.Future[ProcessResult] | None = None
        """Of the script that runs; None while the shell is free."""
        self._has_begun = False
        """Whether a script has begun. Until then, an error is one of the connection, and nothing has run."""
        self._idle_words = b""
        """What came on stderr while no script ran: why the connection ends, if it ends before the next one begins."""
        self._ended = self._loop.create_future()

    @classmethod
    async def open(cls, command: Sequence[str], shell: str) -> ShellSession:
        """Start the command. Raises `ScriptError` if it cannot be started."""
        session = cls(shell)
        try:
            await process.start_subprocess(session, command)
        except OSError as error:
            raise process.build_start_error(command, error) from None
        return session

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the command that was started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    @property
    def is_open(self) -> bool:
        """Whether the shell has not ended."""
        return not self._ended.done()

    @property
    def is_free(self) -> bool:
        """Whether the shell is open, and no process of the last script is left that may print."""
        return self.is_open and len(self._free_streams) == len(_STREAMS)

    async def run(self, script: bytes, time_limit: float | None) -> ProcessResult:
        """Run a script; see `run_process`. The shell is ended if the script does not end by itself."""
        token = f"osprofile-{os.urandom(16).hex()}"
        self._begin, self._end_mark = f"{token}\n".encode(), re.compile(rf"\n{token} ([0-9]+)\n".encode())
        self._free_mark = f"{token} free\n".encode()
        self._ends.clear()
        self._free_streams.clear()
        for output in self._outputs.values():
            output.clear()
        self._result = self._loop.create_future()
        try:
            self._write(build_request(self._shell, script, token, time_limit))
            # Not `timeout`: if this process was stopped, the end of the script comes together with that of the time.
            await asyncio.wait((self._result,), timeout=time_limit)
            if self._result.done():
                return self._result.result()
            raise process.build_timeout_error(time_limit or 0, *map(self._get_output, _STREAMS))
        finally:
            if not self._result.done() or self._result.cancelled() or self._result.exception():
                self.kill()  # the script goes on, and would print its output before that of the next one
            self._result = None

    def _write(self, data: bytes) -> None:
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        stdin.write(data)  # if nobody reads it, the command has ended, which is told by itself

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Collect output, and find its end."""
        if self._result is None or self._result.done():
            if fd == _STREAMS[1]:
                self._idle_words = (self._idle_words + data)[-_MAX_IDLE_WORDS:]
            return
        output = self._outputs[fd]
        old_size = len(output)
        output += data
        self._has_begun = self._has_begun or self._begin in output
        unread = max(0, old_size - _MAX_MARK_SIZE)  # a mark may have arrived in two parts
        if fd not in self._ends:
            match = self._end_mark.search(output, unread)
            if match is not None:
                self._ends[fd] = match.start(), int(match[1])
                if len(self._ends) == len(_STREAMS):
                    self._loop.call_later(_LAST_OUTPUT_TIME, self._set_result, self._result)
        free = output.find(self._free_mark, unread)
        if free >= 0:
            self._free_streams.add(fd)
            if fd not in self._ends:  # what was to tell the exit status was killed
                del output[free:]
                self.kill()
            elif self.is_free:
                self._set_result(self._result)
        if len(output) > process.MAX_OUTPUT_SIZE and not self._result.done():
            self._result.set_exception(process.build_size_error())

    def _set_result(self, future: asyncio.Future[ProcessResult]) -> None:
        """Set the result of a script that has ended, unless it is set."""
        if future is self._result and not future.done():
            self._idle_words = b""
            stdout, stderr = (self._get_output(stream) for stream in _STREAMS)
            future.set_result(ProcessResult(self._ends[1][1], stdout, stderr))

    def _get_output(self, stream: int) -> bytes:
        """Return what the script has printed, without the lines of the shell; before it begins, all."""
        output = self._outputs[stream]
        begin = output.find(self._begin)
        end = self._ends.get(stream, (len(output), 0))[0]
        return bytes(output[begin + len(self._begin) : end] if begin >= 0 else output)

    def process_exited(self) -> None:
        """Wait for the last output of the command, but not for what holds the output open."""
        self._loop.call_later(_LAST_OUTPUT_TIME, self._end)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Note that the command has ended, and all its output has arrived."""
        self._end()

    def _end(self) -> None:
        if self._ended.done():
            return
        self._ended.set_result(None)
        returncode = self._transport.get_returncode()
        self._transport.close()
        if self._result is not None and not self._result.done():
            stdout, stderr = (self._get_output(stream) for stream in _STREAMS)
            if self._begin not in self._outputs[_STREAMS[1]]:
                stderr = self._idle_words + stderr
            result = process.result_from_returncode(returncode or 0, stdout, stderr)
            if self._has_begun or not result.exit_code:  # it was cut off, whatever ended the shell
                result = ProcessResult(_CONNECTION_FAILED_STATUS, result.stdout, result.stderr)
            self._result.set_result(result)

    def kill(self) -> bool:
        """End the command, and with it the connection; return False if it is another user's.

        Then only its pipes are closed, and it ends when its script does: that has a time limit of its own.
        """
        try:
            if self._transport.get_returncode() is None:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            process.close_pipes(self._transport)
            return False
        return True

    async def close(self) -> None:
        """Close the shell's input, and wait until it has ended."""
        stdin = self._transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        try:
            async with asyncio.timeout(_CLOSE_TIME):
                await asyncio.shield(self._ended)
        except TimeoutError:
            if self.kill():
                await self._ended


@final
class ShellSessionPool:
    """The open shells of a target system: opened when a script needs one, closed when they are idle.

    `build_command` returns the words of the command that starts a shell.
    """

    def __init__(self, build_command: Callable[[], Sequence[str]]) -> None:
        self._build_command = build_command
        self._free: list[tuple[float, ShellSession]] = []
        """With the time (of the loop) from which on they are idle; the last one was used last."""
        self._opened: WeakSet[ShellSession] = WeakSet()
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, script: bytes, time_limit: float | None) -> ProcessResult:
        """Run a script in a free shell, or in a new one; see `run_process`."""
        session = self._take_free()
        if session is None:
            command = self._build_command()
            session = await ShellSession.open(command, find_shell(command) or "sh")
            self._opened.add(session)
        is_usable = False
        try:
            result = await session.run(script, time_limit)
            is_usable = True
            return result
        finally:
            if is_usable and session.is_free:
                self._free.append((asyncio.get_running_loop().time(), session))
                self._close_idle()
            else:
                self._close(session)

    def count_open(self) -> int:
        """Return how many shells are open, free or not."""
        return sum(session.is_open for session in list(self._opened))

    def _take_free(self) -> ShellSession | None:
        """Return the open shell that was used last, if one is free."""
        while self._free:
            _, session = self._free.pop()
            if session.is_open:
                return session
        return None

    def _close_idle(self) -> None:
        """Close the shells that have run nothing for IDLE_TIME, and look again when the next one may have."""
        loop = asyncio.get_running_loop()
        while self._free and self._free[0][0] <= loop.time() - IDLE_TIME:
            self._close(self._free.pop(0)[1])
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(self._free[0][0] + IDLE_TIME, self._close_idle) if self._free else None

    def _close(self, session: ShellSession) -> None:
        task = asyncio.ensure_future(session.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all shells. No script may run."""
        if self._timer is not None:
            self._timer.cancel()
        while self._free:
            self._close(self._free.pop()[1])
        await asyncio.gather(*self._closing)
