"""Run `incarnate` or a stand-in in a fork of a process that has imported the package: imports are most of their time.

The lab, the plugins, tests/cli/test_starting.py, tests/shim/test_path.py, tests/test_wheel.py, and `start` and `shell` of
tests/shim/conftest.py start each command as a process of its own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND: Final = (sys.executable, "-m", "osprofile")
_PRELOADED: Final = (
    "asyncio",
    "lxml.etree",
    "osprofile.cli.app",
    "osprofile.cli.job.verbs",
    "osprofile.cli.main",
    "osprofile.incarnation.incarnate",
    "osprofile.javaregex.machine",
    "osprofile.javaregex.pattern",
    *(f"osprofile.cli.job.{p.stem}" for p in Path("osprofile/cli/job").glob("[a-z]*.py")),
    *(f"osprofile.jobs.{p.stem}" for p in Path("osprofile/jobs").glob("[a-z]*.py")),
    "osprofile.shim.__main__",
    *(f"osprofile.shim.{p.stem}" for p in Path("osprofile/shim").glob("[a-z]*.py")),
)


def run_incarnate(
    *words: str, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run the command in the current directory to its end, and until nobody has its output open."""
    return run_forked("incarnate", *words, environment=environment, timeout=timeout)


def run_forked(
    *words: str, environment: Mapping[str, str], timeout: float, cwd: str | Path = ".", stdin: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `incarnate`, or the stand-in whose path is the first word, as `run_incarnate` does."""
    request = json.dumps({"words": words, "environment": dict(environment)})
    answers: dict[int, bytes] = {}
    with socket.socket(socket.AF_UNIX) as client, selectors.DefaultSelector() as selector:
        client.connect(_start_server())
        pipes = [os.pipe() for _ in range(2)]
        directory = os.open(cwd, os.O_RDONLY)  # it may have been removed
        socket.send_fds(client, [b"\n"], [directory, stdin, *(write for _, write in pipes)])
        os.close(directory)
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        for read, write in pipes:
            os.close(write)
            selector.register(read, selectors.EVENT_READ)
        selector.register(client, selectors.EVENT_READ)
        deadline = time.monotonic() + timeout
        while selector.get_map():
            for key, _ in selector.select(deadline - time.monotonic()):
                data = os.read(key.fd, 65536)
                answers[key.fd] = answers.get(key.fd, b"") + data
                if not data:
                    selector.unregister(key.fd)
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(words, timeout)
        out, err = (answers[read].decode() for read, _ in pipes)
        for read, _ in pipes:
            os.close(read)
        return subprocess.CompletedProcess(words, int(answers[client.fileno()]), out, err)


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


def _serve(path: str) -> None:
    """Fork a process for each connection until standard input is closed."""
    for name in _PRELOADED:
        import_module(name)
    gc.freeze()  # a collection would copy the pages of what is shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes of connections
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(path)
        listener.listen()
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        if os.fork():  # the parent waits until the server listens
            return
        while all(key.fd for key, _ in selector.select()):
            connection, _ = listener.accept()
            if os.fork():
                connection.close()
                continue
            break
        else:
            return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(connection, 1, 4)
    request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    if command := os.fork():
        for file in files:
            os.close(file)
        status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        connection.sendall(str(status).encode())
        os._exit(0)
    connection.close()
    _become_command(request["words"], request["environment"], *files)


def _become_command(words: list[str], environment: dict[str, str], directory: int, *files: int) -> None:
    """Run the command in this process, which then ends as any other does."""
    from osprofile.cli.main import main

    os.fchdir(directory)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, directory + len(files) + 1)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    try:
        if words[0] == "incarnate":
            main()
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
    _serve(sys.argv[1])
