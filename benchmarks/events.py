"""The promise: logs are turned into events about as fast as Globus's own program does it.

Both replay the same log from the page cache into a pipe, in turn, and the streams must be equal byte
for byte. One process is measured by the processor's time, two by the clock's. A brief run's limits are
twice as large: the start counts. The peer is Debian's `globus-scheduler-event-generator`, which reads its
settings from /etc/globus alone: it is run with another directory mounted there, for which root is
needed. HTCondor's logs it cannot read any more; they stand beside PBS's.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEGIN = 1_580_724_000
"""The first event: 2020-02-03 10:00:00 in UTC."""
OURS = Path(sys.executable).with_name("osprofile-seg")
THEIRS = "globus-scheduler-event-generator"
MOUNTED = f'mount --bind "$0" /etc/globus && exec {THEIRS} "$@"'


@dataclass(frozen=True)
class Case:
    """A log, and how large ours / theirs may be at the most (None: there is no peer)."""

    what: str
    source: str
    file: str
    lines: Callable[[int, bool], Iterator[str]]
    limit: float | None
    odd: bool = False
    events: int = 1_000_000
    two: float | None = None
    """The same where two processes replay the log; None: not measured."""


def clock(number: int, form: str) -> str:
    """Return the time of a job as the log writes it."""
    return time.strftime(form, time.gmtime(BEGIN + number // 3))


def pbs(jobs: int, odd: bool) -> Iterator[str]:
    """Write what OpenPBS logs of a job: seven lines, some 930 bytes, three events."""
    for n in range(1, jobs + 1):
        when, job = clock(n, "%m/%d/%Y %H:%M:%S"), f"{n}.pbs0"
        at = f"{when};0008;Server@pbs0;Job;{job};"
        yield f"{when};0100;Server@pbs0;Job;{job};enqueuing into short, state Q hop 1\n"
        yield (
            f"{at}Job Queued at request of alice@login.example.org, "
            f"owner = alice@login.example.org, job name = run_{n}, queue = short\n"
        )
        yield f"{at}Job Modified at request of Scheduler@node1.example.org\n"
        yield f"{at}Job Run at request of Scheduler@node1.example.org on exec_vnode (node1:ncpus=1)\n"
        yield f"{when};0080;Server@pbs0;Job;{job};Obit received momhop:1 serverhop:1 state:R substate:41\n"
        yield (
            f"{when};0010;Server@pbs0;Job;{job};Exit_status={n % 5} resources_used.cpupercent=0 "
            "resources_used.cput=00:00:00 resources_used.mem=3312kb resources_used.ncpus=1 "
            "resources_used.vmem=12345kb resources_used.walltime=00:00:01\n"
        )
        yield f"{when};0100;Server@pbs0;Job;{job};dequeuing from short, state E\n"
        if odd:
            yield f"02/03/20 1:00 pm GMT;0010;Server@pbs0;Job;{job};Exit_status=1\n"


def lsf(jobs: int, odd: bool) -> Iterator[str]:
    """Write what LSF logs of a job: six lines, some 630 bytes, three events."""
    usage = " ".join(["0.083987"] + ["0"] * 17 + ["-1.000000"])
    for n in range(1, jobs + 1):
        at = f'"7.06" {BEGIN + n // 3} {n}'
        state, status, why = ((64, 0, 0), (32, 256 * (n % 7 + 1), 0), (32, 130, 14))[n % 3]
        yield (
            f'"JOB_NEW" {at} 1001 33554438 1 {BEGIN + n // 3} 0 0 0 -65535 "alice" -1 -1 "" "normal" '
            f'"" "login" "/home/alice" "" "/home/alice/out.{n}" "" "/home/alice" "169{n}.{n}" 0 "" '
            f'"" "run_{n}" "./run ""a b"" {n}" 0 "" "" "" "default" 1 "LINUX86" "" "" 0\n'
        )
        yield f'"JOB_START" {at} 4 0 0 60.0 1 "node{n % 64:02}" "" "" 0 "" 0 "" 0\n'
        yield f'"JOB_START_ACCEPT" {at} 8{n} 8{n} 0\n'
        yield f'"JOB_EXECUTE" {at} 1001 8{n} "/home/alice" "/home/alice" "alice" 8{n} 0 "" -1 "" 0\n'
        yield f'"JOB_STATUS" {at} {state} 0 0 0.0840 {BEGIN + n // 3} 1 {usage} {status} 0 {why}\n'
        yield f'"JOB_STATUS" {at} 192 0 0 0.0000 {BEGIN + n // 3} 0 0 0 0\n'
        if odd:
            yield f'"JOB_STATUS" "7.06" {BEGIN - 1} {n} 64 0 0 0.0000 {BEGIN} 0 0 0 0\n'


def sge(jobs: int, odd: bool) -> Iterator[str]:
    """Write what Grid Engine logs of a job: six lines, some 850 bytes, four events."""
    tail = ":0:sge:run.sh:alice:users::default:sge:"
    for n in range(1, jobs + 1):
        at = BEGIN + n // 3
        job = f"{at}:job_log:{at}"
        yield f"{job}:pending:{n}:-1:NONE::alice:login:0:1024:{at}{tail}\n"
        yield f"{job}:sent:{n}:0:NONE:t:master:qmaster:0:1024:{at}{tail}sent to execd\n"
        yield f"{job}:delivered:{n}:0:NONE:r:master:qmaster:0:1024:{at}{tail}job received by execd\n"
        yield (
            f"{at}:acct:all.q:node1:users:alice:run.sh:{n}:sge:0:{at}:{at}:{at}:"
            f"{100 if n % 9 == 0 else 0}:{n % 5}:1:0.01:0.02:0.0:0:0:0:0:5312:0:0:0.0:12:8:0:0:35:9:"
            f"NONE:defaultdepartment:NONE:1:0:0.03:0.0:0.0:-l h_rt=60:0.0:NONE:0.0:0:0\n"
        )
        yield f"{job}:finished:{n}:0:NONE:r:execution daemon:node1:0:1024:{at}{tail}job exited\n"
        yield f"{job}:deleted:{n}:0:NONE:T:scheduler:qmaster:0:1024:{at}{tail}job deleted by schedd\n"
        if odd:
            yield f"{at}:acct:all.q:node1:users:alice:run.sh:{n}:sge:0:0:0:0:0:-1:1:0:0\n"


def fork(jobs: int, odd: bool) -> Iterator[str]:
    """Write what the fork starter logs of a job: two lines, two events."""
    for n in range(1, jobs + 1):
        job = f"2f1ad9a6-4a0c-11ee-8c99-0242ac12{n % 65536:04x}:{n}"
        yield f"001;{BEGIN + n // 3};{job};2;0\n001;{BEGIN + n // 3};{job};8;{n % 5}\n"
        if odd and n % 5 == 0:
            yield f"001;{BEGIN - 1};{job};8;0\n"


def condor(jobs: int, odd: bool) -> Iterator[str]:
    """Write what HTCondor logs of a job: five entries, three events."""
    for n in range(1, jobs + 1):
        when, job = clock(n, "%Y-%m-%d %H:%M:%S"), f"({n:03}.000.000)"
        yield f"000 {job} {when} Job submitted from host: <10.0.0.1:9618?addrs=10.0.0.1-9618>\n...\n"
        yield f"001 {job} {when} Job executing on host: <10.0.0.2:9618?addrs=10.0.0.2-9618>\n...\n"
        yield f"006 {job} {when} Image size of job updated: 1056\n\t1  -  MemoryUsage of job (MB)\n...\n"
        end = (
            "(0) Abnormal termination (signal 9)"
            if odd and n % 3
            else f"(1) Normal termination (return value {n % 5})"
        )
        yield f"005 {job} {when} Job terminated.\n\t{end}\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage\n...\n"


def condor_xml(jobs: int, odd: bool) -> Iterator[str]:
    """Write the same as XML: five elements of some 300 bytes."""
    yield '<?xml version="1.0"?>\n<!DOCTYPE classads SYSTEM "classads.dtd">\n<classads>\n'
    host = '<a n="ExecuteHost"><s>&lt;10.0.0.2:9618?addrs=10.0.0.2-9618&gt;</s></a>'
    for n in range(1, jobs + 1):
        ended = f'<a n="TerminatedNormally"><b v="t"/></a>\n    <a n="ReturnValue"><i>{n % 5}</i></a>'
        for number, kind, rest in (
            (0, "SubmitEvent", '<a n="SubmitHost"><s>&lt;10.0.0.1:9618&gt;</s></a>'),
            (1, "ExecuteEvent", host),
            (6, "JobImageSizeEvent", '<a n="Size"><i>1056</i></a>'),
            (5, "JobTerminatedEvent", ended),
            (28, "JobAdInformationEvent", '<a n="JobStatus"><i>4</i></a>'),
        ):
            if odd and n % 7 == 0:
                yield "<c>\n</c>\n"
            yield (
                f'<c>\n    <a n="MyType"><s>{kind}</s></a>\n    <a n="EventTypeNumber"><i>{number}</i></a>\n'
                f'    <a n="EventTime"><s>{clock(n, "%Y-%m-%dT%H:%M:%S")}</s></a>\n'
                f'    <a n="Cluster"><i>{n}</i></a>\n    <a n="Proc"><i>0</i></a>\n'
                f'    <a n="Subproc"><i>0</i></a>\n    {rest}\n</c>\n'
            )


CASES = (
    Case("pbs", "pbs", "20200203", pbs, 1 / 0.75, two=1.0),
    Case("pbs, one line in eight odd", "pbs", "20200203", pbs, 2 / 0.75, odd=True),
    Case("lsf", "lsf", "lsb.events", lsf, 1 / 0.85, two=1 / 0.85),
    Case("lsf, one line in seven odd", "lsf", "lsb.events", lsf, 2 / 0.7, odd=True),
    Case("sge", "sge", "reporting", sge, 1 / 0.7, events=400_000),
    Case("sge, one line in seven odd", "sge", "reporting", sge, 2 / 0.7, odd=True, events=400_000),
    Case("fork", "fork", "fork.log", fork, 1 / 0.7, events=600_000),
    Case("fork, one line in eleven odd", "fork", "fork.log", fork, 2 / 0.7, odd=True, events=600_000),
    Case("condor", "condor", "user.log", condor, None),
    Case("condor, XML", "condor", "user.log", condor_xml, None),
)
EVENTS_A_JOB = {"pbs": 3, "lsf": 3, "sge": 4, "fork": 2, "condor": 3}


@dataclass
class Replay:
    """One program's replay of a log: seconds, and the stream's digest and length.

    The seconds are the processor's, unless `wall`: other programs' share of a machine would be most
    of what is measured.
    """

    words: list[str]
    environment: dict[str, str]
    events: int
    wall: bool = False
    digest: str = ""
    memory: int = 0

    def __call__(self) -> float:
        """Run it until all events came; return the seconds it took."""
        begin, spent = time.perf_counter(), _processor()
        program = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TZ": "UTC", **self.environment},
        )
        if program.stdout is None or program.stdin is None:
            raise RuntimeError
        digest, left, fd = hashlib.blake2b(digest_size=16), self.events, program.stdout.fileno()
        while left > 0 and (data := os.read(fd, 1 << 16)):
            left -= data.count(b"\n")
            digest.update(data)
        took = time.perf_counter() - begin
        self.memory = max(self.memory, _peak(program.pid))
        if self.words[0] != str(OURS):
            program.kill()  # it looks at its standard input every two seconds
        program.stdin.close()
        rest = program.stdout.read()
        if program.wait() > 0 or left or rest:
            message = f"{self.words}: {left} events too few, {len(rest)} bytes more, {program.returncode}"
            raise RuntimeError(message)
        self.digest = digest.hexdigest()
        return took if self.wall else _processor() - spent


def _processor() -> float:
    """Return the processor time of ended children, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peak(pid: int) -> int:
    """Return the peak memory of a process, in KiB."""
    with Path(f"/proc/{pid}/status").open() as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)


