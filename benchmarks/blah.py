"""The promises of the BLAH daemon, on a real Slurm (root; tests/lab/ci.sh brings one up).

Submitting jobs that cannot start, one by one and as HTCondor does, 50 in flight: against START's scripts
without a daemon, one by one and as many at a time as the daemon runs, which is what the machine can do,
and against bare sbatch. The ends of jobs, against squeue. VERSION, sent without a pause: against a bare asyncio server that
echoes lines. 5,000 jobs asked for as HTCondor does: the queries of a poll, counted by a squeue
that notes each of its calls. The daemon's memory.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from paired import Promise, compare, deploy, heading, rounds

import osprofile
from osprofile.executors.blah.settings import Settings
from osprofile.jobs.shell.scripts import wrap_script

if TYPE_CHECKING:
    from collections.abc import Iterable

DAEMON = (sys.executable, "-m", "osprofile.executors.blah.main")
PARTITION = "bench-blah"
WATCHED, ARRAY, WINDOW = 5000, 1000, 50
FLIGHTS = {1: 6, 8: 4, 32: 3}
"""Submissions in flight, and how many times as long as bare sbatch they may take.

The aims are 2, 1.25 and 1.25; measured: 2.1, 1.9 and 1.5 on a quiet machine, 3.7 to 5.5, 2.9 and 1.8 on a busy one. A shell
for each job that makes a directory, copies the script to it and runs sbatch takes 1.4, 1.35 and 1.15.

sbatch itself takes 2.7 ms of processor time, and the daemon 1.6: the ad, START's text, the record, and the job's
directory, which it makes, checks, locks and fills. START starts one shell beside sbatch, which takes 2.3 ms: it reads the
programs, makes the mark, runs sbatch in a shell of its own and writes the id. Those that wait
together share it: 1 ms remains of each, for the processes and files of a submission of its own.
"""
PAIRS = 9
"""Measurements of each kind; a brief run has fewer."""
PAUSE = 10
"""Seconds for which an answer of the batch system is good enough."""
MOST_MEMORY = 80
ECHO = """
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
asyncio.run(main())
"""
COUNTING = """#!/bin/sh
printf '%s\\n' "$*" >> {calls}
exec {squeue} "$@"
"""


PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="slurm" extends="slurm">
  <osp:UspaceRoot>{root}</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""


class Pipe:
    """A process that answers lines with lines."""

    def __init__(self, *words: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdin is not None  # noqa: S101  # PIPE
        assert self.process.stdout is not None  # noqa: S101
        self._in, self._out = self.process.stdin, self.process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._in.close()
        self._out.close()
        if self.process.wait(60):
            raise RuntimeError(self.process.args)

    def say(self, data: bytes) -> None:
        """Send data."""
        self._in.write(data)
        self._in.flush()

    def line(self) -> bytes:
        """Wait for a line."""
        return self._out.readline()

    def pipelined(self, line: bytes, count: int) -> float:
        """Return the seconds until a line that was sent so many times is answered as often."""
        sender = threading.Thread(target=self.say, args=(line * count,))
        begin = time.perf_counter()
        sender.start()
        for _ in range(count):
            if not self._out.readline():
                raise RuntimeError(line)
        took = time.perf_counter() - begin
        sender.join()
        return took


class Client(Pipe):
    """The daemon, and a client that asks as HTCondor does."""

    def __init__(self, config: Path, environment: dict[str, str] | None = None) -> None:
        super().__init__(*DAEMON, "--config", str(config), environment=environment)
        self._numbers = itertools.count(1)
        if not self.line().startswith(b"$GahpVersion: 1.8.0 "):
            raise RuntimeError(self.process.args)
        self.say(b"ASYNC_MODE_ON\r\n")
        self.line()

    def ask(self, requests: Iterable[bytes]) -> list[bytes]:
        """Send commands, WINDOW of them at a time; give their results."""
        found: list[bytes] = []
        waiting = 0
        requests = iter(requests)
        while True:
            some = list(itertools.islice(requests, WINDOW - waiting))
            for request in some:
                command, *rest = request.split(b" ", 1)
                words = [command, b"%d" % next(self._numbers), *rest]
                self.say(b" ".join(words))
                self.say(b"\r\n")
            waiting += len(some)
            if not waiting:
                return found
            answers = 0
            notified = False
            while answers < len(some) or not notified:
                line = self.line()
                answers += line == b"S\r\n"
                notified = notified or line == b"R\r\n"
                if line not in {b"S\r\n", b"R\r\n"}:
                    raise RuntimeError(line)
            self.say(b"RESULTS\r\n")
            count = int(self.line().split()[1])
            found += [self.line() for _ in range(count)]
            waiting -= count

    @property
    def memory(self) -> float:
        """The most MB that the daemon's process had in memory."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024


