"""The server as a process: what it answers, whom it outlives, how it ends."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile import http_server as http
from tests.page.conftest import Served, read_all, served
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES = Path(__file__).parent.parent / "cli" / "profiles"
JSON = {"Content_Type": "application/json"}
POST = "POST /render HTTP/1.1"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served("-p", "site", "--profiles", str(PROFILES)) as running:
        yield running


def test_the_page_has_a_form_and_its_policy_allows_this_server_alone(server: Served) -> None:
    status, page = server.request("GET / HTTP/1.1")
    assert status == 200
    text = page.decode()
    assert 'id="in-QUEUE"' in text
    assert "connect-src &#x27;self&#x27;" in text
    assert "unsafe" not in text


def test_a_script_and_the_command_that_gives_it(server: Served) -> None:
    answer = server.ask(template="START", fields={"QUEUE": "fast", "EXECUTABLE": "it's"})
    assert answer["refusal"] is None
    assert "#PBS -q short" in answer["text"]
    words = "incarnate START --profile site --set QUEUE=fast --set 'EXECUTABLE=it'\"'\"'s'"
    assert answer["command"] == words
    assert "/scratch/user/JOB" in answer["text"]
    assert server.ask(template="ASK", variation="MINE")["text"] == "ask --mine\n"
    assert answer["version"] in server.request("GET / HTTP/1.1")[1].decode()


REFUSALS = {
    "above the limit": (
        {"template": "START", "fields": {"NODES": "21"}},
        {"field": "NODES", "message": "field NODES: '21' is above the Max of 20", "hint": "allowed: 1 to 20", "place": "site/site.xml:23"},
    ),
    "not the pattern": (
        {"template": "START", "fields": {"QUEUE": "<script>"}},
        {"message": "field QUEUE: '<script>' does not match the pattern [a-z]*", "hint": "The queue.", "place": "site/site.xml:6"},
    ),
    "missing": (
        {"template": "ASK"},
        {"field": "JOB_ID", "message": "field JOB_ID has no value: template ASK uses it", "place": "site/site.xml:30", "missing": True},
    ),
    "fixed": (
        {"template": "START", "fields": {"SETUP": "x"}},
        {"field": "SETUP", "message": "field SETUP of template START is not settable", "place": "site/site.xml:11"},
    ),
    "special": (
        {"template": "START", "fields": {"USER_NAME": "root"}},
        {"field": "USER_NAME", "message": "field USER_NAME is supplied by the engine or the context, not by a request"},
    ),
    "unknown": ({"template": "START", "fields": {"QEUE": "a"}}, {"field": "QEUE", "hint": "did you mean QUEUE?"}),
    "no such template": ({"template": "../START"}, {"field": "", "message": "profile site has no template '../START'"}),
    "no such application": ({"template": "START", "application": "X"}, {"field": "", "message": "profile site has no application 'X'"}),
    "a half of a character": (
        {"template": "START", "fields": {"EXECUTABLE": "\ud800"}},
        {"field": "EXECUTABLE", "message": "field EXECUTABLE: '\\ud800' is not valid UTF-8"},
    ),
    "NUL": (
        {"template": "START", "fields": {"EXECUTABLE": "a\0"}},
        {"field": "EXECUTABLE", "message": "field EXECUTABLE: 'a\\x00' has a NUL character"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_names_field_rule_and_place_but_no_path(server: Served, case: str) -> None:
    question, wanted = REFUSALS[case]
    answer = server.ask(**question)
    assert answer["text"] == ""
    assert wanted.items() <= answer["refusal"].items()
    assert str(PROFILES) not in json.dumps(answer)


BODIES = {
    "no JSON": b"{",
    "no UTF-8": b'{"template": "\xff"}',
    "a list": b"[]",
    "no template": b"{}",
    "an empty template": b'{"template": ""}',
    "a number": b'{"template": "START", "fields": {"NODES": 3}}',
    "fields in a list": b'{"template": "START", "fields": []}',
    "a member too many": b'{"template": "START", "path": "/etc/passwd"}',
    "a variation that is none": b'{"template": "START", "variation": null}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("case", BODIES)
def test_what_is_no_question(server: Served, case: str) -> None:
    status, content = server.request(POST, BODIES[case], **JSON)
    assert status == 400
    assert json.loads(content)["error"]


def test_heads_and_bodies_that_do_not_end_or_do_not_fit(server: Served) -> None:
    assert server.send(b"GET / HT").startswith(b"HTTP/1.1 400 ")
    assert server.send(b"GET / HTTP/1.1\r\nX: " + b"y" * http.MAX_HEAD_SIZE).startswith(b"HTTP/1.1 431 ")
    assert server.send(os.urandom(5000)).startswith(b"HTTP/1.1 4")
    assert server.request(POST, b"", **JSON, Content_Length="5")[0] == 400
    assert server.request(POST, b"", **JSON, Content_Length=str(http.MAX_BODY_SIZE + 1))[0] == 413
    body = b'{"template": "START", "fields": {"EXECUTABLE": "' + b"x" * 100_000 + b'"}}'
    status, content = server.request(POST, body + b" " * 900_000, **JSON)
    assert (status, "x" * 100_000 in json.loads(content)["text"]) == (200, True)


def test_requests_with_faults_are_answered_and_nothing_is_logged() -> None:
    chance = random.Random(4711)
    with served("-p", "site", "--profiles", str(PROFILES)) as running:
        body = b'{"template": "START", "fields": {"NODES": "3", "QUEUE": "a"}}'
        head = f"{POST}\r\nHost: {running.host}\r\nContent-Type: application/json\r\nContent-Length: "
        whole = head.encode() + str(len(body)).encode() + b"\r\n\r\n" + body
        statuses = set()
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(len(data))
                piece = chance.choice(
                    [b"", bytes([chance.randrange(256)]), data[: chance.randrange(40)], b"\r\n"]
                )
                data[at : at + chance.randrange(4)] = piece
            answer = running.send(bytes(data))
            assert answer.startswith(b"HTTP/1.1 ")
            statuses.add(int(answer.split()[1]))
        assert {200, 400, 403, 404} <= statuses
        assert 500 not in statuses
        assert running.ask(template="START")["text"]
        running.process.terminate()
        assert running.process.communicate(timeout=PATIENCE)[1] == "Press Ctrl-C to stop the server.\n"


def test_another_site_gets_nothing(server: Served) -> None:
    body = b'{"template": "START"}'
    assert server.request("GET / HTTP/1.1", Host=f"evil.example:{server.port}")[0] == 403
    assert server.request(POST, body, **JSON, Origin="http://evil.example")[0] == 403
    assert server.request(POST, body, Content_Type="text/plain")[0] == 415
    assert server.request("GET /profile.xml HTTP/1.1")[0] == 404


def test_only_the_loopback_is_bound(server: Served) -> None:
    table = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    bound = re.findall(rf"^ *\d+: (\w+):{server.port:04X} \w+:0000 0A", table, re.MULTILINE)
    assert bound == ["0100007F"]


def test_slow_and_broken_clients_stop_nobody(server: Served) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(b"POST /render HTTP/1.1\r\nHost: "[: number + 1])
        for connection in slow[:10]:  # they go without a word
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        assert server.ask(template="ASK", variation="MINE")["text"]
        for connection in slow[10:]:  # it was not their end that was waited for
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
    finally:
        for connection in slow:
            connection.close()


def test_too_many_connections_are_refused(server: Served) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(70)]
    try:
        held[-1].settimeout(PATIENCE)
        assert read_all(held[-1]).startswith(b"HTTP/1.1 503 ")
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: server.request("GET / HTTP/1.1")[0] == 200)


def test_the_profile_is_read_again_and_a_bad_one_is_reported_with_its_location(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    file = folder / "mine.xml"
    good = (PROFILES / "base.xml").read_text().replace('name="base"', 'name="mine"')
    bad = "mine/mine.xml:11:16: error OSP104"
    file.write_text(good)
    with served("-p", "mine", "--profiles", str(folder)) as running:

        def is_reported(words: str) -> bool:
            status, page = running.request("GET / HTTP/1.1")
            error = running.ask(template="START")["error"]
            assert (status, str(tmp_path) in page.decode()) == (500, False)
            return words in page.decode() and error.startswith("the profile does not load: ")

        first = running.ask(template="START")
        assert "#PBS -q long" in first["text"]
        file.write_text(good.replace("<idb:Default>long<", "<idb:Default>other<"))
        second = running.ask(template="START")
        assert "#PBS -q other" in second["text"]
        assert second["version"] != first["version"]
        assert second["version"] in running.request("GET / HTTP/1.1")[1].decode()
        file.write_text(good.replace('extends="', 'x="').replace("<idb:Min>1<", "<idb:Min>one<"))
        assert is_reported(bad)
        assert f"the profile does not load: {bad}" in running.ask(template="START")["error"]
        file.write_text(good.replace('name="mine"', 'name="mine" extends="gone"'))
        assert is_reported("OSP201")
        folder.rename(tmp_path / "gone")
        assert is_reported("")
        (tmp_path / "gone").rename(folder)
        file.unlink()
        assert is_reported("")
        file.write_text(good)
        assert running.ask(template="START")["text"] == first["text"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_0_and_without_a_traceback(number: signal.Signals) -> None:
    with served("-p", "linux") as running:
        held = socket.create_connection(("127.0.0.1", running.port))
        held.sendall(b"GET")
        running.ask(template="START")
        running.process.send_signal(number)
        out, err = running.process.communicate(timeout=PATIENCE)
        held.close()
        assert (running.process.returncode, out, err) == (0, "", "Press Ctrl-C to stop the server.\n")


def test_a_port_in_use_is_an_error(server: Served) -> None:
    words = [sys.executable, "-m", "osprofile", "page", "-p", "linux", "--serve", "--port"]
    ended = subprocess.run([*words, str(server.port)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"incarnate: port {server.port} of 127.0.0.1: Address already in use\n"
        "    hint: choose another --port, or leave it out for a free one\n"
    )


def test_a_port_that_is_asked_for_is_used() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with served("-p", "linux", "--port", str(port)) as running:
        assert running.port == port


def test_the_manual_shows_what_it_prints() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands" / "page.md").read_text()
    block = page.partition("tests/page/test_server.py -->\n```console\n")[2].partition("```")[0]
    command, url, end = block.splitlines()
    assert command == "$ incarnate page --profile slurm --serve"
    with served("--profile", "slurm") as running:
        running.request("GET / HTTP/1.1")
        assert url.replace("...", str(running.port)) == f"http://{running.host}/"
        running.process.terminate()
        assert running.process.communicate(timeout=PATIENCE)[1] == f"{end}\n"