def measure(case: Case, directory: Path, quick: bool) -> bool:
    """Write the case's log, replay it with both, and print."""
    jobs = case.events // EVENTS_A_JOB[case.source] // (8 if quick else 1)
    log = directory / case.file
    with log.open("w") as file:
        file.writelines(case.lines(jobs, case.odd))
    (directory / f"globus-{case.source}.conf").write_text(
        f"log_path={directory if case.source in ('pbs', 'lsf') else log}\n"
    )
    events = jobs * EVENTS_A_JOB[case.source]
    words = ["-s", case.source, "-t", str(BEGIN)]
    ours = [str(OURS), *words, "--processes"]
    settings = {"SEG_CONF_DIR": str(directory)}
    peer = ["unshare", "-m", "sh", "-c", MOUNTED, str(directory), *words]
    one = Replay([*ours, "1"], settings, events)
    what = f"{case.what}: {events} events of {log.stat().st_size >> 20} MiB"
    held = True
    if case.limit is None:
        one.wall = True
        seconds = min(one() for _ in range(3))
        print(f"{what}: {events / seconds / 1e6:.2f} million events a second; no peer reads it")
    else:
        held = beside(Promise(what, THEIRS, case.limit), one, Replay(peer, {}, events), quick)
    if case.two is not None:
        what = f"{case.what}, two processes, by the clock"
        two = Replay([*ours, "2"], settings, events, wall=True)
        theirs = Replay(peer, {}, events, wall=True)
        held = beside(Promise(what, THEIRS, case.two), two, theirs, quick) and held
    log.unlink()
    return held


