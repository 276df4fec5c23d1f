"""The fork starter (docs/protocols/seg.md, 4): requests, jobs, the log, and its own death."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.events import fork_protocol
from osprofile.events.fork_record import ForkLog, WatchedProcess, WatchRecord, read_start_time
from osprofile.events.fork_starter import MAX_REQUEST_SIZE
from tests.waiting import PATIENCE, wait_for_file, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
STARTER = [sys.executable, "-m", "osprofile.events.fork_starter"]
ONE = "stdin=/dev/null;stdout=/dev/null;stderr=/dev/null"


class Starter(subprocess.Popen[str]):
    """A fork starter, by default the module's with a log; it is killed at the end of a `with`."""

    def __init__(self, log: Path, *words: str, command: Sequence[str] = STARTER) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SEG_CONF_DIR": str(log.parent)}
        super().__init__(
            [*command, *(words or [str(log)])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip

    def __exit__(self, *error: object) -> None:
        self.kill()
        with suppress(BrokenPipeError):  # of what was not sent
            super().__exit__(None, None, None)

    def send(self, text: str) -> None:
        assert self.stdin
        self.stdin.write(text)
        self.stdin.flush()

    def read_answer(self) -> str:
        assert self.stdout
        return self.stdout.readline()

    def ask(self, request: str) -> str:
        self.send(f"100;t;{request}\n")
        return self.read_answer()

    def start_job(self, request: str) -> tuple[str, int]:
        """Return the id and the process of a job that is accepted."""
        (job,) = jobs(self.ask(request))
        return job, int(job.split(":")[1])

    def finish(self) -> None:
        """Close its input, and wait for the end of its jobs and its own; nothing more is printed."""
        assert self.communicate(timeout=PATIENCE) == ("", "")
        assert self.returncode == 0


@contextmanager
def starter(log: Path) -> Iterator[Callable[[str], str]]:
    """Start one; yield a function that sends a request; wait for the end of its jobs."""
    with Starter(log) as process:
        yield process.ask
        process.finish()


def states(log: Path) -> list[str]:
    return [";".join(line.split(";")[3:]) for line in log.read_text().split("\n")[:-1]]


def jobs(answer: str) -> list[str]:
    assert re.fullmatch(r"101;t;[0-9a-f-]{36}:\d+(,[0-9a-f-]{36}:\d+)*\n", answer), answer
    return answer.strip().split(";")[2].split(",")


def test_a_job(tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "a b;c,d=e\\f"
    script = 'pwd; cat; echo $A $0 "$1" >&2; exit 7'.replace(";", "\\;")
    place = str(out).replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("=", "\\=")
    (tmp_path / "in").write_text("input\n")
    with starter(log) as ask:
        before = int(time.time())
        (job,) = jobs(
            ask(
                f"directory={tmp_path};environment=A=x y,B=1;count=1;executable=/bin/sh;"
                f"arguments=-c,{script},\\,\\\\\\=,two\\nlines;stdin=in;stdout={place};stderr=err"
            )
        )
    assert out.read_text() == f"{tmp_path}\ninput\n"
    assert (tmp_path / "err").read_text() == "x y ,\\= two\nlines\n"
    lines = [line.split(";") for line in log.read_text().split("\n")[:-1]]
    assert [(t, j, s, c) for t, _, j, s, c in lines] == [("001", job, "2", "0"), ("001", job, "8", "7")]
    assert all(before <= int(line[1]) <= time.time() for line in lines)
    assert not list(log.parent.glob("log.watched.*/*"))


def test_sleep_jobs_end_when_they_can(tmp_path: Path) -> None:
    """Timestamps of ends are reasonable."""
    log = tmp_path / "log"
    with starter(log) as ask:
        jobs(ask(f"directory=/;executable=/bin/sleep;arguments=2;{ONE}"))
    active, done = (int(line.split(";")[1]) for line in log.read_text().split("\n")[:-1])
    assert 2 <= done - active <= 4


def test_several_processes_in_one_group(tmp_path: Path) -> None:
    log = tmp_path / "log"
    files = ",".join(str(tmp_path / f"out{n}") for n in range(3))
    with starter(log) as ask:
        words = "arguments=-c,ps -o pgid= -p $$\\; kill -9 $$"
        ids = jobs(
            ask(
                f"directory=/;count=3;executable=/bin/sh;{words};stdin=/dev/null;stdout={files};stderr={files}"
            )
        )
    assert len(ids) == 3
    groups = {int((tmp_path / f"out{n}").read_text()) for n in range(3)}
    assert groups == {int(ids[0].split(":")[1])}
    assert sorted(states(log)) == ["2;0"] * 3 + ["4;0"] * 3


REFUSED = {
    f"directory=/nonexistent;executable=/bin/true;{ONE}": (4, "/nonexistent is not a directory"),
    "directory=/;executable=/bin/true;stdin=/nonexistent;stdout=/dev/null;stderr=/dev/null": (11, "stdin"),
    "directory=/;executable=/bin/true;stdin=/dev/null;stdout=/nonexistent/x;stderr=/dev/null": (73, "stdout"),
    "directory=/;executable=/bin/true;stdin=/dev/null;stdout=/dev/null;stderr=/nonexistent/x": (74, "stderr"),
    f"directory=/;executable=/nonexistent;{ONE}": (17, "/nonexistent cannot be executed: No such file"),
    f"directory=/;executable=/etc/passwd;{ONE}": (17, "/etc/passwd cannot be executed: Permission denied"),
    f"directory=/;{ONE}": (17, "executable is missing"),
    f"count=2;executable=/bin/true;{ONE}": (73, "stdout needs one path per process: 1 given, 2 needed"),
    "executable=/bin/true": (73, "0 given, 1 needed"),
    f"colour=red;executable=/bin/true;{ONE}": (1, "unknown attribute: 'colour=red'"),
    f"session=no;executable=/bin/true;{ONE}": (1, "session must be 'yes' and requires count=1"),
    f"executable;{ONE}": (1, "'executable' has no value"),
    f"{ONE};executable=/bin/true;directory\\": (1, "'directory' has no value"),
    f"count=x;executable=/bin/true;{ONE}": (1, "count must be 1 to 10000, not 'x'"),
    f"count=0;executable=/bin/true;{ONE}": (1, "count must be 1 to 10000, not '0'"),
    f"executable=/bin/\0true;{ONE}": (1, "NUL"),
}  # fmt: skip


def test_a_session_of_its_own(tmp_path: Path) -> None:
    """`session=yes`: its leader, with the id that the profile `linux` gives a job."""
    log, out = tmp_path / "log", tmp_path / "out"
    text = "echo $$ $(cut -d ' ' -f 6\\,22 /proc/$$/stat); exit 4"
    with starter(log) as ask:
        request = f"session=yes;executable=/bin/sh;arguments=-c,{text.replace(';', chr(92) + ';')}"
        request += f";environment=PATH\\={os.environ['PATH']}"
        answer = ask(f"{request};stdin=/dev/null;stdout={out};stderr=/dev/null")
    assert answer.startswith("101;t;")
    job = answer.strip().removeprefix("101;t;")
    pid, session, began = out.read_text().split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    assert job == f"{pid}-{began}-{boot}"
    assert session == pid
    assert states(log) == ["2;0", "8;4"]
    assert WatchedProcess(job, "").pid == int(pid)


def test_refusals(tmp_path: Path) -> None:
    """docs/protocols/seg.md, 4.2: `102;TAG;CODE;TEXT`; the next request is served all the same."""
    log = tmp_path / "log"
    with starter(log) as ask:
        for text, (code, words) in REFUSED.items():
            answer = ask(text)
            assert answer.startswith(f"102;t;{code};"), (text, answer)
            assert words in answer
        jobs(ask(f"directory=/;executable=/bin/true;{ONE}"))
    assert states(log) == ["2;0", "8;0"]


@pytest.mark.parametrize("line", ["", "100", "100;", "101;t;x=y", "hello", ";;", "100;;executable=/bin/true"])
def test_what_cannot_be_answered(line: str) -> None:
    assert fork_protocol.parse_request(line) is None


@pytest.mark.parametrize("count", ["0" * 9, "0" * 8 + "1" + "0" * 5000, "9" * 5000, "1" * 10, "10001"])
def test_a_count_of_any_length_is_refused(count: str) -> None:
    answer = fork_protocol.parse_request(f"100;t;count={count};executable=/bin/true;{ONE}")
    assert isinstance(answer, fork_protocol.Refusal)
    assert fork_protocol.format_refusal_reply(answer).startswith("102;t;1;count must be ")


@given(st.text(st.characters(codec="latin-1"), max_size=60))
def test_any_line_is_read(text: str) -> None:
    for line in (text, f"100;t;{text}", f"100;t;executable=x;{ONE};arguments={text}"):
        answer = fork_protocol.parse_request(line)
        if isinstance(answer, fork_protocol.Refusal):
            assert "\n" not in fork_protocol.format_refusal_reply(answer)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9), min_size=1, max_size=5
    )
)
def test_escapes(words: list[str]) -> None:
    escaped = ",".join(re.sub(r"([\\;,=])", r"\\\1", word).replace("\n", "\\n") for word in words)
    task = fork_protocol.parse_request(f"100;t;executable=x;arguments={escaped};{ONE}")
    assert isinstance(task, fork_protocol.StartRequest)
    assert task.arguments == tuple(words)


