"""A real server that gets nonsense: it answers, goes on, and leaves nothing behind."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from osprofile.executors.ninfg.attributes import ATTRIBUTES
from tests.executors.ninfg.client import PLAIN, block
from tests.hunting import rounds

if TYPE_CHECKING:
    from tests.executors.ninfg.client import Client
    from tests.executors.ninfg.conftest import Machine

LINES = [
    b"JOB_CREATE 1", b"JOB_CREATE", b"JOB_CREATE x", b"JOB_CREATE_END", b"JOB_CREATE_DONE",
    b"JOB_STATUS", b"JOB_STATUS 1", b"JOB_DESTROY 1 2", b"QUERY_FEATURES", b"QUERY_FEATURES 1",
    b"", b" ", b"\r", b"\0", b"\xff\xfe", b"argument", b"hostname localhost", b"exit",
    b"x" * 300_000, b"\xe2\x80\xa8", b"S", b"F", b"STATUS_NOTIFY 1 DONE",
]  # fmt: skip
VALUES = [
    "", "0", "1", "-1", "2", "999999999", "99999999999999999999", "true", "false", "NORMAL", "MPI",
    "/bin/true", "/bin/false", "/no/such", "/", "a b", "it's", "$(id)", "\u00e9", "\0", "\udcff",
    "x" * 200_000, "A=1", "=", "profile linux", "linux", "../linux", "localhost", "%s%n", "\x1b[0m",
]  # fmt: skip
# What no fuzzing may change: where a job goes, and how many processes it has at most.
SAFE = {"hostname": "localhost", "jobmanager": "here", "count": "2", "backend": "NORMAL"}
NUMBER = 60


def in_step(client: Client, number: int) -> list[str]:
    """End what may have been begun, and give the replies until one that is known."""
    client.send(f"\r\nJOB_CREATE_END\r\nJOB_DESTROY sync{number}\r\n".encode())
    replies = []
    while True:
        replies.append(client.reply())
        if replies[-1] == f"F there is no job sync{number}":
            return replies


@pytest.mark.parametrize("seed", range(rounds(3, 1)))
def test_lines(machine: Machine, seed: int) -> None:
    """Lines of the protocol and bytes of none, in any order."""
    chance = random.Random(seed)
    with machine.session() as client:
        for number in range(NUMBER):
            lines = chance.choices([*LINES, chance.randbytes(30)], k=chance.randrange(12))
            ends = chance.choices([b"\r\n", b"\n"], k=len(lines))
            client.send(b"".join(map(b"".join, zip(lines, ends, strict=True))))
            in_step(client, number)
    assert "a fault of osprofile's" not in machine.log()
    machine.assert_clean()


@pytest.mark.parametrize("seed", range(rounds(3, 1)))
def test_attributes(machine: Machine, seed: int) -> None:
    """Any attribute with any value: S and a job, or F with the name of an attribute."""
    chance = random.Random(seed)
    names = [name for name in ATTRIBUTES if name not in SAFE]
    with machine.session() as client:
        for number in range(NUMBER):
            pairs = list(PLAIN.items())
            pairs += [(chance.choice(names), chance.choice(VALUES)) for _ in range(chance.choice([1, 1, 3]))]
            chance.shuffle(pairs)
            client.send(block(str(number), [*pairs, *SAFE.items()]))
            reply = in_step(client, number)[0]
            assert reply == "S" or reply.startswith("F attribute "), reply
        for job in client.created.values():
            assert client.ask(f"JOB_DESTROY {job}") == "S"
        for job in list(client.created.values()):
            client.wait(job)
    assert "a fault of osprofile's" not in machine.log()
    machine.assert_clean()
