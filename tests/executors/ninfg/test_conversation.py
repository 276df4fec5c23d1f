"""Conformance over three real pipes, byte for byte.

Each case names the section of docs/protocols/ninfg.md.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.ninfg.client import PLAIN, SERVER, Client, attributes, block, output, shell
from tests.executors.ninfg.conftest import processes
from tests.hunting import rounds
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.executors.ninfg.conftest import Machine

HERE = {"jobmanager": "here"}
ID = rb"[0-9]+\.[0-9]{8}"


def bytes_of(client: Client) -> tuple[bytes, bytes]:
    return client.raw["out"], client.raw["err"]


def test_a_whole_conversation(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2 and 4.2: every byte of both pipes; the states come in order, each once."""
    with machine.client() as client:
        job = client.create(shell("sleep 1", **HERE))
        client.wait(job)
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.exit() == 0
        out, err = bytes_of(client)
    assert out == b"S\r\nS\r\nS\r\n"
    assert re.fullmatch(
        rb"CREATE_NOTIFY 1 S (%s)\r\nSTATUS_NOTIFY \1 ACTIVE \r\nSTATUS_NOTIFY \1 DONE \r\n" % ID, err
    )
    machine.assert_clean()


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_line_ends(machine: Machine, end: bytes) -> None:
    """docs/protocols/ninfg.md, 2: CR LF on both pipes; from the client LF alone will do."""
    with machine.client() as client:
        client.send(block("1", attributes(**HERE)).replace(b"\r\n", end))
        assert client.reply() == "S"
        client.until(lambda: client.created)
        client.wait(client.created["1"])
        client.send(b"EXIT" + end)
        assert client.end() == 0
        out, err = bytes_of(client)
    assert out == b"S\r\nS\r\n"
    assert err.count(b"\r\n") == err.count(b"\n") >= 2