def wait_for(log: Path, expected: list[str]) -> None:
    wait_until(lambda: states(log) == expected)


def test_jobs_survive_the_starter(tmp_path: Path) -> None:
    """docs/protocols/seg.md, 4: the next starter writes the ends of a killed one's jobs, once."""
    log, gate = tmp_path / "log", tmp_path / "gate"
    os.mkfifo(gate)
    with Starter(log) as first:
        _, waiting = first.start_job(f"executable=/bin/cat;arguments={gate};directory=/;{ONE}")
        job, sleeping = first.start_job(f"executable=/bin/sleep;arguments=1000;directory=/;{ONE}")
    os.kill(sleeping, signal.SIGTERM)
    with Starter(log) as second, Starter(log) as third:  # one of them takes over
        wait_for(log, ["2;0", "2;0", "4;0"])
        assert job in log.read_text().split("\n")[-2]
        os.kill(waiting, 0)
        for process in (second, third):
            assert process.stdin
            process.stdin.close()
        with gate.open("w"):
            pass
        assert (second.wait(PATIENCE), third.wait(PATIENCE)) == (0, 0)
    assert states(log) == ["2;0", "2;0", "4;0", "4;0"]
    assert not list(log.parent.glob("log.watched.*/*"))


# It makes a file when a process was forked and is to be put on record, and waits for another file.
HELD = """
import os, sys, time
from osprofile.events import fork_starter
read_start_time = fork_starter.read_start_time
def wait(pid):
    open(sys.argv[2], "w").close()
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    return read_start_time(pid)
fork_starter.read_start_time = wait
fork_starter.run_command_line(sys.argv[1:2])
"""


