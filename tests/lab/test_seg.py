"""The event generator beside Globus's own: the same logs through both give the same stream.

Debian's `globus-scheduler-event-generator` reads its settings from /etc/globus alone, so it is run
with another directory mounted there. Where the page lists a fault of it (seg.md, "Faults of the original"),
the case says what ours does instead.
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

THEIRS = "globus-scheduler-event-generator"
MOUNTED = f'mount --bind "$0" /etc/globus && exec {THEIRS} "$@"'
OURS = Path(sys.executable).with_name("osprofile-seg")
BEGIN = 1_580_724_000
QUIET = 0.8
"""Seconds without an event after which a log counts as read to its end."""

pytestmark = pytest.mark.skipif(
    not shutil.which(THEIRS) or os.geteuid() != 0, reason="tests/lab/ci.sh installs it; root mounts"
)


class Log(NamedTuple):
    """A scheduler's log files, by name, and the time from which events are asked for."""

    source: str
    files: dict[str, str]
    since: int = BEGIN
    zone: str = "UTC"


def stream(words: list[str], log: Log, directory: Path, quiet: float, least: int = 0) -> bytes:
    """Return what a program says until it is quiet for so long, but wait for the least number of bytes."""
    environment = {**os.environ, "TZ": log.zone, "SEG_CONF_DIR": str(directory)}
    with subprocess.Popen(
        [*words, "-s", log.source, "-t", str(log.since)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    ) as program:  # fmt: skip
        assert program.stdin
        assert program.stdout
        got = b""
        while select.select([program.stdout], [], [], quiet if len(got) >= least else PATIENCE)[0]:
            data = os.read(program.stdout.fileno(), 65_536)
            if not data:
                break
            got += data
        program.stdin.close()
        got += program.stdout.read()
        assert program.wait(PATIENCE) == 0
    return got


def both(log: Log, directory: Path, quiet: float = QUIET) -> tuple[bytes, bytes]:
    logs = directory / "logs"
    logs.mkdir()
    for name, text in log.files.items():
        (logs / name).write_bytes(text.encode("latin-1"))
    first = next(iter(log.files))
    path = logs if log.source in ("pbs", "lsf") else logs / first
    (directory / f"globus-{log.source}.conf").write_text(f'log_path="{path}"\n')
    peer = ["unshare", "-m", "sh", "-c", MOUNTED, str(directory)]
    theirs = stream(peer, log, directory, quiet)
    ours = stream([str(OURS)], log, directory, QUIET, len(theirs))
    if theirs != ours:  # a busy machine may have kept it from its log for so long
        theirs = stream(peer, log, directory, 6.0)
        ours = stream([str(OURS)], log, directory, QUIET, len(theirs))
    return theirs, ours


def pbs(chance: random.Random, n: int) -> str:
    when = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(BEGIN + n))
    job = chance.choice([f"{n}.pbs0", f"{n}[].pbs0", f"{n}[3].pbs0", f"{n}.h\xe9"])
    text = chance.choice(
        [
            "0008;S@h;Job;{};Job Queued at request of u@h, owner = u@h, job name = a;b",
            "0008;S@h;Job;{};Job Run at request of S@h on exec_vnode (h:ncpus=1)",
            f"0010;S@h;Job;{{}};Exit_status={chance.randrange(-30, 400)} resources_used.cput=0",
            f"0016;S@h;Job;{{}};Exit_status={chance.randrange(9)}",
            "0008;S@h;Job;{};Job deleted at request of u@h",
            "0008;S@h;Job;{};Job deleted as result of dependency on job 76.h",
            "0008;S@h;Job;{};Job to be deleted at request of u@h",
            "0008;S@h;Job;{};Job Rerun at request of u@h",
            "0008;S@h;Job;{};Holds u set at request of u@h",
            "0080;S@h;Job;{};Obit received momhop:1 serverhop:1 state:R substate:41",
            "0100;S@h;Job;{};enqueuing into short, state Q hop 1",
            "0002;S@h;Svr;Log;Log closed",
            "0008;PBS_Server;Req;req_commit;job_id: {}",
            "0008;S@h;Job",
            "0008",
        ]
    )
    when = chance.choice([when] * 9 + [f"{when}.123456", "13/41/2020 10:00:00", "", "yesterday"])
    return f"{when};{text.format(job)}\n"


