"""A client on a real channel: it listens, starts the agent as Eclipse does, and is as strict."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Self

from tests.executors.ptp.client import (
    INIT,
    JOB,
    MODEL_DEF,
    NODE,
    QUEUE,
    QUIT,
    START,
    STOP,
    SUBMIT,
    TERMINATE,
    Attributes,
    Client,
)
from tests.fork_server import Forked
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import IO

AGENT = (sys.executable, "-m", "osprofile.executors.ptp.main")


class Live:
    """A session with a real agent; `words` follow those that the client itself gives.

    `raw` is all that came, `client` what it means. A context: at the end the agent must be gone.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *words: str,
        proxy: str = "tcp",
        program: tuple[str, ...] = AGENT,
        stderr: Path | None = None,
    ) -> None:
        self.client = Client()
        self.raw = bytearray()
        self._log = open(stderr or os.devnull, "ab")  # noqa: SIM115  # closed in __exit__
        command = [*program, f"--proxy={proxy}"]
        into: int = subprocess.DEVNULL
        out: int | IO[bytes] = self._log
        listener = None
        if proxy == "tcp":
            listener = socket.create_server(("127.0.0.1", 0))
            command += ["--host=127.0.0.1", f"--port={listener.getsockname()[1]}"]
        else:
            into = out = subprocess.PIPE
        command += words
        env = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | Forked
        if program is AGENT:
            self.process = Forked(command, env=env, stdin=into, stdout=out, stderr=self._log)
        else:
            self.process = subprocess.Popen(
                command, env=env, stdin=into, stdout=out, stderr=self._log, bufsize=0
            )
        if listener is not None:
            listener.settimeout(PATIENCE)
            self.socket, _ = listener.accept()
            listener.close()
            self._in = self._out = self.socket.fileno()
        else:
            assert self.process.stdin
            assert self.process.stdout
            self._in, self._out = self.process.stdout.fileno(), self.process.stdin.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()

    def close(self) -> None:
        """Close the channel, as a client that is gone does."""
        if hasattr(self, "socket"):
            self.socket.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    # Bytes

    def write(self, data: bytes) -> None:
        """Send bytes, whatever they are."""
        while data:
            data = data[os.write(self._out, data) :]

    def read(self, seconds: float = PATIENCE) -> bytes:
        """Take what comes next; nothing at the end or when the time is over."""
        if not select.select([self._in], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._in, 256 * 1024)
        except ConnectionResetError:
            data = b""
        self.raw += data
        self.client.receive(data)
        return data

    def read_all(self) -> None:
        """Take all that comes until the end."""
        while self.read():
            pass

    # Conversation

    def until(self, what: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Take what comes until something is true."""
        end = time.monotonic() + seconds
        while not what():
            left = end - time.monotonic()
            assert left > 0, (self.client.elements, self.client.processes, self.client.answers)
            data = self.read(min(left, 1.0))
            assert data or self.process.poll() is None, "the agent is gone"

    def do(self, kind: int, *arguments: str) -> tuple[int, list[str]]:
        """Send a command and give its answer: the event and its arguments."""
        answered = len(self.client.answers)
        self.write(self.client.command(kind, *arguments))
        self.until(lambda: any(a[0] == kind for a in self.client.answers[answered:]))
        return next(a[1:] for a in self.client.answers[answered:] if a[0] == kind)

    def begin(self) -> None:
        """Go through INIT and MODEL_DEF, and start events."""
        answered = len(self.client.answers)
        self.write(self.client.init())
        self.until(lambda: len(self.client.answers) > answered)
        assert self.client.answers[-1] == (INIT, 0, [])
        assert self.do(MODEL_DEF) == (0, [])
        self.start()

    def start(self) -> None:
        """Start events, and wait for machine and queues; the client keeps what it knew before."""
        self.write(self.client.command(START))
        self.until(lambda: self.client.elements[QUEUE] and self.client.elements[NODE])

    def stop(self) -> None:
        """Stop events."""
        assert self.do(STOP) == (0, [])
        assert START not in self.client.open.values()

    def submit(self, *arguments: str, queue: str = "default", sub_id: str = "JOB_1") -> int:
        """Submit a job and give its element id: the job comes before the answer."""
        id_ = self.client.id_of(QUEUE, queue)
        assert self.do(SUBMIT, f"queueId={id_}", f"jobSubId={sub_id}", *arguments) == (0, [])
        found = self.found(sub_id)
        assert found is not None
        return found

    def found(self, sub_id: str) -> int | None:
        """Give the element id of the job with this jobSubId."""
        jobs = self.client.elements[JOB].items()
        return next((i for i, a in jobs if a.get("jobSubId") == sub_id), None)

    def job(self, id_: int) -> Attributes:
        """Give the attributes of a job."""
        return self.client.elements[JOB][id_]

    def process_of(self, id_: int, rank: int = 0) -> Attributes:
        """Give the attributes of a process."""
        return self.client.processes.get(id_, {}).get(rank, {})

    def wait(self, id_: int, state: str = "COMPLETED") -> Attributes:
        """Wait for a job's state, and that of its processes."""
        self.until(lambda: self.job(id_)["jobState"] in {state, "COMPLETED"})
        assert self.job(id_)["jobState"] == state, (self.job(id_), self.client.processes.get(id_))
        if state in {"RUNNING", "COMPLETED"}:
            self.until(lambda: self.process_of(id_).get("processState") == state)
        return self.job(id_)

    def terminate(self, id_: int) -> tuple[int, list[str]]:
        """Terminate a job and give the answer."""
        return self.do(TERMINATE, f"jobId={id_}")

    def quit(self) -> int:
        """End the session and give the exit status; the agent closes the connection first."""
        self.write(self.client.command(QUIT))
        self.read_all()
        assert self.client.closed
        self.close()
        return self.process.wait(PATIENCE)

    def signal(self, number: int = signal.SIGTERM) -> int:
        """Send the agent a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


__all__ = ["Live"]
