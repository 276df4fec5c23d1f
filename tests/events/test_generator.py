"""The generator as a process: its command line and how it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.events import emit
from osprofile.events.errors import EventError
from osprofile.events.output import DailyFileOutput
from osprofile.events.seg_command import parse_arguments, read_settings
from tests.waiting import PATIENCE, wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

WHEN = 1_580_724_000
SEG = [sys.executable, "-m", "osprofile.events.seg_command"]
ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC", "SEG_CONF_DIR": "/nonexistent", **more}


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run it with an input that is closed."""
    return subprocess.run(
        [*SEG, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=PATIENCE, env=environment(**more),
    )  # fmt: skip


@contextmanager
def running(
    *words: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE, **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*SEG, *words],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        env=environment(**more),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def fork_log(path: Path, *numbers: int) -> None:
    with path.open("a") as file:
        file.writelines(f"001;{WHEN + n};job:{n};2;0\n" for n in numbers)


def line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout
    return process.stdout.readline().decode()


def problem(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr
    return process.stderr.readline().decode()


def read_block(process: subprocess.Popen[bytes], size: int = 65_536) -> bytes:
    assert process.stdout
    return os.read(process.stdout.fileno(), size)


def close(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Close its input; return its exit code and the rest of its output."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    rest = process.stdout.read()
    return process.wait(PATIENCE), rest


def test_loads_the_appropriate_module(tmp_path: Path) -> None:
    """It loads the source that is named."""
    (tmp_path / "20200203").write_text("02/03/2020 10:00:07;0008;S;Job;1.h;Job Run at\n")
    with running("-s", "pbs", "-t", str(WHEN), "--log-path", str(tmp_path)) as seg:
        assert line(seg) == f"001;{WHEN + 7};1.h;2;0\n"
    fork_log(tmp_path / "log", 3)
    with running("-s", "fork", "-t", str(WHEN), "--log-path", str(tmp_path / "log")) as seg:
        assert line(seg) == f"001;{WHEN + 3};job:3;2;0\n"
    done = run("-s", "nope")
    assert done.returncode == 1
    assert done.stderr.startswith("osprofile-seg: there is no source of events 'nope'\n    hint: ")


def test_passes_the_timestamp_to_the_module(tmp_path: Path) -> None:
    """It passes the timestamp to the source."""
    log = tmp_path / "log"
    fork_log(log, 1, 2, 3)
    with running("-s", "fork", "-t", str(WHEN + 2), "--log-path", str(log)) as seg:
        assert [line(seg), line(seg)] == [f"001;{WHEN + n};job:{n};2;0\n" for n in (2, 3)]
    with running("-s", "fork", "--log-path", str(log)) as seg:  # without one: from now on
        now = int(time.time())
        time.sleep(0.5)
        fork_log(log, 4, now - WHEN + 60)
        assert line(seg) == f"001;{now + 60};job:{now - WHEN + 60};2;0\n"


def test_messages_of_the_programming_interface(capsys: pytest.CaptureFixture[str]) -> None:
    """A call for an event becomes a line."""
    emit.event_pending(5, "a.b")
    emit.event_active(6, "a.b")
    emit.event_failed(7, "a.b", 9)
    emit.event_done(8, "a.b", -3)
    emit.event_suspended(9, "a.b")
    emit.event_message("002;x")
    assert emit.take_emitted_lines() == (
        "001;5;a.b;1;0\n001;6;a.b;2;0\n001;7;a.b;4;9\n001;8;a.b;8;-3\n001;9;a.b;16;0\n002;x\n"
    )
    before = int(time.time())
    emit.event_done(0, "now")
    assert before <= int(emit.take_emitted_lines().split(";")[1]) <= time.time()
    with pytest.raises(EventError, match="-1 is not a time"):  # docs/protocols/seg.md, 1.3: it is unsigned
        emit.event_done(-1, "a")
    for bad in ("", "a;b", "a\nb"):
        with pytest.raises(EventError, match="an event cannot carry the job id"):
            emit.event_active(1, bad)
    with pytest.raises(EventError, match="one line"):
        emit.event_message("a\nb")
    assert emit.take_emitted_lines() == ""
    assert capsys.readouterr() == ("", "")


FURTHER = """
from osprofile.events.emit import event_active, event_done

class Source:
    def __init__(self, options):
        self.calls = [lambda: event_active(options.since, "f\\u00e9"), lambda: event_done(0, "f", 3)]

    def read_events(self):
        if not self.calls:
            return None
        self.calls.pop(0)()
        return ""

    def count_unread_bytes(self):
        return 0

    def close(self):
        import sys
        print("closed", file=sys.stderr)

def broken(options):
    raise OSError(5, "no such device", "/dev/x")
"""


def test_a_further_source_is_found_by_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "further.py").write_text(FURTHER)
    info = tmp_path / "further-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: further\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[osprofile.event_sources]\nfurther = further:Source\ngone = further:gone\nbroken = further:broken\n"
    )
    path = f"{tmp_path}:{ROOT}"
    with running("-s", "further", "-t", "77", PYTHONPATH=path) as seg:
        assert line(seg) == "001;77;f\u00e9;2;0\n"
        assert re.fullmatch(r"001;\d+;f;8;3\n", line(seg))
        assert close(seg) == (0, b"")
        assert problem(seg) == "closed\n"
    done = run("-s", "gone", PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("osprofile-seg: source gone (further:gone) cannot be loaded: ")
    done = run("-s", "broken", PYTHONPATH=path)
    assert (done.returncode, done.stderr) == (1, "osprofile-seg: /dev/x: no such device\n")
    shown = run("-h")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "condor, fork, job_manager, lsf, pbs, sge, slurm" in shown.stdout
    assert "did you mean further?" in run("-s", "furthr", PYTHONPATH=path).stderr


def test_input_closed(tmp_path: Path) -> None:
    """docs/protocols/seg.md, 1.2: exit code 0; what is read from it has no effect."""
    log = tmp_path / "lsb.events"
    with running("-s", "lsf", "-t", "1", "--log-path", str(log)) as seg:
        assert seg.stdin
        assert problem(seg) == f"osprofile-seg: {log} is not there yet; waiting for it\n"
        log.write_text(f'"JOB_NEW" "7.0" {WHEN} 5 1\n')
        assert line(seg) == f"001;{WHEN};5;1;0\n"
        seg.stdin.write(b"stop\n" * 1000)
        time.sleep(0.3)
        assert seg.poll() is None
        assert close(seg) == (0, b"")
    assert run("-s", "fork", "--log-path", str(tmp_path / "log")).returncode == 0


def test_input_that_was_never_open(tmp_path: Path) -> None:
    """docs/protocols/seg.md, 1.2: that is its end; the log must not take its place."""
    fork_log(tmp_path / "log", 1)
    command = [*SEG, "-s", "fork", "-t", str(WHEN), "--log-path", str(tmp_path / "log")]
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    done = subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE, env=environment())
    assert (done.returncode, done.stderr) == (0, b"")


def condor_entry(path: Path, cluster: int) -> None:
    with path.open("a") as file:
        file.write(f"001 ({cluster:03}.000.000) 2020-02-03 10:00:00 Job executing\n...\n")


@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "missing"])
def test_a_log_that_cannot_be_read_delays_no_other(tmp_path: Path, kind: str) -> None:
    """The problem is printed once; the path is watched."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    make = {
        "fifo": lambda: os.mkfifo(bad),
        "directory": bad.mkdir,
        "device": lambda: bad.symlink_to("/dev/zero"),
        "missing": lambda: None,
    }
    make[kind]()
    condor_entry(good, 1)
    with running("-s", "condor", "--log-path", str(bad), "--log-path", str(good)) as seg:
        assert line(seg) == f"001;{WHEN};001.000.000;2;0\n"
        reason = {
            "fifo": "cannot be read: Not a regular file",
            "device": "cannot be read: Not a regular file",
            "directory": "cannot be read: Is a directory",
            "missing": "is not there yet; waiting for it",
        }[kind]
        assert problem(seg) == f"osprofile-seg: {bad} {reason}\n"
        if kind != "missing":
            (bad.rmdir if kind == "directory" else bad.unlink)()
        condor_entry(bad, 2)
        assert line(seg) == f"001;{WHEN};002.000.000;2;0\n"
        bad.rename(tmp_path / "bad.1")
        make[kind]()
        condor_entry(good, 3)
        assert line(seg) == f"001;{WHEN};003.000.000;2;0\n"
        assert close(seg) == (0, b"")


def test_settings_and_days_that_are_not_regular_files(tmp_path: Path) -> None:
    """Neither a pipe nor a device is opened: that would wait, or read without end."""
    conf = tmp_path / "globus-fork.conf"
    os.mkfifo(conf)
    words = f"osprofile-seg: {conf} cannot be read: Not a regular file\n"
    done = run("-s", "fork", SEG_CONF_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, words)
    conf.unlink()
    conf.symlink_to("/dev/zero")
    assert run("-s", "fork", SEG_CONF_DIR=str(tmp_path)).stderr == words
    (tmp_path / "globus-sge.conf").write_text(f"sge_config={conf}\n")
    words = f"osprofile-seg: {conf} (sge_config) cannot be read: Not a regular file\n"
    assert run("-s", "sge", SEG_CONF_DIR=str(tmp_path)).stderr == words
    fork_log(tmp_path / "log", 1)
    day = tmp_path / "20200203"
    os.mkfifo(day)
    done = run("-s", "fork", "-t", "1", "-d", str(tmp_path), "--log-path", str(tmp_path / "log"))
    assert (done.returncode, done.stderr) == (1, f"osprofile-seg: {day}: Not a regular file\n")


@pytest.mark.parametrize("idle", [True, False])
def test_output_broken(tmp_path: Path, idle: bool) -> None:
    """docs/protocols/seg.md, 1.2: exit code 0, whether there are events or not."""
    log = tmp_path / "log"
    fork_log(log, *range(100_000))
    with running("-s", "fork", "-t", "1", "--log-path", str(log)) as seg:
        assert seg.stdout
        left = 100_000 if idle else 1
        while left > 0:
            left -= read_block(seg).count(b"\n")
        seg.stdout.close()
        assert seg.wait(PATIENCE) == 0
        assert seg.stderr
        assert seg.stderr.read() == b""


def peak(pid: int) -> int:
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])  # type: ignore[index]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_stalled_reader(tmp_path: Path) -> None:
    """Memory stays flat, and a closed input ends it (docs/protocols/seg.md, 5.5)."""
    log = tmp_path / "log"
    fork_log(log, *range(1_000_000))
    with running("-s", "fork", "-t", "1", "--log-path", str(log)) as seg:
        line(seg)
        time.sleep(0.7)
        assert peak(seg.pid) < 40 * 1024
        code, rest = close(seg)
        assert code == 0
        assert rest.count(b"\n") < 20_000


@pytest.mark.parametrize("kind", ["pipe", "file", "socket", "terminal"])
def test_any_output(tmp_path: Path, kind: str) -> None:
    """A file is appended to where it stands; a socket and a terminal are written like a pipe, however slowly it is read."""
    log, out = tmp_path / "log", tmp_path / "out"
    fork_log(log, *range(3000))
    out.write_bytes(b"before\n")
    if kind == "file":
        ours, theirs = os.open(out, os.O_RDONLY), os.open(out, os.O_WRONLY | os.O_APPEND)
        assert os.read(ours, 7) == b"before\n"
    elif kind == "socket":
        ours, theirs = (end.detach() for end in socket.socketpair())
    else:
        ours, theirs = os.pipe() if kind == "pipe" else pty.openpty()
    with running("-s", "fork", "-t", "1", "--log-path", str(log), "--interval", "0.01", stdout=theirs) as seg:
        got = b""
        while got.count(b"\n") < 3000:
            got += os.read(ours, 1000).replace(b"\r", b"")
        for n in range(50):  # from a line to its event
            fork_log(log, n)
            while got.count(b"\n") < 3001 + n:
                got += os.read(ours, 1000).replace(b"\r", b"")
        assert got == log.read_bytes()
        assert seg.stdin
        seg.stdin.close()
        assert seg.wait(PATIENCE) == 0
    os.close(ours)
    os.close(theirs)


@pytest.mark.race
def test_a_kill_loses_nothing_that_a_timestamp_cannot_replay(tmp_path: Path) -> None:
    """Killed at any point, and begun again with the last second seen, it leaves nothing out."""
    log = tmp_path / "log"
    fork_log(log, *range(20_000))
    seen: dict[str, int] = {}
    since, text = 1, ""
    for part in range(12):
        with running("-s", "fork", "-t", str(since), "--log-path", str(log)) as seg:
            for _ in range(1500):
                text = line(seg)
                seen[text] = seen.get(text, 0) + 1
            seg.send_signal(signal.SIGKILL)
            since = int(text.split(";")[1])
        assert len(seen) == 1500 * (part + 1) - part
    assert max(seen.values()) == 2


COMMAND_LINES: dict[str, dict[str, object]] = {
    "-s pbs": {"source_name": "pbs", "since": 0},
    "-spbs -t5": {"source_name": "pbs", "since": 5},
    "-s pbs -t 5x": {"since": 5},
    "-s pbs -t +5": {"since": 5},
    "-bd dir -p pid -s x": {"background": True, "directory": "dir", "pid_file": "pid"},
    "a -s pbs b -- -t 5": {"source_name": "pbs", "since": 0},
    "--log-path=a --log-path b --extended": {"log_paths": ["a", "b"], "extended": True},
    "--interval 2 -h": {"interval": 2.0, "show_help": True},
    "-s a -s b": {"source_name": "b"},
}


@pytest.mark.parametrize("text", COMMAND_LINES)
def test_command_line(text: str) -> None:
    arguments = parse_arguments(text.split())
    assert {k: getattr(arguments, k) for k in COMMAND_LINES[text]} == COMMAND_LINES[text]


WRONG = {
    "": "osprofile-seg: no source is named",
    "-s pbs -t abc": "osprofile-seg: -t 'abc' is not a timestamp\n    hint: give seconds since 1970\n",
    f"-s pbs -t {'9' * 5000}": "osprofile-seg: -t '999",
    "-s pbs -t -5": "osprofile-seg: -t '-5' is not a timestamp",
    "-s pbs -t": "osprofile-seg: option -t needs a value",
    "-z": "osprofile-seg: there is no option '-z'",
    "--log-pth x": "osprofile-seg: there is no option '--log-pth'\n    hint: did you mean --log-path?\n",
    "-s pbs --interval no": "osprofile-seg: --interval 'no' is not a number of seconds",
    "-s pbs": "osprofile-seg: the path of the log of pbs is not known\n    hint: give --log-path PATH, "
    "or log_path=PATH in globus-pbs.conf\n",
    "-s fork --log-path /x -d /nonexistent": "osprofile-seg: /nonexistent is not a directory",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_command_lines(text: str) -> None:
    """docs/protocols/seg.md, 1.1: exit code 1; no traceback."""
    done = run(*text.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(WRONG[text])
    assert "Traceback" not in done.stderr


def test_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '# log_path=/no\n\tlog_path="/var/log/a b"  \nlog_path=/second\nx=\nno line\nsge_root=undefined\n'
    (tmp_path / "globus-fork.conf").write_text(text)
    monkeypatch.setenv("SEG_CONF_DIR", str(tmp_path))
    assert read_settings("fork") == {"log_path": "/var/log/a b", "x": "", "sge_root": "undefined"}
    assert read_settings("pbs") == read_settings("../x") == {}
    (tmp_path / "globus-lsf.conf").mkdir()
    with pytest.raises(EventError, match="cannot be read: Is a directory"):
        read_settings("lsf")
    fork_log(tmp_path / "log", 1)
    (tmp_path / "globus-fork.conf").write_text(f'log_path="{tmp_path}/log"\n')
    with running("-s", "fork", "-t", "1", SEG_CONF_DIR=str(tmp_path)) as seg:
        assert line(seg) == f"001;{WHEN + 1};job:1;2;0\n"


@pytest.mark.parametrize("by", ["conf", "file", "environment"])
def test_where_grid_engine_is(tmp_path: Path, by: str) -> None:
    place = tmp_path / "root" / "cell" / "common"
    place.mkdir(parents=True)
    job_log = f"{WHEN}:job_log:{WHEN}:pending:5:0:NONE:r:m:h:0:1:2:3:4:5\n"
    (place / "reporting").write_text(job_log)
    more = {"SEG_CONF_DIR": str(tmp_path)}
    if by == "conf":
        (tmp_path / "globus-sge.conf").write_text(f"sge_root={tmp_path}/root\nsge_cell=cell\n")
    elif by == "file":
        (tmp_path / "settings.sh").write_text(
            f'SGE_ROOT={tmp_path}/root; export SGE_ROOT\nexport SGE_CELL="cell"\n'
        )
        (tmp_path / "globus-sge.conf").write_text(
            f'sge_root=undefined\nsge_cell=undefined\nsge_config="{tmp_path}/settings.sh"\n'
        )
    else:
        more |= {"SGE_ROOT": f"{tmp_path}/root", "SGE_CELL": "cell"}
    with running("-s", "sge", **more) as seg:
        assert line(seg) == f"001;{WHEN};5.0;1;0\n"


def test_directory(tmp_path: Path) -> None:
    """With -d: files by the event's day in UTC; SIGINT ends it, exit code 0; `job_manager` reads them."""
    log, out = tmp_path / "log", tmp_path / "out"
    out.mkdir()
    days = [0, 50_399, 50_400, 1, 200_000]
    fork_log(log, *days)
    with running("-s", "fork", "-t", "1", "-d", str(out), "--log-path", str(log), TZ="Asia/Tokyo") as seg:
        assert seg.stdin
        seg.stdin.close()  # has no effect here
        names = ["20200203", "20200204", "20200205"]
        wait_until(lambda: (out / names[-1]).exists() and (out / names[-1]).read_text())
        assert seg.poll() is None
        seg.send_signal(signal.SIGINT)
        assert seg.wait(PATIENCE) == 0
    assert [p.name for p in sorted(out.iterdir())] == names
    found = [
        [int(e.split(":")[1].split(";")[0]) for e in p.read_text().split()] for p in sorted(out.iterdir())
    ]
    assert found == [[0, 50_399, 1], [50_400], [200_000]]
    with running("-s", "job_manager", "-t", str(WHEN), "--log-path", str(out)) as seg:
        again = [int(line(seg).split(":")[1].split(";")[0]) for _ in days]
        assert again == [0, 50_399, 1, 50_400, 200_000]


