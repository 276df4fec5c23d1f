"""What runs the tests beside busy loops, which it ends."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import wait_until

BUSY = Path(__file__).parent / "busy.sh"


def list_loops(parent: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[3:5] == [b"sh", str(parent).encode()]:
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (None, 3),
        (signal.SIGINT, 128 + signal.SIGTERM),
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGTERM),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_the_loops_end_with_the_command(end: int | None, status: int) -> None:
    command = [str(BUSY), "2", "sh", "-c", "echo up; read -r line; exit 3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        wait_until(lambda: len(list_loops(process.pid)) == 2)
        if end:
            process.send_signal(end)
        else:
            process.communicate("go\n")
        assert process.wait() == status
        wait_until(lambda: not list_loops(process.pid))