def escaped(text: str) -> bytes:
    """Escape an argument."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ").encode()


def submit_ad(root: Path) -> bytes:
    """Return a submission as HTCondor's gridmanager sends it, for a partition that is down."""
    text = (
        f'[ In = "/dev/null"; Cmd = "/bin/sleep"; Err = "/dev/null"; Iwd = "{root}"; Out = "/dev/null";'
        f' Args = "600"; gridtype = "slurm"; Queue = "{PARTITION}"; StageCmd = false;'
        ' Environment = "X=1"; GridResource = "batch slurm" ]'
    )
    return b"BLAH_JOB_SUBMIT " + escaped(text)


def starting(root: Path, jobs: int, at_once: int) -> float:
    """Return the seconds in which xargs runs START's scripts for such jobs, so many at a time."""
    profile = osprofile.load("slurm")
    deploy(profile)
    scripts = Path(tempfile.mkdtemp(dir=root))
    for number in range(jobs):
        start = osprofile.incarnate(
            profile,
            "START",
            fields={"QUEUE": PARTITION, "EXECUTABLE": "/bin/sleep", "ARGUMENTS": "'600'"},
            context={**osprofile.new_context(profile), "WORKING_DIRECTORY": f"{scripts}/{number}.d"},
        )
        (scripts / f"{number}.sh").write_bytes(wrap_script(start.text))
    words = ["xargs", "-P", str(at_once), "-n", "1", "sh", "-c", 'exec sh -s < "$0" > /dev/null']
    begin = time.perf_counter()
    subprocess.run(words, input="\n".join(map(str, scripts.glob("*.sh"))), text=True, check=True)
    return time.perf_counter() - begin


def submit(client: Client, request: bytes, count: int) -> list[str]:
    """Send a submission so many times at once; return the ids of the jobs."""
    results = client.ask([request] * count)
    if any(b" No\\ error slurm/" not in result for result in results):
        raise RuntimeError(results)
    return [result.split()[-1].decode() for result in results]


