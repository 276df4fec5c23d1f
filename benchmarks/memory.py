"""The memory of the daemons: idle, and with 1,000 jobs that run; nothing is promised of it but what blah.py and events.py say.

The batch system is a file. The facility and blahpd ask for jobs of their record, the proxy of PTP and the Ninf-G server
submit their own, and the event generator follows a log in which 1,000 jobs are submitted. The resident set, in MB.
Needs the extra `facility` (`.venv-plugins/bin/python benchmarks/memory.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from blah import Client
from events import condor
from facility import open_resource
from ninfg import list_request_lines
from paired import heading
from ptp import BASE, read_groups
from record import PROFILE
from simulated import read_memory

from osprofile.executors.ptp.wire import FrameReader, encode_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

JOBS = 1000
PATIENCE = 300
FIELDS = "&lt;ARGUMENTS&gt; &lt;STDOUT&gt; &lt;STDERR&gt; "
"""Those that the Ninf-G server sets beside those of the profile: a job with a field that START does not use is refused."""
APPENDING = """printf 'n%s running\\n' "${{d##*-}}" >> '{root}/states'
"""


def show(name: str, idle: float, busy: float) -> None:
    """Print a line."""
    print(f"{name}: {idle:.0f} MB idle, {busy:.0f} MB with {JOBS} jobs", flush=True)


def settle(pid: int) -> float:
    """Return the MB of a process that has had time to begin, or to end what it does."""
    time.sleep(2)
    return read_memory(pid)


def start(module: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a daemon."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", f"osprofile.{module}", *words]
    return subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)


def read_lines(stream: object, count: int, text: bytes) -> None:
    """Read until so many lines with a text have come."""
    while count:
        line = stream.readline()  # type: ignore[attr-defined]  # a pipe
        if not line:
            raise RuntimeError(text)
        count -= text in line


def measure_blah(root: Path) -> None:
    """Ask for the states of jobs, as HTCondor does."""
    config = root / "blah.toml"
    config.write_text("")
    with Client(config) as client:
        idle = settle(client.process.pid)
        found = client.ask(b"BLAH_JOB_STATUS bench/20261121/b%d" % n for n in range(JOBS))
        if sum(b" 0 No\\ Error 2 [" in line for line in found) != JOBS:
            raise RuntimeError(found[0])
        show("osprofile-blahpd", idle, settle(client.process.pid))


def measure_ptp(root: Path) -> None:
    """Submit jobs to the proxy, and wait until each is shown."""
    agent = start("executors.ptp.main", "--proxy=stdio", "--profile", str(root / "bench.xml"))
    assert agent.stdin is not None  # noqa: S101  # PIPE
    assert agent.stdout is not None  # noqa: S101
    agent.stdin.write(encode_frame(1, 0, ["version=2.0", f"baseId={BASE}"]))
    agent.stdin.write(encode_frame(2, 1, []) + encode_frame(3, 2, []))
    reader, shown, idle = FrameReader(1 << 20), 0, 0.0
    while shown < JOBS:
        reader.receive_data(agent.stdout.read(1 << 16))
        for number, _, args in iter(reader.next_frame, None):
            if number == 224:  # the queue
                idle = settle(agent.pid)
                job = [f"queueId={args[2]}", "execPath=/bin", "execName=true"]
                agent.stdin.write(
                    b"".join(encode_frame(5, 3 + n, [*job, f"jobSubId={n}"]) for n in range(JOBS))
                )
            elif number == 220:
                shown += sum(count for count, _ in read_groups(args[1:]))
    show("osprofile-ptp-proxy", idle, settle(agent.pid))
    agent.kill()


def measure_ninfg(root: Path) -> None:
    """Create jobs, each when the one before was accepted, as a client does, and wait until all are told to be active."""
    server = start("executors.ninfg.main")
    assert server.stdin is not None  # noqa: S101  # PIPE
    assert server.stdout is not None  # noqa: S101
    idle = settle(server.pid)
    for number in range(JOBS):
        lines = list_request_lines(number + 1, "localhost", "/bin/true", "x", root)
        server.stdin.write("".join(f"{line}\r\n" for line in lines).encode())
        if (reply := server.stdout.readline()) != b"S\r\n":
            raise RuntimeError(reply)
    read_lines(server.stderr, JOBS, b" ACTIVE")
    show("osprofile-ninfg", idle, settle(server.pid))
    server.kill()


def measure_events(root: Path) -> None:
    """Follow a log to which the jobs are added."""
    log = root / "condor.log"
    log.touch()
    generator = start("events.seg_command", "-s", "condor", "--log-path", str(log))
    idle = settle(generator.pid)
    with log.open("a") as file:
        file.writelines(condor(JOBS, odd=False))
    read_lines(generator.stdout, 3 * JOBS, b"001;")
    show("osprofile-seg", idle, settle(generator.pid))
    generator.kill()


def measure_facility(root: Path) -> None:
    """Ask for a list of all jobs."""
    config = root / "facility.toml"
    config.write_text(f'store = "{root}/jobs.db"\n[resources.bench]\nprofile = "bench"\n')
    daemon = start("executors.facility.main", "--config", str(config), "--port", "0")
    assert daemon.stdout is not None  # noqa: S101  # PIPE
    address = next(word for word in daemon.stdout.readline().decode().split() if word.startswith("http"))
    idle = settle(daemon.pid)
    token = (root / "facility-token").read_text().strip()
    request = urllib.request.Request(  # noqa: S310  # the daemon's own address
        f"{address.rstrip('/')}/compute/status/bench?limit={JOBS}",
        b"{}",
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
        if (count := len(json.load(answer))) != JOBS:
            raise RuntimeError(count)
    show("osprofile-facility", idle, settle(daemon.pid))
    daemon.kill()


def main(measures: Sequence[str]) -> None:
    """Measure each daemon, or those that are named."""
    heading()
    for name in measures or ("blah", "events", "ptp", "ninfg", "facility"):
        with tempfile.TemporaryDirectory(prefix="bench-memory-", ignore_cleanup_errors=True) as directory:
            root = Path(directory)
            os.environ |= {
                "HOME": directory,
                "OSPROFILE_PATH": directory,
                "OSPROFILE_STORE": f"{root}/jobs.db",
            }
            open_resource(root)
            text = PROFILE.replace("printf 'n%s", f"{APPENDING}printf 'n%s", 1)
            text = text.replace("'&lt;DIRECTORY", f"{FIELDS}'&lt;DIRECTORY", 1)
            (root / "bench.xml").write_text(text.format(name="bench", root=root))
            globals()[f"measure_{name}"](root)


if __name__ == "__main__":
    main(sys.argv[1:])
