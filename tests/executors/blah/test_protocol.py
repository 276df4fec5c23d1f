"""The protocol to the byte. Sections are those of docs/protocols/blah.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.messages import (
    IDLE,
    REMOVED,
    ImmediateRequest,
    Quit,
    Reply,
    Request,
    Result,
    make_state_result,
)
from osprofile.executors.blah.protocol import ALL_COMMANDS, DEFAULT_COMMANDS, Connection
from tests.executors.blah.client import Client, command, fields

BANNER = b"$GahpVersion: 1.8.0 Mar 31 2008 osprofile\\ blahpd\\ (poly,new_esc_format) $"
LISTED = (
    b"S ASYNC_MODE_OFF ASYNC_MODE_ON BLAH_JOB_CANCEL BLAH_JOB_HOLD BLAH_JOB_REFRESH_PROXY"
    b" BLAH_JOB_RESUME BLAH_JOB_SEND_PROXY_TO_WORKER_NODE BLAH_JOB_SIGNAL BLAH_JOB_STATUS"
    b" BLAH_JOB_STATUS_ALL BLAH_JOB_STATUS_SELECT BLAH_JOB_SUBMIT BLAH_PING COMMANDS QUIT"
    b" RESULTS VERSION"
)

# What is sent, what is answered.
SAID: dict[str, tuple[bytes, list[bytes]]] = {
    "2.2: VERSION": (b"VERSION\r\n", [b"S " + BANNER]),
    "2.2: COMMANDS": (b"COMMANDS\r\n", [LISTED]),
    "2.2: RESULTS": (b"RESULTS\r\n", [b"S 0"]),
    "2.2: ASYNC_MODE_ON": (b"ASYNC_MODE_ON\r\n", [b"S Async\\ mode\\ on"]),
    "2.2: ASYNC_MODE_OFF": (b"ASYNC_MODE_OFF\r\n", [b"S Async\\ mode\\ off"]),
    "2.2: QUIT": (b"QUIT\r\n", [b"S Server\\ exiting"]),
    "1.3: unknown": (b"NOSUCH\r\n", [b"E Unknown\\ command"]),
    "1.3: argument count": (b"VERSION extra\n", [b"E expected\\ 0\\ parameters,\\ 1\\ found"]),
    "2.2: too few arguments": (b"BLAH_JOB_STATUS 1\n", [b"E expected\\ 2\\ parameters,\\ 1\\ found"]),
    "2.2: no arguments": (b"BLAH_JOB_SUBMIT\n", [b"E expected\\ 2\\ parameters,\\ 0\\ found"]),
    "2.2: commands in any case": (b"vErSiOn\n", [b"S " + BANNER]),
    "2.1: LF alone": (b"RESULTS\n", [b"S 0"]),
    "2.5: request id 0": (b"BLAH_PING 0 slurm\n", [b"E request\\ id\\ '0'\\ is\\ not\\ an\\ integer\\ other\\ than\\ 0"]),
    "2.5: request id 00": (b"BLAH_PING 00 slurm\n", [b"E request\\ id\\ '00'\\ is\\ not\\ an\\ integer\\ other\\ than\\ 0"]),
    "2.5: request id x": (b"BLAH_PING x slurm\n", [b"E request\\ id\\ 'x'\\ is\\ not\\ an\\ integer\\ other\\ than\\ 0"]),
    "2.5: request ids": (b"BLAH_PING 00001 s\nBLAH_PING -7 s\nBLAH_PING 2147483647 s\n", [b"S", b"S", b"S"]),
    "7.1: a line of blanks": (b"  \r\n", [b"E Unknown\\ command"]),
    "7.1: lines of nothing": (
        b" " * 100 + b"\r\n\t\r\n\0\0\r\n\\ \r\n\\\r\n\r\r\r\n", [b"E Unknown\\ command"] * 4,
    ),
    "an empty line": (b"\r\n\r\n", []),
    "2.1: what is not configured": (
        b"CACHE_PROXY_FROM_FILE a b\nUSE_CACHED_PROXY a\nBLAH_SET_SUDO_ID u\nBLAH_GET_HOSTPORT 1\n",
        [b"E Unknown\\ command"] * 4,
    ),
    "6.1: not listed, and unknown": (b"CONDOR_VERSION x\nRESPONSE_PREFIX G:\n", [b"E Unknown\\ command"] * 2),
    "a word that is no text": (b"\xff\n", [b"E Unknown\\ command"]),
    "a letter that another one is in capitals": ("\u017fersion\n".encode(), [b"E Unknown\\ command"]),
    "2.7: no number": (b"BLAH_JOB_SIGNAL 1 a KILL\n", [b"E 'KILL'\\ is\\ not\\ a\\ signal\\ number"]),
    "nothing behind QUIT": (b"QUIT\nVERSION\n", [b"S Server\\ exiting"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_said(name: str) -> None:
    """Whole, and cut at every byte."""
    sent, expected = SAID[name]
    for at in range(len(sent) + 1):
        client = Client()
        assert client.say(sent[:at]) + client.say(sent[at:]) == expected


def test_the_banner_comes_first() -> None:
    # 2.4: identical to the output of VERSION without the beginning "S "
    assert Client().banner == BANNER + b"\r\n"


# What is sent, and what is to be done.
AD = '[ Cmd = "/bin/sleep"; GridType = "pbs"; Args = "100" ]'
ASKED: list[tuple[str, ...]] = [
    ("BLAH_JOB_SUBMIT", "1", AD),
    ("BLAH_JOB_STATUS", "2", "pbs/20250101/7"),
    ("BLAH_JOB_CANCEL", "3", "id"),
    ("BLAH_JOB_HOLD", "4", "id"),
    ("BLAH_JOB_RESUME", "5", "id"),
    ("BLAH_JOB_REFRESH_PROXY", "6", "id", "/a b"),
    ("BLAH_JOB_SEND_PROXY_TO_WORKER_NODE", "7", "id", "f", "n"),
    ("BLAH_PING", "8", "slurm"),
    ("BLAH_JOB_STATUS_ALL", "10"),
    ("BLAH_JOB_STATUS_SELECT", "11", "JobStatus == 2"),
    ("BLAH_JOB_SIGNAL", "12", "id", "15"),
    ("BLAH_JOB_STATUS", "13", " a "),
    ("BLAH_JOB_STATUS", "14", " "),
]


@pytest.mark.parametrize("sent", ASKED, ids=" ".join)
def test_asked(sent: tuple[str, ...]) -> None:
    client = Client(Connection(ALL_COMMANDS))
    event = client.request(command(*sent))
    name, reqid, *arguments = sent
    if "STATUS" in name and arguments:
        arguments[0] = arguments[0] if "SELECT" in name else arguments[0].strip()
    assert repr(event) == repr(Request(name, reqid, (*arguments,)))
    assert client.said() == [b"S"]
    client.connection.finish_request(event, Result(1, "no"))
    (_, result) = client.say(b"RESULTS\n")
    assert fields(result)[:3] == [event.request_id, "1", "no"]


def test_several_jobs_in_one_argument() -> None:
    # docs/protocols/blah.md, 2.1: one result each, reqid.0, reqid.1; fault 1: more than 10 are none too many.
    for name in ("STATUS", "CANCEL", "HOLD", "RESUME"):
        client = Client()
        ids = [f"pbs/20250101/{n}" for n in range(12)]
        events = client.events(command(f"BLAH_JOB_{name}", "7", "  ".join(ids)))
        assert [repr(e) for e in events] == [
            repr(Request(f"BLAH_JOB_{name}", f"7.{n}", (i,))) for n, i in enumerate(ids)
        ]
        assert client.said() == [b"S"]
    many = "a " * 1001
    assert Client().say(command("BLAH_JOB_STATUS", "1", many)) == [
        b"E expected\\ at\\ most\\ 1000\\ job\\ ids,\\ 1001\\ found"
    ]


# docs/protocols/blah.md, 1.4: the results to the byte, and how many fields the client counts.
RESULTS: list[tuple[tuple[str, ...], Result, bytes, int]] = [
    (("BLAH_JOB_SUBMIT", "1", AD), Result(extras=("pbs/20250101/778241608",)),
     b"1 0 No\\ error pbs/20250101/778241608", 4),
    (("BLAH_JOB_SUBMIT", "1", "x"), Result(1, "Error parsing classad"),
     b"1 1 Error\\ parsing\\ classad N/A", 4),
    (("BLAH_JOB_STATUS", "2", "id"), Result(0, "No Error", ("1", '[ JobStatus = 1; BatchJobId = "778241608" ]')),
     b'2 0 No\\ Error 1 [\\ JobStatus\\ =\\ 1;\\ BatchJobId\\ =\\ "778241608"\\ ]', 5),
    (("BLAH_JOB_STATUS", "1", "id"), Result(1, "no such job"), b"1 1 no\\ such\\ job 0 N/A", 5),
    (("BLAH_JOB_STATUS", "2", "id"), Result(255, "Malformed"), b"2 255 Malformed 0 N/A", 5),
    (("BLAH_JOB_CANCEL", "00008", "id"), Result(), b"00008 0 No\\ error", 3),
    (("BLAH_JOB_REFRESH_PROXY", "6", "id", "f"), Result(text="Proxy renewed"), b"6 0 Proxy\\ renewed", 3),
    (("BLAH_JOB_HOLD", "5", "id"), make_state_result(5, "pbs/20250101/7", code=0),
     b"5 0 Job\\ Held\\ jobId\\ pbs/20250101/7", 3),
    (("BLAH_JOB_HOLD", "10", "id"), make_state_result(REMOVED, "pbs/20250101/7"),
     b"10 1 Job\\ Removed\\ jobId\\ pbs/20250101/7", 3),
    (("BLAH_JOB_RESUME", "7", "id"), make_state_result(IDLE, "pbs/20250101/7"),
     b"7 1 Job\\ Idle\\ jobId\\ pbs/20250101/7", 3),
    (("BLAH_JOB_STATUS_ALL", "1"), Result(extras=("[[ a = 1 ];[ b = 2 ]]",)),
     b"1 0 No\\ error [[\\ a\\ =\\ 1\\ ];[\\ b\\ =\\ 2\\ ]]", 4),
    (("BLAH_JOB_STATUS_SELECT", "1", "("), Result(1, "no"), b"1 1 no N/A", 4),
    (("BLAH_JOB_SIGNAL", "1", "id", "9"), Result(extras=("2",)), b"1 0 No\\ error 2", 4),
    (("BLAH_JOB_SIGNAL", "1", "id", "9"), Result(1, "no"), b"1 1 no 0", 4),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "result", "expected", "count"), RESULTS)
def test_results(sent: tuple[str, ...], result: Result, expected: bytes, count: int) -> None:
    client = Client()
    request = client.request(command(*sent))
    client.connection.finish_request(request, result)
    assert client.say(b"RESULTS\r\n") == [b"S", b"S 1", expected]
    assert len(fields(expected)) == count
    assert client.say(b"RESULTS\r\n") == [b"S 0"]


KINDS = {"SUBMIT": 4, "STATUS": 5, "CANCEL": 3, "HOLD": 3, "RESUME": 3}


@given(st.sampled_from(list(KINDS)), st.text(), st.text(), st.integers())
def test_a_result_has_as_many_fields_whatever_it_says(kind: str, text: str, more: str, number: int) -> None:
    # docs/protocols/blah.md, 7.2: HTCondor's gridmanager aborts at any other number of fields.
    client = Client()
    request = client.request(command(f"BLAH_JOB_{kind}", "1", "x"))
    extras = {"SUBMIT": (more,), "STATUS": (str(number), more)}.get(kind, ())
    client.connection.finish_request(request, Result(number, text, extras))
    assert [len(fields(said)) for said in client.say(b"RESULTS\n")] == [1, 2, KINDS[kind]]


def test_a_result_of_another_command_is_refused() -> None:
    client = Client()
    request = client.request(command("BLAH_JOB_STATUS", "1", "x"))
    for wrong in (Result(), Result(extras=("1",)), Result(1, "no", ("1",))):
        with pytest.raises(ValueError, match=r"BLAH_JOB_STATUS needs 2 extra fields, not [01]"):
            client.connection.finish_request(request, wrong)
    client.connection.finish_request(request, Result(1, "no"))
    with pytest.raises(ValueError, match="BLAH_JOB_STATUS 1 is not outstanding"):
        client.connection.finish_request(request, Result(1, "no"))
    with pytest.raises(ValueError, match="BLAH_PING 1 is not outstanding"):
        client.connection.finish_request(Request("BLAH_PING", "1", ("x",)), Result())


def pings(client: Client, *reqids: str) -> list[Request]:
    data = b"".join(command("BLAH_PING", reqid, "slurm") for reqid in reqids)
    return [e for e in client.events(data) if isinstance(e, Request)]


def test_results_come_in_the_order_of_completion() -> None:
    # 2.5, RESULTS: "in the exact order in which they were queued"
    client = Client()
    requests = pings(client, "1", "2", "2", "3")
    client.said()
    for at in (2, 0, 3, 1):
        client.connection.finish_request(requests[at], Result(text=f"n{at}"))
    assert client.say(b"RESULTS\n") == [b"S 4", b"2 0 n2", b"1 0 n0", b"3 0 n3", b"2 0 n1"]


def test_async_mode_to_the_letter() -> None:
    # 2.5, ASYNC_MODE_ON
    client = Client()
    first, second, third, fourth, fifth = pings(client, *"12345")
    client.said()
    client.connection.finish_request(first, Result())
    assert client.said() == []  # the default is off
    assert client.say(b"ASYNC_MODE_ON\n") == [b"S Async\\ mode\\ on"]  # no word of what is pending
    client.connection.finish_request(second, Result())
    assert client.said() == [b"R"]
    client.connection.finish_request(third, Result())
    assert client.said() == []  # once between successive RESULTS
    assert client.say(b"RESULTS\n")[0] == b"S 3"
    assert client.say(b"RESULTS\n") == [b"S 0"]
    client.connection.finish_request(fourth, Result())
    assert client.said() == [b"R"]
    assert client.say(b"RESULTS\n")[0] == b"S 1"
    assert client.say(b"ASYNC_MODE_OFF\n") == [b"S Async\\ mode\\ off"]
    client.connection.finish_request(fifth, Result())
    assert client.said() == []


def test_r_is_told_once_though_the_mode_is_switched() -> None:
    client = Client()
    requests = pings(client, "1", "2")
    client.say(b"ASYNC_MODE_ON\n")
    client.connection.finish_request(requests[0], Result())
    assert client.said() == [b"R"]
    client.say(b"ASYNC_MODE_OFF\nASYNC_MODE_ON\n")
    client.connection.finish_request(requests[1], Result())
    assert client.said() == []


def test_the_window() -> None:
    # docs/protocols/blah.md, 1.3 and 6.2: F Threads\ limit\ reached, in the extreme, while a request is outstanding
    client = Client(Connection(window=3))
    requests = pings(client, "1", "2", "3", "4")
    assert len(requests) == 3
    assert client.said() == [b"S", b"S", b"S", b"F Threads\\ limit\\ reached"]
    assert (client.connection.outstanding_count, client.connection.unfinished_count) == (3, 3)
    client.connection.finish_request(requests[0], Result())
    assert (client.connection.outstanding_count, client.connection.unfinished_count) == (3, 2)
    assert client.say(command("BLAH_PING", "5", "x")) == [b"F Threads\\ limit\\ reached"]
    assert client.say(b"RESULTS\n")[0] == b"S 1"
    assert client.say(command("BLAH_PING", "5", "x")) == [b"S"]
    assert client.say(b"VERSION\n") == [b"S " + BANNER]


def test_never_f_while_nothing_is_outstanding() -> None:
    client = Client(Connection(window=3))
    assert len(client.events(command("BLAH_JOB_STATUS", "1", "a b c d e"))) == 5
    assert client.said() == [b"S"]
    assert client.say(command("BLAH_PING", "5", "x")) == [b"F Threads\\ limit\\ reached"]


def test_the_window_counts_bytes_too() -> None:
    client = Client()
    ad = b"x" * 15_000_000
    answers = [client.say(b"BLAH_JOB_SUBMIT %d %b\n" % (n, ad)) for n in (1, 2, 3)]
    assert answers == [[b"S"], [b"S"], [b"F Threads\\ limit\\ reached"]]
    # but one that is alone is taken, and those that are done do not count
    client = Client(Connection(max_line_length=64 * 1024 * 1024))
    for _ in range(2):
        request = client.request(b"BLAH_JOB_SUBMIT 1 " + b"x" * 40_000_000 + b"\n")
        client.connection.finish_request(request, Result(1, "no"))
        assert len(client.say(b"RESULTS\n")) == 3


def test_results_that_are_not_fetched_count_as_bytes() -> None:
    client = Client()
    for number in range(1, 4):
        request = client.request(b"BLAH_JOB_STATUS_ALL %d\n" % number)
        client.connection.finish_request(request, Result(extras=("x" * 11_200_000,)))
    assert 33_600_000 < client.connection.unfetched_bytes < 33_600_200
    assert client.said() == [b"S"] * 3
    assert client.say(b"BLAH_JOB_STATUS_ALL 4\n") == [b"F Threads\\ limit\\ reached"]
    assert len(client.say(b"RESULTS\n")) == 4
    assert client.connection.unfetched_bytes == 0
    assert client.say(b"BLAH_JOB_STATUS_ALL 4\n") == [b"S"]


@pytest.mark.parametrize(
    "sent", [("CACHE_PROXY_FROM_FILE", "1", "/p q"), ("USE_CACHED_PROXY", "1"), ("UNCACHE_PROXY", "1")]
)
def test_what_is_answered_at_once_keeps_the_order(sent: tuple[str, ...]) -> None:
    # docs/protocols/blah.md, 2.1: what is configured is listed
    connection = Connection(ALL_COMMANDS)
    client = Client(connection)
    listed = client.say(b"COMMANDS\n")[0].split()
    assert set(listed) - set(LISTED.split()) == {
        b"CACHE_PROXY_FROM_FILE",
        b"UNCACHE_PROXY",
        b"USE_CACHED_PROXY",
    }
    connection.receive_data(b"RESULTS\n" + command(*sent) + b"VERSION\n")
    assert connection.next_request() == ImmediateRequest(sent[0], sent[1:])
    with pytest.raises(RuntimeError, match="is not answered yet"):
        connection.next_request()
    assert client.said() == [b"S 0"]
    connection.answer_request(Reply("F", "proxyId not found"))
    assert connection.next_request() is None
    assert client.said() == [b"F proxyId\\ not\\ found", b"S " + BANNER]
    with pytest.raises(RuntimeError, match="nothing to answer"):
        connection.answer_request(Reply("S", ""))


def test_quit_is_told_once() -> None:
    client = Client()
    assert client.events(b"BLAH_PING 1 x\nQUIT\nQUIT\nBLAH_PING 2 x\n")[1:] == [Quit()]
    assert client.connection.has_quit
    assert client.events(b"BLAH_PING 2 x\n") == []
    assert client.said() == [b"S", b"S Server\\ exiting"]


def test_a_line_without_end() -> None:
    # docs/protocols/blah.md, 7.1: a line over 1 MiB ends the real daemon
    client = Client(Connection(max_line_length=1000))
    assert client.say(b"BLAH_JOB_SUBMIT 1 " + b"x" * 5000) == []
    assert client.say(b"x" * 5000 + b"\r\nVERSION\r\n") == [b"E Line\\ too\\ long", b"S " + BANNER]
    ten = b"x" * 10_000_000
    request = Client().request(b"BLAH_JOB_SUBMIT 1 " + ten + b"\r\n")
    assert len(request.arguments[0]) == 10_000_000


def test_ten_thousand_in_one_write() -> None:
    client = Client()
    requests = pings(client, *map(str, range(1, 10_001)))
    assert client.said() == [b"S"] * 10_000
    for request in requests:
        client.connection.finish_request(request, Result())
    assert len(client.say(b"RESULTS\n")) == 10_001


@given(st.binary(max_size=80) | st.lists(st.sampled_from(sorted(ALL_COMMANDS)) | st.text()).map(
    lambda found: " ".join(found).encode("utf-8", "replace") + b"\n"
))  # fmt: skip
def test_any_bytes_are_answered_line_by_line(data: bytes) -> None:
    connection = Connection(DEFAULT_COMMANDS)
    client = Client(connection)
    client.events(data)
    assert all(said[:1] in {b"S", b"E", b"F"} for said in client.said())
    if not connection.has_quit:
        assert client.say(b"\0VERSION\r\n")[-1] == b"S " + BANNER
