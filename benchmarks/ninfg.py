"""The promise of the Ninf-G Invoke Server: how soon an executable runs, on `linux`.

From the last byte of JOB_CREATE to the running executable, against a bare `sh -c` of the same
command. The executable opens a named pipe, which lets this process go on.

And until the client is told ACTIVE, which takes a query for the job's state. The peer is a shell here, too: of Ninf-G's own
servers, which are no package of a distribution, the one that needs no grid is for ssh (far.py has ours over ssh).

Beside it (Ninf-G 5.0.0, built from source; one sshd on loopback, load 14, in pairs, each after the job before has ended): 0.13
of its time to the running executable, 68 ms against 550, and 0.22 to ACTIVE, 108 ms against 501. It runs an ssh for each job;
ours keeps the connection. The first job of a server, which loads the profile and connects, takes twice as long as its.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from paired import Promise, compare, heading, memory_directory, rounds

ACTIVE_LIMIT = 150
"""Measured: 85 to 90, 196 ms beside 2.2, on a quiet machine; 12 to 28 at loads of 18 to 20, where the shell takes longer.

Most of it is the pause before the first query for the state of a new job.
"""
PROGRAM = shutil.which("tee") or "/usr/bin/tee"
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    name="bench" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>{shell}
</osp:Profile>
"""


def list_request_lines(number: int, host: str, program: str, argument: object, directory: Path) -> list[str]:
    """Return the lines of JOB_CREATE for a job of the profile `bench`."""
    return [
        f"JOB_CREATE {number}", f"hostname {host}", "port 0", "jobmanager bench", "client_name localhost",
        f"executable_path {program}", "backend NORMAL", "count 1", "staging false", f"argument {argument}",
        f"work_directory {directory}", "redirect_enable false", "status_polling 0", "refresh_credential 0", "JOB_CREATE_END",
    ]  # fmt: skip


class Server:
    """A server whose jobs open a named pipe, here or on a host that a template SHELL reaches; it must leave nothing."""

    def __init__(self, root: Path, host: str = "localhost", shell: str = "") -> None:
        self._host = host
        self.pipe, self.jobs = root / "pipe", root / "jobs"
        os.mkfifo(self.pipe)
        self.jobs.mkdir()
        (root / "bench.xml").write_text(PROFILE.format(root=self.jobs, shell=shell))
        environment = {**os.environ, "OSPROFILE_PATH": str(root), "HOME": str(root)}
        words = [sys.executable, "-m", "osprofile.executors.ninfg.main"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=environment
        )
        self._number = 0

    def _line(self, name: str) -> str:
        stream = getattr(self._process, name)
        return str(stream.readline(), "ascii")

    def _send(self, *lines: str) -> None:
        assert self._process.stdin is not None  # noqa: S101  # PIPE
        self._process.stdin.write("".join(f"{line}\r\n" for line in lines).encode())

    def run(self) -> float:
        """Return the seconds from the last byte to the running executable; wait for the job's end."""
        begin = self._create()
        wait_for(self.pipe)
        took = time.perf_counter() - begin
        self._wait_for_end()
        return took

    def run_until_active(self) -> float:
        """Return the seconds from the last byte until ACTIVE is told of the executable, which waits for this process."""
        begin = self._create()
        self._wait_for_state(" ACTIVE")
        took = time.perf_counter() - begin
        wait_for(self.pipe)
        self._wait_for_end()
        return took

    def _create(self) -> float:
        """Request a job; return when its last byte was sent."""
        self._number += 1
        lines = list_request_lines(self._number, self._host, PROGRAM, self.pipe, self.pipe.parent)
        begin = time.perf_counter()
        self._send(*lines)
        return begin

    def _wait_for_state(self, state: str) -> None:
        while not (line := self._line("stderr")).startswith("STATUS_NOTIFY") or state not in line:
            if " FAILED" in line or not line:
                raise RuntimeError(line)

    def _wait_for_end(self) -> None:
        if self._line("stdout") != "S\r\n":
            raise RuntimeError(self._number)
        self._wait_for_state(" DONE")
        while any(self.jobs.glob("*/*")):
            time.sleep(0.001)

    def close(self) -> None:
        """End the server."""
        self._send("EXIT")
        if self._line("stdout") != "S\r\n" or self._process.wait():
            raise RuntimeError(self._process.returncode)


def wait_for(pipe: Path) -> None:
    """Wait until somebody opens a named pipe to write, and has closed it."""
    with pipe.open("rb", buffering=0) as file:
        file.read()


def bare(pipe: Path) -> float:
    """Return the seconds to the running executable by a shell."""
    begin = time.perf_counter()
    process = subprocess.Popen(["sh", "-c", f"{PROGRAM} {pipe} < /dev/null > /dev/null"])
    wait_for(pipe)
    took = time.perf_counter() - begin
    process.wait()
    return took


def main() -> int:
    """Compare and print; 1 where the promise is broken."""
    heading()
    count = rounds()
    with memory_directory() as directory:
        server = Server(Path(directory))
        promise = Promise("JOB_CREATE to the running executable", "a bare sh -c", 14)
        held = [compare(promise, server.run, lambda: bare(server.pipe), count)]
        promise = Promise("JOB_CREATE to ACTIVE", "a bare sh -c", ACTIVE_LIMIT)
        held.append(compare(promise, server.run_until_active, lambda: bare(server.pipe), count))
        server.close()
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