def test_a_starter_that_is_killed_before_a_process_is_on_record(tmp_path: Path) -> None:
    """No program runs that is not on record: the next starter writes its end."""
    log, asked, gate, ran = (tmp_path / name for name in ("log", "asked", "gate", "ran"))
    held = [sys.executable, "-c", HELD]
    with Starter(log, str(log), str(asked), str(gate), command=held) as first:
        script = f"echo $$ > {ran}.new\\; mv {ran}.new {ran}\\; exec sleep 1000"
        first.send(f"100;t;executable=/bin/sh;arguments=-c,{script};{ONE}\n")
        wait_for_file(asked)
    gate.touch()
    wait_for_file(ran)
    os.kill(int(ran.read_text()), signal.SIGTERM)
    with Starter(log) as second:
        second.finish()
    assert states(log) == ["4;0"]
    assert log.read_text().split(";")[2].endswith(f":{ran.read_text().strip()}")


def test_a_refused_request_leaves_nothing_on_record(tmp_path: Path) -> None:
    """Neither a process that was killed for another's sake, nor one that could not be executed."""
    log, text = tmp_path / "log", tmp_path / "text"
    text.touch(0o644)
    files = "stdin=/dev/null;stdout=/dev/null,/nonexistent/x;stderr=/dev/null,/dev/null"
    with Starter(log) as first:
        assert first.ask(f"count=2;executable=/bin/cat;{files}").startswith("102;t;73;")
        assert first.ask(f"executable={text};{ONE}").startswith("102;t;17;")
    with Starter(log) as second:
        second.finish()
    assert states(log) == []