def beside(promise: Promise, ours: Replay, theirs: Replay, quick: bool) -> bool:
    """Replay with both, in turn, and print; return whether speed, streams and memory are as promised."""
    promise = replace(promise, limit=promise.limit * (2 if quick else 1))
    held = compare(promise, ours, theirs, 3 if quick else 7)
    same = ours.digest == theirs.digest
    print(f"    streams {'equal' if same else 'DIFFER'}, ", end="")
    print(f"{ours.memory >> 10} MiB against {theirs.memory >> 10}", flush=True)
    return held and same and ours.memory < 40 * 1024


def latency(directory: Path) -> None:
    """Print the time from a line's writing to its event."""
    log = directory / "fork.log"
    log.write_text("")
    words = [str(OURS), "-s", "fork", "-t", "1", "--log-path", str(log)]
    waits = []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        if program.stdout is None or program.stdin is None:
            raise RuntimeError
        with log.open("a", buffering=1) as file:
            for n in range(20):
                time.sleep(0.137)
                begin = time.perf_counter()
                file.write(f"001;{BEGIN + n};{n};2;0\n")
                program.stdout.readline()
                waits.append(time.perf_counter() - begin)
        program.stdin.close()
    print(f"from a line's writing to its event: at most {max(waits[1:]) * 1e3:.0f} ms of 19")


def main() -> int:
    """Compare and print; 1 where a promise is broken, 2 where there is no peer."""
    heading()
    if not shutil.which(THEIRS) or os.geteuid() != 0:
        print(f"{THEIRS} is not installed, or this is not root: nothing to compare with")
        return 2
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    with tempfile.TemporaryDirectory() as name:
        cases = [c for c in CASES if not names or c.source in names]
        held = [measure(case, Path(name), "--quick" in sys.argv) for case in cases]
        latency(Path(name))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
