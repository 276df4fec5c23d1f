"""A daemon over real pipes, byte for byte, that is expected to outlive whatever it is sent."""

from __future__ import annotations

import fcntl
import itertools
import os
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections import deque
from typing import Self

from tests.executors.blah.client import fields
from tests.executors.blah.gridmanager import DAEMON
from tests.waiting import PATIENCE

BANNER = rb"$GahpVersion: 1.8.0 Mar 31 2008 osprofile\ blahpd\ (poly,new_esc_format) $" + b"\r\n"


class Living:
    """A daemon with these options; at the end it must end by itself with code 0, unless it was killed."""

    def __init__(self, *words: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*DAEMON, *words], stdin=pipe, stdout=pipe, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._in, self._out = self.stdin.fileno(), self.stdout.fileno()
        self._code = 0
        self._lines, self._begun = deque[bytes](), b""
        self._marks = itertools.count(100)
        assert self.line() == BANNER

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.stdout.close()
        self.wait()

    def wait(self) -> None:
        """Wait until the daemon has ended as it was to."""
        assert self.process.wait(PATIENCE) == self._code

    def kill(self) -> None:
        """End the daemon as a machine does that loses its power."""
        self._code = -signal.SIGKILL
        self.process.kill()

    def end(self, how: str) -> None:
        """End the daemon in one of the ways in which clients do."""
        if how == "QUIT":
            self.write(b"QUIT\r\n")
        elif how == "SIGTERM":
            self.process.terminate()
        elif how == "the end of stdin":
            self.stdin.close()
        else:  # a client that is gone
            self.stdout.close()
            self.write(b"VERSION\r\n" * 2)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]

    def line(self) -> bytes:
        """Give the next line that the daemon says."""
        while not self._lines:
            assert select.select([self._out], [], [], PATIENCE)[0], "the daemon says nothing"
            block = os.read(self._out, 65536)
            assert block, "the daemon ended"
            *lines, self._begun = (self._begun + block).split(b"\n")
            self._lines.extend(line + b"\n" for line in lines)
        return self._lines.popleft()

    def taken(self) -> None:
        """Wait until the daemon has read all that was written."""
        while struct.unpack("i", fcntl.ioctl(self._in, termios.FIONREAD, b"\0" * 4))[0]:
            time.sleep(0.0002)

    def answers(self, data: bytes) -> list[bytes]:
        """Send data, which may end in mid-line; give all that is said until a mark is answered.

        The mark is a command with a number of parameters that no other has.
        """
        mark = next(self._marks)
        end = b"\r\nVERSION" + b" x" * mark + b"\r\n"
        writer = threading.Thread(target=self.write, args=(data + end,))
        writer.start()
        expected = b"E expected\\ 0\\ parameters,\\ %d\\ found\r\n" % mark
        found = []
        while (line := self.line()) != expected:
            found.append(line)
        writer.join()
        return found

    def results(self, count: int) -> list[list[str]]:
        """Fetch results until there are so many; give their fields."""
        found = list[list[str]]()
        deadline = time.monotonic() + PATIENCE
        while len(found) < count:
            assert time.monotonic() < deadline, found
            reply, *lines = self.answers(b"RESULTS\r\n")
            assert reply == b"S %d\r\n" % len(lines)
            found += [fields(line.removesuffix(b"\r\n")) for line in lines]
            time.sleep(0.005)
        return found

    def memory(self, name: str = "VmHWM") -> int:
        """Give the most KiB that the daemon had in memory (VmRSS: that it has)."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))