def lsf(chance: random.Random, n: int) -> str:
    when = BEGIN + n - chance.choice([0] * 9 + [3])
    usage = chance.choice(["0", '0 ""', "1 " + " ".join(["0.5"] * 18 + ["-1.0"])])
    at = f'"7.06" {when} {n}'
    state = chance.choice([1, 2, 4, 8, 16, 32, 32, 32, 64, 64, 128, 160, 192, 65536])
    return chance.choice(
        [
            f'"JOB_NEW" {at} 1001 1 "alice" "run ""a b"" c" 0\n',
            f'"JOB_START" {at} 4 0 0 60.0 1 "n1" "" "" 0 "" 0 "" 0\n',
            f'"JOB_STATUS" {at} {state} 0 0 0.5 {when} {usage} {chance.randrange(65536)} 0 {chance.choice([0, 0, 5, 14])}\n',
            f'"JOB_EXECUTE" {at} 1001 8 "/home" "alice" 0\n',
            f'"JOB_EXCEPT" {at} 8 0 {when} 0 0 "x"\n',
            f'"MBD_START" "7.06" {when} "h" "c" 1 0\n',
        ]
    )


def sge(chance: random.Random, n: int) -> str:
    event = chance.choice(["pending", "sent", "delivered", "finished", "deleted", "suspended", "error"])
    task = chance.choice(["0", "-1", "7"])
    when = chance.choice([f"{BEGIN + n}"] * 5 + [f"{BEGIN + n}123"])
    rest = ":".join(["0"] * chance.choice([22, 24, 30]))
    return chance.choice(
        [
            f"{when}:job_log:{when}:{event}:{n}:{task}:NONE:r:master:h:0:1024:{when}:0:sge:r:a:u::d:sge:w\n",
            f"{when}:acct:q:h:g:a:r:{n}:sge:0:1:2:3:{chance.choice([0, 0, 100])}:{chance.choice([0, 3, 137, -1])}:{rest}\n",
            f"{when}:acct:q:h:g:a:r:{n}:sge:0:1:2:3:0:{n % 5}:{':'.join(['0'] * 22)}:{task}:0\n",
            f"{when}:host:h:{when}:X:np_load_avg=0.01\n",
            "# a comment\n",
            f"{when}:queue:x:y\n",
            "junk\n",
        ]
    )


def fork(chance: random.Random, n: int) -> str:
    kind = chance.choice(["001"] * 8 + ["1", "002", "x"])
    state = chance.choice([1, 2, 4, 8, 8, 16, 32])
    return chance.choice(
        [
            f"{kind};{BEGIN + n};2f1a-{n}:{n};{state};{chance.randrange(-2, 300)}\n",
            f"{kind};{BEGIN + n};2f1a-{n}:{n};{state};0\n",
            f"{kind};{BEGIN + n};2f1a-{n}:{n};{state}\n",
            "\n",
        ]
    )


WRITERS: dict[str, tuple[str, Callable[[random.Random, int], str]]] = {
    "pbs": ("20200203", pbs),
    "lsf": ("lsb.events", lsf),
    "sge": ("reporting", sge),
    "fork": ("fork.log", fork),
}


@pytest.mark.parametrize("source", WRITERS)
def test_random_logs(source: str, tmp_path: Path) -> None:
    """A corpus of 120 logs; some with a time in the middle, all read to the last byte."""
    with ThreadPoolExecutor(10) as pool:  # both programs mostly wait
        for seed in range(30):
            (tmp_path / str(seed)).mkdir()
        list(pool.map(lambda seed: check_random_log(source, seed, tmp_path / str(seed)), range(30)))


def check_random_log(source: str, seed: int, directory: Path) -> None:
    chance = random.Random(f"{source} {seed}")
    file, writer = WRITERS[source]
    lines = [writer(chance, n) for n in range(chance.choice([20, 200, 2000]))]
    since = BEGIN + (chance.randrange(len(lines)) if seed % 3 == 0 else 0)
    files = {file: "".join(lines)}
    if source == "sge":
        files[f"{file}.0"] = (
            f"{BEGIN - 9}:host:h:1:X:a:b:c:d:e:f:g:h:i\n"  # so that the chain is not all read twice
        )
    theirs, ours = both(Log(source, files, since), directory)
    assert ours == theirs, seed
    assert ours or len(lines) == 20 or since > BEGIN


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("month", [1, 7])
def test_time_zones(zone: str, month: int, tmp_path: Path) -> None:
    text = "".join(
        f"{month:02}/15/2020 {hour:02}:30:{hour:02};0008;S;Job;{hour};Job Run\n" for hour in range(24)
    )
    since = 1_577_000_000 if month == 1 else 1_594_700_000
    log = Log("pbs", {f"2020{month:02}15": text}, since, zone)
    theirs, ours = both(log, tmp_path, 1.8)  # the original waits a second for the first day's file
    assert ours == theirs
    assert ours.count(b"\n") == 24