def test_background(tmp_path: Path) -> None:
    log, pid_file = tmp_path / "log", tmp_path / "pid"
    fork_log(log, 1)
    done = run("-bd", str(tmp_path), "-p", str(pid_file), "-s", "fork", "-t", "1", "--log-path", str(log))
    pid = int(pid_file.read_text())
    assert (done.returncode, done.stdout) == (0, f"Running in background (pid={pid})\n")
    try:
        wait_for_file(tmp_path / "20200203")
        assert os.getsid(pid) == pid
    finally:
        os.kill(pid, signal.SIGINT)
    done = run("-bd", str(tmp_path), "-p", "/nonexistent/pid", "-s", "fork", "--log-path", str(log))
    assert (done.returncode, done.stderr) == (
        1,
        "osprofile-seg: /nonexistent/pid: No such file or directory\n",
    )
    done = run("-bd", str(tmp_path), "-p", str(pid_file), "-s", "fork", "--log-path", "/nonexistent")
    os.kill(int(pid_file.read_text()), signal.SIGINT)
    assert done.stderr == "osprofile-seg: /nonexistent is not there yet; waiting for it\n"
    done = run("-b", "-s", "fork", "--log-path", str(log))
    assert (done.returncode, done.stderr) == (0, "osprofile-seg: -b has no effect without -d\n")


