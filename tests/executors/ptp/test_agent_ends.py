"""How an agent ends, what it does with clients that break, stall or flood, and how much it holds.

fuzzed frames, cut connections, a stalled reader.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osprofile.executors.ptp.wire import encode_frame
from tests.executors.ptp.client import JOB, NODE, START
from tests.executors.ptp.live import AGENT
from tests.executors.ptp.test_agent import PROXIES, shell
from tests.hunting import rounds
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executors.ptp.conftest import Place
    from tests.executors.ptp.live import Live

MEGABYTE = 1_000_000


def memory(live: Live) -> int:
    """Give the most bytes that the agent has had resident so far."""
    with open(f"/proc/{live.process.pid}/status", encoding="ascii") as file:
        found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    assert found
    return int(found[1]) * 1024


def run(place: Place, *words: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run an agent to its end."""
    environment = {**os.environ, **place.environment}
    return subprocess.run(
        [*AGENT, *words], input=text, capture_output=True, env=environment, check=False, timeout=PATIENCE
    )


# Ends


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal(place: Place, proxy: str, number: int) -> None:
    with place.live("here", proxy=proxy) as live:
        live.begin()
        live.wait(live.submit(*shell("sleep 600")), "RUNNING")
        live.process.send_signal(number)
        live.read_all()
        live.close()
        assert live.process.wait(PATIENCE) == 0
    assert place.processes()  # the job lives on


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_client_that_is_gone(place: Place, proxy: str) -> None:
    with place.live("here", proxy=proxy) as live:
        live.begin()
        live.close()
        assert live.process.wait(PATIENCE) in {0, 1}


@pytest.mark.parametrize("phase", ["connected", "started"])
def test_a_client_that_closes_its_side(place: Place, phase: str) -> None:
    with place.live("here") as live:
        if phase == "started":
            live.begin()
        live.socket.shutdown(socket.SHUT_WR)
        live.read_all()
        assert live.process.wait(PATIENCE) == 0


def test_a_cut_connection_with_much_unread(place: Place) -> None:
    """A reset, in the middle of a large frame."""
    place.simulate(nodes="".join(f"node{n} idle\n" for n in range(50_000)))
    with place.live("sim") as live:
        live.client.open[0] = 1
        live.write(b"".join(HELLO))
        live.socket.recv(100)
        linger = b"\1\0\0\0\0\0\0\0"
        live.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        time.sleep(1)
        live.socket.close()
        assert live.process.wait(PATIENCE) == 1


HELLO = [encode_frame(1, 0, ["version=2.0", "baseId=16777216"]), encode_frame(2, 0), encode_frame(3, 0)]


@pytest.mark.parametrize("count", range(4))
def test_quit_in_every_phase(place: Place, count: int) -> None:
    """docs/protocols/ptp.md, 5.3: SHUTDOWN, close, exit 0."""
    with place.live("here") as live:
        for tid, command in enumerate(HELLO[:count]):
            live.client.open[0] = tid + 1
            answered = len(live.client.answers)
            live.write(command)
            if tid < 2:
                live.until(lambda a=answered: len(live.client.answers) > a)
        assert live.quit() == 0


def test_quit_before_the_first_look(place: Place) -> None:
    """What was to be asked is not, and nobody is told about coroutines: the fixture reads the log."""
    with place.live("here") as live:
        live.client.open = {0: 1, 1: 2, 2: 3, 3: 0}
        live.write(HELLO[0] + encode_frame(2, 1) + encode_frame(3, 2) + encode_frame(0, 3))
        live.read_all()
        assert live.client.closed
        assert live.process.wait(PATIENCE) == 0


def test_more_commands_than_may_wait_are_answered(place: Place) -> None:
    """Whether they are taken or refused; the client counts a second answer as a fault."""
    with place.session("here") as live:
        answered = len(live.client.answers)
        live.write(b"".join(live.client.command(6, "jobId=1") for _ in range(1200)))
        live.until(lambda: live.client.open.keys() == {0})
        assert len(live.client.answers) == answered + 1200