def test_days_one_after_the_other(tmp_path: Path) -> None:
    line = "02/{0:02}/2020 10:00:00;0008;S;Job;{0};Job Run\n"
    files = {f"202002{day:02}": line.format(day) for day in (3, 4, 7, 28)}
    theirs, ours = both(Log("pbs", files), tmp_path)
    assert ours == theirs
    assert ours.count(b"\n") == 4


class Fault(NamedTuple):
    """A log on which the original is wrong, what it says, and what ours says."""

    log: Log
    theirs: str
    ours: str


DONE = f"001;{BEGIN};1.h;8;2\n"
AT = "02/03/2020 10:00:00"
JOB = '"JOB_NEW" "7.0" {} {} 1\n'
FAULTS = {
    "pbs: half a line at a day's end": Fault(
        Log("pbs", {"20200203": f"{AT};0010;S;Job;1.h;Exit_status=2\nhalf", "20200204": "02/04/2020 10:00:00;0008;S;Job;2;Job Run\n"}),
        DONE,
        DONE + f"001;{BEGIN + 86_400};2;2;0\n",
    ),
    "pbs: an exit status that is none": Fault(
        Log("pbs", {"20200203": f"{AT};0010;S;Job;1.h;Exit_status=2\n{AT};0010;S;Job;3.h;Exit_status=abc\n"}),
        DONE + f"001;{BEGIN};3.h;8;2\n",
        DONE,
    ),
    "lsf: a line that cannot be read": Fault(
        Log("lsf", {"lsb.events": JOB.format(BEGIN, 5) + "junk\n" + JOB.format(BEGIN + 1, 6)}),
        f"001;{BEGIN};5;1;0\n001;{BEGIN};5;1;0\n001;{BEGIN + 1};6;1;0\n",
        f"001;{BEGIN};5;1;0\n001;{BEGIN + 1};6;1;0\n",
    ),
    "lsf: a time inside a rotated file": Fault(
        Log(
            "lsf",
            {
                "lsb.events": f"#7     \n{JOB.format(BEGIN + 9, 9)}",
                "lsb.events.1": f"#{BEGIN + 5}\n{JOB.format(BEGIN, 5)}{JOB.format(BEGIN + 1, 6)}",
            },
        ),
        "",
        f"001;{BEGIN};5;1;0\n001;{BEGIN + 1};6;1;0\n001;{BEGIN + 9};9;1;0\n",
    ),
    "fork: a long line": Fault(
        Log("fork", {"fork.log": f"001;{BEGIN};{'x' * 5000};2;0\n001;{BEGIN};y;2;0\n"}),
        "",
        f"001;{BEGIN};{'x' * 5000};2;0\n001;{BEGIN};y;2;0\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, tmp_path: Path) -> None:
    log, expected_theirs, expected_ours = FAULTS[name]
    logs = tmp_path / "logs"
    logs.mkdir()
    for file, text in log.files.items():
        (logs / file).write_text(text)
        os.utime(logs / file, (BEGIN, BEGIN))  # nobody is writing it
    path = logs if log.source in ("pbs", "lsf") else logs / next(iter(log.files))
    (tmp_path / f"globus-{log.source}.conf").write_text(f"log_path={path}\n")
    assert stream([str(OURS)], log, tmp_path, QUIET, len(expected_ours)).decode() == expected_ours
    words = ["unshare", "-m", "sh", "-c", MOUNTED, str(tmp_path)]
    program = subprocess.Popen(
        [*words, "-s", log.source, "-t", str(log.since)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip
    assert _read_for(program, 2.5).decode() == expected_theirs


RECORD = "{0}:job_log:{0}:{1}:{2}:0:NONE:r:master:h:0:1024:{0}:0:sge:r:a:u::d:sge:w\n"


def sides(log: Log, directory: Path, least: int) -> tuple[str, str]:
    """Return what each says: the original in three seconds, as it may be stuck then; ours, this number of bytes at least."""
    logs = directory / "logs"
    logs.mkdir()
    for file, text in log.files.items():
        (logs / file).write_text(text)
    whole = log.source in ("pbs", "lsf", "job_manager")
    path = logs if whole else logs / next(iter(log.files))
    (directory / f"globus-{log.source}.conf").write_text(f"log_path={path}\n")
    place = f"JOB_MANAGER_SEG_LOG_PATH={path}"
    program = subprocess.Popen(
        ["env", place, "TZ=UTC", "unshare", "-m", "sh", "-c", MOUNTED, str(directory), "-s", log.source, "-t", str(log.since)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    theirs = _read_for(program, 3.0)
    ours = stream(["env", place, str(OURS)], log, directory, QUIET, least)
    return theirs.decode(), ours.decode()


def test_fault_sge_reads_the_oldest_file_twice(tmp_path: Path) -> None:
    """seg.md, "Faults": with a timestamp before the whole chain."""
    files = {
        "reporting": RECORD.format(BEGIN + 9, "delivered", 2),
        "reporting.0": RECORD.format(BEGIN + 1, "delivered", 1),
    }
    first, second = f"001;{BEGIN + 1};1.0;2;0\n", f"001;{BEGIN + 9};2.0;2;0\n"
    theirs, ours = sides(Log("sge", files), tmp_path, len(first + second))
    assert theirs.count(first) == 2
    assert ours == first + second


def test_fault_sge_stalls_at_a_long_line(tmp_path: Path) -> None:
    """seg.md, "Faults": a line of 4096 bytes or more."""
    lines = f"# {'x' * 5000}\n" + RECORD.format(BEGIN, "delivered", 1)
    expected = f"001;{BEGIN};1.0;2;0\n"
    assert sides(Log("sge", {"reporting": lines}), tmp_path, len(expected)) == ("", expected)


def test_fault_job_managers_malformed_line(tmp_path: Path) -> None:
    """seg.md, "Faults": one malformed line stalls it, and leaks."""
    good = "001;{};{};2;0\n"
    lines = good.format(BEGIN, 1) + "junk\n" + good.format(BEGIN + 1, 2)
    expected = good.format(BEGIN, 1) + good.format(BEGIN + 1, 2)
    assert sides(Log("job_manager", {"20200203": lines}), tmp_path, len(expected))[1] == expected


@pytest.mark.parametrize("line", [JOB.format(BEGIN, "7" * 40), f'"{"K" * 80}" "7.0" {BEGIN} 4 1\n'])
def test_fault_lsf_overruns_its_stack(line: str, tmp_path: Path) -> None:
    """seg.md, "Faults": a job id over 31 characters, a kind over 63; the next line is told."""
    log = Log("lsf", {"lsb.events": line + JOB.format(BEGIN + 1, 6)})
    last = f"001;{BEGIN + 1};6;1;0\n"
    _, ours = sides(log, tmp_path, len(last) * (1 + ("JOB_NEW" in line)))
    assert ours.endswith(last)
    assert ours.count("\n") == 1 + ("JOB_NEW" in line)


def test_fault_no_back_pressure(tmp_path: Path) -> None:
    """seg.md, "Faults": a reader that stalls, and then closes the standard input."""
    log = tmp_path / "fork.log"
    with log.open("w") as file:
        file.writelines(f"001;{BEGIN + n};job:{n};2;0\n" for n in range(1_000_000))
    (tmp_path / "globus-fork.conf").write_text(f"log_path={log}\n")
    memory = []
    for words in (["unshare", "-m", "sh", "-c", MOUNTED, str(tmp_path)], [str(OURS)]):
        with subprocess.Popen(
            [*words, "-s", "fork", "-t", str(BEGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "SEG_CONF_DIR": str(tmp_path)}, stderr=subprocess.DEVNULL,
        ) as program:  # fmt: skip
            assert program.stdin
            time.sleep(5)
            until = time.monotonic() + 60  # Globus's own takes more and more, on a busy machine slowly
            while (
                (size := _measure_memory(program)) <= 40
                and words[0] != str(OURS)
                and time.monotonic() < until
            ):
                time.sleep(0.5)
            memory.append(size)
            program.stdin.close()
            if words[0] == str(OURS):
                assert program.wait(PATIENCE) == 0
            program.kill()
    assert memory[1] < 40 < memory[0]


def _measure_memory(program: subprocess.Popen[bytes]) -> int:
    """Return the largest resident memory so far, in MiB."""
    status = Path(f"/proc/{program.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) >> 10


def _read_for(program: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Read what comes in so many seconds; the program may be stuck then."""
    assert program.stdout
    assert program.stdin
    got, until = b"", time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([program.stdout], [], [], left)[0]:
            got += os.read(program.stdout.fileno(), 65_536)
    program.kill()
    program.stdin.close()
    program.stdout.close()
    program.wait()
    return got


ENDINGS = [
    "-s fork -t abc",
    "-s fork -t -5",
    "-s fork -t 5x",
    "-s fork",
    "",
    "-s nope",
    "-z",
    "-h",
    "-s fork -b",
    "-s fork -d /nonexistent",
]


@pytest.mark.parametrize("words", ENDINGS)
def test_exit_codes(words: str, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    (tmp_path / "globus-fork.conf").write_text(f"log_path={tmp_path}/log\n")
    codes = []
    for program in (["unshare", "-m", "sh", "-c", MOUNTED, str(tmp_path)], [str(OURS)]):
        done = subprocess.run(
            [*program, *words.split()], stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=PATIENCE, env={**os.environ, "SEG_CONF_DIR": str(tmp_path)},
        )  # fmt: skip
        codes.append(done.returncode)
    assert codes[0] == codes[1]


def test_the_starters_write_the_same(tmp_path: Path) -> None:
    """`globus-fork-starter` and ours: the same requests, the same answers and lines, ids and times apart."""
    if not shutil.which("globus-fork-starter"):
        pytest.skip("globus-fork-starter is not installed")
    request = (
        "100;a;directory=/tmp;environment=A=b;count=1;executable=/bin/sh;arguments=-c,exit 3;stdin=/dev/null;"
        f"stdout={tmp_path}/out;stderr=/dev/null\n"
    )
    texts = []
    for words in (["globus-fork-starter"], [str(OURS.with_name("osprofile-fork-starter"))]):
        log = tmp_path / "log"
        log.write_text("")
        with subprocess.Popen(
            [*words, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program:
            assert program.stdin
            assert program.stdout
            program.stdin.write(request)
            program.stdin.flush()
            answer = program.stdout.readline()
            program.stdin.close()
            program.wait(PATIENCE)
        whole = answer + log.read_text()
        texts.append(re.sub(r"[0-9a-f-]{36}:\d+", "ID", re.sub(r"001;\d+", "001;T", whole)))
    assert texts[0] == texts[1] == "101;a;ID\n001;T;ID;2;0\n001;T;ID;8;3\n"


def test_a_real_slurms_record(tmp_path: Path) -> None:
    """The real Slurm's jobcomp gives the ends that `scontrol` knows (issue, "Real logs").

    Of a job that was cancelled, the signal is known only after jobcomp's line was written.
    """
    record = _jobcomp()
    words = ["scontrol", "-o", "show", "jobs"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    known = {}
    for line in text.split("\n"):
        job = dict(word.partition("=")[::2] for word in line.split(" "))
        if job.get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"):
            known[job["JobId"]] = _end(job["JobState"], *map(int, job["ExitCode"].split(":")))
    log = Log("slurm", {}, 1)
    (tmp_path / "globus-slurm.conf").write_text(f"log_path={record}\n")
    told: dict[str, str] = {}
    for event in stream([str(OURS)], log, tmp_path, QUIET).decode().split("\n")[:-1]:
        _, _, name, state, code = event.split(";")
        told[name] = f"{state};{code}" if known.get(name) != "4" else state
    shared = known.keys() & told.keys()
    assert {job: told[job] for job in shared} == {job: known[job] for job in shared}
    assert shared or not known


def _end(state: str, code: int, killed: int) -> str:
    if state == "CANCELLED":
        return "4"
    by_itself = state == "COMPLETED" or (state == "FAILED" and not killed)
    return f"8;{code}" if by_itself else f"4;{killed}"


def _jobcomp() -> str:
    text = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"JobCompLoc\s*=\s*(\S+)", text)
    if not found or not os.path.exists(found[1]):
        pytest.skip("no Slurm with a record of jobs (jobcomp/filetxt)")
    return found[1]
