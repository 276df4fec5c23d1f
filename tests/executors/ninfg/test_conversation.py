"""Conformance over three real pipes, byte for byte.

Each case names the section of docs/protocols/ninfg.md.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.ninfg.client import PLAIN, SERVER, Client, attributes, block, shell
from tests.executors.ninfg.conftest import processes
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.executors.ninfg.conftest import Machine

HERE = {"jobmanager": "here"}
ID = rb"[0-9]+\.[0-9]{8}"


def bytes_of(client: Client) -> tuple[bytes, bytes]:
    return client.raw["out"], client.raw["err"]


def test_a_whole_conversation(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2: every byte of both pipes."""
    with machine.client() as client:
        job = client.create(attributes(**HERE))
        client.wait(job)
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.exit() == 0
        out, err = bytes_of(client)
    assert out == b"S\r\nS\r\nS\r\n"
    assert re.fullmatch(
        rb"CREATE_NOTIFY 1 S (%s)\r\n(STATUS_NOTIFY \1 ACTIVE \r\n)?STATUS_NOTIFY \1 DONE \r\n" % ID, err
    )
    machine.assert_clean()


def test_the_seen_states_come_in_order(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 4.2: CREATE_NOTIFY first, then ACTIVE, then the end, each once."""
    with machine.client() as client:
        job = client.create(shell("sleep 1", **HERE))
        client.wait(job)
        assert client.states[job] == ["ACTIVE", "DONE"]
        assert client.raw["err"].startswith(f"CREATE_NOTIFY 1 S {job}\r\n".encode())
        assert client.exit() == 0


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
        client.run(attributes(jobmanager="noisy"))
        client.run(attributes(jobmanager="here"))
        assert client.exit() == 0
        assert b"noise" not in client.raw["out"] + client.raw["err"]


def test_the_reply_comes_before_the_notify(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 4.2: at no time has the server said CREATE_NOTIFY more often than S."""
    with machine.client() as client:
        client.send(b"".join(block(str(n), attributes(**HERE)) for n in range(1, 6)))
        assert [client.reply() for _ in range(5)] == ["S"] * 5
        client.until(lambda: len(client.created) == 5)
        assert list(client.created) == ["1", "2", "3", "4", "5"]
        assert len(set(client.created.values())) == 5
        for job in client.created.values():
            assert client.wait(job) == "DONE"
        assert client.exit() == 0


def test_a_job_id_is_no_prefix_of_another(machine: Machine) -> None:
    """The client matches by prefix; ids have no blanks and less than 1023 bytes (grammar)."""
    with machine.client() as client:
        jobs = [client.create(attributes(**HERE)) for _ in range(12)]
        assert all(re.fullmatch(ID, job.encode()) for job in jobs)
        assert len({len(job) for job in jobs}) == 1
        assert len(set(jobs)) == 12


@pytest.mark.parametrize("text", ["exit 0", "exit 3", "kill -s KILL $$", "exec /no/such/program"])
def test_one_end_of_each_job(machine: Machine, text: str) -> None:
    """docs/protocols/ninfg.md, 4.3: exactly one DONE or FAILED, however it ends, also after JOB_DESTROY."""
    with machine.client() as client:
        job = client.create(shell(text, **HERE))
        end = client.wait(job)
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.ask(f"JOB_STATUS {job}") == f"S {end}"
        client.hear(0.6)
        assert client.exit() == 0
        assert len(re.findall(rb"DONE|FAILED", client.raw["err"])) == 1
    assert end == ("DONE" if text == "exit 0" else "FAILED")


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


@pytest.mark.parametrize("how", ["hang_up", "kill", "terminate"])
def test_the_client_is_gone(machine: Machine, how: str) -> None:
    """docs/protocols/ninfg.md, 1.3: end of stdin, a killed client, SIGTERM: no process is left, and the exit code is 0."""
    with machine.client() as client:
        job = client.create(shell("trap '' TERM; sleep 600 & wait; wait", **HERE))
        client.wait(job, "ACTIVE")
        getattr(client, how)()
        assert client.process.wait(60) == 0
        if how == "terminate":  # the client is there, and waits
            client.end()
            assert client.states[job] == ["ACTIVE", "FAILED"]
    machine.assert_clean()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_pipe_is_closed(machine: Machine, stream: str) -> None:
    """The server ends at once: it has nothing to send that would show it."""
    with machine.client() as client:
        job = client.create(shell("sleep 600", **HERE))
        client.wait(job, "ACTIVE")
        client.close_one(stream)
        assert client.process.wait(60) == 0
    machine.assert_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_before_any_request(machine: Machine, number: signal.Signals) -> None:
    """docs/protocols/ninfg.md, 1.3."""
    with machine.client() as client:
        assert client.ask("JOB_STATUS x").startswith("F ")
        client.process.send_signal(number)
        assert client.process.wait(60) == 0


def test_destroy_of_a_live_job(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 2.4: S at once, DONE when it is gone."""
    with machine.client() as client:
        job = client.create(shell(f"trap '' TERM; touch {tmp_path}/up; sleep 600 & wait", **HERE))
        client.wait(job, "ACTIVE")
        wait_until((tmp_path / "up").exists)
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.states[job] == ["ACTIVE"]
        assert processes(machine.jobs)
        assert client.wait(job) == "DONE"
        assert processes(machine.jobs) == []
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.exit() == 0
    machine.assert_clean()


def test_destroy_before_it_runs(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.4: destroyed right behind its creation, and twice."""
    with machine.client() as client:
        jobs = [client.create(shell("sleep 600", **HERE)) for _ in range(20)]
        for job in jobs * 2:
            assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert {client.wait(job) for job in jobs} == {"DONE"}
        assert client.exit() == 0
    machine.assert_clean()


@pytest.mark.parametrize("request_", ["JOB_DESTROY", "JOB_STATUS"])
def test_an_unknown_job(machine: Machine, request_: str) -> None:
    """docs/protocols/ninfg.md, 2.4: F."""
    with machine.client() as client:
        assert client.ask(f"{request_} 12321") == "F there is no job 12321"
        assert client.ask(request_) == f"F {request_} needs a job id"
        assert client.exit() == 0


def test_job_status(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.3: the client of today does not send it, but it is protocol."""
    with machine.client() as client:
        job = client.create(shell("sleep 600", **HERE))
        client.wait(job, "ACTIVE")
        assert client.ask(f"JOB_STATUS {job}") == "S ACTIVE"
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        client.wait(job)
        assert client.ask(f"JOB_STATUS {job}") == "S DONE"
        assert client.exit() == 0


def test_an_array_is_one_job(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 3: count N with backend NORMAL is N processes under one id."""
    with machine.client() as client:
        text = f"echo $$ > {tmp_path}/p.$$; until [ -e {tmp_path}/go ]; do sleep 0.02; done"
        job = client.create(shell(text, count="5", **HERE))
        wait_until(lambda: len(list(tmp_path.glob("p.*"))) == 5)
        (tmp_path / "go").touch()
        assert client.wait(job) == "DONE"
        assert len(client.created) == 1
        assert client.exit() == 0


@pytest.mark.parametrize("backend", ["MPI", "BLACS"])
def test_mpirun(machine: Machine, tmp_path: Path, backend: str) -> None:
    """docs/protocols/ninfg.md, 3: MPI and BLACS go through mpirun, also a single process."""
    machine.program("mpirun", f'#!/bin/sh\necho "$1 $2" >> {tmp_path}/ran\nshift 2\nexec "$@"\n')
    out = tmp_path / "out"
    with machine.client() as client:
        for count in ("1", "3"):
            pairs = attributes(
                executable_path="/bin/echo",
                backend=backend,
                count=count,
                redirect_enable="true",
                stdout_file=str(out),
                **HERE,
            )
            assert client.run(pairs) == "DONE"
            assert out.read_text() == PLAIN["argument"] + "\n"
        assert client.exit() == 0
    assert (tmp_path / "ran").read_text() == "-n 1\n-n 3\n"


def test_files_are_complete_before_the_end(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 4.5: the client copies them right after DONE; 10 MB each."""
    out, err = tmp_path / "out", tmp_path / "err"
    text = "head -c 10000000 /dev/zero | tr '\\0' o; head -c 10000000 /dev/zero | tr '\\0' e >&2"
    with machine.client() as client:
        job = client.create(
            shell(text, redirect_enable="true", stdout_file=str(out), stderr_file=str(err), **HERE)
        )
        assert client.wait(job) == "DONE"
        assert out.read_bytes() == b"o" * 10_000_000
        assert err.read_bytes() == b"e" * 10_000_000
        assert client.exit() == 0
    machine.assert_clean()


def test_query_features(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.1."""
    with machine.client() as client:
        lines = client.query_features()
        assert lines[:2] == ["SM", "protocol_version 2.0"]
        assert lines[-1] == "REPLY_END"
        assert all(re.fullmatch(r"(feature|request) [A-Z_]+", line) for line in lines[2:-1])
        assert {f"request {w}" for w in ("JOB_CREATE", "JOB_STATUS", "JOB_DESTROY", "EXIT")} <= {*lines}
        assert client.exit() == 0


def test_descriptors_of_the_client(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 1.1: what the client left open is closed, and reaches no job."""
    reading, writing = os.pipe()
    with machine.client(fds=[reading, writing]) as client:
        assert client.ask("JOB_STATUS x").startswith("F ")
        mine = {os.readlink(p) for p in Path(f"/proc/{client.process.pid}/fd").iterdir()}
        assert f"pipe:[{os.fstat(reading).st_ino}]" not in mine
        out = tmp_path / "out"
        text = "ls -l /proc/$$/fd"
        client.run(shell(text, redirect_enable="true", stdout_file=str(out), **HERE))
        assert not re.search(r"pipe:|socket:", out.read_text())
        assert client.exit() == 0
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


def test_without_a_log(machine: Machine) -> None:
    with Client(machine.environment) as client:
        assert client.run(attributes(**HERE)) == "DONE"
        assert client.exit() == 0
    assert not (machine.root / "log").exists()


def test_unknown_attributes_are_ignored(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.2 and 3; rsl_extensions and the proxy's among them."""
    more = [("rsl_extensions", "<x/>"), ("communication_proxy_staging", "true"), ("gass_url", "")]
    with machine.client() as client:
        assert client.run(attributes(*more, ("", ""), ("what", "\u00e9"), **HERE)) == "DONE"
        assert client.exit() == 0


@pytest.mark.parametrize(
    "line", ["HELLO", "", " ", "JOB_STATUSX 1", "exit", "EXIT now", "QUERY_FEATURES 2", "JOB_CREATE_END"]
)
def test_unknown_requests(machine: Machine, line: str) -> None:
    """docs/protocols/ninfg.md, 2.6: F, and the server goes on."""
    with machine.client() as client:
        assert client.ask(line).startswith("F unknown request ")
        assert client.exit() == 0


def test_pipelined_requests(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.6: answered in order."""
    with machine.client() as client:
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
        assert client.exit() == 0


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "work_directory"])
def test_a_mandatory_attribute_is_missing(machine: Machine, name: str) -> None:
    """docs/protocols/ninfg.md, 2.2 and 3; no `argument` at all is an error too."""
    with machine.client() as client:
        client.send(block("1", attributes(**{**HERE, name: None})))
        assert client.reply() == f"F attribute {name}: mandatory, and missing"
        assert client.exit() == 0
        assert client.raw["err"] == b""


def test_all_are_missing(machine: Machine) -> None:
    """docs/protocols/ninfg.md, 2.2."""
    with machine.client() as client:
        client.send(block("1", []))
        reply = client.reply()
        assert reply.startswith("F attribute hostname: mandatory, and missing (as are port, ")
        assert all(name in reply for name in PLAIN if name != "work_directory")
        assert client.exit() == 0


def test_a_client_that_reads_late(machine: Machine) -> None:
    """A full pipe stops nothing but the reading of requests."""
    with machine.client() as client:
        number = 40_000
        data = b"JOB_STATUS nobody\r\n" * number
        sending = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=client.process.stdin)
        assert sending.stdin is not None
        import threading

        thread = threading.Thread(target=sending.communicate, args=(data,))
        thread.start()
        for _ in range(number):
            assert client.reply() == "F there is no job nobody"
        thread.join()
        assert client.exit() == 0


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