def test_quit_while_a_job_is_being_submitted(place: Place) -> None:
    """Nothing is cut in two: the job is there, and the record has it."""
    with place.session("here") as live:
        live.write(live.client.command(5, "jobSubId=JOB_1", *shell("sleep 600")))
    with place.session("here") as live:
        live.until(lambda: live.client.elements[JOB])
        (job,) = live.client.elements[JOB]
        live.wait(job, "RUNNING")
        assert live.terminate(job) == (0, [])
        live.wait(job)


# A bad start


def test_no_client_there(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = run(place, "--profile", "here", "--host=127.0.0.1", f"--port={port}")
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"cannot connect to 127.0.0.1 port {port}: ".encode() in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "--profile"),
        (("--profile", "linux", "--proxy=ssh"), 2, "--proxy"),
        (("--profile", "linux", "--port=0"), 2, "'0' is not a port: 1 to 65535"),
        (("--profile", "linux", "--port=x"), 2, "'x' is not a port"),
        (("--profile", "linux", "--interval=0"), 2, "0.01 to 86400 seconds"),
        (("--profile", "linux", "--interval=nan"), 2, "0.01 to 86400 seconds"),
        (("--profile", "linus"), 2, "linux"),
        (("--profile", "linux", "--application=No/1"), 2, "No/1"),
        (("--profile", "bad"), 3, "bad.xml"),
        (("--profile", "tag"), 0, ""),
    ],
)
def test_a_bad_command_line(place: Place, words: tuple[str, ...], code: int, text: str) -> None:
    (place.root / "profiles/bad.xml").write_text("<osp:Profile>")
    place.add("tag")
    done = run(place, "--proxy=stdio", *words)
    assert (done.returncode, done.stdout) == (code, b"")
    assert text.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_record_that_cannot_be_used(place: Place) -> None:
    (place.root / "state").write_text("no directory")
    with place.session("here") as live:
        live.wait(live.submit(*shell("true")))
    assert "continuing without a record" in place.log.read_text()


# Bad input


@pytest.mark.parametrize("proxy", PROXIES)
def test_garbage_ends_the_session(place: Place, proxy: str) -> None:
    with place.live("here", proxy=proxy) as live:
        live.begin()
        live.write(b"GET / HTTP/1.1\r\n\r\n")
        live.read_all()
        assert live.process.wait(PATIENCE) == 1
    assert "the session cannot go on: byte" in place.log.read_text()


FRAMES = [
    *HELLO, encode_frame(4, 1), encode_frame(5, 2, ["jobSubId=x", "execName=-x"]), encode_frame(6, 3, ["jobId=7"]), encode_frame(7, 4),
    encode_frame(8, 5), encode_frame(9, 6), encode_frame(10, 7, ["stdout"]), encode_frame(11, 8), encode_frame(12, 9),
    encode_frame(300, 10), b"00000017 0003:0000000", b"xxxxxxxx", b"00000000", b"ffffffff ",
]  # fmt: skip


