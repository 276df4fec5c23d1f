"""A GridRPC client's side of the three pipes, as unforgiving as the real one.

What makes the real client hang, or deaf, is an error here: a line without CR LF, a second end of a
job, an end after EXIT, anything that is no protocol. It matches by prefix, as that does, and drops
notifies of jobs that it does not know yet.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from tests.fork_server import Forked
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

SERVER = (sys.executable, "-m", "osprofile.executors.ninfg.main")
TERMINAL = ("DONE", "FAILED")
STATES = ("PENDING", "ACTIVE", *TERMINAL)

# What the C client of version 5.0.0 sends, in its order.
PLAIN: Mapping[str, str] = {
    "hostname": "localhost",
    "port": "0",
    "client_name": "client.example.org",
    "executable_path": "/bin/true",
    "backend": "NORMAL",
    "count": "1",
    "staging": "false",
    "argument": "--client=client.example.org:4000",
    "work_directory": "/",
    "redirect_enable": "false",
    "status_polling": "0",
    "refresh_credential": "0",
}


class HungError(AssertionError):
    """The real client would wait for ever, or misunderstand."""


def demand(condition: object, message: str) -> None:
    """Raise `HungError` unless a condition holds."""
    if not condition:
        raise HungError(message)


def attributes(*more: tuple[str, str], **changed: str | Sequence[str] | None) -> list[tuple[str, str]]:
    """Give the attributes of a job: the plain ones, changed; a sequence is sent one by one."""
    pairs: list[tuple[str, str]] = [*more]
    for name, value in {**PLAIN, **changed}.items():
        if value is None:
            continue
        pairs += [(name, v) for v in ([value] if isinstance(value, str) else value)]
    return pairs


def shell(text: str, **changed: str | Sequence[str] | None) -> list[tuple[str, str]]:
    """Give the attributes of a job that runs shell text."""
    return attributes(executable_path="/bin/sh", argument=["-c", text], **changed)


def output(out: Path, err: Path | None = None) -> dict[str, str]:
    """Give the attributes that put standard output, and perhaps standard error, into files."""
    return {"redirect_enable": "true", "stdout_file": str(out), **({"stderr_file": str(err)} if err else {})}


def block(request_id: str, pairs: Iterable[tuple[str, str]]) -> bytes:
    """Give a JOB_CREATE as the client sends it."""
    lines = [f"JOB_CREATE {request_id}", *map(" ".join, pairs), "JOB_CREATE_END", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


@dataclass
class Client:
    """A client that has started a server; used with `with`, it ends it whatever happens."""

    environment: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()
    log: Path | None = None
    command: Sequence[str] = SERVER
    pass_fds: Sequence[int] = ()
    directory: Path | None = None

    def __post_init__(self) -> None:
        log = ["-l", str(self.log)] if self.log else []
        words, pipe = [*self.command, *log, *self.words], subprocess.PIPE
        env, cwd = {**os.environ, **self.environment}, self.directory
        self.process: subprocess.Popen[bytes] | Forked
        if self.command is SERVER and not self.pass_fds:
            self.process = Forked(words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd)
        else:
            self.process = subprocess.Popen(
                words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                env=env,
                cwd=cwd,
                pass_fds=self.pass_fds,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ, "out")
        self._selector.register(self.process.stderr, selectors.EVENT_READ, "err")
        self.raw = {"out": b"", "err": b""}
        self._rest = {"out": b"", "err": b""}
        self.replies: list[str] = []
        self.created: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.states: dict[str, list[str]] = {}
        self.texts: dict[str, str] = {}
        self._has_sent_exit = False
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.hang_up()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.hang_up()
        self._selector.close()
        self._close_output()

    def _close_output(self) -> None:
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    # Hearing

    def hear(self, seconds: float = PATIENCE) -> bool:
        """Take what comes within some time; False if nothing came."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            if not data:
                self._selector.unregister(key.fileobj)
            self.raw[key.data] += data
            *lines, self._rest[key.data] = (self._rest[key.data] + data).split(b"\n")
            for line in lines:
                demand(line.endswith(b"\r"), f"a line without CR LF on std{key.data}: {line!r}")
                text = line[:-1].decode()
                if key.data == "out":
                    self.replies.append(text)
                else:
                    self._notify(text)
        return bool(ready)

    def _notify(self, line: str) -> None:
        words = line.split(" ", 3)
        if line.startswith("CREATE_NOTIFY ") and words[2] == "S":
            self.created[words[1]] = words[3]
            self.states[words[3]] = []
        elif line.startswith("CREATE_NOTIFY ") and words[2] == "F":
            self.refused[words[1]] = words[3]
        else:
            demand(line.startswith("STATUS_NOTIFY "), f"this is no notify: {line!r}")
            self._status(words[1], words[2], words[3] if len(words) > 3 else "")

    def _status(self, job: str, state: str, text: str) -> None:
        known = self.states.get(job)
        if known is None:  # too early: the real client drops it
            return
        demand(state in STATES, f"{state!r} is no state")
        demand(not known or known[-1] not in TERMINAL, f"job {job} had ended already: {known}, {state}")
        is_heard = state not in TERMINAL or not self._has_sent_exit
        demand(is_heard, f"job {job} ended after EXIT: the client is deadlocked")
        known.append(state)
        self.texts[job] = text

    def until(self, what: Callable[[], object], name: str = "end of waiting") -> None:
        """Listen until something is true."""
        end = time.monotonic() + PATIENCE
        while not what():
            is_there = time.monotonic() <= end and self._selector.get_map()
            demand(is_there, f"no {name}; heard {self.raw}")
            self.hear(0.1)

    # Saying

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._stdin.write(data)

    def reply(self) -> str:
        """Wait for the next reply's line."""
        self.until(lambda: self.replies, "reply")
        return self.replies.pop(0)

    def ask(self, request: str) -> str:
        """Send a request of one line and give the reply."""
        self.send(request.encode() + b"\r\n")
        return self.reply()

    def query_features(self) -> list[str]:
        """Ask for the features as a client of version 5 does."""
        lines = [self.ask("QUERY_FEATURES")]
        while lines[0].startswith("SM") and not lines[-1].startswith("REPLY_END"):
            lines.append(self.reply())
        return lines

    def create(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Create a job and give its id, as handle_init does."""
        self._number += 1
        request_id = str(self._number)
        self.send(block(request_id, pairs))
        reply = self.reply()
        assert reply == "S", reply
        self.until(lambda: request_id in self.created, f"CREATE_NOTIFY {request_id}")
        return self.created[request_id]

    def wait(self, job: str, *states: str) -> str:
        """Wait until a job is in one of these states; without any, for its end."""
        wanted = states or TERMINAL
        self.until(lambda: self.states[job] and self.states[job][-1] in wanted, f"STATUS_NOTIFY {job}")
        return self.states[job][-1]

    def run(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Create a job, wait for its end, and destroy it, as handle_destruct does."""
        job = self.create(pairs)
        end = self.wait(job)
        assert self.ask(f"JOB_DESTROY {job}") == "S"
        return end

    def exit(self) -> int:
        """Send EXIT, which must be answered, and give the server's exit code."""
        self._has_sent_exit = True
        assert self.ask("EXIT") == "S"
        return self.end()

    def hang_up(self) -> None:
        """Close the pipe to the server."""
        if not self._stdin.closed:
            self._stdin.close()

    def end(self) -> int:
        """Wait for the server's end; nothing may be left half said."""
        while self._selector.get_map():
            demand(self.hear(), "the server does not end")
        assert self._rest == {"out": b"", "err": b""}
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Do what a killed client does: all of its ends are closed at once."""
        self.hang_up()
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
        self._close_output()

    def close_one(self, stream: str) -> None:
        """Close the end of stdout or stderr alone."""
        pipe = getattr(self.process, stream)
        self._selector.unregister(pipe)
        pipe.close()

    def terminate(self) -> None:
        """Send the server SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
