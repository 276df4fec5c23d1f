"""A served page as a process of its own, and requests written byte by byte."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs: its process and its port."""

    process: subprocess.Popen[str]
    port: int

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def send(self, data: bytes) -> bytes:
        """Send bytes as they are, and give all that comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection)

    def request(self, line: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Send a request with headers (`_` for `-`; an empty one is left out); status and body."""
        given = {"Host": self.host, "Content_Length": str(len(body)), **headers}
        lines = [line, *(f"{k.replace('_', '-')}: {v}" for k, v in given.items() if v)]
        answer = self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), content

    def ask(self, **question: object) -> Any:  # noqa: ANN401  # as json.loads
        """Ask for a script as the page does."""
        body = json.dumps(question).encode()
        kind, origin = "application/json", f"http://{self.host}"
        status, content = self.request("POST /render HTTP/1.1", body, Content_Type=kind, Origin=origin)
        assert status == 200, content
        return json.loads(content)


def read_all(connection: socket.socket) -> bytes:
    """Return what is received until the peer closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@contextmanager
def served(*words: str, home: Path | None = None) -> Iterator[Served]:
    """Run `incarnate page --serve` with these words, until SIGTERM at the end."""
    command = [sys.executable, "-m", "osprofile", "page", "--serve", *words]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OSPROFILE")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=kept | ({"HOME": str(home)} if home else {}),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), process.communicate()
        yield Served(process, int(url.rstrip("/").rpartition(":")[2]))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