@settings(max_examples=rounds(25, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pieces=st.lists(st.one_of(st.sampled_from(FRAMES), st.binary(max_size=40)), max_size=12),
    seed=st.integers(0, 2**32),
)
def test_any_input_has_a_clean_end(place: Place, pieces: list[bytes], seed: int) -> None:
    """Fuzzed frames; no crash, a clean end, no traceback."""
    source = random.Random(seed)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = ("--profile", "sim", "--host=127.0.0.1", f"--port={listener.getsockname()[1]}")
        environment = {**os.environ, **place.environment}
        command = [*AGENT, *words, "--interval=0.05"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                for piece in pieces:
                    cut = source.randrange(len(piece) + 1)
                    peer.sendall(piece[:cut])
                    peer.sendall(piece[cut:])
                if source.random() < 0.5:
                    peer.shutdown(socket.SHUT_WR)
                    while peer.recv(65536):
                        pass
            _, words_said = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 1}
    assert b"Traceback" not in words_said
    assert b"fault of osprofile" not in words_said


# Much of everything


def test_a_stalled_reader(place: Place) -> None:
    """Nothing piles up while the client does not read; then it gets what is so at that moment."""
    count = 10_000
    with place.live("sim", "--interval=0.05") as live:
        place.simulate(nodes="".join(f"node{n} idle\n" for n in range(count)))
        live.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        live.begin()
        live.until(lambda: len(live.client.elements[NODE]) == count)
        for turn in range(12):
            word = "down" if turn % 2 else "idle"
            text = "".join(f"node{n} {word if n % 2 else f'odd{turn}x{n}'}\n" for n in range(count))
            place.simulate(nodes=text)
            time.sleep(0.4)
        assert memory(live) < 100 * MEGABYTE
        live.until(lambda: live.client.by_name(NODE)["node0"].get("nodeStatus") == "odd11x0")
        assert live.client.by_name(NODE)["node9999"]["nodeState"] == "DOWN"
        assert live.client.events.count(232) < 12  # what came and went meanwhile is not told
        assert live.quit() == 0


def test_commands_that_nobody_reads_the_answers_of(place: Place) -> None:
    """A client that only writes is stopped; the agent holds no more than it must."""
    with place.live("sim") as live:
        live.begin()
        live.socket.settimeout(2)
        command = encode_frame(6, 77, ["jobId=1" + "0" * 60_000])
        sent = 0
        try:
            while sent < 200 * MEGABYTE:
                sent += live.socket.send(command)
        except TimeoutError:
            pass
        assert sent < 100 * MEGABYTE
        assert memory(live) < 100 * MEGABYTE
        assert live.signal() == 0


def test_a_flood_of_submissions(place: Place) -> None:
    """All that a client sends at once is answered once, each with its own transaction."""
    count = rounds(40, 8)
    with place.session("here") as live:
        frames = [live.client.command(5, f"jobSubId=JOB_{n}", *shell(f"exit {n}")) for n in range(count)]
        live.write(b"".join(frames))
        live.until(lambda: live.client.open.keys() == {0})
        assert live.client.open == {0: START}
        ids = live.client.elements[JOB]
        live.until(lambda: sum("processExitCode" in live.process_of(i) for i in ids) == count)
        codes = {
            a["jobSubId"]: live.process_of(id_)["processExitCode"]
            for id_, a in live.client.elements[JOB].items()
        }
        assert codes == {f"JOB_{n}": str(n) for n in range(count)}


def test_a_thousand_jobs_and_ten_thousand_nodes(place: Place) -> None:
    """The agent stays under 100 MB, while the states of all of them change."""
    nodes, jobs = 10_000, 1_000
    place.simulate(
        nodes="".join(f"node{n} idle\n" for n in range(nodes)), jobs="".join(f"j{n} Q\n" for n in range(jobs))
    )
    with place.session("sim") as live:
        live.until(lambda: len(live.client.elements[NODE]) == nodes)
        live.until(lambda: len(live.client.elements[JOB]) == jobs)
        for turn in range(3):
            word = "idle" if turn % 2 else "down"
            place.simulate(
                nodes="".join(f"node{n} {word}\n" for n in range(nodes)),
                jobs="".join(f"j{n} R host=node{n}\n" for n in range(jobs)),
            )
            state = "UP" if turn % 2 else "DOWN"
            live.until(lambda s=state: live.client.by_name(NODE)["node9999"]["nodeState"] == s)
        live.until(lambda: len(live.client.processes) == jobs)
        place.simulate(jobs="".join(f"j{n} F exit=0 host=node{n}\n" for n in range(jobs)))
        live.until(lambda: all(a["jobState"] == "COMPLETED" for a in live.client.elements[JOB].values()))
        used = memory(live)
    assert used < 100 * MEGABYTE


def test_without_a_home(place: Place, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "home")
    with place.session("sim"):
        pass