def repeat(words: list[str], arguments: Iterable[str], at_once: int) -> float:
    """Return the seconds in which xargs runs a command for each argument, so many at a time."""
    text = "".join(f"{argument}\n" for argument in arguments)
    call = ["xargs", "-P", str(at_once), "-d", "\\n", "-n", "1", *words]
    begin = time.perf_counter()
    subprocess.run(call, input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def asking(root: Path, config: Path, jobs: int, pairs: int) -> None:
    """Compare the first status of each ended job, which tells its end, with `squeue` of each.

    It is printed to be known, and promises nothing: one query of ours has all jobs that Slurm still
    lists, which are thousands after other tests, and one of squeue has one job.
    """
    request = submit_ad(root).replace(PARTITION.encode(), b"debug").replace(b"/bin/sleep", b"/bin/true")
    ids: list[str] = []

    with Client(config) as client:

        def ours(in_flight: int) -> float:
            ids[:] = submit(client, request, jobs)
            words = ["squeue", "-h", "-p", "debug", "-t", "PD,R,CG"]
            while subprocess.run(words, check=True, capture_output=True).stdout:
                time.sleep(0.2)
            time.sleep(Settings().max_age)  # no answer from before is used
            begin = time.perf_counter()
            for first in range(0, jobs, in_flight):
                results = client.ask(
                    f"BLAH_JOB_STATUS {job_id}".encode() for job_id in ids[first : first + in_flight]
                )
                if any(b" No\\ Error 4 [" not in result for result in results):
                    raise RuntimeError(results)
            return time.perf_counter() - begin

        def theirs(in_flight: int) -> float:
            numbers = [job_id.rpartition("/")[2] for job_id in ids]
            return repeat(["squeue", "-h", "-t", "all", "-j"], numbers, in_flight)

        for count in [*FLIGHTS][:2]:
            compare(
                Promise(f"the ends of {jobs} jobs, {count} in flight", f"xargs -P {count} squeue -j", 1),
                lambda count=count: ours(count),
                lambda count=count: theirs(count),
                pairs,
            )


def submitting(root: Path, config: Path, jobs: int, pairs: int) -> bool:
    """Compare submitting with START's scripts alone, and with a loop of bare sbatch.

    The first says what the daemon costs, the other what the user waits for. A brief run leaves the other out.
    """
    job = root / "job.sh"
    job.write_text("#!/bin/sh\n#SBATCH --output=/dev/null\nX=1; export X; exec /bin/sleep 600\n")
    bare = ["sbatch", "--parsable", "-p", PARTITION, str(job)]

    with Client(config) as client:

        def ours(in_flight: int) -> float:
            begin = time.perf_counter()
            for first in range(0, jobs, in_flight):
                submit(client, submit_ad(root), min(in_flight, jobs - first))
            return time.perf_counter() - begin

        each, flight = (f"{jobs} submissions, {how}" for how in ("one by one", f"{WINDOW} in flight"))
        peer = "sh -s < START's script, {} at a time"
        held = [
            compare(
                Promise(how, peer.format(at_once), 1 / 0.6),
                lambda in_flight=in_flight: ours(in_flight),
                lambda at_once=at_once: starting(root, jobs, at_once),
                pairs,
            )
            for how, in_flight, at_once in ((each, 1, 1), (flight, WINDOW, Settings().at_once))
        ]
        held += [
            compare(
                Promise(f"{jobs} submissions, {at_once} in flight", f"xargs -P {at_once} sbatch", limit),
                lambda at_once=at_once: ours(at_once),
                lambda at_once=at_once: repeat(bare, [""] * jobs, at_once),
                pairs,
            )
            for at_once, limit in (FLIGHTS.items() if pairs >= PAIRS else ())
        ]
        return all(held)


def talking(config: Path, lines: int, pairs: int) -> bool:
    """Compare VERSION with an echo of the same line."""
    with Client(config) as client, Pipe(sys.executable, "-c", ECHO) as echo:
        promise = Promise(f"{lines} VERSIONs without a pause", "a bare asyncio echo", 1.25)
        line = b"VERSION\r\n"
        return compare(
            promise, lambda: client.pipelined(line, lines), lambda: echo.pipelined(line, lines), pairs
        )


def watching(root: Path, polls: int) -> bool:
    """Ask for many jobs' states as HTCondor does; count the queries, and measure the memory."""
    calls, tools, config = root / "calls", root / "tools", root / "watching.toml"
    tools.mkdir()
    (tools / "squeue").write_text(COUNTING.format(calls=calls, squeue=shutil.which("squeue")))
    (tools / "squeue").chmod(0o755)
    calls.touch()
    config.write_text(f"max_age = {PAUSE}\nfastest = 3600\nslowest = 3600\n")
    ids = [
        f"slurm/20261121/{job}_{number}"
        for job in (held_array() for _ in range(WATCHED // ARRAY))
        for number in range(ARRAY)
    ]
    took = []
    with Client(config, {"PATH": f"{tools}:{os.environ['PATH']}"}) as client:
        for poll in range(polls):
            if poll:
                time.sleep(PAUSE)  # the last answer is too old now
            begin = time.perf_counter()
            found = client.ask(f"BLAH_JOB_STATUS {job_id}".encode() for job_id in ids)
            took.append(time.perf_counter() - begin)
            if sum(b" 0 No\\ Error 1 [" in line for line in found) != WATCHED:
                raise RuntimeError(found[0])
        client.ask([b"BLAH_JOB_STATUS_ALL"])
        memory = client.memory
    queries = len(calls.read_text().splitlines())
    one = queries == polls and max(took) < PAUSE
    few = memory < MOST_MEMORY
    print(
        f"{WATCHED} jobs, each asked for in {polls} polls: {queries} queries "
        f"(one a poll: {'held' if one else 'BROKEN'}); {max(took):.1f} s a poll"
    )
    print(
        f"memory with {WATCHED} jobs: {memory:.1f} MB (at most {MOST_MEMORY}: {'held' if few else 'BROKEN'})"
    )
    return one and few


def held_array() -> str:
    """Submit ARRAY jobs that cannot start; give their id."""
    words = [
        "sbatch",
        "--parsable",
        f"--array=0-{ARRAY - 1}",
        "-p",
        PARTITION,
        "-o",
        os.devnull,
        "--wrap",
        "true",
    ]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Compare and print; 1 where a promise is broken."""
    heading()
    quick = rounds() < 10
    with tempfile.TemporaryDirectory(prefix="bench-blah-") as directory:
        root = Path(directory)
        os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = directory
        config = root / "blahpd.toml"
        (root / "profiles" / "slurm").mkdir(parents=True)
        profile = root / "profiles" / "slurm" / "profile.xml"
        profile.write_text(PROFILE.format(root=root / "jobs"))
        os.environ["OSPROFILE_PATH"] = str(root / "profiles")
        config.write_text("")
        subprocess.run(
            ["scontrol", "create", f"PartitionName={PARTITION}", "Nodes=ALL", "State=DOWN"], check=True
        )
        try:
            held = [
                talking(config, 20_000, 3 if quick else PAIRS),
                submitting(root, config, WINDOW, 3 if quick else PAIRS),
                watching(root, 2 if quick else 5),
            ]
            if not quick:
                asking(root, config, WINDOW, 3)
        finally:
            subprocess.run(["scancel", "--partition", PARTITION], check=True)
            subprocess.run(["scontrol", "delete", f"PartitionName={PARTITION}"], check=True)
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