def test_a_record_that_cannot_grow(tmp_path: Path) -> None:
    """As on a full disk: requests are refused, nothing is forgotten, and all is well when there is room again."""
    log, ran = tmp_path / "log", tmp_path / "ran"
    with Starter(log) as process:
        sleeping = f"executable=/bin/sleep;arguments=1000;{ONE}"
        (_, ended), *others = [process.start_job(sleeping) for _ in range(3)]
        (record,) = log.parent.glob("log.watched.*/*")
        whole = record.read_text()
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (len(whole) + 5, hard))
        request = f"executable=/bin/sh;arguments=-c,>{ran};{ONE}"
        assert process.ask(request).startswith(f"102;t;{fork_protocol.RECORD_WRITE_FAILED};")
        os.kill(ended, signal.SIGTERM)
        wait_for(log, ["2;0"] * 3 + ["4;0"])
        assert process.ask(request).startswith(f"102;t;{fork_protocol.RECORD_WRITE_FAILED};")
        wait_until(lambda: record.read_text() == whole)  # a part of a line is there for a moment
        assert not ran.exists()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        process.start_job(f"executable=/bin/true;{ONE}")
        wait_for(log, ["2;0"] * 3 + ["4;0", "2;0", "8;0"])
        for _, other in others:
            os.kill(other, signal.SIGTERM)
        process.finish()
    assert states(log)[-2:] == ["4;0"] * 2
    assert not list(log.parent.glob("log.watched.*/*"))


@pytest.mark.parametrize("moved", [False, True])
def test_a_record_whose_directory_is_gone(tmp_path: Path, moved: bool) -> None:
    log = tmp_path / "log"
    with Starter(log) as process:
        _, sleeping = process.start_job(f"executable=/bin/sleep;arguments=1000;{ONE}")
        (directory,) = log.parent.glob("log.watched.*")
        if moved:
            directory.rename(tmp_path / "elsewhere")
        else:
            shutil.rmtree(directory)
        answer = process.ask(f"executable=/bin/true;{ONE}")
        assert answer.startswith(f"102;t;{fork_protocol.RECORD_WRITE_FAILED};"), answer
        os.kill(sleeping, signal.SIGTERM)
        process.finish()
    assert states(log) == ["2;0", "4;0"]


