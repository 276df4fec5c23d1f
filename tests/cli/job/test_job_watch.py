"""`incarnate job list --watch`: lines for a file, and a table on a real terminal, which it leaves as it was."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.state import JobState, JobStatus
from tests.cli.job.conftest import COMMAND, adopt, template
from tests.cli.job.test_job_runs import FIELDS
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.job.conftest import Machine

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (\S+) (\S+)(?: (.*))?")


class Terminal:
    """The command as the leader of a session on a terminal of its own."""

    def __init__(self, *words: str, lines: int = 24, columns: int = 100) -> None:
        self.pid, self._outer = pty.fork()
        if self.pid == 0:
            environment = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}
            os.execve(COMMAND[0], [*COMMAND, *words], environment)  # noqa: S606
        self.resize(lines, columns)
        self.modes = self.get_modes()
        self.seen = ""

    def get_modes(self) -> list[object]:
        return list(termios.tcgetattr(self._outer))

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._outer, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type_keys(self, keys: str) -> None:
        os.write(self._outer, keys.encode())

    def read_until(self, pattern: str) -> str:
        """Return what came since the last call until the pattern came; to the end without one."""
        begun, deadline = len(self.seen), time.monotonic() + PATIENCE
        while not (pattern and re.search(pattern, self.seen[begun:])):
            assert time.monotonic() < deadline, self.seen[begun:]
            if not select.select([self._outer], [], [], 0.1)[0]:
                continue
            try:
                block = os.read(self._outer, 65536)
            except OSError:  # the other end is closed
                block = b""
            if not block:
                assert not pattern, self.seen[begun:]
                break
            self.seen += block.decode(errors="replace")
        return self.seen[begun:]

    def wait(self) -> int:
        """Return the exit code; check that the terminal is as it was."""
        self.read_until("")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert self.seen.count("\x1b[?1049h") == self.seen.count("\x1b[?1049l")
        assert self.seen.count("\x1b[?25l") <= self.seen.count("\x1b[?25h")
        os.close(self._outer)
        return code


@pytest.fixture
def live(machine: Machine) -> Iterator[str]:
    """Yield the id of a job that runs."""
    job_id = machine.submit("--name", "demo", "sleep", "600")
    yield job_id
    machine.run("job", "cancel", job_id)


def test_each_change_is_a_line(machine: Machine) -> None:
    go = machine.root / "go"
    script = f"until [ -e '{go}' ]; do sleep 0.05; done; exit"
    jobs = [machine.submit("sh", "-c", f"{script} {code}") for code in (0, 3)]
    other = machine.submit("--host", "far", "sh", "-c", f"{script} 4")
    process = machine.start("job", "list", "--watch")
    first = [process.stdout.readline() for _ in range(3)]
    go.touch()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    changes = [
        match.groups() for line in [*first, *out.splitlines(keepends=True)] if (match := LINE.match(line))
    ]
    for job_id, code in zip([*jobs, other], ("0", "3", "4"), strict=True):
        states = [(state, rest) for changed, state, rest in changes if changed == job_id]
        assert states[-1] == ("DONE", code)
        assert {state for state, _ in states} <= {"QUEUED", "RUNNING", "DONE"}
    ended = machine.run("job", "list", "--watch")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "incarnate: no job to watch: all recorded jobs have ended\n"
    ended = machine.run("job", "list", "--watch", jobs[1], "nonsense")
    assert ended.code == 2
    match = LINE.fullmatch(ended.out.strip())
    assert match is not None
    assert match.groups() == (jobs[1], "DONE", "3")


def test_reasons_are_lines(machine: Machine) -> None:
    first = machine.submit("sleep", "100")
    job = machine.submit("--after", first, "true")
    (file,) = (d / ".gpe/waiting" for d in machine.directories if (d / ".gpe/waiting").exists())
    process = machine.start("job", "list", "--watch", job)
    assert " QUEUED" in process.stdout.readline()
    for reason in ("TooLong\033[2J (as it is, it will not start)", "Priority"):
        file.write_text(f"{job} {reason}\n")
        line = process.stdout.readline()
        assert line.isprintable() or line[:-1].isprintable()
        assert f" {job} QUEUED {reason.replace(chr(27), chr(0xFFFD))}" in line
    time.sleep(1.5)  # the same reason is not printed again
    machine.run("job", "cancel", job, first)
    out, _ = process.communicate(timeout=PATIENCE)
    assert [line.split()[3] for line in out.splitlines()] == ["REMOVED"]


def test_the_likely_cause_is_in_the_line(machine: Machine) -> None:
    job = machine.submit("sh", "-c", "sleep 0.5; kill -9 $$")
    process = machine.start("job", "list", "--watch", job)
    out, _ = process.communicate(timeout=PATIENCE)
    assert f" {job} FAILED SIGKILL likely cause: it was killed by SIGKILL on " in out


def test_an_interrupt_ends_the_lines(machine: Machine, live: str) -> None:
    process = machine.start("job", "list", "--watch", live)
    assert live in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert machine.run_json("list", live)[0]["state"] == "RUNNING"


def test_a_reader_that_goes(machine: Machine, live: str) -> None:
    process = machine.start("job", "list", "--watch", live)
    process.stdout.readline()
    process.stdout.close()
    machine.run("job", "cancel", live)
    assert process.wait(PATIENCE) in {0, 1}
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize("end", ["q", "\x03", signal.SIGTERM, signal.SIGHUP])
def test_the_table_ends_and_leaves_the_terminal_as_it_was(
    machine: Machine, live: str, end: str | signal.Signals
) -> None:
    terminal = Terminal("job", "list", "--watch")
    screen = terminal.read_until(f"{live}.*RUNNING(.|\n)*q ends this view")
    assert "\x1b[?1049h" in screen
    assert "JOB" in screen
    assert "demo" in screen
    terminal.type_keys("xyz\x1b[A")
    time.sleep(0.3)
    if isinstance(end, str):
        terminal.type_keys(end)
    else:
        os.kill(terminal.pid, end)
    rest = terminal.read_until("\\x1b\\[\\?1049l")
    assert "xyz" not in rest
    wait_until(lambda: terminal.get_modes() == terminal.modes)
    assert terminal.wait() == (0 if isinstance(end, str) else 128 + end)
    last = terminal.seen.rpartition("\x1b[?1049l")[2]
    assert (live in last) == isinstance(end, str)
    assert machine.run_json("list", live)[0]["state"] == "RUNNING"


def test_the_table_ends_when_all_jobs_have_ended(machine: Machine) -> None:
    go = machine.root / "go"
    script = f"until [ -e '{go}' ]; do sleep 0.05; done; exit"
    jobs = [machine.submit("sh", "-c", f"{script} {code}") for code in (0, 3)]
    terminal = Terminal("job", "list", "--watch", *jobs)
    terminal.read_until("RUNNING")
    go.touch()
    assert terminal.wait() == 0
    last = terminal.seen.rpartition("\x1b[?1049l")[2]
    assert [line.split()[0] for line in last.splitlines()] == ["JOB", *jobs]
    assert "\x1b[32mDONE" in last
    assert "\x1b[31mDONE" in last


def test_ended_jobs_fold_away(machine: Machine, live: str) -> None:
    quick = machine.submit("sh", "-c", "sleep 2; exit 3")
    terminal = Terminal("job", "list", "--watch", live, quick)
    terminal.read_until(f"{quick}.*DONE")
    screen = terminal.read_until("1 DONE 3")
    terminal.read_until("q ends")
    screen = terminal.read_until("q ends")
    assert quick not in screen
    assert live in screen
    terminal.type_keys("q")
    assert terminal.wait() == 0


def test_the_table_fits_the_terminal(machine: Machine) -> None:
    states = [JobState.RUNNING if number == 30 else JobState.QUEUED for number in range(40)]
    long = "\x1b[2J\u009b long " * 20
    adopt("says", *(JobStatus(str(number), state, reason=long) for number, state in enumerate(states)))
    reason = "\\033[2J\\302\\233 long long long"
    body = f"for i in $(seq 0 39); do printf '%s wait reason={reason}\\n' $i; done; echo '30 run reason=x'\n"
    fields = FIELDS.replace(
        '<idb:Tag name="running">RUNNING', '<idb:Tag name="wait">QUEUED</idb:Tag><idb:Tag name="run">RUNNING'
    )
    every = f'<idb:Invocation name="ALL"><idb:Body><![CDATA[{body}]]></idb:Body></idb:Invocation>'
    machine.add("says", template("GET_JOB_STATUS", body, every + fields))
    terminal = Terminal("job", "list", "--watch", lines=12, columns=60)
    screen = terminal.read_until("q ends this view")
    assert "\x1b[2J" not in screen.replace("\x1b[2J\x1b[H", "")
    assert "\u009b" not in screen
    assert re.search("and 3[0-9] more: 3[0-9] QUEUED", screen)
    drawn = screen.rpartition("\x1b[H")[2]
    assert len(drawn.splitlines()) <= 12
    assert all(len(re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", line)) <= 60 for line in drawn.splitlines())
    terminal.resize(30, 80)
    terminal.read_until("and 1[0-9] more: ")
    terminal.type_keys("q")
    assert terminal.wait() == 0


@pytest.mark.parametrize("columns", [62, 80, 130])
def test_a_narrow_terminal_has_each_job_s_id_state_and_time(
    machine: Machine, live: str, columns: int
) -> None:
    array = machine.submit("--array", "1-3", "--name", "a-name-of-many-letters", "sleep", "600")
    terminal = Terminal("job", "list", "--watch", columns=columns)
    terminal.read_until(f"{array} .*RUNNING")
    terminal.read_until("q ends this view")
    terminal.type_keys("q")
    assert terminal.wait() == 0
    machine.run("job", "cancel", array)
    view = terminal.seen.partition("\x1b[?1049l")[0]  # behind it stands what is printed at its end
    drawn = (part for part in view.split("\x1b[H") if "q ends this view" in part)
    screen = next(part for part in drawn if re.search(f"{array} .*RUNNING", part))
    lines = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", screen).replace("\r", "").splitlines()
    for job_id in (live, array):
        (line,) = (line for line in lines if job_id in line)
        assert re.search(r" RUNNING +0:\d\d:\d\d( |$)", line), line
        assert len(line.rstrip()) <= columns
        assert columns == 62 or job_id == array or " demo " in line
    assert ("a-name-of-many-letters" in screen) == (columns == 130)
    assert ("3 tasks: " in screen) == (columns == 130)
    assert columns == 62 or "PROFILE" in screen


def test_a_target_that_does_not_answer_is_told_in_the_view(machine: Machine, live: str) -> None:
    far = machine.submit("--host", "far", "sleep", "600")
    (machine.root / "down").touch()
    terminal = Terminal("job", "list", "--watch")
    terminal.read_until("job states are not updated")
    terminal.type_keys("q")
    assert terminal.wait() == 0
    assert "No route to host" in terminal.seen.rpartition("\x1b[?1049l")[2]
    (machine.root / "down").unlink()
    assert machine.run("job", "cancel", far).code == 0
    assert live


def test_a_dumb_terminal_gets_lines(machine: Machine, live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal("job", "list", "--watch")
    screen = terminal.read_until(f"{live} (QUEUED|RUNNING)")
    assert "\x1b" not in screen
    terminal.type_keys("\x03")
    assert terminal.wait() == 0
    assert machine


def test_jobs_of_others_join_the_view(machine: Machine, live: str) -> None:
    process = machine.start("job", "list", "--watch")
    assert live in process.stdout.readline()
    later = machine.submit("sh", "-c", "sleep 20")
    line = process.stdout.readline()
    while later not in line:
        line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert machine.run("job", "cancel", later).code == 0