def test_days_of_messages_without_a_time(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        out = DailyFileOutput(str(tmp_path))
        assert out.write_lines(b"001;0;a\rb;1;0\n002;x\n001;86400;c;1;0\n")
    finally:
        signal.signal(signal.SIGINT, before)
    texts = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert texts.pop("19700101") == b"001;0;a\rb;1;0\n"
    assert texts.pop("19700102") == b"001;86400;c;1;0\n"
    assert list(texts.values()) == [b"002;x\n"]


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    """Standard error a terminal, standard output not: a bar for a large log, and none else."""
    log = tmp_path / "log"
    with log.open("w") as file:
        file.writelines(f"001;{WHEN};job:{n};2;{'0' * 40}\n" for n in range(300_000))
    master, slave = pty.openpty()
    with running("-s", "fork", "-t", "1", "--log-path", str(log), stderr=slave, TERM="xterm") as seg:
        os.close(slave)
        left, shown = 300_000, b""
        while left:
            left -= read_block(seg).count(b"\n")
            while select.select([master], [], [], 0)[0]:
                shown += os.read(master, 65_536)
        assert close(seg) == (0, b"")
    os.close(master)
    assert b"replaying" in shown
    assert b"MB" in shown


def test_what_is_imported() -> None:
    """A generator's start is short: none of the heavy modules, neither asyncio."""
    code = (
        "import sys; from osprofile.events.seg_command import run_command_line; run_command_line(['-s','pbs','--log-path','/nonexistent']);"
        "print(sorted({'typer','lxml','asyncio','rich','dataclasses','subprocess','datetime','inspect'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        env=environment(),
    )  # fmt: skip
    assert done.stdout == "[]\n"