def test_a_program_begins_with_the_signals_of_any_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = "executable=/bin/grep;arguments=SigIgn,/proc/self/status"
    with starter(tmp_path / "log") as ask:
        jobs(ask(f"{words};stdin=/dev/null;stdout={out};stderr=/dev/null"))
    ignored = int(out.read_text().split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_an_end_that_could_not_be_written_is_left_to_the_next_starter(tmp_path: Path) -> None:
    log, aside, gate = tmp_path / "log", tmp_path / "aside", tmp_path / "gate"
    os.mkfifo(gate)
    with Starter(log) as first:
        _, waiting = first.start_job(f"executable=/bin/cat;arguments={gate};directory=/;{ONE}")
        wait_for(log, ["2;0"])
        log.rename(aside)
        log.mkdir()
        with gate.open("w"):
            pass
        wait_until(lambda: not Path(f"/proc/{waiting}").exists())
        time.sleep(0.3)  # it has seen the end
    log.rmdir()
    aside.rename(log)
    with Starter(log) as second:
        second.finish()
    assert states(log) == ["2;0", "4;0"]


def test_a_pid_that_is_another_process_now() -> None:
    """A job whose pid was given to another process has ended, whatever kill(pid, 0) says."""
    mine = WatchedProcess(f"x:{os.getpid()}", read_start_time(os.getpid()))
    assert mine.is_running()
    assert not WatchedProcess(mine.job_id, "boot/1").is_running()
    assert WatchedProcess(mine.job_id, "").is_running()  # the start time is unknown
    child = subprocess.Popen(["/bin/true"])
    ended = WatchedProcess(f"x:{child.pid}", read_start_time(child.pid))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not ended.is_running()  # nobody has waited for it yet
    child.wait()
    assert not ended.is_running()


def test_a_record_of_one_that_was_killed_between_log_and_record(tmp_path: Path) -> None:
    """An end that is in the log is not written again."""
    record = WatchRecord(str(tmp_path / "watched"))
    log = ForkLog(str(tmp_path / "log"))
    for number in (1, 2, 3):
        record.add_processes(WatchedProcess(f"u:{number}", "boot/1"))
    record.remove_process(WatchedProcess("u:1", "boot/1"))
    log.append_event("u:2", 8, 5)
    os.close(record._fd)  # as when it is killed
    with (tmp_path / "watched" / record._path).open("a") as file:
        file.write("+half a li")
    second = WatchRecord(str(tmp_path / "watched"))
    assert [w.job_id for w in second.inherit_processes()] == ["u:2", "u:3"]
    assert log.find_ended_jobs({"u:2", "u:3"}) == {"u:2"}
    assert second.inherit_processes() == []
    second.close_and_delete()
    assert list((tmp_path / "watched").iterdir()) == []


def test_a_log_that_cannot_be_written_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, and no half line is left."""
    log = ForkLog(str(tmp_path / "log"))
    log.append_event("a", 2)
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    log.append_event("b", 2)
    assert log.has_unwritten
    monkeypatch.setattr(os, "write", lambda _fd, _data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        log.flush()
    monkeypatch.undo()
    assert states(tmp_path / "log") == ["2;0"]
    log.append_event("b", 8, 1)
    assert states(tmp_path / "log") == ["2;0", "2;0", "8;1"]
    assert not log.has_unwritten


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_jobs_pipe_holds_up_no_other_job(tmp_path: Path, name: str) -> None:
    """Nobody is at its other end: to wait for that, as `open` does, would keep all others waiting."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files = ONE.replace(f"{name}=/dev/null", f"{name}={pipe}")
    with starter(tmp_path / "log") as ask:
        answer = ask(f"executable=/bin/cat;{files}")
        code = {"stdout": fork_protocol.STDOUT_OPEN_FAILED, "stderr": fork_protocol.STDERR_OPEN_FAILED}.get(
            name
        )
        assert answer.startswith(f"102;t;{code};{name} {pipe} cannot be" if code else "101;t;")
        assert ask(f"executable=/bin/true;{ONE}").startswith("101;t;")


def test_a_client_that_does_not_read_its_answers(tmp_path: Path) -> None:
    """The ends of jobs are written meanwhile; no answer is lost."""
    log, tag = tmp_path / "log", "t" * 50_000
    with Starter(log) as process:
        _, sleeping = process.start_job(f"executable=/bin/sleep;arguments=1000;{ONE}")
        process.send(f"100;{tag};executable=/nonexistent;{ONE}\n" * 3)
        os.kill(sleeping, signal.SIGTERM)
        wait_for(log, ["2;0", "4;0"])
        assert process.stdin
        process.stdin.close()
        for _ in range(3):
            assert process.read_answer().startswith(f"102;{tag};17;")
        assert process.wait(PATIENCE) == 0


def test_a_request_that_is_too_long(tmp_path: Path) -> None:
    """It is refused by its tag when it is whole; no part of it is taken for a request."""
    log, ran = tmp_path / "log", tmp_path / "ran"
    hidden = f"100;hidden;executable=/bin/touch;arguments={ran};{ONE}"
    beginning_of_all = f"100;t;executable=/bin/true;{ONE}"
    text = ""
    for length in (MAX_REQUEST_SIZE, MAX_REQUEST_SIZE + 65_536, 2 * MAX_REQUEST_SIZE):
        filling = "\N{EURO SIGN}" * ((length - len(beginning_of_all) - len(";arguments=")) // 3)
        text += f"{beginning_of_all};arguments={filling}{hidden}\n"
    with Starter(log) as process:
        out, _ = process.communicate(f"{text}{beginning_of_all}\n", timeout=PATIENCE)
    *refused, answer = out.splitlines(keepends=True)
    assert [line.split(";")[:3] for line in refused] == [["102", "t", "1"]] * 3
    jobs(answer)
    assert states(log) == ["2;0", "8;0"]
    assert not ran.exists()


def test_a_log_or_record_that_is_not_a_regular_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    os.mkfifo(log)
    with Starter(log) as process:
        assert process.wait(PATIENCE) == 1
        assert process.communicate() == ("", f"osprofile-fork-starter: {log}: Not a regular file\n")
    log.unlink()
    directory = tmp_path / f"log.watched.{os.getuid()}"
    directory.mkdir()
    os.mkfifo(directory / "record")
    with starter(log) as ask:
        assert ask(f"executable=/bin/true;{ONE}").startswith("101;t;")


@pytest.mark.race
def test_many_jobs_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Starter(log) as process:
        request = f"100;t;executable=/bin/sh;arguments=-c,exit 5;directory=/;{ONE}\n"
        out, _ = process.communicate(request * 150, timeout=PATIENCE)
    assert process.returncode == 0
    assert len({job for line in out.split("\n")[:-1] for job in jobs(f"{line}\n")}) == 150
    assert sorted(states(log)) == ["2;0"] * 150 + ["8;5"] * 150


def test_the_command(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for words, code, out in (
        (["-h"], 0, "usage: osprofile-fork-starter [LOG]\n"),
        (["-x"], 1, ""),
        ([str(log), "b"], 1, ""),
        (["/nonexistent/log"], 1, ""),
    ):
        process = Starter(log, *words)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert (process.returncode, stdout) == (code, out)
        assert "Traceback" not in stderr
        assert (code == 0) == (stderr == "")
    (tmp_path / "globus-fork.conf").write_text(f"log_path={log}\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SEG_CONF_DIR": str(tmp_path)}
    text = f"100;t;executable=/bin/true;directory=/;{ONE}\n"
    done = subprocess.run(STARTER, input=text, env=environment, text=True, check=True, capture_output=True)
    assert jobs(done.stdout)
    assert states(log) == ["2;0", "8;0"]


@pytest.mark.race
def test_many_starters_at_once_keep_their_records(tmp_path: Path) -> None:
    """None inherits another's record while that one begins."""
    log = tmp_path / "log"
    for _ in range(4):
        starters = [Starter(log) for _ in range(6)]
        for process in starters:
            out, err = process.communicate(
                f"100;t;executable=/bin/true;directory=/;{ONE}\n", timeout=PATIENCE
            )
            assert (process.returncode, err) == (0, "")
            assert jobs(out)
    assert sorted(states(log)) == ["2;0"] * 24 + ["8;0"] * 24