def test_nothing_but_protocol(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 1.2: what the profile's scripts, Python or the logging say stays off the pipes."""
    machine.add(
        "noisy",
        '<idb:Template name="SHELL"><idb:Invocation name=""><idb:Body>'
        "sh -c 'echo noise; echo noise >&amp;2; exec sh -s'</idb:Body></idb:Invocation></idb:Template>",
    )
    environment = {**machine.environment, "PYTHONWARNINGS": "always", "PYTHONASYNCIODEBUG": "1"}
    with Client(environment) as client:
        assert client.run(attributes(jobmanager="noisy")) == "DONE"
        assert client.run(attributes(jobmanager="here")) == "DONE"
        assert client.exit() == 0
        assert b"noise" not in client.raw["out"] + client.raw["err"]
    assert not (machine.root / "log").exists()


def test_the_reply_comes_before_the_notify(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 4.2: at no time has the server said CREATE_NOTIFY more often than S.

    The client matches by prefix: no job's id is one of another's.
    """
    with machine.session() as client:
        client.send(b"".join(block(str(n), attributes(**HERE)) for n in range(1, 13)))
        assert [client.reply() for _ in range(12)] == ["S"] * 12
        client.until(lambda: len(client.created) == 12)
        assert list(client.created) == [str(n) for n in range(1, 13)]
        jobs = set(client.created.values())
        assert len(jobs) == 12
        assert len({len(job) for job in jobs}) == 1
        assert all(re.fullmatch(ID, job.encode()) for job in jobs)
        assert {client.wait(job) for job in jobs} == {"DONE"}


@pytest.mark.parametrize(
    ("pairs", "end", "words"),
    [
        (shell("exit 0", **HERE), "DONE", ""),
        (shell("exit 3", **HERE), "FAILED", "it ended with exit code 3"),
        (shell("kill -s KILL $$", **HERE), "FAILED", "signal 9 killed it"),
        (shell("exec /no/such/program", **HERE), "FAILED", "exit code 127: the executable was not found"),
        (attributes(executable_path="/no/such/program", **HERE), "FAILED",
         "exit code 127: the executable was not found"),
        (attributes(executable_path="/etc/passwd", **HERE), "FAILED",
         "exit code 126: the executable cannot be executed"),
    ],
)  # fmt: skip
def test_one_end_of_each_job(machine: Machine, pairs: list[tuple[str, str]], end: str, words: str) -> None:
    """docs/protocols/ninfg.md, 4.3: exactly one DONE or FAILED, however it ends, also after JOB_DESTROY."""
    with machine.client() as client:
        job = client.create(pairs)
        assert client.wait(job) == end
        assert client.texts[job] == words
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.ask(f"JOB_STATUS {job}") == f"S {end}"
        client.hear(0.6)
        assert client.exit() == 0
        assert len(re.findall(rb"DONE|FAILED", client.raw["err"])) == 1
    machine.assert_clean()


def test_no_end_after_exit(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 1.3 and 4.4: S to EXIT, all jobs ended, exit code 0, and not a word about them."""
    with machine.client() as client:
        jobs = [client.create(shell("sleep 600", **HERE)) for _ in range(3)]
        for job in jobs:
            client.wait(job, "ACTIVE")
        assert len(processes(machine.jobs)) >= 3
        before = client.raw["err"]
        assert client.exit() == 0
        assert client.raw["err"] == before
    machine.assert_clean()


def test_exit_while_jobs_are_being_submitted(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 1.3: what is under way is neither lost nor left."""
    with machine.client() as client:
        client.send(b"".join(block(str(n), shell("sleep 600", **HERE)) for n in range(1, 31)))
        client.send(b"EXIT\r\n")
        client._has_sent_exit = True
        assert client.end() == 0
        assert client.raw["out"] == b"S\r\n" * 31
        assert client.raw["err"].count(b"CREATE_NOTIFY") == 30
    machine.assert_clean()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("hang_up", ()),
        ("kill", ()),
        ("terminate", ()),
        ("close_one", ("stdout",)),
        ("close_one", ("stderr",)),
    ],
)
def test_the_client_is_gone(machine: Machine, how: str, words: tuple[str, ...]) -> None:
    """docs/protocols/ninfg.md, 1.3: end of stdin, a killed client, SIGTERM, one pipe: no process is left, and exit code 0.

    Of a closed pipe, the server learns at once: it has nothing to send that would show it.
    """
    with machine.client() as client:
        job = client.create(shell("trap '' TERM; sleep 600 & wait; wait", **HERE))
        client.wait(job, "ACTIVE")
        getattr(client, how)(*words)
        assert client.process.wait(PATIENCE) == 0
        if how == "terminate":  # the client is there, and waits
            client.end()
            assert client.states[job] == ["ACTIVE", "FAILED"]
    machine.assert_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_before_any_request(machine: Machine, number: signal.Signals) -> None:
    """docs/protocols/ninfg.md, 1.3."""
    with machine.client() as client:
        assert client.ask("JOB_STATUS x").startswith("F ")
        client.process.send_signal(number)
        assert client.process.wait(PATIENCE) == 0


def test_destroy_of_a_live_job(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 2.4: S at once, DONE when it is gone; what it had said is there."""
    out = tmp_path / "out"
    text = f"trap '' TERM; echo begun; touch {tmp_path}/up; sleep 600 & wait"
    with machine.session() as client:
        job = client.create(shell(text, **output(out), **HERE))
        client.wait(job, "ACTIVE")
        wait_for_file(tmp_path / "up")
        assert client.ask(f"JOB_STATUS {job}") == "S ACTIVE"
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.states[job] == ["ACTIVE"]
        assert processes(machine.jobs)
        assert client.wait(job) == "DONE"
        assert processes(machine.jobs) == []
        assert out.read_text() == "begun\n"
        assert client.ask(f"JOB_DESTROY {job}") == "S"
    machine.assert_clean()


def test_destroy_before_it_runs(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.4: destroyed right behind its creation, and twice."""
    with machine.session() as client:
        jobs = [client.create(shell("sleep 600", **HERE)) for _ in range(rounds(20, 4))]
        for job in jobs * 2:
            assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert {client.wait(job) for job in jobs} == {"DONE"}
    machine.assert_clean()


@pytest.mark.parametrize("backend", ["MPI", "BLACS"])
def test_mpirun(machine: Machine, tmp_path: Path, backend: str) -> None:
    """docs/protocols/ninfg.md, 3: MPI and BLACS go through mpirun, also a single process."""
    machine.program("mpirun", f'#!/bin/sh\necho "$1 $2" >> {tmp_path}/ran\nshift 2\nexec "$@"\n')
    out = tmp_path / "out"
    with machine.session() as client:
        for count in ("1", "3"):
            pairs = attributes(
                executable_path="/bin/echo", backend=backend, count=count, **output(out), **HERE
            )
            assert client.run(pairs) == "DONE"
            assert out.read_text() == PLAIN["argument"] + "\n"
    assert (tmp_path / "ran").read_text() == "-n 1\n-n 3\n"


def test_descriptors_of_the_client(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 1.1: what the client left open is closed, and reaches no job."""
    reading, writing = os.pipe()
    with machine.session(fds=[reading, writing]) as client:
        assert client.ask("JOB_STATUS x").startswith("F ")
        mine = {os.readlink(p) for p in Path(f"/proc/{client.process.pid}/fd").iterdir()}
        assert f"pipe:[{os.fstat(reading).st_ino}]" not in mine
        out = tmp_path / "out"
        text = "ls -l /proc/$$/fd"
        client.run(shell(text, **output(out), **HERE))
        assert not re.search(r"pipe:|socket:", out.read_text())
    os.close(reading)
    os.close(writing)


def test_the_log(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 1.1: -l FILE; the values of variables are no one's business."""
    with machine.client() as client:
        job = client.create(attributes(("environment", "KEY=secret"), **HERE))
        client.wait(job)
        client.exit()
    log = machine.log()
    assert job in log
    assert "environment KEY" in log
    assert "secret" not in log


def test_pipelined_requests(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.6: answered in order."""
    with machine.session() as client:
        client.send(
            b"JOB_STATUS a\r\n" + block("7", attributes(**HERE)) + b"NO\r\nJOB_DESTROY b\r\n"
            b"JOB_CREATE x\r\nhostname h\r\nJOB_CREATE_END\r\nQUERY_FEATURES\r\n"
        )
        assert client.reply() == "F there is no job a"
        assert client.reply() == "S"
        assert client.reply().startswith("F unknown request 'NO'")
        assert client.reply() == "F there is no job b"
        assert client.reply().startswith("F JOB_CREATE needs a request id")
        assert client.reply() == "SM"
        client.until(lambda: client.created)
        client.wait(client.created["7"])
        while client.reply() != "REPLY_END":
            pass


def test_all_are_missing(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.2."""
    with machine.session() as client:
        client.send(block("1", []))
        reply = client.reply()
        assert reply.startswith("F attribute hostname: mandatory, and missing (as are port, ")
        assert all(name in reply for name in PLAIN if name != "work_directory")


def test_a_client_that_reads_late(machine: Machine) -> None:
    """A full pipe stops nothing but the reading of requests."""
    number = 12_000  # a pipe holds 64 KiB
    with machine.session() as client:
        thread = threading.Thread(target=client.send, args=(b"JOB_STATUS nobody\r\n" * number,))
        thread.start()
        for _ in range(number):
            assert client.reply() == "F there is no job nobody"
        thread.join()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, None])
def test_a_log_that_cannot_be_opened(tmp_path: Path, make: Callable[[Path], None] | None) -> None:
    """The client is served, without a log; standard error has notifications only."""
    log = tmp_path / "logs"
    if make is not None:
        make(log)
    words = [*SERVER, "-l", str(log if make is not None else log / "log")]
    done = subprocess.run(
        words, input="JOB_STATUS nobody\nEXIT\n", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "F there is no job nobody\nS\n"


def test_usage() -> None:
    done = subprocess.run([*SERVER, "-x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "wrong usage: -x\nusage: ng_invoke_server.osprofile [-l LOGFILE] [--metrics WHERE]" in done.stderr
    done = subprocess.run([*SERVER, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
