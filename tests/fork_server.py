"""Run `incarnate`, a daemon or a stand-in in a fork of a process that has imported the package: imports are most of their time.

The plugins, tests/cli/test_starting.py, tests/shim/test_path.py, tests/test_wheel.py, and `start` and `shell` of
tests/shim/conftest.py start each command as a process of its own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bundled_documents import keep_bundled_documents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

COMMAND: Final = (sys.executable, "-m", "osprofile")
_PRELOADED: Final = (
    "asyncio",
    "concurrent.futures.thread",
    "ctypes",
    "lxml.etree",
    "encodings.ascii",
    "osprofile.incarnation.incarnate",
    *(
        ".".join(path.with_suffix("").parts)
        for package in ("authoring", "cli", "golden", "javaregex", "jobs", "job_scripts", "shim")
        for path in Path("osprofile", package).rglob("[a-z]*.py")
    ),
    "osprofile.lint.linter",
    "osprofile.executors.blah.server",
    "osprofile.executors.ninfg.server",
    "osprofile.executors.ptp.agent",
    "osprofile.shim.__main__",
)


class Forked:
    """A command that runs in a fork of the server: what the tests use of `subprocess.Popen`.

    The words begin with `incarnate`, the path of a stand-in, or Python's own path and `-m MODULE`.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        stdin: int | IO[bytes] = 0,
        stdout: int | IO[bytes] = 1,
        stderr: int | IO[bytes] = 2,
        cwd: str | Path | None = None,
    ) -> None:
        self.args, self.returncode = words, None
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_start_server())
        with ExitStack() as stack:

            def choose(file: int | IO[bytes], mode: str) -> tuple[int, IO[bytes] | None]:
                if file == subprocess.DEVNULL:
                    return stack.enter_context(open(os.devnull, "r+b")).fileno(), None
                if file != subprocess.PIPE:
                    return file if isinstance(file, int) else file.fileno(), None
                read, write = os.pipe()
                theirs, ours = (read, write) if mode == "wb" else (write, read)
                stack.callback(os.close, theirs)
                return theirs, open(ours, mode, buffering=0)

            (into, self.stdin), (out, self.stdout), (err, self.stderr) = (
                choose(file, mode) for file, mode in ((stdin, "wb"), (stdout, "rb"), (stderr, "rb"))
            )
            directory = os.open(cwd or ".", os.O_RDONLY)  # it may have been removed
            stack.callback(os.close, directory)
            socket.send_fds(self._connection, [b"\n"], [directory, into, out, err])
        self._connection.sendall(json.dumps({"words": [*map(str, words)], "environment": dict(env)}).encode())
        self._connection.shutdown(socket.SHUT_WR)
        self._answers = self._connection.makefile()
        self.pid = int(self._answers.readline())

    def fileno(self) -> int:
        """Return the file that is readable as soon as the command has ended."""
        return self._connection.fileno()

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the command has ended."""
        if self.returncode is None:
            if not select.select([self], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code, or None while the command runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send the command a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def run_incarnate(
    *words: str, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run the command in the current directory to its end, and until nobody has its output open."""
    return run_forked("incarnate", *words, environment=environment, timeout=timeout)


def run_forked(
    *words: str, environment: Mapping[str, str], timeout: float, cwd: str | Path = ".", stdin: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `incarnate`, or the stand-in whose path is the first word, as `run_incarnate` does."""
    ended = read_forked(*words, environment=environment, timeout=timeout, cwd=cwd, stdin=stdin)
    return subprocess.CompletedProcess(words, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def read_forked(
    *words: str, environment: Mapping[str, str], timeout: float, cwd: str | Path = ".", stdin: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as `run_forked` does; its output is bytes."""
    pipe = subprocess.PIPE
    process = Forked(words, env=environment, stdin=stdin, stdout=pipe, stderr=pipe, cwd=cwd)
    assert process.stdout
    assert process.stderr
    answers = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for file in answers:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            if not (ready := selector.select(deadline - time.monotonic())):
                raise subprocess.TimeoutExpired(words, timeout)
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                answers[key.fileobj].extend(data)  # type: ignore[index]
                if not data:
                    selector.unregister(key.fileobj)
        code = process.wait(deadline - time.monotonic())
    return subprocess.CompletedProcess(words, code, *map(bytes, answers.values()))


@cache
def _start_server() -> str:
    """Start a server that ends with this process, but is no child of it, and return the path of its socket."""
    directory = tempfile.TemporaryDirectory(prefix="fork-server-")
    path = f"{directory.name}/socket"
    life, _ = os.pipe()  # the other end is closed as this process ends: then the server ends
    root = Path(__file__).parent.parent
    subprocess.run([sys.executable, "-m", "tests.fork_server", path], stdin=life, cwd=root, check=True)
    os.close(life)
    atexit.register(directory.cleanup)
    return path


def _serve(path: str) -> tuple[bytes, list[int]] | None:
    """Fork a process for each connection until standard input is closed; in such a process, return what to run."""
    for name in _PRELOADED:
        import_module(name)
    keep_bundled_documents()
    # what is made once for all profiles: the schema, patterns, three documents
    import_module("osprofile").load("slurm")
    gc.freeze()  # a collection would copy the pages of what is shared
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(path)
        listener.listen()
        if os.fork():  # the parent waits until the server listens
            return None
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if not key.fd:
                    return None
                if key.data:  # the command has ended
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _answer(*key.data)
                    continue
                connection, _ = listener.accept()
                _, files, _, _ = socket.recv_fds(connection, 1, 4)
                with connection.makefile("rb") as received:
                    request = received.read()
                if not (command := os.fork()):
                    return request, files
                for file in files:
                    os.close(file)
                connection.sendall(b"%d\n" % command)
                selector.register(os.pidfd_open(command), selectors.EVENT_READ, (connection, command))


def _answer(connection: socket.socket, command: int) -> None:
    """Tell the exit code of a command that has ended, if somebody still waits for it."""
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with connection, suppress(OSError):
        connection.sendall(b"%d\n" % code)


def _become_command(request: bytes, directory: int, *files: int) -> None:
    """Run the command in this process, which then ends as any other does."""
    from osprofile.cli.main import main

    asked = json.loads(request)
    os.fchdir(directory)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(asked["environment"])
    words = asked["words"]
    runs_module = words[0] == sys.executable
    sys.argv = words[2:] if runs_module else words
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    try:
        if words[0] == "incarnate":
            main()
        elif runs_module:
            runpy.run_module(words[2], run_name="__main__", alter_sys=True)
        elif Path(words[0]).read_text().startswith("#!/bin/sh"):  # the path of Python cannot be in a line #!
            os.execv(words[0], words)  # noqa: S606  # what a shell would do
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        _exit_soon(end)


def _exit_soon(end: SystemExit) -> None:
    """End this process without deleting what the server has imported, which takes 20 ms.

    Where its output cannot be written, it ends as Python does.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        raise end from None
    if isinstance(end.code, int):
        os._exit(end.code & 0xFF)
    raise end


if __name__ == "__main__":
    if asked := _serve(sys.argv[1]):
        _become_command(asked[0], *asked[1])
